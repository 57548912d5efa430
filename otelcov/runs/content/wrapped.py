"""What tool spans say of their arguments and results, without what frameworks put around these."""

from __future__ import annotations

import base64
import re

from otelcov.ground.patterns import late
from otelcov.runs.content.jsontext import Value, hidden, in_part, left_out, literal, parse_json, to_json, too_deep
from otelcov.runs.content.parts import AI_SDK, joined

_DEEPEST = 8  # wrappers in each other


def arguments_of(raw: Value) -> tuple[dict[str, Value] | None, str | None]:
    """(the argument object, the raw text where it is none). Unwraps what frameworks put around the arguments.

    What was read last is kept, where it is short: a dozen rules look at what each call was given, and nothing that was
    read is changed."""
    if isinstance(raw, str) and len(raw) > _LONGEST:
        return _arguments_of(raw)
    known = _read.get(id(raw))
    if known is not None and known[0] is raw:
        return known[1]
    if len(_read) == _KEPT:
        _read.clear()
    found = _arguments_of(raw)
    _read[id(raw)] = raw, found
    return found


_Arguments = tuple[dict[str, Value] | None, str | None]
_read: dict[int, tuple[Value, _Arguments]] = {}  # by the identity of what was read, which is kept with it
_KEPT, _LONGEST = 128, 16_384


def _arguments_of(raw: Value) -> _Arguments:
    given, text = _given(raw)
    if _emptied(given):
        return None, None
    if given and too_deep(given, raw):
        return None, raw if isinstance(raw, str) else to_json(raw)
    if given and (not isinstance(raw, str) or _MASK.search(raw)) and in_part(given):
        return None, None
    return given, text


def emptied(raw: Value) -> bool:
    """Did somebody empty the arguments in what a kit tells beside a tool's name?"""
    return isinstance(raw, str) and '""' in raw and _emptied(_given(raw)[0])


def _emptied(given: dict[str, Value] | None) -> bool:
    return given is not None and given.get("arguments") == "" and given.keys() in _NAMED


_NAMED = ({"tool_name", "arguments"}, {"tool", "arguments"})
"""What a kit tells beside a tool's name."""
_MASK = late(r"\*{3}|REDACTED|redacted|HIDDEN|[\[<(]\w+[)>\]]")
"""What all words that stand for what was left out have somewhere, or are in."""


def _given(raw: Value) -> tuple[dict[str, Value] | None, str | None]:
    if raw is None or (isinstance(raw, str) and (hidden(raw) or _OMITTED.search(raw))):
        return None, None
    if isinstance(raw, dict):
        return (None, to_json(raw)) if _by_place(raw) else _as_told(raw)
    if not isinstance(raw, str):
        return None, to_json(raw)
    text = raw.strip()
    if not text:
        return ({} if raw == "" else None), None
    value = parse_json(text)
    if isinstance(value, str):
        raw = value if value[:1] == "{" else raw
        value = parse_json(value)
    if value is None and _BYTES.match(text):
        value = _of_bytes(text)
    if value is None and text[:1] == "{":
        value = _literal(text)
    if isinstance(value, list):
        value = _of_pairs(value)
    if isinstance(value, dict) and not _by_place(value):
        return _as_told(value)
    return None, raw


NO_JSON = ("_raw", "INVALID_JSON", "raw")
"""Under which Traceloop's instrumentations, Pydantic AI and OpenLIT tell a text that is no object of JSON. An argument
of a tool may be called `raw`, too: that text is meant to be an object, as it begins."""


def _as_told(value: dict[str, Value]) -> tuple[dict[str, Value] | None, str | None]:
    """What was given, or the text for which a kit made up an object, since it could not read it."""
    for key in NO_JSON if len(value) == 1 else ():
        text = value.get(key)
        if isinstance(text, str) and not isinstance(parse_json(text), dict) and (key != "raw" or text[:1] == "{"):
            return None, text
    return _unwrap(value), None


