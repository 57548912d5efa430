"""What platforms' own SDKs and distributions tell of kits: Weave, Braintrust, OpenInference's decorators, and
those of AWS and Microsoft."""

import pytest

from tests.dialects.test_unrecorded_kits import called_with, jsons, words
from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

pytestmark = pytest.mark.full


def either_way(*spans):
    found = frames([("traces", request(spans))])
    assert with_shortcut(*found)[0].equals(without(*found))
    return runs(*spans)


def delegated(run):
    return [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]]


_TRACE = "trace_7b172a5edada4abda6a7c166178f2503"


def _weave(id, parent, name, at=0, took=1, error=None, **told):
    told = {"weave.openai_agents.trace_id": _TRACE, "gen_ai.conversation.id": _TRACE} | told
    return span(id, parent, name, 1, at, took, error=error, attributes=told, scope="weave.openai_agents")


def _weave_agent(id, name, parent, at=0, took=1, **told):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name} | told
    return _weave(id, parent, f"invoke_agent {name}", at, took, **told)


def _weave_chat(id, parent, at, asked, *parts, **told):
    answer = {"gen_ai.output.messages": jsons([{"role": "assistant", "parts": list(parts)}])}
    told = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": jsons([words("user", asked)])} | answer | told
    return _weave(id, parent, "chat gpt-x", at, **told)


def _text(text):
    return {"type": "text", "content": text}


def test_weave_tells_handoffs_of_openais_agents_by_keys_of_its_own():
    """weave 0.54.0, openai-agents 0.24.0 on chat completions: what an answer asked for is left out of it."""
    (run,) = either_way(
        _weave(1, None, "workflow Agent workflow", took=20, **{"weave.openai_agents.task.workflow_name": "a"}),
        _weave_agent(2, "planner", 1, 0, 6, **{"weave.openai_agents.agent.tools": ["add", "weather"]}),
        _weave(3, 2, "planner turn 1", 0, 5, **{"weave.openai_agents.turn.agent_name": "planner"}),
        _weave_chat(4, 3, 1, "Weather?", **{"gen_ai.request.model": "gpt-x"}),
        _weave(
            *(5, 3, "handoff planner -> worker", 3),
            **{"weave.openai_agents.handoff.from_agent": "planner", "weave.openai_agents.handoff.to_agent": "worker"},
        ),
        _weave_agent(6, "worker", 1, 7, 9, **{"weave.openai_agents.agent.tools": ["weather"]}),
        _weave(7, 6, "worker turn 1", 7, 8, **{"weave.openai_agents.turn.agent_name": "worker"}),
        _weave_chat(8, 7, 8, "Weather?", **{"gen_ai.request.model": "gpt-x"}),
        _weave(
            9, 7, "execute_tool weather", 10, **{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}
        ),
        _weave_chat(10, 7, 12, "Weather?", _text("Sunny."), **{"gen_ai.request.model": "gpt-x"}),
    )
    assert delegated(run) == [("planner", "worker", "handoff", None)]
    assert called_with(run) == [("weather", "worker", "ok", None)]
    assert run["tool_calls"][0]["turn"] == 1  # asked for by an answer that shows nothing
    assert (run["input"], run["output"], run["known_tools"]) == ("Weather?", "Sunny.", ["add", "weather"])
    assert run["conversation_id"] is None  # the trace's, where nobody gave one
    assert not run["incomplete"] or "no agent name" not in run["incomplete"]


def test_weave_knows_no_model_of_a_response_but_the_one_that_answered():
    told = {"gen_ai.request.model": "gpt-x-2026-01-01", "gen_ai.response.model": "gpt-x-2026-01-01"}
    (run,) = either_way(
        _weave_agent(2, "planner", None, 0, 6),
        _weave_chat(4, 2, 1, "Hi", _text("Hello."), **told, **{"gen_ai.response.id": "resp_1"}),
    )
    (call,) = run["llm_calls"]
    assert (call["request_model"], call["response_model"]) == (None, "gpt-x-2026-01-01")


_CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
_FAILS = {"id": "c2", "type": "function", "function": {"name": "lookup", "arguments": '{"id": "bad"}'}}
_ASKED = [{"role": "user", "content": "Weather?"}]


def _choice(text=None, *calls):
    message = {"role": "assistant", "content": text} | ({"tool_calls": list(calls)} if calls else {})
    return [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}]


def _braintrust(id, parent, name, at=0, took=1, kind=None, error=None, **told):
    told = {f"braintrust.{key}": value if isinstance(value, str) else jsons(value) for key, value in told.items()}
    told |= {"braintrust.span_attributes": jsons({"type": kind})} if kind else {}
    return span(id, parent, name, 1, at, took, error=error, attributes=told, scope="braintrust-java")


def test_a_tool_of_langchain4j_that_failed_has_a_name_and_nothing_else():
    """braintrust-sdk-java, langchain_1_8_0: it tells what a span is once the tool has given a result."""
    metadata = {"provider": "openai", "model": "gpt-x-2026-01-01"}
    results = [
        {"role": "tool", "tool_call_id": "c1", "content": "12"},
        {"role": "tool", "tool_call_id": "c2", "content": "no order"},
    ]
    spans = (
        _braintrust(1, None, "Assistant.chat", took=9),
        _braintrust(
            *(2, 1, "Chat Completion", 1, 1, "llm"),
            metadata=metadata,
            input_json=_ASKED,
            output_json=_choice(None, _CALL, _FAILS),
        ),
        _braintrust(3, 1, "weather", 3, 1, "tool", input_json={"city": "Oslo"}, output="12"),
        _braintrust(4, 1, "lookup", 4, error="no order"),
        _braintrust(
            *(5, 1, "Chat Completion", 6, 1, "llm"),
            metadata=metadata,
            input_json=[*_ASKED, _choice(None, _CALL, _FAILS)[0]["message"], *results],
            output_json=_choice("12 degrees"),
        ),
    )
    (run,) = either_way(*spans)
    assert called_with(run) == [("weather", None, "ok", "c1"), ("lookup", None, "error", "c2")]
    assert {(c["request_model"], c["response_model"]) for c in run["llm_calls"]} == {(None, "gpt-x-2026-01-01")}
    other = spans[3] | {"scope": "my.library"}  # what another library tells is no word about the tool
    (run,) = either_way(*spans[:3], other, spans[4])
    assert called_with(run)[1] == ("lookup", None, "unknown", "c2")


def test_rubyllms_call_holds_its_tools_and_the_next_call():
    """braintrust (Ruby) 0.1, contrib ruby_llm: the outer call tells the tokens of the last answer."""
    told = {
        "metadata": {"provider": "ruby_llm", "model": "gpt-x", "tools": [_CALL]},
        "metrics": {"prompt_tokens": 22, "completion_tokens": 7},
    }
    history = [*_ASKED, _choice(None, _CALL)[0]["message"], {"role": "tool", "tool_call_id": "c1", "content": "12"}]
    ran = _braintrust(
        2,
        1,
        "ruby_llm.tool.weather",
        3,
        1,
        "tool",
        input_json={"name": "weather", "arguments": {"city": "Oslo"}},
        output_json="12",
    )
    ran["attributes"] |= {"tool.name": "weather", "tool.call_id": "c1"}
    (run,) = either_way(
        _braintrust(1, None, "ruby_llm.chat", 0, 9, input_json=_ASKED, output_json=_choice(None, _CALL), **told),
        ran,
        _braintrust(3, 1, "ruby_llm.chat", 5, 3, input_json=history, output_json=_choice("12 degrees"), **told),
    )
    assert called_with(run) == [("weather", None, "ok", "c1")]
    assert run["tool_calls"][0]["arguments"] == {"city": "Oslo"}
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(None, None), (22, 7)]
    assert (run["input"], run["output"]) == ("Weather?", "12 degrees")


