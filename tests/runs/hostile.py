"""Traces that no sane program sends: `python -m tests.runs.hostile SHAPE,… SPANS` tells runs and tool calls of each."""

import json
import sys

from tests.runs.requests import SECOND, T0, agent, chat, runs, span, tool


def self_parent(n):
    return [agent(1, "a", parent=1), chat(2, 2, "hi"), tool(3, 1, "t")]


def cycle(n):
    return [agent(1, "a", parent=3), chat(2, 1, "hi"), tool(3, 2, "t"), tool(4, 3, "u")]


def chain(n):
    steps = (span(i, i - 1, "step", at=i * 1e-6) for i in range(2, n))
    return [agent(1, "a"), *steps, tool(n, n - 1, "t")]


def agents_in_agents(n):
    return [agent(1, "a0"), *(agent(i, f"a{i}", parent=i - 1, at=i * 1e-6) for i in range(2, n)), chat(n, n - 1, "hi")]


def siblings(n):
    return [agent(1, "a"), *(tool(i, 1, "t", call=f"c{i}", at=i * 1e-3, took=1e-4) for i in range(2, n + 2))]


def many_turns(n):
    spans = [agent(1, "a")]
    for i in range(2, n, 2):
        spans.append(chat(i, 1, [(f"c{i}", "t", {"n": i})], at=i * 1e-3, took=1e-4))
        spans.append(tool(i + 1, 1, "t", call=f"c{i}", at=i * 1e-3 + 2e-4, took=1e-4))
    return spans


def one_id(n):
    return [tool(7, 7, "t", at=i) for i in range(100)]


def no_times(n):
    never = -T0 / SECOND
    return [agent(1, "a", at=never, took=0), tool(2, 1, "t", at=never, took=0)]


def tools_of_tools(n):
    return [agent(1, "a"), *(tool(i, i - 1, "t", at=i * 1e-6) for i in range(2, 2002))]


def many_traces_one_conversation(n):
    told = {"gen_ai.conversation.id": "c"}
    return [chat(i, None, "hi", trace=i, at=i, attributes=told) for i in range(1, n)]


def a_model_in_tools_of_tools(n):
    return [*(tool(i, i - 1 or None, "t", at=i * 1e-6) for i in range(1, n)), chat(n, n - 1, "hi", at=n * 1e-6, took=0)]


def a_model_in_graphs_of_graphs(n):
    told = {"gen_ai.output.messages": [{"role": "assistant", "name": "x", "content": "g9"}]}
    graphs = (
        span(i, i - 1 or None, f"g{i}", at=i * 1e-6, traceloop__span__kind="task", attributes=told) for i in range(1, n)
    )
    return [*graphs, chat(n, n - 1, "hi", at=n * 1e-6, took=1e-6)]


def a_long_history(n):
    """Each call is told all that came before the run."""
    history = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    for i in range(n):
        call = {"type": "tool_call", "id": f"old{i}", "name": "t", "arguments": {"n": i}}
        history.append({"role": "assistant", "parts": [call]})
        history.append({"role": "tool", "parts": [{"type": "tool_call_response", "id": f"old{i}", "response": "fine"}]})
    spans = [agent(1, "a")]
    for i in range(2, 42, 2):
        spans.append(chat(i, 1, [(f"c{i}", "t", {"n": i})], history, at=i * 1e-3, took=1e-4))
        spans.append(tool(i + 1, 1, "t", call=f"c{i}", at=i * 1e-3 + 2e-4, took=1e-4))
    return spans


def calls_without_duration(n):
    calls = (chat(i, 1, None, "hi", at=i * 1e-3, took=0) for i in range(2, n + 2))
    return [agent(1, "a"), *calls, tool(n + 2, 1, "t")]


def ids_made_up_anew(n):
    """Each answer numbers its calls from 0, and each call is a trace of its own."""
    spans = []
    for i in range(1, n, 2):
        asked = [{"role": "user", "parts": [{"type": "text", "content": f"question {i}"}]}]
        call = {"type": "tool_call", "id": "call_0", "name": "t", "arguments": {"n": i}}
        told = {"type": "tool_call_response", "id": "call_0", "response": "fine"}
        after = [*asked, {"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [told]}]
        spans.append(chat(i, None, [("call_0", "t", {"n": i})], asked, trace=i, at=i * 1e-3, took=5e-4))
        spans.append(chat(i + 1, None, "done", after, trace=i + 1, at=(i + 1) * 1e-3, took=5e-4))
    return spans


if __name__ == "__main__":
    for shape in sys.argv[1].split(","):
        found = runs(*globals()[shape](int(sys.argv[2])))
        print(json.dumps([len(found), sum(len(run["tool_calls"] or []) for run in found)]))
