"""More of what pairs of kit and instrumentation that are recorded nowhere sent, in small."""

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

pytestmark = pytest.mark.full

_OURS = {"scope": "openinference.instrumentation.agno", "status": 1}


def _message(where, at, role, content=None, *calls):
    """A message as OpenInference flattens it; calls as (id, name, arguments), without a name as nothing but a place."""
    key = f"llm.{where}_messages.{at}.message"
    told = {f"{key}.role": role} | ({f"{key}.content": content} if content else {})
    for n, (id, name, arguments) in enumerate(calls):
        call = f"{key}.tool_calls.{n}.tool_call"
        told |= {f"{call}.function.arguments": arguments}
        told |= {f"{call}.id": id, f"{call}.function.name": name} if name else {}
    return told


def _gemini(id, at, **told):
    told = {"openinference.span.kind": "LLM", "llm.model_name": "gemini-2.5-flash"} | told
    return span(id, 1, "Gemini.invoke", at=at, attributes=told, **_OURS)


def test_what_came_of_calls_to_gemini_stands_in_one_list_in_their_order():
    """Agno 2.2 under OpenInference 0.1.23, where a tool that raises has no span."""
    asked = ("c3d1-9f90", "book", '{"nights": 0}'), ("b0d0-5283", "look", '{"at": "x"}')
    history = _message("input", 0, "user", "go") | _message("input", 1, "assistant", None, *asked)
    history |= _message("input", 2, "tool", '["nights must be >= 1", "cold"]', *[(None, None, "{}")] * 2)
    looked = {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": '{"at": "x"}'}
    (run,) = agreed(
        span(1, None, "planner.run", took=9, attributes={"openinference.span.kind": "AGENT"}, **_OURS),
        _gemini(2, 1, **_message("input", 0, "user", "go"), **_message("output", 0, "assistant", None, *asked)),
        span(3, 1, "look", at=3, attributes=looked | {"output.value": "cold"}, **_OURS),
        _gemini(4, 5, **history, **_message("output", 0, "assistant", "Booked nothing; cold.")),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("book", "unknown", "nights must be >= 1"),
        ("look", "ok", "cold"),
    ]
