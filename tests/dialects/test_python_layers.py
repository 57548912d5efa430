"""Several instrumentations of one Python program at once: each step counts once, whoever told it."""

from __future__ import annotations

import json

import pytest

from tests.runs.requests import agent, chat, runs, span

pytestmark = pytest.mark.full

OI = "openinference.instrumentation.langchain"
LANGFUSE = "langfuse-sdk"
ASKED = [("call_1", "look", {"x": 1})]


def _openinference(id, parent, name, kind, at, took, **told):
    return span(id, parent, name, at=at, took=took, scope=OI, attributes={"openinference.span.kind": kind, **told})


def _langfuse(id, parent, name, type, at, took, **told):
    told = {"langfuse.observation.type": type} | {f"langfuse.observation.{k}": v for k, v in told.items()}
    return span(id, parent, name, at=at, took=took, scope=LANGFUSE, attributes=told)


def _answer(*calls, text=""):
    """A model's answer, as OpenInference and as Langfuse have it."""
    made = [{"id": i, "name": n, "args": a} for i, n, a in calls]
    told = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": text}
    for at, (i, n, a) in enumerate(calls):
        call = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        told |= {f"{call}.id": i, f"{call}.function.name": n, f"{call}.function.arguments": json.dumps(a)}
    return told, json.dumps({"role": "assistant", "content": text, "tool_calls": made})


def _counted(prompt):
    mine = {"llm.token_count.prompt": prompt, "llm.token_count.completion": 5}
    return mine, json.dumps({"input": prompt, "output": 5, "total": prompt + 5})


def _graph_told_twice(late=0.0):
    """LangGraph under Langfuse's handler and OpenInference, which both keep trees; the second is later by so much."""
    first, second = _answer(*ASKED), _answer(text="done")
    asked, answered = _counted(11), _counted(12)
    planner = {"metadata": json.dumps({"lc_agent_name": "planner"}), "agent.name": "planner"}
    theirs = {"metadata.lc_agent_name": "planner"}
    ran = {"tool.name": "look", "input.value": json.dumps({"x": 1}), "output.value": "seen 1"}
    return [
        _langfuse(1, None, "planner", "agent", 0, 10, **theirs, input="go", output="done"),
        _langfuse(2, 1, "model", "chain", 1, 2),
        _langfuse(3, 2, "ChatOpenAI", "generation", 1.1, 1.8, output=first[1], usage_details=asked[1]),
        _langfuse(4, 1, "tools", "chain", 4, 1),
        _langfuse(5, 4, "look", "tool", 4.1, 0.8, input=json.dumps({"x": 1}), output="seen 1"),
        _langfuse(6, 1, "ChatOpenAI", "generation", 6, 2, output=second[1], usage_details=answered[1]),
        _openinference(11, 1, "planner", "AGENT", late, 10 - late, **planner, **{"input.value": "go"}),
        _openinference(12, 11, "model", "CHAIN", 1 + late, 2),
        _openinference(13, 12, "ChatOpenAI", "LLM", 1.1 + late, 1.8, **first[0], **asked[0]),
        _openinference(14, 11, "tools", "CHAIN", 4 + late, 1),
        _openinference(15, 14, "look", "TOOL", 4.1 + late, 0.8, **ran),
        _openinference(16, 11, "ChatOpenAI", "LLM", 6 + late, 2, **second[0], **answered[0]),
    ]


@pytest.mark.parametrize("late", [0.0, 0.002])
def test_a_graph_that_two_instrumentations_keep_trees_of_ran_once(late):
    """langfuse 5.0 with openinference-instrumentation-langchain 0.1.80; neither's spans are in those of the other."""
    (run,) = runs(*_graph_told_twice(late))
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(11, 5), (12, 5)]
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", "ok", "seen 1")]
    assert run["agents"] == ["planner"]


def test_an_answer_that_a_client_tells_of_in_one_of_two_trees_counts_once():
    """The same with openinference-instrumentation-openai, whose span is in Langfuse's."""
    told, _ = _answer(*ASKED)
    inner = _openinference(7, 3, "ChatCompletion", "LLM", 1.2, 1.6, **told, **_counted(11)[0])
    (run,) = runs(*_graph_told_twice(0.002), inner | {"scope": "openinference.instrumentation.openai"})
    assert [c["input_tokens"] for c in run["llm_calls"]] == [11, 12]
    assert [(c["call_id"], c["name"]) for c in run["tool_calls"]] == [("call_1", "look")]


