"""Which of an agent's boundaries a run met: by the rule table first (boundaries.py), then by structure."""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, SETUP, TOOL
from otelcov.ground.config import BOUNDARIES
from otelcov.ground.patterns import late
from otelcov.runs.agents.charge import broken_step, frames, went_on
from otelcov.runs.content.jsontext import to_json
from otelcov.runs.llm.model_call import ModelCall, finish_reason
from otelcov.runs.llm.unseen_answers import failed_unheard
from otelcov.runs.rules import boundaries as b
from otelcov.runs.rules.answers import asks_once_more
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.rules.habits import in_a_models_step, leaves_out_what_threw, raises_at_limits, stops_at_tools
from otelcov.runs.rules.handovers import transfers
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.trace.above import nearest
from otelcov.runs.trace.tree import Node, control_flow, exceptions, failure, spelling
from otelcov.runs.whole.answer_text import agent_said, told_as_object
from otelcov.runs.whole.called_off import called_off, delegate_broke_unsaid
from otelcov.runs.whole.deaths import answer_lost, died_at_first, died_in_a_step, died_in_a_tool
from otelcov.runs.whole.endings import (
    asked_for_nobodys,
    left_at_tools,
    limits_hidden,
    of_a_tool,
    stopped_at_a_tool,
    stopped_unheard,
    unwatched,
)
from otelcov.runs.whole.evidence import Evidence, worker
from otelcov.runs.whole.got_over import below_what_went_well, got_over
from otelcov.runs.whole.left_at_tools import delegates_left
from otelcov.runs.whole.lost_steps import below_what_is_lost, delegate_broke_unseen, ended_in_what_is_lost
from otelcov.runs.whole.speakers import within_an_agent
from otelcov.runs.whole.unsaid import tried_unseen
from otelcov.runs.whole.wordless import untold_failure


def boundaries(run: Evidence) -> tuple[list[str], list[str]]:
    """(boundaries seen, boundaries that cannot be judged here), both in the order of BOUNDARIES."""
    seen: set[str] = set()
    unknown: set[str] = set()
    _failures(run, seen, unknown)
    _structure(run, seen, unknown)
    if run.input is None:
        unknown.add("empty_input")
    elif not run.input.strip():
        seen.add("empty_input")
    _tools(run, seen, unknown)
    _unseen(run, seen, unknown)
    return sorted(seen, key=BOUNDARIES.index), sorted(unknown - seen, key=BOUNDARIES.index)


def _failures(run: Evidence, seen: set[str], unknown: set[str]) -> None:
    """What spans say failed. A run stopped by its step or cost limit has only that name."""
    framing = {id(n) for n in frames(run.root)}
    told = [
        (n, b.reason(f))
        for n in run.nodes
        if n.kind not in (TOOL, OTHER, SETUP)
        and (n.kind is not None or n.parent is None or id(n) in framing)
        and (f := failure(n))
    ]
    limits = [b.limits(text) for n, text in told if n.kind != LLM]
    tools = (f for n in run.nodes if n.kind == TOOL and (f := failure(n)))  # of an agent below, perhaps
    unknown |= {limit for f in tools for limit in b.limits(b.reason(f))}
    stopped = {limit for some in limits if len(some) == 1 for limit in some}
    if any(len(some) > 1 for some in limits) and not stopped:
        unknown |= {"max_steps", "cost_limit"}
    for call in run.calls:
        kind = b.finish(call.finish)
        if kind:
            seen.add(kind)
        if call.error is None:
            continue
        text = b.reason(call.error)
        if call.error[0].endswith("UsageLimitExceeded"):
            stopped |= b.limits(text) - {"cost_limit"}
        seen.add("error")
        seen |= b.of_error(text)
    if not run.calls:  # why an agent ended is why its last model did
        why = (b.finish(finish_reason(n.span.finish)) for n in run.nodes if n.kind == AGENT and n.span.finish)
        seen |= {kind for kind in why if kind}
    seen |= stopped
    if stopped or any(limits):
        return
    ends = nearest(_ends_it)
    for n, text in told:
        if n.kind == LLM or control_flow(n) or untold_failure(run, n) or went_on(n, run.last) or got_over(run, n):
            continue
        if (n is run.root and of_a_tool(n)) or below_what_went_well(run, n):
            unknown.add("error")
            continue
        at_the_top = n.parent is None or n.kind == AGENT or id(n) in framing
        if at_the_top or (exceptions(n) and _escapes(ends(n))):
            seen.add("error")
            if b.TIMEOUT.search(text):
                late = run.last is not None and run.last.error is not None
                (seen if late else unknown).add("timeout")
    broken = broken_step(run.root) and not went_on(run.root, run.last)
    if died_at_first(run) or died_in_a_tool(run) or died_in_a_step(run) or broken:
        (unknown if of_a_tool(run.root) else seen).add("error")


