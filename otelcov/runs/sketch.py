"""Regular traces as tables side by side: model answers, and the tool calls that they asked for.

Only JSON is looked at value by value. A trace that turns out not to be as regular as its columns looked is marked in
`Sketch.bad` and left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from otelcov.runs import answers, columns
from otelcov.runs.boundaries import GAVE_UP
from otelcov.runs.delegating_calls import NEWEST
from otelcov.runs.delegation import SUBAGENT, asks, bare, bears_name_of, by_argument, delegates, transfers
from otelcov.runs.handed_in import is_answer, says_returned
from otelcov.runs.joining import Joints, called_by_name
from otelcov.runs.jsontext import UNREADABLE, hidden
from otelcov.runs.prose import final_answer, own_words
from otelcov.runs.semconv import semconv, semconv_messages
from otelcov.runs.spans import Side
from otelcov.runs.tree import placeholder, spelling

NONE_, AGENT_, LLM_, TOOL_ = 0, 1, 2, 3
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Sketch:
    """A sorted span table and what its columns alone tell. Positions are rows of that table."""

    frame: pl.DataFrame
    side: Side
    trace: Ints  # of each span, the number of its trace
    kind: npt.NDArray[Any]
    above: Ints  # the nearest ancestor that is a step, -1 for none
    failed: Bools
    broken: Bools  # model calls that failed, and agents
    root: Ints  # of each trace
    top: Ints  # of each trace, the agent in charge: the root, or below one that is no step
    first: Ints  # of each trace, its first span
    headless: Bools  # of each trace: its root has not come, and `root` is the first span below it
    gaps: Ints  # of each headless trace, how many parents have not come
    torn: Bools  # of each trace: `root` names a parent that has not come
    contentless: Bools  # of each trace
    bad: Bools  # of each trace

    def spoil(self, mask: Bools, traces: Ints) -> None:
        self.bad[traces[mask]] = True

    def taken(self, column: str, at: Ints) -> pl.Series:
        return self.frame[column].gather(at)

    def owners(self, at: Ints) -> pl.Series:
        """The agents to which these spans belong; null where that has not come."""
        above = self.above[at]
        owner = self.taken("agent", np.maximum(above, 0))
        return owner.set(pl.Series(above < 0), None) if (above < 0).any() else owner


@dataclass(slots=True)
class Models:
    """The model calls of the traces that are left, in order."""

    at: Ints
    trace: Ints
    turn: Ints  # its place in its run
    said: answers.Answers


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
    arguments: list[str | None]
    place: Ints  # among all requests
    open: Asked


@dataclass(slots=True)
class Asked:
    """What was asked for and has no tool span: the calls that have not ended."""

    place: Ints  # among all requests
    model: Ints  # its number in `Models`
    trace: Ints
    name: pl.Series
    arguments: list[str | None]
    calling: Bools  # an agent, by its name
    handed: Bools  # to an agent
    target: list[str | None]  # the agent that is handed to, as far as is known


def check_agents(sketch: Sketch, where: Joints) -> None:
    agent = sketch.frame["agent"]
    dubious = [name for name in agent.unique().to_list() if name is not None and placeholder(name)]
    named = (sketch.kind == AGENT_) | sketch.headless[sketch.trace]
    sketch.spoil(named & agent.is_in(dubious).fill_null(False).to_numpy(), sketch.trace)
    forms: dict[str, list[str]] = {}
    for name in agent.unique().drop_nulls().to_list():
        forms.setdefault(spelling(name), []).append(name)
    several = [name for names in forms.values() if len(names) > 1 for name in names]
    sketch.spoil(agent.is_in(several).fill_null(False).to_numpy(), sketch.trace)
    if where.hosted:
        names = sketch.taken("agent", sketch.top)
        hosted = [name for name in names.unique().to_list() if called_by_name(name, where)]
        sketch.bad |= names.is_in(hosted).fill_null(False).to_numpy()
    tools = np.flatnonzero(sketch.kind == TOOL_)
    wrapped = sketch.taken("result", tools).str.contains("tool_call_id", literal=True).fill_null(False)
    sketch.spoil(wrapped.to_numpy(), sketch.trace[tools])


def models_of(sketch: Sketch) -> Models:
    at = np.flatnonzero((sketch.kind == LLM_) & ~sketch.bad[sketch.trace])
    trace = sketch.trace[at]
    hushed = sketch.contentless[trace]
    outputs, finishes = (sketch.taken(name, at).to_list() for name in ("output_messages", "finish"))
    said = answers.read(outputs, finishes, hushed.tolist())
    asked = sketch.side.texts["input_messages"].gather(sketch.frame["row"].gather(at))
    failed = unanswered(sketch, at)
    sketch.spoil(~np.where(sketch.broken[at], failed, np.array(said.plain, dtype=bool)), trace)
    plain = asked.str.starts_with('[{"') & asked.str.contains('"role"', literal=True)
    sketch.spoil(~plain.fill_null(False).to_numpy() & ~hushed, trace)
    start = sketch.taken("start", at).to_numpy()
    again = np.zeros(len(at), dtype=bool)
    again[1:] = (start[1:] == start[:-1]) & (trace[1:] == trace[:-1])  # their order is not in the times alone
    sketch.spoil(again, trace)
    return Models(at, trace, columns.places(trace), said)


def unanswered(sketch: Sketch, at: Ints) -> Bools:
    """Which of these model calls failed and tell of nothing but the request."""
    told = pl.col("output_messages", "output", "finish").is_not_null()
    told = pl.any_horizontal(told) | pl.col("request_model").is_null()
    failed: Bools = sketch.broken[at] & ~sketch.frame[at].select(told).to_series().to_numpy()
    return failed


def texts_of(sketch: Sketch, models: Models) -> tuple[list[str | None], list[str | None]]:
    """What each trace was asked and what it answered, null without content; bad where that is not plain."""
    traces = len(sketch.bad)
    spoken, told = list[str | None]([None]) * traces, list[str | None]([None]) * traces
    last = np.zeros(traces, dtype=np.int64)
    last[models.trace] = np.arange(len(models.at))
    good = np.flatnonzero(~sketch.bad & ~sketch.contentless)
    inputs = sketch.taken("input", sketch.top[good]).to_list()
    outputs = sketch.taken("output", sketch.root[good]).to_list()
    ends = [models.said.text[number] for number in last[good].tolist()]
    unsaid = sketch.broken[sketch.top[good]].tolist()
    headless = sketch.headless[good].tolist()
    below = sketch.above[models.at[last[good]]] != sketch.top[good]  # an agent that was called spoke last
    if any(headless):
        own = np.flatnonzero(~sketch.headless[models.trace] | (sketch.above[models.at] < 0))
        last[models.trace[own]] = own  # not of an agent that a tool called
        raws = sketch.side.texts["input_messages"].gather(sketch.taken("row", sketch.root[good]))
        inputs = [raw if cut else asked for cut, raw, asked in zip(headless, raws, inputs, strict=True)]
        asking = set(models.said.asked_by)
    for t, cut, asked, answer, number, end, other, failed in zip(
        good.tolist(), headless, inputs, outputs, last[good].tolist(), ends, below.tolist(), unsaid, strict=True
    ):
        text = models.said.text[number]
        question, reply = _spoken(asked), final_answer(text) if cut else _said(answer, text)
        if failed or (cut and number in asking):
            reply = None
        if (
            question is None
            or hidden(question, reply, end)
            or (not cut and not failed and (reply is None or other))
            or _gave_up(reply)
            or _gave_up(end)
            or says_returned(reply)
        ):
            sketch.bad[t] = True
        else:
            spoken[t], told[t] = question, reply
    return spoken, told


def _gave_up(text: str | None) -> bool:
    return text is not None and GAVE_UP.match(text) is not None


def _spoken(raw: str | None) -> str | None:
    """The newest user message, where the root's input is plainly a list of messages."""
    plain = _single(raw)
    if plain is not None and plain[0] == "user":
        return own_words(plain[1])
    for message in reversed((semconv_messages(raw) if raw else None) or ()):
        if message.role == "user" and not message.results and message.text is not None:
            return own_words(message.text)
    return None


