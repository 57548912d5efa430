"""AutoGen's runtime, which tells of every message that an agent is sent: in a team one is to speak by an empty one, and
who leads hears the user's words, who has a program's are not told, and all that an agent said and did in its turn.
Until 0.6 a tool that ran tells its name, what it was given and whether it failed, and no result; without a runtime, as
of an agent alone, in a trace of its own."""

import polars as pl

from otelcov.dialects.base import AGENT, BY_MESSAGES, CHAIN, LLM, NOTHING, TOOL, Dialect, scope

_HEARS = scope(BY_MESSAGES) & (pl.col("messaging.operation") == "process")
_LEADS = _HEARS & pl.col("recipient_agent_class").str.ends_with("GroupChatManager")
_SPEAKS = _HEARS & (pl.col("recipient_agent_class") == "ChatAgentContainer") & (pl.col("message") == "{}")
_OPENS = _LEADS & pl.col("message").str.starts_with('{"messages":')
_TOLD = _LEADS & pl.col("message").str.starts_with('{"response":{"chat_message":')
_SAID = pl.col("message").str.json_path_match("$.response.chat_message.source")
_ALONE = pl.when(_TOLD & pl.col("message").str.contains(r'"inner_messages":(?:\[\]|null)\}'))
_RAN = scope("^base_tool$") & pl.col("tool_name").is_not_null()
_USAGE = "$.response.chat_message.models_usage"

# LoongSuite calls a team an agent by the name of its class.
_TEAM = scope(r"^opentelemetry\.util\.genai\.handler$") & pl.col("autogen.team.type").is_not_null()

AUTOGEN = Dialect(
    name="autogen",
    kind=pl.when(_SPEAKS)
    .then(pl.lit(AGENT))
    .when(_TOLD)
    .then(pl.lit(LLM))
    .when(_OPENS | _TEAM)
    .then(pl.lit(CHAIN))
    .when(_RAN)
    .then(pl.lit(TOOL)),
    agent=pl.when(_SPEAKS)
    .then(pl.col("recipient_agent_type").str.replace(r"_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", ""))
    .when(_TOLD)
    .then(_SAID)
    .when(_TEAM)
    .then(pl.lit(NOTHING)),
    tool=pl.when(_RAN).then(pl.col("tool_name")),
    arguments=pl.when(_RAN).then(pl.col("tool_args")),
    input_tokens=_ALONE.then(pl.col("message").str.json_path_match(f"{_USAGE}.prompt_tokens")),
    output_tokens=_ALONE.then(pl.col("message").str.json_path_match(f"{_USAGE}.completion_tokens")),
    output_messages=pl.when(_TOLD).then(pl.col("message")),
    input=pl.when(_OPENS).then(pl.col("message")),
)
