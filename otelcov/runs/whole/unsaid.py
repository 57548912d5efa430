"""What is told of models whose spans were lost: words that an agent put out and none said of all that came, and how
often one was asked in vain."""

from __future__ import annotations

from collections import Counter

from otelcov.dialects.base import AGENT, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.habits import asks_a_model_in_each_agent
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.trace.tree import Node, failure
from otelcov.runs.whole.evidence import Evidence, once


def answered_unsaid(run: Evidence) -> bool:
    """Did an agent that is a step of a workflow put out what neither the model said that it asked last, nor any of the
    tools brought that this one had asked for, each of which ran; or ask none, in a kit whose agents each do (Agno)?"""
    agents = [n for n in run.nodes if n.kind == AGENT and _answered(n) and n is not run.root]
    if not agents:
        return False
    last: dict[int, ModelCall] = {}
    for call in run.calls:
        holder = next((n for n in call.node.ancestors() if n.kind in (AGENT, TOOL)), None)
        if holder is not None:
            last[id(holder)] = call
    brought: dict[int, list[Outcome]] = {}
    for tool, found in run.done:
        if tool.asked_by is not None and tool.nodes:
            brought.setdefault(id(tool.asked_by), []).append(found)
    return any(
        _unsaid(n, last[id(n)], brought.get(id(last[id(n)]), [])) if id(n) in last else _unasked(n) for n in agents
    )


def _answered(agent: Node) -> bool:
    said = agent.own_agent is not None and bool(agent.span.output) and failure(agent) is None
    return said and not agent.orphan and not agent.within(TOOL)


def _unsaid(agent: Node, last: ModelCall, brought: list[Outcome]) -> bool:
    if last.error is not None or not last.requests or len(brought) < len(last.requests):
        return False
    text = agent.span.output or ""
    said = [last.text, *(found.result for found in brought)]
    return all(found.status in ("ok", "error") for found in brought) and not any(
        x and (str(x).strip() in text or text in str(x)) for x in said
    )


def _unasked(agent: Node) -> bool:
    """Has an agent no model, though its kit asks one in each?"""
    return asks_a_model_in_each_agent(agent.span.scope) and not any(n.kind in (LLM, AGENT) for n in agent.below())


@once
def tried_unseen(run: Evidence) -> bool:
    """Does a loop say how often it asked at last, each time in vain, and do fewer calls in it say so? One has not come,
    and may have failed otherwise (the AI SDK to version 6, which tells of each attempt)."""
    failed = Counter(id(c.node.parent) for c in run.calls if c.error is not None and ".do" in c.node.span.name)
    loops = {id(c.node.parent): c.node.parent for c in run.calls if failed[id(c.node.parent)]}
    for key, loop in loops.items():
        told = failure(loop) if loop is not None and loop.span.name.startswith("ai.") else None
        tried = _TRIED.search(told[1]) if told is not None else None
        if tried is not None and failed[key] < int(tried[1]):
            return True
    return False


_TRIED = late(r"^(?:AI_RetryError: )?Failed after (\d{1,3}) attempts\b")
