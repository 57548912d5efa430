"""Runs at one moment, as of a service that many use: they are told apart as those one after another are."""

import random

import polars as pl
import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.captures import LATER, as_json
from tests.runs.requests import SECOND, T0, agent, chat, runs, tool

# Those that open traces of their own for each model call or tool.
LOOSE = (
    *("langgraph--openllmetry", "mcp-loop--mcp-sdk-native", "mcp-loop--openllmetry-mcp"),
    *("openai-loop--otel-openai-v2", "openai-loop--otel-openai-v2-latest-events"),
)
ALONE = {  # beside others of their set nothing tells who called whom: no words, or the same ones
    *(("openai-loop--otel-openai-v2--nocontent", "S5"), ("elastic--loop", "S18"), ("agents--langsmith", "S18")),
}


def _begun_at(frame, columns, by):
    """The same rows, so many nanoseconds later."""
    moved = (pl.when(pl.col(c) > 0).then(pl.col(c).cast(pl.Int64) + by).otherwise(0) for c in columns)
    frame = frame.with_columns(column.cast(pl.UInt64).alias(name) for name, column in zip(columns, moved, strict=True))
    if "events" not in frame.columns:
        return frame
    at = pl.field("time_unix_nano")
    later = pl.when(at > 0).then(at.cast(pl.Int64) + by).otherwise(0).cast(pl.UInt64)
    return frame.with_columns(
        events=pl.col("events").list.eval(pl.element().struct.with_fields(later.alias("time_unix_nano")))
    )


def _moved(scenario, at):
    spans, logs = from_requests(scenario.bodies("traces"), scenario.bodies("logs"), 1)
    by = at - int(spans["start_time_unix_nano"].min())
    return (
        _begun_at(spans, ("start_time_unix_nano", "end_time_unix_nano"), by),
        _begun_at(logs, ("time_unix_nano", "observed_time_unix_nano"), by),
    )


def _same_at_once(scenarios, seed):
    rng = random.Random(seed)
    moved = [_moved(s, T0 + int(rng.random() * 0.3 * SECOND)) for s in scenarios]
    apart = [run for spans, logs in moved for run in as_json(reconstruct(spans, logs, Config(), LATER))]
    together = reconstruct(*(pl.concat(frames) for frames in zip(*moved, strict=True)), Config(), LATER)
    assert len(apart) >= 4
    assert as_json(together) == sorted(apart, key=lambda run: (run["start_unix_nano"], run["run_id"]))


@pytest.mark.full
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.full] * bool(at)) for at, n in enumerate(LOOSE)])
def test_runs_at_one_moment_are_told_apart(name):
    _same_at_once(captures.packed("corpus", name), 0)


@pytest.mark.full
@pytest.mark.parametrize("set_name, name", [(s, name) for s in ("corpus", "more") for name in captures.dialects(s)])
def test_runs_of_every_dialect_at_one_moment_are_told_apart(set_name, name):
    some = [s for s in captures.packed(set_name, name) if s.requests and (name, s.name) not in ALONE]
    _same_at_once(some, len(name))


def _asked(words, *told, prompt="You plan."):
    """The messages of a model's input; `told` as (call, tool, arguments, result)."""
    said = [("system", prompt), ("user", words)]
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said]
    for call, name, arguments, result in told:
        request = {"type": "tool_call", "id": call, "name": name, "arguments": arguments}
        answer = {"type": "tool_call_response", "id": call, "response": result}
        messages += [{"role": "assistant", "parts": [request]}, {"role": "tool", "parts": [answer]}]
    return messages


ASKED = ("c1", "research", {"topic": "Oslo"}, "A fjord.")


@pytest.mark.parametrize(
    ("words", "prompt", "at", "together"),
    [
        ("Tell me of Oslo.", "You plan.", 2, False),  # the same agent, for somebody else
        ("Oslo", "You plan.", 2, True),
        ("Research Oslo.", "You search.", 2, True),
        ("Research Rome.", "You search.", 2, False),
        ("Research Oslo.", "You search.", 6.5, False),  # and still at work when that was told what came of it
    ],
)
def test_who_called_is_told_by_words_and_time(words, prompt, at, together):
    first = chat(1, None, [("c1", "research", {"topic": "Oslo"})], _asked("Where to?"), trace=1)
    last = chat(2, None, "To Oslo.", _asked("Where to?", ASKED), at=7, trace=2)
    other = chat(3, None, "A fjord.", _asked(words, prompt=prompt), at=at, trace=3)
    assert len(runs(first, last, other)) == (1 if together else 2)


def test_of_two_callers_of_the_same_words_the_one_called_who_was_told_the_answer():
    def asking(id, words, result, at):
        told = (f"c{id}", "research", {"topic": "Oslo"}, result)
        asked = [(f"c{id}", "research", {"topic": "Oslo"})]
        return (
            chat(id, None, asked, _asked(words), at=at, trace=id),
            chat(id + 1, None, "Done.", _asked(words, told), at=8 + at, trace=id + 1),
        )

    inner = chat(9, None, "A fjord.", _asked("Oslo", prompt="You search."), at=3, trace=9)
    for results in (("A fjord.", "A town."), ("A town.", "A fjord.")):
        found = runs(*asking(1, "Where to?", results[0], 0), *asking(3, "What now?", results[1], 0.5), inner)
        told = {run["input"]: len(run["llm_calls"]) for run in found}
        assert told == {"Where to?": 2 + (results[0] == "A fjord."), "What now?": 2 + (results[1] == "A fjord.")}


def test_a_call_before_the_one_that_delegates_asked_nobody():
    table = ("c1", "query_table", {"name": "prices"}, "3 rows")
    handed = ("c2", "ask_clerk", {"task": "File the prices."}, "Filed.")
    (run,) = runs(
        chat(1, None, [table[:3]], _asked("File them."), trace=1),
        chat(2, None, [handed[:3]], _asked("File them.", table), at=2, trace=2),
        chat(3, None, "Filed.", _asked("File the prices.", prompt="You file."), at=4, trace=3),
        chat(4, None, "Done.", _asked("File them.", table, handed), at=6, trace=4),
    )
    assert [call["name"] for call in run["tool_calls"]] == ["query_table"]
    assert [(d["to"], d["tool"]) for d in run["delegations"]] == [("clerk", "ask_clerk")]


def test_a_tool_that_ran_before_one_that_failed_did_not_recover_though_nobody_knows_who_asked_for_it():
    """Two agents in tools at once, of which one has lost the model's call that asked."""

    def team(since):
        (run,) = runs(
            agent(1, "planner", took=40),
            chat(2, 1, [("c1", "ask_a", {}), ("c2", "ask_b", {})], "go", at=1),
            tool(3, 1, "ask_a", "c1", "fine", at=3, took=20),
            agent(4, "a", 3, at=4, took=18),
            tool(5, 4, "look", "c3", "seen", at=since),
            chat(6, 4, "fine", at=16),
            tool(7, 1, "ask_b", "c2", "good", at=3, took=20),
            agent(8, "b", 7, at=4, took=18),
            chat(9, 8, [("c4", "look", {"x": 1})], "two", at=5),
            tool(10, 8, "look", "c4", at=10, error="it is down"),
            chat(11, 8, "good", at=16),
            chat(12, 1, "done", "go", at=30),
        )
        return "tool_recovery" in run["boundaries"]

    assert [team(since) for since in (7, 13)] == [False, True]
