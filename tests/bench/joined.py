"""How long a report takes where every model call is a trace of its own: the first, which joins and keeps them, and
later ones, beside one that joins all of them again, as every report does while nothing is kept.

    python -m tests.bench.joined --spans 2e5 [--times 5]      prints JSON
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from collector.segment import Row
from otelcov.store import commit, tables
from tests.bench.generate import HOUR
from tests.bench.reconstruct import watched
from tests.bench.report import report
from tests.runs.requests import SECOND, T0, request, span

_BEGIN_NS = 1_767_225_600_000_000_000  # 2026-01-01


def write_store(store: str, spans: int) -> None:
    """Two model calls a run, all over the first day."""
    rows, some = list[Row](), list[dict[str, object]]()
    for number in range(spans // 2):
        some += _run(number, (_BEGIN_NS + number * 20 * HOUR // (spans // 2) - T0) / SECOND)
        if len(some) >= 512:
            rows.append(Row("traces", _BEGIN_NS, len(some), 0, request(some)))
            some = []
    rows.append(Row("traces", _BEGIN_NS, len(some), 0, request(some)))
    commit.commit(tables.create(store), uuid.uuid4().hex, 1, rows, any_hour=True)


def _run(number: int, at: float) -> Iterator[dict[str, object]]:
    call = "call_" + hashlib.sha256(str(number).encode()).hexdigest()[:20]
    user = {"role": "user", "parts": [{"type": "text", "content": f"Question {number}?"}]}
    asked = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": call, "name": f"tool{number % 7}", "arguments": {"q": number}}],
    }
    came = {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": "12"}]}
    said = {"role": "assistant", "parts": [{"type": "text", "content": "done"}]}
    for turn, (told, answer) in enumerate((([user], asked), ([user, asked, came], said))):
        id = 2 * number + turn + 1
        about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10 + turn}
        texts = {"gen_ai.input.messages": json.dumps(told), "gen_ai.output.messages": json.dumps([answer])}
        yield span(id, None, "chat m", trace=id, at=at + 2 * turn, kind=3, attributes=about | texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=lambda n: int(float(n)), default=20_000)
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store"
        write_store(store, asked.spans)
        with watched() as peak:
            first, _, told = report(store)
        later = [report(store) for _ in range(asked.times)]
        shutil.rmtree(Path(store) / "sums")
        again = report(store)[0]
    took = statistics.median(seconds for seconds, _, _ in later)
    result = {
        "spans": asked.spans,
        "runs": json.loads(told)["runs"]["total"],
        "first_report_s": round(first, 2),
        "first_report_peak_mb_all_processes": round(peak["mb"]),
        "report_s": round(took, 2),
        "nothing_kept_s": round(again, 2),
        "nothing_kept_over_report": round(again / took, 1),
        "same_bytes": all(text == told for _, _, text in later),
        "load_average": os.getloadavg(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
