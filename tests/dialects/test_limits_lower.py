"""Spans of which an SDK dropped attributes, as a low OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT makes it: Python's keeps the
newest, those of most other languages the oldest. What is left is told, and nothing that it only looks like."""

from __future__ import annotations

import json

import pytest

from tests.dialects.limits import kept_first, kept_last
from tests.runs.requests import agent, chat, runs, span, tool

OPENAI_AGENTS = {"scope": "openinference.instrumentation.openai_agents", "status": 1}


def _messages(which, *told):
    """Messages with attributes of their own: (role, text, calls, id of the call that it answers)."""
    out = {}
    for at, (role, text, calls, back) in enumerate(told):
        one = f"llm.{which}_messages.{at}.message."
        out[one + "role"] = role
        if back:
            out[one + "tool_call_id"] = back
        if text is not None:
            out[one + "content"] = text
        for n, (id, name, given) in enumerate(calls):
            call = f"{one}tool_calls.{n}.tool_call."
            out |= {call + "id": id, call + "function.name": name, call + "function.arguments": json.dumps(given)}
    return out


def _answer(id, at, outputs, inputs, **more):
    """OpenAI's agents under OpenInference: the answer is told before what was asked."""
    told = {"llm.system": "openai", "llm.token_count.prompt": 9, "llm.token_count.completion": 4}
    told |= _messages("output", *outputs) | _messages("input", *inputs)
    told["openinference.span.kind"] = "LLM"
    return span(id, 1, "response", at=at, attributes=told | more, **OPENAI_AGENTS)


def _ran(id, at, name, given, result):
    told = {"tool.name": name, "input.value": json.dumps(given), "output.value": result}
    return span(id, 1, name, at=at, attributes=told | {"openinference.span.kind": "TOOL"}, **OPENAI_AGENTS)


