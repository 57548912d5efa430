"""Kits for Python and what watches them: LlamaIndex, clients of Bedrock and OpenAI, ADK, Burr, Pipecat."""

import json

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.runs.requests import chat, events, runs, span

pytestmark = pytest.mark.full

_TRACELOOP, _MLFLOW = "opentelemetry.instrumentation.llamaindex", "mlflow.tracing.provider"
_SAID = {"response": {"role": "assistant", "blocks": [{"block_type": "text", "text": "two"}]}}


def _task(id, at, output=None, **told):
    told |= {"traceloop.entity.output": json.dumps(output)} if output is not None else {}
    told |= {"traceloop.span.kind": "task"}
    return span(id, 1, "BaseWorkflowAgent.task", at=at, scope=_TRACELOOP, attributes=told)


@pytest.mark.parametrize("ended", [True, False])
def test_a_workflow_whose_newest_step_put_nothing_out_may_have_met_its_limit(ended):
    """LlamaIndex 0.14 under OpenLLMetry 0.62 alone: no model's call is told, nor a step that failed."""
    called = {"tool_name": "add", "tool_id": "call_a1", "tool_output": {"raw_output": 2}}
    planner = {"input": [{"role": "user"}], "current_agent_name": "planner"}
    (run,) = runs(
        span(
            1, None, "FunctionAgent.workflow", took=20, scope=_TRACELOOP, attributes={"traceloop.span.kind": "workflow"}
        ),
        *(_task(2, 0, planner), _task(3, 1), _task(4, 2)),
        _task(5, 3, called, **{"tool.name": "add", "tool.arguments": '{"a": 1}'}),
        *(_task(6, 4, planner), _task(7, 5)),
        *([_task(8, 6, {"result": _SAID | {"current_agent_name": "planner"}})] if ended else []),
    )
    assert (run["status"], "max_steps" in run["boundaries_unknown"]) == ("ok" if ended else "unknown", True)


def _tracked(id, parent, name, kind, at, given=None, put_out=None):
    told = {"mlflow.spanType": f'"{kind}"'}
    told |= {"mlflow.spanInputs": json.dumps(given)} if given is not None else {}
    told |= {"mlflow.spanOutputs": json.dumps(put_out)} if put_out is not None else {}
    return span(id, parent, name, at=at, scope=_MLFLOW, attributes=told, status=1)


def _turn(id, at, agent):
    """A step of the workflow in which this agent asked its model, of whose stream only the class is told."""
    given = {"messages": [{"role": "user", "blocks": [{"block_type": "text", "text": "book"}]}]}
    stream = "<async_generator object llm_chat_callback.<locals>.wrapped_gen at 0x7f6b95705b90>"
    return (
        _tracked(id, 1, "AgentWorkflow.setup_agent", "CHAIN", at, {}, {"current_agent_name": agent, "input": []}),
        _tracked(id + 1, 1, "AgentWorkflow.run_agent_step", "CHAIN", at + 0.2),
        _tracked(id + 2, id + 1, "OpenAI.astream_chat", "CHAT_MODEL", at + 0.3, given, stream),
        _tracked(id + 3, 1, "AgentWorkflow.parse_agent_output", "CHAIN", at + 0.5),
    )


def test_mlflow_tells_by_the_steps_of_a_workflow_which_agent_of_llama_index_is_at_work():
    """MLflow 3.17: the step that gathers results puts out who is next, and the workflow what it ended with."""
    handoff = {"tool_name": "handoff", "tool_id": "call_h1", "tool_kwargs": {"to_agent": "booker", "reason": "it is"}}
    moved = handoff | {"tool_output": {"tool_name": "handoff", "is_error": False, "raw_output": "booker is next"}}
    ended = {"result": _SAID | {"current_agent_name": "booker", "tool_calls": [handoff], "retry_messages": []}}
    (run,) = runs(
        _tracked(1, None, "AgentWorkflow.run", "AGENT", 0, {"user_msg": "book"}, ended) | {"took": 20},
        *_turn(10, 1, "planner"),
        _tracked(20, 1, "AgentWorkflow.call_tool", "CHAIN", 2, {"ev": handoff}, moved),
        _tracked(21, 1, "AgentWorkflow.aggregate_tool_results", "CHAIN", 3, {}, {"current_agent_name": "booker"}),
        *_turn(30, 4, "booker"),
    )
    assert (run["agents"], run["output"]) == (["booker", "planner"], "two")
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "booker"]


