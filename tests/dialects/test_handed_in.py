"""Answers that models hand in by tools that are none."""

import json

import pytest

from tests.dialects.test_python_clients import words
from tests.runs.requests import agent, chat, runs, span, tool


def test_the_way_to_hand_in_an_answer_is_no_known_tool():
    offered = json.dumps([{"type": "function", "name": n} for n in ("look", "final_result")])
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, "Cold.", at=1, gen_ai__tool__definitions=offered))
    assert run["known_tools"] == ["look"]


WEATHER = {"city": "Oslo", "degrees": 12}


@pytest.mark.parametrize(
    "told",
    [
        {"openinference.span.kind": "CHAIN", "output.value": {"structured_response": WEATHER | {"wind": None}}},
        {"traceloop.span.kind": "workflow", "traceloop.entity.output": {"outputs": {"structured_response": WEATHER}}},
        {
            "langsmith.span.kind": "chain",
            "gen_ai.completion": {"output": [{"update": {"structuredResponse": WEATHER}}]},
        },
        {"openinference.span.kind": "CHAIN", "output.value": WEATHER},
    ],
)
def test_what_a_graph_puts_out_as_it_was_put_in_was_handed_in_and_no_tool_was_called(told):
    offered = [{"type": "function", "name": n} for n in ("look", "Weather")]
    (run,) = runs(
        agent(1, "planner", took=9),
        span(2, 1, "graph", took=9, attributes=told),
        chat(3, 2, [("c1", "look", {})], "Oslo?", at=1, gen_ai__tool__definitions=offered),
        tool(4, 2, "look", "c1", "12", at=2),
        chat(5, 2, [("c2", "Weather", WEATHER)], "Oslo?", at=3, gen_ai__tool__definitions=offered),
    )
    assert [c["name"] for c in run["tool_calls"]] == run["known_tools"] == ["look"]
    assert json.loads(run["output"]).items() >= WEATHER.items()
    assert (run["status"], run["boundaries"], run["boundaries_unknown"]) == ("ok", [], [])


def test_an_agent_that_says_it_returned_an_object_answered_with_it():
    offered = json.dumps([{"type": "function", "name": name} for name in ("look", "Weather")])
    said = [{"type": "text", "content": "Returning structured response: city='Oslo' degrees=12"}]
    out = {"gen_ai__output__messages": json.dumps([{"role": "assistant", "parts": said, "finish_reason": "stop"}])}
    (run,) = runs(
        agent(1, "planner", took=9, **out),
        chat(2, 1, [("c1", "look", {})], "Oslo?", at=1, gen_ai__tool__definitions=offered),
        tool(3, 1, "look", "c1", "12", at=2),
        chat(4, 1, [("c2", "Weather", WEATHER)], "Oslo?", at=3, gen_ai__tool__definitions=offered),
    )
    assert [c["name"] for c in run["tool_calls"]] == run["known_tools"] == ["look"]
    assert json.loads(run["output"]) == WEATHER
    assert (run["status"], run["boundaries"], run["boundaries_unknown"]) == ("ok", [], [])


@pytest.mark.parametrize(
    "came",
    [
        "Returning structured response: city='Oslo' degrees=12",
        "Error: Failed to parse structured output for tool 'Weather': 1 validation error",
        "Error: Model incorrectly returned multiple structured responses (Weather, Trip) when only one is expected.",
        "Final result processed.",
    ],
)
def test_what_a_framework_says_of_an_answer_that_was_handed_in_is_no_result_of_a_tool(came):
    request = {"type": "tool_call", "id": "c1", "name": "Weather", "arguments": WEATHER}
    asked = [
        {"role": "user", "parts": [{"type": "text", "content": "Oslo?"}]},
        {"role": "assistant", "parts": [request]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": came}]},
    ]
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "Weather", WEATHER)], "Oslo?", at=1),
        chat(3, 1, "Cold.", asked, at=3),
    )
    assert (run["tool_calls"], run["boundaries"], run["output"]) == ([], [], "Cold.")