def _agents_told_twice(args=({"x": 1}, {"x": 1}), apart=0.001):
    """OpenAI's agents by two trace processors, whose spans all lie side by side under those that began last."""
    found = [span(1, None, "run", took=20, scope="one", openinference__span__kind="CHAIN")]
    for at, (scope, given) in enumerate(zip(("one", "two"), args, strict=True)):
        late, id = at * apart, 10 * (at + 1)
        ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.result": "seen"}
        ran["gen_ai.tool.call.arguments"] = json.dumps(given)
        found += [
            agent(id, "planner", 1, at=late, took=15, scope=scope),
            chat(id + 1, 20, [("call_1", "look", {"x": 1})], at=1 + late, took=1, scope=scope),
            span(id + 2, 20, "execute_tool look", at=3 + late, took=1, scope=scope, attributes=ran),
            agent(id + 3, "worker", 20, at=5 + late, took=4, scope=scope),
            chat(id + 4, 23, "did it", at=6 + late, took=1, scope=scope),
            chat(id + 5, 20, "done", at=10 + late, took=1, scope=scope),
        ]
    return found


def test_what_two_processors_tell_of_one_run_counts_once():
    """logfire 5.4 with openinference-instrumentation-openai-agents 2.6."""
    (run,) = runs(*_agents_told_twice())
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker", "planner"]
    assert [(c["agent"], c["name"], c["status"]) for c in run["tool_calls"]] == [("planner", "look", "ok")]
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "worker")]


def test_tools_at_one_time_with_other_arguments_are_two():
    (run,) = runs(*_agents_told_twice(args=({"x": 1}, {"x": 2})))
    assert [c["arguments"] for c in run["tool_calls"]] == [{"x": 1}, {"x": 2}]


def test_steps_of_two_instrumentations_one_after_the_other_are_two():
    (run,) = runs(*_agents_told_twice(apart=2))
    assert len(run["llm_calls"]) == 6
    assert len([c for c in run["tool_calls"] if c["status"] == "ok"]) == 2


@pytest.mark.parametrize("models", [("model-a", "model-a"), ("model-a", "model-b")])
def test_a_model_of_another_provider_that_failed_right_after_one_that_did_is_another_call(models):
    """A server that refuses at once: both are told within some milliseconds, each by its client's instrumentation."""
    first, second = (
        {**chat(i, 1, at=at, took=0.004, error="refused", attributes={"gen_ai.request.model": model}), "scope": scope}
        for i, at, model, scope in ((2, 1.0, models[0], "openai"), (3, 1.004, models[1], "anthropic"))
    )
    for one in (first, second):
        one["attributes"] = {k: v for k, v in one["attributes"].items() if ".usage." not in k}
    (run,) = runs(agent(1, "a", took=9), first, second)
    assert [c["status"] for c in run["llm_calls"]] == ["error", "error"]


def test_a_guardrail_that_stopped_an_agent_of_two_processors_ended_its_run_in_an_error():
    """What failed is a turn of the span that is later, within the other's."""
    stopped = "Guardrail tripwire triggered: {'guardrail': 'no_bad'}"
    (run,) = runs(
        agent(1, "planner", 9, took=10, scope="one"),
        span(3, 1, "turn", at=0.1, took=9, scope="one", error="", openinference__span__kind="CHAIN"),
        agent(2, "planner", 9, at=0.001, took=9.999, scope="two"),
        span(4, 2, "turn", at=0.1, took=9, scope="two", error=stopped, openinference__span__kind="CHAIN"),
        chat(5, 4, "a secret", at=1, took=1, scope="two"),
        span(9, None, "workflow", took=10.1, scope="two", openinference__span__kind="CHAIN"),
    )
    assert run["status"] == "error"


def test_a_tool_that_nobody_has_did_not_run_whatever_a_client_tells_of_it():
    """pydantic-ai 2.68 gives OpenAI an object with what it tells of itself as a text."""
    none_such = "Unknown tool name: 'nosuch'. Available tools: 'look'"
    asked = {"type": "tool_call", "id": "call_1", "name": "nosuch", "arguments": {"x": 1}}
    given = {"type": "tool_call_response", "id": "call_1", "response": json.dumps({"error": none_such})}
    told = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [asked]},
        {"role": "tool", "parts": [given]},
    ]
    (run,) = runs(
        agent(1, "planner", took=5),
        chat(2, 1, [("call_1", "nosuch", {"x": 1})], at=1, took=1),
        chat(3, 1, "done", told, at=3, took=1),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("nosuch", "requested")]
    assert "tool_failure" not in run["boundaries"]


def test_an_answer_that_a_graph_was_handed_in_is_known_whatever_layers_tell_of_the_model():
    handed = {"messages": [], "structured_response": {"colour": "blue"}}
    told = _answer(("call_2", "Out", {"colour": "blue"}))[0] | _counted(11)[0]
    planner = {"agent.name": "planner", "output.value": json.dumps(handed)}
    (run,) = runs(
        _openinference(1, None, "planner", "AGENT", 0, 5, **planner),
        _openinference(2, 1, "ChatOpenAI", "LLM", 1, 2, **told),
        _openinference(3, 2, "ChatCompletion", "LLM", 1.1, 1.8, **told) | {"scope": "another"},
    )
    assert (run["tool_calls"], len(run["llm_calls"])) == ([], 1)
