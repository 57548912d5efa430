"""`runs`, `show`, `export`, and what `doctor` says of spans: on recorded traffic, through the program."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

from otelcov.cli.commands import app
from tests import captures
from tests.runs.requests import agent, chat, request, tool

DIALECT = "pydantic-ai--native-v5"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    (folder / "in").mkdir()
    for scenario in captures.packed("corpus", DIALECT):
        for number, (signal, body) in enumerate(scenario.requests):
            (folder / "in" / f"{scenario.name}-{number:03}.{signal}.pb").write_bytes(body)
    result = CliRunner().invoke(app, ["import", str(folder / "in"), "--store", str(folder / "store")])
    assert result.exit_code == 0, result.output
    return folder / "store"


def run(*args, width="80"):
    return CliRunner().invoke(app, list(args), env={"NO_COLOR": "1", "COLUMNS": width})


def listed(store, *args):
    result = run("runs", "--store", str(store), "--since", "all", "--format", "jsonl", *args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_runs_are_one_json_object_a_line_in_order(store):
    found = listed(store)
    assert len(found) == sum(len(s.runs) for s in captures.packed("corpus", DIALECT))
    assert found == sorted(found, key=lambda r: (r["start_unix_nano"], r["run_id"]))
    assert {r["side"] for r in found} == {"staging"}


def test_filters_narrow_and_values_of_one_add_up(store):
    whole = listed(store)

    def ids(*args):
        return [r["run_id"] for r in listed(store, *args)]

    def those(keep):
        return [r["run_id"] for r in whole if keep(r)]

    called = {r["run_id"]: {c["name"] for c in r["tool_calls"] or []} for r in whole}
    assert ids("--tool", "book_hotel") == those(lambda r: "book_hotel" in called[r["run_id"]]) != []
    assert ids("--tool", "book_hotel", "--tool", "get_weather") == those(
        lambda r: {"book_hotel", "get_weather"} & called[r["run_id"]]
    )
    assert ids("--status", "error") == those(lambda r: r["status"] == "error") != []
    assert ids("--boundary", "timeout") == those(lambda r: "timeout" in r["boundaries"]) != []
    assert ids("--path", "planner->worker") == those(lambda r: ["planner->worker"] in r["path"]) != []
    assert ids("--status", "ok", "--boundary", "timeout") == []
    talk = next(r["conversation_id"] for r in whole if r["conversation_id"])
    assert ids("--conversation", talk) == those(lambda r: r["conversation_id"] == talk)


def test_an_agents_steps_alone_drop_no_run(store):
    whole, mine = listed(store), listed(store, "--agent", "worker")
    assert [r["run_id"] for r in mine] == [r["run_id"] for r in whole]
    assert {c["agent"] for r in mine for c in r["tool_calls"] + r["llm_calls"]} == {"worker"}
    assert {step.split("/")[0] for r in mine for steps in r["path"] for step in steps} == {"worker"}


def test_a_wrong_word_is_a_usage_error_that_names_the_right_ones(store):
    result = run("runs", "--store", str(store), "--boundary", "time_out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert 'Did you mean "timeout"' in result.stderr


@pytest.mark.parametrize("command", [["runs"], ["runs", "--format", "jsonl"], ["export"]])
def test_no_run_prints_nothing_and_is_good(store, command):
    result = run(*command, "--store", str(store), "--since", "2001-01-01", "--until", "2001-01-02")
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize("command", [["runs"], ["export"], ["show", "abcd"]])
def test_a_store_that_is_not_there_is_told(tmp_path, command):
    result = run(*command, "--store", str(tmp_path / "none"))
    assert (result.exit_code, result.stdout) == (4, "")


def test_the_table_fits_eighty_columns(store):
    lines = run("runs", "--store", str(store), "--since", "all").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[:3] == ["start", "(UTC)", "run"]
    assert len(lines) == 1 + len(listed(store))
    assert "\x1b" not in "".join(lines)


def test_the_table_of_several_services_with_large_numbers_fits_too(tmp_path):
    for service in ("a service with a long name", "b"):
        spent = {"gen_ai.usage.input_tokens": 12_345_678}
        body = request([agent(1, "a", took=40_000, attributes=spent, trace=len(service))], service=service)
        (tmp_path / f"{len(service)}.pb").write_bytes(body)
    run("import", str(tmp_path), "--store", str(tmp_path / "store"))
    for width in (80, 60):
        lines = run("runs", "--store", str(tmp_path / "store"), "--since", "all", width=str(width)).stdout.splitlines()
        assert len(lines) == 3 and max(map(len, lines)) <= width


def test_a_narrow_table_has_fewer_columns_and_cuts_no_id(store):
    ids = {one["run_id"][:8] for one in listed(store)}
    for width in (40, 50, 60):
        lines = run("runs", "--store", str(store), "--since", "all", width=str(width)).stdout.splitlines()
        assert max(map(len, lines)) <= width
        assert {word for line in lines[1:] for word in line.split()} >= ids
        assert "…" not in lines[0]


def test_show_tells_agents_calls_and_results_in_eighty_columns(store):
    (one,) = listed(store, "--path", "planner->worker", "--tool", "book_hotel")[:1] or listed(store)[:1]
    text = run("show", one["run_id"][:10], "--store", str(store)).stdout
    assert max(map(len, text.splitlines())) <= 80
    for word in (one["run_id"], *one["agents"], *(c["name"] for c in one["tool_calls"]), "tokens in", "arguments"):
        assert word in text


def test_show_nests_each_delegation_under_who_called(tmp_path):
    """The same agent called twice: what comes after it is the caller's again."""
    asked = [[("c1", "ask", {"task": "one"})], [("c2", "ask", {"task": "two"})], "both done"]
    steps = [agent(1, "planner", took=20)]
    for turn, answer in enumerate(asked):
        steps.append(chat(2 + 4 * turn, 1, answer, at=6 * turn + 0.5, took=0.4))
        if turn < 2:
            steps.append(tool(3 + 4 * turn, 1, "ask", call=f"c{turn + 1}", at=6 * turn + 1, took=4))
            steps.append(agent(4 + 4 * turn, "worker", parent=3 + 4 * turn, at=6 * turn + 1.5, took=3))
            steps.append(chat(5 + 4 * turn, 4 + 4 * turn, "done", at=6 * turn + 2))
    (tmp_path / "spans.pb").write_bytes(request(steps))
    assert run("import", str(tmp_path / "spans.pb"), "--store", str(tmp_path / "store")).exit_code == 0
    (one,) = listed(tmp_path / "store")
    shown = run("show", one["run_id"], "--store", str(tmp_path / "store")).output.splitlines()
    tree = [line for line in shown if "llm" in line or "worker from" in line or line == "planner"]
    began = [re.sub(r" ok .*", "", line) for line in tree]
    model, inner, called = "├── llm model-a", "│   └── llm model-a", "├── worker from planner, tool by ask"
    assert began == ["planner", model, called, inner, model, called, inner, "└── llm model-a"]


