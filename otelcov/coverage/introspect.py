"""A declaration from running code: agents of a few frameworks, and the tools that an MCP server lists.

Frameworks are recognised by what their objects offer, so that none of them needs to be installed here.
"""

from __future__ import annotations

import importlib
import json
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from otelcov.coverage.declaration import Declaration
from otelcov.ground.errors import UsageError

MCP_PROTOCOL = "2025-06-18"


def from_object(path: str) -> Declaration:
    """The declaration of `package.module:attribute`, looked up from the current folder."""
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise UsageError(f'Couldn\'t use "{path}": name an object like package.module:agent.')
    sys.path.insert(0, str(Path.cwd()))
    try:
        thing: Any = importlib.import_module(module)
        for part in name.split("."):
            thing = getattr(thing, part)
    except ImportError as error:
        raise UsageError(f"Couldn't import {module}: {error}.") from None
    except AttributeError:
        raise UsageError(f"There is no {name} in {module}.") from None
    finally:
        sys.path.pop(0)
    return from_agents(thing if isinstance(thing, (list, tuple)) else [thing])


def from_agents(things: Iterable[Any]) -> Declaration:
    """The declaration of agent objects and of those that they can reach."""
    found = Declaration()
    for thing in things:
        for fits, read in _READERS:
            if not isinstance(thing, type) and fits(thing):
                read(thing, found)
                break
        else:
            kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
            raise UsageError(
                f"Couldn't read a declaration from {kind}: known are agents of the OpenAI Agents SDK and of "
                "pydantic-ai, and graphs of LangGraph."
            )
    reached = {to for agent in found.agents.values() for to in agent.delegates_to}
    for name, agent in found.agents.items():
        agent.entry = name not in reached
    return found


def from_mcp(command: str, timeout: float = 30.0) -> Declaration:
    """The tools that an MCP server on stdio lists (initialize, then every page of tools/list)."""
    try:
        server = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
    except (OSError, ValueError) as error:
        raise UsageError(f'Couldn\'t start the MCP server "{command}": {error}.') from None
    watchdog = threading.Timer(timeout, server.kill)
    watchdog.start()
    try:
        tools = _listed(server)
    except (BrokenPipeError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f'Couldn\'t list the tools of "{command}": {error or "it ended early"}.') from None
    finally:
        watchdog.cancel()
        server.kill()
        server.wait()
        for pipe in (server.stdin, server.stdout):
            if pipe:
                with suppress(BrokenPipeError):  # what a server that ended has not read
                    pipe.close()
    found = Declaration()
    for tool in tools:
        hints = tool.get("annotations") or {}
        read_only = hints.get("readOnlyHint")
        found.tools[str(tool["name"])] = "read" if read_only else "write" if read_only is False else None
    return found


def _listed(server: subprocess.Popen[str]) -> list[dict[str, Any]]:
    number = 0

    def send(method: str, params: dict[str, Any] | None, answered: bool = True) -> Any:
        nonlocal number
        number += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method} | ({"params": params} if params else {})
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps(message | ({"id": number} if answered else {})) + "\n")
        server.stdin.flush()
        while answered:
            line = server.stdout.readline()
            if not line:
                raise ValueError("it closed its output")
            answer = json.loads(line)
            if answer.get("id") == number:  # between them come notifications
                if "error" in answer:
                    raise ValueError(str(answer["error"].get("message")))
                return answer["result"]
        return None

    client = {"name": "otelcov", "version": "1"}
    send("initialize", {"protocolVersion": MCP_PROTOCOL, "capabilities": {}, "clientInfo": client})
    send("notifications/initialized", None, answered=False)
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = send("tools/list", {"cursor": cursor} if cursor else {})
        tools += page["tools"]
        cursor = page.get("nextCursor")
        if not cursor:
            return tools


def _openai(agent: Any, found: Declaration) -> None:
    """OpenAI Agents SDK: `tools` and `handoffs` (agents, or handoffs that name one)."""
    if agent.name in found.agents:
        return
    entry = found.agent(agent.name)
    entry.tools |= {str(tool.name) for tool in agent.tools}
    for handoff in agent.handoffs:
        target = getattr(handoff, "name", None) or getattr(handoff, "agent_name", None)
        if target:
            entry.delegates_to.add(str(target))
        if hasattr(handoff, "handoffs"):
            _openai(handoff, found)
        elif target:
            found.agent(str(target))
    if isinstance(agent.model, str):
        found.models.add(agent.model)


def _pydantic_ai(agent: Any, found: Declaration) -> None:
    """pydantic-ai: the function tools of an agent's toolsets."""
    entry = found.agent(agent.name or "agent")
    for toolset in agent.toolsets:
        entry.tools |= {str(name) for name in (getattr(toolset, "tools", None) or {})}
    model = getattr(agent.model, "model_name", agent.model)
    if isinstance(model, str):
        found.models.add(model.partition(":")[2] or model)


def _langgraph(graph: Any, found: Declaration) -> None:
    """LangGraph: tool nodes belong to the nodes that lead to them; nodes that are graphs are agents of their own."""
    drawn = graph.get_graph()
    tools: dict[str, set[str]] = {}
    for name, node in drawn.nodes.items():
        inner = getattr(getattr(node, "data", None), "tools_by_name", None)
        if inner is not None:
            tools[name] = set(map(str, inner))
    name = getattr(graph, "name", None) or "LangGraph"
    subgraphs = dict(graph.get_subgraphs()) if hasattr(graph, "get_subgraphs") else {}
    if not subgraphs:
        found.agent(name).tools |= {tool for names in tools.values() for tool in names}
        return
    for node_name, inner in subgraphs.items():
        found.agent(node_name)
        before = set(found.agents)
        _langgraph(inner, found)
        for own in set(found.agents) - before:  # the inner graph goes by its node's name
            found.agent(node_name).tools |= found.agents[own].tools
            del found.agents[own]
    for edge in drawn.edges:
        if edge.source in subgraphs and edge.target in subgraphs:
            found.agent(edge.source).delegates_to.add(edge.target)


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, Declaration], None]], ...] = (
    (lambda a: hasattr(a, "handoffs") and hasattr(a, "tools") and hasattr(a, "name"), _openai),
    (lambda a: hasattr(a, "toolsets") and hasattr(a, "name"), _pydantic_ai),
    (lambda a: hasattr(a, "get_graph"), _langgraph),
)
