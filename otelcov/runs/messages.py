"""Chat messages out of whatever an instrumentation wrote them as.

One general walk instead of a parser per vendor: every provider's message is a mapping with a role, and what matters in
it is one of four things - text, a request to call a tool, the result of one, or a list of more of these. So OpenAI
chat and Responses, Anthropic, Gemini, Bedrock, LangChain's constructor form, the GenAI conventions' `parts`, the AI
SDK's hyphenated types and Python `repr`s of SDK objects all come out as the same `Message`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

_decode = msgspec.json.Decoder(strict=False).decode
_encode = msgspec.json.Encoder().encode

UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)
"""What reading JSON raises."""
Value = Any  # a JSON value


# What instrumentations write where content capture is off: there was a value, and it is not known.
REDACTED = [
    "__REDACTED__",
    "[REDACTED]",
    "<REDACTED>",
    "REDACTED",
    "<redacted>",
    "[redacted]",
    "***REDACTED***",
    "<scrubbed>",
    "[Scrubbed]",
    "[Filtered]",
    "[FILTERED]",
    "[HIDDEN]",
    "<hidden>",
    "redacted-by-litellm",
]
_REDACTED = frozenset(REDACTED)


@dataclass(slots=True)
class Result:
    """What came back to the model for a request. `error` is None where the message has no flag for it."""

    id: str | None
    name: str | None
    content: Value = None
    error: bool | None = None


@dataclass(slots=True)
class Request:
    """A tool call that a model asked for. `arguments` is an object, or the text as it came. `served` is what came of it
    where the provider ran the tool itself, before it answered."""

    id: str | None
    name: str | None
    arguments: Value = None
    served: Result | None = None


@dataclass(slots=True)
class Message:
    role: str
    text: str | None = None
    requests: list[Request] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    finish_reason: str | None = None
    name: str | None = None
    unreadable: bool = False


class _Part(msgspec.Struct):
    """A part of a message as the GenAI conventions write it; the common case, read without a walk."""

    type: str
    content: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: Value = None
    response: Value = None
    result: Value = None


class _Semconv(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    parts: list[_Part]
    finish_reason: str | None = None
    name: str | None = None


semconv = msgspec.json.Decoder(list[_Semconv]).decode


_TURN = re.compile(r"(?:^|\n)(system|developer|user|human|assistant|ai|model|tool): ")


def transcript(text: str) -> list[Message] | None:
    """`role: text` lines (OpenLIT, older Langfuse) as messages; None where the text does not begin like one."""
    if not re.match(r"(?:system|developer|user|human|assistant): ", text):
        return None
    pieces = _TURN.split(text)
    out: list[Message] = []
    for role, said in zip(pieces[1::2], pieces[2::2], strict=True):
        inner = parse_value(said) if said[:2] in ("[{", "{'", '{"') else None
        if isinstance(inner, (list, dict)):
            out.extend(messages(inner, ROLES.get(role, role)))
        else:
            out.append(Message(ROLES.get(role, role), said))
    return out


def semconv_messages(text: str) -> list[Message] | None:
    """The messages of `gen_ai.input.messages` and the like; None where they are not exactly of that form."""
    if not text.startswith('[{"'):
        return None
    try:
        decoded = semconv(text)
    except UNREADABLE:
        return None
    out = []
    for found in decoded:
        role = ROLES.get(found.role, found.role)
        message = Message(role, finish_reason=found.finish_reason, name=found.name)
        for part in found.parts:
            kind = part.type
            if kind == "text":
                if part.content is None or (role == "assistant" and _parts_as_text(part.content)):
                    return None
                message.text = part.content if not message.text else f"{message.text}\n{part.content}"
            elif kind == "tool_call":
                if not part.name:
                    return None
                message.requests.append(Request(part.id or None, part.name, part.arguments))
            elif kind == "tool_call_response":
                content = part.result if part.result is not None else part.response
                if isinstance(content, (list, dict)):
                    return None
                message.results.append(Result(part.id or None, part.name, content))
            elif kind != "reasoning" and kind != "thinking":
                return None
        if message.text in _REDACTED:
            message.text = None
        if role == "assistant" and message.requests and message.results:
            _pair(message)
        if not found.parts and role == "user":
            message.text = ""
        if role == "tool" and not message.results:
            return None
        out.append(_with_reprs(message) if role == "assistant" else message)
    return out


def parse_json(text: str | None) -> Value:
    """The JSON value of `text`, or None: cut short, not JSON, or nothing at all."""
    if not text:
        return None
    try:
        return _decode(text)
    except UNREADABLE:
        return None


def parse_value(text: str | None) -> Value:
    """JSON, or the Python literal that some instrumentations write instead."""
    value = parse_json(text)
    if value is None and text and text.lstrip("[( ")[:2] in ("{'", "{}") and text[-1] in "]})":
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return None
    return value


def to_json(value: Value) -> str:
    """Canonical JSON text: keys sorted, no spaces."""
    return msgspec.json.encode(value, order="sorted").decode()


ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "tool-response": "tool",
    "tool-call": "assistant",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "HumanMessageChunk": "user",
    "ToolMessageChunk": "tool",
    "chatbot": "assistant",
    "gen_ai.user.message": "user",
    "gen_ai.system.message": "system",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_CALL_TYPES = {
    "tool_call",
    "tool-call",
    "tool_use",
    "toolCall",
    "function_call",
    "tool_call_request",
    "toolUse",
    "custom_tool_call",
    "computer_call",
}
_HOSTED = {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"}  # OpenAI's own
_SERVED = {"mcp_call", "server_tool_use", "server_tool_call", "mcp_tool_use", *_HOSTED}
"""Calls that the provider runs itself."""
_CALL_TYPES |= _SERVED
_RESULT_TYPES = {
    "tool_call_response",
    "tool-result",
    "tool_result",
    "function_call_output",
    "tool_call_result",
    "toolResult",
    "custom_tool_call_output",
    "computer_call_output",
    "tool_response",
    "server_tool_call_response",
    "mcp_tool_result",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
}
_WRAPPERS = (
    "messages",
    "generations",
    "output",
    "outputs",
    "input",
    "inputs",
    "choices",
    "candidates",
    "contents",
    "update",
    "response",
    "prompts",
    "replies",
    "body",
    "request",
)
_INSTRUCTIONS = ("system", "system_instruction", "instructions", "systemInstruction", "system_prompt")


def hidden(*texts: str | None) -> bool:
    """Does one of these stand for a text that was left out?"""
    return not _REDACTED.isdisjoint(texts)


def messages(value: Value, default_role: str = "user") -> list[Message]:
    """All messages in `value`, in order. Plain text is one message of `default_role`."""
    out: list[Message] = []
    _walk(value, default_role, out, 0)
    return out


def _walk(value: Value, role: str, out: list[Message], depth: int) -> None:
    if value is None or depth > 12:
        return
    if isinstance(value, str):
        inner = parse_json(value) if value[:1] in "[{" else None
        if isinstance(inner, (dict, list)):
            _walk(inner, role, out, depth + 1)
        elif value or role in ("user", "assistant"):
            out.append(_text_message(value, role))
        return
    if isinstance(value, list):
        if value and all(isinstance(v, str) for v in value):
            if len(value) == 2 and value[0] in ROLES:  # LangChain's ("human", "text") pair
                out.append(Message(ROLES[value[0]], value[1]))
                return
            for v in value:
                _walk(v, role, out, depth + 1)
            return
        if value and all(_is_part(v) for v in value):
            out.append(_message({"role": role, "content": value}, role))
            return
        for v in value:
            _walk(v, role, out, depth + 1)
        return
    if not isinstance(value, dict):
        return
    if "lc" in value and isinstance(value.get("kwargs"), dict):
        kind = value.get("id")
        cls = kind[-1] if isinstance(kind, list) and kind else ""
        kwargs = value["kwargs"]
        if cls in ("ChatPromptValue", "StringPromptValue", "ChatGeneration", "Command", "LLMResult"):
            _walk(kwargs, role, out, depth + 1)
            return
        out.append(_message(kwargs | {"role": ROLES.get(str(cls), kwargs.get("type") or role)}, role))
        return
    if isinstance(value.get("message"), dict) and "role" not in value:  # a choice, a generation, an event
        inner_message = dict(value["message"])
        for key in ("finish_reason", "finishReason"):
            if key in value:
                inner_message.setdefault(key, value[key])
        before = len(out)
        _walk(inner_message, "assistant" if "index" in value or "finish_reason" in value else role, out, depth + 1)
        if len(out) > before and out[-1].finish_reason is None:
            out[-1].finish_reason = _finish(value)
        return
    if isinstance(value.get("content"), dict) and "parts" in value["content"]:  # a Gemini candidate
        _walk(
            value["content"] | {"finish_reason": value.get("finish_reason", value.get("finishReason"))},
            role,
            out,
            depth + 1,
        )
        return
    if _is_message(value):
        out.append(_message(value, role))
        return
    function = value.get("function")
    if (
        isinstance(function, dict) and "arguments" in function and "name" in function
    ):  # a bare call; a definition has no arguments
        out.append(_message({"role": "assistant", "tool_calls": [value]}, role))
        return
    if "toolName" in value or ("toolCallId" in value and ("args" in value or "input" in value)):
        out.append(_message({"role": "assistant", "tool_calls": [value]}, role))
        return
    if value.get("type") in _CALL_TYPES or value.get("type") in _RESULT_TYPES:
        out.append(
            _message({"role": "assistant" if value["type"] in _CALL_TYPES else "tool", "content": [value]}, role)
        )
        return
    for key in _INSTRUCTIONS:
        if key in value and isinstance(value[key], (str, list)) and any(w in value for w in _WRAPPERS):
            out.append(Message("system", _plain(value[key])))
            break
    for key in ("prompt", "text", "input_text"):
        if isinstance(value.get(key), str) and "messages" not in value:
            out.append(_text_message(value[key], role))
            return
    for key in _WRAPPERS:
        inner = value.get(key)
        if inner is None:
            continue
        if key in ("output", "outputs", "choices", "candidates", "generations", "response", "replies"):
            _walk(inner, "assistant", out, depth + 1)
        elif isinstance(inner, (dict, list, str)):
            _walk(inner, role, out, depth + 1)
        return


def _is_message(value: dict[str, Value]) -> bool:
    if "role" in value or "tool_calls" in value or "toolCalls" in value:
        return True
    if value.get("type") in ROLES and ("content" in value or "data" in value):
        return True
    if value.get("event.name") in ROLES:
        return True
    return "parts" in value and isinstance(value["parts"], list)


def _is_part(value: Value) -> bool:
    if not isinstance(value, dict) or "role" in value:
        return False
    kind = value.get("type")
    if kind in _CALL_TYPES or kind in _RESULT_TYPES:
        return "call_id" not in value  # OpenAI's Responses items stand beside messages, not inside one
    if kind in ("text", "input_text", "output_text", "image", "image_url", "thinking", "reasoning"):
        return kind != "reasoning" or "content" in value or "text" in value
    return any(k in value for k in ("toolUse", "toolResult", "function_call", "functionCall", "functionResponse"))


def _text_message(text: str, role: str) -> Message:
    if text in _REDACTED:
        return Message(role)
    return _with_reprs(Message(role, text)) if role == "assistant" else Message(role, text)


def _finish(value: dict[str, Value]) -> str | None:
    reason = value.get("finish_reason", value.get("finishReason", value.get("stop_reason")))
    return reason if isinstance(reason, str) else None


def _message(value: dict[str, Value], default_role: str) -> Message:
    data = value.get("data")
    if isinstance(data, dict) and "content" in data:
        value = value | data
    role = value.get("role") or value.get("event.name") or value.get("type") or default_role
    role = ROLES.get(str(role), str(role))
    m = Message(role, finish_reason=_finish(value))
    name = value.get("name")
    m.name = name if isinstance(name, str) else None
    content = value.get("content", value.get("parts", value.get("body", value.get("contents"))))
    if content is None and isinstance(value.get("text"), str):
        content = value["text"]
    inner = value.get("message")
    if isinstance(inner, dict):  # the event form keeps the message one level down
        content = inner.get("content", content)
        value = value | inner
    _content(content, m, 0)
    if isinstance(value.get("parts"), list) and content is not value["parts"]:
        _content(value["parts"], m, 0)
    calls = value.get("tool_calls") or value.get("toolCalls") or value.get("tool_call") or []
    extra = value.get("additional_kwargs")
    if not calls and isinstance(extra, dict):
        calls = extra.get("tool_calls") or []
    if isinstance(calls, dict):
        calls = [calls]
    if isinstance(calls, list):
        known = {r.id for r in m.requests if r.id}
        for call in calls:
            request = _request(call)
            if request is not None and (request.id is None or request.id not in known):
                m.requests.append(request)
    for call in value.get("invalid_tool_calls") or []:
        request = _request(call)
        if request is not None:
            m.requests.append(request)
    legacy = value.get("function_call")
    if isinstance(legacy, dict) and legacy.get("name") and not m.requests:
        m.requests.append(Request(None, legacy.get("name"), legacy.get("arguments")))
    if role == "tool" and not m.results:
        call_id = value.get("tool_call_id") or value.get("toolCallId") or value.get("id") or value.get("call_id")
        error = value.get("is_error")
        if error is None and value.get("status") in ("error", "success"):
            error = value["status"] == "error"
        plain = content if not isinstance(content, list) else _plain(content)
        m.results.append(Result(_str(call_id), _str(value.get("name")), plain, error))
    if m.text in _REDACTED:
        m.text = None
    if role == "assistant":
        _with_reprs(m)
        if m.results:
            _pair(m)
    return m


def _pair(answer: Message) -> None:
    """A result that stands in one answer with its request: nobody but the provider can have run that tool."""
    for request in answer.requests:
        found = next((r for r in answer.results if r.id and r.id == request.id), None)
        request.served = found or request.served


def _str(value: Value) -> str | None:
    return value if isinstance(value, str) and value else str(value) if isinstance(value, int) else None


def _content(content: Value, m: Message, depth: int) -> None:
    if content is None or depth > 8:
        return
    if isinstance(content, str):
        inner = parse_json(content) if m.role != "user" and _parts_as_text(content) else None
        if inner is None:
            _add_text(m, content)
        else:
            _content(inner, m, depth + 1)
        return
    if isinstance(content, list):
        if not content and m.text is None and m.role == "user":
            m.text = ""
        for part in content:
            _content(part, m, depth + 1)
        return
    if not isinstance(content, dict):
        return
    kind = content.get("type") or content.get("part_kind") or content.get("kind")
    for key in ("toolUse", "function_call", "functionCall", "tool_call", "toolRequest"):
        if isinstance(content.get(key), dict):
            request = _request(content[key])
            if request is not None:
                m.requests.append(request)
            return
    for key in ("toolResult", "function_response", "functionResponse", "toolResponse"):
        if isinstance(content.get(key), dict):
            m.results.append(_result(content[key]))
            return
    if isinstance(content.get("tool_call_result"), dict):  # Haystack
        told = content["tool_call_result"]
        origin = told.get("origin") if isinstance(told.get("origin"), dict) else {}
        error = told.get("error")
        m.results.append(
            Result(
                _str(origin.get("id")),
                _str(origin.get("tool_name")),
                _plain(told.get("result")),
                error if isinstance(error, bool) else None,
            )
        )
        return
    if kind in _CALL_TYPES:
        request = _request(content)
        if request is not None:
            m.requests.append(request)
    elif kind in _RESULT_TYPES:
        m.results.append(_result(content))
    elif kind in ("thinking", "reasoning", "redacted_thinking", "image", "image_url", "file", "blob", "uri"):
        return
    elif isinstance(content.get("text"), str):
        if not content.get("thought"):
            _add_text(m, content["text"])
    elif isinstance(content.get("content"), (str, list)) and kind in (None, "text", "output_text", "input_text"):
        _content(content["content"], m, depth + 1)
    elif isinstance(content.get("message_content"), dict):
        _content(content["message_content"], m, depth + 1)
    elif kind == "text" and m.text is None:
        m.unreadable = True


def _parts_as_text(text: str) -> bool:
    """Does a text hold the AI SDK's parts of a message (Traceloop for JavaScript)?"""
    return text.startswith('[{"type":') and '"tool-' in text


