"""Keys that belong to nobody in particular: sessions, test cases, and spans that frameworks name by pattern."""

import polars as pl

from otelcov.dialects.base import THREAD, Dialect, first

COMMON = Dialect(
    name="common",
    conversation=pl.coalesce(
        [
            first("session.id", "conversation.id", "conversation_id"),
            THREAD,
            first("thread_id", "session_id", "langfuse.session.id"),
        ]
    ),
    case=first(
        "test.case.name", "test.case.id", "otelcov.case", "test.case", "test.id", "gen_ai.test.case", "test_case"
    ),
    tool_error=pl.coalesce(
        [
            first("gen_ai.tool.call.is_error", "tool.is_error", "mcp.tool.is_error"),
            pl.when(
                first("gen_ai.tool.status", "gen_ai.tool.call.status", "tool.status", "tool.result_status")
                .str.to_lowercase()
                .is_in(["error", "failed", "failure"])
                | (
                    first("gen_ai.tool.success", "gen_ai.tool.call.success", "tool.success", "success")
                    .str.to_lowercase()
                    .eq("false")
                )
            ).then(pl.lit("true")),
        ]
    ),
    error_type=first("error.type", "error.name"),
    error_text=first("error.message", "error.msg", "error_message"),
)
