"""Counts beside coverage: what runs could show, how long they took, what they spent, how well the spans were read.

Latency and tokens are kept as sums and as logarithmic histograms (OpenTelemetry's exponential ones, scale 5: a
bucket is 2.2 % wide), so that they add up exactly and still have percentiles and ranks.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from otelcov.coverage.dimension import View
from otelcov.coverage.facts import MASS, Facts, scoped
from otelcov.coverage.tally import Steps
from otelcov.ground.schemas import signed

SCALE = 2**5
ZERO = "zero"
_QUALITY = ("spans", "orphans", "dropped_attributes", "masked")


def observe(facts: Facts) -> list[Steps]:
    """Steps `run` and `llm`, and of `quality` why runs are incomplete."""
    return [_runs(facts), Steps("llm", model_calls(facts)), _incomplete(facts)]


def observe_each(facts: Facts) -> list[Steps]:
    """Steps `latency`, `input_tokens`, `output_tokens` (histograms), `sum`, and the rest of `quality`: what runs that
    are alike do not share."""
    return [_latency(facts), *_tokens(facts), _quality(facts), *_adjusted(facts)]


def model_calls(facts: Facts) -> pl.DataFrame:
    return scoped(facts.llm).select("rid", "agent", "errors", "at", item=pl.lit("calls"))


def measure(view: View) -> dict[str, Any]:
    """The `metrics` part of a snapshot."""
    totals = dict(view.items("sum").select("item", "calls").iter_rows())
    llm = view.items("llm")
    errors = int(llm["errors"].sum()) if view.shown.get("model") else None
    edges = view.of("edge")
    tools_shown = bool(view.shown.get("tool"))
    latency = {f"p{q}": _milliseconds(percentile(view, "latency", q / 100)) for q in (50, 95, 99)}
    tokens = {
        name: {
            "sum": totals.get(name),
            "p50": _whole(percentile(view, name, 0.5)),
            "p95": _whole(percentile(view, name, 0.95)),
            "runs": sum(count for _, count in histogram(view.items(name))),
        }
        for name in ("input_tokens", "output_tokens")
    }
    calls, failed = int(edges["calls"].sum()), int(edges["errors"].sum())
    asked = int(llm["calls"].sum())
    return {
        "latency_ms": latency,
        **tokens,
        "llm_calls": asked if view.shown.get("model") else None,
        "llm_errors": errors,
        "llm_error_rate": _rate(view, "llm", errors or 0, asked) if view.shown.get("model") else None,
        "tool_calls": calls if tools_shown else None,
        "tool_errors": failed if tools_shown else None,
        "tool_error_rate": _rate(view, "tool", failed, calls) if tools_shown else None,
        "run_errors": view.shown.get("status:error", 0),
    }


def quality(view: View, counters: dict[str, int | None]) -> dict[str, Any]:
    """The `quality` part of a snapshot; `counters` are what only the store knows (duplicates, conflicts, ...)."""
    rows = view.items("quality").select("item", "calls", "runs")
    sums = {item: calls for item, calls, _ in rows.iter_rows()}
    runs = {item: count for item, _, count in rows.iter_rows()}
    known, unknown = view.shown.get("sampled:known", 0), view.shown.get("sampled:unknown", 0)
    return {
        "spans": sums.get("spans", 0),
        "unexplained_spans": {k.removeprefix("scope:"): v for k, v in sums.items() if k.startswith("scope:")},
        "orphans": sums.get("orphans", 0),
        "incomplete_runs": {k.removeprefix("incomplete:"): v for k, v in runs.items() if k.startswith("incomplete:")},
        "dropped_attributes": sums.get("dropped_attributes", 0),
        "duplicates": counters.get("duplicates"),
        "conflicts": counters.get("conflicts"),
        "out_of_range": counters.get("out_of_range"),
        "masked": sums.get("masked", 0),
        "sampled": "sampled, rate unknown" if unknown else "sampled, rate known" if known else None,
    }


def percentile(view: View, dimension: str, share: float) -> float | None:
    """The value below which this share of the runs lies, to the width of a histogram bucket."""
    found = histogram(view.items(dimension))
    rank = share * sum(count for _, count in found)
    for value, count in found:
        rank -= count
        if rank <= 0:
            return value
    return None


def histogram(items: pl.DataFrame) -> list[tuple[float, int]]:
    """(the middle of each bucket, its count), rising."""
    pairs = [
        (0.0 if item == ZERO else 2 ** ((int(item) + 0.5) / SCALE), runs)
        for item, runs in items.select("item", "runs").iter_rows()
    ]
    return sorted(pairs)


def _runs(facts: Facts) -> Steps:
    able = {
        "tool": "tool_calls",
        "path": "path",
        "state": "states",
        "model": "llm_calls",
        "delegation": "delegations",
    }
    settled = pl.col("settled")
    flags = {
        "all": pl.lit(True),
        "settled": settled,
        "unsettled": ~settled,
        **{name: settled & pl.col(column).is_not_null() for name, column in able.items()},
        **{f"unsettled:{name}": ~settled & pl.col(able[name]).is_not_null() for name in ("tool", "delegation")},
        **{f"status:{s}": settled & (pl.col("status") == s).fill_null(False) for s in ("ok", "error", "unknown")},
        **{f"sampled:{s}": (pl.col("sampled") == s).fill_null(False) for s in ("known", "unknown")},
    }
    told = facts.runs.select("rid", **flags).unpivot(index="rid", variable_name="item", value_name="holds")
    return Steps("run", told.filter("holds").select("rid", "item", agent=pl.lit(None, pl.String)), once=True)


def _latency(facts: Facts) -> Steps:
    took = signed("end_unix_nano") - pl.col("start")
    timed = facts.settled().select("rid", agent=pl.lit(None, pl.String), value=took).filter(pl.col("value") >= 0)
    return Steps("latency", timed.select("rid", "agent", item=_bucket(pl.col("value"))), once=True)


def _tokens(facts: Facts) -> list[Steps]:
    kinds = ("input_tokens", "output_tokens")
    spent = [*(pl.col(name).sum() for name in kinds), *(pl.col(name).count().alias(f"{name}_told") for name in kinds)]
    whole = facts.llm.group_by("rid").agg(spent).with_columns(agent=pl.lit(None, pl.String))
    mine = facts.llm.filter(pl.col("agent").is_not_null()).group_by("rid", "agent").agg(spent)
    both = pl.concat([whole, mine.select(whole.columns)])
    found = []
    for name in kinds:
        told = both.filter(pl.col(f"{name}_told") > 0)
        found.append(Steps(name, told.select("rid", "agent", item=_bucket(pl.col(name))), once=True))
        found.append(Steps("sum", told.select("rid", "agent", item=pl.lit(name), executed=name), once=True))
    return found


def _incomplete(facts: Facts) -> Steps:
    reasons = facts.runs.select("rid", item="incomplete").explode("item").filter(pl.col("item").is_not_null()).unique()
    item = pl.lit("incomplete:") + pl.col("item")
    return Steps("quality", reasons.select("rid", agent=pl.lit(None, pl.String), item=item))


def _adjusted(facts: Facts) -> list[Steps]:
    """What sampled runs add to calls and errors beyond themselves, in millionths: they stand for those that were not
    sampled."""
    more = facts.runs.select("rid", more=pl.col("mass") - MASS).filter(pl.col("more") != 0)
    if more.is_empty():
        return []
    found = []
    for kind, calls in (("tool", facts.calls.filter(pl.col("executed") > 0)), ("llm", facts.llm)):
        rows = scoped(calls.select("rid", "agent", "errors")).join(more, on="rid")
        for what, executed in (("calls", pl.col("more")), ("errors", pl.col("more") * pl.col("errors"))):
            found.append(rows.select("rid", "agent", item=pl.lit(f"{kind}_{what}"), executed=executed))
    return [Steps("adjusted", pl.concat(found))]


def _rate(view: View, kind: str, errors: int, calls: int) -> float | None:
    """The share of failed calls, of as many as the sampled runs stand for."""
    more = dict(view.items("adjusted").select("item", "calls").iter_rows())
    of = MASS * calls + more.get(f"{kind}_calls", 0)
    return (MASS * errors + more.get(f"{kind}_errors", 0)) / of if of else None


def _quality(facts: Facts) -> Steps:
    nobody = pl.lit(None, pl.String)
    runs = facts.runs
    counts = runs.select("rid", pl.col(_QUALITY).cast(pl.Int64)).unpivot(index="rid", variable_name="item")
    counts = counts.select("rid", "item", agent=nobody, executed="value")
    strange = runs.select("rid", "unexplained").filter(pl.col("unexplained").list.len() > 0).explode("unexplained")
    strange = strange.unnest("unexplained").select(
        "rid",
        item=pl.lit("scope:") + pl.col("scope").fill_null(""),
        agent=nobody,
        executed=pl.col("spans").cast(pl.Int64),
    )
    return Steps("quality", pl.concat([counts, strange]).filter(pl.col("executed") > 0))


def _bucket(value: pl.Expr) -> pl.Expr:
    """index with 2^(index/32) < value <= 2^((index+1)/32), as text."""
    index = (value.cast(pl.Float64).log(2) * SCALE).ceil() - 1
    return pl.when(value > 0).then(index.cast(pl.Int64).cast(pl.String)).otherwise(pl.lit(ZERO))


def _milliseconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else round(nanoseconds / 1e6, 3)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
