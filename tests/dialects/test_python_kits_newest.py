"""Kits for Python that trace themselves, by what their newest versions told of runs against a model of ours."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_ATOMIC = "atomic_agents"


@pytest.mark.parametrize(
    ("error", "told", "status"),
    [
        ("ValidationError", {"gen_ai.response.model": "model-b"}, "ok"),
        ("ValidationError", {}, "error"),
        ("InternalServerError", {"gen_ai.response.model": "model-b"}, "error"),
    ],
)
def test_an_answer_that_fits_no_schema_is_an_answer(error, told, status):
    """Atomic Agents 2.15: one span an attempt, with the schema's error on those that are refused."""
    refused = told | {"error.type": error}
    (run,) = runs(
        span(1, None, "handle", took=30),
        agent(2, "router", 1, at=0, took=9, scope=_ATOMIC, status=1, attributes={"output.value": '{"tool":"look"}'}),
        chat(3, 2, at=1, scope=_ATOMIC, error="1 validation error for Decide", attributes=refused),
        chat(4, 2, at=3, scope=_ATOMIC, status=1, attributes={"gen_ai.response.model": "model-b"}),
    )
    assert ([c["status"] for c in run["llm_calls"]], run["status"]) == ([status, "ok"], "ok")


_THROWN = {"type": "RuntimeError", "message": "no", "traceback": "Traceback (most recent call last):\n  File ..."}


@pytest.mark.parametrize(
    ("back", "status"),
    [(_THROWN, "error"), (_THROWN | {"id": 5}, "ok"), (_THROWN | {"traceback": "on the left"}, "ok")],
)
def test_a_traceback_beside_its_type_and_message_is_an_error(back, status):
    """Timbal 2.8, by the spans of a client of OpenAI's."""
    user = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1a", "name": "look", "arguments": {}}]}
    came = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1a", "response": str(back)}]}
    (run,) = runs(
        span(1, None, "handle", took=9),
        chat(2, 1, [("call_1a", "look", {})], "go", at=1),
        chat(3, 1, "done", [user, asked, came], at=3),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]


def test_a_tool_that_camel_has_not_registered_did_not_run():
    """CAMEL 0.2.90, by the spans of a client of OpenAI's."""
    said = "Tool execution failed: Tool 'look' not found in registered tools"
    user = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1a", "name": "look", "arguments": {}}]}
    came = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1a", "response": said}]}
    (run,) = runs(
        span(1, None, "handle", took=9),
        chat(2, 1, [("call_1a", "look", {})], "go", at=1),
        chat(3, 1, "done", [user, asked, came], at=3),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("requested", said)]


_OPENAI = "openinference.instrumentation.openai"


def _asked(id, parent, name, at, **told):
    told = {"openinference.span.kind": "LLM", "llm.system": "openai"} | told
    return span(id, parent, name, at=at, scope=_OPENAI, status=1, attributes=told)


def test_what_openais_server_is_asked_besides_is_no_models_call():
    """openinference-instrumentation-openai 0.1.66 around Langroid 0.69, which lists the models before it begins."""
    counted = {"llm.token_count.prompt": 10, "llm.token_count.completion": 2, "llm.model_name": "model-b"}
    told = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    told |= {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "done"}
    (run,) = runs(
        _asked(9, None, "SyncPage[Model]", 0, **{"input.value": "{}", "output.value": '{"data":[]}'}) | {"trace": 9},
        span(1, None, "handle", at=1, took=9),
        _asked(2, 1, "ModerationCreateResponse", 1, **{"input.value": '{"input":"go","model":"omni-moderation"}'}),
        _asked(3, 1, "ChatCompletion", 3, **counted, **told),
        _asked(4, 1, "ParsedResponse[Answer]", 5, **told),
    )
    assert [c["input_tokens"] for c in run["llm_calls"]] == [10, None]
    assert (run["input"], run["output"]) == ("go", "done")


