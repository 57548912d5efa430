"""The Typer app of all commands: lists them from their table, imports one only to run it."""

from __future__ import annotations

import os
import sys
from copy import copy
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from otelcov.cli.listed import BY_NAME, COMMANDS, Command
from otelcov.ground import errors


class _Commands(TyperGroup):
    """Lists commands from the table, imports one only to run it, and turns errors into exit codes."""

    def __init__(self, **settings: Any) -> None:
        settings["commands"] = [TyperCommand(command.name, help=command.help) for command in COMMANDS]
        super().__init__(**settings)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, stub, rest = super().resolve_command(ctx, args)
        return name, stub and load(BY_NAME[str(stub.name)]), rest

    def invoke(self, ctx: Any) -> None:
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except errors.OtelcovError as error:
            typer.echo(str(error), err=True)
            code = error.exit_code
        except BrokenPipeError:  # the reader of our output has had enough: quiet, but no success
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = errors.STORE
        except OSError as error:
            typer.echo(f"Couldn't use {error.filename or 'a file or socket'}: {error.strerror or error}.", err=True)
            code = errors.STORE
        if isinstance(code, int) and code:
            raise typer.Exit(code)


app = typer.Typer(
    name="otelcov", cls=_Commands, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"otelcov {version('otelcov')}")
        raise typer.Exit


@app.callback()
def _otelcov(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Coverage of AI agents from their OpenTelemetry traces."""


def load(asked: Command) -> Any:
    """The command itself, with all that it imports."""
    name = asked.module or asked.name.replace("-", "_")
    found = import_module(f"otelcov.cli.{name}")
    app = getattr(found, "app", None)
    if app is None:
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command(asked.name)(getattr(found, name))
    command = typer.main.get_command(app)
    command.name = asked.name
    _lists_with_commas(command)
    return command


def _lists_with_commas(command: Any) -> None:
    """In a variable a list is written with commas, as those of the config are: names may hold spaces."""
    for parameter in command.params:
        if getattr(parameter, "multiple", False):
            parameter.type = copy(parameter.type)  # which others share
            parameter.type.split_envvar_value = _listed
    for one in getattr(command, "commands", {}).values():
        _lists_with_commas(one)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
