"""Programs that trace themselves: the conventions in part, or not at all, in spans that teams name as they like."""

import json

import pytest

from otelcov.ground.config import Config
from otelcov.runs import run_json
from tests.captures import LATER
from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

pytestmark = pytest.mark.full


def _either_way(*spans):
    """The runs, which the shortcut must tell alike."""
    told = frames([("traces", request(spans))])
    some, others = (way(*told, Config(), LATER) for way in (lambda *a: with_shortcut(*a)[0], without))
    assert some.equals(others)
    return [run_json(row, {}) for row in some.iter_rows(named=True)]


def _history(*said):
    """Messages of an input: the user's words, then requests and results."""
    parts = {
        str: lambda x: ("user", {"type": "text", "content": x}),
        tuple: lambda x: ("assistant", {"type": "tool_call", "id": x[0], "name": x[1], "arguments": x[2]}),
        dict: lambda x: ("tool", {"type": "tool_call_response", **x}),
    }
    return [{"role": role, "parts": [part]} for role, part in (parts[type(x)](x) for x in said)]


_CITY = {"city": "Oslo"}
_LOOK, _SUM = ("c1", "look", _CITY), ("c2", "sum", {"a": 1})


def _back(look, sum):
    return _history("go", _LOOK, _SUM, {"id": "c1", "response": look}, {"id": "c2", "response": sum})


@pytest.mark.parametrize(
    "name",
    ["look", "tool: look", "tool.look", "tools/look", "run_tool look", "look.run", "execute look()", "Tool Look"],
)
@pytest.mark.parametrize("holder", [None, "tools"])
def test_a_span_that_bears_the_name_of_what_was_asked_for_ran_it(name, holder):
    thrown = [("exception", {"exception.type": "ValueError", "exception.message": "no such city"})]
    (run,) = _either_way(
        agent(1, "a", took=9),
        chat(2, 1, [_LOOK, _SUM], "go", at=1),
        *([span(6, 1, holder, at=3)] if holder else []),
        span(3, 6 if holder else 1, name, at=3, status=2, events=thrown),
        chat(4, 1, "done", _back("that did not work", "The user declined this call."), at=5),
    )
    called = [(c["name"], c["status"], c["error_type"], c["turn"]) for c in run["tool_calls"]]
    assert called == [("look", "error", "ValueError", 0), ("sum", "unknown", None, 0)]
    assert run["status"] == "ok"


@pytest.mark.parametrize("name", ["approve look", "look again later", "lookup", "validate look", "SELECT look"])
def test_a_span_of_another_name_ran_nothing(name):
    (run,) = _either_way(
        agent(1, "a", took=9),
        chat(2, 1, [_LOOK], "go", at=1),
        span(3, 1, name, at=3, error="no"),
        chat(4, 1, "done", _history("go", _LOOK, {"id": "c1", "response": "cold"}), at=5),
    )
    assert [(c["name"], c["status"], c["evidence"]) for c in run["tool_calls"]] == [("look", "ok", ["message"])]


@pytest.mark.parametrize(("told", "status"), [({"kind": 3}, "error"), ({}, "unknown"), ({"error": "no"}, "unknown")])
def test_a_librarys_span_may_bear_a_tools_name(told, status):
    """A client of a search engine's, in a tool called `search`."""
    asked = ("c1", "search", {"q": "x"})
    (run,) = _either_way(
        agent(1, "a", took=9),
        chat(2, 1, [asked], "go", at=1),
        span(3, 1, "search", at=3, scope="elasticsearch-api", **told),
        chat(4, 1, "done", _history("go", asked, {"id": "c1", "response": "Error: no such index"}), at=5),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("search", status)]


def test_what_ran_more_often_than_it_was_asked_for_is_not_taken_for_it():
    twice = [span(3, 1, "look", at=3), span(5, 1, "look", at=3.5), span(6, 7, "look", at=3.6), span(7, 1, "f", at=3)]
    (run,) = _either_way(
        agent(1, "a", took=9),
        chat(2, 1, [_LOOK], "go", at=1),
        *twice,
        chat(4, 1, "done", _history("go", _LOOK, {"id": "c1", "response": "cold"}), at=5),
    )
    assert [(c["name"], c["status"], c["evidence"]) for c in run["tool_calls"]] == [("look", "ok", ["message"])]


