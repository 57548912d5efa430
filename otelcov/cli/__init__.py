"""The command line: one module a command, imported when that command runs.

A command is a function of its module with the module's name, or a Typer app called `app` for a group of commands.
It returns nothing or its exit code. What it raises as `OtelcovError` becomes text on stderr and an exit code here.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from otelcov.cli import ahead
from otelcov.ground import errors
from otelcov.ground.processes import FEW_PASSES


class Command(NamedTuple):
    """A command before it is imported: enough for `otelcov --help`."""

    name: str
    help: str
    module: str | None = None  # where it is not called like the command
    asks: bool = False  # about a window (measuring.asking)

    def load(self) -> Any:
        name = self.module or self.name.replace("-", "_")
        found = import_module(f"otelcov.cli.{name}")
        app = getattr(found, "app", None)
        if app is None:
            app = typer.Typer(rich_markup_mode=None, add_completion=False)
            app.command(self.name)(getattr(found, name))
        command = typer.main.get_command(app)
        command.name = self.name
        _lists_with_commas(command)
        return command


def _lists_with_commas(command: Any) -> None:
    """In a variable a list is written with commas, as those of the config are: names may hold spaces."""
    for parameter in command.params:
        parameter.split_envvar_value = _listed
    for one in getattr(command, "commands", {}).values():
        _lists_with_commas(one)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


# In the order in which a newcomer meets them.
COMMANDS = (
    Command("demo", "Show the whole loop: a collector, scripted agents, a report."),
    Command("collect", "Receive spans over OTLP and keep them."),
    Command("import", "Take OTLP files into a store.", module="import_"),
    Command("report", "Say what the agents exercised, and what not.", asks=True),
    Command("runs", "List the runs of a window.", asks=True),
    Command("show", "Show one run: agents, model calls, tool calls."),
    Command("export", "Write runs, or the spans of whole traces, to a file.", asks=True),
    Command("gate", "Judge a window by a gate file.", asks=True),
    Command("gaps", "Show what production does and tests never exercised.", asks=True),
    Command("test", "Judge test cases on the runs of a window, without running the agent.", asks=True),
    Command("trend", "Show how pass rate, latency, tokens, errors and coverage went.", asks=True),
    Command("alerts", "Hold the numbers of now against the alert rules of the config."),
    Command("compare", "Compare models, releases or prompts on the same cases.", asks=True),
    Command("diff", "Show behaviour that is new, lost or shifted.", asks=True),
    Command("undeclared", "List what was seen and never declared.", asks=True),
    Command("why", "Explain a number: its parts, its rule, its traces.", asks=True),
    Command("learn", "Write a declaration as the agents behaved.", asks=True),
    Command("declare", "Write a declaration from code or an MCP server."),
    Command("snapshot", "Write a window's sums to a file.", asks=True),
    Command("combine", "Add up the snapshots of regions, shards or CI jobs."),
    Command("judge", "Judge conversations by rules and by LLM judges."),
    Command("prune", "Remove old spans, a trace or a conversation."),
    Command("doctor", "Check ports, TLS, disk and the way of a span; say what spans lack."),
    Command("config", "Show the configuration in force and where it comes from."),
)


class _Commands(TyperGroup):
    """Lists commands from the table, imports one only to run it, and turns errors into exit codes."""

    def __init__(self, **settings: Any) -> None:
        settings["commands"] = [TyperCommand(command.name, help=command.help) for command in COMMANDS]
        super().__init__(**settings)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, stub, rest = super().resolve_command(ctx, args)
        return name, stub and _BY_NAME[str(stub.name)].load(), rest

    def invoke(self, ctx: Any) -> None:
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise
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


_BY_NAME = {command.name: command for command in COMMANDS}

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


def main(args: Sequence[str] | None = None) -> None:
    """The `otelcov` command."""
    _stand_in_for_closed_streams()
    gc.set_threshold(*FEW_PASSES)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start threads for algebra; so much again
    arguments = sys.argv[1:] if args is None else args
    asks = bool(arguments) and arguments[0] in _BY_NAME and _BY_NAME[arguments[0]].asks
    if asks:
        ahead.begin(arguments[1:])
    try:
        app(args=args, prog_name="otelcov")
    except SystemExit as ended:
        if args is None and asks and (ended.code is None or isinstance(ended.code, int)):
            _leave(ended.code or 0)
        raise


def _stand_in_for_closed_streams() -> None:
    """A job may be started with its output closed (`2>&-`): what it says is lost, and its exit code still tells what it
    found. Nor is the next file that is opened taken for that stream."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123


def _leave(code: int) -> NoReturn:
    """End this process, with all that it does at its end but to free its memory piece by piece: of a report that takes
    a tenth of its time."""
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):  # whoever listened has gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
