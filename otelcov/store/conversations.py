"""The traces of a conversation, for those who must erase one."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

_KEYS = "(?i)conversation|session|thread"  # in whatever words an instrumentation says it


def traces_naming(frames: Iterable[pl.LazyFrame], conversations: Iterable[str]) -> set[bytes]:
    """Traces of spans or log records with an attribute about a conversation whose value is one of these ids.

    Broader than how runs find their conversation: whoever erases wants the traces that no run was made of, too.
    """
    named = pl.element().struct.field("string_value").is_in(list(conversations))
    about = pl.element().struct.field("key").str.contains(_KEYS)
    says = pl.any_horizontal(pl.col("attributes", "content").list.eval(named & about).list.any())
    found: set[bytes] = set()
    for frame in frames:
        found.update(frame.filter(says, pl.col("trace_id").is_not_null()).select("trace_id").collect()["trace_id"])
    return found
