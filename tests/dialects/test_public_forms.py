"""Forms that programs in public repositories write: agents of platforms themselves, and steps traced by hand."""

import json

import pytest

from tests.runs.requests import runs, span


def _oi(id, parent, kind, name, at, took=1, **told):
    """OpenInference by hand: Phoenix' own assistant."""
    told = {key.replace("__", "."): value for key, value in told.items()} | {"openinference.span.kind": kind}
    return span(id, parent, name, at=at, took=took, attributes=told)


def _messages(side, *said):
    told = {}
    for n, (role, content, *calls) in enumerate(said):
        start = f"llm.{side}_messages.{n}.message"
        told |= {f"{start}.role": role, **({f"{start}.content": content} if content else {})}
        for k, (id, name, arguments) in enumerate(calls):
            call = f"{start}.tool_calls.{k}.tool_call"
            told |= {f"{call}.id": id, f"{call}.function.name": name}
            told |= {f"{call}.function.arguments": json.dumps(arguments)}
    return told


def _llm(id, parent, at, asked, *answer):
    told = _messages("input", *asked) | _messages("output", answer)
    return _oi(id, parent, "LLM", "m", at, llm__model_name="m", llm__provider="p", **told)


def _tool(id, parent, name, call, at, took=1, gave="fine", /, **given):
    told = {"input.value": json.dumps(given), "output.value": gave, "tool.name": name, "tool_call.id": call}
    return _oi(id, parent, "TOOL", name, at, took, **told)


@pytest.mark.parametrize("way", ["call_subagent", "run_agent", "delegate_to_agent", "ask_agent"])
@pytest.mark.parametrize("lost", ["the agent", "the tool"])
def test_a_tool_that_by_its_name_calls_some_agent_names_whom_it_calls_by_an_argument(way, lost):
    asked, said = [("user", "go")], ("assistant", None, ("c1", way, {"name": "scout", "task": "look"}))
    (run,) = runs(
        _oi(1, None, "AGENT", "turn", 0, 20, input__value="go", output__value="Done."),
        _llm(2, 1, 1, asked, *said),
        *([] if lost == "the tool" else [_tool(3, 1, way, "c1", 3, 9, name="scout", task="look")]),
        *([] if lost == "the agent" else [_oi(4, 3, "AGENT", "Worker.iter", 3.1, 8.8, input__value="look")]),
        _llm(5, 4, 4, [("user", "look")], "assistant", None, ("d1", "read", {"page": 1})),
        _tool(6, 4, "read", "d1", 6, page=1),
        _llm(7, 1, 13, [*asked, said, ("tool", "fine")], "assistant", "Done."),
    )
    assert set(run["agents"]) <= {"scout"}
    assert [c["name"] for c in run["tool_calls"]] == ["read"]
