"""Kits of other languages, by spans as their published sources write them: what was told wrong, in small."""

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span

_USER = {"role": "user", "content": "weather?"}
_CALLS = [{"id": "call_a1Xk", "type": "function", "function": {"name": "look", "arguments": '{"c":1}'}}]
_ASKS = {"role": "assistant", "content": None, "tool_calls": _CALLS}
_BROUGHT = {"role": "tool", "tool_call_id": "call_a1Xk", "content": "no such town"}


def _agreed(*spans):
    """The runs of these spans, which the shortcut for regular traces and the general way tell alike."""
    found = frames([("traces", request(spans))])
    assert with_shortcut(*found)[0].equals(without(*found))
    return runs(*spans)


def _elixir(id, parent, name, at, took, operation, **told):
    """brainlid/langchain (lib/open_telemetry/attributes.ex, span_handler.ex)."""
    attributes = {"gen_ai.operation.name": operation} | told
    return span(id, parent, name, at=at, took=took, scope="langchain", attributes=attributes)


def _chain():
    return _elixir(1, None, "invoke_agent llm_chain", 0, 20, "invoke_agent", **{"gen_ai.agent.name": "llm_chain"})


def _asked(id, at, said, answer=None, why=None):
    told = {"gen_ai.request.model": "gpt-4o", "gen_ai.response.model": "gpt-4o", "gen_ai.input.messages": said}
    if answer is not None:
        told |= {"gen_ai.output.messages": [answer], "gen_ai.response.finish_reasons": [why]}
        told |= {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 5}
    return _elixir(id, 1, "chat gpt-4o", at, 1, "chat", **told)


def _looked():
    told = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_a1Xk", "gen_ai.tool.call.result": "no such town"}
    return _elixir(3, 1, "execute_tool look", 3, 1, "execute_tool", **told)


def test_what_langchain_for_elixir_gives_back_may_be_an_error_of_a_tool_or_of_a_model():
    answer = {"role": "assistant", "content": "There is none."}
    (run,) = runs(
        _chain(),
        _asked(2, 1, [_USER], _ASKS, "tool_calls"),
        _looked(),
        _asked(4, 5, [_USER, _ASKS, _BROUGHT], answer, "stop"),
    )
    assert (run["status"], run["output"], run["agents"]) == ("ok", "There is none.", [])
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("unknown", "no such town")]
    assert [c["response_model"] for c in run["llm_calls"]] == [None, None]
    (run,) = runs(
        _chain(),
        _asked(2, 1, [_USER], _ASKS, "tool_calls"),
        _looked(),
        _asked(4, 5, [_USER, _ASKS, _BROUGHT]),
    )
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("unknown", ["ok", "unknown"])


@pytest.mark.parametrize(
    ("type", "result", "status"),
    [
        ("unknown_tool", None, "requested"),
        ("execution_error", "Unknown tool 'look'", "requested"),
        ("Kit::ToolNotFoundError", None, "requested"),
        ("execution_error", "no such town", "error"),
    ],
)
def test_a_tool_that_nobody_has_is_told_by_the_type_of_its_error_or_by_what_it_brought(type, result, status):
    """janeapp/riffer (lib/riffer/tools/runtime.rb): the span of what was asked for ends without a status."""
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_a1Xk"}
    told |= {"gen_ai.tool.call.arguments": "{}", "error.type": type}
    told |= {"gen_ai.tool.call.result": result} if result else {}
    (run,) = _agreed(
        agent(1, "planner", took=20),
        chat(2, 1, [("call_a1Xk", "look", {})], "go", at=1),
        span(3, 1, "execute_tool look", at=3, scope="riffer", attributes=told),
        chat(4, 1, "Sorry.", at=5),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]


def test_llm_rb_tells_the_model_that_was_asked_as_the_one_that_answered():
    """llmrb/llm.rb (lib/llm/tracer/telemetry.rb)."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4.1", "gen_ai.response.model": "gpt-4.1"}
    (run,) = runs(
        span(1, None, "chat gpt-4.1", scope="llm.rb", attributes=told | {"gen_ai.response.id": "chatcmpl-8X"})
    )
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("gpt-4.1", None)]
