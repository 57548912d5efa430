"""Who handed work to whom, each delegation once, whatever its shape.

Shapes, strongest first: a tool call whose span holds another agent's work (an agent as a tool); a tool whose
attributes or arguments name the target; a transfer tool whose name ends in an agent that this run knows; a handoff
span; an agent that runs inside another's tool call without being its child; an agent's span inside another's. The
same act often shows in two shapes at once - request, tool span, handoff span, nested agent - so shapes of one pair
are matched in time before anything is counted. Agents that only run one after the other, or that one loop sends the
same message to all at once, delegate nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from otelcov.dialects.base import AGENT, HANDOFF, LLM, TOOL
from otelcov.runs.call import ToolCall
from otelcov.runs.executions import span_fact
from otelcov.runs.jsontext import parse_json
from otelcov.runs.models import ModelCall
from otelcov.runs.tree import Node, placeholder, spelling
from otelcov.runs.wrapped import arguments_of

TO = re.compile(
    r"^(?:transfer|handoff|hand_off|hand_over|handover|delegate|switch|route|escalate|forward|pass|send|assign)(?:_\w+?)??_(?P<back>back_)?to_(?P<to>\w+)$",
    re.I,
)
ASK = re.compile(r"^(?:ask|call|consult|invoke|run|query|use|talk_to|contact|dispatch|task)_(?P<to>\w+)$", re.I)
BY_ARGUMENT = frozenset(
    {
        "transfertoagent",
        "handofftoagent",
        "delegateworktocoworker",
        "askquestiontocoworker",
        "delegatetoagent",
        "handoff",
        "transferagent",
        "delegatetask",
        "sendmessagetoagent",
        "sendtask",
        "delegatetasktomember",
        "transfertasktomember",
        "callagent",
        "invokeagent",
        "askagent",
        "consultagent",
    }
)
SUBAGENT = "subagent_type"
"""The argument by which Claude's Task and its like name an agent, whatever the tool is called."""
_TARGETS = (
    SUBAGENT,
    "to_agent",
    "agent_name",
    "coworker",
    "agent",
    "target_agent",
    "recipient",
    "target",
    "name",
    "agentName",
    "member_id",
    "agent_id",
)


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


@lru_cache(maxsize=4096)
def bare(name: str) -> str:
    found = spelling(name)
    return found.removesuffix("agent") or found


def coworker_agents(nodes: list[Node]) -> None:
    """Some frameworks record no span for the agent a delegation tool calls: what lies below the tool is its work."""
    for node in nodes:
        if node.kind != TOOL or node.span.tool is None:
            continue
        if spelling(node.span.tool) not in BY_ARGUMENT and not _subagent(node.span.arguments):
            continue
        target = _argument_target(node.span.arguments)
        if target is None or placeholder(target):
            continue
        below = node.below()
        own = {n.own_agent for n in below if n.own_agent is not None}
        if own == {node.span.tool} and _subagent(node.span.arguments):
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


def _subagent(raw: object) -> bool:
    arguments, _ = arguments_of(raw)
    return arguments is not None and isinstance(arguments.get(SUBAGENT), str)


def delegates(tool: str) -> bool:
    """Does a tool's very name say that it may be a delegation, whoever is called?"""
    return _transfers(tool) is not None or spelling(tool) in BY_ARGUMENT


def _argument_target(raw: object) -> str | None:
    arguments, _ = arguments_of(raw)
    if arguments is None:
        return None
    for key in _TARGETS:
        found = arguments.get(key)
        if isinstance(found, str) and found.strip():
            return found.strip()
    kwargs = arguments.get("kwargs") or arguments.get("input")
    return _argument_target(kwargs) if isinstance(kwargs, (dict, str)) else None


def delegations(nodes: list[Node], calls: list[ToolCall], model_calls: list[ModelCall]) -> list[Delegation]:
    """All delegations of a run, by time. Calls that are delegations get `delegates_to` set."""
    agents = {n.own_agent for n in nodes if n.own_agent} | {c.agent for c in model_calls if c.agent}
    steps = {n.agent for n in nodes if n.kind in (LLM, TOOL)}
    workflows = {n.own_agent for n in nodes if n.own_agent and n.own_agent not in steps and _is_workflow(n)}
    known = {bare(a): a for a in sorted(agents - workflows)}
    used: set[int] = set()
    spans = [n for n in nodes if n.own_agent is not None]
    scene = _Scene(nodes, spans, known, model_calls, used)
    out = [d for c in calls if (d := _by_call(c, scene)) is not None]
    out += _handoffs(nodes, calls, out, known, used)
    out += _nested(nodes, calls, out, workflows, steps, used)
    out.sort(key=lambda d: (d.start, d.source or "", d.target or ""))
    _unrecorded(out, calls, model_calls)
    return [d for d in out if d.target != d.source or d.target is None]


