"""Kits for Python in their latest versions, by what they told of runs against a model of ours."""

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, events, frames, request, runs, span, tool

pytestmark = pytest.mark.full

_STRANDS = {"scope": "strands.telemetry.tracer"}


def _words(role, text):
    return (f"gen_ai.{role}.message", {"content": [{"text": text}]})


def _cycle(id, parent, at, said, *asked):
    """A loop of Strands' agent, and the model that it asks; `asked` is a conversation so far, user first."""
    so_far = [_words(role, text) for role, text in zip(("user", "assistant") * 2, asked, strict=False)]
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
    answer = ("gen_ai.choice", {"finish_reason": "end_turn", "message": [said]})
    cycle = {"gen_ai.operation.name": "execute_event_loop_cycle", "gen_ai.system": "strands-agents"}
    return [
        span(id, parent, "execute_event_loop_cycle", at=at, took=2, attributes=cycle, events=so_far, **_STRANDS),
        span(id + 1, id, "chat", at=at, attributes=told, events=[*so_far, answer], **_STRANDS),
    ]


@pytest.mark.parametrize("prompt", ["You must format the previous response as structured output.", "As JSON, please."])
def test_an_agent_of_strands_that_is_asked_to_put_its_answer_in_form_goes_on_with_one_request(prompt):
    """strands-agents 1.62, `structured_output_model` (and `structured_output_prompt`), where no tool of that form was
    called."""
    plan = {"toolUse": {"toolUseId": "call_qD5dWRj4jT", "name": "Plan", "input": {"city": "Rome"}}}
    ends = ("gen_ai.choice", {"message": '{"city":"Rome"}', "finish_reason": "tool_use"})
    (run,) = runs(
        agent(1, "planner", took=9, events=[_words("user", "Plan."), ends], **_STRANDS),
        *_cycle(2, 1, 0.5, {"text": "Rome."}, "Plan."),
        *_cycle(4, 1, 4, plan, "Plan.", "Rome.", prompt),
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("Plan.", '{"city":"Rome"}', 2)


@pytest.mark.parametrize("kit", [_STRANDS, {"scope": ""}])
@pytest.mark.parametrize(("back", "status"), [(True, "ok"), (False, "unknown")])
def test_who_worked_before_in_a_swarm_has_not_taken_over_again_until_it_works(back, status, kit):
    """strands-agents 1.62, `max_handoffs`: a swarm that is stopped there ends like any other."""

    def hands(id, parent, at, call, to):
        given = {"gen_ai.tool.call.arguments": {"agent_name": to, "message": "go on"}}
        name = "handoff_to_agent"
        return [
            chat(id, parent, [(call, name, {"agent_name": to, "message": "go on"})], "go", at=at, took=0.5, **kit),
            tool(id + 1, parent, name, call, "Handing off", at=at + 1, took=0.5, attributes=given, **kit),
            chat(id + 2, parent, "handed over", at=at + 2, took=0.5, **kit),
        ]

    swarm = {"gen_ai.operation.name": "invoke_swarm", "gen_ai.system": "strands-agents"}
    (run,) = runs(
        span(1, name="invoke_swarm", took=40, attributes=swarm, **kit),
        agent(2, "a", 1, took=8, **kit),
        *hands(3, 2, 0.5, "call_a", "b"),
        agent(6, "b", 1, at=9, took=8, **kit),
        *hands(7, 6, 9.5, "call_b", "a"),
        *([agent(11, "a", 1, at=20, took=3, **kit), chat(12, 11, "Done.", at=21, **kit)] if back else []),
    )
    assert (run["status"], [d["status"] for d in run["delegations"]]) == (status, ["ok", status])


@pytest.mark.parametrize("scope", ["strands.telemetry.tracer", ""])
def test_what_strands_says_of_an_answer_in_form_is_believed_without_its_scope(scope):
    """strands-agents 1.62 by ddtrace 4.16 (`DD_TRACE_OTEL_ENABLED`), which hands no scope on."""
    plan = [("call_a", "Plan", {"city": "Rome"})]
    came = ("gen_ai.choice", {"message": [{"text": "Successfully validated Plan structured output"}]})
    (run,) = runs(
        agent(1, "planner", took=9, scope=scope),
        chat(2, 1, plan, "Plan.", at=1, scope=scope),
        tool(3, 1, "Plan", "call_a", at=3, events=[came], scope=scope),
    )
    assert (run["tool_calls"], run["boundaries"]) == ([], [])


_ADK = {"scope": "gcp.vertex.agent"}


def _said(role, *parts, **more):
    return {"role": role, "parts": list(parts)} | more


def _text(text):
    return {"type": "text", "content": text}


def _asks(call, name, **arguments):
    return {"type": "tool_call", "id": call, "name": name, "arguments": arguments}


def _brings(call, **response):
    return {"type": "tool_call_response", "id": call, "response": response}


def _generates(id, parent, at):
    told = {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 5}
    return span(id, parent, "generate_content m", at=at, attributes=told, **_ADK)


def _details(of, at, asked, *answer):
    told = {"gen_ai.input.messages": asked, "gen_ai.output.messages": list(answer)}
    return events((of, "gen_ai.client.inference.operation.details", at, told), named=True, deep=True, **_ADK)


def test_pieces_of_a_stream_that_adk_tells_in_a_log_record_are_one_answer():
    """google-adk 2.13, `StreamingMode.SSE`, content in log records: each piece is a message, and the last has a
    reason."""
    pieces = [_said("assistant", _text(x), finish_reason="") for x in ("It is ", "sunny in ")]
    (run,) = runs(
        agent(1, "planner", took=9, **_ADK),
        _generates(2, 1, 1),
        logs=[
            _details(
                2, 2, [_said("user", _text("Rome?"))], *pieces, _said("assistant", _text("Rome."), finish_reason="stop")
            )
        ],
    )
    assert (run["input"], run["output"]) == ("Rome?", "It is sunny in Rome.")


@pytest.mark.parametrize(
    ("came", "more", "status", "result"),
    [
        ({"error": "This tool call is rejected."}, {"error": "TOOL_ERROR"}, "requested", None),
        ({"result": "gone"}, {}, "ok", {"result": "gone"}),
    ],
)
def test_what_came_of_a_tool_once_leave_was_asked_for_it_stands_in_what_the_model_is_asked_next(
    came, more, status, result
):
    """google-adk 2.13, `require_confirmation`: the run after the answer to that begins with the tool, of which its span
    tells no arguments and no result; and the history has ids of its own."""
    history = [
        _said("user", _text("Cancel H-1.")),
        _said("assistant", _asks("cancel_0", "cancel", id="H-1"), _asks("look_1", "look", city="Rome")),
        _said("user", _brings("cancel_0", **came), _brings("look_1", result="sunny")),
    ]
    (run,) = runs(
        agent(1, "planner", took=9, **_ADK),
        tool(2, 1, "cancel", "adk-0152713c-736c-439e-9a56-a961c0dda232", at=1, took=0.5, **more, **_ADK),
        _generates(3, 1, 2),
        logs=[_details(3, 3, history, _said("assistant", _text("Well."), finish_reason="stop"))],
    )
    (call,) = run["tool_calls"]
    assert (call["status"], call["arguments"], call["result"]) == (status, {"id": "H-1"}, result)
    assert run["boundaries"] == []


def test_the_tool_by_which_an_agent_of_adks_ends_its_task_is_none():
    """google-adk 2.13, `mode="task"`."""
    (run,) = runs(
        agent(1, "worker", took=9, **_ADK),
        chat(2, 1, [("call_a", "finish_task", {"result": "TP123"})], "go", at=1, **_ADK),
        tool(3, 1, "finish_task", "call_a", at=3, **_ADK),
    )
    assert (run["tool_calls"], run["boundaries_unknown"]) == ([], [])


@pytest.mark.parametrize(
    ("thrown", "status"), [("asyncio.exceptions.CancelledError", "unknown"), ("builtins.OSError", "error")]
)
def test_a_tool_that_was_called_off_as_one_beside_it_raised_may_have_done_its_work(thrown, status):
    """pydantic-ai 2.68, two tools at once."""
    kit = {"scope": "pydantic-ai"}

    def raised(kind):
        return {"error": "", "events": [("exception", {"exception.type": kind, "exception.message": ""})]}

    spans = [
        agent(1, "planner", took=9, **raised("RuntimeError"), **kit),
        chat(2, 1, [("call_a", "book", {"n": 0}), ("call_b", "look", {"x": 1})], "go", at=1, **kit),
        tool(3, 1, "book", "call_a", at=3, **raised("RuntimeError"), **kit),
        tool(4, 1, "look", "call_b", at=3, **raised(thrown), **kit),
    ]
    found = frames([("traces", request(spans))])
    assert with_shortcut(*found)[0].equals(without(*found))
    (run,) = runs(*spans)
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("book", "error"), ("look", status)]
    assert (run["status"], run["boundaries"]) == ("error", ["error", "tool_failure"])


