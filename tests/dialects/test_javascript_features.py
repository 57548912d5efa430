"""What single features of JavaScript's kits put on the wire: leave to run a tool, guardrails, and streams given up."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

_OI = "@arizeai/openinference-instrumentation-openai-agents"


def _oi(id, parent, kind, name, at, took=1.0, **told):
    """A span of OpenInference 0.2 for OpenAI's Agents SDK for JavaScript 0.20, which ends well."""
    told = {"openinference.span.kind": kind, "llm.system": "openai"} | told
    return span(id, parent, name, at=at, took=took, status=1, scope=_OI, attributes=told)


def _agent(id, parent, name, at=0.0, took=9.0):
    return _oi(id, parent, "AGENT", name, at, took, **{"graph.node.id": name})


def _response(id, parent, at, asked, *items):
    """One of OpenAI's Responses; `asked` as (role, text), where `call` and `tool` tell a call's id."""
    told = {"llm.model_name": "m", "llm.finish_reason": "stop", "llm.token_count.prompt": 10}
    told["output.value"] = {"id": f"resp_{id}", "object": "response", "output": list(items)}
    for n, (role, text) in enumerate(asked):
        message = f"llm.input_messages.{n}.message"
        told[f"{message}.role"] = {"call": "assistant"}.get(role, role)
        if role == "call":
            told |= {f"{message}.tool_calls.0.tool_call.{k}": v for k, v in {"id": text, "function.name": "f"}.items()}
        else:
            told[f"{message}.content"] = text
    flat = "llm.output_messages.0.message"
    for item in items:
        told[f"{flat}.role"] = "assistant"
        if item["type"] == "message":
            told[f"{flat}.contents.0.message_content.text"] = item["content"][0]["text"]
        elif item["type"] == "function_call":
            call = {"id": item["call_id"], "function.name": item["name"], "function.arguments": item["arguments"]}
            told |= {f"{flat}.tool_calls.0.tool_call.{k}": v for k, v in call.items()}
    return _oi(id, parent, "LLM", "response", at, 0.5, **told)


