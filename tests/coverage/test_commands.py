"""The commands, from files of spans to output and exit code."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from otelcov.cli.commands import app
from tests.coverage import otlp

CONFIG = """
[agents.planner]
tools = ["search", "book", "mail"]
restricted = ["delete"]
[models.gpt-4o]
[models.claude]
"""
GATE = "agents: [{name: safe, tool_edges: {allowed: [search, mail], restricted: [delete]}}]"
NOW = ["--now", "2025-08-01T00:00:00Z"]


class Result:
    def __init__(self, *args: str) -> None:
        found = CliRunner().invoke(app, list(args), env={"NO_COLOR": "1", "COLUMNS": "100"})
        if found.exception and not isinstance(found.exception, SystemExit):
            raise found.exception
        self.code, self.out, self.err = found.exit_code, found.stdout, found.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of 40 production and 10 test runs, a config and a gate file."""
    place = tmp_path_factory.mktemp("shop")
    production = [("prod", 60.0 * i, ["search", "book!"] if i % 4 else ["search", "pay"]) for i in range(40)]
    tests = [("ci", 30.0 + 60 * i, ["search", "book"]) for i in range(10)]
    otlp.write(place / "spans", *production, *tests)
    (place / "otelcov.toml").write_text(CONFIG)
    (place / "gate.yaml").write_text(GATE)
    assert Result("import", str(place / "spans"), "--store", str(place / "store")).code == 0
    return place


@pytest.fixture(autouse=True)
def _in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def ask(*args: str, window: tuple[str, ...] = ("--since", "all")) -> Result:
    return Result(*args, "--store", "store", *window, *NOW)


def test_report_says_what_was_exercised() -> None:
    result = ask("report")
    assert result.code == 0
    assert "50 runs (10 test, 40 production), all runs" in result.out
    assert "2 of 3 tools" in result.out and "tool never exercised: mail" in result.out
    shot = ask("report", "--format", "json").json
    assert shot["coverage"]["dimensions"][0]["undeclared"] == ["pay"]
    assert shot["quality"]["duplicates"] == 0


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--fail-under", "1"], 1),  # a boundary that was never reached makes the mean 0
        (["--fail-under", "0"], 0),
        (["--fail-under", "0.7"], 2),
        (["--fail-under", "101"], 2),
        (["--format", "nothing"], 2),
        (["--side", "nowhere"], 2),
        (["--max-drop", "3"], 2),
        (["--engine", "pol"], 2),
        (["--service", "other"], 3),
        (["--service", "other", "--fail-under", "50"], 3),
    ],
)
def test_the_exit_code_of_a_report(args: list[str], code: int) -> None:
    boundaries = Path("otelcov.toml").read_text() + "[coverage]\nboundaries = ['max_steps']\n"
    Path("strict.toml").write_text(boundaries)
    assert ask("report", "--config", "strict.toml", *args).code == code


def test_fail_under_names_the_percent() -> None:
    assert "Did you mean 70?" in ask("report", "--fail-under", "0.7").err
    assert ask("snapshot", "--out", "part.json").code == 0
    told = Result("combine", "part.json", "--fail-under", "0.7")
    assert (told.code, "Did you mean 70?" in told.err) == (2, True)


@pytest.mark.parametrize("most", ["-1", "nan", "101"])
def test_max_drop_is_a_number_of_points(most: str) -> None:
    assert ask("snapshot", "--out", "points.json").code == 0
    for command in (["report"], ["gate", "gate.yaml"]):
        assert ask(*command, "--baseline", "points.json", f"--max-drop={most}").code == 2


def test_an_empty_window_prints_valid_nulls_and_exits_3() -> None:
    empty = ("--since", "2020-01-01", "--until", "2020-01-02")
    result = ask("report", "--format", "json", window=empty)
    assert (result.code, result.json["coverage"]["overall"], result.json["runs"]["total"]) == (3, None, 0)
    for command in (["gate", "gate.yaml"], ["gaps"], ["diff", "side=test", "side=production"]):
        found = ask(*command, "--format", "json", window=empty)
        assert found.code == 3 and found.json
    quiet = ask("undeclared", "--format", "json", window=empty)
    assert (quiet.code, quiet.out) == (0, "")


