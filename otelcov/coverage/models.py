"""C_model = |known models used| / |known models|. Without a declaration or a baseline nobody knows the models."""

from __future__ import annotations

import polars as pl

from otelcov.coverage.dimension import Dimension, View, ratio
from otelcov.coverage.facts import Facts, scoped
from otelcov.coverage.tally import Steps


def observe(facts: Facts) -> list[Steps]:
    """Rows `model`: model calls by canonical name, failed ones as errors."""
    return [Steps("model", scoped(facts.llm.filter(pl.col("item").is_not_null())))]


def measure(view: View) -> Dimension:
    known: frozenset[str] | None = None
    universe = "none"
    reason: str | None = "no models are declared and no baseline is given"
    seen = view.items("model")
    if view.config.models:
        universe, known, reason = "declared", frozenset(view.config.models), None
    elif (frozen := view.baseline.get("model")) is not None:
        universe, known = "baseline", frozenset(frozen)
        reason = None if frozen else "the baseline holds no models"
    return ratio(view, "model", seen, known, universe, reason)
