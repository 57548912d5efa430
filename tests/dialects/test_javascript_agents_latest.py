"""Agents of the newest kits for JavaScript, run against a model of ours: middleware, leave, streams, two at once."""

import json

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full

_OI = "@arizeai/openinference-instrumentation-openai-agents"
_TRACELOOP = "@traceloop/instrumentation-openai"
_ID = "chatcmpl-IO6x6UNrAUDTlx7f97hRhvuC"


def _agents(id, parent, kind, name, at, took, **told):
    """OpenInference 0.2 for OpenAI's Agents SDK for JavaScript 0.20, over chat completions."""
    told = {"openinference.span.kind": kind, "llm.system": "openai"} | told
    return span(id, parent, name, 1, at, took, status=1, scope=_OI, attributes=told)


def _workflow(*generation):
    """The model is asked with `stream` on: its span shows what came of it, if the stream was read to its end."""
    asked = [{"role": "user", "content": "plan"}]
    told = {"llm.model_name": "m", "input.value": json.dumps(asked), "input.mime_type": "application/json"}
    told |= {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "plan"}
    return [
        _agents(1, None, "AGENT", "Agent workflow", 0, 3, **{"input.value": json.dumps(asked)}),
        _agents(2, 1, "AGENT", "planner", 0, 3, **{"graph.node.id": "planner"}),
        _agents(3, 2, "LLM", "generation", 1, 1.5, **told | dict(generation)),
    ]


def _client(of, **part):
    """Traceloop 0.27 of the client: no span to stand under, and of a stream no tokens."""
    said = [{"role": "assistant", "finish_reason": "stop", "parts": [part]}]
    asked = [{"role": "user", "parts": [{"type": "text", "content": "plan"}]}]
    told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m"}
    told |= {"gen_ai.response.model": "m-2026", "gen_ai.response.id": of, "gen_ai.input.messages": asked}
    return span(9, None, "chat m", 2, 1.001, 1.4, scope=_TRACELOOP, attributes=told | {"gen_ai.output.messages": said})


@pytest.mark.parametrize("id", [_ID, "chatcmpl-xtsibQnvRZFWscLylUKIADLx"])
def test_a_stream_that_asks_for_no_tool_is_one_call_by_two_of_whom_one_counts_no_tokens(id):
    answer = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hello."}}]}
    flat = "llm.output_messages.0.message"
    told = {"output.value": json.dumps([{"id": id} | answer]), f"{flat}.role": "assistant"}
    told |= {f"{flat}.content": "Hello.", "llm.token_count.prompt": 12, "llm.token_count.completion": 3}
    (run,) = runs(*_workflow(*told.items()), _client(id, type="text", content="Hello."))
    (call,) = run["llm_calls"]
    assert (run["agents"], run["output"], run["status"]) == (["planner"], "Hello.", "ok")
    assert (call["agent"], call["input_tokens"], call["response_model"]) == ("planner", 12, "m-2026")


def test_a_stream_that_its_reader_left_is_one_call_by_two_of_whom_one_tells_nothing_of_it():
    (run,) = runs(*_workflow(), _client(_ID, type="tool_call", id="call_BUMVRncf", name="look", arguments={}))
    assert [(c["name"], c["agent"], c["status"]) for c in run["tool_calls"]] == [("look", "planner", "unknown")]
    assert len(run["llm_calls"]) == 1


def test_words_beside_what_waits_for_leave_are_no_answer_where_what_was_asked_for_is_left_out():
    """LangChain 1.5 for JavaScript with a human in the loop under Traceloop 0.27, below a span of the program's: the
    agent's own span is none of the model's, and its answer tells no calls."""
    said = [{"role": "assistant", "finish_reason": "tool_call", "parts": [{"type": "text", "content": "Booking."}]}]
    asked = [{"role": "user", "parts": [{"type": "text", "content": "book it"}]}]
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": asked}
    told |= {"gen_ai.output.messages": said, "gen_ai.response.finish_reasons": ["tool_call"]}
    waits = [("exception", {"exception.type": "GraphInterrupt", "exception.message": "[]"})]
    frame = {"traceloop.span.kind": "workflow", "gen_ai.operation.name": "workflow"}
    scope = "@traceloop/instrumentation-langchain"
    (run,) = runs(
        span(1, None, "POST /chat", took=9, scope="app"),
        span(2, 1, "workflow CompiledStateGraph", at=1, took=7, status=1, scope=scope, attributes=frame),
        span(3, 1, "chat m", at=2, status=1, scope=scope, attributes=told),
        span(
            4, 1, "workflow RunnableSequence", at=4, error="[]\n\nGraphInterrupt: []", events=waits, scope=scope,
            attributes=frame,
        ),
    )  # fmt: skip
    assert (run["input"], run["output"]) == ("book it", None)
    assert [c["name"] for c in run["tool_calls"] or []] == []


