"""Snapshots that every format must render."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from otelcov.coverage import compare
from otelcov.coverage.observations import partial
from otelcov.coverage.snapshot import grouped, snapshot
from otelcov.ground import settings
from otelcov.ground.config import Config
from otelcov.report import Report
from otelcov.verdicts import thresholds
from tests.coverage.build import config, frame, run

EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e|`[a](javascript:b)`\n"
    "=cmd()\"'&]]>\\{{7*7}}\x00@all www.evil.test https://evil.test"
)

_SHOP = """
[agents.planner]
tools = ["search_flights", "book_hotel", "get_weather", "get_visa"]
restricted = ["cancel_booking", "wipe"]
delegates_to = ["worker", "critic"]
entry = true
[agents.worker]
tools = ["send_email"]
[agents.critic]
[models.gpt-4o]
[models.gpt-4o-mini]
[models.claude]
[thresholds]
overall = 70
tool = 80
"""


def _shop() -> tuple[list[dict[str, Any]], Config]:
    chance = random.Random(1)
    tools = ["search_flights", "book_hotel", "get_weather", "send_email", "cancel_booking"]
    runs = []
    for number in range(120):
        side = chance.choice(["ci", "prod", "prod", "staging"])
        weights = [5, 3, 3, 1, 0 if side == "ci" else 0.2]
        calls = [
            ("worker/" if t == "send_email" else "planner/") + t + chance.choice(["", "", "", "!"])
            for t in chance.choices(tools, weights, k=chance.randint(0, 3))
        ]
        delegates = ["planner->worker"] if any("worker" in c for c in calls) else []
        runs.append(
            run(
                *calls, number=number, environment=side, at=chance.randint(0, 86_400), took=chance.randint(1, 40),
                models=[chance.choice(["gpt-4o-2024-08-06", "gpt-4o-mini"])], delegates=delegates, tools=tools,
                boundaries_unknown=["cost_limit"], incomplete=["attributes dropped"] if number % 30 == 0 else [],
            )
        )  # fmt: skip
    return runs, config(_SHOP)


def _hostile() -> tuple[list[dict[str, Any]], Config]:
    runs = [
        run(
            "planner/x", number=number, environment="ci" if number % 2 else "prod", service=EVIL, release=EVIL,
            models=[EVIL], boundaries=[EVIL], incomplete=[EVIL], unexplained=[{"scope": EVIL, "spans": 3}],
        )
        for number in range(30)
    ]  # fmt: skip
    for r in runs:
        r["agents"] = [EVIL]
        r["tool_calls"][0] |= {"agent": EVIL, "name": f"t{EVIL}"}
        r["path"] = [[f"{EVIL}/t{EVIL}"]]
        r["states"] = [f"{EVIL}|t{EVIL}|ok|text|0"]
        r["delegations"] = [{"from": EVIL, "to": f"b{EVIL}", "form": "handoff", "tool": None, "status": "ok"}]
    runs += [run("other/y", number=100 + n, environment="prod") for n in range(3)]
    return runs, settings.of({"agents": {EVIL: {"tools": [f"t{EVIL}", "never"], "restricted": ["y"]}}})


def _blind() -> tuple[list[dict[str, Any]], Config]:
    blind = {"tool_calls": None, "llm_calls": None, "delegations": None}
    return [run(number=n, **blind) for n in range(3)], config(_SHOP)


def _empty() -> tuple[list[dict[str, Any]], Config]:
    return [], config(_SHOP)


def _sure() -> tuple[list[dict[str, Any]], Config]:
    """Everything seen, one path only: an estimate of exactly 1, and a share of almost 1."""
    runs = [run("planner/search", number=n) for n in range(3000)] + [run("planner/book", number=5000, environment="ci")]
    return [*runs[:40]], config("[agents.planner]\ntools = ['search']\n[models.model-a]")


SAMPLES = {"shop": _shop, "hostile": _hostile, "blind": _blind, "empty": _empty, "sure": _sure}


@cache
def sample(name: str, by: str | None = "agent") -> Report:
    runs, settings = SAMPLES[name]()
    observations = partial(frame(*runs), settings)
    shot = snapshot(observations, settings, quality={"duplicates": 2, "conflicts": 1, "out_of_range": 0})
    verdicts = thresholds.judge(shot, settings.thresholds, (), 50)
    gaps = compare.gaps(observations, settings, ("test",), ("staging", "production")) if shot["runs"]["test"] else None
    groups = grouped(observations, settings, by) if by else []
    return Report(shot, by, groups, gaps, [vars(v) for v in verdicts])