def _escapes(end: Node | None) -> bool:
    """Did a failure that ended there reach the top of its tree? What went no further than a tool is the tool's."""
    return end is None or end.kind not in (AGENT, CHAIN, TOOL)


def _ends_it(node: Node) -> bool:
    """Does a failure below go no further than this, or through no agent and no step?"""
    return node.kind not in (AGENT, CHAIN) or failure(node) is None


def _structure(run: Evidence, seen: set[str], unknown: set[str]) -> None:
    last = run.last
    seen |= {limit for n in run.nodes if _of_nobody(n) and (limit := b.stopped(finish_reason(n.span.finish)))}
    if last is None:
        return
    texts = (run.output, last.text if last.outputs else None)
    reason = next((why for _, why in agent_said(run.root) if why), None)
    loops = [n for n in run.nodes if n.span.name.startswith("ReAct.")]
    if (limit := b.stopped(reason)) is not None:
        seen.add(limit)
    elif any(_lost_a_step(run, n) for n in loops):
        unknown.add("max_steps")
    elif (
        any(_not_finished(run, n) for n in loops)
        or _forced(last)
        or any(t is not None and b.GAVE_UP.search(t) for t in texts)
    ):
        seen.add("max_steps")
    elif _pending(run, seen) and not {"max_steps", "cost_limit"} <= unknown:
        ended_it = asks(reason)  # a tool did, as the agent says: a limit would be its reason
        if not _ended_well(last):
            (seen if _ran_and_stopped(run, last) and not ended_it else unknown).add("max_steps")


def _of_nobody(node: Node) -> bool:
    """Is this an agent that no other works through?"""
    return node.kind == AGENT and all(n.kind not in (AGENT, TOOL) for n in node.ancestors())


def _forced(last: ModelCall) -> bool:
    """The framework told the model to stop: its order stands at the end of the last input."""
    if not any(n.span.forced or _forced_flat(n) or n.side.events.get(n.span.row) for n in last.layers):
        return False
    return any(x.text and b.FORCED.search(x.text) for x in (last.inputs or [])[-3:])


def _forced_flat(node: Node) -> bool:
    told = node.side.families["flat_input"].get(node.span.row, ())
    texts = "\0".join([value for _, value in told if isinstance(value, str)])
    return any(sign in texts for sign in b.FORCED_SIGNS)


_LOOP, _STEP, _DONE = (late(p) for p in (r"^ReAct\.a?(?:forward|call)", r"^Predict\b", r"^(?:Tool\.)?finish\b"))


_NEXT = late(r'(?:\[\[ ## next_tool_name ## \]\]\s*|"next_tool_name": ?")(\w+)')


def _not_finished(run: Evidence, node: Node) -> bool:
    """Did a loop of DSPy's ReAct end otherwise than by the model's word? What asks for a tool is followed by one, the
    last time by the one that ends it; a request that could not be read by none. Where no tool is told, the last that
    was asked for in words is followed by what sums up."""
    if not _LOOP.match(node.span.name) or node.within(TOOL):
        return False
    last = _last_of_loop(node)
    if last is None or last.kind == TOOL or any(n.kind == TOOL for n in node.children):
        went_on = failure(node) is None or (last is not None and node.children[-1] is not last)  # to sum up
        return last is not None and last.kind == TOOL and not _DONE.match(last.span.name) and went_on
    inside = [c for c in run.calls if any(a is node for a in c.node.ancestors())]
    asked = next(((c, m[1]) for c in reversed(inside) if (m := _NEXT.search(c.text or "")) is not None), None)
    if asked is None or asked[0] is inside[-1] or asked[1] == "finish":
        return False
    steps = takewhile(lambda n: n is not node, asked[0].node.ancestors())
    return all(failure(n) is None for n in steps)


def _last_of_loop(node: Node) -> Node | None:
    """The last tool, or step that asked for one, or the one that ends a loop."""
    told = (
        n for n in reversed(node.children) if n.kind == TOOL or _STEP.match(n.span.name) or _DONE.match(n.span.name)
    )
    return next(told, None)


