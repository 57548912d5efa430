"""Eino, for Go: callbacks that tell what component a span is of. An agent of its kit is one of them, and may stand
below another; beside that each span is told a name, as if it were an agent's, and as the model that answered the one
that was asked.
"""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, NOTHING, Dialect, scope

_COMPONENT = pl.col("runinfo.component")
_OWN = _COMPONENT.is_not_null() & scope("eino").fill_null(value=False)
_AGENT = _OWN & _COMPONENT.is_in(["Agent", "AgenticAgent"])
_PART = _OWN & _COMPONENT.is_in(["ChatModel", "AgenticModel", "Tool"])

EINO = Dialect(
    name="eino",
    kind=pl.when(_AGENT).then(pl.lit(AGENT)),
    agent=pl.when(_AGENT).then(pl.col("runinfo.name")).when(_PART).then(pl.lit(NOTHING)),
    response_model=pl.when(_OWN).then(pl.lit(NOTHING)),
)

# Of an answer that streams, Eino's node of tools tells when they are done, by a span of its own beside theirs.
EINO_NODES = Dialect(
    name="eino-nodes",
    kind=pl.when(scope("eino") & pl.col("span.name").str.contains(r"^(?:Agentic)?[Tt]ools(?:Node)?$")).then(
        pl.lit(CHAIN)
    ),
)
