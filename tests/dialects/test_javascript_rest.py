"""What is left of the kits for JavaScript: what they told wrong in runs of many scripts, in small."""

import json
from functools import partial

import pytest

from tests.runs.requests import agent, chat, runs, span

pytestmark = pytest.mark.full

_jsons = partial(json.dumps, separators=(",", ":"))  # as JavaScript writes it

_TRACELOOP = "@traceloop/instrumentation-langchain"


def _parts(role, *texts):
    return {"role": role, "parts": [{"type": "text", "content": text} for text in texts]}


def _answered(id, at, asked, answer, finish="stop"):
    """Traceloop's for LangChain.js (0.27) opens a trace for each call, and leaves out what an answer asks for."""
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": _jsons(asked),
        "gen_ai.output.messages": _jsons([_parts("assistant", answer) | {"finish_reason": finish}]),
        "gen_ai.usage.input_tokens": 10 + id,
    }
    return span(id, None, "chat m", trace=id, at=at, scope=_TRACELOOP, attributes=told)


def _ran(id, at, given, back=None, **more):
    told = {"traceloop.span.kind": "task", "traceloop.entity.name": "DynamicStructuredTool"}
    told |= {"gen_ai.operation.name": "execute_tool", "traceloop.entity.input": _jsons({"args": [_jsons(given)]})}
    if back is not None:
        name, call, text = back
        message = {"status": "success", "content": text, "tool_call_id": call, "name": name}
        kind = ["langchain_core", "messages", "ToolMessage"]
        told["traceloop.entity.output"] = _jsons({"lc": 1, "type": "constructor", "id": kind, "kwargs": message})
    name = "execute_tool DynamicStructuredTool"
    return span(id, None, name, trace=id, at=at, took=0.001, scope=_TRACELOOP, attributes=told, **more)


@pytest.mark.parametrize("first", [2, 3])
def test_of_results_without_names_and_ids_each_is_of_the_tool_that_gave_or_threw_it(first):
    """Spans of one millisecond are in no order."""
    thrown = [("exception", {"exception.type": "Error", "exception.message": "kaput 1"})]
    asked = [_parts("system", "You plan."), _parts("user", "look")]
    back = [_parts("tool", "21 in Oslo"), _parts("tool", "Error: kaput 1\n Please fix your mistakes.")]
    (run,) = runs(
        _answered(1, 0, asked, "Let me look.", "tool_call"),
        _ran(first, 2, {"city": "Oslo"}, ("get_weather", "call_a1", "21 in Oslo")),
        _ran(5 - first, 2, {"x": 1}, error="kaput 1", events=thrown),
        _answered(4, 3, [*asked, _parts("assistant", "Let me look."), *back], "One worked."),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        (None, "error", "Error: kaput 1\n Please fix your mistakes."),
        ("get_weather", "ok", "21 in Oslo"),
    ]


@pytest.mark.parametrize("ok", [0, 1])
def test_an_ok_that_openinference_says_of_all_spans_of_the_ai_sdk_does_not_say_that_a_stream_was_answered(ok):
    """`LegacyOpenTelemetry` of the AI SDK 7: a stream that was called off, with OpenInference's processor or not."""
    asked = _jsons([{"role": "user", "content": [{"type": "text", "text": "go"}]}])

    def told(id, parent, name, kind, **more):
        attributes = {"ai.operationId": name, "ai.telemetry.functionId": "planner", "ai.model.id": "m"} | more
        attributes |= {"openinference.span.kind": kind} if ok else {}
        return span(id, parent, f"{name} planner", status=ok, scope="ai", took=4 - id, at=id, attributes=attributes)

    (run,) = runs(
        told(1, None, "ai.streamText", "AGENT", **{"ai.prompt": _jsons({"prompt": "go"})}),
        told(2, 1, "ai.streamText.doStream", "LLM", **{"ai.prompt.messages": asked}),
    )
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("unknown", ["unknown"])
    assert "error" in run["boundaries_unknown"]


