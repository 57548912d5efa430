"""The config in force, checked; every value knows where it came from.

Read from `--config FILE`, else `./otelcov.toml`, else `[tool.otelcov]` in `./pyproject.toml`. A key of `[coverage]`,
`[runs]` or `[collect]` that is no table and no list of lists may also come from the environment: `OTELCOV_<KEY>`.
Where nothing is written, what checks is not even imported.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_origin

from otelcov.ground.config import Collect, Config, Coverage, Runs, written
from otelcov.ground.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from pydantic import ValidationError

Section = TypeVar("Section")

# The sections whose keys are options too, and so may come from the environment.
_FROM_ENVIRONMENT = {"coverage": Coverage, "runs": Runs, "collect": Collect}


@dataclass(frozen=True)
class Setting:
    """One leaf of the config as a person would write it, and its source."""

    key: str
    value: Any
    origin: str


def load(
    path: Path | str | None = None, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> Config:
    """The config of this folder, or of the file that is named. Raises ConfigError."""
    return _load(path, environ, folder)[0]


def load_with_origins(
    path: Path | str | None = None, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> tuple[Config, list[Setting]]:
    """The config and the origin of each of its settings. Raises ConfigError."""
    config, origins = _load(path, environ, folder)
    return config, [Setting(k, v, origins.get(k, "default")) for k, v in _leaves(tables(config)).items()]


def of(
    told: Mapping[str, Any],
    section: type[Section] = Config,  # type: ignore[assignment]
    source: str = "these settings",
) -> Section:
    """A config, or a section of one, of tables as a file holds them. Raises ConfigError, which names the source."""
    found: Section = _checked(told, section, source, {})
    return found


def tables(section: Any) -> dict[str, Any]:
    """A config, or a section of one, as tables of a file."""
    from otelcov.ground.checks import reader

    kind: Any = type(section)
    found: dict[str, Any] = reader(kind).dump_python(section, mode="json", by_alias=True)
    return found


def _load(
    path: Path | str | None, environ: Mapping[str, str] | None, folder: Path | None
) -> tuple[Config, dict[str, str]]:
    source, told = _read(Path(path) if path else None, folder or Path())
    origins = dict.fromkeys(_leaves(told), source)
    for section, key, variable, value in _environment(os.environ if environ is None else environ):
        table = told.setdefault(section, {})
        if isinstance(table, dict):
            table[key] = value
            origins[f"{section}.{key}"] = variable
    return (_checked(told, Config, source, origins) if told else Config()), origins


def _checked(told: Mapping[str, Any], section: Any, source: str, origins: Mapping[str, str]) -> Any:
    from pydantic import ValidationError

    from otelcov.ground.checks import reader

    try:
        return reader(section).validate_python(told)
    except ValidationError as error:
        raise ConfigError(_explain(error, section, source, origins)) from None


def _read(path: Path | None, folder: Path) -> tuple[str, dict[str, Any]]:
    if path is not None:
        tables = _toml(path)
        return str(path), (_of_project(tables, path) or {}) if path.name == "pyproject.toml" else tables
    own, project = folder / "otelcov.toml", folder / "pyproject.toml"
    if own.is_file():
        return "otelcov.toml", _toml(own)
    table = _of_project(_toml(project), project) if project.is_file() else None
    if table is not None:
        return "pyproject.toml [tool.otelcov]", table
    return "default", {}


def _of_project(tables: dict[str, Any], path: Path) -> dict[str, Any] | None:
    """`[tool.otelcov]`, if it is there."""
    tool = tables.get("tool")
    table = tool.get("otelcov") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"Couldn't use {path}: tool.otelcov must be a table.")
    return table


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"Couldn't read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"Couldn't use {path}: it is not TOML: {error}.") from None


def _leaves(table: object, prefix: str = "") -> dict[str, Any]:
    """Dotted keys; a name that holds a dot is quoted, as TOML does it."""
    if not isinstance(table, dict):
        return {prefix: table}
    found: dict[str, Any] = {}
    for name, value in table.items():
        key = f'"{name}"' if not name.replace("-", "_").isidentifier() else name
        found |= _leaves(value, f"{prefix}.{key}" if prefix else key)
    return found


def _environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str, object]]:
    """Section, key, variable and value of what is there. `OTELCOV_PATHS` is `--paths` of `otelcov learn`, and no list
    of paths: there is none that a variable could hold."""
    for name, section in _FROM_ENVIRONMENT.items():
        for field in fields(section):
            variable = f"OTELCOV_{written(field.name).upper()}"
            if variable in environ:
                from otelcov.ground.checks import types

                kind = types(section)[field.name]
                if not is_dataclass(kind) and "list[list[" not in str(kind):
                    yield name, written(field.name), variable, _from_text(kind, environ[variable])


def _from_text(kind: object, text: str) -> object:
    """Lists are written with commas in the environment; pydantic reads numbers and booleans from text itself."""
    is_list = any(word in str(kind) for word in ("list[", "tuple["))
    return [part.strip() for part in text.split(",") if part.strip()] if is_list else text


# What a value of the wrong type should have been, in the words of TOML.
_TYPES = {
    "dataclass_type": "a table",
    "dict_type": "a table",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "text in quotes",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
}


def _explain(error: ValidationError, section: type, source: str, origins: Mapping[str, str]) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        *parents, last = where = [str(part) for part in problem["loc"]]
        key = ".".join(where)
        origin = origins.get(key, source)
        if problem["type"] == "missing":
            text = "is missing"
        elif problem["type"] == "unexpected_keyword_argument":
            known = _known_keys(section, parents)
            text = f"unknown key.{did_you_mean(last, known) or ' Known here: ' + ', '.join(known) + '.'}"
        else:
            got = problem["input"]
            shown = "" if isinstance(got, dict) else f", got {got!r}"
            message = _TYPES.get(problem["type"]) or problem["msg"]
            message = message.removeprefix("Value error, ").removeprefix("Input should be ")
            text = f"{message}{shown}" if problem["type"] == "value_error" else f"must be {message}{shown}"
        lines.append(f"  {key}: {text}" + (f" (from {origin})" if origin != source else ""))
    return f"Couldn't use {source if source != 'default' else 'the environment'}:\n" + "\n".join(sorted(lines))


def _known_keys(section: Any, parents: list[str]) -> list[str]:
    """The keys that a table may hold; names of agents, tools and models are free."""
    from otelcov.ground.checks import types

    for part in parents:
        if is_dataclass(section):
            section = _bare({written(name): kind for name, kind in types(section).items()}[part])
        else:  # dict[str, Model] or list[Model]: any name or number, then the model
            section = section.__args__[-1]
    return sorted(written(field.name) for field in fields(section))


def _bare(kind: Any) -> Any:
    """A type without what checks it, and of a table that may be absent."""
    if isinstance(kind, UnionType):
        kind = next(one for one in kind.__args__ if one is not type(None))
    return kind.__origin__ if get_origin(kind) is Annotated else kind
