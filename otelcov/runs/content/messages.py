"""Chat messages out of whatever an instrumentation wrote them as.

One general walk instead of a parser per vendor: every provider's message is a mapping with a role, and what matters in
it is one of four things - text, a request to call a tool, the result of one, or a list of more of these. So OpenAI
chat and Responses, Anthropic, Gemini, Bedrock, LangChain's constructor form, the GenAI conventions' `parts`, the AI
SDK's hyphenated types and Python `repr`s of SDK objects all come out as the same `Message`.
"""

from __future__ import annotations

import re
from itertools import groupby

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import ROLES, Message, Request, Result, role_of
from otelcov.runs.content.jsontext import Value, hidden, parse_json, to_json
from otelcov.runs.content.parts import (
    CALL_KEYS,
    CALLS,
    RESULT_KEYS,
    RESULTS,
    bare_call,
    calls_function,
    is_part,
    joined,
    kind_of,
    outcome_of_code,
    ran_code,
    requests_in,
    result_in,
)
from otelcov.runs.content.printed_parts import with_part
from otelcov.runs.content.reprs import chat_message, langchain_message, with_reprs
from otelcov.runs.content.written_parts import written

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
_ANSWERS = ("output", "outputs", "choices", "candidates", "generations", "response", "replies")
_INSTRUCTIONS = ("system", "system_instruction", "instructions", "systemInstruction", "system_prompt")
_UNSAID = ("thinking", "reasoning", "redacted_thinking", "image", "image_url", "file", "blob", "uri", "compaction")
_CLASSES = ("ToolCall", "ToolCallRequest", "ToolCallResponse")  # of parts that Splunk's instrumentations lost
_NAMED = late(r"\[tool-result: ([^\]]+)\]")  # Mastra names results in place of what they are, or of some
_CONTENTS = ("content", "parts", "body", "contents", "blocks")
_OF_CALL = late(r"Call id: (\S+)\n(?:Observation|Error):\n(.*)", re.S)  # smolagents 1.12
_OF_NAMED = late(
    r"Error:\n(?:Unknown tool ([\w-]+), should be one of: |Error executing tool '([\w-]+)' with arguments )"
)
"""What smolagents tells of the one of several calls that failed first."""
_DEEPEST = 12  # levels of JSON, and of JSON in its texts


def messages_of(value: Value, default_role: str = "user") -> list[Message]:
    """All messages in `value`, in order. Plain text is one message of `default_role`."""
    return _walk(value, default_role, 0)


def _walk(value: Value, role: str, depth: int) -> list[Message]:
    if depth > _DEEPEST:
        return []
    if isinstance(value, str):
        return _of_text(value, role, depth)
    if isinstance(value, list):
        return _of_list(value, role, depth)
    return _of_object(value, role, depth) if isinstance(value, dict) else []


def _of_text(value: str, role: str, depth: int) -> list[Message]:
    inner = parse_json(value) if value[:1] in "[{" else None
    if isinstance(inner, (dict, list)):
        return _walk(inner, role, depth + 1)
    written = langchain_message(value) if value[:8] == "content=" else chat_message(value)
    if written is not None:
        return [message_of(written, role)]
    return [_text_message(value, role)] if value or role in ("user", "assistant") else []


def _of_list(value: list[Value], role: str, depth: int) -> list[Message]:
    if len(value) == 2 and isinstance(value[1], str) and isinstance(value[0], str) and value[0] in ROLES:
        return [Message(ROLES[value[0]], value[1])]  # LangChain's ("human", "text") pair
    if value and all(is_part(v) for v in value):
        return [message_of({"role": role, "content": value}, role)]
    found = [_walk(v, role, depth + 1) for v in value]
    if depth and any(isinstance(v, dict) and not told for v, told in zip(value, found, strict=True)):
        found = [told for v, told in zip(value, found, strict=True) if not isinstance(v, str)]  # a program's own tuple
    return [message for told in found for message in told]


