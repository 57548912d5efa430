"""What platforms' own tracers for Python tell in their latest versions, by runs against a model of ours."""

import base64
import json

import msgspec
import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full


def _text(role, text):
    return {"role": role, "content": text}


def _calls(*calls):
    asked = [{"tool_id": i, "name": n, "arguments": a, "type": "function"} for i, n, a in calls]
    return {"role": "assistant", "content": "", "tool_calls": asked}


def _came(call, result):
    return {"role": "tool", "content": "", "tool_results": [{"name": "", "result": result, "tool_id": call}]}


def _datadog(
    id, parent, at, kind, name, given=None, gave=None, kit="openai", error=None, resource=None, model_name=None, **meta
):
    """ddtrace 4.16 with `OTEL_TRACES_EXPORTER=otlp` and LLM Observability."""
    told = {"_dd.llmobs.artificial_gen_ai_tags": "true", "gen_ai.operation.name": kind}
    told |= {"operation.name": name}
    if kind == "llm":
        told |= {"gen_ai.request.model": "m", "openai.request.model": "m", "openai.response.model": "m-2"}
        told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3}
    held = {"messages" if isinstance(told, list) else "value": told for told in (given,) if told is not None}
    put = {"messages" if isinstance(told, list) else "value": told for told in (gave,) if told is not None}
    meta = {"span": {"kind": kind}, "input": held, "output": put, "metadata": meta}
    meta |= {"model_name": model_name} if model_name else {}
    counted = {"input_tokens": 9, "output_tokens": 3} if kind == "llm" and error is None else {}
    packed = {"meta": meta, "name": name, "tags": {"integration": kit}, "metrics": counted}
    told["_llmobs"] = msgspec.msgpack.encode(packed)
    return span(id, parent, resource or name, at=at, error=error, attributes=told, scope="")


_GO = [_text("system", "You plan."), _text("user", "Rome?")]
_LOOK = _calls(("call_a", "book", {"n": 0}), ("call_b", "look", {"x": 1}))


def _facts(run):
    return [(c["name"], c["agent"], c["status"], c["arguments"], c["result"]) for c in run["tool_calls"]]


def test_what_datadog_packs_of_a_step_is_what_was_asked_called_and_answered():
    back = [*_GO, _LOOK, _came("call_a", "Error: no"), _came("call_b", "seen")]
    (run,) = runs(
        _datadog(1, None, 0, "agent", "planner", '{"text": "Rome?"}', "Sunny.", resource="agent") | {"took": 9},
        _datadog(2, 1, 1, "llm", "create", _GO, [_LOOK], finish_reason="tool_calls"),
        _datadog(3, 1, 2.5, "tool", "book", '{"n": 0}', error="no", resource="tool"),
        _datadog(4, 1, 4, "tool", "look", '{"x": 1}', "seen", resource="tool"),
        _datadog(5, 1, 6, "llm", "create", back, [_text("assistant", "Sunny.")], finish_reason="stop"),
    )
    assert (run["input"], run["output"], run["status"], run["agents"]) == ("Rome?", "Sunny.", "ok", ["planner"])
    assert _facts(run) == [
        ("book", "planner", "error", {"n": 0}, "Error: no"),
        ("look", "planner", "ok", {"x": 1}, "seen"),
    ]
    told = [(c["request_model"], c["response_model"], c["input_tokens"]) for c in run["llm_calls"]]
    assert (told, run["boundaries"]) == ([("m", "m-2", 9)] * 2, ["tool_failure"])


def test_what_a_collector_keeps_as_base64_is_unpacked_too():
    one = _datadog(1, None, 0, "agent", "planner", '{"text": "Rome?"}', "Sunny.", resource="agent") | {"took": 9}
    two = _datadog(2, 1, 1, "llm", "create", _GO, [_text("assistant", "Sunny.")])
    for x in (one, two):
        x["attributes"]["_llmobs"] = base64.b64encode(x["attributes"]["_llmobs"]).decode()
    (run,) = runs(one, two)
    assert (run["agents"], run["input"], run["output"]) == (["planner"], "Rome?", "Sunny.")


def test_a_handoff_that_datadog_tells_of_openais_agents_is_no_tool():
    asked = [_text("user", "Rome?")]
    (run,) = runs(
        _datadog(1, None, 0, "workflow", "Agent workflow", "Rome?", "Sunny.", "openai_agents") | {"took": 20},
        _datadog(2, 1, 1, "agent", "planner", kit="openai_agents") | {"took": 5},
        _datadog(3, 2, 1.5, "llm", "create", asked, [_calls(("call_a", "transfer_to_worker", {}))]),
        _datadog(
            4,
            2,
            3,
            "tool",
            "transfer_to_worker",
            "planner",
            "worker",
            "openai_agents",
            resource="openai_agents.handoff",
        ),
        _datadog(5, 1, 7, "agent", "worker", kit="openai_agents") | {"took": 5},
        _datadog(6, 5, 8, "llm", "create", asked, [_text("assistant", "Sunny.")]),
    )
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "worker", "handoff")]
    assert (run["tool_calls"], run["agents"], run["input"]) == ([], ["planner", "worker"], "Rome?")


