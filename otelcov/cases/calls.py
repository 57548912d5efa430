"""Whether a call that was made is one that was expected: name, agent, outcome, arguments.

The answer may be that nobody can tell (None): arguments that were not captured equal nothing and differ from nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from otelcov.cases.format import Arguments, Call, Outcome
from otelcov.verdicts import matchers

_NOTHING = object()
_NUMBERS = (int, float)


@dataclass(frozen=True, slots=True)
class Made:
    """One call of a run."""

    name: str
    agent: str | None
    status: str
    soft: bool
    arguments: str | None  # JSON text
    turn: int | None

    @classmethod
    def of(cls, call: dict[str, Any]) -> Made:
        arguments = call["arguments"]
        if arguments is not None and not isinstance(arguments, str):  # run JSON rather than a row of RUNS
            arguments = json.dumps(arguments)
        soft = call["error_kind"] == "soft"
        return cls(call["name"], call["agent"], call["status"] or "unknown", soft, arguments, call["turn"])

    def values(self) -> dict[str, Any] | None:
        found = None if self.arguments is None else _parsed(self.arguments)
        return found if isinstance(found, dict) else None


@dataclass(frozen=True, slots=True)
class Asked:
    """One expected call, with what its case says filled in."""

    name: str
    values: dict[str, Any] | None
    arguments: Arguments
    outcome: Outcome
    agent: str | None
    schema: dict[str, Any] | None
    match: dict[str, dict[str, Any]]
    tolerance: float | None  # None: numbers must be written alike

    @classmethod
    def of(cls, call: Call, arguments: Arguments, outcome: Outcome, tolerance: float | None) -> Asked:
        return cls(
            call.tool_name,
            call.tool_parameters,
            call.arguments or arguments,
            call.outcome or outcome,
            call.agent,
            call.schema_,
            call.match,
            tolerance if call.tolerance is None else call.tolerance,
        )

    def flipped(self) -> Asked:
        """With the sides of a subset exchanged."""
        other: dict[Arguments, Arguments] = {"subset": "superset", "superset": "subset"}
        fields = {name: getattr(self, name) for name in self.__slots__}
        return Asked(**fields | {"arguments": other.get(self.arguments, self.arguments)})


def same(asked: Asked, made: Made) -> bool | None:
    """Whether the call is the expected one; None where the spans do not tell."""
    if asked.name != made.name:
        return False
    parts = (_agent(asked, made), _outcome(asked.outcome, made), _arguments(asked, made))
    return False if False in parts else None if None in parts else True


def why_not(asked: Asked, made: Made) -> str:
    """What differs, in words."""
    if asked.name != made.name:
        return f"{made.name} in the place of {asked.name}"
    said = []
    if _agent(asked, made) is not True:
        said.append(f"called by {made.agent or 'an unknown agent'}, expected {asked.agent}")
    if _outcome(asked.outcome, made) is not True:
        said.append(f"ended as {made.status}, expected {asked.outcome}")
    if (found := _arguments(asked, made)) is None:
        said.append("its arguments are not known")
    elif found is False:
        said += _differences(asked, made.values() or {})
    return "; ".join(said)


def shown(call: Asked | Made) -> str:
    """`name(key="value")`, and how it ended or must end where that matters."""
    values = call.values if isinstance(call, Asked) else call.values()
    if isinstance(call, Asked):
        rules = [f"{name} ~ {_text(rule)}" for name, rule in call.match.items()]
        rules += [f"matching {_text(call.schema)}"] if call.schema is not None else []
        ignored = call.arguments == "ignore" or (values is None and not rules)
        inside = "…" if ignored else ", ".join([f"{k}={_text(v)}" for k, v in sorted((values or {}).items())] + rules)
        ends = {"ok": "", "error": " -> error", "any": ""}[call.outcome]
        return f"{call.agent + '/' if call.agent else ''}{call.name}({inside}){ends}"
    inside = "?" if values is None else ", ".join(f"{k}={_text(v)}" for k, v in sorted(values.items()))
    ends = "" if call.status == "ok" and not call.soft else f" -> {'soft error' if call.soft else call.status}"
    return f"{call.name}({inside}){ends}"


def equal(a: Any, b: Any, tolerance: float | None = None) -> bool:
    """Equal as JSON is written: 1 is neither true nor 1.0. With a tolerance, be it 0, numbers compare as numbers."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(v, b[k], tolerance) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if tolerance is not None and type(a) in _NUMBERS and type(b) in _NUMBERS:
        return bool(a == b or abs(a - b) <= tolerance)
    return type(a) is type(b) and bool(a == b)


def _agent(asked: Asked, made: Made) -> bool | None:
    if asked.agent is None:
        return True
    return None if made.agent is None else asked.agent == made.agent


def _outcome(outcome: Outcome, made: Made) -> bool | None:
    """A soft error counts as ok: the tool ran, and only its text complains."""
    if outcome == "any":
        return True
    if made.status == "unknown":
        return None
    well = made.status == "ok" or (made.status == "error" and made.soft)
    return well if outcome == "ok" else made.status == "error" and not made.soft


def _arguments(asked: Asked, made: Made) -> bool | None:
    if asked.arguments == "ignore" or (asked.values is None and not asked.match and asked.schema is None):
        return True
    values = made.values()
    if values is None:
        return None
    if asked.schema is not None and matchers.schema(values, asked.schema) is not None:
        return False
    for name, rule in asked.match.items():
        if name not in values or matchers.match(values[name], rule) is not None:
            return False
    if asked.values is None:
        return True
    expected = {k: v for k, v in asked.values.items() if k not in asked.match}
    rest = {k: v for k, v in values.items() if k not in asked.match}
    return _RULES[asked.arguments](rest, expected, asked.tolerance)


def _subset(values: dict[str, Any], expected: dict[str, Any], tolerance: float | None) -> bool:
    return all(k in expected and equal(v, expected[k], tolerance) for k, v in values.items())


# What was made against what was expected.
_RULES: dict[str, Callable[[dict[str, Any], dict[str, Any], float | None], bool]] = {
    "exact": equal,
    "subset": _subset,
    "superset": lambda values, expected, tolerance: _subset(expected, values, tolerance),
}


def _differences(asked: Asked, values: dict[str, Any]) -> list[str]:
    said = []
    if asked.schema is not None and (why := matchers.schema(values, asked.schema)) is not None:
        said.append(why)
    for name, rule in asked.match.items():
        why = "is missing" if name not in values else matchers.match(values[name], rule)
        if why is not None:
            said.append(f"{name}: {why}")
    expected = asked.values or {}
    for name in sorted((expected.keys() | values.keys()) - asked.match.keys()) if asked.values is not None else ():
        a, b = expected.get(name, _NOTHING), values.get(name, _NOTHING)
        if a is _NOTHING:
            if asked.arguments in ("exact", "subset"):
                said.append(f"{name} is {_text(b)}, expected none")
        elif b is _NOTHING:
            if asked.arguments in ("exact", "superset"):
                said.append(f"{name} is missing, expected {_text(a)}")
        elif not equal(a, b, asked.tolerance):
            alike = " (tolerance: 0 compares numbers as such)" if equal(a, b, 0) else ""
            said.append(f"{name} is {_text(b)}, expected {_text(a)}{alike}")
    return said


@lru_cache(maxsize=65_536)  # the same calls come again in run after run
def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:76]} …"
