"""What of a store is in no kept sum yet, or no longer: the traces that must be looked at again.

A trace is open if its spans came after the last count (*fresh*), if it was left out of the count because its runs had
not settled or may be parts of larger ones (*left*), or if fresh spans or log records belong to a trace that was
counted (*reopened*: its batch is then summed without it, from run rows).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

import polars as pl

from otelcov.ground.schemas import no_runs, signed
from otelcov.runs import slices
from otelcov.runs.joining.join import Guest
from otelcov.runs.slices import TRACES, Look
from otelcov.store import partitions, pieces
from otelcov.store.tables import Table
from otelcov.sums.kept import Batch, Kept

_HOSTS = [
    "run_id",
    "trace_ids",
    "service",
    "scope",
    "tool_calls",
    "llm_calls",
    "delegations",
    "start_unix_nano",
    "end_unix_nano",
]
_SMALL = 16  # spans: what stands alone is a call, and what an instrumentation puts around it
_CALLED = ("trace_id", "span_id", "parent_span_id", "name", "start_time_unix_nano", "end_time_unix_nano")


@dataclass(frozen=True)
class Open:
    kept: Kept
    look: pieces.Look
    new_spans: pl.DataFrame  # files (pieces.FILES) that are not counted
    new_logs: pl.DataFrame
    held_spans: pl.DataFrame  # rows that are in no file
    held_logs: pl.DataFrame
    elsewhere: pl.DataFrame  # halves.GLIMPSE of such rows that another process has
    fresh: pl.DataFrame  # TRACES, as far as the new rows show them
    left: pl.DataFrame  # TRACES
    same: frozenset[bytes]  # those of them of which nothing has come
    touched: pl.DataFrame  # TRACES and batch: counted, and now something of theirs has come
    early: pl.DataFrame  # TRACES and batch: of batches that this clock has not settled; the next clock may have
    seen: list[slices.Seen]  # what the new rows tell of a survey

    @property
    def reopened(self) -> pl.DataFrame:
        return pl.concat([self.touched, self.early]).unique(["trace_id", "batch"])

    @property
    def spans(self) -> int:
        """About how many spans are to be read again."""
        return sum(int(frame["spans"].sum()) for frame in (self.fresh, self.left, self.reopened))


def opened(
    kept: Kept,
    look: pieces.Look,
    now_ns: int,
    max_run_ns: int,
    with_inbox: bool = True,
    glimpse: Callable[[], pl.DataFrame] | None = None,
) -> Open:
    """`glimpse`: what another process tells of rows that the look lacks."""
    kept = _followed(kept, look)
    new_spans = look.spans.filter(~pl.col("path").is_in(sorted(kept.spans)))
    new_logs = look.logs.filter(~pl.col("path").is_in(sorted(kept.logs)))
    held_spans = look.held("spans") if with_inbox else pieces.empty_rows("spans")
    held_logs = look.held("logs") if with_inbox else pieces.empty_rows("logs")
    new = replace(Look.of(look), spans=new_spans, logs=new_logs)
    elsewhere = held_spans.clear() if glimpse is None else glimpse()
    seen = [*slices.seen(new, map), slices.seen_in(held_spans), slices.seen_in(elsewhere)]
    found = slices.surveyed(seen)
    logs = _of_logs(new, held_logs)
    came = [_came("spans", new.spans_url, new_spans, [held_spans, elsewhere])]
    came += [_came("logs", new.logs_url, new_logs, [held_logs])]
    times = pl.concat([found.traces["first"], found.traces["last"], logs["at"], *came])
    near = _near(kept.batches, times, max_run_ns)
    links = kept.links(near)
    linking = links.filter(pl.col("target").is_in(found.traces["trace_id"].implode()))["trace_id"]
    touching = pl.concat([found.traces["trace_id"], found.linked, linking, logs["trace_id"]]).unique()
    again = {batch.id: batch for batch in _disturbed(kept.batches, found.traces, max_run_ns)}
    touched = _whole(kept, kept.traces([b for b in near if b.id not in again], touching))
    touched = pl.concat([touched, kept.traces(again.values())])
    early = kept.traces(batch for batch in kept.batches if batch.settled_by > now_ns)
    left = kept.left_out()
    same = frozenset(left["trace_id"].filter(~left["trace_id"].is_in(touching.implode())))
    held = (held_spans, held_logs, elsewhere)
    return Open(kept, look, new_spans, new_logs, *held, found.traces, left, same, touched, early, seen)


def _whole(kept: Kept, touched: pl.DataFrame) -> pl.DataFrame:
    """The same traces (TRACES and batch), with all of a batch whose runs may hold several."""
    ids = set(touched["batch"]) & {batch.id for batch in kept.batches if batch.together}
    if not ids:
        return touched
    others = touched.filter(~pl.col("batch").is_in(sorted(ids)))
    return pl.concat([others, kept.traces(batch for batch in kept.batches if batch.id in ids)])


def _disturbed(batches: Iterable[Batch], fresh: pl.DataFrame, max_run_ns: int) -> list[Batch]:
    """Those of these batches of which fresh traces (TRACES) may hold a part: small ones that lie within `max_run`, and
    others that lie beside them."""
    some = [batch for batch in batches if batch.together]
    if not some or not fresh.height:
        return []
    near = pl.when(pl.col("spans") <= _SMALL).then(max_run_ns).otherwise(0)
    reach = fresh.select(low=signed("first") - near, high=signed("last") + near)
    return [b for b in some if reach.select(((pl.col("low") <= b.last) & (pl.col("high") >= b.first)).any()).item()]


def guests(open_: Open, spans: pl.DataFrame) -> pl.DataFrame:
    """TRACES and batch of counted runs that an open tool call may have made: an agent of the name that the call bears,
    in a trace of its own, within the time of the call."""
    from otelcov.runs.agents.delegation import bare
    from otelcov.runs.joining.join import called_agents
    from otelcov.runs.joining.overlaps import overlapping

    # What was left has been held against all that was counted; only what came since has not.
    fresh = spans.select(_CALLED).join(open_.fresh.select("trace_id"), on="trace_id", how="semi")
    calls = called_agents(fresh)
    found = [open_.reopened.clear()]
    for batch in open_.kept.batches if calls else ():
        within = [call for call in calls if call[1] <= batch.last and batch.first <= call[2]]
        if not within:
            continue
        low, high = max(0, min(low for _, low, _ in within)), max(high for _, _, high in within)
        runs = open_.kept.runs(batch, ["trace_ids", "agents", "start_unix_nano"])
        runs = runs.filter(pl.col("start_unix_nano").is_between(low, high)).explode("agents")
        named = {agent: bare(agent) for agent in runs["agents"].drop_nulls().unique()}
        told = pl.DataFrame(within, schema={"name": pl.String, "low": pl.Int64, "high": pl.Int64}, orient="row")
        name = pl.col("agents").replace_strict(named, default=None, return_dtype=pl.String).alias("name")
        at = signed("start_unix_nano")
        runs = runs.with_columns(name, at, end_unix_nano=at).drop_nulls("name")
        hits = runs.filter(overlapping(runs, told, ["name"]))
        if hits.height:
            ids = hits["trace_ids"].explode().str.decode("hex").unique()
            found.append(open_.kept.traces([batch]).filter(pl.col("trace_id").is_in(ids.implode())))
    return _whole(open_.kept, pl.concat(found))


def named(kept: Kept, names: set[str], times: pl.Series, max_run_ns: int) -> pl.DataFrame:
    """TRACES and batch of counted runs with an agent of these bare names, within `max_run` of these times."""
    from otelcov.runs.agents.delegation import bare

    found = [kept.traces([])]
    for batch in _near(kept.batches, times, max_run_ns) if names else ():
        runs = kept.runs(batch, ["trace_ids", "agents"])
        agents = [agent for agent in runs["agents"].explode().drop_nulls().unique() if bare(agent) in names]
        ids = runs.filter(pl.col("agents").list.eval(pl.element().is_in(agents)).list.any())["trace_ids"]
        found.append(kept.traces([batch], ids.explode().str.decode("hex")))
    return _whole(kept, pl.concat(found))


def hosting(
    kept: Kept, batches: Iterable[Batch], guests: list[Guest], max_run_ns: int
) -> tuple[pl.DataFrame, set[str]]:
    """TRACES and batch of counted runs with a tool call that may have called one of these agents, and their names."""
    from otelcov.runs.joining.join import hosts

    found, names = [kept.traces([])], set[str]()
    for batch in _near(batches, pl.Series([guest.start for guest in guests], dtype=pl.Int64), max_run_ns):
        runs = hosts(kept.runs(batch, _HOSTS), guests)
        found.append(kept.traces([batch], runs["trace_ids"].explode().str.decode("hex")))
        names.update(name for name in runs["called"] if name)
    return _whole(kept, pl.concat(found)), names


def told_twice(kept: Kept, batches: Iterable[Batch], runs: pl.DataFrame) -> tuple[pl.DataFrame, set[str]]:
    """TRACES and batch of counted runs that may tell of what one of these (see joining.told_again) tells, too; and the
    traces (in hex) of the latter."""
    from otelcov.runs.joining.told_again import told_again

    found, met = [kept.traces([])], set[str]()
    fresh, services = set(runs["trace_ids"].list.first()), set(runs["service"])
    times = pl.concat([runs["start_unix_nano"], runs["end_unix_nano"]]).drop_nulls()
    low, high = (times.min(), times.max())
    for batch in _near(batches, times, 0):
        counted = doubtful(kept, [batch], services).filter(
            (pl.col("end_unix_nano") >= low).fill_null(True), (pl.col("start_unix_nano") <= high).fill_null(True)
        )
        traces = told_again(pl.concat([runs, counted]), fresh) if counted.height else set()
        if not traces <= fresh:
            met |= traces & fresh
            found.append(kept.traces([batch], pl.Series(sorted(traces - fresh), dtype=pl.String).str.decode("hex")))
    return _whole(kept, pl.concat(found)), met


def doubtful(kept: Kept, batches: Iterable[Batch], services: Collection[str | None]) -> pl.DataFrame:
    """The runs of these batches and services that may be told twice (see joining.told_again)."""
    from otelcov.runs.joining.told_again import COLUMNS, of_services

    some = [b for b in batches if not {service for service, _ in b.tellers}.isdisjoint(services)]
    none = no_runs().select(COLUMNS)
    return pl.concat([none, *(of_services(kept.runs(batch, list(COLUMNS)), services) for batch in some)])


def _of_logs(look: Look, held: pl.DataFrame) -> pl.DataFrame:
    """trace_id, at: the traces that new log records name."""
    frames = [held.lazy()]
    if look.logs.height:
        frames.append(pieces.rows(look.logs_url, "logs", look.logs["path"]))
    rows = [f.select("trace_id", at=partitions.moment("logs")).collect() for f in frames]
    return pl.concat(rows).drop_nulls("trace_id")


def _came(name: str, url: str, files: pl.DataFrame, held: list[pl.DataFrame]) -> pl.Series:
    """When the rows came that lie out of range: what their trace holds else lies near that time, not near theirs."""
    outside = files.filter(pl.col("hour") < 0)["path"]
    rows = [some.lazy().filter(pieces.OUTSIDE) for some in held]
    rows += [pieces.rows(url, name, outside)] if len(outside) else []
    return pl.concat([some.select("received_unix_nano").collect() for some in rows]).to_series()


def _near(batches: Iterable[Batch], times: pl.Series, max_run_ns: int) -> list[Batch]:
    """The batches that lie within `max_run` of these times, and those of which that cannot be told."""
    if not len(times):
        return []
    low, high = int(times.min()) - max_run_ns, int(times.max()) + max_run_ns  # type: ignore[arg-type]
    return [b for b in batches if b.outside or (b.last >= low and b.first <= high)]


def _followed(kept: Kept, look: pieces.Look) -> Kept:
    """The list with the names that upkeep has given to the files on it since; nothing if that cannot be told.

    A rewritten hour holds the same spans, if all that went into it was counted. Whatever else took files away may have
    taken spans, so then nothing that was counted is believed.
    """
    if kept.versions[0] < 0:
        return kept
    spans = _renamed(look.tables.spans, look.spans, kept.spans, kept.versions[0])
    logs = _renamed(look.tables.logs, look.logs, kept.logs, kept.versions[1])
    return Kept(kept.folder) if spans is None or logs is None else replace(kept, spans=spans, logs=logs)


def _renamed(table: Table, files: pl.DataFrame, counted: frozenset[str], since: int) -> frozenset[str] | None:
    there = set(files["path"])
    if counted <= there:
        return counted
    known = set(counted)
    for version in range(since + 1, table.version + 1):
        actions = table.log(version)
        if actions is None:
            return None
        removed = {a["remove"]["path"] for a in actions if "remove" in a}
        if not removed & known:
            continue
        operation = next((a["commitInfo"].get("operation") for a in actions if "commitInfo" in a), None)
        if operation != "WRITE" or not removed <= known:
            return None
        known = (known - removed) | {a["add"]["path"] for a in actions if "add" in a}
    return frozenset(known) if known <= there else None


__all__ = ["TRACES", "Open", "doubtful", "guests", "hosting", "named", "opened", "told_twice"]
