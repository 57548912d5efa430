"""What regular model spans answered, as flat columns: texts, finish reasons and requests for tools.

The general way makes a `Message` of each answer (messages.py). Here one answer of the GenAI conventions' plain form is
read straight into columns; any other form is left to the general way.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import polars as pl

from otelcov.runs.content.jsontext import UNREADABLE, Value, may_be_deep, too_deep
from otelcov.runs.content.semconv import semconv
from otelcov.runs.content.wrapped import NO_JSON, arguments_of
from otelcov.runs.llm.model_call import finish_reason
from otelcov.runs.rules.boundaries import asks, broke, called_off
from otelcov.runs.rules.boundaries import finish as boundary

_WRAPPING = frozenset(("inputs", "input_str", "kwargs", "args", "arguments", *NO_JSON))
_REPR, _LISTED = "Call(", "Tool calls: ["  # ToolCall, FunctionCall; NeMo Agent Toolkit's
_encode = msgspec.json.Encoder(order="sorted").encode_lines


@dataclass(slots=True)
class Answers:
    """Of each model span: is it plain, what it said, why it ended. Of each request, in order: the model span's number,
    the call id, the tool, and its arguments as canonical JSON (None: the request carries none)."""

    plain: list[bool]
    text: list[str | None]
    finish: list[str | None]
    asked_by: list[int]
    ids: list[str]
    names: list[str]
    arguments: pl.Series

    def add(self, asked_by: list[int], ids: list[str], names: list[str]) -> None:
        """Further requests, without arguments, each in its place."""
        by = [*self.asked_by, *asked_by]
        order = sorted(range(len(by)), key=by.__getitem__)
        self.asked_by = [by[i] for i in order]
        self.ids, self.names = ([some[i] for i in order] for some in ([*self.ids, *ids], [*self.names, *names]))
        self.arguments = self.arguments.extend_constant(None, len(ids))[order]


def read(outputs: list[str | None], finishes: list[str | None], contentless: list[bool]) -> Answers:
    """The answers of model spans, from their output messages and finish reasons (one each per span). Where runs carry
    no content (`contentless`), the reason is all there is."""
    count = len(outputs)
    plain, texts, ends = [False] * count, list[str | None]([None]) * count, list[str | None]([None]) * count
    asked_by, ids, names = list[int](), list[str](), list[str]()
    objects: list[Value] = []  # the arguments of the requests
    reasons = {raw: finish_reason(raw) for raw in set(finishes)}
    usual = {reason: _usual(reason) for reason in reasons.values()}
    for number, (raw, finish) in enumerate(zip(outputs, finishes, strict=True)):
        if raw is None and contentless[number]:
            ends[number] = reason = reasons[finish]
            plain[number] = usual[reason]
        if raw is None or not raw.startswith('[{"'):
            continue
        try:
            (found,) = semconv(raw)
        except UNREADABLE:
            continue
        text, regular, before, deep = None, found.role == "assistant", len(ids), may_be_deep(raw)
        for part in found.parts:
            kind = part.type
            if kind == "tool_call" and part.name:
                told = part.arguments
                if type(told) is not dict or not _WRAPPING.isdisjoint(told) or (deep and too_deep(told)):
                    regular = regular and told != ""  # its own span may tell more
                    told, rest = arguments_of(told)
                    regular = regular and rest is None
                objects.append(told)
                asked_by.append(number)
                ids.append(part.id or "")
                names.append(part.name)
            elif kind == "text" and part.content is not None:
                text = part.content if not text else f"{text}\n{part.content}"
            elif kind != "reasoning" and kind != "thinking":
                regular = False
        ends[number] = reason = reasons[finish] or found.finish_reason
        if reason not in usual:
            usual[reason] = _usual(reason)
        if text is not None:
            texts[number] = text
            if _REPR in text or _LISTED in text:
                regular = False
        if before == len(ids) and (not text or "Action" in text or "action_input" in text or asks(reason)):
            regular = False
        plain[number] = regular and usual[reason]
    arguments = pl.Series("arguments", json_texts(objects), pl.String)
    arguments = arguments.set(arguments == "null", None)
    return Answers(plain, texts, ends, asked_by, ids, names, arguments)


def _usual(reason: str | None) -> bool:
    return boundary(reason) is None and not broke(reason) and not called_off(reason)


def json_texts(values: list[Value]) -> list[str]:
    """The canonical JSON of each value."""
    return _encode(values).decode().split("\n")[:-1]  # no line break stands in JSON unescaped


def quoted(texts: pl.Series) -> pl.Series:
    """The same of texts, in columns."""
    found = pl.select(pl.concat_str(pl.lit('"'), texts, pl.lit('"'))).to_series()
    escaped = texts.str.contains(r'["\\\x00-\x1f]').arg_true()
    return found.scatter(escaped, json_texts(texts[escaped].to_list())) if len(escaped) else found


__all__ = ["Answers", "json_texts", "quoted", "read"]
