"""What runs beside a collector, in processes of its own: what has settled is counted, closed hours are rewritten.

`collect` starts both now and then and may stop them at any moment: transactions and lists are whole or not there. While
much comes in, counting goes on from one count to the next: a report then has only the last seconds left to count.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from otelcov.ground.processes import MEMORY

_FEW = 30_000  # spans that came while the last were counted; so few wait a while
_ENOUGH = 100_000  # with fewer it waits while someone asks for a report: both at a time take each longer
_MOST = 120_000  # spans of one count, so that it takes no memory from the collector and no report waits long for it
_PAUSE_S = 0.25
_IDLE_S = 25.0  # in which few spans came: the rest is for the next start
_LONG_S = 600.0  # then a process without this one's memory goes on
_NICE = "_OTELCOV_NICE"  # set where the process is already: it lasts from one to the next


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("count", "tidy"))
    parser.add_argument("store")
    parser.add_argument("--config", type=Path)
    asked = parser.parse_args()
    for name, value in {"POLARS_MAX_THREADS": "1", **MEMORY}.items():
        os.environ.setdefault(name, value)
    if hasattr(os, "nice") and not os.environ.get(_NICE):
        os.nice(6)
        os.environ[_NICE] = "1"
    (count if asked.what == "count" else tidy)(asked.store, asked.config)


def count(store: str, path: Path | None) -> None:
    """What has settled into kept sums, as long as much comes."""
    from otelcov.ground.settings import load
    from otelcov.store import remote
    from otelcov.sums import beside
    from otelcov.sums.build import build, folder, uncounted

    if remote.is_remote(store):
        return  # each collector would count the traffic of all; there whoever reports counts, and keeps it
    config, collector, began = load(path), os.getppid(), time.monotonic()
    there = folder(store, config)
    with beside.counting(there):
        busy = began if uncounted(store, config) >= _FEW else began - _IDLE_S
        build(store, config, time.time_ns(), map, wait=False, most=_MOST)
        new, seen = 0, 0
        while os.getppid() == collector and time.monotonic() - busy < _IDLE_S:
            if (written := _written(store)) != seen:  # to ask the table costs more than all the waiting
                new, seen = uncounted(store, config), written
            mine = True
            if new >= _FEW:
                busy = time.monotonic()
                if new >= _ENOUGH or not beside.is_asked(there):
                    mine = build(store, config, time.time_ns(), map, wait=False, most=_MOST, tell=False)
                    seen = 0
            if time.monotonic() - began > _LONG_S:
                os.execv(sys.executable, [sys.executable, "-m", "otelcov.cli.beside", *sys.argv[1:]])
            if new < _MOST or not mine:  # a report is counting
                time.sleep(_PAUSE_S)


def _written(store: str) -> int:
    """When the last commit was made (Unix ns)."""
    return (Path(store) / "spans" / "_delta_log").stat().st_mtime_ns


def tidy(store: str, path: Path | None) -> None:
    """Closed hours sorted, small files put together."""
    from otelcov.ground.settings import load
    from otelcov.store import upkeep
    from otelcov.sums import kept
    from otelcov.sums.build import folder

    config = load(path)

    def counted(table: str) -> frozenset[str]:
        found: frozenset[str] = getattr(kept.load(folder(store, config)), table)
        return found

    upkeep.tidy(store, time.time_ns(), counted)


if __name__ == "__main__":
    main()
