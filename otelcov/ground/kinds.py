"""The types of the values of a config, in the words of pydantic. Nothing but `checks` imports this, and only where
something is written.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from otelcov.ground import windows
from otelcov.ground.errors import UsageError


def _nanoseconds(value: object) -> object:
    try:
        return windows.duration(value if isinstance(value, str) else "")
    except UsageError:
        raise ValueError('must be a duration in quotes, like "60s", "1h30m" or "7d"') from None


def lower(value: object) -> object:
    return [v.lower() if isinstance(v, str) else v for v in value] if isinstance(value, list) else value


def _no_share(value: float) -> float:
    if 0 < value < 1:
        raise ValueError(f"is a percent, and {value:g} is below one. Did you mean {value * 100:g}?")
    return value


def _edge(value: str) -> str:
    if not all(value.rpartition("/")):
        raise ValueError("must be an edge, like agent/tool")
    return value


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is no regex: {error}") from None
    return value


Name = Annotated[str, Field(min_length=1)]
Names = list[Name]
LowerNames = Annotated[Names, BeforeValidator(lower)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Edge = Annotated[str, AfterValidator(_edge)]
Whole = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Legible = Annotated[int, Field(ge=100)]
Port = Annotated[int, Field(ge=0, le=65535)]
Duration = Annotated[int, BeforeValidator(_nanoseconds), PlainSerializer(windows.span_text)]
NotNegative = Annotated[float, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Points = Annotated[Finite, Field(gt=0)]
Percent = Annotated[float, Field(ge=0, le=100)]
Threshold = Annotated[Percent, AfterValidator(_no_share)]
