"""Agents that failed in a run which went on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from otelcov.dialects.base import AGENT, CHAIN
from otelcov.runs.agents.charge import broke_off
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.trace.above import Above
from otelcov.runs.trace.tree import Node, failure
from otelcov.runs.whole.evidence import Evidence, once, worker


def below_what_went_well(run: Evidence, agent: Node) -> bool:
    """Did an agent fail that a tool had called, in a run that did not, and of which no model call is told (OpenLIT, of
    OpenAI's agents for JavaScript)? A model may have failed in it."""
    return not run.calls and run.in_a_tool(agent) and not _broke_off(run)


def got_over(run: Evidence, agent: Node) -> bool:
    """Did an agent fail that another had called, and did that one ask a model afterwards? Or a step of an agent's, told
    as the agent (OpenLIT, of smolagents)? The run did not end in it."""
    if _broke_off(run):
        return False
    if agent.kind == CHAIN:  # within an agent that a lost tool called
        return _went_on_elsewhere(run, agent)
    if agent.kind != AGENT or agent.own_agent is None:
        return False
    around = _frames(run)
    whole, caller = around.same.get(id(agent)), around.caller.get(id(agent))
    if whole is not None and failure(whole) is None and around.own.get(id(whole), -1) >= agent.end:
        return True
    if caller is None:
        return _went_on_elsewhere(run, agent)
    return around.asked.get(id(caller), -1) >= agent.end


@once
def _broke_off(run: Evidence) -> bool:
    return broke_off(run.root)


def _answered(run: Evidence) -> Iterator[ModelCall]:
    return (c for c in run.calls if c.error is None)


def _went_on_elsewhere(run: Evidence, agent: Node) -> bool:
    """Was a model asked in no tool, after an agent in one, or in what has lost its parent apart from that model? The
    work of a tool does whose span has not come."""
    top = _trees(run)(agent) or agent
    lost = top.orphan and top is not run.root
    if not lost and not run.in_a_tool(agent):
        return False
    apart = None if run.in_a_tool(agent) else id(top)
    return any(start >= agent.end and tree != apart for tree, start in _last_asked(run))


@once
def _trees(run: Evidence) -> Above[Node | None]:
    """What begins the tree that a span is in, but for those that begin one."""
    return Above(lambda above, found: found or above, None)


@once
def _last_asked(run: Evidence) -> list[tuple[int, int]]:
    """The two trees in which models were asked last that answered, in no tool, each with the time of that."""
    last: dict[int, int] = {}
    for c in _answered(run):
        if not run.in_a_tool(c.node):
            tree = id(_trees(run)(c.node) or c.node)
            last[tree] = max(c.start, last.get(tree, -1))
    return sorted(last.items(), key=lambda told: -told[1])[:2]


@dataclass(slots=True)
class _Frames:
    """The agents around a run's agents, by their ids, and when models answered them that were asked last."""

    same: dict[int, Node] = field(default_factory=dict)  # the nearest above that has the same name
    caller: dict[int, Node] = field(default_factory=dict)  # and that has another
    own: dict[int, int] = field(default_factory=dict)  # asked under an agent's name, anywhere below it
    asked: dict[int, int] = field(default_factory=dict)  # asked by an agent at work


@once
def _frames(run: Evidence) -> _Frames:
    found = _Frames()
    by_node: dict[int, list[ModelCall]] = defaultdict(list)
    for c in _answered(run):
        by_node[id(c.node)].append(c)
        agent = id(worker(c))
        found.asked[agent] = max(c.start, found.asked.get(agent, -1))
    here = {id(n) for n in run.nodes}
    for first in run.nodes:
        if first.parent is None or id(first.parent) not in here:
            _walk(first, by_node, found)
    return found


def _walk(first: Node, calls: dict[int, list[ModelCall]], found: _Frames) -> None:
    around, by_name = list[Node](), defaultdict[str | None, list[Node]](list)
    for node, entered in _through(first):
        same = by_name[node.own_agent]
        if not entered:
            around.pop()
            same.pop()
            if same and id(node) in found.own:
                found.own[id(same[-1])] = max(found.own[id(node)], found.own.get(id(same[-1]), -1))
            continue
        for c in calls.get(id(node), ()):
            for agent in by_name[c.agent][-1:]:
                found.own[id(agent)] = max(c.start, found.own.get(id(agent), -1))
        if not _named(node):
            continue
        if same:
            found.same[id(node)] = same[-1]
        above = around[-1] if around else None
        if above is not None and above.own_agent == node.own_agent:
            above = found.caller.get(id(above))
        if above is not None:
            found.caller[id(node)] = above
        around.append(node)
        same.append(node)


def _through(first: Node) -> Iterator[tuple[Node, bool]]:
    """The agents around a tree, and its spans, as they are entered, and as those with an agent's name are left."""
    around = [n for n in first.ancestors() if _named(n)]
    yield from ((n, True) for n in reversed(around))
    stack = [(first, True)]
    while stack:
        node, entered = stack.pop()
        yield node, entered
        if entered:
            stack += [(node, False)] if _named(node) else []
            stack += [(n, True) for n in reversed(node.children)]
    yield from ((n, False) for n in around)


def _named(node: Node) -> bool:
    return node.kind == AGENT and node.own_agent is not None
