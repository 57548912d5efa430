"""Runs that are under way, or of which the root is lost: what is told of them is what will be true in the end."""

import random

import polars as pl
import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.captures import LATER, as_json
from tests.runs.requests import agent, chat, runs, tool

LOST = 99  # a span that has not come


def test_a_tool_that_failed_is_no_end():
    asked = chat(2, LOST, [("c1", "look", {})])
    failed = tool(3, LOST, "look", call="c1", at=2, error="no such place")
    (run,) = runs(asked, failed)
    assert (run["status"], run["boundaries"]) == ("unknown", ["tool_failure"])
    assert "error" in run["boundaries_unknown"]
    for above in (None, 98):  # that of the agent, too, may be somewhere else
        (run,) = runs(agent(LOST, "planner", parent=above, took=3), asked, failed)
        assert (run["status"], run["boundaries"]) == ("error", ["error", "tool_failure"])


def test_who_was_called_was_not_asked_by_the_user_and_does_not_answer():
    (run,) = runs(
        chat(2, LOST, [("c1", "ask_worker", {"task": "find"})], "Where is it?"),
        agent(3, "worker", parent=LOST, at=2, took=5),
        chat(4, 3, "I found it.", "find", at=3),
    )
    assert (run["input"], run["output"], run["status"]) == ("Where is it?", None, "unknown")


@pytest.mark.parametrize(("later", "handed"), [(None, True), ("worker", True), ("planner", False)])
def test_a_tool_that_hands_over_is_no_tool_call_until_who_called_it_goes_on(later, handed):
    told = {"gen_ai.agent.name": "planner"}
    spans = [
        chat(2, LOST, [("c1", "transfer_to_worker", {})], attributes=told),
        tool(3, LOST, "transfer_to_worker", call="c1", result="", at=2, attributes=told),
    ]
    if later is not None:
        spans.append(chat(4, LOST, [("c2", "look", {})], at=4, attributes={"gen_ai.agent.name": later}))
    (run,) = runs(*spans)
    assert ("transfer_to_worker" not in [call["name"] for call in run["tool_calls"]]) == handed


DIALECTS = (
    *("langgraph--openllmetry", "openai-agents--openllmetry", "openai-agents--openinference"),
    *("crewai--openllmetry--native", "otel-semconv--manual", "pydantic-ai--native-v5"),
)
HANDED_BACK = {("langgraph--openllmetry", "S5")}  # who is handed over to mostly answers; here it hands back


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 4))]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_has_come_tells_nothing_else_than_all_of_it(name, seed):
    rng, seen = random.Random(seed), 0
    for scenario in captures.packed("corpus", name):
        spans, logs = from_requests(scenario.bodies("traces"), scenario.bodies("logs"), 1)
        end = pl.col("end_time_unix_nano")
        first, last = spans.select(pl.col("start_time_unix_nano").min(), end.max()).row(0)
        some = spans.filter(end <= first + int((last - first) * rng.random()))
        whole = {trace: run for run in as_json(reconstruct(spans, logs, Config(), LATER)) for trace in run["trace_ids"]}
        for run in as_json(reconstruct(some, logs, Config(), LATER)):
            true = whole[run["trace_ids"][0]]
            facts = (("status", "unknown"), ("input", None), ("output", None))
            for fact, unknown in facts[: 2 if (name, scenario.name) in HANDED_BACK else 3]:
                assert run[fact] in (true[fact], unknown), (scenario.name, fact)
            assert set(run["boundaries"]) <= {*true["boundaries"], "tool_recovery"}
            seen += run["status"] == "unknown"
    assert seen
