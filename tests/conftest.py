"""What holds for all tests."""

import os

# Tests start hundreds of processes: where nothing compiled may be kept, each would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: many tests wait for a server, a disk or a clock."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1
