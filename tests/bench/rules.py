"""Precision and recall of the judge's rules on recorded traffic with independent truth, as a Markdown table.

    uv run python tests/bench/rules.py [SHARED]

SHARED (default: OTELCOV_SHARED, else ../shared beside the repository) holds corpus/ and datasets/. The unit is the run,
but for tool errors, where it is the call. What the spans do not carry is counted as missed.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otelcov.ground.config import Agent, Config, Coverage
from otelcov.judge.rules import Finding, findings
from otelcov.judge.turns import Conversation, conversations
from otelcov.runs import reconstruct
from otelcov.runs.dialogue import dialogues
from otelcov.store import files
from otelcov.store.layout import from_requests

ROOT = Path(__file__).resolve().parents[2]
USERS = ("user", "user_simulator")


@dataclass
class Score:
    right: int = 0
    wrong: int = 0
    missed: int = 0
    units: int = 0
    told: list[str] = field(default_factory=list)

    def add(self, expected: int, found: int, name: str = "") -> None:
        self.units += 1
        self.right += min(expected, found)
        self.wrong += max(0, found - expected)
        self.missed += max(0, expected - found)
        if expected != found:
            self.told.append(f"{name}: {expected} expected, {found} found")

    def row(self, title: str) -> str:
        precision = f"{self.right / (self.right + self.wrong):.3f}" if self.right + self.wrong else "-"
        recall = f"{self.right / (self.right + self.missed):.3f}" if self.right + self.missed else "-"
        return f"| {title} | {self.units} | {self.right} | {self.wrong} | {self.missed} | {precision} | {recall} |"


HEAD = "| rule, data | units | right | wrong | missed | precision | recall |\n|" + " --- |" + " ---: |" * 6


def read(folder: Path, config: Config) -> list[tuple[Conversation, list[Finding]]]:
    """The conversations of a folder of OTLP files, each with its findings."""
    found = [r for path in files.find([folder]) for r in files.requests(path) if isinstance(r, files.Request)]
    bodies = {signal: [r.body for r in found if r.signal == signal] for signal in ("traces", "logs")}
    spans, logs = from_requests(bodies["traces"], bodies["logs"], 0)
    runs = reconstruct(spans.lazy(), logs.lazy(), config, 2**62)
    talks = conversations(runs, dialogues(spans, logs, config), config)
    proved = findings(talks, config)
    told = [[f for f in proved if f.run_id in talk.runs] for talk in talks]
    return list(zip(talks, told, strict=True))


def by_run(read_: list[tuple[Conversation, list[Finding]]], run_traces: dict[str, str]) -> dict[str, list[Finding]]:
    """The findings of each truth run, by its key."""
    out: dict[str, list[Finding]] = {}
    for talk, proved in read_:
        keys = _keys(talk, run_traces)
        for run, key in keys.items():
            out.setdefault(key, []).extend(f for f in proved if f.run_id == run)
    return out


def _keys(talk: Conversation, run_traces: dict[str, str]) -> dict[str, str]:
    return {t.run_id: run_traces[t.trace_id] for t in talk.turns if t.trace_id in run_traces}


def corpus(root: Path) -> Iterator[tuple[str, Score]]:
    agents = {name: Agent(restricted=["cancel_booking"]) for name in ("planner", "worker")}
    config = Config(agents=agents, coverage=Coverage())
    scores = {
        "restricted call, corpus S8": Score(),
        "restricted call, corpus without S8": Score(),
        "repeated call, corpus S12": Score(),
        "repeated call, corpus without S12": Score(),
        "tool error, corpus S3 and S3b": Score(),
        "tool error, corpus without S3": Score(),
    }
    for scenario in sorted(p.parent for p in root.glob("*/*/truth.json")):
        truth = json.loads((scenario / "truth.json").read_text())
        index = json.loads((scenario / "trace_index.json").read_text())["trace_ids_by_run"]
        traces = {t: number for number, ids in index.items() for t in ids}
        found = by_run(read(scenario, config), traces)
        name = scenario.name
        for run in truth["runs"]:
            mine = found.get(str(run["run"]), [])
            calls = [c for c in run["tool_calls"] if c["status"] in ("ok", "error")]
            where = f"{scenario.parent.name}/{name} run {run['run']}"
            restricted = any(c["name"] in truth["restricted_tools"] for c in calls)
            hit = any(f.rule == "restricted_call" and f.severity == "critical" for f in mine)
            scores[f"restricted call, corpus {'S8' if name == 'S8' else 'without S8'}"].add(restricted, hit, where)
            scores[f"repeated call, corpus {'S12' if name == 'S12' else 'without S12'}"].add(
                _repeats(calls), any(f.rule == "repeated_call" for f in mine), where
            )
            errors = sum(c["status"] == "error" for c in calls)
            scores[f"tool error, corpus {'S3 and S3b' if name[:2] == 'S3' else 'without S3'}"].add(
                errors, sum(f.rule == "tool_error" for f in mine), where
            )
    yield from scores.items()


def _repeats(calls: list[dict[str, Any]]) -> bool:
    worked: set[str] = set()
    for call in calls:
        key = json.dumps([call["name"], call["args"]], sort_keys=True)
        if key in worked:
            return True
        if call["status"] == "ok":
            worked.add(key)
    return False


# Sets whose spans carry the arguments that the truth counted by.
REPEATS = ("tau2-airline", "agentrx-retail", "tau2-orchestra", "tau2-telecom", "tau2-telecom-solo")
ERRORS = ("tau2-airline", "agentrx-retail", "tau2-orchestra", "tau2-telecom", "tau2-telecom-solo", "whowhen-ag2")


def datasets(root: Path) -> Iterator[tuple[str, Score]]:
    for folder in sorted(p.parent for p in root.glob("*/truth.json")):
        truth = json.loads((folder / "truth.json").read_text())
        if folder.name == "native":
            continue
        dialect = next(
            p for p in sorted(folder.iterdir()) if p.is_dir() and p.name not in ("semconv-turns", "llm_only")
        )
        found = by_run(read(dialect, Config()), {r["trace_id"]: r["run"] for r in truth["runs"]})
        if folder.name in REPEATS:
            yield f"repeated call, {folder.name}", _scored(truth, found, _is_repeated, _has("repeated_call"))
        if folder.name in ERRORS:
            yield f"tool error (hard and soft), {folder.name}", _scored(truth, found, _errors, _count("tool_error"))
        if any(r.get("not_offered") for r in truth["runs"]):
            yield f"never offered, {folder.name}", _scored(truth, found, _not_offered, _has("never_offered"))
        if any(r.get("blame") for r in truth["runs"]):
            yield f"blame, {folder.name}", _blame(truth, found)


def _scored(
    truth: dict[str, Any],
    found: dict[str, list[Finding]],
    expected: Callable[[dict[str, Any]], int],
    seen: Callable[[list[Finding]], int],
) -> Score:
    score = Score()
    for run in truth["runs"]:
        score.add(expected(run), seen(found.get(run["run"], [])), run["run"])
    return score


def _is_repeated(run: dict[str, Any]) -> int:
    return int((run.get("repeats") or 0) >= 2)


def _errors(run: dict[str, Any]) -> int:
    return len({*run["errors"], *run["soft_errors"]})


def _not_offered(run: dict[str, Any]) -> int:
    return int(bool(run.get("not_offered")))


def _has(rule: str) -> Callable[[list[Finding]], int]:
    return lambda found: int(any(f.rule == rule for f in found))


def _count(rule: str) -> Callable[[list[Finding]], int]:
    return lambda found: sum(f.rule == rule for f in found)


def _blame(truth: dict[str, Any], found: dict[str, list[Finding]]) -> Score:
    """The agent whose step failed first is the one to blame: right, wrong, or nothing that a rule could see."""
    score = Score()
    for run in truth["runs"]:
        failed = [f for f in found.get(run["run"], []) if f.rule in ("tool_error", "success_after_error")]
        score.units += 1
        if not failed:
            score.missed += 1
        elif failed[0].agent == run["blame"]["agent"]:
            score.right += 1
        else:
            score.wrong += 1
            score.missed += 1
    return score


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    shared = os.environ.get("OTELCOV_SHARED")
    asked.add_argument("shared", nargs="?", type=Path, default=Path(shared) if shared else ROOT.parent / "shared")
    asked.add_argument("--verbose", action="store_true", help="also print every unit that is not right")
    given = asked.parse_args()
    print(HEAD)
    for part, measure in (("corpus", corpus), ("datasets", datasets)):
        for title, score in measure(given.shared / part):
            print(score.row(title), flush=True)
            for line in score.told if given.verbose else ():
                print(f"    {line}")


if __name__ == "__main__":
    main()
