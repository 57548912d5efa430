"""Runs of OpenAI's Agents SDK for JavaScript (0.20) that wait inside a tool, and go on, under OpenInference (0.2)."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

_SCOPE = "@arizeai/openinference-instrumentation-openai-agents"


def _oi(id, parent, kind, name, at, took=1, trace=1, **told):
    told = {key: value if isinstance(value, str) else json.dumps(value) for key, value in told.items()}
    told = {"openinference.span.kind": kind} | {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, trace=trace, at=at, took=took, status=1, scope=_SCOPE, attributes=told)


def _asks(id, parent, at, name, said, trace=1, **more):
    called = "llm.output_messages.0.message.tool_calls.0.tool_call"
    told = {"llm.output_messages.0.message.role": "assistant", f"{called}.function.name": name}
    told |= {f"{called}.function.arguments": "{}", f"{called}.id": f"c{id}", "llm.model_name": "m"}
    return _oi(id, parent, "LLM", "response", at, trace=trace, input__value=[_user(said)], **told, **more)


def _user(text):
    return {"type": "message", "role": "user", "content": text}


_RESPONSE = {
    "type": "function_call_result",
    "name": "nod",
    "callId": "c9",
    "output": {"type": "text", "text": "nodded"},
}


@pytest.mark.parametrize("last", [_RESPONSE, {"role": "tool", "tool_call_id": "c9", "content": "nodded"}])
def test_a_frame_alone_of_what_went_on_in_a_tool_is_no_run(last):
    def frames(*given):
        return agreed(
            _oi(1, None, "CHAIN", "Agent workflow", 0, 9),
            _oi(2, 1, "AGENT", "boss", 0, 9, graph__node__id="boss"),
            _oi(
                3,
                2,
                "TOOL",
                "ask_noddy",
                1,
                5,
                tool__name="ask_noddy",
                input__value={"input": "go"},
                output__value="done",
            ),
            _oi(4, 3, "AGENT", "noddy", 2, 3, graph__node__id="noddy"),
            _oi(9, None, "AGENT", "Agent workflow", 2, 3, trace=2, input__value=given, output__value="done"),
        )

    assert len(frames(_user("go"), last)) == 1
    assert len(frames(_user("go"))) == 2


@pytest.mark.parametrize(("brought", "status"), [("", "unknown"), ("done", "ok")])
def test_who_brought_nothing_and_asked_for_what_did_not_run_may_wait(brought, status):
    (run,) = agreed(
        _oi(1, None, "AGENT", "Agent workflow", 0, 9, input__value=[_user("go")]),
        _oi(2, 1, "AGENT", "boss", 0, 9, graph__node__id="boss"),
        _asks(3, 2, 1, "ask_noddy", "go"),
        _oi(
            4,
            2,
            "TOOL",
            "ask_noddy",
            3,
            5,
            tool__name="ask_noddy",
            input__value={"input": "sub"},
            output__value=brought,
        ),
        _oi(5, 4, "AGENT", "noddy", 3, 4, graph__node__id="noddy"),
        _asks(6, 5, 4, "nod", "sub"),
    )
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [("boss", "noddy", status)]
