"""A declared graph as otelcov.toml: what `learn` writes from traffic and `declare` from code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import polars as pl

from otelcov.coverage.edges import Traffic
from otelcov.coverage.observations import Observations
from otelcov.coverage.tally import ASKED

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass
class Agent:
    tools: set[str] = field(default_factory=set)
    delegates_to: set[str] = field(default_factory=set)
    entry: bool = False


@dataclass
class Declaration:
    agents: dict[str, Agent] = field(default_factory=dict)
    tools: dict[str, str | None] = field(default_factory=dict)  # name -> side effects, where known
    models: set[str] = field(default_factory=set)
    paths: list[list[str]] = field(default_factory=list)

    def agent(self, name: str) -> Agent:
        return self.agents.setdefault(name, Agent())


def learned(observations: Observations, min_runs: int = 1, with_paths: bool = False) -> Declaration:
    """What at least `min_runs` runs did: agents with the tools they called and the agents they delegated to."""
    rows = observations.texts().filter(~pl.col("dimension").str.ends_with(ASKED))
    traffic = Traffic.of(rows)
    found = Declaration()
    for name, row in traffic.agents.items():
        if row["runs"] >= min_runs:
            found.agent(name)
    for (agent, tool), row in traffic.plain.items():
        if row["calls"] and row["runs"] >= min_runs:
            if agent is None:
                found.tools.setdefault(tool, None)
            else:
                found.agent(agent).tools.add(tool)
    for (source, target), row in traffic.delegations.items():
        if source is not None and row["calls"] and row["runs"] >= min_runs:
            found.agent(source).delegates_to.add(target)
            found.agent(target)
    reached = {to for agent in found.agents.values() for to in agent.delegates_to}
    for name, agent_ in found.agents.items():
        agent_.entry = name not in reached
    plain = rows.filter(pl.col("agent").is_null()).group_by("dimension", "item").agg(pl.col("runs").sum())
    seen = plain.filter(pl.col("runs") >= min_runs)
    found.models = set(seen.filter(pl.col("dimension") == "model")["item"])
    if with_paths:
        texts = sorted(seen.filter((pl.col("dimension") == "path") & (pl.col("item") != ""))["item"])
        found.paths = [text.split(" > ") for text in texts]
    return found


def toml(found: Declaration, heading: str) -> str:
    """The declaration as TOML, sorted, so that two of them can be compared line by line."""
    lines = [f"# {line}" for line in heading.splitlines()]
    for name, agent in sorted(found.agents.items()):
        lines += ["", f"[agents.{_key(name)}]", f"tools = {_list(agent.tools)}"]
        if agent.delegates_to:
            lines.append(f"delegates_to = {_list(agent.delegates_to)}")
        if agent.entry:
            lines.append("entry = true")
    for name, effects in sorted(found.tools.items()):
        lines += ["", f"[tools.{_key(name)}]"]
        if effects:
            lines.append(f"side_effects = {_text(effects)}")
    for name in sorted(found.models):
        lines += ["", f"[models.{_key(name)}]"]
    if found.paths:
        lines += ["", "[coverage]", "paths = ["]
        lines += [f"    [{', '.join(_text(step) for step in path)}]," for path in found.paths]
        lines.append("]")
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(_text(n) for n in sorted(names))}]"


def _text(text: str) -> str:
    # A JSON string is a TOML basic string, but for DEL and lone surrogates, which TOML cannot hold.
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    written = json.dumps(clean, ensure_ascii=False)
    # What could turn text around on a terminal is written as an escape.
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in written)
