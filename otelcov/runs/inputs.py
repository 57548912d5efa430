"""What a model's later inputs tell of tool calls: requests whose answer could not be seen, and results."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import islice, pairwise, takewhile

from otelcov.runs.call import ToolCall, awaits_result
from otelcov.runs.chat import Message, Request, Result
from otelcov.runs.jsontext import Value, to_json
from otelcov.runs.model_call import OF_ITEM, ModelCall, hides_requests
from otelcov.runs.prose import react_request
from otelcov.runs.reused import results, reused
from otelcov.runs.tree import same_name
from otelcov.runs.wrapped import arguments_of


def read_inputs(model_calls: list[ModelCall], calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """Results and requests that later inputs show. History is cumulative: the last input of a thread holds it all, so
    earlier inputs are read only while something is still open (a history cut short, summarised, or started anew)."""
    threads: dict[str | None, list[ModelCall]] = {}
    for mc in model_calls:
        threads.setdefault(mc.agent, []).append(mc)
    asked: dict[str | None, list[ToolCall]] = {}
    for c in calls:
        asked.setdefault(c.agent, []).append(c)
    ends = _ends(model_calls) if len(threads) > 1 else {}
    for agent, thread in threads.items():
        blind = [mc for mc in thread if hides_requests(mc)]
        own = asked.get(agent, [])
        still = _Open(own)
        for i in range(len(thread) - 1, -1, -1):
            mc = thread[i]
            waiting = still.before(mc.turn)
            if not waiting and not blind and i != len(thread) - 1:
                break
            if not waiting and not blind and not own:
                break
            inputs = mc.inputs
            if inputs is None:
                continue
            known = len(calls)
            _read_history(mc, inputs, thread, i, calls, by_id, bool(blind), ends)
            still.add(calls[known:])
            if blind and i > 0 and not mc.truncated_input:
                blind = []
    # A worker that took over sees what its predecessor asked for.
    if len(threads) > 1 and any(awaits_result(c) for c in calls):
        for thread in threads.values():
            inputs = thread[0].inputs
            if inputs:
                _match_results(thread[0], inputs, calls, by_id, anyones=True)


def unseen_siblings(model_calls: list[ModelCall], calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """Requests that the newest input of each agent shows beside known ones, and the answer that asked does not."""
    for mc in {mc.agent: mc for mc in model_calls if mc.inputs is not None}.values():
        if not mc.gappy:
            _unseen_siblings(mc.inputs or [], calls, by_id)


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


def _read_history(
    mc: ModelCall,
    inputs: list[Message],
    thread: list[ModelCall],
    i: int,
    calls: list[ToolCall],
    by_id: dict[str, list[ToolCall]],
    blind: bool,
    ends: _Ends,
) -> None:
    """What one input tells: requests whose answer could not be seen, then results."""
    if not mc.gappy:
        if blind:
            _unseen_requests(inputs, thread, i, calls, by_id, ends)
        else:
            _unseen_siblings(inputs, calls, by_id)
            _unnamed_siblings(mc, calls, by_id)
        _given_later(inputs, by_id)
    _match_results(mc, inputs, calls, by_id)


def _unseen_requests(
    inputs: list[Message],
    thread: list[ModelCall],
    i: int,
    calls: list[ToolCall],
    by_id: dict[str, list[ToolCall]],
    ends: _Ends,
) -> None:
    """The n-th answer that history shows beyond the thread's first input is the n-th call's. Among several agents, who
    may share a history or hold several at once, it is the call's whose input history shows right before it."""
    before = len(thread[0].inputs or []) if i > 0 else len(inputs)
    head = _instructions(inputs) if ends else 0
    places: dict[tuple[int, int], ToolCall] = {}
    for c in reversed(calls):
        places[id(c.asked_by), c.position] = c
    own = 0
    for at, requests in _answers_at(inputs):
        asker = _asked_after(inputs, head, at, thread[i], ends) if head < at else None
        if at >= before:
            asker, own = asker or thread[min(own, i - 1)], own + 1
        if asker is None or (at < before and not hides_requests(asker)):
            continue
        for position, request in enumerate(requests):
            if request.id and request.id in by_id:
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


_Ends = dict[tuple[Value, ...], list[ModelCall]]
"""The calls, of an agent or of anyone, whose input is so long, without instructions, and begins and ends with these
messages."""
_ANYONES = 0