_META = "lmnr.association.properties.metadata."


def _mastra(id, parent, name, at, took=1, kind="DEFAULT", given=None, came=None, **more):
    """Mastra 1.71 by its exporter for Laminar (1.3), which tells the type of a span by its name alone."""
    told = {"lmnr.span.type": kind} | more.pop("told", {})
    told |= {f"lmnr.span.{key}": _jsons(value) for key, value in (("input", given), ("output", came)) if value}
    return span(id, parent, name, at=at, took=took, scope="@mastra/laminar", attributes={"status": 1} | told, **more)


def _step(id, parent, number, at, took, text, calls=(), history=(), used=None):
    out = {"text": text, "toolCalls": [{"toolCallId": i, "toolName": n, "args": a} for i, n, a in calls]}
    told = {_META + "modelMetadata": _jsons({"modelId": "m", "modelVersion": "v3"})}
    usage = {"prompt_tokens": used, "completion_tokens": 2}
    told |= {_META + "body": _jsons({"id": "chatcmpl-1", "model": "m-2026", "usage": usage})} if used else {}
    asked = [{"role": "user", "content": "go"}, *history]
    return [
        _mastra(id, parent, f"step: {number}", at, took, "LLM", asked, out, told=told),
        _mastra(id + 1, id, f"inference: {number}", at, took, came=out),
        _mastra(id + 2, id + 1, "chunk: 'text'", at + 0.1, 0.1, "LLM", came={"text": text}),
    ]


def test_mastra_tells_laminar_what_a_span_is_by_its_name_and_what_all_steps_used_beside_them():
    calls = [("c1", "look", {"at": 1}), ("c2", "broken", {"x": 2}), ("c3", "ghost", {})]
    back = [
        {"role": "assistant", "content": "Let me.[tool: look][tool: broken][tool: ghost]"},
        {"role": "tool", "content": "[tool-result: look][tool-result: broken][tool-result: ghost]"},
    ]
    summed = {"gen_ai.request.model": "m", "gen_ai.response.model": "m-2026", "gen_ai.usage.input_tokens": 30}
    (run,) = runs(
        _mastra(1, None, "agent run: 'planner'", 0, 20, given="go", came={"text": "Let me.cold", "files": []}),
        _mastra(2, 1, "llm: 'm'", 1, 18, "LLM", [{"role": "user", "content": "go"}], {"text": "cold"}, told=summed),
        *_step(3, 2, 0, 1, 9, "Let me.", calls, used=10),
        _mastra(6, 3, "tool: 'look'", 2, 1, "TOOL", {"at": 1}, {"found": "cold"}),
        _mastra(7, 3, "tool: 'broken'", 2, 1, "TOOL", {"x": 2}, error="kaput"),
        _mastra(8, 1, "client_tool: 'ghost'", 2, 0.1),
        *_step(9, 2, 1, 11, 5, "cold", history=back, used=20),
    )
    assert [(c["name"], c["agent"], c["status"], c["call_id"]) for c in run["tool_calls"]] == [
        ("look", "planner", "ok", "c1"),
        ("broken", "planner", "error", "c2"),
        ("ghost", "planner", "unknown", "c3"),
    ]
    assert [c["result"] for c in run["tool_calls"]] == [{"found": "cold"}, None, None]
    assert [(c["request_model"], c["response_model"], c["input_tokens"]) for c in run["llm_calls"]] == [
        ("m", "m-2026", 10),
        ("m", "m-2026", 20),
    ]
    assert (run["status"], run["agents"], run["output"]) == ("ok", ["planner"], "Let me.cold")


