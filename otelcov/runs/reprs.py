"""Tool calls that an instrumentation wrote as `repr(tool_call)` into a text."""

from __future__ import annotations

import ast
import re

from otelcov.runs.chat import Message, Request, as_text
from otelcov.runs.jsontext import Value

_REPR = re.compile(r"\b(?:ResponseFunctionToolCall|ChatCompletionMessageFunctionToolCall|ToolCall|FunctionCall)\(")


def with_reprs(m: Message) -> Message:
    """Some instrumentations put `repr(tool_call)` into a text part; read it back as the call it was."""
    if m.text is None or ("ToolCall(" not in m.text and "FunctionCall(" not in m.text):
        return m
    rest: list[str] = []
    position = 0
    for hit in _REPR.finditer(m.text):
        if hit.start() < position:
            continue
        end = _closing(m.text, hit.end() - 1)
        if end is None:
            m.unreadable = True
            return m
        fields = _keywords(m.text[hit.start() : end + 1])
        if fields is None or not isinstance(fields.get("name"), str):
            return m
        m.requests.append(
            Request(as_text(fields.get("call_id") or fields.get("id")), fields["name"], fields.get("arguments"))
        )
        rest.append(m.text[position : hit.start()])
        position = end + 1
    if position:
        m.text = "".join([*rest, m.text[position:]]).strip(" ,\n[]") or None
    return m


def _closing(text: str, opening: int) -> int | None:
    depth, quote, i = 0, "", opening
    while i < len(text):
        c = text[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = ""
        elif c in "'\"":
            quote = c
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth == 0:
                return i
        i += 1
    return None


def _keywords(text: str) -> dict[str, Value] | None:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(node, ast.Call):
        return None
    out: dict[str, Value] = {}
    for keyword in node.keywords:
        if keyword.arg:
            try:
                out[keyword.arg] = ast.literal_eval(keyword.value)
            except (ValueError, TypeError):
                out[keyword.arg] = None
    return out
