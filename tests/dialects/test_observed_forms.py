"""Forms of spans that tests of other observability projects keep."""

import json

from tests.runs.requests import runs, span


def _coze(id, parent, name, at, kind, took=1.0, asks=None, gave=None, **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    told |= {"cozeloop.span_type": kind, "session.id": "chat/1", "run.id": "r1", "turn.id": "r1"}
    for key, what in (("cozeloop.input", asks), ("cozeloop.output", gave)):
        if what is not None:
            told[key] = what if isinstance(what, str) else json.dumps(what)
    return span(id, parent, name, at=at, took=took, scope="openclaw-cozeloop-trace", attributes=told)


def _coze_model(id, at, said, content, *calls, counted=9):
    message = {"content": content, "role": "assistant", "function_call": None}
    if calls:
        message["tool_calls"] = [
            {"function": {"arguments": '{"at": "Rome"}', "name": name}, "id": call, "type": "function"}
            for call, name in calls
        ]
    gave = {"choices": [{"finish_reason": "tool_calls" if calls else "stop", "message": message}]}
    named = {"gen_ai__provider__name": "openai", "gen_ai__request__model": "m"}
    used = {"gen_ai__usage__input_tokens": counted, "gen_ai__usage__output_tokens": counted}
    return _coze(id, 2, "openai/m", at, "model", asks={"messages": said}, gave=gave, **named, **used)


def _coze_run(**failed):
    said = [{"role": "user", "content": "rain?"}]
    used = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "Rome"}}
    then = [{"role": "assistant", "content": [used]}, {"role": "tool", "content": "dry", "tool_call_id": "c1"}]
    call, gave = {"name": "look", "arguments": {"at": "Rome"}}, [{"type": "text", "text": "dry"}]
    return runs(
        _coze(1, None, "openclaw_request", 0, "entry", 9, asks="rain?", gave="No rain."),
        _coze(2, 1, "main", 0.1, "agent", 8, gave={"usage": {"total": 40}, "cost": 0.1}, agent__id="main"),
        _coze_model(3, 1, said, [], ("c1", "look")),
        _coze(4, 2, "look", 2, "tool", asks=call, gave=gave, **failed),
        _coze_model(5, 3, said + then, "No rain.", counted=0),
    )


def test_openclaw_by_cozeloops_plugin_tells_its_tools_and_what_was_asked():
    (run,) = _coze_run()
    assert [(c["name"], c["agent"], c["arguments"], c["result"], c["status"]) for c in run["tool_calls"]] == [
        ("look", "main", {"at": "Rome"}, "dry", "ok")
    ]
    assert (run["input"], run["output"], run["agents"]) == ("rain?", "No rain.", ["main"])


def test_cozeloops_plugin_says_of_a_tool_alone_that_it_failed():
    (run,) = _coze_run(error__msg="tool returned error")
    assert [c["status"] for c in run["tool_calls"]] == ["error"]


def test_what_cozeloops_plugin_makes_up_of_a_model_is_not_told():
    (run,) = _coze_run()
    assert [(c["input_tokens"], c["finish_reason"]) for c in run["llm_calls"]] == [(9, "tool_calls"), (None, None)]


def _gateway(asked, gave, model="m"):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.usage.input_tokens": 4}
    told |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(gave)}
    return span(1, None, "cf.aig.request", scope="ai", attributes=told)


def test_an_answer_of_anthropics_that_cloudflares_gateway_wraps_is_read():
    answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Late."}]}
    gave = {"state": "Completed", "result": answer | {"stop_reason": "max_tokens"}}
    (run,) = runs(_gateway({"messages": [{"role": "user", "content": "when?"}], "max_tokens": 9}, gave))
    assert (run["input"], run["output"]) == ("when?", "Late.")
    assert run["llm_calls"][0]["finish_reason"] == "max_tokens"


def test_an_embedding_of_which_cloudflares_gateway_says_chat_is_no_call_of_a_model():
    assert runs(_gateway({"text": "words"}, {"data": [[0.1, -0.2]], "shape": [1, 2], "pooling": "mean"})) == []


def _livekit(id, parent, name, at, took=1.0, **told):
    told = {f"lk.{key.replace('__', '.')}": what for key, what in told.items()}
    if name == "llm_request":
        told = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 4}
    return span(id, parent, name, at=at, took=took, scope="livekit-agents", attributes=told)


def _livekit_turn(text, *calls):
    return [
        *_livekit_asked(4, 3, 1, "One moment.", ("c1", "look")),
        _livekit(7, 3, "function_tool", 3, function_tool__name="look", function_tool__output="dry"),
        _livekit(8, 3, "agent_turn", 4, 4, generation_id="g2", parent_generation_id="g1"),
        *_livekit_asked(9, 8, 4, text, *calls),
    ]


def _livekit_asked(id, parent, at, text, *calls):
    told = [{"call_id": i, "name": name, "arguments": "{}"} for i, name in calls]
    said = {"response__text": text, "response__function_calls": json.dumps(told)}
    return [_livekit(id, parent, "llm_node", at, 1, **said), _livekit(id + 1, id, "llm_request", at + 0.1, 0.8)]


def _livekit_session(*turn):
    turns = _livekit(3, 2, "agent_turn", 0.5, 9, generation_id="g1", user_input="rain?")
    return runs(_livekit(1, None, "job_entrypoint", 0, 20), _livekit(2, 1, "agent_session", 0.1, 15), turns, *turn)


def test_what_livekits_first_versions_answered_stands_around_their_models():
    (run,) = _livekit_session(*_livekit_turn("No rain."))
    assert (run["input"], run["output"], run["status"]) == ("rain?", "No rain.", "ok")
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("look", "dry")]
    assert len(run["llm_calls"]) == 2


