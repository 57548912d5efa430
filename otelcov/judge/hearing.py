"""What a judgement hears: the conversations of a window, some at a time, so that no window is too large for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from otelcov.ground.config import Config
from otelcov.judge import rules
from otelcov.judge.judging import questions, unasked
from otelcov.judge.metrics import Metric
from otelcov.judge.rules import Finding
from otelcov.judge.summary import Tally
from otelcov.judge.turns import Conversation
from otelcov.runs.dialogue import Evaluation


class Outline(NamedTuple):
    """A conversation without what was said in it."""

    id: str
    path: str
    first: str  # its first run, which no other conversation has
    runs: int
    turns: int


@dataclass(frozen=True)
class Heard:
    """What some conversations come to by rules alone; their words are not kept."""

    outlines: Sequence[Outline]
    findings: Sequence[Finding]
    evaluations: Sequence[Evaluation]  # by others
    tallies: Mapping[str, Tally]  # of metrics about which nobody was asked

    @property
    def runs(self) -> int:
        return sum(outline.runs for outline in self.outlines)

    @property
    def turns(self) -> int:
        return sum(outline.turns for outline in self.outlines)


class Talks(Protocol):
    """The conversations of a window."""

    def heard(self, metrics: Sequence[Metric]) -> Heard:
        """What all of them come to, with a tally of each of these `metrics`, about which nobody is asked."""
        ...

    def some(self, chosen: Collection[str] | None) -> Iterator[Sequence[Conversation]]:
        """Those whose first runs were chosen (None: all), a part at a time."""
        ...


class Held:
    """Conversations that are in memory."""

    def __init__(self, talks: Sequence[Conversation], config: Config) -> None:
        self._talks, self._config = talks, config

    def heard(self, metrics: Sequence[Metric]) -> Heard:
        return hear(self._talks, metrics, self._config)

    def some(self, chosen: Collection[str] | None) -> Iterator[Sequence[Conversation]]:
        yield of_chosen(self._talks, chosen)


def hear(talks: Sequence[Conversation], metrics: Sequence[Metric], config: Config) -> Heard:
    """See Talks.heard."""
    found = rules.findings(talks, config)
    results = [unasked(q) for q in questions(talks, metrics, config.judge, ask=False)]
    return Heard(
        [Outline(c.id, c.path, c.runs[0], len(c.runs), len(c.turns)) for c in talks],
        found,
        [e for c in talks for e in c.evaluations],
        {metric.name: Tally.of(metric, results, found) for metric in metrics},
    )


def together(parts: Iterable[Heard], order: Callable[[Outline], int]) -> Heard:
    """What all parts come to; `order` is that of the conversations."""
    outlines, findings, evaluations = list[Outline](), list[Finding](), list[Evaluation]()
    tallies: dict[str, Tally] = {}
    for part in parts:
        outlines += part.outlines
        findings += part.findings
        evaluations += part.evaluations
        for name, tally in part.tallies.items():
            tallies[name] = tallies[name] + tally if name in tallies else tally
    return Heard(sorted(outlines, key=order), rules.in_order(findings), evaluations, tallies)


def of_chosen(talks: Sequence[Conversation], chosen: Collection[str] | None) -> Sequence[Conversation]:
    return talks if chosen is None else [talk for talk in talks if talk.runs[0] in chosen]