def _ends(model_calls: list[ModelCall]) -> _Ends:
    """Of runs in which some answer is not told: what histories are held to."""
    out: _Ends = {}
    if any(hides_requests(mc) for mc in model_calls):
        for mc in model_calls:
            if mc.inputs and mc.error is None:
                end = _end(mc.inputs, _instructions(mc.inputs), len(mc.inputs))
                for whose in (mc.agent, _ANYONES):
                    out.setdefault((whose, *end), []).append(mc)
    return out


def _end(inputs: list[Message], head: int, at: int) -> tuple[Value, ...]:
    """What an input comes to at this place."""
    first, last = inputs[head], inputs[at - 1]
    results = to_json([[r.id, r.content] for r in last.results]) if last.results else None
    return at - head, first.role, first.text, last.role, last.text, results


def _asked_after(inputs: list[Message], head: int, at: int, asking: ModelCall, ends: _Ends) -> ModelCall | None:
    """The newest call before that one whose input was this history up to there; of the same agent if there is one:
    several may have been sent the same."""
    end = _end(inputs, head, at) if ends else ()
    for whose in (asking.agent, _ANYONES) if ends else ():
        found = ends.get((whose, *end), [])
        earlier = bisect_left(found, asking.start, key=lambda mc: mc.start)
        if earlier:
            return found[earlier - 1]
    return None


def _instructions(inputs: list[Message]) -> int:
    """How many messages an input begins with that are an agent's instructions."""
    return next((k for k, x in enumerate(inputs) if x.role not in ("system", "developer")), len(inputs) - 1)


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


