"""What programs that trace their tools by hand call the tool in no convention's words. What kind of a span it is, none
of them says: `runs.tools.by_name` asks the span's name for that, and what else the trace tells."""

import polars as pl

from otelcov.dialects.base import Dialect, first, span_name

_KINDS = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "gen_ai.request.model")
_HAND = first(*_KINDS).is_null()
_GIVEN = first("tool.args", "tool.arguments", "tool.input", "agent.tool.arguments", "agent.tool.input", "tool_args")
_OK = first("tool.success", "agent.tool.success", "tool.ok", "agent.tool.ok")
_NAME = first("tool.name", "agent.tool.name", "mcp.tool.name", "tool_name", "agent.tool").fill_null(
    pl.when(pl.coalesce([_GIVEN, _OK]).is_not_null()).then(span_name(r"^tool[.:/ ]{1,2}(\w+)$"))
)
_ENDED = first("tool.status", "tool.outcome", "agent.tool.status", "agent.tool.outcome").str.to_lowercase()

BY_HAND = Dialect(
    name="by hand",
    tool=pl.when(_HAND).then(_NAME),
    call_id=pl.when(_HAND & _NAME.is_not_null()).then(
        first("tool.call_id", "tool.call.id", "agent.tool.call_id", "agent.tool.call.id", "tool_call_id", "tool.id")
    ),
    # Many keep the first hundreds of its characters.
    arguments=pl.when(_HAND & _NAME.is_not_null() & _GIVEN.str.contains(r"(?s)^\{.*\}$")).then(_GIVEN),
    tool_error=pl.when(
        _HAND
        & _NAME.is_not_null()
        & ((_OK.str.to_lowercase() == "true") | _ENDED.is_in(["ok", "success", "succeeded"]))
    ).then(pl.lit("false")),
)
