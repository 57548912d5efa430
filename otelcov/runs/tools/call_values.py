"""What a tool call was given and what came of it, as its own spans and their events tell."""

from __future__ import annotations

from typing import Any

from otelcov.dialects.base import TOOL
from otelcov.ground.patterns import late
from otelcov.runs.content.wrapped import arguments_of, result_of
from otelcov.runs.rules.answers import given_by_events
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.tree import Node


def gave_nothing(call: ToolCall) -> bool:
    """Is an empty text told of what came of it?"""
    return (call.answer is not None and _nothing(call.answer.content)) or any(
        _nothing(n.span.result) for n in call.nodes
    )


def _nothing(result: Any) -> bool:
    framed = isinstance(result, str) and result[:1] in ("{", "[") and '""' in result
    return result == "" or (framed and _empty(result_of(result)[0]))


def _empty(value: Any) -> bool:
    """Is there nothing in this but empty texts?"""
    if isinstance(value, (dict, list)):
        return bool(value) and all(map(_empty, value.values() if isinstance(value, dict) else value))
    return bool(value == "")


def forget(call: ToolCall) -> None:
    """Take what came of it for untold, where an empty text stands for it: somebody emptied all that was said."""
    if call.answer is not None and _nothing(call.answer.content):
        call.answer.content = None
    for node in call.nodes:
        node.span = node.span._replace(result=None if _nothing(node.span.result) else node.span.result)


_WRAPPING = late(r"^langsmith$|\.beeai$")
"""Instrumentations that tell a tool's arguments as the one input of a function."""


def arguments_and_text(call: ToolCall) -> tuple[dict[str, Any] | None, str | None]:
    """What a call was given; the text of it where that is no JSON object."""
    found, text = arguments_of(call.arguments)
    if (found is None or call.arguments == "") and call.nodes:  # a stream's first piece, perhaps
        for node in call.nodes:
            raw = node.span.arguments
            raw = _event_arguments(node) if raw is None else raw
            if raw is None:
                continue
            parsed, raw_text = arguments_of(raw)
            if parsed is not None and not schema(parsed):
                inner = _unwrapped(parsed, node)
                found, text = inner if isinstance(inner, dict) else None if inner is None else parsed, None
                break
            text = text or raw_text
    return found, text if found is None else None


def _unwrapped(given: dict[str, Any], node: Node) -> Any:
    """What a function was given beside its frame, and beside the fingerprints that CrewAI adds."""
    framed = given.keys() == {"input"}
    marked = framed and isinstance(given["input"], dict) and _MARKS in given["input"]
    inner = given["input"] if marked or (framed and _WRAPPING.search(node.span.scope)) else given
    if isinstance(inner, dict) and isinstance(marks := inner.get(_MARKS), dict) and "agent_fingerprint" in marks:
        return {name: value for name, value in inner.items() if name != _MARKS}
    return inner


_MARKS = "security_context"

_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null", "any", "image", "audio")
_DESCRIBING = {"type", "description", "title", "default", "nullable", "enum", "items", "properties", "required"}

_OF_ZOD = {"shape", "typeName"}
"""What a schema of Zod's says of itself, of version 4 or 3."""


def schema(value: dict[str, Any] | None) -> bool:
    """Is this what a tool takes, and not what it was given?"""
    if not value:
        return False
    if isinstance(value.get("properties"), dict):
        return value.get("type") in ("object", None)
    if any(isinstance(told := value.get(key), dict) and told.keys() & _OF_ZOD for key in ("def", "_def")):
        return True
    return all(isinstance(v, dict) and v.get("type") in _TYPES and v.keys() <= _DESCRIBING for v in value.values())


def _event_arguments(node: Node) -> Any:
    """What a tool was given, as an event of its own span tells (Strands)."""
    return next((told.get("content") for told in _messages(node)), None) if _given_by_events(node) else None


def event_result(nodes: list[Node]) -> Any:
    """What came of a call, as events of its own spans tell."""
    for node in nodes:
        for name, attributes in node.side.events.get(node.span.row, ()):
            if name == "gen_ai.choice":
                raw = attributes.get("message", attributes.get("content"))
                if raw is not None:
                    return raw
            if name == "gen_ai.tool.result":
                return attributes.get("content", attributes.get("result"))
        if not _given_by_events(node):
            for told in _messages(node):  # by the conventions, what a model is told of it
                return told.get("content")
    return None


def _messages(node: Node) -> list[dict[str, Any]]:
    """What a tool's own span tells as a tool's message."""
    events = node.side.events.get(node.span.row, ()) if node.kind == TOOL else ()
    return [told for name, told in events if name == "gen_ai.tool.message"]


def _given_by_events(node: Node) -> bool:
    """Is a tool's message here what the tool was given, and a choice what it gave?"""
    told = {name for name, _ in node.side.events.get(node.span.row, ())}
    return "gen_ai.choice" in told or given_by_events(node.span.scope)
