"""Kits by the spans they sent before, or send beside, those of the conventions."""

import pytest

from tests.dialects.test_platforms_kits import delegated, either_way
from tests.dialects.test_unrecorded_kits import called_with, jsons
from tests.runs.requests import agent, chat, span, tool

pytestmark = pytest.mark.full

_STRANDS = {"gen_ai.system": "strands-agents", "agent.name": "Strands Agent", "gen_ai.agent.name": "Strands Agent"}


def _cycle(id, at, answer, history, model):
    """A turn of Strands 0.1.9: a cycle, and in it the model's call."""
    told = {"gen_ai.prompt": jsons(history), "gen_ai.completion": jsons(answer)}
    usage = {
        "gen_ai.usage.prompt_tokens": 100 + id,
        "gen_ai.usage.completion_tokens": 10,
        "gen_ai.request.model": model,
    }
    return (
        span(id, 1, f"Cycle {id}", 1, at, 3, attributes=told | {"event_loop.cycle_id": str(id)}, status=1),
        span(id + 1, id, "Model invoke", 1, at, 1, attributes=_STRANDS | told | usage, status=1),
    )


def _used(id, parent, at, call, name, given, came, status="success"):
    told = {"tool.name": name, "tool.id": call, "tool.parameters": jsons(given), "tool.status": status}
    told |= {"tool.result": jsons([{"text": came}]), "gen_ai.completion": jsons([{"text": came}])}
    told |= {"gen_ai.prompt": jsons({"toolUseId": call, "name": name, "input": given})}
    return span(id, parent, f"Tool: {name}", 1, at, 1, attributes=told, status=1)


def test_early_strands_names_no_operation():
    """strands-agents 0.1.9: all spans under the service's name, sums of tokens on the agent's, which is never named."""
    asked = [{"role": "user", "content": [{"text": "Weather?"}]}]
    uses = [("c1", "weather", {"city": "Oslo"}, "sunny", "success"), ("c2", "lookup", {"id": "x"}, "no x", "error")]
    requests = [{"toolUse": {"toolUseId": id, "name": name, "input": given}} for id, name, given, *_ in uses]
    results = [
        {"toolResult": {"toolUseId": id, "status": went, "content": [{"text": came}]}} for id, _, _, came, went in uses
    ]
    history = [*asked, {"role": "assistant", "content": requests}, {"role": "user", "content": results}]
    whole = {"gen_ai.prompt": "Weather?", "gen_ai.completion": "It is sunny.\n", "gen_ai.request.model": "m"}
    whole |= {"gen_ai.usage.prompt_tokens": 206, "gen_ai.agent.tools": '["weather", "lookup"]', "session.id": "s"}
    (run,) = either_way(
        span(1, None, "Strands Agent", 1, 0, 9, attributes=_STRANDS | whole, status=1),
        *_cycle(2, 1, requests, asked, "m"),
        *(_used(10 + at, 2, 2 + at, *use) for at, use in enumerate(uses)),
        *_cycle(4, 5, [{"text": "It is sunny."}], history, "m"),
    )
    assert called_with(run) == [("weather", None, "ok", "c1"), ("lookup", None, "error", "c2")]
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [(use[2], use[3]) for use in uses]
    assert [(c["request_model"], c["input_tokens"]) for c in run["llm_calls"]] == [("m", 102), ("m", 104)]
    assert (run["status"], run["input"], run["output"]) == ("ok", "Weather?", "It is sunny.")
    assert (run["known_tools"], run["conversation_id"]) == (["lookup", "weather"], "s")
    assert run["agents"] == [] and "no agent name" in run["incomplete"]


