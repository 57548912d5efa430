"""Prometheus text: gauges of one snapshot. What is not known is left out: absent is not zero."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from otelcov.report import Report

Sample = tuple[dict[str, str], float | None]


def render(report: Report) -> str:
    s = report.snapshot
    edges, quality, metrics = s["edges"], s["quality"], s["metrics"]
    dimensions = s["coverage"]["dimensions"]
    lines: list[str] = []

    def gauge(name: str, help: str, samples: Iterable[Sample]) -> None:
        known = [(labels, value) for labels, value in samples if value is not None]
        if known:
            lines.extend([f"# HELP otelcov_{name} {help}", f"# TYPE otelcov_{name} gauge"])
            lines.extend(f"otelcov_{name}{_labels(labels)} {_number(value)}" for labels, value in known)

    gauge("coverage_overall_ratio", "Geometric mean of the known dimensions, 0 to 1.", [({}, s["coverage"]["overall"])])
    gauge(
        "coverage_ratio",
        "Score of a dimension, 0 to 1.",
        [({"dimension": d["dimension"]}, d["score"]) for d in dimensions],
    )
    gauge("coverage_covered", "Items seen.", [({"dimension": d["dimension"]}, d["covered"]) for d in dimensions])
    gauge("coverage_known", "Items known.", [({"dimension": d["dimension"]}, d["known"]) for d in dimensions])
    gauge("coverage_undeclared", "Items seen and not declared.",
          [({"dimension": d["dimension"]}, len(d["undeclared"])) for d in dimensions])  # fmt: skip
    gauge("runs", "Runs of the window by side.",
          [({"side": n}, s["runs"][n]) for n in ("test", "staging", "production", "unspecified")])  # fmt: skip
    gauge("runs_unsettled", "Runs that may still grow.", [({}, s["runs"]["unsettled"])])
    gauge("edges_allowed_ratio", "Allowed edges exercised, 0 to 1.", [({}, _share(edges["allowed_pct"]))])
    gauge("edges_delegation_ratio", "Declared delegations seen, 0 to 1.", [({}, _share(edges["delegation_pct"]))])
    gauge("edges_restricted_attempts", "Calls of restricted tools.", [({}, edges["restricted_attempts"])])
    gauge("latency_seconds", "Duration of runs.",
          [({"quantile": f"0.{q}"}, _seconds(metrics["latency_ms"][f"p{q}"])) for q in (50, 95, 99)])  # fmt: skip
    gauge("tokens", "Tokens of model calls.",
          [({"kind": k}, metrics[f"{k}_tokens"]["sum"]) for k in ("input", "output")])  # fmt: skip
    gauge("errors", "Failed calls.", [({"kind": k}, metrics[f"{k}_errors"]) for k in ("llm", "tool")])
    gauge("quality", "What to know before trusting the numbers.",
          [({"kind": k}, quality[k]) for k in ("spans", "orphans", "dropped_attributes", "duplicates", "conflicts",
                                               "out_of_range", "masked")])  # fmt: skip
    gauge(
        "incomplete_runs",
        "Runs that lack something.",
        [({"reason": r}, n) for r, n in quality["incomplete_runs"].items()],
    )
    groups = [({"by": str(report.by), "name": g["group"]}, g["coverage"]) for g in report.groups]
    gauge(
        "group_coverage_overall_ratio",
        "The same of each group alone.",
        [(labels, coverage["overall"]) for labels, coverage in groups],
    )
    gauge(
        "group_coverage_ratio",
        "Score of a dimension of each group alone.",
        [
            (labels | {"dimension": d["dimension"]}, d["score"])
            for labels, coverage in groups
            for d in coverage["dimensions"]
        ],
    )
    return "\n".join(lines) + "\n" if lines else ""


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{k}="{_escaped(v)}"' for k, v in labels.items()) + "}" if labels else ""


def _escaped(text: str) -> str:
    """Backslash, quote and line feed as the format has it; the rest of what hides is shown."""
    from otelcov.report import words

    return words.plain(text).replace("\\", "\\\\").replace('"', '\\"')


def _number(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)


def _share(pct: float | None) -> float | None:
    return None if pct is None else pct / 100


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000