def _lost_a_step(run: Evidence, node: Node) -> bool:
    """Was a model asked in such a loop after its last tool, in a step that has not come, or did the last step ask, in
    words, for a tool that has not? Of one that failed no tool may be told: what failed may have summed up."""
    if not _LOOP.match(node.span.name) or node.within(TOOL):
        return False
    if not any(n.kind == TOOL for n in node.children):
        return failure(node) is not None
    last = _last_of_loop(node)
    if last is None or _DONE.match(last.span.name):
        return False
    if last.kind == TOOL:
        until = next((n.start for n in node.children if n.start >= last.end), node.end)
        return any(last.end <= c.start < until for c in run.calls)
    asked = next((c for c in reversed(run.calls) if any(a is last for a in c.node.ancestors())), None)
    wanted = _NEXT.search(asked.text or "") if asked is not None else None
    return wanted is not None and wanted[1] != "finish" and failure(last) is None


def _pending(run: Evidence, seen: set[str]) -> bool:
    """The run ended well on a request for tools: they ran, and no answer came after. Only where a root frames the run:
    of model calls alone nobody can say that none is missing."""
    last, root = run.last, run.root
    if last is None or last.error is not None or seen & {"error", "cost_limit"} or root.orphan or root.kind == LLM:
        return False
    if run.handed_in(last) or called_off(run):
        return False
    asked = run.left(last)
    return bool(asked) and all(o.status != "error" for o in asked)


def _ran_and_stopped(run: Evidence, last: ModelCall) -> bool:
    """Did the tools that were asked for last run, and did no answer come? Calls left to somebody else (an approval, a
    client's own tools), tools that end a run by their result, work handed to the user, and a lost span of the last
    answer look alike: after a single answer they are likelier than a limit of one (AutoGen's agents stop there)."""
    left = run.left(last)
    if any(raises_at_limits(n.span.scope) for n in last.layers):
        return False
    if not any(o.status == "ok" for o in left) or any(o.status == "requested" for o in left):
        return False
    if any(r.name in run.ways or _ENDS.match(r.name or "") or transfers(r.name) for r in last.requests):
        return False
    if _asked_again_unseen(last) or _time_for_another(run, last):
        return False
    before = [c for c in run.calls if worker(c) is worker(last) and c is not last]
    if not before or (_stops_at_tools(last) and not _asked_before(last, before)):
        return False
    if run.output is None:
        return not told_as_object(run.root)
    return run.output.strip() in ("", (last.text or "").strip())


def _time_for_another(run: Evidence, last: ModelCall) -> bool:
    """Did the agent go on after its last tool for as long as a model took to answer, and does nothing around say that
    it ended on tools? One that has not come may have answered."""
    if any(asks(finish_reason(n.span.finish)) for n in last.node.ancestors()):
        return False
    frame = worker(last) or run.root
    until = max((t.end for t in run.tools if t.nodes), default=last.end)
    took = [c.end - c.start for c in run.calls if c.error is None]
    return frame.end - max(until, last.end) >= min(took, default=0) > 0


def _asked_again_unseen(last: ModelCall) -> bool:
    """Did a step come since of the name of that in which this was asked, and of no model? What it said is lost."""
    step = next((n for n in last.node.ancestors() if n.kind == CHAIN and n.parent is not None), None)
    while step is not None and step.parent is not None and step.parent.parent is not None and step.parent.kind == CHAIN:
        step = step.parent
    if step is None or step.parent is None:
        return False
    later = [
        n for n in step.parent.children if n.start >= last.end and n.kind == CHAIN and n.span.name == step.span.name
    ]
    return any(all(x.kind != LLM for x in n.below()) for n in later)


def _stops_at_tools(last: ModelCall) -> bool:
    return any(stops_at_tools(n.span.scope) for n in last.layers)


def _asked_before(last: ModelCall, before: list[ModelCall]) -> bool:
    """Was every tool that was asked for at last asked for before, and the loop went on? Then none of them ends it."""
    known = {spelling(r.name or "") for c in before for r in c.asked}
    return all(spelling(r.name or "") in known for r in last.requests)


_ENDS = late(
    r"(?:\w+[-.])?(?:exit|end|leave|stop|finish|terminate|complete)(?:_(?:loop|run|task|chat|conversation|session))?$",
    re.I,
)
"""Tools that end a run by their very name (exit_loop of Google's ADK, Handoff-complete_task of Semantic Kernel)."""


def _ended_well(last: ModelCall) -> bool:
    """Did the agent that asked at last end without an error, where each limit is told as one (pydantic-ai)? What it
    asked for was left to others: to who gives leave, or to a client's own tools."""
    agent = worker(last)
    if agent is None or agent.span.scope != "pydantic-ai" or not agent.span.end:
        return False
    return all(failure(n) is None for n in (agent, *agent.ancestors()))


