"""What came of tools that a kit lets run on while the model goes on (Pipecat): in place of a result stands that it has
begun, and the result comes later, in a message of the kit's."""

from __future__ import annotations

from typing import Any

from otelcov.runs.content.chat import Message, Result
from otelcov.runs.content.jsontext import parse_json

_SIGN = '{"type": "async_tool"'


def with_late_results(messages: list[Message]) -> None:
    """Results as those that they are, in place; of one that has only begun nothing is known."""
    late = {id(x): told for x in messages if (told := _told(x)) is not None}
    done = {told["tool_call_id"] for told in late.values() if told.get("status") == "finished"}
    for message in messages if late else ():
        told = late.get(id(message))
        if told is None:
            continue
        call = told["tool_call_id"]
        over = told.get("status") == "finished"
        message.role, message.text = "tool", None
        message.results = [Result(call, None, _value(told.get("result")))] if over else []
        if not over and call not in done and "result" not in told:
            message.results = [Result(call, None)]


def _told(message: Message) -> dict[str, Any] | None:
    held = message.results[0].content if len(message.results) == 1 else message.text
    if message.role == "assistant":
        return None
    told = parse_json(held) if isinstance(held, str) and held.startswith(_SIGN) else held
    if not isinstance(told, dict) or told.get("type") != "async_tool":
        return None
    return told if isinstance(told.get("tool_call_id"), str) and isinstance(told.get("status"), str) else None


def _value(result: Any) -> Any:
    parsed = parse_json(result) if isinstance(result, str) else None
    return result if parsed is None else parsed
