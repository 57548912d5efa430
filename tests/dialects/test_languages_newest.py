"""Kits whose own telemetry tells facts where others do not: in a span's events, in texts run together, over a fact that
another layer told."""

import pytest

from tests.dialects.test_platforms_kits import delegated, either_way
from tests.dialects.test_unrecorded_kits import called_with, jsons
from tests.runs.requests import chat, span

pytestmark = pytest.mark.full

_LLAMA = "llamaindex.opentelemetry.tracer"
_TOOLS = [{"type": "function", "function": {"name": name}} for name in ("weather", "lookup", "ask_worker")]


def _llama(id, parent, name, at=0, took=1, given=None, **more):
    told = {"llamaindex.run_id": "r", "llamaindex.step.input_summary": given} if given else {}
    return span(id, parent, name, 1, at, took, attributes=told, scope=_LLAMA, **more)


def _blocks(text=None, *calls):
    blocks = [{"block_type": "text", "text": text}] if text else []
    for id, tool, arguments in calls:
        call = {"block_type": "tool_call", "tool_call_id": id, "tool_name": tool, "tool_kwargs": jsons(arguments)}
        blocks.append(call)
    return blocks


def _message(role, text=None, *calls, of=None):
    extra = {"tool_call_id": of} if of else {}
    return {"role": role, "additional_kwargs": extra, "blocks": _blocks(text, *calls)}


def _llama_call(id, parent, at, asked, given, text=None, *calls):
    """A model's call: the client's method, and in it the one that it leaves the work to, with the events."""
    start = {"messages": jsons(asked), "additional_kwargs.tools": jsons(_TOOLS), "model_dict.model_name": "gpt-x"}
    reason = "tool_calls" if calls else "stop"
    end = {
        "response.message.role": "assistant",
        "response.message.blocks": jsons(_blocks(text, *calls)),
        "response.raw.id": f"chatcmpl-{id}",
        "response.raw.choices": jsons([{"finish_reason": reason, "index": 0}]),
        "response.raw.model": "gpt-x-2026-01-01",
        "response.raw.service_tier": "null",
        "response.raw.usage.prompt_tokens": 100,
        "response.raw.usage.completion_tokens": 10,
        "response.additional_kwargs.prompt_tokens": 100,
        "class_name": "LLMChatEndEvent",
    }
    events = [("LLMChatStartEvent", start | {"class_name": "LLMChatStartEvent"}), ("LLMChatEndEvent", end)]
    return (
        _llama(id, parent, "OpenAILike.achat", at, 0.9, given),
        _llama(id + 1, id, "OpenAILike.achat", at, 0.8, given, events=events),
    )


def _tool_call(id, parent, at, name, call, arguments, took=1, error=None):
    given = f"ToolCall(tool_name={name!r}, tool_kwargs={arguments!r}, tool_id={call!r})"
    thrown = [("exception", {"exception.type": "ValueError", "exception.message": error})] if error else []
    return (
        _llama(id, parent, "BaseWorkflowAgent.call_tool", at, took, given, status=1),
        _llama(id + 1, id, "FunctionTool.acall", at, took * 0.9, given, error=error, events=thrown),
    )


def _after(count):
    return f"AgentSetup(input=[{count} items], current_agent_name='planner')"


def _agent(name):
    return f"AgentInput(input=[ChatMessage(role=<MessageRole.USER: 'user'>, blocks=[])], current_agent_name='{name}')"


