"""AG2: what was spent is told again in a span of its own, a hub's records of agents and channels are no work, and who
leads a group's talk, or runs its tools, is told like an agent. A model that was asked for is told as the one that
answered, unless the program names it again."""

import polars as pl

from otelcov.dialects.base import CHAIN, NOTHING, OTHER, Dialect, value

_TYPE = pl.col("ag2.span.type")

AG2 = Dialect(
    name="ag2",
    request_model=pl.when((_TYPE == "llm") & (pl.col("gen_ai.request.model") == pl.col("gen_ai.response.model"))).then(
        pl.lit(NOTHING)
    ),
    kind=pl.when((_TYPE == "agent") & pl.col("gen_ai.agent.name").is_in(["chat_manager", "_Group_Tool_Executor"]))
    .then(pl.lit(CHAIN))
    .otherwise(
        value(
            "ag2.span.type",
            usage=OTHER,
            human_input=OTHER,
            agent_lifetime=OTHER,
            agent_event=OTHER,
            channel=OTHER,
            envelope=CHAIN,
            task=OTHER,
        )
    ),
)
