"""States beyond tool, outcome and shape: how full contexts are where these are declared, and attributes by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from otelcov.ground import settings
from otelcov.ground.config import Config
from tests.runs.either_way import generated, with_shortcut, without
from tests.runs.requests import agent, chat, runs, tool


def _states(*spans, config):
    (run,) = runs(*spans, config=config)
    return run["states"]


def _loop(tokens, model="model-a", **attributes):
    used = {"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": 0, "gen_ai.request.model": model}
    return [
        agent(1, "planner"),
        chat(2, 1, [("c1", "search", {})], asked="find it", attributes=used),
        tool(3, 1, "search", "c1", "found", attributes=attributes),
        chat(4, 1, "done"),
    ]


@pytest.mark.parametrize(
    "tokens, fill", [(1, "0-50"), (499, "0-50"), (500, "50-90"), (899, "50-90"), (900, "90-100"), (1200, "90-100")]
)
def test_a_state_tells_how_full_a_declared_context_was(tokens, fill):
    config = settings.of({"models": {"model-a": {"context": 1000}}})
    assert _states(*_loop(tokens), config=config) == [f"planner|search|ok|text|0|{fill}"]


def test_a_dated_name_has_the_context_of_its_model():
    config = settings.of({"models": {"gpt-4o": {"context": 1000}}})
    assert _states(*_loop(950, "openai/gpt-4o-2024-08-06"), config=config) == ["planner|search|ok|text|0|90-100"]


def test_other_models_states_say_nothing_of_contexts():
    config = settings.of({"models": {"model-b": {"context": 1000}}})
    assert _states(*_loop(500), config=config) == ["planner|search|ok|text|0"]


def test_how_full_a_context_was_is_unknown_where_no_tokens_are_told_or_no_model_is_seen():
    config = settings.of({"models": {"model-a": {"context": 1000}}})
    spans = [agent(1, "planner"), tool(3, 1, "search", "c1", "found"), chat(4, 1, "done")]
    assert _states(*spans, config=config) == ["planner|search|ok|text|0|?"]


def test_named_attributes_are_part_of_states_of_the_call_or_of_what_is_around_it():
    config = settings.of({"coverage": {"state_attributes": ["app.phase", "app.mode"]}})
    spans = _loop(10, **{"app.phase": "check|out\n2"})
    spans[0]["attributes"] |= {"app.mode": "fast", "app.phase": "begin"}
    assert _states(*spans, config=config) == ["planner|search|ok|text|0|app.phase=check out 2|app.mode=fast"]
    assert _states(*_loop(10), config=config) == ["planner|search|ok|text|0|app.phase=?|app.mode=?"]


def test_how_full_a_context_was_stands_before_the_attributes():
    config = settings.of({"models": {"model-a": {"context": 1000}}, "coverage": {"state_attributes": ["app.phase"]}})
    spans = _loop(500, **{"app.phase": "a"})
    assert _states(*spans, config=config) == ["planner|search|ok|text|0|50-90|app.phase=a"]


@pytest.mark.full
def test_the_shortcut_tells_the_same_states():
    config = settings.of(
        {
            "models": {"gpt-4o": {"context": 300}, "claude-sonnet-4-5": {"context": 150}},
            "coverage": {"state_attributes": ["gen_ai.tool.type", "no.such"]},
        }
    )
    spans, logs = generated()
    for some in (config, replace(config, coverage=Config().coverage)):
        found, _ = with_shortcut(spans, logs, some)
        assert found.equals(without(spans, logs, some))
        fills = {state.split("|")[5] for state in found["states"].explode().drop_nulls()}
        assert fills >= {"0-50", "50-90", "90-100"}
    found, _ = with_shortcut(spans, logs, replace(config, models={}))
    assert {s.split("|", 5)[5] for s in found["states"].explode().drop_nulls()} == {
        "gen_ai.tool.type=function|no.such=?"
    }
