"""Spans of tools that begin a trace of their own, and were called by an agent of whom another trace tells.

A server of tools in the caller's own process works in a task that was made before any request (claude-agent-sdk's
client), so its spans know nothing of the call; nor do those of a server elsewhere, where the context of the trace is
not handed on. It tells of a call again that an agent's trace tells already: of the one tool whose name ends with the
server's, within whose time it lies, of the same service or, where none of that fits, of another.

An instrumentation that follows a framework's callbacks (OpenInference's of LangChain, Langfuse's handler) opens spans
that nothing below them sees: what another tells of the same tool, a client of MCP or the function itself, begins a
trace of its own. It is the call of that name, with those arguments, within whose time it lies.

Nor does a thread know who began it (smolagents 1.20, of several tools at once). What it ran is what an answer of that
service had asked for just before, by name and arguments.

Where calls of several runs fit, such a span stays by itself, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import takewhile, zip_longest
from typing import Any, NamedTuple

from otelcov.dialects.base import AGENT, TOOL
from otelcov.runs.content.chat import Message, Request
from otelcov.runs.content.flattened import flattened_messages
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.habits import knows_no_caller
from otelcov.runs.tools.executions import served_as, server_alone, span_call_id, span_fact, span_name, told_apart
from otelcov.runs.trace.tree import Node, failure, same_name, spelling

_JITTER_NS = 1_000_000
_AT_ONCE = 128  # calls that are under way at one time


def unite_served(
    parts: list[Fragment], single: Callable[[Fragment], bool], unite: Callable[[Fragment, Fragment], None]
) -> None:
    """Join such spans with the calls that they served, those told twice if they are `single`. `parts` by start."""
    served = [
        p
        for p in parts
        if p.tools == [p.root] and not p.root.orphan and (server_alone(p.root) or (told_apart(p.root) and single(p)))
    ]
    if not served:
        return
    callers = [(n, p) for p in parts if not p.loose or p.root.orphan for n in _callers(p)]
    callers.sort(key=lambda found: found[0].start)
    open_: list[tuple[Node, Fragment]] = []
    begun, taken, alone = 0, set[int](), list[Fragment]()
    for p in served:
        while begun < len(callers) and callers[begun][0].start <= p.start + _JITTER_NS:
            open_.append(callers[begun])
            begun += 1
        open_ = [(n, host) for n, host in open_ if n.end >= p.start and id(n) not in taken][-_AT_ONCE:]
        fitting = [(n, host) for n, host in open_ if _serves(p, n)]
        fitting = [(n, host) for n, host in fitting if n.span.service == p.root.span.service] or fitting
        alike = [(n, host) for n, host in fitting if (failure(n) is None) == (failure(p.root) is None)]
        fitting = alike or fitting
        if len({id(host) for _, host in fitting}) == 1:
            node, host = fitting[0]
            taken.add(id(node))
            unite(host, p)
            p.root.parent = node
            node.children.append(p.root)
        p.astray = len({id(host) for _, host in fitting}) > 1
        if not fitting and server_alone(p.root):
            alone.append(p)
    if alone:
        _unite_asked(parts, alone, unite)


def _unite_asked(parts: list[Fragment], alone: list[Fragment], unite: Callable[[Fragment, Fragment], None]) -> None:
    """Join what servers ran for calls whose own spans have not come: within the time of the one agent of that service
    that asked for a tool whose name ends with the server's, and of which no span tells."""
    services = {p.root.span.service for p in alone}
    hosts = [q for q in parts if q.root.kind == AGENT and not q.loose and q.root.span.service in services]
    open_: list[Fragment] = []
    begun, wanted = 0, dict[int, list[Request]]()
    for p in alone:
        while begun < len(hosts) and hosts[begun].start <= p.start + _JITTER_NS:
            open_.append(hosts[begun])
            begun += 1
        open_ = [q for q in open_ if q.end >= p.start][-_AT_ONCE:]
        fitting = []
        for q in open_:
            if q.root.span.service == p.root.span.service and p.end <= q.end + _JITTER_NS:
                if id(q) not in wanted:
                    wanted[id(q)] = _not_run(q)
                fitting += [(q, r) for r in wanted[id(q)] if served_as(span_name([p.root]) or "", r.name or "", p.root)]
        p.astray = len({id(q) for q, _ in fitting}) > 1
        if not fitting or p.astray:
            continue
        host, request = fitting[0]
        wanted[id(host)].remove(request)
        unite(host, p)
        sure = len(fitting) == 1
        p.root.span = p.root.span._replace(tool=request.name, call_id=request.id if sure else None)
        p.root.parent, p.root.agent = host.root, p.root.agent or host.root.agent
        host.root.children.append(p.root)


