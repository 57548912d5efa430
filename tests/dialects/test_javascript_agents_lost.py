"""OpenAI's Agents SDK and LangGraph for JavaScript: handoffs that were passed over, and spans that have not come."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

LOST = 99  # a span that has not come


def _laminar(id, parent, name, at, took=1, type="DEFAULT", **told):
    error = told.pop("error", None)
    made = span(id, parent, name, at=at, took=took, scope="lmnr.tracer", attributes={"lmnr.span.type": type} | told)
    return made | {"error": error}


def _is(name):
    return {"lmnr.span.input": f'{{"name":"{name}","handoffs":[],"tools":[],"output_type":"text"}}'}


def _responded(id, parent, at, *items, took=1, tokens=7):
    said = {"id": f"resp_{id}", "object": "response", "output": items}
    told = {"gen_ai.response.id": f"resp_{id}", "gen_ai.output.messages": json.dumps(said)}
    told |= {"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": 2}
    return _laminar(id, parent, "agents.response", at, took, "LLM", **told)


def _wants(name, id, given="{}"):
    return {"type": "function_call", "call_id": id, "name": name, "arguments": given}


def _says(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _over(id, parent, at, **told):
    return _laminar(id, parent, "agents.handoff", at, 0.1, "TOOL", **told)


_ENDS = {"openai.agents.handoff.from": "boss", "openai.agents.handoff.to": "worker"}
_IN_VAIN = "Error in agent run"


def test_an_agent_asked_to_take_over_twice_at_once_takes_over_once():
    """The answer to the second request is kept from history."""
    (run,) = runs(
        _laminar(1, None, "Agent workflow", 0, 30),
        _laminar(2, 1, "boss", 1, 5, **_is("boss")),
        _laminar(3, 2, "agents.turn", 1, 4),
        _responded(4, 3, 2, _wants("transfer_to_worker", "call_a7Qz"), _wants("transfer_to_worker", "call_b8Qz")),
        _over(5, 3, 4, **_ENDS, error="Multiple handoffs requested"),
        _laminar(6, 3, "worker", 6, 9, **_is("worker")),
        _laminar(7, 6, "agents.turn", 6, 8),
        _responded(8, 7, 7, _says("Sunny.")),
    )
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [("boss", "worker", "ok")]


def test_a_handoff_of_which_no_fact_is_kept_is_no_tool():
    (run,) = runs(_laminar(1, None, "Agent workflow", 0, 30), _over(2, 1, 4))
    assert [d["form"] for d in run["delegations"]] == ["handoff"]
    assert not run["tool_calls"]


def test_a_run_that_failed_between_two_agents_failed():
    """The limit of turns came once one had handed over, and before the other began: neither says so."""
    (run,) = runs(
        _laminar(1, None, "Agent workflow", 0, 30),
        _laminar(2, 1, "agents.task", 1, 20, error=_IN_VAIN),
        _laminar(3, 2, "boss", 1, 5, **_is("boss")),
        _laminar(4, 3, "agents.turn", 1, 4),
        _responded(5, 4, 2, _wants("transfer_to_worker", "call_a7Qz")),
        _over(6, 4, 4, **_ENDS),
    )
    assert run["status"] == "error"


def _asked_a_worker(tool_parent=3):
    """An agent that asked another by a tool, which failed there."""
    failed = {"error": _IN_VAIN}
    return [
        _laminar(1, None, "Agent workflow", 0, 30),
        _laminar(2, 1, "boss", 1, 28, **_is("boss")),
        _laminar(3, 2, "agents.turn", 1, 12),
        _responded(4, 3, 2, _wants("ask_worker", "call_a7Qz", '{"task": "Look."}')),
        _laminar(5, tool_parent, "ask_worker", 4, 8, "TOOL", error="Error running tool (non-fatal)"),
        _laminar(6, 5, "agents.task", 5, 6, **failed),
        _laminar(7, 6, "worker", 5, 6, **_is("worker"), **failed),
        _laminar(8, 7, "agents.turn", 5, 5, **failed),
        _responded(9, 8, 6, _wants("nobodys", "call_b8Qz"), tokens=8),
        _laminar(10, 2, "agents.turn", 14, 9),
        _responded(11, 10, 15, _says("Done."), tokens=9),
    ]


@pytest.mark.parametrize("lost", [None, 3, 5])
def test_an_agent_that_failed_in_a_tool_broke_no_run_also_where_that_is_lost(lost):
    (run,) = runs(*(s for n, s in enumerate(_asked_a_worker(), 1) if n != lost))
    assert (run["status"], run["output"]) == ("ok", "Done.")
    assert "error" not in run["boundaries"]


@pytest.mark.parametrize(("lost", "calls"), [(9, 2), (11, 2)])
def test_a_turn_without_a_model_has_lost_it(lost, calls):
    spans = [s for n, s in enumerate(_asked_a_worker(), 1) if n != lost]
    (run,) = runs(*spans)
    assert (len(run["llm_calls"]), "missing step" in run["incomplete"]) == (calls, True)
    assert "error" in run["boundaries_unknown"] or "error" in run["boundaries"]
    assert run["status"] == ("ok" if lost == 9 else "unknown")


def test_a_turn_that_a_guard_stopped_asked_no_model():
    tripped = {"error": 'Error in agent run: {"error":"InputGuardrailTripwireTriggered: no"}'}
    (run,) = runs(
        _laminar(1, None, "Agent workflow", 0, 30),
        _laminar(2, 1, "boss", 1, 5, **_is("boss"), **tripped),
        _laminar(3, 2, "agents.turn", 1, 4, **tripped),
        _laminar(4, 2, "agents.guardrail", 1, 1),
    )
    assert run["status"] == "error"
    assert "missing step" not in run["incomplete"]


def test_what_a_tool_that_is_lost_called_is_no_request_of_its_own():
    """The frame of a run whose stream failed never ends."""
    failed = {"error": _IN_VAIN}
    spans = [
        _laminar(2, LOST, "agents.task", 0, 28, **failed),
        _laminar(3, 2, "boss", 0, 28, **_is("boss"), **failed),
        _laminar(4, 3, "agents.turn", 1, 12),
        _responded(5, 4, 2, _wants("ask_worker", "call_a7Qz", '{"task": "Look."}')),
        _laminar(7, LOST - 1, "agents.task", 5, 6),
        _laminar(8, 7, "worker", 5, 6, **_is("worker")),
        _laminar(9, 8, "agents.turn", 5, 5),
        _responded(10, 9, 6, _says("Seen."), tokens=8),
    ]
    (run,) = runs(*spans)
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("boss", "worker")]
    assert len(run["llm_calls"]) == 2


_OI = "@arizeai/openinference-instrumentation-langchain"


def _chain(id, parent, name, at, took=1, **told):
    told = {"openinference.span.kind": "CHAIN"} | {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, attributes=told, scope=_OI)


@pytest.mark.parametrize("heard", [True, False])
def test_a_tool_by_which_a_graph_goes_on_with_an_agent_of_no_name_hands_over(heard):
    """LangGraph for JavaScript, where the span that names the agent is lost, or its only model's is."""
    command = {"output": {"lg_name": "Command", "goto": "writer", "graph": "__parent__", "update": {}}}
    told = {"openinference.span.kind": "TOOL", "tool.name": "transfer_to_writer", "input.value": "{}"}
    told |= {"output.value": json.dumps(command)}
    (run,) = runs(
        _chain(1, None, "team", 0, 30),
        agent(2, "planner", 1, took=4),
        chat(3, 2, [("c1", "transfer_to_writer", {})], "Write.", at=1),
        span(4, 2, "transfer_to_writer", at=3, took=0.5, attributes=told, scope=_OI),
        _chain(5, 1, "writer", 5, 9),
        *([chat(6, LOST, "Roses.", "Write.", at=6)] if heard else []),
    )
    told = run["delegations"]  # not known to be all where that work lies below what is lost
    assert (
        told is None if heard else [(d["from"], d["to"], d["form"]) for d in told] == [("planner", "writer", "handoff")]
    )
    assert run["tool_calls"] == []


