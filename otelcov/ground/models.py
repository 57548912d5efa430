"""Names of models: dated and prefixed spellings of one model are one.

`gpt-4o-2024-08-06` and `openai/gpt-4o` are `gpt-4o`; whatever the config lists as an alias follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from otelcov.ground.config import Config

_DATED = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8})(?:-v\d+(?::\d+)?)?$")


class ModelNames:
    """The canonical name of every spelling, under one config."""

    def __init__(self, config: Config) -> None:
        self._declared = frozenset(config.models)
        self._aliases = {alias: name for name, model in config.models.items() for alias in model.aliases}
        self._aliases |= {
            _plain(alias): name for alias, name in self._aliases.items() if _plain(alias) not in config.models
        }

    def __call__(self, raw: str) -> str:
        for spelling in (raw, raw.rpartition("/")[2], _plain(raw)):
            if spelling in self._declared:
                return spelling
            if spelling in self._aliases:
                return self._aliases[spelling]
        return _plain(raw)

    def wanted(self, models: Iterable[str]) -> set[str]:
        """These models under every name that runs may have them by."""
        return {name for model in models for name in (model, self(model))}

    def all(self, raw: Iterable[str]) -> dict[str, str]:
        return {name: self(name) for name in raw}


def _plain(name: str) -> str:
    bare = name.rpartition("/")[2] or name
    return _DATED.sub("", bare) or bare
