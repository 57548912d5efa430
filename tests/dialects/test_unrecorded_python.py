"""Kits for Python that no recording has, by what they told of runs against a model of ours."""

import json

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full

_OK, _CITY = 1, {"city": "Oslo"}


def _method(id, parent, name, tag=None, at=0, took=1, error=None, **more):
    """A span of Griptape 1.13: a method that it watches."""
    told = {"tags": [tag]} if tag else {}
    thrown = [("exception", {"exception.type": "ValueError", "exception.message": error})] if error else []
    ended = {"error": f"ValueError: {error}", "events": thrown} if error else {"status": _OK}
    return span(id, parent, name, at=at, took=took, scope="griptape", attributes=told, **ended, **more)


def _prompt(id, parent, at, asked=None, answer=None, calls=(), **more):
    """A driver's call of a model, and OpenInference's span of the client inside it, where that is told."""
    yield _method(id, parent, "OpenAiChatPromptDriver.run()", "PromptDriver.run()", at=at, **more)
    yield _method(id + 1, id, "OpenAiChatPromptDriver.try_run()", at=at, **more)
    if asked is None:
        return
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.output_messages.0.message.role": "assistant"}
    told |= {"llm.output_messages.0.message.content": answer} if answer else {}
    for n, (call, name, given) in enumerate(calls):
        key = f"llm.output_messages.0.message.tool_calls.{n}.tool_call"
        told |= {f"{key}.id": call, f"{key}.function.name": name, f"{key}.function.arguments": json.dumps(given)}
    for n, message in enumerate(asked):
        told |= {f"llm.input_messages.{n}.message.{key}": value for key, value in message.items()}
    scope = "openinference.instrumentation.openai"
    yield span(id + 2, id + 1, "ChatCompletion", at=at, took=0.9, scope=scope, status=_OK, attributes=told)


def _griptape(*tools, asked=None, back=(), calls=(), **more):
    """An agent that asks a model, runs tools (name, seconds, what was thrown) and asks again."""
    yield _method(1, None, "main", took=20)
    yield _method(2, 1, "Agent.run()", took=19)
    yield _method(3, 2, "Agent.try_run()", took=18)
    first = [{"role": "user", "content": asked}] if asked else None
    yield from _prompt(10, 3, 1, first, calls=calls)
    for n, (name, at, error) in enumerate(tools):
        yield _method(20 + n, 3, f"{name}.try_run()", "Tool.run()", at=at, error=error)
    shown = [{"role": "assistant"}, *({"role": "tool", "tool_call_id": i, "content": text} for i, text in back)]
    key = "tool_calls.{}.tool_call"
    for n, (call, name, given) in enumerate(calls):
        shown[0] |= {f"{key.format(n)}.id": call, f"{key.format(n)}.function.name": name}
        shown[0] |= {f"{key.format(n)}.function.arguments": json.dumps(given)}
    yield from _prompt(30, 3, 8, first and [*first, *shown], "It rains.", **more)


def _called(run):
    return [(c["name"], c["arguments"], c["result"], c["status"], c["turn"]) for c in run["tool_calls"]]


def test_griptape_tells_that_models_and_tools_ran_and_not_which():
    (run,) = runs(*_griptape(("WeatherTool", 3, None), ("WeatherTool", 5, "no such city")))
    assert _called(run) == [(None, None, None, "ok", 0), (None, None, None, "error", 0)]
    assert (run["status"], len(run["llm_calls"]), run["boundaries"]) == ("ok", 2, ["tool_failure"])
    assert run["llm_calls"][0] | {"agent": None} == {
        "agent": None,
        "request_model": None,
        "response_model": None,
        "input_tokens": None,
        "output_tokens": None,
        "status": "ok",
        "finish_reason": None,
    }


def test_a_model_that_failed_under_griptape_is_a_run_that_failed():
    (run,) = runs(*_griptape(("WeatherTool", 3, None), error="scripted"))
    assert (run["status"], run["boundaries"]) == ("error", ["error"])
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "error"]


