"""OpenAI's Agents SDK for JavaScript: leave that is asked for, guards, limits, agents as tools, streams given up."""

import pytest

from tests.runs.requests import chat, runs, span

_OI = "@arizeai/openinference-instrumentation-openai-agents"


def _oi(id, parent, kind, name, at, took=1.0, **told):
    """A span of OpenInference 0.2 for OpenAI's Agents SDK for JavaScript 0.20, which ends well."""
    told = {"openinference.span.kind": kind, "llm.system": "openai"} | told
    return span(id, parent, name, at=at, took=took, status=1, scope=_OI, attributes=told)


def _agent(id, parent, name, at=0.0, took=9.0):
    return _oi(id, parent, "AGENT", name, at, took, **{"graph.node.id": name})


def _response(id, parent, at, asked, *items):
    """One of OpenAI's Responses; `asked` as (role, text), where `call` and `tool` tell a call's id."""
    told = {"llm.model_name": "m", "llm.finish_reason": "stop", "llm.token_count.prompt": 10}
    told["output.value"] = {"id": f"resp_{id}", "object": "response", "output": list(items)}
    for n, (role, text) in enumerate(asked):
        message = f"llm.input_messages.{n}.message"
        told[f"{message}.role"] = {"call": "assistant"}.get(role, role)
        if role == "call":
            told |= {f"{message}.tool_calls.0.tool_call.{k}": v for k, v in {"id": text, "function.name": "f"}.items()}
        else:
            told[f"{message}.content"] = text
    flat = "llm.output_messages.0.message"
    for item in items:
        told[f"{flat}.role"] = "assistant"
        if item["type"] == "message":
            told[f"{flat}.contents.0.message_content.text"] = item["content"][0]["text"]
        elif item["type"] == "function_call":
            call = {"id": item["call_id"], "function.name": item["name"], "function.arguments": item["arguments"]}
            told |= {f"{flat}.tool_calls.0.tool_call.{k}": v for k, v in call.items()}
    return _oi(id, parent, "LLM", "response", at, 0.5, **told)


def _says(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def test_a_run_that_goes_on_in_an_agent_which_a_tool_called_was_asked_what_its_own_model_is_told():
    """The inner one waited for leave, and is asked first when all is run again."""
    (run,) = runs(
        _oi(1, None, "CHAIN", "Agent workflow", 0, 9),
        _agent(2, 1, "boss"),
        _oi(3, 2, "TOOL", "ask_worker", 1, 3, **{"tool.name": "ask_worker", "input.value": '{"input": "work"}'}),
        _agent(4, 3, "worker", 1, 3),
        _response(5, 4, 2, [("user", "work"), ("call", "c1"), ("tool", "done")], _says("worked")),
        _response(6, 2, 5, [("user", "go"), ("call", "c0"), ("tool", "worked")], _says("led")),
    )
    assert (run["input"], run["output"], run["agents"]) == ("go", "led", ["boss", "worker"])


@pytest.mark.parametrize(("given", "status"), [(None, "requested"), ("completed", "ok"), ("failed", "error")])
def test_what_one_of_openais_responses_asks_leave_for_is_one_call_with_what_came_of_it(given, status):
    """A server's tool under `require_approval`, with leave given in the same trace, or not."""
    call = {"server_label": "docs", "name": "look", "arguments": '{"x": 1}'}
    asks = {"id": "mcpr_1", "type": "mcp_approval_request"} | call
    ran = {"id": "mcp_2", "type": "mcp_call", "approval_request_id": "mcpr_1", "status": given, "output": "seen"} | call
    spans = [_agent(1, None, "a"), _response(2, 1, 1, [("user", "go")], asks)]
    if given:
        spans.append(_response(3, 1, 3, [("user", "go")], ran, _says("Done.")))
    (run,) = runs(*spans)
    assert [(c["name"], c["arguments"], c["status"], c["turn"]) for c in run["tool_calls"]] == [
        ("look", {"x": 1}, status, 0)
    ]


def test_how_a_stream_went_that_was_given_up_is_unknown():
    """No answer is told of it, and all ends well."""
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    (run,) = runs(
        _oi(1, None, "AGENT", "Agent workflow", 0, 9, **{"input.value": '[{"role": "user", "content": "go"}]'}),
        _agent(2, 1, "a"),
        _oi(3, 2, "LLM", "response", 1, 1, **asked),
    )
    assert (run["status"], run["output"], [c["status"] for c in run["llm_calls"]]) == ("unknown", None, ["unknown"])


def _langsmith(**told):
    told = {"langsmith.metadata.ls_integration": "openai-agents-sdk", "gen_ai.system": "langchain"} | told
    return span(1, name="handle", took=9, status=1, scope="langsmith", attributes=told)


def test_a_guardrail_of_openais_kit_under_langsmith_for_javascript_is_no_tool():
    """langsmith 0.12, whose processor writes all over the program's own span."""
    told = {"langsmith.span.kind": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "guard"}
    guard = {"langsmith.metadata.triggered": "true", "gen_ai.prompt": "{}", "gen_ai.completion": "{}"}
    assert [c["name"] for c in runs(_langsmith(**told))[0]["tool_calls"]] == ["guard"]
    assert runs(_langsmith(**told, **guard)) == []


def test_what_came_of_a_hand_over_that_one_model_call_alone_tells_is_unknown():
    (run,) = runs(chat(1, None, [("c1", "transfer_to_worker", {})], "go"))
    assert [d["status"] for d in run["delegations"]] == ["unknown"]


@pytest.mark.parametrize(
    ("said", "of_all", "status"),
    [
        ('Max turns exceeded: {"max_turns":4}', False, "unknown"),
        ('Max turns exceeded: {"max_turns":4}', True, "error"),
        ('Error in agent run: {"error":"ModelBehaviorError: no"}', False, "error"),
    ],
)
def test_somebody_may_answer_in_place_of_an_agent_of_openais_that_met_its_limit(said, of_all, status):
    """`errorHandlers` of the kit for JavaScript 0.20: nothing around the agent failed."""
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    failed = {"status": 2, "error": said}
    (run,) = runs(
        _oi(1, None, "CHAIN", "Agent workflow", 0, 9) | (failed if of_all else {}),
        _agent(2, 1, "a") | failed,
        _response(3, 2, 1, [("user", "go")], call),
        _oi(4, 2, "TOOL", "look", 2, **{"tool.name": "look", "input.value": "{}", "output.value": "seen"}),
    )
    assert (run["status"], "max_steps" in run["boundaries"]) == (status, said.startswith("Max"))


def test_what_a_guardrail_stopped_is_no_answer_though_it_was_streamed():
    said = 'Error in agent run: {"error":"OutputGuardrailTripwireTriggered: Output guardrail triggered: {}"}'
    (run,) = runs(
        _oi(1, None, "AGENT", "Agent workflow", 0, 9, **{"input.value": "go", "output.value": "A secret."}),
        _agent(2, 1, "a") | {"status": 2, "error": said},
        _response(3, 2, 1, [("user", "go")], _says("A secret.")),
    )
    assert (run["status"], run["output"]) == ("error", None)
