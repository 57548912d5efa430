"""Kits for Python in versions between the early and the newest ones: what tools, models and runs say of themselves."""

import json

import pytest

from tests.runs.requests import agent, runs, span

pytestmark = pytest.mark.full

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
        ("Tool with name look not found, please double check.",) * 2 + ("requested", None),
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


_OF_OPENAI = {"scope": "openinference.instrumentation.openai_agents"}


def _step(id, parent, name, kind, at=0.0, took=1.0, **more):
    told = {key.replace("__", "."): value for key, value in more.items() if "__" in key}
    rest = {key: value for key, value in more.items() if "__" not in key}
    return span(
        id, parent, name, at=at, took=took, attributes={"openinference.span.kind": kind} | told, **_OF_OPENAI, **rest
    )


def _generation(id, at, took=1.0, answer=None, asked=(("user", "go"),), **more):
    told = {"llm.model_name": "m", "input.value": "[]"}
    for n, (role, text) in enumerate(asked):
        told |= {f"llm.input_messages.{n}.message.{key}": value for key, value in zip(_KEYS, (role, text), strict=True)}
    if answer is not None:
        told |= {"output.value": "[]", "llm.output_messages.0.message.role": "assistant", "llm.token_count.prompt": 3}
        told["llm.output_messages.0.message.content"] = answer
    made = _step(id, 2, "generation", "LLM", at, took, **more)
    made["attributes"] |= told
    return made


_KEYS = ("role", "content")


@pytest.mark.parametrize("status", [None, 1])
@pytest.mark.parametrize(("answer", "told"), [(None, "unknown"), ("Fine.", "ok")])
def test_openinference_of_openais_agents_says_well_of_a_run_that_raised(status, answer, told):
    """0.1.5 with openai-agents 0.0.7: only the outermost span has a status. Later, each has one, and of chat
    completions each says that all went well."""
    (run,) = runs(
        _step(1, None, "Agent workflow", "AGENT", took=9, status=1),
        _step(2, 1, "planner", "AGENT", took=8, status=status),
        _generation(3, 1, answer=answer, status=status),
    )
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == (told, [told])


@pytest.mark.parametrize(("took", "output", "status"), [(20, None, "unknown"), (2, "Fine.", "ok")])
def test_an_agent_that_did_not_wait_for_its_model_was_stopped(took, output, status):
    """A guard of OpenAI's agents looks at what was asked while the model is asked."""
    (run,) = runs(
        _step(1, None, "Agent workflow", "AGENT", took=9, status=1),
        _step(2, 1, "planner", "AGENT", took=8),
        _step(4, 2, "stop", "CHAIN", 1, 1),
        _generation(3, 1, took, "Fine."),
    )
    assert (run["output"], run["status"]) == (output, status)


def test_one_of_several_agents_to_whom_work_was_handed_at_once_is_no_tool():
    """openai-agents answers all but the first in the place of a tool."""
    ways = [("c1", "transfer_to_worker", "{}"), ("c2", "transfer_to_writer", "{}")]
    came = {"c1": '{"assistant": "worker"}', "c2": "Multiple handoffs detected, ignoring this one."}

    def asked(place):
        call = "message.tool_calls.{}.tool_call"
        told = {f"{place}.message.role": "assistant"}
        for n, (id, name, arguments) in enumerate(ways):
            at = f"{place}.{call.format(n)}"
            told |= {f"{at}.id": id, f"{at}.function.name": name, f"{at}.function.arguments": arguments}
        return told

    first = _generation(3, 1, answer="", status=1)
    del first["attributes"]["llm.output_messages.0.message.content"]
    first["attributes"] |= asked("llm.output_messages.0")
    second = _generation(6, 5, answer="Here.", status=1) | {"parent": 5}
    second["attributes"] |= asked("llm.input_messages.1")
    for n, (id, text) in enumerate(came.items(), 2):
        at = f"llm.input_messages.{n}.message"
        second["attributes"] |= {f"{at}.role": "tool", f"{at}.tool_call_id": id, f"{at}.content": text}
    (run,) = runs(
        _step(1, None, "Agent workflow", "AGENT", took=9, status=1),
        _step(2, 1, "planner", "AGENT", took=3, graph__node__id="planner", status=1),
        first,
        _step(4, 2, "handoff to worker", "TOOL", 2, 0.1, error="Multiple handoffs requested"),
        _step(5, 1, "worker", "AGENT", 4, 3, graph__node__id="worker", status=1),
        second,
    )
    assert run["tool_calls"] == []
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "worker")]


