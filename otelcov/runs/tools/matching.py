"""Which call each result is of that a model's input brings: by id, else by the request before it, else by order."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from itertools import chain, islice, pairwise
from typing import Any

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message, Request, Result
from otelcov.runs.content.jsontext import Value, to_json
from otelcov.runs.content.prose import react_request
from otelcov.runs.content.wrapped import arguments_of, result_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.alike import Alike, brings, came_to, instructions
from otelcov.runs.tools.call import ToolCall, awaits_flag, awaits_result
from otelcov.runs.tools.dealing import Shown, Told, dealt
from otelcov.runs.tools.executions import span_fact
from otelcov.runs.tools.items import ids_of_items
from otelcov.runs.tools.reused import results, reused
from otelcov.runs.trace.tree import same_name, spelling

_Settle = Callable[[ToolCall, Result], None]


class Calls:
    """The tool calls of a run as its inputs look for them, of which each may be looked for by thousands. Calls that are
    added to `every` later are found, too."""

    def __init__(self, every: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
        self.every, self.by_id = every, by_id
        self._seen = 0
        self._alike: dict[Any, Alike] = {}
        self._named: tuple[int, dict[Any, Alike]] = 0, {}
        self._shared: dict[tuple[str, Any], tuple[int, list[ToolCall]]] = {}
        self._in_words: tuple[int, dict[Any, list[ToolCall]]] = 0, {}

    def alike(self, whose: Value, name: str | None, given: Value) -> Alike | None:
        """Those of an agent, or of `ANYONES`, that asked for the same."""
        for c in self.every[self._seen :]:
            asked = _asked(c.name, _given(c.arguments))
            for agent in (c.agent, ANYONES):
                self._alike.setdefault((agent, asked), Alike()).calls.append(c)
        self._seen = len(self.every)
        return self._alike.get((whose, _asked(name, given)))

    def named(self, whose: Value, name: str | None) -> Alike | None:
        """Those of an agent, or of `ANYONES`, that asked for a tool, whatever for."""
        count, found = self._named
        for c in self.every[count:]:
            for agent in (c.agent, ANYONES) if c.name is not None else ():
                found.setdefault((agent, spelling(c.name)), Alike()).calls.append(c)
        self._named = len(self.every), found
        return found.get((whose, spelling(name))) if name is not None else None

    def sharing(self, call_id: str, whose: Value, turn: int) -> list[ToolCall]:
        """Those of an agent, or of `ANYONES`, that bear an id and were asked for before this turn, the oldest first."""
        every = self.by_id[call_id]
        count, found = self._shared.get((call_id, whose), (0, []))
        for c in every[count:]:
            if c.turn is not None and whose in (ANYONES, c.agent):
                insort(found, c, key=_by_turn)
        self._shared[call_id, whose] = len(every), found
        return found[: bisect_left(found, (turn, -1), key=_by_turn)]

    def in_words(self, whose: Value, turn: int, most: int) -> list[ToolCall]:
        """Those of an agent, or of `ANYONES`, asked for in words alone before this turn, that wait for a result:
        the newest, the oldest of them first."""
        count, found = self._in_words
        for c in self.every[count:]:
            if c.turn is not None and c.asked_by is not None and c.asked_by.text_react:
                for agent in (c.agent, ANYONES):
                    insort(found.setdefault(agent, []), c, key=_by_turn)
        self._in_words = len(self.every), found
        some = found.get(whose, [])
        while some and not awaits_result(some[-1]):
            some.pop()
        before = islice(reversed(some), len(some) - bisect_left(some, (turn, -1), key=_by_turn), None)
        return list(islice(filter(awaits_result, before), most))[::-1]


ANYONES = 0


def _by_turn(call: ToolCall) -> tuple[int, int]:
    return call.turn or 0, call.position


def _asked(name: str | None, given: Value) -> Any:
    return None if name is None else spelling(name), _frozen(given)


def _frozen(value: Value, depth: int = 0) -> Any:
    """A JSON value that is equal to another's where the values are, and can be looked up."""
    if depth > _DEEPEST and isinstance(value, (dict, list)):
        return to_json(value)
    if isinstance(value, dict):
        return frozenset((key, _frozen(inner, depth + 1)) for key, inner in value.items())
    return tuple(_frozen(inner, depth + 1) for inner in value) if isinstance(value, list) else value


_DEEPEST = 12


