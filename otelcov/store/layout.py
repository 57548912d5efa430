"""OTLP requests as columns: decoded requests in, the SPANS and LOGS columns out.

Nothing is interpreted that need not be. Key-values stay a list of typed values, an array or a key-value list among
them as the bytes it came in, so that nothing is lost and nothing is converted while spans arrive. They are split in
two by the length of the value alone: `content` takes what is longer than LONG bytes, so that a reader who wants only
names, models and tokens skips most of the bytes. Resource and scope stay bytes too; each distinct resource is parsed
once, for the service, the environment and the release.

What OTLP leaves empty (a string, a parent id) is null here; a number that was not sent is the 0 that OTLP says it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from otelcov.ground.schemas import LOGS, SPANS
from otelcov.store.otlp import to_otlp

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LONG", "frame", "from_requests", "identity", "logs_table", "spans_table", "to_otlp"]

LONG = 256  # bytes of a value, beyond which it is content
_BYTES_A_CALL = 32 << 20  # what one decoder call may be given: Arrow's offsets end at 2 GiB
_SERVICE = ("service.name",)
_ENVIRONMENT = ("deployment.environment.name", "deployment.environment")  # the older name where the newer is missing
_RELEASE = ("service.version",)


def from_requests(
    traces: Sequence[bytes], logs: Sequence[bytes], received_unix_nano: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The spans and the log records of OTLP requests, each once: what a store would give back, without one."""
    from otelcov.store.duplicates import unique_logs, unique_spans

    spans = [frame(spans_table(chunk, [received_unix_nano] * len(chunk)), SPANS) for chunk in _chunks(traces)]
    records = [frame(logs_table(chunk, [received_unix_nano] * len(chunk)), LOGS) for chunk in _chunks(logs)]
    return (
        unique_spans(pl.concat(spans) if spans else SPANS.to_frame()).frame,
        unique_logs(pl.concat(records) if records else LOGS.to_frame()).frame,
    )


def spans_table(requests: Sequence[bytes], received: Sequence[int], masked: Sequence[int] | None = None) -> pa.Table:
    """The spans of trace requests; `received` and `masked` say when each request came and what was masked in it."""
    import pyarrow as pa

    from otelcov.store import _wire as wire

    resources, of_request = _items(wire.decode_traces(list(requests)).column("resource_spans"))
    scopes, of_resource = _items(resources.field("scope_spans"))
    spans, of_scope = _items(scopes.field("spans"))
    attributes, content = _split(spans.field("attributes"))
    status = spans.field("status")
    columns = {
        "trace_id": spans.field("trace_id"),
        "span_id": spans.field("span_id"),
        "parent_span_id": _unless_empty(spans.field("parent_span_id")),
        "trace_state": _unless_empty(spans.field("trace_state")),
        "flags": spans.field("flags"),
        "name": spans.field("name"),
        "kind": spans.field("kind"),
        "start_time_unix_nano": spans.field("start_time_unix_nano"),
        "end_time_unix_nano": spans.field("end_time_unix_nano"),
        "attributes": attributes,
        "content": content,
        "dropped_attributes_count": spans.field("dropped_attributes_count"),
        "events": _with_key_values(spans.field("events")),
        "dropped_events_count": spans.field("dropped_events_count"),
        "links": _with_key_values(spans.field("links")),
        "dropped_links_count": spans.field("dropped_links_count"),
        "status_code": _or_zero(status.flatten()[status.type.get_field_index("code")]),
        "status_message": _unless_empty(status.flatten()[status.type.get_field_index("message")]),
        **_origin(resources, scopes, of_resource, of_scope),
        **_arrival(received, masked, of_request[of_resource][of_scope]),
    }
    return pa.table([columns[name] for name in SPANS], names=list(SPANS))


def logs_table(requests: Sequence[bytes], received: Sequence[int], masked: Sequence[int] | None = None) -> pa.Table:
    """The records of log requests."""
    import pyarrow as pa

    from otelcov.store import _wire as wire

    resources, of_request = _items(wire.decode_logs(list(requests)).column("resource_logs"))
    scopes, of_resource = _items(resources.field("scope_logs"))
    records, of_scope = _items(scopes.field("log_records"))
    attributes, content = _split(records.field("attributes"))
    body = dict(zip(_names(records.field("body")), records.field("body").flatten(), strict=True))
    columns = {
        "trace_id": _unless_empty(records.field("trace_id")),
        "span_id": _unless_empty(records.field("span_id")),
        "time_unix_nano": records.field("time_unix_nano"),
        "observed_time_unix_nano": records.field("observed_time_unix_nano"),
        "severity_number": records.field("severity_number"),
        "severity_text": _unless_empty(records.field("severity_text")),
        "event_name": _unless_empty(records.field("event_name")),
        "body": pa.StructArray.from_arrays(
            [pa.array([""] * len(records), pa.string()), *body.values()], names=["key", *body]
        ),
        "attributes": attributes,
        "content": content,
        "dropped_attributes_count": records.field("dropped_attributes_count"),
        "flags": records.field("flags"),
        **_origin(resources, scopes, of_resource, of_scope),
        **_arrival(received, masked, of_request[of_resource][of_scope]),
    }
    return pa.table([columns[name] for name in LOGS], names=list(LOGS))


