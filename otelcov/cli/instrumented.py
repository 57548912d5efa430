"""What each instrumentation's spans carry, as findings of `otelcov doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from otelcov.cli.checks import Finding

if TYPE_CHECKING:
    from otelcov.ground.windows import Window


def instrumented(store: str, window: Window, max_run_ns: int) -> Iterator[Finding]:
    """For each service and scope: what its spans carry, what they cost, and what would bring the rest."""
    from otelcov.report.words import percent
    from otelcov.runs.trace.carries import carries
    from otelcov.store import scan

    rows = scan.read(store, window, max_run_ns)
    for row in carries(rows.spans.collect(), rows.logs.collect()):
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


def _lack(lacking: list[str], row: dict[str, object]) -> str:
    if lacking == ["dropped attributes"]:
        return f"{row['spans_with_dropped_attributes']} spans lost attributes to a limit"
    if lacking == ["cut values"]:
        return f"values are cut at {row['cut_at']} characters"
    return f"few or no {', '.join(lacking)}"