def _records(trace, of, *told):
    """Log records of botocore's, which leaves out what was said."""
    system = {"gen_ai.system": "aws.bedrock"}
    made = events(*((of, f"gen_ai.{name}", n / 10, system | body) for n, (name, body) in enumerate(told)), named=True)
    whole = ExportLogsServiceRequest.FromString(made)
    for record in whole.resource_logs[0].scope_logs[0].log_records:
        record.trace_id = trace.to_bytes(16, "big")
    return whole.SerializeToString()


def test_the_empty_message_of_a_user_that_brought_results_is_no_words_of_a_user():
    """opentelemetry-instrumentation-botocore 0.66b2 without content, each call in a trace of its own: Bedrock's user
    brings results, and is told of after them."""
    asked = [{"type": "function", "id": "tooluse_Vt4EJdnmIujX", "function": {"name": "look"}}]
    told = {"gen_ai.operation.name": "chat", "gen_ai.system": "aws.bedrock", "gen_ai.request.model": "m"}
    first = ("user.message", {})
    brought = (("assistant.message", {"tool_calls": asked}), ("tool.message", {"id": asked[0]["id"]}), first)
    choice = {"finish_reason": "tool_use", "message": {"role": "assistant", "tool_calls": asked}}
    done = {"finish_reason": "end_turn", "message": {"role": "assistant"}}
    (run,) = runs(
        span(2, None, "chat m", 1, at=0, attributes=told, kind=3),
        span(3, None, "chat m", 2, at=5, attributes=told, kind=3),
        logs=[
            _records(1, 2, first, ("choice", choice)),
            _records(2, 3, first, *brought, ("choice", done)),
        ],
    )
    assert (len(run["llm_calls"]), [c["name"] for c in run["tool_calls"]]) == (2, ["look"])


_OPENAI = "opentelemetry.instrumentation.openai.v1"
_ORDERS = {"role": "system", "parts": [{"type": "text", "content": "You plan."}]}


def _came_back(*results):
    parts = [{"type": "tool_call_response", "id": id, "response": text} for id, text in results]
    return [_ORDERS, *({"role": "tool", "parts": [part]} for part in parts)]


