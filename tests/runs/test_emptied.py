"""Runs of which a collector, or who sent them, wrote "" in place of what was said."""

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool


def _flat(*told):
    """A conversation by numbered attributes: (role, words) or (id, arguments)."""
    found = {}
    for at, (who, said) in enumerate(told):
        at = f"llm.input_messages.{at}.message"
        if who in ("user", "system"):
            found |= {f"{at}.role": who, f"{at}.content": said}
        elif who.startswith("call"):
            found |= {f"{at}.role": "tool", f"{at}.tool_call_id": who, f"{at}.content": said}
        else:
            asked = f"{at}.tool_calls.0.tool_call"
            found |= {f"{at}.role": "assistant", f"{asked}.id": who[1:], f"{asked}.function.name": "look"}
            found |= {f"{asked}.function.arguments": said}
    return found


def _openinference(words, given, back, answer):
    """An agent without a span of its own, whose program opens bare spans for tools."""
    model = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "tool_calls"}
    asks = "llm.output_messages.0.message.tool_calls.0.tool_call"
    asks = {f"{asks}.id": "call_1", f"{asks}.function.name": "look", f"{asks}.function.arguments": given}
    role = {"llm.output_messages.0.message.role": "assistant"}
    says = {"llm.output_messages.0.message.content": answer, "llm.finish_reason": "stop"}
    history = _flat(("user", words), ("!call_1", given), ("call_1", back))
    kit = {"scope": "openinference.instrumentation.openai"}
    return [
        span(1, name="app", took=9, attributes={"openinference.span.kind": "AGENT", "agent.name": "a"}),
        span(2, 1, "ChatCompletion", attributes=model | role | asks | _flat(("user", words)), **kit),
        tool(3, 1, "look", "call_1", at=2),
        span(4, 1, "ChatCompletion", at=4, attributes=model | role | says | history, **kit),
    ]


def test_a_conversation_without_one_word_gave_no_empty_result():
    (run,) = runs(*_openinference("", "", "", ""))
    (call,) = run["tool_calls"]
    assert (call["arguments"], call["result"], call["status"]) == (None, None, "ok")
    assert (run["input"], run["output"]) == (None, None)
    (run,) = runs(*_openinference("Look.", "{}", "", "Done."))
    (call,) = run["tool_calls"]
    assert (call["arguments"], call["result"], run["input"], run["output"]) == ({}, "", "Look.", "Done.")


def test_whether_a_tool_without_a_span_failed_is_not_told_by_an_empty_answer():
    told = _openinference("", "", "", "")
    (run,) = runs(*(s for s in told if s["id"] != 3))
    assert [call["status"] for call in run["tool_calls"]] == ["unknown"]


@pytest.mark.parametrize(("given", "arguments"), [("", None), ("{}", {})])
def test_a_tool_that_was_given_nothing_and_gave_nothing_was_emptied_by_its_attributes(given, arguments):
    """Those of another's span have names that the collector was not told of."""
    messages = {"gen_ai.input.messages": given and "Look.", "gen_ai.output.messages": given and "Done."}
    attributes = {"gen_ai.tool.call.arguments": given}
    (run,) = runs(
        agent(1, "a", took=9, attributes=messages),
        chat(2, 1, attributes=dict.fromkeys(messages, "")),
        tool(3, 1, "look", "call_1", "", at=2, attributes=attributes),
        span(5, 1, at=3, attributes={"openinference.span.kind": "CHAIN", "output.value": "kept"}),
        chat(4, 1, at=4, attributes=dict.fromkeys(messages, "")),
    )
    assert [call["arguments"] for call in run["tool_calls"]] == [arguments]
    assert (run["input"], "empty_input" in run["boundaries"]) == ((given and "Look.") or None, False)


def test_what_is_thrown_in_words_that_were_left_out_may_be_a_timeout():
    thrown = [("exception", {"exception.type": "Exception", "exception.message": "[REDACTED]"})]
    (run,) = runs(agent(1, "a", took=9, error="", events=thrown), chat(2, 1, error="", events=thrown))
    assert "timeout" in run["boundaries_unknown"]


@pytest.mark.parametrize("word", ["", "[REDACTED]", "***"])
def test_words_that_were_emptied_in_their_messages_are_left_out_as_well(word):
    """A proxy keeps the frames, and what it takes for no words."""
    asked = [{"role": "user", "parts": [{"type": "text", "content": word}]}]
    call = {"type": "tool_call", "id": "call_1", "name": "look", "arguments": word}
    back = {"type": "tool_call_response", "id": "call_1", "response": word}
    later = [*asked, {"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [back]}]
    told = {"input.value": {"messages": [{"role": "user", "content": word}]}, "openinference.span.kind": "CHAIN"}
    result = {"content": word, "type": "tool", "tool_call_id": "call_1"}
    (run,) = runs(
        span(1, name="graph", took=9, attributes=told),
        chat(2, 1, [("call_1", "look", word)], asked),
        tool(3, 1, "look", "call_1", result, at=2, attributes={"gen_ai.tool.call.arguments": {"args": word}}),
        chat(4, 1, word, later, at=4),
    )
    (found,) = run["tool_calls"]
    assert (found["result"], found["status"]) == (None, "ok")
    assert found["arguments"] in (None, {"args": ""})
    assert (run["input"], run["output"], run["boundaries"]) == (None, None, [])


def test_a_limit_may_stand_in_words_that_were_left_out():
    thrown = [("exception", {"exception.type": "Exception", "exception.message": "[REDACTED]"})]
    (run,) = runs(
        agent(1, "a", took=9, error="", events=thrown),
        chat(2, 1, [("call_1", "look", {})], "Look."),
        tool(3, 1, "look", "call_1", "seen", at=2),
    )
    assert run["boundaries"] == [] and {"error", "max_steps"} <= {*run["boundaries_unknown"]}


@pytest.mark.parametrize(("word", "form"), [("[REDACTED]", "unknown"), ("Done.", "nested")])
def test_an_agent_below_another_may_have_been_called_by_a_tool_where_the_request_was_left_out(word, form):
    """CrewAI under OpenLLMetry: no span tells of the tool."""
    messages = [{"role": "assistant", "parts": [{"type": "text", "content": word}], "finish_reason": "tool_call"}]
    told = {"gen_ai.output.messages": word if form == "unknown" else messages}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, attributes=told),
        agent(3, "worker", 1, at=2, took=4),
        chat(4, 3, attributes=told, at=3),
    )
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "worker", form)]


