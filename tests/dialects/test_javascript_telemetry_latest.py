"""What instrumentations of the newest kits for JavaScript leave out of an answer, and where else it is told."""

import json

from tests.runs.requests import runs, span

_SCOPE = "@traceloop/instrumentation-langchain"


def _calls(*asked):
    return [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for id, name, given in asked
    ]


def _step(id, at, took, text, *asked, used=(9, 2)):
    """A step of LangChain 1.5 for JavaScript under Traceloop 0.27, and the model call that it made, beside it below the
    span of the program's."""
    tokens = {"promptTokens": used[0], "completionTokens": used[1], "totalTokens": sum(used)}
    kwargs = {"content": text, "additional_kwargs": {"tool_calls": _calls(*asked)}}
    kwargs |= {"response_metadata": {"tokenUsage": tokens}, "name": "planner", "type": "ai"}
    message = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"], "kwargs": kwargs}
    put = {"output": [{"lg_name": "Command", "update": {"messages": [message]}, "goto": []}]}
    frame = {"traceloop.span.kind": "workflow", "gen_ai.operation.name": "workflow"}
    frame |= {"traceloop.entity.output": json.dumps(put, separators=(",", ":"))}
    why = "tool_call" if asked else "stop"
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": [why]}
    told |= {"gen_ai.input.messages": [_said("user", "go")], "gen_ai.usage.input_tokens": used[0]}
    told |= {"gen_ai.output.messages": [_said("assistant", text) | {"finish_reason": why}]}
    told |= {"gen_ai.usage.output_tokens": used[1]}
    return [
        span(id, 1, "workflow RunnableSequence", 1, at, took, status=1, scope=_SCOPE, attributes=frame),
        span(id + 1, 1, "chat m", 1, at + 0.1, took - 0.2, status=1, scope=_SCOPE, attributes=told),
    ]


def _said(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _threw(id, at, given):
    thrown = [("exception", {"exception.type": "Error", "exception.message": "hotel is full"})]
    told = {"gen_ai.operation.name": "execute_tool", "traceloop.span.kind": "task"}
    told |= {"traceloop.entity.name": "DynamicStructuredTool", "traceloop.entity.input": {"args": [json.dumps(given)]}}
    more = {"error": "hotel is full", "events": thrown, "scope": _SCOPE, "attributes": told}
    return span(id, 1, "execute_tool DynamicStructuredTool", 1, at, 0.1, **more)


_ROOT = span(1, None, "POST /chat", took=9, scope="app")


def _told(run):
    return [(c["name"], c["status"], c["arguments"], c["call_id"], c["turn"]) for c in run["tool_calls"]]


def test_what_an_answer_leaves_out_of_what_it_asks_for_stands_in_the_step_beside_it():
    """So a tool that threw has the name that was asked for, and one that nobody ran is told at all."""
    booked, looked = {"city": "Bonn"}, {"city": "Oslo"}
    (run,) = runs(
        _ROOT,
        *_step(2, 1, 1, "Both.", ("call_Bx7aaQ", "book", booked), ("call_Lx7bbQ", "look", looked)),
        _threw(4, 3, booked),
        _threw(5, 3.2, booked),
        *_step(6, 4, 1, "Done."),
    )
    first, second = _told(run)
    assert first == ("book", "error", booked, "call_Bx7aaQ", 0)
    assert (second[0], second[2:]) == ("look", (looked, "call_Lx7bbQ", 0))
    assert second[1] in ("requested", "unknown")


def test_of_steps_at_one_time_the_one_that_counts_the_same_tokens_tells_of_a_call():
    one, two = {"city": "Bonn"}, {"city": "Oslo"}
    (run,) = runs(
        _ROOT,
        *_step(2, 1, 1, "", ("call_Bx7aaQ", "book", one), used=(11, 3)),
        *_step(4, 0.95, 1.3, "", ("call_Lx7bbQ", "look", two), used=(12, 4)),
    )
    assert sorted((t[0], t[3], t[4]) for t in _told(run)) == [("book", "call_Bx7aaQ", 1), ("look", "call_Lx7bbQ", 0)]
