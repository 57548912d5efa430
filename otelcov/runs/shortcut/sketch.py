"""Regular traces as tables side by side: what their columns alone tell, model answers, and what was asked and answered.

Only JSON is looked at value by value. A trace that turns out not to be as regular as its columns looked is marked in
`Sketch.bad` and left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from otelcov.ground import columns
from otelcov.ground.masks import among, true
from otelcov.runs.content.jsontext import UNREADABLE, hidden
from otelcov.runs.content.prose import final_answer, own_words
from otelcov.runs.content.semconv import semconv, semconv_messages
from otelcov.runs.content.shortened import shortened
from otelcov.runs.joining.join import Joints, called_by_name
from otelcov.runs.rules.boundaries import GAVE_UP
from otelcov.runs.shortcut import answers
from otelcov.runs.tools.handed_in import says_returned
from otelcov.runs.trace.spans import Side
from otelcov.runs.trace.tree import placeholder, spelling
from otelcov.runs.whole.asked_text import several_speak

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
    work: Ints  # of each trace, what alone lies in the frames around it: `top`, or what says nothing and holds that
    top: Ints  # of each trace, the agent in charge: the root, or below one that is no step
    first: Ints  # of each trace, its first span
    headless: Bools  # of each trace: its root has not come, and `root` is the first span below it
    gaps: Ints  # of each headless trace, how many parents have not come
    torn: Bools  # of each trace: `root` names a parent that has not come
    cut: Bools  # … and is no request from afar
    contentless: Bools  # of each trace
    bad: Bools  # of each trace

    def spoil(self, mask: Bools, traces: Ints) -> None:
        self.bad[traces[mask]] = True

    def taken(self, column: str, at: Ints) -> pl.Series:
        return self.frame[column][at]

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
    raw: list[str | None]  # the messages that it put out
    said: answers.Answers


def check_agents(sketch: Sketch, where: Joints) -> None:
    agent = sketch.frame["agent"]
    names = [name for name in agent.unique().to_list() if name is not None]
    dubious = [name for name in names if placeholder(name)]
    named = (sketch.kind == AGENT_) | sketch.headless[sketch.trace]
    sketch.spoil(named & among(agent, dubious), sketch.trace)
    forms: dict[str, list[str]] = {}
    for name in names:
        forms.setdefault(spelling(name), []).append(name)
    several = [name for names in forms.values() if len(names) > 1 for name in names]
    sketch.spoil(among(agent, several), sketch.trace)
    if where.hosted:
        hosted = [name for name in names if called_by_name(name, where)]
        sketch.bad |= among(sketch.taken("agent", sketch.top), hosted)
    tools = np.flatnonzero(sketch.kind == TOOL_)
    wrapped = sketch.taken("result", tools).str.contains("tool_call_id", literal=True)
    sketch.spoil(true(wrapped), sketch.trace[tools])


def models_of(sketch: Sketch) -> Models:
    at = np.flatnonzero((sketch.kind == LLM_) & ~sketch.bad[sketch.trace])
    trace = sketch.trace[at]
    hushed = sketch.contentless[trace]
    outputs, finishes = (sketch.taken(name, at).to_list() for name in ("output_messages", "finish"))
    said = answers.read(outputs, finishes, hushed.tolist())
    asked = sketch.side.texts["input_messages"][sketch.frame["row"][at]]
    failed = unanswered(sketch, at)
    sketch.spoil(~np.where(sketch.broken[at], failed, np.array(said.plain, dtype=bool)), trace)
    text = pl.col(asked.name)
    plain = text.str.starts_with('[{"') & text.str.ends_with("]") & text.str.contains('"role"', literal=True)
    sketch.spoil(~true(asked.to_frame().select(plain).to_series()) & ~hushed, trace)
    start = sketch.taken("start", at).to_numpy()
    again = np.zeros(len(at), dtype=bool)
    again[1:] = (start[1:] == start[:-1]) & (trace[1:] == trace[:-1])  # their order is not in the times alone
    sketch.spoil(again, trace)
    return Models(at, trace, columns.places(trace), outputs, said)


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
    outputs = sketch.taken("output", sketch.top[good]).to_list()
    ends = [models.said.text[number] for number in last[good].tolist()]
    unsaid = sketch.broken[sketch.top[good]].tolist()
    headless = sketch.headless[good].tolist()
    below = sketch.above[models.at[last[good]]] != sketch.top[good]  # an agent that was called spoke last
    if any(headless):
        own = np.flatnonzero(~sketch.headless[models.trace] | (sketch.above[models.at] < 0))
        last[models.trace[own]] = own  # not of an agent that a tool called
        raws = sketch.side.texts["input_messages"][sketch.taken("row", sketch.root[good])]
        inputs = [raw if cut else asked for cut, raw, asked in zip(headless, raws, inputs, strict=True)]
        asking = set(models.said.asked_by)
    for t, cut, asked, answer, number, end, other, failed in zip(
        good.tolist(), headless, inputs, outputs, last[good].tolist(), ends, below.tolist(), unsaid, strict=True
    ):
        text = models.said.text[number]
        alike = cut or (answer == models.raw[number] and _in_one_part(answer))
        question, reply = _spoken(asked), final_answer(text) if alike else _said(answer, text)
        if failed or (cut and number in asking):
            reply = None
        if (
            question is None
            or (not question.strip() and (failed or not end or _of_several(asked)))  # somebody may have emptied it
            or hidden(question, reply, end)
            or shortened(question)
            or shortened(reply)
            or (not cut and not failed and (reply is None or other))
            or _gave_up(reply)
            or _gave_up(end)
            or says_returned(reply)
        ):
            sketch.bad[t] = True
        else:
            spoken[t], told[t] = question, reply
    return spoken, told


def _in_one_part(raw: str | None) -> bool:
    return raw is not None and raw.count('"type"') == 1


def _of_several(raw: str | None) -> bool:
    return raw is not None and raw.count('"role"') > 1


def _gave_up(text: str | None) -> bool:
    return text is not None and GAVE_UP.match(text) is not None


def _spoken(raw: str | None) -> str | None:
    """The newest user message, where the root's input is plainly a list of messages."""
    plain = _single(raw)
    if plain is not None and plain[0] == "user":
        return own_words(plain[1])
    found = (semconv_messages(raw) if raw else None) or []
    for place, message in reversed([] if several_speak(found) else list(enumerate(found))):
        if message.role == "user" and not message.results and message.text is not None:
            answered = any(x.role == "assistant" for x in found[:place])  # it may have been sent back
            return None if answered else own_words(message.text)
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
    if found[0].requests and found[0].text != text:  # said before it asked, perhaps
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
