"""Two instrumentations of one process, which tell of one step each in its own way and time."""

from __future__ import annotations

import json

from tests.runs.requests import agent, chat, runs, span, tool


def test_what_a_busy_machine_held_up_is_still_told_twice():
    """LangGraph under OpenLLMetry and OpenInference: callbacks of the second came 90 milliseconds after the first."""
    found = []
    for at, scope in enumerate(("one", "two")):
        late, id = at * 0.09, 10 * (at + 1)
        ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
        ran["gen_ai.tool.call.arguments"] = json.dumps({"x": 1})
        found += [
            agent(id, "planner", 1, took=9, scope=scope),
            chat(id + 1, id, [("call_aZ81kQ0zT4", "look", {"x": 1})], at=1 + late, took=1, scope=scope),
            span(id + 2, id, "execute_tool look", at=3 + late, took=1, scope=scope, attributes=ran),
            chat(id + 3, id, "done", at=5, took=1 + late, scope=scope),
        ]
    (run,) = runs(span(1, None, "GET /", took=10), *found)
    assert len(run["llm_calls"]) == 2
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok")]


def test_a_tool_whose_own_span_says_nothing_of_its_end_may_have_failed_as_the_model_was_told():
    """Langfuse's observations around a loop of one's own, beside OpenInference for OpenAI: the program caught what the
    tool raised, and told the model."""
    asked = [("call_aZ81kQ0zT4", "look", {"x": 1})]
    told = {"langfuse.observation.type": "tool"}
    part = {"type": "tool_call_response", "id": "call_aZ81kQ0zT4", "response": "Error: no such x"}
    back = [{"role": "tool", "parts": [part]}]

    def run_of(**more):
        (run,) = runs(
            agent(1, "planner", took=9),
            chat(2, 1, asked, at=1),
            span(3, 1, "look", at=3, scope="langfuse-sdk", attributes=told, **more),
            chat(4, 1, "none", back, at=5),
        )
        return [(c["name"], c["status"]) for c in run["tool_calls"]]

    assert run_of() == [("look", "unknown")]
    assert run_of(status=1) == [("look", "ok")]


def test_calls_under_a_span_that_never_comes_are_those_that_another_trace_asked_the_same_tools_in():
    """LangGraph under LangSmith, which tells no ids of answers, and Logfire for OpenAI, whose calls of the worker lie
    under a run of LangSmith's that is no span."""
    first, second = [("call_aZ81kQ0zT4", "ask", {"q": "x"})], [("call_bY92lR1xU5", "look", {"x": 1})]

    def answered(id, parent, trace, at, answer, results=None, **more):
        back = {"type": "tool_call_response", "id": results, "response": "seen"}
        asked = [{"role": "tool", "parts": [back]}] if results else "go"
        told = {"gen_ai.response.id": f"chatcmpl-x81k{id}Qz0Lm"}
        return chat(id, parent, answer, asked, trace=trace, at=at, scope="logfire.openai", attributes=told, **more)

    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, first, "go", at=1, took=1.1),
        tool(3, 1, "ask", "call_aZ81kQ0zT4", at=3, took=9),
        agent(4, "worker", 3, at=4, took=7),
        chat(5, 4, second, "go", at=5, took=1.1),
        tool(6, 4, "look", "call_bY92lR1xU5", at=7),
        chat(
            7, 4, "seen", [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_bY92lR1xU5"}]}], at=9
        ),
        answered(8, 99, 2, 5.01, second),
        answered(9, 99, 2, 9.01, "seen", "call_bY92lR1xU5", took=0.9),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker", "worker"]


def test_a_stream_whose_answers_id_an_inner_span_tells_is_the_one_of_which_another_trace_counts_more_tokens():
    """Anthropic's client, which tells of itself, under OpenInference; and OpenLLMetry, which adds up what a stream
    counts twice."""
    asked = {"openinference.span.kind": "LLM", "llm.model_name": "model-a"}
    asked |= {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    inner = {"gen_ai.response.id": "msg_DuZK77KVVg5", "gen_ai.usage.output_tokens": 1}
    outer = {"gen_ai.response.id": "msg_DuZK77KVVg5", "gen_ai.usage.output_tokens": 2}
    (run,) = runs(
        chat(1, None, "done", "go", took=3, scope="opentelemetry.instrumentation.anthropic", attributes=outer),
        span(2, None, "messages.create", trace=2, at=0.1, took=3, scope="openinference.anthropic", attributes=asked),
        chat(3, 2, trace=2, at=0.1, took=2.9, scope="com.anthropic.sdk.python", attributes=inner),
    )
    assert (len(run["llm_calls"]), run["output"]) == (1, "done")


def test_what_a_model_was_told_to_be_says_whose_it_was_where_the_spans_of_agents_at_work_at_once_are_mixed_up():
    """Azure's tracer of LangChain lays a step under whichever agent began last."""

    def told(name):
        return {"gen_ai.system_instructions": [{"type": "text", "content": f"You are {name}."}]}

    def team(orders):
        (run,) = runs(
            agent(1, "planner", took=40, attributes=told("planner")),
            chat(2, 1, [("c1", "ask_worker", {"task": "it"})], "go", at=1, attributes=told("planner")),
            tool(3, 1, "ask_worker", "c1", "fine", at=3, took=20),
            agent(4, "worker", 3, at=4, took=18, attributes=told("worker")),
            chat(5, 4, [("c2", "ask_helper", {"task": "that"})], "it", at=5, attributes=told("worker")),
            tool(6, 4, "ask_helper", "c2", "good", at=7, took=14),
            agent(7, "helper", 6, at=8, took=12, attributes=told("helper")),
            chat(8, 7, "fine", "it", at=9, attributes=told(orders)),
            chat(9, 7, "good", "that", at=12, attributes=told("helper")),
            chat(10, 1, "done", "go", at=25, attributes=told("planner")),
        )
        return [c["agent"] for c in run["llm_calls"]]

    assert team("worker") == ["planner", "worker", "worker", "helper", "planner"]
    assert team("somebody") == ["planner", "worker", "helper", "helper", "planner"]
