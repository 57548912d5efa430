"""The attributes of spans as columns: one column per key that a dialect reads, one row per span.

A span's attributes are a list; reading each key with its own pass over all lists costs a pass per key. Here all lists
are opened once, pairs that nobody reads are dropped, and the rest is dealt out by key.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValueList

from otelcov.dialects.base import ANYS, EVENT, FAMILIES, WITHIN
from otelcov.ground.masks import first_bytes, missing
from otelcov.ground.patterns import late
from otelcov.runs.content.jsontext import DIGEST, DIGESTS, REDACTED, parse_json, to_json

Pairs = dict[int, list[tuple[str, Any]]]


def key_values(lists: pl.Series) -> pl.DataFrame:
    """A list<key-value> column opened: `row` and the key-value's fields, in order."""
    lengths = lists.list.len()
    held = lengths.fill_null(0) if lengths.null_count() else lengths
    rows = np.repeat(np.arange(len(lists), dtype=np.uint32), held.to_numpy())
    inner = lists.list.explode(empty_as_null=False, keep_nulls=False)
    return inner.struct.unnest().with_columns(row=pl.Series(rows, dtype=pl.UInt32))


def event_pairs(events: pl.Series, wanted: Collection[str]) -> list[pl.DataFrame]:
    """The attributes of those events that dialects read, each under its event's name and its own."""
    names = {key.partition(EVENT)[0] for key in wanted if EVENT in key}
    some = pl.DataFrame({"events": events}).with_row_index("row").filter(pl.col("events").list.len() > 0)
    if not some.height or not names:
        return []
    opened = some.explode("events").select("row", pl.col("events").struct.field("name", "attributes"))
    placed = pl.col("name").str.contains(PLACED)
    if opened.select(placed.any()).item():
        own = pl.col("attributes").list.eval(
            pl.element().struct.field("string_value").filter(pl.element().struct.field("key") == "event.name")
        )
        opened = opened.with_columns(name=pl.when(placed).then(own.list.first()).otherwise("name"))
    opened = opened.filter(pl.col("name").is_in(names) & (pl.col("attributes").list.len() > 0)).explode("attributes")
    if not opened.height:
        return []
    pairs = opened.select("row", "name", pl.col("attributes").struct.unnest())
    return [pairs.with_columns(key=pl.concat_str("name", "key", separator=EVENT)).drop("name")]


PLACED = r"^event \S+:\d+$"
"""Names of events that say where in a program they are (Rust's `tracing`): their own stand in an attribute."""


def columns(
    lists: list[pl.Series], wanted: Collection[str], height: int, more: Iterable[pl.DataFrame] = ()
) -> tuple[pl.DataFrame, dict[str, Pairs]]:
    """Text columns of the wanted keys that occur, and the pairs of each flattened family by row; `more` are pairs that
    stand in no list.

    The pairs are sorted by key once, and each column is a gather of its part of them; of two pairs of one key in one
    span the later counts.
    """
    families: dict[str, Pairs] = {column: {} for column in FAMILIES.values()}
    out: dict[str, pl.Series] = {}
    opened = [*(key_values(series) for series in lists), *more]
    if any(pairs.height for pairs in opened):
        names = _enum(frozenset(wanted)).categories.to_list()
        keys = pl.concat([pairs["key"] for pairs in opened], rechunk=True)
        strings = pl.concat([pairs["string_value"] for pairs in opened], rechunk=True)
        codes = _codes(keys, strings, frozenset(wanted))
        rows = np.concatenate([pairs["row"].to_numpy() for pairs in opened])
        flat = np.flatnonzero(codes == len(names))
        others = keys[flat]
        known = others.unique().drop_nulls()
        _deal_endings(others, known, names, flat, codes)
        read = codes < len(names)
        read[flat] |= any(key.startswith(tuple(FAMILIES)) for key in known)
        texts, place = _texts(opened, strings, read)
        _deal_families(others, known, rows, texts, place, flat, families)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(names) + 2))
        for code in np.flatnonzero(np.diff(ends[: len(names)], prepend=0)).tolist():
            some = order[ends[code - 1] if code else 0 : ends[code]]
            where = np.full(height, len(texts) - 1, dtype=np.uint32)  # the last text is null
            where[rows[some]] = place[some]
            out[names[code]] = texts[pl.Series(where)]
    return pl.DataFrame({"_row": np.arange(height), **out}), families


