"""Functions of Arrow by their names.

`pyarrow.compute`, and each method of an array that rests on it, makes a Python function of every one of three hundred
when it is first imported. That takes a short-lived process longer than what it asks of them.
"""

from __future__ import annotations

from typing import Any

from pyarrow._compute import call_function


def call(name: str, *arrays: Any) -> Any:
    """What a function of Arrow, with its default options, makes of these arrays and scalars."""
    return call_function(name, list(arrays))
