"""AG2: what was spent is told again in a span of its own, a hub's records of agents and channels are no work, and who
leads a group's talk, or runs its tools, is told like an agent, and a chat like who begins it. What tools gave is no
answer. A model that was asked for is told as the one that answered, unless the program names it again."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, NOTHING, OTHER, UNTOLD, Dialect, scope, value

_TYPE = pl.col("ag2.span.type")
_LEADS = pl.col("gen_ai.agent.name").is_in(["chat_manager", "_Group_Tool_Executor"])
_OWN = scope(r"^opentelemetry\.instrumentation\.ag2$")
_TALK = _OWN & pl.col("span.name").str.starts_with("conversation ")
_CHOOSING = _OWN & pl.col("gen_ai.agent.name").is_in(["checking_agent", "speaker_selection_agent"])  # for who leads
_GAVE_BACK = _OWN & pl.col("gen_ai.output.messages").str.starts_with('[{"role": "tool"')

AG2 = Dialect(
    name="ag2",
    request_model=pl.when((_TYPE == "llm") & (pl.col("gen_ai.request.model") == pl.col("gen_ai.response.model"))).then(
        pl.lit(NOTHING)
    ),
    agent=pl.when(_TALK | _GAVE_BACK | _CHOOSING).then(pl.lit("unknown")),
    output=pl.when(_GAVE_BACK).then(pl.lit(NOTHING)),
    output_messages=pl.when(_GAVE_BACK).then(pl.lit(NOTHING)),
    kind=pl.when((_TYPE == "agent") & (_LEADS | _GAVE_BACK) | _TALK)
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

# OpenLIT tells of each message that an agent sends, receives or thinks of as if a model had been asked, of a model that
# is unknown, with a guess of its tokens and the other's name in place of the words.
_OPENLIT = scope(r"^openlit\.instrumentation\.ag2$")
_SAID = (
    _OPENLIT
    & pl.col("span.name").str.starts_with("execute_task ")
    & (pl.col("gen_ai.operation.name").fill_null("chat") == "chat")
)
_REPLIES = _SAID & (pl.col("gen_ai.agent.message_type") == "generate_reply") & ~_LEADS
_SENT = _SAID & ~_REPLIES.fill_null(value=False)
_CHOOSES = _OPENLIT & pl.col("gen_ai.groupchat.speaker_selection").is_not_null()
_GROUP = _OPENLIT & pl.col("gen_ai.groupchat.participants").is_not_null()

OPENLIT_AG2 = Dialect(
    name="openlit-ag2",
    kind=pl.when(_REPLIES)
    .then(pl.lit(AGENT))
    .when(_SENT)
    .then(pl.lit(OTHER))
    .when(_CHOOSES | _GROUP)
    .then(pl.lit(CHAIN)),
    agent=pl.when(_REPLIES).then(pl.col("gen_ai.agent.name")).when(_SENT | _CHOOSES | _GROUP).then(pl.lit("unknown")),
    request_model=pl.when(_SAID).then(pl.lit(NOTHING)),
    response_model=pl.when(_SAID).then(pl.lit(NOTHING)),
    input_tokens=pl.when(_SAID).then(pl.lit(UNTOLD)),
    output_tokens=pl.when(_SAID).then(pl.lit(UNTOLD)),
    input_messages=pl.when(_SENT).then(pl.lit(NOTHING)),
    output_messages=pl.when(_SENT).then(pl.lit(NOTHING)),
    input=pl.when(_SENT).then(pl.lit(NOTHING)),
    output=pl.when(_SENT).then(pl.lit(NOTHING)),
)
