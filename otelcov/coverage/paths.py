"""C_path: how much of the ways that agents take was taken.

Three views of it. *Relative*: the share of the other sides' runs whose path the tests exercised. *Estimated*: the
chance that the next run takes a path that was seen (Good-Turing, Chao-Jost). *Declared*: of the paths in the config.
Beside them stand *sequences* (tool names alone, repeats kept) and their *bigrams* with ^ and $.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from otelcov.coverage import estimators
from otelcov.coverage.dimension import Dimension, View, no_views
from otelcov.coverage.facts import Facts
from otelcov.coverage.tally import Steps

THEN = " > "
TOGETHER = " & "
NO_SAMPLE = "a suite is no random sample: import production traffic or declare paths"


def observe(facts: Facts) -> list[Steps]:
    """Rows `path`, `sequence` and `bigram`."""
    runs = facts.settled()
    able = runs.filter(pl.col("tool_calls").is_not_null()).select("rid")
    sequences = _sequences(facts, able)
    return [
        Steps("path", _paths(facts, runs.filter(pl.col("path").is_not_null())), once=True),
        Steps("sequence", sequences.select("rid", "agent", item=pl.col("names").list.join(THEN)), once=True),
        Steps("bigram", _bigrams(sequences)),
    ]


def measure(view: View) -> Dimension:
    seen = view.kinds("path")
    n = view.shown.get("path", 0)
    settled = view.shown.get("settled", 0)
    f1, f2 = view.units("path")
    kinds = seen.height
    relative = view.relative("path")
    declared = view.config.coverage.paths
    views = no_views() | {
        "good_turing": estimators.good_turing(n, f1),
        "chao_jost": estimators.chao_jost(n, f1, f2),
        "chao1": estimators.chao1(n, kinds, f1, f2),
    }
    wanted = {THEN.join(path) for path in declared or []}
    names = set(seen["item"]) if wanted else set()
    if wanted and n:
        views["declared"] = len(names & wanted) / len(wanted)
    if relative is not None:
        views |= {"relative_count": relative.by_count, "relative_mass": relative.by_mass}
    estimate, interval, why_not = _estimate(view, n, f1, f2, views)
    result: dict[str, Any] = {
        "score": None,
        "method": "none",
        "covered": kinds,
        "known": None,
        "covered_items": [] if relative is not None and not relative.blind else view.names(seen),
        "missing": [],
        "undeclared": sorted(names - wanted),
        "interval": None,
        "universe": "none",
        "reason": None,
    }
    if not settled:
        result["reason"] = "no settled run in the window"
    elif relative is not None:
        result |= relative.result("path")
    elif set(view.of("run").filter(pl.col("item") == "all")["side"]) == {"test"}:
        if wanted and n:
            result |= {
                "score": views["declared"],
                "method": "declared",
                "covered": len(names & wanted),
                "known": len(wanted),
                "covered_items": sorted(names & wanted),
                "missing": sorted(wanted - names),
                "universe": "declared",
            }
        else:
            result["reason"] = "no run can show its path" if not n else NO_SAMPLE
    else:
        method = "chao_jost" if views["chao_jost"] is not None else "good_turing"
        result |= {
            "score": estimate,
            "method": method if estimate is not None else "none",
            "universe": "estimated",
            "interval": interval,
            "reason": why_not,
        }
    return Dimension(
        dimension="path",
        runs=n,
        singletons=f1,
        doubletons=f2,
        views=views,
        **result,
        more={
            "estimate": {"score": estimate, "interval": _as_json(interval), "reason": why_not},
            "distinct": kinds,
            "mass": None if relative is None else relative.masses,
            "next_new": None if not n else 1 - (views["chao_jost"] if views["chao_jost"] is not None else 1 - f1 / n),
            "runs_until_5_pct": estimators.runs_until_rare(n, f1, f2),
        },
    )


def summary(view: View, dimension: str) -> dict[str, Any]:
    """`coverage.sequences` (kinds counted by runs) and `coverage.bigrams` (by occurrences)."""
    counts = view.items(dimension)["calls"] if dimension == "bigram" else view.kinds(dimension)["runs"]
    n, f1, f2 = int(counts.sum()), int((counts == 1).sum()), int((counts == 2).sum())
    return {
        "n": n,
        "distinct": len(counts),
        "f1": f1,
        "f2": f2,
        "good_turing": estimators.good_turing(n, f1),
        "chao1": estimators.chao1(n, len(counts), f1, f2),
    }


def _estimate(
    view: View, n: int, f1: int, f2: int, views: dict[str, float | None]
) -> tuple[float | None, estimators.Interval | None, str | None]:
    least = view.config.coverage.min_runs
    if not n:
        return None, None, "no run can show its path"
    if n < least:
        return None, None, f"{n} runs, an estimate needs {least}"
    score = views["chao_jost"] if views["chao_jost"] is not None else views["good_turing"]
    assert score is not None
    reason = "sampled, rate unknown" if view.shown.get("sampled:unknown") else None
    return score, estimators.esty_interval(n, f1, f2, score), reason


def _as_json(interval: estimators.Interval | None) -> dict[str, float] | None:
    return None if interval is None else {"low": interval.low, "high": interval.high, "level": estimators.LEVEL}


def _paths(facts: Facts, runs: pl.DataFrame) -> pl.DataFrame:
    """The text of every run's path: whole, and of each agent's steps."""
    whole = runs.select(
        "rid",
        agent=pl.lit(None, pl.String),
        item=pl.col("path").list.eval(pl.element().list.join(TOGETHER)).list.join(THEN),
    )
    steps = _steps(runs)
    agents = steps.group_by("rid").agg(agent=pl.col("agent").first(), many=pl.col("agent").n_unique() > 1)
    # In most runs one agent does it all: its path is the run's.
    single = whole.drop("agent").join(agents.filter(~pl.col("many")), on="rid").select("rid", "agent", "item")
    single = single.filter(facts.mine(pl.col("agent")))
    several = steps.join(agents.filter("many"), on="rid", how="semi").filter(facts.mine(pl.col("agent")))
    parts = pl.concat([single, _rejoined(several)])
    if facts.agents:
        chosen = _rejoined(several.with_columns(agent=pl.lit(None, pl.String)))
        kept = pl.concat([single.with_columns(agent=pl.lit(None, pl.String)), chosen])
        whole = whole.drop("item").join(kept.select("rid", "item"), on="rid", how="left", maintain_order="left")
        whole = whole.with_columns(pl.col("item").fill_null(""))
    return pl.concat([whole, parts])


def _steps(runs: pl.DataFrame) -> pl.DataFrame:
    """rid, step, width, agent, what: one row per element of a path; `width` elements stand in one step."""
    steps = (
        runs.select("rid", "path")
        .filter(pl.col("path").list.len() > 0)
        .explode("path")
        .with_row_index("step")
        .with_columns(width=pl.col("path").list.len())
        .filter(pl.col("width") > 0)
        .explode("path")
        .rename({"path": "what"})
    )
    names = sorted(set(runs["agents"].explode().drop_nulls()), key=len, reverse=True)
    # A loop over distinct elements, not rows: an agent's name may itself hold a slash.
    agents = {what: _agent_of(what, names) for what in steps["what"].unique().to_list()}
    return steps.with_columns(agent=pl.col("what").replace_strict(agents, default=None, return_dtype=pl.String))


def _agent_of(what: str, names: list[str]) -> str:
    for name in names:
        if what.startswith((f"{name}/", f"{name}->")):
            return name
    return min(what.split("/", 1)[0], what.split("->", 1)[0], key=len)


def _rejoined(steps: pl.DataFrame) -> pl.DataFrame:
    """rid, agent, item: the path text of these steps; a step that now follows its like is written once with `+`."""
    scope = ["rid", "agent"]
    steps = steps.with_columns(plain=pl.col("what").str.strip_suffix("+"), again=pl.col("what").str.ends_with("+"))
    steps = steps.with_columns(repeated=pl.col("plain") + "+")
    alone, parallel = steps.filter(pl.col("width") == 1), steps.filter(pl.col("width") > 1)
    joined = (
        parallel.sort("plain")
        .group_by(*scope, "step", maintain_order=True)
        .agg(pl.col("plain", "repeated").str.join(TOGETHER), pl.col("again").any())
    )
    columns = [*scope, "step", "plain", "repeated", "again"]
    steps = pl.concat([alone.select(columns), joined.select(columns)]).sort(*scope, "step")
    fresh = pl.any_horizontal(pl.col(c).ne_missing(pl.col(c).shift(1)) for c in (*scope, "plain"))
    merged = (
        steps.with_columns(block=fresh.fill_null(True).cum_sum())
        .group_by("block", maintain_order=True)
        .agg(pl.col(*scope, "plain", "repeated").first(), again=pl.col("again").any() | (pl.len() > 1))
    )
    text = pl.when("again").then("repeated").otherwise("plain")
    return merged.group_by(*scope, maintain_order=True).agg(item=text.str.join(THEN)).select(*scope, "item")


def _sequences(facts: Facts, able: pl.DataFrame) -> pl.DataFrame:
    """rid, agent (scope), names: the executed tools of each run, and of each agent in it."""
    done = facts.calls.filter(pl.col("executed") > 0).join(able, on="rid", how="semi").sort("pos")
    whole = done.group_by("rid", maintain_order=True).agg(names=pl.col("item"))
    # A run that called no tool has the empty sequence.
    whole = able.join(whole, on="rid", how="left", maintain_order="left").with_columns(
        pl.col("names").fill_null(pl.lit([], pl.List(pl.String)))
    )
    by_agent = (
        done.filter(pl.col("agent").is_not_null())
        .group_by("rid", "agent", maintain_order=True)
        .agg(names=pl.col("item"))
    )
    columns = ["rid", "agent", "names"]
    return pl.concat([whole.with_columns(agent=pl.lit(None, pl.String)).select(columns), by_agent.select(columns)])


def _bigrams(sequences: pl.DataFrame) -> pl.DataFrame:
    ends = (
        pl.concat_list(pl.lit(["^"], pl.List(pl.String)), "names"),
        pl.concat_list("names", pl.lit(["$"], pl.List(pl.String))),
    )
    pairs = sequences.select("rid", "agent", a=ends[0], b=ends[1]).explode("a", "b")
    return pairs.select("rid", "agent", item=pl.col("a") + THEN + pl.col("b"))
