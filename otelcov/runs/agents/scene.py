"""The run in which a tool call is looked at that may delegate: who works in it, and whose conversations went on."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.tree import Node


@dataclass(slots=True)
class Scene:
    """The run in which a call is looked at."""

    nodes: list[Node]
    agents: list[Node]  # spans that are agents'
    known: dict[str, str]  # bare name -> agent
    model_calls: list[ModelCall]  # each at the place that its turn is
    used: set[int]  # agent spans that a delegation was found for
    lost: bool  # some span's parent has not come
    loose: bool  # model calls stand in traces of their own
    last: dict[str | None, int]  # agent -> when it asked a model for the last time
    around: set[str]  # names that stand around each run, and are no agent's
    others_below: dict[tuple[int, str | None], Node | None] = field(default_factory=dict)  # than a caller's, as found
    kinds_below: dict[int, frozenset[str | None]] = field(default_factory=dict)  # of what has no agent's name
    _starts: list[tuple[int, int]] = field(init=False)  # of the agents' spans, by time, with their places
    _work: dict[str | None, list[ModelCall]] = field(init=False)  # agent -> its model calls, by time

    def __post_init__(self) -> None:
        self._starts = sorted((n.start, place) for place, n in enumerate(self.agents))
        self._work = defaultdict(list)
        for mc in sorted(self.model_calls, key=_start):
            self._work[mc.agent].append(mc)

    def begun(self, since: int, until: int) -> list[Node]:
        """The agents' spans that begin at these times or between."""
        first, end = bisect_left(self._starts, (since,)), bisect_left(self._starts, (until + 1,))
        return [self.agents[place] for place in sorted(place for _, place in self._starts[first:end])]

    def works(self, agent: str | None, since: int, before: int | None = None) -> list[ModelCall]:
        """The model calls of an agent that begin from one time on and before another."""
        work = self._work.get(agent, [])
        end = None if before is None else bisect_left(work, before, key=_start)
        return work[bisect_left(work, since, key=_start) : end]

    def newest(self, agent: str | None, before: int) -> ModelCall | None:
        """The last model call of an agent that begins before this time."""
        work = self._work.get(agent, [])
        place = bisect_left(work, before, key=_start)
        return work[place - 1] if place else None

    def others(self, agent: str | None, since: int, before: int | None = None) -> Iterator[ModelCall]:
        """The first model calls of each other agent that begin between these times; of many agents, none."""
        for other in self._work if len(self._work) <= _FEW else ():
            if other is not None and other != agent:
                yield from self.works(other, since, before)[:1]


_FEW = 64  # agents, each of which is looked at for each call


def _start(call: ModelCall) -> int:
    return call.start


@dataclass(slots=True)
class Found:
    """What a rule found: the agent (None: a delegation to somebody unnamed), its span if it has one."""

    target: str | None
    form: str
    node: Node | None = None


def child_thread(call: ToolCall, scene: Scene) -> bool:
    """Between a request and its result, another conversation with a model went on."""
    if call.asked_by is None or call.result_of is None or call.nodes:
        return False
    later = (scene.model_calls[turn] for turn in range(call.asked_by.turn + 1, call.result_of.turn))
    between = itertools.takewhile(lambda mc: not _brings(mc, call), later)
    return any(
        mc.inputs is None or not any(r.id == call.call_id and r.id for x in mc.inputs for r in x.requests)
        for mc in between
    )


def cut_thread(call: ToolCall, scene: Scene) -> bool:
    """The same where inputs were cut, so that no result is seen: another conversation began after the request, and then
    the one that asked went on, as the beginnings of what each was given tell."""
    asker = call.asked_by
    if asker is None or call.nodes or call.answer is not None:
        return False
    later = (mc for mc in itertools.islice(scene.model_calls, asker.turn + 1, None) if mc.agent == asker.agent)
    at, on = next(((at, mc) for at, mc in enumerate(later) if _begins_like(mc, asker)), (0, asker))
    return at > 0 and on.truncated_input


def _begins_like(mc: ModelCall, before: ModelCall) -> bool:
    """Does what this was given begin as what that was, as far as both were kept?"""
    raw, known = mc.node.input_messages, before.node.input_messages
    if raw is None or known is None:
        return False
    known = known.rstrip("]} \n")
    return raw[: len(known)] == known[: len(raw)]


def _brings(mc: ModelCall, call: ToolCall) -> bool:
    """Does this input hold what came of a call? Histories of later ones repeat it."""
    return bool(call.call_id) and any(r.id == call.call_id for x in mc.inputs or [] for r in x.results)
