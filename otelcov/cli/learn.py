"""`otelcov learn`: a declaration from observed traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from otelcov.cli.measuring import Question, asking


@asking
def learn(
    question: Question,
    out: Annotated[
        Path | None,
        typer.Option("--out", envvar="OTELCOV_OUT", metavar="FILE", help="Write it here instead of stdout."),
    ] = None,
    min_runs: Annotated[
        int, typer.Option("--min-runs", envvar="OTELCOV_MIN_RUNS", min=1, help="Leave out what fewer runs did.")
    ] = 1,
    paths: Annotated[
        bool, typer.Option("--paths", envvar="OTELCOV_PATHS", help="Declare the observed paths too.")
    ] = False,
) -> int:
    """Write a declaration (otelcov.toml) as the agents behaved, to freeze and to edit."""
    from otelcov.cli import measuring
    from otelcov.coverage import declaration
    from otelcov.ground import errors
    from otelcov.ground.windows import iso

    seen = question.measured()
    since, until = question.window.since_ns, question.window.until_ns
    ends = f"{'the beginning' if since is None else iso(since)} to {'the end' if until is None else iso(until)}"
    found = declaration.learned(seen, min_runs, paths)
    heading = (
        f"Learned from {seen.runs:,} runs, {ends}: what agents did, not what they should do.\n"
        "Read it, strike what must not be, and add `restricted`."
    )
    text = declaration.toml(found, heading)
    if out is None:
        measuring.out(text)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"Wrote {len(found.agents)} agents to {out}.", err=True)
    return errors.GOOD if seen.runs else errors.NO_DATA
