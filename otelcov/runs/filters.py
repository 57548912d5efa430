"""Which runs of a window are listed: by what they called, met and did. One agent's steps alone, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import polars as pl

THEN = " > "
TOGETHER = " & "


def of_agents(runs: pl.DataFrame, agents: Collection[str]) -> pl.DataFrame:
    """Every run with only these agents' steps. What is unknown stays unknown."""
    if not agents:
        return runs
    mine = sorted(agents)
    step = pl.element()
    acting = step.str.extract(r"^(.*?)(?:/|->)", 1)
    path = pl.element().list.eval(step.filter(acting.is_in(mine)))
    return runs.with_columns(
        *(_kept(column, step.struct.field("agent").is_in(mine)) for column in ("tool_calls", "llm_calls")),
        _kept("delegations", step.struct.field("from").is_in(mine)),
        _kept("agents", step.is_in(mine)),
        _kept("states", step.str.split("|").list.first().is_in(mine)),
        pl.col("path").list.eval(path).list.eval(step.filter(step.list.len() > 0)),
    )


def calling(runs: pl.DataFrame, tools: Collection[str]) -> pl.DataFrame:
    """Runs that called one of these tools, asked for it, or delegated by it."""
    wanted = sorted(tools)
    called = pl.col("tool_calls").list.eval(pl.element().struct.field("name").is_in(wanted)).list.any()
    handed = pl.col("delegations").list.eval(pl.element().struct.field("tool").is_in(wanted)).list.any()
    return runs.filter(called.fill_null(False) | handed.fill_null(False))


def ending(runs: pl.DataFrame, statuses: Collection[str]) -> pl.DataFrame:
    return runs.filter(pl.col("status").is_in(sorted(statuses)))


def meeting(runs: pl.DataFrame, boundaries: Collection[str]) -> pl.DataFrame:
    """Runs that met one of these boundaries."""
    wanted = pl.lit(sorted(boundaries), pl.List(pl.String))
    return runs.filter(pl.col("boundaries").list.set_intersection(wanted).list.len() > 0)


def talking(runs: pl.DataFrame, conversations: Collection[str]) -> pl.DataFrame:
    return runs.filter(pl.col("conversation_id").is_in(sorted(conversations)))


def walking(runs: pl.DataFrame, paths: Collection[str]) -> pl.DataFrame:
    """Runs whose path has one of these sequences in it, step after step: `planner/search > planner->worker`."""
    walked = pl.format(f"{THEN}{{}}{THEN}", path_text(pl.col("path")))
    hits = [walked.str.contains(f"{THEN}{_spaced(path)}{THEN}", literal=True) for path in paths]
    return runs.filter(pl.any_horizontal(hits).fill_null(False))


FILTERS: dict[str, Callable[[pl.DataFrame, Collection[str]], pl.DataFrame]] = {
    "tool": calling,
    "status": ending,
    "boundary": meeting,
    "conversation": talking,
    "path": walking,
}


def path_text(path: pl.Expr) -> pl.Expr:
    """A path in one line."""
    return path.list.eval(pl.element().list.join(TOGETHER)).list.join(THEN)


def _kept(column: str, wanted: pl.Expr) -> pl.Expr:
    return pl.col(column).list.eval(pl.element().filter(wanted))


def _spaced(path: str) -> str:
    """A path as it is written by hand in the spelling of `path_text`."""
    steps = [re.split(r"\s*&\s*", step.strip()) for step in re.split(r"(?<!-)>", path)]
    return THEN.join(TOGETHER.join(sorted(step)) for step in steps if step != [""])
