"""A request to call a tool and the result of one, as a part of a message in any provider's spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from otelcov.runs.content.chat import Request, Result, as_text
from otelcov.runs.content.jsontext import Value, parse_json

# Calls that the provider runs itself, OpenAI's own last.
_HOSTED = {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"}
_MICROSOFTS = ("code_interpreter", "image_generation", "mcp_server", "search", "shell")
"""Those of Microsoft's Agent Framework, with parts of their own."""
_ITEMS = ("mcp_call", *sorted(_HOSTED))
_TOLD_APART = {f"{word}_tool_call" for word in _MICROSOFTS}
_SERVED = {"mcp_call", "server_tool_use", "server_tool_call", "mcp_tool_use", *_TOLD_APART, *_HOSTED}
_SERVED_IDS = ("srvtoolu_", "mcptoolu_")
"""How Anthropic's ids of such calls begin."""
CALLS = {
    "tool_call",
    "tool-call",
    "tool_use",
    "toolCall",
    "function_call",
    "tool_call_request",
    "toolUse",
    "custom_tool_call",
    "computer_call",
    "mcp_approval_request",
    *_SERVED,
}
RESULTS = {
    "tool_call_response",
    "tool-result",
    "tool_result",
    "function_call_output",
    "function_call_result",  # of OpenAI's agents for JavaScript
    "tool_call_result",
    "toolResult",
    "custom_tool_call_output",
    "computer_call_output",
    "tool_response",
    "tool_return",
    "retry_prompt",
    "server_tool_call_response",
    "mcp_tool_result",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    *(f"{word}_tool_result" for word in _MICROSOFTS),
}
# A part may hold the call or the result under one of these.
CALL_KEYS = ("toolUse", "function_call", "functionCall", "tool_call", "toolRequest")
RESULT_KEYS = ("toolResult", "function_response", "functionResponse", "toolResponse", "tool_call_result")
# An item of OpenAI's Responses has an id of its own beside the call's.
_IDS = (
    "approval_request_id",
    "call_id",
    "tool_call_id",
    "toolCallId",
    "callId",
    "tool_use_id",
    "toolUseId",
    "id",
    "ref",
)
_NAMES = ("name", "toolName", "tool_name", "function_name", "tool.name")
_ARGUMENTS = (
    "arguments",
    "args",
    "input",
    "parameters",
    "tool_input",
    "tool_kwargs",
    "kwargs",
    "tool.args",
    "server_tool_call",
)
_RESULTS = ("result", "response", "output", "content", "outputs", "server_tool_call_response")
_ON_SERVER = "mcp_server:"  # how Pydantic AI names all that a provider asks of a server
AI_SDK = ("text", "json", "error-text", "error-json", "content")


def kind_of(part: dict[str, Value]) -> str | None:
    """What a part says it is; a word of another casing (`toolCallResponse`, `tool-call-response`, `TEXT`) as the
    conventions write it. None where it says nothing, empty where what it says is no word."""
    told = part.get("type") or part.get("part_kind") or part.get("kind") or part.get("block_type")
    if not isinstance(told, str):
        return "" if told else None
    return told if told in CALLS or told in RESULTS else _snake(told)


@lru_cache(maxsize=256)
def _snake(word: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).replace("-", "_").lower()


def is_part(value: Value) -> bool:
    if not isinstance(value, dict) or "role" in value:
        return False
    kind = kind_of(value)
    if kind in CALLS or kind in RESULTS:
        return "call_id" not in value  # OpenAI's Responses items stand beside messages, not inside one
    if kind in ("text", "input_text", "output_text", "image", "image_url", "thinking", "reasoning"):
        return kind != "reasoning" or "content" in value or "text" in value
    return any(k in value for k in ("toolUse", "toolResult", "function_call", "functionCall", "functionResponse"))


def calls_function(value: dict[str, Value]) -> bool:
    """Does an object hold a function that is called - and not one that is defined?"""
    function = value.get("function")
    return isinstance(function, dict) and "arguments" in function and "name" in function


def bare_call(part: dict[str, Value]) -> bool:
    """Is a part of an answer a call by itself, and nothing else (ADK for Rust)?"""
    return part.keys() <= _BARE and isinstance(part.get("name"), str) and isinstance(part.get("args"), dict)


_BARE = {"id", "name", "args", "thought_signature"}


def requests_in(calls: Value) -> list[Request]:
    """The requests in a list of calls, or in one; what has no name is none."""
    several = [calls] if isinstance(calls, dict) else calls if isinstance(calls, list) else []
    if any(isinstance(call, dict) and "args" in call for call in several):
        several = [call for at, call in enumerate(several) if at == 0 or not _again(call, several[at - 1])]
    return [request for request in map(_request, several) if request is not None]


