"""A run from its fragments: one row of the RUNS schema."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.ground.config import BOUNDARIES, Config
from otelcov.runs.agents.abreast import own_abreast
from otelcov.runs.agents.charge import tripped
from otelcov.runs.agents.delegating_calls import may_delegate
from otelcov.runs.agents.delegation import Delegation, bare, coworker_agents
from otelcov.runs.agents.delegation import ways as ways_over
from otelcov.runs.agents.delegations import delegations, nobody_took_over
from otelcov.runs.content.jsontext import to_json
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.model_call import ModelCall, in_order
from otelcov.runs.llm.models import OVERWRITTEN
from otelcov.runs.rows import Row, run_id
from otelcov.runs.rules.boundaries import asks, final
from otelcov.runs.rules.handovers import transfers
from otelcov.runs.tools.by_name import name_tools
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome, outcome
from otelcov.runs.tools.calls import merge
from otelcov.runs.tools.executions import own_up, tool_spans
from otelcov.runs.tools.handed_in import ways_to_answer
from otelcov.runs.tools.later import Later
from otelcov.runs.trace.tree import USUAL_LIMITS, Node
from otelcov.runs.whole.answer_text import output_text
from otelcov.runs.whole.asked_text import input_text, made_blank, of_a_manager
from otelcov.runs.whole.endings import asked_unseen, died_in_a_later_trace, status
from otelcov.runs.whole.evidence import Evidence
from otelcov.runs.whole.lost_steps import ended_in_what_is_lost
from otelcov.runs.whole.met import boundaries, step_lost
from otelcov.runs.whole.offered import offered, told_to_answer
from otelcov.runs.whole.outcomes import answered_for_nobody, ended_a_loop, left_open, may_be_stopped, may_have_ended
from otelcov.runs.whole.paths import path
from otelcov.runs.whole.quality import quality
from otelcov.runs.whole.speakers import of_a_delegate
from otelcov.runs.whole.states import states
from otelcov.runs.whole.unknowns import NO_ROOT
from otelcov.runs.whole.visible import answered_in_one_span, tools_visible


def assemble(group: list[Fragment], config: Config, now_ns: int) -> Row:
    """The row of one run. `group` holds its fragments, earliest first."""
    nodes = [n for f in group for n in f.nodes]
    calls = in_order(c for f in group for c in f.calls)
    coworker_agents(nodes)
    own_abreast(nodes, calls)
    limit = _value_limit(nodes)
    for turn, call in enumerate(calls):
        call.turn, call.limit = turn, limit
        call.agent = call.layers[-1].agent or call.node.agent
    name_tools(nodes, calls)
    own_up(nodes, calls)
    executions = tool_spans(nodes)
    tools = merge(calls, executions)
    seen_to_ask = {t.turn for t in tools}
    handed = delegations(nodes, tools, calls)
    root = first_step(group, handed)
    shown = any(t.nodes and t.delegates_to is None for t in tools)
    tools = [t for t in tools if t.delegates_to is None]
    ways = ways_to_answer(tools, told_to_answer(nodes))
    names = offered(nodes)
    tools = [t for t in tools if t.name not in ways and not _passed_over(t, handed, names)]
    later = Later(calls)
    outcomes = [outcome(t, shown, later, config.runs.soft_errors) for t in tools]
    left_open(tools, outcomes)
    incomplete: set[str] = set()
    overwritten = [ModelCall(n, [n]) for n in nodes if n.kind == OVERWRITTEN]
    whole = in_order([*calls, *overwritten]) if overwritten else calls
    _reasons(nodes, limit, incomplete)
    for found in answered_for_nobody(tools, outcomes, names):
        found.status = "unknown"
    for found in [*may_have_ended(root, calls, tools, outcomes), *ended_a_loop(calls, tools, outcomes)]:
        found.status = "unknown"
    for found in may_be_stopped(root, tools, outcomes, later):
        found.status = "unknown"
    for found in outcomes:
        told = found.result
        if limit is not None and isinstance(told, str) and len(told) == limit:
            found.result = None  # what is left of it
    died = died_in_a_later_trace(root, nodes, calls)
    asked = input_text(root, whole, limit, incomplete)
    answered = None if died or tripped(root, nodes) else output_text(root, _as_answered(whole), limit, ways)
    if asked is None and any(found.arguments == {} for found in outcomes) and made_blank(root, calls):
        for found in outcomes:
            found.arguments = found.arguments or None
    given, said = of_a_delegate(root, calls)
    managed = of_a_manager(root, asked)
    if asked is not None and (managed or asked in given):
        asked = None
        incomplete.add("input not reported")
    run = Evidence(
        root,
        nodes,
        calls,
        tools,
        outcomes,
        tools_visible(nodes, calls, executions, seen_to_ask, incomplete),
        asked,
        None if managed or answered in said else answered,
        ways,
        names,
    )
    seen, unknown = boundaries(run)
    hidden = any(f.hidden for f in group) or any(c.several or c.loops or c.overwrites for c in calls)
    if answered_in_one_span(run, executions):
        hidden = True
        seen = [x for x in seen if x != "max_steps"]
    if hidden:
        incomplete.add("model calls share a span")
        unknown = sorted({*unknown, "max_steps", "cost_limit"} - set(seen), key=BOUNDARIES.index)
    ended = status(run)
    if nobody_took_over(root, handed, nodes):
        handed[-1].status, ended = "unknown", "unknown" if ended == "ok" else ended
        unknown = sorted({*unknown, "max_steps", "timeout"} - set(seen), key=BOUNDARIES.index)
    pending = bool(calls) and any(r.name not in ways for r in calls[-1].requests)
    if (ended == "unknown" and (pending or ended_in_what_is_lost(run))) or (
        ended == "error" and _broke_unseen(run, seen)
    ):
        incomplete.add("what came last is not visible")
    agents = sorted(
        {
            a
            for a in [
                *(n.own_agent for n in nodes),
                *(c.agent for c in calls),
                *(t.agent for t in tools),
                *(d.target for d in handed if d.node is not None or d.status in ("ok", "requested")),
            ]
            if a
        }
        - (_containers(nodes, calls, tools, handed) - {n.own_agent for n in died})
    )
    over = ways_over(names or (), agents)  # what hands over to an agent of this run, called or not
    over |= {n for n in names or () if any(d.target and bare(d.target) == bare(n) for d in handed)}
    known, source = _known(names, {*over, *ways, *(d.tool for d in handed if d.tool)}, config)
    # An answer that asked for something that cannot be seen, by an agent that could hand over: perhaps it did.
    unseen = over and any(asks(c.finish) and c.outputs is None and c.turn not in seen_to_ask for c in calls)
    called = _perhaps_called(nodes, calls, seen_to_ask)
    unseen = unseen or bool(called)
    if handed and called - {d.target for d in handed}:
        incomplete.add("delegations not visible")
    unseen = unseen or (root.orphan and any(may_delegate(t) for t in tools))
    trace_ids = sorted({f.trace_id.hex() for f in group})
    if step_lost(run):
        incomplete.add("missing step")
    if not agents and (calls or tools):
        incomplete.add("no agent name")
    if calls and all(c.input_tokens is None for c in calls if c.error is None) and any(c.error is None for c in calls):
        incomplete.add("tokens not reported")
    orphans = sum(n.orphan for n in nodes)
    if orphans and root.orphan:
        incomplete.add(NO_ROOT)
    if any(f.astray for f in group) or asked_unseen(run):
        incomplete.add("whose work this was is not visible")
    visible = run.visible or bool(tools)
    start = min((n.start for n in nodes if n.start), default=0)
    end = max((n.end for n in nodes), default=0)
    unheard = {id(c) for c in run.unheard}
    numbered = _numbered(calls, overwritten)
    return {
        "run_id": run_id(trace_ids, root.span.span_id),
        "trace_ids": trace_ids,
        "conversation_id": _conversation(root, nodes),
        "case": root.span.case
        or root.side.resource_case.get(root.span.row)
        or next((n.span.case for n in nodes if n.span.case), None),
        "service": root.span.service,
        "environment": root.span.environment,
        "release": root.span.release,
        "scope": _scope(calls, nodes),
        "start_unix_nano": start or None,
        "end_unix_nano": end or None,
        "settled": not root.orphan or now_ns - end >= config.runs.settle_ns,
        "status": ended,
        "input": run.input,
        "output": run.output,
        "agents": agents,
        "known_tools": known,
        "known_tools_source": source,
        "tool_calls": [_tool_row(t, o, numbered) for t, o in zip(tools, outcomes, strict=True)] if visible else None,
        "llm_calls": [_llm_row(c, id(c) in unheard) for c in calls] if calls and not hidden else None,
        "delegations": [_delegation_row(d) for d in handed]
        if not _torn_off(nodes, handed)
        and (handed or ((calls or tools) and _shown(agents, nodes, calls) and not unseen))
        else None,
        "boundaries": seen,
        "boundaries_unknown": unknown,
        "path": path(tools, outcomes, handed) if visible else None,
        "states": states(tools, outcomes, config.coverage.state_attributes) if visible else None,
        "incomplete": sorted(incomplete),
        **quality([n.span for n in nodes], orphans),
    }


def _scope(calls: list[ModelCall], nodes: list[Node]) -> str | None:
    steps = (n for n in nodes if n.kind in (AGENT, TOOL))
    first = calls[0].node if calls else next(steps, None)
    return None if first is None else first.span.scope


def _broke_unseen(run: Evidence, seen: Collection[str]) -> bool:
    """Did a run fail once the tools that were asked for last had done what they should, by no limit and no model call
    that can be seen? One that failed may have come after them (Traceloop 0.44 tells of none of Anthropic's)."""
    last = run.last
    if last is None or any(c.error is not None for c in run.calls) or _LIMITS & set(seen):
        return False
    then = [o.status for t, o in zip(run.tools, run.outcomes, strict=True) if t.turn == last.turn]
    return bool(then) and all(status in ("ok", "unknown") for status in then)


def _passed_over(call: ToolCall, handed: Collection[Delegation], offered: Collection[str] | None) -> bool:
    """Is this a way to another agent, and none of the tools that were offered, that was asked for beside one that was
    taken, and left?"""
    if call.nodes or call.answer is not None or not offered or call.name in offered or transfers(call.name) is None:
        return False
    return any(d.form == "handoff" and d.call is not None and d.call.asked_by is call.asked_by for d in handed)


_LIMITS = {"max_steps", "cost_limit", "timeout"}


def root_of(group: list[Fragment]) -> Node:
    """The step the run begins with: the root of its earliest fragment, what another told of it with less last, one with
    an agent before loose model calls, these before a gateway's telling of them, and one that called before one that was
    called (whose root lies below a step of it)."""

    def place(f: Fragment) -> tuple[object, ...]:
        return (
            f.again,
            f.loose,
            f.gateway and not f.calls,
            f.root.parent is not None,
            f.root.orphan,
            f.start,
            f.trace_id,
        )

    return min(group, key=place).root


def first_step(group: list[Fragment], handed: list[Delegation]) -> Node:
    """The step the run begins with, which is no agent that a step of another called, whose own span has not come: the
    answer of who was called is not the run's."""
    root = root_of(group)
    if not root.orphan:
        return root
    called: dict[str | None, Delegation] = {}
    for d in handed:  # by time
        if d.target is not None and _caller(d) is not None:
            called.setdefault(d.target, d)
    if not _was_called(root, called):
        return root
    tops = [n for f in group for n in f.nodes if n.parent is None and n.kind in (AGENT, LLM, TOOL)]
    found = [n for n in tops if not _was_called(n, called)]
    return min(found, key=lambda n: (n.orphan and n.kind != AGENT, n.start, n.span.span_id), default=root)


def _caller(d: Delegation) -> Node | None:
    """The tool that called an agent, else the model that asked for it."""
    if d.call is None:
        return None
    return d.call.nodes[0] if d.call.nodes else d.call.asked_by.node if d.call.asked_by is not None else None


def _was_called(agent: Node, called: dict[str | None, Delegation]) -> bool:
    d = called.get(agent.own_agent)
    caller = _caller(d) if d is not None else None
    if d is None or caller is None or d.start > agent.start:
        return False
    return caller is not agent and all(above is not agent for above in caller.ancestors())


def _shown(agents: list[str], nodes: list[Node], calls: list[ModelCall]) -> bool:
    """Would a delegation be seen? Of several agents that only model calls name, not who called whom; of those that
    worked one after another where no model call can be seen, not whether one asked for the next."""
    if len(agents) == 1:
        return True
    return any(n.own_agent is not None for n in nodes) and (bool(calls) or not agents)


def _perhaps_called(nodes: list[Node], calls: list[ModelCall], seen_to_ask: Collection[int | None]) -> set[str]:
    """The agents that went to work beside another that was done or had its model answer right before, where nothing is
    told of that answer, not even its end."""
    out = set[str]()
    answers: dict[str | None, list[ModelCall]] = {}
    for c in sorted(calls, key=_start):
        answers.setdefault(c.node.agent, []).append(c)
    by_roof: dict[int, list[Node]] = {}
    for n in nodes:
        if n.kind in (AGENT, CHAIN) and n.own_agent is not None:
            by_roof.setdefault(id(n.parent), []).append(n)
    for one, two in (pair for some in by_roof.values() for pair in pairwise(some)):
        own = answers.get(one.own_agent, [])
        said = own[before - 1] if (before := bisect_left(own, two.start, key=_start)) else None
        if one.own_agent == two.own_agent or said is None or said.start < one.start or said.end > two.start:
            continue
        if said.outputs is not None or said.error is not None or final(said.finish):
            continue
        if two.own_agent is not None and (said.turn not in seen_to_ask or one.end >= two.end):
            out.add(two.own_agent)
    return out


def _start(call: ModelCall) -> int:
    return call.start


def _torn_off(nodes: list[Node], handed: list[Delegation]) -> bool:
    """Was something done below a parent that has not come, and may that have been an agent's whom another called?"""
    steps = [n for n in nodes if n.kind in (AGENT, LLM, TOOL)]
    lost = [n for n in steps if n.orphan]
    if len({n.span.parent_span_id for n in lost}) + any(n.parent is None and not n.orphan for n in nodes) < 2:
        return False
    if len(lost) == len([n for n in nodes if n.parent is None]):
        return not handed
    known = {d.target for d in handed} | {n.agent for n in steps if not n.orphan and n.parent is None}
    return any(n.agent is None or n.agent not in known for n in lost)


def _containers(nodes: list[Node], calls: list[ModelCall], tools: list[ToolCall], handed: list[Delegation]) -> set[str]:
    """Names of graphs and pipelines: they own no step and take part in no delegation. Where no model call can be seen,
    an agent that holds no other may have made some."""
    working = (
        {c.agent for c in calls} | {t.agent for t in tools} | {d.source for d in handed} | {d.target for d in handed}
    )
    if not calls:
        holding = set[int]()
        for n in nodes:
            above = n.parent if n.own_agent else None
            while above is not None and id(above) not in holding:
                holding.add(id(above))
                above = above.parent
        working |= {n.own_agent for n in nodes if n.kind == AGENT and id(n) not in holding}
    named = {n.own_agent for n in nodes if n.own_agent}
    return {a for a in named if a not in working} if named & {w for w in working if w} else set()


def _value_limit(nodes: list[Node]) -> int | None:
    """The SDK's attribute length limit, where it has cut values: they end at one length, and none is longer."""
    told = {text for n in nodes for text in _texts_of_events(n)}
    lengths = [*(n.span.longest for n in nodes), *map(len, told)]
    longest = max(lengths, default=0)
    if longest < 64:
        return None
    at_limit = lengths.count(longest)
    broken = [len(text) for text in told if text[:2] in ('{"', "[{") and text[-1:] not in ("]", "}", ")", "\n")]
    cut = max([*(n.span.cut for n in nodes), *broken], default=0)
    return longest if cut == longest or (at_limit > 1 and longest in USUAL_LIMITS) else None


def _texts_of_events(node: Node) -> list[str]:
    events = node.side.events.get(node.span.row, ())
    return [value for _, attributes in events for value in attributes.values() if isinstance(value, str)]


def _reasons(nodes: list[Node], limit: int | None, incomplete: set[str]) -> None:
    if limit is not None:
        incomplete.add("truncated values")
    scopes = {n.span.scope for n in nodes if n.kind is not None}
    if any(n.span.dropped for n in nodes if n.kind is not None or n.span.scope in scopes):
        incomplete.add("attributes dropped")
    if any(n.span.masked for n in nodes):
        incomplete.add("values masked")


def _conversation(root: Node, nodes: list[Node]) -> str | None:
    for above in (root, *root.ancestors()):  # a span around several requests tells of each
        if above.span.conversation:
            return above.span.conversation
    if root.own_agent is not None:  # a delegate talks in a conversation of its own
        nodes = [n for n in nodes if n.agent in (None, root.own_agent)]
    else:  # so does one of another service, in a trace of its own, and may be the only one to tell
        called = {n.span.trace_id for n in nodes if n.parent and _serves(n, n.parent)}
        nodes = [n for n in nodes if n.span.trace_id not in called]
    top = next((n for n in nodes if n.kind in (AGENT, CHAIN, LLM) and n.span.conversation), None)
    if top is not None:
        return top.span.conversation
    return next((n.span.conversation for n in nodes if n.span.conversation), None)


def _serves(node: Node, tool: Node) -> bool:
    apart = node.span.trace_id != tool.span.trace_id and node.span.service != tool.span.service
    return apart and tool.kind == TOOL


def _known(names: set[str] | None, over: set[str], config: Config) -> tuple[list[str] | None, str | None]:
    declared = sorted({t for a in config.agents.values() for t in a.tools or ()} | set(config.tools))
    if declared:
        return declared, "declared"
    if names is None:
        return None, None
    return sorted(names - over), "offered"


def _numbered(calls: list[ModelCall], overwritten: list[ModelCall]) -> int:
    """The calls whose number is known: how many came before those that a span of several stands for. What is written
    over a span that holds calls came after these."""
    several = [c.start for c in calls if c.several or c.loops or c.overwrites]
    held = {id(n) for c in calls for n in c.node.ancestors()} if overwritten else set()
    several += [c.node.end if id(c.node) in held else c.start for c in overwritten]
    shared = min(several, default=0)
    return sum(c.start <= shared for c in calls) if several else len(calls)


def _tool_row(t: ToolCall, o: Outcome, numbered: int) -> Row:
    return {
        "name": t.name,
        "agent": t.agent,
        "status": o.status,
        "error_kind": o.error_kind,
        "error_type": o.error_type,
        "arguments": None if o.arguments is None else to_json(o.arguments),
        "arguments_text": o.arguments_text,
        "result": None if o.result is None else to_json(o.result),
        "call_id": t.call_id,
        "turn": t.turn if t.turn is not None and t.turn < numbered else None,
        "evidence": sorted(t.evidence, key=("span", "message", "event").index),
        "start_unix_nano": t.start or None,
        "end_unix_nano": t.end or None,
    }


def _as_answered(calls: list[ModelCall]) -> list[ModelCall]:
    """Calls in the order of their answers: what a span of several tells last was said as it ended."""
    return sorted(calls, key=lambda c: c.node.end if c.node.kind == OVERWRITTEN or c.several or c.loops else c.start)


def _llm_row(c: ModelCall, unheard: bool) -> Row:
    unanswered = c.error is not None and c.response_model == c.request_model  # repeated, and no word of who answered
    return {
        "agent": c.agent,
        "request_model": c.request_model,
        "response_model": None if unanswered else c.response_model,
        "input_tokens": c.input_tokens,
        "output_tokens": c.output_tokens,
        "status": "error" if c.error is not None else "unknown" if unheard else "ok",
        "finish_reason": c.finish,
        "start_unix_nano": c.start or None,
        "end_unix_nano": c.end or None,
    }


def _delegation_row(d: Delegation) -> Row:
    return {"from": d.source, "to": d.target, "form": d.form, "tool": d.tool, "status": d.status}
