"""`otelcov combine FILE...`: snapshots of regions, shards and CI jobs, added up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from otelcov.cli.options import ConfigFile, percent


def combine(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files of `otelcov snapshot`.", show_default=False)
    ],
    config: ConfigFile = None,
    out: Annotated[
        Path | None, typer.Option("--out", envvar="OTELCOV_OUT", metavar="FILE", help="Write the sum here.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            envvar="OTELCOV_FORMAT",
            metavar="FORMAT",
            help="Print it: text, json, ... Default: text without --out.",
        ),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            "--fail-under", envvar="OTELCOV_FAIL_UNDER", metavar="PCT", help="Exit 1 if overall is below PCT."
        ),
    ] = None,
) -> int:
    """Add up the snapshots of regions, shards or CI jobs."""
    from dataclasses import asdict

    from otelcov.cli import measuring
    from otelcov.coverage import exchange
    from otelcov.coverage.snapshot import grouped, snapshot
    from otelcov.ground import errors, settings
    from otelcov.report import Report, render
    from otelcov.verdicts import thresholds

    percent(fail_under)
    rules = settings.load(config)
    total = exchange.combine((str(path), exchange.read(path)) for path in files)
    if out is not None:
        exchange.write(out, total)
    shot = snapshot(total.observations, rules, total.window, total.chosen, total.quality)
    parts = (total.observations, rules, "agent", total.window, total.chosen)
    agents = grouped(*parts) if rules.thresholds.agents else []
    verdicts = thresholds.judge(shot, rules.thresholds, agents, fail_under, total.chosen.agent)
    shown = format or (None if out else "text")
    if shown:
        told = Report(shot, verdicts=[asdict(v) for v in verdicts])
        measuring.out(render(told, shown, **(measuring.terminal() if shown == "text" else {})))
    codes = [thresholds.exit_code(verdicts)]
    if not shot["runs"]["total"]:
        codes.append(errors.NO_DATA)
    return errors.worst(codes)