def _add_text(m: Message, text: str) -> None:
    m.text = text if m.text is None or m.text == "" else f"{m.text}\n{text}"


def _request(call: Value) -> Request | None:
    if not isinstance(call, dict):
        return None
    kind = call.get("type")
    if kind in _HOSTED and "name" not in call:
        call = {"name": kind.removesuffix("_call"), "arguments": call.get("action", call.get("queries"))} | call
    function = call.get("function") if isinstance(call.get("function"), dict) else call.get("tool_call")
    body = function if isinstance(function, dict) else call
    if isinstance(body.get("function"), dict):
        body = body["function"]
    name = (
        body.get("name")
        or body.get("toolName")
        or body.get("tool_name")
        or body.get("function_name")
        or call.get("name")
    )
    if not isinstance(name, str) or not name:
        return None
    if name[0] == name[-1] == "'":
        name = name[1:-1] or name  # a repr of it
    arguments = None
    for key in ("arguments", "args", "input", "parameters", "tool_input", "kwargs", "server_tool_call"):
        if body.get(key) is not None:
            arguments = body[key]
            break
    # An item of OpenAI's Responses has an id of its own beside the call's.
    inner = function if isinstance(function, dict) else {}
    call_id = (
        call.get("call_id")
        or call.get("tool_call_id")
        or call.get("toolCallId")
        or call.get("toolUseId")
        or call.get("id")
        or call.get("ref")
        or inner.get("id")
    )
    request = Request(_str(call_id), name, arguments)
    if kind in _SERVED or call.get("builtin") is True or call.get("providerExecuted") is True:
        request.served = Result(request.id, name, call.get("output"), _failed(call))
    return request