def _of_pairs(value: list[Value]) -> Value:
    """Arguments that are told one by one, each with its name, its type and its value as text (Bedrock's agents)."""
    told = [v for v in value if isinstance(v, dict) and isinstance(v.get("name"), str) and "type" in v and "value" in v]
    return {str(v["name"]): _typed(v["value"], v["type"]) for v in told} if len(told) == len(value) > 0 else None


def _typed(value: Value, kind: Value) -> Value:
    parsed = parse_json(value) if isinstance(value, str) and kind != "string" else None
    return value if parsed is None else parsed


_OMITTED = late(r"\[\d+ chars omitted\]")
"""Where a text in it was cut (oh-my-pi)."""
_BYTES = late(r"e[w-z0-3](?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/=]{2}$")
"""An object's text as Go writes bytes in JSON: in Base64."""


def _of_bytes(text: str) -> Value:
    try:
        return parse_json(base64.b64decode(text, validate=True).decode())
    except ValueError:
        return None


_SWITCHES = {"sanitize_inputs_outputs"}
"""What smolagents gives a tool beside its arguments."""


def _by_place(value: dict[str, Value]) -> bool:
    """Arguments that were given by their place: what they are called is not known."""
    named = value.keys() - _SWITCHES
    alone = named == {"args"} and value.keys() > named  # Future AGI's, of smolagents
    return (named == {"args", "kwargs"} or alone) and isinstance(value["args"], list) and bool(value["args"])


def _unwrap(value: dict[str, Value]) -> dict[str, Value]:
    """LangChain wraps in `inputs`/`input_str`, Traceloop in `args`/`kwargs`, MCP in `arguments`, Gemini in `args`."""
    keys = set(value)
    if keys and all(k.startswith(_PARAMETER) for k in keys):
        return {k.removeprefix(_PARAMETER).removesuffix(".value"): value[k] for k in value if k.endswith(".value")}
    if keys > _SWITCHES and "args" in keys and "kwargs" not in keys and not value["args"]:  # Future AGI's
        return {k: v for k, v in value.items() if k != "args" and k not in _SWITCHES}
    if keys > _SWITCHES and keys - _SWITCHES in ({"args", "kwargs"}, {"kwargs"}):
        keys -= _SWITCHES
    if "input_str" in keys and isinstance(value.get("inputs"), dict):
        return _unwrap(value["inputs"])
    if keys <= {"inputs", "tags", "metadata", "kwargs"} and isinstance(value.get("inputs"), dict) and len(keys) > 1:
        return _unwrap(value["inputs"])
    if keys == {"input", "options"} and isinstance(value["input"], dict):
        return value["input"]
    if keys in _NAMED and isinstance(value["arguments"], dict):
        return value["arguments"]
    if "ArgumentsInJSON" in keys:  # Eino
        return arguments_of(value["ArgumentsInJSON"])[0] or {}
    if keys == {"kwargs"} and isinstance(value["kwargs"], dict):
        return {k: v for k, v in value["kwargs"].items() if k != "ctx"}
    if keys == {"args", "kwargs"} and isinstance(value["kwargs"], dict) and not value["args"]:
        return value["kwargs"]
    if (
        keys >= {"name", "arguments"}
        and keys <= {"name", "arguments", "meta", "_meta", "task"}
        and isinstance(value["arguments"], dict)
    ):
        return _once_more(value["arguments"], value["name"])
    called = value.get("type") == "tool_call" or "callId" in keys  # LangChain, Gemini CLI
    if keys >= {"name", "args"} and called and isinstance(value["args"], dict):
        return value["args"]
    return value


_PARAMETER = "code.function.parameters."
"""What leads the type and the value of each argument, where these are told as attributes of a span would be
(OpenTelemetry's, of Google's client)."""


def _once_more(given: dict[str, Value], name: Value) -> dict[str, Value]:
    """What is told twice beside the tool's name, each time with what a kit puts around it (Respan, of smolagents)."""
    again = given.keys() == {"name", "arguments"} and given["name"] == name and isinstance(given["arguments"], dict)
    return _unwrap(given) if again or given.keys() > _SWITCHES else given


