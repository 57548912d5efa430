"""`otelcov undeclared`: what was seen and never declared."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, terminal


@asking
def undeclared(
    question: Question,
    format: Annotated[
        Literal["text", "json", "markdown"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "text",
) -> int:
    """List what was seen and never declared: tools, edges, delegations and models."""
    from otelcov.coverage.undeclared import invented
    from otelcov.coverage.undeclared import undeclared as found_in
    from otelcov.ground import errors
    from otelcov.report import findings

    seen = question.seen()
    if not seen.sums.runs:
        return errors.GOOD
    found = found_in(seen.sums, seen.runs(invented()), question.config, question.selection.agent)
    out(findings.undeclared(found, format, **(terminal() if format == "text" else {})))
    return errors.GOOD
