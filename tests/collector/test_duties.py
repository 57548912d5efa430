"""The duties of an OTLP receiver, seen from outside."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import time
import urllib.error
import urllib.request
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import zstandard
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector import admit, grpc_server, http_server, inflate
from collector.inbox import InboxError
from tests.collector.requests import JSON, PROTOBUF, call, logs, post, span_ids, traces
from tests.collector.running import Collector, running

LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
HEALTH = "/grpc.health.v1.Health/Check"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(tmp_path_factory.mktemp("duties")) as started:
        yield started


def kept(collector: Collector) -> set[bytes]:
    return {i for row in collector.rows() if row.signal == "traces" for i in span_ids(row.body)}


def deflated(body: bytes, bits: int) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, bits)
    return packer.compress(body) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", lambda b: deflated(b, 15)),
        ("deflate", lambda b: deflated(b, -15)),
        ("zstd", zstandard.compress),
    ],
)
def test_every_encoding_is_undone(collector: Collector, encoding: str, encode: Any) -> None:
    request = traces(3)
    body = request.SerializeToString()
    status, answer, _ = post(collector.http, encode(body), {**PROTOBUF, "Content-Encoding": encoding})
    assert (status, answer) == (200, b"")
    assert set(span_ids(body)) <= kept(collector)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_body_that_is_cut_short_is_refused(collector: Collector, encoding: str) -> None:
    encode = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}[encoding]
    cut = encode(traces(200).SerializeToString())[:-9]
    assert post(collector.http, cut, {**PROTOBUF, "Content-Encoding": encoding})[0] == 400


def test_an_unknown_encoding_is_named(collector: Collector) -> None:
    status, answer, _ = post(collector.http, b"", {**PROTOBUF, "Content-Encoding": "br"})
    assert status == 415 and "'br'" in Status.FromString(answer).message


def test_grpc_takes_gzip_and_deflate(collector: Collector) -> None:
    for compression in (grpc.Compression.Gzip, grpc.Compression.Deflate):
        body = traces(50, text="again and again " * 20).SerializeToString()
        assert call(collector.grpc, body, compression=compression)[0] is grpc.StatusCode.OK
        assert set(span_ids(body)) <= kept(collector)


def test_an_error_is_a_status_in_the_encoding_of_the_request(collector: Collector) -> None:
    status, answer, headers = post(collector.http, b"\xff\xff")
    assert status == 400 and headers["Content-Type"] == "application/x-protobuf"
    assert Status.FromString(answer).code == 3
    status, answer, headers = post(collector.http, b"[1]", JSON)
    assert status == 400 and headers["Content-Type"] == "application/json"
    assert json.loads(answer)["code"] == 3
    code, details, trailers = call(collector.grpc, b"\xff\xff")
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert Status.FromString(trailers["grpc-status-details-bin"]).message == details.decode()


def test_bad_spans_are_rejected_alone_with_rule_count_and_example(collector: Collector) -> None:
    request = traces(5)
    spans = request.resource_spans[0].scope_spans[0].spans
    spans[1].trace_id, spans[3].trace_id, spans[4].parent_span_id = b"short", bytes(16), b"x"
    spans[3].name = "the-example"
    body = request.SerializeToString()
    code, answer, _ = call(collector.grpc, body)
    partial = ExportTraceServiceResponse.FromString(answer).partial_success
    assert code is grpc.StatusCode.OK and partial.rejected_spans == 3
    assert "trace_id must be 16 bytes and not all zero (2)" in partial.error_message
    assert "parent_span_id must be empty or 8 bytes (1)" in partial.error_message
    assert "for example" in partial.error_message
    status, over_http, _ = post(collector.http, body)
    assert (status, over_http) == (200, answer)
    assert {spans[0].span_id, spans[2].span_id} <= kept(collector)
    assert not {spans[1].span_id, spans[3].span_id, spans[4].span_id} & kept(collector)


def test_answers_are_bounded(collector: Collector) -> None:
    request = traces(1)
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.trace_id, span.name = b"", "x" * 1_000_000
    assert len(post(collector.http, request.SerializeToString())[1]) < 2048


def test_logs_are_kept_and_bad_ones_rejected(collector: Collector) -> None:
    request = logs(2)
    request.resource_logs[0].scope_logs[0].log_records[0].trace_id = b"odd"
    before = sum(row.spans for row in collector.rows() if row.signal == "logs")
    status, answer, _ = post(collector.http, request.SerializeToString(), path="/v1/logs")
    assert status == 200 and ExportLogsServiceResponse.FromString(answer).partial_success.rejected_log_records == 1
    assert call(collector.grpc, logs(1).SerializeToString(), LOGS)[0] is grpc.StatusCode.OK
    assert sum(row.spans for row in collector.rows() if row.signal == "logs") == before + 2


def test_one_signal_on_the_path_of_the_other_is_refused(collector: Collector) -> None:
    status, answer, _ = post(collector.http, logs(2).SerializeToString())
    assert status == 400 and "/v1/logs" in Status.FromString(answer).message
    status, answer, _ = post(collector.http, traces(2).SerializeToString(), path="/v1/logs")
    assert status == 400 and "/v1/traces" in Status.FromString(answer).message
    assert call(collector.grpc, logs(2).SerializeToString())[0] is grpc.StatusCode.INVALID_ARGUMENT


def test_metrics_are_answered_with_an_explanation(collector: Collector) -> None:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    metric.sum.data_points.add()
    metric.sum.data_points.add()
    body = request.SerializeToString()
    for answer in (post(collector.http, body, path="/v1/metrics")[1], call(collector.grpc, body, METRICS)[1]):
        partial = ExportMetricsServiceResponse.FromString(answer).partial_success
        assert partial.rejected_data_points == 2 and "metrics are not kept" in partial.error_message
    document = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"sum": {"dataPoints": [{}, {}]}}]}]}]})
    status, answer, _ = post(collector.http, document.encode(), JSON, "/v1/metrics")
    assert status == 200 and json.loads(answer)["partialSuccess"]["rejectedDataPoints"] == "2"


def test_metrics_that_cannot_be_read_are_refused(collector: Collector) -> None:
    for body, headers in ((b"\xff", PROTOBUF), (b"{", JSON), (b"[]", JSON)):
        assert post(collector.http, body, headers, "/v1/metrics")[0] == 400
    assert call(collector.grpc, b"\xff", METRICS)[0] is grpc.StatusCode.INVALID_ARGUMENT
    deep = b'{"a":' * 900 + b"1" + b"}" * 900
    assert post(collector.http, deep, JSON, "/v1/metrics")[0] in (200, 400)


def test_unknown_json_keys_at_the_top_are_said(collector: Collector) -> None:
    status, answer, _ = post(collector.http, b'{"resource_spans":[]}', JSON)
    assert status == 200 and "resource_spans" in json.loads(answer)["partialSuccess"]["errorMessage"]


def test_too_large_is_permanent(collector: Collector) -> None:
    body = traces(1, pad="x" * (65 * 2**20)).SerializeToString()
    status, _, headers = post(collector.http, body)
    assert status == 413 and headers["Retry-After"] is None
    code, _, trailers = call(collector.grpc, body)
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "google.rpc.retryinfo-bin" not in trailers
    assert not Status.FromString(trailers["grpc-status-details-bin"]).details


def test_too_many_spans_are_permanent(tmp_path: Path) -> None:
    with running(tmp_path, max_request_spans=10) as collector:
        body = traces(11).SerializeToString()
        assert post(collector.http, body)[0] == 413
        assert call(collector.grpc, body)[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert post(collector.http, traces(10).SerializeToString())[0] == 200


def assert_asks_for_a_retry(collector: Collector) -> None:
    body = traces(1).SerializeToString()
    status, answer, headers = post(collector.http, body)
    assert status == 503 and headers["Retry-After"] == "1" and Status.FromString(answer).code == 14
    status, answer, _ = post(collector.http, b'{"resourceSpans":[]}', JSON)
    if status == 503:
        assert json.loads(answer)["details"][0]["retryDelay"] == "1s"
    code, _, trailers = call(collector.grpc, body)
    assert code is grpc.StatusCode.UNAVAILABLE
    assert RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"]).retry_delay.seconds == 1
    details = Status.FromString(trailers["grpc-status-details-bin"]).details
    inside = RetryInfo()
    assert details[0].Unpack(inside) and inside.retry_delay.seconds == 1


def test_a_full_inbox_throttles_with_one_second(tmp_path: Path) -> None:
    with running(tmp_path, max_inbox_bytes=0) as collector:
        assert post(collector.http, traces(1).SerializeToString())[0] == 200
        assert_asks_for_a_retry(collector)


def test_a_failing_disk_is_retryable_and_acknowledges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path) as collector:

        def fail(*_: object) -> None:
            raise InboxError("could not write: database or disk is full")

        with monkeypatch.context() as patched:
            patched.setattr("collector.inbox.Inbox.append", fail)
            assert_asks_for_a_retry(collector)
        assert collector.rows() == []
        assert post(collector.http, traces(1).SerializeToString())[0] == 200
        assert collector.metrics()['otelcov_collector_refused_requests_total{reason="inbox_error"}'] >= 2


@pytest.mark.parametrize("size", [1, 3 * 2**20])
def test_a_fault_of_ours_is_answered_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    body = traces(1, text="x" * size).SerializeToString()
    with running(tmp_path) as collector, monkeypatch.context() as patched:
        patched.setattr(admit, "admit", lambda *_: 1 / 0)
        status, answer, _ = post(collector.http, body)
        assert status == 500 and Status.FromString(answer).code == 13
        assert call(collector.grpc, body)[0] is grpc.StatusCode.INTERNAL
        metrics = collector.metrics()
        assert metrics['otelcov_collector_refused_requests_total{reason="internal"}'] == 2
        assert metrics["otelcov_collector_queue_bytes"] == 0 and collector.rows() == []
    assert caplog.text.count("ZeroDivisionError") == 2


def test_the_pages_of_an_operator(collector: Collector) -> None:
    for page in ("/healthz", "/readyz"):
        with urllib.request.urlopen(collector.url + page) as answer:
            assert answer.status == 200
    assert call(collector.grpc, traces(4).SerializeToString())[0] is grpc.StatusCode.OK
    seen = collector.metrics()
    assert seen['otelcov_collector_accepted_items_total{signal="traces"}'] >= 4
    for name in ("queue_bytes", "inbox_backlog_bytes", "fsync_seconds_count", "replayed_items_total"):
        assert f"otelcov_collector_{name}" in seen
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(collector.url + "/else")
    assert refused.value.code == 404
    refused.value.close()


def test_grpc_health_serves(collector: Collector) -> None:
    _, answer, _ = call(collector.grpc, b"", HEALTH)
    assert health_pb2.HealthCheckResponse.FromString(answer).status == health_pb2.HealthCheckResponse.SERVING


def ended(connection: socket.socket, seconds: float) -> tuple[bytes, float]:
    began = time.monotonic()
    connection.settimeout(seconds)
    answer = b""
    try:
        while piece := connection.recv(65536):
            answer += piece
            if b"\r\n\r\n" in answer:
                break
    except ConnectionResetError:
        pass
    return answer, time.monotonic() - began


def test_slow_headers_and_slow_bodies_are_cut(tmp_path: Path) -> None:
    with running(tmp_path, header_timeout_ns=10**9, body_timeout_ns=10**9) as collector:
        start = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
        with socket.create_connection(("127.0.0.1", collector.http)) as slow:
            slow.sendall(start)
            _, took = ended(slow, 10)
            assert took < 5
        with socket.create_connection(("127.0.0.1", collector.http)) as slow:
            slow.sendall(start + b"Content-Length: 1000\r\n\r\nabc")
            answer, took = ended(slow, 10)
            assert b" 408 " in answer.split(b"\r\n")[0] and took < 5
        assert post(collector.http, traces(1).SerializeToString())[0] == 200


def test_a_chunked_body_is_taken_and_bounded(tmp_path: Path) -> None:
    import http.client

    with running(tmp_path, max_request_bytes=100_000) as collector:
        for size, expected in ((1, 200), (120_000, 413)):
            body = traces(1, pad="x" * size).SerializeToString()
            connection = http.client.HTTPConnection("127.0.0.1", collector.http, timeout=20)
            pieces = [body[i : i + 1000] for i in range(0, len(body), 1000)]
            try:
                connection.request("POST", "/v1/traces", iter(pieces), PROTOBUF, encode_chunked=True)
            except (BrokenPipeError, ConnectionResetError):
                connection._HTTPConnection__state = "Request-sent"  # type: ignore[attr-defined]
            assert connection.getresponse().status == expected
            connection.close()


def test_what_waits_to_be_inflated_takes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, go_on = traces(1, text=os.urandom(200_000).hex()).SerializeToString(), threading.Event()
    packed = zlib.compress(body)

    def slowly(*given: Any) -> bytes:
        assert go_on.wait(20)
        return inflate.inflate(*given)

    for transport in (http_server, grpc_server):
        monkeypatch.setattr(transport, "inflate", slowly)
    with running(tmp_path) as collector, ThreadPoolExecutor(2) as senders:
        over_http = senders.submit(post, collector.http, packed, {**PROTOBUF, "Content-Encoding": "deflate"})
        over_grpc = senders.submit(call, collector.grpc, body, compression=grpc.Compression.Deflate)
        waiting, deadline = 0.0, time.monotonic() + 10
        while waiting < 400_000 and time.monotonic() < deadline:
            waiting = collector.metrics()["otelcov_collector_queue_bytes"]
        go_on.set()
        assert over_http.result()[0] == 200 and over_grpc.result()[0] is grpc.StatusCode.OK
        assert waiting >= 400_000
        assert collector.metrics()["otelcov_collector_queue_bytes"] == 0
