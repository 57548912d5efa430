"""More kits for Python: browser-use under Laminar, Azure's SDK, Agency Swarm, Claude's kit, Agenta."""

import json

import pytest

from tests.runs.requests import chat, runs, span

pytestmark = pytest.mark.full

_LMNR = "lmnr.tracer"


def _browsing(id, at, *acts, prompt=None):
    """A step's model call of browser-use, which is told what it wants done as words."""
    told = {"thinking": "t", "evaluation_previous_goal": "ok", "memory": "m", "next_goal": "g", "action": list(acts)}
    state = "<agent_history>\nAgent initialized\n</agent_history>\n\n<agent_state>\n</agent_state>\n<browser_state>\n"
    asked = prompt or f"<user_request>\nfind the price\n</user_request>\n\n{state}Empty\n</browser_state>\n"
    answer = [{"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": json.dumps(told)}}]
    told = {"lmnr.span.type": "LLM", "gen_ai.system": "openai", "gen_ai.request.model": "m"}
    told |= {"gen_ai.input.messages": json.dumps([{"role": "user", "content": asked}])}
    told |= {"gen_ai.output.messages": json.dumps(answer), "gen_ai.usage.input_tokens": 9}
    return span(id, 1, "openai.chat", at=at, attributes=told, scope=_LMNR)


def _act(id, at, name, params, came):
    given = json.dumps({"action": name, "params": params}, separators=(",", ":"))
    if isinstance(came, dict):
        came = {"is_done": name == "done", "success": None, "error": None, "extracted_content": None} | came
    told = {"lmnr.span.type": "TOOL", "lmnr.span.input": given, "lmnr.span.output": json.dumps(came)}
    return span(id, 1, name, at=at, attributes=told, scope=_LMNR)


def _browser(*steps):
    (run,) = runs(span(1, None, "agent.run", took=30, scope=_LMNR, attributes={"lmnr.span.type": "DEFAULT"}), *steps)
    return run


def test_what_browser_use_does_is_told_in_frames_of_its_own_and_done_is_its_answer():
    """browser-use 0.13.14 and lmnr 0.8.2: an action that failed says so in what it gave alone."""
    run = _browser(
        _browsing(2, 0, {"navigate": {"url": "http://a", "new_tab": False}}, {"weather": {"city": "Atlantis"}}),
        _act(3, 2, "navigate", {"url": "http://a", "new_tab": False}, {"extracted_content": "Navigated to http://a"}),
        _act(4, 4, "weather", {"city": "Atlantis"}, {"error": "Error executing action weather: no such city"}),
        _browsing(5, 6, {"weather": {"city": "Oslo"}}),
        _act(6, 8, "weather", {"city": "Oslo"}, "cold"),
        _browsing(7, 10, {"done": {"text": "It is 12", "success": True}}),
        _act(8, 12, "done", {"text": "It is 12", "success": True}, {"extracted_content": "It is 12", "success": True}),
    )
    assert [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("navigate", {"url": "http://a", "new_tab": False}, "ok", "Navigated to http://a"),
        ("weather", {"city": "Atlantis"}, "error", "Error executing action weather: no such city"),
        ("weather", {"city": "Oslo"}, "ok", "cold"),
    ]
    assert (run["input"], run["output"], run["status"]) == ("find the price", "It is 12", "ok")


def test_browser_use_that_ends_on_what_it_wants_to_do_next_may_have_met_its_limit():
    run = _browser(_browsing(2, 0, {"wait": {"seconds": 1}}), _act(3, 2, "wait", {"seconds": 1}, {}), _browsing(4, 5))
    assert (run["status"], run["output"]) == ("unknown", None)
    assert "max_steps" in run["boundaries_unknown"]


def test_a_tool_whose_parameters_are_an_action_and_its_params_is_no_step_of_browser_uses():
    run = _browser(_act(3, 2, "act", {"x": 1}, "fine") | {"name": "robot"})
    assert [(c["name"], c["arguments"]) for c in run["tool_calls"]] == [
        ("robot", {"action": "act", "params": {"x": 1}})
    ]


