"""What small traces mean: errors, boundaries, delegations, and which traces are one run."""

import json

import pytest

from otelcov.ground import settings
from otelcov.ground.config import Config
from otelcov.ground.schemas import LATEST_NS
from otelcov.runs import reconstruct
from otelcov.runs.rules.softerrors import soft_error
from otelcov.store.layout import from_requests
from tests.captures import LATER
from tests.runs.requests import T0, agent, chat, request, runs, span, tool


def calls(run):
    return [(c["name"], c["status"], c["error_kind"]) for c in run["tool_calls"]]


# --- soft errors


@pytest.mark.parametrize(
    "told",
    [
        "ValueError: unknown airport",
        "Error executing tool book: no such hotel",
        "Traceback (most recent call last):\n  File",
        "Tool execution failed",
        {"error": "no such user"},
        {"status": "error", "message": "no"},
        {"result": {"error": "no such user"}},
        {"output": {"status": "error", "message": "no"}},
    ],
)
def test_a_result_that_begins_as_an_error_is_one(told):
    assert soft_error(told, None)


@pytest.mark.parametrize(
    "told",
    [
        "The page lists common errors",
        "0 errors",
        {"error": None, "data": 3},
        {"errors": []},
        {"result": {"error": None, "data": 3}},
        None,
        7,
        ["error"],
    ],
)
def test_a_result_that_speaks_of_errors_is_none(told):
    assert not soft_error(told, None)


@pytest.mark.parametrize("told", ["Error-free since May", "Timeout-based retries are on", "Exceptions: two"])
def test_words_that_begin_as_errors_do_are_none(told):
    assert not soft_error(told, None)


def test_a_flag_outweighs_the_words():
    assert soft_error("all fine", True)
    assert not soft_error("ValueError: x", False)


def test_the_config_adds_patterns():
    config = settings.of({"runs": {"soft_errors": ["^DENIED"]}})
    spans = (agent(1, "a"), tool(2, 1, "t", result="DENIED by policy"))
    assert [calls(r) for r in runs(*spans)] == [[("t", "ok", None)]]
    ((name, _, kind),) = calls(runs(*spans, config=config)[0])
    assert (name, kind) == ("t", "soft")


@pytest.mark.parametrize("text, kind", [("Error: no such order", "soft"), ("Order 7: two lamps", None)])
def test_a_tool_that_says_it_failed_is_marked_though_a_flag_says_that_nothing_was_raised(text, kind):
    told = json.dumps({"content": [{"type": "text", "text": text}], "isError": False})
    spans = [agent(1, "a"), chat(2, 1, [("c1", "t", {})], asked="?"), tool(3, 1, "t", "c1", told), chat(4, 1, "done")]
    (call,) = runs(*spans)[0]["tool_calls"]
    assert (call["status"], call["error_kind"]) == ("ok", kind)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Exception: none of these apply", "ok"),
        ("Timeout: 30 s", "ok"),
        ("KeyError: 'x'", "error"),
        ("Error: KeyError: 'x'", "error"),
    ],
)
def test_a_tool_whose_span_ended_well_may_begin_its_answer_with_the_bare_word(text, status):
    spans = [agent(1, "a"), chat(2, 1, [("c1", "t", {})], asked="?"), tool(3, 1, "t", "c1", text), chat(4, 1, "done")]
    assert [c["status"] for c in runs(*spans)[0]["tool_calls"]] == [status]


@pytest.mark.parametrize("more, result", [({}, None), ({"structuredContent": {"result": []}}, [])])
def test_a_server_that_gave_no_parts_gave_no_list(more, result):
    told = json.dumps({"content": [], "isError": False} | more)
    spans = [agent(1, "a"), chat(2, 1, [("c1", "t", {})], asked="?"), tool(3, 1, "t", "c1", told), chat(4, 1, "done")]
    (call,) = runs(*spans)[0]["tool_calls"]
    assert (call["status"], call["result"]) == ("ok", result)


# --- status and boundaries


def test_a_failed_tool_that_later_works_is_recovered():
    (run,) = runs(
        agent(1, "a", took=9),
        tool(2, 1, "t", at=1, error="boom"),
        tool(3, 1, "t", at=3, result="fine"),
        chat(4, 1, "done", at=5),
    )
    assert [status for _, status, _ in calls(run)] == ["error", "ok"]
    assert run["status"] == "ok"
    assert {"tool_failure", "tool_recovery"} <= set(run["boundaries"])


