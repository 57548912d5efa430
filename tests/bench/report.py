"""How long a report takes from a cold process, once sums are kept and before; and what DuckDB takes for the counts.

    python -m tests.bench.report --spans 1e6 --unique 0.05 --days 1 [--tail 35000] [--history 30] [--store DIR]

prints JSON.

The report is asked over the first 24 hours. With --tail, so many spans wait in the inbox: the newest traffic of that
day, which no sum knows yet and whose last runs are under way: asked of each time as if for the first time, and once
more after that, when nothing has come. With --history, a copy of the store gets so many days of like traffic in all;
the same question is then asked of both by turns, and at last one for all of those days. DuckDB (`pip install duckdb`,
else left out) counts runs per tool, edge, path and model over the Parquet files of the same table, from columns alone:
the span's name stands for tool and model, so that no attribute list is opened, which is the fastest that the table
allows. Ratios are of one run, side by side. Beside the seconds stand those of processor time, which tell more where
others use the machine too. A cold process is one of an installation that has run before: its modules are compiled.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from collector.inbox import Inbox
from otelcov.sums.glance import NOTE
from tests.bench.generate import HOUR, Traffic, requests
from tests.bench.reconstruct import watched, write_store

DAY = ["--since", "2026-01-01T00:00:00Z", "--until", "2026-01-02T00:00:00Z"]
# Each run is a trace here. An edge is a tool span with the agent above it; a path its tools in order.
QUERIES = (
    "select name, count(distinct trace_id) from steps where name like 'execute_tool %' group by 1",
    "select p.name, t.name, count(distinct t.trace_id) from steps t join steps p on t.parent_span_id = p.span_id "
    "and t.trace_id = p.trace_id where t.name like 'execute_tool %' group by 1, 2",
    "select path, count(*) from (select trace_id, string_agg(name, ' > ' order by began) as path from steps "
    "where name like 'execute_tool %' group by 1) group by 1",
    "select name, count(distinct trace_id) from steps where name like 'chat %' group by 1",
)
STEPS = "create temp table steps as select trace_id, span_id, parent_span_id, name, start_time_unix_nano as began from "
PROGRAM = """
import json, sys, duckdb
steps, queries, files = json.load(sys.stdin)
db = duckdb.connect()
db.execute("set enable_progress_bar = false")
db.execute(steps + "read_parquet([" + ",".join("'" + f + "'" for f in files) + "])")
print(*(len(db.execute(query).fetchall()) for query in queries))
"""


def report(store: str, *more: str) -> tuple[float, float, bytes]:
    """Seconds of a cold process, those of processor time, and what it printed."""
    command = [sys.executable, "-m", "otelcov", "report", "--store", store, "--format", "json", *DAY, *more]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began, used = time.perf_counter(), _used()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environ)
    return time.perf_counter() - began, _used() - used, done.stdout


def _used() -> float:
    """Seconds of processor time of all processes that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def wait_in_inbox(store: str, spans: int, unique: float) -> Inbox:
    """Spans at the rate of ten million a day up to the end of the first; whoever reports reads them in the inbox."""
    from collector.segment import Row

    length = spans * 24 * HOUR // 10_000_000
    traffic = Traffic(spans, seed=7, unique=unique, length_ns=length)
    traffic = replace(traffic, since_ns=traffic.since_ns + 24 * HOUR - length)
    box = Inbox.create(Path(store) / "inbox")
    box.append([Row("traces", traffic.since_ns, request.spans, 0, request.body) for request in requests(traffic)])
    return box


def more_days(store: str, traffic: Traffic, days: int) -> None:
    """The same traffic on each of the days after the first."""
    for day in range(1, days):
        at = traffic.since_ns + day * 24 * HOUR
        write_store(store, replace(traffic, since_ns=at, seed=traffic.seed + day))


def duckdb(store: str) -> tuple[float, float] | None:
    if importlib.util.find_spec("duckdb") is None:
        return None
    from otelcov.store import pieces

    look = pieces.look(store)
    files = [f"{look.tables.spans.url}/{path}" for path in look.spans["path"]]
    began, used = time.perf_counter(), _used()
    told = json.dumps([STEPS, QUERIES, files]).encode()
    subprocess.run([sys.executable, "-c", PROGRAM], input=told, check=True, stdout=sys.stderr)
    return time.perf_counter() - began, _used() - used


