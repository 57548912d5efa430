"""Whose work each span of a trace is: the agents that spans are, name or run as nodes of a graph."""

from __future__ import annotations

import re
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, SETUP, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.agents.chats import leave_out_replies, name_askers
from otelcov.runs.content.jsontext import cut_short, parse_json
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.trace.tree import USUAL_LIMITS, Node, Trace, placeholder, spelling

_ENTITY = late(r"^(?:execute_task|invoke_agent|agent_run|run|node)\s+|\.(?:task|agent|workflow|node|run)$")


def name_agents(trace: Trace) -> None:
    """Give every node its agent: its own where it is an agent, else what is stamped on it, else the nearest above.

    A stamp is believed only where it can be true: not a placeholder, and - where the trace has agent spans with names
    of their own - one of these names, unless there is no named agent above at all. The first of several spellings
    counts.
    """
    no_work = leave_out_replies(trace)
    known: dict[str, str] = {}
    for n in trace.nodes:
        if n.kind == AGENT and (name := _own_name(n)) is not None and not placeholder(name):
            known.setdefault(spelling(name), name)
    named = set(known.values())
    left = _left_behind(trace)
    for root in trace.roots:
        stack: list[tuple[Node, str | None, bool]] = [(root, None, False)]
        while stack:
            node, above, from_span = stack.pop()
            told = None if id(node) in no_work else _own_name(node)
            stamp = None if told is None or placeholder(told) else known.get(spelling(told), told)
            if stamp is not None and left.get(stamp, node.start) < node.start and above in left and node.kind != AGENT:
                stamp = None
            if node.kind == AGENT and stamp is not None:
                node.own_agent = stamp
                above, from_span = stamp, True
            elif node.kind == CHAIN and (called := _called_by_name(node)) is not None:
                node.own_agent = above = called
                from_span = stamp != above  # else stamps are of such graphs
            elif node.kind == CHAIN and stamp is not None and stamp != above and entity(node.span.name) == stamp:
                node.own_agent = above = stamp  # a graph that bears its name as a stamp, too
                from_span = True
            elif node.kind == CHAIN and named and (name := entity(node.span.name)) in named and name != above:
                node.own_agent = above = name  # a graph's node that bears the name of an agent of this trace
                from_span = True
            elif stamp is not None and node.kind not in (HANDOFF, SETUP) and (not from_span or stamp in named):
                if node.kind == CHAIN and stamp != above:
                    node.own_agent = stamp  # the first span that bears a stamp stands for its agent
                above = stamp
            elif node.kind in (AGENT, None) and told is None and node.span.dropped:
                above, from_span = None, False  # what says that this is an agent's, and whose, may have been dropped
            node.agent = above
            for child in reversed(node.children):
                stack.append((child, above, from_span))
    _name_next_steps(trace)
    _name_graph_nodes(trace)
    _name_authors(trace)
    _name_called_authors(trace)
    _name_beside_idle(trace)
    name_askers(trace)


def _own_name(node: Node) -> str | None:
    """What an agent is called here; one that is called what all of its kind are (GitHub's Copilot) is who was asked
    for."""
    name, above = node.span.agent, node.parent
    if name != "custom-agent" or above is None or above.kind != TOOL:
        return name
    given = arguments_of(above.span.arguments)[0]
    asked = given.get("agent_type") if isinstance(given, dict) else None
    return asked if isinstance(asked, str) else name


_LEAVES_NAMES = late(r"^traceloop\.tracer$")
"""Decorators that stamp an agent's name on all that follows its span, too (Traceloop's SDK, 0.55)."""


def _left_behind(trace: Trace) -> dict[str, int]:
    """When an agent first ended whose name may be stamped on what others did after it, by its name."""
    ended: dict[str, int] = {}
    for n in trace.nodes:
        if n.kind == AGENT and n.span.agent is not None and _LEAVES_NAMES.match(n.span.scope):
            ended[n.span.agent] = min(n.end, ended.get(n.span.agent, n.end))
    return ended


