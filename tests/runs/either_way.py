"""Runs by the shortcut for regular traces and without it, and traffic to hold both to each other."""

from __future__ import annotations

import importlib

import numpy as np
import polars as pl
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope

from otelcov.ground.config import Config
from otelcov.ground.schemas import RUNS
from otelcov.runs import reconstruct
from otelcov.runs.shortcut.regular import regular
from tests.bench.generate import Traffic, requests
from tests.captures import LATER
from tests.runs.requests import frames

module = importlib.import_module("otelcov.runs.reconstruct")


def with_shortcut(spans, logs, config=None, now=LATER):
    """The runs, and how many of them the shortcut found."""
    found = []

    def counted(*arguments):
        rows, rest = regular(*arguments)
        found.append(rows.height)
        return rows, rest

    module.regular = counted
    try:
        return reconstruct(spans, logs, config or Config(), now), sum(found)
    finally:
        module.regular = regular


def without(spans, logs, config=None, now=LATER):
    module.regular = lambda frame, *_: (RUNS.to_frame(), np.ones(frame.height, dtype=bool))
    try:
        return reconstruct(spans, logs, config or Config(), now)
    finally:
        module.regular = regular


def generated():
    return frames([("traces", r.body) for r in requests(Traffic(spans=1500, request_spans=256, unique=0.5))])


def under_way(rng, spans):
    """What has come of these traces at some moment of each: the spans that have ended."""
    ends = spans.group_by("trace_id", maintain_order=True).agg(
        first=pl.col("start_time_unix_nano").min(), last=pl.col("end_time_unix_nano").max()
    )
    share = pl.Series([rng.random() for _ in range(ends.height)])
    at = ends.select("trace_id", at=pl.col("first") + ((pl.col("last") - pl.col("first")) * share).cast(pl.UInt64))
    there = spans.join(at, on="trace_id", maintain_order="left")
    return there.filter(pl.col("end_time_unix_nano") < pl.col("at")).select(spans.columns)


ERRORS = (
    *("InternalServerError", "openai.RateLimitError", "APITimeoutError", "429 Too many requests", "CancelledError"),
    *("UsageLimitExceeded", "MaxTurnsExceeded", "ContentFilterFinishReasonError", "<class 'ValueError'>", "safety", ""),
)


def said(row, key):
    return next((pair["string_value"] for pair in row["attributes"] if pair["key"] == key), None)


def broken_off(rng, spans, share):
    """The same traces, in a share of which a model call failed and mostly the agents above it; often that was all."""
    traces = {}
    for row in spans.iter_rows(named=True):
        traces.setdefault(row["trace_id"], []).append(row)
    out = []
    for rows in traces.values():
        out += rows
        models = [row for row in rows if said(row, "gen_ai.operation.name") == "chat"]
        if not models or rng.random() > share:
            continue
        models.sort(key=lambda row: row["start_time_unix_nano"])
        row = model = rng.choice([models[-1], models[-1], rng.choice(models)])
        error = rng.choice(ERRORS)
        words = rng.choice([f"{error}: no answer", "", "Rate limit reached", "request timed out", "blocked by safety"])
        above = {row["span_id"]: row for row in rows}
        while row is not None and rng.random() < 0.9:
            if row is model or said(row, "gen_ai.operation.name") == "invoke_agent" or rng.random() < 0.3:
                fail(rng, row, error, words)
            row = above.get(row["parent_span_id"])
        if rng.random() < 0.5:
            later = [row for row in rows if row["start_time_unix_nano"] > model["start_time_unix_nano"]]
            out = [row for row in out if row not in later]
    return pl.DataFrame(out, schema=spans.schema)


def fail(rng, row, error, words):
    row["status_code"], row["status_message"] = 2, words or None
    told = ("gen_ai.output", "gen_ai.response", "gen_ai.usage")
    blank = dict.fromkeys(row["attributes"][0])
    for column in ("attributes", "content"):
        row[column] = [pair for pair in row[column] if not pair["key"].startswith(told) or rng.random() < 0.03]
    if rng.random() < 0.9:
        row["attributes"].append({**blank, "key": "error.type", "string_value": error})
    if rng.random() < 0.2:
        thrown = {"exception.type": error, "exception.message": words}
        pairs = [{**blank, "key": key, "string_value": value} for key, value in thrown.items()]
        event = {"time_unix_nano": row["end_time_unix_nano"], "name": "exception", "attributes": pairs}
        row["events"] = [{**event, "dropped_attributes_count": 0}]


