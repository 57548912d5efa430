"""OpenAI's agents under Microsoft's distribution of OpenTelemetry for JavaScript (1.4)."""

import json

from tests.runs.requests import agent, runs, span

_SCOPE = "microsoft-otel-openai-agents"


def _told(id, name, at, parent=9, **told):
    return span(id, parent, name, at=at, scope=_SCOPE, status=1, attributes={"gen_ai.operation.name": name} | told)


def _chat(id, at, given, message, finish):
    """What a chat was given, and its whole answer, each as the text of one message that ends with `stop`."""

    def text(role, value, **more):
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": json.dumps(value)}]} | more])

    said = {"role": "assistant", "content": None} | message
    whole = {"id": f"chatcmpl-Ro0N{id}", "object": "chat.completion", "model": "m-2026-01-01"}
    whole["choices"] = [{"index": 0, "message": said, "finish_reason": finish}]
    told = {"gen_ai.request.model": "m", "custom.parent.span.id": "0x9666b288c710927b"}
    told |= {"gen_ai.input.messages": text("user", given)}
    told |= {"gen_ai.output.messages": text("assistant", [whole], finish_reason="stop")}
    return _told(id, "chat", at, **told)


def test_a_chat_that_is_told_as_one_text_is_read_and_what_lists_a_servers_tools_is_none():
    asks = {"id": "call_Ndcz", "type": "function"}
    asks["function"] = {"name": "get_weather", "arguments": '{"city":"Oslo"}'}
    given = [{"role": "system", "content": "You plan."}, {"role": "user", "content": "weather"}]
    back = [{"role": "assistant", "content": None, "tool_calls": [asks]}]
    back += [{"role": "tool", "tool_call_id": "call_Ndcz", "content": "21 in Oslo"}]
    tool = {"gen_ai.tool.name": "get_weather", "gen_ai.tool.type": "function"}
    tool |= {"gen_ai.tool.call.arguments": '{"city":"Oslo"}', "gen_ai.tool.call.result": '{"result":"21 in Oslo"}'}
    lists = {"gen_ai.tool.name": "files", "gen_ai.tool.type": "extension"}
    (run,) = runs(
        agent(9, "planner", at=0, took=20, scope=_SCOPE),
        _told(1, "execute_tool", 1, **lists, **{"gen_ai.tool.call.result": '["get_weather"]'}),
        _chat(2, 3, given, {"tool_calls": [asks]}, "tool_calls"),
        _told(3, "execute_tool", 5, **tool),
        _chat(4, 7, [*given, *back], {"content": "It is 21."}, "stop"),
    )
    assert (run["input"], run["output"]) == ("weather", "It is 21.")
    assert [(c["name"], c["result"], c["turn"]) for c in run["tool_calls"]] == [("get_weather", "21 in Oslo", 0)]
    assert [(c["request_model"], c["response_model"], c["finish_reason"]) for c in run["llm_calls"]] == [
        ("m", "m-2026-01-01", "tool_calls"),
        ("m", "m-2026-01-01", "stop"),
    ]
