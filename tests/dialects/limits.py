"""Spans as an SDK's limit on the number of attributes leaves them."""

from __future__ import annotations

from typing import Any


def kept_last(span: dict[str, Any], count: int) -> dict[str, Any]:
    """As Python's SDK drops the oldest."""
    told = list(span["attributes"].items())
    return span | {"attributes": dict(told[max(0, len(told) - count) :]), "dropped": max(0, len(told) - count)}


def kept_first(span: dict[str, Any], count: int) -> dict[str, Any]:
    """As the SDKs of most languages leave out what is set once there are enough."""
    told = list(span["attributes"].items())
    return span | {"attributes": dict(told[:count]), "dropped": max(0, len(told) - count)}