def test_a_run_that_failed_and_of_whose_words_none_is_told_is_the_same_either_way():
    asked = [{"role": "user", "parts": [{"type": "text", "content": ""}]}]
    wrong = {"error": "500", "attributes": {"gen_ai.input.messages": asked, "error.type": "InternalServerError"}}
    told = frames([("traces", request([agent(1, "a", took=9, **wrong), chat(2, 1, **wrong)]))])
    assert with_shortcut(*told)[0].equals(without(*told))


def _emptied(words, answer, back, system="", told=None):
    """A graph that names the way it takes between what it was asked and what it answers."""
    asked = [*([] if system is None else [{"role": "system", "parts": [{"type": "text", "content": system}]}])]
    asked.append({"role": "user", "parts": [{"type": "text", "content": words}]})
    call = {"type": "tool_call", "id": "call_1", "name": "look", "arguments": {"at": "x"}}
    result = told or {"content": back, "type": "tool", "tool_call_id": "call_1"}
    back = {"type": "tool_call_response", "id": "call_1", "response": back}
    later = [*asked, {"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [back]}]
    graph = {"openinference.span.kind": "CHAIN", "input.value": {"messages": [{"role": "user", "content": words}]}}
    return runs(
        span(1, name="graph", took=9, attributes=graph),
        chat(2, 1, [("call_1", "look", {"at": "x"})], asked),
        span(5, 1, name="route", at=2, attributes={"openinference.span.kind": "CHAIN", "output.value": "to tools"}),
        tool(3, 1, "look", "call_1", result, at=3),
        chat(4, 1, answer, later, at=4),
    )[0]


def test_a_way_that_a_graph_took_is_no_word_of_what_was_said():
    run = _emptied("", "", "")
    assert (run["input"], run["tool_calls"][0]["result"], run["boundaries"]) == (None, None, [])
    run = _emptied("", "What may I do?", "", "You help.")
    assert (run["input"], run["tool_calls"][0]["result"], run["boundaries"]) == ("", "", ["empty_input"])


def test_what_stays_of_results_says_nothing_of_a_request_where_the_very_instructions_are_empty():
    assert _emptied("", "", '{"assistant": "worker"}')["input"] is None
    assert _emptied("", None, "sunny", None)["input"] == ""


def test_parts_that_were_emptied_are_no_result():
    run = _emptied("", "", '[{"type": "text", "text": ""}]', told='[{"type": "text", "text": ""}]')
    assert run["tool_calls"][0]["result"] is None


@pytest.mark.parametrize(
    ("words", "given", "result"),
    [("", '{"tool_name": "look", "arguments": ""}', None), ("Look.", '{"tool_name": "look", "arguments": {}}', "")],
)
def test_arguments_that_were_emptied_beside_the_tools_name_are_untold(words, given, result):
    """A client of MCP's under Traceloop, whose model's calls tell no words, in a run that ended at its limit."""
    messages = {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": words}]}]}
    told = {"traceloop.span.kind": "tool", "traceloop.entity.name": "look", "traceloop.entity.input": given}
    (run,) = runs(
        agent(1, "a", took=9, attributes=messages),
        chat(2, 1),
        span(3, 1, "look.tool", at=2, attributes=told | {"traceloop.entity.output": '{"result": ""}'}),
        span(5, 3, "Writer", at=2, attributes={"traceloop.entity.output": "kept"}),
    )
    (call,) = run["tool_calls"]
    assert call["arguments"] == (None if result is None else {})
    assert call["result"] == (result if result is None else {"result": ""})
    assert run["input"] == (words or None)


def test_a_talk_of_several_without_one_word_was_emptied_beside_one_that_was_not():
    """Pydantic AI tells of a run in attributes of its own, of which a collector may know, and not of a model's."""
    said = [{"role": role, "parts": [{"type": "text", "content": ""}]} for role in ("user", "assistant")]
    (run,) = runs(agent(1, "a", took=9, attributes={"gen_ai.input.messages": said}), chat(2, 1, "Done.", "Look."))
    assert (run["input"], "empty_input" in run["boundaries"]) == (None, False)


@pytest.mark.parametrize(("words", "calls"), [("", None), ("***", None), ("Done.", [])])
def test_an_answer_without_a_word_may_have_asked_for_tools_in_words(words, calls):
    """CrewAI has models that know no tools ask for them in a text."""
    told = {"gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": words}]}]}
    (run,) = runs(agent(1, "a", took=9), *(chat(n, 1, attributes=told, at=n, finish=None) for n in (2, 3)))
    assert run["tool_calls"] == calls


def test_an_agent_that_worked_before_who_asked_for_it_was_heard_again_is_whom_an_emptied_request_called():
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("call_1", "delegate_work_to_coworker", "")], "Look."),
        agent(3, "worker", 1, at=2, took=2),
        chat(4, 3, "Seen.", "", at=3),
        chat(5, 1, "Done.", "Look.", at=5),
    )
    assert [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]] == [
        ("planner", "worker", "tool", "delegate_work_to_coworker")
    ]
