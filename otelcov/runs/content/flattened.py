"""Messages spread over numbered attributes: `llm.input_messages.0.message.role` (OpenInference, OpenLLMetry 0.40)."""

from __future__ import annotations

from otelcov.runs.content.chat import Message, Request, Result
from otelcov.runs.content.jsontext import Value, parse_json
from otelcov.runs.content.messages import message_of, messages_of
from otelcov.runs.content.parts import calls_function, result_in
from otelcov.runs.content.written_parts import parts_in

_DEEPEST = 24  # dots of a key; of messages they are 10


def unflatten(pairs: list[tuple[str, Value]]) -> Value:
    """`0.message.role = x` pairs (OpenInference, OpenLLMetry 0.40) as nested lists and objects; gaps stay out."""
    root: dict[str, Value] = {}
    nodes: dict[str, dict[str, Value]] = {}  # what keys of one beginning say stands together
    for path, value in pairs:
        before, dot, key = path.rpartition(".")
        node = nodes.get(before) if dot else root
        if node is None:
            *above, key = path.split(".", _DEEPEST)
            node = root
            for step in above:
                following = node.get(step)
                if not isinstance(following, dict):
                    following = node[step] = {}
                node = following
            if len(above) < _DEEPEST:
                nodes[before] = node
        if key in node:  # what was told under it is no longer of the whole
            nodes = {}
        node[key] = value
    return _lists(root)


def _lists(value: dict[str, Value]) -> Value:
    for key, inner in value.items():
        if isinstance(inner, dict):
            value[key] = _lists(inner)
    if value and next(iter(value)).isdecimal() and all(map(str.isdecimal, value)):
        return [inner for _, inner in sorted(value.items(), key=lambda told: _place(told[0]))]
    return value


def _place(digits: str) -> tuple[int, str]:
    """To sort by: Python reads no number of thousands of digits."""
    number = digits.lstrip("0")
    return len(number), number


_WHOSE = frozenset(("role", "name", "tool_call_id"))
"""What says whose a message is; the first that is left may have lost it."""


def flattened_messages(pairs: list[tuple[str, Value]], default_role: str, in_parts: bool = False) -> list[Message]:
    """Messages of the flattened dialects. OpenInference nests each under `message`, tool calls under `tool_call`. Where
    no role is told, whoever asks for a tool is the model, and what is named as a tool before it is what that gave. Each
    content may be the list of its parts (`in_parts`), whoever speaks."""
    nested = unflatten(pairs)
    if (held := _held(nested)) is not None:
        return messages_of(held, default_role)
    out, asked = list[Message](), set[str]()
    for entry in nested if isinstance(nested, list) else []:
        if not isinstance(entry, dict):
            continue
        body = entry.get("message", entry)
        if not isinstance(body, dict):
            continue
        content = body.get("content")
        if "role" not in body and isinstance(content, str) and content.startswith('[{"role":'):
            whole = parse_json(content)  # the answer as it came, for want of text (Eino)
            if whole is not None:
                out.extend(messages_of(whole, default_role))
                continue
        if isinstance(brought := entry.get("function"), list):  # AutoGen's, each as a text beside the message
            told = (parse_json(text) for text in brought if isinstance(text, str))
            found = [result_in(one, ("content",)) for one in told if isinstance(one, dict)]
            out.append(Message("tool", results=found))
            continue
        body, lost = dict(body), False
        if body.get("role") == "unknown" and default_role == "assistant":
            body["role"] = default_role
            said = parse_json(content) if isinstance(content, str) and content.startswith('"') else None
            body["content"] = content = said if isinstance(said, str) else content  # Traceloop, of LangChain: as JSON
        if isinstance(content, str) and (call := _call(body, content, default_role)) is not None:
            body = body | {"content": None, "tool_calls": [call]}
        elif isinstance(content, str) and (asks := _asks(body, content)) is not None:
            body = body | {"role": "assistant", "content": None, "tool_calls": asks}
        elif isinstance(content, str) and not body.get("tool_calls"):
            parts = parse_json(content) if in_parts and content.startswith("[{") else None
            lost = in_parts and ((parts is None and content.startswith("[{")) or content == "None")  # cut, or not there
            answered = body.get("role", default_role) == "assistant"
            users = body.get("role", default_role) == "user"
            body["content"] = None if lost else parts or parts_in(content, answered, users) or content
        if default_role == "user" and not out and _WHOSE.isdisjoint(body) and min(first_index(pairs), default=0):
            body["content"], lost = None, not body.get("tool_calls")  # evicted, as those before it
        if isinstance(body.get("contents"), list) and isinstance(body.get("content"), str):
            body.pop("contents")
        calls = body.get("tool_calls")
        if isinstance(calls, str):
            calls = body["tool_calls"] = parse_json(calls)  # PromptLayer's
        nameless = isinstance(calls, dict) and _NOWHERE in calls
        if isinstance(calls, dict) and nameless:
            calls = _lists({key: call for key, call in calls.items() if key != _NOWHERE})
            body["tool_calls"] = calls or None
        if isinstance(calls, list):
            body["tool_calls"] = [c.get("tool_call", c) for c in calls if isinstance(c, dict)]
        if body.get("role") == "tool" and (results := _of_several(body, out[-1].requests if out else [])):
            out.append(Message("tool", results=results))
            continue
        if "role" not in body and default_role == "user":
            name = body.get("name")
            named = "tool" if isinstance(name, str) and name in asked else default_role
            body["role"] = "assistant" if body.get("tool_calls") else named
        message = message_of(body, default_role)
        asked.update(r.name for r in message.requests if r.name)
        message.nameless = message.nameless or nameless
        message.unreadable = message.unreadable or lost
        out.append(message)
    return out


