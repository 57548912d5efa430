"""What became of a tool call: its status, error, arguments and result."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from otelcov.dialects.base import AGENT, TOOL
from otelcov.runs.content.jsontext import cut_short
from otelcov.runs.content.wrapped import result_of
from otelcov.runs.llm.reasons import reasons_told
from otelcov.runs.rules.answers import counts_at_the_end, drops_flags, keeps_flags, says_why
from otelcov.runs.rules.habits import (
    flags_at_the_end,
    leaves_flags_out,
    lists_tools,
    of_adk,
    of_strands_js,
    opens_before_leave,
    runs_by_spans,
    tells_in_results,
    tells_raised,
    tells_refusals,
    tells_steps,
    waits_by_events,
)
from otelcov.runs.rules.softerrors import (
    NOT_RUN,
    awaits_leave,
    may_not_have_run,
    nobodys,
    not_taken,
    plain,
    refused,
    soft_error,
)
from otelcov.runs.tools.attempts import held
from otelcov.runs.tools.call import ToolCall, asks_leave, awaits_flag, broke_off, framed
from otelcov.runs.tools.call_values import arguments_and_text, event_result
from otelcov.runs.tools.executions import OF_ALL, client_alone, message_around, span_fact
from otelcov.runs.tools.later import Later
from otelcov.runs.trace.tree import Node, failure, waiting


class Outcome:
    """What became of a call: the contract's status, error kind and type, arguments and result."""

    __slots__ = ("arguments", "arguments_text", "error_kind", "error_type", "message", "result", "status")

    def __init__(self) -> None:
        self.status = "ok"
        self.error_kind: str | None = None
        self.error_type: str | None = None
        self.message = ""
        self.arguments: dict[str, Any] | None = None
        self.arguments_text: str | None = None
        self.result: Any = None


