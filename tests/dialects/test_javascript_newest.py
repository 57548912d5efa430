"""What the newest kits for JavaScript and coding agents sent in a scripted run of each, in small."""

import json
from functools import partial

import pytest

from tests.dialects.test_unrecorded_kits import called_with, of_kind, words
from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

pytestmark = pytest.mark.full

_jsons = partial(json.dumps, separators=(",", ":"))  # as JavaScript writes it
_CHAIN = "@traceloop/instrumentation-langchain"
_CLIENT = "@traceloop/instrumentation-openai"


def agreed(*spans):
    """The runs of these spans, which the shortcut for regular traces and the general way tell alike."""
    found = frames([("traces", request(spans))])
    assert with_shortcut(*found)[0].equals(without(*found))
    return runs(*spans)


def _asked(*calls):
    parts = [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls]
    return {"role": "assistant", "parts": parts}


def _brought(id, text):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": text}]}


def _told_twice(trace, at, history, answer, response):
    """A model's call by LangChain's instrumentation, which leaves out calls and ids, and by the client's below it."""
    flat = [words(x["role"], x["parts"][0].get("content") or x["parts"][0].get("response") or "") for x in history]
    said = {"gen_ai.output.messages": [words("assistant", answer if isinstance(answer, str) else "")]}
    own = {"gen_ai.request.model": "m", "gen_ai.response.model": "m"} | said
    yield chat(trace, None, None, flat, trace=trace, at=at, took=2, scope=_CHAIN, attributes=own)
    own = {"gen_ai.request.model": "m", "gen_ai.response.model": "m-2024-08-06", "gen_ai.response.id": response}
    yield chat(trace + 1, None, answer, history, trace=trace + 1, at=at + 0.1, took=1.8, scope=_CLIENT, attributes=own)


def ran(trace, at, given, id=None, name=None, back=None):
    """A tool by LangChain's instrumentation: it has the name of its class, and its own from what it gave."""
    told = {"gen_ai.operation.name": "execute_tool", "traceloop.entity.input": _jsons({"args": [_jsons(given)]})}
    events = () if back is not None else [("exception", {"exception.type": "Error", "exception.message": "no rooms"})]
    if back is not None:
        kwargs = {"status": "success", "content": back, "tool_call_id": id, "name": name}
        told["traceloop.entity.output"] = _jsons({"lc": 1, "id": ["langchain_core", "ToolMessage"], "kwargs": kwargs})
    error = None if back is not None else "no rooms"
    name = "execute_tool DynamicStructuredTool"
    return span(trace, None, name, trace=trace, at=at, scope=_CHAIN, attributes=told, events=events, error=error)


def test_langchain_js_and_its_client_in_traces_of_their_own_are_one_run_whatever_each_leaves_out():
    """Traceloop 0.27 of LangChain.js 1.5 and of OpenAI's client, without a workflow around them."""
    go = words("user", "go")
    first = [_asked(("c1", "look", {"at": "x"})), _brought("c1", "cold")]
    second = [_asked(("c2", "book", {"nights": 2})), _brought("c2", "Error: no rooms")]
    (run,) = agreed(
        *_told_twice(1, 0, [go], [("c1", "look", {"at": "x"})], "r1"),
        ran(3, 3, {"at": "x"}, "c1", "look", "cold"),
        *_told_twice(4, 5, [go, *first], [("c2", "book", {"nights": 2})], "r2"),
        ran(6, 8, {"nights": 2}),
        *_told_twice(7, 10, [go, *first, *second], "no room", "r3"),
    )
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("look", "ok", 0), ("book", "error", 1)]
    assert all("span" in c["evidence"] for c in run["tool_calls"])
    assert [c["response_model"] for c in run["llm_calls"]] == ["m-2024-08-06"] * 3
    assert (run["input"], run["output"], len(run["trace_ids"])) == ("go", "no room", 8)


