"""Kits, gateways and platforms that no package here brings, by spans written as their public sources write them."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

pytestmark = pytest.mark.full


def _user(text):
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def _asks(*calls):
    return {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls],
    }


def _says(text):
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


_VSCODE = "copilot-chat"


def _copilot(took=20, said="Done.", tools=()):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "GitHub Copilot Chat"}
    told |= {"gen_ai.conversation.id": "s1", "copilot_chat.session_id": "s1", "copilot_chat.turn_count": 2}
    told |= {"gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 5, "gen_ai.request.model": "gpt-4o"}
    told |= {"gen_ai.input.messages": json.dumps([_user("do it")])}
    told |= {"gen_ai.output.messages": json.dumps([_says(said)])} if said else {}
    return span(1, None, "invoke_agent GitHub Copilot Chat", took=took, scope=_VSCODE, status=1, attributes=told)


def _vscode_chat(id, parent, at, asked, answer, purpose="panel/editAgent"):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.agent.name": purpose}
    told |= {"gen_ai.response.model": "gpt-4o", "gen_ai.usage.input_tokens": 15, "gen_ai.usage.output_tokens": 2}
    told |= {"gen_ai.conversation.id": f"r{id}", "copilot_chat.request.max_prompt_tokens": 128000}
    told |= {"gen_ai.response.finish_reasons": '["stop"]', "gen_ai.response.id": f"q{id}"}
    told |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps([answer])}
    return span(id, parent, "chat gpt-4o", at=at, kind=3, scope=_VSCODE, attributes=told)


def _vscode_tool(id, at, call, given, gave=None, **more):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "readFile", "gen_ai.tool.call.id": call}
    told |= {"gen_ai.tool.call.arguments": json.dumps(given)}
    told |= {"gen_ai.tool.call.result": gave} if gave else {"error.type": "Error"}
    return span(id, 1, "execute_tool readFile", at=at, scope=_VSCODE, attributes=told, **more)


def _as_text(role, parts):
    return {"role": role, "parts": [{"type": "text", "content": json.dumps(parts, separators=(",", ":"))}]}


_CALLS = (("c1", "readFile", '{"p":"a"}'), ("c2", "readFile", '{"p":"b"}'))
_BACK = [
    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "AAA"}]},
    {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "nothing there"}]},
]
_ASKED = [{"type": "tool_use", "id": i, "name": n, "input": json.loads(a)} for i, n, a in _CALLS]
_FIRST = [_as_text("user", [{"type": "text", "text": "<userRequest>do it</userRequest>"}])]


def _reads_two():
    """microsoft/vscode-copilot-chat (src/extension/prompt/node/chatMLFetcher.ts): what Anthropic's messages hold."""
    return [
        _copilot(),
        _vscode_chat(2, 1, 1, _FIRST, _asks(*_CALLS)),
        _vscode_tool(3, 3, "c1", {"p": "a"}, "AAA", status=1),
        _vscode_tool(4, 3.2, "c2", {"p": "b"}, error="no b"),
        _vscode_chat(5, 1, 6, [*_FIRST, _as_text("assistant", _ASKED), _as_text("user", _BACK)], _says("Done.")),
    ]


def test_what_copilot_chat_asks_a_model_for_is_no_agent_and_its_requests_id_no_conversation():
    (run,) = agreed(*_reads_two())
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("readFile", "ok", "AAA"),
        ("readFile", "error", "nothing there"),
    ]
    assert [(c["response_model"], c["input_tokens"], c["finish_reason"]) for c in run["llm_calls"]] == [
        (None, 15, None),
        (None, 15, None),
    ]
    assert (run["agents"], run["conversation_id"], run["input"]) == (["GitHub Copilot Chat"], "s1", "do it")
    (run,) = agreed(_vscode_chat(2, None, 1, [_user("Write a title")], _says("A title"), "title"))
    assert (run["agents"], run["conversation_id"], run["output"]) == ([], None, "A title")


