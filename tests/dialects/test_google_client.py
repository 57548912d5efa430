"""Google's client, which calls functions itself between a request and its answer."""

import json

import pytest

from tests.dialects.test_python_clients import called_with, flat, request_of, step_of
from tests.runs.requests import chat, runs, span, tool

pytestmark = pytest.mark.full


def test_what_googles_client_called_itself_ran_before_its_answer():
    def part(role, **told):
        return {"role": role, "parts": [told]}

    asked = part("model", function_call={"name": "weather", "args": {"city": "Oslo"}})
    came = part("user", function_response={"name": "weather", "response": {"result": "3"}})
    answer = {
        "candidates": [{"content": part("model", text="Cold."), "finish_reason": "STOP", "index": 0}],
        "automatic_function_calling_history": [{"parts": [{"text": "Oslo?"}]}, asked, came],
    }
    told = flat({"input": [{"role": "user", "content": "Oslo?"}], "output": [{"role": "model", "content": "Cold."}]})
    told |= {"output.value": json.dumps(answer), "llm.model_name": "gemini-2.0-flash", "llm.token_count.prompt": 9}
    (run,) = runs(span(1, None, "GenerateContent", took=9, attributes=told))
    assert called_with(run) == [("weather", {"city": "Oslo"}, "ok", {"result": "3"})]
    assert (run["input"], run["output"], run["llm_calls"]) == ("Oslo?", "Cold.", None)
    assert "model calls share a span" in run["incomplete"]


def _gemini(role, *parts):
    return {"role": role, "parts": list(parts)}


def _ask(name, given, **more):
    return _gemini("model", {"function_call": {"name": name, "args": given} | more})


def _back(*results):
    held = ({"function_response": {"parts": None, "name": n, "response": {"result": r}}} for n, r in results)
    return _gemini("user", *held)


_GOOGLE = "openinference.instrumentation.google_genai"


@pytest.mark.parametrize("ids", [{}, {"id": "c1"}])
@pytest.mark.parametrize("times", [1, 3])
def test_each_piece_of_googles_stream_tells_again_what_the_client_called_itself(times, ids):
    question = _gemini("user", {"text": "Oslo?"})
    history = [question, _ask("weather", {"city": "Oslo"}, **ids), _back(("weather", "3 degrees"))]
    together = [] if times == 1 else _ask("weather", {"city": "Oslo"}, **ids)["parts"]
    answer = _gemini("model", *together, {"text": "Cold."})
    told = {
        "input.value": json.dumps({"contents": [question]}),
        "output.value": json.dumps(
            {"candidates": [{"content": answer}], "automatic_function_calling_history": history * times}
        ),
    }
    merged = request_of(ids.get("id", ""), "weather", '{"city": "Oslo"}') | {"content": "Cold."}
    listed = flat({"output": [merged]}) if together else {}
    (run,) = runs(step_of(1, None, "GenerateContent", "LLM", 0, **told | listed) | {"scope": _GOOGLE})
    assert called_with(run) == [("weather", {"city": "Oslo"}, "ok", {"result": "3 degrees"})]
    assert (run["llm_calls"], run["output"]) == (None, "Cold.")


@pytest.mark.parametrize(
    "odd", [3, "x", [3], {"parts": 3}, [{"content": {"parts": 3}}], [{"content": 3}], [None, None]]
)
def test_odd_histories_and_answers_of_googles_client_break_nothing(odd):
    for history, answer in ((odd, [{"content": {"parts": [3]}}]), ([{"parts": [{"text": "?"}]}], odd)):
        told = json.dumps({"candidates": answer, "automatic_function_calling_history": history})
        (run,) = runs(step_of(1, None, "GenerateContent", "LLM", 0, **{"output.value": told}) | {"scope": _GOOGLE})
        assert not run["tool_calls"]


@pytest.mark.parametrize(
    ("scope", "told", "known"),
    [
        ("opentelemetry.instrumentation.google_generativeai", [{"name": "weather"}], False),
        ("opentelemetry.instrumentation.google_generativeai", [{"name": "weather", "parameters": {}}], True),
        ("opentelemetry.instrumentation.google_generativeai", [3, None], True),
        ("test", [{"name": "weather"}], True),
    ],
)
def test_googles_client_calls_functions_that_are_offered_by_name_alone_itself(scope, told, known):
    call = chat(1, None, "Cold.", "Oslo?", attributes={"gen_ai.tool.definitions": told}, scope=scope)
    (run,) = runs(call)
    assert (run["tool_calls"], run["llm_calls"] is not None) == ([] if known else None, known)


def test_a_failed_call_of_googles_client_may_have_run_functions_before():
    declared = [{"name": "weather", "response_json_schema": {"type": "string"}}]
    told = {"input.value": json.dumps({"contents": [], "tools": [{"function_declarations": declared}]})}
    (run,) = runs(step_of(1, None, "GenerateContent", "LLM", 0, **told) | {"scope": _GOOGLE, "error": "500"})
    assert (run["tool_calls"], run["llm_calls"], run["boundaries"]) == (None, None, ["error"])


