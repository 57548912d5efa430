"""What the newest kits for JavaScript tell of tools that wait, that somebody else runs, or that nobody has, of what was
called off, and of attempts made again."""

import json
from functools import partial

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.dialects.test_unrecorded_kits import called_with, of_kind
from tests.runs.requests import agent, chat, span, tool

pytestmark = pytest.mark.full

_jsons = partial(json.dumps, separators=(",", ":"))  # as JavaScript writes it
_SEVEN = {"scope": "gen_ai"}


def _loop(took=9, finish=None, usage=10, **more):
    """The AI SDK 7 by its own exporter; what is called off neither says why it ended nor what it used."""
    told = {"gen_ai.response.finish_reasons": [finish]} if finish else {}
    told |= {"gen_ai.usage.input_tokens": usage} if finish and usage else {}
    return agent(1, "planner", took=took, attributes=told | more.pop("attributes", {}), **more, **_SEVEN)


def _asked(id, parent, at, answer, asked="go", finish=None, **more):
    finish = finish or ("stop" if isinstance(answer, str) else "tool-calls")
    told = {"gen_ai.response.finish_reasons": [finish], "gen_ai.response.model": "m"}
    return chat(id, parent, answer, asked, at=at, attributes=told, **more, **_SEVEN)


def _ran(id, parent, at, name, call, result=None, kind="function", done=True, **more):
    told = {"gen_ai.tool.type": kind, "gen_ai.tool.call.arguments": "{}"}
    told |= {"gen_ai.execute_tool.duration": "0.5"} if done and kind == "function" else {}
    return tool(id, parent, name, call, result, at=at, attributes=told, **more, **_SEVEN)


def test_the_ai_sdk_7_puts_the_type_of_the_error_before_what_it_says_of_a_tool_that_nobody_has():
    said = "AI_NoSuchToolError: Model tried to call unavailable tool 'ghost'. Available tools: look."
    parts = [{"type": "tool_call", "id": "c1", "name": "ghost", "arguments": {}}]
    back = [{"type": "tool_call_response", "id": "c1", "response": said}]
    history = [{"role": "assistant", "parts": parts}, {"role": "tool", "parts": back}]
    (run,) = agreed(
        _loop(finish="stop"), _asked(2, 1, 1, [("c1", "ghost", {})]), _asked(3, 1, 3, "no such", asked=history)
    )
    assert called_with(run) == [("ghost", "planner", "requested", "c1")]
    assert "tool_failure" not in run["boundaries"]


@pytest.mark.parametrize("content", [True, False])
def test_a_tool_of_which_the_ai_sdk_7_does_not_say_how_long_it_took_may_have_been_stopped(content):
    asks = [("c1", "slow", {}), ("c2", "look", {})] if content else None
    (run,) = agreed(
        _loop(),
        _asked(2, 1, 1, asks, finish="tool-calls"),
        _ran(3, 1, 3, "slow", "c1", done=False, took=5),
        _ran(4, 1, 3, "look", "c2", "cold" if content else None),
    )
    assert {c["name"]: c["status"] for c in run["tool_calls"]} == {"look": "ok", "slow": "unknown"}
    assert run["status"] == "unknown"
    assert {"error", "max_steps"} <= set(run["boundaries_unknown"])


@pytest.mark.parametrize(
    ("told", "status"), [({"error": ""}, "error"), ({}, "unknown"), ({"result": '{"found":1}'}, "ok")]
)
def test_a_tool_within_a_models_span_was_run_by_the_provider_and_left_nothing_to_do(told, status):
    """One of which nothing comes back waits for leave, perhaps (MCP servers that OpenAI calls)."""
    out = _asked(2, 1, 1, "no luck", took=2)["attributes"]["gen_ai.output.messages"]
    out[0]["parts"].append({"type": "tool_call", "id": "c1", "name": "search", "arguments": {}})
    frame = {"gen_ai.output.messages": out}
    asker = _asked(2, 1, 1, "no luck", took=2)
    asker["attributes"]["gen_ai.output.messages"] = out
    (run,) = agreed(
        _loop(finish="stop", attributes=frame),
        asker,
        _ran(3, 2, 2, "search", "c1", told.pop("result", None), "extension", **told),
    )
    assert called_with(run) == [("search", "planner", status, "c1")]
    assert (run["status"], run["output"]) == ("ok", "no luck")
    assert not {"error", "max_steps"} & {*run["boundaries"], *run["boundaries_unknown"]}


