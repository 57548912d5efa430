"""Texts that a program cut before it told them: by a mark at their end, or by a length at which people cut."""

from __future__ import annotations

import re

import polars as pl

from otelcov.ground.patterns import late

_ENDS = ".…])>"  # of a mark: its last letter, or the word `truncated`
_LETTERS = r"(?:more )?(?:chars?|characters|letters|bytes)"
_SAYS = rf"(?:(?:[a-z]+ ){{0,2}}truncated\b[^\])>\n]{{0,60}}|\+? ?\d+ {_LETTERS}(?: [a-z]+)?)"
_MARK = late(rf"[\[(<](?:\.{{3}}|…)? ?{_SAYS}[\])>](?:\.{{3}}|…)?$|(?:\.{{3}}|…) ?truncated$", re.I)
_DOTS = late(r"(?:\.{3}|…)$")
_LONGEST = 100  # of a mark
_SHORTEST = 40  # of a text that is worth cutting
_USUAL = (60, 80, 120, 140, 160, 240, 280)
_AT_ONCE = (200, 500, 501)  # Ruby's `text[0..500]` keeps one letter more


def shortened(text: str | None, bare: bool = False) -> bool:
    """Does a mark at its end say that this was cut? `bare`: without one, a length at which people cut says so, too."""
    if not text or len(text) < _SHORTEST:
        return False
    if (text[-1] in _ENDS or text[-2:] == "ed") and _marked(text):
        return True
    return bare and (len(text) in _AT_ONCE or len(text) % 1000 == 0)


def _marked(text: str) -> bool:
    end = text[-_LONGEST:]
    dots = _DOTS.search(end)
    if dots is not None and (_round(len(text)) or _round(len(text) - len(dots[0]))):
        return True
    return _MARK.search(end) is not None


def _round(length: int) -> bool:
    return length % 50 == 0 or length in _USUAL or length & (length - 1) == 0


def may_be_shortened(texts: pl.Series) -> pl.Series:
    """Which of these may be so: all that are, and some others."""
    text = pl.col(texts.name)
    length = text.str.len_chars()
    ends = (text.str.ends_with(end) for end in ("...", *_ENDS[1:], "ed"))
    return texts.to_frame().select(pl.any_horizontal(*ends, length % 100 == 0, length == _AT_ONCE[-1])).to_series()
