"""What Datadog's tracer for Python packs into one attribute, put where the conventions have it.

A span of its LLM Observability counts tokens and names a kind and a model in attributes; all else - what was asked and
answered, what a tool is called, was given and gave - it keeps as MessagePack in `_llmobs`. It tells of no scope.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl

from otelcov.runs.content.jsontext import UNREADABLE, parse_json, to_json
from otelcov.runs.trace.attributes import scope_of
from otelcov.runs.trace.moved import pairs

_KEY = "_llmobs"
_ON_A_SERVER = "MCP Client Tool Call: "
"""What stands before the name of a tool that a server has."""
_unpack = msgspec.msgpack.Decoder().decode


def unpacked(spans: pl.DataFrame) -> list[pl.DataFrame]:
    """The attributes that these spans (SPANS columns) hold packed, by the row of their span."""
    nameless = [b for b in spans["scope"].unique().to_list() if not scope_of(b)[0]]
    if not nameless:
        return []
    held = pl.element().filter(pl.element().struct.field("key") == _KEY).struct.field("bytes_value")
    row = pl.int_range(pl.len(), dtype=pl.UInt32).alias("row")
    some = spans.select("scope", "attributes", "content", row).filter(
        pl.col("scope").is_in(pl.Series(nameless, dtype=pl.Binary).implode(), nulls_equal=True)
    )
    packed = some.select(
        "row", told=pl.coalesce(pl.col(c).list.eval(held).list.first() for c in ("attributes", "content"))
    )
    found: list[tuple[int, str, str]] = []
    for place, told in packed.drop_nulls().iter_rows():  # each holds objects of its own
        found += [(place, key, value) for key, value in _attributes(told)]
    return [pairs(found)] if found else []


def _attributes(packed: bytes) -> Iterator[tuple[str, str]]:
    try:
        told = _unpack(packed)
    except UNREADABLE:
        return
    told = _object(told)
    meta = _object(told.get("meta"))
    kind, given, gave = _object(meta.get("span")).get("kind"), _object(meta.get("input")), _object(meta.get("output"))
    about = _object(meta.get("metadata"))
    if kind == "llm":
        yield from _model(given, gave, meta, about)
    elif kind == "tool":
        yield from _tool(told.get("name"), given.get("value"), gave.get("value"))
    kit = _object(told.get("tags")).get("integration")
    if kind == "agent":
        named = _object(_object(about.get("_dd")).get("agent_manifest")).get("name") or told.get("name")
        # It calls one that failed early by an operation, and a runner of ADK's by the agent that it begins with.
        own = isinstance(named, str) and not named.startswith(f"{kit}.") and kit != "google_adk"
        yield from _texts({"gen_ai.agent.name": named if own else None})
    if kind != "llm" and kit != "langgraph":  # whose messages it prints
        yield from _texts({"input.value": given.get("value"), "output.value": gave.get("value")})


def _model(
    given: dict[str, Any], gave: dict[str, Any], meta: dict[str, Any], about: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    asked, answered = _messages(given.get("messages")), _messages(gave.get("messages"))
    if asked:
        yield "gen_ai.input.messages", to_json(asked)
        yield from _texts({"gen_ai.agent.name": _instructed(asked[0])})
    if answered:
        reason = about.get("finish_reason")
        last = {"finish_reason": reason} if isinstance(reason, str) else {}
        yield "gen_ai.output.messages", to_json([*answered[:-1], answered[-1] | {"role": "assistant"} | last])
    tools = meta.get("tool_definitions") or about.get("tools")
    if isinstance(tools, list) and tools:
        yield "gen_ai.tool.definitions", to_json([_definition(t) for t in tools if isinstance(t, dict)])


def _instructed(first: dict[str, Any]) -> str | None:
    """The agent that is asked, by the words that Google's ADK adds to the instructions: to whom work was handed over
    has no span."""
    orders = first["parts"][0].get("content") if first["role"] == "system" else None
    hit = _NAMED.search(orders) if isinstance(orders, str) and "internal name" in orders else None
    return hit.group(1) if hit is not None else None


_NAMED = re.compile(r'^You are an agent\. Your internal name is "([^"\n]+)"', re.M)


def _definition(tool: dict[str, Any]) -> dict[str, Any]:
    parameters = tool.get("schema") or tool.get("parameters")
    return {"type": "function", "name": tool.get("name"), "parameters": parameters}


def _messages(told: Any) -> list[dict[str, Any]]:
    return [_message(m) for m in told if isinstance(m, dict)] if isinstance(told, list) else []


def _message(told: dict[str, Any]) -> dict[str, Any]:
    role = told.get("role") or "user"
    calls, results = _objects(told.get("tool_calls")), _objects(told.get("tool_results"))
    content, thought = told.get("content"), role == "reasoning"
    parts: list[dict[str, Any]] = []
    if content or (not calls and not results):
        parts.append({"type": "reasoning" if thought else "text", "content": content or ""})
    for call in calls:
        what = {"name": call.get("name"), "arguments": call.get("arguments")}
        parts.append({"type": "tool_call", "id": call.get("tool_id")} | what)
    parts += [
        {"type": "tool_call_response", "id": result.get("tool_id"), "response": result.get("result")}
        for result in results
    ]
    return {"role": "tool" if results else "assistant" if thought else role, "parts": parts}


def _tool(name: Any, given: Any, gave: Any) -> Iterator[tuple[str, str]]:
    """LangChain's are given the whole call."""
    call = parse_json(given) if isinstance(given, str) and '"tool_call"' in given else None
    told = {"gen_ai.tool.call.arguments": given, "gen_ai.tool.call.result": gave}
    if isinstance(call, dict) and call.get("type") == "tool_call" and "args" in call:
        told |= {"gen_ai.tool.call.id": call.get("id"), "gen_ai.tool.call.arguments": to_json(call["args"])}
    name = name.removeprefix(_ON_A_SERVER) if isinstance(name, str) else None
    yield from _texts(told | {"gen_ai.tool.name": name})


def _texts(told: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in told.items():
        if value is not None and value != "":
            yield key, value if isinstance(value, str) else to_json(value)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [x for x in value if isinstance(x, dict)] if isinstance(value, list) else []
