"""Kits of other languages, by spans as their published sources write them: what was told wrong, in small."""

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span

pytestmark = pytest.mark.full

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


@pytest.mark.parametrize(
    ("type", "says", "status"),
    [
        ("tool_call_approval_denied", "Tool call approval denied", "requested"),
        ("tool_denied", "", "requested"),
        ("ToolCallRejectedException", "no", "requested"),
        ("tool_call_incomplete", "Tool call did not finish before run completed", "unknown"),
        ("TOOL_CALL_PERMANENT_FAILURE", "Tool call failed: boom", "error"),
        ("permission_denied", "/etc/shadow", "error"),
    ],
)
def test_the_type_of_an_error_says_that_a_tool_was_given_no_leave(type, says, status):
    """Sentinel AI for Java (OpenTelemetryAgentExtension.java, Constants.java): no span of a model."""
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_a1Xk"}
    (run,) = _agreed(
        agent(1, "helper", took=10, scope="sentinel", attributes={"gen_ai.provider.name": "openai"}),
        span(2, 1, "execute_tool look", at=3, error=says, scope="sentinel", attributes=told | {"error.type": type}),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]
    assert ("tool_failure" in run["boundaries"]) == (status == "error")


def test_ellmer_says_of_a_tool_that_nobody_has_no_more_than_that():
    """tidyverse/ellmer (R/otel.R, R/chat-tools.R): such a tool, and one that was rejected, has no span."""
    calls = [{"type": "tool_call", "id": f"call_{n}Xk", "name": n, "arguments": {}} for n in ("look", "nope", "rm")]
    brought = {"look": "21", "nope": "Unknown tool", "rm": "Tool call rejected. The user has chosen to disallow it."}
    back = [{"type": "tool_call_response", "id": f"call_{n}Xk", "response": text} for n, text in brought.items()]
    asks, user = {"role": "assistant", "parts": calls}, {"role": "user", "parts": [{"type": "text", "content": "hi"}]}
    says = {"role": "assistant", "parts": [{"type": "text", "content": "It is 21."}]}
    scope = "co.posit.r-package.ellmer"
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_lookXk"}

    def call(id, at, why, said, answer):
        told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4.1"}
        told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3, "gen_ai.response.finish_reasons": why}
        told |= {"gen_ai.input.messages": said, "gen_ai.output.messages": [answer]}
        return span(id, 1, "chat gpt-4.1", at=at, kind=3, status=1, scope=scope, attributes=told)

    (run,) = _agreed(
        span(1, None, "invoke_agent", took=12, scope=scope, attributes={"gen_ai.operation.name": "invoke_agent"}),
        call(2, 1, "tool_calls", [user], asks),
        span(3, 1, "execute_tool look", at=3, scope=scope, attributes=told),
        call(4, 5, "stop", [user, asks, {"role": "tool", "parts": back}], says),
    )
    assert {c["name"]: c["status"] for c in run["tool_calls"]} == {"look": "ok", "nope": "requested", "rm": "requested"}
    assert run["boundaries"] == []


