"""Requests from afar: a server took them in, or a consumer, and whoever sent them tells of nothing here."""

from __future__ import annotations

from otelcov.runs.trace.tree import Trace

TAKES_IN = (2, 5)
"""OTLP's kinds of spans that others cause: a server's, a consumer's."""


def take_in(trace: Trace) -> None:
    """What a trace has of such a request is whole, though the parent of its first span has not come: `afar` in place of
    `orphan`. Not so where others have lost theirs, too."""
    if len(trace.roots) != 1:
        return
    (root,) = trace.roots
    if root.orphan and root.kind is None and root.span.span_kind in TAKES_IN:
        root.orphan, root.afar = False, True
