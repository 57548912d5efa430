"""What Anthropic's own client tells, alone, below another instrumentation, and with its platform's spans in it."""

import json

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full

SDK, PLATFORM = "com.anthropic.sdk.python", "com.anthropic.claude-platform"
MODEL = {"gen_ai.request.model": "claude-sonnet-4-5", "gen_ai.response.model": "claude-sonnet-4-5-20250929"}


def _text(text):
    return {"type": "text", "content": text}


def _use(id, **arguments):
    return {"type": "tool_call", "id": id, "name": "weather", "arguments": arguments}


def _result(id, text):
    return {"type": "tool_call_response", "id": id, "response": [{"type": "text", "text": text}]}


def _runner(id=1, **more):
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "anthropic"}
    return span(id, None, "anthropic.messages.tool_runner", scope=SDK, attributes=attributes, took=20, status=1, **more)


def _create(id, parent, asked=None, answer=None, stop=None, at=0.0, scope=SDK, took=2, **more):
    told = {} if asked is None else {"gen_ai.input.messages": [{"role": "user", "parts": asked}]}
    told |= {} if answer is None else {"gen_ai.output.messages": [{"role": "assistant", "parts": answer}]}
    told |= {} if stop is None else {"anthropic.message.stop_reason": stop, "gen_ai.response.id": f"msg_{at}"}
    told = {key: json.dumps(value) if isinstance(value, list) else value for key, value in told.items()}
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5, "gen_ai.provider.name": "anthropic"}
    attributes = {"gen_ai.operation.name": "chat"} | MODEL | usage | told | more
    kind = 2 if scope == PLATFORM else 3
    name = "anthropic.messages.create"
    return span(id, parent, name, scope=scope, kind=kind, attributes=attributes, at=at, took=took, status=1)


def _ran(id, parent, call, at, city="Oslo", text=None, scope=SDK, **more):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": call}
    if text is not None:
        told["gen_ai.tool.call.arguments"] = json.dumps({"city": city})
        told["anthropic.tool_result.content"] = json.dumps([{"type": "text", "text": text}])
    told |= more.pop("attributes", {})
    return span(
        id, parent, "anthropic.custom_tool_use weather", scope=scope, attributes=told, at=at, **{"status": 1} | more
    )


def test_a_tool_runner_is_a_run_and_what_its_last_tool_brought_is_read_of_its_span():
    (run,) = runs(
        _runner(),
        _create(2, 1, [_text("Oslo?")], [_use("toolu_1", city="Oslo")], "tool_use", at=0),
        _ran(3, 1, "toolu_1", at=3, text="cold"),
        _create(4, 1, [_result("toolu_1", "cold")], [_use("toolu_2", city="Rome")], "tool_use", at=5),
        _ran(5, 1, "toolu_2", at=18.5, city="Rome", text="warm"),
    )
    assert [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("weather", {"city": "Oslo"}, "ok", "cold"),
        ("weather", {"city": "Rome"}, "ok", "warm"),
    ]
    assert run["input"] == "Oslo?"
    assert "max_steps" in run["boundaries"]
    assert [call["finish_reason"] for call in run["llm_calls"]] == ["tool_use", "tool_use"]


def test_without_content_the_reason_to_finish_says_no_more_than_that_no_tool_of_the_agents_was_asked_for():
    (run,) = runs(_runner(), _create(2, 1, stop="end_turn"))
    assert run["tool_calls"] is None  # the provider may have run its own
    (run,) = runs(_runner(), _create(2, 1))
    assert run["tool_calls"] is None
    (run,) = runs(
        _runner(),
        _create(2, 1, stop="tool_use"),
        _ran(3, 1, "toolu_1", 3, status=2, attributes={"error.type": "tool_error"}),
        _create(4, 1, stop="end_turn", at=5),
    )
    assert [(c["status"], c["error_type"], c["result"]) for c in run["tool_calls"]] == [("error", "tool_error", None)]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("anthropic.messages.count_tokens", {"gen_ai.request.model": "claude-sonnet-4-5"}),
        (
            "anthropic.sessions.create",
            {"gen_ai.agent.name": "triage", "gen_ai.request.model": "claude-sonnet-4-5"},
        ),
        ("anthropic.files.upload", {}),
    ],
)
def test_what_else_a_client_asks_of_the_platform_is_no_model_call_and_no_run(name, attributes):
    alone = span(1, None, name, scope=SDK, kind=3, attributes={"gen_ai.provider.name": "anthropic"} | attributes)
    assert runs(alone) == []
    within = span(9, 1, name, scope=SDK, kind=3, attributes={"gen_ai.provider.name": "anthropic"} | attributes)
    (run,) = runs(_runner(), within, _create(2, 1, [_text("Hi")], [_text("Hello")], "end_turn", at=3))
    assert (len(run["llm_calls"]), run["agents"], run["output"]) == (1, [], "Hello")


