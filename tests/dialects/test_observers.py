"""Tracers that are told by decorators what a function is, and clients of services: written by hand as they tell it."""

import pytest

from tests.dialects.test_unrecorded_kits import called_with, jsons
from tests.runs.requests import chat, runs, span, tool

pytestmark = pytest.mark.full


def _kind(key):
    """A maker of spans whose kind stands under one key."""

    def made(id, parent, name, kind, at=0, took=1, error=None, trace=1, **told):
        return span(id, parent, name, trace, at, took, error=error, attributes={key: kind} | told)

    return made


def test_netra_tells_what_a_function_is_and_what_it_was_given():
    step = _kind("netra.span.type")
    (run,) = runs(
        step(1, None, "chat", "SPAN", took=9, input=jsons({"text": "Order?"}), output="Shipped."),
        step(2, 1, "planner", "AGENT", 0, 9, output="Shipped.", **{"netra.agent.name": "planner"}),
        chat(3, 2, [("call_a1", "lookup", {"id": "bad"})], "Order?", at=1),
        step(4, 2, "lookup", "TOOL", 3, input=jsons({"id": "bad"}), **{"netra.entity.error": "no such order"}),
        chat(5, 2, "Shipped.", "Order?", at=5),
    )
    assert called_with(run) == [("lookup", "planner", "error", "call_a1")]
    assert (run["input"], run["output"], run["agents"]) == ("Order?", "Shipped.", ["planner"])
    assert run["tool_calls"][0]["arguments"] == {"id": "bad"}


def test_judgeval_tells_the_whole_request_and_answer():
    step = _kind("judgment.span_kind")
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Weather?"}]}
    call = {"id": "call_a1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    answer = {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    told = {
        "gen_ai.prompt": jsons(asked),
        "gen_ai.completion": jsons({"id": "chatcmpl-1", "model": "gpt-4o-2024-08-06", "choices": [answer]}),
        "judgment.llm.model": "gpt-4o-2024-08-06",
        "judgment.usage.non_cached_input_tokens": 40,
        "judgment.usage.output_tokens": 7,
        "judgment.usage.metadata": jsons({"completion_tokens": 7, "prompt_tokens": 100}),
    }
    (run,) = runs(
        step(1, None, "planner", "agent", took=9, **{"judgment.input": jsons({"text": "Weather?"})}),
        step(2, 1, "OPENAI_API_CALL", "llm", 1, **told),
        step(3, 1, "weather", "tool", 3, **{"judgment.input": '{"city": "Oslo"}', "judgment.output": "12 degrees"}),
    )
    assert called_with(run) == [("weather", "planner", "ok", "call_a1")]
    (call,) = run["llm_calls"]
    assert (call["request_model"], call["response_model"]) == ("gpt-4o", "gpt-4o-2024-08-06")
    assert (call["input_tokens"], call["output_tokens"]) == (100, 7)


def test_judgeval_tells_of_a_stream_the_model_that_was_asked_for_and_what_was_offered():
    step = _kind("judgment.span_kind")
    offered = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("weather", "watch")]
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Weather?"}], "tools": offered, "stream": True}
    told = {"gen_ai.prompt": jsons(asked), "gen_ai.completion": "Sunny.", "judgment.llm.model": "gpt-4o"}
    (run,) = runs(
        step(1, None, "planner", "agent", took=9),
        step(2, 1, "OPENAI_API_CALL", "llm", 1, **told),
    )
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("gpt-4o", None)]
    assert (run["known_tools"], run["output"]) == (["watch", "weather"], "Sunny.")


def test_honeyhive_tells_of_a_failure_by_a_second_span():
    step = _kind("honeyhive_event_type")
    (run,) = runs(
        step(1, None, "chat", "chain", took=9, honeyhive_event_name="chat"),
        step(2, 1, "lookup", "tool", 1, error="no such order", honeyhive_event_name="lookup"),
        step(3, 1, "lookup_error", "tool", 2, error="no such order", honeyhive_error="no such order"),
        step(4, None, "chat_error", "chain", 9, trace=2, honeyhive_error="stopped"),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("lookup", "error")]


