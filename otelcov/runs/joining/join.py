"""Stage two: the parts of runs that lie in several traces, put together.

Whole traces never come here. What does: model calls without anything above them (an instrumentation that opens a trace
for each), traces joined by span links, and an agent called as a tool whose span started a trace of its own. Parts are
joined by what the spans themselves say - a call that brings results for tools another call asked for continues it -
and never by closeness in time alone; by their order calls that say nothing, where only one can go on (in_order.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.ground.schemas import LATEST_NS, signed
from otelcov.runs.agents.delegation import bare
from otelcov.runs.joining.between import unite_between
from otelcov.runs.joining.children import unite_children
from otelcov.runs.joining.doubles import Loner, loner, told_elsewhere, unite_doubles
from otelcov.runs.joining.followers import Unite, unite_followers
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.gateways import unite_gateways
from otelcov.runs.joining.guests import framed, heard_from, lead, said_to, served
from otelcov.runs.joining.holding import unite_holding
from otelcov.runs.joining.hollow import unite_hollow
from otelcov.runs.joining.in_order import unite_in_order
from otelcov.runs.joining.leaves import unite_leaves
from otelcov.runs.joining.served import unite_served, unite_threads
from otelcov.runs.joining.told_again import Teller, unite_told_again
from otelcov.runs.joining.twins import unite_echoes, unite_twins
from otelcov.runs.llm.numbered import number
from otelcov.runs.trace.attributes import scope_of
from otelcov.runs.trace.tree import Node

SLACK_NS = 5_000_000_000  # how long after a run's last span a link may still carry it on
_JITTER_NS = 1_000_000


class Guest(NamedTuple):
    """An agent that leads a trace, and may have been called in another; or a call of which another may tell, too."""

    name: str  # bare; empty where it is no agent
    start: int
    trace: bytes
    alone: Loner | None = None


@dataclass(slots=True)
class Joints:
    """What a batch of traces shows, before any tree is built, of where parts may meet."""

    edges: list[tuple[int, bytes, bytes, bytes]] = field(
        default_factory=list
    )  # (start, trace, linked trace, linked span)
    ends: dict[bytes, int] = field(default_factory=dict)
    linked: set[bytes] = field(default_factory=set)
    hosted: set[str] = field(default_factory=set)  # bare names that a tool call seems to call an agent by
    guests: set[str] = field(default_factory=set)  # those of agents in traces of their own: calls of them wait
    awaited: set[bytes] = field(default_factory=set)  # traces that tell of what stands alone, or is told, in others
    tellers: set[Teller] = field(default_factory=set)  # of runs beside those of the batch


_HOST = late(
    r"(?:ask|consult|call|invoke|run|query|use|talk_to|contact|(?:delegate|transfer|handoff|hand_off|send|route)(?:_\w+?)??_to)_(\w+)",
    re.I,
)


def joints(frame: pl.DataFrame) -> Joints:
    """One look over all spans (SPANS columns)."""
    out = Joints()
    out.hosted.update(called(frame["name"].unique()).values())
    links = continued(frame)
    if links.height:
        known = pl.concat([links["trace_id"], links["target"]]).unique()
        times = (
            frame.lazy()
            .filter(pl.col("trace_id").is_in(known.implode()))
            .group_by("trace_id")
            .agg(pl.max_horizontal("end_time_unix_nano", "start_time_unix_nano").max().alias("end"))
            .collect()
        )
        out.ends = dict(times.iter_rows())
        out.edges = sorted(
            (start or 0, trace, target, span) for trace, start, target, span in links.iter_rows() if target in out.ends
        )
        out.linked = {t for _, trace, target, _ in out.edges for t in (trace, target)}
    return out


def continued(frame: pl.DataFrame) -> pl.DataFrame:
    """trace_id, start_time_unix_nano, target, span: the links by which these spans go on with another trace."""
    linking = frame.filter(pl.col("links").list.len() > 0)
    own = [scope for scope in linking["scope"].unique() if scope and _TO_MAKERS.match(scope_of(scope)[0])]
    return (
        linking.lazy()
        .filter(~pl.col("scope").is_in(pl.Series(own, dtype=pl.Binary).implode()).fill_null(False), ~_AGAIN)
        .select(
            "trace_id",
            "start_time_unix_nano",
            target=pl.col("links").list.eval(pl.element().struct.field("trace_id")),
            span=pl.col("links").list.eval(pl.element().struct.field("span_id")),
        )
        .filter(pl.col("target").list.n_unique() == 1)  # a span that links many traces gathers them, it continues none
        .select(
            "trace_id", "start_time_unix_nano", target=pl.col("target").list.first(), span=pl.col("span").list.first()
        )
        .filter((pl.col("target") != pl.col("trace_id")) & pl.col("target").is_not_null())
        .unique()
        .collect()
    )


_TO_MAKERS = late(r"@?openlit\b|ioa\.observe\b")
"""Scopes whose spans link to where an agent was made, or to the one before in the session, which says nothing of who
asked it."""


_AGAIN = (
    pl.col("links")
    .list.eval(
        pl.element()
        .struct.field("attributes")
        .list.eval(pl.element().struct.field("string_value").is_in(["resume", "replay"]))
        .list.any()
    )
    .list.any()
    .fill_null(False)
)
"""Is this a run that goes on where another waited, or runs it again, by what its link says (VoltAgent)?"""


def waits(part: Fragment, where: Joints) -> bool:
    """May this fragment be a part of a larger run?"""
    if part.loose or part.holds or part.trace_id in where.linked or part.trace_id in where.awaited or _apart(part):
        return True
    if _guest(part, where) is not None:
        return True
    return bool(where.guests) and any(name in where.guests for name, _ in _hosts(part))


def guests(parts: Iterable[Fragment], where: Joints) -> list[Guest]:
    """The agents among these parts that ran in a trace of their own and that some tool call may have called, and the
    calls in traces of their own of which another trace may tell."""
    found = ((_guest(part, where), loner(part), part) for part in parts)
    return [
        Guest(name or "", min(part.start, LATEST_NS), part.trace_id, alone)
        for name, alone, part in found
        if name is not None or alone is not None
    ]


def called(names: Iterable[str | None]) -> dict[str, str]:
    """Of these names of spans or tools those that seem to call an agent, and the bare name of that."""
    hits = {name: _HOST.search(name) for name in names if name}
    return {name: bare(hit.group(1)) for name, hit in hits.items() if hit is not None}


def hosts(runs: pl.DataFrame, found: Collection[Guest]) -> pl.DataFrame:
    """The runs (RUNS, or some columns of it) with a tool call that may have called one of these guests, and as `called`
    the bare name of that; those that may tell of one of them themselves with an empty one."""
    if not found or not runs.height:
        return runs.clear().with_columns(called=pl.lit(None, pl.String))
    tools = pl.concat(
        [runs["tool_calls"].explode().struct.field("name"), runs["delegations"].explode().struct.field("tool")]
    )
    starts: dict[str, list[int]] = {}
    for guest in found:
        if guest.name:
            starts.setdefault(guest.name, []).append(guest.start)
    tools_of: dict[str, list[str]] = {}
    for tool, agent in called(tools.drop_nulls().unique()).items():
        tools_of.setdefault(agent, []).append(tool)
    double = told_elsewhere(runs, [guest.alone for guest in found if guest.alone is not None])
    rows = [runs.filter(double).with_columns(called=pl.lit("", pl.String))]
    for agent in starts.keys() & tools_of.keys():
        asks = runs.filter(
            pl.any_horizontal(
                pl.col(calls).list.eval(pl.element().struct.field(name).is_in(tools_of[agent])).list.any()
                for calls, name in (("tool_calls", "name"), ("delegations", "tool"))
            )
        )
        began = np.sort(np.array(starts[agent], dtype=np.int64))
        ends = asks.select(signed("start_unix_nano") - _JITTER_NS, signed("end_unix_nano"))
        first = np.searchsorted(began, ends["start_unix_nano"].to_numpy(), "left")
        last = np.searchsorted(began - _JITTER_NS, ends["end_unix_nano"].to_numpy(), "right")
        rows.append(asks.filter(pl.Series(last > first, dtype=pl.Boolean)).with_columns(called=pl.lit(agent)))
    return pl.concat(rows)


def _guest(part: Fragment, where: Joints) -> str | None:
    if not where.hosted or part.root.orphan:
        return None
    node = lead(part) or framed(part)
    return bare(node.own_agent) if node is not None and bare(node.own_agent) in where.hosted else None


def _apart(part: Fragment) -> bool:
    """Is this of a kit (Strands 0.1, TanStack AI) whose every agent opens a trace, also one that a tool of another's
    runs, and has no name that its caller's tool could bear?"""
    root, first = part.root, part.root.children[:1]
    if root.parent is not None:
        return False
    if root.kind == AGENT:
        return any(n.span.name[:6] == "Cycle " for n in first)
    return root.kind == CHAIN and any(number(n) is not None for n in first)


