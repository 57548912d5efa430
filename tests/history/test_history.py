"""Trends, alerts with hysteresis, and models side by side, from the command line on real stores."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from otelcov.history import results
from otelcov.history.alerts import step
from tests.history.traffic import AT, DAY, NOW, otelcov, request, store

HOUR = DAY // 24
CASE = {"name": "finds", "input": "find it", "expected_tool_calls": [{"tool_name": "search"}]}
OTHER = {"name": "books", "input": "book it", "expected_tool_calls": [{"tool_name": "book"}]}


@pytest.fixture
def cases(tmp_path: Path) -> str:
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump([CASE, OTHER]))
    return str(file)


def three_days(folder: Path) -> str:
    """A good day, a day without a run, a bad and slow day."""
    good = [request("find it", "search", at=NOW - 3 * DAY + n * HOUR, took_ms=100) for n in range(4)]
    bad = [request("find it", "book!", at=NOW - DAY + n * HOUR, took_ms=900, release="2.0") for n in range(4)]
    return store(folder, good + bad)


def test_a_trend_has_a_point_for_each_day(tmp_path: Path, cases: str) -> None:
    where = three_days(tmp_path)
    assert otelcov("test", cases, "--store", where, "--now", AT, "--since", "30d")[0] == 1
    code, told, _ = otelcov("trend", "--store", where, "--now", AT, "--format", "json")
    groups = json.loads(told)["groups"]
    assert code == 0
    assert [g["group"] for g in groups] == ["2025-07-28", "2025-07-29", "2025-07-30", "2025-07-31"]
    assert [g["runs"] for g in groups] == [2, 2, 2, 2] or sum(g["runs"] for g in groups) == 8
    assert groups[0]["pass_rate"] == 1.0
    assert groups[-1]["pass_rate"] == 0.0
    assert groups[0]["latency_ms"]["p50"] == pytest.approx(100, rel=0.03)
    assert groups[-1]["latency_ms"]["p50"] == pytest.approx(900, rel=0.03)
    assert groups[0]["input_tokens"]["mean"] == 100
    assert (groups[0]["errors"], groups[-1]["errors"]) == (0, groups[-1]["runs"])
    assert groups[0]["coverage"]["tool"] == pytest.approx(1 / 3)


def test_a_trend_by_release_and_as_text_with_a_sparkline(tmp_path: Path, cases: str) -> None:
    where = three_days(tmp_path)
    otelcov("test", cases, "--store", where, "--now", AT, "--since", "30d")
    code, told, _ = otelcov("trend", "--by", "release", "--store", where, "--now", AT)
    assert code == 0
    latency = next(line for line in told.splitlines() if line.startswith("latency p50"))
    assert latency.split()[-1] == "▂█"
    assert "1.0" in told and "2.0" in told


def test_a_day_stays_in_one_piece_in_eighty_columns(tmp_path: Path) -> None:
    _, told, _ = otelcov("trend", "--store", three_days(tmp_path), "--now", AT, COLUMNS="80")
    assert any(line.startswith("2025-07-28 ") and line.endswith("%") for line in told.splitlines())
    assert any(line.endswith("errors  coverage") for line in told.splitlines())
    assert max(map(len, told.splitlines())) <= 80


def test_a_narrow_trend_cuts_no_number(tmp_path: Path) -> None:
    where = three_days(tmp_path)
    for columns in ("40", "60"):
        _, told, _ = otelcov("trend", "--store", where, "--now", AT, COLUMNS=columns)
        assert "…" not in told and "\n  2025-07-28\n    runs " in told
        assert max(map(len, told.splitlines())) <= int(columns)


def test_a_long_trend_in_eighty_columns_draws_the_latest_days(tmp_path: Path) -> None:
    where = store(tmp_path, [request(at=NOW - 90 * DAY, took_ms=1), request(took_ms=900)])
    _, told, _ = otelcov("trend", "--store", where, "--since", "100d", "--now", AT, COLUMNS="80")
    latency = next(line for line in told.splitlines() if line.startswith("latency p50"))
    assert latency.endswith("·█")
    assert max(map(len, told.splitlines())) <= 80


def test_a_clock_that_stood_at_its_beginning_makes_no_trend_of_half_a_century(tmp_path: Path) -> None:
    where = store(tmp_path, [request(at=10**9), request()])
    told = otelcov("trend", "--store", where, "--since", "all", "--now", AT, "--format", "json")[1]
    assert [g["group"] for g in json.loads(told)["groups"]] == ["1970-01-01", "2025-07-31"]


def test_runs_that_tell_no_tokens_are_not_in_their_mean(tmp_path: Path) -> None:
    where = store(tmp_path, [request("find it", tokens=(100, 10)), request("find it", tokens=None)])
    (group,) = json.loads(otelcov("trend", "--store", where, "--now", AT, "--format", "json")[1])["groups"]
    assert (group["runs"], group["input_tokens"]["mean"], group["output_tokens"]["mean"]) == (2, 100, 10)


@pytest.mark.parametrize(
    ("since", "days"), [(("--since", "all"), [28, 29]), (("--since", "2025-07-29"), [29]), ((), [28, 29])]
)
def test_a_trend_ends_where_it_is_told_to(tmp_path: Path, since: tuple[str, ...], days: list[int]) -> None:
    where = three_days(tmp_path)
    asked = ("trend", "--store", where, *since, "--until", "2025-07-30", "--format", "json", "--now")
    for now in (AT, "2026-07-31T22:13:20Z"):
        groups = json.loads(otelcov(*asked, now)[1])["groups"]
        assert [g["group"] for g in groups] == [f"2025-07-{day}" for day in days]


def test_a_trend_of_nothing_is_3(tmp_path: Path) -> None:
    where = store(tmp_path, [request(at=NOW - 90 * DAY)])
    assert otelcov("trend", "--store", where, "--now", AT)[0] == 3
    assert otelcov("trend", "--store", str(tmp_path / "none"), "--now", AT)[0] == 4


@pytest.mark.parametrize(
    ("needed", "seen", "states"),
    [
        (1, "WGW", ["firing", "ok", "firing"]),
        (1, "WBBG", ["firing", "firing", "firing", "ok"]),  # between the thresholds nothing changes
        (2, "WWGWGG", ["ok", "firing", "firing", "firing", "firing", "ok"]),
        (2, "WBWBWW", ["ok", "ok", "ok", "ok", "ok", "firing"]),
        (1, "W?G", ["firing", "firing", "ok"]),  # not known changes nothing
        (2, "W?W", ["ok", "ok", "firing"]),
    ],
)
def test_hysteresis(needed: int, seen: str, states: list[str]) -> None:
    """W wrong, G well again, B between, ? not known."""
    meaning: dict[str, tuple[Any, Any]] = {
        "W": (True, False),
        "G": (False, True),
        "B": (False, False),
        "?": (None, None),
    }
    state, streak, found = "ok", 0, []
    for mark in seen:
        state, streak, _ = step(state, streak, needed, *meaning[mark])
        found.append(state)
    assert found == states


RULES = """
[[alerts.rules]]
name = "passing"
metric = "pass_rate"
below = 80
clear = 90
window = "24h"

