"""Which runs of a window are looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, get_args

from otelcov.ground.errors import UsageError, did_you_mean

Side = Literal["test", "staging", "production", "unspecified"]


@dataclass(frozen=True)
class Selection:
    """An empty tuple selects all; several values of one option add up, different options narrow.

    `agent` keeps only those agents' steps and drops no run.
    """

    service: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    release: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    side: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    case: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sides = get_args(Side)
        for side in self.side:
            if side not in sides:
                raise UsageError(
                    f'There is no side "{side}": it is one of {", ".join(sides)}.{did_you_mean(side, sides)}'
                )

    def as_json(self) -> dict[str, list[str]]:
        """What was given, sorted; options that were not given are left out."""
        return {option: sorted(values) for option, values in asdict(self).items() if values}
