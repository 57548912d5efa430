"""Runs that who had asked called off: they neither went well nor failed by themselves."""

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

_CALL = [("c1", "wait", {"city": "Rome"})]


def _told(*spans):
    """Status, boundaries and those unknown, with the shortcut and without."""
    told = frames([("traces", request(spans))])
    for found in (with_shortcut(*told)[0], without(*told)):
        (run,) = found.iter_rows(named=True)
        yield run["status"], run["boundaries"], run["boundaries_unknown"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("asyncio.exceptions.CancelledError", ""),
        ("CancelledError", ""),
        ("AbortError", "This operation was aborted"),
        ("*errors.errorString", "context canceled"),  # Go
        ("*url.Error", 'Post "https://m/v1/chat": context canceled'),
        ("System.Threading.Tasks.TaskCanceledException", "A task was canceled."),  # .NET
        ("kotlinx.coroutines.JobCancellationException", "StandaloneCoroutine was cancelled"),
        ("java.util.concurrent.CancellationException", ""),
        ("CancellationError", "Canceled"),  # VS Code
        ("cancelled", "cancelled"),  # AgentScope for Java
    ],
)
def test_an_agent_that_was_called_off_in_any_language_is_told_alike(kind, message):
    """Logfire and Langfuse tell of what asyncio throws as of any exception."""
    thrown = {"error": message, "events": [("exception", {"exception.type": kind, "exception.message": message})]}
    for status, seen, unknown in _told(
        agent(1, "a", took=9, **thrown), chat(2, 1, _CALL, "Go."), chat(3, 1, at=2, **thrown)
    ):
        assert (status, seen) == ("unknown", [])
        assert {"error", "timeout"} <= {*unknown}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("System.Threading.Tasks.TaskCanceledException", "The request was canceled due to … Timeout of 100 seconds."),
        ("kotlinx.coroutines.TimeoutCancellationException", "Timed out waiting for 1000 ms"),
        ("*url.Error", 'Post "https://m/v1/chat": context deadline exceeded'),
        ("ValueError", "order 7 was cancelled by the shop"),
    ],
)
def test_what_ran_out_of_time_or_speaks_of_what_was_cancelled_has_failed(kind, message):
    thrown = {"error": message, "events": [("exception", {"exception.type": kind, "exception.message": message})]}
    steps = agent(1, "a", took=9, **thrown), chat(2, 1, _CALL, "Go."), chat(3, 1, at=2, **thrown)
    assert {status for status, *_ in _told(*steps)} == {"error"}


@pytest.mark.parametrize(("kind", "message"), [("", "context canceled"), ("OperationCanceledException", "")])
def test_a_tool_that_was_called_off_in_any_language_may_have_done_its_work(kind, message):
    thrown = {"error": message, "events": [("exception", {"exception.type": kind, "exception.message": message})]}
    steps = agent(1, "a", took=9, **thrown), chat(2, 1, _CALL, "Go."), tool(3, 1, "wait", "c1", at=2, **thrown)
    told = frames([("traces", request(steps))])
    for found in (with_shortcut(*told)[0], without(*told)):
        (run,) = found.iter_rows(named=True)
        assert [c["status"] for c in run["tool_calls"]] == ["unknown"]


def test_an_agent_that_failed_as_something_in_it_was_called_off_has_failed():
    thrown = [("exception", {"exception.type": "ValueError", "exception.message": "kaput"})]
    beside = [("exception", {"exception.type": "asyncio.exceptions.CancelledError", "exception.message": ""})]
    for status, seen, _ in _told(
        agent(1, "a", took=9, error="kaput", events=thrown), chat(2, 1, "Rome.", "Go.", error="", events=beside)
    ):
        assert (status, seen) == ("error", ["error"])


@pytest.mark.parametrize(("gave", "tool"), [({}, "unknown"), ({"mlflow.spanOutputs": "null"}, "ok")])
def test_a_function_that_mlflow_never_saw_return_was_called_off(gave, tool):
    """mlflow 3.17 takes no notice of what is no Exception, and ends the span well; of None it tells."""
    kit = {"scope": "mlflow.tracing.provider", "status": 1}

    def traced(id, parent, name, kind, given, **more):
        told = {"mlflow.spanType": f'"{kind}"', "mlflow.spanFunctionName": f'"{name}"', "mlflow.spanInputs": given}
        return span(id, parent, name, attributes=told | more.pop("more", {}), **kit, **more)

    question = {"model": "m", "messages": [{"role": "user", "content": "Go."}]}
    call = {"id": "c1", "type": "function", "function": {"name": "wait", "arguments": '{"city": "Rome"}'}}
    answer = {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
    model = {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.spanInputs": question,
        "mlflow.spanOutputs": {"choices": [answer]},
    }
    (run,) = runs(
        traced(1, None, "planner", "AGENT", {"question": "Go."}, took=9, more=gave),
        span(2, 1, "AsyncCompletions", attributes=model, **kit),
        traced(3, 1, "wait", "TOOL", {"city": "Rome"}, at=2, more=gave),
    )
    assert [c["status"] for c in run["tool_calls"]] == [tool]
    if not gave:
        assert (run["status"], run["boundaries"]) == ("unknown", [])
