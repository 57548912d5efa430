"""More of what pairs of a kit and an instrumentation sent that no recorded corpus holds, in small."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span


def _said(role, text):
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


@pytest.mark.parametrize(("node", "error"), [("model", None), ("model", "ServerError: 500"), ("call_model", None)])
def test_a_graph_in_which_a_model_was_asked_is_a_run_though_no_span_of_the_model_came(node, error):
    lit = {"scope": "openlit.instrumentation.langgraph", "error": error, "status": None if error else 1}
    told = {"gen_ai__operation__name": "invoke_workflow", "gen_ai__response__id": "r", "gen_ai__response__model": "m"}
    answer = {} if error else told | {"gen_ai__output__messages": _said("assistant", "hello")}
    asked = {} if error else {"gen_ai__input__messages": _said("user", "hi")}
    named = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": node}
    found = agreed(
        span(1, None, "invoke_workflow planner", took=5, gen_ai__workflow__name="planner", **answer, **lit),
        span(2, 1, f"invoke_agent {node}", at=1, took=3, **named, **asked, **lit),
    )
    assert [run["status"] for run in found] == ["error" if error else "ok"]
    assert [(run["input"], run["output"], run["llm_calls"]) for run in found] == [
        (None, None, None) if error else ("hi", "hello", None)
    ]
