"""Lists as columns: items that stand ordered beside each other, dealt out to the rows that own them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Groups:
    """Items and their owners. `owners` ascend; `of_items` names the owner of each item and ascends too."""

    def __init__(self, owners: Ints, of_items: Ints) -> None:
        self.of: Ints = np.searchsorted(owners, of_items)  # of each item, the place of its owner
        self.offsets = np.zeros(len(owners) + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.of, minlength=len(owners)), out=self.offsets[1:])

    def lists(self, items: pl.Series) -> pl.Series:
        """The items of each owner as one list."""
        return lists(self.offsets, items)

    def any(self, mask: Bools) -> Bools:
        return np.bincount(self.of[mask], minlength=len(self.offsets) - 1) > 0

    def every(self, mask: Bools) -> Bools:
        return ~self.any(~mask)


def lists(offsets: Ints | Sequence[int], items: pl.Series) -> pl.Series:
    """A list column of these items; `offsets` has one more entry than the column rows."""
    import pyarrow as pa

    values = items.to_arrow(compat_level=pl.CompatLevel.newest())
    table = pa.table([pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), values)], names=[""])
    return pl.DataFrame(pl.from_arrow(table)).to_series()


def places(groups: Ints) -> Ints:
    """The place of each item in its group, from 0; equal numbers stand beside each other."""
    index = np.arange(len(groups))
    return index - np.maximum.accumulate(np.where(begins(groups), index, 0))


def begins(*groups: Ints) -> Bools:
    """Where another group begins than the one before; what is of one has equal numbers and stands together."""
    found = np.ones(len(groups[0]), dtype=bool)
    found[1:] = False
    for numbers in groups:
        found[1:] |= numbers[1:] != numbers[:-1]
    return found


def subsets(names: Sequence[str], flags: Sequence[Bools]) -> pl.Series:
    """Of each row, the names whose flag is set."""
    code = np.zeros(len(flags[0]), dtype=np.int64)
    for bit, flag in enumerate(flags):
        code |= flag.astype(np.int64) << bit
    codes, place = np.unique(code, return_inverse=True)
    choices = [[name for bit, name in enumerate(names) if some >> bit & 1] for some in codes.tolist()]
    return pl.Series(choices, dtype=pl.List(pl.String))[place]
