"""What can go wrong, and the exit code it ends in.

A failed gate is a result, not an exception: commands return it as an exit code of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

GOOD = 0
GATE_FAILED = 1
USAGE = 2
NO_DATA = 3
STORE = 4

# The most urgent first: a broken store says nothing about a gate, a failed gate outweighs one without data.
_SEVERITY = (STORE, USAGE, GATE_FAILED, NO_DATA, GOOD)


class OtelcovError(Exception):
    """Something a person can act on: what could not be done, to what, and what to try."""

    exit_code: int = STORE

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code


class UsageError(OtelcovError):
    """The command line asks for something that makes no sense."""

    exit_code = USAGE


class ConfigError(OtelcovError):
    """otelcov.toml, pyproject.toml or an OTELCOV_ variable cannot be used."""

    exit_code = USAGE


class StoreError(OtelcovError):
    """The store cannot be read or written."""

    exit_code = STORE


def worst(codes: Iterable[int]) -> int:
    """The exit code of several outcomes: 4 before 2 before 1 before 3."""
    return min(codes, key=_SEVERITY.index, default=GOOD)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` Did you mean "x"?`, or nothing when no known word is near."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f' Did you mean "{near[0]}"?' if near else ""
