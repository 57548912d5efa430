"""Sessions of an agent, one trace below a program's span: turns of which spans were lost stay runs of their own."""

import json

import pytest

from tests.runs.requests import chat, runs, span

pytestmark = pytest.mark.full

_FAST = "fast_agent.agents.llm_decorator"


def _asked(*words):
    said = [
        {"role": role, "parts": [{"type": "text", "content": text}]}
        for role, text in zip(["user", "assistant"] * len(words), words, strict=False)
    ]
    return [{"role": "system", "parts": [{"type": "text", "content": "You help."}]}, *said]


def _fast(id, parent, at, took, agent="boss", **more):
    return span(id, parent, f"Agent: '{agent}' generate", at=at, took=took, scope=_FAST, **more)


def _answers(told):
    return sorted((r["input"], r["output"], len(r["llm_calls"])) for r in told)


def test_a_turn_whose_frame_was_lost_is_a_run_beside_the_one_that_the_programs_span_holds():
    program = span(1, None, "app", at=0, took=30, scope="fast_agent.core.run_lifecycle")
    first = chat(3, 2, "Yes?", _asked("Hello?"), at=2)
    second = chat(5, 4, "Shipped.", _asked("Hello?", "Yes?", "Where?"), at=11)
    hello, where = ("Hello?", "Yes?", 1), ("Where?", "Shipped.", 1)
    assert _answers(runs(program, first, _fast(4, 1, 10, 5), second)) == [hello, where]
    assert _answers(runs(program, _fast(2, 1, 1, 5), first, second)) == [hello, where]
    other = chat(5, 4, "Shipped.", _asked("Something else"), at=11)
    assert len(runs(program, _fast(2, 1, 1, 5), first, other)) == 1


def test_a_conversation_goes_on_after_a_turn_that_failed():
    failed = chat(2, 1, None, _asked("Hello?"), at=1, error="no model")
    after = [*_asked("Hello?"), {"role": "user", "parts": [{"type": "text", "content": "Still there?"}]}]
    told = runs(_fast(1, 99, 0, 5, error="no model"), failed, _fast(3, 99, 10, 5), chat(4, 3, "I am.", after, at=11))
    assert [(r["input"], r["status"]) for r in told] == [("Hello?", "error"), ("Still there?", "ok")]


def _of(id, parent, name, at, took, **told):
    attributes = {"gen_ai.agent.name": "support"} | {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, f"OpenAIAugmentedLLM.support.{name}", at=at, took=took, scope="kit", attributes=attributes)


def test_requests_to_an_agent_are_told_apart_by_what_it_says_it_was_asked():
    """mcp-agent, whose program's span is exported last, or never; a step of the first turn was lost, too."""
    for models in (True, False):
        told = runs(
            _of(1, 99, "generate_str", 0, 5, message__content="Hello?", response="Yes?"),
            _of(2, 1, "generate", 0.1, 4, message__content="Hello?"),
            *([chat(3, 98, "Yes?", _asked("Hello?"), at=1)] if models else []),
            _of(4, 99, "generate_str", 10, 5, message__content="Where?", response="Shipped."),
            _of(5, 4, "generate", 10.1, 4, message__content="Where?"),
        )
        assert [(r["input"], r["output"]) for r in told] == [("Hello?", "Yes?"), ("Where?", "Shipped.")]


def test_a_turn_that_has_lost_its_outer_frame_alone_is_one_by_its_words():
    told = runs(
        _of(2, 1, "generate", 0.1, 4, message__content="Hello?"),
        chat(3, 2, "Yes?", _asked("Hello?"), at=1),
        _of(4, 99, "generate_str", 10, 5, message__content="Where?", response="Shipped."),
        _of(5, 4, "generate", 10.1, 4, message__content="Where?"),
        chat(6, 5, "Shipped.", _asked("Hello?", "Yes?", "Where?"), at=11),
    )
    assert _answers(told) == [("Hello?", "Yes?", 1), ("Where?", "Shipped.", 1)]


def _layer(id, parent, name, at, took, **told):
    given = {"gen_ai.tool.name": "look", "result.isError": "false", "result.content.0.text": "found"}
    return span(id, parent, name, at=at, took=took, scope="kit", attributes=given | told)


def test_an_inner_layer_of_a_tool_that_lost_the_one_between_is_no_call_of_its_own():
    asked = [("c1", "look", {"q": "owls"})]
    top = {"gen_ai.tool.call.id": "c1", "tool_args": json.dumps({"q": "owls"})}
    within_a_frame = [
        span(5, 4, "AsyncioExecutor.execute", at=3.4, took=1.2, scope="kit"),
        _layer(7, 5, "MCPAggregator.call_tool", 3.5, 1),
    ]
    for inner in ([_layer(5, 4, "Agent.support.call_tool", 3.5, 1)], within_a_frame):
        (run,) = runs(
            _of(1, None, "generate", 0, 20, message__content="Owls?"),
            chat(2, 1, asked, _asked("Owls?"), at=1),
            _layer(3, 1, "OpenAIAugmentedLLM.support.execute_tool_call", 3, 2, **top),
            *inner,
            chat(6, 1, "Found.", at=8),
        )
        assert [(c["name"], c["call_id"], c["status"]) for c in run["tool_calls"]] == [("look", "c1", "ok")]


