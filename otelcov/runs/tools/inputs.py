"""What a model's later inputs tell of tool calls: requests whose answer could not be seen, and results."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import islice, pairwise, takewhile

from otelcov.runs.content.chat import Message, Request
from otelcov.runs.content.jsontext import Value
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.left_out import hides_requests
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.llm.told_answer import OF_ITEM
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.rules.softerrors import which_nobody_has
from otelcov.runs.tools.alike import came_to, instructions
from otelcov.runs.tools.call import ToolCall, awaits_result
from otelcov.runs.tools.histories import Histories, answers_at, conversations
from otelcov.runs.tools.matching import Calls, match_results
from otelcov.runs.trace.tree import same_name


def read_inputs(model_calls: list[ModelCall], calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """Results and requests that later inputs show. History is cumulative: the last input of a thread holds it all, so
    earlier inputs are read only while something is still open (a history cut short, summarised, or started anew)."""
    threads: dict[str | None, list[ModelCall]] = {}
    for mc in model_calls:
        threads.setdefault(mc.agent, []).append(mc)
    asked: dict[str | None, list[ToolCall]] = {}
    for c in calls:
        asked.setdefault(c.agent, []).append(c)
    talks = {agent: conversations(thread) for agent, thread in threads.items()}
    several = len(threads) > 1
    histories = Histories(model_calls, [talk for some in talks.values() for talk in some]) if several else None
    known = Calls(calls, by_id)
    told = _Told(calls)
    lacking = any(c.arguments in _EMPTY for c in calls)
    for agent in threads:
        own = asked.get(agent, [])
        still = _Open(own)
        for talk in reversed(talks[agent]):
            blind = [mc for mc in talk if hides_requests(mc)]
            unheard = bool(blind)
            if blind:
                _nobodys(talk, calls, by_id)
            for i in range(len(talk) - 1, -1, -1):
                mc = talk[i]
                waiting = still.before(mc.turn)
                if not waiting and not blind and (i != len(talk) - 1 or not own):
                    break
                inputs = mc.inputs
                if inputs is None:
                    continue
                count = len(calls)
                if not mc.gappy:
                    if not blind:
                        _unseen_siblings(inputs, calls, by_id)
                    _unnamed_siblings(mc, told, by_id)
                    if blind:
                        _unseen_requests(inputs, talk, i, calls, by_id, histories)
                    lacking = lacking or any(c.arguments in _EMPTY for c in calls[count:])
                    if lacking:
                        _given_later(inputs, by_id)
                match_results(mc, inputs, known, unheard=unheard and mc.gappy)
                still.add(calls[count:])
                if blind and i > 0 and not mc.truncated_input:
                    blind = []
    # A worker that took over sees what its predecessor asked for.
    if several and any(awaits_result(c) for c in calls):
        for thread in threads.values():
            inputs = thread[0].inputs
            if inputs:
                match_results(thread[0], inputs, known, anyones=True)


def read_flags(model_calls: list[ModelCall], calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """Whether calls that only spans tell of failed, by the inputs that have such a flag."""
    for c in calls:
        if c.call_id and c.asked_by is None:
            by_id.setdefault(c.call_id, []).append(c)
    known = Calls(calls, by_id)
    for mc in reversed(model_calls):
        if mc.inputs is not None and any(n.span.flagged for n in mc.layers):
            match_results(mc, mc.inputs, known)


def unseen_siblings(model_calls: list[ModelCall], calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """Requests that the newest input of each agent shows beside known ones, and the answer that asked does not."""
    known = _Told(calls)
    for mc in {mc.agent: mc for mc in model_calls if mc.inputs is not None}.values():
        if not mc.gappy:
            _unseen_siblings(mc.inputs or [], calls, by_id)
            _unnamed_siblings(mc, known, by_id)


class _Open:
    """The calls of an agent that wait for a result, the oldest first."""

    def __init__(self, calls: Iterable[ToolCall]) -> None:
        self._heap: list[tuple[int, int, ToolCall]] = []
        self._count = 0
        self.add(calls)

    def add(self, calls: Iterable[ToolCall]) -> None:
        for c in calls:
            if c.turn is not None and awaits_result(c):
                self._count += 1
                heappush(self._heap, (c.turn, self._count, c))

    def before(self, turn: int) -> bool:
        """Is there one that was asked for before this turn?"""
        while self._heap and not awaits_result(self._heap[0][2]):
            heappop(self._heap)
        return bool(self._heap) and self._heap[0][0] < turn


def _unseen_requests(
    inputs: list[Message],
    thread: list[ModelCall],
    i: int,
    calls: list[ToolCall],
    by_id: dict[str, list[ToolCall]],
    histories: Histories | None,
) -> None:
    """The n-th answer that history shows beyond the thread's first input is that of the n-th call that was answered.
    Among several agents it is the call's whose input history shows right before it."""
    said = answers_at(inputs)
    if not said:
        return
    answered = [mc for mc in thread[:i] if mc.error is None] or thread[: max(1, i)]
    first = thread[0].inputs or []
    before = len(first) - _instructions(first) + _instructions(inputs) if i > 0 else len(inputs)
    places: dict[tuple[int, int], ToolCall] = {}
    for c in reversed(calls):
        places[id(c.asked_by), c.position] = c
    own, known = 0, dict[int, ModelCall]()
    later = sum(at >= before for at, _ in said)
    if i > 0 and not first and later > len(answered):  # an earlier request's are among them, perhaps
        asked = next((at for at in range(len(inputs) - 1, -1, -1) if _asks_of_user(inputs[at])), None)
        before = said[-len(answered)][0] if asked is None else asked
        later = sum(at >= before for at, _ in said)
    if later > len(answered):
        known = _by_place(inputs, thread[:i])
        known = known if 2 * len(known) > later else {}  # else it does not show who answered where
    for at, requests in said:
        asker = histories.asked_after(inputs, at, thread[i]) if histories is not None else None
        if asker is None and known and at >= before and at not in known:
            continue  # the span of who answered is lost
        if asker is not None and histories is not None and histories.anothers(inputs, at, requests, thread[i], asker):
            continue
        if at >= before:
            asker, own = asker or known.get(at) or answered[min(own, len(answered) - 1)], own + 1
        if asker is None or (at < before and not hides_requests(asker)):
            continue
        for position, request in enumerate(requests):
            if request.id and request.id in by_id:
                for c in by_id[request.id]:
                    c.position = position if c.asked_by is asker else c.position
                continue
            told = places.get((id(asker), position))
            if told is not None and (not request.id or _told_as_item(request.id, told)):
                continue
            if told is not None and told.call_id is None and same_name(told.name, request.name):
                told.call_id = request.id  # the answer itself did not tell it
                by_id.setdefault(request.id or "", []).append(told)
                continue
            _add_request(request, asker, position, calls, by_id)
            places.setdefault((id(asker), position), calls[-1])


