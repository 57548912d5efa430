"""`otelcov demo`: everything once, on this machine: a collector, agents that send it their spans, a report."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from otelcov.ground.errors import StoreError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

    from otelcov.cli.scripted import Task


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            envvar="OTELCOV_KEEP",
            metavar="DIR",
            help="Leave the store and otelcov.toml of the demo here, for more commands to try.",
        ),
    ] = None,
) -> int:
    """Show the whole loop: a collector, scripted agents, a report.

    Starts a collector on free ports with a temporary store. Two scripted agents, instrumented with the OpenTelemetry
    SDK, send it their spans: a small test suite over gRPC, then production traffic over HTTP. Prints the report.
    Needs no network and no key.
    """
    with tempfile.TemporaryDirectory(prefix="otelcov-demo-") as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        from otelcov.cli import scripted

        config = folder / "otelcov.toml"
        config.write_text(scripted.CONFIG, encoding="utf-8")
        store = folder / ".otelcov"
        with collector(store, config) as ports:
            _tell(f"Collector: gRPC {ports['grpc']}, HTTP {ports['http']}, store {store}")
            _send(_grpc(ports["grpc"]), "test", scripted.TESTS)
            _send(_http(ports["http"]), "production", scripted.PRODUCTION)
            _tell("Report: what production did beside what the tests tried, in the last hour\n")
            options = ["--store", str(store), "--config", str(config), "--since", "1h"]
            code = subprocess.run([*_OTELCOV, "report", *options], env=_environment(), check=False).returncode
    if keep:
        _tell(f"\nGo on with: cd {keep} && otelcov runs; otelcov report --side test")
    return code


_OTELCOV = [sys.executable, "-m", "otelcov"]


@contextlib.contextmanager
def collector(store: Path, config: Path | None = None) -> Iterator[dict[str, int]]:
    """A collector of our own on free loopback ports; on leaving it is asked to stop."""
    options = ["--store", str(store), "--host", "127.0.0.1", "--grpc-port", "0", "--http-port", "0"]
    options += ["--config", str(config)] if config else []
    process = subprocess.Popen(
        [*_OTELCOV, "collect", *options], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=_environment()
    )
    assert process.stderr is not None
    try:
        first = process.stderr.readline()
        try:
            said = json.loads(first)
        except ValueError:
            rest = process.stderr.read() if process.poll() is not None else b""
            raise StoreError(f"The collector did not start: {(first + rest).decode().strip()}") from None
        yield {name: int(str(said[name]).rpartition(":")[2]) for name in ("grpc", "http")}
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=10)
        process.kill()
        process.wait()


def _environment() -> dict[str, str]:
    """Without the variables that would send the demo into someone's real store."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OTELCOV_")}


def _send(exporter: SpanExporter, environment: str, tasks: tuple[Task, ...]) -> None:
    from otelcov.cli import scripted

    began = time.monotonic()
    provider = _provider(exporter, environment)
    tracer = provider.get_tracer("otelcov.demo")
    for number, task in enumerate(tasks):
        scripted.run(tracer, task, f"{environment}-{number}")
    provider.shutdown()
    _tell(f"Agents in {environment}: {len(tasks)} requests answered in {time.monotonic() - began:.1f} s")


def _provider(exporter: SpanExporter, environment: str) -> TracerProvider:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = {"service.name": "trip-agent", "service.version": "1.4.0", "deployment.environment.name": environment}
    provider = TracerProvider(resource=Resource.create(resource))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _grpc(port: int) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(
        f"http://127.0.0.1:{port}", insecure=True, channel_options=(("grpc.enable_http_proxy", "0"),)
    )


def _http(port: int) -> SpanExporter:
    import requests
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    session = requests.Session()
    session.trust_env = False  # no proxy between two ends of one machine
    return OTLPSpanExporter(f"http://127.0.0.1:{port}/v1/traces", session=session)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
