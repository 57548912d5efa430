"""Kits for Python and pairs of them that tell what another would tell otherwise, run against a model of ours."""

import pytest

from tests.runs.requests import agent, chat, runs, span

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


def _asked_twice(*words, error="scripted failure"):
    """loongsuite-instrumentation-langchain 0.9: a graph of LangChain's whose step raised, and what came next in that
    task."""
    scope = "opentelemetry.util.genai.handler"
    spans, parent = [], None
    for at, said in enumerate(words):
        first = 1 + 3 * at
        last = {} if at else {"error": error}
        spans += [
            agent(first, "planner", parent, at=5 * at, took=3, scope=scope, **last),
            span(first + 1, first, "chain model", at=5 * at + 1, took=2, gen_ai__span__kind="CHAIN", **last),
            chat(first + 2, first + 1, asked=said, at=5 * at + 1.5, scope=scope, **last),
        ]
        parent = first + 1
    return runs(*spans)


def test_what_an_agent_is_asked_after_it_raised_is_a_run_of_its_own_where_no_words_are_told():
    assert [(r["status"], len(r["llm_calls"])) for r in _asked_twice(None, None)] == [("error", 1), ("ok", 1)]
    assert len(_asked_twice("go", "go")) == len(_asked_twice(None, "go")) == 1