def test_a_store_that_does_not_exist_is_4() -> None:
    for command in (["report"], ["gate", "gate.yaml"], ["gaps"], ["undeclared"], ["learn"], ["why", "tool"]):
        assert Result(*command, "--store", "nowhere", "--since", "all").code == 4
    assert not Path("nowhere").exists()


@pytest.mark.parametrize(
    "asked",
    [
        ("report", "--fail-under", "0.7"),
        ("runs", "--since", "someday"),
        ("gate", "absent.yaml"),
        ("diff", "x", "y"),
        ("judge", "--since", "someday"),
        ("prune",),
        ("prune", "--trace", "some"),
        ("show", "some"),
        ("show", "abcdef", "--since", "someday"),
        ("doctor", "--since", "someday"),
        ("alerts", "check", "--now", "someday"),
    ],
)
def test_of_several_wrong_things_a_missing_store_goes_first(asked: tuple[str, ...]) -> None:
    wrong = Result(*asked, "--store", "nowhere")
    assert wrong.code == 4
    assert "Nor is there a store in nowhere." in wrong.err
    assert wrong.err.startswith(Result(*asked, "--store", "store").err.rstrip("\n"))
    assert Result(*asked, "--store", "store").code == 2


def test_a_run_beyond_every_calendar_is_counted() -> None:
    otlp.write(Path("late"), ("ci", 0.0, ["search"]), ("ci", 1e10, ["search"]))
    assert Result("import", "late", "--store", "of-late").code == 0
    for command in (["report"], ["report", "--by", "day"], ["runs"], ["judge", "--rules-only"], ["trend"]):
        assert Result(*command, "--store", "of-late", "--since", "all").code in (0, 3), command
    shot = Result("report", "--format", "json", "--store", "of-late", "--since", "all").json
    assert shot["runs"]["test"] == 2


def test_report_by_agent_and_by_day() -> None:
    groups = ask("report", "--format", "json", "--by", "agent").json["by"]
    assert [g["group"] for g in groups["groups"]] == ["planner"]
    assert [g["runs"]["total"] for g in ask("report", "--format", "json", "--by", "day").json["by"]["groups"]] == [50]


def test_a_gate_passes_fails_and_says_what_it_found() -> None:
    result = ask("gate", "gate.yaml", "--format", "json", "--per-run")
    assert (result.code, result.json["result"]) == (0, "pass")
    assert result.json["entries"][0]["targets"]["edges.allowed_pct"] == 50.0
    assert len(result.json["entries"][0]["per_run"]) == 50
    Path("strict.yaml").write_text("agents: [{tool_edges: {restricted: [pay]}}]")
    assert ask("gate", "strict.yaml").code == 1
    assert "FAIL edges.restricted_attempts = 10" in ask("gate", "strict.yaml").out
    assert ask("gate", "absent.yaml").code == 2
    for format in ("markdown", "junit"):
        assert "edges.restricted" in ask("gate", "gate.yaml", "--format", format).out.replace("\\", "")


def test_gaps_are_the_uncovered_behaviours_by_their_mass() -> None:
    found = ask("gaps", "--format", "json").json
    tool = next(d for d in found["dimensions"] if d["dimension"] == "tool")
    assert tool["share"] == 70 / 80
    assert [(u["item"], u["share"]) for u in tool["uncovered"]] == [("pay", 0.25)]
    assert len(tool["uncovered"][0]["example_traces"][0]) == 32
    assert "pay" in ask("gaps").out and "pay" in ask("gaps", "--format", "markdown").out


