"""What the spans of a model call may leave out of its answer or input, as their instrumentation is known to."""

from __future__ import annotations

from otelcov.ground.patterns import late
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.answers import (
    drops_beside_text,
    drops_calls,
    hides_served,
    input_as_text,
    tells_last_call,
    tells_last_piece,
)
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.rules.habits import of_langfuse
from otelcov.runs.trace.spans import Span


def last_only(call: ModelCall) -> bool:
    """Does this instrumentation tell only the last of the calls that this answer asks for, or none beside a text?"""
    return any(tells_last_call(n.span.scope, n.span.response_id) or _text_only(n.span) for n in call.layers)


def finish_cut(call: ModelCall) -> bool:
    """May why an answer ended be among the attributes that its spans dropped?"""
    return call.finish is None and any(n.span.dropped for n in call.layers)


def served_left_out(call: ModelCall) -> bool:
    """Did the provider run a tool whose name was lost, or may it have run one of those that it was offered without
    parameters, as its own are, and OpenLIT for JavaScript and Traceloop's leave out of what Anthropic's client answers,
    Langfuse out of what LangChain's does?"""
    if any(x.nameless for x in call.outputs or ()):
        return True
    offered = (n.definitions or "" for n in call.layers if hides_served(n.span.scope))
    if any(_WITHOUT_PARAMETERS.search(told) for told in offered):
        return True
    alone = len(call.layers) == 1 and of_langfuse(call.node.span.scope)
    return alone and _OPENAIS.search(call.node.input_messages or "") is not None


_WITHOUT_PARAMETERS = late(r'"parameters": ?\{\}|\{"name": ?"[^"]*"\}')
_OPENAIS = late(
    r'\{"type": ?"(?:web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?|file_search|code_interpreter|image_generation|mcp)"'
    r'(?:\}|, ?"(?!id|call_id|text|name))'
)
"""A tool of OpenAI's own as it is offered, in an input whole."""


def _text_only(span: Span) -> bool:
    if drops_calls(span.scope):
        return True
    if input_as_text(span.scope) and (span.response_id or "").startswith("resp_"):
        return True
    return of_langfuse(span.scope) and span.name == "OpenAI.responses"


def asked_untold(call: ModelCall) -> bool:
    """Is it told that it asked for tools, how many perhaps, and nothing else of these?"""
    return not call.asked and any(n.span.tool_error == "asked" for n in call.layers)


def hides_requests(call: ModelCall) -> bool:
    """May it have asked for tools that only a later input tells? Of some answers nothing is told, or no more than that
    they asked (AgentOps), and Traceloop and Langfuse for JavaScript leave out what stands beside a text in one of
    OpenAI's Responses."""
    if call.error is not None or call.outputs is None:
        return call.error is None
    if call.asked:
        return False
    if asked_untold(call) or any(drops_beside_text(n.span.scope) for n in call.layers):
        return True
    return (asks(call.finish) and not call.text) or any(_text_only(n.span) for n in call.layers)


def pieces(call: ModelCall) -> bool:
    """Does this instrumentation tell of a stream its last piece, and not that it was one?"""
    return any(tells_last_piece(n.span.scope) for n in call.layers)


def items_left_out(call: ModelCall) -> bool:
    """Does it tell of its input nothing but what the user said, each time alike, whatever was asked for and came back
    (OpenLIT, of OpenAI's Responses)?"""
    span = call.node.span
    alone = tells_last_call(span.scope, span.response_id)
    return alone and not any(x.requests or x.results for x in call.inputs or ())
