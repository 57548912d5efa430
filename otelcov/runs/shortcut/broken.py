"""Regular runs in which a model could not answer: the call failed, and with it the agent that made it.

Such an agent ends there. Where it is the run's own, the run has failed; where a tool called it and went well all the
same, the run goes on. Anything else that fails - an agent that asks again, a tool that takes its agent with it - is
left to the general way.
"""

from __future__ import annotations

import numpy as np

from otelcov.runs.rules import boundaries as b
from otelcov.runs.shortcut.sketch import AGENT_, LLM_, Bools, Models, Sketch
from otelcov.runs.trace.spans import Span
from otelcov.runs.trace.tree import Node, failure

BOUNDARIES = ("error", "timeout", "rate_limit", "content_filter")
_SIGNS = {"timeout": b.TIMEOUT, "rate_limit": b.RATE, "content_filter": b.FILTER}


def check_broken(sketch: Sketch, models: Models) -> dict[str, Bools]:
    """Of each trace, which BOUNDARIES its failures are; bad where one is none of the kind above."""
    seen = {name: np.zeros(len(sketch.bad), dtype=bool) for name in BOUNDARIES}
    at = np.flatnonzero(sketch.broken & ~sketch.bad[sketch.trace])
    if not len(at):
        return seen
    _check_places(sketch, models)
    for row, place in zip(sketch.frame[at].rows(), at.tolist(), strict=True):
        trace = sketch.trace[place]
        wrong = failure(Node(Span._make(row), sketch.side))
        text = "" if wrong is None else b.reason(wrong)
        if wrong is None or b.unsaid(wrong) or b.limits(text) or b.LENGTH.search(text):
            sketch.bad[trace] = True
            continue
        seen["error"][trace] = True
        for name, sign in _SIGNS.items() if sketch.kind[place] == LLM_ else ():
            seen[name][trace] |= sign.search(text) is not None
        if sketch.kind[place] == AGENT_ and sketch.broken[sketch.top[trace]] and b.TIMEOUT.search(text):
            seen["timeout"][trace] = True
    return seen


def _check_places(sketch: Sketch, models: Models) -> None:
    """A failed call is the last of an agent that failed, and that of the run's own agent the last of all."""
    owner = sketch.above[models.at]
    last = np.full(sketch.frame.height, -1)
    last[owner] = models.at
    failed = sketch.broken[models.at]
    sketch.spoil(failed & (last[owner] != models.at), models.trace)
    sketch.spoil(failed & ~sketch.broken[owner], models.trace)
    agents = np.flatnonzero(sketch.broken & (sketch.kind == AGENT_))
    sketch.spoil((last[agents] < 0) | ~sketch.broken[last[agents]], sketch.trace[agents])
    newest = np.zeros(len(sketch.bad), dtype=np.int64)
    newest[models.trace] = models.at
    ended = np.flatnonzero(sketch.broken[sketch.top])
    sketch.bad[ended[sketch.above[newest[ended]] != sketch.top[ended]]] = True


__all__ = ["BOUNDARIES", "check_broken"]