def test_a_tool_of_langchains_is_given_a_whole_call_and_a_graph_is_named():
    call = '{"args": {"x": 1}, "id": "call_a", "name": "look", "type": "tool_call"}'
    manifest = {"_dd": {"agent_manifest": {"name": "planner"}}}
    printed = ("{\"messages\": [\"('user', 'Rome?')\"]}", '{"messages": [["user", "Rome?"], ["assistant", "Sunny."]]}')
    (run,) = runs(
        _datadog(1, None, 0, "agent", "graph", *printed, "langgraph", resource="langgraph", **manifest) | {"took": 9},
        _datadog(2, 1, 1, "llm", "create", [_text("user", "Rome?")], [_calls(("call_a", "look", {"x": 1}))]),
        _datadog(3, 1, 3, "tool", "look", call, "seen", "langchain"),
        _datadog(4, 1, 5, "llm", "create", [_text("user", "Rome?"), _LOOK], [_text("assistant", "Sunny.")]),
    )
    assert (run["input"], run["output"], run["agents"]) == ("Rome?", "Sunny.", ["planner"])
    assert _facts(run) == [("look", "planner", "ok", {"x": 1}, "seen")]


@pytest.mark.parametrize("said", ["Model call limits exceeded: run limit (1/1)", ""])
def test_a_graph_answers_what_its_messages_end_with_and_no_model_does_that_only_calls(said):
    """langchain 1.5, `ModelCallLimitMiddleware`, and where somebody is to give leave."""
    ends = msgspec.json.encode({"messages": [["user", "Rome?"], ["assistant", ""], ["assistant", said]]}).decode()
    graph = {"kit": "langgraph", "resource": "langgraph", "_dd": {"agent_manifest": {"name": "planner"}}}
    (run,) = runs(
        _datadog(1, None, 0, "agent", "graph", "{}", ends, **graph) | {"took": 9},
        _datadog(2, 1, 1, "workflow", "ChatOpenAI", "[]", '[{"content": "", "role": "assistant"}]', "langchain"),
        _datadog(3, 2, 1, "llm", "create", [_text("user", "Rome?")], [_calls(("call_a", "look", {"x": 1}))]),
    )
    assert run["output"] == (said or None)


def test_an_agent_of_adks_that_took_over_is_named_in_what_its_model_is_instructed():
    """google-adk 1.20: one span, of the runner, whoever works in it."""

    def orders(name):
        return _text("system", f'You plan.\n\nYou are an agent. Your internal name is "{name}". The description')

    asked = _text("user", "Rome?")
    over = _calls(("", "transfer_to_agent", {"agent_name": "worker"}))
    (run,) = runs(
        _datadog(1, None, 0, "agent", "planner", "Rome?", "[{}]", "google_adk") | {"took": 9},
        _datadog(2, 1, 1, "llm", "generate", [orders("planner"), asked], [over], "google_genai"),
        _datadog(3, 1, 3, "tool", "transfer_to_agent", '{"agent_name": "worker"}', kit="google_adk"),
        _datadog(4, 1, 5, "llm", "generate", [orders("worker"), asked], [_text("assistant", "Sunny.")], "google_genai"),
    )
    assert [c["agent"] for c in run["llm_calls"]] == run["agents"] == ["planner", "worker"]
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [("planner", "worker", "ok")]


def test_an_agent_that_failed_early_has_no_name_for_datadog():
    (run,) = runs(
        _datadog(1, None, 0, "agent", "pydantic_ai.agent", "Rome?", kit="pydantic_ai", error="boom") | {"took": 9},
        _datadog(2, 1, 1, "llm", "create", [_text("user", "Rome?")], error="boom"),
    )
    assert (run["agents"], run["status"], run["input"]) == ([], "error", "Rome?")


def test_a_call_that_datadog_has_no_attributes_for_is_one():
    """LiteLLM: what it packs is all that it tells."""
    one = _datadog(2, 1, 1, "llm", "completion", _GO, [_text("assistant", "Sunny.")], "litellm", model_name="m")
    one["attributes"] = {key: told for key, told in one["attributes"].items() if key == "_llmobs"}
    (run,) = runs(
        _datadog(1, None, 0, "workflow", "handle", '{"text": "Rome?"}', resource="workflow") | {"took": 9}, one
    )
    assert (run["input"], run["output"]) == ("Rome?", "Sunny.")
    (call,) = run["llm_calls"]
    assert (call["request_model"], call["input_tokens"]) == ("m", 9)


