"""Vendors' own tracers for Python, and OpenTelemetry's newest instrumentations: written by hand as they tell it."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def _called(run):
    return [(c["name"], c["agent"], c["arguments"], c["status"], c["result"], c["call_id"]) for c in run["tool_calls"]]


def _respan(id, parent, kind, named, at=0.0, took=1.0, given=None, came=None, **more):
    """respan-tracing 2.24: no scope has a name."""
    told = {"respan.entity.log_type": kind, "traceloop.entity.name": named} | more.pop("told", {})
    told |= {"traceloop.entity.input": json.dumps(given, separators=(",", ":"))} if given is not None else {}
    told |= {"traceloop.entity.output": json.dumps(came, separators=(",", ":"))} if came is not None else {}
    more = {"status": 1} | more if more.get("error") is None else more
    return span(id, parent, f"{kind}.{named}", at=at, took=took, scope="", attributes=told, **more)


def _respan_call(call, name, given):
    return {"id": call, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}


def _respan_asked(id, parent, at, given, calls=(), said="", named="response", models=("model-b", "model-b"), **more):
    told = {"llm.request.type": "chat", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
    told |= dict(zip(("gen_ai.request.model", "gen_ai.response.model"), models, strict=True))
    told["llm.request.functions"] = [{"type": "function", "function": {"name": "look"}}]
    for at_, message in enumerate(given):
        told |= {f"gen_ai.prompt.{at_}.{key}": value for key, value in message.items() if key != "tool_call_id"}
    answer = {"content": said, "tool_calls": [_respan_call(*call) for call in calls]}
    told |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": said}
    told |= {"gen_ai.completion.0.tool_calls": answer["tool_calls"]} if calls else {}
    return _respan(id, parent, "chat", named, at, given=given, came=answer, told=told | more.pop("told", {}), **more)


_USER = {"role": "user", "content": "go"}


def _respan_agents(*steps, models=("model-b", "model-b"), named="response"):
    """respan-instrumentation-openai-agents 1.1."""
    made_of = {"handoffs": ["worker"], "name": "boss", "output_type": "str", "tools": ["look", "watch"]}
    (run,) = runs(
        _respan(
            1,
            None,
            "workflow",
            "Agent workflow",
            0,
            30,
            {"workflow_name": "Agent workflow"},
            told={"respan.trace.trace_group_identifier": "talk-1"},
        ),
        _respan(2, 1, "workflow", "Agent workflow", 0, 30, {"name": "Agent workflow"}),
        _respan(3, 2, "agent", "boss", 0, 12, made_of),
        _respan(4, 3, "task", "turn-1", 0, 8, {"agent_name": "boss", "turn": 1}),
        *steps,
    )
    return run


def test_respan_tells_openais_agents_their_turns_and_what_they_hand_over():
    raised = {"error": {"message": "Error running tool (non-fatal)", "status_code": 500}}
    calls = [("c1", "look", {"x": 1}), ("c2", "watch", {"x": 2})]
    back = [{"role": "tool", "content": c, "tool_call_id": i} for i, c in (("c1", "seen"), ("c2", "Error: bad"))]
    asked = {"role": "assistant", "content": "", "tool_calls": [_respan_call(*call) for call in calls]}
    run = _respan_agents(
        _respan_asked(5, 4, 1, [_USER], calls),
        _respan(6, 4, "tool", "look", 3, given={"arguments": {"x": 1}, "name": "look"}, came="seen"),
        _respan(7, 4, "tool", "watch", 3, given={"arguments": {"x": 2}, "name": "watch"}, came=raised, error="bad"),
        _respan(8, 3, "task", "turn-2", 9, 3, {"agent_name": "boss", "turn": 2}),
        _respan_asked(9, 8, 9, [_USER, asked, *back], [("c3", "transfer_to_worker", {})]),
        _respan(10, 8, "handoff", "handoff", 11, 0.1, {"from_agent": "boss"}, {"to_agent": "worker"}),
        _respan(11, 2, "agent", "worker", 13, 9, {"handoffs": [], "name": "worker", "output_type": "str", "tools": []}),
        _respan_asked(12, 11, 14, [_USER], said="done"),
    )
    assert _called(run) == [
        ("look", "boss", {"x": 1}, "ok", "seen", "c1"),
        ("watch", "boss", {"x": 2}, "error", "Error: bad", "c2"),
    ]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("boss", "worker", "handoff")]
    assert (run["input"], run["output"], run["known_tools"]) == ("go", "done", ["look"])
    assert (run["agents"], run["conversation_id"]) == (["boss", "worker"], "talk-1")
    assert [(c["agent"], c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [
        ("boss", None, "model-b"),
        ("boss", None, "model-b"),
        ("worker", None, "model-b"),
    ]


def test_a_generation_of_respans_tells_what_was_asked_for_and_what_failed_has_no_words():
    run = _respan_agents(_respan_asked(5, 4, 1, [_USER], said="done", named="generation"))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("model-b", None)]
    run = _respan_agents(
        _respan(5, 4, "chat", "response", 1, came={"error": {"message": "no", "status_code": 500}}, error="no")
    )
    assert ([c["status"] for c in run["llm_calls"]], run["input"], run["boundaries"]) == (["error"], None, ["error"])


def test_respan_names_what_langchain_runs_for_an_agent():
    """respan-instrumentation-langchain 0.1."""

    def of(name, thread=True):
        told = {"ls_integration": "langchain_create_agent", "lc_agent_name": name}
        return {"langchain.metadata": json.dumps(told | ({"thread_id": "t-9"} if thread else {}))}

    ran = {"gen_ai.tool.name": "look", "gen_ai.tool.call.arguments": '{"x": 1}'}
    message = {"content": "seen", "type": "tool", "name": "look", "tool_call_id": "c1", "status": "success"}
    (run,) = runs(
        _respan(1, None, "workflow", "planner", 0, 20, {"messages": [["user", "go"]]}, told=of("planner")),
        _respan(2, 1, "task", "model", 1, 2, told=of("planner")),
        _respan_asked(3, 2, 1, [_USER], [("c1", "look", {"x": 1})], named="ChatOpenAI", told=of("planner")),
        _respan(
            4, 1, "tool", "look", 4, given={"x": 1}, told=of("planner") | ran | {"gen_ai.tool.call.result": message}
        ),
        _respan_asked(5, 1, 6, [_USER], said="done", named="ChatOpenAI", told=of("planner")),
    )
    assert _called(run) == [("look", "planner", {"x": 1}, "ok", "seen", "c1")]
    assert (run["agents"], run["conversation_id"], run["input"]) == (["planner"], "t-9", "go")


def test_texts_that_were_flattened_as_json_are_what_the_request_beside_them_says():
    """respan-instrumentation-anthropic 1.2."""
    quoted = {"gen_ai.prompt.0.content": '"go"', "gen_ai.completion.0.content": "done"}
    (run,) = runs(_respan_asked(1, None, 0, [_USER], said="done", named="messages", told=quoted))
    assert run["input"] == "go"
    (run,) = runs(_respan_asked(1, None, 0, [{"role": "user", "content": '"go"'}], said="done", told=quoted))
    assert run["input"] == '"go"'


@pytest.mark.parametrize("kind", ["workflow", "agent"])
def test_a_models_failure_is_its_own_where_what_raised_is_around_it(kind):
    """respan-tracing 2.24: decorators record what was raised, the client tells a failure as what came."""
    thrown = [("exception", {"exception.type": "Bad", "exception.message": "it is down"})]
    came = {"error": "Bad", "message": "it is down"}
    (run,) = runs(
        _respan(1, None, kind, "flow", 0, 9, error="it is down", events=thrown),
        _respan(2, 1, "chat", "openai.chat", 1, given=[_USER], came=came, error="it is down"),
    )
    assert ([c["status"] for c in run["llm_calls"]], run["status"], run["boundaries"]) == (
        ["error"],
        "error",
        ["error"],
    )


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_opentelemetrys_newest_leave_out_the_flag_of_a_failed_tool(provider):
    """opentelemetry-instrumentation-genai-anthropic and -bedrock 1.3b0."""
    scope = f"opentelemetry.instrumentation.genai.{provider}"
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]}
    back = {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": "no luck"}]}
    question = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    (run,) = runs(
        span(1, None, "handle", took=9),
        chat(2, 1, [("c1", "look", {})], [question], at=1, scope=scope),
        chat(3, 1, "done", [question, asked, back], at=3, scope=scope),
    )
    assert _called(run) == [("look", None, {}, "unknown", "no luck", "c1")]
    assert "tool_failure" in run["boundaries_unknown"]


def _smolagent(reason, *steps):
    """opentelemetry-instrumentation-genai-smolagents 1.2b0."""
    told = {"gen_ai.response.finish_reasons": [reason]}
    (run,) = runs(agent(1, "planner", took=30, attributes=told), *steps)
    return run["boundaries"], "max_steps" in run["boundaries_unknown"]


def test_an_agent_that_says_why_it_ended_met_its_limit():
    steps = (
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        tool(3, 1, "look", "c1", "seen", at=3),
        chat(4, 1, "so far", "go", at=5),
    )
    assert _smolagent("max_steps", *steps) == (["max_steps"], False)
    assert _smolagent("max_turns") == (["max_steps"], False)
    assert _smolagent("stop", *steps) == ([], False)


@pytest.mark.parametrize(
    "scope", ["opentelemetry.instrumentation.genai.qwen_agent", "opentelemetry.util.genai.handler"]
)
def test_the_files_of_an_agent_of_qwens_are_no_agent(scope):
    """opentelemetry-instrumentation-genai-qwen-agent 1.3b0, loongsuite-instrumentation-qwen-agent 0.9."""
    (run,) = runs(
        agent(1, "planner", took=9, scope=scope),
        agent(2, "Memory", 1, at=0, took=0.1, scope=scope, attributes={"gen_ai.agent.description": ""}),
        tool(3, 1, "look", "c1", "seen", at=3, scope=scope),
    )
    assert (run["agents"], run["delegations"]) == (["planner"], [])
    assert _called(run) == [("look", "planner", None, "ok", "seen", "c1")]


@pytest.mark.parametrize(("answered", "told"), [("m", None), ("m-2", "m-2")])
def test_the_model_that_was_asked_is_not_who_answered_an_agent_of_qwens(answered, told):
    """loongsuite-instrumentation-qwen-agent 0.9, of a model whose answers have no id; and its words for no tool."""
    scope = "opentelemetry.util.genai.handler"
    models = {"gen_ai.request.model": "m", "gen_ai.response.model": answered}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": None, "name": "look", "arguments": {}}]}
    back = {"role": "function", "parts": [{"type": "tool_call_response", "response": "Tool look does not exists."}]}
    told_first = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}, asked, back]
    (run,) = runs(
        agent(1, "planner", took=9, scope=scope),
        chat(2, 1, [(None, "look", {})], "go", at=1, scope=scope, attributes=models),
        chat(3, 1, "No.", told_first, at=3, scope=scope, attributes=models),
    )
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("m", told)] * 2
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "requested")]


_STUCK = "\nError:\nError executing tool 'watch'\nNow let's retry: take care not to repeat previous errors! Try."
_ENOUGH = "\nBased on the above, please provide an answer to the following user task:\ngo"


def _text(role, text):
    return {"role": f"MessageRole.{role}", "parts": [{"type": "text", "content": text}]}


def _told_by_user(calls, seen, rest=""):
    """smolagents 1.26 under the instrumentation of OpenAI's client: what ran is told in words, and by no span."""
    names = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    asked = [
        _text("SYSTEM", "You are an expert assistant who can solve any task using tool calls."),
        _text("USER", "New task:\ngo"),
    ]
    said = _text("ASSISTANT", f"I look.\nCalling tools:\n{names}")
    (run,) = runs(
        agent(1, "planner", took=30),
        chat(2, 1, calls, asked, at=1),
        chat(3, 1, "so far", [*asked, said, _text("USER", f"Observation:\n{seen}{rest}")], at=5),
    )
    return run


