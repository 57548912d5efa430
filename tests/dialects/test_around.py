"""What other instrumentations tell around an agent's spans - the request that it serves, those that it makes, what its
program logs - changes nothing of its runs."""

import json

import pytest

from otelcov.runs.whole.unknowns import NO_ROOT
from tests import captures
from tests.captures.around import beside, framed, recorded
from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, events, frames, records, request, runs, span, tool

CAPTURES = [(name, dialect) for name in ("corpus", "more") for dialect in captures.dialects(name)]
_OF_ITS_OWN = ("run_id", "start_unix_nano", "end_unix_nano")  # the first span, and when it came
_NO_REQUEST_EACH = {
    "agents--langsmith": "called agents have traces of their own",
    "strands--native": "called agents have traces of their own",
    "litellm--otel-bare": "each call of a model has a trace of its own",
    "litellm--otel": "what fails is a call alone, of which no loop tells whether it asked again",
    "vercel6--openinference": "the first span bears a tool's error",
}
FRAMED = [(name, dialect) for name, dialect in CAPTURES if dialect not in _NO_REQUEST_EACH]


def _both_ways(scenarios):
    """The run JSON, by the shortcut and without it."""
    spans, logs = frames([r for s in scenarios for r in s.requests])
    long, (short, _) = without(spans, logs), with_shortcut(spans, logs)
    assert captures.as_json(long) == captures.as_json(short)
    told = captures.as_json(short)
    return sorted(({k: v for k, v in run.items() if k not in _OF_ITS_OWN} for run in told), key=json.dumps)


@pytest.mark.parametrize(("name", "dialect"), CAPTURES, ids=[dialect for _, dialect in CAPTURES])
def test_requests_that_steps_make_and_what_they_log_are_nothing_of_a_run(name, dialect):
    scenarios = captures.packed(name, dialect)
    assert _both_ways(map(beside, scenarios)) == _both_ways(scenarios)


@pytest.mark.parametrize(("name", "dialect"), CAPTURES, ids=[dialect for _, dialect in CAPTURES])
def test_exceptions_may_be_log_records(name, dialect):
    scenarios = captures.packed(name, dialect)
    assert _both_ways(map(recorded, scenarios)) == _both_ways(scenarios)


@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize("name", ["exception", "gen_ai.client.operation.exception"])
@pytest.mark.parametrize("status", [0, 2])
def test_an_exception_is_one_however_it_is_told(status, name, record):
    """Semantic conventions 1.40. Told as an event and as a record, it is no two."""
    thrown = {"exception.type": "openai.RateLimitError", "exception.message": "429 slow down"}
    (run,) = runs(
        agent(1, "a", took=9, status=status),
        chat(2, 1, None, "go", status=status, events=[] if record and status else [(name, thrown)]),
        logs=[events(*[(2, name, 1.5, thrown)] * 2, named=True)] if record else (),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["error"]
    assert run["boundaries"] == ["error", "rate_limit"]


@pytest.mark.parametrize(("name", "dialect"), FRAMED, ids=[dialect for _, dialect in FRAMED])
def test_a_run_is_the_same_within_the_request_that_asked_for_it(name, dialect):
    scenarios = captures.packed(name, dialect)
    assert _both_ways(map(framed, scenarios)) == _both_ways(scenarios)


@pytest.mark.parametrize(("name", "dialect"), FRAMED, ids=[dialect for _, dialect in FRAMED])
def test_who_sent_the_request_need_not_tell_of_that(name, dialect):
    scenarios = captures.packed(name, dialect)
    bare, asked = _both_ways(scenarios), _both_ways(framed(s, from_afar=True) for s in scenarios)
    for run in [*bare, *asked]:
        run["incomplete"] = [why for why in run["incomplete"] if why != NO_ROOT]
    assert asked == bare


_LIMIT = {"error": "GraphRecursionError: Recursion limit of 4 reached without hitting a stop condition."}


def _within(*spans, error=None, layers=1):
    """The same in a server's request, and what handlers did in it, each in another."""
    handlers = [span(102 + n, 101 + n, "handle", at=-1, took=38, scope="app", error=error) for n in range(layers)]
    return [
        span(101, None, "POST /chat", at=-2, took=40, kind=2, scope="http", error=error),
        *handlers,
        *({**s, "parent": handlers[-1]["id"]} if s["parent"] is None else s for s in spans),
    ]


def _loop(ended, **more):
    asked = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    told = {"gen_ai.input.messages": asked} | ({"gen_ai.output.messages": ended} if ended else {})
    return [
        agent(1, "planner", took=20, attributes=told, **more),
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        tool(3, 1, "look", "c1", "fine", at=3),
    ]


@pytest.mark.parametrize("ended", ["All done, and filed.", None])
def test_an_agent_in_a_request_answers_what_it_puts_out(ended):
    told = [{"role": "assistant", "parts": [{"type": "text", "content": ended}]}] if ended else None
    spans = [*_loop(told), chat(4, 1, "All done.", "go", at=5)]
    found = [runs(*some)[0]["output"] for some in (spans, _within(*spans))]
    assert found == [ended or "All done."] * 2
    short, taken = with_shortcut(*frames([("traces", request(_within(*spans)))]))
    assert (short["output"].to_list(), taken) == (found[:1], 1)


@pytest.mark.parametrize("layers", [12, 900])
def test_handlers_may_stand_in_each_other_as_deep_as_they_like(layers):
    spans = [*_loop(None), chat(4, 1, "Done.", "go", at=5)]
    (bare,), (deep,) = runs(*spans), runs(*_within(*spans, layers=layers))
    assert {k: v for k, v in deep.items() if k not in _OF_ITS_OWN} == {
        k: v for k, v in bare.items() if k not in _OF_ITS_OWN
    }


@pytest.mark.parametrize(("kind", "whole"), [(2, True), (5, True), (3, False), (1, False)])
def test_what_a_server_or_a_consumer_took_in_is_whole_though_nobody_tells_of_the_sender(kind, whole):
    spans = _within(*_loop(None), chat(4, 1, "Done.", "go", at=5))
    spans[0] |= {"parent": 999, "kind": kind}
    short, taken = with_shortcut(*frames([("traces", request(spans))]))
    (run,), (row,) = runs(*spans), captures.as_json(short)
    assert (taken, run) == (1, row)
    assert (run["incomplete"], "error" in run["boundaries_unknown"]) == ([NO_ROOT], not whole)


@pytest.mark.parametrize("lost", [1, 102])
def test_no_request_from_afar_is_whole_where_more_is_lost(lost):
    spans = [*_within(*_loop(None)), span(103, 102, "look it up", at=1), chat(4, 103, "Done.", "go", at=5)]
    spans[0] |= {"parent": 999}
    for run in runs(*(s for s in spans if s["id"] != lost)):
        assert "error" in run["boundaries_unknown"]


def test_what_a_limit_left_to_run_did_not_run_whatever_failed_around_it_without_a_word():
    loop = _loop(None, **_LIMIT)
    loop[0]["attributes"]["gen_ai.tool.definitions"] = [{"type": "function", "name": "look"}]
    spans = [*loop, chat(4, 1, [("c2", "look", {"n": 2})], "go", at=5)]
    for some in (spans, _within(*spans, error="")):
        (run,) = runs(*some)
        assert [c["status"] for c in run["tool_calls"]] == ["ok", "requested"]
        assert (run["status"], run["boundaries"]) == ("error", ["max_steps"])
        assert not {"error", "timeout", "cost_limit"} & set(run["boundaries_unknown"])


def test_a_request_that_failed_without_a_word_is_no_agent_that_did():
    asking = span(9, 2, "POST", at=3.1, took=0.1, kind=3, error="", scope="http")
    (run,) = runs(*_loop(None), asking, chat(4, 1, "Done.", "go", at=5))
    assert (run["status"], run["boundaries"], run["boundaries_unknown"]) == ("ok", [], [])


def test_an_agent_that_a_tool_ran_in_a_trace_of_its_own_may_make_requests():
    def clerk(*more):
        return [
            span(11, None, "Agent workflow", trace=2, at=3.2, took=3, gen_ai__operation__name="invoke_workflow"),
            agent(12, "clerk", 11, trace=2, at=3.3, took=2),
            chat(13, 12, "Filed.", "Please file it.", trace=2, at=3.4, took=1),
            *more,
        ]

    planner = [
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "ask_clerk", {"input": "Please file it."})], "go", at=1),
        tool(3, 1, "ask_clerk", "c1", "Filed.", at=3, took=4),
        chat(4, 1, "Done.", "go", at=8),
    ]
    asking = span(14, 11, "POST", trace=2, at=3.3, took=0.2, kind=3, scope="http")
    for some in (clerk(), clerk(asking)):
        (run,) = runs(*planner, *some)
        assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "clerk")]