def match_results(
    mc: ModelCall, inputs: list[Message], calls: Calls, anyones: bool = False, unheard: bool = False
) -> None:
    """Results to the calls that wait for them, of the agent or of anyone: by id; else in the order of the requests that
    this input shows; else, where it shows none, the newest to the newest, those left out whose results a span told.
    `unheard`: what is left of a history may be of answers that are not told, so that ids alone tell whose it is."""
    witness = "event" if mc.node.side.events.get(mc.node.span.row) else "message"

    def earlier(call: ToolCall) -> bool:
        return call.turn is not None and call.turn < mc.turn and (anyones or call.agent == mc.agent)

    def settle(call: ToolCall, result: Result) -> None:
        call.answer, call.result_of = result, mc
        call.evidence.add(witness)

    by_id, whose = calls.by_id, ANYONES if anyones else mc.agent
    meant = _ids_by_place(inputs) or ids_of_items(inputs, (c for c in reversed(calls.every) if earlier(c)))
    again = reused(inputs, by_id)
    for shared in sorted(again):
        for call, result in results(inputs, shared, calls.sharing(shared, whose, mc.turn)):
            if awaits_result(call):
                settle(call, result)
    told = Told(mc.gappy)
    for at, message in enumerate(inputs):
        if message.role == "assistant":
            told.ask(message.requests, at, at > 0 and inputs[at - 1].role == "assistant")
        for result in message.results:
            if result.id in again:
                continue
            call_id = meant.get(id(result), result.id)
            if call_id not in by_id and result.id in by_id:
                call_id = result.id  # history tells items, the answer told calls
            if call_id and call_id in by_id:
                told.answered(call_id)
                _by_call_id(call_id, result, mc, by_id, earlier, settle)
            else:
                told.bring(result, call_id)
    told.deal()
    shown, single = told.shown, told.single
    for s in shown:
        if s.result is not None and s.request.id in by_id:
            _by_call_id(s.request.id or "", s.result, mc, by_id, earlier, settle)
    if unheard:
        return
    if any(s.result is not None for s in shown):
        strange = [s for s in shown if s.request.id not in by_id]
        _match_shown(inputs, strange, mc.turn, whose, calls, settle, made_up=len(strange) == len(shown))
    elif single:
        here = _questions(inputs)
        asked_here = (c for c in reversed(calls.every) if earlier(c) and not _asked_elsewhere(c, here))
        newest = list(islice(asked_here, _AT_ONCE))
        given = _given_beside(newest)
        left = (
            [r for r in single if not (isinstance(r.content, str) and r.content.endswith(given))] if given else single
        )
        _match_newest(left, newest, asked_here, settle, inputs[-1].partial)
    if any(x.text and _OBSERVED in x.text for x in inputs):
        _match_observed(inputs, mc.turn, whose, calls, settle)


_OBSERVED = "Observation"
"""What stands before a result in a prompt of text (ReAct)."""


def _match_shown(
    inputs: list[Message],
    shown: list[Shown],
    turn: int,
    whose: Value,
    calls: Calls,
    settle: _Settle,
    made_up: bool = False,
) -> None:
    """Results to the calls that asked for the same as the requests before them. Of more calls alike than a history
    shows, it is those that were asked what it shows before them; else the newest, for that is how a history ends.
    `made_up`: no id in it is one that an answer told, so a request of another id may be the same (magentic), if it
    stands where that answer does."""
    head = instructions(inputs)
    bare = all(s.request.arguments is None for s in shown)  # this history tells of no call what it was given
    alike: dict[Any, list[Shown]] = {}
    for s in shown:
        alike.setdefault(_asked(s.request.name, _given(s.request.arguments)), []).append(s)
    for some in alike.values():
        request = some[0].request
        if bare:
            known = calls.named(whose, request.name)
        else:
            known = calls.alike(whose, request.name, _given(request.arguments))
        if known is None:
            continue
        open_ = list(islice(known.waiting(turn), len(some) + 1))
        found: list[tuple[Shown, ToolCall]] = []
        if open_ and len(open_) != len(some):
            here: dict[tuple[Value, ...], list[Shown]] = {}
            for s in some:
                here.setdefault(came_to(inputs, head, s.place) if head < s.place else (), []).append(s)
            taken, some = set[int](), []
            for said, beside in here.items():
                for s in known.left_by_spans(said, beside, turn):
                    if (call := known.after(said, turn, taken)) is not None:
                        taken.add(id(call))
                        found.append((s, call))
                    else:
                        some.append(s)
            open_ = [c for c in known.waiting(turn) if id(c) not in taken] if some else []
        found += reversed(list(zip(reversed(some), reversed(open_), strict=False)))
        for s, call in found:
            same = not (s.request.id and call.call_id) or (made_up and _in_its_place(s, call))
            if s.result is not None and same:
                call.call_id = call.call_id or s.request.id or s.result.id
                settle(call, s.result)


