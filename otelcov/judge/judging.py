"""Asking every question of every metric about every turn: what is asked, what came back, what is missing."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pydantic import BaseModel

from otelcov.ground.config import Judge as Settings
from otelcov.ground.errors import OtelcovError
from otelcov.judge import answers, prompts
from otelcov.judge.client import Client, _shape, guessed_tokens
from otelcov.judge.ledger import Answer, Ledger, question
from otelcov.judge.metrics import Metric
from otelcov.judge.turns import Conversation, Place, Turn

NOT_RECORDED = "not_recorded"  # the spans carry no answer that could be judged


@dataclass(frozen=True)
class Question:
    """One metric about one turn or conversation. `data` is None where the spans do not carry what it needs."""

    metric: Metric
    subject: Turn | Conversation
    data: str | None

    @property
    def turn(self) -> Turn:
        """The judged turn; of a conversation, the last."""
        return self.subject if isinstance(self.subject, Turn) else self.subject.turns[-1]


@dataclass(frozen=True)
class Result:
    """What a metric says of one turn or conversation: a value or a label, or why there is neither."""

    metric: str
    subject: str  # turn id, or conversation id
    conversation: str
    turn: Place  # the judged turn; of a conversation, the last
    trace_id: str
    span_id: str
    value: float | None = None
    label: str | None = None
    reason: str | None = None
    tool: str | None = None
    missing: str | None = None
    repeats: tuple[float | str, ...] = ()  # what each repeat said, where it said something


class NoAnswer(Exception):
    """A custom metric asked a judge and got none: its value is missing, too."""


def questions(
    found: Iterable[Conversation], metrics: Sequence[Metric], settings: Settings, ask: bool = True
) -> Iterator[Question]:
    """Everything that is to be asked, conversation by conversation; with `ask` off, only what it is about."""
    for conversation in found:
        for turn in conversation.turns:
            data: str | None = None
            for metric in metrics:
                if metric.per != "turn" or (metric.with_tools and turn.tool_calls == ()):
                    continue
                seen = turn.agent_message is not None and not (metric.with_tools and turn.tool_calls is None)
                if metric.score is None and seen and data is None and ask:
                    data = prompts.block(prompts.turn_data(turn, settings.max_text))
                yield Question(metric, turn, data if seen else None)
        for metric in metrics:
            if metric.per == "conversation":
                seen = any(turn.agent_message is not None for turn in conversation.turns)
                needed = metric.score is None and seen and ask
                block = prompts.block(prompts.conversation_data(conversation, settings.max_text)) if needed else None
                yield Question(metric, conversation, block)


async def answered(asked: Sequence[Question], client: Client | None, settings: Settings) -> list[Result]:
    """The results, in the order of the questions. Without a client only code answers."""
    forms = _forms(q.metric for q in asked) if client is not None else {}
    waiting = [q for q in asked if client is not None or q.metric.score is not None]
    told = await asyncio.gather(*(_answer(q, client, settings, forms) for q in waiting), return_exceptions=True)
    answers_, out = iter(told), list[Result]()
    for q in asked:
        found = unasked(q) if client is None and q.metric.score is None else next(answers_)
        if isinstance(found, Result):
            out.append(found)
        elif isinstance(found, NoAnswer):
            out.append(_result(q, missing=str(found)))
        elif isinstance(found, Exception) and not isinstance(found, OtelcovError):
            # Code of others - a metric, a provider's client - may raise whatever it likes: it costs its own value and
            # nobody else's. What cannot be written to the store is ours, and ends the run.
            out.append(_result(q, missing=_text(f"failed: {type(found).__name__}: {found}")))
        else:
            raise found
    return out


@dataclass
class Plan:
    """What a judgement would ask and cost."""

    metric: str
    questions: int = 0
    not_recorded: int = 0
    paid_before: int = 0
    calls: int = 0
    tokens: int = 0


def plan(asked: Iterable[Question], metrics: Iterable[Metric], ledger: Ledger | None, settings: Settings) -> list[Plan]:
    """What questions about these metrics would cost, in the order in which each is first asked."""
    rows: dict[str, Plan] = {}
    forms = {name: (told, _shape(shape, settings)) for name, (told, shape) in _forms(metrics).items()}
    new: set[str] = set()
    for q in asked:
        row = rows.setdefault(q.metric.name, Plan(q.metric.name))
        row.questions += 1
        if q.metric.score is not None:
            continue
        if q.data is None:
            row.not_recorded += 1
            continue
        instructions, form = forms[q.metric.name]
        for repeat in range(settings.repeats):
            key = question(str(settings.model), instructions, q.data, form, repeat)
            if key in new or (ledger is not None and ledger.get(key) is not None):
                row.paid_before += 1
            else:
                new.add(key)
                row.calls += 1
                row.tokens += guessed_tokens(instructions, q.data)
    return list(rows.values())


Forms = dict[str, tuple[str, type[BaseModel]]]


def _forms(metrics: Iterable[Metric]) -> Forms:
    """Instructions and answer form of each metric, made once."""
    found = {metric.name: metric for metric in metrics if metric.score is None}
    return {name: (prompts.system(metric), answers.shape(metric)) for name, metric in found.items()}


async def _answer(q: Question, client: Client | None, settings: Settings, forms: Forms) -> Result:
    if q.metric.score is not None:
        return await _by_code(q, client)
    assert client is not None
    if q.data is None:
        return _result(q, missing=NOT_RECORDED)
    instructions, shape = forms[q.metric.name]
    told = await asyncio.gather(
        *(
            client.ask(q.metric.name, instructions, q.data, shape, q.turn.trace_id, repeat)
            for repeat in range(settings.repeats)
        )
    )
    return _merged(q, told)


def unasked(q: Question) -> Result:
    """What is known where there is nobody to ask."""
    return _result(q, missing="not_run")


def _merged(q: Question, told: Sequence[Answer]) -> Result:
    """One result of all repeats: the mean of the scores, the most frequent label."""
    values = [a.value for a in told if a.value is not None]
    if not values:
        return _result(q, missing=told[0].missing)
    if q.metric.kind == "quantitative":
        scores = [float(v["score"]) for v in values]
        mean = scores[0] if len(scores) == 1 else round(fmean(scores), 9)
        return _result(q, value=mean, reason=values[0]["reason"], repeats=tuple(scores))
    labels = [str(v["label"]) for v in values]
    counts = sorted(((labels.count(label), label) for label in set(labels)), reverse=True)
    if len(counts) > 1 and counts[0][0] == counts[1][0]:
        return _result(q, missing="repeats_disagree", repeats=tuple(labels))
    chosen = next(v for v in values if v["label"] == counts[0][1])
    called = {call.name for call in q.turn.tool_calls or ()}
    tool = chosen.get("tool") if chosen.get("tool") in called else None
    return _result(q, label=counts[0][1], reason=chosen["reason"], tool=tool, repeats=tuple(labels))


async def _by_code(q: Question, client: Client | None) -> Result:
    """A custom metric's own function. A second parameter gets a way to ask the judge."""
    score = q.metric.score
    assert score is not None
    arguments: list[Any] = [q.subject]
    if len(inspect.signature(score).parameters) > 1:
        arguments.append(Asking(q, client))
    if inspect.iscoroutinefunction(score):
        value = await score(*arguments)
    else:
        value = await asyncio.to_thread(_called, score, arguments)
        if isinstance(value, Awaitable):
            value = await value
    return _of_code(q, value)


