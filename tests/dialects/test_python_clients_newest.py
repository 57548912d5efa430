"""What clients of Gemini, Bedrock and Cohere told for Python, in loops without a framework."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.dialects.test_unrecorded_kits import words
from tests.runs.requests import chat, span

pytestmark = pytest.mark.full

_OPENLIT = "openlit.instrumentation.google_ai_studio"
_CALL = {"type": "tool_call", "id": "", "name": "look", "arguments": {"at": "x"}}


def _text(text):
    return {"type": "text", "content": text}


def _openlit(number, parts, history=(), parent=1, **more):
    """OpenLIT's of Gemini's client gives calls no ids and prints results as Python does."""
    told = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "STOP"}])}
    told["gen_ai.input.messages"] = json.dumps([words("user", "go"), *history])
    return chat(number, parent, at=3 * number, scope=_OPENLIT, attributes=told, **more)


def _went(result, *texts):
    answer = {"type": "tool_call_response", "id": "", "response": str(result)}
    parts = [*map(_text, texts), _CALL]
    return [{"role": "assistant", "parts": parts}, {"role": "user", "parts": [answer]}]


@pytest.mark.parametrize(
    ("result", "status", "seen"),
    [
        ({"result": "cold"}, "ok", {"result": "cold"}),
        ({"error": "no x"}, "error", {"error": "no x"}),
        ("{x", "ok", "{x"),
    ],
)
def test_an_object_that_python_printed_is_the_result(result, status, seen):
    (run,) = agreed(
        span(1, None, "handle", scope="app", took=20),
        _openlit(2, [_CALL]),
        _openlit(3, [_text("done")], _went(result)),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(status, seen)]


@pytest.mark.parametrize(
    ("said", "history"),
    [([_text("None"), _CALL], []), ([_text("Let me look."), _CALL], ["Let ", "me ", "look."]), ([_CALL], [])],
)
def test_a_text_beside_calls_without_ids_that_history_tells_otherwise_parts_no_run(said, history):
    (run,) = agreed(
        _openlit(2, said, parent=None, trace=2),
        _openlit(3, [_text("done")], _went({"result": "cold"}, *history), parent=None, trace=3),
    )
    assert ([c["status"] for c in run["tool_calls"]], run["output"]) == (["ok"], "done")


@pytest.mark.parametrize("apart", [True, False])
def test_a_call_without_arguments_is_one_that_was_given_none(apart):
    """OpenInference's of Gemini's client leaves an empty object out of flat messages; the whole answer has it."""

    def model(number, history, answer, **flat):
        told = {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user"} | history
        told |= {"llm.input_messages.0.message.content": "go", "output.mime_type": "application/json"}
        told["output.value"] = json.dumps({"candidates": [{"content": {"parts": [answer], "role": "model"}}]})
        told |= {f"llm.output_messages.0.message.{key}": value for key, value in flat.items()}
        scope = "openinference.instrumentation.google_genai"
        place = {"trace": number} if apart else {}
        return span(
            number, None if apart else 1, "GenerateContent", at=number * 3, scope=scope, attributes=told, **place
        )

    call, name = {"function_call": {"name": "look", "args": {}}}, "tool_calls.0.tool_call.function.name"
    past = {"1.message.role": "model", f"1.message.{name}": "look", "2.message.role": "tool"}
    past |= {"2.message.name": "look", "2.message.content": '{"result": "cold"}'}
    past = {f"llm.input_messages.{key}": value for key, value in past.items()}
    calls = [model(2, {}, call, role="model", **{name: "look"}), model(3, past, {"text": "done"}, role="model")]
    (run,) = agreed(*([] if apart else [span(1, None, "handle", scope="app", took=20)]), *calls)
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", "ok", {"result": "cold"})]


@pytest.mark.parametrize(("client", "answered"), [("bedrock", None), ("cohere", None), ("openai", "m")])
def test_openlit_tells_the_model_that_was_asked_as_the_one_that_answered_where_no_answer_names_one(client, answered):
    told = {"gen_ai.request.model": "m", "gen_ai.response.model": "m", "gen_ai.response.id": "x1"}
    (run,) = agreed(chat(1, None, "hello", "go", scope=f"openlit.instrumentation.{client}", attributes=told))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("m", answered)]


@pytest.mark.parametrize("told", ["whole", "flat"])
@pytest.mark.parametrize(("flag", "flat"), [(True, "error"), (None, "ok")])
def test_a_result_of_anthropics_that_reads_well_may_be_of_a_tool_that_failed_where_its_flag_is_left_out(
    told, flag, flat
):
    """Traceloop tells in messages by the conventions the words alone; in flat ones it told the parts as they were."""
    scope, call = "opentelemetry.instrumentation.anthropic", {"name": "look", "arguments": {"at": "x"}}
    first = chat(2, 1, [("toolu_1", "look", {"at": "x"})], "go", at=1, scope=scope)
    if told == "whole":
        back = {"role": "user", "parts": [{"type": "tool_call_response", "id": "toolu_1", "response": "no rooms"}]}
        asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "toolu_1"} | call]}
        last = chat(3, 1, "done", [words("user", "go"), asked, back], at=4, scope=scope)
    else:
        part = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no rooms"}
        part |= {"is_error": flag} if flag else {}
        past = {"0.role": "user", "0.content": "go", "1.role": "assistant", "1.tool_calls.0.id": "toolu_1"}
        past |= {"1.tool_calls.0.name": "look", "1.tool_calls.0.arguments": '{"at": "x"}'}
        past |= {"2.role": "user", "2.content": json.dumps([part])}
        last = chat(3, 1, "done", at=4, scope=scope, attributes={f"gen_ai.prompt.{k}": v for k, v in past.items()})
    (run,) = agreed(span(1, None, "handle", scope="app", took=20), first, last)
    assert [c["status"] for c in run["tool_calls"]] == ["unknown" if told == "whole" else flat]


def test_flat_messages_without_ids_have_those_of_the_raw_request():
    """OpenInference's of Mistral's client, where each call is a trace of its own."""

    def model(number, history, answer, **flat):
        told = {"openinference.span.kind": "LLM", "output.value": json.dumps({"choices": [{"message": answer}]})}
        told["input.value"] = json.dumps({"model": "m", "messages": [{"role": "user", "content": "go"}, *history]})
        told |= {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"} | flat
        scope = "openinference.instrumentation.mistralai"
        return span(number, None, "MistralClient.chat", at=number * 3, trace=number, scope=scope, attributes=told)

    def asks(id):
        call = {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    past = {"1.message.role": "assistant", "1.message.tool_calls.0.tool_call.function.name": "look"}
    past |= {"1.message.tool_calls.0.tool_call.function.arguments": "{}"}
    past |= {"2.message.role": "tool", "2.message.name": "look", "2.message.content": "cold"}
    past = {f"llm.input_messages.{key}": value for key, value in past.items()}
    back = {"role": "tool", "name": "look", "tool_call_id": "call_a", "content": "cold"}
    (run,) = agreed(
        model(1, [], asks("call_a")),
        model(2, [asks("call_a"), back], {"role": "assistant", "content": "done"}, **past),
    )
    assert [(c["call_id"], c["status"], c["result"]) for c in run["tool_calls"]] == [("call_a", "ok", "cold")]
    assert run["output"] == "done"
