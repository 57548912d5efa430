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

from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, FACTS, LLM, OTHER, TOOL
from otelcov.ground.config import Config
from otelcov.ground.masks import among, true
from otelcov.ground.schemas import no_runs
from otelcov.runs.joining.join import Joints, called
from otelcov.runs.llm.model_call import finish_reason
from otelcov.runs.rules.answers import (
    asks_once_more,
    breaks_unsaid,
    counts_at_the_end,
    guesses_tokens,
    running_sums,
    says_stop,
    tells_arguments,
    tells_totals,
)
from otelcov.runs.rules.boundaries import UNSAID, called_off, stopped
from otelcov.runs.rules.habits import (
    AGNO,
    FAST_AGENT,
    LIVEKIT,
    LIVEKITS_MODEL,
    LLAMA_INDEX,
    TURNS,
    in_chats,
    in_two_scopes,
    leaves_flags_out,
    mute,
    tells_in_results,
    tells_raised,
    waits_by_events,
)
from otelcov.runs.shortcut.contentless import without_content
from otelcov.runs.shortcut.run_rows import rows
from otelcov.runs.shortcut.sketch import AGENT_, LLM_, NONE_, TOOL_, Bools, Ints, Sketch
from otelcov.runs.trace.afar import TAKES_IN
from otelcov.runs.trace.spans import KEPT, Side
from otelcov.runs.trace.tree import USUAL_LIMITS, ended_by
from otelcov.runs.whole.offered import tells_of_answers

_TURNS = TURNS | {LIVEKIT: LIVEKITS_MODEL}
_CODES = {AGENT: AGENT_, LLM: LLM_, TOOL: TOOL_, OTHER: NONE_}
_SAID = ("agent", "input", "output", "conversation", "input_tokens", "output_tokens")
_AROUND, _DEEPEST = 8, 5  # spans around the agent in charge, and levels of them, in which a request is looked for
_HOPS = 24  # how deep unexplained spans may stack between two steps


def regular(frame: pl.DataFrame, side: Side, config: Config, now_ns: int, where: Joints) -> tuple[pl.DataFrame, Bools]:
    """Rows of the regular traces in a span table (spans.table, sorted), and which spans belong to the others."""
    if not frame.height:
        return no_runs(), np.zeros(0, dtype=bool)
    form = _Form(frame, side)
    elsewhere = partial(_check_elsewhere, where=where)
    for check in (_check_spans, _find_tops, _check_turns, elsewhere, _check_tree, _check_steps, _check_layers):
        check(form)
        if form.bad.all():
            return no_runs(), form.bad[form.trace]
    sketch = form.sketch()
    found = rows(sketch, config, now_ns, where)
    return found, sketch.bad[form.trace]


class _Form:
    """What is found out of the traces of a span table, step by step, and which of them are not regular.

    Of each span: `told`, what single columns say (see _told); `trace`, the number of its trace; `kind`; `bare`, a chain
    that says nothing; `failed`; `parent` and `above`, the positions of its parent and of the nearest step above it, -1
    for none. Of each trace: `bad`; `first`, its first span; `headless`, `gaps`, `torn`, `root` and `top`, as in Sketch.
    """

    headless: Bools
    torn: Bools
    gaps: Ints
    lost: Bools  # of each span: its parent is an agent that has not come
    parent: Ints
    above: Ints
    root: Ints
    top: Ints

    def __init__(self, frame: pl.DataFrame, side: Side) -> None:
        self.frame, self.side = frame, side
        self.trace: Ints = frame["trace_id"].rle_id().to_numpy().astype(np.int64)
        self.count = int(self.trace[-1]) + 1
        self.bad = np.zeros(self.count, dtype=bool)
        self.first = np.searchsorted(self.trace, np.arange(self.count))
        self.told = {told.name: told.to_numpy() for told in frame.select(**_told())}
        self.bare: Bools = self.told["bare"]
        self.kind: Ints = np.where(self.told["unexplained"] | self.bare, NONE_, self.told["kind"])
        self.failed: Bools = frame["status_code"].to_numpy() == 2
        self.contentless = without_content(frame, side, self.trace, self.count)

    def spoil(self, spans: Bools) -> None:
        self.bad[self.trace[spans]] = True

    def count_of(self, spans: Bools) -> Ints:
        """How many of these spans each trace has."""
        return np.bincount(self.trace[spans], minlength=self.count)

    def codes(self, column: str) -> Ints:
        """A number for each text, -1 for none."""
        codes = pl.col(column).cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1)
        found: Ints = self.frame.select(codes).to_series().to_numpy()
        return found

    def is_a(self, kind: int) -> Bools:
        found: Bools = self.kind == kind
        return found

    def sketch(self) -> Sketch:
        return Sketch(
            self.frame,
            self.side,
            trace=self.trace,
            kind=self.kind,
            above=self.above,
            failed=self.failed,
            broken=self.failed & (self.is_a(AGENT_) | self.is_a(LLM_)),
            root=self.root,
            work=_work(self),
            top=self.top,
            first=self.first,
            headless=self.headless,
            gaps=self.gaps,
            torn=self.torn,
            cut=self.torn & ~(self.told["unexplained"] & self.told["taken in"])[self.root],
            contentless=self.contentless,
            bad=self.bad,
        )


