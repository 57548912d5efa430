"""Results as gen_ai.evaluation.result events to an OTLP endpoint, and those of other tools beside ours."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typer.testing import CliRunner

from otelcov.cli.commands import app
from tests.judge.ask import judge
from tests.judge.server import serving
from tests.judge.traffic import START, Said, Tool, request, store

TURNS = [Said("weather?", "sunny", [Tool("get_weather", {"city": "Oslo"}, "sunny")] * 2)]


@contextmanager
def receiving(status=200):
    """An OTLP/HTTP endpoint that keeps what it gets."""
    got = {"/v1/logs": [], "/v1/traces": []}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            got[self.path].append(body)
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _records(bodies):
    for body in bodies:
        for around in ExportLogsServiceRequest.FromString(body).resource_logs:
            for scope in around.scope_logs:
                for record in scope.log_records:
                    yield scope.scope.name, record, {kv.key: kv.value for kv in record.attributes}


def test_every_result_is_an_event_on_the_judged_span_and_none_is_sent_twice(tmp_path):
    place = store(tmp_path, TURNS)
    with serving() as server, receiving() as (endpoint, got):
        _, document = judge(place, "--otlp-endpoint", endpoint, url=server.url)
        records = list(_records(got["/v1/logs"]))
        _, again = judge(place, "--otlp-endpoint", endpoint, url=server.url)
        assert len(list(_records(got["/v1/logs"]))) == len(records)
    assert (document["emitted"], again["emitted"]) == (len(records), 0)
    root = request(TURNS).resource_spans[0].scope_spans[0].spans[0]
    assert {(r.trace_id, r.span_id) for _, r, _ in records} == {(root.trace_id, root.span_id)}
    assert {(name, r.event_name) for name, r, _ in records} == {("otelcov.judge", "gen_ai.evaluation.result")}
    by_name = {a["gen_ai.evaluation.name"].string_value: a for _, _, a in records if "otelcov.judge.model" in a}
    assert by_name["helpfulness"]["gen_ai.evaluation.score.value"].double_value == 4.0
    assert by_name["helpfulness"]["gen_ai.evaluation.explanation"].string_value == "good"
    assert by_name["agent_behavior_failure"]["gen_ai.evaluation.score.label"].string_value == "no failure"
    assert len(by_name) == 8
    rules = [a for _, _, a in records if a["otelcov.judge.source"].string_value == "rule"]
    assert [a["otelcov.judge.rule"].string_value for a in rules] == ["repeated_call"]


def test_the_judges_own_calls_are_traced_and_never_judged(tmp_path):
    place = store(tmp_path, TURNS)
    with serving() as server, receiving() as (endpoint, got):
        _, document = judge(place, "--metric", "helpfulness", "--otlp-endpoint", endpoint, url=server.url)
    spans = [
        (resource.resource.attributes[0].value.string_value, span)
        for body in got["/v1/traces"]
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    names = sorted(span.name for _, span in spans)
    assert "judge helpfulness" in names
    assert "chat scripted" in names
    facts = {kv.key for _, span in spans for kv in span.attributes}
    assert "gen_ai.usage.input_tokens" in facts
    assert not any("weather?" in str(span) for _, span in spans)  # the judged texts are not told again
    files = tmp_path / "own"
    files.mkdir()
    for k, body in enumerate(got["/v1/traces"]):
        (files / f"{k}.pb").write_bytes(body)
    assert CliRunner().invoke(app, ["import", str(files), "--store", str(place)]).exit_code == 0
    _, again = judge(place, "--metric", "helpfulness")
    assert again["turns"] == document["turns"] == 1


def test_an_endpoint_that_refuses_is_told_and_the_judgement_is_kept(tmp_path):
    place = store(tmp_path, TURNS)
    with receiving(status=400) as (endpoint, _):
        code, output = judge(place, "--otlp-endpoint", endpoint)
    assert code == 4
    assert "Couldn't emit events" in output
    assert len(list((place / "judge").glob("*.json"))) == 1


def test_events_of_other_tools_are_shown_beside_ours(tmp_path):
    place = store(tmp_path, TURNS)
    root = request(TURNS).resource_spans[0].scope_spans[0].spans[0]
    logs = ExportLogsServiceRequest()
    scope = logs.resource_logs.add().scope_logs.add()
    scope.scope.name = "another.judge"
    for value in (0.5, 1.0):
        record = scope.log_records.add()
        record.trace_id, record.span_id, record.time_unix_nano = root.trace_id, root.span_id, START + int(value * 10)
        record.event_name = "gen_ai.evaluation.result"
        for key, given in (("gen_ai.evaluation.name", "Relevance"), ("gen_ai.evaluation.score.label", "pass")):
            pair = record.attributes.add()
            pair.key, pair.value.string_value = key, given
        pair = record.attributes.add()
        pair.key, pair.value.double_value = "gen_ai.evaluation.score.value", value
    (tmp_path / "logs.pb").write_bytes(logs.SerializeToString())
    assert CliRunner().invoke(app, ["import", str(tmp_path / "logs.pb"), "--store", str(place)]).exit_code == 0
    _, document = judge(place)
    assert document["others"] == [
        {"source": "another.judge", "metric": "Relevance", "events": 2, "value": 0.75, "labels": {"pass": 2}}
    ]
    assert "another.judge" in judge(place, format="text")[1]


def test_our_own_events_in_the_same_store_change_no_run_and_are_not_another_tools(tmp_path):
    place = store(tmp_path, TURNS)
    runs = ["runs", "--store", str(place), "--since", "all", "--format", "jsonl"]
    before = CliRunner().invoke(app, runs).stdout
    with receiving() as (endpoint, got):
        judge(place, "--otlp-endpoint", endpoint)
    (tmp_path / "logs.pb").write_bytes(got["/v1/logs"][0])
    assert CliRunner().invoke(app, ["import", str(tmp_path / "logs.pb"), "--store", str(place)]).exit_code == 0
    assert judge(place)[1]["others"] == []
    assert json.loads(CliRunner().invoke(app, runs).stdout) == json.loads(before)


def test_an_event_on_a_model_call_changes_no_run_either(tmp_path):
    place = store(tmp_path, TURNS)
    runs = ["runs", "--store", str(place), "--since", "all", "--format", "jsonl"]
    before = CliRunner().invoke(app, runs).stdout
    logs = ExportLogsServiceRequest()
    scope = logs.resource_logs.add().scope_logs.add()
    for span in request(TURNS).resource_spans[0].scope_spans[0].spans:
        record = scope.log_records.add()
        record.trace_id, record.span_id, record.time_unix_nano = span.trace_id, span.span_id, START
        record.event_name = "gen_ai.evaluation.result"
    (tmp_path / "logs.pb").write_bytes(logs.SerializeToString())
    assert CliRunner().invoke(app, ["import", str(tmp_path / "logs.pb"), "--store", str(place)]).exit_code == 0
    assert json.loads(CliRunner().invoke(app, runs).stdout) == json.loads(before)