def _says(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def test_a_run_that_goes_on_in_an_agent_which_a_tool_called_was_asked_what_its_own_model_is_told():
    """The inner one waited for leave, and is asked first when all is run again."""
    (run,) = runs(
        _oi(1, None, "CHAIN", "Agent workflow", 0, 9),
        _agent(2, 1, "boss"),
        _oi(3, 2, "TOOL", "ask_worker", 1, 3, **{"tool.name": "ask_worker", "input.value": '{"input": "work"}'}),
        _agent(4, 3, "worker", 1, 3),
        _response(5, 4, 2, [("user", "work"), ("call", "c1"), ("tool", "done")], _says("worked")),
        _response(6, 2, 5, [("user", "go"), ("call", "c0"), ("tool", "worked")], _says("led")),
    )
    assert (run["input"], run["output"], run["agents"]) == ("go", "led", ["boss", "worker"])


@pytest.mark.parametrize(("given", "status"), [(None, "requested"), ("completed", "ok"), ("failed", "error")])
def test_what_one_of_openais_responses_asks_leave_for_is_one_call_with_what_came_of_it(given, status):
    """A server's tool under `require_approval`, with leave given in the same trace, or not."""
    call = {"server_label": "docs", "name": "look", "arguments": '{"x": 1}'}
    asks = {"id": "mcpr_1", "type": "mcp_approval_request"} | call
    ran = {"id": "mcp_2", "type": "mcp_call", "approval_request_id": "mcpr_1", "status": given, "output": "seen"} | call
    spans = [_agent(1, None, "a"), _response(2, 1, 1, [("user", "go")], asks)]
    if given:
        spans.append(_response(3, 1, 3, [("user", "go")], ran, _says("Done.")))
    (run,) = runs(*spans)
    assert [(c["name"], c["arguments"], c["status"], c["turn"]) for c in run["tool_calls"]] == [
        ("look", {"x": 1}, status, 0)
    ]


def test_how_a_stream_went_that_was_given_up_is_unknown():
    """No answer is told of it, and all ends well."""
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    (run,) = runs(
        _oi(1, None, "AGENT", "Agent workflow", 0, 9, **{"input.value": '[{"role": "user", "content": "go"}]'}),
        _agent(2, 1, "a"),
        _oi(3, 2, "LLM", "response", 1, 1, **asked),
    )
    assert (run["status"], run["output"], [c["status"] for c in run["llm_calls"]]) == ("unknown", None, ["unknown"])


_STEP = {"openinference.span.kind": "CHAIN", "metadata": {"lc_agent_name": "a"}}
_HISTORY = [
    {"role": "user", "parts": [{"type": "text", "content": "go"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]},
]


@pytest.mark.parametrize(
    ("brought", "status"),
    [("seen", "unknown"), ("Error invoking tool 'look' with kwargs {\"x\":1} with error: Error: no", "error")],
)
def test_what_a_middleware_of_langchain_js_put_in_place_of_a_tool_is_no_run_of_it(brought, status):
    """LangChain.js 1.5, `wrapToolCall`: the step that asks is called otherwise than Python's."""
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": brought}]}
    (run,) = runs(
        span(1, name="a", took=20, attributes={"openinference.span.kind": "AGENT", "agent.name": "a"}),
        span(2, 1, "model_request", at=1, attributes=_STEP),
        chat(3, 2, [("c1", "look", {"x": 1})], "go", at=1, took=0.5),
        span(4, 1, "tools", at=3, attributes=_STEP),
        span(6, 1, "model_request", at=5, attributes=_STEP),
        chat(7, 6, "Done.", [*_HISTORY, back], at=5, took=0.5),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(status, brought)]


def _lc(kind, **kwargs):
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", kind], "kwargs": kwargs}


def test_what_a_tool_of_langgraphs_changed_beside_its_message_is_not_what_the_model_saw():
    """deepagents 1.14 for JavaScript, `write_file`."""
    update = {"files": {"/a": {"content": "hi"}}, "messages": [_lc("ToolMessage", content="wrote", tool_call_id="c1")]}
    told = {"openinference.span.kind": "TOOL", "tool.name": "write_file", "input.value": "{}"}
    told["output.value"] = json.dumps({"output": {"lg_name": "Command", "update": update, "goto": []}})
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "write_file", {})], "go", at=1),
        span(3, 1, "write_file", at=3, attributes=told),
        chat(4, 1, "Done.", "go", at=5),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("write_file", "ok", "wrote")]


@pytest.mark.parametrize(("to", "called"), [("b", False), ("c", True)])
def test_a_tool_that_sends_a_graph_on_to_an_agent_hands_over_to_it(to, called):
    """A `Command` of LangGraph's for JavaScript, in a tool that any name may be given to."""
    message = _lc("ToolMessage", content="gone", tool_call_id="c1")
    command = {"lg_name": "Command", "update": {"messages": [message]}, "goto": [to]}
    (run,) = runs(
        span(1, name="graph", took=20),
        agent(2, "a", 1, at=1, took=4),
        chat(3, 2, [("c1", "hand", {})], "go", at=1),
        tool(4, 2, "hand", "c1", json.dumps({"output": command}), at=3),
        agent(5, "b", 1, at=6, took=4),
        chat(6, 5, "Done.", "go", at=7),
    )
    assert [c["name"] for c in run["tool_calls"]] == (["hand"] if called else [])
    handed = [(d["from"], d["to"], d["form"], d["tool"], d["status"]) for d in run["delegations"]]
    assert handed == ([] if called else [("a", "b", "handoff", "hand", "ok")])


def test_a_run_whose_steps_were_stopped_in_time_may_have_met_its_time_limit():
    """LangGraph for JavaScript, `timeout`, while a tool ran: its agent says no more than `Abort`."""
    late = {"exception.type": "TimeoutError", "exception.message": "The operation was aborted due to timeout"}
    (run,) = runs(
        agent(1, "a", took=9, error="Abort"),
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        span(3, 1, "tools", at=3, error="", attributes=_STEP, events=[("exception", late)]),
        tool(4, 3, "look", "c1", at=3, error="", events=[("exception", late)]),
    )
    assert "error" in run["boundaries"]
    assert "timeout" in run["boundaries_unknown"]


def _langsmith(**told):
    told = {"langsmith.metadata.ls_integration": "openai-agents-sdk", "gen_ai.system": "langchain"} | told
    return span(1, name="handle", took=9, status=1, scope="langsmith", attributes=told)


def test_a_guardrail_of_openais_kit_under_langsmith_for_javascript_is_no_tool():
    """langsmith 0.12, whose processor writes all over the program's own span."""
    told = {"langsmith.span.kind": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "guard"}
    guard = {"langsmith.metadata.triggered": "true", "gen_ai.prompt": "{}", "gen_ai.completion": "{}"}
    assert [c["name"] for c in runs(_langsmith(**told))[0]["tool_calls"]] == ["guard"]
    assert runs(_langsmith(**told, **guard)) == []


def test_what_came_of_a_hand_over_that_one_model_call_alone_tells_is_unknown():
    (run,) = runs(chat(1, None, [("c1", "transfer_to_worker", {})], "go"))
    assert [d["status"] for d in run["delegations"]] == ["unknown"]


def test_a_call_whose_name_a_stream_lost_is_none_that_nobody_made():
    """OpenInference 0.2 of Anthropic's client for JavaScript, of what the provider ran; the client's own calls stay."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "end_turn"}
    message = "llm.output_messages.0.message"
    told |= {f"{message}.role": "assistant", f"{message}.contents.0.message_content.type": "text"}
    told |= {f"{message}.contents.0.message_content.text": "I search."}
    lost = {f"{message}.tool_calls.-1.tool_call.function.arguments": '{"query": "x"}'}
    call = {"function.arguments": "{}", "function.name": "look", "id": "c1"}
    own = {f"{message}.tool_calls.0.tool_call.{key}": value for key, value in call.items()}
    assert runs(span(1, None, attributes=told))[0]["tool_calls"] == []
    (run,) = runs(span(1, None, attributes=told | lost))
    assert (run["tool_calls"], "tool calls not visible" in run["incomplete"]) == (None, True)
    (run,) = runs(span(1, None, attributes=told | lost | own))
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    assert "tool calls not visible" in run["incomplete"]


def test_a_tool_that_openais_client_had_no_function_for_did_not_run():
    """Version 7 for JavaScript, `runTools`."""
    said = 'Invalid tool_call: "look". Available options are: "find". Please try again'
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": said}]}
    (run,) = runs(
        span(1, name="handle", took=9),
        chat(2, 1, [("c1", "look", {"x": 1})], "go", at=1),
        chat(3, 1, "Done.", [*_HISTORY, back], at=3),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("requested", said)]


def _client(id, at, answer, *asked):
    """A span of Anthropic's own client for JavaScript 1.14."""
    told = {"gen_ai.output.messages": [{"role": "assistant", "parts": answer}]} if answer else {}
    return chat(id, 1, None, list(asked), at=at, scope="com.anthropic.sdk.typescript", attributes=told)


@pytest.mark.parametrize(
    ("id", "brought", "status"),
    [
        ("toolu_1", [{"type": "text", "text": "seen"}], "unknown"),  # it leaves out whether it was flagged an error
        ("mcptoolu_1", [{"type": "text", "text": "seen"}], "unknown"),
        ("srvtoolu_1", [{"type": "web_search_result", "url": "x"}], "ok"),
        ("srvtoolu_1", [{"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}], "error"),
    ],
)
def test_how_a_tool_went_whose_flag_anthropics_client_leaves_out_is_unknown(id, brought, status):
    call = {"type": "tool_call", "id": id, "name": "look", "arguments": {}}
    back = {"type": "tool_call_response", "id": id, "response": brought}
    text, user = {"type": "text", "content": "Done."}, {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    spans = [_client(2, 1, [call, back, text], user)]
    if id == "toolu_1":
        history = [user, {"role": "assistant", "parts": [call]}, {"role": "user", "parts": [back]}]
        spans = [_client(2, 1, [call], user), _client(3, 3, [text], *history)]
    (run,) = runs(span(1, name="handle", took=9), *spans)
    assert [c["status"] for c in run["tool_calls"]] == [status]


def _traceloop(id, at, asked, answer, response="resp_1"):
    """One of OpenAI's Responses by Traceloop's 0.27 of the client for JavaScript, which tells its text alone."""
    told = {"gen_ai.response.id": response, "gen_ai.response.finish_reasons": ["stop"]}
    told["gen_ai.input.messages"] = [{"role": "user", "parts": [{"type": "text", "content": asked}]}]
    said = [{"type": "text", "content": answer}]
    told["gen_ai.output.messages"] = [{"role": "assistant", "finish_reason": "stop", "parts": said}]
    return chat(id, 1, at=at, scope="@traceloop/instrumentation-openai", attributes=told)


def test_a_text_alone_does_not_say_that_the_provider_ran_no_tool():
    (run,) = runs(span(1, name="handle", took=9), _traceloop(2, 1, "go", "Seen."))
    assert (run["tool_calls"], run["output"]) == (None, "Seen.")
    (run,) = runs(span(1, name="handle", took=9), _traceloop(2, 1, "go", "Seen.", "chatcmpl-1"))
    assert run["tool_calls"] == []


def test_what_the_provider_ran_that_a_later_input_tells_of_is_no_request():
    items = [
        {"role": "user", "content": "go"},
        {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"query": "x"}},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
    ]
    (run,) = runs(
        span(1, name="handle", took=9),
        _traceloop(2, 1, json.dumps(items[:1]), ""),
        _traceloop(3, 3, json.dumps(items), "Done.", "resp_2"),
    )
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [
        ("web_search", "ok", 0),
        ("look", "ok", 0),
    ]


def _gemini(definitions, *parts):
    """Google's client for JavaScript under Traceloop's 0.27."""
    told = {"gen_ai.tool.definitions": definitions, "gen_ai.response.finish_reasons": ["stop"]}
    told["gen_ai.output.messages"] = [{"role": "assistant", "finish_reason": "stop", "parts": list(parts)}]
    scope = "@traceloop/instrumentation-google-generativeai"
    return chat(2, 1, asked="go", at=1, scope=scope, attributes=told)


def test_googles_client_for_javascript_calls_functions_itself():
    """`CallableTool`, of which JSON shows nothing: the span is the last of several calls."""
    text = {"type": "text", "content": "Seen."}
    (run,) = runs(span(1, name="handle", took=9), _gemini([{}], text))
    assert (run["llm_calls"], run["tool_calls"], run["input"], run["output"]) == (None, None, "go", "Seen.")
    declared = [{"functionDeclarations": [{"name": "look"}]}]
    (run,) = runs(span(1, name="handle", took=9), _gemini(declared, text))
    assert (len(run["llm_calls"]), run["tool_calls"]) == (1, [])


@pytest.mark.parametrize(("outcome", "status"), [("OUTCOME_OK", "ok"), ("OUTCOME_FAILED", "error")])
def test_code_that_gemini_ran_is_a_call_as_traceloop_for_javascript_writes_it(outcome, status):
    code = {"type": "executable_code", "language": "PYTHON", "content": "print(2)"}
    result = {"type": "code_execution_result", "outcome": outcome, "content": "2"}
    (run,) = runs(span(1, name="handle", took=9), _gemini([{"codeExecution": {}}], code, result))
    assert [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("code_execution", {"code": "print(2)"}, status, "2")
    ]


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}])
def test_what_anthropic_ran_may_be_left_out_by_openlit_for_javascript(parameters):
    offered = [{"type": "function", "name": "look", "description": "", "parameters": parameters}]
    told = {"gen_ai.tool.definitions": offered, "gen_ai.response.finish_reasons": ["stop"]}
    (run,) = runs(
        span(1, name="handle", took=9),
        chat(2, 1, "Seen.", "go", at=1, scope="@openlit/instrumentation-anthropic", attributes=told),
    )
    assert run["tool_calls"] == ([] if parameters else None)