def test_a_supervisor_goes_on_after_a_call_back_that_no_model_asked_for():
    """LangGraph's supervisor for JavaScript writes `transfer_back_to_planner` into history by itself."""
    go, over = words("user", "go"), [_asked(("t1", "transfer_to_worker", {})), _brought("t1", "transferred")]
    looked = [_asked(("c2", "look", {})), _brought("c2", "cold")]
    back = [words("assistant", "done"), _asked(("x9", "transfer_back_to_planner", {})), _brought("x9", "back")]

    def asks(number, answer, history):
        return chat(number, None, answer, history, trace=number, at=number * 3)

    (run,) = agreed(
        asks(1, [("t1", "transfer_to_worker", {})], [go]),
        asks(2, [("c2", "look", {})], [go, *over]),
        asks(3, "done", [go, *over, *looked]),
        asks(4, "all done", [go, *over, *back]),
    )
    assert (len(run["llm_calls"]), run["input"]) == (4, "go")
    one, two = runs(asks(1, "hello", [go]), asks(2, "more", [go, words("assistant", "hello"), words("user", "and?")]))
    assert (one["output"], two["output"]) == ("hello", "more")


def test_a_graph_that_langfuse_calls_an_error_failed_though_its_span_has_no_status():
    """Langfuse's handler for LangChain.js (5.11): level and message alone tell of it; tools stand in the input."""

    def seen(id, parent, kind, at, took, **told):
        told = {f"langfuse.observation.{k}": v for k, v in ({"type": kind} | told).items()}
        told["langfuse.observation.metadata.lc_agent_name"] = "planner"
        return span(id, parent, "planner", at=at, took=took, scope="langfuse-sdk", attributes=told)

    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    offered = {
        "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": {"name": "look"}}],
    }
    limit = {
        "level": "ERROR",
        "status_message": "GraphRecursionError: Recursion limit of 5 reached without hitting a stop",
    }
    asked = {"input": _jsons(offered), "output": _jsons({"role": "assistant", "content": "", "tool_calls": [call]})}

    def graph(told):
        (run,) = agreed(
            seen(1, None, "span", 0, 9, input=_jsons(offered["messages"]), **told),
            seen(2, 1, "generation", 1, 2, **asked),
        )
        return run

    run = graph(limit)
    assert (run["status"], run["boundaries"], run["known_tools"]) == ("error", ["max_steps"], ["look"])
    interrupted = graph(limit | {"status_message": "GraphInterrupt: [{}]"})
    assert (interrupted["status"], "error" in interrupted["boundaries"]) == ("ok", False)


@pytest.mark.parametrize(
    ("error", "type", "status"),
    [
        ("Tool execution was not approved.: {}", None, "requested"),  # OpenAI's Agents SDK for JavaScript
        ('Not now: {"error":"Tool execution for c1 was manually rejected by user."}', None, "requested"),
        ('Error: {"error":"ToolInputGuardrailTripwireTriggered: Tool input guardrail"}', None, "requested"),
        ("", "ToolInterruptError", "requested"),  # Genkit: a tool that waits for an answer
        ("Tool execution was cancelled", None, "error"),  # perhaps while it ran
        ("no rooms", "Error", "error"),
    ],
)
def test_a_tool_that_was_given_no_leave_or_waits_for_it_did_not_run(error, type, status):
    thrown = {"exception.message": error} | ({"exception.type": type} if type else {})
    (run,) = agreed(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "remove", {})], "go", at=1),
        tool(3, 1, "remove", "c1", at=3, error=error, events=[("exception", thrown)]),
        chat(4, 1, "not done", at=5),
    )
    assert called_with(run) == [("remove", "a", status, "c1")]
    assert ("tool_failure" in run["boundaries"]) == (status == "error")


def _mastra(id, parent, kind, at, took, operation=None, **told):
    told = {"mastra.span.type": kind, "gen_ai.operation.name": operation or kind} | told
    return span(id, parent, kind, at=at, took=took, status=1, scope="@mastra/otel-exporter", attributes=told)