def test_what_has_an_error_type_failed_though_nobody_set_its_status():
    typed = {"error.type": "ExecutionError"}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "t", {})], at=1),
        tool(3, 1, "t", call="c1", at=3, attributes=typed),
        chat(4, 1, at=5, attributes=typed),
    )
    assert calls(run) == [("t", "error", "hard")]
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "error"]
    assert run["status"] == "error"


def test_three_equal_calls_are_a_repeated_call():
    spans = [tool(i, 1, "t", at=i, attributes={"gen_ai.tool.call.arguments": '{"q": 1}'}) for i in (2, 3, 4)]
    assert "repeated_call" in runs(agent(1, "a", took=9), *spans)[0]["boundaries"]
    assert "repeated_call" not in runs(agent(1, "a", took=9), *spans[:2])[0]["boundaries"]


def test_a_step_limit_is_not_an_error():
    (run,) = runs(
        agent(1, "a", took=9, error="Max turns exceeded: {'max_turns': 3}"),
        chat(2, 1, [("c1", "t", {})], at=1),
        tool(3, 1, "t", call="c1", at=3, result="x"),
    )
    assert run["status"] == "error"
    assert "max_steps" in run["boundaries"]
    assert "error" not in run["boundaries"]


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("FinishReason.MAX_TOKENS", ["length"]),
        ("MaxTokens", ["length"]),
        ("ContentFilter", ["content_filter"]),
        ("guardrail_intervened", ["content_filter"]),
        ("STOP", []),
    ],
)
def test_a_finish_reason_is_a_boundary_however_it_is_written(said, seen):
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1, attributes={"gen_ai.response.finish_reasons": [said]}))
    assert run["boundaries"] == seen
    assert run["tool_calls"] == []


@pytest.mark.parametrize("said", ["ToolCalls", "TOOL_EXECUTION", "tool-calls"])
def test_an_answer_that_asked_for_tools_says_so_in_every_way_of_writing(said):
    told = {"gen_ai.response.finish_reasons": [said], "gen_ai.completion": "let me look"}
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1, attributes=told))
    assert (run["tool_calls"], run["path"], run["states"]) == (None, None, None)


def test_a_model_call_that_timed_out_is_timeout_and_error():
    failed = chat(2, 1, error="Request timed out.", attributes={"error.type": "openai.APITimeoutError"})
    (run,) = runs(agent(1, "a", took=9, error="Request timed out."), failed)
    assert {"timeout", "error"} <= set(run["boundaries"])


def test_what_was_asked_and_not_run_is_requested():
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "safe", {}), ("c2", "risky", {})], at=1),
        tool(3, 1, "safe", call="c1", at=3, result="x"),
        chat(4, 1, "done", at=5),
    )
    assert sorted(calls(run)) == [("risky", "requested", None), ("safe", "ok", None)]


def test_what_the_provider_ran_itself_was_not_left_undone():
    served = [
        {"type": "tool_call", "id": "w1", "name": "web_search", "arguments": {"q": "x"}},
        {"type": "tool_call_response", "id": "w1", "name": "web_search", "response": "found"},
        {"type": "text", "content": "done"},
    ]
    last = {"gen_ai.output.messages": [{"role": "assistant", "parts": served}]}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "t", {})], at=1),
        tool(3, 1, "t", call="c1", at=3, result="x"),
        chat(4, 1, at=5, attributes=last),
    )
    assert calls(run) == [("t", "ok", None), ("web_search", "ok", None)]
    assert (run["status"], run["output"], run["boundaries"]) == ("ok", "done", [])


def test_a_choice_before_the_last_message_of_the_input_is_history():
    def choice(call):
        request = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        return "gen_ai.choice", {"index": 0, "message": {"role": "assistant", "tool_calls": [request] if call else []}}

    asked = [("gen_ai.user.message", {"content": "go on"}), choice(True)]
    told = [*asked, ("gen_ai.tool.message", {"id": "c1", "content": "x"})]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, at=1, events=asked),
        tool(3, 1, "t", call="c1", at=3),
        chat(4, 1, at=5, events=told),
    )
    assert calls(run) == [("t", "ok", None)]
    assert (run["input"], run["tool_calls"][0]["result"]) == ("go on", "x")