@cache
def _told() -> dict[str, pl.Expr]:
    """What single columns say of each span."""
    kind = pl.col("kind").replace_strict(_CODES, default=-1, return_dtype=pl.Int64).fill_null(-1)
    content = pl.any_horizontal(pl.col("result", "output_messages", "output").is_not_null())
    said = [pl.col(fact).is_null() for fact in FACTS if fact not in ("kind", *KEPT)]
    return {
        "kind": kind,
        "unexplained": pl.col("kind").is_null(),
        "taken in": pl.col("span_kind").is_in(TAKES_IN),
        "other": pl.col("kind").eq_missing(OTHER),
        "bare": pl.col("kind").eq_missing(CHAIN) & pl.all_horizontal(said),  # a turn, or the tools of one
        "turn": ((pl.col("scope") == "gen_ai") & pl.col("name").str.starts_with("step "))  # asks_a_model_in_each
        | (pl.col("scope").is_in(LLAMA_INDEX) & pl.col("name").str.ends_with(".run_agent_step"))
        | (pl.col("scope") == FAST_AGENT)
        | ((pl.col("scope") == AGNO) & (pl.col("kind") == AGENT).fill_null(value=False))
        | pl.any_horizontal((pl.col("scope") == scope) & (pl.col("name") == name) for scope, name in _TURNS.items()),
        "silent": pl.all_horizontal(pl.col(fact).is_null() for fact in _SAID),
        "repeating": content & pl.col("status_message").is_not_null(),
        "nameless": pl.col("agent").is_null(),
        "talking": pl.col("conversation").fill_null("") != "",
        "momentary": pl.col("start") == pl.col("end"),
        "unasked": pl.col("call_id").is_null() | pl.col("tool").is_null(),
        "unsaid": pl.col("result").is_null(),
        "counted": pl.col("input_tokens").is_not_null(),
    }


def _check_spans(form: _Form) -> None:
    """Bad where a span says by itself that it needs the general way."""
    frame, side, place = form.frame, form.side, form.frame["row"].to_numpy()
    form.spoil(form.kind < 0)
    form.spoil(_odd(frame).to_numpy())
    if ways := [number for number, raw in enumerate(side.definitions) if tells_of_answers(raw)]:
        form.spoil(true(frame["definitions"].is_in(ways)))
    thrown = _rows_in(side.exceptions, place)
    broken = np.flatnonzero(form.is_a(LLM_) & form.failed & ~thrown)
    if len(broken):
        reasons = frame.select("status_message", "error_type")[broken].fill_null("")
        unsaid = reasons.select(pl.all_horizontal(pl.all().str.contains(UNSAID))).to_series()
        form.bad[form.trace[broken[unsaid]]] = True
    form.spoil(thrown & (frame["status_code"].to_numpy() == 1))
    repeating = form.failed & ~thrown & form.told["repeating"]
    form.bad |= (form.count_of(repeating) > 0) & (form.count_of(thrown) > 0)  # its error is another's, perhaps
    form.failed = form.failed | thrown
    form.spoil(_rows_in(dict.fromkeys(side.mishaps), place))
    tables: list[dict[int, Any]] = [side.events, side.links, side.resource_case, side.named, *side.families.values()]
    for table in tables:
        form.spoil(_rows_in(table, place))


def _find_tops(form: _Form) -> None:
    """What each trace begins with; bad where that is not one span, nor the steps of agents that have not come."""
    frame, trace, kind = form.frame, form.trace, form.kind
    parent = _parents(frame, trace)
    form.headless = _headless(frame, trace, parent, kind, form.count)
    form.torn = _torn(frame, trace, parent, form.headless)
    parent[form.torn[trace] & (parent == -2)] = -1
    form.lost = form.headless[trace] & (parent == -2)
    form.gaps = _gaps(frame, trace, form.lost & ~form.is_a(NONE_), form.count)
    parent[form.lost] = -1
    form.spoil(parent == -2)
    form.parent = parent
    roots = parent == -1
    form.spoil(form.failed & form.is_a(NONE_) & roots)
    form.bad |= (form.count_of(roots) != 1) & ~form.headless
    form.root = np.full(form.count, -1)
    form.root[trace[roots][::-1]] = np.flatnonzero(roots)[::-1]  # the first of several


