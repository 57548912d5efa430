"""What is told wrong of many tellings, each of them a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.runs.encodings import ENCODINGS
from tests.runs.requests import request

_AT_ONCE = 400


def told_wrong(
    some: Sequence[tuple[str, str, Any]], telling: Callable[[int, str, Any], Any]
) -> dict[str, tuple[int, tuple[str, str, Any]]]:
    """How often what is told wrong, with an example. `some` are (encoding, course, way), which `telling` tells under a
    number."""
    found, example = Counter[str](), dict[str, tuple[str, str, Any]]()
    for start in range(0, len(some), _AT_ONCE):
        part = some[start : start + _AT_ONCE]
        told = [telling(start + at, course, way) for at, (_, course, way) in enumerate(part)]
        body = request(ENCODINGS[part[one.number - start][0]](span) for one in told for span in one.spans)
        runs: dict[int, list[dict[str, Any]]] = {one.number: [] for one in told}
        for run in captures.as_json(reconstruct(*from_requests([body], [], 1), Config(), captures.LATER)):
            for number in {int(trace, 16) - 1 for trace in run["trace_ids"]}:
                runs[number].append(run)
        for one in told:
            if (wrong := one.wrong(runs[one.number])) is not None:
                found[wrong] += 1
                example.setdefault(wrong, part[one.number - start])
    return {wrong: (count, example[wrong]) for wrong, count in found.items()}