@pytest.mark.parametrize(
    ("told", "status"),
    [({"atomic_agents.cancelled": True}, "unknown"), ({"atomic_agents.cancelled": False}, "ok"), ({}, "ok")],
)
def test_what_an_atomic_agent_calls_off_has_not_ended_well(told, status):
    """Atomic Agents 2.15, in the keys that it has of its own where OpenInference's are turned off."""
    asked = {"atomic_agents.input": '{"chat_message":"go"}'}
    called = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "nap"} | told
    (off,) = runs(agent(1, "router", took=9, scope=_ATOMIC, attributes=asked | told), chat(2, 1, scope=_ATOMIC))
    (run,) = runs(
        span(1, None, "handle", took=9),
        agent(2, "router", 1, at=1, scope=_ATOMIC, status=1, attributes=asked),
        chat(3, 2, at=1, scope=_ATOMIC),
        span(4, 1, "execute_tool nap", at=3, scope=_ATOMIC, attributes=called),
    )
    assert ((off["input"], off["status"]), [c["status"] for c in run["tool_calls"]]) == (("go", status), [status])


def test_what_failed_first_of_several_calls_is_told_by_name_and_is_no_other_calls():
    """smolagents 1.26 calls all at once, and tells its model of one error a step."""
    kit = {"scope": "openinference.instrumentation.smolagents"}
    asked = [("look", '{"x": 1}'), ("nosuch", '{"a": 2}'), ("boom", '{"what": "z"}')]
    unknown = "Error:\nUnknown tool nosuch, should be one of: look, boom."
    failed = "Error:\nError executing tool 'boom' with arguments {'what': 'z'}: ValueError: broke z"

    def model(id, at, back, calls):
        told = {
            "openinference.span.kind": "LLM",
            "llm.model_name": "m",
            "llm.output_messages.0.message.role": "assistant",
        }
        said = [("user", "New task:\ngo")] + [("tool-response", text) for text in back]
        for place, (role, content) in enumerate(said):
            told[f"llm.input_messages.{place}.message.role"] = role
            told[f"llm.input_messages.{place}.message.content"] = content
        for place, (name, arguments) in enumerate(calls):
            call = f"llm.output_messages.0.message.tool_calls.{place}.tool_call"
            told |= {
                f"{call}.id": f"c{id}{place}",
                f"{call}.function.name": name,
                f"{call}.function.arguments": arguments,
            }
        return span(id, 1, "OpenAIModel.generate", at=at, status=1, attributes=told, **kit)

    def tools(id, at):
        ran = {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": "seen"}
        threw = {"openinference.span.kind": "TOOL", "tool.name": "boom"}
        return (
            span(id, 1, "SimpleTool", at=at, status=1, attributes=ran | {"input.value": '{"kwargs": {"x": 1}}'}, **kit),
            span(
                id + 1,
                1,
                "SimpleTool",
                at=at,
                error="ValueError: broke z",
                events=[("exception", {"exception.type": "ValueError", "exception.message": "broke z"})],
                attributes=threw | {"input.value": '{"kwargs": {"what": "z"}}'},
                **kit,
            ),
        )

    told = {"openinference.span.kind": "AGENT", "input.value": '{"task": "go"}', "output.value": "done"}
    (run,) = runs(
        span(1, None, "planner.run", took=20, status=1, attributes=told, **kit),
        model(2, 1, [], asked),
        *tools(3, 2),
        model(5, 4, [failed], asked),
        *tools(6, 6),
        model(8, 8, [failed, unknown], asked),
        *tools(9, 10),
        model(11, 12, [failed, unknown, failed], [("final_answer", '{"answer": "done"}')]),
    )
    of = {name: [(c["status"], c["result"]) for c in run["tool_calls"] if c["name"] == name] for name, _ in asked}
    assert of["boom"] == [("error", failed)] * 3
    assert of["nosuch"][:2] == [("requested", None), ("requested", unknown)]


@pytest.mark.parametrize(
    ("words", "status", "result"),
    [
        ("Function 'look' result:\nsunny", "ok", "sunny"),
        ("Function 'sum' result:\n3", "unknown", None),
        ("(no result recorded for look)", "unknown", None),
        ("(no result)", "ok", "(no result)"),
    ],
)
def test_what_swarms_writes_around_a_result_or_in_its_place_is_none(words, status, result):
    """Swarms 16, by the spans of a client of OpenAI's: a tool that threw, and those beside it, have no result there."""
    user = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1a", "name": "look", "arguments": {}}]}
    came = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1a", "response": words}]}
    (run,) = runs(
        span(1, None, "handle", took=9),
        chat(2, 1, [("call_1a", "look", {})], "go", at=1),
        chat(3, 1, "done", [user, asked, came], at=3),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(status, result)]


@pytest.mark.parametrize(("named", "told"), [("model-b", None), ("model-a", "model-a")])
def test_a_model_that_ag2_says_was_asked_for_may_be_the_one_that_answered(named, told):
    """AG2 1.2, whose middleware is told of no model."""
    said = {"ag2.span.type": "llm", "gen_ai.request.model": named, "gen_ai.response.model": "model-b"}
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, "done", "go", at=1, attributes=said))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [(told, "model-b")]