@pytest.mark.parametrize("lost", [True, False])
def test_a_step_of_langgraphs_for_javascript_that_put_out_what_a_model_said_misses_its_model(lost):
    def put_out(id, text, took):
        used = {"output_tokens": 2, "input_tokens": took, "total_tokens": took + 2}
        kwargs = {"content": text, "tool_calls": [], "usage_metadata": used, "id": id}
        told = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"], "kwargs": kwargs}
        return json.dumps({"messages": [told]})

    counted = ({"gen_ai.usage.input_tokens": took} for took in (9, 12))
    (run,) = runs(
        agent(1, "planner", took=9),
        _chain(2, 1, "agent", 1, output__value=put_out("resp_a", "It is blue.", 9)),
        chat(3, 2, "It is blue.", "Is it blue?", at=1.2, took=0.5, attributes=next(counted)),
        _chain(4, 1, "agent", 5, output__value=put_out("resp_b", "It is not.", 12)),
        *(() if lost else [chat(5, 4, "It is not.", "Is it?", at=5.2, took=0.5, attributes=next(counted))]),
    )
    assert ("missing step" in run["incomplete"]) == lost


def test_a_call_that_failed_took_no_tokens_that_its_agent_counts():
    """Strands for JavaScript counts all that an agent ever used."""
    counted = {"gen_ai.usage.input_tokens": 668, "gen_ai.usage.output_tokens": 91}
    asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-a"}
    (run,) = runs(
        agent(1, "planner", took=9, attributes=counted), span(2, 1, "chat", at=1, attributes=asked, error="no content")
    )
    assert [(c["status"], c["input_tokens"]) for c in run["llm_calls"]] == [("error", None)]


