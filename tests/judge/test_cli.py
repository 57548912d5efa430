"""`otelcov judge` at the command line: formats, exit codes, windows, start-up."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from otelcov.cli.commands import app
from tests.judge.ask import judge
from tests.judge.server import serving
from tests.judge.traffic import Said, Tool, store

TWICE = [Said("weather | <b>?", "sunny", [Tool("get_weather", {"city": "Oslo"}, "sunny")] * 2)]


def test_a_window_without_runs_prints_nulls_and_exits_3(tmp_path):
    place = store(tmp_path, TWICE)
    code, document = judge(place, "--until", "2020-01-01")
    assert code == 3
    assert (document["runs"], document["turns"], document["result"]) == (0, 0, "no_data")
    assert {row["value"] for row in document["metrics"]} == {None}
    for format in ("text", "markdown", "junit"):
        assert judge(place, "--until", "2020-01-01", format=format)[0] == 3


def test_a_store_that_does_not_exist_exits_4_and_is_not_made(tmp_path):
    result = CliRunner().invoke(app, ["judge", "--store", str(tmp_path / "absent")])
    assert result.exit_code == 4
    assert not (tmp_path / "absent").exists()


def test_the_selection_chooses_runs_as_everywhere(tmp_path):
    place = store(tmp_path, TWICE)
    assert judge(place, "--service", "shop", "--side", "test")[1]["runs"] == 1
    code, document = judge(place, "--side", "production")
    assert (code, document["runs"], document["selection"]) == (3, 0, {"side": ["production"]})


def test_junit_has_a_case_per_threshold_and_error(tmp_path):
    args = ("--threshold", "helpfulness=3", "--fail-on-error-severity", "medium")
    code, text = judge(store(tmp_path, TWICE), *args, format="junit")
    assert code == 1
    cases = {c.get("name"): [x.tag for x in c] for c in ElementTree.fromstring(text).iter("testcase")}
    assert cases.pop("helpfulness at least 3") == ["error"]  # not enough data
    assert cases.pop("no error of severity medium or above") == ["failure"]
    ((name, kind),) = cases.items()
    assert name.startswith("[medium] repeated tool call (planner/get_weather)")
    assert kind == ["failure"]


def test_markdown_holds_the_verdict_the_metrics_and_the_errors(tmp_path):
    with serving() as server:
        code, text = judge(store(tmp_path, TWICE), "--threshold", "helpfulness=3", format="markdown", url=server.url)
    assert code == 0
    assert text.startswith("### otelcov judge: pass\n")
    assert "| helpfulness | 4 | 1/1 |  |" in text
    assert "| medium | repeated tool call (planner/get\\_weather) | 1 |  | rule repeated\\_call (disputed) |" in text
    assert "- pass: helpfulness 4, at least 3" in text


def test_text_says_when_only_rules_judged(tmp_path):
    code, text = judge(store(tmp_path, TWICE), format="text")
    assert code == 0
    assert "By rules alone: no judge model is configured" in text
    assert "[medium] repeated tool call (planner/get_weather) (1 occurrence(s))" in text


def test_a_model_without_its_key_is_not_asked(tmp_path):
    place = store(tmp_path, TWICE)
    code, document = judge(place, "--judge-model", "openai:gpt-4o-mini", "--threshold", "helpfulness=3")
    assert (code, document["not_asked"]) == (3, "OPENAI_API_KEY is not set")
    assert document["thresholds"][0]["reason"] == "this metric did not run: OPENAI_API_KEY is not set"


def test_rules_only_asks_nobody(tmp_path):
    with serving() as server:
        judge(store(tmp_path, TWICE), "--rules-only", url=server.url)
    assert server.requests == []


@pytest.mark.parametrize("threshold", ["helpfulness", "helpfulness=nan"])
def test_a_threshold_that_is_no_number_is_a_usage_error(tmp_path, threshold):
    code, output = judge(store(tmp_path, TWICE), "--threshold", threshold)
    assert code == 2
    assert "Write it like helpfulness=3.5" in output


@pytest.mark.parametrize("least", ["9", "0.5", "-1"])
def test_a_threshold_beyond_a_metrics_scores_is_a_usage_error(tmp_path, least):
    code, output = judge(store(tmp_path, TWICE), "--threshold", f"helpfulness={least}")
    assert code == 2
    assert f"its scores go from 1 to 5, got {least}." in output


def test_a_word_that_an_option_does_not_know_is_told_plainly(tmp_path):
    code, output = judge(store(tmp_path, TWICE), "--fail-on-error-severity", "grave")
    assert code == 2
    assert "Value error" not in output
    assert "'grave' is not one of" in output


def test_results_may_lie_beside_files_of_others(tmp_path):
    place = store(tmp_path, TWICE)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "package.json").write_text('{"name": "x"}')
    (tmp_path / "kept" / "list.json").write_text("[1]")
    code, document = judge(place, "--results", str(tmp_path / "kept"), "--rules-only")
    assert (code, document["result"]) == (0, "pass")


def test_other_commands_start_without_the_judge(tmp_path):
    place = store(tmp_path, TWICE)
    code = (
        "import sys, otelcov.cli\n"
        f"try: otelcov.cli.main(['runs', '--store', {str(place)!r}, '--since', 'all'])\n"
        "except SystemExit: pass\n"
        "sys.exit(str({m for m in sys.modules if m.split('.')[0] in ('pydantic_ai', 'openai', 'anthropic')} or ''))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_an_agent_alone_is_judged_by_its_own_answers_and_calls(tmp_path):
    turns = [*TWICE, Said("and you?", "well, thank you", conversation="c2", name="worker")]
    place = store(tmp_path, turns)
    assert judge(place)[1]["turns"] == 2
    _, document = judge(place, "--agent", "worker")
    assert (document["turns"], document["errors"]) == (1, [])