@pytest.mark.parametrize(("told", "status"), [({"tool_response": "Sun."}, "ok"), ({}, "unknown")])
def test_a_tool_of_pydantic_ais_that_tells_what_came_back_tells_whether_it_failed(told, status):
    """0.4 tells it, 0.1 does not, and not that a tool raised."""
    scope = {"scope": "pydantic-ai", "version": "0.4.4"}
    asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "model_request_parameters": "{}"}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    choice = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "event.name": "gen_ai.choice"}
    ran = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1", "tool_arguments": "{}"} | told
    (run,) = runs(
        span(1, None, "agent run", took=9, attributes={"agent_name": "planner", "model_name": "m"}, **scope),
        span(2, 1, "chat m", at=1, attributes=asked | {"events": json.dumps([choice])}, **scope),
        span(3, 1, "running tool", at=3, attributes=ran, **scope),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]


def _completion(id, at, answer, asked):
    """A call of CrewAI's, whose tools stand in its prompt alone."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "output.value": "{}"}
    messages = [{"role": role, "content": text} for role, text in asked]
    told["llm.invocation_parameters"] = json.dumps({"model": "m", "messages": messages, "stop": ["\nObservation:"]})
    for n, (role, text) in enumerate(asked):
        told |= {f"llm.input_messages.{n}.message.role": role, f"llm.input_messages.{n}.message.content": text}
    told |= {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": answer}
    return span(id, 2, "completion", at=at, attributes=told, status=1, scope="openinference.instrumentation.litellm")


def test_parameters_without_a_word_of_tools_offer_none():
    """crewai 0.134: a tool that nobody has, asked for in words."""
    asked = [("system", "Use tools: look."), ("user", "Current Task: go")]
    action = 'Thought: away\nAction: teleport\nAction Input: {"to": "Mars"}'
    seen = f"{action}\nObservation: I encountered an error: Action 'teleport' don't exist"
    scope = {"scope": "openinference.instrumentation.crewai", "status": 1}
    (run,) = runs(
        span(1, None, "Crew.kickoff", took=20, attributes={"openinference.span.kind": "CHAIN"}, **scope),
        span(2, 1, "Task._execute_core", took=19, attributes={"openinference.span.kind": "AGENT"}, **scope),
        _completion(3, 1, action, asked),
        _completion(4, 4, "Thought: done\nFinal Answer: No.", [*asked, ("assistant", seen)]),
    )
    assert [(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]] == [
        ("teleport", {"to": "Mars"}, "requested")
    ]


def test_what_a_step_put_out_is_no_answer_of_a_run_that_raised():
    """LangGraph 1.0 under opentelemetry-instrumentation-langchain 0.48, which tells no answers that ask for tools."""
    scope = {"scope": "opentelemetry.instrumentation.langchain", "version": "0.48.0"}
    said = {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"content": "Sorry.", "type": "ai"}}
    put_out = {"traceloop.span.kind": "task", "traceloop.entity.output": json.dumps({"outputs": {"messages": [said]}})}
    asked = {"gen_ai.system": "openai", "gen_ai.request.model": "m", "gen_ai.operation.name": "chat"}
    asked |= {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "go"}
    text = "Recursion limit of 5 reached without hitting a stop condition."
    thrown = {"error": "", "events": [("exception", {"exception.type": "E", "exception.message": text})]}
    (run,) = runs(
        span(1, None, "planner.workflow", took=9, attributes={"traceloop.span.kind": "workflow"}, **scope, **thrown),
        span(2, 1, "agent.task", at=1, took=5, attributes=put_out, **scope),
        span(3, 2, "ChatOpenAI.chat", at=2, kind=3, attributes=asked, **scope),
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, ["max_steps"])


def test_langfuses_early_handler_tells_tools_as_spans_of_a_color():
    """langfuse 3.2 of LangChain's tools."""

    def told(kind, **more):
        return {"langfuse.observation.type": kind} | {f"langfuse.observation.{key}": v for key, v in more.items()}

    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Oslo"}'}}
    back = {"content": "Error: closed", "type": "tool", "tool_call_id": "c1", "status": "success"}
    ran = {"input": "\"{'city': 'Oslo'}\"", "output": json.dumps(back)}
    ran |= {"metadata.color": "green", "metadata.inputs": '{"city": "Oslo"}'}
    user = {"role": "user", "content": "go"}
    history = [user, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "Error: closed"}]
    answer = {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [call]}}
    scope = {"scope": "langfuse-sdk", "version": "3.2.1"}
    (run,) = runs(
        span(1, None, "planner", took=9, attributes=told("span"), **scope),
        span(2, 1, "ChatOpenAI", at=1, attributes=told("generation", input=json.dumps([user]), output=answer), **scope),
        span(3, 1, "look", at=3, attributes=told("span", **ran), **scope),
        span(4, 1, "ChatOpenAI", at=5, attributes=told("generation", input=history, output="Closed."), **scope),
    )
    assert [(c["name"], c["arguments"], c["status"], c["error_kind"]) for c in run["tool_calls"]] == [
        ("look", {"city": "Oslo"}, "ok", "soft")
    ]


