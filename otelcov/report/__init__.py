"""Reports: one module per format, each a function from a `Report` to text.

The table holds a module per name; it is imported when that format is asked for. A third party adds a format through
the entry point group `otelcov.reports`: a function `render(report) -> str`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from otelcov.ground.errors import UsageError, did_you_mean

BUILT_IN = {
    "text": "otelcov.report.text",
    "json": "otelcov.report.json",
    "markdown": "otelcov.report.markdown",
    "html": "otelcov.report.html",
    "junit": "otelcov.report.junit",
    "csv": "otelcov.report.csv",
    "svg": "otelcov.report.svg",
    "prometheus": "otelcov.report.prometheus",
}


@dataclass(frozen=True)
class Report:
    """What a report tells: a snapshot, and beside it the groups, gaps and verdicts that were asked for."""

    snapshot: dict[str, Any]
    by: str | None = None
    groups: list[dict[str, Any]] = field(default_factory=list)
    gaps: dict[str, Any] | None = None
    verdicts: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The snapshot, with what stands beside it."""
        body = dict(self.snapshot)
        if self.by is not None:
            body["by"] = {"field": self.by, "groups": self.groups}
        if self.verdicts:
            body["verdicts"] = self.verdicts
        return body


def formats() -> list[str]:
    from otelcov.ground.plugins import plugins

    return [*BUILT_IN, *(p.name for p in plugins("otelcov.reports") if p.name not in BUILT_IN)]


def render(report: Report, format: str, **options: Any) -> str:
    """The report in a format; `options` are that format's own (a width and colours for text)."""
    return renderer(format)(report, **options)


def renderer(format: str) -> Callable[..., str]:
    """The function of a format; `UsageError` where there is none."""
    if format in BUILT_IN:
        found: Callable[..., str] = import_module(BUILT_IN[format]).render
        return found
    from otelcov.ground.plugins import plugins  # looks into every package that is installed

    for point in plugins("otelcov.reports"):
        if point.name == format:
            loaded: Callable[..., str] = point.load()
            return loaded
    known = formats()
    raise UsageError(
        f'There is no report format "{format}": known are {", ".join(known)}.{did_you_mean(format, known)}'
    )
