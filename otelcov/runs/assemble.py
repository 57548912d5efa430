"""A run from its fragments: one row of the RUNS schema."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.ground.config import BOUNDARIES, Config
from otelcov.runs.agents.abreast import own_abreast, own_by_orders, own_in_turns
from otelcov.runs.agents.charge import tripped, unframed, work_of
from otelcov.runs.agents.delegating_calls import may_delegate
from otelcov.runs.agents.delegation import Delegation, bare, coworker_agents
from otelcov.runs.agents.delegation import ways as ways_over
from otelcov.runs.agents.delegation_status import failed_unseen
from otelcov.runs.agents.delegations import delegations, nobody_took_over
from otelcov.runs.content.jsontext import left_out, to_json
from otelcov.runs.content.prose import framed
from otelcov.runs.content.shortened import shortened
from otelcov.runs.joining.first_step import first_step
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.loops import loops_unseen, turns
from otelcov.runs.llm.model_call import ASKED, ModelCall, in_order
from otelcov.runs.llm.models import OVERWRITTEN
from otelcov.runs.llm.numbered import lacks_steps
from otelcov.runs.llm.unseen_answers import asked_no_model, failed_unheard, gave_answer_unseen
from otelcov.runs.rows import Row, run_id
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.rules.habits import asks_for_itself
from otelcov.runs.rules.handovers import transfers
from otelcov.runs.tools.beside_deaths import may_have_run
from otelcov.runs.tools.by_name import name_tools
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome, outcome
from otelcov.runs.tools.call_values import forget, gave_nothing
from otelcov.runs.tools.calls import merge
from otelcov.runs.tools.executions import own_up, tool_spans
from otelcov.runs.tools.handed_in import ways_to_answer
from otelcov.runs.tools.later import Later
from otelcov.runs.tools.stopped import bare_words, may_have_gone_on, with_left
from otelcov.runs.trace.above import all_above
from otelcov.runs.trace.tree import Node
from otelcov.runs.whole.answer_text import output_text
from otelcov.runs.whole.asked_text import called_by_what_is_lost, input_text, made_blank, of_a_manager
from otelcov.runs.whole.at_work import containers, perhaps_called, shown, torn_off, used_unseen
from otelcov.runs.whole.called_off import broke_uncounted, delegate_broke_unsaid
from otelcov.runs.whole.cut_values import limit_of_spans, value_limit
from otelcov.runs.whole.deaths import died_in_a_later_trace
from otelcov.runs.whole.endings import asked_unseen, status
from otelcov.runs.whole.evidence import Evidence
from otelcov.runs.whole.lost_steps import (
    answer_lost,
    asker_lost,
    broke_unseen,
    delegate_broke_unseen,
    ended_in_what_is_lost,
    ended_on_words,
    noted_unseen,
    ran_unasked,
    without_others,
    worked_on,
)
from otelcov.runs.whole.met import boundaries, step_lost
from otelcov.runs.whole.offered import offered, told_to_answer
from otelcov.runs.whole.outcomes import (
    answered_for_nobody,
    answered_unseen,
    ended_a_loop,
    left_open,
    lost_with_others,
    may_be_stopped,
    may_have_ended,
    may_have_thrown,
)
from otelcov.runs.whole.paths import path
from otelcov.runs.whole.quality import quality
from otelcov.runs.whole.speakers import of_a_delegate
from otelcov.runs.whole.states import states
from otelcov.runs.whole.unknowns import NO_ROOT
from otelcov.runs.whole.unmade import asked_by_nobody, broke_off, handed_on, left_waiting
from otelcov.runs.whole.unsaid import answered_unsaid, tried_unseen
from otelcov.runs.whole.visible import answered_in_one_span, tools_visible


@dataclass
class _Work:
    """What was done in a run, and by whom."""

    nodes: list[Node]
    calls: list[ModelCall]  # by turn
    overwritten: list[ModelCall]  # over whose spans something else was written
    limit: int | None  # letters to which the SDK cut values
    executions: list[list[Node]]  # tool spans, by call
    asked: set[int | None]  # turns that are seen to ask for tools
    handed: list[Delegation]
    top: Node  # the run's first span
    root: Node  # what it frames, where it tells nothing itself; else the same
    tools: list[ToolCall]  # in canonical order; neither delegations nor ways to answer
    spans_shown: bool  # tools have spans
    ways: frozenset[str]  # tools by which answers are handed in
    offered: set[str] | None  # names of tools
    died: list[Node]  # agents that died in a trace of their own


def assemble(group: list[Fragment], config: Config, now_ns: int) -> Row:
    """The row of one run. `group` holds its fragments, earliest first."""
    work = _work(group)
    nodes, calls, tools, handed, root = work.nodes, work.calls, work.tools, work.handed, work.top
    incomplete = _values_lost(work)
    outcomes = _outcomes(work, config.runs.soft_errors, incomplete)
    run = _evidence(work, outcomes, incomplete)
    for found in lost_with_others(run):
        found.status = "unknown"
    in_one = answered_in_one_span(run, work.executions)
    hidden = in_one or any(f.hidden for f in group) or any(c.several or c.loops or c.overwrites for c in calls)
    if hidden:
        incomplete.add("model calls share a span")
    ended, seen, unknown = _end(run, work, hidden, in_one)
    unmade = asked_by_nobody(run)
    asked = run.input
    if handed_on(asked, unmade):
        asked = None
        incomplete.add("input not reported")
        unknown = _with(unknown, seen, "empty_input")
    if "tool calls not visible" in incomplete or not _ran(run).issuperset(r.id for r in unmade):  # nobody tells how
        unknown = _with(unknown, seen, *_OF_TOOLS)
    if _last_unseen(run, work, ended, seen):
        incomplete.add("what came last is not visible")
        failed = ("timeout", "rate_limit") if ended == "error" else ()
        unknown = _with(unknown, seen, "length", "content_filter", *failed)
    agents = _agents(work)
    over = ways_over(work.offered or (), agents)  # what hands over to an agent of this run, called or not
    over |= {n for n in work.offered or () if any(d.target and bare(d.target) == bare(n) for d in handed)}
    known, source = _known(work.offered, {*over, *work.ways, *(d.tool for d in handed if d.tool)}, config)
    delegated = _delegated(work, agents, bool(over), incomplete)
    orphans = sum(n.orphan or n.afar for n in nodes)
    _not_told(run, agents, handed, bool(unmade), incomplete)
    if open_ := root.orphan or root.afar:
        incomplete.add(NO_ROOT)
    if any(f.astray for f in group) or asked_unseen(run):
        incomplete.add("whose work this was is not visible")
    trace_ids = sorted({f.trace_id.hex() for f in group})
    visible = run.visible or bool(tools)
    start = min((n.start for n in nodes if n.start), default=0)
    end = max((n.end for n in nodes), default=0)
    unheard = {id(c) for c in run.unheard}
    numbered = _numbered(calls, work.overwritten)
    return {
        "run_id": run_id(trace_ids, root.span.span_id),
        "trace_ids": trace_ids,
        "conversation_id": _conversation(root, nodes),
        "case": _case(root, nodes),
        **_program(root),
        "scope": _scope(calls, nodes),
        "start_unix_nano": start or None,
        "end_unix_nano": end or None,
        "settled": not open_ or now_ns - end >= config.runs.settle_ns,
        "status": ended,
        "input": asked,
        "output": run.output,
        "agents": agents,
        "known_tools": known,
        "known_tools_source": source,
        "tool_calls": [_tool_row(t, o, numbered) for t, o in run.done] if visible else None,
        "llm_calls": [_llm_row(c, id(c) in unheard) for c in calls] if calls and not hidden else None,
        "delegations": None if delegated is None else [_delegation_row(d) for d in delegated],
        "boundaries": seen,
        "boundaries_unknown": unknown,
        "path": path(tools, outcomes, handed) if visible else None,
        "states": states(tools, outcomes, config.coverage.state_attributes) if visible else None,
        "incomplete": sorted(incomplete),
        **quality([n.span for n in nodes], orphans),
    }


def _work(group: list[Fragment]) -> _Work:
    nodes = [n for f in group for n in f.nodes]
    calls = in_order(c for f in group for c in f.calls)
    coworker_agents(nodes)
    own_abreast(nodes, calls)
    own_in_turns(nodes)
    own_by_orders(nodes)
    limit = value_limit(nodes)
    for turn, call in enumerate(calls):
        call.turn, call.limit = turn, limit
        call.agent = call.layers[-1].agent or call.node.agent
    for call in (*loops_unseen(calls), *turns(calls)):
        call.several = True
    name_tools(nodes, calls)
    own_up(nodes, calls)
    executions = tool_spans(nodes)
    merged = merge(calls, executions)
    handed = delegations(nodes, merged, calls)
    top = first_step(group, handed)
    root = unframed(top)
    overwritten = [ModelCall(n, [n]) for n in nodes if n.kind == OVERWRITTEN]
    own = with_left([t for t in merged if t.delegates_to is None], overwritten)
    ways = ways_to_answer(own, told_to_answer(nodes))
    names = offered(nodes)
    return _Work(
        nodes,
        calls,
        overwritten,
        limit,
        executions,
        {t.turn for t in merged},
        handed,
        top,
        root,
        [t for t in own if t.name not in ways and not _passed_over(t, handed, names)],
        any(t.nodes for t in own),
        ways,
        names,
        died_in_a_later_trace(root, nodes, calls),
    )


def _program(root: Node) -> Row:
    """The service whose run it is, its environment and release: of who works, not of who sent a request for that, as
    far as this is told."""
    told = (work_of(root).span, root.span)
    names = ("service", "environment", "release")
    return {name: next((x for span in told if (x := getattr(span, name)) is not None), None) for name in names}


def _outcomes(work: _Work, soft: tuple[str, ...], incomplete: set[str]) -> list[Outcome]:
    """What came of each tool call."""
    tools, root, later = work.tools, work.root, Later(work.calls)
    empty = [t for t in tools if gave_nothing(t)]
    if empty and made_blank(root, work.calls):
        for call in empty:
            forget(call)
    outcomes = [outcome(t, work.spans_shown, later, soft) for t in tools]
    left_open(tools, outcomes)
    for found in answered_for_nobody(tools, outcomes, work.offered):
        found.is_none("unknown")
    ended = [*may_have_ended(root, work.calls, tools, outcomes), *ended_a_loop(work.calls, tools, outcomes)]
    for found in [*ended, *may_have_thrown(root, work.calls, tools, outcomes, work.offered)]:
        found.status = "unknown"
    for found in [*may_have_gone_on([*work.calls, *work.overwritten], tools, outcomes), *bare_words(tools, outcomes)]:
        found.status = "unknown"
    for found in [*may_be_stopped(root, tools, outcomes, later), *may_have_run(tools, outcomes, work.offered)]:
        found.status = "unknown"
    cut = work.limit if work.limit is not None else limit_of_spans(work.nodes)
    for found in outcomes:
        if cut is not None and isinstance(found.result, str) and len(found.result) == cut:
            found.result = None  # what is left of it
    for call, found in zip(work.tools, outcomes, strict=True):
        if call.answer is None and isinstance(found.result, str) and shortened(found.result, bare=True):
            found.result = None
            incomplete.add("truncated values")
    return outcomes


def _nothing_said(answered: str | None, outcomes: list[Outcome]) -> bool:
    return answered == "" or any(found.arguments == {} for found in outcomes)


def _evidence(work: _Work, outcomes: list[Outcome], incomplete: set[str]) -> Evidence:
    """What was asked and answered, beside all that was done."""
    root, nodes, calls, limit, ways = work.root, work.nodes, work.calls, work.limit, work.ways
    whole = in_order([*calls, *work.overwritten]) if work.overwritten else calls
    whole = without_others(root, nodes, whole)
    asked = None
    if called_by_what_is_lost(root, calls):
        incomplete.add("input not reported")
    else:
        asked = input_text(root, whole, limit, incomplete)
    unheard = work.died or tripped(root, nodes) or worked_on(root, nodes, calls)
    answered = None if unheard else output_text(root, _as_answered(whole), limit, ways)
    answered = None if left_out(answered) or framed(answered) else answered
    if shortened(asked) or shortened(answered):
        asked, answered = (None if shortened(text) else text for text in (asked, answered))
        incomplete.add("truncated values")
    if asked is None and _nothing_said(answered, outcomes) and made_blank(root, calls):
        answered = answered or None
        for call, found in zip(work.tools, outcomes, strict=True):
            told = any(n.span.arguments for n in call.nodes)
            found.arguments = found.arguments if told else found.arguments or None
    given, said = of_a_delegate(root, calls)
    managed = of_a_manager(root, asked) or any(asks_for_itself(n.span.scope) for n in nodes)
    if asked is not None and (managed or asked in given or framed(asked)):
        asked = None
        incomplete.add("input not reported")
    return Evidence(
        root,
        nodes,
        calls,
        work.tools,
        outcomes,
        tools_visible(nodes, calls, work.executions, work.asked, incomplete),
        asked,
        None if managed or answered in said else answered,
        ways,
        work.offered,
    )


def _end(run: Evidence, work: _Work, hidden: bool, in_one: bool) -> tuple[str, list[str], list[str]]:
    """Status, boundaries seen, and those that cannot be judged, in the order of BOUNDARIES. `hidden`: not every model
    call is told; `in_one`: as one span stands for several."""
    seen, unknown = boundaries(run)
    if in_one:
        seen = [x for x in seen if x != "max_steps"]
    if hidden:
        unknown = _with(unknown, seen, "max_steps", "cost_limit")
    if failed_unseen(work.handed):
        unknown = _with(unknown, seen, "error", "timeout", "rate_limit")
    ended = status(run)
    if nobody_took_over(run.root, work.handed, run.nodes):
        work.handed[-1].status, ended = "unknown", "unknown" if ended == "ok" else ended
        unknown = _with(unknown, seen, "max_steps", "timeout")
    return ended, seen, unknown


def _ran(run: Evidence) -> set[str | None]:
    """The ids of calls of whose tools a span tells."""
    return {t.call_id for t in run.tools if t.nodes}


_OF_TOOLS = ("tool_failure", "tool_recovery", "repeated_call")


def _with(unknown: Collection[str], seen: Collection[str], *more: str) -> list[str]:
    return sorted({*unknown, *more} - set(seen), key=BOUNDARIES.index)


def _last_unseen(run: Evidence, work: _Work, ended: str, seen: Collection[str]) -> bool:
    """Did a run end, or break, in what has not come?"""
    if ended == "error":
        return broke_unseen(run, work.handed, seen)
    if ended == "ok":
        return answered_unseen(run) or left_waiting(run)
    pending = run.last is not None and any(r.name not in work.ways for r in run.last.requests)
    pending = pending or left_waiting(run, handing=True)
    return pending or ended_in_what_is_lost(run) or broke_uncounted(run)


def _agents(work: _Work) -> list[str]:
    """Who did something in a run, or was handed work."""
    to = (d.target for d in work.handed if d.node is not None or d.status in ("ok", "requested"))
    by = (*(c.agent for c in work.calls), *(t.agent for t in work.tools))
    named = {a for a in (*(n.own_agent for n in work.nodes), *by, *to) if a}
    idle = containers(work.nodes, work.calls, work.tools, work.handed) - {n.own_agent for n in work.died}
    return sorted(named - idle)


def _delegated(work: _Work, agents: list[str], ways: bool, incomplete: set[str]) -> list[Delegation] | None:
    """The delegations of a run; None where one may not be seen. `ways`: a tool handed over, or could have."""
    nodes, calls, handed = work.nodes, work.calls, work.handed
    # An answer that asked for something that cannot be seen, by an agent that could hand over: perhaps it did.
    unseen = ways and any(asks(c.finish) and c.outputs is None and c.turn not in work.asked for c in calls)
    called = perhaps_called(nodes, calls, work.asked)
    if handed and called - {d.target for d in handed}:
        incomplete.add("delegations not visible")
    unseen = unseen or bool(called) or (work.root.orphan and any(may_delegate(t) for t in work.tools))
    if torn_off(nodes, handed):
        return None
    return handed if handed or ((calls or work.tools) and shown(agents, nodes, calls) and not unseen) else None


def _not_told(run: Evidence, agents: list[str], handed: list[Delegation], unmade: bool, incomplete: set[str]) -> None:
    """Add what of a run's steps nobody tells. `unmade`: a model was shown a request that none is seen to have made."""
    calls = run.calls
    lost = step_lost(run) or asker_lost(run, handed) or answer_lost(run, handed) or ended_on_words(run)
    lost = lost or unmade or ran_unasked(run) or noted_unseen(run) or any(map(asked_no_model, run.nodes))
    lost = lost or gave_answer_unseen(run.nodes, calls) or answered_unsaid(run) or lacks_steps(run.nodes)
    lost = lost or failed_unheard(run.nodes) or delegate_broke_unseen(run) or delegate_broke_unsaid(run)
    lost = lost or failed_unseen(handed) or broke_off(run) or any(map(used_unseen, run.nodes if calls else ()))
    if lost or tried_unseen(run):
        incomplete.add("missing step")
    if not agents and (calls or run.tools):
        incomplete.add("no agent name")
    if calls and all(c.input_tokens is None for c in calls if c.error is None) and any(c.error is None for c in calls):
        incomplete.add("tokens not reported")


