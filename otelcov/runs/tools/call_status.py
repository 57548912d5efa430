"""What became of a tool call: its status, error, arguments and result."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Result
from otelcov.runs.content.jsontext import cut_short, parse_json
from otelcov.runs.content.shortened import shortened
from otelcov.runs.content.wrapped import given_by, result_of
from otelcov.runs.rules.answers import counts_at_the_end, drops_flags, keeps_flags, says_why
from otelcov.runs.rules.habits import (
    flags_at_the_end,
    leaves_flags_out,
    of_adk,
    opens_before_leave,
    runs_by_spans,
    tells_in_results,
    tells_raised,
    tells_refusals,
    tells_steps,
)
from otelcov.runs.rules.softerrors import (
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
from otelcov.runs.tools.leave import abandoned, denied, given_no_leave, opened_in_vain, waits_unsaid
from otelcov.runs.tools.under_way import under_way
from otelcov.runs.trace.tree import Node, failure, same_name, waiting


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

    def is_none(self, status: str) -> None:
        """It is no error, whatever its spans say: it did not run, or nobody knows."""
        self.status, self.error_kind, self.error_type = status, None, None


class _Back(NamedTuple):
    """What came back of a call; whether it is marked as failed, or its words say so, and whether it is marked. None:
    nothing tells."""

    value: Any
    flagged: bool | None
    marked: bool | None


def outcome(call: ToolCall, spans_shown: bool, later: Later, soft: tuple[str, ...]) -> Outcome:
    """Status by the contract: executed calls are ok or error; asked for and not run is `requested`; and where nothing
    could have shown whether it ran, `unknown`."""
    out = Outcome()
    out.arguments, out.arguments_text = arguments_and_text(call)
    back = _came_back(call, soft)
    _weigh_failure(call, out)
    _weigh_words(call, out, back, soft)
    waits = awaits_leave(back.value)
    if waits:
        back = back._replace(value=None)
    out.result = back.value
    if waits or _did_not_run(call, out):
        out.is_none("requested")
    elif out.error_kind == "hard" and abandoned(call, out.error_type, out.message):
        out.is_none("unknown")
    if not call.nodes and call.answer is None:
        out.status = "unknown" if any(c.nodes for c in call.doubles) else _not_seen(call, spans_shown, later)
    elif not call.nodes:
        _weigh_answer(call, out, back, spans_shown, later)
    elif any(_fails(c) != _fails(call) for c in call.doubles) and back.marked is None:
        _tell_apart(call, out, soft)
    elif out.status == "ok" and _in_doubt(call, out, back, later):
        out.status = "unknown"
    return out


def _tell_apart(call: ToolCall, out: Outcome, soft: tuple[str, ...]) -> None:
    """Of calls alike, of whose spans some failed and any may be this one's: those did that came back with words for it,
    if as many did as failed."""
    told = [c for c in call.doubles if _came_back(c, soft).flagged]
    if len(told) != sum(bool(_fails(c)) for c in call.doubles) or any(c.answer is None for c in call.doubles):
        out.is_none("unknown")
    elif not any(c is call for c in told):
        out.is_none("ok")
    elif out.error_kind != "hard":
        out.status, out.error_kind = "error", "hard"


def _came_back(call: ToolCall, soft: tuple[str, ...]) -> _Back:
    """By its spans, and by what the model was told of it."""
    value, flagged = _told_by_spans(call) if call.nodes else (None, None)
    if call.answer is None:
        return _Back(value, flagged, flagged)
    seen, marked = result_of(call.answer.content)
    if value is None or _holds_less(value, seen, call, call.answer):
        value = seen
    if marked or call.answer.error:
        return _Back(value, True, True)
    if flagged is None and soft_error(seen, None, soft):
        return _Back(value, True, None)
    return _Back(value, flagged, flagged)


def _told_by_spans(call: ToolCall) -> tuple[Any, bool | None]:
    value, flagged, raw = None, None, None
    if not call.doubles:
        raw = span_fact(call.nodes, "result")
        raw = event_result(call.nodes) if raw is None else raw
    if raw is not None:
        value, flagged = result_of(raw)
    if value == [] and framed(call) is not None:
        value = None  # what the model saw was made of other fields
    if flagged is None and _flags(call)[:1] == [True]:
        flagged = True
    return value, flagged


def _holds_less(value: Any, seen: Any, call: ToolCall, answer: Result) -> bool:
    """Is a span's value the frame of what the model saw, or cut short?"""
    if framed(call) is not None and isinstance(value, dict):
        return value == {"result": answer.content} or value.get("output") == seen
    if not isinstance(value, str):
        return False
    return (len(value) < len(str(seen)) and str(seen).startswith(value[:-3])) or shortened(value, bare=True)


def _weigh_failure(call: ToolCall, out: Outcome) -> None:
    """Did a span of it fail, and no attempt after it go well?"""
    failed = next((f for n in call.nodes if (f := _failure(n)) is not None and not _again(n, call.nodes)), None)
    if failed is not None:
        out.status, out.error_kind = "error", "hard"
        out.error_type, out.message = _error_type(failed, call.nodes), failed[1]


def _weigh_words(call: ToolCall, out: Outcome, back: _Back, soft: tuple[str, ...]) -> None:
    """Does what came back say that it failed, where no span does?"""
    if out.status != "ok":
        return
    if (call.nodes or call.answer is not None) and soft_error(back.value, back.flagged, soft):
        told = bool(call.nodes) and back.marked is None and plain(back.value)
        if told and (any(tells_raised(n.span.scope) for n in call.nodes) or _says_nothing(call)):
            out.status = "unknown"
        else:
            out.status, out.error_kind = ("ok" if told else "error"), "soft"
        out.error_type = _text_type(back.value)
        out.message = back.value if isinstance(back.value, str) else ""
    elif call.nodes and soft_error(back.value, None, soft):
        out.error_kind = "soft"  # the framework says that nothing was raised, and the tool that it failed


