"""How numbers and names are written in every report.

0 % and 100 % are printed only when they are exactly true. Names come from spans and are hostile: what could move a
terminal's cursor, turn text around or end a line is shown as an escape.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

UNKNOWN = "unknown"
_ESTIMATES = ("good_turing", "chao_jost", "chao_2014")
_UNITS = {
    "tool": ("tool", "tools"),
    "path": ("path", "paths"),
    "state": ("state", "states"),
    "boundary": ("boundary", "boundaries"),
    "model": ("model", "models"),
}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # control, format (bidi), surrogate, private, none, separators


def percent(share: float | None, unknown: str = UNKNOWN) -> str:
    """A share of 0..1 with one decimal, never rounded to 0 % or 100 %."""
    if share is None:
        return unknown
    if share <= 0:
        return "0%"
    if share >= 1:
        return "100%"
    text = f"{share * 100:.1f}"
    return "<0.1%" if text == "0.0" else ">99.9%" if text == "100.0" else f"{text}%"


def score(dimension: dict[str, Any]) -> str:
    """A dimension's score; an estimate at its ends is printed as what it bounds."""
    value, interval = dimension["score"], dimension["interval"]
    if value in (0, 1) and dimension["method"] in _ESTIMATES and interval:
        return f">= {percent(interval['low'])}" if value == 1 else f"<= {percent(interval['high'])}"
    return percent(value)


def least(dimension: dict[str, Any]) -> float:
    """How far a bar may go: an estimate that says "all" goes as far as its lower end."""
    value, interval = float(dimension["score"]), dimension["interval"]
    return float(interval["low"]) if value == 1 and dimension["method"] in _ESTIMATES and interval else value


def rests(coverage: dict[str, Any]) -> str:
    """`; 2 of 5 dimensions known`, where some are left out of the overall score."""
    known = sum(d["score"] is not None for d in coverage["dimensions"])
    return f"; {known} of {len(coverage['dimensions'])} dimensions known" if known < len(coverage["dimensions"]) else ""


def counts(dimension: dict[str, Any]) -> str:
    """`13 of 14 tools`, or what was seen where nobody knows of how many."""
    one, many = _UNITS.get(dimension["dimension"], ("item", "items"))
    if known := dimension["known"]:
        return f"{dimension['covered']:,} of {known:,} {one if known == 1 else many}"
    return f"{dimension['covered']:,} {one if dimension['covered'] == 1 else many} seen"


def beside(snapshot: dict[str, Any], dimension: dict[str, Any]) -> tuple[str, list[str]]:
    """What was seen and is none of the known items, and what to call it: a restricted tool is declared, too."""
    if dimension["dimension"] == "boundary":
        return "also reached", dimension["undeclared"]
    edges = snapshot["edges"]["restricted"] if dimension["dimension"] == "tool" else ()
    restricted = {edge["tool"] for edge in edges}
    return "undeclared", [f"{n} (restricted)" if n in restricted else n for n in dimension["undeclared"]]


def basis(dimension: dict[str, Any]) -> str:
    """What the score rests on, in a few words."""
    method, universe, interval = dimension["method"], dimension["universe"], dimension["interval"]
    if dimension["score"] is None:
        return dimension["reason"] or "not known"
    if method == "relative_mass":
        text = "of runs outside tests" if dimension["dimension"] == "path" else "of visits outside tests"
    elif method in _ESTIMATES:
        text = "chance that the next is known"
    elif dimension["dimension"] == "boundary" and universe == "declared":
        text = "reached"
    else:
        text = universe
    if interval:
        text += f", {percent(interval['low'])} to {percent(interval['high'])}"
    return text


def item(name: str | None) -> str:
    """An item as people read it; a path without a step has no text of its own."""
    return "(no step)" if name == "" else plain(name)


def plain(text: object) -> str:
    """Text without anything that a terminal or a line would obey."""
    shown = UNKNOWN if text is None else str(text)
    return "".join(_escaped(c) if unicodedata.category(c) in _HIDDEN else c for c in shown)


def short(text: str, width: int) -> str:
    """At most `width` characters; the middle goes, for beginnings and ends tell paths apart."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def number(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def milliseconds(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if value >= 1000:
        return f"{value / 60_000:.1f} min" if value >= 120_000 else f"{value / 1000:.1f} s"
    return f"{value:.0f} ms" if value >= 1 or value <= 0 else f"{value:.1f} ms" if value >= 0.1 else "<0.1 ms"


def window(snapshot: dict[str, Any]) -> str:
    since, until = snapshot["window"]["since"], snapshot["window"]["until"]
    if since is None and until is None:
        return "all runs"
    return f"{_time(since) or 'the beginning'} to {_time(until) or 'now'} UTC"


def runs(snapshot: dict[str, Any]) -> str:
    """`40 runs (12 test, 28 production)`."""
    found = snapshot["runs"]
    parts = [f"{found[s]:,} {s}" for s in ("test", "staging", "production", "unspecified") if found[s]]
    if found["unsettled"]:
        parts.append(f"{found['unsettled']:,} not settled")
    total = f"{found['total']:,} run{'' if found['total'] == 1 else 's'}"
    return f"{total} ({', '.join(parts)})" if parts else total


def selection(snapshot: dict[str, Any]) -> str:
    return ", ".join(f"{k} {' or '.join(plain(v) for v in vs)}" for k, vs in snapshot["selection"].items())


def edge(row: dict[str, Any]) -> str:
    agent = plain(row["agent"]) if row.get("agent") is not None else "(unknown agent)"
    return f"{agent} -> {plain(row['to'])}" if row.get("to") is not None else f"{agent}/{plain(row['tool'])}"


def spark(values: list[int]) -> str:
    """A sparkline; a bucket with anything in it is never empty."""
    top = max(values, default=0)
    bars = "▁▂▃▄▅▆▇█"
    return "".join(" " if not v else bars[min(7, round(7 * v / top))] for v in values)


def quality(snapshot: dict[str, Any]) -> list[str]:
    """What to know before trusting the numbers; empty when there is nothing to say."""
    q = snapshot["quality"]
    said = [f"{some(n, 'run')} incomplete: {plain(reason)}" for reason, n in q["incomplete_runs"].items()]
    for scope, n in q["unexplained_spans"].items():
        said.append(f"{some(n, 'span')} of scope {plain(scope) or '(none)'} not explained")
    for key, noun, what in (
        ("orphans", "span", "whose parent never came"),
        ("dropped_attributes", "attribute", "dropped by the SDK"),
        ("masked", "value", "masked by the collector"),
        ("conflicts", "span", "sent twice with different content"),
        ("out_of_range", "span", "with times out of range"),
    ):
        if q[key]:
            said.append(f"{some(q[key], noun)} {what}")
    if q["sampled"]:
        said.append(q["sampled"])
    return said


def some(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def _time(text: str | None) -> str | None:
    """A time to the second: who needs its fractions reads the JSON."""
    return None if text is None else re.sub(r"\.\d+", "", text.replace("T", " ").removesuffix("Z")).removesuffix(":00")


def _escaped(c: str) -> str:
    code = ord(c)
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(c)
    return named or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65_536 else f"\\U{code:08x}")


def uncovered(gaps: dict[str, Any]) -> int:
    """How many items a side never exercised, also where not all of them are named."""
    return sum(d["known"] - d["exercised"] for d in gaps["dimensions"])
