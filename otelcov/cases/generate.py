"""From traces to tests: cases from the real runs that cover most of what tests never exercised.

An obligation is a tool, an edge, a delegation, a path or a state that one side did and the other never; its mass is
that of the runs that did it. Which runs to take is weighted maximum coverage: greedily taking the run that adds most
comes within 1 - 1/e of the best choice, and nothing quick does better (Nemhauser et al. 1978; Feige 1998).
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from otelcov.cases.format import Case, parse
from otelcov.cases.redact import Redactor
from otelcov.coverage import graph
from otelcov.coverage.facts import MASS
from otelcov.coverage.observations import per_run
from otelcov.coverage.selection import side_of
from otelcov.ground.config import Config

DIMENSIONS = ("tool", "edge", "delegation", "path", "state")
DRAWS = 100  # random choices of as many runs, for comparison
LONG = 200  # characters of an argument beyond which only its type is asked for


@dataclass(frozen=True)
class Chosen:
    """The runs that were taken, in order, and what they cover. Masses are in runs."""

    run_ids: list[str]
    gains: list[float]
    total: float
    random: float  # mean of what as many random runs cover

    @property
    def covered(self) -> float:
        return sum(self.gains)

    def share(self, mass: float) -> float | None:
        return mass / self.total if self.total else None


def obligations(
    runs: pl.DataFrame, config: Config, side: Sequence[str] = ("test",), against: Sequence[str] = ("production",)
) -> tuple[dict[str, list[int]], list[float]]:
    """Which uncovered obligations each run of `against` met, and the mass of each."""
    rows = per_run(runs, config).filter(pl.col("dimension").is_in(DIMENSIONS) & (pl.col("calls") > 0))
    edges = pl.col("dimension").is_in(["edge", "delegation"])
    rows = rows.filter(edges | pl.col("agent").is_null()).select(
        "run_id",
        "mass",
        name=pl.concat_str(
            "dimension",
            pl.when(edges).then(pl.col("agent").fill_null("")).otherwise(pl.lit("")),
            "item",
            separator="\x1f",
        ),
    )
    sides = runs.select("run_id").with_columns(side_of(runs, config)).unique("run_id")
    rows = rows.join(sides, on="run_id")
    met = rows.filter(pl.col("side").is_in(sorted(against)))
    done = rows.filter(pl.col("side").is_in(sorted(side))).select("name").unique()
    left = met.join(done, on="name", how="anti")
    masses = left.group_by("name").agg(pl.col("mass").sum()).sort("mass", "name", descending=[True, False])
    masses = masses.with_row_index("number")
    numbered = (
        left.join(masses.select("name", "number"), on="name").group_by("run_id").agg(pl.col("number").unique().sort())
    )
    by_run = dict(numbered.sort("run_id").iter_rows())
    return by_run, [mass / MASS for mass in masses["mass"].to_list()]


def choose(by_run: dict[str, list[int]], masses: list[float], most: int, usable: Sequence[str] | None = None) -> Chosen:
    """Greedy: the run that adds most mass, again and again; equal input gives an equal choice."""
    names = sorted(set(by_run) & set(usable) if usable is not None else by_run)
    covered: set[int] = set()
    heap = [(-sum(masses[i] for i in by_run[name]), name) for name in names]
    heapq.heapify(heap)
    run_ids: list[str] = []
    gains: list[float] = []
    while heap and len(run_ids) < most:
        _, name = heapq.heappop(heap)
        gain = sum(masses[i] for i in by_run[name] if i not in covered)
        if heap and gain < -heap[0][0]:  # what it adds has shrunk since: gains only ever shrink
            heapq.heappush(heap, (-gain, name))
            continue
        if gain <= 0:
            break
        covered.update(by_run[name])
        run_ids.append(name)
        gains.append(gain)
    return Chosen(run_ids, gains, sum(masses), _random(by_run, masses, len(run_ids)))


def cases(runs: pl.DataFrame, chosen: Chosen, config: Config) -> list[dict[str, Any]]:
    """The chosen runs as cases in otelcov's own format, redacted."""
    redactor = Redactor(config.cases.redact)
    banned = {(edge.agent, edge.to) for edge in graph.restricted(config)}
    columns = ["run_id", "trace_ids", "conversation_id", "case", "service", "start_unix_nano", "input", "tool_calls"]
    ordered = runs.select(columns).sort("start_unix_nano", "run_id", nulls_last=True)
    wanted = ordered.filter(pl.col("run_id").is_in(chosen.run_ids))
    rows = {row["run_id"]: row for row in wanted.iter_rows(named=True)}
    names = wanted["conversation_id"].drop_nulls().unique()
    talks: dict[str, list[dict[str, Any]]] = {}
    for row in (
        ordered.filter(pl.col("conversation_id").is_in(names.implode())).drop("tool_calls").iter_rows(named=True)
    ):
        talks.setdefault(row["conversation_id"], []).append(row)
    found = []
    for run_id, gain in zip(chosen.run_ids, chosen.gains, strict=True):
        run = rows[run_id]
        talk = talks.get(run["conversation_id"], [run])
        before = talk[: [r["run_id"] for r in talk].index(run_id)]
        found.append(_case(run, before, gain, chosen, redactor, banned))
    parse(found)  # what is written can be read
    return found


