"""Regular traces take a shortcut; it finds what the general way finds, row for row."""

import json
import random
import re

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope

from otelcov.ground.settings import of
from otelcov.runs.rules import boundaries, softerrors
from otelcov.runs.trace.tree import USUAL_LIMITS
from tests import captures
from tests.captures import LATER
from tests.runs.either_way import (
    broken_off,
    damaged,
    fail,
    framed,
    generated,
    said,
    torn,
    under_way,
    with_shortcut,
    without,
)
from tests.runs.requests import frames
from tests.sums.stores import bodies, guest_of

# Captures of which the shortcut takes some runs.
KNOWN = [
    *(("corpus", name) for name in ("openai-loop--otel-genai-util", "otel-semconv--manual", "pydantic-ai--native-v5")),
    *(("more", name) for name in ("pyai1--stream", "pyai1--v2", "vercel7--agent-responses")),
]


@pytest.mark.parametrize(("kind", "name"), KNOWN)
def test_a_capture_is_the_same_runs_either_way(kind, name):
    sent = frames([r for s in captures.packed(kind, name) for r in s.requests])
    short, found = with_shortcut(*sent)
    assert short.equals(without(*sent))
    assert found


@pytest.mark.full
def test_captures_are_the_same_runs_either_way():
    taken = set()
    for kind in ("corpus", "more"):
        for name in captures.dialects(kind):
            sent = frames([r for s in captures.packed(kind, name) for r in s.requests])
            short, found = with_shortcut(*sent)
            if found:
                taken.add((kind, name))
                assert short.equals(without(*sent)), name
    assert taken >= set(KNOWN)


def test_generated_traffic_takes_the_shortcut():
    short, found = with_shortcut(*generated())
    assert short.equals(without(*generated()))
    assert found > 0.9 * short.height


def test_a_delegates_conversation_is_not_the_runs_either_way():
    spans, logs = generated()
    named = pl.element().struct.field("key") != "gen_ai.conversation.id"
    roots = spans.filter(pl.col("parent_span_id").is_null())["span_id"].implode()
    planners = pl.col("parent_span_id").is_null() | pl.col("parent_span_id").is_in(roots)
    bare = pl.when(planners).then(pl.col("attributes").list.filter(named))
    spans = spans.with_columns(attributes=bare.otherwise("attributes"))
    short, found = with_shortcut(spans, logs)
    assert short.equals(without(spans, logs))
    assert found
    assert short["conversation_id"].null_count()


def test_traces_whose_roots_have_not_come_take_the_shortcut():
    spans, logs = generated()
    left = spans.filter(pl.col("parent_span_id").is_not_null())
    soon = int(spans["end_time_unix_nano"].max())
    for some in (left, under_way(random.Random(1), spans)):
        for now in (LATER, soon):
            short, found = with_shortcut(some, logs, now=now)
            assert short.equals(without(some, logs, now=now))
            assert found > 0.85 * short.height
            assert short["settled"].all() == (now == LATER)


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 3))])
def test_damaged_traces_whose_roots_have_not_come_are_the_same_runs_either_way(seed):
    rng = random.Random(seed)
    spans, logs = generated()
    some = damaged(rng, under_way(rng, spans) if seed else spans.filter(pl.col("parent_span_id").is_not_null()))
    short, found = with_shortcut(some, logs)
    assert short.equals(without(some, logs))
    assert found


_LOST = (0.02, 0.2, 0.5, 0.8)


@pytest.mark.parametrize(
    ("lost", "seeds"), [(0.2, 1), (0.5, 1), *(pytest.param(n, 3, marks=pytest.mark.full) for n in _LOST)]
)
def test_what_lost_any_of_its_spans_is_the_same_runs_either_way(lost, seeds):
    spans, logs = generated()
    for seed in range(seeds):
        rng = random.Random(seed)
        some = spans.filter(pl.Series([rng.random() > lost for _ in range(spans.height)]))
        for now in (LATER, int(some["end_time_unix_nano"].max())):
            runs, _ = with_shortcut(some, logs, now=now)
            assert runs.to_dicts() == without(some, logs, now=now).to_dicts()