def test_an_instrumentation_around_the_client_that_tells_of_counted_tokens_tells_of_no_model_call():
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "claude-sonnet-4-5",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Hi",
    }
    counted = {"scope": "openinference.instrumentation.anthropic", "attributes": attributes}
    assert runs(span(1, None, "beta.messages.count_tokens", **counted)) == []


def test_a_tool_that_counts_tokens_is_a_tool():
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "count_tokens", "output.value": "3"}
    (run,) = runs(_runner(), span(2, 1, "count_tokens", attributes=attributes, status=1))
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("count_tokens", "3")]


def test_the_spans_of_the_platform_in_those_of_the_client_are_the_same_calls():
    (run,) = runs(
        _runner(),
        _create(2, 1, [_text("Oslo?")], [_use("toolu_1", city="Oslo")], "tool_use", at=0, took=3),
        _create(12, 2, [_text("Oslo?")], [_use("toolu_1", city="Oslo")], "tool_use", at=0, scope=PLATFORM),
        _ran(3, 1, "toolu_1", at=4, text="cold"),
        _create(4, 1, [_result("toolu_1", "cold")], [_text("Cold.")], "end_turn", at=6, took=3),
        _create(14, 4, [_result("toolu_1", "cold")], [_text("Cold.")], "end_turn", at=6, scope=PLATFORM),
    )
    assert len(run["llm_calls"]) == 2
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("weather", "cold")]
    assert (run["status"], run["output"]) == ("ok", "Cold.")


def test_a_turn_of_a_managed_agent_lies_in_the_request_that_sent_it_its_message():
    turn = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "triage", "gen_ai.conversation.id": "s1"}
    (run,) = runs(
        span(1, None, "anthropic.sessions.events.send", scope=SDK, kind=3, took=1, status=1),
        span(2, 1, "anthropic.sessions.events.send", scope=PLATFORM, kind=2, took=1, status=1),
        span(3, 2, "invoke_agent triage", scope=PLATFORM, took=9, at=1, attributes=turn, status=1),
        _create(4, 3, [_text("Oslo?")], [_use("toolu_1", city="Oslo")], "tool_use", at=1, scope=PLATFORM),
        _ran(5, 3, "toolu_1", at=4, text="cold", scope=PLATFORM),
        _create(6, 3, [_result("toolu_1", "cold")], [_text("Cold.")], "end_turn", at=6, scope=PLATFORM),
    )
    assert (run["agents"], run["conversation_id"], run["input"], run["output"]) == (["triage"], "s1", "Oslo?", "Cold.")
    assert [(c["agent"], c["result"]) for c in run["tool_calls"]] == [("triage", "cold")]


def test_of_content_cut_to_a_limit_nothing_is_told_that_may_have_lost_its_start():
    cut = {"anthropic.content.truncated": True}
    (run,) = runs(
        _runner(),
        _create(2, 1, [_text("...the rest of the question")], [_use("toolu_1", city="Oslo")], "tool_use", at=0, **cut),
        _ran(3, 1, "toolu_1", at=3, text="a part of what came", attributes=cut),
        _create(4, 1, [], [_text("the beginning")], "end_turn", at=6, **cut),
    )
    assert (run["input"], run["output"]) == (None, None)
    assert [(c["name"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [
        ("weather", {"city": "Oslo"}, None)
    ]
    assert len(run["llm_calls"]) == 2


@pytest.mark.parametrize(("streamed", "told"), [({}, 10), ({"gen_ai.is_streaming": True}, None)])
def test_what_openllmetry_adds_up_of_a_stream_is_not_what_was_used(streamed, told):
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 10}
    attributes = {"gen_ai.operation.name": "chat"} | MODEL | usage | streamed
    around = span(
        2, 1, "anthropic.chat", scope="opentelemetry.instrumentation.anthropic", attributes=attributes, took=3
    )
    (run,) = runs(_runner(), around)
    assert [call["output_tokens"] for call in run["llm_calls"]] == [told]
    (run,) = runs(_runner(), around, _create(3, 2, stop="end_turn"))
    assert [call["output_tokens"] for call in run["llm_calls"]] == [5]


@pytest.mark.parametrize("ids", [(2, 3), (3, 2)])
def test_what_the_client_itself_counted_is_rather_believed(ids):
    """OpenLLMetry does not say of each stream that it was one; both stand in traces of their own."""
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 10, "gen_ai.response.id": "msg_1.0"}
    attributes = {"gen_ai.operation.name": "chat"} | MODEL | usage
    scope = "opentelemetry.instrumentation.anthropic"
    around = span(ids[0], None, "anthropic.chat", trace=1, scope=scope, attributes=attributes, took=4, kind=3)
    (run,) = runs(around, _create(ids[1], None, stop="end_turn", at=1.0) | {"trace": 2})
    assert [call["output_tokens"] for call in run["llm_calls"]] == [5]
