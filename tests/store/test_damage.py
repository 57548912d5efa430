"""A store with a broken file says which one, and never gives numbers without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from otelcov.cli.commands import app
from tests.sums.stores import NOW, Store, bodies

COMMANDS = (("report",), ("runs",), ("report", "--by", "model"), ("show", "abcdef"), ("gaps",))


@pytest.fixture(params=["live", "counted"])
def store(tmp_path, request) -> Store:
    made = Store(tmp_path / "store")
    made.commit(bodies(1_000)[::2])
    if request.param == "counted":
        made.count()
    made.commit(bodies(1_000)[1::2])
    return made


def gone(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:1_000])


def overwritten(file: Path) -> None:
    pages = bytearray(file.read_bytes())
    pages[1_000:-8_000] = bytes(len(pages) - 9_000)
    file.write_bytes(pages)


@pytest.mark.parametrize("break_", [gone, cut, overwritten])
def test_a_broken_file_is_named(store, break_):
    for file in Path(store.path).glob("spans/day=*/hour=*/*.parquet"):
        break_(file)
    for command in COMMANDS:
        done = CliRunner().invoke(app, [*command, "--since", "all", "--store", store.path, "--now", NOW])
        assert done.exit_code == 4, (command, done.output, done.exception)
        assert not done.stdout
        assert "Couldn't read spans/day=2026-01-01/hour=0" in done.stderr and "Restore this file" in done.stderr
        assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize("table", ["spans", "logs"])
def test_files_without_a_log_are_no_new_store(store, tmp_path, table):
    if table == "logs":  # which holds nothing here, and is made anew
        shutil.rmtree(Path(store.path) / "logs")
    else:
        shutil.rmtree(Path(store.path) / "spans" / "_delta_log")
    (tmp_path / "more.otlp").write_bytes(bodies(100)[0])
    there = sorted(Path(store.path).rglob("*.parquet"))
    for command in (("report",), ("import", str(tmp_path / "more.otlp"))):
        result = CliRunner().invoke(app, [*command, "--store", store.path])
        if table == "spans":
            assert result.exit_code == 4
            assert "spans/_delta_log" in result.stderr and "copy of the store" in result.stderr
    assert set(there) <= set(Path(store.path).rglob("*.parquet"))
