"""Acknowledged spans per second, against a collector that keeps nothing.

    python -m tests.bench.ingest --rotel PATH [--seconds 5] [--rounds 3]
    python -m tests.bench.ingest --sustained 60

The first form drives `otelcov collect` (every answer after an fsync, commits to Delta going on) and rotel's blackhole
(PyPI: `rotel`, a pre-release) in turn, one running at a time, over HTTP (wrk) and gRPC (h2load), with requests of 512
and of 20 spans and the same senders for both, and prints JSON with the ratios and the load average. What counts for
otelcov is its own count of spans acknowledged, and
for rotel the answers with status 200 times the spans of a request. The second form holds one load for a while and
prints the rate, the backlog of the inbox and the memory over time.

Needs wrk and h2load (Debian: wrk, nghttp2-client). Load, collector and store share the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.generate import Traffic, requests

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SIZES = (512, 20)
CONNECTIONS = {512: 8, 20: 64}  # an answer after an fsync takes its time: enough senders that it is not the limit


@dataclass(frozen=True)
class Running:
    grpc: int
    http: int
    pid: int


@dataclass(frozen=True)
class Load:
    """One request as files that the load generators read."""

    folder: Path
    spans: int
    size: int


def prepare(folder: Path, spans: int) -> Load:
    body = next(r.body for r in requests(_traffic(spans)) if r.spans == spans)
    folder.mkdir()
    (folder / "body").write_bytes(body)
    (folder / "frame").write_bytes(b"\0" + len(body).to_bytes(4, "big") + body)
    (folder / "post.lua").write_text(
        'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/x-protobuf"\n'
        f'local file = io.open("{folder / "body"}", "rb")\nwrk.body = file:read("*a")\nfile:close()\n'
    )
    return Load(folder, spans, len(body))


def _traffic(spans: int) -> Traffic:
    return Traffic(
        spans=spans * 400, request_spans=spans, text=30, since_ns=time.time_ns() - 3600 * 10**9, length_ns=10**9
    )


@contextlib.contextmanager
def otelcov(folder: Path) -> Iterator[Running]:
    command = [str(Path(sys.executable).parent / "otelcov"), "collect", "--store", str(folder), "--grpc-port", "0"]
    process = subprocess.Popen([*command, "--http-port", "0"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        assert process.stderr is not None
        ports = json.loads(process.stderr.readline())
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Running(ports["grpc"], ports["http"], process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def rotel(binary: str) -> Iterator[Running]:
    grpc, http = _free_port(), _free_port()
    ends = ["--otlp-grpc-endpoint", f"127.0.0.1:{grpc}", "--otlp-http-endpoint", f"127.0.0.1:{http}"]
    limits = ["--otlp-grpc-max-recv-msg-size-mib", "64"]
    process = subprocess.Popen(
        [binary, "start", "--exporter", "blackhole", *ends, *limits],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for port in (grpc, http):
            _until_open(port)
        yield Running(grpc, http, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def over_http(load: Load, port: int, seconds: float) -> float:
    """Requests answered with 200 per second."""
    connections = str(CONNECTIONS.get(load.spans, 16))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{math.ceil(seconds)}s", "-s", str(load.folder / "post.lua")]
    out = subprocess.run(
        [*command, "--timeout", "10s", f"http://127.0.0.1:{port}/v1/traces"], capture_output=True, text=True, check=True
    ).stdout
    done, took = re.search(r"(\d+) requests in ([\d.]+)s", out), 0.0
    assert done, out
    took = float(done[2])
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    return (int(done[1]) - (int(bad[1]) if bad else 0)) / took


def over_grpc(load: Load, port: int, seconds: float) -> float:
    connections = CONNECTIONS.get(load.spans, 16)
    command = ["h2load", "-t1", "-c", str(connections // 4), "-m", "4", "-D", str(math.ceil(seconds))]
    frame = ["-d", str(load.folder / "frame"), "-H", "content-type: application/grpc", "-H", "te: trailers"]
    out = subprocess.run(
        [*command, *frame, f"http://127.0.0.1:{port}{EXPORT}"], capture_output=True, text=True, check=True
    ).stdout
    done = re.search(r"status codes: (\d+) 2xx", out)
    assert done, out
    return int(done[1]) / math.ceil(seconds)


TRANSPORTS = {"http": over_http, "grpc": over_grpc}


def compare(binary: str, seconds: float, rounds: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="otelcov-bench-") as name:
        folder = Path(name)
        loads = [prepare(folder / str(spans), spans) for spans in SIZES]
        cases = [(transport, load) for transport in TRANSPORTS for load in loads]
        rates: dict[tuple[str, int], dict[str, list[float]]] = {
            (transport, load.spans): {"otelcov": [], "rotel": []} for transport, load in cases
        }
        for _ in range(rounds):
            for transport, load in cases:
                run, kept = TRANSPORTS[transport], rates[transport, load.spans]
                with otelcov(folder / "store") as server:
                    port = server.http if transport == "http" else server.grpc
                    run(load, port, 1)  # warm
                    before, began = _accepted(server), time.monotonic()
                    answered = run(load, port, seconds) * load.spans
                    acknowledged = (_accepted(server) - before) / (time.monotonic() - began)
                    kept["otelcov"].append(min(answered, acknowledged))
                with rotel(binary) as server:
                    port = server.http if transport == "http" else server.grpc
                    run(load, port, 1)
                    kept["rotel"].append(run(load, port, seconds) * load.spans)
    table = []
    for (transport, spans), kept in rates.items():
        own, other = (statistics.median(kept[name]) for name in ("otelcov", "rotel"))
        size = next(load.size for load in loads if load.spans == spans)
        row = {"transport": transport, "spans": spans, "bytes": size, "otelcov": round(own), "rotel": round(other)}
        table.append({**row, "ratio": round(own / other, 3)})
    ratios = [float(row["ratio"]) for row in table]  # type: ignore[arg-type]
    return {
        "cores": os.cpu_count(),
        "load_average": [round(each, 1) for each in os.getloadavg()],
        "seconds": seconds,
        "rounds": rounds,
        "spans_per_second": table,
        "geometric_mean": round(math.prod(ratios) ** (1 / len(ratios)), 3),
        "least": min(ratios),
    }


def sustain(seconds: float, spans: int, transport: str, every: float = 2.0) -> dict[str, object]:
    """One load, as fast as it is answered, with commits to Delta going on beside it."""
    with tempfile.TemporaryDirectory(prefix="otelcov-bench-") as name:
        load = prepare(Path(name) / "load", spans)
        with otelcov(Path(name) / "store") as server:
            port = server.http if transport == "http" else server.grpc
            driver = threading.Thread(target=TRANSPORTS[transport], args=(load, port, seconds))
            before, began = _accepted(server), time.monotonic()
            driver.start()
            samples = []
            while driver.is_alive():
                driver.join(every)
                seen = _metrics(server)
                samples.append(
                    {
                        "seconds": round(time.monotonic() - began, 1),
                        "spans": round(_accepted(server, seen) - before),
                        "backlog_mib": round(seen.get("otelcov_collector_inbox_backlog_bytes", 0) / 2**20, 1),
                        "lag_seconds": round(seen.get("otelcov_collector_lag_seconds", 0), 1),
                        "rss_mib": _rss(server.pid),
                        "worker_rss_mib": sum(_rss(pid) for pid in _children(server.pid)),
                    }
                )
            took = time.monotonic() - began
            total = _accepted(server) - before
            committed = _metrics(server).get("otelcov_collector_committed_items_total", 0.0)
        return {
            "transport": transport,
            "spans_a_request": spans,
            "seconds": round(took, 1),
            "load_average": [round(each, 1) for each in os.getloadavg()],
            "acknowledged_spans_per_second": round(total / took),
            "committed_share": round(committed / total, 3),
            "samples": samples,
        }


def _metrics(server: Running) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}


def _accepted(server: Running, seen: dict[str, float] | None = None) -> float:
    return (seen or _metrics(server)).get('otelcov_collector_accepted_items_total{signal="traces"}', 0.0)


def _rss(pid: int) -> int:
    try:
        resident = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except FileNotFoundError:
        return 0  # it has just ended
    return int(resident[1]) // 1024 if resident else 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _until_open(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    sys.exit(f"nothing listens on port {port}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="ingest")
    parser.add_argument("--rotel", help="the rotel binary (in the PyPI package rotel: rotel/rotel-agent)")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sustained", type=float, metavar="SECONDS")
    parser.add_argument("--spans", type=int, default=512)
    parser.add_argument("--transport", choices=sorted(TRANSPORTS), default="grpc")
    options = parser.parse_args()
    missing = [tool for tool in ("wrk", "h2load") if shutil.which(tool) is None]
    if missing:
        sys.exit(f"ingest needs {' and '.join(missing)} (Debian: wrk, nghttp2-client)")
    if options.sustained:
        result = sustain(options.sustained, options.spans, options.transport)
    elif options.rotel:
        result = compare(options.rotel, options.seconds, options.rounds)
    else:
        parser.error("say --rotel PATH or --sustained SECONDS")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
