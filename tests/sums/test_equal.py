"""A report from kept sums is the report that counts everything now, to the byte."""

from __future__ import annotations

import random
import time
from functools import partial as bound
from pathlib import Path

import polars as pl
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typer.testing import CliRunner

from otelcov.cli.commands import app
from otelcov.cli.measuring import Question
from otelcov.engine.here import Here
from otelcov.ground import windows
from otelcov.runs import slices
from otelcov.store import pieces, upkeep
from otelcov.sums import answer, build, kept, opened, rolled
from tests.bench.generate import HOUR, Traffic
from tests.runs.requests import T0, agent, chat, request, tool
from tests.store.otlp import log_request
from tests.sums.stores import BEGIN, FIRST, NOW, QUESTIONS, Store, bodies, equal, guest_of, made
from tests.sums.stores import store as store


def test_kept_sums_know_the_columns_of_a_survey():
    assert kept.TRACES == slices.TRACES


def test_kept_sums_give_the_same_report(store):
    store.commit(bodies())
    listed = store.count()
    assert sum(batch.runs for batch in listed.batches) > 100
    equal(store, questions=QUESTIONS)


@pytest.mark.full
def test_what_comes_after_the_count_is_counted_live(store):
    sent = bodies()
    half = len(sent) // 2
    store.commit(sent[:half])
    store.count()
    store.commit(sent[half:])
    equal(store)


@pytest.mark.full
def test_counting_bit_by_bit_in_any_order_gives_the_same_report(store):
    sent = bodies()
    random.Random(7).shuffle(sent)
    for first in range(0, len(sent), 20):
        store.commit(sent[first : first + 20])
        store.count()
    equal(store)
    assert store.count().rolled


@pytest.mark.full
def test_only_batches_that_a_window_cuts_are_counted_from_run_rows(store):
    sent = bodies()
    quarter = len(sent) // 4
    for first in range(0, len(sent), quarter):
        store.commit(sent[first : first + quarter])
        listed = store.count()
    ranges = sorted(batch.begins for batch in listed.batches)
    (first, last), inside = (ranges[0][0], max(last for _, last in ranges)), ranges[1]
    for since, until in ((first, last + 1), (inside[0], inside[1] + 1), (inside[0] + 1, inside[1])):
        window = {"since": windows.iso(since), "until": windows.iso(until)}
        equal(store, questions=[window])
        asked = store.ask(**window)
        found = answer._found(store.path, asked.window, asked.selection, asked.config, asked.now_ns, None, 0, days=True)
        cut = [one for one in ranges if one[0] < since <= one[1] or one[0] < until <= one[1]]
        assert len(found.runs) == len(cut) + 1  # the runs of open traces


@pytest.mark.full
def test_counting_some_files_at_a_time_gives_the_same_report(store):
    sent = bodies()
    for first in range(0, len(sent), 8):
        store.commit(sent[first : first + 8])
    asked = store.ask(since="all")
    left = [build.uncounted(store.path, asked.config)]
    while left[-1]:
        assert build.build(store.path, asked.config, asked.now_ns, Here().map, most=600)
        left.append(build.uncounted(store.path, asked.config))
        equal(store, questions=FIRST)
    assert len(left) > 3 and left == sorted(left, reverse=True)


@pytest.mark.full
def test_many_batches_of_an_hour_are_put_together_while_it_lasts(store, monkeypatch):
    monkeypatch.setattr(build, "MANY", 3)
    monkeypatch.setattr(build, "LARGE", 400)
    sent = bodies()
    for first in range(0, len(sent), 4):
        store.commit(sent[first : first + 4])
        listed = store.count("2026-01-01T01:50:00Z")
    equal(store)
    assert listed.rolled
    assert len(listed.batches) < len(sent) // 4
    store.commit(sent[:2])  # a batch that was put together is reopened
    equal(store)