def dump(found: Sequence[dict[str, Any]], chosen: Chosen) -> str:
    """The case file."""
    import yaml

    covered, drawn = _percent(chosen.share(chosen.covered)), _percent(chosen.share(chosen.random))
    head = [
        f"# {len(found)} cases from real runs. They cover {covered} of the mass that no test exercised;",
        f"# as many random runs cover {drawn} on average.",
        "# Secrets, addresses and phone numbers became wildcards; names have no form: read before you commit.",
        "# A case passes if any run with its input behaves so (`pass: any`); make it `all` where that must be so.",
    ]
    document = {"cases": list(found)}
    body = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)
    if yaml.safe_load(body) != document:  # a letter that YAML takes for a line's end
        body = yaml.safe_dump(document, sort_keys=False, width=120)
    return "\n".join(head) + "\n" + str(body)


def usable(runs: pl.DataFrame) -> list[str]:
    """Runs of which a case can be made: settled, with calls that are known."""
    return runs.filter(pl.col("settled").fill_null(True) & pl.col("tool_calls").is_not_null())["run_id"].to_list()


def _case(
    run: dict[str, Any],
    before: list[dict[str, Any]],
    gain: float,
    chosen: Chosen,
    redactor: Redactor,
    banned: Collection[tuple[str | None, str]],
) -> dict[str, Any]:
    calls = [_call(c, redactor) for c in run["tool_calls"]]
    names = list(dict.fromkeys(c["tool_name"] for c in calls))
    title = " > ".join(names[:4]) + (" > …" if len(names) > 4 else "") if names else "no tool"
    part: dict[str, Any] = {"trajectory": "exact", "expected_tool_calls": calls}
    found: dict[str, Any] = {"name": f"{title} [{run['run_id'][:8]}]"}
    if wrong := sorted({c["name"] for c in run["tool_calls"] if (c["agent"], c["name"]) in banned}):
        found["description"] = f"Calls what is restricted ({', '.join(wrong)}): what happened, not what should."
    if before and run["input"] is not None:
        turns = [_said(r["input"], redactor) for r in before]
        found["turns"] = [*turns, _said(run["input"], redactor) | part]
        if before[0]["input"] is None:
            found["select"] = {"conversation": run["conversation_id"]}
    elif run["input"] is not None:
        said = _said(run["input"], redactor)
        found |= {"select": {"input": said["input_matches"]}} if "input_matches" in said else said
        found |= part
    else:
        found |= {"select": {"case": run["case"]} if run["case"] else {"run": run["run_id"]}} | part
    found["pass"] = "any"
    found["source"] = {"run": run["run_id"], "traces": run["trace_ids"], "adds": _percent(chosen.share(gain))}
    return found


def _said(text: str | None, redactor: Redactor) -> dict[str, Any]:
    if text is None:
        return {}
    pattern = redactor.pattern(text.strip())
    return {"input": text.strip()} if pattern is None else {"input_matches": {"regex": pattern}}


def _call(call: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    found: dict[str, Any] = {"tool_name": call["name"]}
    values = None if call["arguments"] is None else json.loads(call["arguments"])
    if isinstance(values, dict):
        plain: dict[str, Any] = {}
        match: dict[str, Any] = {}
        for name, value in values.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
            if len(text) > LONG:
                match[name] = {"schema": {"type": _TYPES[type(value)]}}
            elif (pattern := redactor.pattern(text)) is not None:
                match[name] = {"regex": pattern}
            else:
                plain[name] = value
        found["tool_parameters"] = plain
        if match:
            found["match"] = match
    hard = call["status"] == "error" and call["error_kind"] != "soft"
    known = call["status"] in ("ok", "error")
    if hard or not known:
        found["outcome"] = "error" if hard else "any"
    return found


_TYPES = {str: "string", dict: "object", list: "array", bool: "boolean", int: "integer", float: "number"}


def _random(by_run: dict[str, list[int]], masses: list[float], count: int) -> float:
    names, dice = sorted(by_run), random.Random(0)
    if not names or not count:
        return 0.0
    drawn = [{i for name in dice.sample(names, min(count, len(names))) for i in by_run[name]} for _ in range(DRAWS)]
    return sum(masses[i] for some in drawn for i in some) / DRAWS


def _percent(share: float | None) -> str:
    return "nothing" if share is None else f"{100 * share:.1f} %"


__all__ = ["Case", "Chosen", "cases", "choose", "dump", "obligations", "usable"]
