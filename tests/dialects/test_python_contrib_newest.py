"""OpenTelemetry's own instrumentations of clients and kits for Python (1.3), by what they told of runs against a model
of ours."""

import pytest

from tests.runs.requests import agent, chat, events, runs, span, tool

pytestmark = pytest.mark.full

_OPENAI = "opentelemetry.instrumentation.genai.openai"
_GOOGLE = "opentelemetry.instrumentation.google_genai"
_DETAILS = "gen_ai.client.inference.operation.details"


def _said(role, *parts):
    return {"role": role, "parts": list(parts)}


def _words(text):
    return {"type": "text", "content": text}


def _back(call, what):
    return {"type": "tool_call_response", "id": call, "response": what}


def test_an_input_of_results_alone_goes_on_with_who_asked_for_them():
    """`previous_response_id`: what came before is not sent again, and each call has a trace of its own."""
    first, second = ([_said("tool", _back(call, what))] for call, what in (("call_a1", "seen"), ("call_b2", "again")))
    found = runs(
        chat(1, None, [("call_a1", "look", {})], "go", trace=1, at=0, scope=_OPENAI),
        chat(2, None, [("call_b2", "look", {})], first, trace=2, at=2, scope=_OPENAI),
        chat(3, None, "done", second, trace=3, at=4, scope=_OPENAI),
        chat(4, None, "hello", "hi", trace=4, at=6, scope=_OPENAI),
    )
    assert [(r["input"], r["output"], len(r["llm_calls"])) for r in found] == [("go", "done", 3), ("hi", "hello", 1)]
    assert [(c["result"], c["status"]) for c in found[0]["tool_calls"]] == [("seen", "ok"), ("again", "ok")]


def _calls_functions(answer=None, ran=1, **more):
    """Google's client, which calls functions itself: one span for all that the model said."""
    spans = [tool(n, 2, "look", None, "seen", at=n, scope=_GOOGLE) for n in range(3, 3 + ran)]
    (run,) = runs(span(1, None, "handle", took=30), chat(2, 1, answer, "go", took=20, scope=_GOOGLE, **more), *spans)
    return run["status"], run["llm_calls"], run["output"]


def test_a_span_of_several_calls_ends_as_the_last_of_them():
    assert _calls_functions(error="500", attributes={"error.type": "500"}) == ("error", None, None)
    assert _calls_functions([("look_0", "look", {})], ran=3) == ("unknown", None, None)
    assert _calls_functions("done", ran=3) == ("ok", None, "done")


def test_a_client_that_knows_no_function_of_that_name_was_answered():
    assert _calls_functions(ran=0, error="'launch'", attributes={"error.type": "KeyError"}) == ("error", None, None)
    status, calls, _ = _calls_functions(ran=0, error="500 None.", attributes={"error.type": "500"})
    assert (status, [c["status"] for c in calls]) == ("error", ["error"])


def test_a_stream_that_tells_all_its_answers_at_once_came_to_its_end():
    parts = [{"type": "tool_call", "id": "look_0", "name": "look", "arguments": {}}, _words("done")]
    told = {"gen_ai.output.messages": [{**_said("assistant", *parts), "finish_reason": "stop"}]}
    assert _calls_functions(attributes=told)[0] == "ok"


@pytest.mark.parametrize("named", [True, False])
def test_events_tell_which_tools_were_offered(named):
    """OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=EVENT_ONLY."""
    offered = [{"name": name, "type": "function", "parameters": None} for name in ("look", "watch")]
    told = {"gen_ai.tool.definitions": offered, "gen_ai.input.messages": [_said("user", _words("go"))]}
    told |= {"event.name": _DETAILS} if not named else {}
    (run,) = runs(
        span(1, None, "handle", took=9),
        chat(2, 1, "done", at=1, scope=_OPENAI),
        logs=[events((2, _DETAILS, 2, told), named=named)],
    )
    assert (run["known_tools"], run["known_tools_source"]) == (["look", "watch"], "offered")


_AGNO = "opentelemetry.instrumentation.genai.agno"


def _put_out(text, reason="stop"):
    return {"gen_ai.output.messages": [{**_said("assistant", _words(text)), "finish_reason": reason}]}


