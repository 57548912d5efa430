"""Tool calls and messages that an instrumentation wrote as their `repr` into a text."""

from __future__ import annotations

import ast
import re

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message, Request, as_text
from otelcov.runs.content.jsontext import Value, expression, literal
from otelcov.runs.content.parts import CALLS, requests_in

_REPR = late(
    r"\b(?:ResponseFunctionToolCall|ChatCompletionMessageFunctionToolCall|ToolCall|FunctionCall"
    r"|McpApprovalRequest|McpCall|ResponseFunctionWebSearch|Response(?:FileSearch|CodeInterpreter)ToolCall)\("
)
_SIGNS = ("ToolCall(", "FunctionCall(", "McpApprovalRequest(", "McpCall(", "ResponseFunctionWebSearch(")
_OF_OPENAI = late(r"(?:web_search|file_search|code_interpreter|mcp)_(?:call|approval_request)$")
"""Types of items that tell of a tool of the provider's own, or of one of a server that it asks."""


def with_reprs(m: Message) -> Message:
    """Some instrumentations put `repr(tool_call)` into a text part; read it back as the call it was."""
    if m.text is None:
        return m
    if m.role == "assistant" and not m.requests and "Tool calls: [" in m.text:
        return _with_list(m)
    if m.role == "assistant" and m.text.startswith("{'"):
        return _with_whole(m) if _WHOLE.search(m.text) else _with_items(m)
    if m.role == "assistant" and m.text.startswith("ResponseOutputMessage("):
        return _with_printed(m)
    if not any(sign in m.text for sign in _SIGNS):
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
        if fields is not None and _OF_OPENAI.match(str(fields.get("type"))):
            m.requests += requests_in(fields)
        elif fields is None or not isinstance(fields.get("name"), str):
            return m
        else:
            name = fields["name"]
            m.requests.append(
                Request(as_text(fields.get("call_id") or fields.get("id")), name, fields.get("arguments"))
            )
        rest.append(m.text[position : hit.start()])
        position = end + 1
    if position:
        m.text = "".join([*rest, m.text[position:]]).strip(" ,\n[]") or None
    return m


_WHOLE = late(r"^\{'content': .*, 'role': 'assistant'|^\{'id': '.*, 'object': 'response', 'output': \[", re.S)


def _with_whole(m: Message) -> Message:
    """A message of chat completions, or a response, as Python prints it whole, in place of what was said (Traceloop, of
    OpenAI's kit with chat completions). Of one that cannot be read nothing is known."""
    told = mapping(m.text or "")
    m.text = None
    if told is None:
        m.unreadable = True
        return m
    items = told.get("output")
    said = [told] if not isinstance(items, list) else [x for x in items if isinstance(x, dict)]
    texts = list[str]()
    for item in said:
        content = item.get("content")
        parts = content if isinstance(content, list) else [content]
        texts += [str(p.get("text")) if isinstance(p, dict) else p for p in parts if isinstance(p, (dict, str))]
        m.requests += requests_in(item.get("tool_calls") or (item if item.get("type") in CALLS else []))
    m.text = "\n".join(texts) or None
    return m


def _with_printed(m: Message) -> Message:
    """An item without a text, or with a refusal, as Python prints it (OpenAI's agents by OpenTelemetry's own)."""
    try:
        told = _plain(expression(m.text or ""))
    except ValueError:
        return m
    content = told.get("content") if isinstance(told, dict) else None
    if isinstance(content, list):
        said = [p.get("text") or p.get("refusal") for p in content if isinstance(p, dict)]
        m.text = "\n".join(text for text in said if isinstance(text, str)) or None
    return m


def _with_items(m: Message) -> Message:
    """Items of a response as Python prints them, one a line, before what was said (Respan, of OpenAI's own tools)."""
    lines = (m.text or "").split("\n")
    for at, line in enumerate(lines):
        item = _item(line)
        if item is None:
            m.text = "\n".join(lines[at:])
            return m
        m.requests += requests_in(item)
    m.text = None
    return m


def _item(line: str) -> Value:
    try:
        value: Value = literal(line) if line.startswith("{'") and line.endswith("}") else None
    except ValueError:
        return None
    told = isinstance(value, dict) and (value.get("type") in CALLS or value.get("type") == "mcp_list_tools")
    return ({} if value["type"] == "mcp_list_tools" else value) if told else None


_LIST = late(r"(?:^|\n\n)Tool calls: (\[\{'.*\}\])\s*\Z", re.S)


def _with_list(m: Message) -> Message:
    """A list of calls as Python prints it, at the end of what was said (NVIDIA's NeMo Agent Toolkit)."""
    hit = _LIST.search(m.text or "")
    try:
        calls: Value = literal(hit[1]) if hit else None
    except ValueError:
        calls = None
    if hit is None or not isinstance(calls, list):
        return m
    found = []
    for call in calls:
        asked = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(asked, dict) or not isinstance(asked.get("name"), str):
            return m
        found.append(Request(as_text(call.get("id")), asked["name"], asked.get("args", asked.get("arguments"))))
    m.requests.extend(found)
    m.text = (m.text or "")[: hit.start()].strip() or None
    return m


_CHAT = late(r"ChatMessage\(_role=<ChatRole\.\w+: '(\w+)'>, _content=(?=\[)")
_NESTED = {"ToolCall": "tool_call", "ToolCallResult": "tool_call_result"}


