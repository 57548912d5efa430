"""The report as one HTML file that needs nothing else: no script, style, font or picture from elsewhere.

Jinja escapes every value; a Content-Security-Policy allows this page's own style and script by their hashes alone,
so that text from spans could not run even if it got through.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from otelcov.report import Report, drawing, words

if TYPE_CHECKING:
    from jinja2 import Template

LISTED = 200  # rows of a table


def render(report: Report) -> str:
    from markupsafe import Markup

    snapshot = report.snapshot
    rows = [(d["dimension"], u) for d in (report.gaps or {"dimensions": []})["dimensions"] for u in d["uncovered"]]
    rows.sort(key=lambda r: (-(r[1]["share"] or 0), r[0], r[1]["item"]))
    style, script = _asset("report.css"), _asset("report.js")
    return _template().render(
        report=report,
        s=snapshot,
        dimensions=snapshot["coverage"]["dimensions"],
        words=words,
        gaps=rows[:LISTED],
        more_gaps=max(0, words.uncovered(report.gaps) - LISTED) if report.gaps else 0,
        listed=LISTED,
        matrix=_matrix(snapshot["edges"]),
        delegation_map=Markup(_delegations(snapshot["edges"])),
        follows_map=Markup(_follows(snapshot)),
        trend=Markup(_trend(snapshot["buckets"])),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(_asset("report.html.jinja"))


@cache
def _asset(name: str) -> str:
    return files("otelcov.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _matrix(edges: dict[str, Any]) -> dict[str, Any]:
    """Agents by tools: each cell says whether the edge may be and was."""
    cells: dict[tuple[str, str], tuple[str, str, str]] = {}
    for edge in edges["undeclared"]:
        if "tool" in edge:
            cells[_key(edge)] = ("undeclared", f"{edge['calls']:,}", "seen and never declared")
    for edge in edges["allowed"]:
        said = "allowed" if edge["calls"] else "allowed and never used"
        cells[_key(edge)] = (
            "covered" if edge["calls"] else "missing",
            f"{edge['calls']:,}" if edge["calls"] else "-",
            said,
        )
    for edge in edges["restricted"]:
        shown = {"violated": f"{edge['calls']:,}!", "resisted": "asked", "never_probed": "·"}[edge["status"]]
        cells[_key(edge)] = (edge["status"], shown, f"restricted, {edge['status'].replace('_', ' ')}")
    agents = sorted({a for a, _ in cells})
    tools = sorted({t for _, t in cells})
    return {"agents": agents, "tools": tools[:60], "cells": cells, "more": max(0, len(tools) - 60)}


def _key(edge: dict[str, Any]) -> tuple[str, str]:
    return edge["agent"] if edge["agent"] is not None else "(unknown agent)", edge["tool"]


def _trend(buckets: list[dict[str, Any]]) -> str:
    return drawing.bars([(b["start"], b["runs"]) for b in buckets], "runs over time") if len(buckets) > 1 else ""


def _delegations(edges: dict[str, Any]) -> str:
    arrows = [
        drawing.Arrow(e["agent"], e["to"], e["calls"], "" if e["calls"] else "never")
        for e in edges["delegations"]
        if e["agent"] is not None
    ]
    arrows += [
        drawing.Arrow(e["agent"] or "(unknown agent)", e["to"], e["calls"], "undeclared")
        for e in edges["undeclared"]
        if "to" in e
    ]
    return drawing.flow(arrows, "delegations")


def _follows(snapshot: dict[str, Any]) -> str:
    arrows = [drawing.Arrow(f["from"], f["to"], f["count"]) for f in snapshot["coverage"]["follows"][:40]]
    return drawing.flow(arrows, "which tool follows which", {"^": "begin", "$": "end"}, last="$")
