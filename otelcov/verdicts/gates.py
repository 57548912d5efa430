"""The gate file: what a window of runs must show, judged pass, fail or not enough data.

It reads the YAML of the tool-edge gate (mcptest; Kahani & Bagherzadeh, arXiv:2605.26521) as it is. Each entry is
judged over the union of the runs that its `select` keeps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from otelcov.coverage import edges
from otelcov.coverage.brief import Brief
from otelcov.coverage.edges import Targets, Traffic
from otelcov.coverage.facts import Facts, flatten
from otelcov.coverage.graph import Edge
from otelcov.coverage.observations import Observations, partial
from otelcov.coverage.selection import select, selected
from otelcov.coverage.snapshot import snapshot
from otelcov.ground import errors
from otelcov.ground.config import Config
from otelcov.ground.documents import read_yaml
from otelcov.ground.errors import UsageError, did_you_mean
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window, iso
from otelcov.verdicts import matchers
from otelcov.verdicts.thresholds import Verdict

FORMAT = 1

Result = Literal["pass", "fail", "no_data"]
_EDGES = tuple(f"edges.{name}" for name in ("allowed_pct", "restricted_attempts", "delegation_pct", "gate_passed"))
# What blindness to tool calls makes worthless: these say that nothing happened.
_ABSENCE = ("edges.restricted_attempts", "edges.gate_passed")


def _texts(told: object) -> object:
    """One text or a list of them. A release like 1.10 is a number to YAML, and another one than was meant."""
    texts = [told] if isinstance(told, str) else told
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"must be text or a list of texts, and in quotes what looks like a number; got {told!r}")
    return texts


Chosen = Annotated[list[str], BeforeValidator(_texts)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _given(cls, told: Any) -> Any:
        """A key with nothing after it is as good as none."""
        return {key: value for key, value in told.items() if value is not None} if isinstance(told, dict) else told


class _Strict(_Part):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Delegation(_Strict):
    from_: str = Field(alias="from")
    to: str


class ToolEdges(_Strict):
    allowed: list[str] = []
    restricted: list[str] = []
    delegation: list[Delegation] = []


class Expectation(_Strict):
    target: str
    matcher: dict[str, Any]
    name: str | None = None


class Select(_Strict):
    """Which runs an entry is about; each is one value or a list."""

    service: Chosen = []
    agent: Chosen = []
    environment: Chosen = []
    side: Chosen = []
    release: Chosen = []
    case: Chosen = []
    conversation: Chosen = []


class Entry(_Part):
    """`name`, `model`, `servers` and `prompt` are shown and never filter."""

    name: str = ""
    model: Any = None
    servers: Any = None
    prompt: Any = None
    tool_edges: ToolEdges = ToolEdges()
    expect: list[Expectation] | None = None
    select: Select = Select()
    min_runs: int = Field(1, ge=0)
    max_blind_pct: float = Field(0, ge=0, le=100)


class GateFile(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    agents: list[Entry]


DEFAULT = [Expectation(target="edges.restricted_attempts", matcher={"schema": {"maximum": 0}})]


def read(path: Path) -> GateFile:
    """The gate file, checked."""
    document = read_yaml(path)
    if not isinstance(document, dict) or not isinstance(document.get("agents"), list) or not document["agents"]:
        raise UsageError(f"Couldn't use {path}: a gate file has a list `agents:` with at least one entry.")
    try:
        gates = GateFile.model_validate(document)
    except ValidationError as error:
        lines = [f"  {_place(p['loc'])}: {_problem(p)}" for p in error.errors(include_url=False)]
        raise UsageError(f"Couldn't use {path}:\n" + "\n".join(lines)) from None
    for entry in gates.agents:
        for expectation in entry.expect or []:
            try:
                matchers.check(expectation.matcher)
            except UsageError as error:
                raise UsageError(f"Couldn't use {path}: the matcher of {expectation.target}: {error}") from None
            if not expectation.matcher:
                raise UsageError(f"Couldn't use {path}: the matcher of {expectation.target} is empty.")
    return gates


def unknown_keys(gates: GateFile) -> list[str]:
    """Keys of entries that mean nothing here: kept, but worth a word."""
    known = list(Entry.model_fields)
    found = [(e.name, key) for e in gates.agents for key in (e.model_extra or {})]
    return [f'{name or "an entry"}: "{key}" is not used.{did_you_mean(key, known)}' for name, key in found]


def by_run(gates: GateFile, per_run: bool = False) -> bool:
    """Whether these gates can only be judged by the runs themselves: their sums tell neither conversations nor single
    runs apart."""
    return per_run or any(entry.select.conversation for entry in gates.agents)


def briefly(gates: GateFile) -> bool:
    """Whether sums of all services, releases and sides are enough."""
    chosen = [entry.select for entry in gates.agents]
    return not any(one.service or one.release or one.side or one.agent for one in chosen)


def agents_of(gates: GateFile, agents: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The choices of agents whose steps alone count: the command's own, and those that entries make instead."""
    return {agents, *(tuple(entry.select.agent) or agents for entry in gates.agents)}