def _failed(served: dict[str, Value]) -> bool | None:
    """What a call that the provider ran says of itself, if it says anything."""
    if served.get("error"):
        return True
    return {"completed": False, "failed": True}.get(str(served.get("status")))


def _result(part: dict[str, Value]) -> Result:
    call_id = (
        part.get("call_id")
        or part.get("tool_call_id")
        or part.get("toolCallId")
        or part.get("tool_use_id")
        or part.get("toolUseId")
        or part.get("id")
        or part.get("ref")
    )
    content: Value = None
    for key in ("result", "response", "output", "content", "server_tool_call_response"):
        if part.get(key) is not None:
            content = part[key]
            break
    if isinstance(content, list):
        content = _plain(content)
    elif isinstance(content, dict) and content.get("type") in _AI_SDK:
        content = content.get("value", content.get("text"))
    error = part.get("is_error", part.get("isError"))
    if error is None and part.get("status") in ("error", "success"):
        error = part["status"] == "error"
    output = part.get("output")
    if error is None and isinstance(output, dict) and str(output.get("type", "")).startswith("error"):
        error = True
    name = part.get("name") or part.get("toolName") or part.get("tool_name")
    return Result(_str(call_id), _str(name), content, error if isinstance(error, bool) else None)


def _plain(value: Value) -> Value:
    """The text of a list of text parts, or the value itself where it is none."""
    if isinstance(value, list) and value and all(isinstance(v, (dict, str)) for v in value):
        texts = [v if isinstance(v, str) else _part_text(v) for v in value]
        if all(isinstance(t, str) for t in texts):
            return "\n".join(texts)
        jsons = [v.get("json") for v in value if isinstance(v, dict) and "json" in v]
        if len(jsons) == len(value) == 1:
            return jsons[0]
    return value


