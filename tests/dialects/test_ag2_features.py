"""AG2 1.2, whose agents tell by a middleware of theirs: tools that nobody has, that need leave or are called off, and
tasks that are shared out."""

import json

import pytest

from tests.runs.requests import agent, runs, span, tool


def _runs(*spans):
    return runs(*({**one, "scope": "opentelemetry.instrumentation.ag2"} for one in spans))


def _call(name, arguments):
    function = {"arguments": json.dumps(arguments), "name": name}
    return {
        "content": None,
        "role": "assistant",
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


def _chat(id, at, asked, answer):
    finish = "tool_calls" if answer.get("tool_calls") else "stop"
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "model-a",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.input.messages": asked,
        "gen_ai.output.messages": [answer],
        "gen_ai.response.finish_reasons": json.dumps([finish]),
    }
    return span(id, 1, "chat model-a", at=at, attributes=told)


def _tool(name, arguments, result=None, **more):
    told = {"gen_ai.tool.call.arguments": json.dumps(arguments)}
    return tool(3, 1, name, "c1", result, at=2, attributes=told, **more)


_GO = {"role": "user", "content": "go"}


def _loop(name, arguments, words, *spans):
    call = _call(name, arguments)
    back = {"role": "tool", "tool_call_id": "c1", "content": words}
    answer = {"role": "assistant", "content": "done"}
    (run,) = _runs(agent(1, "a", took=9), _chat(2, 0, [_GO], call), *spans, _chat(4, 4, [_GO, call, back], answer))
    return run


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nosuch", "ag2.exceptions.ToolNotFoundError: Tool `nosuch` not found\n"),
        ("rm", "User denied the tool call request"),
    ],
)
def test_what_nobody_has_and_what_was_refused_did_not_run(name, words):
    """A tool that needs leave has a span around the question and the answer."""
    ran = [_tool(name, {"x": 1}, words)] if name == "rm" else []
    run = _loop(name, {"x": 1}, words, *ran)
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [(name, "requested", words)]
    assert (run["output"], "tool_failure" in run["boundaries"]) == ("done", False)


def test_a_tool_that_was_called_off_says_nothing_of_it():
    (run,) = _runs(agent(1, "a", took=9), _chat(2, 0, [_GO], _call("slow", {"x": 1})), _tool("slow", {"x": 1}))
    assert (run["status"], [c["status"] for c in run["tool_calls"]]) == ("unknown", ["unknown"])


def test_a_task_is_shared_out_to_somebody_who_tells_nothing():
    run = _loop("run_subtask", {"task": "t"}, "s", _tool("run_subtask", {"task": "t"}, "s"))
    (handed,) = run["delegations"]
    assert (handed["from"], handed["to"], handed["tool"], handed["status"]) == ("a", None, "run_subtask", "ok")
    assert run["tool_calls"] == []


def test_where_nobody_is_there_to_be_asked_a_tool_may_have_asked_or_never_have_run():
    why = "Human input was requested but not provided."
    thrown = {"exception.type": "ag2.exceptions.HumanInputNotProvidedError", "exception.message": why}
    failed = _tool("rm", {"x": 1}, error=why, events=[("exception", thrown)])
    (run,) = _runs(agent(1, "a", took=9, error=why), _chat(2, 0, [_GO], _call("rm", {"x": 1})), failed)
    assert (run["status"], [c["status"] for c in run["tool_calls"]]) == ("error", ["unknown"])
