"""How fast observations add up: batches of one hour merged, and hours put side by side.

python -m tests.bench.merge --store DIR      prints JSON; the store needs kept sums (make a report of it first)
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True)
    asked = parser.parse_args()
    from otelcov.coverage.observations import merge
    from otelcov.sums.kept import load

    folder = max((f for f in Path(asked.store, "sums").iterdir() if f.is_dir()), key=lambda f: f.stat().st_mtime)
    kept = load(folder)
    began = time.perf_counter()
    parts = kept.sums(f"batch-{batch.id}" for batch in kept.batches)
    read = time.perf_counter()
    whole = merge(*parts)
    done = time.perf_counter()
    half = len(parts) // 2
    again = merge(merge(*parts[half:]), merge(*parts[:half]))
    rows = sum(part.rows.height for part in parts)
    result = {
        "batches": len(parts),
        "runs": sum(batch.runs for batch in kept.batches),
        "rows": rows,
        "rows_merged": whole.rows.height,
        "read_s": round(read - began, 3),
        "merge_s": round(done - read, 3),
        "rows_per_second": round(rows / (done - read)),
        "same_in_another_order": again.sorted().rows.equals(whole.sorted().rows),
        "load_average": os.getloadavg(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
