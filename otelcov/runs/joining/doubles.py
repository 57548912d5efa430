"""Calls that two instrumentations told at once, each in traces of its own.

One sees the agent and keeps its trace by itself (a framework's trace processor); the other sees the provider's client,
finds no span to stand under, and opens a trace for every call. What they share are the ids that the provider gave: of
an answer, of the tool calls in it. An id counts where nobody makes it up by counting, and only for calls at the same
time: history, replays and retries bring ids back. What a trace with more tells is then one run with these calls. A call
that failed has neither ids nor tokens: it is told elsewhere if one call failed there at its time over the same words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NamedTuple

import numpy as np
import polars as pl

from otelcov.dialects.base import TOOL
from otelcov.ground.schemas import LATEST_NS, signed
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.habits import runs_in_threads
from otelcov.runs.tools.executions import server_alone, span_call_id, span_name
from otelcov.runs.trace.tree import Node, spelling

JITTER_NS = 20_000_000  # by which one wrapper around a call may begin or end before another that is inside it

_ASKED_NS = 5_000_000_000  # how long a thread's tool may have waited since it was asked for

_LONG_ENOUGH = 256  # of an id
_RANDOM = re.compile(r"(?=[^\W_]*[0-9])(?=[^\W_]*[A-Za-z])[^\W_]{9,}")


class Loner(NamedTuple):
    """A model call or a tool in a trace of its own, by what another trace may tell of it."""

    start: int
    end: int
    service: str | None
    tokens: tuple[int, int] | None
    ids: tuple[str, ...]
    failed: bool = False
    serves: str | None = None  # the name of the tool, of a server's span or a thread's
    gateway: bool = False  # who asked may be of another service, and know neither ids nor tokens


def random(id: str | None) -> bool:
    """Is this an id that nobody gives twice? Those that count (`call_0`) and names of functions are not."""
    return id is not None and _RANDOM.search(id[:_LONG_ENOUGH]) is not None


def loner(part: Fragment) -> Loner | None:
    """What another trace may tell of this fragment by, if there is anything."""
    if not _alone(part):
        return None
    span = part.root.span
    ids = tuple(sorted({id for call in part.calls for id in asked_ids(call)} | _of_tool(part.root)))
    known = None not in (span.input_tokens, span.output_tokens)
    tokens = (span.input_tokens or 0, span.output_tokens or 0) if known and part.calls else None
    failed = any(call.error is not None for call in part.calls)
    times = min(part.start, LATEST_NS), min(part.end, LATEST_NS)
    threads = runs_in_threads(span.scope)
    serves = span_name(part.tools) if part.tools == [part.root] and (threads or server_alone(part.root)) else None
    if threads:
        times = max(times[0] - _ASKED_NS, 0), times[1]
    if part.gateway:
        ids = tuple(sorted({*ids, *(id for call in part.calls for id in brought(call))}))
    return Loner(*times, span.service, tokens, ids, failed, serves, part.gateway)


def _alone(part: Fragment) -> bool:
    """Does this stand under nothing? What has a parent that did not come, or not yet, is told in its own trace."""
    return part.loose and not part.root.orphan


def told_elsewhere(runs: pl.DataFrame, found: Iterable[Loner]) -> pl.Series:
    """Whether a run (some columns of RUNS) may tell of one of these: a tool call has its id, or a model call at its
    time counts its tokens or failed, too. One that shows no work at that time may have done it."""
    rows = list(found)
    by_id = [(id, x.start, x.end) for x in rows for id in x.ids]
    by_tokens = [(x.service, *x.tokens, x.start, x.end) for x in rows if x.tokens is not None]
    failed = [(x.service, x.start, x.end) for x in rows if x.failed]
    hits = [pl.Series("run", [], pl.UInt32)]
    numbered = runs.with_row_index("run")
    times, tokens = dict.fromkeys(("low", "high"), pl.Int64), dict.fromkeys(("input_tokens", "output_tokens"), pl.Int64)
    if by_id:
        ids = pl.DataFrame(by_id, schema={"call_id": pl.String, **times}, orient="row")
        calls = numbered.select(
            "run",
            signed("start_unix_nano"),
            signed("end_unix_nano"),
            call_id=pl.col("tool_calls").list.eval(pl.element().struct.field("call_id")),
        )
        same = calls.explode("call_id").join(ids, on="call_id")
        meet = (pl.col("low") <= pl.col("end_unix_nano") + JITTER_NS) & (pl.col("high") >= pl.col("start_unix_nano"))
        hits.append(same.filter(meet)["run"])
    if rows and "llm_calls" in runs.columns and "service" in runs.columns:
        counted = pl.DataFrame(by_tokens, schema={"service": pl.String, **tokens, **times}, orient="row")
        models = numbered.select("run", "service", "llm_calls").explode("llm_calls").drop_nulls("llm_calls")
        models = models.unnest("llm_calls").select(
            "run",
            "service",
            "status",
            pl.col(*tokens).cast(pl.Int64),
            signed("start_unix_nano"),
            signed("end_unix_nano"),
        )
        same = models.join(counted, on=["service", *tokens])
        hits.append(same.filter(_inside())["run"])
        hits.append(_beside(models.filter(pl.col("status") == "error"), failed))
        if gateways := [x for x in rows if x.gateway]:
            hits += _through(models, gateways)
        idle = numbered.filter(pl.col("tool_calls").is_null() & pl.col("llm_calls").is_null())
        hits.append(_beside(idle, [(x.service, x.start, x.end) for x in rows]))
        hits.append(_served(numbered, [x for x in rows if x.serves]))
    which = pl.concat(hits).unique()
    return numbered["run"].is_in(which.implode())


def _through(models: pl.DataFrame, gateways: list[Loner]) -> list[pl.Series]:
    """The runs with a model call, of any service, that may have come through one of these: at its time, with its tokens
    or with none told; at the time of one that failed, however that ended."""
    any_ = models.with_columns(service=pl.lit(None, pl.String))
    schema = {**dict.fromkeys(("input_tokens", "output_tokens", "low", "high"), pl.Int64)}
    told = pl.DataFrame([(*x.tokens, x.start, x.end) for x in gateways if x.tokens], schema=schema, orient="row")
    return [
        any_.join(told, on=["input_tokens", "output_tokens"]).filter(_inside())["run"],
        _beside(any_.filter(pl.col("input_tokens").is_null()), [(None, x.start, x.end) for x in gateways]),
        _beside(any_, [(None, x.start, x.end) for x in gateways if x.failed]),
    ]


def _served(runs: pl.DataFrame, found: list[Loner]) -> pl.Series:
    """The runs that called a tool by such a name while one of these servers ran it."""
    if not found:
        return runs["run"].clear()
    ends = {spelling(x.serves or "") for x in found}
    calls = runs.select("run", "service", "tool_calls").explode("tool_calls").drop_nulls("tool_calls")
    calls = calls.unnest("tool_calls").select(
        "run", "service", "name", signed("start_unix_nano"), signed("end_unix_nano")
    )
    names = [n for n in calls["name"].drop_nulls().unique() if any(spelling(n).endswith(end) for end in ends)]
    some = calls.filter(pl.col("name").is_in(names))
    return _beside(some, [(x.service, x.start, x.end) for x in found])


def _beside(rows: pl.DataFrame, found: list[tuple[str | None, int, int]]) -> pl.Series:
    """The runs of those of these rows that overlap with one of these, by service, start and end."""
    hits = [rows["run"].clear()]
    times: dict[str | None, list[tuple[int, int]]] = {}
    for service, low, high in found:
        times.setdefault(service, []).append((low, high))
    for service, spent in times.items():
        some = rows.filter(pl.col("service").eq_missing(pl.lit(service, pl.String)))
        begun, ended = (np.sort(np.array(side, dtype=np.int64)) for side in zip(*spent, strict=True))
        before = np.searchsorted(begun, some["end_unix_nano"].fill_null(0).to_numpy() + JITTER_NS, "right")
        over = np.searchsorted(ended, some["start_unix_nano"].fill_null(0).to_numpy() - JITTER_NS, "left")
        hits.append(some["run"].filter(pl.Series(before > over, dtype=pl.Boolean)))
    return pl.concat(hits)


def _inside() -> pl.Expr:
    start, end = pl.col("start_unix_nano"), pl.col("end_unix_nano")
    outside = (start <= pl.col("low") + JITTER_NS) & (pl.col("high") <= end + JITTER_NS)
    inside = (pl.col("low") <= start + JITTER_NS) & (end <= pl.col("high") + JITTER_NS)
    return outside | inside


def unite_doubles(parts: list[Fragment], unite: Callable[[Fragment, Fragment], None]) -> None:
    """Join what stands alone with the trace that tells of it, too; what both tell counts once."""
    alone = [p for p in parts if _alone(p) and (p.calls or p.root.kind == TOOL)]
    whole = [p for p in parts if not p.loose]
    if not alone or not whole:
        return
    told = _Told(whole)
    for p in alone:
        for call in list(p.calls):
            host, twin = told.of_call(p, call)
            if host is not None:
                unite(host, p)
                if twin is not None:
                    told.by_both(twin, call)
                    p.calls = [c for c in p.calls if c is not call]
        if p.root.kind == TOOL:
            host, node = told.of_tool(p)
            if host is not None:
                unite(host, p)
                if node is not None:
                    p.root.parent, p.root.agent = node, p.root.agent or node.agent
                    node.children.append(p.root)
    for p in whole:
        p.calls = [told.now(c) for c in p.calls]


class _Told:
    """What traces with more in them tell of calls that stand alone elsewhere."""

    def __init__(self, whole: list[Fragment]) -> None:
        self._by_id: dict[str, list[tuple[Fragment, ModelCall | None, Node | None]]] = {}
        self._tools: dict[tuple[int, str], list[Node]] = {}  # that tell no id, of a fragment, by name
        self._both: dict[int, ModelCall] = {}  # what stands for a call that was told twice
        tokens: dict[tuple[str | None, int | None, int | None], list[tuple[Fragment, ModelCall]]] = {}
        for p in whole:
            for call in p.calls:
                for i in answer_ids(call) | set(asked_ids(call)):
                    self._by_id.setdefault(i, []).append((p, call, call.node.parent))
                tokens.setdefault((p.root.span.service, call.input_tokens, call.output_tokens), []).append((p, call))
            for n in p.nodes:
                if n.kind != TOOL:
                    continue
                for i in _of_tool(n):
                    self._by_id.setdefault(i, []).append((p, None, n))
                if span_call_id([n]) is None:
                    self._tools.setdefault((id(p), spelling(span_name([n]) or "")), []).append(n)
        self._by_tokens = {key: Times(some) for key, some in tokens.items() if None not in key[1:]}
        self._of_host = {id(p): Times([(p, call) for call in p.calls]) for p in whole}
        failed = [(p, call) for p in whole for call in p.calls if call.error is not None]
        self._failed = {
            service: Times(list(some)) for service, some in groupby(sorted(failed, key=_service), key=_service)
        }

    def of_call(self, p: Fragment, call: ModelCall) -> tuple[Fragment | None, ModelCall | None]:
        """The fragment in which this call was made, and that one's telling of it."""
        own = answer_ids(call) | set(asked_ids(call))
        host = self._only(p, [*own, *brought(call)])
        if host is not None:
            sure = [c for i in own for h, c, _ in self._by_id.get(i, ()) if h is host and c is not None]
            twins = [c for c in sure if may_be_one(self.now(c), call)]
            twins = twins or [c for _, c in self._of_host[id(host)].at(call) if may_be_one(self.now(c), call)]
            return host, min(twins, key=lambda c: (abs(c.start - call.start), c.node.span.span_id), default=None)
        if call.error is not None:
            return self._of_failure(p, call)
        counted = self._by_tokens.get((p.root.span.service, call.input_tokens, call.output_tokens))
        beside = [(h, c) for h, c in counted.at(call) if id(c) not in self._both] if counted is not None else []
        nested = [(h, c) for h, c in beside if enclosed(c, call) and may_be_one(c, call)]
        return nested[0] if len(nested) == 1 else (None, None)

    def _of_failure(self, p: Fragment, call: ModelCall) -> tuple[Fragment | None, ModelCall | None]:
        some = self._failed.get(p.root.span.service or "")
        beside = [(h, c) for h, c in some.at(call) if id(c) not in self._both] if some is not None else []
        words = words_of(call)
        nested = [
            (h, c)
            for h, c in beside
            if enclosed(c, call) and may_be_one(c, call) and (None in (words, words_of(c)) or words == words_of(c))
        ]
        return nested[0] if len(nested) == 1 else (None, None)

    def of_tool(self, p: Fragment) -> tuple[Fragment | None, Node | None]:
        """The fragment in which this tool was called, and under which of its nodes."""
        ids = _of_tool(p.root)
        host = self._only(p, ids)
        if host is None:
            return None, None
        told = [(c, n) for i in ids for h, c, n in self._by_id.get(i, ()) if h is host]
        named = self._tools.get((id(host), spelling(span_name([p.root]) or "")), ())
        ran = [n for c, n in told if c is None] or [n for n in named if _around(n, p)]
        return host, ran[0] if ran else told[0][1]

    def by_both(self, twin: ModelCall, call: ModelCall) -> None:
        """Two tell of one call."""
        before = self.now(twin)
        self._both[id(twin)] = ModelCall(before.node, [*call.layers, *before.layers])

    def now(self, call: ModelCall) -> ModelCall:
        return self._both.get(id(call), call)

    def _only(self, p: Fragment, ids: Iterable[str]) -> Fragment | None:
        """The one fragment that tells of these ids at the same time."""
        met = {id(h): h for i in ids for h, _, _ in self._by_id.get(i, ()) if overlap(h, p)}
        return next(iter(met.values())) if len(met) == 1 else None


