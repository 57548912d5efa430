"""Run rows into columns: nested lists laid flat with their offsets, as Arrow keeps them.

A frame made from a list of dicts looks at every value for its type; here the schema is known and values only move.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from otelcov.ground.schemas import RUNS

Row = dict[str, Any]
"""One of RUNS."""


def run_id(trace_ids: Sequence[str], first: bytes) -> str:
    """Of a run: by its traces, in hex and sorted, and the id of its first span. The same spans have the same id."""
    return hashlib.sha256("".join(trace_ids).encode() + first).digest()[:16].hex()


class Columns:
    """Rows of the RUNS schema, gathered to be laid out column by column."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    @property
    def height(self) -> int:
        return len(self._rows)

    def add(self, row: Row) -> None:
        self._rows.append(row)

    def frame(self) -> pl.DataFrame:
        """The gathered rows; none are left afterwards."""
        import pyarrow as pa

        arrays = {name: _array([row[name] for row in self._rows], dtype) for name, dtype in RUNS.items()}
        self._rows = []
        table = pa.table(arrays)
        return pl.DataFrame(pl.from_arrow(table)).cast(RUNS)

    def each(self) -> Iterator[Row]:
        """The gathered rows, one by one."""
        yield from self._rows


def _array(values: list[Any], dtype: pl.DataType) -> Any:
    """An Arrow array of these Python values, by the Polars type."""
    import pyarrow as pa

    if isinstance(dtype, pl.List):
        offsets, flat, end = list[int | None](), list[Any](), 0
        for value in values:
            offsets.append(None if value is None else end)  # which is how Arrow tells of a list that is null
            flat.extend(value or ())
            end = len(flat)
        return pa.LargeListArray.from_arrays(pa.array([*offsets, end], pa.int64()), _array(flat, dtype.inner))  # type: ignore[arg-type]
    if isinstance(dtype, pl.Struct):
        fields = [(f.name, _array([v[f.name] for v in values], f.dtype)) for f in dtype.fields]  # type: ignore[arg-type]
        return pa.StructArray.from_arrays([a for _, a in fields], [n for n, _ in fields])
    return pa.array(values, _plain(dtype))


def _plain(dtype: pl.DataType) -> Any:
    import pyarrow as pa

    kinds = {
        pl.String: pa.large_string(),
        pl.UInt64: pa.uint64(),
        pl.UInt32: pa.uint32(),
        pl.Int64: pa.int64(),
        pl.Int32: pa.int32(),
        pl.Float64: pa.float64(),
        pl.Boolean: pa.bool_(),
    }
    return next(arrow for polars, arrow in kinds.items() if dtype == polars)
