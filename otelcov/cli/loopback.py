"""A collector of our own and exporters that reach it: what `demo` and `doctor` try things on."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from otelcov.ground.errors import StoreError

OTELCOV = (sys.executable, "-m", "otelcov")


def environment() -> dict[str, str]:
    """Without the variables that would lead into someone's real store."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OTELCOV_")}


@contextlib.contextmanager
def collector(store: Path) -> Iterator[dict[str, int]]:
    """A collector on free ports; on leaving it is asked to stop, and has stopped."""
    (store.parent / "collector.toml").touch()  # its own, empty: not what lies in this folder
    options = ["--store", str(store), "--host", "127.0.0.1", "--grpc-port", "0", "--http-port", "0"]
    options += ["--config", str(store.parent / "collector.toml")]
    process = subprocess.Popen(
        [*OTELCOV, "collect", *options], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment()
    )
    assert process.stderr is not None
    try:
        first = process.stderr.readline()
        try:
            said = json.loads(first)
        except ValueError:
            process.terminate()
            rest = process.communicate()[1]
            raise StoreError(f"The collector did not start: {(first + rest).decode().strip()}") from None
        yield {name: int(str(said[name]).rpartition(":")[2]) for name in ("grpc", "http")}
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=10)
        process.kill()
        process.wait()


def grpc_exporter(port: int) -> SpanExporter:
    direct: Any = (("grpc.enable_http_proxy", 0),)  # typed as text, and ignored as text
    return GrpcExporter(f"http://127.0.0.1:{port}", insecure=True, channel_options=direct)


def http_exporter(port: int) -> SpanExporter:
    session = requests.Session()
    session.trust_env = False  # no proxy between two ends of one machine
    return HttpExporter(f"http://127.0.0.1:{port}/v1/traces", session=session)


def provider(exporter: SpanExporter, resource: Mapping[str, str]) -> TracerProvider:
    """A provider as an application would set it up; `shutdown` sends what is left."""
    made = TracerProvider(resource=Resource(resource))  # not create(): this one is no place for OTEL_ variables
    made.add_span_processor(BatchSpanProcessor(exporter))
    return made


def send_sample(exporter: SpanExporter) -> None:
    """One span, named after the way it takes."""
    made = provider(exporter, {"service.name": "otelcov-doctor"})
    made.get_tracer("otelcov.doctor").start_span("grpc" if isinstance(exporter, GrpcExporter) else "http").end()
    made.shutdown()
