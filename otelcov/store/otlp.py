"""The way back: SPANS rows as OTLP bytes, with nothing lost but the order of a span's attributes."""

from __future__ import annotations

from typing import Any

import polars as pl

from otelcov.ground.schemas import KEY_VALUE, SPANS

_AROUND = ["resource", "resource_schema_url", "scope", "scope_schema_url"]
_TYPED = [field.name for field in KEY_VALUE.fields if field.name != "key"]


def to_otlp(spans: pl.DataFrame) -> bytes:
    """Spans as one ExportTraceServiceRequest, those of one resource and scope together."""
    ordered = spans.with_columns(
        pl.col("resource", "scope").fill_null(b""), pl.col("resource_schema_url", "scope_schema_url").fill_null("")
    ).sort(*_AROUND, maintain_order=True)
    resource_starts, scope_starts = _starts(ordered, _AROUND[:2]), _starts(ordered, _AROUND)
    heads = ordered[scope_starts]
    scopes = _struct(
        scope=_arrow(heads["scope"]),
        items=_list([*scope_starts, ordered.height], _messages(ordered)),
        schema_url=_arrow(heads["scope_schema_url"]),
    )
    first_scopes = [scope_starts.index(start) for start in resource_starts]
    heads = ordered[resource_starts]
    resources = _struct(
        resource=_arrow(heads["resource"]),
        scopes=_list([*first_scopes, len(scope_starts)], scopes),
        schema_url=_arrow(heads["resource_schema_url"]),
    )
    return _encode("traces", _struct(resources=_list([0, len(resources)], resources)))[0]


def span_bytes(spans: pl.DataFrame) -> pl.Series:
    """The Span message of each row."""
    return pl.Series("span", _encode("span", _messages(spans)), dtype=pl.Binary)


def _starts(ordered: pl.DataFrame, by: list[str]) -> list[int]:
    """The row numbers at which a new group begins."""
    keys = ordered.select(pl.struct(by).rle_id().alias("group"))["group"]
    return ordered.select(pl.int_range(pl.len())).to_series().filter(keys.is_first_distinct()).to_list()


def _messages(spans: pl.DataFrame) -> Any:
    """One Span message a row, in the columns of the wire."""
    filled = spans.select(
        pl.col("trace_id", "span_id", "parent_span_id").fill_null(b""),
        pl.col("trace_state", "status_message").fill_null(""),
        pl.col("events", "links").fill_null([]),
        pl.col("name"),
        pl.col([name for name, kind in SPANS.items() if kind.is_integer()]).fill_null(0),
        pl.concat_list(pl.col("attributes").fill_null([]), pl.col("content").fill_null([])).alias("attributes"),
    )
    column = {name: _arrow(filled[name]) for name in filled.columns}
    return _struct(
        **{name: column[name] for name in ("trace_id", "span_id", "trace_state", "parent_span_id", "name", "kind")},
        **{name: column[name] for name in ("start_time_unix_nano", "end_time_unix_nano")},
        attributes=_pairs(column["attributes"]),
        dropped_attributes_count=column["dropped_attributes_count"],
        events=_with_pairs(column["events"]),
        dropped_events_count=column["dropped_events_count"],
        links=_with_pairs(column["links"]),
        dropped_links_count=column["dropped_links_count"],
        status=_struct(
            _arrow((filled["status_code"] == 0) & (filled["status_message"] == "")),
            message=column["status_message"],
            code=column["status_code"],
        ),
        flags=column["flags"],
    )


def _pairs(lists: Any) -> Any:
    """Lists of {key, typed values} as lists of {key, value: {typed values}}."""
    pairs = lists.flatten()
    value = _struct(**{name: pairs.field(name) for name in _TYPED})
    return _list(_offsets(lists), _struct(key=pairs.field("key"), value=value))


def _with_pairs(lists: Any) -> Any:
    items = lists.flatten()
    fields = {items.type.field(i).name: items.field(i) for i in range(items.type.num_fields)}
    return _list(_offsets(lists), _struct(**(fields | {"attributes": _pairs(fields["attributes"])})))


def _struct(null_where: Any = None, **fields: Any) -> Any:
    import pyarrow as pa

    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=null_where)


def _list(offsets: Any, items: Any) -> Any:
    import pyarrow as pa

    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), items)


def _offsets(lists: Any) -> Any:
    """Where each list begins in `flatten()`, which leaves out what a slice does not show."""
    offsets = lists.offsets.to_numpy()
    return offsets - offsets[0]


def _encode(message: str, rows: Any) -> list[bytes]:
    import pyarrow as pa

    from collector import wire

    encoded: list[bytes] = wire.encode(message, pa.RecordBatch.from_struct_array(rows))
    return encoded


def _arrow(column: pl.Series) -> Any:
    return column.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
