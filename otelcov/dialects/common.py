"""Keys that belong to nobody in particular: sessions, test cases, and spans that frameworks name by pattern."""

import polars as pl

from otelcov.dialects.base import ANYS, THREAD, Dialect, first

# How a tool's call went, where nobody sets the span's status: Rust's `tracing` has none.
_STATUS = (
    *("gen_ai.tool.status", "gen_ai.tool.call.status", "tool.status", "tool.result_status", "au.tool.status"),
    *("pi.gen_ai.tool.status", "tool.result.status", "agent.tool.status", "mcp.tool.status", f"{ANYS}tool.status"),
)
_OUTCOME = (
    *("gen_ai.tool.call.outcome", "gen_ai.tool.outcome", "tool.outcome", "agent.action.outcome"),
    *("openclaw.outcome", "tanstack.ai.tool.outcome", "agent.tool.outcome", f"{ANYS}tool.outcome"),
)
_BESIDE_NAME = pl.when(first("gen_ai.tool.name", "tool.name").is_not_null())
_WENT = pl.coalesce(
    [first(*_STATUS, *_OUTCOME), _BESIDE_NAME.then(first("outcome", "status", "tool_status"))]
).str.to_lowercase()
_OK = first(
    *("gen_ai.tool.success", "gen_ai.tool.is_success", "gen_ai.tool.call.success", "gen_ai.tool.call.ok"),
    *("tool.success", "tool.ok", "success", "agent.tool.success", "agent.tool.ok", "mcp.tool.success"),
    f"{ANYS}tool.success",
).str.to_lowercase()
_ERROR = pl.coalesce(  # what went wrong, or whether anything did
    [
        first("gen_ai.tool.call.error", "gen_ai.tool.error", "tool.error"),
        first("gen_ai.tool.error.message", "tool.error.message"),
        _BESIDE_NAME.then(pl.col("error")),
    ]
)
_SAID = pl.when(~_ERROR.str.to_lowercase().is_in(["true", "false", "none", "null", "", "{}", "[]", "0"])).then(_ERROR)
# What OpenTracing's tag says, which bridges and hands still write, where nobody sets the status.
_FAILED = pl.when(pl.col("error").str.to_lowercase() == "true")
_BADLY = r"^(?:[a-z]{4,}[_ -])?(?:error(?:ed)?|fail(?:ed|ure)?|exception|timeout|timed[_ -]out)$"
# A word that is none of these, nor of the others, may say anything: that a tool waits for leave, that nobody has it.
_WELL = r"^(?:ok(?:ay)?|success(?:ful(?:ly)?)?|succeeded|completed?|done|executed|finished|passed|allowed|approved)$"
_NO_WORD = r"^(?:|none|null|nil|unset|true|false|[\d.]+|status_code_\w+|.{40,})$"
_NOT_RUN = ["blocked", "skipped", "rejected", "declined", "refused"]
_BROKEN_OFF = ["cancelled", "canceled", "abandoned", "aborted", "interrupted"]  # before it ran, or as it did

_IS_ERROR = ("tool.is_error", "tool.result.is_error", "mcp.tool.is_error", "mcp.is_error", f"{ANYS}tool.is_error")
_DENIED = first("gen_ai.tool.denied", "tool.denied", f"{ANYS}tool.denied").str.to_lowercase() == "true"
# A tool that denied what it was asked for ran, Rig says; others may say so of one that was given no leave.
_DENIED_ITSELF = pl.col("gen_ai.tool.call.outcome").str.to_lowercase() == "denied"

COMMON = Dialect(
    name="common",
    conversation=pl.coalesce(
        [
            first("session.id", "conversation.id", "conversation_id"),
            THREAD,
            first("thread_id", "session_id", "langfuse.session.id", "gen_ai.live_session.id"),
        ]
    ),
    case=first(
        "test.case.name", "test.case.id", "otelcov.case", "test.case", "test.id", "gen_ai.test.case", "test_case"
    ),
    tool_error=pl.coalesce(
        [
            first("gen_ai.tool.call.is_error", "gen_ai.tool.result.is_error", "gen_ai.tool.is_error", *_IS_ERROR),
            _BESIDE_NAME.then(pl.when(pl.col("is_error").str.to_lowercase() == "true").then(pl.lit("true"))),
            pl.when(
                (_WENT.str.contains(_BADLY) & ~_WENT.str.starts_with("without")) | _DENIED_ITSELF | (_OK == "false")
            )
            .then(pl.lit("true"))
            .when(_SAID.is_not_null() | (_ERROR.str.to_lowercase() == "true"))
            .then(pl.lit("true"))
            .when(_WENT.is_in(_NOT_RUN))
            .then(pl.lit("denied"))
            .when(
                _WENT.is_in([*_BROKEN_OFF, "denied"])
                | _DENIED
                | (pl.col("tool.completed").str.to_lowercase() == "false")
            )
            .then(pl.lit("unknown"))
            .when(~_WENT.str.contains(_WELL) & ~_WENT.str.contains(_NO_WORD))
            .then(pl.lit("unknown")),
        ]
    ),
    error_type=pl.coalesce(
        [
            first("error.type", "error.name", "gen_ai.tool.error.type", "au.tool.error.type", "au.llm.error.type"),
            first("exception.type"),  # where others have an event
            _FAILED.then(first("error.kind")),
            _FAILED.then(pl.lit("_OTHER")),
        ]
    ),
    error_text=pl.coalesce(
        [
            first("error.message", "error.msg", "error_message", "au.tool.error.message", "au.llm.error.message"),
            _SAID,
            first("exception.message"),
            _FAILED.then(pl.lit("error")),
        ]
    ),
)
