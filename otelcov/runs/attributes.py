"""The attributes of spans as columns: one column per key that a dialect reads, one row per span.

A span's attributes are a list; reading each key with its own pass over all lists costs a pass per key. Here all lists
are opened once, pairs that nobody reads are dropped, and the rest is dealt out by key.
"""

from __future__ import annotations

import base64
from collections.abc import Collection
from typing import Any

import numpy as np
import polars as pl
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValueList

from otelcov.dialects.base import FAMILIES
from otelcov.runs.messages import to_json

Pairs = dict[int, list[tuple[str, Any]]]

# What instrumentations write where content capture is off: there was a value, and it is not known.
REDACTED = [
    "__REDACTED__",
    "[REDACTED]",
    "<REDACTED>",
    "REDACTED",
    "<redacted>",
    "[redacted]",
    "***REDACTED***",
    "<scrubbed>",
    "[Scrubbed]",
]


def key_values(lists: pl.Series) -> pl.DataFrame:
    """A list<key-value> column opened: `row` and the key-value's fields, in order."""
    lengths = lists.list.len().fill_null(0).to_numpy()
    rows = np.repeat(np.arange(len(lists), dtype=np.uint32), lengths)
    inner = lists.filter(pl.Series(lengths > 0)).list.explode() if len(rows) else lists.clear().list.explode()
    return inner.struct.unnest().with_columns(row=pl.Series(rows, dtype=pl.UInt32))


def columns(lists: list[pl.Series], wanted: Collection[str], height: int) -> tuple[pl.DataFrame, dict[str, Pairs]]:
    """Text columns of the wanted keys that occur, and the pairs of each flattened family by row."""
    names = pl.Series("key", sorted(wanted), dtype=pl.String)
    prefixes = list(FAMILIES)
    parts = []
    for series in lists:
        opened = key_values(series)
        parts.append(
            opened.filter(
                pl.col("key").is_in(names.implode())
                | pl.any_horizontal([pl.col("key").str.starts_with(p) for p in prefixes])
            )
        )
    pairs = (
        pl.concat(parts).filter(~pl.col("string_value").is_in(REDACTED).fill_null(False)) if parts else pl.DataFrame()
    )
    families: dict[str, Pairs] = {column: {} for column in FAMILIES.values()}
    if not pairs.height:
        return pl.select(_row=pl.int_range(height)), families
    text = as_text(pairs)
    frame = pairs.select("key", "row").with_columns(text=text)
    out: dict[str, pl.Series] = {}
    index = np.arange(height)
    flat = frame.filter(~pl.col("key").is_in(names.implode()))
    for prefix, column in FAMILIES.items():
        some = flat.filter(pl.col("key").str.starts_with(prefix))
        family = families[column]
        for row, key, value in zip(
            some["row"].to_list(), some["key"].str.slice(len(prefix)).to_list(), some["text"].to_list(), strict=True
        ):
            family.setdefault(row, []).append((key, value))
    for (key,), group in (
        frame.filter(pl.col("key").is_in(names.implode())).partition_by("key", as_dict=True, include_key=False).items()
    ):
        where = np.full(height, -1, dtype=np.int64)
        where[group["row"].to_numpy()] = np.arange(group.height)
        if group.height == height and (where == index).all():
            out[str(key)] = group["text"]
        else:
            picks = pl.Series(where)
            out[str(key)] = group["text"].gather(picks.set(picks < 0, None))
    return pl.select(_row=pl.int_range(height)).with_columns(**out), families


def as_text(pairs: pl.DataFrame) -> pl.Series:
    """Each key-value's value as text: strings as they are, structured values as JSON, null for no value at all."""
    text = pairs["string_value"]
    if text.null_count() == 0:
        return text
    frame = pairs.select(
        pl.coalesce(
            "string_value",
            pl.col("int_value").cast(pl.String),
            pl.col("double_value").cast(pl.String),
            pl.when(pl.col("bool_value")).then(pl.lit("true")).when(~pl.col("bool_value")).then(pl.lit("false")),
        ).alias("text"),
        "array_value",
        "kvlist_value",
        "bytes_value",
    )
    text = frame["text"]
    for column, decode in (("array_value", _array), ("kvlist_value", _kvlist), ("bytes_value", _bytes)):
        if frame[column].null_count() < frame.height:
            distinct = {b: decode(b) for b in frame[column].drop_nulls().unique().to_list()}
            decoded = pl.Series([None if b is None else distinct[b] for b in frame[column].to_list()], dtype=pl.String)
            text = pl.select(pl.coalesce(text, decoded)).to_series()
    return text


def any_value(value: AnyValue) -> Any:
    """An OTLP AnyValue as a JSON value."""
    kind = value.WhichOneof("value")
    if kind == "kvlist_value":
        return {kv.key: any_value(kv.value) for kv in value.kvlist_value.values}
    if kind == "array_value":
        return [any_value(v) for v in value.array_value.values]
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return getattr(value, kind) if kind else None


def _array(data: bytes) -> str:
    return to_json([any_value(v) for v in ArrayValue.FromString(data).values])


def _kvlist(data: bytes) -> str:
    return to_json({kv.key: any_value(kv.value) for kv in KeyValueList.FromString(data).values})


def _bytes(data: bytes) -> str:
    return base64.b64encode(data).decode()


def struct_value(pair: dict[str, Any] | None) -> Any:
    """The JSON value of one key-value struct (a log record's body, an event's attribute)."""
    if pair is None:
        return None
    for key in ("string_value", "int_value", "double_value", "bool_value"):
        if pair[key] is not None:
            return pair[key]
    if pair["kvlist_value"] is not None:
        return {kv.key: any_value(kv.value) for kv in KeyValueList.FromString(pair["kvlist_value"]).values}
    if pair["array_value"] is not None:
        return [any_value(v) for v in ArrayValue.FromString(pair["array_value"]).values]
    return base64.b64encode(pair["bytes_value"]).decode() if pair["bytes_value"] is not None else None
