"""An answer asks for several tools, and one of them fails and takes the agent with it: what was asked for before that
one ran before it, or beside it, and so did the rest where tools run at once; nothing tells of it but its span, which
may be lost. So may that of the one that failed.
"""

from __future__ import annotations

from collections.abc import Collection

from otelcov.dialects.base import AGENT, LLM
from otelcov.runs.rules.boundaries import limits
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.trace.tree import failure


def may_have_run(tools: list[ToolCall], outcomes: list[Outcome], offered: Collection[str] | None) -> list[Outcome]:
    """Of those of which no more is told than that they were asked for, of tools that there are."""
    asked = [
        (place, tool, found)
        for place, (tool, found) in enumerate(zip(tools, outcomes, strict=True))
        if found.status == "requested" and not tool.nodes and tool.answer is None and tool.turn is not None
    ]
    asked = [x for x in asked if offered is None or x[1].name in offered]
    if not asked:
        return []
    fatal = {
        tool.turn: (place, tool)
        for place, (tool, found) in enumerate(zip(tools, outcomes, strict=True))
        if found.status == "error" and tool.turn is not None and _took_its_agent_along(tool)
    }
    ran = {tool.turn: place for place, tool in enumerate(tools) if tool.nodes}
    return [
        found
        for place, tool, found in asked
        if (place < ran.get(tool.turn, -1) and _in_what_failed(tool))
        or (tool.turn in fatal and (place < fatal[tool.turn][0] or _ran_beside_others(fatal[tool.turn][1])))
        or (offered is not None and _broke_unseen(tool))
    ]


def _in_what_failed(tool: ToolCall) -> bool:
    """Did something fail that the model was asked in? Then what ran of an answer, asked for later, waited for no one's
    leave."""
    return tool.asked_by is not None and any(failure(n) is not None for n in tool.asked_by.node.ancestors())


def _took_its_agent_along(tool: ToolCall) -> bool:
    if tool.answer is not None or not tool.nodes:
        return False
    step = tool.nodes[0]
    agent = next((n for n in step.ancestors() if n.kind == AGENT), step.parent)
    return agent is not None and failure(agent) is not None and all(n.start < tool.end for n in agent.children)


def _ran_beside_others(tool: ToolCall) -> bool:
    """Did another tool of the same answer begin before this one was done?"""
    asker, step = tool.asked_by, tool.nodes[0]
    beside = step.parent.children if step.parent is not None and asker is not None else []
    return any(
        n.kind == step.kind and n is not step and asker is not None and asker.end <= n.start < step.end < n.end
        for n in beside
    )


def _broke_unseen(tool: ToolCall) -> bool:
    """Did what the model was asked in fail since, by no limit, and nothing within it that says the same?"""
    asker = tool.asked_by
    frame = asker.node.parent if asker is not None else None
    why = failure(frame) if frame is not None else None
    if asker is None or frame is None or why is None or limits(f"{why[0]}: {why[1]}") or not why[1]:
        return False
    since = [n for n in frame.below() if n.start >= asker.end]
    if any(n.kind == LLM and n.parent is frame for n in since):
        return False
    return not any(_alike(failure(n), why) for n in since)


def _alike(told: tuple[str, str] | None, why: tuple[str, str]) -> bool:
    return told is not None and (not told[1] or told[1] in why[1] or why[1] in told[1])
