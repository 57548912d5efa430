"""LlamaIndex 0.14 and its workflows 2.26: runs that somebody called off, and tools that a workflow's own steps call."""

import json

import pytest

from tests.runs.requests import runs, span

_OI, _OWN = "openinference.instrumentation.llama_index", "llamaindex.opentelemetry.tracer"
_TRACELOOP = "opentelemetry.instrumentation.llamaindex"
_GO = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]


def _of(scope, id, parent, name, at=0.0, took=1.0, kind=None, **told):
    told = {key.replace("__", "."): value for key, value in told.items() if "__" in key} | {
        key: value for key, value in told.items() if "__" not in key
    }
    events, status = told.pop("events", ()), told.pop("status", 1)
    told |= {"openinference.span.kind": kind} if kind else {}
    return span(id, parent, name, at=at, took=took, scope=scope, status=status, events=events, attributes=told)


def _asks(scope, id, parent, at):
    """A model's call that asks for a tool."""
    call = {"id": "c1", "type": "function", "function": {"name": "ask", "arguments": "{}"}}
    if scope == _OI:
        here = "llm__output_messages__0__message__"
        named = {f"{here}tool_calls__0__tool_call__function__name": "ask", f"{here}role": "assistant"}
        named |= {f"{here}tool_calls__0__tool_call__id": "c1"}
        named |= {f"{here}tool_calls__0__tool_call__function__arguments": "{}"}
        asked = {"llm__input_messages__0__message__role": "user", "llm__input_messages__0__message__content": "go"}
        return _of(scope, id, parent, "OpenAI.achat", at, kind="LLM", llm__model_name="m", **named, **asked)
    said = {"response.message.additional_kwargs.tool_calls": json.dumps([call]), "response.message.blocks": "[]"}
    given = {"messages": json.dumps([{"role": "user", "blocks": [{"block_type": "text", "text": "go"}]}])}
    began = ("LLMChatStartEvent", {"class_name": "LLMChatStartEvent", "model_dict.model": "m"} | given)
    ended = ("LLMChatEndEvent", {"class_name": "LLMChatEndEvent"} | said)
    return _of(scope, id, parent, "OpenAI.achat", at, events=[began, ended])


