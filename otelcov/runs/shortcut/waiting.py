"""Requests of regular traces that have no tool span: calls that have not ended, of runs that are under way.

Whoever was asked may be an agent. One that hands work over by its name does; another is at work where a model was
called since in whose conversation nothing is seen of the request (`delegating_calls` says the same of single calls).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from otelcov.runs.agents.delegating_calls import NEWEST
from otelcov.runs.agents.delegation import NAMES_SUBAGENT, bare, bears_name_of, by_argument
from otelcov.runs.content.jsontext import UNREADABLE
from otelcov.runs.content.semconv import semconv
from otelcov.runs.rules.handovers import asks, transfers
from otelcov.runs.shortcut.sketch import AGENT_, Bools, Ints, Models, Sketch
from otelcov.runs.tools.by_name import cores
from otelcov.runs.tools.handed_in import is_answer
from otelcov.runs.trace.tree import spelling


@dataclass(slots=True)
class Asked:
    """What was asked for and has no tool span: the calls that have not ended."""

    place: Ints  # among all requests
    model: Ints  # its number in `Models`
    trace: Ints
    name: pl.Series
    arguments: pl.Series
    calling: Bools  # an agent, by its name
    handed: Bools  # to an agent
    target: list[str | None]  # the agent that is handed to, as far as is known


def waiting(sketch: Sketch, models: Models, by: Ints, names: pl.Series, place: Ints) -> Asked:
    """The requests without a tool span; bad unless whoever asked is still at work and has asked for nothing since, and
    what the same answer asked for after them has no span either: else theirs may be lost."""
    done = np.setdiff1d(np.arange(len(by)), place)
    ran = np.full(len(models.at), -1)
    np.maximum.at(ran, by[done], done)
    asked, by, names = by, by[place], names[place]
    trace = models.trace[by]
    if not len(place):
        none = np.zeros(0, dtype=bool)
        sketch.spoil((sketch.kind == AGENT_) & (sketch.above < 0) & sketch.headless[sketch.trace], sketch.trace)
        return Asked(place, by, trace, names, models.said.arguments.clear(), none, none, [])
    sketch.spoil(ran[by] > place, trace)
    above = sketch.taken("parent_span_id", models.at)
    newest = pl.DataFrame({"trace": models.trace, "above": above}).select(pl.struct(pl.all()).is_last_distinct())
    gone_on = ~newest.to_series().to_numpy()[by]
    sketch.spoil(_answered_by_another(models, by, asked, pl.Series(above)), trace)
    sketch.spoil(~sketch.headless[trace] | (sketch.above[models.at[by]] >= 0), trace)
    told = models.said.arguments[place]
    sketch.spoil((told.is_null() | told.str.contains(NAMES_SUBAGENT)).fill_null(True).to_numpy(), trace)
    named = names.unique().to_list()
    special = [name for name in named if is_answer(name) or by_argument(name) or _back_or_by_place(name)]
    sketch.spoil(names.is_in(special).fill_null(True).to_numpy(), trace)
    _check_names(sketch, named)
    asking, over = (names.is_in([name for name in named if way(name)]).to_numpy() for way in (asks, transfers))
    target = _called(sketch, models, by, names, over)
    sketch.spoil(gone_on & ~over, trace)
    handed = over | (_at_work(sketch, models, by, names, place, over) & asking)
    return Asked(place, by, trace, names, told, asking & ~handed, handed, target)


def _answered_by_another(models: Models, by: Ints, asked: Ints, above: pl.Series) -> Bools:
    """Of what is still asked for: did somebody beside who asked for it say the last words of the trace?"""
    last = np.zeros(models.trace.max(initial=-1) + 1, dtype=np.int64)
    np.maximum.at(last, models.trace, np.arange(len(models.at)))
    last = last[models.trace[by]]
    beside = above[by].ne_missing(above[last]).to_numpy()
    return beside & ~np.isin(last, asked)


def _check_names(sketch: Sketch, tools: list[str | None]) -> None:
    """Bad where a span that nobody explains bears the name of one of these tools, and may have run it."""
    bare = sketch.frame["kind"].is_null()
    spelt = {spelling(name) for name in tools if name}
    named = [name for name in sketch.frame["name"].filter(bare).unique() if not spelt.isdisjoint(cores(name or ""))]
    sketch.spoil((bare & sketch.frame["name"].is_in(named)).fill_null(False).to_numpy(), sketch.trace)


def _back_or_by_place(name: str) -> bool:
    """Does a tool hand work back, or to an agent by its number?"""
    match = transfers(name)
    return match is not None and (match.group("back") is not None or match.group("to")[-1:].isdecimal())


def _called(sketch: Sketch, models: Models, by: Ints, names: pl.Series, over: Bools) -> list[str | None]:
    """The agents that these requests hand work over to, by their names: those that worked since and whose tool has not
    come. Bad where one has come that may be meant too, and where an agent has come that nothing called."""
    found = list[str | None]([None]) * len(by)
    trace = models.trace[by]
    alone = np.flatnonzero((sketch.kind == AGENT_) & (sketch.above < 0) & sketch.headless[sketch.trace])
    at = np.flatnonzero((sketch.kind == AGENT_) & np.isin(sketch.trace, trace[over]))
    agents: dict[int, dict[str, list[int]]] = {}
    for t, place, agent in zip(sketch.trace[at].tolist(), at.tolist(), sketch.taken("agent", at), strict=True):
        agents.setdefault(t, {}).setdefault(bare(agent), []).append(place)
    working, waiting = set(sketch.above[models.at].tolist()), set(alone.tolist())
    begin, end = sketch.frame["start"], sketch.taken("end", models.at[by])
    called = set[int]()
    for i in np.flatnonzero(over).tolist():
        match = transfers(names[i])
        same = agents.get(int(trace[i]), {}).get(bare(match.group("to")), []) if match is not None else []
        if len(same) == 1 and same[0] in waiting and same[0] in working and begin[same[0]] >= end[i]:
            found[i] = sketch.frame["agent"][same[0]]
            called.add(same[0])
        elif same:
            sketch.bad[trace[i]] = True
    sketch.bad[sketch.trace[[place for place in alone.tolist() if place not in called]]] = True
    return found


def _at_work(sketch: Sketch, models: Models, by: Ints, names: pl.Series, place: Ints, over: Bools) -> Bools:
    """Which of these requests somebody may be at work for: a model was called since, in whose conversation nothing is
    seen of them. Bad where something is (of those that hand work `over`, what came of them), or where that was an
    agent's who bears the tool's name."""
    found = np.zeros(len(place), dtype=bool)
    trace = models.trace[by]
    ends = np.searchsorted(models.trace, trace, side="right")
    sketch.bad |= np.bincount(trace, ends - by, minlength=len(sketch.bad)) > _MOST
    some = np.flatnonzero((by + 1 < ends) & ~sketch.bad[trace])
    if not len(some):
        return found
    which = np.flatnonzero(np.isin(models.trace, trace[some]))
    at = models.at[which]
    inputs = sketch.side.texts["input_messages"][sketch.taken("row", at)].to_list()
    facts = zip(inputs, sketch.owners(at), sketch.taken("start", at), strict=True)
    told = dict(zip(which.tolist(), facts, strict=True))
    asked = sketch.taken("end", models.at[by[some]]).to_list()
    for i, asker, since, end in zip(some.tolist(), by[some].tolist(), asked, ends[some].tolist(), strict=True):
        id, name = models.said.ids[place[i]], names[i]
        for number in range(asker + 1, end):
            text, agent, start = told[number]
            shown = id in (text or "") and not (over[i] and _only_asked(text, id))
            if shown or (start >= since and bears_name_of(name, agent)):
                sketch.bad[models.trace[asker]] = True
            elif start >= since and not found[i] and number >= end - NEWEST:
                found[i] = True
                sketch.bad[models.trace[asker]] |= not _readable(text)
    return found


_MOST = 2**14  # later model calls that requests of one trace are held against


def _only_asked(text: str | None, id: str) -> bool:
    """Is a call of this id asked for in a conversation, and nothing said of what came of it?"""
    try:
        parts = [part for message in semconv(text or "") for part in message.parts]
    except UNREADABLE:
        return False
    return bool(id) and all(part.type == "tool_call" for part in parts if part.id == id)


def _readable(text: str | None) -> bool:
    try:
        return bool(text and semconv(text))
    except UNREADABLE:
        return False
