"""C_state: how much of the states that runs pass through was passed through.

A state follows an executed tool call: `agent|tool|outcome|shape|earlier failures` (runs/ abstracts it; no content).
Score: relative by mass where tests and another side are in the window, else the sample coverage of incidences
(Chao et al. 2014). The set of states of each run is kept too, so that whole runs can be drawn again.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from otelcov.coverage import estimators
from otelcov.coverage.dimension import Dimension, View, frequent, no_views
from otelcov.coverage.facts import Facts
from otelcov.coverage.tally import Steps

APART = "\n"  # between the states of one set


def observe(facts: Facts) -> list[Steps]:
    """Rows `state` (runs that were in it) and `state_set` (runs with exactly these states)."""
    runs = facts.settled().filter(pl.col("states").is_not_null())
    visits = runs.select("rid", item="states").explode("item").filter(pl.col("item").is_not_null())
    visits = visits.with_columns(agent=pl.col("item").str.split("|").list.first())
    visits = visits.filter(facts.mine(pl.col("agent")))
    visits = visits.select("rid", "agent", "item").unique()
    alone = pl.concat([visits.with_columns(agent=pl.lit(None, pl.String)), visits])
    sets = alone.sort("item").group_by("rid", "agent", maintain_order=True).agg(item=pl.col("item").str.join(APART))
    none = runs.select("rid").join(visits, on="rid", how="anti")
    empty = none.select("rid", agent=pl.lit(None, pl.String), item=pl.lit(""))
    return [Steps("state", alone, once=True), Steps("state_set", pl.concat([sets, empty]), once=True)]


def measure(view: View) -> Dimension:
    seen = view.items("state")
    runs = view.shown.get("state", 0)
    counts = seen["runs"].to_list()
    q1, q2, incidences = counts.count(1), counts.count(2), sum(counts)
    relative = view.relative("state")
    views = no_views()
    if relative is not None:
        views |= {"relative_count": relative.by_count, "relative_mass": relative.by_mass}
    body: dict[str, Any] = {
        "score": None,
        "method": "none",
        "covered": seen.height,
        "known": None,
        "covered_items": frequent(seen),
        "missing": [],
        "interval": None,
        "universe": "none",
        "reason": None,
    }
    if not view.shown.get("settled", 0):
        body["reason"] = "no settled run in the window"
    elif relative is not None:
        body |= relative.result("states")
    elif not runs or not incidences:
        body["reason"] = (
            "no run can show its states" if not runs else "no run called a tool, so none left its first state"
        )
    elif runs < view.config.coverage.min_runs:
        body["reason"] = f"{runs} runs, an estimate needs {view.config.coverage.min_runs}"
    else:
        score = estimators.sample_coverage_of_incidences(runs, incidences, q1, q2)
        body |= {
            "score": score,
            "method": "chao_2014",
            "universe": "estimated",
            "interval": _drawn_again(view),
            "reason": "sampled, rate unknown" if view.shown.get("sampled:unknown") else None,
        }
    return Dimension(
        dimension="state",
        undeclared=[],
        runs=runs,
        singletons=q1,
        doubletons=q2,
        views=views,
        **body,
        more={
            "incidences": incidences,
            "distinct": seen.height,
            "mass": None if relative is None else relative.masses,
        },
    )


def _drawn_again(view: View) -> estimators.Interval:
    sets = view.items("state_set").filter(pl.col("runs") > 0).with_row_index("group")
    kinds = sets.with_columns(pl.col("item").str.split(APART)).explode("item").filter(pl.col("item") != "")
    names = kinds.select("item").unique().sort("item").with_row_index("kind")
    kinds = kinds.join(names, on="item", how="left")
    return estimators.bootstrap_interval(
        sets["runs"].to_numpy().astype("int64"),
        kinds["group"].to_numpy().astype("int64"),
        kinds["kind"].to_numpy().astype("int64"),
    )
