"""What scripts drawn at random brought to light of kits for JavaScript, whole, cut short and with spans left out."""

import json

import pytest

from tests.runs.requests import chat, runs, span, tool

pytestmark = pytest.mark.full

_KIND, _ASKED = "openinference.span.kind", '{"question": "why?", "ref": "a1"}'


def _chat(id, parent, at, asked, answer=None, *calls, scope="@arizeai/openinference-instrumentation-openai"):
    """A model's call as OpenInference tells it, flat; `calls` are ids and names of tools."""
    told = {_KIND: "LLM", "llm.model_name": "m", "llm.token_count.prompt": 5, "llm.token_count.completion": 2}
    for n, (role, text) in enumerate(asked):
        told |= {f"llm.input_messages.{n}.message.{k}": v for k, v in (("role", role), ("content", text))}
    for n, (call, name) in enumerate(calls):
        place = f"llm.output_messages.0.message.tool_calls.{n}.tool_call."
        told |= {f"{place}id": call, f"{place}function.name": name, f"{place}function.arguments": '{"city": "Oslo"}'}
    if answer is not None or calls:
        told |= {
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": answer or "",
        }
    return span(id, parent, "OpenAI Chat Completions", at=at, took=1, scope=scope, attributes=told)


def _agent(**told):
    return span(1, None, "planner", took=30, attributes={_KIND: "AGENT", "agent.name": "planner", **told})


def test_an_object_that_a_model_was_told_whole_is_what_the_user_said():
    (run,) = runs(_agent(**{"input.value": _ASKED}), _chat(2, 1, 1, [("user", _ASKED)], "Because."))
    assert run["input"] == _ASKED
    (run,) = runs(_agent(**{"input.value": _ASKED}), _chat(2, 1, 1, [("user", "why?")], "Because."))
    assert run["input"] == "why?"
    given = json.dumps({"args": [_ASKED], "kwargs": {}})
    (run,) = runs(_agent(**{"input.value": given}), _chat(2, 1, 1, [("user", _ASKED)], "Because."))
    assert run["input"] == _ASKED


def test_an_object_with_an_answer_in_it_is_no_answer_where_the_models_was_lost():
    answer = '{"answer": "Because.", "n": 3}'
    (run,) = runs(_agent(**{"output.value": answer}), _chat(2, 1, 1, [("user", "why?")], answer))
    assert run["output"] == answer
    (run,) = runs(_agent(**{"output.value": answer}), _chat(2, 1, 1, [("user", "why?")], "Because."))
    assert run["output"] == "Because."
    (run,) = runs(_agent(**{"output.value": answer}), _chat(2, 1, 1, [("user", "why?")]))
    assert run["output"] is None


def test_what_an_agent_of_voltagents_is_asked_is_a_text_though_it_be_an_object():
    told = {"entity.type": "agent", "entity.name": "planner", "input": _ASKED, "output": "Because."}
    (run,) = runs(span(1, None, "planner", scope="@voltagent/core", attributes=told))
    assert run["input"] == _ASKED


@pytest.mark.parametrize(("ends", "whole"), [("word", False), ("word.", True)])
def test_one_text_that_ends_in_a_word_at_a_usual_limit_was_cut(ends, whole):
    said = ("word " * 60)[: 256 - len(ends)] + ends
    (run,) = runs(_agent(**{"input.value": "why?", "output.value": said}))
    assert run["output"] == (said if whole else None)
    assert ("truncated values" in run["incomplete"]) is not whole


def test_two_texts_of_one_span_at_a_usual_limit_were_cut():
    said = [(f"{n} word. " * 60)[:255] + "." for n in (1, 2)]
    (run,) = runs(_agent(**{"input.value": said[0], "output.value": said[1]}))
    assert run["input"] is None and run["output"] is None


def test_of_two_calls_alike_at_once_the_one_failed_that_came_back_so():
    asked = [("a", "get_weather", {"city": "Oslo"}), ("b", "get_weather", {"city": "Oslo"})]
    back = [("a", "Error: backend unavailable"), ("b", "sunny")]
    history = [{"role": "user", "parts": [{"type": "text", "content": "why?"}]}]
    parts = [{"type": "tool_call", "id": i, "name": n, "arguments": given} for i, n, given in asked]
    history.append({"role": "assistant", "parts": parts})
    history += [{"role": "tool", "parts": [{"type": "tool_call_response", "id": i, "response": r}]} for i, r in back]
    given = {"gen_ai.tool.call.arguments": '{"city": "Oslo"}'}
    for failed in (3, 4):
        spans = [tool(n, 1, "get_weather", at=1, took=n / 4, attributes=dict(given)) for n in (3, 4)]
        spans[failed - 3]["error"] = "backend unavailable"
        root = span(1, None, "app", took=20)
        (run,) = runs(root, chat(2, 1, asked, "why?", took=0.5), *spans, chat(5, 1, "Done.", history, at=5))
        assert [c["status"] for c in run["tool_calls"]] == ["error", "ok"]


def test_words_beside_which_tools_are_left_out_end_no_run_whose_frame_was_lost():
    told = {"gen_ai.response.id": "resp_1", "gen_ai.agent.name": "planner"}
    lost = chat(2, 9, "I will look it up.", "why?", scope="@traceloop/instrumentation-openai", attributes=told)
    lost["attributes"]["gen_ai.input.messages"][0]["parts"][0]["content"] = '[{"role":"user","content":"why?"}]'
    (run,) = runs(lost)
    assert run["status"] == "unknown" and run["output"] is None


def test_a_models_call_that_failed_without_a_span_is_missed_though_another_agent_spoke_last():
    why = "429 Rate limit reached"
    asked = [("user", "why?")]
    called = tool(3, 1, "ask_writer", at=2, took=9, attributes={_KIND: "TOOL", "tool.name": "ask_writer"})
    writer = span(4, 3, "writer", at=2, took=9, attributes={_KIND: "AGENT", "agent.name": "writer"})
    first = _chat(2, 1, 1, asked, None, ("a", "ask_writer"))
    within = _chat(5, 4, 3, [("user", "look")], "I looked.")
    (run,) = runs(_agent() | {"error": why}, first, called, writer, within)
    assert run["boundaries"] == ["error"] and "rate_limit" in run["boundaries_unknown"]
    assert "what came last is not visible" in run["incomplete"]
    below = _chat(5, 4, 3, [("user", "look")], None, ("b", "calc"))
    failed = [one | {"error": why} for one in (_agent(), called, writer)]
    calc = span(6, 4, "calc", at=5, attributes={_KIND: "TOOL", "tool.name": "calc"}) | {"error": "division by zero"}
    (run,) = runs(*failed, first, below, calc)
    assert "what came last is not visible" in run["incomplete"]
    (run,) = runs(*failed, first, below, calc | {"error": why})
    assert "what came last is not visible" not in run["incomplete"]


def test_an_agent_that_failed_before_a_model_is_seen_may_have_asked_one():
    why, called = "500 failed", {_KIND: "TOOL", "tool.name": "ask_writer"}
    writer = span(4, 3, "writer", at=2, took=9, attributes={_KIND: "AGENT", "agent.name": "writer"}) | {"error": why}
    first = _chat(2, 1, 1, [("user", "why?")], None, ("a", "ask_writer"))
    way = span(3, 1, "ask_writer", at=2, took=9, attributes=called) | {"error": why}
    (run,) = runs(_agent() | {"error": why}, first, way, writer)
    assert "what came last is not visible" in run["incomplete"]
