"""Regular traces whose content was not captured take the shortcut, too, and are the same runs either way."""

import random

import polars as pl
import pytest

from otelcov.runs import run_json
from tests.runs.either_way import broken_off, damaged, framed, generated, torn, under_way, with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs

_MS = 1_000_000
_CONTENT = ("gen_ai.input", "gen_ai.output", "gen_ai.system", "gen_ai.tool.call.a", "gen_ai.tool.call.r")
_CONTENT = (*_CONTENT, "gen_ai.tool.definitions")


def hushed(rng, spans, share=1.0):
    """The same spans without content; of the traces that are not among this share, some is left."""
    telling = {trace for trace in spans["trace_id"].unique(maintain_order=True).to_list() if rng.random() > share}
    rows = spans.to_dicts()
    for row in rows:
        for column in ("attributes", "content"):
            row[column] = [
                pair
                for pair in row[column] or []
                if not pair["key"].startswith(_CONTENT) or (row["trace_id"] in telling and rng.random() < 0.5)
            ]
    return pl.DataFrame(rows, schema=spans.schema)


def shifted(rng, spans):
    """The same spans with times that leave open who asked for what, and names that have a meaning of their own."""
    odd = {
        "gen_ai.response.model": ["gemini-2.5-pro"],
        "gen_ai.agent.name": ["planner", "worker", "third"],
        "gen_ai.tool.name": ["final_answer", "transfer_to_worker", "'look'"],
    }
    rows = spans.to_dicts()
    for row in rows:
        if rng.random() < 0.1:
            row[rng.choice(["start_time_unix_nano", "end_time_unix_nano"])] += rng.choice([-2, -1, 1, 3, 1000]) * _MS
        if rng.random() < 0.1:
            row["start_time_unix_nano"] -= row["start_time_unix_nano"] % _MS
        if rng.random() < 0.05:
            row["status_code"] = rng.choice([0, 1, 2])
        for pair in row["attributes"] if rng.random() < 0.05 else ():
            pair["string_value"] = rng.choice([pair["string_value"], *odd.get(pair["key"], ())])
    return pl.DataFrame(rows, schema=spans.schema)


def called(runs):
    """What is known of each run's tool calls without content."""
    known = ("call_id", "name", "agent", "status", "error_type")
    return [sorted(tuple(call[key] for key in known) for call in calls) for calls in runs["tool_calls"].to_list()]


def test_traffic_without_content_takes_the_shortcut():
    spans, logs = generated()
    some = hushed(random.Random(0), spans)
    short, found = with_shortcut(some, logs)
    assert short.equals(without(some, logs))
    assert found > 0.9 * short.height
    told, _ = with_shortcut(spans, logs)
    short, told = (runs.filter(orphans=0) for runs in (short, told))
    known = ("run_id", "agents", "delegations", "status")
    assert short.select(known).equals(told.select(known))
    assert called(short) == called(told)
    assert short.select("input", "output", "known_tools").null_count().row(0) == (short.height,) * 3


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 8))])
def test_runs_without_content_are_the_same_either_way(seed):
    rng = random.Random(seed)
    spans, logs = generated()
    if seed % 2:
        spans = broken_off(rng, spans, share=0.4)
    if seed > 5:
        spans = torn(rng, framed(rng, spans, odd=True), share=0.4)
    some = hushed(rng, spans, share=0.8 if seed in (2, 3) else 1)
    if seed == 4:
        tools = some["name"].str.starts_with("execute_tool")
        some = some.filter(~tools | pl.Series([rng.random() < 0.5 for _ in tools]))
    some = shifted(rng, some) if seed > 1 else damaged(rng, some)
    some = under_way(rng, some) if seed == 5 else some  # without content these are left to the general way
    short, found = with_shortcut(some, logs)
    assert short.equals(without(some, logs))
    assert found > 0.05 * short.height or seed == 5


@pytest.mark.full
def test_a_tool_that_begins_while_a_model_answers_is_left_to_the_general_way():
    spans, logs = generated()
    some = hushed(random.Random(0), spans)
    models = some["name"].str.starts_with("chat ")
    longer = some.with_columns(
        end_time_unix_nano=pl.when(models).then(pl.col("end_time_unix_nano") + 5 * _MS).otherwise("end_time_unix_nano")
    )
    short, found = with_shortcut(longer, logs)
    assert short.equals(without(longer, logs))
    assert found < 0.3 * short.height


_STOPPED = {"gen_ai.response.finish_reasons": ["stop"]}


@pytest.mark.parametrize(("asked", "seen"), [(1, []), (2, None)])
def test_why_an_agent_asked_again_is_not_visible_where_no_content_is(asked, seen):
    """google-adk 2.13 without content, of which the tools' spans were lost: Gemini stops to have tools called."""
    spans = [agent(1, "a", took=9), *(chat(2 + i, 1, at=1 + 2 * i, attributes=_STOPPED) for i in range(asked))]
    frame = frames([("traces", request(spans))])
    for found in (with_shortcut(*frame)[0], without(*frame)):
        (run,) = (run_json(row, {}) for row in found.iter_rows(named=True))
        assert (run["tool_calls"], run["path"]) == (seen, seen)


def test_a_call_alone_of_which_only_its_end_is_told_may_end_a_longer_run():
    """Traceloop 0.62 of OpenAI's client without content: every call has a trace of its own, and nothing joins them."""
    (run,) = runs(chat(1, None, attributes=_STOPPED))
    assert run["tool_calls"] is None and "tool calls not visible" in run["incomplete"]


@pytest.mark.parametrize(("asked", "seen"), [("lookup_order", None), ("finish", [])])
def test_dspys_react_asks_for_tools_by_text(asked, seen):
    said = f"[[ ## next_thought ## ]]\nLook.\n\n[[ ## next_tool_name ## ]]\n{asked}\n\n[[ ## next_tool_args ## ]]\n{{}}"
    (run,) = runs(agent(1, "ReAct", took=9), chat(2, 1, said, "go", at=1), chat(3, 1, "done", "go", at=3))
    assert run["tool_calls"] == seen
