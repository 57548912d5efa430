"""The agents at work in a run, and whether it would be seen that one called another."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.runs.agents.delegation import Delegation
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import final
from otelcov.runs.rules.habits import traces_apart
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.tree import Node


def shown(agents: list[str], nodes: list[Node], calls: list[ModelCall]) -> bool:
    """Would a delegation be seen? Of several agents that only model calls name, not who called whom; of those that
    worked one after another where no model call can be seen, not whether one asked for the next; nor of an agent that
    asked for tools, where who works in a tool has a trace of its own."""
    if any(c.requests and traces_apart(c.node.span.scope) for c in calls):
        return False
    if len(agents) == 1:
        return True
    return any(n.own_agent is not None for n in nodes) and (bool(calls) or not agents)


def perhaps_called(nodes: list[Node], calls: list[ModelCall], seen_to_ask: Collection[int | None]) -> set[str]:
    """The agents that went to work beside another that was done or had its model answer right before, where nothing is
    told of that answer, not even its end."""
    out = set[str]()
    answers: dict[str | None, list[ModelCall]] = {}
    for c in sorted(calls, key=_start):
        answers.setdefault(c.node.agent, []).append(c)
    by_roof: dict[int, list[Node]] = {}
    for n in nodes:
        if n.kind in (AGENT, CHAIN) and n.own_agent is not None:
            by_roof.setdefault(id(n.parent), []).append(n)
    for one, two in (pair for some in by_roof.values() for pair in pairwise(some)):
        own = answers.get(one.own_agent, [])
        said = own[before - 1] if (before := bisect_left(own, two.start, key=_start)) else None
        if one.own_agent == two.own_agent or said is None or said.start < one.start or said.end > two.start:
            continue
        if said.outputs is not None or said.error is not None or final(said.finish):
            continue
        if two.own_agent is not None and (said.turn not in seen_to_ask or one.end >= two.end):
            out.add(two.own_agent)
    return out


def _start(call: ModelCall) -> int:
    return call.start


def torn_off(nodes: list[Node], handed: list[Delegation]) -> bool:
    """Was something done below a parent that has not come, and may that have been an agent's whom another called?"""
    steps = [n for n in nodes if n.kind in (AGENT, LLM, TOOL)]
    lost = [n for n in steps if n.orphan]
    if len({n.span.parent_span_id for n in lost}) + any(n.parent is None and not n.orphan for n in nodes) < 2:
        return False
    if len(lost) == len([n for n in nodes if n.parent is None]):
        return not handed
    known = {d.target for d in handed} | {n.agent for n in steps if not n.orphan and n.parent is None}
    return any(n.agent is None or n.agent not in known for n in lost)


def used_unseen(node: Node) -> bool:
    """Is this an agent that counts what a model said, though no step is seen within it? The spans of these are lost."""
    if node.kind != AGENT or node.own_agent is None or not node.span.output_tokens:
        return False
    within = list(node.children)
    for n in within:  # to the first step: what is below that is not its own
        if n.kind in (AGENT, LLM, TOOL):
            return False
        within.extend(n.children)
    return True


def containers(nodes: list[Node], calls: list[ModelCall], tools: list[ToolCall], handed: list[Delegation]) -> set[str]:
    """Names of graphs and pipelines: they own no step and take part in no delegation. Where no model call can be seen,
    an agent that holds no other may have made some."""
    working = (
        {c.agent for c in calls} | {t.agent for t in tools} | {d.source for d in handed} | {d.target for d in handed}
    )
    working |= {n.own_agent for n in nodes if used_unseen(n) or (n.kind == AGENT and n.own_agent and not n.children)}
    if not calls:
        holding = set[int]()
        for n in nodes:
            above = n.parent if n.own_agent else None
            while above is not None and id(above) not in holding:
                holding.add(id(above))
                above = above.parent
        working |= {n.own_agent for n in nodes if n.kind == AGENT and id(n) not in holding}
    named = {n.own_agent for n in nodes if n.own_agent}
    return {a for a in named if a not in working} if named & {w for w in working if w} else set()
