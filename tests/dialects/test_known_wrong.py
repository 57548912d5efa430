"""What kits tell that is easily told wrong."""

from __future__ import annotations

import json

import pytest

from tests.runs.requests import agent, chat, runs, span

LLAMA_INDEX = {"scope": "opentelemetry.instrumentation.llamaindex", "version": "0.40.14"}


def _put_out(event):
    """A step's output, as OpenLLMetry writes it: JSON in JSON."""
    return json.dumps(json.dumps(event, separators=(",", ":")))


def _step(id, parent, name="BaseWorkflowAgent.task", at=0.0, took=0.5, kind="task", out=None, given=None):
    told = {"traceloop.span.kind": kind, "traceloop.entity.name": name}
    told |= {"traceloop.entity.output": _put_out(out)} if out is not None else {}
    told |= {"traceloop.entity.input": json.dumps({"kwargs": given})} if given is not None else {}
    return span(id, parent, name, at=at, took=took, attributes=told, **LLAMA_INDEX)


def _asked(agent):
    said = [{"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "go"}]}]
    return {"input": said, "current_agent_name": agent}


def _ended(agent, text):
    said = {"role": "assistant", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": text}]}
    told = {"response": said, "structured_response": None, "current_agent_name": agent}
    return {"result": told | {"tool_calls": [], "retry_messages": []}}


def _workflow(id, parent, agent, text, at, *steps):
    return [
        _step(id, parent, "FunctionAgent.workflow", at, 8, "workflow"),
        _step(id + 1, id, at=at + 1, out=_asked(agent)),
        *steps,
        _step(id + 2, id, at=at + 7, out=_ended(agent, text)),
    ]


def _ran(id, parent, name, given, result, at):
    put_out = {"blocks": [{"block_type": "text", "text": result}], "tool_name": name}
    put_out |= {"raw_input": {"args": [], "kwargs": given}, "raw_output": result, "is_error": False}
    called = {"tool_name": name, "tool_kwargs": given, "tool_id": f"call_aZ81kQ{id}", "tool_output": put_out}
    return [
        _step(id, parent, at=at, out=called),
        _step(id + 1, id, "FunctionTool.task", at, 0.2, out=put_out, given=given),
    ]


def test_requests_of_one_trace_without_a_model_and_a_tool_are_runs():
    """LlamaIndex under OpenLLMetry 0.40: of each agent no more is told than what its steps put out."""
    (*found,) = runs(
        span(1, None, "job", took=40, scope="app"),
        *_workflow(10, 1, "planner", "Hello.", 0),
        *_workflow(20, 1, "planner", "It is 3.", 10, *_ran(25, 20, "add", {"a": 1, "b": 2}, "3", 13)),
        *_workflow(30, 1, "planner", "Bye.", 20),
    )
    assert [(r["output"], r["agents"], r["status"]) for r in found] == [
        ("Hello.", ["planner"], "ok"),
        ("It is 3.", ["planner"], "ok"),
        ("Bye.", ["planner"], "ok"),
    ]
    tools = [[(c["name"], c["agent"], c["arguments"], c["result"]) for c in r["tool_calls"] or []] for r in found]
    assert tools == [[], [("add", "planner", {"a": 1, "b": 2}, "3")], []]


def test_an_agent_that_a_function_runs_answers_that_and_not_the_user():
    """The same, of an agent that a tool of another's runs: which tool that is is not told."""
    (run,) = runs(
        *_workflow(
            *(10, None, "boss", "Worker says 9.", 0),
            _step(15, 10, at=2, took=4),
            _step(16, 15, "FunctionTool.task", 2, 4, given={"q": "compute"}),
            _step(17, 16, "run.task", 2, 4),
            _step(18, 17, at=2.5, out=_asked("worker")),
            *_ran(19, 17, "add", {"a": 4, "b": 5}, "9", 3),
            _step(21, 17, at=5, out=_ended("worker", "nine")),
        ),
    )
    assert (run["output"], run["agents"]) == ("Worker says 9.", ["boss", "worker"])
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("add", "worker")]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("boss", "worker", None)]


def test_what_ends_a_workflow_of_many_steps_is_its_answer():
    """The same, of an agent that called more tools than are looked at from the front."""
    (run,) = runs(
        *_workflow(
            *(10, None, "planner", "It is 9.", 0),
            *(x for n in range(9) for x in _ran(20 + 3 * n, 10, "add", {"a": n}, str(n), 1.5 + n / 2)),
        ),
    )
    assert (run["output"], len(run["tool_calls"])) == ("It is 9.", 9)


def test_requests_whose_workflows_never_ended_are_runs_by_their_first_steps():
    """The same, later: a step that raised never comes, nor does its workflow, and what is asked next is laid under
    it."""
    kit = LLAMA_INDEX | {"version": "0.60.0"}

    def failed(id, parent, at):
        return span(id, parent, "openai.chat", at=at, error="500", scope="opentelemetry.instrumentation.openai.v1")

    def begun(id, parent, at):
        told = {"traceloop.span.kind": "task", "traceloop.entity.output": _put_out(_asked("planner"))}
        return span(id, parent, "init_run.task", at=at, attributes=told, **kit)

    def model(call):
        return call | {"attributes": {"llm.request.type": "chat", "gen_ai.request.model": "m"}}

    (*found,) = runs(
        begun(2, 91, 0),
        model(failed(3, 92, 2)),
        begun(4, 93, 5),
        model(failed(5, 94, 7)),
        span(6, 93, "run.workflow", at=10, took=9, attributes={"traceloop.span.kind": "workflow"}, **kit),
        begun(7, 6, 10),
        model(failed(8, 95, 12)),
    )
    assert [(r["status"], len(r["llm_calls"])) for r in found] == [("error", 1)] * 3


SOLVES = "You are an expert assistant who can solve any task using "


def _smolagents(id, parent, at, said, *asked, calls=()):
    """OpenAI's client below an agent of smolagents whose own span did not come."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 9}
    for n, (role, text) in enumerate([("system", asked[0]), *zip(("user", "assistant") * 4, asked[1:], strict=False)]):
        told |= {f"llm.input_messages.{n}.message.role": role, f"llm.input_messages.{n}.message.content": text}
    told |= {"llm.output_messages.0.message.role": "assistant", "llm.finish_reason": "tool_calls" if calls else "stop"}
    told |= {"llm.output_messages.0.message.content": said} if said else {}
    for n, (call_id, name, given) in enumerate(calls):
        one = f"llm.output_messages.0.message.tool_calls.{n}.tool_call."
        told |= {one + "id": call_id, one + "function.name": name, one + "function.arguments": given}
    return span(id, parent, "ChatCompletion", at=at, attributes=told, scope="openinference.instrumentation.openai")


def test_what_a_user_asks_next_stands_behind_what_a_tool_gave():
    """smolagents that was killed in a later turn: it joins words of one role."""
    called = "Calling tools:\n[{'id': 'call_QLIVaoXL55SxKpA5', 'type': 'function', 'function': {'name': 'final_answer'"
    called += ", 'arguments': {'answer': 'TP123.'}}}]"
    asked = ("New task:\nFind a flight.", called, "Observation:\nTP123.\nNew task:\nThanks!")
    calls = [("call_MzwtEfvOT3TQ5G7y", "final_answer", '{"answer": "You are welcome."}')]
    (run,) = runs(_smolagents(2, 99, 1, None, SOLVES + "tool calls.", *asked, calls=calls))
    assert run["input"] == "Thanks!"


def test_code_that_is_to_be_run_is_no_answer():
    """The same of agents that write code."""
    code = "Thought: I look.\n<code>\nr = look(city='Oslo')\nprint(r)\n</code>"
    (run,) = runs(_smolagents(2, 99, 1, code, SOLVES + "code blobs.", "New task:\nIs it sunny?"))
    assert (run["input"], run["output"], run["status"]) == ("Is it sunny?", None, "unknown")


def _openlit_step(id, parent, at, put_out):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    told |= {"gen_ai.smolagents.step_number": 1}
    told |= {"gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": put_out}]}]}
    kit = {"scope": "openlit.instrumentation.smolagents"}
    return span(id, parent, "invoke_agent planner step_1", at=at, took=8, attributes=told, **kit)


def test_what_a_step_saw_is_no_answer():
    """smolagents under OpenLIT, killed after its first step, which puts out what its tool gave."""
    calls = [("call_4tuPm8Zwxopf26iF", "look", '{"city": "Bergen"}')]
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    ran |= {"gen_ai.tool.call.arguments": '{"city": "Bergen"}', "gen_ai.tool.call.result": "Bergen: sunny"}
    (run,) = runs(
        _openlit_step(2, 99, 1, "Bergen: sunny"),
        _smolagents(3, 2, 2, None, SOLVES + "tool calls.", "New task:\nIs it sunny?", calls=calls),
        span(4, 2, "execute_tool look", at=5, attributes=ran, scope="openlit.instrumentation.smolagents"),
    )
    assert (run["output"], run["status"], len(run["tool_calls"])) == (None, "unknown", 1)


def test_what_a_manager_told_its_agent_is_not_what_the_user_asked():
    """smolagents' managed agents, of which the manager was killed."""
    task = (
        "You're a helpful agent named 'worker'.\nYou have been submitted this task by your manager.\n---\nTask:\nBook."
    )
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "worker"}
    told |= {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": task}]}]}
    told |= {"gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Booked."}]}]}
    kit = {"scope": "opentelemetry.instrumentation.genai.smolagents"}
    (run,) = runs(span(1, 99, "invoke_agent worker", took=9, attributes=told, **kit))
    assert (run["input"], run["output"], run["status"]) == (None, None, "unknown")