def _old(id, parent, name, at=0, took=1, kind=None, **told):
    """The AI SDK by `experimental_telemetry`, under OpenInference's processor where it has a kind."""
    renamed = f"{name} planner" if kind else name
    told = {f"ai.{key}".replace("__", "."): value for key, value in told.items()}
    told |= {"ai.operationId": name, "ai.telemetry.functionId": "planner"} | (of_kind(kind) if kind else {})
    more = {key.removeprefix("ai."): told.pop(key) for key in ("ai.error", "ai.events", "ai.status") if key in told}
    return span(id, parent, renamed, at=at, took=took, scope="ai", attributes=told, **more)


_ASKS = {"response__toolCalls": _jsons([{"toolCallId": "c1", "toolName": "look", "input": "{}"}])}
_USED = {"usage__inputTokens": 5, "usage__outputTokens": 2}


@pytest.mark.parametrize("kind", [None, "AGENT"])
@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"response__finishReason": "tool-calls"} | _USED, "ok"),
        ({"response__finishReason": "other"} | _USED, "unknown"),  # read on where the call that was cut is not told
        ({"response__finishReason": "tool-calls"}, "unknown"),  # a call after that failed, of which nothing comes
        ({}, "unknown"),
    ],
)
def test_a_loop_of_the_ai_sdk_that_does_not_say_how_it_ended_was_called_off(kind, told, status):
    step = _ASKS | _USED | {"response__finishReason": "tool-calls", "prompt__messages": _jsons([])}
    model, tools = ("LLM", "TOOL") if kind else (None, None)
    done = {"status": 1} if kind else {}
    (run,) = agreed(
        _old(1, None, "ai.streamText", took=9, kind=kind, prompt=_jsons({"prompt": "go"}), **told, **done),
        _old(2, 1, "ai.streamText.doStream", at=1, kind=model, **step, **done),
        _old(3, 1, "ai.toolCall", 3, 1, tools, toolCall__id="c1", toolCall__name="look", toolCall__result="1", **done),
    )
    assert run["status"] == status
    assert ("error" in run["boundaries_unknown"]) == (status == "unknown")
    assert [c["status"] for c in run["tool_calls"]] == ["ok"]


@pytest.mark.parametrize(("last", "limit"), [("look", True), ("book", False)])
def test_a_loop_that_ended_after_a_tool_that_was_not_asked_for_before_may_have_ended_by_it(last, limit):
    """`stopWhen: hasToolCall("book")`, or a limit of steps."""
    (run,) = agreed(
        _loop(finish="tool-calls"),
        _asked(2, 1, 1, [("c1", "look", {"at": 1})]),
        _ran(3, 1, 2, "look", "c1", "cold"),
        _asked(4, 1, 3, [("c2", last, {"at": 2})]),
        _ran(5, 1, 4, last, "c2", "done"),
    )
    assert ("max_steps" in run["boundaries"], "max_steps" in run["boundaries_unknown"]) == (limit, not limit)


def test_what_ran_after_a_program_repaired_a_call_is_what_the_tools_span_tells():
    wrong = _jsons([{"toolCallId": "c1", "toolName": "ghost", "input": '{"a":1}'}])
    told = {
        "toolCall__id": "c1",
        "toolCall__name": "look",
        "toolCall__args": '{"at":"x"}',
        "toolCall__result": '"cold"',
    }
    (run,) = agreed(
        _old(1, None, "ai.generateText", took=9, response__text="cold", response__finishReason="stop"),
        _old(2, 1, "ai.generateText.doGenerate", at=1, response__toolCalls=wrong, response__finishReason="tool-calls"),
        _old(3, 1, "ai.toolCall", at=3, **told),
        _old(4, 1, "ai.generateText.doGenerate", at=5, response__text="cold", response__finishReason="stop"),
    )
    assert [(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]] == [("look", {"at": "x"}, "ok")]


