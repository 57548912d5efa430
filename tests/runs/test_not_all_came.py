"""Runs that are under way, or of which the root is lost: what is told of them is what will be true in the end."""

import random

import polars as pl
import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.runs.dialogue import dialogues
from otelcov.store.layout import from_requests
from tests import captures
from tests.captures import LATER, as_json
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

LOST = 99  # a span that has not come


def test_a_tool_that_failed_is_no_end():
    asked = chat(2, LOST, [("c1", "look", {})])
    failed = tool(3, LOST, "look", call="c1", at=2, error="no such place")
    (run,) = runs(asked, failed)
    assert (run["status"], run["boundaries"]) == ("unknown", ["tool_failure"])
    assert "error" in run["boundaries_unknown"]
    for above in (None, 98):  # that of the agent, too, may be somewhere else
        (run,) = runs(agent(LOST, "planner", parent=above, took=3), asked, failed)
        assert (run["status"], run["boundaries"]) == ("error", ["error", "tool_failure"])


@pytest.mark.parametrize("asked", ["ask_worker", "delegate_to_worker"])
@pytest.mark.parametrize("above", [LOST, 98])
def test_who_was_called_was_not_asked_by_the_user_and_does_not_answer(asked, above):
    answer = '[{"role": "assistant", "parts": [{"type": "text", "content": "I found it."}]}]'
    spans = [
        chat(2, LOST, [("c1", asked, {"task": "find"})], "Where is it?"),
        agent(3, "worker", parent=above, at=2, took=5, gen_ai__output__messages=answer),
        chat(4, 3, "I found it.", "find", at=3),
    ]
    (run,) = runs(*spans)
    assert (run["input"], run["output"], run["status"]) == ("Where is it?", None, "unknown")
    assert [(handed["tool"], handed["to"]) for handed in run["delegations"]] == [(asked, "worker")]
    assert list(dialogues(*frames([("traces", request(spans))]))) == [run["run_id"]]


@pytest.mark.parametrize(("later", "handed"), [(None, True), ("worker", True), ("planner", False)])
def test_a_tool_that_hands_over_is_no_tool_call_until_who_called_it_goes_on(later, handed):
    told = {"gen_ai.agent.name": "planner"}
    spans = [
        chat(2, LOST, [("c1", "transfer_to_worker", {})], attributes=told),
        tool(3, LOST, "transfer_to_worker", call="c1", result="", at=2, attributes=told),
    ]
    if later is not None:
        spans.append(chat(4, LOST, [("c2", "look", {})], at=4, attributes={"gen_ai.agent.name": later}))
    (run,) = runs(*spans)
    assert ("transfer_to_worker" not in [call["name"] for call in run["tool_calls"]]) == handed


@pytest.mark.parametrize(
    ("above", "status"),
    [
        ([], "unknown"),
        ([span(6, LOST, "model", at=4, traceloop__span__kind="task")], "unknown"),
        ([agent(6, "planner", parent=LOST, at=4, took=2)], "requested"),
    ],
)
def test_what_was_asked_for_last_where_a_process_was_killed_may_have_been_running(above, status):
    spans = [
        chat(2, LOST, [("c1", "look", {})], "Where is it?"),
        tool(3, LOST, "look", call="c1", result="blue", at=2),
        *above,
        chat(4, 6 if above else LOST, [("c2", "look", {})], "And that?", at=4),
    ]
    (run,) = runs(*spans)
    assert [call["status"] for call in run["tool_calls"]] == ["ok", status]
    assert ("tool status not reported" in run["incomplete"]) == (status == "unknown")


@pytest.mark.parametrize(("above", "status"), [([], "unknown"), ([agent(LOST, "planner", took=9)], "requested")])
def test_who_was_asked_last_where_a_process_was_killed_may_have_been_at_work(above, status):
    way = {"task": "Look.", "context": "", "coworker": "clerk"}
    (run,) = runs(*above, chat(2, LOST, [("c1", "delegate_work_to_coworker", way)], "Go.", at=1))
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("clerk", status)]


