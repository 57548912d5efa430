"""Kits for Python under instrumentations of others that nobody had met together, by what they told of runs against a
model of ours."""

import json

import pytest

from tests.runs.requests import chat, runs, span

pytestmark = pytest.mark.full

_LIT = {"scope": "openlit.instrumentation.dynamiq"}


def _dynamiq(id, name, parent=None, **more):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.endpoint": "dynamiq.agent_run", "gen_ai.agent.role": name}
    return span(id, parent, "dynamiq.agent_run", status=1, attributes=told, **_LIT, **more)


def _asked(text, *steps):
    """A conversation: what a user said, then calls with what came of each."""
    told = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
    for call, result in steps:
        parts = [{"type": "tool_call", "id": call[0], "name": call[1], "arguments": call[2]}]
        came = [{"type": "tool_call_response", "id": call[0], "response": result}]
        told += [{"role": "assistant", "parts": parts}, {"role": "tool", "parts": came}]
    return told


def test_an_agent_of_dynamiqs_hands_its_answer_in_and_one_that_works_for_another_was_called_by_a_tool():
    """dynamiq 0.69, calling functions, in a workflow under OpenLIT 1.45."""
    workflow = {"gen_ai.operation.name": "invoke_agent", "gen_ai.endpoint": "dynamiq.workflow_run"}
    remembers = {"gen_ai.operation.name": "invoke_agent", "gen_ai.endpoint": "dynamiq.memory_add"}
    hands = ("call_a", "worker", {"thought": "t", "input": "book"})
    books = ("call_b", "book", {"thought": "t", "hotel": "H-7"})
    (run,) = runs(
        span(1, None, "dynamiq.workflow_run", took=20, attributes=workflow, status=1, **_LIT),
        span(11, 1, "dynamiq.memory_add", took=0.1, attributes=remembers, status=1, **_LIT),
        _dynamiq(2, "planner", 1, at=0.2, took=19),
        chat(3, 2, [hands], "Plan.", at=1),
        _dynamiq(4, "worker", 2, at=3, took=7),
        chat(5, 4, [books], "book", at=4),
        chat(6, 4, [("call_c", "provide_final_answer", {"thought": "t", "answer": "Booked."})],
             _asked("book", (books, "booked H-7")), at=6),
        chat(7, 2, [("call_d", "provide_final_answer", {"thought": "t", "answer": "Done."})],
             _asked("Plan.", (hands, "Booked.")), at=12),
    )  # fmt: skip
    assert (run["input"], run["output"], run["status"], run["agents"]) == (
        "Plan.",
        "Done.",
        "ok",
        ["planner", "worker"],
    )
    assert [(t["name"], t["agent"], t["status"]) for t in run["tool_calls"]] == [("book", "worker", "ok")]
    assert [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]] == [
        ("planner", "worker", "tool", "worker")
    ]


def test_how_an_agent_of_dynamiqs_ended_that_asked_for_a_tool_at_last_is_unknown():
    """What it gives says whether it failed, and never raises; OpenLIT notes that it went well."""
    call = ("call_a", "look", {"thought": "t", "city": "Rome"})
    (run,) = runs(_dynamiq(1, "planner", took=9), chat(2, 1, [call], "Plan.", at=1))
    assert (run["status"], run["output"], run["tool_calls"][0]["status"]) == ("unknown", None, "unknown")


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("[tool_error] Unknown tool: look. Use only available tools.", "requested"),
        ("[tool_error] ToolExecutionException: Tool 'look' failed: {'type': 'RecoverableAgentException'}", "error"),
        ("sunny", "ok"),
    ],
)
def test_a_tool_of_dynamiqs_failed_where_its_words_for_that_are_the_result(said, status):
    call = ("call_a", "look", {"thought": "t", "city": "Rome"})
    end = [("call_b", "provide_final_answer", {"thought": "t", "answer": "Done."})]
    (run,) = runs(
        _dynamiq(1, "planner", took=9),
        chat(2, 1, [call], "Plan.", at=1),
        chat(3, 1, end, _asked("Plan.", (call, said)), at=4),
    )
    assert [t["status"] for t in run["tool_calls"]] == [status]


def _in_tags(name, given):
    step = f"<action>{name}</action><action_input>{json.dumps(given)}</action_input>"
    return f"<output><thought>So.</thought>{step}</output>"


def _in_an_object(name, given):
    return json.dumps({"thought": "So.", "action": name, "action_input": json.dumps(given), "output_files": ""})


def _as_langchain(name, given):
    return f"```json\n{json.dumps({'action': name, 'action_input': given})}\n```"


@pytest.mark.parametrize(
    ("step", "end"),
    [
        (_in_tags, "<output><thought>So.</thought><answer>Sunny.</answer></output>"),
        (
            _in_an_object,
            json.dumps({"thought": "So.", "action": "finish", "action_input": "Sunny.", "output_files": ""}),
        ),
        (_as_langchain, json.dumps({"action": "Final Answer", "action_input": "Sunny."})),
    ],
)
def test_a_tool_is_asked_for_in_tags_or_an_object(step, end):
    """dynamiq 0.69 in its modes `XML` and `STRUCTURED_OUTPUT`, and LangChain's structured chat."""
    asks = step("look", {"city": "Rome"})
    told = [("user", "Plan."), ("assistant", asks), ("user", "Observation: sunny in Rome")]
    told = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in told]
    (run,) = runs(_dynamiq(1, "planner", took=9), chat(2, 1, asks, "Plan.", at=1), chat(3, 1, end, told, at=4))
    assert (run["input"], run["output"], run["status"]) == ("Plan.", "Sunny.", "ok")
    assert [(t["name"], t["arguments"], t["status"], t["result"]) for t in run["tool_calls"]] == [
        ("look", {"city": "Rome"}, "ok", "sunny in Rome")
    ]
    (run,) = runs(_dynamiq(1, "planner", took=9), chat(2, 1, asks, "Plan.", at=1))
    assert (run["output"], run["status"]) == (None, "unknown")
