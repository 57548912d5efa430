"""Strands 1.62 for Python by its own telemetry: graphs that limits stop, and agents that wait or are called off."""

import json

import pytest

from tests.runs.requests import runs, span

_SCOPE = "strands.telemetry.tracer"
_DETAILS = "gen_ai.client.inference.operation.details"


def _of(id, parent, name, at=0.0, took=1.0, status=1, events=(), **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, scope=_SCOPE, status=status, events=events, attributes=told)


def _ends(newest, words, why):
    """How a span tells what it put out, by the names of events or by the latest conventions."""
    if not newest:
        return ("gen_ai.choice", {"message": words, "finish_reason": why})
    said = [{"role": "assistant", "parts": [{"type": "text", "content": words}], "finish_reason": why}]
    return (_DETAILS, {"gen_ai.output.messages": json.dumps(said)})


def _agent(id, parent, at, took, newest, words, why, name="a"):
    asked = ("gen_ai.user.message", {"content": '[{"text": "go"}]'})
    told = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": name}
    return _of(id, parent, f"invoke_agent {name}", at, took, events=[asked, _ends(newest, words, why)], **told)


def _chat(id, parent, at, said, why, **more):
    asked = ("gen_ai.user.message", {"content": '[{"text": "go"}]'})
    answer = ("gen_ai.choice", {"message": json.dumps(said), "finish_reason": why})
    told = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"} | more
    return _of(id, parent, "chat", at, events=[asked, answer], **told)


def _tool(id, parent, at, name, call, *events, **more):
    told = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": name, "gen_ai__tool__call__id": call}
    given = ("gen_ai.tool.message", {"role": "tool", "content": "{}", "id": call})
    return _of(id, parent, f"execute_tool {name}", at, events=[given, *events], **told, **more)


def _uses(*calls):
    return [{"toolUse": {"toolUseId": call, "name": name, "input": {}}} for call, name in calls]


_TOKENS = {"gen_ai__usage__input_tokens": 9, "gen_ai__usage__output_tokens": 2}


@pytest.mark.parametrize("agents", [1, 2])
def test_a_graph_ends_well_when_a_limit_stops_it_too(agents):
    asked = ("gen_ai.user.message", {"content": "go"})
    graph = _of(1, None, "invoke_graph", 0, 20, status=0, events=[asked], gen_ai__operation__name="invoke_graph")
    steps = [
        one
        for n in range(agents)
        for one in (
            _agent(10 + n, 1, 5 * n, 4, False, "done", "end_turn", name=f"a{n}"),
            _chat(20 + n, 10 + n, 5 * n + 1, [{"text": "done"}], "end_turn", **_TOKENS),
        )
    ]
    (run,) = runs(graph, *steps)
    assert (run["status"], run["output"], run["boundaries"]) == ("unknown", "done", [])
    assert {"max_steps", "timeout"} <= set(run["boundaries_unknown"])


@pytest.mark.parametrize("newest", [True, False])
def test_an_agent_that_was_called_off_answered_nothing(newest):
    (run,) = runs(
        _agent(1, None, 0, 9, newest, "Cancelled by user", "cancelled"),
        _chat(2, 1, 1, [{"text": "Cancelled by user"}], "cancelled"),
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("unknown", None, [])
    assert [c["status"] for c in run["llm_calls"]] == ["unknown"]


@pytest.mark.parametrize("newest", [True, False])
def test_a_tool_that_waits_did_not_go_well_and_one_beside_it_that_threw_ended_nothing(newest):
    threw = ("exception", {"exception.type": "ValueError", "exception.message": "no"})
    (run,) = runs(
        _agent(1, None, 0, 9, newest, "[{'id': 'v1:tool_call:c1', 'name': 'pay?'}]", "interrupt"),
        _chat(2, 1, 1, _uses(("c1", "pay"), ("c2", "look")), "tool_use", **_TOKENS),
        _tool(3, 1, 3, "pay", "c1"),
        _tool(4, 1, 3, "look", "c2", threw, gen_ai__tool__status="error") | {"error": "no", "status": 2},
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("pay", "requested"), ("look", "error")]
    assert (run["status"], run["output"], run["boundaries"]) == ("ok", None, ["tool_failure"])


def test_what_a_client_read_of_a_stream_that_was_called_off_is_no_answer():
    """Beside Traceloop's client layer, which ends such a stream well."""
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "a b"}]}])
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "go"}]}])
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.output.messages": said}
    (run,) = runs(
        _agent(1, None, 0, 9, False, "Cancelled by user", "cancelled"),
        _chat(2, 1, 1, [{"text": "Cancelled by user"}], "cancelled"),
        span(
            *(3, 2, "openai.chat"),
            at=1.1,
            took=0.8,
            scope="opentelemetry.instrumentation.openai.v1",
            attributes=told | {"gen_ai.input.messages": asked},
        ),
    )
    assert (run["status"], run["output"], [c["status"] for c in run["llm_calls"]]) == ("unknown", None, ["unknown"])


