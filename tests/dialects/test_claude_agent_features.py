"""Claude's Agent SDK 0.2 under OpenInference 0.1.22: tools that were given no leave or called off, runs that were left,
and servers in the program's own process."""

import json

import pytest

from tests.runs.requests import runs, span

_SCOPE = "openinference.instrumentation.claude_agent_sdk"


def _query(*steps, **told):
    asked = {"openinference.span.kind": "AGENT", "input.value": "go", "session.id": "s1"}
    root = span(1, None, "ClaudeAgentSDK.query", took=20, attributes=asked | told, scope=_SCOPE, status=1)
    (run,) = runs(root, *steps)
    return run


_DONE = {"llm.finish_reason": "end_turn", "output.value": "done"}


def _tool(id, name, at=2, took=2, parent=1, error=None, **more):
    told = {"openinference.span.kind": "TOOL", "tool.id": f"toolu_{id}", "tool.name": name}
    told |= {"tool.parameters": '{"x": 1}'} | ({} if error else {"output.value": "seen 1"})
    more |= {"status": 1} if error is None else {"error": error}
    return span(id, parent, name, at=at, took=took, attributes=told, scope=_SCOPE, **more)


def _server(id, name, at, took=1):
    told = {"mcp.method.name": name.split(" ")[0]}
    if name.startswith("tools/call "):
        told |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name.split(" ")[1]}
    return span(id, 1, name, at=at, took=took, attributes=told, scope="mcp-python-sdk", kind=2)


def _statuses(run):
    return [(c["name"], c["status"]) for c in run["tool_calls"]]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("<tool_use_error>Error: No such tool available: rm</tool_use_error>", "requested"),
        ("Claude requested permissions to use rm, but you haven't granted it yet.", "requested"),
        ("PreToolUse:rm hook error: hook says no", "requested"),
        ("The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was", "unknown"),
        ("Abandoned", "unknown"),
        ("no such thing", "error"),
    ],
)
def test_what_claude_was_told_in_place_of_a_tool_is_no_failure_of_it(words, status):
    """What was rejected may have been stopped as it ran: that is told in the same words."""
    run = _query(_tool(2, "rm", error=words), **_DONE)
    assert _statuses(run) == [("rm", status)]
    assert ("tool_failure" in run["boundaries"]) is (status == "error")


@pytest.mark.parametrize(("served", "status"), [(True, "error"), (False, "unknown")])
def test_a_tool_that_its_server_never_ran_did_not_fail(served, status):
    """Somebody may refuse it in any words."""
    ran = [_server(4, "tools/call rm", 2.5)] if served else []
    run = _query(_server(3, "tools/list", 1, 0.1), _tool(2, "mcp__s__rm", error="no way"), *ran, **_DONE)
    assert _statuses(run) == [("mcp__s__rm", status)]


def test_a_server_beside_the_agent_that_called_it_ran_what_that_asked_for():
    sub = span(
        5,
        1,
        "ClaudeAgentSDK.Subagent",
        at=1,
        took=9,
        attributes={"openinference.span.kind": "AGENT"},
        scope=_SCOPE,
        status=1,
    )
    calls = [_tool(6, "mcp__s__watch", 2, 2, 5), _tool(7, "mcp__s__watch", 2.2, 2, 5)]
    run = _query(sub, *calls, _server(8, "tools/call watch", 2.5), _server(9, "tools/call watch", 2.7), **_DONE)
    assert _statuses(run) == [("mcp__s__watch", "ok")] * 2


@pytest.mark.parametrize(("told", "status"), [({}, "unknown"), ({"llm.finish_reason": "end_turn"}, "ok")])
def test_how_a_query_went_that_was_left_is_not_known(told, status):
    run = _query(_tool(2, "look"), **told)
    assert (run["status"], json.dumps(run["output"])) == (status, "null")


def _langsmith(id, parent, name, kind, at, given, came, took=1, **more):
    told = {"langsmith.span.kind": kind, "langsmith.metadata.ls_integration": "claude-agent-sdk"}
    told |= {"langsmith.trace.name": name, "gen_ai.prompt": given, "gen_ai.completion": came} | more.pop("told", {})
    return span(id, parent, name, at=at, took=took, attributes=told, scope="langsmith", status=1, **more)


_ASKED = {"type": "tool_use", "id": "toolu_1", "name": "rm", "input": {"path": "a"}}


@pytest.mark.parametrize(("words", "status"), [("no way", "unknown"), (None, "ok")])
def test_what_langsmith_tells_of_claudes_tools_that_gave_an_error(words, status):
    """LangSmith 0.15: any words may be those of somebody who gave no leave; the span ends well."""
    usage = {"langsmith.metadata.usage_metadata": '{"input_tokens":27,"output_tokens":50}'}
    thrown = {"exception.type": "Exception", "exception.message": words}
    events = [("exception", thrown)] if words else []
    came, asked = words or "removed a", {"messages": [{"role": "user", "content": "go"}]}
    back = [{"role": "assistant", "content": [_ASKED]}, {"role": "tool", "content": came, "tool_call_id": "toolu_1"}]
    done = {"content": [{"type": "text", "text": "done"}], "role": "assistant"}
    turn = "claude.assistant.turn"
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "rm", "gen_ai.tool.call.id": "toolu_1"}
    (run,) = runs(
        _langsmith(1, None, "claude.conversation", "chain", 0, {"prompt": "go"}, done, 20),
        _langsmith(2, 1, turn, "llm", 1, asked, {"content": [_ASKED], "role": "assistant"}, told=usage),
        _langsmith(3, 1, "rm", "tool", 3, {"input": {"path": "a"}}, {"output": came}, told=tool, events=events),
        _langsmith(4, 1, turn, "llm", 5, {"messages": [*asked["messages"], *back]}, done, told=usage),
    )
    (call,) = run["tool_calls"]
    assert (call["arguments"], call["status"], call["result"]) == ({"path": "a"}, status, came)
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(27, 50)] * 2


def test_what_langsmith_tells_of_a_query_of_claudes_that_was_interrupted():
    word = {"content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}], "role": "user"}
    asked = {"messages": [{"role": "user", "content": "go"}]}
    answer = {"content": [_ASKED], "role": "assistant"}
    (run,) = runs(
        _langsmith(1, None, "claude.conversation", "chain", 0, {"prompt": "go"}, word, 20),
        _langsmith(2, 1, "claude.assistant.turn", "llm", 1, asked, answer),
    )
    assert (run["status"], run["output"]) == ("unknown", None)


@pytest.mark.parametrize(
    "scope",
    [
        "@arizeai/openinference-instrumentation-claude-agent-sdk",
        "openinference.instrumentation.claude_agent_sdk",
    ],
)
def test_an_object_that_is_said_to_be_a_text_is_what_was_asked_and_answered(scope):
    told = {"openinference.span.kind": "AGENT", "input.mime_type": "text/plain", "output.mime_type": "text/plain"}
    asked, answered = '{"question": "why?", "id": 7}', '{"answer": "so", "n": 3}'
    told |= {"input.value": asked, "output.value": answered}
    (run,) = runs(span(1, None, "ClaudeAgent.query", took=9, scope=scope, status=1, attributes=told))
    assert (run["input"], run["output"]) == (asked, answered)
