"""The words in which a language says that somebody called work off, or nobody waits for it any more: no failure."""

from __future__ import annotations

import re

from otelcov.ground.patterns import late


def says_called_off(text: str) -> bool:
    """Does an error tell no more than that (Go's context, .NET's tasks, Kotlin's jobs, AgentScope for Java, TanStack AI
    under OpenInference)?"""
    said = text.strip()
    return (len(said) <= _SHORT and _WORDS.fullmatch(said) is not None) or said.endswith(_GOS)


def thrown_to_call_off(error_type: str | None, text: str) -> bool:
    """Is this what .NET, Java, Kotlin or VS Code throws into what is called off? What ran out of time says so."""
    return error_type is not None and _TYPES.fullmatch(error_type) is not None and _TIME.search(text) is None


_SHORT = 80  # letters
_WORDS = late(
    r"(?:(?:A|The|This|Parent)\ )?"
    r"(?:(?:context|request|operation|task|job|\w*coroutine)\ (?:was\ |is\ |has\ been\ )?)?"
    r"cancell?ed(?:\ by\ (?:the\ )?(?:user|client|caller))?\.?"
    r"|TanStack\ AI\ run\ aborted",
    re.I | re.X,
)
_GOS = (": context canceled", "= context canceled")
"""How Go ends what it wraps around the reason."""
_TYPES = late(r"(?:[\w.]+\.)?(?:(?:Task|Operation)CanceledException|(?:Job)?CancellationException|CancellationError)")
_TIME = late(r"time(?:d\s?|-?\s?)out|elaps", re.I)
