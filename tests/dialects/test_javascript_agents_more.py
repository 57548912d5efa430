"""Agents of kits for JavaScript in their newest versions, run against a model of ours: harder runs."""

import json

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full

_CHAIN = "@traceloop/instrumentation-langchain"


def _json(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _text(text):
    return {"type": "text", "content": text}


def _chain_model(trace, at, said, answer, tokens):
    """A model's call of LangChain 1.5 under Traceloop 0.27, in a trace of its own: it hides what is asked for."""
    why = "stop" if answer else "tool_call"
    output = [{"role": "assistant", "parts": [_text(answer)], "finish_reason": why}]
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m"}
    told |= {"gen_ai.response.finish_reasons": [why], "gen_ai.usage.input_tokens": tokens}
    told |= {"gen_ai.input.messages": _json(said), "gen_ai.output.messages": _json(output)}
    return span(trace, None, "chat m", trace, at, scope=_CHAIN, attributes=told, status=1)


def _chain_tool(trace, at, name, given, result, whole=None):
    message = {"status": "success", "content": result, "tool_call_id": f"call_{trace}wYhGq", "name": name}
    told = {"gen_ai.operation.name": "execute_tool", "traceloop.span.kind": "task"}
    told |= {"traceloop.entity.name": "DynamicStructuredTool"}
    told |= {"traceloop.entity.input": _json({"args": [_json(given)]})}
    kind = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"]}
    whole = whole or kind | {"kwargs": message}
    told |= {"traceloop.entity.output": _json(whole)}
    named = "execute_tool DynamicStructuredTool"
    return span(trace, None, named, trace, at, scope=_CHAIN, attributes=told, status=1)


def _brought(*results):
    user = {"role": "user", "parts": [_text("weather?")]}
    asked = {"role": "assistant", "parts": [_text("")]}
    return [user], [user, asked, *({"role": "tool", "parts": [_text(r)]} for r in results)]


@pytest.mark.parametrize("result", ["", "21"])
def test_tools_in_traces_of_their_own_of_which_one_gave_an_empty_text_are_of_one_run(result):
    asked, told = _brought("12 in Rome", result)
    (run,) = runs(
        _chain_model(1, 0, asked, "", 9),
        _chain_tool(2, 2, "look", {"city": "Rome"}, "12 in Rome"),
        _chain_tool(3, 2, "look", {"city": "Bonn"}, result),
        _chain_model(4, 4, told, "It is warm.", 20),
    )
    assert [(c["result"], c["status"], c["turn"]) for c in run["tool_calls"]] == [
        ("12 in Rome", "ok", 0),
        (result, "ok", 0),
    ]


def test_a_tool_that_nobody_has_is_asked_for_beside_one_in_a_trace_of_its_own():
    asked, told = _brought("12 in Rome", "Error: ghost is not a valid tool, try one of [look].")
    (run,) = runs(
        _chain_model(1, 0, asked, "", 9),
        _chain_tool(2, 2, "look", {"city": "Rome"}, "12 in Rome"),
        _chain_model(4, 4, told, "It is warm.", 20),
    )
    assert sorted((c["name"], c["status"], c["turn"]) for c in run["tool_calls"]) == [
        ("ghost", "requested", 0),
        ("look", "ok", 0),
    ]
    assert (run["output"], run["status"]) == ("It is warm.", "ok")


@pytest.mark.parametrize(
    ("model", "streamed", "answered"), [("m-1", True, None), ("m-1-2026", True, "m-1-2026"), ("m-1", False, "m-1")]
)
def test_the_model_that_langfuse_tells_of_a_stream_of_langchains_was_asked_for(model, streamed, answered):
    """@langfuse/langchain 5.11 with LangChain 1.5 for JavaScript, whose streams name no model."""
    told = {
        "type": "generation",
        "model.name": model,
        "metadata.ls_model_name": "m-1",
        "metadata.ls_provider": "openai",
    }
    told |= {
        "input": _json([{"role": "user", "content": "hi"}]),
        "output": _json({"role": "assistant", "content": "Yes."}),
    }
    told |= {"usage_details": _json({"input": 9, "output": 2})}
    told |= {"completion_start_time": '"2026-11-26T16:18:23.561Z"'} if streamed else {}
    attributes = {f"langfuse.observation.{key}": value for key, value in told.items()}
    (run,) = runs(span(1, None, "ChatOpenAI", scope="langfuse-sdk", attributes=attributes))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("m-1", answered)]


