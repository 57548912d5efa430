"""Where what can be found out again is kept on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """This user's; it need not be there yet. Raises RuntimeError where this user has no home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "otelcov"