@pytest.mark.parametrize("twice", [False, True])
def test_an_agent_that_a_tool_of_early_strands_runs_is_a_part_of_the_run(twice):
    """strands-agents 0.1.3: every agent opens a trace; the words it is asked are those that the tool was given."""

    def asks(trace, at, words):
        whole = _STRANDS | {"gen_ai.prompt": words, "gen_ai.completion": "It is deep."}
        asked = [{"role": "user", "content": [{"text": words}]}]
        spans = [
            span(1, None, "Strands Agent", 1, at, 9, attributes=whole, status=1),
            *_cycle(2, at + 1, [{"text": "It is deep."}], asked, "m"),
        ]
        return [one | {"trace": trace} for one in spans]

    given = {"query": "How deep?"}
    request = {"toolUse": {"toolUseId": "c1", "name": "ask_worker", "input": given}}
    asked = [{"role": "user", "content": [{"text": "Go"}]}]

    def calls(trace):
        spans = [
            span(1, None, "Strands Agent", 1, 0, 30, attributes=_STRANDS | {"gen_ai.prompt": "Go"}, status=1),
            *_cycle(2, 1, [request], asked, "m"),
            _used(10, 2, 4, "c1", "ask_worker", given, "It is deep.") | {"took": 11},
        ]
        return [one | {"trace": trace} for one in spans]

    found = either_way(*calls(1), *asks(2, 5, "How deep?"), *asks(3, 5, "How high?"), *(calls(4) if twice else []))
    with_it = [r for r in found if len(r["trace_ids"]) > 1]
    assert len(found) == (4 if twice else 2) and len(with_it) == (0 if twice else 1)  # either may have asked
    for run in with_it:
        assert delegated(run) == [(None, "worker", "tool", "ask_worker")]
        assert ([c["agent"] for c in run["llm_calls"]], run["tool_calls"]) == ([None, "worker"], [])


_CREW = "openinference.instrumentation.crewai"


def _crew(id, parent, name, kind, at, took, **told):
    attributes = {"openinference.span.kind": kind} | {key.replace("_", "."): value for key, value in told.items()}
    return span(id, parent, name, 1, at, took, attributes=attributes, status=1, scope=_CREW)


def _task(id, parent, at, took, role, answer):
    given = {"agent": f"id=UUID('0') formatting_errors=0 role='{role}' goal='g' backstory='b'", "context": ""}
    done = {"description": "x", "raw": answer, "agent": role, "output_format": "raw"}
    return _crew(
        id, parent, "Task._execute_core", "AGENT", at, took, input_value=jsons(given), output_value=jsons(done)
    )


def _tool_used(id, parent, at, took, name, calling, came):
    given = {"tool_string": f"Action: {name}", "tool": f"CrewStructuredTool(name='{name}')", "calling": calling}
    told = {"tool_name": name, "input_value": jsons(given), "output_value": came}
    return _crew(id, parent, "ToolUsage._use", "TOOL", at, took, **told)


