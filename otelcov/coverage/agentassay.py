"""AgentAssay's own coverage numbers, from spans: the profile `agentassay`.

A trace is a root span `invoke_agent`; a step is one of its children with `agentassay.action`. Nothing else is read.
The formulas are AgentAssay's as its documentation and recorded results show them, invented denominators included:

    C_tool     = |used and known| / |known|
    C_path     = |distinct action sequences| / |actions|^(longest sequence), sequences cut at `max_path_depth`
    C_state    = u / (u + 1) for u distinct (action, tool, type of output)
    C_boundary = |ranges with a value within 10 % of both ends| / |ranges|; 1 without ranges
    C_model    = |used and known| / |known|; 1 without known models
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.errors import ConfigError

ACTION = "agentassay.action"
METADATA = "agentassay.metadata."
_NEAR = 0.1
_DEEPEST = 24  # levels of a message
# Where an instrumentation puts what the model said; only whether it is empty matters.
_SAID = ("agentassay.llm_output", "gen_ai.output.messages", "gen_ai.completion", "output.value")


@dataclass(frozen=True)
class Step:
    action: str
    tool: str | None
    output: str
    model: str | None


@dataclass
class Trace:
    model: str | None
    steps: list[Step] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Tuple5:
    """The five numbers, with what they were counted from."""

    scores: dict[str, float]
    tools: frozenset[str]
    known_tools: frozenset[str]
    models: frozenset[str]
    known_models: frozenset[str] | None
    paths: frozenset[tuple[str, ...]]
    states: frozenset[tuple[str, str | None, str]]
    boundaries: dict[str, bool]
    traces: int

    @property
    def overall(self) -> float:
        product = 1.0
        for score in self.scores.values():
            product *= score
        return float(product ** (1 / len(self.scores)))

    @property
    def weakest(self) -> str:
        return min(self.scores, key=lambda name: self.scores[name])


def measure(spans: pl.DataFrame, config: Config) -> Tuple5:
    """AgentAssay's tuple of these SPANS; tools and models as declared, ranges from `[coverage.agentassay]`."""
    tools = frozenset(config.tools).union(*(agent.tools or () for agent in config.agents.values()))
    if not tools:
        raise ConfigError(
            "The profile agentassay needs known tools: declare at least one, like [tools.search], in otelcov.toml."
        )
    settings = config.coverage.agentassay
    models = frozenset(config.models) if config.models else None
    return of_traces(traces(spans), tools, models, settings.boundaries, settings.max_path_depth)


def of_traces(
    found: list[Trace],
    known_tools: frozenset[str],
    known_models: frozenset[str] | None,
    ranges: dict[str, tuple[float, float]],
    depth: int = 10,
) -> Tuple5:
    steps = [step for trace in found for step in trace.steps]
    tools = frozenset(s.tool for s in steps if s.tool is not None)
    models = frozenset(m for t in found for m in (t.model, *(s.model for s in t.steps)) if m)
    paths = frozenset(tuple(s.action for s in t.steps[:depth]) for t in found if t.steps)
    states = frozenset((s.action, s.tool, s.output) for s in steps)
    near = {name: _near_both_ends(found, name, *ends) for name, ends in ranges.items()}
    actions = {action for path in paths for action in path}
    possible = len(actions) ** max(map(len, paths), default=0) if paths else 0
    scores = {
        "tool": len(tools & known_tools) / len(known_tools),
        "path": min(1.0, len(paths) / possible) if possible else 0.0,
        "state": len(states) / (len(states) + 1),
        "boundary": sum(near.values()) / len(near) if near else 1.0,
        "model": 1.0 if known_models is None else len(models & known_models) / len(known_models),
    }
    return Tuple5(scores, tools, known_tools, models, known_models, paths, states, near, len(found))


def traces(spans: pl.DataFrame) -> list[Trace]:
    """The traces and steps that these spans tell, in the order of time."""
    # Rows, not expressions: a profile reads few spans, and values of every type become Python values here.
    order = ["start_time_unix_nano", "span_id"]
    roots: dict[tuple[bytes, bytes], Trace] = {}
    rows = list(spans.sort(order).select("trace_id", "span_id", "parent_span_id", "attributes", "content").iter_rows())
    for trace_id, span_id, parent, attributes, content in rows:
        if parent is None:
            read = _read(attributes, content)
            if read.get("gen_ai.operation.name") == "invoke_agent":
                roots[trace_id, span_id] = Trace(read.get("gen_ai.request.model"), [], [_metadata(read)])
    for trace_id, _, parent, attributes, content in rows:
        if parent is not None and (trace_id, parent) in roots:
            read = _read(attributes, content)
            if ACTION in read:
                trace = roots[trace_id, parent]
                trace.steps.append(_step(read))
                trace.metadata.append(_metadata(read))
    return list(roots.values())