def _unrecorded(found: list[Delegation], calls: list[ToolCall], model_calls: list[ModelCall]) -> None:
    """What lies below a delegating tool is the work of the agent it names, also where that has no span of its own."""
    for d in found:
        if d.call is None or not d.call.nodes or d.node is not None or d.target is None:
            continue
        below = {id(n) for n in d.call.nodes[0].below()}
        inside = [c for c in calls if c.agent == d.source and c.nodes and id(c.nodes[0]) in below]
        for call in inside:
            call.agent = d.target
        for model_call in model_calls:
            if model_call.agent == d.source and id(model_call.node) in below:
                model_call.agent = d.target
        for other in found:
            if other.call in inside:
                other.source = d.target


def _is_workflow(node: Node) -> bool:
    """A graph or pipeline that its framework reports as if it were an agent."""
    name = node.own_agent
    for n in [node, *node.children]:
        span = n.span
        if span.kind == "chain" and (span.agent == name or span.name in (name, f"{name}.workflow")):
            return True
    return node.span.kind != AGENT


@dataclass(slots=True)
class _Scene:
    """The run in which a call is looked at."""

    nodes: list[Node]
    agents: list[Node]  # spans that are agents'
    known: dict[str, str]  # bare name -> agent
    model_calls: list[ModelCall]
    used: set[int]  # agent spans that a delegation was found for


@dataclass(slots=True)
class _Found:
    """What a rule found: the agent (None: a delegation to somebody unnamed), its span if it has one."""

    target: str | None
    form: str
    node: Node | None = None


def _by_call(call: ToolCall, scene: _Scene) -> Delegation | None:
    """The delegation that a tool call is, by the first rule that finds one."""
    match = _transfers(call.name)
    if match is not None and match.group("back"):
        target = scene.known.get(bare(match.group("to")))
        if target is not None or not call.nodes:
            call.delegates_to = target or match.group("to")
        return None  # giving control back is the end of a delegation
    for rule in _RULES:
        found = rule(call, scene)
        if found is None:
            continue
        if found.target == call.agent and found.node is None and found.target is not None:
            return None
        if found.node is not None:
            scene.used.add(id(found.node))
        call.delegates_to = found.target or ""
        taken_over = (
            found.form == "handoff" and found.target is not None and _works_after(found.target, call, scene.model_calls)
        )
        status = "ok" if taken_over else _status(call)
        return Delegation(call.agent, found.target, found.form, call.name, status, call.start, call, found.node)
    return None


@lru_cache(maxsize=4096)
def _transfers(tool: str | None) -> re.Match[str] | None:
    return TO.match((tool or "").replace("-", "_").replace(" ", "_"))


@lru_cache(maxsize=4096)
def _asks(tool: str | None) -> re.Match[str] | None:
    return ASK.match(tool or "")


def _work_seen(call: ToolCall, scene: _Scene) -> _Found | None:
    """Another agent at work inside the call's span, or beside it in its time; or its attributes name the agent."""
    if not call.nodes:
        return None
    node = _agent_below(call.nodes[0], call.agent) or _agent_beside(call, scene.agents)
    told = span_fact(call.nodes, "to_agent")
    if told and not placeholder(str(told)):
        form = "tool" if node is not None or _transfers(call.name) is None else "handoff"
        return _Found(str(told), form, node)
    return None if node is None else _Found(node.own_agent or node.agent, "tool", node)


_HANDS_OVER = ("transfertoagent", "handofftoagent", "handoff")
_COWORKER = ("delegateworktocoworker", "askquestiontocoworker")


def _named_in_arguments(call: ToolCall, scene: _Scene) -> _Found | None:
    """A tool that delegates by its very name; the agent is an argument or, where none is told, who comes next."""
    name = spelling(call.name or "")
    raw = call.arguments
    if raw is None and call.nodes:
        raw = span_fact(call.nodes, "arguments")
    sub = _subagent(raw)
    if name not in BY_ARGUMENT and not sub:
        return None
    said = _argument_target(raw)
    form = "handoff" if name in _HANDS_OVER else "tool"
    if said is not None:
        explicit = sub or name in _COWORKER or name in _HANDS_OVER[:2] or (name == "handoff" and not scene.known)
        return _Found(scene.known.get(bare(said), said), form) if explicit or bare(said) in scene.known else None
    if name in _HANDS_OVER[:2]:
        following = next((n for n in scene.agents if n.own_agent != call.agent and n.start >= call.start), None)
        return _Found(following.own_agent if following is not None else None, form, following)
    return _Found(None, form) if name in _COWORKER else None