def test_diff_of_sides_windows_and_files() -> None:
    found = ask("diff", "side=test", "side=production", "--format", "json").json
    assert {(f["kind"], f["item"]) for f in found["findings"]} >= {("new", "tool_failure")}
    quiet = ask(
        "diff",
        "2025-07-31T22:13:20..2025-07-31T22:33:20",
        "2025-07-31T22:33:20..2025-07-31T22:53:20",
        "--side",
        "production",
    )
    assert quiet.code == 0 and "0 differences" in quiet.out
    unknown = ask("diff", "side=test", "sidee=x")
    assert (unknown.code, 'Did you mean "side"?' in unknown.err) == (2, True)
    assert "Known are service," in ask("diff", "side=test", "foo=x").err
    assert ask("diff", "neither", "side=test").code == 2


def test_a_file_that_a_selection_cannot_narrow_is_told() -> None:
    assert ask("snapshot", "--out", "sums.json").code == 0
    told = ask("diff", "sums.json", "side=production", "--service", "other")
    assert told.err == "sums.json holds the runs of which it was made: --service does not narrow it.\n"
    assert "sums.json (50 runs) against side=production (0 runs)" in told.out
    assert ask("diff", "sums.json", "side=production").err == ""


def test_snapshots_add_up_to_the_whole_and_overlaps_are_refused() -> None:
    middle = "2025-07-31T22:33:20"
    for out, window in (
        ("a.json", ("--since", "all", "--until", middle)),
        ("b.json", ("--since", middle, "--until", "all")),
    ):
        assert ask("snapshot", "--out", out, window=window).code == 0
    whole = ask("report", "--format", "json").json
    assert Result("combine", "b.json", "a.json", "--format", "json").json == whole
    assert Result("combine", "a.json", "b.json", "--out", "c.json").code == 0
    assert Result("combine", "c.json", "--format", "json").json == whole
    refused = Result("combine", "c.json", "a.json")
    assert refused.code == 2 and "both counted the same runs" in refused.err
    Path("broken.json").write_text("{}")
    assert Result("combine", "broken.json").code == 2
    Path("agents.toml").write_text(CONFIG + "[thresholds.agents.planner]\ntool = 100\n")
    for file, code in (("agents.toml", 1), ("otelcov.toml", 0)):
        assert Result("combine", "c.json", "--config", file).code == code
    assert Result("combine", "absent.json").code == 4


def test_a_baseline_is_a_universe_and_a_measure_of_drops() -> None:
    assert ask("snapshot", "--out", "base.json", "--side", "production").code == 0
    Path("none.toml").write_text("")
    shot = ask("report", "--side", "test", "--format", "json", "--baseline", "base.json", "--config", "none.toml").json
    tool = shot["coverage"]["dimensions"][0]
    assert (tool["universe"], tool["missing"], tool["score"]) == ("baseline", ["pay"], 2 / 3)
    assert ask("report", "--side", "production", "--baseline", "base.json", "--max-drop", "1").code == 0
    gate = ask(
        "gate", "gate.yaml", "--side", "production", "--baseline", "base.json", "--max-drop", "1", "--format", "json"
    )
    assert gate.json["entries"][1]["result"] == "pass"
    assert ask("gate", "gate.yaml", "--max-drop", "1").code == 2


def test_undeclared_lists_what_nobody_declared() -> None:
    found = ask("undeclared", "--format", "json").json
    assert [t["item"] for t in found["tools"]] == ["pay"]
    assert [(e["agent"], e["tool"]) for e in found["edges"]] == [("planner", "pay")]
    assert found["models"] == [] and found["hallucinated"] == []
    assert "planner/pay" in ask("undeclared").out


@pytest.mark.parametrize(
    ("item", "numerator", "denominator"),
    [("tool", 2, 3), ("pay", 10, 50), ("planner/pay", 10, 50), ("tool:search", 50, 50), ("edges.allowed_pct", 2, 3)],
)
def test_why_gives_the_parts_of_a_number(item: str, numerator: int, denominator: int) -> None:
    answer = ask("why", item, "--format", "json").json["answers"][0]
    assert (answer["numerator"], answer["denominator"]) == (numerator, denominator)
    assert answer["rule"]
    assert ask("why", item).out


