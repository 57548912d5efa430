"""What holds for all tests."""

import os

# Tests start hundreds of processes: where nothing compiled may be kept, each would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