def _tools(run: Evidence, seen: set[str], unknown: set[str]) -> None:
    done = list(enumerate(run.done))
    well = {t.name: (i, t) for i, (t, o) in done if t.name and o.status == "ok" and o.error_kind is None}
    failed = [(i, t) for i, (t, o) in done if o.status == "error" or o.error_kind]
    if failed:
        seen.add("tool_failure")
        after = [(t, well[t.name][1]) for i, t in failed if t.name in well and well[t.name][0] > i]
        if any(_in_order(t, x) for t, x in after):
            seen.add("tool_recovery")
        elif after or _may_recover(run.done):
            unknown.add("tool_recovery")  # or which of them came first is not told
    elif (
        not run.visible
        or any(o.status == "unknown" or (o.status == "ok" and o.result is None) for o in run.outcomes)
        or _asked_for_lost(run)
    ):
        unknown |= {"tool_failure", "tool_recovery"}
    told = [(t, o) for t, o in run.done if t.name and o.arguments is not None and o.status != "requested"]
    often = {name for name, n in Counter(t.name for t, _ in told).items() if n >= 3} if len(told) >= 3 else ()
    equal = Counter(to_json([t.name, o.arguments]) for t, o in told if t.name in often) if often else {}
    ran = Counter(to_json([t.name, o.arguments]) for t, o in told if t.name in often and _surely_ran(t, o))
    unsure = {call for call, n in equal.items() if n >= 3 > ran[call]}
    if any(n >= 3 for n in ran.values()):
        seen.add("repeated_call")
    elif not run.visible or unsure or any(o.arguments is None or not t.name for t, o in run.done):
        unknown.add("repeated_call")


def _in_order(call: ToolCall, later: ToolCall) -> bool:
    """Is it told which of two calls came first? Of one turn that is the order in which they were asked for; where that
    is not visible, of calls that ran at once neither is the first."""
    if call.turn is None:
        return call.start != later.start
    if later.turn is None:  # it stands where it does by its time
        return call.end <= later.start
    asked = call.asked_by is not None and later.asked_by is not None
    return asked or call.turn != later.turn or call.end <= later.start


def _surely_ran(call: ToolCall, outcome: Outcome) -> bool:
    """Is it told that a tool ran, and not only asked for?"""
    return outcome.status != "unknown" or bool(call.nodes) or call.answer is not None


def _asked_for_lost(run: Evidence) -> bool:
    """Did an answer of which attributes were dropped ask for tools, of which none can be seen?"""
    seen = {t.turn for t in run.tools}
    return any(c.cut and c.outputs is None and asks(c.finish) and c.turn not in seen for c in run.calls)


def _may_recover(done: list[tuple[ToolCall, Outcome]]) -> bool:
    """May one of these be a tool that failed before, and have gone well?"""
    failed = set[str | None]()
    for call, outcome in done:
        nameless = bool(failed) and (call.name is None or None in failed)
        ran = call.answer is not None or bool(call.nodes)
        if (nameless and outcome.status == "ok") or (
            outcome.status == "unknown" and (nameless or (ran and call.name in failed))
        ):
            return True
        if outcome.status == "error" or outcome.error_kind:
            failed.add(call.name)
    return False


