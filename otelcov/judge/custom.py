"""Metrics of others: found by entry point (`otelcov.metrics`) or by path, and rows of the same table.

A custom metric is one of:

- a `Metric` with a question and a guide: a model answers it, like a built-in one;
- a function decorated with `@metric(...)`: code answers it. It is given the turn (or, with per="conversation", the
  conversation) and returns a number, a label, `(value, reason)` or None for "no value". A second parameter is a way to
  ask the judge: `answer = await ask("instructions", data, PydanticModel)`;
- a class with `name` and `score(turn)`, and if need be `kind`, `per`, `labels`, `passing`, `severities`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from otelcov.ground.errors import ConfigError, did_you_mean
from otelcov.ground.plugins import plugins
from otelcov.judge.metrics import BUILT_IN, NO_FAILURE, SEVERITIES, Metric

ENTRY_POINTS = "otelcov.metrics"


def metric(
    name: str,
    *,
    kind: Literal["quantitative", "qualitative"] = "quantitative",
    per: Literal["turn", "conversation"] = "turn",
    labels: Sequence[str] = (),
    passing: Sequence[str] = (NO_FAILURE,),
    severities: Mapping[str, str] | None = None,
    with_tools: bool = False,
) -> Callable[[Callable[..., Any]], Metric]:
    """Make a function a metric."""

    def made(score: Callable[..., Any]) -> Metric:
        return Metric(
            name,
            question=inspect.getdoc(score) or "",
            guide=tuple((label, "") for label in labels),
            kind=kind,
            per=per,
            passing=tuple(passing),
            severities=dict(severities or {}),
            with_tools=with_tools,
            score=score,
        )

    return made


def table(sources: Iterable[str], folder: Path | None = None) -> dict[str, Metric]:
    """The built-in metrics, those of installed packages, and those that the config names."""
    found = dict(BUILT_IN)
    for point in plugins(ENTRY_POINTS):
        _add(found, _metrics(point.load(), f"entry point {point.name}"), f"entry point {point.name}")
    for source in sources:
        _add(found, _from(source, folder or Path()), source)
    return found


def choose(known: Mapping[str, Metric], names: Sequence[str] | None) -> list[Metric]:
    """The named metrics, or all of them."""
    if names is None:
        return list(known.values())
    for name in names:
        if name not in known:
            raise ConfigError(
                f'There is no metric "{name}".{did_you_mean(name, known) or " Known: " + ", ".join(known) + "."}'
            )
    return [known[name] for name in dict.fromkeys(names)]


def _add(found: dict[str, Metric], more: Iterable[Metric], source: str) -> None:
    for one in more:
        _sound(one, source)
        if one.name in found:
            raise ConfigError(f'{source} defines the metric "{one.name}" a second time. Give it another name.')
        found[one.name] = one


def _sound(one: Metric, source: str) -> None:
    """Words that only the judgement would stumble over."""
    said: list[tuple[str, str, tuple[str, ...]]] = [
        ("kind", one.kind, ("quantitative", "qualitative")),
        ("per", one.per, ("turn", "conversation")),
    ]
    said += [(f'the severity of "{label}"', word, SEVERITIES) for label, word in one.severities.items()]
    for key, word, words in said:
        if word not in words:
            raise ConfigError(f'{source}: metric "{one.name}": {key} must be one of {", ".join(words)}, got {word!r}.')
    if not isinstance(one.name, str) or not one.name:
        raise ConfigError(f"{source}: a metric's name must be text, got {one.name!r}.")


def _from(source: str, folder: Path) -> list[Metric]:
    place, colon, name = source.rpartition(":")
    if not colon:
        place, name = source, ""
    module = _file(folder / place) if place.endswith(".py") else _module(place)
    if not name:
        return _all(module) or _nothing(source)
    if not hasattr(module, name):
        raise ConfigError(f"Couldn't use the metric {source}: {place} has no {name}.")
    return _metrics(getattr(module, name), source)


def _nothing(source: str) -> list[Metric]:
    raise ConfigError(f"{source} defines no metric. Name a class as {source}:Name, or decorate functions with @metric.")


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"Couldn't use the metrics of {path}: there is no such file.")
    spec = importlib.util.spec_from_file_location(f"_otelcov_metrics_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pydantic look their module up
    _theirs(partial(spec.loader.exec_module, module), f"the metrics of {path}")
    return module


def _module(name: str) -> ModuleType:
    module: ModuleType = _theirs(partial(importlib.import_module, name), f"the metrics of {name}")
    return module


def _theirs(load: Callable[[], Any], what: str) -> Any:
    """What code of others gives; it may raise whatever it likes."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        told = str(error) if isinstance(error, (ImportError, SyntaxError)) else f"{type(error).__name__}: {error}"
        raise ConfigError(f"Couldn't use {what}: {told}.") from None


def _metrics(value: Any, source: str) -> list[Metric]:
    if isinstance(value, Metric):
        return [value]
    if isinstance(value, ModuleType):
        return _all(value) or _nothing(source)
    if isinstance(value, (list, tuple)):
        return [m for v in value for m in _metrics(v, source)]
    if inspect.isfunction(value):
        return [metric(value.__name__)(value)]
    if not _scores(value):
        raise ConfigError(f"Couldn't use the metric {source}: it needs a `name` and a method `score`.")
    thing = _theirs(value, f"the metric {source}") if isinstance(value, type) else value
    score, name = thing.score, thing.name
    made = metric(
        name,
        kind=getattr(thing, "kind", "quantitative"),
        per=getattr(thing, "per", "turn"),
        labels=getattr(thing, "labels", ()),
        passing=getattr(thing, "passing", (NO_FAILURE,)),
        severities=getattr(thing, "severities", None),
        with_tools=getattr(thing, "with_tools", False),
    )
    return [made(score)]


def _all(module: ModuleType) -> list[Metric]:
    """The metrics of a module: what `@metric` made, and its own classes that score."""
    found = []
    for value in vars(module).values():
        if isinstance(value, Metric):
            found.append(value)
        elif isinstance(value, type) and value.__module__ == module.__name__ and _scores(value):
            found += _metrics(value, f"{module.__name__}:{value.__name__}")
    return found


def _scores(value: Any) -> bool:
    return isinstance(getattr(value, "name", None), str) and callable(getattr(value, "score", None))