def _team(*steps, member, result, answer="", at=1.0):
    """A team that asks its member by a tool, without spans of models."""
    (run,) = runs(
        agent(1, "planner", took=30, scope=_AGNO, attributes=_put_out(answer) if answer else {}),
        tool(2, 1, "delegate_task_to_member", "c1", result, at=at, took=20, scope=_AGNO),
        agent(3, "worker", 2, at=2, took=10, scope=_AGNO, attributes=member),
        *steps,
    )
    return run


def test_a_member_that_puts_out_an_error_was_called_in_vain():
    run = _team(member=_put_out("boom", "error"), result="boom", answer="no luck")
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("worker", "error")]
    assert (run["status"], run["output"]) == ("ok", "no luck")


def test_without_content_nothing_says_how_an_agent_of_agnos_ended():
    run = _team(member={}, result=None)
    assert (run["status"], [d["status"] for d in run["delegations"]]) == ("unknown", ["unknown"])
    (run,) = runs(agent(1, "planner", took=9, scope=_AGNO), chat(2, 1, "done", "go", at=1, scope=_OPENAI))
    assert (run["status"], run["output"]) == ("ok", "done")


_EVENTS = '[{"created_at":1,"event":"RunStarted","agent_id":"worker"},{"created_at":2,"event":"RunCompleted"}]'


def test_what_a_member_said_in_a_stream_is_not_what_its_team_did():
    step = tool(4, 2, "look", "c2", "seen", at=4, scope=_AGNO)
    run = _team(step, member=_put_out("seen"), result=_EVENTS, answer="seen")
    assert (run["status"], run["output"]) == ("unknown", None)
    run = _team(step, chat(5, 1, "It was seen.", at=22), member=_put_out("seen"), result=_EVENTS, answer="seen")
    assert (run["status"], run["output"]) == ("ok", "It was seen.")
    run = _team(member=_put_out("seen"), result="seen", answer="seen")
    assert (run["status"], run["output"]) == ("ok", "seen")


def test_a_tool_beside_an_agent_in_the_tool_that_called_it_is_the_agents():
    run = _team(
        tool(4, 2, "look", "c2", "seen", at=4, scope=_AGNO),
        tool(5, 2, "watch", "c3", "seen", at=15, scope=_AGNO),
        member=_put_out("seen"),
        result=_EVENTS,
    )
    assert [(c["agent"], c["name"]) for c in run["tool_calls"]] == [("worker", "look"), (None, "watch")]


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("I have tools to execute, but I need confirmation.", "requested", "ok"),
        ("Run 1a2b3c4d-1a2b-1a2b-1a2b-1a2b3c4d5e6f was cancelled", "unknown", "unknown"),
    ],
)
def test_what_agno_waits_for_or_was_called_off_at_did_not_run(text, status, told):
    (run,) = runs(
        agent(1, "planner", took=9, scope=_AGNO, attributes=_put_out(text)),
        chat(2, 1, [("c1", "look", {})], "go", at=1, scope=_OPENAI),
    )
    assert ([c["status"] for c in run["tool_calls"]], run["status"]) == ([status], told)


def _looked(words, type="RuntimeError"):
    """LlamaIndex under opentelemetry-instrumentation-genai-llama-index, beside the client's own spans."""
    scope = "opentelemetry.instrumentation.genai.llama_index"
    call = {"type": "tool_call", "id": "call_1a", "name": "look", "arguments": {}}
    told = [_said("user", _words("go")), _said("assistant", call), _said("tool", _back("call_1a", words))]
    failed = {"error.type": type, "gen_ai.tool.call.arguments": "{}"}
    (run,) = runs(
        agent(1, "planner", took=9, scope=scope, attributes=_put_out("done") | {"gen_ai.input.messages": told[:1]}),
        chat(2, 1, [("call_1a", "look", {})], "go", at=1, scope=_OPENAI),
        tool(3, 1, "look", "call_1a", at=3, scope=scope, error=words, attributes=failed),
        chat(4, 1, "done", told, at=5, scope=_OPENAI),
    )
    return [(c["status"], c["error_type"]) for c in run["tool_calls"]]


def test_a_tool_that_nobody_has_did_not_run_where_its_span_and_the_model_are_told_so():
    assert _looked("Tool look not found. Please select a tool that is available.") == [("requested", None)]
    assert _looked("Tool output guardrail tidy triggered tripwire") == [("unknown", None)]
    assert _looked("no luck") == [("error", "RuntimeError")]
