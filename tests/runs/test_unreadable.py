"""A fault over one trace costs what is known of its run, and of no other."""

import json
from importlib import import_module

import pytest
from rich.console import Console

from otelcov.cli.tree import tree
from otelcov.coverage.observations import partial
from otelcov.ground.config import BOUNDARIES, Config
from otelcov.runs import unreadable
from tests.captures import LATER
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

reconstruct = import_module("otelcov.runs.reconstruct")


@pytest.fixture(autouse=True)
def forgiving(monkeypatch):
    monkeypatch.delenv("OTELCOV_STRICT")
    monkeypatch.setattr(unreadable, "_said", set())


def _spans():
    """Three runs, of no regular form."""
    for trace in (1, 2, 3):
        yield agent(1, f"a{trace}", trace=trace, at=trace, took=9)
        yield chat(2, 1, [("c1", "look", {})], "go", trace=trace, at=trace)
        yield tool(3, 1, "look", "c1", "sun", trace=trace, at=trace + 2)
        yield tool(5, 1, "look", "c1", "sun", trace=trace, at=trace + 2)
        yield chat(4, 1, "done", trace=trace, at=trace + 4)


def _break(monkeypatch, name, poisoned):
    """Makes that step of the reconstruction fail over the second trace."""
    good = getattr(reconstruct, name)

    def step(given, *more):
        if poisoned(given):
            raise TypeError("expected text, got list")
        return good(given, *more)

    monkeypatch.setattr(reconstruct, name, step)


def _second(span):
    return span.trace_id[-1] == 2


@pytest.mark.parametrize(
    ("name", "poisoned"),
    [
        ("assemble", lambda group: _second(group[0].root.span)),
        ("fragments", lambda trace: _second(trace.nodes[0].span)),
        ("Trace", lambda spans: _second(spans[0])),
        ("waits", lambda fragment: _second(fragment.root.span)),
    ],
)
def test_a_trace_that_cannot_be_read_is_told_with_nothing_known_and_the_others_as_they_are(
    name, poisoned, monkeypatch, capsys
):
    usual = runs(*_spans())
    _break(monkeypatch, name, poisoned)
    first, lost, last = runs(*_spans())
    assert [first, last] == [usual[0], usual[2]]
    assert {key: lost[key] for key in ("run_id", "trace_ids", "service", "start_unix_nano", "end_unix_nano")} == {
        key: usual[1][key] for key in ("run_id", "trace_ids", "service", "start_unix_nano", "end_unix_nano")
    }
    assert (lost["status"], lost["tool_calls"], lost["llm_calls"], lost["delegations"]) == ("unknown", None, None, None)
    assert lost["boundaries_unknown"] == list(BOUNDARIES)
    assert unreadable.REASON in lost["incomplete"]
    said = capsys.readouterr().err
    assert usual[1]["trace_ids"][0] in said
    assert "TypeError: 'expected text, got list'" in said


def test_where_parts_cannot_be_put_together_nothing_is_known_of_any_and_other_runs_are_as_they_are(monkeypatch, capsys):
    loose = [chat(n, None, [("c", "look", {})] if n == 1 else "done", "go", trace=7 + n, at=100 + n) for n in (1, 2)]
    usual = runs(*_spans())
    _break(monkeypatch, "join", bool)
    found = runs(*_spans(), *loose)
    assert found[:3] == usual
    assert [(r["status"], r["tool_calls"], unreadable.REASON in r["incomplete"]) for r in found[3:]] == [
        ("unknown", None, True)
    ] * 2
    assert "could not be read" in capsys.readouterr().err


def test_a_call_that_cannot_be_read_costs_nothing_of_those_that_stand_alone_as_it_does(monkeypatch):
    loose = [chat(1, None, f"done {n}", "go", trace=n, at=100 * n) for n in (1, 2, 3)]
    usual = runs(*loose)
    reading = import_module("otelcov.runs.llm.model_call")
    good = reading.read_input

    def read_input(layers):
        if _second(layers[0].span):
            raise TypeError("expected text, got list")
        return good(layers)

    monkeypatch.setattr(reading, "read_input", read_input)
    first, lost, last = runs(*loose)
    assert [first, last] == [usual[0], usual[2]]
    assert (lost["trace_ids"], lost["status"], lost["llm_calls"]) == (usual[1]["trace_ids"], "unknown", None)