def test_what_did_not_do_as_an_answer_is_none_though_the_failed_frame_tells_it():
    """The AI SDK 6 as it reads an answer that fits no schema."""
    said = "No object generated: could not parse the response."
    thrown = [("exception", {"exception.type": "AI_NoObjectGeneratedError", "exception.message": said})]
    told = {"ai.telemetry.functionId": "planner", "ai.response.text": "not json", "ai.response.finishReason": "stop"}
    asked = {"ai.operationId": "ai.generateText", "ai.prompt": '{"prompt": "plan"}'}
    within = {"ai.operationId": "ai.generateText.doGenerate", "ai.response.model": "m", "ai.usage.promptTokens": 9}
    (run,) = runs(
        span(1, None, "ai.generateText", took=3, error=said, events=thrown, scope="ai", attributes=told | asked),
        span(2, 1, "ai.generateText.doGenerate", at=1, scope="ai", attributes=told | within),
    )
    assert (run["status"], run["output"], [c["status"] for c in run["llm_calls"]]) == ("error", None, ["ok"])


@pytest.mark.parametrize("frame", [False, True])
def test_agents_abreast_were_asked_and_answer_each_a_part_where_their_frame_was_not_sent(frame):
    """The AI SDK under Langfuse's processor, or Traceloop's: neither sends the span of the program around both."""

    def loop(id, name, asked, answer, took):
        told = {"ai.operationId": "ai.generateText", "ai.telemetry.functionId": name, "ai.response.text": answer}
        within = told | {"ai.operationId": "ai.generateText.doGenerate", "ai.response.finishReason": "stop"}
        within |= {"ai.prompt.messages": json.dumps([{"role": "user", "content": asked}]), "ai.response.model": "m"}
        told |= {"ai.prompt": json.dumps({"prompt": asked})}
        return [
            span(id, 1, "ai.generateText", at=1, took=took, scope="ai", attributes=told),
            span(id + 1, id, "ai.generateText.doGenerate", at=1.1, took=took - 0.2, scope="ai", attributes=within),
        ]

    around = [span(1, None, "handle request", took=9, scope="app")] if frame else []
    both = [*loop(2, "planner", "plan", "Planned.", 3), *loop(4, "writer", "write", "Written.", 2)]
    (run,) = runs(*around, *both)
    assert (run["input"], run["output"], run["agents"]) == (None, None, ["planner", "writer"])


_LANGCHAIN = "@traceloop/instrumentation-langchain"


