"""One load for minutes beside which reports are asked: does anything grow, and how long does a report take?

    python -m tests.bench.steady --minutes 10 --rate 20000 [--every 10]      prints JSON

A real `otelcov collect` receives generated agent traffic over HTTP at that rate, with the times of now, and does what
it always does beside: commits, counts what has settled, rewrites. Meanwhile every few seconds a cold
`otelcov report --format json` over the last hour is timed. Memory is that of the collector and all its children
(proportional: shared pages once); backlog is what was acknowledged and is not in the tables; files are those that the
table of spans lists. Load, collector, store and reports share the machine. What it starts it also ends.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.generate import Traffic, requests
from tests.bench.ingest import Running, _metrics, otelcov
from tests.bench.reconstruct import _family, _memory

_STRETCH_S = 30  # of traffic that is generated at once


def live(rate: int, spans: int, until: float) -> Iterator[bytes]:
    """Requests as they come due, `rate` spans a second; all of their spans have ended when they are sent."""
    began, sent, seed = time.monotonic(), 0, 0
    while True:
        seed += 1
        length = _STRETCH_S * 10**9
        traffic = Traffic(
            rate * _STRETCH_S, request_spans=spans, seed=seed, since_ns=time.time_ns() - 45 * 10**9, length_ns=length
        )
        for request in requests(traffic):
            due = began + sent / rate
            if due > until:
                return
            time.sleep(max(0.0, due - time.monotonic()))
            yield request.body
            sent += request.spans


def send(port: int, rate: int, spans: int, seconds: float, said: Any) -> None:
    """Send for so many seconds; says how many requests were acknowledged and refused, and the worst delay."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    good = bad = 0
    slowest = 0.0
    for body in live(rate, spans, time.monotonic() + seconds):
        began = time.monotonic()
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        answer.read()
        good, bad = good + (answer.status == 200), bad + (answer.status != 200)
        slowest = max(slowest, time.monotonic() - began)
    said.put({"acknowledged_requests": good, "refused_requests": bad, "slowest_answer_s": round(slowest, 2)})


def report(store: Path, timeout: float) -> tuple[float, dict[str, Any] | None]:
    """Seconds of a cold process, and what it printed; None if it took longer than that."""
    command = [sys.executable, "-m", "otelcov", "report", "--store", str(store), "--format", "json", "--since", "1h"]
    began = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=timeout)
    except subprocess.TimeoutExpired:
        return timeout, None
    return time.monotonic() - began, json.loads(done.stdout) if done.stdout else None


def sample(server: Running, store: Path, began: float) -> dict[str, Any]:
    from otelcov.store import pieces

    seen = _metrics(server)
    look = pieces.look(store)
    family = [pid for pid in _family(server.pid) if pid != server.pid]
    of = {_role(pid): pid for pid in family}
    return {
        "seconds": round(time.monotonic() - began),
        "spans": round(seen.get('otelcov_collector_accepted_items_total{signal="traces"}', 0)),
        "backlog_mib": round(seen.get("otelcov_collector_inbox_backlog_bytes", 0) / 2**20, 1),
        "collector_mb": round(_memory(server.pid)),
        "beside_mb": {role: round(_memory(pid)) for role, pid in sorted(of.items())},
        "cpu_s": {role: _cpu(pid) for role, pid in sorted({"collector": server.pid, **of}.items())},
        "files": look.spans.height,
        "table_mb": round(int(look.spans["bytes"].sum()) / 1e6),
        "uncounted": _uncounted(str(store)),
    }


def _role(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return next((w.decode() for w in words if w in (b"count", b"tidy")), "commit")
    return "ended"


def _cpu(pid: int) -> float:
    """Seconds of processor time of this process so far."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return round((int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK"), 1)


def _uncounted(store: str) -> int:
    from otelcov.ground.config import Config
    from otelcov.sums.build import uncounted

    return uncounted(store, Config())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=20_000, help="spans a second")
    parser.add_argument("--spans", type=int, default=512, help="spans a request")
    parser.add_argument("--every", type=float, default=10, help="seconds between reports")
    parser.add_argument("--longest", type=float, default=120, help="seconds after which a report is given up")
    asked = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    said = spawn.Queue()
    with tempfile.TemporaryDirectory(prefix="otelcov-bench-") as name:
        store = Path(name) / "store"
        with otelcov(store) as server:
            seconds = 60 * asked.minutes
            began = time.monotonic()
            sender = spawn.Process(target=send, args=(server.http, asked.rate, asked.spans, seconds, said))
            sender.start()
            reports, samples, given_up = [], [], 0
            try:
                while sender.is_alive() and time.monotonic() - began < 2 * seconds:
                    next_at = time.monotonic() + asked.every
                    samples.append(sample(server, store, began))
                    print(json.dumps(samples[-1]), file=sys.stderr, flush=True)
                    took, told = report(store, asked.longest)
                    given_up += told is None
                    reports.append(round(took, 2))
                    print(f"report: {took:.2f} s", file=sys.stderr, flush=True)
                    sender.join(max(0.0, next_at - time.monotonic()))
                outcome = said.get(timeout=10)
            finally:
                sender.kill()
            drained = time.monotonic()
            while _metrics(server).get("otelcov_collector_inbox_backlog_bytes", 0) and time.monotonic() < drained + 60:
                time.sleep(0.2)
            print(
                json.dumps(
                    {
                        "rate": asked.rate,
                        "minutes": asked.minutes,
                        **outcome,
                        "spans_per_second": round(samples[-1]["spans"] / max(1, samples[-1]["seconds"])),
                        "report_median_s": statistics.median(reports),
                        "report_worst_s": max(reports),
                        "reports_given_up": given_up,
                        "reports_s": reports,
                        "drained_after_s": round(time.monotonic() - drained, 1),
                        "load_average": [round(each, 1) for each in os.getloadavg()],
                        "samples": samples,
                    }
                )
            )


if __name__ == "__main__":
    main()
