"""A judgement: one look of rules and judges at a window, as a document.

FORMAT history:
1  the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

from otelcov.ground.config import Config
from otelcov.ground.errors import ConfigError, did_you_mean
from otelcov.ground.windows import iso
from otelcov.judge import causes, kept, rules, summary
from otelcov.judge.client import Client, can_ask, price
from otelcov.judge.events import SCOPE, emit, events, tracing
from otelcov.judge.hearing import Heard, Outline, Talks
from otelcov.judge.judging import Result, answered, plan, questions
from otelcov.judge.ledger import Ledger
from otelcov.judge.metrics import Metric
from otelcov.judge.summary import Tally
from otelcov.judge.turns import JUDGE_SERVICE, sample
from otelcov.runs.dialogue import Evaluation

FORMAT = 1


@dataclass(frozen=True)
class Asked:
    """What is judged, and how: the window's conversations and the options."""

    talks: Talks
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
    heard = asked.talks.heard(())
    sampled, chosen = _sample(heard, asked.sample)
    every = (talk for talks in asked.talks.some(chosen) for talk in talks)
    with Ledger(folder) if (folder / "answers.sqlite").exists() else nullcontext() as ledger:
        rows = plan(questions(every, asked.metrics, settings), asked.metrics, ledger, settings)
    calls, tokens = sum(r.calls for r in rows), sum(r.tokens for r in rows)
    return {
        "format": FORMAT,
        "dry_run": True,
        "window": asked.window,
        "selection": asked.selection,
        "conversations": len(heard.outlines),
        "sampled": len(sampled),
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
    why = can_ask(settings)
    silent = why is not None and asked.sample is None and all(metric.score is None for metric in asked.metrics)
    heard = asked.talks.heard(asked.metrics if silent else ())
    sampled, chosen = _sample(heard, asked.sample)
    proved = heard.findings
    tracer = tracing(endpoint) if why is None else None
    ledger = Ledger(folder)
    client = Client(settings, ledger, tracer) if why is None else None
    groups: list[dict[str, Any]] = []
    told: str | None = None
    try:
        if client is not None:
            client.retry_missing = retry_missing
            async with client:
                results, tallies = await _answers(asked, heard, chosen, client)
                found = causes.judged(asked.metrics, results, proved)
                errors = causes.errors(found)
                if settings.group:
                    groups, told = await causes.group(errors, client)
        else:
            results, tallies = ([], heard.tallies) if silent else await _answers(asked, heard, chosen, None)
            found = causes.judged(asked.metrics, results, proved)
            errors = causes.errors(found)
        document = _document(asked, heard, sampled, tallies, results, found, errors, client, why)
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


def _sample(heard: Heard, size: int | None) -> tuple[Sequence[Outline], set[str] | None]:
    """The sampled conversations, and the first run of each; None for these where all are meant."""
    sampled = sample(heard.outlines, size)
    return sampled, None if len(sampled) == len(heard.outlines) else {outline.first for outline in sampled}


async def _answers(
    asked: Asked, heard: Heard, chosen: Collection[str] | None, client: Client | None
) -> tuple[list[Result], Mapping[str, Tally]]:
    """What came back about the chosen conversations, and what of each metric it comes to."""
    settings, results = asked.config.judge, list[Result]()
    begun = {outline.first: k for k, outline in enumerate(heard.outlines)}
    tallies = {metric.name: Tally() for metric in asked.metrics}
    of = dict[str, list[rules.Finding]]()
    for finding in heard.findings:
        of.setdefault(finding.run_id, []).append(finding)
    place = dict[str, int]()  # of each run's conversation among all
    for talks in asked.talks.some(chosen):
        place |= {run: begun.get(talk.runs[0], len(begun)) for talk in talks for run in talk.runs}
        some = await answered(list(questions(talks, asked.metrics, settings)), client, settings)
        seen = [finding for talk in talks for run in talk.runs for finding in of.get(run, ())]
        for metric in asked.metrics:
            tallies[metric.name] += Tally.of(metric, some, seen)
        results += some
    return sorted(results, key=lambda r: place[r.turn.run_id]), tallies


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
    heard: Heard,
    sampled: Sequence[Outline],
    tallies: Mapping[str, Tally],
    results: Sequence[Result],
    found: Sequence[rules.Finding],
    errors: list[dict[str, Any]],
    client: Client | None,
    why: str | None,
) -> dict[str, Any]:
    settings = asked.config.judge
    rows = [summary.summarize(metric, tallies[metric.name]) for metric in asked.metrics]
    table = {row["metric"]: row for row in rows}
    checks = [summary.hold(table.get(n), n, least, settings, why) for n, least in sorted(settings.thresholds.items())]
    gate = summary.severe(errors, rows, settings, client is not None)
    if not heard.turns:
        gate |= {"result": "no_data", "reason": "no run in this window"}
    budget = client.budget if client is not None else None
    return {
        "format": FORMAT,
        "judged_at": iso(asked.now_ns),
        "window": asked.window,
        "selection": asked.selection,
        "result": summary.verdict([*checks, gate]),
        "runs": heard.runs,
        "conversations": len(heard.outlines),
        "turns": heard.turns,
        "sampled": {"conversations": len(sampled), "turns": sum(outline.turns for outline in sampled)},
        "model": settings.model if client is not None else None,
        "not_asked": why if client is None else client.stopped,
        "metrics": rows,
        "thresholds": checks,
        "severity_gate": gate,
        "errors": errors,
        "findings": {
            "rule": len(heard.findings),
            "judge": len(found) - len(heard.findings),
            "disputed": sum(f.disputed is not None for f in found),
        },
        "calls": {
            "requests": budget.calls if budget else 0,
            "input_tokens": budget.input_tokens if budget else 0,
            "output_tokens": budget.output_tokens if budget else 0,
            "cost": price(settings, budget.input_tokens, budget.output_tokens) if budget else None,
        },
        "results": [_row(r) for r in results if r.missing != "not_run"],
        "others": _others(heard.evaluations),
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


def _others(found: Sequence[Evaluation]) -> list[dict[str, Any]]:
    """What other tools said of these runs, by source and name."""
    told: dict[tuple[str, str], list[Evaluation]] = {}
    for e in found:
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
                "value": round(fsum(values) / len(values), 9) if values else None,
                "labels": {label: sum(e.label == label for e in events_) for label in labels},
            }
        )
    return rows