@pytest.mark.parametrize(("resumed", "used"), [({}, 30), ({_META + "resumed": True}, None)])
def test_what_mastra_tells_laminar_of_a_run_that_goes_on_counts_what_was_used_before(resumed, used):
    summed = {"gen_ai.response.model": "m-2026", "gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 4}
    (run,) = runs(
        _mastra(1, None, "agent run: 'planner' (resumed)", 0, 9, given="go", came={"text": "cold"}),
        _mastra(2, 1, "llm: 'm'", 1, 7, "LLM", [{"role": "system", "content": "Plan."}], told=summed | resumed),
        *_step(3, 2, 1, 1, 5, "cold"),
    )
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(used, used and 4)]


def test_a_step_of_mastras_that_ends_long_after_its_tools_is_one_call_with_the_words_beside_what_it_asks_for():
    """The older exporter (0.3) has no span for the model's call alone."""

    def told(id, parent, kind, at, took, **more):
        attributes = {"mastra.span.type": kind} | {k: _jsons(v) for k, v in more.items()}
        return span(id, parent, kind, at=at, took=took, scope="@mastra/otel", attributes=attributes, status=1)

    call = {"toolCallId": "c1", "toolName": "look", "args": {"at": 1}}
    (run,) = runs(
        told(1, None, "agent_run", 0, 20, output={"text": "cold"}) | {"name": "agent.planner"},
        told(2, 1, "model_generation", 1, 18),
        told(3, 2, "model_step", 1, 9, output={"text": "Let me.", "toolCalls": [call]}),
        told(4, 3, "tool_call", 2, 1, **{"gen_ai.tool.input": {"at": 1}, "gen_ai.tool.output": {"found": 1}})
        | {"name": "tool.execute look"},
        told(5, 2, "model_step", 11, 5, output={"text": "cold", "toolCalls": []}),
    )
    assert len(run["llm_calls"]) == 2
    assert [(c["call_id"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("c1", "ok", 0)]


def test_a_workflow_that_mastra_calls_a_models_for_arize_holds_steps_and_is_none():
    """Its exporter for Arize 0.1: what is no agent and no tool is of kind LLM."""

    def told(id, parent, name, kind, at, took, came):
        attributes = {"openinference.span.kind": kind, "input.value": "go", "output.value": _jsons(came)}
        return span(id, parent, name, at=at, took=took, scope="@mastra/otel", attributes=attributes, status=1)

    (run,) = runs(
        told(1, None, "workflow.flow", "LLM", 0, 20, {"a": "cold"}),
        told(2, 1, "workflow step: 'ask'", "LLM", 1, 18, {"a": "cold"}),
        told(3, 2, "agent.planner", "AGENT", 2, 16, {"text": "cold", "files": []}),
        told(4, 3, "step: 0", "LLM", 3, 5, {"text": "", "toolCalls": [{"toolCallId": "c1", "toolName": "look"}]}),
        told(5, 4, "tool.execute look", "TOOL", 4, 1, {"found": 1}) | {"error": "kaput"},
        told(6, 3, "step: 1", "LLM", 9, 5, {"text": "cold", "toolCalls": []}),
    )
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("planner", "ok"), ("planner", "ok")]


_STREAMS = {"gen_ai.request.is_stream": "True"}
_TIMED = {"gen_ai.request.is_stream": "False", "gen_ai.server.time_per_output_token": "0.002"}
_CACHED = _STREAMS | {"gen_ai.usage.cache_read.input_tokens": 4}
_SAID = [{"type": "text", "content": "cold"}]
_ASKS = [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]


@pytest.mark.parametrize(
    ("client", "told", "parts", "tokens", "model"),
    [
        ("openai", _STREAMS, _SAID, None, "m-2026"),
        ("openai", _STREAMS, _ASKS, 5, "m-2026"),
        ("openai", _CACHED, _SAID, 5, "m-2026"),
        ("openai", _STREAMS | {"openai.api.type": "responses"}, _SAID, 5, "m-2026"),
        ("openai", {"gen_ai.request.is_stream": "False"}, _SAID, 5, "m-2026"),
        ("groq", _STREAMS, _SAID, None, "m-2026"),
        ("mistral", _TIMED, _SAID, None, "m-2026"),
        ("together", _STREAMS, _SAID, None, None),
        ("ollama", _STREAMS, _SAID, 5, "m-2026"),
    ],
)
def test_openlit_for_javascript_may_have_guessed_what_a_stream_used(client, told, parts, tokens, model):
    """1.15: where no usage came with it, by the words of the answer."""
    used = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2, "gen_ai.response.id": "chatcmpl-1"}
    told = told | used | {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    told |= {"gen_ai.response.model": "m" if client == "together" else "m-2026"}
    told |= {"gen_ai.output.messages": _jsons([{"role": "assistant", "parts": parts}])}
    (run,) = runs(span(1, None, "chat m", scope=f"@openlit/instrumentation-{client}", attributes=told))
    assert [(c["input_tokens"], c["response_model"]) for c in run["llm_calls"]] == [(tokens, model)]


def test_two_runs_that_openlit_for_javascript_links_to_where_their_agent_was_made_are_two():
    """OpenAI's Agents SDK and LangGraph under OpenLIT 1.15."""
    ours = {"scope": "@openlit/instrumentation-openai-agents"}
    made = {"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "planner"}
    link = [(1, 1)]
    found = runs(
        span(1, None, "create_agent planner", attributes=made, **ours),
        agent(2, "planner", trace=2, at=2, took=5, links=link, **ours),
        chat(3, 2, "cold", "one", trace=2, at=3, **ours),
        agent(4, "planner", trace=3, at=3, took=5, links=link, **ours),
        chat(5, 4, "hot", "two", trace=3, at=4, **ours),
    )
    assert [(r["input"], r["output"], len(r["llm_calls"])) for r in found] == [("one", "cold", 1), ("two", "hot", 1)]


def test_openlit_for_langchain_js_names_tools_by_their_class_and_guesses_what_a_model_was_asked():
    ours = {"scope": "@openlit/instrumentation-langchain"}
    parts = [
        {"type": "tool_call", "id": f"c{n}", "name": t, "arguments": {"x": n}} for n, t in ((1, "look"), (2, "no"))
    ]
    back = [{"role": "tool", "parts": [{"type": "text", "content": t}]} for t in ("21 in Oslo", "Error: kaput")]
    asked = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    asks = [{"role": "assistant", "parts": parts, "finish_reason": "tool_calls"}]

    def tool(id, call, x, **more):
        told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "DynamicStructuredTool"}
        told |= {"gen_ai.tool.call.id": call, "gen_ai.tool.call.arguments": _jsons({"x": x})} | more.pop("told", {})
        return span(id, 1, "execute_tool DynamicStructuredTool", at=3, attributes=told, **more, **ours)

    (run,) = runs(
        span(1, None, "invoke_workflow planner", took=9, gen_ai__operation__name="invoke_workflow"),
        chat(2, 1, at=1, attributes={"gen_ai.input.messages": asked, "gen_ai.output.messages": asks}, **ours),
        tool(3, "c1", 1, told={"gen_ai.tool.call.result": "[object ToolMessage]"}),
        tool(4, "01a2154f-0786-7298-b897-ba4247088c4f", 2, error="Error: kaput"),
        chat(5, 1, "cold", [*asked, *back], at=5, **ours),
    )
    assert [(c["name"], c["status"], c["call_id"], c["result"]) for c in run["tool_calls"]] == [
        ("look", "ok", "c1", "21 in Oslo"),
        ("no", "error", "c2", "Error: kaput"),
    ]
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(None, 2), (None, 2)]


