"""Runs without content are those that are kept, and with it they are what reading everything gives, to the byte."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import polars as pl
import pytest
from typer.testing import CliRunner

from otelcov import runs as loading
from otelcov.cli import carried, instrumented
from otelcov.cli import runs as listing
from otelcov.cli.commands import app
from otelcov.cli.measuring import Question
from otelcov.coverage import observations
from otelcov.ground import settings
from otelcov.ground.schemas import no_runs
from otelcov.ground.selection import Selection
from otelcov.history import alerts
from otelcov.runs.filters import FILTERS, of_agents
from otelcov.runs.lines import json_lines
from otelcov.sums import kept, texts
from otelcov.sums.kept import slim
from tests import captures
from tests.bench.generate import HOUR
from tests.judge.traffic import SECOND, Said, Tool, request
from tests.sums.stores import BEGIN, NOW, QUESTIONS, bodies, guest_of
from tests.sums.stores import store as store

LATER = "2027-06-01T00:00:00Z"
GATE = """
version: 1
agents:
  - name: any
    expect:
      - target: coverage.overall
        matcher: {min: 1}
  - {name: one, select: {agent: worker, side: production}, tool_edges: {restricted: [query_ledger]}}
  - {name: nobody, select: {agent: nobody}}
"""
PLAIN_GATE = """
agents:
  - name: all
    tool_edges: {restricted: [query_ledger]}
    expect:
      - {target: coverage.path, matcher: {min: 0.1}}
      - {target: metrics.tool_calls, matcher: {min: 1}}
  - {name: production, select: {environment: production}, tool_edges: {allowed: [query_ledger, nothing]}}
