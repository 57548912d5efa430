"""Errors that only the text of a tool's result tells.

A result is a soft error if it is flagged as one (`is_error`, `isError`, `status: error`), if it is an object whose
only news is an error, or if its text begins the way frameworks and tools begin error texts. The patterns are anchored
at the start: a page that speaks of errors is no error. `[runs] soft_errors` adds patterns.

A bare `Error: no such user` or `Exception: none of these apply` may be a tool's ordinary answer. Where a span ran the
tool and says that nothing failed, such a call keeps the status ok and is marked soft, and so does one of which a flag
says that nothing was raised (LangChain's `status: success`, MCP's `isError`); where the text is the only witness, it is
an error. A word that a dash joins to another (`Error-free`) is no error.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from otelcov.ground.patterns import late
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.content.reprs import flat_hash, mapping

_BEGINS = late(
    r"""\s*(?:
      [\w.]*(?:Error|Exception|Failure|Timeout)(?:\([^)]*\))?\s*(?::|$|-\s)   # Error: …, ValueError: …, HTTPError - …
    | Error\s+(?:executing|running|calling|invoking|while|in|during|from|at|\d{3}|code|occurred)\b
    | Error\s+(?:processing|parsing|fetching|retrieving)\b
    | (?:An?|Unexpected|Internal|Fatal|Unknown)\s+(?:\w+\s+)?(?:error|exception)
      \s+(?:occurred|happened|has|was|while|executing|running)\b
    | I\s+encountered\s+an\s+error
    | \{\s*"error":\s*true\b                                                      # an object that was cut
    | Traceback\s+\(most\s+recent\s+call\s+last\)
    | Tool\s+(?:execution\s+)?(?:error|failed|failure|call\s+failed)\b
    | tool[ ]execution[ ](?:error|panic):[ ]                                    # tRPC-Agent-Go
    | (?:Tool|Function)\s+(?:with\s+name\s+)?\S+\s+(?:failed|raised|errored|does\s+not\s+exist|not\s+found)
    | The[ ]function[ ]`\S+`[ ]failed[ ]and[ ]returned[ ]no[ ]result\b               # Pipecat
    | Tool\s+not\s+found\b
    | The[ ]tool[ ]has[ ]failed;[ ]the[ ]error[ ]log\b                           # BeeAI
    | The[ ]tool[ ]call\s+(?:with\s+name\s+\S+\s+is\s+not\s+part|arguments\s+are\s+malformed)\b
    | There[ ]are[ ]`\d+`[ ]tool[ ]call[ ]arguments[ ]required[ ]and[ ]only\b       # Semantic Kernel
    | (?:Tool|Function)\s+\S+\s+is\s+not\s+(?:a\s+valid|available)
    | Failed\s+to\s+(?:execute|call|run|invoke)\b
    | Unknown\s+(?:tool|function)\b
    | Missing\s+required\s+(?:argument|parameter)(?:s|\(s\))?(?:\s+for\s+'[^'\n]{1,200}')?\s*:   # …, Upsonic
    | \[?(?:ERROR|FAILED|FAILURE)\]?\s*[:\-]
    | \[tool_error\]\s                                                           # Dynamiq
    | \{:error,[ ]                                                              # Elixir
    )""",
    re.X,
)
# How frameworks end a message that sends a model's call back to it (pydantic-ai's RetryPromptPart).
_ENDS = late(r"Fix the errors and try again\.\s*$")
SIGNS = [
    *("Error", "Exception", "Failure", "Timeout", "error", "exception", "Traceback", "Tool", "Function"),
    *("Failed", "Unknown", "Missing", "ERROR", "FAILED", "FAILURE", "The tool call", "The tool has failed"),
    "tool call arguments required",
    "returned no result",
    "tool execution panic: ",
]
"""Every text that is a soft error holds one of these: fast to look for in every result."""

# Results by which a framework says that it did not run the tool at all.
_REFUSED = late(
    r"\s*(?:I tried reusing the same input, I must stop using this action input"
    r"|Tool cancelled by hook$"  # Strands for JavaScript
    r"|The tool call was denied"
    r"|(?:Error: )?(?:Tool|Function) (?:call|execution) (?:invocation )?(?:was )?"  # …, Microsoft.Extensions.AI
    r"(?:denied|rejected|cancelled|declined|not approved)"
    r"|Tool execution for '[^'\n]{1,200}' was rejected by the user\b"  # Haystack
    r"|Tool '[^'\n]{1,200}' (?:execution denied by confirmation policy"  # ADK for Rust
    r"|is temporarily disabled after \d{1,9} consecutive failures)$"
    r"|Claude requested permissions to use .{1,200}, but you haven't granted it yet|PreToolUse:\S{1,200} hook error: "
    r"|Tool call limit (?:exceeded\. Do not (?:call|make)\b|reached\. Tool call \S+ not executed\b)"
    r"|(?:Output )?Tool not (?:executed|used) - "
    r"|(?:AI_InvalidToolInputError: )?Invalid input for tool \S{1,200}: (?:AI_\w+: )?"  # the AI SDK
    r"(?:Type validation|JSON parsing) failed"
    r"|Input validation failed for tool \S{1,200}: Validation failed"  # TanStack AI
    r"|The arguments for tool `[^`\n]{1,200}` are not a JSON object: "  # Rig
    r"|Tool not executed because another tool call in the same assistant turn was invalid\.$"
    r"|User (?:rejected|declined|denied) (?:the )?tool"
    # goose
    r"|The user has declined to run this tool\b|This tool call was denied before execution\b"
    r"|Approval was denied or cancelled by the session controller, so this tool was not run\b"
    r"|Let the user know the tool call was skipped in \S+ chat mode\b"
    r"|Tool approval expired because its extension lease\b"
    r"|Error: The requested tool does not exist or is not available\."  # Agno
    r"|(?:goai: |Error: )?(?:Tool not found|Unknown tool)$"  # CrewAI, ellmer, GoAI, tRPC-Agent-Go
    r"|\[Operation Cancelled\] Reason: User did not allow tool call\b"  # Gemini CLI, Qwen Code
    r"|The user rejected (?:permission to use )?this (?:specific )?tool call\b"  # opencode
    r"|The user has specified a rule which prevents you from using this specific tool call\b"
    r"|user denied permission\.?$"  # Crush
    # Semantic Kernel for .NET
    r"|Error: Function call (?:request for a function that wasn't defined|processing failed)\."
    r"|Error: Requested function could not be found\."
    r"|There were one or more errors in your attempt to use the\s+TOOL or function_call named '"  # Langroid
    r"|Tool '[^'\n]{1,200}' has reached its (?:maximum )?usage limit\b"  # CrewAI
    r"|[\w ]{1,40} requires permission to use .{1,100}, but that permission was (?:declined|denied))",
    re.I,
)

NOT_RUN = late(
    r"(?:^|[.:\\])(?:unknown_?tool|no_?such_?tool|tool_?(?:not_?found"
    r"|(?:(?:call|use|execution)_?)?(?:(?:approval|permission)_?)?(?:denied|rejected|declined)))"
    r"(?:_?(?:error|exception))?$",
    re.I,
)
"""Types of the error of a tool that nobody has, or that was given no leave (Sentinel AI, loops of one's own)."""


def refused(value: Any) -> bool:
    """Does this result say that the call was not executed?"""
    if isinstance(value, dict) and value.keys() == {"error"}:
        value = value["error"]
    if isinstance(value, dict) and value.get("error") is True and isinstance(value.get("type"), str):
        return NOT_RUN.search(value["type"]) is not None  # llm.rb
    if isinstance(value, dict) and {"status", "tool"} <= value.keys() <= _PERMISSION:
        return value["status"] in _NO_PERMISSION  # tRPC-Agent-Go
    if isinstance(value, dict):  # the AI SDK's words, by themselves and in the conventions' messages
        return value.get("type") == "execution-denied" or (value.get("denied") is True and value.keys() <= _DENIAL)
    return isinstance(value, str) and _REFUSED.match(value) is not None


_DENIAL = {"denied", "reason"}
_PERMISSION = {"status", "tool", "reason"}
_NO_PERMISSION = ("denied", "approval_required", "approval_denied")


_OF_CALLS = r"(?:tool|function|call|action|request|execution|operation)"
_WRONG = r"(?:unknown|no such|invalid|unsupported|malformed|missing|bad|unexpected|unrecogni[sz]ed|could not parse)"
_GIVEN = r"(?:json|(?:tool|function|argument|arg|parameter|param|input|action|call)s?)"
_NOT_SO = r"(?:denied|rejected|declined|refused|blocked|cancell?ed|skipped|aborted|forbidden|disallowed|vetoed)"
_ASKED = r"(?:user|human|operator|person|admin(?:istrator)?|reviewer|approver|guard(?:rail)?|policy)"
_LEAVE = r"(?:permission|access|approval|authori[sz]ation|consent)"
_MAY_NOT_HAVE_RUN = late(
    rf"\s*(?:{_WRONG} (?:the )?{_GIVEN}\b"
    rf"|(?:the |this |your )?(?:tool )?{_OF_CALLS}\b[^.\n]{{0,60}}?\b(?:{_NOT_SO}|unknown|disabled"
    r"|not (?:found|available|allowed|permitted|approved|executed|run|supported|registered|defined|known|valid)"
    r"|(?:does not|doesn't) exist)\b"
    rf"|(?:the |an? )?{_ASKED}\b[^.\n]{{0,40}}?\b(?:{_NOT_SO}|(?:did|does|has|do)(?: not|n't) "
    r"(?:approved?|allow(?:ed)?|permit(?:ted)?|confirm(?:ed)?|grant(?:ed)?|want|agreed?))\b"
    rf"|{_LEAVE}\b[^.\n]{{0,30}}?\b(?:{_NOT_SO}|not (?:granted|given))\b"
    rf"|(?:{_NOT_SO}|not (?:allowed|permitted|approved|authori[sz]ed|executed))\b)",
    re.I,
)


def may_not_have_run(value: Any) -> bool:
    """May a loop say by this that nobody has the tool, could read what it was given, or let it run? Tools have such
    words of their own, too."""
    value = _alone(value)
    return isinstance(value, str) and _MAY_NOT_HAVE_RUN.match(value) is not None


def not_taken(value: Any) -> bool:
    """Does LangGraph say that a tool could not take what it was given?"""
    return isinstance(value, str) and value.startswith("Error invoking tool '")


def nobodys(value: Any, name: str | None) -> bool:
    """Does a framework say in place of a result that there is no tool of this name, or in an error's place for the
    provider (Pydantic AI)?"""
    value = _in_place(value)
    if not isinstance(value, str) or not name or name not in value[: _NOBODYS + len(name)]:
        return False
    value = value.strip()
    return _NONE_LIKE_IT.match(value) is not None and re.match(_NONE_SUCH.format(re.escape(name)), value) is not None


def which_nobody_has(text: str) -> str | None:
    """The tool of which a framework says in place of a result that there is none."""
    value = _in_place(text)
    hit = _NONE_OF_A_NAME.match(value.strip()) if isinstance(value, str) else None
    return next(filter(None, hit.groups()), None) if hit is not None else None


_ERROR = {"error", "available_tools"}


def _in_place(value: Any) -> Any:
    """What a framework puts in the place of a result: a text, or an object that holds it as an error (PraisonAI's tells
    the tools that there are, too)."""
    value = _alone(value)
    return value["error"] if isinstance(value, dict) and {"error"} <= value.keys() <= _ERROR else value


_NONE_SUCH = (
    r"(?:\[tool_error\] )?Unknown tool(?: name)?: '?{0}(?![\w-])"  # Pydantic AI, Strands, FastMCP, Dynamiq
    r"|(?:Error:\s*)?Unknown tool {0}, should be one of: "  # smolagents
    r"|Error: tool '{0}' not found in any workbench$"  # AutoGen
    r"|(?:Error: )?{0} is not a valid tool, try (?:one of \[|another one$)"  # LangGraph, LangChainGo
    r"|(?:AI_NoSuchToolError: )?Model tried to call unavailable tool ['`]{0}['`]"  # the AI SDK, RubyLLM
    r"|unsupported (?:custom tool )?call: {0}(?![\w-])"  # Codex
    # Loops written by hand, tRPC-Agent-Go, and Ax
    r"|(?:tool execution error: )?(?:executeToolCall: )?(?:\w*Error: )?"
    r"(?:[Tt]ool|[Ff]unction) not found: ['\"`]?{0}(?![\w-])"
    r"|(?i:(?:error: ?)?(?:there is )?no (?:tool|function) (?:named|called)) ['\"`]?{0}(?![\w-])"
    # LlamaIndex, BeeAI, llm, CAMEL, Qwen-Agent
    r"|(?:(?:Error|Tool execution failed): )?[Tt]ool (?:with name )?['\"]?{0}['\"]? (?:not found|does not exists?)\b"
    # Loops written by hand
    r"|(?i:(?:error: ?)?(?:unknown|no such|unrecogni[sz]ed|undefined|unregistered) (?:tool|function)(?: name| call)?)"
    r":? ['\"`]?{0}(?![\w-])"
    r"|(?i:(?:error: ?)?(?:tool|function) (?:named |called )?)['\"`]?{0}['\"`]? (?i:(?:is |was )?(?:unknown|unavailable"
    r"|not (?:found|known|available|registered|defined|supported|implemented|recogni[sz]ed))"
    r"|(?:does not|doesn't) exist)\b"
    r"|I encountered an error: Action '{0}' don't exist\b"  # CrewAI
    r"|(?:<tool_use_error>)?Error: No such tool available: {0}(?![\w-])"  # Claude Code
    r"|ag2\.exceptions\.ToolNotFoundError: Tool `{0}` not found\b"
    r"|`{0}` was not advertised to the model on this turn$"  # Rig
    r"|The tool call with name `{0}` is not part of the provided tools\b"  # Semantic Kernel
    r"|Error: Requested function \"{0}\" not found\."  # Microsoft's Agent Framework
    r"|Invoking `{0}\(\)` failed as no tool with that name is available\b"  # Google's ADK
    r"|The function `{0}` is not currently available\b"  # Pipecat
    r"|Invalid tool_call: \"{0}\"\. Available options are: "  # OpenAI's client, which runs functions
)
_NONE_OF_A_NAME = late(_NONE_SUCH.format(r"([\w.-]{1,64})"))
_NONE_LIKE_IT = late(_NONE_SUCH.format(r"(?s:.*?)"))  # a pattern for each tool's name costs 10 ms to compile
_NOBODYS = 80  # letters before the name, at the most


def awaits_leave(value: Any) -> bool:
    """Is this no result, but what OpenAI's kit or Google's puts in its place while a tool waits for leave, or gets
    none?"""
    if isinstance(value, dict):
        item = value.get("run_item")
        asks = isinstance(item, dict) and item.get("type") == "tool_approval_item"
        return asks or (value.keys() == {"error"} and value["error"] in _CONFIRMING)
    return isinstance(value, str) and value.startswith("FunctionToolResult(tool=") and "ToolApprovalItem(" in value


_CONFIRMING = (
    "This tool call requires confirmation, please approve or reject.",
    "This tool call is rejected.",
)
"""Words of Google's ADK."""


_KEYS = ("error", "errors", "error_message", "errorMessage", "exception")
_BESIDE = {
    "status",
    "code",
    "message",
    "type",
    "detail",
    "details",
    "success",
    "ok",
    "error_type",
    "statusCode",
    "status_code",
    "traceback",
    "stack",
    "response",
    "result",
    "data",
}


@lru_cache(maxsize=16)
def _extra(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{p})" for p in patterns)) if patterns else None


_PLAIN = late(
    r"\s*(?:Error|ERROR|FAILED|FAILURE|Failure|Exception|Timeout)\s*[:\-](?!\s*[\w.]*(?:Error|Exception)\b)"
    r"(?!.*(?:fix your mistakes|execut|while running))"
    r"(?!\s*(?:the\s+)?(?:requested\s+)?(?:tool|function)\s+\S+\s+(?:was\s+)?not\s+found\b)",
    re.S,
)


def plain(value: Any) -> bool:
    """An error told in a tool's own words, with no trace of an exception or a framework in it."""
    value = _alone(value)
    return isinstance(value, str) and _PLAIN.match(value) is not None


def soft_error(value: Any, flagged: bool | None, patterns: tuple[str, ...] = ()) -> bool:
    """Does this result say that the tool failed?"""
    if flagged is not None:
        return flagged
    value = _alone(value)
    if isinstance(value, dict):
        return _object(value)
    if not isinstance(value, str):
        return False
    extra = _extra(patterns)
    if value.endswith("again.") and _ENDS.search(value):
        return True
    return _BEGINS.match(value) is not None or (extra is not None and extra.search(value) is not None)


def _alone(value: Any) -> Any:
    """What is all that an object holds: Gemini's protocol wants an object, so its clients make one of a text, and of
    what a function returns. The text may be JSON, by itself, too: in the parts that MCP has results told in."""
    text = value.get("result", value.get("output")) if isinstance(value, dict) and len(value) == 1 else value
    if isinstance(text, dict):
        return text
    if not isinstance(text, str):
        return value
    inner = parse_json(text) if text.startswith("{") else None
    inner = mapping(text) or flat_hash(text) if inner is None and "rror" in text else inner
    return inner if isinstance(inner, dict) else text


def _object(value: dict[str, Any]) -> bool:
    for key in _KEYS:
        told = value.get(key)
        if (
            told
            and told is not True
            and set(value) - {key} <= _BESIDE
            and not any(value.get(k) for k in ("result", "data", "response"))
        ):
            return True
        if told is True and key == "error":
            return True
    if value.get("response_type") == "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN":
        return True  # what a plugin of Google's ADK gives its model in its place
    if value.get("code") == "TOOL_EXECUTION_FAILED" and value.get("message"):
        return True  # what Mastra gives its model for what a tool threw
    if set(value) == {"type", "message", "traceback"} and str(value["traceback"]).startswith("Traceback (most recent"):
        return True  # what Timbal gives its model for what a tool threw, as Python prints it
    return value.get("status") in ("error", "failed", "failure") and bool(
        value.get("message") or value.get("error") or len(value) == 1
    )