def _check_elsewhere(form: _Form, where: Joints) -> None:
    """Bad where other traces may hold parts of a run."""
    if apart := where.linked | where.awaited:
        form.spoil(form.frame["trace_id"].is_in(pl.Series(sorted(apart)).implode()).to_numpy())
    if where.guests:
        names = [tool for tool, agent in called(form.frame["tool"].unique()).items() if agent in where.guests]
        form.spoil(among(form.frame["tool"], names))


def _check_turns(form: _Form) -> None:
    """Bad where a model was asked in a turn, and its span has not come."""
    turns = form.told["turn"]
    if turns.any():
        asking = np.zeros(len(turns), dtype=bool)
        asking[form.parent[form.is_a(LLM_) & (form.parent >= 0)]] = True
        form.spoil(turns & ~asking)


def _check_tree(form: _Form) -> None:
    """Bad unless agents stand below tools, and model calls and tools below agents, with little between them."""
    kind, parent, failed = form.kind, form.parent, form.failed
    below, holder = parent >= 0, np.maximum(parent, 0)
    form.spoil(below & form.told["other"][holder])
    inner = form.bare & below
    if inner.any():
        form.spoil(inner & (failed | (kind[holder] != AGENT_)))
        form.spoil(below & inner[holder] & (kind != LLM_) & (kind != TOOL_))
    form.above = _nearest(form)
    form.top = _tops(form)
    form.bad |= kind[form.top] != np.where(form.headless, LLM_, AGENT_)
    form.spoil(below & (parent == form.root[form.trace]) & form.headless[form.trace])
    steps = form.is_a(LLM_) | form.is_a(TOOL_)
    owned, owner = form.above >= 0, kind[np.maximum(form.above, 0)]
    form.spoil(steps & (~owned | (owner != AGENT_)) & ~form.lost)
    delegate = form.is_a(AGENT_)
    delegate[form.top] = False
    form.spoil(delegate & (~owned | (owner != TOOL_)) & ~form.lost)
    form.spoil(np.bincount(form.above[form.is_a(AGENT_) & owned], minlength=len(kind)) > 1)
    told = form.told["talking"]
    theirs = (form.count_of(told) > 0) & ~told[form.root]  # a delegate's, perhaps
    form.bad |= theirs & ~form.headless & (form.top == form.root) & (form.count_of(delegate) > 0)


def _check_steps(form: _Form) -> None:
    """Bad where an agent, a model call or a tool does not say what it must."""
    trace, tools, models = form.trace, form.is_a(TOOL_), form.is_a(LLM_)
    headless = form.headless[trace]
    form.spoil(form.failed & (form.is_a(AGENT_) | models) & headless)
    called = form.count_of(form.is_a(AGENT_)) > 0
    form.spoil(form.failed & tools & form.lost & called[trace])  # it may have ended the run beside them
    form.spoil(form.is_a(AGENT_) & form.told["nameless"])
    agent = form.codes("agent")
    stamped = (models | tools) & (agent >= 0)
    form.spoil(stamped & (agent != agent[np.maximum(form.above, 0)]) & ~form.lost)
    form.spoil(form.lost & models & (agent >= 0))
    form.spoil(models & form.told["momentary"])  # it may tell of another's answer
    start, end = (form.frame[name].to_numpy() for name in ("start", "end"))
    form.spoil((form.above >= 0) & (start > end[np.maximum(form.above, 0)]))  # it was laid under what was over
    early = (form.above >= 0) & (start < start[np.maximum(form.above, 0)])
    form.spoil((models | tools) & early)  # by a clock of its own: what came first is not told by the times
    form.spoil(_meanwhile(form, start, end))
    around = (start <= start[form.top[trace]]) & (end >= end[form.top[trace]])
    form.spoil(tools & form.torn[trace] & around)  # it may have called the agent that it stands in
    form.bad |= form.headless & ((form.count_of(tools) == 0) | form.contentless)
    form.spoil(tools & form.told["unasked"])
    unsaid = form.told["unsaid"] & ~form.failed
    form.spoil(tools & unsaid & ~form.contentless[trace])


