"""LangGraph for JavaScript under its instrumentations: states, steps that fan out, steps that are left out."""

import json

import pytest

from tests.runs.requests import chat, runs, span, tool

pytestmark = pytest.mark.full

_CHAIN = {"openinference.span.kind": "CHAIN"}


def _lc(kind, **kwargs):
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", kind], "kwargs": kwargs}


def _state(*messages, **more):
    return json.dumps({"messages": [*messages, *more.pop("also", ())], **more})


@pytest.mark.parametrize("said", [None, "A verse."])
def test_what_a_user_asked_is_not_what_a_graph_answers_beside_its_other_values(said):
    """LangGraph for JavaScript 1.7: nodes that are sent to by `Send` put their answers elsewhere in the state."""
    human = _lc("HumanMessage", content="go")
    told = {"input.value": _state({"role": "user", "content": "go"}), "output.value": _state(human, verses=["A", "B"])}
    (run,) = runs(
        span(1, None, "LangGraph", took=9, attributes=_CHAIN | told),
        span(2, 1, "planner", at=1, took=2, attributes=_CHAIN),
        chat(3, 2, said or [("c1", "look", {})], "go", at=1),
    )
    assert run["input"] == "go"
    assert run["output"] == said


def test_the_name_of_a_step_that_is_left_out_is_no_answer_where_the_model_was_asked_deeper():
    """`createReactAgent`, called off in its tools: the model is asked in a sequence within the step that says so."""
    (run,) = runs(
        span(1, None, "planner", took=9, error="Abort", attributes=_CHAIN),
        span(2, 1, "agent", at=1, took=2, attributes=_CHAIN),
        span(3, 2, "RunnableSequence", at=1, took=1, attributes=_CHAIN),
        chat(4, 3, [("c1", "look", {})], "go", at=1, took=0.5),
        span(5, 2, "RunnableLambda", at=2, took=0.5, attributes=_CHAIN | {"output.value": "tools"}),
        tool(7, 6, "look", "c1", at=3, error="aborted"),
    )
    assert run["output"] is None


@pytest.mark.parametrize(("came", "status"), [(True, "unknown"), (False, "requested")])
def test_a_tool_whose_span_is_lost_may_have_run_where_its_step_came(came, status):
    """`createReactAgent`, stopped by its limit after its tools: the step that ran the last of them is there."""
    (run,) = runs(
        span(1, None, "planner", took=9, error="Recursion limit of 4 reached", attributes=_CHAIN),
        span(2, 1, "agent", at=1, took=1, attributes=_CHAIN),
        chat(3, 2, [("c1", "look", {})], "go", at=1, took=0.5),
        span(4, 1, "tools", at=2.5, attributes=_CHAIN),
        tool(5, 4, "look", "c1", "seen", at=2.5),
        span(6, 1, "agent", at=4, took=1, attributes=_CHAIN),
        chat(7, 6, [("c2", "look", {})], "go", at=4, took=0.5),
        *([span(8, 1, "tools", at=6, attributes=_CHAIN)] if came else []),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", status]


@pytest.mark.parametrize("goes_on", [True, False])
def test_turns_below_spans_that_an_exporter_leaves_out_are_runs_where_each_goes_on_with_the_last(goes_on):
    """The AI SDK 6 under Langfuse 5.11 or LangSmith 0.12, which keep what a model does, of a worker's one trace."""
    heard = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "First."}]
    asked = [*(heard if goes_on else []), {"role": "user", "content": "two"}]
    first, second = json.dumps({"messages": heard[:1]}), json.dumps({"messages": asked})

    def turn(id, lost, at, prompt, answer):
        told = {"ai.telemetry.functionId": "planner", "ai.model.id": "m-1", "ai.prompt": prompt}
        step = {"ai.prompt.messages": json.dumps(json.loads(prompt)["messages"]), "ai.response.text": answer}
        return [
            span(id, lost, "ai.generateText", at=at, took=2, scope="ai", attributes=_ai("generateText", told)),
            span(id + 1, id, "ai.generateText.doGenerate", at=at, scope="ai", attributes=_ai("x", told | step)),
        ]

    found = runs(*turn(2, 90, 1, first, "First."), *turn(5, 91, 5, second, "Second."))
    assert [r["input"] for r in found] == (["one", "two"] if goes_on else ["one"])


def _ai(operation, told):
    return told | {"ai.operationId": f"ai.{operation}" if operation != "x" else "ai.generateText.doGenerate"}


def test_what_bedrock_was_asked_is_not_who_answered_under_traceloop_for_javascript():
    """`@traceloop/instrumentation-bedrock` 0.27: the id of the model in the request stands for both."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.response.model": "m-1"}
    (run,) = runs(span(1, None, "chat m-1", scope="@traceloop/instrumentation-bedrock", attributes=told))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("m-1", None)]


def _asked(*messages):
    return [{"role": role, "parts": parts} for role, parts in messages]


_WROTE = {"type": "tool_call", "id": "c1", "name": "ask_writer", "arguments": {"task": "write of Oslo"}}
_GO = ("user", [{"type": "text", "content": "go"}])
_TASK = ("user", [{"type": "text", "content": "write of Oslo"}])
_POEM = {"type": "tool_call_response", "id": "c1", "response": "A poem."}
_LOOP_OF_LOOPS = [
    span(1, None, "POST /chat", took=9),
    chat(2, 1, [("c1", "ask_writer", {"task": "write of Oslo"})], _asked(_GO), at=1, took=0.5),
    chat(3, 1, "A poem.", _asked(_TASK), at=2, took=0.5),
    chat(4, 1, "It is written.", _asked(_GO, ("assistant", [_WROTE]), ("tool", [_POEM])), at=3, took=0.5),
]


@pytest.mark.parametrize(
    ("lost", "told"), [(None, ("go", "It is written.")), (2, (None, "It is written.")), (4, ("go", None))]
)
def test_what_a_loop_was_given_by_the_tool_of_another_is_not_the_users_where_a_call_is_lost(lost, told):
    """Loops by hand with a provider's client, one of which is a tool of the other's, below a request's span."""
    (run,) = runs(*(one for one in _LOOP_OF_LOOPS if one["id"] != lost))
    assert (run["input"], run["output"]) == told


