"""What a second process (second.py) runs: calls in, answers out, until there is nobody to make any."""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from otelcov.ground.processes import FEW_PASSES


def serve(needs: Sequence[str]) -> None:
    """Answer calls; prepare for them while there are none."""
    gc.set_threshold(*FEW_PASSES)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the caller, who ends this process
    asked, told = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library may print is no answer
    left = list(reversed(needs))
    with suppress(EOFError, BrokenPipeError):
        while True:
            while left and not select.select([asked], [], [], 0)[0]:
                _prepare(left.pop())
            work, given = pickle.load(asked)
            try:
                answer = True, work(*given)
            except Exception as error:
                answer = False, f"{type(error).__name__}: {error}"
            pickle.dump(answer, told, pickle.HIGHEST_PROTOCOL)
            told.flush()


def _prepare(need: str) -> None:
    module, _, function = need.partition(":")
    found = import_module(module)
    if function:
        getattr(found, function)()


if __name__ == "__main__":
    serve(sys.argv[1:])