AGENTOPS = {"scope": "agentops.instrumentation.agentic.langgraph", "status": 1}


def _graph(id, parent, at, name="workflow", took=8, **told):
    kind = {"workflow": "workflow", "node": "llm"}[name]
    return span(
        id,
        parent,
        f"langgraph.{name}.execute",
        at=at,
        took=took,
        attributes={"agentops.span.kind": kind} | told,
        **AGENTOPS,
    )


def _client(id, parent, at, asked, said, calls=(), back=(), took=0.8):
    """OpenAI's client, as AgentOps tells it."""
    told = {"gen_ai.request.type": "chat", "gen_ai.system": "OpenAI", "gen_ai.request.model": "m"}
    told |= {"gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 3}
    told |= {"gen_ai.response.id": f"chatcmpl-F25OI4SVytRs{id}"}
    told |= {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": asked}
    for n, (call_id, name, given, result) in enumerate(back):
        one = f"gen_ai.prompt.{2 * n + 1}."
        told |= {one + "role": "assistant", one + "tool_calls.0.id": call_id, one + "tool_calls.0.name": name}
        told |= {one + "tool_calls.0.arguments": given}
        told |= {f"gen_ai.prompt.{2 * n + 2}.role": "tool", f"gen_ai.prompt.{2 * n + 2}.tool_call_id": call_id}
        told |= {f"gen_ai.prompt.{2 * n + 2}.content": result}
    told |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": said}
    for n, (call_id, name, given) in enumerate(calls):
        one = f"gen_ai.completion.0.tool_calls.{n}."
        told |= {one + "id": call_id, one + "name": name, one + "arguments": given}
    return span(id, parent, "openai.chat.completion", at=at, took=took, attributes=told, scope="openai", status=1)


def test_graphs_of_a_session_that_lasts_as_long_as_a_program_are_runs():
    """AgentOps of LangGraph: by default one trace is all that a program does; of a stream the steps alone come."""
    call = ("call_mtSCo8FdAFLu7mGP", "look", '{"x": 1}')
    (*found,) = runs(
        _graph(2, 99, 0),
        _client(3, 2, 1, "first", "One."),
        _graph(4, 99, 10),
        _client(5, 4, 11, "second", "", [call]),
        _client(6, 4, 13, "second", "Two.", back=[(*call, "sun")]),
        _graph(7, 99, 20, "node", 2),
        _client(8, 7, 20.5, "third", "", [call]),
        _graph(9, 99, 24, "node", 2),
        _client(10, 9, 24.5, "third", "Three.", back=[(*call, "sun")]),
    )
    assert [(r["input"], r["output"], len(r["llm_calls"]), len(r["tool_calls"])) for r in found] == [
        ("first", "One.", 1, 0),
        ("second", "Two.", 2, 1),
        ("third", "Three.", 2, 1),
    ]


def test_a_node_of_a_graph_and_a_callback_around_a_client_are_one_call():
    """AgentOps of LangGraph with its handler of LangChain's callbacks: the node's span stands beside the handler's,
    which holds the client's."""
    counted = {"gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 3}
    node = counted | {"gen_ai.request.model": "m-2024-07-18", "gen_ai.response.model": "m-2024-07-18"}
    node |= {"gen_ai.response.id": "run--01a21817-9650-7535-9b40-675fa933da91-0"}
    handler = counted | {"agentops.span.kind": "llm", "gen_ai.request.model": "m"}
    (run,) = runs(
        span(1, None, "chain.chain", took=9, attributes={"agentops.span.kind": "chain"}, scope="agentops"),
        _graph(2, 1, 1, "node", 5, **node),
        span(3, 1, "chat_model.llm", at=1.5, took=4, attributes=handler, scope="agentops"),
        _client(4, 3, 2, "go", "Done.", took=3),
    )
    assert [(c["request_model"], c["input_tokens"]) for c in run["llm_calls"]] == [("m", 7)]


def test_a_tool_that_perhaps_did_not_run_was_perhaps_not_called_again():
    """The same, stopped by its limit of turns after the third request."""
    calls = [(f"call_mtSCo8FdAFLu7mG{n}", "look", '{"x": 1}') for n in range(3)]
    back = [(*call, "sun") for call in calls]
    (run,) = runs(
        _graph(1, None, 0) | {"error": "Recursion limit of 5 reached", "status": 2},
        *(_client(2 + n, 1, 1 + 2 * n, "go", "", [calls[n]], back[:n]) for n in range(3)),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "ok", "unknown"]
    assert ("repeated_call" in run["boundaries"], "repeated_call" in run["boundaries_unknown"]) == (False, True)


def _laminar(id, parent, at, name, kind="DEFAULT", took=1.0, **told):
    """OpenAI's kit under Laminar."""
    told = {"lmnr.span.type": kind} | {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, attributes=told, scope="lmnr.tracer")


def _approved(id, parent, at, asked, said):
    """The task of a run that went on, below its workflow."""
    messages = [{"role": "user", "parts": [{"type": "text", "content": asked}]}]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": said}]}]
    told = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m", "gen_ai__output__messages": answer}
    return [
        _laminar(id, parent, at, "agents.task", took=5),
        _laminar(id + 1, id, at, "planner", took=5),
        _laminar(id + 2, id + 1, at, "agents.turn", took=4),
        _laminar(id + 3, id + 2, at + 1, "agents.response", "LLM", gen_ai__input__messages=messages, **told),
    ]


def test_what_is_asked_after_a_run_that_went_on_is_no_part_of_it():
    """The workflow of a run that goes on after an approval never comes, and what is asked next is laid under it."""
    (*found,) = runs(
        *_approved(2, 91, 0, "book", "Booked."),
        _laminar(10, 91, 10, "Agent workflow", took=8),
        *_approved(11, 10, 10, "Kyiv?", "Kyiv ok."),
        _laminar(20, 91, 12, "Agent workflow", took=8),
        *_approved(21, 20, 12, "7+8?", "15."),
    )
    assert [(r["input"], r["output"], len(r["llm_calls"])) for r in found] == [
        ("book", "Booked.", 1),
        ("Kyiv?", "Kyiv ok.", 1),
        ("7+8?", "15.", 1),
    ]


def _splunk(id, parent, at, took, operation, name, **told):
    """OpenAI's kit under Splunk's, which stamps who began last on all that comes."""
    told = {"gen_ai.operation.name": operation} | {key.replace("__", "."): value for key, value in told.items()}
    kit = {"scope": "opentelemetry.util.genai.handler"}
    return span(id, parent, f"{operation} {name}", at=at, took=took, attributes=told, **kit)


def _at_work(id, name, at, took, asked, said, within=1):
    last = {
        "gen_ai__framework": "openai_agents",
        "gen_ai__agent__name": "planner",
        "gen_ai__agent__id": "span_d5705c93",
    }
    told = last | {"gen_ai__agent__name": name, "gen_ai__agent__id": f"span_c2dca0{id}"}
    last |= {"gen_ai__input__messages": [{"role": "user", "parts": [{"type": "text", "content": asked}]}]}
    last |= {"gen_ai__output__messages": [{"role": "assistant", "parts": [{"type": "text", "content": said}]}]}
    return [
        _splunk(id, within, at, took, "invoke_agent", name, **told),
        _splunk(id + 1, id, at + 0.1, 1, "chat", "m", gen_ai__response__model="m", **last),
    ]


def test_requests_at_once_below_the_workflow_of_the_first_are_runs():
    (*found,) = runs(
        _splunk(1, None, 0, 20, "invoke_workflow", "Agent workflow", gen_ai__workflow__name="Agent workflow"),
        *_at_work(2, "booker", 0.1, 19, "fly?", "Flies."),
        *_at_work(4, "planner", 0.2, 9, "9+8?", "17."),
    )
    assert [(r["input"], r["output"], [c["agent"] for c in r["llm_calls"]]) for r in found] == [
        ("fly?", "Flies.", ["booker"]),
        ("9+8?", "17.", ["planner"]),
    ]


def test_an_agent_in_the_time_of_a_tool_is_no_request_beside_its_caller():
    """The same, of an agent that is called as a tool: it stands beside its caller, too."""
    (run,) = runs(
        _splunk(1, None, 0, 20, "invoke_workflow", "Agent workflow", gen_ai__workflow__name="Agent workflow"),
        *_at_work(2, "boss", 0.1, 19, "compute", "It is 9."),
        _splunk(6, 2, 3, 10, "execute_tool", "ask_worker", gen_ai__tool__name="ask_worker"),
        *_at_work(4, "worker", 4, 8, "4+5?", "nine"),
    )
    assert run["input"] == "compute"
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("boss", "worker")]


JUDGE = "You are an impartial judge. Rate the answer from 1 to 5.\nQuestion: Is it sunny?\nAnswer: Oslo is sunny."


@pytest.mark.parametrize(
    "verdict", ['{"score": 5, "reason": "correct"}', '```json\n{"rating": 4}\n```', "Score: 4/5", "Yes"]
)
@pytest.mark.parametrize(
    "judging", [span(4, 1, "check", at=12, took=5, scope="app"), agent(4, "critic", 1, at=12, took=5)]
)
def test_a_verdict_is_no_answer_to_the_user(judging, verdict):
    """A program that has a model judge what an agent answered, in the same trace."""
    (run,) = runs(
        span(1, None, "handle", took=30, scope="app"),
        agent(2, "planner", 1, at=1, took=9),
        chat(3, 2, "Oslo is sunny.", "Is it sunny?", at=2),
        judging,
        chat(5, 4, verdict, JUDGE, at=13),
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("Is it sunny?", "Oslo is sunny.", 2)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Improve this text: Oslo is sunny.", "Oslo is very sunny!"),  # who edits gives an answer
        ("Rate the weather from 1 to 5.", "Score: 4"),  # no answer is judged
        ("You evaluate texts. Rewrite: Oslo is sunny.", "Sunny Oslo."),
    ],
)
def test_what_is_no_verdict_on_an_answer_is_one(asked, said):
    (run,) = runs(
        span(1, None, "handle", took=30, scope="app"),
        chat(2, 1, "Oslo is sunny.", "Is it sunny?", at=2),
        chat(3, 1, said, asked, at=13),
    )
    assert run["output"] == said
