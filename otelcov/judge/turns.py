"""What is judged: turns (a user message, the answer, the tool calls between them) and the conversations they make.

A run is one user request; runs of one conversation id are one conversation, and a run that holds several user turns
is told apart by its dialogue. Null means that the spans do not carry it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, TypeVar

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.errors import ConfigError
from otelcov.runs.dialogue import SIMULATED_USER, Dialogue, Evaluation

# The judge's own calls are traced under this service name, and are never judged themselves.
JUDGE_SERVICE = "otelcov-judge"


@dataclass(frozen=True)
class Call:
    """A tool call of a turn, in canonical order."""

    name: str
    agent: str | None
    status: str  # ok | error | requested | unknown
    error_kind: str | None
    error_type: str | None
    arguments: dict[str, Any] | None
    arguments_text: str | None
    result: Any
    start_unix_nano: int

    @property
    def executed(self) -> bool:
        return self.status in ("ok", "error")

    @property
    def same(self) -> str | None:
        """Equal for equal calls; None where the arguments are unknown."""
        return None if self.arguments is None else f"{self.name} {json.dumps(self.arguments, sort_keys=True)}"


class Place(NamedTuple):
    """Which turn, without what was said and done in it."""

    id: str
    turn_index: int
    conversation: str
    run_id: str
    start_unix_nano: int
    agent: str | None


@dataclass(frozen=True)
class Turn:
    """One turn; what a metric, built in or custom, is given."""

    id: str
    conversation: str
    turn_index: int  # 0-based, in the conversation
    user_message: str | None
    agent_message: str | None
    tool_calls: tuple[Call, ...] | None
    history: tuple[tuple[str | None, str | None], ...]  # (user message, agent message) of the turns before
    earlier_calls: tuple[Call, ...]  # of the turns before: an answer may rest on what they returned
    goal: str | None
    knowledge: tuple[str, ...]
    instructions: str | None  # the system prompt
    known_tools: tuple[str, ...] | None
    known_tools_source: str | None
    agent: str | None
    run_id: str
    case: str | None
    service: str | None
    status: str
    model_errors: tuple[str, ...]  # agents whose model call failed
    trace_id: str  # the judged span
    span_id: str
    start_unix_nano: int
    whole: bool  # False where the spans of this run were cut, dropped or masked

    @property
    def place(self) -> Place:
        return Place(self.id, self.turn_index, self.conversation, self.run_id, self.start_unix_nano, self.agent)


@dataclass(frozen=True)
class Conversation:
    id: str
    turns: tuple[Turn, ...]
    path: str  # of its runs: the stratum of a sample
    goal: str | None
    earlier: bool  # said before the first turn of this window
    trace_id: str
    span_id: str
    runs: tuple[str, ...]
    evaluations: tuple[Evaluation, ...] = field(default=())


def conversations(
    runs: pl.DataFrame, dialogues: Mapping[str, Dialogue], config: Config, evaluations: Iterable[Evaluation] = ()
) -> list[Conversation]:
    """The conversations of these runs, by (start, id); the judge's own traces left out."""
    knowledge = _knowledge(config)
    grouped: dict[tuple[str | None, str], list[dict[str, Any]]] = {}
    for row in runs.sort("start_unix_nano", "run_id", nulls_last=True).iter_rows(named=True):
        if row["service"] != JUDGE_SERVICE:
            grouped.setdefault((row["service"], row["conversation_id"] or row["run_id"]), []).append(row)
    owners = {span: run_id for run_id, d in dialogues.items() for span in d.span_ids}
    told: dict[str, list[Evaluation]] = {}
    for e in evaluations:
        if (run := owners.get((e.trace_id, e.span_id))) is not None:
            told.setdefault(run, []).append(e)
    return [_conversation(name, rows, dialogues, config, knowledge, told) for (_, name), rows in grouped.items()]


def _conversation(
    name: str,
    rows: list[dict[str, Any]],
    dialogues: Mapping[str, Dialogue],
    config: Config,
    knowledge: tuple[str, ...],
    told: Mapping[str, list[Evaluation]],
) -> Conversation:
    first = dialogues.get(rows[0]["run_id"])
    history: list[tuple[str | None, str | None]] = list(first.before) if first else []
    earlier = bool(history)
    goal = config.judge.goals.get(name) or next(
        (config.judge.goals[r["case"]] for r in rows if r["case"] in config.judge.goals), None
    )
    turns: list[Turn] = []
    for row in rows:
        dialogue = dialogues.get(row["run_id"])
        for turn in _turns(row, dialogue, name, goal, knowledge, turns, history):
            turns.append(turn)
            history.append((turn.user_message, turn.agent_message))
    last = dialogues.get(rows[-1]["run_id"])
    return Conversation(
        name,
        tuple(turns),
        " | ".join(" > ".join(",".join(step) for step in r["path"] or []) for r in rows),
        goal,
        earlier,
        last.trace_id if last else rows[-1]["trace_ids"][0],
        last.span_id if last else "",
        tuple(r["run_id"] for r in rows),
        tuple(e for r in rows for e in told.get(r["run_id"], ())),
    )


