"""What attributes and events tell of a model's input and of its answer, as messages."""

from __future__ import annotations

from typing import Any

from otelcov.runs.content.chat import ROLES, Message, role_of
from otelcov.runs.content.flattened import unflatten
from otelcov.runs.content.jsontext import hidden, parse_json, parse_value, to_json
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.prose import transcript
from otelcov.runs.content.reprs import model_responses, with_reprs
from otelcov.runs.content.semconv import semconv_messages

_INPUT_ROLES = {"gen_ai.user.message", "gen_ai.system.message", "gen_ai.assistant.message", "gen_ai.tool.message"}
_CALLED = "Function called with tools"
"""What older OpenLIT wrote in place of an answer that asks for tools."""
DETAILS = "gen_ai.client.inference.operation.details"


def parsed(raw: str | None) -> list[Message] | None:
    """Messages of an input attribute: JSON, or a plain prompt. None where it is cut short."""
    if not raw:
        return None
    quick = semconv_messages(raw)
    if quick is not None:
        return quick or None
    if raw[:1] in '[{"':
        value = parse_value(raw)
        if value is None and raw[:1] != '"':
            return None if not raw.startswith("[[agent") else [Message("user", raw)]
        if value is not None:
            found = messages_of(value)
            return found or None
    return transcript(raw) or [Message("user", raw)]


def opened(found: list[Message]) -> list[Message]:
    """The messages that the only one holds as its text."""
    text = found[0].text if len(found) == 1 and found[0].role == "user" else None
    items = parse_json(text) if text and text.startswith('[{"') else None
    if not isinstance(items, list) or not all(isinstance(v, dict) and ("role" in v or "type" in v) for v in items):
        return found
    return messages_of(items) or found


def with_results(flat: list[Message], raw: str | None) -> list[Message]:
    """Flattened messages hold one result each, or only that there was one, or leave out ids (OpenInference, Mistral's);
    the raw request beside them has all."""
    asked = {r.id for x in flat for r in x.requests if r.id}
    if raw and not asked and any(x.requests for x in flat):
        whole = parsed(raw) or []
        counts = [[len(x.requests) for x in some if x.requests] for some in (flat, whole)]
        if counts[0] == counts[1] and all(r.id for x in whole for r in x.requests):
            return whole
    brought = {r.id for x in flat for r in x.results}
    bare = any(r.content is None for x in flat for r in x.results)
    if raw and (bare or (brought and not asked <= brought)):
        whole = parsed(raw) or []
        told = {r.id for x in whole for r in x.results}
        if brought - {None} < told or (bare and brought == told):
            return whole
    if raw and any(x.text and x.text[0] == x.text[-1] == '"' for x in flat):
        _without_quotes(flat, parsed(raw) or [])
    return _with_error_flags(flat, raw)


def _without_quotes(flat: list[Message], whole: list[Message]) -> None:
    """Texts that were flattened as JSON, quotes and all, are what the raw request says (Respan, of Anthropic's)."""
    for told, x in zip(flat, whole, strict=True) if len(flat) == len(whole) else ():
        if x.text is not None and told.text and parse_json(told.text) == x.text:
            told.text = x.text


def _with_error_flags(flat: list[Message], raw: str | None) -> list[Message]:
    """Flattened messages lose `is_error`; the raw request beside them may have it."""
    if raw and ('"error"' in raw or ("rror" in raw and "is" in raw)) and any(x.results for x in flat):
        flags = {r.id: r.error for x in parsed(raw) or [] for r in x.results if r.id and r.error is not None}
        for x in flat:
            for r in x.results:
                if r.error is None and r.id in flags:
                    r.error = flags[r.id]
    return flat


def answers(raw: str) -> list[Message]:
    quick = semconv_messages(raw)
    if quick is not None and all(x.role == "assistant" for x in quick):
        return _pieced(quick)
    if raw[:1] in '[{"':
        value = parse_value(raw)
        if value is None:
            return []
        if (pieces := model_responses(value)) is not None:
            return pieces
        found = messages_of(value, "assistant")
        if found:
            for message in found:
                if message.role == "user" and not message.results:
                    message.role = "assistant"  # an output that names no role, or the wrong one
            return found
        if isinstance(value, (dict, list)):
            return []
    return [] if hidden(raw) else [with_reprs(Message("assistant", raw))]


