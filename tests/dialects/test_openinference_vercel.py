"""OpenInference's processor for the AI SDK 7 (3.2): it puts a trace's first error on each span that ends later, and the
model that answered in the place of the one that was asked."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

_DOWN = "stock service down"
_THROWN = [("exception", {"exception.type": "Error", "exception.message": _DOWN})]


def _sdk(id, parent, kind, operation, at, took=1, spread=False, **told):
    told = {"gen_ai.operation.name": operation, "openinference.span.kind": kind} | told
    more = {"error": _DOWN} if spread else {"status": 1}
    return span(id, parent, operation, at=at, took=took, scope="gen_ai", attributes=told, **more)


def _chat(id, parent, at, why, spread=False, contents=(), **told):
    told |= {"gen_ai.request.model": "m", "gen_ai.response.model": "m-2026", "llm.model_name": "m-2026"}
    told |= {"gen_ai.response.finish_reasons": [why], "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    told |= {f"llm.input_messages.{key}": value for key, value in contents}
    return _sdk(id, parent, "LLM", "chat", at, spread=spread, **told)


def _said(text=None, *calls):
    parts = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": f"c_{n}", "name": n, "arguments": {}} for n in calls]
    return json.dumps([{"role": "assistant", "parts": parts}])


def _ran(id, parent, name, at, spread=False, **told):
    told |= {"gen_ai.tool.name": name, "gen_ai.tool.call.id": f"c_{name}", "gen_ai.tool.call.arguments": "{}"}
    return _sdk(id, parent, "TOOL", "execute_tool", at, spread=spread, **told)


def _run(lost=None, content=True):
    output = {"gen_ai.output.messages": _said(None, "look", "price")}, {"gen_ai.output.messages": _said("Done.")}
    gave = {"gen_ai.tool.call.result": '"cold"'} if content else {}
    asked, answered = output if content else ({}, {})
    ended = {"gen_ai.response.finish_reasons": ["stop"], "gen_ai.usage.output_tokens": 4, "gen_ai.agent.name": "a"}
    spans = [
        _sdk(1, None, "AGENT", "invoke_agent", 0, 20, spread=True, **ended, **answered),
        _sdk(2, 1, "CHAIN", "agent_step", 1, 9, spread=True),
        _chat(3, 2, 2, "tool-calls", **asked),
        _ran(4, 2, "price", 4) | {"took": 0.5, "status": None, "error": _DOWN, "events": _THROWN},
        _ran(5, 2, "look", 4, spread=True, **gave),
        _sdk(6, 1, "CHAIN", "agent_step", 11, 5, spread=True),
        _chat(7, 6, 12, "stop", spread=True, **answered),
    ]
    return agreed(*(s for s in spans if s["id"] != lost))


@pytest.mark.parametrize("lost", [None, 4])
@pytest.mark.parametrize("content", [True, False])
def test_an_error_that_was_put_on_all_that_ended_later_is_nobodys_where_the_span_that_threw_is_lost(lost, content):
    (run,) = _run(lost, content)
    assert (run["status"], run["output"]) == ("ok", "Done." if content else None)
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "ok"]
    (look,) = (c for c in run["tool_calls"] if c["name"] == "look")
    assert look["status"] == "ok" if content else look["status"] in ("ok", "unknown")
    assert "error" not in run["boundaries"]


def test_a_model_that_answered_failed_all_the_same_where_it_says_why():
    told = {"error.type": "AI_APICallError", "gen_ai.output.messages": _said("Do")}
    (run,) = agreed(
        _sdk(1, None, "AGENT", "invoke_agent", 0, 9, spread=True, **{"gen_ai.agent.name": "a"}),
        _chat(2, 1, 1, "stop", spread=True, **told),
    )
    assert run["status"] == "error"


def test_the_model_that_was_asked_is_told_though_what_kind_of_span_it_is_was_dropped():
    told = _chat(2, 1, 1, "stop", **{"gen_ai.output.messages": _said("Done.")})
    del told["attributes"]["openinference.span.kind"]
    (run,) = agreed(_sdk(1, None, "AGENT", "invoke_agent", 0, 9, **{"gen_ai.agent.name": "a"}), told)
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("m", "m-2026")]


def test_what_a_tool_gave_is_not_known_where_the_texts_of_its_parts_are_left_out():
    asked = {"0.message.role": "assistant", "0.message.tool_calls.0.tool_call.id": "c_look"}
    asked |= {"0.message.tool_calls.0.tool_call.function.name": "look", "1.message.role": "tool"}
    asked |= {"1.message.tool_call_id": "c_look", "1.message.contents.0.message_content.type": "text"}
    (run,) = agreed(
        _sdk(1, None, "AGENT", "invoke_agent", 0, 9, **{"gen_ai.agent.name": "a"}),
        _ran(2, 1, "look", 1),
        _chat(3, 1, 3, "stop", contents=asked.items()),
    )
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("look", None)]
