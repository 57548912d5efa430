"""What is not an agent's own doing: tools that the provider runs, calls that wait for leave, attempts that a framework
makes again, and work that is shared out."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def _called(run):
    return [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]


def _response(*items, told=()):
    """A response of OpenAI's as OpenInference for its Agents SDK 2.6 tells it, `told` as a call of the message."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "found it"}]}
    flat = {
        f"llm.output_messages.0.message.tool_calls.{at}.tool_call.{key}": value
        for at, call in enumerate(told)
        for key, value in call.items()
    }
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-4o-mini",
        "llm.finish_reason": "stop",
        "input.value": '[{"role": "user", "content": "go"}]',
        "output.value": json.dumps({"id": "resp_1", "object": "response", "output": [*items, message]}),
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "found it",
    }
    return span(2, 1, "response", attributes=attributes | flat)


def test_a_search_of_the_providers_bears_the_type_of_its_item_for_a_name_and_is_no_request():
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "colour"}}
    told = {"id": "ws_1", "function.name": "web_search_call", "function.arguments": '{"query": "colour"}'}
    (run,) = runs(agent(1, "a", took=9), _response(item, told=[told]))
    assert _called(run) == [("web_search", {"query": "colour"}, "ok", None)]
    assert run["output"] == "found it"
    (run,) = runs(agent(1, "a", took=9), _response(told=[told]))
    assert _called(run) == [("web_search", {"query": "colour"}, "unknown", None)]
    assert run["output"] == "found it"


@pytest.mark.parametrize(
    ("item", "called"),
    [
        (
            {"type": "code_interpreter_call", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
            ("code_interpreter", {"code": "1+1"}, "ok", "2"),
        ),
        (
            {"type": "file_search_call", "queries": ["q"], "results": None},
            ("file_search", {"queries": ["q"]}, "ok", None),
        ),
    ],
)
def test_what_a_providers_tool_was_given_and_brought_stands_in_its_item(item, called):
    (run,) = runs(agent(1, "a", took=9), _response({"id": "x_1", "status": "completed"} | item))
    assert _called(run) == [called]


def _langfuse(id, parent, type, at, **told):
    told = {f"langfuse.observation.{key}": value for key, value in told.items()}
    return span(id, parent, "look", at=at, attributes={"langfuse.observation.type": type} | told)


@pytest.mark.parametrize(("message", "status"), [("(Interrupt(value='may I?', id='x'),)", "requested"), (None, "ok")])
def test_a_tool_that_waits_for_leave_is_told_by_langfuse_without_an_error(message, status):
    """LangGraph 1.2 under Langfuse 5."""
    more = {"status_message": message} if message else {"output": "seen"}
    ran = _langfuse(3, 1, "tool", 2, input='{"x": 1}', level="DEFAULT", **more)
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "look", {"x": 1})]), ran)
    assert [c["status"] for c in run["tool_calls"]] == [status]


def _resumed(raw, given):
    """A run that goes on with what an earlier one had asked for, under OpenInference for LangChain 0.1.80."""
    told = {"openinference.span.kind": "TOOL", "tool.name": "rm", "input.value": raw}
    told["output.value"] = json.dumps({"type": "tool", "data": {"content": "gone", "tool_call_id": "call_1"}})
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1", "name": "rm", "arguments": given}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "gone"}]},
    ]
    (run,) = runs(agent(1, "a", took=9), span(2, 1, "rm", attributes=told), chat(3, 1, "Done.", history, at=2))
    return _called(run)


def test_the_next_model_is_shown_by_which_name_a_tool_was_given_its_one_argument():
    assert _resumed("a", {"path": "a"}) == [("rm", {"path": "a"}, "ok", "gone")]
    assert _resumed("b", {"path": "a"}) == [("rm", None, "ok", "gone")]  # it was changed by who gave leave


@pytest.mark.parametrize("known", [None, "c1"])
def test_an_attempt_that_is_made_again_beside_ends_as_its_last_one_did(known):
    """LangChain's ToolRetryMiddleware under OpenInference, where the result alone tells an id; Strands' `retry`."""
    given = {"gen_ai.tool.call.arguments": {"x": 1}}
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]},
    ]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {"x": 1})]),
        tool(
            3,
            1,
            "look",
            known,
            "Error: no",
            at=2,
            took=0.5,
            error="no",
            attributes=given | {"gen_ai.tool.status": "error"},
        ),
        tool(4, 1, "look", "c1", "seen", at=3, took=0.5, attributes=given | {"gen_ai.tool.status": "success"}),
        chat(5, 1, "Done.", history, at=5),
    )
    assert [(c["status"], c["error_kind"], c["result"], c["turn"]) for c in run["tool_calls"]] == [
        ("ok", None, "seen", 0)
    ]
    assert run["boundaries"] == []