class Times:
    """Calls by when they were."""

    def __init__(self, calls: list[tuple[Fragment, ModelCall]]) -> None:
        self._calls = sorted(calls, key=lambda found: found[1].start)
        self._starts = [call.start for _, call in self._calls]
        self._longest = max((call.end - call.start for _, call in calls), default=0)

    def at(self, call: ModelCall) -> list[tuple[Fragment, ModelCall]]:
        """Those that may be at the time of this one."""
        low = bisect_left(self._starts, call.start - JITTER_NS - self._longest)
        return self._calls[low : bisect_right(self._starts, call.end + JITTER_NS)]


def _service(found: tuple[Fragment, ModelCall]) -> str:
    return found[0].root.span.service or ""


def words_of(call: ModelCall) -> str | None:
    """What a model was told last that was no result."""
    return next((x.text for x in reversed(call.inputs or ()) if x.role == "user" and x.text), None)


def may_be_one(one: ModelCall, two: ModelCall) -> bool:
    """May these be one call, by two instrumentations?"""
    if {n.span.scope for n in one.layers} & {n.span.scope for n in two.layers} or not overlap(one, two):
        return False
    answers = [{n.span.response_id for n in c.layers if n.span.response_id} for c in (one, two)]
    if all(answers) and answers[0].isdisjoint(answers[1]):
        return False
    tokens = [(c.input_tokens, c.output_tokens) for c in (one, two)]
    if all(None not in t for t in tokens) and tokens[0] != tokens[1]:
        return False
    asked = [c.asked for c in (one, two) if c.outputs is not None]
    if len(asked) < 2:
        return True
    known = all(r.id for some in asked for r in some)  # LiteLLM tells none of a stream
    told = [sorted((r.name or "", r.id or "" if known else "") for r in some) for some in asked]
    return told[0] == told[1]