def test_a_tool_that_its_own_attribute_names_ran():
    (run,) = _either_way(
        agent(1, "a", took=9),
        chat(2, 1, [_LOOK], "go", at=1),
        span(3, 1, "step", at=3, tool__name="look", error="no such city"),
        span(5, 1, "approval", at=2, tool__name="look"),
        chat(4, 1, "done", _history("go", _LOOK, {"id": "c1", "response": "cold"}), at=5),
    )
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("look", "error", 0)]


def test_opentracings_tag_tells_of_an_error():
    def told(**wrong):
        (run,) = _either_way(
            agent(1, "a", took=9, attributes=wrong),
            chat(2, 1, [_LOOK], "go", at=1),
            tool(3, 1, "look", "c1", "cold", at=3, attributes=wrong),
        )
        return run["status"], [(c["status"], c["error_type"]) for c in run["tool_calls"]]

    assert told(**{"error": True, "error.message": "no such city"}) == ("error", [("error", None)])
    assert told(**{"error": True, "error.kind": "ValueError"}) == ("error", [("error", "ValueError")])
    assert told(error=False) == ("ok", [("ok", None)])


def test_what_was_cancelled_says_nothing_of_how_it_went():
    """OpenTelemetry's spans for Python note what is an `Exception`, which a cancelled task does not raise."""
    looked = [chat(2, 1, [_LOOK], "go", at=1), tool(3, 1, "look", "c1", "cold", at=2)]
    asked = chat(4, 1, [("c2", "wait", {})], _history("go", _LOOK, {"id": "c1", "response": "cold"}), at=4)
    for left in (tool(5, 1, "wait", "c2", at=6), span(5, 1, "wait", at=6)):
        for top in (agent(1, "a", took=9), span(1, None, "handle", took=9)):
            (run,) = _either_way(top, *looked, asked, left)
            assert (run["status"], run["output"]) == ("unknown", None)
            assert [c["status"] for c in run["tool_calls"]] == ["ok", "unknown"]
    (run,) = _either_way(span(1, None, "handle", took=9), looked[1], tool(5, 1, "wait", "c2", at=6))
    assert (run["status"], [c["status"] for c in run["tool_calls"]]) == ("unknown", ["ok", "unknown"])
    hidden = chat(4, 1, at=4, attributes={"gen_ai.response.finish_reasons": '["tool_calls"]'})
    (run,) = _either_way(span(1, None, "handle", took=9), hidden, span(5, 1, "f", at=6))
    assert run["status"] == "unknown"
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "3"}], "finish_reason": "stop"}]
    (run,) = _either_way(agent(1, "a", took=9, status=1, gen_ai__output__messages=said), *looked)
    assert (run["status"], run["output"]) == ("ok", "3")


@pytest.mark.parametrize("name", ["look.task", "look"])
def test_a_decorated_function_that_a_model_asked_for_is_a_tool_whatever_the_decorator_calls_it(name):
    function = {"traceloop.span.kind": "task", "traceloop.entity.name": "look", "traceloop.entity.output": '"cold"'}
    (run,) = _either_way(
        agent(1, "a", took=9),
        chat(2, 1, [_LOOK, _SUM], "go", at=1),
        span(3, 1, name, at=3, attributes=function),
        chat(4, 1, "done", _back("cold", "The user declined this call."), at=5),
    )
    called = [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]]
    assert called == [("look", "ok", "cold"), ("sum", "unknown", "The user declined this call.")]


def test_a_text_that_openlit_could_not_read_is_no_object():
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "look", {"raw": "{city: "})], "go", at=1))
    assert [(c["arguments"], c["arguments_text"]) for c in run["tool_calls"]] == [(None, "{city: ")]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "look", {"raw": "city"})], "go", at=1))
    assert [c["arguments"] for c in run["tool_calls"]] == [{"raw": "city"}]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        *(("The user declined this call.", "unknown"), ("unknown tool: peek", "unknown")),
        *(("invalid arguments: not JSON", "unknown"), ("Permission denied", "unknown")),
        *(("tool 'peek' is not registered", "unknown"), ("skipped", "unknown"), ("Not approved.", "unknown")),
        *(("unknown tool look", "requested"), ("Unknown function: `look`", "requested")),
        *(("No such tool: look", "requested"), ("Function look is not available", "requested")),
        *(('Error: tool "look" does not exist', "requested"), ("tool 'look' is not registered", "requested")),
        *(("cold in Oslo", "ok"), ("Access granted", "ok"), ("User 12 found", "ok"), ("No such city", "ok")),
    ],
)
def test_words_that_a_loop_may_have_put_in_place_of_a_result_tell_nothing_alone(text, status):
    said = [
        chat(2, 1, [_LOOK], "go", at=1),
        chat(4, 1, "done", _history("go", _LOOK, {"id": "c1", "response": text}), at=5),
    ]
    (run,) = runs(agent(1, "a", took=9), *said)
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(status, text)]
    (run,) = runs(agent(1, "a", took=9), *said, tool(3, 1, "look", "c1", text, at=3))
    assert [c["result"] for c in run["tool_calls"]] == [text]
    assert status == "requested" or run["tool_calls"][0]["status"] == "ok"