def test_attempts_that_all_failed_are_one_call_that_failed():
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {"x": 1})]),
        *(tool(i, 1, "look", at=i, took=0.5, error="no") for i in (3, 4, 5)),
        chat(6, 1, "Sorry.", at=7),
    )
    assert [(c["status"], c["error_kind"], c["turn"]) for c in run["tool_calls"]] == [("error", "hard", 0)]


@pytest.mark.parametrize("root", [None, "fan"])
@pytest.mark.parametrize(("second", "known"), [("Paint it.", False), ("Read it.", True)])
def test_work_that_is_shared_out_is_not_what_the_run_was_asked(root, second, known):
    """A graph of LangGraph that sends a part to each of several agents; to all the same is another thing."""
    frame = agent(1, root, took=9) if root else span(1, name="fan", took=9, openinference__span__kind="CHAIN")
    (run,) = runs(
        frame,
        agent(2, "worker", parent=1, at=1, took=5),
        agent(3, "worker", parent=1, at=1.1, took=5),
        chat(4, 2, "It is read.", "Read it.", at=2, took=2),
        chat(5, 3, "It is blue.", second, at=2.1, took=2),
    )
    assert run["input"] == ("Read it." if known else None)
    assert known or (run["output"], "input not reported" in run["incomplete"]) == (None, True)


def _parts(*parts):
    return [{"role": "assistant", "parts": list(parts), "finish_reason": "stop"}]


@pytest.mark.parametrize(
    ("brought", "called"),
    [
        ({"output": "4", "error": None}, ("roll", {"sides": 6}, "ok", "4")),
        ({"output": None, "error": "no such die"}, ("roll", {"sides": 6}, "error", None)),
    ],
)
def test_a_server_that_the_provider_asks_for_pydantic_ai_has_tools_with_names_of_their_own(brought, called):
    """pydantic-ai 2.68, formats 2 to 6: what is listed is no call."""

    def part(type, id, **more):
        return {"type": type, "id": id, "name": "mcp_server:srv", "builtin": True} | more

    answer = _parts(
        part("tool_call", "m1", arguments={"action": "list_tools"}),
        part("tool_call_response", "m1", result={"tools": [{"name": "roll"}], "error": None}),
        part("tool_call", "m2", arguments={"action": "call_tool", "tool_name": "roll", "tool_args": {"sides": 6}}),
        part("tool_call_response", "m2", result=brought),
        {"type": "text", "content": "Well."},
    )
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, attributes={"gen_ai.output.messages": answer}))
    assert _called(run) == [called]
    assert run["output"] == "Well."


@pytest.mark.parametrize(
    "words",
    [
        "Unknown tool name: 'look'. Available tools: 'see'\n\nFix the errors and try again.",
        "Error: look is not a valid tool, try one of [see].",
        "Model tried to call unavailable tool 'look'. Available tools: see.",
        'Error: Requested function "look" not found.',
        "Tool not found",
        "The tool call with name `look` is not part of the provided tools, please try again.",
        "Tool look not found. Please select a tool that is available.",
        "Error: The requested tool does not exist or is not available. Please check the name.",
        "Error:\nUnknown tool look, should be one of: see, final_answer.\nNow let's retry: take care.",
        "Error: tool 'look' not found in any workbench",
        "Tool 'look' has reached its usage limit of 1 times and cannot be used anymore.",
    ],
)
def test_a_tool_that_nobody_has_did_not_run(words):
    """So Pydantic AI, LangGraph, the AI SDK, Microsoft's three, CrewAI (of a tool that was used up, too), LlamaIndex,
    smolagents and Agno answer the model."""
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": words}]},
    ]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "look", {})], "go"), chat(3, 1, "Sorry.", history, at=2))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "requested")]
    assert "tool_failure" not in run["boundaries"]


def _strands(*spans, scope="strands.telemetry.tracer"):
    return runs(*({**one, "scope": scope} for one in spans))


def _back(words):
    """A history in which a tool was asked for, and what came back."""
    return [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": words}]},
    ]