def test_calls_of_which_only_ids_are_told_are_gone_on_with_by_these():
    """azure-ai-projects 2.10 without content, each call in a trace of its own: neither names nor words are told."""
    scope = "azure.core.tracing.ext.opentelemetry_span"
    told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "microsoft.foundry", "gen_ai.request.model": "m"}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_02v6IfJFEcZr"}]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_02v6IfJFEcZr"}]}
    said = {"role": "assistant", "parts": [{"type": "text"}], "finish_reason": "completed"}
    first = {
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text"}]}],
        "gen_ai.output.messages": [asked],
    }
    then = {"gen_ai.input.messages": [back], "gen_ai.output.messages": [said]}
    (run,) = runs(
        span(1, None, "chat m", at=0, attributes=told | first, scope=scope, kind=3, status=1),
        span(2, None, "chat m", 2, 4, attributes=told | then, scope=scope, kind=3, status=1),
    )
    assert len(run["llm_calls"]) == 2
    assert [(c["name"], c["call_id"], c["status"]) for c in run["tool_calls"]] == [
        (None, "call_02v6IfJFEcZr", "unknown")
    ]


def test_a_transfer_that_names_whom_it_is_to_twice_is_one_handoff():
    """Agency Swarm 1.11 under OpenInference: the tool's name tells it, and its argument."""
    scope = "openinference.instrumentation.openai_agents"
    call = {
        "tool_calls.0.tool_call.id": "call_pwqMOzKWEzVP",
        "tool_calls.0.tool_call.function.name": "transfer_to_Booker",
    }
    call |= {"tool_calls.0.tool_call.function.arguments": '{"recipient_agent": "Booker"}', "role": "assistant"}
    asked = {f"llm.output_messages.0.message.{key}": value for key, value in call.items()}
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Booked."}

    def of(id, parent, name, kind, at, took=1, **told):
        told = {"openinference.span.kind": kind} | told
        return span(id, parent, name, at=at, took=took, attributes=told, scope=scope, status=1)

    (run,) = runs(
        of(1, None, "Unnamed Agency", "AGENT", 0, 20),
        of(2, 1, "CEO", "AGENT", 1, 5, **{"graph.node.id": "CEO"}),
        of(3, 2, "response", "LLM", 2, **asked),
        of(4, 2, "handoff to Booker", "TOOL", 4, **{"input.value": "CEO", "output.value": "Booker"}),
        of(5, 1, "Booker", "AGENT", 7, 9, **{"graph.node.id": "Booker", "graph.node.parent_id": "CEO"}),
        of(6, 5, "response", "LLM", 8, **said),
    )
    told = [(d["from"], d["to"], d["form"], d["tool"], d["status"]) for d in run["delegations"]]
    assert told == [("CEO", "Booker", "handoff", "transfer_to_Booker", "ok")]


def test_logfire_begins_a_call_of_claudes_kit_at_each_result_though_others_are_on_their_way():
    """logfire 5.4 and claude-agent-sdk 0.2.189: what stays without a model and an answer is no call."""
    scope = "logfire.claude_agent_sdk"
    go = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]

    def of(id, at, name, operation, parent=1, **told):
        told = {"gen_ai.operation.name": operation, "gen_ai.system": "anthropic", "logfire.span_type": "span"} | told
        return span(id, parent, name, at=at, attributes=told, scope=scope)

    def asked(id, at, part, finish=None):
        said = [{"role": "assistant", "parts": [part]}]
        told = {"gen_ai.request.model": "m", "gen_ai.response.model": "m", "gen_ai.response.id": f"msg_{id}"}
        told |= {"gen_ai.response.finish_reasons": [finish]} if finish else {}
        messages = {"gen_ai.input.messages": go, "gen_ai.output.messages": said}
        return of(id, at, "chat m", "chat", **told, **messages)

    def ran(id, at, call, result):
        told = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": call, "gen_ai.tool.call.arguments": "{}"}
        return of(id, at, "execute_tool look", "execute_tool", **told, **{"gen_ai.tool.call.result": result})

    call = {"type": "tool_call", "id": "toolu_sePWQM47O0", "name": "look", "arguments": {}}
    (run,) = runs(
        of(1, 0, "invoke_agent", "invoke_agent", None, **{"gen_ai.input.messages": go}) | {"took": 20},
        asked(2, 1, call),
        *(ran(3, 2, "toolu_sePWQM47O0", "cold"), ran(4, 4, "toolu_ke5N5SOoxI", "warm")),
        of(5, 4.1, "chat", "chat", **{"gen_ai.input.messages": go}),
        asked(6, 6, {"type": "text", "content": "done"}, "end_turn"),
        of(7, 8, "chat", "chat", **{"gen_ai.input.messages": go}),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "ok"]
    assert (run["output"], [(c["result"], c["turn"]) for c in run["tool_calls"]]) == (
        "done",
        [("cold", 0), ("warm", None)],
    )


