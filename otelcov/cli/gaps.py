"""`otelcov gaps`: what one side does and another never exercised."""

from __future__ import annotations

from pathlib import Path
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
    write_cases: Annotated[
        Path | None,
        typer.Option(
            "--write-cases",
            envvar="OTELCOV_WRITE_CASES",
            metavar="FILE",
            help="Write test cases from the runs that cover most of it.",
        ),
    ] = None,
    max_cases: Annotated[
        int,
        typer.Option(
            "--max-cases", envvar="OTELCOV_MAX_CASES", metavar="N", min=1, help="Of --write-cases, at most so many."
        ),
    ] = 20,
) -> int:
    """Show what production does and tests never exercised, by its share."""
    from otelcov.coverage import compare
    from otelcov.coverage.observations import partial
    from otelcov.ground import errors
    from otelcov.ground.selection import Selection
    from otelcov.report import findings

    sides, others = tuple(side or ["test"]), tuple(against or ["production"])
    Selection(side=(*sides, *others))  # refuses a side that there is not
    if write_cases is not None:
        from otelcov.cli.cases_file import write

        runs, _ = question.runs()
        write(write_cases, runs, question.config, sides, others, max_cases)
        observations = partial(runs, question.config, question.selection.agent)
    else:
        observations, _ = question.observed()
    found = compare.gaps(observations, question.config, sides, others, question.window, question.selection.as_json())
    out(findings.gaps(found, format, **(terminal() if format == "text" else {})))
    return errors.GOOD if found["runs"]["side"] and found["runs"]["against"] else errors.NO_DATA