def _said(raw: str | None, text: str | None) -> str | None:
    """The root's answer, else the last model's."""
    if not raw:
        return final_answer(text)
    if raw == text and raw[0] not in '[{"':
        return raw if final_answer(raw) == raw else None
    plain = _single(raw)
    if plain is not None and plain[0] in ("assistant", "user") and "Call(" not in plain[1]:
        return final_answer(plain[1])
    found = semconv_messages(raw)
    if found is None or len(found) != 1 or found[0].role not in ("assistant", "user"):
        return None
    return None if found[0].text is None else final_answer(found[0].text)


def _single(raw: str | None) -> tuple[str, str] | None:
    """Role and text of the one message of one text part, the usual case; None for any other."""
    if not raw or not raw.startswith('[{"'):
        return None
    try:
        found = semconv(raw)
    except UNREADABLE:
        return None
    if len(found) != 1 or len(found[0].parts) != 1:
        return None
    part = found[0].parts[0]
    return (found[0].role, part.content) if part.type == "text" and part.content is not None else None


def calls_of(sketch: Sketch, models: Models) -> Calls:
    """Each request with the one tool span that bears its id; bad where the two do not tell the same."""
    frame, said = sketch.frame, models.said
    spans = np.flatnonzero((sketch.kind == TOOL_) & ~sketch.bad[sketch.trace])
    tools = pl.DataFrame({"trace": sketch.trace[spans], "id": sketch.taken("call_id", spans), "at": spans})
    sketch.spoil(tools.select(pl.struct("trace", "id").is_duplicated()).to_series().to_numpy(), sketch.trace[spans])
    by = np.array(said.asked_by, dtype=np.int64)
    asked = pl.DataFrame({"trace": models.trace[by], "id": pl.Series(said.ids, dtype=pl.String), "name": said.names})
    found = asked.join(tools.unique(["trace", "id"]), on=["trace", "id"], how="left", maintain_order="left")["at"]
    open_ = found.is_null().to_numpy()
    waiting = _open(sketch, models, by, asked["name"], np.flatnonzero(open_))
    place = np.flatnonzero(~open_)
    by, at, asked = by[place], found.gather(place).to_numpy(), asked[place]
    trace, arguments = models.trace[by], [said.arguments[i] for i in place.tolist()]
    owner = sketch.owners(models.at[by])
    name = frame["tool"].gather(at)
    sketch.spoil(asked["name"].ne_missing(name).to_numpy(), trace)
    sketch.spoil(owner.ne_missing(sketch.owners(at)).to_numpy(), trace)
    if sketch.headless.any():
        sketch.spoil(_apart(sketch, models.at[by], at), trace)
        owner = pl.select(pl.coalesce(owner, frame["agent"].gather(at))).to_series()
    requests, executed = (np.bincount(some, minlength=len(sketch.bad)) for some in (trace, sketch.trace[spans]))
    sketch.bad |= requests != executed
    sketch.spoil(pl.Series(at).is_duplicated().to_numpy() & ~sketch.bad[trace], trace)
    ended = np.zeros(len(sketch.bad), dtype=np.int64)
    ended[models.trace] = models.turn
    pending = models.turn[by] == ended[trace]  # asked for, and no answer after it
    sketch.spoil(pending & ~sketch.headless[trace], trace)
    child = np.full(frame.height, -1, dtype=np.int64)
    inner = np.flatnonzero((sketch.kind == AGENT_) & (sketch.above >= 0))
    child[sketch.above[inner]] = inner
    child = child[at]
    target = frame["agent"].gather(np.maximum(child, 0)).set(pl.Series(child < 0), None)
    sketch.spoil((target == owner).fill_null(False).to_numpy(), trace)
    sketch.spoil((child >= 0) & sketch.failed[at], trace)
    for texts in (pl.Series(arguments, dtype=pl.String), sketch.taken("arguments", at)):
        sketch.spoil((child < 0) & texts.str.contains(SUBAGENT, literal=True).fill_null(False).to_numpy(), trace)
    special = [n for n in set(said.names) if is_answer(n) or delegates(n)]
    if special:
        sketch.spoil((child < 0) & name.is_in(special).fill_null(True).to_numpy(), trace)
    kept = np.flatnonzero(~sketch.bad[trace])
    return Calls(
        at[kept],
        by[kept],
        trace[kept],
        child[kept],
        name.gather(kept),
        owner.gather(kept),
        target.gather(kept),
        [arguments[i] for i in kept.tolist()],
        place[kept],
        waiting,
    )


