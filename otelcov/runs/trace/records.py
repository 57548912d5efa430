"""Log records that tell of an agent's work where no span does: coding agents that export events alone.

Claude Code, Codex and Gemini CLI send `user_prompt`, `api_request` and `tool_result` records that belong to no span.
Runs come from spans, so such traffic gives none; what there is of it can at least be said.
"""

from __future__ import annotations

import polars as pl

from otelcov.runs.trace.carries import scope_name

_WORK = r"(?:^|[._])(?:user_prompt|api_request|api_response|tool_result|tool_call|tool_decision|sse_event)$"


def without_spans(logs: pl.DataFrame) -> list[tuple[str | None, str | None, int, list[str]]]:
    """(service, scope, number of records, their names) of the records (LOGS columns) that belong to no span and are
    named like steps of an agent, by service and scope."""
    named = pl.col("attributes").list.eval(
        pl.element().struct.field("string_value").filter(pl.element().struct.field("key") == "event.name")
    )
    loose = (
        logs.filter(pl.col("span_id").is_null())
        .select("service", "scope", event=pl.coalesce("event_name", named.list.first()))
        .filter(pl.col("event").str.contains(_WORK))
    )
    counted = loose.group_by("service", "scope").agg(pl.len().alias("records"), pl.col("event").unique().sort())
    found = [(service, scope_name(scope), n, events) for service, scope, n, events in counted.iter_rows()]
    return sorted(found, key=lambda row: (row[0] or "", row[1] or ""))
