"""`otelcov gaps`: what one side does and another never exercised."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, terminal

Sides = Annotated[
    list[str] | None,
    typer.Option(
        "--side", envvar="OTELCOV_SIDE", metavar="SIDE", help="Whose exercise counts; default test. Repeatable."
    ),
]
Against = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        envvar="OTELCOV_AGAINST",
        metavar="SIDE",
        help="Whose behaviour it is held against; default production.",
    ),
]


@asking
def gaps(
    question: Question,
    side: Sides = None,
    against: Against = None,
    format: Annotated[
        Literal["text", "json", "markdown"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "text",
) -> int:
    """Show what production does and tests never exercised, by its share."""
    from otelcov.coverage import compare
    from otelcov.ground import errors
    from otelcov.ground.selection import Selection
    from otelcov.report import findings

    sides, others = tuple(side or ["test"]), tuple(against or ["production"])
    Selection(side=(*sides, *others))  # refuses a side that there is not
    observations, _ = question.observed()
    found = compare.gaps(observations, question.config, sides, others, question.window, question.selection.as_json())
    out(findings.gaps(found, format, **(terminal() if format == "text" else {})))
    return errors.GOOD if found["runs"]["side"] and found["runs"]["against"] else errors.NO_DATA
