"""Which model was asked for and which one answered, where instrumentations have one place for both."""

import json

import pytest

from tests.runs.requests import agent, runs, span

_DATED = "m-2026-02-03"


def _models(scope, name="ask", status=1, **told):
    attributes = {key: value if isinstance(value, str) else json.dumps(value) for key, value in told.items()}
    (run,) = runs(
        agent(1, "a", took=9), span(2, 1, name, at=1, took=2, attributes=attributes, scope=scope, status=status)
    )
    ((asked, answered),) = {(c["request_model"], c["response_model"]) for c in run["llm_calls"]}
    return asked, answered


def _openinference(scope, name="ask", model=_DATED, **told):
    told = {"openinference.span.kind": "LLM", "llm.model_name": model} | told
    return _models(f"openinference.instrumentation.{scope}", name, **told)


@pytest.mark.parametrize("scope", ["openai", "groq", "mistralai", "portkey"])
def test_a_client_under_openinference_keeps_the_model_that_was_asked_in_its_parameters(scope):
    told = {"llm.invocation_parameters": {"model": "m", "temperature": 0}, "output.value": {"model": _DATED}}
    assert _openinference(scope, **told) == ("m", _DATED)
    told["llm.invocation_parameters"] = {"temperature": 0}
    assert _openinference(scope, **told) == (None, _DATED)
    assert _openinference(scope, model="m", **{"llm.invocation_parameters": {"model": "m"}}) == ("m", None)


@pytest.mark.parametrize("scope", ["google_genai", "haystack"])
def test_a_client_under_openinference_writes_the_model_that_answered_over_the_one_that_was_asked(scope):
    assert _openinference(scope, **{"output.value": {"text": "y"}}) == (None, _DATED)


def test_a_response_of_openais_agents_tells_no_model_but_the_one_that_answered():
    response = {"id": "resp_1", "created_at": 1, "model": _DATED}
    assert _openinference("openai_agents", "response", **{"llm.invocation_parameters": response}) == (None, _DATED)
    base = {"llm.invocation_parameters": {"base_url": "http://h"}, "output.value": {"content": "y"}}
    assert _openinference("openai_agents", "generation", model="m", **base) == ("m", None)
    told = {"gen_ai.operation.name": "chat", "gen_ai.response.id": "resp_1"}
    told |= {"gen_ai.request.model": _DATED, "gen_ai.response.model": _DATED}
    assert _models("opentelemetry.instrumentation.openai_agents", **told) == (None, _DATED)
    told = {"langsmith.span.kind": "llm", "gen_ai.request.model": _DATED, "gen_ai.operation.name": "chat"}
    told |= {"langsmith.metadata.ls_integration": "openai-agents-sdk", "langsmith.metadata.object": "response"}
    assert _models("langsmith", **told) == (None, _DATED)


def test_what_langchain_was_answered_names_the_model_that_answered():
    said = {"content": "y", "response_metadata": {"token_usage": {"total": 3}, "model_name": _DATED}, "tool_calls": []}
    whole = {"generations": [[{"text": "y", "message": {"kwargs": said}}]]}
    told = {"llm.invocation_parameters": {"model": "m", "_type": "chat"}, "output.value": whole}
    assert _openinference("langchain", model="m", **told) == ("m", _DATED)
    assert _openinference("langchain", **told | {"output.value": {}}) == ("m", _DATED)
    told = {"langsmith.span.kind": "llm", "gen_ai.request.model": "m", "gen_ai.completion": whole}
    assert _models("langsmith", **told) == ("m", _DATED)


def test_what_smolagents_prints_and_what_gemini_answered_name_the_model_that_answered():
    printed = {"content": "y", "raw": f"ChatCompletion(id='1', model='{_DATED}', object='chat.completion', usage=None)"}
    assert _openinference("smolagents", model="m", **{"output.value": printed}) == ("m", _DATED)
    answer = {"model_version": _DATED, "content": {"parts": [{"text": "y"}], "role": "model"}}
    assert _openinference("google_adk", model="m", **{"output.value": answer}) == ("m", _DATED)


def test_the_dated_model_that_autogen_takes_an_alias_for_was_not_asked_for():
    assert _openinference("autogen_agentchat", **{"llm.token_count.prompt": "3"}) == (None, None)
    assert _openinference("autogen_agentchat", model="m", **{"llm.token_count.prompt": "3"}) == ("m", None)


def test_the_model_that_was_asked_is_no_word_of_the_one_that_answered():
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m"}
    named = told | {"gen_ai.response.id": "1"}
    for scope in ("langchain", "google_generativeai", "vertexai"):
        assert _models(f"opentelemetry.instrumentation.{scope}", **told) == ("m", None)
    assert _models("opentelemetry.instrumentation.langchain", **named) == ("m", "m")
    assert _models("opentelemetry.instrumentation.google_generativeai", **named) == ("m", None)


def test_langfuse_keeps_the_model_that_langchain_asked_beside_the_one_that_answered():
    told = {"langfuse.observation.type": "generation", "langfuse.observation.model.name": _DATED}
    told |= {"langfuse.observation.output": {"role": "assistant", "content": "y"}}
    assert _models("langfuse-sdk", **told | {"langfuse.observation.metadata.ls_model_name": '"m"'}) == ("m", _DATED)
    assert _models("langfuse-sdk", "OpenAI.chat", **told) == (None, _DATED)


def test_mlflow_tells_the_model_that_was_asked_by_its_own_key():
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": _DATED, "gen_ai.response.model": _DATED}
    assert _models("mlflow.tracing.provider", **told | {"model": '"m"'}) == ("m", _DATED)


def test_a_step_of_mastra_that_was_not_answered_names_the_model_that_was_asked():
    told = {"mastra.span.type": "model_step", "modelMetadata": {"modelId": "m"}, "output": {"text": "y"}}
    assert _models("@mastra/otel", **told | {"modelId": _DATED}) == ("m", _DATED)
    assert _models("@mastra/otel", **told | {"modelId": "m"}) == ("m", None)


@pytest.mark.parametrize("given", [{}, {"llm.invocation_parameters": "__REDACTED__"}])
def test_which_of_two_models_langchain_names_is_unknown_where_its_parameters_are_left_out(given):
    assert _openinference("langchain", **given) == (None, None)
    answered = {"generations": [[{"message": {"kwargs": {"response_metadata": {"model_name": _DATED}}}}]]}
    assert _openinference("langchain", **given | {"output.value": answered}) == (None, _DATED)
