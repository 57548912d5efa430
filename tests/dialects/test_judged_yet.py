"""What other versions of the recorded instrumentations sent, in small."""

import json

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import records, runs, span

pytestmark = pytest.mark.full

_GOOGLES = "opentelemetry.instrumentation.google_genai"
_TRACELOOPS = "opentelemetry.instrumentation.google_generativeai"
_BEDROCKS = "opentelemetry.instrumentation.bedrock"
_ASK, _CALL = {"text": "how is it?"}, {"function_call": {"name": "look", "args": {"at": "x"}}}
_BACK = {"function_response": {"name": "look", "response": {"result": "cold"}}}


def _generated(number, *said):
    """A call of Google's client by OpenTelemetry's own 0.4 to 0.7, in a trace of its own, and the log records of what
    was said: all that the model was given is told as the user's."""
    told = {"gen_ai__operation__name": "generate_content", "gen_ai__request__model": "m"}
    told |= {"gen_ai__usage__input_tokens": 9, "gen_ai__usage__output_tokens": 3}
    bodies = [(number, {"content": {"role": role, "parts": list(parts)}} | more) for role, more, *parts in said]
    logs = ExportLogsServiceRequest.FromString(records(bodies, number))
    for record, (_, body) in zip(logs.resource_logs[0].scope_logs[0].log_records, bodies, strict=True):
        record.event_name = "gen_ai.choice" if "index" in body else "gen_ai.user.message"
    name = "generate_content m"
    return span(number, None, name, trace=number, at=3 * number, scope=_GOOGLES, **told), logs.SerializeToString()


def _answer(*parts, index=0, finish="STOP"):
    return ("model", {"index": index} | ({"finish_reason": finish} if finish else {}), *parts)


def _asked_twice(*answers):
    calls = [
        _generated(1, ("user", {}, _ASK), _answer(_CALL)),
        _generated(2, ("user", {}, _ASK), ("model", {}, _CALL), ("user", {}, _BACK), *answers),
    ]
    return runs(*(call for call, _ in calls), logs=[logs for _, logs in calls])


def test_history_that_is_all_told_as_the_users_is_of_whom_each_message_says():
    (run,) = _asked_twice(_answer({"text": "It is cold."}))
    assert (run["input"], run["output"], run["status"], len(run["llm_calls"])) == ("how is it?", "It is cold.", "ok", 2)
    (call,) = run["tool_calls"]
    assert (call["name"], call["result"], call["status"]) == ("look", {"result": "cold"}, "ok")


def test_choices_that_are_counted_on_and_end_with_the_last_are_pieces_of_one_answer():
    pieces = [{"text": text} for text in ("It ", "is ", "cold.")]
    (run,) = _asked_twice(*(_answer(p, index=n, finish="STOP" if n == 2 else None) for n, p in enumerate(pieces)))
    assert run["output"] == "It is cold."


def test_choices_that_each_end_are_answers_of_their_own():
    (run,) = _asked_twice(*(_answer({"text": text}, index=n) for n, text in enumerate(("Cold.", "It is cold."))))
    assert run["output"] is None


def _flat(number, said, *history, scope=_TRACELOOPS, kind="completion"):
    """A call by Traceloop's 0.48, in a trace of its own."""
    told = {"llm.request.type": kind, "gen_ai.request.model": "m", "gen_ai.response.model": "m"}
    told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3}
    told |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": said}
    for n, (role, *parts) in enumerate(history):
        told |= {f"gen_ai.prompt.{n}.role": role, f"gen_ai.prompt.{n}.content": json.dumps(parts)}
    name = "gemini.generate_content"
    return span(number, None, name, trace=number, at=3 * number, scope=scope, status=1, kind=3, attributes=told)


_FIELDS = ("file_data", "function_call", "function_response", "inline_data", "text", "thought")


def _printed(**told):
    """A part of Google's client as Python prints it: one field after another."""
    return {"type": "text", "text": " ".join(f"{field}={told.get(field)}" for field in _FIELDS)}