def test_what_a_model_that_lasts_as_long_as_its_tools_asked_for_was_asked_before_they_ran():
    """Mastra 1.71: a model's inference ends after the tools that it asked for, which lie beside it in its step."""
    named = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 2}
    call = {"toolCallId": "c1", "toolName": "agent-worker", "args": {"prompt": "find"}}
    inner = {"toolCallId": "c2", "toolName": "look", "args": {}}
    (run,) = agreed(
        _mastra(1, None, "agent_run", 0, 30, "invoke_agent", **{"gen_ai.agent.name": "planner"}),
        _mastra(2, 1, "model_generation", 1, 28),
        _mastra(3, 2, "model_step", 2, 18, "agent_step", **{"mastra.model_step.output": _jsons({"toolCalls": [call]})}),
        _mastra(4, 3, "model_inference", 2, 18, "chat", **named),
        _mastra(
            5,
            3,
            "tool_call",
            4,
            14,
            "execute_tool",
            **{"gen_ai.tool.name": "agent-worker", "gen_ai.tool.call.id": "c1"},
        ),
        _mastra(6, 5, "agent_run", 5, 12, "invoke_agent", **{"gen_ai.agent.name": "worker"}),
        _mastra(7, 6, "model_step", 6, 6, "agent_step", **{"mastra.model_step.output": _jsons({"toolCalls": [inner]})}),
        _mastra(8, 7, "model_inference", 6, 6, "chat", **named),
        _mastra(9, 7, "tool_call", 8, 1, "execute_tool", **{"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c2"}),
        _mastra(10, 6, "model_step", 13, 3, "agent_step", **{"mastra.model_step.output": _jsons({"text": "found"})}),
        _mastra(11, 2, "mapping", 20, 0.1),
        _mastra(12, 2, "model_step", 21, 3, "agent_step", **{"mastra.model_step.output": _jsons({"text": "done"})}),
    )
    assert run["path"] == [["planner->worker"], ["worker/look"]]
    assert (run["agents"], run["output"]) == (["planner", "worker"], "done")


def test_mastra_for_arize_keeps_what_a_provider_answered_in_its_metadata_and_hides_that_it_did_not():
    """Mastra's exporter for Arize 1.3: usage and models stand in JSON inside JSON; a call that failed ended well."""
    body = {
        "id": "r",
        "model": "m-2024",
        "output": [{"text": '"model":"no"'}],
        "usage": {"input_tokens": 12, "output_tokens": 5},
    }
    known = {"modelMetadata": _jsons({"modelId": "m"})}

    def step(metadata, **out):
        told = {
            "mastra.span.type": "model_step",
            "metadata": _jsons(metadata),
            "input.value": _jsons([words("user", "go")]),
        }
        return span(2, 1, "model_step a", at=1, status=1, attributes=of_kind("LLM", **told, **out))

    top = {"mastra.span.type": "agent_run", "agent.name": "a", "input.value": "go"}
    (run,) = agreed(
        span(1, None, "invoke_agent a", took=9, status=1, attributes=of_kind("AGENT", **top)),
        step(known | {"body": _jsons(body)}, **{"output.value": _jsons({"text": "done", "toolCalls": []})}),
    )
    (call,) = run["llm_calls"]
    assert (call["request_model"], call["response_model"], call["input_tokens"], call["output_tokens"]) == (
        "m",
        "m-2024",
        12,
        5,
    )
    (run,) = agreed(
        span(1, None, "invoke_agent a", took=9, error="bad thing", attributes=of_kind("AGENT", **top)),
        step(known, **{"output.value": _jsons({"text": "", "toolCalls": []})}),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["unknown"]
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, ["error"])


