"""What was said in a run, turn by turn: the user's words, the agent's answer, and the span that holds it.

A run row has one input and one output. A run that holds several user turns (one trace of a whole chat) is told apart
here: a turn begins where the entry agent's model call ends with new words of the user although its last answer asked
for no tool. Both forms of history are read: cumulative (each call repeats all messages) and new messages alone.

`turn` of a run's tool calls counts model calls; `Turn.first_call` and `Turn.last_call` are the same numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.patterns import late
from otelcov.ground.schemas import LOGS
from otelcov.runs.agents.delegation import coworker_agents
from otelcov.runs.agents.delegations import delegations
from otelcov.runs.content.chat import Message
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.prose import final_answer, own_words
from otelcov.runs.joining.first_step import first_step, root_of
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.model_call import ModelCall, in_order
from otelcov.runs.reconstruct import groups
from otelcov.runs.rows import run_id
from otelcov.runs.tools.calls import merge
from otelcov.runs.tools.executions import tool_spans
from otelcov.runs.trace.tree import Node

EVALUATION = "gen_ai.evaluation.result"
# Agents that play the user (tau2, AG2 and others name them so): they ask, and are not judged.
SIMULATED_USER = late(r"^(user|human|customer)([ _-]?(simulator|simulation|proxy|sim|agent))?$", re.I)


@dataclass(frozen=True)
class Turn:
    """One exchange. Null texts are not on the wire."""

    user: str | None
    agent: str | None
    first_call: int
    last_call: int
    trace_id: str  # of the span that gave the answer, else of the root
    span_id: str
    start_unix_nano: int
    end_unix_nano: int


@dataclass(frozen=True)
class Evaluation:
    """A `gen_ai.evaluation.result` event, of whatever tool (OpenTelemetry GenAI semantic conventions)."""

    name: str
    value: float | None
    label: str | None
    explanation: str | None
    trace_id: str
    span_id: str
    source: str  # the event's scope or service, else "unknown"


@dataclass
class Dialogue:
    """The turns of one run, what was said before it, and how others judged it."""

    run_id: str
    trace_id: str
    span_id: str  # the root step
    agent: str | None = None  # whom the user talks to
    system: str | None = None
    before: list[tuple[str | None, str | None]] = field(default_factory=list)  # (user, agent) of earlier requests
    turns: list[Turn] = field(default_factory=list)
    span_ids: frozenset[tuple[str, str]] = frozenset()


def dialogues(
    spans: pl.LazyFrame | pl.DataFrame,
    logs: pl.LazyFrame | pl.DataFrame | None = None,
    config: Config | None = None,
) -> dict[str, Dialogue]:
    """The dialogue of each run of these spans, by run id."""
    config = config or Config()
    frame = spans.lazy().collect()
    records = logs.lazy().collect() if logs is not None else LOGS.to_frame()
    found = (_dialogue(group, config) for group in groups(frame, records, config))
    return {dialogue.run_id: dialogue for dialogue in found}


def _dialogue(group: list[Fragment], config: Config) -> Dialogue:
    nodes = [n for f in group for n in f.nodes]
    calls = in_order(c for f in group for c in f.calls)
    coworker_agents(nodes)
    for number, call in enumerate(calls):
        call.turn = number
        call.agent = call.layers[-1].agent or call.node.agent
    root = root_of(group)
    if root.orphan:  # it may have been called
        root = first_step(group, delegations(nodes, merge(calls, tool_spans(nodes)), calls))
    trace_ids = sorted({f.trace_id.hex() for f in group})
    out = Dialogue(run_id(trace_ids, root.span.span_id), root.span.trace_id.hex(), root.span.span_id.hex())
    out.span_ids = frozenset((n.span.trace_id.hex(), n.span.span_id.hex()) for n in nodes)
    out.agent = entry = _entry(root, calls, config)
    own = [c for c in calls if c.agent == entry]
    if own:
        out.system, out.before = _opening(own[0])
    starts = _starts(own)
    for k, call in enumerate(starts):
        first = 0 if k == 0 else call.turn
        last = starts[k + 1].turn - 1 if k + 1 < len(starts) else len(calls) - 1
        out.turns.append(_turn(call, calls[first : last + 1], entry, first, last, root, k == 0))
    return out


def _entry(root: Node, calls: list[ModelCall], config: Config) -> str | None:
    """The agent the user talks to."""
    names = [c.agent for c in calls if c.agent is None or not SIMULATED_USER.match(c.agent)]
    declared = [n for n in names if n is not None and n in config.agents and config.agents[n].entry]
    if declared:
        return declared[0]
    if root.own_agent in names:
        return root.own_agent
    return names[0] if names else None


def _starts(own: list[ModelCall]) -> list[ModelCall]:
    """The calls of the entry agent that begin a turn."""
    out: list[ModelCall] = []
    before: ModelCall | None = None
    for call in own:
        if before is None or (before.error is None and not before.requests and before.text and _asks(call, before)):
            out.append(call)
        before = call
    return out


def _asks(call: ModelCall, before: ModelCall) -> bool:
    """Does this call's input end with new words of the user?"""
    words, known = _newest(call.inputs), _newest(before.inputs)
    if not words:
        return False
    return words != known or len(call.inputs or []) > len(before.inputs or [])