_PRINTED_CALL = "FunctionCall(\n  args={\n    'at': 'x'\n  },\n  name='look'\n)"
_PRINTED_BACK = "FunctionResponse(\n  name='look',\n  response={\n    'result': 'cold'\n  }\n)"


def test_parts_that_python_printed_are_the_calls_and_results_that_they_hold():
    asked = ("user", {"type": "text", "text": "how is it?"})
    shown = [("model", _printed(function_call=_PRINTED_CALL)), ("user", _printed(function_response=_PRINTED_BACK))]
    (run,) = agreed(_flat(1, _printed(function_call=_PRINTED_CALL)["text"], asked), _flat(2, "Cold.", asked, *shown))
    assert (run["input"], run["output"]) == ("how is it?", "Cold.")
    (call,) = run["tool_calls"]
    assert (call["name"], call["arguments"], call["result"]) == ("look", {"at": "x"}, {"result": "cold"})
    assert call["status"] == "ok"


@pytest.mark.parametrize(("text", "seen", "met"), [("''", "", ["empty_input"]), ("'go'", "go", [])])
def test_what_a_user_says_is_the_text_of_its_parts(text, seen, met):
    (run,) = agreed(_flat(1, "Hello.", ("user", _printed(text=text))))
    assert (run["input"], run["boundaries"]) == (seen, met)


def test_parts_of_bedrocks_are_what_was_said():
    (run,) = agreed(_flat(1, "Hello.", ("user", {"text": "go"}), scope=_BEDROCKS, kind="chat"))
    assert run["input"] == "go"


@pytest.mark.parametrize(("text", "seen", "met"), [("''", "", ["empty_input"]), ("'go'", "go", [])])
def test_a_content_that_python_printed_is_what_it_holds(text, seen, met):
    """OpenInference of Google's client 0.1.8, which leaves out an empty text of a message."""
    asked = {"model": "m", "contents": [f"parts=[Part(\n  text={text}\n)] role='user'"]}
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "input.value": json.dumps(asked)}
    told |= {"llm.input_messages.0.message.role": "user", "llm.output_messages.0.message.content": "Hello."}
    told |= {"llm.output_messages.0.message.role": "model", "llm.token_count.prompt": 9}
    scope = "openinference.instrumentation.google_genai"
    (run,) = agreed(span(1, None, "GenerateContent", scope=scope, status=1, attributes=told))
    assert (run["input"], run["boundaries"]) == (seen, met)


_LANGCHAINS = "opentelemetry.instrumentation.langchain"