@pytest.mark.parametrize(
    ("output", "told", "status"),
    [
        ('error("no such town")', {}, "error"),
        ('error ai:ToolError ("no such town",code=404)', {}, "error"),
        (None, {"error": "true"}, "error"),
        ("error counts: 0", {}, "ok"),
    ],
)
def test_what_a_tool_of_ballerinas_gives_back_may_be_an_error(output, told, status):
    """ballerina-platform/module-ballerina-ai (modules/observe/observe.bal, agent-spans.bal, agent-utils.bal): every
    value is a text, and an error that a tool gave back is told in place of its output, on a span that ends well."""
    call = {"name": "look", "arguments": {"c": 1}, "id": "call_a1Xk"}
    asks, user = {"role": "assistant", "content": None, "toolCalls": [call]}, _USER | {"name": None}
    came = {"role": "function", "name": "look", "content": output or "Tool execution failed.", "id": "call_a1Xk"}
    ran = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_a1Xk", "gen_ai.tool.arguments": '{"c":1}'}
    ran |= told | ({"gen_ai.tool.output": output} if output else {})

    def made(id, parent, name, at, took, operation, **told):
        attributes = {"span.type": "ai", "gen_ai.operation.name": operation} | told
        return span(id, parent, name, at=at, took=took, scope="app", attributes=attributes)

    def asked(id, at, said, answer):
        told = {"gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "openai", "gen_ai.usage.input_tokens": "9"}
        told |= {"gen_ai.usage.output_tokens": "3", "gen_ai.input.messages": said, "gen_ai.output.messages": answer}
        return made(id, 1, "chat gpt-4o", at, 1, "chat", **told)

    whole = {"gen_ai.agent.name": "Helper", "gen_ai.input.messages": "weather?", "gen_ai.output.messages": "None."}
    (run,) = _agreed(
        made(1, None, "invoke_agent Helper", 0, 20, "invoke_agent", **whole),
        asked(2, 1, [user], asks),
        made(3, 1, "execute_tool look", 3, 1, "execute_tool", **ran),
        asked(4, 5, [user, asks, came], {"role": "assistant", "content": "None."}),
    )
    (tool,) = run["tool_calls"]
    assert (tool["name"], tool["arguments"], tool["status"]) == ("look", {"c": 1}, status)
    assert run["output"] == "None." and [c["input_tokens"] for c in run["llm_calls"]] == [9, 9]
    assert ("tool_failure" in run["boundaries"]) == (status == "error")


@pytest.mark.parametrize(
    ("error", "told", "status"),
    [
        ("goai: unknown tool", {}, "requested"),
        ("not allowed", {"goai.tool.skipped": True}, "requested"),
        (None, {"goai.tool.skipped": True}, "requested"),
        ("no such file", {}, "error"),
        (None, {}, "ok"),
    ],
)
def test_goai_opens_a_span_for_what_nobody_has_and_for_what_a_hook_skips(error, told, status):
    """zendev-sh/goai (generate.go, observability/otel): the whole loop is a call of the model's, too."""
    model = {"gen_ai.system": "goai", "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
    told |= {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_a1Xk", "goai.step": 1}

    def asked(id, at, step, why):
        used = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3, "goai.step": step}
        used |= {"gen_ai.response.finish_reasons": [why]}
        return span(id, 1, "chat gpt-4o", at=at, scope="goai", attributes=model | used)

    (run,) = _agreed(
        span(1, None, "chat", took=20, scope="goai", attributes=model | {"gen_ai.response.model": "gpt-4o-2024-08-06"}),
        asked(2, 1, 1, "tool-calls"),
        span(3, 1, "execute_tool look", at=3, error=error, scope="goai", attributes=told),
        asked(4, 5, 2, "stop"),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]
    assert len(run["llm_calls"]) == 2


def _laravel(id, parent, name, at, took, operation, **told):
    """Literaj\\AiOtel (Recorders/SpanRecorder.php), Anantrp\\Refract (README): no content by default."""
    attributes = {"gen_ai.operation.name": operation, "laravel.ai.invocation.id": "i1"} | told
    return span(id, parent, name, at=at, took=took, scope="laravel-ai", attributes=attributes)


def _prompted(*steps, **told):
    who = {"gen_ai.agent.name": "Helper", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o"}
    (run,) = _agreed(_laravel(1, None, "invoke_agent Helper", 0, 20, "invoke_agent", **who | told), *steps)
    return run


def _step(id, at, why, **told):
    model = {"gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o"}
    return _laravel(id, 1, "chat gpt-4o", at, 1, "chat", **model | {"gen_ai.response.finish_reasons": [why]} | told)


_LEFT = {"laravel.ai.abandoned": True}
_SPENT = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3, "gen_ai.response.model": "gpt-4o-2024"}


@pytest.mark.parametrize(("left", "status"), [(_LEFT, "unknown"), ({}, "ok")])
def test_what_is_open_as_all_is_told_of_laravels_agents_has_no_end(left, status):
    ran = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_a1Xk"} | left
    tool = _laravel(3, 1, "execute_tool look", 3, 1, "execute_tool", **ran)
    run = _prompted(_step(2, 1, "tool_calls", **_SPENT), tool, **left)
    assert [c["status"] for c in run["tool_calls"]] == [status]


def test_a_stream_of_laravels_that_nobody_read_to_its_end_did_not_fail():
    run = _prompted(_step(2, 1, "stop", **_SPENT), _step(3, 3, "error", **_LEFT), **_LEFT)
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("unknown", ["ok", "unknown"])
    assert "error" not in run["boundaries"]


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ('Tool "nope" was not found, please use one of these: look, read', "requested"),
        ({"result": 'Tool "nope" was not found, please use one of these: look, read'}, "requested"),
        ('Tool "look" was not found, please use one of these: nope', "ok"),
        ('An error occurred while executing tool "nope".', "error"),
    ],
)
def test_symfonys_toolbox_says_that_nobody_has_a_tool_on_a_span_that_ends_well(result, status):
    """symfony/ai (TracingToolbox.php of the OpenTelemetry bridge about FaultTolerantToolbox.php)."""
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "nope", "gen_ai.tool.call.id": "call_a1Xk"}
    (run,) = _agreed(
        agent(1, "support", took=10, scope="symfony/ai"),
        span(
            2, 1, "execute_tool nope", at=3, scope="symfony/ai", attributes=told | {"gen_ai.tool.call.result": result}
        ),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]
