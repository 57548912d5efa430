"""Parts and contents of Gemini's as Python prints them, in place of what they hold (Traceloop and OpenInference, of
Google's client)."""

from __future__ import annotations

import ast
import re

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message, Request, Result, as_text, role_of
from otelcov.runs.content.jsontext import Value, expression, literal

_PART = late(r"(?=.*\bfunction_call=)(?=.*\binline_data=)(?:\w+=None )*\w+=", re.S)
_CONTENT = late(r"parts=(\[Part\(.*\)\]) role='(\w+)'", re.S)
_TEXT = late(r"""(?:^|=None )text=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.S)
_HELD = late(r"\bfunction_(?:call|response)=(?=Function(?:Call|Response)\()")


def with_part(m: Message) -> Message:
    """What these hold, where they are all that is told of a message; of what is left out or cut nothing is known."""
    if m.text is None:
        return m
    if (whole := _CONTENT.fullmatch(m.text)) is not None:
        m.role, m.text = role_of(whole[2]), None
        _add_parts(m, whole[1])
    elif "inline_data=" in m.text and _PART.match(m.text):
        _add_printed(m, m.text)
    return m


def _add_parts(m: Message, text: str) -> None:
    try:
        parts = expression(text)
    except ValueError:
        m.unreadable = True
        return
    for part in parts.elts if isinstance(parts, ast.List) else ():
        for field in part.keywords if isinstance(part, ast.Call) else ():
            if field.arg == "text":
                m.text = f"{m.text or ''}{_plain(field.value) or ''}"
            else:
                _add_held(m, field.value)


def _add_printed(m: Message, text: str) -> None:
    """Fields stand side by side, with blanks between them."""
    hits = _TEXT.findall(text)
    m.text = "\n".join(str(literal(hit)) for hit in hits) if hits else None
    for hit in _HELD.finditer(text):
        try:
            _add_held(m, expression(text[hit.end() : _end(text, hit.end())]))
        except ValueError:
            m.unreadable = True


def _end(text: str, at: int) -> int:
    """Where what begins here is closed: the next line that is no deeper than its first ends with a bracket."""
    closed = text.find("\n)", at)
    return closed + 2 if closed >= 0 else len(text)


def _add_held(m: Message, node: ast.expr) -> None:
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
    if not isinstance(node, ast.Call) or name not in ("FunctionCall", "FunctionResponse"):
        return
    told = {field.arg: _plain(field.value) for field in node.keywords}
    call_id, tool = as_text(told.get("id")), as_text(told.get("name"))
    if name == "FunctionCall":
        m.requests.append(Request(call_id, tool, told.get("args", {})))
    else:
        m.results.append(Result(call_id, tool, told.get("response")))


def _plain(node: ast.expr) -> Value:
    try:
        return literal(node)
    except ValueError:
        return None
