"""Requests that no model is seen to have made: who asked for them has not come."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import accumulate, takewhile

from otelcov.dialects.base import AGENT, LLM
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message, Request
from otelcov.runs.content.jsontext import to_json
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import asks, final
from otelcov.runs.rules.habits import stops_to_ask
from otelcov.runs.rules.handovers import transfers
from otelcov.runs.trace.tree import Node, spelling
from otelcov.runs.whole.evidence import Evidence, once, worker


def asked_by_nobody(run: Evidence) -> list[Request]:
    """What models were shown that one had asked for, after what its user said last, in answers of which no request is
    seen to have been made, by id or by what it is for, though each that answered tells what it asked for. The span of
    who asked was lost, but where the run began with that answer, or its kit makes it up to hand back (LangGraph's
    supervisor)."""
    root, calls = run.root, run.calls
    if root.orphan or any(_may_ask_unseen(c) for c in calls):
        return []
    if any(asks(c.finish) and not c.requests for c in calls):
        return []  # whose requests are told in part, or not at all
    ids = {r.id for c in calls for r in c.requests if r.id}
    newest: dict[int, ModelCall] = {}  # of each agent, each time it is called
    for call in reversed(calls):
        key = id(worker(call) or call.node.parent)
        if key not in newest and not _alone(call) and call.inputs:
            newest[key] = call
    last = [*newest.values(), *(talk[-1] for talk in _talks(run))]

    @cache
    def wanted() -> set[tuple[str, str]]:
        return {_wants(r) for c in calls for r in c.requests}

    unmade = [_not_made(_asking_since(c.inputs or [], len(c.inputs or [])), ids, wanted) for c in last]
    unmade += [_not_made(answers, ids, wanted) for answers in _put_out_unseen(run.nodes, ids)]
    if not any(unmade):
        return []
    # What a call that stands alone was shown is its own, not what a run began with.
    begun = "" if root.kind == LLM else f"{root.span.input} {root.input_messages}"
    if any(id in begun for id in ids):
        begun = ""  # LiteLLM lays what it sends on what is around it
    answers = (requests for some in unmade for requests in some)
    return [r for x in answers if not any(_hands_back(r) or (r.id and r.id in begun) for r in x) for r in x]


def handed_on(text: str | None, unmade: list[Request]) -> bool:
    """Are these words what such a request gives to whom it calls? Then they are no words of the user's."""
    given = (r.arguments.values() for r in unmade if isinstance(r.arguments, dict)) if text else ()
    return any(value == text for values in given for value in values)


def broke_off(run: Evidence) -> bool:
    """Did a conversation of calls in traces of their own end on a request of tools, while one that had begun before
    went on? The answer to what came of them was asked for, and its trace is lost."""
    talks = sorted(_talks(run), key=lambda talk: talk[0].start)
    begun = [talk[0].start for talk in talks]
    went_on = list(accumulate((talk[-1].start for talk in talks), max))
    waiting = (call.start for call in _waiting(talks))
    return any((at := bisect_left(begun, start)) > 0 and went_on[at - 1] > start for start in waiting)


def left_waiting(run: Evidence, handing: bool = False) -> bool:
    """Did a conversation of calls in traces of their own end on a request of tools, and another, of whoever did that
    work, end the run? Who hands over needs no answer, and counts only if asked for (`handing`)."""
    talks = _talks(run)
    last = max((talk[-1].start for talk in talks), default=0)
    return any(call.start < last for call in _waiting(talks, handing))


def _waiting(talks: list[list[ModelCall]], handing: bool = False) -> Iterator[ModelCall]:
    """The calls that end one of several on a request, those that hand over among them or not."""
    for talk in talks if len(talks) > 1 else ():
        if talk[-1].requests and (handing or not any(transfers(r.name) for r in talk[-1].requests)):
            yield talk[-1]


@once
def _talks(run: Evidence) -> list[list[ModelCall]]:
    """The conversations of calls in traces of their own: alike in how what they were shown begins, anew where no more
    of it is shown than before."""
    talks: list[list[ModelCall]] = []
    going: dict[tuple[tuple[str, str | None], ...], list[ModelCall]] = {}
    for call in run.calls:
        shown = _alone(call) and call.inputs
        if not shown:
            continue
        before = takewhile(lambda m: m.role not in ("assistant", "tool"), shown)
        began = tuple(dict.fromkeys((m.role, m.text) for m in before))  # some tell it again, right behind (OpenLIT)
        talk = going.get(began)
        if talk is None or len(shown) <= len(talk[-1].inputs or []):
            talk = going[began] = []
            talks.append(talk)
        talk.append(call)
    return talks


def _alone(call: ModelCall) -> bool:
    """Is a call in a trace of its own?"""
    outermost = call.layers[-1]
    return outermost.parent is None and not outermost.orphan


def _put_out_unseen(nodes: Iterable[Node], ids: set[str]) -> Iterator[list[list[Request]]]:
    """The answers of which agents put out all that was said and done, where some bear ids of calls that are seen, and
    others none of these."""
    for agent in nodes:
        told = agent.span.output_messages if agent.kind == AGENT and ids else None
        if not told or "tool_call" not in told:
            continue
        known = [m in ids for m in _IDS.findall(told)]
        if any(known) and not all(known):
            yield _asking_since(messages_of(told), 0)


_IDS = late(r'"id": ?"([^"\\]+)"')


def _not_made(
    answers: list[list[Request]], ids: set[str], wanted: Callable[[], set[tuple[str, str]]]
) -> list[list[Request]]:
    """Those answers whose requests are none of the calls', which have these ids and are for what is `wanted`. Where no
    id is told alike by both, what they asked for tells."""
    unknown = [requests for requests in answers if not any(r.id in ids for r in requests)]
    if unknown and (len(unknown) == len(answers) or not all(r.id for x in unknown for r in x)):
        unknown = [requests for requests in unknown if not any(_wants(r) in wanted() for r in requests)]
    return unknown


def _may_ask_unseen(call: ModelCall) -> bool:
    """May this have asked for tools, in an answer that is not told, and does not say either that it asked for none?"""
    if call.outputs is not None or call.error is not None:
        return False
    return not final(call.finish) or call.google or any(stops_to_ask(n.span.scope) for n in call.layers)


def _wants(request: Request) -> tuple[str, str]:
    """What a request is for, by whatever id: some layers name calls by others."""
    return spelling(request.name or ""), given(request.arguments)


def given(arguments: object) -> str:
    told, text = arguments_of(arguments)
    return to_json(told) if text is None else text


def _hands_back(request: Request) -> bool:
    found = transfers(request.name)
    return found is not None and found.group("back") is not None


def _asking_since(inputs: list[Message], begun: int) -> list[list[Request]]:
    """The requests of each answer that a model was shown, or an agent put out, since its user's last words, or from
    where it begins. What stands one after another is one answer (OpenAI's Responses tell each request alone)."""
    at = next((n for n in range(len(inputs) - 1, -1, -1) if inputs[n].role == "user"), begun)
    answers: list[list[Request]] = [[]]
    for told in inputs[at:]:
        if told.role == "assistant":
            answers[-1].extend(told.requests)
        elif answers[-1]:
            answers.append([])
    return [requests for requests in answers if requests]
