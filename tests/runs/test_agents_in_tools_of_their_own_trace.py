"""Agents that a tool ran where each call has a trace of its own, and no model tells what it asked for."""

import json

from tests.runs.requests import agent, chat, runs, span

_SCOPE = "@traceloop/instrumentation-langchain"


def _said(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _call(id, at, asked, answer, finish="stop", **more):
    """Traceloop 0.27 of LangChain for JavaScript: an answer's text alone."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(asked)}
    if answer is not None:
        told |= {"gen_ai.request.model": "m", "gen_ai.response.finish_reasons": json.dumps([finish])}
        told["gen_ai.output.messages"] = json.dumps([_said("assistant", answer) | {"finish_reason": finish}])
    return span(id, None, "chat m", trace=id, at=at, scope=_SCOPE, attributes=told, **more)


def _tool(id, at, took, given, back=None, **more):
    told = {"gen_ai.operation.name": "execute_tool", "traceloop.span.kind": "task"}
    told |= {
        "traceloop.entity.name": "DynamicStructuredTool",
        "traceloop.entity.input": json.dumps({"args": [json.dumps(given)]}),
    }
    if back is not None:
        name, call, text = back
        message = {"status": "success", "content": text, "tool_call_id": call, "name": name}
        kind = ["langchain_core", "messages", "ToolMessage"]
        told["traceloop.entity.output"] = json.dumps({"lc": 1, "type": "constructor", "id": kind, "kwargs": message})
    name = "execute_tool DynamicStructuredTool"
    return span(id, None, name, trace=id, at=at, took=took, scope=_SCOPE, attributes=told, **more)


def test_who_is_told_more_than_the_tool_was_given_works_for_it_by_what_it_answers_or_fails_with():
    thrown = [("exception", {"exception.type": "Error", "exception.message": "500 no"})]
    well, badly = [_said("user", "look it up")], [_said("user", "look elsewhere")]
    inner = [_said("system", "You research."), _said("user", "Deeply: Oslo")]
    found = runs(
        _call(1, 0, well, "", "tool_call"),
        _tool(2, 2, 5, {"topic": "Oslo"}, ("research", "call_a1", "It is 21.")),
        _call(3, 3, inner, "It is 21."),
        _call(4, 8, [*well, _said("assistant", ""), _said("tool", "It is 21.")], "It is warm."),
        _call(11, 20, badly, "", "tool_call"),
        _tool(12, 22, 5, {"topic": "Oslo"}, error="500 no", events=thrown),
        _call(13, 23, inner, None, error="500 no", events=thrown),
        _call(14, 28, [*badly, _said("assistant", ""), _said("tool", "Error: 500 no\n")], "It failed."),
    )
    assert [(run["input"], [c["status"] for c in run["llm_calls"]]) for run in found] == [
        ("look it up", ["ok", "ok", "ok"]),
        ("look elsewhere", ["ok", "error", "ok"]),
    ]


def test_whom_a_call_had_asked_that_is_lost_the_next_tells_by_words_and_answer():
    """Programs of which nothing but a client is told (CAMEL's): the history names both, and when that was."""

    def call(id, at, answer, *asked, took=1):
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        said = [_said("assistant", answer) | {"finish_reason": "stop"}]
        told |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(said)}
        return span(id, None, "chat m", trace=id, at=at, took=took, scope="app", attributes=told)

    def asks(*tasks):
        given = [("tool_call", {"name": "ask_writer", "arguments": {"task": task}}) for task in tasks]
        parts = [{"type": kind, "id": f"c{at}", **told} for at, (kind, told) in enumerate(given)]
        return {"role": "assistant", "parts": parts}

    def gave(at, text):
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{at}", "response": text}]}

    poem, song = _said("user", "A poem."), _said("user", "A song.")
    then = [_said("user", "Both, please."), asks("A poem.", "A song."), gave(0, "Roses."), gave(1, "La la.")]
    found = runs(
        call(1, 2, "Roses.", poem),
        call(2, 4, "La la.", poem, _said("assistant", "Roses."), song),
        call(3, 8, "Here they are.", *then),
    )
    assert [(len(r["llm_calls"]), r["output"]) for r in found] == [(3, "Here they are.")]
    other = call(1, 2, "Violets.", poem)
    assert len(runs(other, call(3, 8, "Here they are.", *then))) == 2


def test_of_two_runs_of_the_same_words_at_once_each_has_its_own_agent():
    """Which of the two is whose, nobody could tell, nor need to."""
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask_clerk"}
    told |= {"gen_ai.tool.call.arguments": json.dumps({"task": "look it up"}), "gen_ai.tool.call.result": "It is 21."}

    def run(trace, at):
        first, inner = 10 * trace, 10 * trace + 5
        return [
            agent(first, "chief", trace=trace, at=at, took=9),
            chat(first + 1, first, [(f"call_{trace}", "ask_clerk", {"task": "look it up"})], "go", trace=trace, at=at),
            span(first + 2, first, "execute_tool ask_clerk", trace=trace, at=at + 2, took=5, attributes=told),
            chat(first + 3, first, "Warm.", "go", trace=trace, at=at + 8),
            agent(inner, "clerk", trace=trace + 2, at=at + 3, took=3),
            chat(inner + 1, inner, "It is 21.", "look it up", trace=trace + 2, at=at + 4),
        ]

    found = runs(*run(1, 0), *run(2, 0.0004))
    assert [(len(r["trace_ids"]), len(r["llm_calls"]), r["delegations"][0]["to"]) for r in found] == [
        (2, 3, "clerk")
    ] * 2
