"""Microsoft's Agent Framework 1.23 by its own spans: tools of a provider's, leave, limits, runs that were called off,
and workflows in which somebody leads."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_SCOPE = "agent_framework"


def _runs(*spans):
    return runs(*({**one, "scope": _SCOPE} for one in spans))


def _called(run):
    return [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]


def _loop(why=None, output=None, **more):
    told = {"gen_ai.response.finish_reasons": f'["{why}"]'} if why else {}
    told |= {"gen_ai.output.messages": [{"role": "assistant", "parts": output}]} if output is not None else {}
    one = agent(1, "planner", took=9, **more)
    return one | {"attributes": one["attributes"] | told}


def _said(text):
    return [{"type": "text", "content": text}]


def _answer(*parts):
    told = {"gen_ai.output.messages": [{"role": "assistant", "parts": list(parts), "finish_reason": "stop"}]}
    return chat(2, 1, None, "go", attributes=told)


@pytest.mark.parametrize(
    ("call", "result", "called"),
    [
        (
            {"type": "search_tool_call", "tool_name": "web_search", "arguments": {"query": "q"}, "status": "completed"},
            {"type": "search_tool_result", "tool_name": "web_search", "result": "found"},
            ("web_search", {"query": "q"}, "ok", "found"),
        ),
        (
            {"type": "code_interpreter_tool_call", "inputs": [{"type": "text", "text": "1+1"}]},
            {"type": "code_interpreter_tool_result", "outputs": [{"type": "text", "text": "2"}]},
            ("code_interpreter", {"code": "1+1"}, "ok", "2"),
        ),
        (
            {"type": "mcp_server_tool_call", "tool_name": "roll", "server_name": "s", "arguments": '{"sides": 6}'},
            {"type": "mcp_server_tool_result", "output": [{"type": "text", "text": "4"}]},
            ("roll", {"sides": 6}, "ok", "4"),
        ),
    ],
)
def test_what_the_provider_ran_stands_in_parts_of_its_answer(call, result, called):
    text = {"type": "text", "content": "done"}
    (run,) = _runs(_loop("stop"), _answer(call | {"call_id": "x1"}, result | {"call_id": "x1"}, text))
    assert (_called(run), run["output"]) == ([called], "done")


def test_what_has_no_span_in_a_loop_that_says_why_it_ended_waits_for_somebody():
    (run,) = _runs(_loop("tool_calls"), chat(2, 1, [("c1", "rm", {"path": "a"})], "go"))
    assert _called(run) == [("rm", {"path": "a"}, "requested", None)]
    (run,) = _runs(_loop(), chat(2, 1, [("c1", "rm", {"path": "a"})], "go"))
    assert _called(run) == [("rm", {"path": "a"}, "unknown", None)]


def test_how_a_loop_went_that_does_not_say_why_it_ended_is_not_known():
    """A task that was cancelled: spans end, with nothing said."""
    slow = tool(3, 1, "slow", "c1", at=2, took=3, attributes={"gen_ai.tool.call.arguments": '{"x": 1}'})
    (run,) = _runs(_loop(), chat(2, 1, [("c1", "slow", {"x": 1})], "go"), slow)
    assert (run["status"], _called(run)) == ("unknown", [("slow", {"x": 1}, "unknown", None)])


def test_a_tool_that_was_used_up_did_not_run():
    words = "Function 'once' has reached its maximum invocation limit, you can no longer use this tool."
    thrown = {"exception.type": "agent_framework.exceptions.ToolException", "exception.message": words}
    once = tool(3, 1, "once", "c1", at=2, error=f'ToolException("{words}")', events=[("exception", thrown)])
    (run,) = _runs(_loop("stop"), chat(2, 1, [("c1", "once", {"x": 1})], "go"), once, chat(4, 1, "done", at=4))
    assert [c[2] for c in _called(run)] == ["requested"]
    assert "tool_failure" not in run["boundaries"]


def _workflow(*held):
    flow = span(90, None, "workflow.run", took=60, attributes={"workflow.id": "w", "workflow.name": "Flow"})
    return _runs(flow, *held)


def _executor(id, name, at, took, kind="AgentExecutor"):
    told = {"executor.id": name, "executor.type": kind}
    return span(id, 90, f"executor.process {name}", at=at, took=took, attributes=told)


def _works(id, name, parent, at, asked, answer):
    return agent(id, name, parent, at=at, took=2), chat(id + 1, id, answer, asked, at=at, took=1)


_ASKS = 'Decide what to do next. Respond with a JSON object of the following format:\n{\n  "terminate": <true|false>,\n'


def _history(*told):
    return [{"role": "user", "parts": _said(text)} for text in told]


def _decides(done, who, answer):
    return json.dumps({"terminate": done, "reason": "r", "next_speaker": who, "final_message": answer})


@pytest.mark.parametrize(
    ("decision", "output"),
    [(_decides(True, None, "all done"), "all done"), (_decides(False, "a1", None), None)],
)
def test_who_leads_a_group_chat_decides_and_is_not_asked_by_the_user_alone(decision, output):
    boss, leads = "AgentBasedGroupChatOrchestrator", _history("go on", _ASKS)
    (run,) = _workflow(
        _executor(10, "boss", 0, 3, boss),
        *_works(11, "boss", 10, 0, leads, _decides(False, "a1", None)),
        _executor(20, "a1", 4, 3),
        *_works(21, "a1", 20, 4, "go on", "a1 is done"),
        _executor(30, "boss", 8, 3, boss),
        *_works(31, "boss", 30, 8, leads, decision),
    )
    assert (run["input"], run["output"], run["status"]) == ("go on", output, "ok")


_SURVEY = """Below I will present you a request.

