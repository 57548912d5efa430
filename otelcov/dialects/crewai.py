"""CrewAI: names and definitions that stand in attributes of its own, under OpenInference and OpenLLMetry."""

import polars as pl

from otelcov.dialects.base import CHAIN, OTHER, Dialect, first, scope, span_name

CREWAI = Dialect(
    name="crewai",
    kind=pl.when(
        scope(r"crewai")
        & pl.col("span.name").str.contains(r"\.(task|workflow)$")
        & pl.col("gen_ai.agent.name").is_null()
    )
    .then(pl.lit(CHAIN))
    .when(scope(r"^crewai\.telemetry$"))
    .then(pl.lit(OTHER)),
    agent=first("crewai.agent.role"),
    tool=pl.when((pl.col("openinference.span.kind").str.to_uppercase() == "TOOL") & scope("crewai")).then(
        span_name(r"^'?(.+?)'?(?:\.run|\._?use)$")
    ),
    definitions=first("crewai.agent.tools", "crewai.task.tools"),
    input=first("crewai.task.description"),
    output=first("crewai.crew.result"),
)