def outcome(call: ToolCall, spans_shown: bool, later: Later, soft: tuple[str, ...]) -> Outcome:
    """Status by the contract: executed calls are ok or error; asked for and not run is `requested`; and where nothing
    could have shown whether it ran, `unknown`."""
    out = Outcome()
    out.arguments, out.arguments_text = arguments_and_text(call)
    flagged: bool | None = None
    value: Any = None
    if call.nodes:
        raw = None if call.doubles else span_fact(call.nodes, "result")
        if raw is None and not call.doubles:
            raw = event_result(call.nodes)
        if raw is not None:
            value, flagged = result_of(raw)
        if value == [] and framed(call) is not None:
            value = None  # what the model saw was made of other fields
        if flagged is None and _flags(call)[:1] == [True]:
            flagged = True
        failed = next((f for n in call.nodes if (f := _failure(n)) is not None and not _again(n, call.nodes)), None)
        if failed is not None:
            out.status, out.error_kind, out.error_type, out.message = (
                "error",
                "hard",
                _error_type(failed, call.nodes),
                failed[1],
            )
    flagged_by = flagged
    if call.answer is not None:
        seen, seen_flag = result_of(call.answer.content)
        frame = framed(call) is not None and isinstance(value, dict)
        frame = frame and (value == {"result": call.answer.content} or value.get("output") == seen)
        cut = isinstance(value, str) and len(value) < len(str(seen)) and str(seen).startswith(value[:-3])
        if value is None or frame or cut:
            value = seen
        if call.answer.error is not None:
            seen_flag = call.answer.error or seen_flag
        if seen_flag:
            flagged = flagged_by = True
        elif flagged is None and soft_error(seen, None, soft):
            flagged = True
    if out.status == "ok" and (call.nodes or call.answer is not None) and soft_error(value, flagged, soft):
        told = bool(call.nodes) and flagged_by is None and plain(value)
        if told and (any(tells_raised(n.span.scope) for n in call.nodes) or _says_nothing(call)):
            out.status = "unknown"
        else:
            out.status, out.error_kind = ("ok" if told else "error"), "soft"
        out.error_type = _text_type(value)
        out.message = value if isinstance(value, str) else ""
    elif out.status == "ok" and call.nodes and soft_error(value, None, soft):
        out.error_kind = "soft"  # the framework says that nothing was raised, and the tool that it failed
    waits = awaits_leave(value)
    out.result = value = None if waits else value
    if (
        waits
        or denied(call)
        or (refused(value) and (any(tells_refusals(n.span.scope) for n in call.nodes) or _opened_in_vain(call)))
        or (value is None and any(waiting(n) or _waits_unsaid(n) for n in call.nodes))
        or (out.error_kind == "hard" and _given_no_leave(out))
        or (out.error_kind is not None and nobodys(out.message, call.name))
        or nobodys(value, call.name)
    ):
        out.status, out.error_kind, out.error_type = "requested", None, None  # the span waited for leave, in vain
    elif out.error_kind == "hard" and _abandoned(call, out):
        out.status, out.error_kind, out.error_type = "unknown", None, None
    if not call.nodes:
        if call.answer is None:
            out.status = "unknown" if any(c.nodes for c in call.doubles) else _not_seen(call, spans_shown, later)
        elif call.from_memory or refused(value) or nobodys(value, call.name):
            out.status, out.error_kind, out.error_type = "requested", None, None
        elif called_off(call) or _broken_in_on(call, value) or (later.stepped_over(call) and not not_taken(value)):
            out.status, out.error_kind, out.error_type = "unknown", None, None
        elif flagged is None and (
            (value is None and call.answer.error is None)
            or (out.status == "ok" and (_flag_lost(call) or _span_lost(call, spans_shown) or may_not_have_run(value)))
        ):
            out.status = "unknown"  # it came back; how it went is not on the wire
    elif any(_fails(c) != _fails(call) for c in call.doubles) and flagged is None:
        out.status, out.error_kind, out.error_type = "unknown", None, None
    elif out.status == "ok" and (
        broken_off(call)
        or (_cut(value) and (_untold(call, out) or _may_wait(call, later)))
        or (flagged is None and (awaits_flag(call) or _flag_cut(call) or _flag_kept(call)))
    ):
        out.status = "unknown"
    return out


def _says_nothing(call: ToolCall) -> bool:
    """Do its spans tell neither what came of it nor that it ended well? A program opened them around a tool whose
    errors it caught there, perhaps."""
    return (
        all(n.span.result is None and n.span.status_code == 0 for n in call.nodes) and event_result(call.nodes) is None
    )


def called_off(call: ToolCall) -> bool:
    """Did a kit that opens a span for each tool that it runs open none? A hook may have put something in its place."""
    asker = call.asked_by
    if asker is None or call.result_of is asker:  # the provider ran it
        return False
    return any(runs_by_spans(n.span.scope) for n in asker.layers)


def _broken_in_on(call: ToolCall, value: Any) -> bool:
    """Does Pipecat say in place of a result that somebody broke in while the tool ran?"""
    asker = call.asked_by
    ours = asker is not None and any(counts_at_the_end(n.span.scope) for n in asker.layers)
    return ours and isinstance(value, str) and _BROKEN_IN_ON.match(value) is not None


_BROKEN_IN_ON = re.compile(r"CANCELLED(?:$|: this tool call was cancelled\b)")


def _waits_unsaid(node: Node) -> bool:
    """Did a step or an agent end to wait for somebody, whose tool's span ends well with nothing that came of it
    (Strands, a tool that interrupts)?"""
    step = node.parent
    if waits_by_events(node.span.scope):
        return failure(node) is None and any("interrupt" in reasons_told(n) for n in node.ancestors())
    return of_strands_js(node.span.scope) and step is not None and waiting(step)


def _opened_in_vain(call: ToolCall) -> bool:
    """Did the spans of a call that a model hears was refused, opened before anyone gave leave, tell of no result?"""
    return bool(call.nodes) and all(n.span.result is None and not n.span.error_type for n in call.nodes)