def test_what_temporal_tried_again_went_as_its_last_attempt():
    """Each attempt is an activity of its own, with the same call to run."""

    def activity(id, inner, at):
        begun = span(id, 2, "StartActivity:x", kind=3, at=at, took=0.1)
        return [begun, span(id + 1, id, "RunActivity:x", kind=2, at=at, took=3), inner | {"parent": id + 1}]

    back = _history("go", _LOOK, {"id": "c1", "response": "cold"})
    (run,) = runs(
        span(1, None, "StartWorkflow:Agent", kind=3, took=1),
        span(2, 1, "RunWorkflow:Agent", kind=2, at=1, took=50),
        *activity(10, chat(12, 11, [_LOOK], "go", at=2.5), 2),
        *activity(20, tool(22, 21, "look", "c1", at=8.5, error="no"), 8),
        span(26, 20, "RunActivity:x", kind=2, at=12, took=2),
        tool(27, 26, "look", "c1", "cold", at=12.5),
        *activity(30, chat(32, 31, "done", back, at=16.5), 16),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", "ok", "cold")]


def test_an_agent_whose_caller_was_filtered_out_was_called_by_the_tool_of_its_name():
    """What exporters let through that send spans of AI alone: frames and a program's own functions are missing."""
    asked = ("c1", "ask_worker", {"task": "look"})
    (run,) = runs(
        agent(1, "planner", took=30),
        chat(2, 1, [asked], "go", at=1),
        agent(3, "worker", 92, at=3, took=9),
        chat(4, 93, "cold", "look", at=4),
        chat(5, 1, "done", _history("go", asked, {"id": "c1", "response": "cold"}), at=15),
    )
    assert (run["tool_calls"], run["agents"], len(run["llm_calls"])) == ([], ["planner", "worker"], 3)


def test_an_attempt_that_failed_asked_for_nothing():
    """AgentOps 0.4: what an answer asks for is told by marks below it."""
    failed = [chat(2, 1, asked="go", at=1, error="500"), chat(3, 1, asked="go", at=3, error="429")]
    told = {"gen_ai.response.finish_reasons": '["tool_calls"]'}
    back = chat(6, 1, "done", _history("go", _LOOK, {"id": "c1", "response": "cold"}), at=9)
    (run,) = runs(agent(1, "a", took=20), *failed, chat(4, 1, asked="go", at=5, attributes=told), back)
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("look", 2)]


def _agentops(*rest, **frame):
    prompt = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "go"}
    model = {"gen_ai.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m-1"} | prompt
    model |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls"}
    mark = {"agentops.span.kind": "AgentOpsSpanKindValues.TOOL", "tool.name": "look", "tool.parameters": _CITY}
    scope = "agentops.instrumentation.providers.openai.wrappers.chat"
    return runs(
        span(1, None, "planner.session", took=20, attributes={"agentops.span.kind": "session"}, **frame),
        span(2, 1, "openai.chat.completion", kind=3, at=1, attributes=model, status=1, scope="openai"),
        span(3, 2, "tool_call.look", at=2, took=0.1, attributes=mark | {"tool.call.id": "c1"}, status=1, scope=scope),
        *rest,
    )


def test_agentops_marks_what_an_answer_asked_for():
    function = {"agentops.span.kind": "task", "agentops.task.output": "cold", "operation.name": "look"}
    (run,) = _agentops(span(4, 1, "look.task", at=3, attributes=function), error="gave up")
    called = [(c["name"], c["arguments"], c["call_id"], c["status"], c["turn"]) for c in run["tool_calls"]]
    assert called == [("look", _CITY, "c1", "ok", 0)]
    assert (run["status"], run["output"]) == ("error", None)
    (run,) = _agentops()
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "unknown")]


