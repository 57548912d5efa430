"""`otelcov report --profile agentassay`: AgentAssay's own numbers of the spans of a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otelcov.cli.measuring import Question


def check(question: Question, options: Mapping[str, object]) -> None:
    """What this profile cannot do is refused: a rule that is not looked at would be one that always holds."""
    import typer

    from otelcov.ground.errors import UsageError

    asked = {**options, **{f"--{name}": getattr(question.selection, name) for name in ("agent", "model", "case")}}
    if given := [name for name, value in asked.items() if value]:
        raise UsageError(
            f"The profile agentassay has no {' and no '.join(given)}: it measures whole traces, all together. "
            "Leave it away, or ask for --profile otelcov."
        )
    if question.config.thresholds.agents:
        typer.echo("The profile agentassay tells no agents apart: [thresholds.agents] is not looked at.", err=True)


def report(question: Question, format: str, fail_under: float | None) -> int:
    from dataclasses import asdict, replace

    import polars as pl

    from otelcov.cli.measuring import out, terminal
    from otelcov.coverage import agentassay
    from otelcov.coverage.observations import EMPTY
    from otelcov.coverage.snapshot import band, snapshot
    from otelcov.ground import errors
    from otelcov.report import Report, render
    from otelcov.store import scan
    from otelcov.verdicts import thresholds

    config, window = question.config, question.window
    spans = scan.spans(question.store, window, config.runs.max_run_ns).collect()
    # A trace belongs to the window of its root's start.
    roots = spans.filter(pl.col("parent_span_id").is_null())
    inside = roots.filter(
        pl.col("start_time_unix_nano").map_elements(lambda at: (at or None) in window, return_dtype=pl.Boolean)
    )
    for column in ("service", "environment", "release"):
        if wanted := getattr(question.selection, column):
            inside = inside.filter(pl.col(column).is_in(sorted(wanted)))
    if question.selection.side:
        from otelcov.coverage.selection import side_of

        inside = inside.filter(side_of(inside, config).is_in(sorted(question.selection.side)))
    spans = spans.join(inside.select("trace_id").unique(), on="trace_id", how="semi")
    result = agentassay.measure(spans, config)
    empty = snapshot(EMPTY, config, window, question.selection)
    shot = agentassay.as_snapshot(result, empty)
    for d in shot["coverage"]["dimensions"]:
        d["band"] = band(d["score"])
    shot["coverage"]["band"] = band(shot["coverage"]["overall"])
    whole = replace(config.thresholds, agents={})  # its formulas tell no agents apart
    verdicts = thresholds.judge(shot, whole, (), fail_under)
    told = Report(shot, verdicts=[asdict(v) for v in verdicts])
    out(render(told, format, **(terminal() if format == "text" else {})))
    codes = [thresholds.exit_code(verdicts)]
    if not result.traces:
        codes.append(errors.NO_DATA)
    return errors.worst(codes)
