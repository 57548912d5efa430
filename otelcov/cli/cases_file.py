"""`gaps --write-cases FILE`: the file of generated cases, and what they are worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    import polars as pl

    from otelcov.ground.config import Config


def write(
    path: Path, runs: pl.DataFrame, config: Config, sides: Sequence[str], others: Sequence[str], most: int
) -> None:
    from otelcov.cases import generate

    by_run, masses = generate.obligations(runs, config, sides, others)
    chosen = generate.choose(by_run, masses, most, generate.usable(runs))
    if not chosen.run_ids:
        typer.echo(
            f"Nothing to write to {path}: no run of {' or '.join(others)} did what {' or '.join(sides)} never did.",
            err=True,
        )
        return
    text = generate.dump(generate.cases(runs, chosen, config), chosen)
    path.write_text(text, encoding="utf-8")
    covered, drawn = (100 * (chosen.share(mass) or 0) for mass in (chosen.covered, chosen.random))
    cases = f"{len(chosen.run_ids)} case{'' if len(chosen.run_ids) == 1 else 's'}"
    typer.echo(
        f"Wrote {cases} to {path}: they cover {covered:.1f} % of the mass that was never exercised, "
        f"as many random runs {drawn:.1f} %.",
        err=True,
    )
