"""Regular traces that carry no content: neither messages, nor arguments, nor results.

That is how most instrumentations are delivered. What a model asked for is not told then; the tool spans alone tell of
calls, and each was asked for by the newest call of its agent's model that had ended (see calls.py). Where times leave
that open, the trace is left to the general way.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from otelcov.ground.patterns import late
from otelcov.runs.rules.boundaries import asks, final
from otelcov.runs.rules.habits import ends_alike, stops_to_ask
from otelcov.runs.shortcut.sketch import TOOL_, Bools, Models, Sketch
from otelcov.runs.tools.askers import JITTER_NS
from otelcov.runs.tools.executions import bare_name
from otelcov.runs.trace.spans import Side

_CONTENT = ("input", "output", "output_messages", "arguments", "result", "definitions")
_ANSWER = ("finish", "input_tokens", "output_tokens", "response_model", "response_id")
_GOOGLE = late("google|gemini|vertex", re.I)


def without_content(frame: pl.DataFrame, side: Side, trace: npt.NDArray[np.int64], count: int) -> Bools:
    """Which traces of a span table (spans.table) carry no content."""
    told = frame.select(pl.any_horizontal(pl.col(name).is_not_null() for name in _CONTENT)).to_series().to_numpy()
    rows = frame["row"]
    for texts in side.texts.values():
        if texts.null_count() < len(texts):
            told = told | texts.is_not_null()[rows].to_numpy()
    none: Bools = np.bincount(trace[told], minlength=count) == 0
    return none


def ask_by_time(sketch: Sketch, models: Models) -> None:
    """Take down who asked for the calls of the traces without content, as if the models' answers told it; bad where
    that is not plain."""
    hushed = sketch.contentless & ~sketch.bad
    if not hushed.any():
        return
    _check_models(sketch, models, hushed)
    tools = np.flatnonzero((sketch.kind == TOOL_) & hushed[sketch.trace])
    models_of, tools_of = (np.bincount(some, minlength=len(hushed)) for some in (models.trace, sketch.trace[tools]))
    sketch.bad |= hushed & (models_of > 1) & (tools_of == 0)  # why the agent asked again is not visible
    at, owners = models.at, (sketch.owners(models.at), sketch.owners(tools))
    asked = pl.DataFrame(
        {
            "number": np.arange(len(at)),
            "trace": models.trace,
            "agent": owners[0],
            "start": sketch.taken("start", at),
            "end": sketch.taken("end", at),
        }
    ).filter(pl.Series(hushed[models.trace]))
    named = sketch.taken("tool", tools)
    odd = [name for name in named.unique().to_list() if bare_name(name) != name]
    sketch.spoil(named.is_in(odd).to_numpy(), sketch.trace[tools])
    begun = pl.DataFrame(
        {
            "trace": sketch.trace[tools],
            "agent": owners[1],
            "start": sketch.taken("start", tools),
            "name": named,
            "id": sketch.taken("call_id", tools),
        }
    )
    _check_times(sketch, asked, begun)
    exact = pl.col("start") % JITTER_NS != 0  # a whole millisecond is one that was cut off
    begun = begun.with_columns(until=pl.when(exact).then("start").otherwise(pl.col("start") + JITTER_NS))
    found = begun.sort("until").join_asof(
        asked.sort("end").select("trace", "agent", "number", "end", asked_at="start"),
        left_on="until",
        right_on="end",
        by=["trace", "agent"],
        check_sortedness=False,
    )
    unclear = found.select(pl.col("number").is_null() | (pl.col("asked_at") >= pl.col("start"))).to_series()
    sketch.bad[found["trace"].filter(unclear).to_numpy()] = True
    found = found.filter(~unclear).sort("number", "name", "start", "id")
    said = models.said
    said.add(found["number"].to_list(), found["id"].to_list(), found["name"].to_list())
    unmet = _ended(models, asks)
    unmet[found["number"].to_numpy()] = False
    sketch.spoil(unmet & hushed[models.trace], models.trace)  # what it asked for did not run, or is not shown


def _check_models(sketch: Sketch, models: Models, hushed: Bools) -> None:
    """Bad where an answer may have asked for what no span tells of."""
    at, trace = models.at, models.trace
    mine = hushed[trace]
    nameless = sketch.frame[at].select(pl.all_horizontal(pl.col("request_model", "response_model").is_null()))
    sketch.spoil(mine & nameless.to_series().to_numpy(), trace)
    answered = sketch.frame[at].select(pl.any_horizontal(pl.col(fact).is_not_null() for fact in _ANSWER))
    told = answered.to_series().to_numpy()
    some = np.bincount(trace[told], minlength=len(sketch.bad)) > 0
    sketch.spoil(mine & ~told & ~sketch.broken[at] & some[trace], trace)  # that one may have failed
    last = np.zeros(len(sketch.bad), dtype=np.int64)
    last[trace] = np.arange(len(at))
    sketch.bad |= hushed & _ended(models, asks)[last]
    sketch.bad |= hushed & sketch.broken[at][last] & ~sketch.broken[sketch.top]  # that of an agent that was called
    unanswered = sketch.broken[at] & ~(sketch.frame["output_tokens"][at].fill_null(0) > 0).to_numpy()
    open_ = ~_ended(models, final) & ~unanswered
    names = [sketch.taken(name, at) for name in ("scope", "request_model", "response_model")]
    google = np.zeros(len(at), dtype=bool)
    for values in names:
        theirs = [
            value for value in values.unique().to_list() if value and (_GOOGLE.search(value) or stops_to_ask(value))
        ]
        google |= values.is_in(theirs).fill_null(False).to_numpy()
    toolless = np.bincount(sketch.trace[sketch.kind == TOOL_], minlength=len(sketch.bad)) == 0
    sketch.spoil(mine & (open_ | google) & toolless[trace], trace)
    scopes = sketch.frame["scope"]
    alike = scopes.is_in([scope for scope in scopes.unique().to_list() if ends_alike(scope)]).to_numpy()
    sketch.spoil(alike & hushed[sketch.trace], sketch.trace)


def _ended(models: Models, test: Callable[[str | None], bool]) -> Bools:
    """Of which model calls this is true of the reason why they ended."""
    finishes = models.said.finish
    true = {reason for reason in set(finishes) if test(reason)}
    return np.array([finish in true for finish in finishes], dtype=bool)


def _check_times(sketch: Sketch, asked: pl.DataFrame, begun: pl.DataFrame) -> None:
    """Bad where an agent's model calls overlap, or a tool begins while a model answers."""
    asked = asked.sort("trace", "agent", "start")
    before = pl.col("end").shift(1).over("trace", "agent")
    overlapping = asked.filter(pl.col("start") < before)["trace"]
    sketch.bad[overlapping.to_numpy()] = True
    until = asked.sort("start").with_columns(until=pl.col("end").cum_max().over("trace"))
    during = begun.sort("start").join_asof(
        until.select("trace", "start", "until"),
        on="start",
        by="trace",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    sketch.bad[during.filter(pl.col("until") > pl.col("start"))["trace"].to_numpy()] = True


__all__ = ["ask_by_time", "without_content"]