def test_a_tools_message_in_its_own_span_is_what_it_gave():
    def told(*events, **more):
        (run,) = runs(agent(1, "a", took=9), chat(2, 1), tool(3, 1, "look", "c1", at=3, events=events, **more))
        return [(c["arguments"], c["arguments_text"], c["result"]) for c in run["tool_calls"]]

    message = ("gen_ai.tool.message", {"id": "c1", "content": '{"sum": 3}'})
    assert told(message) == [(None, None, {"sum": 3})]
    assert told(message, ("gen_ai.choice", {"message": "3"})) == [({"sum": 3}, None, "3")]


def _planner(*steps, back, **more):
    asked = ("c1", "ask_worker", {"task": "look"})
    then = _history("go", asked, {"id": "c1", "response": back})
    return runs(
        agent(1, "planner", took=20, **more),
        chat(2, 1, [asked], "go", at=1),
        *steps,
        chat(9, 1, "sorry", then, at=15),
    )


@pytest.mark.parametrize("back", ["Error: 500 from the provider", "I could not find out."])
def test_an_agent_that_failed_was_called_in_vain_though_no_span_tells_of_the_call(back):
    failed = agent(4, "worker", 1, at=3, took=4, error="500 from the provider")
    (run,) = _planner(failed, chat(5, 4, asked="look", at=4, error="500 from the provider"), back=back)
    told = [(d["from"], d["to"], d["tool"], d["status"]) for d in run["delegations"]]
    assert (told, run["status"]) == ([("planner", "worker", "ask_worker", "error")], "ok")
    (run,) = _planner(agent(4, "worker", 1, at=3, took=4), chat(5, 4, "cold", "look", at=4), back="cold")
    assert [d["status"] for d in run["delegations"]] == ["ok"]


def test_an_agent_that_answered_did_not_end_with_the_one_that_it_called():
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "sorry"}], "finish_reason": "stop"}]
    failed = agent(4, "worker", 1, at=3, took=4, error="no such city")
    (run,) = runs(agent(1, "planner", took=20, gen_ai__output__messages=said), failed, span(5, 1, "llm.call", at=9))
    assert (run["status"], run["output"]) == ("ok", "sorry")
    (run,) = runs(agent(1, "planner", took=20), failed, span(5, 1, "llm.call", at=9))
    assert run["status"] != "ok"


