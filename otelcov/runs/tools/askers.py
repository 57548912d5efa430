"""The model call that asked for a tool, where its answer does not tell: by time, agent and frame."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from itertools import accumulate, islice

from otelcov.dialects.base import AGENT, LLM, TOOL
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.answers import ends_stream
from otelcov.runs.rules.boundaries import asks, final
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.above import Above
from otelcov.runs.trace.tree import Node

JITTER_NS = 1_000_000  # clocks of one process may differ that much between its threads


def infer_turn(call: ToolCall, models: Askers) -> None:
    """A span whose request is not on the wire: asked by the newest call of its agent before it, if that call's answer
    cannot be seen. An answer that can be seen and does not ask means that the framework ran the tool on its own."""
    node = next((n for n in call.nodes if models.works_beside(n)), call.nodes[0])
    above = models.above(node)
    streamed = next((mc for a in above if (mc := models.streams.get(a)) is not None), None)
    if streamed is not None:
        call.position = call.turn = streamed.turn
        return
    holder = models.holding(node)
    if holder is not None and _may_have_asked(holder):
        call.position = call.turn = holder.turn  # others may have been asked since, in tools that ran before this one
        return
    latest = models.newest(call.start, above)
    call.position = latest.turn if latest is not None else -1  # its place in time, whoever called the model
    streaming = models.silent_at(call.start, node)
    if (
        len(streaming) == 1
        and streaming[0].agent == call.agent
        and _may_be_one(owner(node), owner(streaming[0].node))
        and (call.agent is not None or _beside(node, streaming[0]))
    ):
        call.position = call.turn = streaming[0].turn  # the answer was still being told
        return
    newest = models.newest(call.start, above, call.agent, owner(node), node.orphan and call.agent is None)
    if newest is not None and newest.start == call.start and id(newest.node) not in above:
        return  # either may have been first
    if newest is not None and _may_have_asked(newest):
        call.turn = newest.turn


def owner(node: Node) -> Node | None:
    """The span of the agent whose work this is, named or not, or of the tool that it is done for."""
    return next((a for a in node.ancestors() if a.own_agent is not None or a.kind in (AGENT, TOOL)), None)


Ids = tuple[int, ...]


def _may_be_one(some: Node | None, other: Node | None) -> bool:
    return some is None or other is None or some is other


class Askers:
    """The model calls of a run as they lie before a moment, so that thousands of tools do not each look at all."""

    def __init__(self, model_calls: list[ModelCall]) -> None:
        self._all = _Line(model_calls)
        of: dict[str | None, list[ModelCall]] = {}
        for mc in model_calls:
            of.setdefault(mc.agent, []).append(mc)
        self._of = {agent: _Line(some) for agent, some in of.items()}
        self._within = _by_frame(model_calls)
        self._in_no_tool: _Line | None = None
        self._silent: _Line | None = None
        self._silent_within: dict[int, _Line] = {}
        ended = (mc for mc in model_calls if ends_stream(mc.node.span.scope) and mc.node.parent is not None)
        self.streams = {id(mc.node.parent): mc for mc in ended}  # by what frames each
        known = {*self.streams, *(id(mc.node) for mc in model_calls)}
        self.above = Above[Ids](lambda n, some: (id(n), *some) if id(n) in known else some, ())  # those around a span

    def holding(self, node: Node) -> ModelCall | None:
        """The call in whose own span a tool ran, if that is of one."""
        held = self._all.at(node.parent) if node.parent is not None and node.parent.kind == LLM else None
        return held if held is not None and not held.several else None

    def works_beside(self, node: Node) -> bool:
        """Do spans tell that the agent whose work this is asks models, too?"""
        return id(owner(node)) in self._within

    def before(self, node: Node) -> ModelCall | None:
        """The newest of the same agent's before this began."""
        return self.newest(node.start, self.above(node), node.agent, owner(node))

    def newest(
        self,
        start: int,
        above: Collection[int],
        agent: str | None = None,
        frame: Node | None = None,
        loose: bool = False,
    ) -> ModelCall | None:
        """The newest that had ended by then, or is around it; where an agent is named, one of its or of nobody's; and
        of an agent that works twice at once, one inside the same span of its. What is `loose` has lost its frame: no
        model inside a tool asked for it."""
        lines = [self._all] if agent is None else [self._of[a] for a in (agent, None) if a in self._of]
        if id(frame) in self._within:
            lines = [self._within[id(frame)]]
        elif frame is None and loose:
            if self._in_no_tool is None:
                self._in_no_tool = _Line([mc for mc in self._all.calls if not mc.node.within(TOOL)])
            lines = [self._in_no_tool]
        for end in ends_before(start):
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
        line = self._silent_within.get(id(owner(node)), self._silent)
        return list(islice(line.at_work(start), 2))


def _by_frame(model_calls: list[ModelCall]) -> dict[int, _Line]:
    """Those of each agent at work, by its span."""
    within: dict[int, list[ModelCall]] = {}
    for mc in model_calls:
        if (frame := owner(mc.node)) is not None:
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

    def at(self, node: Node) -> ModelCall | None:
        place = self._nodes.get(id(node))
        return self.calls[place] if place is not None else None

    def at_work(self, time: int) -> Iterator[ModelCall]:
        for i in range(bisect_left(self._starts, time) - 1, -1, -1):
            if self._until[i] <= time:
                return
            if self.calls[i].end > time:
                yield self.calls[i]


def ends_before(start: int) -> tuple[int, ...]:
    """Until when what asked for a call that began at `start` may have ended, the likeliest first. A whole millisecond
    is one that was cut off (JavaScript)."""
    return (start, start + JITTER_NS) if start % JITTER_NS else (start + JITTER_NS,)


def _may_have_asked(model: ModelCall) -> bool:
    """Is there more in this answer than can be seen of it? One that ended to have tools called asked, if it shows it
    or not; and one that shows nothing at all, and no end, may have (Weave, of OpenAI's agents in chats). One that
    failed did not: who did, was asked again, and its call has not come."""
    if model.error is not None:
        return False
    if model.outputs is None or model.cut or model.truncated_output:
        return True
    return not model.asked and (asks(model.finish) or not (model.text or final(model.finish)))


def _beside(node: Node, model: ModelCall) -> bool:
    """Are both of one agent that has no name, or that another called as a tool, or whose span is lost?"""
    above, other = node.parent, model.layers[-1]
    if node.orphan and other.orphan:
        return node.span.parent_span_id == other.span.parent_span_id
    return above is not None and above.kind in (AGENT, TOOL) and other.parent is above