def _not_run(host: Fragment) -> list[Request]:
    """What an agent, or a model in it, asked for, as the newest is shown, too, and no span tells of."""
    told = [r for n in host.nodes if n.kind == AGENT for m in _put_out(n) for r in m.requests]
    newest = max(host.calls, key=lambda c: c.start, default=None)
    shown = list(takewhile(lambda m: m.role != "user" or m.results, reversed((newest and newest.inputs) or ())))
    told += [
        Request(r.id, r.name, None) for m in shown for r in m.results if r.name
    ]  # Logfire tells some by these alone
    told += [r for m in shown for r in m.requests]
    asked = {r.id: r for r in (*told, *(r for c in host.calls for r in c.requests)) if r.id}
    ran = {span_call_id([n]) for n in host.nodes if n.kind == TOOL}
    return [r for id, r in asked.items() if id not in ran]


def _put_out(agent: Node) -> list[Message]:
    pairs = agent.side.families["flat_output"].get(agent.span.row)
    return flattened_messages(pairs, "assistant") if pairs else messages_of(agent.span.output_messages) or []


def unite_threads(parts: list[Fragment], unite: Callable[[Fragment, Fragment], None]) -> None:
    """Join what ran in threads with who asked for it."""
    ran = [p for p in parts if p.tools == [p.root] and not p.root.orphan and knows_no_caller(p.root.span.scope)]
    if not ran:
        return
    services = {p.root.span.service for p in ran}
    asked: dict[tuple[str | None, str], list[_Wanted]] = {}
    for host in parts:
        if host.loose or host.root.span.service not in services:
            continue
        calls = sorted(host.calls, key=lambda c: c.start)
        for call, then in zip_longest(calls, calls[1:]):
            until = max(then.start, call.end) if then is not None else host.end
            for r in call.requests:
                key = host.root.span.service, spelling(r.name or "")
                asked.setdefault(key, []).append(_Wanted(host, call, until, arguments_of(r.arguments)[0]))
    for p in ran:
        wanted = asked.get((p.root.span.service, spelling(span_name([p.root]) or "")), [])
        given = arguments_of(p.root.span.arguments)[0]
        fitting = [
            w
            for w in wanted
            if w.given == given and w.call.end <= p.start + _JITTER_NS and p.end <= w.until + _JITTER_NS
        ]
        p.astray = len({id(w.host) for w in fitting}) > 1
        if not fitting or p.astray:
            continue
        wanted.remove(fitting[0])
        node = next((n for n in fitting[0].call.node.ancestors() if n.kind == AGENT), fitting[0].host.root)
        unite(fitting[0].host, p)
        p.root.parent, p.root.agent = node, p.root.agent or node.agent
        node.children.append(p.root)


class _Wanted(NamedTuple):
    """What an answer asked for, and until when it could run."""

    host: Fragment
    call: ModelCall
    until: int
    given: dict[str, Any] | None


def _callers(part: Fragment) -> Iterable[Node]:
    """The calls of tools of which no server has told yet."""
    tools = (n for n in part.nodes if n.kind == TOOL and not server_alone(n))
    return (n for n in tools if not any(c.kind == TOOL and server_alone(c) for c in n.below()))


def _serves(p: Fragment, caller: Node) -> bool:
    name, outer = span_name([p.root]), span_name([caller])
    if not name or not outer or p.end > caller.end + _JITTER_NS:
        return False
    if server_alone(p.root):
        return served_as(name, outer, p.root)
    return caller.span.scope != p.root.span.scope and same_name(name, outer) and _given_alike(p.root, caller)


def _given_alike(inner: Node, caller: Node) -> bool:
    """Were these given the same? Of one argument its value may be all that is told (LangChain's)."""
    given, _ = arguments_of(span_fact([inner], "arguments"))
    told, text = arguments_of(span_fact([caller], "arguments"))
    if not given:
        return False
    return told == given if told is not None else text is not None and [text] == [str(v) for v in given.values()]
