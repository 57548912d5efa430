"""All dialects, in the order in which they are asked, and the one pass that turns attributes into facts.

A third party adds a dialect by an entry point of group `otelcov.dialects` that names a `Dialect` object; such
dialects are asked first.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

import polars as pl

from otelcov.dialects.base import FACTS, FAMILIES, NUMBERS, Dialect
from otelcov.dialects.common import COMMON
from otelcov.dialects.crewai import CREWAI
from otelcov.dialects.genai import GENAI, GENAI_NAMES, OPENLIT
from otelcov.dialects.genkit import GENKIT
from otelcov.dialects.google_adk import GOOGLE_ADK
from otelcov.dialects.haystack import HAYSTACK
from otelcov.dialects.langfuse import LANGFUSE
from otelcov.dialects.langsmith import LANGSMITH
from otelcov.dialects.litellm import LITELLM
from otelcov.dialects.llama_index import LLAMA_INDEX
from otelcov.dialects.logfire import LOGFIRE
from otelcov.dialects.mastra import MASTRA
from otelcov.dialects.mcp import MCP
from otelcov.dialects.mlflow import MLFLOW
from otelcov.dialects.openinference import OPENAI_AGENTS, OPENAI_AGENTS_TOOLS, OPENINFERENCE
from otelcov.dialects.openllmetry import OPENLLMETRY, OPENLLMETRY_HOLDERS, OPENLLMETRY_MCP, OPENLLMETRY_NAMES
from otelcov.dialects.platforms import AGENTOPS, BRAINTRUST, LAMINAR, LANGWATCH, LIVEKIT
from otelcov.dialects.pydantic_ai import PYDANTIC_AI
from otelcov.dialects.smolagents import DSPY, SMOLAGENTS
from otelcov.dialects.spring_ai import SPRING_AI
from otelcov.dialects.vercel import VERCEL

# The most telling first: a framework's own mark, then the conventions, then names alone.
DIALECTS: tuple[Dialect, ...] = (
    OPENAI_AGENTS,
    OPENAI_AGENTS_TOOLS,
    CREWAI,
    LLAMA_INDEX,
    LITELLM,
    LOGFIRE,
    MASTRA,
    SPRING_AI,
    AGENTOPS,
    LANGWATCH,
    BRAINTRUST,
    SMOLAGENTS,
    DSPY,
    OPENINFERENCE,
    VERCEL,
    LANGSMITH,
    OPENLLMETRY_MCP,
    OPENLLMETRY_HOLDERS,
    GOOGLE_ADK,
    GENAI,
    OPENLLMETRY,
    PYDANTIC_AI,
    LANGFUSE,
    MLFLOW,
    HAYSTACK,
    GENKIT,
    LAMINAR,
    LIVEKIT,
    MCP,
    OPENLIT,
    GENAI_NAMES,
    OPENLLMETRY_NAMES,
    COMMON,
)

CONTEXT = ("span.name", "scope.name", "span.kind")


@cache
def dialects() -> tuple[Dialect, ...]:
    """Built-in dialects, after those of installed third parties."""
    found = [e.load() for e in sorted(entry_points(group="otelcov.dialects"), key=lambda e: e.name)]
    return (*found, *DIALECTS)


@cache
def keys(table: tuple[Dialect, ...]) -> frozenset[str]:
    """Every attribute key that some dialect reads."""
    names: set[str] = set()
    for dialect in table:
        for fact in FACTS:
            expr = getattr(dialect, fact)
            if expr is not None:
                names.update(expr.meta.root_names())
    return frozenset(names - set(CONTEXT))


def facts(attributes: pl.DataFrame, table: tuple[Dialect, ...] | None = None) -> pl.DataFrame:
    """One column per fact, one row per span. `attributes` has a text column per key that occurs, and `CONTEXT`."""
    table = table or dialects()
    present = set(attributes.columns)
    absent = [k for k in keys(table) if k not in present]
    frame = attributes.lazy().with_columns([pl.lit(None, dtype=pl.String).alias(k) for k in absent])
    columns = []
    for fact in FACTS:
        answers = [e for d in table if (e := getattr(d, fact)) is not None and _can_answer(e, present)]
        column = pl.coalesce(answers) if answers else pl.lit(None, dtype=pl.String)
        if fact in NUMBERS:
            column = column.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
        columns.append(column.alias(fact))
    return frame.with_columns(columns).select(FACTS).collect()


def _can_answer(expr: pl.Expr, present: set[str]) -> bool:
    """An expression over attributes that no span of the batch has is null everywhere: leave it out."""
    roots = [r for r in expr.meta.root_names() if r not in CONTEXT]
    return not roots or any(r in present for r in roots)


__all__ = ["CONTEXT", "DIALECTS", "FAMILIES", "dialects", "facts", "keys"]