def _named_by_tool(call: ToolCall, scene: _Scene) -> _Found | None:
    """`transfer_to_x`: x is an agent of this run, a conversation of its own between request and result, or a node."""
    match = _transfers(call.name)
    if match is None:
        return None
    target = scene.known.get(bare(match.group("to")))
    if target is not None:
        return _Found(target, "handoff")
    if match.group("to").isdecimal():  # by its place among those that work may be handed to
        following = next((n for n in scene.agents if n.own_agent != call.agent and n.start >= call.start), None)
        return _Found(following.own_agent if following is not None else None, "handoff", following)
    if _child_thread(call, scene.model_calls):
        return _Found(match.group("to"), "tool")
    told = parse_json(call.answer.content) if call.answer and isinstance(call.answer.content, str) else None
    if isinstance(told, dict) and set(told) == {"assistant"} and isinstance(told["assistant"], str):
        return _Found(told["assistant"], "handoff")  # how OpenAI's Agents SDK confirms a handoff
    node = _node_named(match.group("to"), call, scene.nodes)
    return None if node is None else _Found(node, "handoff" if call.nodes else "tool")


def _managed(call: ToolCall, scene: _Scene) -> _Found | None:
    """A call without a span of its own that bears an agent's name, alone or after `ask_`: that agent worked then."""
    if call.nodes:
        return None
    asked = _asks(call.name)
    for name in (call.name or "", asked.group("to") if asked is not None else ""):
        target = scene.known.get(bare(name)) if bare(name) else None
        if target is not None and target != call.agent and _works_after(target, call, scene.model_calls):
            return _Found(target, "tool")
    if asked is not None and not scene.known and call.agent is None and _child_thread(call, scene.model_calls):
        return _Found(asked.group("to"), "tool")
    return None


def _anonymous(call: ToolCall, scene: _Scene) -> _Found | None:
    """A call without a span that by its name asks an agent; one without a name worked next, inside the asking one."""
    if call.nodes or call.agent is not None or call.asked_by is None:
        return None
    named = _transfers(call.name) or _asks(call.name)
    if named is None:
        return None
    asker = call.asked_by
    top = next((a for a in asker.node.ancestors() if a.kind == AGENT), None)
    if top is None:
        return None
    own = [c for c in scene.model_calls if c.turn > asker.turn and _nearest_agent(c.node) is top]
    until = own[0].start if own else top.end
    for n in scene.nodes:
        if n.kind != AGENT or n.own_agent is not None or id(n) in scene.used or n is top:
            continue
        if _nearest_agent(n) is top and asker.end <= n.start < until:
            return _Found(named.group("to"), "tool", n)
    return None


def _nearest_agent(node: Node) -> Node | None:
    return next((a for a in node.ancestors() if a.kind == AGENT), None)


def _nameless(call: ToolCall, scene: _Scene) -> _Found | None:
    """A model and tools at work inside a tool's span: an agent, though nobody named it."""
    if not call.nodes or not call.nodes[0].children:
        return None
    named = _transfers(call.name) or _asks(call.name)
    if _loop_below(call, named is not None):
        return _Found(named.group("to") if named is not None else None, "tool")
    return None


_RULES = (_work_seen, _named_in_arguments, _named_by_tool, _managed, _anonymous, _nameless)


def _loop_below(call: ToolCall, says_so: bool) -> bool:
    layers = {id(n) for n in call.nodes}
    kinds = {n.kind for n in call.nodes[0].below() if n.own_agent is None and id(n) not in layers}
    return LLM in kinds and (TOOL in kinds or AGENT in kinds or says_so)


def _status(call: ToolCall) -> str:
    return "ok" if call.nodes or call.answer is not None else "requested"


def _agent_below(node: Node, caller: str | None) -> Node | None:
    """The first other agent whose work lies inside a tool's span."""
    queue = list(node.children)
    for n in queue:
        if n.own_agent is not None and n.own_agent != caller:
            return n
        if n.kind in (LLM, TOOL) and n.agent is not None and caller is not None and n.agent != caller:
            return n
        queue.extend(n.children)
    return None


def _agent_beside(call: ToolCall, agents: list[Node]) -> Node | None:
    """An agent that ran within the tool's time under the same roof, though not below it; or whose own roof is missing
    (spans that tell of no AI were filtered out), where the tool bears its name."""
    node = call.nodes[0]
    if node.children and any(c.kind is not None for c in node.below()):
        return None
    roof = {id(a) for a in node.ancestors()}
    for n in agents:
        if (
            n.own_agent != call.agent
            and n.kind == AGENT
            and n.start >= node.start
            and n.end <= node.end
            and n.end > n.start
            and (id(n.parent) in roof if n.parent is not None else n.orphan and _calls(call.name, n.own_agent))
        ):
            return n
    return None


def _calls(tool: str | None, agent: str | None) -> bool:
    """Does a tool bear an agent's name, alone or after `ask_`?"""
    asked = _asks(tool)
    names = {bare(tool or ""), bare(asked.group("to")) if asked is not None else ""} - {""}
    return agent is not None and bare(agent) in names


