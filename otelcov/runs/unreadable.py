"""Runs that could not be read: a fault of this program over one trace costs what is known of that trace, and no more.

What came to a collector stays in its store, so that one trace which nobody foresaw would end every report of it. Its
run is told with nothing known and says so; the fault goes to standard error, once for each place where it came up.
Where OTELCOV_STRICT is set, as in the tests, it is raised.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from otelcov.ground.config import BOUNDARIES
from otelcov.runs.rows import Row, run_id
from otelcov.runs.trace.spans import Span
from otelcov.runs.whole.quality import quality

REASON = "could not be read"
_NOTHING: Row = {
    **dict.fromkeys(("conversation_id", "case", "input", "output", "known_tools", "known_tools_source", "scope")),
    **dict.fromkeys(("tool_calls", "llm_calls", "delegations", "path", "states")),
    "settled": True,
    "status": "unknown",
    "agents": [],
    "boundaries": [],
    "boundaries_unknown": list(BOUNDARIES),
    "incomplete": [REASON],
}
_said = set[str]()


def unreadable(spans: Sequence[Span], root: Span, fault: Exception) -> Row:
    """The RUNS row of a run of which these are the spans, and `root` the first, where `fault` was raised over them."""
    traces = sorted({span.trace_id.hex() for span in spans})
    there = {span.span_id for span in spans}
    orphans = sum(s is not root and s.parent_span_id is not None and s.parent_span_id not in there for s in spans)
    known: Row = {
        "run_id": run_id(traces, root.span_id),
        "trace_ids": traces,
        "service": root.service,
        "environment": root.environment,
        "release": root.release,
        "start_unix_nano": min((s.start for s in spans if s.start), default=None),
        "end_unix_nano": max(max(s.start, s.end) for s in spans) or None,
        **quality(spans, orphans),
    }
    return without_facts(known, fault)


def without_facts(row: Row, fault: Exception) -> Row:
    """A RUNS row of which no more is left than what run it is of, where `fault` was raised over it."""
    forgive(fault, f"Trace {row['trace_ids'][0]} could not be read; its run is told, with nothing known of it.")
    return row | _NOTHING


def forgive(fault: Exception, said: str) -> None:
    """Say what a fault costs, once for each place; or raise it, where it is no trace's, or OTELCOV_STRICT is set."""
    if isinstance(fault, MemoryError) or os.environ.get("OTELCOV_STRICT"):
        raise fault
    (last,) = traceback.extract_tb(fault.__traceback__)[-1:]
    where = f"{Path(last.filename).name}:{last.lineno}"
    if where not in _said:
        _said.add(where)
        told = f"{type(fault).__name__}: {str(fault)[:200]!a} ({where})"
        print(f"{said} This is a fault of otelcov's, please report it: {told}", file=sys.stderr)