def result_of(raw: Value) -> tuple[Value, bool | None]:
    """(what the model saw, was it flagged an error) from a tool span's output: ToolMessage, MCP, plain."""
    value, flagged = _seen(raw)
    if isinstance(value, (dict, list)) and too_deep(value, raw):
        return (raw if isinstance(raw, str) else to_json(value)), flagged
    return (None if left_out(value) else value), flagged


def _seen(raw: Value) -> tuple[Value, bool | None]:
    value = raw
    if isinstance(raw, str):
        if hidden(raw) or _OMITTED.search(raw):
            return None, None
        value = parse_json(raw) if raw[:1] in '[{"' else None
        if value is None and (frame := _CUT_FRAME.match(raw)) is not None:
            return parse_json(frame.group(1)), None
        if value is None:
            return _outcome_repr(raw)
        if isinstance(value, str) and value.startswith('{"tool_name":'):  # as JSON, and that as JSON (Traceloop's)
            value = parse_json(value) or value
    flagged: bool | None = None
    if isinstance(value, list) and (paired := _of_ag2(value)) is not None:
        flagged, value = paired
    for _ in range(_DEEPEST):
        flagged = _flag(value) if isinstance(value, dict) and _flag(value) is not None else flagged
        inside = _inside(value)
        if inside is value:
            break
        value = inside
    if isinstance(value, str) and value is not raw:
        value, told = _outcome_repr(value)
        flagged = flagged if told is None else told
    if isinstance(value, str) and value[:1] == "{":
        return _of_mcp(value, flagged)
    return value, flagged


def _of_ag2(value: list[Value]) -> tuple[bool, Value] | None:
    """(did it fail, what it gave) of the pair that AG2 makes of a function's result, as OpenInference tells it."""
    if len(value) != 2 or not isinstance(value[0], bool) or not isinstance(value[1], dict):
        return None
    return (not value[0], value[1]["content"]) if value[1].keys() == {"content", "name", "role"} else None


def _of_mcp(text: str, flagged: bool | None) -> tuple[Value, bool | None]:
    """The whole result of MCP's that a text may hold, or what its call threw (mcp-use, for JavaScript and for Python).
    LangChain, which is given that text, says of it that nothing was raised."""
    signs = text.startswith('{"content":[{"type":') or '"isError"' in text or '"Traceback (most' in text
    told = parse_json(text) if signs else None
    if not isinstance(told, dict):
        return text, flagged
    if (
        isinstance(told.get("content"), list)
        and isinstance(told.get("isError", False), bool)
        and told.keys() <= _OF_MCP
    ):
        return _seen(told)[0], told.get("isError") or flagged
    thrown = told.keys() >= {"error", "details", "stack"} and str(told["stack"]).startswith("Traceback (most recent ")
    return text, thrown or flagged


_OF_MCP = {"content", "isError", "structuredContent", "_meta"}


def _flag(value: dict[str, Value]) -> bool | None:
    """Does it say that the tool failed?"""
    told = value.get("type") in ("tool", "ToolMessage") or "tool_call_id" in value or _recorded(value) is not None
    if told and value.get("status") in ("error", "success"):
        return bool(value["status"] == "error")
    if set(value) == _RESPONSE and value["state"] in ("error", "success"):
        return bool(value["state"] == "error")
    for key in ("is_error", "isError"):
        if isinstance(value.get(key), bool):
            return bool(value[key])
    return True if set(value) == {"type", "value"} and value["type"] in ("error-text", "error-json") else None


def _recorded(value: dict[str, Value]) -> dict[str, Value] | None:
    """What came back, in a record of a whole call (Gemini CLI)."""
    back = value.get("response")
    return back if isinstance(back, dict) and "status" in value and "responseParts" in back else None


