"""Requests, results and hand-overs of which a limit, a mask or a switch left only a part."""

import json

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from tests.captures import LATER, as_json
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

OSLO, ROME = ("c1", "look", {"city": "Oslo"}), ("c2", "look", {"city": "Rome"})
LONG = "x" * 400


def _done(run):
    return [(c["name"], c["status"], c["arguments"], c["result"]) for c in run["tool_calls"]]


def _cut(length, *spans):
    for one in spans:
        one["attributes"] = {k: v if isinstance(v, int) else _text(v)[:length] for k, v in one["attributes"].items()}
    return spans


def _text(value):
    return value if isinstance(value, str) else json.dumps(value)


def _part(call):
    return dict(zip(("type", "id", "name", "arguments"), ("tool_call", *call), strict=True))


def _looks(first, second, apart):
    """Two calls of one tool, asked for at once and run in steps of their own: their spans have no ids."""
    asked = [{"role": "user", "parts": [{"type": "text", "content": "both"}]}]
    came = [(OSLO, "cold"), (ROME, "warm")]
    history = [
        *asked,
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": i, "name": n, "arguments": a} for (i, n, a), _ in came],
        },
        *(
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": i, "response": told}]}
            for (i, _, _), told in came
        ),
    ]
    ran = [
        span(20, 1, "step", at=2, took=3),
        span(30, 1, "step", at=2 + apart, took=3),
        tool(31, 30, "look", result=second[1], at=2.5 + apart, took=0.5, attributes=second[0]),
        tool(21, 20, "look", result=first[1], at=3.5, attributes=first[0]),
    ]
    return runs(agent(1, "a", took=20), chat(2, 1, [OSLO, ROME], asked), *ran, chat(4, 1, "done", history, at=12))[0]


def test_of_calls_at_once_the_only_argument_tells_which_a_span_ran():
    """LangChain's tools of one argument, under OpenInference."""
    run = _looks(({"gen_ai.tool.call.arguments": "Oslo"}, "cold"), ({"gen_ai.tool.call.arguments": "Rome"}, "warm"), 0)
    assert _done(run) == [("look", "ok", {"city": "Oslo"}, "cold"), ("look", "ok", {"city": "Rome"}, "warm")]


def test_what_either_of_two_calls_at_once_may_have_given_is_told_by_ids_alone():
    run = _looks(({}, "cold"), ({}, "warm"), 0)
    assert _done(run) == [("look", "ok", {"city": "Oslo"}, "cold"), ("look", "ok", {"city": "Rome"}, "warm")]
    one_failed = runs(
        agent(1, "a", took=20),
        chat(2, 1, [OSLO, ROME], "both"),
        span(20, 1, "step", at=2, took=3),
        span(30, 1, "step", at=2, took=3),
        tool(31, 30, "look", at=2.5, took=0.5, error="no"),
        tool(21, 20, "look", result="cold", at=3.5),
    )[0]
    assert [(status, result) for _, status, _, result in _done(one_failed)] == [("unknown", None), ("unknown", None)]


def test_calls_one_after_another_ran_as_they_were_asked_for():
    run = runs(
        agent(1, "a", took=20),
        chat(2, 1, [OSLO, ROME], "both"),
        tool(3, 1, "look", result="cold", at=2),
        tool(4, 1, "look", result="warm", at=4),
        chat(5, 1, "done", at=6),
    )[0]
    assert [result for *_, result in _done(run)] == ["cold", "warm"]


def _instructed(who, *parts):
    return [{"role": "system", "parts": [{"type": "text", "content": f"You are {who}. {LONG}"}]}, *parts]


