"""A badge: `agent coverage 54.7%`."""

from __future__ import annotations

from html import escape

from otelcov.report import Report, words

_COLORS = {"strong": "#1a7f37", "moderate": "#9a6700", "weak": "#cf222e", None: "#57606a"}
_LABEL = "agent coverage"


def render(report: Report) -> str:
    coverage = report.snapshot["coverage"]
    value = words.percent(coverage["overall"])
    left, right = _width(_LABEL), _width(value)
    color = _COLORS[coverage["band"]]
    title = escape(f"{_LABEL}: {value}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">\n'
        f"  <title>{title}</title>\n"
        f'  <clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>\n'
        f'  <g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{color}"/></g>\n'
        '  <g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">\n'
        f'    <text x="{left / 2:g}" y="14">{escape(_LABEL)}</text>\n'
        f'    <text x="{left + right / 2:g}" y="14">{escape(value)}</text>\n'
        "  </g>\n</svg>\n"
    )


def _width(text: str) -> int:
    return 10 + round(6.6 * len(text))
