"""Kits for Python under instrumentations that nobody had met together, by what they told of runs against a model of
ours."""

import json

import pytest

from tests.dialects.limits import kept_last
from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_OF_GOOGLE = "openinference.instrumentation.google_genai"


def _asked_google(id, answer=None, asked="Rome?", at=0, before=(), limit=None, **more):
    """A call of google-genai 3.6 under OpenInference 1.4; a function that the client calls is offered with a schema of
    what it returns."""
    offered = {"name": "look", "parameters_json_schema": {}, "response_json_schema": {"type": "string"}}
    given = json.dumps({"contents": [{"parts": [{"text": asked}]}], "tools": [{"function_declarations": [offered]}]})
    told = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": asked}
    told |= {"input.value": given[:limit], "llm.tools.0.tool.json_schema": json.dumps({"name": "look"})}
    if answer:
        last = {"content": {"role": "model", "parts": [{"text": answer}]}, "finish_reason": "STOP"}
        came = json.dumps({"candidates": [last], "automatic_function_calling_history": list(before)})
        told |= {"output.value": came[:limit], "llm.model_name": "g-001", "llm.token_count.prompt": 11}
        told |= {"llm.output_messages.0.message.role": "model", "llm.output_messages.0.message.content": answer}
    told |= {"openinference.span.kind": "LLM"}
    return span(id, None, "GenerateContent", at=at, attributes=told, scope=_OF_GOOGLE, **more)


_BEFORE = [
    {"role": "user", "parts": [{"text": "Rome?"}]},
    {"role": "model", "parts": [{"function_call": {"name": "look", "args": {"city": "Rome"}}}]},
    {"role": "user", "parts": [{"function_response": {"name": "look", "response": {"result": "sunny"}}}]},
]


def test_googles_client_may_have_called_functions_where_the_end_of_what_it_gave_is_cut():
    (run,) = runs(_asked_google(1, "Sunny.", before=_BEFORE))
    assert ([t["result"] for t in run["tool_calls"]], run["llm_calls"]) == ([{"result": "sunny"}], None)
    (run,) = runs(_asked_google(1, "Sunny.", before=_BEFORE, limit=64))
    assert (run["input"], run["output"], run["tool_calls"], run["llm_calls"]) == ("Rome?", "Sunny.", None, None)
    (run,) = runs(_asked_google(1, limit=64, error="400"))
    assert (run["status"], run["tool_calls"], run["llm_calls"]) == ("error", None, None)


def test_googles_client_had_an_answer_where_no_function_is_of_the_name_that_it_asks_for():
    """Of a stream nothing is told then but what the user said."""
    told = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Rome?"}
    threw = [("exception", {"exception.type": "KeyError", "exception.message": "'nosuch'"})]
    asked = {"attributes": told | {"openinference.span.kind": "LLM"}, "events": threw, "error": "KeyError: 'nosuch'"}
    (run,) = runs(span(1, None, "GenerateContentStream", scope=_OF_GOOGLE, **asked))
    assert (run["status"], run["tool_calls"], run["llm_calls"]) == ("error", None, None)


def test_a_program_that_gives_results_back_lets_googles_client_call_no_functions():
    asks = [{"role": "model", "parts": [{"function_call": {"name": "look", "args": {"city": "Rome"}}}]}]
    first = _asked_google(1, limit=64)
    first["attributes"] |= {
        "output.value": json.dumps({"candidates": [{"content": asks[0]}]})[:64],
        "llm.output_messages.0.message.role": "model",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city": "Rome"}',
    }
    second = _asked_google(2, "Sunny.", at=2, limit=64, trace=2)
    second["attributes"] |= {
        "llm.input_messages.1.message.role": "model",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "look",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": '{"city": "Rome"}',
        "llm.input_messages.2.message.role": "tool",
        "llm.input_messages.2.message.name": "look",
        "llm.input_messages.2.message.content": '{"result": "sunny"}',
    }
    (run,) = runs(first, second)
    assert ([t["name"] for t in run["tool_calls"]], len(run["llm_calls"])) == (["look"], 2)


@pytest.mark.parametrize("kept", [6, 40])
def test_what_googles_client_asked_for_last_is_not_gone_on_with_by_what_another_asked(kept):
    """Where an SDK drops what was asked, order told so."""
    asks = _asked_google(1, "x", before=_BEFORE)
    asks["attributes"] |= {"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look"}
    other = _asked_google(2, "Oslo is cold.", "Oslo?", at=2, trace=2)
    told = runs(*(kept_last(one, kept) for one in (asks, other)))
    assert [r["output"] for r in told][1:] == ["Oslo is cold."]


