"""What MLflow's tracing tells of other kits' agents, in words of its own."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

OSLO = {"city": "Oslo"}


def _called(run):
    return [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]


def _mlflow(id, parent, name, kind, given, came, at=0.0, took=1.0, **more):
    told = {"mlflow.spanType": kind, "mlflow.spanInputs": given, "mlflow.spanOutputs": came} | more.pop("told", {})
    written = {key: json.dumps(value) for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, attributes=written, **more)


def _kit(part, **told):
    return {"part_kind": part} | told


def _asked(*parts):
    offered = [{"name": "weather", "parameters_json_schema": {}}, {"name": "pay", "parameters_json_schema": {}}]
    parameters = {"function_tools": offered, "native_tools": [], "output_mode": "text"}
    question = {
        "kind": "request",
        "parts": [_kit("system-prompt", content="Be kind."), _kit("user-prompt", content="?")],
    }
    return {"messages": [question, *parts], "model_request_parameters": parameters}


def _pydantic_ai(back, ends=2.0, output=None):
    request = {"kind": "response", "parts": [_kit("tool-call", tool_name="weather", args=OSLO, tool_call_id="c1")]}
    named = {"name": "planner", "mlflow.message.format": "pydantic_ai"}
    return (
        _mlflow(
            1, None, "Agent.run_sync", "AGENT", {"user_prompt": "?"}, output or {"output": "Cold."}, 0, 9, told=named
        ),
        _mlflow(2, 1, "OpenAIChatModel.request", "LLM", _asked(), request, 1, ends - 1),
        *back,
    )


def test_what_came_back_stands_in_pydantic_ais_own_parts_of_messages():
    request = {"kind": "response", "parts": [_kit("tool-call", tool_name="weather", args=OSLO, tool_call_id="c1")]}
    back = _kit("tool-return", tool_name="weather", tool_call_id="c1", content="Unknown tool name: 'weather'.")
    answer = {"kind": "response", "parts": [_kit("text", content="Cold.")]}
    (run,) = runs(
        *_pydantic_ai(
            [
                _mlflow(
                    4,
                    1,
                    "OpenAIChatModel.request",
                    "LLM",
                    _asked(request, {"kind": "request", "parts": [back]}),
                    answer,
                    5,
                )
            ]
        )
    )
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("weather", "Unknown tool name: 'weather'.")]
    assert run["agents"] == ["planner"]
    assert run["known_tools"] == ["pay", "weather"]


def test_a_tool_need_not_wait_for_the_end_of_a_stream():
    held = "{'_all_messages': [ModelRequest(parts=[])]}"
    (run,) = runs(*_pydantic_ai([_mlflow(3, 1, "weather", "TOOL", OSLO, "3 degrees", 3)], ends=5, output=held))
    assert _called(run) == [("weather", OSLO, "ok", "3 degrees")]
    assert (run["output"], run["boundaries"]) == (None, [])
    assert "max_steps" in run["boundaries_unknown"]


def _piece(finish=None, **delta):
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def test_pieces_of_a_stream_tell_calls_that_their_sum_leaves_out():
    call = {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": '{"ci'}}
    pieces = [
        _piece(content="Let me look."),
        _piece(tool_calls=[call]),
        _piece(tool_calls=[{"index": 0, "function": {"arguments": 'ty": "Oslo"}'}}]),
        _piece(finish="tool_calls"),
    ]
    events = [(f"mlflow.chunk.item.{n}", {"mlflow.chunk.value": piece}) for n, piece in enumerate(pieces)]
    whole = {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Let me look."}}]}

    def called(told):
        given = {"messages": [{"role": "user", "content": "?"}]}
        (run,) = runs(
            _mlflow(1, None, "planner", "AGENT", {"text": "?"}, "x", 0, 9),
            _mlflow(2, 1, "Completions", "CHAT_MODEL", given, whole, 1, events=told),
        )
        return [(c["name"], c["arguments"], c["call_id"]) for c in run["tool_calls"]]

    assert called(events) == [("weather", OSLO, "c1")]
    assert called(events[1:]) == []  # the limit of events took the first


def test_a_stream_told_before_it_was_read_hides_the_answer():
    given = {"messages": [{"role": "user", "content": "?"}]}
    (run,) = runs(
        _mlflow(1, None, "planner", "AGENT", {"text": "?"}, "done", 0, 9),
        _mlflow(2, 1, "Messages.create", "CHAT_MODEL", given, "<anthropic.Stream object at 0x7f2470e0eed0>", 1),
    )
    assert run["tool_calls"] is None


def test_mlflow_tells_the_model_that_was_asked_for_beside_the_one_that_answered():
    told = {"model": "gpt-4o", "mlflow.llm.model": "gpt-4o-2026-01-15"}
    given = {"model": "gpt-4o", "messages": [{"role": "user", "content": "?"}]}
    (run,) = runs(_mlflow(1, None, "Completions", "CHAT_MODEL", given, "x", told=told))
    (call,) = run["llm_calls"]
    assert (call["request_model"], call["response_model"]) == ("gpt-4o", "gpt-4o-2026-01-15")


@pytest.mark.parametrize(
    "piece", ["x", 5, {"delta": "x"}, {"delta": {"content": 5, "tool_calls": ["x", {"index": []}]}}]
)
def test_a_piece_of_a_stream_that_is_no_piece_tells_nothing_and_breaks_nothing(piece):
    told = {"mlflow.chunk.value": json.dumps({"choices": [piece]})}
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1, events=[("mlflow.chunk.item.0", told)]))
    assert run["tool_calls"] in (None, [])


def test_the_method_that_ran_an_agent_is_none_whatever_mlflow_calls_it():
    more = {"scope": "mlflow.tracing.provider"}
    (run,) = runs(
        agent(1, "AgentRunner.run", took=9, **more),
        agent(2, "planner", 1, took=9, **more),
        chat(3, 2, [("c1", "look", {})], "Oslo?", at=1, **more),
        tool(4, 2, "Tool.look", "c1", "12", at=2, **more),
        tool(5, 2, "Tool.finish", None, "Completed.", at=3, **more),
        chat(6, 2, "Cold.", "Oslo?", at=4, **more),
    )
    assert (run["agents"], run["delegations"]) == (["planner"], [])
    assert [c["name"] for c in run["tool_calls"]] == ["look"]


def test_of_a_method_mlflow_may_tell_the_agent():
    more = {"scope": "mlflow.tracing.provider", "attributes": {"name": '"planner"'}}
    (run,) = runs(agent(1, "Agent.run_sync", took=9, **more), chat(3, 1, "Cold.", "Oslo?", at=1))
    assert run["agents"] == ["planner"]


@pytest.mark.parametrize(("top", "status"), [("AgentRunner.run", "unknown"), ("answer", "ok")])
def test_a_tool_of_openais_kit_that_gave_nothing_may_wait_for_leave(top, status):
    """mlflow 3.17: a tool that waits puts out `null`, as one that gives nothing."""
    asked = [{"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"sum": 1}'}]
    words = {"input": [{"role": "user", "content": "go"}], "model": "m"}
    (run,) = runs(
        *(
            {**one, "scope": "mlflow.tracing.provider"}
            for one in (
                _mlflow(1, None, top, "AGENT", {"input": "go"}, None, 0, 9),
                _mlflow(2, 1, "planner", "AGENT", None, None, 0, 8),
                _mlflow(3, 2, "Response", "CHAT_MODEL", words, {"output": asked, "object": "response"}, 1),
                _mlflow(4, 2, "pay", "TOOL", {"sum": 1}, None, 3),
            )
        )
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("pay", status, None)]


def test_a_tool_of_smolagents_is_told_by_its_class_and_its_agent_by_an_attribute():
    """mlflow 3.17 and smolagents 1.26: `SimpleTool` is every function's class."""
    given = {"sanitize_inputs_outputs": True, "kwargs": {"x": 1}}
    done = {"sanitize_inputs_outputs": True, "kwargs": {"answer": "Done."}}
    named = {"agent_name": "ToolCallingAgent", "name": "planner"}
    (run,) = runs(
        *(
            {**one, "scope": "mlflow.tracing.provider"}
            for one in (
                _mlflow(
                    1, None, "ToolCallingAgent.run", "AGENT", {"task": "go"}, {"_value": "Done."}, 0, 9, told=named
                ),
                _mlflow(2, 1, "SimpleTool.__call__", "TOOL", given, {"_value": "seen"}, 1),
                _mlflow(3, 1, "FinalAnswerTool.__call__", "TOOL", done, {"_value": "Done."}, 3),
            )
        )
    )
    assert (_called(run), run["agents"]) == ([(None, {"x": 1}, "ok", "seen")], ["planner"])


