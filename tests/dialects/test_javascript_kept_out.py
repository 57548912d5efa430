"""What the newest kits for JavaScript sent with content kept out or cut short, and after a schema, in small."""

import json
from functools import partial

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_jsons = partial(json.dumps, separators=(",", ":"))  # as JavaScript writes it
_CUT = 256
_ADAPTER = "@arizeai/openinference-instrumentation-openai-agents"


def _kind(kind, **told):
    return {"openinference.span.kind": kind} | {key.replace("__", "."): value for key, value in told.items()}


def _answered(finish="stop"):
    return {
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": [finish],
        "gen_ai.usage.output_tokens": 3,
    }


def _failing(error, later=""):
    """The AI SDK 7 under OpenInference, no content: all that ends after the first failed span has its ERROR."""
    of = {"scope": "gen_ai"}
    return [
        agent(1, "planner", took=20, error=later, attributes=_answered(), **of),
        chat(2, 1, at=1, attributes=_answered("tool-calls"), status=1, **of),
        tool(3, 1, "boom", "c1", at=3, error=error, **of),
        chat(4, 1, at=5, error=later, attributes=_answered("tool-calls"), **of),
        tool(5, 1, "look", "c2", at=7, error=later, **of),
        chat(6, 1, at=9, error=later, attributes=_answered(), **of),
    ]


def test_an_error_without_words_on_all_that_ended_after_a_failed_tool_is_not_theirs():
    (run,) = agreed(*_failing(""))
    assert run["status"] == "ok"
    assert [c["status"] for c in run["llm_calls"]] == ["ok"] * 3
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("boom", "error"), ("look", "unknown")]
    assert "error" not in run["boundaries"]


def test_one_of_several_that_ended_after_a_failed_tool_has_an_error_of_its_own():
    spans = _failing("")
    spans[3]["error"], spans[3]["status"] = None, 1
    (run,) = agreed(*spans)
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "ok", "error"]


def test_what_genkit_calls_blocked_is_a_content_filter():
    told = {"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:name": "openai/m"}
    asked = {"messages": [{"role": "user", "content": [{"text": "go"}]}]}
    answer = {"finishReason": "blocked", "message": {"role": "model", "content": []}, "usage": {"outputTokens": 2}}
    told |= {"genkit:input": _jsons(asked), "genkit:output": _jsons(answer)}
    (run,) = agreed(span(1, None, "openai/m", attributes=told))
    assert run["boundaries"] == ["content_filter"]


@pytest.mark.parametrize(
    ("scope", "calls"), [("genkit-tracer", None), (_ADAPTER, None), ("opentelemetry.instrumentation.openai_v2", [])]
)
def test_who_says_stop_of_answers_that_ask_for_tools_may_hide_one(scope, calls):
    (run,) = agreed(
        agent(1, "planner", took=9, scope=scope),
        chat(2, 1, at=1, scope=scope, attributes=_answered()),
    )
    assert run["tool_calls"] == calls


def test_the_words_that_a_prompt_put_out_in_the_millisecond_of_the_question_are_no_answer():
    """LangGraph for JavaScript: the agent's output is cut, and that of the step which wrote the prompt is not."""
    said = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "HumanMessage"]}
    put_out = _jsons({"output": [said | {"kwargs": {"content": "go"}}]})
    whole = (_jsons({"messages": [said | {"kwargs": {"content": "go"}}] * 9}))[:_CUT]
    messages = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    answer = _jsons({"generations": [[{"text": "cut", "message": said | {"kwargs": {"content": "cut" * 99}}}]]})[:_CUT]
    told = {"llm.model_name": "m", "output.value": answer, "metadata": "x" * _CUT}
    (run,) = runs(
        span(1, None, "LangGraph", took=9, attributes=_kind("CHAIN", input__value=_jsons("go"), output__value=whole)),
        span(2, 1, "prompt", at=1, took=0.0001, attributes=_kind("CHAIN", output__value=put_out)),
        span(3, 1, "ChatOpenAI", at=1, attributes=_kind("LLM") | messages | told),
    )
    assert run["output"] is None


def test_an_object_that_its_model_answered_is_no_state_with_an_answer():
    """OpenAI's Agents SDK for JavaScript: what came after a schema is written anew."""
    (run,) = agreed(
        agent(1, "planner", took=9, attributes={"output.value": '{"answer":"cold"}'}),
        chat(2, 1, '{"answer": "cold"}', "go", at=1),
    )
    assert json.loads(run["output"]) == {"answer": "cold"}


def test_an_object_that_an_agent_of_voltagent_put_out_is_its_answer():
    told = {"entity.type": "agent", "entity.name": "planner", "input": "go"}
    (run,) = runs(
        span(1, None, "planner", took=9, scope="@voltagent/core", attributes=told | {"output": '{"answer":"cold"}'})
    )
    assert run["output"] == '{"answer":"cold"}'


@pytest.mark.parametrize(
    ("cut", "known"),
    [('{"type":"function","function":{"name":"book","descr', ["book", "look"]), ('{"type":"function","descr', None)],
)
def test_a_definition_that_was_cut_short_has_a_name_if_it_begins_with_it(cut, known):
    look = {"type": "function", "function": {"name": "look", "parameters": {}}}
    offered = {"llm.tools.0.tool.json_schema": _jsons(look), "llm.tools.1.tool.json_schema": cut}
    (run,) = runs(
        span(1, None, "planner", took=9, attributes=_kind("AGENT")),
        span(2, 1, "response", at=1, attributes=_kind("LLM", llm__model_name="m") | offered),
    )
    assert run["known_tools"] == known


def test_the_last_call_of_an_agent_that_failed_may_have_failed_where_nothing_is_told_of_an_answer():
    """Mastra's exporter for Arize, without content."""
    thrown = [("exception", {"exception.type": "Error", "exception.message": "boom"})]
    (run,) = runs(
        agent(1, "planner", took=9, error="boom", events=thrown),
        span(2, 1, "m", at=1, gen_ai__operation__name="chat", gen_ai__request__model="m", status=1),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["unknown"]


def test_a_frame_does_not_speak_for_a_delegate_that_alone_tells_content():
    """OpenInference of OpenAI's Agents SDK, where the caller was told to keep its content out."""
    said = [{"role": "user", "content": "for you"}]
    told = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "seen"}
    told |= {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "for you"}
    (run,) = runs(
        span(1, None, "w", took=20, attributes=_kind("AGENT", input__value=_jsons(said), output__value="seen")),
        span(2, 1, "boss", took=20, attributes=_kind("AGENT")),
        span(3, 2, "response", at=1, attributes=_kind("LLM")),
        span(4, 2, "ask_worker", at=3, took=6, attributes=_kind("TOOL", tool__name="ask_worker")),
        span(5, 4, "worker", at=4, took=4, attributes=_kind("AGENT")),
        span(6, 5, "response", at=5, attributes=_kind("LLM", llm__model_name="m") | told),
        span(7, 2, "response", at=12, attributes=_kind("LLM")),
    )
    assert (run["input"], run["output"]) == (None, None)