def _graph(id, parent, at, asked, answer, took=3.0, **more):
    """A graph of LangChain's by Traceloop's 0.48: its frame, the step that asks a model, and the model."""
    given = {"inputs": {"messages": [["user", asked]]}, "kwargs": {"name": "planner"}}
    gave = {"outputs": {"messages": [{"lc": 1, "id": ["langchain", "AIMessage"], "kwargs": {"content": answer}}]}}
    told = {"traceloop__entity__name": "planner", "traceloop__entity__input": json.dumps(given)}
    told |= {"traceloop__entity__output": json.dumps(gave), "scope": _LANGCHAINS}
    yield span(id, parent, "planner.workflow", at=at, took=took, traceloop__span__kind="workflow", **told)
    yield span(id + 1, id, "model.task", at=at, took=took, traceloop__span__kind="task", scope=_LANGCHAINS)
    told = {"llm.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m"}
    told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3}
    told |= {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": asked}
    told |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": answer}
    ended = {"error": "scripted"} if answer is None else {}
    yield span(id + 2, id + 1, "ChatOpenAI.chat", at=at, took=took, scope=_LANGCHAINS, attributes=told, **ended)


@pytest.mark.parametrize("left", [2, 3], ids=["the step", "the model"])
def test_a_graph_that_was_laid_under_one_that_was_over_is_a_run_of_its_own(left):
    """What is awaited in one task is laid under the last step of the run before it."""
    found = agreed(*_graph(1, None, 0, "hi", "Hello."), *_graph(11, left, 4, "hi", "Hello."))
    assert [(r["input"], r["output"], len(r["llm_calls"])) for r in found] == [("hi", "Hello.", 1)] * 2


def test_a_graph_within_a_graph_that_is_at_work_is_a_part_of_its_run():
    (run,) = agreed(*_graph(1, None, 0, "hi", "Hello.", took=9), *_graph(11, 2, 4, "and?", "Yes."))
    assert len(run["llm_calls"]) == 2


@pytest.mark.parametrize("ran", [{"at": "x"}, {}])
def test_a_call_that_a_stream_tells_as_it_began_was_given_what_its_tool_was(ran):
    """OpenInference of Agno 0.1.25 to 0.1.34: of a stream's calls the first piece alone is told, whose arguments are
    empty."""
    scope = "openinference.instrumentation.agno"
    asked = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": ""}}]}
    answer = {"role": "assistant", "content": "Cold."}
    told = {"scope": scope, "openinference__span__kind": "LLM", "llm__model_name": "m", "status": 1}
    model = "OpenAIChat.ainvoke_stream"
    planner = {
        "openinference.span.kind": "AGENT",
        "agent.name": "planner",
        "input.value": "go",
        "output.value": "Cold.",
    }
    tool = {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": "cold"}
    tool |= {"input.value": json.dumps(ran), "tool.parameters": json.dumps(ran)}
    (run,) = agreed(
        span(1, None, "planner.arun", took=9, scope=scope, status=1, attributes=planner),
        span(2, 1, model, at=1, output__value=json.dumps({"messages": [asked]}), **told),
        span(3, 1, "look", at=3, scope=scope, status=1, attributes=tool),
        span(4, 1, model, at=5, output__value=json.dumps({"messages": [answer]}), **told),
    )
    assert [(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]] == [("look", ran, "ok")]


_LLAMAS = "opentelemetry.instrumentation.llamaindex"


def _task(id, parent, at, name, gave=None, took=0.5, **more):
    """A step of LlamaIndex's by Traceloop's: what it put out is JSON, told as a text in JSON."""
    told = {"traceloop.span.kind": "task", "traceloop.entity.name": name} | more
    told |= {} if gave is None else {"traceloop.entity.output": json.dumps(json.dumps(gave, separators=(",", ":")))}
    return span(id, parent, f"{name}.task", at=at, took=took, scope=_LLAMAS, attributes=told)


def _workflow(id, parent, at, failed, named=None):
    """A workflow of an agent of LlamaIndex 0.12 by Traceloop's 0.48 (0.60 names its tools, too)."""
    given = json.dumps({"ctx": None, "start_event": json.dumps({"user_msg": "go"})})
    told = {"traceloop.span.kind": "workflow", "traceloop.entity.input": given}
    yield span(id, parent, "run.workflow", at=at, took=9, scope=_LLAMAS, attributes=told)
    chosen = {"input": [{"role": "user", "blocks": [{"block_type": "text", "text": "go"}]}]}
    yield _task(id + 1, id, at, "setup_agent", chosen | {"current_agent_name": "planner"})
    yield from _asked(id + 2, id, at + 1, [{"role": "user", "content": "go"}], call=f"c{id}")
    ran = {"content": "cold", "tool_name": "look", "raw_input": {"at": "x"}, "raw_output": "cold", "is_error": failed}
    gave = {"tool_name": "look", "tool_kwargs": {"at": "x"}, "tool_id": f"c{id}", "tool_output": ran}
    yield _task(id + 4, id, at + 3, "call_tool", gave | {"return_direct": False}, **(named or {}))
    asked = {"role": "assistant", "tool_calls": [{"id": f"c{id}", "name": "look", "arguments": '{"at": "x"}'}]}
    back = {"role": "tool", "tool_call_id": f"c{id}", "content": "cold"}
    yield _task(id + 5, id, at + 4, "setup_agent", chosen | {"current_agent_name": "planner"})
    yield from _asked(id + 6, id, at + 5, [{"role": "user", "content": "go"}, asked, back], said="Cold.")


def _asked(id, parent, at, messages, call=None, said=None):
    yield _task(id, parent, at, "run_agent_step", took=1)
    told = {"llm.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.completion.0.role": "assistant"}
    key = "gen_ai.completion.0.tool_calls.0"
    told |= {f"{key}.id": call, f"{key}.name": "look", f"{key}.arguments": '{"at": "x"}'} if call else {}
    told |= {"gen_ai.completion.0.content": said} if said else {}
    for n, message in enumerate(messages):
        calls = message.get("tool_calls", ())
        told |= {f"gen_ai.prompt.{n}.{k}": v for k, v in message.items() if k != "tool_calls"}
        told |= {f"gen_ai.prompt.{n}.tool_calls.{i}.{k}": v for i, c in enumerate(calls) for k, v in c.items()}
    scope = "opentelemetry.instrumentation.openai.v1"
    yield span(id + 1, id, "openai.chat", at=at, took=1, scope=scope, status=1, attributes=told)


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("named", [None, {"tool.name": "look", "tool.arguments": '{"at": "x"}'}])
def test_a_step_that_called_a_tool_of_llama_indexs_tells_what_came_of_it(failed, named):
    (run,) = agreed(*_workflow(1, None, 0, failed, named))
    status = "error" if failed else "ok"
    (call,) = run["tool_calls"]
    assert (call["name"], call["agent"], call["status"], call["result"]) == ("look", "planner", status, "cold")
    assert (call["arguments"], run["output"]) == ({"at": "x"}, "Cold.")
    assert run["boundaries"] == (["tool_failure"] if failed else [])


def test_a_workflow_that_was_laid_under_one_that_was_over_is_a_run_of_its_own():
    found = agreed(*_workflow(1, None, 0, False), *_workflow(21, 1, 10, False))
    assert [(len(r["tool_calls"]), r["output"]) for r in found] == [(1, "Cold.")] * 2


def _openlits(id, parent, at, name, took=1.0, **told):
    told = {"telemetry.sdk.name": "openlit", "gen_ai.request.model": "m", "gen_ai.response.model": "m"} | told
    return span(id, parent, name, at=at, took=took, scope="openlit.otel.tracing", status=1, attributes=told)


@pytest.mark.parametrize(
    ("streams", "answer", "told"),
    [("True", "chatcmpl-1", (None, None)), ("False", "chatcmpl-1", (64, 13)), ("True", "resp_1", (64, 13))],
)
def test_openlit_before_1_37_counts_what_a_streamed_chat_used_by_itself(streams, answer, told):
    model = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.is_stream": streams}
    model |= {"gen_ai.usage.input_tokens": 64, "gen_ai.usage.output_tokens": 13, "gen_ai.response.id": answer}
    model |= {"gen_ai.prompt": "user: go", "gen_ai.completion": "Done."}
    (run,) = agreed(_openlits(1, None, 0, "chat m", **model))
    (call,) = run["llm_calls"]
    assert (call["input_tokens"], call["output_tokens"]) == told


def _sequence(id, parent, at, took=3.0):
    flow = {"gen_ai.operation.name": "workflow RunnableSequence", "gen_ai.workflow.output": "Done."}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai"}
    chat |= {"gen_ai.prompt": "user: go", "gen_ai.completion": "Done."}
    yield _openlits(id, parent, at, "workflow RunnableSequence", took=took, **flow)
    yield _openlits(id + 1, id, at + 0.1, "workflow RunnableSequence", **flow)
    yield _openlits(id + 2, id + 1, at + 0.2, "chat m", took=0.5, **chat)


def _planner(id, parent, at, took=3.0):
    told = {"scope": "langfuse-sdk", "at": at, "took": took}
    kinds = ("chain", "chain", "generation")
    for n, (name, kind) in enumerate(zip(("planner", "model", "ChatOpenAI"), kinds, strict=True)):
        more = {"langfuse.observation.model.name": "m"} if kind == "generation" else {}
        more |= {"langfuse.observation.input": '[{"role": "user", "content": "go"}]'} if kind == "generation" else {}
        more |= {"langfuse.observation.output": '{"role": "assistant", "content": "Done."}'}
        above = parent if n == 0 else id + n - 1
        yield span(id + n, above, name, attributes={"langfuse.observation.type": kind} | more, **told)


@pytest.mark.parametrize("graph", [_sequence, _planner])
@pytest.mark.parametrize(("at", "expected"), [(5, [1, 1]), (1.2, [2])])
def test_a_graph_that_begins_once_the_one_above_is_over_is_a_run_of_its_own(graph, at, expected):
    found = agreed(*graph(1, None, 0), *graph(11, 2, at, took=1.5))
    assert [len(r["llm_calls"]) for r in found] == expected


def _of_mlflows(id, parent, method, at=0, took=1.0, **told):
    told = {"mlflow.spanType": '"UNKNOWN"'} | {key: json.dumps(value) for key, value in told.items()}
    told = {f"mlflow.{key}" if key in ("spanInputs", "spanOutputs") else key: value for key, value in told.items()}
    return span(id, parent, method, at=at, took=took, scope="mlflow.tracing.provider", status=1, attributes=told)


@pytest.mark.parametrize("key", ["name", "_name"])
def test_agents_and_tools_of_a_type_that_mlflow_does_not_know_are_known_by_their_methods(key):
    """MLflow 3.6 to 3.12 of Pydantic AI without MCP's kit."""
    call = {"tool_name": "look", "args": '{"at": "x"}', "tool_call_id": "c1", "part_kind": "tool-call"}
    (run,) = agreed(
        _of_mlflows(1, None, "Agent.run", took=5, spanInputs={"user_prompt": "go"}, **{key: "planner"}),
        _of_mlflows(2, 1, "ToolManager.handle_call", at=1, spanInputs={"call": call}, spanOutputs="cold"),
    )
    assert (run["input"], run["agents"], run["llm_calls"]) == ("go", ["planner"], None)
    (found,) = run["tool_calls"]
    assert [found[k] for k in ("name", "arguments", "result", "status")] == ["look", {"at": "x"}, "cold", "ok"]


def test_of_a_list_of_parts_that_a_limit_cut_nothing_is_told_and_of_a_stream_without_words_no_answer():
    cut = {"gen_ai.prompt.0.content": json.dumps([_printed(function_call=_PRINTED_CALL)])[:200]}
    asked = _flat(1, "None", ("user", {"type": "text", "text": "go"}))
    (run,) = agreed(asked | {"attributes": asked["attributes"] | cut})
    assert (run["input"], run["output"], run["status"]) == (None, None, "unknown")


def test_whether_a_tool_of_llama_indexs_failed_is_unknown_where_a_limit_cut_what_its_step_put_out():
    spans = list(_workflow(1, None, 0, True))
    told = spans[4]["attributes"]
    told["traceloop.entity.output"] = told["traceloop.entity.output"].split("raw_input")[0]
    (run,) = agreed(*spans)
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "unknown")]


@pytest.mark.parametrize(
    ("version", "content", "status"),
    [("1.19.0", False, "unknown"), ("1.27.0", False, "ok"), ("2.13.0", False, "ok"), ("1.19.0", True, "ok")],
)
def test_adk_before_1_27_tells_by_the_response_alone_that_a_tool_raised(version, content, status):
    """Where a plugin makes a response of that."""
    told = {"scope": "gcp.vertex.agent", "version": version}
    look = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.type": "FunctionTool"}
    look |= {"gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}"}
    look |= {"gcp.vertex.agent.tool_response": '{"result": "cold"}'} if content else {}
    planner = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    (run,) = agreed(
        span(1, None, "invoke_agent planner", took=9, attributes=planner, **told),
        span(2, 1, "call_llm", at=1, attributes={"gen_ai.request.model": "m"}, **told),
        span(3, 2, "execute_tool look", at=1.5, took=0.2, attributes=look, **told),
        span(4, 1, "call_llm", at=3, attributes={"gen_ai.request.model": "m"}, **told),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]