def _of_object(value: dict[str, Value], role: str, depth: int) -> list[Message]:
    if "role" in value and value.keys() <= _OF_CHATS and not isinstance(value.get("content"), dict):
        return [message_of(value, role)]  # as most of them are
    if "lc" in value and isinstance(value.get("kwargs"), dict):
        return _of_constructor(value, role, depth)
    if isinstance(value.get("chat_message"), dict):
        return [m for told in _turn_of_autogen(value) for m in _walk(told, role, depth + 1)]
    if ("thought" in value or value.get("type") in _OF_AUTOGEN) and (told := _of_autogen(value)) is not None:
        return [m for one in told for m in _walk(one, role, depth + 1)]
    if isinstance(value.get("message"), dict) and "role" not in value:
        return _of_choice(value, role, depth)
    content = value.get("content")
    if isinstance(content, dict) and "parts" in content:  # a Gemini candidate
        reason = value.get("finish_reason", value.get("finishReason"))
        return _walk(content | {"finish_reason": reason}, role, depth + 1)
    if _is_message(value):
        return [message_of(value, role)]
    named = "toolName" in value or "tool.name" in value
    if calls_function(value) or named or ("toolCallId" in value and ("args" in value or "input" in value)):
        return [message_of({"role": "assistant", "tool_calls": [value]}, role)]
    if (kind := kind_of(value)) in CALLS or kind in RESULTS:
        return [message_of({"role": "assistant" if kind in CALLS else "tool", "content": [value]}, role)]
    return _of_wrapper(value, role, depth)


_OF_CHATS = {"role", "content", "tool_calls", "tool_call_id", "name"}
"""All that a message of chat completions has."""


def _turn_of_autogen(value: dict[str, Value]) -> list[Value]:
    """What an agent of AutoGen's did and said in its turn."""
    inner = value.get("inner_messages")
    out: list[Value] = []
    for told in [*(inner if isinstance(inner, list) else ()), value["chat_message"]]:
        kind, content = (told.get("type"), told.get("content")) if isinstance(told, dict) else (None, None)
        if kind == "ToolCallRequestEvent":
            out.append({"role": "assistant", "tool_calls": content})
        elif kind == "ToolCallExecutionEvent" and isinstance(content, list):
            out += [{"role": "tool"} | result for result in content if isinstance(result, dict)]
        elif kind not in ("ThoughtEvent", "HandoffMessage") and isinstance(content, str):
            out.append({"role": "assistant", "content": content})
    return out


def _of_autogen(value: dict[str, Value]) -> list[Value] | None:
    """A message of AutoGen's or an answer of its models, in which what is asked for, and what came of each, is a list;
    None where this is something else."""
    content, kind = value.get("content"), value.get("type")
    if kind == "FunctionExecutionResultMessage" and isinstance(content, list):
        return [{"role": "tool"} | result for result in content if isinstance(result, dict)]
    if kind in _OF_AUTOGEN and "source" in value:
        user = kind == "UserMessage" and value["source"] == "user"  # else another agent's words
        said: dict[str, Value] = {"role": "user" if user else "assistant"}
    elif value.keys() >= _ANSWER_OF_AUTOGEN:
        said = {"role": "assistant", "finish_reason": value["finish_reason"]}
    else:
        return None
    asks = kind != "UserMessage" and isinstance(content, list)
    return [said | ({"tool_calls": content} if asks else {"content": content})]


_OF_AUTOGEN = ("UserMessage", "AssistantMessage", "FunctionExecutionResultMessage")
_ANSWER_OF_AUTOGEN = {"finish_reason", "content", "usage", "cached", "thought"}


def _of_constructor(value: dict[str, Value], role: str, depth: int) -> list[Message]:
    """LangChain's `{"lc": 1, "id": [..., "AIMessage"], "kwargs": {...}}`."""
    kind, kwargs = value.get("id"), value["kwargs"]
    name = str(kind[-1]) if isinstance(kind, list) and kind else ""
    if name in ("ChatPromptValue", "StringPromptValue", "ChatGeneration", "Command", "LLMResult"):
        return _walk(kwargs, role, depth + 1)
    return [message_of(kwargs | {"role": ROLES.get(name, kwargs.get("type") or role)}, role)]


def _of_choice(value: dict[str, Value], role: str, depth: int) -> list[Message]:
    """A choice, a generation, an event: the message is one level down, the reason why it ended may be beside it."""
    reasons = {key: value[key] for key in ("finish_reason", "finishReason") if key in value}
    default = "assistant" if "index" in value or reasons or value.get("event.name") == "gen_ai.choice" else role
    held = value["message"]
    if "content" in held and not _is_message(held):
        held = held | {"role": default}  # the conventions leave it out where it is the usual one
    found = _walk(reasons | held, default, depth + 1)
    if found and found[-1].finish_reason is None:
        found[-1].finish_reason = _finish(value)
    return found


