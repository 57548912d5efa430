"""What regular model spans answered, as flat columns: texts, finish reasons and requests for tools.

The general way makes a `Message` of each answer (messages.py). Here one answer of the GenAI conventions' plain form is
read straight into columns; any other form is left to the general way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from otelcov.runs import messages as m
from otelcov.runs.boundaries import FINISH
from otelcov.runs.endings import asks
from otelcov.runs.models import finish_reason

_WRAPPING = frozenset(("inputs", "input_str", "kwargs", "args", "arguments"))
_REPR = ("ToolCall(", "FunctionCall(")
_encode = msgspec.json.Encoder(order="sorted").encode_lines


@dataclass(slots=True)
class Answers:
    """Of each model span: is it plain, what it said, why it ended. Of each request, in order: the model span's number,
    the call id, the tool, and its arguments as canonical JSON (None: the request carries none)."""

    plain: list[bool] = field(default_factory=list)
    text: list[str | None] = field(default_factory=list)
    finish: list[str | None] = field(default_factory=list)
    asked_by: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    arguments: list[str | None] = field(default_factory=list)


def read(outputs: list[str | None], finishes: list[str | None]) -> Answers:
    """The answers of model spans, from their output messages and finish reasons (one each per span)."""
    out = Answers()
    reasons = {raw: finish_reason(raw) for raw in set(finishes)}
    objects: list[m.Value] = []  # the arguments of the requests that carry some
    ends: dict[str | None, bool] = {None: True}
    for number, (raw, finish) in enumerate(zip(outputs, finishes, strict=True)):
        found = _message(raw)
        text, plain, asked = None, found is not None, 0
        reason = reasons[finish]
        if found is not None:
            reason = reason or found.finish_reason
            for part in found.parts:
                kind = part.type
                if kind == "tool_call" and part.name:
                    told = part.arguments
                    if type(told) is not dict or not _WRAPPING.isdisjoint(told):
                        told, rest = m.arguments(told)
                        plain = plain and rest is None
                    objects.append(told)
                    out.asked_by.append(number)
                    out.ids.append(part.id or "")
                    out.names.append(part.name)
                    asked += 1
                elif kind == "text" and part.content is not None:
                    text = part.content if not text else f"{text}\n{part.content}"
                elif kind != "reasoning" and kind != "thinking":
                    plain = False
        if reason not in ends:
            ends[reason] = not FINISH.get(str(reason).lower().rsplit(".", 1)[-1])
        if text is not None and (_REPR[0] in text or _REPR[1] in text):
            plain = False
        if not asked and (text is None or "Action" in text or asks(reason)):
            plain = False
        out.plain.append(plain and ends[reason])
        out.text.append(text)
        out.finish.append(reason)
    out.arguments = [None if text == "null" else text for text in json_texts(objects)]
    return out


def json_texts(values: list[m.Value]) -> list[str]:
    """The canonical JSON of each value."""
    return _encode(values).decode().split("\n")[:-1]  # no line break stands in JSON unescaped


def _message(raw: str | None) -> Any:
    """The one assistant message of an answer, or None."""
    if raw is None or not raw.startswith('[{"'):
        return None
    try:
        (found,) = m.semconv(raw)
    except m.UNREADABLE:
        return None
    return found if m.ROLES.get(found.role, found.role) == "assistant" else None


__all__ = ["Answers", "json_texts", "read"]
