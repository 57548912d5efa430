"""No turn is paid twice: not by judging again, not after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from otelcov.judge import kept
from tests.judge.ask import judge
from tests.judge.server import Reply, fine, serving
from tests.judge.traffic import Said, Tool, store


def _many(tmp_path, count=6):
    return store(tmp_path, [Said(f"question {k}", "answer", conversation=f"c{k}") for k in range(count)])


def test_a_judged_window_judged_again_costs_no_call(tmp_path):
    place = store(tmp_path, [Said("weather?", "sunny", [Tool("get_weather", {"city": "Oslo"}, "sunny")])])
    with serving() as server:
        _, first = judge(place, url=server.url)
        paid = len(server.requests)
        _, second = judge(place, url=server.url)
    assert paid == 8
    assert len(server.requests) == paid
    assert second["calls"]["requests"] == 0
    assert second["metrics"] == first["metrics"]
    assert second["results"] == first["results"]


@pytest.mark.full
def test_refusals_and_malformed_answers_were_paid_for_too(tmp_path):
    def script(request):
        return Reply(None, refusal="no") if request.metric == "coherence" else Reply("no JSON")

    place = _many(tmp_path)
    two = ("--metric", "coherence", "--metric", "helpfulness")
    with serving(script) as server:
        judge(place, *two, url=server.url)
        paid = len(server.requests)
        _, second = judge(place, *two, url=server.url)
        assert len(server.requests) == paid
        assert [r["missing"] for r in second["metrics"]] == [{"refused": 6}, {"malformed": 6}]
    with serving() as server:
        _, third = judge(place, *two, "--retry-missing", url=server.url)
    assert [r["judged"] for r in third["metrics"]] == [6, 6]


def test_what_was_never_answered_is_asked_again(tmp_path):
    place = _many(tmp_path)
    with serving(lambda _: Reply(status=500)) as server:
        judge(place, "--metric", "helpfulness", url=server.url)
    with serving() as server:
        _, document = judge(place, "--metric", "helpfulness", url=server.url)
    assert len(server.requests) == 6
    assert document["metrics"][0]["judged"] == 6


def test_equal_turns_of_one_window_are_paid_once(tmp_path):
    place = store(tmp_path, [Said("hi", "hello to you", conversation=f"c{k}") for k in range(5)])
    with serving() as server:
        _, document = judge(place, "--metric", "helpfulness", url=server.url)
    assert len(server.requests) == 1
    assert document["metrics"][0]["judged"] == 5


def test_a_new_metric_or_model_pays_only_for_what_is_new(tmp_path):
    place = _many(tmp_path)
    with serving() as server:
        judge(place, "--metric", "helpfulness", url=server.url)
        judge(place, "--metric", "helpfulness", "--metric", "coherence", url=server.url)
        assert len(server.requests) == 12
        judge(place, "--metric", "helpfulness", "--judge-model", "openai:another", url=server.url)
        assert len(server.requests) == 18


@pytest.mark.full
def test_killed_midway_and_started_again_nothing_is_paid_twice(tmp_path):
    place = _many(tmp_path, 30)
    config = tmp_path / "judge.toml"

    def slow(request):
        reply = fine(request)
        reply.wait_s = 0.05
        return reply

    def command():
        args = ["judge", "--store", str(place), "--since", "all", "--config", str(config), "--metric", "helpfulness"]
        return [sys.executable, "-m", "otelcov", *args, "--format", "json"]

    with serving(slow) as server:
        config.write_text(f'[judge]\nmodel = "openai:scripted"\nbase_url = "{server.url}"\nconcurrency = 2\n')
        process = subprocess.Popen(command(), stdout=subprocess.DEVNULL, start_new_session=True)
        while len(server.requests) < 12 and process.poll() is None:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.2)
        asked = len(server.requests)
        assert 12 <= asked < 30
        done = subprocess.run(command(), capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert document["metrics"][0]["judged"] == 30
    twice = len(server.requests) - 30
    assert 0 <= twice <= 2 + 1  # only what was under way when it died
    assert document["calls"]["requests"] == len(server.requests) - asked


def test_a_dry_run_asks_nothing_and_tells_what_it_would_cost(tmp_path):
    place = _many(tmp_path)
    prices = "[judge]\nprice_input = 1.0\nprice_output = 4.0\n"
    with serving() as server:
        code, document = judge(place, "--dry-run", toml=prices, url=server.url)
        assert server.requests == []
        assert not (place / "judge").exists()
        _, real = judge(place, toml=prices, url=server.url)
        assert document["calls"] == real["calls"]["requests"] == 42
        _, again = judge(place, "--dry-run", toml=prices, url=server.url)
        text = judge(place, "--dry-run", toml=prices, url=server.url, format="text")[1]
    assert code == 0
    assert document["cost"] > 0
    assert real["calls"]["cost"] == (42 * 100 * 1.0 + 42 * 20 * 4.0) / 1e6
    assert (again["calls"], again["cost"]) == (0, 0.0)
    assert "would be asked 0 times" in text


def test_a_dry_run_needs_no_key_and_no_model(tmp_path):
    code, document = judge(_many(tmp_path), "--dry-run")
    assert code == 0
    assert document["calls"] == 42
    assert document["cannot_ask"].startswith("no judge model is configured")


def test_an_erased_trace_is_erased_from_the_answers_and_judgements_too(tmp_path):
    place = _many(tmp_path)
    only = ("--metric", "helpfulness")
    with serving() as server:
        _, document = judge(place, *only, url=server.url)
        trace = document["results"][0]["trace_id"]
        assert kept.forget(place / "judge", [trace]) == 2  # one answer, one judgement
        assert not any(trace in path.read_text() for path in (place / "judge").glob("*.json"))
        judge(place, *only, url=server.url)
    assert len(server.requests) == 7  # it is still in the store, and is asked about anew
