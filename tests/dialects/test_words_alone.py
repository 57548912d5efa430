"""Instrumentations that nobody has a table for: what their words and failures tell, and what they leave unknown."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool


def _call(id, parent, operation, **more):
    told = {"gen_ai.operation.name": operation, "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    return span(id, parent, f"{operation} look", attributes=told | {"gen_ai.tool.call.result": "3 degrees"}, **more)


@pytest.mark.parametrize("operation", ["tool.execute", "runTool", "call_tool", "tool-use", "Function Execution"])
def test_an_operation_that_no_convention_names_ran_the_tool_that_it_names(operation):
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], asked="weather?", at=1),
        _call(3, 1, operation, at=3),
        chat(4, 1, "cold", at=5),
    )
    assert [(c["name"], c["status"], c["result"], c["turn"]) for c in run["tool_calls"]] == [
        ("look", "ok", "3 degrees", 0)
    ]


@pytest.mark.parametrize("operation", ["list_tools", "register_tool", "tool_selection_plan"])
def test_work_about_tools_runs_none(operation):
    about = span(3, 1, "x", at=3, attributes={"gen_ai.operation.name": operation, "gen_ai.tool.name": "look"})
    (run,) = runs(agent(1, "a", took=9), about, chat(4, 1, "cold", asked="weather?", at=5))
    assert run["tool_calls"] == []


def test_other_operations_on_agents_and_models_are_known_by_their_words():
    model = {"gen_ai.operation.name": "llm.generate", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3}
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "cold"}], "finish_reason": "stop"}]
    (run,) = runs(
        span(1, None, "go", took=9, attributes={"gen_ai.operation.name": "agent.execute", "gen_ai.agent.name": "a"}),
        span(2, 1, "model", at=1, attributes=model | {"gen_ai.output.messages": json.dumps(answer)}),
        span(3, 1, "vectors", at=1, attributes=model | {"gen_ai.operation.name": "generate_embeddings"}),
    )
    assert run["agents"] == ["a"]
    assert [(c["agent"], c["request_model"], c["input_tokens"]) for c in run["llm_calls"]] == [("a", "m", 3)]


def _broken_model(name="chat model-a", status=2):
    thrown = [("exception", {"exception.type": "ServerError", "exception.message": "500"})]
    return span(5, 1, name, kind=3, at=5, status=status, events=thrown, attributes={})


def test_a_span_that_failed_is_a_model_call_if_others_of_its_name_are():
    before = [agent(1, "a", took=9), chat(2, 1, [("c1", "look", {})], asked="weather?", at=1)]
    before.append(tool(3, 1, "look", "c1", "3 degrees", at=3))
    (run,) = runs(*before, _broken_model())
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "error"]
    assert run["status"] == "error"
    (run,) = runs(*before, _broken_model("other"))
    assert [c["status"] for c in run["llm_calls"]] == ["ok"]
    assert run["status"] == "unknown"  # something threw after all that can be read


def test_a_models_span_around_a_tool_that_it_did_not_ask_for_is_several_calls():
    inside = [tool(3, 2, "look", "c1", "3 degrees", at=2, took=1), tool(4, 2, "book", "c2", "done", at=4, took=1)]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, "cold and booked", asked="weather?", at=1, took=7), *inside)
    assert [c["name"] for c in run["tool_calls"]] == ["look", "book"]
    assert run["llm_calls"] is None
    assert "model calls share a span" in run["incomplete"]


def test_a_run_that_failed_without_a_word_may_have_reached_a_limit():
    steps = [chat(2, 1, [("c1", "look", {})], asked="weather?", at=1), tool(3, 1, "look", "c1", "3 degrees", at=3)]
    (run,) = runs(agent(1, "a", took=9, status=2), *steps)
    assert (run["status"], run["boundaries"]) == ("error", [])
    assert {"error", "max_steps", "cost_limit", "timeout"} <= set(run["boundaries_unknown"])
    thrown = [("exception", {"exception.type": "ValueError", "exception.message": "no such city"})]
    (run,) = runs(agent(1, "a", took=9, status=2, events=thrown), *steps)
    assert run["boundaries"] == ["error"]


def test_a_span_that_only_made_a_request_is_no_model_call():
    made = {"messages": [{"role": "system", "content": "Help."}, {"role": "user", "content": "weather?"}]}
    ready = {"openinference.span.kind": "LLM", "llm.model_name": "model-a", "output.value": json.dumps(made)}
    (run,) = runs(agent(1, "a", took=9), span(2, 1, "prepare", at=1, attributes=ready), chat(3, 1, "cold", at=3))
    assert len(run["llm_calls"]) == 1


def test_a_model_in_the_place_of_an_agents_name_is_no_agent():
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "model-a"}
    (run,) = runs(span(1, None, "invoke_agent model-a", took=9, attributes=told), chat(2, 1, "cold", asked="weather?"))
    assert (run["agents"], run["llm_calls"][0]["agent"]) == ([], None)
    (run,) = runs(span(1, None, "invoke_agent a", took=9, attributes=told), chat(2, 1, "cold", asked="weather?"))
    assert run["agents"] == ["a"]


def _mute_step(id, at, operation, kind=1, **told):
    attributes = {"gen_ai.operation.name": operation} | {f"gen_ai.{key}": value for key, value in told.items()}
    return span(id, 1, operation, at=at, kind=kind, attributes=attributes)


_FIRST = _mute_step(2, 1, "llm.generate_content", 3, completion="Action: look\nAction Input: x")
_SECOND = _mute_step(4, 3, "llm.generate_content", 3, completion="Action: dig\nAction Input: y")
_TOOLS = [_mute_step(3, 2, "tool"), _mute_step(5, 4, "tool")]
_ANSWER = _mute_step(6, 5, "llm.generate_content", completion="Final Answer: cold") | {"kind": 3}


def test_a_model_that_nobody_names_was_asked_where_that_is_what_is_done():
    counted = _mute_step(7, 6, "model.call", **{"usage.input_tokens": 3})
    about = [_mute_step(8, 7, "llm.router"), _mute_step(9, 8, "llm.call")]  # nothing says that it asked somebody
    (run,) = runs(span(1, None, "POST /ask", took=9), _FIRST, _ANSWER, counted, *about)
    assert [(c["request_model"], c["input_tokens"]) for c in run["llm_calls"]] == [*2 * [(None, None)], (None, 3)]


def test_what_was_asked_for_may_have_run_where_more_tools_that_nobody_names_did_than_were():
    (run,) = runs(span(1, None, "POST /ask", took=9), _FIRST, _SECOND, *_TOOLS, _ANSWER)
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok"), ("dig", "ok")]
    (run,) = runs(span(1, None, "POST /ask", took=9), _FIRST, *_TOOLS, _ANSWER)
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "unknown"), (None, "ok"), (None, "ok")]


def test_a_loop_whose_frame_is_lost_may_have_met_its_limit_as_the_one_that_its_tool_ran_ended():
    (run,) = runs(
        chat(2, 1, [("c1", "ask_digger", {"task": "dig"})], asked="go", at=1),
        tool(3, 1, "ask_digger", "c1", "Dug.", at=3, took=4),
        span(4, 3, "loop", at=3.5, took=3, gen_ai__operation__name="chain"),
        chat(5, 4, "Dug.", asked="dig", at=4),
    )
    assert run["output"] is None
    assert {"max_steps", "cost_limit"} <= set(run["boundaries_unknown"])


def _part(role, **part):
    return {"role": role, "parts": [part]}


def _words(role, text):
    return _part(role, type="text", content=text)


def _asked_for(id, name, **given):
    return _part("assistant", type="tool_call", id=id, name=name, arguments=given)


def _came(id, text):
    return _part("tool", type="tool_call_response", id=id, response=text)


def _with_a_digger(words, first):
    """Both agents say these words before they ask; `first` is what the caller's first answer tells of them."""
    dig = [_words("user", "dig here")]
    own = [_words("assistant", words), _asked_for("s1", "look", x=1), _came("s1", "fine")]
    both = [_asked_for("c1", "ask_digger", task="dig here"), _asked_for("c2", "look", x=2)]
    asked = [_words("user", "go"), own[0], *both, _came("c1", "Dug."), _came("c2", "fine")]
    (run,) = runs(
        chat(1, None, *first, asked="go", trace=1, at=0),
        chat(2, None, words, asked=dig, trace=2, at=2),
        chat(3, None, "Dug.", asked=[*dig, *own], trace=3, at=4),
        chat(4, None, "All done.", asked=asked, trace=4, at=6),
    )
    return run


def test_those_who_say_the_same_before_they_ask_are_told_apart_by_what_they_were_asked():
    """Each call in a trace of its own, and of each answer its text alone: what was asked for beside that stands in
    later inputs, a message each."""
    run = _with_a_digger("Let me check.", ("Let me check.",))
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("go", "All done.", 4)
    assert sorted(c["name"] for c in run["tool_calls"]) == ["look", "look"]
    assert [d["tool"] for d in run["delegations"]] == ["ask_digger"]


def test_whom_an_answer_of_which_nothing_is_told_called_is_told_by_all_that_it_asked_for_at_once():
    run = _with_a_digger("Hm.", ())
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("go", "All done.", 4)