def chat_message(text: str) -> dict[str, Value] | None:
    """Haystack's `repr(ChatMessage)` as the mapping that its own tracing writes; None for any other text."""
    hit = _CHAT.match(text)
    end = _closing(text, hit.end()) if hit else None
    if hit is None or end is None:
        return None
    try:
        parts = _plain(expression(text[hit.end() : end + 1]))
    except (ValueError, RecursionError):
        return None
    return {"role": hit[1], "content": parts}


_LANGCHAIN = late(r"""content=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?=\[))""", re.S)
_FIELDS = late(r"(?:additional_kwargs|response_metadata)=\{|(?:name|id|tool_call_id)='")
_OF_A_MODEL = late(r" usage_metadata=| id='(?:lc_)?run-|response_metadata=\{(?!\})")


def langchain_message(text: str) -> dict[str, Value] | None:
    """LangChain's `str(message)` as a mapping; None for any other text. Who wrote it stands in what it was given."""
    hit = _LANGCHAIN.match(text)
    if hit is None:
        return None
    end = hit.end() if hit[1] else (_closing(text, hit.end()) or len(text)) + 1
    rest = text[end:].lstrip()
    if _FIELDS.match(rest) is None:
        return None
    try:
        content: Value = literal(hit[1] or text[hit.end() : end])
    except ValueError:
        return None
    name = re.search(r"(?:^| )name='([^']*)'", rest)
    said: dict[str, Value] = {"content": content, "name": name[1] if name else None}
    if (back := re.search(r"(?:^| )tool_call_id='([^']*)'", rest)) is not None:
        status = re.search(r" status='(\w+)'", rest[back.end() :])
        return said | {"role": "tool", "tool_call_id": back[1]} | ({"status": status[1]} if status else {})
    asked = rest.find(" tool_calls=[")
    if asked < 0:
        return said | {"role": "assistant" if _OF_A_MODEL.search(rest) else "user"}
    begin = asked + len(" tool_calls=")
    try:
        calls: Value = literal(rest[begin : (_closing(rest, begin) or len(rest)) + 1])
    except ValueError:
        return None
    return said | {"role": "assistant", "tool_calls": calls}


_PIECE = "ModelResponse("
_STRING = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|None)"""
_CONTENT = late(rf"\bcontent={_STRING}")
_CALLS = late(r"\btool_calls=\[(?!\])")
_CALL = late(
    rf"ChoiceDeltaToolCall\(index=(\d+), id={_STRING}, "
    rf"function=ChoiceDeltaToolCallFunction\(arguments={_STRING}, name={_STRING}"
)


def model_responses(value: Value) -> list[Message] | None:
    """A streamed answer told piece by piece, each as Python prints it (Agno 2); None for anything else, and nothing
    where a piece cannot be read."""
    if not isinstance(value, list) or not value or not all(isinstance(v, str) and v.startswith(_PIECE) for v in value):
        return None
    text, calls = "", dict[str, Request]()
    for piece in map(str, value):
        hit, told = _CONTENT.search(piece), _CALL.findall(piece)
        try:
            text += literal(hit[1]) or "" if hit is not None else ""
            asked = [(index, *map(literal, rest)) for index, *rest in told]
        except ValueError:
            return []
        if not told and _CALLS.search(piece):
            return []
        for index, call_id, given, name in asked:
            call = calls.setdefault(index, Request(call_id, name, ""))
            call.arguments = f"{call.arguments}{given or ''}"
    return [Message("assistant", text or None, requests=list(calls.values()))] if text or calls else []


def mapping(text: str) -> dict[str, Value] | None:
    """Python's text of a mapping; None for any other text."""
    try:
        value: Value = literal(text) if text[:2] == "{'" else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def flat_hash(text: str) -> dict[str, Value] | None:
    """Ruby's text of a hash (`{:error=>"no"}`; since 3.4 `{error: "no"}`), or Elixir's of a map, without any in it."""
    inside = re.fullmatch(r"%?\{(.+)\}", text, re.S)
    found: dict[str, Value] = {}
    at, body = 0, inside[1] if inside else ""
    while inside and at < len(body):
        pair = _PAIR.match(body, at)
        if pair is None:
            return None
        word = pair["value"]
        found[pair["key"]] = word[1:-1] if word[0] == '"' else _WORDS.get(word, word)
        at = pair.end()
    return found or None


_PAIR = late(r'\s*[:"]?(?P<key>\w+)(?:"? *=>|":|:) *(?P<value>"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|:?[a-z_]+)\s*(?:,|$)')
_WORDS: dict[str, Value] = {"nil": None, "true": True, "false": False}


def _plain(node: ast.expr) -> Value:
    """A literal, or an object as a mapping of what it was made with: a call and a result under their kind."""
    if isinstance(node, ast.List):
        return [_part(item) for item in node.elts]
    if isinstance(node, ast.Call):
        return {keyword.arg: _plain(keyword.value) for keyword in node.keywords if keyword.arg}
    return literal(node)


def _part(node: ast.expr) -> Value:
    made = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
    if made in _NESTED:
        return {_NESTED[made]: _plain(node)}
    return {"type": "reasoning"} if made not in _SAID else _plain(node)


_SAID = (None, "TextContent", "ResponseOutputText", "ResponseOutputRefusal")


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
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return i
        i += 1
    return None


def _keywords(text: str) -> dict[str, Value] | None:
    try:
        node = expression(text)
    except ValueError:
        return None
    if not isinstance(node, ast.Call):
        return None
    out: dict[str, Value] = {}
    for keyword in node.keywords:
        if keyword.arg:
            try:
                out[keyword.arg] = literal(keyword.value)
            except ValueError:
                out[keyword.arg] = None
    return out
