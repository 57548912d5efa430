"""Trajectory modes against what LangChain agentevals 0.0.9 and Agentest 0.0.17 answer, and beyond their greed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otelcov.cases.calls import Asked, Made
from otelcov.cases.format import Call
from otelcov.cases.trajectory import matches
from tests.coverage.shared import shared

ROOT = shared("trajectory_cases")
TABLES = {"langchain": "trajectory_langchain_agentevals_0.0.9.json", "agentest": "trajectory_agentest_0.0.17.json"}


def asked(calls: list[dict[str, Any]], arguments: str = "exact") -> list[Asked]:
    texts = [
        Call.model_validate(
            {"tool_name": c["name"], "tool_parameters": c.get("args"), "arguments": c.get("arguments", arguments)}
        )
        for c in calls
    ]
    return [Asked.of(call, "exact", "any", 0) for call in texts]


def made(calls: list[dict[str, Any]]) -> list[Made]:
    return [Made(c["name"], None, "ok", False, json.dumps(c.get("args", {})), c.get("turn")) for c in calls]


@pytest.mark.parametrize("peer", TABLES)
def test_the_aliases_give_the_verdicts_of_the_peers(peer: str) -> None:
    if not ROOT.is_dir():
        pytest.skip("../shared/trajectory_cases is absent: nothing was compared with the peers")
    cases = {c["name"]: c for c in json.loads((ROOT / "trajectory_cases.json").read_text())}
    table = json.loads((ROOT / TABLES[peer]).read_text())
    expected = {(name, mode): verdict for name, row in table.items() for mode, verdict in row.items()}
    got = {}
    for name, mode in expected:
        trajectory, _, arguments = mode.partition("/")
        case = cases[name]
        got[name, mode] = matches(f"{peer}:{trajectory}", asked(case["expected"], arguments), made(case["actual"]))
    assert len(got) == {"langchain": 208, "agentest": 156}[peer]
    assert got == expected


# An expectation that any call fits, before one that only the first call fits.
GREEDY = [{"name": "get", "args": {}, "arguments": "superset"}, {"name": "get", "args": {"c": "NY"}}]
CALLS = [{"name": "get", "args": {"c": "NY"}}, {"name": "get", "args": {"c": "SH"}}]


@pytest.mark.parametrize("mode", ["same_calls", "contains", "within"])
@pytest.mark.parametrize("expected", [GREEDY, GREEDY[::-1]], ids=["wide first", "narrow first"])
@pytest.mark.parametrize("actual", [CALLS, CALLS[::-1]], ids=["as is", "reversed"])
def test_a_verdict_does_not_depend_on_the_order_of_the_lists(mode: str, expected: Any, actual: Any) -> None:
    assert matches(mode, asked(expected), made(actual)) is True


def test_the_peers_pair_greedily_and_fail_there() -> None:
    assert matches("agentest:unordered", asked(GREEDY), made(CALLS)) is False
    assert matches("langchain:superset", asked(GREEDY), made(CALLS)) is False


@pytest.mark.full
def test_a_long_chain_of_displacements_is_found() -> None:
    """Expectation i accepts calls i and i+1, the last only call 0: every greedy choice has to be undone."""
    n = 400
    expected = [{"tool_name": "t", "match": {"x": {"min": i, "max": i + 1}}} for i in range(n - 1)]
    expected.append({"tool_name": "t", "match": {"x": {"exact": 0}}})
    rules = [Asked.of(Call.model_validate(e), "exact", "any", 0) for e in expected]
    calls = made([{"name": "t", "args": {"x": i}} for i in range(n)])
    assert matches("same_calls", rules, calls) is True
    assert matches("same_calls", [*rules[:-2], rules[-1], rules[-1]], calls) is False


@pytest.mark.parametrize(
    ("mode", "actual", "verdict"),
    [
        ("exact", "ab", True),
        ("exact", "ba", False),
        ("exact", "abb", False),
        ("names", "ab", True),
        ("same_calls", "ba", True),
        ("same_calls", "bab", False),
        ("contains", "cba", True),
        ("contains", "cb", False),
        ("contains_in_order", "acb", True),
        ("contains_in_order", "bca", False),
        ("within", "b", True),
        ("within", "", True),
        ("within", "bb", False),
        ("within", "bc", False),
        ("any_call", "cb", True),
        ("any_call", "c", False),
    ],
)
def test_each_mode_means_what_it_says(mode: str, actual: str, verdict: bool) -> None:
    assert matches(mode, asked([{"name": n} for n in "ab"]), made([{"name": n} for n in actual])) is verdict


def test_parallel_calls_of_one_turn_are_a_set() -> None:
    expected = asked([{"name": n} for n in "abc"])
    parallel = made([{"name": "a", "turn": 0}, {"name": "c", "turn": 1}, {"name": "b", "turn": 1}])
    after = made([{"name": "a", "turn": 0}, {"name": "c", "turn": 1}, {"name": "b", "turn": 2}])
    for mode in ("exact", "contains_in_order"):
        assert matches(mode, expected, parallel) is True
        assert matches(mode, expected, after) is False


def test_what_the_spans_do_not_tell_is_neither_pass_nor_fail() -> None:
    expected = asked([{"name": "a", "args": {"x": 1}}])
    blind = [Made("a", None, "ok", False, None, 0)]
    assert matches("exact", expected, blind) is None
    assert matches("exact", asked([{"name": "a", "args": {"x": 1}}], "ignore"), blind) is True
    assert matches("exact", asked([{"name": "b", "args": {"x": 1}}]), blind) is False
    assert matches("contains", expected, [*blind, *made([{"name": "a", "args": {"x": 1}}])]) is True