[[alerts.rules]]
name = "slow"
metric = "latency_p95"
above = 500

[[alerts.rules]]
name = "spent"
metric = "tokens"
above = 1000

[[alerts.rules]]
name = "fallen"
metric = "coverage.tool"
drop = 20

[[alerts.rules]]
name = "unused"
edge = "planner/search"
unused_for = "36h"
"""


def config(folder: Path, text: str = RULES, top: str = "") -> str:
    file = folder / "otelcov.toml"
    file.write_text(top + text)
    return str(file)


def check(where: str, settings: str, now: str = AT, **more: str) -> tuple[int, dict[str, Any], str]:
    code, told, said = otelcov(
        "alerts", "check", "--store", where, "--config", settings, "--now", now, "--format", "json", **more
    )
    return code, {a["rule"]: a for a in json.loads(told)["alerts"]}, said


def test_each_kind_of_rule_fires_on_what_it_is_about(tmp_path: Path, cases: str) -> None:
    where = three_days(tmp_path)
    otelcov("test", cases, "--store", where, "--now", AT, "--since", "30d")
    code, found, _ = check(where, config(tmp_path))
    assert code == 1
    assert {name: a["state"] for name, a in found.items()} == {
        "passing": "firing",
        "slow": "firing",
        "spent": "ok",
        "fallen": "ok",
        "unused": "firing",
    }
    assert found["passing"]["value"] == 0
    assert found["spent"]["value"] == 110
    assert found["fallen"]["result"] == "no_data"  # the day before had no run


def test_a_sampled_run_that_failed_stands_for_those_that_were_not_kept(tmp_path: Path) -> None:
    failed = request(failed=True, attributes={"SampleRate": 4})
    where = store(tmp_path, [failed, *(request(str(i)) for i in range(6))])
    rule = '[[alerts.rules]]\nname = "failing"\nmetric = "run_error_rate"\nabove = 30\n'
    code, found, _ = check(where, config(tmp_path, rule))
    assert (code, found["failing"]["value"], found["failing"]["state"]) == (1, 40.0, "firing")


def test_an_edge_is_also_used_by_a_tool_that_delegates(tmp_path: Path) -> None:
    where = store(tmp_path, [request("hand it over", "transfer_to_worker")])
    rule = '[[alerts.rules]]\nname = "unused"\nedge = "planner/transfer_to_worker"\nunused_for = "36h"\n'
    code, found, _ = check(where, config(tmp_path, rule))
    assert (code, found["unused"]["reason"]) == (
        0,
        "planner/transfer_to_worker exercised by 1 run in the last 1d12h",
    )


def test_a_rule_that_sees_nothing_is_3_and_a_quiet_one_0(tmp_path: Path) -> None:
    where = store(tmp_path, [request("find it", "search")])
    quiet = '[[alerts.rules]]\nname = "slow"\nmetric = "latency_p50"\nabove = 5000\n'
    assert check(where, config(tmp_path, quiet))[0] == 0
    blind = '[[alerts.rules]]\nname = "passing"\nmetric = "pass_rate"\nbelow = 50\n'
    code, found, _ = check(where, config(tmp_path, blind))
    assert (code, found["passing"]["state"], found["passing"]["result"]) == (3, "ok", "no_data")


def test_a_state_outlives_the_process_and_trembling_does_not_ring_twice(tmp_path: Path) -> None:
    text = '[[alerts.rules]]\nname = "slow"\nmetric = "latency_p50"\nabove = 500\nclear = 200\nwindow = "1h"\n'
    settings = config(tmp_path, text)
    where, states = "", []
    for hour, took in enumerate((900, 400, 600, 100, 400)):
        at = NOW + hour * HOUR
        where = store(tmp_path, [request(at=at - HOUR // 2, took_ms=took)])
        code, found, _ = check(where, settings, now=f"2025-{iso(at)}")
        states.append((found["slow"]["state"], found["slow"]["changed"], code))
    assert states == [
        ("firing", True, 1),
        ("firing", False, 1),
        ("firing", False, 1),
        ("ok", True, 0),
        ("ok", False, 0),
    ]


def iso(at: int) -> str:
    from otelcov.ground import windows

    return windows.iso(at).removeprefix("2025-")


@pytest.fixture
def hook() -> Iterator[tuple[str, list[dict[str, Any]], list[int]]]:
    """A webhook on loopback: its address, what it got, and what it answers next (200 when empty)."""
    got: list[dict[str, Any]] = []
    answers: list[int] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = answers.pop(0) if answers else 200
            if status == 200:
                got.append(json.loads(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", got, answers
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_webhook_hears_of_each_change_once_and_again_if_it_was_deaf(tmp_path: Path, hook: Any) -> None:
    address, got, answers = hook
    where = store(tmp_path, [request(took_ms=900)])
    rule = '[[alerts.rules]]\nname = "slow"\nmetric = "latency_p50"\nabove = 500\n'
    settings = config(tmp_path, rule, top='[alerts]\nwebhook_env = "HOOK"\n')
    answers.append(500)
    code, _, said = check(where, settings, HOOK=address)
    assert code == 4
    assert "The next check tries again" in said
    assert address not in said
    assert check(where, settings, HOOK=address, now="2025-07-31T22:14:00Z")[0] == 1
    assert check(where, settings, HOOK=address, now="2025-07-31T22:15:00Z")[0] == 1
    assert [(d["firing"], [c["rule"] for c in d["changed"]]) for d in got] == [(["slow"], ["slow"])]
    assert otelcov("alerts", "check", "--store", where, "--config", settings, "--now", AT)[0] == 2  # HOOK is not set


@pytest.mark.parametrize("address", ["hooks.internal/x", "file:///tmp/told"])
def test_a_webhook_that_nobody_could_hear_is_2(tmp_path: Path, address: str) -> None:
    where = store(tmp_path, [request()])
    settings = config(
        tmp_path, '[[alerts.rules]]\nname = "r"\nmetric = "runs"\nabove = 0\n', f'[alerts]\nwebhook = "{address}"\n'
    )
    code, _, said = otelcov("alerts", "check", "--store", where, "--config", settings, "--now", AT)
    assert code == 2
    assert "http://" in said


def test_traffic_that_stopped_fires(tmp_path: Path) -> None:
    where = store(tmp_path, [request(at=NOW - 3 * DAY)])
    code, found, _ = check(where, config(tmp_path, '[[alerts.rules]]\nname = "r"\nmetric = "runs"\nbelow = 1\n'))
    assert (code, found["r"]["value"], found["r"]["state"]) == (1, 0.0, "firing")


def test_alerts_as_prometheus_metrics(tmp_path: Path) -> None:
    where = store(tmp_path, [request(took_ms=900)])
    settings = config(tmp_path, '[[alerts.rules]]\nname = "slow \\"one\\""\nmetric = "runs"\nabove = 0\n')
    code, told, _ = otelcov(
        "alerts", "check", "--store", where, "--config", settings, "--now", AT, "--format", "prometheus"
    )
    assert code == 1
    assert 'otelcov_alert_firing{rule="slow \\"one\\""} 1.0' in told
    assert 'otelcov_alert_value{metric="runs",rule="slow \\"one\\""} 1.0' in told


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('metric = "pass_rat"\nbelow = 1', 'Did you mean "pass_rate"?'),
        ('metric = "pass_rate"', "exactly one of below, above and drop"),
        ('metric = "pass_rate"\nbelow = nan', "below"),
        ('metric = "pass_rate"\nbelow = 90\nclear = 80', "wrong side"),
        ('metric = "latency_p50"\nabove = 50\nclear = 80', "wrong side"),
        ('metric = "runs"\ndrop = 5\nclear = 6', "wrong side"),
        ('metric = "pass_rate"\nbelow = 1\nabove = 2', "exactly one of below, above and drop"),
        ('edge = "a/b"', "unused_for"),
        ('metric = "runs"\nabove = 1\nabov = 2', 'Did you mean "above"?'),
    ],
)
def test_a_rule_that_makes_no_sense_is_2(tmp_path: Path, rule: str, said: str) -> None:
    where = store(tmp_path, [request()])
    settings = config(tmp_path, f'[[alerts.rules]]\nname = "x"\n{rule}\n')
    code, _, told = otelcov("alerts", "check", "--store", where, "--config", settings, "--now", AT)
    assert code == 2
    assert said in told


def two_models(folder: Path, n: int = 20) -> str:
    """The second model is slower, fails half of one case, and has another prompt."""
    runs = []
    for number in range(n):
        at = NOW - HOUR + number * 1_000_000_000
        for model, took, prompt in (("model-a", 100 + number, "v1"), ("model-b", 500 + number, "v2")):
            bad = model == "model-b" and number % 2
            tagged = {"gen_ai.prompt.version": prompt}
            runs.append(request("find it", "search", at=at, took_ms=took, model=model, attributes=tagged))
            runs.append(
                request("book it", "cancel" if bad else "book", at=at, took_ms=took, model=model, attributes=tagged)
            )
    return store(folder, runs)


@pytest.mark.parametrize("by", ["model", "prompt", "attribute:gen_ai.prompt.version"])
@pytest.mark.parametrize("judged", ["now", "kept"])
def test_models_side_by_side(tmp_path: Path, cases: str, by: str, judged: str) -> None:
    where = two_models(tmp_path)
    files = [cases] if judged == "now" else []
    if judged == "kept":
        otelcov("test", cases, "--store", where, "--now", AT)
    code, told, _ = otelcov("compare", *files, "--by", by, "--store", where, "--now", AT, "--format", "json")
    assert code == 0
    found = json.loads(told)
    first, second = found["groups"]
    assert [first["group"], second["group"]] == (["model-a", "model-b"] if by == "model" else ["v1", "v2"])
    assert (first["passed"], second["passed"], second["total"]) == (40, 30, 40)
    assert second["tests"]["pass_rate"]["significant"] is True
    assert second["tests"]["latency_ms"]["significant"] is True
    assert second["tests"]["input_tokens"]["significant"] is False
    assert [d["case"] for d in found["disagreements"]] == ["books"]
    assert second["coverage"]["tool"] == 1.0
    assert first["coverage"]["tool"] == pytest.approx(2 / 3)


@pytest.mark.full
def test_a_comparison_of_one_agent_tells_the_coverage_of_its_steps(tmp_path: Path, cases: str) -> None:
    asked = ("compare", cases, "--store", two_models(tmp_path), "--now", AT, "--format", "json")
    whole, one, none = (
        [group["coverage"]["tool"] for group in json.loads(otelcov(*asked, *more)[1])["groups"]]
        for more in ((), ("--agent", "planner"), ("--agent", "nobody"))
    )
    assert one == whole == [pytest.approx(2 / 3), 1.0]
    assert none != whole and not any(none)


def test_a_comparison_names_cost_and_what_was_not_common(tmp_path: Path, cases: str) -> None:
    runs = [request("find it", "search", model=m) for m in ("model-a", "model-b")] + [request("book it", "book")]
    where = store(tmp_path, runs)
    settings = config(tmp_path, "[models.model-a]\nprice = {input = 10.0, output = 100.0}\n")
    arguments = ("compare", cases, "--store", where, "--now", AT, "--config", settings)
    found = json.loads(otelcov(*arguments, "--format", "json")[1])
    assert found["not_common"] == ["books"]
    assert [g["cost"] for g in found["groups"]] == [pytest.approx(0.002), None]
    told = otelcov(*arguments, "--baseline", "model-b")[1]
    assert "model-a against model-b, pass rate: no proven difference" in told
    assert "books" in told


def test_a_model_is_chosen_by_any_of_its_names(tmp_path: Path, cases: str) -> None:
    where = store(tmp_path, [request("find it", "search", model="gpt-4o-2024-08-06")])
    otelcov("test", cases, "--store", where, "--now", AT)
    for name in ("gpt-4o", "openai/gpt-4o", "gpt-4o-2024-08-06"):
        told = otelcov("trend", "--model", name, "--store", where, "--now", AT, "--format", "json")[1]
        (group,) = json.loads(told)["groups"]
        assert (group["runs"], group["total"]) == (1, 1)


def test_one_model_alone_is_3_and_an_unknown_way_is_2(tmp_path: Path, cases: str) -> None:
    where = store(tmp_path, [request("find it", "search")])
    assert otelcov("compare", cases, "--store", where, "--now", AT)[0] == 3
    assert otelcov("compare", cases, "--by", "modle", "--store", where, "--now", AT)[0] == 2
    assert otelcov("compare", cases, "--baseline", "x", "--store", where, "--now", AT)[0] == 2


def test_an_erased_trace_leaves_no_kept_result(tmp_path: Path, cases: str) -> None:
    where = three_days(tmp_path)
    assert otelcov("test", cases, "--store", where, "--now", AT, "--since", "30d")[0] == 1
    _, lines, _ = otelcov("runs", "--store", where, "--since", "all", "--format", "jsonl")
    (gone, *_) = (json.loads(line) for line in lines.splitlines())
    held = {
        path for path in (Path(where) / "results").rglob("*.parquet") if gone["run_id"].encode() in path.read_bytes()
    }
    assert gone["run_id"] in set(results.read(where)["run_id"])
    assert otelcov("prune", "--store", where, "--trace", gone["trace_ids"][0])[0] == 0
    assert gone["run_id"] not in set(results.read(where)["run_id"])
    assert not any(path.exists() for path in held)
