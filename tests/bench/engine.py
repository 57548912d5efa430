"""One worker and two, on each engine: seconds for the same runs, and whether they are the same.

python -m tests.bench.engine --spans 2e5 --engines here pool ray      prints JSON
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import tempfile
import time

from tests.bench.generate import HOUR, Traffic
from tests.bench.reconstruct import write_store


def runs(store: str, name: str, workers: int):  # type: ignore[no-untyped-def]
    from otelcov.engine import engine
    from otelcov.ground.config import Config
    from otelcov.runs import slices
    from otelcov.store import pieces

    runner = engine(name, workers)
    try:
        list(runner.map(abs, range(-workers, 0)))  # workers that have started
        began = time.perf_counter()
        look = slices.Look.of(pieces.look(store))
        found = slices.survey(look, runner.map)
        work = functools.partial(slices.reconstructed, where=found.where, config=Config(), now_ns=2**62)
        done = runner.map(work, slices.parts(look, found.traces, spans=20_000))
        return slices.joined(done, look, found, Config(), 2**62), time.perf_counter() - began
    finally:
        runner.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=lambda n: int(float(n)), default=200_000)
    parser.add_argument("--engines", nargs="*", default=["pool"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store"
        write_store(store, Traffic(asked.spans, length_ns=int(24 * HOUR * asked.spans / 1e7)))
        expected, alone = runs(store, "here", 1)
        result: dict[str, object] = {"spans": asked.spans, "here_s": round(alone, 2)}
        for name in asked.engines:
            times = []
            for workers in (1, 2):
                found, took = runs(store, name, workers)
                times.append(took)
                result[f"{name}_{workers}_s"] = round(took, 2)
                result[f"{name}_{workers}_equal"] = found.equals(expected)
            result[f"{name}_speed_up"] = round(times[0] / times[1], 2)
        print(json.dumps(result | {"load_average": os.getloadavg()}))


if __name__ == "__main__":
    main()