def frame(table: pa.Table, schema: pl.Schema) -> pl.DataFrame:
    """A laid-out table as the frame that other modules read."""
    import pyarrow as pa

    plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    read = pl.from_arrow(pa.table(plain, names=table.column_names))
    assert isinstance(read, pl.DataFrame)
    return read.select(schema.names()).cast(dict(schema))


@lru_cache(maxsize=4096)
def identity(resource: bytes) -> tuple[str | None, str | None, str | None]:
    """Service, environment and release that a serialized Resource names; null where it names none, or not as text."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource

    try:
        attributes = Resource.FromString(resource).attributes
    except DecodeError:
        return None, None, None  # kept as it came; only nothing can be read from it
    texts = {kv.key: kv.value.string_value for kv in reversed(attributes) if kv.value.string_value}

    def first(keys: tuple[str, ...]) -> str | None:
        return next((texts[key] for key in keys if key in texts), None)

    return first(_SERVICE), first(_ENVIRONMENT), first(_RELEASE)


def _chunks(requests: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    first, size = 0, 0
    for i, request in enumerate(requests):
        if size and size + len(request) > _BYTES_A_CALL:
            yield requests[first:i]
            first, size = i, 0
        size += len(request)
    if first < len(requests):
        yield requests[first:]


def _items(lists: Any) -> tuple[Any, np.ndarray[Any, Any]]:
    """The items of a column of lists, and the row each of them is from."""
    lists = lists.combine_chunks() if hasattr(lists, "combine_chunks") else lists
    lengths = np.diff(lists.offsets.to_numpy())
    return lists.flatten(), np.repeat(np.arange(len(lengths)), lengths)


def _names(structs: Any) -> list[str]:
    return [structs.type.field(i).name for i in range(structs.type.num_fields)]


def _key_values(pairs: Any) -> Any:
    """{key, value: {typed values}} as {key, typed values}: the same buffers, one level less."""
    import pyarrow as pa

    value = pairs.field("value")
    return pa.StructArray.from_arrays([pairs.field("key"), *value.flatten()], names=["key", *_names(value)])


def _split(lists: Any) -> tuple[Any, Any]:
    """Key-values as two columns of lists, short and long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets = lists.offsets.to_numpy() - lists.offsets[0].as_py() if len(lists) else np.zeros(1, np.int32)
    pairs = _key_values(lists.flatten())
    sizes = [pc.binary_length(pairs.field(n)) for n in ("string_value", "array_value", "kvlist_value", "bytes_value")]
    long = np.zeros(len(pairs), bool)
    for size in sizes:
        if size.null_count < len(size):
            long |= size.fill_null(0).to_numpy() > LONG
    if not long.any():
        return _lists(offsets, pairs), _lists(np.zeros(len(offsets), np.int32), pairs.slice(0, 0))
    before = np.concatenate([[0], np.cumsum(long)])[offsets]
    return _lists(offsets - before, pairs.filter(pa.array(~long))), _lists(before, pairs.filter(pa.array(long)))


def _lists(offsets: np.ndarray[Any, Any], items: Any) -> Any:
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), items)


def _with_key_values(lists: Any) -> Any:
    """Events or links, the key-values inside them one level less."""
    import pyarrow as pa

    items = lists.flatten()
    names = _names(items)
    offsets = lists.offsets.to_numpy() - lists.offsets[0].as_py() if len(lists) else np.zeros(1, np.int32)
    fields = []
    for name in names:
        field = items.field(name)
        if name == "attributes":
            starts = field.offsets.to_numpy() - field.offsets[0].as_py() if len(field) else np.zeros(1, np.int32)
            field = _lists(starts, _key_values(field.flatten()))
        elif name == "trace_state":
            field = _unless_empty(field)
        fields.append(field)
    return _lists(offsets, pa.StructArray.from_arrays(fields, names=names))


def _unless_empty(texts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(empty, pa.scalar(None, texts.type), texts) if pc.any(empty).as_py() else texts


def _or_zero(numbers: Any) -> Any:
    return numbers.fill_null(0) if numbers.null_count else numbers


def _origin(resources: Any, scopes: Any, of_resource: Any, of_scope: Any) -> dict[str, Any]:
    """The columns that a row has from the resource and the scope around it."""
    import pyarrow as pa

    encoded = resources.field("resource").fill_null(b"").dictionary_encode()
    codes = pa.array(encoded.indices.to_numpy()[of_resource][of_scope], pa.int32())
    named = [identity(resource) for resource in encoded.dictionary.to_pylist()]
    scope = scopes.field("scope").fill_null(b"").dictionary_encode()
    return {
        "resource": pa.DictionaryArray.from_arrays(codes, encoded.dictionary),
        "resource_schema_url": _unless_empty(resources.field("schema_url")).take(pa.array(of_resource[of_scope])),
        "scope": pa.DictionaryArray.from_arrays(scope.indices.take(pa.array(of_scope)), scope.dictionary),
        "scope_schema_url": _unless_empty(scopes.field("schema_url")).take(pa.array(of_scope)),
        **{
            column: pa.array([names[i] for names in named], pa.string()).take(codes)
            for i, column in enumerate(("service", "environment", "release"))
        },
    }


def _arrival(received: Sequence[int], masked: Sequence[int] | None, of_request: Any) -> dict[str, Any]:
    import pyarrow as pa

    return {
        "received_unix_nano": pa.array(np.asarray(received, np.uint64)[of_request]),
        "masked": pa.array(np.asarray(masked or [0] * len(received), np.uint32)[of_request]),
    }
