"""What is found out of the dialects once, and kept for other processes, changes no fact and stands in nobody's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from otelcov.dialects import asked, facts, kept
from otelcov.dialects.answers import Key, Present
from otelcov.runs.trace import spans
from otelcov.runs.trace.spans import table
from otelcov.store.layout import from_requests
from tests.captures import LATER, Scenario, dialects, packed

SPANS = """
import json, sys
from tests.runs import requests as r
(run,) = r.runs(
    r.span(1, None, "invoke_agent ann", gen_ai__operation__name="invoke_agent", gen_ai__agent__name="ann", took=9),
    r.span(2, 1, "chat m", gen_ai__operation__name="chat", gen_ai__request__model="m", **{extra}),
)
told = run["agents"], [call["request_model"] for call in run["llm_calls"]]
print(json.dumps([told, "otelcov.dialects.registry" in sys.modules]))
"""
TOLD = [["ann"], ["m"]]


def _told(home: Path, extra: str = "{}", **variables: str) -> list[object]:
    """What another process tells of a run, and whether it imported all dialects for that."""
    environment = {"XDG_CACHE_HOME": str(home), "PATH": os.environ["PATH"], **variables}
    command = [sys.executable, "-c", SPANS.replace("{extra}", extra)]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True, check=True
    )
    found: list[object] = json.loads(done.stdout)
    return found


def test_the_next_process_imports_no_dialect(tmp_path: Path) -> None:
    assert _told(tmp_path) == [TOLD, True]
    assert _told(tmp_path) == [TOLD, False]
    # An attribute more; what is found out of it holds for both.
    assert _told(tmp_path, "{'gen_ai__usage__input_tokens': 7}") == [TOLD, True]
    assert _told(tmp_path, "{'gen_ai__usage__input_tokens': 7}") == [TOLD, False]
    assert _told(tmp_path) == [TOLD, False]


@pytest.mark.parametrize("damage", ["cut", "a byte", "nothing left"])
def test_a_file_that_is_damaged_is_found_out_anew(damage: str, tmp_path: Path) -> None:
    assert _told(tmp_path) == [TOLD, True]
    (file,) = (tmp_path / "otelcov").iterdir()
    whole = file.read_bytes()
    middle = len(whole) // 2
    damaged = {"cut": whole[:-9], "a byte": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]}
    file.write_bytes(damaged.get(damage, b""))
    assert [_told(tmp_path), _told(tmp_path)] == [[TOLD, True], [TOLD, False]]


def test_what_cannot_be_kept_is_found_out_each_time(tmp_path: Path) -> None:
    (tmp_path / "otelcov").write_text("a file where a folder should be")
    assert [_told(tmp_path), _told(tmp_path)] == [[TOLD, True], [TOLD, True]]


def test_a_strangers_dialect_is_asked_whatever_is_kept(tmp_path: Path) -> None:
    assert [_told(tmp_path), _told(tmp_path)] == [[TOLD, True], [TOLD, False]]
    (tmp_path / "acme.py").write_text(
        "import polars as pl\nfrom otelcov.dialects.base import LLM, Dialect\n"
        "ACME = Dialect(name='acme', request_model=pl.when(pl.col('gen_ai.request.model') == 'm').then(pl.lit('x')))\n"
    )
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[otelcov.dialects]\nacme = acme:ACME\n")
    assert _told(tmp_path, PYTHONPATH=str(tmp_path)) == [[["ann"], ["x"]], True]
    assert _told(tmp_path) == [TOLD, False]


def test_other_code_finds_out_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for number in range(5):
        monkeypatch.setattr(kept, "_code", lambda number=number: f"{number}")
        assert kept.load() is None
        monkeypatch.setattr(kept, "_done", False)
        kept.keep(None, frozenset("a"), Key(frozenset("a"), frozenset()), {})
        assert kept.load() is not None
    assert sorted(file.stem for file in (tmp_path / "otelcov").iterdir()) == ["dialects-2", "dialects-3", "dialects-4"]


def test_what_somebody_else_may_have_written_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _told(tmp_path) == [TOLD, True]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept.load() is not None
    (file,) = (tmp_path / "otelcov").iterdir()
    file.chmod(0o620)
    assert kept.load() is None
    file.chmod(0o600)
    monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)
    assert kept.load() is None


def test_one_key_is_part_of_another() -> None:
    def key(columns: str, *scopes: str) -> Key:
        return Key(frozenset(columns), frozenset(scopes))

    assert key("ab", "x") <= key("abc", "x", "y")
    assert key("ab") <= key("ab") and key("ab", "x") <= key("ab")  # of many scopes nobody knows which
    assert not key("ab") <= key("ab", "x") and not key("ab", "z") <= key("ab", "x", "y") and not key("ad") <= key("ab")
    assert key("a", "x") | key("b", "y") == key("ab", "x", "y") and key("a") | key("b", "y") == key("ab")


def test_keys_that_are_alike_become_one() -> None:
    some = kept.Kept(frozenset(), {Key(frozenset("abcd"), frozenset("x")): b"", Key(frozenset("pq"), frozenset()): b""})
    assert some.wider(Key(frozenset("abce"), frozenset("y"))) == Key(frozenset("abcde"), frozenset("xy"))
    assert some.wider(Key(frozenset("aefg"), frozenset("y"))) == Key(frozenset("aefg"), frozenset("y"))


def _facts(scenario: Scenario) -> pl.DataFrame:
    return table(*from_requests(scenario.bodies("traces"), scenario.bodies("logs"), LATER))[0]


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.full)])
def test_what_could_tell_more_tells_the_same(every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts of spans are those that all dialects tell, whatever else the kept answers are for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    some = [scenario for dialect in dialects("corpus")[::every] for scenario in packed("corpus", dialect)[:1]]
    seen = list[Key]()

    def from_all(attributes: pl.DataFrame) -> pl.DataFrame:
        seen.append(Present.of(attributes).key)
        return facts.facts(attributes, asked._installed())

    with monkeypatch.context() as patch:
        patch.setattr(spans, "facts", from_all)
        alone = [_facts(scenario) for scenario in some]
    whole = seen[0]
    for key in seen[1:]:
        whole |= key
    table_ = asked._installed()
    monkeypatch.setattr(kept, "_done", False)
    kept.keep(None, asked._keys(table_), whole, asked._of(Present(whole), table_))
    held = kept.load()
    assert held is not None and held.keys == asked._keys(table_)
    monkeypatch.setattr(asked, "_kept", lambda: held)
    monkeypatch.setattr(asked, "_installed", lambda: pytest.fail("all dialects were asked"))
    monkeypatch.setattr(asked, "_ASKED", {})
    monkeypatch.setattr(facts, "_TOLD", {})
    for scenario, told in zip(some, alone, strict=True):
        assert _facts(scenario).equals(told), scenario.name
