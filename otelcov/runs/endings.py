"""How a run ended, and which of an agent's boundaries it ran into: rule table first (boundaries.py), then structure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, SETUP, TOOL
from otelcov.ground.config import BOUNDARIES
from otelcov.runs import boundaries as b
from otelcov.runs.boundaries import asks
from otelcov.runs.call import ToolCall
from otelcov.runs.call_status import Outcome
from otelcov.runs.charge import broke_off, broken_step, frames, top_agents, went_on
from otelcov.runs.delegation import transfers
from otelcov.runs.jsontext import to_json
from otelcov.runs.model_call import ModelCall, last_only, unheard
from otelcov.runs.models import OVERWRITTEN
from otelcov.runs.texts import agent_said, at_work, awaits_another, own_calls, told_as_object
from otelcov.runs.tree import Node, control_flow, exceptions, failure, spelling


@dataclass
class Evidence:
    """What is known of a run when its end is judged."""

    root: Node
    nodes: list[Node]
    calls: list[ModelCall]  # by turn
    tools: list[ToolCall]  # in canonical order, delegations left out
    outcomes: list[Outcome]  # of the tools
    visible: bool  # a tool call would have shown itself
    input: str | None
    output: str | None
    ways: frozenset[str] = frozenset()  # tools by their look, by which answers are handed in
    offered: Collection[str] | None = None

    @cached_property
    def unheard(self) -> list[ModelCall]:
        """The model calls that may have failed."""
        return unheard(self.calls)

    @property
    def last(self) -> ModelCall | None:
        return self.calls[-1] if self.calls else None


def status(run: Evidence) -> str:
    """error: the root, or the agent in charge, failed, or the last model call did. ok: an answer, or a clean end."""
    root, last = run.root, run.last
    if asked_unseen(run):
        return "unknown"
    failed = (failure(root) is not None and root.kind != TOOL) or broke_off(root)
    if failed and not _tried_again(run) and not went_on(root, last):
        return "error"
    if (last is not None and last.error is not None) or died_in_a_tool(run) or _died_in_a_step(run):
        return "error"
    if run.output is None and died_in_a_later_trace(root, run.nodes, run.calls):
        return "error"
    if _unwatched(run):
        return "unknown"
    if (
        _swallowed(root)
        or _broke_unread(run)
        or (last in run.unheard and run.output is None)
        or _asked_for_nobodys(run)
    ):
        return "unknown"
    if _stopped_unheard(run) or _hides_failures(run) or ended_in_what_is_lost(run) or _answer_lost(run):
        return "unknown"
    if root.kind == LLM and awaits_another(run.calls):
        return "unknown"
    own = own_calls(root, run.calls[-1:])  # what came last, if it is no other agent's
    answered = run.output is not None and own and own[0].text and not own[0].requests and not asks(own[0].finish)
    answered = answered and b.finish(own[0].finish) != "length"  # which some kits take for an error
    if root.orphan and not answered:
        return "unknown"
    if (
        last is not None
        and root.kind is None
        and run.output is None
        and any(r.name not in run.ways for r in last.requests)
    ):
        return "unknown"  # what frames it does not know of agents, nor whether what was asked for was done
    if last is not None and root.kind == LLM:
        if any(r.name not in run.ways for r in last.requests):
            return "unknown"
        if last.outputs is None and (not final(last.finish) or (last.google and b.letters(last.finish) == "stop")):
            return "unknown"
    if root.kind == TOOL and len(run.nodes) == 1 and run.outcomes:
        return "error" if run.outcomes[0].status == "error" else "ok"
    return "unknown" if _told_nothing(run) else "ok"


def asked_unseen(run: Evidence) -> bool:
    """Is a tool all that came, which a model of which nothing is told asked for, by its id?"""
    root = run.root
    return root.kind == TOOL and not root.orphan and bool(root.span.call_id) and not run.calls and len(run.nodes) == 1


def _tried_again(run: Evidence) -> bool:
    """Is the root a model's call that failed, and was a model asked after it?"""
    return run.root.kind == LLM and run.last is not None and run.last.start >= run.root.end


def _unwatched(run: Evidence) -> bool:
    """Did an instrumentation fail by itself? Whether its error stopped the run, too, or hid another, is not told."""
    return any(n.span.row in n.side.mishaps for n in run.nodes)


