"""Forms that gateways, kits and programs in public repositories write, and no recording has."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

ENVOY, AGENTGATEWAY = "envoyproxy/ai-gateway", "agentgateway"


def _told(run, *facts):
    return [tuple(call[fact] for fact in facts) for call in run["tool_calls"]]


def _said(role, *parts):
    return {"role": role, "parts": list(parts)}


def test_what_a_tool_gave_may_stand_where_the_words_of_others_do():
    asked = _said("user", {"type": "text", "content": "warm?"})
    call = _said("assistant", {"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"city": "Oslo"}'})
    gave = _said("tool", {"type": "tool_call_response", "id": "c1", "content": "22"})
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, at=1, gen_ai__input__messages=[asked], gen_ai__output__messages=[call]),
        chat(3, 1, at=4, gen_ai__input__messages=[asked, call, gave], gen_ai__output__messages=[_said("assistant")]),
    )
    assert _told(run, "name", "status", "result") == [("look", "ok", "22")]


def _through_envoy(**told):
    told = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"} | told
    return span(3, 1, "tools/call look", at=3, scope=ENVOY, kind=3, status=1, attributes=told)


@pytest.mark.parametrize(
    ("gave", "status"),
    [
        (None, "unknown"),
        ({"content": [{"type": "text", "text": "fine"}]}, "ok"),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, "error"),
    ],
)
def test_a_gateway_to_servers_of_tools_ends_well_whatever_a_tool_came_to(gave, status):
    told = {} if gave is None else {"gen_ai.tool.call.result": json.dumps(gave)}
    (run,) = runs(
        agent(1, "a", took=9), chat(2, 1, [("c1", "look", {})], at=1), _through_envoy(**told), chat(4, 1, at=6)
    )
    assert _told(run, "name", "status") == [("look", status)]


@pytest.mark.parametrize(
    ("scope", "name", "told"),
    [
        ("github.com/docker/mcp-gateway", "mcp.tool.call", {"mcp.tool.name": "look", "mcp.server.name": "docs"}),
        ("github.com/stacklok/toolhive/pkg/telemetry", "tools/call look", {"mcp.method.name": "tools/call"}),
    ],
)
def test_so_do_other_gateways(scope, name, told):
    call = span(3, 1, name, at=3, scope=scope, kind=3, status=1, attributes=told)
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1), call, chat(4, 1, at=6))
    assert _told(run, "name", "status") == [("look", "unknown")]


def _through_agentgateway(parent):
    """The request, which names the tool, and the operation, which names the server that has it."""
    told = {"mcp.method.name": "tools/call", "protocol": "mcp", "mcp.session.id": "s1"}
    request = told | {"mcp.target": "docs", "gen_ai.tool.name": "look"}
    operation = told | {
        "gateway.span_schema_version": 2,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "s1",
    }
    return [
        span(7, parent, "http.request /mcp", at=3, took=2, kind=2, scope=AGENTGATEWAY, attributes=request),
        span(8, 7, "tools/call docs", at=3.1, took=1.8, scope=AGENTGATEWAY, attributes=operation),
    ]


@pytest.mark.parametrize("by", ["the model", "the agent's tool"])
def test_a_server_of_tools_that_a_gateway_names_is_no_tool_and_its_session_no_conversation(by):
    own = [tool(3, 1, "docs_look", "c1", "fine", at=2.9, took=2.5)] if by == "the agent's tool" else []
    name, status = ("docs_look", "ok") if own else ("look", "unknown")
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", name, {})], at=1),
        *own,
        *_through_agentgateway(3 if own else 1),
        chat(4, 1, at=6),
    )
    assert _told(run, "name", "status") == [(name, status)]
    assert run["conversation_id"] is None


def _by_hand(told, **more):
    """A tool's span between two models whose words are not told."""
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"} | told
    more = {"name": "execute_tool look"} | more
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1), span(3, 1, at=3, attributes=told, **more), chat(4, 1, at=6))
    return run


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ("pending", "unknown"),
        ("requires_approval", "unknown"),
        ("not_found", "unknown"),
        ("partial", "unknown"),
        ("SUCCESSFUL", "ok"),
        ("completed", "ok"),
        ("200", "ok"),
        ("None", "ok"),
        ("failed", "error"),
    ],
)
def test_a_word_for_how_a_tool_went_that_is_no_word_for_well_is_not_taken_for_one(told, status):
    assert _told(_by_hand({"gen_ai.tool.status": told}), "status") == [(status,)]


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"error": "no such page"}, "error"),
        ({"error": "null"}, "ok"),
        ({"tool.error.message": "no such page"}, "error"),
        ({"exception.type": "KeyError", "exception.message": "page"}, "error"),
    ],
)
def test_what_went_wrong_with_a_tool_may_stand_in_an_attribute(told, status):
    assert _told(_by_hand(told), "status") == [(status,)]


