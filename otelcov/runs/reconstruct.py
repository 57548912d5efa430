"""Spans in, runs out: batches of whole traces through the dialects, then the joining of what several traces hold."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.schemas import LOGS, no_runs
from otelcov.runs.agents.naming import name_agents
from otelcov.runs.assemble import assemble
from otelcov.runs.joining.fragments import Fragment, fragments
from otelcov.runs.joining.join import Guest, Joints, guests, hosts, join, joints, waits
from otelcov.runs.joining.retold import lay_together
from otelcov.runs.joining.sessions import STEPS
from otelcov.runs.joining.told_again import Teller, of_services, tellers, told_again, twofold
from otelcov.runs.rows import Columns, Row
from otelcov.runs.shortcut.regular import regular
from otelcov.runs.trace.afar import take_in
from otelcov.runs.trace.beside_tools import put_in_tools
from otelcov.runs.trace.inherited import inherit_errors
from otelcov.runs.trace.spans import Side, Span, table, traces
from otelcov.runs.trace.spans import rows as spans_of
from otelcov.runs.trace.tree import Trace
from otelcov.runs.unreadable import forgive, unreadable, without_facts
from otelcov.runs.whole.states import filled
from otelcov.runs.whole.unknowns import told

BATCH = 80_000  # spans of whole traces whose columns are open at one time
TREES = 10_000  # of these, how many are Python objects at one time


class Met(NamedTuple):
    """What of some traces may be met in others."""

    guests: list[Guest]  # agents in traces of their own that tool calls elsewhere may have called
    doubtful: pl.DataFrame  # runs that may be told elsewhere, too (see joining.told_again)


class Others(Protocol):
    """Whole traces of which someone else does stage one."""

    def loose(self) -> set[bytes]:
        """Those that may be parts of larger runs."""
        ...

    def hosts(self, found: list[Guest]) -> set[bytes]:
        """Those whose runs may tell of one of these (see joining.hosts)."""
        ...

    def tellers(self) -> set[Teller]:
        """Who tells of their runs, once `loose` has been asked (see joining.told_again)."""
        ...

    def of_services(self, services: Collection[str | None]) -> pl.DataFrame:
        """Their runs that may have been told again, as joining.told_again looks at them."""
        ...

    def given_up(self, traces: Collection[bytes]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The spans and log records of those of them that are among these traces, which are no longer theirs."""
        ...


def reconstruct(
    spans: pl.LazyFrame | pl.DataFrame,
    logs: pl.LazyFrame | pl.DataFrame | None = None,
    config: Config | None = None,
    now_ns: int = 0,
    where: Joints | None = None,
) -> pl.DataFrame:
    """The runs of these spans (SPANS columns) and log records (LOGS columns): one RUNS row each, sorted by
    (start, run id). Spans must be unique by (trace id, span id).
    `where` is given where these spans are some of more."""
    return meeting(spans, logs, config, now_ns, where)[0]


def meeting(
    spans: pl.LazyFrame | pl.DataFrame,
    logs: pl.LazyFrame | pl.DataFrame | None = None,
    config: Config | None = None,
    now_ns: int = 0,
    where: Joints | None = None,
    others: Others | None = None,
) -> tuple[pl.DataFrame, Met]:
    """The runs, and what of these may be met elsewhere. Where there are `others`, `where` knows these, too; what they
    have not given up in the end, they tell of themselves."""
    config = config or Config()
    frame = spans.lazy().collect()
    records = logs.lazy().collect() if logs is not None else LOGS.to_frame()
    with _no_passes():
        frames, met = _runs(frame, records, config, now_ns, where or joints(frame), others)
    runs = pl.concat([no_runs(), *frames]).sort("start_unix_nano", "run_id", nulls_last=True)
    return filled(runs, config), met


def _runs(
    frame: pl.DataFrame, records: pl.DataFrame, config: Config, now_ns: int, where: Joints, others: Others | None
) -> tuple[list[pl.DataFrame], Met]:
    frames, waiting = _stage_one(frame, records, config, now_ns, where)
    if others is not None:
        more, some = _stage_one(*others.given_up(others.loose()), config, now_ns, where)
        frames, waiting = [*frames, *more], [*waiting, *some]
    alone = pl.concat([no_runs(), *frames])
    met, known, again = _met(alone, waiting, where, others)
    if again is not where:  # then those who may have called them, or tell of them, wait, too
        where, ids = again, pl.Series(sorted(known), dtype=pl.Binary)
        spans, logs = frame.filter(pl.col("trace_id").is_in(ids.implode())), records
        if others is not None:
            given = others.given_up(known)
            spans, logs = pl.concat([spans, given[0]]), pl.concat([logs, given[1]])
        more, some = _stage_one(spans, logs, config, now_ns, where)
        frames = [alone.filter(~pl.col("trace_ids").list.first().is_in(ids.bin.encode("hex").implode())), *more]
        waiting = [*(part for part in waiting if part.trace_id not in known), *some]
    rows = Columns()
    for group in _joined(waiting, where, config, lambda *lost: _lose(rows, *lost)):
        rows.add(_row(group, config, now_ns))
    return [*frames, *([told(_framed(rows))] if rows.height else [])], met