_ADDS = {"type": "tool_use", "id": "toolu_zrD2pwBwgr", "name": "add", "input": {"a": 1}}


def _langsmith(id, parent, name, kind, at, given, came, took=1, **more):
    """LangSmith 0.15.1 of claude-agent-sdk 0.2.189."""
    told = {"langsmith.span.kind": kind, "langsmith.metadata.ls_integration": "claude-agent-sdk"}
    told |= {"langsmith.metadata.model": "m", "gen_ai.prompt": given, "gen_ai.completion": came} | more.pop("told", {})
    return span(id, parent, name, at=at, took=took, attributes=told, scope="langsmith", status=1, **more)


def _conversation(came, *steps, **told):
    told = {f"langsmith.metadata.{key}": value for key, value in told.items()}
    whole = json.dumps(came, separators=(",", ":"))
    (run,) = runs(
        _langsmith(1, None, "claude.conversation", "chain", 0, {"prompt": "go"}, whole, 20, told=told), *steps
    )
    return run


def _turn(id, at, part, counted=40, model="m"):
    told = {"gen_ai.request.model": model, "gen_ai.operation.name": "chat"}
    told |= {"langsmith.metadata.usage_metadata": json.dumps({"input_tokens": 27, "output_tokens": counted})}
    asked = {"messages": [{"role": "user", "content": "go"}]}
    return _langsmith(
        id, 1, "claude.assistant.turn", "llm", at, asked, {"content": [part], "role": "assistant"}, told=told
    )


def test_a_conversation_of_claudes_that_langsmith_says_failed_did_so_though_its_span_ends_well():
    last = {"role": "tool", "content": "2", "tool_call_id": "toolu_zrD2pwBwgr"}
    run = _conversation(last, _turn(2, 1, _ADDS), is_error="True", num_turns=2, max_turns=1)
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, ["max_steps"])
    words = {"type": "text", "text": "API Error: 400 no"}
    run = _conversation(
        {"content": [words], "role": "assistant"}, _turn(2, 1, words, 0, "<synthetic>"), is_error="True"
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, ["error"])
    assert [(c["request_model"], c["status"], c["input_tokens"]) for c in run["llm_calls"]] == [("m", "error", None)]


def test_what_was_counted_when_an_answer_of_claudes_began_is_not_what_it_took():
    words = {"type": "text", "text": "All is said and done"}
    run = _conversation({"content": [words], "role": "assistant"}, _turn(2, 1, words, 1), is_error="False")
    assert (run["status"], run["output"], run["llm_calls"][0]["output_tokens"]) == ("ok", words["text"], None)


def test_a_tool_of_claudes_that_was_under_way_when_the_conversation_ended_did_not_fail():
    thrown = {"exception.type": "Exception", "exception.message": "Tool run not completed (conversation ended)"}
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": _ADDS["id"]}
    more = {"told": told, "events": [("exception", thrown)], "error": ""}
    words = {"type": "text", "text": "done"}
    run = _conversation(
        {"content": [words], "role": "assistant"},
        *(_turn(2, 1, _ADDS), _langsmith(3, 1, "add", "tool", 3, {"input": {"a": 1}}, {}, **more), _turn(4, 6, words)),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("add", "unknown")]
    assert "tool_failure" not in run["boundaries"]


