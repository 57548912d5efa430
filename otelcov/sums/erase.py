"""Erasure reaches what was counted: run rows name traces, and sums name an example."""

from __future__ import annotations

import shutil

from otelcov.ground.errors import StoreError
from otelcov.sums.build import everything


def forget(store: str) -> None:
    """Remove all kept sums of a store, of every meaning; what is still there is counted again by the next report."""
    there = everything(store)
    if not there.exists():
        return
    try:
        shutil.rmtree(there)
    except OSError as error:
        raise StoreError(f"Couldn't erase the sums kept in {there}: {error.strerror}. Remove that folder.") from error
