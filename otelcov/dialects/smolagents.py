"""smolagents and DSPy under OpenInference: the names of agents and tools stand in span names alone."""

import polars as pl

from otelcov.dialects.base import OTHER, Dialect, scope, span_name

_AGENT = (pl.col("openinference.span.kind").str.to_uppercase() == "AGENT") & scope("smolagents|^smoltrace$")
_CLASSES = ["ToolCallingAgent", "CodeAgent", "MultiStepAgent"]

# In 1.12 a span bears the class; what an agent is called that another manages, its task begins with.
_MANAGED = pl.col("input.value").str.extract(r"agent named '([^'\\]+)'\.\\nYou have been submitted this task")

SMOLAGENTS = Dialect(
    name="smolagents",
    agent=pl.when(_AGENT & ~span_name(r"^(.+)\.run$").is_in(_CLASSES))
    .then(span_name(r"^(.+)\.run$"))
    .when(_AGENT)
    .then(_MANAGED),
    definitions=pl.when(_AGENT).then(pl.col("smolagents.tools_names")),
)

DSPY = Dialect(
    name="dspy",
    # ReAct's own way to say that it is done.
    kind=pl.when(scope(r"\.dspy$") & pl.col("span.name").is_in(["finish.__call__", "finish.acall"])).then(
        pl.lit(OTHER)
    ),
)
