"""What Mastra's agents (1.71, its exporter 1.4) leave to others, stop at, or are stopped at."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

pytestmark = pytest.mark.full

_MODEL = {"gen_ai.request.model": "m"}
_USED = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2, "mastra.completion_start_time": 1}
_ASKED = json.dumps([{"role": "user", "content": "go"}])
_RESUMED = {"mastra.metadata.resumed": True}


def _mastra(id, parent, kind, at, took, operation=None, **told):
    told = {"mastra.span.type": kind, "gen_ai.operation.name": operation or kind} | told
    told = {key: value if isinstance(value, str | bool | int) else json.dumps(value) for key, value in told.items()}
    return span(id, parent, kind, at=at, took=took, status=1, scope="@mastra/otel-exporter", attributes=told)


def _agent(id, parent, at, took, came=None, name="planner", **told):
    told |= {"gen_ai.agent.name": name, "mastra.agent_run.input": "go"}
    told |= {} if came is None else {"mastra.agent_run.output": came}
    return _mastra(id, parent, "agent_run", at, took, "invoke_agent", **told)


def _step(id, parent, at, took=1, calls=(), text=None, **told):
    """A model's step with its request, as far as they came to an end."""
    out = {"toolCalls": [{"toolCallId": i, "toolName": n, "args": {}} for i, n in calls], "text": text or ""}
    out["finishReason"] = "tool-calls" if calls else "stop"
    ended = {"mastra.model_step.output": out, "finishReason": out["finishReason"]} if calls or text else {}
    told = {"mastra.model_step.input": _ASKED} | told
    return [
        _mastra(id, parent, "model_step", at, took, "agent_step", **ended, **told),
        _mastra(id + 1, id, "model_inference", at, took, "chat", **_MODEL, **(_USED if ended else {})),
    ]


def _tool(id, parent, at, name, call, result=None, **told):
    told |= {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call, "gen_ai.tool.call.arguments": "{}"}
    told |= {} if result is None else {"gen_ai.tool.call.result": result}
    return _mastra(id, parent, "tool_call", at, 1, "execute_tool", **told)


def _suspended(name, call):
    return {"status": "suspended", "reason": "tool-call-suspended", "toolName": name, "toolCallId": call}


@pytest.mark.parametrize("ran", [True, False])
def test_what_an_agent_waits_for_was_requested(ran):
    """A tool that suspends has a span that ends well; one that waits for leave has none, and a piece of the stream."""
    piece = {"toolName": "hold", "toolCallId": "c1", "toolInput": {}}
    (run,) = agreed(
        _agent(1, None, 0, 9, _suspended("hold", "c1")),
        *_step(2, 1, 1, 7),
        _mastra(4, 3, "model_chunk", 2, 0.1, **{"mastra.model_chunk.output": piece}),
        *([_tool(5, 2, 4, "hold", "c1")] if ran else []),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("hold", "requested")]


def test_a_run_that_goes_on_counts_no_answer_again_at_which_it_had_stopped():
    again = {"mastra.model_step.output": {"toolCalls": [{"toolCallId": "c1", "toolName": "hold", "args": {}}]}}
    (run,) = agreed(
        _agent(1, None, 0, 9, {"text": "done", "files": []}, **_RESUMED),
        _mastra(2, 1, "model_step", 1, 1, "agent_step", **again, **_RESUMED),
        _tool(4, 1, 3, "hold", "c1", "held", **_RESUMED),
        *_step(5, 1, 5, text="done", **_RESUMED),
    )
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["stop"]
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("hold", "ok", "held")]


def test_a_run_that_was_called_off_is_unknown():
    (run,) = agreed(_agent(1, None, 0, 9, {"status": "aborted"}), *_step(2, 1, 1, 7))
    assert run["status"] == "unknown"
    assert [c["status"] for c in run["llm_calls"]] == ["unknown"]


@pytest.mark.parametrize(("status", "output"), [("suspended", None), ("success", "cold")])
def test_what_a_step_said_is_no_answer_of_a_workflow_that_did_not_end(status, output):
    (run,) = agreed(
        _mastra(1, None, "workflow_run", 0, 9, **{"mastra.workflow_run.status": status}),
        _agent(2, 1, 1, 5, {"text": "cold", "files": []}),
        *_step(3, 2, 2, text="cold"),
    )
    assert run["output"] == output


def test_a_delegation_to_an_agent_that_waits_is_unknown():
    (run,) = agreed(
        _agent(1, None, 0, 20, {"status": "suspended"}, name="boss"),
        *_step(2, 1, 1, 1, [("c0", "agent-asker")]),
        _tool(4, 1, 3, "agent-asker", "c0") | {"took": 9},
        _agent(5, 4, 4, 7, _suspended("nod", "c1"), name="asker"),
        *_step(6, 5, 5, 5),
    )
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("asker", "unknown")]


