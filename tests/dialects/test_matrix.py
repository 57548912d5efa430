"""What pairs of a kit and an instrumentation sent that no recorded corpus holds, in small."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import chat, span

_AGNOS = "opentelemetry.instrumentation.agno"


def _agno(id, kind, parent=None, **told):
    return span(id, parent, f"planner.{kind}", scope=_AGNOS, status=1, traceloop__span__kind=kind, **told)


def _planner(said, tokens, took=9.0):
    told = {"traceloop__entity__input": "go", "traceloop__entity__output": said, "gen_ai__agent__name": "planner"}
    return _agno(1, "agent", took=took, gen_ai__usage__output_tokens=tokens, **told)


_LOOKED = {"gen_ai__tool__name": "look", "traceloop__entity__input": '{"at": "x"}', "traceloop__entity__output": "cold"}


@pytest.mark.parametrize(
    ("said", "tokens", "tools", "status"),
    [
        ("scripted failure", 0, [], "unknown"),
        ("scripted failure", 16, [_agno(2, "tool", 1, at=2, **_LOOKED)], "unknown"),
        ("It is cold.", 16, [], "ok"),
    ],
)
def test_an_error_may_be_what_an_agent_of_agnos_put_out(said, tokens, tools, status):
    (run,) = agreed(_planner(said, tokens), *tools)
    assert (run["status"], run["output"]) == (status, said)
    assert [c["name"] for c in run["tool_calls"] or []] == ["look"] * len(tools)


_PART = "media_resolution=None function_call=None inline_data=None text={} thought=None video_metadata=None"


@pytest.mark.parametrize(("text", "seen", "met"), [("''", "", ["empty_input"]), ('"it\'s"', "it's", [])])
def test_a_part_that_python_printed_is_the_text_that_it_holds(text, seen, met):
    part = {"type": "text", "content": _PART.format(text)}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"}
    told = {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [part]}])}
    told["gen_ai.output.messages"] = json.dumps([answer])
    (run,) = agreed(chat(1, None, scope="opentelemetry.instrumentation.google_generativeai", attributes=told))
    assert (run["input"], run["boundaries"]) == (seen, met)