def _unnamed_siblings(mc: ModelCall, calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """The same where nobody gives ids (Gemini): what comes first after an input is the answer to it."""
    inputs = mc.inputs or []
    if all(r.id for x in inputs for r in x.requests):
        return
    told_of: dict[int, tuple[ModelCall, list[ToolCall]]] = {}
    for c in calls:
        if c.asked_by is not None and c.agent == mc.agent and c.asked_by.turn < mc.turn:
            told_of.setdefault(c.asked_by.turn, (c.asked_by, []))[1].append(c)
    for asker, told in told_of.values():
        if not asker.inputs or not any(awaits_result(c) for c in told):
            continue
        requests = _first_answer(inputs, len(asker.inputs))
        if len(told) >= len(requests) or any(r.id for r in requests) or any(c.call_id for c in told):
            continue
        places = []
        for c in told:
            same = (k for k, r in enumerate(requests) if k not in places and _is(c, r))
            places.append(next(same, -1))
        if -1 in places:
            continue
        for c, position in zip(told, places, strict=True):
            c.position = position
        for position, request in enumerate(requests):
            if position not in places:
                _add_request(request, asker, position, calls, by_id)


def _first_answer(inputs: list[Message], start: int) -> list[Request]:
    """The requests of the first answer that history shows from here on."""
    at = next((k for k in range(start, len(inputs)) if inputs[k].role == "assistant"), len(inputs))
    return [r for x in takewhile(lambda x: x.role == "assistant", islice(inputs, at, None)) for r in x.requests]


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
    return [requests for _, requests in _answers_at(inputs)]


def _answers_at(inputs: list[Message]) -> list[tuple[int, list[Request]]]:
    """The same with where each begins. OpenAI's Responses tell each item as a message of its own."""
    out: list[tuple[int, list[Request]]] = []
    same = False
    for at, message in enumerate(inputs):
        if message.role == "assistant":
            if same:
                out[-1][1].extend(message.requests)
            else:
                out.append((at, list(message.requests)))
        same = message.role == "assistant"
    return out


def _add_request(
    request: Request, asker: ModelCall, position: int, calls: list[ToolCall], by_id: dict[str, list[ToolCall]]
) -> None:
    call = ToolCall(request.name)
    call.call_id, call.arguments, call.agent = request.id, request.arguments, asker.agent
    call.asked_by, call.turn, call.position = asker, asker.turn, position
    call.start = call.end = asker.end
    call.evidence.add("message")
    calls.append(call)
    if request.id:
        by_id.setdefault(request.id, []).append(call)


def _match_results(
    mc: ModelCall,
    inputs: list[Message],
    calls: list[ToolCall],
    by_id: dict[str, list[ToolCall]],
    anyones: bool = False,
) -> None:
    """Results to the calls that wait for them, of the agent or of anyone: by id; else in the order of the requests that
    this input shows; else, where it shows none, the newest to the newest, those left out whose results a span told."""
    witness = "event" if mc.node.side.events.get(mc.node.span.row) else "message"

    def earlier(call: ToolCall) -> bool:
        return call.turn is not None and call.turn < mc.turn and (anyones or call.agent == mc.agent)

    def settle(call: ToolCall, result: Result) -> None:
        call.answer, call.result_of = result, mc
        call.evidence.add(witness)

    shown: list[Request] = []
    shown_as: dict[str, list[Request]] = {}
    pairs: list[tuple[Request, Result]] = []
    single: list[Result] = []
    meant = _ids_by_place(inputs)
    again = reused(inputs, by_id)
    for shared in sorted(again):
        for call, result in results(inputs, shared, filter(earlier, by_id[shared])):
            if awaits_result(call):
                settle(call, result)
    for message in inputs:
        for request in message.requests if message.role == "assistant" else ():
            shown.append(request)
            shown_as.setdefault(request.id or "", []).append(request)
        for result in message.results:
            if result.id in again:
                continue
            call_id = meant.get(id(result), result.id)
            if call_id not in by_id and result.id in by_id:
                call_id = result.id  # history tells items, the answer told calls
            if call_id and call_id in by_id:
                _by_call_id(call_id, result, mc, by_id, earlier, settle)
                continue
            if call_id:  # the answer that asked for it told no id
                pairs.extend((request, result) for request in shown_as.get(call_id, ()))
                continue
            at = next((k for k, r in enumerate(shown) if result.name is None or same_name(result.name, r.name)), None)
            if at is None:
                single.append(result)
            else:
                pairs.append((shown.pop(at), result))
    if pairs or single or any(x.text and _OBSERVED in x.text for x in inputs):
        _match_others(inputs, [c for c in calls if earlier(c)], pairs, single, settle)


_OBSERVED = "Observation"
"""What stands before a result in a prompt of text (ReAct)."""


def _match_others(
    inputs: list[Message],
    before: list[ToolCall],
    pairs: list[tuple[Request, Result]],
    single: list[Result],
    settle: Callable[[ToolCall, Result], None],
) -> None:
    """Results that no id leads to a call."""
    waiting = [c for c in before if awaits_result(c)]
    waits = {id(c): c for c in waiting}
    for request, result in pairs:
        open_ = (c for c in waits.values() if same_name(c.name, request.name) and (not request.id or not c.call_id))
        wanted = _given(request.arguments)
        hit = next((c for c in open_ if _given(c.arguments) == wanted), None)
        if hit is not None:
            hit.call_id = hit.call_id or request.id
            del waits[id(hit)]
            settle(hit, result)
    if not pairs:
        for call in [c for c in reversed(before) if single and (id(c) in waits or c.nodes)]:
            k = next((k for k in range(len(single) - 1, -1, -1) if single[k].name in (None, call.name)), None)
            if k is not None:
                result = single.pop(k)
                if waits.pop(id(call), None) is not None:
                    settle(call, result)
    for call in list(waits.values()):  # text ReAct: the observation follows the action in the prompt
        if call.asked_by is not None and call.asked_by.text_react:
            same = [c for c in waiting if c.asked_by is not None and c.asked_by.text == call.asked_by.text]
            observation = _observation(call, inputs, same.index(call))
            if observation is None:
                named = [c for c in before if same_name(c.name, call.name)]
                observation = _reworded(call, inputs, named.index(call), len(named))
            if observation is not None:
                settle(call, Result(None, call.name, observation))


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
                    out.update((id(result), i) for result, i in zip(results, asked, strict=True))
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


def _observation(call: ToolCall, inputs: list[Message], skip: int) -> str | None:
    """The text after the `skip`-th repetition of the call's own words."""
    asked = call.asked_by.text if call.asked_by is not None else None
    if not asked:
        return None
    core = asked.strip()
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


_STEP = re.compile(r"^[ \t]*(?:Action(?: Input)?|Final Answer|Answer|Observation)[ \t]*:", re.M)


def _reworded(call: ToolCall, inputs: list[Message], place: int, count: int) -> str | None:
    """The same where history tells what the model wrote in other words (LlamaIndex): after the answer in this place of
    those that ask for this tool, if history tells all of them."""
    answers = [
        (after.text or "").strip()
        for before, after in pairwise(inputs)
        if before.role == "assistant"
        and (request := react_request(before.text)) is not None
        and same_name(request.name, call.name)
    ]
    told = answers[place] if len(answers) == count else ""
    return told.removeprefix("Observation:").strip() if told.startswith("Observation:") else None