# What Google's client asked and did before the answer, where it called the tools itself.
_LOOPS = ("automatic_function_calling_history", "automaticFunctionCallingHistory")


def _of_wrapper(value: dict[str, Value], role: str, depth: int) -> list[Message]:
    """A request or an answer, with its messages under one of many names."""
    result = value.get("result")
    if isinstance(result, dict) and "state" in value and (result.get("role") == "assistant" or "choices" in result):
        return _walk(result, "assistant", depth + 1)  # an answer as Cloudflare's gateway hands it on
    told = [joined(value[key]) for key in _INSTRUCTIONS if isinstance(value.get(key), (str, list))]
    text = told[0] if told and isinstance(told[0], str) else None
    system = [Message("system", text)] if told and any(key in value for key in _WRAPPERS) else []
    for key in ("prompt", "text", "input_text"):
        if isinstance(value.get(key), str) and "messages" not in value and not hidden(value[key]):
            return [*system, _text_message(value[key], role)]
    before = [m for key in _LOOPS if value.get(key) for m in _walk(_once(value[key]), "user", depth + 1)]
    for key in _WRAPPERS:
        if value.get(key) is not None:
            found = _walk(value[key], "assistant" if key in _ANSWERS else role, depth + 1)
            if before and _goes_on(value[key]):
                _without_asked(found, before)
            return [*system, *before, *found]
    return system


def _once(history: Value) -> Value:
    """A history that every piece of a stream told again, whole: the last of them."""
    if not isinstance(history, list) or history.count(history[0]) < 2:
        return history
    starts = [at for at, message in enumerate(history) if message == history[0]]
    told = [history[at:end] for at, end in zip(starts, [*starts[1:], len(history)], strict=True)]
    return told[-1] if all(one == told[-1][: len(one)] for one in told) else history


def _goes_on(candidates: Value) -> bool:
    """Does an answer say something after what it asks for? Then pieces of several answers were put together."""
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    content = first.get("content") if isinstance(first, dict) else None
    parts = content.get("parts") if isinstance(content, dict) else None
    told = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    kinds = [any(key in part for key in CALL_KEYS) for part in told]
    return True in kinds and not kinds[-1]


def _without_asked(answer: list[Message], before: list[Message]) -> None:
    """Takes from an answer that was put together what its history shows to have been asked for."""
    known = [(r.name, r.arguments) for m in before for r in m.requests]
    for message in answer:
        asked = [(r.name, r.arguments) for r in message.requests]
        if asked and asked == known[-len(asked) :]:
            message.requests.clear()


def _is_message(value: dict[str, Value]) -> bool:
    if value.get("type") == "function_call" and "call_id" in value:  # an item of a response, with a role by Laminar
        return False
    if "role" in value or "tool_calls" in value or "toolCalls" in value:
        return True
    kind, event = (name if isinstance(name := value.get(key), str) else None for key in ("type", "event.name"))
    if (kind in ROLES and ("content" in value or "data" in value)) or event in ROLES:
        return True
    return "parts" in value and isinstance(value["parts"], list)


def _text_message(text: str, role: str) -> Message:
    if hidden(text):
        return Message(role)
    m = with_part(Message(role, text))
    return with_reprs(m) if m.role == "assistant" else m


def _framed(content: Value) -> dict[str, Value] | None:
    """The id and the name of a call, where a tool's message has them in a frame around what came of it (Respan, of
    Pydantic AI and Google's ADK)."""
    told = parse_json(content) if isinstance(content, str) and content.startswith('{"name"') else None
    if not isinstance(told, dict) or not isinstance(told.get("name"), str):
        return None
    if told.keys() == {"name", "result", "tool_call_id"}:
        return {"tool_call_id": told["tool_call_id"], "name": told["name"], "content": told["result"]}
    back = told.get("response") if told.keys() == {"name", "response"} else None  # Gemini's, always an object
    return {"name": told["name"], "content": back} if isinstance(back, dict) else None


def _finish(value: dict[str, Value]) -> str | None:
    if value.keys().isdisjoint(_REASONS):
        return None
    reason = value.get("finish_reason", value.get("finishReason", value.get("stop_reason")))
    if reason is None and isinstance(value.get("response_meta"), dict):  # Eino
        reason = value["response_meta"].get("finish_reason")
    return reason if isinstance(reason, str) else None


_REASONS = ("finish_reason", "finishReason", "stop_reason", "response_meta")


