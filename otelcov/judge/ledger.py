"""What has been paid for: every answer of a judge, kept under the hash of the question before it is used.

A killed judgement loses only the calls that were under way. A refusal or a malformed answer was paid for, too, and is
kept as missing data; what was never answered (a time-out, HTTP 429 or 500) is not kept and is asked again.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from otelcov.ground.errors import StoreError

FORMAT = 1  # 1: question hash, answer or reason, tokens, trace of the call


@dataclass(frozen=True)
class Answer:
    """What a judge answered to one question; without a value it is missing data, and `missing` says why."""

    value: dict[str, Any] | None
    missing: str | None = None
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    trace_id: str | None = None  # of the judge's own call
    span_id: str | None = None
    paid_before: bool = False


def question(model: str, instructions: str, data: str, shape: str, repeat: int) -> str:
    """The key of an answer: everything that the judge is told, by whom it is answered, and which repeat it is."""
    text = json.dumps([FORMAT, model, instructions, data, shape, repeat], ensure_ascii=False)
    return sha256(text.encode("utf-8", "replace")).hexdigest()


class Ledger:
    """One file in the store's results. Several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "answers.sqlite"
        with ExitStack() as opened, self._told("open"):
            folder.mkdir(parents=True, exist_ok=True)
            self._db = opened.enter_context(closing(sqlite3.connect(self.path, isolation_level=None, timeout=30)))
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")  # an answer is money: on disk before it counts
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS answers (question TEXT PRIMARY KEY, metric TEXT, model TEXT, judged TEXT, "
                "answer TEXT NOT NULL, at_unix_nano INTEGER) WITHOUT ROWID"
            )
            self._db.execute("CREATE TABLE IF NOT EXISTS emitted (event TEXT PRIMARY KEY) WITHOUT ROWID")
            opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, key: str) -> Answer | None:
        row = self._db.execute("SELECT answer FROM answers WHERE question = ?", (key,)).fetchone()
        return None if row is None else Answer(**(json.loads(row[0]) | {"paid_before": True}))

    def put(self, key: str, metric: str, model: str, judged: str, answer: Answer) -> None:
        """Durable when it returns. `judged` is the judged run's trace id."""
        row = asdict(answer)
        row.pop("paid_before")
        self._execute(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)",
            (key, metric, model, judged, json.dumps(row, ensure_ascii=False), time.time_ns()),
        )

    def unsent(self, events: Iterable[str]) -> set[str]:
        """Those of the events that no earlier judgement has emitted."""
        return {e for e in events if self._db.execute("SELECT 1 FROM emitted WHERE event = ?", (e,)).fetchone() is None}

    def sent(self, events: Iterable[str]) -> None:
        self._execute("BEGIN", ())
        self._db.executemany("INSERT OR IGNORE INTO emitted VALUES (?)", [(e,) for e in events])
        self._execute("COMMIT", ())

    def forget(self, traces: Iterable[str]) -> int:
        """Remove the answers about these traces (hex ids): reasons may quote what was said."""
        before = self._db.total_changes
        self._db.executemany("DELETE FROM answers WHERE judged = ?", [(t,) for t in traces])
        return self._db.total_changes - before

    def close(self) -> None:
        self._db.close()

    def _execute(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._told("write"):
            self._db.execute(statement, values)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"Couldn't {what} {self.path}, where paid answers are kept: {error}. "
                "Name another place by --results DIR."
            ) from None