@pytest.mark.full
def test_failures_that_repeat_anothers_words_are_the_same_runs_either_way():
    """Some processors put a trace's first error on every later span; tools of one cause fail in the same words."""
    rng = random.Random(0)
    spans, logs = generated()
    rows = spans.to_dicts()
    for row in rows:
        if said(row, "gen_ai.operation.name") == "execute_tool" and rng.random() < 0.4:
            fail(rng, row, "ConnectionError", rng.choice(["no route", "refused"]))
    short, found = with_shortcut(pl.DataFrame(rows, schema=spans.schema), logs)
    assert short.equals(without(pl.DataFrame(rows, schema=spans.schema), logs))
    assert 0 < found < short.height


@pytest.mark.parametrize(("kind", "name"), KNOWN)
def test_a_capture_that_is_under_way_is_the_same_runs_either_way(kind, name):
    spans, logs = frames([r for s in captures.packed(kind, name) for r in s.requests])
    left = spans.filter(pl.col("parent_span_id").is_not_null())
    for some in (
        left,
        under_way(random.Random(0), spans),
        damaged(random.Random(2), under_way(random.Random(2), spans)),
    ):
        assert with_shortcut(some, logs)[0].equals(without(some, logs))


def test_an_agent_in_a_trace_of_its_own_joins_the_call_either_way():
    sent = bodies()
    guest, host = guest_of(sent)
    spans, logs = frames([("traces", body) for body in [*sent, guest]])
    short, found = with_shortcut(spans, logs)
    assert short.equals(without(spans, logs))
    assert found
    (run,) = short.filter(pl.col("trace_ids").list.contains(host)).iter_rows(named=True)
    assert len(run["trace_ids"]) == 2
    assert ("query_ledger", "ledger") in {(handed["tool"], handed["to"]) for handed in run["delegations"]}


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 4))])
def test_runs_in_which_models_failed_are_the_same_either_way(seed):
    rng = random.Random(seed)
    spans, logs = generated()
    some = broken_off(rng, spans, share=0.6)
    some = damaged(rng, some) if seed == 2 else under_way(rng, some) if seed == 3 else some
    short, found = with_shortcut(some, logs)
    assert short.equals(without(some, logs))
    assert found > 0.5 * short.height
    assert (short["status"] == "error").sum() > (0.05 if seed == 3 else 0.1) * short.height


@pytest.mark.full
def test_requests_to_a_server_take_the_shortcut():
    spans, logs = generated()
    some = framed(random.Random(0), spans, odd=False)
    short, found = with_shortcut(some, logs)
    assert short.equals(without(some, logs))
    assert found > 0.9 * short.height
    bare = with_shortcut(spans, logs)[0].filter(pl.col("orphans") == 0).drop("run_id", "spans", "unexplained")
    told = short.select(bare.columns).sort("trace_ids")
    assert told.filter(pl.col("trace_ids").is_in(bare["trace_ids"].implode())).equals(bare.sort("trace_ids"))


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 4))])
def test_requests_to_a_server_are_the_same_either_way(seed):
    rng = random.Random(seed)
    spans, logs = generated()
    some = framed(rng, broken_off(rng, spans, share=0.4) if seed % 2 else spans, odd=True)
    some = damaged(rng, some) if seed == 2 else under_way(rng, some) if seed == 3 else some
    short, found = with_shortcut(some, logs)
    assert short.equals(without(some, logs))
    assert found > 0.1 * short.height


@pytest.mark.full
@pytest.mark.parametrize("served", [False, True])
def test_runs_that_were_called_from_elsewhere_take_the_shortcut(served):
    rng = random.Random(1)
    spans, logs = generated()
    some = torn(rng, framed(rng, spans, odd=False) if served else spans, share=1)
    for now in (LATER, int(spans["end_time_unix_nano"].max())):
        short, found = with_shortcut(some, logs, now=now)
        assert short.equals(without(some, logs, now=now))
        assert found > 0.9 * short.height
        assert short["settled"].all() == (now == LATER)
    assert (short["orphans"] == 1).sum() >= found - 1  # the very last run is cut


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 4))])
def test_runs_that_were_called_from_elsewhere_are_the_same_either_way(seed):
    rng = random.Random(seed)
    spans, logs = generated()
    some = broken_off(rng, spans, share=0.4) if seed % 2 else framed(rng, spans, odd=True)
    some = torn(rng, some, share=0.6)
    some = damaged(rng, some) if seed > 1 else some
    short, found = with_shortcut(some, logs)
    assert short.equals(without(some, logs))
    assert found > 0.1 * short.height


