"""What a run answered, as a text."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL
from otelcov.runs.agents.charge import broke_off, caught, ended, frames, put_out_an_error, went_on, work_of
from otelcov.runs.agents.delegation import delegates
from otelcov.runs.content.chat import Request, Result
from otelcov.runs.content.exchanges import event_outputs
from otelcov.runs.content.jsontext import parse_json, to_json
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.prose import acts_by_code, final_answer, framed
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.left_out import hides_requests
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.llm.reasons import cut_off
from otelcov.runs.llm.unseen_answers import asked_no_model
from otelcov.runs.rules.answers import guards, waits_for_models
from otelcov.runs.rules.boundaries import asks as asks_for_tools
from otelcov.runs.rules.habits import ends_after_tools, ends_as_members, of_adk, works_over
from otelcov.runs.rules.handovers import asks
from otelcov.runs.tools.call import short_id
from otelcov.runs.tools.handed_in import answer_put_in, answer_put_out, is_answer
from otelcov.runs.trace.above import Above
from otelcov.runs.trace.tree import Node, aborted, exceptions, failure
from otelcov.runs.whole.asked_text import solves
from otelcov.runs.whole.at_work import used_unseen
from otelcov.runs.whole.judges import without_verdicts
from otelcov.runs.whole.speakers import (
    abreast,
    at_work,
    front_of,
    of_a_call,
    on_a_task,
    own_calls,
    shared_out,
    within_an_agent,
)
from otelcov.runs.whole.told_texts import (
    answers,
    assistant_text,
    object_repr,
    one_of_several,
    other_object,
    same_object,
    user_text,
)


def output_text(root: Node, calls: list[ModelCall], limit: int | None, ways: Collection[str] = ()) -> str | None:
    """What the run answered. Some models hand it in by tools that are none (`ways`)."""
    if root.span.output is None and guards(root.span.scope):
        return None
    own = own_calls(root, calls)
    over = Above(_first_over, 0)
    own = without_verdicts([c for c in own if not 0 < over(c.node) < c.start] or own)
    last = own[-1] if own else None
    if root.kind == CHAIN and ended(root) in _UNDONE:
        return None  # what was said last is one of its steps'
    if last is not None and (last.error is not None or _not_waited_for(last)) and not caught(root):
        return None
    if last is not None and (cut_off(last) or left_asking(root, own)):
        return None  # in its place some put that it was; or somebody else said it, whom this one asked
    if last is not None and root.orphan and (_in_part(root, own, last) or may_lead_on(root, last)):
        return None  # what frames them all has not come
    handed = last is not None and any(r.name in ways for r in last.requests)
    if handed and last is not None and (told := answer_put_out(root, last, ways)) is not None:
        return told
    hidden = last is not None and asks_for_tools(last.finish)
    pending = last is not None and (bool(last.requests) or hidden or _to_be_run(last)) and not handed
    said = last.text if last is not None and not pending else None  # without the line break that Strands adds
    front = [n for n in front_of(root) if n.kind not in (LLM, TOOL)]
    front = [n for n in front if n.span.output is not None and n.definitions != n.span.output]
    front = [n for n in front if not (put_out_an_error(n) or _put_out_what_it_threw(n))]
    front = [n for n in front if not _ends_as_a_member(n, last) and not (last is None and _failed_agent(n))]
    step = went_on(root, last) or (pending and root.orphan and root.own_agent is None)
    frames = _frames(root)
    asked = {x.text for x in (last.inputs if last is not None else None) or () if x.role == "user"}
    asked |= {user_text(root.span.input, limit)} - {None}
    for node in front:
        if root.orphan and last is not None and node.end < last.start:
            continue  # a step of a run whose own frame has not come, and not the last one
        if node in frames and not (step and node is root):
            text = said if said and same_object(node.span.output, said) else assistant_text(node.span.output, limit)
            text = node.span.output if said and other_object(node.span.output, said) else text
            if (pending and root.orphan and _gave(root, text)) or _either(root, node, last):
                continue
            if text and text in asked and (said is None or said.strip() != text.strip()):
                break  # a graph's state, of which no message is an answer
            if answers(text) and (text or last is None or last.outputs is not None):  # else its model said nothing
                if said is None or said.strip() != text.strip():
                    return text
                return None if _raised(root, last) else said
    if last is not None and ((own[0].agent != last.agent and at_work(root, own[0])) or awaits_another(own)):
        return None  # it may go on, once it has heard from others
    if last is not None and _in_part(root, own, last):
        return None
    if last is not None and (_worked_over(root, last) or (_of_one_called(last) and not all(map(_of_one_called, own)))):
        return None  # who called this one was to answer
    if last is not None and (on_a_task(last, own) or _asked_by_one_lost(root, own)):
        return None
    if last is not None and (later := _answered_since(root, last)) is not None:
        return assistant_text(later.span.output, limit)
    several = last is not None and _of_several(last)
    if last is not None and not (pending or handed or several) and last.text is not None and not _raised(root, last):
        text = last.text
        if _of_fields(last):
            return None
        if limit is None or (len(text) < limit and not last.truncated_output):
            return final_answer(text)
    if (pending or (last is not None and last.outputs is None)) and (failure(root) is not None or aborted(root)):
        return None
    for told, why in agent_said(root):
        if told and why != "interrupt":
            return final_answer(told)
    if pending and root.orphan and root.own_agent is None:
        return None  # a step says which comes next
    newest_tool = max((n.start for n in root.below() if n.kind == TOOL), default=-1) if last is None else -1
    for node in sorted(front, key=lambda n: (len(list(n.ancestors())), -n.end)):
        if last is not None and node.end < last.start:
            continue  # what it handed on, the model was still to answer
        if node is not root and (_failed_after(root, node) or node.span.output == node.span.input):
            continue  # what it was given, it handed on
        if pending and last is not None and node is not root and _beside(node, last):
            continue  # it says which step comes next, and that has not come (LangGraph, stopped before its tools)
        text = assistant_text(node.span.output, limit)
        if node is not root and node.end <= newest_tool and len((text or "").split()) == 1:
            continue  # a name: it says what comes next, and a tool ran since
        if text in asked and (last is None or node.start <= last.start):
            continue  # the same, in the millisecond in which the model was asked
        if last is None and node is not root and text and user_text(node.span.input, limit) == text:
            continue  # it handed on what was asked (LangGraph's `__start__` under Traceloop)
        gave = pending and (root.orphan or node is not root) and _gave(root if root.orphan else node, text)
        if gave or _either(root, node, last):
            continue
        if answers(text) and (text or last is None or last.outputs is not None) and not _leads_on(root, text):
            return text
    return answer_put_in(root, last, ways) if handed and last is not None else None


def _of_fields(call: ModelCall) -> bool:
    """Did a model answer DSPy's prompt by an object of which the answer is one field?"""
    asked = (x.text for x in reversed(call.inputs or ()) if x.role == "user")
    return (call.text or "").lstrip().startswith("{") and framed(next(asked, None))