"""


def told(asked, runs):
    return "".join(json_lines(runs, asked.config))


@pytest.fixture
def counted(store):
    """A store of which some is kept, some reopened by spans that came late, and some new."""
    sent = bodies()
    late = [sent[3], *sent[-4:], guest_of(sent)[0]]
    store.commit([body for body in sent if body not in late])
    store.count()
    store.commit(late)
    return store


@pytest.fixture
def asked_for_again(monkeypatch) -> list[str]:
    """The runs that were read beside others of their time."""
    ids, read = list[str](), texts._with_others

    def noted(run, *about):
        ids.append(run["run_id"].item())
        return read(run, *about)

    monkeypatch.setattr(texts, "_with_others", noted)
    return ids


@pytest.mark.parametrize("options", QUESTIONS)
def test_runs_that_are_kept_are_those_that_are_read(counted, options, asked_for_again, monkeypatch):
    monkeypatch.setattr(texts, "_FIRST", 40)
    monkeypatch.setattr(texts, "_MOST", 300)
    asked = counted.ask(now=NOW, **options)
    read, quality = asked.runs()
    listed = asked.listed()
    assert not listed.full
    assert listed.quality.items() <= quality.items()
    assert slim(read).equals(listed.rows)
    assert told(asked, pl.concat(listed.whole())) == told(asked, read)
    assert not asked_for_again


@pytest.mark.parametrize(
    "filters", [{"status": ["error"]}, {"tool": ["query_ledger"], "boundary": ["tool_failure"]}, {"path": ["nothing"]}]
)
def test_filters_choose_the_same_runs(counted, filters):
    asked = counted.ask(now=NOW, since="all", agent=["worker"])
    want = of_agents(asked.runs()[0], ["worker"])
    for option, values in filters.items():
        want = FILTERS[option](want, values)
    found = listing.found(asked, **filters)
    assert found.rows["run_id"].equals(want["run_id"])
    assert told(asked, pl.concat([no_runs(), *listing.whole(found)])) == told(asked, want)


@pytest.mark.parametrize("few", [20, 0])
def test_what_is_kept_of_a_run_is_right_and_its_traces_tell_its_words(counted, asked_for_again, monkeypatch, few):
    monkeypatch.setattr(texts, "_FEW", few)
    asked = counted.ask(now=NOW, since="all")
    other = pl.when(pl.int_range(pl.len()) == 5)
    kept = asked.listed().rows.with_columns(status=other.then(pl.lit("unknown")).otherwise("status"))
    read = asked.runs()[0].with_columns(status=other.then(pl.lit("unknown")).otherwise("status"))
    assert pl.concat(texts.with_content(kept, asked.store, asked.config, asked.now_ns)).equals(read)
    assert asked_for_again == [kept["run_id"][5]] * bool(few)


def test_a_run_of_which_others_tell_too_is_read_beside_them(counted, asked_for_again, monkeypatch):
    asked, reconstruct = counted.ask(now=NOW, since="all"), texts.reconstruct
    run = asked.listed().rows.filter((pl.col("status") == "ok") & (pl.col("trace_ids").list.len() == 1))[5]

    def as_one_of_several(spans, *about):
        alone = spans["trace_id"].n_unique() == 1
        return reconstruct(spans, *about).with_columns(status=pl.lit("unknown") if alone else "status")

    monkeypatch.setattr(texts, "reconstruct", as_one_of_several)
    read = asked.runs()[0].filter(run_id=run["run_id"].item())
    assert pl.concat(texts.with_content(run, asked.store, asked.config, asked.now_ns)).equals(read)
    assert asked_for_again == [run["run_id"].item()]


def test_a_run_that_is_no_more_is_told_without_content(counted, asked_for_again):
    asked = counted.ask(now=NOW, since="all")
    rows = asked.listed().rows.with_columns(
        trace_ids=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit(["00" * 16])).otherwise("trace_ids"),
        run_id=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit("00" * 16)).otherwise("run_id"),
    )
    found = pl.concat(texts.with_content(rows, asked.store, asked.config, asked.now_ns))
    assert found["run_id"].equals(rows["run_id"])
    assert found["input"][5] is None
    assert found["input"].null_count() == 1
    assert asked_for_again == ["00" * 16]


def answers(store, tmp_path, *commands: str) -> list[str]:
    shared = ["--store", store.path, "--now", NOW]
    found = []
    for command in commands:
        name, *rest = command.split()
        result = CliRunner().invoke(app, [name, *rest, *shared], env={"NO_COLOR": "1", "COLUMNS": "100"})
        assert not isinstance(result.exception, AssertionError | ValueError | TypeError), result.exception
        kept = tmp_path / "out.json"
        found.append(f"{result.exit_code} {result.output} {kept.read_bytes().hex() if kept.exists() else ''}")
        kept.unlink(missing_ok=True)
    return found


def test_every_command_says_the_same_before_and_after_the_count(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store.commit(bodies())
    (tmp_path / "gate.yaml").write_text(GATE)
    (tmp_path / "plain.yaml").write_text(PLAIN_GATE)
    run = store.ask(now=NOW, since="all").runs()[0].row(7, named=True)
    case = {"name": "one", "input": run["input"], "expected_tool_calls": [{"tool_name": "query_ledger"}]}
    (tmp_path / "cases.yaml").write_text(json.dumps({"cases": [case]}))
    named = {
        "name": "two",
        "select": {"trace": run["trace_ids"]},
        "turns": [{"input": run["input"], "limits": {"tool_calls": 9}}],
    }
    other = {"name": "nobody's", "expected_tool_calls": [{"tool_name": "query_ledger"}]}
    of_run = {"name": "three", "select": {"run": [run["run_id"]]}, "expected_response_contains": ["a"]}
    (tmp_path / "named.yaml").write_text(json.dumps({"cases": [named, other, of_run]}))
    (tmp_path / "nobody.yaml").write_text(json.dumps({"cases": [other]}))
    commands = (
        "runs --since all --format jsonl",
        "runs --since all --tool query_ledger",
        f"show {run['run_id'][:12]}",
        f"show {run['trace_ids'][0][:12]} --format json",
        "show 00000000",
        "show 0000",
        "gate gate.yaml --since all",
        "gate gate.yaml --since all --side staging --agent worker --format json",
        "gate gate.yaml --since all --per-run --format json",
        "gate plain.yaml --since all --format json",
        "gate plain.yaml --since all --environment production --format json",
        "gaps --since all --format json",
        "test cases.yaml --since all --no-keep --format json",
        "test cases.yaml --since all --no-keep --format json --side production",
        "test named.yaml --since all --no-keep --format json",
        "test nobody.yaml --since all --no-keep --format json",
        "compare cases.yaml --since all --by release --format json",
        "judge --rules-only --since all --format json",
        "judge --rules-only --since all --side staging --agent worker --format json",
        "why tool --since all",
        "why query_ledger --since all --format json",
        "why tool:query_ledger --since all --side production --agent worker --format json",
        "trend --since all --format json",
        "trend --since all --format json --by model --side production --agent worker",
        "undeclared --since all --format json",
        "learn --since all",
        "snapshot --since all --out out.json",
        "diff side=staging side=production --since all --format json",
        "export --since all --format jsonl",
        "export --since all --format csv",
        "export --since all --environment production --format otlp-json",
        "export --since all --environment production --format parquet --what traces --output out.json",
    )
    before = answers(store, tmp_path, *commands)
    assert [command for command, said in zip(commands, before, strict=True) if said[0] == "2"] == list(commands[4:6])
    store.count()
    monkeypatch.setattr(loading, "load", None)  # nobody reads all of it any more
    monkeypatch.setattr(observations, "_AT_A_TIME", 40)
    monkeypatch.setattr(observations, "_AT_ONCE", 50)
    rows, held = Question.rows, list[Question]()
    monkeypatch.setattr(Question, "rows", lambda asked: (held.append(asked), rows(asked))[1])
    assert store.ask(now=NOW, since="all").listed().full is False
    for command, was, now in zip(commands, before, answers(store, tmp_path, *commands), strict=True):
        assert now == was, command
    assert len(held) == 1  # gate --per-run: no other holds the rows of all runs


@pytest.mark.parametrize(
    "choice", [{}, pytest.param({"side": ["production"], "model": ["gpt-4o"]}, marks=pytest.mark.full)]
)
def test_alerts_see_the_same_before_and_after_the_count(store, monkeypatch, choice):
    store.commit(bodies())
    numbers = [{"name": metric, "metric": metric, "above": 0, "window": "9h", **choice} for metric in alerts.METRICS]
    unused = {"name": "unused", "edge": "worker/query_ledger", "unused_for": "9h", **choice}
    asked = store.ask(now=NOW)
    known = settings.of({"alerts": {"rules": [*numbers, unused]}})

    def checked():
        every = replace(asked, config=known, selection=Selection())
        found = alerts.check(known, store.path, lambda window: every.within(window=window).seen(), asked.now_ns)
        return [one.as_json() for one in found]

    before = checked()
    assert sum(one["value"] is not None for one in before) > len(before) / 2
    store.count()
    monkeypatch.setattr(loading, "load", None)
    monkeypatch.setattr(observations, "_AT_ONCE", 50)
    assert checked() == before


@pytest.mark.parametrize(
    "options",
    [
        ["--side", "production"],
        *(pytest.param(more, marks=pytest.mark.full) for more in ([], ["--service", "back-office"])),
    ],
)
def test_of_one_agent_sums_tell_without_a_look_at_the_runs(store, tmp_path, monkeypatch, options):
    store.commit(bodies())
    (tmp_path / "gate.yaml").write_text(GATE)
    shared = ["--store", store.path, "--since", "all", "--now", LATER]
    commands = [
        ["report", "--format", "json", "--agent", "worker", *options, *shared],
        ["gate", str(tmp_path / "gate.yaml"), *shared],
    ]

    def outputs() -> list[str]:
        return [CliRunner().invoke(app, command).output for command in commands]

    before = outputs()
    assert '"worker"' in before[0]
    store.count(LATER)
    monkeypatch.setattr(kept.Kept, "runs", None)
    assert outputs() == before


def test_an_agent_that_only_runs_show_which_have_not_settled_is_seen(store):
    store.commit(bodies())
    store.count()
    just = BEGIN + 3 * HOUR - SECOND
    new = request([Said("hello", "hi", [Tool("greet", {})], name="newcomer")], just - 30 * SECOND)
    root = new.resource_spans[0].scope_spans[0].spans[0]
    root.parent_span_id = b"\x01" * 8  # whose span has yet to come
    store.commit([new.SerializeToString()], received=just)
    said = {}
    for agent in ("newcomer", "nobody"):
        asked = ["report", "--store", store.path, "--since", "all", "--now", NOW, "--agent", agent, "--format", "json"]
        result = CliRunner().invoke(app, asked)
        assert json.loads(result.stdout)["runs"]["unsettled"] > 0
        said[agent] = "shows a step of the agent" in result.stderr
    assert said == {"newcomer": False, "nobody": True}


def test_of_many_runs_and_spans_doctor_looks_at_some(store, monkeypatch):
    store.commit(bodies())
    window, now_ns = store.ask(since="all", now=NOW).window, store.ask(now=NOW).now_ns
    asked = (store.path, store.ask(now=NOW).config, window, now_ns)

    def findings() -> dict[str, list[str]]:
        found = dict[str, list[str]]()
        for one in carried.stored(*asked):
            found.setdefault(one.check, []).append(one.text)
        return found

    whole = findings()
    store.count()
    assert findings() == whole
    monkeypatch.setattr(carried, "_LOOKED_AT", 10)
    monkeypatch.setattr(instrumented, "_MOST", 300)
    monkeypatch.setattr(instrumented, "_RARE", 40)
    some = findings()
    assert some["spans"] == [text for text in whole["spans"] if "no output text" not in text]  # not of the newest
    told, *services = some["carries"]
    assert re.fullmatch(r"what follows is told by 3\d\d of 1,500 spans, some of each file", told)
    assert {text.split(",")[0] for text in services} == {text.split(",")[0] for text in whole["carries"]}


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "dialect"), [(kind, d) for kind in ("corpus", "more") for d in captures.dialects(kind)]
)
def test_captures_are_listed_as_they_are_read(store, kind, dialect, asked_for_again, monkeypatch):
    monkeypatch.setattr(texts, "_FIRST", 30)
    packed = captures.packed(kind, dialect)
    store.commit(*([body for scenario in packed for body in scenario.bodies(of)] for of in ("traces", "logs")))
    store.count(LATER)
    asked = store.ask(now=LATER, since="all")
    read, _ = asked.runs()
    assert pl.concat(asked.listed().whole()).equals(read)
    assert json.dumps(asked_for_again) == "[]"