def _told_nothing(run: Evidence) -> bool:
    """Is there no step, no answer and no word of how it went? A guard may have stopped it before all else."""
    if run.calls or run.outcomes:
        return False
    said = any(
        n.span.status_code and not (n.span.status_code == 1 and _SAYS_WELL.search(n.span.scope)) for n in run.nodes
    )
    return not run.root.span.end or not (run.output is not None or said)


def _stopped_unheard(run: Evidence) -> bool:
    """Did a run that neither put anything out nor says that it went well end on an answer of which only this is told,
    that it asked for tools? A limit, a user or a hook stopped it then, or the way to answer was a tool."""
    last, root = run.last, run.root
    if last is None or run.output is not None:
        return False
    says_well = any(_SAYS_WELL.search(n.span.scope) for n in last.layers)
    if _ends_no_failure(last):
        return any(n.kind == TOOL for n in last.node.children)
    if says_well and last.outputs is not None:
        left = _left(run, last)
        return bool(left) and not any(o.status in ("error", "requested") for o in left)
    if not asks(last.finish) or (last.outputs is not None and (last.asked or last.text)):
        return False
    ran = any(n.kind == TOOL and n.start >= last.start for n in run.nodes)
    if says_well:
        return not ran
    if last.outputs is not None:
        return not ran and not root.span.status_code
    if last.node.parent is not root:
        return False
    return not ran if root.kind == CHAIN else root.kind == AGENT and not root.span.status_code


def _ends_no_failure(call: ModelCall) -> bool:
    """Is this of Google's ADK for JavaScript, which never ends the span of a model's call that failed, so that it does
    not come? Its spans begin at whole milliseconds."""
    return call.node.span.scope == "gcp.vertex.agent" and not call.start % 1_000_000


_SAYS_WELL = re.compile(r"^opentelemetry\.instrumentation\.openai_agents$")
"""Instrumentations that say of a run that raised that it went well, where a tool was asked for that nobody has."""


def _hides_failures(run: Evidence) -> bool:
    """Is this without an answer, by an instrumentation that ends every span alike (Splunk's of OpenAI's kit, Codex)?"""
    alike = any(ends_alike(n.span.scope) for n in top_agents(run.root)) or _muted(run)
    return run.output is None and alike


def ends_alike(scope: str) -> bool:
    """Does an agent's span of this scope end well, however its run went?"""
    return scope.endswith("handler openai_agents")


def _muted(run: Evidence) -> bool:
    return mute(run.root.span.scope) or any(mute(n.span.scope) for c in run.calls for n in c.layers)


def mute(scope: str) -> bool:
    """Does no span of this scope ever say that anything failed?"""
    return scope.startswith("codex")


def ended_in_what_is_lost(run: Evidence) -> bool:
    """Is there no answer, and did a step that has not come hold what came after all that has?"""
    last = run.last
    if last is None or run.output is not None:
        return False
    return any(n.orphan and n is not run.root and n.kind not in _STEPS and n.start >= last.end for n in run.nodes)


def step_lost(run: Evidence) -> bool:
    """Is the parent of a model's call or of a tool missing from a run whose root has come? It may have been a tool:
    what lies below one that raised has lost it (decorators of Traceloop's SDK 0.33 never end its span)."""
    return not run.root.orphan and any(n.orphan and n.kind in (LLM, TOOL) for n in run.nodes)


_STEPS = (AGENT, LLM, TOOL)


def _answer_lost(run: Evidence) -> bool:
    """Did a model answer after a tool that threw, and is nothing of that told?"""
    return run.output is None and bool(threw := _threw(run)) and _went_on(run, threw)


def _swallowed(root: Node) -> bool:
    """The root says neither that it went well nor what it answered, and the last thing in it failed."""
    if root.span.status_code or root.span.output is not None or not root.children:
        return False
    final = max(root.children, key=lambda n: (n.end, n.start))
    return final.kind in (AGENT, CHAIN) and bool(exceptions(final)) and failure(final) is not None