def _deal_endings(
    others: pl.Series, known: pl.Series, names: list[str], flat: np.ndarray[Any, Any], codes: np.ndarray[Any, Any]
) -> None:
    """Code the pairs at `flat` whose keys end as those do that may bear any vendor's name."""
    endings = {name.removeprefix(ANYS): code for code, name in enumerate(names) if name.startswith(ANYS)}
    kinds = known.str.ends_with(KIND_OF_A_SPAN).any()
    for ending, code in endings.items():
        if kinds or ending.startswith(OF_A_TOOL):
            ours = known.filter(known.str.contains(rf"^[\w-]+\.{re.escape(ending)}$"))
            if len(ours):
                codes[flat[others.is_in(ours.implode()).fill_null(value=False).to_numpy()]] = code


KIND_OF_A_SPAN = ".span.kind"
OF_A_TOOL = "tool."


@lru_cache(maxsize=8)
def _enum(wanted: frozenset[str]) -> pl.Enum:
    return pl.Enum(sorted(wanted))


def _codes(keys: pl.Series, strings: pl.Series, wanted: frozenset[str]) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """Each pair's place among the sorted names wanted; beyond them: another key, or a value that is redacted or that is
    no name where one belongs."""
    codes = keys.cast(_enum(wanted), strict=False).to_physical().cast(pl.UInt16).fill_null(len(wanted))
    found: np.ndarray[Any, np.dtype[np.uint16]] = codes.to_numpy(writable=True)
    longest = max(map(len, REDACTED)) + 1
    as_long, begins = np.zeros(longest + 1, dtype=bool), np.zeros(256, dtype=bool)
    as_long[[len(text) for text in REDACTED]] = begins[[ord(text[0]) for text in REDACTED]] = True
    lengths = strings.str.len_bytes().fill_null(longest).to_numpy()
    short = np.flatnonzero(as_long[np.minimum(lengths, longest)] & begins[first_bytes(strings)])
    hidden = strings[short].is_in(REDACTED).to_numpy()
    found[short[hidden]] = len(wanted) + 1
    found[_hashed(keys, strings, lengths)] = len(wanted) + 1
    empty = np.flatnonzero(lengths == 0)
    found[empty[_names(wanted)[found[empty]]]] = len(wanted) + 1
    return found