def _unseen(run: Evidence, seen: set[str], unknown: set[str]) -> None:
    """What could have happened without a trace of it here."""
    last = run.last
    unnamed = any(untold_failure(run, n) for n in run.nodes)
    if unnamed or asked_for_nobodys(run) or stopped_unheard(run) or unwatched(run):
        unknown.add("error")
    if failed_unheard(run.nodes) or delegate_broke_unseen(run) or delegate_broke_unsaid(run) or tried_unseen(run):
        unknown |= {"error", "timeout", "rate_limit"}
    for agent in delegates_left(run):
        unsaid = agent.span.output is None and agent.span.finish is None
        unknown |= {"max_steps", "cost_limit"} | (_OF_ANSWERS if unsaid else set())
    if any(n.orphan and leaves_out_what_threw(n.span.scope) for n in run.nodes):
        unknown |= {"error", "timeout", "rate_limit"} | ({"max_steps", "cost_limit"} if run.root.orphan else set())
    if unnamed or limits_hidden(run):
        unknown |= {"max_steps", "cost_limit", "timeout"}
    if step_lost(run):
        unknown |= {"tool_failure", "tool_recovery", "repeated_call"}
        failed = last is not None and last.error is not None  # which ends a run, and no limit does
        unknown |= {"max_steps", "cost_limit"} if run.output is None and not failed else set()
    left = stopped_at_a_tool(run) or called_off(run) or left_at_tools(run)
    if left or run.muted or ended_in_what_is_lost(run) or answer_lost(run):
        unknown |= {"error", "timeout", "rate_limit"}
    if ended_in_what_is_lost(run):
        unknown |= {"max_steps", "cost_limit"}
    if any(c.error is not None and b.unsaid(c.error) for c in run.calls):
        unknown |= {"timeout", "rate_limit", "content_filter"}
    if any(c.error is not None and c.finish is None and b.incomplete(c.error) for c in run.calls):
        unknown |= {"length", "content_filter"}
    if last is None or run.unheard:
        unknown |= _OF_ANSWERS
    elif any(c.finish is None and c.error is None for c in run.calls[-1:]) or all(c.finish is None for c in run.calls):
        unknown |= {"length", "content_filter"}
    if run.root.orphan and run.root.kind != LLM:
        unknown |= {"max_steps", "cost_limit", "error", "timeout"}
    elif run.root.orphan and _thrown_at_last(run):
        unknown.add("error")  # what a tool threw may have ended the run, as what frames it would tell
    if seen & {"max_steps", "cost_limit"}:
        return
    if _ENOUGH.search(run.root.span.output or ""):
        unknown.add("max_steps")
    if last is not None and any(asks_once_more(n.span.scope) for n in last.layers) and run.tools:
        unknown.add("max_steps")
    framed = any(n.kind in (AGENT, CHAIN) for n in run.nodes)
    if not framed or last is None or (last.outputs is None and last.error is None) or not last.given_words:
        unknown |= {"max_steps", "cost_limit"}
    handed_on = last is not None and (run.handed_in(last) or _ended_well(last))
    asked = last is not None and (last.requests or asks(last.finish) or stopped_unheard(run))
    if last is not None and asked and last.error is None and not handed_on:
        unknown |= {"max_steps", "cost_limit"}
    if last is not None and not (run.root.orphan and run.root.kind == LLM) and _left_at_another(run, last):
        unknown |= {"max_steps", "cost_limit"}
    if last is not None and run.root.orphan and run.output is None and _in_a_loop_of_nobodys(last):
        unknown |= {"max_steps", "cost_limit"}  # who called that tool said nothing since, and what framed it is lost
    if not framed:
        unknown.add("error")


_OF_ANSWERS = {"error", "timeout", "rate_limit", "length", "content_filter"}  # which one unseen may have met


def _thrown_at_last(run: Evidence) -> bool:
    """Did a tool fail that the last answer asked for, or one outside of agents since a model was asked there? Agents
    that were called beside it may have spoken since."""
    if run.last is not None and any(o.error_kind == "hard" for o in run.left(run.last)):
        return True
    agent = nearest(lambda n: n.kind == AGENT)
    asked = max((c.start for c in run.calls if agent(c.node) is None), default=None)
    threw = (t.nodes[0] for t, o in run.done if t.nodes and o.error_kind == "hard")
    return asked is not None and any(n.start >= asked and agent(n) is None for n in threw)


def _left_at_another(run: Evidence, last: ModelCall) -> bool:
    """Did an agent that was called as a tool speak last, or a model that a tool asked, who had called it say nothing
    since, and was nothing put out? A limit may have stopped the caller, as it does after tools."""
    if (failure(run.root) is not None and not of_a_tool(run.root)) or not (
        last.node.within(TOOL) or below_what_is_lost(run.root, last)
    ):
        return False
    above = [c for c in run.calls if c is not last and not c.node.within(TOOL)]
    said = above[-1].text if above else ""
    return run.output is None or said is None or run.output.strip() in {(c.text or "").strip() for c in above} | {""}


def _in_a_loop_of_nobodys(call: ModelCall) -> bool:
    """Was a model asked in a tool, by no agent that anybody names?"""
    return call.node.within(TOOL) and not within_an_agent(call)


_ENOUGH = late(r'"stop_reason": ?"Maximum number of ')
"""A team of AutoGen that took all the turns it was given: that many may have been wanted, or no more allowed."""


def step_lost(run: Evidence) -> bool:
    """Is the parent of a model's call or of a tool missing from a run whose root has come? It may have been a tool:
    what lies below one that raised has lost it (decorators of Traceloop's SDK 0.33 never end its span)."""
    lost = (n for n in run.nodes if n.orphan) if not run.root.orphan else ()
    return any(n.kind in (LLM, TOOL) or in_a_models_step(n.span.scope, n.span.name) for n in lost)