@pytest.mark.parametrize(("scope", "event"), [(_OI, "span.cancelled"), (_OWN, "SpanCancelledEvent")])
def test_an_event_tells_of_a_run_that_was_called_off(scope, event):
    told = [(event, {"reason": "workflow cancelled by user"})]
    kind = {"kind": "CHAIN"} if scope == _OI else {}
    (run,) = runs(
        _of(scope, 1, None, "FunctionAgent.run", took=9, events=told, **kind),
        _of(scope, 2, 1, "BaseWorkflowAgent.run_agent_step", 1, 3, **kind),
        _asks(scope, 3, 2, 1.1),
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("unknown", None, [])
    assert "error" in run["boundaries_unknown"]


def _step(id, at, took=1.0):
    told = {"traceloop__span__kind": "task", "traceloop__entity__output": '{"current_agent_name": "a"}'}
    return _of(_TRACELOOP, id, 1, "BaseWorkflowAgent.task", at, took, status=0, **told)


def _task(id, parent, name, at, **told):
    return _of(_TRACELOOP, id, parent, f"{name}.task", at, status=0, traceloop__span__kind="task", **told)


@pytest.mark.parametrize("asks", [True, False])
def test_a_step_that_made_a_request_ready_and_brought_no_answer_was_called_off(asks):
    said = json.dumps([{"role": "assistant", "parts": [], "finish_reason": "tool_call"}])
    chat = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m", "gen_ai__usage__input_tokens": 9}
    chat |= {"gen_ai__output__messages": said, "gen_ai__response__finish_reasons": '["tool_call"]'}
    tool = {"tool__name": "look", "tool__arguments": "{}", "traceloop__entity__output": '{"tool_id": "c1"}'}
    (run,) = runs(
        _of(_TRACELOOP, 1, None, "FunctionAgent.workflow", took=12, status=0, traceloop__span__kind="workflow"),
        *(_step(2, 0, 2), _task(3, 2, "OpenAI", 0.1, gen_ai__input__messages=json.dumps(_GO), **chat)),
        *(_step(4, 3), _task(5, 4, "FunctionTool", 3.1, **tool), _step(6, 5)),
        *((_step(7, 7, 5), _task(8, 7, "OpenAI", 7.1)) if asks else ()),
    )
    assert (run["status"], len(run["llm_calls"])) == ("unknown" if asks else "ok", 1)


def test_a_tool_that_a_workflows_step_calls_is_one_though_nothing_names_it():
    step = {"llamaindex.step.input_event": "StartEvent"}
    began = ("LLMCompletionStartEvent", {"class_name": "LLMCompletionStartEvent", "prompt": "go"})
    ended = ("LLMCompletionEndEvent", {"class_name": "LLMCompletionEndEvent", "response.text": "well"})
    (run,) = runs(
        _of(_OWN, 1, None, "W.run", took=9),
        _of(_OWN, 2, 1, "W.one", 1, 5, **step),
        _of(_OWN, 3, 2, "OpenAI.acomplete", 1.1, events=[began, ended], **step),
        _of(_OWN, 4, 2, "FunctionTool.acall", 3, **step),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [(None, "ok")]


def _answer(id, at, inputs=(), answer="done", **told):
    """A model's call, and what it was asked."""
    for n, message in enumerate(({"role": "user", "content": "go"}, *inputs)):
        told |= {f"llm__input_messages__{n}__message__{key}": value for key, value in message.items()}
    said = {"llm__output_messages__0__message__role": "assistant", "output__value": f"assistant: {answer}"}
    said |= {"llm__output_messages__0__message__content": answer} if answer is not None else {}
    return _of(_OI, id, 1, "OpenAI.achat", at, kind="LLM", llm__model_name="m", **told | said)


def test_what_a_tool_threw_reads_like_any_result_where_its_span_is_lost():
    """The kit has an `is_error` beside what a tool gave; a message tells the words of what was thrown alone."""
    call = {"tool_calls__0__tool_call__id": "c1", "tool_calls__0__tool_call__function__name": "ask"}
    call |= {"role": "assistant", "tool_calls__0__tool_call__function__arguments": "{}"}
    back = {"role": "tool", "content": "no such owl", "tool_call_id": "c1"}
    (run,) = runs(
        _of(_OI, 1, None, "FunctionAgent.run", took=9, kind="CHAIN"),
        _asks(_OI, 2, 1, 1),
        _answer(3, 5, [call, back]),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("ask", "unknown", "no such owl")]
    assert {"tool_failure", "tool_recovery"} <= set(run["boundaries_unknown"])


@pytest.mark.parametrize(("answer", "output"), [(None, None), ("None", "None")])
def test_a_message_without_words_is_printed_as_none(answer, output):
    (run,) = runs(_of(_OI, 1, None, "FunctionAgent.run", took=9, kind="CHAIN"), _answer(2, 1, answer=answer))
    assert run["output"] == output


@pytest.mark.parametrize("came", [True, False])
def test_each_step_of_an_agent_asks_a_model(came):
    """Where a later step has lost its model's call, nobody knows that the one which failed was the last."""

    def asked(id, at, lost=False, **told):
        step = _of(_OI, id, 1, "BaseWorkflowAgent.run_agent_step", at, 2, kind="CHAIN")
        call = _answer(id + 1, at + 0.1, answer=None if told else "done") | {"parent": id} | told
        return [step] if lost else [step, call]

    whole = _of(_OI, 1, None, "FunctionAgent.run", took=9, kind="CHAIN")
    (run,) = runs(whole, *asked(2, 1, error="500"), *asked(4, 5, lost=not came))
    assert (run["status"], "missing step" in run["incomplete"]) == (("ok", False) if came else ("unknown", True))
