"""YAML and JSON files that a user wrote.

Values are those that JSON knows, since they are held against what agents sent as JSON: a date or a time of day stays
as it was written. A key that is given twice is an error, for the first of them would be lost.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from otelcov.ground.errors import UsageError

_DATE = "tag:yaml.org,2002:timestamp"
_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_LEVELS = 200
_TIME_OF_DAY = re.compile(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$")  # else a number to the base of 60


def read_yaml(path: Path) -> Any:
    """What the file says. Raises UsageError where it cannot be read or is not YAML."""
    import yaml

    too_deep = f"Couldn't use {path}: it is nested too deeply."
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = _json(text) if text.lstrip().startswith(("{", "[")) else _yaml(text)
    except OSError as error:
        raise UsageError(f"Couldn't read {path}: {error.strerror}.") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"Couldn't use {path}: it is not YAML: {error}.") from None
    except RecursionError:
        raise UsageError(too_deep) from None
    if _deep(found):
        raise UsageError(too_deep)
    return found


def _deep(value: Any) -> bool:
    """More levels than whoever walks over them may go down? YAML's aliases may hold each other, and themselves."""
    level = [value]
    for _ in range(_LEVELS):
        inner = (v.values() if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list)))
        level = list({id(value): value for values in inner for value in values}.values())
    return bool(level)


def _json(text: str) -> Any:
    """JSON as JSON: YAML knows no pairs of surrogates, no 1e3 and no tabs. What is no JSON may still be YAML."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except ValueError:
        return _yaml(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise yaml.YAMLError(f'"{key}" is given twice')
        found[key] = value
    return found


def _yaml(text: str) -> Any:
    import yaml

    return yaml.load(text, Loader=_loader())


@cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            seen = set()
            for key, _ in node.value:
                name = (key.tag, str(key.value))
                if name in seen and key.tag != _MERGE:
                    raise yaml.composer.ComposerError(None, None, f'"{key.value}" is given twice', key.start_mark)
                seen.add(name)
            return node

    Loader.yaml_implicit_resolvers = {
        first: [(_TEXT, _TIME_OF_DAY), *((tag, like) for tag, like in rules if tag != _DATE)]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader
