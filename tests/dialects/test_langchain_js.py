"""LangChain and LangGraph for JavaScript: middleware, commands, interrupts, what a provider ran."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

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
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("worker", "unknown")]  # it has not ended


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


def test_a_step_of_a_middleware_by_whose_name_an_edge_leads_on_to_it_is_no_answer_where_it_is_lost():
    state = {"messages": [_lc("HumanMessage", content="go")]}
    given = _STEP | {"input.value": json.dumps(state)}
    (run,) = agreed(
        span(1, name="a", took=9, attributes=given | {"output.value": json.dumps(state)}),
        span(2, 1, "model_request", at=1, took=2, attributes=_STEP),
        chat(3, 2, [("c1", "look", {"x": 1})], "go", at=1, took=1),
        span(4, 1, "Limit.after_model", at=4, took=2, attributes=_STEP),
        span(5, 4, "RunnableLambda", at=5, attributes=given | {"output.value": "Limit.after_agent"}),
    )
    assert run["output"] is None


@pytest.mark.parametrize(("left", "status"), [(200, "unknown"), (None, "error")])
def test_what_an_mcp_server_flagged_in_a_message_that_was_cut_may_have_failed(left, status):
    """mcp-use 1.34, of which LangChain tells that all tools went well."""
    gave = json.dumps({"content": [{"type": "text", "text": "no"}], "isError": True}, separators=(",", ":"))
    message = _lc("ToolMessage", status="success", content=gave, tool_call_id="c1")
    told = {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": "{}"}
    told["output.value"] = json.dumps({"output": message}, separators=(",", ":"))[:left]
    (run,) = agreed(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        span(3, 1, "look", at=3, attributes=told),
        chat(4, 1, "Done.", "go", at=5),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]


@pytest.mark.parametrize(("content", "result"), [("saw 1", "saw 1"), ("", ""), ("a long te", None)])
def test_what_a_tool_gave_is_read_out_of_a_message_of_which_the_rest_is_cut(content, result):
    """Traceloop's newest for JavaScript (0.27), at a limit on the length of values."""
    gave = '{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"status":"success"'
    gave += f',"content":"{content}' + ('","tool_call_id":"call_1","name":"look","meta' if result is not None else "")
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.provider.name": "langchain"}
    told |= {"traceloop.span.kind": "task", "traceloop.entity.name": "look", "traceloop.entity.output": gave}
    (run,) = runs(span(1, None, "execute_tool look", scope="@traceloop/instrumentation-langchain", attributes=told))
    assert [c["result"] for c in run["tool_calls"]] == [result]