def test_the_error_of_an_attempt_that_was_made_again_is_not_the_runs():
    thrown = {"exception.type": "AI_APICallError", "exception.message": "boom"}
    answer = {"response__text": "hello", "response__finishReason": "stop", "error": "boom"} | _USED
    (run,) = agreed(
        _old(1, None, "ai.generateText", 0, 9, "AGENT", **answer),
        _old(2, 1, "ai.generateText.doGenerate", 1, 1, "LLM", error="boom", events=[("exception", thrown)]),
        _old(3, 1, "ai.generateText.doGenerate", 3, 1, "LLM", **answer),
    )
    assert (run["status"], run["output"]) == ("ok", "hello")
    assert [c["status"] for c in run["llm_calls"]] == ["error", "ok"]


@pytest.mark.parametrize("key", ["response__object", "response__text"])
def test_the_object_that_the_ai_sdk_was_answered_is_the_answer_under_openinference_too(key):
    told = {key: '{"answer":"cold"}', "response__finishReason": "stop"}
    put_out = {"output.value": '{"answer":"cold"}', "output.mime_type": "application/json"}
    loop = _old(1, None, "ai.generateObject", took=9, kind="AGENT", **told)
    call = _old(2, 1, "ai.generateObject.doGenerate", at=1, kind="LLM", prompt__messages=_jsons([]), **told)
    loop["attributes"] |= put_out
    call["attributes"] |= put_out
    (run,) = agreed(loop, call)
    assert run["output"] == '{"answer":"cold"}'


def _wrapped(id, parent, kind, at, took, name, **told):
    """LangSmith's wrapper of the AI SDK by OpenTelemetry; what calls within a stream tell stands on the span around."""
    keys = {"asked": "gen_ai.prompt", "came": "gen_ai.completion"}
    told = {keys.get(key, key): value if isinstance(value, str) else _jsons(value) for key, value in told.items()}
    told |= {"langsmith.span.kind": kind, "langsmith.metadata.ls_integration": "vercel-ai-sdk"}
    told |= {"langsmith.trace.name": name, "gen_ai.operation.name": "execute_tool" if kind == "tool" else kind}
    events = told.pop("events", "[]")
    return span(
        id, parent, name, at=at, took=took, scope="langsmith", status=1, attributes=told, events=json.loads(events)
    )


def _generated(*calls, text="", finish="tool-calls"):
    content = [{"type": "tool-call", "toolCallId": i, "toolName": n, "input": _jsons(a)} for i, n, a in calls]
    content += [{"type": "text", "text": text}] if text else []
    return {"content": content, "finishReason": {"unified": finish, "raw": finish}}


def _given(call, arguments):
    return {"args": [arguments, {"toolCallId": call, "messages": [{"role": "user", "content": "go"}]}]}


_GO = {"messages": [{"role": "user", "content": [{"type": "text", "text": "go"}]}]}


def test_langsmiths_wrapper_of_the_ai_sdk_tells_whose_call_a_tool_ran_and_why_answers_ended():
    """The model's call was repaired before it ran; another was asked for in an earlier run, and ran when it may."""
    (run,) = agreed(
        _wrapped(1, None, "chain", 0, 12, "ai.generateText"),
        _wrapped(2, 1, "tool", 0.5, 0.2, "nod", asked=_given("c0", {"at": "y"}), came={"outputs": "nodded"}),
        _wrapped(3, 1, "llm", 1, 1, "openai.chat", asked=_GO, came=_generated(("c1", "ghost", {"a": 1}))),
        _wrapped(4, 1, "tool", 3, 1, "look", asked=_given("c1", {"at": "x"}), came={"outputs": "cold"}),
        _wrapped(5, 1, "llm", 5, 1, "openai.chat", asked=_GO, came=_generated(text="cold", finish="length")),
    )
    assert [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("nod", {"at": "y"}, "ok", "nodded"),
        ("look", {"at": "x"}, "ok", "cold"),
    ]
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["tool-calls", "length"]
    assert run["boundaries"] == ["length"]


