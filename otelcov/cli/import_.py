"""`otelcov import`: OTLP files into a store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from otelcov.cli.options import STORE, ConfigFile, Store
from otelcov.ground import errors

if TYPE_CHECKING:
    from otelcov.store.importing import Outcome


def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="OTLP files, or folders that are searched for them.")
    ],
    store: Store = STORE,
    inbox: Annotated[
        Path | None,
        typer.Option(
            "--inbox", envvar="OTELCOV_INBOX", metavar="DIR", help="Local folder for the inbox of a remote store."
        ),
    ] = None,
    config: ConfigFile = None,
) -> int:
    """Take OTLP files into a store.

    Reads .pb, .binpb, .json and .jsonl, each also gzipped (.gz), folders recursively. JSON tells by its keys what it
    holds; protobuf is logs if the file's name contains "logs". What [collect] says of redaction holds here too. May run
    beside a collector, and twice: a span counts once. Exits with 3 if no file held OTLP.
    """
    from rich.console import Console
    from rich.progress import Progress

    from otelcov.ground.settings import load
    from otelcov.store import files, importing

    collect = load(config).collect
    found = files.find(paths)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("Importing", total=len(found))
        outcome = importing.take_in(found, store, collect, inbox, lambda _: progress.advance(bar))
    for line in outcome.told:
        print(line, file=sys.stderr)
    print(_summary(outcome, store), file=sys.stderr)
    return errors.GOOD if outcome.files else errors.NO_DATA


def _summary(outcome: Outcome, store: str) -> str:
    if not outcome.files:
        return "No file held OTLP."
    parts = [counted(outcome.spans, "span"), counted(outcome.logs, "log record")]
    parts += [f"{outcome.rejected:,} rejected"] if outcome.rejected else []
    parts += [f"{counted(outcome.metrics, 'request')} of metrics skipped"] if outcome.metrics else []
    return f"Imported {', '.join(parts)} from {counted(outcome.files, 'file')} into {store}."


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
