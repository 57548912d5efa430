"""AgentAssay's recorded results, from the same traces as spans."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

from otelcov.coverage import agentassay
from otelcov.ground import settings
from otelcov.ground.errors import ConfigError
from otelcov.store.layout import from_requests
from tests.coverage.shared import shared

CASES = sorted(p.stem for p in shared("agentassay_cases").glob("[0-9]*.json")) or ["absent"]


@pytest.mark.parametrize("name", CASES)
def test_agentassay_says_the_same_of_the_same_traces(name: str) -> None:
    if name == "absent":
        pytest.skip("../shared/agentassay_cases is absent")
    case = json.loads((shared("agentassay_cases") / f"{name}.json").read_text())
    given = case["config"]
    config = settings.of(
        {
            "tools": {tool: {} for tool in given["known_tools"]},
            "models": {model: {} for model in given["known_models"] or []},
            "coverage": {
                "agentassay": {"boundaries": given["boundaries"] or {}, "max_path_depth": given["max_path_depth"]}
            },
        }
    )
    spans, _ = from_requests([_encoded(case["traces"])], [], 0)
    if "error" in case:
        with pytest.raises(ConfigError, match="known tools"):
            agentassay.measure(spans, config)
        return
    result, expected = agentassay.measure(spans, config), case["output"]
    assert result.scores == pytest.approx(expected["dimensions"], abs=1e-9)
    assert result.overall == pytest.approx(expected["overall"], abs=1e-9)
    assert result.weakest == expected["weakest"][0]
    assert sorted(result.known_tools - result.tools) == sorted(expected["uncovered_tools"])
    assert sorted(result.models) == sorted(expected["tested_models"])
    assert {(a, str(t), o) for a, t, o in result.states} == {tuple(s) for s in expected["unique_states"]}
    assert result.paths == {tuple(p) for p in expected["unique_paths"]}


def _encoded(traces: list[dict[str, Any]]) -> bytes:
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for i, trace in enumerate(traces):
        trace_id = (i + 1).to_bytes(16)
        root = spans.add(trace_id=trace_id, span_id=b"\1" * 8, name="invoke_agent", start_time_unix_nano=1 + i * 1000)
        _put(root, {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": trace["model"]})
        _put(root, {f"agentassay.metadata.{k}": v for k, v in trace["metadata"].items()})
        for j, step in enumerate(trace["steps"]):
            at = 2 + i * 1000 + j
            span = spans.add(trace_id=trace_id, span_id=(j + 2).to_bytes(8), parent_span_id=b"\1" * 8, name="step")
            span.start_time_unix_nano = at
            _put(span, {"agentassay.action": step["action"], "gen_ai.request.model": step.get("model")})
            _put(span, {f"agentassay.metadata.{k}": v for k, v in step["metadata"].items()})
            if "tool_name" in step:
                result = step["tool_output"]
                _put(span, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": step["tool_name"]})
                _put(span, {"gen_ai.tool.call.result": None if result is None else json.dumps(result)})
            if step.get("llm_output"):
                parts = [{"type": "text", "content": step["llm_output"]}]
                _put(span, {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}])})
    return request.SerializeToString()


def _put(span: Any, attributes: dict[str, Any]) -> None:
    span.attributes.extend(KeyValue(key=k, value=_any(v)) for k, v in attributes.items() if v is not None)


def _any(value: Any) -> AnyValue:
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=[_any(v) for v in value]))
    kinds: dict[type, str] = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}
    return AnyValue(**{kinds[type(value)]: value})
