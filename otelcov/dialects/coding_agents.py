"""Claude Code: a tool span, and in it the wait for leave and the work. Qwen Code waits in the same way.

Codex tells a turn by the functions of its own program: a model's answer is the last span of its stream, with what was
used, and an event, if anything (0.169), says how a tool went.

Gemini CLI writes what a tool was given, and its whole record of the call, as messages; each of its spans bears its own
name, that of an agent which it called, too.
"""

import polars as pl

from otelcov.dialects.base import AGENT, LLM, OTHER, TOOL, Dialect, as_message, first, of_event, scope, span_name

_STEP = span_name(r"^claude_code\.(.+)$")
_MODEL, _TOOL, _WORK = (step == _STEP for step in ("llm_request", "tool", "tool.execution"))
_GAVE = first(of_event("tool.output", "output"))
_FAILED = _STEP.is_in(["llm_request", "tool.execution"]) & (pl.col("success").str.to_lowercase() == "false")
NOTICE = "<task-notification>"
"""What an agent in the background brings when it is done begins with this: nobody asked that."""
_RECORDED = of_event("claude_code.tool_result", "tool_input")
_WHOLE = pl.col(_RECORDED).str.len_bytes().cast(pl.String) == pl.col(f"{_RECORDED}_size_bytes")
"""Of what a tool was given each text is cut that is long."""
_HEAD = r"^\[TOOL INPUT: [^\n]+\]\n"
_SAID = first(of_event("claude_code.assistant_response", "response"), "response.model_output")
_CUT = _SAID.str.contains("[TRUNCATED", literal=True)
_PROMPT = pl.col("user_prompt")
_UNITS = _PROMPT.str.len_chars() + _PROMPT.str.count_matches(r"[\x{10000}-\x{10FFFF}]")  # as JavaScript counts
_PROMPT_CUT = pl.col("user_prompt_length").cast(pl.Int64, strict=False) > _UNITS
_ASKED = pl.when(_PROMPT.str.contains(r"^\s*[\[{]")).then(as_message(_PROMPT, "user")).otherwise(_PROMPT)
"""A prompt is a text, though it be an object."""
_OF_MCP = pl.col("anthropic.mcp.server.name").is_not_null()  # else an event holds what there was in several pieces
_REFUSED = ["reject", "rejected", "deny", "denied", "cancel", "abort", "aborted"]

CODING_AGENTS = Dialect(
    name="coding-agents",
    kind=_STEP.replace_strict(
        {
            "interaction": AGENT,
            "llm_request": LLM,
            "tool": TOOL,
            "tool.execution": TOOL,
            "tool.blocked_on_user": OTHER,
            "hook": OTHER,
        },
        default=None,
        return_dtype=pl.String,
    ),
    tool=pl.when(_TOOL).then(first("gen_ai.tool.name", "tool_name")),
    call_id=pl.when(_TOOL).then(first("tool_use_id")),
    arguments=pl.when(_TOOL).then(
        pl.coalesce(pl.when(_WHOLE).then(pl.col(_RECORDED)), pl.col("tool_input").str.replace(_HEAD, ""))
    ),
    to_agent=pl.when(_TOOL).then(first("subagent_type")),
    request_model=pl.when(_MODEL).then(first("model")),
    input_tokens=pl.when(_MODEL).then(first("gen_ai.usage.input_tokens", "input_tokens")),
    output_tokens=pl.when(_MODEL).then(first("gen_ai.usage.output_tokens", "output_tokens")),
    finish=pl.when(_MODEL).then(first("stop_reason")),
    output_messages=pl.when(_MODEL & (pl.col("stop_reason") != "tool_use") & ~_CUT).then(_SAID),
    definitions=pl.when(_MODEL).then(first("tools")),
    result=pl.when(_TOOL & _OF_MCP).then(_GAVE),
    input=pl.when((_STEP == "interaction") & ~_PROMPT.str.starts_with(NOTICE)).then(
        pl.when(_PROMPT_CUT).then(None).otherwise(_ASKED)
    ),
    error_type=pl.when(_FAILED).then(
        pl.coalesce(of_event("claude_code.tool_result", "error_type"), "status_code", pl.lit("_OTHER"))
    ),
    error_text=pl.when(_FAILED).then(first("error")),
    tool_error=pl.when(
        span_name(r"\.(tool\.blocked_on_user)$").is_not_null() & pl.col("decision").str.to_lowercase().is_in(_REFUSED)
    )
    .then(pl.lit("denied"))
    .when(_WORK)
    .then(pl.col("success").str.to_lowercase().replace_strict({"true": "false", "false": "true"}, default=None))
    .when(_TOOL & _GAVE.is_not_null())
    .then(pl.lit("false"))
    .when(_TOOL)  # how it went, its work says
    .then(pl.lit("unknown")),
)

QWEN_CODE = Dialect(
    name="qwen-code",  # says of a turn that ended otherwise than it should no more than this: a limit, too
    finish=pl.when(scope("^qwen-code$") & (pl.col("qwen-code.turn_status") == "cancelled")).then(pl.lit("canceled")),
)