def _abandoned(call: ToolCall, out: Outcome) -> bool:
    """Was a tool of Claude's stopped, perhaps while it ran, or all called off (JavaScript's `AbortSignal`)? Was nobody
    there to be asked, before a tool ran or by it (AG2)? Or did OpenInference of Claude's Agent SDK hear no more of one
    that it had seen asked for, or is there no span of its server, whose others have some? It was given no leave, or the
    run ended first."""
    if _says_stopped(out.message) or (out.error_type or "").endswith(_NOBODY_ASKED):
        return True
    if call.answer is None and (out.error_type or "").endswith(_CALLED_OFF):
        return True
    if not any(_OF_CLAUDE.search(n.span.scope) for n in call.nodes):
        return False
    return out.message.split("\n")[0].strip() == "Abandoned" or _unserved(call)


def _says_stopped(message: str) -> bool:
    return any(told.search(message) for told in (_STOPPED_IT, _WITHHELD, _ABORTED))


_WITHHELD = re.compile(r"\bTool output guardrail \S+ triggered tripwire")
"""What OpenAI's kit says of a tool that ran, and of whose result a guard would not hear."""
_ABORTED = re.compile(r"^(?:\w*Error: )*(?:This operation was aborted(?!\w| due to)|Operation aborted$)")
"""What an `AbortSignal` that somebody pulled throws, before a tool ran or as it did; one that time pulled says so. And
what Copilot says of a tool that was under way as somebody called all off."""
_CALLED_OFF = "CancelledError"
"""What asyncio throws into a tool, before it ran or as it did, where one beside it raised or a reader left."""
_NOBODY_ASKED = ("HumanInputNotProvidedError", "HumanInputTimeoutError")
_OF_CLAUDE = re.compile(r"instrumentation[.-]claude[_-]agent[_-]sdk$")
_STOPPED_IT = re.compile(
    r"The user doesn't want to proceed with this tool use\. |\bTool run not completed \(conversation ended\)"
    r"|Tool call did not finish before "
)
"""What Claude is told of a tool that somebody stopped, and LangSmith and Sentinel AI of one that was under way at the
end."""


def _unserved(call: ToolCall) -> bool:
    """Did a tool of a server in the program's own process, which lists its tools by a span, fail without one?"""
    if len(call.nodes) > 1 or not (call.name or "").startswith("mcp__"):
        return False
    top = (call.nodes[0].ancestors() or call.nodes)[-1]
    return any(lists_tools(n.span.scope, n.span.name) for n in top.below())


def denied(call: ToolCall) -> bool:
    """Does a span of it, or of the wait for leave in it, say that it may not run?"""
    return any(
        x.span.tool_error == "denied" and (x is n or x.kind not in (AGENT, TOOL))
        for n in call.nodes
        for x in (n, *n.children)
    )


def _cut(result: Any) -> bool:
    """Is nothing left of a result, or not all?"""
    return result is None or (isinstance(result, str) and cut_short(result))


def _given_no_leave(out: Outcome) -> bool:
    """Does what it failed with say that it did not run at all?"""
    if (out.error_type or out.message) in _NO_LEAVE or _KEPT_FROM.search(out.message):
        return True
    if NOT_RUN.search(out.error_type or ""):
        return True
    return refused(out.message) and not _STOPPED.match(out.message)


@lru_cache(maxsize=4096)
def needs_a_look(failed: tuple[str, str], name: str | None) -> bool:
    """May what a tool's span failed with (its type and words) say that it did not run, or not to its end?"""
    out = Outcome()
    out.error_type, out.message = failed
    stopped = _says_stopped(out.message) or "Abandoned" in out.message
    return stopped or failed[0].endswith(_NOBODY_ASKED) or _given_no_leave(out) or nobodys(out.message, name)