_ADK = {"scope": "gcp.vertex.agent"}


def _kit_of_a2a(id, parent, at, name="a2a.client.transports.jsonrpc.JsonRpcTransport._send_stream_request"):
    """A helper of A2A's kit, which says of each that it went well."""
    return span(id, parent, name, at=at, took=0.1, status=1, scope="a2a-python-sdk")


@pytest.mark.parametrize("kit", [_ADK, {"scope": "mine"}])
def test_how_it_went_is_unknown_where_an_agent_elsewhere_answered_and_nothing_of_that_is_told(kit):
    """google-adk 2.13, `RemoteA2aAgent`, and a2a-sdk 1.3: the client's spans are alike whether or not the agent in the
    server failed; that has a trace of its own, or goes on with the client's."""
    (alone,) = runs(agent(1, "worker", took=9, **kit), _kit_of_a2a(2, 1, 1))
    (handed,) = runs(
        agent(1, "boss", took=20, **kit),
        chat(2, 1, [("call_1", "transfer_to_agent", {"agent_name": "worker"})], "S", at=1, took=1, **kit),
        tool(3, 1, "transfer_to_agent", "call_1", at=3, took=0.5, **kit),
        agent(4, "worker", 1, at=5, took=9, **kit),
        _kit_of_a2a(5, 4, 6),
    )
    assert [r["status"] for r in (alone, handed)] == ["unknown", "unknown"]


@pytest.mark.parametrize(("asked", "status"), [(False, "unknown"), (True, "ok")])
def test_how_it_went_is_unknown_where_an_agent_hands_on_what_failed_elsewhere(asked, status):
    threw = [("exception", {"exception.type": "ValueError", "exception.message": "none"})]
    http = {"http.method": "POST"}
    frame = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "worker"}
    model = {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
    told = runs(
        span(9, name="invoke_workflow worker", took=21, attributes=frame, **_ADK),
        agent(1, "worker", 9, took=20, **_ADK),
        span(2, 1, "POST", at=1, took=10, attributes=http, scope="opentelemetry.instrumentation.httpx"),
        span(8, 2, "invoke_workflow worker", at=2, took=7, attributes=frame, error="none", events=threw, **_ADK),
        agent(3, "worker", 8, at=2, took=6, error="none", events=threw, **_ADK),
        span(4, 3, "generate_content m", at=3, took=1, attributes=model, **_ADK),
        *([chat(6, 1, "I cannot.", "S", at=12, took=1, **_ADK)] if asked else []),
    )
    assert [r["status"] for r in told] == [status]