@pytest.mark.parametrize(
    ("calls", "output", "called"),
    [
        ("[]", "It's sunny.", []),
        ("[SomeCall(index=0)]", None, None),
        (
            "[ChoiceDeltaToolCall(index=0, id='c1', "
            "function=ChoiceDeltaToolCallFunction(arguments='{}', name='look'))]",
            None,
            [("look", {}, "unknown", "c1")],
        ),
    ],
)
def test_pieces_of_a_stream_that_python_printed_are_one_answer(calls, output, called):
    """agno 2.1 under OpenInference 0.1.15."""
    pieces = [f"ModelResponse(role=None, content={text!r}, tool_calls=[])" for text in ("It's ", "sunny.", None)]
    pieces += [f"ModelResponse(role=None, content=None, tool_calls={calls})"]
    scope = {"scope": "openinference.instrumentation.agno", "version": "0.1.15", "status": 1}
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "output.value": json.dumps(pieces)}
    told |= {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    asked = {"openinference.span.kind": "AGENT", "input.value": "go", "agno.agent": "planner"}
    (run,) = runs(
        span(1, None, "planner.run", took=9, attributes=asked, **scope),
        span(2, 1, "OpenAIChat.invoke_stream", at=1, attributes=told, **scope),
    )
    found = run["tool_calls"] and [(c["name"], c["arguments"], c["status"], c["call_id"]) for c in run["tool_calls"]]
    assert (run["output"], found) == (output, called)


@pytest.mark.parametrize(
    "piece", [r"content='\x'", "content='a\nb'", r"tool_calls=[ChoiceDeltaToolCall(index=0, id='\u')]"]
)
def test_pieces_that_cannot_be_read_are_no_answer(piece):
    """What was cut or masked within an escape."""
    told = {"openinference.span.kind": "LLM", "output.value": json.dumps([f"ModelResponse({piece})"])}
    (run,) = runs(agent(1, "planner", took=9), span(2, 1, "OpenAIChat.invoke_stream", at=1, attributes=told))
    assert run["output"] is None


def _logfire(id, of, said, at, history=(), **more):
    """What a client was asked and what it answered, before logfire told them in the conventions' messages."""
    asked = {"messages": [{"role": "user", "content": "go"}, *history], "model": "m"}
    told = {"logfire.span_type": "span", "request_data": json.dumps(asked, separators=(",", ":"))} | more
    if said is not None:
        told["response_data"] = json.dumps(said, separators=(",", ":"))
    took = 0 if told["logfire.span_type"] == "log" else 1
    return span(id, 9, "asked", at=at, took=took, attributes=told, scope=f"logfire.{of}")


def _logfire_said(text=None, call=None, used=None):
    return {"message": {"role": "assistant", "content": text} | ({"tool_calls": [call]} if call else {})} | (used or {})


@pytest.mark.parametrize("of", ["openai", "anthropic"])
def test_what_logfire_tells_of_a_client_as_it_was_are_messages(of):
    """4.3; that of Anthropic's tells no ids, and as arguments the block's input under its name."""
    used = {"usage": {"cache_read_input_tokens": 0, "input_tokens": 3, "output_tokens": 2}}
    if of == "openai":
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Oslo"}'}}
        history = [{"role": "assistant", "content": None, "tool_calls": [call]}]
        history += [{"role": "tool", "tool_call_id": "c1", "content": "sun"}]
    else:
        call = {"function": {"arguments": '{"input":{"city":"Oslo"}}', "name": "look"}}
        block = {"type": "tool_use", "id": "c1", "name": "look", "input": {"city": "Oslo"}}
        result = {"type": "tool_result", "tool_use_id": "c1", "content": "sun"}
        history = [{"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]
    (run,) = runs(
        span(9, None, "planner run", took=9, scope="logfire"),
        _logfire(1, of, _logfire_said(call=call, used=used), 1),
        _logfire(2, of, _logfire_said("Sunny.", used=used), 4, history),
    )
    assert [(c["name"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [("look", {"city": "Oslo"}, "sun")]
    assert (run["input"], run["output"], run["status"]) == ("go", "Sunny.", "ok")
    if of == "anthropic":
        seen = [(c["request_model"], c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]]
        assert seen == [("m", 3, 2)] * 2


def test_the_text_of_a_stream_that_logfire_tells_later_may_not_be_all_of_the_answer():
    told = {"combined_chunk_content": "Let me look.", "chunk_count": 2}
    late = {"logfire.span_type": "log", "logfire.msg": "streaming response from 'm' took 0.01s"}
    (run,) = runs(
        span(9, None, "planner run", took=9, scope="logfire"),
        _logfire(1, "anthropic", None, 1),
        _logfire(2, "anthropic", told, 3, **late),
    )
    assert (run["input"], run["output"], run["status"], len(run["llm_calls"])) == ("go", None, "unknown", 1)
