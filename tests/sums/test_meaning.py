"""What kept sums mean: another reader is another meaning."""

import shutil

import pytest

from otelcov.ground.config import Config
from otelcov.sums import meaning


@pytest.mark.parametrize("changed", ["runs/assemble.py", "runs/tools/calls.py", "dialects/genai.py", "store/layout.py"])
def test_a_change_of_what_reads_spans_is_another_meaning(changed, tmp_path, monkeypatch):
    root = tmp_path / "otelcov"
    shutil.copytree(meaning._ROOT, root, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(meaning, "_ROOT", root)
    meaning._readers.cache_clear()
    try:
        before = meaning.meaning(Config())
        with (root / changed).open("a") as file:
            file.write("# another\n")
        meaning._readers.cache_clear()
        assert meaning.meaning(Config()) != before
    finally:
        meaning._readers.cache_clear()
