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


def _turn(id, at, asked, said, rest="", **more):
    told = {"openinference__span__kind": "LLM", "llm__model_name": "m", "llm__finish_reason": "stop"}
    told |= {"llm__token_count__prompt": 9, "llm__token_count__completion": 9}
    flat = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": asked}
    flat |= {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": said}
    flat |= {"input.value": json.dumps({"messages": [{"role": "user", "content": asked}], "rest": "x" * 300})[:256]}
    flat |= {"output.value": json.dumps({"content": said, "rest": "x" * 300})[:256]}
    scope = "openinference.instrumentation.anthropic"
    return span(id, None, "messages.create", trace=id, at=at, scope=scope, status=1, attributes=flat, **told, **more)


def test_messages_that_stand_whole_beside_a_value_that_was_cut_are_told():
    found = agreed(_turn(1, 0, "hi", "hello"), _turn(2, 3, "go", "gone"), _turn(3, 6, "x" * 256, "y" * 256))
    assert [(run["input"], run["output"]) for run in found] == [("hi", "hello"), ("go", "gone"), (None, None)]
