"""What holds for all tests."""

import contextlib
import os
import sqlite3

import pytest

# Tests start hundreds of processes: where nothing compiled may be kept, each would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["OTELCOV_STRICT"] = "1"  # a fault over one trace is a fault
os.environ.setdefault("POLARS_MAX_THREADS", "1")  # several workers share the cores

_ENDS_OF_TABLES = ("coverage", "dialects", "history", "judge", "runs", "sums")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where a test of these folders has many cases, README's command runs the first and the last that are not `full`
    by themselves; `-m full` runs those between."""
    cases = dict[str, list[pytest.Item]]()
    for item in items:
        if item.path.parent.name in _ENDS_OF_TABLES and item.get_closest_marker("full") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for some in cases.values():
        for item in some[1:-1]:
            item.add_marker(pytest.mark.full)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: many tests wait for a server, a disk or a clock."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.fixture
def connections_end_with_their_test(monkeypatch):
    """Some tests leave an inbox as a crash would; since Python 3.13 a connection that nobody closed is a warning."""
    made, connect = [], sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **how: made.append(connect(*args, **how)) or made[-1])
    yield
    for connection in made:
        with contextlib.suppress(sqlite3.ProgrammingError):  # made by another thread, which has closed it
            connection.close()