def as_snapshot(result: Tuple5, base: dict[str, Any]) -> dict[str, Any]:
    """The tuple in the shape of a snapshot; `base` is an empty one."""
    known = {"tool": result.known_tools, "model": result.known_models, "boundary": frozenset(result.boundaries)}
    seen = {
        "tool": result.tools,
        "model": result.models,
        "boundary": frozenset(name for name, near in result.boundaries.items() if near),
        "path": frozenset(" > ".join(path) for path in result.paths),
        "state": frozenset("|".join(map(str, state)) for state in result.states),
    }
    for d in base["coverage"]["dimensions"]:
        name = d["dimension"]
        universe = known.get(name)
        covered = seen[name] & universe if universe else seen[name]
        d |= {
            "score": result.scores[name],
            "method": "agentassay",
            "covered": len(covered),
            "known": len(universe) if universe else None,
            "covered_items": sorted(covered),
            "missing": sorted((universe or frozenset()) - seen[name]),
            "undeclared": sorted(seen[name] - universe) if universe else [],
            "runs": result.traces,
            "universe": "declared" if universe else "none",
            "reason": None,
        }
    base["coverage"] |= {"overall": result.overall, "weakest": result.weakest, "profile": "agentassay"}
    base["runs"]["total"] = result.traces
    return base


def _step(read: dict[str, Any]) -> Step:
    action = str(read[ACTION]).strip().lower()
    tool = read.get("gen_ai.tool.name") if action == "tool_call" else None
    if action == "tool_call":
        output = _type_of(read.get("gen_ai.tool.call.result"))
    elif action == "llm_response":
        output = "llm_text" if any(_says(read.get(key)) for key in _SAID) else "llm_empty"
    else:
        output = "no_output"
    return Step(action, tool, output, read.get("gen_ai.request.model"))


def _says(value: Any, depth: int = 0) -> bool:
    """Whether a message has text; messages may be JSON with empty parts."""
    if depth > _DEEPEST:
        return bool(value)
    if isinstance(value, str) and value[:1] in "[{" and value:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return True
    if isinstance(value, list):
        return any(_says(part, depth + 1) for part in value)
    if isinstance(value, dict):
        return any(_says(value.get(key), depth + 1) for key in ("content", "text", "parts"))
    return bool(value)


def _type_of(result: Any) -> str:
    if result is None:
        return "no_output"
    if isinstance(result, str):
        try:
            result = json.loads(result)
        except (ValueError, RecursionError):
            return "str"
    return "no_output" if result is None else type(result).__name__


def _near_both_ends(found: list[Trace], name: str, low: float, high: float) -> bool:
    margin = _NEAR * (high - low)
    values = [v for trace in found for metadata in trace.metadata for v in _numbers(metadata.get(name))]
    return any(v <= low + margin for v in values) and any(v >= high - margin for v in values)


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, list):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, (bool, int, float)):
        yield float(value)


def _metadata(read: dict[str, Any]) -> dict[str, Any]:
    return {key.removeprefix(METADATA): value for key, value in read.items() if key.startswith(METADATA)}


def _read(*lists: Iterable[dict[str, Any]] | None) -> dict[str, Any]:
    """The attributes of a span as Python values."""
    return {kv["key"]: _value(kv) for some in lists for kv in some or ()}


def _value(kv: dict[str, Any]) -> Any:
    for name in ("string_value", "bool_value", "int_value", "double_value", "bytes_value"):
        if kv[name] is not None:
            return kv[name]
    if kv["array_value"] is not None:
        from opentelemetry.proto.common.v1.common_pb2 import ArrayValue

        return [_any(value) for value in ArrayValue.FromString(kv["array_value"]).values]
    return None


def _any(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_any(part) for part in value.array_value.values]
    return None if kind is None else getattr(value, kind)
