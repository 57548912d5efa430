"""More instrumentations that no capture holds yet: agent kits, editors and platforms."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def jsons(value):
    return json.dumps(value)


def words(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def called_with(run):
    return [(c["name"], c["agent"], c["status"], c["call_id"]) for c in run["tool_calls"]]


def of_kind(kind, **more):
    return {"openinference.span.kind": kind} | more


def test_an_agents_span_that_bears_the_name_of_its_tool_is_the_agent_the_arguments_name():
    given = jsons({"subagent_type": "Explore", "prompt": "look"})
    (run,) = runs(
        span(1, None, "ClaudeAgentSDK.query", took=20, attributes=of_kind("AGENT", **{"input.value": "fix it"})),
        span(2, 1, "Task", at=1, took=9, attributes=of_kind("TOOL", **{"tool.name": "Task", "input.value": given})),
        span(3, 2, "ClaudeAgentSDK.Task", at=2, took=7, attributes=of_kind("AGENT", **{"agent.name": "Task"})),
        span(4, 3, "Grep", at=3, attributes=of_kind("TOOL", **{"tool.name": "Grep", "tool.id": "t3"})),
    )
    assert run["agents"] == ["Explore"]
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [("Explore", "Task", "ok")]
    assert called_with(run) == [("Grep", "Explore", "ok", "t3")]


def test_beeai_tells_every_event_of_a_step_by_a_span():
    def bee(id, parent, name, kind, at, took=1, **told):
        attributes = of_kind(kind) | ({"metadata.class_name": name} if took else {"metadata.path": "p"})
        scope = "openinference.instrumentation.beeai"
        return span(
            id, parent, name, at=at, took=took, scope=scope, attributes=attributes | told.pop("told", {}), **told
        )

    model = {"llm.model_name": "m", "llm.token_count.prompt": 5}
    (run,) = runs(
        bee(1, None, "RequirementAgent", "AGENT", 0, 20, told={"agent.name": "a"}),
        bee(2, 1, "start", "AGENT", 0.1, 0),
        bee(3, 1, "ChatModel", "LLM", 1, told=model),
        bee(4, 3, "error", "LLM", 1.2, 0, error="no answer"),
        bee(5, 3, "retry", "LLM", 1.3, 0),
        bee(6, 3, "finish", "LLM", 1.9, 0),
        bee(7, 1, "Weather", "TOOL", 3, 2, status=1, told={"tool.name": "Weather", "output.value": "3"}),
        bee(8, 7, "error", "TOOL", 3.5, 0, error="no connection"),
        bee(9, 1, "ChatModel", "LLM", 6, told=model),
    )
    assert [(c["input_tokens"], c["status"]) for c in run["llm_calls"]] == [(5, "ok"), (5, "ok")]
    assert called_with(run) == [("Weather", "a", "ok", None)]


def test_who_works_after_a_request_to_hand_over_was_handed_to():
    asked = [("c1", "transfer_to_writer", {}), ("c2", "transfer_to_editor", {})]
    (run,) = runs(
        span(1, None, "team", took=30),
        agent(2, "planner", 1, at=1, took=4),
        chat(3, 2, asked, "write", at=2),
        agent(4, "writer", 1, at=6, took=4),
        chat(5, 4, "done", "write", at=7),
    )
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [("planner", "writer", "ok")]


def test_one_tool_can_hand_work_to_several_agents():
    (run,) = runs(
        agent(1, "planner", took=20),
        tool(2, 1, "delegate_task", "c1", "done", at=1, took=9),
        agent(3, "writer", 2, at=2, took=3),
        chat(4, 3, "a text", at=3),
        agent(5, "editor", 2, at=6, took=3),
        chat(6, 5, "a better text", at=7),
    )
    assert [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]] == [
        ("planner", "writer", "tool", "delegate_task"),
        ("planner", "editor", "tool", "delegate_task"),
    ]
    assert run["tool_calls"] == []


def test_what_is_called_the_input_of_a_tools_function_are_its_arguments():
    def given(scope, told):
        (run,) = runs(
            agent(1, "a", took=9), span(2, 1, "Bash", at=1, scope=scope, attributes=told), chat(3, 1, "done", at=3)
        )
        return [c["arguments"] for c in run["tool_calls"]]

    wrapped = jsons({"input": {"command": "ls"}})
    told = {"langsmith.span.kind": "tool", "gen_ai.tool.name": "Bash", "gen_ai.prompt": wrapped}
    assert given("langsmith", told) == [{"command": "ls"}]
    assert given("app", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": wrapped}) == [
        {"input": {"command": "ls"}}
    ]


def test_a_call_that_pydantic_ai_defers_did_not_run():
    told = {"pydantic_ai.tool.deferral.name": "ApprovalRequired"}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "remove", {"path": "x"})], "clean up", at=1),
        tool(3, 1, "remove", "c1", at=3, attributes=told, scope="pydantic-ai"),
    )
    assert called_with(run) == [("remove", "a", "requested", "c1")]


def test_what_pydantic_ai_does_with_an_answer_that_is_text_is_no_tool():
    told = {"logfire.msg": "running output function: upper"}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, "done", "go", at=1),
        tool(3, 1, "upper", None, "DONE", at=3, attributes=told, scope="pydantic-ai"),
    )
    assert (run["tool_calls"], run["output"]) == ([], "done")


def test_a_request_told_without_an_id_and_later_with_one_is_one():
    def asked(**more):
        return {"role": "assistant", "parts": [{"type": "tool_call", "name": "look", "arguments": {}} | more]}

    answer = {"type": "tool_call_response", "id": "c1", "response": "x"}
    history = [words("user", "go"), asked(id="c1"), {"role": "tool", "parts": [answer]}]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, asked="go", at=1, attributes={"gen_ai.output.messages": [asked()]}),
        chat(3, 1, asked=history, at=3),
    )
    assert [(c["name"], c["call_id"], c["result"]) for c in run["tool_calls"]] == [("look", "c1", "x")]


def test_a_workflow_that_calls_an_agent_delegates_nothing():
    def called_by(kind):
        told = {"gen_ai.caller.type": kind, "gen_ai.caller.name": "support"}
        (run,) = runs(
            span(1, None, "invoke_workflow support", took=20, gen_ai__operation__name="invoke_workflow"),
            agent(2, "refund", 1, at=1, took=9, attributes=told),
            chat(3, 2, "done", "refund it", at=2),
        )
        return [(d["from"], d["to"]) for d in run["delegations"]]

    assert called_by("workflow") == []
    assert called_by("agent") == [("support", "refund")]


def test_an_agent_whose_parent_was_filtered_out_was_called_by_the_tool_that_bears_its_name():
    (run,) = runs(
        agent(1, "planner", took=30),
        chat(2, 1, [("c1", "ask_writer", {}), ("c2", "look", {})], "go", at=1),
        tool(3, 1, "ask_writer", "c1", "a text", at=3, took=9),
        tool(4, 1, "look", "c2", "x", at=3, took=9),
        agent(5, "writer", parent=99, at=4, took=7),
        chat(6, 5, "a text", "write", at=5),
        chat(7, 1, "done", at=15),
    )
    assert called_with(run) == [("look", "planner", "ok", "c2")]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "writer", "ask_writer")]


def _flat(side, *told):
    out = {}
    for at, (role, text, *more) in enumerate(told):
        begin = f"llm.{side}_messages.{at}.message."
        out |= {f"{begin}role": role, f"{begin}content": text}
        if role == "tool":
            out[f"{begin}tool_call_id"] = more[0]
        elif more:
            call = {"id": more[0], "function.name": more[1], "function.arguments": "{}"}
            out |= {f"{begin}tool_calls.0.tool_call.{key}": value for key, value in call.items()}
    return out


def test_what_a_model_said_before_is_no_part_of_its_answer():
    def step(id, at, asked, answer):
        return span(id, 1, "chat", at=at, attributes=of_kind("LLM") | _flat("input", *asked) | _flat("output", *answer))

    ask, use, given = ("user", "weather?"), ("assistant", "I look", "c1", "look"), ("tool", "3", "c1")
    (run,) = runs(
        agent(1, "a", took=20),
        step(2, 1, [ask], [use]),
        tool(3, 1, "look", "c1", "3", at=3),
        step(4, 5, [ask, given], [use, ("assistant", "3 degrees")]),
    )
    assert called_with(run) == [("look", "a", "ok", "c1")]
    assert run["output"] == "3 degrees"
    (run,) = runs(agent(1, "a", took=20), step(2, 1, [ask, given], [use, ("assistant", "3 degrees")]))
    assert run["tool_calls"] == []


def test_the_name_of_an_agent_goes_before_the_id_of_its_node():
    def bot(id, parent, name, **more):
        return agent(id, name, parent, attributes=of_kind("AGENT", **{"graph.node.id": "strands_agent"}), **more)

    (run,) = runs(
        bot(1, None, "planner", took=20),
        tool(2, 1, "ask", "c1", "x", at=1, took=9),
        bot(3, 2, "writer", at=2, took=7),
        chat(4, 3, "x", at=3),
        chat(5, 1, "done", at=12),
    )
    assert run["agents"] == ["planner", "writer"]
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "writer")]


def test_who_spoke_last_in_a_team_of_autogen_handed_nothing_over():
    def turn(id, name, before, at):
        told = of_kind("AGENT", **{"graph.node.id": name, "graph.node.parent_id": before})
        scope = "openinference.instrumentation.autogen_agentchat"
        return span(id, 1, f"{name}.on_messages_stream", at=at, took=5, scope=scope, attributes=told)

    (run,) = runs(
        span(1, None, "RoundRobinGroupChat.run_stream", took=30, attributes=of_kind("CHAIN")),
        turn(2, "planner", "start", 1),
        chat(3, 2, "a plan", "go", at=2),
        turn(4, "writer", "planner", 8),
        chat(5, 4, "a text", "go", at=9),
        turn(6, "planner", "writer", 15),
        chat(7, 6, "done", "go", at=16),
    )
    assert run["agents"] == ["planner", "writer"]
    assert run["delegations"] == []


def test_what_parameters_a_tool_has_are_no_arguments():
    def look(id, at, parameters):
        told = {"tool.name": "look", "tool.parameters": jsons(parameters), "input.value": "__REDACTED__"}
        return span(id, 1, "SimpleTool", at=at, attributes=of_kind("TOOL", **told))

    (run,) = runs(
        agent(1, "a", took=9),
        look(2, 1, {"city": {"type": "string", "description": "Where", "nullable": True}}),
        look(3, 3, {"type": "object", "properties": {"city": {"type": "string"}}}),
        look(4, 5, {"city": "Rome", "filter": {"type": "string"}}),
    )
    assert [c["arguments"] for c in run["tool_calls"]] == [None, None, {"city": "Rome", "filter": {"type": "string"}}]


def test_tokens_that_spring_ai_adds_up_are_not_told_as_one_calls():
    def spring(id, parent, name, at, took=1, **told):
        return span(id, parent, name, at=at, took=took, scope="org.springframework.boot", attributes=told)

    def asked(id, parent, at, tokens, finish, **more):
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": finish}
        used = dict(zip(["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"], map(str, tokens), strict=True))
        return spring(id, parent, "chat m", at, **more, **told, **used)

    def look(id, parent, at):
        return spring(id, parent, "tool_call look", at, **{"spring.ai.tool.definition.name": "look"})

    def used(*spans):
        (run,) = runs(spring(1, None, "spring_ai chat_client", 0, 30, **{"spring.ai.kind": "chat_client"}), *spans)
        assert [c["name"] for c in run["tool_calls"]] == ["look"]
        return [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]]

    first = asked(2, 1, 1, (10, 4), '["TOOL_CALLS"]')
    assert used(first, look(3, 1, 4), asked(4, 1, 7, (30, 9), '["STOP"]')) == [(10, 4), (None, None)]
    assert used(first, look(3, 1, 4), asked(4, 1, 7, (20, 2), '["STOP"]')) == [(10, 4), (20, 2)]
    assert used(asked(2, 1, 1, (10, 4), '["STOP"]'), asked(4, 1, 4, (20, 5), "[]"), look(3, 1, 7))[1] == (20, 5)


def _numbered(key, *messages):
    """OpenInference's numbered attributes."""
    return {f"llm.{key}.{i}.message.{name}": v for i, m in enumerate(messages) for name, v in m.items()}


