"""Every packed capture against its truth. The golden tables are what the README sums up.

`OTELCOV_GOLDEN=1 pytest tests/dialects` writes them anew.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.captures.scoring import MISSED, WRONG, Table, markdown, score

GOLDEN = Path(__file__).parent / "golden"
SETS = ("corpus", pytest.param("more", marks=pytest.mark.full))


@cache
def measured(name: str) -> Table:
    table = Table()
    for dialect in captures.dialects(name):
        scenarios = captures.packed(name, dialect)
        score(table, scenarios, captures.as_json(captures.runs_of(scenarios)))
    return table


def test_nothing_is_wrong_and_nothing_is_silently_missing():
    table = measured("corpus")
    assert table.cells
    assert table.bad == []
    assert sum(cell[WRONG] + cell[MISSED] for cell in table.cells.values()) == 0


@pytest.mark.parametrize("name", SETS)
def test_the_table_of_what_is_known_is_the_golden_one(name):
    """`more` holds captures that nobody tuned for: what is wrong there is listed at its end, and may only shrink."""
    text = markdown(measured(name))
    golden = GOLDEN / f"{name}.md"
    if os.environ.get("OTELCOV_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


def _shared(name):
    root = os.environ.get("OTELCOV_SHARED")
    return (Path(root) if root else Path(__file__).parents[3] / "shared") / name


def _imported(folder, store):
    def otelcov(*args):
        done = subprocess.run(
            [sys.executable, "-m", "otelcov", *args, "--store", str(store)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    otelcov("import", *(str(p) for p in sorted(folder.rglob("*")) if captures.BODY.fullmatch(p.name)))
    return [json.loads(line) for line in otelcov("runs", "--since", "all", "--format", "jsonl").splitlines()]


@pytest.mark.full
def test_the_whole_corpus_through_the_command_line_is_right(tmp_path):
    corpus = _shared("corpus")
    if not corpus.is_dir():
        pytest.skip(f"no recordings in {corpus}: set OTELCOV_SHARED to the folder that holds corpus/")
    table = Table()
    for dialect in sorted(p for p in corpus.iterdir() if p.is_dir()):
        score(table, captures.folder(dialect), _imported(dialect, tmp_path / dialect.name))
    assert table.cells
    assert table.bad == []


@pytest.mark.full
def test_public_runs_are_what_was_counted_independently(tmp_path):
    root = _shared("datasets")
    if not root.is_dir():
        pytest.skip(f"no data sets in {root}: set OTELCOV_SHARED to the folder that holds datasets/")
    compared, bad = 0, []
    for folder in sorted(p for p in root.iterdir() if p.name != "native" and (p / "truth.json").exists()):
        truth = json.loads((folder / "truth.json").read_text())["runs"]
        for dialect in sorted(p for p in folder.iterdir() if p.is_dir()):
            turns = dialect.name == "semconv-turns"
            found = _of_folder(dialect)
            for true in truth:
                key = true["conversation"] if turns else true["trace_id"]
                parts = [r for r in found if (r["conversation_id"] == key if turns else key in r["trace_ids"])]
                calls = [c for r in parts for c in r["tool_calls"] or [] if c["status"] != "requested"]
                own = [c["name"] for c in calls if c["agent"] not in ("user", "user_simulator")]
                compared += 1
                if own != true["tools"] or (len(parts) != 1 and not turns):
                    bad.append(f"{folder.name}/{dialect.name}/{key}: {len(parts)} runs, {own} for {true['tools']}")
    assert compared > 1000
    assert bad == []


def _of_folder(folder):
    from otelcov.store import files

    bodies = {"traces": [], "logs": []}
    for path in files.find([folder]):
        for request in files.requests(path):
            bodies[request.signal].append(request.body)
    frame = reconstruct(*from_requests(bodies["traces"], bodies["logs"], 1), Config(), captures.LATER)
    return captures.as_json(frame.sort("start_unix_nano"))
