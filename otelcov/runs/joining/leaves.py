"""Model calls and tools that each stand in a trace of their own, and share no id: joined by their conversation.

A conversation tells its turns apart: an answer that asks for tools is no end, and an input that ends with results is no
beginning. So what comes next in a conversation goes on with the call that waits for its tools, and a tool ran for the
call that asked for it, and until another call was made. Where texts can be seen they must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from otelcov.dialects.base import TOOL
from otelcov.runs.content.chat import Message, Request
from otelcov.runs.content.prose import react_request
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.handed_on import goes_on_for, gone
from otelcov.runs.joining.lone_tools import Fitting, ran_for, unite_by_requests, unite_by_results
from otelcov.runs.joining.prints import print_of
from otelcov.runs.llm.left_out import items_left_out
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import asks, final
from otelcov.runs.tools.items import by_items, results_alone
from otelcov.runs.trace.tree import same_name

_JITTER_NS = 1_000_000
_SOON_NS = 5_000_000_000  # after an answer, how long what it asked for may take to begin
_PATIENCE_NS = 600_000_000_000  # how long tools may take whose call is known by nothing else
_AT_ONCE = 64  # calls of a service that may wait for tools


def unite_leaves(
    loose: list[Fragment],
    followers: dict[int, Fragment],
    joined: dict[int, Fragment],
    unite: Callable[[Fragment, Fragment], None],
    one_run: Callable[[list[Fragment]], bool],
) -> list[Fitting]:
    """`loose` by start; `followers` of each call are known where ids told, and so are the tools that are `joined`.
    Gives the tools for which several calls may have asked, and these."""
    waiting: dict[str | None, list[_Open]] = {}
    before = {id(p): q for q in loose if (p := followers.get(id(q))) is not None}
    ran: set[int] = set()  # calls for which tools ran
    undecided: list[Fitting] = []
    for p in loose:
        conversation = p.root.span.conversation
        told = conversation is not None
        open_ = waiting.setdefault(conversation, [])
        if p.root.kind == TOOL and not p.calls:
            some = [x.asker for x in open_] if told and id(p) not in joined else []
            fitting = [q for q in some if ran_for(p, q)]
            if len(fitting) == 1:
                unite(fitting[0], p)
                ran.add(id(fitting[0]))
            elif fitting:
                undecided.append((p, fitting))
            continue
        if not p.calls:
            continue
        q = before.get(id(p))
        if q is None:
            shown, bare = p.calls[0].inputs is not None, items_left_out(p.calls[0])
            wordless, kept = told and _wordless(p.calls[0]), bool(results_alone(p.calls[0].inputs or ()))
            some = [
                x.asker
                for x in open_
                if (x.hidden or wordless if shown else told) or (bare and x.bare) or (kept and x.items)
            ]
            fitting = [q for q in some if id(q) not in followers and _goes_on(q, p, id(q) in ran)]
            fitting = [q for q in fitting if _one_agent(q, p)] or fitting
            if len(fitting) == 1:
                unite(fitting[0], p)
                asked = fitting[0].calls[-1]
                if _one_agent(fitting[0], p) or gone(asked) or goes_on_for(p.calls[0], asked) is not None:
                    q = fitting[0]  # else one agent called another, and waits
                    followers[id(q)] = p
                    _tell_answer(q.calls[-1], p.calls[0])
            elif fitting and told and one_run(fitting):
                unite(fitting[-1], p)
        open_ = [x for x in open_ if x.asker is not q and not (told and x.hidden and _over(x.asker, p))][-_AT_ONCE:]
        waiting[conversation] = open_
        last = p.calls[-1]
        bare = items_left_out(last)
        done = (not _untold(last) and (last.text or not bare)) or final(last.finish)
        if last.error is None and (last.requests or asks(last.finish) or not done):
            open_.append(_Open(p, _untold(last), bare, by_items(last.requests)))
    alone = [p for p in loose if p.root.kind == TOOL and id(p) not in joined]
    ran_by_id = ((q, p) for p in loose if p.tools and (q := joined.get(id(p))) is not None)
    undecided += unite_by_requests(alone, loose, followers, ran_by_id, unite)
    unite_by_results(alone, loose, followers, unite)
    return undecided


class _Open(NamedTuple):
    """A call that may go on, and what of it is not told: its answer, what its input holds beside the user's words, the
    ids of the calls that it asked for."""

    asker: Fragment
    hidden: bool
    bare: bool
    items: bool


def tail(call: ModelCall) -> tuple[list[str], list[Message]] | None:
    """Ids of the results that this call's input ends with, then those of the requests they are for, or None where it
    ends with a new user message."""
    inputs = call.inputs
    if not inputs:
        return None
    if _observed(inputs):
        return [], [*inputs[:-2], acted(inputs[-2].text)]
    if _observed_within(inputs[-1]):
        return [], [*inputs[:-1], acted(inputs[-1].text)]
    if call.unordered:
        brought = [r.id for x in inputs for r in x.results if r.id]
        return (brought, []) if brought else None
    last = next(
        (i for i in range(len(inputs) - 1, -1, -1) if inputs[i].role == "assistant" and inputs[i].requests), None
    )
    asked = [] if last is None else [r.id for r in inputs[last].requests if r.id]
    if last is None:  # what was asked for is left out of history (OpenLIT): the results at the end still say
        last = next((i for i in range(len(inputs) - 1, -1, -1) if not inputs[i].results), -1)
    after = inputs[last + 1 :]
    if not after and inputs[-1].requests:
        return asked, inputs  # what came back is left out
    if not after or any(x.role in ("user", "assistant") and not x.results for x in after):
        return None
    return [r.id for x in after for r in x.results if r.id] + asked, inputs[: last + 1]


def _observed(inputs: list[Message]) -> bool:
    """Does this end with what came of a tool, told as words of the user (ReAct)?"""
    if len(inputs) < 2 or inputs[-1].role != "user" or inputs[-2].role != "assistant":
        return False
    return (inputs[-1].text or "").lstrip().startswith("Observation:") and react_request(inputs[-2].text) is not None


def _observed_within(last: Message) -> bool:
    """Does an answer tell what came of the tool that it asked for, since its own loop wrote that after it (CrewAI)?"""
    told = (last.text or "").rpartition("\nAction Input:")[2] if last.role == "assistant" else ""
    return "\nObservation:" in told and react_request(last.text) is not None


def acted(text: str | None) -> Message:
    """An answer that asks for a tool by its text, by that alone: history tells it in words of its own (LlamaIndex)."""
    asked = react_request(text)
    return Message("assistant", requests=[] if asked is None else [Request(None, asked.name)])


def _goes_on(before: Fragment, p: Fragment, ran: bool) -> bool:
    """Is this the next call of a conversation whose call before cannot be told by ids? `ran`: tools did in between."""
    asked, call = before.calls[-1], p.calls[0]
    if before.root.span.service != p.root.span.service or before.end > p.start + _JITTER_NS:
        return False
    if items_left_out(asked) and items_left_out(call):
        open_ = asked.requests or not asked.text
        return bool(open_ and call.inputs) and print_of(asked.inputs or []) == print_of(call.inputs or [])
    if by_items(asked.requests):
        return _kept(asked, call) and p.start <= before.end + _PATIENCE_NS
    if call.inputs is None:
        return p.root.span.conversation is not None and (ran or asks(asked.finish) or bool(asked.requests))
    if p.root.span.conversation is not None and _wordless(call):
        return _untold(asked) or _answers(call, asked)
    return _untold(asked) and tail(call) is not None and (_repeats(call, asked) or goes_on_for(call, asked) is not None)


def _wordless(call: ModelCall) -> bool:
    """Does a call's input hold what came of tools, and no word of a user's? So no run begins."""
    inputs = call.inputs or ()
    return any(x.results for x in inputs) and not any(x.role == "user" and x.text for x in inputs)


def _answers(call: ModelCall, asked: ModelCall) -> bool:
    """May what came of tools be of those that this answer asked for?"""
    came = [r for x in call.inputs or () for r in x.results]
    ids = {r.id for r in asked.requests}
    if None not in ids and ids.isdisjoint(r.id for r in came) and all(r.id for r in came):
        return False
    names = [r.name for r in came if r.name is not None]
    return bool(ids) and all(any(same_name(name, x.name) for x in asked.requests) for name in names[-1:])


def _kept(asked: ModelCall, call: ModelCall) -> bool:
    """Does this bring as much as that asked for, in a conversation that the provider keeps? Ids do not tell."""
    orders = [[x.text for x in one.inputs or () if x.role == "system"] for one in (asked, call)]
    same = orders[0] == orders[1] and asked.request_model == call.request_model
    return same and len(results_alone(call.inputs or ())) == len(asked.requests)


def _over(before: Fragment, p: Fragment) -> bool:
    """Is the conversation beyond what that call asked for, if it asked for anything, once this one is made?"""
    asked, call = before.calls[-1], p.calls[0]
    if asked.outputs is not None or before.end > p.start + _JITTER_NS:
        return False
    same = (
        before.root.span.service == p.root.span.service
        and _one_agent(before, p)
        and p.root.span.conversation is not None
    )
    return same and (call.inputs is None or _repeats(call, asked))


def _untold(call: ModelCall) -> bool:
    """Is nothing told of what a model answered? Who answered may be told of an answer that was calls alone (Traceloop,
    of Ollama)."""
    return not any(o.text or o.requests or o.unreadable for o in call.outputs or ())


def _tell_answer(asked: ModelCall, call: ModelCall) -> None:
    """What a model answered is what the next call's history goes on with."""
    known, told = asked.inputs or [], call.inputs or []
    if _untold(asked) and (handed := goes_on_for(call, asked)) is not None:
        asked.was(handed)
        return
    answer = told[len(known)] if known and len(told) > len(known) and _untold(asked) else None
    if answer is not None and answer.role == "assistant" and answer.requests and _repeats(call, asked):
        asked.was(answer)


def _one_agent(one: Fragment, two: Fragment) -> bool:
    return one.root.agent is None or two.root.agent is None or one.root.agent == two.root.agent


def _repeats(call: ModelCall, before: ModelCall) -> bool:
    """Does the input of a call begin with that of one before, and say more?"""
    known, told = before.inputs, call.inputs
    if not known or told is None or len(told) <= len(known) or not any(x.text for x in known):
        return False
    return all(
        x.role == y.role and (x.text or "") == (y.text or "") and print_of([x]) == print_of([y])
        for x, y in zip(known, told, strict=False)
    )