def test_braintrust_for_googles_kit_in_go_names_the_tool_beside_its_spans_name():
    """braintrust-sdk-go, contrib adk: a tool's span is a child of the call that asked for it, which is over by then."""
    told = {"adk.agent.name": "planner", "adk.agent.session_id": "s-1", "adk.agent.invocation_id": "e-1"}

    def content(role, *parts):
        return {"role": role, "parts": list(parts)}

    def step(id, parent, name, at=0, took=1, error=None, **more):
        return span(id, parent, name, 1, at, took, error=error, attributes=told | more, scope="braintrust")

    def call(id, at, asked, answer):
        model = {
            "gen_ai.request.model": "gemini-x",
            "gen_ai.usage.prompt_tokens": 10,
            "gen_ai.usage.completion_tokens": 2,
        }
        texts = {"gen_ai.prompt": jsons(asked), "gen_ai.completion": jsons(answer), "gen_ai.finish_reason": "STOP"}
        return step(id, 1, "call_llm", at, **model, **texts)

    def ran(id, at, name, arguments, error=None, **more):
        own = {"tool.name": name, "tool.input": jsons(arguments), "braintrust.input_json": jsons(arguments)}
        return step(
            id, 2, f"tool [{name}]", at, error=error, **{"braintrust.span_attributes": '{"type":"tool"}'}, **own, **more
        )

    asked = [content("user", {"text": "Weather?"})]
    wants = {"functionCall": {"id": "f1", "name": "weather", "args": {"city": "Oslo"}}}
    fails = {"functionCall": {"id": "f2", "name": "lookup", "args": {"id": "bad"}}}
    gave = {"functionResponse": {"id": "f1", "name": "weather", "response": {"result": "12"}}}
    wrong = {"functionResponse": {"id": "f2", "name": "lookup", "response": {"error": "no order"}}}
    (run,) = either_way(
        step(1, None, "agent_run [planner]", took=9),
        call(2, 1, asked, content("model", wants, fails)),
        ran(3, 3, "weather", {"city": "Oslo"}, **{"braintrust.output_json": '{"result": "12"}'}),
        ran(4, 3, "lookup", {"id": "bad"}, "no order"),
        call(
            5,
            5,
            [*asked, content("model", wants, fails), content("user", gave, wrong)],
            content("model", {"text": "12"}),
        ),
    )
    assert called_with(run) == [("weather", "planner", "ok", "f1"), ("lookup", "planner", "error", "f2")]
    assert (run["agents"], run["conversation_id"], run["input"], run["output"]) == (
        ["planner"],
        "s-1",
        "Weather?",
        "12",
    )


def _declared(id, name, parent=None, scope="my.app", **more):
    attributes = {"openinference.span.kind": "AGENT", "input.value": "Go", "input.mime_type": "text/plain"}
    return span(id, parent, name, attributes=attributes | more.pop("attributes", {}), scope=scope, **more)


@pytest.mark.parametrize("name", ["run_agent", "AgentRun", "agent loop", "handle_request", "agent"])
def test_an_agent_that_is_named_by_what_it_does_has_no_name(name):
    (run,) = either_way(_declared(1, name, took=9), chat(2, 1, "done", "Go", at=1))
    assert run["agents"] == []


def test_a_function_that_is_declared_an_agent_bears_its_name():
    """openinference-instrumentation 0.1.72: `@tracer.agent(name=…)` names the span and nothing else."""
    (run,) = either_way(
        _declared(1, "planner", took=20),
        chat(2, 1, [("c1", "ask_worker", {"q": "Weather?"})], "Go", at=1),
        _declared(3, "worker", 1, at=3, took=7),
        chat(4, 3, [("c2", "weather", {"city": "Oslo"})], "Weather?", at=4),
        tool(5, 3, "weather", "c2", "12", at=6),
        chat(6, 3, "12", "Weather?", at=8),
        chat(7, 1, "12 degrees", "Go", at=12),
    )
    assert delegated(run) == [("planner", "worker", "tool", "ask_worker")]
    assert called_with(run) == [("weather", "worker", "ok", "c2")]
    (run,) = either_way(
        _declared(1, "planner", took=9, scope="openinference.instrumentation.kit"), chat(2, 1, "done", "Go", at=1)
    )
    assert run["agents"] == []