@pytest.mark.full
@pytest.mark.parametrize("little", [pytest.param(0, marks=pytest.mark.full), 200_000])
def test_a_day_that_is_over_and_rests_is_read_as_one(store, monkeypatch, little):
    monkeypatch.setattr(rolled, "LITTLE", little)
    later, sent = "2026-01-03T00:00:00Z", bodies()
    day = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}
    store.commit(sent)
    whole = store.count(later)
    assert {stretch.hours for stretch in whole.rolled} == ({24} if little else {1, 24})
    asked = store.ask(now=later, **day)
    found = answer._found(store.path, asked.window, asked.selection, asked.config, asked.now_ns, None, 0, days=True)
    assert [stretch.hours for stretch in whole.rolled if stretch.file in found.whole] == [24]
    equal(store, later, questions=[day, *FIRST])
    store.commit(sent[:2])  # the day is reopened
    equal(store, later, questions=[day])
    assert 24 not in {stretch.hours for stretch in store.count(later).rolled}
    equal(store, later, questions=[day])
    monkeypatch.setattr(rolled, "_RESTS_S", -1)
    store.commit(sent[2:4])
    assert 24 in {stretch.hours for stretch in store.count(later).rolled}
    equal(store, later, questions=[day, *FIRST])


@pytest.mark.full
def test_a_day_that_is_counted_at_one_go_need_not_rest(store):
    later = "2026-01-04T00:00:00Z"
    store.commit(bodies())
    store.count(later)
    store.commit(list(made(Traffic(300, request_spans=64, seed=1, since_ns=BEGIN + 24 * HOUR, length_ns=2 * HOUR))))
    assert [stretch.hours for stretch in store.count(later).rolled] == [24, 24]
    equal(store, later)


@pytest.mark.full
def test_spans_sent_again_are_told_as_duplicates_once(store):
    sent = bodies()
    store.commit(sent)
    store.count()
    store.commit(sent[:20])
    equal(store, questions=FIRST)
    store.count()
    store.commit(sent[10:15])
    equal(store)


def test_a_late_span_reopens_its_trace_and_no_other_batch(store):
    sent = bodies()
    late = ExportTraceServiceRequest.FromString(sent[3])
    del late.resource_spans[0].scope_spans[0].spans[1:]
    store.commit(sent)
    before = {batch.id for batch in store.count().batches}
    span = late.resource_spans[0].scope_spans[0].spans[0]
    span.span_id, span.end_time_unix_nano = b"lateness", span.end_time_unix_nano + 1
    store.commit([late.SerializeToString()])
    equal(store, questions=FIRST)
    after = {batch.id for batch in store.count().batches}
    assert len(before - after) == 1
    equal(store)


@pytest.mark.full
def test_runs_that_have_not_settled_stay_out_until_they_have(store):
    sent = bodies()
    store.commit(sent)
    early = "2026-01-01T01:00:00Z"
    store.count(early)
    equal(store, early)
    equal(store, questions=FIRST)
    store.count()
    equal(store, early, questions=FIRST)
    equal(store)


@pytest.mark.full
def test_a_clock_before_that_of_the_first_count_finds_runs_that_have_not_settled(store):
    without_root = [tool(2, 9, "search", trace=7, at=(BEGIN - T0) / 10**9)]
    store.commit([*bodies(300), request(without_root)])
    store.count()
    early = windows.iso(BEGIN + 30 * 10**9)
    store.commit(bodies(300)[:1])
    store.count(early)
    equal(store, early)
    equal(store)


@pytest.mark.full
def test_an_earlier_clock_counts_nothing_again_that_has_its_root(store):
    store.commit(bodies())
    listed = store.count()
    early = windows.iso(BEGIN + 30 * 10**9)
    asked = store.ask(since="all", now=early)
    again = opened.opened(listed, pieces.look(store.path), asked.now_ns, asked.config.runs.max_run_ns).early
    assert listed.batches and not again.height
    equal(store, early)