def test_upsonic_names_agents_and_tools_by_keys_of_its_own():
    agent = {"upsonic.agent.name": "planner", "upsonic.input": "Weather?", "upsonic.output": "Sunny."}
    tool = {"upsonic.tool.name": "weather", "upsonic.tool.call_id": "call_a1"}
    (run,) = runs(
        span(1, None, "agent.run", took=9, kind=2, attributes=agent),
        span(2, 1, "pipeline.step.model_execution", at=1, took=7),
        chat(3, 2, [("call_a1", "weather", {"city": "Oslo"})], "Weather?", at=1),
        span(4, 2, "tool.execute", at=3, attributes=tool),
        chat(5, 2, "Sunny.", "Weather?", at=5),
    )
    assert called_with(run) == [("weather", "planner", "ok", "call_a1")]
    assert run["agents"] == ["planner"]


@pytest.mark.parametrize(
    ("told", "status"), [("{'func': 'Sunny.'}", "ok"), ("no such city", "unknown"), (None, "unknown")]
)
def test_upsonic_says_of_a_tool_that_raised_that_it_went_well(told, status):
    """Upsonic 0.77: what a function gave is in a frame, what it raised is not."""
    agent = {"upsonic.agent.name": "planner", "upsonic.input": "Weather?"}
    tool = {"upsonic.tool.name": "weather", "upsonic.tool.call_id": "call_a1", "upsonic.tool.success": True}
    tool |= {"langfuse.observation.output": jsons(told)} if told else {}
    (run,) = runs(
        span(1, None, "agent.run", took=9, attributes=agent, scope="upsonic", status=1),
        chat(2, 1, [("call_a1", "weather", {"city": "Oslo"})], "Weather?", at=1),
        span(3, 1, "tool.execute", at=3, attributes=tool, scope="upsonic", status=1),
    )
    assert called_with(run) == [("weather", "planner", status, "call_a1")]


def test_an_agent_that_azure_runs_is_asked_answer_by_answer():
    def asked(id, at, told, answer=None, **more):
        parts = [{"role": "assistant", "parts": answer}] if answer else None
        told = {"gen_ai.input.messages": jsons([told])} | ({"gen_ai.output.messages": jsons(parts)} if parts else {})
        named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
        used = {"gen_ai.response.id": f"resp_{id}", "gen_ai.usage.input_tokens": 9} if answer else {}
        attributes = {"az.namespace": "Microsoft.CognitiveServices"} | named | used | told
        return span(id, 1, "invoke_agent planner", at=at, kind=3, attributes=attributes, **more)

    user = {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}
    call = {"type": "tool_call", "id": "call_a1", "name": "weather", "arguments": '{"city": "Oslo"}'}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_a1", "result": "12 degrees"}]}
    first = (span(1, None, "request", took=9), asked(2, 1, user, [call]))
    (run,) = runs(*first, asked(3, 3, result, [{"type": "text", "content": "12 degrees in Oslo."}]))
    assert called_with(run) == [("weather", "planner", "ok", "call_a1")]
    assert (run["input"], run["output"], run["status"]) == ("Weather?", "12 degrees in Oslo.", "ok")
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "planner"]
    (run,) = runs(*first, asked(3, 3, result, error="Error code: 500"))
    assert (run["status"], run["boundaries"]) == ("error", ["error"])


def test_a_workflow_that_azure_runs_is_no_model_call():
    actions = [{"role": "workflow", "parts": [{"type": "workflow_action", "content": {"status": "completed"}}]}]
    told = {"az.namespace": "Microsoft.CognitiveServices", "gen_ai.operation.name": "invoke_agent"}
    told |= {"gen_ai.agent.name": "flow", "gen_ai.output.messages": jsons(actions)}
    (run,) = runs(span(1, None, "invoke_agent flow", kind=3, attributes=told))
    assert (run["agents"], run["llm_calls"]) == (["flow"], None)