def test_the_runner_of_googles_adk_that_openlit_for_javascript_names_after_the_kit_is_no_agent():
    ours = {"scope": "@openlit/instrumentation-google-adk"}
    (run,) = runs(
        agent(1, "google_adk", took=9, **ours),
        span(2, 1, "invocation", at=1, took=8, scope="gcp.vertex.agent"),
        agent(3, "planner", 2, at=2, took=6, **ours),
        agent(4, "planner", 3, at=2, took=6, scope="gcp.vertex.agent"),
        chat(5, 4, "cold", "go", at=3, scope="gcp.vertex.agent"),
    )
    assert (run["agents"], run["delegations"]) == (["planner"], [])


@pytest.mark.parametrize(("told", "inner", "calls"), [(True, False, None), (False, False, None), (True, True, 1)])
def test_a_loop_of_the_ai_sdk_that_openlit_tells_as_one_call_may_be_several(told, inner, calls):
    """What it used is the sum; what failed in it, a tool perhaps, is told of the whole."""
    offered = {"gen_ai.tool.definitions": _jsons([{"type": "function", "name": "look"}])}
    ours = {"scope": "@openlit/instrumentation-vercel-ai"}
    model = {"ai.operationId": "ai.generateText.doGenerate", "ai.response.text": "cold", "ai.model.id": "m"}
    (run,) = runs(
        chat(1, None, "cold", "go", took=9, attributes=offered, **ours)
        if told
        else span(1, None, "chat m", took=9, error="kaput", gen_ai__operation__name="chat", **ours),
        *([span(2, 1, "ai.generateText.doGenerate", at=1, scope="ai", attributes=model)] if inner else []),
    )
    assert (len(run["llm_calls"]) if run["llm_calls"] is not None else None) == calls
    assert (run["status"], run["output"]) == (("ok", "cold") if told else ("error", None))
    assert inner or run["tool_calls"] is None