def _open(sketch: Sketch, models: Models, by: Ints, names: pl.Series, place: Ints) -> Asked:
    """The requests without a tool span; bad unless whoever asked is still at work and has asked for nothing since, and
    what the same answer asked for after them has no span either: else theirs may be lost."""
    done = np.setdiff1d(np.arange(len(by)), place)
    ran = np.full(len(models.at), -1)
    np.maximum.at(ran, by[done], done)
    by, names = by[place], names.gather(place)
    trace = models.trace[by]
    if not len(place):
        none = np.zeros(0, dtype=bool)
        sketch.spoil((sketch.kind == AGENT_) & (sketch.above < 0) & sketch.headless[sketch.trace], sketch.trace)
        return Asked(place, by, trace, names, [], none, none, [])
    sketch.spoil(ran[by] > place, trace)
    above = sketch.taken("parent_span_id", models.at)
    newest = pl.DataFrame({"trace": models.trace, "above": above}).select(pl.struct(pl.all()).is_last_distinct())
    gone_on = ~newest.to_series().to_numpy()[by]
    sketch.spoil(~sketch.headless[trace] | (sketch.above[models.at[by]] >= 0), trace)
    arguments = [models.said.arguments[i] for i in place.tolist()]
    told = pl.Series(arguments, dtype=pl.String)
    sketch.spoil((told.is_null() | told.str.contains(SUBAGENT, literal=True)).fill_null(True).to_numpy(), trace)
    named = names.unique().to_list()
    special = [name for name in named if is_answer(name) or by_argument(name) or _back_or_by_place(name)]
    sketch.spoil(names.is_in(special).fill_null(True).to_numpy(), trace)
    asking, over = (names.is_in([name for name in named if way(name)]).to_numpy() for way in (asks, transfers))
    target = _called(sketch, models, by, names, over)
    sketch.spoil(gone_on & ~over, trace)
    handed = over | (_at_work(sketch, models, by, names, place, over) & asking)
    return Asked(place, by, trace, names, arguments, asking & ~handed, handed, target)


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
    ends = np.searchsorted(models.trace, models.trace[by], side="right")
    some = np.flatnonzero((by + 1 < ends) & ~sketch.bad[models.trace[by]])
    if not len(some):
        return found
    which = np.flatnonzero(np.isin(models.trace, models.trace[by[some]]))
    at = models.at[which]
    inputs = sketch.side.texts["input_messages"].gather(sketch.taken("row", at)).to_list()
    facts = zip(inputs, sketch.owners(at), sketch.taken("start", at), strict=True)
    told = dict(zip(which.tolist(), facts, strict=True))
    asked = sketch.taken("end", models.at[by[some]]).to_list()
    for i, asker, since, end in zip(some.tolist(), by[some].tolist(), asked, ends[some].tolist(), strict=True):
        id = models.said.ids[place[i]]
        for number in range(asker + 1, end):
            text, agent, start = told[number]
            shown = id in (text or "") and not (over[i] and _only_asked(text, id))
            if shown or (start >= since and bears_name_of(names[i], agent)):
                sketch.bad[models.trace[asker]] = True
            elif start >= since and not found[i] and number >= end - NEWEST:
                found[i] = True
                sketch.bad[models.trace[asker]] |= not _readable(text)
    return found


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


def _apart(sketch: Sketch, asking: Ints, at: Ints) -> Bools:
    """Whether a model call and the tool that it asked for are parts of different agents that have not come."""
    here = sketch.headless[sketch.trace[at]] & (sketch.above[at] < 0)
    above = [sketch.taken("parent_span_id", some) for some in (asking, at)]
    found: Bools = here & above[0].ne_missing(above[1]).to_numpy()
    return found
