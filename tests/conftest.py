"""What holds for all tests."""

import contextlib
import os
import sqlite3

import pytest

# Tests start hundreds of processes: where nothing compiled may be kept, each would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["OTELCOV_STRICT"] = "1"  # a fault over one trace is a fault


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
