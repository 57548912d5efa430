"""What single features of Python's kits put on the wire: middleware, callbacks, and agents that a provider runs."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

_HISTORY = [
    {"role": "user", "parts": [{"type": "text", "content": "go"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]},
]


def _step(id, name, at, took=1.0, agent="a"):
    told = {"openinference.span.kind": "CHAIN"} | ({"metadata": {"lc_agent_name": agent}} if agent else {})
    return span(id, 1, name, at=at, took=took, attributes=told)


@pytest.mark.parametrize(
    ("named", "agent", "ran", "status"),
    [
        ("{}", "a", False, "unknown"),
        ("execute_task {}", None, False, "unknown"),  # as OpenLLMetry tells it
        ("{}", "a", True, "ok"),
        ("{}", None, False, "ok"),  # a graph of one's own, whose tools are any functions
    ],
)
def test_what_a_middleware_of_langchains_put_in_place_of_a_tool_is_no_run_of_it(named, agent, ran, status):
    """LangChain 1.5, `wrap_tool_call` and the like: the step that runs tools holds none."""
    (run,) = runs(
        span(1, name="a", took=20, attributes={"openinference.span.kind": "AGENT", "agent.name": "a"}),
        _step(2, named.format("model"), 1, agent=agent),
        chat(3, 2, [("c1", "look", {"x": 1})], "go", at=1, took=0.5),
        _step(4, named.format("tools"), 3, agent=agent),
        *([tool(5, 4, "look", "c1", "seen", at=3, took=0.5)] if ran else []),
        _step(6, named.format("model"), 5, agent=agent),
        chat(7, 6, "Done.", _HISTORY, at=5, took=0.5),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(status, "seen")]


def _user(text):
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def test_what_a_client_asked_that_calls_functions_itself_was_asked_and_answered_in_a_program_too():
    """Google's client 2.34 under OpenTelemetry's instrumentation 1.3: one span holds the calls and their functions."""

    def asks(id, at, answer, *messages):
        return chat(id, 1, answer, list(messages), at=at, scope="opentelemetry.instrumentation.google_genai")

    looked = tool(3, 2, "look", result="seen", at=1.4, took=0.1, scope="opentelemetry.instrumentation.google_genai")
    (run,) = runs(span(1, name="handle", took=9), asks(2, 1, "Seen.", _user("go")), looked)
    assert (run["input"], run["output"], run["llm_calls"]) == ("go", "Seen.", None)
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Seen."}]}
    again = asks(4, 3, "Bye.", _user("go"), said, _user("bye"))
    (run,) = runs(span(1, name="handle", took=9), asks(2, 1, "Seen.", _user("go")), looked, again)
    assert (run["input"], run["output"]) == ("go", "Bye.")


def test_one_call_of_litellms_stands_in_a_span_of_the_programs_for_all_within():
    """LiteLLM 1.110 under `otel`, `arize` or `langfuse_otel`: it writes the first on whatever span is current."""
    told = {"gen_ai.request.model": "m", "gen_ai.response.id": "r1", "llm.request.type": "completion"}
    told |= {"litellm.call_id": "x", "gen_ai.usage.input_tokens": 11, "gen_ai.usage.output_tokens": 5}
    told |= {"gen_ai.system": "openai", "gen_ai.output.messages": [{"role": "assistant", "parts": []}]}
    (run,) = runs(span(1, name="handle", took=9, status=1, attributes=told))
    assert (run["llm_calls"], run["tool_calls"], run["status"]) == (None, None, "unknown")
    assert "model calls share a span" in run["incomplete"]
    whole = {**span(1, name="litellm_request", took=9, status=1, attributes=told), "scope": "litellm"}
    assert [c["input_tokens"] for c in runs(whole)[0]["llm_calls"]] == [11]


def test_what_a_model_asks_for_in_words_is_a_request_where_its_parameters_alone_are_told():
    """LlamaIndex 0.14, ReActAgent under OpenInference: the tool that it asks for nobody has."""

    def asks(id, at, asked, answer):
        told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "stop"}
        told["llm.invocation_parameters"] = {"num_output": -1, "is_function_calling_model": True, "model_name": "m"}
        for side, texts in (("input", asked), ("output", [answer])):
            for at_, text in enumerate(texts):
                told[f"llm.{side}_messages.{at_}.message.role"] = "user" if side == "input" else "assistant"
                told[f"llm.{side}_messages.{at_}.message.content"] = text
        return span(id, 1, "OpenAILike.astream_chat", at=at, attributes=told)

    (run,) = runs(
        span(1, name="a", took=9, attributes={"openinference.span.kind": "AGENT", "agent.name": "a"}),
        asks(2, 1, ["go"], 'Thought: I look.\nAction: look\nAction Input: {"x": 1}'),
        asks(3, 3, ["go", "Observation: Error: Tool look not found."], "Thought: Well.\nAnswer: No."),
    )
    assert [(c["name"], c["arguments"], c["turn"]) for c in run["tool_calls"]] == [("look", {"x": 1}, 0)]


@pytest.mark.parametrize(("taken", "status"), [(False, "unknown"), (True, "ok")])
def test_a_swarm_in_which_nobody_took_over_may_have_been_stopped(taken, status):
    """strands-agents 1.62, `max_handoffs` and the like: the swarm's span ends like any other."""
    scope = {"scope": "strands.telemetry.tracer"}
    swarm = {"gen_ai.operation.name": "invoke_swarm", "gen_ai.system": "strands-agents"}
    given = {"gen_ai.tool.call.arguments": {"agent_name": "b", "message": "go on"}}
    spans = [
        span(1, name="invoke_swarm", took=20, attributes=swarm),
        agent(2, "a", 1, took=8),
        chat(3, 2, [("c1", "handoff_to_agent", {"agent_name": "b", "message": "go on"})], "go", took=0.5),
        tool(4, 2, "handoff_to_agent", "c1", "Handing off to b: go on", at=1, took=0.5, attributes=given),
        chat(5, 2, "handed over", at=3, took=0.5),
        *([agent(6, "b", 1, at=9, took=5), chat(7, 6, "Done.", at=10, took=0.5)] if taken else []),
    ]
    (run,) = runs(*({**one, **scope} for one in spans))
    assert (run["status"], run["boundaries"]) == (status, [])
    assert taken or {"max_steps", "timeout"} <= set(run["boundaries_unknown"])
