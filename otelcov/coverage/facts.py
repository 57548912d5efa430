"""Runs laid flat: one table of runs, of tool calls, of delegations, of model calls, of path steps and of states.

The dimensions take their steps from these tables (`tally` adds them up). Each row names its run by `rid`. A row's
`agent` is its scope: null speaks of the whole run, a name of that agent's part of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.models import ModelNames
from otelcov.ground.schemas import signed

BUCKET_NS = 3_600_000_000_000
MASS = 1_000_000  # adjusted counts are kept as whole millionths, so that sums are exact in any order
MODELS_APART = "\x1f"  # between the names of a run's models in one key

# What a sum is kept apart by; `model` holds all models of the run.
KEY = ("bucket", "service", "environment", "release", "model", "case")

SUMS: dict[str, pl.DataType | type[pl.DataType]] = {
    "runs": pl.Int64,
    "mass": pl.Int64,
    "calls": pl.Int64,
    "errors": pl.Int64,
    "requested": pl.Int64,
    "first_seen": pl.Int64,
    "last_seen": pl.Int64,
    "example_trace": pl.String,
}


@dataclass(frozen=True)
class Facts:
    """The flat tables. `settled` runs alone are in them, except `runs` and `open_calls` / `open_delegations`."""

    keys: pl.DataFrame  # key, and the columns of KEY
    runs: pl.DataFrame  # rid (its row number), key, start, trace_rank, mass, and the columns of RUNS
    llm: pl.DataFrame  # rid, agent, item (canonical model), failed, input_tokens, output_tokens, at
    agents: frozenset[str]  # whose steps are kept; empty: everyone's
    traces: pl.Series  # example traces in rising order; `trace_rank` of a run is its place here
    units: pl.DataFrame | None = None  # rid -> the run that stands for its cluster; None: each for itself

    @cached_property
    def calls(self) -> pl.DataFrame:
        """rid, pos, agent, item, status, at, executed, errors, requested"""
        return self._settled(self._calls, True)

    @cached_property
    def open_calls(self) -> pl.DataFrame:
        return self._settled(self._calls, False)

    @cached_property
    def delegations(self) -> pl.DataFrame:
        """rid, agent (from), item (to), tool, at, executed, errors, requested"""
        return self._settled(self._handed, True)

    @cached_property
    def open_delegations(self) -> pl.DataFrame:
        return self._settled(self._handed, False)

    def settled(self) -> pl.DataFrame:
        return self.runs if self._all_settled else self.runs.filter("settled")

    def mine(self, agent: pl.Expr) -> pl.Expr:
        """Whether a step belongs to the selected agents."""
        return agent.is_in(sorted(self.agents)) if self.agents else pl.lit(True)

    @cached_property
    def _all_settled(self) -> bool:
        return bool(self.runs["settled"].all())

    @cached_property
    def _calls(self) -> pl.DataFrame:
        return _tool_calls(self.runs)

    @cached_property
    def _handed(self) -> pl.DataFrame:
        return _delegations(self.runs)

    def _settled(self, frame: pl.DataFrame, is_settled: bool) -> pl.DataFrame:
        if self.agents:
            frame = frame.filter(pl.col("agent").is_in(sorted(self.agents)))
        if self._all_settled:
            return frame if is_settled else frame.clear()
        return frame.filter(self.runs["settled"].gather(frame["rid"]) == is_settled)


def flatten(
    runs: pl.DataFrame,
    config: Config,
    agents: Collection[str] = (),
    key: Collection[str] = KEY,
    cluster: str | None = None,
    models: pl.Series | None = None,
) -> Facts:
    """The flat tables of RUNS rows; with `agents`, only their steps, but every run.

    `cluster` is a column of RUNS: rows that share its value count as one run, as conversations do whose turns are no
    independent observations. `models`: the column `model` of these runs, where it is known.
    """
    chosen = frozenset(agents)
    start = signed("start_unix_nano")
    alone = not (runs["trace_ids"].list.len() > 1).any()  # then the first is the least, and text need not be compared
    table = runs.with_row_index("rid").with_columns(
        start=start,
        bucket=start // BUCKET_NS * BUCKET_NS,
        trace=pl.col("trace_ids").list.first() if alone else pl.col("trace_ids").list.min(),
        mass=(pl.col("weight").fill_null(1.0) * MASS).round().cast(pl.Int64),
        settled=pl.col("settled").fill_null(True),
    )
    llm = _model_calls(table, config)
    models = _models(table, llm) if models is None else models
    table = table.with_columns(models.alias("model"), trace_rank=pl.col("trace").rank("dense").cast(pl.UInt32) - 1)
    groups = table.group_by(*key, maintain_order=True).agg("rid").with_row_index("key")
    table = table.with_columns(groups.select("key", "rid").explode("rid").sort("rid")["key"])
    traces = table.select("trace", "trace_rank").drop_nulls().unique("trace_rank").sort("trace_rank")["trace"]
    facts = Facts(groups.drop("rid"), table, llm, chosen, traces, None if cluster is None else _units(table, cluster))
    return replace(facts, llm=facts._settled(llm, True))


def digest(text: str) -> bytes:
    """The hash that stands for an item: 16 bytes of BLAKE2b over its UTF-8 text."""
    # Polars' own hash is no format: it may differ between releases and machines.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def scoped(steps: pl.DataFrame) -> pl.DataFrame:
    """Every step twice: for the whole run, and for its agent where that is known."""
    whole = steps.with_columns(agent=pl.lit(None, pl.String))
    return pl.concat([whole, steps.filter(pl.col("agent").is_not_null())])


def _models(table: pl.DataFrame, llm: pl.DataFrame) -> pl.Series:
    """All models of each run."""
    used = (
        llm.filter(pl.col("item").is_not_null())
        .group_by("rid")
        .agg(model=pl.col("item").unique().sort().str.join(MODELS_APART))
    )
    return table.select("rid").join(used, on="rid", how="left", maintain_order="left")["model"]


def _units(table: pl.DataFrame, column: str) -> pl.DataFrame:
    first = pl.col("rid").min().over(column)
    return table.select("rid", unit=pl.when(pl.col(column).is_null()).then("rid").otherwise(first))


def _rows_of(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """One row per element of a list of structs, in order."""
    return table.select("rid", column).filter(pl.col(column).list.len() > 0).explode(column).unnest(column)


def _tool_calls(table: pl.DataFrame) -> pl.DataFrame:
    status = pl.col("status").fill_null("unknown")
    return (
        _rows_of(table, "tool_calls")
        .with_row_index("pos")
        .filter(pl.col("name").is_not_null())
        .select(
            "rid",
            "agent",
            "pos",
            item="name",
            at=signed("start_unix_nano"),
            executed=(status != "requested").cast(pl.Int64),
            errors=(status == "error").cast(pl.Int64),
            requested=(status == "requested").cast(pl.Int64),
        )
    )


def _delegations(table: pl.DataFrame) -> pl.DataFrame:
    status = pl.col("status").fill_null("unknown")
    return _rows_of(table, "delegations").select(
        "rid",
        "tool",
        agent="from",
        item="to",
        at=pl.lit(None, pl.Int64),
        executed=(status != "requested").cast(pl.Int64),
        errors=(status == "error").cast(pl.Int64),
        requested=(status == "requested").cast(pl.Int64),
    )


def _model_calls(table: pl.DataFrame, config: Config) -> pl.DataFrame:
    calls = _rows_of(table, "llm_calls").with_columns(raw=pl.coalesce("request_model", "response_model"))
    names = ModelNames(config).all(calls["raw"].drop_nulls().unique())
    return calls.select(
        "rid",
        "agent",
        "input_tokens",
        "output_tokens",
        item=pl.col("raw").replace_strict(names, default=None, return_dtype=pl.String),
        errors=(pl.col("status") == "error").fill_null(False).cast(pl.Int64),
        at=signed("start_unix_nano"),
    )
