"""C_boundary: which of the ends of an agent's world (its step limit, a time-out, a failing tool, ...) were reached.

The universe is declared, else the six seed names without those that no selected run could have shown.
"""

from __future__ import annotations

import polars as pl

from otelcov.coverage.dimension import Dimension, View, no_views
from otelcov.coverage.facts import Facts
from otelcov.coverage.tally import Steps
from otelcov.ground.config import SEED_BOUNDARIES


def observe(facts: Facts) -> list[Steps]:
    """Rows `boundary` (runs that reached it) and `boundary_unknown` (runs that could not have shown it)."""
    runs = facts.settled().with_columns(agent=pl.lit(None, pl.String))
    found = []
    for dimension, column in (("boundary", "boundaries"), ("boundary_unknown", "boundaries_unknown")):
        steps = runs.select("rid", "agent", item=column).explode("item").filter(pl.col("item").is_not_null())
        found.append(Steps(dimension, steps.unique(), once=True))
    return found


def measure(view: View) -> Dimension:
    seen = view.items("boundary")
    settled = view.shown.get("settled", 0)
    blind = dict(view.items("boundary_unknown").select("item", "runs").iter_rows())
    names = set(seen["item"])
    hidden = sorted(b for b in SEED_BOUNDARIES if b not in names and blind.get(b, 0) >= settled)
    declared = view.config.coverage.boundaries
    universe = frozenset(declared) if declared is not None else frozenset(SEED_BOUNDARIES) - frozenset(hidden)
    covered = sorted(names & universe)
    score: float | None = None
    reason: str | None = None
    if declared is not None and not declared:
        reason = "the declared set of boundaries is empty"
    elif not settled:
        reason = "no settled run in the window"
    elif not universe:
        reason = "no run could show any boundary"
    else:
        score = len(covered) / len(universe)
        if declared is None and hidden:
            reason = f"left out, because no run could show it: {', '.join(hidden)}"
    views = no_views()
    if (relative := view.relative("boundary")) is not None:
        views |= {"relative_count": relative.by_count, "relative_mass": relative.by_mass}
    if declared is not None:
        views["declared"] = score
    counts = seen["runs"].to_list()
    return Dimension(
        dimension="boundary",
        score=score,
        method="ratio" if score is not None else "none",
        covered=len(covered),
        known=len(universe) if universe else None,
        covered_items=covered,
        missing=sorted(universe - names),
        undeclared=sorted(names - universe),
        runs=settled,
        singletons=counts.count(1),
        doubletons=counts.count(2),
        interval=None,
        universe="declared" if universe else "none",
        reason=reason,
        views=views,
        more={
            "items": _items(view, seen, universe, blind, settled),
            "unjudged": [] if declared is not None else hidden,
        },
    )


def _items(
    view: View, seen: pl.DataFrame, universe: frozenset[str], blind: dict[str, int], settled: int
) -> list[dict[str, object]]:
    rows = {row["item"]: row for row in seen.to_dicts()}
    found = []
    for name in sorted(universe | set(rows) | set(SEED_BOUNDARIES)):
        row = rows.get(name)
        status = "reached" if row else "cannot be seen" if blind.get(name, 0) >= settled else "never reached"
        if name == "tool_failure" and row:
            recovered = int(rows["tool_recovery"]["runs"]) if "tool_recovery" in rows else 0
            status = f"reached, recovered in {recovered} of {row['runs']} runs"
        found.append(
            {
                "item": name,
                "status": status,
                "runs": int(row["runs"]) if row else 0,
                "blind_runs": blind.get(name, 0),
                "example_trace": row["example_trace"] if row else None,
            }
        )
    return found
