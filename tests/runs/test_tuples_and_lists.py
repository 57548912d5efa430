"""What a program's own functions give, by which a tracer tells of models and of tools."""

import pytest

from tests.runs.requests import events, runs, span


def _model(id, at, output, history):
    told = {"openinference__span__kind": "LLM", "input__value": {"messages": history}, "output__value": output}
    return span(id, 1, name="ask", at=at, **told)


def _tool(id, at, given, gave):
    return span(id, 1, name="look", at=at, openinference__span__kind="TOOL", input__value=given, output__value=gave)


def _agent(**told):
    return span(1, name="planner", took=20, openinference__span__kind="AGENT", input__value="Rome?", **told)


@pytest.mark.parametrize(
    ("gave", "output"),
    [([None, [["c1", "look", {"city": "Rome"}]]], None), (["It is 21.", []], "It is 21.")],
)
def test_a_call_in_a_tuple_is_no_word_that_was_said(gave, output):
    (run,) = runs(_agent(), _model(2, 1, gave, [{"role": "user", "content": "Rome?"}]))
    assert run["output"] == output


def test_a_span_that_was_given_and_gave_something_else_ran_no_call_of_history():
    """The tool's span is lost that history tells of, and what the last answer asked for is in none."""
    asked = {"role": "user", "content": "Rome?"}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Rome"}'}}
    history = [asked, {"role": "assistant", "content": None, "tool_calls": [call]}]
    history.append({"role": "tool", "tool_call_id": "c1", "content": "21 in Rome"})
    (run,) = runs(
        _agent(output__value="I stopped."),
        _model(2, 1, [None, [["c1", "look", {"city": "Rome"}]]], [asked]),
        _model(3, 5, [None, [["c2", "look", {"city": "Bern"}]]], history),
        _tool(4, 7, {"city": "Bern"}, "17 in Bern"),
    )
    told = [(c["arguments"], c["result"]) for c in run["tool_calls"]]
    assert told == [({"city": "Rome"}, "21 in Rome"), ({"city": "Bern"}, "17 in Bern")]


def test_a_list_of_texts_that_a_tool_gave_is_one():
    told = {"id": "c1", "content": '["Hotel Bern", "Grand Hotel"]'}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    chat = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"}
    logs = events(
        (2, "gen_ai.user.message", 1, {"content": "Hotels?"}),
        (2, "gen_ai.choice", 1, {"index": 0, "message": {"tool_calls": [call]}}),
        (3, "gen_ai.tool.message", 3, told),
        named=True,
    )
    spans = [span(1, name="app", took=20), span(2, 1, name="chat m", at=1, **chat)]
    (run,) = runs(*spans, span(3, 1, name="chat m", at=3, **chat), logs=[logs])
    assert [c["result"] for c in run["tool_calls"]] == [["Hotel Bern", "Grand Hotel"]]


def test_a_number_that_stands_in_an_answer_is_not_all_that_was_said():
    """The model that answered is lost; that its words hold what a tool gave says nothing."""
    history = [{"role": "user", "content": "How many?"}]
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asks = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
    (run,) = runs(_agent(output__value="There are 42 of them."), _model(2, 1, asks, history), _tool(3, 3, {}, "42"))
    assert "what came last is not visible" in run["incomplete"]


def test_what_mirascope_writes_behind_a_models_name_is_none_of_it():
    told = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "openai/m:completions"}
    (run,) = runs(span(1, name="chat m", scope="mirascope.llm", gen_ai__response__model="openai/m:completions", **told))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("openai/m", None)]