def _broke_unread(run: Evidence) -> bool:
    """There is no answer and no word of how it went, and since the last model was asked something threw of which only
    the instrumentation is known: a tool's span, perhaps, that nobody here can read."""
    root, last = run.root, run.last
    if last is None or run.output is not None or root.span.status_code:
        return False
    since = (n for n in run.nodes if n.kind is None and n is not root and n.start >= last.start)
    return any(n.span.scope == last.node.span.scope and exceptions(n) and failure(n) is not None for n in since)


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
    seen |= stopped
    if stopped or any(limits):
        return
    for n, text in told:
        if n.kind == LLM or control_flow(n) or _unnamed(run, n) or went_on(n, run.last) or _got_over(run, n):
            continue
        reached_the_top = n.parent is None or n.kind == AGENT or id(n) in framing or (exceptions(n) and _escapes(n))
        if reached_the_top:
            seen.add("error")
            if b.TIMEOUT.search(text) and run.last is not None and run.last.error is not None:
                seen.add("timeout")
    broken = broken_step(run.root) and not went_on(run.root, run.last)
    if died_in_a_tool(run) or _died_in_a_step(run) or broken:
        seen.add("error")


def _got_over(run: Evidence, agent: Node) -> bool:
    """Did an agent fail that another had called, and did that one ask a model afterwards? The run did not end in it."""
    if agent.kind != AGENT or agent.own_agent is None or broke_off(run.root):
        return False
    caller = next(
        (a for a in agent.ancestors() if a.kind == AGENT and a.own_agent not in (None, agent.own_agent)), None
    )
    return caller is not None and any(
        c.start >= agent.end and c.error is None and _worker(c) is caller for c in run.calls
    )


def _unnamed(run: Evidence, node: Node) -> bool:
    """Did an agent fail without a word of the reason, once all that was asked for had run well? OpenAI's agents do at
    their limit of steps, too, and so may whoever says no more than that it failed."""
    if node.kind in (LLM, TOOL, OTHER, SETUP) or failure(node) is None:
        return False
    said = node.span.status_message or ""
    if said != _KIT_FAILED and not _UNSAID.match(said):
        return False
    if exceptions(node) or not all(_UNSAID.match(x or "") for x in (node.span.error_text, node.span.error_type)):
        return False
    if run.last is None or run.last.error is not None:
        return False
    asked = _left(run, run.last)
    return (bool(asked) or said != _KIT_FAILED) and all(o.status == "ok" for o in asked)


_KIT_FAILED = "Error in agent run"
"""What OpenAI's Agents SDK says of any failure."""


def _structure(run: Evidence, seen: set[str], unknown: set[str]) -> None:
    last = run.last
    if last is None:
        return
    texts = (run.output, last.text if last.outputs else None)
    reason = next((why for _, why in agent_said(run.root) if why), None)
    if (limit := b.stopped(reason)) is not None:
        seen.add(limit)
    elif (
        any(_not_finished(n) for n in run.nodes)
        or _forced(last)
        or any(t is not None and b.GAVE_UP.search(t) for t in texts)
    ):
        seen.add("max_steps")
    elif _pending(run, seen) and not {"max_steps", "cost_limit"} <= unknown:
        ended_it = asks(reason)  # a tool did, as the agent says: a limit would be its reason
        if not _ended_well(last):
            (seen if _ran_and_stopped(run, last) and not ended_it else unknown).add("max_steps")


def _tools(run: Evidence, seen: set[str], unknown: set[str]) -> None:
    done = list(enumerate(_done(run)))
    well = {t.name: i for i, (t, o) in done if o.status == "ok" and o.error_kind is None}
    failed = [(i, t) for i, (t, o) in done if o.status == "error" or o.error_kind]
    if failed:
        seen.add("tool_failure")
        if any(well.get(t.name, -1) > i for i, t in failed):
            seen.add("tool_recovery")
        elif any(_may_recover(t, x, o) for i, t in failed for _, (x, o) in done[i + 1 :]):
            unknown.add("tool_recovery")
    elif not run.visible or any(o.status == "unknown" or (o.status == "ok" and o.result is None) for o in run.outcomes):
        unknown |= {"tool_failure", "tool_recovery"}
    told = [(t, o) for t, o in _done(run) if o.arguments is not None and o.status != "requested"]
    often = {name for name, n in Counter(t.name for t, _ in told).items() if n >= 3} if len(told) >= 3 else ()
    equal = Counter(to_json([t.name, o.arguments]) for t, o in told if t.name in often) if often else {}
    if any(n >= 3 for n in equal.values()):
        seen.add("repeated_call")
    elif not run.visible or any(o.arguments is None for o in run.outcomes):
        unknown.add("repeated_call")


def _may_recover(failed: ToolCall, later: ToolCall, outcome: Outcome) -> bool:
    """May this be the tool that failed before, and have gone well?"""
    if None in (failed.name, later.name):
        return outcome.status in ("ok", "unknown")
    return outcome.status == "unknown" and later.answer is not None and failed.name == later.name