def test_agenta_tells_each_argument_and_each_field_of_a_result_by_an_attribute():
    """agenta 0.125.1, decorators alone: JSON has a word before it, and the outermost function is a workflow."""

    def of(id, parent, name, node, at, took=1.0, **told):
        told = {f"ag.data.{key}": value for key, value in told.items()} | {"ag.type.node": node}
        return span(id, parent, name, at=at, took=took, attributes=told, scope="agenta.tracer")

    call = {"id": "call_EN5TTtBUXl", "type": "function", "function": {"name": "look", "arguments": '{"city": "Oslo"}'}}
    go = {"role": "user", "content": "go"}
    later = [
        go,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "cold"},
    ]
    word = "@ag.type=json:"
    (run,) = runs(
        of(1, None, "planner", "workflow", 0, 20, **{"inputs.text": "go", "outputs.__default__": "done"}),
        of(
            2,
            1,
            "call_model",
            "CHAT",
            1,
            **{"inputs.messages": word + json.dumps([go])},
            **{"outputs.tool_calls": word + json.dumps([call])},
        ),
        of(3, 1, "look", "TOOL", 3, **{"inputs.city": "Oslo", "outputs.__default__": "cold"}),
        of(4, 1, "call_model", "CHAT", 5, **{"inputs.messages": word + json.dumps(later), "outputs.content": "done"}),
    )
    assert (run["status"], run["input"], run["output"], len(run["llm_calls"])) == ("ok", "go", "done", 2)
    told = [(c["name"], c["arguments"], c["status"], c["result"], c["turn"]) for c in run["tool_calls"]]
    assert told == [("look", {"city": "Oslo"}, "ok", "cold", 0)]


def test_a_turn_that_orq_says_failed_ended_the_run_and_nobody_knows_which_model_a_response_was_asked_of():
    """orq-ai-sdk 4.17.13 of openai-agents: all around a tool that nobody has ends well."""
    scope = "orq_ai_sdk.openai_agents_instrumentation.instrumentor"
    call = {"type": "tool_call", "id": "call_3VkLMGmDpi", "name": "teleport", "arguments": "{}"}
    asked = [{"role": "assistant", "parts": [call], "finish_reason": "tool_call"}]
    whose = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner", "gen_ai.output.messages": asked}
    told = {"openai.api.type": "responses", "gen_ai.response.model": "m-2024-07-18"}
    (run,) = runs(
        span(1, None, "invoke_agent planner", took=20, scope=scope, status=1, attributes=whose),
        span(2, 1, "turn", took=9, scope=scope, error="Tool not found: {'tool_name': 'teleport'}"),
        chat(3, 2, [("call_3VkLMGmDpi", "teleport", {})], "go", at=1, scope=scope, status=1, attributes=told),
    )
    assert (run["status"], run["output"]) == ("error", None)
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [(None, "m-2024-07-18")]


def test_promptlayer_tells_of_openais_agents_by_keys_of_its_own():
    """promptlayer 1.5.16: the calls of an answer stand as JSON among numbered attributes."""

    def of(id, parent, title, kind, at, took=1.0, /, **told):
        told = {f"openai_agents.{kind}.{key}": value for key, value in told.items()} | {"openai_agents.span_type": kind}
        return span(
            id, parent, title, at=at, took=took, attributes=told, scope="promptlayer.integrations.openai_agents"
        )

    def response(id, parent, at, **said):
        made = of(id, parent, "LLM call", "response", at)
        made["attributes"] |= {
            "gen_ai.request.model": "m-1",
            "gen_ai.response.model": "m-1",
            "gen_ai.prompt.0.role": "user",
        }
        made["attributes"] |= {"gen_ai.prompt.0.content": "go", "gen_ai.completion.0.role": "assistant"}
        made["attributes"] |= {f"gen_ai.completion.0.{key}": value for key, value in said.items()}
        return made

    asked = [{"arguments": {"flight": "LH1"}, "id": "call_VwRuX28xn6", "name": "book", "type": "tool_call"}]
    (run,) = runs(
        span(1, None, "OpenAI session", took=30, scope="promptlayer.integrations.openai_agents"),
        of(2, 1, "LLM session", "agent", 0, 6, name="front"),
        of(3, 2, "Handoff", "handoff", 4, from_agent="front", to_agent="booker"),
        of(4, 1, "LLM session", "agent", 7, 20, name="booker"),
        response(5, 4, 8, tool_calls=json.dumps(asked)),
        of(6, 4, "Tool: book", "function", 10, name="book", input='{"flight": "LH1"}', output="booked"),
        response(7, 4, 12, content="Booked."),
    )
    assert (run["agents"], run["output"]) == (["booker", "front"], "Booked.")
    told = [(c["name"], c["agent"], c["arguments"], c["status"], c["result"], c["turn"]) for c in run["tool_calls"]]
    assert told == [("book", "booker", {"flight": "LH1"}, "ok", "booked", 0)]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("front", "booker", "handoff")]
    assert [c["request_model"] for c in run["llm_calls"]] == [None, None]
