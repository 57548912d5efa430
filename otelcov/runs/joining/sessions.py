"""Sessions of agents that are spoken to: one trace, or a part of one, with many requests, and agents that change."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.joining.turns import first_said
from otelcov.runs.rules.habits import changes_agents
from otelcov.runs.trace.tree import Node, Trace, by_time

STEPS = (AGENT, LLM, TOOL, HANDOFF)


def requests_of(roots: list[Node]) -> list[tuple[Node, list[Node]]]:
    """The requests of sessions that are one trace. A session lasts longer than any of them, and is none's; while it
    lasts its span has not come."""
    kit = _SESSIONS.search(roots[0].span.scope)
    if kit is not None and all(n.orphan and n.span.parent_span_id == roots[0].span.parent_span_id for n in roots):
        return _of_session(roots, kit.group())
    if graphs := _graphs_of_a_session(roots):
        return graphs
    sessions = _sessions(roots[0]) if len(roots) == 1 else []
    held = [_in_session(n) for n in sessions]
    parts = [_of_session(h, n.span.scope) or [(n, _whole(h))] for n, h in zip(sessions, held, strict=True) if h]
    found = [part for some in parts for part in some]
    return found if len(found) > 1 else []


def _graphs_of_a_session(roots: list[Node]) -> list[tuple[Node, list[Node]]]:
    """The graphs that a program ran in a session that lasts as long as itself (AgentOps, unless told otherwise), where
    each begins with words of the user that no other put out, and nothing else was done but in streams, of which the
    steps alone come."""
    ran = roots[0].children if len(roots) == 1 and roots[0].span.name == "session.session" else roots
    if len({n.span.parent_span_id for n in ran}) != 1 or not all(n.orphan or n.parent is not None for n in ran):
        return []
    held = [n for n in ran if any(x.kind in STEPS for x in (n, *n.below()))]
    kinds = [_GRAPH.match(f"{n.span.scope} {n.span.name}") for n in held]
    graphs = [n for n, hit in zip(held, kinds, strict=True) if hit is not None and hit.group(1) == "workflow"]
    if len(graphs) < 2 or held[0] not in graphs or None in kinds:
        return []
    said, put_out = [first_said(n) for n in graphs], {n.span.output for n in graphs} - {None}
    if not all(x and x[-1].text not in put_out for x in said):
        return []
    parts: list[tuple[Node, list[Node]]] = []
    for n in held:
        if n in graphs or first_said(n):
            parts.append((n, []))
        parts[-1][1].extend(_whole([n]))
    return parts


_GRAPH = late(r"agentops\.instrumentation\.agentic\.langgraph langgraph\.(workflow|node)\.\w+$")


def of_several_messages(root: Node) -> bool:
    """Does this consume messages of several traces at once, each with a request of its own?"""
    linked = {trace for trace, _ in root.side.links.get(root.span.row, ())}
    return root.span.span_kind == _CONSUMER and len(linked) > 1


_CONSUMER = 5  # OTLP's kind of a span
_SESSIONS = late(r"livekit|pipecat")


def _sessions(root: Node) -> list[Node]:
    """The sessions that a trace is, or that a job or a program stands around, with no step beside them."""
    found, unread = list[Node](), [root]
    while unread:
        n = unread.pop()
        if n.span.name in ("agent_session", "conversation") and _SESSIONS.search(n.span.scope):
            found.append(n)
        elif n.kind in STEPS:
            return []
        else:
            unread.extend(n.children)
    return sorted(found, key=by_time)


def _in_session(session: Node) -> list[Node]:
    """What a session holds, and those that a program began after it, and that were laid under it (LiveKit's)."""
    found, unread = list[Node](), session.children[::-1]
    while unread:
        n = unread.pop()
        if n.span.name == session.span.name:
            unread.extend(reversed(n.children))
        else:
            found.append(n)
    return found


def _of_session(turns: list[Node], scope: str) -> list[tuple[Node, list[Node]]]:
    """The requests of one session, each with what came of it."""
    turns = sorted(turns, key=by_time)
    asked = _begin_requests(turns) if "livekit" in scope else [n for n in turns if _did_something(n)]
    if len(asked) < 2:
        return []
    begins = [n.start for n in asked]
    parts: list[tuple[Node, list[Node]]] = [(n, []) for n in asked]
    for turn in turns:
        parts[max(bisect_right(begins, turn.start) - 1, 0)][1].extend((turn, *turn.below()))
    return parts


def _whole(nodes: list[Node]) -> list[Node]:
    return [x for n in nodes for x in (n, *n.below())]


def _did_something(turn: Node) -> bool:
    """Each of Pipecat's turns is a request, if anything came of it."""
    return turn.span.name == "turn" and any(n.kind in STEPS for n in turn.below())


def _begin_requests(turns: list[Node]) -> list[Node]:
    """LiveKit's requests begin with words of the user, or a program's own, as it greets; they hold the turns of who was
    handed the work, and of who speaks while a tool is at work, which bring none."""
    found = list[Node]()
    agent, until, speech = None, 0, None
    for n in turns:
        if n.kind == HANDOFF:
            agent = None
        if n.kind not in (AGENT, CHAIN) or n.span.name != "agent_turn":
            continue
        asked = any(x.kind == LLM for x in n.below())
        goes_on = speech is not None and n.span.response_id == speech
        anew = asked and n.start >= until and not goes_on and (not found or n.own_agent == agent)
        if n.span.input is not None or anew:
            found.append(n)
        agent, until, speech = n.own_agent, max(until, n.end), n.span.response_id
    return found


def no_handoffs(trace: Trace) -> None:
    """A session's agent changes as a tool hands over; as a tool waits for what another brings, and goes on; and as the
    program likes (LiveKit): only the first is a hand-off, that begins once a tool of who was at work has ended, before
    or as the turn does."""
    _comings(trace)
    for n in trace.nodes:
        if n.kind == HANDOFF and changes_agents(n.span.scope) and not _after_a_tool(n):
            n.kind = None


def _comings(trace: Trace) -> None:
    """In JavaScript a change has no span of its own: one agent leaves, and another comes before anyone else leaves."""
    for siblings in (trace.roots, *(n.children for n in trace.nodes if n.span.name == "agent_session")):
        moves = [n for n in siblings if n.span.name in (_LEAVES, _COMES) and changes_agents(n.span.scope)]
        moves.sort(key=by_time)
        for one, two in pairwise(moves):
            came, left = two.span.to_agent, one.span.from_agent
            if (one.span.name, two.span.name) == (_LEAVES, _COMES) and left is not None and came not in (None, left):
                one.kind, one.span = HANDOFF, one.span._replace(to_agent=came)


_LEAVES, _COMES = "drain_agent_activity", "start_agent_activity"


def _after_a_tool(change: Node) -> bool:
    if any(n.span.name in ("pause_agent_activity", "resume_agent_activity") for n in change.children):
        return False
    beside = change.parent.children if change.parent is not None else []
    turns = [n for n in beside if n.own_agent == change.span.from_agent and n.start <= change.start]
    newest = max(turns, key=lambda n: n.start, default=None)
    if newest is None or change.start > newest.end + _AT_ONCE_NS:
        return change.parent is None
    done = _done(newest, change)
    if done is None and change.span.name == _LEAVES:  # what is said after a tool is a turn of its own there
        before = [n for n in turns if n is not newest]
        done = _done(max(before, key=lambda n: n.start), change) if before else None
    return done is not None and not any(n.kind == LLM and done < n.start < change.start for n in newest.below())


def _done(turn: Node, change: Node) -> int | None:
    """When the last tool of a turn ended that ended before a change, if one did."""
    return max((n.end for n in turn.below() if n.kind == TOOL and n.end <= change.start), default=None)


_AT_ONCE_NS = 20_000_000
