"""What pairs of a kit and an instrumentation sent that no recorded corpus holds, in small."""

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

_AGNOS = "opentelemetry.instrumentation.agno"


def _agno(id, kind, parent=None, **told):
    return span(id, parent, f"planner.{kind}", scope=_AGNOS, status=1, traceloop__span__kind=kind, **told)


def _planner(said, tokens, took=9.0):
    told = {"traceloop__entity__input": "go", "traceloop__entity__output": said, "gen_ai__agent__name": "planner"}
    return _agno(1, "agent", took=took, gen_ai__usage__output_tokens=tokens, **told)


_LOOKED = {"gen_ai__tool__name": "look", "traceloop__entity__input": '{"at": "x"}', "traceloop__entity__output": "cold"}


@pytest.mark.parametrize(
    ("said", "tokens", "tools", "status"),
    [
        ("scripted failure", 0, [], "unknown"),
        ("scripted failure", 16, [_agno(2, "tool", 1, at=2, **_LOOKED)], "unknown"),
        ("It is cold.", 16, [], "ok"),
    ],
)
def test_an_error_may_be_what_an_agent_of_agnos_put_out(said, tokens, tools, status):
    (run,) = agreed(_planner(said, tokens), *tools)
    assert (run["status"], run["output"]) == (status, said)
    assert [c["name"] for c in run["tool_calls"] or []] == ["look"] * len(tools)
