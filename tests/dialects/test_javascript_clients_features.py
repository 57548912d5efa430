"""Clients of providers in JavaScript, as instrumentations tell them: what they leave out of what the provider ran."""

import json

import pytest

from tests.runs.requests import chat, runs, span

pytestmark = pytest.mark.full

_HISTORY = [
    {"role": "user", "parts": [{"type": "text", "content": "go"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]},
]


def test_a_call_whose_name_a_stream_lost_is_none_that_nobody_made():
    """OpenInference 0.2 of Anthropic's client for JavaScript, of what the provider ran; the client's own calls stay."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "end_turn"}
    message = "llm.output_messages.0.message"
    told |= {f"{message}.role": "assistant", f"{message}.contents.0.message_content.type": "text"}
    told |= {f"{message}.contents.0.message_content.text": "I search."}
    lost = {f"{message}.tool_calls.-1.tool_call.function.arguments": '{"query": "x"}'}
    call = {"function.arguments": "{}", "function.name": "look", "id": "c1"}
    own = {f"{message}.tool_calls.0.tool_call.{key}": value for key, value in call.items()}
    assert runs(span(1, None, attributes=told))[0]["tool_calls"] == []
    (run,) = runs(span(1, None, attributes=told | lost))
    assert (run["tool_calls"], "tool calls not visible" in run["incomplete"]) == (None, True)
    (run,) = runs(span(1, None, attributes=told | lost | own))
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    assert "tool calls not visible" in run["incomplete"]


def test_a_tool_that_openais_client_had_no_function_for_did_not_run():
    """Version 7 for JavaScript, `runTools`."""
    said = 'Invalid tool_call: "look". Available options are: "find". Please try again'
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": said}]}
    (run,) = runs(
        span(1, name="handle", took=9),
        chat(2, 1, [("c1", "look", {"x": 1})], "go", at=1),
        chat(3, 1, "Done.", [*_HISTORY, back], at=3),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("requested", said)]


def _client(id, at, answer, *asked):
    """A span of Anthropic's own client for JavaScript 1.14."""
    told = {"gen_ai.output.messages": [{"role": "assistant", "parts": answer}]} if answer else {}
    return chat(id, 1, None, list(asked), at=at, scope="com.anthropic.sdk.typescript", attributes=told)


@pytest.mark.parametrize(
    ("id", "brought", "status"),
    [
        ("toolu_1", [{"type": "text", "text": "seen"}], "unknown"),  # it leaves out whether it was flagged an error
        ("mcptoolu_1", [{"type": "text", "text": "seen"}], "unknown"),
        ("srvtoolu_1", [{"type": "web_search_result", "url": "x"}], "ok"),
        ("srvtoolu_1", [{"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}], "error"),
    ],
)
def test_how_a_tool_went_whose_flag_anthropics_client_leaves_out_is_unknown(id, brought, status):
    call = {"type": "tool_call", "id": id, "name": "look", "arguments": {}}
    back = {"type": "tool_call_response", "id": id, "response": brought}
    text, user = {"type": "text", "content": "Done."}, {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    spans = [_client(2, 1, [call, back, text], user)]
    if id == "toolu_1":
        history = [user, {"role": "assistant", "parts": [call]}, {"role": "user", "parts": [back]}]
        spans = [_client(2, 1, [call], user), _client(3, 3, [text], *history)]
    (run,) = runs(span(1, name="handle", took=9), *spans)
    assert [c["status"] for c in run["tool_calls"]] == [status]


def _traceloop(id, at, asked, answer, response="resp_1"):
    """One of OpenAI's Responses by Traceloop's 0.27 of the client for JavaScript, which tells its text alone."""
    told = {"gen_ai.response.id": response, "gen_ai.response.finish_reasons": ["stop"]}
    told["gen_ai.input.messages"] = [{"role": "user", "parts": [{"type": "text", "content": asked}]}]
    said = [{"type": "text", "content": answer}]
    told["gen_ai.output.messages"] = [{"role": "assistant", "finish_reason": "stop", "parts": said}]
    return chat(id, 1, at=at, scope="@traceloop/instrumentation-openai", attributes=told)


def test_a_text_alone_does_not_say_that_the_provider_ran_no_tool():
    (run,) = runs(span(1, name="handle", took=9), _traceloop(2, 1, "go", "Seen."))
    assert (run["tool_calls"], run["output"]) == (None, "Seen.")
    (run,) = runs(span(1, name="handle", took=9), _traceloop(2, 1, "go", "Seen.", "chatcmpl-1"))
    assert run["tool_calls"] == []


def test_what_the_provider_ran_that_a_later_input_tells_of_is_no_request():
    items = [
        {"role": "user", "content": "go"},
        {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"query": "x"}},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
    ]
    (run,) = runs(
        span(1, name="handle", took=9),
        _traceloop(2, 1, json.dumps(items[:1]), ""),
        _traceloop(3, 3, json.dumps(items), "Done.", "resp_2"),
    )
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [
        ("web_search", "ok", 0),
        ("look", "ok", 0),
    ]


def _gemini(definitions, *parts):
    """Google's client for JavaScript under Traceloop's 0.27."""
    told = {"gen_ai.tool.definitions": definitions, "gen_ai.response.finish_reasons": ["stop"]}
    told["gen_ai.output.messages"] = [{"role": "assistant", "finish_reason": "stop", "parts": list(parts)}]
    scope = "@traceloop/instrumentation-google-generativeai"
    return chat(2, 1, asked="go", at=1, scope=scope, attributes=told)


def test_googles_client_for_javascript_calls_functions_itself():
    """`CallableTool`, of which JSON shows nothing: the span is the last of several calls."""
    text = {"type": "text", "content": "Seen."}
    (run,) = runs(span(1, name="handle", took=9), _gemini([{}], text))
    assert (run["llm_calls"], run["tool_calls"], run["input"], run["output"]) == (None, None, "go", "Seen.")
    declared = [{"functionDeclarations": [{"name": "look"}]}]
    (run,) = runs(span(1, name="handle", took=9), _gemini(declared, text))
    assert (len(run["llm_calls"]), run["tool_calls"]) == (1, [])


@pytest.mark.parametrize(("outcome", "status"), [("OUTCOME_OK", "ok"), ("OUTCOME_FAILED", "error")])
def test_code_that_gemini_ran_is_a_call_as_traceloop_for_javascript_writes_it(outcome, status):
    code = {"type": "executable_code", "language": "PYTHON", "content": "print(2)"}
    result = {"type": "code_execution_result", "outcome": outcome, "content": "2"}
    (run,) = runs(span(1, name="handle", took=9), _gemini([{"codeExecution": {}}], code, result))
    assert [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("code_execution", {"code": "print(2)"}, status, "2")
    ]


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}])
def test_what_anthropic_ran_may_be_left_out_by_openlit_for_javascript(parameters):
    offered = [{"type": "function", "name": "look", "description": "", "parameters": parameters}]
    told = {"gen_ai.tool.definitions": offered, "gen_ai.response.finish_reasons": ["stop"]}
    (run,) = runs(
        span(1, name="handle", took=9),
        chat(2, 1, "Seen.", "go", at=1, scope="@openlit/instrumentation-anthropic", attributes=told),
    )
    assert run["tool_calls"] == ([] if parameters else None)


@pytest.mark.parametrize(("id", "called"), [("resp_1", None), ("msg_1", None), ("chatcmpl-1", [])])
def test_without_content_the_provider_may_have_run_its_own_tools(id, called):
    told = {"gen_ai.response.id": id, "gen_ai.response.finish_reasons": ["stop"]}
    (run,) = runs(span(1, name="handle", took=9), chat(2, 1, at=1, attributes=told))
    assert run["tool_calls"] == called
