"""Erasure reaches what was counted: run rows name traces, sums name an example, and what waits to be counted is kept
as it came."""

from __future__ import annotations

import shutil
from contextlib import suppress

from otelcov.ground.errors import StoreError
from otelcov.sums.build import alone, everything


def forget(store: str) -> None:
    """Remove all kept sums of a store, of every meaning; what is still there is counted again by the next report.

    A count that began before is waited for: it may have read what is gone now.
    """
    there = everything(store)
    if not there.exists():
        return
    try:
        for folder in there.iterdir():
            with alone(folder):
                shutil.rmtree(folder)
        with suppress(OSError):  # somebody counts again already
            there.rmdir()
    except OSError as error:
        raise StoreError(f"Couldn't erase the sums kept in {there}: {error.strerror}. Remove that folder.") from error