def test_early_openinference_names_crewais_tools_beside_the_method_that_used_them():
    """crewai 0.102 under openinference-instrumentation-crewai 0.1.8."""
    work = {"task": "Look", "context": "", "coworker": "worker"}
    (run,) = either_way(
        _crew(1, None, "Crew.kickoff", "CHAIN", 0, 20, output_value=jsons({"raw": "Done."})),
        _task(2, 1, 1, 18, "planner", "Done."),
        _tool_used(3, 2, 2, 1, "weather", "tool_name='weather' arguments={'city': \"O'Oslo\"}", "sunny"),
        _tool_used(4, 2, 3, 1, "weather", "tool_name='weather' arguments=None", "sunny"),
        _tool_used(5, 2, 4, 9, "Delegate work to coworker", f"tool_name='Delegate' arguments={work}", "Nine."),
        _task(6, 5, 5, 7, "worker", "Nine."),
        _tool_used(7, 6, 6, 1, "lookup", "tool_name='lookup' arguments={'id': '9'}", "nine"),
    )
    assert [(c["name"], c["agent"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [
        ("weather", "planner", {"city": "O'Oslo"}, "sunny"),
        ("weather", "planner", {}, "sunny"),
        ("lookup", "worker", {"id": "9"}, "nine"),
    ]
    assert delegated(run) == [("planner", "worker", "tool", "Delegate work to coworker")]
    assert (run["agents"], run["output"]) == (["planner", "worker"], "Done.")


_AGENTS, _CLIENT = "opentelemetry.instrumentation.openai_agents", "opentelemetry.instrumentation.openai.v1"


def _flat(family, *messages):
    out = {}
    for at, (role, text, calls, of) in enumerate(messages):
        told = {"role": role, "content": text, "tool_call_id": of}
        told |= {
            f"tool_calls.{k}.{key}": value
            for k, call in enumerate(calls)
            for key, value in zip(("id", "name", "arguments"), call, strict=True)
        }
        out |= {f"gen_ai.{family}.{at}.{key}": value for key, value in told.items() if value is not None}
    return out


def _response(id, at, answer, item=None, history=()):
    """A response as OpenAI's Agents SDK tells it, and inside as its client does: that leaves out what came back."""
    user = ("user", "Weather?", (), None)
    common = {"gen_ai.system": "openai", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}
    outer = {"gen_ai.operation.name": "response", "gen_ai.agent.name": "planner", "gen_ai.request.model": "m-1"}
    inner = {"gen_ai.request.model": "m", "gen_ai.response.model": "m-1", "gen_ai.response.id": f"resp_{id}"}
    told = _flat("prompt", user, *history) | _flat("completion", answer)
    seen = _flat("prompt", ("system", "plan", (), None), user) | _flat("completion", item or answer)
    return (
        span(id, 2, "openai.response", 1, at, 1, attributes=common | outer | told, scope=_AGENTS, status=1),
        span(id + 1, id, "openai.response", 1, at, 0.9, attributes=common | inner | seen, scope=_CLIENT),
    )


def test_an_inner_layer_that_leaves_out_what_came_back_does_not_hide_it():
    """openai-agents 0.6 under Traceloop 0.50, which traces OpenAI's client, too: that names calls by their items."""
    call = ("weather", '{"city": "Oslo"}')
    asked, item = (("assistant", None, ((f"{kind}_1", *call),), None) for kind in ("call", "fc"))
    history = [item, ("tool", "sunny", (), "call_1")]
    kind = {"traceloop.span.kind": "tool", "gen_ai.tool.name": "weather"}
    agents = {"traceloop.span.kind": "agent", "gen_ai.agent.name": "planner"}
    (run,) = either_way(
        span(1, None, "Agent Workflow", 1, 0, 9, attributes={"traceloop.span.kind": "workflow"}, scope=_AGENTS),
        span(2, 1, "planner.agent", 1, 0, 9, attributes=agents, scope=_AGENTS, status=1),
        *_response(3, 1, asked, item),
        span(5, 2, "weather.tool", 1, 3, 1, attributes=kind | agents | kind, scope=_AGENTS, status=1),
        *_response(6, 5, ("assistant", "It is sunny.", (), None), history=history),
    )
    assert called_with(run) == [("weather", "planner", "ok", "call_1")]
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [({"city": "Oslo"}, "sunny")]
    assert (run["input"], run["output"], run["incomplete"]) == ("Weather?", "It is sunny.", [])


def _agno(id, parent, name, kind, at, took=1, version="0.1.2", **told):
    attributes = {"openinference.span.kind": kind} | {key.replace("_", "."): value for key, value in told.items()}
    scope = "openinference.instrumentation.agno"
    return span(id, parent, name, 1, at, took, attributes=attributes, status=1, scope=scope, version=version)


def test_early_openinference_says_of_agnos_tools_that_failed_that_they_put_out_none():
    """agno 1.4 under openinference-instrumentation-agno 0.1.2; since 0.1.9 a tool that failed says so."""
    call = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"id": "x"}'}}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}

    def told(message):
        return jsons({"id": "chatcmpl", "choices": [{"index": 0, "message": message}], "usage": usage})

    def called(version):
        asked = told({"role": "assistant", "content": None, "tool_calls": [call]})
        answer = told({"role": "assistant", "content": "Done."})
        (run,) = either_way(
            _agno(1, None, "planner.run", "AGENT", 0, 9, version, agno_agent="planner", input_value="Look."),
            _agno(2, 1, "OpenAIChat.invoke", "LLM", 1, 1, version, output_value=asked),
            _agno(3, 1, "lookup", "TOOL", 3, 1, version, tool_name="lookup", output_value="None"),
            _agno(4, 1, "OpenAIChat.invoke", "LLM", 5, 1, version, output_value=answer),
        )
        assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(100, 10)] * 2
        return called_with(run), run["tool_calls"][0]["result"]

    assert called("0.1.2") == ([("lookup", "planner", "unknown", "c1")], None)
    assert called("0.1.9") == ([("lookup", "planner", "ok", "c1")], "None")


@pytest.mark.parametrize("member", ["worker", "nobody"])
def test_agnos_agents_have_names_beside_the_ids_of_nodes(member):
    """agno 1.8 under openinference-instrumentation-agno 0.1.14, which names a team's node after its last member; what
    a member does stands beside the tool by which it was asked."""
    given, team, own = jsons({"member_id": member, "task": "Look."}), "d70983ea49c67b21", "61cc9c22ba1307cd"
    node = {"graph.node.name": "worker", "graph.node.id": team}
    root = _agno(1, None, "planner.run", "AGENT", 0, 20, "0.1.14", agno_team="planner", input_value="Look.")
    theirs = _agno(4, 1, "worker.run", "AGENT", 5, 5, "0.1.14", agno_agent="worker")
    theirs["attributes"] |= {"graph.node.id": own, "graph.node.parent_id": team}
    (run,) = either_way(
        root | {"attributes": root["attributes"] | node},
        chat(2, 1, [("c1", "transfer_task_to_member", {"member_id": member, "task": "Look."})], "Look.", at=1),
        _agno(3, 1, "transfer_task_to_member", "TOOL", 3, 1, "0.1.14", tool_name="transfer_task_to_member")
        | {
            "attributes": {
                "openinference.span.kind": "TOOL",
                "tool.name": "transfer_task_to_member",
                "input.value": given,
            }
        },
        *([theirs, chat(5, 4, "Deep.", "Look.", at=6)] if member == "worker" else []),
        chat(6, 1, "Done.", at=12),
    )
    assert run["agents"] == (["planner", "worker"] if member == "worker" else ["planner"])
    assert delegated(run) == [("planner", member, "tool", "transfer_task_to_member")]
    assert (run["delegations"][0]["status"], run["tool_calls"]) == ("ok" if member == "worker" else "unknown", [])


def _langchain_by_mlflow(id, at, messages, given, text, reason):
    usage = {"completion_tokens": 10, "prompt_tokens": 100 + id, "total_tokens": 110 + id}
    metadata = {"token_usage": usage, "model_name": "m-1", "finish_reason": reason}
    message = {"content": text, "response_metadata": metadata, "type": "ai", "id": f"run--{id}"}
    put_out = {"generations": [[{"text": text, "generation_info": {"finish_reason": reason}, "message": message}]]}
    told = {"mlflow.spanType": '"CHAT_MODEL"', "invocation_params": jsons({"model": "m", "_type": "openai-chat"})}
    told |= {"mlflow.chat.messages": jsons(messages), "mlflow.spanInputs": jsons([given])}
    return span(id, 1, "ChatOpenAI", 1, at, 1, attributes=told | {"mlflow.spanOutputs": jsons(put_out)}, status=1)


def test_early_mlflow_tells_the_calls_of_an_answer_behind_what_was_asked():
    """LangChain under mlflow 2.21: an output lacks the calls; usage and models stand in outputs alone."""
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    user, asked = {"role": "user", "content": "Oslo?"}, {"role": "assistant", "content": None, "tool_calls": [call]}
    came = {"role": "tool", "content": "sunny", "tool_call_id": "c1"}
    given = [{"content": "Oslo?", "type": "human"}]
    history = [
        {"content": "", "type": "ai", "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}]},
        {"content": "sunny", "type": "tool", "name": "weather", "tool_call_id": "c1", "status": "success"},
    ]
    kind = {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": jsons({"city": "Oslo"}), "mlflow.spanOutputs": '"sunny"'}
    (run,) = either_way(
        span(1, None, "planner", 1, 0, 9, attributes={"mlflow.spanType": '"AGENT"'}, status=1),
        _langchain_by_mlflow(2, 1, [user, asked], given, "", "tool_calls"),
        span(3, 1, "weather", 1, 3, 1, attributes=kind, status=1),
        _langchain_by_mlflow(
            4, 5, [user, asked, came, {"role": "assistant", "content": "Sunny."}], [*given, *history], "Sunny.", "stop"
        ),
    )
    assert called_with(run) == [("weather", "planner", "ok", "c1")]
    assert run["tool_calls"][0]["turn"] == 0
    assert [list(call.values()) for call in run["llm_calls"]] == [
        ["planner", "m", "m-1", 102, 10, "ok", "tool_calls"],
        ["planner", "m", "m-1", 104, 10, "ok", "stop"],
    ]
    assert (run["input"], run["output"], run["incomplete"]) == ("Oslo?", "Sunny.", [])


_RUNTIME, _TEAM = "autogen SingleThreadedAgentRuntime", "6a27d1f2-04ff-4b80-a8a3-4bf6b15182d7"
_LEADER = f"RoundRobinGroupChatManager_{_TEAM}"


def _sent(trace, of, at, message, to, kind="ChatAgentContainer", took=1, error=None, ids=(1, 2)):
    """A message that AutoGen's runtime published, in a trace of its own that links to the span that made it."""
    told = {"messaging.operation": "process", "recipient_agent_type": to, "recipient_agent_class": kind}
    told |= {"message": jsons(message).replace(": ", ":").replace(", ", ",")}
    first, second = (trace * 10 + id for id in ids)
    publish = {"messaging.operation": "publish"}
    return (
        span(first, None, f"autogen publish {to}", trace, at, took, attributes=publish, scope=_RUNTIME, links=[of]),
        span(second, first, f"autogen process {to}", trace, at, took, attributes=told, scope=_RUNTIME, error=error),
        span(second + 1, second, "autogen create", trace, at + took * 0.9, 0.01, scope=_RUNTIME),
    )


def _said(source, text, *inner):
    def message(kind, content, usage=None):
        return {"source": source, "models_usage": usage, "content": content, "type": kind}

    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    inner = [message(kind, content, usage if "Request" in kind else None) for kind, content in inner]
    return {"response": {"chat_message": message("TextMessage", text, usage), "inner_messages": inner}}


def test_autogens_runtime_tells_of_a_team_by_messages_alone():
    """autogen-agentchat 0.7 with a tracer provider for its runtime and none for all: agents and tools have no spans."""
    asked = ("ToolCallRequestEvent", [{"id": "c1", "arguments": '{"city":"Oslo"}', "name": "weather"}])
    came = ("ToolCallExecutionEvent", [{"content": "no Oslo", "name": "weather", "call_id": "c1", "is_error": True}])
    task = {"messages": [{"source": "user", "content": "Oslo?", "type": "TextMessage"}]}
    begin = {"messaging.operation": "create"}
    team = [
        span(1, None, f"autogen create {_LEADER}", 1, 0, 1, attributes=begin, scope=_RUNTIME),
        *_sent(2, (1, 1), 0, task, _LEADER, "RoundRobinGroupChatManager"),
        *_sent(3, (2, 23), 1, {}, f"one_{_TEAM}"),
        *_sent(4, (3, 33), 2, _said("one", "None there.", asked, came), _LEADER, "RoundRobinGroupChatManager"),
        *_sent(5, (4, 43), 3, {}, f"two_{_TEAM}"),
    ]
    done = _sent(6, (5, 53), 4, _said("two", "I agree."), _LEADER, "RoundRobinGroupChatManager")
    (run,) = either_way(*team, *done)
    assert called_with(run) == [("weather", "one", "error", "c1")]
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [({"city": "Oslo"}, "no Oslo")]
    assert (run["agents"], run["delegations"]) == (["one", "two"], [])
    assert (run["status"], run["output"], run["llm_calls"]) == ("ok", "I agree.", None)
    failed = _sent(5, (4, 43), 3, {}, f"two_{_TEAM}", error="InternalServerError: boom")
    (run,) = either_way(*team[:-3], *failed)
    assert (run["status"], run["agents"], run["output"]) == ("error", ["one", "two"], None)
    assert "error" in run["boundaries"]
    (run,) = either_way(*team[:4], *failed)
    assert (run["status"], run["agents"], run["tool_calls"]) == ("error", ["two"], None)


def test_autogens_messages_tell_nothing_more_where_its_models_have_spans():
    """The same beside OpenInference, in one trace."""
    asked = ("ToolCallRequestEvent", [{"id": "c1", "arguments": "{}", "name": "weather"}])
    came = ("ToolCallExecutionEvent", [{"content": "sun", "name": "weather", "call_id": "c1", "is_error": False}])
    told = {
        "messaging.operation": "process",
        "recipient_agent_type": _LEADER,
        "recipient_agent_class": "RoundRobinGroupChatManager",
        "message": jsons(_said("one", "Sunny.", asked, came)).replace(": ", ":").replace(", ", ","),
    }
    messages = "llm.output_messages.0.message."
    model = {"openinference.span.kind": "LLM", f"{messages}role": "assistant", f"{messages}content": "Sunny."}
    tool = {"openinference.span.kind": "TOOL", "tool.name": "weather", "output.value": "sun"}
    scope = "openinference.instrumentation.autogen_agentchat"
    (run,) = either_way(
        span(1, None, "autogen process", 1, 0, 9, attributes=told, scope=_RUNTIME),
        span(2, 1, "weather", 1, 1, 1, attributes=tool, scope=scope),
        span(3, 1, "OpenAIChatCompletionClient.create", 1, 3, 1, attributes=model, scope=scope),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["weather"]
    assert (len(run["llm_calls"]), run["output"]) == (1, "Sunny.")


def test_the_text_of_a_stream_of_genkits_is_one():
    """Genkit 0.9 for Python; so are the parts of an answer of Gemini's."""
    model = {"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:name": "openai/m"}
    asked = {"messages": [{"role": "user", "content": [{"text": "Oslo?"}]}]}
    said = {"message": {"role": "model", "content": [{"text": "It is sun"}, {"text": "ny."}]}, "usage": {}}
    told = model | {"genkit:input": jsons(asked), "genkit:output": jsons(said)}
    (run,) = either_way(span(1, None, "openai/m", 1, 0, 1, attributes=told, scope="genkit-tracer"))
    assert (run["input"], run["output"]) == ("Oslo?", "It is sunny.")


def test_early_openlit_tells_a_crews_agents_by_their_roles():
    """crewai 0.102 under openlit 1.33, whose spans of agents bear no name."""
    kind = {"gen_ai.system": "crewai", "gen_ai.operation.name": "agent"}

    def work(id, parent, role, at, took):
        told = kind | {"gen_ai.agent.role": role}
        return span(id, parent, "crewai.agent_execute_task", 1, at, took, attributes=told, kind=3, status=1)

    (run,) = either_way(
        span(1, None, "crewai.task_execute_core", 1, 0, 9, attributes=kind, kind=3, status=1),
        work(2, 1, "planner", 0, 9),
        chat(3, 2, "Hi.", "Hello", at=1),
    )
    assert (run["agents"], run["output"]) == (["planner"], "Hi.")
    assert [c["agent"] for c in run["llm_calls"]] == ["planner"]


def test_litellm_names_keys_by_an_enumeration_and_tells_a_stream_twice():
    """litellm 1.55 with its own `otel` callback under Python 3.11: first with tokens that it guessed."""
    request = {"gen_ai.request.model": "m", "gen_ai.response.model": "m", "llm.request.type": "completion"}
    request |= {"gen_ai.system": "openai", "llm.is_streaming": "True", "gen_ai.response.id": "chatcmpl-8"}
    content = {
        "LLM_REQUEST_FUNCTIONS.0.name": "weather",
        "LLM_PROMPTS.0.role": "user",
        "LLM_PROMPTS.0.content": "Oslo?",
        "LLM_COMPLETIONS.0.role": "assistant",
        "LLM_COMPLETIONS.0.finish_reason": "stop",
        "LLM_COMPLETIONS.0.content": "Sunny.",
    }
    told = request | {f"SpanAttributes.{key}": value for key, value in content.items()}

    def streamed(trace, took, given, answered):
        usage = {"gen_ai.usage.prompt_tokens": given, "gen_ai.usage.completion_tokens": answered}
        return span(trace, None, "litellm_request", trace, 0, took, attributes=told | usage, scope="litellm", status=1)

    (run,) = either_way(streamed(1, 1, 10, 61), streamed(2, 3, 108, 18))
    assert (run["input"], run["output"], run["known_tools"]) == ("Oslo?", "Sunny.", ["weather"])
    assert [list(call.values()) for call in run["llm_calls"]] == [[None, "m", None, 108, 18, "ok", "stop"]]


def test_a_model_that_failed_did_not_answer_and_an_error_without_a_name_has_none():
    """@mastra/otel-exporter 1.4 with @mastra/core 1.71."""
    model = {"gen_ai.response.model": "model-a", "error.type": "unknown"}
    used = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}
    failing = chat(4, 1, None, "Hi", at=5, error="boom", attributes=model)
    failing["attributes"] = {key: value for key, value in failing["attributes"].items() if key not in used}
    (run,) = either_way(
        agent(1, "planner", took=9, error="boom"),
        chat(2, 1, [("c1", "lookup", {"id": "x"})], "Hi", at=1),
        tool(3, 1, "lookup", "c1", at=3, error="no x", attributes={"error.type": "unknown"}),
        failing,
    )
    assert [(c["name"], c["status"], c["error_type"]) for c in run["tool_calls"]] == [("lookup", "error", None)]
    (well,) = either_way(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "lookup", {"id": "x"})], "Hi", at=1),
        tool(3, 1, "lookup", "c1", "none", at=3, error="no x", attributes={"error.type": "unknown"}),
        chat(4, 1, "No.", "Hi", at=5),
    )
    assert well["tool_calls"][0]["error_type"] is None
    assert [(c["request_model"], c["response_model"], c["status"]) for c in run["llm_calls"]] == [
        ("model-a", None, "ok"),
        ("model-a", None, "error"),
    ]


