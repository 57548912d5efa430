"""GitHub's Copilot (CLI and SDK): the conventions, and what went on in the session by events and keys of its own.

The model that answered is the one that was asked, once more. The runtime that the SDK brings (1.0.14) tells of every
event twice: see `told_twice`.
"""

import polars as pl

from otelcov.dialects.base import AS_ASKED, NOTHING, OTHER, UNTOLD, Dialect, of_event, scope

_OURS = scope(r"^github\.copilot$")
_OPERATION = pl.col("gen_ai.operation.name")
_BROKE = pl.col("gen_ai.response.finish_reasons").str.contains(r"\berror\b")

# After a run was called off, a turn is told in which nobody said anything, nor was a model asked.
_UNSAID = pl.col(of_event("github.copilot.user.message", "github.copilot.user.message.source")).is_null()
_EMPTY = (_OPERATION == "invoke_agent") & (pl.col("github.copilot.agent.type") == "builtin") & _UNSAID
_UNASKED = (_OPERATION == "chat") & pl.col("github.copilot.interaction_id").is_null() & pl.col("error.type").is_null()

_FAILED = "gen_ai.client.operation.exception"
_BEGUN_AGAIN = pl.col(of_event(_FAILED, "exception.message")) == "Duplicate subagent.started"

_SUM = pl.when(_OURS & (_OPERATION == "invoke_agent")).then(pl.lit(UNTOLD))

COPILOT = Dialect(
    name="copilot",
    kind=pl.when(_OURS & (((_EMPTY | _UNASKED) & _BROKE) | _BEGUN_AGAIN)).then(pl.lit(OTHER)),
    response_model=pl.when(_OURS & AS_ASKED).then(pl.lit(NOTHING)),
    input_tokens=_SUM,
    output_tokens=_SUM,
    output=pl.when(_OURS & (_OPERATION == "invoke_agent")).then(pl.lit(NOTHING)),  # what its last model said
    tool_error=pl.when(_OURS & (_OPERATION == "execute_tool")).then(
        pl.col(of_event(_FAILED, "github.copilot.error_code")).replace_strict(
            {"rejected": "denied", "denied": "denied"}, default=None, return_dtype=pl.String
        )
    ),
)

# In VS Code a model's call bears what it is asked for (`title`, `panel/editAgent`) where an agent's name goes, and the
# id of the request as the conversation's; what an agent's span counts are sums.
_ASKED_FOR = pl.col("copilot_chat.request.max_prompt_tokens").is_not_null() & (_OPERATION == "chat")
_SUMS = pl.when(pl.col("copilot_chat.turn_count").is_not_null()).then(pl.lit(UNTOLD))

COPILOT_CHAT = Dialect(
    name="copilot-chat",
    agent=pl.when(_ASKED_FOR).then(pl.lit(NOTHING)),
    conversation=pl.when(_ASKED_FOR).then(pl.col("copilot_chat.session_id").fill_null(NOTHING)),
    response_model=pl.when(_ASKED_FOR & AS_ASKED).then(pl.lit(NOTHING)),
    input_tokens=_SUMS,
    output_tokens=_SUMS,
)
