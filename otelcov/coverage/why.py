"""Why a number is what it is: numerator, denominator, rule and the traces behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from otelcov.coverage.facts import BUCKET_NS
from otelcov.coverage.observations import Observations, each_run
from otelcov.coverage.tally import ASKED
from otelcov.ground.config import Config
from otelcov.ground.errors import UsageError, did_you_mean
from otelcov.ground.schemas import LATEST_NS, signed
from otelcov.ground.windows import ALL, Window

FORMAT = 1
TRACES = 20

_RULES = {
    "ratio": "known items that were seen, divided by the known items ({universe})",
    "relative_mass": "{mass} of the other sides whose {dimension} the tests exercised, divided by all of them; "
    "{covered} of their {known} {dimension}s are exercised",
    "declared": "declared paths that were taken, divided by the declared paths",
    "good_turing": "1 - f1/n: n runs, f1 paths seen in one run only (Good 1953)",
    "chao_jost": "1 - (f1/n) (n-1) f1 / ((n-1) f1 + 2 f2): n runs, f1 and f2 paths seen in one and in two "
    "(Chao & Jost 2012)",
    "chao_2014": "1 - (Q1/U) (T-1) Q1 / ((T-1) Q1 + 2 Q2): T runs, U visits, Q1 and Q2 states of one and of two runs",
    "agentassay": "AgentAssay's formula",
    "none": "no score: {reason}",
}
_ITEMS = (
    "tool",
    "path",
    "state",
    "boundary",
    "model",
    "sequence",
    "bigram",
    "agent",
    "edge",
    "edge_tool",
    "delegation",
)
_ABLE = {
    "boundary": "settled",
    "sequence": "tool",
    "bigram": "tool",
    "agent": "settled",
    "edge": "tool",
    "edge_tool": "tool",
}
_WHOSE = ["bucket", "service", "environment", "release", "case"]

# Of the runs that are asked about those for which the expression holds and that begin in the window.
Runs = Callable[[pl.Expr, Window], pl.DataFrame]


def why(
    item: str,
    snapshot: dict[str, Any],
    seen: Observations,
    runs: Runs,
    config: Config,
    agents: tuple[str, ...],
) -> dict[str, Any]:
    """Everything that `item` names: a dimension, the overall score, an edge number, or an item of any dimension.

    `kind:name` narrows an item to one dimension, like `tool:search`. `seen` is what the runs of the chosen sides add up
    to; of the runs themselves only the first are looked at that did it.
    """
    found = [e for e in (_score(item, snapshot), _edge_number(item, snapshot)) if e]
    kind, colon, name = item.partition(":")
    chosen, text = ((kind,), name) if colon and kind in _ITEMS else (_ITEMS, item)
    found += _behaviour(chosen, text, seen.texts(), runs, config, agents)
    found += _missing(chosen, text, snapshot) if not any(e["kind"] in _ITEMS for e in found) else []
    if not found:
        known = sorted({*(d["dimension"] for d in snapshot["coverage"]["dimensions"]), "overall", *_names(snapshot)})
        raise UsageError(
            f'Nothing called "{item}" was declared or seen in this window.{did_you_mean(item, known)} '
            "Name a dimension, overall, edges.allowed_pct, a tool, agent/tool, from->to or a path."
        )
    return {"format": FORMAT, "item": item, "window": snapshot["window"], "answers": found}


def _score(item: str, snapshot: dict[str, Any]) -> dict[str, Any] | None:
    coverage = snapshot["coverage"]
    name = item.removeprefix("coverage.")
    if name == "overall":
        scores = {d["dimension"]: d["score"] for d in coverage["dimensions"]}
        listed = ", ".join(f"{k} {v:.4g}" for k, v in scores.items() if v is not None)
        return _answer(
            "overall",
            coverage["overall"],
            None,
            None,
            f"geometric mean of the dimensions with a score: {listed or 'none'}",
        )
    d = next((d for d in coverage["dimensions"] if d["dimension"] == name), None)
    if d is None:
        return None
    rule = _RULES[d["method"]].format(**d | {"mass": "visits" if name == "state" else "runs"})
    by_mass = d["mass"] if d["method"] == "relative_mass" else None
    numbers = f"n={d['runs']}, f1={d['singletons']}, f2={d['doubletons']}" if d["universe"] == "estimated" else ""
    return _answer(
        "dimension",
        d["score"],
        by_mass["exercised"] if by_mass else d["covered"],
        by_mass["known"] if by_mass else d["known"],
        f"{rule}; {numbers}" if numbers else rule,
        missing=d["missing"],
        undeclared=d["undeclared"],
    )


def _edge_number(item: str, snapshot: dict[str, Any]) -> dict[str, Any] | None:
    edges, name = snapshot["edges"], item.removeprefix("edges.")
    if name in ("allowed_pct", "delegation_pct"):
        listed = edges["allowed" if name == "allowed_pct" else "delegations"]
        done = sum(bool(e["calls"]) for e in listed)
        return _answer(
            "edges",
            edges[name],
            done,
            len(listed),
            "100 x declared edges exercised / declared edges; an errored call exercises, a requested one does not",
            traces=_traces(listed),
        )
    if name in ("restricted_attempts", "gate_passed"):
        hit = [e for e in edges["restricted"] if e["calls"] or e["requested"]]
        return _answer(
            "edges",
            edges[name],
            sum(e["calls"] + e["requested"] for e in hit),
            None,
            "calls of declared restricted edges with any status; the gate passes at 0",
            traces=_traces(hit),
        )
    return None


def _behaviour(
    kinds: tuple[str, ...], text: str, seen: pl.DataFrame, runs: Runs, config: Config, agents: tuple[str, ...]
) -> list[dict[str, Any]]:
    able = dict(seen.filter(pl.col("dimension") == "run").group_by("item").agg(pl.col("runs").sum()).iter_rows())
    answers = []
    for kind in kinds:
        hits = _of_item(seen, kind, text)
        if hits.is_empty():
            continue
        done = hits.filter((pl.col("dimension") == kind) & (pl.col("runs") > 0))
        count, total = int(done["runs"].sum()), able.get(_ABLE.get(kind, kind), 0)
        ids = _first(kind, text, hits if done.is_empty() else done, runs, config, agents)
        answers.append(
            _answer(
                kind,
                count / total if total else None,
                count,
                total,
                "runs with it, divided by the settled runs that could show it",
                **{c: int(hits[c].sum()) for c in ("calls", "errors", "requested")},
                runs=ids["run_id"].to_list(),
                traces=[t for ts in ids["trace_ids"].to_list() for t in ts],
            )
        )
    return answers


def _first(
    kind: str, text: str, hits: pl.DataFrame, runs: Runs, config: Config, agents: tuple[str, ...]
) -> pl.DataFrame:
    """run_id and trace_ids of the first TRACES runs of these sums of an item: those that did it, or all if none did."""
    executed = bool((hits["calls"] > 0).any())
    hours = hits.group_by("bucket").agg(pl.col("runs").sum().clip(1)).sort("bucket")
    first = hours.filter(pl.col("runs").cum_sum() - pl.col("runs") < TRACES)["bucket"]
    hits = hits.filter(pl.col("bucket").is_in(first.implode(), nulls_equal=True))
    alone = pl.col("runs") == 1  # then its trace is known
    several = hits.filter(~alone).select(_WHOSE).unique()
    bucket = (signed("start_unix_nano") // BUCKET_NS * BUCKET_NS).alias("bucket")
    in_hours = bucket.is_in(several["bucket"].implode(), nulls_equal=True)
    traces = pl.col("trace_ids").list.min()
    known = traces.is_in(hits.filter(alone)["example_trace"].implode())
    within = ALL if first.has_nulls() else _hours(int(first[0]), int(first[-1]))
    found = runs(in_hours | known, within).sort("start_unix_nano", "run_id")
    whose = found.with_columns(bucket).join(several, on=_WHOSE, how="semi", nulls_equal=True)["run_id"]
    found = found.filter(known | pl.col("run_id").is_in(whose.implode()))
    ids = list[str]()
    for rows in each_run(found, config, agents):
        shown = _of_item(rows, kind, text)
        ids += shown.filter(pl.col("calls") > 0 if executed else True)["run_id"].unique().to_list()
        if len(ids) >= TRACES:
            break
    return found.filter(pl.col("run_id").is_in(ids)).select("run_id", "trace_ids").head(TRACES)


def _hours(first: int, last: int) -> Window:
    end = last + BUCKET_NS
    return Window(first, end if end <= LATEST_NS else None)


def _of_item(rows: pl.DataFrame, kind: str, text: str) -> pl.DataFrame:
    part = rows.filter(pl.col("dimension").is_in([kind, f"{kind}{ASKED}"]))
    if kind in ("edge", "edge_tool", "delegation"):
        joint = "->" if kind == "delegation" else "/"
        part = part.with_columns(item=pl.col("agent").fill_null("(unknown)") + joint + pl.col("item"))
    else:
        part = part.filter(pl.col("agent").is_null())
    return part.filter(pl.col("item") == text)


def _missing(kinds: tuple[str, ...], text: str, snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        _answer(
            d["dimension"], 0.0, 0, d["runs"], f"known ({d['universe']}) and never seen in the runs that could show it"
        )
        for d in snapshot["coverage"]["dimensions"]
        if d["dimension"] in kinds and text in d["missing"]
    ]


def _names(snapshot: dict[str, Any]) -> set[str]:
    return {
        n for d in snapshot["coverage"]["dimensions"] for n in (*d["covered_items"], *d["missing"], *d["undeclared"])
    }


def _traces(edges: list[dict[str, Any]]) -> list[str]:
    return sorted({e["example_trace"] for e in edges if e["example_trace"]})[:TRACES]


def _answer(
    kind: str, value: float | None, numerator: int | None, denominator: int | None, rule: str, **more: Any
) -> dict[str, Any]:
    return {
        "kind": kind,
        "value": value,
        "numerator": numerator,
        "denominator": denominator,
        "rule": rule,
        "traces": [],
    } | more