def test_llama_indexs_own_telemetry_tells_a_call_by_events_and_a_step_by_what_it_was_given():
    """llama-index-core 0.14.25, llama-index-observability-otel 0.7.0: FunctionAgents, one called by a tool."""
    asked = [_message("system", "plan"), _message("user", "Weather in Oslo?")]
    first = [("c1", "weather", {"city": "Oslo"}), ("c2", "lookup", {"id": "bad"})]
    results = [_message("tool", "12", of="c1"), _message("tool", "no such order", of="c2")]
    then = [*asked, _message("assistant", None, *first), *results]
    asks = ("c3", "ask_worker", {"question": "Rome?"})
    last = [*then, _message("assistant", None, asks), _message("tool", "Sunny.", of="c3")]
    rome = [_message("user", "Rome?")]
    start = "AgentWorkflowStartEvent(user_msg='Weather in Oslo?', chat_history=None, memory=None, max_iterations=None)"
    (run,) = either_way(
        _llama(1, None, "FunctionAgent.run", 0, 40, status=1),
        _llama(2, 1, "BaseWorkflowAgent.init_run", 1, 1, start),
        _llama(3, 1, "BaseWorkflowAgent.setup_agent", 2, 1, _agent("planner")),
        _llama(4, 1, "BaseWorkflowAgent.run_agent_step", 3, 2, "AgentSetup(input=[ChatMessage(role=<Mess..."),
        *_llama_call(5, 4, 3.1, asked, "AgentSetup(input=[ChatMessage(role=<Mess...", None, *first),
        *_tool_call(7, 1, 6, "weather", "c1", {"city": "Oslo"}),
        *_tool_call(9, 1, 8, "lookup", "c2", {"id": "bad"}, error="no such order"),
        _llama(11, 1, "BaseWorkflowAgent.run_agent_step", 10, 2, _after(5)),
        *_llama_call(12, 11, 10.1, then, _after(5), None, asks),
        *_tool_call(14, 1, 13, "ask_worker", "c3", {"question": "Rome?"}, took=9),
        _llama(16, 15, "FunctionAgent.run", 13.1, 7, status=1),
        _llama(17, 16, "BaseWorkflowAgent.setup_agent", 14, 1, _agent("worker")),
        _llama(18, 16, "BaseWorkflowAgent.run_agent_step", 15, 2, "AgentSetup(input=[ChatMessage(role=<Mess..."),
        *_llama_call(19, 18, 15.1, rome, "AgentSetup(input=[ChatMessage(role=<Mess...", "Sunny."),
        _llama(21, 1, "BaseWorkflowAgent.run_agent_step", 23, 2, _after(7)),
        *_llama_call(22, 21, 23.1, last, _after(7), "Oslo 12."),
    )
    assert (run["input"], run["output"], run["status"]) == ("Weather in Oslo?", "Oslo 12.", "ok")
    assert called_with(run) == [
        ("weather", "planner", "ok", "c1"),
        ("lookup", "planner", "error", "c2"),
    ]
    told = [({"city": "Oslo"}, "12"), ({"id": "bad"}, "no such order")]
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == told
    assert delegated(run) == [("planner", "worker", "tool", "ask_worker")]
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "planner", "worker", "planner"]
    models = {(c["request_model"], c["response_model"], c["input_tokens"]) for c in run["llm_calls"]}
    assert models == {("gpt-x", "gpt-x-2026-01-01", 100)}
    assert not run["incomplete"]


def test_a_stream_of_llama_indexs_ends_after_its_span():
    """The same, streaming: the event that ends a call finds its span closed and is lost."""
    given = "AgentSetup(input=[ChatMessage(role=<Mess..."
    start = {"messages": jsons([_message("user", "Hi")]), "class_name": "LLMChatStartEvent"}
    (run,) = either_way(
        _llama(1, None, "FunctionAgent.run", 0, 9, status=1),
        _llama(2, 1, "BaseWorkflowAgent.run_agent_step", 1, 2, given),
        _llama(3, 2, "OpenAILike.astream_chat", 1.1, 1, given, events=[("LLMChatStartEvent", start)]),
    )
    (call,) = run["llm_calls"]
    assert (call["response_model"], call["input_tokens"]) == (None, None)
    assert (run["input"], run["output"]) == ("Hi", None)
    assert "output not reported" in run["incomplete"]


_PROMPTS = [("Weather?", "Weather?"), ("Be kind.\nWeather?", None), ("Be kind.\nHi\nHello!\nWeather?", None)]


