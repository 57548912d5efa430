"""CSV for spreadsheets: one row per score, item and edge."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

from otelcov.report import Report, words

COLUMNS = ("section", "agent", "name", "status", "value", "covered", "known", "runs", "calls", "errors", "requested",
           "first_seen", "last_seen", "example_trace")  # fmt: skip


def render(report: Report) -> str:
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for row in _rows(report):
        writer.writerow({k: safe(v) for k, v in row.items() if v is not None})
    return out.getvalue()


def safe(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    text = words.plain(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "'") else text


def _rows(report: Report) -> list[dict[str, Any]]:
    snapshot = report.snapshot
    rows: list[dict[str, Any]] = [
        {"section": "overall", "name": "overall", "value": snapshot["coverage"]["overall"],
         "status": snapshot["coverage"]["band"], "runs": snapshot["runs"]["total"]}
    ]  # fmt: skip
    rows += _scores(snapshot, "dimension", None)
    for group in report.groups:
        name = group["group"]
        total, runs, band = group["coverage"]["overall"], group["runs"]["total"], group["coverage"]["band"]
        rows.append(
            {
                "section": f"by {report.by}",
                "agent": name,
                "name": "overall",
                "value": total,
                "runs": runs,
                "status": band,
            }
        )
        rows += _scores(group, f"by {report.by}", name)
    for d in snapshot["coverage"]["dimensions"]:
        known = {i["item"]: i for i in d.get("items", ())}
        for status, names in (
            ("covered", d["covered_items"]),
            ("missing", d["missing"]),
            ("undeclared", d["undeclared"]),
        ):
            rows += [
                {c: known.get(n, {}).get(c) for c in ("runs", "calls", "errors", "requested", "example_trace")}
                | {"section": d["dimension"], "name": n, "status": status}
                for n in names
            ]
    edges = snapshot["edges"]
    for section in ("allowed", "restricted", "delegations", "undeclared"):
        for edge in edges[section]:
            kind = "delegation" if "to" in edge else "edge"
            title = kind if section == "delegations" else f"{section} {kind}"
            counts = {c: edge[c] for c in COLUMNS if c in edge}
            status = edge.get("status") or (
                "undeclared" if section == "undeclared" else "covered" if edge["calls"] else "missing"
            )
            rows.append(counts | {"section": title, "name": edge.get("to", edge.get("tool")), "status": status})
    return rows


def _scores(snapshot: dict[str, Any], section: str, agent: str | None) -> list[dict[str, Any]]:
    return [
        {"section": section, "agent": agent, "name": d["dimension"], "value": d["score"], "covered": d["covered"],
         "known": d["known"], "runs": d["runs"], "status": d["band"]}
        for d in snapshot["coverage"]["dimensions"]
    ]  # fmt: skip
