"""Facts told by a mixture of conventions: layers of several kits, parts of histories, frames around agents."""

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool


def _user(text):
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def _either_way(*spans):
    found = frames([("traces", request(spans))])
    assert with_shortcut(*found)[0].equals(without(*found))
    return runs(*spans)


def _delegated(run):
    return [(d["from"], d["to"], d["form"], d["tool"], d["status"]) for d in run["delegations"]]


def test_an_input_that_shows_no_more_than_the_one_before_says_nothing_of_what_was_asked():
    def status(*inputs):
        asked = [chat(2, 1, [("c1", "look", {"q": 1})], inputs[0], at=1), chat(3, 1, "done", inputs[1], at=5)]
        (run,) = _either_way(agent(1, "a", took=9), *asked)
        return [c["status"] for c in run["tool_calls"]]

    assert status([_user("go")], [_user("go")]) == ["unknown"]
    assert status([_user("go")], [_user("go"), _user("go on")]) == ["requested"]


def test_an_agent_called_by_name_that_works_next_was_delegated_to_though_no_result_is_shown():
    (run,) = _either_way(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "ask_worker", {"task": "book"})], "go", at=1),
        agent(3, "worker", 1, at=3, took=4),
        chat(4, 3, "booked", "book", at=4),
        chat(5, 1, "done", "go", at=9),
    )
    assert _delegated(run) == [("planner", "worker", "tool", "ask_worker", "ok")]


def test_a_protocols_span_inside_a_tool_is_no_work_of_the_agent_that_the_tool_calls():
    protocol = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "worker"}
    (run,) = _either_way(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "worker", {"task": "book"})], "go", at=1),
        tool(3, 1, "worker", "c1", "booked", at=3, took=6),
        span(4, 3, "tools/call worker", at=3.1, took=5.8, kind=3, attributes=protocol),
        agent(5, "worker", 1, at=4, took=4),
        chat(6, 5, "booked", "book", at=5),
        chat(7, 1, "done", "go", at=11),
    )
    assert _delegated(run) == [("planner", "worker", "tool", "worker", "ok")]
    assert run["tool_calls"] == []


def test_an_agent_that_model_calls_name_is_the_one_that_its_tool_speaks_of():
    def said(id, parent, name, **more):
        return chat(id, parent, attributes={"gen_ai.agent.name": name}, **more)

    (run,) = _either_way(
        span(1, None, "handle", took=20),
        said(2, 1, "planner", at=1),
        tool(3, 1, "call_worker_agent", at=3, took=6),
        said(4, 3, "worker", at=4),
        tool(5, 3, "look", at=5.5),
        said(6, 3, "worker", at=7),
        said(7, 1, "planner", at=10),
    )
    assert run["agents"] == ["planner", "worker"]
    assert [(d["to"], d["tool"]) for d in run["delegations"]] == [("worker", "call_worker_agent")]


def test_a_handoffs_span_that_names_its_target_alone_tells_of_what_was_asked():
    handoff = span(3, 1, "handoff to worker", at=3, attributes={"openinference.span.kind": "TOOL"})
    (run,) = _either_way(
        span(1, None, "handle", took=20),
        chat(2, 1, [("c1", "transfer_to_worker", {})], "go", at=1, gen_ai__agent__name="planner"),
        handoff,
        chat(4, 1, "done", "go", at=5, gen_ai__agent__name="worker"),
    )
    assert _delegated(run) == [("planner", "worker", "handoff", "transfer_to_worker", "ok")]


