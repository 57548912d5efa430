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
from otelcov.store import duplicates
from otelcov.store.otlp import to_otlp

if TYPE_CHECKING:
    import pyarrow as pa

    from collector.segment import Row

__all__ = ["LONG", "frame", "from_requests", "identity", "table", "to_otlp"]

LONG = 256  # bytes of a value, beyond which it is content
_EMPTY_IS_NULL = (
    *("trace_id", "span_id", "parent_span_id", "trace_state", "status_message", "severity_text", "event_name"),
    *("resource_schema_url", "scope_schema_url"),
)
_NO_ID = {"trace_id": bytes(16), "span_id": bytes(8), "parent_span_id": bytes(8)}  # as some exporters write none
_CALL_BYTES = 4 << 20  # a call of the decoder costs as much as 300 spans, and what it makes should fit the caches
_FRAME_BYTES = 512 << 20  # Arrow's offsets end at 2 GiB
_SERVICE = ("service.name",)
_ENVIRONMENT = ("deployment.environment.name", "deployment.environment")  # the older name where the newer is missing
_RELEASE = ("service.version",)


def from_requests(
    traces: Sequence[bytes], logs: Sequence[bytes], received_unix_nano: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The spans and the log records of OTLP requests, each once: what a store would give back, without one."""
    from collector.segment import Row

    sent = [Row("traces", received_unix_nano, 0, 0, body) for body in traces]
    records = [Row("logs", received_unix_nano, 0, 0, body) for body in logs]
    return _each_once("spans", sent, SPANS), _each_once("logs", records, LOGS)


def table(name: str, requests: Sequence[Row]) -> pa.Table:
    """The spans or the logs of admitted requests of that signal, in one table."""
    import pyarrow as pa

    tables = list(pieces(name, requests))
    return pa.concat_tables(tables).unify_dictionaries() if len(tables) > 1 else tables[0]


def pieces(name: str, requests: Sequence[Row]) -> Iterator[pa.Table]:
    """The same, a call of the decoder at a time."""
    from collector import wire

    decode, schema = (wire.decode_traces, SPANS) if name == "spans" else (wire.decode_logs, LOGS)
    for some in _chunks(requests, _CALL_BYTES):
        yield _columns(decode([request.body for request in some]), schema, some)


def frame(table: pa.Table, schema: pl.Schema) -> pl.DataFrame:
    """A laid-out table as the frame that other modules read."""
    import pyarrow as pa

    plain = [_plain(c) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    read = pl.from_arrow(pa.table(plain, names=table.column_names))
    assert isinstance(read, pl.DataFrame)
    return read.select(schema.names()).cast(schema)


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


def _each_once(name: str, requests: Sequence[Row], schema: pl.Schema) -> pl.DataFrame:
    frames = [frame(table(name, some), schema) for some in _chunks(requests, _FRAME_BYTES)]
    rows = pl.concat(frames) if frames else schema.to_frame()
    return duplicates.unique(name, duplicates.new(rows)).select(schema.names())


def _chunks(requests: Sequence[Row], room: int) -> Iterator[Sequence[Row]]:
    """Parts of at most `room` bytes, or of one request."""
    first, size = 0, 0
    for i, request in enumerate(requests):
        if i > first and size + len(request.body) > room:
            yield requests[first:i]
            first, size = i, 0
        size += len(request.body)
    if first < len(requests):
        yield requests[first:]


def _columns(rows: pa.Table, schema: pl.Schema, requests: Sequence[Row]) -> pa.Table:
    """Decoded rows in the columns of `schema`."""
    import pyarrow as pa

    columns = {name: _whole(rows.column(name)) for name in rows.column_names}
    columns |= {name: _unless_empty(columns[name]) for name in _EMPTY_IS_NULL if name in columns}
    ids = ("trace_id", "span_id") if schema is LOGS else ("parent_span_id",)  # a span is admitted with its own alone
    columns |= {name: _unless(columns[name], _NO_ID[name]) for name in ids}
    columns["attributes"], columns["content"] = _split(columns["attributes"])
    columns |= _identities(columns["resource"])
    columns |= _arrival(columns["request"].to_numpy(), requests)
    return pa.table([columns[name] for name in schema], names=list(schema))


def _split(lists: Any) -> tuple[Any, Any]:
    """Key-values as two columns of lists: the short ones and the long ones."""
    import pyarrow as pa

    from collector.arrow import call

    offsets, pairs = lists.offsets.to_numpy(), lists.values
    long = np.zeros(len(pairs), bool)
    for name in ("string_value", "array_value", "kvlist_value", "bytes_value"):
        value = pairs.field(name)
        if value.null_count < len(value):
            long |= _lengths(value) > LONG
    if not long.any():
        return lists, _lists(np.zeros_like(offsets), pairs.slice(0, 0))
    before = np.concatenate([[0], np.cumsum(long)])[offsets]
    short, rest = (call("filter", pairs, pa.array(which)) for which in (~long, long))
    return _lists(offsets - before, short), _lists(before, rest)


def _lists(offsets: np.ndarray[Any, Any], items: Any) -> Any:
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


def _lengths(texts: Any) -> np.ndarray[Any, Any]:
    """Bytes of each text; 0 for null."""
    import pyarrow as pa

    from collector.arrow import call

    lengths = call("binary_length", texts)
    found: np.ndarray[Any, Any] = call("coalesce", lengths, pa.scalar(0, lengths.type)).to_numpy()
    return found


def _unless_empty(texts: Any) -> Any:
    import pyarrow as pa

    from collector.arrow import call

    if pa.types.is_dictionary(texts.type):
        return call("take", _unless_empty(texts.dictionary), texts.indices)
    empty = _lengths(texts) == 0
    return call("if_else", pa.array(empty), pa.scalar(None, texts.type), texts) if empty.any() else texts


def _unless(ids: Any, none: bytes) -> Any:
    import pyarrow as pa

    from collector.arrow import call

    missing = call("equal", ids, pa.scalar(none, ids.type))
    return call("if_else", missing, pa.scalar(None, ids.type), ids) if missing.true_count else ids


def _plain(column: Any) -> Any:
    """A column of a dictionary's texts as these texts."""
    import pyarrow as pa

    from collector.arrow import call

    parts = [call("take", part.dictionary, part.indices) for part in column.chunks]
    return pa.chunked_array(parts, column.type.value_type)


def _identities(resources: Any) -> dict[str, Any]:
    """Service, environment and release of every row, each distinct resource read once."""
    import pyarrow as pa

    from collector.arrow import call

    named = [identity(resource or b"") for resource in resources.dictionary.to_pylist()]
    return {
        column: call("take", pa.array([names[i] for names in named], pa.string()), resources.indices)
        for i, column in enumerate(("service", "environment", "release"))
    }


def _arrival(of_request: np.ndarray[Any, Any], requests: Sequence[Row]) -> dict[str, Any]:
    """When each row came; what was masked in its request is told by the request's first row, so that sums are exact."""
    import pyarrow as pa

    received = np.array([request.received_unix_nano for request in requests], np.uint64)[of_request]
    masked = np.array([request.masked for request in requests], np.uint32)[of_request]
    masked[1:][of_request[1:] == of_request[:-1]] = 0
    return {"received_unix_nano": pa.array(received), "masked": pa.array(masked)}


def _whole(column: Any) -> Any:
    """One array, whether or not the decoder gave it in pieces."""
    if not hasattr(column, "chunks"):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
