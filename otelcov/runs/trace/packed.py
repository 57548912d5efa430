"""What Datadog's tracer for Python packs into one attribute, put where the conventions have it.

A span of its LLM Observability counts tokens and names a kind and a model in attributes; all else - what was asked and
answered, what a tool is called, was given and gave - it keeps as MessagePack in `_llmobs`. It tells of no scope.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl

from otelcov.ground.patterns import late
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
    held = pl.element().filter(pl.element().struct.field("key") == _KEY).struct
    row = pl.int_range(pl.len(), dtype=pl.UInt32).alias("row")
    some = spans.select("scope", "attributes", "content", row).filter(
        pl.col("scope").is_in(pl.Series(nameless, dtype=pl.Binary).implode(), nulls_equal=True)
    )
    packed = some.select(
        "row",
        *(
            pl.coalesce(pl.col(c).list.eval(held.field(form)).list.first() for c in ("attributes", "content")).alias(
                form
            )
            for form in ("bytes_value", "string_value")
        ),
    )
    found: list[tuple[int, str, str]] = []
    for place, raw, text in packed.filter(pl.any_horizontal(pl.exclude("row").is_not_null())).iter_rows():
        try:  # each holds objects of its own; what has no place for bytes keeps them as Base64
            told = _object(_unpack(base64.b64decode(text) if raw is None else raw))
            found += [(place, key, value) for key, value in list(_attributes(told))]
        except (TypeError, *UNREADABLE):  # no JSON can be made of it, or it is none of these
            continue
    return [pairs(found)] if found else []


def _attributes(told: dict[str, Any]) -> Iterator[tuple[str, str]]:
    meta = _object(told.get("meta"))
    kind, given, gave = _object(meta.get("span")).get("kind"), _object(meta.get("input")), _object(meta.get("output"))
    kit = _object(told.get("tags")).get("integration")
    if not isinstance(kind, str):
        return
    if kit == "mcp" and '"jsonrpc"' in str(given.get("value")):
        kind = "task"  # a server's own telling of a call, of which its client tells
    yield from (("gen_ai.operation.name", kind), ("_dd.llmobs.artificial_gen_ai_tags", "true"))  # not of each (LiteLLM)
    if kind == "llm":
        yield from _model(given, gave, meta)
        counted = _object(told.get("metrics"))
        yield from _texts({f"gen_ai.usage.{way}": counted.get(way) for way in ("input_tokens", "output_tokens")})
    elif kind == "tool" and kit == "llama_index":
        yield from _of_llama_index(given.get("value"), gave.get("value"))
        return
    elif kind == "tool":
        yield from _tool(told.get("name"), given.get("value"), gave.get("value"))
    elif kind == "agent":
        yield from _texts({"gen_ai.agent.name": _name(told.get("name"), meta, kit)})
    if kind == "agent" and kit == "langgraph":
        yield from _texts({"output.value": _said_last(gave.get("value"))})
    elif kind != "llm" and kit not in ("langchain", "langgraph"):  # whose messages it prints, and leaves calls out
        yield from _texts({"input.value": given.get("value"), "output.value": gave.get("value")})


def _name(name: Any, meta: dict[str, Any], kit: Any) -> str | None:
    """An agent's name. It calls one that failed early by an operation, and a runner of Google's ADK by the agent that
    it begins with."""
    manifest = _object(_object(_object(meta.get("metadata")).get("_dd")).get("agent_manifest"))
    name = manifest.get("name") or name
    own = isinstance(name, str) and not name.startswith(f"{kit}.") and kit != "google_adk"
    return name if own else None


def _said_last(gave: Any) -> str | None:
    """The answer that a graph's messages end with, each a role and a text, or the text of what a tool brought; or what
    its state holds as an answer in form."""
    state = _object(parse_json(gave) if isinstance(gave, str) else None)
    messages = state.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    said = last[1] if isinstance(last, list) and len(last) == 2 and last[0] == "assistant" else None
    in_form = state.get(_IN_FORM)
    if not said and in_form not in (None, "None"):
        return to_json({_IN_FORM: in_form})
    return said if isinstance(said, str) else None


_IN_FORM = "structured_response"


def _model(given: dict[str, Any], gave: dict[str, Any], meta: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _texts({"gen_ai.request.model": meta.get("model_name")})
    about = _object(meta.get("metadata"))
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


_NAMED = late(r'^You are an agent\. Your internal name is "([^"\n]+)"', re.M)


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


def _of_llama_index(name: Any, gave: Any) -> Iterator[tuple[str, str]]:
    """A tool of LlamaIndex's agents is given its name alone, and gives what Python prints of its result: by the id in
    that, a model's answer tells the rest."""
    printed = gave if isinstance(gave, str) else ""
    hit = _ID.search(printed)
    failed = "ToolError" if printed.rpartition("is_error=")[2].startswith("True") else None
    call = hit.group(1) if hit is not None else None
    yield from _texts({"gen_ai.tool.name": name, "gen_ai.tool.call.id": call, "error.type": failed})


_ID = late(r" tool_id='([^'\s]+)' ")


def _texts(told: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in told.items():
        if value is not None and value != "":
            yield key, value if isinstance(value, str) else to_json(value)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [x for x in value if isinstance(x, dict)] if isinstance(value, list) else []
