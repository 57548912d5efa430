"""What the newest kits for JavaScript tell of tools that wait, that somebody else runs, or that nobody has, of what was
called off, and of attempts made again."""

import json
from functools import partial

from tests.dialects.test_javascript_newest import agreed
from tests.dialects.test_unrecorded_kits import called_with
from tests.runs.requests import agent, chat

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