@pytest.mark.parametrize("team", ["invoke_graph", "invoke_swarm"])
def test_a_team_of_strands_is_no_agent(team):
    told = {"mlflow.spanType": '"AGENT"', "gen_ai.operation.name": team, "gen_ai.system": "strands-agents"}
    (run,) = runs(
        span(1, name=team, took=20, attributes=told),
        agent(2, "a", 1, took=8),
        chat(3, 2, "Well.", "go", at=1),
        agent(4, "b", 1, at=9, took=8),
        chat(5, 4, "Done.", "go", at=10),
    )
    assert (run["agents"], run["delegations"]) == (["a", "b"], [])


def test_the_class_of_a_stream_of_bedrocks_is_no_answer():
    asks = {"modelId": "m", "body": json.dumps({"messages": [{"role": "user", "content": "go"}]})}
    came = {"ResponseMetadata": {"HTTPStatusCode": 200}, "body": "EventStream"}
    (run,) = runs(_mlflow(1, None, "BedrockRuntime.invoke_model_with_response_stream", "LLM", asks, came))
    assert (run["input"], run["output"], run["tool_calls"]) == ("go", None, None)


def test_a_tool_of_llamaindex_bears_a_field_for_a_name_and_the_class_of_a_stream_is_no_answer():
    """mlflow 3.17 and llama-index-core 0.14: what makes a request ready is told as a model's call, too."""
    stream = "<async_generator object llm_chat_callback.<locals>.wrap at 0x7f>"
    said = {"role": "user", "blocks": [{"block_type": "text", "text": "go"}]}
    call = {"role": "assistant", "additional_kwargs": {"tool_calls": [{"id": "c1", "function": {"name": "look"}}]}}
    ready = {"messages": [said, call], "tools": []}
    (run,) = runs(
        _mlflow(1, None, "FunctionAgent.run", "AGENT", {"user_msg": "go"}, None, 0, 9),
        _mlflow(2, 1, "OpenAILike._prepare_chat_with_tools", "LLM", {"chat_history": [said]}, ready, 1, 0.1),
        _mlflow(3, 1, "OpenAILike.astream_chat", "LLM", {"messages": [said]}, stream, 1.2),
        _mlflow(4, 1, "FunctionTool.acall", "TOOL", {"kwargs": {"x": 1}}, "seen", 3, told={"name": "look"}),
        _mlflow(5, 1, "OpenAILike.astream_chat", "LLM", {"messages": [said]}, stream, 5),
    )
    assert _called(run) == [("look", {"x": 1}, "ok", "seen")]
    assert (run["output"], len(run["llm_calls"])) == (None, 2)


