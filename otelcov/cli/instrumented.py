"""What each instrumentation's spans carry, as findings of `otelcov doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from otelcov.cli.checks import Finding

if TYPE_CHECKING:
    import polars as pl

    from otelcov.ground.windows import Window

_MOST = 20_000  # spans that are looked at
_RARE = 500  # of a service and scope that is not among them


def instrumented(store: str, window: Window, max_run_ns: int) -> Iterator[Finding]:
    """For each service and scope: what its spans carry, what they cost, and what would bring the rest."""
    from otelcov.report.words import percent
    from otelcov.runs.trace.carries import carries

    spans, logs, of = _some(store, window, max_run_ns)
    if of is not None:
        yield Finding("carries", "note", f"what follows is told by {spans.height:,} of {of:,} spans, some of each file")
    for row in carries(spans, logs):
        name = f"{row['service'] or '(no service.name)'}, {row['scope'] or '(no scope)'}"
        if not row["explained"]:
            text = f"{name}: no dialect explains any of its {row['spans']:,} spans"
            yield Finding("carries", "note", text, "Fine for web and database spans; else add a dialect.")
            continue
        kinds = ", ".join(f"{row[f'{kind}_spans']:,} {kind}" for kind in ("agent", "llm", "tool"))
        shares = ", ".join(f"{fact} {percent(share)}" for fact, share in row["shares"].items() if share is not None)
        size = f"{row['bytes_per_span']:,} bytes a span, {percent(row['content_share'])} in long values"
        text = f"{name}: {row['spans']:,} spans ({row['explained']:,} explained: {kinds}); {shares}; {size}"
        yield Finding("carries", "ok", text)
        by_tip: dict[str, list[str]] = {}
        for fact, tip in row["advice"].items():
            by_tip.setdefault(tip, []).append(fact)
        for tip, lacking in by_tip.items():
            yield Finding("carries", "note", f"{name}: {_lack(lacking, row)}", tip)


def _some(store: str, window: Window, max_run_ns: int) -> tuple[pl.DataFrame, pl.DataFrame, int | None]:
    """The spans of a window and their log records; of many spans some, and how many there are."""
    import polars as pl

    from otelcov.runs import slices
    from otelcov.store import pieces, scan

    look = pieces.look(store)
    since = None if window.since_ns is None else max(0, window.since_ns - max_run_ns)
    until = None if window.until_ns is None else window.until_ns + max_run_ns
    paths = pieces.between(look.spans, since, until)
    stored = int(look.spans.filter(pl.col("path").is_in(paths))["rows"].sum())
    if stored <= _MOST:
        rows = scan.read(store, window, max_run_ns)
        return rows.spans.collect(), rows.logs.collect(), None
    held = look.held("spans")
    url, whose = look.tables.spans.url, ("service", "scope")
    some = pl.concat([pieces.first(url, "spans", paths, -(-_MOST // len(paths))), held.head(_MOST)])
    every, ids = pieces.rows(url, "spans", paths), ("trace_id", "span_id")
    rare = every.select(*whose, *ids).join(some.lazy().select(whose).unique(), on=whose, how="anti", nulls_equal=True)
    few = rare.collect().group_by(whose).head(_RARE).head(_MOST)
    some = pl.concat([some, every.join(few.lazy().select(ids).unique(), on=ids, how="semi").collect()])
    records = pieces.rows(
        look.tables.logs.url, "logs", look.logs["path"], pieces.of_traces("logs", some["trace_id"].unique())
    )
    spans, logs, _ = slices.each_once(some, records.collect())
    return spans, logs, stored + held.height


def _lack(lacking: list[str], row: dict[str, object]) -> str:
    if lacking == ["dropped attributes"]:
        return f"{row['spans_with_dropped_attributes']} spans lost attributes to a limit"
    if lacking == ["cut values"]:
        return f"values are cut at {row['cut_at']} characters"
    return f"few or no {', '.join(lacking)}"
