"""`otelcov gate FILE.yaml`: judge a window of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, terminal


@asking
def gate(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The gate file.", show_default=False)],
    question: Question,
    format: Annotated[
        Literal["text", "json", "markdown", "junit"],
        typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it."),
    ] = "text",
    per_run: Annotated[
        bool, typer.Option("--per-run", envvar="OTELCOV_PER_RUN", help="Also the targets of each run.")
    ] = False,
) -> int:
    """Judge a window by a gate file."""
    from otelcov.coverage.selection import select
    from otelcov.report import gates as printed
    from otelcov.verdicts import gates

    rules = gates.read(file)
    for warning in gates.unknown_keys(rules):
        typer.echo(f"{file}: {warning}", err=True)
    runs, _ = question.runs()
    runs = select(runs, question.selection, question.config, sides=True)
    result = gates.judge(rules, runs, question.config, question.window, per_run, question.selection.agent)
    out(printed.render(result, format, **(terminal() if format == "text" else {})))
    return gates.exit_code(result["result"])
