"""Which file of a store is broken, when reading it fails: the readers of Parquet mostly do not say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from otelcov.ground.errors import StoreError


@contextmanager
def told(store: str) -> Iterator[None]:
    """Around what reads a store: an error of a reader becomes one that names the file, and says what to try."""
    try:
        yield
    except BaseException as error:
        broken = _broken(store) if _of_reader(error) else None
        if broken is None:
            raise
        path, why = broken
        raise StoreError(
            f"Couldn't read {path} of the store {store}: {why}. Restore this file from a copy of the store: without it "
            "every number of its hour would be wrong."
        ) from error


def _of_reader(error: BaseException) -> bool:
    # By name: a report that goes well imports no reader that it does not need. Polars' panics have no public class.
    if isinstance(error, OSError):
        return error.filename is None and not isinstance(error, ConnectionError)
    return not {"PolarsError", "ArrowException", "PanicException"}.isdisjoint(k.__name__ for k in type(error).__mro__)


def _broken(store: str) -> tuple[str, str] | None:
    """The first file without an end that can be read, else the first that cannot be read whole; and why."""
    import polars as pl

    from otelcov.store import remote
    from otelcov.store.tables import seen

    for whole in (False, True):
        for table in seen(store):
            for path in sorted(table.files()["path"]):
                url = f"{table.url}/{path}"
                rows = pl.scan_parquet(url, glob=False, hive_partitioning=False, storage_options=remote.options(url))
                try:
                    (rows if whole else rows.select(pl.len())).collect()
                except BaseException as error:
                    if not _of_reader(error):
                        raise
                    return f"{table.name}/{path}", "it is gone" if isinstance(error, OSError) else str(error)
    return None
