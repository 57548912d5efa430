"""What clients of models and the loops around them told, instrumented for JavaScript, in runs of many scripts."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed, ran
from tests.dialects.test_unrecorded_kits import words
from tests.runs.requests import agent, chat, span, tool

pytestmark = pytest.mark.full


def _asked(*calls, **more):
    parts = [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls]
    return {"role": "assistant", "parts": parts} | more


def _brought(id, text):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": text}]}


def _loop(*calls):
    """Model calls below a function of the application."""
    (run,) = agreed(span(1, None, "handle", scope="app", took=40), *calls)
    return run


@pytest.mark.parametrize(("mime", "answered"), [("text/plain", None), ("application/json", "m")])
def test_openinference_for_javascript_keeps_the_model_that_was_asked_of_a_chat_that_streams(mime, answered):
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.invocation_parameters": '{"model": "m"}'}
    told |= {"output.value": "hello", "output.mime_type": mime}
    told |= {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "hello"}
    scope = "@arizeai/openinference-instrumentation-openai"
    run = _loop(span(2, 1, "OpenAI Chat Completions", at=1, scope=scope, attributes=told))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("m", answered)]


@pytest.mark.parametrize("streams", [True, False])
def test_langfuse_for_javascript_keeps_the_model_that_was_asked_of_a_chat_that_streams(streams):
    told = {"type": "generation", "input": json.dumps({"messages": [{"role": "user", "content": "go"}]})}
    told |= {"output": "hello", "model.name": "m", "model.parameters": '{"stream":true}' if streams else "{}"}
    told = {f"langfuse.observation.{key}": value for key, value in told.items()}
    run = _loop(span(2, 1, "OpenAI.chat", at=1, scope="langfuse-sdk", attributes=told))
    (call,) = run["llm_calls"]
    assert (call["request_model"], call["response_model"]) == (("m", None) if streams else (None, "m"))


@pytest.mark.parametrize(("finish", "known"), [("", None), ("tool_call", {})])
def test_arguments_that_were_told_before_a_stream_ended_are_unknown(finish, known):
    """Traceloop's of Anthropic's client tells of a stream the empty object that each call begins with."""
    told = {"gen_ai.output.messages": json.dumps([_asked(("c1", "look", {}), finish_reason=finish)])}
    run = _loop(chat(2, 1, None, "go", at=1, attributes=told), tool(3, 1, "look", "c1", "cold", at=3))
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [(known, "cold")]


def test_calls_beside_a_text_of_a_response_stand_in_the_next_input():
    """Traceloop's of OpenAI's client tells of a Response with both its text alone, and that it ended to `stop`."""

    def response(number, at, items, text):
        told = {"gen_ai.input.messages": json.dumps([words("user", json.dumps(items))])}
        told["gen_ai.output.messages"] = json.dumps([words("assistant", text) | {"finish_reason": "stop"}])
        told |= {"gen_ai.response.id": f"resp_{number}", "gen_ai.response.finish_reasons": '["stop"]'}
        return chat(number, 1, at=at, scope="@traceloop/instrumentation-openai", attributes=told)

    go = {"role": "user", "content": "go"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at": "x"}'}
    back = {"type": "function_call_output", "call_id": "c1", "output": "cold"}
    run = _loop(
        response(2, 1, [go], "Let me look."),
        response(3, 4, [go, said, call, back], "It is cold."),
    )
    told = [(c["name"], c["arguments"], c["status"], c["result"], c["turn"]) for c in run["tool_calls"]]
    assert told == [("look", {"at": "x"}, "ok", "cold", 0)]
    assert run["output"] == "It is cold."


def test_langfuse_leaves_out_calls_beside_a_text_of_a_response_also_where_a_frame_holds_both():
    def response(number, at, items, output):
        told = {"type": "generation", "input": json.dumps(items), "output": output}
        told = {f"langfuse.observation.{k}": v for k, v in told.items()}
        return span(number, 1, "OpenAI.responses", at=at, scope="langfuse-sdk", attributes=told)

    go = {"role": "user", "content": "go"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}
    back = {"type": "function_call_output", "call_id": "c1", "output": "cold"}
    asked, history = response(2, 1, [go], "Let me look."), [go, said, call, back]
    (run,) = agreed(span(1, None, "handle", took=9), asked, response(3, 4, history, "It is cold."))
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("look", "ok", 0)]


def test_an_input_that_ends_with_a_request_leaves_out_what_came_back():
    """OpenLIT's of OpenAI's client does, of a tool that gave an empty text; words of the user may be what came back."""
    asked = [words("user", "go"), _asked(("c1", "look", {}))]
    run = _loop(chat(2, 1, [("c1", "look", {})], "go", at=1), chat(3, 1, "nothing there", asked, at=4))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "unknown")]
    run = _loop(
        chat(2, 1, [("c1", "look", {})], "go", at=1), chat(3, 1, "as you wish", [*asked, words("user", "no")], at=4)
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "unknown")]


@pytest.mark.parametrize("scope", ["@openlit/instrumentation-openai", "another"])
def test_a_response_that_was_completed_may_have_asked_for_tools(scope):
    """OpenLIT tells neither what one of OpenAI's Responses asked for nor what came back."""

    def response(number, at, *parts):
        answer = [{"role": "assistant", "parts": list(parts), "finish_reason": "completed"}]
        told = {"gen_ai.response.id": f"resp_{number}", "gen_ai.response.finish_reasons": '["completed"]'}
        told["gen_ai.output.messages"] = json.dumps(answer)
        return chat(number, 1, None, "go", at=at, scope=scope, attributes=told)

    run = _loop(response(2, 1), response(3, 4, {"type": "text", "content": "It is cold."}))
    assert (run["tool_calls"], run["output"]) == (None, "It is cold.")
    assert "tool calls not visible" in run["incomplete"]