_OI = "@arizeai/openinference-instrumentation-langchain"


def _oi(id, parent, name, kind, at, took, why=None, **told):
    said = None if why is None else f"{why}\n\nError: {why}\n    at EventTarget.listener (runner.js:133:44)"
    told = {"openinference.span.kind": kind, "metadata": _json({"lc_agent_name": "planner"})} | told
    return span(id, parent, name, at=at, took=took, scope=_OI, attributes=told, error=said)


def _graph(why_of_the_graph, why_of_the_model):
    given = {"input.value": _json({"messages": [{"role": "user", "content": "trip?"}]})}
    asked = {"llm.model_name": "m", "llm.input_messages.0.message.role": "user"}
    asked |= {"llm.input_messages.0.message.content": "trip?"}
    return runs(
        _oi(1, None, "planner", "CHAIN", 0, 5, why_of_the_graph, **given),
        _oi(2, 1, "ChatOpenAI", "LLM", 1, 3, why_of_the_model, **asked),
    )


@pytest.mark.parametrize("why", ["Abort", "AbortError", "This operation was aborted", "Model invocation was aborted."])
def test_a_stream_of_langgraphs_that_its_reader_left_has_not_failed(why):
    """LangGraph 1.7 for JavaScript under OpenInference 4.1: whoever leaves `for await` calls the graph off."""
    (run,) = _graph("Abort", why)
    assert (run["status"], run["boundaries"], run["output"]) == ("unknown", [], None)
    assert "error" in run["boundaries_unknown"]
    assert [c["status"] for c in run["llm_calls"]] == ["unknown"]


def test_a_graph_whose_model_failed_has():
    (run,) = _graph("500 boom", "500 boom")
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("error", ["error"])
    (run,) = _graph("The operation was aborted due to timeout", "The operation was aborted due to timeout")
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("error", ["error"])


@pytest.mark.parametrize(
    ("kind", "done", "count"),
    [(1, 20, 2), (2, 9, 2), (2, 20, 1), (2, 4, 1)],
)
def test_two_graphs_of_langgraphs_that_were_asked_at_once_lie_below_the_first_request(kind, done, count):
    """LangChain 1.5 for JavaScript under OpenInference 4.1: callbacks wait in one queue, which goes on in the span of
    who filled it. `done`: when the request of the first was answered."""

    def graph(id, at, took, asked):
        told = {"llm.model_name": "m", "llm.input_messages.0.message.role": "user", "llm.token_count.prompt": id}
        told |= {"llm.input_messages.0.message.content": asked, "llm.output_messages.0.message.role": "assistant"}
        told |= {"llm.output_messages.0.message.content": f"{asked}!"}
        given = {"input.value": _json({"messages": [{"role": "user", "content": asked}]})}
        return [
            _oi(id, 1, "planner", "CHAIN", at, took, **given),
            _oi(id + 1, id, "ChatOpenAI", "LLM", at + 1, took - 2, **told),
        ]

    frame = span(1, None, "POST /chat", took=done, kind=kind, scope="http")
    found = runs(frame, *graph(2, 1, 6, "trip?"), *graph(4, 2, 10, "fare?"))
    assert len(found) == count
    if count == 2:
        assert [(r["input"], r["output"], r["agents"]) for r in found] == [
            ("trip?", "trip?!", ["planner"]),
            ("fare?", "fare?!", ["planner"]),
        ]


