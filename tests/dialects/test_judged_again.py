"""What further pairs of kit and instrumentation sent, in small: AgentOps, Splunk's, Laminar, LangSmith beside the spans
that a client tells itself."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

pytestmark = pytest.mark.full

_AGNO = {"scope": "agentops.instrumentation.agno", "status": 1}


def _agno(output, *rest, **told):
    """AgentOps 0.4.21 of Agno 2: what an agent or a tool is called stands beside the entity's name."""
    told = {"agentops.span.kind": "agent", "agentops.entity.name": "agent", "agent.name": "planner"} | told
    told |= {"agent.input": "go", "agentops.entity.input": "go", "agent.output": output}
    return agreed(span(1, None, "planner.agno.agent.run.agent", took=9, attributes=told, **_AGNO), *rest)


def _agno_tool(id, at, status, **told):
    told = {"agentops.span.kind": "tool", "agentops.entity.name": "tool", "tool.name": "look"} | told
    told |= {"tool.parameters": '{"at": "x"}', "tool.status": "success", "tool.execution_result_status": status}
    return span(id, 1, "agno.tool.execute.tool_usage", at=at, attributes=told, **_AGNO)


def test_agentops_calls_agnos_agents_and_tools_by_their_own_names_and_says_beside_them_what_failed():
    failed = _agno_tool(2, 1, "failure", **{"tool.error": "no such place", "tool.result": "failure"})
    went = _agno_tool(3, 3, "success", **{"tool.result": "cold"})
    (run,) = _agno("It is cold.", failed, went, **{"agent.run_session_id": "s-1"})
    assert (run["agents"], run["input"], run["output"], run["conversation_id"]) == (
        ["planner"],
        "go",
        "It is cold.",
        "s-1",
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("look", "error", "no such place"),
        ("look", "ok", "cold"),
    ]


def test_agno_puts_out_what_went_wrong_as_its_answer_under_agentops():
    (run,) = _agno("Request timed out.")
    assert run["status"] == "unknown"


_KIT, _CLIENT = {"scope": "openai-agents", "status": 1}, {"scope": "openai", "status": 1, "kind": 3}
_ASKED = {"id": "call_9FwDPbgJvARk", "type": "function", "function": {"name": "look", "arguments": "{}"}}
_BROUGHT = [
    {"role": "assistant", "content": None, "tool_calls": [_ASKED]},
    {"role": "tool", "tool_call_id": "call_9FwDPbgJvARk", "content": "cold"},
]


def _generation(id, at, *said):
    """AgentOps 0.4.21 of OpenAI's kit: all that a chat was asked is the text of one message, and no answer is told."""
    told = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": json.dumps(said), "gen_ai.request.model": "m"}
    return span(id, 1, "generation", at=at, took=2, attributes={"agentops.span.kind": "llm"} | told, **_KIT)


def _asked(id, at, answer, *said):
    """The same call by the instrumentation of the client, which finds no span to stand under."""
    told = {
        "gen_ai.request.type": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": f"chatcmpl-HG0sUgyeamu{id}",
    }
    told |= {"gen_ai.usage.prompt_tokens": 9 + id, "gen_ai.usage.completion_tokens": 3}
    told |= {f"gen_ai.completion.0.{key}": value for key, value in answer.items()}
    for n, message in enumerate(said):
        told |= {f"gen_ai.prompt.{n}.role": message["role"], f"gen_ai.prompt.{n}.content": message.get("content") or ""}
        if "tool_call_id" in message:
            told[f"gen_ai.prompt.{n}.tool_call_id"] = message["tool_call_id"]
    return span(id, None, "openai.chat.completion", trace=id, at=at, took=1, attributes=told, **_CLIENT)


@pytest.mark.parametrize("text", ["go", ""])
def test_what_is_asked_as_one_text_is_the_conversation_and_the_clients_telling_of_it_is_the_same_call(text):
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    frame = {"agentops.span.kind": "agent", "agent.name": "planner"}
    tool = {"agentops.span.kind": "tool", "tool.name": "look", "tool.parameters": "{}", "tool.result": "cold"}
    (run,) = agreed(
        span(1, None, "planner", took=12, attributes=frame, **_KIT),
        _generation(2, 0.5, *said),
        _asked(12, 1, {"role": "assistant", "finish_reason": "tool_calls"}, *said),
        span(3, 1, "look", at=3, attributes=tool, **_KIT),
        _generation(4, 5, *said, *_BROUGHT),
        _asked(14, 5.5, {"role": "assistant", "content": "It is cold.", "finish_reason": "stop"}, *said, *_BROUGHT),
    )
    assert (run["input"], run["output"], run["agents"]) == (text, "It is cold.", ["planner"])
    assert [call["input_tokens"] for call in run["llm_calls"]] == [21, 23]
    assert [(call["name"], call["status"]) for call in run["tool_calls"]] == [("look", "ok")]