def test_a_trace_without_a_step_of_an_agent_is_no_run_though_it_cannot_be_read(monkeypatch, capsys):
    usual = runs(*_spans())
    _break(monkeypatch, "Trace", lambda spans: spans[0].trace_id[-1] == 9)
    assert runs(*_spans(), span(1, name="GET /", trace=9)) == usual
    assert "it shows no step of an agent" in capsys.readouterr().err


def test_a_fault_is_said_once_however_many_traces_it_is_over(monkeypatch, capsys):
    _break(monkeypatch, "assemble", lambda group: True)
    assert [r["incomplete"].count(unreadable.REASON) for r in runs(*_spans())] == [1, 1, 1]
    assert capsys.readouterr().err.count("\n") == 1


def test_a_value_of_a_type_that_its_column_has_not_costs_its_run_alone(monkeypatch):
    usual, good = runs(*_spans()), reconstruct.assemble

    def assemble(group, *more):
        return good(group, *more) | ({"output": ["x"]} if _second(group[0].root.span) else {})

    monkeypatch.setattr(reconstruct, "assemble", assemble)
    first, lost, last = runs(*_spans())
    assert [first, last] == [usual[0], usual[2]]
    assert (lost["run_id"], lost["output"], lost["status"]) == (usual[1]["run_id"], None, "unknown")


def test_where_the_shortcut_fails_every_trace_goes_the_long_way_and_it_says_so(monkeypatch, capsys):
    regular = [span for span in _spans() if span["id"] != 5]
    usual = runs(*regular)
    _break(monkeypatch, "regular", lambda frame: True)
    assert runs(*regular) == usual
    assert "The shortcut failed" in capsys.readouterr().err


def test_what_is_known_of_the_spans_themselves_is_told_of_such_a_run_too(monkeypatch):
    """What a run weighs is of its spans, and none of what could not be read."""
    sampled = [{**span, "attributes": span["attributes"] | {"SampleRate": 4}} for span in _spans()]
    away = {**tool(6, 99, "look", "c2", "sun", trace=2, at=4), "scope": "strange"}
    told = frames([("traces", request([*sampled, away]))])
    usual = reconstruct.reconstruct(*told, Config(), LATER)
    _break(monkeypatch, "Trace", lambda spans: _second(spans[0]))
    found = reconstruct.reconstruct(*told, Config(), LATER)
    columns = ["trace_ids", "sampled", "weight", "dropped_attributes", "masked"]
    assert (
        found.unique("trace_ids")
        .sort("trace_ids")
        .select(columns)
        .equals(usual.unique("trace_ids").sort("trace_ids").select(columns))
    )
    assert found["weight"].to_list() == [4.0] * found.height
    assert found["orphans"].sum() == 1


def test_such_runs_are_counted_and_shown(monkeypatch):
    _break(monkeypatch, "assemble", lambda group: _second(group[0].root.span))
    found = reconstruct.reconstruct(*frames([("traces", request(_spans()))]), Config(), LATER)
    partial(found, Config())
    console = Console(width=80)
    with console.capture() as shown:
        console.print(tree(found.row(1, named=True), "test", 80))
    assert unreadable.REASON in shown.get()
    json.dumps([reconstruct.run_json(row, {}) for row in found.iter_rows(named=True)])


def test_want_of_memory_is_no_fault_of_a_trace(monkeypatch):
    def assemble(*_):
        raise MemoryError

    monkeypatch.setattr(reconstruct, "assemble", assemble)
    with pytest.raises(MemoryError):
        runs(*_spans())


def test_where_faults_are_to_be_seen_they_are_raised(monkeypatch):
    monkeypatch.setenv("OTELCOV_STRICT", "1")
    _break(monkeypatch, "assemble", lambda group: True)
    with pytest.raises(TypeError, match="expected text"):
        runs(*_spans())