def test_guardrails_says_what_a_span_is_in_a_key_of_its_own():
    """guardrails-ai 0.11."""
    message = "llm.{}_messages.0.message.{}".format
    told = {message("input", "role"): "user", message("input", "content"): "Hi"}
    told |= {message("output", "role"): "assistant", message("output", "content"): "Hello."}
    told |= {"llm.token_count.prompt": 100, "llm.token_count.completion": 10}
    told |= {"llm.invocation_parameters": "{'temperature': 0, 'model': 'openai/m'}"}
    told |= {"input.value": '{"args": []}', "output.value": '{"output": "Hello."}'}
    guard, ours = {"type": "guardrails/guard", "input.value": "{}", "output.value": "Hello."}, "guardrails-ai"
    step = {"type": "guardrails/guard/step", "input.value": '{"args": []}', "output.value": '{"index": 0}'}
    (run,) = either_way(
        span(1, None, "guard", 1, 0, 9, attributes=guard, scope=ours),
        span(2, 1, "step", 1, 1, 7, attributes=step, scope=ours),
        span(3, 2, "call", 1, 2, 5, attributes=told | {"type": "guardrails/guard/step/call"}, scope=ours),
    )
    assert (run["input"], run["output"], run["status"]) == ("Hi", "Hello.", "ok")
    assert [list(call.values())[1:6] for call in run["llm_calls"]] == [["openai/m", None, 100, 10, "ok"]]


def test_a_workflow_of_galileos_frames_what_its_own_spans_and_others_do():
    """galileo 2 with start_galileo_span, whose processor stamps its session on all spans."""
    session = {"galileo.session.id": "s"}
    messages = {"gen_ai.input.messages": [{"role": "user", "content": "Hi"}], "gen_ai.system": "galileo-otel"}
    messages |= {"gen_ai.output.messages": [{"role": "assistant", "content": "Hello."}]}
    (run,) = either_way(
        span(1, None, "ask", 1, 0, 9, attributes=session | messages, scope="galileo-tracer"),
        span(2, 1, "docs", 1, 1, 1, attributes=session | messages | {"db.operation": "search"}, scope="galileo-tracer"),
        chat(3, 1, "Hello.", "Hi", at=3, attributes=session),
    )
    assert (run["input"], run["output"], run["conversation_id"]) == ("Hi", "Hello.", "s")
    assert (len(run["llm_calls"]), run["agents"]) == (1, [])
