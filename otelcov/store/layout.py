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
_EMPTY_IS_NULL = (
    *("trace_id", "span_id", "parent_span_id", "trace_state", "status_message", "severity_text", "event_name"),
    *("resource_schema_url", "scope_schema_url"),
)
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
    from collector import wire

    return _table(wire.decode_traces(requests), SPANS, received, masked)


def logs_table(requests: Sequence[bytes], received: Sequence[int], masked: Sequence[int] | None = None) -> pa.Table:
    """The records of log requests."""
    from collector import wire

    return _table(wire.decode_logs(requests), LOGS, received, masked)


def frame(table: pa.Table, schema: pl.Schema) -> pl.DataFrame:
    """A laid-out table as the frame that other modules read."""
    import pyarrow as pa

    plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
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


def _chunks(requests: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    first, size = 0, 0
    for i, request in enumerate(requests):
        if size and size + len(request) > _BYTES_A_CALL:
            yield requests[first:i]
            first, size = i, 0
        size += len(request)
    if first < len(requests):
        yield requests[first:]


def _table(rows: pa.Table, schema: pl.Schema, received: Sequence[int], masked: Sequence[int] | None) -> pa.Table:
    """Decoded rows in the columns of `schema`."""
    import pyarrow as pa

    columns = {name: _whole(rows.column(name)) for name in rows.column_names}
    columns |= {name: _unless_empty(columns[name]) for name in _EMPTY_IS_NULL if name in columns}
    columns["attributes"], columns["content"] = _split(columns["attributes"])
    columns |= _identities(columns["resource"])
    columns |= _arrival(columns["request"].to_numpy(), received, masked)
    return pa.table([columns[name] for name in schema], names=list(schema))


def _split(lists: Any) -> tuple[Any, Any]:
    """Key-values as two columns of lists: the short ones and the long ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets, pairs = lists.offsets.to_numpy(), lists.values
    long = np.zeros(len(pairs), bool)
    for name in ("string_value", "array_value", "kvlist_value", "bytes_value"):
        value = pairs.field(name)
        if value.null_count < len(value):
            long |= pc.binary_length(value).fill_null(0).to_numpy() > LONG
    if not long.any():
        return lists, _lists(np.zeros_like(offsets), pairs.slice(0, 0))
    before = np.concatenate([[0], np.cumsum(long)])[offsets]
    return _lists(offsets - before, pairs.filter(pa.array(~long))), _lists(before, pairs.filter(pa.array(long)))


def _lists(offsets: np.ndarray[Any, Any], items: Any) -> Any:
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


def _unless_empty(texts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(texts.type):
        return _unless_empty(texts.dictionary).take(texts.indices)
    empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(empty, pa.scalar(None, texts.type), texts) if pc.any(empty).as_py() else texts


def _identities(resources: Any) -> dict[str, Any]:
    """Service, environment and release of every row, each distinct resource read once."""
    import pyarrow as pa

    named = [identity(resource or b"") for resource in resources.dictionary.to_pylist()]
    return {
        column: pa.array([names[i] for names in named], pa.string()).take(resources.indices)
        for i, column in enumerate(("service", "environment", "release"))
    }


def _arrival(of_request: Any, received: Sequence[int], masked: Sequence[int] | None) -> dict[str, Any]:
    """When each row came; what was masked in its request is told by the request's first row, so that sums are exact."""
    import pyarrow as pa

    counts = np.asarray(masked or [0] * len(received), np.uint32)[of_request]
    counts[1:][of_request[1:] == of_request[:-1]] = 0
    return {
        "received_unix_nano": pa.array(np.asarray(received, np.uint64)[of_request], pa.uint64()),
        "masked": pa.array(counts, pa.uint32()),
    }


def _whole(column: Any) -> Any:
    """One array, whether or not the decoder gave it in pieces."""
    if not hasattr(column, "chunks"):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
