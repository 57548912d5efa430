"""`otelcov alerts check`: the alert rules of the config, with hysteresis."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from otelcov.cli.options import STORE, ConfigFile, Now, Store
from otelcov.ground.windows import ALL

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)


@app.callback()
def _alerts() -> None:
    """Alert rules over what the store holds."""


@app.command()
def check(
    store: Store = STORE,
    config: ConfigFile = None,
    now: Now = None,
    format: Annotated[
        Literal["text", "json", "markdown", "prometheus"],
        typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it."),
    ] = "text",
) -> int:
    """Hold the numbers of now against the rules; tell the webhook what changed. Exits with 1 while a rule fires."""
    from otelcov.cli.measuring import Question, also_missing, answered, out, terminal
    from otelcov.ground import errors, settings, windows
    from otelcov.ground.errors import ConfigError, StoreError
    from otelcov.ground.selection import Selection
    from otelcov.history import alerts
    from otelcov.report import history

    with also_missing(store):
        known = settings.load(config)
        now_ns = windows.clock(now)

    checked = answered(
        lambda question: alerts.check(known, store, lambda window: question.within(window=window).seen(), now_ns),
        Question(store, known, ALL, now_ns, Selection()),
    )
    address = known.alerts.webhook
    if known.alerts.webhook_env is not None:
        address = os.environ.get(known.alerts.webhook_env)
        if not address:
            raise ConfigError(f"[alerts] webhook_env names {known.alerts.webhook_env}, which is not set.")
    told, codes = True, [alerts.exit_code(checked)]
    if address and any(not c.told for c in checked):
        try:
            alerts.notify(known, checked, address)
        except StoreError as error:
            typer.echo(str(error), err=True)
            told = False
            codes.append(error.exit_code)
    alerts.keep(store, checked, now_ns, told)
    out(history.alerts([c.as_json() for c in checked], format, **(terminal() if format == "text" else {})))
    return errors.worst(codes)
