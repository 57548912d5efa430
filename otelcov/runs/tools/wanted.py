"""Requests that wait for the span that ran them, and which of them a span ran."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import islice, pairwise

from otelcov.runs.content.jsontext import Value, to_json
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.tools.alike import brings, is_given
from otelcov.runs.tools.askers import JITTER_NS, Ids, ends_before
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.executions import served_as, span_call_id, span_fact, span_name
from otelcov.runs.trace.above import Above
from otelcov.runs.trace.tree import Node, failure, spelling


class Wanted:
    """Requests that no span has been found for yet, by name, in the order of their turns."""

    def __init__(self, calls: list[ToolCall], thinking: Collection[str | None]) -> None:
        self._thinking = {agent for agent in thinking if agent is not None}  # who asks models
        self._for_one = Above(lambda n, works: works or n.own_agent in self._thinking, False)
        askers = {id(c.asked_by.node) for c in calls if c.asked_by is not None}
        self._above = Above[Ids](lambda n, some: (id(n), *some) if id(n) in askers else some, ())
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
        name, agent = span_name(nodes), self._whose(nodes[0])
        key = spelling(name) if name else self._given(nodes)
        some = self._by_name.get(key) or self._by_name.get(self._whole.get(key, "") or self._served(key, nodes[0]))
        if not some:
            return None
        if agent is not None and not some.has(agent):
            return None
        above = self._above(nodes[0])

        def fits(c: ToolCall, start: int) -> bool:
            asker = c.asked_by
            before = asker is not None and (asker.end <= start or id(asker.node) in above)
            if start == _STREAMED and asker is not None:
                before = asker.start <= nodes[0].start < asker.end and _alike(c, nodes)
            known = agent is None or c.agent is None or c.agent == agent
            if asker is not None and asker.in_part and _anothers(c, nodes):
                return False
            if not (before and known) or (call_id and c.call_id and call_id != c.call_id):
                return False
            return not (_came_of_another(c, nodes) or _of_another_agent(c, nodes))

        for start in (*ends_before(nodes[0].start), _STREAMED):
            found = list(islice((i for i in some.begun(nodes[0].start, above) if fits(some[i], start)), _NEWEST))
            if found:
                break
        else:
            return None
        if len(found) > 1:
            found = [i for i in found if _given(some[i], nodes)] or found
            if len({some[i].turn for i in found}) > 1:
                found = _in_frame([(some[i], i) for i in found], nodes[0])
            found = [i for i in found if some[i].turn == some[found[0]].turn]
            _mark([some[i] for i in found], nodes)
        return some.pop(next((i for i in reversed(found) if _came(some[i], nodes)), found[-1]))

    def _whose(self, node: Node) -> str | None:
        """Whose request a tool ran; None for anybody's: who asks no model, and works for nobody who does, runs tools
        for others (a user that AG2 plays)."""
        return node.agent if node.agent in self._thinking or self._for_one(node) else None

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


def _given(call: ToolCall, nodes: list[Node]) -> bool:
    """Were these spans given what was asked for, as far as they tell it? LangChain tells of a single argument its value
    alone."""
    told = span_fact(nodes, "arguments")
    if told is None:
        return False
    (asked, words), (ran, text) = arguments_of(call.arguments), arguments_of(told)
    if ran is not None:
        return asked == ran
    if asked is not None and len(asked) == 1 and text == _as_text(*asked.values()):
        return True
    return _begin_alike(text, words if asked is None else to_json(asked))


def _came(call: ToolCall, nodes: list[Node]) -> bool:
    """Does history tell of this just what these spans gave?"""
    return call.answer is not None and (is_given(call.answer, nodes) or brings(call.answer, nodes))


def _came_of_another(call: ToolCall, nodes: list[Node]) -> bool:
    """Do spans tell of other arguments than a request, and of another result than history tells that this came to?
    Where no answer tells what it asked for, the one that these ran may be in no history."""
    if call.answer is None or _alike(call, nodes) or failure(nodes[0]) is not None:
        return False
    return span_fact(nodes, "result") is not None and not _came(call, nodes)


def _of_another_agent(call: ToolCall, nodes: list[Node]) -> bool:
    """Do spans tell of another agent, of another id and of other arguments than a request? That one's may be lost, and
    what asked for this not be told (ADK under OpenInference)."""
    agent, told = nodes[0].agent, span_call_id(nodes)
    if None in (agent, call.agent, told, call.call_id) or agent == call.agent or told == call.call_id:
        return False
    return not _alike(call, nodes)


def _begin_alike(text: str | None, other: str | None) -> bool:
    """Is one of these, cut short, how the other begins?"""
    if not text or not other or text[0] != "{":
        return False
    one, two = ("".join(each.split()) for each in (text, other))
    short = min(len(one), len(two))
    return short > 1 and one[:short] == two[:short]


def _as_text(value: Value) -> str:
    return value if isinstance(value, str) else to_json(value)


def _mark(calls: list[ToolCall], nodes: list[Node]) -> None:
    """Where what these spans were given tells of none, and what was asked for differs or has ids of its own, any of the
    calls may be; so may each of those by ids that no span bears which were given the same."""
    told = [c for c in calls if _given(c, nodes)]
    asked = [arguments_of(c.arguments)[0] for c in calls]
    if not told and (any(given != asked[0] for given in asked) or len({c.call_id for c in calls} - {None}) > 1):
        told = calls
    elif len(told) < 2 or not all(c.call_id for c in told):
        return
    for c in told:
        c.doubles = c.doubles or told


def settle(calls: list[ToolCall]) -> None:
    """What ran one after another, and all of it, ran in the order in which it was asked for; and of what was given the
    same and came to the same, nobody need know which was which."""
    for doubles in {id(c.doubles): c.doubles for c in calls if c.doubles}.values():
        ran = [d.nodes[0] for d in doubles if d.nodes]
        if len(ran) < len(doubles):
            continue
        if _came_to_the_same(doubles) or not any(_at_once(a, b) for a, b in pairwise(sorted(ran, key=_start))):
            for d in doubles:
                d.doubles = []


def _came_to_the_same(calls: list[ToolCall]) -> bool:
    told = [(span_fact(c.nodes, "arguments"), span_fact(c.nodes, "result"), failure(c.nodes[0])) for c in calls]
    return all(each == told[0] for each in told)


def _start(node: Node) -> int:
    return node.start


def _at_once(one: Node, other: Node) -> bool:
    """Did these run at once, or the steps that they were run in?"""
    branches = [(n, *n.ancestors()) for n in (one, other)]
    shared = {id(n) for n in branches[0]} & {id(n) for n in branches[1]}
    a, b = ([n for n in branch if id(n) not in shared][-1] for branch in branches)
    return a.start < b.end and b.start < a.end


def _alike(call: ToolCall, nodes: list[Node]) -> bool:
    """Were these spans given what was asked for, as far as both can be seen?"""
    asked, ran = arguments_of(call.arguments)[0], arguments_of(span_fact(nodes, "arguments"))[0]
    return asked is None or ran is None or asked == ran


def _anothers(call: ToolCall, nodes: list[Node]) -> bool:
    """Do whole spans tell of other arguments than a request of an answer told in part, which lost its id? That answer
    may have asked for more."""
    return call.call_id is None and not any(n.span.dropped for n in nodes) and not _alike(call, nodes)


_STREAMED = -1  # in place of a time: the tool began while its request was still being told
