"""The newest kits for Python, in runs harder than those that were recorded."""

import json

import pytest

from tests.dialects.test_python_clients import flat, request_of, step_of
from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_PRINTED = "AgentInput(input=[ChatMessage(role=<MessageRole.USER: 'user'>, blocks=[])], current_agent_name='{}')"


def _llama(id, parent, name, at, took=1, kind="CHAIN", **told):
    step = step_of(id, parent, name, kind, at, took, **{k.replace("__", "."): v for k, v in told.items()})
    return step | {"scope": "openinference.instrumentation.llama_index"}


def _model(id, parent, at, *output):
    return _llama(
        id, parent, "OpenAILike.achat", at, kind="LLM", **flat({"input": [{"role": "user", "content": "go"}]})
    ) | {"attributes": {"openinference.span.kind": "LLM"} | flat({"input": [], "output": list(output)})}


def test_llama_indexs_steps_print_which_agent_works_next():
    """OpenInference 4.6.1 of a FunctionAgent, and of agents that hand over."""
    call = {"kwargs": {"to_agent": "worker"}}
    (run,) = runs(
        _llama(1, None, "AgentWorkflow.run", 0, 30),
        _llama(2, 1, "AgentWorkflow.init_run", 1, output__value=_PRINTED.format("planner")),
        _llama(3, 1, "AgentWorkflow.setup_agent", 2, input__value=json.dumps({"ev": _PRINTED.format("planner")})),
        _llama(4, 1, "AgentWorkflow.run_agent_step", 3, 3),
        _model(5, 4, 3.5, request_of("c1", "handoff", '{"to_agent": "worker"}')),
        _llama(6, 1, "AgentWorkflow.call_tool", 7, 2),
        _llama(7, 6, "FunctionTool.acall", 7.5, kind="TOOL", tool__name="handoff", input__value=json.dumps(call)),
        _llama(8, 1, "AgentWorkflow.aggregate_tool_results", 10, output__value=_PRINTED.format("worker")),
        _llama(9, 1, "AgentWorkflow.setup_agent", 12, input__value=json.dumps({"ev": _PRINTED.format("worker")})),
        _llama(10, 1, "AgentWorkflow.run_agent_step", 14, 3),
        _model(11, 10, 14.5, {"role": "assistant", "content": "done"}),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker"]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "worker", "handoff")]
    assert (run["agents"], run["tool_calls"]) == (["planner", "worker"], [])


@pytest.mark.parametrize(("failed", "status"), [(True, "unknown"), (False, "ok")])
def test_a_stream_that_was_refused_once_it_was_read_may_have_failed(failed, status):
    """LlamaIndex's own telemetry says that the call went well, and that the step around it did not."""
    thrown = {"exception.type": "openai.BadRequestError", "exception.message": "Error code: 400"}
    error = {"error": "Error code: 400", "events": [("exception", thrown)]} if failed else {}
    scope = {"scope": "llamaindex.opentelemetry.tracer"}
    asked = {"class_name": "LLMChatStartEvent", "messages": json.dumps([{"role": "user", "content": "go"}])}
    (run,) = runs(
        span(1, None, "FunctionAgent.run", took=9, **scope, **error),
        span(2, 1, "BaseWorkflowAgent.run_agent_step", at=1, took=5, **scope, **error),
        span(3, 2, "OpenAI.astream_chat", at=2, events=[("LLMChatStartEvent", asked)], status=1, **scope),
    )
    assert [c["status"] for c in run["llm_calls"]] == [status]


def test_what_the_next_step_is_given_is_no_answer():
    """opentelemetry-instrumentation-llamaindex 0.62.4 tells nothing of a step that raised."""
    given = {"input": [{"role": "user", "blocks": [{"text": "go"}]}], "current_agent_name": "planner"}

    def of(id, parent, name, at, took=1, **told):
        attributes = {"traceloop.span.kind": "workflow" if parent is None else "task"} | told
        return span(
            id, parent, name, at=at, took=took, attributes=attributes, scope="opentelemetry.instrumentation.llamaindex"
        )

    output = {"traceloop.entity.output": json.dumps(given)}
    ran = {"tool_name": "look", "tool_id": "c1", "tool_output": {"blocks": [{"text": "seen"}]}}
    (run,) = runs(
        of(1, None, "FunctionAgent.workflow", 0, 9),
        of(2, 1, "BaseWorkflowAgent.task", 1, **output),
        chat(3, 1, [("c1", "look", {})], "go", at=2, scope="opentelemetry.instrumentation.llamaindex"),
        of(4, 1, "BaseWorkflowAgent.task", 4, **{"tool.name": "look", "traceloop.entity.output": json.dumps(ran)}),
        of(5, 1, "BaseWorkflowAgent.task", 6, **output),
        of(6, 99, "OpenAI.task", 8),
    )
    assert (run["input"], run["output"], run["status"]) == ("go", None, "unknown")


def test_a_run_that_ends_on_an_answer_of_which_only_its_reason_is_told_was_stopped():
    """The same at its limit of steps: neither an answer nor a word of how it ended, and a stream tells no calls."""
    asks = {"gen_ai.output.messages": [{"role": "assistant", "parts": [], "finish_reason": "tool_call"}]}
    scope = {"scope": "opentelemetry.instrumentation.llamaindex"}
    workflow = {"traceloop.span.kind": "workflow"}

    def ran(status):
        return runs(
            span(1, None, "FunctionAgent.workflow", took=9, status=status, attributes=workflow, **scope),
            chat(2, 1, at=1, asked="go", attributes=asks, **scope),
            tool(3, 1, "look", "c1", "seen", at=3, **scope),
            chat(4, 1, at=5, asked="go", attributes=asks, **scope),
        )[0]

    assert (ran(0)["status"], ran(1)["status"]) == ("unknown", "ok")
    assert {"error", "max_steps"} <= set(ran(0)["boundaries_unknown"])


@pytest.mark.parametrize(
    ("said", "seen", "unknown"),
    [
        ({}, set(), {"max_steps", "cost_limit"}),
        ({"exception.message": "The next request would exceed the request_limit of 3"}, {"max_steps"}, set()),
        ({"exception.message": "Exceeded the total_tokens_limit of 9"}, {"cost_limit"}, set()),
    ],
)
def test_which_limit_it_was_is_unknown_where_content_is_off(said, seen, unknown):
    """Pydantic AI 2.68 leaves the message out."""
    thrown = ("exception", {"exception.type": "pydantic_ai.exceptions.UsageLimitExceeded"} | said)
    (run,) = runs(
        agent(1, "planner", took=9, error="", events=[thrown]),
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        tool(3, 1, "look", "c1", "seen", at=3),
    )
    assert run["status"] == "error"
    assert set(run["boundaries"]) == seen
    assert {"max_steps", "cost_limit"} & set(run["boundaries_unknown"]) == unknown


def test_a_span_that_was_told_what_came_of_what_it_asks_for_holds_two_calls():
    """OpenInference 1.0.5 of ADK 2.13 writes each call of an agent over the one before it, on the agent's own span."""
    asked = [request_of("c1", "look", "{}"), request_of("c2", "look", "{}")]
    came = [{"role": "tool", "tool_call_id": i, "content": "seen"} for i in ("c1", "c2")]
    said = {"role": "model", "content": "done"} | {
        k.replace("tool_calls.0", f"tool_calls.{n}"): v for n, x in enumerate(asked) for k, v in x.items() if "." in k
    }
    told = flat({"input": [{"role": "user", "content": "go"}, *asked, *came], "output": [said]})
    (run,) = runs(
        agent(1, "planner", took=20),
        step_of(2, 1, "invoke_agent planner", "LLM", 1, 12, **told),
        tool(3, 2, "look", "c1", "seen", at=8, took=4),
        tool(4, 2, "look", "c2", "seen", at=8, took=4),
    )
    assert run["llm_calls"] is None
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok"), ("look", "ok")]


@pytest.mark.parametrize(
    "message",
    [
        "Responses stream ended: incomplete_details=IncompleteDetails(reason='max_output_tokens')",
        "MaxTokensReached",
        "MaxTokensError",  # Strands for TypeScript
    ],
)
def test_an_answer_that_its_length_made_an_error_is_one_that_was_cut(message):
    """OpenAI's Agents SDK 0.24 raises at an answer that is not complete."""
    (run,) = runs(agent(1, "planner", took=9, error=message), chat(2, 1, None, "go", at=1, error=message))
    assert (run["status"], run["boundaries"]) == ("error", ["error", "length"])


@pytest.mark.parametrize(("line", "status"), [("yield event", "ok"), ("span.set_attribute(x)", "unknown")])
def test_what_was_thrown_into_an_instrumentation_by_who_read_from_it_is_none_of_its_failures(line, status):
    """OpenInference 0.1.22 of AutoGen: an agent's stream is closed once its answer has come."""
    frame = f'  File "/x/openinference/instrumentation/autogen/_wrappers.py", line 2, in wrapped\n    {line}\n'
    thrown = {"exception.type": "asyncio.exceptions.CancelledError", "exception.stacktrace": f"Traceback:\n{frame}"}
    (run,) = runs(
        agent(1, "planner", took=9),
        agent(2, "planner", 1, at=0.5, took=8, status=1, events=[("exception", thrown)]),
        chat(3, 2, "hello", "hi", at=1),
    )
    assert (run["status"], run["output"]) == (status, "hello")


def test_what_a_program_calls_each_of_its_runs_is_nobody_who_is_called():
    """OpenAI's Agents SDK under an instrumentation by a name nobody knows."""
    (run,) = runs(
        agent(1, "travel", took=30),
        agent(2, "planner", 1, at=1, took=28),
        chat(3, 2, [("c1", "ask_worker", {"input": "x"})], "go", at=2),
        tool(4, 2, "ask_worker", "c1", "well", at=4, took=9),
        agent(5, "travel", 4, at=5, took=7),
        agent(6, "worker", 5, at=6, took=5),
        chat(7, 6, "well", "x", at=7),
        chat(8, 2, "done", "go", at=15),
    )
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "worker", "ask_worker")]
    assert run["agents"] == ["planner", "worker"]


