"""Teams of agents for Python in their newest versions, by what they told of runs against a model of ours."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_RUNTIME = "autogen SingleThreadedAgentRuntime"
_TEAM = "881578bf-29f2-4cf1-9ac2-1d5dca4262af"


def _process(id, parent, trace, at, who, message, kind="ChatAgentContainer", took=1.0):
    """What AutoGen's runtime tells of one message that somebody hears."""
    told = {"messaging.operation": "process", "recipient_agent_type": f"{who}_{_TEAM}", "message": message}
    name = f"autogen process {who}_{_TEAM}.({_TEAM})-A"
    told |= {"recipient_agent_class": kind}
    return span(id, parent, name, trace, at, took, scope=_RUNTIME, kind=5, attributes=told)


def _said(source, text, *ran):
    calls = [{"id": "call_1a", "name": "look", "arguments": "{}"}] if ran else []
    inner = [{"source": source, "content": calls, "type": "ToolCallRequestEvent"}] if ran else []
    back = [{"call_id": "call_1a", "name": "look", "content": ran[0], "is_error": False}] if ran else []
    inner += [{"source": source, "content": back, "type": "ToolCallExecutionEvent"}] if ran else []
    chat_message = {"source": source, "models_usage": None, "content": text, "type": "TextMessage"}
    told = {"response": {"chat_message": chat_message, "inner_messages": inner}}
    return json.dumps(told, separators=(",", ":"))


def test_what_a_teams_messages_tell_in_traces_of_their_own_is_told_once():
    """AutoGen 0.7 by its own spans, each message in a trace that is linked to who sent it, beside the spans of a client
    of OpenAI's."""
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1a", "response": "seen"}]}
    call = {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1a", "name": "look", "arguments": {}}]}
    user = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    link = {"links": [(2, 11)]}
    (run,) = runs(
        _process(10, None, 2, 0, "worker", "{}", took=9) | {"links": [(1, 1)]},
        agent(11, "worker", 10, trace=2, at=0, took=9, scope="autogen-core", kind=3),
        chat(
            12, 11, [("call_1a", "look", {})], [user], trace=2, at=1, scope="opentelemetry.instrumentation.genai.openai"
        ),
        tool(13, 11, "look", "call_1a", trace=2, at=3, scope="autogen-core"),
        chat(14, 11, "done", [user, call, back], trace=2, at=5, scope="opentelemetry.instrumentation.genai.openai"),
        _process(20, None, 3, 9, "GroupChatManager", _said("worker", "done", "seen"), "RoundRobinGroupChatManager")
        | link,
    )
    assert [(c["agent"], c["name"], c["result"]) for c in run["tool_calls"]] == [("worker", "look", "seen")]
    assert [(c["agent"], c["input_tokens"]) for c in run["llm_calls"]] == [("worker", 10), ("worker", 10)]
    assert (run["input"], run["output"]) == ("go", "done")


@pytest.mark.parametrize(("words", "status"), [("and Oslo?", "ok"), ("and Rome?", None)])
def test_an_agent_behind_a_server_in_the_same_program_was_called_by_who_sent_its_words(words, status):
    """Strands 1.62 with A2A's kit, whose server hands no context on: what it took in begins a trace of its own."""
    given = {"gen_ai.tool.call.arguments": '{"question": "and Oslo?"}'}
    found = runs(
        agent(1, "planner", took=30),
        chat(2, 1, [("call_1a", "ask_worker", {"question": "and Oslo?"})], "go", at=1),
        tool(3, 1, "ask_worker", "call_1a", "sunny", at=3, took=9, attributes=given),
        chat(4, 1, "done", at=20),
        span(11, None, "DefaultRequestHandler._setup_message_execution", 2, 4, 7, scope="a2a-python-sdk", kind=2),
        span(12, 11, "EventQueue.enqueue_event", 2, 4, 0, scope="a2a-python-sdk", kind=2),
        span(13, 11, "DefaultRequestHandler._run_event_stream", 2, 4, 7, scope="a2a-python-sdk", kind=2),
        agent(14, "worker", 13, trace=2, at=4, took=6),
        chat(15, 14, "sunny", words, trace=2, at=5),
    )
    told = [[(d["from"], d["to"], d["tool"], d["status"]) for d in run["delegations"]] for run in found]
    if status is None:
        assert (told, [r["input"] for r in found]) == ([[], []], ["go", words])
    else:
        assert (told, [r["output"] for r in found]) == ([[("planner", "worker", "ask_worker", status)]], ["done"])
