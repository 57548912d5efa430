"""JSON and Python literals in attributes, and the words that stand where a value was left out."""

from __future__ import annotations

import ast
import re
from typing import Any

import msgspec

_decode = msgspec.json.Decoder(strict=False).decode
UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)
"""What reading JSON raises."""
Value = Any  # a JSON value
# What instrumentations, SDKs and collectors write in place of a value that is not to be kept.
REDACTED = [
    *(f"{left}{word}{right}" for word in ("REDACTED", "redacted", "Redacted") for left, right in ("[]", "<>", "()")),
    *(
        f"{left}{said}{right}"
        for word in ("hidden", "masked", "scrubbed", "filtered")
        for said in (word, word.title(), word.upper())
        for left, right in ("[]", "<>")
    ),
    *("__REDACTED__", "REDACTED", "***REDACTED***", "redacted-by-litellm", "HIDDEN:non-empty"),
    *("*" * length for length in range(3, 17)),  # OpenTelemetry's redaction processor writes four
]
_REDACTED = frozenset(REDACTED)
NOTHING = ("", "null", "[]", "{}", "None")
"""How a value that is none is written."""
UNGIVEN = re.compile(r"^<[\w ]+>$")
"""Words in angle brackets, which stand for a name or an id that nobody gave."""


def hidden(*texts: str | None) -> bool:
    """Does one of these stand for a text that was left out?"""
    return not _REDACTED.isdisjoint(texts) or any(text and text[0] == "<" and _OBJECT.match(text) for text in texts)


# A stream that was told before anybody read it.
_OBJECT = re.compile(r"<[\w.]+ (?:object|generator)[^>]* at 0x[0-9a-fA-F]+>$")


def parse_json(text: str | None) -> Value:
    """The JSON value of `text`, or None: cut short, not JSON, or nothing at all."""
    if not text:
        return None
    try:
        return _decode(text)
    except UNREADABLE:
        return None


def cut_short(raw: str | None) -> bool:
    """Does this begin as JSON and not end as JSON?"""
    return bool(raw) and str(raw)[:1] in "[{" and parse_json(str(raw)) is None


def parse_value(text: str | None) -> Value:
    """JSON, or the Python literal that some instrumentations write instead."""
    value = parse_json(text)
    if value is None and text and text.lstrip("[( ")[:2] in ("{'", "{}") and text[-1] in "]})":
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return None
    return value


def to_json(value: Value) -> str:
    """Canonical JSON text: keys sorted, no spaces."""
    return msgspec.json.encode(value, order="sorted").decode()
