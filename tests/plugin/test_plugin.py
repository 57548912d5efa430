"""Real pytest sessions in subprocesses: an instrumented agent under test, a threshold, xdist, the fixture."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

AGENT = '''
import json
from opentelemetry import trace

def act(*tools, agent="planner"):
    """An agent that calls these tools, one after another."""
    tracer = trace.get_tracer("agent")
    offered = json.dumps([{"type": "function", "name": n} for n in ("search", "book", "cancel", "refund")])
    with tracer.start_as_current_span("invoke_agent") as span:
        span.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent})
        with tracer.start_as_current_span("chat") as chat:
            chat.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
            chat.set_attribute("gen_ai.tool.definitions", offered)
        for tool in tools:
            with tracer.start_as_current_span(f"execute_tool {tool}") as call:
                call.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool})
                call.set_attribute("gen_ai.tool.call.arguments", json.dumps({"q": tool}))
'''
TESTS = """
import pytest
from agent import act

def test_search():
    act("search")

def test_book():
    act("search", "book")

@pytest.mark.parametrize("n", range(4))
def test_again(n):
    act("search")
"""


def session(folder: Path, *options: str, tests: str = TESTS, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "agent.py").write_text(AGENT)
    (folder / "test_agent.py").write_text(tests)
    (folder / "otelcov.toml").write_text("[coverage]\nboundaries = []\n")
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTELCOV_", "OTEL_", "PYTEST"))}
    left_out = ("-p", "no:cacheprovider", "-p", "no:langsmith_plugin")  # the latter costs each session a second
    command = [sys.executable, "-m", "pytest", "-q", *left_out, *options]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=clean | more, check=False, timeout=120
    )


def test_without_the_option_nothing_is_measured_or_changed(tmp_path: Path) -> None:
    done = session(tmp_path)
    assert done.returncode == 0
    assert "otelcov" not in done.stdout


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.full)])
def test_the_summary_shows_what_is_missing_and_a_threshold_not_reached_fails_the_session(
    tmp_path: Path, workers: int
) -> None:
    extra = ["-n", str(workers)] if workers else []
    failing = session(tmp_path, "--otelcov", "--otelcov-fail-under=90", *extra)
    assert failing.returncode == 1, failing.stdout
    assert "FAIL Required agent coverage of 90% not reached" in failing.stdout
    assert "6 passed" in failing.stdout
    passing = session(tmp_path, "--otelcov", "--otelcov-fail-under=10", *extra)
    assert passing.returncode == 0, passing.stdout + passing.stderr
    assert "6 runs of agents in 6 tests" in passing.stdout
    assert re.search(r"tool +2 +4 +50.0% +cancel, refund", passing.stdout)
    assert "Required agent coverage of 10% reached" in passing.stdout


@pytest.mark.full
def test_with_xdist_the_workers_add_up_to_the_same(tmp_path: Path) -> None:
    shots = []
    for number, extra in enumerate(([], ["-n", "2"])):
        path = tmp_path / f"{number}.json"
        done = session(tmp_path, "--otelcov", f"--otelcov-report=json:{path}", *extra)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "6 runs of agents in 6 tests" in done.stdout
        shots.append(json.loads(path.read_text()))
    told = ("dimension", "score", "covered_items", "missing", "runs", "singletons", "doubletons")
    alone, together = ([[d[key] for key in told] for d in shot["coverage"]["dimensions"]] for shot in shots)
    assert alone == together
    assert shots[0]["runs"] == shots[1]["runs"]
    assert shots[0]["runs"]["test"] == 6


@pytest.mark.full
def test_who_asks_for_a_report_or_a_threshold_need_not_ask_to_measure(tmp_path: Path) -> None:
    done = session(tmp_path, "--otelcov-fail-under=90")
    assert done.returncode == 1
    assert "FAIL Required agent coverage of 90% not reached" in done.stdout
    assert session(tmp_path, "--otelcov-report=json:made.json").returncode == 0
    assert json.loads((tmp_path / "made.json").read_text())["runs"]["test"] == 6
    assert session(tmp_path, "--otelcov-report=nothing").returncode == 4


@pytest.mark.full
def test_no_span_is_not_enough_for_a_threshold(tmp_path: Path) -> None:
    done = session(tmp_path, "--otelcov", "--otelcov-fail-under=0", tests="def test_nothing(): pass\n")
    assert done.returncode == 1
    assert "No span of an agent arrived" in done.stdout
    assert "Total agent coverage: not known" in done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--otelcov-report=banana",), 'no report format "banana"'),
        (("--otelcov-config=absent.toml",), "Couldn't read absent.toml"),
    ],
)
def test_what_cannot_be_is_said_before_the_first_test(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    done = session(tmp_path, "--otelcov", *options)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr
    assert "passed" not in done.stdout


@pytest.mark.full
def test_a_report_makes_its_folder_and_one_that_cannot_be_written_fails_the_session(tmp_path: Path) -> None:
    reports = ("--otelcov-report=json:made/here.json", "--otelcov-report=html:.")
    done = session(tmp_path, "--otelcov", *reports)
    assert json.loads((tmp_path / "made" / "here.json").read_text())["runs"]["total"] == 6
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "couldn't write the html report to .: Is a directory" in done.stdout


@pytest.mark.full
def test_a_marker_names_the_case_by_keyword_too(tmp_path: Path) -> None:
    tests = """
