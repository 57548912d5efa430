"""What a case checks on one run: trajectory, forbidden calls, response, limits. Each passes, fails or cannot tell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from otelcov.cases import trajectory
from otelcov.cases.calls import Asked, Made, same, shown
from otelcov.cases.format import Call, Limits, Response, Turn
from otelcov.cases.trajectory import Row
from otelcov.verdicts import matchers

Result = Literal["pass", "fail", "no_data"]


@dataclass(frozen=True)
class Check:
    """One thing that was asked of a run."""

    name: str  # trajectory | forbidden | response | latency | tokens | ...
    result: Result
    reason: str | None = None
    rows: tuple[Row, ...] = ()  # expected and actual, where calls differ
    soft: int = 0  # soft errors among the calls that were taken as ok


def worst(results: list[Result]) -> Result:
    """A failure that was seen stays one, whatever else could not be told."""
    return "fail" if "fail" in results else "no_data" if "no_data" in results else "pass"


def check(turn: Turn, run: dict[str, Any], recipe: bool = False) -> list[Check]:
    """The checks of a turn on a row of `figures`."""
    return [*_calls(turn, run, recipe), *_response(turn, run["output"]), *_limits(turn.limits, run)]


def _calls(turn: Turn, run: dict[str, Any], recipe: bool) -> Iterator[Check]:
    if turn.expected_tool_calls is None and not turn.expected_tool_name and not turn.forbidden_tools:
        return
    listed = run["calls"]
    made = None if listed is None else [Made.of(c) for c in listed]
    if made is not None and turn.agent:
        made = [m for m in made if m.agent in turn.agent]
    if turn.expected_tool_calls is not None or turn.expected_tool_name:
        yield _trajectory(turn, made, recipe)
    if turn.forbidden_tools:
        yield _forbidden(turn, made, run["delegating"] or [])


def _trajectory(turn: Turn, made: list[Made] | None, recipe: bool) -> Check:
    if made is None:
        return Check("trajectory", "no_data", "its spans cannot show tool calls")
    mode = turn.trajectory or ("any_call" if turn.expected_tool_name else "exact")
    asked = expected(turn, mode, recipe)
    verdict = trajectory.matches(mode, asked, made)
    soft = sum(m.soft for m in made)
    if verdict:
        return Check("trajectory", "pass", None, (), soft)
    rows = tuple(trajectory.difference(mode, asked, made))
    wrong = next((r for r in rows if r.mark not in "= "), None)
    reason = "the order differs" if wrong is None else _told(wrong)
    if verdict is None:
        return Check("trajectory", "no_data", reason, rows, soft)
    return Check("trajectory", "fail", f"{mode}: {reason}", rows, soft)


def expected(turn: Turn, mode: str, recipe: bool) -> list[Asked]:
    """The expected calls of a turn with what its case says filled in."""
    calls = turn.expected_tool_calls
    if calls is None:
        calls = [Call(tool_name=turn.expected_tool_name or "")]
    outcome = turn.outcome or ("any" if recipe or ":" in mode else "ok")
    tolerance = 0 if turn.tolerance is None and ":" in mode else turn.tolerance  # the peers compare numbers as such
    return [Asked.of(call, turn.arguments or "exact", outcome, tolerance) for call in calls]


def _told(row: Row) -> str:
    if row.actual is None:
        return f"{row.expected} is missing"
    if row.expected is None:
        return f"{row.actual} was not expected"
    return f"{row.why}"


def _forbidden(turn: Turn, made: list[Made] | None, delegating: list[str]) -> Check:
    """An attempt counts, also one that was never executed; a tool that delegates is a tool here."""
    rules = [
        Asked.of(call, call.arguments or turn.arguments or "exact", "any", turn.tolerance)
        for call in turn.forbidden_tools or ()
    ]
    doubtful = None
    for rule in rules:
        for call in made or ():
            hit = same(rule, call)
            if hit:
                return Check("forbidden", "fail", f"{shown(call)} is forbidden")
            if hit is None:
                doubtful = f"{shown(call)} may be forbidden: its arguments are not known"
        if rule.name in delegating:
            return Check("forbidden", "fail", f"{rule.name} is forbidden")
    if made is None:
        return Check("forbidden", "no_data", "its spans cannot show tool calls")
    return Check("forbidden", "no_data" if doubtful else "pass", doubtful)


def _response(turn: Turn, output: str | None) -> Iterator[Check]:
    rules = turn.response or Response()
    contains = [*turn.expected_response_contains, *rules.contains]
    if not contains and not (rules.not_contains or rules.regex or rules.exact is not None or rules.schema_):
        return
    if output is None:
        yield Check("response", "no_data", "its answer was not captured")
        return
    reason = next(_wrong(rules, contains, output), None)
    yield Check("response", "pass" if reason is None else "fail", reason)


def _wrong(rules: Response, contains: list[str], output: str) -> Iterator[str]:
    fold = str.casefold if rules.ignore_case else str
    text = fold(output)
    for part in contains:
        if fold(part) not in text:
            yield f'"{part}" is not in the answer "{_short(output)}"'
    for part in rules.not_contains:
        if fold(part) in text:
            yield f'"{part}" is in the answer "{_short(output)}"'
    for pattern in rules.regex:
        if not re.search(pattern, output):
            yield f'the answer "{_short(output)}" does not match {pattern}'
    if rules.exact is not None and output.strip() != rules.exact.strip():
        yield f'the answer is "{_short(output)}", expected "{_short(rules.exact)}"'
    if rules.schema_ is not None:
        try:
            why = matchers.schema(json.loads(output), rules.schema_)
        except ValueError:
            why = "it is not JSON"
        if why is not None:
            yield f'the answer "{_short(output)}" does not fit its schema: {why}'


def _limits(limits: Limits | None, run: dict[str, Any]) -> Iterator[Check]:
    for name in Limits.model_fields if limits is not None else ():
        most = getattr(limits, name)
        if most is None:
            continue
        value = run[name]
        title = name.removesuffix("_ms")
        if value is None:
            yield Check(title, "no_data", f"{title} is not known")
        elif value > most:
            yield Check(title, "fail", f"{title} is {value:g}, above {most:g}")
        else:
            yield Check(title, "pass")


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}…"