@pytest.mark.parametrize(
    ("name", "asked", "above", "handed"),
    [
        ("ask_worker", "Find it.", LOST, True),
        ("ask_worker", "Sum this up: a, b.", LOST, False),
        ("ask_worker", "Find it.", 1, False),
        ("look_up", "Find it.", LOST, False),
    ],
)
def test_a_tool_in_whose_time_an_agent_worked_whose_span_is_lost_is_a_delegation(name, asked, above, handed):
    """Agno 2.6 under OpenInference, Semantic Kernel 1.41, LlamaIndex 0.14: one span of a trace was lost."""
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", name, {"task": "Find it."})], "Where is it?"),
        tool(3, 1, name, call="c1", result="Here.", at=2, took=4),
        chat(4, above, "Here.", asked, at=3),
        chat(5, 1, "It is here.", at=7),
    )
    assert [call["name"] for call in run["tool_calls"]] == ([] if handed else [name])
    assert (run["delegations"] is None, "delegations not visible" in run["incomplete"]) == (above == LOST,) * 2


@pytest.mark.parametrize(
    ("first", "then", "number"),
    [
        (("planner", "Blue?", "It is."), ("planner", "And red?", "That too."), 2),
        (("planner", "Blue?", "It is."), ("planner", "Given that: It is. And red?", "That too."), 1),
        (("planner", "Blue?", "It is."), ("planner", "Blue?", "It is."), 1),
        (("planner", "Blue?", "It is."), ("worker", "And red?", "That too."), 1),
    ],
)
def test_requests_below_a_program_whose_span_is_lost_are_runs_of_their_own(first, then, number):
    """Agno 2.6 under OpenInference, Strands 1.49 and others: one agent asked twice in a span of the program's."""
    (name, words, answer), (other, more, last) = first, then
    found = runs(
        *(agent(2, name, parent=LOST, took=3), chat(3, 2, answer, words)),
        *(agent(4, other, parent=LOST, at=5, took=3), chat(5, 4, last, more, at=5)),
    )
    assert len(found) == number
    if number == 2:
        assert [(r["input"], r["output"]) for r in found] == [(words, answer), (more, last)]


@pytest.mark.parametrize("id", ["c1", None])
@pytest.mark.parametrize("lost", [True, False])
def test_a_model_whose_span_is_lost_is_missing_where_a_later_one_was_shown_what_it_asked_for(lost, id):
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}
    back = {"type": "tool_call_response", "id": "c1", "response": "blue"}
    shown = [
        {"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]},
        {"role": "assistant", "parts": [call]},
        {"role": "tool", "parts": [back]},
    ]
    asked = [] if lost else [chat(2, 1, [("c1", "look", {})], "Where is it?", at=1)]
    look = tool(3, 1, "look", call=id, result="blue", at=2)
    (run,) = runs(agent(1, "planner", took=9), *asked, look, chat(4, 1, "Blue.", shown, at=4))
    assert ("missing step" in run["incomplete"]) == lost


def test_what_lost_its_parent_is_of_the_request_in_whose_time_it_was():
    """LlamaIndex 0.14 under OpenInference: a step of one of two requests in a span of the program's was lost."""
    first, then = runs(
        span(1, name="job", took=12),
        *(agent(2, "planner", parent=1, took=5), chat(3, 2, [("c1", "look", {})], "Blue?")),
        *(tool(4, 2, "look", call="c1", result="yes", at=2), chat(5, LOST, "It is.", at=3)),
        *(agent(6, "planner", parent=1, at=7, took=4), chat(7, 6, "That too.", "And red?", at=7)),
    )
    assert [len(r["llm_calls"]) for r in (first, then)] == [2, 1]
    assert (first["input"], then["input"], then["output"]) == ("Blue?", "And red?", "That too.")


@pytest.mark.parametrize(("error", "output"), [("MaxTokensReached: too long", None), (None, "It is at")])
def test_what_was_said_last_in_a_step_that_failed_of_a_run_whose_root_is_lost_is_no_answer(error, output):
    """Strands 1.49: a cycle raises where an answer was cut at its limit of tokens."""
    cycle = {"traceloop.span.kind": "task"}
    (run,) = runs(
        span(2, LOST, "cycle", took=3, attributes=cycle),
        *(chat(3, 2, [("c1", "look", {})], "Where is it?"), tool(4, 2, "look", call="c1", result="blue", at=2)),
        *(span(5, LOST, "cycle", at=4, took=2, error=error, attributes=cycle), chat(6, 5, "It is at", at=4)),
    )
    assert run["output"] == output


def test_a_tool_whose_span_is_lost_has_the_result_of_its_own_id():
    """Traceloop 0.62 of OpenAI's agents 0.24: answers tell a call's id, history the item's beside the call's result."""

    def asked(*looks):
        history = [{"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}]
        for n in looks:
            call = {"type": "tool_call", "id": f"fc_{n}", "name": "look", "arguments": {"n": n}}
            brought = {"type": "tool_call_response", "id": f"call_{n}", "response": f"not in {n}"}
            history += [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [brought]}]
        return history

    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("call_1", "look", {"n": 1})], asked()),
        chat(3, 1, [("call_2", "look", {"n": 2})], asked(1), at=2),
        chat(4, 1, "Nowhere.", asked(1, 2), at=4),
    )
    told = [(call["status"], call["call_id"], call["result"]) for call in run["tool_calls"]]
    assert told == [("ok", "call_1", "not in 1"), ("ok", "call_2", "not in 2")]