def test_why_the_last_answer_ended_is_told_the_same_either_way():
    spans, logs = generated()
    rows = spans.to_dicts()
    for row in rows[::2]:
        row["attributes"] = [pair for pair in row["attributes"] if pair["key"] != "gen_ai.response.finish_reasons"]
        for pair in (*row["attributes"], *row["content"]):
            if pair["key"] == "gen_ai.output.messages":
                pair["string_value"] = re.sub(r', "finish_reason": "\w+"', "", pair["string_value"])
    spans = pl.DataFrame(rows, schema=spans.schema)
    short, found = with_shortcut(spans, logs)
    assert short.equals(without(spans, logs))
    assert found > 0.9 * short.height
    blind = short["boundaries_unknown"].list.contains("length")
    assert 0.1 < blind.mean() < 0.9


@pytest.mark.parametrize("told", [True, pytest.param(False, marks=pytest.mark.full)])
def test_results_of_a_round_length_are_the_same_either_way(told):
    spans, logs = generated()
    rows = spans.to_dicts()
    longer = {text: text.ljust(200, ".") for row in rows if (text := said(row, "gen_ai.tool.call.result"))}
    for pair in (pair for row in rows for pair in (*row["attributes"], *row["content"])):
        if pair["key"] == "gen_ai.tool.call.result":
            pair["string_value"] = longer[pair["string_value"]]
        elif told and pair["key"] == "gen_ai.input.messages":
            for text, long in longer.items():
                pair["string_value"] = pair["string_value"].replace(f'"{text}"', f'"{long}"')
    spans = pl.DataFrame(rows, schema=spans.schema)
    short, found = with_shortcut(spans, logs)
    assert short.equals(without(spans, logs))
    assert found > 0.9 * short.height if told else found < 0.1 * short.height


def test_values_that_end_at_a_usual_limit_are_the_same_either_way():
    rng = random.Random(0)
    spans, logs = generated()
    rows = spans.to_dicts()
    for row in rows:
        for pair in (*row["attributes"], *row["content"]):
            if pair["key"] in ("gen_ai.input.messages", "gen_ai.output.messages") and rng.random() < 0.5:
                limit = rng.choice([limit for limit in USUAL_LIMITS if limit >= len(pair["string_value"])])
                pair["string_value"] = pair["string_value"][:-1].ljust(limit - 1) + "]"
            elif pair["key"] == "gen_ai.tool.call.result" and rng.random() < 0.1:
                pair["string_value"] = pair["string_value"].ljust(rng.choice(USUAL_LIMITS), rng.choice("x."))
    spans = pl.DataFrame(rows, schema=spans.schema)
    short, found = with_shortcut(spans, logs)
    assert short.equals(without(spans, logs))
    assert 0.1 * short.height < found < 0.9 * short.height


def test_an_offered_tool_that_bears_the_name_of_an_agent_is_told_the_same_either_way():
    spans, logs = generated()
    agents = without(spans, logs)["delegations"].explode().struct.field("to").drop_nulls().unique().to_list()
    offers = json.dumps([{"type": "function", "name": name} for name in [*agents, "look"]])
    rows = spans.to_dicts()
    for row in rows:
        for pair in (*row["attributes"], *row["content"]):
            if pair["key"] == "gen_ai.tool.definitions":
                pair["string_value"] = offers
    spans = pl.DataFrame(rows, schema=spans.schema)
    short, found = with_shortcut(spans, logs)
    assert short.equals(without(spans, logs))
    assert found > 0.9 * short.height
    assert short["known_tools"].list.len().n_unique() > 1