def _meanwhile(form: _Form, start: Ints, end: Ints) -> Bools:
    """Tools that ran in the time of the last model call beside them: what asked for them may be a whole turn."""
    below = form.parent >= 0
    tools, models = (np.flatnonzero(form.is_a(kind) & below) for kind in (TOOL_, LLM_))
    begun, ended = np.full(len(start), -1, dtype=np.int64), np.full(len(start), -1, dtype=np.int64)
    np.maximum.at(begun, form.parent[models], start[models].astype(np.int64))
    last = models[start[models] == begun[form.parent[models]]]
    np.maximum.at(ended, form.parent[last], end[last].astype(np.int64))
    holder = form.parent[tools]
    found = np.zeros(len(start), dtype=bool)
    found[tools] = (start[tools] >= begun[holder]) & (start[tools] < ended[holder]) & (end[tools] <= ended[holder])
    return found


def _check_layers(form: _Form) -> None:
    """Bad where no model call is told, where two instrumentations tell of them, where an agent alone tells tokens, and
    where values may have been cut."""
    trace, models = form.trace, form.is_a(LLM_)
    scopes = form.codes("scope")
    low, high = np.full(form.count, np.iinfo(np.int64).max), np.full(form.count, -1)
    np.minimum.at(low, trace[models], scopes[models])
    np.maximum.at(high, trace[models], scopes[models])
    form.bad |= (high < 0) | (low != high)
    form.spoil(form.failed & form.told["unexplained"] & (scopes == high[trace]))  # a tool's, perhaps
    counted = form.told["counted"]
    form.bad |= (form.count_of(counted & form.is_a(AGENT_)) > 0) & (form.count_of(counted & models) == 0)
    _check_limits(form)


def _check_limits(form: _Form) -> None:
    """Bad where values end at a usual limit."""
    longest = form.frame["longest"].to_numpy().astype(np.int64)
    peak = np.maximum.reduceat(longest, form.first)
    which = np.isin(peak, USUAL_LIMITS) & ~form.bad
    if not which.any():
        return
    at = np.flatnonzero(which[form.trace] & (longest == peak[form.trace]))
    form.bad |= np.bincount(form.trace[at], minlength=form.count) > 1
    rows = form.frame["row"][at].to_list()
    said = form.frame.select("input", "output", "arguments", "result", "output_messages")[at].rows()
    asked = form.side.texts["input_messages"][rows].to_list()
    for place, facts, messages in zip(at.tolist(), said, asked, strict=True):
        trace = form.trace[place]
        form.bad[trace] |= ended_by(int(longest[place]), (*facts, messages))


def _odd(frame: pl.DataFrame) -> pl.Series:
    """Spans that carry anything the shortcut does not weigh."""
    scopes = frame["scope"].unique()
    own_rules = [scope for scope in scopes if _own_rules(scope)]
    guessing = [scope for scope in scopes if guesses_tokens(scope) or breaks_unsaid(scope)]
    reasons = {told: finish_reason(told) for told in frame["finish"].unique()}
    limits = [told for told, reason in reasons.items() if stopped(reason) or called_off(reason)]
    null = ("trace_state", "sampling", "tool_error", "from_agent", "to_agent", "error_text", "case")
    unended = pl.col("kind").eq_missing(LLM) & pl.col("finish").is_null()
    return frame.select(
        pl.any_horizontal(
            *(pl.col(c).is_not_null() for c in null),
            pl.col("dropped") > 0,
            pl.col("masked") > 0,
            pl.col("cut") > 0,
            "forced",
            "flagged",
            (pl.col("status_code") == 0) & pl.col("error_type").is_not_null(),
            (pl.col("input_tokens") == 0).fill_null(False),
            pl.col("start") == 0,
            pl.col("end") < pl.col("start"),
            pl.col("kind").eq_missing(LLM) & (pl.col("tool").is_not_null() | pl.col("call_id").is_not_null()),
            pl.col("kind").eq_missing(TOOL) & pl.col("tool").str.contains(", ", literal=True).fill_null(False),
            pl.col("kind").eq_missing(LLM)
            & pl.any_horizontal(pl.col("output").str.starts_with(sign) for sign in "[{").fill_null(False),
            pl.col("kind").eq_missing(AGENT) & pl.col("output").str.contains('"error"', literal=True).fill_null(False),
            pl.col("scope").is_in(own_rules),
            (pl.col("kind").eq_missing(AGENT) & pl.col("finish").is_in(limits)).fill_null(False),
            pl.col("kind").eq_missing(LLM) & pl.col("input_tokens").is_null() & pl.col("scope").is_in(guessing),
            pl.col("kind").eq_missing(CHAIN) & pl.col("finish").is_not_null() & unended.any(),
            pl.col("kind").is_null() & pl.any_horizontal(pl.col("request_model", "tool").is_not_null()),
        )
    ).to_series()