def _asking(*calls):
    told = {"role": "assistant"}
    for i, (call_id, name, given) in enumerate(calls):
        told[f"tool_calls.{i}.tool_call.id"] = call_id
        told[f"tool_calls.{i}.tool_call.function.name"] = name
        told[f"tool_calls.{i}.tool_call.function.arguments"] = jsons(given)
    return told


def _anthropic(*pairs, user="weather?"):
    """One model call after another, each in a trace of its own: what was asked and what came back."""
    used = [{"type": "tool_use", "id": i, "name": n, "input": a} for (i, n, a), _ in pairs]
    back = [{"type": "tool_result", "tool_use_id": i, "content": c} for (i, _, _), c in pairs]
    history = [{"role": "user", "content": user}]
    whole = [*history, {"role": "assistant", "content": used}, {"role": "user", "content": back}]
    calls = [call for call, _ in pairs]
    last = {"role": "user", "tool_call_id": calls[-1][0], "content": pairs[-1][1]}
    first = _numbered("output_messages", _asking(*calls)) | _numbered("input_messages", history[0])
    second = _numbered("input_messages", history[0], _asking(*calls), last)
    second |= _numbered("output_messages", {"role": "assistant", "content": "fine"})
    told = [
        of_kind("LLM", **first, **{"input.value": jsons({"messages": history})}),
        of_kind("LLM", **second, **{"input.value": jsons({"messages": whole})}),
    ]
    return [
        span(i, None, "Anthropic Messages", trace=i, at=3 * i, attributes=attributes)
        for i, attributes in enumerate(told, 1)
    ]


