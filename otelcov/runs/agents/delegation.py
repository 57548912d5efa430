"""A delegation, and what the name and the arguments of a tool tell of one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from otelcov.dialects.base import AGENT, CHAIN, TOOL
from otelcov.runs.agents.charge import put_out_an_error
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.rules.handovers import asks, transfers
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.tree import Node, failure, placeholder, spelling

TO_ALL = "delegatetasktomembers"
COWORKER = (
    "delegateworktocoworker",
    "askquestiontocoworker",
    "delegatetasktomember",
    TO_ALL,
    "transfertasktomember",
    "runsubtask",
    "runsubtasks",
)
"""CrewAI's, Agno's and AG2's own tools of an agent that may delegate: ways to an agent, and no tools that a run could
call."""
HANDS_OVER = ("transfertoagent", "handofftoagent")
"""Those by which an agent of Google's ADK or of a swarm of Strands hands over."""
BY_ARGUMENT = frozenset(
    {
        *HANDS_OVER,
        *COWORKER,
        "delegatetoagent",
        "delegate",
        "handoff",
        "handover",
        "transferagent",
        "delegatetask",
        "executetask",  # of Agno's teams that share out tasks
        "sendmessagetoagent",
        "sendtask",
        "callagent",
        "invokeagent",
        "runagent",
        "spawnagent",
        *("callsubagent", "invokesubagent", "runsubagent", "spawnsubagent"),
        "askagent",
        "consultagent",
        "agentcommunicationsendmessage",  # of Bedrock's agents
        "strandsstructuredoutput",  # by which an agent of a swarm says whose turn it is, else its answer
    }
)
ANY_AGENT = frozenset({"agent", "agents", "subagent", "subagents"})
"""Words for agents, and no agent's name."""
SUBAGENT = ("subagent_type", "recipient_agent")
"""The arguments by which Claude's Task and Agency Swarm's tools name an agent, whatever the tool is called."""
NAMES_SUBAGENT = "|".join(SUBAGENT)  # a pattern of literals: sought with wide instructions
_TARGETS = (
    *SUBAGENT,
    "to_agent",
    "toAgent",
    "agent_name",
    "coworker",
    "agent",
    "target_agent",
    "targetAgents",
    "recipient",
    "target",
    "name",
    "agentName",
    "agentId",
    "member_id",
    "agent_id",
)
_AGENTS = (
    *("agent", "agent_name", "agentName", "agent_id", "agentId", "to_agent", "toAgent", "target_agent", "targetAgent"),
    *("next_agent", "nextAgent", "subagent", "subagent_name", "sub_agent", "assistant", "coworker"),
)
"""Names of arguments that are an agent's, whatever the tool is called."""


@dataclass(slots=True)
class Delegation:
    source: str | None
    target: str | None
    form: str
    tool: str | None
    status: str
    start: int
    call: ToolCall | None = None
    node: Node | None = None


def agent_failed(called: Node | None) -> bool:
    """Does the span of an agent that was called say that it failed, or put out an error in place of an answer?"""
    failed = called is not None and called.kind in (AGENT, CHAIN) and failure(called) is not None
    return failed or (called is not None and put_out_an_error(called))


@lru_cache(maxsize=4096)
def bare(name: str) -> str:
    found = spelling(name)
    return found.removesuffix("agent") or found


def delegates(tool: str) -> bool:
    """Does a tool's very name say that it may be a delegation, whoever is called?"""
    return transfers(tool) is not None or by_argument(tool)


def by_argument(tool: str) -> bool:
    """Is the agent that a tool calls one of its arguments, by its very name?"""
    return spelling(tool) in BY_ARGUMENT


def ways(tools: Collection[str], agents: Collection[str]) -> set[str]:
    """Those of the tools that bear the name of a transfer to one of these agents, or to one by its place."""
    found = {tool: match.group("to") for tool in tools if (match := transfers(tool)) is not None}
    names = {bare(a) for a in agents} if found else set()
    return {tool for tool, to in found.items() if bare(to) in names or to.isdecimal()}


def bears_name_of(tool: str | None, agent: str | None) -> bool:
    """Does a tool bear an agent's name, alone or after `ask_`?"""
    asked = asks(tool)
    names = {bare(tool or ""), bare(asked.group("to")) if asked is not None else ""} - {""}
    return agent is not None and bare(agent) in names


def subagent(raw: object) -> bool:
    arguments, _ = arguments_of(raw)
    return arguments is not None and any(isinstance(arguments.get(key), str) for key in SUBAGENT)


def names_agent(raw: object) -> bool:
    """Does an argument say by its name that it is an agent's?"""
    arguments, _ = arguments_of(raw)
    return arguments is not None and any(isinstance(arguments.get(key), str) for key in ("to_agent", "toAgent"))


def agent_argument(raw: object) -> str | None:
    """What stands in an argument that by its name is an agent's."""
    arguments, _ = arguments_of(raw)
    if not arguments or arguments.keys().isdisjoint(_AGENTS):
        return None
    told = (arguments.get(key) for key in _AGENTS)
    return next((name for name in told if isinstance(name, str) and name.strip()), None)


def argument_target(raw: object) -> str | None:
    arguments, _ = arguments_of(raw)
    if arguments is None:
        return None
    for key in _TARGETS:
        found = arguments.get(key)
        found = found[0] if isinstance(found, list) and len(found) == 1 else found
        if isinstance(found, str) and found.strip():
            return found.strip()
    kwargs = arguments.get("kwargs") or arguments.get("input")
    return argument_target(kwargs) if isinstance(kwargs, (dict, str)) else None


def target_like(raw: object, other: object, target: str | None) -> str | None:
    """Whom arguments name by the key by which these others name the target, if one does."""
    arguments, before = arguments_of(raw)[0] or {}, arguments_of(other)[0] or {}
    for key, value in before.items():
        named = arguments.get(key)
        if target and isinstance(value, str) and isinstance(named, str) and bare(value) == bare(target):
            return named
    return None


def coworker_agents(nodes: list[Node]) -> None:
    """Some frameworks record no span for the agent a delegation tool calls: what lies below the tool is its work."""
    for node in nodes:
        if node.kind != TOOL or node.span.tool is None:
            continue
        if spelling(node.span.tool) not in BY_ARGUMENT and not subagent(node.span.arguments):
            continue
        target = argument_target(node.span.arguments)
        below = node.below()
        if target is None and spelling(node.span.tool) in COWORKER:
            for n in below:  # whose work it was is cut off, or not told
                n.agent = None if n.agent == node.agent else n.agent
        if target is None or placeholder(target):
            continue
        own = {n.own_agent for n in below if n.own_agent is not None}
        if own == {node.span.tool} and subagent(node.span.arguments):
            _rename(below, node.span.tool, target)  # its span bears the tool's name, the arguments its own
        if own:
            continue
        for n in below:
            if n.agent is None or n.agent == node.agent:
                n.agent = target


def _rename(nodes: list[Node], before: str, after: str) -> None:
    for n in nodes:
        n.own_agent = after if n.own_agent == before else n.own_agent
        n.agent = after if n.agent == before else n.agent
