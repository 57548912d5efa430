"""What `otelcov runs` says of a capture, held against the truth: one verdict a fact and run.

`right`; `unknown`, where the product says that it does not know; `missed`, where it says that there was nothing; and
`wrong`. Written from the meanings of the run JSON alone.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.captures import Scenario

Run = dict[str, Any]

RIGHT, UNKNOWN, MISSED, WRONG = "right", "unknown", "missed", "wrong"
JUDGED = ("max_steps", "timeout", "cost_limit", "empty_input", "error", "tool_failure")  # what the truth speaks of
FACTS = (
    *("run", "tools", "arguments", "results", "status", "restricted", "agent", "model calls", "tokens", "model"),
    *("delegations", "session", "outcome", "input", "output", "boundaries"),
)

# Reasons of `incomplete` that can explain each fact; what cuts values or loses spans can explain all of them.
_ANY = (
    *("truncated values", "attributes dropped", "values masked", "missing parent", "missing step"),
    "model calls share a span",
)
_WHY = {
    "tools": ("tool calls not visible", "no model call visible"),
    "arguments": ("arguments not reported", "arguments not parsable"),
    "results": ("results not reported",),
    "status": ("tool status not reported",),
    "restricted": ("tool calls not visible",),
    "agent": ("no agent name",),
    "model calls": ("model calls not visible", "no model call visible", "what came last is not visible"),
    "tokens": ("tokens not reported",),
    "model": ("model not reported",),
    "delegations": ("delegations not visible", "delegation without an agent's name", "no agent name"),
    "outcome": ("outcome not visible",),
    "input": ("input not reported",),
    "output": ("output not reported",),
}
_SAID_ELSEWHERE = {"session": "no span names a conversation", "boundaries": "in boundaries_unknown"}


@dataclass
class Table:
    """Verdicts counted by dialect and fact, and why what is unknown is unknown."""

    cells: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    bad: list[str] = field(default_factory=list)  # each missed or wrong fact, for whoever looks for the bug

    def add(self, where: str, dialect: str, fact: str, verdict: str, why: Iterable[str], detail: str) -> None:
        self.cells[dialect, fact][verdict] += 1
        if verdict == UNKNOWN:
            fitting = _fitting(fact, why)
            self.reasons[dialect, fact].update(fitting or [_SAID_ELSEWHERE.get(fact, "no reason given")])
        elif verdict != RIGHT:
            self.bad.append(f"{where}: {fact} {verdict}: {detail}")


def score(table: Table, scenarios: Sequence[Scenario], runs: Sequence[Run]) -> None:
    """Adds the verdicts on the runs of one dialect."""
    cases = [
        (scenario, truth, traces)
        for scenario in scenarios
        for truth, traces in zip(scenario.runs, scenario.traces, strict=True)
    ]
    found = _assigned(cases, runs)
    for number, (scenario, truth, _) in enumerate(cases):
        mine = [runs[i] for i in found[number]]
        where = f"{scenario.dialect}/{scenario.name}#{truth['run']}"
        verdict = RIGHT if len(mine) == 1 else WRONG if mine else MISSED
        table.add(where, scenario.dialect, "run", verdict, (), f"{len(mine)} runs")
        if mine:
            run = max(mine, key=lambda r: len(r["llm_calls"] or []) + len(r["tool_calls"] or []))
            for fact, verdict, detail in verdicts(run, truth):
                table.add(where, scenario.dialect, fact, verdict, run["incomplete"], detail)
    taken = {i for some in found.values() for i in some}
    for i, run in enumerate(runs):
        if i not in taken:
            table.add(f"{scenarios[0].dialect}/{run['run_id']}", scenarios[0].dialect, "run", WRONG, (), "nobody's run")


def verdicts(run: Run, truth: Run) -> Iterable[tuple[str, str, str]]:
    """(fact, verdict, detail) for all that the truth speaks of."""
    turns = _turns(truth)
    happened = [call for turn in turns for call in turn]
    calls = None if run["tool_calls"] is None else [c for c in run["tool_calls"] if c["status"] != "requested"]
    tools = _tools(calls, turns, run)
    yield "tools", tools, f"{_names(calls)} for {_names(happened)}"
    if tools == RIGHT and calls:
        told = defaultdict(list)
        for call, true in _paired(calls, turns):
            told["arguments"].append(_equal(call["arguments"], true["args"]))
            if true["status"] == "ok" and true.get("result") is not None:
                told["results"].append(_same_result(call["result"], true["result"]))
            told["status"].append(_equal(None if call["status"] == "unknown" else call["status"], true["status"]))
            told["agent"].append(_equal(call["agent"], true["agent"]))
        for fact, each in told.items():
            yield fact, _worst(each), str(calls)
    refused = [c["name"] for c in truth["tool_calls"] if c["status"] == "requested_not_executed"]
    if refused:
        asked = [c["name"] for c in run["tool_calls"] or [] if c["status"] == "requested"]
        verdict = (
            RIGHT if sorted(asked) == sorted(refused) else UNKNOWN if _fitting("tools", run["incomplete"]) else MISSED
        )
        yield "restricted", verdict, f"{asked} for {refused}"
    yield from _models(run, truth)
    yield "delegations", _delegations(run, truth), f"{run['delegations']} for {truth['delegations']}"
    if truth["session_id"] is not None:
        yield "session", _equal(run["conversation_id"], truth["session_id"]), str(run["conversation_id"])
    outcome = None if run["status"] == "unknown" else run["status"]
    yield "outcome", _equal(outcome, truth["status"]), f"{outcome} for {truth['status']}"
    for fact, key in (("input", "input"), ("output", "final_output")):
        if truth[key] is not None:
            yield fact, _same_text(run[fact], truth[key]), f"{run[fact]!r} for {truth[key]!r}"
    yield "boundaries", _boundaries(run, truth), f"{run['boundaries']} for {truth['boundary']}"


def _assigned(cases: list[tuple[Scenario, Run, frozenset[str]]], runs: Sequence[Run]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for i, run in enumerate(runs):
        for number, (_, _, traces) in enumerate(cases):
            if traces & set(run["trace_ids"]):
                found[number].append(i)
    return found


def _turns(truth: Run) -> list[list[Run]]:
    """Executed calls, those of one model call together: among them any order is true."""
    turns: list[tuple[object, list[Run]]] = []
    for call in truth["tool_calls"]:
        if call["status"] == "requested_not_executed":
            continue
        key = (call["agent"], call["llm_call"])
        if not turns or turns[-1][0] != key:
            turns.append((key, []))
        turns[-1][1].append(call)
    return [calls for _, calls in turns]


def _tools(calls: list[Run] | None, turns: list[list[Run]], run: Run) -> str:
    expected = sum(map(len, turns))
    if calls is None:
        return UNKNOWN if expected else RIGHT
    at, right = 0, len(calls) == expected
    for turn in turns:
        right = right and Counter(_names(calls[at : at + len(turn)])) == Counter(_names(turn))
        at += len(turn)
    if right:
        return RIGHT
    if len(calls) < expected and _fitting("tools", run["incomplete"]):
        return UNKNOWN
    return WRONG if calls else MISSED


def _paired(calls: list[Run], turns: list[list[Run]]) -> Iterable[tuple[Run, Run]]:
    """Each call beside its truth; inside a turn by name, and by arguments where they are known."""
    at = 0
    for turn in turns:
        left = list(turn)
        for call in calls[at : at + len(turn)]:
            named = [t for t in left if t["name"] == call["name"]]
            true = next((t for t in named if t["args"] == call["arguments"]), named[0])
            left.remove(true)
            yield call, true
        at += len(turn)


def _models(run: Run, truth: Run) -> Iterable[tuple[str, str, str]]:
    calls, true = run["llm_calls"], truth["llm_calls"]
    if calls is None:
        yield "model calls", UNKNOWN if true else RIGHT, ""
        return
    detail = f"{len(calls)} for {len(true)}"
    if len(calls) != len(true):
        unknown = len(calls) < len(true) and _fitting("model calls", run["incomplete"])
        yield "model calls", UNKNOWN if unknown else WRONG if calls else MISSED, detail
        return
    yield "model calls", RIGHT, detail
    good = [c for c in true if c["status"] == "ok"]
    told = [c for c in calls if c["input_tokens"] is not None and c["output_tokens"] is not None]
    if good:
        sums = [tuple(sum(c[f"{way}_tokens"] for c in some) for way in ("input", "output")) for some in (told, good)]
        yield "tokens", UNKNOWN if len(told) < len(good) else RIGHT if sums[0] == sums[1] else WRONG, str(sums)
    if true:
        used = {_bare(m) for c in true for m in (c["model"], c["response_model"]) if m}
        names = [{c["request_model"], c["response_model"]} - {None} for c in calls]
        known = all(any(_bare(m) in used for m in each) for each in names if each)
        yield "model", WRONG if not known else UNKNOWN if not all(names) else RIGHT, str(names)


def _delegations(run: Run, truth: Run) -> str:
    true = {tuple(edge) for edge in truth["delegations"]}
    if run["delegations"] is None:
        return UNKNOWN if true else RIGHT
    told = [(d["from"], d["to"]) for d in run["delegations"]]
    if set(told) == true:
        return RIGHT
    if told and any(None in edge for edge in told) and len(set(told)) <= len(true):
        return UNKNOWN
    return WRONG if told else MISSED


def _boundaries(run: Run, truth: Run) -> str:
    true, told = set(truth["boundary"]) & set(JUDGED), set(run["boundaries"]) & set(JUDGED)
    if told == true:
        return RIGHT
    if told - true:
        return WRONG
    return UNKNOWN if true - told <= set(run["boundaries_unknown"]) else MISSED


def _fitting(fact: str, why: Iterable[str]) -> list[str]:
    return [reason for reason in why if reason in (*_WHY.get(fact, ()), *_ANY)]


def _equal(told: object, true: object) -> str:
    return UNKNOWN if told is None else RIGHT if told == true else WRONG


def _same_text(told: object, true: str) -> str:
    """Spaces do not count; a framework may wrap a text in words of its own."""
    if told is None:
        return UNKNOWN
    mine, other = (re.sub(r"\s+", " ", str(text)).strip() for text in (told, true))
    return RIGHT if mine == other or (other and other in mine) else WRONG


def _same_result(told: object, true: object) -> str:
    """An object may have come as its text, a text wrapped in an object."""
    if told is None:
        return UNKNOWN
    if isinstance(true, str):
        try:
            true = json.loads(true)
        except ValueError:
            return _same_text(json.dumps(told, ensure_ascii=False) if isinstance(told, dict | list) else told, true)
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except ValueError:
            try:
                told = ast.literal_eval(told)
            except (ValueError, SyntaxError):
                return RIGHT if str(true) in str(told) else WRONG
    wrapped = told.values() if isinstance(told, dict) else told if isinstance(told, list) else ()
    return RIGHT if told == true or true in list(wrapped) else WRONG


def _worst(each: list[str]) -> str:
    return next(verdict for verdict in (WRONG, MISSED, UNKNOWN, RIGHT) if verdict in each)


def _names(calls: Sequence[Run] | None) -> list[str] | None:
    return None if calls is None else [call["name"] for call in calls]


def _bare(model: str) -> str:
    return model.rpartition("/")[2]


def markdown(table: Table) -> str:
    """The golden file: right/unknown/missed/wrong of every cell, what is all right as one number; then the reasons."""
    names = sorted({dialect for dialect, _ in table.cells})
    lines = ["| dialect | " + " | ".join(FACTS) + " |", "| --- " * (len(FACTS) + 1) + "|"]
    lines += [
        f"| {name} | " + " | ".join(_cell(table.cells.get((name, fact))) for fact in FACTS) + " |" for name in names
    ]
    totals = {fact: sum((table.cells[name, fact] for name in names), Counter[str]()) for fact in FACTS}
    lines.append("| **all** | " + " | ".join(_cell(totals[fact]) for fact in FACTS) + " |")
    lines += ["", "Right, or right/unknown/missed/wrong.", "", "Why what is unknown is unknown:", ""]
    for name, fact in sorted(table.reasons, key=lambda key: (key[0], FACTS.index(key[1]))):
        why = ", ".join(f"{reason} ({count})" for reason, count in sorted(table.reasons[name, fact].items()))
        lines.append(f"- {name}, {fact}: {why}")
    lines += ["", "Wrong or missed:", ""] + (
        [f"- {': '.join(bad.split(': ')[:2])}" for bad in sorted(table.bad)] or ["none"]
    )
    return "\n".join(lines) + "\n"


def _cell(counts: Counter[str] | None) -> str:
    if not counts:
        return "-"
    if set(+counts) == {RIGHT}:
        return str(counts[RIGHT])
    return "/".join(str(counts[verdict]) for verdict in (RIGHT, UNKNOWN, MISSED, WRONG))