def _called(score: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What the function returns. StopIteration cannot leave a thread: who awaits it would wait for ever."""
    try:
        return score(*arguments)
    except (StopIteration, SystemExit) as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _of_code(q: Question, value: Any) -> Result:
    reason: str | None = None
    if isinstance(value, tuple) and len(value) == 2:
        value, reason = value
    elif isinstance(value, Mapping):
        value, reason = value.get("value", value.get("label")), value.get("reason")
    elif hasattr(value, "reason"):
        value, reason = getattr(value, "value", getattr(value, "label", None)), value.reason
    reason = None if reason is None else _text(reason)
    if value is None:
        return _result(q, missing="no_value")
    if q.metric.kind == "qualitative":
        if not isinstance(value, str) or (q.metric.labels and value not in q.metric.labels):
            return _result(q, missing="malformed")
        return _result(q, label=value, reason=reason)
    if isinstance(value, str) or not math.isfinite(value):
        return _result(q, missing="malformed")
    return _result(q, value=float(value), reason=reason)


def _text(value: object) -> str:
    """As text that can be kept: code of others may give anything as its reason."""
    return str(value).encode("utf-8", "replace").decode()


class Asking:
    """How a custom metric asks the judge: same budget, same ledger, same retries."""

    def __init__(self, q: Question, client: Client | None) -> None:
        self._question, self._client = q, client

    async def __call__(self, instructions: str, data: object, answer: type[BaseModel]) -> BaseModel:
        """The judge's answer, of the given pydantic model. `data` is passed as data, never as instructions."""
        if self._client is None:
            raise NoAnswer("not_run")
        q = self._question
        told = await self._client.ask(q.metric.name, instructions, prompts.block(data), answer, q.turn.trace_id)
        if told.value is None:
            raise NoAnswer(told.missing or "failed")
        return answer.model_validate(told.value)


def _result(q: Question, **said: Any) -> Result:
    subject = q.subject
    return Result(
        q.metric.name,
        subject.id,
        q.turn.conversation,
        q.turn.place,
        subject.trace_id,
        subject.span_id,
        **said,
    )
