"""Markdown for a pull request: the tuple first, the long lists folded."""

from __future__ import annotations

import re
from typing import Any

from otelcov.report import Report, words

LISTED = 25
_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;", "://": "&#58;//", "www.": "www&#46;"}


def render(report: Report) -> str:
    snapshot = report.snapshot
    coverage = snapshot["coverage"]
    overall = words.percent(coverage["overall"])
    lines = [
        f"### Agent coverage: {overall}"
        + (f" ({coverage['band']}{words.rests(coverage)})" if coverage["band"] else ""),
        "",
    ]
    lines += [f"{words.runs(snapshot)}, {words.window(snapshot)}." + _only(snapshot), ""]
    if not snapshot["runs"]["total"]:
        return "\n".join([*lines, "No agent runs in this window. Is the collector receiving spans?"]) + "\n"
    lines += ["| dimension | score | counts | basis |", "| --- | ---: | --- | --- |"]
    for d in coverage["dimensions"]:
        weakest = " (weakest)" if d["dimension"] == coverage["weakest"] else ""
        lines.append(
            f"| {d['dimension']}{weakest} | {cell(words.score(d))} | {words.counts(d)} | {cell(words.basis(d))} |"
        )
    lines += ["", *_verdicts(report), *_edges(snapshot), *_groups(report), *_gaps(report)]
    for d in coverage["dimensions"]:
        for title, names in (("never exercised", d["missing"]), words.beside(snapshot, d)):
            total = (d["known"] or 0) - d["covered"] if title == "never exercised" else len(names)
            lines += _folded(f"{d['dimension']}: {max(total, len(names))} {title}", [words.item(n) for n in names])
    lines += _folded("quality", words.quality(snapshot))
    return "\n".join(lines).rstrip() + "\n"


def cell(text: object) -> str:
    """Text that means nothing to Markdown or HTML, on one line; it links nowhere and calls nobody."""
    shown = words.plain(text)
    for special, entity in _ENTITIES.items():
        shown = shown.replace(special, entity)
    return _SPECIAL.sub(r"\\\1", shown)


def _only(snapshot: dict[str, Any]) -> str:
    return f" Only {cell(words.selection(snapshot))}." if snapshot["selection"] else ""


def _verdicts(report: Report) -> list[str]:
    marks = {"pass": "pass", "fail": "**fail**", "no_data": "not enough data"}
    lines = []
    for v in report.verdicts:
        value = words.percent(None if v["value"] is None else v["value"] / 100)
        why = f" ({cell(v['reason'])})" if v["reason"] else ""
        lines.append(f"- {marks[v['result']]}: {cell(v['target'])} {cell(value)}, at least {v['minimum']:g}%{why}")
    return [*lines, ""] if lines else []


def _edges(snapshot: dict[str, Any]) -> list[str]:
    edges = snapshot["edges"]
    lines = []
    for name, pct, listed in (
        ("Allowed edges", "allowed_pct", "allowed"),
        ("Delegations", "delegation_pct", "delegations"),
    ):
        if edges[listed]:
            done = sum(bool(e["calls"]) for e in edges[listed])
            share = None if edges[pct] is None else edges[pct] / 100
            lines.append(f"- {name}: {cell(words.percent(share))} ({done} of {len(edges[listed])})")
    for e in edges["restricted"]:
        if e["calls"]:
            lines.append(
                f"- **Restricted edge used**: {cell(words.edge(e))}, {e['calls']} calls, {cell(e['example_trace'])}"
            )
    if edges["restricted"] and edges["restricted_attempts"] == 0 and edges["restricted_bound"]:
        upper = words.percent(edges["restricted_bound"]["upper"])
        lines.append(
            f"- Restricted edges: 0 attempts in {edges['restricted_bound']['runs']} runs"
            f" (below {cell(upper)} of runs, 95% sure)"
        )
    lines += _folded(f"edges: {len(edges['undeclared'])} undeclared", [words.edge(e) for e in edges["undeclared"]])
    return [*lines, ""] if lines else []


def _groups(report: Report) -> list[str]:
    if not report.by:
        return []
    names = ("tool", "path", "state", "boundary", "model")
    lines = [f"| {report.by} | runs | overall | {' | '.join(names)} |", f"| --- |{' ---: |' * (len(names) + 2)}"]
    for g in report.groups:
        scores = {d["dimension"]: d for d in g["coverage"]["dimensions"]}
        cells = [cell(words.percent(g["coverage"]["overall"])), *(cell(words.score(scores[n])) for n in names)]
        lines.append(f"| {cell(g['group'])} | {g['runs']['total']} | {' | '.join(cells)} |")
    return [*lines, ""]


def _gaps(report: Report) -> list[str]:
    rows = [(d["dimension"], u) for d in (report.gaps or {"dimensions": []})["dimensions"] for u in d["uncovered"]]
    rows.sort(key=lambda r: (-r[1]["share"], r[0], r[1]["item"]))
    shown = [f"{words.percent(u['share'])} {name}: {words.item(u['item'])}" for name, u in rows]
    total = words.uncovered(report.gaps) if report.gaps else 0
    return _folded(f"seen elsewhere and never tested: {total}", shown, total)


def _folded(title: str, names: list[str], total: int | None = None) -> list[str]:
    if not names:
        return []
    left = (len(names) if total is None else total) - LISTED
    more = [f"- and {left} more"] if left > 0 else []
    return [
        f"<details><summary>{cell(title)}</summary>",
        "",
        *(f"- {cell(n)}" for n in names[:LISTED]),
        *more,
        "",
        "</details>",
        "",
    ]