def _held(nested: Value) -> Value:
    """The conversation that is written out as the text of the one message that there is, a user's (AgentOps, of what
    OpenAI's kit asks for chats)."""
    entry = nested[0] if isinstance(nested, list) and len(nested) == 1 else None
    content = entry.get("content") if isinstance(entry, dict) and entry.get("role") == "user" else None
    told = parse_json(content) if isinstance(content, str) and content.startswith("[{") else None
    if not isinstance(told, list) or not all(isinstance(one, dict) and one.get("role") in _ROLES for one in told):
        return None
    return told if all(isinstance(one, dict) and one.keys() & {"content", "tool_calls"} for one in told) else None


_ROLES = ("system", "developer", "user", "assistant", "tool")

_NOWHERE = "-1"
"""The place of a call that OpenInference of Anthropic's client for JavaScript lost as it streamed, but for what it was
given: the provider ran it."""


def _call(body: dict[str, Value], content: str, default_role: str) -> Value:
    """The call that a model's message with an id is, the name and what was given as its text (Netra 1.2)."""
    if body.get("role", default_role) != "assistant" or not isinstance(body.get("tool_call_id"), str):
        return None
    told = parse_json(content) if content.startswith('{"name"') else None
    named = isinstance(told, dict) and told.keys() == {"name", "arguments"}
    return {"id": body["tool_call_id"], "function": told} if named else None


def _asks(body: dict[str, Value], content: str) -> Value:
    """The calls that a message has for its text, whoever is said to speak: as a tool's, too, it is what the model asks
    (Koog, at first)."""
    if "tool_calls" in body or "tool_call_id" in body or not content.startswith("[{") or '"function"' not in content:
        return None
    told = parse_json(content)
    asks = isinstance(told, list) and all(
        isinstance(one, dict) and one.keys() <= _CALL and "id" in one and calls_function(one) for one in told
    )
    return told if asks else None


_CALL = {"id", "type", "function", "index"}


def first_index(pairs: list[tuple[str, Value]]) -> set[int]:
    """The message numbers that a flattened family still has (the SDK's attribute limit evicts the oldest)."""
    return {int(number) for p, _ in pairs if (number := p.split(".", 1)[0]).isdecimal() and len(number) < _DIGITS}


_DIGITS = 10  # of a message's number, at the most


def _of_several(told: dict[str, Value], asked: list[Request]) -> list[Result]:
    """What came of all that was asked for just before, in its order, as one list beside as many calls without a name
    (Agno 2.2's of Gemini, under OpenInference)."""
    calls, content = told.get("tool_calls"), told.get("content")
    if not isinstance(calls, list) or not isinstance(content, str) or any("name" in _function(c) for c in calls):
        return []
    results = parse_json(content)
    if not isinstance(results, list) or not len(results) == len(calls) == len(asked):
        return []
    return [Result(r.id, r.name, result) for r, result in zip(asked, results, strict=True)]


def _function(call: Value) -> dict[str, Value]:
    function = call.get("function") if isinstance(call, dict) else None
    return function if isinstance(function, dict) else {}
