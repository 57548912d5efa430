"""What was seen and never declared: tools, edges, delegations, models; and tool names that nobody offered."""

from __future__ import annotations

from typing import Any

import polars as pl

from otelcov.coverage import graph
from otelcov.coverage.edges import Traffic
from otelcov.coverage.graph import Edge
from otelcov.coverage.observations import Observations, each_run
from otelcov.ground.config import Config
from otelcov.ground.windows import iso

FORMAT = 1
KINDS = ("tools", "edges", "delegations", "models", "hallucinated")


def invented() -> pl.Expr:
    """Whether a run shows which tools it offered, and names one that is none of them: which `undeclared` must see."""
    names = pl.col("tool_calls").list.eval(pl.element().struct.field("name"))
    odd = names.list.set_difference("known_tools").list.len() > 0
    return (pl.col("known_tools_source") == "offered") & odd


def undeclared(
    seen: Observations, offered: pl.DataFrame, config: Config, agents: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Findings by kind, each sorted by name.

    `seen` is what the runs add up to, `offered` those of them that are `invented`: a hallucinated name was asked for or
    called in a run that shows which tools it offered, and is none of them.
    """
    rows = seen.texts()
    traffic = Traffic.of(rows)
    allowed, restricted = set(graph.allowed(config)), set(graph.restricted(config))
    handed = set(graph.delegations(config))
    tools = {e.to for e in allowed | restricted} | set(config.tools)
    hallucinated = _hallucinated(offered, config, agents)
    names = {row["item"] for row in hallucinated}
    plain = rows.filter(pl.col("agent").is_null())
    return {
        "format": FORMAT,
        "tools": [r for r in _items(plain, "tool") if r["item"] not in tools | names],
        "edges": _edges(
            [
                (Edge(*k), row)
                for k, row in traffic.plain.items()
                if Edge(*k) not in allowed | restricted and k[1] not in names
            ],
            "tool",
        ),
        "delegations": _edges(
            [(Edge(*k), row) for k, row in traffic.delegations.items() if Edge(*k) not in handed], "to"
        ),
        "models": [r for r in _items(plain, "model") if r["item"] not in config.models],
        "hallucinated": hallucinated,
    }


def _hallucinated(offered: pl.DataFrame, config: Config, agents: tuple[str, ...]) -> list[dict[str, Any]]:
    if offered.is_empty():
        return []
    called = []
    for rows in each_run(offered, config, agents):
        tools = rows.filter((pl.col("dimension") == "tool") & pl.col("agent").is_null())
        tools = tools.join(offered.select("run_id", "known_tools"), on="run_id", how="left")
        called.append(tools.filter(~pl.col("item").is_in(pl.col("known_tools"))))
    return _items(pl.concat(called), "tool")


def _items(rows: pl.DataFrame, dimension: str) -> list[dict[str, Any]]:
    found = (
        rows.filter(pl.col("dimension") == dimension)
        .group_by("item")
        .agg(
            pl.col("calls", "errors", "requested", "runs").sum(),
            pl.col("first_seen").min(),
            pl.col("last_seen").max(),
            pl.col("example_trace").min(),
        )
        .sort("item")
    )
    return [_timed(row) for row in found.to_dicts()]


def _edges(found: list[tuple[Edge, dict[str, Any]]], kind: str) -> list[dict[str, Any]]:
    found.sort(key=lambda pair: (pair[0].agent or "", pair[0].to))
    return [_timed({"agent": edge.agent, kind: edge.to} | row) for edge, row in found]


def _timed(row: dict[str, Any]) -> dict[str, Any]:
    return row | {c: None if row[c] is None else iso(row[c]) for c in ("first_seen", "last_seen")}
