"""Matchers: does a value satisfy what a gate or a case expects of it? One function each, in one table.

A third party adds one through the entry point group `otelcov.matchers`: (value, expected) -> None, or why not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from otelcov.ground.errors import UsageError, did_you_mean
from otelcov.ground.plugins import plugins

Matcher = Callable[[Any, Any], str | None]


def schema(value: Any, expected: Any) -> str | None:
    """JSON Schema."""
    problem = next(iter(_validator(expected).iter_errors(value)), None)
    return None if problem is None else str(problem.message)


def _elsewhere(uri: str) -> Any:
    """What a schema refers to is never fetched: who writes a gate must not make its reader ask a server or a file."""
    raise ValueError(f"{uri} lies elsewhere, and is not fetched; put it under $defs")


def exact(value: Any, expected: Any) -> str | None:
    same = value == expected and isinstance(value, bool) == isinstance(expected, bool)
    return None if same else f"{_shown(value)} is not {_shown(expected)}"


def contains(value: Any, expected: Any) -> str | None:
    if isinstance(value, str):
        found = str(expected) in value
    elif isinstance(value, (list, dict)):
        found = expected in value
    else:
        found = str(expected) in _shown(value)
    return None if found else f"{_shown(value)} does not contain {_shown(expected)}"


def regex(value: Any, expected: Any) -> str | None:
    found = _pattern(expected).search(value if isinstance(value, str) else _shown(value))
    return None if found else f"{_shown(value)} does not match {expected}"


def minimum(value: Any, expected: Any) -> str | None:
    return _compare(value, expected, lambda a, b: a >= b, "below")


def maximum(value: Any, expected: Any) -> str | None:
    return _compare(value, expected, lambda a, b: a <= b, "above")


MATCHERS: dict[str, Matcher] = {
    "schema": schema,
    "exact": exact,
    "contains": contains,
    "regex": regex,
    "min": minimum,
    "max": maximum,
}


@cache
def matchers() -> dict[str, Matcher]:
    """The built-in ones and those of installed packages."""
    return {point.name: point.load() for point in plugins("otelcov.matchers")} | MATCHERS


def match(value: Any, matcher: dict[str, Any]) -> str | None:
    """None if the value satisfies every part of a matcher like {"min": 80}, else why not."""
    for name, expected in matcher.items():
        if (why := named(name)(value, expected)) is not None:
            return why
    return None


def check(matcher: dict[str, Any]) -> None:
    """Raises UsageError for a matcher that is not known or could hold no value against what it expects."""
    for name, expected in matcher.items():
        named(name)
        if name in _USABLE:
            _USABLE[name](expected)


def named(name: str) -> Matcher:
    known = matchers()
    if name not in known:
        raise UsageError(
            f'There is no matcher "{name}": known are {", ".join(sorted(known))}.{did_you_mean(name, known)}'
        )
    return known[name]


def _validator(expected: Any) -> Any:
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(expected, retriever=_elsewhere)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        why = getattr(error, "message", None) or error
        raise UsageError(f"Couldn't use a schema matcher: it is no JSON Schema: {why}.") from None


def _pattern(expected: Any) -> re.Pattern[str]:
    try:
        return re.compile(str(expected))
    except re.error as error:
        raise UsageError(f'Couldn\'t use the regex "{expected}": {error}.') from None


def _number(expected: Any) -> float:
    if isinstance(expected, bool) or not isinstance(expected, (int, float)) or expected != expected:
        raise UsageError(f"A min or max matcher needs a number, got {_shown(expected)}.")
    return expected


# What a matcher makes of the value it expects, where not every value will do.
_USABLE: dict[str, Callable[[Any], Any]] = {
    "schema": _validator,
    "regex": _pattern,
    "min": _number,
    "max": _number,
}


def _compare(value: Any, expected: Any, holds: Callable[[float, float], bool], word: str) -> str | None:
    _number(expected)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"{_shown(value)} is no number"
    return None if holds(value, expected) else f"{_shown(value)} is {word} {_shown(expected)}"


def _shown(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