_CODEX = scope("^codex")
# A tool's span bears its name; others beside it (who watches over what is done) name it, too.
_CALLED = _CODEX & (pl.col("span.name") == pl.col("tool_name")) & pl.col("call_id").is_not_null()
_ENDED, _WENT, _GIVEN, _BROUGHT, _CUT_SHORT = (
    pl.col(of_event("codex.tool_result", key))
    for key in ("call_id", "success", "arguments", "output", "output_truncated")
)

# As a tool's span has it: after what it belongs to, as a server, and no tool of its own.
_WHOSE = pl.col(of_event("codex.tool_result", "tool_namespace"))
_ENDED_NAME = pl.concat_str(
    pl.when(_WHOSE != "functions").then(_WHOSE).fill_null(""), pl.col(of_event("codex.tool_result", "tool_name"))
)

# What the model hears of a tool that somebody, or who watches, did not let run, or that nobody has. Leave may be asked
# for once more after it ran in a sandbox.
_KEPT = (
    _BROUGHT.str.contains(
        r"^(?:(?:exec command |patch )?rejected by user$|unsupported (?:custom tool )?call: "
        r"|This action was rejected due to unacceptable risk\b)"
    ).fill_null(value=False)
    | pl.col(of_event("codex.tool_decision", "decision")).str.to_lowercase().is_in(["denied", "abort", "timed_out"])
) & pl.col(of_event("codex.sandbox_outcome", "outcome")).is_null()

CODEX = Dialect(
    name="codex",
    kind=pl.when(_CODEX & (pl.col("span.name") == "session_task.turn"))
    .then(pl.lit(AGENT))
    .when(_CODEX & (pl.col("span.name") == "handle_responses") & pl.col("gen_ai.usage.input_tokens").is_not_null())
    .then(pl.lit(LLM))
    .when(_CALLED | _ENDED.is_not_null())
    .then(pl.lit(TOOL)),
    tool=pl.when(_CALLED).then(pl.col("tool_name")).otherwise(_ENDED_NAME),
    call_id=pl.when(_CALLED).then(pl.col("call_id")).otherwise(_ENDED),
    arguments=_GIVEN,
    request_model=pl.when(_CODEX & (pl.col("span.name") == "run_sampling_request")).then(pl.col("model")),
    result=pl.when(_CUT_SHORT.str.to_lowercase() != "true").then(_BROUGHT),
    tool_error=pl.when(_CODEX & _KEPT & (_WENT.is_null() | (_WENT.str.to_lowercase() != "true")))
    .then(pl.lit("denied"))
    .when(_WENT.is_not_null())
    .then(pl.when(_WENT.str.to_lowercase() == "true").then(pl.lit("false")).otherwise(pl.lit("true")))
    .when(_CALLED)
    .then(pl.lit("unknown")),
)

_TOLD_AGAIN = scope(r"^openinference\.instrumentation\.codex")
_RESULT = _TOLD_AGAIN & pl.col("span.name").str.ends_with("result")
_EXIT = pl.col("output.value").str.extract(r'(?:"exit_code": ?|^Exit code: )(-?\d+)')

# What it kept of its sessions, as OpenInference tells it: a turn is no call of a model, and what came of a tool a span
# of its own, which always ends well.
CODEX_SESSIONS = Dialect(
    name="codex-sessions",
    kind=pl.when(_TOLD_AGAIN & (pl.col("span.name") == "codex.turn")).then(pl.lit(AGENT)),
    agent=pl.when(_TOLD_AGAIN).then(pl.lit("unknown")),
    tool_error=pl.when(_RESULT & pl.col("output.value").is_null())
    .then(pl.lit("unknown"))
    .when(_RESULT & (_EXIT != "0"))
    .then(pl.lit("true")),
)

_OPERATION = pl.col("gen_ai.operation.name")

GEMINI_AGENTS = Dialect(
    name="gemini-cli-agents",
    agent=pl.when((_OPERATION == "agent_call") & scope(r"^gemini-cli$")).then(pl.lit("unknown")),
)

_RECORD = pl.when(_OPERATION == "tool_call").then(first("gen_ai.output.messages"))
_WENT_SO = _RECORD.str.extract(r'^\{"status": ?"(\w+)"')
_RECORD_CUT = _WENT_SO.is_not_null() & ~_RECORD.str.ends_with("}")

# A record that is cut off tells how it went, before all else, and not what came back.
GEMINI_CLI = Dialect(
    name="gemini-cli",
    arguments=pl.when(_OPERATION == "tool_call").then(first("gen_ai.input.messages")),
    result=pl.when(~_RECORD_CUT.fill_null(value=False)).then(_RECORD),
    tool_error=pl.when(_RECORD_CUT).then(
        _WENT_SO.replace_strict({"success": "false", "error": "true"}, default="unknown", return_dtype=pl.String)
    ),
)
