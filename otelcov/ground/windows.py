"""Half-open time ranges [since, until), in nanoseconds since the Unix epoch, and the words that name them."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from otelcov.ground.errors import UsageError

SECOND = 1_000_000_000
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
    "d": 86_400 * SECOND,
    "w": 7 * 86_400 * SECOND,
}
_PART = r"\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d|w)"
_DURATION = re.compile(rf"(?:{_PART})+")
_FRACTION = re.compile(r"(?<=:\d\d)[.,](\d+)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_NS = 2**63 - 1  # what Parquet and Delta can hold
DEFAULT_LENGTH_NS = 24 * _UNITS["h"]


@dataclass(frozen=True)
class Window:
    """A run belongs to it if it starts in [since_ns, until_ns); None leaves that end open."""

    since_ns: int | None = None
    until_ns: int | None = None

    def __contains__(self, time_ns: int | None) -> bool:
        """Whether a start lies inside; an unknown start lies only in the window without ends."""
        if time_ns is None:
            return self == ALL
        return (self.since_ns is None or time_ns >= self.since_ns) and (
            self.until_ns is None or time_ns < self.until_ns
        )

    def __and__(self, other: Window) -> Window:
        """What lies in both; it may be empty."""
        since = [ns for ns in (self.since_ns, other.since_ns) if ns is not None]
        until = [ns for ns in (self.until_ns, other.until_ns) if ns is not None]
        return Window(max(since, default=None), min(until, default=None))


ALL = Window()


def parse(since: str | None, until: str | None, now: int, length_ns: int = DEFAULT_LENGTH_NS) -> Window:
    """The window that `--since` and `--until` name at the clock `now`: by default the 24 hours before its end."""
    if since is not None and since.strip().lower() == "all":
        return Window(None, None if until is None or until.strip().lower() == "all" else moment(until, now))
    until_ns = now if until is None else None if until.strip().lower() == "all" else moment(until, now)
    since_ns = max(0, (now if until_ns is None else until_ns) - length_ns) if since is None else moment(since, now)
    if until_ns is not None and since_ns >= until_ns:
        raise UsageError(
            f"The window is empty: it would begin at {iso(since_ns)} and end at {iso(until_ns)}. "
            "Give a --since that lies before --until."
        )
    return Window(since_ns, until_ns)


def clock(now: str | None) -> int:
    """The time that `--now` fixes, else the real one."""
    return time.time_ns() if now is None else moment(now, time.time_ns())


def moment(text: str, now: int) -> int:
    """A point in time: a duration is that long before `now`; an ISO 8601 time without an offset is UTC."""
    word = text.strip()
    if _DURATION.fullmatch(word):
        return max(0, now - duration(word))
    try:
        at = datetime.fromisoformat(_FRACTION.sub("", word))
    except ValueError:
        raise UsageError(
            f'Couldn\'t read "{text}" as a time. Give a duration (24h, 7d, 1h30m), an ISO time '
            "(2026-01-31, 2026-01-31T12:00:00Z) or all."
        ) from None
    since_epoch = (at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH
    fraction = _FRACTION.search(word)  # nanoseconds, where datetime stops at micro
    ns = since_epoch // timedelta(seconds=1) * SECOND + (int(fraction[1][:9].ljust(9, "0")) if fraction else 0)
    return min(max(0, ns), _LATEST_NS)


def duration(text: str) -> int:
    """`1h30m` in nanoseconds."""
    if not _DURATION.fullmatch(text.strip()):
        raise UsageError(f'Couldn\'t read "{text}" as a duration. Write it like 60s, 1h30m or 7d.')
    parts = re.findall(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d|w)", text)
    return min(sum(int(n) * _UNITS[u] if n.isdigit() else round(float(n) * _UNITS[u]) for n, u in parts), _LATEST_NS)


def iso(time_ns: int) -> str:
    """ISO 8601 in UTC, with as many decimals as needed."""
    seconds, fraction = divmod(time_ns, SECOND)
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}{f'.{fraction:09d}'.rstrip('0') if fraction else ''}Z"


def span_text(length_ns: int) -> str:
    """A length of time as `duration` reads it: `1h30m`, `60s` as `1m`, zero as `0s`."""
    parts, rest = [], length_ns
    for unit in ("d", "h", "m", "s", "ms", "us", "ns"):
        count, rest = divmod(rest, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