@pytest.mark.parametrize("item", ["path", "state"])
def test_why_divides_the_runs_that_a_share_by_mass_is_made_of(item: str) -> None:
    answer = ask("why", item, "--format", "json").json["answers"][0]
    assert answer["value"] == answer["numerator"] / answer["denominator"]
    assert f" = {answer['numerator']} of {answer['denominator']}\n" in ask("why", item).out


def test_why_without_a_run_divides_nothing() -> None:
    nothing = ("--since", "2000-01-01", "--until", "2000-01-02")
    assert ask("why", "path", *nothing).out.startswith("path (dimension) unknown, 0 seen\n")
    assert ask("why", "edges.allowed_pct", *nothing).out.startswith("edges.allowed_pct (edges) unknown, 0 of 3 seen\n")


@pytest.mark.parametrize("command", [("gaps",), ("diff", "side=test", "side=production"), ("compare",)])
def test_where_nothing_ran_no_empty_table_is_drawn(command: tuple[str, ...]) -> None:
    nothing = ask(*command, "--since", "2000-01-01", "--until", "2000-01-02")
    assert nothing.code == 3 and "No " in nothing.out.splitlines()[-1]


def test_why_knows_what_is_missing_and_what_nobody_said() -> None:
    assert ask("why", "mail", "--format", "json").json["answers"][0]["value"] == 0
    unknown = ask("why", "serch")
    assert unknown.code == 2 and 'Did you mean "search"?' in unknown.err


def test_paths_are_learned_by_a_variable_as_by_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    by_option = ask("learn", "--paths")
    monkeypatch.setenv("OTELCOV_PATHS", "1")
    by_variable = ask("learn")
    assert (by_variable.code, by_variable.out) == (by_option.code, by_option.out) and "paths" in by_option.out
    assert ask("report").code == 0  # nor is it a list of paths to others


def test_what_was_learned_is_a_config_under_which_everything_is_declared() -> None:
    assert ask("learn", "--out", "learned.toml", "--paths").code == 0
    from otelcov.ground import settings

    learned = settings.load("learned.toml")
    assert learned.agents["planner"].tools == ["book", "pay", "search"]
    assert learned.agents["planner"].entry
    assert learned.coverage.paths == [["planner/search", "planner/book"], ["planner/search", "planner/book!"],
                                      ["planner/search", "planner/pay"]]  # fmt: skip
    found = ask("undeclared", "--config", "learned.toml", "--format", "json").json
    assert not any(found[k] for k in ("tools", "edges", "delegations", "models"))