@pytest.mark.parametrize("name", ["delegate_to_worker", "ask_worker"])
def test_whose_answer_was_cut_was_called_where_another_conversation_went_on_meanwhile(name):
    asked = ("c1", name, {"task": "find"})
    (run,) = runs(
        span(1, None, "handle", took=20),
        *_cut(
            256,
            chat(2, 1, [asked], _instructed("planner"), at=1),
            chat(3, 1, [("c2", "look", {"q": 1})], _instructed("worker"), at=3),
            chat(4, 1, "found", _instructed("worker"), at=5),
            chat(5, 1, "done", _instructed("planner"), at=7),
        ),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [("worker", name, "unknown")]


def test_a_tool_whose_answer_was_cut_is_one_where_its_agent_went_on():
    (run,) = runs(
        span(1, None, "handle", took=20),
        *_cut(
            256,
            chat(2, 1, [("c1", "ask_worker", {"task": "find"})], _instructed("planner"), at=1),
            chat(5, 1, "done", _instructed("planner"), at=7),
        ),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("ask_worker", "unknown")]


def test_hand_overs_of_which_the_name_is_all_that_is_told():
    (run,) = runs(
        span(1, None, "workflow", took=20),
        chat(2, 1, at=1),
        tool(3, 1, "handoff", "c1", at=3),
        chat(4, 1, at=5),
        tool(5, 1, "look", "c2", at=7),
        chat(6, 1, at=9),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    assert [(d["to"], d["form"], d["tool"]) for d in run["delegations"]] == [(None, "handoff", "handoff")]


def test_what_was_asked_for_and_not_run_is_not_visible_where_answers_are_hidden():
    asking = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    (run,) = runs(
        agent(1, "a", took=20),
        chat(2, 1, at=1, attributes=asking),
        tool(3, 1, "look", "c1", at=3),
        chat(4, 1, at=5, attributes=asking),
    )
    assert "tool calls not visible" in run["incomplete"]
    assert [c["name"] for c in run["tool_calls"]] == ["look"]


def test_what_was_asked_in_an_event_may_be_masked():
    """OpenLIT's prompts."""
    prompt = ("gen_ai.content.prompt", {"gen_ai.prompt": "****"})
    (run,) = runs(chat(1, None, "done", at=1, events=[prompt]))
    assert (run["input"], "input not reported" in run["incomplete"]) == (None, True)


@pytest.mark.parametrize("mask", ["****", "[MASKED]", "<Redacted>", "(redacted)", "********"])
def test_a_mask_is_no_value(mask):
    told = [{"role": "user", "parts": [{"type": "text", "content": mask}]}]
    (run,) = runs(
        agent(1, "a", took=9, attributes={"gen_ai.input.messages": mask}),
        chat(2, 1, [("c1", "look", {})], told, at=1),
        tool(3, 1, "look", "c1", mask, at=3, attributes={"gen_ai.tool.call.arguments": mask}),
        chat(4, 1, mask, at=5),
    )
    assert (run["input"], run["output"], run["tool_calls"][0]["result"]) == (None, None, None)


def _asked(attributes, dropped):
    whole = ExportTraceServiceRequest.FromString(request([chat(1, None, attributes=attributes)]))
    whole.resource_spans[0].scope_spans[0].spans[0].dropped_attributes_count = dropped
    return as_json(reconstruct(*frames([("traces", whole.SerializeToString())]), Config(), LATER))[0]["input"]


def test_the_newest_message_may_be_among_those_that_were_dropped():
    first = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "m0"}
    rest = {"gen_ai.prompt.1.role": "assistant", "gen_ai.prompt.1.content": "m1"}
    rest |= {"gen_ai.prompt.2.role": "user", "gen_ai.prompt.2.content": "m2"}
    said = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "hi"}
    assert _asked(first | rest, 0) == "m2"
    assert _asked(rest, 2) == "m2"
    assert _asked(first, 4) is None
    assert _asked(first | said, 4) == "m0"


@pytest.mark.parametrize(("version", "status"), [("0.2.20", "unknown"), ("1.0.18", "ok")])
def test_whether_a_tool_failed_older_pydantic_ai_tells_the_model_alone(version, status):
    kit = {"scope": "pydantic-ai", "version": version}
    told = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1", "tool_arguments": "{}"}
    (run,) = runs(
        agent(1, "a", took=20, **kit),
        chat(2, 1, [("c1", "look", {})], "go", at=1, **kit),
        span(3, 1, "running tool", at=3, attributes=told, **kit),
        chat(4, 1, "done", at=5, **kit),
    )
    assert [status for _, status, *_ in _done(run)] == [status]


def test_the_flag_of_a_tool_that_failed_may_be_cut():
    """LangChain's under OpenLLMetry: the message's status stands behind its text."""
    kit = {"scope": "opentelemetry.instrumentation.langchain"}
    whole = '{"output": {"content": "no such city", "additional_kwargs": {}, "name": "look", "status": "success"}}'
    for told, status in ((whole, "ok"), (whole[:60], "unknown")):
        result = {"traceloop.entity.output": told, "gen_ai.tool.call.result": told}
        (run,) = runs(
            agent(1, "a", took=20, **kit),
            chat(2, 1, [("c1", "look", {})], "go", at=1, **kit),
            tool(3, 1, "look", "c1", at=3, attributes=result, **kit),
        )
        assert [(name, s) for name, s, *_ in _done(run)] == [("look", status)]


def test_two_tellings_of_one_answer_are_one_call_also_where_nobody_says_whose_they_are():
    """A collector that drops the scope: Anthropic's client and Traceloop's around it."""
    told = {"gen_ai.response.id": "msg_01Xy"}
    (run,) = runs(
        span(1, None, "handle", took=9),
        chat(2, 1, "done", "go", at=1, took=3, attributes=told),
        chat(3, 1, at=1.5, took=2, attributes=told) | {"name": "anthropic.messages.create"},
    )
    assert len(run["llm_calls"]) == 1
