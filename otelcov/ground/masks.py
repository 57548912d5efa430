"""What columns say of each row as NumPy arrays: masks, where null is one or the other, and how texts begin."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import polars as pl

Bools = npt.NDArray[np.bool_]


def true(flags: pl.Series, unknown: bool = False) -> Bools:
    """Which of these are true; of null is said what is `unknown`."""
    told: Bools = (flags.fill_null(unknown) if flags.null_count() else flags).to_numpy()
    return told


def missing(values: pl.Series) -> Bools:
    """Which of these are null."""
    nulls = values.null_count()
    if nulls in (0, len(values)):
        return np.full(len(values), nulls > 0)
    found: Bools = values.is_null().to_numpy()
    return found


def among(texts: pl.Series, some: Collection[str | None], unknown: bool = False) -> Bools:
    """Which of these texts are one of some; of null is said what is `unknown`."""
    if not some:
        return missing(texts) if unknown else np.zeros(len(texts), dtype=bool)
    return true(texts.is_in(some), unknown)


def first_bytes(text: pl.Series) -> npt.NDArray[np.uint8]:
    """The first byte of each text - 0 where it has none, anything where there is no text - as Arrow's views have it
    beside the length."""
    array = text.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    views = array.buffers()[1]
    if views is None or not len(text):
        return np.zeros(len(text), dtype=np.uint8)
    return np.frombuffer(views, dtype=np.uint8).reshape(-1, 16)[array.offset :][: len(array), 4]
