"""Most requests are good, and one pass over their bytes can tell: no message is built, the interpreter's lock is free.

`scan` says how much is in a request that the official parser surely takes and whose ids all follow OTLP's rules, or
None, which says nothing: admission then asks the official parser, and only that one ever refuses. The pass is in C
(_scan.h), built where a compiler is at hand (hatch_build.py); without it the answer is always None. What it knows of
OTLP is a table made from the official descriptors: a row a message type, a byte a field number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from collector.wire import Signal, request_class

try:
    from collector import _scan
except ImportError:  # no compiler where it was installed
    native: Callable[[bytes, bytes], tuple[int, int] | None] | None = None
else:
    native = _scan.scan

# As in _scan.h.
_FIELDS, _ITEM, _REQUIRED, _ROW, _MESSAGE = 64, 64, 65, 72, 32
_SKIPPED, _VARINT, _FIXED64, _FIXED32, _STRING, _BYTES, _DOUBTFUL, _TRACE_ID, _SPAN_ID, _EMPTY_OR_8, _EMPTY_OR_16 = (
    range(11)
)
_ONCE = 128
_IDS = {
    "Span": {"trace_id": _TRACE_ID, "span_id": _SPAN_ID, "parent_span_id": _EMPTY_OR_8},
    "LogRecord": {"trace_id": _EMPTY_OR_16, "span_id": _EMPTY_OR_8},
}
_BOTH = 3  # a span needs both of its ids


class Facts(NamedTuple):
    items: int  # spans or log records
    messages: int  # all messages inside the request: no fewer than it has attributes, events, links and values


def scan(signal: Signal, body: bytes) -> Facts | None:
    if native is None:
        return None
    found = native(table(signal), body)
    return None if found is None else Facts(*found)


@cache
def table(signal: Signal) -> bytes:
    rows: dict[str, bytearray] = {}
    _row(request_class(signal).DESCRIPTOR, rows)
    return b"".join(rows.values())


def _row(message: Any, rows: dict[str, bytearray]) -> int:
    """The index of the message's row."""
    if message.full_name not in rows:
        row = rows[message.full_name] = bytearray(_ROW)
        ids = _IDS.get(message.name, {})
        row[_ITEM] = bool(ids)
        row[_REQUIRED] = _BOTH if message.name == "Span" else 0
        for field in message.fields:
            if field.number < _FIELDS:  # greater numbers are doubtful without being told
                row[field.number] = ids.get(field.name) or _kind(field, rows) | _once(field)
    return list(rows).index(message.full_name)


def _once(field: Any) -> int:
    """The official parser merges a message that comes twice, and of a oneof takes the last; other readers do not."""
    single = field.type == field.TYPE_MESSAGE and not field.is_repeated
    return _ONCE if single or field.containing_oneof is not None else 0


def _kind(field: Any, rows: dict[str, bytearray]) -> int:
    if field.type == field.TYPE_MESSAGE:
        if field.message_type.GetOptions().map_entry:
            return _DOUBTFUL
        return _MESSAGE + _row(field.message_type, rows)
    if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
        return _STRING if field.type == field.TYPE_STRING else _BYTES
    if field.is_repeated:
        return _DOUBTFUL  # packed or not
    if field.type in (field.TYPE_FIXED64, field.TYPE_SFIXED64, field.TYPE_DOUBLE):
        return _FIXED64
    if field.type in (field.TYPE_FIXED32, field.TYPE_SFIXED32, field.TYPE_FLOAT):
        return _FIXED32
    return _DOUBTFUL if field.type == field.TYPE_GROUP else _VARINT
