"""What the stored spans of each service do not tell, what that costs, and what to switch on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from otelcov.cli.checks import Finding
from otelcov.cli.instrumented import instrumented

if TYPE_CHECKING:
    import polars as pl

    from otelcov.cli.measuring import Listed
    from otelcov.ground.config import Config
    from otelcov.ground.windows import Window


_RESOURCE = "Set OTEL_RESOURCE_ATTRIBUTES="
_CONTENT = "Switch message content on, unless it must not leave the process."

# A column that is null, what that costs, and what to switch on.
_LACKS = (
    ("environment", "no deployment.environment.name, so no side", f"{_RESOURCE}deployment.environment.name=production"),
    ("release", "no service.version, so no release", f"{_RESOURCE}service.version=1.2.3"),
    ("conversation_id", "no conversation id", "Set gen_ai.conversation.id or session.id on the root span."),
    ("tool_calls", "tool calls cannot be seen", "Use an instrumentation with tool spans, or switch content on."),
    ("llm_calls", "model calls cannot be seen", "Instrument the model client too."),
    ("delegations", "delegations cannot be seen", "Give each agent a span of its own (invoke_agent)."),
    ("known_tools", "the offered tools are not told", "Declare tools in otelcov.toml, or switch tool definitions on."),
    ("input", "no input text", _CONTENT),
    ("output", "no output text", _CONTENT),
)
_WORDS = ("input", "output")
_LOOKED_AT = 200  # runs of a service


def stored(store: str, config: Config, window: Window, now_ns: int) -> Iterator[Finding]:
    """What the spans of the window carry."""
    from otelcov.cli.measuring import Question, answered
    from otelcov.ground.selection import Selection
    from otelcov.ground.windows import SECOND, iso

    yield from weighed(store)
    yield from recorded(store, window, config.runs.max_run_ns)
    listed = answered(lambda question: question.listed(), Question(store, config, window, now_ns, Selection()))
    if listed.rows.is_empty():
        when = "at all" if window.since_ns is None else f"since {iso(window.since_ns // SECOND * SECOND)}"
        rules = config.collect
        at = f"http{'s' if rules.tls_cert else ''}://{rules.host}:{rules.http_port}"
        advice = f"Point a sender at the collector: OTEL_EXPORTER_OTLP_ENDPOINT={at}"
        yield Finding("spans", "warning", f"{store} holds no agent runs {when}", advice)
        return
    yield from carried(listed)
    yield from instrumented(store, window, config.runs.max_run_ns)


def weighed(store: str) -> Iterator[Finding]:
    """What the tables take, and how much of it is content."""
    from otelcov.cli.import_ import counted
    from otelcov.report.words import percent
    from otelcov.store import tables
    from otelcov.store.sizes import size

    for table in tables.seen(store):
        if (found := size(table)) is not None:
            text = (
                f"{found.rows:,} {table.name if table.name == 'spans' else 'log records'} take "
                f"{found.bytes / 2**20:,.1f} MiB, {found.bytes / found.rows:,.0f} bytes each, "
                f"{percent(found.content_share)} of them content; "
                f"{counted(found.files, 'file')}, {found.new_files:,} of them as they came"
            )
            yield Finding("store", "ok", text)


def recorded(store: str, window: Window, max_run_ns: int) -> Iterator[Finding]:
    """Log records that tell of agent work of which there are no spans."""
    import polars as pl

    from otelcov.runs.trace.records import without_spans
    from otelcov.store import scan

    loose = scan.logs(store, window, max_run_ns).filter(pl.col("span_id").is_null())
    for service, scope, records, events in without_spans(loose.collect()):
        text = (
            f"{service or '(no service.name)'}: {records:,} log records of {scope or '(no scope)'} "
            f"({', '.join(events)}) tell of agent work, no spans"
        )
        yield Finding("logs", "warning", text, "Runs come from spans: switch on the sender's traces, if it has any.")


def carried(listed: Listed) -> Iterator[Finding]:
    """What each service's spans lack, in how many of its runs, and what would bring it. Where these are many, for the
    words of users and models some are looked at, the newest."""
    import polars as pl

    for (service,), part in listed.rows.sort("service").group_by("service", maintain_order=True):
        name, total = service or "(no service.name)", part.height
        newest = part if listed.full else part.sort("start_unix_nano").tail(_LOOKED_AT)
        spoken = replace(listed, rows=newest).content()
        yield Finding("spans", "ok", f"{name}: {total} runs from {int(part['spans'].sum() or 0)} spans")
        if service is None:
            yield Finding("spans", "warning", f"{name}: the sender has no name", "Set OTEL_SERVICE_NAME.")
        for column, text, advice in _LACKS:
            some, of = (spoken, "the newest " if spoken.height < total else "") if column in _WORDS else (part, "")
            lacking = some[column].null_count()
            if lacking:
                status: Literal["warning", "note"] = "warning" if column in ("environment", "tool_calls") else "note"
                yield Finding("spans", status, f"{name}: {text} ({lacking} of {of}{some.height} runs)", advice)
        orphans = int(part["orphans"].sum() or 0)
        if orphans:
            advice = "All services of a trace should export to the same store; is one sampled or not instrumented?"
            yield Finding("spans", "note", f"{name}: {orphans} spans whose parent never came", advice)
        reasons = part.select(pl.col("incomplete").explode(empty_as_null=False)).to_series().value_counts(sort=True)
        for reason, count in reasons.iter_rows():
            yield Finding("spans", "note", f"{name}: incomplete: {reason} ({count} of {total} runs)")
        for scope, count in _unexplained(part):
            text = f"{name}: {count} spans of {scope} say nothing about agents"
            yield Finding("spans", "note", text, "Fine for web and database spans.")


def _unexplained(runs: pl.DataFrame) -> list[tuple[str, int]]:
    import polars as pl

    rows = runs.select(pl.col("unexplained").explode(empty_as_null=False)).to_series().struct.unnest()
    counted = rows.group_by("scope").agg(pl.col("spans").sum()).sort("spans", "scope", descending=[True, False])
    return [(scope or "(no scope)", count) for scope, count in counted.iter_rows()]