def test_methods_of_a_flow_are_no_agents_and_what_a_delegating_tool_runs_is_the_coworkers():
    """OpenLIT of CrewAI 1.15, whose agents are run by flows."""
    scope = {"scope": "openlit.instrumentation.crewai"}

    def of(id, parent, operation, name, at, took):
        return span(id, parent, f"{operation} {name}", at=at, took=took, gen_ai__operation__name=operation, **scope)

    given = {"gen_ai.tool.call.arguments": {"coworker": "worker", "task": "x"}}
    (run,) = runs(
        of(1, None, "invoke_workflow", "crew", 0, 30),
        agent(2, "planner", 1, at=1, took=28) | scope,
        of(3, 2, "invoke_workflow", "AgentExecutor", 2, 26),
        of(4, 3, "invoke_agent", "call_llm_native_tools", 2.5, 0.1),
        chat(5, 3, [("c1", "delegate_work_to_coworker", given["gen_ai.tool.call.arguments"])], "go", at=3),
        of(6, 3, "invoke_agent", "execute_native_tool", 4.5, 0.1),
        tool(7, 3, "Delegate work to coworker", None, "well", at=5, took=8, attributes=given) | scope,
        of(8, 7, "invoke_workflow", "AgentExecutor", 6, 6),
        chat(9, 8, "well", "x", at=7),
        of(10, 3, "invoke_agent", "finalize", 14, 0.1),
        chat(11, 3, "done", "go", at=15),
    )
    assert (run["agents"], [c["agent"] for c in run["llm_calls"]]) == (
        ["planner", "worker"],
        ["planner", "worker", "planner"],
    )
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "worker")]
    assert (run["tool_calls"], run["output"]) == ([], "done")


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("<code>\nfinal_answer('It is 12')\n</code>", "It is 12"),
        ('```py\nx = 1\nfinal_answer("It is 12")\n```', "It is 12"),
        ("<code>\nfinal_answer(x)\n</code>", None),
        ("Call final_answer(x) to answer.", "Call final_answer(x) to answer."),
    ],
)
def test_code_that_hands_in_an_answer_is_not_the_answer(code, output):
    """smolagents 1.25, whose agent's span tells no answer of a stream."""
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, f"Thought: done.\n{code}", "go", at=1))
    assert run["output"] == (f"Thought: done.\n{code}" if output == code else output)


@pytest.mark.parametrize(("kept", "status"), [(10_000, "error"), (120, "unknown")])
def test_whether_a_tool_failed_is_unknown_where_the_flag_in_its_result_was_cut_off(kept, status):
    """opentelemetry-instrumentation-llamaindex 0.62.4 tells it by nothing else."""
    came = {"tool_name": "look", "tool_output": {"blocks": [{"text": "x" * 100}], "is_error": True}}
    told = {"traceloop.span.kind": "task", "tool.name": "look", "traceloop.entity.output": json.dumps(came)[:kept]}
    scope = {"scope": "opentelemetry.instrumentation.llamaindex"}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "look", {})], "go", at=1, **scope),
        span(3, 1, "BaseWorkflowAgent.task", at=3, attributes=told, **scope),
        chat(4, 1, "done", "go", at=5, **scope),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]