def _axiom(id, parent, at, took, asked, said=None, **more):
    """Axiom's kit (0.52) in `withSpan`, which tells all calls of a model on one span."""
    told = {"gen_ai.capability.name": "planner"} if more.pop("shared", True) else {}
    told |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": "chatcmpl-1"}
    told |= {"gen_ai.usage.input_tokens": 201, "gen_ai.usage.output_tokens": 21, "gen_ai.input.messages": _jsons(asked)}
    told |= {"gen_ai.output.messages": _jsons([{"role": "assistant", "content": said}])} if said else {}
    told |= {"gen_ai.response.finish_reasons": '["stop"]' if said else '["tool-calls"]'} | more.pop("told", {})
    return span(id, parent, "chat m", at=at, took=took, scope="axiom", status=1, attributes=told, **more)


def _user(text):
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _asks(call, name):
    function = {"name": name, "arguments": "{}"}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call, "function": function}]}


def _ran_by_axiom(id, parent, name, call, at, took, gave):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call}
    told |= {"gen_ai.tool.arguments": "{}", "gen_ai.tool.message": _jsons(gave)}
    return span(id, parent, f"execute_tool {name}", at=at, took=took, scope="axiom", attributes=told)


def test_a_span_on_which_axiom_tells_all_calls_of_a_loop_is_none_of_them_and_ends_with_the_last_answer():
    back = {"role": "tool", "tool_call_id": "c1", "content": "warm"}
    inner = {"role": "tool", "tool_call_id": "c2", "content": "21"}
    (run,) = runs(
        _axiom(1, None, 0, 9, [_user("go"), _asks("c1", "research"), back], "All done."),
        _ran_by_axiom(2, 1, "research", "c1", 1, 6, "warm"),
        _axiom(3, 2, 1.5, 5, [_user("look"), _asks("c2", "look"), inner], "warm"),
        _ran_by_axiom(4, 3, "look", "c2", 3, 1, "21"),
    )
    assert (run["llm_calls"], run["output"], run["status"]) == (None, "All done.", "ok")
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("research", "ok"), ("look", "ok")]


