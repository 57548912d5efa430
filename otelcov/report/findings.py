"""What gaps, diff, undeclared and why found, as text, JSON or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from otelcov.report import json, markdown, text, words

LISTED = 30
_NO_RUNS = "No agent runs on either side."
_TRACES_FROM = 110  # columns of a terminal that has room for trace ids


def gaps(found: dict[str, Any], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump(found)
    sides = f"{' and '.join(found['side'])} against {' and '.join(found['against'])}"
    head = f"Gaps: {sides}, {found['runs']['side']:,} and {found['runs']['against']:,} runs"
    shares = [
        (
            d["dimension"],
            words.percent(d["share"]),
            words.percent(d["share_by_count"]),
            f"{d['exercised']} of {d['known']}" if d["known"] or not d["reason"] else "unknown",
        )
        for d in found["dimensions"]
    ]
    told = [f"{d['dimension']}: {d['reason']}" for d in found["dimensions"] if d["reason"]]
    rows = [(d["dimension"], u) for d in found["dimensions"] for u in d["uncovered"]]
    rows.sort(key=lambda r: (-(r[1]["share"] or 0), r[0], r[1]["item"]))
    listed = [
        (words.percent(u["share"]), name, words.item(u["item"]), (u["example_traces"] or [""])[0])
        for name, u in rows[:LISTED]
    ]
    parts = [
        _Part("", ("dimension", "of its runs exercised", "of its items", "items"), shares),
        _Part("Never exercised", ("share", "dimension", "item", "example trace"), listed, len(rows)),
    ]
    if not (found["runs"]["side"] or found["runs"]["against"]):
        parts = [_Part(_NO_RUNS, (), ())]
    return _printed(head, parts, format, options, "; ".join(told) or None)


def diff(found: dict[str, Any], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump(found)
    head = (
        f"{words.plain(found['a'])} ({found['runs']['a']:,} runs) against "
        f"{words.plain(found['b'])} ({found['runs']['b']:,} runs)"
    )
    rows = [
        (f["kind"], f["dimension"], words.item(f["item"]), _share(f["a"]), _share(f["b"]), f"{f['q']:.2g}")
        for f in found["findings"]
    ]
    figures = [
        (
            m["metric"],
            _figure(m["metric"], m["a"]),
            _figure(m["metric"], m["b"]),
            f"{m['q']:.2g}",
            "shifted" if m["significant"] else "",
        )
        for m in found["metrics"]
    ]
    differences = f"{len(rows):,} difference{'' if len(rows) == 1 else 's'}"
    parts = [
        _Part(
            f"{differences} beyond chance (false discovery rate 5%, {found['tested']:,} tests)",
            ("", "dimension", "item", "A", "B", "q"),
            rows[:LISTED],
            len(rows),
        ),
        *([_Part("Medians", ("metric", "A", "B", "q", ""), figures)] if figures else []),
    ]
    if not (found["runs"]["a"] or found["runs"]["b"]):
        parts = [_Part(_NO_RUNS, (), ())]
    left = found["unproven"]
    note = f"{left['new']} more items only in B and {left['lost']} only in A: too few runs to tell them from chance."
    return _printed(head, parts, format, options, note if left["new"] or left["lost"] else None)


def undeclared(found: dict[str, Any], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump(found)
    titles = {
        "hallucinated": "Tool names that nobody offered",
        "tools": "Tools",
        "edges": "Edges",
        "delegations": "Delegations",
        "models": "Models",
    }
    parts = [
        _Part(
            title,
            ("name", "runs", "calls", "errors", "requested", "example trace"),
            [
                (
                    words.edge(row) if "agent" in row else words.item(row["item"]),
                    *(f"{row[c]:,}" for c in ("runs", "calls", "errors", "requested")),
                    row["example_trace"] or "",
                )
                for row in found[kind]
            ],
        )
        for kind, title in titles.items()
        if found[kind]
    ]
    head = "Seen and never declared" if parts else "Everything that was seen is declared."
    return _printed(head, parts, format, options)


def why(found: dict[str, Any], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump(found)
    parts: list[RenderableType] = []
    for answer in found["answers"]:
        head = Text(f"{words.plain(found['item'])} ", "bold").append(f"({answer['kind']}) ", "not bold dim")
        parts += [head.append(_counted(answer)), _indented(words.plain(answer["rule"]))]
        parts += [_indented(f"{n} {answer[n]:,}") for n in ("calls", "errors", "requested") if answer.get(n)]
        for name in ("missing", "undeclared"):
            if names := answer.get(name):
                parts.append(_indented(f"{name}:"))
                parts += [_indented(words.item(n), 4) for n in names[:LISTED]]
                if len(names) > LISTED:
                    parts.append(_indented(f"and {len(names) - LISTED:,} more", 4))
        if answer["traces"]:
            parts += [_indented("traces:"), *(_indented(words.plain(t), 4) for t in answer["traces"])]
        parts.append(Text(""))
    return text.printed(Group(*parts[:-1]), **options)


def _counted(answer: dict[str, Any]) -> str:
    """`75.0% = 3 of 4`; without a denominator there is nothing to divide by."""
    value, over, part = answer["value"], answer["denominator"], answer["numerator"]
    shown = words.number(value) if answer["kind"] == "edges" else words.percent(value)
    if part is None or (over is None and answer["kind"] == "edges"):  # a number is its own count
        return shown
    counts = words.number(part) if over is None else f"{words.number(part)} of {words.number(over)}"
    return f"{shown}, {counts} seen" if over is None or value is None else f"{shown} = {counts}"


def _indented(line: str, columns: int = 2) -> RenderableType:
    return Padding(Text(line), (0, 0, 0, columns))


class _Part:
    def __init__(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], total: int | None = None
    ) -> None:
        self.title, self.columns, self.rows = title, columns, rows
        self.more = 0 if total is None else total - len(rows)


def _printed(head: str, parts: Sequence[_Part], format: str, options: dict[str, Any], note: str | None = None) -> str:
    return (
        _markdown(head, parts, note)
        if format == "markdown"
        else text.printed(_text(head, parts, note, options.get("width") or 80), **options)
    )


def _text(head: str, parts: Sequence[_Part], note: str | None, width: int) -> RenderableType:
    shown: list[RenderableType] = [Text(head, "bold")]
    for part in parts:
        if part.title:
            shown.append(Text(part.title, "bold"))
        if part.rows:
            table = Table(box=box.SIMPLE, padding=(0, 1), show_edge=False)
            shown_columns = [i for i, c in enumerate(part.columns) if width >= _TRACES_FROM or "trace" not in c]
            for i in shown_columns:
                column = part.columns[i]
                numeric = all(cell[:1].isdigit() or cell[:1] in "<>u" for cell in (row[i] for row in part.rows))
                table.add_column(
                    column, justify="right" if numeric and "trace" not in column else "left", overflow="fold"
                )
            for row in part.rows:
                table.add_row(*(Text(row[i]) for i in shown_columns))
            shown.append(table)
        if part.more > 0:
            shown.append(Text(f" and {part.more:,} more", "dim"))
    if note:
        shown.append(Text(note, "dim"))
    return Group(*shown)


def _markdown(head: str, parts: Sequence[_Part], note: str | None) -> str:
    cell = markdown.cell
    lines = [f"### {cell(head)}", ""]
    for part in parts:
        if part.title:
            lines += [f"**{cell(part.title)}**", ""]
        if part.rows:
            lines += [f"| {' | '.join(part.columns)} |", f"|{' --- |' * len(part.columns)}"]
            lines += [f"| {' | '.join(map(cell, row))} |" for row in part.rows]
            lines.append("")
        if part.more > 0:
            lines += [f"and {part.more:,} more", ""]
    return "\n".join([*lines, *([cell(note)] if note else [])]).rstrip() + "\n"


def _share(side: dict[str, Any]) -> str:
    return f"{words.percent(side['share'])} ({side['with']:,})"


def _figure(metric: str, value: float | None) -> str:
    return (
        words.milliseconds(None if value is None else value / 1e6)
        if metric == "latency"
        else words.number(value and round(value))
    )
