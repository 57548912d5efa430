"""Agents of kits for JavaScript that were run against a model of ours: LlamaIndex, BeeAI and others."""

import pytest

from tests.runs.requests import chat, runs


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
