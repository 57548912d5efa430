"""TanStack AI 0.58 under OpenInference's middleware, by which a loop that was called off or cut short failed."""

from tests.runs.requests import runs, span


def _loop(id, parent, kind, at, took, **more):
    told = {"openinference.span.kind": kind} | more.pop("told", {})
    return span(
        id, parent, more.pop("name", f"ai.{kind.lower()}"), at=at, took=took, scope="tanstack", attributes=told, **more
    )


_GO = {"input.value": {"messages": [{"role": "user", "content": "go"}]}}
_ASKED = {"llm.model_name": "m", "llm.input_messages.0.message.role": "user"} | {
    "llm.input_messages.0.message.content": "go"
}


def test_a_loop_that_was_called_off_did_not_fail():
    (run,) = runs(
        _loop(1, None, "AGENT", 0, 9, told=_GO, error="TanStack AI run aborted"),
        _loop(2, 1, "LLM", 1, 7, told=_ASKED),
    )
    assert (run["status"], "error" in run["boundaries"]) == ("unknown", False)


def test_an_answer_that_failed_at_its_length_met_that():
    thrown = [("exception", {"exception.type": "Error", "exception.message": "max_output_tokens"})]
    (run,) = runs(
        _loop(1, None, "AGENT", 0, 9, told=_GO, error="max_output_tokens", events=thrown),
        _loop(2, 1, "LLM", 1, 7, told=_ASKED, error="max_output_tokens", events=thrown),
    )
    assert "length" in run["boundaries"]


def _asks(id, at, call, given):
    told = {"llm.output_messages.0.message.role": "assistant", "tanstack.ai.finish_reason": "tool_calls"}
    place = "llm.output_messages.0.message.tool_calls.0.tool_call"
    told |= {f"{place}.id": call, f"{place}.function.name": "look", f"{place}.function.arguments": given}
    return _loop(id, 1, "LLM", at, 1, told=_ASKED | told)


def test_a_tool_may_have_run_that_a_loop_asked_for_at_its_limit():
    why = {"tanstack.ai.finish_reason": "tool_calls"}
    ran = {"tool.name": "look", "tanstack.ai.tool.call.id": "c1", "input.value": '{"x":1}', "output.value": "seen"}
    (run,) = runs(
        _loop(1, None, "AGENT", 0, 9, told=_GO | why, name="ai.chat"),
        _asks(2, 1, "c1", '{"x":1}'),
        _loop(3, 1, "TOOL", 3, 1, told=ran),
        _asks(4, 5, "c2", '{"x":2}'),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "unknown"]