def test_calls_may_stand_in_the_content_of_an_answer():
    call = {"id": "call_a1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    answer = jsons([{"role": "assistant", "content": [call]}])
    asked = [{"role": "user", "content": "Weather?"}]
    later = [*asked, [{"id": "", "type": ""}], {"role": "tool", "tool_call_id": "call_a1", "content": "12 degrees"}]

    def told(id, at, asked, answer):
        events = [
            ("gen_ai.content.prompt", {"gen_ai.prompt": jsons(asked)}),
            ("gen_ai.content.completion", {"gen_ai.completion": answer}),
        ]
        named = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-a"}
        return span(id, 1, "openai.chat.completions.create", at=at, kind=3, attributes=named, events=events)

    done = jsons([{"role": "assistant", "content": "12 degrees in Oslo."}])
    (run,) = runs(span(1, None, "request", took=9), told(2, 1, asked, answer), told(3, 3, later, done))
    assert called_with(run) == [("weather", None, "ok", "call_a1")]
    assert (run["input"], run["output"]) == ("Weather?", "12 degrees in Oslo.")


def test_any_agent_tells_calls_by_the_keys_of_their_spans():
    def step(id, name, at, operation, **told):
        return span(id, 1, name, at=at, attributes={"gen_ai.operation.name": operation} | told)

    asked = {"gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 9}
    call = [{"tool.name": "weather", "tool.args": '{"city": "Oslo"}'}]
    user = {"gen_ai.input.messages": jsons([{"role": "user", "content": "Weather?"}])}
    given = {"gen_ai.tool.name": "weather", "gen_ai.tool.args": '{"city": "Oslo"}', "gen_ai.output": "12 degrees"}
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    (run,) = runs(
        span(1, None, "invoke_agent [planner]", took=9, attributes=named),
        step(2, "call_llm gpt-4o", 1, "call_llm", **asked, **user, **{"gen_ai.output": jsons(call)}),
        step(3, "execute_tool weather", 3, "execute_tool", **given),
        step(4, "call_llm gpt-4o", 5, "call_llm", **asked, **{"gen_ai.output": "12 degrees in Oslo."}),
    )
    (made,) = run["tool_calls"]
    assert (made["arguments"], made["result"], made["turn"]) == ({"city": "Oslo"}, "12 degrees", 0)
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("Weather?", "12 degrees in Oslo.", 2)


@pytest.mark.parametrize(
    ("told", "status"), [({}, "unknown"), ({"gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 9}, "ok")]
)
def test_splunk_tells_nothing_of_a_call_that_failed(told, status):
    named = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "unknown_model"} | told
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    handler = "opentelemetry.util.genai.handler"
    (run,) = runs(
        span(1, None, "invoke_agent planner", took=9, scope=handler, attributes=agent),
        span(2, 1, "chat unknown_model", at=1, kind=3, scope=handler, attributes=named),
    )
    assert [c["status"] for c in run["llm_calls"]] == [status]
    assert ("error" in run["boundaries_unknown"]) == (status == "unknown")


def test_traceloop_for_javascript_counts_the_words_of_a_stream_by_itself():
    def seen(**counted):
        scope = "@traceloop/instrumentation-openai"
        agent = {"traceloop.span.kind": "agent", "traceloop.entity.name": "planner"}
        asked = chat(2, 1, [("call_a1", "weather", {})], "Weather?", at=1, scope=scope)
        for key in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
            del asked["attributes"][key]
        (run,) = runs(
            span(1, None, "planner.agent", took=9, attributes=agent),
            asked | {"attributes": asked["attributes"] | counted},
            tool(3, 1, "weather", "call_a1", "12 degrees", at=3),
            chat(4, 1, "12 degrees.", "Weather?", at=5, scope=scope),
        )
        return [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]]

    assert seen() == [(None, None), (None, None)]
    assert seen(**{"gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 4}) == [(30, 4), (10, 2)]


def test_a_run_of_azures_service_is_one_however_many_spans_begin_it():
    def told(id, parent, operation, at=0, took=1, **more):
        attributes = {"gen_ai.operation.name": operation, "gen_ai.thread.id": "thread_1"} | more
        return span(id, parent, operation, at=at, took=took, kind=3, attributes=attributes)

    (run,) = runs(
        told(1, None, "start_thread_run", took=9, **{"gen_ai.usage.input_tokens": 200}),
        told(2, 1, "start_thread_run"),
        told(3, 1, "get_thread_run", 2),
        told(4, 1, "submit_tool_outputs", 4),
        told(5, 1, "get_thread_run", 6),
    )
    assert (run["conversation_id"], run["llm_calls"], run["tool_calls"]) == ("thread_1", None, None)


def _bedrock(id, parent, name, kind, at=0, took=1, **told):
    return span(id, parent, name, at=at, took=took, attributes={"openinference.span.kind": kind} | told)


def _bedrock_asks(id, parent, at, name, given):
    use = {"toolUse": {"toolUseId": f"tooluse_{id}", "name": name, "input": given}}
    told = jsons({"output": {"message": {"role": "assistant", "content": [use]}}, "stopReason": "tool_use"})
    flat = "llm.output_messages.0.message.tool_calls.0.tool_call."
    call = {f"{flat}function.name": name, f"{flat}function.arguments": jsons(given), f"{flat}id": f"tooluse_{id}"}
    call |= {"llm.output_messages.0.message.role": "assistant", "output.value": told}
    return _bedrock(id, parent, "LLM", "LLM", at, **call)


def _action_group(id, parent, at, name, *given):
    pairs = [{"name": name, "type": kind, "value": value} for name, kind, value in given]
    told = {"tool.name": name, "tool.parameters": jsons(pairs), "output.value": "done"}
    return _bedrock(id, parent, "action_group", "TOOL", at, **told)


def test_bedrocks_agents_ask_for_a_function_by_the_name_of_its_group():
    days = ("days", "integer", "3")
    (run,) = runs(
        _bedrock(1, None, "bedrock_agent.invoke_agent", "AGENT", took=9, **{"input.value": "Weather?"}),
        _bedrock_asks(2, 1, 1, "Weather__get_weather", {"city": "Oslo", "days": 3}),
        _action_group(3, 1, 3, "get_weather", ("city", "string", "12"), days),
        _bedrock(4, 1, "LLM", "LLM", 5, **{"output.value": "12 degrees in Oslo."}),
        _action_group(5, 1, 7, "get_time", ("zone", "string", "12"), days),
    )
    assert [(c["name"], c["arguments"], c["turn"]) for c in run["tool_calls"]] == [
        ("get_weather", {"city": "Oslo", "days": 3}, 0),
        ("get_time", {"zone": "12", "days": 3}, None),
    ]


def test_a_function_that_a_bedrock_agent_gives_back_did_not_run():
    back = {"metadata": jsons({"action_group_name": "Weather", "execution_type": "RETURN_CONTROL"})}
    (run,) = runs(
        _bedrock(1, None, "bedrock_agent.invoke_agent", "AGENT", took=9, **{"input.value": "Weather?"}),
        _bedrock_asks(2, 1, 1, "Weather__get_weather", {"city": "Oslo"}),
        {
            **_bedrock(3, 1, "action_group", "TOOL", 3, **{"tool.name": "get_weather"} | back),
            "scope": "openinference.instrumentation.bedrock",
        },
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("get_weather", "requested")]


def test_a_bedrock_agent_sends_a_message_to_its_collaborator():
    named = {"metadata": jsons({"agent_collaborator_name": "worker", "output_type": "TEXT"})}
    (run,) = runs(
        _bedrock(1, None, "bedrock_agent.invoke_agent", "AGENT", took=20, **{"input.value": "Weather?"}),
        _bedrock_asks(2, 1, 1, "AgentCommunication__sendMessage", {"recipient": "worker", "content": "Oslo?"}),
        _bedrock(3, 1, "agent_collaborator[worker]", "AGENT", 3, 9, **named),
        _bedrock_asks(4, 3, 4, "Weather__get_weather", {"city": "Oslo"}),
        _action_group(5, 3, 6, "get_weather", ("city", "string", "Oslo")),
        _bedrock(6, 3, "LLM", "LLM", 8, **{"output.value": "Sunny."}),
        _bedrock(7, 1, "LLM", "LLM", 14, **{"output.value": "Oslo is sunny."}),
    )
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("get_weather", "worker")]
    assert [(d["to"], d["form"], d["status"]) for d in run["delegations"]] == [("worker", "tool", "ok")]
    assert run["agents"] == ["worker"]
