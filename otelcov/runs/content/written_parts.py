"""The parts of a message that were written as one text: the JSON of their list."""

from __future__ import annotations

from otelcov.runs.content.jsontext import Value, parse_json


def parts_in(text: str, answered: bool = False, users: bool = False) -> Value:
    """The parts that a message was written as (Traceloop, of Cohere's and Anthropic's clients): those of an answer, or
    such among which are a call or a result; a user's words, with what is shown beside them, too (Traceloop, of
    OpenAI's). None for any other text."""
    parts = parse_json(text) if text.startswith("[{") and '"type"' in text else None
    if users and isinstance(parts, list) and all(isinstance(part, dict) and _is_shown(part) for part in parts):
        return parts
    if not isinstance(parts, list) or not all(isinstance(part, dict) and _is_part(part) for part in parts):
        return None
    exchanged = any(isinstance(part, dict) and part.get("type") in _EXCHANGED for part in parts)
    return parts if answered or exchanged else None


def written(role: str, text: str) -> Value:
    """The parts that a text in a message of the conventions stands for (Copilot Chat for VS Code, of Anthropic's
    messages and OpenAI's Responses); None for any other text."""
    return parts_in(text, users=role == "user") if text.startswith(_BEGINS) and role in _SPEAK else None


_BEGINS, _SPEAK = ('[{"type":', '[{"text":', '[{"tool_use_id":', '[{"id":'), ("user", "assistant")


_EXCHANGED = {"tool_use": "name", "tool_result": "tool_use_id"}


def _is_part(part: dict[str, Value]) -> bool:
    kind = part.get("type")
    if not isinstance(kind, str):
        return False
    return isinstance(part.get(_EXCHANGED.get(kind, kind)), str) and kind in ("text", "thinking", *_EXCHANGED)


_SHOWN = {
    "text": "text",
    "input_text": "text",
    "image_url": "image_url",
    "input_image": "image_url",
    "input_audio": "input_audio",
    "image": "source",
    "file": "file",
}
_BESIDE_SHOWN = {"type", "cache_control", "detail"}


def _is_shown(part: dict[str, Value]) -> bool:
    """Is this a part of what a user says or shows, as clients have it, and nothing else?"""
    kind = part.get("type")
    key = _SHOWN.get(kind) if isinstance(kind, str) else None
    return key in part and part.keys() <= {*_BESIDE_SHOWN, key}