def _of_several(call: ModelCall) -> bool:
    """Did a model give several answers to choose from, each with the reason why it ended? Whoever asked took one."""
    told = {o.text for o in call.outputs or () if o.role == "assistant" and o.text and o.finish_reason}
    alone = all(o.finish_reason for o in call.outputs or ())
    return len(told) > 1 and alone and not of_adk(call.node.span.scope)  # which tells of a turn as of one call


def may_lead_on(root: Node, last: ModelCall) -> bool:
    """May an answer have asked for tools beside its words, which its instrumentation leaves out, and does no frame tell
    what came of that?"""
    return bool(last.text) and root.span.output is None and hides_requests(last)


def _either(root: Node, node: Node, last: ModelCall | None) -> bool:
    """Did this put out an object, one of whose texts or the whole of which was the answer, and is it lost what the
    model had said, or its call?"""
    if last is not None and last.error is not None:
        return False
    untold = last is not None and last.outputs is None
    return one_of_several(node.span.output) and (untold or _asked_unseen(root, last))


def _asked_unseen(root: Node, last: ModelCall | None) -> bool:
    """Did a step begin, after the last call that is seen, whose kit asks a model in each, with no model within?"""
    since = last.end if last is not None else 0
    return any(n.start >= since and asked_no_model(n) for n in (root, *root.below()))


def _asked_by_one_lost(root: Node, own: list[ModelCall]) -> bool:
    """Did none speak but those that tools called, in a loop whose kit runs no tool that its model did not ask for?"""
    return ends_after_tools(root.span.scope, root.span.name) and all(map(within_an_agent, own))


def _answered_since(root: Node, last: ModelCall) -> Node | None:
    """The agent that worked last, after all models that were seen to be asked, where what it asked one is lost."""
    since = (n for n in root.below() if n.start >= last.end and used_unseen(n))
    return max((n for n in since if all(a.kind != TOOL for a in n.ancestors())), key=_start_of, default=None)


def _start_of(node: Node) -> int:
    return node.start