def _done(run: Evidence) -> list[tuple[ToolCall, Outcome]]:
    return list(zip(run.tools, run.outcomes, strict=True))


def _unseen(run: Evidence, seen: set[str], unknown: set[str]) -> None:
    """What could have happened without a trace of it here."""
    last = run.last
    unnamed = any(_unnamed(run, n) for n in run.nodes)
    if unnamed or _asked_for_nobodys(run) or _stopped_unheard(run) or _unwatched(run):
        unknown.add("error")
    if unnamed:
        unknown |= {"max_steps", "cost_limit", "timeout"}
    if step_lost(run):
        unknown |= {"tool_failure", "tool_recovery", "repeated_call"}
    if _muted(run) or ended_in_what_is_lost(run) or _answer_lost(run):
        unknown |= {"error", "timeout", "rate_limit"}
    if any(c.error is not None and b.unsaid(c.error) for c in run.calls):
        unknown |= {"timeout", "rate_limit", "content_filter"}
    if last is None or run.unheard:
        unknown |= {"error", "timeout", "rate_limit", "length", "content_filter"}
    elif any(c.finish is None and c.error is None for c in run.calls[-1:]) or all(c.finish is None for c in run.calls):
        unknown |= {"length", "content_filter"}
    if run.root.orphan and run.root.kind != LLM:
        unknown |= {"max_steps", "cost_limit", "error", "timeout"}
    if seen & {"max_steps", "cost_limit"}:
        return
    if _ENOUGH.search(run.root.span.output or ""):
        unknown.add("max_steps")
    if last is not None and any(asks_once_more(n.span.scope) for n in last.layers) and run.tools:
        unknown.add("max_steps")
    framed = any(n.kind in (AGENT, CHAIN) for n in run.nodes)
    if not framed or last is None or (last.outputs is None and last.error is None) or last.inputs is None:
        unknown |= {"max_steps", "cost_limit"}
    handed_on = last is not None and (_answered(run, last) or _ended_well(last))
    if last is not None and (last.requests or _stopped_unheard(run)) and last.error is None and not handed_on:
        unknown |= {"max_steps", "cost_limit"}
    if not framed:
        unknown.add("error")


_UNSAID = re.compile(b.UNSAID)
_ENOUGH = re.compile(r'"stop_reason": ?"Maximum number of ')
"""A team of AutoGen that took all the turns it was given: that many may have been wanted, or no more allowed."""


def _answered(run: Evidence, last: ModelCall) -> bool:
    """Did the last answer hand in the run's?"""
    return run.output is not None and any(r.name in run.ways for r in last.requests)


def died_in_a_tool(run: Evidence) -> bool:
    """The newest answer asked for tools, one of them failed with an exception, and no model was asked again: nor will
    one be, if the agent has ended."""
    return bool(threw := _threw(run)) and not _went_on(run, threw)


def _threw(run: Evidence) -> list[ToolCall]:
    """The tools of the newest answer that failed with an exception, where no model was asked after them."""
    if run.last is None or not run.last.requests or at_work(run.root, run.last):
        return []
    if any(n.kind == OVERWRITTEN and n.end > run.last.end for n in run.nodes):
        return []
    threw = [t for t, o in _done(run) if o.error_kind == "hard" and t.asked_by is run.last and not _caught(t)]
    worker = _worker(run.last)  # of a graph whose root is lost, perhaps a node beside that of its tools
    return [t for t in threw if not (run.root.orphan and t.nodes) or worker in t.nodes[0].ancestors()]


def _went_on(run: Evidence, threw: list[ToolCall]) -> bool:
    """Did a run of which these tools threw, and that does not say that it failed, answer all the same, or last as long
    as a model takes after that? Then a model was asked, and its span has not come."""
    if failure(run.root) is not None or broke_off(run.root):
        return False
    shortest = min(c.end - c.start for c in run.calls)
    return run.output is not None or 0 < shortest <= run.root.end - max(t.end for t in threw)


def _caught(tool: ToolCall) -> bool:
    """Was what a tool threw caught by what ran it? Its span ended well around the one that failed (AutoGen)."""
    outer = tool.nodes[0] if tool.nodes else None
    return outer is not None and failure(outer) is None and (outer.span.status_code == 1 or bool(outer.span.result))


