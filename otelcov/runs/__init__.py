"""Runs from spans: `reconstruct` is the one arrow of this package, `load` asks a store for it."""

from otelcov.runs.load import load
from otelcov.runs.reconstruct import reconstruct, run_json

__all__ = ["load", "reconstruct", "run_json"]
