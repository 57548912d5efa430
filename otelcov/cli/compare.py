"""`otelcov compare --by model`: the same cases, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, terminal

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = ("release", "environment", "service")


@asking
def compare(
    question: Question,
    cases: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[CASES.yaml...]", help="Judge these now; default: the results that `test` kept."),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            envvar="OTELCOV_BY",
            metavar="WHAT",
            help="model, release, environment, service, prompt (its version) or attribute:KEY of any span.",
        ),
    ] = "model",
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", envvar="OTELCOV_BASELINE", metavar="NAME", help="Which one the others are held against."
        ),
    ] = None,
    format: Annotated[
        Literal["text", "json", "markdown"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "text",
) -> int:
    """Compare models, releases or prompts on the same cases."""
    from otelcov.cases import judge, read_all
    from otelcov.ground import errors
    from otelcov.ground.errors import UsageError, did_you_mean
    from otelcov.history import results
    from otelcov.history.sidebyside import side_by_side
    from otelcov.report import history

    known = ("model", "prompt", *_COLUMNS)
    if by not in known and not by.startswith("attribute:"):
        raise UsageError(
            f'Couldn\'t compare by "{by}": known are {", ".join(known)}, attribute:KEY.{did_you_mean(by, known)}'
        )
    listed = question.selected()
    runs = listed.content() if cases else listed.rows
    if cases:
        every, suites = read_all(cases)
        judgement = judge(every, runs, question.config, question.selection.agent)
        found = results.rows(judgement, suites, question.now_ns)
    else:
        found = results.chosen(results.read(question.store, question.window), question.selection, question.config)
    found = _grouped(found, runs, question, by)
    compared = side_by_side(found, runs, question.config, by, baseline, question.selection.agent)
    out(history.comparison(compared, format, **(terminal() if format == "text" else {})))
    return errors.GOOD if len(compared["groups"]) > 1 and compared["cases"] else errors.NO_DATA


def _grouped(results: pl.DataFrame, runs: pl.DataFrame, question: Question, by: str) -> pl.DataFrame:
    """The results with the group of each run; null where it has none."""
    import polars as pl

    if by in _COLUMNS:
        return results.with_columns(group=pl.col(by))
    if by == "model":
        joined = pl.col("models").list.join(" + ")
        return results.with_columns(group=pl.when(pl.col("models").list.len() > 0).then(joined))
    from otelcov.history import groups
    from otelcov.store import scan

    keys = groups.PROMPT if by == "prompt" else (by.removeprefix("attribute:"),)
    rows = scan.read(question.store, question.window, question.config.runs.max_run_ns)
    values = groups.attribute(rows.spans, keys)
    of_run = {
        run_id: next((values[trace] for trace in traces or () if trace in values), None)
        for run_id, traces in runs.select("run_id", "trace_ids").iter_rows()
    }
    group = pl.col("run_id").replace_strict(of_run, default=None, return_dtype=pl.String)
    return results.with_columns(group=group)
