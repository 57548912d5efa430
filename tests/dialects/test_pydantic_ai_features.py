"""Pydantic AI 2.68 under OpenInference 0.1.30: what sends an answer back, and a server that its provider asks."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

_SCOPE = "pydantic-ai"


def _runs(*spans):
    return runs(*({"scope": _SCOPE} | one for one in spans))


def _called(run):
    return [(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]]


_FEEDBACK = (
    "Your previous response failed the application's validation (this is automated feedback, not a message from the \
user):\n<pyai:retry_feedback>\nsay it better\n</pyai:retry_feedback>"
)


@pytest.mark.parametrize("feedback", [_FEEDBACK, "Validation feedback:\nno\n\nFix the errors and try again."])
def test_what_sends_an_answer_back_is_not_what_the_user_asked(feedback):
    """Of an output validator: the newest words are the agent's input."""
    of = {"openinference.span.kind": "AGENT", "input.value": feedback, "output.value": "better"}
    (run,) = _runs(
        agent(1, "a", took=9, attributes=of), chat(2, 1, "answer", "go"), chat(3, 1, "better", feedback, at=2)
    )
    assert (run["input"], run["output"]) == ("go", "better")


def test_a_server_that_a_provider_asks_is_no_tool_however_it_is_told():
    """It is left out that the provider's own tools are built in."""
    given = [{"action": "list_tools"}, {"action": "call_tool", "tool_name": "roll", "tool_args": {"sides": 6}}]
    flat = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "rolled 4"}
    for at, arguments in enumerate(given):
        call = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        flat |= {f"{call}.id": f"m{at}", f"{call}.function.name": "mcp_server:srv"}
        flat[f"{call}.function.arguments"] = json.dumps(arguments)
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 5} | flat
    (run,) = _runs(agent(1, "a", took=9), span(2, 1, "chat m", attributes=told))
    assert _called(run) == [("roll", {"sides": 6}, "unknown")]


def test_what_logfire_took_for_a_secret_is_not_what_the_user_asked():
    (run,) = _runs(agent(1, "a", took=9), chat(2, 1, "answer", "[Scrubbed due to 'secret']"))
    assert (run["input"], run["output"]) == (None, "answer")
    assert "input not reported" in run["incomplete"]


@pytest.mark.parametrize(("waits", "status"), [(False, "unknown"), (True, "ok")])
def test_a_run_that_was_driven_step_by_step_and_left_after_its_tools_is_not_known(waits, status):
    """One that ends on what it asks leave for is over."""
    asked = [("c1", "look", {"x": 1}), *([("c2", "rm", {})] if waits else [])]
    (run,) = _runs(agent(1, "a", took=9), chat(2, 1, asked, "go"), tool(3, 1, "look", "c1", "seen", at=2))
    assert (run["status"], run["output"]) == (status, None)