def test_what_came_bit_by_bit_is_told_by_the_model_that_saw_the_last_of_it():
    """A tool that yields writes itself over the run's span, too, under LangSmith's wrapper."""
    asked = _given("c1", {"at": "x"})
    back = {"type": "tool-result", "toolCallId": "c1", "toolName": "drip", "output": {"type": "text", "value": "two"}}
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "drip", "input": {"at": "x"}}
    shown = {
        "messages": [
            *_GO["messages"],
            {"role": "assistant", "content": [call]},
            {"role": "tool", "content": [back]},
        ]
    }
    frame = _wrapped(1, None, "tool", 0, 9, "drip", asked=asked, came={"outputs": ["one", "two"]})
    (run,) = agreed(
        frame | {"name": "openai.chat"},
        _wrapped(2, 1, "llm", 1, 1, "openai.chat", asked=_GO, came=_generated(("c1", "drip", {"at": "x"}))),
        _wrapped(3, 1, "llm", 5, 1, "openai.chat", asked=shown, came=_generated(text="done", finish="stop")),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("drip", "ok", "two")]


def test_a_tool_that_failed_in_a_stream_of_which_the_first_answer_alone_is_told_did_not_end_it():
    asked = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "boom", "arguments": "{}"}}]}
    answer = {"role": "assistant", "content": "", **asked, "finishReason": {"unified": "tool-calls"}}
    thrown = [["exception", {"exception.type": "Error", "exception.message": "no rooms"}]]
    (run,) = agreed(
        _wrapped(1, None, "llm", 0, 9, "openai.chat", asked=_GO, came=answer),
        _wrapped(2, 1, "tool", 3, 1, "boom", asked=_given("c1", {}), events=thrown),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("boom", "error")]
    assert (run["status"], "error" in run["boundaries"]) == ("unknown", False)


@pytest.mark.parametrize(
    ("kind", "status"), [("provider", "unknown"), ("provider-defined", "unknown"), (None, "requested")]
)
def test_a_tool_that_was_offered_as_the_providers_may_have_run_without_a_span(kind, status):
    tools = [_jsons({"type": kind or "function", "name": "search", "id": "openai.search"})]
    calls = [{"toolCallId": i, "toolName": n, "input": "{}"} for i, n in (("c1", "search"), ("c2", "look"))]
    told = {"response__toolCalls": _jsons(calls), "prompt__tools": tools, "response__finishReason": "tool-calls"}
    (run,) = agreed(
        _old(1, None, "ai.generateText", took=9, response__finishReason="tool-calls", **_USED),
        _old(2, 1, "ai.generateText.doGenerate", at=1, **told),
        _old(3, 1, "ai.toolCall", at=3, toolCall__id="c2", toolCall__name="look", toolCall__result='"cold"'),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("search", status), ("look", "ok")]


def test_a_tool_in_a_loop_that_was_called_off_may_have_been_stopped():
    """The AI SDK 7 by its old exporter: nothing is said of what was under way."""
    asked = _jsons([{"role": "user", "content": "go"}])
    (run,) = agreed(
        _old(1, None, "ai.streamText", took=9, prompt=_jsons({"prompt": "go"})),
        _old(2, 1, "ai.streamText.doStream", at=1, took=7, prompt__messages=asked),
        _old(3, 2, "ai.toolCall", at=3, took=6, toolCall__id="c1", toolCall__name="slow", toolCall__args="{}"),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("slow", "unknown")]
    assert run["status"] == "unknown"
