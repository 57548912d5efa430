"""Canonical JSON of texts, made in columns, is that of the encoder."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from otelcov.runs.shortcut.answers import json_texts, quoted

TEXTS = st.text(st.sampled_from('ab"\\\x00\x1f\n\t\x7f\x80é\u2028😀') | st.characters(exclude_categories=["Cs"]))


@given(st.lists(TEXTS))
def test_quoted_texts_are_what_the_encoder_writes(texts: list[str]) -> None:
    assert quoted(pl.Series(texts, dtype=pl.String)).to_list() == json_texts(texts)