@pytest.mark.parametrize(
    ("given", "gave"),
    [
        ("gen_ai.tool.call.input", "gen_ai.tool.call.output"),
        ("gen_ai.tool.parameters", "gen_ai.tool.response"),
    ],
)
def test_what_a_tool_was_given_and_gave_stands_under_keys_that_no_convention_has(given, gave):
    run = _by_hand({given: '{"page": 1}', gave: "text"})
    assert _told(run, "arguments", "result") == [({"page": 1}, "text")]


def test_what_a_tool_may_be_given_is_not_what_it_was_given():
    run = _by_hand({"gen_ai.tool.parameters": '{"type": "object", "properties": {"page": {"type": "integer"}}}'})
    assert _told(run, "arguments") == [(None,)]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gen_ai.tool.execute", {"gen_ai.tool.name": "look"}),
        ("gen_ai.tool.exec", {"tool_name": "look"}),
        ("tool.execute look", {"gen_ai.tool.call.id": "c1"}),
    ],
)
def test_a_span_whose_name_says_that_a_tool_ran_ran_the_one_that_it_names(name, told):
    spans = [agent(1, "a", took=9), chat(2, 1, at=1), span(3, 1, name, at=3, attributes=told), chat(4, 1, at=6)]
    (run,) = runs(*spans)
    assert _told(run, "name", "status") == [("look", "unknown")]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("gen_ai.agent.handoff.source.name", "gen_ai.agent.handoff.target.name"),
        ("gen_ai.agent.handoff.from", "gen_ai.agent.handoff.to"),
        ("gen_ai.handoff.source", "gen_ai.handoff.target"),
    ],
)
def test_a_tools_span_that_tells_who_handed_over_to_whom_is_a_delegation(source, target):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "escalate", source: "a", target: "b"}
    (run,) = runs(
        span(1, None, "request", took=12),
        agent(2, "a", 1, took=4),
        chat(3, 2, [("c1", "escalate", {})], at=1),
        span(4, 2, "execute_tool escalate", at=3, attributes=told),
        agent(5, "b", 1, at=5, took=4),
        chat(6, 5, "done", at=6),
    )
    assert run["tool_calls"] == []
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("a", "b", "escalate")]


@pytest.mark.parametrize("operation", ["fetch_response", "get_response", "cancel_response", "count_tokens"])
def test_what_is_done_about_an_answer_that_was_given_before_is_no_call_of_a_model(operation):
    told = {"gen_ai.operation.name": operation, "gen_ai.response.id": "r1", "gen_ai.response.model": "m"}
    told |= {"gen_ai.usage.input_tokens": 5, "gen_ai.provider.name": "openai"}
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, "done", at=1), span(3, 1, operation, at=4, attributes=told))
    assert len(run["llm_calls"]) == 1