def test_a_model_that_read_nothing_did_not_report():
    def spent(read, wrote):
        return {"gen_ai.usage.input_tokens": read, "gen_ai.usage.output_tokens": wrote}

    told = [chat(i, 1, "hi", at=i, attributes=spent(*n)) for i, n in enumerate([(0, 0), (0, 5), (5, 0)], 2)]
    (run,) = runs(agent(1, "a", took=9), *told)
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(None, None), (None, 5), (5, 0)]
    assert "tokens not reported" in run["incomplete"]


def test_a_mark_that_stands_for_a_text_is_none():
    asked = [
        {"role": "user", "content": "redacted-by-litellm"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "t", "arguments": "[REDACTED]"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "[REDACTED]"},
    ]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "t", "[REDACTED]")], asked[:1], at=1),
        chat(3, 1, "redacted-by-litellm", asked, at=3),
    )
    assert (run["input"], run["output"]) == (None, None)
    assert [(c["arguments"], c["arguments_text"], c["result"], c["status"]) for c in run["tool_calls"]] == [
        (None, None, None, "unknown")
    ]


def test_an_answer_in_one_of_several_forms_calls_no_tool():
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "final_result_Fruit", {"name": "pear"})], "which fruit?", at=1),
        tool(3, 1, "final_result_Fruit", call="c1", at=3),
    )
    assert (run["tool_calls"], run["status"], run["boundaries"]) == ([], "ok", [])


def test_a_thread_of_the_operating_system_is_no_conversation():
    def told(id):
        return runs(agent(1, "a", took=9, attributes={"thread.id": id}), chat(2, 1, "hi", at=1))[0]["conversation_id"]

    assert (told(42), told("thread-42")) == (None, "thread-42")


def test_spans_of_no_kind_beside_named_tools_break_nothing():
    named = span(2, 1, "x", at=1, attributes={"tool.name": "t", "tool.call.id": "c"})
    assert [run["tool_calls"] for run in runs(agent(1, "a", took=9), named)] == [None]


def test_another_conversation_does_not_tell_that_a_call_never_ran():
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], at=1),
        chat(3, 1, "done", at=3, attributes={"gen_ai.input.messages": [{"role": "user", "content": "something else"}]}),
    )
    assert calls(run) == [("look", "unknown", None)]


def test_an_equal_call_answered_in_no_time_was_not_run_again():
    asked = [
        {"role": "assistant", "tool_calls": [{"id": i, "function": {"name": "t", "arguments": "{}"}}]} for i in "ab"
    ]
    answered = [{"role": "tool", "tool_call_id": i, "content": "x"} for i in "ab"]
    history = [asked[0], answered[0], asked[1], answered[1]]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("a", "t", {})], at=0.5, took=0.5),
        tool(3, 1, "t", call="a", at=1, took=1, result="x"),
        chat(4, 1, [("b", "t", {})], at=2, took=1),
        chat(5, 1, "done", at=3.01, attributes={"gen_ai.input.messages": history}),
    )
    assert calls(run) == [("t", "ok", None), ("t", "requested", None)]


def test_a_tool_seen_by_two_layers_is_one_call():
    inner = span(
        4,
        3,
        "tools/call t",
        at=1.2,
        took=0.5,
        attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"},
    )
    (run,) = runs(agent(1, "a", took=9), tool(3, 1, "t", call="c", at=1, result="x"), inner)
    assert calls(run) == [("t", "ok", None)]


def test_spans_side_by_side_with_one_call_id_are_one_call():
    announced, ran = tool(3, 1, "t", "c1", at=1, took=0.1), tool(4, 1, "t", "c1", "x", at=2)
    assert calls(runs(agent(1, "a", took=9), announced, ran)[0]) == [("t", "ok", None)]
    asked = chat(5, 1, at=1.5, took=0.2)
    assert len(runs(agent(1, "a", took=9), announced, asked, ran)[0]["tool_calls"]) == 2


