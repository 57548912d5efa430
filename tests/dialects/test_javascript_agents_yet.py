"""Agents of kits for JavaScript that were run against a model of ours: LlamaIndex, BeeAI and others."""

import json

import pytest

from tests.runs.requests import chat, runs, span

_BEE = "@arizeai/openinference-instrumentation-beeai"


@pytest.mark.parametrize("key", ["toAgent", "to_agent"])
def test_a_hand_off_of_llama_index_for_javascript_names_the_agent_by_its_argument(key):
    """LlamaIndex's workflow 1.1.24, of which instrumentations of OpenAI's client alone tell."""
    call = ("call_WowHVEqtj", "handOff", {key: "worker", "reason": "weather"})
    user = {"role": "user", "parts": [{"type": "text", "content": "weather?"}]}
    asked = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": call[0], "name": call[1], "arguments": call[2]}],
    }
    told = [{"type": "tool_call_response", "id": call[0], "response": "Agent worker is now handling the request"}]
    there = {"role": "system", "parts": [{"type": "text", "content": "You work."}]}
    (run,) = runs(
        chat(1, None, [call], [user]),
        chat(1, None, "Sunny.", [there, user, asked, {"role": "tool", "parts": told}], trace=2, at=2),
    )
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [("worker", "handOff", "ok")]
    assert (run["tool_calls"], run["agents"], run["output"]) == ([], ["worker"], "Sunny.")


def _bee(id, parent, target, kind, at, **told):
    """An event of BeeAI for JavaScript 0.1.13 under OpenInference 1.5, whose content is hidden."""
    told = {"target": target, "name": target.rsplit(".", 1)[-1], "openinference.span.kind": kind} | told
    return span(id, parent, f"{target}-1", at=at, took=0.001, scope=_BEE, attributes=told, status=1)


def _bee_tool(id, at, name, given):
    hidden = {"tool.parameters": json.dumps(given), "output.value": "__REDACTED__"}
    return [
        _bee(id, 2, f"tool.dynamic.{name}.start", "TOOL", at, **{"tool.parameters": json.dumps(given)}),
        _bee(id + 1, 2, f"tool.dynamic.{name}.success", "TOOL", at + 0.1, **hidden),
        _bee(id + 2, 2, f"tool.dynamic.{name}.finish", "TOOL", at + 0.2),
    ]


def test_the_hidden_answer_that_an_agent_of_beeai_hands_in_is_no_tool_that_ran():
    main = {"openinference.span.kind": "AGENT", "beeai.version": "0.1.13", "output.value": "__REDACTED__"}
    usage = {"llm.token_count.prompt": 9, "llm.model_name": "m", "output.value": "__REDACTED__"}
    (run,) = runs(
        span(1, None, "beeai-framework-main", took=9, scope=_BEE, status=1, attributes=main),
        _bee(2, 1, "agent.toolCalling.start", "AGENT", 0.1),
        _bee(3, 2, "backend.openai.chat.success", "LLM", 1, **usage),
        *_bee_tool(4, 2, "getWeather", {"city": "Paris"}),
        _bee(7, 2, "backend.openai.chat.success", "LLM", 3, **usage),
        *_bee_tool(8, 4, "finalAnswer", {"response": "It is 21."}),
    )
    assert [(c["arguments"], c["status"]) for c in run["tool_calls"]] == [({"city": "Paris"}, "ok")]