def judge(
    gates: GateFile,
    runs: pl.DataFrame | Mapping[tuple[str, ...], Observations | Brief],
    config: Config,
    window: Window = ALL,
    per_run: bool = False,
    agents: tuple[str, ...] = (),
    counters: Mapping[str, int | None] | None = None,
) -> dict[str, Any]:
    """Every entry over these runs (of one window, already narrowed by the command's own selection), or what they add
    up to for each of `agents_of`, if that is enough (`by_run`, `briefly`); `counters` are what only the store knows of
    the window (duplicates, ...)."""
    judged = [_Judged(entry, runs, config, window, per_run, agents, counters or {}) for entry in gates.agents]
    entries = [entry.as_json() for entry in judged]
    results = [e["result"] for e in entries]
    return {
        "format": FORMAT,
        "window": {
            "since": None if window.since_ns is None else iso(window.since_ns),
            "until": None if window.until_ns is None else iso(window.until_ns),
        },
        "result": _worst(results),
        "entries": entries,
    }


def with_drops(result: dict[str, Any], verdicts: list[Verdict], runs: int) -> dict[str, Any]:
    """A gate's result with an entry for what fell since a baseline."""
    expect = [
        {"target": v.target, "value": v.value, "matcher": {"min": v.minimum}, "result": v.result, "reason": v.reason}
        for v in verdicts
    ]
    entry = {
        "name": "no drop since the baseline",
        "model": None,
        "servers": None,
        "prompt": None,
        "result": _worst([v.result for v in verdicts]),
        "runs": runs,
        "blind_runs": 0,
        "targets": {v.target: v.value for v in verdicts},
        "expect": expect,
    }
    entries = [*result["entries"], entry]
    return result | {"entries": entries, "result": _worst([e["result"] for e in entries])}


def _worst(results: list[str]) -> str:
    return next((r for r in ("fail", "no_data") if r in results), "pass")


def exit_code(result: str) -> int:
    return {"pass": errors.GOOD, "fail": errors.GATE_FAILED, "no_data": errors.NO_DATA}[result]