import pytest
from agent import act

@pytest.mark.otelcov_case(name="finds")
def test_search(otelcov_runs):
    act("search")
    assert [r["case"] for r in otelcov_runs()] == ["finds"]
"""
    assert session(tmp_path, "--otelcov", tests=tests).returncode == 0


@pytest.mark.full
def test_a_share_in_place_of_a_percent_is_an_error(tmp_path: Path) -> None:
    done = session(tmp_path, "--otelcov", "--otelcov-fail-under=0.9")
    assert done.returncode == 4
    assert "Did you mean 90?" in done.stderr


FIXTURE = """
from agent import act
from otelcov.cases import judge, parse

def test_its_own_runs(otelcov_runs):
    act("book", agent="other")
    act("search")
    first, second = otelcov_runs()
    assert [c["name"] for c in first["tool_calls"]] == ["book"]
    assert second["agents"] == ["planner"]
    assert second["tool_calls"][0]["arguments"] == {"q": "search"}
    assert first["case"] == "test_agent.py::test_its_own_runs" and first["side"] == "test"

def test_of_others_it_sees_none(otelcov_runs):
    assert otelcov_runs() == []
    act("search")
    case = {"name": "c", "select": {"case": "test_agent.py::test_of_others_it_sees_none"},
            "expected_tool_calls": [{"tool_name": "search"}]}
    assert judge(parse([case]), otelcov_runs.frame()).result == "pass"
"""


@pytest.mark.full
@pytest.mark.parametrize(
    "options", [[], *(pytest.param(o, marks=pytest.mark.full) for o in (["--otelcov"], ["--otelcov", "-n", "2"]))]
)
def test_the_fixture_gives_a_test_its_own_runs(tmp_path: Path, options: list[str]) -> None:
    done = session(tmp_path, *options, tests=FIXTURE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


OWN = '''
import subprocess, sys
import pytest
from agent import act

@pytest.fixture(scope="session", autouse=True)
def provider():
    """As an application sets it up, with an exporter that finds the receiver by the environment."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    made = TracerProvider(resource=Resource.create({"service.name": "mine"}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(made)
    yield

def test_once_though_it_comes_twice(otelcov_runs):
    act("search")
    assert [r["service"] for r in otelcov_runs()] == ["mine"]

def test_a_provider_that_nobody_shut_down(otelcov_runs):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    made = TracerProvider()
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    with made.get_tracer("x").start_as_current_span("invoke_agent") as span:
        span.set_attribute("gen_ai.operation.name", "invoke_agent")
        span.set_attribute("gen_ai.agent.name", "lone")
    (run,) = otelcov_runs()
    assert run["agents"] == ["lone"]

def test_a_process_of_its_own(otelcov_runs):
    code = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
from agent import act
act("cancel")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    (run,) = otelcov_runs()
    assert [c["name"] for c in run["tool_calls"]] == ["cancel"]
    assert run["case"] == "test_agent.py::test_a_process_of_its_own"
'''


@pytest.mark.full
@pytest.mark.parametrize("extra", [(), pytest.param(("-n", "2"), marks=pytest.mark.full)])
def test_an_own_provider_and_other_processes_are_seen_each_span_once(tmp_path: Path, extra: tuple[str, ...]) -> None:
    done = session(tmp_path, "--otelcov", *extra, tests=OWN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 runs of agents in 3 tests" in done.stdout