def test_what_weave_adds_up_for_claudes_kit_is_not_the_last_calls():
    """weave 0.54.0, `WEAVE_USE_OTEL_V2`: the kit tells what a turn used, and Weave writes that to its last call."""

    def tokens(*told):
        calls = [chat(2 + n, 1, f"{n}", "Go", at=1 + 2 * n, scope="weave.conversation") for n in range(len(told))]
        for call, there in zip(calls, told, strict=True):
            if not there:
                call["attributes"] = {k: v for k, v in call["attributes"].items() if ".usage." not in k}
        (run,) = either_way(agent(1, "a", took=9, scope="weave.conversation"), *calls)
        return [c["input_tokens"] for c in run["llm_calls"]]

    assert tokens(False, False, True) == [None, None, None]
    assert tokens(True) == [10]
    assert tokens(True, True) == [10, 10]
    assert tokens(True, False) == [10, None]


def test_an_answer_that_shows_nothing_may_have_asked_for_what_ran_next():
    nothing = {"gen_ai.output.messages": jsons([{"role": "assistant", "parts": []}])}
    (run,) = either_way(
        agent(1, "a", took=9),
        chat(2, 1, None, "Go", at=1, attributes=nothing),
        tool(3, 1, "look", at=3),
        chat(4, 1, "done", at=6),
    )
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("look", 0)]


_OF_AWS = "amazon.opentelemetry.distro.instrumentation."


def _of_aws(id, parent, name, operation, at=0, took=1, error=None, kit="openai_agents", **told):
    told = {f"gen_ai.{key.replace('__', '.')}": value for key, value in told.items()}
    told = {"gen_ai.operation.name": operation, "gen_ai.provider.name": "openai"} | told
    return span(id, parent, name, 1, at, took, error=error, attributes=told, scope=f"{_OF_AWS}{kit}")


def test_what_a_tool_failed_of_is_no_failure_of_the_frame_that_repeats_it():
    """aws-opentelemetry-distro 0.21.0, openai-agents 0.24.0: the workflow bears the first error of any step."""

    def run_of(*answers):
        frame = _of_aws(1, None, "invoke_workflow Agent workflow", "invoke_workflow", 0, 20, error="tool failed")
        failed = _of_aws(
            4, 2, "execute_tool look", "execute_tool", 3, 1, "tool failed", tool__name="look", tool__call__id="c1"
        )
        asked = chat(3, 2, [("c1", "look", {"x": 1})], "Go", at=1, scope=f"{_OF_AWS}openai_agents")
        planner = _of_aws(2, 1, "invoke_agent planner", "invoke_agent", 0, 19, agent__name="planner")
        (run,) = either_way(frame, planner, asked, failed, *answers)
        return run

    run = run_of(chat(5, 2, "It is broken.", "Go", at=6, scope=f"{_OF_AWS}openai_agents"))
    assert (run["status"], run["output"], run["boundaries"]) == ("ok", "It is broken.", ["tool_failure"])
    assert called_with(run) == [("look", "planner", "error", "c1")]
    assert run_of()["status"] == "error"  # it raised
    assert run_of(chat(5, 2, None, "Go", at=6, error="boom", scope=f"{_OF_AWS}openai_agents"))["status"] == "error"


def test_langchain_under_awss_distribution_knows_no_model_that_answered_where_it_streams_or_fails():
    """aws-opentelemetry-distro 0.21.0, langchain 1.4.7."""
    same = {"request__model": "gpt-x", "response__model": "gpt-x"}
    asked = jsons([words("user", "Go")])
    (run,) = either_way(
        _of_aws(1, None, "invoke_agent a", "invoke_agent", 0, 9, kit="langchain", agent__name="a"),
        _of_aws(2, 1, "chat gpt-x", "chat", 1, 1, "boom", kit="langchain", input__messages=asked, **same),
    )
    (call,) = run["llm_calls"]
    assert (call["request_model"], call["response_model"], call["status"]) == ("gpt-x", None, "error")


_OF_MICROSOFT = "microsoft.opentelemetry._genai._openai_agents._trace_instrumentor"


