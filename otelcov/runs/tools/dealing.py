"""Which of the requests that an input shows each result answers: by id, else by the tool's name, else by order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from otelcov.runs.content.chat import Message, Request, Result
from otelcov.runs.trace.tree import same_name

Pairs = list[tuple[int, int]]  # places of a request and of its result


def exchanges(inputs: Sequence[Message]) -> Iterator[tuple[list[Request], list[Result]]]:
    """What an answer asked for and what came back before the next one. Messages of the assistant's in a row are one
    answer, and what it said after it had asked is another, before which nothing came back."""
    asked, came = list[Request](), list[Result]()
    before: Message | None = None
    for x in inputs:
        spoke = x.role == "assistant"
        went_on = before is not None and before.role == "assistant" and (x.requests or not asked)
        if spoke and not went_on:
            yield asked, came
            asked, came = [], []
        asked += x.requests if spoke else ()
        came += x.results
        before = x
    yield asked, came


def dealt(
    requests: Sequence[Request], results: Sequence[Result], gappy: bool = False
) -> tuple[Pairs, set[int], list[int]]:
    """Which result is of which of these requests, that share no ids; the requests of which some were answered, nobody
    can tell which; and the results that are of none of them. `gappy`: requests may be missing, so more results than
    requests are nobody can tell whose."""
    pairs, unsure, left = Pairs(), set[int](), list[int]()
    waiting = dict.fromkeys(range(len(requests)))
    kinds = dict.fromkeys((r.name, bool(r.id)) for r in sorted(results, key=lambda r: r.name is None))
    for name, known in kinds:
        came = [j for j, r in enumerate(results) if (r.name, bool(r.id)) == (name, known)]
        asked = [
            i for i in waiting if not (known and requests[i].id) and (name is None or same_name(name, requests[i].name))
        ]
        if len(came) < len(asked) or (gappy and len(came) > len(asked)):
            unsure.update(asked)
            continue
        pairs += zip(asked, came, strict=False)
        left += came[len(asked) :]
        for i in asked:
            del waiting[i]
    return pairs, unsure - {i for i, _ in pairs}, sorted(left)


@dataclass(slots=True)
class Shown:
    """A request that an input shows, where its answer begins, and the result that follows it."""

    request: Request
    place: int
    result: Result | None = None
    answered: bool = False


class Told:
    """The requests that an input shows, and which result is of which, as far as it is told there: by id, else by name,
    else by order. `single` are the results of none."""

    def __init__(self, gappy: bool = False) -> None:
        self.gappy = gappy  # messages are missing
        self.shown: list[Shown] = []
        self.single: list[Result] = []
        self._by_id: dict[str, list[Shown]] = {}
        self._asked: list[Shown] = []  # by the newest answer
        self._older: list[Shown] = []  # by those before, and not answered
        self._loose: list[Result] = []  # since the newest answer
        self._place = 0

    def ask(self, requests: list[Request], place: int, on: bool) -> None:
        """An answer that begins there, or that goes `on`."""
        if not on:
            self.deal()
            self._place = place
        for request in requests:
            self._asked.append(Shown(request, self._place))
            self._by_id.setdefault(request.id or "", []).append(self._asked[-1])
        self.shown += self._asked[len(self._asked) - len(requests) :]

    def answered(self, call_id: str) -> None:
        for s in self._by_id.get(call_id, ())[-1:]:
            s.answered = True

    def bring(self, result: Result, call_id: str | None) -> None:
        known = self._by_id.get(call_id or "", []) if call_id else []
        if not known:  # an id that no request bears tells of none
            self._loose.append(result)
        elif (s := next((s for s in known if s.result is None), None)) is not None:
            s.result, s.answered = result, True

    def deal(self) -> None:
        """What came since the newest answer without an id."""
        loose, self._loose = self._loose, []
        for some in (self._asked, self._older):
            if not loose:
                break
            waiting = [s for s in some if not s.answered]
            pairs, _, left = dealt([s.request for s in waiting], loose, self.gappy)
            for i, j in pairs:
                waiting[i].result, waiting[i].answered = loose[j], True
            loose = [loose[j] for j in left]
        self.single += loose
        self._older += [s for s in self._asked if not s.answered]
        self._asked = []
