"""The 74 wire-level cases, over HTTP and where gRPC can express them over gRPC: equal verdicts, and what is stored."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import grpc
import pytest

from collector import wire
from tests.collector.requests import call, traces
from tests.collector.running import Collector, launched, shared

CODES = {200: {grpc.StatusCode.OK}, 400: {grpc.StatusCode.INVALID_ARGUMENT}, 413: {grpc.StatusCode.RESOURCE_EXHAUSTED}}


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with launched(tmp_path_factory.mktemp("cases")) as running:
        yield running


def cases() -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(shared("otlp_cases", "cases.json").read_text())
    except pytest.skip.Exception:
        return []
    return found


def body(case: dict[str, Any], folder: Path) -> bytes:
    if "body_b64" in case:
        return base64.b64decode(case["body_b64"])
    if "body_file" in case:
        return (folder / case["body_file"]).read_bytes()
    recipe = case["recipe"]
    if recipe["kind"] == "gzip-zeros":
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        return b"".join([*(packer.compress(bytes(2**20)) for _ in range(recipe["bytes"] // 2**20)), packer.flush()])
    if recipe["kind"] == "padded-request":
        return traces(1, pad="x" * recipe["bytes"]).SerializeToString()
    deep = '{"key":"k","value":{"kvlistValue":{"values":[' * recipe["depth"] + "]}}}" * recipe["depth"]
    return ('{"resourceSpans":[{"resource":{"attributes":[' + deep + "]}}]}").encode()


def stored(collector: Collector, since: int) -> int:
    """Distinct spans in the inbox from that row on."""
    rows = [row.body for row in collector.rows()[since:] if row.signal == "traces"]
    table = wire.decode_traces(rows)
    return len({(t.as_py(), s.as_py()) for t, s in zip(table["trace_id"], table["span_id"], strict=True)})


def send(collector: Collector, case: dict[str, Any], data: bytes) -> int:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", collector.http, timeout=60)
    try:
        try:
            connection.request(case["method"], case["path"], body=data, headers=case["headers"])
        except (BrokenPipeError, ConnectionResetError):
            connection._HTTPConnection__state = "Request-sent"  # type: ignore[attr-defined]
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


@pytest.mark.skipif(not cases(), reason="otlp_cases of the shared folder is not here")
@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_each_case_is_answered_and_stored_as_expected_over_both_transports(
    collector: Collector, case: dict[str, Any]
) -> None:
    folder = shared("otlp_cases")
    expected = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    data = body(case, folder)
    follow = [base64.b64decode(b["body_b64"] if isinstance(b, dict) else b) for b in case.get("then") or []]

    before = len(collector.rows())
    status = send(collector, case, data)
    for more in follow:
        assert send(collector, case, more) == 200
    assert status in expected
    if case.get("stored") is not None:
        assert stored(collector, before) == case["stored"]

    speaks_grpc = case["method"] == "POST" and case["path"] == "/v1/traces"
    if speaks_grpc and case["headers"] == {"Content-Type": "application/x-protobuf"}:
        before = len(collector.rows())
        code, _, _ = call(collector.grpc, data)
        for more in follow:
            call(collector.grpc, more)
        assert code in CODES[status]
        if case.get("stored") is not None:
            assert stored(collector, before) == case["stored"]
