"""In which day and hour a row lies, and where nobody may open a partition of his own.

A row lies in the hour of its start (UTC), else of its end; a log record in that of its time, else of when it was
observed. The collector trusts that only within [received - 30 days, received + 1 hour], an import in any hour but in
at most 1,000 of them a batch. All else lies in one partition, `out-of-range`.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from otelcov.store.tables import OUT_OF_RANGE

if TYPE_CHECKING:
    import numpy as np

HOUR_NS = 3_600_000_000_000
_PAST_NS, _FUTURE_NS = 30 * 24 * HOUR_NS, HOUR_NS
_MOST_HOURS = 1_000
_LATEST_NS = 2**63  # beyond it no calendar of any reader goes
TIMES = {
    "spans": ("start_time_unix_nano", "end_time_unix_nano"),
    "logs": ("time_unix_nano", "observed_time_unix_nano"),
}


def moment(table: str) -> pl.Expr:
    """The time that decides where a row lies; 0 where it has none."""
    first, second = TIMES[table]
    return pl.when(pl.col(first) > 0).then(first).otherwise(second)


def hours(table: str, rows: Any, any_hour: bool, open_: Collection[int] = ()) -> np.ndarray[Any, Any]:
    """The hour of each row since the epoch, -1 for out of range; `rows` is a laid-out table.

    `open_` are the hours that the batch has met so far: they count for how many it may have.
    """
    import numpy as np

    first, second = (rows.column(name).to_numpy() for name in TIMES[table])
    at = np.where(first > 0, first, second)
    if any_hour:
        inside = (at > 0) & (at < _LATEST_NS)
    else:
        received = rows.column("received_unix_nano").to_numpy()
        inside = (at + np.uint64(_PAST_NS) >= received) & (at <= received + np.uint64(_FUTURE_NS)) & (at < _LATEST_NS)
    found = np.where(inside, at // np.uint64(HOUR_NS), 0).astype(np.int64)
    found[~inside] = -1
    new, counts = np.unique(found[~np.isin(found, [-1, *open_])], return_counts=True)
    room = max(0, _MOST_HOURS - len(open_))
    if len(new) > room:
        found[np.isin(found, new[np.argsort(-counts, kind="stable")[room:]])] = -1
    return found


def names(hour: int) -> tuple[str, str]:
    """The day and the hour of a partition as they are written."""
    if hour < 0:
        return OUT_OF_RANGE, "00"
    at = datetime.fromtimestamp(hour * 3600, UTC)
    return at.strftime("%Y-%m-%d"), at.strftime("%H")


def number(day: str, hour: str) -> int:
    """The way back: hours since the epoch, -1 for out of range."""
    if day == OUT_OF_RANGE:
        return -1
    return int(datetime.strptime(f"{day} {hour}", "%Y-%m-%d %H").replace(tzinfo=UTC).timestamp()) // 3600
