"""What pairs of kit and instrumentation that are recorded nowhere sent, in small."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, span

pytestmark = pytest.mark.full

_OI = "openinference.instrumentation.langchain"


def _graph(**told):
    told = {"openinference.span.kind": "CHAIN", "input.value": '{"messages": [["user", "go"]]}'} | told
    return span(1, None, "planner", took=9, scope=_OI, status=1, attributes=told)


def _streamed(id, at, put_out, said):
    """A stream of Anthropic's in LangChain under OpenInference 0.1.80: what was put in is not counted, as the stream's
    end tells what was put out alone, and the answer has an id of LangChain's."""
    told = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "go",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.type": "text",
        "llm.output_messages.0.message.contents.0.message_content.text": said,
        "llm.token_count.prompt": 0,
        "llm.token_count.completion": put_out,
        "llm.token_count.total": put_out,
    }
    return span(id, 1, "ChatAnthropic", at=at, took=2, scope=_OI, status=1, attributes=told)


def _of_client(id, at, put_out):
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": f"msg_01HdVg7mZcTqYw{id}",
        "gen_ai.usage.input_tokens": 1321,
        "gen_ai.usage.output_tokens": put_out,
    }
    scope = "com.anthropic.sdk.python"
    return span(id, None, "anthropic.messages.create", trace=id, at=at, took=1.5, kind=3, scope=scope, attributes=told)


def test_a_call_of_which_a_graph_counts_only_what_was_put_out_is_the_one_its_client_tells_in_a_trace_of_its_own():
    found = agreed(
        _graph(**{"output.value": json.dumps({"messages": [{"type": "ai", "data": {"content": "Done."}}]})}),
        _streamed(2, 1, 3, "Not yet."),
        _of_client(12, 1.2, 3),
        _streamed(3, 4, 4, "Done."),
        _of_client(13, 4.2, 4),
    )
    assert [[c["input_tokens"] for c in run["llm_calls"]] for run in found] == [[1321, 1321]]


def test_a_call_that_puts_out_otherwise_than_the_one_at_its_time_is_another():
    found = agreed(_graph(), _streamed(2, 1, 3, "Done."), _of_client(12, 1.2, 5))
    assert [len(run["llm_calls"]) for run in found] == [1, 1]


def _traced(id, at, put_in, said):
    """LangSmith's export of a call of Anthropic's client that LangChain makes: the answer's id is in its text alone."""
    told = {
        "langsmith.span.kind": "llm",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": put_in,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.completion": json.dumps({"role": "assistant", "content": said}),
    }
    return span(id, 1, "ChatAnthropic", at=at, took=2, scope="langsmith", status=1, attributes=told)


def _laid_under_none(id, at, put_in):
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": f"msg_01HdVg7mZcTqYw{id}",
        "gen_ai.usage.input_tokens": put_in,
        "gen_ai.usage.output_tokens": 4,
    }
    scope = "com.anthropic.sdk.python"
    return span(
        id, 77, "anthropic.messages.create", trace=7, at=at + 0.2, took=1.5, kind=3, scope=scope, attributes=told
    )


def _asked_and_answered():
    told = {"langsmith.span.kind": "chain", "gen_ai.prompt": '{"messages": [{"role": "user", "content": "go"}]}'}
    return span(1, None, "planner", took=9, scope="langsmith", attributes=told)


def test_calls_under_a_span_that_never_comes_are_those_that_another_trace_counts_alike_at_their_time():
    found = agreed(
        _asked_and_answered(),
        _traced(2, 1, 522, "Not yet."),
        _traced(3, 5, 523, "Done."),
        _laid_under_none(12, 1, 522),
        _laid_under_none(13, 5, 523),
    )
    assert [len(run["llm_calls"]) for run in found] == [2]


def test_calls_under_a_span_that_never_comes_of_which_one_is_told_nowhere_else_are_a_run():
    found = agreed(
        _asked_and_answered(),
        _traced(2, 1, 522, "Done."),
        _laid_under_none(12, 1, 522),
        _laid_under_none(13, 5, 523),
    )
    assert [len(run["llm_calls"]) for run in found] == [1, 2]


def _generation(id, at, said):
    """Langfuse's callback 5.0 of a stream of Anthropic's in LangChain."""
    told = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "m",
        "langfuse.observation.input": json.dumps([{"role": "user", "content": "go"}]),
        "langfuse.observation.output": json.dumps(said),
    }
    return span(id, 1, "ChatAnthropic", at=at, took=1, scope="langfuse-sdk", attributes=told)


def test_a_call_in_a_stream_of_anthropics_is_given_what_its_pieces_hold():
    pieces = {"type": "tool_use", "id": "toolu_01HdVg7m", "name": "look", "input": {}, "partial_json": '{"at": "x"}'}
    bare = {"type": "tool_use", "id": "toolu_01KqRs9n", "name": "wait", "input": {}, "partial_json": ""}
    cut = {"type": "tool_use", "id": "toolu_01ZzRs9n", "name": "walk", "input": {}, "partial_json": '{"to": "'}
    (run,) = agreed(
        span(1, None, "planner", took=9, scope="langfuse-sdk", **{"langfuse__observation__type": "agent"}),
        _generation(2, 1, {"role": "assistant", "content": [pieces, bare, cut]}),
    )
    assert [(c["name"], c["arguments"]) for c in run["tool_calls"]] == [
        ("look", {"at": "x"}),
        ("wait", {}),
        ("walk", None),
    ]


