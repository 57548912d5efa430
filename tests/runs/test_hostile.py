"""Hostile traces end in runs, in time. Each in a process of its own, so that a hang is a failure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 200  # far beyond what any of them takes: a bound, no measure of speed


def reconstructed(shape, spans=0):
    done = subprocess.run(
        [sys.executable, "-m", "tests.runs.hostile", shape, str(spans)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return found if "," in shape else found[0]


@pytest.mark.full
def test_twisted_traces_end_in_runs():
    shapes = ("self_parent", "cycle", "one_id", "no_times", "tools_of_tools")
    found = reconstructed(",".join(shapes))
    assert len(found) == len(shapes)
    assert all(runs >= 1 for runs, _ in found)


@pytest.mark.full
@pytest.mark.parametrize("siblings", [2_000, pytest.param(10_000, marks=pytest.mark.full)])
def test_thousands_of_siblings_are_as_many_calls(siblings):
    assert reconstructed("siblings", siblings) == [1, siblings]


@pytest.mark.parametrize("depth", [5_000, pytest.param(100_000, marks=pytest.mark.full)])
def test_a_deep_chain_is_one_run(depth):
    assert reconstructed("chain", depth) == [1, 1]


@pytest.mark.parametrize("depth", [1_000, pytest.param(20_000, marks=pytest.mark.full)])
def test_agents_in_agents_are_one_run(depth):
    assert reconstructed("agents_in_agents", depth) == [1, 0]


@pytest.mark.parametrize("spans", [2_000, pytest.param(100_000, marks=pytest.mark.full)])
def test_a_trace_of_many_turns_keeps_every_call(spans):
    assert reconstructed("many_turns", spans) == [1, spans // 2 - 1]


@pytest.mark.full
@pytest.mark.parametrize("traces", [500, pytest.param(50_000, marks=pytest.mark.full)])
def test_a_conversation_of_many_traces_ends(traces):
    runs, _ = reconstructed("many_traces_one_conversation", traces)
    assert 1 <= runs < traces


@pytest.mark.parametrize("depth", [1_000, pytest.param(20_000, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "shape", ["a_model_in_tools_of_tools", pytest.param("a_model_in_graphs_of_graphs", marks=pytest.mark.full)]
)
def test_a_model_deep_in_others_is_one_run(shape, depth):
    assert reconstructed(shape, depth)[0] == 1


@pytest.mark.parametrize("results", [200, pytest.param(5_000, marks=pytest.mark.full)])
def test_a_history_from_before_the_run_costs_no_more_than_to_read_it(results):
    assert reconstructed("a_long_history", results) == [1, 20]


@pytest.mark.parametrize("calls", [2_000, pytest.param(20_000, marks=pytest.mark.full)])
def test_calls_without_duration_are_one_run(calls):
    assert reconstructed("calls_without_duration", calls) == [1, 1]


@pytest.mark.full
@pytest.mark.parametrize("traces", [2_000, pytest.param(20_000, marks=pytest.mark.full)])
def test_ids_that_every_answer_makes_up_anew_join_what_belongs_together(traces):
    assert reconstructed("ids_made_up_anew", traces) == [traces // 2, traces // 2]