DIALECTS = (
    *("langgraph--openllmetry", "openai-agents--openllmetry", "openai-agents--openinference"),
    *("crewai--openllmetry--native", "otel-semconv--manual", "pydantic-ai--native-v5"),
)
HANDED_BACK = {("langgraph--openllmetry", "S5")}  # who is handed over to mostly answers; here it hands back


SOME = [("langgraph--openllmetry", 0)]
MORE = [(name, seed) for name in DIALECTS for seed in range(4) if (name, seed) not in SOME]


@pytest.mark.parametrize(("name", "seed"), [*SOME, *(pytest.param(*one, marks=pytest.mark.full) for one in MORE)])
def test_what_has_come_tells_nothing_else_than_all_of_it(name, seed):
    rng, seen = random.Random(seed), 0
    for scenario in captures.packed("corpus", name):
        spans, logs = from_requests(scenario.bodies("traces"), scenario.bodies("logs"), 1)
        end = pl.col("end_time_unix_nano")
        first, last = spans.select(pl.col("start_time_unix_nano").min(), end.max()).row(0)
        some = spans.filter(end <= first + int((last - first) * rng.random()))
        whole = {trace: run for run in as_json(reconstruct(spans, logs, Config(), LATER)) for trace in run["trace_ids"]}
        for run in as_json(reconstruct(some, logs, Config(), LATER)):
            true = whole[run["trace_ids"][0]]
            facts = (("status", "unknown"), ("input", None), ("output", None))
            for fact, unknown in facts[: 2 if (name, scenario.name) in HANDED_BACK else 3]:
                assert run[fact] in (true[fact], unknown), (scenario.name, fact)
            assert set(run["boundaries"]) <= {*true["boundaries"], "tool_recovery"}
            seen += run["status"] == "unknown"
    assert seen


def test_an_agent_that_failed_last_and_has_lost_its_parent_may_have_been_caught():
    failed = {"error": "Refused", "events": [("exception", {"exception.type": "Refused"})]}
    kit = {"scope": "openinference.instrumentation.openai_agents"}
    told = {"attributes": {"openinference.span.kind": "AGENT"}, "took": 9, **kit}
    (run,) = runs(span(1, name="travel", **told), span(3, 2, "planner", at=1, **told | {"took": 7} | failed))
    assert run["status"] == "unknown"


def test_what_goes_on_in_a_step_that_lost_its_parent_may_have_answered():
    (run,) = runs(
        agent(1, "travel", took=9),
        chat(2, 1, "I found one.", "Look.", at=1),
        span(4, 3, "planner", at=4, took=3, attributes={"openinference.span.kind": "CHAIN"}),
    )
    assert run["output"] is None
    (run,) = runs(
        agent(1, "travel", took=9),
        chat(2, 1, "I found one.", "Look.", at=1),
        span(4, 1, "planner", at=4, took=3, attributes={"openinference.span.kind": "CHAIN"}),
    )
    assert run["output"] == "I found one."


def test_what_an_agent_said_that_lost_its_parent_within_a_tool_is_not_what_the_run_said():
    (run,) = runs(
        agent(1, "travel", took=20),
        agent(2, "planner", 99, took=18),
        chat(3, 2, [("call_1", "ask_worker", {"it": "Find."})], "Ask the worker.", at=1),
        tool(4, 2, "ask_worker", "call_1", at=3, took=6),
        agent(5, "worker", 98, at=4, took=4),
        chat(6, 5, "Found.", "Find.", at=5),
    )
    assert (run["input"], run["output"]) == ("Ask the worker.", None)


def test_what_comes_after_a_request_in_words_is_no_word_of_the_users():
    """CrewAI, of which the first model's call was lost."""
    asks = "Thought: I look.\nAction: look\nAction Input: {}\nObservation: seen"
    told = [("system", "Be brief."), ("user", "Look."), ("assistant", asks), ("user", "Analyze the tool result.")]
    inputs = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in told]
    (run,) = runs(span(1, name="crew", took=9), chat(3, 2, "Final Answer: Done.", inputs, at=2))
    assert run["input"] == "Look."
