"""Spans of agents at work that lie beside these agents, under what runs them all.

Google's ADK (0.5 to 1.11) opens what follows an agent's first step where its ParallelAgent stands. Whose it was the
agent's instructions tell, which a model is given each time, or nobody knows. Weave's conversations lay a model's call
under the turn, though an agent that a tool of the turn's called may have made it. Azure's tracer lays it under the
agent that began last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate, pairwise

from otelcov.dialects.base import AGENT, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.habits import of_adk
from otelcov.runs.trace.tree import Node


def own_abreast(nodes: list[Node], calls: Iterable[ModelCall]) -> None:
    """Give what lies beside agents that were at work at once to the one whose it was, or to nobody."""
    beside: dict[int, list[Node]] = {}
    for n in nodes:
        if n.kind in (LLM, TOOL) and of_adk(n.span.scope) and n.parent and n.parent.kind == AGENT:
            beside.setdefault(id(n.parent), []).append(n)
    abreast = {key: _at_once(some[0].parent) for key, some in beside.items()}
    if not any(abreast.values()):
        return
    told = {id(c.node): words for c in calls if (words := _instructions(c)) is not None}
    for key, agents in abreast.items():
        under: dict[str, list[Node]] = {}
        for agent in agents:
            for words in {told[id(n)] for n in agent.children if id(n) in told}:
                under.setdefault(words, []).append(agent)
        for node in beside[key] if agents else ():
            if not any(a.start <= node.start <= a.end for a in agents):
                continue
            same = [a for a in under.get(told.get(id(node), ""), ()) if a.start <= node.start <= a.end]
            node.agent = same[0].own_agent if len(same) == 1 else None


def own_in_turns(nodes: list[Node]) -> None:
    """Give nobody what was asked of a model under a turn while an agent below the turn's tools was at work."""
    turns: dict[int, list[Node]] = {}
    for n in nodes:
        if n.kind == LLM and n.span.scope == _TURNS and n.parent is not None and n.parent.kind == AGENT:
            turns.setdefault(id(n.parent), []).append(n)
    for asked in turns.values():
        turn = asked[0].parent
        within = [n for n in turn.below() if n.kind == AGENT and n.parent is not turn] if turn is not None else []
        within.sort(key=lambda n: n.start)
        starts, until = [n.start for n in within], list(accumulate((n.end for n in within), max))
        for node in asked if within else ():
            begun = bisect_right(starts, node.start)
            if begun and node.end <= until[begun - 1]:
                node.agent = None


_TURNS = "weave.conversation"


def own_by_orders(nodes: list[Node]) -> None:
    """Give what was asked of a model to the agent whose instructions it was given, where it lies in the span of an
    agent that says that its own are others (Azure's tracer of LangChain, of agents that are at work at once)."""
    agents = [n for n in nodes if n.kind == AGENT and n.own_agent is not None]
    if len({n.own_agent for n in agents}) < _SOME:
        return
    orders = {id(n): orders for n in agents if (orders := n.system)}
    whose: dict[tuple[str, str], set[str | None]] = {}
    for agent in agents:
        if id(agent) in orders:
            whose.setdefault((agent.span.scope, orders[id(agent)]), set()).add(agent.own_agent)
    if len(whose) < _SOME:
        return
    for node in nodes:
        around = node.parent if node.kind == LLM else None
        while around is not None and around.kind != AGENT:
            around = around.parent
        own = orders.get(id(around)) if around is not None else None
        given = node.system if own is not None else None
        names = whose.get((node.span.scope, given)) if given and given != own else None
        if names is not None and len(names) == 1:
            node.agent = next(iter(names))


_SOME = 2


def _at_once(parent: Node | None) -> list[Node]:
    """The agents below this that worked at one time, if there are several."""
    agents = sorted((n for n in parent.children if n.kind == AGENT), key=lambda n: n.start) if parent else []
    return agents if any(b.start < a.end for a, b in pairwise(agents)) else []


def _instructions(call: ModelCall) -> str | None:
    found = _INSTRUCTION.search(call.node.input_messages or "")
    return found.group(1) if found is not None else None


_INSTRUCTION = late(r'"system_instruction":\s*"((?:[^"\\]|\\.)*)"')
