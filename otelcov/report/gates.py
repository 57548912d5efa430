"""A gate's result as text, JSON, Markdown or JUnit."""

from __future__ import annotations

import json as _json
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from otelcov.report import json, junit, markdown, text, words

_LABELS = {"pass": "PASS", "fail": "FAIL", "no_data": "NOT ENOUGH DATA"}
_ID = 12  # hex digits of a run that `otelcov show` finds it by
_STYLES = {"pass": "green", "fail": "bold red", "no_data": "yellow"}


def render(result: dict[str, Any], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump(result)
    if format == "markdown":
        return _markdown(result)
    if format == "junit":
        return _junit(result)
    return text.printed(Group(*[_entry(e) for e in result["entries"]], _label(result["result"])), **options)


def _entry(entry: dict[str, Any]) -> RenderableType:
    head = Text(words.plain(entry["name"] or "(no name)"), "bold")
    head.append(f"  {_runs(entry)}", "not bold dim")
    judged = Table.grid(padding=(0, 1, 0, 0))
    judged.add_column(no_wrap=True)
    judged.add_column(overflow="fold")
    for e in entry["expect"]:
        said = f"{words.plain(e['target'])} = {_value(e['value'])}, expected {_matcher(e['matcher'])}"
        why = f": {words.plain(e['reason'])}" if e["reason"] else ""
        judged.add_row(_label(e["result"]), Text(said + why))
    return Group(head, Padding(judged, (0, 0, 0, 2)), *_per_run(entry), Text(""))


def _per_run(entry: dict[str, Any]) -> list[RenderableType]:
    rows = entry.get("per_run")
    if not rows:
        return []
    names = [k for k in rows[0] if k.startswith("edges.")]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", style="dim")
    for title in ("run", *(k.removeprefix("edges.") for k in names)):
        table.add_column(title, justify="left" if title == "run" else "right", overflow="fold")
    for row in rows:
        blind = "\n(blind)" if row["blind"] else ""
        table.add_row(f"{row['run_id'][:_ID]}{blind}", *(_value(row[k]) for k in names))
    return [Padding(table, (0, 0, 0, 2))]


def _label(result: str) -> Text:
    return Text(_LABELS[result], _STYLES[result])


def _runs(entry: dict[str, Any]) -> str:
    said = f"{entry['runs']:,} run{'' if entry['runs'] == 1 else 's'}"
    return f"{said}, {entry['blind_runs']:,} cannot show their tool calls" if entry["blind_runs"] else said


def _value(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:.4g}" if not value.is_integer() else f"{value:.0f}"
    return words.plain(value)


def _matcher(matcher: dict[str, Any]) -> str:
    return words.plain(_json.dumps(matcher, ensure_ascii=False, sort_keys=True))


def _markdown(result: dict[str, Any]) -> str:
    cell = markdown.cell
    lines = [f"### otelcov gate: {_LABELS[result['result']].lower()}", ""]
    lines += ["| entry | runs | target | value | expected | result |", "| --- | ---: | --- | ---: | --- | --- |"]
    for entry in result["entries"]:
        for e in entry["expect"]:
            why = f" ({cell(e['reason'])})" if e["reason"] else ""
            lines.append(
                f"| {cell(entry['name'])} | {entry['runs']} | {cell(e['target'])} | {_value(e['value'])} "
                f"| {cell(_matcher(e['matcher']))} | {_LABELS[e['result']].lower()}{why} |"
            )
    return "\n".join(lines) + "\n"


def _junit(result: dict[str, Any]) -> str:
    suites = [
        (
            entry["name"] or "(no name)",
            [
                junit.Case(
                    f"{e['target']} {_matcher(e['matcher'])}",
                    e["result"],
                    f"{e['target']} = {_value(e['value'])}: {e['reason'] or 'as expected'}",
                )
                for e in entry["expect"]
            ],
        )
        for entry in result["entries"]
    ]
    return junit.suites("otelcov gate", suites)
