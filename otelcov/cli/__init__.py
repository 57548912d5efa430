"""The command line: one module a command, imported when that command runs.

A command is a function of its module with the module's name, or a Typer app called `app` for a group of commands.
It returns nothing or its exit code. What it raises as `OtelcovError` becomes text on stderr and an exit code.

Here is what is known before Typer is imported: a second process may start meanwhile (ahead.py).
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from otelcov.cli import ahead
from otelcov.cli.listed import BY_NAME
from otelcov.ground.processes import FEW_PASSES


def main(args: Sequence[str] | None = None) -> None:
    """The `otelcov` command."""
    _stand_in_for_closed_streams()
    gc.set_threshold(*FEW_PASSES)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start threads for algebra; so much again
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # which are sought in the metadata of all installed
    arguments = sys.argv[1:] if args is None else args
    asks = bool(arguments) and arguments[0] in BY_NAME and BY_NAME[arguments[0]].asks
    if asks:
        ahead.begin(arguments[1:])
    from otelcov.cli.commands import app

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
