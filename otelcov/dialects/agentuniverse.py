"""Ant's agentUniverse: keys of its own. What a function was given stands by its parameters' names, below `kwargs` where
it takes whatever it is given; of an answer the text alone is told, and never which model gave it."""

import polars as pl

from otelcov.dialects.base import Dialect, first


def _given(key: str, name: str = "") -> pl.Expr:
    given = pl.col(key)
    return pl.coalesce([given.str.json_path_match(f"$.{way}") for way in (f"kwargs{name}", name.lstrip(".")) if way])


_SESSION = pl.col("au.trace.session.id")

AGENTUNIVERSE = Dialect(
    name="agentuniverse",
    arguments=pl.coalesce([_given("au.tool.input"), pl.col("au.tool.input")]),
    result=first("au.tool.output"),
    input_tokens=first("au.llm.usage.prompt_tokens"),
    output_tokens=first("au.llm.usage.completion_tokens"),
    input_messages=_given("au.llm.input", ".messages"),
    output_messages=first("au.llm.output"),
    input=_given("au.agent.input", ".input"),
    output=pl.coalesce([pl.col("au.agent.output").str.json_path_match("$.output"), pl.col("au.agent.output")]),
    conversation=pl.when(_SESSION != "-1").then(_SESSION),
)