def _part_text(part: dict[str, Value]) -> Value:
    inner = part.get("message_content")  # OpenInference's flattened parts
    return (inner if isinstance(inner, dict) else part).get("text", part.get("content"))


_REPR = re.compile(r"\b(?:ResponseFunctionToolCall|ChatCompletionMessageFunctionToolCall|ToolCall|FunctionCall)\(")


def _with_reprs(m: Message) -> Message:
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
            Request(_str(fields.get("call_id") or fields.get("id")), fields["name"], fields.get("arguments"))
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


def unflatten(pairs: list[tuple[str, Value]]) -> Value:
    """`0.message.role = x` pairs (OpenInference, OpenLLMetry 0.40) as nested lists and objects; gaps stay out."""
    root: dict[str, Value] = {}
    for path, value in pairs:
        node = root
        keys = path.split(".")
        for key in keys[:-1]:
            following = node.get(key)
            if not isinstance(following, dict):
                following = node[key] = {}
            node = following
        node[keys[-1]] = value
    return _lists(root)


def _lists(value: Value) -> Value:
    if not isinstance(value, dict):
        return value
    if value and all(k.isdecimal() for k in value):
        return [_lists(v) for _, v in sorted(value.items(), key=lambda kv: int(kv[0]))]
    return {k: _lists(v) for k, v in value.items()}


