"""Haystack 3.4 by its own tracing: a person who is asked first, and agents that are called off."""

import json

import pytest

from tests.runs.requests import runs, span

_STEP = "haystack.agent.step"


def _of(id, parent, name, at=0.0, took=1.0, **told):
    written = {k: v if isinstance(v, str) else json.dumps(v) for k, v in told.items()}
    return span(id, parent, name, at=at, took=took, scope="app", attributes=written)


def _said(role, *parts, **meta):
    return {"role": role, "meta": meta, "name": None, "content": list(parts)}


def _model(id, at, given, answer, why):
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    reply = _said("assistant", answer, model="m", finish_reason=why, usage=usage)
    told = {f"{_STEP}.llm.input": {"messages": given}, f"{_STEP}.llm.output": {"replies": [reply]}}
    return _of(id, 1, f"{_STEP}.llm", at, **told)


_CALL = {"tool_name": "rm", "arguments": {"path": "a"}, "id": "c1", "extra": None}
_GO = _said("user", {"text": "go"})


def _run(*steps, back=None, words=""):
    asked = _said("assistant", {"tool_call": _CALL})
    result = _said("tool", {"tool_call_result": {"result": back, "origin": _CALL, "error": back == words}})
    said = _of(1, None, "haystack.agent.run", took=9, **{"haystack.agent.max_steps": "9"})
    last = [_model(9, 6, [_GO, asked, result], {"text": "done"}, "stop")] if back is not None else []
    (run,) = runs(said, _model(2, 0, [_GO], {"tool_call": _CALL}, "tool_calls"), *steps, *last)
    return run


def _tool(given, **told):
    return _of(4, 1, f"{_STEP}.tool", 4, **{"haystack.tool.name": "rm", f"{_STEP}.tool.input": given} | told)


def _called(run):
    return [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]


@pytest.mark.parametrize("content", [True, False])
def test_what_somebody_rejected_did_not_run(content):
    words = "Tool execution for 'rm' was rejected by the user."
    hook = "haystack.agent.hook.human_in_the_loop.strategy"
    told = {"haystack.tool.name": "rm", "haystack.tool.call.id": "c1", f"{hook}.decision": "reject"}
    if content:
        run = _run(_of(3, 1, hook, 2, **told), back=words, words=words)
        assert _called(run) == [("rm", {"path": "a"}, "requested", words)]
    else:
        (run,) = runs(
            _of(1, None, "haystack.agent.run", took=9, **{"haystack.agent.max_steps": "9"}),
            *(_of(2, 1, f"{_STEP}.llm"), _of(3, 1, hook, 2, **told), _of(4, 1, f"{_STEP}.llm", 4)),
        )
        assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("rm", "requested")]
    assert "tool_failure" not in run["boundaries"]


def test_what_somebody_changed_is_what_ran():
    run = _run(_tool({"path": "b"}, **{f"{_STEP}.tool.output": "removed b"}), back="removed b")
    assert _called(run) == [("rm", {"path": "b"}, "ok", "removed b")]


def test_a_tool_that_was_called_off_says_nothing_of_it():
    run = _run(_tool({"path": "a"}))
    assert (run["status"], _called(run)) == ("unknown", [("rm", {"path": "a"}, "unknown", None)])