def _autogens(id, parent, at, messages, answer, finish="stop"):
    came = {"finish_reason": finish, "content": answer, "usage": {}, "cached": False, "logprobs": None, "thought": None}
    told = {"mlflow.message.format": "autogen", "mlflow.chat.tokenUsage": {"input_tokens": 5, "output_tokens": 2}}
    given = {"messages": [{"content": "You help.", "type": "SystemMessage"}, *messages]}
    return _mlflow(id, parent, "OpenAIChatCompletionClient.create", "LLM", given, came, at, told=told)


_USER = {"content": "Weather?", "source": "user", "type": "UserMessage"}
_CALLS = [
    {"id": f"c{at}", "name": name, "arguments": json.dumps(given)}
    for at, (name, given) in enumerate([("look", {"city": "Rome"}), ("boom", {"what": "x"})])
]
_ASKS = {"content": _CALLS, "thought": None, "source": "planner", "type": "AssistantMessage"}
_BACK = [
    {"content": said, "name": call["name"], "call_id": call["id"], "is_error": failed}
    for call, (said, failed) in zip(_CALLS, [("sunny in Rome", False), ("boom broke x", True)], strict=True)
]


@pytest.mark.parametrize("ended", [True, False])
def test_an_agent_of_autogens_is_named_before_its_method_and_its_tools_are_in_messages(ended):
    """autogen-agentchat 0.7.5, mlflow 3.17.2: `models_usage` is a key of AutoGen's messages alone."""
    message = {"source": "user", "models_usage": None, "content": "Weather?", "type": "TextMessage"}
    answer = {"source": "planner", "models_usage": None, "content": "Half.", "type": "TextMessage"}
    task = {"messages": [message, answer], "stop_reason": None} if ended else None
    turn = {"chat_message": answer, "inner_messages": []} if ended else None
    back = {"content": _BACK, "type": "FunctionExecutionResultMessage"}
    (run,) = runs(
        _mlflow(1, None, "planner.run", "AGENT", {"task": "Weather?"}, task, took=20),
        _mlflow(2, 1, "planner.on_messages", "AGENT", {"messages": [message]}, turn, 1, 18),
        _autogens(3, 2, 2, [_USER], _CALLS, "function_calls"),
        _autogens(4, 2, 8, [_USER, _ASKS, back], "Half."),
    )
    assert [(t["name"], t["status"], t["arguments"], t["turn"]) for t in run["tool_calls"]] == [
        ("look", "ok", {"city": "Rome"}, 0),
        ("boom", "error", {"what": "x"}, 0),
    ]
    assert (run["input"], run["output"]) == ("Weather?", "Half.")
    assert run["agents"] == ["planner"]
    assert [(c["agent"], c["finish_reason"]) for c in run["llm_calls"]] == [
        ("planner", "function_calls"),
        ("planner", "stop"),
    ]


def test_what_another_agent_of_autogens_said_is_not_what_the_user_asked():
    """In a team each hears the others as users do."""
    heard = {"content": "Sunny, says one.", "source": "worker", "type": "UserMessage"}
    (run,) = runs(_autogens(1, None, 0, [_USER, heard], "Rain, says another."))
    assert (run["input"], run["output"]) == ("Weather?", "Rain, says another.")


def test_a_class_of_another_kit_is_no_agents_name():
    (run,) = runs(
        _mlflow(1, None, "CodeAgent.run", "AGENT", {"task": "Weather?"}, "Sunny.", took=9),
        _mlflow(2, 1, "OpenAIModel.generate", "LLM", {"messages": [{"role": "user", "content": "Weather?"}]}, {}, 1),
    )
    assert run["agents"] == []
