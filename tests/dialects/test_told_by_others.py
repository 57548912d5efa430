"""What instrumentations fill in, leave out or call by other names, where a kit's own spans would have told it."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

QUESTION = {"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}
ASKED = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-a"}


def _called(run):
    return [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]


def _models(run):
    return [(c["request_model"], c["response_model"]) for c in run["llm_calls"]]


def _kit(id, parent, template, at=0.0, took=1.0, **more):
    """A span of Logfire's of OpenAI's kit."""
    told = {"logfire.span_type": "span", "logfire.msg_template": template} | more.pop("told", {})
    return span(id, parent, template, at=at, took=took, attributes=told, scope="logfire.openai_agents", **more)


@pytest.mark.parametrize(
    "scope, told, model",
    [
        ("logfire.openai", {}, None),
        ("logfire.openai", {"gen_ai.response.id": "r1"}, "model-a"),
        ("logfire.openai", {"gen_ai.response.model": "model-a-2"}, "model-a-2"),
        ("openinference.instrumentation.litellm", {}, None),
        ("pydantic-ai", {}, "model-a"),
    ],
)
def test_the_model_that_logfire_fills_in_is_not_told(scope, told, model):
    given = {"logfire.span_type": "span", "gen_ai.response.model": "model-a"} | told
    (run,) = runs(chat(1, None, "There.", "Where?", scope=scope, attributes=given))
    assert _models(run) == [("model-a", model)]


@pytest.mark.parametrize("model, told", [("model-a", None), ("model-a-2", "model-a-2")])
def test_the_model_that_litellm_tells_of_a_stream_may_be_the_one_that_was_asked(model, told):
    given = {"llm.is_streaming": "True", "gen_ai.response.model": model, "gen_ai.response.id": "chatcmpl-1"}
    request = chat(1, None, "There.", "Where?", scope="litellm", attributes=given) | {"name": "litellm_request"}
    (run,) = runs(request)
    assert _models(run) == [("model-a", told)]


def test_logfire_tells_a_chat_of_openais_agents_by_its_input_and_output():
    def said(history, answer):
        usage = {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 2}
        models = {"gen_ai.request.model": "model-a", "gen_ai.response.model": "model-a"}
        return usage | models | {"input": json.dumps(history), "output": json.dumps([answer])}

    question = {"role": "user", "content": "Where?"}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    came = {"role": "tool", "tool_call_id": "c1", "content": "here"}
    template = "Chat completion with {gen_ai.request.model!r}"
    (run,) = runs(
        _kit(1, None, "OpenAI Agents trace: {name}", took=9),
        _kit(2, 1, "Agent run: {name!r}", took=8, told={"name": "helper", "tools": '["look"]'}),
        _kit(3, 2, template, 1, told=said([question], asked)),
        _kit(4, 2, "Function: {name}", 3, told={"name": "look", "input": '{"q": 1}', "output": "here"}),
        _kit(5, 2, template, 5, told=said([question, asked, came], {"role": "assistant", "content": "Here."})),
    )
    assert _called(run) == [("look", {"q": 1}, "ok", "here")]
    assert (run["input"], run["output"], run["status"]) == ("Where?", "Here.", "ok")
    assert _models(run) == [("model-a", None)] * 2


@pytest.mark.parametrize("answered", [True, False])
def test_a_step_in_which_a_guard_stopped_the_agent_tells_of_its_end(answered):
    response = {"id": "resp_1", "model": "model-a", "output": [{"type": "message", "role": "assistant"}]}
    response["output"][0]["content"] = [{"type": "output_text", "text": "Hello."}]
    told = {"raw_input": json.dumps([{"role": "user", "content": "Hi"}]), "response": json.dumps(response)}
    asked = {"gen_ai.request.model": "model-a", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 2}
    (run,) = runs(
        _kit(1, None, "OpenAI Agents trace: {name}", took=9),
        _kit(2, 1, "Agent run: {name!r}", took=8, told={"name": "helper"}),
        _kit(3, 2, "Turn {turn} for agent helper", took=7, error=""),
        *([_kit(4, 3, "Responses API with {gen_ai.request.model!r}", 1, told=told | asked)] if answered else []),
    )
    assert (run["status"], run["output"]) == ("error", None)
    assert "error" in run["boundaries"]


def test_a_turn_that_failed_and_was_taken_again_is_no_end():
    (run,) = runs(
        agent(1, "helper", took=9),
        span(2, 1, "turn", at=1, error="no such key", openinference__span__kind="CHAIN"),
        span(3, 1, "turn", at=3, took=3, openinference__span__kind="CHAIN"),
        chat(4, 3, "Hello.", "Hi", at=4),
    )
    assert (run["status"], run["output"]) == ("ok", "Hello.")


def test_what_openlit_calls_an_agent_may_be_its_guard():
    (run,) = runs(
        agent(1, "helper", took=9, scope="openlit.instrumentation.openai_agents"),
        agent(2, "no_insults", 1, at=1, attributes={"gen_ai.guardrail.triggered": False})
        | {"scope": "openlit.instrumentation.openai_agents"},
        chat(3, 1, "Hello.", "Hi", at=3),
    )
    agent_of_all = {c["agent"] for c in run["llm_calls"]}
    assert (run["agents"], run["delegations"], agent_of_all) == (["helper"], [], {"helper"})


@pytest.mark.parametrize(("status", "told"), [(0, "unknown"), (1, "ok")])
def test_a_step_of_which_openlit_does_not_say_that_it_went_well_was_called_off(status, told):
    """OpenLIT 1.45 of Agno: what is cancelled bears no attribute."""
    openlit = {"scope": "openlit.instrumentation.agno"}
    (run,) = runs(
        span(1, None, "invoke_agent planner", took=9) | openlit,
        chat(2, 1, [("c1", "nap", {})], "Rest.", at=1),
        span(3, 1, "execute_tool nap", at=3, took=6, status=status) | openlit,
    )
    (call,) = run["tool_calls"]
    assert (call["status"], run["status"]) == (told, "unknown")


@pytest.mark.parametrize(
    "came",
    [
        "FunctionToolResult(tool=FunctionTool(name='look'), output=None, run_item=ToolApprovalItem(agent=None))",
        json.dumps({"tool": {"name": "look"}, "output": None, "run_item": {"type": "tool_approval_item"}}),
    ],
)
def test_what_openais_kit_puts_out_while_a_tool_waits_for_leave_is_no_result(came):
    (run,) = runs(
        agent(1, "helper", took=9),
        chat(2, 1, [("c1", "look", {"q": 1})], "Where?", at=1),
        tool(3, 1, "look", "c1", came, at=3),
    )
    assert _called(run) == [("look", {"q": 1}, "requested", None)]


@pytest.mark.parametrize("offered, status", [(["look"], "unknown"), (["look", "jump"], "ok"), ([], "ok")])
def test_how_a_loop_answered_for_a_tool_that_nobody_has_is_unknown(offered, status):
    definitions = {"gen_ai.tool.definitions": [{"type": "function", "name": name} for name in offered]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "jump", "arguments": {}}]}
    came = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "there is no jump"}]}
    (run,) = runs(
        chat(1, None, [("c1", "jump", {})], [QUESTION], attributes=definitions),
        chat(2, None, "I cannot.", [QUESTION, asked, came], trace=2, at=3, attributes=definitions),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("jump", status)]


@pytest.mark.parametrize("id", ["msg_7", "chatcmpl-8"])
def test_a_gateway_may_give_an_answer_an_id_of_its_own(id):
    """Of one make with what is inside, it is that of another answer."""
    given = {"gen_ai.response.id": "chatcmpl-7"}
    (run,) = runs(
        chat(1, None, "There.", "Where?", took=3, scope="gateway", attributes=given),
        chat(2, 1, "There.", "Where?", at=1, scope="gateway", attributes={"gen_ai.response.id": id}),
    )
    told = [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"] or []]
    assert told == ([(10, 2)] if id == "msg_7" else [])


def test_a_text_that_litellm_tells_apart_from_the_calls_belongs_to_the_same_answer():
    function = {"name": "look", "arguments": '{"q": 1}'}
    flat = {f"gen_ai.completion.0.function_call.{key}": value for key, value in function.items()}
    said = [{"type": "text", "content": "Let me see."}]
    call = {"id": "c1", "type": "function", "function": function}
    came = {"role": "tool", "parts": [{"type": "text", "content": "here"}], "tool_call_id": "c1"}
    history = [QUESTION, {"role": "assistant", "parts": said, "tool_calls": [call]}, came]
    (run,) = runs(
        chat(1, None, "Let me see.", [QUESTION], scope="litellm", attributes=flat),
        chat(2, None, "Here.", history, trace=2, at=3, scope="litellm"),
    )
    assert _called(run) == [("look", {"q": 1}, "ok", "here")]


def test_openlit_tells_no_call_beside_the_text_of_a_response():
    """Where a kit frames it, the kit's spans tell of tools."""
    given = {"gen_ai.response.id": "resp_1"}
    alone = chat(1, None, "Let me see.", "Where?", scope="openlit.instrumentation.openai", attributes=given)
    (run,) = runs(alone)
    assert run["tool_calls"] is None
    (run,) = runs(agent(2, "helper", took=9), alone | {"parent": 2, "at": 1})
    assert run["tool_calls"] == []


