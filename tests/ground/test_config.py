import subprocess
import sys

import pytest

from otelcov.ground.config import Config
from otelcov.ground.errors import ConfigError, UsageError
from otelcov.ground.selection import Selection
from otelcov.ground.settings import load, load_with_origins

EVERY_KEY_OF_THE_CONTRACT = """
[sides]
test = ["test","testing","ci","dev","development","local","qa"]
staging = ["staging","stage","preprod","uat"]
production = ["production","prod","live"]
[agents.planner]
tools = ["search"]
restricted = ["delete_repo"]
delegates_to = ["worker"]
entry = true
[tools.book_hotel]
side_effects = "write"
[models."gpt-4o"]
aliases = ["gpt-4o-2024-08-06"]
context = 128000
[coverage]
boundaries = ["timeout"]
paths = [["planner/search", "planner->worker", "worker/book"]]
restricted = "listed"
profile = "otelcov"
min_runs = 20
[thresholds]
overall = 70
tool = 80
[runs]
settle = "60s"
max_run = "6h"
[collect]
content = "keep"
drop = ["*.secret"]
hash = ["user.*"]
"""


def write(folder, text, name="otelcov.toml"):
    (folder / name).write_text(text)
    return folder


def test_every_key_of_the_contract_is_read(tmp_path):
    config = load(environ={}, folder=write(tmp_path, EVERY_KEY_OF_THE_CONTRACT))
    assert config.agents["planner"].tools == ["search"]
    assert config.agents["planner"].delegates_to == ["worker"]
    assert config.tools["book_hotel"].side_effects == "write"
    assert config.models["gpt-4o"].context == 128000
    assert config.coverage.paths == [["planner/search", "planner->worker", "worker/book"]]
    assert config.thresholds.tool == 80
    assert config.runs.settle_ns == 60 * 10**9
    assert config.runs.max_run_ns == 6 * 3600 * 10**9
    assert config.collect.drop == ["*.secret"]


def test_without_a_file_the_defaults_hold(tmp_path):
    assert load(environ={}, folder=tmp_path) == Config()


def test_an_undeclared_list_is_none_and_an_empty_one_is_empty(tmp_path):
    config = load(environ={}, folder=write(tmp_path, "[agents.a]\ntools = []"))
    assert config.agents["a"].tools == []
    assert config.agents["a"].restricted is None


def test_a_config_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "otelcov.toml").write_text("[coverage]\nmin_runs = 7", encoding="utf-8-sig")
    assert load(environ={}, folder=tmp_path).coverage.min_runs == 7


def test_pyproject_is_read_where_there_is_no_otelcov_toml(tmp_path):
    write(tmp_path, "[tool.otelcov.coverage]\nmin_runs = 5\n[tool.other]\nx = 1", "pyproject.toml")
    assert load(environ={}, folder=tmp_path).coverage.min_runs == 5
    write(tmp_path, "[coverage]\nmin_runs = 7")
    assert load(environ={}, folder=tmp_path).coverage.min_runs == 7


@pytest.mark.parametrize("text", ["[tool]\notelcov = 3", "[[tool.otelcov]]\na = 1"])
def test_what_is_no_table_in_pyproject_is_said(tmp_path, text):
    with pytest.raises(ConfigError, match="must be a table"):
        load(environ={}, folder=write(tmp_path, text, "pyproject.toml"))
    assert load(environ={}, folder=write(tmp_path, "[[tool]]\na = 1", "pyproject.toml")) == Config()


def test_a_named_pyproject_is_read_as_one(tmp_path):
    write(tmp_path, "[tool.otelcov.coverage]\nmin_runs = 5", "pyproject.toml")
    assert load(tmp_path / "pyproject.toml", environ={}).coverage.min_runs == 5