@pytest.mark.parametrize(
    ("put_out", "put_in"),
    [
        ({"answer": "cold", "degrees": 12}, {"answer": "cold", "degrees": 12}),
        ([{"city": "Oslo"}], {"response": [{"city": "Oslo"}]}),
        ({"CITY": "OSLO"}, {"city": "Oslo"}),
        (None, {"city": "Oslo"}),
        (None, {"a": [1, None, {"b": True}]}),
    ],
)
@pytest.mark.parametrize("named", ["final_result", "final_result_Weather", "hand_in"])
def test_an_object_that_is_the_answer_is_the_output(put_out, put_in, named):
    ways = {"function_tools": [{"name": "look"}], "output_tools": [{"name": named, "kind": "output"}]}
    offered = {"model_request_parameters": ways}
    (run,) = runs(
        agent(1, "planner", took=9, attributes={} if put_out is None else {"final_result": put_out}),
        chat(2, 1, [("c1", named, put_in)], "Oslo?", at=1, attributes=offered) | {"scope": "pydantic-ai"},
    )
    assert json.loads(run["output"]) == (put_in if put_out is None else put_out)
    assert (run["tool_calls"], run["known_tools"]) == ([], ["look"])


@pytest.mark.parametrize(
    "odd", ["7", 7, [1], ["structured_response"], {"structured_response": 7}, '{"structured_', True]
)
def test_odd_outputs_hand_nothing_in(odd):
    (run,) = runs(
        span(1, None, "graph", took=9, attributes={"openinference.span.kind": "CHAIN", "output.value": odd}),
        chat(2, 1, [("c1", "Weather", WEATHER)], "Oslo?", at=1, attributes={"model_request_parameters": odd}),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["Weather"]


@pytest.mark.parametrize("left", ["delete", "final_result"])
def test_a_run_that_left_a_call_to_others_or_handed_in_its_answer_did_not_run_out_of_steps(left):
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("call_k3", "look", {}), ("call_k4", left, {"id": 3})], "Oslo?", at=1),
        tool(3, 1, "look", "call_k3", "12", at=3),
    )
    assert run["boundaries"] == []
    assert ("max_steps" in run["boundaries_unknown"]) == (left == "delete")


@pytest.mark.parametrize("flat", [False, True])
def test_the_object_that_instructor_wants_is_an_answer_and_no_tool(flat):
    wanted = "Correctly extracted `Status` with all the required parameters with correct types"
    schema = {"type": "function", "function": {"name": "Status", "description": wanted, "parameters": {}}}
    told = {"llm.tools.0.tool.json_schema": schema} if flat else {"gen_ai.tool.definitions": [schema]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "Status", "arguments": {}}]}
    came = {"type": "tool_call_response", "id": "c1", "response": "Validation Error found:\n1 validation error"}
    again = [words("user", "which?"), asked, {"role": "tool", "parts": [came]}]
    (run,) = runs(
        chat(1, None, [("c1", "Status", {})], "which?", attributes=told),
        chat(2, None, [("c2", "Status", {"order": 7})], again, trace=2, at=3, attributes=told),
    )
    assert (run["status"], run["tool_calls"], run["known_tools"]) == ("ok", [], [])
    asked["parts"][0]["name"] = "Plain"  # a class that describes itself is known by the retry
    (run,) = runs(
        chat(1, None, [("c1", "Plain", {})], "which?"),
        chat(2, None, [("c2", "Plain", {"order": 7})], again, trace=2, at=3),
    )
    assert (run["status"], run["tool_calls"]) == ("ok", [])


@pytest.mark.parametrize(
    ("choice", "tools", "answer"),
    [
        ({"type": "function", "function": {"name": "City"}}, ["City"], True),
        ({"type": "tool", "name": "City"}, ["City"], True),
        ("auto", ["City"], False),
        ({"type": "function", "function": {"name": "City"}}, ["City", "look"], False),
    ],
)
def test_the_only_tool_that_a_model_is_made_to_call_is_a_way_to_answer_unless_it_runs(choice, tools, answer):
    request = {"model": "m", "messages": [{"role": "user", "content": "where?"}], "tool_choice": choice}
    request["tools"] = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "input.value": json.dumps(request)}
    of = "llm.output_messages.0.message"
    told |= {f"{of}.role": "assistant", f"{of}.tool_calls.0.tool_call.id": "call_a8Zx"}
    told[f"{of}.tool_calls.0.tool_call.function.name"] = "City"
    told[f"{of}.tool_calls.0.tool_call.function.arguments"] = '{"name":"Oslo"}'
    asked = [span(1, None, "job", took=9), span(2, 1, "ChatCompletion", at=1, attributes=told)]
    (run,) = runs(*asked)
    assert (run["output"] == '{"name":"Oslo"}', run["tool_calls"] == []) == (answer, answer)
    (run,) = runs(*asked, tool(3, 1, "City", "call_a8Zx", at=3))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("City", "ok")]
