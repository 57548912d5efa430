"""Calls of tools with what is no JSON, in loops of somebody's own."""

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, tool

_REFUSED = "Error: could not parse the arguments"


def _runs(given, back):
    asked = [{"role": "user", "parts": [{"type": "text", "content": "Go."}]}]
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": given}
    told = {"type": "tool_call_response", "id": "c1", "response": back}
    later = [*asked, {"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [told]}]
    spans = [
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", given)], "Go."),
        chat(3, 1, [("c2", "see", {})], later, at=2),
        tool(4, 1, "see", "c2", "seen", at=4, attributes={"gen_ai.tool.call.arguments": "{}"}),
        chat(5, 1, "Done.", later, at=6),
    ]
    both = with_shortcut(*frames([("traces", request(spans))]))[0], without(*frames([("traces", request(spans))]))
    for runs in both:
        (run,) = runs.iter_rows(named=True)
        yield run["tool_calls"][0], run["boundaries"], run["boundaries_unknown"]


@pytest.mark.parametrize(
    ("given", "back", "status"),
    [
        ('{"city": "Ro', _REFUSED, "unknown"),
        ("Rome", _REFUSED, "unknown"),
        ('{"city": "Rome"}', _REFUSED, "error"),
    ],
)
def test_a_tool_that_a_loop_may_have_refused_to_run_has_not_failed(given, back, status):
    """OpenAI's client under decorators of an SDK: what cannot be read is answered by the loop."""
    for call, seen, unknown in _runs(given, back):
        assert (call["status"], "tool_failure" in seen) == (status, status == "error")
        assert ("tool_failure" in unknown) == (status == "unknown")