def _words(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _asks(trace, at, said, text="", why="tool_call", parent=None):
    """A model call of LangChain 1.5 for JavaScript under Traceloop 0.27, which tells no call of an answer; without a
    span of the program's around it, each span has a trace of its own."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": said}
    told |= {"gen_ai.output.messages": [_words("assistant", text) | {"finish_reason": why}]}
    told |= {"gen_ai.response.finish_reasons": [why]}
    return span(trace, parent, "chat m", 1 if parent else trace, at, 0.5, scope=_LANGCHAIN, attributes=told)


def _ran(trace, at, given, brought=None, parent=None, took=0.1):
    """A tool, named by the message that it put out, if it put out any."""
    told = {"gen_ai.operation.name": "execute_tool", "traceloop.span.kind": "task"}
    told |= {"traceloop.entity.name": "DynamicStructuredTool", "traceloop.entity.input": {"args": [json.dumps(given)]}}
    more = {"error": "connection reset", "events": [("exception", _THROWN)]}
    if brought is not None:
        kwargs = {"status": "success", "content": brought[1], "tool_call_id": f"call_vzk9xQ{trace}", "name": brought[0]}
        put = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": kwargs}
        told |= {"traceloop.entity.output": json.dumps(put, separators=(",", ":"))}
        more = {"status": 1}
    name, of = "execute_tool DynamicStructuredTool", 1 if parent else trace
    return span(trace, parent, name, of, at, took, scope=_LANGCHAIN, attributes=told, **more)


_THROWN = {"exception.type": "Error", "exception.message": "connection reset"}
_USER, _MUTE = _words("user", "go"), _words("assistant", "")
_FAILED = "Tool 'fetch' failed after 2 attempts with Error"


@pytest.mark.parametrize("frame", [None, 1])
def test_a_tool_that_was_tried_again_is_one_call_also_where_what_threw_has_no_name(frame):
    given, on = {"ref": "a1"}, _words("tool", "fine")
    (run,) = runs(
        *([span(1, None, "POST /chat", took=9, scope="app")] if frame else []),
        _asks(2, 1, [_USER], parent=frame),
        _ran(3, 1.6, given, parent=frame),
        _ran(4, 1.8, given, parent=frame),
        _ran(5, 2, given, ("fetch", "fine"), parent=frame),
        _asks(6, 3, [_USER, _MUTE, on], "Done.", "stop", parent=frame),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("fetch", "ok", "fine")]
    assert (run["output"], len(run["llm_calls"])) == ("Done.", 2)


def test_a_tool_that_failed_each_time_is_one_call_and_so_is_what_came_of_it():
    given, on = {"ref": "a1"}, [_USER, _MUTE, _words("tool", _FAILED)]
    (run,) = runs(
        _asks(2, 1, [_USER]),
        _ran(3, 1.6, given),
        _ran(4, 1.8, given),
        _asks(5, 2, on),
        _ran(6, 2.6, {"ref": "b2"}, ("fetch", "fine")),
        _asks(7, 3, [*on, _MUTE, _words("tool", "fine")], "Done.", "stop"),
    )
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [(None, "error", 0), ("fetch", "ok", 1)]


def test_a_tool_at_which_a_run_ended_is_of_the_call_that_ended_just_before_it_and_not_of_one_that_waits():
    """The loop ends with what the tool returns; another run waits for somebody's leave."""
    found = runs(
        _asks(2, 0, [_words("user", "something else")]),
        _asks(3, 2, [_USER]),
        _ran(4, 2.505, {"ref": "a1"}, ("fetch", "fine")),
    )
    told = {r["input"]: [c["name"] for c in r["tool_calls"] or []] for r in found}
    assert told == {"something else": [], "go": ["fetch"]}


_CONTEXT = {"role": "user", "parts": [{"text": "For context:"}, {"text": "[planner] said: Drafted."}]}
_ON = "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs are needed."


def _adk(id, parent, name, at, took, agent=None, **told):
    """Google's ADK 2.0 for JavaScript: a model's span lasts as long as the tools that it asked for."""
    told |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent} if agent else {}
    return span(id, parent, name, at=at, took=took, scope="gcp.vertex.agent", version="2.0.0", attributes=told)