def _node_named(name: str, call: ToolCall, nodes: list[Node]) -> str | None:
    """A transfer's target as a node of a graph that works after it, where no agent is named at all."""
    for n in nodes:
        if (
            call.nodes
            and n.start >= call.start
            and n.kind == "chain"
            and bare(n.span.name) == bare(name)
            and any(x.kind == LLM for x in n.below())
        ):
            return n.span.name
    return None


def _works_after(agent: str, call: ToolCall, model_calls: list[ModelCall]) -> bool:
    until = call.result_of.start if call.result_of is not None else None
    return any(
        mc.agent == agent and mc.start >= call.start and (until is None or mc.start < until) for mc in model_calls
    )


def _child_thread(call: ToolCall, model_calls: list[ModelCall]) -> bool:
    """Between a request and its result, another conversation with a model went on."""
    if call.asked_by is None or call.result_of is None or call.nodes:
        return False
    between = [mc for mc in model_calls if call.asked_by.turn < mc.turn < call.result_of.turn]
    return any(
        mc.inputs is None or not any(r.id == call.call_id and r.id for x in mc.inputs for r in x.requests)
        for mc in between
    )


def _handoffs(
    nodes: list[Node], calls: list[ToolCall], found: list[Delegation], known: dict[str, str], used: set[int]
) -> list[Delegation]:
    out = []
    for node in nodes:
        if node.kind != HANDOFF:
            continue
        source, target = node.span.from_agent, node.span.to_agent
        source = node.agent if placeholder(source) else source
        taken = None
        if target is None or placeholder(target):
            taken = next(
                (
                    n
                    for n in nodes
                    if n.kind == AGENT
                    and n.own_agent
                    and n.own_agent != source
                    and n.start >= node.start
                    and id(n) not in used
                ),
                None,
            )
            target = taken.own_agent if taken is not None else None
        same = next(
            (
                d
                for d in found
                if d.source == source
                and (d.target == target or target is None)
                and d.node is None
                and d.call is not None
                and d.form == "handoff"
            ),
            None,
        )
        if same is not None and same.call is not None:
            same.node, same.status = node, "ok"
            continue
        asked = next(
            (
                c
                for c in calls
                if c.delegates_to is None
                and c.agent == source
                and not c.nodes
                and (x := _transfers(c.name)) is not None
                and (
                    target is None
                    or bare(x.group("to")) == bare(target)
                    or bare(x.group("to")).startswith(bare(target))
                )
            ),
            None,
        )
        if asked is not None:
            asked.delegates_to = target or ""
        if taken is not None:
            used.add(id(taken))
        out.append(Delegation(source, target, "handoff", asked.name if asked else None, "ok", node.start, asked, node))
    return out


def _nested(
    nodes: list[Node],
    calls: list[ToolCall],
    found: list[Delegation],
    workflows: set[str],
    steps: set[str | None],
    used: set[int],
) -> list[Delegation]:
    told: dict[tuple[str | None, str | None], int] = {}
    for d in found:
        told[(d.source, d.target)] = told.get((d.source, d.target), 0) + 1
    out = []
    fans: dict[int, list[Node]] = {}
    for node in nodes:
        if node.own_agent is None or id(node) in used:
            continue
        above = next((a for a in node.ancestors() if a.own_agent is not None and a.own_agent not in workflows), None)
        source = above.own_agent if above is not None else None
        if above is None and node.span.kind == AGENT and node.span.from_agent and not placeholder(node.span.from_agent):
            source = node.span.from_agent
        if source is None or source == node.own_agent or node.own_agent in workflows:
            continue
        pair = (source, node.own_agent)
        if told.get(pair, 0) > 0:
            told[pair] -= 1
            continue
        through_tool = next((a for a in node.ancestors() if a.kind == TOOL), None)
        through = (
            next((c for c in calls if through_tool in c.nodes and c.delegates_to), None)
            if through_tool is not None and above is not None and any(a is above for a in through_tool.ancestors())
            else None
        )
        if through is not None and through.delegates_to == node.own_agent:
            continue  # more of the same agent's work inside one call
        if above is not None and source not in steps:
            fans.setdefault(id(above), []).append(node)
        remote = above is not None and above.span.service != node.span.service
        out.append(
            Delegation(
                source,
                node.own_agent,
                "remote" if remote else "tool" if through else "nested" if above is not None else "handoff",
                through.name if through is not None else None,
                "ok",
                node.start,
                None,
                node,
            )
        )
    broadcast = {id(n) for group in fans.values() if _overlap(group) for n in group}
    return [d for d in out if id(d.node) not in broadcast]


def _overlap(group: list[Node]) -> bool:
    ordered = sorted(group, key=lambda n: n.start)
    return any(b.start < a.end for a, b in pairwise(ordered))