def framed(rng, spans, odd):
    """The same traces as servers tell them: a request above each, calls of other servers around and below; `odd`: in
    any shape."""
    blank = {column: [] for column in ("events", "links", "attributes", "content")}
    blank |= {"scope": InstrumentationScope(name="opentelemetry.instrumentation.asgi").SerializeToString()}
    blank |= {"kind": 2, "status_code": 0, "status_message": None}
    key = dict.fromkeys(spans["attributes"].explode()[0])
    out = []
    for number, rows in enumerate(spans.partition_by("trace_id", maintain_order=True)):
        rows = rows.to_dicts()
        first = min(rows, key=lambda row: (row["parent_span_id"] is not None, row["start_time_unix_nano"]))
        begin, end = first["start_time_unix_nano"], first["end_time_unix_nano"]
        made = []

        def server(above, name, begin=begin, end=end, number=number, first=first, made=made):
            id = bytes([0x77, len(made)]) + number.to_bytes(6, "big")
            times = {"start_time_unix_nano": begin, "end_time_unix_nano": end}
            made.append({**first, **blank, **times, "parent_span_id": above, "span_id": id, "name": name})
            return id

        above = None
        for _ in range(rng.choice([0, 1, 6]) if odd else 0):
            above = server(above, "middleware")
        above = server(above, "POST /chat")
        first["parent_span_id"] = above
        for _ in range(rng.choice([0, 1, 9]) if odd else 1):
            server(above, "SELECT users")
        if odd:
            row = rng.choice(made)
            some = [("input.value", "[]"), ("output.value", "fine"), ("openinference.span.kind", "CHAIN")]
            if rng.random() < 0.3:
                row["attributes"] = [
                    {**key, "key": name, "string_value": value} for name, value in some[rng.randrange(3) :]
                ]
            row["status_code"] = rng.choice([0, 0, 0, 1, 2])
            if rng.random() < 0.1:
                rng.choice(rows)["parent_span_id"] = above
            if rng.random() < 0.1:
                first["start_time_unix_nano"] = first["end_time_unix_nano"] - 1
        out += made + rows
    return pl.DataFrame(out, schema=spans.schema)


def torn(rng, spans, share):
    """The same traces, of which a share begins below a span that is told of elsewhere."""
    rows = spans.to_dicts()
    for row in rows:
        if row["parent_span_id"] is None and rng.random() < share:
            row["parent_span_id"] = b"\x99" * 8 if share == 1 or rng.random() < 0.95 else row["span_id"]
    return pl.DataFrame(rows, schema=spans.schema)


ODD_VALUES = (
    *("", "null", "[]", "{}", "42", "unknown", "Agent", "Error: no such thing", "ValueError: odd", "plain words"),
    *(
        "Agent stopped due to max iterations.",
        '[{"role":"assistant","parts":[{"type":"text","content":"Reached max steps"}]}]',
    ),
    *('{"isError": true, "content": [{"type": "text", "text": "no"}]}', '{"tool_call_id": "x", "content": "y"}'),
    *('{"status": "error", "message": "m"}', "transfer_to_worker", "final_answer", "length", '["tool_calls"]'),
    *('{"kwargs": {"a": 1}}', '"text in quotes"', "Action: go\nAction Input: {}", '[{"role": "user", "parts": []}]'),
)


def damaged(rng, spans):
    """The same spans with odd attributes, times, parents and errors here and there."""
    rows = spans.to_dicts()
    others = [a for row in rows for a in row["attributes"]]
    for row in rows:
        if rng.random() > 0.06:
            continue
        pairs = rng.choice([row["attributes"], row["content"]]) or row["attributes"]
        pair = rng.choice(pairs or others)
        match rng.randrange(9):
            case 0 if pairs:
                pairs.remove(pair)
            case 1 | 2:
                pair |= {**dict.fromkeys(pair), "key": pair["key"], "string_value": rng.choice(ODD_VALUES)}
            case 3:
                same = [o for o in others if o["key"] == pair["key"]]
                pair |= rng.choice(same or [pair])
            case 4 if pair["string_value"]:
                pair["string_value"] = pair["string_value"][: len(pair["string_value"]) // 2]
            case 5:
                row["start_time_unix_nano"] = rng.choice(rows)["start_time_unix_nano"]
            case 6:
                row["parent_span_id"] = rng.choice([None, rng.choice(rows)["span_id"]])
            case 7:
                row["status_code"] = 2
            case _:
                row["end_time_unix_nano"] = row["start_time_unix_nano"] - rng.choice([0, 1])
    return pl.DataFrame([r for r in rows if rng.random() > 0.002], schema=spans.schema)
