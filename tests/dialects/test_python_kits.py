"""Kits for Python by what their instrumentations tell: Haystack, Strands, AG2, OpenAI's and Claude's."""

import json

import pytest

from tests.dialects.test_python_clients import called_with, flat, request_of, step_of
from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def test_early_openinference_names_agents_of_openais_kit_by_their_spans():
    def step(*place, **told):
        return step_of(*place, **told) | {"scope": "openinference.instrumentation.openai_agents"}

    asked = flat(
        {"input": [{"role": "user", "content": "go"}], "output": [request_of("c1", "transfer_to_worker", "{}")]}
    )
    done = flat({"input": [{"role": "user", "content": "go"}], "output": [{"role": "assistant", "content": "Done."}]})
    system = {"llm.system": "openai"}
    (run,) = runs(
        step(1, None, "Support", "AGENT", 0, 20),
        step(2, 1, "planner", "AGENT", 1, 5, **system),
        step(3, 2, "response", "LLM", 2, **asked, **system),
        step(4, 2, "handoff to worker", "TOOL", 4, **system),
        step(5, 1, "worker", "AGENT", 7, 9, **system),
        step(6, 5, "response", "LLM", 8, **done, **system),
    )
    assert run["agents"] == ["planner", "worker"]
    assert [(d["from"], d["to"], d["form"], d["status"]) for d in run["delegations"]] == [
        ("planner", "worker", "handoff", "ok")
    ]


def _written(role, *parts):
    return (
        f"ChatMessage(_role=<ChatRole.{role.upper()}: '{role}'>, _content=[{', '.join(parts)}], _name=None, _meta={{}})"
    )


def test_what_came_of_haystacks_calls_stands_in_the_repr_of_its_messages():
    call = "ToolCall(tool_name='weather', arguments={'city': 'Oslo'}, id='c1', extra=None)"
    came = f'ToolCallResult(result="it\'s (cold", origin={call}, error=True)'
    question, asked = _written("user", "TextContent(text='Oslo?')"), _written("assistant", call)
    history = {"input.value": json.dumps({"messages": [question, asked, _written("tool", came)]})}
    listed = [{"role": "user", "content": "Oslo?"}, {"role": "assistant"}, {"role": "tool"}]
    first = flat({"input": listed[:1], "output": [request_of("c1", "weather", '{"city": "Oslo"}')]})
    last = flat({"input": listed, "output": [{"role": "assistant", "content": "Cold."}]})
    (run,) = runs(
        step_of(1, None, "Pipeline.run", "CHAIN", 0, 20),
        step_of(2, 1, "Generator.run", "LLM", 1, **first),
        step_of(3, 1, "Generator.run", "LLM", 5, **last | history),
    )
    assert called_with(run) == [("weather", {"city": "Oslo"}, "error", "it's (cold")]


def test_haystacks_agent_alone_in_a_pipeline_is_a_run_whose_calls_are_unknown():
    told = {"input.value": json.dumps({"messages": [_written("user", "TextContent(text='Oslo?')")]})}
    told["output.value"] = json.dumps({"messages": [_written("assistant", "TextContent(text='Cold.')")]})
    scope = {"scope": "openinference.instrumentation.haystack"}
    (run,) = runs(
        step_of(1, None, "Pipeline.run", "CHAIN", 0, 20) | scope,
        step_of(2, 1, "Agent.run", "CHAIN", 1, 9, **told) | scope,
    )
    assert (run["input"], run["output"], run["tool_calls"], run["llm_calls"]) == ("Oslo?", "Cold.", None, None)


@pytest.mark.parametrize(
    ("why", "put_out", "seen", "output"),
    [
        ("limit_turns", "", ["max_steps"], None),
        ("limit_total_tokens", "", ["cost_limit"], None),
        ("tool_use", "", [], None),
        ("tool_use", '{"city": "Oslo"}', [], '{"city": "Oslo"}'),
    ],
)
def test_an_agent_of_strands_says_why_its_loop_ended(why, put_out, seen, output):
    (run,) = runs(
        agent(1, "planner", took=9, events=[("gen_ai.choice", {"message": put_out, "finish_reason": why})]),
        chat(2, 1, [("call_k3", "look", {})], "Oslo?", at=1),
        tool(3, 1, "look", "call_k3", "12", at=3),
    )
    assert (run["boundaries"], run["output"]) == (seen, output)
    assert ("max_steps" in run["boundaries_unknown"]) == (why == "tool_use")


def test_a_line_break_that_an_agent_adds_is_none_of_its_answer():
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Cold.\n"}]}])
    (run,) = runs(agent(1, "planner", took=9, gen_ai__output__messages=said), chat(2, 1, "Cold.", "Oslo?", at=1))
    assert run["output"] == "Cold."


