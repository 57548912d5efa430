"""The exporters that people use, unchanged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as OverGrpc
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as OverHttp
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from collector import wire
from tests.collector.running import Collector, running


def names(collector: Collector) -> set[str]:
    return set(wire.decode_traces([row.body for row in collector.rows()])["name"].to_pylist())


def send(exporter: Any, count: int = 40) -> set[str]:
    provider = TracerProvider(resource=Resource.create({"service.name": "sdk"}))
    provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=16))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("root"):
        for number in range(count):
            with tracer.start_as_current_span(f"span {number}", attributes={"list": ["a", "b"], "n": number}):
                pass
    provider.shutdown()
    return {"root", *(f"span {number}" for number in range(count))}


def test_the_python_sdk_over_grpc(tmp_path: Path) -> None:
    with running(tmp_path) as collector:
        assert names(collector) | send(OverGrpc(endpoint=f"127.0.0.1:{collector.grpc}", insecure=True)) == names(
            collector
        )


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip, Compression.Deflate])
def test_the_python_sdk_over_http(tmp_path: Path, compression: Compression) -> None:
    with running(tmp_path) as collector:
        sent = send(OverHttp(endpoint=f"{collector.url}/v1/traces", compression=compression))
        assert names(collector) == sent


NODE = """
const { BasicTracerProvider, BatchSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const [grpc, http] = process.argv.slice(2);
const kinds = {
  "exporter-trace-otlp-proto": `http://127.0.0.1:${http}/v1/traces`,
  "exporter-trace-otlp-http": `http://127.0.0.1:${http}/v1/traces`,
  "exporter-trace-otlp-grpc": `http://127.0.0.1:${grpc}`,
};
(async () => {
  for (const [kind, url] of Object.entries(kinds)) {
    const { OTLPTraceExporter } = require(`@opentelemetry/${kind}`);
    const processor = new BatchSpanProcessor(new OTLPTraceExporter({ url }));
    const provider = new BasicTracerProvider({ spanProcessors: [processor] });
    const tracer = provider.getTracer("node");
    for (let n = 0; n < 20; n++) tracer.startSpan(`${kind} ${n}`, { attributes: { list: ["a"], n } }).end();
    await provider.shutdown();
  }
})();
"""


def test_the_npm_exporters(tmp_path: Path) -> None:
    """Protobuf and JSON over HTTP, and gRPC."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node or npm is not here")
    kinds = ["exporter-trace-otlp-proto", "exporter-trace-otlp-http", "exporter-trace-otlp-grpc"]
    project = Path(os.environ.get("OTELCOV_TEST_NODE", tmp_path / "node"))
    if not (project / "node_modules").exists():
        project.mkdir(exist_ok=True)
        packages = [f"@opentelemetry/{kind}" for kind in [*kinds, "sdk-trace-base"]]
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", *packages]
        try:
            subprocess.run(command, cwd=project, capture_output=True, timeout=120, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"the npm packages cannot be had: {error}")
    (project / "send.js").write_text(NODE)
    with running(tmp_path / "store") as collector:
        sent = subprocess.run(
            ["node", "send.js", str(collector.grpc), str(collector.http)],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert sent.returncode == 0, sent.stderr
        assert names(collector) == {f"{kind} {n}" for kind in kinds for n in range(20)}, json.dumps(sent.stderr)