def _case(root: Node, nodes: list[Node]) -> str | None:
    own = root.span.case or root.side.resource_case.get(root.span.row)
    return own or next((n.span.case for n in nodes if n.span.case), None)


def _scope(calls: list[ModelCall], nodes: list[Node]) -> str | None:
    steps = (n for n in nodes if n.kind in (AGENT, TOOL))
    first = calls[0].node if calls else next(steps, None)
    return None if first is None else first.span.scope


def _passed_over(call: ToolCall, handed: Collection[Delegation], offered: Collection[str] | None) -> bool:
    """Is this a way to another agent, and none of the tools that were offered, that was asked for beside one that was
    taken, and left?"""
    if call.nodes or call.answer is not None or not offered or call.name in offered or transfers(call.name) is None:
        return False
    return any(d.form == "handoff" and d.call is not None and d.call.asked_by is call.asked_by for d in handed)


def _values_lost(work: _Work) -> set[str]:
    """Why values of these spans are not whole."""
    reasons = set[str]()
    if work.limit is not None:
        reasons.add("truncated values")
    scopes = {n.span.scope for n in work.nodes if n.kind is not None}
    if any(n.span.dropped for n in work.nodes if n.kind is not None or n.span.scope in scopes):
        reasons.add("attributes dropped")
    if any(n.span.masked for n in work.nodes):
        reasons.add("values masked")
    return reasons


