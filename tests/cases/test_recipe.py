"""The recipe's cases on its agent, through a collector: 9/9; and an agent that is broken is caught as its cases ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from otelcov.cli import loopback
from tests.history.traffic import otelcov

EXAMPLE = Path(__file__).parents[2] / "examples" / "recipe-agent"
BROKEN = ("wrong-tool", "wrong-argument", "tool-error", "lost-context")


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with the runs of the sound agent and of each broken one, told apart by their release."""
    store = tmp_path_factory.mktemp("recipe") / "store"
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTELCOV_", "OTEL_"))}
    with loopback.collector(store) as ports:
        endpoint = f"http://127.0.0.1:{ports['http']}"
        for release in ("sound", *BROKEN):
            resource = f"deployment.environment.name=test,service.version={release}"
            environ = clean | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_RESOURCE_ATTRIBUTES": resource}
            command = [sys.executable, str(EXAMPLE / "agent.py"), *(["--break", release] * (release != "sound"))]
            subprocess.run(command, env=environ, check=True, timeout=60, stdout=subprocess.DEVNULL)
    yield str(store)


def judged(where: str, file: str, release: str) -> tuple[int, dict[str, Any]]:
    code, told, _ = otelcov(
        "test", str(EXAMPLE / file), "--store", where, "--release", release, "--no-keep", "--format", "json"
    )
    return code, json.loads(told)


def failures(document: dict[str, Any]) -> dict[str, list[str]]:
    return {
        f"{case['name']}{'' if turn['turn'] is None else ' ' + str(turn['turn'])}": sorted(
            {c["check"] for j in turn["judged"] for c in j["checks"] if c["result"] == "fail"}
        )
        for case in document["cases"]
        for turn in case["turns"]
        if turn["result"] != "pass"
    }


def test_the_sound_agent_prints_what_the_recipe_prints(where: str) -> None:
    code, told, _ = otelcov("test", str(EXAMPLE / "cases.yaml"), "--store", where, "--release", "sound")
    assert code == 0
    for line in (
        "SINGLE-TURN TEST SUMMARY",
        "Tests Passed: 4/4",
        "Turns Passed: 5/5",
        "Total Passed: 9/9",
        "Overall Pass Rate: 100.0%",
    ):
        assert line in told
    assert judged(where, "outcomes.yaml", "sound")[0] == 0


def test_a_wrong_tool_is_caught(where: str) -> None:
    code, found = judged(where, "cases.yaml", "wrong-tool")
    assert code == 1
    assert all("trajectory" in checks for checks in failures(found).values())
    assert len(failures(found)) == 9


def test_a_wrong_argument_is_caught_where_the_case_names_arguments(where: str) -> None:
    code, found = judged(where, "cases.yaml", "wrong-argument")
    assert code == 1
    single = ["weather_query", "stock_price_query", "weather_different_city", "stock_different_ticker"]
    assert sorted(failures(found)) == sorted(single)
    assert found["summary"]["multi_turn"]["passed"] == 5


def test_a_tool_error_is_caught_where_the_case_asks_for_an_outcome(where: str) -> None:
    """The recipe judges what was asked for, so that its cases pass."""
    assert judged(where, "cases.yaml", "tool-error")[0] == 0
    code, found = judged(where, "outcomes.yaml", "tool-error")
    assert code == 1
    assert failures(found) == {
        "weather_works": ["errors", "response", "trajectory"],
        "tokyo_is_understood 2": ["trajectory"],
    }


def test_a_context_lost_between_turns_is_caught(where: str) -> None:
    code, found = judged(where, "cases.yaml", "lost-context")
    assert code == 1
    assert failures(found) == {
        "multiple_weather_queries 2": ["trajectory"],
        "multiple_weather_queries 3": ["trajectory"],
    }


def test_arguments_ignore_is_the_rule_of_the_recipes_runner(where: str, tmp_path: Path) -> None:
    """Names, count and order: what its text calls "we do not perform strict parameter matching"."""
    import yaml

    cases = yaml.safe_load((EXAMPLE / "cases.yaml").read_text())["single_turn"]
    file = tmp_path / "ignore.yaml"
    file.write_text(yaml.safe_dump([case | {"arguments": "ignore"} for case in cases]))
    for release, code in (("wrong-argument", 0), ("tool-error", 0), ("wrong-tool", 1)):
        assert otelcov("test", str(file), "--store", where, "--release", release, "--no-keep")[0] == code
