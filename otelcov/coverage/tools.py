"""C_tool = |tools called| / |known tools|: which of the tools that agents may call were called.

An errored call exercises a tool, a requested one that was never executed does not.
"""

from __future__ import annotations

import polars as pl

from otelcov.coverage.dimension import Dimension, View, ratio
from otelcov.coverage.facts import Facts, scoped
from otelcov.coverage.graph import declared_tools
from otelcov.coverage.tally import Steps


def observe(facts: Facts) -> list[Steps]:
    """Rows `tool` (calls by name) and `offered` (tools whose definition a run showed to its model)."""
    offered = facts.settled().filter(pl.col("known_tools_source") == "offered")
    offers = offered.select("rid", "agents", item="known_tools").explode("item").filter(pl.col("item").is_not_null())
    # Definitions are known per run: they speak of one agent only where the run has no other.
    alone = offers.filter(pl.col("agents").list.len() == 1).with_columns(agent=pl.col("agents").list.first())
    whole = alone.filter(facts.mine(pl.col("agent"))) if facts.agents else offers
    offers = pl.concat(
        [f.select("rid", "agent", "item") for f in (whole.with_columns(agent=pl.lit(None, pl.String)), alone)]
    )
    return [Steps("tool", scoped(facts.calls)), Steps("offered", offers)]


def measure(view: View) -> Dimension:
    """Called and never called tools, against the declared, offered or frozen ones."""
    seen = view.items("tool")
    offered = set(view.items("offered")["item"])
    universe, known = "none", None
    whose = " for " + ", ".join(view.agents) if view.agents else ""  # those of `[tools.*]` are nobody's in particular
    reason: str | None = f"no tools are declared{whose} and no run shows the tools it was offered"
    if (declared := declared_tools(view.config, view.agents)) is not None:
        universe, known, reason = "declared", declared, None if declared else "the declared set of tools is empty"
        # A tool that delegates is a delegation, unless the config calls it a tool.
        delegating = view.items("edge_tool", by_item=True).filter(pl.col("item").is_in(sorted(known)))
        seen = view.sum([seen, delegating])
    elif offered:
        universe, known, reason = "offered", frozenset(offered), None
    elif (frozen := view.baseline.get("tool")) is not None:
        universe, known, reason = "baseline", frozenset(frozen), None if frozen else "the baseline holds no tools"
    called = seen.filter(pl.col("calls") > 0)
    result = ratio(view, "tool", called, known, universe, reason)
    return result.with_items(_told_apart(seen, known, offered))


def _told_apart(seen: pl.DataFrame, known: frozenset[str] | None, offered: set[str]) -> list[dict[str, object]]:
    rows = {row["item"]: row for row in seen.to_dicts()}
    found = []
    for name in sorted(set(rows) | (known or frozenset())):
        row = rows.get(name, {})
        calls, errors, requested = (int(row.get(c) or 0) for c in ("calls", "errors", "requested"))
        if calls:
            status = "errors only" if errors == calls else "called"
        elif requested:
            status = "requested, never called"
        elif offered:
            status = "offered, never called" if name in offered else "never offered"
        else:
            status = "never called"
        found.append(
            {
                "item": name,
                "status": status,
                "runs": int(row.get("runs") or 0),
                "calls": calls,
                "errors": errors,
                "requested": requested,
                "example_trace": row.get("example_trace"),
            }
        )
    return found