@pytest.mark.parametrize(("failed", "status"), [(True, "error"), (False, "ok")])
def test_a_tool_of_llamaindexs_is_named_by_what_it_is_given_and_known_by_what_is_printed(failed, status):
    printed = "tool_name='look' tool_kwargs={'x': 1} tool_id='call_a' tool_output=ToolOutput(blocks=[], "
    printed += f"raw_output='seen', is_error={failed}) return_direct=False"
    called = _calls(("call_a", "look", {"x": 1}))
    (run,) = runs(
        _datadog(1, None, 0, "agent", "llama_index.request", "Rome?", kit="llama_index") | {"took": 9},
        _datadog(2, 1, 1, "llm", "create", _GO, [called]),
        _datadog(3, 1, 3, "tool", "llama_index.request", "look", printed, "llama_index"),
        _datadog(4, 1, 5, "llm", "create", [*_GO, called, _came("call_a", "seen")], [_text("assistant", "Sunny.")]),
    )
    assert _facts(run) == [("look", None, status, {"x": 1}, "seen")]


def test_what_a_server_of_mcp_tells_datadog_of_a_call_is_no_other_call():
    """mcp 1.30, client and server in one program."""
    came = '{"content": [{"type": "text", "text": "seen"}], "isError": false}'
    sent = '{"id": 1, "jsonrpc": "2.0", "method": "tools/call", "params": {"arguments": {"x": 1}, "name": "look"}}'
    called = _calls(("call_a", "look", {"x": 1}))
    (run,) = runs(
        _datadog(1, None, 0, "agent", "planner", '{"text": "Rome?"}', "Sunny.", resource="agent") | {"took": 9},
        _datadog(2, 1, 1, "llm", "create", _GO, [called]),
        _datadog(3, 1, 3, "tool", "MCP Client Tool Call: look", '{"x": 1}', came, "mcp", resource="client_tool_call"),
        _datadog(4, 1, 3.2, "tool", "look", sent, came, "mcp", resource="server_tool_call") | {"took": 0.5},
        _datadog(5, 1, 5, "llm", "create", [*_GO, called, _came("call_a", "seen")], [_text("assistant", "Sunny.")]),
    )
    assert _facts(run) == [("look", "planner", "ok", {"x": 1}, "seen")]


_ODD = {"meta": {"span": {"kind": "tool"}, "input": {"value": msgspec.msgpack.Ext(7, b"x")}}}


@pytest.mark.parametrize(
    "packed", [b"", b"\xc1", msgspec.msgpack.encode(["no", "object"]), msgspec.msgpack.encode(_ODD), "no Base64"]
)
def test_what_cannot_be_unpacked_tells_nothing(packed):
    one = _datadog(1, None, 0, "agent", "planner", resource="agent") | {"took": 9}
    two = _datadog(2, 1, 1, "tool", "look", resource="tool")
    for x in (one, two):
        x["attributes"]["_llmobs"] = packed
    (run,) = runs(one, two)
    assert (run["agents"], [c["name"] for c in run["tool_calls"]]) == (["planner"], ["look"])


@pytest.mark.parametrize("before", ["paid.trace.", ""])
def test_a_handoff_of_openais_agents_is_none_of_its_tools_though_paid_puts_a_word_before_its_name(before):
    """paid-python 1.12, OpenInference of OpenAI's agents 2.6: all that was said is left out."""

    def told(id, parent, at, kind, name, took=1, **more):
        more = {key.replace("__", "."): value for key, value in more.items()} | {"openinference.span.kind": kind}
        scope = {"scope": "openinference.instrumentation.openai_agents", "version": "2.6.0"}
        return span(id, parent, before + name, at=at, took=took, attributes=more, **scope)

    (run,) = runs(
        told(1, None, 0, "AGENT", "Agent workflow", 20),
        told(2, 1, 1, "AGENT", "planner", 5, graph__node__id="planner"),
        told(3, 2, 1.5, "LLM", "generation", llm__model_name="m", llm__token_count__prompt=9),
        told(4, 2, 3, "TOOL", "handoff to worker"),
        told(5, 1, 7, "AGENT", "worker", 5, graph__node__id="worker", graph__node__parent_id="planner"),
        told(6, 5, 8, "LLM", "generation", llm__model_name="m", llm__token_count__prompt=9),
    )
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "worker", "handoff")]
    assert not run["tool_calls"]


def test_an_answer_in_form_that_a_graphs_state_holds_for_datadog_is_no_tool():
    """`ToolStrategy` of LangChain's agents, whose state is told as Python prints it."""
    state = {"messages": [["user", "Rome?"], ["assistant", ""], "Taken."], "structured_response": "x=1"}
    (run,) = runs(
        _datadog(1, None, 0, "agent", "planner", "{}", json.dumps(state), "langgraph") | {"took": 9},
        _datadog(2, 1, 1, "llm", "create", [_text("user", "Rome?")], [_calls(("call_a", "Plan", {"x": 1}))]),
    )
    assert (run["tool_calls"], run["output"], run["status"]) == ([], '{"x":1}', "ok")
