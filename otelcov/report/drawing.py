"""Small inline SVG: a map of who comes after whom, and bars over time. Colours come from the page's CSS."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from math import log1p
from typing import NamedTuple

from otelcov.report import words

_NODE_HEIGHT, _GAP, _COLUMN_GAP = 26, 14, 90
_CHARACTER = 7.2
# Every map defines it anew: an id that stands twice in a page names the same picture.
_HEAD = (
    '<defs><marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="9" markerHeight="9" '
    'markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z"/></marker></defs>'
)


class Arrow(NamedTuple):
    source: str
    target: str
    times: int
    kind: str = ""  # a CSS class


def flow(arrows: Sequence[Arrow], title: str, ends: dict[str, str] | None = None, last: str | None = None) -> str:
    """Nodes in columns by their distance from the beginnings, arrows as wide as they are frequent.

    `ends` renames nodes, `last` names the one that stands rightmost.
    """
    names = sorted({n for a in arrows for n in (a.source, a.target)})
    if not names:
        return ""
    column = _columns(names, arrows)
    if last is not None and last in column:
        column[last] = 1 + max((c for n, c in column.items() if n != last), default=0)
    ranks: dict[int, list[str]] = defaultdict(list)
    weight: dict[str, int] = defaultdict(int)
    for a in arrows:
        weight[a.source] += a.times
        weight[a.target] += a.times
    for name in sorted(names, key=lambda n: (-weight[n], n)):
        ranks[column[name]].append(name)
    label = {n: words.short((ends or {}).get(n) or words.plain(n), 26) for n in names}
    place: dict[str, tuple[float, float, float]] = {}
    x, tallest = 10.0, max(len(r) for r in ranks.values())
    height = tallest * (_NODE_HEIGHT + _GAP) + 30
    for rank in sorted(ranks):
        width = max(len(label[n]) for n in ranks[rank]) * _CHARACTER + 20
        free = height - 30 - len(ranks[rank]) * (_NODE_HEIGHT + _GAP)
        for i, name in enumerate(ranks[rank]):
            place[name] = (x, 22 + free / 2 + i * (_NODE_HEIGHT + _GAP), width)
        x += width + _COLUMN_GAP
    most = max(a.times for a in arrows)
    drawn = [_arrow(a, place, most) for a in sorted(arrows, key=lambda a: (a.times, a.source, a.target))]
    boxes = [_box(label[n], *place[n], full=words.plain(n)) for n in names]
    size = f'viewBox="0 0 {x - _COLUMN_GAP + 30:.0f} {height:.0f}"'
    width_px = f"{x - _COLUMN_GAP + 30:.0f}"
    return (
        f'<svg class="flow" {size} width="{width_px}" role="img" aria-label="{escape(title)}">'
        f"{_HEAD}{''.join(drawn)}{''.join(boxes)}</svg>"
    )


def bars(values: Sequence[tuple[str, int]], title: str) -> str:
    """One bar per bucket; a bucket with a run is never invisible."""
    top = max((v for _, v in values), default=0)
    if not top:
        return ""
    width, step = 640, 640 / max(24, len(values))
    shapes = []
    for i, (name, value) in enumerate(values):
        tall = 0 if not value else max(2.0, 60 * value / top)
        shapes.append(
            f'<rect x="{i * step + 0.5:.2f}" y="{64 - tall:.2f}" width="{max(1.0, step - 1):.2f}" height="{tall:.2f}">'
            f"<title>{escape(name)}: {value}</title></rect>"
        )
    return (
        f'<svg class="bars" viewBox="0 0 {width} 66" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}">'
        f'<line x1="0" y1="64.5" x2="{width}" y2="64.5"/>{"".join(shapes)}</svg>'
    )


def _columns(names: Sequence[str], arrows: Sequence[Arrow]) -> dict[str, int]:
    """Breadth first from what nothing leads to (or from the most frequent source, where all is a ring)."""
    following: dict[str, set[str]] = defaultdict(set)
    for a in arrows:
        if a.source != a.target:
            following[a.source].add(a.target)
    reached = {t for targets in following.values() for t in targets}
    begin = [n for n in names if n not in reached] or [max(arrows, key=lambda a: (a.times, a.source)).source]
    found = dict.fromkeys(begin, 0)
    todo = list(begin)
    while todo:
        here = todo.pop(0)
        for name in sorted(following[here]):
            if name not in found:
                found[name] = found[here] + 1
                todo.append(name)
        if not todo:
            left = [n for n in names if n not in found]
            if left:
                found[left[0]] = 0
                todo = [left[0]]
    return found


def _arrow(a: Arrow, place: dict[str, tuple[float, float, float]], most: int) -> str:
    (x1, y1, w1), (x2, y2, w2) = place[a.source], place[a.target]
    y1, y2 = y1 + _NODE_HEIGHT / 2, y2 + _NODE_HEIGHT / 2
    if a.source == a.target:
        path = f"M{x1 + w1 - 26:.1f},{y1 - 13:.1f} c4,-16 22,-16 18,0"
    elif x2 > x1:
        bend = max(30.0, (x2 - x1 - w1) / 2)
        path = f"M{x1 + w1:.1f},{y1:.1f} C{x1 + w1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} {x2 - 5:.1f},{y2:.1f}"
    else:  # back, or within a column: around the outside
        out = 34 + abs(y2 - y1) / 6
        path = (
            f"M{x1 + w1:.1f},{y1 + 6:.1f} C{x1 + w1 + out:.1f},{y1 + 6:.1f} {x2 + w2 + out:.1f},{y2 + 6:.1f} "
            f"{x2 + w2 + 5:.1f},{y2 + 6:.1f}"
        )
    wide = 1 + 4 * log1p(a.times) / log1p(max(1, most))
    title = escape(f"{words.plain(a.source)} to {words.plain(a.target)}: {a.times:,}")
    style = f'class="arrow {a.kind}" stroke-width="{wide:.2f}" marker-end="url(#head)"'
    return f'<path {style} d="{path}"><title>{title}</title></path>'


def _box(label: str, x: float, y: float, width: float, full: str) -> str:
    return (
        f'<g class="node"><title>{escape(full)}</title><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{_NODE_HEIGHT}" rx="5"/><text x="{x + width / 2:.1f}" y="{y + 17:.1f}">{escape(label)}</text></g>'
    )
