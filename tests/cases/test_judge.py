"""What a case makes of runs: selection, outcomes, responses, limits, repetitions, conversations."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from otelcov.cases import judge, needed, parse
from otelcov.cases.summary import summary
from otelcov.ground.config import Config
from otelcov.ground.errors import UsageError
from tests.coverage.build import config, frame, run


def verdict(case: dict[str, Any], *runs: dict[str, Any], settings: Config | None = None) -> str:
    return judge(parse([{"name": "c", "input": "hello"} | case]), frame(*runs), settings).cases[0].result


def calls(*names: str) -> dict[str, Any]:
    return {"expected_tool_calls": [{"tool_name": n} for n in names]}


def soft(one: dict[str, Any]) -> dict[str, Any]:
    one["tool_calls"][0] |= {"status": "error", "error_kind": "soft"}
    return one


def test_the_recipe_judges_what_was_asked_whatever_came_of_it() -> None:
    assert verdict(calls("a"), run("a!")) == "pass"
    assert verdict(calls("a"), run("a?")) == "pass"


def test_in_our_own_format_a_call_must_end_well_unless_its_outcome_says_otherwise() -> None:
    own = {"trajectory": "exact"}
    assert verdict(calls("a") | own, run("a!")) == "fail"
    assert verdict(calls("a") | own, run("a?")) == "fail"
    assert verdict({"expected_tool_calls": [{"tool_name": "a", "outcome": "error"}]}, run("a!")) == "pass"
    assert verdict({"expected_tool_calls": [{"tool_name": "a", "outcome": "any"}]}, run("a!")) == "pass"
    assert verdict({"expected_tool_calls": [{"tool_name": "a", "outcome": "error"}]}, run("a")) == "fail"


def test_a_soft_error_counts_as_ok_and_is_shown() -> None:
    found = judge(parse([{"name": "c", "input": "hello", "outcome": "ok"} | calls("a")]), frame(soft(run("a!"))))
    assert found.result == "pass"
    assert summary(found)["overall"]["soft_errors"] == 1


def test_an_outcome_that_is_not_known_is_not_enough_data() -> None:
    one = run("a")
    one["tool_calls"][0]["status"] = "unknown"
    assert verdict(calls("a") | {"outcome": "ok"}, one) == "no_data"


def test_runs_that_cannot_show_calls_are_not_enough_data() -> None:
    blind = run(tool_calls=None)
    assert verdict(calls("a"), blind) == "no_data"
    assert verdict({"forbidden_tools": ["a"]}, blind) == "no_data"
    assert verdict({"forbidden_tools": ["a"]}, blind, run("a")) == "fail"
    assert verdict({"expected_response_contains": "bye"}, blind) == "pass"


def test_forbidden_calls_count_though_they_were_only_asked_for() -> None:
    assert verdict({"forbidden_tools": ["b"]}, run("a")) == "pass"
    assert verdict({"forbidden_tools": ["b"]}, run("a", "b?")) == "fail"
    assert verdict({"forbidden_tools": ["hand_over"]}, run("a", delegates=["a->b:hand_over"])) == "fail"
    exact = {"tool_name": "a", "tool_parameters": {"x": 1}}
    assert verdict({"forbidden_tools": [exact]}, run("a")) == "pass"


def test_only_the_calls_of_an_agent_are_looked_at_where_a_case_names_one() -> None:
    asked = calls("a") | {"agent": "x"}
    assert verdict(asked, run("x/a", "y/b")) == "pass"
    assert verdict(asked, run("y/a")) == "fail"
    forbids = {"forbidden_tools": ["a", "hand_over"], "agent": "x"}
    assert verdict(forbids, run("x/b", "y/a", delegates=["y->x:hand_over"])) == "pass"
    assert verdict(forbids, run("x/b", delegates=["x->y:hand_over"])) == "fail"


def test_a_call_that_names_no_agent_may_be_anyones() -> None:
    def nobodys(name: str) -> dict[str, Any]:
        one = run(name)
        one["tool_calls"][0]["agent"] = None
        return one

    assert verdict(calls("a") | {"agent": "x"}, nobodys("a")) == "no_data"
    assert verdict(calls("b") | {"agent": "x"}, nobodys("a")) == "fail"
    assert verdict({"forbidden_tools": ["a"], "agent": "x"}, nobodys("a")) == "no_data"
    assert verdict({"forbidden_tools": ["b"], "agent": "x"}, nobodys("a")) == "pass"


def test_a_tool_that_delegates_can_be_expected_where_its_place_does_not_matter() -> None:
    handing = {"delegates": ["x->y:to_y"], "input": "hello"}
    assert verdict(calls("to_y"), run(**handing)) == "pass"
    assert verdict(calls("a", "to_y") | {"trajectory": "contains"}, run("a", **handing)) == "pass"
    assert verdict(calls("a", "to_y") | {"trajectory": "exact"}, run("a", **handing)) == "no_data"
    assert verdict(calls("b", "to_y") | {"trajectory": "exact"}, run("a", **handing)) == "fail"
    assert verdict(calls("a"), run("a", **handing)) == "pass"


@pytest.mark.parametrize(
    ("made", "expected", "result"),
    [
        ({"x": 1}, {"tool_parameters": {"x": 1}}, "pass"),
        ({"x": 1}, {"tool_parameters": {"x": 1.0}}, "fail"),
        ({"x": 1}, {"tool_parameters": {"x": 1.0}, "tolerance": 0}, "pass"),
        ({"x": 1.05}, {"tool_parameters": {"x": 1}, "tolerance": 0.1}, "pass"),
        ({"x": 1.2}, {"tool_parameters": {"x": 1}, "tolerance": 0.1}, "fail"),
        ({"x": [{"y": 1.05}]}, {"tool_parameters": {"x": [{"y": 1}]}, "tolerance": 0.1}, "pass"),
        ({"x": True}, {"tool_parameters": {"x": 1}, "tolerance": 0}, "fail"),
        ({"x": 1, "y": 2}, {"tool_parameters": {"x": 1}}, "fail"),
        ({"x": 1, "y": 2}, {"tool_parameters": {"x": 1}, "arguments": "superset"}, "pass"),
        ({"x": 1, "y": 2}, {"tool_parameters": {"x": 1}, "arguments": "partial"}, "pass"),
        ({"x": 1}, {"tool_parameters": {"x": 1, "y": 2}, "arguments": "subset"}, "pass"),
        ({"x": 1}, {"tool_parameters": {"x": 2}, "arguments": "ignore"}, "pass"),
        ({"x": "2025-01-02"}, {"match": {"x": {"regex": "^2025-"}}}, "pass"),
        ({"x": "2024-01-02"}, {"match": {"x": {"regex": "^2025-"}}}, "fail"),
        ({"x": "2025", "y": 1}, {"tool_parameters": {"y": 1}, "match": {"x": {"regex": "^2025"}}}, "pass"),
        ({"x": 5}, {"schema": {"properties": {"x": {"maximum": 4}}}}, "fail"),
        ({"x": 4}, {"schema": {"properties": {"x": {"maximum": 4}}}}, "pass"),
        (None, {"tool_parameters": {"x": 1}}, "no_data"),
        (None, {}, "pass"),
    ],
)
def test_arguments(made: Any, expected: dict[str, Any], result: str) -> None:
    one = run("a")
    one["tool_calls"][0]["arguments"] = None if made is None else json.dumps(made)
    assert verdict({"expected_tool_calls": [{"tool_name": "a"} | expected]}, one) == result


@pytest.mark.parametrize(
    ("rules", "result"),
    [
        ({"contains": "MIAMI"}, "pass"),
        ({"contains": "MIAMI", "ignore_case": False}, "fail"),
        ({"contains": ["miami", "sun"]}, "pass"),
        ({"not_contains": "rain"}, "pass"),
        ({"not_contains": "SUN"}, "fail"),
        ({"regex": r"^\{.*\}$"}, "pass"),
        ({"regex": "snow"}, "fail"),
        ({"exact": '{"city": "Miami", "sky": "sun"}'}, "pass"),
        ({"exact": "Miami"}, "fail"),
        ({"schema": {"required": ["city"]}}, "pass"),
        ({"schema": {"required": ["town"]}}, "fail"),
    ],
)
def test_responses(rules: dict[str, Any], result: str) -> None:
    assert verdict({"response": rules}, run(output='{"city": "Miami", "sky": "sun"}')) == result


def test_an_answer_that_was_not_captured_is_not_enough_data() -> None:
    assert verdict({"expected_response_contains": "x"}, run(output=None)) == "no_data"


@pytest.mark.parametrize(
    ("limits", "result"),
    [
        ({"latency": "2s"}, "pass"),
        ({"latency": "500ms"}, "fail"),
        ({"latency_ms": 1000}, "pass"),
        ({"input_tokens": 100, "output_tokens": 10, "tokens": 110}, "pass"),
        ({"tokens": 109}, "fail"),
        ({"steps": 3, "tool_calls": 2, "llm_calls": 1}, "pass"),
        ({"steps": 2}, "fail"),
        ({"errors": 0}, "fail"),
        ({"cost": 0.01}, "pass"),
        ({"cost": 0.0001}, "fail"),
    ],
)
def test_limits(limits: dict[str, Any], result: str) -> None:
    settings = config("[models.model-a]\nprice = {input = 5.0, output = 15.0}")
    assert verdict({"limits": limits}, run("a", "b!"), settings=settings) == result


def test_a_limit_on_what_is_not_known_is_not_enough_data() -> None:
    assert verdict({"limits": {"cost": 1}}, run("a")) == "no_data"
    assert verdict({"limits": {"tokens": 1}}, run("a", tokens=(None, None))) == "no_data"


@pytest.mark.parametrize(
    ("rule", "runs", "result"),
    [
        ({}, "PP", "pass"),
        ({}, "PF", "fail"),
        ({"pass": "any"}, "FP", "pass"),
        ({"pass": "any"}, "FF", "fail"),
        ({"pass": "any", "repetitions": 3}, "FF", "no_data"),
        ({"repetitions": 3}, "PP", "no_data"),
        ({"repetitions": 3}, "PF", "fail"),
        ({"pass": "2 of 3"}, "PPF", "pass"),
        ({"pass": "2 of 3"}, "PP", "pass"),
        ({"pass": "2 of 3"}, "PF", "no_data"),
        ({"pass": "2 of 3"}, "FF", "fail"),
        ({"pass": "2 of 3"}, "PPPFFF", "fail"),
        ({"pass": {"at_least": 4, "of": 6}}, "PPPPFF", "pass"),
        ({"pass": {"at_least": 2}}, "PPFFFF", "pass"),
    ],
)
def test_the_pass_rule(rule: dict[str, Any], runs: str, result: str) -> None:
    made = [run("a" if r == "P" else "b", at=at) for at, r in enumerate(runs)]
    assert verdict(calls("a") | rule, *made) == result


def test_runs_that_name_the_case_come_before_those_with_its_input() -> None:
    named = run("a", case="c", input="something else")
    assert verdict(calls("a"), named, run("b")) == "pass"
    assert verdict(calls("a"), run("b")) == "fail"
    assert verdict(calls("a"), run("b", input="another")) == "not_observed"


@pytest.mark.parametrize(
    "select",
    [
        {"input": {"contains": "ell"}},
        {"input": {"regex": "^h.*o$"}},
        {"input": "hello"},
        {"conversation": "k"},
        {"case": "t"},
        {"service": "shop", "environment": "production", "release": "1.0"},
        {"side": "production", "model": "model-a"},
        {"model": "openai/model-a-2024-08-06"},
    ],
)
def test_selectors(select: dict[str, Any]) -> None:
    mine = run("a", conversation_id="k", case="t" if "case" in select else None)
    differing = {"service": "x", "environment": "test", "release": "2", "models": ["model-b"]}
    other = run("b", input="bye", conversation_id="l", at=5, **differing)
    found = judge(parse([{"name": "c", "input": "hello", "select": select} | calls("a")]), frame(mine, other))
    assert found.result == "pass"
    assert [j.row for j in found.cases[0].turns[0].judged] == [0]


TALK = {
    "name": "talk",
    "turns": [
        {"input": "one", "expected_tool_name": "a"},
        {"input": "two", "expected_tool_name": "b", "expected_response_contains": "bye"},
    ],
}


def talk(
    *tools: str, conversation: str = "k", said: tuple[str, ...] = ("one", "two"), at: int = 0
) -> list[dict[str, Any]]:
    return [
        run(tool, input=text, conversation_id=conversation, at=at + n)
        for n, (tool, text) in enumerate(zip(tools, said, strict=False))
    ]


def test_turns_are_the_runs_of_one_conversation() -> None:
    found = judge(parse([TALK]), frame(*talk("a", "b")))
    assert [t.result for t in found.cases[0].turns] == ["pass", "pass"]
    found = judge(parse([TALK]), frame(*talk("a", "a")))
    assert [t.result for t in found.cases[0].turns] == ["pass", "fail"]
    assert summary(found)["overall"]["passed"] == 1


def test_turns_of_two_conversations_are_not_mixed() -> None:
    mixed = [*talk("a", conversation="k", said=("one",)), *talk("b", conversation="l", said=("two",), at=5)]
    found = judge(parse([TALK]), frame(*mixed))
    assert [t.result for t in found.cases[0].turns] == ["pass", "not_observed"]
    assert found.result == "no_data"


def test_every_conversation_under_one_id_is_judged() -> None:
    again = [*talk("a", "b"), *talk("a", "a", at=5), *talk("a", "b", at=10), *talk("a", said=("one",), at=20)]
    found = judge(parse([TALK]), frame(*again))
    assert found.cases[0].units == ["pass", "fail", "pass"]
    beside = [*talk("a", "b"), *(one | {"service": "other"} for one in talk("a", "a", at=1))]
    assert sorted(judge(parse([TALK]), frame(*beside)).cases[0].units) == ["fail", "pass"]


def test_a_conversation_may_go_from_service_to_service() -> None:
    first, second = talk("a", "b")
    found = judge(parse([TALK]), frame(first, second | {"service": "other"}))
    assert found.cases[0].units == ["pass"]


def test_a_conversation_that_ended_early_does_not_spoil_a_whole_one() -> None:
    early = talk("a", conversation="l", said=("one",), at=9)
    assert judge(parse([TALK]), frame(*talk("a", "b"), *early)).result == "pass"


def test_unsettled_runs_are_not_judged() -> None:
    assert verdict(calls("a"), run("b", settled=False)) == "not_observed"


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"name": "x"}, "expects nothing"),
        ({"name": "x", "expected_tool_calls": [{"tool_nam": "a"}]}, 'Did you mean "tool_name"?'),
        ({"name": "x", "trajectory": "exactly", "expected_tool_name": "a"}, "exact"),
        ({"name": "x", "response": {"regex": "("}}, "no regex"),
        ({"name": "x", "expected_tool_name": "a", "pass": "4 of 3"}, "can never be"),
        ({"name": "x", "expected_tool_calls": [{"tool_name": "a", "match": {"q": {"rgx": "a"}}}]}, '"regex"'),
        ({"name": "x", "expected_tool_calls": [{"tool_name": "a", "match": {"q": {"regex": "("}}}]}, "regex"),
        ({"name": "x", "expected_tool_calls": [{"tool_name": "a", "schema": {"type": "txt"}}]}, "no JSON Schema"),
        ({"name": "x", "response": {"schema": {"type": "txt"}}}, "no JSON Schema"),
        ({"name": "x", "response": {"ignore_case": False}, "limits": {}}, "expects nothing"),
        ({"name": "x", "response": {"contains": 72}}, "quotes"),
        ({"name": "x", "turns": 5}, "turns"),
        ({"name": "x", "turns": [{"expected_tool_name": "a"}], "response": {"contains": "y"}}, "in each turn"),
        ({"name": "x", "expected_tool_calls": 5}, "expected_tool_calls"),
        ({"name": "", "expected_tool_name": "a"}, "name"),
    ],
)
def test_a_case_that_makes_no_sense_is_an_error_that_says_why(case: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=r"Couldn't use the cases") as problem:
        parse([case])
    assert said in str(problem.value)


def test_two_cases_of_one_name_are_an_error() -> None:
    with pytest.raises(UsageError, match="two cases"):
        parse([calls("a") | {"name": "x"}] * 2)


@pytest.mark.full
def test_three_hundred_thousand_runs_are_judged_in_a_minute() -> None:
    import polars as pl

    one = frame(*[run("a", "b" if n % 3 else "c", input=f"question {n}") for n in range(1000)])
    many = pl.concat([one.with_columns(run_id=pl.lit(f"{k}-") + pl.col("run_id")) for k in range(300)])
    cases = [{"name": f"c{n}", "input": f"question {n}"} | calls("a", "b") for n in range(1000)]
    began = time.process_time()
    found = judge(parse(cases), many)
    took = time.process_time() - began
    assert summary(found)["overall"]["runs"] == summary(found)["overall"]["runs"] | {
        "total": 300_000,
        "passed": 199_800,
    }
    print(f"300,000 runs against 1,000 cases: {took:.1f} s of CPU")
    assert took < 60


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        ({"name": "b"}, {"b"}),
        ({"name": "x", "select": {"conversation": "c"}}, {"c"}),
        ({"name": "x", "select": {"trace": "t"}, "input": "hello"}, {"t"}),
        ({"name": "b", "input": "hello"}, {"b"}),
        ({"name": "x", "input": "hello"}, {"b", "c", "t"}),
        ({"name": "b", "select": {"input": "hello"}}, {"b", "c", "t"}),
        ({"name": "x"}, {"b"}),
    ],
)
def test_a_case_that_names_its_runs_needs_the_words_of_no_other(select: dict[str, Any], wanted: set[str]) -> None:
    runs = frame(
        run("search", run_id="b", case="b", at=0),
        run("search", run_id="c", conversation_id="c", at=1),
        run("search", run_id="t", trace_ids=["t"], at=2),
    )
    cases = parse([select | {"expected_tool_name": "search"}])
    some = needed(cases, runs.with_columns(input=None, output=None), Config())
    assert set(some["run_id"]) == wanted
