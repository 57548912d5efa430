"""The shortcut for the most regular traces: same runs, without building a tree.

Most traces of a well-instrumented agent say everything once and in one place: agents, model calls below agents, tools
below agents, a delegated agent below the tool that called it; every request has an id that exactly one tool span
carries. For these the general way - trees, evidence, joining - can only find what the columns already say. Around the
agent in charge there may be spans that say nothing, as a server's are, and the first of all may name a parent that is
told of elsewhere. A trace whose root has not come yet may be of this form too: what there is of it begins with a model
call, and the parents that are missing are agents that are still at work; what they asked for last need not have ended.
Whatever is not exactly of this form is left to the general way, and tests hold both to equal rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, FACTS, LLM, OTHER, TOOL
from otelcov.ground.config import Config
from otelcov.ground.schemas import RUNS
from otelcov.runs.contentless import without_content
from otelcov.runs.endings import asks_once_more
from otelcov.runs.joining import Joints, called
from otelcov.runs.models import running_sums
from otelcov.runs.offered import tells_of_answers
from otelcov.runs.shortcut import rows
from otelcov.runs.sketch import AGENT_, LLM_, NONE_, TOOL_, Sketch
from otelcov.runs.spans import Side
from otelcov.runs.tree import USUAL_LIMITS

_CODES = {AGENT: AGENT_, LLM: LLM_, TOOL: TOOL_, OTHER: NONE_}
_SAID = ("agent", "input", "output", "conversation", "input_tokens", "output_tokens")
_AROUND, _DEEPEST = 8, 5  # spans around the agent in charge, and levels of them, in which a request is looked for
_HOPS = 24  # how deep unexplained spans may stack between two steps


def regular(
    frame: pl.DataFrame, side: Side, config: Config, now_ns: int, where: Joints
) -> tuple[pl.DataFrame, npt.NDArray[np.bool_]]:
    """Rows of the regular traces in a span table (spans.table, sorted), and which spans belong to the others."""
    height = frame.height
    if not height:
        return RUNS.to_frame(), np.zeros(0, dtype=bool)
    trace = frame["trace_id"].rle_id().to_numpy()
    count = int(trace[-1]) + 1
    bad = np.zeros(count, dtype=bool)
    place = frame["row"].to_numpy()

    def spoil(mask: npt.NDArray[np.bool_]) -> None:
        bad[trace[mask]] = True

    kind = (
        frame.select(pl.col("kind").replace_strict(_CODES, default=-1, return_dtype=pl.Int8).fill_null(0))
        .to_series()
        .to_numpy()
    )
    bare = _bare(frame).to_numpy()
    kind = np.where(frame["kind"].is_null().to_numpy() | bare, NONE_, kind)
    spoil(_odd(frame).to_numpy())
    if ways := [place for place, raw in enumerate(side.definitions) if tells_of_answers(raw)]:
        spoil(frame["definitions"].is_in(ways).fill_null(False).to_numpy())
    spoil(kind < 0)
    thrown = _rows_in(side.exceptions, place)
    failed = (frame["status_code"].to_numpy() == 2) | thrown
    spoil(thrown & (frame["status_code"].to_numpy() == 1))
    broken = failed & ((kind == AGENT_) | (kind == LLM_))
    tables: list[dict[int, Any]] = [side.events, side.links, side.resource_case, *side.families.values()]
    for table in tables:
        spoil(_rows_in(table, place))
    parent = _parents(frame, trace)
    headless = _headless(frame, trace, parent, kind, count)
    torn = _torn(frame, trace, parent, headless)
    parent[torn[trace] & (parent == -2)] = -1
    tops = headless[trace] & (parent == -2)  # what stands below the agent that is missing
    gaps = _gaps(frame, trace, tops & (kind != NONE_), count)
    parent[tops] = -1
    spoil(parent == -2)
    spoil(broken & headless[trace])
    roots = parent == -1
    spoil(failed & (kind == NONE_) & roots)
    bad |= (np.bincount(trace[roots], minlength=count) != 1) & ~headless
    if apart := where.linked | where.awaited:
        spoil(frame["trace_id"].is_in(pl.Series(sorted(apart)).implode()).to_numpy())
    if where.guests:
        names = [tool for tool, agent in called(frame["tool"].unique()).items() if agent in where.guests]
        spoil(frame["tool"].is_in(names).fill_null(False).to_numpy())
    spoil((parent >= 0) & frame["kind"].eq_missing(OTHER).to_numpy()[np.maximum(parent, 0)])
    inner = bare & (parent >= 0)
    if inner.any():
        spoil(inner & (failed | (kind[np.maximum(parent, 0)] != AGENT_)))
        spoil((parent >= 0) & inner[np.maximum(parent, 0)] & (kind != LLM_) & (kind != TOOL_))
    above = _nearest(parent, kind, spoil)
    first = np.searchsorted(trace, np.arange(count))
    root_at = np.full(count, -1)
    root_at[trace[roots][::-1]] = np.flatnonzero(roots)[::-1]  # the first of several
    top_at = _tops(frame, trace, parent, kind, above, root_at, bare, spoil)
    bad |= kind[top_at] != np.where(headless, LLM_, AGENT_)
    delegate = kind == AGENT_
    delegate[top_at] = False
    agent_code = (
        frame.select(pl.col("agent").cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1))
        .to_series()
        .to_numpy()
    )
    is_agent, is_llm, is_tool = kind == AGENT_, kind == LLM_, kind == TOOL_
    start, end = (frame[name].to_numpy() for name in ("start", "end"))
    around = (start <= start[top_at[trace]]) & (end >= end[top_at[trace]])
    spoil(is_tool & torn[trace] & around)  # it may have called the agent that it stands in
    safe = np.maximum(above, 0)
    spoil(is_agent & frame["agent"].is_null().to_numpy())
    spoil((is_llm | is_tool) & ((above < 0) | (kind[safe] != AGENT_)) & ~tops)
    spoil(delegate & ((above < 0) | (kind[safe] != TOOL_)))
    stamped = (is_llm | is_tool) & (agent_code >= 0)
    told = frame.select(pl.col("conversation").fill_null("") != "").to_series().to_numpy()
    theirs = (np.bincount(trace[told], minlength=count) > 0) & ~told[root_at]  # a delegate's, perhaps
    bad |= theirs & ~headless & (top_at == root_at) & (np.bincount(trace[delegate], minlength=count) > 0)
    spoil(stamped & (agent_code != agent_code[safe]) & ~tops)
    spoil(tops & is_llm & (agent_code >= 0))
    spoil(is_llm & (frame["start"] == frame["end"]).to_numpy())  # it may tell of another's answer
    spoil((parent >= 0) & (parent == root_at[trace]) & headless[trace])
    bad |= headless & (np.bincount(trace[is_tool], minlength=count) == 0)
    children = np.bincount(above[is_agent & (above >= 0)], minlength=height)
    spoil(children > 1)
    spoil(is_tool & frame.select(pl.col("call_id").is_null() | pl.col("tool").is_null()).to_series().to_numpy())
    hushed = without_content(frame, side, trace, count)
    bad |= hushed & headless
    spoil(is_tool & ~failed & frame["result"].is_null().to_numpy() & ~hushed[trace])
    scopes = frame.select(pl.col("scope").cast(pl.Categorical).to_physical()).to_series().to_numpy().astype(np.int64)
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(low, trace[is_llm], scopes[is_llm])
    np.maximum.at(high, trace[is_llm], scopes[is_llm])
    bad |= (high < 0) | (low != high)  # no model call, or two layers of them
    longest = frame["longest"].to_numpy()
    peak = np.zeros(count, dtype=np.int64)
    np.maximum.at(peak, trace, longest.astype(np.int64))
    at_peak = np.bincount(trace[longest == peak[trace]], minlength=count)
    bad |= (at_peak > 1) & np.isin(peak, USUAL_LIMITS)
    if bad.all():
        return RUNS.to_frame(), bad[trace]
    sketch = Sketch(
        frame,
        side,
        trace=trace.astype(np.int64),
        kind=kind,
        above=above,
        failed=failed,
        broken=broken,
        root=root_at,
        top=top_at,
        first=first,
        headless=headless,
        gaps=gaps,
        torn=torn,
        contentless=hushed,
        bad=bad,
    )
    found = rows(sketch, config, now_ns, where)
    return found, sketch.bad[trace]


def _odd(frame: pl.DataFrame) -> pl.Series:
    """Spans that carry anything the shortcut does not weigh."""
    own_rules = [scope for scope in frame["scope"].unique() if asks_once_more(scope) or running_sums(scope)]
    null = ("trace_state", "sampling", "tool_error", "from_agent", "to_agent", "error_text", "case")
    return frame.select(
        pl.any_horizontal(
            *(pl.col(c).is_not_null() for c in null),
            pl.col("dropped") > 0,
            pl.col("masked") > 0,
            pl.col("cut") > 0,
            "forced",
            (pl.col("status_code") == 0) & pl.col("error_type").is_not_null(),
            (pl.col("input_tokens") == 0).fill_null(False),
            pl.col("start") == 0,
            pl.col("end") < pl.col("start"),
            pl.col("kind").eq_missing(LLM) & (pl.col("tool").is_not_null() | pl.col("call_id").is_not_null()),
            pl.col("kind").eq_missing(LLM) & pl.col("output").str.contains(r"^[\[{]").fill_null(False),
            pl.col("scope").is_in(own_rules),
        )
    ).to_series()


def _gaps(
    frame: pl.DataFrame, trace: npt.NDArray[Any], some: npt.NDArray[np.bool_], count: int
) -> npt.NDArray[np.int64]:
    """How many parents of these spans have not come, in each trace."""
    at = np.flatnonzero(some)
    lost = pl.DataFrame({"trace": trace[at], "parent": frame["parent_span_id"].gather(at)}).unique()
    return np.bincount(lost["trace"].to_numpy(), minlength=count)


def _tops(
    frame: pl.DataFrame,
    trace: npt.NDArray[Any],
    parent: npt.NDArray[np.int64],
    kind: npt.NDArray[Any],
    above: npt.NDArray[np.int64],
    root_at: npt.NDArray[np.int64],
    bare: npt.NDArray[np.bool_],
    spoil: Any,
) -> npt.NDArray[np.int64]:
    """The agent in charge of each trace: its root, or the one agent below a root that is no step and says nothing (a
    server's span of the request). Other traces keep their root."""
    silent = frame.select(pl.all_horizontal(pl.col(fact).is_null() for fact in _SAID)).to_series().to_numpy()
    framed = (kind[root_at] == NONE_) & (frame["kind"].is_null().to_numpy() | bare)[root_at]
    found = np.flatnonzero(framed[trace] & (kind == AGENT_) & (above < 0))
    agents = np.bincount(trace[found], minlength=len(root_at))
    around = framed[trace] & (kind == NONE_) & (above < 0)
    framed &= (agents == 1) & (np.bincount(trace[around], minlength=len(root_at)) < _AROUND)
    spoil(around & ~silent)
    tops = root_at.copy()
    tops[trace[found]] = found
    start = frame["start"].to_numpy()
    spoil((kind == LLM_) & framed[trace] & (start < start[tops[trace]]))
    depth, at = np.zeros(len(tops), dtype=np.int64), tops
    for _ in range(_AROUND):
        depth, at = depth + (at != root_at), np.where(at != root_at, np.maximum(parent[at], 0), at)
    return np.where(framed & (depth < _DEEPEST), tops, root_at)


def _bare(frame: pl.DataFrame) -> pl.Series:
    """Chains that say nothing: a turn, or the tools of one."""
    texts = [pl.col(fact).is_null() for fact in FACTS if fact in frame.columns and fact != "kind"]
    return frame.select(pl.col("kind").eq_missing(CHAIN) & pl.all_horizontal(texts)).to_series()


def _rows_in(table: dict[int, Any], rows: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return (
        np.isin(rows, np.fromiter(table, dtype=np.int64, count=len(table)))
        if table
        else np.zeros(len(rows), dtype=bool)
    )


def _parents(frame: pl.DataFrame, trace: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Position of each span's parent; -1 for a root, -2 where the parent is missing (or the span itself)."""
    spans = frame.select("span_id", "parent_span_id").with_columns(
        trace=pl.Series(trace), at=pl.int_range(frame.height, dtype=pl.Int64)
    )
    joined = spans.join(
        spans.select("trace", parent_span_id="span_id", parent="at"),
        on=["trace", "parent_span_id"],
        how="left",
        maintain_order="left",
    )
    found = (
        joined.select(
            pl.when(pl.col("parent_span_id").is_null())
            .then(-1)
            .otherwise(pl.col("parent").fill_null(-2))
            .cast(pl.Int64)
        )
        .to_series()
        .to_numpy()
    )
    return np.where(found == np.arange(len(found)), -2, found)


def _headless(
    frame: pl.DataFrame, trace: npt.NDArray[Any], parent: npt.NDArray[np.int64], kind: npt.NDArray[Any], count: int
) -> npt.NDArray[np.bool_]:
    """The traces without a root where parents are missing, and those of model calls and tools alone."""
    at = np.flatnonzero(parent == -2)
    if not len(at):
        return np.zeros(count, dtype=bool)
    mine = trace[at]
    found = np.bincount(mine, minlength=count) > 0
    found[trace[parent == -1]] = False
    own = frame["parent_span_id"].gather(at).eq_missing(frame["span_id"].gather(at))
    found[mine[own.to_numpy()]] = False
    found[mine[(kind[at] != LLM_) & (kind[at] != TOOL_)]] = False
    return found


def _torn(
    frame: pl.DataFrame, trace: npt.NDArray[Any], parent: npt.NDArray[np.int64], headless: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """The traces whose one root names a parent that is told of elsewhere, or not yet."""
    at = np.flatnonzero((parent == -2) & ~headless[trace])
    own = frame["parent_span_id"].gather(at).eq_missing(frame["span_id"].gather(at)).to_numpy()
    missing, itself = (np.bincount(trace[some], minlength=len(headless)) for some in (at, at[own]))
    found: npt.NDArray[np.bool_] = (missing == 1) & (itself == 0)
    found[trace[parent == -1]] = False
    return found


def _nearest(parent: npt.NDArray[np.int64], kind: npt.NDArray[Any], spoil: Any) -> npt.NDArray[np.int64]:
    """The nearest ancestor that is a step."""
    above = parent.copy()
    for _ in range(_HOPS):
        hop = (above >= 0) & (kind[np.maximum(above, 0)] == NONE_)
        if not hop.any():
            return above
        above[hop] = parent[above[hop]]
    spoil((above >= 0) & (kind[np.maximum(above, 0)] == NONE_))
    return above
