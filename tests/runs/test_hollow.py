"""Agents whose stream was handed on: what they did stands in traces of its own (Agno under Traceloop)."""

import itertools
import json

import polars as pl
import pytest

from otelcov.ground.config import Config
from otelcov.runs.joining.join import joints
from otelcov.runs.reconstruct import groups, hosts, stage_one
from otelcov.store.layout import from_requests
from tests.runs.requests import chat, request, runs, span

SCOPE = "opentelemetry.instrumentation.agno"


def _agent(trace, asked="go", at=0, took=10, name="helper"):
    told = {"traceloop.span.kind": "agent", "gen_ai.agent.name": name, "traceloop.entity.input": asked}
    return span(1, None, f"{name}.agent", trace=trace, at=at, took=took, status=1, scope=SCOPE, attributes=told)


def _tool(trace, at, order="7", name="lookup", scope=SCOPE):
    told = {"traceloop.span.kind": "tool", "gen_ai.tool.name": name}
    told |= {"traceloop.entity.input": json.dumps({"order": order}), "traceloop.entity.output": "shipped"}
    return span(1, None, f"{name}.tool", trace=trace, at=at, status=1, scope=scope, attributes=told)


def _asks(trace, at, asked="go", order="7", call="c1"):
    return chat(1, None, [(call, "lookup", {"order": order})], asked, trace=trace, at=at, scope="client")


def _done(run):
    return [(c["name"], c["agent"], c["arguments"]) for c in run["tool_calls"] or []]


def test_a_tool_within_the_time_of_one_idle_agent_is_that_agents():
    one, two = runs(_agent(1), _tool(2, 3), _tool(3, 5, "8"), _agent(4, at=20))
    assert _done(one) == [("lookup", "helper", {"order": "7"}), ("lookup", "helper", {"order": "8"})]
    assert (one["input"], one["agents"], len(one["trace_ids"])) == ("go", ["helper"], 3)
    assert two["tool_calls"] is None  # nothing says that it called none


def test_what_several_idle_agents_may_have_done_is_nobodys():
    found = runs(_agent(1), _agent(2, "stop", at=4), _tool(3, 2), _tool(4, 6, "8"))
    assert [(r["agents"], _done(r)) for r in found] == [
        (["helper"], []),
        ([], [("lookup", None, {"order": "7"})]),
        (["helper"], []),
        ([], [("lookup", None, {"order": "8"})]),
    ]
    assert all(r["tool_calls"] is None for r in found if r["agents"])
    assert all("whose work this was is not visible" in r["incomplete"] for r in found if not r["agents"])


def test_a_tool_that_holds_another_agent_is_the_idle_agents_too():
    """The stream's context is lost in all that the agent calls, also in an agent as a tool."""
    worker = {"traceloop.span.kind": "agent", "gen_ai.agent.name": "worker", "traceloop.entity.input": "look"}
    inner = span(2, 1, "worker.agent", trace=2, at=3.1, took=0.8, scope=SCOPE, attributes=worker)
    held = _tool(2, 3.4, "8") | {"id": 3, "parent": 2, "took": 0.2}
    (run,) = runs(_agent(1), _tool(2, 3, name="ask_worker"), inner, held)
    assert (run["input"], run["agents"], len(run["trace_ids"])) == ("go", ["helper", "worker"], 2)
    assert _done(run) == [("lookup", "worker", {"order": "8"})]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("helper", "worker", "ask_worker")]


@pytest.mark.parametrize(
    "tool", [_tool(2, 3, scope="elsewhere"), _tool(2, 8.5, "8") | {"took": 9}, _tool(2, 3) | {"parent": 99}]
)
def test_a_tool_that_no_idle_agent_can_have_called_stays_by_itself(tool):
    assert len(runs(_agent(1), tool)) == 2


def test_an_agent_that_shows_its_work_is_not_idle():
    own = _tool(1, 2) | {"id": 2, "parent": 1}
    assert len(runs(_agent(1), own, _tool(2, 5))) == 2


def test_a_model_that_was_asked_the_agents_words_in_its_time_was_asked_by_it():
    one, two = runs(
        _agent(1),
        _agent(2, "stop", at=1),
        _asks(3, 2),
        _asks(4, 3, "stop", "8", call="c2"),
        _tool(5, 5, "8"),
        _tool(6, 6),
    )
    assert [(r["input"], _done(r), len(r["llm_calls"])) for r in (one, two)] == [
        ("go", [("lookup", "helper", {"order": "7"})], 1),
        ("stop", [("lookup", "helper", {"order": "8"})], 1),
    ]
    assert all(c["evidence"] == ["span", "message"] for r in (one, two) for c in r["tool_calls"])


def test_a_model_that_was_asked_something_else_was_not():
    found = runs(_agent(1), _asks(2, 2, "anything else"))
    assert [len(r["trace_ids"]) for r in found] == [1, 1]
    assert "whose work this was is not visible" in found[1]["incomplete"]


def test_the_order_and_the_place_of_the_traces_do_not_matter():
    whole = [_agent(1), _asks(2, 1), _tool(3, 4)]
    for some in itertools.permutations(whole):
        (run,) = runs(*some)
        assert _done(run) == [("lookup", "helper", {"order": "7"})]
    frame, logs = from_requests([request(whole)], [], 1)
    assert [len(group) for group in groups(frame, logs, Config())] == [3]
    where = joints(frame)
    done, _, _ = stage_one(frame.filter(pl.col("trace_id") == (1).to_bytes(16, "big")), logs, Config(), 0, where)
    for trace in (2, 3):
        one = frame.filter(pl.col("trace_id") == trace.to_bytes(16, "big"))
        _, _, alone = stage_one(one, logs, Config(), 0, where)
        assert hosts(done, alone)["called"].to_list() == [""]
