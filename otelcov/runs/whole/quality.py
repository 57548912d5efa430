"""How far a run's spans can be trusted: how many they are, which nothing explains, what they lost, and for how many
others they stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import Any

from otelcov.runs.trace.spans import Span


def quality(spans: Sequence[Span], orphans: int) -> dict[str, Any]:
    """The columns of RUNS beyond the run JSON. `orphans`: those of the spans whose parent has not come."""
    strange = Counter([s.scope for s in spans if s.kind is None])
    sampled, weight = _sampling(spans)
    return {
        "spans": len(spans),
        "orphans": orphans,
        "unexplained": [{"scope": scope, "spans": count} for scope, count in sorted(strange.items())],
        "dropped_attributes": sum(s.dropped for s in spans),
        "masked": sum(s.masked for s in spans),
        "sampled": sampled,
        "weight": weight,
    }


def _sampling(spans: Sequence[Span]) -> tuple[str | None, float]:
    """(sign of sampling, adjusted count). Threshold by OpenTelemetry's consistent probability sampling (`ot=th:`)."""
    for s in spans:
        hit = re.search(r"(?:^|,)\s*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})", s.trace_state) if s.trace_state else None
        if hit is not None:
            threshold = int(hit.group(1).ljust(14, "0"), 16)
            return ("known", 2**56 / (2**56 - threshold)) if threshold else (None, 1.0)
    unknown = False
    for s in spans:
        if s.sampling is not None:
            try:
                rate = float(s.sampling)
            except ValueError:
                rate = 0.0  # a priority, or no number
            if 1 < rate < inf:
                return "known", rate
            unknown |= rate != 1
    return ("unknown" if unknown else None), 1.0