def called_by_name(agent: str | None, where: Joints) -> bool:
    """Does some tool call of the batch bear this agent's name?"""
    return agent is not None and bare(agent) in where.hosted


def _hosts(part: Fragment) -> list[tuple[str, Node]]:
    """Tool spans that seem to call an agent and show nothing of its work."""
    out = []
    for n in part.nodes:
        if n.kind == TOOL and not any(c.kind in (AGENT, LLM) for c in n.below()):
            hit = _HOST.search(n.span.tool or n.span.name)
            if hit is not None:
                out.append((bare(hit.group(1)), n))
    return out


def join(parts: list[Fragment], where: Joints, max_run_ns: int) -> list[list[Fragment]]:
    """Groups of fragments, one a run, each group earliest first. What a conversation alone holds together is no more
    than `max_run_ns` apart."""
    group = {id(p): [p] for p in parts}

    def unite(a: Fragment, b: Fragment) -> None:
        one, two = group[id(a)], group[id(b)]
        if one is not two:
            one.extend(two)
            for p in two:
                group[id(p)] = one

    def unite_near(a: Fragment, b: Fragment) -> None:
        if max(a.start, b.start) <= min(a.end, b.end) + max_run_ns:
            unite(a, b)

    def one_run(some: list[Fragment]) -> bool:
        return len({id(group[id(p)]) for p in some}) == 1

    parts.sort(key=lambda p: (p.start, p.trace_id, p.root.span.span_id))
    unite_told_again(parts, unite)
    _links(parts, where, unite)
    _agents_as_tools(parts, where, unite)
    _agents_apart([p for p in parts if _apart(p)], unite)
    unite_gateways(parts, unite)
    every = [p for p in parts if p.loose]
    loose = [p for p in every if p.root.kind == LLM or (p.tools == [p.root] and not p.calls)]
    unite_twins(loose, unite)
    unite_echoes(loose, unite)
    unite_doubles(parts, unite)
    followers, joined = unite_followers([p for p in every if p.calls or p.tools], unite_near)
    loose = [p for p in loose if p.calls or p.tools]
    unite_in_order(loose, followers, joined, unite_near)
    undecided = unite_leaves(loose, followers, joined, unite_near, one_run)
    unite_children(loose, followers, unite_near)
    unite_holding(parts, followers, unite_near)
    _decide(undecided, lambda p: group[id(p)], unite_near)
    unite_between([p for p in every if p.between or p.calls], followers, unite_near)
    unite_served(parts, lambda p: len(group[id(p)]) == 1, unite)
    unite_threads(parts, unite)
    unite_hollow([p for p in parts if len(group[id(p)]) == 1 or not p.tools], unite)
    seen: set[int] = set()
    out = []
    for p in parts:
        g = group[id(p)]
        if len(g) == 1 and p.between and not p.calls:
            continue  # no step of anybody's
        if id(g) not in seen:
            seen.add(id(g))
            g.sort(key=lambda f: (f.start, f.trace_id, f.root.span.span_id))
            if len(g) == 1:
                p.alone()
            out.append(g)
    return out