@pytest.mark.parametrize("lost", ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"])
@pytest.mark.parametrize("dropped", [0, 3])
def test_a_call_of_which_half_of_the_tokens_were_dropped_tells_none(lost, dropped):
    asked = chat(2, 1, "fine", "go", at=1, dropped=dropped)
    del asked["attributes"][lost]
    (run,) = runs(agent(1, "planner", took=9), asked)
    told = [run["llm_calls"][0][side] for side in ("input_tokens", "output_tokens")]
    assert (told == [None, None]) == (dropped > 0)
    assert ({"attributes dropped", "tokens not reported"} <= {*run["incomplete"]}) == (dropped > 0)


def test_a_call_that_lost_its_id_has_not_what_another_was_given():
    """Two of three calls are left of the answer, and of the history that tells what came back."""
    calls = [
        ("call_Kd93nqX0", "get_weather", {"city": "Oslo"}),
        ("call_Pq71mvB2", "get_weather", {"city": "Lisbon"}),
        ("call_Zt55hsC8", "search_flights", {"to": "LIS"}),
    ]
    asked = [("system", "Plan.", [], None), ("user", "Weather, and flights?", [], None)]
    history = [("assistant", None, [call], None) for call in calls]
    back = [("tool", text, [], id) for text, (id, *_) in zip(("sun", "rain", "TP123"), calls, strict=True)]
    (run,) = runs(
        span(1, None, "planner", took=30, attributes={"openinference.span.kind": "AGENT"}, **OPENAI_AGENTS),
        kept_last(_answer(2, 1, [("assistant", None, calls, None)], asked), 11),
        _ran(3, 3, "get_weather", {"city": "Oslo"}, "sun"),
        _ran(4, 3, "get_weather", {"city": "Lisbon"}, "rain"),
        _ran(5, 3, "search_flights", {"to": "LIS"}, "TP123"),
        kept_last(_answer(6, 5, [("assistant", "Done.", [], None)], [*asked, *history, *back]), 16),
    )
    told = sorted((c["name"], c["arguments"].popitem()[1], c["result"]) for c in run["tool_calls"])
    assert told == [
        ("get_weather", "Lisbon", "rain"),
        ("get_weather", "Oslo", "sun"),
        ("search_flights", "LIS", "TP123"),
    ]
    ids = {c["call_id"]: c["arguments"] for c in run["tool_calls"]}
    assert calls[0][0] not in ids


@pytest.mark.parametrize("raw", [True, False])
def test_the_last_message_may_be_dropped_where_the_answer_is_told_first(raw):
    """A history that ends on an older question of the user's, and the whole beside it in one value, or not."""
    said = [("user", "Find a flight.", [], None), ("assistant", "TP123.", [], None), ("user", "Thanks!", [], None)]
    whole = json.dumps([{"role": role, "content": text} for role, text, *_ in said])
    value = {"input.value": whole, "input.mime_type": "application/json"} if raw else {}
    told = _answer(2, 1, [("assistant", "You are welcome.", [], None)], [("system", "Plan.", [], None), *said])
    told["attributes"] = value | told["attributes"]
    (run,) = runs(
        span(1, None, "planner", took=30, attributes={"openinference.span.kind": "AGENT"}, **OPENAI_AGENTS),
        kept_first(told, len(told["attributes"]) - 3),
    )
    assert run["input"] == ("Thanks!" if raw else None)
    assert run["output"] == "You are welcome."


def test_work_of_an_agent_whose_name_was_dropped_is_not_that_of_who_called_it():
    """Pydantic AI 1: the run of an agent that a tool calls says no more than that it is one."""
    kit = {"scope": "pydantic-ai", "status": 1}
    (run,) = runs(
        span(
            1, None, "agent run", took=30, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="planner", **kit
        ),
        span(2, 1, "running tool", at=3, took=9, gen_ai__tool__name="ask", gen_ai__agent__name="planner", **kit),
        span(3, 2, "agent run", at=4, took=7, gen_ai__operation__name="invoke_agent", dropped=4, **kit),
        chat(4, 3, [("call_Xn3vT81k", "look", {})], "go", at=5, dropped=10, **kit),
        span(5, 3, "running tool", at=7, gen_ai__tool__name="look", gen_ai__agent__name="worker", **kit),
        chat(6, 3, "fine", at=9, dropped=10, **kit),
    )
    assert [(c["name"], c["agent"]) for c in run["tool_calls"] if c["name"] == "look"] == [("look", "worker")]
    assert {c["agent"] for c in run["llm_calls"]} == {None}


def test_a_chain_that_tells_messages_is_no_model_where_its_kind_was_dropped():
    """LangGraph under OpenInference: all that is left of each is what came in and out."""
    langchain = {"scope": "openinference.instrumentation.langchain", "status": 1}
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    chain = {"input.value": "{}"} | asked | {"session.id": "s-1", "metadata": "{}"}
    model = {"input.value": "{}"} | asked
    (run,) = runs(
        span(1, None, "LangGraph", took=9, attributes={"openinference.span.kind": "CHAIN"}, **langchain),
        span(2, 1, "agent", at=1, took=4, attributes=chain, dropped=1, **langchain),
        span(3, 2, "Prompt", at=1, attributes=chain, dropped=1, **langchain),
        span(4, 2, "ChatOpenAI", at=3, attributes=model, dropped=22, **langchain),
        span(5, 2, "should_continue", at=5, took=0.5, attributes=chain, dropped=1, **langchain),
    )
    assert len(run["llm_calls"]) == 1


def test_what_was_offered_tools_is_a_model_where_its_kind_was_dropped():
    """CrewAI's clients under OpenInference."""
    offered = {
        "llm.system": "openai",
        "llm.tools.0.tool.json_schema": '{"type": "function", "function": {"name": "look"}}',
    }
    crewai = {"scope": "openinference.instrumentation.crewai", "status": 1}
    (run,) = runs(
        span(1, None, "crew.kickoff", took=9, attributes={"openinference.span.kind": "CHAIN"}, **crewai),
        span(
            2, 1, "ChatCompletion", at=1, attributes=offered, dropped=20, scope="openinference.instrumentation.openai"
        ),
    )
    assert len(run["llm_calls"]) == 1


def test_half_of_an_agents_tokens_is_none_of_its_calls():
    (run,) = runs(
        agent(1, "planner", took=9, dropped=4, attributes={"gen_ai.usage.input_tokens": 321}),
        span(2, 1, "chat m", at=1, dropped=12, gen_ai__operation__name="chat", gen_ai__request__model="m"),
    )
    assert run["llm_calls"][0]["input_tokens"] is None


def test_a_graph_that_does_nothing_itself_calls_nobody_where_what_it_is_was_dropped():
    """LangGraph under OpenLLMetry: `traceloop.span.kind` is among the first attributes of each span."""
    langchain = {"scope": "opentelemetry.instrumentation.langchain", "status": 1}
    invoked = {"gen_ai.operation.name": "invoke_agent"}

    def node(id, parent, name, at, dropped):
        told = invoked | {"gen_ai.agent.name": name}
        return span(id, parent, f"invoke_agent {name}", at=at, took=9, attributes=told, dropped=dropped, **langchain)

    (run,) = runs(
        node(1, None, "travel", 0, 6) | {"took": 30},
        node(2, 1, "planner", 1, 0),
        chat(3, 2, "hm", "go", at=2, **langchain),
        node(4, 1, "worker", 11, 0),
        chat(5, 4, "fine", "go", at=12, **langchain),
    )
    assert [d for d in run["delegations"] or [] if d["from"] == "travel"] == []
    assert run["agents"] == ["planner", "worker"]


def test_a_tool_of_an_answer_that_was_dropped_may_have_failed():
    asked = chat(2, 1, None, "go", at=1, dropped=9, gen_ai__response__finish_reasons=["tool_calls"])
    (run,) = runs(
        agent(1, "planner", took=30),
        asked,
        chat(3, 1, [("call_b7Qw20Zs", "look", {"x": 1})], at=4),
        tool(4, 1, "look", "call_b7Qw20Zs", "sunny", at=6),
        chat(5, 1, "fine", at=9),
    )
    assert {"tool_failure", "tool_recovery"} <= {*run["boundaries_unknown"]}


@pytest.mark.parametrize(("dropped", "status"), [(0, "ok"), (2, "unknown")])
def test_a_flag_in_what_was_left_out_is_no_sign_that_all_went_well(dropped, status):
    """LangChain's tools under OpenLLMetry, which say in what they put out that a handled error was one."""
    told = {"traceloop.span.kind": "tool", "traceloop.entity.name": "look_up"}
    told |= {} if dropped else {"traceloop.entity.output": '{"output": {"kwargs": {"content": "sent"}}}'}
    ran = span(2, 1, "look_up.tool", at=1, scope="opentelemetry.instrumentation.langchain", status=1, attributes=told)
    (run,) = runs(agent(1, "support", took=9), ran | {"dropped": dropped})
    assert [c["status"] for c in run["tool_calls"]] == [status]