def test_a_call_of_other_words_stands_by_itself_beside_one_of_which_no_answer_is_told():
    frame = {"agentops.span.kind": "agent", "agent.name": "planner"}
    found = agreed(
        span(1, None, "planner", took=12, attributes=frame, **_KIT),
        _generation(2, 0.5, {"role": "user", "content": "go"}),
        _asked(12, 1, {"role": "assistant", "content": "No."}, {"role": "user", "content": "stop"}),
    )
    assert [run["input"] for run in found] == ["go", "stop"]


def _traced(id, parent, at, ask, **told):
    """LangSmith's export of a call of Anthropic's client, in a trace that it makes as it exports."""
    told = {"langsmith.span.kind": "llm", "gen_ai.prompt": json.dumps({"messages": [ask]}), **_COUNTED} | told
    return span(id, parent, "ChatAnthropic", at=at, took=2, scope="langsmith", status=1, attributes=told)


def _native(id, at, trace=7, **told):
    """Anthropic's client 2.14 of itself: under a span of LangSmith's that never comes."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", **_COUNTED} | told
    name, scope = "anthropic.messages.create", "com.anthropic.sdk.python"
    return span(id, 77, name, trace=trace, at=at + 0.1, took=1.8, kind=3, scope=scope, status=1, attributes=told)


_COUNTED = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3}
_ASK = {"role": "user", "content": "go"}


def _answered(id, text):
    return {"gen_ai.response.id": id, "gen_ai.completion": json.dumps({"role": "assistant", "content": text})}


def _chain(took=9.0, **told):
    told = {"langsmith.span.kind": "chain", "gen_ai.prompt": '{"question": "go"}'} | told
    return span(1, None, "planner", took=took, scope="langsmith", attributes=told)


def test_what_a_client_tells_of_itself_under_a_span_that_never_comes_is_the_call_that_bears_its_id_elsewhere():
    first, last = "msg_01HdVg7mZcTqYwXb", "msg_01KqRs9nLpVtBgXz"
    found = agreed(
        _chain(**{"gen_ai.completion": '{"output": "Done."}'}),
        _traced(2, 1, 1, _ASK, **_answered(first, "Not yet.")),
        _native(12, 1, **{"gen_ai.response.id": first}),
        _traced(3, 1, 5, _ASK, **_answered(last, "Done.")),
        _native(13, 5, **{"gen_ai.response.id": last}),
    )
    assert [(run["input"], run["output"], len(run["llm_calls"])) for run in found] == [("go", "Done.", 2)]


def test_a_call_under_a_span_that_did_not_come_is_its_own_where_nobody_tells_of_its_answer():
    found = agreed(
        _chain(**{"gen_ai.completion": '{"output": "Done."}'}),
        _traced(2, 1, 1, _ASK, **_answered("msg_01HdVg7mZcTqYwXb", "Done.")),
        _native(12, 1, **{"gen_ai.response.id": "msg_01KqRs9nLpVtBgXz"}),
    )
    assert [len(run["llm_calls"]) for run in found] == [1, 1]


_SPLUNKS = {"scope": "opentelemetry.util.genai.handler"}
_TASK = [{"role": "user", "parts": [{"type": "text", "content": text}]} for text in ("Fly me out.", "an answer")]


def _of_crew(id, parent, name, at, took, **told):
    """splunk-otel-instrumentation-crewai 0.1.3."""
    return span(id, parent, name, at=at, took=took, attributes=told, **_SPLUNKS)


def test_splunk_calls_a_crew_an_agent_and_what_to_make_of_a_task_comes_after_the_task():
    marks = {"agent_fingerprint": {"uuid_str": "93dcc831", "metadata": {}}, "task_fingerprint": {"metadata": {}}}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.framework": "crewai"}
    done = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}])
    crew = agent | {"gen_ai.agent.name": "crew", "gen_ai.conversation_root": True, "gen_ai.output.messages": done}
    planner = agent | {"gen_ai.agent.name": "planner", "gen_ai.output.messages": done}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.agent.name": "planner"}
    tool |= {"gen_ai.tool.call.arguments": str({"input": {"at": "x", "security_context": marks}})}
    (run,) = agreed(
        _of_crew(1, None, "invoke_agent crew", 0, 9, **crew),
        _of_crew(2, 1, "invoke_agent planner", 1, 7, **planner, **{"gen_ai.input.messages": json.dumps(_TASK)}),
        _of_crew(3, 2, "execute_tool look", 2, 1, **tool),
    )
    assert (run["input"], run["output"], run["agents"]) == ("Fly me out.", "Done.", ["planner"])
    assert run["delegations"] == []
    assert [(call["name"], call["arguments"]) for call in run["tool_calls"]] == [("look", {"at": "x"})]


def test_agentops_tells_beside_an_exception_what_openais_kit_says_went_wrong():
    thrown = {"exception.type": "Exception", "exception.message": "Error getting response"}
    thrown |= {
        "exception.stacktrace": "Exception: Error getting response",
        "error.data": '{"error": "Request timed out."}',
    }
    failed = {"agentops.span.kind": "llm", "error.type": "AgentError", "error.message": "Error getting response"}
    frame = {"agentops.span.kind": "agent", "agent.name": "planner"}
    (run,) = agreed(
        span(1, None, "planner", took=9, attributes=frame, **_KIT),
        span(2, 1, "response", at=1, attributes=failed, events=[("exception", thrown)], **_KIT),
    )
    assert (run["status"], sorted(run["boundaries"])) == ("error", ["error", "timeout"])


def _asked_again(second):
    """Laminar 0.8 and Splunk's 0.1.16, of a graph of LangChain's whose step raised, and that was awaited again."""
    frame = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}

    def graph(id, parent, at, text, **more):
        said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])
        step = {"gen_ai.step.name": "model"}
        return [
            span(id, parent, "invoke_agent planner", at=at, took=3, attributes=frame, **_SPLUNKS, **more),
            span(id + 1, id, "step model", at=at + 1, took=2, attributes=step, **_SPLUNKS, **more),
            span(
                id + 2,
                id + 1,
                "chat m",
                at=at + 1.5,
                attributes=call | {"gen_ai.input.messages": said},
                **_SPLUNKS,
                **more,
            ),
        ]

    return agreed(*graph(1, None, 0, "go", error="scripted failure"), *graph(4, 2, 5, second))


def test_what_an_agent_is_asked_after_its_step_raised_is_a_run_of_its_own():
    found = _asked_again("stay")
    assert [(run["input"], len(run["llm_calls"])) for run in found] == [("go", 1), ("stay", 1)]
    assert found[0]["status"] == "error"


def test_the_same_words_after_a_step_raised_are_another_try():
    assert len(_asked_again("go")) == 1


@pytest.mark.parametrize(("told", "status"), [({}, "requested"), ({"arguments": '{"at": "x"}'}, "unknown")])
def test_a_tool_that_a_broken_stream_asked_for_before_it_told_what_for_was_not_run(told, status):
    """OpenInference of Mistral's client 2.2, whose reader could not read the second piece."""
    tool = "llm.output_messages.0.message.tool_calls.0.tool_call.function."
    call = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.output_messages.0.message.role": "assistant"}
    call |= {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    call |= {f"{tool}name": "look"} | {tool + name: value for name, value in told.items()}
    scope = "openinference.instrumentation.mistralai"
    (run,) = agreed(
        span(
            1, None, "planner", took=9, error="no piece", attributes={"openinference.span.kind": "AGENT"}, scope=scope
        ),
        span(2, 1, "MistralClient.chat", at=1, error="no piece", attributes=call, scope=scope),
    )
    assert [(call["name"], call["status"]) for call in run["tool_calls"]] == [("look", status)]
    assert run["status"] == "error"


@pytest.mark.parametrize(("reason", "found"), [("stop", 2), ("tool_calls", 1)])
def test_an_agent_that_says_neither_how_it_ended_nor_what_it_said_is_over_once_its_model_stopped(reason, found):
    """Splunk's 0.1.16 without content, of a graph of LangChain's that was awaited twice in one task."""
    frame = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": [reason]}
    step = {"gen_ai.step.name": "model", "gen_ai.step.type": "chain"}
    told = [
        part
        for id, parent, at in ((1, None, 0), (4, 2, 5))
        for part in (
            span(id, parent, "invoke_agent planner", at=at, took=3, attributes=frame, **_SPLUNKS),
            span(id + 1, id, "step model", at=at + 1, took=2, attributes=step, **_SPLUNKS),
            span(id + 2, id + 1, "chat m", at=at + 1.5, attributes=call, **_SPLUNKS),
        )
    ]
    assert len(agreed(*told)) == found
