"""What the long texts of spans show as wholes: how long they are, whether one was cut, and signs that stand in them."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from otelcov.ground.masks import true
from otelcov.runs.rules.boundaries import FORCED_SIGNS

_FORCED = "|".join(map(re.escape, FORCED_SIGNS))  # as a pattern of literals: searched for with wide instructions
_FLAGS = ('"is_error": true', '"isError": true', '"status": "error"')
_FLAGGED = "|".join(
    re.escape(quoted)
    for flag in _FLAGS
    for spaced in (flag, flag.replace(" ", ""))
    for quoted in (spaced, spaced.replace('"', '\\"'))
)


def signs(inputs: pl.Series) -> pl.DataFrame:
    """Whether each holds a framework's order to stop, and the flag of a tool that failed: few do."""
    some = np.flatnonzero(true(inputs.str.contains(f"{_FORCED}|{_FLAGGED}")))
    found = {"forced": np.zeros(len(inputs), dtype=bool), "flagged": np.zeros(len(inputs), dtype=bool)}
    if len(some):
        for name, sign in (("forced", _FORCED), ("flagged", _FLAGGED)):
            found[name][some] = inputs[some].str.contains(sign).to_numpy()
    return pl.DataFrame(found)


def lengths(texts: list[pl.Series]) -> pl.DataFrame:
    """How long the longest content value of each span is, and how long the longest that was cut; 0: none."""
    frame = pl.DataFrame([text.alias(str(at)) for at, text in enumerate(_distinct(texts))])
    columns = [pl.col(name) for name in frame.columns]
    broken = [_begins(c, "[", "{") & ~_ends(c, "]", "}") for c in columns]
    told = frame.select(
        pl.max_horizontal([c.str.len_chars().fill_null(0) for c in columns]).alias("longest"),
        pl.any_horizontal(broken).fill_null(False).alias("cut"),
    )
    some = told["cut"].arg_true()
    cut = pl.zeros(told.height, pl.UInt32, eager=True)
    if len(some):
        long = [pl.when(b & ~_ends(c, ")", "\n")).then(c.str.len_chars()) for b, c in zip(broken, columns, strict=True)]
        cut = cut.scatter(some, frame[some].select(pl.max_horizontal(long).fill_null(0)).to_series())
    return told.with_columns(cut.alias("cut"))


def _distinct(texts: list[pl.Series]) -> list[pl.Series]:
    """These without any that lies where another does, as facts do that are one attribute as it stands."""
    places = dict[object, pl.Series]()
    for text in [text.rechunk() for text in texts]:  # all of them live until the last one was looked at
        array = text.to_arrow(compat_level=pl.CompatLevel.newest())
        views = array.buffers()[1]
        places[len(places) if views is None else (views.address, array.offset)] = text
    return list(places.values())


def _begins(column: pl.Expr, *marks: str) -> pl.Expr:
    return pl.any_horizontal([column.str.starts_with(mark) for mark in marks])


def _ends(column: pl.Expr, *marks: str) -> pl.Expr:
    return pl.any_horizontal([column.str.ends_with(mark) for mark in marks])