_STOPPED = re.compile(r"[\w ]*cancelled", re.I)
"""What a tool says that was stopped, perhaps while it ran."""
_NO_LEAVE = ("denied", "rejected", "declined", "tool not available", "hook_denied", "hook_failed")
"""Types of the error of a tool that was given no leave (GitHub's Copilot, goose), or all that is said of it, or of one
that nobody has (Docker's Agent)."""
_KEPT_FROM = re.compile(
    r"Tool execution for \S+ was manually rejected by user|\bToolInputGuardrailTripwireTriggered: "
    r"|\bTool input guardrail \S+ triggered tripwire"
    r"|\bFunction '[^'\n]{1,200}' has reached its maximum (?:invocation|exception) limit, "
)
"""What OpenAI's kit for JavaScript adds to the words in which somebody refused a tool, what the guards of OpenAI's kits
throw, and what Microsoft's Agent Framework says of a tool that was used up."""


def _untold(call: ToolCall, out: Outcome) -> bool:
    """Would its spans look the same if it had failed, or not run?"""
    if any(n.span.tool_error == OF_ALL or tells_raised(n.span.scope) for n in call.nodes):
        return True
    if any(tells_in_results(n.span.scope) for n in call.nodes) or client_alone(call.nodes):
        return True
    return out.arguments is not None and any(_before_leave(n) for n in call.nodes)


def _before_leave(node: Node) -> bool:
    """Is this such a span, or MLflow's of a tool in a run of OpenAI's kit?"""
    if opens_before_leave(node.span.scope) or tells_steps(node.span.name):
        return True
    mlflow = node.span.scope.startswith("mlflow")
    return mlflow and any(n.span.name == "AgentRunner.run" for n in node.ancestors())


def _may_wait(call: ToolCall, later: Later) -> bool:
    """Did nobody ask a model after a tool of a kit that asks one after each which is done (Google's ADK), though
    nothing failed? It may wait for leave, or for somebody else to run it."""
    if call.turn is None or not any(of_adk(n.span.scope) for n in call.nodes):
        return False
    return not later.asked_after(call) and all(failure(n) is None for n in call.nodes[0].ancestors())


def _flag_kept(call: ToolCall) -> bool:
    """Does another than the kit tell of a tool, and of no flag with which that marks what it caught (LoongSuite)?"""
    above = [(n, n.parent) for n in call.nodes if n.parent is not None]
    return any(leaves_flags_out(a.span.scope) and n.span.scope.endswith("util.genai.handler") for n, a in above)


def _flag_cut(call: ToolCall) -> bool:
    """Was what a span put out cut, with the flag that may have stood at its end?"""
    return any(flags_at_the_end(n.span.scope) and cut_short(n.span.result) for n in call.nodes)


def broken_off(call: ToolCall) -> bool:
    """Does a span say that nobody knows how it went, and none how?"""
    return any(n.span.tool_error == "unknown" for n in call.nodes) and not _flags(call)


def _flags(call: ToolCall) -> list[bool]:
    """Whether it failed, by each of its spans that has a word on it, outermost first."""
    told = (str(n.span.tool_error).lower() for n in call.nodes if n.span.tool_error not in _NO_FLAGS)
    flags = [flag in ("true", "1") for flag in told]
    if flags or not any(n.span.tool_error == "unknown" for n in call.nodes):
        return flags
    back = (message_around(n) for n in call.nodes)
    return [told["status"] == "error" for told in back if told and told.get("status") in ("error", "success")]


_NO_FLAGS = (None, "", "unknown", "untold")


def _failure(node: Node) -> tuple[str, str] | None:
    return failure(node) if node.span.tool_error != OF_ALL else None


def _fails(call: ToolCall) -> bool | None:
    """Did a span of it fail? None where it has none."""
    return any(_failure(n) is not None for n in call.nodes) if call.nodes else None