@pytest.mark.parametrize("pause", [0.001, 5])
def test_who_counts_the_tokens_of_a_call_told_of_it_not_who_ended_as_it_began(pause):
    """An agent of LangChain's that waits for leave and is let go on at once, under LangSmith and OpenInference's
    OpenAI: the client's calls lie in traces of their own, and the second brings what the first run had asked for."""
    call, used = ("call_89c737ee35fd", "look", {"city": "Rome"}), {"gen_ai.usage.input_tokens": 35}
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "Rome?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": call[0], "name": "look", "arguments": call[2]}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": call[0], "response": "No leave."}]},
    ]
    more, client = {"attributes": used}, {"scope": "client"}
    told = runs(
        agent(1, "waits", took=3, trace=1),
        chat(2, 1, [call], "Rome?", at=1, trace=1),
        chat(3, None, [call], "Rome?", at=1.1, took=0.8, trace=2, **client),
        agent(4, "waits", at=3 + pause, took=3, trace=3),
        chat(5, 4, "Sunny.", history, at=3.0005 + pause, took=2, trace=3, **more),
        chat(6, None, "Sunny.", history, at=3.001 + pause, took=1, trace=4, **more, **client),
    )
    assert [(r["output"], len(r["llm_calls"])) for r in told] == [(None, 1), ("Sunny.", 1)]


@pytest.mark.parametrize(("again", "joined"), [("Rome?", True), ("Oslo?", False)])
def test_what_counts_in_each_answer_alone_was_asked_for_where_the_user_had_said_the_same(again, joined):
    """Google's client has no ids and OpenTelemetry's makes them up: an asker whose span is lost is not another's."""
    call = ("look_0", "look", {"city": "X"})
    history = [
        {"role": "user", "parts": [{"type": "text", "content": again}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "look_0", "name": "look", "arguments": call[2]}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "look_0", "response": "sunny"}]},
    ]
    told = runs(chat(1, None, [call], "Rome?"), chat(2, None, "Sunny.", history, at=2, trace=2))
    assert [r["input"] for r in told] == ["Rome?", "Oslo?"][: 1 if joined else 2]
    assert told[-1]["output"] == "Sunny."


def test_what_pydantic_ai_sends_back_to_a_model_reads_like_what_a_tool_gave():
    """pydantic-ai 2.68, where a tool's span, which tells that it raised, is lost."""
    call, own = ("call_a1b2c3d4e5", "boom", {"what": "x"}), {"scope": "pydantic-ai"}
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "Rome?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": call[0], "name": "boom", "arguments": call[2]}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": call[0], "name": "boom", "result": "x broke"}]},
    ]
    asks, answers = chat(2, 1, [call], "Rome?", at=1, **own), chat(4, 1, "Sorry.", history, at=4, **own)
    raised = tool(3, 1, "boom", call[0], "x broke", at=2.5, error="x broke", **own)
    for spans, status in (([raised], "error"), ([], "unknown")):
        (run,) = runs(agent(1, "planner", took=9, **own), asks, *spans, answers)
        assert [(t["status"], t["result"]) for t in run["tool_calls"]] == [(status, "x broke")]


@pytest.mark.parametrize("tag", ["pyai:retry_feedback", "pyai:validation_errors"])
def test_what_pydantic_ai_sends_back_of_an_answer_is_not_what_a_user_asked(tag):
    """pydantic-ai 2.68, where the first call is lost: by a validator of the output, and where the form does not fit."""
    own = {"scope": "pydantic-ai"}
    sent = f"Your previous response failed the application's validation:\n<{tag}>\n[]\n</{tag}>"
    told = [("user", "Rome?"), ("assistant", "No JSON."), ("user", sent)]
    history = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in told]
    (run,) = runs(agent(1, "planner", took=9, **own), chat(3, 1, "{}", history, at=4, **own))
    assert run["input"] == "Rome?"


@pytest.mark.parametrize(
    ("outcome", "said", "status"),
    [
        ("success", "sunny", "ok"),
        ("retried", [{"type": "missing", "loc": ["city"], "msg": "Field required"}], "error"),
        ("failed", "no weather", "error"),
        ("denied", "No way.", "unknown"),
        ("denied", "The tool call was denied.", "requested"),
    ],
)
def test_how_a_tool_of_pydantic_ais_went_its_part_of_the_history_says(outcome, said, status):
    """pydantic-ai 2.68 under MLflow 3.17, which has no span for a tool whose arguments do not fit."""
    ids = {"tool_name": "look", "tool_call_id": "call_4726c31000"}
    user = {"parts": [{"content": "Rome?", "part_kind": "user-prompt"}], "kind": "request"}
    asks = {"parts": [ids | {"args": "{}", "part_kind": "tool-call"}], "kind": "response", "finish_reason": "tool_call"}
    back = {"parts": [ids | {"content": said, "outcome": outcome, "part_kind": "tool-return"}], "kind": "request"}
    says = {"parts": [{"content": "Done.", "part_kind": "text"}], "kind": "response"}

    def step(id, parent, kind, given, came, **more):
        told = {"mlflow.spanType": kind, "mlflow.spanInputs": given, "mlflow.spanOutputs": came, "name": '"planner"'}
        name = "Agent.run" if kind == "AGENT" else "OpenAIChatModel.request"
        return span(id, parent, name, attributes=told, scope="mlflow.tracing.provider", status=1, **more)

    (run,) = runs(
        step(1, None, "AGENT", {"user_prompt": "Rome?"}, {"output": "Done."}, took=9),
        step(2, 1, "LLM", {"messages": [user]}, asks, at=1),
        step(3, 1, "LLM", {"messages": [user, asks, back]}, says, at=3),
    )
    assert [(t["name"], t["status"]) for t in run["tool_calls"]] == [("look", status)]


