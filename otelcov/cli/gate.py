"""`otelcov gate FILE.yaml`: judge a window of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, tell_unseen, terminal
from otelcov.cli.options import points

if TYPE_CHECKING:
    import polars as pl

    from otelcov.coverage.brief import Brief
    from otelcov.coverage.observations import Observations


@asking
def gate(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The gate file.", show_default=False)],
    question: Question,
    format: Annotated[
        Literal["text", "json", "markdown", "junit"],
        typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it."),
    ] = "text",
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", envvar="OTELCOV_BASELINE", metavar="FILE", help="An earlier snapshot for --max-drop."
        ),
    ] = None,
    max_drop: Annotated[
        float | None,
        typer.Option(
            "--max-drop",
            envvar="OTELCOV_MAX_DROP",
            metavar="POINTS",
            help="Fail if a score fell by more.",
        ),
    ] = None,
    per_run: Annotated[
        bool, typer.Option("--per-run", envvar="OTELCOV_PER_RUN", help="Also the targets of each run.")
    ] = False,
) -> int:
    """Judge a window by a gate file."""
    from otelcov.coverage.observations import EMPTY, partial
    from otelcov.coverage.selection import select, selected
    from otelcov.ground.errors import UsageError
    from otelcov.report import gates as printed
    from otelcov.verdicts import gates

    rules = gates.read(file)
    for warning in gates.unknown_keys(rules):
        typer.echo(f"{file}: {warning}", err=True)
    if (baseline is None) != (points(max_drop) is None):
        raise UsageError("--baseline FILE and --max-drop POINTS need each other.")
    config, selection = question.config, question.selection
    runs: pl.DataFrame | dict[tuple[str, ...], Observations | Brief]
    everyone, count = EMPTY, 0  # what --max-drop looks at
    if gates.by_run(rules, per_run):
        rows, quality = question.rows()
        runs = select(rows, selection, config, sides=True)
        for entry in rules.agents:
            tell_unseen(entry.select.agent, runs)
        if baseline is not None:
            everyone, count = partial(rows, config, selection.agent), runs.height
    elif baseline is None and gates.briefly(rules) and not selection.side:
        seen, quality = question.briefly()
        runs = {selection.agent: seen}
    else:
        everyone, quality = question.observed(traced=False)
        own = selected(everyone, selection, config, sides=True)
        others = gates.agents_of(rules, selection.agent) - {selection.agent}
        runs, count = {selection.agent: own, **question.by_agents(sorted(others))}, own.runs
    result = gates.judge(rules, runs, config, question.window, per_run, selection.agent, quality)
    if baseline is not None and max_drop is not None:
        from otelcov.coverage.exchange import read
        from otelcov.verdicts import drops

        verdicts = drops.judge(read(baseline), everyone, config, selection, max_drop)
        result = gates.with_drops(result, verdicts, count)
    out(printed.render(result, format, **(terminal() if format == "text" else {})))
    return gates.exit_code(result["result"])