def _again(call: Value, before: Value) -> bool:
    """Is this the call before it in another spelling, as Sentry tells each of Gemini's in a stream?"""
    if not isinstance(call, dict) or not isinstance(before, dict) or "arguments" not in call or "args" not in before:
        return False
    return (call.get("name"), call["arguments"]) == (before.get("name"), before["args"])


def _request(call: Value) -> Request | None:
    if not isinstance(call, dict):
        return None
    kind = call.get("type") if isinstance(call.get("type"), str) else None
    item = call.get("content")
    if kind == "tool_call" and isinstance(item, dict) and item.get("type") in _ITEMS:
        call, kind = item, str(item["type"])  # Azure's SDK of projects, for .NET
    if kind in _HOSTED and "name" not in call:
        call = {"name": kind.removesuffix("_call"), "arguments": _given(call), "output": _brought(call)} | call
    if kind in _TOLD_APART:
        code = joined(call.get("inputs"))
        given = {"code": code} if isinstance(code, str) else None
        call = {"name": kind.removesuffix("_tool_call"), "arguments": given} | call
        call["name"] = call.get("tool_name") or call["name"]
    function = call.get("function") if isinstance(call.get("function"), dict) else call.get("tool_call")
    body = outer = function if isinstance(function, dict) else call
    if isinstance(body.get("function"), dict):
        body = body["function"]
    name = _first(body, _NAMES) or call.get("name")
    if not isinstance(name, str) or as_text(name) is None:
        return None
    if name[0] == name[-1] == "'":
        name = name[1:-1] or name  # a repr of it
    if name in _HOSTED:
        kind, name = name, name.removesuffix("_call")  # OpenInference writes the type of the item where the name goes
    arguments = next((body[key] for key in _ARGUMENTS if body.get(key) is not None), None)
    if arguments == {} and isinstance(call.get("partial_json"), str):
        arguments = _streamed(call["partial_json"])
    on_server = name.startswith(_ON_SERVER)
    if on_server:
        name, arguments = _on_server(name, arguments)
        if name is None:
            return None
    hosted = call.get("server_tool_call")
    if isinstance(hosted, dict) and isinstance(hosted.get("type"), str):
        if hosted["type"] == _LISTS:
            return None  # what a server has
        given = {key: value for key, value in hosted.items() if key != "type"}
        alone = given["input"] if given.keys() == {"input"} else given  # Anthropic's
        arguments = given.get("arguments", alone)
        if "status" in hosted:  # an item of OpenAI's Responses, whole
            given = {key: value for key, value in given.items() if key not in _CAME}
            arguments = _given(hosted) or hosted.get("arguments") or given
            call = {"output": _brought(hosted)} | hosted | {"type": kind}
    request = Request(as_text(_first(call, _IDS) or outer.get("id")), name, arguments)
    if isinstance(hosted, dict) and str(hosted.get("type")).endswith("_approval_request"):
        return request  # somebody is asked whether it may run
    hosted_id = on_server or (request.id or "").startswith(_SERVED_IDS)
    if kind in _SERVED or hosted_id or call.get("builtin") is True or call.get("providerExecuted") is True:
        request.served = Result(request.id, name, call.get("output"), _failed(call))
    return request


def _streamed(pieces: str) -> Value:
    """What LangChain gathered of a stream of Anthropic's, which begins a call with nothing that it is given."""
    given = parse_json(pieces) if pieces else {}
    return given if isinstance(given, dict) else None


def ran_code(part: dict[str, Value]) -> Request | None:
    """Code that Gemini wrote and its provider ran, in its own spelling or its client's."""
    told = part.get("executableCode") or part.get("executable_code")
    if part.get("type") == "executable_code" and isinstance(part.get("content"), str):
        told = {"code": part["content"]}  # Traceloop's for JavaScript
    if not isinstance(told, dict):
        return None
    return Request(None, "code_execution", {"code": told.get("code")}, Result(None, "code_execution"))


def outcome_of_code(part: dict[str, Value]) -> Result | None:
    """What came of that, in the part that follows."""
    told = part.get("codeExecutionResult") or part.get("code_execution_result")
    if part.get("type") == "code_execution_result" and "outcome" in part:
        told = {"output": part.get("content"), "outcome": part["outcome"]}
    if not isinstance(told, dict):
        return None
    return Result(None, "code_execution", told.get("output"), told.get("outcome") != "OUTCOME_OK")


