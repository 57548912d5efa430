"""Which span ran what was asked for, where no span bears the id of a call."""

import pytest

from tests.runs.requests import agent, chat, runs, tool


def test_a_cut_request_is_of_the_span_that_was_given_what_begins_alike():
    long, same = "x" * 90, {"title": "one", "body": "short"}
    asked = [("call_Aa1", "save", same), ("call_Bb2", "save", {"title": "two", "body": long})]
    answer = chat(2, 1, asked, "Save both.", at=1)
    part = {"type": "tool_call", "name": "save"}
    texts = ['{"title": "one", "body": "short"}', '{"title": "two", "body": "' + "x" * 50]
    told = [{"role": "assistant", "parts": [part | {"arguments": text} for text in texts]}]
    answer["attributes"]["gen_ai.output.messages"] = told
    (run,) = runs(
        agent(1, "planner", took=9),
        answer,
        tool(
            3, 1, "save", None, "second", at=3, attributes={"gen_ai.tool.call.arguments": texts[1].replace('": ', '":')}
        ),
        tool(
            4, 1, "save", None, "first", at=3, attributes={"gen_ai.tool.call.arguments": texts[0].replace('": ', '":')}
        ),
        chat(5, 1, "Done.", at=5),
    )
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [(same, "first"), (None, "second")]


@pytest.mark.parametrize("well", [3, 5])
def test_of_equal_calls_at_once_history_tells_which_failed(well):
    given = {"city": "Bonn"}
    asked = [("call_Aa1", "lookup", given), ("call_Bb2", "lookup", given)]
    back = [
        {"role": "user", "parts": [{"type": "text", "content": "Look."}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in asked],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_Aa1", "response": "An error occurred"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_Bb2", "response": "rain"}]},
    ]
    told = {"gen_ai.tool.call.arguments": given}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, asked, "Look.", at=1),
        tool(4, 1, "lookup", None, at=3, error="backend gone", attributes=told),
        tool(well, 1, "lookup", None, "rain", at=3, attributes=told),
        chat(6, 1, "Done.", back, at=5),
    )
    by_id = {c["call_id"]: (c["status"], c["result"]) for c in run["tool_calls"]}
    assert by_id["call_Bb2"][1] == "rain" and by_id["call_Bb2"][0] in ("ok", "unknown")
    assert by_id["call_Aa1"][0] in ("error", "unknown") and by_id["call_Aa1"][1] != "rain"