def _around(node: Node, tool: Fragment) -> bool:
    return node.start <= tool.start + JITTER_NS and tool.end <= node.end + JITTER_NS


def overlap(one: Fragment | ModelCall, two: Fragment | ModelCall) -> bool:
    return one.start <= two.end + JITTER_NS and two.start <= one.end + JITTER_NS


def enclosed(one: ModelCall, two: ModelCall) -> bool:
    outer, inner = sorted((one, two), key=lambda c: c.start - c.end)
    return outer.start <= inner.start + JITTER_NS and inner.end <= outer.end + JITTER_NS


def answer_ids(call: ModelCall) -> set[str]:
    return {i for n in call.layers if (i := n.span.response_id) is not None and random(i)}


def asked_ids(call: ModelCall) -> list[str]:
    return [r.id for r in call.asked if r.id is not None and random(r.id)]


def brought(call: ModelCall) -> list[str]:
    """The ids of the results that are new in this call's input."""
    out: list[str] = []
    for message in reversed(call.inputs or ()):
        if not message.results:
            break
        out += [r.id for r in message.results if r.id is not None and random(r.id)]
    return out


def _of_tool(node: Node) -> set[str]:
    found = span_call_id([node]) if node.kind == TOOL else None
    return {found} if found is not None and random(found) else set()