@pytest.mark.parametrize(
    "scope",
    [
        "strands.telemetry.tracer",
        "agent_framework",
        "semantic_kernel.utils.telemetry.model_diagnostics.decorators",
    ],
)
def test_what_a_hook_put_in_place_of_a_tool_is_no_run_of_it(scope):
    """strands-agents 1.62, `cancel_tool`; agent-framework 1.23, a middleware's `result`; semantic-kernel 1.45, what a
    filter gave: there is no span."""
    (run,) = _strands(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], "go"),
        chat(3, 1, "Sorry.", _back("not allowed"), at=2),
        scope=scope,
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("unknown", "not allowed")]
    assert "tool status not reported" in run["incomplete"]


def test_a_tool_that_nobody_has_did_not_run_though_strands_opens_a_span():
    thrown = ("exception", {"exception.type": "Exception", "exception.message": "Unknown tool: look"})
    (run,) = _strands(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], "go"),
        tool(3, 1, "look", "c1", at=1, error="Unknown tool: look", events=[thrown]),
        chat(4, 1, "Sorry.", _back("Unknown tool: look"), at=2),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["requested"]


def test_a_tool_that_nobody_has_did_not_run_though_a_span_of_it_ended_well():
    """AutoGen 0.7 under OpenInference."""
    words = "Error: tool 'look' not found in any workbench"
    told = {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": words}
    ran = span(3, 1, "a.look", at=1, status=1, attributes=told)
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "look", {})], "go"), ran, chat(4, 1, "Sorry.", at=2))
    assert [c["status"] for c in run["tool_calls"]] == ["requested"]


@pytest.mark.parametrize("told", ['[{{"text": "{}"}}]', "{}"])
def test_strands_runs_a_tool_to_hand_in_an_answer(told):
    """Its word for that is alone where OpenInference tells it (0.1.12)."""
    ran = tool(3, 1, "Colour", "c1", told.format("Successfully validated Colour structured output"), at=2)
    (run,) = _strands(agent(1, "a", took=9), chat(2, 1, [("c1", "Colour", {"colour": "blue"})], "go"), ran)
    assert (run["tool_calls"], run["output"], run["boundaries"]) == ([], '{"colour":"blue"}', [])


def test_what_strands_waits_for_is_no_answer_and_what_a_tool_was_given_then_an_event_tells():
    asks = ("gen_ai.choice", {"message": "[{'id': 'v1:x', 'name': 'leave'}]", "finish_reason": "interrupt"})
    (run,) = _strands(agent(1, "a", took=9, events=[asks]), chat(2, 1, [("c1", "look", {})], "go"))
    assert run["output"] is None
    given = ("gen_ai.tool.message", {"role": "tool", "content": '{"x": 1}', "id": "c1"})
    ran = tool(
        2, 1, "look", "c1", at=1, events=[given, ("gen_ai.choice", {"message": '[{"text": "seen"}]', "id": "c1"})]
    )
    (run,) = _strands(agent(1, "a", took=9), ran, chat(3, 1, "Done.", _back("seen"), at=2))
    assert _called(run) == [("look", {"x": 1}, "ok", "seen")]


@pytest.mark.parametrize("answer", [None, "A secret."])
def test_a_guardrail_of_openais_kit_that_tripped_ended_the_run(answer):
    """OpenTelemetry's openai-agents-v2 0.1: the agent and all around it end well, the turn within it does not."""
    said = _parts({"type": "text", "content": answer}) if answer else None
    told = {"gen_ai.output.messages": said} if said else {}
    (run,) = runs(
        span(1, name="Agent workflow", took=9, status=1, gen_ai__operation__name="invoke_agent"),
        agent(2, "a", 1, took=8, status=1, attributes=told),
        span(3, 2, "unknown", took=7, error="Guardrail tripwire triggered: {'guardrail': 'no_bad'}"),
        chat(4, 3, answer or "Hm.", "go", at=1),
    )
    assert (run["status"], run["output"], "error" in run["boundaries"]) == ("error", None, True)


def _of_adk(*spans):
    return runs(*({**one, "scope": "gcp.vertex.agent"} for one in spans))


def _ran(response, **more):
    """A tool of Google's ADK 2.13 for Python, with content or without."""
    told = {"gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": json.dumps(response or {})}
    return tool(3, 1, "rm", "c1", at=2, attributes=told | more)


