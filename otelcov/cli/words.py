"""Times, numbers and texts of runs in few columns. `-` is what is not known."""

from __future__ import annotations

from otelcov.ground import windows
from otelcov.report.words import plain

_WIDE = 400  # characters of a text that can still matter for one line


def when(time_ns: int | None) -> str:
    """`11-21 22:46:28`, in UTC."""
    return "-" if not time_ns else windows.iso(time_ns // windows.SECOND * windows.SECOND)[5:19].replace("T", " ")


def duration(start_ns: int | None, end_ns: int | None) -> str:
    """`340ms`, `2.4s`, `3m05s`, `1h02m`."""
    if not start_ns or not end_ns:
        return "-"
    length = max(0, end_ns - start_ns)
    seconds = length / windows.SECOND
    if seconds < 0.9995:
        return f"{length / 1e6:.0f}ms" if length >= 1_000_000 else f"{length / 1e6:.1f}ms"
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"


def number(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def one_line(text: str | None, length: int = _WIDE) -> str:
    """A text on one line, and nothing in it that a terminal would obey: span text is whatever somebody sent."""
    if text is None:
        return "-"
    clean = plain(" ".join(text[: 2 * length].split()))
    return clean if len(clean) <= length else clean[: length - 1] + "…"