def test_what_was_spoken_is_what_its_transcript_says():
    asked = _said("user", {"type": "blob", "modality": "audio", "content": "AAAA", "transcript": "warm?"})
    answer = _said("assistant", {"type": "blob", "modality": "audio", "content": "BBBB", "transcript": "yes"})
    told = {"gen_ai__input__messages": [asked], "gen_ai__output__messages": [answer]}
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1, **told))
    assert (run["input"], run["output"]) == ("warm?", "yes")


def _model(id, at, name="llm.call", **told):
    told = {"llm.model": "m", "llm.provider": "p", "llm.input_tokens": 12, "llm.output_tokens": 4} | told
    return span(id, 1, name, at=at, attributes=told)


@pytest.mark.parametrize(
    "name", ["llm.call", "llm_call", "llm.chat", "LLM request", "openai.chat", "agent.llm.generate"]
)
def test_a_model_that_a_program_traces_by_hand_was_called_where_the_spans_name_says_so(name):
    told = {"tool.name": "look", "tool.args": '{"page": 1}', "tool.result": "text", "tool.status": "success"}
    (run,) = runs(
        span(1, None, "agent.run", took=9),
        _model(2, 1, name),
        span(3, 1, "tool.call", at=3, attributes=told),
        _model(4, 5, name, **{"llm.stop_reason": "end_turn", "llm.model": "m-2026-01-15"}),
    )
    seen = [(c["request_model"], c["input_tokens"], c["output_tokens"], c["finish_reason"]) for c in run["llm_calls"]]
    assert seen == [("m", 12, 4, None), (None, 12, 4, "end_turn")]
    assert _told(run, "name", "status", "arguments", "result") == [("look", "ok", {"page": 1}, "text")]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("llm.embedding.generate", "m"),
        ("llm.generate", "text-embedding-3"),
        ("llm.cost", "m"),
        ("llm.tool_call", "m"),
        ("agent.chat", "m"),
        ("plan", "m"),
    ],
)
def test_what_names_a_model_and_calls_none_is_no_call(name, model):
    assert runs(span(1, None, "agent.run", took=9), _model(2, 1, name, **{"llm.model": model})) == []


def test_a_programs_own_span_around_a_clients_is_no_further_call():
    outer = _model(2, 1) | {"took": 4}
    (run,) = runs(agent(1, "a", took=9), outer, chat(3, 2, "done", at=2))
    assert [(c["request_model"], c["input_tokens"]) for c in run["llm_calls"]] == [("model-a", 10)]


def test_a_model_that_is_only_named_was_called_where_the_spans_name_says_so():
    call = span(2, 1, "llm.provider.call", at=1, attributes={"llm.model": "m"})
    (run,) = runs(span(1, None, "agent.run", took=9), call)
    assert [(c["request_model"], c["input_tokens"]) for c in run["llm_calls"]] == [("m", None)]


def test_an_sdk_that_renames_kinds_may_tell_what_went_in_and_out_by_the_span():
    told = {"sdk.span.kind": "tool", "sdk.span.input": '{"page": 1}', "sdk.span.output": "text"}
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1), span(3, 1, "look", at=3, attributes=told), chat(4, 1, at=6))
    assert _told(run, "name", "arguments", "result") == [("look", {"page": 1}, "text")]


def test_a_programs_own_span_of_a_model_within_which_tools_ran_may_stand_for_several_calls():
    tools = [span(2 + n, 1, "tool.look", at=3 + n, attributes={"tool.name": "look", "tool.ok": True}) for n in (0, 2)]
    (run,) = runs(span(1, None, "llm.generate", took=9, attributes={"llm.model": "m", "llm.input_tokens": 9}), *tools)
    assert _told(run, "name", "status") == [("look", "ok"), ("look", "ok")]
    assert run["llm_calls"] is None


