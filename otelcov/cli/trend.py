"""`otelcov trend`: how pass rate, latency, tokens, errors and coverage went."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, terminal
from otelcov.cli.options import Until

DEFAULT = "30d"


@asking
def trend(
    question: Question,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            envvar="OTELCOV_SINCE",
            metavar="TIME",
            help=f"Begin of the window. Default: {DEFAULT} before its end.",
        ),
    ] = None,
    until: Until = None,
    by: Annotated[
        Literal["day", "release", "model"],
        typer.Option("--by", envvar="OTELCOV_BY", help="One point for each of these."),
    ] = "day",
    format: Annotated[
        Literal["text", "json", "markdown"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "text",
) -> int:
    """Show how pass rate, latency, tokens, errors and coverage went."""
    from otelcov.ground import errors, windows
    from otelcov.history import results, trends
    from otelcov.report import history

    question = question.within(window=windows.parse(since, until, question.now_ns, windows.duration(DEFAULT)))
    observations = question.measured()
    known = results.chosen(results.read(question.store, question.window), question.selection, question.config)
    found = trends.trend(observations, known, question.config, by, question.window, question.selection)
    out(history.trend(found, format, **(terminal() if format == "text" else {})))
    return errors.GOOD if found["groups"] else errors.NO_DATA
