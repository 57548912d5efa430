"""CrewAI 1.15 under OpenInference: flows in which a later step fails."""

import json

import pytest

from tests.runs.requests import runs, span


def _of(id, parent, name, kind, at, took, output=None, **more):
    told = {"openinference.span.kind": kind} | ({} if output is None else {"output.value": output})
    told |= more.pop("attributes", {})
    scope = "openinference.instrumentation.crewai"
    return span(id, parent, name, at=at, took=took, scope=scope, attributes=told, **{"status": 1} | more)


@pytest.mark.parametrize("fails", [True, False])
def test_what_a_step_put_out_before_another_failed_is_no_answer(fails):
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "one"}
    wrong = {"status": 2, "error": "flow broke"} if fails else {}
    kept = json.dumps({"raw": "one", "pydantic": None, "agent_role": "b"})
    (run,) = runs(
        _of(1, None, "Flow_1.kickoff", "CHAIN", 0, 9, **wrong),
        _of(2, 1, "Flow_1.first", "CHAIN", 0, 4, "one"),
        _of(3, 2, "b.kickoff", "AGENT", 0.1, 3.8, kept),
        _of(4, 3, "ChatCompletion", "LLM", 1, 2, attributes=asked | said | {"llm.model_name": "m"}),
        _of(5, 1, "Flow_1.second", "CHAIN", 5, 1, **wrong),
    )
    assert (run["status"], run["output"]) == (("error", None) if fails else ("ok", "one"))
