"""`otelcov doctor`: is everything in place for spans to come in, and do they carry what coverage needs?"""

from __future__ import annotations

import json
import textwrap
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from otelcov.cli.measuring import also_missing, terminal
from otelcov.cli.options import STORE, ConfigFile, Now, Since, Store, Until, window_of

if TYPE_CHECKING:
    from otelcov.cli.checks import Finding


def doctor(
    context: typer.Context,
    store: Store = STORE,
    config: ConfigFile = None,
    since: Since = None,
    until: Until = None,
    now: Now = None,
    format: Annotated[
        Literal["text", "json"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "text",
) -> int:
    """Check ports, TLS, disk and the way of a span; say what spans lack.

    The sample span goes through a collector and a store of its own; nothing is written to yours. With a store it
    then reads the window's spans and says for each service what its instrumentation does not tell, what that costs,
    and what to switch on. Exits with 4 if something would keep spans from being kept, with 2 if the config would.
    """
    from otelcov.cli import carried, checks
    from otelcov.ground import errors
    from otelcov.ground.settings import load

    source = context.get_parameter_source("store")
    named = source is not None and source.name != "DEFAULT"
    with also_missing(store) if named else nullcontext():
        settings = load(config)
        window, now_ns = window_of(since, until, now)
    findings = [
        *checks.access(settings.collect),
        *checks.tls(settings.collect),
        *checks.ports(settings.collect),
        *checks.disk(Path() if "://" in store else Path(store)),
        *checks.admission(),
        *checks.round_trip(),
    ]
    if named or "://" in store or Path(store).exists():
        findings += carried.stored(store, settings, window, now_ns)
    else:
        findings.append(checks.Finding("spans", "note", f"no store in {store} yet", "`otelcov collect` creates it."))
    if format == "json":
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        _print(findings)
    failed = {finding.check for finding in findings if finding.status == "failed"}
    codes = [errors.USAGE if check in ("access", "TLS") else errors.STORE for check in failed]
    return errors.worst(codes)


_MARKS = {"ok": "ok     ", "note": "note   ", "warning": "WARNING", "failed": "FAILED "}
_INDENT = " " * 9


def _print(findings: list[Finding]) -> None:
    from otelcov.report.words import plain

    width = terminal()["width"]
    for finding in findings:
        paragraphs = [f"{_MARKS[finding.status]}  {finding.check}: {plain(finding.text)}"]
        if finding.advice:
            paragraphs.append(f"{_INDENT}{finding.advice}")
        for text in paragraphs:  # what is to be copied stays whole
            for line in textwrap.wrap(
                text, width, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
            ):
                typer.echo(line)
