"""What single instrumentations are known to leave out or to tell otherwise, by their scopes."""

from __future__ import annotations

import re

_SAYS_WELL = re.compile(r"^opentelemetry\.instrumentation\.openai_agents$")
_RAISES = re.compile(
    r"openai_agents|^pydantic-ai$|^gcp\.vertex\.agent$|(?:instrumentation|genai)\.langchain$|handler langchain$"
)


def says_well(scope: str) -> bool:
    """Does this say of a run that raised that it went well, where a tool was asked for that nobody has?"""
    return _SAYS_WELL.search(scope) is not None


def raises_at_limits(scope: str) -> bool:
    """Is this of a kit that raises an error at a limit? A clean end is none, then."""
    return _RAISES.search(scope) is not None


def ends_alike(scope: str) -> bool:
    """Does an agent's span of this scope end well, however its run went?"""
    return scope.endswith("handler openai_agents")


def mute(scope: str) -> bool:
    """Does no span of this scope ever say that anything failed?"""
    return scope.startswith("codex")


def asks_once_more(scope: str) -> bool:
    """Is this a kit that at a limit asks the model once more, without tools? That answer looks like any other."""
    return scope in ("agent_framework", "agentscope", "opentelemetry.instrumentation.genai.dspy")


def adds_up(scope: str) -> bool:
    """Does this add up what the beginning of a stream and its end say was used, each of all?"""
    return scope == "opentelemetry.instrumentation.anthropic"


def fails_unsaid(scope: str) -> bool:
    """Does a tool's span of this scope end well whatever the tool raised, of which the model alone is told?"""
    return scope == "openinference.instrumentation.autogen_agentchat"