def _turns(
    row: dict[str, Any],
    dialogue: Dialogue | None,
    conversation: str,
    goal: str | None,
    knowledge: tuple[str, ...],
    before: list[Turn],
    history: list[tuple[str | None, str | None]],
) -> list[Turn]:
    calls = [c for c in row["tool_calls"] or [] if not _played(c["agent"])]
    visible = row["tool_calls"] is not None
    parts = dialogue.turns if dialogue is not None else []
    agents = [a for a in row["agents"] or [] if not _played(a)]
    agent = (dialogue.agent if dialogue else None) or (agents[0] if agents else None)
    instructions = dialogue.system if dialogue else None
    model_calls = row["llm_calls"] or []
    out: list[Turn] = []
    past = list(history)
    called = [c for turn in before for c in turn.tool_calls or ()]
    offset = len(before)
    for k in range(max(1, len(parts))):
        part = parts[k] if k < len(parts) else None
        alone = len(parts) <= 1
        user = row["input"] if alone else part.user if part else None
        answer = row["output"] if alone else part.agent if part else None
        if alone and part is not None and _simulated(row, dialogue):
            user, answer = part.user, part.agent
        mine = [c for c in calls if _place(c, parts) == k]
        span = (part.trace_id, part.span_id) if part and not alone else _root(row, dialogue)
        failed = model_calls if alone else model_calls[part.first_call : part.last_call + 1] if part else []
        out.append(
            Turn(
                id=f"{row['run_id']}:{k}",
                conversation=conversation,
                turn_index=offset + k,
                user_message=user,
                agent_message=answer,
                tool_calls=tuple(_call(c) for c in mine) if visible else None,
                history=tuple(past),
                earlier_calls=tuple(called),
                goal=goal,
                knowledge=knowledge,
                instructions=instructions,
                known_tools=tuple(row["known_tools"]) if row["known_tools"] is not None else None,
                known_tools_source=row["known_tools_source"],
                agent=agent,
                run_id=row["run_id"],
                case=row["case"],
                service=row["service"],
                status=row["status"],
                model_errors=tuple(c["agent"] or "" for c in failed if c["status"] == "error"),
                trace_id=span[0],
                span_id=span[1],
                start_unix_nano=(part.start_unix_nano if part and not alone else row["start_unix_nano"]) or 0,
                whole=not {"truncated values", "attributes dropped", "values masked"} & set(row["incomplete"] or []),
            )
        )
        past.append((user, answer))
        called += out[-1].tool_calls or ()
    return out


def _root(row: dict[str, Any], dialogue: Dialogue | None) -> tuple[str, str]:
    return (dialogue.trace_id, dialogue.span_id) if dialogue else (row["trace_ids"][0], "")


def _simulated(row: dict[str, Any], dialogue: Dialogue | None) -> bool:
    """Does a simulated user speak in this run? Then its root's input and output may be that user's."""
    return dialogue is not None and any(_played(a) for a in row["agents"] or [])


def _played(agent: str | None) -> bool:
    return agent is not None and SIMULATED_USER.match(agent) is not None


def _place(call: dict[str, Any], parts: list[Any]) -> int:
    """The turn of a call: that of the model call which asked for it, else the newest that had begun."""
    if len(parts) <= 1:
        return 0
    if call["turn"] is not None:
        return next((k for k, p in enumerate(parts) if p.first_call <= call["turn"] <= p.last_call), len(parts) - 1)
    begun = [k for k, p in enumerate(parts) if p.start_unix_nano <= (call["start_unix_nano"] or 0)]
    return begun[-1] if begun else 0


def _call(c: dict[str, Any]) -> Call:
    return Call(
        c["name"] or "",
        c["agent"],
        c["status"],
        c["error_kind"],
        c["error_type"],
        None if c["arguments"] is None else json.loads(c["arguments"]),
        c["arguments_text"],
        None if c["result"] is None else json.loads(c["result"]),
        c["start_unix_nano"] or 0,
    )


def _knowledge(config: Config) -> tuple[str, ...]:
    texts = list(config.judge.knowledge)
    for path in config.judge.knowledge_files:
        try:
            texts.append(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"Couldn't read {path}, a file of [judge] knowledge_files: {error}.") from None
    return tuple(texts)


def only(found: list[Conversation], agents: tuple[str, ...]) -> list[Conversation]:
    """What these agents did: their answers and their calls. The history before a turn stays whole."""
    if not agents:
        return found
    kept = []
    for conversation in found:
        turns = []
        for turn in conversation.turns:
            calls = None if turn.tool_calls is None else tuple(c for c in turn.tool_calls if c.agent in agents)
            if turn.agent in agents or calls:
                turns.append(replace(turn, tool_calls=calls))
        if turns:
            kept.append(replace(conversation, turns=tuple(turns)))
    return kept


class Stratified(Protocol):
    """What can be sampled: a conversation, or what is left of one without its words."""

    @property
    def id(self) -> str: ...

    @property
    def path(self) -> str: ...


S = TypeVar("S", bound=Stratified)


def sample(found: Sequence[S], size: int | None) -> Sequence[S]:
    """At most `size` conversations, each with the same chance, spread over the paths.

    Systematic sampling (Madow & Madow 1944) of the conversations sorted by path: every path gets its share, and a
    plain mean over the sample needs no weights. Which one of a path is taken follows from a hash of its id, so that
    equal windows give equal samples.
    """
    if size is None or len(found) <= size:
        return found
    ordered = sorted(range(len(found)), key=lambda k: (found[k].path, sha256(found[k].id.encode()).digest()))
    step = len(ordered) / size
    chosen = {ordered[int((k + 0.5) * step)] for k in range(size)}
    return [c for k, c in enumerate(found) if k in chosen]