def _met(
    alone: pl.DataFrame, waiting: list[Fragment], where: Joints, others: Others | None
) -> tuple[Met, set[bytes], Joints]:
    """What of that which stage one found may be met in others, the traces that may tell of it, and what there is to be
    joined once these are waited for: the same as before where there is nothing to wait for."""
    found = guests(waiting, where)
    new = [guest for guest in found if guest.alone is not None or guest.name not in where.guests]
    doubtful = _doubtful(alone, others, where)
    known = {bytes.fromhex(trace) for trace in told_again(doubtful)}
    known |= set(hosts(alone, new)["trace_ids"].list.first().str.decode("hex"))
    known |= others.hosts(new) if others is not None and new else set()
    met = Met(found, doubtful)
    if not new and not known:
        return met, known, where
    names = {guest.name for guest in new if guest.name}
    return met, known, replace(where, guests=where.guests | names, awaited=where.awaited | known)


def _doubtful(runs: pl.DataFrame, others: Others | None, where: Joints) -> pl.DataFrame:
    """The runs, here or with the others, that two instrumentations may have told (see joining.told_again)."""
    services = twofold(tellers(runs) | where.tellers | (others.tellers() if others is not None else set()))
    some = [of_services(runs, services), *([others.of_services(services)] if others is not None and services else [])]
    return pl.concat(some)


def stage_one(
    frame: pl.DataFrame, records: pl.DataFrame, config: Config, now_ns: int, where: Joints
) -> tuple[pl.DataFrame, set[bytes], list[Guest]]:
    """The runs of these whole traces that need no other, the ids of the traces that may be parts of larger runs, and
    which agents among these some tool call may have called.

    `where` knows the spans of all traces, of which these are some: so the work divides. A call waits for agents that
    `where.guests` names; `hosts` finds who may have called another."""
    with _no_passes():
        frames, waiting = _stage_one(frame, records, config, now_ns, where)
    runs = filled(pl.concat([no_runs(), *frames]), config)
    return runs, {part.trace_id for part in waiting}, guests(waiting, where)


@contextmanager
def _no_passes() -> Iterator[None]:
    """Without the collector of garbage: millions of small objects and not one cycle, its passes would cost more than
    the work."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _stage_one(
    frame: pl.DataFrame, records: pl.DataFrame, config: Config, now_ns: int, where: Joints
) -> tuple[list[pl.DataFrame], list[Fragment]]:
    rows = Columns()
    waiting: list[Fragment] = []
    frames: list[pl.DataFrame] = []
    for part in _batches(frame):
        mine = records.filter(records["trace_id"].is_in(part["trace_id"].unique().implode()))
        frame_, side = table(part, mine, config.coverage.state_attributes)
        done, rest = _shortcut(frame_, side, config, now_ns, where)
        frames.append(done)
        for some in _pieces(frame_.filter(pl.Series(rest))):
            for trace, parts, wait in _trees(some, side, where, lambda *lost: _lose(rows, *lost)):
                if wait:
                    waiting.extend(parts)
                else:
                    for fragment in parts:
                        rows.add(_row([fragment], config, now_ns))
                    trace.release()
        if rows.height:
            frames.append(told(_framed(rows)))
    return frames, waiting


def _shortcut(
    frame: pl.DataFrame, side: Side, config: Config, now_ns: int, where: Joints
) -> tuple[pl.DataFrame, npt.NDArray[np.bool_]]:
    """See `regular`; where that fails, every trace goes the long way, which tells which of them cannot be read."""
    try:
        return regular(frame, side, config, now_ns, where)
    except Exception as fault:
        forgive(fault, "The shortcut failed; these spans are read the long way, which takes longer.")
        return no_runs(), np.ones(frame.height, dtype=bool)


def _row(group: list[Fragment], config: Config, now_ns: int) -> Row:
    try:
        return assemble(group, config, now_ns)
    except Exception as fault:  # ours: of one run, and of no other
        return unreadable([n.span for f in group for n in f.nodes], group[0].root.span, fault)


def _framed(rows: Columns) -> pl.DataFrame:
    try:
        return rows.frame()
    except Exception:  # a value is of no type that its column has
        return pl.concat([_alone(row) for row in rows.each()])


def _alone(row: Row) -> pl.DataFrame:
    rows = Columns()
    rows.add(row)
    try:
        return rows.frame()
    except Exception as fault:
        rows = Columns()
        rows.add(without_facts(row, fault))
        return rows.frame()


def groups(frame: pl.DataFrame, records: pl.DataFrame, config: Config) -> Iterator[list[Fragment]]:
    """The fragments of each run of these spans and log records, for who wants more of a run than its row."""
    where = joints(frame)
    done, first = _stage_one(frame, records, config, 0, where)
    where = _met(pl.concat([no_runs(), *done]), first, where, None)[2]
    waiting = list[Fragment]()
    for part in _batches(frame):
        mine = records.filter(records["trace_id"].is_in(part["trace_id"].unique().implode()))
        for _, parts, wait in _trees(*table(part, mine), where, _no_more):
            for fragment in parts:
                if wait and waits(fragment, where):
                    waiting.append(fragment)
                else:
                    yield [fragment]
    yield from _joined(waiting, where, config, _no_more)


def _no_more(spans: list[Span], root: Span, fault: Exception) -> None:
    """Of what could not be read, the run's row has told."""


