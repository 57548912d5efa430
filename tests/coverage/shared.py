"""Where the reference data beside the repository lies: OTELCOV_SHARED, else ../shared."""

from __future__ import annotations

import os
from pathlib import Path


def shared(name: str) -> Path:
    root = os.environ.get("OTELCOV_SHARED")
    return (Path(root) if root else Path(__file__).parents[3] / "shared") / name
