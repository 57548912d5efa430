"""The options that commands share, each with its `OTELCOV_` variable.

def runs(store: Store = STORE, since: Since = None, until: Until = None, now: Now = None, ...) -> None:
    window, now_ns = window_of(since, until, now)
    selection = selection_of(service, environment, release, agent, side, model, case)
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from otelcov.cli import ahead
from otelcov.ground import windows
from otelcov.ground.errors import UsageError
from otelcov.ground.selection import Selection
from otelcov.ground.windows import Window

STORE = ahead.STORE

Store = Annotated[
    str, typer.Option("--store", envvar="OTELCOV_STORE", metavar="DIR", help="Folder or URL that keeps the spans.")
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        envvar="OTELCOV_CONFIG",
        metavar="FILE",
        help="Read this instead of ./otelcov.toml or [tool.otelcov] in ./pyproject.toml.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        envvar="OTELCOV_SINCE",
        metavar="TIME",
        help="Begin of the window: 24h, 7d, 1h30m, an ISO time, or all. Default: the 24 hours before its end.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until", envvar="OTELCOV_UNTIL", metavar="TIME", help="End of the window, written like --since. Default: now."
    ),
]
Now = Annotated[
    str | None,
    typer.Option(
        "--now", envvar="OTELCOV_NOW", metavar="TIME", help="Take this ISO time for the clock, for equal answers later."
    ),
]
Service = Annotated[
    list[str] | None,
    typer.Option("--service", envvar="OTELCOV_SERVICE", metavar="NAME", help="Only this service.name. Repeatable."),
]
Environment = Annotated[
    list[str] | None,
    typer.Option(
        "--environment",
        envvar="OTELCOV_ENVIRONMENT",
        metavar="NAME",
        help="Only this deployment.environment.name. Repeatable.",
    ),
]
Release = Annotated[
    list[str] | None,
    typer.Option("--release", envvar="OTELCOV_RELEASE", metavar="NAME", help="Only this service.version. Repeatable."),
]
Agent = Annotated[
    list[str] | None,
    typer.Option("--agent", envvar="OTELCOV_AGENT", metavar="NAME", help="Only this agent's steps. Repeatable."),
]
Side = Annotated[
    list[str] | None,
    typer.Option(
        "--side",
        envvar="OTELCOV_SIDE",
        metavar="SIDE",
        help="Only test, staging, production or unspecified runs. Repeatable.",
    ),
]
Model = Annotated[
    list[str] | None,
    typer.Option("--model", envvar="OTELCOV_MODEL", metavar="NAME", help="Only runs that used this model. Repeatable."),
]
Case = Annotated[
    list[str] | None,
    typer.Option("--case", envvar="OTELCOV_CASE", metavar="NAME", help="Only runs of this test case. Repeatable."),
]


Engine = Annotated[
    Literal["here", "pool", "ray"] | None,
    typer.Option(
        "--engine",
        envvar="OTELCOV_ENGINE",
        metavar="ENGINE",
        help="Where many runs are counted: here, pool (processes of this machine) or ray.",
    ),
]


def window_of(since: str | None, until: str | None, now: str | None) -> tuple[Window, int]:
    """The window and the clock, in nanoseconds."""
    now_ns = windows.clock(now)
    return windows.parse(since, until, now_ns), now_ns


def selection_of(
    service: list[str] | None = None,
    environment: list[str] | None = None,
    release: list[str] | None = None,
    agent: list[str] | None = None,
    side: list[str] | None = None,
    model: list[str] | None = None,
    case: list[str] | None = None,
) -> Selection:
    """What the repeatable options select."""
    words = (service, environment, release, agent, side, model, case)
    return Selection(*(tuple(given or ()) for given in words))


def percent(fail_under: float | None) -> float | None:
    """What `--fail-under` takes."""
    if fail_under is not None and 0 < fail_under < 1:
        raise UsageError(
            f"--fail-under takes a percent, and {fail_under:g} is below one. Did you mean {fail_under * 100:g}?"
        )
    if fail_under is not None and not 0 <= fail_under <= 100:
        raise UsageError(f"--fail-under takes a percent from 0 to 100, got {fail_under:g}.")
    return fail_under


def points(max_drop: float | None) -> float | None:
    """What `--max-drop` takes."""
    if max_drop is not None and not 0 <= max_drop <= 100:
        raise UsageError(f"--max-drop takes points from 0 to 100, got {max_drop:g}.")
    return max_drop