def _of_microsoft(id, parent, name, operation, at=0, took=1, **told):
    told = {f"gen_ai.{key.replace('__', '.')}": value for key, value in told.items()}
    told = {"gen_ai.operation.name": operation, "gen_ai.provider.name": "openai"} | told
    return span(id, parent, name, 1, at, took, status=1, attributes=told, scope=_OF_MICROSOFT)


def test_microsofts_distribution_tells_agents_and_handoffs_by_the_names_of_spans():
    """microsoft-opentelemetry 1.5.0, openai-agents 0.24.0; every answer of a chat ends with `stop`."""

    def call(id, parent, at, *parts, **told):
        answer = jsons([{"role": "assistant", "parts": list(parts), "finish_reason": "stop"}])
        asked = jsons([words("user", "Weather?")])
        told = {"request__model": "gpt-x"} | told
        return _of_microsoft(
            id, parent, "chat gpt-x", "chat", at, output__messages=answer, input__messages=asked, **told
        )

    over = {"type": "tool_call", "id": "c1", "name": "transfer_to_worker", "arguments": "{}"}
    looks = {"type": "tool_call", "id": "c2", "name": "weather", "arguments": '{"city": "Oslo"}'}
    (run,) = either_way(
        _of_microsoft(1, None, "Agent workflow", "chain", 0, 30),
        _of_microsoft(2, 1, "invoke_agent planner", "invoke_agent", 0, 6),
        call(3, 2, 1, over),
        _of_microsoft(4, 2, "handoff to worker", "execute_tool", 3),
        _of_microsoft(5, 1, "invoke_agent worker", "invoke_agent", 7, 20),
        call(6, 5, 8, looks),
        _of_microsoft(
            7,
            5,
            "execute_tool weather",
            "execute_tool",
            10,
            tool__name="weather",
            tool__call__id="c2",
            tool__call__result="12",
        ),
        call(8, 5, 12, _text("12 degrees")),
    )
    assert run["agents"] == ["planner", "worker"]
    assert delegated(run) == [("planner", "worker", "handoff", "transfer_to_worker")]
    assert called_with(run) == [("weather", "worker", "ok", "c2")]
    assert [c["finish_reason"] for c in run["llm_calls"]] == [None, None, None]


def test_microsofts_distribution_knows_no_model_of_a_response_but_the_one_that_answered():
    def models(scope=_OF_MICROSOFT, **told):
        call = _of_microsoft(2, 1, "chat", "chat", 1, **told) | {"scope": scope}
        (run,) = either_way(_of_microsoft(1, None, "invoke_agent a", "invoke_agent", 0, 9, agent__name="a"), call)
        (call,) = run["llm_calls"]
        return call["request_model"], call["response_model"]

    assert models(request__model="gpt-x-2026-01-01") == (None, "gpt-x-2026-01-01")
    assert models(request__model="gpt-x") == ("gpt-x", None)
    both = {"request__model": "gpt-x-2026-01-01", "response__model": "gpt-x-2026-01-01"}
    langchain = "microsoft.opentelemetry._genai._langchain._tracer_instrumentor"
    assert models(langchain, response__id="chatcmpl-1", **both) == (None, "gpt-x-2026-01-01")


@pytest.mark.parametrize("name", ["asst_abc123", "0f8fad5b-d9cb-469f-a165-70867728950e"])
def test_an_id_in_a_spans_name_is_no_agents_name(name):
    (run,) = either_way(
        span(1, None, f"invoke_agent {name}", took=9, gen_ai__operation__name="invoke_agent"),
        chat(2, 1, "done", "Go", at=1),
    )
    assert run["agents"] == []


def test_a_model_that_is_called_as_the_operation_is_none():
    """azure-ai-inference 1.0.0b9 writes `chat` where only the client, or the service, knows the model."""
    (run,) = either_way(
        agent(1, "a", took=9), chat(2, 1, "done", "Go", at=1, attributes={"gen_ai.request.model": "chat"})
    )
    assert run["llm_calls"][0]["request_model"] is None


