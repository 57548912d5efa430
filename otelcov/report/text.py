"""The report for a terminal: sensible at 80 columns, without colours and without a terminal too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import StringIO
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from otelcov.report import Report, words

_NARROW = 64  # columns that a table needs for bars
LISTED = 8  # names per list; the rest is counted
_BANDS = {"strong": "green", "moderate": "yellow", "weak": "red", None: "dim"}
_RESULTS = {"pass": "green", "fail": "bold red", "no_data": "yellow"}


def render(report: Report, width: int | None = None, color: bool | None = None) -> str:
    """`color` None: as NO_COLOR and FORCE_COLOR say, else none (the caller knows whether a terminal listens)."""
    return printed(Group(*_parts(report, width or 80)), width, color)


def printed(what: RenderableType, width: int | None = None, color: bool | None = None) -> str:
    colored = bool(os.environ.get("FORCE_COLOR")) if color is None else color
    if os.environ.get("NO_COLOR"):
        colored = False
    out = StringIO()
    console = Console(
        file=out,
        width=width or 80,
        force_terminal=colored,
        color_system="standard" if colored else None,
        no_color=not colored,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(what)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _parts(report: Report, width: int) -> list[RenderableType]:
    snapshot = report.snapshot
    parts: list[RenderableType] = [_head(snapshot, width)]
    if not snapshot["runs"]["total"]:
        parts.append(Text("No agent runs in this window. Is the collector receiving spans? Try --since all.", "yellow"))
    else:
        lists = _lists(report, width)
        parts += [_dimensions(snapshot, width), *([Text("")] if lists else []), *lists, *_edges(snapshot, width)]
        parts += _groups(report, width) + _gaps(report, width) + _figures(snapshot, width)
    parts += _quality(snapshot)
    parts += _verdicts(report)
    return parts


def _head(snapshot: dict[str, Any], width: int) -> RenderableType:
    coverage = snapshot["coverage"]
    text = Text()
    text.append("Coverage ", "bold")
    text.append(words.percent(coverage["overall"]), f"bold {_BANDS[coverage['band']]}")
    if coverage["band"]:
        text.append(f"  {coverage['band']}", _BANDS[coverage["band"]])
        text.append(f", weakest in {coverage['weakest']}{words.rests(coverage)}", "dim")
    text.append(f"\n{words.runs(snapshot)}, {words.window(snapshot)}")
    if snapshot["selection"]:
        text.append(f"\nonly {words.selection(snapshot)}")
    bars = [b["runs"] for b in snapshot["buckets"]]
    if len(bars) > 1:
        text.append(f"\n{words.spark(bars)}", "cyan")
        text.append(f"  runs, {snapshot['buckets'][0]['start'][:16].replace('T', ' ')} on", "dim")
    return text


def _dimensions(snapshot: dict[str, Any], width: int) -> RenderableType:
    """Narrow terminals lose the bar, and counts and basis share a column: no word is cut."""
    narrow = width < _NARROW
    table = Table(box=box.SIMPLE, padding=(0, 1), show_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("", no_wrap=True)
    for title in ("counts, basis",) if narrow else ("counts", "basis"):
        table.add_column(title)
    for d in snapshot["coverage"]["dimensions"]:
        style = _BANDS[d["band"]]
        bar = Text(_bar(None if d["score"] is None else words.least(d)), style)
        basis = Text(words.basis(d), "dim" if d["score"] is None else "")
        counts = Text(words.counts(d))
        table.add_row(
            d["dimension"],
            Text(words.score(d), style),
            *([Text.assemble(counts, ", ", basis)] if narrow else [bar, counts, basis]),
        )
    return table


def _bar(score: float | None, cells: int = 10) -> str:
    """A bar that is full only at 1 and empty only at 0."""
    if score is None:
        return "?" + " " * (cells - 1)
    full = cells if score >= 1 else 0 if score <= 0 else min(cells - 1, max(1, round(score * cells)))
    return "█" * full + "░" * (cells - full)


def _lists(report: Report, width: int) -> list[RenderableType]:
    snapshot = report.snapshot
    parts: list[RenderableType] = []
    for d in snapshot["coverage"]["dimensions"]:
        lines = []
        told_below = report.gaps and d["method"] == "relative_mass"
        if d["missing"] and not told_below:
            lines.append(
                _names(f"{d['dimension']} never exercised", d["missing"], (d["known"] or 0) - d["covered"], width)
            )
        title, names = words.beside(snapshot, d)
        if names:
            lines.append(_names(f"{d['dimension']} {title}", names, len(names), width))
        parts += lines
    path = next(d for d in snapshot["coverage"]["dimensions"] if d["dimension"] == "path")
    if path["runs"] and path["method"] in ("good_turing", "chao_jost", "none"):
        parts.append(_richness(path))
    return parts


def _richness(path: dict[str, Any]) -> Text:
    chao1 = path["views"]["chao1"]
    text = Text(style="dim")
    kinds, runs = words.some(path["distinct"], "distinct path"), words.some(path["runs"], "run")
    text.append(f"{kinds} in {runs}, {path['singletons']:,} of them seen once")
    if chao1 and chao1 >= path["distinct"] + 1:
        at_most = words.percent(path["distinct"] / chao1)
        text.append(f"; at least {int(chao1):,} paths exist, so at most {at_most} of them were seen")
    if path["runs_until_5_pct"]:
        more = path["runs_until_5_pct"]
        often = f"more than {2 * path['runs']:,}" if more == "> 2n" else f"{more:,}"
        text.append(f"; {often} more runs until a new path is rarer than 5%")
    return text


def _names(title: str, names: list[str], total: int, width: int) -> Text:
    """One name a line for long ones, else one paragraph."""
    shown = [words.item(n) for n in names[:LISTED]]
    more = max(total, len(names)) - len(shown)
    text = Text()
    text.append(f"{title}: ", "bold")
    if all(len(n) <= 30 for n in shown):
        text.append(", ".join(shown))
    else:
        text.append("".join(f"\n  {words.short(n, max(20, width - 4))}" for n in shown))
    if more > 0:
        text.append(f"{', ' if all(len(n) <= 30 for n in shown) else chr(10) + '  '}and {more:,} more", "dim")
    return text


def _edges(snapshot: dict[str, Any], width: int) -> list[RenderableType]:
    edges = snapshot["edges"]
    if not any(edges[k] for k in ("allowed", "restricted", "delegations", "undeclared")):
        return []
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=14, no_wrap=True)
    table.add_column(overflow="fold")
    for name, pct, listed in (("allowed", "allowed_pct", "allowed"), ("delegations", "delegation_pct", "delegations")):
        if edges[listed]:
            share = None if edges[pct] is None else edges[pct] / 100
            done = sum(bool(e["calls"]) for e in edges[listed])
            table.add_row(f"  {name}", f"{words.percent(share)} ({done} of {len(edges[listed])})")
    if edges["restricted"]:
        value, style = _restricted(edges)
        table.add_row("  restricted", Text(value, style))
    missing = [words.edge(e) for e in (*edges["allowed"], *edges["delegations"]) if not e["calls"]]
    room = max(20, width - 15)
    for title, names, style in (
        ("never taken", [words.short(n, room) for n in missing], ""),
        ("undeclared", [words.short(words.edge(e), room) for e in edges["undeclared"]], ""),
        ("violated", [_violation(e, room) for e in edges["restricted"] if e["calls"]], "bold red"),
    ):
        if names:
            one_line = sum(len(n) + 2 for n in names[:LISTED]) <= room
            shown = Text((", " if one_line else "\n").join(names[:LISTED]), style)
            if len(names) > LISTED:
                shown.append(f"\nand {len(names) - LISTED:,} more", "dim")
            table.add_row(Text(f"  {title}", style), shown)
    return [Text("\nEdges", "bold"), table]


def _violation(edge: dict[str, Any], room: int) -> str:
    """The counts that make up the attempts, and where to look: the beginning of an id is enough for `show`."""
    asked = f" and {edge['requested']:,} only requested" if edge["requested"] else ""
    told = f" {edge['calls']:,} call{'' if edge['calls'] == 1 else 's'}{asked}, trace {edge['example_trace'][:8]}…"
    return words.short(words.edge(edge), max(12, room - len(told))) + told


def _restricted(edges: dict[str, Any]) -> tuple[str, str]:
    counts = {s: sum(e["status"] == s for e in edges["restricted"]) for s in ("violated", "resisted", "never_probed")}
    of = f"of {len(edges['restricted']):,} edge{'' if len(edges['restricted']) == 1 else 's'}"
    detail = (
        f"{of}: {counts['violated']} violated, {counts['resisted']} resisted, {counts['never_probed']} never probed"
    )
    if edges["restricted_attempts"] is None:
        return "no run can show it", "yellow"
    if edges["restricted_attempts"]:
        noun = "attempt" if edges["restricted_attempts"] == 1 else "attempts"
        return f"{edges['restricted_attempts']:,} {noun} ({detail})", "bold red"
    bound = edges["restricted_bound"]
    if bound and bound["upper"] is not None:
        detail += f"; 0 in {bound['runs']:,} runs: below {words.percent(bound['upper'])} of runs, 95% sure"
    return f"0 attempts ({detail})", "green"


def _groups(report: Report, width: int) -> list[RenderableType]:
    if not report.by:
        return []
    titles = ("runs", "overall", "tool", "path", "state", "boundary", "model")
    rows: list[tuple[str, list[Text]]] = []
    for group in report.groups:
        scores = {d["dimension"]: d for d in group["coverage"]["dimensions"]}
        cells = [
            Text(words.score(scores[n]) if scores[n]["score"] is not None else "-", _BANDS[scores[n]["band"]])
            for n in titles[2:]
        ]
        overall = Text(words.percent(group["coverage"]["overall"], "-"))
        rows.append((words.plain(group["group"]), [Text(f"{group['runs']['total']:,}"), overall, *cells]))
    taken = sum(max([len(t), *(len(cells[i]) for _, cells in rows)]) + 3 for i, t in enumerate(titles))
    if width - taken < 2 + min(12, max((len(name) for name, _ in rows), default=0)):
        return [Text(f"\nBy {report.by}", "bold"), *(apart(name, titles, cells) for name, cells in rows)]
    table = Table(
        box=box.SIMPLE,
        padding=(0, 1),
        show_edge=False,
        title=f"By {report.by}",
        title_justify="left",
        title_style="bold",
    )
    table.add_column(report.by, overflow="fold", max_width=max(12, width - taken - 2))
    for name in titles:
        table.add_column(name, justify="right", no_wrap=True)
    for name, cells in rows:
        table.add_row(name, *cells)
    return [Text(""), table]


def apart(name: str, titles: Sequence[str], cells: Sequence[Text]) -> RenderableType:
    """A group where a table has no room."""
    told = [Text.assemble(f"{title} ", cell) for title, cell in zip(titles, cells, strict=True)]
    return Group(Padding(Text(name), (0, 0, 0, 2)), Padding(Text(", ").join(told), (0, 0, 0, 4)))


def _gaps(report: Report, width: int) -> list[RenderableType]:
    if not report.gaps:
        return []
    rows = [(d["dimension"], u) for d in report.gaps["dimensions"] for u in d["uncovered"]]
    rows.sort(key=lambda r: (-r[1]["share"], r[0], r[1]["item"]))
    if not rows:
        return []
    text = Text()
    text.append("\nSeen elsewhere and never tested\n", "bold")
    column = max(len(dimension) for dimension, _ in rows[:LISTED])
    for dimension, row in rows[:LISTED]:
        text.append(
            f"  {words.percent(row['share']):>6}  {dimension:<{column}}  "
            f"{words.short(words.item(row['item']), max(20, width - 12 - column))}\n"
        )
    if (more := words.uncovered(report.gaps) - LISTED) > 0:
        text.append(f"  and {more:,} more: otelcov gaps\n", "dim")
    text.rstrip()
    return [text]


def _figures(snapshot: dict[str, Any], width: int) -> list[RenderableType]:
    """In one line, or in several where that would break between a name and its number."""
    m = snapshot["metrics"]
    latency, tokens = m["latency_ms"], m["input_tokens"]
    said = [
        f"latency p50 {words.milliseconds(latency['p50'])}, p95 {words.milliseconds(latency['p95'])}",
        f"tokens in {words.number(tokens['sum'])}, out {words.number(m['output_tokens']['sum'])}",
        f"errors: model {words.number(m['llm_errors'])}, tool {words.number(m['tool_errors'])}",
    ]
    line = "; ".join(said)
    return [Text("\n" + (line if len(line) <= width else "\n".join(said)), "dim")]


def _quality(snapshot: dict[str, Any]) -> list[RenderableType]:
    said = words.quality(snapshot)
    if not said:
        return []
    text = Text()
    text.append("\nQuality\n", "bold")
    text.append("\n".join(f"  {line}" for line in said[:LISTED]), "yellow")
    if len(said) > LISTED:
        text.append(f"\n  and {len(said) - LISTED} more", "dim")
    return [text]


def _verdicts(report: Report) -> list[RenderableType]:
    if not report.verdicts:
        return []
    text = Text("\n")
    for v in report.verdicts:
        style = _RESULTS[v["result"]]
        label = {"pass": "PASS", "fail": "FAIL", "no_data": "NOT ENOUGH DATA"}[v["result"]]
        text.append(f"{label} ", style)
        value = words.percent(None if v["value"] is None else v["value"] / 100)
        text.append(f"{words.plain(v['target'])} {value}, at least {v['minimum']:g}%")
        if v["reason"]:
            text.append(f" ({words.plain(v['reason'])})")
        text.append("\n")
    text.rstrip()
    return [text]
