"""Spans of which an SDK dropped attributes, as a low OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT makes it: Python's keeps the
newest, those of most other languages the oldest. What is left is told, and nothing that it only looks like."""

from __future__ import annotations

import json

import pytest

from tests.runs.requests import agent, chat, runs, span

OPENAI_AGENTS = {"scope": "openinference.instrumentation.openai_agents", "status": 1}


def _messages(which, *told):
    """Messages with attributes of their own: (role, text, calls, id of the call that it answers)."""
    out = {}
    for at, (role, text, calls, back) in enumerate(told):
        one = f"llm.{which}_messages.{at}.message."
        out[one + "role"] = role
        if back:
            out[one + "tool_call_id"] = back
        if text is not None:
            out[one + "content"] = text
        for n, (id, name, given) in enumerate(calls):
            call = f"{one}tool_calls.{n}.tool_call."
            out |= {call + "id": id, call + "function.name": name, call + "function.arguments": json.dumps(given)}
    return out


def _answer(id, at, outputs, inputs, **more):
    """OpenAI's agents under OpenInference: the answer is told before what was asked."""
    told = {"llm.system": "openai", "llm.token_count.prompt": 9, "llm.token_count.completion": 4}
    told |= _messages("output", *outputs) | _messages("input", *inputs)
    told["openinference.span.kind"] = "LLM"
    return span(id, 1, "response", at=at, attributes=told | more, **OPENAI_AGENTS)


def _ran(id, at, name, given, result):
    told = {"tool.name": name, "input.value": json.dumps(given), "output.value": result}
    return span(id, 1, name, at=at, attributes=told | {"openinference.span.kind": "TOOL"}, **OPENAI_AGENTS)


@pytest.mark.parametrize("lost", ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"])
@pytest.mark.parametrize("dropped", [0, 3])
def test_a_call_of_which_half_of_the_tokens_were_dropped_tells_none(lost, dropped):
    asked = chat(2, 1, "fine", "go", at=1, dropped=dropped)
    del asked["attributes"][lost]
    (run,) = runs(agent(1, "planner", took=9), asked)
    told = [run["llm_calls"][0][side] for side in ("input_tokens", "output_tokens")]
    assert (told == [None, None]) == (dropped > 0)
    assert ({"attributes dropped", "tokens not reported"} <= {*run["incomplete"]}) == (dropped > 0)
