"""`otelcov diff A B`: new, lost and shifted behaviour between two windows, releases, models, environments or files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from otelcov.cli.measuring import Question, asking, out, terminal

if TYPE_CHECKING:
    from otelcov.coverage.observations import Observations

_NAMES = ("service", "environment", "release", "side", "model", "case", "since", "until")
_HOW = f"a file of `otelcov snapshot`, SINCE..UNTIL, or NAME=VALUE[,NAME=VALUE] with {', '.join(_NAMES)}"


@asking
def diff(
    question: Question,
    a: Annotated[str, typer.Argument(metavar="A", help=f"What was: {_HOW}.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="What is, written alike.", show_default=False)],
    cluster: Annotated[
        Literal["run", "conversation"],
        typer.Option("--cluster", envvar="OTELCOV_CLUSTER", help="What counts as one observation."),
    ] = "run",
    format: Annotated[
        Literal["text", "json", "markdown"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "text",
) -> int:
    """Show behaviour that is new, lost or shifted, beyond chance."""
    from otelcov.coverage import compare
    from otelcov.ground import errors
    from otelcov.report import findings

    column = "conversation_id" if cluster == "conversation" else None
    sides = [_observations(question, name, column) for name in (a, b)]
    found = {"a": a, "b": b, "cluster": cluster} | compare.diff(*sides)
    out(findings.diff(found, format, **(terminal() if format == "text" else {})))
    return errors.GOOD if found["runs"]["a"] and found["runs"]["b"] else errors.NO_DATA


def _observations(question: Question, name: str, cluster: str | None) -> Observations:
    from dataclasses import replace

    from otelcov.coverage import exchange
    from otelcov.coverage.observations import partial
    from otelcov.coverage.selection import select
    from otelcov.ground import windows
    from otelcov.ground.errors import UsageError, did_you_mean

    if ("=" not in name and ".." not in name) or Path(name).is_file():
        if not Path(name).is_file():
            raise UsageError(f'Couldn\'t compare "{name}": it is neither {_HOW}.')
        if cluster:
            raise UsageError("A file keeps sums of runs: conversations can only be told apart in a store.")
        if chosen := question.selection.as_json():
            words = " and ".join(f"--{option}" for option in chosen)
            typer.echo(f"{name} holds the runs of which it was made: {words} does not narrow it.", err=True)
        return exchange.read(Path(name)).observations
    selection, since, until = question.selection, None, None
    if "=" in name:
        for part in name.split(","):
            key, _, value = part.partition("=")
            if key not in _NAMES:
                known = did_you_mean(key, _NAMES) or f" Known are {', '.join(_NAMES)}."
                raise UsageError(f'Couldn\'t compare "{name}": "{key}" is no NAME that selects runs.{known}')
            if not value:
                raise UsageError(f'Couldn\'t compare "{name}": "{part}" is not NAME=VALUE.')
            if key == "since":
                since = value
            elif key == "until":
                until = value
            else:
                selection = replace(selection, **{key: (value,)})
    else:
        since, until = (text or None for text in name.split("..", 1))
    window = windows.parse(since, until, question.now_ns) if since or until else question.window
    asked = question.within(window=window, selection=selection, second=None)  # it helps with one question
    if cluster is None:
        return asked.measured()
    runs, _ = asked.rows()
    runs = select(runs, selection, question.config, sides=True)
    return partial(runs, question.config, selection.agent, cluster)
