"""An answer asks for several tools, and one of them fails and takes the agent with it: what was asked for before that
one ran before it, or beside it, and nothing tells of it but its span, which may be lost."""

from __future__ import annotations

from collections.abc import Collection

from otelcov.dialects.base import AGENT
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.trace.tree import failure


def may_have_run(tools: list[ToolCall], outcomes: list[Outcome], offered: Collection[str] | None) -> list[Outcome]:
    """Of those of which no more is told than that they were asked for, of tools that there are."""
    fatal = {
        tool.turn: place
        for place, (tool, found) in enumerate(zip(tools, outcomes, strict=True))
        if found.status == "error" and tool.turn is not None and _took_its_agent_along(tool)
    }
    if not fatal:
        return []
    return [
        found
        for place, (tool, found) in enumerate(zip(tools, outcomes, strict=True))
        if found.status == "requested"
        and tool.turn in fatal
        and place < fatal[tool.turn]
        and not tool.nodes
        and tool.answer is None
        and (offered is None or tool.name in offered)
    ]


def _took_its_agent_along(tool: ToolCall) -> bool:
    if tool.answer is not None or not tool.nodes:
        return False
    agent = next((n for n in tool.nodes[0].ancestors() if n.kind == AGENT), None)
    return agent is not None and failure(agent) is not None and all(n.start < tool.end for n in agent.children)
