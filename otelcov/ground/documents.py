"""YAML files that a user wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from otelcov.ground.errors import UsageError


def read_yaml(path: Path) -> Any:
    """What the file says. Raises UsageError where it cannot be read or is not YAML."""
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"Couldn't read {path}: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"Couldn't use {path}: it is not YAML: {error}.") from None