@dataclass
class _Judged:
    """One entry on its runs."""

    entry: Entry
    runs: pl.DataFrame | Mapping[tuple[str, ...], Observations | Brief]
    config: Config
    window: Window
    per_run: bool
    agents: tuple[str, ...]  # those of the command; the entry's own take their place
    counters: Mapping[str, int | None]
    mine: pl.DataFrame | None = field(init=False)
    seen: Observations | Brief = field(init=False)
    rows: pl.DataFrame = field(init=False)  # of `seen`, with texts; of a Brief without paths
    shown: dict[str, int] = field(init=False)  # how many runs there are, and could show what

    def __post_init__(self) -> None:
        chosen = {name: getattr(self.entry.select, name) for name in Select.model_fields}
        conversations = chosen.pop("conversation")
        selection = Selection(**{name: tuple(values) for name, values in chosen.items()})
        self.agents = selection.agent or self.agents
        self.mine = None
        if isinstance(self.runs, pl.DataFrame):
            mine = select(self.runs, selection, self.config, sides=True)
            if conversations:
                mine = mine.filter(pl.col("conversation_id").is_in(conversations))
            self.mine, self.seen = mine, partial(mine, self.config, self.agents)
        elif isinstance(seen := self.runs[self.agents], Brief):
            self.seen = seen.chosen(selection)
        else:
            self.seen = selected(seen, selection, self.config, sides=True)
        self.rows = self.seen.rows if isinstance(self.seen, Brief) else self.seen.texts()
        shown = self.rows.filter(pl.col("dimension") == "run").group_by("item").agg(pl.col("runs").sum())
        self.shown = defaultdict(int, shown.iter_rows())

    def as_json(self) -> dict[str, Any]:
        entry, shown = self.entry, self.shown
        able = {what: shown[what] + shown[f"unsettled:{what}"] for what in ("tool", "delegation")}
        blind = shown["all"] - able["tool"]
        allowed, restricted, delegations = _declared(entry.tool_edges)
        traffic = Traffic.of(self.rows)
        numbers = edges.targets(traffic, allowed, restricted, delegations)
        numbers = numbers.as_far_as_seen(able["tool"] > 0, able["delegation"] > 0)
        unowned = _unowned(restricted, traffic)
        expect = []
        for expectation in entry.expect or DEFAULT:  # a gate that asks nothing would pass whatever was done
            expect.append(self._expect(expectation, numbers, blind, unowned))
        results = [e["result"] for e in expect]
        body: dict[str, Any] = {
            "name": entry.name,
            "model": entry.model,
            "servers": entry.servers,
            "prompt": entry.prompt,
            "result": _worst(results),
            "runs": shown["all"],
            "blind_runs": blind,
            "targets": {f"edges.{name}": value for name, value in numbers.as_json().items()},
            "expect": expect,
        }
        if self.per_run and self.mine is not None:
            body["per_run"] = self._each(self.mine, allowed, restricted, delegations)
        return body

    def _expect(self, expectation: Expectation, numbers: Targets, blind: int, unowned: int) -> dict[str, Any]:
        target = expectation.target
        value = self._value(target, numbers)
        why = None if value is None else matchers.match(value, expectation.matcher)
        result, reason = self._verdict(target, value, why, numbers, blind, unowned)
        return {"target": target, "value": value, "matcher": expectation.matcher, "result": result, "reason": reason}

    def _verdict(
        self, target: str, value: Any, why: str | None, numbers: Targets, blind: int, unowned: int
    ) -> tuple[Result, str | None]:
        runs, entry = self.shown["all"], self.entry
        if why is not None and target in _ABSENCE and numbers.restricted_attempts:
            return "fail", why  # a violation that was seen needs no minimum
        if runs == 0:
            return "no_data", "no run is selected"
        if runs < entry.min_runs:
            return "no_data", f"{runs} runs, fewer than min_runs {entry.min_runs}"
        if value is None:
            return "no_data", f"{target} is not known: {self._why_null(target)}"
        if target in _ABSENCE and not numbers.restricted_attempts:
            if 100 * blind > entry.max_blind_pct * runs:
                return "no_data", f"{blind} of {runs} runs cannot show their tool calls"
            if unowned:
                return "no_data", f"{unowned} calls of a restricted tool name no agent"
            if self.agents and not set(self.agents) & _agents(self.rows):
                return "no_data", f"no run shows a step of {' or '.join(self.agents)}"
        return ("pass", None) if why is None else ("fail", why)

    def _value(self, target: str, numbers: Targets) -> Any:
        if target in _EDGES:
            return getattr(numbers, target.removeprefix("edges."))
        if self._snapshot is None:
            chosen = Selection(agent=self.agents)
            self._snapshot = snapshot(self.seen, self.config, self.window, chosen, self.counters)
        return lookup(self._snapshot, target)

    _snapshot: dict[str, Any] | None = field(default=None, init=False)

    def _why_null(self, target: str) -> str:
        words = {
            "edges.allowed_pct": "no allowed tools are declared",
            "edges.restricted_attempts": "no restricted tools are declared",
            "edges.gate_passed": "no restricted tools are declared",
            "edges.delegation_pct": "no delegations are declared",
        }
        if target in words:
            return words[target]
        name = target.removeprefix("coverage.").partition(".")[0].removesuffix("_pct")
        dimensions = self._snapshot["coverage"]["dimensions"] if self._snapshot else []
        reasons = {d["dimension"]: d["reason"] for d in dimensions}
        return reasons.get(name) or "these runs do not tell it"

    def _each(
        self, mine: pl.DataFrame, allowed: list[Edge], restricted: list[Edge], delegations: list[Edge]
    ) -> list[dict[str, Any]]:
        facts = flatten(mine, self.config, self.agents)
        traffic = _by_run(facts)
        found = []
        order = ["start_unix_nano", "run_id"]
        columns = ["rid", "run_id", "trace_ids"]
        shows = [pl.col(c).is_not_null() for c in ("tool_calls", "delegations")]
        for rid, run_id, trace_ids, tools, handed in facts.runs.sort(order).select(*columns, *shows).iter_rows():
            numbers = edges.targets(traffic[rid], allowed, restricted, delegations).as_far_as_seen(tools, handed)
            found.append(
                {"run_id": run_id, "trace_ids": trace_ids, "blind": not tools}
                | {f"edges.{name}": value for name, value in numbers.as_json().items()}
            )
        return found


