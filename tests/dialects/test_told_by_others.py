"""What instrumentations fill in, leave out or call by other names, where a kit's own spans would have told it."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

QUESTION = {"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}
ASKED = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-a"}


def _called(run):
    return [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]


def _models(run):
    return [(c["request_model"], c["response_model"]) for c in run["llm_calls"]]


def _kit(id, parent, template, at=0.0, took=1.0, **more):
    """A span of Logfire's of OpenAI's kit."""
    told = {"logfire.span_type": "span", "logfire.msg_template": template} | more.pop("told", {})
    return span(id, parent, template, at=at, took=took, attributes=told, scope="logfire.openai_agents", **more)


@pytest.mark.parametrize(
    "scope, told, model",
    [
        ("logfire.openai", {}, None),
        ("logfire.openai", {"gen_ai.response.id": "r1"}, "model-a"),
        ("logfire.openai", {"gen_ai.response.model": "model-a-2"}, "model-a-2"),
        ("openinference.instrumentation.litellm", {}, None),
        ("pydantic-ai", {}, "model-a"),
    ],
)
def test_the_model_that_logfire_fills_in_is_not_told(scope, told, model):
    given = {"logfire.span_type": "span", "gen_ai.response.model": "model-a"} | told
    (run,) = runs(chat(1, None, "There.", "Where?", scope=scope, attributes=given))
    assert _models(run) == [("model-a", model)]


@pytest.mark.parametrize("model, told", [("model-a", None), ("model-a-2", "model-a-2")])
def test_the_model_that_litellm_tells_of_a_stream_may_be_the_one_that_was_asked(model, told):
    given = {"llm.is_streaming": "True", "gen_ai.response.model": model, "gen_ai.response.id": "chatcmpl-1"}
    request = chat(1, None, "There.", "Where?", scope="litellm", attributes=given) | {"name": "litellm_request"}
    (run,) = runs(request)
    assert _models(run) == [("model-a", told)]


def test_logfire_tells_a_chat_of_openais_agents_by_its_input_and_output():
    def said(history, answer):
        usage = {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 2}
        models = {"gen_ai.request.model": "model-a", "gen_ai.response.model": "model-a"}
        return usage | models | {"input": json.dumps(history), "output": json.dumps([answer])}

    question = {"role": "user", "content": "Where?"}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    came = {"role": "tool", "tool_call_id": "c1", "content": "here"}
    template = "Chat completion with {gen_ai.request.model!r}"
    (run,) = runs(
        _kit(1, None, "OpenAI Agents trace: {name}", took=9),
        _kit(2, 1, "Agent run: {name!r}", took=8, told={"name": "helper", "tools": '["look"]'}),
        _kit(3, 2, template, 1, told=said([question], asked)),
        _kit(4, 2, "Function: {name}", 3, told={"name": "look", "input": '{"q": 1}', "output": "here"}),
        _kit(5, 2, template, 5, told=said([question, asked, came], {"role": "assistant", "content": "Here."})),
    )
    assert _called(run) == [("look", {"q": 1}, "ok", "here")]
    assert (run["input"], run["output"], run["status"]) == ("Where?", "Here.", "ok")
    assert _models(run) == [("model-a", None)] * 2


@pytest.mark.parametrize("id", ["msg_7", "chatcmpl-8"])
def test_a_gateway_may_give_an_answer_an_id_of_its_own(id):
    """Of one make with what is inside, it is that of another answer."""
    given = {"gen_ai.response.id": "chatcmpl-7"}
    (run,) = runs(
        chat(1, None, "There.", "Where?", took=3, scope="gateway", attributes=given),
        chat(2, 1, "There.", "Where?", at=1, scope="gateway", attributes={"gen_ai.response.id": id}),
    )
    told = [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"] or []]
    assert told == ([(10, 2)] if id == "msg_7" else [])