def test_parts_that_are_told_as_the_text_of_a_message_are_what_they_hold():
    (run,) = agreed(*(s for s in _reads_two() if s["id"] not in (1, 4)))
    assert run["input"] == "<userRequest>do it</userRequest>"
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("ok", "AAA"), ("unknown", "nothing there")]


def test_what_stands_in_a_history_without_a_word_may_be_what_a_tool_gave():
    """The same of OpenAI's Responses, whose items have no role, and lose all they hold."""
    first, second = _vscode_chat(2, 1, 1, _FIRST, _asks(*_CALLS)), [*_FIRST, *[{"parts": []}] * 4]
    read = _vscode_tool(3, 3, "c1", {"p": "a"}, "AAA", status=1)
    (run,) = agreed(_copilot(), first, read, _vscode_chat(5, 1, 6, second, _says("Done.")))
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "unknown"]


@pytest.mark.parametrize("called", [True, False])
def test_copilot_chat_that_a_server_refused_ends_well(called):
    """The span of a model's call that a server refuses is never ended."""
    steps = [_vscode_chat(2, 1, 1, _FIRST, _asks(*_CALLS)), _vscode_tool(3, 3, "c1", {"p": "a"}, "AAA", status=1)]
    (run,) = agreed(_copilot(said=None), *(steps if called else []))
    assert (run["status"], run["output"]) == ("unknown", None)


def _net(id, parent, name, at, took, scope="Microsoft.Agents.AI.Workflows", **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, scope=scope, attributes=told)


def _worked(id, parent, name, at, asked, said):
    """microsoft/agent-framework (dotnet: Microsoft.Agents.AI/OpenTelemetryAgent.cs), hosted by an executor."""
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.agent.id": "ab12"}
    told |= {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 4}
    told |= {"gen_ai.input.messages": json.dumps([_user(asked)]), "gen_ai.output.messages": json.dumps([_says(said)])}
    return _net(id, parent, f"invoke_agent {name}(ab12)", at, 5, "Experimental.Microsoft.Agents.AI", **told)


def _answered(id, parent, at, asked, said):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.output_tokens": 4}
    told |= {"gen_ai.input.messages": json.dumps([_user(asked)]), "gen_ai.output.messages": json.dumps([_says(said)])}
    return _net(id, parent, "chat gpt-4o", at, 1, "Experimental.Microsoft.Extensions.AI", **told)


@pytest.mark.parametrize("lost", [None, 8])
def test_an_agent_that_counts_what_a_model_said_worked_though_no_step_of_its_is_seen(lost):
    steps = [
        _net(1, None, "workflow.session", 0, 30, workflow__id="w", session__id="s1"),
        _net(2, 1, "workflow_invoke", 0.1, 29, workflow__id="w", session__id="s1"),
        _net(3, 2, "executor.process Finder_1", 1, 6, executor__id="Finder_1"),
        _worked(4, 3, "Finder", 1.1, "Write about cats", "Facts."),
        _answered(5, 4, 2, "Write about cats", "Facts."),
        _net(6, 2, "executor.process Writer_2", 11, 6, executor__id="Writer_2"),
        _worked(7, 6, "Writer", 11.1, "Facts.", "Cats are great."),
        _answered(8, 7, 12, "Facts.", "Cats are great."),
    ]
    (run,) = agreed(*(s for s in steps if s["id"] != lost))
    assert (run["input"], run["output"], run["agents"]) == (
        "Write about cats",
        "Cats are great.",
        ["Finder", "Writer"],
    )
    assert run["incomplete"] == (["missing step"] if lost else [])


_ADK = "gcp.vertex.agent"


def _go(id, parent, name, at, took, **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, scope=_ADK, attributes=told)


def _generated(id, parent, at, asked, answer):
    told = {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gemini"}
    told |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps([answer])}
    return _go(id, parent, "generate_content gemini", at, 1, **told)