@pytest.mark.parametrize(
    ("response", "status"),
    [
        ({"error": "This tool call requires confirmation, please approve or reject."}, "requested"),
        ({"error": "This tool call is rejected."}, "requested"),
        ({"removed": "a"}, "ok"),
        (None, "unknown"),
    ],
)
def test_a_tool_of_googles_kit_after_which_no_model_is_asked_may_wait_for_leave(response, status):
    asked = chat(2, 1, [("c1", "rm", {"path": "a"})], "go")
    (run,) = _of_adk(agent(1, "a", took=9), asked, _ran(response))
    assert [c["status"] for c in run["tool_calls"]] == [status]
    (run,) = _of_adk(agent(1, "a", took=9), asked, _ran(None), chat(4, 1, "Done.", at=4))
    assert [c["status"] for c in run["tool_calls"]] == ["ok"]


def test_what_stands_for_a_tool_that_nobody_has_in_googles_kit_did_not_run():
    told = {"gen_ai.tool.description": "Tool not found", "gen_ai.tool.type": "BaseTool", "error.type": "ValueError"}
    asked = chat(2, 1, [("c1", "rm", {"path": "a"})], "go")
    (run,) = _of_adk(agent(1, "a", took=9), asked, _ran(None, **told), chat(4, 1, "Sorry.", at=4))
    assert [c["status"] for c in run["tool_calls"]] == ["requested"]


def test_nobody_is_called_by_what_stands_for_a_tool_that_nobody_has():
    """An agent of a sequence that asks to hand over: the next one is only next, without content, too."""
    told = {"gen_ai.tool.description": "Tool not found", "gen_ai.tool.type": "BaseTool", "error.type": "ValueError"}
    (run,) = _of_adk(
        agent(1, "pipe", took=20),
        agent(2, "a", 1, took=8),
        chat(3, 2, took=0.5),
        tool(4, 2, "transfer_to_agent", "c1", at=1, took=0.5, error="ValueError", attributes=told),
        chat(5, 2, at=2),
        agent(6, "b", 1, at=9, took=8),
        chat(7, 6, at=10),
    )
    told = [(d["from"], d["to"], d["form"], d["status"]) for d in run["delegations"]]
    assert told == [("a", None, "handoff", "requested")]


def test_whether_a_hand_over_reached_somebody_who_is_not_told_and_has_not_come_is_unknown():
    """Google's ADK 2.13 without content: the run ends since nobody has that name."""
    (run,) = _of_adk(
        agent(1, "a", took=9, error="Transfer target agent 'b' not found."),
        chat(2, 1),
        tool(3, 1, "transfer_to_agent", "c1", at=2),
    )
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [("a", None, "unknown")]


def _of_claude(*blocks, flat=()):
    """An answer of Anthropic's as OpenInference 3.1 tells it: its blocks, and flat the calls alone."""
    told = {f"llm.output_messages.0.message.{key}": value for call in flat for key, value in call.items()}
    content = [*blocks, {"type": "text", "text": "found it"}]
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "claude-x",
        "llm.finish_reason": "end_turn",
        "input.value": '{"messages": [{"role": "user", "content": "go"}]}',
        "output.value": json.dumps({"id": "msg_1", "type": "message", "role": "assistant", "content": content}),
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.1.message_content.type": "text",
        "llm.output_messages.0.message.contents.1.message_content.text": "found it",
    }
    return span(2, 1, "messages.create", attributes=attributes | told)


_ASKED = {
    "tool_calls.0.tool_call.id": "srvtoolu_1",
    "tool_calls.0.tool_call.function.name": "web_search",
    "tool_calls.0.tool_call.function.arguments": '{"query": "colour"}',
}


@pytest.mark.parametrize(
    ("brought", "status"),
    [
        ([{"type": "web_search_result", "title": "X"}], "ok"),
        ({"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}, "error"),
        (None, "unknown"),
    ],
)
def test_a_call_by_an_id_of_anthropics_servers_is_no_request(brought, status):
    asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "colour"}}
    back = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": brought}
    (run,) = runs(agent(1, "a", took=9), _of_claude(*([asked, back] if brought else []), flat=[_ASKED]))
    assert [(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]] == [
        ("web_search", {"query": "colour"}, status)
    ]
    assert (run["status"], run["output"]) == ("ok", "found it")


