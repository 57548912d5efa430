"""Kits for Python by the telemetry that they bring along, in forms that nothing else writes."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span


def _chain(id, parent, name, at, took, **told):
    told = {"openinference.span.kind": "CHAIN"} | {f"{key}.value": value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, scope="nat", attributes=told)


_SHOWN = json.dumps([{"content": "You help.", "type": "system"}, {"content": "Where?", "type": "human"}])
_BLANK = '{"input": ""}'


def _asked_again(parent):
    """A model that answered, of NVIDIA's NeMo Agent Toolkit 1.9, within a step that names what it goes on with."""
    model = {"openinference.span.kind": "LLM", "llm.model_name": "m", "input.value": _SHOWN, "output.value": "Shipped."}
    return [
        _chain(3, parent, "RunnableSequence", 2, 4, input=_BLANK),
        span(4, 3, "m", at=3, took=2, scope="nat", attributes=model),
    ]


def test_a_step_that_names_nothing_to_go_on_with_is_no_empty_request():
    (run,) = runs(*_asked_again(99))  # what frames it has not come
    assert (run["input"], "empty_input" in run["boundaries"]) == (None, False)
    cut = json.dumps({"messages": [{"role": "user", "content": "Where? " * 50}]})[:128]
    told = runs(_chain(1, None, "<workflow>", 0, 9, input=cut), *_asked_again(1))
    assert [(r["input"], r["output"]) for r in told] == [(None, "Shipped.")]


def test_the_way_that_a_graph_goes_on_is_no_answer():
    asked = {"output": "Decision.END", "input": '{"messages": [{"role": "user", "content": "Where?"}]}'}
    (run,) = runs(
        _chain(1, None, "<workflow>", 0, 9, input="Where?"),
        span(2, 1, "m", at=1, scope="nat", attributes={"openinference.span.kind": "LLM", "input.value": _SHOWN}),
        _chain(3, 1, "conditional_edge", 5, 1, **asked),
    )
    assert run["output"] is None


def _swarms(id, parent, name, at, took, **told):
    named = {"swarms.component": "Agent", "swarms.name": "support"}
    told = named | {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, scope="swarms", status=1, attributes=told)


def _sent(id, at, said, answer, **usage):
    usage = {f"swarms.usage.{key}": value for key, value in usage.items()}
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "openai/m", "gen_ai.response.model": "m"} | usage
    told["swarms.request"] = json.dumps({"model": "openai/m", "messages": said, "tools": _OFFERED})
    body = {"id": f"chatcmpl-{id}", "choices": [{"index": 0, "message": {"role": "assistant", **answer}}]}
    return _swarms(id, 1, "Agent.llm_call", at, 1, **told, swarms__response=json.dumps(body))


_OFFERED = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize("asks", [True, False])
def test_swarms_tells_of_its_models_whole_and_not_of_who_works_in_a_tool(asks):
    """Swarms 16: a tool runs in a thread of its own, so an agent in it has a trace of its own."""
    call = {"id": "call_1a", "type": "function", "function": {"name": "look_up", "arguments": '{"id": "A1"}'}}
    said = [{"role": "system", "content": "You help."}, {"role": "user", "content": "Where?"}]
    asked, came = (
        {"content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1a", "content": "sent"},
    )
    after = [*said, {"role": "assistant", **asked}, came]
    (run,) = runs(
        _swarms(8, None, "Agent.init", -1, 0.1, swarms__config="{}"),
        _swarms(1, None, "Agent.run", 0, 9, gen_ai__operation__name="agent", swarms__output="Shipped.",
                **{"swarms.input.task": "Where?", "swarms.usage.input_tokens": 30}),
        *([_sent(2, 1, said, asked, input_tokens=10, output_tokens=3)] if asks else []),
        _sent(3, 4, after if asks else said, {"content": "Shipped."}, input_tokens=20, output_tokens=4),
    )  # fmt: skip
    assert (run["input"], run["output"], run["agents"]) == ("Where?", "Shipped.", ["support"])
    assert [(c["agent"], c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]][-1] == ("support", 20, 4)
    called = [(c["name"], c["agent"], c["arguments"], c["result"], c["status"]) for c in run["tool_calls"]]
    assert called == ([("look_up", "support", {"id": "A1"}, "sent", "ok")] if asks else [])
    assert run["known_tools"] == ["look_up"]
    assert run["delegations"] == (None if asks else [])


