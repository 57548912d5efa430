"""The row groups of a table's local files, read one at a time.

Most traces lie in one row group, and most of the others in neighbours. Whoever reads traces group by group therefore
decodes each group once and keeps, of its rows, only those that he will be asked for later.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from otelcov.store.tables import decoded, stored_schema

_LINKED = ("links", "list", "element", "trace_id")


class Group(NamedTuple):
    """One row group of a file."""

    path: str
    number: int


@dataclass
class Shelf:
    """What was read of row groups that will be asked for again."""

    asks: Counter[Group] = field(default_factory=Counter)  # how often they will be
    frames: dict[Group, pl.DataFrame] = field(default_factory=dict)

    def rows(self, group: Group, schema: pl.Schema, traces: pl.Series) -> pl.DataFrame:
        """The rows of these traces in a row group. Nobody else may want them: they do not stay here."""
        frame = self.frames.pop(group) if group in self.frames else _decoded(group, schema)
        self.asks[group] -= 1
        mine = frame["trace_id"].is_in(traces.implode()).fill_null(False)
        if self.asks[group] > 0:
            self.frames[group] = _compact(frame.filter(~mine))
        if mine.all():
            return frame
        rows = frame.filter(mine)
        return _compact(rows) if 4 * rows.height < frame.height else rows


def light(path: str, names: list[str]) -> pl.DataFrame:
    """The flat columns of these names, `links` and `group`, the index of each row's group: as they are stored."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        about = file.metadata
        leaf = _leaf(about, *_LINKED)
        frame = _framed(file.read(columns=[*names, leaf], use_threads=False))
        if frame["links"].list.len().sum():
            frame = _framed(file.read(columns=[*names, "links"], use_threads=False))
        else:
            frame = frame.with_columns(links=None)
        heights = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    return frame.with_columns(group=pl.Series(np.repeat(np.arange(len(heights), dtype=np.uint32), heights)))


def _leaf(about: Any, *path: str) -> str:
    """How this file names a leaf: writers differ in what they call the items of a list."""
    for i in range(about.num_columns):
        name: str = about.schema.column(i).path
        parts = name.split(".")
        if len(parts) == len(path) and parts[0] == path[0] and parts[-1] == path[-1]:
            return name
    return path[0]


def _decoded(group: Group, schema: pl.Schema) -> pl.DataFrame:
    import pyarrow.parquet as pq

    stored = stored_schema(schema)
    with pq.ParquetFile(group.path) as file:
        here = [name for name in file.schema_arrow.names if name in stored]
        frame = _framed(file.read_row_group(group.number, columns=here, use_threads=pl.thread_pool_size() > 1))
    absent = [pl.lit(None, kind).alias(name) for name, kind in stored.items() if name not in here]
    return frame.with_columns(absent).cast(stored).select(decoded(schema))


def _framed(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _compact(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows in memory of their own: a frame that was filtered holds on to all the texts it came from."""
    return _framed(frame.to_arrow(compat_level=pl.CompatLevel.oldest())).cast(frame.schema)