def test_what_a_tool_throws_goes_to_the_model_and_ends_no_run():
    """Its answer is lost: it took less time than the one before."""
    (run,) = runs(
        _agent(1, None, 0, 7, True, "I may not.", "end_turn"),
        _of(2, 1, "execute_event_loop_cycle", 0, 6),
        _chat(3, 2, 0.5, _uses(("call_1a", "delete")), "tool_use", **_TOKENS) | {"took": 4},
        _tool(4, 2, 5, "delete", "call_1a") | {"status": 2},
        _of(5, 1, "execute_event_loop_cycle", 6.1, 0.8),
    )
    assert (run["status"], run["boundaries"]) == ("unknown", ["tool_failure"])
    assert "error" in run["boundaries_unknown"]


def _cycle(id, at, took, *events, **more):
    return _of(id, 1, "execute_event_loop_cycle", at, took, events=events, **more)


@pytest.mark.parametrize("newest", [True, False])
def test_what_a_cycle_says_came_back_of_a_tool_ran_though_its_span_is_lost(newest):
    back = [{"role": "user", "parts": [{"type": "tool_call_response", "id": "c2", "response": [{"text": "sent"}]}]}]
    old = [{"toolResult": {"toolUseId": "c2", "status": "success", "content": [{"text": "sent"}]}}]
    came = (_DETAILS, {"gen_ai.input.messages": json.dumps(back)})
    (run,) = runs(
        _agent(1, None, 0, 9, newest, "", "limit_turns"),
        _cycle(2, 0.2, 3),
        _chat(3, 2, 0.5, _uses(("c1", "look")), "tool_use", **_TOKENS),
        _tool(4, 2, 2, "look", "c1"),
        _cycle(5, 4, 4, came if newest else ("gen_ai.choice", {"message": "[]", "tool.result": json.dumps(old)})),
        _chat(6, 5, 4.2, _uses(("c2", "look")), "tool_use", **_TOKENS),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "unknown"]


def test_a_run_that_ended_well_asked_its_model_again_where_that_failed_last():
    (run,) = runs(
        _agent(1, None, 0, 9, True, "Shipped.", "end_turn"),
        _cycle(2, 0.2, 8),
        _chat(3, 2, 0.5, [], "error") | {"status": 2, "error": "Slow down."},
    )
    assert run["status"] == "unknown"


def test_a_cycle_that_failed_with_nothing_in_it_may_have_lost_the_model_that_did():
    failed = {"status": 2, "error": "The model fails."}
    (run,) = runs(
        _agent(1, None, 0, 9, False, "The other one failed.", "end_turn"),
        _cycle(2, 0.2, 7),
        _chat(3, 2, 0.5, _uses(("c1", "ask")), "tool_use", **_TOKENS),
        _tool(4, 2, 2, "ask", "c1") | failed,
        _of(5, 4, "invoke_agent b", 2.1, 4, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="b") | failed,
        _of(6, 5, "execute_event_loop_cycle", 2.2, 1.5),
        _chat(7, 6, 2.3, _uses(("c2", "look")), "tool_use", **_TOKENS),
        _tool(8, 6, 3.4, "look", "c2") | {"took": 0.2},
        _of(9, 5, "execute_event_loop_cycle", 4, 1) | failed,
        _cycle(10, 7.3, 1.5),
        _chat(11, 10, 7.4, [{"text": "The other one failed."}], "end_turn", **_TOKENS),
    )
    assert run["status"] == "ok" and "missing step" in run["incomplete"]
    assert "error" in run["boundaries_unknown"]
