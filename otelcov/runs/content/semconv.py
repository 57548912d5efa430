"""Messages exactly as the GenAI conventions write them: the common case, read without a walk."""

from __future__ import annotations

import msgspec

from otelcov.runs.content.chat import Message, Request, Result, role_of
from otelcov.runs.content.jsontext import UNREADABLE, Value, hidden
from otelcov.runs.content.messages import pair, parts_as_text
from otelcov.runs.content.printed_parts import with_part
from otelcov.runs.content.reprs import with_reprs
from otelcov.runs.content.written_parts import written


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    """A part as the conventions write it; what tells more is left to the walk."""

    type: str
    content: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: Value = None
    response: Value = None
    result: Value = None


class _Semconv(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    parts: list[_Part]
    finish_reason: str | None = None
    name: str | None = None


semconv = msgspec.json.Decoder(list[_Semconv]).decode


def brought(part: _Part) -> Value:
    """What a part tells that a tool gave; some write it where the words of others stand (Envoy's gateway)."""
    if part.result is not None:
        return part.result
    return part.content if part.response is None else part.response


def semconv_messages(text: str) -> list[Message] | None:
    """The messages of `gen_ai.input.messages` and the like; None where they are not exactly of that form."""
    if not text.startswith('[{"'):
        return None
    try:
        decoded = semconv(text)
    except UNREADABLE:
        return None
    out = []
    for found in decoded:
        role = role_of(found.role)
        message = Message(role, finish_reason=found.finish_reason, name=found.name)
        for part in found.parts:
            kind = part.type
            if kind == "text":
                if part.content is None or (role == "assistant" and parts_as_text(part.content)):
                    return None
                if written(role, part.content) is not None:
                    return None
                message.text = part.content if not message.text else f"{message.text}\n{part.content}"
            elif kind == "tool_call":
                if not part.name:
                    return None
                if role == "system":
                    message.role = role = "assistant"  # as Gemini CLI calls a model in its log records
                message.requests.append(Request(part.id or None, part.name, part.arguments))
            elif kind == "tool_call_response":
                content = brought(part)
                if isinstance(content, (list, dict)):
                    return None
                message.results.append(Result(part.id or None, part.name, content))
            elif kind != "reasoning" and kind != "thinking":
                return None
        if hidden(message.text):
            message.text = None
        if role == "assistant" and message.requests and message.results:
            pair(message)
        if not found.parts and role == "user":
            message.text = ""
        if role == "tool" and not message.results:
            return None
        with_part(message)
        out.append(with_reprs(message) if role == "assistant" else message)
    return out
