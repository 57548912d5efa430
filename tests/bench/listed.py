"""How long commands take that list, show or judge runs, each a cold process, once sums are kept; beside reading all
spans and reconstructing all runs, as each of them did before.

    python -m tests.bench.listed --spans 1e6 [--times 3] [--store DIR] [--alone] [--only gate why]      prints JSON
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.generate import HOUR, Traffic
from tests.bench.reconstruct import watched, write_store
from tests.bench.report import DAY, report

ALL = "from otelcov.cli.measuring import Question; Question.of({store!r}, since={since!r}, until={until!r}).runs()"
GATE = "version: 1\nagents:\n  - name: all\n    expect:\n      - {target: coverage.overall, matcher: {min: 1}}\n"
GATE_OF_AGENT = GATE + "    select: {agent: planner}\n"


def timed(command: list[str], folder: str) -> dict[str, float]:
    """Seconds of a cold process, and the most memory that it had in MB."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environ["PYTHONPATH"] = os.pathsep.join(paths)
    began = time.perf_counter()
    with watched() as peak:
        done = subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, cwd=folder, env=environ)
    assert done.returncode in (0, 1), command
    return {"s": round(time.perf_counter() - began, 2), "mb": round(peak["mb"])}


def first_run(store: str) -> str:
    """The id of a run, as `runs` begins to print them."""
    command = [sys.executable, "-m", "otelcov", "runs", "--store", store, *DAY, "--format", "jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as listing:
        line = listing.stdout.readline()  # type: ignore[union-attr]
        listing.stdout.close()  # type: ignore[union-attr]
    return str(json.loads(line)["run_id"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=lambda n: int(float(n)), default=200_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--store", help="A store that is there, of that day.")
    parser.add_argument("--alone", action="store_true", help="Leave out what reads everything: it takes 45 KB a run.")
    parser.add_argument("--only", nargs="+", metavar="COMMAND", help="Of the commands, these; by default all.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = asked.store or f"{folder}/store"
        if asked.store is None:
            write_store(store, Traffic(asked.spans, length_ns=24 * HOUR))
        report(store)
        (Path(folder) / "gate.yaml").write_text(GATE)
        (Path(folder) / "agent.yaml").write_text(GATE_OF_AGENT)
        shared = ["--store", store, *DAY]
        commands = {
            "show": ["show", first_run(store), "--store", store],
            "runs_with_filters": ["runs", "--status", "error", "--format", "jsonl", *shared],
            "gate": ["gate", "gate.yaml", *shared],
            "gate_of_an_agent": ["gate", "agent.yaml", *shared],
            "report_of_an_agent": ["report", "--agent", "planner", *shared],
            "gaps": ["gaps", "--format", "json", *shared],
            "why": ["why", "tool", *shared],
            "why_of_an_item": ["why", "tool:search_hotel", *shared],
            "undeclared": ["undeclared", *shared],
            "snapshot": ["snapshot", "--out", "snapshot.json", *shared],
            "trend": ["trend", *shared],
            "judge": ["judge", "--rules-only", "--results", "results", *shared],
        }
        if unknown := set(asked.only or ()) - set(commands):
            parser.error(f"no such commands: {', '.join(sorted(unknown))}; there are {', '.join(commands)}")
        found = {
            name: [timed(["-m", "otelcov", *command], folder) for _ in range(asked.times)]
            for name, command in commands.items()
            if name in (asked.only or commands)
        }
        best = {name: min(times, key=lambda one: one["s"]) for name, times in found.items()}
        told = {"spans": None if asked.store else asked.spans, **best}
        if not asked.alone:
            everything = timed(["-c", ALL.format(store=store, since=DAY[1], until=DAY[3])], folder)
            ratios = {name: round(everything["s"] / one["s"], 1) for name, one in best.items()}
            told |= {"reading_all": everything, "reading_all_over": ratios}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