def _inside(value: Value) -> Value:
    """What the outermost wrapper holds; the value itself where there is none."""
    if isinstance(value, dict) and value.keys() == {"_value"}:
        return value["_value"]  # MLflow's, of what smolagents gives its model
    if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        if value[0].get("role") == "tool" and (part := _answered(value)) is not None:
            return part["response"]
        texts = all("text" in v or v.get("type") == "text" for v in value)
        return joined(value) if texts or (len(value) == 1 and set(value[0]) == {"json"}) else value
    if not isinstance(value, dict):
        return value
    keys, data, content = set(value), value.get("data"), value.get("content")
    flagged = "is_error" in value or "isError" in value
    if value.get("lc") == 1 and isinstance(value.get("kwargs"), dict):
        return value["kwargs"]
    if isinstance(data, dict) and "content" in data and value.get("type"):
        return data
    if "tool_call_id" in value and "content" in value:
        return content
    if isinstance(value.get("choices"), list) and (told := _told(value["choices"])) is not None:
        return told
    if keys - {"ToolOutput"} == {"Response", "Extra"} and isinstance(value["Response"], str) and value["Response"]:
        return value["Response"]  # Eino
    if "tool_output" in value and "tool_name" in value:
        return value["tool_output"]
    if keys >= _LLAMAS:
        return content
    if "update" in keys and len(keys) > 1 and keys <= _COMMAND:
        return _message_of(value["update"], value)
    if keys == {"id", "name", "response"}:
        return value["response"]
    if (record := _recorded(value)) is not None:
        parts = record["responseParts"]
        only = parts[0] if isinstance(parts, list) and len(parts) == 1 else None
        return only.get("functionResponse") if isinstance(only, dict) else parts
    if keys == {"type", "value"} and value["type"] in AI_SDK:
        return value["value"]
    if isinstance(value.get("blocks"), list):
        return joined(value["blocks"])
    if keys <= {"output", "kwargs", "outputs"} and "output" in value:
        return value["output"]
    if isinstance(content, list) and (flagged or "structuredContent" in value or keys <= {"content", "meta", "_meta"}):
        return content or _structured(value)
    if isinstance(content, list) and (keys >= {"is_last", "is_interrupted"} or keys == _RESPONSE):  # AgentScope
        return content
    if "result" in value and flagged:
        return value["result"]
    return value["text"] if value.get("type") == "text" and isinstance(value.get("text"), str) else value


def _structured(value: dict[str, Value]) -> Value:
    """What a tool on a server of MCP's gave, of which nothing was made for a model to read: no parts are none, and no
    list."""
    told = value.get("structuredContent")
    return told["result"] if isinstance(told, dict) and told.keys() == {"result"} else told


_LLAMAS = {"content", "tool_name", "raw_input", "raw_output"}  # what LlamaIndex's tools gave before they gave blocks
_COMMAND = {"lg_name", "graph", "update", "resume", "goto"}  # LangGraph: how a graph's state changes, and who is next
_RESPONSE = {"content", "state", "metadata", "id"}  # AgentScope 2: what a tool gave, and how it went


def _message_of(update: Value, command: Value) -> Value:
    """The tool's message in what LangGraph's `Command` does to the state: the last, after all that was said before."""
    messages = update.get("messages") if isinstance(update, dict) else None
    last = messages[-1] if isinstance(messages, list) and messages else None
    held = last.get("kwargs", last.get("data", last)) if isinstance(last, dict) else None
    return last if isinstance(held, dict) and "tool_call_id" in held else command


def _answered(messages: list[Value]) -> dict[str, Value] | None:
    """The one answer to a call that messages in the conventions' form hold, if there is no more to them."""
    parts = messages[0].get("parts") if len(messages) == 1 and isinstance(messages[0], dict) else None
    only = parts[0] if isinstance(parts, list) and len(parts) == 1 else None
    return only if isinstance(only, dict) and only.get("type") == _ANSWER and "response" in only else None


_ANSWER = "tool_call_response"