def died_in_a_later_trace(root: Node, nodes: Collection[Node], calls: Collection[ModelCall]) -> list[Node]:
    """The agents that went on with a run in traces of their own once all others had answered, and failed."""
    done = max((c.end for c in calls), default=None)
    if done is None:
        return []
    late = (n for n in nodes if n.kind == AGENT and n.start >= done and n.span.trace_id != root.span.trace_id)
    return [n for n in late if failure(n) is not None and not any(a.kind in (TOOL, LLM) for a in n.ancestors())]


def _died_in_a_step(run: Evidence) -> bool:
    """The step that holds the newest answer failed, what that asked for was not run, and the run put nothing out: a
    framework refused it (OpenAI's for Python, a tool that nobody has)."""
    last = run.last
    if last is None or run.output is not None or any(o.status in ("ok", "error") for o in _left(run, last)):
        return False
    step = last.node.parent
    return bool(last.requests) and step is not None and step.kind in (AGENT, CHAIN) and failure(step) is not None


def _asked_for_nobodys(run: Evidence) -> bool:
    """Did a run that put nothing out end on a request for a tool that nobody had? Some frameworks raise an error then,
    and not every instrumentation sees it."""
    last, offered = run.last, {spelling(name) for name in run.offered or ()}
    if last is None or last.error is not None or not offered or run.output is not None:
        return False
    asked = [t for t in run.tools if t.asked_by is last and not t.nodes and t.answer is None and t.name not in run.ways]
    return any(spelling(t.name) not in offered for t in asked if t.name is not None)


def answered_in_one_span(run: Evidence, executions: list[list[Node]]) -> bool:
    """A model span stands for several calls: the last one holds the run's answer and asks for tools that ran inside it,
    or one answers in words, while a tool ran inside it that this answer does not ask for: another did."""
    if not executions:
        return False
    around = {id(n) for nodes in executions for n in nodes[0].ancestors()}
    holding = [call for call in run.calls if id(call.node) in around and call.node is not run.root]
    answer = run.output
    return any(c is run.last and c.requests and answer and c.text == answer for c in holding) or any(
        c.text and not c.asked for c in holding
    )


_FINAL = ("stop", "endturn", "stopsequence", "final")  # OpenAI's Responses are `completed` whatever they asked for


def final(finish: str | None) -> bool:
    """Does this finish reason say that no tool was asked for?"""
    return b.letters(finish) in _FINAL or b.finish(finish) is not None


def tools_visible(calls: list[ModelCall], executions: list[list[Node]], incomplete: set[str]) -> bool:
    """Would a tool call have shown itself in this run?"""
    blind = [
        c for c in calls if c.error is None and not c.asked and (c.outputs is None or c.text is None or asks(c.finish))
    ]
    for c in blind:
        if c.truncated_output:
            incomplete.add("truncated values")
        elif c.cut:
            incomplete.add("attributes dropped")
    if executions:
        return True
    if not calls:
        incomplete.add("no model call visible")
        return False
    doubtful = [c for c in blind if not final(c.finish) or (c.google and b.letters(c.finish) == "stop")]
    mute = [c for c in calls if c.outputs is None and c.error is None and c.inputs is None]
    doubtful += [c for c in mute if c.node.parent is None]  # the end of a longer run, perhaps
    doubtful += _went_on_unseen(calls, mute) + [c for c in calls if c.text is not None and _NEXT_TOOL.search(c.text)]
    doubtful += [c for c in calls if c.loops or (last_only(c) and not any(n.kind == AGENT for n in c.node.ancestors()))]
    if not doubtful:
        return True
    incomplete.add("tool calls not visible")
    return any(c.asked for c in calls)


_NEXT_TOOL = re.compile(r"\[\[ ## next_tool_name ## \]\]\s*(?!finish\b)\w")
"""How DSPy's ReAct has a model ask for a tool, by text alone."""


def _went_on_unseen(calls: list[ModelCall], mute: list[ModelCall]) -> list[ModelCall]:
    """Those of the calls that tell neither what they were asked nor what they answered after which the same agent asked
    again: for the sake of a tool's result, perhaps (Gemini ends to have tools called as it ends well)."""
    last = {c.agent: c for c in calls}
    return [c for c in mute if last[c.agent] is not c]


def _forced(last: ModelCall) -> bool:
    """The framework told the model to stop: its order stands at the end of the last input."""
    if not any(n.span.forced or _forced_flat(n) for n in last.layers):
        return False
    return any(x.text and b.FORCED.search(x.text) for x in (last.inputs or [])[-3:])