def _adk_asks(id, parent, agent, at, took, contents, *answer):
    said = {"content": {"role": "model", "parts": answer}, "finishReason": "STOP"}
    told = {"gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "m", "gen_ai.agent.name": agent}
    told |= {"gcp.vertex.agent.llm_request": json.dumps({"model": "m", "contents": contents})}
    told |= {"gcp.vertex.agent.llm_response": json.dumps(said), "gen_ai.response.finish_reasons": '["stop"]'}
    return _adk(id, parent, "call_llm", at, took, **told)


def _adk_ran(id, parent, name, at, took, given, brought):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": f"adk-{id}"}
    told |= {"gcp.vertex.agent.tool_call_args": json.dumps(given)}
    told |= {"gcp.vertex.agent.tool_response": json.dumps({"result": brought})}
    return _adk(id, parent, f"execute_tool {name}", at, took, **told)


def _user(text):
    return {"role": "user", "parts": [{"text": text}]}


@pytest.mark.parametrize("lost", [3, 5])
def test_one_of_two_in_a_row_whose_model_call_is_lost_leaves_the_users_words_and_no_answer_of_the_others(lost):
    spans = [
        _adk(1, None, "invocation", 0, 9),
        _adk(2, 1, "invoke_agent planner", 0, 4, "planner"),
        _adk_asks(3, 2, "planner", 1, 2, [_user("go")], {"text": "Drafted."}),
        _adk(4, 1, "invoke_agent writer", 5, 4, "writer"),
        _adk_asks(5, 4, "writer", 6, 2, [_user("go"), _CONTEXT], {"text": "Written."}),
    ]
    (run,) = runs(*(s for s in spans if s["id"] != lost))
    assert (run["input"], run["output"]) == ("go", "Written." if lost == 3 else None)


def test_that_it_goes_on_is_nothing_that_the_user_said():
    asked = {"role": "model", "parts": [{"functionCall": {"name": "nobodys", "args": {}}}]}
    (run,) = runs(
        _adk(1, None, "invocation", 0, 9),
        _adk(2, 1, "invoke_agent planner", 0, 9, "planner"),
        _adk_asks(3, 2, "planner", 5, 2, [_user("go"), asked, _user(_ON)], {"text": "Done."}),
    )
    assert run["input"] == "go"


@pytest.mark.parametrize("lost", [3, 4])
def test_an_agent_as_a_tool_is_one_where_the_spans_of_who_asked_or_of_its_tool_are_lost(lost):
    given, called = {"request": "write"}, {"functionCall": {"name": "writer", "args": {"request": "write"}}}
    brought = {"functionResponse": {"name": "writer", "response": {"result": "Written."}}}
    history = [_user("go"), {"role": "model", "parts": [called]}, {"role": "user", "parts": [brought]}]
    spans = [
        _adk(1, None, "invocation", 0, 20),
        _adk(2, 1, "invoke_agent planner", 0, 20, "planner"),
        _adk_asks(3, 2, "planner", 1, 9, [_user("go")], called),
        _adk_ran(4, 3, "writer", 3, 7, given, "Written."),
        _adk(5, 4, "invocation", 4, 5),
        _adk(6, 5, "invoke_agent writer", 4, 5, "writer"),
        _adk_asks(7, 6, "writer", 5, 2, [_user("write")], {"text": "Written."}),
        _adk_asks(8, 2, "planner", 12, 2, history, {"text": "Done."}),
    ]
    (run,) = runs(*(s for s in spans if s["id"] != lost))
    assert (run["input"], run["tool_calls"]) == ("go" if lost == 3 else run["input"], [])
    told = run["delegations"] or [{"from": "planner", "to": "writer", "tool": "writer"}]
    assert [(d["from"], d["to"], d["tool"]) for d in told] == [("planner", "writer", "writer")]


@pytest.mark.parametrize("text", ["", "Let me look at both."])
def test_what_came_back_in_the_users_name_goes_on_with_what_was_asked_for_beside_words(text):
    """Traceloop 0.27 of LlamaIndex for JavaScript, of whose calls each has a trace of its own."""

    def asked(trace, at, said, answer, why):
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": said}
        told |= {"gen_ai.output.messages": [_words("assistant", answer) | {"finish_reason": why}]}
        told |= {"gen_ai.response.finish_reasons": [why], "gen_ai.response.id": f"chatcmpl-{trace}"}
        scope = "@traceloop/instrumentation-llamaindex"
        return span(trace, None, "chat m", trace, at, 0.5, scope=scope, kind=3, status=1, attributes=told)

    came = [_words("user", "Sunny in Oslo"), _words("user", "Sunny in Rome")]
    (run,) = runs(
        asked(1, 0, [_USER], text, "tool_call"),
        asked(2, 2, [_USER, _words("assistant", text), *came], "Both are sunny.", "stop"),
    )
    assert (run["input"], run["output"], run["tool_calls"]) == ("go", "Both are sunny.", None)
    assert len(run["llm_calls"]) == 2


def test_a_user_who_goes_on_once_he_was_answered_begins_a_run():
    """The same, where the words were the answer."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}

    def asked(trace, at, said, answer):
        out = {"gen_ai.input.messages": said, "gen_ai.response.finish_reasons": ["stop"]}
        out |= {"gen_ai.output.messages": [_words("assistant", answer) | {"finish_reason": "stop"}]}
        return span(trace, None, "chat m", trace, at, 0.5, scope=_LANGCHAIN, attributes=told | out)

    found = runs(
        asked(1, 0, [_USER], "Gone."), asked(2, 2, [_USER, _words("assistant", "Gone."), _words("user", "on")], "Done.")
    )
    assert [r["output"] for r in found] == ["Gone.", "Done."]