@pytest.mark.parametrize(("outcome", "status"), [("OUTCOME_OK", "ok"), ("OUTCOME_FAILED", "error")])
def test_code_that_gemini_ran_is_a_call_of_its_answer(outcome, status):
    """OpenInference for Google's client 1.1 writes what the client read; the flat message has the text alone."""
    parts = [
        {"executable_code": {"code": "1+1", "language": "PYTHON"}},
        {"code_execution_result": {"outcome": outcome, "output": "2"}},
        {"text": "it is 2"},
    ]
    said = {"candidates": [{"content": {"parts": parts, "role": "model"}, "finish_reason": "STOP", "index": 0}]}
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gemini-2.0-flash",
        "input.value": '{"contents": "go"}',
        "output.value": json.dumps(said),
        "llm.output_messages.0.message.role": "model",
        "llm.output_messages.0.message.contents.0.message_content.type": "text",
        "llm.output_messages.0.message.contents.0.message_content.text": "it is 2",
    }
    (run,) = runs(agent(1, "a", took=9), span(2, 1, "GenerateContent", attributes=attributes))
    assert _called(run) == [("code_execution", {"code": "1+1"}, status, "2")]
    assert (run["status"], run["output"]) == ("ok", "it is 2")


def test_a_tool_that_was_run_again_once_somebody_had_answered_ran_once():
    """LlamaIndex 0.14, `wait_for_event`: the step is done anew from its beginning."""
    thrown = ("exception", {"exception.type": "workflows.runtime.types.results.WaitingForEvent"})
    given = {"gen_ai.tool.call.arguments": {"path": "a"}}
    asked = [chat(2, 1, [("c1", "rm", {"path": "a"})], "go")]
    waits = tool(4, 3, "rm", at=2, took=0.5, error="WaitingForEvent: ...", events=[thrown], attributes=given)
    steps = [span(3, 1, "call_tool", at=2), span(5, 1, "call_tool", at=4)]
    (run,) = runs(agent(1, "a", took=9), *asked, *steps, waits)
    assert [c["status"] for c in run["tool_calls"]] == ["requested"]
    done = tool(6, 5, "rm", result="removed a", at=4, took=0.5, attributes=given)
    (run,) = runs(agent(1, "a", took=9), *asked, *steps, waits, done, chat(7, 1, "Done.", at=6))
    assert [(c["status"], c["result"], c["turn"]) for c in run["tool_calls"]] == [("ok", "removed a", 0)]
    assert run["boundaries"] == []


@pytest.mark.parametrize("asked", [[("c1", "rm", {"path": "a"})], None])
def test_a_step_of_llamaindex_whose_tool_waited_is_no_call_beside_the_one_that_was_done(asked):
    """Traceloop 0.62: the tool's own span is left out, as that of one that threw."""
    given = {"gen_ai.tool.call.arguments": {"path": "a"}}
    spans = (
        agent(1, "a", took=9),
        chat(2, 1, asked, "go"),
        tool(3, 1, "rm", at=2, took=0.5, attributes=given),
        tool(4, 1, "rm", "c1", "removed a", at=4, took=0.5, attributes=given),
        chat(5, 1, "Done.", at=6),
    )
    (run,) = runs(*({**one, "scope": "opentelemetry.instrumentation.llamaindex"} for one in spans))
    assert [(c["status"], c["result"], c["turn"]) for c in run["tool_calls"]] == [("ok", "removed a", 0)]


def test_what_failed_and_was_asked_for_again_is_two_calls():
    given = {"gen_ai.tool.call.arguments": {"path": "a"}}
    spans = (
        agent(1, "a", took=9),
        chat(2, 1, asked="go"),
        tool(3, 1, "rm", at=2, took=0.5, attributes=given),
        chat(4, 1, at=3),
        tool(5, 1, "rm", "c1", "removed a", at=5, took=0.5, attributes=given),
        chat(6, 1, "Done.", at=6),
    )
    for scope in ("opentelemetry.instrumentation.llamaindex", "test"):
        (run,) = runs(*({**one, "scope": scope} for one in spans))
        assert [c["turn"] for c in run["tool_calls"]] == [0, 1]


@pytest.mark.parametrize(
    ("well", "said", "status"),
    [(True, "sunny", "ok"), (False, "Error: no sun", "error"), (False, "Error: Function look not found.", "requested")],
)
def test_what_a_function_gave_is_in_a_pair_of_ag2s(well, said, status):
    """ag2 0.14 under OpenInference 0.1.12."""
    pair = json.dumps([well, {"content": said, "name": "look", "role": "function"}])
    ran = tool(3, 1, "look", "c1", pair, at=2)
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "look", {})], "go"), ran, chat(4, 1, "Seen.", at=4))
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(status, said)]
