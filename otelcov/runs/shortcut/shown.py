"""Regular traces in which a model was shown a request that none of the answers holds: who asked was lost, perhaps."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from otelcov.ground.masks import true
from otelcov.runs.content.semconv import semconv_messages
from otelcov.runs.shortcut.sketch import Models, Sketch


def check_shown(sketch: Sketch, models: Models) -> None:
    """Bad where the newest call of an agent was shown such a request since its user's last words."""
    agent = sketch.above[models.at]
    own = np.flatnonzero((agent >= 0) & ~(sketch.bad | sketch.headless | sketch.contentless)[models.trace])
    newest = np.full(sketch.frame.height, -1, dtype=np.int64)
    newest[agent[own]] = own
    before = np.bincount(agent[own], minlength=len(newest)) - 1
    agents = np.flatnonzero(newest >= 0)
    at = newest[agents]
    asked = sketch.side.texts["input_messages"][sketch.taken("row", models.at[at])]
    answers = asked.str.count_matches(_ANSWER, literal=True).fill_null(0).to_numpy()
    more = np.flatnonzero((answers == 0) | (answers > before[agents]))
    for place in more[true(asked[more].str.contains(_REQUEST))].tolist():
        trace = int(models.trace[at[place]])
        sketch.bad[trace] |= _unknown(asked[place], _known(models, trace))


_ANSWER = '"assistant"'
_REQUEST = r"(?i)tool_?(?:call|use)|function_?call"


def _known(models: Models, trace: int) -> set[str | None]:
    """The ids of what the models of a trace asked for."""
    first, end = (int(np.searchsorted(models.trace, trace, side=side)) for side in ("left", "right"))
    by = models.said.asked_by
    start, stop = (bisect_left(by, bound) for bound in (first, end))
    return set(models.said.ids[start:stop])


def _unknown(raw: str, known: set[str | None]) -> bool:
    messages = semconv_messages(raw)
    if messages is None:
        return True
    at = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].role == "user" and messages[n].text), 0)
    return any(r.id is None or r.id not in known for message in messages[at:] for r in message.requests)
