"""AG2: what was spent is told again in a span of its own, and a hub's records of agents and channels are no work."""

from otelcov.dialects.base import CHAIN, OTHER, Dialect, value

AG2 = Dialect(
    name="ag2",
    kind=value(
        "ag2.span.type",
        usage=OTHER,
        human_input=OTHER,
        agent_lifetime=OTHER,
        agent_event=OTHER,
        channel=OTHER,
        envelope=CHAIN,
        task=OTHER,
    ),
)
