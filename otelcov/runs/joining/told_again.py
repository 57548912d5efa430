"""Runs that two instrumentations told at once, each whole and in a trace of its own.

Callbacks and trace processors keep spans by themselves and leave none that another could stand under: Langfuse's
handler beside OpenInference for LangChain, OpenInference beside Traceloop for OpenAI's agents. What one request did is
then two traces, and neither shows that there is another. Runs of one service, by steps of different scopes, that took
place at once are one where each model call has its like, or one tells of none, and an id that a provider gave, or the
tokens throughout and words or an agent's name, or the times of all, say so. The telling that shows more counts.

Where they may meet is found by run rows, so that a trace waits only for one that seems to tell the same; and only in
services that more than one instrumentation tells of.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import polars as pl

from otelcov.dialects.base import AGENT, LLM, OTHER, TOOL
from otelcov.runs.joining.doubles import answer_ids, asked_ids, may_be_one, random, words_of
from otelcov.runs.joining.followers import Unite
from otelcov.runs.joining.fragments import Fragment, told
from otelcov.runs.joining.overlaps import JITTER_NS, Timed, enclosed
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.executions import span_call_id, span_name
from otelcov.runs.trace.tree import spelling

COLUMNS = ("trace_ids", "service", "scope", "start_unix_nano", "end_unix_nano", "agents", "tool_calls", "llm_calls")
"""What is looked at of RUNS."""

Teller = tuple[str | None, str]
"""A service, and a scope by which the steps of its runs are told."""

Lasting = TypeVar("Lasting", bound=Timed)


class _Telling(NamedTuple):
    """A run, by what another telling of it has in common."""

    trace: str
    scope: str
    start: int
    end: int
    agents: frozenset[str]
    ids: frozenset[str]  # of tool calls
    tools: frozenset[str]
    tokens: tuple[tuple[int | None, int | None], ...]  # of model calls, in order


def tellers(runs: pl.DataFrame) -> set[Teller]:
    """Who tells of these runs (RUNS, or some columns of it)."""
    found = runs.lazy().select("service", "scope").drop_nulls("scope").unique().collect()
    return set(found.iter_rows())


def twofold(every: Iterable[Teller]) -> list[str | None]:
    """The services of which more than one instrumentation tells."""
    scopes: dict[str | None, set[str]] = {}
    for service, scope in every:
        scopes.setdefault(service, set()).add(scope)
    return [service for service, some in scopes.items() if len(some) > 1]


def of_services(runs: pl.DataFrame, services: Collection[str | None]) -> pl.DataFrame:
    """COLUMNS of the runs that may have been told again, by whoever tells of these services."""
    known = [service for service in services if service is not None]
    of = pl.col("service").is_in(known) | (pl.col("service").is_null() & (None in services))
    return runs.select(COLUMNS).filter(of & pl.col("scope").is_not_null() & (pl.col("trace_ids").list.len() == 1))


def told_again(runs: pl.DataFrame, fresh: Collection[str] | None = None) -> set[str]:
    """The traces (in hex) of those of these runs (see `of_services`) that may be told by another of them, too.
    `fresh`: of pairs of which one is among these traces alone."""
    found = set[str]()
    for some in runs.partition_by("service", include_key=False) if runs.height else []:
        for one, two in _beside([_telling(row) for row in some.iter_rows(named=True)]):
            new = fresh is None or one.trace in fresh or two.trace in fresh
            if new and one.scope != two.scope and _may_tell_of_one(one, two):
                found |= {one.trace, two.trace}
    return found


def _beside(every: list[Lasting]) -> Iterator[tuple[Lasting, Lasting]]:
    """Each with those that begin in its time, or a little before, and take no longer."""
    every = sorted(every, key=lambda one: one.start)
    starts = [one.start for one in every]
    for at, one in enumerate(every):
        length = one.end - one.start
        low = bisect_left(starts, one.start - _begun_before(length))
        for other in range(low, bisect_right(starts, one.end + JITTER_NS)):
            two = every[other]
            if two.end - two.start < length or (two.end - two.start == length and other > at):
                yield one, two


def _telling(row: dict[str, Any]) -> _Telling:
    (trace,), tools, models = row["trace_ids"], row["tool_calls"] or [], row["llm_calls"] or []
    return _Telling(
        trace,
        row["scope"],
        row["start_unix_nano"] or 0,
        row["end_unix_nano"] or 0,
        frozenset(row["agents"] or ()),
        frozenset(filter(random, (call["call_id"] for call in tools))),
        frozenset(spelling(call["name"] or "") for call in tools),
        tuple((call["input_tokens"], call["output_tokens"]) for call in models),
    )


def _may_tell_of_one(one: _Telling, two: _Telling) -> bool:
    """Did these take place at once, and does nothing say that they are not one?"""
    if not _at_once(one, two, whole=bool(one.tokens and two.tokens)):
        return False
    if one.ids and two.ids:
        return not one.ids.isdisjoint(two.ids)
    if one.tools and two.tools and one.tools.isdisjoint(two.tools):
        return False
    if not one.tokens or not two.tokens:
        return _noted_together(one, two) and not _apart(one.agents, two.agents)
    pairs = list(zip(one.tokens, two.tokens, strict=False))
    return len(one.tokens) == len(two.tokens) and all(a == b or None in (*a, *b) for a, b in pairs)


def _at_once(one: Timed, two: Timed, whole: bool) -> bool:
    """Do these begin together, and share most of their time? Or does one lie within the other, where it tells of tools
    alone?"""
    if not whole:
        return enclosed(one, two)
    length = max(one.end - one.start, two.end - two.start)
    shared = min(one.end, two.end) - max(one.start, two.start)
    return abs(one.start - two.start) <= _begun_before(length) and 2 * (shared + JITTER_NS) >= length


def _begun_before(length: int) -> int:
    """By how much one telling may begin before another, of which the longer takes so long."""
    return JITTER_NS + length // 4


def unite_told_again(parts: Iterable[Fragment], unite: Unite) -> None:
    """Join runs with what another instrumentation told of them; what tells less counts for nothing."""
    of: dict[str | None, list[Fragment]] = {}
    for p in _whole(parts):
        of.setdefault(p.root.span.service, []).append(p)
    for some in of.values():
        if len({scope for p in some for scope in _scopes(p)}) < 2:
            continue
        pairs = [(p, q) for p, q in _beside(some) if _one_run(p, q)]
        pairs.sort(key=lambda pair: abs(pair[0].start - pair[1].start) + abs(pair[0].end - pair[1].end))
        heard = {id(p): _scopes(p) for p in some}  # who tells of its model calls
        for p, q in pairs:
            if p.again or q.again or (p.calls and q.calls and not heard[id(p)].isdisjoint(heard[id(q)])):
                continue
            less, more = sorted((p, q), key=lambda f: (told(f.nodes), -f.start, f.trace_id))
            heard[id(more)] |= heard[id(less)]
            _dismiss(less)
            unite(more, less)


def _whole(parts: Iterable[Fragment]) -> Iterator[Fragment]:
    """The fragments that are all of their trace."""
    by_trace: dict[bytes, list[Fragment]] = {}
    for p in parts:
        by_trace.setdefault(p.trace_id, []).append(p)
    return (some[0] for some in by_trace.values() if len(some) == 1 and not some[0].loose)


def _one_run(one: Fragment, two: Fragment) -> bool:
    if not _scopes(one) or not _scopes(one).isdisjoint(_scopes(two)):
        return False
    if not _at_once(one, two, whole=bool(one.calls and two.calls)):
        return False
    names, others = (_tools(p) for p in (one, two))
    if names and others and names.isdisjoint(others):
        return False
    pairs = list(zip(one.calls, two.calls, strict=False))
    if pairs and not (len(one.calls) == len(two.calls) and all(may_be_one(a, b) for a, b in pairs)):
        return False
    ids, more = (_ids(p) for p in (one, two))
    if ids and more:
        return not ids.isdisjoint(more)
    words = [{words_of(a), words_of(b)} for a, b in pairs]
    if any(len(both - {None}) > 1 for both in words):
        return False
    agents, more_agents = ({n.own_agent for n in p.nodes if n.own_agent} for p in (one, two))
    if _apart(agents, more_agents):
        return False
    counted = _counted(pairs)
    same = all(len(both) == 1 and None not in both for both in words)
    if pairs and names and others and names != others and not (counted and (names < others or others < names)):
        return False
    if counted and (same or agents & more_agents):
        return all(min(abs(a.start - b.start), abs(a.end - b.end)) <= JITTER_NS for a, b in pairs)
    if not _noted_together(one, two):
        return False
    failed = bool(agents & more_agents) and all(_failed_alike(a, b) and enclosed(a, b) for a, b in pairs)
    return failed or all(_noted_together(a, b) for a, b in pairs)


def _failed_alike(one: ModelCall, two: ModelCall) -> bool:
    """Did both fail, and does one tell the words of the other, beside a type or where that was?"""
    if one.error is None or two.error is None:
        return False
    short, long = sorted((one.error[1], two.error[1]), key=len)
    return len(short) >= _A_SENTENCE and short in long


_A_SENTENCE = 20  # letters that two errors do not share by chance


def _counted(pairs: list[tuple[ModelCall, ModelCall]]) -> bool:
    """Does each tell what every call used that did not fail for both?"""
    ended = [pair for pair in pairs if not all(call.error is not None for call in pair)]
    return bool(ended) and all(None not in (c.input_tokens, c.output_tokens) for pair in ended for c in pair)


def _apart(agents: Collection[str], others: Collection[str]) -> bool:
    return bool(agents) and bool(others) and set(agents).isdisjoint(others)


def _noted_together(one: Timed, two: Timed) -> bool:
    return abs(one.start - two.start) <= JITTER_NS and abs(one.end - two.end) <= JITTER_NS


def _scopes(part: Fragment) -> set[str]:
    """Who tells of its agents and model calls, or of its tools where it has neither: what finds a span to stand under
    may lie in any trace."""
    steps = {n.span.scope for n in part.nodes if n.kind in (AGENT, LLM)}
    return steps or {n.span.scope for n in part.nodes if n.kind == TOOL}


def _tools(part: Fragment) -> set[str]:
    return {spelling(span_name([n]) or "") for n in part.nodes if n.kind == TOOL}


def _ids(part: Fragment) -> set[str]:
    """Those that nobody gives twice: of answers, of what they asked for, of tools that ran."""
    ran = (span_call_id([n]) for n in part.nodes if n.kind == TOOL)
    asked = (i for call in part.calls for i in (*answer_ids(call), *asked_ids(call)))
    return {*asked, *(i for i in ran if i is not None and random(i))}


def _dismiss(part: Fragment) -> None:
    for n in part.nodes:
        n.kind, n.agent, n.own_agent = OTHER, None, None
    part.calls, part.tools, part.again = [], [], True


__all__ = ["COLUMNS", "Teller", "of_services", "tellers", "told_again", "twofold", "unite_told_again"]
