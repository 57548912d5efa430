"""`otelcov test` from the command line: verdicts, differences, exit codes, formats."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree
from pathlib import Path

import pytest
import yaml

from tests.history.traffic import AT, NOW, otelcov, request, store

CASES = [
    {
        "name": "finds",
        "input": "find it",
        "expected_tool_calls": [{"tool_name": "search", "tool_parameters": {"q": "find it"}}],
    },
    {"name": "books", "input": "book it", "expected_tool_calls": [{"tool_name": "search"}, {"tool_name": "book"}]},
]


def run_test(folder: Path, cases: object, *runs: object, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
    file = folder / "cases.yaml"
    file.write_text(yaml.safe_dump(cases))
    where = store(folder, runs)  # type: ignore[arg-type]
    return otelcov("test", str(file), "--store", where, "--now", AT, *options)


def test_all_passed_is_0_and_says_how_many(tmp_path: Path) -> None:
    code, told, _ = run_test(tmp_path, CASES, request("find it", "search"), request("book it", "search", "book"))
    assert code == 0
    assert "Total Passed: 2/2" in told
    assert "Overall Pass Rate: 100.0%" in told


def test_a_failure_is_1_and_shows_expected_and_actual_side_by_side(tmp_path: Path) -> None:
    code, told, _ = run_test(tmp_path, CASES, request("find it", "search"), request("book it", "search", "cancel"))
    assert code == 1
    line = next(line for line in told.splitlines() if line.strip().startswith(">"))
    assert line.split() == [">", "!", "book(…)", 'cancel(q="book', 'it")'] or ("book" in line and "cancel" in line)
    assert "Total Passed: 1/2" in told


def test_where_nothing_can_be_kept_the_verdict_stands_and_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = request("find it", "search"), request("book it", "search", "book")
    run_test(tmp_path, CASES, *runs)
    may = os.access  # root may write anywhere
    monkeypatch.setattr("os.access", lambda path, mode: not str(path).endswith("results") and may(path, mode))
    code, told, said = run_test(tmp_path, CASES, *runs)
    assert code == 0 and "Total Passed: 2/2" in told
    [line] = said.splitlines()
    assert line.startswith("Couldn't keep the results in") and line.endswith("--no-keep to go without.")


def test_what_was_not_observed_is_no_pass_and_no_failure(tmp_path: Path) -> None:
    code, told, _ = run_test(tmp_path, CASES, request("find it", "search"))
    assert code == 3
    assert "NOT OBSERVED books" in told
    assert "Total Passed: 1/1, 1 not observed" in told


def test_a_failure_outweighs_what_was_not_observed(tmp_path: Path) -> None:
    assert run_test(tmp_path, CASES, request("find it", "book"))[0] == 1


@pytest.mark.parametrize("format", ["text", "json", "markdown", "junit"])
def test_an_empty_window_gives_a_valid_output_and_3(tmp_path: Path, format: str) -> None:
    code, told, _ = run_test(tmp_path, CASES, request(at=NOW - 10**17), options=("--format", format))
    assert code == 3
    if format == "json":
        document = json.loads(told)
        assert document["result"] == "no_data"
        assert document["summary"]["overall"]["pass_rate"] is None
    if format == "junit":
        assert xml.etree.ElementTree.fromstring(told).attrib["errors"] == "2"


def test_json_tells_of_each_run(tmp_path: Path) -> None:
    runs = [request("find it", "search"), request("find it", "search!", took_ms=300, tokens=(50, 5))]
    code, told, _ = run_test(tmp_path, [CASES[0] | {"outcome": "ok"}], *runs, options=("--format", "json"))
    document = json.loads(told)
    assert code == 1
    (case,) = document["cases"]
    assert (case["observed"], case["passed"], case["failed"]) == (2, 1, 1)
    check = case["turns"][0]["judged"][0]["checks"][0]
    assert check["difference"][0]["why"] == "ended as error, expected ok"
    overall = document["summary"]["overall"]
    assert overall["latency_ms"] == {"mean": 200.0, "p50": 100.0, "p95": 300.0}
    assert overall["input_tokens"]["sum"] == 150
    assert overall["runs"]["pass_rate"] == 0.5
    assert overall["errors"] == 1


def test_a_store_that_does_not_exist_is_4_and_bad_cases_are_2(tmp_path: Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump(CASES))
    assert otelcov("test", str(file), "--store", str(tmp_path / "none"))[0] == 4
    file.write_text("- {name: a, input: b, expected_tool_cals: []}")
    code, _, said = otelcov("test", str(file), "--store", store(tmp_path, [request("find it", "search")]))
    assert code == 2
    assert 'Did you mean "expected_tool_calls"?' in said


@pytest.mark.parametrize("format", ["text", "json", "markdown", "junit"])
def test_every_format_says_why_a_case_was_not_observed(tmp_path: Path, format: str) -> None:
    code, told, _ = run_test(tmp_path, CASES[1:], request("find it", "search"), options=("--format", format))
    assert code == 3
    assert "no run of this case" in told


def test_files_of_one_name_are_all_judged(tmp_path: Path) -> None:
    where = store(tmp_path, [request("find it", "search"), request("book it", "book")])
    files = []
    for case in CASES:
        (tmp_path / str(case["name"])).mkdir()
        files.append(tmp_path / str(case["name"]) / "cases.yaml")
        files[-1].write_text(yaml.safe_dump([case]))
    run = ("test", *map(str, files), str(files[0]), "--store", where, "--now", AT, "--format", "json")
    code, told, _ = otelcov(*run)
    assert code == 1
    assert {c["name"]: c["result"] for c in json.loads(told)["cases"]} == {"finds": "pass", "books": "fail"}
    files[1].write_text(yaml.safe_dump(CASES))
    for command in ("test", "compare"):
        code, _, said = otelcov(command, *map(str, files), "--store", where, "--now", AT)
        assert code == 2
        assert 'two cases called "finds"' in said


def test_results_are_kept_unless_asked_not_to(tmp_path: Path) -> None:
    from otelcov.history import results

    run_test(tmp_path, CASES, request("find it", "search"), options=("--no-keep",))
    assert results.read(str(tmp_path / "s")).is_empty()
    for _ in range(2):  # judged twice, and still one run
        otelcov("test", str(tmp_path / "cases.yaml"), "--store", str(tmp_path / "s"), "--now", AT)
    assert results.read(str(tmp_path / "s"))["case"].to_list() == ["finds"]


def test_cases_written_from_gaps_pass_in_the_same_window(tmp_path: Path) -> None:
    runs = [request("find it", "search")] + [
        request(text, *tools, environment="production", conversation=text)
        for text, tools in (
            ("book it", ("search", "book")),
            ("drop it", ("cancel!",)),
            ("book it twice", ("book", "book")),
        )
    ]
    where = store(tmp_path, runs)
    file = tmp_path / "written.yaml"
    code, _, said = otelcov("gaps", "--write-cases", str(file), "--store", where, "--now", AT)
    assert code == 0
    assert "they cover 100.0 % of the mass that was never exercised" in said
    code, told, _ = otelcov("test", str(file), "--store", where, "--now", AT)
    assert code == 0, told


def test_hostile_names_cannot_move_the_terminal(tmp_path: Path) -> None:
    code, told, _ = run_test(tmp_path, CASES, request("find it", "evil\x1b[2J\nPASS all"))
    assert code == 1
    assert "\x1b" not in told
    assert "\nPASS all" not in told


def test_verdicts_are_held_against_what_was_recorded(tmp_path: Path) -> None:
    recorded = [CASES[0] | {"recorded": 1.0}, CASES[1] | {"recorded": "fail"}]
    runs = [request("find it", "search"), request("book it", "search", "book")]
    _, told, _ = run_test(tmp_path, recorded, *runs)
    assert "Verdict against what was recorded" in told
    assert [line.split() for line in told.splitlines() if line.startswith("  case ")] == [
        ["case", "passed", "1", "1"],
        ["case", "failed", "0", "0"],
    ]
    assert "they agree on 50.0%" in told


def test_turns_that_expect_nothing_only_carry_the_conversation_on(tmp_path: Path) -> None:
    case = {
        "name": "talk",
        "turns": [{"input": "hello"}, {"input": "find it", "expected_tool_name": "search"}],
    }
    runs = [
        request("hello", conversation="k", at=NOW - 10**12),
        request("find it", "search", conversation="k", at=NOW - 10**12 + 10**9),
    ]
    code, told, _ = run_test(tmp_path, [case], *runs)
    assert code == 0
    assert "Turns Passed: 1/1" in told
