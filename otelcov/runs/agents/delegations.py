"""Who handed work to whom, each delegation once, whatever its shape.

Shapes, strongest first: a tool call whose span holds another agent's work (an agent as a tool); a tool whose
attributes or arguments name the target; a transfer tool whose name ends in an agent that this run knows; a handoff
span; an agent that runs inside another's tool call without being its child; an agent's span inside another's. The
same act often shows in two shapes at once - request, tool span, handoff span, nested agent - so shapes of one pair
are matched in time before anything is counted. Agents that only run one after the other, or that one loop sends the
same message to all at once, delegate nothing, nor does what asks no model where models decide.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, TOOL
from otelcov.runs.agents.delegating_calls import by_call, given
from otelcov.runs.agents.delegation import TO_ALL, Delegation, agent_failed, bare, bears_name_of, target_like
from otelcov.runs.agents.delegation_status import failed, says_error, undone
from otelcov.runs.agents.scene import Scene
from otelcov.runs.agents.unrecorded import give_to_the_unrecorded
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import asks, final
from otelcov.runs.rules.habits import decides_by_models, keeps_who_worked, stops_alike
from otelcov.runs.rules.handovers import transfers
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.above import nearest
from otelcov.runs.trace.tree import Node, placeholder, same_name, spelling


def delegations(nodes: list[Node], calls: list[ToolCall], model_calls: list[ModelCall]) -> list[Delegation]:
    """All delegations of a run, by time. Calls that are delegations get `delegates_to` set."""
    agents = {n.own_agent for n in nodes if n.own_agent} | {c.agent for c in model_calls if c.agent}
    steps = {n.agent for n in nodes if n.kind in (LLM, TOOL)}
    workflows = {n.own_agent for n in nodes if n.own_agent and n.own_agent not in steps and _is_workflow(n)}
    spans = [n for n in nodes if n.own_agent is not None]
    by_name = defaultdict[str | None, list[Node]](list)
    for n in spans:
        by_name[n.own_agent].append(n)
    around = {a for a in agents - steps if _frames_each_run(by_name[a])}
    workflows |= around
    known = {bare(a): a for a in sorted(agents - workflows)}
    used: set[int] = set()
    loose = any(n.kind == LLM and n.parent is None and not n.orphan for n in nodes)
    last = {c.agent: c.start for c in sorted(model_calls, key=lambda c: c.start)}
    scene = Scene(nodes, spans, known, model_calls, used, any(n.orphan for n in nodes), loose, last, around)
    out = [d for c in calls if (d := by_call(c, scene)) is not None]
    out += _in_vain(calls, out, known)
    out += _handoffs(nodes, calls, out, known, used)
    out = _without_passed_over(out)
    frames = _namesakes(nodes) | {id(n) for n in nodes if n.own_agent in workflows}
    out += [d for d in _nested(nodes, calls, out, frames, steps, used) if not _came_back(d, scene)]
    for d in out:
        if d.form == "nested" and _by_a_tool_unseen(d, scene):
            d.form = "unknown"
    out.sort(key=lambda d: (d.start, d.source or "", d.target or ""))
    give_to_the_unrecorded(out, calls, model_calls)
    return [d for d in out if d.target != d.source or d.target is None]


def nobody_took_over(root: Node, handed: list[Delegation], nodes: list[Node]) -> bool:
    """Was the last that a swarm did to hand over, to somebody who has not come since? A limit may have stopped it."""
    last = handed[-1] if handed and stops_alike(root.span.scope, root.span.name) else None
    if last is None or last.form != "handoff":
        return False
    came = (n for n in nodes if n.kind == AGENT and n.start > last.start)
    return last.status == "unknown" or not any(same_name(n.own_agent, last.target) for n in came)


def _without_passed_over(found: list[Delegation]) -> list[Delegation]:
    """Without handoffs of which nothing tells, asked for beside one that was taken. Where handoffs have spans, an agent
    hands over to one alone (OpenAI's kit)."""
    spans = (d.call for d in found if d.node is not None and d.node.kind == HANDOFF)
    taken = {id(call.asked_by) for call in spans if call is not None and call.asked_by is not None}
    return (
        [d for d in found if not _untold(d) or d.call is None or id(d.call.asked_by) not in taken] if taken else found
    )


def _untold(d: Delegation) -> bool:
    told = d.call is None or d.call.nodes or d.call.answer is not None
    return d.form == "handoff" and d.node is None and not told


def _in_vain(calls: list[ToolCall], found: list[Delegation], known: dict[str, str]) -> list[Delegation]:
    """Calls in which nobody was at work, of tools by which the same agent called another that was, or somebody else
    did: those that failed, those that name whom they call by an argument, and those of tools that bear that one's name,
    of whom this time nothing may have come: nor of the tool, where none of these has a span."""
    tried = (d for d in reversed(found) if d.tool and d.form == "tool")
    ways = {(d.source, d.tool): d for d in tried if d.node is not None or (d.call is not None and not d.call.nodes)}
    by_name = {name: d for (_, name), d in ways.items()}
    out = []
    for call in calls if ways else ():
        same = ways.get((call.agent, call.name or "")) or by_name.get(call.name)
        if same is None or same.target == call.agent or call.delegates_to is not None or _holds_work(call):
            continue
        if not call.nodes and same.call is not None and same.call.nodes:
            continue  # asked for, and perhaps left
        called = target_like(given(call), given(same.call), same.target) if same.call is not None else None
        if not failed(call) and called is None and not bears_name_of(call.name, same.target):
            continue
        whom = same.target if called is None else known.get(bare(called), called)
        call.delegates_to = whom or ""
        status = "error" if failed(call) or (called is not None and says_error(call)) else "unknown"
        out.append(Delegation(call.agent, whom, same.form, call.name, status, call.start, call))
    return out


def _holds_work(call: ToolCall) -> bool:
    layers = {id(n) for n in call.nodes}
    return any(
        n.kind in (AGENT, LLM, TOOL) and id(n) not in layers for n in (call.nodes[0].below() if call.nodes else ())
    )


def _is_workflow(node: Node) -> bool:
    """A graph or pipeline that its framework reports as if it were an agent."""
    name = node.own_agent
    if node.span.dropped:
        return True  # it does nothing that can be seen, and what it was may have been dropped
    for n in [node, *node.explained()]:
        span = n.span
        if span.kind == "chain" and (span.agent == name or span.name in (name, f"{name}.workflow")):
            return True
    return node.span.kind != AGENT


def _frames_each_run(spans: list[Node]) -> bool:
    """Does a name that does no work stand around the run, and again around what a tool of it called? Then it is what a
    program calls each of its runs (OpenAI's Agents SDK), and whom the tool called is in it."""
    if len(spans) < 2 or all(any(a.own_agent not in (None, n.own_agent) for a in n.ancestors()) for n in spans):
        return False
    called = [n for n in spans if n.within(TOOL)]
    return bool(called) and all(any(x.own_agent not in (None, n.own_agent) for x in n.below()) for n in spans)


def _namesakes(nodes: list[Node]) -> set[int]:
    """The workflows named like one of the agents in them: what is at the top and does nothing but hold agents, that one
    among them."""
    found = set[int]()
    for node in nodes:
        if len(found) == _FRAMES or node.own_agent is None:
            continue
        above = next((a for a in node.ancestors() if a.own_agent is not None), None)
        if above is None or id(above) in found:
            held = {n.own_agent for n in node.below() if n.own_agent is not None}
            if len(held) > 1 and node.own_agent in held and not _works_itself(node):
                found.add(id(node))
    return found


_FRAMES = 4  # of workflows, at the most


def _works_itself(agent: Node) -> bool:
    """Is a step of this agent in no other that it holds?"""
    unread = list(agent.children)
    for n in unread:
        if n.own_agent is None:
            if n.kind in (LLM, TOOL):
                return True
            unread.extend(n.children)
    return False


def _handoffs(
    nodes: list[Node], calls: list[ToolCall], found: list[Delegation], known: dict[str, str], used: set[int]
) -> list[Delegation]:
    out = []
    for node in nodes:
        if node.kind != HANDOFF:
            continue
        source, target = node.span.from_agent, node.span.to_agent
        source = node.agent if placeholder(source) else source
        taken = None
        if target is None or placeholder(target):
            taken = next(
                (
                    n
                    for n in nodes
                    if n.kind == AGENT
                    and n.own_agent
                    and n.own_agent != source
                    and n.start >= node.start
                    and id(n) not in used
                ),
                None,
            )
            target = taken.own_agent if taken is not None else None
        same = next(
            (
                d
                for d in found
                if (source == d.source or None in (source, d.source))
                and (d.target == target or target is None)
                and d.node is None
                and d.call is not None
                and d.form == "handoff"
            ),
            None,
        )
        if same is not None and same.call is not None:
            same.node, same.status, same.source = node, "ok", same.source or source
            continue
        asked = next(
            (
                c
                for c in calls
                if c.delegates_to is None
                and (source is None or c.agent in (source, None))
                and not c.nodes
                and (x := transfers(c.name)) is not None
                and (
                    target is None
                    or bare(x.group("to")) == bare(target)
                    or bare(x.group("to")).startswith(bare(target))
                )
            ),
            None,
        )
        if asked is not None:
            asked.delegates_to = target or ""
        if taken is not None:
            used.add(id(taken))
        out.append(Delegation(source, target, "handoff", asked.name if asked else None, "ok", node.start, asked, node))
    return out


def _came_from(node: Node, here: set[str | None]) -> bool:
    """Does this name the agent before it, and one of this run? `here` are those that work in it."""
    named = node.span.from_agent
    if not named or placeholder(named):
        return False
    return named in here or not keeps_who_worked(node.span.scope)


def _nested(
    nodes: list[Node],
    calls: list[ToolCall],
    found: list[Delegation],
    workflows: set[int],
    steps: set[str | None],
    used: set[int],
) -> list[Delegation]:
    told: dict[tuple[str | None, str | None], int] = {}
    for d in found:
        told[(d.source, d.target)] = told.get((d.source, d.target), 0) + 1
    out = []
    here = {n.agent for n in nodes}
    fans: dict[int, list[Node]] = {}
    worker = nearest(lambda n: n.own_agent is not None and id(n) not in workflows)
    tool_above = nearest(lambda n: n.kind == TOOL)
    delegating = {id(n): c for c in reversed(calls) if c.delegates_to for n in c.nodes}
    for node in nodes:
        if node.own_agent is None or id(node) in used:
            continue
        above = worker(node)
        source = above.own_agent if above is not None else None
        if above is None and node.span.kind == AGENT and _came_from(node, here):
            source = node.span.from_agent
        if source is None or source == node.own_agent or id(node) in workflows:
            continue
        pair = (source, node.own_agent)
        if told.get(pair, 0) > 0:
            told[pair] -= 1
            continue
        if above is None and told.get((None, node.own_agent), 0) > 0:  # it tells who handed over
            told[None, node.own_agent] -= 1
            next(d for d in found if (d.source, d.target) == (None, node.own_agent)).source = source
            continue
        tool = tool_above(node)
        by_tool = tool is not None and above is not None and worker(tool) is above
        through = delegating.get(id(tool)) if by_tool else None
        if through is None and above is not None:
            sent = _to_all(node, found)
            if sent is not None and sent.target is None:
                sent.target, sent.node = node.own_agent, node
                continue
            through = sent.call if sent is not None else _beside(node, found)
        if through is not None and through.delegates_to == node.own_agent:
            continue  # more of the same agent's work inside one call
        if above is not None and source not in steps:
            if steps and decides_by_models(above.span.scope) and not _began_a_chat(above, node):
                continue
            fans.setdefault(id(above), []).append(node)
        remote = above is not None and above.span.service != node.span.service
        name = through.name if through is not None else None
        if node.kind == AGENT and node.span.call_id:
            name = name or node.span.tool  # told of by the agent's own span (Weave, without content)
        form = "remote" if remote else "tool" if through or name else "nested" if above is not None else "handoff"
        well = "unknown" if form != "handoff" and undone(node) else "ok"
        well = "error" if form != "handoff" and agent_failed(node) else well
        out.append(Delegation(source, node.own_agent, form, name, well, node.start, None, node))
    broadcast = {id(n) for group in fans.values() if _overlap(group) for n in group}
    return [d for d in out if id(d.node) not in broadcast]


def _began_a_chat(agent: Node, other: Node) -> bool:
    """Did an agent ask another in a chat of the two (AG2)?"""
    chat = other.parent
    return chat is not None and chat is not agent and chat.kind == CHAIN and chat.span.scope == agent.span.scope


def _beside(agent: Node, found: list[Delegation]) -> ToolCall | None:
    """The call in whose time an agent ran beside another that it called: one that calls several (Agno's teams)."""
    for d in found:
        ran = d.call.nodes[0] if d.call is not None and d.call.nodes else None
        if (
            ran is None
            or d.form != "tool"
            or d.node is None
            or d.node.parent is not agent.parent
            or agent.kind != AGENT
        ):
            continue
        if ran not in d.node.ancestors() and ran.start <= agent.start < agent.end <= ran.end:
            return d.call
    return None


def _to_all(agent: Node, found: list[Delegation]) -> Delegation | None:
    """The call of a team's, whose span ended before what it gives was read, that every member beside it answers (Agno
    under Traceloop)."""
    for d in reversed(found):
        if d.call is None or not d.call.nodes or spelling(d.tool or "") != TO_ALL or not d.start <= agent.start:
            continue
        read = d.call.result_of.start if d.call.result_of is not None else agent.start
        return d if d.call.nodes[0].parent is agent.parent and agent.start <= read else None
    return None


def _came_back(d: Delegation, scene: Scene) -> bool:
    """Did work come back from an agent that was done? Only the order tells of this one, and the agent's model asked for
    nothing at last, where it is told when one does."""
    if d.form != "handoff" or d.call is not None or d.node is None:
        return False
    last = scene.newest(d.source, d.start)
    if last is None or last.requests or last.google or asks(last.finish):
        return False
    return final(last.finish) or any(asks(c.finish) for c in scene.model_calls)


def _by_a_tool_unseen(d: Delegation, scene: Scene) -> bool:
    """May the agent's model have asked for this by a tool, in an answer of which no word is told?"""
    asker = scene.newest(d.source, d.start)
    return asker is not None and asker.outputs is None and asker.error is None and not final(asker.finish)


def _overlap(group: list[Node]) -> bool:
    ordered = sorted(group, key=lambda n: n.start)
    return any(b.start < a.end for a, b in pairwise(ordered))