def _pieced(found: list[Message]) -> list[Message]:
    """A streamed answer told piece by piece (Google's ADK): a text whose reason to end is empty goes on in the next,
    unless that is the end, and tells all of it again (LiteLLM's)."""
    out: list[Message] = []
    for message in found:
        before = out[-1] if out else None
        if before is not None and before.finish_reason == "" and before.text and message.text and not before.requests:
            again = bool(message.finish_reason) and message.text == before.text
            before.text += "" if again else message.text
            before.requests, before.finish_reason = message.requests, message.finish_reason
        else:
            out.append(message)
    return out


def choices(value: Any) -> list[Message]:
    if not isinstance(value, list):
        return []
    return messages_of(
        [v for v in value if isinstance(v, dict) and v.get("event.name") == "gen_ai.choice"], "assistant"
    )


def event_inputs(events: list[tuple[str, dict[str, Any]]]) -> list[Message]:
    out: list[Message] = []
    history = _last_input(events)
    before: Any = None
    for at, (name, attributes) in enumerate(events):
        if at and _brings_results(events[at - 1][0], name, attributes):
            continue
        if name in _INPUT_ROLES or (name == "gen_ai.choice" and at < history):
            out.extend(_told(name, attributes))
        elif name == "gen_ai.content.prompt":
            out.extend(parsed(_as_text(attributes.get("gen_ai.prompt"))) or [])
        elif name == DETAILS or "gen_ai.input.messages" in attributes:
            raw = attributes.get("gen_ai.input.messages")
            if raw == before:  # told with the request, and again with the answer
                continue
            before = raw
            out.extend((parsed(raw) or []) if isinstance(raw, str) else messages_of(raw))
        elif "input" in attributes:
            out.extend(messages_of(_of_body(attributes["input"])))
    return out or messages_of(_numbered(events, "gen_ai.prompt"))


def _brings_results(before: str, name: str, attributes: dict[str, Any]) -> bool:
    """Is this Bedrock's message of a user that brings the results told just before, with its content left out?"""
    mute = attributes == {"gen_ai.system": "aws.bedrock"}
    return mute and name == "gen_ai.user.message" and before == "gen_ai.tool.message"


def event_outputs(events: list[tuple[str, dict[str, Any]]]) -> list[Message]:
    out: list[Message] = []
    history = _last_input(events)
    pieces = _in_pieces([attributes for name, attributes in events[history:] if name == "gen_ai.choice"])
    for at, (name, attributes) in enumerate(events):
        if name == "gen_ai.choice" and at >= history and not _cut(attributes.get("message")):
            said = _told(name, attributes, "assistant")
            if pieces and out and said:
                _add_piece(out[-1], said[0])
            else:
                out.extend(said)
        elif name == "gen_ai.content.completion":
            text = _as_text(attributes.get("gen_ai.completion"))
            out.extend(answers(text) if text and text != _CALLED else [])
        elif name == DETAILS or "gen_ai.output.messages" in attributes:
            raw = attributes.get("gen_ai.output.messages")
            out.extend(answers(raw) if isinstance(raw, str) else _pieced(messages_of(raw, "assistant")))
        elif "output" in attributes:
            out.extend(messages_of(_of_body(attributes["output"], answers=True), "assistant"))
    return out or messages_of(_streamed(events) or _numbered(events, "gen_ai.completion"), "assistant")


def _in_pieces(told: list[dict[str, Any]]) -> bool:
    """Are these choices, counted on from 0, pieces of one stream (Google's client)? The last alone says why it ends."""
    ended = [bool(a.get("finish_reason")) for a in told]
    counted = [a.get("index") for a in told] == list(range(len(told)))
    return len(told) > 1 and counted and ended[-1] and not any(ended[:-1])


def _add_piece(message: Message, piece: Message) -> None:
    message.text = None if message.text is None and piece.text is None else (message.text or "") + (piece.text or "")
    message.requests += piece.requests
    message.finish_reason = piece.finish_reason


def _numbered(events: list[tuple[str, dict[str, Any]]], key: str) -> list[dict[str, Any]]:
    """Messages each told by an event with its number in its name, some of them twice (genai-otel-instrument); what a
    user of no words says there is an item of another kind, of which no more is told."""
    told = {name: (a[f"{key}.role"], a.get(f"{key}.content")) for name, a in events if f"{key}.role" in a}
    return [{"role": role, "content": text} for role, text in told.values() if text or role != "user"]