def flattened_messages(pairs: list[tuple[str, Value]], default_role: str) -> list[Message]:
    """Messages of the flattened dialects. OpenInference nests each under `message`, tool calls under `tool_call`."""
    nested = unflatten(pairs)
    out: list[Message] = []
    for entry in nested if isinstance(nested, list) else []:
        if not isinstance(entry, dict):
            continue
        body = entry.get("message", entry)
        if not isinstance(body, dict):
            continue
        body = dict(body)
        if isinstance(body.get("contents"), list) and isinstance(body.get("content"), str):
            body.pop("contents")
        calls = body.get("tool_calls")
        if isinstance(calls, list):
            body["tool_calls"] = [c.get("tool_call", c) for c in calls if isinstance(c, dict)]
        out.append(_message(body, default_role))
    return out


def first_index(pairs: list[tuple[str, Value]]) -> set[int]:
    """The message numbers that a flattened family still has (the SDK's attribute limit evicts the oldest)."""
    return {int(p.split(".", 1)[0]) for p, _ in pairs if p.split(".", 1)[0].isdecimal()}


_TASK = re.compile(r"^\s*Current Task:(.*?)\n\s*\n?This is the expected criteria for your final answer:", re.S)


def own_words(text: str | None) -> str | None:
    """What the user said, without the prompt that a framework (CrewAI) wraps around it."""
    if text == "Handle the requests as specified in the System Instruction.":
        return ""  # what Google's ADK sends to a model where the user said nothing
    hit = _TASK.match(text) if text and "Current Task:" in text else None
    return hit.group(1).strip() if hit else text