@pytest.mark.parametrize("rest", ["", _STUCK, _STUCK + _ENOUGH, _ENOUGH])
def test_what_a_kit_says_it_saw_is_the_result_of_what_it_says_it_called(rest):
    run = _told_by_user([("c1", "look", {"x": 1})], "Sunny.\nVery.", rest)
    assert _called(run) == [("look", "planner", {"x": 1}, "ok", "Sunny.\nVery.", "c1")]
    assert (run["input"], "max_steps" in run["boundaries"]) == ("go", _ENOUGH in rest)


def test_what_a_kit_saw_is_the_report_of_an_agent_that_it_called():
    run = _told_by_user(
        [("c1", "scout", {"task": "x"})], "Here is the final answer from your managed agent 'scout':\nno"
    )
    assert (_called(run), [(d["to"], d["tool"]) for d in run["delegations"]]) == ([], [("scout", "scout")])


def test_what_a_kit_saw_of_several_tools_is_not_told_apart():
    run = _told_by_user([("c1", "look", {}), ("c2", "watch", {})], "Sunny.\nWarm.")
    assert _called(run) == [
        ("look", "planner", {}, "unknown", None, "c1"),
        ("watch", "planner", {}, "unknown", None, "c2"),
    ]


def _fiddler(id, parent, what, name, at=0.0, took=1.0, **more):
    """fiddler-otel 1.4."""
    told = {"fiddler.span.type": what} | more.pop("told", {})
    more = {"status": 1} | more if more.get("error") is None else more
    return span(id, parent, name, at=at, took=took, scope="fiddler.otel.tracer", attributes=told, **more)


