"""A real collector for the tests: in this process's own loop thread, or a process that can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from collector import service
from collector.config import CollectorConfig
from collector.segment import Row
from collector.waiting import pending

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("OTELCOV_SHARED", ROOT.parent / "shared"))
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

# The program of a collector without a store, as its own process: what it acknowledges stays in the inbox.
PROGRAM = """
import json, sys
from pathlib import Path
from collector import service
from collector.config import CollectorConfig
said = json.loads(sys.argv[1])
config = CollectorConfig(**{k: Path(v) if k == "inbox" else v for k, v in said.items()})
service.run(config, lambda ready: print(json.dumps(ready), file=sys.stderr, flush=True))
"""


@dataclass(frozen=True)
class Collector:
    grpc: int
    http: int
    inbox: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}"

    def rows(self) -> list[Row]:
        return pending(self.inbox)

    def metrics(self) -> dict[str, float]:
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=20) as answer:
            lines = answer.read().decode().splitlines()
        return {k: float(v) for k, v in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def rss_mib(self) -> int:
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    def peak_mib(self) -> int:
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))


@contextlib.contextmanager
def running(folder: Path, **settings: Any) -> Iterator[Collector]:
    """In this process, on free ports."""
    config = CollectorConfig(store=str(folder), inbox=folder / "inbox", grpc_port=0, http_port=0, **settings)
    ready, ports, failed = threading.Event(), {}, []
    stop: list[Any] = []

    async def main() -> None:
        stopper = asyncio.Event()
        stop.extend([asyncio.get_running_loop(), stopper])

        def on_ready(said: service.Ready) -> None:
            ports.update(said)
            ready.set()

        await service.serve(config, on_ready, stop=stopper)

    def target() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=target)
    thread.start()
    assert ready.wait(30)
    try:
        if failed:
            raise failed[0]
        yield Collector(ports["grpc"], ports["http"], config.inbox)
    finally:
        if not failed:
            stop[0].call_soon_threadsafe(stop[1].set)
        thread.join(30)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


def launch(folder: Path, prefix: tuple[str, ...] = (), env: dict[str, str] | None = None, **settings: Any) -> Collector:
    """As a process of its own, on free ports."""
    said = {"store": str(folder), "inbox": str(folder / "inbox"), "grpc_port": 0, "http_port": 0, **settings}
    process = subprocess.Popen(
        [*prefix, sys.executable, "-c", PROGRAM, json.dumps(said)],
        cwd=ROOT,
        env={**os.environ, "GRPC_VERBOSITY": "ERROR", **(env or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith(b"{"):
            ports = json.loads(line)
            threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
            return Collector(ports["grpc"], ports["http"], folder / "inbox", process)
    raise AssertionError(b"".join(lines).decode())


def _drain(pipe: Any) -> None:
    with contextlib.suppress(ValueError):
        pipe.read()


@contextlib.contextmanager
def launched(folder: Path, **settings: Any) -> Iterator[Collector]:
    collector = launch(folder, **settings)
    try:
        yield collector
    finally:
        end(collector)


def end(collector: Collector, kill: bool = False) -> int:
    process = collector.process
    assert process is not None and process.stderr is not None
    if kill:
        process.kill()
    else:
        process.terminate()
    code = process.wait(30)
    process.stderr.close()
    return code


def shared(*parts: str) -> Path:
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} of the shared folder is not here")
    return path
