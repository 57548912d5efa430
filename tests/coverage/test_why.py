"""Why a number is what it is: told by sums and the first runs that did an item, as looking at each run tells it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given

from otelcov.coverage import why as module
from otelcov.coverage.observations import partial, per_run
from otelcov.coverage.selection import inside
from otelcov.coverage.snapshot import snapshot
from otelcov.coverage.why import why
from otelcov.ground.windows import Window
from tests.coverage.build import frame
from tests.coverage.test_laws import CONFIG, quick, some_runs

ITEMS = {
    "tool": ["search", "book", "delete", "odd"],
    "edge": ["planner/search", "planner/delete", "(unknown)/search"],
    "edge_tool": ["planner/handover"],
    "delegation": ["planner->worker"],
    "model": ["a", "b-2024-01-01", "vendor/b"],
    "path": ["search", ""],
    "boundary": ["tool_failure"],
    "agent": ["planner", "worker"],
}


def each(runs: pl.DataFrame, rows: pl.DataFrame, kind: str, item: str) -> dict[str, Any] | None:
    """What a look at each run tells."""
    if kind in ("edge", "edge_tool", "delegation"):
        joint = "->" if kind == "delegation" else "/"
        rows = rows.with_columns(item=pl.col("agent").fill_null("(unknown)") + joint + pl.col("item"))
    else:
        rows = rows.filter(pl.col("agent").is_null())
    hits = rows.filter(pl.col("dimension").is_in([kind, f"{kind}_asked"]) & (pl.col("item") == item))
    if hits.is_empty():
        return None
    done = hits.filter(pl.col("calls") > 0)
    first = runs.join(done if done.height else hits, on="run_id", how="semi").sort("start_unix_nano", "run_id")
    told = {name: hits[name].sum() for name in ("calls", "errors", "requested")}
    return told | {"numerator": done.height, "runs": first["run_id"].head(module.TRACES).to_list()}


def told(runs: pl.DataFrame, agents: tuple[str, ...]) -> None:
    seen, rows = partial(runs, CONFIG, agents), per_run(runs, CONFIG, agents)
    shot = snapshot(seen, CONFIG)

    def some(where: pl.Expr, within: Window) -> pl.DataFrame:
        return inside(runs.filter(where), within)

    for kind, items in ITEMS.items():
        for item in items:
            want = each(runs, rows, kind, item)
            if want is not None:
                answers = why(f"{kind}:{item}", shot, seen, some, CONFIG, agents)["answers"]
                (found,) = [answer for answer in answers if answer["kind"] == kind]
                assert found.items() >= want.items(), (kind, item)


@pytest.mark.full
@quick
@given(some_runs(20))
def test_sums_and_the_first_runs_tell_what_each_run_does(runs: list[dict[str, Any]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TRACES", 3)
        for agents in ((), ("planner",)):
            if runs:
                told(frame(*runs), agents)
