"""What came of the tool calls of regular traces: arguments, results, errors, states."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.masks import missing, true
from otelcov.runs.content.chat import role_of
from otelcov.runs.content.jsontext import UNREADABLE, to_json
from otelcov.runs.content.semconv import brought, semconv
from otelcov.runs.content.shortened import may_be_shortened, shortened
from otelcov.runs.content.wrapped import arguments_of, result_of
from otelcov.runs.rules.softerrors import SIGNS, awaits_leave, nobodys, soft_error
from otelcov.runs.shortcut import answers
from otelcov.runs.shortcut.requested import Calls
from otelcov.runs.shortcut.sketch import Bools, Ints, Models, Sketch
from otelcov.runs.tools.call_status import UNNAMED
from otelcov.runs.tools.leave import needs_a_look
from otelcov.runs.trace.spans import Span
from otelcov.runs.trace.tree import Node, failure
from otelcov.runs.whole.states import of_attributes, shape


class Outcomes:
    """What came of the calls that ran a tool, in order, and what is to be told of their runs."""

    def __init__(self, sketch: Sketch, models: Models, calls: Calls, config: Config) -> None:
        soft = config.runs.soft_errors
        self.number = np.flatnonzero(calls.child < 0)  # in `Calls`
        self.trace = calls.trace[self.number]
        self.recovered: set[int] = set()
        at = calls.at[self.number]
        self.arguments = calls.arguments[self.number]
        self.types: list[str | None] = [None] * len(at)  # of the failed ones, their error type
        raws = sketch.taken("result", at)
        plain = ~missing(self.arguments) & true(_plain(raws))
        places = np.flatnonzero(plain)
        texts = raws[places]
        self.results = pl.Series([None], dtype=pl.String).new_from_index(0, len(at))
        self.results = self.results.scatter(places, answers.quoted(texts))
        forms = ["text" if found else "" for found in plain.tolist()]
        for i in np.flatnonzero(sketch.contentless[self.trace]).tolist():
            forms[i] = shape(None)
        doubtful = np.arange(len(texts)) if soft else np.flatnonzero(texts.str.contains_any(SIGNS).to_numpy())
        some = zip(places[doubtful].tolist(), texts[doubtful].to_list(), strict=True)
        spoilt = [
            i
            for i, text in some
            if soft_error(text, None, soft) or awaits_leave(text) or nobodys(text, calls.name[int(self.number[i])])
        ]  # rare; the general way weighs it with more care
        failed = sketch.failed[at]
        hard = np.flatnonzero(failed)
        spoilt = sorted(set(spoilt).difference(hard.tolist()))
        seen = _Seen(sketch, models)
        spoilt += self._shortened(sketch, calls, seen, places, texts)
        spoilt += self._others(sketch, seen, calls, [i for i, form in enumerate(forms) if not form], forms, soft)
        for i, row in zip(hard.tolist(), sketch.frame[at[hard]].rows(), strict=True):
            wrong = failure(Node(Span._make(row), sketch.side))
            self.types[i] = wrong[0] if wrong is not None else None
            unnamed = wrong is None or wrong[0] in ("", *UNNAMED) or len(wrong[0].split()) > 1  # `<class …>`, or words
            name = calls.name[int(self.number[i])]
            if unnamed or needs_a_look(wrong or ("", ""), name) or nobodys(raws[i], name):
                spoilt.append(i)
        sketch.bad[self.trace[spoilt]] = True
        unsaid = of_attributes(dict.fromkeys(config.coverage.state_attributes))  # who has them is not regular
        self.states = self._states(sketch, calls, forms, failed) + unsaid

    def _shortened(self, sketch: Sketch, calls: Calls, seen: _Seen, places: Ints, texts: pl.Series) -> list[int]:
        """The calls, at these places, whose result a program may have cut and no model was told alike."""
        perhaps = np.flatnonzero(true(may_be_shortened(texts)))
        some = zip(places[perhaps].tolist(), texts[perhaps].to_list(), strict=True)
        found = {i: text for i, text in some if shortened(text, bare=True)}
        which = list(found)
        if not which:
            return []
        number = self.number[which]
        agents, ids = calls.agent[number].to_list(), sketch.taken("call_id", calls.at[number]).to_list()
        told = map(seen.result, self.trace[which].tolist(), agents, ids)
        return [i for i, result in zip(which, told, strict=True) if result != found[i]]

    def _others(
        self, sketch: Sketch, seen: _Seen, calls: Calls, which: list[int], forms: list[str], soft: tuple[str, ...]
    ) -> list[int]:
        """Take down the calls whose result is no plain text or whose arguments stand in the span alone; which are not
        regular."""
        number = self.number[which]
        at = calls.at[number]
        spoilt = list[int]()
        arguments, results = list[str | None](), list[str | None]()
        alone = sketch.headless[self.trace[which]] & (sketch.above[at] < 0)  # whose call it was has not come
        for i, trace, agent, name, id, raw, asked, own, failed, orphan in zip(
            which,
            self.trace[which].tolist(),
            calls.agent[number].to_list(),
            calls.name[number].to_list(),
            sketch.taken("call_id", at).to_list(),
            sketch.taken("result", at).to_list(),
            self.arguments[which].to_list(),
            sketch.taken("arguments", at).to_list(),
            sketch.failed[at].tolist(),
            alone.tolist(),
            strict=True,
        ):
            found = arguments_of(own)[0] if asked is None else None
            arguments.append(asked if found is None else to_json(found))
            told: Any = raw if raw is not None else seen.result(trace, agent, id)
            value, flagged = result_of(told)
            if (
                not (told or (orphan and failed))
                or arguments[-1] is None
                or (not failed and (_soft(value, flagged, soft) or nobodys(value, name)))
                or (value == [] and told != "[]")  # nothing in a frame of more (call.py)
                or (isinstance(value, str) and shortened(value, bare=True))
            ):
                spoilt.append(i)
            results.append(None if value is None else to_json(value))
            forms[i] = shape(value)
        if which:
            self.arguments = self.arguments.scatter(which, arguments)
            self.results = self.results.scatter(which, results)
        return spoilt

    def _states(self, sketch: Sketch, calls: Calls, forms: list[str], failed: Bools) -> pl.Series:
        """`agent|tool|ok or error|shape|earlier failures` after each call; runs that recovered are taken down."""
        before = np.zeros(len(forms), dtype=np.int64)
        name = calls.name[self.number]
        some = np.zeros(len(sketch.bad), dtype=bool)
        some[self.trace[failed]] = True
        broken = np.flatnonzero(some[self.trace])
        failures: dict[tuple[int, str], int] = {}
        for i, trace, tool in zip(broken.tolist(), self.trace[broken].tolist(), name[broken].to_list(), strict=True):
            before[i] = failures.get((trace, tool), 0)
            if failed[i]:
                failures[trace, tool] = before[i] + 1
            elif before[i]:
                self.recovered.add(trace)
        counts = pl.Series(["0", "1", "2+"])[np.minimum(before, 2)]
        status = pl.Series(["ok", "error"])[failed.astype(np.int64)]
        agent = calls.agent[self.number].fill_null("?")
        parts = [agent, name, status, pl.Series(forms, dtype=pl.String), counts]
        return pl.select(pl.concat_str([pl.lit(part) for part in parts], separator="|")).to_series()


def _plain(texts: pl.Series) -> pl.Series:
    """Is this some text, and no JSON, from its first character?"""
    text = pl.col(texts.name)
    json = (text.str.starts_with(sign) for sign in ("[", "{", '"'))
    return texts.to_frame().select((text != "") & ~pl.any_horizontal(json)).to_series()


def _soft(value: Any, flagged: bool | None, patterns: tuple[str, ...]) -> bool:
    return value is None or flagged is True or soft_error(value, None, patterns) or awaits_leave(value)


class _Seen:
    """What came back for calls whose span has no result: from the last input of the agent that asked."""

    def __init__(self, sketch: Sketch, models: Models) -> None:
        self._sketch, self._models = sketch, models
        self._inputs = sketch.side.texts["input_messages"]
        self._told: dict[int, dict[str, Any]] = {}

    @cached_property
    def _agents(self) -> list[str | None]:
        return self._sketch.owners(self._models.at).to_list()

    @cached_property
    def _last(self) -> Ints:
        """Of each trace, its last model call."""
        last = np.full(len(self._sketch.bad), -1)
        last[self._models.trace] = np.arange(len(self._models.trace))
        return last

    def result(self, trace: int, agent: str | None, id: str) -> Any:
        end = int(self._last[trace])
        first = end - int(self._models.turn[end]) if end >= 0 else 0
        last = next((at for at in range(end, first - 1, -1) if self._agents[at] == agent), None)
        if last is None:
            return None
        if last not in self._told:
            row = self._sketch.frame["row"][int(self._models.at[last])]
            self._told[last] = _responses(self._inputs[row])
        return self._told[last].get(id)


def _responses(raw: str | None) -> dict[str, Any]:
    """Results by call id in a list of plain messages; none where one of them is not plain (semconv_messages)."""
    try:
        found = semconv(raw) if raw else []
    except UNREADABLE:
        return {}
    told: dict[str, Any] = {}
    for message in found:
        results = 0
        for part in message.parts:
            kind = part.type
            if kind == "tool_call_response":
                results += 1
                content = brought(part)
                if isinstance(content, (list, dict)):
                    return {}
                told.setdefault(part.id or "", content)
            elif kind == "text":
                if part.content is None:
                    return {}
            elif kind == "tool_call":
                if not part.name:
                    return {}
            elif kind != "reasoning" and kind != "thinking":
                return {}
        if not results and role_of(message.role) == "tool":
            return {}
    return told
