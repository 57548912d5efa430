"""OpenAI's agents 0.24 for Python: guards, tools that end a run, streams called off, and what is printed whole."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span

pytestmark = pytest.mark.full

_OI = "openinference.instrumentation.openai_agents"
_TRACELOOP = "opentelemetry.instrumentation.openai_agents"


def _of(id, parent, name, kind, at=0.0, took=1.0, status=1, **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    return span(
        id,
        parent,
        name,
        at=at,
        took=took,
        scope=_OI,
        status=status,
        attributes={"openinference.span.kind": kind} | told,
    )


def _run(*inside, agent=None, took=20):
    return runs(
        _of(1, None, "Agent workflow", "AGENT", took=took),
        _of(2, 1, "a", "AGENT", took=took, agent__name="a") | (agent or {}),
        *inside,
    )


def _answer(id, at, *said, parent=2, **more):
    output = [
        {"type": "function_call", "id": f"f{call}", "call_id": call, "name": name, "arguments": "{}"}
        if call
        else {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": name}]}
        for call, name in said
    ]
    told = {"output__value": json.dumps({"id": f"resp_{id}", "object": "response", "output": output})} if said else {}
    asked = {"llm__input_messages__0__message__role": "user", "llm__input_messages__0__message__content": "go"}
    told |= {"llm__model_name": "m", "llm__token_count__prompt": 9, **asked} if said else {}
    for at_, (call, name) in enumerate(said):
        here = "llm__output_messages__0__message__"
        if call:
            told |= {f"{here}tool_calls__{at_}__tool_call__id": call}
            told |= {f"{here}tool_calls__{at_}__tool_call__function__name": name}
            told |= {f"{here}tool_calls__{at_}__tool_call__function__arguments": "{}"}
        else:
            told |= {f"{here}content": name}
        told |= {f"{here}role": "assistant"}
    return _of(id, parent, "response", "LLM", at, 1, **told, **more)


def _tool(id, at, name, **more):
    return _of(id, 2, name, "TOOL", at, 1, tool__name=name, **more)


def _threw(words, fatal):
    how = "Error running tool" if fatal else "Error running tool (non-fatal)"
    return {"status": 2, "error": f"{how}: {{'tool_name': 'boom', 'error': '{words}'}}"}


def test_a_tool_whose_error_was_told_to_the_model_ended_no_run():
    """`tool_use_behavior`: what it said is the answer."""
    said = "An error occurred while running the tool. Please try again."
    boom = _tool(4, 3, "boom", output__value=said) | _threw("no", fatal=False)
    (run,) = _run(_answer(3, 1, ("c1", "boom")), boom, took=4.1)
    assert (run["status"], [c["status"] for c in run["tool_calls"]]) == ("unknown", ["error"])
    assert run["boundaries"] == ["tool_failure"]


@pytest.mark.parametrize(("guard", "status"), [("input", "requested"), ("output", "unknown")])
def test_what_a_guard_of_a_tool_stopped_is_no_failure_of_the_tools(guard, status):
    words = f"Tool {guard} guardrail ToolGuardrail triggered tripwire"
    broke = {"status": 2, "error": f"Error in agent run: {{'error': '{words}'}}"}
    (run,) = _run(_answer(3, 1, ("c1", "boom")), _tool(4, 3, "boom") | _threw(words, fatal=True), agent=broke)
    assert (run["status"], [c["status"] for c in run["tool_calls"]]) == ("error", [status])
    assert run["boundaries"] == ["error"]


def test_a_stream_that_was_called_off_after_its_turn_ends_like_tools_that_gave_the_answer():
    (run,) = _run(_answer(3, 1, ("c1", "look")), _tool(4, 3, "look", output__value="seen"))
    assert (run["status"], run["output"], [c["status"] for c in run["tool_calls"]]) == ("unknown", None, ["ok"])


def test_a_model_that_a_guard_beside_it_stopped_answered_nothing():
    turn = _of(3, 2, "turn", "CHAIN", 0, 5, status=2) | {"error": "Guardrail tripwire triggered: {'guardrail': 'deny'}"}
    guard = _of(4, 3, "deny", "GUARDRAIL", 0, 4)
    (run,) = _run(turn, guard, _answer(5, 0.1, parent=3), took=6)
    assert [c["status"] for c in run["llm_calls"]] == ["unknown"]


def _printed(*said, scope=_TRACELOOP):
    """Traceloop prints what the kit makes of chat completions."""

    def chat(id, at, words):
        answer = [{"role": "assistant", "parts": [{"type": "text", "content": words}]}]
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
        told |= {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]}
        told |= {"gen_ai.output.messages": json.dumps(answer)}
        return span(id, 2, "chat m", at=at, scope=scope, status=1, attributes=told)

    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
    (run,) = runs(
        span(1, None, "Agent workflow", took=20, scope=scope, status=1),
        span(2, 1, "invoke_agent a", took=20, scope=scope, status=1, attributes=named),
        *(chat(3 + n, 1 + 2 * n, words) for n, words in enumerate(said)),
    )
    return run


_CALL = {"id": "c1", "function": {"arguments": '{"q": 1}', "name": "look"}, "type": "function"}
_ITEM = {"arguments": '{"q": 1}', "call_id": "c1", "name": "look", "type": "function_call", "id": "__fake_id__"}
_SAID = {"type": "message", "role": "assistant", "content": [{"text": "a b", "type": "output_text"}]}


@pytest.mark.parametrize(
    "asks",
    [
        {"content": None, "refusal": None, "role": "assistant", "annotations": None, "tool_calls": [_CALL]},
        {"id": "__fake_id__", "error": None, "model": "m", "object": "response", "output": [_ITEM]},
    ],
)
def test_a_message_that_is_printed_whole_asks_for_what_is_in_it(asks):
    run = _printed(repr(asks))
    assert (run["output"], [(c["name"], c["arguments"]) for c in run["tool_calls"]]) == (None, [("look", {"q": 1})])


def test_a_response_that_is_printed_whole_says_what_is_in_it_if_it_can_be_read():
    told = repr({"id": "__fake_id__", "error": None, "model": "m", "object": "response", "output": [_SAID]})
    assert [_printed(text)["output"] for text in (told, told[:-9])] == ["a b", None]


def test_what_a_provider_asks_leave_for_or_ran_is_printed_too():
    leave = """McpApprovalRequest(id='mcpr_1', arguments='{"p":1}', name='rm', type='mcp_approval_request')"""
    said = "action=ActionSearch(query='q'), status='completed', type='web_search_call'"
    ran = f"ResponseFunctionWebSearch(id='ws_1', {said})"
    found = [_printed(text) for text in (leave, ran)]
    assert [[(c["name"], c["status"]) for c in run["tool_calls"]] for run in found] == [
        [("rm", "requested")],
        [("web_search", "ok")],
    ]
    assert [run["output"] for run in found] == [None, None]


def _mlflow(id, parent, name, kind, put_out=None, at=0.0, took=1.0, **more):
    told = {"mlflow.spanType": f'"{kind}"'} | ({} if put_out is None else {"mlflow.spanOutputs": json.dumps(put_out)})
    told |= more.pop("told", {})
    return span(
        *(id, parent, name), at=at, took=took, scope="mlflow.tracing.provider", attributes=told, **{"status": 1} | more
    )


_GIVEN = {"mlflow.spanInputs": json.dumps([{"role": "user", "content": "go"}])}
_ASKS = [{"type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{}"}]


@pytest.mark.parametrize("again", [True, False])
def test_what_mlflow_prints_for_a_stream_is_no_answer_nor_does_it_say_that_one_was_called_off(again):
    printed = "<AsyncAPIResponse [200 OK] type=<class 'openai.types.responses.response.Response'>>"
    more = [
        _mlflow(6, 2, "Response", "CHAT_MODEL", at=6, took=2, told=_GIVEN | {"mlflow.spanOutputs": "null"}),
        _mlflow(7, 6, "AsyncResponses", "CHAT_MODEL", printed, at=6.1, told=_GIVEN),
    ]
    (run,) = runs(
        _mlflow(1, None, "AgentRunner.run_streamed", "AGENT", took=9),
        _mlflow(2, 1, "a", "AGENT", took=9),
        _mlflow(3, 2, "Response", "CHAT_MODEL", _ASKS, at=1, took=2, told=_GIVEN),
        _mlflow(4, 3, "AsyncResponses", "CHAT_MODEL", printed, at=1.1, told=_GIVEN),
        _mlflow(5, 2, "look", "TOOL", "seen", at=4),
        *(more if again else []),
    )
    assert (run["status"], run["output"], [c["status"] for c in run["tool_calls"]]) == ("unknown", None, ["ok"])


def test_mlflow_tells_what_a_guard_stopped_where_the_places_in_a_program_would_stand():
    why = '{"tool_name": "look", "error": "Tool input guardrail ToolGuardrail triggered tripwire"}'
    said = {"exception.type": "", "exception.message": "Error running tool", "exception.stacktrace": why}
    wrong = {"status": 2, "error": "Error running tool", "events": [("exception", said)]}
    (run,) = runs(
        _mlflow(1, None, "a", "AGENT", took=9, status=2, error="Error in agent run"),
        _mlflow(2, 1, "Response", "CHAT_MODEL", _ASKS, at=1, told=_GIVEN),
        _mlflow(3, 1, "look", "TOOL", at=3, **wrong),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "requested")]


@pytest.mark.parametrize(
    ("part", "output"),
    [
        ("ResponseOutputText(annotations=[], text='', type='output_text', logprobs=None)", None),
        ("ResponseOutputRefusal(refusal='I will not.', type='refusal')", "I will not."),
    ],
)
def test_an_answer_without_a_text_that_is_printed_whole_is_what_it_holds(part, output):
    """opentelemetry-instrumentation-openai-agents-v2 0.1."""
    printed = f"ResponseOutputMessage(id='msg_1', content=[{part}], role='assistant', status='completed', phase=None)"
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, printed, "go", at=1, scope=_TRACELOOP))
    assert (run["output"], run["status"]) == (output, "ok")


@pytest.mark.parametrize("apart", [True, False])
def test_requests_that_a_program_asks_one_after_another_are_runs_though_their_frames_bear_no_name(apart):
    def asked(id, at, name):
        return [
            _of(id, 1, "Agent workflow", "AGENT", at, 8),
            _of(id + 1, id, "Agent workflow", "CHAIN", at, 8),
            _of(id + 2, id + 1, name, "AGENT", at, 8, agent__name=name),
            _answer(id + 3, at + 1, (None, f"{id}."), parent=id + 2),
        ]

    found = runs(span(1, None, "batch", took=30), *asked(2, 1, "a"), *asked(6, 10, "a" if apart else "b"))
    assert [r["output"] for r in found] == (["2.", "6."] if apart else ["6."])


@pytest.mark.parametrize("failed", [None, "Max turns exceeded"])
def test_where_no_call_of_a_model_is_told_nor_is_what_failed_in_one(failed):
    of, scope = "gen_ai.operation.name", {"scope": "opentelemetry.instrumentation.genai.openai_agents"}
    asked = {of: "invoke_agent", "gen_ai.agent.name": "a"}
    ran = {of: "execute_tool", "gen_ai.tool.name": "look"}
    (run,) = runs(
        span(1, None, "invoke_workflow w", took=9, attributes={of: "invoke_workflow"}, **scope),
        span(2, 1, "invoke_agent a", took=9, attributes=asked, **scope) | {"error": failed},
        span(3, 2, "execute_tool look", at=2, attributes=ran, **scope),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["look"] and run["llm_calls"] is None
    assert run["status"] == ("error" if failed else "unknown")
