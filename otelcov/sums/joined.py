"""Runs that several traces hold or may hold - a trace a model call, an agent called in a trace of its own - once
nothing can join them any more: they get batches of their own, and cost no later report anything.

Parts of a run lie at most `max_run` apart. What ended longer ago than that waits for nobody; only a trace that comes so
late that it lies near them could still belong to one, and then the whole batch is counted again (opened.py). Each step
joins some traces in the order of time with those of before that may go on in them.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from otelcov.coverage.observations import partial
from otelcov.ground.config import Config
from otelcov.runs import slices
from otelcov.runs.joining.join import continued, joints
from otelcov.runs.reconstruct import reconstruct
from otelcov.runs.slices import Look
from otelcov.runs.whole.unknowns import NO_ROOT
from otelcov.sums import kept as files
from otelcov.sums.kept import LINKS, ODD, Batch

LATE_NS = 3_600 * 10**9  # spans that come so late are nothing out of the ordinary: their neighbours wait for them
_FEW = 2_000  # spans that may as well be counted by each report
_STEP = 50_000  # spans of one step, besides those that wait for the next

Rows = tuple[pl.DataFrame, pl.DataFrame]


def close(
    there: Path, left: pl.DataFrame, held: Rows, every: Look, config: Config, now_ns: int, until_ns: int
) -> tuple[list[Batch], pl.DataFrame]:
    """Batches of the runs of these traces (TRACES) that end by `until_ns` with all of their traces, and the traces that
    are left. `held` are their rows as far as they are known; the others are read. Nothing is done before half of what
    is left may be closed: so each trace is looked at a few times, however long the history."""
    old = left.filter((pl.col("end") <= until_ns) & ~pl.col("outside"))
    if _spans(old) < max(_FEW, _spans(left) // 2):
        return [], left
    waiting = left.filter(~pl.col("outside")).sort("first", "trace_id")
    batches, carried, at = list[Batch](), waiting.clear(), 0
    while at < waiting.height:
        counts = waiting["spans"][at:].cum_sum()
        upto = at + max(1, int((counts <= max(_STEP, _spans(carried))).sum()))
        some, at = pl.concat([carried, waiting[at:upto]]), upto
        by_ns = until_ns
        if at < waiting.height:
            by_ns = min(by_ns, int(waiting["first"][at]) - config.runs.max_run_ns)
        carried = some
        if (some["end"] <= max(0, by_ns)).any():
            batch, carried = _step(there, some, _rows(some, held, every), config, now_ns, by_ns)
            batches += [batch] if batch is not None else []
    return batches, pl.concat([left.filter("outside"), carried])


def _step(
    there: Path, some: pl.DataFrame, rows: Rows, config: Config, now_ns: int, by_ns: int
) -> tuple[Batch | None, pl.DataFrame]:
    """A batch of what is over, and the traces that are not."""
    spans, logs, odd = slices.each_once(*rows)
    where = joints(spans)
    runs = reconstruct(spans, logs, config, now_ns, where)
    names = runs.select("settled", trace="trace_ids").with_row_index("run").explode("trace")
    open_ = set(some.filter(pl.col("end") > by_ns)["trace_id"].bin.encode("hex"))
    open_ |= set(names.filter(~pl.col("settled"))["trace"])
    linked = [(runs.height + at, x.hex()) for at, (_, *both, _) in enumerate(where.edges) for x in both]
    held = pl.DataFrame(linked, schema={"run": pl.UInt32, "trace": pl.String}, orient="row")  # some hold no step
    names = pl.concat([names.select(held.columns), held])
    while True:
        going = names.filter(pl.col("trace").is_in(list(open_)))["run"].unique()
        more = set(names.filter(pl.col("run").is_in(going.implode()))["trace"])
        if more <= open_:
            break
        open_ |= more
    over = ~pl.col("trace_id").bin.encode("hex").is_in(list(open_))
    traces = some.filter(over)
    if not traces.height:
        return None, some
    ended = runs.filter(~pl.int_range(pl.len()).is_in(going.implode()))
    rootless = ended.filter(pl.col("incomplete").list.contains(NO_ROOT))["end_unix_nano"]
    settled_by = int(rootless.max() or 0) + config.runs.settle_ns if len(rootless) else 0  # type: ignore[arg-type]
    links = continued(spans).select(LINKS.names()).filter(over).unique()
    odd, summed = odd.filter(over).select(ODD.names()), partial(ended, config)
    return files.batch_of(there, ended, traces, odd, links, summed, settled_by, together=True), some.filter(~over)


def _spans(traces: pl.DataFrame) -> int:
    return int(traces["spans"].sum())


def _rows(some: pl.DataFrame, held: Rows, every: Look) -> Rows:
    known = some["trace_id"].is_in(held[0]["trace_id"].unique().implode())
    parts = [slices.rows_of(part) for part in slices.parts(every, some.filter(~known))] if not known.all() else []
    of_known = pl.col("trace_id").is_in(some.filter(known)["trace_id"].implode())
    spans, logs = zip(*parts, strict=True) if parts else ((), ())
    return (
        pl.concat([held[0].filter(of_known), *spans], rechunk=True),
        pl.concat([held[1].filter(of_known), *logs], rechunk=True),
    )
