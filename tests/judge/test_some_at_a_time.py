"""A judgement of a large window, whose conversations are read again some at a time, is that of one read at once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from otelcov.cli import talks
from otelcov.cli.measuring import Question
from otelcov.engine.here import Here
from otelcov.judge.turns import Conversation
from otelcov.runs import dialogue
from otelcov.sums import build
from tests.judge.ask import judge
from tests.judge.server import fine, serving
from tests.judge.traffic import START, Said, Tool, store

WEATHER = Tool("get_weather", {"city": "Oslo"})
MINE = """
from otelcov.judge.custom import metric

@metric("length")
def length(turn):
    return len(turn.agent_message)

@metric("turns", per="conversation")
def turns(conversation):
    return len(conversation.turns), conversation.id
"""
NOW = datetime.fromtimestamp(START / 1e9 + 30 * 86_400, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _talks() -> list[Said]:
    """Conversations of one to four turns, some at the same time as others and some hours long."""
    said = []
    for k in range(40):
        of, tools = f"c{k * k % 17}", [WEATHER] * (k % 3)
        said.append(Said(f"weather {k}?", f"sunny, the {k}th time", tools, conversation=of))
        said += [Said("", None, conversation=f"d{k}")] * 3 if k % 8 == 0 else []
    return said


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    return store(tmp_path, _talks())


def _count(place: Path) -> None:
    asked = Question.of(str(place), since="all", now=NOW)
    assert build.build(asked.store, asked.config, asked.now_ns, Here().map)


@pytest.fixture
def held(monkeypatch) -> list[int]:
    """How many runs were read at a time."""
    runs, told = list[int](), talks._told

    def noted(rows, *about) -> list[Conversation]:
        runs.append(rows.height)
        return told(rows, *about)

    monkeypatch.setattr(talks, "_told", noted)
    monkeypatch.setattr(talks, "_PIECE", 25)
    monkeypatch.setattr(talks, "_FEW", 1_000)
    return runs


ASKED = (
    ("--rules-only",),
    ("--rules-only", "--sample", "7"),
    ("--custom", "MINE", "--metric", "length", "--metric", "turns", "--metric", "helpfulness"),
    ("--agent", "planner", "--threshold", "tool_call_behavior_failure=0.9"),
    ("--dry-run", "--judge-model", "openai:gpt-4o-mini"),
    ("--dry-run", "--sample", "5"),
    ("--custom", "MINE", "--metric", "length", "--sample", "5"),
)


def _asked(place: Path, options: tuple[str, ...], url: str | None = None):
    options = tuple(str(place.parent / "mine.py") if option == "MINE" else option for option in options)
    return judge(place, "--now", NOW, *options, url=url)


@pytest.mark.parametrize("options", ASKED)
def test_the_judgement_is_the_same(place, options, held):
    whole = _asked(place, options)
    assert len(held) == 1
    _count(place)
    assert _asked(place, options) == whole
    assert len(held) > 3
    assert max(held[1:]) < held[0] / 2


@pytest.mark.parametrize("options", [ASKED[0], ASKED[1], ASKED[2], ASKED[4]])
def test_a_window_without_a_run_has_no_data(place, options, held):
    empty = (*options, "--until", "2000-01-01")
    whole = _asked(place, empty)
    assert whole[1].get("result", "no_data") == "no_data"
    _count(place)
    assert _asked(place, empty) == whole


@pytest.mark.full
def test_a_model_is_asked_the_same_whatever_is_held_at_a_time(place, held):
    asked = []
    for k in range(2):
        with serving(fine) as server:
            code, document = _asked(place, ("--results", str(place.parent / f"{k}"), "--sample", "9"), server.url)
            requests = sorted(str(request) for request in server.requests)
            asked.append((code, document, requests))
        _count(place)
    assert len(held) > 3
    assert asked[0] == asked[1]


@pytest.mark.full
def test_other_processes_hear_the_same(place, monkeypatch):
    whole = _asked(place, ASKED[0])
    _count(place)
    monkeypatch.setattr(talks, "_PIECE", 25)
    monkeypatch.setattr(dialogue, "_dialogue", None)  # of this process alone
    assert _asked(place, ASKED[0]) == whole