def _names_results(content: str) -> bool:
    return _NAMED.match(content) is not None or (content.endswith("]") and _NAMED.search(content) is not None)


def message_of(value: dict[str, Value], default_role: str) -> Message:
    """The message that a mapping is, whatever its keys are called."""
    data = value.get("data")
    if isinstance(data, dict) and "content" in data:
        value = value | data
    role = value.get("role") or value.get("event.name") or value.get("type") or default_role
    role = role_of(str(role))
    from_user = role == "user" and isinstance(value.get("tool_call_id"), str)
    role = "tool" if from_user else role  # Anthropic's results come from the user, all of an answer in one message
    m = Message(role, finish_reason=_finish(value), partial=from_user)
    name = value.get("name")
    m.name = name if isinstance(name, str) else None
    content = value["content"] if "content" in value else next((value[key] for key in _CONTENTS if key in value), None)
    if role == "tool" and "tool_call_id" not in value and (back := _framed(content)) is not None:
        value, content = value | back, back["content"]
    if content is None and isinstance(value.get("text"), str):
        content = value["text"]
    inner = value.get("message")
    if isinstance(inner, dict):  # the event form keeps the message one level down
        content = inner.get("content", content)
        value = value | inner
    _add(_whole(content) if value.get("role") == "model" else content, m, 0)
    if isinstance(value.get("parts"), list) and content is not value["parts"]:
        _add(value["parts"], m, 0)
    _add_calls(value, m)
    if role == "system" and m.requests:
        m.role = role = "assistant"  # whoever asks for tools
    if role == "tool" and not m.results and isinstance(content, str) and _names_results(content):
        m.results += [Result(None, name) for name in _NAMED.findall(content)]
    elif role == "tool" and not m.results and (told := _OF_CALL.match(m.text or "")) is not None:
        m.results.append(Result(told[1], None, told[2]))
    elif role == "tool" and not m.results:
        extra = value.get("additional_kwargs")  # LlamaIndex keeps the call's id there
        m.results.append(
            result_in((extra if isinstance(extra, dict) else {}) | value | {"content": content}, ("content",))
        )
        if (failed := _OF_NAMED.match(m.text or "")) is not None and m.results[0].name is None:
            m.results[0].name = failed[1] or failed[2]
    if hidden(m.text):
        m.text = None
    if role == "assistant":
        with_reprs(with_part(m))
        pair(m)
    elif role == "user":
        with_part(m)
    return m


_BESIDE = ("tool_calls", "toolCalls", "tool_call", "invalid_tool_calls", "function_call", "additional_kwargs")


def _add_calls(value: dict[str, Value], m: Message) -> None:
    """The calls that stand beside a message's content."""
    if value.keys().isdisjoint(_BESIDE):
        return
    extra = value.get("additional_kwargs")
    calls = value.get("tool_calls") or value.get("toolCalls") or value.get("tool_call")
    if not calls and isinstance(extra, dict):
        calls = extra.get("tool_calls")
    known = {request.id for request in m.requests if request.id}
    before = list(m.requests)
    told = list(before)
    for request in requests_in(calls):
        if not request.id and (twin := next((r for r in told if _alike(r, request)), None)) is not None:
            told.remove(twin)  # it stands in the content, too
        elif request.id not in known:
            twin = next((r for r in before if request.id and not r.id and _alike(r, request)), None)
            if twin is None:
                m.requests.append(request)
            else:
                twin.id = request.id  # LangChain's, where the content has none (Gemini)
    m.requests += requests_in(value.get("invalid_tool_calls"))
    if isinstance(extra, dict) and "tool_outputs" in extra:  # LangChain keeps there what a provider ran
        beside = [r for r in requests_in(extra["tool_outputs"]) if not r.id or r.id not in known]
        m.requests[:0] = [r for r in beside if r.served is not None]  # before it went on
        m.requests += [r for r in beside if r.served is None]
    legacy = value.get("function_call")
    if isinstance(legacy, dict) and legacy and not m.requests:
        m.requests += requests_in({"name": legacy.get("name"), "arguments": legacy.get("arguments")})


def _alike(one: Request, other: Request) -> bool:
    return one.name == other.name and _object(one.arguments) == _object(other.arguments)


def _object(arguments: Value) -> Value:
    parsed = parse_json(arguments) if isinstance(arguments, str) else None
    return arguments if parsed is None else parsed


