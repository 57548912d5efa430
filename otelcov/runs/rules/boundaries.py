"""The edges of what an agent can run into, recognised from spans: a rule table, then structure.

Frameworks tell the same condition in different words; the table reads error types, messages and exceptions alike.
Structure catches what no span reports: tools still asked for and no answer after them is a step limit.
"""

from __future__ import annotations

import re
from functools import lru_cache

from otelcov.ground.patterns import late


def _any(*patterns: str) -> re.Pattern[str]:
    return late("|".join(f"(?:{p})" for p in patterns), re.I | re.S)


MAX_STEPS = _any(
    r"max(?:imum)?[ _-]?(?:number of )?(?:turns|steps|iterations|iters?|rounds|loops)\b",
    r"(?:max(?:imum)?|exceed(?:s|ed|ing)?|reached)[ _-](?:the )?(?:max(?:imum)? )?(?:number of )?"
    r"(?:tool[ _-]?calls?|llm[ _-]?calls?|agent|model)[ _-]?(?:turns|steps|iterations?|rounds|limit)\b",
    r"MaxTurns|MaxSteps|MaxIterations|LlmCallsLimitExceeded|(?:Model|Tool)CallLimitExceeded",
    r"(?:model|tool) call limits? (?:reached|exceeded)",
    r"GraphRecursionError|recursion limit",
    r"(?:iteration|step|turn|recursion)s?[ _]limit|tool_calls_limit|request_limit|would exceed the request",
    r"UsageLimitExceeded.*next request",
    r"\btoo many (?:turns|steps|iterations|rounds)\b",
    r"\b(?:unable|not able) to .{1,60}\b(?:in|within) \d+ (?:turns|steps|iterations|rounds)\b",
)
COST = _any(
    r"(?:cost|budget|spend)[ _-]?(?:limit|exceeded)|max[ _]budget",
    r"(?:total|input|output|request|response|prompt|completion)_tokens_limit",
    r"token (?:limit|budget) exceeded",
    r"UsageLimitExceeded(?!.*request_limit)",
    r"insufficient_quota",
)
_EITHER = "UsageLimitExceeded"  # pydantic-ai's, where content is off
_WORD = late(r"[\w.]*\w[\w.]*")
UNSAID = (
    r"(?i)^\W*(?:(?:ai sdk )?operation failed|model call failed|modelcallerror|failed|failure|_other"
    r"|error (?:getting|streaming) response|(?:an? )?(?:unknown )?error(?: occurred)?|exception|redacted)?\W*$"
)
"""What is said of a failure where its reason is left out (the AI SDK 7 without content, Copilot, OpenAI's agents)."""
_LIMIT_SIGNS = (
    "max",
    "exceed",
    "reached",
    "limit",
    "recursion",
    "cost",
    "budget",
    "spend",
    "quota",
    "able to ",
    "too many ",
)
"""Literal signs of MAX_STEPS and COST, in small letters."""
TIMEOUT = _any(r"time[sd]?[ _-]?out", r"deadline.?exceeded")
RATE = _any(r"rate.?limit", r"\b429\b", r"too many requests", r"throttl")
LENGTH = _any(r"reason=.max_output_tokens\b", r"(?:^|: )max_output_tokens$", r"MaxTokens(?:Reached|Error)")
FILTER = _any(r"content.?filter", r"content_policy", r"safety", r"blocked by", r"ResponsibleAI")

# Phrases that a framework itself writes when it stops a loop: in the last prompt, or as the answer.
FORCED = _any(
    r"must give your absolute best final answer",
    r"stop using any tools, and just return your absolute BEST Final answer",
    r"tried to use too many tools",
    r"You have reached the maximum number of (?:steps|iterations)",
    r"maximum iterations reached",
    r"^Based on the above, please provide an answer to the following user (?:task|request)",  # smolagents
)
FORCED_SIGNS = [
    "absolute best",
    "absolute BEST",
    "stop using any tools",
    "too many tools",
    "reached the maximum",
    "aximum iterations",
    "provide an answer to the following user",
]
"""Literal signs of FORCED, fast to look for in every prompt."""
GAVE_UP = _any(
    r"^Sorry, need more steps to process this request",
    r"^Agent stopped due to (?:iteration|max)",
    r"^Reached max steps",
    r"^Max iterations reached",
    r"^Stopping agent prematurely due to triggering stop condition",
    r"^Function invocation limit reached before a final answer",
    r"^The maximum reasoning-acting iterations are exceeded\.",  # AgentScope
    r"^(?:Model|(?:'[^']*' )?Tool) call limits? (?:exceeded|reached)\b.*(?:run|thread)",
)

_FINISH = {
    "length": "length",
    "maxtokens": "length",
    "maxoutputtokens": "length",
    "incomplete": "length",
    "modelcontextwindowexceeded": "length",
    "contentfilter": "content_filter",
    "contentfiltered": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
    "blocked": "content_filter",  # Genkit's
    "blocklist": "content_filter",
    "prohibitedcontent": "content_filter",
    "guardrailintervened": "content_filter",
}