@pytest.mark.full
def test_a_trace_that_goes_on_in_what_a_step_leaves_is_not_counted_without_it(store):
    whole, rest = ExportTraceServiceRequest.FromString(bodies(300)[0]), ExportTraceServiceRequest()
    rest.CopyFrom(whole)
    roots = [span for span in whole.resource_spans[0].scope_spans[0].spans if not span.parent_span_id]
    for some, wanted in ((whole, False), (rest, True)):
        spans = [span for span in some.resource_spans[0].scope_spans[0].spans if (span in roots) == wanted]
        del some.resource_spans[0].scope_spans[0].spans[:]
        some.resource_spans[0].scope_spans[0].spans.extend(spans)
    store.commit([whole.SerializeToString(), *bodies(300)[1:]])
    written = store.tables.spans.files()["written_ms"].max()
    while time.time() * 1_000 <= written + 1:
        time.sleep(0.001)
    store.commit([rest.SerializeToString()])
    asked = store.ask(since="all")
    few = build.uncounted(store.path, asked.config) - len(roots)
    assert build.build(store.path, asked.config, asked.now_ns, Here().map, most=few)  # long after all have ended
    listed = kept.load(build.folder(store.path, asked.config))
    assert build.uncounted(store.path, asked.config) == len(roots) > 0
    assert {span.trace_id for span in roots} <= set(listed.left_out()["trace_id"])
    equal(store)
    store.count()
    equal(store)


@pytest.mark.full
def test_a_run_that_ends_in_the_last_year_there_is_never_settles(store):
    last = (2**63 - 1 - T0) / 10**9 - 1
    store.commit([*bodies(300), request([tool(2, 9, "search", trace=7, at=last, took=0.9)])])
    assert store.count().left_out().height == 1
    equal(store)


@pytest.mark.full
def test_a_run_whose_root_has_come_is_counted_within_seconds(store):
    store.commit(bodies())
    end = int(store.ask(since="all").runs()[0]["end_unix_nano"].max())
    soon = f"{windows.iso(end + 3 * 10**9)}"
    listed = store.count(soon)
    assert listed.left_out().height == 1  # the last run lacks its root
    early = windows.iso(end - 600 * 10**9)  # a clock that stands before its end tells the same
    for now in (soon, early, NOW):
        equal(store, now, questions=FIRST)


@pytest.mark.full
def test_traces_whose_roots_have_not_come_wait_as_they_are_and_are_counted_with_them(store):
    without, roots = [], []
    for body in bodies():
        for kept_spans, wanted in ((without, False), (roots, True)):
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    some = [span for span in scope.spans if (not span.parent_span_id) == wanted]
                    del scope.spans[:]
                    scope.spans.extend(some)
            kept_spans.append(request.SerializeToString())
    early = "2026-01-01T00:00:30Z"  # nothing is quiet yet
    store.commit(without[::2])
    first = store.count(early)
    assert not first.batches
    assert first.left_rows()[0].height == first.left_out()["spans"].sum() > 0
    store.commit(without[1::2])
    store.commit(roots[:10])
    assert not store.count(early).batches
    store.count()
    equal(store, questions=FIRST)
    store.commit(roots[10:])
    equal(store, questions=FIRST)
    whole = store.count()
    assert whole.left_out().height <= 1  # the last run, which has lost its root
    equal(store)


@pytest.mark.full
@pytest.mark.parametrize(
    "first", ["the call", *(pytest.param(one, marks=pytest.mark.full) for one in ("the agent", "both"))]
)
def test_an_agent_and_the_call_in_another_trace_are_one_run_in_whatever_order_they_are_counted(store, first):
    sent = bodies()
    guest, host = guest_of(sent)
    store.commit([*sent, guest] if first == "both" else [guest] if first == "the agent" else sent)
    listed = store.count()
    if first == "the call":
        assert host not in {trace.hex() for trace in listed.left_out()["trace_id"]}  # nothing waits for nobody
    if first != "both":
        store.commit(sent if first == "the agent" else [guest])
    for _ in range(2):
        equal(store, questions=FIRST)
        runs = store.ask(since="all").runs()[0]
        together = runs.filter(pl.col("trace_ids").list.contains(host))["trace_ids"].to_list()
        assert together == [sorted([host, (b"g" * 16).hex()])]
        store.count()
    equal(store)


@pytest.mark.full
def test_an_agent_whose_root_comes_after_a_count_is_told_with_its_call(store):
    sent = bodies()
    guest, host = guest_of(sent)
    root, rest = ExportTraceServiceRequest.FromString(guest), ExportTraceServiceRequest.FromString(guest)
    del root.resource_spans[0].scope_spans[0].spans[1:], rest.resource_spans[0].scope_spans[0].spans[:1]
    store.commit([*sent, rest.SerializeToString()])
    assert b"g" * 16 in set(store.count().left_out()["trace_id"])
    store.commit([root.SerializeToString()])
    for _ in range(2):
        equal(store)
        runs = store.ask(since="all").runs()[0]
        assert runs.filter(pl.col("trace_ids").list.len() == 2)["trace_ids"].to_list() == [
            sorted([host, (b"g" * 16).hex()])
        ]
        store.count()