@pytest.mark.parametrize(("dropped", "status"), [(9, "unknown"), (0, "ok")])
def test_a_loop_of_which_the_last_answer_was_dropped_may_not_have_ended(dropped, status):
    """OpenAI's Responses under OpenInference for JavaScript, with a limit on attributes: no reason why it ended."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m-1", "input.value": "go"}
    told |= {} if dropped else {"output.value": "Done."}
    (run,) = runs(
        span(1, None, "POST /chat", took=9), span(2, 1, "OpenAI Responses", at=1, attributes=told, dropped=dropped)
    )
    assert run["status"] == status


@pytest.mark.parametrize("content", [True, False])
def test_a_graph_that_a_tool_calls_and_whose_model_failed_has_not_failed_the_run_where_its_answer_is_lost(content):
    """`createReactAgent`, called by a tool of another: graphs are chains that bear the names of their agents."""
    told = {"metadata": {"lc_agent_name": "planner"}} | _CHAIN
    (run,) = runs(
        span(1, None, "planner", took=9, status=1, attributes=told),
        span(2, 1, "agent", at=1, took=0.5, attributes=told),
        chat(3, 2, *([[("c1", "ask_writer", {"task": "x"})], "go"] if content else []), at=1, took=0.5),
        span(4, 1, "tools", at=2, took=3, status=1, attributes=told),
        tool(5, 4, "ask_writer", "c1", at=2, took=3, error="500 model is down"),
        span(6, 5, "writer", at=2, took=2, error="500", attributes=_CHAIN | {"metadata": {"lc_agent_name": "writer"}}),
        chat(7, 6, *([None, "x"] if content else []), at=3, took=0.5, error="500 model is down"),
        span(8, 1, "agent", at=6, status=1, attributes=told),
    )
    assert run["status"] == "unknown"


@pytest.mark.parametrize("came", [True, False])
def test_a_step_that_asks_again_after_tools_met_no_limit_though_its_models_call_is_lost(came):
    """`createReactAgent`, whose answer is lost: each cycle is a step of one name."""
    cycles = [
        one
        for at in (10, 20)
        for one in (
            span(at, 1, "agent", at=at, took=1, attributes=_CHAIN),
            chat(at + 1, at, [(f"c{at}", "look", {"x": at})], "go", at=at, took=0.5),
            span(at + 2, 1, "tools", at=at + 2, attributes=_CHAIN),
            tool(at + 3, at + 2, "look", f"c{at}", "seen", at=at + 2),
        )
    ]
    answer = span(30, 1, "agent", at=30, attributes=_CHAIN)
    root = span(1, None, "planner", took=31 if came else 23.2, status=1, attributes=_CHAIN)
    (run,) = runs(root, *cycles, *([answer] if came else []))
    assert ("max_steps" in run["boundaries"]) is not came


def test_what_a_step_put_out_before_a_tool_ran_is_no_answer_where_no_model_is_told():
    """LangGraph for JavaScript under Traceloop 0.27: steps are flat, and an edge's name is what it put out."""
    edge = {"traceloop.span.kind": "workflow", "traceloop.entity.output": json.dumps({"output": "tools"})}
    (run,) = runs(
        span(1, None, "POST /chat", took=9),
        span(2, 1, "workflow RunnableLambda", at=1, attributes=edge),
        tool(3, 1, "look", None, at=3, error="aborted"),
    )
    assert run["output"] is None


def test_where_words_are_hidden_another_conversation_does_not_go_on_without_a_tool():
    """OpenAI's Responses under OpenInference for JavaScript, content kept out, one loop in a tool of another's."""

    def model(id, at, *said, asks=None):
        told = {"openinference.span.kind": "LLM", "llm.model_name": "m-1"}
        for i, (role, call) in enumerate(said):
            message = f"llm.input_messages.{i}.message"
            told[f"{message}.role"] = role
            if call:
                key = f"{message}.tool_call_id" if role == "tool" else f"{message}.tool_calls.0.tool_call.id"
                told[key] = call
        if asks:
            message = "llm.output_messages.0.message"
            told |= {f"{message}.role": "assistant", f"{message}.tool_calls.0.tool_call.id": asks}
            told[f"{message}.tool_calls.0.tool_call.function.name"] = "look"
        return span(id, 1, "OpenAI Responses", at=at, took=0.5, attributes=told)

    start = (("system", None), ("user", None))
    (run,) = runs(
        span(1, None, "POST /chat", took=9),
        model(2, 1, *start, asks="c1"),
        model(3, 2, *start, asks="c2"),
        model(5, 4, *start, ("assistant", "c1"), ("tool", "c1")),
    )
    assert {c["call_id"]: c["status"] for c in run["tool_calls"]}["c2"] == "unknown"