def test_an_agent_of_agent_365_is_no_model_call_though_its_spans_bear_azures_namespace():
    """Microsoft's Agent 365 SDK before 1.0: `az.namespace` on every span, an invocation is a client's."""
    told = {"scope": "Agent365Sdk", "kind": 3}
    azure = {"az.namespace": "Microsoft.CognitiveServices"}
    first = agent(1, "planner", took=9, **told)
    first["attributes"] |= azure
    (run,) = either_way(first, chat(2, 1, "done", "Go", at=1, attributes=azure, scope="Agent365Sdk"))
    assert (run["agents"], len(run["llm_calls"])) == (["planner"], 1)


def test_arguments_that_langtrace_tells_as_the_text_of_a_stream_are_no_answer():
    """langtrace-python-sdk 3.8.21: of a stream to which tools were offered only the arguments of calls are told."""

    def call(id, at, answer, *messages):
        events = [("gen_ai.content.prompt", {"gen_ai.prompt": jsons(messages)})]
        if answer is not None:
            said = [{"role": "assistant", "content": answer}]
            events.append(("gen_ai.content.completion", {"gen_ai.completion": jsons(said)}))
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-x",
            "gen_ai.request.tools": jsons([_CALL]),
        }
        scope = "langtrace_python_sdk.instrumentation.openai.instrumentation"
        return span(id, None, "openai.chat.completions.create", id, at, 1, attributes=told, events=events, scope=scope)

    asked = {"role": "user", "content": "Weather?"}
    wanted = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
    gave = {"role": "tool", "tool_call_id": "c1", "content": "12"}
    (run,) = runs(call(1, 0, '{"city": "Oslo"}', asked), call(2, 3, None, asked, wanted, gave))
    assert called_with(run) == [("weather", None, "ok", "c1")]
    (run,) = runs(call(1, 0, '{"city": "Oslo"}', asked))
    assert (run["output"], run["tool_calls"]) == (None, None)


def test_words_are_no_type_of_an_error():
    """aws-opentelemetry-distro 0.21.0 of CrewAI's tools: `error.type` is the error's message."""

    def told(type):
        failed = tool(3, 1, "look", "c1", at=3, error="no such thing", attributes={"error.type": type})
        (run,) = either_way(
            agent(1, "a", took=9), chat(2, 1, [("c1", "look", {"x": 1})], "Go", at=1), failed, chat(4, 1, "done", at=6)
        )
        (call,) = run["tool_calls"]
        assert call["status"] == "error"
        return call["error_type"]

    assert told("no such thing") is None
    assert told("ValueError: no such thing") == "ValueError"
    assert told("<class 'ValueError'>") == "ValueError"
    assert told("QUOTA_EXCEEDED") == "QUOTA_EXCEEDED"


def test_a_tools_span_of_googles_kit_for_javascript_that_tells_nothing_is_of_one_that_threw():
    """@google/adk 2.0.0 without content: what a tool gave is told by attributes, that it threw by none."""
    told = {"scope": "gcp.vertex.agent"}
    nothing = {"gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}"}
    usage = {"gen_ai.request.model": "gemini-x", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 1}
    gave = {"gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "{}"}
    good = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": "adk-1"} | gave
    (run,) = either_way(
        agent(1, "planner", took=9, **told),
        span(2, 1, "call_llm", at=1, took=4, attributes=usage | nothing, **told),
        span(3, 2, "execute_tool look", at=2, **told),
        span(4, 2, "execute_tool add", at=3, attributes=good, **told),
        span(5, 1, "call_llm", at=6, attributes=usage | nothing, **told),
    )
    assert sorted((c["name"], c["status"]) for c in run["tool_calls"]) == [("add", "ok"), ("look", "error")]


def test_an_agents_span_with_the_id_of_a_call_was_called_by_that_tool():
    """weave 0.54.0, a sub-agent without content."""
    called = {"gen_ai.tool.name": "Task", "gen_ai.tool.call.id": "c1"}
    worker = agent(3, "worker", 1, at=3, took=3)
    worker["attributes"] |= called
    (run,) = either_way(agent(1, "planner", took=9), chat(2, 1, at=1), worker, chat(4, 3, at=4), chat(5, 1, at=7))
    assert delegated(run) == [("planner", "worker", "tool", "Task")]