def _decide(
    undecided: list[tuple[Fragment, list[Fragment]]], run: Callable[[Fragment], list[Fragment]], unite: Unite
) -> None:
    """Tools for which several calls may have asked: whoever of one run did, or of the one that began when the others
    of the conversation were over."""
    times: dict[int, tuple[int, int]] = {}
    for tool, askers in undecided:
        runs = {id(some[0]): some for some in map(run, askers)}
        for key, some in runs.items():
            if key not in times:
                times[key] = min(p.start for p in some), max(p.end for p in some)
        began, newest = max((times[key][0], key) for key in runs)
        one = tool.root.span.conversation is not None or len(runs) == 1
        if one and all(key == newest or times[key][1] <= began for key in runs):
            unite(next(p for p in askers if id(run(p)[0]) == newest), tool)


def _links(parts: list[Fragment], where: Joints, unite: Unite) -> None:
    """Traces connected by links are one run, also through traces that hold no step (a message bus)."""
    if not where.edges:
        return
    leader = {t: t for t in where.linked}
    end = dict(where.ends)

    def find(t: bytes) -> bytes:
        while leader[t] != t:
            leader[t] = t = leader[leader[t]]
        return t

    for start, trace, target, _ in where.edges:
        a, b = find(target), find(trace)
        if a != b and start <= end[a] + SLACK_NS:
            leader[b] = a
            end[a] = max(end[a], end[b])
    nodes = {(p.trace_id, n.span.span_id): n for p in parts if p.trace_id in where.linked for n in p.nodes}
    first: dict[bytes, Fragment] = {}
    of: dict[bytes, list[Fragment]] = {}
    for p in parts:
        if p.trace_id in where.linked:
            head = first.setdefault(find(p.trace_id), p)
            unite(head, p)
            of.setdefault(p.trace_id, []).append(p)
    for _, trace, target, span in where.edges:
        node = nodes.get((target, span))
        if node is None or find(trace) != find(target) or _of_a_model(node):
            continue
        for p in of.get(trace, ()):
            if p.root.parent is None and p.root.span.row in p.root.side.links:
                p.root.parent = node  # for agents and delegations, what was linked lies below
                if node.kind == TOOL:
                    node.children.append(p.root)