def test_a_run_is_of_the_service_that_works_not_of_who_sent_the_request():
    def sent(parent, about, *spans):
        asked = request([span(100, None, "POST", at=-3, took=50, kind=3, scope="http")])
        return frames([("traces", asked.replace(b"app", b"web")), ("traces", request(spans))])

    spans = _within(*_loop(None), chat(4, 1, "Done.", "go", at=5))
    spans[0]["parent"] = 100
    both = sent(100, None, *spans)
    short, taken = with_shortcut(*both)
    assert (short["service"].to_list(), without(*both)["service"].to_list(), taken) == (["app"], ["app"], 1)


def test_lines_of_an_applications_log_are_no_events_of_a_model():
    spans = [*_loop(None), chat(4, 1, "Done.", "go", at=5)]
    lines = records([(2, "HTTP Request: POST"), (3, '{"role": "tool", "content": "lookup failed"}')])
    bare, logged = (frames([("traces", request(spans)), *more]) for more in ([], [("logs", lines)]))
    assert logged[1].height == 2
    (short, taken), (plain, _) = with_shortcut(*logged), with_shortcut(*bare)
    assert taken == 1
    assert short.equals(plain)


@pytest.mark.parametrize(
    ("second", "root", "apart"),
    [
        ("And the stock?", {}, True),
        ("Mail Ann: It is warm.", {}, False),  # what the first brought
        ("What is the weather?", {}, False),  # a second try
        ("And the stock?", {"kind": 2}, False),  # one request
    ],
)
def test_requests_of_a_batch_are_runs_of_their_own(second, root, apart):
    """Loops by hand, of no agent that anybody names, each in a function of the program's."""
    found = runs(
        span(1, None, "evaluate", took=40, **root),
        span(2, 1, "answer", at=1, took=9),
        chat(3, 2, [("c1", "look", {})], "What is the weather?", at=2),
        tool(4, 2, "look", "c1", "21", at=4),
        chat(5, 2, "It is warm.", "What is the weather?", at=6),
        span(6, 1, "answer", at=20, took=9),
        chat(7, 6, "Done.", second, at=21),
    )
    inputs = [run["input"] for run in found]
    assert inputs == (["What is the weather?", second] if apart else ["What is the weather?"])
