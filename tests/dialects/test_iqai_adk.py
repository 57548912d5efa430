"""IQ's agent kit for TypeScript (iqai-adk 0.5), by its own spans."""

import json

import pytest

from tests.runs.requests import runs, span

_KIT = {"scope": "iqai-adk"}


def _model(id, at, *since):
    asked = {"model": "m", "contents": [{"role": "user", "parts": [{"text": "go"}]}, *since], "config": {}}
    told = {"gen_ai.operation.name": "generate", "gen_ai.request.model": "m"}
    told["adk.llm_request"] = json.dumps(asked, separators=(",", ":"))
    return span(id, 2, "llm_generate [m]", at=at, attributes=told, **_KIT)


def _tool(id, at, gave, given=None):
    given = json.dumps({"x": 1} if given is None else given, separators=(",", ":"))
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    told |= {"adk.tool_call_args": given, "adk.llm_request": "{}", "adk.llm_response": "{}"}
    told["adk.tool_response"] = json.dumps(json.dumps(gave, separators=(",", ":")))
    return span(id, 2, "execute_tool look", at=at, attributes=told, status=1, **_KIT)


def _run(*tools, said="Done."):
    """Two answers of a model; what it said last is written over its agent's span."""
    gave = {"content": {"role": "model", "parts": [{"text": said}] if said else []}, "finishReason": "STOP"}
    told = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    told["adk.llm_response"] = json.dumps(gave, separators=(",", ":"))
    (run,) = runs(
        span(1, None, "invocation", took=20, **_KIT),
        span(2, 1, "agent_run [planner]", took=20, attributes=told, **_KIT),
        _model(3, 1),
        *tools,
        _model(9, 12),
    )
    return run


@pytest.mark.parametrize(
    ("gave", "status", "kind"),
    [
        ({"result": 'saw "1"'}, "ok", None),
        ({"found": 2}, "ok", None),
        ({"error": "Error executing look: no such file"}, "error", "soft"),
    ],
)
def test_what_a_tool_gave_is_json_in_json(gave, status, kind):
    run = _run(_tool(4, 3, gave))
    assert [(c["status"], c["error_kind"], c["result"]) for c in run["tool_calls"]] == [(status, kind, gave)]
    assert (run["agents"], run["output"], run["status"]) == (["planner"], "Done.", "ok")


def test_a_tool_that_could_not_read_what_a_stream_had_brought_so_far_is_called_again():
    unread = {"error": "Invalid arguments for look: expected number, received undefined"}
    run = _run(_tool(4, 3, unread, {}), _tool(5, 4, {"result": "saw 1"}), said=None)
    (call,) = run["tool_calls"]
    assert (call["status"], call["arguments"], call["result"]) == ("ok", {"x": 1}, {"result": "saw 1"})
    assert (run["output"], run["boundaries"]) == (None, [])


def test_what_stands_in_place_of_a_result_is_not_what_a_user_said():
    """The first call of the model is lost."""
    no_text = [{"role": role, "parts": [{"text": "[non_text_content]"}]} for role in ("model", "user")]
    (run,) = runs(
        span(1, None, "invocation", took=20, **_KIT),
        span(2, 1, "agent_run [planner]", took=20, **_KIT),
        _tool(4, 3, {"result": "saw"}),
        _model(5, 12, *no_text),
    )
    assert run["input"] == "go"


def test_a_tool_of_which_it_is_dropped_what_it_gave_may_have_failed():
    (run,) = runs(
        span(2, None, "agent_run [planner]", took=20, **_KIT),
        _model(3, 1),
        span(4, 2, "execute_tool look", at=3, attributes={"gen_ai.tool.name": "look"}, status=1, dropped=4, **_KIT),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["unknown"]
