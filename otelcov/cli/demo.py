"""`otelcov demo`: everything once, on this machine: a collector, agents that send it their spans, a report."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer


def demo(
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            envvar="OTELCOV_INTO",
            metavar="DIR",
            help="Leave the store and otelcov.toml of the demo in this folder, for more commands to try.",
        ),
    ] = None,
) -> int:
    """Show the whole loop: a collector, scripted agents, a report.

    Starts a collector on free ports with a temporary store. Two scripted agents, instrumented with the OpenTelemetry
    SDK, send it their spans: a small test suite over gRPC, then production traffic over HTTP. Prints the report.
    Needs no network and no key.
    """
    from otelcov.cli import loopback, scripted
    from otelcov.ground.errors import UsageError

    with tempfile.TemporaryDirectory(prefix="otelcov-demo-") as temporary:
        folder = into or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        store, config = folder / ".otelcov", folder / "otelcov.toml"
        if config.exists() and config.read_text(encoding="utf-8") != scripted.CONFIG:
            raise UsageError(f"{config} is not the demo's. Name another folder with --into.")
        config.write_text(scripted.CONFIG, encoding="utf-8")
        with loopback.collector(store) as ports:
            _tell(f"Collector: gRPC {ports['grpc']}, HTTP {ports['http']}, store {store}")
            sides = (
                ("test", loopback.grpc_exporter(ports["grpc"]), scripted.TESTS),
                ("production", loopback.http_exporter(ports["http"]), scripted.PRODUCTION),
            )
            for environment, exporter, tasks in sides:
                began = time.monotonic()
                resource = {"service.name": "trip-agent", "service.version": "1.4.0"}
                provider = loopback.provider(exporter, {**resource, "deployment.environment.name": environment})
                for number, task in enumerate(tasks):
                    scripted.run(provider.get_tracer("otelcov.demo"), task, f"{environment}-{number}")
                provider.shutdown()
                _tell(f"Agents in {environment}: {len(tasks)} requests in {time.monotonic() - began:.1f} s")
            command = ["report", "--store", str(store), "--config", str(config), "--since", "1h"]
            _tell(f"otelcov {' '.join(command)}\n")
            code = subprocess.run([*loopback.OTELCOV, *command], env=loopback.environment(), check=False).returncode
    if into:
        _tell(f"\nGo on with: cd {into} && otelcov report --side test; otelcov runs")
    return code


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
