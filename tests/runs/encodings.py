"""A span of the conventions as other instrumentations write it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Span = dict[str, Any]
_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"


def openinference(span: Span) -> Span:
    told, what = span["attributes"], span["name"].split()[0]
    kind = {"chat": "LLM", "execute_tool": "TOOL"}.get(what, "CHAIN")
    kind = "AGENT" if told.get("gen_ai.operation.name") == "invoke_agent" else kind
    out = {"openinference.span.kind": kind} | _renamed(
        told,
        {
            "gen_ai.agent.name": "agent.name",
            "gen_ai.request.model": "llm.model_name",
            "gen_ai.usage.input_tokens": "llm.token_count.prompt",
            "gen_ai.usage.output_tokens": "llm.token_count.completion",
            "gen_ai.tool.name": "tool.name",
            "gen_ai.tool.call.id": "tool_call.id",
            "gen_ai.tool.call.arguments": "input.value",
            "gen_ai.tool.call.result": "output.value",
            "gen_ai.conversation.id": "session.id",
        },
    )
    for key, prefix in ((_INPUT, "llm.input_messages"), (_OUTPUT, "llm.output_messages")):
        for n, (role, text, calls, result, _) in enumerate(_flat(told.get(key))):
            place = f"{prefix}.{n}.message."
            out |= _some({f"{place}role": role, f"{place}content": text})
            out |= _some({f"{place}tool_call_id": result.get("id"), f"{place}name": result.get("name")})
            for k, call in enumerate(calls):
                of = f"{place}tool_calls.{k}.tool_call."
                given = {f"{of}function.name": call["name"], f"{of}function.arguments": _json(call.get("arguments"))}
                out |= _some({f"{of}id": call.get("id")} | given)
    name = "ChatOpenAI" if what == "chat" else told.get("gen_ai.tool.name") or told.get("gen_ai.agent.name")
    return span | {"attributes": out, "scope": "openinference.instrumentation.langchain", "name": name or span["name"]}


def traceloop(span: Span) -> Span:
    """As OpenLLMetry wrote it until 0.40, each message in attributes of its own."""
    told, what = span["attributes"], span["name"].split()[0]
    kind = {"invoke_agent": "agent", "execute_tool": "tool", "chat": None}.get(what, "workflow")
    entity = told.get("gen_ai.tool.name") or told.get("gen_ai.agent.name") or what
    out = _renamed(
        told,
        {
            "gen_ai.request.model": "gen_ai.request.model",
            "gen_ai.usage.input_tokens": "gen_ai.usage.prompt_tokens",
            "gen_ai.usage.output_tokens": "gen_ai.usage.completion_tokens",
            "gen_ai.tool.call.id": "gen_ai.tool.call.id",
            "gen_ai.tool.call.arguments": "traceloop.entity.input",
            "gen_ai.conversation.id": "traceloop.association.properties.session_id",
        },
    )
    if kind is None:
        out |= {"llm.request.type": "chat", "gen_ai.system": "OpenAI"}
    else:
        out |= {"traceloop.span.kind": kind, "traceloop.entity.name": entity}
    if kind is None or "gen_ai.operation.name" in told:
        out |= _some({"gen_ai.agent.name": told.get("gen_ai.agent.name")})
    out |= _some({"traceloop.entity.output": _json(told.get("gen_ai.tool.call.result"))})
    for key, prefix in ((_INPUT, "gen_ai.prompt"), (_OUTPUT, "gen_ai.completion")):
        for n, (role, text, calls, result, finish) in enumerate(_flat(told.get(key))):
            place = f"{prefix}.{n}."
            out |= _some({f"{place}role": role, f"{place}content": text, f"{place}finish_reason": finish})
            out |= _some({f"{place}tool_call_id": result.get("id")})
            for k, call in enumerate(calls):
                of = f"{place}tool_calls.{k}."
                given = {f"{of}name": call["name"], f"{of}arguments": _json(call.get("arguments"))}
                out |= _some({f"{of}id": call.get("id")} | given)
    name = "openai.chat" if kind is None else f"{entity}.{kind}"
    return span | {"attributes": out, "scope": "opentelemetry.instrumentation.langchain", "name": name}


def vercel(span: Span) -> Span:
    told, what = span["attributes"], span["name"].split()[0]
    names = {"invoke_agent": "ai.generateText", "chat": "ai.generateText.doGenerate", "execute_tool": "ai.toolCall"}
    name = names.get(what)
    out = _some({"ai.operationId": name}) | _renamed(
        told,
        {
            "gen_ai.agent.name": "ai.telemetry.functionId",
            "gen_ai.request.model": "ai.model.id",
            "gen_ai.usage.input_tokens": "ai.usage.promptTokens",
            "gen_ai.usage.output_tokens": "ai.usage.completionTokens",
            "gen_ai.tool.name": "ai.toolCall.name",
            "gen_ai.tool.call.id": "ai.toolCall.id",
            "gen_ai.tool.call.arguments": "ai.toolCall.args",
            "gen_ai.conversation.id": "ai.telemetry.metadata.sessionId",
        },
    )
    out |= _some({"ai.toolCall.result": _json(told.get("gen_ai.tool.call.result"))})
    if _INPUT in told:
        out["ai.prompt.messages"] = json.dumps([_of_ai_sdk(message) for message in json.loads(told[_INPUT])])
    for _, text, calls, _, finish in _flat(told.get(_OUTPUT)):
        asked = [_part_of_ai_sdk(call) | {"input": _json(call.get("arguments"))} for call in calls]
        out |= _some({"ai.response.text": text, "ai.response.toolCalls": json.dumps(asked) if asked else None})
        out |= _some({"ai.response.finishReason": finish and finish.replace("_", "-")})
    return span | {"attributes": out, "scope": "ai", "name": name or span["name"]}


def _of_ai_sdk(message: dict[str, Any]) -> dict[str, Any]:
    parts = [_part_of_ai_sdk(part) for part in message["parts"]]
    return {"role": message["role"], "content": parts[0]["text"] if message["role"] == "system" else parts}


def _part_of_ai_sdk(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["content"]}
    call = _some({"toolCallId": part.get("id"), "toolName": part.get("name"), "input": part.get("arguments")})
    if part["type"] == "tool_call":
        return {"type": "tool-call"} | call
    return {"type": "tool-result"} | call | {"output": {"type": "text", "value": part["response"]}}


def events(span: Span) -> Span:
    """As the conventions had it until 1.36, each message in an event of its own."""
    out = {key: value for key, value in span["attributes"].items() if key not in (_INPUT, _OUTPUT)}
    told: list[tuple[str, dict[str, Any]]] = []
    for role, text, calls, result, _ in _flat(span["attributes"].get(_INPUT)):
        asked = _some({"tool_calls": _json(_functions(calls)), "id": result.get("id"), "content": text})
        told.append((f"gen_ai.{role}.message", {"role": role} | asked))
    for _, text, calls, _, finish in _flat(span["attributes"].get(_OUTPUT)):
        answer = _some({"role": "assistant", "content": text, "tool_calls": _functions(calls)})
        choice = _some({"index": 0, "finish_reason": finish, "message": json.dumps(answer)})
        told.append(("gen_ai.choice", choice))
    return span | {"attributes": out, "events": [*span.get("events", ()), *told]}


def _functions(calls: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    found = []
    for call in calls:
        function = _some({"name": call["name"], "arguments": _json(call.get("arguments"))})
        found.append(_some({"id": call.get("id"), "type": "function", "function": function}))
    return found or None


ENCODINGS: dict[str, Callable[[Span], Span]] = {
    "the conventions": lambda span: span,
    **{encoding.__name__: encoding for encoding in (openinference, traceloop, vercel, events)},
}


_Flat = tuple[str, str | None, list[dict[str, Any]], dict[str, Any], str | None]
"""Role, text, requests and result of a message, and why it ended."""


def _flat(raw: str | None) -> Iterator[_Flat]:
    """The messages; each result is one."""
    for message in json.loads(raw) if raw else ():
        results = [part for part in message["parts"] if part["type"] == "tool_call_response"]
        for result in results:
            yield "tool", result["response"], [], result, None
        if not results:
            texts = [part["content"] for part in message["parts"] if part["type"] == "text"]
            calls = [part for part in message["parts"] if part["type"] == "tool_call"]
            finish = message.get("finish_reason") or (
                None if message["role"] != "assistant" else "tool_calls" if calls else "stop"
            )
            yield message["role"], "\n".join(texts) or None, calls, {}, finish


def _renamed(told: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {to: told[key] for key, to in names.items() if key in told}


def _some(told: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if value is not None}


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)