def _in_its_place(shown: Shown, call: ToolCall) -> bool:
    """Does a history show a request right after all that was said before the answer that holds this one?"""
    asked = call.asked_by.inputs if call.asked_by is not None else None
    return asked is not None and shown.place == len(asked)


def _questions(inputs: list[Message] | None) -> set[str]:
    return {x.text for x in inputs or () if x.role == "user" and x.text}


def _asked_elsewhere(call: ToolCall, here: set[str]) -> bool:
    """Was this asked for in another conversation, where somebody else's words were told (an agent that a tool runs)?"""
    there = _questions(call.asked_by.inputs) if call.asked_by is not None and here else set()
    return bool(there) and there.isdisjoint(here)


def _asked_at_last(newest: list[ToolCall]) -> int:
    """How many calls the newest answer asked for."""
    return sum(c.asked_by is newest[0].asked_by for c in newest) if newest else 0


def _given_beside(newest: list[ToolCall]) -> tuple[str, ...]:
    """What spans tell that tools gave which an answer asked for beside others that did not run: a text that ends so is
    no result of those (smolagents, as long as it called the first alone)."""
    left = {id(c.asked_by) for c in newest if awaits_result(c) and not c.nodes}
    ran = (c for c in newest if c.nodes and id(c.asked_by) in left) if left else ()
    given = (result_of(told)[0] for c in ran if (told := span_fact(c.nodes, "result")) is not None)
    return tuple(f"\n{g}" for g in given if isinstance(g, str) and g)


def _match_newest(
    single: list[Result], newest: list[ToolCall], more: Iterable[ToolCall], settle: _Settle, partial: bool
) -> None:
    """Results to the newest calls, as this input shows no requests. What a span told of needs none, but had one. Of
    fewer than the newest answer asked for nobody can tell whose they are; where one message may stand for several
    (`partial`), it is the last."""
    done = _match_told(single, newest, settle) if len(newest) > 1 else set()
    lacking = _asked_at_last([c for c in newest if id(c) not in done])
    if len(single) < lacking and not (partial or any(r.name for r in single)):
        return
    for call in chain(newest, more):
        if not single:
            break
        waits = awaits_result(call)
        if id(call) in done or not (waits or call.nodes):
            continue
        back = range(len(single) - 1, -1, -1)
        k = next((k for k in back if single[k].name in (None, call.name) and not (single[k].id and call.call_id)), None)
        if k is not None:
            result = single.pop(k)
            if waits:
                call.call_id = call.call_id or result.id
                settle(call, result)


def _match_told(single: list[Result], newest: list[ToolCall], settle: _Settle) -> set[int]:
    """Results that are just what one span told, or bring what it threw: what began at once is in no order. The calls
    that have theirs."""
    done = set[int]()
    for call in newest:
        if not call.nodes or (not awaits_result(call) and span_fact(call.nodes, "result") is None):
            continue
        own = [k for k, r in enumerate(single) if r.name in (None, call.name) and brings(r, call.nodes)]
        if len(own) == 1:
            result = single.pop(own[0])
            done.add(id(call))
            if awaits_result(call):
                settle(call, result)
    return done


def _match_observed(inputs: list[Message], turn: int, whose: Value, calls: Calls, settle: _Settle) -> None:
    """The observations that follow actions in a prompt of text (ReAct): of calls asked for in the same words, the
    newest have what follows these words last."""
    inputs = _once(inputs)
    told = sum((x.text or "").count(_OBSERVED) for x in inputs)
    waiting = calls.in_words(whose, turn, max(2 * told, _AT_ONCE))
    alike: dict[str, list[ToolCall]] = {}
    for c in waiting:
        alike.setdefault(_words(c), []).append(c)
    for some in alike.values():
        for at, call in enumerate(some):
            observation = _observation(_words(call), inputs, len(some) - at)
            if observation is None:
                observation = _reworded(call, inputs, turn, whose, calls.every)
            if observation is not None:
                settle(call, Result(None, call.name, observation))


def _once(inputs: list[Message]) -> list[Message]:
    """Without what was said last, told once more with an order to answer at last (CrewAI)."""
    before, last = inputs[-2:] if len(inputs) > 1 else (None, None)
    if before is None or last is None or before.role != "assistant" or last.role != "assistant":
        return inputs
    again = bool(before.text) and (last.text or "").startswith((before.text or "") + "\n")
    return inputs[:-1] if again else inputs


_AT_ONCE = 64  # calls at the least that are looked for in a prompt