MCP = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    elif "cursor" not in m.get("params", {}):
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
        r = {"tools": [{"name": "read", "annotations": {"readOnlyHint": True}}], "nextCursor": "2"}
    else:
        r = {"tools": [{"name": "wipe", "annotations": {"readOnlyHint": False}}, {"name": "odd name"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def test_an_mcp_server_declares_its_tools(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(MCP)
    result = Result("declare", "--mcp", f"{sys.executable} {server}", "--out", "mcp.toml")
    assert result.code == 0
    from otelcov.ground import settings

    tools = settings.load("mcp.toml").tools
    assert {n: t.side_effects for n, t in tools.items()} == {"odd name": None, "read": "read", "wipe": "write"}
    assert Result("declare", "--mcp", f"{sys.executable} -c pass").code == 2
    assert Result("declare").code == 2


def test_an_mcp_server_that_ended_before_it_was_asked_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen

    def ended(*args: Any, **more: Any) -> Any:
        process = start(*args, **more)
        process.wait()
        return process

    monkeypatch.setattr(subprocess, "Popen", ended)
    result = Result("declare", "--mcp", f"{sys.executable} -c pass")
    assert (result.code, "Couldn't list the tools" in result.err) == (2, True)


def test_a_pydantic_ai_agent_declares_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pydantic_ai")
    (folder / "my_agents.py").write_text(
        "from pydantic_ai import Agent\n"
        "agent = Agent('test', name='planner')\n"
        "@agent.tool_plain\n"
        "def search(city: str) -> str:\n    return city\n"
    )
    result = Result("declare", "my_agents:agent")
    assert result.code == 0
    assert "[agents.planner]" in result.out and 'tools = ["search"]' in result.out
    assert Result("declare", "my_agents:missing").code == 2
    assert Result("declare", "my_agents:Agent").code == 2
    assert Result("declare", "no_such_module:x").code == 2


def test_agentassay_numbers_come_from_the_same_command() -> None:
    Path("assay.toml").write_text("[tools.search]\n")
    result = ask("report", "--profile", "agentassay", "--config", "assay.toml", "--format", "json")
    assert result.code == 0  # plain invoke_agent roots are traces without steps
    assert result.json["coverage"]["profile"] == "agentassay"
    assert ask("report", "--profile", "agentassay", "--config", "none.toml").code == 2
    of_agents = ask("report", "--profile", "agentassay", "--config", "otelcov.toml", "--format", "json")
    [tools] = [d for d in of_agents.json["coverage"]["dimensions"] if d["dimension"] == "tool"]
    assert tools["known"] == 3  # those that agents may call are declared, too


@pytest.mark.parametrize(
    "option", [("--by", "agent"), ("--agent", "planner"), ("--model", "m"), ("--case", "c"), ("--baseline", "b.json")]
)
def test_what_agentassays_formulas_cannot_tell_is_refused(option: tuple[str, str]) -> None:
    refused = ask("report", "--profile", "agentassay", *option)
    assert (refused.code, f"has no {option[0]}:" in refused.err) == (2, True)


def test_thresholds_that_agentassays_formulas_cannot_hold_are_told() -> None:
    Path("agents.toml").write_text(Path("otelcov.toml").read_text() + "[thresholds.agents.planner]\ntool = 1\n")
    told = ask("report", "--profile", "agentassay", "--config", "agents.toml")
    assert "[thresholds.agents] is not looked at" in told.err


@pytest.mark.parametrize(
    "command", [("report", "--format", "json"), ("gate", "gate.yaml", "--format", "json"), ("gaps",)]
)
def test_an_agent_that_nobody_saw_is_told_beside_the_numbers(command: tuple[str, ...]) -> None:
    found = ask(*command, "--agent", "plannr")
    assert found.err == 'No run of this window shows a step of the agent "plannr". Did you mean "planner"?\n'
    assert found.code == ask(*command, "--agent", "worker").code
    assert ask(*command, "--agent", "planner").err == ""
    assert "plannr" not in ask(*command, "--agent", "plannr", "--since", "2000-01-01", "--until", "2000-01-02").err


def test_what_only_the_store_counts_can_be_a_target_of_a_gate(tmp_path: Path) -> None:
    counted = ask("report", "--format", "json").json["quality"]
    for name in ("duplicates", "conflicts", "out_of_range"):
        expected = f"{{target: quality.{name}, matcher: {{exact: {counted[name]}}}}}"
        (tmp_path / "gate.yaml").write_text(f"agents: [{{expect: [{expected}]}}]")
        assert ask("gate", str(tmp_path / "gate.yaml")).code == 0


def test_a_gate_entry_about_an_agent_that_nobody_saw_says_so(tmp_path: Path) -> None:
    told = "agents: [{name: a, select: {agent: plannr}, tool_edges: {restricted: [pay]}}]"
    (tmp_path / "gate.yaml").write_text(told)
    assert 'step of the agent "plannr". Did you mean "planner"?' in ask("gate", str(tmp_path / "gate.yaml")).err


def test_sums_that_were_kept_tell_of_agents_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from otelcov.sums import answer

    kept = answer.observed
    monkeypatch.setattr(answer, "observed", functools.partial(kept, live=0))
    assert ask("report", "--agent", "planner").err.count("shows a step") == 0
    assert ask("report", "--agent", "plannr").err.count("shows a step") == 1