def _conversation(root: Node, nodes: list[Node]) -> str | None:
    for above in (root, *root.ancestors()):  # a span around several requests tells of each
        if above.span.conversation:
            return above.span.conversation
    if root.own_agent is not None:  # a delegate talks in a conversation of its own
        nodes = [n for n in nodes if n.agent in (None, root.own_agent)]
    else:  # so does one of another service, in a trace of its own, and may be the only one to tell
        called = {n.span.trace_id for n in nodes if n.parent and _serves(n, n.parent)}
        nodes = [n for n in nodes if n.span.trace_id not in called]
        delegates = _within_tools(nodes, root)
        nodes = [n for n in nodes if id(n) not in delegates]
    top = next((n for n in nodes if n.kind in (AGENT, CHAIN, LLM) and n.span.conversation), None)
    if top is not None:
        return top.span.conversation
    return next((n.span.conversation for n in nodes if n.span.conversation), None)


def _within_tools(nodes: list[Node], root: Node) -> set[int]:
    found = set[int]()
    unread = [n for tool in nodes if tool.kind == TOOL and tool is not root for n in tool.children]
    for n in unread:
        if id(n) not in found:
            found.add(id(n))
            unread.extend(n.children)
    return found


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
    held = all_above(c.node for c in calls) if overwritten else set()
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
        "finish_reason": None if c.finish == ASKED else c.finish,
        "start_unix_nano": c.start or None,
        "end_unix_nano": c.end or None,
    }


def _delegation_row(d: Delegation) -> Row:
    return {"from": d.source, "to": d.target, "form": d.form, "tool": d.tool, "status": d.status}