def _of_a_model(node: Node) -> bool:
    """Is this a model's call, or in one? A model calls nobody: what goes on from its answer lies beside it."""
    inner: Node | None = node
    while inner is not None and inner.span.trace_id == node.span.trace_id:
        if inner.kind == LLM:
            return True
        inner = inner.parent
    return False


def _agents_as_tools(parts: list[Fragment], where: Joints, unite: Unite) -> None:
    """An agent that ran in a trace of its own within the time of a tool call that bears its name. One of another
    service, or below frames, was told there what the tool was given, and what it answered came of that."""
    guests = [(name, p) for p in parts if (name := _guest(p, where)) is not None]
    if not guests:
        return
    hosts: dict[str, list[tuple[Node, Fragment]]] = {}
    for p in parts:
        for name, node in _hosts(p):
            hosts.setdefault(name, []).append((node, p))
    answered = set[int]()  # calls of which some agent is known already: of others made at once it is not theirs
    for name, guest in guests:
        near = lead(guest) is not None
        fitting = [
            (n, p)
            for n, p in hosts.get(name, ())
            if p is not guest
            and n.start <= guest.start + _JITTER_NS
            and guest.end <= n.end + _JITTER_NS
            and ((near and n.span.service == guest.root.span.service) or (said_to(n, guest) and heard_from(n, guest)))
        ]
        if not fitting:
            continue
        node, host = max(fitting, key=lambda x: _likely(x[0], guest, answered))
        if (len(fitting) > 1 or served(guest) is not None) and not said_to(node, guest):
            continue  # several calls could have made it, or anybody, and nothing tells which
        answered.add(id(node))
        unite(host, guest)
        if guest.root.parent is not node:  # else a link has told so
            guest.root.parent = node
            node.children.append(guest.root)


def _likely(node: Node, guest: Fragment, answered: Container[int]) -> tuple[bool, bool, bool, int]:
    """What tells for a call, of several in whose time an agent ran, that it called it; the most telling first."""
    return said_to(node, guest), id(node) not in answered, node.start <= guest.start, node.start


def _agents_apart(parts: list[Fragment], unite: Unite) -> None:
    """Agents that ran in traces of their own within the time of the one tool that was given the words they were asked.
    `parts` by start."""
    tools = sorted(
        ((n, p) for p in parts for n in p.nodes if n.kind == TOOL and not any(c.kind is not None for c in n.below())),
        key=lambda x: x[0].start,
    )
    open_: list[tuple[Node, Fragment]] = []
    begun = 0
    for guest in parts:
        while begun < len(tools) and tools[begun][0].start <= guest.start + _JITTER_NS:
            open_.append(tools[begun])
            begun += 1
        open_ = [(n, p) for n, p in open_ if n.end >= guest.start][-_AT_ONCE:]
        fitting = [
            (n, p)
            for n, p in open_
            if p is not guest
            and guest.end <= n.end + 2 * _JITTER_NS  # two spans that begin at whole milliseconds
            and n.span.service == guest.root.span.service
            and said_to(n, guest)
        ]
        if len(fitting) == 1:
            node, host = fitting[0]
            unite(host, guest)
            guest.root.parent = node
            node.children.append(guest.root)


_AT_ONCE = 64  # tools that run at one time


def called_agents(spans: pl.DataFrame) -> list[tuple[str, int, int]]:
    """(bare name, start, end) of the spans (SPANS columns) that seem to call an agent and have nothing below them."""
    names = called(spans["name"].unique())
    calls = spans.filter(pl.col("name").is_in(list(names))) if names else spans.clear()
    above = spans.select("trace_id", span_id="parent_span_id").drop_nulls()
    last = calls.join(above, on=["trace_id", "span_id"], how="anti")
    times = last.select("name", signed("start_time_unix_nano"), signed("end_time_unix_nano")).iter_rows()
    return [(names[name], (start or 0) - _JITTER_NS, end or start or 0) for name, start, end in times]