@pytest.mark.parametrize(("said", "unknown"), [("AI SDK operation failed", True), ("", True), ("429", False)])
def test_why_a_model_call_failed_is_unknown_where_nobody_says_it(said, unknown):
    """The AI SDK 7 tells no reason where it may not tell content."""
    (run,) = agreed(
        agent(1, "a", took=9, error=said),
        chat(2, 1, None, "go", at=1, error=said),
    )
    assert (run["status"], "error" in run["boundaries"]) == ("error", True)
    assert ("timeout" in run["boundaries_unknown"]) is unknown


def test_a_failure_that_was_thrown_without_a_word_is_one_without_a_reason():
    """The AI SDK 7 without content, as its newest exporter throws what it says of every failure."""
    said = "AI SDK operation failed"
    thrown = [("exception", {"exception.type": "Error", "exception.message": said})]
    (run,) = agreed(
        agent(1, "a", took=9, error=said, events=thrown),
        chat(2, 1, None, "go", at=1, error=said, events=thrown),
    )
    assert (run["status"], run["boundaries"]) == ("error", ["error"])
    assert {"timeout", "rate_limit"} <= set(run["boundaries_unknown"])


@pytest.mark.parametrize("told", [{}, {"ai.response.text": ""}])
def test_a_loop_that_ended_to_have_tools_called_and_called_none_may_have_failed(told):
    """The AI SDK 4 hides that a model asked for a tool that nobody has, where its answer streams."""

    def sdk(id, parent, operation, took, **more):
        more = {"ai.operationId": operation, "ai.response.finishReason": "tool-calls"} | told | more
        return span(id, parent, operation, at=id, took=took, scope="ai", attributes=more)

    prompt = json.dumps({"prompt": "go"})
    (run,) = agreed(
        sdk(1, None, "ai.streamText", 9, **{"ai.prompt": prompt}),
        sdk(2, 1, "ai.streamText.doStream", 3, **{"ai.model.id": "m"}),
    )
    assert (run["status"], run["tool_calls"], run["output"]) == ("unknown", None, None)