@pytest.mark.parametrize("traces", [(1, 2), (1, 1)])
def test_a_conversation_that_openai_keeps_goes_on_with_the_results_of_items_in_order(traces):
    """Traceloop 0.62, `previous_response_id`: an answer tells the ids of items, and no later input what it asked."""
    asked = [("fc_LPao5tZ5amx", "look", {"city": "Oslo"}), ("fc_QZao7tY1bmw", "look", {"city": "Rome"})]
    go = [_ORDERS, {"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    back = _came_back(("call_Vanjit6UeXy", "cold"), ("call_Tu8Zo2mBnQw", "warm"))
    frame = () if traces == (1, 2) else (span(1, None, "handle", took=20),)
    parent = 1 if frame else None
    (run,) = runs(
        *frame,
        chat(2, parent, asked, go, at=1, trace=traces[0], scope=_OPENAI),
        chat(3, parent, "done", back, at=4, trace=traces[1], scope=_OPENAI),
    )
    told = [(c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]
    assert told == [({"city": "Oslo"}, "ok", "cold"), ({"city": "Rome"}, "ok", "warm")]
    assert (run["input"], run["output"]) == ("go", "done")


def test_which_of_two_conversations_that_openai_keeps_goes_on_is_not_known():
    go = [_ORDERS, {"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    told = runs(
        chat(2, None, [("fc_LPao5tZ5amx", "look", {})], go, at=1, scope=_OPENAI),
        chat(3, None, [("fc_QZao7tY1bmw", "look", {})], go, at=2, trace=2, scope=_OPENAI),
        chat(4, None, "done", _came_back(("call_Vanjit6UeXy", "cold")), at=4, trace=3, scope=_OPENAI),
    )
    assert [[c["result"] for c in run["tool_calls"]] for run in told] == [[None], [None], []]


def _overwritten(id, parent, at, took, said, asked, history=()):
    """An agent's span on which OpenInference for ADK wrote each model's call over the one before."""
    here = "llm.output_messages.0.message."
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "gen_ai.operation.name": "generate_content"}
    told |= {f"{here}tool_calls.0.tool_call.function.{key}": value for key, value in asked.items()}
    told |= {f"{here}role": "model"} | ({f"{here}contents.0.message_content.text": said} if said else {})
    for n, message in enumerate([{"role": "user", "content": "go"}, *history]):
        told |= {f"llm.input_messages.{n}.message.{key}": value for key, value in message.items()}
    return span(id, parent, "invoke_agent critic", at=at, took=took, attributes=told, scope="gcp.vertex.agent")


def _executed(id, parent, name, at):
    told = {
        "openinference.span.kind": "TOOL",
        "tool.name": name,
        "tool.parameters": "{}",
        "output.value": '{"response":2}',
    }
    return span(id, parent, f"execute_tool {name}", at=at, attributes=told, scope=_ADK, status=1)


_ADK = "openinference.instrumentation.google_adk"


def test_an_answer_to_what_it_asks_for_itself_was_written_over_the_one_before():
    """OpenInference 1.0 for ADK 2.13, a loop of agents: a call's answer stayed where the next one's words were put, and
    ids are left out. How many calls there were is not known, nor the number of those that come after."""
    frame = {"openinference.span.kind": "AGENT", "agent.name": "critic"}
    call = {"tool_calls.0.tool_call.function.name": "add", "tool_calls.0.tool_call.function.arguments": "{}"}
    history = [{"role": "model"} | call, {"role": "tool", "name": "add", "content": '{"result": 2}'}]
    (run,) = runs(
        span(
            1, None, "invocation [app]", took=30, scope=_ADK, attributes={"openinference.span.kind": "CHAIN"}, status=1
        ),
        span(2, 1, "agent_run [critic]", at=1, took=9, scope=_ADK, attributes=frame, status=1),
        _overwritten(3, 2, 1, 9, "not yet", {"name": "add", "arguments": "{}"}, history),
        _executed(4, 3, "add", 8.5),
        span(5, 1, "agent_run [critic]", at=11, took=9, scope=_ADK, attributes=frame, status=1),
        _overwritten(6, 5, 11, 9, None, {"name": "leave", "arguments": "{}"}),
        _executed(7, 6, "leave", 19),
    )
    assert run["llm_calls"] is None
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("add", None), ("leave", None)]


@pytest.mark.parametrize(("came", "status"), [("Error: no such city", "error"), ("cold", "ok")])
def test_burrs_bridge_says_of_a_function_that_threw_that_it_went_well(came, status):
    """burr 0.42: what a model was told of a traced function tells how it went."""
    call = {"type": "tool_call", "id": "call_ulg0hqgqgL", "name": "look", "arguments": {}}
    back = {"type": "tool_call_response", "id": "call_ulg0hqgqgL", "response": came}
    go = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    later = [go, {"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [back]}]
    (run,) = runs(
        span(1, None, "run", took=20, scope="burr", status=1),
        span(2, 1, "ask_model", at=1, took=3, scope="burr", status=1),
        chat(3, 2, [("call_ulg0hqgqgL", "look", {})], [go], at=2),
        span(4, 1, "run_tools", at=5, took=2, scope="burr", status=1),
        span(5, 4, "look", at=5.5, scope="burr", status=1, attributes={"__burr_function": "look"}),
        span(6, 1, "ask_model", at=8, took=3, scope="burr", status=1),
        chat(7, 6, "done", later, at=9),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", status, came)]


def _spoken(id, at, given, model, said=None):
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": model,
        "param.model": "m",
        "input": json.dumps(given),
    }
    told |= {"output": said} if said is not None else {}
    return span(id, 1, "llm", at=at, scope="pipecat", attributes=told | {"gen_ai.usage.output_tokens": 9})


@pytest.mark.parametrize("finished", [True, False])
def test_pipecat_tells_later_what_came_of_a_tool_that_it_lets_run_on(finished):
    """pipecat-ai and its flows 1.4: what stands in place of a result is none. The model that answered is told as the
    one that is asked from then on."""
    task = {"type": "async_tool", "status": "running", "tool_call_id": "call_yJ05fWKW32", "description": "has started"}
    call = {"id": "call_yJ05fWKW32", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    back = [{"role": "assistant", "tool_calls": [call]}]
    back += [{"role": "tool", "content": json.dumps(task), "tool_call_id": "call_yJ05fWKW32"}]
    over = task | {"status": "finished", "result": '{"it": "is cold"}'}
    go = {"role": "user", "content": "go"}
    (run,) = runs(
        span(1, None, "conversation", took=20, scope="pipecat.turn", attributes={"conversation.id": "k"}),
        _spoken(2, 1, [go], "m"),
        _spoken(
            3,
            3,
            [go, *back, *([{"role": "developer", "content": json.dumps(over)}] if finished else [])],
            "m-2024-07-18",
            "done",
        ),
    )
    status, result = ("ok", {"it": "is cold"}) if finished else ("unknown", None)
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", status, result)]
    assert [c["request_model"] for c in run["llm_calls"]] == ["m", "m"]