def test_that_agents_were_made_in_one_trace_does_not_make_their_runs_one():
    made = span(9, None, "create_agent helper", trace=9, gen_ai__operation__name="create_agent")

    def turn(trace, at):
        return [
            agent(trace * 10, "helper", trace=trace, at=at, took=2, links=[(9, 9)]) | {"scope": "openlit.crewai"},
            chat(trace * 10 + 1, trace * 10, "Yes.", f"{trace}?", trace=trace, at=at + 0.5),
        ]

    found = runs(made, *turn(2, 2), *turn(3, 4))
    assert [run["input"] for run in found] == ["2?", "3?"]


@pytest.mark.parametrize("tokens, calls", [(10, 1), (11, 2)])
def test_two_layers_tell_of_one_stream_though_neither_lies_in_the_others_time(tokens, calls):
    given = ASKED | {
        "gen_ai.usage.input_tokens": tokens,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.response.id": "msg_1",
    }
    found = runs(
        chat(1, None, "There.", "Where?", took=3, scope="layer"),
        span(2, None, "messages.create", trace=2, at=0.1, took=3, scope="sdk", attributes=given),
    )
    assert sum(len(run["llm_calls"]) for run in found) == calls


def test_anthropics_client_tells_why_it_stopped_in_a_key_of_its_own():
    def told(reason):
        given = ASKED | {"gen_ai.usage.input_tokens": 3, "anthropic.message.stop_reason": reason}
        (run,) = runs(agent(1, "a", took=3), span(2, 1, "anthropic.messages.create", attributes=given))
        return run["tool_calls"], run["status"], run["llm_calls"][0]["finish_reason"]

    assert told("end_turn") == ([], "ok", "end_turn")
    assert told("tool_use") == (None, "unknown", "tool_use")


