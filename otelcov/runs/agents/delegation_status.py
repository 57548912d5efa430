"""How a tool call went by which an agent was called."""

from __future__ import annotations

from collections.abc import Sequence

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.runs.agents.charge import ended
from otelcov.runs.agents.delegation import Delegation, agent_failed, bare
from otelcov.runs.agents.scene import Found, Scene, cut_thread
from otelcov.runs.content.wrapped import result_of
from otelcov.runs.rules.habits import answers_with_errors, leaves_open
from otelcov.runs.rules.softerrors import plain, soft_error
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import broken_off
from otelcov.runs.tools.executions import span_fact
from otelcov.runs.tools.under_way import under_way
from otelcov.runs.trace.tree import Node, aborted, failure, waiting


def failed_unseen(handed: Sequence[Delegation]) -> bool:
    """Did an agent that a tool called fail of which nothing is seen? A model may have failed in it."""
    vain = (d for d in handed if d.status == "error" and d.form == "tool" and d.node is None)
    return any(d.call is None or not any(n.children for n in d.call.nodes) for d in vain)


def status_of(call: ToolCall, found: Found, scene: Scene) -> str:
    """A call that failed, or whose agent did, delegated in vain; whether one reached an agent that nobody knows is not
    visible."""
    if failed(call) or agent_failed(found.node) or _brought_an_error(call):
        return "error"
    if not call.nodes and call.answer is None:
        untold = call.arguments is None or _unfollowed(call, scene) or cut_thread(call, scene)
        untold = untold or _heard_in_part(call, scene) or (call.asked_by is not None and under_way(call.asked_by))
        return "unknown" if untold else "requested"
    if (broken_off(call) and found.node is None) or (call.answer is None and any(map(waiting, call.nodes))):
        return "unknown"
    if found.node is not None and (undone(found.node) or aborted(found.node) or _without_end(found.node)):
        return "unknown"
    if found.node is not None and _may_have_failed(found.node):
        return "unknown"
    if found.node is not None and _left_asking(call, found.node, scene):
        return "unknown"
    strange = found.target is not None and bare(found.target) not in scene.known and found.node is None
    if (strange or (found.node is not None and _died(found.node))) and says_error(call):
        return "error"
    strange = strange or (found.form == "handoff" and found.target is None and found.node is None)
    seen = bool(scene.agents) or (bool(call.nodes) and not call.nodes[-1].children)  # where somebody would be
    return "unknown" if strange and seen and not scene.lost else "ok"


def undone(agent: Node) -> bool:
    """Does an agent say that it was not done as it ended?"""
    return ended(agent) in _NOT_DONE


_NOT_DONE = ("suspended", "interrupted", "aborted")


def _without_end(agent: Node) -> bool:
    """Did the last model that an agent asked never come to an end, as far as is told (Mastra, where it waits)?"""
    if not leaves_open(agent.span.scope):
        return False
    last = max((n for n in agent.below() if n.kind == LLM), key=lambda n: n.start, default=None)
    if last is None or any(failure(n) is not None for n in (last, *last.below())):
        return False
    around = (n for n in last.ancestors() if n.start >= agent.start)
    told = [n for n in (last, *last.below(), *around) if n.kind in (LLM, CHAIN)]
    return all(n.span.output_tokens is None and not n.span.output_messages and not _said_why(n) for n in told)


def _may_have_failed(agent: Node) -> bool:
    """Is nothing told of what an agent put out, nor of a model that it asked, where only that would say that it
    failed?"""
    if not answers_with_errors(agent.span.scope) or agent.span.output is not None:
        return False
    return all(n.kind != LLM for n in agent.below())


def _left_asking(call: ToolCall, agent: Node, scene: Scene) -> bool:
    """Did an agent bring nothing, as if all were well, and ask for tools at last that did not run? It may wait for
    somebody's leave."""
    if call.answer is not None or any(n.span.result or n.span.status_code == _ERROR for n in call.nodes):
        return False
    below = agent.below()
    there = {id(n) for n in below}
    last = max((mc for mc in scene.model_calls if id(mc.node) in there), key=lambda mc: mc.start, default=None)
    if last is None or not last.requests:
        return False
    return not any(n.kind in (TOOL, AGENT) and n.start >= last.start for n in below)


_ERROR = 2  # OTLP's status


def _said_why(node: Node) -> bool:
    return node.span.finish is not None and ended(node) not in _NOT_DONE


def _heard_in_part(call: ToolCall, scene: Scene) -> bool:
    """Was not all kept of what who asked for it told its model next? What came of this may have been in that."""
    if call.asked_by is None or call.agent is None:
        return False
    since = (c for c in scene.works(call.agent, call.asked_by.start) if c is not call.asked_by)
    heard = next(since, None)
    return heard is not None and (heard.truncated_input or bool(heard.node.span.dropped))


def _unfollowed(call: ToolCall, scene: Scene) -> bool:
    """Was this asked for last, in a run that nothing frames? What came of it would not be seen."""
    if scene.agents or call.asked_by is not scene.model_calls[-1]:
        return False
    return call.asked_by.node.parent is None and not call.asked_by.node.orphan


def _brought_an_error(call: ToolCall) -> bool:
    """Does the text that the model was brought say that the call failed, as it would of any tool (call_status.py)?"""
    if call.answer is None:
        return False
    value, _ = result_of(call.answer.content)
    return says_error(call) and not (call.nodes and plain(value))


def says_error(call: ToolCall) -> bool:
    """Does what a call brought read like an error, whoever words it?"""
    raw = call.answer.content if call.answer is not None else span_fact(call.nodes, "result") if call.nodes else None
    value, flagged = result_of(raw)
    return flagged is None and soft_error(value, None)


def _died(agent: Node) -> bool:
    """Was the last that an agent's span holds a model's call that failed?"""
    models = [n for n in agent.below() if n.kind == LLM]
    return bool(models) and failure(max(models, key=lambda n: n.start)) is not None


def failed(call: ToolCall) -> bool:
    """Does a call's span, or what the model was brought of it, say that it failed?"""
    flagged = call.answer is not None and call.answer.error
    return bool(flagged) or any(failure(n) is not None or n.span.tool_error == "true" for n in call.nodes)