@pytest.mark.parametrize(
    ("scope", "id", "answered"),
    [
        ("@traceloop/instrumentation-llamaindex", "r1", None),  # which writes the model that it asked in both places
        (_CHAIN, None, None),  # where LangChain does not tell who answered (0.27)
        (_CLIENT, "r1", "m"),
    ],
)
def test_the_model_that_traceloop_for_javascript_repeats_is_not_the_one_that_answered(scope, id, answered):
    told = {"gen_ai.request.model": "m", "gen_ai.response.model": "m"} | ({"gen_ai.response.id": id} if id else {})
    (run,) = agreed(agent(1, "a", took=9), chat(2, 1, "done", "go", at=1, scope=scope, attributes=told))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("m", answered)]


def test_an_empty_text_is_no_answer_where_nothing_else_tells_of_one():
    """Traceloop 0.27 of LlamaIndex for JavaScript: a stream that failed ended well, with no reason and no tokens."""
    said = [{"role": "assistant", "finish_reason": "", "parts": [{"type": "text", "content": ""}]}]
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m"}
    told |= {"gen_ai.input.messages": [words("user", "go")], "gen_ai.output.messages": said}
    scope = "@traceloop/instrumentation-llamaindex"
    (run,) = agreed(span(1, None, "chat m", kind=3, status=1, scope=scope, attributes=told))
    assert (run["status"], run["output"]) == ("unknown", None)
    assert [c["status"] for c in run["llm_calls"]] == ["unknown"]


def _bridged(ended, *steps):
    """An agent of Mastra's by its bridge (1.5), which tells why its loop ended, and of a step its texts."""
    known = {"mastra.metadata.modelMetadata": _jsons({"modelId": "m"})}
    failed = ended == "error"
    top = {"gen_ai.agent.name": "a", "mastra.agent_run.input": "go"}
    loop = {
        "gen_ai.response.finish_reasons": _jsons([ended]),
        "gen_ai.output.messages": _jsons([words("assistant", "")]),
    }
    yield _mastra(1, None, "agent_run", 0, 30, "invoke_agent", **top) | (
        {"status": None, "error": "bad"} if failed else {}
    )
    yield _mastra(2, 1, "model_generation", 1, 28, "chat", **loop)
    for number, told in enumerate(steps):
        told = {"mastra.model_step.input": _jsons([words("user", "go")]), "mastra.model_step.output": _jsons(told)}
        yield _mastra(3 + number, 2, "model_step", 2 + 4 * number, 3, **known | told)


def test_why_a_loop_ended_is_why_its_last_call_did():
    (run,) = agreed(*_bridged("error", {"text": "", "toolCalls": []}))
    assert [(c["request_model"], c["status"]) for c in run["llm_calls"]] == [("m", "error")]
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, ["error"])
    (run,) = agreed(*_bridged("length", {"text": "well", "toolCalls": []}))
    assert (run["boundaries"], [c["finish_reason"] for c in run["llm_calls"]]) == (["length"], ["length"])


def test_an_empty_answer_is_not_what_the_last_call_said_once_more():
    """At its limit of steps Mastra answers with the empty text beside the calls that it asked for last."""

    def asked(number):
        call = {"toolCallId": f"c{number}", "toolName": "look", "args": {"n": number}}
        back = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": f"c{number}", "gen_ai.tool.call.result": "cold"}
        ran = _mastra(10 + number, 3 + number, "tool_call", 4 + 4 * number, 0.5, "execute_tool", **back)
        return {"text": "", "toolCalls": [call]}, ran

    (first, one), (second, two) = asked(0), asked(1)
    (run,) = agreed(*_bridged("tool-calls", first, second), one, two)
    assert [(c["name"], c["turn"], c["status"]) for c in run["tool_calls"]] == [("look", 0, "ok"), ("look", 1, "ok")]
    assert (run["output"], run["boundaries"], len(run["llm_calls"])) == ("", ["max_steps"], 2)