def _middle(found: list[tuple[float, float]], which: int) -> float:
    return round(statistics.median(times[which] for times in found), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=lambda n: int(float(n)), default=1_000_000)
    parser.add_argument("--days", type=float, default=1)
    parser.add_argument("--unique", type=float, default=0.05)
    parser.add_argument("--tail", type=lambda n: int(float(n)), default=0)
    parser.add_argument("--history", type=int, default=0, help="days")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--store", help="A store that is there; its kept sums are used, and counted anew with --anew.")
    parser.add_argument("--anew", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = asked.store or f"{folder}/store"
        traffic = Traffic(asked.spans, unique=asked.unique, length_ns=int(24 * HOUR * asked.days))
        if asked.store is None:
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:  # its memory is not measured
                apart.submit(write_store, store, traffic).result()
        elif asked.anew:
            shutil.rmtree(Path(store) / "sums", ignore_errors=True)
        with watched() as peak:
            first, worked, told = report(store)
        again = [report(store) for _ in range(asked.times)]
        kept, cpu = (sorted(found[i] for found in again) for i in (0, 1))
        same = all(text == told for _, _, text in again)
        tail, unchanged = list[tuple[float, float, bytes]](), list[tuple[float, float, bytes]]()
        if asked.tail:
            box = wait_in_inbox(store, asked.tail, asked.unique)
            for _ in range(asked.times):
                for note in (Path(store) / "sums").glob(f"*/{NOTE}"):
                    note.unlink()
                tail.append(report(store))
                unchanged.append(report(store))
            same = same and len({text for _, _, text in tail + unchanged}) == 1
            box.close()
            shutil.rmtree(Path(store) / "inbox")
        other = [t for _ in range(2) if (t := duckdb(store)) is not None]
        day, long, every = [], [], []
        if asked.history:
            much = f"{folder}/history"
            shutil.copytree(store, much)
            more_days(much, traffic, asked.history)
            began = time.perf_counter()
            report(much)
            counted = time.perf_counter() - began
            for _ in range(asked.times):
                day.append(report(store)[:2])
                long.append(report(much)[:2])
            every = [report(much, "--since", "all", "--until", "all")[:2] for _ in range(asked.times)]
        fastest, least = (min(found[i] for found in other) if other else None for i in (0, 1))
        result = {
            "spans": asked.spans if asked.store is None else None,
            "runs": json.loads(told)["runs"]["total"],
            "first_report_s": round(first, 2),
            "first_report_cpu_s": round(worked, 2),
            "first_report_peak_mb_all_processes": round(peak["mb"]),
            "report_s": [round(t, 2) for t in kept],
            "report_cpu_s": [round(t, 2) for t in cpu],
            "same_bytes": same,
            "report_with_tail_s": sorted(round(t, 2) for t, _, _ in tail),
            "report_with_tail_cpu_s": sorted(round(t, 2) for _, t, _ in tail),
            "report_with_same_tail_again_s": sorted(round(t, 2) for t, _, _ in unchanged),
            "report_with_same_tail_again_cpu_s": sorted(round(t, 2) for _, t, _ in unchanged),
            "history": None
            if not long
            else {
                "days": asked.history,
                "counted_s": round(counted, 2),
                "day_out_of_a_day_s": _middle(day, 0),
                "day_out_of_history_s": _middle(long, 0),
                "day_out_of_history_over_day": round(_middle(long, 0) / _middle(day, 0), 2),
                "day_out_of_history_over_day_cpu": round(_middle(long, 1) / _middle(day, 1), 2),
                "all_of_history_s": _middle(every, 0),
            },
            "duckdb_s": [round(t, 2) for t, _ in other],
            "duckdb_cpu_s": [round(t, 2) for _, t in other],
            "duckdb_over_report": round(fastest / kept[len(kept) // 2], 1) if fastest else None,
            "duckdb_over_report_cpu": round(least / cpu[len(cpu) // 2], 1) if least else None,
            "load_average": os.getloadavg(),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
