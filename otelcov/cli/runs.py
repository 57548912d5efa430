"""`otelcov runs`: the runs of a window, one line each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from otelcov.cli.measuring import Listed, Question, asking, out, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

_INPUT = 12  # columns that what was asked is left, where that is possible
_SPARED = ("tokens", "llm", "tools", "took", "service")  # in this order, where a terminal is narrow
_SHOWN = (
    "start_unix_nano",
    "end_unix_nano",
    "run_id",
    "status",
    "settled",
    "llm_calls",
    "tool_calls",
    "service",
    "input",
)
_COLOURS = {"ok": "green", "error": "red", "unknown": "yellow"}


def _filter(name: str, meta: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        f"--{name}", envvar=f"OTELCOV_{name.upper()}", metavar=meta, help=f"{help} Repeatable."
    )
    return option


@asking
def runs(
    question: Question,
    tool: Annotated[
        list[str] | None, _filter("tool", "NAME", "Only runs that called this tool, asked for it or delegated by it.")
    ] = None,
    status: Annotated[list[str] | None, _filter("status", "STATUS", "Only runs that are ok, error or unknown.")] = None,
    boundary: Annotated[list[str] | None, _filter("boundary", "NAME", "Only runs that met this boundary.")] = None,
    conversation: Annotated[list[str] | None, _filter("conversation", "ID", "Only turns of this conversation.")] = None,
    path: Annotated[
        list[str] | None, _filter("path", "STEPS", "Only runs whose path has these steps: 'planner/search > a->b'.")
    ] = None,
    format: Annotated[
        Literal["table", "jsonl"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "table",
) -> int:
    """List the runs of a window.

    Sorted by start; `--agent` keeps only that agent's steps and drops no run. `show` tells all of one run.
    """
    from otelcov.runs.lines import json_lines

    listed = found(question, tool=tool, status=status, boundary=boundary, conversation=conversation, path=path)
    if format == "jsonl":
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        for runs in whole(listed):
            for lines in json_lines(runs, question.config):
                sys.stdout.write(lines)
    elif not listed.rows.is_empty():
        _table(listed)
    return 0


def whole(listed: Listed) -> Iterator[pl.DataFrame]:
    """The runs that were found with their content, some at a time, with the steps of the agents that were asked for."""
    from otelcov.runs.filters import of_agents

    for runs in listed.whole():
        yield of_agents(runs, listed.question.selection.agent)


def found(question: Question, **filters: list[str] | None) -> Listed:
    """The runs that a question selects and the filters keep, in order."""
    from otelcov.coverage.selection import select
    from otelcov.ground.config import BOUNDARIES
    from otelcov.ground.errors import UsageError, did_you_mean
    from otelcov.runs.filters import FILTERS, of_agents

    for option, known in (("status", ("ok", "error", "unknown")), ("boundary", BOUNDARIES)):
        for word in filters.get(option) or []:
            if word not in known:
                raise UsageError(
                    f'There is no {option} "{word}": it is one of {", ".join(known)}.{did_you_mean(word, known)}'
                )

    def kept(runs: pl.DataFrame) -> pl.DataFrame:
        runs = select(runs, question.selection, question.config, sides=True)
        some = of_agents(runs, question.selection.agent)
        for option, wanted in filters.items():
            if wanted:
                some = FILTERS[option](some, wanted)
        return runs if some.height == runs.height else runs.join(some.select("run_id"), on="run_id", how="semi")

    return question.listed(kept)


def _table(listed: Listed) -> None:
    """As wide as the terminal; what a run was asked takes what room is left."""
    import polars as pl
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    from otelcov.cli.words import one_line
    from otelcov.report.text import printed

    runs = pl.concat(some.select(_SHOWN) for some in whole(listed))
    width = terminal()["width"]
    columns = ["start (UTC)", "run", "status", "took", "llm", "tokens", "tools"]
    rows = [_cells(run) for run in runs.iter_rows(named=True)]
    taken = sum(max(cell_len(row[i]) for row in (columns, *rows)) + 2 for i in range(len(columns)))
    several = runs["service"].n_unique() > 1
    if several:
        services = [one_line(name, min(12, max(8, width - taken - 2 - _INPUT))) for name in runs["service"]]
        columns.insert(2, "service")
        rows = [[*row[:2], service, *row[2:]] for row, service in zip(rows, services, strict=True)]
        taken += max(cell_len(name) for name in ("service", *services)) + 2
    for title in _SPARED:
        if taken > width and title in columns:
            at = columns.index(title)
            taken -= max(cell_len(row[at]) for row in (columns, *rows)) + 2
            columns, rows = [*columns[:at], *columns[at + 1 :]], [[*row[:at], *row[at + 1 :]] for row in rows]
    coloured = columns.index("status")
    room = width - taken
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        numeric = column in ("took", "llm", "tokens", "tools")
        table.add_column(column, justify="right" if numeric else "left", no_wrap=True)
    if room >= len("input"):
        table.add_column("input", no_wrap=True)
    for run, cells in zip(runs.select("status", "input").iter_rows(named=True), rows, strict=True):
        texts = [Text(cell, _COLOURS[run["status"]] if i == coloured else "") for i, cell in enumerate(cells)]
        if room >= len("input"):
            texts.append(Text(one_line(run["input"])))
            texts[-1].truncate(room, overflow="ellipsis")
        table.add_row(*texts)
    out(printed(table, **terminal()))


def _cells(run: dict[str, Any]) -> list[str]:
    from otelcov.cli.words import duration, number, when

    llm, tools = run["llm_calls"], run["tool_calls"]
    used = [call[f"{way}_tokens"] for call in llm or [] for way in ("input", "output")]
    told = [tokens for tokens in used if tokens is not None]
    executed = None if tools is None else sum(call["status"] != "requested" for call in tools)
    return [
        when(run["start_unix_nano"]),
        run["run_id"][:8],
        run["status"] + ("" if run["settled"] else "…"),
        duration(run["start_unix_nano"], run["end_unix_nano"]),
        number(None if llm is None else len(llm)),
        number(sum(told) if told else None),
        number(executed),
    ]
