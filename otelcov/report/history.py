"""Trends, alerts and comparisons as text, JSON, Markdown or Prometheus metrics."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from otelcov.history.trends import FIGURES, value
from otelcov.report import json, markdown, text, words
from otelcov.report.cases import pass_rate

_POINTS = 45  # of a sparkline that stands in eighty columns
_SHARES = ("pass rate", "coverage")
_TESTED = {
    "pass_rate": "pass rate",
    "latency_ms": "latency",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
}


def trend(result: dict[str, Any], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump(result)
    rows = [[_trend_cell(group, figure) for figure in FIGURES] for group in result["groups"]]
    names = [words.plain(group["group"]) for group in result["groups"]]
    counts = [words.number(group["runs"]) for group in result["groups"]]
    if format == "markdown":
        lines = [f"| {result['by']} | runs | {' | '.join(FIGURES)} |", f"| --- |{' ---: |' * (len(FIGURES) + 1)}"]
        for name, count, row in zip(names, counts, rows, strict=True):
            lines.append(f"| {markdown.cell(name)} | {count} | {' | '.join(row)} |")
        return "\n".join(lines) + "\n"
    if not names:
        return text.printed(Text("No runs and no kept results in this window."), **options)
    lines_ = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    drawn = "trend" if len(names) <= _POINTS else f"trend of the last {_POINTS}"
    for title in ("", "from", "to", drawn):
        lines_.add_column(title, justify="left" if title in ("", drawn) else "right")
    for figure in FIGURES:
        values = [value(group, figure) for group in result["groups"]]
        known = [v for v in values if v is not None]
        if known:
            first, last = (
                next(g for g in order if value(g, figure) is not None)
                for order in (result["groups"], result["groups"][::-1])
            )
            lines_.add_row(figure, _trend_cell(first, figure), _trend_cell(last, figure), spark(values[-_POINTS:]))
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    table.add_column(result["by"], overflow="fold")
    for title in ("runs", *FIGURES):  # a number is never broken, a long name is
        table.add_column(title.replace(" ", "\n"), justify="right", no_wrap=True)
    for name, count, row in zip(names, counts, rows, strict=True):
        table.add_row(name, count, *row)
    columns = [[*title.split(), *cells] for title, *cells in zip(FIGURES, *rows, strict=True)]
    taken = sum(max(map(len, cells)) + 2 for cells in [["runs", *counts], *columns])
    if (options.get("width") or 80) - taken < min(10, max(len(n) for n in (result["by"], *names))):
        titles = ("runs", *FIGURES)
        parts = [text.apart(n, titles, [Text(c), *map(Text, r)]) for n, c, r in zip(names, counts, rows, strict=True)]
        return text.printed(Group(lines_, Text(f"\nBy {result['by']}", "bold"), *parts), **options)
    return text.printed(Group(lines_, Text(""), table), **options)


def spark(values: list[float | None]) -> str:
    """A sparkline from nought to the greatest value; what is not known is a dot."""
    top = max((v for v in values if v is not None), default=0)
    bars = "▁▂▃▄▅▆▇█"
    return "".join("·" if v is None else bars[min(7, round(7 * v / top))] if top else bars[0] for v in values)


def alerts(result: list[dict[str, Any]], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump({"format": 1, "alerts": result})
    if format == "prometheus":
        return _prometheus(result)
    if format == "markdown":
        rows = [f"| {markdown.cell(a['rule'])} | {_state(a)} | {markdown.cell(a['reason'])} |" for a in result]
        return "\n".join(["| alert | state | why |", "| --- | --- | --- |", *rows]) + "\n"
    shown = Text()
    styles = {"firing": "bold red", "ok": "green"}
    for a in result:
        shown.append(
            _state(a).upper(), "yellow" if a["result"] == "no_data" and a["state"] == "ok" else styles[a["state"]]
        )
        shown.append(f" {words.plain(a['rule'])}", "bold").append(f": {words.plain(a['reason'])}")
        shown.append(f" (since {a['since']})\n" if a["since"] else "\n", "dim")
    if not result:
        shown.append("No alert rules: write [[alerts.rules]] in otelcov.toml.")
    return text.printed(shown, **options)


def comparison(result: dict[str, Any], format: str, **options: Any) -> str:
    if format == "json":
        return json.dump(result)
    head = [
        result["by"],
        "runs",
        "passed",
        "pass rate",
        "latency p50",
        "latency p95",
        "tokens in",
        "tokens out",
        "cost",
        "errors",
        "coverage",
    ]
    rows = [_group(group) for group in result["groups"]]
    said = _findings(result)
    if format == "markdown":
        lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
        lines += [f"| {' | '.join(markdown.cell(part) for part in row)} |" for row in rows]
        return "\n".join([*lines, "", *(f"- {markdown.cell(line)}" for line in said)]) + "\n"
    if not rows:
        return text.printed(Text("No results to compare in this window."), **options)
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    table.add_column(words.short(words.plain(head[0]), 20), no_wrap=True)
    for row in rows:
        table.add_column(words.plain(row[0]), justify="right", overflow="fold")
    for number, title in enumerate(head[1:], 1):
        table.add_row(title, *(words.plain(row[number]) for row in rows))
    return text.printed(Group(table, Text(""), Text("\n".join(words.plain(line) for line in said))), **options)


def _group(group: dict[str, Any]) -> list[str]:
    latency = group["latency_ms"]
    return [
        str(group["group"]),
        words.number(group["runs"]),
        f"{group['passed']}/{group['total']}",
        pass_rate(group["pass_rate"]),
        words.milliseconds(latency["p50"]),
        words.milliseconds(latency["p95"]),
        _count(group["input_tokens"]["mean"]),
        _count(group["output_tokens"]["mean"]),
        "unknown" if group["cost"] is None else f"{group['cost']:.5f}",
        words.number(group["errors"]),
        words.percent(group["coverage"]["overall"]),
    ]


def _findings(result: dict[str, Any]) -> list[str]:
    count = result["cases"]
    lines = [f"{count} case{'' if count == 1 else 's'} in common; significance after Benjamini-Hochberg at 5 %"]
    if result["not_common"]:
        lines.append(f"not run by all, left out: {', '.join(result['not_common'][:10])}")
    for group in result["groups"][1:]:
        for name, test in group["tests"].items():
            if test["p"] is None:
                continue
            verdict = "differs" if test["significant"] else "no proven difference"
            what = f"{group['group']} against {result['baseline']}, {_TESTED[name]}"
            lines.append(f"{what}: {verdict} (p {test['p']:.3g}, q {test['q']:.3g})")
    for case in result["disagreements"]:
        turn = f" turn {case['turn']}" if case["turn"] is not None else ""
        parts = [f"{name} {g['passed']}/{g['total']}" for name, g in case["groups"].items()]
        proven = "" if any(t["significant"] for t in case["tests"].values()) else " (may be chance)"
        lines.append(f"disagree on {case['case']}{turn}: {', '.join(parts)}{proven}")
    return lines


def _trend_cell(group: dict[str, Any], figure: str) -> str:
    found = value(group, figure)
    if found is None:
        return "-"
    if figure in _SHARES:
        return words.percent(found)
    return words.milliseconds(found) if figure.startswith("latency") else _count(found)


def _count(value: float | None) -> str:
    """Without decimals where they say nothing."""
    return words.number(value if value is None or value < 100 else round(value))


def _state(alert: dict[str, Any]) -> str:
    if alert["result"] == "no_data":
        return "firing, not enough data" if alert["state"] == "firing" else "not enough data"
    return str(alert["state"])


def _prometheus(result: list[dict[str, Any]]) -> str:
    from prometheus_client import CollectorRegistry, Gauge, generate_latest

    registry = CollectorRegistry()
    firing = Gauge("otelcov_alert_firing", "1 while an alert rule fires", ["rule"], registry=registry)
    measured = Gauge("otelcov_alert_value", "What an alert rule measured", ["rule", "metric"], registry=registry)
    blind = Gauge("otelcov_alert_no_data", "1 where there is not enough data to judge", ["rule"], registry=registry)
    for a in result:
        firing.labels(a["rule"]).set(a["state"] == "firing")
        blind.labels(a["rule"]).set(a["result"] == "no_data")
        if a["value"] is not None:
            measured.labels(a["rule"], a["metric"]).set(a["value"])
    return str(generate_latest(registry).decode())