def _history(*said):
    """Words of the user and, as pairs of an id and a text, what came back; None: a model asked for two tools."""
    out = []
    for x in said:
        if isinstance(x, tuple):
            part = {"type": "tool_call_response", "id": x[0], "response": x[1]}
            out.append({"role": "tool", "parts": [part]})
        elif x is None:
            calls = [{"type": "tool_call", "id": i, "name": n, "arguments": {}} for i, n, _ in _TWO]
            out.append({"role": "assistant", "parts": calls})
        else:
            out.append({"role": "user", "parts": [{"type": "text", "content": x}]})
    return out


_TWO = [("call_1a", "look_up", {}), ("call_2b", "refund", {})]
_FORM = (
    "\n        There were one or more errors in your attempt to use the\n        "
    "TOOL or function_call named 'look_up':\n        ('id',): Field required\n        "
)


@pytest.mark.parametrize(
    ("since", "statuses"),
    [
        (["Shipped."], ["unknown", "unknown"]),  # what came back is told as the user's words where a tool is nobody's
        ([("call_1a", _FORM), ("call_2b", "sent")], ["requested", "ok"]),
        ([("call_1a", "sent"), ("call_2b", "sent")], ["ok", "ok"]),
    ],
)
def test_what_words_alone_come_after_may_have_run_and_what_could_not_be_read_did_not(since, statuses):
    """Langroid 0.69, by the spans of a client of OpenAI's."""
    (run,) = runs(
        span(1, None, "handle", took=9),
        chat(2, 1, _TWO, _history("go"), at=1),
        chat(3, 1, "done", _history("go", None, *since), at=3),
    )
    assert [c["status"] for c in run["tool_calls"]] == statuses


def _pydantic(first_sees, told):
    """A turn of an agent of Pydantic AI's that hands its answer in by a tool."""
    done = [{"type": "tool_call", "id": "c9", "name": "final_result", "arguments": {"answer": "Two."}}]
    whole = {"pydantic_ai.all_messages": json.dumps(told)} if told else {}
    asked = {"gen_ai.input.messages": first_sees, "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    asked["gen_ai.output.messages"] = [{"role": "assistant", "parts": done}]
    return [
        agent(1, "support", took=9, scope="pydantic-ai", attributes=whole),
        span(2, 1, "chat m", at=1, scope="pydantic-ai", attributes=asked),
    ]


def test_what_a_user_says_beside_the_end_of_a_turn_before_is_what_a_run_was_asked():
    end = {"type": "tool_call_response", "id": "c1", "name": "final_result", "result": "Final result processed."}
    one, two = ({"type": "text", "content": text} for text in ("First?", "Second?"))
    call = {"type": "tool_call", "id": "c1", "name": "final_result", "arguments": {"answer": "One."}}
    before = [{"role": "user", "parts": [one]}, {"role": "assistant", "parts": [call]}]
    sees = [*before, {"role": "user", "parts": [end, two]}]
    told = [*before, {"role": "user", "parts": [end]}, {"role": "user", "parts": [two]}]
    assert [runs(*_pydantic(sees, known))[0]["input"] for known in (told, None)] == ["Second?", None]


_FRAMED = "<task>\n    <id>0a1b2c3d</id>\n    <instructions>\n        {0}\n    </instructions>\n\n</task>"


@pytest.mark.parametrize("told", [True, False])
def test_marvin_frames_what_it_was_asked_and_has_its_answer_handed_in(told):
    """Marvin 3.2, by Pydantic AI's telemetry."""
    done = [("c1", "MarkTaskSuccessful_0a1b2c3d", {"result": "Shipped."})]
    offered = {"output_tools": [{"name": "MarkTaskSuccessful_0a1b2c3d", "kind": "output"}]}
    more = {"attributes": {"model_request_parameters": json.dumps(offered)}}
    frame = {"final_result": '{"result": "Shipped."}'} if told else {}
    (run,) = runs(
        agent(1, "support", took=9, scope="pydantic-ai", attributes=frame),
        chat(2, 1, done, _FRAMED.format("Where\n        is it?"), at=1, scope="pydantic-ai", **more),
    )
    assert (run["input"], run["output"], run["tool_calls"]) == ("Where\nis it?", "Shipped.", [])
