"""Spans of which a collector emptied what was said: it writes "" where it is to keep no words."""

from __future__ import annotations

import polars as pl

_ASKED = ("input_messages", "arguments", "input")
_GIVEN = ("output_messages", "result", "output")
_SAID = (*_ASKED, *_GIVEN)
_EVER_SOME = ("input_messages", "output_messages")
"""Lists, which are never nothing at all."""


def without_emptied(found: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """The facts without what was emptied. A tool may give nothing at all; that it was given nothing, either, or that a
    model was asked nothing, is what a collector left, which does as much to the other spans of the trace."""
    if not found.select(pl.any_horizontal((pl.col(fact) == "").any() for fact in _SAID)).item():
        return found
    asked, given = (pl.max_horizontal(pl.col(fact).str.len_bytes() for fact in side) for side in (_ASKED, _GIVEN))
    lists = pl.any_horizontal(pl.col(fact) == "" for fact in _EVER_SOME)
    told = found.select(
        bare=pl.max_horizontal(asked, given) == 0,  # null where nothing is told
        sure=((asked == 0) & (given == 0)) | lists,
    )
    traces = spans["trace_id"].filter(told["bare"] & told["sure"]).unique()
    if not len(traces):
        return found
    kept = ~(told["bare"].fill_null(value=False) & spans["trace_id"].is_in(traces.implode()))
    return found.with_columns(pl.when(kept | (pl.col(fact) != "")).then(fact).alias(fact) for fact in _SAID)
