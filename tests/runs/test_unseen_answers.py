"""Runs of which a model's call, or a tool that held an agent, was lost, though what it gave stands elsewhere."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

LOST = 99  # a span that has not come


def _message(id, text, *calls, took=9):
    """A model's message, as LangChain writes it."""
    told = {"content": text, "tool_calls": [{"name": n, "args": a, "id": i} for i, n, a in calls]}
    told |= {"usage_metadata": {"input_tokens": took, "output_tokens": 2}, "id": id}
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"], "kwargs": told}


def _step(id, parent, name, at, put_out, given=(), took=1):
    told = {"openinference.span.kind": "CHAIN", "output.value": json.dumps({"messages": put_out})}
    told |= {"input.value": json.dumps({"messages": list(given)})}
    return span(id, parent, name, at=at, took=took, attributes=told, scope="openinference.instrumentation.langchain")


FIRST, LAST = (
    _message("resp_first-01", "", ("c1", "look", {}), took=9),
    _message("resp_last-02", "It is blue.", took=10),
)


@pytest.mark.parametrize("lost", [True, False])
def test_a_step_that_put_out_what_a_model_said_misses_its_model(lost):
    """LangGraph: neither the history of the next call nor anything else tells that the first was made."""
    (run,) = runs(
        agent(1, "planner", took=9),
        _step(2, 1, "agent", 1, [FIRST]),
        *(() if lost else [chat(3, 2, [("c1", "look", {})], "Is it blue?", at=1.2, took=0.5)]),
        _step(4, 1, "should_continue", 2.1, [FIRST], [FIRST], took=0.1),
        _step(5, 1, "agent", 5, [LAST], [FIRST]),
        chat(6, 5, "It is blue.", "Is it blue?", at=5.2, took=0.5),
    )
    assert ("missing step" in run["incomplete"]) == lost


@pytest.mark.parametrize("lost", [True, False])
def test_a_call_in_a_trace_of_its_own_that_was_shown_what_nobody_asked_for_misses_who_asked(lost):
    """A trace a call, of which the first was not sampled."""
    words = {"role": "user", "parts": [{"type": "text", "content": "Is it blue?"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]}
    told = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "blue"}]}
    first = [] if lost else [chat(1, None, [("c1", "look", {})], [words])]
    (run,) = runs(*first, chat(2, None, "It is blue.", [words, asked, told], trace=2, at=3))
    assert ("missing step" in run["incomplete"], [t["name"] for t in run["tool_calls"]]) == (lost, ["look"][lost:])


@pytest.mark.parametrize("lost", [1, 0, 4, 5, 2, 3])
def test_a_call_of_two_that_each_keep_a_history_in_traces_of_their_own_is_missed(lost):
    """A program that lets a second loop of its own work, told a trace a call; the last of them is `lost` 5."""

    def asks(id, name):
        return {"role": "assistant", "parts": [{"type": "tool_call", "id": id, "name": name, "arguments": {}}]}

    def told(id, result):
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "result": result}]}

    def words(role, text):
        return {"role": role, "parts": [{"type": "text", "content": text}]}

    first = [words("system", "Plan."), words("user", "Write a poem.")]
    other = [words("system", "Write."), words("user", "A poem, please.")]
    again = [*other, asks("c2", "rhyme"), told("c2", "rose")]
    in_the_end = [*first, asks("c1", "ask_writer"), told("c1", "Rose, nose.")]
    sent = [
        chat(1, None, [("c1", "ask_writer", {})], first),
        chat(2, None, [("c2", "rhyme", {})], other, trace=2, at=2),
        chat(3, None, [("c3", "rhyme", {})], again, trace=3, at=4),
        chat(4, None, "Rose, nose.", [*again, asks("c3", "rhyme"), told("c3", "nose")], trace=4, at=6),
        chat(5, None, "Here: rose, nose.", in_the_end, trace=5, at=8),
    ]
    found = runs(*(s for at, s in enumerate(sent) if at != lost))
    calls = sum(len(r["llm_calls"]) for r in found)
    said = {"missing step", "what came last is not visible"}
    assert (calls, any(said & set(r["incomplete"]) for r in found)) == (5 - (lost < 5), lost < 5)


