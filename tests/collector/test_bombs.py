"""Small requests that want to become large: memory stays, and the next good request is answered at once."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import grpc
import pytest
import zstandard
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.collector.requests import JSON, PROTOBUF, call, logs, post, traces
from tests.collector.running import ROOT, Collector, launched

GROWTH_MIB = 200


def a_second() -> float:
    """One second - of a machine that has nothing else to do: longer where more is running than there are cores."""
    return max(1.0, 2 * os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with launched(tmp_path_factory.mktemp("bombs"), body_timeout_ns=2 * 10**9) as started:
        for _ in range(20):  # what a collector holds when it has worked a little
            post(started.http, traces(500, text="x" * 500).SerializeToString())
            call(started.grpc, traces(500, text="x" * 500).SerializeToString())
        post(started.http, b"\x0a\x00" * 2_000_000)
        yield started


def field(number: int, content: bytes) -> bytes:
    length, prefix = len(content), bytearray([number << 3 | 2])
    while length > 127:
        prefix.append(length & 127 | 128)
        length >>= 7
    return bytes([*prefix, length]) + content


def in_span(content: bytes) -> bytes:
    ids = field(1, b"\x01" * 16) + field(2, b"\x02" * 8)
    return field(1, field(2, field(2, ids + content)))


def zeros(bits: int, mib: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return b"".join([*(packer.compress(bytes(2**20)) for _ in range(mib)), packer.flush()])


def deep(depth: int) -> bytes:
    content = b""
    for _ in range(depth):
        content = field(5, field(1, content))
    return in_span(field(9, field(1, b"k") + field(2, content)))


def json_span(attributes: bytes) -> bytes:
    return b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[' + attributes + b"]}]}]}]}"


GZIP, ZSTD = {**PROTOBUF, "Content-Encoding": "gzip"}, {**PROTOBUF, "Content-Encoding": "zstd"}
JSON_GZIP = {**JSON, "Content-Encoding": "gzip"}
BOMBS: dict[str, tuple[dict[str, str], Callable[[], bytes]]] = {
    "gzip": (GZIP, lambda: zeros(31, 288)),
    "deflate": ({**PROTOBUF, "Content-Encoding": "deflate"}, lambda: zeros(15, 288)),
    "zstd": (ZSTD, lambda: zstandard.compress(bytes(2**29))),
    "many gzip members": (GZIP, lambda: gzip.compress(b"") * 200_000),
    "four million empty spans in seven KiB": (GZIP, lambda: gzip.compress(field(1, field(2, b"\x12\x00" * 4_000_000)))),
    "ten million empty attributes": (GZIP, lambda: gzip.compress(in_span(b"\x4a\x00" * 10_000_000), 1)),
    "ten million empty events": (GZIP, lambda: gzip.compress(in_span(b"\x5a\x00" * 10_000_000), 1)),
    "ten million empty resources": (GZIP, lambda: gzip.compress(b"\x0a\x00" * 10_000_000, 1)),
    "eight million empty values in an array": (
        GZIP,
        lambda: gzip.compress(in_span(field(9, field(1, b"k") + field(2, field(5, b"\x0a\x00" * 8_000_000)))), 1),
    ),
    "eight million attributes of a resource": (
        GZIP,
        lambda: gzip.compress(field(1, field(1, b"\x0a\x00" * 8_000_000)), 1),
    ),
    "deep values": (PROTOBUF, lambda: deep(5_000)),
    "deep json": (JSON, lambda: b'{"resourceSpans":' + b"[" * 1_000_000),
    "ten million empty attributes in json": (
        JSON_GZIP,
        lambda: gzip.compress(json_span(b"{}," * 10_000_000 + b"{}"), 1),
    ),
    "ten million unknown numbers in json": (
        JSON_GZIP,
        lambda: gzip.compress(b'{"x":[' + b"1.5," * 10_000_000 + b"1]}"),
    ),
    "twenty million empty strings in json": (JSON_GZIP, lambda: gzip.compress(b"{" * 3_000_000 + b'"' * 40_000_000)),
    "literals of secrets": (GZIP, lambda: gzip.compress(in_span(field(5, b" AKIA" * 1_000_000)), 1)),
}


ALIKE = (  # others are made as these are
    "deflate",
    "ten million empty attributes",
    "ten million empty events",
    "eight million attributes of a resource",
    "eight million empty values in an array",
    "twenty million empty strings in json",
)


@pytest.mark.parametrize(
    "bomb", [pytest.param(bomb, marks=[pytest.mark.full] * (name in ALIKE), id=name) for name, bomb in BOMBS.items()]
)
def test_a_bomb_costs_little_and_holds_nobody_up(collector: Collector, bomb: tuple[Any, Any]) -> None:
    headers, build = bomb
    body = build()
    before = collector.rss_mib()
    peak = [before]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], collector.rss_mib())

    watcher = threading.Thread(target=watch)
    watcher.start()
    sender = threading.Thread(target=post, args=(collector.http, body, headers))
    sender.start()
    sender.join()
    began = time.monotonic()
    assert post(collector.http, traces(1).SerializeToString())[0] == 200
    took = time.monotonic() - began
    done.set()
    watcher.join()
    assert took < a_second()
    assert peak[0] - before <= GROWTH_MIB


def test_a_grpc_bomb_is_stopped_at_the_limit(collector: Collector) -> None:
    before = collector.rss_mib()
    bomb = b"\x0a" + bytes(100 * 2**20)
    code, _, _ = call(collector.grpc, bomb, compression=grpc.Compression.Gzip)
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert call(collector.grpc, traces(1).SerializeToString())[0] is grpc.StatusCode.OK
    assert collector.rss_mib() - before <= GROWTH_MIB


def test_a_megabyte_of_headers_is_refused(collector: Collector) -> None:
    before = collector.rss_mib()
    with socket.create_connection(("127.0.0.1", collector.http), timeout=10) as connection:
        try:
            connection.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 2**20 + b"\r\n\r\n")
            answer = connection.recv(4096)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
    assert not answer.startswith(b"HTTP/1.1 2")
    assert collector.rss_mib() - before <= GROWTH_MIB
    assert post(collector.http, traces(1).SerializeToString())[0] == 200


def test_slow_bodies_do_not_hold_up_others(collector: Collector) -> None:
    start = (
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 9000\r\n\r\n"
    )
    slow = [socket.create_connection(("127.0.0.1", collector.http)) for _ in range(50)]
    for connection in slow:
        connection.sendall(start + b"a")
    began = time.monotonic()
    assert post(collector.http, traces(1).SerializeToString())[0] == 200
    assert time.monotonic() - began < a_second()
    for connection in slow:
        connection.settimeout(10)
        assert b" 408 " in connection.recv(100)
        connection.close()


def test_a_large_honest_request_is_taken(collector: Collector) -> None:
    request: ExportTraceServiceRequest = traces(8_000, text="a" * 4_000)
    before = collector.metrics()['otelcov_collector_accepted_items_total{signal="traces"}']
    assert post(collector.http, request.SerializeToString())[0] == 200
    assert collector.metrics()['otelcov_collector_accepted_items_total{signal="traces"}'] == before + 8_000


def test_a_large_request_asks_for_no_more_memory_than_it_needs() -> None:
    """The system may refuse what is asked for though it would never be used, and that ends the process."""
    program = f"""
