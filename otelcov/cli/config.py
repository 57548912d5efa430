"""`otelcov config show`: the configuration in force."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from otelcov.cli.options import ConfigFile

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)


@app.callback()
def config() -> None:
    """Show the configuration in force and where it comes from."""


@app.command()
def show(
    config: ConfigFile = None,
    origin: Annotated[
        bool, typer.Option("--origin", envvar="OTELCOV_ORIGIN", help="Say for each key where its value comes from.")
    ] = False,
    format: Annotated[
        Literal["text", "json"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "text",
) -> None:
    """Print every key with its value: otelcov.toml or pyproject.toml, the environment, defaults."""
    from otelcov.ground.settings import load_with_origins

    _, settings = load_with_origins(config)
    if format == "json":
        rows = [{"key": s.key, "value": s.value} | ({"origin": s.origin} if origin else {}) for s in settings]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    width = max(len(s.key) for s in settings)
    for setting in settings:
        value = "(not set)" if setting.value is None else json.dumps(setting.value, ensure_ascii=False)
        typer.echo(f"{setting.key:<{width}}  {value}" + (f"  # {setting.origin}" if origin else ""))