_AGENTS = "@arizeai/openinference-instrumentation-openai-agents"


@pytest.mark.parametrize(
    ("why", "status"),
    [
        ("Error: Request was aborted.", "unknown"),
        ("AbortError: This operation was aborted", "unknown"),
        ("Error: 500 boom", "error"),
        ("Error: Request was aborted. Try again", "error"),
    ],
)
def test_a_run_of_openais_agents_for_javascript_that_was_called_off_has_not_failed(why, status):
    """OpenInference 0.2.15: what was thrown stands in JSON on all that is around it."""
    said = f'Error in agent run: {{"error":"{why}"}}'
    own = why.removeprefix("Error: ")

    def told(id, parent, kind, name, took, error, **more):
        more = {"openinference.span.kind": kind} | more
        raised = [("exception", {"exception.message": error})]
        return span(id, parent, name, 1, 0, took, scope=_AGENTS, attributes=more, error=error, events=raised)

    asked = {"llm.model_name": "m", "llm.input_messages.0.message.role": "user"}
    asked |= {"llm.input_messages.0.message.content": "go"}
    (run,) = runs(
        told(1, None, "AGENT", "Agent workflow", 9, said, **{"input.value": "go"}),
        told(2, 1, "AGENT", "planner", 8, said, **{"graph.node.id": "planner"}),
        told(3, 2, "CHAIN", "turn", 7, said),
        told(4, 3, "LLM", "generation", 6, own, **asked),
    )
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == (status, [status])
    assert ("error" in run["boundaries"]) == (status == "error")


def _items(*steps):
    """A history as OpenAI's agents for JavaScript keep it."""
    out = [{"type": "message", "role": "user", "content": "trip?"}]
    for id, city in steps:
        call = {"name": "look", "callId": f"call_{id}WoqKEmdJP", "status": "completed"}
        asked = {"id": f"fc_{id}KfWCaWxalv", "arguments": _json({"city": city})}
        out += [{"type": "function_call"} | asked | call]
        out += [{"type": "function_call_result", "output": {"type": "text", "text": f"21 in {city}"}} | call]
    return _json(out)


def _response(id, at, history, **told):
    told = {"openinference.span.kind": "LLM", "llm.system": "openai", "input.value": history} | told
    dropped = {"dropped": 30} if "llm.model_name" not in told else {}
    return span(id, 1, "response", at=at, scope=_AGENTS, attributes=told, status=1, **dropped)


def _look(id, at, city):
    told = {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": _json({"city": city})}
    return span(id, 1, "look", at=at, scope=_AGENTS, attributes=told | {"output.value": f"21 in {city}"}, status=1)


def test_what_is_left_of_openais_responses_at_the_limit_of_attributes_tells_whose_calls_were_whose():
    """@openai/agents 0.20 under OpenInference 0.2.15: the attributes of a long history are too many, and what is left
    is the history without instructions, in the kit's own words."""
    head = {f"llm.input_messages.{n}.message.role": role for n, role in enumerate(("system", "user"))}
    head |= {"llm.input_messages.0.message.content": "You plan.", "llm.input_messages.1.message.content": "trip?"}
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    head |= {"llm.model_name": "m", "llm.output_messages.0.message.role": "assistant"}
    head |= {f"{call}.id": "call_aWoqKEmdJP", f"{call}.function.name": "look"}
    head |= {f"{call}.function.arguments": _json({"city": "Rome"})}
    (run,) = runs(
        span(1, None, "planner", took=20, scope=_AGENTS, attributes={"openinference.span.kind": "AGENT"}, status=1),
        _response(2, 1, _items(), **head),
        _look(3, 3, "Rome"),
        _response(4, 5, _items(("a", "Rome"))),
        _look(5, 7, "Bonn"),
        _response(6, 9, _items(("a", "Rome"), ("b", "Bonn"))),
        _look(7, 11, "Oslo"),
        _response(8, 13, _items(("a", "Rome"), ("b", "Bonn"), ("c", "Oslo"))),
    )
    told = [(c["call_id"], c["arguments"]["city"], c["status"], c["turn"]) for c in run["tool_calls"]]
    cities = ("Rome", "Bonn", "Oslo")
    ids = ("call_aWoqKEmdJP", "call_bWoqKEmdJP", "call_cWoqKEmdJP")
    assert told == [(id, city, "ok", turn) for turn, (id, city) in enumerate(zip(ids, cities, strict=True))]


def _client(trace, at, said, *parts, **told):
    """Traceloop 0.27 of OpenAI's client for JavaScript, which finds no span of the agents' to stand under."""
    history = [{"role": "user", "parts": [_text(_json(said))]}]
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": _json(history),
    } | told
    if parts:
        told |= {
            "gen_ai.output.messages": _json([{"role": "assistant", "parts": list(parts), "finish_reason": "stop"}])
        }
    return span(trace, None, "chat m", trace, at, 0.8, scope="@traceloop/instrumentation-openai", attributes=told)