@pytest.mark.parametrize(("id", "called"), [("resp_1", None), ("msg_1", None), ("chatcmpl-1", [])])
def test_without_content_the_provider_may_have_run_its_own_tools(id, called):
    told = {"gen_ai.response.id": id, "gen_ai.response.finish_reasons": ["stop"]}
    (run,) = runs(span(1, name="handle", took=9), chat(2, 1, at=1, attributes=told))
    assert run["tool_calls"] == called


def _strands(*spans):
    return runs(*({**one, "scope": "strands-agents", "status": one.get("status", 1)} for one in spans))


def _choice(message, finish):
    return [("gen_ai.choice", {"message": message, "finish_reason": finish})]


@pytest.mark.parametrize(("brought", "status"), [([], "requested"), (_choice('[{"text":"seen"}]', ""), "ok")])
def test_a_tool_of_strands_for_javascript_that_waits_for_somebody_ended_well_and_brought_nothing(brought, status):
    """Version 1.19: the step around it alone tells of the interrupt, for all tools that it ran."""
    thrown = {"exception.type": "InterruptError", "exception.message": "Interrupt raised: ask"}
    call = [{"type": "toolUse", "name": "look", "toolUseId": "c1", "input": {}}]
    (run,) = _strands(
        agent(1, "a", took=9, events=_choice("go", "interrupt")),
        span(2, 1, "execute_agent_loop_cycle", took=8, error=thrown["exception.message"], status=2)
        | {"events": [("exception", thrown)]},
        chat(3, 2, at=1, events=_choice(json.dumps(call), "toolUse")),
        tool(4, 2, "look", "c1", at=3, events=brought),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]


@pytest.mark.parametrize(("told", "status"), [([], "unknown"), (_choice("", "interrupt"), "ok")])
def test_how_a_stream_of_strands_for_javascript_went_that_was_given_up_is_unknown(told, status):
    call = [{"type": "toolUse", "name": "look", "toolUseId": "c1", "input": {}}]
    (run,) = _strands(
        agent(1, "a", took=9, events=told),
        chat(3, 1, asked="go", at=1, events=_choice(json.dumps(call), "toolUse")),
    )
    assert run["status"] == status


