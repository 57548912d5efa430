"""What `otelcov doctor --store` says of a table's weight."""

from __future__ import annotations

import random
from pathlib import Path

from collector.inbox import Inbox
from otelcov.cli.carried import weighed
from otelcov.store import tables, upkeep
from otelcov.store.commit import Committer
from otelcov.store.sizes import size
from tests.store.otlp import HOUR, NOW, logs, span, traces


def test_the_share_of_content_and_what_was_not_rewritten_are_told(tmp_path: Path) -> None:
    text = random.Random(0).randbytes(30_000).hex()  # no codec makes it smaller than half
    box = Inbox.create(tmp_path / "inbox")
    committer = Committer(tmp_path, box)
    old = (NOW // HOUR - 5) * HOUR
    for n in range(2):
        box.append([traces(span(n, start=old, short="x" * 100, long=text[n:]))])
        committer.drain()
    found = size(committer.tables.spans)
    assert found is not None
    assert (found.rows, found.files, found.new_files) == (2, 2, 2)
    assert found.bytes == sum(file.stat().st_size for file in (tmp_path / "spans").rglob("*.parquet"))
    assert 0.5 < found.content_share < 1
    assert size(committer.tables.logs) is None
    upkeep.tidy(tmp_path, NOW)
    again = size(tables.open_(tmp_path).spans)
    assert again is not None
    assert (again.rows, again.files, again.new_files) == (2, 1, 0)
    box.append([logs("y" * 1000)])
    committer.drain()
    box.close()
    told = [finding.text for finding in weighed(str(tmp_path))]
    assert [text.split(" take ")[0] for text in told] == ["2 spans", "1 log records"]
    assert f"{again.bytes / 2:,.0f} bytes each" in told[0]


def test_a_table_without_rows_weighs_nothing(tmp_path: Path) -> None:
    tables.create(tmp_path)
    assert list(weighed(str(tmp_path))) == []