@pytest.mark.full
@pytest.mark.parametrize("later", ["root", pytest.param("call", marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "at", [5 - T0 / 10**9, pytest.param(2**63 / 10**9 - T0 / 10**9, marks=pytest.mark.full)], ids=["long ago", "far on"]
)
def test_spans_whose_clock_is_far_off_are_told_with_their_trace_whichever_come_first(store, later, at):
    parts = {
        "root": request([agent(1, "planner", at=(BEGIN - T0) / 10**9)]),
        "call": request([tool(2, 1, "search", at=at)]),
    }
    last = parts.pop(later)
    store.commit([*bodies(300), *parts.values()], received=BEGIN + HOUR)
    store.count()
    store.commit([last], received=BEGIN + HOUR)
    for _ in range(2):
        equal(store, questions=QUESTIONS[1:2])
        runs = store.ask(since="all").runs()[0]
        assert runs.filter(pl.col("trace_ids").list.contains("01".zfill(32)))["spans"].to_list() == [2]
        store.count()


@pytest.mark.full
@pytest.mark.parametrize(
    "first", ["producer", *(pytest.param(one, marks=pytest.mark.full) for one in ("consumer", "both"))]
)
def test_traces_that_a_link_joins_are_one_run_in_whatever_order_they_are_counted(store, first):
    begin = BEGIN / 10**9 - T0 / 10**9
    parts = {
        "producer": request([agent(1, "planner", at=begin, took=9), tool(2, 1, "search", at=begin)]),
        "consumer": request(
            [agent(3, "listener", trace=2, at=begin + 2, links=[(1, 1)]), chat(4, 3, "done", trace=2, at=begin + 2)]
        ),
    }
    store.commit([*bodies(300), *(parts.values() if first == "both" else [parts.pop(first)])])
    store.count()
    if first != "both":
        store.commit(list(parts.values()))
    for _ in range(2):
        equal(store)
        runs = store.ask(since="all").runs()[0]
        assert runs.filter(pl.col("trace_ids").list.len() > 1).height == 1
        store.count()
    equal(store)


@pytest.mark.full
@pytest.mark.parametrize(
    "asked", [[("call_Ab3dE5fG7hI9jK1lM", "search", {})], pytest.param("Cold.", marks=pytest.mark.full)]
)
@pytest.mark.parametrize(
    "first", ["framework", *(pytest.param(one, marks=pytest.mark.full) for one in ("client", "both"))]
)
def test_what_two_instrumentations_tell_is_one_run_in_whatever_order_they_are_counted(store, first, asked):
    begin = BEGIN / 10**9 - T0 / 10**9
    parts = {
        "framework": request(
            [agent(1, "planner", at=begin, took=9, scope="framework"), chat(2, 1, asked, at=begin, scope="framework")]
        ),
        "client": request([chat(3, None, asked, trace=2, at=begin, scope="client")]),
    }
    store.commit([*bodies(300), *(parts.values() if first == "both" else [parts.pop(first)])])
    store.count()
    if first != "both":
        store.commit(list(parts.values()))
    for _ in range(2):
        equal(store, questions=FIRST)
        runs = store.ask(since="all").runs()[0]
        assert runs.filter(pl.col("trace_ids").list.len() > 1)["llm_calls"].list.len().to_list() == [1]
        store.count()
    equal(store)


@pytest.mark.full
def test_spans_of_another_hour_are_told_with_a_trace_that_was_left_also_where_records_came(store):
    before = (BEGIN + 3 * HOUR) / 10**9 - T0 / 10**9 - 5  # five seconds before NOW
    store.commit([*bodies(300), request([tool(2, 1, "search", at=before)])])
    assert store.count().left_out().height == 1
    store.commit([request([agent(1, "planner", at=before - 3600, took=3601)])], [log_request("told", at=BEGIN)])
    equal(store)


def test_a_run_beyond_the_longest_is_told_alike_before_it_is_counted_and_after(store):
    begin = (BEGIN - T0) / 10**9
    store.commit(
        [*bodies(300), request([agent(1, "planner", at=begin, took=27_000), tool(2, 1, "x", at=begin + 26_000)])]
    )
    window = {"since": windows.iso(BEGIN + 7 * HOUR), "until": windows.iso(BEGIN + 8 * HOUR)}
    asked = store.ask("2026-01-01T10:00:00Z", **window)
    before, _ = asked.briefly()
    assert not before.rows.height  # it began seven hours before
    store.count("2026-01-01T10:00:00Z")
    assert asked.briefly()[0].rows.equals(before.rows)


def test_a_large_store_of_which_nothing_is_kept_is_read_where_the_window_lies(store):
    store.commit(bodies())
    asked = store.ask(since="all")
    assert answer.observed(store.path, asked.window, asked.selection, asked.config, asked.now_ns, live=5_000) is None


def test_an_hour_that_upkeep_rewrote_is_not_counted_again(store):
    sent = bodies()
    store.commit(sent[::2])
    store.commit(sent[1::2])
    before = store.count()
    assert upkeep.tidy(store.path, BEGIN + 4 * HOUR)
    equal(store)
    assert {b.id for b in store.count().batches} == {b.id for b in before.batches}


@pytest.mark.full
def test_an_hour_that_others_deleted_from_is_counted_anew(store):
    store.commit(bodies())
    store.count()
    trace = store.ask(since="all").runs()[0]["trace_ids"][0][0]
    upkeep.erase(store.path, {bytes.fromhex(trace)})
    equal(store)
    store.count()
    equal(store)


@pytest.mark.parametrize("what", [("--trace", "07".zfill(32)), ("--older-than", NOW)])
def test_what_is_removed_is_in_no_file_of_what_was_counted(store, what):
    waits = [tool(2, 9, "search", trace=7, at=(BEGIN + 3 * HOUR - T0) / 10**9 - 5)]
    store.commit([*bodies(300), request(waits)])
    listed = store.count()
    assert "search" in str(listed.left_rows()[0]["attributes"].to_list())
    done = CliRunner().invoke(app, ["prune", *what, "--store", store.path, "--now", NOW])
    assert done.exit_code == 0, done.output
    assert not (Path(store.path) / "sums").exists()


def test_two_collectors_with_a_trace_each_in_part(tmp_path):
    one, two = Store(tmp_path / "store"), Store(tmp_path / "store")
    sent = bodies()
    one.commit(sent[0::2])
    one.count()
    two.commit(sent[1::2])
    equal(one, questions=FIRST)
    two.count()
    equal(one)


def test_kept_run_rows_hold_no_content(store):
    store.commit(bodies())
    listed = store.count()
    for batch in listed.batches:
        runs = listed.runs(batch)
        assert runs["input"].null_count() == runs["output"].null_count() == runs.height
        calls = runs["tool_calls"].explode().struct.unnest().drop_nulls("name")
        assert calls.select(pl.col("arguments", "arguments_text", "result").is_null().all()).row(0) == (True,) * 3


def test_another_meaning_is_another_folder(store, tmp_path):
    aliases = tmp_path / "otelcov.toml"
    aliases.write_text('[models.big]\naliases = ["gpt-4o"]\n')
    longest = tmp_path / "longest.toml"
    longest.write_text('[runs]\nmax_run = "2h"\n')
    thresholds = tmp_path / "other.toml"
    thresholds.write_text("[thresholds]\ntool = 80\n")
    folder = bound(build.folder, store.path)
    plain = folder(Question.of(store.path).config)
    for changed in (aliases, longest):
        assert folder(Question.of(store.path, config=changed).config) != plain
    assert folder(Question.of(store.path, config=thresholds).config) == plain


@pytest.mark.full
def test_a_list_that_cannot_be_read_is_no_list(store):
    store.commit(bodies(1_000))
    listed = store.count()
    (listed.folder / kept.LIST).write_text("{")
    assert not kept.load(listed.folder).batches
    equal(store)
    assert store.count().batches
