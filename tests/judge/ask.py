"""`otelcov judge` as a user calls it, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from otelcov.cli.commands import app


def judge(store: Path, *args: str, toml: str = "", url: str | None = None, format: str = "json") -> Any:
    """(exit code, the document) of `otelcov judge`; with a `url` that server is the judge."""
    config = store.parent / "otelcov.toml"
    lines = [] if "backoff" in toml else ['backoff = "1ms"']
    if url:
        lines += ['model = "openai:scripted"', f'base_url = "{url}"']
    head, _, rest = toml.partition("[judge]\n")
    config.write_text(head + "\n".join(["[judge]", *lines, rest]))
    command = ["judge", "--store", str(store), "--since", "all", "--config", str(config), "--format", format, *args]
    result = CliRunner().invoke(app, command, env={"OPENAI_API_KEY": ""})
    if format != "json" or result.exit_code in (2, 4):
        return result.exit_code, result.output
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, json.loads(result.stdout)