def _fiddler_asked(id, parent, at, calls=(), said="", told=None):
    parts = [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls]
    answer = [{"role": "assistant", "parts": parts or [{"type": "text", "content": said}], "finish_reason": "stop"}]
    given = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    told = {"gen_ai.request.model": "model-a", "gen_ai.usage.input_tokens": 10} | (told or {})
    told |= {"gen_ai.input.messages": given, "gen_ai.output.messages": answer}
    return _fiddler(id, parent, "llm", "ChatModel", at, told=told)


def test_fiddler_names_agents_after_the_nodes_that_work_for_them():
    """fiddler-langgraph 1.7."""

    def node(name):
        return {"gen_ai.agent.name": name, "gen_ai.agent.id": f"1:{name}"}

    def back(text):
        told = {
            "id": ["langchain", "schema", "messages", "ToolMessage"],
            "kwargs": {"content": text, "type": "tool", "name": "it", "tool_call_id": "c", "status": "success"},
        }
        return {"gen_ai.tool.output": {"lc": 1, "type": "constructor"} | told}

    ask, look = ({"gen_ai.tool.name": n, "gen_ai.tool.input": '{"x": 1}'} for n in ("ask_worker", "look"))
    (run,) = runs(
        _fiddler(1, None, "chain", "boss", 0, 30, told=node("model"), kind=3),
        _fiddler(2, 1, "chain", "model", 0, 3, told=node("model")),
        _fiddler_asked(3, 2, 1, [("c1", "ask_worker", {"x": 1})], told=node("model")),
        _fiddler(4, 1, "chain", "tools", 4, 12, told=node("tools")),
        _fiddler(5, 4, "tool", "ask_worker", 4, 12, told=node("tools") | ask | back("it is")),
        _fiddler(6, 5, "chain", "worker", 5, 10, told=node("tools")),
        _fiddler(7, 6, "chain", "model", 5, 2, told=node("tools")),
        _fiddler_asked(8, 7, 5, [("c2", "look", {"x": 1})], told=node("tools")),
        _fiddler(9, 6, "chain", "tools", 8, 2, told=node("tools")),
        _fiddler(10, 9, "tool", "look", 8, 1, told=node("tools") | look | back("seen")),
        _fiddler(11, 6, "chain", "RunnableLambda", 11, told=node("tools")),
        _fiddler_asked(12, 6, 12, said="it is", told=node("tools")),
        _fiddler_asked(13, 1, 20, said="done", told=node("model")),
    )
    assert run["agents"] == ["boss", "worker"]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("boss", "worker", "ask_worker")]
    assert _called(run) == [("look", "worker", {"x": 1}, "ok", "seen", "c2")]
    assert [c["agent"] for c in run["llm_calls"]] == ["boss", "worker", "worker", "boss"]


