"""The way of the data has one direction: a package imports only what lies before it."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

from otelcov.cli.listed import COMMANDS

ROOT = Path(__file__).parent.parent
# From left to right, as the data goes; packages of one row do not know each other.
ORDER = (
    {"collector"},
    {"ground"},
    {"store"},
    {"dialects"},
    {"runs"},
    {"coverage"},
    {"verdicts"},
    {"cases", "judge"},
    {"history"},
    {"engine"},
    {"sums"},
    {"report"},
    {"cli", "pytest_plugin"},
)
RUNS = ("content", "rules", "trace", "llm", "tools", "agents", "whole", "joining", "shortcut")
RANK = {package: rank for rank, row in enumerate(ORDER) for package in row}


def modules() -> dict[str, Path]:
    found = {}
    for top in ("collector", "otelcov"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(name: str, path: Path) -> set[str]:
    """Every project module that this one names, also inside functions and under TYPE_CHECKING."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, node.module] if node.module else above)
            found |= {f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in node.names}
    return {m for m in found if m.split(".")[0] in ("otelcov", "collector") and m != name}


@cache
def graph() -> dict[str, set[str]]:
    return {name: imports(name, path) for name, path in MODULES.items()}


def package(module: str) -> str:
    parts = module.split(".")
    return parts[0] if parts[0] == "collector" or len(parts) == 1 else parts[1]


def test_every_import_names_a_module_that_exists():
    assert {m for used in graph().values() for m in used} <= set(MODULES)


def test_the_collector_knows_nothing_of_otelcov():
    assert {
        n: u for n, used in graph().items() if n.split(".")[0] == "collector" for u in used if u[:7] == "otelcov"
    } == {}


def test_every_package_has_its_place_in_the_order():
    assert {package(m) for m in MODULES} - set(RANK) <= {"otelcov", "__main__"}


def test_imports_run_only_against_the_way_of_the_data():
    backwards = []
    for name, used in graph().items():
        here = package(name)
        for there in {package(u) for u in used} - {here} if here in RANK else set():
            if RANK.get(there, 0) >= RANK[here]:
                backwards.append(f"{name} imports from {there}")
    assert backwards == []


def test_the_packages_of_runs_import_only_those_before_them():
    backwards = []
    for name, used in graph().items():
        if name.startswith("otelcov.runs.") and name.split(".")[2] in RUNS:
            before = {"otelcov.runs." + p for p in RUNS[: RUNS.index(name.split(".")[2]) + 1]}
            backwards += [
                f"{name} imports {u}"
                for u in used
                if u.startswith("otelcov.runs") and ".".join(u.split(".")[:3]) not in before
            ]
    assert backwards == []
    assert {p.name for p in (ROOT / "otelcov" / "runs").iterdir() if (p / "__init__.py").exists()} == set(RUNS)


def test_no_imports_go_in_a_circle():
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        if module in above:
            pytest.fail(" -> ".join((*above[above.index(module) :], module)))
        if module not in done:
            for used in sorted(graph()[module]):
                visit(used, (*above, module))
            done.add(module)

    for module in sorted(graph()):
        visit(module, ())


def test_a_command_imports_heavy_things_only_when_it_runs():
    light = {"typer", "otelcov", "__future__", "click"}
    commands = {"options"} | {command.module or command.name for command in COMMANDS}
    heavy = []
    for name, path in MODULES.items():
        if name == "otelcov.cli" or (package(name) == "cli" and name.rpartition(".")[2] in commands):
            for node in ast.parse(path.read_text()).body:
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                for used in names:
                    allowed = used.startswith(("otelcov.cli", "otelcov.ground")) and "config" not in used
                    stdlib = used.split(".")[0] in sys.stdlib_module_names
                    if not (allowed or stdlib or used.split(".")[0] in light - {"otelcov"}):
                        heavy.append(f"{name} imports {used}")
    assert heavy == []


def test_what_is_lazy_is_seen_too(tmp_path):
    (tmp_path / "m.py").write_text("def f():\n    from otelcov.cli import options\n    import collector.inbox\n")
    assert imports("otelcov.store.m", tmp_path / "m.py") == {"otelcov.cli.options", "collector.inbox"}