Before we begin addressing the request, please answer the following pre-survey to the best of your ability.

Here is the request:

go on

and on

Here is the pre-survey:

    1. Please list any specific facts"""
_RECALL = """
Recall we are working on the following request:

go on

and on

And we have assembled the following team:

a1: w"""


@pytest.mark.parametrize("prompt", [_SURVEY, _RECALL])
def test_who_leads_a_team_of_magentic_one_wraps_the_users_words(prompt):
    """All in one executor's time, before the others are asked: no requests of their own."""
    (run,) = _workflow(
        _executor(10, "magentic_orchestrator", 0, 9, "MagenticOrchestrator"),
        *_works(11, "boss", 10, 0, prompt, "the facts"),
        *_works(13, "boss", 10, 4, "Fantastic. To address this request we have assembled the following team", "plan"),
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("go on\n\nand on", "plan", 2)


@pytest.mark.parametrize(
    ("kind", "output"), [("Fin", None), ("AgentExecutor", "done"), ("HandoffAgentExecutor", "done")]
)
def test_what_a_step_after_the_last_agent_put_out_is_not_told(kind, output):
    """An agent's, which is told what the others said, puts nothing out."""
    (run,) = _workflow(
        _executor(10, "a1", 0, 3), *_works(11, "a1", 10, 0, "go", "done"), _executor(20, "fin", 4, 1, kind)
    )
    assert run["output"] == output


def test_openinferences_processor_gives_steps_the_ids_of_nodes_and_says_of_all_that_it_went_well():
    """OpenInference for the framework 0.1.13: of a stream that was left, the agent's span may come late and alone."""
    nodes = {"openinference.span.kind": "LLM", "graph.node.id": "llm_3203090265673072455"}
    (run,) = _runs(chat(2, 1, [("c1", "look", {"x": 1})], "go", attributes=nodes, status=1))
    assert run["agents"] == []
    told = {"openinference.span.kind": "AGENT", "graph.node.id": "agent_f75569fd", "input.value": "go"}
    one = agent(1, "planner", took=9, status=1)
    (run,) = _runs(one | {"attributes": one["attributes"] | told})
    assert (run["status"], run["agents"]) == ("unknown", ["planner"])