def _forced_flat(node: Node) -> bool:
    texts = (value for _, value in node.side.families["flat_input"].get(node.span.row, ()) if isinstance(value, str))
    return any(sign in text for text in texts for sign in b.FORCED_SIGNS)


def _pending(run: Evidence, seen: set[str]) -> bool:
    """The run ended well on a request for tools: they ran, and no answer came after. Only where a root frames the run:
    of model calls alone nobody can say that none is missing."""
    last, root = run.last, run.root
    if last is None or last.error is not None or seen & {"error", "cost_limit"} or root.orphan or root.kind == LLM:
        return False
    if _answered(run, last):
        return False
    asked = _left(run, last)
    return bool(asked) and all(o.status != "error" for o in asked)


def _left(run: Evidence, last: ModelCall) -> list[Outcome]:
    """The calls that the last answer left to the agent."""
    return [o for t, o in _done(run) if t.asked_by is last and t.result_of is not last and t.name not in run.ways]


_ENDS = re.compile(
    r"(?:\w+[-.])?(?:exit|end|leave|stop|finish|terminate|complete)(?:_(?:loop|run|task|chat|conversation|session))?$",
    re.I,
)
"""Tools that end a run by their very name (exit_loop of Google's ADK, Handoff-complete_task of Semantic Kernel)."""


_RAISES = re.compile(
    r"openai_agents|^pydantic-ai$|^gcp\.vertex\.agent$|(?:instrumentation|genai)\.langchain$|handler langchain$"
)
"""Scopes of instrumentations of kits that raise an error at a limit: a clean end is none."""


def _ended_well(last: ModelCall) -> bool:
    """Did the agent that asked at last end without an error, where each limit is told as one (pydantic-ai)? What it
    asked for was left to others: to who gives leave, or to a client's own tools."""
    agent = _worker(last)
    if agent is None or agent.span.scope != "pydantic-ai" or not agent.span.end:
        return False
    return all(failure(n) is None for n in (agent, *agent.ancestors()))


def asks_once_more(scope: str) -> bool:
    """Is this a kit that at a limit asks the model once more, without tools? That answer looks like any other."""
    return scope in ("agent_framework", "agentscope", "opentelemetry.instrumentation.genai.dspy")


_LOOP, _STEP, _DONE = (re.compile(p) for p in (r"^ReAct\.a?(?:forward|call)", r"^Predict\b", r"^(?:Tool\.)?finish\b"))


def _not_finished(node: Node) -> bool:
    """Did a loop of DSPy's ReAct end otherwise than by the model's word? What asks for a tool is followed by one, the
    last time by the one that ends it; a request that could not be read by none."""
    if not _LOOP.match(node.span.name) or any(n.kind == TOOL for n in node.ancestors()):
        return False
    done = (
        n for n in reversed(node.children) if n.kind == TOOL or _STEP.match(n.span.name) or _DONE.match(n.span.name)
    )
    last = next(done, None)
    return last is not None and last.kind == TOOL and not _DONE.match(last.span.name)


def _ran_and_stopped(run: Evidence, last: ModelCall) -> bool:
    """Did the tools that were asked for last run, and did no answer come? Calls left to somebody else (an approval, a
    client's own tools), tools that end a run by their result, work handed to the user, and a lost span of the last
    answer look alike: after a single answer they are likelier than a limit of one (AutoGen's agents stop there)."""
    left = _left(run, last)
    if any(_RAISES.search(n.span.scope) for n in last.layers):
        return False
    if not any(o.status == "ok" for o in left) or any(o.status == "requested" for o in left):
        return False
    if any(r.name in run.ways or _ENDS.match(r.name or "") or transfers(r.name) for r in last.requests):
        return False
    if sum(_worker(c) is _worker(last) for c in run.calls) == 1:
        return False
    if run.output is None:
        return not told_as_object(run.root)
    return run.output.strip() in ("", (last.text or "").strip())


def _worker(call: ModelCall) -> Node | None:
    """The agent at work, each time that it is called."""
    return next((n for n in call.node.ancestors() if n.kind == AGENT), None)


def _escapes(node: Node) -> bool:
    """Did a failure reach the top of its tree?"""
    parent = node.parent
    while parent is not None:
        if parent.kind in (AGENT, CHAIN) and failure(parent) is not None:
            parent = parent.parent
            continue
        return parent.kind not in (AGENT, CHAIN)
    return True