def _words(call: ToolCall) -> str:
    return ((call.asked_by.text if call.asked_by is not None else None) or "").strip()


def _given(arguments: Value) -> dict[str, Value] | None:
    """What a call was given; one that an answer tells without arguments, or history does, was given none."""
    return {} if arguments is None else arguments_of(arguments)[0]


def _ids_by_place(inputs: list[Message]) -> dict[int, str]:
    """The request's id by its result, where an answer's requests and their results have ids of different kinds (items
    and calls of OpenAI's Responses; numbers of parts, made up for Gemini): as many results as requests are in order."""
    out: dict[int, str] = {}
    requests: list[Request] = []
    results: list[Result] = []
    for message in [*inputs, Message("assistant")]:
        if message.role == "assistant":
            if results:
                asked = [r.id for r in requests if r.id]
                if len(asked) == len(requests) == len(results) and set(asked) != {r.id for r in results}:
                    pairs, _, _ = dealt([Request(None, r.name) for r in requests], results)
                    out.update((id(results[at]), asked[i]) for i, at in pairs)
                requests, results = [], []
            requests.extend(message.requests)
        results.extend(message.results)
    return out


def _by_call_id(
    call_id: str,
    result: Result,
    mc: ModelCall,
    by_id: dict[str, list[ToolCall]],
    earlier: Callable[[ToolCall], bool],
    settle: Callable[[ToolCall, Result], None],
) -> None:
    asked = by_id.get(call_id, ())
    hit = next((c for c in asked if earlier(c) and awaits_result(c)), None)
    if hit is not None:
        settle(hit, result)
    elif result.error is not None:  # the same answer told again, with its flag
        told = next((c for c in asked if c.answer is not None and c.result_of is mc and c.answer.error is None), None)
        if told is not None and told.answer is not None:
            told.answer.error = result.error
        elif told is None:  # its span tells what it gave, and not that it failed
            ran = next((c for c in asked if earlier(c) and awaits_flag(c)), None)
            if ran is not None:
                settle(ran, result)


def _observation(core: str, inputs: list[Message], place: int) -> str | None:
    """The text after a repetition of a call's own words, the `place`-th from the end."""
    skip = sum((x.text or "").count(core) for x in inputs) - place if core else -1
    if skip < 0:
        return None
    for k, message in enumerate(inputs):
        text = message.text or ""
        at = text.find(core)
        while at >= 0 and skip:
            skip -= 1
            at = text.find(core, at + len(core))
        if at < 0:
            continue
        tail = text[at + len(core) :]
        if not tail.strip() and k + 1 < len(inputs):
            tail = inputs[k + 1].text or ""
            if tail.lstrip().startswith(_OBSERVED):
                return re.sub(rf"^\s*{_OBSERVED}\s*:\s*", "", tail).strip()  # a message of its own
        hit = re.search(rf"{_OBSERVED}\s*:\s*", tail)
        if hit is not None:
            return _to_next_step(tail[hit.end() :])
    return None


def _to_next_step(text: str) -> str:
    """A result, without what the model wrote after it or is to go on from: a tool may write `Thought:`, too, so that
    says nothing where neither an action nor an answer follows it."""
    text = text.rstrip()
    if (open_ := re.search(r"(?:\n[ \t]*|^)Thought[ \t]*:$", text[-64:])) is not None:
        text = text[: len(text) - len(open_.group())]
    last = max((step.start() for step in _STEP.finditer(text)), default=-1)
    hit = re.search(r"\n[ \t]*(?:Thought|Action)[ \t]*:", text)
    return (text[: hit.start()] if hit is not None and hit.start() < last else text).strip()


_STEP = late(r"^[ \t]*(?:Action(?: Input)?|Final Answer|Answer|Observation)[ \t]*:", re.M)


def _reworded(call: ToolCall, inputs: list[Message], turn: int, whose: Value, every: list[ToolCall]) -> str | None:
    """The same where history tells what the model wrote in other words (LlamaIndex): after the answer in this place of
    those that ask for this tool, if history tells all of them."""
    answers = [
        (after.text or "").strip()
        for before, after in pairwise(inputs)
        if before.role == "assistant"
        and (request := react_request(before.text)) is not None
        and same_name(request.name, call.name)
    ]
    if not answers:
        return None
    before = [c for c in every if c.turn is not None and c.turn < turn and whose in (ANYONES, c.agent)]
    named = [c for c in before if same_name(c.name, call.name)]
    told = answers[named.index(call)] if len(answers) == len(named) else ""
    return told.removeprefix("Observation:").strip() if told.startswith("Observation:") else None