def test_gemini_says_stop_of_a_request_for_tools_too():
    given = ASKED | {"gen_ai.request.model": "gemini-x", "gen_ai.usage.input_tokens": 3}
    (run,) = runs(span(1, None, "chat", attributes=given | {"gen_ai.response.finish_reasons": '["stop"]'}))
    assert (run["tool_calls"], run["status"]) == (None, "unknown")


def test_traceloop_says_well_of_a_run_that_stopped_after_its_tools():
    scope = "opentelemetry.instrumentation.openai_agents"
    (run,) = runs(
        agent(1, "helper", took=9, status=1, scope=scope),
        chat(2, 1, [("c1", "look", {"q": 1})], "Where?", at=1, status=1, scope=scope),
        tool(3, 1, "look", "c1", "here", at=3, status=1, scope=scope),
    )
    assert run["status"] == "unknown"


def _langfuse(id, name, asked, answer, **more):
    told = {"langfuse.observation.type": "generation", "langfuse.observation.model.name": "model-a"}
    told |= {"langfuse.observation.input": json.dumps(asked), "langfuse.observation.output": answer}
    return span(id, None, name, trace=id, attributes=told, scope="langfuse-sdk", **more)


def test_what_was_asked_for_beside_a_text_may_be_told_by_the_next_input_alone():
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]}
    asked = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"q": 1}'}
    came = {"type": "function_call_output", "call_id": "c1", "output": "here"}
    question = {"role": "user", "content": "Where?"}
    first = _langfuse(1, "OpenAI.responses", [question], "Let me see.")
    (run,) = runs(first, _langfuse(2, "OpenAI.responses", [question, said, asked, came], "Here.", at=3))
    assert _called(run) == [("look", {"q": 1}, "ok", "here")]
    assert (run["input"], run["output"]) == ("Where?", "Here.")
    (run,) = runs(first)
    assert run["tool_calls"] is None


