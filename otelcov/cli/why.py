"""`otelcov why ITEM`: numerator, denominator, rule and traces of a number."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, terminal


@asking
def why(
    question: Question,
    item: Annotated[
        str,
        typer.Argument(
            metavar="ITEM",
            help="A dimension, overall, edges.NAME, a tool, agent/tool, from->to, a path; or KIND:ITEM.",
            show_default=False,
        ),
    ],
    format: Annotated[
        Literal["text", "json"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "text",
) -> int:
    """Explain a number: its parts, its rule and the traces behind it."""
    from otelcov.coverage.snapshot import snapshot
    from otelcov.coverage.why import why as answers
    from otelcov.ground import errors
    from otelcov.report import findings

    config, selection = question.config, question.selection
    seen = question.seen()
    shot = snapshot(seen.everything, config, question.window, selection, seen.quality)
    found = answers(item, shot, seen.sums, seen.runs, config, selection.agent)
    out(findings.why(found, format, **(terminal() if format == "text" else {})))
    return errors.GOOD if shot["runs"]["total"] else errors.NO_DATA