@pytest.mark.parametrize("prompt, asked", _PROMPTS)
def test_quarkus_runs_all_messages_together(prompt, asked):
    """quarkus-langchain4j with `tracing.include-prompt`: nobody knows where the user's words begin."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-x", "gen_ai.response.id": "r1"}
    told |= {"gen_ai.prompt": prompt, "gen_ai.completion": "Sunny.", "gen_ai.response.finish_reasons": "STOP"}
    (run,) = either_way(
        span(1, None, "langchain4j.aiservices.Assistant.chat", took=9, scope="io.quarkus.opentelemetry"),
        span(2, 1, "completion gpt-x", at=1, attributes=told, scope="io.quarkus.opentelemetry"),
    )
    assert (run["input"], run["output"]) == (asked, "Sunny.")
    assert ("input not reported" in run["incomplete"]) == (asked is None)
    assert "truncated values" not in run["incomplete"]


@pytest.mark.parametrize(
    "id, model, answered", [("aitxt-x", "gpt-x", None), ("r1", "gpt-x", "gpt-x"), ("aitxt-x", "gpt-x-2", "gpt-x-2")]
)
@pytest.mark.parametrize("own", [True, False])
def test_the_ai_sdk_makes_up_an_id_and_a_model_that_nobody_told(own, id, model, answered):
    """ai 7.0.173 with either class of @ai-sdk/otel 1.0.173, and a provider whose stream names nothing."""
    told = {"ai.operationId": "ai.streamText.doStream", "ai.model.id": "gpt-x", "ai.response.id": id}
    told = told | {"ai.response.model": model, "ai.prompt.messages": '[{"role":"user","content":"Hi"}]'}
    told |= {"gen_ai.request.model": "gpt-x", "gen_ai.response.model": model, "gen_ai.response.id": id}
    one = span(1, None, "ai.streamText.doStream", attributes=told, scope="ai")
    other = chat(1, None, "", "Hi", scope="gen_ai")
    other["attributes"] |= {"gen_ai.response.id": id, "gen_ai.response.model": model, "gen_ai.request.model": "gpt-x"}
    (run,) = either_way(one if own else other)
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("gpt-x", answered)]
    assert "truncated values" not in run["incomplete"]


def test_genkit_keeps_what_the_provider_answered():
    """genkit 2.0.40 with @genkit-ai/compat-oai."""
    message = {"role": "model", "content": [{"text": "Sunny."}]}
    raw = {"id": "chatcmpl-5", "created": 1, "model": "gpt-x-2026-01-01", "choices": [{"index": 0}]}
    usage = {"inputTokens": 5, "outputTokens": 2}
    told = {"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:name": "openai/gpt-x"}
    told |= {"genkit:output": jsons({"message": message, "usage": usage, "raw": raw}).replace('": ', '":')}
    told |= {"genkit:input": jsons({"messages": [{"role": "user", "content": [{"text": "Weather?"}]}]})}
    (run,) = either_way(span(1, None, "openai/gpt-x", attributes=told, scope="genkit-tracer"))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("gpt-x", "gpt-x-2026-01-01")]


@pytest.mark.parametrize("asked, named", [("gpt-x", "gpt-x"), (None, None)])
def test_logfire_writes_the_model_that_answered_over_the_one_that_langsmith_told(asked, named):
    """logfire 5.2.0, langsmith's export of LangChain 1.4.7."""
    inner = {"content": "Sunny.", "response_metadata": {"model_name": "gpt-x-2026-01-01"}}
    generation = {"text": "Sunny.", "message": {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": inner}}
    told = {"gen_ai.operation.name": "chat", "langsmith.span.kind": "llm", "logfire.span_type": "span"}
    told |= {"gen_ai.request.model": "gpt-x-2026-01-01", "gen_ai.response.model": "gpt-x-2026-01-01"}
    told |= {"gen_ai.completion": jsons({"generations": [[generation]]})}
    told |= {"langsmith.metadata.ls_model_name": asked} if asked else {}
    (run,) = either_way(span(1, None, "ChatOpenAI", attributes=told, scope="langsmith"))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [(named, "gpt-x-2026-01-01")]


def _mirascope(id, parent, at, answer, asked):
    one = chat(id, parent, answer, asked, at=at, scope="mirascope.llm")
    same = {"gen_ai.request.model": "openai/gpt-x", "gen_ai.response.model": "openai/gpt-x"}
    return one | {"attributes": one["attributes"] | same | {"gen_ai.response.id": f"resp_{id}"}}


def test_mirascope_leaves_out_that_a_tool_failed_and_names_the_model_that_was_asked_twice():
    """mirascope 2.8.2: a function that is traced is no tool by its span, and one that is not has none."""
    told = {"mirascope.type": "trace", "mirascope.fn.qualname": "lookup"}
    calls = [("c1", "add", {"a": 1}), ("c2", "lookup", {"id": "bad"})]
    texts = [("c1", "3"), ("c2", "no such order")]
    results = [{"type": "tool_call_response", "id": id, "response": text} for id, text in texts]
    parts = [{"type": "tool_call", "id": id, "name": name, "arguments": given} for id, name, given in calls]
    user = {"role": "user", "parts": [{"type": "text", "content": "Go"}]}
    history = [user, {"role": "assistant", "parts": parts}, {"role": "tool", "parts": results}]
    (run,) = either_way(
        span(1, None, "run", took=9, scope="mirascope.ops"),
        _mirascope(2, 1, 1, calls, "Go"),
        span(3, 1, "lookup", at=3, attributes=told, scope="mirascope.ops", error="no such order"),
        _mirascope(4, 1, 5, "Done.", history),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("add", "unknown"), ("lookup", "error")]
    assert {(c["request_model"], c["response_model"]) for c in run["llm_calls"]} == {("openai/gpt-x", None)}


@pytest.mark.parametrize(
    "id, name", [("(0123456789abcdef0123456789abcdef)", "writer"), ("", "writer"), ("(v2)", "writer(v2)")]
)
def test_microsofts_agents_for_net_are_named_before_their_ids(id, name):
    """Microsoft.Agents.AI, OpenTelemetryAgent: where the attribute that names the agent was lost."""
    (run,) = either_way(
        span(1, None, f"invoke_agent writer{id}", took=9, gen_ai__operation__name="invoke_agent"),
        chat(2, 1, "Fine.", "How?", at=1),
    )
    assert run["agents"] == [name]
