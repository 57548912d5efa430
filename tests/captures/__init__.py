"""Recorded OTLP of real frameworks, packed: one archive a dialect, with the truth of what the agents really did.

`corpus/` and `more/` hold `<dialect>.tar.xz`; in each `<scenario>/` the raw request bodies in the order of their
arrival, `truth.json` (from the script and the tools' own log, never from spans) and the trace ids of each run.
`python -m tests.captures.pack FOLDER tests/captures/corpus` packs a folder of recordings.
"""

from __future__ import annotations

import json
import re
import tarfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from collector import otlp_json
from otelcov.ground.config import Config
from otelcov.runs import reconstruct, run_json
from otelcov.store.layout import from_requests

HERE = Path(__file__).parent
LATER = 2**62  # a clock at which every run has settled
BODY = re.compile(r"\d+\.(traces|logs)\.(pb|json)")


@dataclass(frozen=True)
class Scenario:
    """The requests of one scenario in the order of arrival, and what happened."""

    dialect: str
    name: str
    requests: tuple[tuple[str, bytes], ...]  # signal, protobuf
    runs: tuple[dict[str, Any], ...]
    traces: tuple[frozenset[str], ...]  # of each run

    def bodies(self, signal: str) -> list[bytes]:
        return [body for kind, body in self.requests if kind == signal]


def dialects(set_name: str) -> list[str]:
    """The packed dialects of `corpus` or `more`."""
    return sorted(p.name.removesuffix(".tar.xz") for p in (HERE / set_name).glob("*.tar.xz"))


@lru_cache(maxsize=4)
def packed(set_name: str, dialect: str) -> tuple[Scenario, ...]:
    files: dict[str, dict[str, bytes]] = {}
    with tarfile.open(HERE / set_name / f"{dialect}.tar.xz") as archive:
        for member in archive:
            if member.isfile() and "/" in member.name:
                scenario, name = member.name.split("/")
                content = archive.extractfile(member)
                assert content is not None
                files.setdefault(scenario, {})[name] = content.read()
    return tuple(_scenario(dialect, name, files[name]) for name in sorted(files))


def folder(path: Path) -> tuple[Scenario, ...]:
    """The scenarios of a dialect's recordings that are not packed."""
    found = []
    for truth in sorted(path.glob("*/truth.json")):
        files = {p.name: p.read_bytes() for p in truth.parent.iterdir() if p.is_file()}
        found.append(_scenario(path.name, truth.parent.name, files))
    return tuple(found)


def runs_of(scenarios: tuple[Scenario, ...], config: Config | None = None) -> pl.DataFrame:
    """The runs of all scenarios, as if imported in order."""
    traces = [body for s in scenarios for body in s.bodies("traces")]
    logs = [body for s in scenarios for body in s.bodies("logs")]
    return reconstruct(*from_requests(traces, logs, 1), config or Config(), LATER)


def as_json(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [run_json(row, {}) for row in frame.iter_rows(named=True)]


def _scenario(dialect: str, name: str, files: dict[str, bytes]) -> Scenario:
    truth = json.loads(files["truth.json"])
    index = json.loads(files["trace_index.json"])["trace_ids_by_run"] if "trace_index.json" in files else {}
    requests = []
    for file in sorted(files):
        match = BODY.fullmatch(file)
        if match:
            body = files[file]
            requests.append((match[1], otlp_json.to_protobuf(match[1], body) if match[2] == "json" else body))
    return Scenario(
        dialect,
        name,
        tuple(requests),
        tuple(truth["runs"]),
        tuple(frozenset(index.get(str(run["run"]), ())) for run in truth["runs"]),
    )
