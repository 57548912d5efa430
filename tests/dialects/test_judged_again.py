"""What further pairs of kit and instrumentation sent, in small: AgentOps, Splunk's, Laminar, LangSmith beside the spans
that a client tells itself."""

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

_AGNO = {"scope": "agentops.instrumentation.agno", "status": 1}


def _agno(output, *rest, **told):
    """AgentOps 0.4.21 of Agno 2: what an agent or a tool is called stands beside the entity's name."""
    told = {"agentops.span.kind": "agent", "agentops.entity.name": "agent", "agent.name": "planner"} | told
    told |= {"agent.input": "go", "agentops.entity.input": "go", "agent.output": output}
    return agreed(span(1, None, "planner.agno.agent.run.agent", took=9, attributes=told, **_AGNO), *rest)


def _agno_tool(id, at, status, **told):
    told = {"agentops.span.kind": "tool", "agentops.entity.name": "tool", "tool.name": "look"} | told
    told |= {"tool.parameters": '{"at": "x"}', "tool.status": "success", "tool.execution_result_status": status}
    return span(id, 1, "agno.tool.execute.tool_usage", at=at, attributes=told, **_AGNO)


def test_agentops_calls_agnos_agents_and_tools_by_their_own_names_and_says_beside_them_what_failed():
    failed = _agno_tool(2, 1, "failure", **{"tool.error": "no such place", "tool.result": "failure"})
    went = _agno_tool(3, 3, "success", **{"tool.result": "cold"})
    (run,) = _agno("It is cold.", failed, went, **{"agent.run_session_id": "s-1"})
    assert (run["agents"], run["input"], run["output"], run["conversation_id"]) == (
        ["planner"],
        "go",
        "It is cold.",
        "s-1",
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("look", "error", "no such place"),
        ("look", "ok", "cold"),
    ]


def test_agno_puts_out_what_went_wrong_as_its_answer_under_agentops():
    (run,) = _agno("Request timed out.")
    assert run["status"] == "unknown"