def test_an_agent_of_fast_agents_without_a_model_has_lost_one():
    asked = [("c1", "agent__clerk", {"message": "note"})]
    clerk = [_fast(4, 1, 4, 2, "clerk[1]"), chat(5, 4, "Noted.", _asked("note"), at=4.5)]
    whole = [_fast(1, None, 0, 20), chat(2, 1, asked, _asked("Do it"), at=1), *clerk, chat(8, 1, "Done.", at=10)]
    assert "missing step" not in runs(*whole)[0]["incomplete"]
    assert "missing step" in runs(*(x for x in whole if x["id"] != 5))[0]["incomplete"]


def test_what_failed_in_an_agent_and_not_around_it_was_told_to_whoever_called_it():
    asked = [("c1", "agent__clerk", {"message": "note"})]
    told = [
        span(9, None, "app", at=0, took=21),
        _fast(1, 9, 0, 20),
        chat(2, 1, asked, _asked("Do it"), at=1),
        _fast(4, 1, 4, 2, "clerk[1]", error="no model"),
        chat(5, 4, None, _asked("note"), at=4.5, error="no model"),
    ]
    (run,) = runs(*told)
    assert (run["status"], run["output"]) == ("unknown", None)
    (run,) = runs(told[0], told[1] | {"error": "no model"}, *told[2:])
    assert run["status"] == "error"


def test_a_request_that_a_model_was_shown_is_missed_where_an_answer_that_ended_is_not_told():
    call = [{"type": "tool_call", "name": "look", "id": "c1", "arguments": {"q": "owls"}}]
    shown = [
        *_asked("Owls?"),
        {"role": "assistant", "parts": call},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "found"}]},
    ]
    (run,) = runs(
        _fast(1, None, 0, 20),
        chat(3, 1, "", shown, at=3, attributes={"gen_ai.response.finish_reasons": ["stop"]}),
        chat(4, 1, "Found.", shown, at=5),
    )
    assert "missing step" in run["incomplete"]


def test_tokens_of_an_agent_are_not_of_the_call_that_failed():
    (run,) = runs(
        span(1, None, "agent", took=20, gen_ai__operation__name="invoke_agent", gen_ai__usage__input_tokens=240),
        span(3, 1, "chat", at=3, error="no model", gen_ai__operation__name="chat"),
    )
    assert [(c["status"], c["input_tokens"]) for c in run["llm_calls"]] == [("error", None)]


def test_an_object_that_a_frame_put_out_is_the_answer_where_a_model_said_it_with_other_values():
    told = {
        "openinference.span.kind": "CHAIN",
        "input.value": "Weather?",
        "output.value": '{"city": "Oslo", "temp": 7}',
    }
    (run,) = runs(
        span(1, None, "instructor.create", took=9, attributes=told),
        chat(2, 1, '{"temp": 700, "city": "Oslo"}', "Weather?", at=1),
    )
    assert run["output"] == '{"city": "Oslo", "temp": 7}'


def _step(id, parent, agent, at, took, output):
    told = {"openinference.span.kind": "AGENT", "agno.agent": agent, "output.value": output}
    return span(id, parent, f"{agent}.run", at=at, took=took, scope=_AGNO, attributes=told)


def _said(id, parent, at, text=None, call=None):
    told = {
        "openinference.span.kind": "LLM",
        "llm.token_count.prompt": 9,
        "llm.output_messages.0.message.role": "assistant",
    }
    message = "llm.output_messages.0.message."
    if text:
        told[f"{message}content"] = text
    if call:
        asked = f"{message}tool_calls.0.tool_call."
        told |= {f"{asked}id": "c1", f"{asked}function.name": call, f"{asked}function.arguments": "{}"}
    return span(id, parent, "OpenAIChat.invoke", at=at, scope=_AGNO, attributes=told)


_AGNO = "openinference.instrumentation.agno"


def test_an_agent_of_a_workflow_that_put_out_what_no_model_said_has_lost_one():
    look = {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": "found"}
    flow = {"openinference.span.kind": "CHAIN", "input.value": "Owls?", "output.value": "Owls fly."}
    whole = [
        span(1, None, "flow.run", took=30, scope=_AGNO, attributes=flow),
        _step(2, 1, "finder", 1, 10, "There are owls."),
        _said(3, 2, 2, call="look"),
        span(4, 2, "look", at=4, scope=_AGNO, attributes=look),
        _said(5, 2, 6, "There are owls."),
        _step(6, 1, "writer", 12, 10, "Owls fly."),
        _said(7, 6, 13, "Owls fly."),
    ]
    assert "missing step" not in runs(*whole)[0]["incomplete"]
    for lost in (5, 7):
        assert "missing step" in runs(*(x for x in whole if x["id"] != lost))[0]["incomplete"]
