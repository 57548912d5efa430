"""How exactly it is told when a span began."""

from __future__ import annotations

_TICK_NS = 1_000_000  # OpenTelemetry's clock for JavaScript


def tick_ns(moment_ns: int) -> int:
    """By how much later than it is told a moment may have been: by less than this, where a clock counts milliseconds;
    0 where it counts what is less."""
    return 0 if moment_ns % _TICK_NS else _TICK_NS