def test_ag2_tells_again_what_a_call_cost_and_that_is_no_other_call():
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5}
    cost = {"ag2.span.type": "usage", "gen_ai.response.model": "model-a"} | usage
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, "Cold.", "Oslo?", at=1, attributes={"ag2.span.type": "llm"} | usage),
        span(3, 1, "record_usage model_call", at=3, attributes=cost),
    )
    assert (len(run["llm_calls"]), run["output"], run["incomplete"]) == (1, "Cold.", [])


@pytest.mark.parametrize("scope", ["logfire.openai_agents", "openinference.instrumentation.openai_agents"])
@pytest.mark.parametrize(("came", "status"), [("12", "ok"), (None, "unknown")])
def test_a_tool_of_openais_kit_that_shows_no_result_may_wait_for_leave_and_no_clean_end_is_a_limit(came, status, scope):
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("call_k3", "delete", {"id": 3})], "Delete 3", at=1) | {"scope": scope},
        tool(3, 1, "delete", "call_k3", came, at=3) | {"scope": scope},
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]
    assert run["boundaries"] == []
    assert "max_steps" in run["boundaries_unknown"]


def test_who_leads_a_group_of_ag2_is_no_agent_and_a_way_that_it_counts_is_one_to_an_agent():
    def told(id, parent, name, at, took):
        return agent(id, name, parent=parent, at=at, took=took, attributes={"ag2.span.type": "agent"})

    (run,) = runs(
        told(1, None, "chat_manager", 0, 30),
        told(2, 1, "triage", 1, 4),
        chat(3, 2, [("call_k3", "transfer_to_billing_1", {})], "Refund", at=2),
        told(4, 1, "_Group_Tool_Executor", 6, 3),
        tool(5, 4, "transfer_to_billing_1", "call_k3", "Transfer to billing", at=7),
        told(6, 1, "billing", 10, 4),
        chat(7, 6, "Refunded.", "Refund", at=11),
    )
    assert (run["agents"], run["tool_calls"]) == (["billing", "triage"], [])
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [
        ("triage", "billing", "transfer_to_billing_1")
    ]


def _parts(role, *parts, **meta):
    return {"role": role, "meta": meta, "name": None, "content": list(parts)}


def test_haystacks_agent_tells_its_steps_by_spans():
    call = {"tool_name": "weather", "arguments": {"city": "Oslo"}, "id": "c1", "extra": None}
    question = _parts("user", {"text": "Oslo?"})
    asked = _parts("assistant", {"tool_call": call}, model="gpt-4o", usage={"prompt_tokens": 9, "completion_tokens": 2})
    came = _parts("tool", {"tool_call_result": {"result": "3 degrees", "origin": call, "error": True}})
    done = _parts("assistant", {"text": "Cold."}, model="gpt-4o", usage={"prompt_tokens": 20, "completion_tokens": 3})
    tools = [{"type": "haystack.tools.tool.Tool", "data": {"name": "weather", "parameters": {}}}]
    step = "haystack.agent.step"

    def of(id, parent, name, at, took=1.0, **told):
        written = {k: v if isinstance(v, str) else json.dumps(v) for k, v in told.items()}
        return span(id, parent, name, at=at, took=took, scope="haystack", attributes=written)

    def model(id, parent, at, given, came):
        return of(
            id, parent, f"{step}.llm", at, **{f"{step}.llm.input": {"messages": given}, f"{step}.llm.output": came}
        )

    (run,) = runs(
        of(
            1,
            None,
            "haystack.agent.run",
            0,
            20,
            **{
                "haystack.agent.max_steps": "4",
                "haystack.agent.tools": tools,
                "haystack.agent.input": {"messages": [question]},
                "haystack.agent.output": {"messages": [question, asked, came, done]},
            },
        ),
        of(2, 1, step, 1, 5, **{f"{step}": "0"}),
        model(3, 2, 1, [question], {"replies": [asked]}),
        of(
            4,
            2,
            f"{step}.tool",
            3,
            **{
                "haystack.tool.name": "weather",
                "haystack.tool.error": "True",
                f"{step}.tool.input": {"city": "Oslo"},
                f"{step}.tool.output": "3 degrees",
            },
        ),
        of(5, 1, step, 7, 5),
        model(6, 5, 8, [question, asked, came], {"replies": [done]}),
    )
    assert called_with(run) == [("weather", {"city": "Oslo"}, "error", "3 degrees")]
    assert [(c["response_model"], c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [
        ("gpt-4o", 9, 2),
        ("gpt-4o", 20, 3),
    ]
    assert (run["input"], run["output"], run["known_tools"]) == ("Oslo?", "Cold.", ["weather"])


@pytest.mark.parametrize("spelling", ["claude_agent_sdk", "claude-agent-sdk"])
def test_what_ended_a_run_of_claudes_agent_sdk_is_not_its_answer_in_any_spelling(spelling):
    told = {"input.value": "?", "output.value": '["Reached maximum number of turns (3)"]'}
    root = step_of(1, None, "ClaudeAgentSDK.query", "AGENT", 0, 20, **told, **{"output.mime_type": "application/json"})
    (run,) = runs(root | {"scope": f"openinference.instrumentation.{spelling}"})
    assert run["output"] is None