def _on_server(server: str, given: Value) -> tuple[str | None, Value]:
    """The tool of a server that a provider called, and what it was given; none, where it asked for the list of them."""
    told = given if isinstance(given, dict) else parse_json(given) if isinstance(given, str) else None
    if not isinstance(told, dict) or "action" not in told:
        return server, given
    tool = told.get("tool_name")
    return (tool, told.get("tool_args")) if told["action"] == "call_tool" and isinstance(tool, str) else (None, None)


_LISTS = "mcp_list_tools"
_CAME = ("status", "outputs", "output", "results", "error", "server_label")


def _given(item: dict[str, Value]) -> Value:
    """What a tool of OpenAI's own was given."""
    return item.get("action") or {key: item[key] for key in ("code", "queries") if key in item} or None


def _brought(item: dict[str, Value]) -> Value:
    """What a tool of OpenAI's own brought: what code printed, or what a search found."""
    outputs = item.get("outputs")
    logs = [o.get("logs") for o in outputs if isinstance(o, dict)] if isinstance(outputs, list) else []
    printed = [log for log in logs if isinstance(log, str)]
    return "\n".join(printed) if printed else item.get("results")


def _first(value: dict[str, Value], keys: Sequence[str]) -> Value:
    for key in keys:
        if found := value.get(key):
            return found
    return None


def _failed(served: dict[str, Value]) -> bool | None:
    """What a call that the provider ran says of itself, if it says anything."""
    if served.get("error"):
        return True
    return {"completed": False, "failed": True}.get(str(served.get("status")))


def result_in(part: dict[str, Value], where: Sequence[str] = _RESULTS) -> Result:
    """What a part tells of a tool's result, its content under the first of the keys `where` that it has."""
    origin = part["origin"] if isinstance(part.get("origin"), dict) else {}  # Haystack
    content = next((part[key] for key in where if part.get(key) is not None), None)
    if part.get("builtin") is True and str(part.get("name")).startswith(_ON_SERVER) and isinstance(content, dict):
        return Result(as_text(_first(part, _IDS)), None, content.get("output"), bool(content.get("error")))
    if isinstance(content, dict) and "output" in content and set(content) <= {"type", "output"}:
        content = content["output"]  # of a tool that the provider ran
    if content is part.get("server_tool_call_response") and isinstance(content, dict):
        content = content["content"] if content.keys() == {"type", "content"} else content  # Anthropic's
    if isinstance(content, list):
        content = content[0] if len(content) == 1 and _went_wrong(content[0]) else _of_parts(content)
    elif isinstance(content, dict) and content.get("type") in AI_SDK:
        content = content.get("value", content.get("text"))
    if part.get("part_kind") == "tool-return" and part.get("outcome") in ("denied", "interrupted"):
        content = content if str(content).startswith("The tool call was denied") else None  # it may not have run
    call_id, name = _first(part, _IDS) or origin.get("id"), _first(part, _NAMES) or origin.get("tool_name")
    return Result(as_text(call_id), as_text(name), content, True if _went_wrong(content) else _error(part))


def _of_parts(content: list[Value]) -> Value:
    """What parts say; bare texts are a list that the tool gave."""
    return content if all(isinstance(v, str) for v in content) else joined(content)


def _went_wrong(content: Value) -> bool:
    """Is this what one of Anthropic's own tools brings that failed?"""
    return isinstance(content, dict) and str(content.get("type")).endswith("_tool_result_error")


def _error(part: dict[str, Value]) -> bool | None:
    told = next((part[key] for key in ("is_error", "isError", "error") if isinstance(part.get(key), bool)), None)
    output = part.get("output")
    if told is None and part.get("part_kind") == "tool-return" and part.get("outcome") in ("failed", "retried"):
        return True  # Pydantic AI
    if told is None and part.get("status") in ("error", "success"):
        return bool(part["status"] == "error")
    if told is None and isinstance(output, dict) and str(output.get("type", "")).startswith("error"):
        return True
    return told


def joined(value: Value) -> Value:
    """The text of a list of text parts, or the value itself where it is none; None where their texts are left out."""
    if isinstance(value, list) and value and all(isinstance(v, (dict, str)) for v in value):
        if all(isinstance(v, dict) and v in _TEXTLESS for v in value):
            return None
        texts = [v if isinstance(v, str) else _part_text(v) for v in value]
        if all(isinstance(t, str) for t in texts):
            return "\n".join(texts)
        jsons = [v.get("json") for v in value if isinstance(v, dict) and "json" in v]
        if len(jsons) == len(value) == 1:
            return jsons[0]
    return value


_TEXTLESS = ({"type": "text"}, {"message_content": {"type": "text"}})


def _part_text(part: dict[str, Value]) -> Value:
    inner = part.get("message_content")  # OpenInference's flattened parts
    return (inner if isinstance(inner, dict) else part).get("text", part.get("content"))
