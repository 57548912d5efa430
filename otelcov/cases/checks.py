"""What a case checks on one run: trajectory, forbidden calls, response, limits. Each passes, fails or cannot tell."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from otelcov.cases import trajectory
from otelcov.cases.calls import Asked, Made, same, shown
from otelcov.cases.format import Call, Limits, Response, Turn
from otelcov.cases.trajectory import Row
from otelcov.verdicts import matchers

Result = Literal["pass", "fail", "no_data"]

_ORDERS = 500  # of calls and delegations that are tried


@dataclass(frozen=True)
class Check:
    """One thing that was asked of a run."""

    name: str  # trajectory | forbidden | response | latency | tokens | ...
    result: Result
    said: str | None = None
    soft: int = 0  # soft errors among the calls that were taken as ok
    compare: Callable[[], tuple[str, tuple[Row, ...]]] | None = None  # costs more than the verdict: only when asked

    @property
    def reason(self) -> str | None:
        return self._compared[0]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Expected and actual, where calls differ."""
        return self._compared[1]

    @cached_property
    def _compared(self) -> tuple[str | None, tuple[Row, ...]]:
        return (self.said, ()) if self.compare is None else self.compare()


@dataclass(frozen=True)
class Expected:
    """What a turn asks of its runs, made ready once for all of them."""

    mode: str
    calls: list[Asked] | None  # None: calls are not asked about
    forbidden: list[Asked]
    agents: frozenset[str]  # whose calls are looked at; empty: everyone's
    contains: list[str]
    response: Response | None
    limits: list[tuple[str, float]]

    @classmethod
    def of(cls, turn: Turn, recipe: bool = False) -> Expected:
        mode = turn.trajectory or ("any_call" if turn.expected_tool_name else "exact")
        listed = turn.expected_tool_calls
        if listed is None and turn.expected_tool_name:
            listed = [Call(tool_name=turn.expected_tool_name)]
        outcome = turn.outcome or ("any" if recipe or ":" in mode else "ok")
        tolerance = 0 if turn.tolerance is None and ":" in mode else turn.tolerance  # the peers compare numbers as such
        arguments = turn.arguments or "exact"
        rules = turn.response
        contains = [*turn.expected_response_contains, *(rules.contains if rules else [])]
        limits = {n: getattr(turn.limits, n) for n in Limits.model_fields} if turn.limits is not None else {}
        return cls(
            mode,
            None if listed is None else [Asked.of(call, arguments, outcome, tolerance) for call in listed],
            [Asked.of(call, arguments, "any", turn.tolerance) for call in turn.forbidden_tools or ()],
            frozenset(turn.agent or ()),
            contains,
            rules if rules is not None else Response() if contains else None,
            [(name, most) for name, most in limits.items() if most is not None],
        )


def worst(results: list[Result]) -> Result:
    """A failure that was seen stays one, whatever else could not be told."""
    return "fail" if "fail" in results else "no_data" if "no_data" in results else "pass"


def check(expected: Expected, run: dict[str, Any]) -> list[Check]:
    """The checks of a turn on a row of `figures`."""
    return [*_calls(expected, run), *_response(expected, run["output"]), *_limits(expected.limits, run)]


def _calls(expected: Expected, run: dict[str, Any]) -> Iterator[Check]:
    if expected.calls is None and not expected.forbidden:
        return
    listed = run["calls"]
    made = None if listed is None else [Made.of(c) for c in listed]
    delegations = run["delegating"] or []
    if not expected.agents:
        yield from _of(expected, made, delegations)
        return
    mine, perhaps = (
        _of(
            expected,
            None if made is None else [m for m in made if m.agent in agents],
            [d for d in delegations if d["from"] in agents],
        )
        for agents in (expected.agents, expected.agents | {None})
    )
    for one, other in zip(mine, perhaps, strict=True):
        told = one.result == other.result
        yield one if told else Check(one.name, "no_data", "its calls do not all name their agent")


def _of(expected: Expected, made: list[Made] | None, delegations: list[dict[str, Any]]) -> Iterator[Check]:
    if expected.calls is not None:
        named = {call.name for call in expected.calls}
        handed = [_handed(d) for d in delegations if d["tool"] in named]
        yield _trajectory(expected.mode, expected.calls, made, handed)
    if expected.forbidden:
        yield _forbidden(expected.forbidden, made, [d["tool"] for d in delegations])


def _handed(delegation: dict[str, Any]) -> Made:
    """A delegation as the call of its tool, which a case may name; its arguments are not kept."""
    return Made(delegation["tool"], delegation["from"], delegation["status"] or "unknown", False, None, None)


def _trajectory(mode: str, asked: list[Asked], made: list[Made] | None, handed: list[Made]) -> Check:
    if made is None:
        return Check("trajectory", "no_data", "its spans cannot show tool calls")
    if handed:
        verdict = _anywhere(mode, asked, made, handed)
        made = [*made, *handed]
    else:
        verdict = trajectory.matches(mode, asked, made)
    soft = sum(m.soft for m in made)
    if verdict:
        return Check("trajectory", "pass", None, soft)

    def compare() -> tuple[str, tuple[Row, ...]]:
        rows = tuple(trajectory.difference(mode, asked, made))
        wrong = next((r for r in rows if r.mark not in "= "), None)
        reason = "the order differs" if wrong is None else _told(wrong)
        return (reason if verdict is None else f"{mode}: {reason}"), rows

    return Check("trajectory", "no_data" if verdict is None else "fail", None, soft, compare)


def _anywhere(mode: str, asked: list[Asked], made: list[Made], handed: list[Made]) -> bool | None:
    """The verdict wherever among the calls the delegations took place: runs do not tell."""
    orders = [made]
    for call in handed:
        orders = [[*order[:at], call, *order[at:]] for order in orders for at in range(len(order) + 1)]
        if len(orders) > _ORDERS:
            return None
    verdicts = {trajectory.matches(mode, asked, order) for order in orders}
    return verdicts.pop() if len(verdicts) == 1 else None


def _told(row: Row) -> str:
    if row.actual is None:
        return f"{row.expected} is missing"
    if row.expected is None:
        return f"{row.actual} was not expected"
    return f"{row.why}"


def _forbidden(rules: list[Asked], made: list[Made] | None, delegating: list[str]) -> Check:
    """An attempt counts, also one that was never executed; a tool that delegates is a tool here."""
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


def _response(expected: Expected, output: str | None) -> Iterator[Check]:
    if expected.response is None:
        return
    if output is None:
        yield Check("response", "no_data", "its answer was not captured")
        return
    reason = next(_wrong(expected.response, expected.contains, output), None)
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


def _limits(limits: list[tuple[str, float]], run: dict[str, Any]) -> Iterator[Check]:
    for name, most in limits:
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