def test_fiddlers_decorators_tell_what_a_function_is_given_and_gives():
    given = {"gen_ai.llm.input.user": '{"x": 1}'}
    (run,) = runs(
        _fiddler(1, None, "chain", "handle", 0, 9, told={"gen_ai.llm.input.user": "go", "gen_ai.llm.output": "done"}),
        _fiddler_asked(2, 1, 1, [("c1", "look", {"x": 1}), ("c2", "watch", {"x": 1})]),
        _fiddler(3, 1, "tool", "look", 3, told=given | {"gen_ai.llm.output": "seen"}),
        _fiddler(4, 1, "tool", "watch", 4, told=given, error="bad"),
        _fiddler_asked(5, 1, 6, said="done"),
    )
    assert _called(run) == [
        ("look", None, {"x": 1}, "ok", "seen", "c1"),
        ("watch", None, {"x": 1}, "error", None, "c2"),
    ]
    assert (run["input"], run["output"]) == ("go", "done")


def _genai_otel(id, parent, at, prompt, calls=(), said=None, twice=False):
    """genai-otel-instrument 1.42."""
    events = [(f"gen_ai.prompt.{n}", {"gen_ai.prompt.role": r, "gen_ai.prompt.content": t}) for n, (r, t) in prompt]
    answer = {"gen_ai.completion.role": "assistant", "gen_ai.completion.content": said or ""}
    events += [("gen_ai.completion.0", answer)]
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-a", "gen_ai.response.id": f"r{id}"}
    for place, call in enumerate(calls):
        key = f"llm.output_messages.0.message.tool_calls.{place}.tool_call"
        told |= {f"{key}.id": call[0], f"{key}.function.name": call[1], f"{key}.function.arguments": call[2]}
    scope = "genai_otel.instrumentors.base"
    return span(id, parent, "chat", at=at, scope=scope, attributes=told, events=events * (2 if twice else 1), status=1)


