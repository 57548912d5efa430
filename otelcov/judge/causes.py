"""Findings grouped by root cause: one error for what one fix would remove.

Without a model: findings are one error if they have the same label, the same agent -> tool edge, the same error class
and the same template of the error text (its numbers, ids and quoted words taken out). Nothing else is in an error's
id, so it is the same in every window. A judge may group errors further; what it answers is held against what it was
given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from otelcov.judge import answers, prompts
from otelcov.judge.client import Client
from otelcov.judge.judging import Result
from otelcov.judge.metrics import SEVERITIES, Metric
from otelcov.judge.rules import Finding, disputed

EXAMPLES = 5
_MOST_GROUPED = 100  # errors in one question

_LONGEST = 1024  # characters of a line that are looked at

_MASKS = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I), "<id>"),
    (re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{5,}\b"), "<id>"),
    (re.compile(r"(['\"`]).*?\1"), "<text>"),
    (re.compile(r"\S+@\S+\.\w+"), "<address>"),
    (re.compile(r"(?:/[\w.-]+){2,}/?"), "<path>"),
    (re.compile(r"[-+]?\d[\d.,:]*"), "<n>"),
    (re.compile(r"\s+"), " "),
)


def template(text: str | None) -> str | None:
    """An error text without what changes from one occurrence to the next; of a traceback, its last line."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    if not lines:
        return None
    line = (lines[-1] if any(x.startswith("Traceback") for x in lines) else lines[0])[:_LONGEST]
    for pattern, mark in _MASKS:
        line = pattern.sub(mark, line)
    return line[:160]


def judged(metrics: Iterable[Metric], results: Iterable[Result], proved: Sequence[Finding]) -> list[Finding]:
    """All findings: those of the rules, with the judge's dissent beside them, and what the judge adds."""
    table = {m.name: m for m in metrics if m.kind == "qualitative"}
    out = list(proved)
    places: dict[tuple[str, str], list[int]] = {}
    for k, finding in enumerate(out):
        if finding.metric is not None:
            places.setdefault((finding.turn, finding.metric), []).append(k)
    for r in results:
        metric = table.get(r.metric)
        if metric is None or r.label is None:
            continue
        known = places.get((r.subject, r.metric), [])
        if r.label in metric.passing:
            for k in known:
                out[k] = disputed(out[k], r.label, r.reason or "")
            continue
        if any(out[k].label == r.label and (r.tool is None or out[k].tool == r.tool) for k in known):
            continue  # the judge saw what a rule had proved
        turn = r.turn
        out.append(
            Finding(
                "judge",
                None,
                r.metric,
                r.label,
                metric.severity(r.label),
                r.reason or "",
                turn.id,
                turn.turn_index,
                turn.conversation,
                turn.run_id,
                r.trace_id,
                r.span_id,
                turn.start_unix_nano,
                turn.agent,
                r.tool,
            )
        )
    return out


def errors(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """One row a root cause, the gravest and most frequent first."""
    grouped: dict[str, list[Finding]] = {}
    for f in findings:
        grouped.setdefault(_id(f), []).append(f)
    return sorted((_error(key, fs) for key, fs in grouped.items()), key=_order)


def _order(error: Mapping[str, Any]) -> tuple[int, int, str]:
    return (-SEVERITIES.index(error["severity"]), -error["occurrences"], error["id"])


def _key(f: Finding) -> tuple[str | None, ...]:
    return (f.metric, f.label, f.agent, f.tool, f.error_class, template(f.evidence))


def _id(f: Finding) -> str:
    return sha256(json.dumps(_key(f), ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:12]


def _error(key: str, found: list[Finding]) -> dict[str, Any]:
    found = sorted(found, key=lambda f: (f.start_unix_nano, f.turn, f.reason))
    first = found[0]
    shape = template(first.evidence)
    edge = "/".join(part for part in (first.agent, first.tool) if part)
    title = f"{first.label}{f' ({edge})' if edge else ''}{f': {first.error_class}' if first.error_class else ''}"
    return {
        "id": key,
        "title": title,
        "label": first.label,
        "metric": first.metric,
        "severity": max((f.severity for f in found), key=SEVERITIES.index),
        "agent": first.agent,
        "tool": first.tool,
        "error_class": first.error_class,
        "template": shape,
        "sources": sorted({f.rule or "judge" for f in found}),
        "occurrences": len(found),
        "runs": len({f.run_id for f in found}),
        "disputed": sum(f.disputed is not None for f in found),
        "first_seen": first.start_unix_nano,
        "last_seen": found[-1].start_unix_nano,
        "examples": [
            {
                "run_id": f.run_id,
                "conversation": f.conversation,
                "turn": f.turn_index,
                "trace_id": f.trace_id,
                "span_id": f.span_id,
                "reason": f.reason,
                "disputed": f.disputed,
            }
            for f in found[:EXAMPLES]
        ],
    }


def since(errors: list[dict[str, Any]], before: Mapping[str, Any] | None, looked: set[str]) -> list[dict[str, Any]]:
    """Mark each error new or ongoing against an earlier judgement; returns what is gone.

    An error is gone only if what found it looked again: `looked` holds the rules and metrics that ran.
    """
    if before is None:
        for error in errors:
            error["state"] = None
        return []
    known = {e["id"]: e for e in before["errors"]}
    for error in errors:
        old = known.get(error["id"])
        error["state"] = "new" if old is None else "ongoing"
        if old is not None:
            error["first_seen"] = min(error["first_seen"], old["first_seen"])
    here = {e["id"] for e in errors}
    return [
        {k: v for k, v in e.items() if k != "examples"} | {"state": "gone"}
        for e in before["errors"]
        if e["id"] not in here and looked & ({e["metric"]} if e["sources"] == ["judge"] else set(e["sources"]))
    ]


async def group(errors: list[dict[str, Any]], client: Client) -> tuple[list[dict[str, Any]], str | None]:
    """The judge's groups of errors, and why there are none where there are none.

    Every error is in exactly one group, or the answer is refused. A group's severity is the judge's, but never below
    that of what a rule proved.
    """
    sent = errors[:_MOST_GROUPED]
    if len(sent) < 2:
        return [], "fewer than two errors"
    data = prompts.block(
        [
            {"number": k, "error": e["title"], "severity": e["severity"], "occurrences": e["occurrences"]}
            | {"reasons": [prompts.cut(x["reason"], 300) for x in e["examples"][:3]], "text": e["template"]}
            for k, e in enumerate(sent, 1)
        ]
    )
    shape = answers.groups(len(sent))
    told = await client.ask(prompts.GROUPING, prompts.grouping(), data, shape, sent[0]["examples"][0]["trace_id"])
    if told.value is None:
        return [], f"the judge gave no usable grouping ({told.missing})"
    out = []
    for one in told.value["groups"]:
        members = [sent[n - 1] for n in sorted(one["entries"])]
        if not members:
            continue
        floor = [SEVERITIES.index(e["severity"]) for e in members if e["sources"] != ["judge"]]
        severity = SEVERITIES[max([SEVERITIES.index(one["severity"]), *floor])]
        for e in members:
            e["group"], e["severity_before_grouping"] = min(m["id"] for m in members), e["severity"]
            e["severity"] = severity if e["sources"] == ["judge"] else e["severity"]
        out.append(
            {
                "id": min(m["id"] for m in members),
                "title": one["title"],
                "description": one["description"],
                "severity": severity,
                "occurrences": sum(m["occurrences"] for m in members),
                "errors": sorted(m["id"] for m in members),
            }
        )
    return sorted(out, key=_order), None