@pytest.mark.parametrize("name", ["look", "work on it"])
def test_what_a_program_does_with_an_answer_in_its_span_may_fail_though_the_model_answered(name):
    thrown = [("exception", {"exception.type": "ValueError", "exception.message": "no such city"})]
    told = {"gen_ai.response.finish_reasons": '["tool_calls"]'}
    for wrong in ({"error": "no such city"}, {"events": thrown}):
        (run,) = runs(
            agent(1, "a", took=9, **wrong),
            chat(2, 1, [_LOOK], "go", at=1, took=5, attributes=told, **wrong),
            span(3, 2, name, at=3, **wrong),
        )
        assert [(c["status"], c["output_tokens"]) for c in run["llm_calls"]] == [("ok", 2)]
        assert run["status"] == "error"
    (run,) = runs(
        agent(1, "a", took=9, error="500"),
        chat(2, 1, asked="go", at=1, took=5, error="500", attributes={"gen_ai.usage.output_tokens": -1}),
        span(3, 2, "POST", kind=3, at=3, error="500"),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["error"]


def test_several_texts_that_a_program_gave_and_got_are_no_conversation_of_which_the_last_is_asked_and_answered():
    """openinference-instrumentation 0.1.72, `tracer.chain` around agents asked at once (`asyncio.gather`)."""
    told = {"input.value": '["a?", "b?"]', "output.value": '["A.", "B."]', "openinference.span.kind": "CHAIN"}
    worker = {"openinference.span.kind": "AGENT"}
    (run,) = runs(
        span(1, name="server", took=20, attributes=told),
        *(
            one
            for id, name in ((2, "a"), (4, "b"))
            for one in (
                span(id, 1, "planner", at=1, took=9, attributes=worker | {"input.value": f"{name}?"}),
                chat(id + 1, id, f"{name.upper()}.", f"{name}?", at=2, took=5),
            )
        ),
    )
    assert (run["input"], run["output"], run["agents"]) == (None, None, ["planner"])


@pytest.mark.parametrize("lost", [0, 1, None])
def test_of_two_calls_alike_each_has_what_history_tells_of_it_whichever_of_their_spans_is_lost(lost):
    """Tools that are traced by hand bear no ids of calls."""
    asked = [("c1", "look", _CITY), ("c2", "look", _CITY)]
    gave = ["cold", "warm"]
    ran = [
        tool(3 + i, 1, "look", None, gave[i], at=3 + i, gen_ai__tool__call__arguments=_CITY)
        for i in range(2)
        if i != lost
    ]
    back = _history("go", *asked, {"id": "c1", "response": "cold"}, {"id": "c2", "response": "warm"})
    (run,) = _either_way(agent(1, "a", took=9), chat(2, 1, asked, "go", at=1), *ran, chat(6, 1, "done", back, at=6))
    assert [(c["call_id"], c["result"]) for c in run["tool_calls"]] == [("c1", "cold"), ("c2", "warm")]


def _flat(number, asked, said, **more):
    """A call by OpenInference, with what an attribute limit left of its input."""
    told = {"openinference.span.kind": "LLM", **{f"llm.input_messages.{key}": value for key, value in asked.items()}}
    told["llm.output_messages.0.message.content"] = said
    return span(number, None, "ChatCompletion", attributes=told | more, scope="openinference.instrumentation.openai")


def test_who_said_what_is_left_of_a_history_is_unknown_where_its_role_is_dropped():
    (run,) = _either_way(_flat(1, {"2.message.content": "cold"}, "done"))
    assert (run["input"], run["output"]) == (None, "done")


def test_the_model_that_answered_is_not_the_one_that_was_asked_for():
    models = {"llm.model_name": "m-20250929", "llm.response.model_name": "m-20250929"}
    (run,) = _either_way(_flat(1, {"0.message.role": "user", "0.message.content": "go"}, "done", **models))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [(None, "m-20250929")]


@pytest.mark.parametrize(("put_out", "status"), [('{"sky": "clear"}', "unknown"), (None, "error")])
def test_who_gave_something_back_after_a_tool_that_threw_may_have_asked_a_model_again(put_out, status):
    """The answer's span is lost, and what an agent gave back is an object."""
    told = {"openinference.span.kind": "AGENT", **({"output.value": put_out} if put_out else {})}
    thrown = [("exception", {"exception.type": "ValueError", "exception.message": "no such city"})]
    (run,) = _either_way(
        span(1, None, "helper", took=4, status=1, attributes=told, scope="app"),
        chat(2, 1, [_LOOK], "go", at=1, took=2),
        tool(3, 1, "look", at=3, took=0.5, status=2, events=thrown),
    )
    assert (run["status"], "error" in run["boundaries"]) == (status, status == "error")


def test_what_the_last_piece_of_a_stream_leaves_out_is_what_history_tells_of_that_answer():
    """Traceloop's of Gemini's client, whose next answer is told in no words."""
    scope, asked = "opentelemetry.instrumentation.google_generativeai", [("look", {"at": "x"}), ("sum", {"a": 1})]
    parts = [{"type": "tool_call", "id": "", "name": name, "arguments": given} for name, given in asked]
    back = [{"type": "tool_call_response", "id": "", "response": json.dumps({"result": x})} for x in ("cold", "1")]
    go = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    later = [go, {"role": "assistant", "parts": parts}, {"role": "tool", "parts": back}]

    def model(number, inputs, *outputs, **more):
        told = {"gen_ai.input.messages": json.dumps(inputs)}
        if outputs:
            told["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": list(outputs)}])
        return chat(number, 1, at=2 * number, scope=scope, attributes=told | more)

    (run,) = _either_way(
        agent(1, "a", took=20),
        model(2, [go], parts[1]),
        tool(3, 1, "look", result="cold", at=5.2, took=0.1, gen_ai__tool__call__arguments={"at": "x"}),
        tool(4, 1, "sum", result="1", at=5.5, took=0.1, gen_ai__tool__call__arguments={"a": 1}),
        model(5, later, **{"gen_ai.response.finish_reasons": ["length"]}),
    )
    called = [(c["name"], c["arguments"], c["turn"]) for c in run["tool_calls"]]
    assert called == [("look", {"at": "x"}, 0), ("sum", {"a": 1}, 0)]