def _did_not_run(call: ToolCall, out: Outcome) -> bool:
    """Did its span wait for leave, in vain, or was it nobody's?"""
    value = out.result
    return (
        denied(call)
        or (refused(value) and (any(tells_refusals(n.span.scope) for n in call.nodes) or opened_in_vain(call)))
        or (value is None and any(waiting(n) or waits_unsaid(n) for n in call.nodes))
        or (out.error_kind == "hard" and given_no_leave(out.error_type, out.message))
        or (out.error_kind is not None and nobodys(out.message, call.name))
        or nobodys(value, call.name)
    )


def _weigh_answer(call: ToolCall, out: Outcome, back: _Back, spans_shown: bool, later: Later) -> None:
    """Where no span tells of it: what of its status the words can tell that a model heard of it."""
    value = back.value
    says = call.answer is not None and call.answer.error is not None
    if call.from_memory or refused(value) or nobodys(value, call.name):
        out.is_none("requested")
    elif call.answer is not None and (gave := given_by(call.answer.content)) and not same_name(gave, call.name):
        out.is_none("unknown")  # another's result came back in its place
        out.result = None
    elif called_off(call) or _broken_in_on(call, value) or (later.stepped_over(call) and not not_taken(value)):
        out.is_none("unknown")
    elif out.error_kind is not None and back.marked is None and _unreadable(call, out):
        out.is_none("unknown")  # a loop may have said that, and have run nothing
    elif back.flagged is None and (
        (value is None and not says)
        or (out.status == "ok" and (_flag_lost(call) or _span_lost(call, spans_shown) or may_not_have_run(value)))
    ):
        out.status = "unknown"  # it came back; how it went is not on the wire


def _unreadable(call: ToolCall, out: Outcome) -> bool:
    """Did a model write what is no JSON in place of what a tool is given, all of which is told?"""
    text, asker = out.arguments_text, call.asked_by
    return text is not None and parse_json(text) is None and asker is not None and not asker.truncated_output


def _in_doubt(call: ToolCall, out: Outcome, back: _Back, later: Later) -> bool:
    """May a call have failed, or not run, whose spans say that it went well?"""
    return (
        broken_off(call)
        or (_cut(back.value) and (_untold(call, out) or _may_wait(call, later)))
        or (back.flagged is None and (awaits_flag(call) or _flag_cut(call) or _flag_kept(call)))
    )


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


_BROKEN_IN_ON = late(r"CANCELLED(?:$|: this tool call was cancelled\b)")


def _cut(result: Any) -> bool:
    """Is nothing left of a result, or not all?"""
    return result is None or (isinstance(result, str) and cut_short(result))


def _untold(call: ToolCall, out: Outcome) -> bool:
    """Would its spans look the same if it had failed, or not run?"""
    if any(n.span.tool_error == OF_ALL or tells_raised(n.span.scope) for n in call.nodes):
        return True
    if any(tells_in_results(n.span.scope) or _of_durable(n) for n in call.nodes) or client_alone(call.nodes):
        return True
    return out.arguments is not None and any(_before_leave(n) for n in call.nodes)


def _of_durable(tool: Node) -> bool:
    """Was this run by an agent of Vercel's Workflow Development Kit? Its spans are those of the AI SDK, but that its
    loops name no model, and that a model alone is told what a tool threw."""
    loop = tool.parent
    if tool.span.name != "ai.toolCall" or loop is None or loop.span.name != "ai.streamText":
        return False
    return loop.span.request_model is None


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
    """Was what a span put out cut, with the flag that may have stood at its end, or was it left out?"""
    told = [n.span for n in call.nodes if flags_at_the_end(n.span.scope)]
    if any(cut_short(s.result) if s.result is not None else bool(s.dropped) for s in told):
        return True
    return any(_MESSAGE.match(n.span.result or "") is not None and cut_short(n.span.result or "") for n in call.nodes)


_MESSAGE = late(r'\{"(?:type": ?"tool"|content": ?\[|output":\{"lc":1,.{0,400}?"content":"\{\\"content\\":\[)')
"""How messages of LangChain and results of MCP begin, also as messages of LangChain's for JavaScript, which tell last
whether the tool failed."""


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
        or (later.goes_on(call) and not later.given_to_a_step(call))
        or later.held_up(call)
        or later.asked_again(call)
        or _left_to_others(call)
    ):
        return "requested"
    unseen = _providers_own(call) or later.may_have_led_on(call) or later.named_after(call)
    unseen = unseen or later.step_came(call) or later.hides(call) or later.failed_in_its_place(call)
    unseen = unseen or _came_around(call) or call.may_have_run
    asker = call.asked_by
    unseen = unseen or (asker is not None and (under_way(asker) or asker.several))  # the answers since are in there
    return "requested" if spans_shown and not unseen else "unknown"


def _came_around(call: ToolCall) -> bool:
    """Does the step that its model was asked in tell of something that came back under its id (Strands)?"""
    step = call.asked_by.node.parent if call.asked_by is not None and call.call_id else None
    told = step.side.events.get(step.span.row, ()) if step is not None else ()
    texts = ((key, text) for _, attributes in told for key, text in attributes.items() if isinstance(text, str))
    back = (text for key, text in texts if key == "tool.result" or '"tool_call_response"' in text)
    return any(f'"{call.call_id}"' in text for text in back)


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