def test_a_model_call_that_was_made_once_more_failed_no_run_that_begins_with_it():
    (run,) = _either_way(
        chat(1, None, None, "go", at=1, error="no answer"),
        chat(2, None, "done", "go", at=3),
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("ok", "done", ["error"])


def test_an_agent_that_was_called_does_not_begin_the_run_whose_root_never_came():
    (run,) = runs(
        agent(1, "planner", 99, took=20),
        chat(2, 1, [("c1", "ask_worker", {"task": "book"})], "go", at=1),
        tool(3, 1, "ask_worker", "c1", "booked", at=3, took=6),
        agent(4, "worker", trace=2, at=4, took=4, links=[(1, 3)]),
        chat(5, 4, "booked", "book", trace=2, at=5),
        chat(6, 1, "done", "go", at=11),
    )
    assert (run["input"], run["output"]) == ("go", "done")


def test_agents_each_in_a_frame_of_one_name_under_an_applications_span_are_requests():
    def session(*names):
        spans = [span(1, None, "session", took=99)]
        for n, name in enumerate(names, 1):
            frame = span(10 * n, 1, name, at=10 * n, took=9, attributes={"openinference.span.kind": "CHAIN"})
            spans += [frame, agent(10 * n + 1, "a", 10 * n, at=10 * n + 1, took=7)]
            spans += [chat(10 * n + 2, 10 * n + 1, f"answer {n}", f"question {n}", at=10 * n + 2)]
        return [(run["input"], run["output"]) for run in _either_way(*spans)]

    assert session("graph", "graph") == [("question 1", "answer 1"), ("question 2", "answer 2")]
    assert session("draft", "review") == [("question 1", "answer 2")]


def test_what_an_agent_alone_tells_of_tokens_is_of_its_only_call():
    usage = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3}
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": '["stop"]'}
    (run,) = _either_way(agent(1, "a", took=9, attributes=usage), span(2, 1, "chat m", at=1, attributes=told))
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(7, 3)]


def test_a_tool_after_which_a_run_failed_may_have_failed_where_its_span_says_nothing():
    def status(message, **more):
        (run,) = _either_way(
            agent(1, "a", took=9, error=message),
            chat(2, 1, [("c1", "look", {"q": 1})], "go", at=1),
            tool(3, 1, "look", "c1", at=3, **more),
        )
        return [c["status"] for c in run["tool_calls"]]

    assert status("no such place") == ["unknown"]
    assert status("no such place", status=1) == ["ok"]
    assert status("no such place", result="3") == ["ok"]
    assert status("MaxTurnsExceeded: Max turns (3) exceeded") == ["ok"]


def test_an_agent_that_worked_beside_the_tool_of_its_name_in_its_time_was_called_by_it():
    def said(id, name, answer, asked, **more):
        return chat(id, 1, answer, asked, attributes={"gen_ai.agent.name": name}, **more)

    def called(at):
        return _either_way(
            span(1, None, "handle", took=30),
            said(2, "planner", [("c1", "ask_worker", {"task": "book"})], "go", at=1),
            tool(3, 1, "ask_worker", "c1", "booked", at=3, took=6),
            said(4, "worker", "booked", "book", at=at),
            said(5, "planner", "done", "go", at=20),
        )[0]

    assert _delegated(called(5)) == [("planner", "worker", "tool", "ask_worker", "ok")]
    assert [c["name"] for c in called(15)["tool_calls"]] == ["ask_worker"]


def test_a_span_that_tells_a_tools_name_alone_and_is_called_by_it_ran_it():
    (run,) = _either_way(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {"q": 1})], "go", at=1),
        span(3, 1, "acme permission look", at=2.5, took=0.1, gen_ai__tool__name="look"),
        span(4, 1, "acme tool look", at=3, gen_ai__tool__name="look", error="no such place"),
        chat(5, 1, "done", at=5),
    )
    told = [(c["name"], c["call_id"], c["status"], c["turn"]) for c in run["tool_calls"]]
    assert told == [("look", "c1", "error", 0)]


def test_who_works_after_an_agent_of_whose_last_answer_nothing_is_told_may_have_been_handed_the_work():
    def delegations(**told):
        asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        return _either_way(
            span(1, None, "handle", took=20),
            agent(2, "planner", 1, at=1, took=4),
            span(3, 2, "chat m", at=2, attributes=asked | told),
            agent(4, "worker", 1, at=6, took=4),
            span(5, 4, "chat m", at=7, attributes=asked),
        )[0]["delegations"]

    assert delegations() is None
    assert delegations(**{"gen_ai.response.finish_reasons": '["stop"]'}) == []
