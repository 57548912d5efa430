"""Whether a call ran at all: leave may have been refused or waited for in vain, or somebody stopped it."""

from __future__ import annotations

import re
from functools import lru_cache

from otelcov.dialects.base import AGENT, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.llm.reasons import reasons_told
from otelcov.runs.rules.called_off import says_called_off, thrown_to_call_off
from otelcov.runs.rules.habits import lists_tools, of_strands_js, waits_by_events
from otelcov.runs.rules.softerrors import NOT_RUN, nobodys, refused
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.tree import Node, failure, waiting


def waits_unsaid(node: Node) -> bool:
    """Did a step or an agent end to wait for somebody, whose tool's span ends well with nothing that came of it
    (Strands, a tool that interrupts)?"""
    step = node.parent
    if waits_by_events(node.span.scope):
        return failure(node) is None and any("interrupt" in reasons_told(n) for n in node.ancestors())
    return of_strands_js(node.span.scope) and step is not None and waiting(step)


def opened_in_vain(call: ToolCall) -> bool:
    """Did the spans of a call that a model hears was refused, opened before anyone gave leave, tell of no result?"""
    return bool(call.nodes) and all(n.span.result is None and not n.span.error_type for n in call.nodes)


def abandoned(call: ToolCall, error_type: str | None, message: str) -> bool:
    """Was a tool of Claude's stopped, perhaps while it ran, or all called off (JavaScript's `AbortSignal`)? Was nobody
    there to be asked, before a tool ran or by it (AG2)? Or did OpenInference of Claude's Agent SDK hear no more of one
    that it had seen asked for, or is there no span of its server, whose others have some? It was given no leave, or the
    run ended first."""
    if _says_stopped(message) or (error_type or "").endswith(_NOBODY_ASKED):
        return True
    if thrown_to_call_off(error_type, message) or (call.answer is None and (error_type or "").endswith(_CALLED_OFF)):
        return True
    if not any(_OF_CLAUDE.search(n.span.scope) for n in call.nodes):
        return False
    return message.split("\n")[0].strip() == "Abandoned" or _unserved(call)


def _says_stopped(message: str) -> bool:
    return says_called_off(message) or any(told.search(message) for told in (_STOPPED_IT, _WITHHELD, _ABORTED))


_WITHHELD = late(r"\bTool output guardrail \S+ triggered tripwire")
"""What OpenAI's kit says of a tool that ran, and of whose result a guard would not hear."""
_ABORTED = late(r"^(?:\w*Error: )*(?:This operation was aborted(?!\w| due to)|Operation aborted(?:\n|$))")
"""What an `AbortSignal` that somebody pulled throws, before a tool ran or as it did; one that time pulled says so. And
what Copilot says of a tool that was under way as somebody called all off."""
_CALLED_OFF = "CancelledError"
"""What asyncio throws into a tool, before it ran or as it did, where one beside it raised or a reader left."""
_NOBODY_ASKED = ("HumanInputNotProvidedError", "HumanInputTimeoutError")
_OF_CLAUDE = late(r"instrumentation[.-]claude[_-]agent[_-]sdk$")
_STOPPED_IT = late(
    r"The user doesn't want to proceed with this tool use\. |\bTool run not completed \(conversation ended\)"
    r"|Tool call did not finish before "
)
"""What Claude is told of a tool that somebody stopped, and LangSmith and Sentinel AI of one that was under way at the
end."""


def _unserved(call: ToolCall) -> bool:
    """Did a tool of a server in the program's own process, which lists its tools by a span, fail without one?"""
    if len(call.nodes) > 1 or not (call.name or "").startswith("mcp__"):
        return False
    top = call.nodes[0].top()
    return any(lists_tools(n.span.scope, n.span.name) for n in top.below())


def denied(call: ToolCall) -> bool:
    """Does a span of it, or of the wait for leave in it, say that it may not run?"""
    return any(
        x.span.tool_error == "denied" and (x is n or x.kind not in (AGENT, TOOL))
        for n in call.nodes
        for x in (n, *n.children)
    )


def given_no_leave(error_type: str | None, message: str) -> bool:
    """Does what it failed with say that it did not run at all?"""
    if (error_type or message) in _NO_LEAVE or _KEPT_FROM.search(message):
        return True
    if NOT_RUN.search(error_type or ""):
        return True
    return refused(message) and not _STOPPED.match(message)


@lru_cache(maxsize=4096)
def needs_a_look(failed: tuple[str, str], name: str | None) -> bool:
    """May what a tool's span failed with (its type and words) say that it did not run, or not to its end?"""
    error_type, message = failed
    stopped = _says_stopped(message) or "Abandoned" in message or error_type.endswith(_NOBODY_ASKED)
    stopped = stopped or thrown_to_call_off(error_type, message)
    return stopped or given_no_leave(error_type, message) or nobodys(message, name)


_STOPPED = late(r"[\w ]*cancelled", re.I)
"""What a tool says that was stopped, perhaps while it ran."""
_NO_LEAVE = ("denied", "rejected", "declined", "tool not available", "hook_denied", "hook_failed")
"""Types of the error of a tool that was given no leave (GitHub's Copilot, goose), or all that is said of it, or of one
that nobody has (Docker's Agent)."""
_KEPT_FROM = late(
    r"Tool execution for \S+ was manually rejected by user|\bToolInputGuardrailTripwireTriggered: "
    r"|\bTool input guardrail \S+ triggered tripwire"
    r"|\bFunction '[^'\n]{1,200}' has reached its maximum (?:invocation|exception) limit, "
)
"""What OpenAI's kit for JavaScript adds to the words in which somebody refused a tool, what the guards of OpenAI's kits
throw, and what Microsoft's Agent Framework says of a tool that was used up."""
