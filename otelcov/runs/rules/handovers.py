"""What the name of a tool says of an agent: that it hands over to one, or asks one."""

from __future__ import annotations

import re
from functools import lru_cache

from otelcov.ground.patterns import late

_AGENT = r"(?P<to>\w[\w .:/'-]*)$"
_TO = late(
    r"^(?:transfer|handoff|hand[_ -]off|hand[_ -]over|delegate|switch|route|escalate|forward|pass|send|assign)"
    rf"(?:[_ -][\w -]+?)??[_ -](?P<back>back[_ -])?to[_ -]{_AGENT}",
    re.I,
)
_ASK = late(
    rf"^(?:ask|call|consult|invoke|run|query|use|talk[_-]to|contact|dispatch|task|agent_|agent(?=-))[_-]{_AGENT}",
    re.I,
)


@lru_cache(maxsize=4096)
def transfers(tool: str | None) -> re.Match[str] | None:
    return _TO.match(tool or "")


@lru_cache(maxsize=4096)
def asks(tool: str | None) -> re.Match[str] | None:
    return _ASK.match(tool or "")


def sets_a_task(tool: str | None) -> bool:
    """Does a tool give work to an agent, who hands what came of it back, and no conversation?"""
    return transfers(tool) is None or (tool or "").lower().startswith(("delegate", "assign"))