_OF_MLFLOW = "mlflow.tracing.provider"


def _of_smolagents(id, name, kind, took, at=0, out=None, **more):
    """A span of smolagents 1.26 under MLflow 3.17."""
    told = {"mlflow.spanType": json.dumps(kind), "mlflow.spanInputs": '{"kwargs": {"x": 1}}'}
    if kind == "AGENT":
        told |= {"mlflow.spanInputs": '{"task": "go"}', "name": "planner"}
    told |= {} if out is None else {"mlflow.spanOutputs": json.dumps({"_value": out})}
    parent = None if kind == "AGENT" else 1
    return span(id, parent, name, at=at, took=took, attributes=told, scope=_OF_MLFLOW, **more)


@pytest.mark.parametrize(("later", "silent"), [(False, True), (True, False)])
def test_mlflow_tells_no_more_of_an_agent_of_smolagents_one_of_whose_tools_raised(later, silent):
    given = [_of_smolagents(3, "FinalAnswerTool.__call__", "TOOL", 1, at=5, out="Done.")] if later else []
    (run,) = runs(
        _of_smolagents(1, "ToolCallingAgent.run", "AGENT", 9, out="Done."),
        _of_smolagents(2, "SimpleTool.__call__", "TOOL", 1, at=1, error="ValueError: broke"),
        *given,
    )
    assert ([t["status"] for t in run["tool_calls"]], run["status"]) == (["error"], "ok")
    assert ("tool calls not visible" in run["incomplete"]) == silent


@pytest.mark.parametrize(("name", "agents"), [("invoke_agent planner", ["planner"]), ("invoke_swarm", [])])
def test_an_agent_of_strands_bears_its_name_after_what_is_done_where_mlflow_lost_it(name, agents):
    """Without `gen_ai.agent.name` and the operation."""
    told = {"gen_ai.usage.input_tokens": 11, "mlflow.spanType": '"AGENT"', "mlflow.spanOutputs": '"Done."'}
    told |= {"mlflow.spanInputs": json.dumps([{"role": "user", "content": [{"text": "go"}]}])}
    asks = {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": told["mlflow.spanInputs"]}
    asks |= {"mlflow.spanOutputs": '[{"text": "Done."}]', "mlflow.llm.model": '"m"'}
    (run,) = runs(
        span(1, None, name, took=9, attributes=told, scope="strands.telemetry.tracer"),
        span(2, 1, "chat", at=1, attributes=asks, scope="strands.telemetry.tracer"),
    )
    assert (run["agents"], [c["agent"] for c in run["llm_calls"]]) == (agents, agents or [None])


def test_a_list_of_objects_as_python_prints_them_is_no_result():
    """Microsoft's Agent Framework, of a tool that gave nothing."""
    shown = "[<agent_framework._types.Content object at 0x7fb50956a720>]"
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "none", {})], at=1),
        tool(3, 1, "none", call="c1", result=shown, at=3),
        chat(4, 1, "done", at=5),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("ok", None)]


def test_a_models_span_named_as_an_agents_work_stands_for_all_its_calls_also_where_the_run_failed():
    """OpenInference of an ADK that it does not know: each call of a model writes over what the one before wrote."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "g", "llm.token_count.prompt": 11}
    told |= {"llm.output_messages.0.message.role": "model", "agent.name": "planner"}
    told |= {"llm.output_messages.0.message.contents.0.message_content.text": "Let me see."}
    parts = [{"text": "Let me see."}, {"function_call": {"name": "look", "args": {}}}]
    told |= {"output.value": json.dumps({"content": {"parts": parts, "role": "model"}})}
    ran = {"openinference.span.kind": "TOOL", "tool.name": "look"}
    scope = "openinference.instrumentation.google_adk"
    (run,) = runs(
        span(1, None, "agent_run [planner]", took=9, attributes={"openinference.span.kind": "AGENT"}, scope=scope)
        | {"error": "ValueError: boom"},
        span(2, 1, "invoke_agent planner", took=8, attributes=told, scope=scope),
        span(3, 2, "execute_tool look", at=2, attributes=ran, scope=scope),
        span(4, 2, "execute_tool look", at=4, attributes=ran, scope=scope, error="boom"),
    )
    assert (run["status"], run["llm_calls"], len(run["tool_calls"])) == ("error", None, 2)
    assert "model calls share a span" in run["incomplete"]
