"""What is not an agent's own doing: tools that the provider runs, calls that wait for leave, attempts that a framework
makes again, and work that is shared out."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool


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


def test_an_attempt_without_an_id_stands_before_the_one_that_went_well():
    """LangChain's ToolRetryMiddleware under OpenInference: the result alone tells an id."""
    given = {"gen_ai.tool.call.arguments": {"x": 1}}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {"x": 1})]),
        tool(3, 1, "look", at=2, took=0.5, error="try again", attributes=given),
        tool(4, 1, "look", "c1", "seen", at=3, took=0.5, attributes=given),
        chat(5, 1, "Done.", at=5),
    )
    assert [(c["status"], c["turn"]) for c in run["tool_calls"]] == [("error", None), ("ok", 0)]
    assert run["boundaries"] == ["tool_failure", "tool_recovery"]


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
    ],
)
def test_a_tool_that_nobody_has_did_not_run(words):
    """Pydantic AI, LangGraph and the AI SDK answer the model in these words."""
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": words}]},
    ]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "look", {})], "go"), chat(3, 1, "Sorry.", history, at=2))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "requested")]
    assert "tool_failure" not in run["boundaries"]