def _boss():
    """google/adk-go (internal/telemetry/functionaltest/testdata/delegation): an agent as a tool, run by a runner."""
    asks = {"role": "assistant", "parts": [{"type": "tool_call", "name": "helper", "arguments": {"request": "do it"}}]}
    back = {"type": "tool_call_response", "name": "helper", "response": {"result": "did"}}
    then = [_user("hello"), asks, {"role": "tool", "parts": [back]}]
    flow, invoked = {"gen_ai.operation.name": "invoke_workflow"}, {"gen_ai.operation.name": "invoke_agent"}
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "helper", "gen_ai.tool.call.id": "adk-1"}
    ran |= {"gen_ai.tool.call.arguments": '{"request": "do it"}', "gen_ai.tool.call.result": '{"result": "did"}'}
    nested = {"gen_ai.workflow.name": "helper", "gen_ai.workflow.nested": True, "gen_ai.conversation.id": "s2"}
    return [
        _go(1, None, "invoke_workflow boss", 0, 20, **flow, **{"gen_ai.conversation.id": "s1"}),
        _go(2, 1, "invoke_agent boss", 0.1, 19, **invoked, **{"gen_ai.agent.name": "boss"}),
        _generated(3, 2, 1, [_user("hello")], asks),
        _go(4, 2, "execute_tool helper", 3, 5, **ran),
        _go(5, 4, "invoke_workflow helper", 3.1, 4.5, **flow, **nested),
        _go(
            6, 5, "invoke_agent helper", 3.2, 4, **invoked, gen_ai__agent__name="helper", gen_ai__conversation__id="s2"
        ),
        _generated(7, 6, 4, [_user("do it")], _says("did")),
        _generated(8, 2, 10, then, _says("all done")),
    ]


def test_a_workflow_that_a_tool_of_its_name_runs_is_an_agents():
    (run,) = agreed(*(s for s in _boss() if s["id"] != 6))
    assert (run["tool_calls"], run["agents"], run["conversation_id"]) == ([], ["boss", "helper"], "s1")


def test_the_conversation_of_an_agent_that_a_tool_runs_is_not_that_of_the_run():
    (run,) = agreed(*(s for s in _boss() if s["id"] != 2))
    assert (run["conversation_id"], run["input"]) == (None, "hello")


@pytest.mark.parametrize("lost", [None, 5])
def test_what_another_agent_handed_on_is_not_what_the_user_asked(lost):
    """google/adk-go (testdata/dynamicworkflow): agents that a node of a workflow asks one after another."""
    steps = [
        _go(1, None, "invoke_workflow flow", 0, 20, gen_ai__operation__name="invoke_workflow"),
        _go(3, 1, "invoke_node router", 1, 15, gen_ai__operation__name="invoke_node"),
        _go(4, 3, "invoke_agent first", 1.2, 3, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="first"),
        _generated(5, 4, 2, [_user("hello")], _says("task complete")),
        _go(6, 3, "invoke_agent second", 6, 4, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="second"),
        _generated(7, 6, 7, [_user("TASK COMPLETE")], _says("sum")),
    ]
    (run,) = agreed(*(s for s in steps if s["id"] != lost))
    assert (run["input"], run["output"], run["agents"]) == (None if lost else "hello", "sum", ["first", "second"])


@pytest.mark.parametrize("name", ["mcp.tool.weather", "tool:weather", "tool.weather", "execute_tool.weather"])
def test_a_tools_span_may_name_it_after_the_kind(name):
    """maximhq/bifrost (plugins/otel: opentelemetry.go), which leaves out a tool's name with what was said."""
    ran = {"gen_ai.operation.name": "execute_tool"}
    asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 2}
    (run,) = agreed(
        span(1, None, "/v1/chat/completions", took=9, kind=2, scope="bifrost"),
        span(2, 1, "llm.call", at=1, kind=3, scope="bifrost", attributes=asked),
        span(3, 1, name, at=3, kind=3, scope="bifrost", attributes=ran),
        span(4, 1, name.replace("weather", "look-up"), at=3, kind=3, scope="bifrost", attributes=ran),
    )
    assert sorted(c["name"] for c in run["tool_calls"]) == ["look-up", "weather"]