def _agent_and(*spans, answer=(), tokens=9):
    said = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "trip?"}
    said |= {"llm.model_name": "m", "llm.token_count.prompt": tokens, "llm.token_count.completion": 4}
    out = "llm.output_messages.0.message"
    said |= {f"{out}.role": "assistant", f"{out}.content": "Let me look."} | dict(answer)
    agent = {"openinference.span.kind": "AGENT", "graph.node.id": "planner"}
    top = span(1, None, "planner", took=9, scope=_AGENTS, attributes=agent, status=1)
    return runs(top, _response(2, 1, _items(), **said), *spans)


@pytest.mark.parametrize("at", [1.1, 30])
def test_a_stream_of_which_only_what_was_asked_is_told_is_the_agents_call_at_its_time(at):
    found = _agent_and(_client(7, at, [{"role": "user", "content": "trip?"}]))
    assert [(r["agents"], len(r["llm_calls"])) for r in found] == [(["planner"], 1), ([], 1)][: 1 if at < 2 else 2]


def test_an_answer_whose_calls_one_instrumentation_leaves_out_beside_its_words_is_one():
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    asked = {f"{call}.id": "call_aWoqKEmdJP", f"{call}.function.name": "look", f"{call}.function.arguments": "{}"}
    counted = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 4}
    counted |= {"gen_ai.response.id": "resp_sxxDT2Xf2RnxdHDaTfxO"}
    said = [{"role": "user", "content": "trip?"}]
    (run,) = _agent_and(_client(7, 1.1, said, _text("Let me look."), **counted), answer=asked.items())
    assert ([c["input_tokens"] for c in run["llm_calls"]], len(run["tool_calls"])) == ([9], 1)


def test_a_run_of_adks_whose_model_never_came_to_its_end_may_have_failed():
    """@google/adk 2.0, where one of two tools that were asked for is nobody's: the span of the model does not come."""
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    named |= {"gcp.vertex.agent.tool_call_args": _json({"city": "Bern"})}
    named |= {"gcp.vertex.agent.tool_response": _json({"result": "21"})}
    named |= {"gen_ai.tool.call.id": "adk-dfe0fd68-5e52-44bc-8e70-b7a4f35053b5"}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    scope = "gcp.vertex.agent"
    (run,) = runs(
        span(1, None, "invocation", took=9, scope=scope),
        span(2, 1, "invoke_agent planner", took=8, scope=scope, attributes=agent),
        span(4, 3, "execute_tool look", at=2, scope=scope, attributes=named),
    )
    assert (run["status"], run["output"], [c["status"] for c in run["tool_calls"]]) == ("unknown", None, ["ok"])


def _hands_over(trace, at, to, before=()):
    """A tool that hands over puts out all that was said, and its own message last."""
    known = {"content": f"Successfully transferred to {to}", "name": f"transfer_to_{to}", "tool_call_id": "call_nYhGqx"}
    messages = [{"lc": 1, "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": x} for x in (*before, known)]
    told = {"lg_name": "Command", "update": {"messages": messages}, "goto": [to]}
    return _chain_tool(trace, at, None, {}, None, whole=told)


