"""A second process that works for this one: it starts, and imports what it will need, while its caller still finds out
what there is to do.

It keeps what it was given: each call finds the module of its function as the calls before have left it. Calls are made
in a row and answered in that order; whoever asks goes on meanwhile.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from otelcov.engine import Gone, serving

R = TypeVar("R")


class Second:
    def __init__(self, needs: Sequence[str] = (), environ: dict[str, str] | None = None) -> None:
        """`needs`: what it is to import or call beforehand, `module` or `module:function`. Raises OSError where no
        process can be started."""
        command = [sys.executable, "-m", serving.__name__, *needs]
        there = {**os.environ, **(environ or {})}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=there)
        self._writing: threading.Thread | None = None
        self._open = 0  # calls that were not answered

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, work: Callable[..., Any], *given: Any) -> None:
        """Have it do this; `answer` is what comes of it."""
        call = pickle.dumps((work, given), pickle.HIGHEST_PROTOCOL)
        if self._writing is not None:
            self._writing.join()
        self._writing = threading.Thread(target=self._write, args=(call,), daemon=True)
        self._open += 1
        self._writing.start()  # a pipe holds little, and the other may have something else in hand

    def answer(self) -> Any:
        """What came of the first call that was not answered yet. Raises Gone where that failed, or its process did."""
        try:
            good, told = pickle.load(self._process.stdout)  # type: ignore[arg-type]
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise Gone("it has ended") from error
        self._open -= 1
        if not good:
            raise Gone(told)
        return told

    def ask(self, work: Callable[..., R], *given: Any) -> R:
        self.call(work, *given)
        answer: R = self.answer()
        return answer

    def forget(self) -> None:
        """Take what nobody waits for any more. Raises Gone where the process has ended."""
        while left := self._open:
            try:
                self.answer()
            except Gone:
                if self._open == left:
                    raise

    def close(self) -> None:
        with suppress(OSError):
            self._process.kill()  # it has nothing that would be lost
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        self._process.wait()

    def _write(self, call: bytes) -> None:
        with suppress(OSError, ValueError):  # `answer` will tell
            self._process.stdin.write(call)  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
