"""What holds for all tests."""

import os

# Tests start hundreds of processes: where nothing compiled may be kept, each would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# These files take longest. They are begun first, so that no worker is left alone with one of them at the end.
LONG = ("sums/test_equal.py", "store/test_s3.py", "cli/test_collect.py", "plugin/test_plugin.py")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONG))