_STEP_BY_STEP = late(
    r"^(?:opentelemetry\.instrumentation\.llamaindex|llamaindex\.opentelemetry\.tracer"
    r"|openinference\.instrumentation\.llama_index)$"
)
"""Instrumentations of workflows in which a step puts out which agent works next, and not every step does."""


def _by_steps(node: Node) -> bool:
    """Is this such a workflow? MLflow tells of any kit's work, of LlamaIndex's by the names of its steps."""
    if node.span.scope.startswith("mlflow."):
        return any(child.span.name.endswith(".setup_agent") for child in node.children)
    return _STEP_BY_STEP.search(node.span.scope) is not None


def _name_next_steps(trace: Trace) -> None:
    """A step that puts out no agent is of the one that the step before it put out, and of nobody known where that is
    cut; an agent that is not named itself is the only one whom its steps name."""
    for node in trace.nodes:
        if len(node.children) < 2 or not _by_steps(node):
            continue
        current: str | None = None
        lost = False
        for step in node.children:
            current, lost = step.own_agent or current, step.own_agent is None and (lost or _cut(step.span.output))
            for n in (step, *step.below()) if current is not None and step.agent == node.agent else ():
                n.agent = (None if lost else current) if n.agent == node.agent else n.agent
        at_work = {step.own_agent for step in node.children} - {None}
        if node.kind == AGENT and node.own_agent is None and len(at_work) == 1:
            node.own_agent = node.agent = at_work.pop()


_OBJECT = late(r"[A-Z]\w*\(")


def _cut(told: str | None) -> bool:
    """Was JSON cut, or at a usual length an object as Python prints it?"""
    if not told or _OBJECT.match(told) is None:
        return cut_short(told)
    return len(told) in USUAL_LIMITS and told[-1] != ")"


def _name_beside_idle(trace: Trace) -> None:
    """Where all spans hang from one, an agent's work stands beside the agent's span, in its time. Who waits for an
    agent asks no model meanwhile; tools alone may be whose who called it, but within the tool that called it."""
    for node in trace.nodes:
        idle = [c for c in node.children if c.kind == AGENT and c.own_agent and not c.children and c.end > c.start]
        if not idle or len(node.children) > _BESIDE:
            continue
        for agent in idle:
            mine = [
                c
                for c in node.children
                if c.kind in (LLM, TOOL) and agent.start <= c.start and c.end <= agent.end and c.agent == node.agent
            ]
            if node.kind != TOOL and not any(c.kind == LLM for c in mine):
                continue
            alone = not any(a is not agent and a.start < agent.end and agent.start < a.end for a in idle)
            for n in (x for c in mine for x in (c, *c.below())):
                n.agent = (agent.own_agent if alone else None) if n.agent == node.agent else n.agent


_BESIDE = 1024  # spans below one, among which is looked


_TRANSFER = late(r"^(?:transfer|handoff|hand_off|delegate)_to_(\w+)$", re.I)


_CALLS = late(
    r"^(?:ask|consult|call|invoke|run|query|use|delegate|(?:delegate|transfer|handoff|send|route)_to)_(?:the_)?(\w+)$",
    re.I,
)


def _called_by_name(node: Node) -> str | None:
    """The graph, or the workflow of an agent (Google's ADK for Go), that a tool named after it runs."""
    tool = node.parent.span.tool if node.parent is not None and node.parent.kind == TOOL else None
    if not tool:
        return None
    hit, name = _CALLS.match(tool), node.span.name
    if name == f"invoke_workflow {tool}":
        return tool
    named = hit is not None and hit.group(1).lower() == name.lower()
    return name if named and any(n.kind == LLM for n in node.below()) else None


