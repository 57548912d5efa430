"""OTLP/JSON to OTLP protobuf, by the rules of the OTLP specification ("JSON Protobuf Encoding").

Trace and span ids are hex, other bytes base64; enums are integers (their names are taken too, as the OpenTelemetry
Collector does); 64-bit integers come as strings or numbers; unknown fields are ignored; null is "not set". An id in
base64, as Protobuf's own mapping has it and some senders write it, ends in `=`, which no hex does. One that is neither
becomes one zero byte, so that admission rejects that span alone and names the rule. Half a surrogate pair,
which is what JavaScript writes of a text that was cut inside of an emoji, becomes U+FFFD, as it does in UTF-8 encoders.
"""

from __future__ import annotations

import binascii
import math
import re
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from collector import wire

MAX_DEPTH = 100  # of nested messages: the official parser's own limit
_LEVELS = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
}
_HEX_IDS = {"trace_id", "span_id", "parent_span_id"}
_BEFORE_0_19 = {
    "legacy_scopes": ("instrumentationLibrarySpans", "instrumentationLibraryLogs"),
    "scope": ("instrumentationLibrary",),
}
_INTEGERS = {
    "INT32": (-(2**31), 2**31 - 1),
    "INT64": (-(2**63), 2**63 - 1),
    "UINT32": (0, 2**32 - 1),
    "FIXED32": (0, 2**32 - 1),
    "UINT64": (0, 2**64 - 1),
    "FIXED64": (0, 2**64 - 1),
}

_ESCAPE = re.compile(
    rb"\\(?:u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}|(?P<half>u[Dd][89A-Fa-f][0-9A-Fa-f]{2})|.)",
    re.DOTALL,
)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_Setter = Callable[[Any, Any, int], None]


class BadJson(ValueError):
    """Not JSON, or JSON that is no OTLP request; says where."""


def to_protobuf(signal: wire.Signal, body: bytes) -> bytes:
    """The protobuf bytes of a JSON request."""
    return convert(signal, loads(body))


def loads(body: bytes) -> Any:
    body = body.removeprefix(_BYTE_ORDER_MARK)
    try:
        return _decode(body)
    except BadJson as error:
        if "surrogate" not in str(error):
            raise
    return _decode(_ESCAPE.sub(lambda escape: b"\\ufffd" if escape["half"] else escape[0], body))


def convert(signal: wire.Signal, document: Any) -> bytes:
    """The protobuf bytes of one decoded JSON document."""
    request = wire.request_class(signal)()
    _fill(request, document, "request", 0)
    return bytes(request.SerializeToString())


def warning(signal: wire.Signal, document: Any) -> str | None:
    """What the sender should hear about a converted document of which a part means nothing, as unknown keys are
    ignored."""
    holders, message = [document], wire.request_class(signal).DESCRIPTOR
    for wanted in _LEVELS[signal]:
        known = _setters(message)
        for holder in holders:
            unknown = holder.keys() - known.keys()
            if unknown and wanted not in holder and holder.keys().isdisjoint(_BEFORE_0_19["legacy_scopes"]):
                return f"no {wanted} in the request; ignored keys: {', '.join(sorted(unknown)[:5])[:200]}"
        holders = [inner for holder in holders for inner in holder.get(wanted) or ()]
        message = next(field.message_type for field in message.fields if field.json_name == wanted)
    return None


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadJson(f"the body is not JSON: {error}") from error


def _fill(message: Any, value: Any, where: str, depth: int) -> None:
    if not isinstance(value, dict):
        raise BadJson(f"{where}: expected an object, got {_kind(value)}")
    if depth > MAX_DEPTH:
        raise BadJson(f"{where}: nested deeper than {MAX_DEPTH} levels")
    setters = _setters(message.DESCRIPTOR)
    for key, item in value.items():
        setter = setters.get(key)
        if setter is not None and item is not None:
            setter(message, item, depth + 1)


@cache
def _setters(descriptor: Any) -> dict[str, _Setter]:
    table = {}
    for field in descriptor.fields:
        for key in (field.json_name, *_BEFORE_0_19.get(field.name, ())):
            table[key] = _setter(field)
    return table


def _setter(field: Any) -> _Setter:
    name, where = field.name, f"{field.containing_type.name}.{field.json_name}"
    if field.type == field.TYPE_MESSAGE:

        def set_message(message: Any, value: Any, depth: int) -> None:
            target = getattr(message, name)
            target.SetInParent()  # {} is a value: an empty array, an empty list of attributes
            _fill(target, value, where, depth)

        def add_messages(message: Any, value: Any, depth: int) -> None:
            target = getattr(message, name)
            for item in _list(value, where):
                _fill(target.add(), item, where, depth)

        return add_messages if field.is_repeated else set_message
    scalar = _scalar(field, where)
    if field.is_repeated:
        return lambda message, value, depth: getattr(message, name).extend(map(scalar, _list(value, where)))
    return lambda message, value, depth: setattr(message, name, scalar(value))


def _scalar(field: Any, where: str) -> Callable[[Any], Any]:
    kinds = {getattr(field, f"TYPE_{kind}"): limits for kind, limits in _INTEGERS.items()}
    if field.type in kinds:
        low, high = kinds[field.type]
        return lambda value: _integer(value, low, high, where)
    if field.type == field.TYPE_ENUM:
        names = {item.name: item.number for item in field.enum_type.values}
        low, high = _INTEGERS["INT32"]
        return lambda value: (
            names[value] if isinstance(value, str) and value in names else _integer(value, low, high, where)
        )
    if field.type == field.TYPE_BYTES:
        return (lambda value: _hex(value, where)) if field.name in _HEX_IDS else (lambda value: _base64(value, where))
    if field.type == field.TYPE_DOUBLE:
        return lambda value: _double(value, where)
    if field.type == field.TYPE_BOOL:
        return lambda value: _of_type(value, bool, "true or false", where)
    return lambda value: _of_type(value, str, "a string", where)


def _integer(value: Any, low: int, high: int, where: str) -> int:
    number: int | None = None
    text = isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value)
    if text or (isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1):
        number = int(value)
    if number is None or not low <= number <= high:
        raise BadJson(f"{where}: expected an integer in [{low}, {high}], got {_kind(value)}")
    return number


def _double(value: Any, where: str) -> float:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError as error:
            raise BadJson(f"{where}: expected a number, got text") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadJson(f"{where}: expected a number, got {_kind(value)}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _hex(value: Any, where: str) -> bytes:
    text = _of_type(value, str, "a hex string", where)
    try:
        return binascii.unhexlify(text)
    except ValueError:
        return _padded(text) or b"\0"


_LENGTHS = (8, 16)  # of ids


def _padded(text: str) -> bytes | None:
    """The id that a text in base64 stands for."""
    if text[-1:] != "=":
        return None
    try:
        found = b64decode(text, validate=True)
    except ValueError:
        return None
    return found if len(found) in _LENGTHS else None


def _base64(value: Any, where: str) -> bytes:
    text = _of_type(value, str, "a base64 string", where).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError as error:
        raise BadJson(f"{where}: not base64") from error


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadJson(f"{where}: expected an array, got {_kind(value)}")
    return value


def _of_type(value: Any, wanted: type, said: str, where: str) -> Any:
    if type(value) is not wanted:
        raise BadJson(f"{where}: expected {said}, got {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    return "an array" if isinstance(value, list) else repr(value)[:40]
