"""Counting what is in a large request before anything is built for each part.

7 KiB of gzip can hold 4 million empty spans, 60 KiB as many million empty attributes, or values nested in one another;
each takes two bytes on the wire and 60 to 150 once parsed. So a large request is first decoded with shapes that keep
nothing: cut off below some level, where an element is one bit. What those shapes cannot see, values inside of values,
is walked over byte by byte if there is much of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from collector.wire import Fields, Shapes, Signal, Undecodable, decode_shapes

SMALL = 2 * 2**20  # a request of less cannot hold more elements than are allowed by default

_ITEM_PARTS: dict[Signal, Fields] = {
    "traces": [("attributes", 9, "*pair"), ("events", 11, "*event"), ("links", 13, "*link")],
    "logs": [("attributes", 6, "*pair"), ("body", 5, "any")],
}
_HOLDERS: Shapes = {"event": [("attributes", 3, "*pair")], "link": [("attributes", 4, "*pair")]}
# A field that no sender writes; not the greatest there is, as the decoder has 16 bytes of table for each up to it.
_LEAF: Shapes = {"leaf": [("nothing", 9999, "BOOL")]}

_STRING = re.compile(rb'"[^"]*"')
_WINDOW = 2**20


class TooMany(ValueError):
    """More parts in one request than are taken."""


def weigh(signal: Signal, body: bytes, max_items: int, max_elements: int) -> None:
    """Raise TooMany. Items are spans or log records; elements are all else that repeats."""
    for level, shapes in enumerate(_levels(signal), 1):
        count = _leaves(decode_shapes(signal, level, shapes, body))
        if level == 3 and count > max_items:
            raise TooMany(f"{count} spans or log records in one request; at most {max_items} are taken")
        _check(count, max_elements)
    nested = list(_nested_values(decode_shapes(signal, "nested", _nested_shapes(signal), body)))
    if sum(len(value) for value, _ in nested) >= SMALL:
        _walk(nested, max_elements)


def weigh_json(body: bytes, max_elements: int) -> None:
    """Raise TooMany. An attribute is two objects and three commas; what they are in memory is some 64 bytes each."""
    if _opened(body) <= 2 * max_elements and body.count(b",") <= 8 * max_elements:
        return
    opened = commas = 0
    for bare in _outside_strings(body.replace(b"\\\\", b"").replace(b'\\"', b"")):
        opened += _opened(bare)
        commas += bare.count(b",")
        _check(max(opened // 2, commas // 8), max_elements)


def _outside_strings(body: bytes) -> Iterator[bytes]:
    """In windows, between which other threads run."""
    inside = False
    for offset in range(0, len(body), _WINDOW):
        window = b'"' * inside + body[offset : offset + _WINDOW]
        inside = window.count(b'"') % 2 == 1
        yield _STRING.sub(b"", window + b'"' * inside)


def _opened(body: bytes) -> int:
    return body.count(b"{") + body.count(b"[")


def _check(count: int, limit: int) -> None:
    if count > limit:
        raise TooMany(f"more than {limit} attributes, events, links and values in one request")


def _levels(signal: Signal) -> Iterator[Shapes]:
    """Request, resources, scopes, items and their holders, each time one level deeper."""
    shapes = _LEAF | {signal: [("resources", 1, "*leaf")]}
    yield shapes
    for name, fields in (
        ("resource", [("scopes", 2, "*leaf")]),
        ("scope", [("items", 2, "*leaf")]),
        ("item", [(part, number, "*leaf") for part, number, kind in _ITEM_PARTS[signal] if kind.startswith("*")]),
    ):
        parent, above = list(shapes.items())[-1]
        shapes = shapes | {parent: [(part, number, f"*{name}") for part, number, _ in above], name: fields}
        yield shapes
    if signal == "traces":
        held = {name: [(part, number, "*leaf") for part, number, _ in fields] for name, fields in _HOLDERS.items()}
        item: Fields = [("attributes", 9, "*leaf"), *_ITEM_PARTS[signal][1:]]
        yield shapes | {"item": item} | held


def _leaves(array: Any) -> int:
    rows = array.flatten()
    if rows.type[0].name == "nothing":
        return len(rows)
    return sum(_leaves(rows.field(index)) for index in range(rows.type.num_fields))


def _nested_shapes(signal: Signal) -> Shapes:
    return {
        signal: [("resources", 1, "*resource")],
        "resource": [("resource", 1, "BYTES"), ("scopes", 2, "*scope")],
        "scope": [("scope", 1, "BYTES"), ("items", 2, "*item")],
        "item": _ITEM_PARTS[signal],
        **(_HOLDERS if signal == "traces" else {}),
        "pair": [("value", 2, "any")],
        "any": [("array_value", 5, "BYTES"), ("kvlist_value", 6, "BYTES")],
    }


def _nested_values(array: Any, name: str = "") -> Iterator[tuple[bytes, str]]:
    """The bytes of everything that nests, with the name of its message."""
    if pa.types.is_binary(array.type):
        if array.nbytes > 4 * (len(array) + 1):  # more than offsets
            yield from ((value, name) for value in array.to_pylist() if value)
    elif pa.types.is_list(array.type):
        yield from _nested_values(array.flatten())
    else:
        for index, field in enumerate(array.type):
            yield from _nested_values(array.field(index), field.name)


# message -> field -> the message it holds
_NESTS = {
    "array_value": {1: "any"},
    "kvlist_value": {1: "pair"},
    "resource": {1: "pair"},
    "scope": {3: "pair"},
    "pair": {2: "any"},
    "any": {5: "array_value", 6: "kvlist_value"},
}


def _walk(values: list[tuple[bytes, str]], limit: int) -> None:
    count = 0
    for data, kind in values:
        stack = [(0, len(data), kind)]
        while stack:
            at, end, message = stack.pop()
            nests = _NESTS[message]
            while at < end:
                tag, at = _varint(data, at)
                wire_type = tag & 7
                if wire_type == 2:
                    length, at = _varint(data, at)
                    inner = nests.get(tag >> 3)
                    if inner is not None:
                        count += 1
                        if count > limit:
                            _check(count, limit)
                        if length:
                            stack.append((at, at + length, inner))
                    at += length
                elif wire_type == 0:
                    _, at = _varint(data, at)
                elif wire_type in (1, 5):
                    at += 8 if wire_type == 1 else 4
                else:  # groups: no OTLP encoder writes them, and what they hide could not be counted
                    raise Undecodable("a large value holds a protobuf group")
            if at != end:
                raise Undecodable("a value is longer than what holds it")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        try:
            byte = data[at]
        except IndexError:
            raise Undecodable("a value is cut short") from None
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, at
        shift += 7
        if shift > 63:
            raise Undecodable("a varint is too long")