def _asks_of_user(told: Message) -> bool:
    return told.role == "user" and not told.results


def _by_place(inputs: list[Message], thread: list[ModelCall]) -> dict[int, ModelCall]:
    """Those whose own input is this history up to a place, by that: there it shows what each answered."""
    head, found = instructions(inputs), dict[int, ModelCall]()
    for mc in thread:
        own = mc.inputs or []
        at = len(own) - _instructions(own) + head
        fits = own and mc.error is None and head < at <= len(inputs)
        if fits and came_to(own, instructions(own), len(own)) == came_to(inputs, head, at):
            found[at] = mc
    return found


def _instructions(inputs: list[Message]) -> int:
    """How many messages an input begins with that are instructions, which one telling of it may leave out."""
    return max(0, instructions(inputs))


def _nobodys(talk: list[ModelCall], calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """Requests that no answer and no history tells, for tools that nobody has: what is told in place of a result names
    them (Traceloop for LangChain.js)."""
    for asker, mc in pairwise(talk):
        if not hides_requests(asker) or not asks(asker.finish):
            continue
        for message in takewhile(lambda x: x.results, reversed(mc.inputs or ())):
            for result in message.results:
                bare = result.id is None and result.name is None and isinstance(result.content, str)
                name = which_nobody_has(str(result.content)) if bare else None
                if name is not None:
                    _add_request(Request(None, name, None, served=result), asker, len(calls), calls, by_id)


def _told_as_item(id: str, call: ToolCall) -> bool:
    """Does history tell by its item what an answer told by the call's own id?"""
    return id.startswith(OF_ITEM) and call.call_id is not None and not call.call_id.startswith(OF_ITEM)


def _unseen_siblings(inputs: list[Message], calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """Requests that stand in one answer with a known one: some instrumentations keep only one of an answer's."""
    for requests in _answers_of(inputs):
        if len(requests) < 2:
            continue
        known = next((c for r in requests if r.id for c in by_id.get(r.id, ())), None)
        if known is None or known.asked_by is None or all(r.id in by_id for r in requests):
            continue
        for position, request in enumerate(requests):
            if request.id in by_id:
                for c in by_id[request.id]:
                    c.position = position if c.asked_by is known.asked_by else c.position
            elif request.id:
                _add_request(request, known.asked_by, position, calls, by_id)


class _Told:
    """What is told of each answer: its calls, found by how many these are and by how long its input was. Calls that are
    added to `every` later are found, too."""

    def __init__(self, every: list[ToolCall]) -> None:
        self.every = every
        self._seen = 0
        self._of: dict[tuple[str | None, int], list[ToolCall]] = {}
        self._by: dict[str | None, dict[tuple[int, int], dict[int, list[ToolCall]]]] = {}

    def of(self, agent: str | None) -> dict[tuple[int, int], dict[int, list[ToolCall]]]:
        """(Length of the input, number of calls) -> turn -> calls of an agent's answer."""
        for c in self.every[self._seen :]:
            if (asker := c.asked_by) is not None and (length := len(asker.inputs or ())):
                told = self._of.setdefault((c.agent, asker.turn), [])
                by = self._by.setdefault(c.agent, {})
                if told:
                    fewer = by[length, len(told)]
                    del fewer[asker.turn]
                    if not fewer:
                        del by[length, len(told)]
                told.append(c)
                by.setdefault((length, len(told)), {})[asker.turn] = told
        self._seen = len(self.every)
        return self._by.get(agent, {})


def _unnamed_siblings(mc: ModelCall, known: _Told, by_id: dict[str, list[ToolCall]]) -> None:
    """The same where nobody gives ids (Gemini): what comes first after an input is the answer to it."""
    inputs = mc.inputs or []
    if all(r.id for x in inputs for r in x.requests):
        return
    answers: dict[int, list[Request]] = {}
    found: list[tuple[list[ToolCall], list[Request]]] = []
    for (length, count), told_of in known.of(mc.agent).items():
        if length not in answers:
            answers[length] = _first_answer(inputs, length)
        requests = answers[length]
        if count < len(requests) and not any(r.id for r in requests):
            found += [(told, requests) for turn, told in told_of.items() if turn < mc.turn]
    for told, requests in found:
        asker = told[0].asked_by
        if asker is None or any(c.call_id for c in told) or not any(awaits_result(c) for c in told):
            continue
        places: list[int] = []
        for c in told:
            same = (k for k, r in enumerate(requests) if k not in places and _is(c, r))
            places.append(next(same, -1))
        if -1 in places:
            continue
        for c, position in zip(told, places, strict=True):
            c.position = position
        for position, request in enumerate(requests):
            if position not in places:
                _add_request(request, asker, position, known.every, by_id)


def _first_answer(inputs: list[Message], start: int) -> list[Request]:
    """The requests of the first answer that history shows from here on."""
    at = next((k for k in range(start, len(inputs)) if inputs[k].role == "assistant"), len(inputs))
    answer = [x.requests for x in takewhile(lambda x: x.role == "assistant", islice(inputs, at, None)) if x.requests]
    if not any(x.results for x in inputs):  # what came back is left out, so the next answer may follow at once
        answer = answer[:1]
    return [r for requests in answer for r in requests]


def _is(call: ToolCall, request: Request) -> bool:
    return call.name == request.name and arguments_of(call.arguments) == arguments_of(request.arguments)


def _given_later(inputs: list[Message], by_id: dict[str, list[ToolCall]]) -> None:
    """Arguments that a streamed answer left out: it told a request as it began, empty."""
    for message in inputs:
        for request in message.requests:
            for c in by_id.get(request.id or "", ()):
                if c.arguments is None or (c.arguments in _EMPTY and request.arguments not in _EMPTY):
                    c.arguments = request.arguments


_EMPTY: tuple[Value, ...] = (None, "", "{}", {})


def _answers_of(inputs: list[Message]) -> list[list[Request]]:
    """The requests of each answer that history shows."""
    return [requests for _, requests in answers_at(inputs)]


def _add_request(
    request: Request, asker: ModelCall, position: int, calls: list[ToolCall], by_id: dict[str, list[ToolCall]]
) -> None:
    call = ToolCall(request.name)
    call.call_id, call.arguments, call.agent = request.id, request.arguments, asker.agent
    call.asked_by, call.turn, call.position = asker, asker.turn, position
    call.start = call.end = asker.end
    call.evidence.add("message")
    if request.served is not None:
        call.answer, call.result_of = request.served, asker
    calls.append(call)
    if request.id:
        by_id.setdefault(request.id, []).append(call)