def test_tools_that_no_span_names_are_what_the_model_before_them_asked_for():
    calls = [("c1", "Weather_now", _CITY), ("c2", "Weather_later", _CITY)]
    told = {"asked": "the weather?", "calls": calls, "back": [("c1", "rain"), ("c2", "sun")]}
    (run,) = runs(*_griptape(("WeatherTool", 3, None), ("WeatherTool", 3.1, None), **told))
    assert _called(run) == [("Weather_now", _CITY, "rain", "ok", 0), ("Weather_later", _CITY, "sun", "ok", 0)]
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("the weather?", "It rains.", 2)


def test_of_tools_that_no_span_names_one_failed_whose_result_says_so():
    calls = [("c1", "Weather_now", _CITY), ("c2", "Weather_later", _CITY)]
    told = {"asked": "the weather?", "calls": calls, "back": [("c1", "sun"), ("c2", "no such city")]}
    (run,) = runs(*_griptape(("WeatherTool", 3, "no such city"), ("WeatherTool", 3.1, None), **told))
    assert _called(run) == [
        ("Weather_now", _CITY, "sun", "ok", 0),
        ("Weather_later", _CITY, "no such city", "error", 0),
    ]
    told["back"] = [("c1", "no such city"), ("c2", "no such city")]
    (run,) = runs(*_griptape(("WeatherTool", 3, "no such city"), ("WeatherTool", 3.1, None), **told))
    assert {c["status"] for c in run["tool_calls"] if c["name"]} == {"unknown"}


def test_tools_that_no_span_names_are_their_own_calls_where_not_as_many_were_asked_for():
    told = {"asked": "the weather?", "calls": [("c1", "Weather_now", _CITY)], "back": [("c1", "rain")]}
    (run,) = runs(*_griptape(("WeatherTool", 3, None), ("MapTool", 5, None), **told))
    assert [c["name"] for c in run["tool_calls"]] == ["Weather_now", None, None]


_TRACEAI, _ARIZE = "traceai_dspy", "openinference.instrumentation.dspy"


def _part(id, parent, name, kind, at, took=1.0, scope=_TRACEAI, **told):
    key = "openinference.span.kind" if scope == _ARIZE else "gen_ai.span.kind"
    attributes = {key: kind} | {k.replace("__", "."): v for k, v in told.items()}
    return span(id, parent, name, at=at, took=took, scope=scope, status=_OK, attributes=attributes)


def _react(*asked, name="ReAct.forward"):
    """A loop of DSPy's ReAct under traceAI 0.1.8: it asks for these tools in words, and sums up."""
    given = {"input_args": {"question": "the weather?"}}
    store = {"_store": {"trajectory": {"tool_name_0": asked[0]}, "answer": "It rains."}, "_completions": None}
    told = {"input__value": json.dumps(given), "output__value": json.dumps(store)}
    yield _part(1, None, name, "CHAIN", 0, 30, **told)
    texts = [f"[[ ## next_thought ## ]]\nt\n\n[[ ## next_tool_name ## ]]\n{tool}\n\n" for tool in asked]
    for n, text in enumerate([*texts, "[[ ## answer ## ]]\nIt rains.\n\n[[ ## completed ## ]]"]):
        told = {
            "gen_ai__input__messages__0__message__role": "user",
            "gen_ai__input__messages__0__message__content": "[[ ## question ## ]]\nthe weather?",
            "gen_ai__output__messages__0__message__role": "assistant",
            "gen_ai__output__messages__0__message__content": text,
        }
        yield _part(10 * n + 2, 1, "Predict.forward", "CHAIN", 3 * n + 1, 2)
        yield _part(10 * n + 3, 10 * n + 2, "LM.__call__", "LLM", 3 * n + 1.1, **told)