def _checks(*calls):
    """An answer of words and requests."""
    parts = [{"type": "text", "content": "Let me check." if calls[0][0] == "c1" else "More is needed."}]
    parts += [{"type": "tool_call", "id": id, "name": name, "arguments": {}} for id, name in calls]
    return {"gen_ai.output.messages": [{"role": "assistant", "parts": parts, "finish_reason": "tool_call"}]}


def test_a_run_that_ended_on_earlier_words_after_an_agent_had_answered_may_have_met_its_limit():
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Let me check."}], "finish_reason": "stop"}
    (run,) = runs(
        agent(1, "planner", took=30, attributes={"gen_ai.output.messages": [said]}),
        chat(2, 1, None, "Find it.", at=1, attributes=_checks(("c1", "look"))),
        tool(3, 1, "look", call="c1", result="no", at=3),
        chat(4, 1, None, "Find it.", at=5, attributes=_checks(("c2", "ask_writer"))),
        tool(5, 1, "ask_writer", call="c2", result="Roses.", at=7, took=9),
        agent(6, "writer", parent=5, at=8, took=7),
        chat(7, 6, None, "Write.", at=9, error="broken"),
        chat(8, 6, "Roses.", "Write.", at=11),
    )
    assert "max_steps" in run["boundaries_unknown"]


_OPENAIS = "@arizeai/openinference-instrumentation-openai-agents"


def _openais(id, parent, kind, name, at, took=1, **told):
    told = {"openinference.span.kind": kind} | {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, attributes=told, scope=_OPENAIS, status=1)


def _answered(id, parent, at, text):
    said = {"llm__output_messages__0__message__role": "assistant", "llm__output_messages__0__message__content": text}
    return _openais(id, parent, "LLM", "response", at, **said)


@pytest.mark.parametrize("lost", [True, False])
def test_who_took_over_took_over_once_also_where_the_span_of_who_handed_over_is_lost(lost):
    asked = {"llm__output_messages__0__message__role": "assistant"}
    call = "llm__output_messages__0__message__tool_calls__0__tool_call"
    asked |= {f"{call}__id": "call_a7Qz", f"{call}__function__name": "transfer_to_writer"}
    ends = {"input__value": '{"from_agent":"planner"}', "output__value": '{"to_agent":"writer"}'}
    (run,) = runs(
        _openais(1, None, "AGENT", "Agent workflow", 0, 30),
        *([] if lost else [_openais(2, 1, "AGENT", "planner", 1, 5, graph__node__id="planner")]),
        _openais(3, 2, "CHAIN", "turn", 1, 4),
        _openais(4, 3, "LLM", "response", 2, **asked),
        _openais(5, 3, "TOOL", "handoff to writer", 4, 0.1, tool__name="handoff_to_writer", **ends),
        _openais(6, 1, "AGENT", "writer", 6, 9, graph__node__id="writer", graph__node__parent_id="planner"),
        _openais(7, 6, "CHAIN", "turn", 6, 8),
        _answered(8, 7, 7, "Roses."),
    )
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "writer")]


