"""Kits for Python and pairs of them that tell what another would tell otherwise, run against a model of ours."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

_ADK = "gcp.vertex.agent"


def _steps(*names, scope=_ADK):
    """ADK 2.13: a SequentialAgent's span holds those of its agents."""
    spans = [span(1, None, "invocation", took=40, scope=scope), agent(2, "team", 1, at=0, took=39, scope=scope)]
    for at, name in enumerate(names):
        spans.append(agent(3 + 2 * at, name, 2, at=1 + 5 * at, took=4, scope=scope))
        spans.append(chat(4 + 2 * at, 3 + 2 * at, f"{name} is done.", "go", at=2 + 5 * at, scope=scope))
    return spans


@pytest.mark.parametrize("scope", [_ADK, "openinference.instrumentation.google_adk"])
def test_an_agent_of_adks_that_asks_no_model_runs_others_and_delegates_nothing(scope):
    (run,) = runs(*_steps("planner", "worker", scope=scope))
    assert (run["agents"], run["delegations"]) == (["planner", "worker"], [])
    (run,) = runs(*_steps("planner", scope=scope))
    assert run["delegations"] == []


def test_an_agent_of_adks_that_asks_a_model_delegates_to_what_its_span_holds():
    (run,) = runs(*_steps("worker"), chat(20, 2, "worker, please", "go", at=0.5, scope=_ADK))
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("team", "worker")]


def test_an_agent_of_others_that_asks_no_model_delegates_to_what_its_span_holds():
    (run,) = runs(*_steps("planner", "worker", scope="kit"))
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("team", "planner"), ("team", "worker")]
