"""Google's ADK 2.13 for Python: plugins that answer in others' places, streams, and runs that are called off."""

import json

import pytest

from tests.runs.requests import runs, span

_ADK = "gcp.vertex.agent"


def _of(id, parent, name, at=0.0, took=1.0, scope=_ADK, **more):
    return span(id, parent, name, at=at, took=took, scope=scope, **more)


def _agent(*steps, root="invoke_workflow planner"):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    (run,) = runs(_of(1, None, root, took=20), _of(2, 1, "invoke_agent planner", took=19, attributes=told), *steps)
    return run


def _said(*parts, finish="stop"):
    return {"role": "assistant", "parts": list(parts), "finish_reason": finish}


def _text(text):
    return {"content": text, "type": "text"}


_CALL = {"id": "c1", "name": "look", "arguments": {"x": 1}, "type": "tool_call"}
_GO = [{"role": "user", "parts": [_text("go")]}]


def _model(id, at, answers=(), asked=_GO, **more):
    told = {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "m", "gen_ai.input.messages": asked}
    told |= {"gen_ai.output.messages": list(answers), "gen_ai.usage.input_tokens": 5} if answers else {}
    return _of(id, 2, "generate_content m", at, attributes=told, **more)


def _tool(id, at, result=None, scope=_ADK):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    if scope == _ADK:
        given, came = {"x": 1}, {"gen_ai.tool.call.result": result}
        told |= {"gen_ai.tool.call.arguments": given} | (came if result is not None else {})
    else:
        told = {"openinference.span.kind": "TOOL", "tool.name": "look", "tool.parameters": '{"x": 1}'}
    return _of(id, 2, "execute_tool look", at, scope=scope, attributes=told, **({} if scope == _ADK else {"status": 1}))


def test_the_end_of_a_stream_that_tells_all_of_it_again_is_all_of_it():
    pieces = [_said(_text(text), finish="") for text in ("all ", "done")]
    run = _agent(_model(3, 0, [*pieces, _said(_text("all done"))]))
    assert run["output"] == "all done"
    run = _agent(_model(3, 0, [*pieces, _said(_text("!"))]))
    assert run["output"] == "all done!"


@pytest.mark.parametrize(("failed", "status"), [(True, "error"), (False, "unknown")])
def test_a_plugin_may_have_answered_in_place_of_a_model_that_failed(failed, status):
    """What fails for good is noted on all that is around it."""
    why = {"error": "it is down"} if failed else {}
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    (run,) = runs(
        _of(1, None, "invoke_workflow planner", took=20, **why),
        _of(2, 1, "invoke_agent planner", took=19, attributes=told, **why),
        _model(3, 0, error="it is down"),
    )
    assert (run["status"], run["llm_calls"][0]["status"]) == (status, "error")


def test_what_a_plugin_tells_a_model_of_a_tool_that_raised_is_an_error():
    words = {
        "error_type": "ValueError",
        "error_details": "try again",
        "retry_count": 1,
        "response_type": "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN",
    }
    back = [*_GO, _said(_CALL), {"role": "tool", "parts": [_back(words)]}]
    run = _agent(_model(3, 0, [_said(_CALL)]), _tool(4, 2, words), _model(5, 4, [_said(_text("done"))], back))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "error")]
    assert "tool_failure" in run["boundaries"]


def _back(words):
    return {"type": "tool_call_response", "id": "c1", "response": json.dumps(words)}


@pytest.mark.parametrize("scope", [_ADK, "openinference.instrumentation.google_adk"])
def test_a_tool_that_was_called_off_says_nothing_of_it(scope):
    """Nor does what is around it; OpenInference says of the tool that it went well."""
    run = _agent(_model(3, 0, [_said(_CALL)]), _tool(4, 2, scope=scope))
    assert (run["status"], [(c["name"], c["status"]) for c in run["tool_calls"]]) == ("unknown", [("look", "unknown")])


@pytest.mark.parametrize(
    ("thought", "texts", "output"), [(7, 2, None), (0, 2, "hm\ndone"), (7, 1, "done"), (7, 9, None)]
)
def test_of_several_texts_of_a_model_that_thought_nobody_knows_which_are_thoughts(thought, texts, output):
    """2.13 by the conventions. The last is cut."""
    said = _said(*[_text("hm"), _text("done")][-texts:])
    answer = _model(3, 0, [said])
    told = answer["attributes"] | {"gen_ai.usage.reasoning.output_tokens": thought}
    if texts > 2:
        told["gen_ai.output.messages"] = json.dumps([_said(_text("hm"), _text("done " * 99))])[:200]
    run = _agent(answer | {"attributes": told})
    assert run["output"] == output
    assert [c["status"] for c in run["llm_calls"]] == ["ok"]
