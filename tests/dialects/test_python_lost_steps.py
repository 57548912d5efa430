"""Python's kits and clients where a span did not come, or content is off."""

import json

import pytest

from tests import captures
from tests.runs.requests import agent, chat, events, frames, runs, span, text, tool

_DSPY = "openinference.instrumentation.dspy"
_ASKED = [{"role": "user", "parts": [{"type": "text", "content": "[[ ## question ## ]]\nWhere?\n\n"}]}]


def _dspy(id, parent, name, at, took, kind="CHAIN", **more):
    told = {"openinference.span.kind": kind, **more.pop("told", {})}
    return span(id, parent, name, at=at, took=took, attributes=told, scope=_DSPY, **more)


def _next(tool):
    return json.dumps({"next_thought": "go", "next_tool_name": tool, "next_tool_args": {}})


@pytest.mark.parametrize("lost", [True, False])
def test_an_object_of_fields_is_not_what_a_module_of_dspys_answered(lost):
    """What the module makes of it is: one of the fields, where its span came."""
    said = json.dumps({"reasoning": "so", "answer": "Here."})
    whole = {"output.value": json.dumps({"trajectory": {}, "reasoning": "so", "answer": "Here."})}
    (run,) = runs(
        *([] if lost else [_dspy(1, None, "ReAct.forward", 0, 5, told=whole)]),
        _dspy(2, 1, "Predict.forward", 1, 3),
        chat(3, 2, said, _ASKED, at=1.5),
    )
    assert run["output"] == (None if lost else "Here.")


@pytest.mark.parametrize(
    ("lost", "boundary"), [("step", "unknown"), (None, "neither"), ("both", "met"), ("tool", "unknown")]
)
def test_a_step_that_dspys_loop_lost_may_have_ended_it(lost, boundary):
    """Where it ends with a tool, it met its limit: but for a model that was asked in its time by a step that has not
    come."""
    second = "search" if lost == "tool" else "finish"
    (run,) = runs(
        _dspy(1, None, "ReAct.forward", 0, 20),
        _dspy(2, 1, "Predict.forward", 1, 2),
        chat(3, 2, _next("look"), _ASKED, at=1.5),
        _dspy(4, 1, "look.__call__", 4, 1, "TOOL", told={"tool.name": "look"}),
        *([] if lost in ("step", "both") else [_dspy(5, 1, "Predict.forward", 6, 2)]),
        *([] if lost == "both" else [chat(6, 5, _next(second), _ASKED, at=6.5)]),
        _dspy(7, 1, "ChainOfThought.forward", 10, 3),
        _dspy(8, 7, "Predict.forward", 10.5, 2),
        chat(9, 8, json.dumps({"reasoning": "so", "answer": "Here."}), _ASKED, at=11),
    )
    told = {"neither": (False, False), "unknown": (False, True), "met": (True, False)}
    assert ("max_steps" in run["boundaries"], "max_steps" in run["boundaries_unknown"]) == told[boundary]


def test_what_failed_on_an_answer_is_no_failure_of_the_model_that_gave_it():
    """DSPy under MLflow: what asks a model and reads its answer counts as a model, too."""
    kit = {"scope": "mlflow.tracing.provider"}
    broke = {"error": "No such field.", **kit}
    said = {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanOutputs": '["Here."]'}
    (run,) = runs(
        span(1, None, "ReAct.forward", at=0, took=9, attributes={"mlflow.spanType": '"AGENT"'}, **broke),
        span(2, 1, "Predict.forward", at=1, took=7, attributes={"mlflow.spanType": '"LLM"'}, **broke),
        span(3, 2, "LM.__call__", at=2, took=2, status=1, attributes=said, **kit),
        span(4, 2, "ChatAdapter.parse", at=5, attributes={"mlflow.spanType": '"PARSER"'}, **broke),
    )
    assert ([c["status"] for c in run["llm_calls"]], run["status"]) == (["ok"], "error")


@pytest.mark.parametrize("told", [True, False])
def test_a_result_without_words_does_not_tell_how_a_tool_in_a_programs_own_span_went(told):
    """The contrib instrumentation of Bedrock's client, content off: an event tells that something came back."""
    scope = "opentelemetry.instrumentation.botocore.bedrock-runtime"
    asked = {"id": "c1", "type": "function", "function": {"name": "look"}}
    back = {"id": "c1"} | ({"content": "Oslo"} if told else {})
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, at=1, attributes={"gen_ai.response.finish_reasons": ["tool_use"]}, scope=scope),
        span(3, 1, "look", at=3),
        chat(4, 1, at=5, attributes={"gen_ai.response.finish_reasons": ["end_turn"]}, scope=scope),
        logs=[
            events(
                (2, "gen_ai.choice", 1.5, {"finish_reason": "tool_use", "message": {"tool_calls": [asked]}}),
                (4, "gen_ai.tool.message", 5.1, back),
                (4, "gen_ai.choice", 5.5, {"finish_reason": "end_turn", "message": {}}),
                scope=scope,
                named=True,
                deep=True,
            )
        ],
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok" if told else "unknown")]


def test_what_was_asked_for_in_an_earlier_request_is_no_call_of_this_one_whose_first_input_is_not_told():
    """Anthropic's client tells of a call without its words: the layer that told them was lost."""

    def said(role, *parts):
        return {"role": role, "parts": list(parts)}

    def text(words):
        return {"type": "text", "content": words}

    def call(id):
        return {"type": "tool_call", "id": id, "name": "look", "arguments": {}}

    def result(id):
        return {"type": "tool_call_response", "id": id, "response": "Oslo"}

    first = [said("user", text("Where?")), said("assistant", call("c1")), said("tool", result("c1"))]
    then = [said("assistant", text("There.")), said("user", text("And now?")), said("assistant", call("c2"))]
    (run,) = runs(
        span(1, None, "handle", at=0, took=9),
        chat(2, 1, at=1, attributes={"gen_ai.response.finish_reasons": ["tool_use"]}),
        tool(3, 1, "look", call="c2", result="Oslo", at=3),
        chat(4, 1, "Here.", [*first, *then, said("tool", result("c2"))], at=5),
    )
    assert [c["call_id"] for c in run["tool_calls"]] == ["c2"]


