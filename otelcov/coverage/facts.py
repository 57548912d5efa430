"""Runs laid flat: one table of runs, of tool calls, of delegations, of model calls, of path steps and of states.

The dimensions count from these tables. Each row names its run by `rid`; `tally` turns rows of one dimension into
observations: sums over the runs of one key. A row's `agent` is its scope: null speaks of the whole run, a name of
that agent's part of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from otelcov.coverage.names import ModelNames
from otelcov.ground.config import Config

BUCKET_NS = 3_600_000_000_000
MASS = 1_000_000  # adjusted counts are kept as whole millionths, so that sums are exact in any order
_WIDE = 2**32
_NOBODY = 2**32 - 1
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
    calls: pl.DataFrame  # rid, agent, item, status, at, executed, errors, requested
    delegations: pl.DataFrame  # rid, agent (from), item (to), tool, at, executed, errors, requested
    open_calls: pl.DataFrame
    open_delegations: pl.DataFrame
    llm: pl.DataFrame  # rid, agent, item (canonical model), failed, input_tokens, output_tokens, at
    agents: frozenset[str]  # whose steps are kept; empty: everyone's
    traces: pl.Series  # example traces in rising order; `trace_rank` of a run is its place here
    units: pl.DataFrame | None = None  # rid -> the run that stands for its cluster; None: each for itself

    def settled(self) -> pl.DataFrame:
        return self.runs.filter("settled")

    def mine(self, agent: pl.Expr) -> pl.Expr:
        """Whether a step belongs to the selected agents."""
        return agent.is_in(sorted(self.agents)) if self.agents else pl.lit(True)


def flatten(
    runs: pl.DataFrame,
    config: Config,
    agents: Collection[str] = (),
    key: Collection[str] = KEY,
    cluster: str | None = None,
) -> Facts:
    """The flat tables of RUNS rows; with `agents`, only their steps, but every run.

    `cluster` is a column of RUNS: rows that share its value count as one run, as conversations do whose turns are no
    independent observations.
    """
    chosen = frozenset(agents)
    start = pl.col("start_unix_nano").cast(pl.Int64)
    table = runs.with_row_index("rid").with_columns(
        start=start,
        bucket=start // BUCKET_NS * BUCKET_NS,
        trace=pl.col("trace_ids").list.min(),
        mass=(pl.col("weight").fill_null(1.0) * MASS).round().cast(pl.Int64),
        settled=pl.col("settled").fill_null(True),
    )
    llm = _model_calls(table, config)
    models = (
        llm.filter(pl.col("item").is_not_null())
        .group_by("rid")
        .agg(model=pl.col("item").unique().sort().str.join(MODELS_APART))
    )
    table = table.join(models, on="rid", how="left", maintain_order="left")
    groups = table.group_by(*key, maintain_order=True).agg("rid").with_row_index("key")
    table = table.join(groups.select("key", "rid").explode("rid"), on="rid", how="left", maintain_order="left")
    traces = table["trace"].unique().sort()
    table = table.with_columns(trace_rank=pl.col("trace").rank("dense").cast(pl.UInt32) - 1 + int(traces.has_nulls()))
    settled = table.select("rid", "settled")

    def of(frame: pl.DataFrame, is_settled: bool) -> pl.DataFrame:
        if chosen:
            frame = frame.filter(pl.col("agent").is_in(sorted(chosen)))
        return (
            frame.join(settled, on="rid", how="left", maintain_order="left")
            .filter(pl.col("settled") == is_settled)
            .drop("settled")
        )

    calls, delegations = _tool_calls(table), _delegations(table)
    return Facts(
        keys=groups.drop("rid"),
        runs=table,
        calls=of(calls, True),
        delegations=of(delegations, True),
        open_calls=of(calls, False),
        open_delegations=of(delegations, False),
        llm=of(llm, True),
        agents=chosen,
        traces=traces,
        units=None if cluster is None else _units(table, cluster),
    )


def digest(text: str) -> bytes:
    """The hash that stands for an item: 16 bytes of BLAKE2b over its UTF-8 text."""
    # Polars' own hash is no format: it may differ between releases and machines.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def scoped(steps: pl.DataFrame) -> pl.DataFrame:
    """Every step twice: for the whole run, and for its agent where that is known."""
    whole = steps.with_columns(agent=pl.lit(None, pl.String))
    return pl.concat([whole, steps.filter(pl.col("agent").is_not_null())])


def tally(
    facts: Facts, dimension: str, steps: pl.DataFrame, any_evidence: bool = False, once: bool = False
) -> pl.DataFrame:
    """Observations of one dimension from its steps.

    Steps have rid, agent (the scope), item, and optionally executed, errors, requested (numbers, by default 1, 0, 0)
    and at. A run counts for an item that it executed; with `any_evidence`, also for one that was only requested.
    `once` promises that no run has the same item of the same agent twice.
    """
    defaults = {"executed": pl.lit(1), "errors": pl.lit(0), "requested": pl.lit(0), "at": pl.lit(None)}
    steps = steps.with_columns(**{c: e.cast(pl.Int64) for c, e in defaults.items() if c not in steps.columns})
    if facts.units is not None:
        steps = steps.join(facts.units, on="rid").drop("rid").rename({"unit": "rid"})
    codes, names = _coded(steps)
    # One whole number to group by is several times faster than three columns, two of them text.
    per_run = codes.select("rid", "what", "executed", "errors", "requested", first="at", last="at")
    if not once or facts.units is not None:
        sums = pl.col("executed", "errors", "requested").sum()
        per_run = (
            per_run.group_by(both=pl.col("rid").cast(pl.UInt64) * _WIDE + pl.col("what"))
            .agg(sums, pl.col("first").min(), pl.col("last").max())
            .select((pl.col("both") // _WIDE).alias("rid"), (pl.col("both") % _WIDE).alias("what"), pl.exclude("both"))
        )
    runs = facts.runs
    at = per_run["rid"]
    per_run = per_run.with_columns(runs["key"].gather(at), runs["mass"].gather(at), runs["start"].gather(at), rid=at)
    counted = pl.lit(True) if any_evidence else pl.col("executed") > 0
    rows = (
        per_run.with_columns(counted=counted, trace=runs["trace_rank"].gather(at))
        .group_by(both=pl.col("key").cast(pl.UInt64) * _WIDE + pl.col("what"))
        .agg(
            runs=pl.col("counted").sum().cast(pl.Int64),
            mass=(pl.col("mass") * pl.col("counted")).sum(),
            calls=pl.col("executed").sum(),
            errors=pl.col("errors").sum(),
            requested=pl.col("requested").sum(),
            first_seen=pl.coalesce("first", "start").min(),
            last_seen=pl.coalesce("last", "start").max(),
            trace=pl.col("trace").min(),
        )
        .with_columns(key=(pl.col("both") // _WIDE).cast(pl.UInt32), what=pl.col("both") % _WIDE)
    )
    what, trace = rows["what"], rows["trace"]
    return rows.with_columns(
        names["agent"].gather(what),
        names["item"].gather(what),
        facts.traces.gather(trace).alias("example_trace"),
        pl.lit(dimension).alias("dimension"),
    ).select("key", "agent", "dimension", "item", *SUMS)


def _coded(steps: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Steps with `what`, a number for each (agent, item), and the table of what the numbers mean."""
    marked = steps.with_columns(
        pl.col("agent").cast(pl.Categorical).to_physical().fill_null(_NOBODY).alias("_agent"),
        pl.col("item").cast(pl.String).cast(pl.Categorical).to_physical().alias("_item"),
    ).with_columns(_both=pl.col("_agent").cast(pl.UInt64) * _WIDE + pl.col("_item"))
    names = marked.group_by("_both").agg(pl.col("agent").first(), pl.col("item").cast(pl.String).first())
    names = names.with_row_index("what")
    coded = marked.join(names.select("_both", "what"), on="_both", how="left")
    return coded.with_columns(pl.col("what").cast(pl.UInt64)), names


def _units(table: pl.DataFrame, column: str) -> pl.DataFrame:
    first = pl.col("rid").min().over(column)
    return table.select("rid", unit=pl.when(pl.col(column).is_null()).then("rid").otherwise(first))


def _rows_of(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """One row per element of a list of structs, in order; `pos` is its place."""
    return (
        table.select("rid", column)
        .filter(pl.col(column).list.len() > 0)
        .explode(column)
        .unnest(column)
        .with_columns(pos=pl.int_range(pl.len()).over("rid"))
    )


def _tool_calls(table: pl.DataFrame) -> pl.DataFrame:
    status = pl.col("status").fill_null("unknown")
    return (
        _rows_of(table, "tool_calls")
        .filter(pl.col("name").is_not_null())
        .select(
            "rid",
            "agent",
            "pos",
            item="name",
            at=pl.col("start_unix_nano").cast(pl.Int64),
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
        at=pl.col("start_unix_nano").cast(pl.Int64),
    )
