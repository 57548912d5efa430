"""What the long texts of spans show as wholes: how long they are, whether one was cut, and signs that stand in them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl

from otelcov.ground.masks import first_bytes, missing, true
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.rules.boundaries import FORCED_SIGNS

_Rows = np.ndarray[Any, np.dtype[np.int64]]

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
    told = frame.select(pl.max_horizontal(pl.all().str.len_chars().fill_null(0)).alias("longest"))
    opened = [_opened(text) for text in frame]
    some, rows = pl.concat([text[at].alias("") for text, at in zip(frame, opened, strict=True)]), np.concatenate(opened)
    cut = np.zeros(frame.height, dtype=np.uint32)
    for mark in ("]", "}", ")", "\n"):  # each is looked at again only where it ended otherwise
        if not len(rows):
            break
        broken = ~some.str.ends_with(mark).to_numpy()
        some, rows = some.filter(pl.Series(broken)), rows[broken]
    if len(rows):
        np.maximum.at(cut, rows, some.str.len_chars().to_numpy())
    return told.with_columns(cut=pl.Series(cut))


def longest_member(texts: pl.Series) -> pl.Series:
    """A list of texts as the longest of them, for an SDK that cuts values cuts each member of a list."""
    lists = texts.filter(true(texts.str.starts_with('["'))).unique(maintain_order=True).to_list()
    found = {text: max(whole, key=len) for text in lists if (whole := _texts_in(text))}
    return texts.replace(list(found), list(found.values())) if found else texts


def _texts_in(text: str) -> list[str]:
    value = parse_json(text)
    return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else []


def _distinct(texts: list[pl.Series]) -> list[pl.Series]:
    """These without any that lies where another does, as facts do that are one attribute: as it stands, or where each
    is told."""
    places = dict[object, list[pl.Series]]()
    wholes = sorted((text.rechunk() for text in texts), key=pl.Series.null_count)
    arrays = [text.to_arrow(compat_level=pl.CompatLevel.newest()) for text in wholes]  # all of them live until the end
    for text, array in zip(wholes, arrays, strict=True):
        views = array.buffers()[1]
        same = places.setdefault(len(places) if views is None else (views.address, array.offset), [])
        if not any(_told_by_all(text, other) for other in same):
            same.append(text)
    return [some[0] if len(some) == 1 else pl.select(pl.coalesce(some)).to_series() for some in places.values()]


def _told_by_all(text: pl.Series, other: pl.Series) -> bool:
    """Do all spans that tell one of two of one attribute tell the other?"""
    return not (other.null_count() and bool((text.is_not_null() & other.is_null()).any()))


def _opened(text: pl.Series) -> _Rows:
    """Where a text begins as JSON."""
    brackets = (first_bytes(text) | 0x20) == ord("{")  # which of no other bytes is true
    return np.flatnonzero(brackets & ~missing(text))
