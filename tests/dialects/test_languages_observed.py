"""Kits of other languages, by spans as their published sources write them: what was told wrong, in small."""

from tests.runs.requests import runs, span

_USER = {"role": "user", "content": "weather?"}
_CALLS = [{"id": "call_a1Xk", "type": "function", "function": {"name": "look", "arguments": '{"c":1}'}}]
_ASKS = {"role": "assistant", "content": None, "tool_calls": _CALLS}
_BROUGHT = {"role": "tool", "tool_call_id": "call_a1Xk", "content": "no such town"}


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