def test_a_tool_that_asks_an_agent_whose_only_model_is_lost_is_a_delegation():
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "ask_writer", {"task": "Write."})], "A poem!"),
        tool(3, 1, "ask_writer", call="c1", result="Roses.", at=2, took=3),
        _step(4, 3, "writer", 2.2, [_message("resp_poem-03", "Roses.")]),
        chat(6, 1, "Roses.", at=7),
    )
    assert (run["tool_calls"], [(d["from"], d["to"]) for d in run["delegations"]]) == ([], [("planner", "writer")])
    assert "missing step" in run["incomplete"]


@pytest.mark.parametrize("works", ["poet", None])
def test_a_tool_whose_span_is_lost_held_the_agent_below_it(works):
    """It is no tool that ran, nor one that was only asked for."""
    told = {"gen_ai.agent.name": works} if works else {}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "ask_writer", {"task": "Write."})], "A poem!"),
        *([agent(4, works, parent=LOST, at=2, took=3)] if works else []),
        chat(5, 4 if works else LOST, "Roses.", "Now write that.", at=3, attributes=told),
        chat(6, 1, "Roses.", "A poem!", at=7),
    )
    handed = run["delegations"] and [(d["from"], d["to"]) for d in run["delegations"]]
    assert (run["tool_calls"], handed) == ([], [("planner", works)] if works else None)


def test_what_goes_on_below_a_step_that_is_lost_is_no_other_agents_work():
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "query_index", {"task": "Find."})], "Where?"),
        chat(6, LOST, "Here.", "Where?", at=7),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["query_index"]


def _genkit(id, parent, name, subtype, at, took, **told):
    told = {f"genkit:{key}": value for key, value in told.items()}
    told |= {"genkit:type": "action", "genkit:metadata:subtype": subtype, "genkit:name": name}
    return span(id, parent, name, at=at, took=took, attributes=told, scope="genkit-tracer")


@pytest.mark.parametrize("lost", [3, 5, None])
def test_each_generate_of_genkit_asks_a_model(lost):
    """Each round lies in the one before."""
    asked = {"messages": [{"role": "user", "content": [{"text": "go"}]}]}
    request = [{"toolRequest": {"name": "look", "ref": "c1", "input": {}}}]
    spans = [
        _genkit(1, None, "planner", "flow", 0, 9),
        _genkit(2, 1, "generate", "util", 0.5, 8),
        _genkit(3, 2, "m", "model", 1, 1, input=asked, output={"message": {"role": "model", "content": request}}),
        _genkit(4, 2, "generate", "util", 4, 4),
        _genkit(5, 4, "m", "model", 5, 1, output={"message": {"role": "model", "content": [{"text": "Blue."}]}}),
    ]
    (run,) = runs(*(s for s in spans if s["id"] != lost))
    assert ("missing step" in run["incomplete"]) == (lost is not None)


@pytest.mark.parametrize("lost", [7, 9, None])
def test_each_cycle_of_strands_but_the_first_asks_a_model(lost):
    """The first may run what was asked for before an interrupt."""
    kit = {"scope": "strands-agents"}
    spans = [
        agent(1, "planner", took=12),
        span(2, 1, "execute_event_loop_cycle", **kit),
        *(span(6, 1, "execute_event_loop_cycle", at=3, took=3, **kit), chat(7, 6, [("c1", "look", {})], at=3)),
        *(tool(10, 6, "look", call="c1", at=4.5), span(8, 1, "execute_event_loop_cycle", at=7, took=2, **kit)),
        chat(9, 8, "It is.", at=7),
    ]
    (run,) = runs(*(s for s in spans if s["id"] != lost))
    assert ("missing step" in run["incomplete"]) == (lost is not None)


@pytest.mark.parametrize(("more", "handed"), [([tool(6, LOST, "look", call="c2", at=4)], True), ([], False)])
def test_who_went_on_in_a_tool_below_what_is_lost_was_an_agent_whatever_it_was_told(more, handed):
    again = [chat(7, LOST, "Roses.", "Write, please.", at=5, took=1.0005)] if more else []
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "ask_writer", {"task": "Write."})], "A poem!"),
        tool(3, 1, "ask_writer", call="c1", result="Roses.", at=2, took=4),
        chat(5, LOST, [("c2", "look", {})] if more else "Roses.", "Write, please.", at=2.5),
        *(*more, *again),
        chat(8, 1, "Roses.", at=7),
    )
    assert ("ask_writer" not in [c["name"] for c in run["tool_calls"]]) == handed


