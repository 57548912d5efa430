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

_SELDOM = ("events", "links")
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
        mine = frame["trace_id"].is_in(traces.implode()).fill_null(False).to_numpy()
        if self.asks[group] > 0:
            self.frames[group] = compact(frame[np.flatnonzero(~mine)])
        if mine.all():
            return frame
        rows = frame[np.flatnonzero(mine)]  # of lists this is faster than to filter
        return compact(rows) if 4 * rows.height < frame.height else rows


def light(path: str, names: list[str]) -> pl.DataFrame:
    """The flat columns of these names, `links` and `group`, the index of each row's group: as they are stored."""
    with _opened(path) as file:
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


def _opened(path: str) -> Any:
    """The file, to be read as Polars holds texts: else each is moved once more."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, binary_type=pa.binary_view())


def _decoded(group: Group, schema: pl.Schema) -> pl.DataFrame:
    stored = stored_schema(schema)
    with _opened(group.path) as file:
        here = [name for name in file.schema_arrow.names if name in stored]
        empty = _empty(file, group.number)
        leaves = [leaf for leaf in _leaves(file.metadata) if leaf.split(".")[0] in here and leaf not in empty]
        table = file.read_row_group(group.number, columns=leaves, use_threads=pl.thread_pool_size() > 1)
        for name in {leaf.split(".")[0] for leaf in empty} & set(here):
            whole = _whole(table[name], file.schema_arrow.field(name).type)
            table = table.set_column(table.schema.get_field_index(name), name, whole)
    frame = _framed(table)
    absent = [pl.lit(None, kind).alias(name) for name, kind in stored.items() if name not in here]
    return frame.with_columns(absent).cast(stored).select(decoded(schema))


def _leaves(about: Any) -> list[str]:
    return [about.schema.column(i).path for i in range(about.num_columns)]


def _empty(file: Any, number: int) -> set[str]:
    """The leaves of lists that hold nothing in a row group: of key-values those that are nothing but nulls, as its
    statistics tell, and of what is seldom there all but one, which tells how long the lists are."""
    found = set()
    group = file.metadata.row_group(number)
    for i in range(group.num_columns):
        column = group.column(i)
        parts = column.path_in_schema.split(".")
        if len(parts) == 4 and parts[-1] != "key" and parts[-1].endswith("_value"):
            told = column.statistics
            if told is not None and told.has_null_count and told.null_count == column.num_values:
                found.add(column.path_in_schema)
    of = {name: [leaf for leaf in _leaves(file.metadata) if leaf.split(".")[0] == name] for name in _SELDOM}
    lengths = file.read_row_group(number, columns=[leaves[0] for leaves in of.values() if leaves], use_threads=False)
    for name in lengths.column_names:
        if not sum(len(lists.values) for lists in lengths[name].chunks):
            found |= set(of[name][1:])
    return found


def _whole(column: Any, kind: Any) -> Any:
    """A list<struct> column with nulls for the fields that were not read."""
    import pyarrow as pa

    chunks = []
    for lists in column.chunks:
        values = lists.values
        fields = [
            values.field(field.name)
            if values.type.get_field_index(field.name) >= 0
            else pa.nulls(len(values), field.type)
            for field in kind.value_type
        ]
        whole = pa.StructArray.from_arrays(fields, fields=list(kind.value_type))
        chunks.append(
            pa.ListArray.from_arrays(
                lists.offsets, whole, type=kind, mask=lists.is_null() if lists.null_count else None
            )
        )
    return pa.chunked_array(chunks, kind)


def _framed(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows in memory of their own: a frame that was filtered holds on to all the texts it came from, and where
    its rows stood in a row also to all the lists."""
    gathered = frame.rechunk()[np.arange(frame.height)]  # of lists in several pieces it takes twenty times as long
    return _framed(gathered.to_arrow(compat_level=pl.CompatLevel.oldest())).cast(frame.schema)