def test_a_pattern_that_is_no_regex_is_said(tmp_path):
    with pytest.raises(ConfigError, match=r"runs\.soft_errors\.0: is no regex"):
        load(environ={}, folder=write(tmp_path, '[runs]\nsoft_errors = ["("]'))
    assert load(environ={"OTELCOV_SOFT_ERRORS": "^no, ^not"}, folder=tmp_path / "none").runs.soft_errors == (
        "^no",
        "^not",
    )


def test_the_environment_goes_before_the_file_and_every_origin_is_known(tmp_path):
    write(tmp_path, '[coverage]\nmin_runs = 5\n[agents."a.b"]\ntools = ["x"]')
    environ = {"OTELCOV_GRPC_PORT": "0", "OTELCOV_DROP": "a.*, b", "OTELCOV_SETTLE": "5s", "OTELCOV_MIN_RUNS": "9"}
    config, settings = load_with_origins(environ=environ, folder=tmp_path)
    assert config.collect.grpc_port == 0
    assert config.collect.drop == ["a.*", "b"]
    assert config.runs.settle_ns == 5 * 10**9
    by_key = {s.key: (s.value, s.origin) for s in settings}
    assert by_key["coverage.min_runs"] == (9, "OTELCOV_MIN_RUNS")
    assert by_key["collect.grpc_port"] == (0, "OTELCOV_GRPC_PORT")
    assert by_key['agents."a.b".tools'] == (["x"], "otelcov.toml")
    assert by_key["runs.settle"] == ("5s", "OTELCOV_SETTLE")
    assert by_key["runs.max_run"] == ("6h", "default")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[agents.p]\ntols = ["a"]', 'agents.p.tols: unknown key. Did you mean "tools"?'),
        ("[colect]\nhost = 'x'", 'colect: unknown key. Did you mean "collect"?'),
        ("[thresholds.agents.p]\ntol = 1", 'thresholds.agents.p.tol: unknown key. Did you mean "tool"?'),
        ("[tools.t]\nzzz = 1", "tools.t.zzz: unknown key. Known here: side_effects."),
        ("[thresholds]\ntool = 800", "thresholds.tool: must be less than or equal to 100, got 800"),
        ("[runs]\nsettle = 60", 'runs.settle: must be a duration in quotes, like "60s", "1h30m" or "7d", got 60'),
        ("[coverage]\nrestricted = 'some'", "coverage.restricted: must be 'listed' or 'complement', got 'some'"),
        ("[agents]\np = 3", "agents.p: must be a table, got 3"),
        ("[agents.p]\ntools = 'search'", "agents.p.tools: must be a list, got 'search'"),
        ("[models.x]\nprice = {input = 1}", "models.x.price.output: is missing"),
        ("[coverage.agentassay]\nboundaries = {a = [1]}", "coverage.agentassay.boundaries.a.1: is missing"),
        ("[coverage]\nmin_runs = 'x'", "coverage.min_runs: must be a whole number, got 'x'"),
        (
            "[[alerts.rules]]\nname = 'a'\nedge = 'refund'\nunused_for = '7d'",
            "alerts.rules.0.edge: must be an edge, like agent/tool, got 'refund'",
        ),
        ("collect = 3", "collect: must be a table, got 3"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_what_to_do(tmp_path, text, line):
    with pytest.raises(ConfigError) as caught:
        load(environ={}, folder=write(tmp_path, text))
    assert str(caught.value) == f"Couldn't use otelcov.toml:\n  {line}"


def test_all_errors_are_told_at_once(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(environ={}, folder=write(tmp_path, "[runs]\na = 1\nb = 2"))
    assert len(str(caught.value).splitlines()) == 3


def test_a_wrong_variable_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"collect\.http_port: .*got 'x' \(from OTELCOV_HTTP_PORT\)"):
        load(environ={"OTELCOV_HTTP_PORT": "x"}, folder=write(tmp_path, "[runs]"))


def test_what_is_no_toml_or_not_there_is_said(tmp_path):
    with pytest.raises(ConfigError, match="it is not TOML"):
        load(environ={}, folder=write(tmp_path, "a b"))
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "missing.toml", environ={})


