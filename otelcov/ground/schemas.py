"""The columns of every frame that crosses a module boundary.

Null means "not reported". Times are nanoseconds since the Unix epoch (UTC), unsigned. Ids are raw bytes in frames
and lower-case hex in JSON.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl


def _schema(columns: dict[str, Any]) -> pl.Schema:
    return pl.Schema(columns)


# One typed attribute. At most one value is set; none at all is OTLP's "AnyValue without a value".
# Arrays and key-value lists keep their serialized `ArrayValue` / `KeyValueList` bytes, so that nothing is lost.
KEY_VALUE: Any = pl.Struct(
    {
        "key": pl.String,
        "string_value": pl.String,
        "bool_value": pl.Boolean,
        "int_value": pl.Int64,
        "double_value": pl.Float64,
        "array_value": pl.Binary,
        "kvlist_value": pl.Binary,
        "bytes_value": pl.Binary,
    }
)

EVENT: Any = pl.Struct(
    {
        "time_unix_nano": pl.UInt64,
        "name": pl.String,
        "attributes": pl.List(KEY_VALUE),
        "dropped_attributes_count": pl.UInt32,
    }
)

LINK: Any = pl.Struct(
    {
        "trace_id": pl.Binary,
        "span_id": pl.Binary,
        "trace_state": pl.String,
        "attributes": pl.List(KEY_VALUE),
        "dropped_attributes_count": pl.UInt32,
        "flags": pl.UInt32,
    }
)

# Every key-value of a span is in `attributes` or in `content`: the latter takes the long values (store.layout).
SPANS = _schema(
    {
        "trace_id": pl.Binary,
        "span_id": pl.Binary,
        "parent_span_id": pl.Binary,  # null for a root
        "trace_state": pl.String,
        "flags": pl.UInt32,
        "name": pl.String,
        "kind": pl.Int32,
        "start_time_unix_nano": pl.UInt64,
        "end_time_unix_nano": pl.UInt64,
        "attributes": pl.List(KEY_VALUE),
        "content": pl.List(KEY_VALUE),
        "dropped_attributes_count": pl.UInt32,
        "events": pl.List(EVENT),
        "dropped_events_count": pl.UInt32,
        "links": pl.List(LINK),
        "dropped_links_count": pl.UInt32,
        "status_code": pl.Int32,
        "status_message": pl.String,
        "resource": pl.Binary,  # serialized Resource
        "resource_schema_url": pl.String,
        "scope": pl.Binary,  # serialized InstrumentationScope
        "scope_schema_url": pl.String,
        "service": pl.String,
        "environment": pl.String,
        "release": pl.String,
        "masked": pl.UInt32,  # values of this span's request that the collector masked, dropped or hashed
        "received_unix_nano": pl.UInt64,
    }
)

LOGS = _schema(
    {
        "trace_id": pl.Binary,  # null where the record names none
        "span_id": pl.Binary,
        "time_unix_nano": pl.UInt64,
        "observed_time_unix_nano": pl.UInt64,
        "severity_number": pl.Int32,
        "severity_text": pl.String,
        "event_name": pl.String,
        "body": KEY_VALUE,  # its key is empty
        "attributes": pl.List(KEY_VALUE),
        "content": pl.List(KEY_VALUE),
        "dropped_attributes_count": pl.UInt32,
        "flags": pl.UInt32,
        "resource": pl.Binary,
        "resource_schema_url": pl.String,
        "scope": pl.Binary,
        "scope_schema_url": pl.String,
        "service": pl.String,
        "environment": pl.String,
        "release": pl.String,
        "masked": pl.UInt32,
        "received_unix_nano": pl.UInt64,
    }
)

TOOL_CALL: Any = pl.Struct(
    {
        "name": pl.String,
        "agent": pl.String,
        "status": pl.String,  # ok | error | requested | unknown
        "error_kind": pl.String,  # hard | soft
        "error_type": pl.String,
        "arguments": pl.String,  # canonical JSON text of the parsed object
        "arguments_text": pl.String,  # the raw text where it could not be parsed
        "result": pl.String,  # JSON text (a string result is a JSON string)
        "call_id": pl.String,
        "turn": pl.Int32,
        "evidence": pl.List(pl.String),
        "start_unix_nano": pl.UInt64,
        "end_unix_nano": pl.UInt64,
    }
)

LLM_CALL: Any = pl.Struct(
    {
        "agent": pl.String,
        "request_model": pl.String,
        "response_model": pl.String,
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
        "status": pl.String,
        "finish_reason": pl.String,
        "start_unix_nano": pl.UInt64,
        "end_unix_nano": pl.UInt64,
    }
)

DELEGATION: Any = pl.Struct(
    {
        "from": pl.String,
        "to": pl.String,
        "form": pl.String,  # handoff | tool | nested | remote | unknown
        "tool": pl.String,
        "status": pl.String,
    }
)

# One row per run: the run JSON of the contract, in columns, and what the report's quality section counts.
RUNS = _schema(
    {
        "run_id": pl.String,
        "trace_ids": pl.List(pl.String),
        "conversation_id": pl.String,
        "case": pl.String,
        "service": pl.String,
        "environment": pl.String,
        "release": pl.String,
        "start_unix_nano": pl.UInt64,
        "end_unix_nano": pl.UInt64,
        "settled": pl.Boolean,
        "status": pl.String,
        "input": pl.String,
        "output": pl.String,
        "agents": pl.List(pl.String),
        "known_tools": pl.List(pl.String),
        "known_tools_source": pl.String,
        "tool_calls": pl.List(TOOL_CALL),
        "llm_calls": pl.List(LLM_CALL),
        "delegations": pl.List(DELEGATION),
        "boundaries": pl.List(pl.String),
        "boundaries_unknown": pl.List(pl.String),
        "path": pl.List(pl.List(pl.String)),
        "states": pl.List(pl.String),
        "incomplete": pl.List(pl.String),
        # beyond the run JSON
        "scope": pl.String,  # of its first model call, or else of its first step: who tells of it
        "spans": pl.UInt32,
        "orphans": pl.UInt32,
        "unexplained": pl.List(pl.Struct({"scope": pl.String, "spans": pl.UInt32})),
        "dropped_attributes": pl.UInt32,
        "masked": pl.UInt32,
        "sampled": pl.String,  # null: no sign of sampling; "known" or "unknown" rate
        "weight": pl.Float64,  # adjusted count, 1.0 without sampling
    }
)


@cache
def no_runs() -> pl.DataFrame:
    """RUNS without a row: to make the columns of so many fields takes longer than to look at a few runs."""
    return RUNS.to_frame()


LATEST_NS = 2**63 - 1  # in the year 2262: no calendar and no signed number goes further


def signed(column: str) -> pl.Expr:
    """A time to count with: one beyond the last stands at the last."""
    return pl.col(column).clip(upper_bound=pl.lit(LATEST_NS, pl.UInt64)).cast(pl.Int64)