def _newest(inputs: list[Message] | None) -> list[str]:
    """The user's messages after the last answer or result."""
    words: list[str] = []
    for x in reversed(inputs or []):
        if x.role == "system":
            continue
        if x.role != "user" or x.results or x.text is None:
            break
        words.insert(0, own_words(x.text) or "")
    return words


def _opening(call: ModelCall) -> tuple[str | None, list[tuple[str | None, str | None]]]:
    """The instructions, and the exchanges that the first call brings along from earlier requests."""
    inputs = call.inputs or []
    system = next((x.text for x in inputs if x.role in ("system", "developer") and x.text), None)
    if system is None:
        raw = next((n.system for n in call.layers if n.system), None)
        opened = parse_json(raw) if raw and raw[:1] in "[{" else None
        parts = messages_of(opened, "system") if opened is not None else []
        system = "\n".join(x.text for x in parts if x.text) or raw
    said: list[tuple[str | None, str | None]] = []
    user: str | None = None
    answer: str | None = None
    for x in inputs:
        if x.role == "user" and not x.results and x.text is not None:
            if answer is not None:
                said.append((user, answer))
                user = answer = None
            user = x.text if user is None else f"{user}\n{x.text}"
        elif x.role == "assistant" and x.text:
            answer = x.text
    if answer is not None:
        said.append((user, answer))
    return system, said


def _turn(
    begin: ModelCall, calls: list[ModelCall], entry: str | None, first: int, last: int, root: Node, opening: bool
) -> Turn:
    words = _newest(begin.inputs)
    if not words and opening:  # the input ends with something else: its last user message opens the run
        users = [x.text for x in begin.inputs or [] if x.role == "user" and not x.results and x.text is not None]
        words = users[-1:]
    answered = [c for c in calls if c.error is None and c.text and not _played(c.agent)]
    final = answered[-1] if answered and not answered[-1].requests else None
    asked = [c for c in calls if not _played(c.agent)]
    node = final.node if final is not None else asked[-1].node if asked else root
    own = [c for c in calls if not _played(c.agent)]
    return Turn(
        "\n".join(words) if words else None,
        final_answer(final.text) if final is not None else None,
        first,
        last,
        node.span.trace_id.hex(),
        node.span.span_id.hex(),
        min((c.start for c in own), default=root.start),
        max((c.end for c in own), default=root.end),
    )


def _played(agent: str | None) -> bool:
    return agent is not None and SIMULATED_USER.match(agent) is not None


def evaluations(spans: pl.LazyFrame | pl.DataFrame, logs: pl.LazyFrame | pl.DataFrame | None) -> list[Evaluation]:
    """Every `gen_ai.evaluation.result` in span events and log records, sorted."""
    from otelcov.runs.trace.attributes import scope_of, struct_value

    found: list[Evaluation] = []

    def take(trace: bytes, span: bytes, pairs: list[dict[str, Any]], body: Any, source: str) -> None:
        attributes = {kv["key"]: struct_value(kv) for kv in pairs}
        if isinstance(body, dict):
            attributes = body | attributes
        value = attributes.get("gen_ai.evaluation.score.value")
        found.append(
            Evaluation(
                str(attributes.get("gen_ai.evaluation.name") or "unnamed"),
                float(value) if isinstance(value, (int, float)) else None,
                _text(attributes.get("gen_ai.evaluation.score.label")),
                _text(attributes.get("gen_ai.evaluation.explanation")),
                trace.hex(),
                span.hex(),
                source,
            )
        )

    with_events = (
        spans.lazy()
        .filter(pl.col("events").list.len() > 0)
        .select("trace_id", "span_id", "scope", "service", "events")
        .explode("events")
        .filter(pl.col("events").struct.field("name") == EVALUATION)
        .collect()
    )
    for trace, span, scope, service, event in with_events.iter_rows():
        take(trace, span, event["attributes"] or [], None, scope_of(scope)[0] or service or "unknown")
    if logs is not None:
        named = pl.col("attributes").list.eval(
            (pl.element().struct.field("key") == "event.name")
            & (pl.element().struct.field("string_value") == EVALUATION)
        )
        records = (
            logs.lazy()
            .filter(pl.col("trace_id").is_not_null() & pl.col("span_id").is_not_null())
            .filter((pl.col("event_name") == EVALUATION) | named.list.any())
            .collect()
        )
        for row in records.iter_rows(named=True):
            pairs = [*(row["attributes"] or []), *(row["content"] or [])]
            source = scope_of(row["scope"])[0] or row["service"] or "unknown"
            take(row["trace_id"], row["span_id"], pairs, struct_value(row["body"]), source)
    return sorted(found, key=lambda e: (e.trace_id, e.span_id, e.source, e.name, e.value or 0, e.label or ""))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