@pytest.mark.parametrize("answer", [[("c1", "weather", {"city": "Oslo"})], None])
def test_a_span_that_failed_or_spoke_after_the_tools_that_ran_in_it_holds_several_calls(answer):
    said = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {}}]}
    said["parts"].append({"type": "text", "content": "Cold."})
    told = {"attributes": {"gen_ai.output.messages": [said]}} if answer else {"error": "500"}
    ran = tool(2, 1, "weather", result="3 degrees", at=1)
    (run,) = runs(chat(1, None, asked="Oslo?", took=9, **told), ran)
    assert [c["name"] for c in run["tool_calls"]] == ["weather"]
    assert run["llm_calls"] is None


_CLIENT = "opentelemetry.instrumentation.google_genai"
_SAME = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "w_0", "name": "weather", "arguments": {"city": "Oslo"}}],
}


@pytest.mark.parametrize("ran", [("Rome",), ("Oslo", "Rome")])
@pytest.mark.parametrize("alone", [True, False])
def test_a_loop_of_googles_client_that_stops_at_what_it_asks_for_may_have_met_its_limit(ran, alone):
    asks = {"type": "tool_call", "id": "w_0", "name": "weather", "arguments": {"city": "Bern"}}
    told = {"gen_ai.output.messages": [{"role": "assistant", "parts": [asks]}]}
    calls = [
        tool(id, 1, "weather", result=city, at=id, attributes={"gen_ai.tool.call.arguments": {"city": city}})
        for id, city in enumerate(ran, 2)
    ]
    loop = chat(1, None if alone else 9, asked="Where?", took=9, attributes=told, scope=_CLIENT)
    (run,) = runs(loop, *calls, *([] if alone else [span(9, None, "handle", took=9)]))
    assert (run["status"], run["output"], run["llm_calls"]) == ("unknown", None, None)
    told = [(c["arguments"]["city"], c["result"], c["status"]) for c in run["tool_calls"]]
    assert told == [*((city, city, "ok") for city in ran), ("Bern", None, "requested")]


@pytest.mark.parametrize("took", [9.1, 15])
@pytest.mark.parametrize("told", [{"gen_ai.output.messages": [_SAME]}, {"gen_ai.response.finish_reasons": ["stop"]}])
def test_googles_client_asks_again_after_each_function_that_it_runs(told, took):
    """If the last answer asks for the same once more, too, unless there was no time for it: before 2.0 the client runs
    what it asks for last, and asks no more."""
    ran = tool(2, 1, "weather", result="3 degrees", at=8, attributes={"gen_ai.tool.call.arguments": {"city": "Oslo"}})
    (run,) = runs(chat(1, None, asked="Oslo?", took=took, attributes=told, scope=_CLIENT), ran)
    assert (run["status"], run["output"], run["llm_calls"]) == ("unknown", None, None)
    assert "model calls share a span" in run["incomplete"]
    left = [("requested", None)] if "gen_ai.output.messages" in told and took > 10 else []
    assert [(c["status"], c["turn"]) for c in run["tool_calls"]] == [("ok", None), *left]


@pytest.mark.parametrize(("answers", "left"), [(2, ["requested"]), (1, [])])
def test_a_stream_of_googles_client_tells_all_that_its_answers_asked_for(answers, left):
    said = [_SAME] * answers + [{"role": "assistant", "parts": []}] * (2 - answers)
    ran = tool(2, 1, "weather", result="3 degrees", at=4, attributes={"gen_ai.tool.call.arguments": {"city": "Oslo"}})
    told = {"gen_ai.output.messages": said, "gen_ai.request.stream": True}
    (run,) = runs(chat(1, None, asked="Oslo?", took=9, attributes=told, scope=_CLIENT), ran)
    assert [c["status"] for c in run["tool_calls"]] == ["ok", *left]


def test_arguments_that_are_told_with_their_types_are_what_the_function_was_given():
    """google-genai 1.2b0: as attributes of a span would be, in one object; a parameter may be called as these end."""
    led, given = "code.function.parameters.", {"city": "Oslo", "a.value": {"days": 2}, "type": None}
    told = {f"{led}{k}.type": type(v).__name__ for k, v in given.items()}
    told |= {f"{led}{k}.value": v for k, v in given.items()}
    ran = tool(2, 1, "weather", result="Cold.", at=1, scope=_CLIENT, attributes={"gen_ai.tool.call.arguments": told})
    (run,) = runs(span(1, None, "invoke_agent clerk", took=9, gen_ai__operation__name="invoke_agent"), ran)
    assert called_with(run) == [("weather", given, "ok", "Cold.")]