def test_a_program_may_have_stopped_a_loop_at_a_tool():
    (run,) = agreed(
        _agent(1, None, 0, 9, {"text": "", "files": []}),
        *_step(2, 1, 1, 1, [("c1", "look")]),
        _tool(4, 1, 3, "look", "c1", "cold"),
        *_step(5, 1, 5, 1, [("c2", "book")]),
        _tool(7, 1, 7, "book", "c2", "booked"),
    )
    assert "max_steps" not in run["boundaries"]
    assert "max_steps" in run["boundaries_unknown"]


def test_nobody_answered_what_langfuse_is_told_that_a_generation_put_out():
    told = {"langfuse.observation.output": {"files": [], "text": "", "toolCalls": []}}
    piece = {"toolName": "nod", "toolCallId": "c1", "toolInput": {}}
    (run,) = agreed(
        _agent(1, None, 0, 9, **{"langfuse.observation.output": _suspended("nod", "c1")}),
        _mastra(2, 1, "model_generation", 1, 8, **told),
        *_step(3, 2, 1, 7),
        _mastra(5, 4, "model_chunk", 2, 0.1, **{"langfuse.observation.output": piece}),
    )
    assert run["output"] is None


def test_langfuse_is_told_once_more_at_which_answer_a_run_had_stopped():
    again = {"langfuse.observation.output": {"toolCalls": [{"toolCallId": "c1", "toolName": "hold", "args": {}}]}}
    used = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
    (run,) = agreed(
        _agent(1, None, 0, 9, {"text": "done", "files": []}, **_RESUMED),
        _mastra(2, 1, "model_step", 1, 1, "agent_step", **again, **_RESUMED),
        _mastra(3, 2, "model_inference", 1, 1, "chat", **_MODEL, **used, **_RESUMED),
        _tool(4, 1, 3, "hold", "c1", "held", **_RESUMED),
        *_step(5, 1, 5, text="done", **_RESUMED),
    )
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["stop"]


def _bridged(id, parent, at, took, text=None, why=None, used=None, **told):
    """A model's step by the bridge: what was used, and why it ended, is told around it."""
    ended = {"gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": text or ""}]}]}
    ended |= {} if used is None else {"gen_ai.usage.input_tokens": used, "gen_ai.usage.output_tokens": used}
    asked = {"mastra.model_step.input": _ASKED}
    out = {} if text is None else {"mastra.model_step.output": {"text": text, "toolCalls": []}}
    reason = {} if why is None else {"gen_ai.response.finish_reasons": [why]}
    said = {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]}
    told = {"gen_ai.input.messages": told.pop("given")} | told if "given" in told else said | told
    return [
        _mastra(id, parent, "model_generation", at, took, "chat", **ended, **reason, **_MODEL, **told),
        _mastra(id + 1, id, "model_step", at, took, **asked, **out),
        _mastra(id + 2, id + 1, "model_inference", at, took),
    ]


@pytest.mark.parametrize("resumed", [_RESUMED, {"given": []}])
def test_the_sum_of_a_run_that_goes_on_counts_what_was_used_before(resumed):
    def used(**told):
        (run,) = agreed(_agent(1, None, 0, 9, {"text": "done"}), *_bridged(2, 1, 1, 5, "done", "stop", 7, **told))
        return [(c["input_tokens"], c["finish_reason"]) for c in run["llm_calls"]]

    assert used() == [(7, "stop")]
    assert used(**resumed) == [(None, "stop")]


def test_the_bridge_tells_pieces_of_a_stream_within_a_span_of_its_own():
    piece = {"toolName": "nod", "toolCallId": "c1", "toolInput": {}}
    (run,) = agreed(
        _agent(1, None, 0, 9, _suspended("nod", "c1")),
        *_bridged(2, 1, 1, 7, why="suspended"),
        _mastra(5, 4, "model_chunk", 2, 0.1, **{"mastra.model_chunk.output": piece}),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("nod", "requested")]
    assert [c["finish_reason"] for c in run["llm_calls"]] == [None]


@pytest.mark.parametrize("came", [None, {"t": "warm"}])
def test_a_workflow_that_put_nothing_out_waits_or_failed(came):
    told = {"mastra.workflow_run.input": {"q": "go"}} | ({"mastra.workflow_run.output": came} if came else {})
    (run,) = agreed(
        _mastra(1, None, "workflow_run", 0, 9, **told),
        _agent(2, 1, 1, 5, {"text": "cold", "files": []}),
        *_step(3, 2, 2, text="cold"),
    )
    assert run["output"] == (None if came is None else "cold")


def test_arize_is_told_an_answer_once_more_without_what_was_asked():
    def step(id, at, given, text, calls=()):
        told = {"openinference.span.kind": "LLM", "output.value": json.dumps({"text": text, "toolCalls": list(calls)})}
        return _mastra(id, 1, "model_step", at, 1, **told, **({"input.value": given} if given else {}))

    call = {"toolCallId": "c1", "toolName": "look", "args": {}}
    (run,) = agreed(
        _agent(9, None, 0, 9, {"text": "done", "files": []}),
        _mastra(1, 9, "model_generation", 0, 9, **{"openinference.span.kind": "LLM"}),
        step(2, 1, None, "", [call]),
        _tool(3, 1, 3, "look", "c1", "cold"),
        step(4, 5, _ASKED, "done"),
    )
    assert len(run["llm_calls"]) == 1
    (run,) = agreed(
        _agent(9, None, 0, 9, {"text": "done", "files": []}),
        _mastra(1, 9, "model_generation", 0, 9, **{"openinference.span.kind": "LLM"}),
        step(2, 1, None, "", [call]),
        _tool(3, 1, 3, "look", "c1", "cold"),
        step(4, 5, None, "done"),
    )
    assert len(run["llm_calls"]) == 2


