"""Tool calls of a run, from all the evidence there is, each once.

Three witnesses: the model's answer asked for the call, a span (or a nest of them) ran it, a later input brought its
result. They are joined by call id, else by turn, name and arguments. A call that was asked for and neither ran nor
brought anything back was not executed - if this run would have shown it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import accumulate, islice, pairwise

from otelcov.dialects.base import AGENT, TOOL
from otelcov.runs.boundaries import asks, final
from otelcov.runs.call import ToolCall, awaits_flag, awaits_result, short_id
from otelcov.runs.chat import Request
from otelcov.runs.executions import served_as, span_call_id, span_fact, span_name
from otelcov.runs.inputs import read_inputs, unseen_siblings
from otelcov.runs.jsontext import to_json
from otelcov.runs.model_call import ModelCall, ends_stream, hides_requests
from otelcov.runs.reused import execution
from otelcov.runs.tree import Node, same_name, spelling
from otelcov.runs.wrapped import arguments_of

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.I)


def merge(model_calls: list[ModelCall], executions: list[list[Node]]) -> list[ToolCall]:
    """All tool calls of one run in canonical order. `model_calls` are sorted and know their turns."""
    calls = _asked(model_calls)
    by_id: dict[str, list[ToolCall]] = {}
    for c in calls:
        if c.call_id:
            for known in dict.fromkeys((c.call_id, short_id(c.call_id, c.name))):
                by_id.setdefault(known, []).append(c)
    blind = any(hides_requests(mc) for mc in model_calls)
    if blind:  # requests themselves must be found in later inputs
        read_inputs(model_calls, calls, by_id)
    free = {id(c) for c in calls}
    rest = []
    executions, ids = _of_one_call(executions, model_calls)
    strangers = not any(i in by_id for i in ids if i)  # the spans' ids are another namespace than the messages'
    made_up = not any(_UUID.match(i) for i in by_id)  # so is an id that only some spans have (OpenLIT, of failures)
    for nodes, call_id in zip(executions, ids, strict=True):
        hit = execution(by_id.get(call_id, ()), free, nodes) if call_id else None
        if hit is None:
            rest.append((nodes, call_id))
        else:
            free.discard(id(hit))
            _attach(hit, nodes)
    if calls and rest and not blind and _outnumbered(rest, calls, free):
        told = len(calls)
        unseen_siblings(model_calls, calls, by_id)
        free.update(id(c) for c in calls[told:])
        rest = _surest_first(rest, calls)
    asked = _Asked([c for c in calls if id(c) in free]) if rest else None
    models = _Models(model_calls if rest else [])
    for nodes, call_id in rest:
        strange = strangers or (made_up and call_id is not None and _UUID.match(call_id) is not None)
        hit = asked.take(nodes, None if strange else call_id) if asked is not None else None
        if hit is not None:
            _attach(hit, nodes)
            hit.call_id = hit.call_id or call_id
            own = span_name(nodes)
            if own and not same_name(hit.name, own) and not _on_a_server(own, hit.name or "", nodes[0]):
                hit.name = own  # Bedrock's agents: the model asks for it by its group's name, too
            continue
        call = ToolCall(span_name(nodes))
        call.call_id = call_id
        call.agent = nodes[0].agent
        _attach(call, nodes)
        _infer_turn(call, models)
        calls.append(call)
    if not blind and any(awaits_result(c) or awaits_flag(c) for c in calls):
        read_inputs(model_calls, calls, by_id)
    _order(calls)
    ran = [c for c in calls if c.nodes]
    for c in calls:
        c.from_memory = bool(ran) and _from_memory(c, ran, model_calls)
    return calls


def _on_a_server(own: str, asked: str, node: Node) -> bool:
    """Is this a tool's own name on its server, and the one by which it was asked for that with the server's?"""
    return asked.startswith("mcp__") or served_as(own, asked, node)


_Run = tuple[list[Node], str | None]  # an execution and its call id


def _outnumbered(rest: list[_Run], calls: list[ToolCall], free: Collection[int]) -> bool:
    """Did a tool run more often than answers tell that it was asked for?"""
    wanted = Counter(spelling(c.name) for c in calls if c.name and id(c) in free)
    ran = Counter(spelling(span_name(nodes) or "") for nodes, _ in rest)
    return any(wanted[name] < count for name, count in ran.items())


def _surest_first(rest: list[_Run], calls: list[ToolCall]) -> list[_Run]:
    """Those before all others that were given exactly what some answer asked for: the others may not take its place."""
    wanted = {
        (spelling(c.name), to_json(given))
        for c in calls
        if c.name and not c.nodes and (given := arguments_of(c.arguments)[0]) is not None
    }

    def asked_for(nodes: list[Node]) -> bool:
        given = arguments_of(span_fact(nodes, "arguments"))[0]
        return given is not None and (spelling(span_name(nodes) or ""), to_json(given)) in wanted

    return sorted(rest, key=lambda run: not asked_for(run[0]))


def _of_one_call(
    executions: list[list[Node]], model_calls: list[ModelCall]
) -> tuple[list[list[Node]], list[str | None]]:
    """The executions and their call ids; spans side by side with one id - a call announced and run, or tried again -
    are one, unless a model was asked between them, their arguments differ or the id is the tool's name: then the id was
    used again."""
    found: list[list[Node]] = []
    ids: list[str | None] = []
    last: dict[tuple[str, str, str | None], list[Node]] = {}
    for nodes in sorted(executions, key=lambda some: some[0].start):
        call_id = span_call_id(nodes)
        key = (call_id or "", spelling(span_name(nodes) or ""), nodes[0].agent)
        before = last.get(key) if call_id and spelling(call_id) != key[1] else None
        if (
            before is not None
            and not any(before[0].start < mc.start < nodes[0].start for mc in model_calls)
            and not _differ(before, nodes)
        ):
            before.extend(nodes)
            continue
        last[key] = nodes
        found.append(nodes)
        ids.append(call_id)
    return found, ids


def _differ(some: list[Node], others: list[Node]) -> bool:
    """Did these spans run a tool with other arguments than those?"""
    given = [arguments_of(span_fact(nodes, "arguments"))[0] for nodes in (some, others)]
    return None not in given and given[0] != given[1]


def _from_memory(call: ToolCall, executed: list[ToolCall], model_calls: list[ModelCall]) -> bool:
    """An equal call ran with a span; this one has none, and between request and result was no time to run it."""
    asker = call.asked_by
    if call.nodes or asker is None or call.result_of is None:
        return False
    ran = [c.end - c.start for c in executed if same_name(c.name, call.name)]
    later = (model_calls[turn] for turn in range(asker.turn + 1, len(model_calls)))
    after = next((mc for mc in later if mc.agent == asker.agent), None)
    if not ran or after is None or after.start - asker.end >= min(ran):
        return False
    wanted = arguments_of(call.arguments)[0]
    return any(same_name(c.name, call.name) and arguments_of(c.arguments)[0] == wanted for c in executed)


def _asked(model_calls: list[ModelCall]) -> list[ToolCall]:
    out: list[ToolCall] = []
    for mc in model_calls:
        seen: dict[str, list[Request]] = {}
        for position, request in enumerate(mc.asked):
            if request.id and _told_before(request, seen):
                continue
            call = ToolCall(request.name)
            call.call_id = request.id
            call.arguments = request.arguments
            call.asked_by, call.turn, call.position = mc, mc.turn, position
            call.agent = mc.agent
            call.start = call.end = mc.end
            call.evidence.add("event" if mc.node.side.events.get(mc.node.span.row) else "message")
            if request.served is not None:
                call.answer, call.result_of = request.served, mc
            out.append(call)
    return out


def _told_before(request: Request, seen: dict[str, list[Request]]) -> bool:
    """Was this request of an answer told already? What bears one id and asks for something else is another (Strands
    gives Gemini's calls the names of their tools for ids)."""
    before = seen.setdefault(request.id or "", [])
    if before:
        given = arguments_of(request.arguments)[0]
        told = [arguments_of(r.arguments)[0] for r in before if same_name(r.name, request.name)]
        if given is None or given in told or None in told or len(told) < len(before):
            return True
    before.append(request)
    return False


def _attach(call: ToolCall, nodes: list[Node]) -> None:
    call.nodes = nodes
    call.start, call.end = nodes[0].start, max(n.end for n in nodes)
    call.evidence.add("span")
    if call.agent is None or (nodes[0].agent is not None and nodes[0].agent != call.agent and call.asked_by is None):
        call.agent = nodes[0].agent
    if call.name is None:
        call.name = span_name(nodes)


class _Asked:
    """Requests that no span has been found for yet, by name, in the order of their turns."""

    def __init__(self, calls: list[ToolCall]) -> None:
        self._by_name: dict[str, _Free] = {}
        self._whole: dict[str, str] = {}  # names by what they are without the group that a model knows a tool by
        self._calls = calls
        by_name: dict[str, list[ToolCall]] = {}
        for c in calls:
            if c.asked_by is not None and c.name is not None:
                by_name.setdefault(spelling(c.name), []).append(c)
                if "__" in c.name:
                    self._whole.setdefault(spelling(c.name.rsplit("__", 1)[1]), spelling(c.name))
        for name, some in by_name.items():
            some.sort(key=lambda c: (c.turn or 0, c.position))
            self._by_name[name] = _Free(some)

    def take(self, nodes: list[Node], call_id: str | None) -> ToolCall | None:
        """The request that these spans most likely ran: same tool, equal arguments first, newest turn before them."""
        name, agent = span_name(nodes), nodes[0].agent
        key = spelling(name) if name else self._given(nodes)
        some = self._by_name.get(key) or self._by_name.get(self._whole.get(key, "") or self._served(key, nodes[0]))
        if not some:
            return None
        if agent is not None and not some.has(agent):
            return None
        above = {id(a) for a in nodes[0].ancestors()}

        def fits(c: ToolCall, start: int) -> bool:
            asker = c.asked_by
            before = asker is not None and (asker.end <= start or id(asker.node) in above)
            if start == _STREAMED and asker is not None:
                before = asker.start <= nodes[0].start < asker.end and _alike(c, nodes)
            known = agent is None or c.agent is None or c.agent == agent
            return before and known and not (call_id and c.call_id and call_id != c.call_id)

        for start in (*_ends(nodes[0].start), _STREAMED):
            found = list(islice((i for i in some.begun(nodes[0].start, above) if fits(some[i], start)), _NEWEST))
            if found:
                break
        else:
            return None
        if len(found) > 1:
            ran, _ = arguments_of(span_fact(nodes, "arguments"))
            if ran is not None:
                found = [i for i in found if arguments_of(some[i].arguments)[0] == ran] or found
            if len({some[i].turn for i in found}) > 1:
                found = _in_frame([(some[i], i) for i in found], nodes[0])
            found = [i for i in found if some[i].turn == some[found[0]].turn]
        return some.pop(found[-1])

    def _given(self, nodes: list[Node]) -> str:
        """The only tool that was asked for with the arguments of a span that names none."""
        ran, _ = arguments_of(span_fact(nodes, "arguments"))
        names = self._names_by_arguments.get(to_json(ran), set()) if ran else set()
        return next(iter(names)) if len(names) == 1 else ""

    def _served(self, name: str, node: Node) -> str:
        """The only tool that was asked for by a longer name than a server knows it by."""
        longer = [known for known in self._by_name if served_as(name, known, node)]
        return longer[0] if len(longer) == 1 else ""

    @cached_property
    def _names_by_arguments(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for c in self._calls:
            given, _ = arguments_of(c.arguments)
            if c.asked_by is not None and c.name is not None and given:
                found.setdefault(to_json(given), set()).add(spelling(c.name))
        return found


class _Free:
    """The requests for one tool that are free, the newest last: only those are looked at that may have been made when a
    tool began, so that thousands of calls of one tool do not each read all of them."""

    def __init__(self, calls: list[ToolCall]) -> None:
        self._calls = calls
        self._begins = [_begin(c) for c in calls]
        self._ordered = all(a <= b for a, b in pairwise(self._begins))
        self._agents = Counter(c.agent for c in calls)
        self._askers = {id(c.asked_by.node) for c in calls if c.asked_by is not None}

    def __getitem__(self, place: int) -> ToolCall:
        return self._calls[place]

    def __len__(self) -> int:
        return len(self._calls)

    def has(self, agent: str) -> bool:
        """Is one of these the agent's, or nobody's?"""
        return self._agents[agent] > 0 or self._agents[None] > 0

    def begun(self, start: int, above: Collection[int]) -> Iterator[int]:
        """The places of what was asked for by then, the newest first; all, where who asked is above what began."""
        end = bisect_right(self._begins, start + JITTER_NS) if self._ordered else len(self._calls)
        if not self._askers.isdisjoint(above):
            end = len(self._calls)
        yield from range(end - 1, -1, -1)

    def pop(self, place: int) -> ToolCall:
        call = self._calls.pop(place)
        del self._begins[place]
        self._agents[call.agent] -= 1
        return call


def _begin(call: ToolCall) -> int:
    return call.asked_by.start if call.asked_by is not None else 0


_NEWEST = 32  # of the requests for a tool, how many may be the one that ran


def _in_frame(some: list[tuple[ToolCall, int]], node: Node) -> list[int]:
    """Those that were asked for closest to where this ran: agents at work at once may each ask for the same tool."""
    depth = {id(a): n for n, a in enumerate(reversed(list(node.ancestors())))}

    def shared(call: ToolCall) -> int:
        above = call.asked_by.node.ancestors() if call.asked_by is not None else ()
        return next((depth[id(a)] for a in above if id(a) in depth), -1)

    deep = [shared(call) for call, _ in some]
    return [i for (_, i), d in zip(some, deep, strict=True) if d == max(deep)]


def _alike(call: ToolCall, nodes: list[Node]) -> bool:
    """Were these spans given what was asked for, as far as both can be seen?"""
    asked, ran = arguments_of(call.arguments)[0], arguments_of(span_fact(nodes, "arguments"))[0]
    return asked is None or ran is None or asked == ran


_STREAMED = -1  # in place of a time: the tool began while its request was still being told
JITTER_NS = 1_000_000  # clocks of one process may differ that much between its threads


def _ends(start: int) -> tuple[int, ...]:
    """Until when what asked for a call that began at `start` may have ended, the likeliest first. A whole millisecond
    is one that was cut off (JavaScript)."""
    return (start, start + JITTER_NS) if start % JITTER_NS else (start + JITTER_NS,)


def _infer_turn(call: ToolCall, models: _Models) -> None:
    """A span whose request is not on the wire: asked by the newest call of its agent before it, if that call's answer
    cannot be seen. An answer that can be seen and does not ask means that the framework ran the tool on its own."""
    node = next((n for n in call.nodes if models.works_beside(n)), call.nodes[0])
    above = {id(a) for a in node.ancestors()}
    streamed = next((mc for a in above if (mc := models.streams.get(a)) is not None), None)
    if streamed is not None:
        call.position = call.turn = streamed.turn
        return
    latest = models.newest(call.start, above)
    call.position = latest.turn if latest is not None else -1  # its place in time, whoever called the model
    streaming = models.silent_at(call.start, node)
    if (
        len(streaming) == 1
        and streaming[0].agent == call.agent
        and _may_be_one(_own(node), _own(streaming[0].node))
        and (call.agent is not None or _beside(node, streaming[0]))
    ):
        call.position = call.turn = streaming[0].turn  # the answer was still being told
        return
    newest = models.newest(call.start, above, call.agent, _own(node))
    if newest is not None and newest.start == call.start and id(newest.node) not in above:
        return  # either may have been first
    if newest is not None and _may_have_asked(newest):
        call.turn = newest.turn


def _own(node: Node) -> Node | None:
    """The span of the agent whose work this is, named or not, or of the tool that it is done for."""
    return next((a for a in node.ancestors() if a.own_agent is not None or a.kind in (AGENT, TOOL)), None)


def _may_be_one(some: Node | None, other: Node | None) -> bool:
    return some is None or other is None or some is other


class _Models:
    """The model calls of a run as they lie before a moment, so that thousands of tools do not each look at all."""

    def __init__(self, model_calls: list[ModelCall]) -> None:
        self._all = _Line(model_calls)
        of: dict[str | None, list[ModelCall]] = {}
        for mc in model_calls:
            of.setdefault(mc.agent, []).append(mc)
        self._of = {agent: _Line(some) for agent, some in of.items()}
        self._within = _by_frame(model_calls)
        self._silent: _Line | None = None
        self._silent_within: dict[int, _Line] = {}
        ended = (mc for mc in model_calls if ends_stream(mc.node.span.scope) and mc.node.parent is not None)
        self.streams = {id(mc.node.parent): mc for mc in ended}  # by what frames each

    def works_beside(self, node: Node) -> bool:
        """Do spans tell that the agent whose work this is asks models, too?"""
        return id(_own(node)) in self._within

    def newest(
        self, start: int, above: Collection[int], agent: str | None = None, frame: Node | None = None
    ) -> ModelCall | None:
        """The newest that had ended by then, or is around it; where an agent is named, one of its or of nobody's; and
        of an agent that works twice at once, one inside the same span of its."""
        lines = [self._all] if agent is None else [self._of[a] for a in (agent, None) if a in self._of]
        if id(frame) in self._within:
            lines = [self._within[id(frame)]]
        for end in _ends(start):
            found = [mc for line in lines if (mc := line.ended(end, above)) is not None]
            if found:
                return max(found, key=lambda mc: mc.turn)
        return None

    def silent_at(self, start: int, node: Node) -> list[ModelCall]:
        """Those that were at work then and may have asked for anything, as nothing is told of their answers but perhaps
        how they ended; of the same agent's, if that is the node's; two of them, where there are more."""
        if self._silent is None:
            silent = [mc for mc in self._all.calls if mc.outputs is None and not final(mc.finish)]
            self._silent, self._silent_within = _Line(silent), _by_frame(silent)
        line = self._silent_within.get(id(_own(node)), self._silent)
        return list(islice(line.at_work(start), 2))


def _by_frame(model_calls: list[ModelCall]) -> dict[int, _Line]:
    """Those of each agent at work, by its span."""
    within: dict[int, list[ModelCall]] = {}
    for mc in model_calls:
        if (frame := _own(mc.node)) is not None:
            within.setdefault(id(frame), []).append(mc)
    return {frame: _Line(some) for frame, some in within.items()}


class _Line:
    """Model calls in the order of their starts."""

    def __init__(self, calls: list[ModelCall]) -> None:
        self.calls = calls
        self._starts = [mc.start for mc in calls]
        self._until = list(accumulate((mc.end for mc in calls), max))
        self._nodes = {id(mc.node): i for i, mc in enumerate(calls)}

    def ended(self, end: int, above: Collection[int]) -> ModelCall | None:
        """The newest that had ended by then or, whatever the clocks say, is one of those above."""
        around = max((i for node in above if (i := self._nodes.get(node)) is not None), default=-1)
        before = range(bisect_right(self._starts, end) - 1, around, -1)
        found = next((i for i in before if self.calls[i].end <= end), around)
        return self.calls[found] if found >= 0 else None

    def at_work(self, time: int) -> Iterator[ModelCall]:
        for i in range(bisect_left(self._starts, time) - 1, -1, -1):
            if self._until[i] <= time:
                return
            if self.calls[i].end > time:
                yield self.calls[i]


def _may_have_asked(model: ModelCall) -> bool:
    """Is there more in this answer than can be seen of it? One that ended to have tools called asked, if it shows it
    or not; and one that shows nothing at all, and no end, may have (Weave, of OpenAI's agents in chats)."""
    if model.outputs is None or model.cut or model.truncated_output:
        return True
    return not model.asked and (asks(model.finish) or not (model.text or final(model.finish)))


def _beside(node: Node, model: ModelCall) -> bool:
    """Are both of one agent that has no name, or that another called as a tool?"""
    above = node.parent
    return above is not None and above.kind in (AGENT, TOOL) and model.layers[-1].parent is above


def _order(calls: list[ToolCall]) -> None:
    """Canonical order: by turn, inside a turn as the model asked (else by name); the rest by time between the turns."""

    def key(c: ToolCall) -> tuple[int, int, int, str, int, str]:
        if c.asked_by is not None:
            return (c.asked_by.turn, 0, c.position, "", c.start, c.call_id or "")
        if c.turn is not None:
            return (c.turn, 1, 0, c.name or "", c.start, c.call_id or "")
        span_id = c.nodes[0].span.span_id.hex() if c.nodes else ""
        return (c.position if c.nodes else -1, 2, c.start, c.name or "", 0, span_id)

    calls.sort(key=key)