def test_words_beside_a_call_that_livekits_model_asks_for_are_not_its_answer():
    (run,) = _livekit_session(*_livekit_turn("I look again.", ("c2", "look")))
    assert run["output"] is None


def _latitude(id, parent, called, at, kind, took=1.0, **told):
    told = {f"openai.agents.{key.replace('__', '.')}": what for key, what in told.items()}
    told |= {"latitude.span.kind": f"agents.{kind}"}
    return span(
        id, parent, called, at=at, took=took, scope="so.latitude.instrumentation.openai-agents", attributes=told
    )


def _latitude_model(id, parent, at, kind, said):
    answered = json.dumps([{"role": "assistant", "parts": [said]}])
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "rain?"}]}])
    found = _latitude(id, parent, f"gen_ai.{kind} m", at, kind)
    found["attributes"] |= {"gen_ai.system": "openai", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    found["attributes"] |= {"gen_ai.response.model": "m", "gen_ai.input.messages": asked}
    return found | {"attributes": found["attributes"] | {"gen_ai.output.messages": answered}}


def test_latitude_names_the_agents_of_openais_kit_for_javascript_by_a_key_of_its_own():
    to, look = (
        {"type": "tool_call", "id": id, "name": n, "arguments": {}}
        for id, n in (("c0", "transfer_to_b"), ("c1", "look"))
    )
    (run,) = runs(
        _latitude(1, None, "Agent workflow", 0, "trace", 20, trace_id="t", group_id="g"),
        _latitude(2, 1, "agent a", 0.1, "agent", 4, name="a", handoffs="b"),
        _latitude_model(3, 2, 1, "response", to),
        _latitude(4, 2, "agent.handoff a -> b", 3, "handoff", handoff__from="a", handoff__to="b"),
        _latitude(5, 1, "agent b", 5, "agent", 9, name="b"),
        _latitude_model(6, 5, 6, "response", look),
        _latitude(7, 5, "function look", 8, "function", function__name="look", function__input="{}"),
        _latitude_model(8, 5, 10, "generation", {"type": "text", "content": "No."}),
    )
    assert (run["agents"], run["conversation_id"], run["output"]) == (["a", "b"], "g", "No.")
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("look", "b")]
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("a", "b")]
    models = [(c["agent"], c["request_model"], c["response_model"]) for c in run["llm_calls"]]
    assert models == [("a", None, "m"), ("b", None, "m"), ("b", "m", None)]


def _kibana(id, parent, name, at, kind, events=(), took=1.0, **told):
    told = {key.replace("__", "."): what for key, what in told.items()} | {"elastic.inference.span.kind": kind}
    return span(id, parent, name, at=at, took=took, scope="inference", attributes=told, events=list(events))


def _kibana_model(id, at, *said):
    asked = ("gen_ai.user.message", {"role": "user", "content": "errors?"})
    named = {"gen_ai__operation__name": "chat", "gen_ai__response__model": "GPT", "gen_ai__system": "openai"}
    return _kibana(id, 1, "chatComplete", at, "LLM", [asked, *said], **named)


def test_messages_that_kibana_spreads_over_the_keys_of_an_event_are_read():
    call = {"function.name": "look", "function.arguments": '{"q": "x"}', "id": "c1", "type": "function"}
    before = {"role": "assistant", **{f"tool_calls.0.{key}": what for key, what in call.items()}}
    asks = {"index": 0, "finish_reason": "tool_calls", **{f"message.{key}": what for key, what in before.items()}}
    gave = ("gen_ai.tool.message", {"role": "tool", "id": "c1", "content": "3"})
    says = {"index": 0, "finish_reason": "stop", "message.role": "assistant", "message.content": "Three."}
    named = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "look", "gen_ai__tool__call__id": "c1"}
    (run,) = runs(
        _kibana(1, None, "Converse", 0, "CHAIN", took=9),
        _kibana_model(2, 1, ("gen_ai.choice", asks)),
        _kibana(3, 1, "Tool: look", 3, "TOOL", **named, elastic__tool__parameters='{"q": "x"}', output__value="3"),
        _kibana_model(4, 5, ("gen_ai.assistant.message", before), gave, ("gen_ai.choice", says)),
    )
    assert [(c["name"], c["arguments"], c["result"], c["evidence"]) for c in run["tool_calls"]] == [
        ("look", {"q": "x"}, "3", ["span", "event"])
    ]
    assert (run["input"], run["output"]) == ("errors?", "Three.")
    assert [(c["response_model"], c["finish_reason"]) for c in run["llm_calls"]] == [
        (None, "tool_calls"),
        (None, "stop"),
    ]


def _any_agent(id, parent, name, at, operation, took=0.5, **told):
    told = {key.replace("__", "."): what for key, what in told.items()} | {"gen_ai.operation.name": operation}
    return span(id, parent, name, at=at, took=took, scope="any_agent", attributes=told)


def test_output_of_the_first_any_agent_is_read():
    asks, named = '[{"name": "look", "arguments": "{\\"q\\": 1}"}]', {"gen_ai__request__model": "m"}
    tool = {"gen_ai__tool__name": "look", "gen_ai__tool__args": '{"q": 1}', "genai__output": "12:00"}
    (run,) = runs(
        _any_agent(1, None, "invoke_agent [a]", 0, "invoke_agent", 9, gen_ai__agent__name="a"),
        _any_agent(2, 1, "call_llm m", 1, "call_llm", **named, genai__output=asks),
        _any_agent(3, 1, "execute_tool look", 2, "execute_tool", **tool),
        _any_agent(4, 1, "call_llm m", 3, "call_llm", **named, genai__output="It is noon."),
    )
    assert [(c["name"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [("look", {"q": 1}, "12:00")]
    assert (run["output"], len(run["llm_calls"])) == ("It is noon.", 2)
