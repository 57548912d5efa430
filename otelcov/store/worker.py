"""Commits in a process of their own, so that they take neither the interpreter's lock nor memory from the receiver.

Decoding, layout and Parquet cost more than receiving does, and hold the lock for milliseconds. The owner of the inbox
stays the one who decides: it fixes a batch, names it here, and forgets it once it hears that the store has it. What is
fixed is read from the inbox by a connection of this process's own.

One line of JSON each way: {"app_id", "number", "parts"} in; {"spans", "logs", "until": when the last of them came},
{"failed": why} or {"damaged": why} out.
The process holds the inbox's lock beside its owner and dies with it, so that no two ever work on one inbox. It yields
to the receiver (nice), which is why the receiver slows down when too much waits (collector.group_commit).
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from collector import segment
from collector.inbox import Batch, Fixed, Inbox
from collector.waiting import rows
from otelcov.ground.errors import StoreError
from otelcov.store.commit import Batches, Written

_NICE = 10
_PROGRAM = "import sys; from otelcov.store.worker import main; main(*sys.argv[1:])"
_SIGKILL_ME_WITH_MY_PARENT = 1  # PR_SET_PDEATHSIG

# One thread does the work; Delta's runtime has dozens more, each of which would keep freed memory of its own.
_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "2",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}


class Damaged(Exception):
    """A file of the inbox could not be read; its owner can set it aside."""


class Ended(Exception):
    """The process is gone. What it had begun may be in the store or not: the batch is given again."""


class Worker:
    """The process, as the inbox's owner sees it."""

    def __init__(self, store: str, box: Inbox) -> None:
        environment = _ENVIRONMENT | dict(os.environ)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, store, str(box.folder), str(box.lock_handle)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment,
            pass_fds=[box.lock_handle],
            start_new_session=True,  # an interrupt from the keyboard is for the collector, which then drains
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, batch: Fixed) -> None:
        try:
            _pipe(self._process.stdin).write(json.dumps(batch._asdict()).encode() + b"\n")
        except BrokenPipeError:
            raise self._ended() from None

    def answer(self, seconds: float) -> tuple[Written, int] | None:
        """What became of the batch, and when its last request came (Unix ns); None if that is not known yet."""
        out = _pipe(self._process.stdout)
        if not select.select([out], [], [], seconds)[0]:
            return None
        line = out.readline()
        if not line.endswith(b"\n"):
            raise self._ended()
        said: dict[str, Any] = json.loads(line)
        if "failed" in said:
            raise StoreError(said["failed"])
        if "damaged" in said:
            raise Damaged(said["damaged"])
        return Written(said["spans"], said["logs"]), said["until"]

    def close(self) -> None:
        """At once, whatever it is doing: its transactions are whole or not there."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            _pipe(pipe).close()

    def _ended(self) -> Exception:
        code = self._process.wait()
        if code > 0:  # it has said what it found: a bug, or a store of a newer format
            return RuntimeError(f"the process that commits to the store ended with {code}; see its words above")
        return Ended(f"The process that commits to the store ended ({code}); another one goes on.")


def main(store: str, folder: str, lock: str) -> None:
    """The process itself. `lock` is held by being open."""
    os.nice(_NICE)
    for each in (signal.SIGTERM, signal.SIGINT):  # the owner ends this process, by closing its stdin
        signal.signal(each, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SIGKILL_ME_WITH_MY_PARENT, signal.SIGKILL)
    os.set_inheritable(int(lock), False)
    _load()
    batches: Batches | None = None
    for line in sys.stdin.buffer:
        fixed = Fixed(**json.loads(line))
        try:
            batch = Batch(fixed.app_id, fixed.number, rows(Path(folder), fixed.parts))
        except segment.DAMAGE as error:
            _say(damaged=str(error))
            continue
        try:
            batches = batches or Batches(store, Path(folder))
            written = batches.commit(batch)
        except (StoreError, OSError) as error:
            _say(failed=str(error))
        except BaseException as error:
            if not _may_pass(error):
                raise
            _say(failed=f"Couldn't commit to {store}: {error}")
        else:
            until = batch.rows[-1].received_unix_nano if batch.rows else 0
            _say(spans=written.spans, logs=written.logs, until=until)
        del batch  # it is large, and the next may be long in coming


def _load() -> None:
    """What a commit needs, before the first one waits for it."""
    import deltalake  # noqa: F401
    import ptars  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    from collector import wire  # noqa: F401


def _may_pass(error: BaseException) -> bool:
    from deltalake.exceptions import DeltaError

    # a panic of the Rust side derives from BaseException and has no public class
    return isinstance(error, DeltaError) or type(error).__name__ == "PanicException"


def _say(**said: object) -> None:
    print(json.dumps(said), flush=True)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