_SCOPED = {"scope": "agentscope", "status": 1}


@pytest.mark.parametrize(("state", "status"), [("success", "ok"), ("interrupted", "unknown")])
def test_a_tool_of_agentscope_that_was_broken_off_has_not_ended_well(state, status):
    """AgentScope 2.0.11 ends its span well."""
    frame = {"content": [{"type": "text", "text": "12"}], "state": state, "metadata": {}, "id": "call_1a"}
    (run,) = runs(
        agent(1, "planner", took=9, **_SCOPED),
        chat(2, 1, [("call_1a", "nap", {})], "go", at=1, **_SCOPED),
        tool(3, 1, "nap", "call_1a", json.dumps(frame), at=3, **_SCOPED),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]


def test_what_agentscope_opened_no_span_for_may_not_have_run_and_it_says_that_it_gave_up():
    """AgentScope 2.0.11, of arguments that do not fit, and of its limit."""
    over = "The maximum reasoning-acting iterations are exceeded."
    user = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1a", "name": "look", "arguments": {}}]}
    words = "Input validation failed for tool 'look': 'city' is a required property"
    came = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1a", "response": words}]}
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": over}]}])
    (run,) = runs(
        agent(1, "planner", took=9, gen_ai__output__messages=said, **_SCOPED),
        chat(2, 1, [("call_1a", "look", {})], "go", at=1, **_SCOPED),
        chat(3, 1, [("call_2b", "look", {"city": "Rome"})], [user, asked, came], at=3, **_SCOPED),
        tool(4, 1, "look", "call_2b", "sunny", at=5, **_SCOPED),
    )
    assert ([c["status"] for c in run["tool_calls"]], run["boundaries"]) == (["unknown", "ok"], ["max_steps"])


def test_what_went_wrong_below_a_tool_is_the_tools():
    """FastMCP 4.2, of a server that is mounted in another: a step between its span and the other's."""
    thrown = [("exception", {"exception.type": "ValueError", "exception.message": "broke z"})]
    called = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "boom"}
    kit = {"scope": "fastmcp", "error": "broke z"}
    (run,) = runs(
        span(1, None, "handle", took=20),
        chat(2, 1, [("call_1a", "boom", {})], "go", at=1),
        span(3, 1, "tools/call boom", at=3, took=6, attributes=called | {"error.type": "tool_error"}, **kit),
        span(4, 3, "tools/call boom", at=4, took=4, attributes=called, events=thrown, **kit),
        span(5, 4, "delegate boom", at=5, took=2, attributes=dict([*called.items()][:1]), events=thrown, **kit),
        span(6, 5, "tools/call boom", at=6, took=0.5, attributes=called, events=thrown, **kit),
        chat(7, 1, "Sorry.", "go", at=15),
    )
    assert (run["boundaries"], run["status"]) == (["tool_failure"], "ok")
