"""Ant's agentUniverse, by spans as its source writes them (base/tracing/otel/instrumentation)."""

import json

from tests.runs.requests import runs, span


def _step(id, parent, kind, name, at, took, given, brought, **more):
    told = {"au.span.kind": kind, f"au.{kind}.name": name, f"au.{kind}.input": json.dumps(given)}
    told |= {f"au.{kind}.output": brought, f"au.{kind}.status": "success", "au.trace.session.id": "s-1"}
    scope = f"opentelemetry-instrumentation-agentuniverse-{kind}"
    return span(id, parent, f"au.{kind}.{name}", at=at, took=took, scope=scope, attributes=told | more)


def test_what_was_given_and_brought_stands_in_keys_of_its_own_by_the_functions_parameters():
    given = {"args": [], "kwargs": {"messages": [{"role": "user", "content": "weather"}], "streaming": False}}
    used = {"au.llm.usage.prompt_tokens": 12, "au.llm.usage.completion_tokens": 2}
    asked, answer = {"kwargs": {"input": "weather"}}, json.dumps({"output": "It is 21."})
    (run,) = runs(
        _step(1, None, "agent", "planner", 0, 20, asked, answer, **{"au.agent.usage.prompt_tokens": 12}),
        _step(2, 1, "tool", "get_weather", 1, 1, {"kwargs": {"input": "Oslo"}}, '"21 in Oslo"'),
        _step(3, 1, "llm", "default_llm", 3, 1, given, "It is 21.", **used),
    )
    assert (run["input"], run["output"], run["conversation_id"]) == ("weather", "It is 21.", "s-1")
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(12, 2)]
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [({"input": "Oslo"}, "21 in Oslo")]