def _beside(step: Node, last: ModelCall) -> bool:
    """Is this a step within the one in which a model was asked?"""
    around = list(last.node.ancestors())
    return step.parent is last.node.parent or any(n is step.parent and n.kind == CHAIN and n.parent for n in around)


def _of_one_called(call: ModelCall) -> bool:
    return of_a_call(call) or call.node.within(TOOL)


def _in_part(root: Node, own: list[ModelCall], last: ModelCall) -> bool:
    """Was this said by one of several side by side?"""
    return abreast(root, own, last) or _one_of(shared_out(root, own), last)


def _to_be_run(last: ModelCall) -> bool:
    """Did an agent of smolagents' write code that is to be run, and no answer?"""
    return acts_by_code(last.text) and solves(last)


def _gave(root: Node, text: str | None) -> bool:
    """Is this what a tool gave, or does it begin with that? A step puts out what it saw (smolagents under OpenLIT)."""
    given = (n.span.result for n in root.below() if n.kind == TOOL and n.span.result and not is_answer(n.span.tool))
    return bool(text) and any(str(text).startswith(told) for told in given)


def _ends_as_a_member(team: Node, last: ModelCall | None) -> bool:
    """Did a team put out, word for word, what a member did whose words a tool streamed to it, or since which its own
    model asked for more?"""
    if not ends_as_members(team.span.scope):
        return False
    said = [n for n in team.below() if n.kind == AGENT and n.span.output == team.span.output]
    if last is not None and last.requests and any(n.end <= last.start for n in said):
        return True
    return any(_STREAMED in (a.span.result or "")[: _NAME * 4] for n in said for a in n.ancestors() if a.kind == TOOL)


_STREAMED = '"event":"Run'


def _failed_after(root: Node, step: Node) -> bool:
    """Did a run fail, and in a step of its own that came after this one (a flow of CrewAI's), or that holds it?"""
    if failure(root) is None:
        return False
    own = next((n for n in (step, *step.ancestors()) if n.parent is root), step)
    if own is not step and failure(own) is not None:
        return True
    return any(n.kind in (AGENT, CHAIN) and n.start >= own.end and failure(n) is not None for n in root.children)


def _leads_on(root: Node, text: str | None) -> bool:
    """Is this the name of a step of the run, or of an agent of its, by which a graph's edge says which comes next
    (LangGraph)?"""
    if not text or len(text) > _NAME or any(c.isspace() for c in text):
        return False
    of, dot, _ = text.partition(".")
    kin = of + dot if of and dot else None  # another step of the same middleware, where that one has not come
    steps = {n.span.name for n in root.below() if n.kind == CHAIN}
    known = text in steps or (kin is not None and any(name.startswith(kin) for name in steps))
    return known or any(n.own_agent == text for n in root.below())


_NAME = 64  # letters of a step's, at the most


def _first_over(above: Node, over: int) -> int:
    """When the first of the tools ended for which a model was asked; 0: none. Who works on then (Claude Code's agents)
    answers nobody."""
    return min(above.end, over or above.end) if above.kind == TOOL and above.end > 0 else over


_UNDONE = ("suspended", "failed", "canceled", "tripwire")


def _not_waited_for(last: ModelCall) -> bool:
    """Did its agent, of OpenAI's kit, end before a model had answered? A guard that runs beside it stopped that."""
    agent = next((n for n in last.node.ancestors() if n.kind == AGENT), None)
    return agent is not None and waits_for_models(last.node.span.scope) and 0 < agent.end < last.end


def _frames(root: Node) -> list[Node]:
    """The root, and below one that tells no answer what alone it is around: what that put out the run put out, whatever
    a model said last (a middleware may have changed it)."""
    found = frames(root)
    if (work := work_of(root)).kind in (AGENT, CHAIN) and work is not root:
        found.append(work)
    while found[-1].kind == AGENT and found[-1].span.output is None and len(found) < _FRAMES:
        held = [n for n in found[-1].children if n.kind != OTHER]
        if len(held) != 1 or held[0].kind != CHAIN or held[0].agent != root.agent:
            break
        found.append(held[0])
    return found


_FRAMES = 4  # around a run's steps, at the most


def awaits_another(calls: list[ModelCall]) -> bool:
    """Of calls that stand in traces of their own, does one still wait for somebody whom it asked? No later one shows
    that; what was said last is that other one's answer, then."""
    shown = set[str]()
    for call in reversed(calls):
        if call.node.parent is not None or call.node.orphan or call.inputs is None or call.truncated_input:
            return False
        asked = {_known_by(r) for r in call.requests if r.name and (delegates(r.name) or asks(r.name))}
        if call is not calls[-1] and asked and None not in asked and asked.isdisjoint(shown):
            return True
        shown.update(_shown(call))
    return False