def _lose(rows: Columns, spans: list[Span], root: Span, fault: Exception) -> None:
    """Tell what is known of a run that could not be read; a trace without a step of an agent's is none."""
    if any(span.kind in STEPS or span.agent is not None for span in spans):
        rows.add(unreadable(spans, root, fault))
    else:
        forgive(fault, f"Trace {root.trace_id.hex()} could not be read; it shows no step of an agent.")


def _joined(
    waiting: list[Fragment], where: Joints, config: Config, lose: Callable[[list[Span], Span, Exception], None]
) -> list[list[Fragment]]:
    """The runs that these parts are of. Where that cannot be found out, no part is a run of which anything is known:
    each might be any other's."""
    try:
        return join(waiting, where, config.runs.max_run_ns)
    except Exception as fault:
        for part in waiting:
            lose([n.span for n in part.nodes], part.root.span, fault)
        return []


def _trees(
    columns: pl.DataFrame, side: Side, where: Joints, lose: Callable[[list[Span], Span, Exception], None]
) -> Iterator[tuple[Trace, list[Fragment], bool]]:
    """Each trace of a span table with what it holds of runs, and whether that may be part of larger ones; `lose` is
    told of those that could not be read."""
    for spans in traces(spans_of(columns)):
        try:
            trace = Trace(spans, side, put_in_tools)
            take_in(trace)
            name_agents(trace)
            lay_together(trace)
            inherit_errors(trace)
            parts = fragments(trace)
            wait = any(waits(fragment, where) for fragment in parts)
            for fragment in parts if wait else ():
                fragment.read()
        except Exception as fault:  # ours: over one trace, and over no other
            lose(spans, next((s for s in spans if s.parent_span_id is None), spans[0]), fault)
            continue
        yield trace, parts, wait


def _pieces(columns: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """A span table in stretches of whole traces."""
    begins = columns.select(pl.col("trace_id").rle().struct.field("len").cum_sum()).to_series().to_list()
    done = 0
    for end in begins:
        if end - done >= TREES:
            yield columns[done:end]
            done = end
    if done < columns.height:
        yield columns[done:]


def _batches(frame: pl.DataFrame) -> list[pl.DataFrame]:
    if frame.height <= BATCH:
        return [frame] if frame.height else []
    parts = -(-frame.height // BATCH)
    bucket = frame["trace_id"].bin.slice(8, 4) if hasattr(pl.Series, "bin") else frame["trace_id"]
    return frame.with_columns(_bucket=bucket.hash(0) % parts).partition_by(
        "_bucket", include_key=False, maintain_order=False
    )


def run_json(row: dict[str, Any], sides: dict[str, str]) -> dict[str, Any]:
    """One RUNS row (as a dict) as the contract's run JSON."""
    environment = (row["environment"] or "").lower()
    calls = row["tool_calls"]
    return {
        "run_id": row["run_id"],
        "trace_ids": row["trace_ids"],
        "conversation_id": row["conversation_id"],
        "case": row["case"],
        "service": row["service"],
        "environment": row["environment"],
        "release": row["release"],
        "side": sides.get(environment, "unspecified"),
        "start_unix_nano": row["start_unix_nano"],
        "end_unix_nano": row["end_unix_nano"],
        "settled": row["settled"],
        "status": row["status"],
        "input": row["input"],
        "output": row["output"],
        "agents": row["agents"],
        "known_tools": row["known_tools"],
        "known_tools_source": row["known_tools_source"],
        "tool_calls": None if calls is None else [_call_json(c) for c in calls],
        "llm_calls": None
        if row["llm_calls"] is None
        else [{k: v for k, v in c.items() if not k.endswith("_unix_nano")} for c in row["llm_calls"]],
        "delegations": row["delegations"],
        "boundaries": row["boundaries"],
        "boundaries_unknown": row["boundaries_unknown"],
        "path": row["path"],
        "states": row["states"],
        "incomplete": row["incomplete"],
    }


def _call_json(call: dict[str, Any]) -> dict[str, Any]:
    out = {k: v for k, v in call.items() if not k.endswith("_unix_nano")}
    for key in ("arguments", "result"):
        if out[key] is not None:
            out[key] = json.loads(out[key])
    return out


__all__ = ["meeting", "reconstruct", "run_json", "stage_one"]
