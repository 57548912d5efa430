"""A judgement: one look of rules and judges at a window, as a document.

FORMAT history:
1  the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otelcov.ground.config import Config
from otelcov.ground.errors import ConfigError, did_you_mean
from otelcov.ground.windows import iso
from otelcov.judge import causes, kept, rules, summary
from otelcov.judge.client import Client, can_ask, price
from otelcov.judge.events import SCOPE, emit, events, tracing
from otelcov.judge.judging import Result, answered, plan, questions
from otelcov.judge.ledger import Ledger
from otelcov.judge.metrics import Metric
from otelcov.judge.turns import JUDGE_SERVICE, Conversation, sample

FORMAT = 1


@dataclass(frozen=True)
class Asked:
    """What is judged, and how: the window's conversations and the options."""

    conversations: Sequence[Conversation]
    window: dict[str, str | None]
    selection: dict[str, list[str]]
    metrics: Sequence[Metric]
    known: Mapping[str, Metric]
    config: Config
    now_ns: int
    sample: int | None = None


def dry_run(asked: Asked, folder: Path) -> dict[str, Any]:
    """What a judgement would ask and cost; nothing is asked, and nothing is written."""
    settings = asked.config.judge
    chosen = sample(list(asked.conversations), asked.sample)
    with Ledger(folder) if (folder / "answers.sqlite").exists() else nullcontext() as ledger:
        rows = plan(list(questions(chosen, asked.metrics, settings)), ledger, settings)
    calls, tokens = sum(r.calls for r in rows), sum(r.tokens for r in rows)
    return {
        "format": FORMAT,
        "dry_run": True,
        "window": asked.window,
        "selection": asked.selection,
        "conversations": len(asked.conversations),
        "sampled": len(chosen),
        "model": settings.model,
        "cannot_ask": can_ask(settings),
        "metrics": [vars(r) for r in rows],
        "calls": calls,
        "tokens": tokens,
        "cost": price(settings, tokens - calls * 200, calls * 200),
        "max_calls": settings.max_calls,
        "max_tokens": settings.max_tokens,
    }


def judge(asked: Asked, folder: Path, retry_missing: bool = False, endpoint: str | None = None) -> dict[str, Any]:
    """Judge, keep the judgement, emit it if an endpoint is given; the document that reports are made of."""
    return asyncio.run(_judge(asked, folder, retry_missing, endpoint))


async def _judge(asked: Asked, folder: Path, retry_missing: bool, endpoint: str | None) -> dict[str, Any]:
    settings = asked.config.judge
    check(settings.thresholds, asked.known)
    everything = list(asked.conversations)
    chosen = sample(everything, asked.sample)
    proved = rules.findings(everything, asked.config)
    why = can_ask(settings)
    tracer = tracing(endpoint) if why is None else None
    ledger = Ledger(folder)
    client = Client(settings, ledger, tracer) if why is None else None
    wanted = list(questions(chosen, asked.metrics, settings))
    groups: list[dict[str, Any]] = []
    told: str | None = None
    try:
        if client is not None:
            client.retry_missing = retry_missing
            async with client:
                results = await answered(wanted, client, settings)
                found = causes.judged(asked.metrics, results, proved)
                errors = causes.errors(found)
                if settings.group:
                    groups, told = await causes.group(errors, client)
        else:
            results = await answered(wanted, None, settings)
            found = causes.judged(asked.metrics, results, proved)
            errors = causes.errors(found)
        document = _document(asked, chosen, results, found, proved, errors, client, why)
        document["groups"], document["grouping"] = groups, told
        ran = {rule.name for rule in rules.RULES} | {r["metric"] for r in document["metrics"] if r["judged"]}
        document["gone"] = causes.since(document["errors"], kept.before(folder, document), ran)
        kept.keep(folder, document, asked.now_ns)
        if endpoint is not None:
            sent = events(results, proved, settings.model)
            new = ledger.unsent(f"{endpoint} {e.key}" for e in sent)
            emit([e for e in sent if f"{endpoint} {e.key}" in new], endpoint)
            ledger.sent(new)
            document["emitted"] = len(new)
    finally:
        ledger.close()
        if tracer is not None:
            tracer.shutdown()
    return document


