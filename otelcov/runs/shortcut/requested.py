"""Regular traces, continued: what the models asked for, each request with the tool span that bears its id."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from otelcov.ground.masks import among, missing, true
from otelcov.runs.agents.delegation import NAMES_SUBAGENT, delegates
from otelcov.runs.shortcut.sketch import AGENT_, TOOL_, Bools, Ints, Models, Sketch
from otelcov.runs.shortcut.waiting import Asked, waiting
from otelcov.runs.tools.handed_in import is_answer
from otelcov.runs.trace.spans import Span
from otelcov.runs.trace.tree import Node, failure


@dataclass(slots=True)
class Calls:
    """What the model calls asked for, in order: each is one tool span, which may be the call of an agent."""

    at: Ints
    model: Ints  # its number in `Models`
    trace: Ints
    child: Ints  # the agent span that the tool span holds, -1 for none
    name: pl.Series
    agent: pl.Series
    target: pl.Series  # the agent called, null for none
    arguments: pl.Series
    place: Ints  # among all requests
    open: Asked


def calls_of(sketch: Sketch, models: Models) -> Calls:
    """Each request with the one tool span that bears its id; bad where the two do not tell the same."""
    frame, said = sketch.frame, models.said
    spans = np.flatnonzero((sketch.kind == TOOL_) & ~sketch.bad[sketch.trace])
    tools = pl.DataFrame({"trace": sketch.trace[spans], "id": sketch.taken("call_id", spans), "at": spans})
    sketch.spoil(tools.select(pl.struct("trace", "id").is_duplicated()).to_series().to_numpy(), sketch.trace[spans])
    by = np.array(said.asked_by, dtype=np.int64)
    asked = pl.DataFrame({"trace": models.trace[by], "id": pl.Series(said.ids, dtype=pl.String), "name": said.names})
    found = asked.join(tools.unique(["trace", "id"]), on=["trace", "id"], how="left", maintain_order="left")["at"]
    without = missing(found)
    left = waiting(sketch, models, by, asked["name"], np.flatnonzero(without))
    place = np.flatnonzero(~without)
    by, at, asked = by[place], found[place].to_numpy(), asked[place]
    trace, arguments = models.trace[by], said.arguments[place]
    owner = sketch.owners(models.at[by])
    name = frame["tool"][at]
    sketch.spoil(asked["name"].ne_missing(name).to_numpy(), trace)
    sketch.spoil(owner.ne_missing(sketch.owners(at)).to_numpy(), trace)
    if sketch.headless.any():
        sketch.spoil(_apart(sketch, models.at[by], at), trace)
        owner = pl.select(pl.coalesce(owner, frame["agent"][at])).to_series()
    requests, executed = (np.bincount(some, minlength=len(sketch.bad)) for some in (trace, sketch.trace[spans]))
    sketch.bad |= requests != executed
    sketch.spoil((np.bincount(at, minlength=frame.height) > 1)[at] & ~sketch.bad[trace], trace)
    ended = np.zeros(len(sketch.bad), dtype=np.int64)
    ended[models.trace] = models.turn
    pending = models.turn[by] == ended[trace]  # asked for, and no answer after it
    sketch.spoil(pending & ~sketch.headless[trace], trace)
    child = np.full(frame.height, -1, dtype=np.int64)
    inner = np.flatnonzero((sketch.kind == AGENT_) & (sketch.above >= 0))
    child[sketch.above[inner]] = inner
    child = child[at]
    sketch.spoil(_unanswered(sketch, models, by, trace[child >= 0]), trace)
    target = frame["agent"][np.maximum(child, 0)].set(pl.Series(child < 0), None)
    sketch.spoil(true(target == owner), trace)
    sketch.spoil((child >= 0) & sketch.failed[at], trace)
    broken = np.flatnonzero((child >= 0) & sketch.failed[np.maximum(child, 0)])
    for t, row in zip(trace[broken].tolist(), frame[child[broken]].rows(), strict=True):
        sketch.bad[t] |= failure(Node(Span._make(row), sketch.side)) is None
    wrong = (child < 0) & sketch.failed[at]
    if wrong.any():
        ways = name.filter(pl.Series(child >= 0)).unique().to_list()
        sketch.spoil(wrong & among(name, ways, unknown=True), trace)
    for texts in (arguments, sketch.taken("arguments", at)):
        sketch.spoil((child < 0) & true(texts.str.contains(NAMES_SUBAGENT)), trace)
    special = [n for n in set(said.names) if is_answer(n) or delegates(n)]
    if special:
        sketch.spoil((child < 0) & among(name, special, unknown=True), trace)
    kept = np.flatnonzero(~sketch.bad[trace])
    return Calls(
        at[kept],
        by[kept],
        trace[kept],
        child[kept],
        name[kept],
        owner[kept],
        target[kept],
        arguments[kept],
        place[kept],
        left,
    )


def _unanswered(sketch: Sketch, models: Models, by: Ints, calling: Ints) -> Bools:
    """Of what these model calls asked for, which their agent put out nothing after, in traces where one calls another:
    its answer may be lost."""
    agent = sketch.above[models.at]
    own = agent >= 0
    newest = np.full(sketch.frame.height, -1, dtype=np.int64)
    newest[agent[own]] = models.turn[own]
    several = np.zeros(len(sketch.bad), dtype=bool)
    several[calling] = True
    found: Bools = own[by] & (models.turn[by] == newest[agent[by]]) & several[models.trace[by]]
    return found


def _apart(sketch: Sketch, asking: Ints, at: Ints) -> Bools:
    """Whether a model call and the tool that it asked for are parts of different agents that have not come."""
    here = sketch.headless[sketch.trace[at]] & (sketch.above[at] < 0)
    above = [sketch.taken("parent_span_id", some) for some in (asking, at)]
    found: Bools = here & above[0].ne_missing(above[1]).to_numpy()
    return found