def pair(answer: Message) -> None:
    """A result that stands in one answer with its request: nobody but the provider can have run that tool."""
    for request in answer.requests if answer.results else ():
        found = next((r for r in answer.results if r.id and r.id == request.id), None)
        request.served = found or request.served
    bare = [r for r in answer.requests if not r.id and r.served is not None] if answer.results else []
    came = [r for r in answer.results if not r.id]
    if len(bare) == len(came) == 1 and came[0].told() and came[0].name in (None, bare[0].name):
        bare[0].served = came[0]  # the only one without an id


def _add(content: Value, m: Message, depth: int) -> None:
    if depth > _DEEPEST:
        return
    if isinstance(content, str):
        inner = parse_json(content) if m.role != "user" and parts_as_text(content) else written(m.role, content)
        if inner is None:
            _say(m, content)
        else:
            _add(inner, m, depth + 1)
    elif isinstance(content, list):
        if not content and m.text is None and m.role == "user":
            m.text = ""
        m.nameless = m.nameless or (m.role == "assistant" and _stands_for_another(content))
        for part in content:
            if part not in _CLASSES:
                _add(part, m, depth + 1)
    elif isinstance(content, dict):
        _add_part(content, m, depth)


def _stands_for_another(parts: list[Value]) -> bool:
    """Is there a text of which nothing is told beside one with words? It stands for a part of another kind, which an
    instrumentation does not know (OpenTelemetry's of Anthropic's client, of what a server of MCP's ran)."""
    texts = [p for p in parts if isinstance(p, dict) and p.get("type") == "text"] if len(parts) > 1 else []
    return any("content" in p and p["content"] is None for p in texts) and any(p.get("content") for p in texts)


def _add_part(part: dict[str, Value], m: Message, depth: int) -> None:
    kind = kind_of(part)
    inside = next((key for key in (*CALL_KEYS, *RESULT_KEYS) if isinstance(part.get(key), dict)), None)
    body = part if inside is None else part[inside]
    bare = m.role == "assistant" and bare_call(part)
    if inside in CALL_KEYS or (inside is None and (kind in CALLS or bare or calls_function(part))):
        nameless = body.keys() == {"type", "id"} and isinstance(body["id"], str)  # all else is left out (Azure's SDK)
        found = [Request(body["id"], None)] if nameless else requests_in([body])
        m.requests += found
        m.nameless = m.nameless or not found
    elif inside or kind in RESULTS:
        m.results.append(result_in(body))
    elif kind in _UNSAID:
        if isinstance(part.get("transcript"), str):
            _say(m, part["transcript"])
    elif (code := ran_code(part)) is not None:
        m.requests.append(code)
    elif (outcome := outcome_of_code(part)) is not None:
        if m.requests and m.requests[-1].name == outcome.name:
            m.requests[-1].served = outcome
    elif isinstance(part.get("text"), str):
        if not part.get("thought"):
            _say(m, part["text"])
    elif isinstance(part.get("content"), (str, list)) and kind in (None, "text", "output_text", "input_text"):
        _add(part["content"], m, depth + 1)
    elif isinstance(part.get("message_content"), dict):  # OpenInference's flattened parts
        _add(part["message_content"], m, depth + 1)
    elif part.keys() == {"data"} and isinstance(part["data"], (dict, list)) and m.role == "assistant":
        _say(m, to_json(part["data"]))  # an answer after a schema (Genkit)
    elif kind == "text" and m.text is None:
        m.unreadable = True


def _whole(content: Value) -> Value:
    """The parts of an answer of Gemini's or Genkit's, whose texts are pieces of one: nothing stands between them."""
    if not isinstance(content, list) or len(content) < 2:
        return content
    out: list[Value] = []
    for texts, some in groupby(content, _is_text):
        if texts:
            out.append({"text": "".join(str(part["text"]) for part in some if isinstance(part, dict))})
        else:
            out += some
    return out


def _is_text(part: Value) -> bool:
    return isinstance(part, dict) and part.keys() == {"text"} and isinstance(part["text"], str)


def _say(m: Message, text: str) -> None:
    m.text = f"{m.text}\n{text}" if m.text else text


def parts_as_text(text: str) -> bool:
    """Does a text hold the AI SDK's parts of a message (Traceloop for JavaScript), or OpenAI's calls (Langtrace's)?"""
    if text.startswith('[{"id":'):
        return '"type":"function","function":{"name":' in text
    return text.startswith('[{"type":') and '"tool-' in text