@pytest.mark.full
@pytest.mark.parametrize("scope", ["agent_framework", "org.springframework.boot"])
def test_kits_with_rules_of_their_own_are_the_same_runs_either_way(scope):
    spans, logs = generated()
    spans = spans.with_columns(scope=pl.lit(InstrumentationScope(name=scope).SerializeToString()))
    assert with_shortcut(spans, logs)[0].equals(without(spans, logs))


@pytest.mark.full
@pytest.mark.parametrize("key", ["ai.result.text", "ai.prompt"])
def test_what_is_told_twice_and_differently_is_the_same_either_way(key):
    rng = random.Random(0)
    spans, logs = generated()
    rows = spans.to_dicts()
    lists = ("gen_ai.output.messages", "gen_ai.tool.definitions")
    told = [a for row in rows for a in (*row["attributes"], *row["content"]) if a["key"] in lists]
    for row in rows:
        if rng.random() < 0.2:
            row["attributes"].append({**rng.choice(told), "key": key})
    spans = pl.DataFrame(rows, schema=spans.schema)
    short, found = with_shortcut(spans, logs)
    assert short.equals(without(spans, logs))
    assert found


@pytest.mark.full
@pytest.mark.parametrize(
    "told",
    [
        '{"output_tools": [{"name": "search_hotel"}, {"name": "read_mailbox"}], "function_tools": []}',
        '[{"name": "search_hotel", "description": "Correctly extracted `search_hotel` with all the required parameters '
        'with correct types"}]',
    ],
)
def test_tools_that_definitions_call_answers_are_the_same_either_way(told):
    spans, logs = generated()
    rows = spans.to_dicts()
    for row in rows:
        if said(row, "gen_ai.operation.name") == "chat":
            row["attributes"].append({**row["attributes"][0], "key": "gen_ai.tool.definitions", "string_value": told})
    spans = pl.DataFrame(rows, schema=spans.schema)
    for some in (spans, under_way(random.Random(1), spans)):
        assert with_shortcut(some, logs)[0].equals(without(some, logs))


@pytest.mark.parametrize("lost", [["input"], ["output"], ["input", "output"]])
def test_calls_whose_tokens_are_lost_are_the_same_either_way(lost):
    keys = [f"gen_ai.usage.{which}_tokens" for which in lost]
    spans, logs = frames([r for s in captures.packed("more", "pyai1--stream") for r in s.requests])
    rows = spans.to_dicts()
    for row in rows:
        if said(row, "gen_ai.operation.name") == "chat":
            row["attributes"] = [a for a in row["attributes"] if a["key"] not in keys]
    spans = pl.DataFrame(rows, schema=spans.schema)
    assert with_shortcut(spans, logs)[0].equals(without(spans, logs))


@pytest.mark.full
def test_declared_tools_are_the_same_either_way():
    config = of({"tools": {"declared_one": {}, "search_hotel": {}}})
    short, found = with_shortcut(*generated(), config)
    assert short.equals(without(*generated(), config))
    assert found


def matching(pattern):
    return st.from_regex(re.compile(pattern.pattern, pattern.flags))


@settings(max_examples=30)
@given(matching(softerrors._BEGINS) | matching(softerrors._ENDS))
def test_every_text_of_a_soft_error_holds_a_sign_of_one(text):
    if softerrors.soft_error(text, None):
        assert any(sign in text for sign in softerrors.SIGNS)


@settings(max_examples=100)
@given(matching(boundaries.MAX_STEPS) | matching(boundaries.COST))
def test_every_text_of_a_limit_holds_a_sign_of_one(text):
    assert boundaries.limits(text)


@pytest.mark.parametrize(("kind", "name"), KNOWN)
@settings(max_examples=2, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_a_damaged_capture_is_the_same_runs_either_way(kind, name, seed):
    spans, logs = frames([r for s in captures.packed(kind, name) for r in s.requests])
    spans = damaged(random.Random(seed), spans)
    assert with_shortcut(spans, logs)[0].equals(without(spans, logs))


@pytest.mark.full
@settings(max_examples=3, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_odd_traces_are_the_same_runs_either_way(seed):
    spans, logs = generated()
    spans = damaged(random.Random(seed), spans)
    short, found = with_shortcut(spans, logs)
    assert short.equals(without(spans, logs))
    assert found
