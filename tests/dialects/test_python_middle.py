"""Kits for Python in versions between the early and the newest ones."""

import json

import pytest

from tests.runs.requests import runs, span

_TRACE = """Traceback (most recent call last):


  File "lib/httpcore/_sync/http11.py", line 177, in _receive_response_headers
    event = self._receive_event(timeout=timeout)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

  File "lib/openai/_base_client.py", line 1014, in request
    raise {0}(request=request) from err


openai.{0}: {1}
"""


@pytest.mark.parametrize(
    ("type", "said", "seen"),
    [
        ("APIConnectionError", "Connection error.", ["error"]),
        ("APITimeoutError", "Request timed out.", ["timeout", "error"]),
    ],
)
def test_what_a_program_says_where_it_failed_is_no_reason(type, said, seen):
    """OpenInference of LangChain writes the whole traceback into a status."""
    told = f"{type}('{said}'){_TRACE.format(type, said)}"
    asked = {"attributes": {"openinference.span.kind": "CHAIN", "input.value": "Look."}}
    [run] = runs(
        span(1, None, "planner", took=9, error=told, **asked),
        span(2, 1, "ChatOpenAI", at=1, error=told, attributes={"openinference.span.kind": "LLM"}),
    )
    assert (run["status"], run["boundaries"]) == ("error", seen)


def _llama(id, parent, name, kind, at=0.0, took=1.0, **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    version = {"scope": "openinference.instrumentation.llama_index", "version": "3.0.4", "status": 1}
    return span(id, parent, name, at=at, took=took, attributes={"openinference.span.kind": kind} | told, **version)


def _llamas(id, at, answer, **more):
    """A model's call: what it was asked, and what it answered, as text or as the arguments of a call."""
    out = "llm.output_messages.0.message"
    told = {f"{out}.role": "assistant", "llm.input_messages.0.message.role": "user"}
    told |= {"llm.input_messages.0.message.content": "Look at Oslo.", "llm.model_name": "m"}
    if isinstance(answer, str):
        told[f"{out}.content"] = answer
    else:
        call = f"{out}.tool_calls.0.tool_call.function"
        told |= {f"{call}.name": "look", f"{call}.arguments": json.dumps(answer)}
    return _llama(id, 1, "OpenAI.chat", "LLM", at, **told, **more)


def test_what_keeps_an_answer_of_llama_indexs_is_no_model_and_what_it_keeps_no_answer():
    """llama-index-core 0.11: what it ends with at a limit is None, as Python prints it."""
    task = {"output__value": json.dumps({"input": "Look at Oslo.", "memory": {}})}
    (run,) = runs(
        _llama(1, None, "AgentRunner.chat", "AGENT", took=20, input__value="Look at Oslo.", output__value="None"),
        _llama(2, 1, "AgentRunner.create_task", "AGENT", 0.1, 0.1, **task),
        _llamas(3, 1, {"city": "Oslo"}),
        _llama(4, 1, "StreamingAgentChatResponse.write_response_to_history", "LLM", 3, input__value="{}"),
        _llama(5, 1, "AgentRunner.get_task", "AGENT", 18, **task),
    )
    assert (len(run["llm_calls"]), run["input"], run["output"]) == (1, "Look at Oslo.", None)


def test_a_tool_that_was_tried_by_place_and_then_by_name_was_asked_for_once():
    thrown = {"events": [("exception", {"exception.type": "ValueError", "exception.message": "full"})], "error": "full"}
    tried = [
        _llama(3, 1, "FunctionTool.acall", "TOOL", 3, tool__name="look", input__value='{"args": ["Oslo"]}') | thrown,
        _llama(4, 1, "FunctionTool.acall", "TOOL", 5, tool__name="look", input__value='{"kwargs": {"city": "Oslo"}}'),
    ]
    del tried[0]["status"], tried[1]["status"]
    top = _llama(1, None, "AgentRunner.chat", "AGENT", took=20, input__value="Look at Oslo.", output__value="Full.")
    (run,) = runs(top, _llamas(2, 1, {"city": "Oslo"}), *tried[:1], tried[1] | thrown, _llamas(5, 8, "Full."))
    assert [(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]] == [
        ("look", {"city": "Oslo"}, "error")
    ]


@pytest.mark.parametrize(
    ("came", "result", "status", "kind"),
    [
        ("Sunny.", "Sunny.", "ok", None),
        ("Error: closed", "Error: closed", "ok", "soft"),
        ("Tool with name look not found, please double check.",) * 2 + ("error", "soft"),
    ],
)
def test_what_a_tool_of_llama_indexs_gave_stands_in_the_content_of_its_output(came, result, status, kind):
    out = {"content": came, "tool_name": "look", "raw_input": {"args": [], "kwargs": {"city": "Oslo"}}}
    told = json.dumps(out | {"raw_output": came})
    (run,) = runs(
        _llama(1, None, "AgentRunner.chat", "AGENT", took=20, input__value="Look at Oslo.", output__value="Done."),
        _llamas(2, 1, {"city": "Oslo"}),
        _llama(3, 1, "FunctionTool.call", "TOOL", 3, tool__name="look", output__value=told),
        _llamas(4, 8, "Done."),
    )
    assert [(c["result"], c["status"], c["error_kind"]) for c in run["tool_calls"]] == [(result, status, kind)]


@pytest.mark.parametrize(("told", "status"), [({"output__value": "{}"}, "error"), ({}, "unknown")])
def test_a_workflow_whose_last_step_failed_and_that_puts_nothing_out_failed(told, status):
    """llama-index-core 0.13: its frame says that it went well. Where no step tells what it put out, the frame may have
    kept it to itself."""
    said = "Max iterations of 4 reached!"
    thrown = {"events": [("exception", {"exception.type": "WorkflowRuntimeError", "exception.message": said})]}
    (run,) = runs(
        _llama(1, None, "FunctionAgent.run", "CHAIN", took=20, input__value="Look at Oslo."),
        _llama(2, 1, "FunctionAgent.setup_agent", "CHAIN", 0.5, 0.1, **told),
        _llamas(3, 1, {"city": "Oslo"}),
        _llama(4, 1, "FunctionAgent.parse_agent_output", "CHAIN", 3) | {"status": None, "error": said} | thrown,
    )
    assert (run["status"], run["boundaries"]) == (status, ["max_steps"])