@pytest.mark.parametrize("before", [(), ({"content": "21", "name": "look", "tool_call_id": "call_yYhGqx"},)])
def test_a_tool_of_langgraphs_that_goes_on_with_another_agent_hands_over(before):
    """LangGraph 1.7 for JavaScript under Traceloop 0.27, which names no agent."""
    asked, _ = _brought()
    there = {"role": "tool", "parts": [_text("Successfully transferred to bob")]}
    (run,) = runs(
        _chain_model(1, 0, asked, "", 9),
        _hands_over(2, 2, "bob", before),
        _chain_model(3, 4, [*asked, {"role": "assistant", "parts": [_text("")]}, there], "It is warm.", 20),
    )
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [(None, "bob", "transfer_to_bob")]
    assert (run["tool_calls"], run["output"], len(run["llm_calls"])) == ([], "It is warm.", 2)


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"mcp_server_names": ["files"]}, "unknown"),
        ({"langgraph_node": "tools"}, "ok"),
    ],
)
def test_how_a_tool_of_mcp_uses_went_is_unknown_where_its_result_is_hidden(told, status):
    """mcp-use 1.34 under OpenInference 4.1: what a server says of a failure is a result like any other."""
    ran = {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": "__REDACTED__"}
    model = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "tool_calls"}
    (run,) = runs(
        _oi(1, None, "mcp-use-agent", "CHAIN", 0, 9),
        _oi(2, 1, "ChatOpenAI", "LLM", 1, 1, **model),
        _oi(3, 1, "look", "TOOL", 3, 1, **ran | {"metadata": _json(told)}),
        _oi(4, 1, "ChatOpenAI", "LLM", 5, 1, **model | {"llm.finish_reason": "stop"}),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]


@pytest.mark.parametrize("answered", [True, False])
def test_an_agent_of_strands_that_answers_in_the_newest_conventions_has_not_been_given_up(answered):
    """@strands-agents/sdk 1.19 with OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental."""
    details, answer = "gen_ai.client.inference.operation.details", {"role": "assistant", "finish_reason": "endTurn"}
    put = _json([answer | {"parts": [_text("Hello.")]}])
    told = [(details, {"gen_ai.input.messages": _json([{"role": "user", "parts": [_text("hi")]}])})]
    told += [(details, {"gen_ai.output.messages": put})] if answered else []
    named = {"gen_ai.provider.name": "strands-agents", "gen_ai.request.model": "m"}
    agent = named | {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    model = named | {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    more = {"scope": "strands-agents", "status": 1, "events": told}
    (run,) = runs(
        span(1, None, "invoke_agent planner", took=9, attributes=agent, **more),
        span(2, 1, "chat", at=1, attributes=model, **more),
    )
    assert (run["status"], run["output"]) == (("ok", "Hello.") if answered else ("unknown", None))


@pytest.mark.parametrize("reason", [None, "content_filter"])
def test_an_answer_that_is_said_to_be_incomplete_may_have_met_a_limit_of_its_length(reason):
    told = 'OpenAI Responses request ended with unsuccessful terminal state "response.incomplete".'
    kind = {"openinference.span.kind": "LLM", "input.value": "go"} | ({"llm.finish_reason": reason} if reason else {})
    (run,) = runs(
        span(1, None, "planner", took=9, scope=_AGENTS, error=told, openinference__span__kind="AGENT"),
        span(2, 1, "response", at=1, scope=_AGENTS, attributes=kind | {"llm.finish_reason": "stop"}),
        span(3, 1, "response", at=3, scope=_AGENTS, error=told, attributes=kind, dropped=0 if reason else 9),
    )
    assert ("length" in run["boundaries_unknown"], "content_filter" in run["boundaries"]) == (not reason, bool(reason))
