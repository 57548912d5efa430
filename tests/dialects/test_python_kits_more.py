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


_CORALOGIX = "llm_tracekit.openai_agents.instrumentor"


def _of_coralogix(*steps, said="Error in agent run", **more):
    """llm-tracekit-openai-agents 1.3: a span of each of the kit's, and no attributes of those of a chat."""
    told = {"type": "agent", "agent_name": "planner", "tools": ["look"]}
    (run,) = runs(
        span(1, None, "openai.agent", took=30, kind=3, scope=_CORALOGIX),
        span(2, 1, "Agent - planner", took=29, scope=_CORALOGIX, attributes=told, **({"error": said} if more else {})),
        span(3, 2, "TurnSpanData", at=1, took=9, scope=_CORALOGIX),
        *steps,
    )
    return run


def test_what_coralogix_tells_of_a_chat_of_openais_agents_are_steps_though_it_tells_of_no_model():
    made = {"type": "function", "name": "look", "input": '{"x": 1}', "output": "seen"}
    gone = {"type": "handoff", "from_agent": "planner", "to_agent": "worker"}
    more = {"type": "agent", "agent_name": "worker"}
    run = _of_coralogix(
        span(4, 3, "GenerationSpanData", at=1, scope=_CORALOGIX),
        span(5, 3, "Tool - look", at=3, scope=_CORALOGIX, attributes=made),
        span(6, 3, "Handoff", at=5, scope=_CORALOGIX, attributes=gone),
        span(7, 1, "Agent - worker", at=11, took=9, scope=_CORALOGIX, attributes=more),
        span(8, 7, "GenerationSpanData", at=12, scope=_CORALOGIX, error="Error getting response"),
    )
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("planner", "ok"), ("worker", "error")]
    assert [(c["agent"], c["name"], c["arguments"], c["result"], c["status"]) for c in run["tool_calls"]] == [
        ("planner", "look", {"x": 1}, "seen", "ok")
    ]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "worker", "handoff")]
    assert (run["status"], run["boundaries"]) == ("error", ["error"])
    assert "timeout" in run["boundaries_unknown"]


def test_the_one_call_of_an_agent_that_failed_after_it_may_have_failed():
    """Coralogix's sets no status on a response that it cannot read."""
    asked = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai"}
    response = span(4, 3, "Response", at=1, scope=_CORALOGIX, attributes=asked)
    assert [c["status"] for c in _of_coralogix(response, failed=True)["llm_calls"]] == ["unknown"]
    assert [c["status"] for c in _of_coralogix(response)["llm_calls"]] == ["ok"]
    answered = asked | {"gen_ai.request.model": "m-2026-01-15", "gen_ai.response.model": "m-2026-01-15"}
    answered |= {"gen_ai.agent.name": "unknown", "gen_ai.usage.input_tokens": 9, "gen_ai.response.id": "resp_1a"}
    (call,) = _of_coralogix(span(4, 3, "Response", at=1, scope=_CORALOGIX, attributes=answered))["llm_calls"]
    assert (call["agent"], call["request_model"], call["response_model"]) == ("planner", None, "m-2026-01-15")
