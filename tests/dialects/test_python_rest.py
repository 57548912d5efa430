"""Kits for Python and what watches them: LlamaIndex's agents under OpenLLMetry and MLflow."""

import json

import pytest

from tests.runs.requests import runs, span

_TRACELOOP, _MLFLOW = "opentelemetry.instrumentation.llamaindex", "mlflow.tracing.provider"
_SAID = {"response": {"role": "assistant", "blocks": [{"block_type": "text", "text": "two"}]}}


def _task(id, at, output=None, **told):
    told |= {"traceloop.entity.output": json.dumps(output)} if output is not None else {}
    told |= {"traceloop.span.kind": "task"}
    return span(id, 1, "BaseWorkflowAgent.task", at=at, scope=_TRACELOOP, attributes=told)


@pytest.mark.parametrize("ended", [True, False])
def test_a_workflow_whose_newest_step_put_nothing_out_may_have_met_its_limit(ended):
    """LlamaIndex 0.14 under OpenLLMetry 0.62 alone: no model's call is told, nor a step that failed."""
    called = {"tool_name": "add", "tool_id": "call_a1", "tool_output": {"raw_output": 2}}
    planner = {"input": [{"role": "user"}], "current_agent_name": "planner"}
    (run,) = runs(
        span(
            1, None, "FunctionAgent.workflow", took=20, scope=_TRACELOOP, attributes={"traceloop.span.kind": "workflow"}
        ),
        *(_task(2, 0, planner), _task(3, 1), _task(4, 2)),
        _task(5, 3, called, **{"tool.name": "add", "tool.arguments": '{"a": 1}'}),
        *(_task(6, 4, planner), _task(7, 5)),
        *([_task(8, 6, {"result": _SAID | {"current_agent_name": "planner"}})] if ended else []),
    )
    assert (run["status"], "max_steps" in run["boundaries_unknown"]) == ("ok" if ended else "unknown", True)