def test_a_text_beside_the_calls_of_a_stream_may_be_told_by_the_next_input_alone():
    function = {"name": "look", "arguments": '{"q": 1}'}
    call = {"id": "c1", "type": "function", "function": function}
    question = {"messages": [{"role": "user", "content": "Where?"}]}
    said = {"role": "assistant", "content": "Let me see.", "tool_calls": [call]}
    history = {"messages": [*question["messages"], said, {"role": "tool", "tool_call_id": "c1", "content": "here"}]}
    (run,) = runs(
        _langfuse(1, "OpenAI.chat", question, json.dumps({"tool_calls": [{"function": function}]})),
        _langfuse(2, "OpenAI.chat", history, "Here.", at=3),
    )
    assert _called(run) == [("look", {"q": 1}, "ok", "here")]


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("reason", ["error", "stop"])
def test_an_error_that_an_agent_put_out_in_place_of_an_answer_is_none(seen, reason):
    said = {"role": "assistant", "parts": [{"type": "text", "content": "no quota"}], "finish_reason": reason}
    models = [chat(2, 1, [("c1", "look", {"q": 1})], "Where?", at=1)] if seen else []
    (run,) = runs(
        agent(1, "helper", took=9, gen_ai__output__messages=[said], gen_ai__input__messages=[QUESTION]),
        *models,
        tool(3, 1, "look", "c1", "here", at=3, attributes={"gen_ai.tool.call.arguments": {"q": 1}}),
        *([chat(4, 1, "no quota", "Where?", at=5)] if seen else []),
    )
    failed = reason == "error"
    assert (run["status"], run["output"]) == (("error", None) if failed else ("ok", "no quota"))
    assert ("error" in run["boundaries"]) == failed


def _proxied(trace, at, history, answer, stream=False, error=None):
    """LiteLLM's proxy 1.106: a trace for each request to it, below the server's own spans."""
    name, path = "litellm_request", "POST /v1/chat/completions"
    told = {"gen_ai.operation.name": "acompletion", "llm.request.type": "acompletion", "gen_ai.request.model": "m"}
    told |= {
        "litellm.model_group": "mine",
        "llm.is_streaming": str(stream),
        "gen_ai.input.messages": [_in_parts(x) for x in history],
    }
    told |= {"gen_ai.system": "openai", "error.type": error} if error else {"gen_ai.response.model": "mine"}
    raw = {"llm.openai.model": "m" if stream else "m-2024-08-06", "llm.openai.messages": repr(history)}
    raw |= {"llm.openai.stream": "True"} if stream else {"llm.openai.choices": repr([{"message": answer}])}
    said = {} if error else {"gen_ai.output.messages": [_in_parts(answer)]}
    first = trace * 10
    yield span(first, None, path, trace=trace, at=at, took=2, kind=2, scope="fastapi")
    yield span(first + 1, first, "Received Proxy Server Request", trace=trace, at=at, took=2, kind=2, scope="litellm")
    told = {"trace": trace, "at": at, "error": error, "scope": "litellm", "attributes": told | said}
    yield span(first + 2, first + 1, name, **told)
    if not error:
        yield span(first + 3, first + 2, "raw_gen_ai_request", trace=trace, at=at, scope="litellm", attributes=raw)


def _in_parts(message):
    parts = [
        {"type": "tool_call", "id": c["id"], "name": c["function"]["name"], "arguments": {}}
        for c in message.get("tool_calls", ())
    ]
    if message["role"] == "tool":
        parts = [{"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}]
    return {"role": message["role"], "parts": parts or [{"type": "text", "content": message["content"]}]}


@pytest.mark.parametrize("stream", [True, False])
def test_requests_to_a_gateway_are_calls_of_one_loop(stream):
    go = {"role": "user", "content": "go"}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    back = {"role": "tool", "tool_call_id": "c1", "content": "cold"}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    history = [go, asked, back]
    one, failed = runs(
        *_proxied(1, 0, [go], asked, stream),
        *_proxied(2, 5, history, {"role": "assistant", "content": "done"}, stream),
        *_proxied(3, 10, [go], None, error="BadRequestError"),
    )
    assert (one["input"], one["output"], len(one["trace_ids"])) == ("go", "done", 2)
    assert [(c["name"], c["status"], c["result"]) for c in one["tool_calls"]] == [("look", "ok", "cold")]
    answered = None if stream else "m-2024-08-06"
    assert [(c["request_model"], c["response_model"]) for c in one["llm_calls"]] == [("m", answered)] * 2
    assert (failed["status"], [c["status"] for c in failed["llm_calls"]]) == ("error", ["error"])
