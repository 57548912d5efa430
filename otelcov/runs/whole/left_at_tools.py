"""Agents that tools called which are seen to have asked for tools at last, and not to have said what came of them."""

from __future__ import annotations

from typing import Any

from otelcov.dialects.base import AGENT, CHAIN, TOOL
from otelcov.runs.agents.charge import ended
from otelcov.runs.content.wrapped import result_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.trace.tree import Node, failure
from otelcov.runs.whole.evidence import Evidence, once
from otelcov.runs.whole.told_texts import answers, assistant_text


@once
def delegates_left(run: Evidence) -> list[Node]:
    """The agents that tools called which asked for tools at last, did not fail, and said nothing since: a limit may
    have stopped them, or what they asked then have failed, or not come."""
    newest: dict[int, tuple[Node, ModelCall]] = {}
    for call in run.calls:
        agent = _in_a_tool(call)
        if agent is not None:
            newest[id(agent)] = (agent, call)
    if not newest:
        return []
    gave: dict[int, list[Outcome]] = {}
    for tool, found in run.done:
        gave.setdefault(id(tool.asked_by), []).append(found)
    return [agent for agent, call in newest.values() if _left_at_tools(run, agent, call, gave.get(id(call), []))]


def _in_a_tool(call: ModelCall) -> Node | None:
    """The agent at work in a tool, or else what frames in that the loop of whom nobody tells that it is one."""
    inner: Node | None = None
    for n in call.node.ancestors():
        if n.kind == AGENT:
            return n if n.within(TOOL) else None
        if n.kind == TOOL:
            return inner
        inner = n if n.kind == CHAIN else inner
    return None


def _left_at_tools(run: Evidence, agent: Node, last: ModelCall, gave: list[Outcome]) -> bool:
    if last.error is not None or not last.requests or any(r.name in run.ways for r in last.requests):
        return False
    if failure(agent) is not None or ended(agent) in _STOPPED:
        return False
    if not gave or any(found.status == "requested" for found in gave):
        return False
    return not _says_something(agent)


def _says_something(agent: Node) -> bool:
    """Does an agent, or the tool that called it, tell of words that it gave?"""
    tool = next(n for n in agent.ancestors() if n.kind == TOOL)
    if agent.span.output is not None:
        text = assistant_text(agent.span.output, None)
        return answers(text) and bool(text.strip())
    return tool.span.result is not None and result_of(tool.span.result)[0] not in _BLANK


_STOPPED = ("suspended", "aborted", "failed")
_BLANK: tuple[Any, ...] = (None, "", "null", {}, [], {"result": ""}, {"result": None})