def test_one_id_for_different_arguments_is_no_id():
    given = [{"gen_ai.tool.call.arguments": {"of": x}} for x in "ab"]
    spans = [tool(i + 2, 1, "t", "c1", "x", at=i + 1, attributes=told) for i, told in enumerate(given)]
    assert calls(runs(agent(1, "a", took=9), *spans)[0]) == [("t", "ok", None)] * 2


def test_what_was_thrown_in_a_tool_that_says_it_went_well_was_caught():
    thrown = [("exception", {"exception.type": "TimeoutError", "exception.message": "first try"})]
    for status, told in (1, "ok"), (0, "error"):
        (run,) = runs(agent(1, "a", took=9), tool(2, 1, "t", "c1", "x", at=1, status=status, events=thrown))
        assert [c["status"] for c in run["tool_calls"]] == [told]


@pytest.mark.parametrize("thrown", ["langgraph.errors.GraphInterrupt", "pydantic_ai.exceptions.ApprovalRequired"])
def test_a_tool_that_waits_for_somebody_was_not_run(thrown):
    events = [("exception", {"exception.type": thrown, "exception.message": ""})]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "delete", {"x": 1})], "clean up", at=1),
        tool(3, 1, "delete", "c1", at=3, error=thrown, events=events),
    )
    assert (calls(run), run["status"], run["boundaries"]) == ([("delete", "requested", None)], "ok", [])


def test_a_gateways_attempts_are_one_call_of_a_model():
    attempts = [chat(3, 2, at=1.1, error="503", scope="gateway"), chat(4, 2, "done", "go on", at=3, scope="gateway")]
    (run,) = runs(agent(1, "a", took=20), chat(2, 1, "done", "go on", at=1, took=9), *attempts)
    assert [(c["status"], c["input_tokens"]) for c in run["llm_calls"]] == [("ok", 10)]
    assert (run["input"], run["boundaries"]) == ("go on", [])
    (run,) = runs(agent(1, "a", took=20), chat(2, 1, at=1, took=9, error="503"), *attempts[:1])
    assert [c["status"] for c in run["llm_calls"]] == ["error"]


def test_two_trees_that_tell_the_same_work_are_one():
    def layer(first, scope, later, content):
        return [
            agent(first, "a", parent=1, at=1 + later, took=9, scope=scope),
            chat(first + 1, first, content and [("c1", "t", {})], content, at=2 + later, scope=scope),
            tool(first + 2, first, "t", at=4 + later, result=content, scope=scope),
            chat(first + 3, first, content and "done", content, at=6 + later, scope=scope),
        ]

    app = span(1, None, "app", took=20)
    (run,) = runs(app, *layer(10, "one", 0, "x"), *layer(20, "two", 0.001, None))
    assert calls(run) == [("t", "ok", None)]
    assert (len(run["llm_calls"]), run["agents"], run["output"]) == (2, ["a"], "done")
    (run,) = runs(app, *layer(10, "one", 0, "x"), *layer(20, "two", 1, None)[1:])
    assert len(run["llm_calls"]) == 4  # at other times it is other work


def test_a_server_knows_its_tool_by_a_shorter_name():
    served = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "search"}
    inner = span(4, 3, "tools/call search", at=1.2, took=0.5, attributes=served)
    (run,) = runs(agent(1, "a", took=9), tool(3, 1, "github_search", call="c", at=1, result="x"), inner)
    assert calls(run) == [("github_search", "ok", None)]
    other = span(4, 3, "tools/call find", at=1.2, took=0.5, attributes=served | {"gen_ai.tool.name": "find"})
    (run,) = runs(agent(1, "a", took=9), tool(3, 1, "github_search", call="c", at=1, result="x"), other)
    assert len(run["tool_calls"]) == 2


def test_a_model_inside_a_tool_of_two_layers_is_no_agent():
    inner = tool(4, 3, "sum_up", at=1.2, took=2)
    (run,) = runs(
        agent(1, "a", took=9),
        tool(3, 1, "sum_up", call="c", at=1, took=3, result="x"),
        inner,
        chat(5, 4, "in short", at=1.5),
    )
    assert calls(run) == [("sum_up", "ok", None)]
    assert run["delegations"] == []


def test_an_attempt_that_failed_before_one_that_went_well_failed_nothing():
    first = tool(4, 3, "look", at=1.1, took=0.5, error="timeout")
    second = tool(5, 3, "look", at=2, took=0.5)
    around = agent(1, "a", took=9), tool(3, 1, "look", call="c", at=1, took=2, result="x")
    assert calls(runs(*around, first, second)[0]) == [("look", "ok", None)]
    assert calls(runs(*around, first)[0]) == [("look", "error", "hard")]


