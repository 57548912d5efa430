"""`otelcov show RUN_OR_TRACE`: all that is known of one run."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from otelcov.cli.measuring import Question, also_missing, answered, out, terminal
from otelcov.cli.options import STORE, ConfigFile, Now, Since, Store, Until

if TYPE_CHECKING:
    import polars as pl

_SHORTEST = 4  # hex digits that still mean something


def show(
    id: Annotated[
        str,
        typer.Argument(metavar="RUN_OR_TRACE", help="Id of a run or a trace, or how it begins.", show_default=False),
    ],
    store: Store = STORE,
    config: ConfigFile = None,
    since: Since = "all",
    until: Until = None,
    now: Now = None,
    format: Annotated[
        Literal["text", "json"], typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it.")
    ] = "text",
) -> int:
    """Show one run: agents, model calls, tool calls.

    A trace may hold several runs; all of them are shown. Looks at the whole store unless --since says otherwise.
    With --format json: a list of runs as `otelcov runs` prints them.
    """
    from otelcov.cli.tree import tree
    from otelcov.runs.lines import json_lines

    with also_missing(store):
        question = Question.of(store, config, since=since, until=until, now=now)
        frame = answered(functools.partial(_named, id.strip().lower()), question)
    if format == "json":
        lines = "".join(json_lines(frame, question.config)).splitlines()
        out(json.dumps([json.loads(line) for line in lines], indent=2, ensure_ascii=False))
    else:
        from rich.console import Group

        from otelcov.report.text import printed

        shown = [
            tree(row, question.config.side(row["environment"]), terminal()["width"])
            for row in frame.iter_rows(named=True)
        ]
        out(printed(Group(*shown), **terminal()))
    return 0


def _named(prefix: str, question: Question) -> pl.DataFrame:
    """The run with this id, or the runs in this trace."""
    import polars as pl

    from otelcov.ground.errors import UsageError

    if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},32}}", prefix):
        raise UsageError(
            f'"{prefix}" is no id. Give at least {_SHORTEST} of the hex digits that `otelcov runs` prints.'
        )
    is_its_id = pl.col("run_id").str.starts_with(prefix)
    holds_trace = pl.col("trace_ids").list.eval(pl.element().str.starts_with(prefix)).list.any().fill_null(False)
    listed = question.listed(where=is_its_id | holds_trace)
    own, of_traces = (listed.rows.filter(told) for told in (is_its_id, holds_trace))
    traces = {trace for some in of_traces["trace_ids"] for trace in some if trace.startswith(prefix)}
    if own.height + len(traces) > 1:
        ids = sorted([f"run {run}" for run in own["run_id"]] + [f"trace {trace}" for trace in traces])
        shown = "\n".join(f"  {one}" for one in ids[:10]) + ("\n  …" if len(ids) > 10 else "")
        raise UsageError(f'{len(ids)} ids begin with "{prefix}". Give more digits of one:\n{shown}')
    if own.is_empty() and of_traces.is_empty():
        raise UsageError(_nothing(prefix, question))
    wanted = own if traces == set() else of_traces
    return replace(listed, rows=wanted).content()


def _nothing(prefix: str, question: Question) -> str:
    """Why there is no run: no such trace, or none that speaks of agents."""
    import polars as pl

    from otelcov.runs.trace.carries import scope_name
    from otelcov.store import scan

    spans = scan.read(question.store, question.window, question.config.runs.max_run_ns).every_span
    begins = pl.col("trace_id").bin.encode("hex").str.starts_with(prefix)
    found = spans.filter(begins).select("trace_id", "span_id", "scope").collect().unique(("trace_id", "span_id"))
    if found.is_empty():
        return f'No run or trace in {question.store} begins with "{prefix}". `otelcov runs --since all` lists them.'
    scopes = sorted({scope_name(scope) or "(no scope)" for scope in found["scope"].unique()})
    return f'No run starts here, though the trace "{prefix}" has {found.height} spans, of {", ".join(scopes)}.'
