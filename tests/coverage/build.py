"""Small runs for tests: `run("search", "book!", side="test")` -> a row of RUNS."""

from __future__ import annotations

import hashlib
import json
from itertools import count
from typing import Any

import polars as pl

from otelcov.ground import settings
from otelcov.ground.config import SEED_BOUNDARIES, Config
from otelcov.ground.schemas import RUNS

START = 1_754_000_000_000_000_000
SECOND = 1_000_000_000
_number = count()


def run(*calls: str, **given: Any) -> dict[str, Any]:
    """A run that called these tools: `[agent/]tool`, with `!` for an error and `?` for requested but not executed.

    Named arguments replace columns of RUNS; `models`, `at` (seconds after START), `took` (seconds) and
    `delegates` ("a->b" or "a->b:tool") are short for the long ones.
    """
    number = given.pop("number", None)
    trace = hashlib.sha256(str(next(_number) if number is None else number).encode()).hexdigest()[:32]
    start = START + int(given.pop("at", 0) * SECOND)
    end = start + int(given.pop("took", 1) * SECOND)
    delegates = [_delegation(text) for text in given.pop("delegates", [])]
    models = given.pop("models", ["model-a"])
    tokens = given.pop("tokens", (100, 10))
    rows = [_call(text, start + i) for i, text in enumerate(calls)]
    agents = given.get("agents") or sorted(
        {r["agent"] for r in rows if r["agent"]} | {a for d in delegates for a in (d["from"], d["to"])}
    )
    body: dict[str, Any] = {
        "run_id": trace,
        "trace_ids": [trace],
        "conversation_id": None,
        "case": None,
        "service": "shop",
        "environment": "production",
        "release": "1.0",
        "start_unix_nano": start,
        "end_unix_nano": end,
        "settled": True,
        "status": "ok",
        "input": "hello",
        "output": "bye",
        "agents": agents,
        "known_tools": None,
        "known_tools_source": None,
        "tool_calls": rows,
        "llm_calls": [
            {
                "agent": agents[0] if agents else None,
                "request_model": m,
                "response_model": m,
                "input_tokens": tokens[0],
                "output_tokens": tokens[1],
                "status": "ok",
                "finish_reason": "stop",
                "start_unix_nano": start,
                "end_unix_nano": end,
            }
            for m in models
        ],
        "delegations": delegates,
        "boundaries": ["tool_failure"] if any(r["status"] == "error" for r in rows) else [],
        "boundaries_unknown": [],
        "path": _path(rows, delegates),
        "states": _states(rows),
        "incomplete": [],
        "spans": 1 + len(rows),
        "orphans": 0,
        "unexplained": [],
        "dropped_attributes": 0,
        "masked": 0,
        "sampled": None,
        "weight": 1.0,
    }
    body |= given
    if body["tool_calls"] is None:
        body |= {"path": None, "states": None} | {k: v for k, v in given.items() if k in ("path", "states")}
    if "tools" in body:
        body |= {"known_tools": body.pop("tools"), "known_tools_source": "offered"}
    return body


def frame(*runs: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(runs), schema=RUNS)


def config(text: str | dict[str, Any] | None = None) -> Config:
    import tomllib

    return settings.of(tomllib.loads(text) if isinstance(text, str) else text or {})


def _call(text: str, at: int) -> dict[str, Any]:
    status = {"!": "error", "?": "requested"}.get(text[-1], "ok")
    name = text.rstrip("!?")
    agent, _, tool = name.rpartition("/")
    return {
        "name": tool,
        "agent": agent or None,
        "status": status,
        "error_kind": "hard" if status == "error" else None,
        "error_type": None,
        "arguments": "{}",
        "arguments_text": None,
        "result": json.dumps("done"),
        "call_id": None,
        "turn": None,
        "evidence": ["span"],
        "start_unix_nano": at,
        "end_unix_nano": at + 1,
    }


def _delegation(text: str) -> dict[str, Any]:
    edge, _, tool = text.partition(":")
    source, _, target = edge.partition("->")
    return {"from": source, "to": target, "form": "tool" if tool else "handoff", "tool": tool or None, "status": "ok"}


def _path(rows: list[dict[str, Any]], delegates: list[dict[str, Any]]) -> list[list[str]]:
    steps = [
        f"{r['agent'] or '?'}/{r['name']}{'!' if r['status'] == 'error' else ''}"
        for r in rows
        if r["status"] != "requested"
    ]
    steps = [f"{d['from']}->{d['to']}" for d in delegates] + steps
    found: list[list[str]] = []
    for step in steps:
        if found and found[-1][0].rstrip("+") == step:
            found[-1] = [f"{step}+"]
        else:
            found.append([step])
    return found


def _states(rows: list[dict[str, Any]]) -> list[str]:
    failed: dict[str, int] = {}
    found = []
    for r in rows:
        if r["status"] == "requested":
            continue
        earlier = min(failed.get(r["name"], 0), 2)
        found.append(f"{r['agent'] or '?'}|{r['name']}|{r['status']}|text|{'2+' if earlier == 2 else earlier}")
        if r["status"] == "error":
            failed[r["name"]] = failed.get(r["name"], 0) + 1
    return found


__all__ = ["SEED_BOUNDARIES", "START", "config", "frame", "run"]