@pytest.mark.parametrize(
    ("environment", "side"),
    [("prod", "production"), ("LIVE", "production"), ("QA", "test"), ("uat", "staging"), ("eu-1", "unspecified")],
)
def test_an_environment_belongs_to_its_side(environment, side):
    assert Config().side(environment) == side


def test_without_environment_the_side_is_unspecified():
    assert Config().side(None) == "unspecified"
    assert Config().side("") == "unspecified"


def test_declared_sides_replace_the_default_names_in_any_case(tmp_path):
    config = load(environ={}, folder=write(tmp_path, '[sides]\nproduction = ["EU-1"]'))
    assert config.side("eu-1") == "production"
    assert config.side("prod") == "unspecified"
    assert config.side("ci") == "test"


def test_a_name_written_under_one_side_is_not_anothers_by_default(tmp_path):
    config = load(environ={}, folder=write(tmp_path, '[sides]\nstaging = ["QA", "uat"]\n'))
    assert [config.side(name) for name in ("qa", "uat", "ci", "prod")] == ["staging", "staging", "test", "production"]


def test_a_name_under_two_sides_is_an_error(tmp_path):
    told = "[sides]\ntest = [{a = 1}]\nproduction = [{a = 1}]\n"
    with pytest.raises(ConfigError, match="is under test and under production"):
        load(environ={}, folder=write(tmp_path, told))
    told = '[sides]\ntest = ["ci", "Shared"]\nproduction = ["shared"]\n'
    with pytest.raises(ConfigError, match='sides: "shared" is under test and under production'):
        load(environ={}, folder=write(tmp_path, told))


@pytest.mark.parametrize("table", ["thresholds", "thresholds.agents.planner"])
def test_a_threshold_that_was_meant_as_a_share_is_an_error(tmp_path, table):
    with pytest.raises(ConfigError, match=r"tool: is a percent, and 0\.8 is below one\. Did you mean 80\?"):
        load(environ={}, folder=write(tmp_path, f"[{table}]\ntool = 0.8"))
    assert load(environ={}, folder=write(tmp_path, "[thresholds]\ntool = 0\npath = 1")).thresholds.path == 1


@pytest.mark.parametrize("value", ['"60"', "60", '"soon"'])
def test_a_duration_that_is_none_is_told_in_one_sentence(tmp_path, value):
    with pytest.raises(ConfigError) as error:
        load(environ={}, folder=write(tmp_path, f"[runs]\nsettle = {value}"))
    got = value.replace('"', "'")
    assert str(error.value).endswith(f'settle: must be a duration in quotes, like "60s", "1h30m" or "7d", got {got}')


def test_an_unknown_side_is_a_usage_error():
    with pytest.raises(UsageError, match='Did you mean "production"'):
        Selection(side=("prduction",))


def test_a_selection_shows_only_what_was_given():
    assert Selection(service=("b", "a"), side=("test",)).as_json() == {"service": ["a", "b"], "side": ["test"]}


def test_a_boundary_that_is_none_is_said(tmp_path):
    with pytest.raises(ConfigError, match=r"coverage\.boundaries\.0: must be 'max_steps', .* got 'timeouts'"):
        load(environ={}, folder=write(tmp_path, '[coverage]\nboundaries = ["timeouts"]'))


@pytest.mark.parametrize(("written", "imported"), [(None, False), ("[runs]\nsettle = '5s'", True)])
def test_a_report_imports_what_checks_only_where_something_is_written(tmp_path, written, imported):
    """It takes as long as all else that a command waits for."""
    if written:
        write(tmp_path, written)
    told = "lambda: print(*(name in sys.modules for name in ('otelcov.coverage.observations', 'pydantic')))"
    code = f"import atexit, sys; atexit.register({told}); from otelcov.cli import main; main()"
    asked = [sys.executable, "-c", code, "report", "--since", "all", "--format", "json"]
    found = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout.splitlines()[-1] == f"True {imported}"