_STOPPED = {"limitturns": "max_steps", "limittotaltokens": "cost_limit", "limitoutputtokens": "cost_limit"} | (
    dict.fromkeys(("maxsteps", "maxturns", "maxiterations", "maxiters"), "max_steps")
)


@lru_cache(maxsize=1024)
def letters(reason: str | None) -> str:
    """A finish reason however a provider or a language writes it: `FinishReason.MAX_TOKENS`, `MaxTokens`."""
    return re.sub(r"[^a-z]", "", (reason or "").lower().rsplit(".", 1)[-1])


@lru_cache(maxsize=1024)
def finish(reason: str | None) -> str | None:
    """The boundary that a finish reason is, whatever provider says it."""
    return _FINISH.get(letters(reason))


@lru_cache(maxsize=1024)
def stopped(reason: str | None) -> str | None:
    """The limit that ended a loop, if that is why an agent says it finished (Strands, smolagents)."""
    return _STOPPED.get(letters(reason))


@lru_cache(maxsize=1024)
def asks(reason: str | None) -> bool:
    """Does this finish reason say that tools were asked for?"""
    return letters(reason) in ("toolcall", "toolcalls", "tooluse", "functioncall", "functioncalls", "toolexecution")


_FINAL = ("stop", "endturn", "stopsequence", "final")  # OpenAI's Responses are `completed` whatever they asked for


def final(reason: str | None) -> bool:
    """Does this finish reason say that no tool was asked for?"""
    return letters(reason) in _FINAL or finish(reason) is not None


@lru_cache(maxsize=1024)
def broke(reason: str | None) -> bool:
    """Does this finish reason say that the call failed? Some tell it by nothing else."""
    return letters(reason) == "error"


@lru_cache(maxsize=1024)
def called_off(reason: str | None) -> bool:
    """Does this finish reason say that the call was broken off?"""
    return letters(reason) in ("canceled", "cancelled")


@lru_cache(maxsize=512)
def of_error(text: str) -> frozenset[str]:
    """What the error of a model call tells of its reason."""
    signs = (("timeout", TIMEOUT), ("rate_limit", RATE), ("content_filter", FILTER), ("length", LENGTH))
    return frozenset(name for name, pattern in signs if pattern.search(text))


@lru_cache(maxsize=512)  # what fails is told by every span around it, and by the next run
def limits(text: str) -> frozenset[str]:
    """`max_steps` or `cost_limit`, if that is what stopped the run; both, where no more is told than that it was one of
    them."""
    if _EITHER in text and {word.strip(".").rpartition(".")[2] for word in _WORD.findall(text)} == {_EITHER}:
        return frozenset({"max_steps", "cost_limit"})
    told = text.lower()
    if not any(sign in told for sign in _LIMIT_SIGNS):
        return frozenset()
    if len(text) > 2 * _READ:
        text = text[:_READ] + "\n" + text[-_READ:]
    if MAX_STEPS.search(text):
        return frozenset({"max_steps"})
    return frozenset({"cost_limit"}) if COST.search(text) else frozenset()


def limits_requests(text: str) -> bool:
    """Is this a limit that a loop meets as it is to ask a model again: of its turns, or of what it asks models? What
    the answer before asked for has run then."""
    return _OF_REQUESTS.search(text[:_READ]) is not None


_OF_REQUESTS = _any(
    r"max(?:imum)?[ _-]?(?:number of )?turns\b",
    r"MaxTurns",
    r"request_limit|would exceed the request",
    r"LlmCallsLimitExceeded|number of llm calls limit",
)

_READ = 8192  # characters of either end of what an error says


def unsaid(error: tuple[str, str]) -> bool:
    """Is no more told of a failure than that it was one, in the status and in what was thrown alike?"""
    return all(wordless(word) for told in error for line in told.split("\n") for word in line.split(": "))


def incomplete(error: tuple[str, str]) -> bool:
    """Does an error say no more of an answer than that it is not all of one (OpenAI's agents for JavaScript)?"""
    return 'terminal state "response.incomplete"' in error[1]


def wordless(text: str) -> bool:
    """Does this say no more than that something failed?"""
    said = text.strip()
    return len(said) <= _SHORT and re.match(UNSAID, said) is not None


_SHORT = 64  # the longest of UNSAID have 23 letters


def reason(error: tuple[str, str]) -> str:
    """The type of a failure and what was said of it, without the places in a program that it came through, and what
    is written there: JavaScript's timers call what they run from `Timeout._onTimeout`, Python's clients `f(timeout)`.
    """
    text = f"{error[0]}: {error[1]}"
    if _BY_A_NAME.search(text[:_SHORT]):
        text = _NAMES.sub("", text)
    return _PLACES.sub("", text) if "\n" in text else text


# What a program gets wrong about a name, be it that of a limit.
_BY_A_NAME = late(r"\b(?:Attribute|Type|Name|UnboundLocal|Key|Import|ModuleNotFound|Reference)Error\b")
_NAMES = late(r"(['\"`])[\w.]+\1")
_PLACES = late(r"^[ \t|]+(?:at .*|File \".*(?:\n[ \t|]*(?: {4}.*)?$)*)$", re.M)
