"""What an instrumentation leaves out - an id, a role, what history's calls were given, who hands over - makes nothing
else wrong."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool


def _told(run):
    return [(c["name"], c["status"], c["arguments"], c["result"]) for c in run["tool_calls"]]


def _flat(family, messages):
    """Messages as OpenInference numbers them, each `{key: value}`."""
    return {f"llm.{family}.{n}.message.{key}": value for n, told in enumerate(messages) for key, value in told.items()}


def _model(id, at, inputs, output):
    called = "tool_calls.0.tool_call.function"
    answer = {"role": "assistant", "content": output} if isinstance(output, str) else {
        "role": "assistant", f"{called}.name": output[0], f"{called}.arguments": json.dumps(output[1])
    }  # fmt: skip
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 3}
    more = _flat("input_messages", inputs) | _flat("output_messages", [answer])
    return span(id, 1, "generate", at=at, attributes=told | {"llm.token_count.completion": 2} | more)


ASKED = {"role": "user", "content": "Look up A-1."}
CALL, GIVEN = "tool_calls.0.tool_call.function.name", "tool_calls.0.tool_call.function.arguments"
REQUEST = {"role": "assistant", CALL: "look", GIVEN: '{"id": "A-1"}'}
RESULT = {"role": "tool", "name": "look", "content": "shipped"}


@pytest.mark.parametrize(
    ("request_", "result"),
    [
        (REQUEST, RESULT),
        ({k: v for k, v in REQUEST.items() if k != "role"}, {k: v for k, v in RESULT.items() if k != "role"}),
        ({k: v for k, v in REQUEST.items() if k != GIVEN}, RESULT),
    ],
    ids=["whole", "no roles", "no arguments"],
)
def test_a_history_that_tells_less_of_a_call_still_brings_its_result(request_, result):
    (run,) = runs(
        span(1, None, "loop", took=9),
        _model(2, 1, [ASKED], ("look", {"id": "A-1"})),
        _model(3, 3, [ASKED, request_, result], "It is on its way."),
    )
    assert _told(run) == [("look", "ok", {"id": "A-1"}, "shipped")]
    assert run["input"] == "Look up A-1."


def test_a_name_that_is_no_text_is_none():
    odd = {"name.first": "look", "content": "shipped"}
    (run,) = runs(
        span(1, None, "loop", took=9),
        _model(2, 1, [ASKED], ("look", {"id": "A-1"})),
        _model(3, 3, [ASKED, REQUEST, odd], "It is on its way."),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["look"] and len(run["llm_calls"]) == 2


@pytest.mark.parametrize("second", [{"id": "A-2"}, {}], ids=["given", "given nothing"])
def test_calls_of_one_tool_have_their_results_in_order_where_history_tells_no_arguments(second):
    bare = {k: v for k, v in REQUEST.items() if k != GIVEN}
    again = RESULT | {"content": "lost"}
    (run,) = runs(
        span(1, None, "loop", took=9),
        _model(2, 1, [ASKED], ("look", {"id": "A-1"})),
        _model(3, 3, [ASKED, bare, RESULT], ("look", second)),
        _model(4, 5, [ASKED, bare, RESULT, bare, again], "One is lost."),
    )
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [({"id": "A-1"}, "shipped"), (second, "lost")]


def test_a_call_that_stands_in_the_content_and_beside_it_without_its_id_is_one():
    part = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"id": "A-1"}}
    beside = {"function": {"name": "look", "arguments": '{"id": "A-1"}'}}
    answer = {"role": "assistant", "content": [part], "tool_calls": [beside]}
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 3}
    (run,) = runs(
        agent(1, "a", took=9),
        span(2, 1, "chat m", at=1, attributes=told | {"gen_ai.output.messages": json.dumps([answer])}),
        tool(3, 1, "look", "toolu_1", "shipped", at=3),
        chat(4, 1, "It is on its way.", at=5),
    )
    assert _told(run) == [("look", "ok", {"id": "A-1"}, "shipped")]


def test_a_name_that_lay_too_deep_to_be_told_is_no_tool():
    part = {"type": "tool-call", "toolCallId": "c1", "toolName": "[MaxDepth]", "input": "[MaxDepth]"}
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 3}
    told |= {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": [part]}])}
    asked = span(2, 1, "chat m", at=1, attributes=told)
    (run,) = runs(agent(1, "a", took=9), asked, tool(3, 1, "look", None, "shipped", at=3), chat(4, 1, "Done.", at=5))
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    (run,) = runs(agent(1, "a", took=9), asked, chat(4, 1, "Done.", at=5))
    assert run["tool_calls"] is None or "tool calls not visible" in run["incomplete"]


def test_a_function_of_semantic_kernel_is_named_by_its_span_without_the_operation():
    own = span(3, 1, "execute_tool Desk-look", at=3, scope="semantic_kernel.functions.kernel_function")
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "Desk-look", {})], at=1), own, chat(4, 1, "Done.", at=5))
    assert [c["name"] for c in run["tool_calls"]] == ["Desk-look"]


def _handed_over(*more):
    calls = [("c1", "look", {}), ("c2", "transfer_to_worker", {})]
    return runs(
        span(1, None, "go", took=20),
        chat(2, 1, [calls[0]], "hi", at=1),
        tool(3, 1, "look", "c1", "shipped", at=3),
        chat(4, 1, [calls[1]], at=5),
        *more,
        chat(6, 1, "Done.", at=9),
    )


def test_a_way_to_another_agent_may_be_taken_without_a_span():
    (run,) = _handed_over()
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok"), ("transfer_to_worker", "unknown")]
    over = {"openinference.span.kind": "AGENT", "agent.name": "worker"}
    (run,) = _handed_over(span(5, 1, "worker", at=7, took=0.5, attributes=over))
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [(None, "worker")]


def test_a_step_of_a_program_may_have_run_what_it_is_named_as():
    holding = [span(5, 1, "ask_clerk", at=7, took=1.5, openinference__span__kind="CHAIN"), chat(7, 5, "Filed.", at=7.2)]
    (run,) = runs(
        span(1, None, "go", took=20),
        chat(2, 1, [("c1", "look", {})], at=1),
        tool(3, 1, "look", "c1", "shipped", at=3),
        chat(4, 1, [("c2", "ask_clerk", {"question": "file it"})], at=5),
        *holding,
        chat(6, 1, "Done.", at=9),
    )
    assert "requested" not in [c["status"] for c in run["tool_calls"]]


@pytest.mark.parametrize("parent", [3, 33], ids=["told", "left out"])
def test_a_servers_span_is_of_the_call_in_whose_time_it_is_though_its_clients_is_left_out(parent):
    served = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "look", "gen_ai.operation.name": "execute_tool"}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {"id": "A-1"})], at=1),
        tool(3, 1, "look", "c1", "shipped", at=3),
        span(4, parent, "tools/call look", at=3.2, took=0.5, kind=2, attributes=served),
        chat(5, 1, "It is on its way.", at=5),
    )
    assert _told(run) == [("look", "ok", {"id": "A-1"}, "shipped")]
