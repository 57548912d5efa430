"""`otelcov collect`: receive spans and keep them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from otelcov.cli.options import STORE, ConfigFile, Store

_BESIDE = (("count", 30.0, 5.0), ("tidy", 300.0, 300.0))  # seconds between two starts, and until the first

if TYPE_CHECKING:
    from collector.config import CollectorConfig
    from otelcov.ground.config import Collect


def collect(
    store: Store = STORE,
    config: ConfigFile = None,
    host: Annotated[
        str | None, typer.Option("--host", envvar="OTELCOV_HOST", help="Address to listen on. Default: 127.0.0.1.")
    ] = None,
    grpc_port: Annotated[
        int | None,
        typer.Option(
            "--grpc-port",
            envvar="OTELCOV_GRPC_PORT",
            min=0,
            max=65535,
            help="OTLP/gRPC; 0 picks a free one. Default: 4317.",
        ),
    ] = None,
    http_port: Annotated[
        int | None,
        typer.Option(
            "--http-port",
            envvar="OTELCOV_HTTP_PORT",
            min=0,
            max=65535,
            help="OTLP/HTTP; 0 picks a free one. Default: 4318.",
        ),
    ] = None,
    inbox: Annotated[
        Path | None,
        typer.Option(
            "--inbox", envvar="OTELCOV_INBOX", metavar="DIR", help="Local folder for the inbox of a remote store."
        ),
    ] = None,
    allow_unauthenticated: Annotated[
        bool | None,
        typer.Option(
            "--allow-unauthenticated",
            envvar="OTELCOV_ALLOW_UNAUTHENTICATED",
            help="Listen beyond loopback although neither token nor client certificate is asked for.",
        ),
    ] = None,
) -> None:
    """Receive spans over OTLP and keep them.

    Answers a request once it is on disk. The first line on stderr is JSON with the ports and the store. The HTTP port
    also answers GET /readyz, /healthz and /metrics. SIGTERM and SIGINT drain. Limits, TLS, tokens and redaction are
    set in [collect] of the config.
    """
    import os

    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # before it is imported: its remarks would be our first line
    from collector.config import BadConfig
    from collector.inbox import InboxError
    from collector.service import StoreLoop, run
    from otelcov.ground.errors import ConfigError, StoreError, UsageError
    from otelcov.ground.settings import load
    from otelcov.store import tables
    from otelcov.store.background import Background, Beside
    from otelcov.store.scan import writable_inbox

    settings = load(config).collect
    given: dict[str, Any] = {
        "host": host,
        "grpc_port": grpc_port,
        "http_port": http_port,
        "allow_unauthenticated": allow_unauthenticated,
    }
    settings = replace(settings, **{key: value for key, value in given.items() if value is not None})
    root = writable_inbox(store, inbox)
    if root is None:
        raise UsageError(f"{store} is not a local folder, and the inbox must lie in one. Give it with --inbox DIR.")
    tables.create(store)
    named = ["--config", str(config)] if config else []
    beside = [Beside([sys.executable, "-m", "otelcov.cli.beside", what, *named], *s) for what, *s in _BESIDE]
    background = Background(store, root, settings.commit_interval_ns / 1e9, settings.commit_bytes, beside=beside)

    def follow(loop: StoreLoop) -> None:
        background.on_written = lambda written: loop.metrics.committed.inc(written.spans + written.logs)

        def failed(text: str) -> None:
            loop.metrics.commit_errors.inc()
            print(text, file=sys.stderr, flush=True)

        background.on_failure = failed
        loop.metrics.watch("lag_seconds", "Longest wait of anything acknowledged for the store", background.lag_s)
        background.follow(loop.inbox, loop.stop)

    def ready(said: dict[str, object]) -> None:
        print(json.dumps(said), file=sys.stderr, flush=True)

    try:
        run(_told(settings, store, root), ready, follow)
    except BadConfig as error:
        raise ConfigError(f"The collector does not start: {error}.") from None
    except InboxError as error:
        raise StoreError(
            f"The collector does not start: {error}. Is the disk full, or may nobody write there?"
        ) from None


def _told(settings: Collect, store: str, inbox: Path) -> CollectorConfig:
    """The settings in the words of the collector, which knows nothing of otelcov."""
    from collector.config import CollectorConfig

    own = ("commit_interval_ns", "commit_bytes", "drain_ns", "drop", "hash")
    same = {name: value for name, value in vars(settings).items() if name not in own}
    return CollectorConfig(
        store=store,
        inbox=inbox,
        drop=tuple(settings.drop),
        hash=tuple(settings.hash),
        drain_seconds=settings.drain_ns / 1e9,
        **same,
    )