@pytest.mark.parametrize("lost", [7, 8])
def test_a_server_behind_a_gateway_of_which_a_span_is_lost_ran_the_call_in_whose_time_it_did(lost):
    told = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    spans = [
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "docs_look", {})], at=1),
        tool(3, 1, "docs_look", "c1", "fine", at=2.9, took=2.5),
        *_through_agentgateway(3),
        span(9, 8, "tools/call look", at=3.2, kind=2, attributes=told),
        chat(4, 1, "done", at=6),
    ]
    (run,) = runs(*(s for s in spans if s["id"] != lost))
    assert _told(run, "name", "status") == [("docs_look", "ok")]


def _through_kong(trace, at, asked, answer):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": f"r{trace}"}
    told |= {"gen_ai.input.messages": asked, "gen_ai.output.messages": [answer]}
    first = 10 * trace
    return [
        span(first, None, "kong", trace, at, 2, kind=2),
        span(first + 1, first, "kong.access.plugin.ai-proxy", trace, at, 1.9),
        span(first + 2, first + 1, "kong.gen_ai", trace, at, 1.8, attributes=told),
    ]


def test_requests_to_a_gateway_are_one_run_where_the_second_goes_on_with_the_first():
    asked = {"role": "user", "content": "warm?"}
    function = {"name": "look", "arguments": "{}"}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    history = [asked, call, {"role": "tool", "tool_call_id": "c1", "content": "22"}]
    (run,) = runs(
        *_through_kong(1, 0, [asked], call), *_through_kong(2, 4, history, {"role": "assistant", "content": "yes"})
    )
    assert _told(run, "name", "status", "result") == [("look", "ok", "22")]
    assert (len(run["llm_calls"]), run["output"]) == (2, "yes")


def test_a_gateway_that_tells_texts_alone_shows_no_calls():
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3}
    told |= {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "warm?"}
    told |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "I look it up"}
    (run,) = runs(span(1, None, "POST /v1/*", kind=2, scope=AGENTGATEWAY, attributes=told))
    assert (run["tool_calls"], run["input"]) == (None, "warm?")


_ASKED = [
    {"gen_ai.response.tool_calls": 1},
    {"gen_ai.response.tool_calls": ["look"]},
    {"gen_ai.completion": "I look", "gen_ai.tool_calls": 1},
    {"gen_ai.completion": "I look", "gen_ai.tool_calls.count": 2},
    {"gen_ai.completion": "I look", "gen_ai.response.tool_call_count": 1},
    {"gen_ai.completion": "I look", "gen_ai.tool_calls.names": "look,save"},
]


@pytest.mark.parametrize("told", _ASKED)
def test_how_many_tools_an_answer_asks_for_says_that_it_asked_for_some(told):
    first, last = chat(2, 1, at=1, attributes=told), chat(3, 1, "done", at=6)
    (run,) = runs(agent(1, "a", took=9), first, last)
    assert (run["tool_calls"], run["output"]) == (None, "done")
    (run,) = runs(agent(1, "a", took=9), first)
    assert (run["tool_calls"], run["output"], run["llm_calls"][0]["finish_reason"]) == (None, None, None)
    (run,) = runs(agent(1, "a", took=9), first, tool(4, 1, "look", at=3), last)
    assert _told(run, "name", "status", "turn") == [("look", "ok", 0)]
    assert "tool calls not visible" not in run["incomplete"]


@pytest.mark.parametrize("none", [0, []])
def test_that_an_answer_asks_for_no_tools_is_not_what_it_says(none):
    told = {"gen_ai.response.tool_calls": none, "gen_ai.response.text": "done"}
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1, attributes=told))
    assert (run["tool_calls"], run["output"]) == ([], "done")


def test_an_event_of_a_models_span_tells_what_the_answer_asks_for():
    told = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": '{"page": 1}'}
    first = chat(2, 1, at=1, attributes={"gen_ai.completion": "I look"}, events=[("gen_ai.tool.call", told)])
    (run,) = runs(agent(1, "a", took=9), first, chat(3, 1, "done", at=6))
    assert _told(run, "name", "arguments", "call_id", "turn") == [("look", {"page": 1}, "c1", 0)]
