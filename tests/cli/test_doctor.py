"""`otelcov doctor` on stores whose spans lack something."""

import json
import time

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typer.testing import CliRunner

from otelcov.cli.commands import app


def store_of(folder, resource, spans):
    """A store with one trace: (name, attributes, index of the parent)."""
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    for key, value in resource.items():
        resource_spans.resource.attributes.add(key=key).value.string_value = value
    scope = resource_spans.scope_spans.add()
    scope.scope.name = "a.scope"
    now = time.time_ns()
    for number, (name, attributes, parent) in enumerate(spans):
        span = scope.spans.add(trace_id=b"\x01" * 16, span_id=bytes([number + 1] * 8), name=name, kind=1)
        span.parent_span_id = b"" if parent is None else bytes([parent + 1] * 8)
        span.start_time_unix_nano, span.end_time_unix_nano = now + number, now + 1_000_000 - number
        for key, value in attributes.items():
            span.attributes.add(key=key).value.string_value = value
    (folder / "one.traces.pb").write_bytes(request.SerializeToString())
    result = CliRunner().invoke(app, ["import", str(folder), "--store", str(folder / "store")])
    assert result.exit_code == 0, result.output
    return str(folder / "store")


def doctor(*options):
    result = CliRunner().invoke(app, ["doctor", "--format", "json", *options], env={"OTELCOV_GRPC_PORT": "0"})
    return result.exit_code, json.loads(result.stdout) if result.stdout else [], result.stderr


AGENT = ("invoke_agent a", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}, None)


def test_what_a_services_spans_lack_is_named_with_what_to_switch_on(tmp_path):
    store = store_of(tmp_path, {"service.name": "shop"}, [AGENT, ("GET /", {"http.request.method": "GET"}, 0)])
    code, findings, _ = doctor("--store", store, "--since", "1h", "--until", "all")
    told = {f["text"]: f["advice"] for f in findings if f["check"] == "spans"}
    assert "shop: 1 runs from 2 spans" in told
    side = "shop: no deployment.environment.name, so no side (1 of 1 runs)"
    assert told[side] == "Set OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=production"
    assert "shop: no service.version, so no release (1 of 1 runs)" in told
    assert "shop: no input text (1 of 1 runs)" in told
    assert code == 0  # it lacks something, but nothing keeps spans from being kept


@pytest.mark.full
def test_agent_work_told_by_log_records_alone_is_said(tmp_path):
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    group.resource.attributes.add(key="service.name").value.string_value = "claude-code"
    scope = group.scope_logs.add()
    scope.scope.name = "com.anthropic.claude_code.events"
    for name in ("user_prompt", "api_request", "tool_result", "started"):
        record = scope.log_records.add(time_unix_nano=time.time_ns())
        record.attributes.add(key="event.name").value.string_value = name
    (tmp_path / "one.logs.pb").write_bytes(request.SerializeToString())
    store = str(tmp_path / "store")
    assert CliRunner().invoke(app, ["import", str(tmp_path), "--store", store]).exit_code == 0
    _, findings, _ = doctor("--store", store, "--since", "1h", "--until", "all")
    assert [f["text"] for f in findings if f["check"] == "logs"] == [
        "claude-code: 3 log records of com.anthropic.claude_code.events (api_request, tool_result, user_prompt) "
        "tell of agent work, no spans"
    ]


@pytest.mark.full
def test_a_sender_without_a_name_is_found(tmp_path):
    _, findings, _ = doctor("--store", store_of(tmp_path, {}, [AGENT]), "--since", "all")
    assert any(f["advice"] == "Set OTEL_SERVICE_NAME." for f in findings)


def test_a_store_without_runs_in_the_window_says_how_to_point_a_sender_at_it(tmp_path):
    store = store_of(tmp_path, {"service.name": "shop"}, [AGENT])
    code, findings, _ = doctor("--store", store, "--until", "2020-01-01")
    assert findings[-1]["advice"].endswith("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318")
    assert findings[-1]["text"] == f"{store} holds no agent runs since 2019-12-31T00:00:00Z"
    assert code == 0
    (tmp_path / "otelcov.toml").write_text("[collect]\nhttp_port = 9318")
    code, findings, _ = doctor("--store", store, "--until", "2020-01-01", "--config", str(tmp_path / "otelcov.toml"))
    assert findings[-1]["advice"].endswith("=http://127.0.0.1:9318")


def test_a_store_that_was_named_and_does_not_exist_is_an_error(tmp_path):
    code, _, said = doctor("--store", str(tmp_path / "none"))
    assert code == 4
    assert "There is no store" in said
    assert not (tmp_path / "none").exists()


def test_before_the_first_start_there_is_no_store_and_that_is_fine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, findings, _ = doctor()
    assert code == 0
    assert findings[-1]["text"] == "no store in ./.otelcov yet"


@pytest.mark.full
def test_a_config_with_which_the_collector_would_not_start_ends_with_2(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "otelcov.toml").write_text('[collect]\nhost = "0.0.0.0"\ntls_cert = "missing.pem"')
    code, findings, _ = doctor()
    assert code == 2
    assert {f["check"] for f in findings if f["status"] == "failed"} == {"access", "TLS"}


def test_what_it_says_fits_eighty_columns(tmp_path):
    store = store_of(tmp_path, {"service.name": "a service with rather a long name"}, [AGENT])
    result = CliRunner().invoke(app, ["doctor", "--store", store, "--since", "1h", "--until", "all"])
    wide = [line for line in result.stdout.splitlines() if len(line) > 80]
    assert all(len(line.split()) == 1 for line in wide)  # a folder of a long name stays whole


HOSTILE = ("invoke_agent", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "\u202e\x1b[0ma"}, None)


@pytest.mark.full
def test_a_name_from_spans_moves_no_cursor_and_turns_no_text(tmp_path):
    store = store_of(tmp_path, {"service.name": "\u202e\x1b[31mshop\u2028"}, [HOSTILE])
    window = ["--store", store, "--since", "1h", "--until", "all"]
    shown = CliRunner().invoke(app, ["doctor", *window], color=True).stdout
    assert "\\u202e\\x1b[31mshop\\u2028: 1 runs" in shown
    learned = CliRunner().invoke(app, ["learn", *window], color=True).stdout
    assert all(c == "\n" or c.isprintable() for c in shown + learned)