@pytest.mark.parametrize("lost", [True, False])
def test_calls_at_once_stand_as_they_were_asked_for_where_only_a_later_history_tells_it(lost):
    asked = [("c1", "look", {"n": 1}), ("c2", "find", {"n": 2}), ("c3", "find", {"n": 1})]
    parts = [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in asked]
    back = [{"type": "tool_call_response", "id": i, "response": "yes"} for i, _, _ in asked]
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": parts},
        {"role": "tool", "parts": back},
    ]
    (run,) = runs(
        agent(1, "planner", took=9),
        *([] if lost else [chat(2, 1, asked, "go", at=1)]),
        *(tool(9 - n, 1, name, call=call, result="yes", at=3) for n, (call, name, _) in enumerate(asked)),
        chat(10, 1, "Done.", history, at=5),
    )
    assert [c["call_id"] for c in run["tool_calls"]] == ["c1", "c2", "c3"]


@pytest.mark.parametrize(("offers", "status"), [(None, "unknown"), (("look",), "requested"), (("find",), "unknown")])
def test_a_tool_whose_span_is_lost_may_have_run_where_the_history_since_is_cut(offers, status):
    """Unless it is told that the run does not have it."""
    words = "Where is it? " * 30
    history = [{"role": "user", "parts": [{"type": "text", "content": words}]}]
    told = {"gen_ai.tool.definitions": [{"type": "function", "name": n} for n in offers]} if offers else {}
    cut = {"gen_ai.input.messages": json.dumps(history)[:256]}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "find", {}), ("c2", "look", {})], at=1, attributes=cut | told),
        tool(3, 1, "look", call="c2", result="yes", at=3),
        chat(4, 1, "Done.", at=5, attributes=cut | told),
    )
    assert {c["name"]: c["status"] for c in run["tool_calls"]} == {"find": status, "look": "ok"}


@pytest.mark.parametrize("lost", [5, 7, None])
@pytest.mark.parametrize("works", [True, False])
def test_what_an_agent_gave_that_a_tool_called_some_model_said(works, lost):
    """Google's ADK gives an object of it; CrewAI's own tracing shows agents that asked a model and did no more."""
    used = [chat(5, 4, [("c2", "look", {})], "Find it.", at=2.5, took=0.5), tool(6, 4, "look", call="c2", at=3.2)]
    (run,) = runs(
        *(
            agent(1, "planner", took=12),
            chat(2, 1, [("c1", "ask_clerk", {"task": "Find it."})], "Where?"),
            tool(3, 1, "ask_clerk", call="c1", result='{"result": "In the hall."}', at=2, took=5),
            agent(4, "clerk", parent=3, at=2.2, took=4),
        ),
        *(s for s in [*(used if works else []), chat(7, 4, "In the hall.", "Find it.", at=5)] if s["id"] != lost),
        chat(8, 1, "It is in the hall.", at=9),
    )
    missing = lost is not None and (works or lost == 7)
    assert ("missing step" in run["incomplete"]) == missing


@pytest.mark.parametrize(
    ("lost", "why", "missing"),
    [
        (True, "The model fails.", True),
        (False, "The model fails.", False),
        (True, "Max number of llm calls limit of 1 exceeded", False),  # which kept it from being asked
    ],
)
def test_a_step_that_failed_empty_where_one_of_its_name_asked_a_model_lost_its_call(lost, why, missing):
    """The error went through all that stood around it: nothing else tells that a model was asked."""
    broke = {"error": why, "scope": "openinference.instrumentation.langchain"}
    kind = {"openinference.span.kind": "CHAIN"}
    (run,) = runs(
        span(1, None, "planner", at=0, took=20, attributes={"openinference.span.kind": "AGENT"}, **broke),
        span(2, 1, "model", at=1, attributes=kind, scope="openinference.instrumentation.langchain"),
        chat(3, 2, [("c1", "ask_writer", {"task": "Write."})], "A poem!", at=1.2, took=0.5),
        tool(4, 1, "ask_writer", call="c1", at=3, took=9, error=why),
        span(5, 4, "writer", at=4, took=7, attributes={"openinference.span.kind": "AGENT"}, **broke),
        span(6, 5, "model", at=5, took=2, attributes=kind, **broke),
        *(() if lost else [chat(7, 6, None, "Write.", at=5.2, took=0.5, error=why)]),
    )
    assert ("missing step" in run["incomplete"]) == missing
