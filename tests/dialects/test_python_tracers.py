"""Tracers for Python that write agents their own way: Langfuse, OpenLIT, Langtrace."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

OSLO = {"city": "Oslo"}


def _called(run):
    return [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]


def _langfuse(id, parent, name, kind, at=0.0, took=1.0, **told):
    written = {f"langfuse.observation.{key.replace('__', '.')}": value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, attributes={"langfuse.observation.type": kind} | written)


def test_nodes_of_a_graph_are_no_agents_whatever_langfuse_calls_them():
    node = {"metadata__langgraph_node": "before_agent", "metadata__lc_agent_name": '"planner"'}
    (run,) = runs(
        _langfuse(1, None, "planner", "chain", 0, 9, metadata__thread_id='"t1"', metadata__lc_agent_name='"planner"'),
        _langfuse(2, 1, "Notifier.before_agent", "agent", 1, **node),
        _langfuse(3, 1, "ChatOpenAI", "generation", 2, output={"role": "assistant", "content": "Hi."}, **node),
    )
    assert run["agents"] == ["planner"]
    assert run["delegations"] == []
    assert run["conversation_id"] == "t1"


@pytest.mark.parametrize(
    "asked",
    [
        {
            "tools": [{"type": "function", "function": {"name": "weather"}}],
            "messages": [{"role": "user", "content": "?"}],
        },
        [
            {"role": "user", "content": "?"},
            {"role": "tool", "content": {"type": "function", "function": {"name": "weather", "parameters": {}}}},
        ],
    ],
)
def test_langfuse_tells_the_tools_a_model_was_offered_with_its_input(asked):
    (run,) = runs(
        _langfuse(1, None, "planner", "agent", 0, 9),
        _langfuse(2, 1, "x", "generation", 1, input=json.dumps(asked), output={"role": "assistant", "content": "Hi."}),
    )
    assert run["known_tools"] == ["weather"]


def test_openlit_calls_the_nodes_that_all_agents_are_made_of_agents():
    (run,) = runs(
        span(1, None, "invoke_workflow x", took=9, gen_ai__operation__name="invoke_workflow"),
        agent(2, "model", 1, at=1, scope="openlit.instrumentation.langgraph"),
        chat(3, 2, "Hi.", "?", at=1),
    )
    assert run["agents"] == []


def test_a_made_up_id_on_a_tools_span_does_not_part_it_from_its_request():
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("call_1", "weather", OSLO), ("call_2", "time", {})], "?", at=1),
        tool(3, 1, "weather", "01a2064d-5c28-7345-a806-61831f6d51a5", at=3, error="locked"),
        tool(4, 1, "time", "call_2", "noon", at=3),
    )
    assert [(c["name"], c["status"], c["call_id"]) for c in run["tool_calls"]] == [
        ("weather", "error", "call_1"),
        ("time", "ok", "call_2"),
    ]


@pytest.mark.parametrize(("status", "soft"), [("", None), (" status='error'", "soft")])
def test_a_tool_message_told_as_text_is_what_it_says(status, soft):
    text = f"content='it\\'s 3' name='weather' tool_call_id='call_1'{status}"
    (run,) = runs(agent(1, "planner", took=9), tool(2, 1, "weather", "call_1", text, at=1))
    (call,) = run["tool_calls"]
    assert (call["result"], call["error_kind"]) == ("it's 3", soft)


def test_where_only_the_last_call_of_an_answer_is_told_the_others_belong_to_its_turn():
    last = [("call_3", "time", {})]
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, last, "?", at=1, scope="openlit.instrumentation.openai", gen_ai__response__id="resp_1"),
        tool(3, 1, "weather", result="3", at=3),
        tool(4, 1, "time", result="noon", at=3),
    )
    assert {(c["name"], c["turn"]) for c in run["tool_calls"]} == {("weather", 0), ("time", 0)}


def test_results_at_the_end_of_an_input_tell_what_it_goes_on_with_also_where_the_requests_are_left_out():
    question = {"role": "user", "parts": [{"type": "text", "content": "?"}]}
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Let me look."}]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "3"}]}
    (run,) = runs(
        chat(1, None, [("call_1", "weather", OSLO)], [question]),
        chat(2, None, "Cold.", [question, said, back], trace=2, at=3),
    )
    assert _called(run) == [("weather", OSLO, "ok", "3")]


def test_a_run_ends_also_where_the_step_that_failed_is_told_as_an_agent_without_a_name():
    (run,) = runs(
        agent(1, "planner", took=9),
        span(2, 1, "invoke_agent", at=1, took=5, error="Tool not found", gen_ai__operation__name="invoke_agent"),
        chat(3, 2, [("call_1", "teleport", {})], "?", at=2),
    )
    assert run["status"] == "error"


def test_langsmith_writes_an_empty_object_of_a_tool_that_failed():
    told = {"langsmith.span.kind": "tool", "gen_ai.tool.name": "weather", "gen_ai.completion": "{}"}
    (run,) = runs(agent(1, "planner", took=9), span(2, 1, "weather", at=1, error="locked", attributes=told))
    assert _called(run) == [("weather", None, "error", None)]


def test_a_tool_that_hands_back_to_an_agent_of_the_run_is_no_known_tool():
    offered = [{"name": name} for name in ("pay", "transfer_to_planner", "transfer_to_worker", "transfer_to_bank")]
    (run,) = runs(
        span(1, None, "team", took=9, gen_ai__operation__name="invoke_workflow"),
        agent(2, "planner", 1, at=1),
        chat(3, 2, [("call_1", "transfer_to_worker", {})], "?", at=1, gen_ai__tool__definitions=json.dumps(offered)),
        agent(4, "worker", 1, at=3),
        chat(5, 4, "Hi.", at=3),
    )
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "worker")]
    assert run["known_tools"] == ["pay", "transfer_to_bank"]


def test_a_session_with_a_server_of_tools_holds_as_many_runs_as_agents_ran_in_it():
    asked = [
        part
        for n in (1, 2)
        for part in (agent(10 * n, "planner", 1, at=10 * n, took=9), chat(10 * n + 1, 10 * n, "Hi.", "?", at=10 * n))
    ]
    assert len(runs(span(1, None, "mcp.client.session", took=99, traceloop__span__kind="session"), *asked)) == 2


@pytest.mark.parametrize(
    ("scope", "seen"), [("opentelemetry.instrumentation.mcp", "3 degrees"), ("app", {"result": "3 degrees"})]
)
def test_a_model_sees_the_text_that_fastmcp_frames_for_clients(scope, seen):
    told = {"traceloop.span.kind": "tool", "traceloop.entity.output": '{"result": "3 degrees"}'}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "3 degrees"}]}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("call_1", "weather", OSLO)], "?", at=1),
        span(3, 1, "weather.tool", at=3, scope=scope, attributes=told | {"traceloop.entity.name": "weather"}),
        chat(4, 1, "Cold.", [{"role": "user", "parts": [{"type": "text", "content": "?"}]}, back], at=5),
    )
    assert run["tool_calls"][0]["result"] == seen


@pytest.mark.parametrize(
    ("asked", "offered", "put_out", "status"),
    [
        ("nope", ["look"], None, "unknown"),
        ("look", ["look"], None, "ok"),
        ("nope", ["look"], "It is cold.", "ok"),
        ("nope", [], None, "ok"),
    ],
)
def test_a_run_that_ended_on_a_request_for_a_tool_that_nobody_has_may_have_failed(asked, offered, put_out, status):
    told = {"gen_ai.tool.definitions": [{"type": "function", "function": {"name": n}} for n in offered]}
    said = {} if put_out is None else {"gen_ai.output.messages": put_out}
    (run,) = runs(
        agent(1, "planner", took=9, status=1, attributes=said),
        chat(2, 1, [("c1", asked, {})], "Oslo?", at=1, attributes=told, status=1),
    )
    assert run["status"] == status
    assert ("error" in run["boundaries_unknown"]) == (status == "unknown")


@pytest.mark.parametrize(
    "said",
    [
        "Model call limits exceeded: run limit (2/2)",
        "Model call limits exceeded: thread limit (4/4), run limit (2/2)",
        "Tool call limit reached: run limit exceeded (3/2 calls).",
        "'look' tool call limit reached: thread limit exceeded (3/2 calls).",
    ],
)
def test_langchain_says_in_place_of_an_answer_that_a_limit_ended_the_run(said):
    asked = [("c1", "look", {})]
    (run,) = runs(
        agent(1, "planner", took=9, gen_ai__output__messages=said),
        chat(2, 1, asked, "Oslo?", at=1),
        tool(3, 1, "look", "c1", "12", at=2),
        chat(4, 1, [("c2", "look", {})], "Oslo?", at=3),
    )
    assert run["boundaries"] == ["max_steps"]


def test_langchain_raises_an_error_at_a_limit():
    told = [("exception", {"exception.type": "ModelCallLimitExceededError", "exception.message": "run limit (2/2)"})]
    (run,) = runs(
        agent(1, "planner", took=9, error="ModelCallLimitExceededError('run limit (2/2)')", events=told),
        chat(2, 1, [("c1", "look", {})], "Oslo?", at=1),
        tool(3, 1, "look", "c1", "12", at=2),
    )
    assert (run["status"], run["boundaries"]) == ("error", ["max_steps"])


@pytest.mark.parametrize(
    "came",
    [
        "Tool call limit exceeded. Do not make additional tool calls.",
        "Tool call limit exceeded. Do not call 'look' again.",
        "Tool call limit reached. Tool call look not executed. Don't try to execute it again.",
        "Tool not executed - a final result was already processed.",
    ],
)
def test_a_call_that_a_framework_kept_back_was_not_run(came):
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": came}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "look", {})], "Oslo?", at=1),
        chat(3, 1, "Cold.", [{"role": "user", "parts": [{"type": "text", "content": "Oslo?"}]}, asked, back], at=3),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("requested", came)]
    assert run["boundaries"] == []


@pytest.mark.parametrize(
    ("scope", "form"), [("openinference.instrumentation.dspy", "{}.__call__"), ("mlflow", "Tool.{}")]
)
@pytest.mark.parametrize(
    ("steps", "seen"), [(["look", "look"], ["max_steps"]), (["look", "finish"], []), (["look", None], [])]
)
def test_a_loop_of_dspys_that_did_not_finish_ran_out_of_steps(steps, seen, scope, form):
    def told(id, parent, name, kind, at, **more):
        kinds = {"openinference.span.kind": kind, "mlflow.spanType": f'"{kind}"'}
        return span(id, parent, name, at=at, scope=scope, attributes=kinds | more)

    spans = [told(1, None, "ReAct.forward", "CHAIN", 0) | {"took": 9}]
    for at, step in enumerate(steps, 1):
        spans.append(told(10 * at, 1, "Predict.forward", "CHAIN", at))
        spans.append(chat(10 * at + 1, 10 * at, "think", "Oslo?", at=at, took=0.1))
        if step:
            spans.append(told(10 * at + 2, 1, form.format(step), "TOOL", at + 0.5))
    spans += [told(90, 1, "ChainOfThought.forward", "CHAIN", 7), chat(91, 90, "Cold.", "Oslo?", at=7)]
    (run,) = runs(*spans)
    assert (run["boundaries"], run["output"]) == (seen, "Cold.")


def test_a_kit_that_asks_once_more_at_a_limit_tells_of_no_limit():
    def ran(scope):
        (run,) = runs(
            agent(1, "planner", took=9, scope=scope),
            chat(2, 1, [("c1", "look", {})], "Oslo?", at=1, scope=scope),
            tool(3, 1, "look", "c1", "12", at=2, scope=scope),
            chat(4, 1, "Cold.", "Oslo?", at=3, scope=scope),
        )
        return run["boundaries"], run["boundaries_unknown"]

    assert (ran("agent_framework"), ran("other")) == (([], ["max_steps"]), ([], []))


def _openlit(trace, answer, at, asked="Oslo?"):
    told = {"gen_ai.response.id": f"resp_{trace}"}
    return chat(1, None, answer, asked, trace=trace, at=at, attributes=told) | {
        "scope": "openlit.instrumentation.openai"
    }


def test_openlit_tells_each_call_of_a_conversation_the_same_words():
    (first, second) = runs(
        _openlit(1, [("fc_1", "look", {"a": 1})], 0),
        _openlit(2, [("fc_2", "look", {"a": 2})], 2),
        _openlit(3, "Cold.", 4),
        _openlit(4, "Warm.", 6),
    )
    assert [(c["name"], c["arguments"], c["status"]) for c in first["tool_calls"]] == [
        ("look", {"a": 1}, "unknown"),
        ("look", {"a": 2}, "unknown"),
    ]
    assert [(len(run["llm_calls"]), run["output"], run["status"]) for run in (first, second)] == [
        (3, "Cold.", "ok"),
        (1, "Warm.", "ok"),
    ]


def test_what_openlit_tells_alike_of_two_conversations_at_once_joins_nothing():
    asked = [_openlit(n, [(f"fc_{n}", "look", {"a": n})], n / 10) for n in (1, 2)]
    assert len(runs(*asked, _openlit(3, "Cold.", 4))) == 3
    assert len(runs(asked[0], _openlit(3, "Cold.", 4, "Rome?"))) == 2


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        ({"gen_ai.request.stream": True}, None),
        ({"gen_ai.request.stream": True, "gen_ai.usage.cache_read.input_tokens": 0}, 10),
        ({"gen_ai.request.stream": False}, 10),
        ({"gen_ai.request.stream": 5}, 10),
    ],
)
def test_what_openlit_guesses_of_a_stream_are_no_tokens(told, tokens):
    (run,) = runs(chat(1, None, "Cold.", "Oslo?", attributes=told) | {"scope": "openlit.instrumentation.openai"})
    assert run["llm_calls"][0]["input_tokens"] == tokens


@pytest.mark.parametrize(("scope", "error", "unknown"), [("pydantic-ai", None, False), ("other", None, True)])
def test_calls_left_to_a_client_are_no_limit_where_each_limit_is_an_error(scope, error, unknown):
    (run,) = runs(
        agent(1, "planner", took=9, error=error, scope=scope),
        chat(2, 1, [("c1", "look", {}), ("c2", "ask_user", {})], "Oslo?", at=1, scope=scope),
        tool(3, 1, "look", "c1", "12", at=3, scope=scope),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "requested"]
    assert run["boundaries"] == []
    assert ("max_steps" in run["boundaries_unknown"]) == unknown


def test_langfuses_client_writes_the_model_that_answered_over_the_one_that_was_asked():
    said = {"role": "assistant", "content": "Hi."}
    (run,) = runs(
        _langfuse(1, None, "planner", "agent", took=9),
        _langfuse(2, 1, "OpenAI-generation", "generation", 1, model__name="m-2026-01-02", output=said),
        _langfuse(3, 1, "OpenAI-generation", "generation", 3, model__name="m", level="ERROR"),
        _langfuse(4, 1, "ChatOpenAI", "generation", 5, model__name="m", output=said),
    )
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [
        (None, "m-2026-01-02"),
        ("m", None),
        ("m", None),
    ]


def _langtrace(trace, at, history, answer, finish, inner):
    """A model call of LangGraph 0.6 under Langtrace 3.8: each node of the graph that asks a model has a trace."""
    scope = "langtrace_python_sdk.instrumentation.langchain_core.instrumentation"
    client = "langtrace_python_sdk.instrumentation.openai.instrumentation"
    tools = {"tools": [{"type": "function", "function": {"name": name}} for name in ("search", "ask_worker")]}
    told = {"langchain.task.name": "chatmodel", "langchain.inputs": json.dumps([history])}
    ended = {"model_name": "m-2024", "id": f"chatcmpl-{trace}", "finish_reason": finish}
    whole = answer | {"type": "ai", "response_metadata": ended, "id": f"run--{trace}"}
    outputs = {"langchain.outputs": json.dumps(whole), "langchain.metadata": json.dumps(tools)}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.system": "openai"}
    usage = {"gen_ai.usage.input_tokens": 100 + trace, "gen_ai.usage.output_tokens": 10}
    prompt = [("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(inner)})]
    asked = {"langchain.task.name": "runnable", "langchain.inputs": "{}"}
    return (
        span(1, None, "RunnableSequence.invoke", trace, at, 2, scope=scope, status=1, attributes=asked),
        span(2, 1, "BaseChatModel.invoke", trace, at, 1.9, scope=scope, status=1, attributes=told | outputs | usage),
        span(3, 2, "BaseChatModel.generate", trace, at, 1.8, scope=scope, status=1, attributes=told),
        span(4, 3, "openai.chat.completions.create", trace, at, 1.7, scope=client, attributes=chat, events=prompt),
    )


def test_langtrace_tells_what_langchains_models_were_asked_and_answered():
    def asks(id, name, args):
        call = {"id": id, "function": {"name": name, "arguments": json.dumps(args)}, "type": "function"}
        return {
            "additional_kwargs": {"tool_calls": [call]},
            "tool_calls": [{"name": name, "args": args, "id": id, "type": "tool_call"}],
            "type": "ai",
        }

    def came(id, text):
        return {"content": text, "type": "tool", "tool_call_id": id, "status": "success"}

    first, second = asks("c1", "search", {"city": "Oslo"}), asks("c2", "ask_worker", {"query": "How deep?"})
    go, seen, deep = {"content": "Go", "type": "human"}, came("c1", "seen"), came("c2", "Deep.")
    left_out = [{"id": "", "type": ""}]
    begun, brought = {"role": "user", "content": "Go"}, {"role": "tool", "tool_call_id": "c1", "content": "seen"}
    found = runs(
        *_langtrace(1, 0, [go], first, "tool_calls", [begun]),
        *_langtrace(2, 3, [go, first, seen], second, "tool_calls", [begun, left_out, brought]),
        *_langtrace(3, 6, [{"content": "How deep?", "type": "human"}], {"content": "Deep."}, "stop", []),
        *_langtrace(4, 9, [go, first, seen, second, deep], {"content": "Done."}, "stop", [begun, left_out, brought]),
        *_langtrace(5, 20, [{"content": "Hi", "type": "human"}], {"content": "Hello."}, "stop", []),
    )
    assert [(len(r["trace_ids"]), r["input"], r["output"]) for r in found] == [(4, "Go", "Done."), (1, "Hi", "Hello.")]
    run = found[0]
    assert [(c["name"], c["arguments"], c["result"], c["status"]) for c in run["tool_calls"]] == [
        ("search", {"city": "Oslo"}, "seen", "ok")
    ]
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [("worker", "ask_worker", "ok")]
    told = [(c["request_model"], c["response_model"], c["input_tokens"], c["finish_reason"]) for c in run["llm_calls"]]
    assert told == [("m", "m-2024", 100 + n, "stop" if n > 2 else "tool_calls") for n in (1, 2, 3, 4)]
    assert run["known_tools"] == ["search"]
