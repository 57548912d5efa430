import resource
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from otelcov.cli import ahead, main
from otelcov.cli.commands import app, load
from otelcov.cli.listed import COMMANDS
from tests.runs.requests import agent, request, tool


def run(*args, env=None):
    return CliRunner().invoke(app, list(args), env=env)


def test_help_lists_every_command():
    result = run("--help")
    assert result.exit_code == 0
    assert [c.name for c in COMMANDS] == [
        line.split()[0] for line in result.output.partition("Commands:\n")[2].splitlines() if line.strip()
    ]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_every_command_loads_and_explains_itself(command):
    result = run(command.name, "--help")
    assert result.exit_code == 0, result.output
    assert f"Usage: otelcov {command.name}" in result.output


def options(command, way=()):
    for parameter in command.params:
        if parameter.opts[0].startswith("-") and parameter.name != "help":
            yield way, parameter
    for name, one in getattr(command, "commands", {}).items():
        yield from options(one, (*way, name))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_every_option_is_a_variable_too(command):
    for way, option in options(load(command)):
        name = next(text for text in option.opts if text.startswith("--"))
        assert option.envvar == f"OTELCOV_{name[2:].upper().replace('-', '_')}", (way, name)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_who_asks_about_a_window_is_known_before_it_is_imported(command):
    told = {p.name for p in getattr(load(command), "params", ())}
    assert command.asks == (told >= {"since", "side", "engine"})


def test_a_second_process_is_thought_of_before_anything_is_read(monkeypatch):
    told = []
    monkeypatch.setattr(ahead, "begin", told.append)
    for asked in (["report", "--help"], ["demo", "--help"], ["--help"]):
        with pytest.raises(SystemExit):
            main(asked)
    assert told == [["--help"]]


def test_a_second_process_is_thought_of_before_typer_is_imported():
    program = "import sys; from otelcov.cli import ahead, main; "
    program += "ahead.begin = lambda asked: print({'typer', 'polars'} & set(sys.modules)); main(['report', '--help'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.startswith("set()\nUsage: otelcov report")


def test_a_command_that_has_answered_still_does_what_was_left_for_its_end():
    program = "import atexit, sys; atexit.register(print, 'bye'); sys.argv = ['otelcov', 'report', '--help']; "
    program += "from otelcov.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: otelcov report") and done.stdout.endswith("bye\n")


def test_a_store_that_no_disk_can_have_is_told_of():
    asked = [sys.executable, "-m", "otelcov", "report", "--store", "a" * 5000]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (4, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_list_in_a_variable_is_written_with_commas(tmp_path):
    body = request([agent(1, "Travel Agent"), tool(2, 1, "search")], service="the shop")
    (tmp_path / "one.pb").write_bytes(body)
    run("import", str(tmp_path), "--store", str(tmp_path / "store"))
    for services in ("the shop", "other, the shop"):
        result = run("runs", "--since", "all", "--store", str(tmp_path / "store"), env={"OTELCOV_SERVICE": services})
        assert len(result.stdout.splitlines()) == 2


def test_help_is_quick_and_imports_nothing_heavy():
    code = (
        "import sys, otelcov.cli\n"
        "try: otelcov.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'polars', 'pyarrow', 'deltalake', 'pydantic', 'grpc', 'opentelemetry', 'rich'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    took = []  # of the processor: what the clock says when nobody else is at work
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < 0.4


def test_an_unknown_command_is_a_usage_error_with_a_suggestion():
    result = run("reprot")
    assert result.exit_code == 2
    assert "Did you mean 'report'" in result.output


def test_a_broken_config_ends_in_exit_code_2(tmp_path):
    (tmp_path / "otelcov.toml").write_text("[runs]\nsetle = '1s'")
    result = run("config", "show", "--config", str(tmp_path / "otelcov.toml"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert 'runs.setle: unknown key. Did you mean "settle"?' in result.stderr


def test_config_show_tells_values_and_origins(tmp_path):
    (tmp_path / "c.toml").write_text("[coverage]\nmin_runs = 3")
    env = {"OTELCOV_CONFIG": str(tmp_path / "c.toml"), "OTELCOV_HTTP_PORT": "5000"}
    lines = run("config", "show", "--origin", env=env).stdout.splitlines()
    told = {line.split()[0]: line.partition("  # ")[2] for line in lines}
    assert told["coverage.min_runs"] == str(tmp_path / "c.toml")
    assert told["collect.http_port"] == "OTELCOV_HTTP_PORT"
    assert told["runs.settle"] == "default"


def test_a_reader_that_stops_early_ends_the_command_quietly():
    command = f"{sys.executable} -m otelcov config show 2>&1 >&3 | cat; echo ${{PIPESTATUS[0]}}"
    # the far end of descriptor 3 is closed before anything is written
    script = f"exec 3> >(exec 0<&-; sleep 0); sleep 0.2; {command}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "4\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_changes_no_exit_code(closed, tmp_path):
    def code(*args):
        script = f'exec "$0" "$@" {closed}'
        return subprocess.run(
            ["sh", "-c", script, sys.executable, "-m", "otelcov", *args], capture_output=True
        ).returncode

    assert code("config", "show") == 0
    assert code("config", "show", "--config", str(tmp_path / "none.toml")) == 2
    assert code("runs", "--store", str(tmp_path / "none")) == 4
