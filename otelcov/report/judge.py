"""A judgement as text, JSON, Markdown or JUnit."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from otelcov.report import json, junit, markdown, text, words

_LABELS = {"pass": "PASS", "fail": "FAIL", "no_data": "NOT ENOUGH DATA"}
_STYLES = {"pass": "green", "fail": "bold red", "no_data": "yellow"}
_SEVERITIES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "dim"}
LISTED = 20


def render(document: dict[str, Any], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump(document)
    if document.get("dry_run"):
        return text.printed(_plan(document), **options)
    if format == "markdown":
        return _markdown(document)
    if format == "junit":
        return _junit(document)
    return text.printed(Group(*_parts(document)), **options)


def _parts(d: dict[str, Any]) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(_head(d), "bold")]
    if not d["turns"]:
        parts.append(Text("No agent runs in this window. Is the collector receiving spans? Try --since all.", "yellow"))
    else:
        if d["not_asked"]:
            parts.append(Text(f"By rules alone: {words.plain(d['not_asked'])}.", "yellow"))
        parts += [_metrics(d), *_errors(d), *_others(d)]
    parts += [Text(f"{_LABELS[v['result']]} {_said(v)}", _STYLES[v["result"]]) for v in _verdicts(d)]
    parts.append(Text(_LABELS[d["result"]], _STYLES[d["result"]]))
    return parts


def _head(d: dict[str, Any]) -> str:
    sampled = d["sampled"]
    part = f", {sampled['turns']:,} of them judged" if sampled["turns"] < d["turns"] else ""
    by = f" by {words.plain(d['model'])}" if d["model"] else ""
    calls = d["calls"]
    cost = f", cost {calls['cost']:.4f}" if calls["cost"] is not None else ""
    paid = (
        f"; {calls['requests']:,} calls, {calls['input_tokens'] + calls['output_tokens']:,} tokens{cost}" if by else ""
    )
    runs = _count(d["runs"], "run")
    return f"{runs}, {_count(d['conversations'], 'conversation')}, {_count(d['turns'], 'turn')}{part}{by}{paid}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _metrics(d: dict[str, Any]) -> Table:
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("metric", overflow="fold")
    table.add_column("value", justify="right")
    table.add_column("judged", justify="right")
    table.add_column("notes", overflow="fold")
    for row in d["metrics"]:
        judged = f"{row['judged']:,}/{row['applicable']:,}"
        table.add_row(words.plain(row["metric"]), value(row), judged, words.plain(notes(row)))
    return table


def value(row: dict[str, Any]) -> str:
    """A score on its scale; the share without failure as percent, never rounded to 0 % or 100 %."""
    if row["value"] is None:
        return words.UNKNOWN
    if row["kind"] == "qualitative":
        return words.percent(row["value"])
    return f"{row['value']:.4g}"


def notes(row: dict[str, Any]) -> str:
    """What is behind a value: labels, what is missing, how repeats agree."""
    parts = [f"{n} {label}" for label, n in row["labels"].items() if label != "no failure"]
    if row["rule_failures"]:
        parts.append(f"{row['rule_failures']} by rule")
    if row["missing"]:
        parts.append("missing: " + ", ".join(f"{n} {why.replace('_', ' ')}" for why, n in row["missing"].items()))
    if row["agreement"]:
        a = row["agreement"]
        alpha = f", alpha {a['alpha']:.2f}" if a["alpha"] is not None else ""
        parts.append(f"repeats agree {words.percent(a['equal'])}{alpha}")
    return "; ".join(parts)


def _errors(d: dict[str, Any]) -> list[RenderableType]:
    if not d["errors"] and not d["gone"]:
        return [Text("No errors were found.", "green")]
    parts: list[RenderableType] = []
    if groups := d["groups"]:
        parts.append(Text("Grouped by the judge:", "bold"))
        for g in groups:
            said = f"{words.plain(g['title'])} ({_times(g)}; {', '.join(g['errors'])})"
            parts.append(Text.assemble((f"[{g['severity']}] ", _SEVERITIES[g["severity"]]), said))
    parts.append(Text("Unique errors:", "bold"))
    for e in d["errors"][:LISTED]:
        state = f", {e['state']}" if e.get("state") else ""
        parts.append(
            Text.assemble(
                (f"[{e['severity']}] ", _SEVERITIES[e["severity"]]),
                f"{words.plain(e['title'])} ({_times(e)}{state})",
            )
        )
        told = [Text(words.plain(e["examples"][0]["reason"]))]
        if e["template"]:
            told.append(Text(words.plain(e["template"]), "dim"))
        if e["disputed"]:
            told.append(Text(f"the judge disagrees in {e['disputed']}: {words.plain(_dissent(e))}", "yellow"))
        told.append(Text(f"{e['id']} by {by(e)}", "dim"))
        where = ", ".join(f"turn {x['turn']} of {words.plain(x['conversation'])}" for x in e["examples"])
        told.append(Text(f"Examples: {where}", "dim"))
        parts += [Padding(line, (0, 0, 0, 4)) for line in told]
    if len(d["errors"]) > LISTED:
        parts.append(Text(f"  and {len(d['errors']) - LISTED} more", "dim"))
    parts += [Text(f"[gone] {words.plain(e['title'])}  {e['id']}", "dim") for e in d["gone"]]
    return [*parts, Text("")]


def _times(e: dict[str, Any]) -> str:
    return f"{e['occurrences']:,} occurrence(s)"


def _dissent(e: dict[str, Any]) -> str:
    return next((x["disputed"] for x in e["examples"] if x["disputed"]), "see the JSON")


def by(e: dict[str, Any]) -> str:
    """`rule restricted_call`, `judge`, or both."""
    named = [name for name in e["sources"] if name != "judge"]
    return " and ".join([f"rule {', '.join(named)}"] * bool(named) + ["judge"] * ("judge" in e["sources"]))


def _others(d: dict[str, Any]) -> list[RenderableType]:
    if not d["others"]:
        return []
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), title="Judged by other tools", title_justify="left")
    for name in ("source", "metric", "value", "events"):
        table.add_column(name, overflow="fold")
    for o in d["others"]:
        labels = ", ".join(f"{n} {words.plain(label)}" for label, n in o["labels"].items())
        shown = "; ".join(p for p in ("" if o["value"] is None else f"{o['value']:.4g}", labels) if p)
        table.add_row(words.plain(o["source"]), words.plain(o["metric"]), shown, f"{o['events']:,}")
    return [table]


def _verdicts(d: dict[str, Any]) -> list[dict[str, Any]]:
    return [*d["thresholds"], d["severity_gate"]]


def _said(v: dict[str, Any]) -> str:
    why = f": {words.plain(v['reason'])}" if v["reason"] else ""
    if "metric" in v:
        got = words.UNKNOWN if v["value"] is None else f"{v['value']:.4g}"
        return f"{words.plain(v['metric'])} {got}, at least {v['minimum']:g}{why}"
    return f"no error of severity {v['severity']} or above{why}"


def _plan(d: dict[str, Any]) -> RenderableType:
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    for name in ("metric", "questions", "not recorded", "paid before", "calls", "tokens"):
        table.add_column(name, justify="left" if name == "metric" else "right")
    for row in d["metrics"]:
        numbers = [row[k] for k in ("questions", "not_recorded", "paid_before", "calls", "tokens")]
        table.add_row(words.plain(row["metric"]), *(f"{n:,}" for n in numbers))
    cost = "unknown (set [judge] price_input and price_output)" if d["cost"] is None else f"about {d['cost']:.4f}"
    model = words.plain(d["model"]) if d["model"] else "no model"
    head = f"Dry run: {model} would be asked {_count(d['calls'], 'time')}, about {d['tokens']:,} tokens, cost {cost}."
    lines = [head]
    if d["cannot_ask"]:
        lines.append(f"Nothing could be asked now: {words.plain(d['cannot_ask'])}.")
    for key in ("max_calls", "max_tokens"):
        if d[key] is not None and d[key.removeprefix("max_")] > d[key]:
            lines.append(f"The budget of {d[key]:,} {key.removeprefix('max_')} would end it earlier.")
    return Group(table, Text("\n".join(lines)))


def _markdown(d: dict[str, Any]) -> str:
    cell = markdown.cell
    lines = [f"### otelcov judge: {_LABELS[d['result']].lower()}", "", cell(_head(d)), ""]
    if d["not_asked"] and d["turns"]:
        lines += [f"By rules alone: {cell(d['not_asked'])}.", ""]
    lines += ["| metric | value | judged | notes |", "| --- | ---: | ---: | --- |"]
    for row in d["metrics"]:
        judged = f"{row['judged']}/{row['applicable']}"
        lines.append(f"| {cell(row['metric'])} | {value(row)} | {judged} | {cell(notes(row))} |")
    if d["errors"]:
        lines += ["", "| severity | error | occurrences | state | found by | example |"]
        lines += ["| --- | --- | ---: | --- | --- | --- |"]
        for e in d["errors"]:
            lines.append(
                f"| {e['severity']} | {cell(e['title'])} | {e['occurrences']} | {e.get('state') or ''} "
                f"| {cell(by(e))}{' (disputed)' if e['disputed'] else ''} | {cell(e['examples'][0]['reason'])} |"
            )
    if d["others"]:
        lines += ["", "| judged by | metric | value | events |", "| --- | --- | ---: | ---: |"]
        for o in d["others"]:
            got = "" if o["value"] is None else f"{o['value']:.4g}"
            lines.append(f"| {cell(o['source'])} | {cell(o['metric'])} | {got} | {o['events']} |")
    lines += ["", *(f"- {_LABELS[v['result']].lower()}: {cell(_said(v))}" for v in _verdicts(d))]
    return "\n".join(lines) + "\n"


def _junit(d: dict[str, Any]) -> str:
    held = [junit.Case(f"{v['metric']} at least {v['minimum']:g}", v["result"], _said(v)) for v in d["thresholds"]]
    gate = d["severity_gate"]
    held.append(junit.Case(f"no error of severity {gate['severity']} or above", gate["result"], _said(gate)))
    failing = set(gate["errors"])
    errors = [
        junit.Case(
            f"[{e['severity']}] {e['title']} {e['id']}",
            "fail" if e["id"] in failing else "pass",
            f"{_times(e)}: {e['examples'][0]['reason']}",
        )
        for e in d["errors"]
    ]
    return junit.suites("otelcov judge", [("thresholds", held), ("errors", errors)])