def left_asking(root: Node, calls: list[ModelCall]) -> bool:
    """Did what frames these calls never come, and does one of them wait for a tool that it asked for, when the last of
    them was made elsewhere, and neither a history since nor a span below shows what came? A run that ended in the work
    of a delegate looks so."""
    if not root.orphan or len(calls) < 2 or all(root is c.node or root in c.node.ancestors() for c in calls):
        return False
    shown = set(filter(None, (_known_by(_asked(n)) for n in root.below() if n.kind == TOOL)))
    for call in reversed(calls):
        if call.inputs is None or call.truncated_input or call.unordered:
            return False
        asked = {_known_by(r) for r in call.requests}
        beside = call.node.span.parent_span_id != calls[-1].node.span.parent_span_id
        if beside and asked and None not in asked and asked.isdisjoint(shown):
            return True
        shown.update(_shown(call))
    return False


def _shown(call: ModelCall) -> Iterator[str]:
    """What the history of a call shows of calls of tools and of what came of them."""
    for x in call.inputs or ():
        told: tuple[Request | Result, ...] = (*x.requests, *x.results)
        yield from filter(None, map(_known_by, told))


def _asked(tool: Node) -> Request:
    """What a tool's span was asked for."""
    return Request(tool.span.call_id, tool.span.tool or "", tool.span.arguments)


def _one_of(agents: list[Node], call: ModelCall) -> bool:
    return bool(agents) and any(n in agents for n in call.node.ancestors())


def _known_by(told: Request | Result) -> str | None:
    """The id by which a history shows this again; of a request without one, its name and what it was given."""
    if told.id:
        return short_id(told.id, told.name)
    if isinstance(told, Result) or not told.name:
        return None
    return to_json([told.name, arguments_of(told.arguments)[0]])


def _raised(root: Node, last: ModelCall | None) -> bool:
    """Did the run's frame, or who was in charge, fail by itself after its model had answered? What was said last did
    not do as an answer. Where the frame has not come, the step tells it that holds the answer."""
    if root.orphan and last is not None and last.error is None:
        step = last.layers[-1].parent
        if step is not None and step.kind == CHAIN and failure(step) is not None:
            return True
    return root.kind != LLM and (failure(root) is not None or broke_off(root))


def _worked_over(root: Node, last: ModelCall) -> bool:
    """Did a step of a workflow of Microsoft's Agent Framework, which is no agent's, come after what was said last? What
    it put out is not told."""
    if not works_over(root.span.scope) or root.kind != CHAIN:
        return False
    after = (n for n in root.children if n.start >= last.end and n.span.name.startswith(_EXECUTOR))
    return any(n.span.to_agent is None and n.span.name not in _PASSING for n in after)


_EXECUTOR = "executor.process "
_PASSING = (f"{_EXECUTOR}end", f"{_EXECUTOR}aggregator")
"""The framework's own, that put out what the agents said."""


def _failed_agent(node: Node) -> bool:
    """Is this an agent that failed? What it put out may be the error's text, if no model is seen to have said it."""
    return node.kind == AGENT and node.span.status_code == 2


def _put_out_what_it_threw(node: Node) -> bool:
    """Is what a step that failed put out the text of what was thrown, with its causes below it or without (BeeAI)?"""
    out = node.span.output if node.span.status_code == 2 else None
    return out is not None and any(t and (out.endswith(t) or f"{t}\n" in out) for _, t in exceptions(node))


def agent_said(node: Node) -> list[tuple[str | None, str | None]]:
    """What an agent put out and why it ended, as events of its span tell."""
    out = list[tuple[str | None, str | None]]()
    for event in node.side.events.get(node.span.row, ()) if node.kind == AGENT else ():
        name, told = event
        if name != "gen_ai.choice":
            continue
        said, raw, reason = event_outputs([event]), told.get("message"), told.get("finish_reason")
        text = next((x.text for x in said if x.text and not x.requests), None)
        if not said and isinstance(raw, str):
            text = raw  # an object that is the answer
        out.append((text, reason if isinstance(reason, str) else None))
    return out


def told_as_object(node: Node) -> bool:
    """Did this put out something that only its repr tells of, or an object of its own that has no message?"""
    text = assistant_text(node.span.output, None)
    if text is not None:
        return object_repr(text)
    value = parse_json(node.span.output) if (node.span.output or "")[:1] == "{" else None
    return isinstance(value, dict) and bool(value) and "messages" not in value and not messages_of(value, "assistant")
