"""What is kept may be deleted, cut or unwritable at any time: the report is the same."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from otelcov.cli.commands import app
from otelcov.sums import kept
from otelcov.sums.meaning import folder
from tests.sums.stores import NOW, Store, bodies

BRIEF = ("report", "--format", "json", "--since", "all", "--now", NOW)
WHOLE = (*BRIEF, "--by", "agent")
CUT = b"PAR1" + bytes(100)


@pytest.fixture
def store(tmp_path) -> Store:
    made = Store(tmp_path / "store")
    made.commit(bodies(1_000))
    made.count()
    return made


def told(store: Store, *asked: str) -> tuple[str, str]:
    done = CliRunner().invoke(app, [*asked, "--store", store.path])
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


def files(store: Store, pattern: str) -> list[Path]:
    return sorted((Path(store.path) / "sums").glob(f"*/{pattern}"))


@pytest.mark.parametrize(
    ("asked", "pattern"),
    [
        *((BRIEF, f"rolled-*.{kind}.parquet") for kind in ("brief", "kinds", "paths")),
        *((WHOLE, f"rolled-*.{kind}.parquet") for kind in ("sums", "items")),
        *((WHOLE, f"left-*.{kind}.parquet") for kind in ("runs", "odd")),
        (BRIEF, kept.LIST),
    ],
)
@pytest.mark.parametrize("left", [CUT, *(pytest.param(some, marks=pytest.mark.full) for some in (None, b""))])
def test_a_file_that_is_gone_or_cut_is_counted_again(store, asked, pattern, left):
    want = told(store, *asked)
    broken = files(store, pattern)
    assert broken
    for file in broken:
        file.unlink() if left is None else file.write_bytes(left)
    assert told(store, *asked) == want
    store.count()
    assert told(store, *asked) == want


def test_a_report_that_runs_keeps_the_files_of_its_list(store):
    old = files(store, "*.parquet")
    for file in old:
        os.utime(file, (0, 0))
    asked = store.ask(since="all", now=NOW)
    store.commit(bodies()[:1])
    before = kept.load(folder(store.path, asked.config))
    after = store.count()
    assert {batch.id for batch in before.batches}.isdisjoint(batch.id for batch in after.batches)
    assert before.sums(stretch.file for stretch in before.rolled)
    for file in old:
        os.utime(file, (0, 0))
    store.commit(bodies()[:1])
    store.count()
    assert not any(file.exists() for file in old)


@pytest.mark.parametrize("text", ["[]", "null", f'{{"format": {kept.FORMAT}}}', "{}", "\xff"])
def test_a_list_of_another_shape_is_no_list(store, text):
    want = told(store, *BRIEF)
    files(store, kept.LIST)[0].write_text(text)
    assert told(store, *BRIEF) == want


@pytest.mark.full
@pytest.mark.parametrize("pattern", ["batch-*.runs.parquet", "batch-*.traces.parquet", "left-*.traces.parquet"])
def test_a_count_that_meets_a_broken_file_begins_anew(store, pattern):
    for file in files(store, pattern):
        file.write_bytes(b"")
    store.commit(bodies()[-20:])
    store.count()
    got = told(store, *BRIEF)
    for file in files(store, "*"):
        file.unlink()
    assert told(store, *BRIEF) == got


@pytest.mark.full
def test_a_report_that_can_keep_nothing_says_so_and_leaves_nothing(tmp_path, monkeypatch):
    store = Store(tmp_path / "store")
    store.commit(bodies(6_000))
    want, said = told(store, *BRIEF)
    assert not said
    for file in files(store, "*"):
        file.unlink()
    write = pl.DataFrame.write_parquet

    def full(frame: pl.DataFrame, file: Path, **how: object) -> None:
        if "items" in file.name:
            raise pl.exceptions.ComputeError("parquet: underlying IO error: No space left on device")
        write(frame, file, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    got, said = told(store, *BRIEF)
    assert got == want
    assert "Couldn't keep sums in" in said and "No space left on device" in said and len(said.splitlines()) == 1
    assert [file.name for file in files(store, "*")] == ["kept.lock"]