@pytest.mark.parametrize("flags", [True, False])
def test_whether_a_tool_recovered_is_unknown_where_it_may_have_failed_again(flags):
    """Traceloop's of Anthropic's client leaves out the flag of a tool that failed."""
    scope = "another" if flags else "@traceloop/instrumentation-anthropic"
    first, again = ("c1", "book", {"at": "x"}), ("c2", "book", {"at": "y"})
    told = [words("user", "go"), _asked(first), _brought("c1", "Error: no rooms")]
    run = _loop(
        chat(2, 1, [first], "go", at=1, scope=scope),
        chat(3, 1, [again], told, at=4, scope=scope),
        chat(4, 1, "done", [*told, _asked(again), _brought("c2", "booked")], at=7, scope=scope),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["error", "ok" if flags else "unknown"]
    assert ("tool_recovery" in run["boundaries"], "tool_recovery" in run["boundaries_unknown"]) == (flags, not flags)


def test_who_was_told_the_words_that_a_tool_was_given_in_its_time_worked_for_it():
    """Traceloop's of LangChain for JavaScript opens a trace for each span and leaves out what was asked for."""

    def asks(number, at, said, given, answer=""):
        finish = "stop" if answer else "tool_call"
        told = {"gen_ai.output.messages": json.dumps([words("assistant", answer) | {"finish_reason": finish}])}
        told |= {"gen_ai.input.messages": json.dumps([words("system", said), *given])}
        told["gen_ai.response.finish_reasons"] = json.dumps([finish])
        return chat(number, None, trace=number, at=at, took=1, scope=chain, attributes=told)

    chain = "@traceloop/instrumentation-langchain"
    mute, go, work = words("assistant", ""), words("user", "go"), words("user", "look at x")
    cold, found = words("tool", "cold"), words("tool", "It is cold.")
    (run,) = agreed(
        asks(1, 0, "plan", [go]),
        ran(2, 2, {"request": "look at x"}, "c1", "ask_worker", "It is cold.") | {"took": 12},
        asks(3, 3, "work", [work]),
        ran(4, 5, {"at": "x"}, "c2", "look", "cold"),
        asks(5, 7, "work", [work, mute, cold], "It is cold."),
        asks(6, 15, "plan", [go, mute, found], "Cold."),
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("go", "Cold.", 4)
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [("worker", "ask_worker", "ok")]


def test_calls_in_traces_of_their_own_are_one_run_also_where_what_came_back_is_left_out():
    asked = [words("user", "go"), _asked(("call_x7", "look", {}))]
    (run,) = agreed(
        chat(1, None, [("call_x7", "look", {})], "go", trace=1, at=1),
        chat(2, None, "nothing there", asked, trace=2, at=4),
    )
    assert ([c["status"] for c in run["tool_calls"]], run["output"]) == (["unknown"], "nothing there")


def _adk(id, parent, name, at, took, **told):
    return span(id, parent, name, at=at, took=took, scope="gcp.vertex.agent", version="2.0.0", attributes=told)


def _adk_model(id, parent, at, took, said, answer=None):
    contents = [{"role": "user", "parts": [{"text": text}]} for text in said]
    told = {"content": {"role": "model", "parts": answer}} if answer else {}
    told |= {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2}, "finishReason": "STOP"}
    return _adk(
        *(id, parent, "call_llm", at, took),
        **{"gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9},
        **{"gcp.vertex.agent.llm_request": json.dumps({"model": "m", "contents": contents})},
        **{"gcp.vertex.agent.llm_response": json.dumps(told), "gen_ai.response.finish_reasons": '["stop"]'},
    )


def _adk_tool(id, parent, name, at, given):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": f"adk-{id}"}
    told |= {"gcp.vertex.agent.tool_call_args": json.dumps(given), "gcp.vertex.agent.tool_response": '{"result": "x"}'}
    return _adk(id, parent, f"execute_tool {name}", at, 0.5, **told)


def _adk_agent(id, parent, name, at, took):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    return _adk(id, parent, f"invoke_agent {name}", at, took, **told)


@pytest.mark.parametrize("told", [[{"functionCall": {"name": "look", "args": {}}}], None])
@pytest.mark.parametrize(("clock", "status"), [(0, "unknown"), (1e-6, "ok")])
def test_adk_for_javascript_never_ends_the_span_of_a_model_call_that_failed(told, clock, status):
    """What it tells of a stream leaves out what was asked for. Python's clock is finer, and its failed calls come."""
    (run,) = agreed(
        _adk(1, None, "invocation", clock, 20),
        _adk_agent(2, 1, "a", clock, 19),
        _adk_model(3, 2, 1 + clock, 3, ["go"], told),
        _adk_tool(4, 3, "look", 3 + clock, {}),
    )
    assert (run["status"], [c["status"] for c in run["tool_calls"]], run["output"]) == (status, ["ok"], None)
    assert ("error" in run["boundaries_unknown"]) is (status == "unknown")
    assert "max_steps" in run["boundaries_unknown"]


def test_a_model_span_that_holds_the_agent_that_its_tool_handed_the_work_to_is_one_call():
    """ADK 2.0 for JavaScript, where it streams."""
    (run,) = agreed(
        _adk(1, None, "invocation", 0, 30),
        _adk_agent(2, 1, "planner", 0, 29),
        _adk_model(3, 2, 1, 19, ["go"]),
        _adk_tool(4, 3, "transfer_to_agent", 2, {"agentName": "worker"}),
        _adk_agent(5, 3, "worker", 3, 17),
        _adk_model(6, 5, 4, 3, ["go", "For context: transferred"]),
        _adk_tool(7, 6, "look", 6, {"at": "x"}),
        _adk_model(8, 5, 12, 5, ["go", "For context: transferred"], [{"text": "It is cold."}]),
    )
    assert [(c["agent"], c["input_tokens"]) for c in run["llm_calls"]] == [("planner", 9), ("worker", 9), ("worker", 9)]
    assert [(c["name"], c["agent"], c["turn"]) for c in run["tool_calls"]] == [("look", "worker", 1)]
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "worker")]
    assert (run["input"], run["output"]) == ("go", "It is cold.")