def test_show_takes_a_trace_and_prints_json(store):
    one = listed(store)[0]
    result = run("show", one["trace_ids"][0], "--store", str(store), "--format", "json")
    assert json.loads(result.stdout) == [one]


def test_show_looks_at_the_whole_store_unless_told_otherwise(store):
    (one, *_) = listed(store)
    later = ("show", one["run_id"], "--store", str(store), "--now", "2099-01-01")
    assert one["run_id"] in run(*later).stdout
    assert run(*later, "--since", "24h").exit_code == 2


def test_show_says_what_an_id_could_mean(store):
    assert run("show", "zz", "--store", str(store)).exit_code == 2
    assert run("show", "zz", "--store", str(store / "none")).exit_code == 4
    unknown = run("show", "0123456789", "--store", str(store))
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "begins with" in unknown.stderr


def test_exported_tables_hold_the_runs(store, tmp_path):
    whole = listed(store)
    text = run("export", "--store", str(store), "--since", "all", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["run_id"] for row in rows] == [r["run_id"] for r in whole]
    assert json.loads(rows[0]["path"]) == whole[0]["path"]
    for what, column in (("runs", "run_id"), ("traces", "trace_id")):
        target = tmp_path / f"{what}.parquet"
        args = ("--since", "all", "--format", "parquet", "--what", what, "--output", str(target))
        assert run("export", "--store", str(store), *args).exit_code == 0
        frame = pl.read_parquet(target)
        ids = {r["run_id"] for r in whole} if what == "runs" else {t for r in whole for t in r["trace_ids"]}
        assert set(frame[column]) == ids


def test_export_takes_only_what_is_selected(store):
    text = run("export", "--store", str(store), "--since", "all", "--service", "nobody").stdout
    assert text == ""


def test_doctor_says_what_an_instrumentation_carries(store):
    result = run("doctor", "--store", str(store), "--since", "all", "--format", "json")
    told = [f for f in json.loads(result.stdout) if f["check"] == "carries"]
    assert "pydantic-ai: 190 spans (190 explained" in told[0]["text"]
    assert "arguments 100%" in told[0]["text"]
    assert "bytes a span" in told[0]["text"]


@pytest.mark.full
def test_names_are_written_alike_everywhere_and_take_no_terminal_over(tmp_path):
    odd = "séarch\x1b[31m\nnow\u202e"
    body = request([agent(1, "wörker"), tool(2, 1, odd, result="très bien")])
    (tmp_path / "odd.pb").write_bytes(body)
    store = ("--store", str(tmp_path / "store"))
    run("import", str(tmp_path), *store)
    (one,) = listed(tmp_path / "store")
    shown = run("show", one["run_id"], *store).stdout
    assert "tool séarch\\x1b[31m\\nnow\\u202e " in shown
    assert "séarch\\x1b[31m\\nnow\\u202e" in run("report", "--since", "all", *store).stdout
    ascii_alone = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "NO_COLOR": "1", "COLUMNS": "80"}
    for words in (("show", one["run_id"]), ("runs", "--since", "all")):
        command = [sys.executable, "-m", "otelcov", *words, *store]
        done = subprocess.run(command, capture_output=True, env={**os.environ, **ascii_alone}, check=True)
        assert done.stdout.decode() == run(*words, *store).stdout


def test_who_reads_no_further_is_no_failed_gate(store):
    (one, *_) = listed(store)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "otelcov", "show", one["run_id"], "--store", str(store)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (4, b"")


def test_a_call_that_only_a_message_tells_of_has_no_time(tmp_path):
    body = request([agent(1, "a"), chat(2, 1, [("c", "search", {})])])
    (tmp_path / "asked.pb").write_bytes(body)
    run("import", str(tmp_path), "--store", str(tmp_path / "store"))
    (one,) = listed(tmp_path / "store")
    text = run("show", one["run_id"], "--store", str(tmp_path / "store")).stdout
    assert "tool search unknown  message\n" in text and "1 model call," in text
