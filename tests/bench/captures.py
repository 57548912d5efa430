"""What a span of recorded frameworks costs: the packed captures, many times over, from span tables to runs.

    python -m tests.bench.captures [--dialect NAME ...] [--spans 3000]          prints JSON

Hardly any of them is of regular form (runs/shortcut/regular.py), so this is the general way: the price of traffic as
frameworks write it, beside the generated traffic of `bench.reconstruct`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time

from otelcov.ground.processes import ONE_THREAD

os.environ.update(ONE_THREAD)  # before Polars: one thread, as a worker has

import polars as pl

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures

_APART_NS = 10**14  # between the copies of a capture


def copies(rows: pl.DataFrame, count: int) -> pl.DataFrame:
    """The same spans or log records, their traces under other ids, each time a day later."""
    ids = rows["trace_id"].drop_nulls().unique()
    times = [name for name in rows.columns if name.endswith("time_unix_nano")]
    out = []
    for number in range(count):
        new = pl.Series([hashlib.md5(old + number.to_bytes(4)).digest() for old in ids], dtype=pl.Binary)
        later = [pl.col(name) + number * _APART_NS for name in times]
        out.append(rows.with_columns(pl.col("trace_id").replace(ids, new), *later))
    return pl.concat(out)


def cost(dialect: str, spans: int) -> float:
    """Microseconds a span on one core; the least of three."""
    scenarios = captures.packed("corpus", dialect)
    bodies = {kind: [b for s in scenarios for b in s.bodies(kind)] for kind in ("traces", "logs")}
    once, logs = from_requests(bodies["traces"], bodies["logs"], 1)
    count = max(1, spans // once.height)
    many, records = copies(once, count), copies(logs, count)
    least = float("inf")
    for _ in range(3):
        began = time.process_time()
        reconstruct(many, records, Config(), captures.LATER)
        least = min(least, (time.process_time() - began) / many.height * 1e6)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", action="append", help="default: all of the corpus")
    parser.add_argument("--spans", type=int, default=3000)
    asked = parser.parse_args()
    found = {name: round(cost(name, asked.spans), 1) for name in asked.dialect or captures.dialects("corpus")}
    every = sorted(found.values())
    print(
        json.dumps(
            {
                "microseconds_a_span": found,
                "least": every[0],
                "median": every[len(every) // 2],
                "most": every[-1],
                "load_average": os.getloadavg(),
            }
        )
    )


if __name__ == "__main__":
    main()