def test_a_call_of_which_only_the_question_is_told_may_have_been_broken_off():
    """The AI SDK 7 ends the spans of a stream that its reader gave up, and says no more of it."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    told |= {"gen_ai.input.messages": [words("user", "go")]}
    (run,) = agreed(agent(1, "a", took=9), span(2, 1, "chat m", at=1, kind=3, scope="gen_ai", attributes=told))
    assert (run["status"], run["output"]) == ("unknown", None)
    assert [c["status"] for c in run["llm_calls"]] == ["unknown"]


def test_the_places_that_a_failure_came_through_are_no_reason_of_it():
    """OpenInference of LangChain.js 1.5 writes them into the message; a timer of the application's gave the call up."""
    said = (
        "This operation was aborted\n\nAbortError: This operation was aborted\n    at Timeout._onTimeout (run.mjs:28)"
    )
    thrown = {"error": "x", "events": [("exception", {"exception.message": said})]}
    (run,) = agreed(agent(1, "a", took=9, **thrown), chat(2, 1, None, "go", at=1, **thrown))
    assert (run["status"], run["boundaries"]) == ("unknown", [])


def test_what_came_back_for_an_answer_without_words_is_not_the_users():
    """Traceloop 0.27 of LlamaIndex for JavaScript leaves out calls and ids, each call in a trace of its own."""

    def asked(number, history, text, reason):
        said = [words("assistant", text) | {"finish_reason": reason}]
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": reason}
        told |= {"gen_ai.input.messages": history, "gen_ai.output.messages": said, "gen_ai.response.id": f"r{number}"}
        scope = "@traceloop/instrumentation-llamaindex"
        return span(number, None, "chat m", trace=number, at=3 * number, kind=3, status=1, scope=scope, attributes=told)

    go = [words("system", "You look."), words("user", "go")]
    back = [words("assistant", ""), words("user", "cold"), words("user", "42")]
    first, second = asked(1, go, "", "tool_call"), asked(2, [*go, *back], "well", "stop")
    (run,) = agreed(first, second)
    assert (run["input"], run["output"], run["status"], len(run["llm_calls"])) == ("go", "well", "ok", 2)
    assert (run["tool_calls"], "tool calls not visible" in run["incomplete"]) == (None, True)
    (run,) = agreed(first)
    assert (run["input"], run["output"], run["status"]) == ("go", None, "unknown")


def test_what_an_agent_was_asked_inside_the_call_that_asked_for_it_is_no_part_of_the_users_words():
    """ADK 2.0 for JavaScript: a model's span lasts as long as the tools that it asked for, an agent among them."""
    (run,) = agreed(
        agent(1, "boss", took=20),
        chat(2, 1, [("c1", "leaf", {"request": "look"})], "go", at=1, took=10),
        tool(3, 2, "leaf", "c1", "cold", at=3, took=7),
        agent(4, "leaf", 3, at=4, took=5),
        chat(5, 4, "cold", "look", at=5),
        chat(6, 1, "done", [words("user", "go"), _asked(("c1", "leaf", {})), _brought("c1", "cold")], at=13),
    )
    assert (run["input"], run["output"]) == ("go", "done")


_TAKES_OVER = "Agent worker is now handling the request due to the following reason: x."


@pytest.mark.parametrize(("brought", "found"), [(_TAKES_OVER, 1), ("Go", 2)])
def test_who_took_over_in_llamaindex_goes_on_with_the_run_under_orders_of_its_own(brought, found):
    def asked(trace, at, given, text, reason):
        said = [{"role": "assistant", "finish_reason": reason, "parts": [{"type": "text", "content": text}]}]
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.output.messages": json.dumps(said),
        }
        told |= {"gen_ai.input.messages": json.dumps(given), "gen_ai.response.finish_reasons": json.dumps([reason])}
        scope = "@traceloop/instrumentation-llamaindex"
        return span(trace, None, "chat m", trace=trace, at=at, status=1, scope=scope, attributes=told)

    user, mute = words("user", "go"), words("assistant", "")
    runs_ = agreed(
        asked(1, 0, [words("system", "you triage"), user], "", "tool_call"),
        asked(2, 2, [words("system", "you work"), user, mute, words("user", brought)], "done", "stop"),
    )
    assert len(runs_) == found
