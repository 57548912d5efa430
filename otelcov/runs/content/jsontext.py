"""JSON and Python literals in attributes, and the words that stand where a value was left out."""

from __future__ import annotations

import ast
import json
from math import isfinite
from typing import Any

import msgspec

from otelcov.ground.patterns import late

_decode = msgspec.json.Decoder(strict=False).decode
UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)
"""What reading JSON raises."""
Value = Any  # a JSON value
# What instrumentations, SDKs and collectors write in place of a value that is not to be kept.
REDACTED = [
    *(f"{left}{word}{right}" for word in ("REDACTED", "redacted", "Redacted") for left, right in ("[]", "<>", "()")),
    *(
        f"{left}{said}{right}"
        for word in ("hidden", "masked", "scrubbed", "filtered", "elided")
        for said in (word, word.title(), word.upper())
        for left, right in ("[]", "<>")
    ),
    *("__REDACTED__", "REDACTED", "***REDACTED***", "redacted-by-litellm", "HIDDEN:non-empty"),
    *("*" * length for length in range(3, 17)),  # OpenTelemetry's redaction processor writes four
]
_REDACTED = frozenset(REDACTED)
DIGESTS = (40, 64, 128)
DIGEST = r"^[0-9a-f]+$"
"""SHA-1, SHA-256 and SHA3-256, SHA-512, in hexadecimal: by their letters, and what they are written with."""
NOTHING = ("", "null", "[]", "{}", "None")
"""How a value that is none is written."""
UNGIVEN = late(r"^<[\w ]+>$")
"""Words in angle brackets, which stand for a name or an id that nobody gave."""


def hidden(*texts: str | None) -> bool:
    """Does one of these stand for a text that was left out?"""
    for text in texts:
        if not text:
            continue
        if text in _REDACTED or (text[0] in "<[(" and _UNTOLD.match(text)):
            return True
        if len(text) in DIGESTS and _HASHED.match(text):
            return True
    return False


def left_out(value: Value) -> bool:
    """Is there nothing in this but words that stand for what was left out?"""
    if isinstance(value, (dict, list)):
        return bool(value) and all(left_out(v) for v in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and value in _REDACTED


def in_part(value: Value) -> bool:
    """Does such a word stand anywhere in this?"""
    if isinstance(value, (dict, list)):
        return any(in_part(v) for v in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and value in _REDACTED


# A stream that was told before anybody read it; what Logfire took for a secret; what Swarms tells of a tool that threw.
_UNTOLD = late(
    r"\[?(?:<[\w.]+ (?:object|generator)[^>]* at 0x[0-9a-fA-F]+>(?:, )?)+\]?$|\[Scrubbed due to '[^']*'\]$"
    r"|\(no result recorded for [\w.-]+\)$"
)


_HASHED = late(DIGEST)


def parse_json(text: str | None) -> Value:
    """The JSON value of `text`, or None: cut short, not JSON, or nothing at all."""
    if not text:
        return None
    try:
        return _decode(text)
    except UNREADABLE:
        if not any(sign in text for sign in _LOOSE):
            return None
    try:
        return _plain(json.loads(text))
    except UNREADABLE:
        return None


# What Python and JavaScript write and JSON has not: numbers that are none, which JSON calls null, and half a pair of
# surrogates, of a text that was cut within it.
_LOOSE = ("NaN", "Infinity", "\\ud", "\\uD")

_DEEPEST = 400  # levels; json.loads and json.dumps do no more than a thousand, less what is called around them
SHALLOW = 2 * _DEEPEST - 1
"""Characters of JSON that cannot be nested so deep."""


def may_be_deep(text: str) -> bool:
    """May what this is read into be nested so deep?"""
    return len(text) > SHALLOW and text.count("[") + text.count("{") >= _DEEPEST


def too_deep(value: Value, text: Value = None) -> bool:
    """Is this nested beyond what programs read? `text`: what it was read from, if that was one."""
    if isinstance(text, str) and not may_be_deep(text):
        return False
    level = [value]
    for _ in range(_DEEPEST):
        held = (v.values() if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list)))
        level = [inner for inside in held for inner in inside]
        if not level:
            return False
    return True


def cut_short(raw: str | None) -> bool:
    """Does this begin as JSON and not end as JSON?"""
    return bool(raw) and str(raw)[:1] in "[{" and parse_json(str(raw)) is None


def parse_value(text: str | None) -> Value:
    """JSON, or the Python literal that some instrumentations write instead."""
    value = parse_json(text)
    if value is None and text and text.lstrip("[( ")[:2] in ("{'", "{}") and text[-1] in "]})":
        try:
            return literal(text)
        except ValueError:
            return None
    return value


def literal(text: str | ast.expr) -> Value:
    """The JSON value of a Python literal: tuples are lists, keys are texts, as `json.dumps` writes them.

    Raises ValueError for what is no literal, and for one that holds what JSON cannot say (sets, bytes, keys of several
    parts)."""
    try:
        return _plain(ast.literal_eval(expression(text) if isinstance(text, str) else text))
    except (TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"no literal: {error}") from None


def expression(text: str) -> ast.expr:
    """A Python expression as its tree. Raises ValueError for what is none.

    A backslash that escapes nothing is one (`'\\d'`): Python says so, too, and warns of it."""
    if "\\" in text:
        text = _ESCAPES.sub(lambda hit: hit[0] if hit[1] else "\\\\", text)
    try:
        return ast.parse(text.lstrip(" \t"), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"no expression: {error}") from None


_ESCAPES = late(r"""\\([\\'"abfnrtvxNuU0-7\n])|\\""")


def _plain(value: Value) -> Value:
    """As JSON can say it. Raises ValueError where it cannot."""
    if isinstance(value, str):
        halved = _HALVES.search(value) is not None
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if halved else value
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): _plain(item) for key, item in value.items()}
    raise ValueError(f"no JSON value: {type(value).__name__}")


def _key(key: Value) -> str:
    if isinstance(key, str):
        return str(_plain(key))
    if key is None or isinstance(key, (bool, int, float)):
        return to_json(key)
    raise ValueError(f"no key: {type(key).__name__}")


_HALVES = late("[\ud800-\udfff]")


def to_json(value: Value) -> str:
    """Canonical JSON text: keys sorted, no spaces."""
    return msgspec.json.encode(value, order="sorted").decode()