def _hashed(keys: pl.Series, strings: pl.Series, lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where a digest stands for what was said, as a collector that is to keep no words writes it (`hash`)."""
    some = np.flatnonzero(np.isin(lengths, DIGESTS))
    digests = strings[some].str.contains(DIGEST).fill_null(value=False).to_numpy()
    found = some[digests]
    said: np.ndarray[Any, np.dtype[np.int64]] = found[keys[found].str.contains(_SAID).fill_null(False).to_numpy()]
    return said


_SAID = (
    r"(?i)(?:content|value|inputs?|outputs?|arguments|args|results?|prompt|completion|text|messages|events|message"
    r"|query|question|answer|response|parameters|instructions|definitions|data|body|task|system)$"
)
"""Keys that hold what was said, and not ids or versions."""


@lru_cache(maxsize=8)
def _names(wanted: frozenset[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of the keys hold a name, an id or a kind: there nothing at all is as good as no key."""
    return np.array([*(_NAMING.search(key) is not None for key in sorted(wanted)), False, False])


_NAMING = late(r"(?:name|id|kind|type|model|provider|system|operation|agent|session)$", re.I)


def _texts(
    opened: list[pl.DataFrame], strings: pl.Series, read: np.ndarray[Any, np.dtype[np.bool_]]
) -> tuple[pl.Series, np.ndarray[Any, np.dtype[np.uint32]]]:
    """The values that are read as text - strings as they are, structured values as JSON - with a null behind them, and
    where each pair's text stands among them: at that null where it has no value at all."""
    heights = [pairs.height for pairs in opened]
    place = np.arange(sum(heights), dtype=np.uint32)
    parts, end = [strings], len(place)
    for pairs, begin in zip(opened, np.cumsum([0, *heights]).tolist(), strict=False):
        left = np.flatnonzero(missing(pairs["string_value"]) & read[begin : begin + pairs.height])
        for column, write in _WRITTEN.items():
            if not len(left):
                break
            held = ~missing(pairs[column][left])
            at = left[held]
            if len(at):
                texts = write(pairs[column][at])
                parts.append(_alone(texts, pairs["key"][at]) if column == "array_value" else texts)
                place[begin + at] = np.arange(end, end + len(at))
                left = left[~held]
                end += len(at)
        place[begin + left] = np.iinfo(np.uint32).max
    parts.append(pl.Series([None], dtype=pl.String))
    return pl.concat([part.rename("text") for part in parts]).rechunk(), np.minimum(place, end, dtype=np.uint32)


def _alone(lists: pl.Series, keys: pl.Series) -> pl.Series:
    """Where a name, an id or a kind belongs, a list of one text is that text."""
    distinct = keys.unique()
    naming = distinct.filter(pl.Series([_NAMING.search(key or "") is not None for key in distinct], dtype=pl.Boolean))
    at = keys.is_in(naming.implode()).arg_true() if len(naming) else naming
    if not len(at):
        return lists
    read = [parse_json(text) for text in lists[at]]
    one = [told[0] if isinstance(told, list) and [*map(type, told)] == [str] else None for told in read]
    return lists.scatter(at, pl.select(pl.coalesce(pl.Series(one, dtype=pl.String), lists[at])).to_series())


def _deal_families(
    keys: pl.Series,
    known: pl.Series,
    rows: np.ndarray[Any, Any],
    texts: pl.Series,
    place: np.ndarray[Any, Any],
    flat: np.ndarray[Any, Any],
    families: dict[str, Pairs],
) -> None:
    """The pairs at `flat` whose keys begin as a family's do, in order, to that family."""
    distinct = known.to_list()
    for prefix, column in FAMILIES.items():
        if not any(key.startswith(prefix) for key in distinct):
            continue
        some = keys.str.starts_with(prefix).fill_null(False).arg_true()
        names = keys[some].str.slice(len(prefix))
        numbered = names.str.contains(r"^\d").to_numpy()  # `gen_ai.prompt.name` is none of the messages
        at = flat[some.to_numpy()[numbered]]
        named = WITHIN.get(prefix, "") + names.filter(numbered)
        told = list(zip(named.to_list(), texts[place[at]].to_list(), strict=True))
        mine, family = rows[at], families[column]
        begins = [0, *(np.flatnonzero(np.diff(mine)) + 1).tolist()]  # a span's stand in a row
        for begin, end in zip(begins, [*begins[1:], len(told)], strict=True):
            if begin < end:
                family.setdefault(int(mine[begin]), []).extend(told[begin:end])


def scope_of(scope: bytes | None) -> tuple[str, str]:
    """Name and version in a serialized InstrumentationScope; empty where there is none."""
    told = InstrumentationScope.FromString(scope or b"")
    return told.name, told.version


def any_value(value: AnyValue) -> Any:
    """An OTLP AnyValue as a JSON value."""
    kind = value.WhichOneof("value")
    if kind == "kvlist_value":
        return {kv.key: any_value(kv.value) for kv in value.kvlist_value.values}
    if kind == "array_value":
        return [any_value(v) for v in value.array_value.values]
    if kind == "bytes_value":
        return _bytes(value.bytes_value)
    return getattr(value, kind) if kind else None


def _array(data: bytes) -> str:
    return to_json([any_value(v) for v in ArrayValue.FromString(data).values])


def _kvlist(data: bytes) -> str:
    return to_json({kv.key: any_value(kv.value) for kv in KeyValueList.FromString(data).values})


def _bytes(data: bytes) -> str:
    """A text that was set as bytes, not as a string, is that text; any other bytes are told in Base64."""
    try:
        text = data.decode()
    except ValueError:
        text = "\0"
    return base64.b64encode(data).decode() if _UNPRINTED.search(text) else text


_UNPRINTED = late(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""What no text holds."""


def _each(decode: Callable[[bytes], str]) -> Callable[[pl.Series], pl.Series]:
    """The text of serialized values, each distinct one decoded once."""

    def write(values: pl.Series) -> pl.Series:
        distinct = values.unique()
        texts = pl.Series([decode(data) for data in distinct.to_list()], dtype=pl.String)
        return values.replace_strict(distinct, texts, return_dtype=pl.String)

    return write


_WRITTEN: dict[str, Callable[[pl.Series], pl.Series]] = {
    "int_value": lambda values: values.cast(pl.String),
    "double_value": lambda values: values.cast(pl.String),
    "bool_value": lambda values: values.cast(pl.String),
    "array_value": _each(_array),
    "kvlist_value": _each(_kvlist),
    "bytes_value": _each(_bytes),
}


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
    return _bytes(pair["bytes_value"]) if pair["bytes_value"] is not None else None
