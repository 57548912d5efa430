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


@pytest.mark.parametrize("said", ["replies", "meta", "Cold."])
def test_traceloops_tells_of_an_answer_the_names_of_its_fields(said):
    """They are no words of anybody's, and hide whether tools were asked for."""
    told = {"gen_ai.system": "OpenAI", "llm.request.type": "chat", "gen_ai.completion.0.role": "assistant"}
    traceloop = {"scope": "opentelemetry.instrumentation.haystack", "status": 1}
    told |= {"gen_ai.completion.0.content": said}
    flow = span(1, None, "haystack_pipeline.workflow", took=9, scope=traceloop["scope"])
    (run,) = runs(flow, span(2, 1, "haystack.openai.chat", at=1, attributes=told, **traceloop))
    assert (run["output"], run["tool_calls"]) == ((said, []) if said == "Cold." else (None, None))


def test_who_works_below_an_agent_whose_request_was_cut_was_asked_something_else():
    """An agent is a component like any other to OpenInference, and its tools are not told."""

    def agent(id, parent, at, took, asked):
        message = f"ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='{asked}')], _name=None)"
        given = json.dumps({"messages": [message], "generation_kwargs": None})[:200]
        told = {"openinference.span.kind": "CHAIN", "input.value": given, "output.value": "x" * 200}
        scope = "openinference.instrumentation.haystack"
        return span(id, parent, "Agent.run", at=at, took=took, scope=scope, status=1, attributes=told)

    asked = "Where do owls live in winter, and what do they eat there? Tell me all that is known of it, at length."
    whole = [agent(1, None, 0, 9, asked), agent(2, 1, 2, 3, "Owls?")]
    more = [agent(n, 1, n, 0.5, asked) for n in range(3, 9)]  # texts of one length tell where they are cut
    (run,) = runs(*whole, *more)
    assert run["input"] is None