def _own_rules(scope: str) -> bool:
    """Does this scope's telling mean something else than others'?"""
    told = (tells_arguments, tells_in_results, tells_raised, in_two_scopes, in_chats, leaves_flags_out)
    rules = (running_sums, tells_totals, asks_once_more, says_stop, mute, waits_by_events, counts_at_the_end, *told)
    return any(rule(scope) for rule in rules)


def _gaps(frame: pl.DataFrame, trace: Ints, some: Bools, count: int) -> Ints:
    """How many parents of these spans have not come, in each trace."""
    at = np.flatnonzero(some)
    if not len(at):
        return np.zeros(count, dtype=np.int64)
    lost = pl.DataFrame({"trace": trace[at], "parent": frame["parent_span_id"][at]}).unique()
    return np.bincount(lost["trace"].to_numpy(), minlength=count)


def _tops(form: _Form) -> Ints:
    """The agent in charge of each trace: its root, or the one agent below a root that is no step and says nothing (a
    server's span of the request). Other traces keep their root."""
    frame, trace, root = form.frame, form.trace, form.root
    framed = form.is_a(NONE_)[root] & (form.told["unexplained"] | form.bare)[root]
    outside = framed[trace] & (form.above < 0)
    found = np.flatnonzero(outside & form.is_a(AGENT_))
    agents = np.bincount(trace[found], minlength=form.count)
    around = outside & form.is_a(NONE_)
    framed &= (agents == 1) & (form.count_of(around) < _AROUND)
    form.spoil(around & (form.failed | ~form.told["silent"]))
    tops = root.copy()
    tops[trace[found]] = found
    start = frame["start"].to_numpy()
    form.spoil(form.is_a(LLM_) & framed[trace] & (start < start[tops[trace]]))
    depth, at = np.zeros(len(tops), dtype=np.int64), tops
    for _ in range(_AROUND):
        depth, at = depth + (at != root), np.where(at != root, np.maximum(form.parent[at], 0), at)
    return np.where(framed & (depth < _DEEPEST), tops, root)


def _work(form: _Form) -> Ints:
    """What the frames of each trace are around (charge.work_of): its top, or what is explained of what holds that."""
    found = form.top
    for _ in range(_AROUND):
        above = np.where(found != form.root, form.parent[found], found)
        found = np.where(form.told["unexplained"][above], found, above)
    return found


def _rows_in(table: dict[int, Any], rows: Ints) -> Bools:
    return (
        np.isin(rows, np.fromiter(table, dtype=np.int64, count=len(table)))
        if table
        else np.zeros(len(rows), dtype=bool)
    )


def _parents(frame: pl.DataFrame, trace: Ints) -> Ints:
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


def _headless(frame: pl.DataFrame, trace: Ints, parent: Ints, kind: Ints, count: int) -> Bools:
    """The traces without a root where parents of model calls and tools are missing, and of agents that these called."""
    at = np.flatnonzero(parent == -2)
    if not len(at):
        return np.zeros(count, dtype=bool)
    mine, steps = trace[at], (kind[at] == LLM_) | (kind[at] == TOOL_)
    found = np.bincount(mine[steps], minlength=count) > 0
    found[trace[parent == -1]] = False
    own = frame["parent_span_id"][at].eq_missing(frame["span_id"][at])
    found[mine[own.to_numpy()]] = False
    found[mine[~steps & (kind[at] != AGENT_)]] = False
    return found


def _torn(frame: pl.DataFrame, trace: Ints, parent: Ints, headless: Bools) -> Bools:
    """The traces whose one root names a parent that is told of elsewhere, or not yet."""
    at = np.flatnonzero((parent == -2) & ~headless[trace])
    if not len(at):
        return np.zeros(len(headless), dtype=bool)
    own = frame["parent_span_id"][at].eq_missing(frame["span_id"][at]).to_numpy()
    missing, itself = (np.bincount(trace[some], minlength=len(headless)) for some in (at, at[own]))
    found: Bools = (missing == 1) & (itself == 0)
    found[trace[parent == -1]] = False
    return found


def _nearest(form: _Form) -> Ints:
    """The nearest ancestor that is a step."""
    kind, above = form.kind, form.parent.copy()
    for _ in range(_HOPS):
        hop = (above >= 0) & (kind[np.maximum(above, 0)] == NONE_)
        if not hop.any():
            return above
        above[hop] = form.parent[above[hop]]
    form.spoil((above >= 0) & (kind[np.maximum(above, 0)] == NONE_))
    return above