@pytest.mark.parametrize(("error", "status"), [("Abandoned", "unknown"), ("no rooms", "error")])
def test_a_tool_of_claudes_kit_for_javascript_that_was_heard_no_more_of_may_not_have_run(error, status):
    """OpenInference 0.3: so it ends the span of a tool that somebody, or a hook, gave no leave."""
    scope = "@arizeai/openinference-instrumentation-claude-agent-sdk"
    asked = {"openinference.span.kind": "AGENT", "input.value": "go", "output.value": "Done."}
    ran = {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": '{"x": 1}'}
    (run,) = runs(
        span(1, name="ClaudeAgent.query", took=9, status=1, scope=scope, attributes=asked),
        span(2, 1, "look", at=1, took=8, scope=scope, attributes=ran, error=error),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]
    assert ("tool_failure" in run["boundaries"]) == (status == "error")


def test_who_works_on_in_the_background_does_not_answer_for_the_run():
    """Claude Code's agents, newest: the tool that calls one ends once it was launched."""
    (run,) = runs(
        agent(1, "boss", took=20),
        chat(2, 1, [("c1", "Agent", {"subagent_type": "worker", "prompt": "work"})], "go", at=1),
        tool(3, 1, "Agent", "c1", "launched", at=2, took=0.5),
        chat(4, 1, "Led.", "go", at=3),
        agent(5, "worker", 3, at=4, took=8),
        chat(6, 5, "Worked.", "work", at=6),
    )
    assert (run["input"], run["output"]) == ("go", "Led.")


@pytest.mark.parametrize(
    ("name", "output"), [("final_answer", "cold"), ("strands_structured_output", '{"answer":"cold"}')]
)
def test_what_is_handed_in_after_a_schema_is_an_object_whatever_its_fields_are_called(name, output):
    """Strands for JavaScript 1.19; smolagents and BeeAI put a text into a field of that name."""
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", name, {"answer": "cold"})], "go", at=1))
    assert (run["output"], run["tool_calls"]) == (output, [])


def _langchain(id, parent, at, message):
    """One of OpenAI's Responses by LangChain.js 1.5 under OpenInference 4.1, whose flat message has no parts."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.output_messages.0.message.role": "assistant"}
    told["output.value"] = json.dumps({"generations": [[{"text": "", "message": message}]]})
    return span(id, parent, "ChatOpenAI", at=at, attributes=told)


def test_what_the_provider_ran_stands_beside_a_message_of_langchains():
    search = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"query": "x"}}
    asks = {"id": "mcpr_1", "type": "mcp_approval_request", "name": "find", "arguments": "{}"}
    look = {"name": "look", "args": {}, "id": "c1", "type": "tool_call"}
    beside = {"additional_kwargs": {"tool_outputs": [search, asks]}}
    (run,) = runs(agent(1, "a", took=9), _langchain(2, 1, 1, _lc("AIMessage", content=[], tool_calls=[look], **beside)))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [
        ("web_search", "ok"),
        ("look", "unknown"),
        ("find", "requested"),
    ]


@pytest.mark.parametrize("tool", [{"type": "web_search"}, {"type": "function", "name": "look"}])
def test_langfuse_leaves_out_what_the_provider_ran_for_langchain(tool):
    asked = {"messages": [{"role": "user", "content": "go"}], "tools": [tool]}
    told = {"langfuse.observation.type": "generation", "langfuse.observation.input": asked}
    told["langfuse.observation.output"] = {"role": "assistant", "content": [{"type": "text", "text": "Seen."}]}
    told["langfuse.observation.model.name"] = "m"
    frame = {"langfuse.observation.type": "agent"}
    (run,) = runs(
        span(1, None, "a", took=9, scope="langfuse-sdk", attributes=frame),
        span(2, 1, "ChatOpenAI", at=1, scope="langfuse-sdk", attributes=told),
    )
    assert run["output"] == "Seen."
    assert "tool calls not visible" in run["incomplete"] or "name" in tool
    assert run["tool_calls"] == ([] if "name" in tool else None)


def test_an_answer_without_words_is_not_what_was_said_before_it():
    """A graph of LangChain's whose model refused, or asks for leave: its state ends on an empty message."""
    state = {"messages": [_lc("HumanMessage", content="go"), _lc("AIMessage", content=[])]}
    told = {"openinference.span.kind": "AGENT", "agent.name": "a", "output.value": state}
    (run,) = runs(span(1, None, "a", took=9, attributes=told), _langchain(2, 1, 1, _lc("AIMessage", content=[])))
    assert run["output"] is None


def test_a_call_that_stands_in_the_content_without_the_id_that_langchain_gave_it_is_one():
    """Gemini's by LangChain for JavaScript; two alike are two."""
    part = {"type": "functionCall", "functionCall": {"name": "look", "args": {"x": 1}}}
    calls = [{"type": "tool_call", "id": id, "name": "look", "args": {"x": 1}} for id in ("u-1", "u-2")]
    (run,) = runs(
        agent(1, "a", took=9),
        _langchain(2, 1, 1, _lc("AIMessage", content=[part, part], tool_calls=calls)),
        tool(3, 1, "look", "u-1", "seen", at=3),
        tool(4, 1, "look", "u-2", "seen", at=3),
    )
    assert [(c["name"], c["status"], c["call_id"]) for c in run["tool_calls"]] == [
        ("look", "ok", "u-1"),
        ("look", "ok", "u-2"),
    ]


@pytest.mark.parametrize(
    ("said", "of_all", "status"),
    [
        ('Max turns exceeded: {"max_turns":4}', False, "unknown"),
        ('Max turns exceeded: {"max_turns":4}', True, "error"),
        ('Error in agent run: {"error":"ModelBehaviorError: no"}', False, "error"),
    ],
)
def test_somebody_may_answer_in_place_of_an_agent_of_openais_that_met_its_limit(said, of_all, status):
    """`errorHandlers` of the kit for JavaScript 0.20: nothing around the agent failed."""
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    failed = {"status": 2, "error": said}
    (run,) = runs(
        _oi(1, None, "CHAIN", "Agent workflow", 0, 9) | (failed if of_all else {}),
        _agent(2, 1, "a") | failed,
        _response(3, 2, 1, [("user", "go")], call),
        _oi(4, 2, "TOOL", "look", 2, **{"tool.name": "look", "input.value": "{}", "output.value": "seen"}),
    )
    assert (run["status"], "max_steps" in run["boundaries"]) == (status, said.startswith("Max"))


def test_what_a_guardrail_stopped_is_no_answer_though_it_was_streamed():
    said = 'Error in agent run: {"error":"OutputGuardrailTripwireTriggered: Output guardrail triggered: {}"}'
    (run,) = runs(
        _oi(1, None, "AGENT", "Agent workflow", 0, 9, **{"input.value": "go", "output.value": "A secret."}),
        _agent(2, 1, "a") | {"status": 2, "error": said},
        _response(3, 2, 1, [("user", "go")], _says("A secret.")),
    )
    assert (run["status"], run["output"]) == ("error", None)


_INTERRUPT = "[\n  {\n" + " " * 300 + '"value": {}\n  }\n]\n\nGraphInterrupt: [\n  {}\n]\n    at interrupt (a.mjs:1:2)'


@pytest.mark.parametrize(
    ("error", "status"), [(_INTERRUPT, "requested"), ("no\n\nError: no\n    at b (a.mjs:1:2)", "unknown")]
)
def test_what_a_middleware_of_langchain_holds_up_to_ask_for_leave_is_requested(error, status):
    """`humanInTheLoopMiddleware` under OpenInference, which writes the interrupt's value before its name."""
    (run,) = runs(
        span(1, name="a", took=20, attributes={"openinference.span.kind": "AGENT", "agent.name": "a"}),
        span(2, 1, "model_request", at=1, attributes=_STEP),
        chat(3, 2, [("c1", "look", {"x": 1})], "go", at=1, took=0.5),
        span(4, 1, "HumanInTheLoopMiddleware.after_model", at=3, attributes=_STEP, error=error),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]


def test_an_agent_that_waits_in_a_tool_did_not_fail_whatever_it_asks():
    """LangGraph for JavaScript under OpenInference: the graph of the agent in the tool ends with the interrupt."""
    given = {"gen_ai.tool.call.arguments": {"prompt": "work"}}
    (run,) = runs(
        agent(1, "boss", took=20),
        chat(2, 1, [("c1", "ask_worker", {"prompt": "work"})], "go", at=1),
        tool(3, 1, "ask_worker", "c1", at=3, took=9, error=_INTERRUPT, attributes=given),
        agent(4, "worker", 3, at=4, took=7, error=_INTERRUPT),
        chat(5, 4, [("c2", "look", {})], "work", at=5),
    )
    assert (run["status"], run["boundaries"]) == ("ok", [])
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("worker", "ok")]


def test_which_step_comes_next_is_no_answer():
    """`createReactAgent` of LangGraph for JavaScript, stopped in its tools: an edge of the graph put out their name."""
    step = {"openinference.span.kind": "CHAIN"}
    (run,) = runs(
        span(1, None, "a", took=9, attributes=step),
        span(2, 1, "agent", at=1, attributes=step),
        chat(3, 2, [("c1", "look", {})], "go", at=1, took=0.5),
        span(4, 1, "Branch", at=2, attributes=step | {"output.value": "tools", "output.mime_type": "text/plain"}),
        span(5, 1, "tools", at=3, error="GraphInterrupt: [{}]", attributes=step),
        tool(6, 5, "look", "c1", at=3, error="GraphInterrupt: [{}]"),
    )
    assert (run["output"], [c["status"] for c in run["tool_calls"]]) == (None, ["requested"])
