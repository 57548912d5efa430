"""Google's ADK for JavaScript, where a model's span holds the tools that it asked for, and no failure is noted."""

import pytest

from tests.dialects.test_javascript_agents_latest import _adk, _adk_asks, _adk_ran, _user
from tests.runs.requests import runs

_LOOK = {"functionCall": {"id": "adk-4", "name": "look", "args": {"x": 1}}}
_BEGUN = [_adk(1, None, "invocation", 0, 20), _adk(2, 1, "invoke_agent planner", 0, 20, "planner")]
_RAN = _adk_ran(4, 3, "look", 2, 1, {"x": 1}, "fine")
_ASKED = _adk_asks(3, 2, "planner", 1, 2.5, [_user("go")], {"text": "Let me look."}, _LOOK)


def test_a_model_that_says_words_and_whose_span_outlasts_its_tools_was_asked_once():
    back = {"role": "user", "parts": [{"functionResponse": {"id": "adk-4", "name": "look", "response": {"result": 1}}}]}
    said = [_user("go"), {"role": "model", "parts": [{"text": "Let me look."}, _LOOK]}, back]
    (run,) = runs(*_BEGUN, _ASKED, _RAN, _adk_asks(5, 2, "planner", 4, 2, said, {"text": "Done."}))
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "ok"]
    assert [(c["name"], c["turn"], c["call_id"]) for c in run["tool_calls"]] == [("look", 0, "adk-4")]


@pytest.mark.parametrize(("took", "calls"), [(0.0004, ["ok"]), (0.02, ["ok", "unknown"])])
def test_a_model_that_a_limit_kept_from_being_asked_was_not_and_nobody_knows_how_the_run_went(took, calls):
    (run,) = runs(*_BEGUN, _ASKED, _RAN, _adk(5, 2, "call_llm", 4, took))
    assert ([c["status"] for c in run["llm_calls"]], run["status"]) == (calls, "unknown")
    assert "max_steps" in run["boundaries_unknown"]


@pytest.mark.parametrize("took", [0.0004, 0.02])
def test_what_was_asked_for_before_it_may_have_run(took):
    (run,) = runs(*_BEGUN, _ASKED, _adk_ran(6, 3, "dig", 3, 0.2, {}, "fine"), _adk(5, 2, "call_llm", 4, took))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "unknown"), ("dig", "ok")]
