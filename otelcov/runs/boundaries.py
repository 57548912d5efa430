"""The edges of what an agent can run into, recognised from spans: a rule table, then structure.

Frameworks tell the same condition in different words (DIALECTS trap 12); the table reads error types, messages and
exceptions. Structure catches what no span reports: tools still asked for and no answer after them is a step limit.
"""

from __future__ import annotations

import re

MAX_STEPS = re.compile(
    r"(?:max(?:imum)?|exceed\w*|reached)[ _-](?:the )?(?:max(?:imum)? )?(?:number of )?(?:tool[ _-]?calls?|llm[ _-]?calls?|agent|model)[ _-]?(?:turns|steps|iterations?|rounds|limit)\b|max(?:imum)?[ _-]?(?:number of )?(?:turns|steps|iterations|iters?|rounds|loops)\b|MaxTurns|MaxSteps|MaxIterations|GraphRecursionError|recursion limit|request_limit|(?:iteration|step|turn|recursion)s? limit|tool_calls_limit|UsageLimitExceeded.*(?:next request|request_limit)|would exceed the request|LlmCallsLimitExceeded|StopConditionReached|step_limit",
    re.I | re.S,
)
COST = re.compile(
    r"(?:cost|budget|spend)[ _-]?(?:limit|exceeded)|budgetexceeded|(?:total|input|output|request|response|prompt|completion)_tokens_limit|token (?:limit|budget) exceeded|UsageLimitExceeded(?!.*request_limit)|exceeded? the .*tokens_limit|insufficient_quota",
    re.I | re.S,
)
TIMEOUT = re.compile(r"time[sd]?[ _-]?out|deadline.?exceeded", re.I)
RATE = re.compile(r"rate.?limit|\b429\b|too many requests|throttl", re.I)
FILTER = re.compile(r"content.?filter|content_policy|safety|blocked by|ResponsibleAI", re.I)

# Phrases that a framework itself writes when it stops a loop: in the last prompt, or as the answer.
FORCED_SIGNS = ["absolute best", "absolute BEST", "stop using any tools", "too many tools", "reached the maximum", "aximum iterations"]
"""Literal signs of FORCED, fast to look for in every prompt."""
FORCED = re.compile(
    r"(?i)must give your absolute best final answer|stop using any tools, and just return your absolute BEST Final answer|tried to use too many tools|You have reached the maximum number of (?:steps|iterations)|maximum iterations reached"
)
GAVE_UP = re.compile(r"^(?:Sorry, need more steps to process this request|Agent stopped due to (?:iteration|max)|Reached max steps|Max iterations reached|Stopping agent prematurely due to triggering stop condition)", re.I)

FINISH = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "incomplete": "length",
    "content_filter": "content_filter",
    "content-filter": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
}

NAMES = ("max_steps", "timeout", "cost_limit", "empty_input", "error", "tool_failure", "tool_recovery", "length", "rate_limit", "repeated_call", "content_filter")


def limits(text: str) -> set[str]:
    """`max_steps` or `cost_limit`, if that is what stopped the run."""
    out = set()
    if MAX_STEPS.search(text):
        out.add("max_steps")
    elif COST.search(text):
        out.add("cost_limit")
    return out