def test_tools_are_told_apart_in_every_script():
    asked = [("c1", "查询天气", {}), ("c2", "查询库存", {})]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, asked, at=1), tool(3, 1, "查询库存", at=3, result="x"))
    assert calls(run) == [("查询天气", "requested", None), ("查询库存", "ok", None)]


# --- what judges and guards say


def test_what_a_guard_is_asked_and_a_judge_answers_is_not_what_the_run_is():
    (run,) = runs(
        span(1, None, "workflow", gen_ai__operation__name="invoke_workflow", took=20),
        span(2, 1, "guard", gen_ai__operation__name="guardrail", at=0.1),
        chat(3, 2, "safe", "Is this safe? hello", at=0.2, took=0.5),
        agent(4, "a", parent=1, at=2, took=5),
        chat(5, 4, "hi there", "hello", at=3),
        span(6, 1, "judge", gen_ai__operation__name="evaluate", at=8),
        chat(7, 6, "0.9", "How polite is this?", at=8.2, took=0.5),
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("hello", "hi there", 3)


@pytest.mark.parametrize(
    "said", ["Agent stopped due to max iterations.", "Sorry, need more steps to process this request."]
)
def test_an_answer_by_which_a_framework_stops_is_the_step_limit(said):
    asked = [{"role": "user", "parts": [{"type": "text", "content": "go on"}]}]
    (run,) = runs(agent(1, "a", took=5, gen_ai__input__messages=asked), chat(2, 1, said, "go on"))
    assert run["boundaries"] == ["max_steps"]


@pytest.mark.parametrize("at", [-17e8, 16e9])
@pytest.mark.parametrize("inner", [-17e8, 16e9])
def test_a_clock_that_is_centuries_off_is_mended_within_the_calendar(at, inner):
    called = [agent(2, "b", 1, at=at, took=0), chat(3, 2, "done", at=inner)]
    frame = reconstruct(
        *from_requests([request([agent(1, "a", took=9)]), request(called, "other")], [], 1), now_ns=LATER
    )
    assert frame["start_unix_nano"].to_list() == [T0]
    assert frame["end_unix_nano"].max() <= LATEST_NS


@pytest.mark.parametrize(("told", "tokens"), [(12, 12), (0, None), (-1, None), (2**62, None), ("many", None)])
def test_tokens_that_no_model_counts_are_not_told(told, tokens):
    (run,) = runs(span(1, None, "chat m", gen_ai__operation__name="chat", gen_ai__usage__input_tokens=told))
    assert run["llm_calls"][0]["input_tokens"] == tokens


def test_a_tool_that_nobody_asked_for_stands_after_the_turn_that_it_followed():
    first = chat(2, 1, [("c", "search", {})], at=1)
    (run,) = runs(
        agent(1, "a", took=20),
        first,
        tool(3, 1, "search", "c", "x", at=3),
        tool(4, 1, "save", at=5),
        chat(5, 1, "done", at=7),
    )
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("search", 0), ("save", None)]
    assert run["path"] == [["a/search"], ["a/save"]]


# --- sampling


@pytest.mark.parametrize(
    "attributes, sampled, weight",
    [
        ({}, None, 1.0),
        ({"SampleRate": 1}, None, 1.0),
        ({"SampleRate": 4}, "known", 4.0),
        ({"SampleRate": 0.25}, "unknown", 1.0),
        ({"SampleRate": float("inf")}, "unknown", 1.0),
        ({"sampling.priority": 1}, "unknown", 1.0),
        ({"sampling.priority": 2}, "unknown", 1.0),  # a priority tells that somebody chose, and no rate
        ({"sampling.priority": 1, "SampleRate": 4}, "known", 4.0),
    ],
)
def test_what_a_sampled_run_stands_for(attributes, sampled, weight):
    spans = agent(1, "a", attributes=attributes), tool(2, 1, "t")
    found = reconstruct(*from_requests([request(spans)], [], 1), Config(), LATER)
    assert found.select("sampled", "weight").rows() == [(sampled, weight)]