_ACTION = re.compile(
    r"^\s*\**Action\**\s*:\**\s*(?P<name>[^\n`]+?)\s*$\s*^\s*\**Action Input\**\s*:\**\s*(?P<input>.*)", re.M | re.S
)
_FINAL = re.compile(r"Final Answer\s*:\s*(.*)", re.S)
_OBSERVATION = re.compile(r"^\s*Observation\s*:\s*", re.M)


def react_request(text: str | None) -> Request | None:
    """The call in a text ReAct answer: `Action: name`, `Action Input: {...}` (Yao et al. 2022)."""
    if not text or "Action" not in text:
        return None
    hit = _ACTION.search(text)
    if hit is None or hit.group("name").strip().lower() in ("none", "final answer"):
        return None
    body = _OBSERVATION.split(hit.group("input"), maxsplit=1)[0].strip().strip("`").strip()
    return Request(None, hit.group("name").strip(), body)


def final_answer(text: str | None) -> str | None:
    """The answer proper of a ReAct text, else the text."""
    hit = _FINAL.search(text) if text and "Final Answer" in text else None
    return hit.group(1).strip() if hit else text


def arguments(raw: Value) -> tuple[dict[str, Value] | None, str | None]:
    """(the argument object, the raw text where it is none). Unwraps what frameworks put around the arguments."""
    if raw is None or (isinstance(raw, str) and raw in _REDACTED):
        return None, None
    if isinstance(raw, dict):
        return (None, to_json(raw)) if _by_place(raw) else (_unwrap(raw), None)
    if not isinstance(raw, str):
        return None, to_json(raw)
    text = raw.strip()
    if not text:
        return ({} if raw == "" else None), None
    value = parse_json(text)
    if isinstance(value, str):
        value = parse_json(value)
    if value is None and text[:1] == "{":
        try:
            literal = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            literal = None
        value = literal if isinstance(literal, dict) and all(isinstance(k, str) for k in literal) else None
    if isinstance(value, dict) and not _by_place(value):
        return _unwrap(value), None
    return None, raw


def _by_place(value: dict[str, Value]) -> bool:
    """Arguments that Traceloop saw given by their place: what they are called is not known."""
    return set(value) == {"args", "kwargs"} and isinstance(value["args"], list) and bool(value["args"])


def _unwrap(value: dict[str, Value]) -> dict[str, Value]:
    """LangChain wraps in `inputs`/`input_str`, Traceloop in `args`/`kwargs`, MCP in `arguments`."""
    keys = set(value)
    if "input_str" in keys and isinstance(value.get("inputs"), dict):
        return _unwrap(value["inputs"])
    if keys <= {"inputs", "tags", "metadata", "kwargs"} and isinstance(value.get("inputs"), dict) and len(keys) > 1:
        return _unwrap(value["inputs"])
    if keys == {"input", "options"} and isinstance(value["input"], dict):
        return value["input"]
    if keys == {"tool_name", "arguments"} and isinstance(value["arguments"], dict):
        return value["arguments"]
    if keys == {"kwargs"} and isinstance(value["kwargs"], dict):
        return {k: v for k, v in value["kwargs"].items() if k != "ctx"}
    if keys == {"args", "kwargs"} and isinstance(value["kwargs"], dict) and not value["args"]:
        return value["kwargs"]
    if (
        keys >= {"name", "arguments"}
        and keys <= {"name", "arguments", "meta", "_meta", "task"}
        and isinstance(value["arguments"], dict)
    ):
        return value["arguments"]
    if keys >= {"name", "args", "type"} and value.get("type") == "tool_call" and isinstance(value["args"], dict):
        return value["args"]
    return value