@pytest.mark.parametrize(("lost", "output"), [(True, None), (False, '{"answer": "Roses.", "n": 3}')])
def test_an_object_that_a_run_put_out_may_be_what_its_model_said_whose_span_is_lost(lost, output):
    put_out = {"output__value": '{"answer": "Roses.", "n": 3}'}
    (run,) = runs(
        _openais(1, None, "AGENT", "Agent workflow", 0, 30, **put_out),
        _openais(2, 1, "AGENT", "planner", 1, 28, graph__node__id="planner", **put_out),
        _openais(3, 2, "CHAIN", "turn", 1, 8),
        *([] if lost else [_answered(4, 3, 2, '{"answer": "Roses.", "n": 3}')]),
    )
    assert run["output"] == output


def test_a_tool_of_axs_that_nobody_has_did_not_run():
    thrown = {"exception.type": "ValidationError", "exception.message": "Function not found: book. Available: look"}
    told = {"tool.name": "book", "tool.mode": "native", "function.id": "call_a7Qz"}
    (run,) = runs(
        span(1, None, "AxGen", took=9, attributes={"signature_name": "s"}, scope="ax"),
        chat(2, 1, None, "Book it.", at=1),
        span(3, 1, "Tool: book", at=3, attributes=told, events=[("exception", thrown)], scope="ax"),
        chat(4, 1, None, "Book it.", at=5),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("book", "requested")]
    assert "tool_failure" not in run["boundaries"]


@pytest.mark.parametrize("unanswered", [True, False])
def test_what_was_said_before_is_not_what_a_run_was_asked_whose_root_is_lost(unanswered):
    """Strands for JavaScript: a cycle tells history alone; the runs before had failed, with no answer."""

    def event(role, **told):
        return (f"gen_ai.{role}.message", {"content": json.dumps([told])})

    wants = {"toolUse": {"name": "look", "toolUseId": "c1", "input": {}}}
    brought = {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "no"}]}}
    history = [event("user", text="First?"), event("assistant", **wants), event("tool", **brought)]
    history += [event("user", text="Second?")] if unanswered else []
    (run,) = runs(
        span(1, LOST, "execute_agent_loop_cycle", took=9, events=history, scope="strands-agents"),
        chat(2, 1, "Third.", at=1, events=[*history, event("user", text="Third?")], scope="strands-agents"),
    )
    assert run["input"] == "Third?"


def test_a_frame_that_failed_below_a_lost_tool_broke_no_run():
    thrown = {"exception.message": 'Error in agent run: {"error":"ModelBehaviorError: no such tool"}'}
    failed = {"status": 2, "events": [("exception", thrown)]}
    asked = {"llm__output_messages__0__message__role": "assistant"}
    call = "llm__output_messages__0__message__tool_calls__0__tool_call"
    asked |= {f"{call}__id": "call_a7Qz", f"{call}__function__name": "ask_writer"}
    (run,) = runs(
        _openais(1, None, "AGENT", "Agent workflow", 0, 30),
        _openais(2, 1, "AGENT", "planner", 1, 28, graph__node__id="planner"),
        _openais(3, 2, "CHAIN", "turn", 1, 9),
        _openais(4, 3, "LLM", "response", 2, **asked),
        _openais(5, LOST, "CHAIN", "Agent workflow", 4, 4) | failed,
        _openais(6, 5, "AGENT", "writer", 4, 4, graph__node__id="writer") | failed,
        _openais(7, 6, "CHAIN", "turn", 4, 4) | failed,
        _answered(8, 7, 5, "Let me look."),
        _openais(9, 2, "CHAIN", "turn", 10, 8),
        _answered(10, 9, 12, "Done."),
    )
    assert (run["status"], run["output"]) == ("ok", "Done.")
    assert "error" not in run["boundaries"]
