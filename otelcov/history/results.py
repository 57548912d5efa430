"""What cases showed, kept in the store: one row for each run that was held against a case.

    <store>/results/   a Delta table of RESULTS; a run that is judged again is a further row, and the last one counts

No content is kept: names, ids, verdicts and figures.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from otelcov.cases.judge import Judgement
from otelcov.ground.config import Config
from otelcov.ground.errors import StoreError
from otelcov.ground.models import ModelNames
from otelcov.ground.selection import Selection
from otelcov.ground.windows import Window
from otelcov.store import remote

if TYPE_CHECKING:
    from deltalake import DeltaTable

_COLUMNS: dict[str, Any] = {
    "judged_unix_nano": pl.Int64,
    "suite": pl.String,
    "case": pl.String,
    "turn": pl.Int64,  # from 1; null for a case of one turn
    "result": pl.String,  # pass | fail | no_data | not_observed
    "failed": pl.List(pl.String),  # the checks that did
    "run_id": pl.String,  # null: not observed
    "conversation_id": pl.String,
    "start_unix_nano": pl.Int64,
    "service": pl.String,
    "environment": pl.String,
    "release": pl.String,
    "models": pl.List(pl.String),
    "latency_ms": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "tokens": pl.Int64,
    "llm_calls": pl.Int64,
    "tool_calls": pl.Int64,
    "errors": pl.Int64,
    "cost": pl.Float64,
}
RESULTS = pl.Schema(_COLUMNS)
_FROM_RUN = [name for name in RESULTS if name not in ("judged_unix_nano", "suite", "case", "turn", "result", "failed")]


def rows(judgement: Judgement, suites: Mapping[str, str], now_ns: int) -> pl.DataFrame:
    """A judgement as RESULTS; `suites` tells the file of each case."""
    found = [
        (found.case.name, turn.number, j.result, [c.name for c in j.checks if c.result == "fail"], j.row)
        for found in judgement.cases
        for turn in found.turns
        if turn.counts
        for j in turn.judged
    ]
    unseen: list[tuple[Any, ...]] = [
        (found.case.name, turn.number, turn.result, [], None)
        for found in judgement.cases
        for turn in found.turns
        if turn.counts and not turn.judged
    ]
    schema: dict[str, Any] = {
        "case": pl.String,
        "turn": pl.Int64,
        "result": pl.String,
        "failed": pl.List(pl.String),
        "row": pl.UInt32,
    }
    table = pl.DataFrame([*found, *unseen], schema=schema, orient="row")
    runs = judgement.runs.select(_FROM_RUN).with_row_index("row")
    joined = table.join(runs, on="row", how="left", maintain_order="left")
    named = joined.with_columns(
        judged_unix_nano=pl.lit(now_ns),
        suite=pl.col("case").replace_strict(suites, default=None, return_dtype=pl.String),
    )
    return named.select(RESULTS.names()).cast(RESULTS)


def keep(store: str, results: pl.DataFrame) -> None:
    """Add results to the store."""
    from deltalake import write_deltalake
    from deltalake.exceptions import DeltaError

    try:
        _writable(store)  # Delta would find out, too, and print a stack of Rust beside it
        write_deltalake(
            f"{store.rstrip('/')}/results", results.to_arrow(), mode="append", storage_options=remote.options(store)
        )
    except (DeltaError, OSError) as error:
        raise StoreError(f"Couldn't keep the results in {store}: {error}. Use --no-keep to go without.") from error


def _writable(store: str) -> None:
    if not remote.is_remote(store):
        folder = Path(store, "results")
        if not os.access(folder if folder.is_dir() else store, os.W_OK):
            raise PermissionError("the folder is not writable")


def read(store: str, window: Window | None = None) -> pl.DataFrame:
    """The last result of each run in each case, for runs that start in the window; empty where none were kept."""
    found = table(store, "results")
    if found is None:
        return pl.DataFrame(schema=RESULTS)
    inside: list[tuple[str, str, Any]] = []  # files that lie outside are not read
    if window is not None and window.since_ns is not None:
        inside.append(("start_unix_nano", ">=", window.since_ns))
    if window is not None and window.until_ns is not None:
        inside.append(("start_unix_nano", "<", window.until_ns))
    arrow = found.to_pyarrow_table(filters=inside or None)
    frame = pl.DataFrame(pl.from_arrow(arrow)).select(RESULTS.names()).cast(RESULTS)
    frame = frame.filter(pl.col("run_id").is_not_null())
    order = ["start_unix_nano", "run_id", "suite", "case", "turn", "judged_unix_nano"]
    return frame.sort(order).unique(["suite", "case", "turn", "run_id"], keep="last", maintain_order=True)


def forget(store: str, runs: Collection[str]) -> None:
    """Erase the results of these runs, and the files that held them."""
    found = table(store, "results")
    if found is None or not runs:
        return
    listed = ", ".join(f"'{run_id}'" for run_id in sorted(runs))
    found.delete(f"run_id IN ({listed})")
    found.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


def chosen(results: pl.DataFrame, selection: Selection, config: Config) -> pl.DataFrame:
    """The results whose runs a selection keeps."""
    for column in ("service", "environment", "release", "case"):
        if wanted := getattr(selection, column):
            results = results.filter(pl.col(column).is_in(wanted))
    if selection.side:
        names = results["environment"].unique().to_list()
        kept = [name for name in names if config.side(name) in selection.side]
        results = results.filter(pl.col("environment").is_in(kept, nulls_equal=True))
    if selection.model:
        wanted = sorted(ModelNames(config).wanted(selection.model))
        models = pl.col("models").list.eval(pl.element().is_in(wanted))
        results = results.filter(models.list.any().fill_null(False))
    return results


def table(store: str, name: str) -> DeltaTable | None:
    """A table of this package, None if nothing was kept in it yet; a store there must be."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    if not remote.is_remote(store) and not Path(store).is_dir():
        raise StoreError(
            f"There is no store in {store}. Is --store right? `otelcov collect`, `otelcov import` and "
            "`otelcov demo` create one."
        )
    url, options = f"{store.rstrip('/')}/{name}", remote.options(store)
    try:
        return DeltaTable(url, storage_options=options) if DeltaTable.is_deltatable(url, options) else None
    except (DeltaError, OSError) as error:
        raise StoreError(f"Couldn't read the {name} kept in {store}: {error}") from error
