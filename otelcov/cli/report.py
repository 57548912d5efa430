"""`otelcov report`: what the agents of a window exercised, and what not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, terminal
from otelcov.cli.options import percent, points

if TYPE_CHECKING:
    from otelcov.coverage.exchange import Kept

_FORMATS = "text, json, markdown, html, junit, csv, svg or prometheus"
_TRACED = ("html",)  # formats that give an example trace of a path


@asking
def report(
    question: Question,
    format: Annotated[
        str, typer.Option("--format", envvar="OTELCOV_FORMAT", metavar="FORMAT", help=f"How to print it: {_FORMATS}.")
    ] = "text",
    fail_under: Annotated[
        float | None,
        typer.Option(
            "--fail-under", envvar="OTELCOV_FAIL_UNDER", metavar="PCT", help="Exit 1 if overall is below PCT percent."
        ),
    ] = None,
    by: Annotated[
        Literal["agent", "service", "release", "model", "day"] | None,
        typer.Option(
            "--by", envvar="OTELCOV_BY", help="Also measure each of these alone; a badge (svg) has no room for them."
        ),
    ] = None,
    profile: Annotated[
        Literal["otelcov", "agentassay"] | None,
        typer.Option("--profile", envvar="OTELCOV_PROFILE", help="Whose formulas; default as in the config."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            envvar="OTELCOV_BASELINE",
            metavar="FILE",
            help="An earlier snapshot: known tools and models, and what --max-drop compares with.",
        ),
    ] = None,
    max_drop: Annotated[
        float | None,
        typer.Option(
            "--max-drop",
            envvar="OTELCOV_MAX_DROP",
            metavar="POINTS",
            help="Exit 1 if a score fell by more than this since the baseline, beyond chance.",
        ),
    ] = None,
) -> int:
    """Say what the agents exercised, and what not."""
    from otelcov.ground import errors
    from otelcov.ground.errors import UsageError
    from otelcov.report import Report, render, renderer
    from otelcov.verdicts import thresholds

    renderer(format)
    percent(fail_under)
    if points(max_drop) is not None and baseline is None:
        raise UsageError("--max-drop needs --baseline FILE, a snapshot to compare with.")
    settings = question.config
    if (profile or settings.coverage.profile) == "agentassay":
        from otelcov.cli import agentassay

        agentassay.check(question, {"--by": by, "--baseline": baseline})
        return agentassay.report(question, format, fail_under)

    from otelcov.coverage.observations import Observations
    from otelcov.coverage.snapshot import grouped, snapshot

    earlier, frozen = _earlier(baseline)
    told_apart = by or settings.thresholds.agents or settings.coverage.paths
    whole = bool(told_apart) or max_drop is not None or format in _TRACED
    observations, quality = question.observed(format in _TRACED) if whole else question.briefly()
    shot = snapshot(observations, settings, question.window, question.selection, quality, frozen)

    def groups_by(field: str) -> list[dict[str, object]]:
        assert isinstance(observations, Observations)
        return grouped(observations, settings, field, question.window, question.selection, frozen)

    groups = groups_by(by) if by else []
    agents = groups if by == "agent" else groups_by("agent") if settings.thresholds.agents else []
    verdicts = thresholds.judge(shot, settings.thresholds, agents, fail_under, question.selection.agent)
    if earlier is not None and max_drop is not None:
        from otelcov.verdicts import drops

        assert isinstance(observations, Observations)
        verdicts += drops.judge(earlier, observations, settings, question.selection, max_drop)
    gaps = None
    if format in ("text", "markdown", "html") and shot["runs"]["test"] < shot["runs"]["total"]:
        from otelcov.coverage import compare

        others = ("staging", "production", "unspecified")
        if shot["runs"]["test"]:
            gaps = compare.gaps(observations, settings, ("test",), others, question.window, listed=compare.LISTED)
    told = Report(shot, by, groups, gaps, [asdict(v) for v in verdicts])
    out(render(told, format, **(terminal() if format == "text" else {})))
    codes = [thresholds.exit_code(verdicts)]
    if not shot["runs"]["total"]:
        codes.append(errors.NO_DATA)
    return errors.worst(codes)


def _earlier(baseline: Path | None) -> tuple[Kept | None, dict[str, frozenset[str]]]:
    """An earlier snapshot, and the universes that it freezes."""
    if baseline is None:
        return None, {}
    from otelcov.coverage.exchange import read, universes

    earlier = read(baseline)
    return earlier, universes(earlier)