def check(thresholds: Mapping[str, float], known: Mapping[str, Metric]) -> None:
    """A threshold on a metric that nobody knows, or beyond what it can give, is a typing error, not a gate."""
    for name, least in thresholds.items():
        if name not in known:
            raise ConfigError(
                f'Couldn\'t hold the threshold on "{name}": there is no such metric.{did_you_mean(name, known)}'
            )
        asked = known[name]
        if asked.score is None and asked.kind == "quantitative" and not asked.low <= least <= asked.high:
            raise ConfigError(
                f'Couldn\'t hold the threshold on "{name}": '
                f"its scores go from {asked.low:g} to {asked.high:g}, got {least:g}."
            )


def _document(
    asked: Asked,
    chosen: Sequence[Conversation],
    results: Sequence[Result],
    found: Sequence[rules.Finding],
    proved: Sequence[rules.Finding],
    errors: list[dict[str, Any]],
    client: Client | None,
    why: str | None,
) -> dict[str, Any]:
    settings = asked.config.judge
    turns = {t.id for c in chosen for t in c.turns}
    seen = [f for f in proved if f.turn in turns]
    rows = [summary.summarize(metric, results, seen) for metric in asked.metrics]
    table = {row["metric"]: row for row in rows}
    empty = not any(c.turns for c in asked.conversations)
    checks = [summary.hold(table.get(n), n, least, settings, why) for n, least in sorted(settings.thresholds.items())]
    gate = summary.severe(errors, rows, settings, client is not None)
    if empty:
        gate |= {"result": "no_data", "reason": "no run in this window"}
    budget = client.budget if client is not None else None
    return {
        "format": FORMAT,
        "judged_at": iso(asked.now_ns),
        "window": asked.window,
        "selection": asked.selection,
        "result": summary.verdict([*checks, gate]),
        "runs": sum(len(c.runs) for c in asked.conversations),
        "conversations": len(asked.conversations),
        "turns": sum(len(c.turns) for c in asked.conversations),
        "sampled": {"conversations": len(chosen), "turns": len(turns)},
        "model": settings.model if client is not None else None,
        "not_asked": why if client is None else client.stopped,
        "metrics": rows,
        "thresholds": checks,
        "severity_gate": gate,
        "errors": errors,
        "findings": {
            "rule": len(proved),
            "judge": len(found) - len(proved),
            "disputed": sum(f.disputed is not None for f in found),
        },
        "calls": {
            "requests": budget.calls if budget else 0,
            "input_tokens": budget.input_tokens if budget else 0,
            "output_tokens": budget.output_tokens if budget else 0,
            "cost": price(settings, budget.input_tokens, budget.output_tokens) if budget else None,
        },
        "results": [_row(r) for r in results if r.missing != "not_run"],
        "others": _others(asked.conversations),
        "emitted": 0,
    }


def _row(r: Result) -> dict[str, Any]:
    row = {
        "metric": r.metric,
        "conversation": r.conversation,
        "turn": r.turn.turn_index if r.subject == r.turn.id else None,
        "run_id": r.turn.run_id,
        "trace_id": r.trace_id,
        "span_id": r.span_id,
        "value": r.value,
        "label": r.label,
        "reason": r.reason,
        "missing": r.missing,
    }
    return row | {"repeats": list(r.repeats)} if len(r.repeats) > 1 else row


def _others(found: Sequence[Conversation]) -> list[dict[str, Any]]:
    """What other tools said of these runs, by source and name."""
    told: dict[tuple[str, str], list[Any]] = {}
    for conversation in found:
        for e in conversation.evaluations:
            if e.source not in (SCOPE, JUDGE_SERVICE):
                told.setdefault((e.source, e.name), []).append(e)
    rows = []
    for (source, name), events_ in sorted(told.items()):
        values = [e.value for e in events_ if e.value is not None]
        labels = sorted({e.label for e in events_ if e.label is not None})
        rows.append(
            {
                "source": source,
                "metric": name,
                "events": len(events_),
                "value": round(sum(values) / len(values), 9) if values else None,
                "labels": {label: sum(e.label == label for e in events_) for label in labels},
            }
        )
    return rows