def lookup(document: dict[str, Any], target: str) -> Any:
    """The value at a dotted path of a snapshot; a dimension is found by its name (`coverage.tool`, `tool.covered`).

    A dimension's name alone is its score, `NAME_pct` the same in percent.
    """
    coverage = document["coverage"]
    dimensions = {d["dimension"]: d for d in coverage["dimensions"]}
    path = target.removeprefix("coverage.").split(".")
    scores = {name: d["score"] for name, d in dimensions.items()} | {"overall": coverage["overall"]}
    if len(path) == 1 and path[0].removesuffix("_pct") in scores and path[0] not in coverage.get("extra", {}):
        score = scores[path[0].removesuffix("_pct")]
        return score * 100 if score is not None and path[0].endswith("_pct") else score
    if path[0] in dimensions:
        place: Any = dimensions[path[0]]
        path = path[1:]
    elif target.startswith("coverage."):
        place = coverage
    else:
        place = document
    for part in path:
        if place is None:
            return None
        if not isinstance(place, dict) or part not in place:
            known = sorted(map(str, place)) if isinstance(place, dict) else []
            raise UsageError(
                f'There is no target "{target}": "{part}" is not known.{did_you_mean(part, known)}'
                + (f" Known here: {', '.join(known)}." if known else "")
            )
        place = place[part]
    return len(place) if isinstance(place, list) else place


def _agents(rows: pl.DataFrame) -> set[str]:
    return set(rows.filter(pl.col("dimension").is_in(edges.AGENTS))["item"])


def _declared(tool_edges: ToolEdges) -> tuple[list[Edge], list[Edge], list[Edge]]:
    def edge(text: str) -> Edge:
        agent, slash, tool = text.partition("/")
        return Edge(agent, tool) if slash and agent and tool else Edge(None, text)

    allowed = list(dict.fromkeys(map(edge, tool_edges.allowed)))
    restricted = list(dict.fromkeys(map(edge, tool_edges.restricted)))
    return allowed, restricted, list(dict.fromkeys(Edge(d.from_, d.to) for d in tool_edges.delegation))


def _unowned(restricted: list[Edge], traffic: Traffic) -> int:
    """Calls by nobody knows whom of a tool that is restricted for some agent."""
    rows = [traffic.attempts[key] for key in {(None, e.to) for e in restricted if e.agent} if key in traffic.attempts]
    return sum(row["calls"] + row["requested"] for row in rows)


def _by_run(facts: Facts) -> dict[int, Traffic]:
    """The traffic of each run alone."""
    found: dict[int, Traffic] = defaultdict(lambda: Traffic({}, {}, {}, {}, {}))

    def add(
        seen: dict[tuple[str | None, str], dict[str, Any]], agent: str | None, item: str, done: int, asked: int
    ) -> None:
        row = seen.setdefault((agent, item), {"calls": 0, "requested": 0})
        row["calls"] += done
        row["requested"] += asked

    columns = ["rid", "agent", "item", "executed", "requested"]
    for settled, frame in ((True, facts.calls), (False, facts.open_calls)):
        for rid, agent, item, done, asked in frame.select(columns).iter_rows():
            if settled:
                add(found[rid].tools, agent, item, done, asked)
            add(found[rid].attempts, agent, item, done, asked)
    for settled, frame in ((True, facts.delegations), (False, facts.open_delegations)):
        for rid, agent, item, done, asked, tool in frame.select(*columns, "tool").iter_rows():
            if settled and item is not None:
                add(found[rid].delegations, agent, item, done, asked)
            if tool is not None:
                if settled:
                    add(found[rid].tools, agent, tool, done, asked)
                add(found[rid].attempts, agent, tool, done, asked)
    return found


def _problem(problem: Any) -> str:
    """What is wrong, and where a key is not known, which ones are."""
    if problem["type"] != "extra_forbidden":
        return str(problem["msg"]).removeprefix("Value error, ")
    parts: dict[str, type[BaseModel]] = {"select": Select, "tool_edges": ToolEdges, "delegation": Delegation}
    table = next((parts[str(key)] for key in problem["loc"][-2::-1] if str(key) in parts), Expectation)
    known = [field.alias or name for name, field in table.model_fields.items()]
    word = str(problem["loc"][-1])
    return f"unknown key.{did_you_mean(word, known) or ' Known here: ' + ', '.join(known) + '.'}"


def _place(where: tuple[int | str, ...]) -> str:
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
