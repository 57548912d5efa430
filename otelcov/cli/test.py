"""`otelcov test CASES`: test cases judged on the spans of a window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, terminal


@asking
def test(
    cases: Annotated[list[Path], typer.Argument(metavar="CASES.yaml...", help="Case files.", show_default=False)],
    question: Question,
    format: Annotated[
        Literal["text", "json", "markdown", "junit"],
        typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it."),
    ] = "text",
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", envvar="OTELCOV_KEEP", help="Keep the results for trend and compare.")
    ] = True,
) -> int:
    """Judge test cases on the runs of a window, without running the agent."""
    from otelcov.cases import judge, needed, read_all, told
    from otelcov.ground.errors import StoreError
    from otelcov.history import results
    from otelcov.report import cases as printed

    every, suites = read_all(cases)
    listed = question.selected()
    settled = int(listed.rows["settled"].fill_null(True).sum())
    if not listed.full:
        listed = replace(listed, rows=needed(every, listed.rows, question.config))
    runs = listed.content()
    judgement = judge(every, runs, question.config, question.selection.agent)
    if keep:
        try:
            results.keep(question.store, results.rows(judgement, suites, question.now_ns))
        except StoreError as error:
            typer.echo(str(error), err=True)  # the verdict stands without it
    result = told.as_json(judgement, question.window, question.selection, settled)
    out(printed.render(result, format, **(terminal() if format == "text" else {})))
    return judgement.exit_code


test.__test__ = False  # type: ignore[attr-defined]
