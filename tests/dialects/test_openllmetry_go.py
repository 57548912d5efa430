"""OpenLLMetry for Go, by spans as its source writes them (traceloop-sdk: sdk.go, agent.go, workflow.go)."""

from tests.runs.requests import runs, span


def _entity(id, parent, name, kind, at, took, **more):
    told = {"traceloop.span.kind": kind, "traceloop.entity.name": name, "traceloop.workflow.name": "travel"}
    return span(id, parent, f"{name}.{kind}", at=at, took=took, scope="traceloop", attributes=told | more)


def _chat(id, parent, at, messages, answer):
    told = {
        "llm.vendor": "openai",
        "llm.request.type": "chat",
        "llm.request.model": "m",
        "llm.response.model": "m-2026",
    }
    for name, some in (("prompts", messages), ("completions", [answer])):
        for place, (role, content, *call) in enumerate(some):
            prefix = f"llm.{name}.{place}"
            told |= {f"{prefix}.role": role, f"{prefix}.content": content}
            told |= {f"{prefix}.tool_calls.0.{k}": v for k, v in zip(("id", "name", "arguments"), call, strict=False)}
    return span(id, parent, "openai.chat", at=at, scope="traceloop", attributes=told)


def test_messages_and_models_by_the_keys_from_before_the_conventions():
    user = ("user", "weather")
    asks = ("assistant", "", "call_a1", "get_weather", '{"city":"Oslo"}')
    (run,) = runs(
        _entity(1, None, "travel", "workflow", 0, 20),
        _entity(2, 1, "planner", "agent", 0, 20),
        _chat(3, 2, 1, [user], asks),
        _entity(4, 2, "get_weather", "tool", 3, 1, **{"llm.agent.name": "planner"}),
        _chat(5, 2, 5, [user, asks, ("tool", "21 in Oslo")], ("assistant", "It is 21.")),
    )
    assert (run["input"], run["output"], run["agents"]) == ("weather", "It is 21.", ["planner"])
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("m", "m-2026")] * 2
    (call,) = run["tool_calls"]
    assert (call["call_id"], call["arguments"], call["result"]) == ("call_a1", {"city": "Oslo"}, "21 in Oslo")
