"""`otelcov snapshot --out FILE`: the sums of a window, to be combined or compared elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from otelcov.cli.measuring import Question, asking


@asking
def snapshot(
    question: Question,
    out: Annotated[
        Path, typer.Option("--out", envvar="OTELCOV_OUT", metavar="FILE", help="Where to write it.", show_default=False)
    ],
) -> int:
    """Write a window's sums to a file for combine, diff and --baseline."""
    from otelcov.coverage import exchange
    from otelcov.ground import errors

    seen = question.seen()
    kept = exchange.Kept(
        seen.sums,
        ((question.window.since_ns, question.window.until_ns),),
        question.selection.as_json(),
        {name: seen.quality[name] for name in ("duplicates", "conflicts", "out_of_range")},  # the sums tell the rest
        seen.run_ids(),
    )
    exchange.write(out, kept)
    typer.echo(f"Wrote {len(kept.run_ids):,} runs to {out}.", err=True)
    return errors.GOOD if kept.run_ids else errors.NO_DATA