def test_a_result_that_anthropics_user_brings_is_no_request_of_the_user():
    calls = (("c1", "look", {"city": "Oslo"}), "3"), (("c2", "look", {"city": "Rome"}), "9")
    (run,) = runs(*_anthropic(*calls))
    assert [(c["arguments"]["city"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("Oslo", "ok", "3"),  # the flattened message holds the last result alone
        ("Rome", "ok", "9"),
    ]
    assert (run["input"], run["output"]) == ("weather?", "fine")


def test_a_stream_whose_calls_were_run_together_did_not_tell_what_was_asked():
    calls = ("c1", "look", {"city": "Oslo"}), ("c2", "book", {"city": "Rome"})
    together = _asking(("c1", "lookbook", {}))
    together["tool_calls.0.tool_call.function.arguments"] = '{"city":"Oslo"}{"city":"Rome"}'
    results = [{"role": "tool", "tool_call_id": c[0], "content": "ok"} for c in calls]
    asked = {"role": "user", "content": "go"}
    first = _numbered("input_messages", asked) | _numbered("output_messages", together)
    second = _numbered("input_messages", asked, _asking(*calls), *results)
    second |= _numbered("output_messages", {"role": "assistant", "content": "done"})
    (run,) = runs(
        span(1, None, "app", took=9),
        span(2, 1, "OpenAI Chat Completions", at=1, attributes=of_kind("LLM", **first)),
        span(3, 1, "OpenAI Chat Completions", at=3, attributes=of_kind("LLM", **second)),
    )
    assert called_with(run) == [("look", None, "ok", "c1"), ("book", None, "ok", "c2")]
    (cut,) = runs(span(2, None, "OpenAI Chat Completions", attributes=of_kind("LLM", **first)))
    assert cut["tool_calls"] is None


def test_what_a_node_handed_on_before_the_model_was_asked_is_no_answer():
    def node(id, name, at, value=None, **more):
        told = {"input.value": jsons(_said), "output.value": jsons(value)} if value else {"input.value": jsons(_said)}
        return span(id, None if id == 1 else 1, name, at=at, attributes=of_kind("CHAIN", **told), **more)

    _said = {"messages": [{"lc": 1, "id": ["HumanMessage"], "kwargs": {"content": "go", "type": "human"}}]}
    asked = _numbered("input_messages", {"role": "user", "content": "go"})
    asked |= _numbered("output_messages", _asking(("c1", "look", {})))
    (run,) = runs(
        node(1, "LangGraph", 0, took=9, error="GraphRecursionError: Recursion limit of 4 reached"),
        node(2, "__start__", 1, _said),
        span(3, 1, "ChatOpenAI", at=3, attributes=of_kind("LLM", **asked)),
        node(4, "router", 5, {"output": "tools"}),
        span(5, 1, "look", at=7, attributes=of_kind("TOOL", **{"tool.name": "look", "output.value": "3"})),
    )
    assert (run["output"], run["boundaries"]) == (None, ["max_steps"])


def _llm(id, parent, said, answer, at, **more):
    """A model call as OpenInference flattens it: messages as (role, text), the answer as text or one tool call."""
    told = {"llm.model_name": "m", "llm.output_messages.0.message.role": "assistant"}
    for i, (role, text) in enumerate(said):
        told |= {
            f"llm.input_messages.{i}.message.role": role,
            f"llm.input_messages.{i}.message.content": text,
        }
    if isinstance(answer, str):
        told["llm.output_messages.0.message.content"] = answer
    else:
        call = "llm.output_messages.0.message.tool_calls.0.tool_call"
        told |= {
            f"{call}.id": answer[0],
            f"{call}.function.name": answer[1],
            f"{call}.function.arguments": jsons(answer[2]),
        }
    return span(id, parent, "model", at=at, attributes=of_kind("LLM", **told), **more)


def test_what_smolagents_gives_a_tool_beside_its_arguments_is_none_of_them():
    def run_tool(id, at, name, args, kwargs):
        given = jsons({"args": args, "sanitize_inputs_outputs": True, "kwargs": kwargs})
        told = of_kind("TOOL", **{"tool.name": name, "input.value": given, "output.value": "5"})
        return span(id, 1, "SimpleTool", at=at, scope="openinference.instrumentation.smolagents", attributes=told)

    (run,) = runs(
        span(1, None, "coder.run", took=9, attributes=of_kind("AGENT", **{"input.value": jsons({"task": "add"})})),
        run_tool(2, 1, "add", [], {"a": 2, "b": 3}),
        run_tool(3, 3, "add", [4, 1], {}),
    )
    assert [(c["name"], c["arguments"]) for c in run["tool_calls"]] == [("add", {"a": 2, "b": 3}), ("add", None)]


def test_a_result_that_a_span_told_is_not_an_earlier_calls_that_failed():
    def run_tool(id, at, text, **told):
        given = {"tool.name": "look", "input.value": jsons({"args": [], "kwargs": {"x": text}})}
        error = "bad input" if not told else None
        return span(id, 1, "SimpleTool", at=at, attributes=of_kind("TOOL", **given, **told), error=error)

    failed = ("tool-response", "Error:\nError executing tool 'look': ValueError: bad input")
    found = ("tool-response", "Observation:\nfine")
    (run,) = runs(
        span(1, None, "ToolCallingAgent.run", took=20, attributes=of_kind("AGENT", **{"input.value": "go"})),
        _llm(2, 1, [("user", "go")], ("c1", "look", {"x": "bad"}), 1),
        run_tool(3, 3, "bad"),
        _llm(4, 1, [("user", "go"), failed], ("c2", "look", {"x": "good"}), 5),
        run_tool(5, 7, "good", **{"output.value": "fine"}),
        _llm(6, 1, [("user", "go"), failed, ("tool-call", "Calling tools: look"), found], "done", 9),
    )
    assert [(c["call_id"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("c1", "error", failed[1]),
        ("c2", "ok", "fine"),
    ]


def test_a_stream_of_autogen_that_nobody_reads_to_its_end_went_well_and_its_messages_are_no_input():
    message = "id='1' source='user' models_usage=None metadata={} content='add' type='TextMessage'"
    told = of_kind("AGENT", **{"input.value": jsons({"messages": [message], "cancellation_token": "<Token at 0x7f>"})})
    left = ("exception", {"exception.type": "asyncio.exceptions.CancelledError", "exception.message": ""})

    def told_by(**ended):
        (run,) = runs(
            span(1, None, "Calc.on_messages_stream", took=9, attributes=told, events=[left], **ended),
            _llm(2, 1, [("user", "add")], "5", 1),
        )
        return run["status"], run["boundaries"], run["input"]

    assert told_by(status=1) == ("ok", [], "add")
    assert told_by(error="cancelled") == ("unknown", [], "add")


def test_llama_indexs_abbreviated_event_is_no_answer():
    event = "StopEvent(result=AgentOutput(response=ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, cont..."
    (run,) = runs(
        span(1, None, "FunctionAgent.run", took=9, attributes=of_kind("CHAIN", **{"output.value": event})),
        _llm(2, 1, [("user", "add")], "It is 5.", 1),
    )
    assert run["output"] == "It is 5."


def test_a_swarm_of_strands_tells_the_users_words_in_an_event_of_its_own():
    def told(said):
        return [("gen_ai.client.inference.operation.details", {"gen_ai.input.messages": jsons([words("user", said)])})]

    (run,) = runs(
        span(1, None, "invoke_swarm", took=9, events=told("Refund"), gen_ai__operation__name="invoke_swarm"),
        agent(2, "billing", 1, at=1, took=7, events=told("Context:\nUser Request: Refund\n\nOther agents: triage.")),
        chat(3, 2, "Refunded.", "Context:\nUser Request: Refund\n\nOther agents: triage.", at=2),
    )
    assert run["input"] == "Refund"
