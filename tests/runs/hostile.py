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


if __name__ == "__main__":
    for shape in sys.argv[1].split(","):
        found = runs(*globals()[shape](int(sys.argv[2])))
        print(json.dumps([len(found), sum(len(run["tool_calls"] or []) for run in found)]))