def test_a_tool_that_threw_ends_no_run():
    """The model is told; where none was asked after it, somebody called the run off, or a limit came."""
    (run,) = agreed(
        _agent(1, None, 0, 4.1),
        *_step(2, 1, 1, 1, [("c1", "look")]),
        _tool(4, 1, 3, "look", "c1") | {"error": "aborted", "status": 2},
    )
    assert [c["status"] for c in run["tool_calls"]] == ["error"]
    assert run["status"] == "unknown"
    assert "error" in run["boundaries_unknown"]


def _kept_out(id, parent, at, took, name="planner", **told):
    told |= {"gen_ai.agent.name": name, "mastra.span.type": "agent_run"}
    return _mastra(id, parent, "agent_run", at, took, "invoke_agent", **told)


def _step_kept_out(id, parent, at, took=1, ended=True, **told):
    used = _USED | {"gen_ai.response.finish_reasons": ["stop"]} if ended else {}
    return [
        _mastra(id, parent, "model_step", at, took, "agent_step", **told),
        _mastra(id + 1, id, "model_inference", at, took, "chat", **_MODEL, **used, **told),
    ]


def test_a_run_that_goes_on_is_one_of_its_own_where_content_is_kept_out():
    again = _step_kept_out(14, 11, 13, **_RESUMED)
    again[1]["attributes"].pop("mastra.completion_start_time")
    found = agreed(
        _kept_out(1, None, 0, 9),
        _mastra(2, 1, "model_generation", 1, 8),
        *_step_kept_out(3, 2, 1, 7, ended=False),
        _kept_out(10, 2, 10, 9, **_RESUMED),
        _mastra(11, 10, "model_generation", 10, 9, **_RESUMED),
        _tool(12, 11, 11, "nod", "c1", **_RESUMED),
        *again,
        *_step_kept_out(17, 11, 15, **_RESUMED),
    )
    assert [len(r["llm_calls"]) for r in found] == [1, 1]


def test_an_agent_below_another_whose_model_never_ended_waits():
    (run,) = agreed(
        _kept_out(1, None, 0, 20, "boss"),
        *_step_kept_out(2, 1, 1),
        _tool(4, 1, 3, "agent-asker", "c0") | {"took": 9},
        _kept_out(5, 4, 4, 7, "asker"),
        *_step_kept_out(6, 5, 5, 5, ended=False),
    )
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("asker", "unknown")]
    assert run["tool_calls"] is None


@pytest.mark.parametrize("lost", [4, 8])
def test_an_agent_that_mastra_makes_a_tool_of_was_called_also_where_that_tools_span_is_lost(lost):
    """A model's step lasts as long as the tools that it asked for."""
    spans = [
        _agent(1, None, 0, 20, {"text": "done", "files": []}),
        *_step(2, 1, 1, 9, [("c1", "agent-writer"), ("c2", "agent-writer")]),
        _tool(4, 2, 2, "agent-writer", "c1", "Rome.") | {"took": 4},
        _agent(5, 4, 2.1, 3, {"text": "Rome.", "files": []}, name="writer"),
        *_step(6, 5, 3, text="Rome."),
        _tool(8, 2, 2.2, "agent-writer", "c2", "Bonn.") | {"took": 4},
        _agent(9, 8, 2.3, 3, {"text": "Bonn.", "files": []}, name="writer"),
        *_step(10, 9, 3.2, text="Bonn."),
        *_step(12, 1, 15, text="done"),
    ]
    (run,) = agreed(*(s for s in spans if s["id"] != lost))
    assert run["tool_calls"] == []
    assert {(d["from"], d["to"], d["tool"]) for d in run["delegations"]} == {("planner", "writer", "agent-writer")}


def test_what_was_asked_for_beside_what_ran_may_have_run_where_an_agent_lost_its_parent():
    (run,) = agreed(
        _agent(1, None, 0, 20, {"text": "done", "files": []}),
        *_step(2, 1, 1, 3, [("c1", "look"), ("c2", "compose")]),
        _tool(4, 2, 2, "look", "c1", "cold"),
        _agent(5, 99, 2.1, 1, {"text": "Rome.", "files": []}, name="writer"),
        *_step(6, 5, 2.2, 0.5, text="Rome."),
        *_step(12, 1, 15, text="done"),
    )
    assert {(c["name"], c["status"]) for c in run["tool_calls"]} == {("look", "ok"), ("compose", "unknown")}