@pytest.mark.parametrize(
    ("key", "value", "status"),
    [
        ("gen_ai.tool.is_error", "true", "error"),
        ("tool.result.is_error", True, "error"),
        ("mcp.is_error", True, "error"),
        ("tool.ok", False, "error"),
        ("tool.ok", True, "ok"),
        ("tool.error", True, "error"),
        ("gen_ai.tool.outcome", "denied", "unknown"),
        ("gen_ai.tool.call.outcome", "denied", "error"),  # Rig's word for a tool that ran
    ],
)
def test_how_a_tool_went_is_told_by_many_words(key, value, status):
    told = {"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "no rows", key: value}
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    told = ran | told
    (run,) = agreed(span(1, None, "run", took=9), span(2, 1, "execute_tool look", at=1, attributes=told))
    assert [c["status"] for c in run["tool_calls"]] == [status]


@pytest.mark.parametrize("told", [True, False])
def test_what_lies_below_a_tool_that_calls_an_agent_nobody_names_is_not_the_callers_work(told):
    """microsoft/vscode-copilot-chat (claudeMessageDispatch.ts): Claude's agents have no spans of their own."""
    given = {"subagent_type": "Explore", "prompt": "look around"}
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Agent", "gen_ai.tool.call.id": "toolu_01A"}
    ran |= {"gen_ai.tool.call.arguments": json.dumps(given)} if told else {}
    grep = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Grep", "gen_ai.tool.call.id": "toolu_01B"}
    asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 2}
    asked |= {"copilot_chat.request.max_prompt_tokens": 9, "gen_ai.agent.name": "claude"}
    who = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "claude", "copilot_chat.turn_count": 2}
    (run,) = agreed(
        span(1, None, "invoke_agent claude", took=30, scope=_VSCODE, status=1, attributes=who),
        span(2, 1, "chat m", at=1, kind=3, scope=_VSCODE, attributes=asked),
        span(3, 1, "execute_tool Agent", at=3, took=9, scope=_VSCODE, status=1, attributes=ran),
        span(4, 3, "chat m", at=4, kind=3, scope=_VSCODE, attributes=asked),
        span(5, 3, "execute_tool Grep", at=6, scope=_VSCODE, status=1, attributes=grep),
        span(6, 3, "chat m", at=8, kind=3, scope=_VSCODE, attributes=asked),
        span(7, 1, "chat m", at=14, kind=3, scope=_VSCODE, attributes=asked),
    )
    whose = "Explore" if told else None
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("Grep", whose)]
    assert [c["agent"] for c in run["llm_calls"]] == ["claude", whose, whose, "claude"]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("claude", whose, "Agent")]


@pytest.mark.parametrize(("why", "met"), [("max_iters", ["max_steps"]), ("normal", [])])
def test_an_agent_of_agentscopes_for_java_says_that_it_met_its_limit(why, met):
    """TencentCloud/tencentcloud-agentobs-sdk-agentscope-java, of its events."""
    who = {"gen_ai.span.kind": "agent", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "main"}
    who |= {"gen_ai.finish_reason": why, "gen_ai.input.messages": json.dumps([_user("hello")])}
    who |= {"gen_ai.output.messages": json.dumps([_says("It is one.")])}
    asked = {"gen_ai.span.kind": "chat", "gen_ai.operation.name": "chat", "gen_ai.request.model": "hunyuan"}
    asked |= {"gen_ai.usage.output_tokens": 4, "gen_ai.response.finish_reasons": '["stop"]'}
    asked |= {"gen_ai.output.messages": json.dumps([_says("It is one.")])}
    (run,) = agreed(
        span(1, None, "invoke_agent main", took=9, attributes=who),
        span(2, 1, "chat hunyuan", at=1, kind=3, attributes=asked),
    )
    assert run["boundaries"] == met
