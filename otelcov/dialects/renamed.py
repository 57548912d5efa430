"""Decorators of SDKs that nobody here knows: they tell the kind of a span, and mostly name what was decorated, by keys
that end as Traceloop's and OpenInference's do, under a name of their own (AGNTCY's, Progress', Basalt's)."""

import polars as pl

from otelcov.dialects.base import AGENT, ANYS, CHAIN, TOOL, Dialect, first, value

_KIND = f"{ANYS}span.kind"
_NAME = first(f"{ANYS}entity.name").fill_null(pl.col("span.name"))
_INPUT, _OUTPUT = (first(f"{ANYS}entity.{end}", f"{ANYS}span.{end}") for end in ("input", "output"))
_IS = pl.col(_KIND).str.to_lowercase()

RENAMED = Dialect(
    name="renamed",
    kind=value(_KIND, agent=AGENT, tool=TOOL, workflow=CHAIN, task=CHAIN, chain=CHAIN),
    agent=pl.when(_IS == "agent").then(_NAME),
    tool=pl.when(_IS == "tool").then(_NAME),
    arguments=pl.when(_IS == "tool").then(_INPUT),
    result=pl.when(_IS == "tool").then(_OUTPUT),
    input=pl.when(_IS != "tool").then(_INPUT),
    output=pl.when(_IS != "tool").then(_OUTPUT),
)