import resource
from collector import weigh
resource.setrlimit(resource.RLIMIT_AS, ({4 * 2**30}, {4 * 2**30}))
weigh.weigh("traces", bytes.fromhex("{traces(1).SerializeToString().hex()}"), 9, 9)
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.full
def test_large_honest_json_is_taken_however_much_json_its_texts_hold(collector: Collector) -> None:
    text = "\\" * 3 + json.dumps([{"a": [1, 2]}] * 20)
    spans = [
        {"traceId": os.urandom(16).hex(), "spanId": os.urandom(8).hex(), "attributes": [attribute] * 100}
        for attribute in [{"key": "k", "value": {"stringValue": text}}] * 1_500
    ]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    body = json.dumps(document).encode()
    assert body.count(b"{") > 2**21
    status, answer, _ = post(collector.http, gzip.compress(body, 1), JSON_GZIP)
    assert (status, answer) == (200, b"{}")


def test_a_large_honest_request_of_logs_is_taken(collector: Collector) -> None:
    request = logs(3_000)
    for record in request.resource_logs[0].scope_logs[0].log_records:
        pairs = record.body.kvlist_value.values
        for key in ("role", "content", "name"):
            pairs.add(key=key).value.string_value = key * 60
        record.attributes.add(key="event.name").value.array_value.values.add().string_value = "x"
    body = request.SerializeToString()
    assert len(body) > 2 * 2**20
    assert post(collector.http, body, path="/v1/logs")[1:2] == (b"",)