def test_a_loop_of_dspys_that_asked_for_a_tool_last_ran_out_of_steps():
    (run,) = runs(*_react("weather", "weather"))
    assert (run["boundaries"], run["tool_calls"]) == (["max_steps"], None)
    (run,) = runs(*_react("weather", "finish"))
    assert (run["boundaries"], "max_steps" in run["boundaries_unknown"]) == ([], False)


def test_a_prediction_of_dspys_is_answered_by_what_it_keeps():
    (run,) = runs(*_react("weather", "finish"))
    assert run["output"] == "It rains."


def test_dspys_own_way_to_finish_is_no_tool_where_it_is_awaited():
    def tool(id, name, at):
        told = {"input__value": "{}", "output__value": "rain"}
        return _part(id, 1, f"{name}.acall", "TOOL", at, scope=_ARIZE, tool__name=name, **told)

    model = {"llm__model_name": "m", "output__value": '["text"]'}
    (run,) = runs(
        _part(1, None, "ReAct.aforward", "CHAIN", 0, 30, scope=_ARIZE),
        _part(2, 1, "LM.acall", "LLM", 1, scope=_ARIZE, **model),
        tool(3, "weather", 3),
        _part(4, 1, "LM.acall", "LLM", 5, scope=_ARIZE, **model),
        tool(5, "finish", 7),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["weather"]


def test_an_agent_of_haystacks_under_traceai_is_a_run_of_which_no_more_is_told():
    def component(id, parent, name, told, put_out):
        values = {"input.value": json.dumps(told), "output.value": json.dumps(put_out)}
        scope = {"scope": "traceai_haystack", "status": _OK}
        return span(id, parent, name, took=9, attributes={"gen_ai.span.kind": "CHAIN"} | values, **scope)

    said = "ChatMessage(_role=<ChatRole.{}: '{}'>, _content=[TextContent(text='{}')], _name=None, _meta={{}})"
    asked = [said.format("USER", "user", "the weather?")]
    messages = {"messages": [*asked, said.format("ASSISTANT", "assistant", "It rains.")]}
    (run,) = runs(
        component(1, None, "Pipeline.run", {"data": {"agent": {"messages": asked}}}, {"agent": messages}),
        component(2, 1, "Agent.run", {"messages": asked, "tools": None}, messages),
    )
    assert (run["tool_calls"], run["llm_calls"], run["delegations"]) == (None, None, None)
    assert (run["status"], run["input"], run["output"]) == ("ok", "the weather?", "It rains.")


def test_what_sends_an_answer_back_in_the_users_name_is_not_what_was_asked():
    """Pydantic AI 2.68, and Marvin 3.2.7 upon it: an agent tells of all that was said, a model of what it was given."""

    def said(role, text, kind="text"):
        return {"role": role, "parts": [{"type": kind, "content": text}]}

    def model(id, at, inputs, answer):
        told = {"gen_ai.input.messages": inputs, "gen_ai.output.messages": [answer | {"finish_reason": "stop"}]}
        told |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2, "gen_ai.agent.name": "planner"}
        return span(id, 1, "chat m", at=at, kind=3, scope="pydantic-ai", attributes=told)

    feedback = (
        "Your previous response failed the application's validation:\n<retry_feedback>\ntoo short\n</retry_feedback>"
    )
    before = [said("user", "good day"), said("assistant", "Good day.")]
    for history in ([], before):
        asked = [*history, said("user", "the weather?")]
        again = [*asked, said("assistant", "Rain."), said("user", feedback)]
        told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner", "agent_name": "planner"}
        told |= {"pydantic_ai.all_messages": [*again, said("assistant", "It rains.")], "final_result": "It rains."}
        (run,) = runs(
            span(1, None, "invoke_agent planner", took=9, scope="pydantic-ai", attributes=told),
            model(2, 1, asked, said("assistant", "Rain.")),
            model(3, 3, again, said("assistant", "It rains.")),
        )
        assert (run["input"], run["output"], len(run["llm_calls"])) == ("the weather?", "It rains.", 2)