_AI_SDK = ("text", "json", "error-text", "error-json", "content")


def result(raw: Value) -> tuple[Value, bool | None]:
    """(what the model saw, was it flagged an error) from a tool span's output: ToolMessage, MCP, plain."""
    value = raw
    if isinstance(raw, str):
        if raw in _REDACTED:
            return None, None
        parsed = parse_json(raw) if raw[:1] in '[{"' else None
        if parsed is None:
            return _outcome_repr(raw)
        value = parsed
    flagged: bool | None = None
    for _ in range(6):
        if (
            isinstance(value, list)
            and value
            and all(isinstance(v, dict) and ("text" in v or v.get("type") == "text") for v in value)
        ):
            plain = _plain(value)
            if isinstance(plain, str):
                return plain, flagged
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and set(value[0]) == {"json"}:
            value = value[0]["json"]  # a content block of Bedrock's
        if not isinstance(value, dict):
            break
        if value.get("lc") == 1 and isinstance(value.get("kwargs"), dict):
            value = value["kwargs"]
            continue
        for key in ("isError", "is_error"):
            if isinstance(value.get(key), bool):
                flagged = value[key]
        told = value.get("type") in ("tool", "ToolMessage") or "tool_call_id" in value
        if told and value.get("status") in ("error", "success"):
            flagged = value["status"] == "error"
        if isinstance(value.get("data"), dict) and "content" in value["data"] and value.get("type"):
            value = value["data"]
        elif "tool_call_id" in value and "content" in value:
            value = value["content"]
        elif "tool_output" in value and "tool_name" in value:
            value = value["tool_output"]
        elif set(value) == {"id", "name", "response"}:
            value = value["response"]
        elif set(value) == {"type", "value"} and value["type"] in _AI_SDK:  # its words for what a tool gave
            flagged = value["type"].startswith("error-") or flagged
            value = value["value"]
        elif isinstance(value.get("blocks"), list):
            value = _plain(value["blocks"])
        elif set(value) <= {"output", "kwargs", "outputs"} and "output" in value:
            value = value["output"]
        elif isinstance(value.get("content"), list) and (
            "isError" in value
            or "is_error" in value
            or "structuredContent" in value
            or set(value) <= {"content", "meta", "_meta"}
        ):
            value = value["content"]
        elif "result" in value and ("is_error" in value or "isError" in value):
            value = value["result"]
        elif value.get("type") == "text" and isinstance(value.get("text"), str):
            return value["text"], flagged
        else:
            break
    if isinstance(value, str) and isinstance(raw, str) and value is not raw:
        return value, flagged
    return value, flagged


_OUTCOME = re.compile(r"status='(success|failure|error)' result=(.*?) error=(.*?)(?: \w+=.*)?$", re.S)


def _outcome_repr(text: str) -> tuple[Value, bool | None]:
    """A text, or what the `repr` of a record of status, result and error holds (Agno's FunctionExecutionResult)."""
    hit = _OUTCOME.match(text) if text.startswith("status='") else None
    if hit is None:
        return text, None
    failed = hit.group(1) != "success"
    told = hit.group(3 if failed else 2)
    try:
        return ast.literal_eval(told), failed
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return told, failed


def result_call_id(raw: str | None) -> str | None:
    """A tool call id hidden in a tool span's output or arguments (LangChain's ToolMessage, OpenLLMetry's kwargs)."""
    if not raw or "tool_call_id" not in raw:
        return None
    hit = re.search(r"[\"']tool_call_id[\"']\s*:\s*[\"']([^\"']+)[\"']", raw) or re.search(
        r"tool_call_id='([^']+)'", raw
    )
    return hit.group(1) if hit else None