def _again(failed: Node, nodes: list[Node]) -> bool:
    """Was this attempt followed by one that went well?"""
    return any(held(n) == held(failed) and n.start >= failed.end and failure(n) is None for n in nodes)


def _flag_lost(call: ToolCall) -> bool:
    told = call.result_of
    if told is None or (told is call.asked_by and not (call.call_id or "").startswith(_ON_A_SERVER)):
        return False  # what Anthropic's own tools bring tells of errors by itself
    flat = [n for n in told.layers if n.span.row in n.side.families["flat_input"]]
    if any(cut_short(n.input_messages) for n in flat):
        return True
    # Flat messages of Anthropic's (Traceloop 0.44 and before) hold the parts as they were sent, flags and all.
    whole = [n for n in flat if n.span.scope.endswith("anthropic")]
    lossy = any(drops_flags(n.span.scope) for n in told.layers if n not in whole)
    return lossy and not any(keeps_flags(n.span.scope) and n.input_messages for n in told.layers)


_ON_A_SERVER = "mcptoolu_"
"""How Anthropic's ids of calls begin that it made to somebody's server."""


def _span_lost(call: ToolCall, spans_shown: bool) -> bool:
    """Have others of this run spans, which would tell what threw, and is this no tool that its provider ran?"""
    return spans_shown and call.result_of is not call.asked_by


def _not_seen(call: ToolCall, spans_shown: bool, later: Later) -> str:
    if (
        asks_leave(call.call_id)
        or broke_off(call)
        or later.goes_on(call)
        or later.held_up(call)
        or later.asked_again(call)
        or _left_to_others(call)
    ):
        return "requested"
    unseen = _providers_own(call) or later.may_have_led_on(call) or later.named_after(call)
    return "requested" if spans_shown and not unseen else "unknown"


def _left_to_others(call: ToolCall) -> bool:
    """Did a loop that opens a span for each tool that it runs, and says why it ended, end without one (Microsoft's
    Agent Framework)? It waits for leave, or for who runs the tool."""
    asker = call.asked_by
    if asker is None or not any(runs_by_spans(n.span.scope) for n in asker.layers):
        return False
    loop = next((n for n in asker.node.ancestors() if says_why(n.span.scope, n.span.name)), None)
    return loop is not None and not loop.orphan and bool(loop.span.finish)


def _providers_own(call: ToolCall) -> bool:
    """Was this offered as a tool that the provider runs (by the AI SDK)? No span of the program's would tell of it."""
    asker, name = call.asked_by, call.name
    if asker is None or not name:
        return False
    offered = (n.definitions or "" for n in asker.layers if n.definitions and '"provider' in n.definitions)
    return any(re.search(_PROVIDERS.format(re.escape(name)), told) for told in offered)


_PROVIDERS = r'\{{\\*"type\\*": ?\\*"provider(?:-defined)?\\*"[^{{}}]*\\*"name\\*": ?\\*"{0}\\*"'


UNNAMED = ("unknown", "_OTHER")
"""What stands in place of an error's type where it has none (Mastra; the conventions, as Langfuse 5 writes)."""


def _error_type(failed: tuple[str, str], nodes: list[Node]) -> str | None:
    named = bare_type(failed[0])
    named = "" if named in UNNAMED else named
    if named and not re.search(r"\s", named):
        return named
    return _text_type(failed[0]) or _text_type(failed[1])  # words are no type (AWS's distribution, of CrewAI's tools)


def bare_type(name: str) -> str:
    """`<class 'openai.APITimeoutError'>` as `openai.APITimeoutError`."""
    hit = re.match(r"<class '([^']+)'>", name)
    return hit.group(1) if hit else name


def _text_type(value: Any) -> str | None:
    hit = re.search(r"\b([A-Z]\w*(?:Error|Exception|Timeout))\b", value) if isinstance(value, str) else None
    return hit.group(1) if hit else None
