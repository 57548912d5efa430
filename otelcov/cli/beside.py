"""What runs beside a collector, in a process of its own: what has settled is counted, closed hours are rewritten.

`collect` starts it now and then and may stop it at any moment: transactions and lists are whole or not there.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

_EVERY_S, _TIDY_S = 30, 300  # how often `collect` starts this; how often closed hours are looked for
_MOST = 300_000  # spans that are counted beside a collector; more would take memory from it, and wait for a report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--config", type=Path)
    asked = parser.parse_args()
    if hasattr(os, "nice"):
        os.nice(10)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from otelcov.ground.config import load
    from otelcov.store import remote
    from otelcov.store.upkeep import tidy
    from otelcov.sums.build import build, uncounted

    now_ns, config = time.time_ns(), load(asked.config)

    def count() -> None:
        # Of a remote store each collector would count the traffic of all; there whoever reports counts, and keeps it.
        if not remote.is_remote(asked.store) and uncounted(asked.store, config) <= _MOST:
            build(asked.store, config, now_ns, map, wait=False)

    count()  # first: what upkeep renames is known by then
    if time.time() % _TIDY_S < _EVERY_S:
        tidy(asked.store, now_ns)
        count()


if __name__ == "__main__":
    main()