def _told(choices: list[Value]) -> Value:
    """The content of the tool's message that an answer in a model's form holds (tRPC-Agent)."""
    only = choices[0] if len(choices) == 1 else None
    message = only.get("message") if isinstance(only, dict) else None
    if not isinstance(message, dict) or message.get("role") != "tool":
        return None
    content = message.get("content")
    inside = parse_json(content) if isinstance(content, str) and content[:1] in '[{"' else None
    return content if inside is None else inside


_CUT_FRAME = late(
    r"""(?: \{"output":\s?(?= \{"(?:content|lc)": )         # LangSmith; Traceloop, around LangChain's form
        | (?= \{"type":\s?"(?:tool|ToolMessage|text)" )     # OpenInference for LangChain; MCP's parts
        | (?= \{"lc": )                                     # Traceloop 0.27 for JavaScript
        )
        \{ (?:"lc":[^{}]*"ToolMessage"\],\s?"kwargs":\s?\{ (?:"status":\s?"\w+",\s?)?
            | "type":\s?"\w+",\s?(?:"data":\s?\{)? )?
        (?: "(?:content|text)":\s? ("(?:[^"\\]|\\.)*")[,}] )?""",
    re.X,
)
"""What instrumentations put around a result, cut short: what the tool gave is whole, or nobody knows it."""

# LangChain's `str(ToolMessage)`; that it went well stands only where somebody set it.
_TOOL_MESSAGE = late(
    r"""content=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\[.*?\]) (?:\w+=.* )?tool_call_id='[^']*'(?:.* status='(\w+)')?""",
    re.S,
)
_STATUS = {"error": True, "success": False}
_OUTCOME = late(r"status='(success|failure|error)' result=(.*?) error=(.*?)(?: \w+=.*)?$", re.S)


def _outcome_repr(text: str) -> tuple[Value, bool | None]:
    """A text, or what a repr holds: of a ToolMessage, of a record of status, result and error (Agno's
    FunctionExecutionResult)."""
    if text.startswith("[{'type': 'text', "):
        parts = _literal(text)
        return (parts, None) if _inside(parts) is parts else (_inside(parts), None)
    if text.startswith("content=") and (message := _TOOL_MESSAGE.match(text)):
        return _literal(message.group(1)), _STATUS.get(message.group(2))
    if text.startswith("Function '") and (given := _GIVEN_BY.match(text)):
        return _seen(given.group(2))
    hit = _OUTCOME.match(text) if text.startswith("status='") else None
    if hit is None:
        return text, None
    failed = hit.group(1) != "success"
    told = hit.group(3 if failed else 2)
    return _literal(told), failed


def given_by(content: Value) -> str | None:
    """The tool that a result says it is of."""
    hit = _GIVEN_BY.match(content) if isinstance(content, str) and content.startswith("Function '") else None
    return hit and hit[1]


_GIVEN_BY = late(r"Function '([\w-]+)' result:\n(.*)", re.S)  # Swarms


def _literal(text: str) -> Value:
    try:
        return literal(text)
    except ValueError:
        return text


def result_call_id(raw: str | None) -> str | None:
    """A tool call id hidden in a tool span's output or arguments (LangChain's ToolMessage, OpenLLMetry's kwargs).

    A tool that hands over brings all that was said before, and its own message last: what is cut does not tell it."""
    if not raw or "tool_call_id" not in raw:
        return None
    hits = _HIDDEN_ID.findall(raw) or _HIDDEN_ID_REPR.findall(raw)
    before = len(set(hits)) > 1 or "tool_calls" in raw[: raw.find("tool_call_id")]
    return hits[-1] if hits and not (before and _cut(raw)) else None


def _cut(text: str) -> bool:
    return parse_json(text) is None if text[:1] in "[{" else text.rstrip()[-1:] not in ")}]'"


_HIDDEN_ID = late(r"""["']tool_call_id["']\s*:\s*["']([^"']+)["']""")
_HIDDEN_ID_REPR = late(r"tool_call_id='([^']+)'")