def test_events_with_numbers_in_their_names_are_messages():
    asked = [("0", ("user", "go")), ("1", ("assistant", "")), ("2", ("tool", "seen")), ("3", ("tool", "Error: bad"))]
    (run,) = runs(
        span(1, None, "handle", took=20),
        _genai_otel(2, 1, 1, asked[:1], [("c1", "look", {"x": 1}), ("c2", "watch", {})], twice=True),
        _genai_otel(3, 1, 5, asked, said="done", twice=True),
    )
    assert _called(run) == [
        ("look", None, {"x": 1}, "ok", "seen", "c1"),
        ("watch", None, {}, "error", "Error: bad", "c2"),
    ]
    assert (run["input"], run["output"]) == ("go", "done")


def test_what_came_back_without_an_id_is_of_a_call_that_was_asked_for_by_the_same_words():
    ask, look = ("c1", "ask", {}), ("c2", "look", {})
    (run,) = runs(
        span(1, None, "handle", took=30),
        _genai_otel(2, 1, 1, [("0", ("user", "go"))], [ask]),
        _genai_otel(3, 1, 5, [("0", ("user", "look it up"))], [look]),
        _genai_otel(4, 1, 9, [("0", ("user", "go")), ("1", ("assistant", "")), ("2", ("tool", "found"))], said="done"),
    )
    assert [(c[0], c[4]) for c in _called(run)] == [("ask", "found"), ("look", None)]


@pytest.mark.parametrize("over", [0, 1])
def test_who_works_after_work_was_handed_over_is_not_told(over):
    told = {"gen_ai.operation.name": "agent.run", "gen_ai.agent.name": "boss", "gen_ai.request.model": "boss"}
    told |= {"openai.agent.handoff_count": over, "openai.agent.input": "go", "openai.agent.output": "done"}
    scope = "genai_otel.instrumentors.base"
    (run,) = runs(
        span(1, None, "openai_agents.runner.run", took=20, attributes=told, scope=scope, status=1),
        _genai_otel(2, 1, 1, [("0", ("user", "go"))], said="done"),
    )
    assert [c["agent"] for c in run["llm_calls"]] == [None if over else "boss"]
    assert (run["agents"], run["input"], run["output"]) == ([] if over else ["boss"], "go", "done")


def _netra(id, at, prompt, *answers):
    """netra-sdk 1.2: what asks for a tool is a message of its own, the call as its text."""
    told = {"gen_ai.request.model": "model-a", "llm.request.type": "chat", "netra.session_id": "talk-1"}
    for family, messages in (("prompt", prompt), ("completion", answers)):
        for at_, (role, text, call) in enumerate(messages):
            told |= {f"gen_ai.{family}.{at_}.role": role, f"gen_ai.{family}.{at_}.content": text}
            told |= {f"gen_ai.{family}.{at_}.tool_call_id": call} if call else {}
    scope = "netra.instrumentation.openai"
    return span(id, 1, "openai.chat", at=at, kind=3, scope=scope, attributes=told, status=1)


def test_a_models_message_with_an_id_is_the_call_that_its_text_names():
    asked = ("user", "go", None)
    look = ("assistant", json.dumps({"name": "look", "arguments": '{"x": 1}'}), "c1")
    watch = ("assistant", json.dumps({"name": "watch", "arguments": "{}"}), "c2")
    back = [("tool", "seen", "c1"), ("tool", "Error: bad", "c2")]
    (run,) = runs(
        span(1, None, "handle", took=20),
        _netra(2, 1, [asked], look, watch),
        _netra(3, 5, [asked, look, watch, *back], ("assistant", "done", None)),
    )
    assert _called(run) == [
        ("look", None, {"x": 1}, "ok", "seen", "c1"),
        ("watch", None, {}, "error", "Error: bad", "c2"),
    ]
    assert (run["output"], run["conversation_id"]) == ("done", "talk-1")
