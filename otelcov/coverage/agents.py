"""One agent's part of what runs add up to: sums have it beside the whole, so no run need be looked at again."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from otelcov.coverage import edges
from otelcov.coverage.brief import EDGES
from otelcov.coverage.facts import KEY, digest
from otelcov.coverage.observations import ITEMS, Observations

_BY_RUN = ("run", "latency", "boundary", "boundary_unknown", "quality")  # they speak of runs, not of steps

# Of a run in which the agent took no step of this kind: of which runs that can be told, and the empty item.
_FILLED = {"path": ("path", ""), "sequence": ("tool", ""), "bigram": ("tool", "^ > $"), "state_set": ("state", "")}
_BEGINS = "^ > "  # of the one bigram that every sequence has


def observed_of(seen: Observations, name: str) -> Observations:
    """As if only this agent's steps had been counted, in every run; but for the times and example traces of runs in
    which it took none, which are null, and the shares of other agents, which are left out."""
    begins = seen.items.filter(pl.col("text").str.starts_with(_BEGINS))["item"]
    rows = of_agent(seen.rows, name, digest, pl.col("item").is_in(begins.implode()))
    shares = seen.rows.filter((pl.col("agent") == name) & ~pl.col("dimension").is_in(EDGES))
    empty = [text for _, text in _FILLED.values()]
    items = pl.DataFrame({"item": [digest(text) for text in empty], "text": empty}, schema=ITEMS)
    return Observations(pl.concat([rows, shares]), pl.concat([seen.items, items]).unique("item"))


def of_agent(
    base: pl.DataFrame,
    name: str,
    item: Callable[[str], str | bytes] = str,
    begins: pl.Expr | None = None,
) -> pl.DataFrame:
    """The same of rows alone. `item` is how they tell a text, `begins` which bigrams begin a sequence."""
    scope = pl.col("agent")
    kept = base.filter(
        (pl.col("dimension").is_in(_BY_RUN) & scope.is_null())
        | (pl.col("dimension").is_in(EDGES) & (scope == name))
        | (pl.col("dimension").is_in(edges.AGENTS) & (pl.col("item") == item(name)))
    )
    steps = base.filter(~pl.col("dimension").is_in([*_BY_RUN, *EDGES, *edges.AGENTS]) & (scope == name))
    steps = steps.with_columns(agent=pl.lit(None, pl.String))
    begins = pl.col("item").str.starts_with(_BEGINS) if begins is None else begins
    first = steps.filter((pl.col("dimension") == "bigram") & begins)
    taken = {kind: first if kind == "bigram" else steps.filter(pl.col("dimension") == kind) for kind in _FILLED}
    empty = [
        _empty(base.filter((pl.col("dimension") == "run") & (pl.col("item") == item(able))), taken[kind]).with_columns(
            dimension=pl.lit(kind), item=pl.lit(item(text))
        )
        for kind, (able, text) in _FILLED.items()
    ]
    return pl.concat([kept, steps, *(rows.select(base.columns) for rows in empty)])


def _empty(able: pl.DataFrame, taken: pl.DataFrame) -> pl.DataFrame:
    """Rows for those of the able runs in which the agent took no such step."""
    keys = [*KEY, "side"] if "side" in able.columns else [*KEY]
    used = taken.group_by(keys).agg(pl.col("runs", "mass").sum().name.suffix("_used"))
    left = able.join(used, on=keys, how="left", nulls_equal=True).with_columns(
        runs=pl.col("runs") - pl.col("runs_used").fill_null(0), mass=pl.col("mass") - pl.col("mass_used").fill_null(0)
    )
    when = [pl.lit(None, able.schema[name]).alias(name) for name in ("first_seen", "last_seen", "example_trace")]
    return left.filter(pl.col("runs") > 0).with_columns(pl.col("runs").alias("calls"), *when)


__all__ = ["observed_of", "of_agent"]
