"""Mistral's own client (JavaScript 2.7), which calls an agent's work whatever is asked of an agent."""

import json

from tests.runs.requests import runs, span


def _asked(id, at, *messages, **told):
    given = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "mistral_ai"}
    given |= {"gen_ai.input.messages": json.dumps(messages), "gen_ai.usage.input_tokens": 100 + id}
    return span(
        id, None, "invoke_agent", trace=id, at=at, status=1, scope="mistralai_sdk_tracer", attributes=given | told
    )


def _message(role, *parts, **more):
    return {"role": role, "parts": list(parts)} | more


def test_what_was_asked_of_an_agent_of_mistrals_is_one_call_of_a_model_in_a_loop_of_the_callers():
    user = _message("user", {"type": "text", "content": "weather"})
    call = {"type": "tool_call", "name": "get_weather", "id": "dde0ba949", "arguments": '{"city":"Paris"}'}
    back = _message("tool", {"type": "tool_call_response", "response": "21 in Paris", "id": "dde0ba949"})
    text = _message("assistant", {"type": "text", "content": "It is 21."}, finish_reason="stop")
    asks, ends = (
        {"gen_ai.output.messages": json.dumps([x]), "gen_ai.response.finish_reasons": json.dumps([x["finish_reason"]])}
        for x in (_message("assistant", call, finish_reason="tool_calls"), text)
    )
    (run,) = runs(_asked(1, 0, user, **asks), _asked(2, 2, user, _message("assistant", call), back, **ends))
    assert (run["input"], run["output"]) == ("weather", "It is 21.")
    assert [c["input_tokens"] for c in run["llm_calls"]] == [101, 102]
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("get_weather", "ok", "21 in Paris")]


def test_a_conversation_of_mistrals_that_waits_for_a_function_tells_not_which_and_goes_on_with_its_result():
    conversation = {"gen_ai.conversation.id": "conv_0fc25028"}
    back = _message("tool", {"type": "tool_call_response", "response": "21 in Paris", "id": "243e5d349"})
    said = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "m-2508", "gen_ai.response.id": "msg_e4e1"}
    said["gen_ai.output.messages"] = json.dumps([_message("assistant", {"type": "text", "content": "It is 21."})])
    (run,) = runs(
        _asked(1, 0, _message("user", {"type": "text", "content": "weather"}), **conversation),
        _asked(2, 2, back, **conversation),
        span(3, 2, "chat m-2508", trace=2, at=2.1, took=0.5, scope="mistralai_sdk_tracer", attributes=said),
    )
    assert (run["input"], run["output"], run["tool_calls"]) == ("weather", "It is 21.", None)
    assert [(c["input_tokens"], c["response_model"]) for c in run["llm_calls"]] == [(101, None), (102, "m-2508")]


def test_a_stream_of_mistrals_of_which_nothing_used_is_told_may_have_been_broken_off():
    begun = json.dumps([_message("assistant", {"type": "text", "content": "cut sh"}, finish_reason="")])
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.output.messages": begun}
    (run,) = runs(span(1, None, "chat m", status=1, scope="mistralai_sdk_tracer", attributes=told))
    assert (run["status"], run["llm_calls"][0]["status"]) == ("unknown", "unknown")
