"""What NumPy reads of columns."""

from __future__ import annotations

import numpy as np
import polars as pl

from otelcov.ground.masks import first_bytes


def test_the_first_byte_of_a_text_is_the_same_however_long_and_wherever_it_stands() -> None:
    texts = ["", "a", "é", "[" + "x" * 11, "{" + "x" * 12, "long " * 40]
    series = pl.concat([pl.Series(texts), pl.Series(texts[::-1])])
    for some in (series, series[3:9], series[np.arange(0, 12, 2)], series[:0]):
        assert first_bytes(some).tolist() == [text.encode()[0] if text else 0 for text in some]


def test_beside_texts_that_are_told_one_that_is_not_changes_nothing() -> None:
    series = pl.Series([None, "b" * 20, None, "c"])
    assert first_bytes(series)[[1, 3]].tolist() == [ord("b"), ord("c")]
    assert len(first_bytes(pl.Series([None, None], dtype=pl.String))) == 2
