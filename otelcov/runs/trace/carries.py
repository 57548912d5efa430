"""What the spans of each instrumentation carry, and what to switch on to see more.

One row a service and instrumentation scope: how many of its spans some dialect explains, which share of its tool spans
has arguments, which share of its model spans has tokens, and so on. A share is null where there is nothing it could be
a share of.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import polars as pl

from otelcov.dialects import base
from otelcov.dialects.asked import keys
from otelcov.dialects.facts import facts
from otelcov.runs.trace.attributes import columns, event_pairs, scope_of
from otelcov.runs.trace.moved import put_back
from otelcov.runs.trace.packed import unpacked
from otelcov.runs.trace.recorded import record_pairs

_BATCH = 50_000  # spans whose facts are in memory at one time
_USUAL_LIMITS = (128, 256, 512, 1024, 2048, 4096, 8192)  # of attribute values, as SDKs are set

# fact -> (of which spans it is a share, which columns show it)
SHARES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "arguments": ((base.TOOL,), ("arguments",)),
    "results": ((base.TOOL,), ("result",)),
    "call ids": ((base.TOOL,), ("call_id",)),
    "models": ((base.LLM,), ("request_model", "response_model")),
    "tokens": ((base.LLM,), ("input_tokens",)),
    "messages": ((base.LLM,), ("input_messages", "output_messages", "flat_input", "flat_output", "told")),
    "definitions": ((base.LLM, base.AGENT), ("definitions", "flat_tools")),
    "agents": ((base.AGENT, base.LLM), ("agent",)),
    "sessions": ((base.LLM, base.TOOL, base.AGENT), ("conversation",)),
}

_ENOUGH = {"sessions": 1e-9, "definitions": 1e-9}  # one span of a run can say it for all

# (scope, facts that lack, what brings them); the first that fits a scope and a fact is the advice.
_GENAI_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (newer ones: SPAN_ONLY or SPAN_AND_EVENT)"
_CONTENT = ("arguments", "results", "messages")
ADVICE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (r"openinference", _CONTENT, "Unset OPENINFERENCE_HIDE_INPUTS, _OUTPUTS, _INPUT_MESSAGES and _OUTPUT_MESSAGES."),
    (r"openinference", ("definitions",), "Unset OPENINFERENCE_HIDE_LLM_TOOLS and _LLM_INVOCATION_PARAMETERS."),
    (r"openinference", ("sessions",), "Wrap a run in using_session(session_id=...)."),
    (r"^ai$", _CONTENT, "experimental_telemetry: { isEnabled: true, recordInputs: true, recordOutputs: true }"),
    (r"^ai$", ("agents",), "experimental_telemetry: { functionId: 'planner' } names the agent."),
    (r"^pydantic-ai$", _CONTENT, "InstrumentationSettings(include_content=True)"),
    (r"^pydantic-ai$", ("sessions",), "agent.run(..., conversation_id=...)"),
    (r"^langsmith$", _CONTENT, "Unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS."),
    (r"^langsmith$", ("sessions",), 'config={"configurable": {"thread_id": ...}}'),
    (
        r"^com\.anthropic\.sdk\b",
        _CONTENT,
        "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content, or Anthropic(open_telemetry={'traces': {'content_mode': "
        "'content'}})",
    ),
    (
        r"^com\.anthropic\.claude_code\b",
        _CONTENT,
        "OTEL_LOGS_EXPORTER=otlp OTEL_LOG_USER_PROMPTS=1 OTEL_LOG_TOOL_DETAILS=1 (what tools bring is told by none)",
    ),
    (r"^com\.anthropic\.sdk\b", ("sessions",), "Anthropic(open_telemetry={'conversation_id': ...})"),
    (r"gcp\.vertex\.agent", _CONTENT, "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"),
    (
        r"semantic_kernel|Microsoft\.SemanticKernel",
        _CONTENT,
        "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true",
    ),
    (r"agent_framework", _CONTENT, "ENABLE_SENSITIVE_DATA=true"),
    (r"Microsoft\.Extensions\.AI", _CONTENT, "UseOpenTelemetry(configure: c => c.EnableSensitiveData = true)"),
    (r"^haystack", _CONTENT, "HAYSTACK_CONTENT_TRACING_ENABLED=true"),
    (r"openlit", _CONTENT, "openlit.init(capture_message_content=True)"),
    (r"strands", ("definitions",), "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental,gen_ai_tool_definitions"),
    (r"^litellm$", _CONTENT, "litellm.turn_off_message_logging = False"),
    (r"^mcp", ("arguments", "results"), "The MCP SDK sends none: instrument the agent or the model client, too."),
    (
        r"openai_v2|util\.genai|instrumentation\.(?:google_genai|vertexai|botocore)|openai_agents_v2",
        _CONTENT,
        _GENAI_CONTENT,
    ),
    (
        r"opentelemetry\.instrumentation\.openai_agents",
        _CONTENT,
        f"TRACELOOP_TRACE_CONTENT=true (OpenLLMetry) or {_GENAI_CONTENT}",
    ),
    (r"traceloop|opentelemetry\.instrumentation\.", _CONTENT, "TRACELOOP_TRACE_CONTENT=true"),
    (
        r"traceloop|opentelemetry\.instrumentation\.(?!openai_v2|google_genai|vertexai|botocore)",
        ("sessions",),
        'Traceloop.set_association_properties({"session_id": ...})',
    ),
    (r"", _CONTENT, "Switch message content on, unless it must not leave the process."),
    (r"", ("tokens",), 'Ask for usage; for streams: stream_options={"include_usage": True}.'),
    (r"", ("definitions",), "Set gen_ai.tool.definitions, or declare tools in otelcov.toml."),
    (r"", ("agents",), "Give each agent a span of its own (invoke_agent, gen_ai.agent.name)."),
    (r"", ("sessions",), "Set gen_ai.conversation.id or session.id on the root span."),
    (r"", ("models",), "Set gen_ai.request.model on model spans."),
    (r"", ("call ids",), "Set gen_ai.tool.call.id on tool spans."),
)
DROPPED = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=1024 (the default of 128 drops what comes first)"
CUT = "Unset OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT, or raise them."


def carries(spans: pl.DataFrame, logs: pl.DataFrame) -> list[dict[str, Any]]:
    """One object per service and scope, the most spans first."""
    told = logs.filter(pl.col("span_id").is_not_null()).select("trace_id", "span_id").unique()
    parts = [_facts(some, logs, told) for some in spans.iter_slices(_BATCH)]
    if not parts:
        return []
    whole = pl.concat(parts)
    rows = whole.group_by("service", "scope").agg(
        pl.len().alias("spans"),
        pl.col("kind").is_not_null().sum().alias("explained"),
        *((pl.col("kind") == kind).sum().alias(f"{kind} spans") for kind in (base.AGENT, base.LLM, base.TOOL)),
        pl.col("bytes", "content_bytes").sum(),
        (pl.col("dropped") > 0).sum().alias("dropped"),
        pl.col("longest").max(),
        ((pl.col("longest") == pl.col("longest").max()) & (pl.col("longest") > 0)).sum().alias("at_longest"),
        *(_share(kinds, shown).alias(fact) for fact, (kinds, shown) in SHARES.items()),
    )
    ordered = rows.sort("spans", "service", "scope", descending=[True, False, False])
    return [_row(row) for row in ordered.iter_rows(named=True)]


@lru_cache(maxsize=1024)
def scope_name(data: bytes | None) -> str | None:
    """The name in a serialized InstrumentationScope."""
    return scope_of(data)[0] or None


def advice(scope: str | None, lacking: str) -> str:
    """What would bring this fact from this instrumentation."""
    return next(
        text for pattern, found, text in ADVICE if lacking in found and re.search(pattern, scope or "") is not None
    )


def _row(row: dict[str, Any]) -> dict[str, Any]:
    shares = {fact: row[fact] for fact in SHARES}
    cut = row["longest"] if row["longest"] in _USUAL_LIMITS and row["at_longest"] > 1 else None
    lacking = [fact for fact, share in shares.items() if share is not None and share < _ENOUGH.get(fact, 1 / 2)]
    tips = {fact: advice(row["scope"], fact) for fact in lacking}
    if row["dropped"]:
        tips["dropped attributes"] = DROPPED
    if cut:
        tips["cut values"] = CUT
    return {
        "service": row["service"],
        "scope": row["scope"],
        "spans": row["spans"],
        "explained": row["explained"],
        **{f"{kind}_spans": row[f"{kind} spans"] for kind in (base.AGENT, base.LLM, base.TOOL)},
        "shares": shares,
        "spans_with_dropped_attributes": row["dropped"],
        "cut_at": cut,
        "bytes_per_span": round(row["bytes"] / row["spans"]),
        "content_share": row["content_bytes"] / row["bytes"] if row["bytes"] else None,
        "advice": tips,
    }


def _share(kinds: tuple[str, ...], shown: tuple[str, ...]) -> pl.Expr:
    """Of the spans of these kinds, those that have one of the columns; null without such spans."""
    mine = pl.col("kind").is_in(list(kinds))
    if shown == ("agent",):  # steps without a name belong to the agent around them
        mine = pl.when((pl.col("kind") == base.AGENT).any()).then(pl.col("kind") == base.AGENT).otherwise(mine)
    has = pl.any_horizontal([pl.col(column) if column in _FLAGS else pl.col(column).is_not_null() for column in shown])
    return pl.when(mine.any()).then((mine & has).sum() / mine.sum())


_FLAGS = ("flat_input", "flat_output", "flat_tools", "told")


def _facts(spans: pl.DataFrame, logs: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """The facts of a batch of spans, the flattened ones as flags, beside their size."""
    from otelcov.store.otlp import span_bytes

    wanted = set(keys())
    back, logs = put_back(logs, spans)
    more = [*event_pairs(spans["events"], wanted), *record_pairs(logs, spans, wanted), *back, *unpacked(spans)]
    wide, families = columns([spans["attributes"], spans["content"]], wanted, spans.height, more)
    scopes = {data: scope_name(data) for data in spans["scope"].unique().to_list()}
    versions = {data: scope_of(data)[1] for data in scopes}
    named = pl.Series("scope", [scopes[data] for data in spans["scope"].to_list()], pl.String)
    context = wide.with_columns(
        spans["name"].fill_null("").alias("span.name"),
        spans["kind"].fill_null(0).alias("span.kind"),
        named.fill_null("").alias("scope.name"),
        pl.Series("scope.version", [versions[data] for data in spans["scope"].to_list()], pl.String),
    )
    flags = []
    for family in ("flat_input", "flat_output", "flat_tools"):
        rows = families.get(family, {})
        flags.append(pl.Series(family, [row in rows for row in range(spans.height)], pl.Boolean))
    seen = spans.select("trace_id", "span_id").join(
        told.with_columns(told=True), on=["trace_id", "span_id"], how="left", maintain_order="left"
    )
    lengths = pl.element().struct.field("string_value").str.len_bytes()
    sizes = spans.select(
        pl.col("content").list.eval(lengths).list.sum().fill_null(0).alias("content_bytes"),
        pl.max_horizontal(
            pl.col(column).list.eval(pl.element().struct.field("string_value").str.len_chars()).list.max()
            for column in ("attributes", "content")
        )
        .fill_null(0)
        .alias("longest"),
        pl.col("dropped_attributes_count").fill_null(0).alias("dropped"),
        "service",
    )
    return pl.concat(
        [
            facts(context).select("kind", *{c for _, shown in SHARES.values() for c in shown if c not in _FLAGS}),
            sizes,
            pl.DataFrame([named, span_bytes(spans).bin.size().alias("bytes"), *flags]),
            seen.select(pl.col("told").fill_null(False)),
        ],
        how="horizontal",
    )
