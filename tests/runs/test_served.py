"""A server of tools in the caller's own process whose spans begin traces of their own (claude-agent-sdk's client)."""

import polars as pl
import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct, run_json
from otelcov.runs.joining.join import joints
from otelcov.runs.reconstruct import hosts, stage_one
from otelcov.store.layout import from_requests
from tests.captures import LATER
from tests.runs.requests import agent, chat, request, runs, span, tool


def _server(trace, at, name="lookup", **more):
    told = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    told |= more.pop("attributes", {})
    more = {"took": 0.5, "kind": 2, "scope": "mcp-python-sdk"} | more
    return span(1, None, f"tools/call {name}", trace=trace, at=at, attributes=told, **more)


def _agent(trace, *calls, at=0):
    given = [
        tool(n, 1, "mcp__shop__lookup", f"toolu_{trace}{n}", "sent", trace=trace, at=at + when, took=3)
        for n, when in calls
    ]
    return [agent(1, "helper", trace=trace, at=at, took=20), *given]


def _told(found):
    return [([(c["name"], c["call_id"]) for c in r["tool_calls"] or []], len(r["trace_ids"])) for r in found]


def test_what_a_server_in_the_callers_process_ran_is_told_once():
    found = runs(*_agent(1, (2, 1), (3, 5)), _server(2, 2), _server(3, 6))
    assert _told(found) == [([("mcp__shop__lookup", "toolu_12"), ("mcp__shop__lookup", "toolu_13")], 3)]


def _of_services(*spans):
    bodies = [request(some, service=service) for service, some in spans]
    frame = reconstruct(*from_requests(bodies, [], 1), Config(), LATER)
    return [run_json(row, {}) for row in frame.iter_rows(named=True)]


@pytest.mark.parametrize("error", [None, "no"])
def test_a_server_of_another_service_may_know_nothing_of_who_calls_it(error):
    server = [_server(2, 2, error=error), tool(2, 1, "lookup", trace=2, at=2.1, took=0.3, scope="mcp")]
    (run,) = _of_services(("app", _agent(1, (2, 1))), ("tools", server))
    assert (run["service"], len(run["trace_ids"])) == ("app", 2)
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("mcp__shop__lookup", "error" if error else "ok")]


def test_a_server_in_the_callers_process_is_the_nearer_one():
    found = _of_services(("app", [*_agent(1, (2, 1)), _server(2, 2)]), ("other", _agent(3, (2, 1))))
    assert sorted((r["service"], len(r["trace_ids"])) for r in found) == [("app", 2), ("other", 1)]


def test_a_call_that_its_server_tells_of_in_the_same_trace_has_no_other():
    within = _server(1, 2) | {"id": 9, "parent": 2}
    found = _of_services(("app", _agent(1, (2, 1))), ("tools", [within, _server(2, 2)]))
    assert [len(r["trace_ids"]) for r in found] == [1, 1]


def test_calls_at_one_time_have_one_server_each():
    found = runs(*_agent(1, (2, 1), (3, 1.1)), _server(2, 2), _server(3, 2.1, error="no"))
    assert _told(found) == [([("mcp__shop__lookup", "toolu_12"), ("mcp__shop__lookup", "toolu_13")], 3)]


@pytest.mark.parametrize(
    "server",
    [
        _server(2, 2, name="weather"),
        _server(2, 3.8),
        _server(2, 2, kind=3),
        _server(2, 2, name="shop", scope="other") | {"name": "run shop"},
    ],
)
def test_another_call_is_another_run(server):
    assert len(runs(*_agent(1, (2, 1)), server)) == 2


def test_what_several_runs_may_have_called_stays_by_itself_and_says_so():
    *both, alone = runs(*_agent(1, (2, 1)), *_agent(2, (2, 1.2), at=0.1), _server(3, 2))
    assert _told(both) == [([("mcp__shop__lookup", "toolu_12")], 1), ([("mcp__shop__lookup", "toolu_22")], 1)]
    assert "whose work this was is not visible" in alone["incomplete"]
    failed = tool(2, 1, "mcp__shop__lookup", "toolu_22", trace=2, at=1.2, took=3, error="no")
    both = runs(*_agent(1, (2, 1)), agent(1, "helper", trace=2, at=0.1, took=20), failed, _server(3, 2, error="no"))
    assert [len(r["trace_ids"]) for r in both] == [1, 2]


def test_a_server_that_was_read_apart_finds_who_may_have_called_it():
    frame, logs = from_requests([request([*_agent(1, (2, 1)), *_agent(2, at=9), _server(3, 2)])], [], 1)
    where = joints(frame)
    of = {n: frame.filter(pl.col("trace_id") == n.to_bytes(16, "big")) for n in (1, 2, 3)}
    done = pl.concat([stage_one(of[n], logs, Config(), 0, where)[0] for n in (1, 2)])
    _, _, alone = stage_one(of[3], logs, Config(), 0, where)
    (host,) = hosts(done, alone)["trace_ids"].to_list()
    assert host == [(1).to_bytes(16, "big").hex()]


def _asking(trace, *ids, took=20):
    asked = [{"type": "tool_call", "id": id, "name": "mcp__shop__lookup", "arguments": {}} for id in ids]
    told = [{"role": "assistant", "parts": asked}, {"role": "assistant", "parts": [{"type": "text", "content": "Hi."}]}]
    return agent(1, "helper", trace=trace, at=0, took=took, attributes={"gen_ai.output.messages": told})


def test_what_a_server_ran_is_what_an_agent_asked_for_of_which_no_span_came():
    (run,) = runs(_asking(1, "c1"), _server(2, 2))
    assert [(c["name"], c["call_id"], c["status"]) for c in run["tool_calls"]] == [("mcp__shop__lookup", "c1", "ok")]
    (run,) = runs(_asking(1, "c1", "c2"), _server(2, 2), _server(3, 4))
    assert sorted(c["name"] for c in run["tool_calls"]) == ["mcp__shop__lookup"] * 2
    assert len(runs(_asking(1, "c1"), _asking(4, "c1"), _server(2, 2))) == 3
    assert len(runs(_asking(1, "c1", took=1), _server(2, 2))) == 2


def test_a_server_is_of_the_call_that_it_served_though_what_was_around_that_is_lost():
    call = tool(2, 9, "mcp__shop__lookup", "c1", "sent", at=1, took=3)
    assert _told(runs(call, _server(2, 2))) == [([("mcp__shop__lookup", "c1")], 2)]


def test_a_server_may_serve_a_call_of_which_only_what_came_of_it_is_told():
    """Logfire, of Claude's kit: of several calls of one answer histories show the first, and results of all."""
    came = {"type": "tool_call_response", "id": "c2", "name": "mcp__shop__lookup", "response": "sent"}
    told = [{"role": "user", "parts": [{"type": "text", "content": "Where?"}]}, {"role": "tool", "parts": [came]}]
    (run,) = runs(*_agent(1, (2, 1)), _server(2, 2), chat(4, 1, "Here.", told, trace=1, at=9), _server(3, 6))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("mcp__shop__lookup", "ok")] * 2


def test_a_tool_that_threw_ended_no_run_that_ran_another_since():
    """The call of the model that was asked then is lost."""
    broke = {"error": "no", "events": [("exception", {"exception.type": "ValueError", "exception.message": "no"})]}
    (run,) = runs(
        agent(1, "helper", took=9),
        chat(2, 1, [("c1", "look", {})], "Where?", at=1, took=4),
        tool(3, 1, "look", call="c1", at=5, **broke),
        tool(4, 1, "search", call="c2", result="here", at=7),
    )
    assert run["status"] == "unknown"