def _name_graph_nodes(trace: Trace) -> None:
    """In a graph of agents, a node that transfers to a sibling is an agent itself, and so is that sibling: one that has
    an agent's name, or holds a model's call and is not told apart from the graph (its stamp is what the graph is)."""
    graphs: dict[int, tuple[Node, set[str]]] = {}
    for node in trace.nodes:
        if node.kind != TOOL or not (hit := _TRANSFER.match(node.span.tool or "")):
            continue
        to = hit.group(1)
        for below, above in pairwise(node.ancestors()):
            if below.kind != CHAIN or node.agent not in (None, above.agent):
                continue
            others = [c for c in above.children if c is not below]
            if node.agent is None and any(c.own_agent == to for c in others):
                names = {_node_name(below)}
            elif any(c.kind == CHAIN and c.agent == above.agent and _node_name(c) == to and _asks(c) for c in others):
                names = {_node_name(below), to}
            else:
                continue
            graphs.setdefault(id(above), (above, set()))[1].update(names)
            break
    for graph, names in graphs.values():
        _name_nodes(graph, names)


def _name_nodes(graph: Node, names: set[str]) -> None:
    """The nodes of a graph that bear these names are agents."""
    stamp = graph.agent
    for node in graph.children:
        if node.kind == CHAIN and (name := _node_name(node)) in names:
            node.own_agent = name
            for n in (node, *node.below()):
                n.agent = name if n.agent == stamp else n.agent or name


def _node_name(node: Node) -> str:
    return _without_kind(entity(node.span.name))


def entity(name: str) -> str:
    """What a span stands for, of a name that tells its kind, too."""
    return _ENTITY.sub("", name)


def _asks(node: Node) -> bool:
    return any(n.kind == LLM for n in node.below())


_NEAR = 32  # spans between a graph and a model in it, at the most


def _name_authors(trace: Trace) -> None:
    """A graph is an agent if its name is that of the author of what a model in it answered (LangGraph's prebuilt); one
    that runs within another is an agent of its own."""
    named = set[int]()
    for model in [n for n in trace.nodes if n.kind == LLM and n.agent is None]:
        said: list[str] = []
        graph: Node | None = None
        node = model
        for _ in range(_NEAR):
            if node.parent is None or id(node.parent) in named:
                break
            node = node.parent
            if node.kind == TOOL or (graph is not None and node.span.name != graph.span.name):
                break
            if node.kind in (AGENT, CHAIN):
                said.extend(text for text in (node.span.output, node.span.output_messages) if text)
                if graph is not None or any(_wrote(_without_kind(node.span.name), text) for text in said):
                    graph = node
        if graph is not None:
            named.add(id(graph))
            around, graph.own_agent = graph.agent, _without_kind(graph.span.name)
            for n in (graph, *graph.below()):
                n.agent = graph.own_agent if n.agent in (None, around) else n.agent


def _name_called_authors(trace: Trace) -> None:
    """A graph that a tool runs is an agent of its own, if its models' answers are by the author whose name it bears,
    though who called it is stamped on it, too (LangChain.js, where a tool hands its config on)."""
    for node in trace.nodes:
        tool, name = node.parent, _without_kind(node.span.name)
        if node.kind != CHAIN or tool is None or tool.kind != TOOL or node.agent is None:
            continue
        if node.agent != tool.agent or name == node.agent or not _asks(node):
            continue
        steps = [n.span.output for n in (node, *node.children) if n.span.output]
        if any(_wrote(name, told) for told in steps):
            around, node.own_agent = node.agent, name
            for n in (node, *node.below()):
                n.agent = name if n.agent == around else n.agent
                n.own_agent = None if n.own_agent == around else n.own_agent


def _without_kind(name: str) -> str:
    """What a graph or a node of it is called, of a span that bears its kind, too."""
    return _KINDS.sub("", name)


_KINDS = late(r"^(?:invoke_workflow|chain|step) ")


_NAMED = ("name='", 'name="', '"name": "', '"name":"', '"name": \'', '"name":\'')


def _wrote(name: str, told: str) -> bool:
    """Does an output hold a message of the model by this author?"""
    if name not in told or placeholder(name) or not any(f"{before}{name}" in told for before in _NAMED):
        return False
    value = parse_json(told)
    found = messages_of(value) if isinstance(value, (list, dict)) else []
    return any(x.role == "assistant" and x.name == name for x in found)