@pytest.mark.parametrize("lost", [True, False])
def test_an_agent_that_put_out_a_request_which_no_model_made_has_lost_one(lost):
    """Microsoft's Agent Framework: nobody is shown the request by which one agent hands over to another."""
    out = [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "Oslo"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c2", "name": "handoff_to_writer"}]},
    ]
    (run,) = runs(
        span(1, None, "workflow.run", at=0, took=30),
        agent(2, "planner", 1, at=1, took=9, attributes={"gen_ai.output.messages": out}),
        chat(3, 2, [("c1", "look", {})], "Where?", at=2),
        tool(4, 2, "look", call="c1", result="Oslo", at=4),
        *([] if lost else [chat(5, 2, [("c2", "handoff_to_writer", {})], at=6)]),
        agent(6, "writer", 1, at=12, took=9),
        chat(7, 6, "Here.", "Where?", at=13),
    )
    assert ("missing step" in run["incomplete"]) == lost


_SK = "semantic_kernel.utils.telemetry"


def _loop(id, parent, at, took, **more):
    kit = {"scope": "semantic_kernel.connectors.ai.chat_completion_client_base"}
    return span(id, parent, "AutoFunctionInvocationLoop", at=at, took=took, **kit, **more)


def _sk_chat(*args, **more):
    return chat(*args, scope=f"{_SK}.model_diagnostics.decorators", **more)


@pytest.mark.parametrize("lost", [True, False])
def test_each_loop_of_semantic_kernel_asks_a_model(lost):
    (run,) = runs(
        agent(1, "planner", took=20),
        _loop(2, 1, 1, 18),
        _sk_chat(3, 2, [("c1", "writer-writer", {"messages": "Write."})], "A poem!", at=2),
        tool(4, 2, "writer-writer", call="c1", result="Roses.", at=4, took=6),
        agent(5, "writer", 4, at=5, took=4),
        _loop(6, 5, 5.5, 3),
        *([] if lost else [_sk_chat(7, 6, "Roses.", "Write.", at=6)]),
        _sk_chat(8, 2, "Here it is.", at=12),
    )
    assert ("missing step" in run["incomplete"]) == lost


@pytest.mark.parametrize("lost", [True, False])
def test_an_agent_in_a_tool_that_failed_after_its_tools_went_well_asked_a_model_that_failed(lost):
    broke = {"error": "The model fails."}
    (run,) = runs(
        agent(1, "planner", took=30),
        chat(3, 1, [("c1", "ask_writer", {"task": "Write."})], "A poem!", at=2),
        tool(4, 1, "ask_writer", call="c1", at=4, took=15, **broke),
        agent(5, "writer", 4, at=5, took=13, **broke),
        chat(7, 5, [("c2", "look", {})], "Write.", at=6),
        tool(8, 5, "look", call="c2", result="a word", at=8),
        *([] if lost else [chat(9, 5, at=10, **broke)]),
        chat(10, 1, "No poem today.", at=22),
    )
    assert ("missing step" in run["incomplete"]) == lost
    assert ("error" in run["boundaries"], "error" in run["boundaries_unknown"]) == (not lost, lost)


@pytest.mark.parametrize("ran", [True, False])
def test_the_sum_of_an_agent_in_which_tools_ran_is_not_what_its_only_call_took(ran):
    """Logfire's of Claude's kit tells tokens of the agent alone; another call may have been lost."""
    told = {"gen_ai.usage.input_tokens": 329, "gen_ai.usage.output_tokens": 23}
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "Here."}]}]
    answered = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-a", "gen_ai.output.messages": said}
    (run,) = runs(
        agent(1, "planner", took=20, attributes=told),
        *([tool(2, 1, "look", call="c1", result="Oslo", at=3)] if ran else []),
        span(3, 1, "chat model-a", at=5, attributes=answered),
    )
    assert [c["input_tokens"] for c in run["llm_calls"]] == [None if ran else 329]


def test_a_result_is_cut_where_spans_are_though_log_records_are_not():
    """Semantic Kernel tells in the bodies of log records what was said, and of tools in attributes."""
    words = "word " * 80
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, at=1, attributes={"gen_ai.response.finish_reasons": ["tool_calls"]}),
        tool(3, 1, "look", call="c1", result=words[:256], at=3),
        tool(4, 1, "search", call="c2", result=words[:256], at=4),
        chat(5, 1, at=5),
        logs=[events((5, "gen_ai.choice", 5.5, {"content": words + "end."}), named=True)],
    )
    assert [c["result"] for c in run["tool_calls"]] == [None, None]


def test_a_model_that_failed_last_met_no_limit_though_a_step_is_lost():
    sent = [request for scenario in captures.packed("more", "strands--native") for request in scenario.requests]
    found = [json.loads(line) for line in text(*frames(sent)).splitlines()]
    failed = [run for run in found if run["llm_calls"] and run["llm_calls"][-1]["status"] == "error"]
    assert len(failed) > 1
    for run in failed:
        assert "missing step" in run["incomplete"]
        assert not {"max_steps", "cost_limit"} & {*run["boundaries_unknown"], *run["boundaries"]}
