"""What checks the tables of a config: pydantic, which takes as long to import as all else that a command needs. So only
`settings` imports this, and only where something is written.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, get_type_hints

from pydantic import BeforeValidator, ConfigDict, TypeAdapter

from otelcov.ground import config, kinds


def types(section: Any) -> dict[str, Any]:
    """The type of each field of a section."""
    found = get_type_hints(section, {**vars(config), **vars(kinds)}, include_extras=True)
    return found | {"sides": Annotated[config.Sides, BeforeValidator(_apart)]} if section is config.Config else found


@cache
def reader(section: Any) -> TypeAdapter[Any]:
    """What makes a section of tables, and tables of a section. Unknown keys are errors."""
    sections: list[Any] = [one for one in vars(config).values() if is_dataclass(one)]
    for one in sections:
        one.__pydantic_config__ = ConfigDict(extra="forbid", alias_generator=config.written)
        for field in fields(one):
            field.type = types(one)[field.name]
    return TypeAdapter(section)


def _apart(told: Any) -> Any:
    """A name that was written under one side is no longer another's by default; nobody is on two sides."""
    if not isinstance(told, dict):
        return told
    usual = vars(config.Sides())
    written = {side: kinds.lower(told[side]) for side in usual if side in told}
    sides: dict[str, str] = {}
    for side, names in written.items():
        for name in map(str, names) if isinstance(names, list) else ():
            if sides.setdefault(name, side) != side:
                raise ValueError(f'"{name}" is under {sides[name]} and under {side}: an environment has one side')
    free = {side: [n for n in names if n not in sides] for side, names in usual.items() if side not in told}
    return {**told, **free}
