"""README.md is held to what the program is: every command, option and config key is in it, and its commands parse."""

import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from otelcov.cli.commands import load
from otelcov.cli.listed import COMMANDS
from otelcov.ground.config import Agent, Alert, Config, Model, Thresholds, Tool, written
from otelcov.ground.settings import load_with_origins

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
TABLE = "\n".join(line for line in README.splitlines() if line.startswith("| `otelcov"))


def leaves(command, name):
    """A command's path and its own parameters, groups followed into their commands."""
    if getattr(command, "commands", None):
        for child in command.commands.values():
            yield from leaves(child, f"{name} {child.name}")
    else:
        yield name, command


ALL = [leaf for entry in COMMANDS for leaf in leaves(load(entry), entry.name)]


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_every_command_and_option_is_in_the_readme(name, command):
    assert f"`otelcov {name}" in TABLE
    options = {option for p in command.params for option in p.opts if option.startswith("--")} - {"--help"}
    assert {o for o in options if not re.search(rf"(?<![\w-]){o}(?![\w-])", README)} == set()


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_every_option_is_a_variable_without_the_commands_name(name, command):
    wrong = {
        p.opts[0]: p.envvar
        for p in command.params
        if p.param_type_name == "option" and p.name not in ("help", "origin")
        if p.envvar != "OTELCOV_" + p.opts[0].removeprefix("--").upper().replace("-", "_")
        and not (p.opts[0] == "--config" and p.envvar == "OTELCOV_CONFIG")
    }
    assert wrong == {}


def test_the_toml_of_the_readme_is_valid_and_holds_every_key(tmp_path):
    (text,) = [body for language, body in BLOCKS if language == "toml"]
    (tmp_path / "otelcov.toml").write_text(text)
    _, settings = load_with_origins(environ={}, folder=tmp_path)
    named = ("agents.", "tools.", "models.", "thresholds.agents.", "alerts.rules")  # their keys: below
    assert {s.key for s in settings if s.origin == "default" and not s.key.startswith(named)} == set()
    for section in (Agent, Tool, Model, Thresholds, Alert):
        for key in (written(field.name) for field in fields(section)):
            assert re.search(rf"\b{key}\b", text), f"{section.__name__}: {key}"
    assert set(tomllib.loads(text)) == {field.name for field in fields(Config)}


def test_the_defaults_that_the_readme_shows_are_the_defaults(tmp_path):
    (text,) = [body for language, body in BLOCKS if language == "toml"]
    (tmp_path / "otelcov.toml").write_text(text)
    shown = {s.key: s.value for s in load_with_origins(environ={}, folder=tmp_path)[1]}
    examples = (
        "agents",
        "tools",
        "models",
        "thresholds",
        "coverage.boundaries",
        "coverage.paths",
        "coverage.agentassay",
    )
    examples += ("runs.soft_errors", "collect.tls", "collect.token", "collect.drop", "collect.hash", "cases", "alerts")
    defaults = {s.key: s.value for s in load_with_origins(environ={}, folder=tmp_path / "none")[1]}
    unset = {key for key, value in defaults.items() if value in (None, [], {})}
    differing = {k for k, v in defaults.items() if shown.get(k, v) != v and not k.startswith(examples)}
    assert differing - unset == set()


def command_lines():
    for language, body in BLOCKS:
        if language == "bash":
            for line in body.splitlines():
                words = shlex.split(line, comments=True)
                if "otelcov" in words[:1]:
                    yield words[1:]


@pytest.mark.parametrize("words", list(command_lines()), ids=" ".join)
def test_every_command_line_of_the_readme_parses(words):
    entry = next(c for c in COMMANDS if c.name == words[0])
    context = load(entry).make_context(words[0], words[1:])
    assert context.command.name == words[0]


def test_every_link_of_the_readme_leads_somewhere():
    links = re.findall(r"\]\((?!http)([^)#]+)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_exit_codes_are_in_the_readme():
    from otelcov.ground import errors

    for code in (errors.GOOD, errors.GATE_FAILED, errors.USAGE, errors.NO_DATA, errors.STORE):
        assert f"| {code} |" in README


def test_the_options_of_the_pytest_plug_in_are_in_the_readme():
    source = (ROOT / "otelcov" / "pytest_plugin.py").read_text()
    options = set(re.findall(r'"(--otelcov[\w-]*)"', source))
    assert options
    assert {option for option in options if option not in README} == set()


def test_how_true_the_runs_are_is_told_as_the_whole_table_has_it():
    table = (ROOT / "tests" / "dialects" / "golden" / "corpus.md").read_text().splitlines()
    head, sums = ([cell.strip(" *") for cell in row.split("|")[2:-1]] for row in (table[0], find(table, "| **all** |")))
    told = [re.findall(r"\d+", row.split("|", 2)[2]) for row in README.splitlines() if row.startswith(FACTS)]
    expected = []
    for fact, cell in zip(head, sums, strict=True):
        right, unknown, missed, wrong = [*cell.split("/"), "0", "0", "0"][:4]
        expected += [[right, unknown, str(int(missed) + int(wrong))]] if fact != "restricted" else []
    assert told == expected


FACTS = ("| runs |", "| executed tools in order |", "| arguments |", "| results |", "| tool status |", "| agents |")
FACTS += ("| model calls |", "| tokens |", "| models |", "| delegations |", "| sessions |", "| outcome |", "| input |")
FACTS += ("| output |", "| boundaries |")


def find(lines, begin):
    return next(line for line in lines if line.startswith(begin))


def test_what_is_told_by_the_conventions_alone_is_what_was_measured():
    table = (ROOT / "tests" / "dialects" / "golden" / "conventions_alone.md").read_text().splitlines()
    right, unknown, missed, wrong = re.findall(r"\d+", find(table, "| **all** |"))
    assert f"{right} facts right, {unknown} unknown, {missed} not seen, {wrong} wrong" in README


def _mostly_unknown():
    """By recorded variant, the facts that are unknown in most of its runs."""
    found = {}
    for name in ("corpus", "more"):
        table = (ROOT / "tests" / "dialects" / "golden" / f"{name}.md").read_text().split("\n\n")[0].splitlines()
        facts, *rows = ([cell.strip(" *") for cell in row.split("|")[1:-1]] for row in (table[0], *table[2:]))
        for variant, *cells in rows:
            counts = {
                fact: [int(n) for n in cell.split("/")]
                for fact, cell in zip(facts[1:], cells, strict=True)
                if cell != "-"
            }
            found[variant] = {fact for fact, n in counts.items() if len(n) > 1 and n[1] >= n[0]}
    return found


ROWS = re.findall(r"^\| .* <!-- (\S+) --> \| (.+) \|$", README, re.MULTILINE)


@pytest.mark.parametrize(("variant", "unknown"), ROWS, ids=[variant for variant, _ in ROWS])
def test_what_an_instrumentation_leaves_unknown_is_what_was_recorded(variant, unknown):
    facts = _mostly_unknown()
    every = {fact for some in facts.values() for fact in some}
    told = set() if unknown.startswith("nothing") else {f for f in every if re.search(rf"\b{f}\b", unknown)}
    assert told == facts[variant]


def test_many_instrumentations_are_in_the_readme():
    assert len(ROWS) > 20