def _streamed(events: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The answer that the pieces of a stream make up (MLflow, whose own sum of them leaves out the calls), if none of
    them is missing: the oldest go first."""
    pieces = [parse_json(_as_text(a.get("mlflow.chunk.value"))) for n, a in events if n.startswith("mlflow.chunk.")]
    choices = [_object(some[0]) for p in pieces if (some := _list(_object(p).get("choices")))]
    if not choices or events[0][0] != "mlflow.chunk.item.0" or any(c.get("index") != 0 for c in choices):
        return []
    calls: dict[int, dict[str, Any]] = {}
    text = ""
    for delta in (_object(c.get("delta")) for c in choices):
        text += _text(delta.get("content"))
        for piece in map(_object, _list(delta.get("tool_calls"))):
            place = piece.get("index")
            if not isinstance(place, int):
                return []
            call = calls.setdefault(place, {"id": piece.get("id"), "name": "", "arguments": ""})
            told = _object(piece.get("function"))
            call["name"] += _text(told.get("name"))
            call["arguments"] += _text(told.get("arguments"))
    finish = next((c["finish_reason"] for c in reversed(choices) if c.get("finish_reason")), None)
    return [{"role": "assistant", "content": text, "tool_calls": list(calls.values()), "finish_reason": finish}]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _cut(value: Any) -> bool:
    """Is this the beginning of a JSON object?"""
    return isinstance(value, str) and value[:2] in ('{"', "[{") and parse_json(value) is None


def _last_input(events: list[tuple[str, dict[str, Any]]]) -> int:
    """How many events there are up to the last message of the input: a choice before that is history."""
    return max((at for at, (name, _) in enumerate(events, 1) if name in _INPUT_ROLES), default=0)


def _told(name: str, attributes: dict[str, Any], role: str = "user") -> list[Message]:
    """The message of an event. An object in which nothing can be read is what was said, in so many letters."""
    found, text = messages_of([_event_value(name, attributes)], role), attributes.get("content")
    if len(found) == 1 and isinstance(text, str) and text[:1] == "{" and name not in _OF_TOOLS:
        only = found[0]
        if (
            only.text is None
            and not (only.requests or only.results or only.unreadable)
            and parse_json(text) is not None
        ):
            only.text = text
    return found


_OF_TOOLS = ("gen_ai.tool.message",)


def _event_value(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """An event's attributes as a message: values that hold JSON are opened."""
    out: dict[str, Any] = {"event.name": name}
    for key, value in attributes.items():
        short = key.removeprefix("gen_ai.event.")
        if isinstance(value, str) and value[:1] in "[{":
            parsed = parse_json(value)
            value = value if parsed is None else parsed
        out[short] = value
    _gather(out)
    for key in ("content", "body"):  # the whole message (Semantic Kernel for .NET; for Python)
        held = out.get(key)
        if isinstance(held, dict) and ("role" in held or "message" in held):
            del out[key]
            out |= held
            if role_of(str(held.get("role"))) == "assistant":  # all history is told as the user's (Google's client)
                return out
    if isinstance(out.get("message"), (str, list)):
        out["content"] = out.pop("message")
    out.pop("role", None) if name in ROLES else None
    return out


def _gather(told: dict[str, Any]) -> None:
    """Puts together a message that is spread over keys of an event: `message.content` (Kibana)."""
    spread = [(key, value) for key, value in told.items() if key.startswith(("message.", "tool_calls."))]
    nested = unflatten(spread) if spread else {}
    if isinstance(nested, dict) and not nested.keys() & told.keys():
        for key, _ in spread:
            del told[key]
        told |= nested


def _of_body(held: Any, *, answers: bool = False) -> list[dict[str, Any]]:
    """Messages that AWS's distribution moved from a span into the body of a log record, the content as JSON in it.
    What an event held is an object; whatever a model said is an output there, and alone its answer has a `message`."""
    told = held.get("messages") if isinstance(held, dict) else None
    out = []
    for message in told if isinstance(told, list) else ():
        if not isinstance(message, dict):
            continue
        content, more = message.get("content"), {}
        if isinstance(content, dict):
            if answers and "message" not in content:
                continue
            more = {k: v for k, v in content.items() if k in ("finish_reason", "tool_calls")}
            content = content.get("message", content.get("content"))
        if isinstance(content, str) and content[:1] in "[{":
            parsed = parse_json(content)
            content = content if parsed is None else parsed
        out.append({"role": message.get("role"), "content": content} | more)
    return out


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else to_json(value)
