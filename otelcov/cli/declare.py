"""`otelcov declare`: a declaration from code or from a running MCP server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def declare(
    objects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODULE:OBJECT]...",
            help="Agents of the OpenAI Agents SDK or pydantic-ai, graphs of LangGraph.",
            show_default=False,
        ),
    ] = None,
    mcp: Annotated[
        list[str] | None,
        typer.Option(
            "--mcp",
            envvar="OTELCOV_MCP",
            metavar="COMMAND",
            help="An MCP server on stdio, by its command line. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", envvar="OTELCOV_OUT", metavar="FILE", help="Write it here instead of stdout."),
    ] = None,
) -> None:
    """Write a declaration (otelcov.toml) from agents in code or from an MCP server's tools."""
    from otelcov.cli import measuring
    from otelcov.coverage import introspect
    from otelcov.coverage.declaration import Declaration, toml
    from otelcov.ground.errors import UsageError

    if not objects and not mcp:
        raise UsageError("Name at least one object (package.module:agent) or an MCP server (--mcp COMMAND).")
    total = Declaration()
    parts = [introspect.from_object(path) for path in objects or []] + [introspect.from_mcp(c) for c in mcp or []]
    for part in parts:
        for name, agent in part.agents.items():
            known = total.agent(name)
            known.tools |= agent.tools
            known.delegates_to |= agent.delegates_to
            known.entry |= agent.entry
        total.tools |= part.tools
        total.models |= part.models
    text = toml(total, f"Declared by {', '.join([*(objects or []), *(mcp or [])])}.")
    if out is None:
        measuring.out(text)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"Wrote {len(total.agents)} agents and {len(total.tools)} tools to {out}.", err=True)