@pytest.mark.parametrize(("shared", "calls"), [(True, None), (False, 2)])
def test_what_was_asked_for_since_the_user_spoke_says_that_axioms_span_was_shared(shared, calls):
    """Outside `withSpan` each call has its own, with what it asks for beside what it was asked."""
    asked = [_user("go"), _asks("c1", "ghost")]
    back = {"role": "tool", "tool_call_id": "c1", "content": "Model tried to call unavailable tool 'ghost'."}
    first = [] if shared else [_axiom(1, 9, 0, 1, asked, shared=False)]
    (run,) = runs(
        span(9, None, "POST", took=9, at=-1),
        *first,
        _axiom(2, 9, 3, 1, [*asked, back], "No such tool.", shared=shared),
    )
    assert (len(run["llm_calls"]) if run["llm_calls"] else None) == calls


def test_a_model_that_answered_and_is_called_ok_did_not_fail_by_what_an_attempt_threw():
    thrown = [("exception", {"exception.type": "AI_APICallError", "exception.message": "rate limited"})]
    told = {"error.type": "unknown", "error.message": "rate limited"}
    (run,) = runs(_axiom(1, None, 0, 5, [_user("go")], "Done.", events=thrown, told=told))
    assert (run["status"], [c["status"] for c in run["llm_calls"]], run["boundaries"]) == ("ok", ["ok"], [])


@pytest.mark.parametrize("author", ["researcher", None])
def test_an_agent_that_a_tool_of_langchain_js_hands_its_config_on_to_bears_the_callers_name_and_is_its_author(author):
    """OpenInference: `lc_agent_name` is that of who called, all the way down; a message's name is whose it is."""
    stamped = {"metadata": _jsons({"lc_agent_name": "lead"})}

    def of(kind, id, parent, name, at, took, **told):
        told = {key.replace("__", "."): value for key, value in told.items()} | {"openinference.span.kind": kind}
        scope = "@arizeai/openinference-instrumentation-langchain"
        return span(id, parent, name, at=at, took=took, status=1, scope=scope, attributes=stamped | told)

    def answered(who, text):
        message = {"type": "constructor", "lc": 1, "id": ["langchain_core", "messages", "AIMessage"]}
        return _jsons({"messages": [message | {"kwargs": {"content": text} | ({"name": who} if who else {})}]})

    model = {"llm__model_name": "m", "llm__token_count__prompt": 5}
    said = {"llm__output_messages__0__message__role": "assistant", "llm__output_messages__0__message__content": "warm"}
    (run,) = runs(
        of("CHAIN", 1, None, "lead", 0, 20, output__value=answered("lead", "done")),
        of("LLM", 2, 1, "ChatOpenAI", 1, 1, **model),
        of("TOOL", 3, 1, "research", 3, 10, tool__name="research", input__value="x"),
        of("CHAIN", 4, 3, "researcher", 4, 8, output__value=answered(author, "warm")),
        of("LLM", 5, 4, "ChatOpenAI", 5, 1, **model, **said),
        of("TOOL", 6, 4, "look", 7, 1, tool__name="look", input__value="x"),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["lead", author]
    assert ("look", author) in [(c["name"], c["agent"]) for c in run["tool_calls"]]
    delegated = [(d["from"], d["to"], d["tool"]) for d in run["delegations"]]
    assert delegated == [("lead", author, "research")]


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (
            "This operation was aborted\n\nAbortError: This operation was aborted\n    at new DOMException (x)",
            "unknown",
        ),
        ("AbortError: This operation was aborted", "unknown"),
        ("This operation was aborted due to timeout", "error"),
        ("The search was aborted", "error"),
    ],
)
def test_a_tool_that_failed_as_somebody_called_all_off_may_not_have_run(said, status):
    """LangGraph for JavaScript 1.7, of whose stream the reader left before its tool was called."""
    thrown = [("exception", {"exception.message": said})]
    (run,) = runs(
        agent(1, "a", took=9, error="Abort"),
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        span(3, 1, "execute_tool look", at=3, error=said, events=thrown, attributes=_TOOL_C1),
    )
    assert (run["status"], [c["status"] for c in run["tool_calls"]]) == ("unknown", [status])


_TOOL_C1 = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