_ADK, _OI_ADK = "gcp.vertex.agent", "openinference.instrumentation.google_adk"


def _agent_of_adk(id, name, at, **told):
    """ADK 2.13 under OpenInference: what a model is asked is told by the agent's span."""
    told = {"gen_ai.agent.name": name, "gen_ai.operation.name": "generate_content", "gen_ai.request.model": "m"} | told
    frame = {"openinference.span.kind": "AGENT", "agent.name": name}
    status = {"error": "500"} if len(told) == 3 else {"status": 1}
    return (
        span(id, 1, f"agent_run [{name}]", at=at, took=2, scope=_OI_ADK, attributes=frame, **status),
        span(id + 10, id, f"invoke_agent {name}", at=at, took=1.9, scope=_ADK, attributes=told, **status),
    )


def test_the_call_of_an_agent_of_adks_that_failed_is_one_though_its_span_tells_only_which_model_was_asked():
    answer = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m",
        "llm.token_count.prompt": 9,
        "llm.token_count.completion": 2,
        "llm.output_messages.0.message.role": "model",
        "llm.output_messages.0.message.contents.0.message_content.text": "Planned.",
    }
    root = {"openinference.span.kind": "CHAIN", "input.value": '{"new_message": {"parts": [{"text": "go"}]}}'}
    (run,) = agreed(
        span(1, None, "invocation [travel]", took=9, scope=_OI_ADK, error="500", attributes=root),
        *_agent_of_adk(2, "planner", 1, **answer),
        *_agent_of_adk(3, "worker", 4),
    )
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("planner", "ok"), ("worker", "error")]
    assert (run["status"], run["output"]) == ("error", None)


_GOOGLE = "opentelemetry.instrumentation.google_generativeai"


def _loop(id, parent, said, at=0.0, took=9.0, tokens=5):
    """A loop of Google's client under Traceloop's 0.62: functions are offered by name alone, and one span tells all."""
    told = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.request.model": "m",
        "gen_ai.tool.definitions": [{"name": "ask_worker"}],
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "go"}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": said}]}],
        "gen_ai.usage.output_tokens": tokens,
    }
    return span(id, parent, "generate_content m", at=at, took=took, kind=3, scope=_GOOGLE, attributes=told)


def test_what_a_loop_of_googles_client_says_last_comes_after_what_another_in_it_did():
    (run,) = agreed(
        agent(1, "planner", took=9.2),
        _loop(2, 1, "The worker found a flight."),
        agent(3, "worker", 1, at=2, took=4),
        _loop(4, 3, "A flight at nine.", at=2.1, took=3.8),
    )
    assert run["output"] == "The worker found a flight."


def test_a_request_that_begins_with_a_word_in_brackets_is_a_text():
    for words, told in (("[[wiki]] What is it?", "[[wiki]] What is it?"), ('[[{"role": "us', None)):
        asked = {"traceloop.span.kind": "workflow", "traceloop.entity.input": words}
        (run,) = agreed(span(1, None, "go.workflow", took=9, attributes=asked), agent(2, "planner", 1))
        assert run["input"] == told


def test_openlit_tells_of_a_graphs_stream_each_state_after_the_other_and_of_anthropics_models_the_provider():
    graph, chain = "openlit.instrumentation.langgraph", "openlit.instrumentation.langchain"
    streamed = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.execution.mode": "stream"}
    streamed["gen_ai.output.messages"] = [{"role": "assistant", "parts": [{"type": "text", "content": "gogoDone."}]}]
    told = {"gen_ai.request.model": "anthropic", "gen_ai.response.model": "anthropic"}
    told |= {"gen_ai.provider.name": "anthropic", "gen_ai.usage.input_tokens": 65}
    (run,) = agreed(
        span(1, None, "invoke_workflow planner stream", took=9, scope=graph, status=1, attributes=streamed),
        chat(2, 1, "Done.", "go", at=1, took=2, scope=chain, attributes=told),
    )
    (call,) = run["llm_calls"]
    assert (run["input"], run["output"]) == ("go", "Done.")
    assert {call[key] for key in ("request_model", "response_model", "input_tokens", "output_tokens")} == {None}


def _invocation(id, parent, at, session, words):
    """ADK 2.13 under OpenInference 1.0: what raised leaves its context, so that the next is laid under it."""
    asked = {"user_id": "u", "session_id": session, "new_message": {"parts": [{"text": words}], "role": "user"}}
    told = {"openinference.span.kind": "CHAIN", "session.id": "s-1", "input.value": json.dumps(asked)}
    return (
        span(id, parent, "invocation [travel]", at=at, took=2, scope=_OI_ADK, attributes=told),
        span(
            id + 1,
            id,
            "agent_run [planner]",
            at=at + 0.1,
            took=1.8,
            scope=_OI_ADK,
            error="500",
            attributes={"openinference.span.kind": "AGENT", "agent.name": "planner", "session.id": "s-1"},
        ),
    )


def test_the_session_of_an_invocation_of_adks_is_the_one_that_it_is_given():
    found = agreed(*_invocation(1, None, 0, "s-1", "go"), *_invocation(3, 1, 4, "s-2", "stop"))
    assert [(run["input"], run["conversation_id"]) for run in found] == [("go", "s-1"), ("stop", "s-2")]
