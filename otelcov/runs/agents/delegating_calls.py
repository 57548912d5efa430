"""Which tool calls are delegations: rules, strongest first, each of which may find the agent that was called."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.ground.schemas import LATEST_NS
from otelcov.runs.agents.below import agent_below
from otelcov.runs.agents.delegation import (
    ANY_AGENT,
    BY_ARGUMENT,
    COWORKER,
    HANDS_OVER,
    Delegation,
    agent_argument,
    agent_failed,
    argument_target,
    bare,
    bears_name_of,
    by_argument,
    names_agent,
    subagent,
)
from otelcov.runs.agents.delegation_status import status_of
from otelcov.runs.agents.naming import entity
from otelcov.runs.agents.scene import Found, Scene, child_thread, cut_thread
from otelcov.runs.agents.unnamed import anonymous, by_instructions, in_what_is_lost, nameless
from otelcov.runs.content.jsontext import hidden, parse_json
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.habits import changes_agents
from otelcov.runs.rules.handovers import asks, transfers
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_values import schema
from otelcov.runs.tools.executions import span_fact
from otelcov.runs.tools.leave import denied
from otelcov.runs.trace.tree import Node, by_time, placeholder, same_name, spelling

_HANDS_OVER = (*HANDS_OVER, "handoff", "handover", "strandsstructuredoutput")


_IGNORED = "Multiple handoffs detected, ignoring this one."
"""What OpenAI's kit answers a model that would hand over to several at once, of all but the first."""


def by_call(call: ToolCall, scene: Scene) -> Delegation | None:
    """The delegation that a tool call is, by the first rule that finds one."""
    match = transfers(call.name)
    if match is not None and match.group("back"):
        target = scene.known.get(bare(match.group("to")))
        if target is not None or not call.nodes:
            call.delegates_to = target or match.group("to")
        return None  # giving control back is the end of a delegation
    if match is not None and call.answer is not None and call.answer.content == _IGNORED:
        call.delegates_to = match.group("to")
        return None
    for rule in _RULES:
        found = rule(call, scene)
        if found is None:
            continue
        found = _named_rightly(found, call, scene)
        if found.target == call.agent and found.node is None and found.target is not None:
            return None
        if denied(call):  # whoever works next was not called by it
            target = found.target if found.node is None else None
            call.delegates_to = target or ""
            return Delegation(call.agent, target, found.form, call.name, "requested", call.start, call)
        if found.node is not None:
            scene.used.add(id(found.node))
        call.delegates_to = found.target or ""
        told_apart = found.form == "handoff" or not call.nodes  # no span of the tool's says whether it went well
        taken_over = told_apart and found.target is not None and _works_after(found.target, call, scene)
        in_vain = taken_over and found.form == "tool" and _worked_in_vain(found.target, call, scene)
        status = "error" if in_vain else "ok" if taken_over else status_of(call, found, scene)
        return Delegation(call.agent, found.target, found.form, call.name, status, call.start, call, found.node)
    return None


def _named_rightly(found: Found, call: ToolCall, scene: Scene) -> Found:
    """With the agent that an argument names, where the tool's name says that it calls one, and not which."""
    match = transfers(call.name) or asks(call.name)
    if match is None or found.target != match.group("to") or bare(found.target) in scene.known:
        return found
    if by_argument(call.name or "") or spelling(found.target) in ANY_AGENT:
        return replace(found, target=argument_target(given(call)))
    return found


def _worked_in_vain(agent: str | None, call: ToolCall, scene: Scene) -> bool:
    """Did the last run of an agent between the request for it and its result fail? Its last model call where it has no
    span of its own."""
    if call.result_of is None and len(scene.agents) > _AGENTS:
        return False
    until = call.result_of.start if call.result_of is not None else LATEST_NS
    ran = [n for n in scene.begun(call.start, until) if n.own_agent == agent]
    if ran:
        return agent_failed(max(ran, key=by_time))
    asked = scene.works(agent, call.start, until)
    return bool(asked) and asked[-1].error is not None


_AGENTS = 256  # that are looked at for each call of which nothing came back


def _work_seen(call: ToolCall, scene: Scene) -> Found | None:
    """Another agent at work inside the call's span, or beside it in its time; or its attributes name the agent."""
    if not call.nodes:
        return None
    node = agent_below(call.nodes[0], call.agent, scene) or _agent_beside(call, scene)
    told = span_fact(call.nodes, "to_agent")
    if told and not placeholder(str(told)):
        form = "tool" if node is not None or transfers(call.name) is None else "handoff"
        works = node.own_agent if node is not None and bare(str(told)) not in scene.known else None
        return Found(works or scene.known.get(bare(str(told)), str(told)), form, node)
    return None if node is None else Found(node.own_agent or node.agent, "tool", node)


def _agent_beside(call: ToolCall, scene: Scene) -> Node | None:
    """An agent that ran within the tool's time under the same roof, though not below it; or whose own roof is missing
    (spans that tell of no AI were filtered out), where the tool bears its name. Of tools that ran at one time the one
    called it that bears its name, of those of which no span has come, too, else the one whose time is nearest."""
    node = call.nodes[0]
    layers = {id(n) for n in call.nodes}
    if node.children and any(c.kind is not None and id(c) not in layers for c in node.below()):
        return None
    found = [
        n
        for n in scene.begun(node.start, node.end)
        if n.own_agent != call.agent and id(n) not in scene.used and _within(n, node)
    ]
    for n in found:
        if bears_name_of(call.name, n.own_agent):
            return n
    if found and call.asked_by is not None:
        found = [n for n in found if not any(bears_name_of(r.name, n.own_agent) for r in call.asked_by.asked)]
    others = [t for t in scene.nodes if t.kind == TOOL and id(t) not in layers] if found else []
    return next((n for n in found if not any(_rather(t, node, n) for t in others)), None)


def _within(agent: Node, tool: Node) -> bool:
    if agent.kind != AGENT or not tool.start <= agent.start < agent.end <= tool.end:
        return False
    if agent.parent is None:
        return agent.orphan and bears_name_of(tool.span.tool, agent.own_agent)
    return any(agent.parent is above for above in tool.ancestors())


def _rather(other: Node, tool: Node, agent: Node) -> bool:
    """Did that other tool call this agent, rather?"""
    if not _within(agent, other):
        return False
    return bears_name_of(other.span.tool, agent.own_agent) or other.end - other.start < tool.end - tool.start


def _named_in_arguments(call: ToolCall, scene: Scene) -> Found | None:
    """A tool that delegates by its very name; the agent is an argument or, where none is told, who comes next."""
    name = spelling(call.name or "")
    raw = given(call)
    sub = subagent(raw)
    if name not in BY_ARGUMENT and not sub:
        return None
    said = argument_target(raw)
    form = "handoff" if name in _HANDS_OVER else "tool"
    if said is not None and (match := transfers(call.name)) is not None and bare(match.group("to")) == bare(said):
        return None  # the name tells it, too
    if said is not None:
        explicit = sub or name in COWORKER or name in HANDS_OVER or (name == "handoff" and names_agent(raw))
        explicit = explicit or (not scene.known and (name == "handoff" or agent_argument(raw) == said))
        explicit = explicit or (scene.lost and any(same_name(n.agent, said) for n in scene.nodes))
        return Found(scene.known.get(bare(said), said), form) if explicit or bare(said) in scene.known else None
    if name in HANDS_OVER:
        following = next((n for n in scene.agents if n.own_agent != call.agent and n.start >= call.start), None)
        return Found(following.own_agent if following is not None else None, form, following)
    untold = raw is None or hidden(raw if isinstance(raw, str) else None)  # what it was given is not on the wire
    if not (untold or name in COWORKER):
        return None
    until = _heard_again(call, scene)
    alone = not call.nodes and until is not None and call.asked_by is not None and len(call.asked_by.requests) == 1
    seen = (call.nodes and untold) or (alone and (untold or raw == ""))
    begun = scene.begun(call.start, LATEST_NS if until is None else until) if seen else ()
    next_ = next((n for n in begun if n.own_agent not in (None, call.agent) and id(n) not in scene.used), None)
    return Found(next_.own_agent if next_ is not None else None, form, next_)


def _named_by_tool(call: ToolCall, scene: Scene) -> Found | None:
    """`transfer_to_x`: x is an agent of this run, a conversation of its own between request and result, or a node."""
    match = transfers(call.name)
    if match is None:
        return None
    to = match.group("to")
    target = scene.known.get(bare(to)) or scene.known.get(bare(to.rstrip("0123456789")))  # AG2 counts its ways
    if target is not None:
        return Found(target, "handoff")
    if match.group("to").isdecimal():  # by its place among those that work may be handed to
        following = next((n for n in scene.agents if n.own_agent != call.agent and n.start >= call.start), None)
        return Found(following.own_agent if following is not None else None, "handoff", following)
    if child_thread(call, scene) or cut_thread(call, scene):
        return Found(match.group("to"), "tool")
    told = parse_json(call.answer.content) if call.answer and isinstance(call.answer.content, str) else None
    if isinstance(told, dict) and set(told) == {"assistant"} and isinstance(told["assistant"], str):
        return Found(told["assistant"], "handoff")  # how OpenAI's Agents SDK confirms a handoff
    sent = bare(_goes_to(call)[0] or "") == bare(to)
    if sent and not scene.known:  # as LangGraph does, where nobody names an agent
        return Found(to, "handoff")
    node = _node_named(match.group("to"), call, scene)
    above = node is None and _sent_above(call)
    if node is None and (((sent or above) and _taken_up(to, call, scene)) or (above and not _followed(call, scene))):
        return Found(to, "handoff")
    return None if node is None else Found(node, "handoff" if call.nodes else "tool")


def _sent_on(call: ToolCall, scene: Scene) -> Found | None:
    """A tool of LangGraph's that gave a `Command` to go on with another agent of the run; or with a node of the graph
    above, which bears a name of its own: then with whoever of another name is at work next."""
    to, above = _goes_to(call)
    target = scene.known.get(bare(to)) if to is not None else None
    if target is None and above and call.asked_by is not None:
        since = call.asked_by.turn + 1
        later = (mc for mc in scene.model_calls[since : since + NEWEST] if mc.start >= call.end)
        first = next(later, None)
        target = first.agent if first is not None and first.agent != call.agent else None
    return Found(target, "handoff") if target is not None and _works_after(target, call, scene) else None


def _goes_to(call: ToolCall) -> tuple[str | None, bool]:
    """The one node with which a tool's `Command` has a graph of LangGraph's go on, and whether that is the one above
    its own."""
    raw = span_fact(call.nodes, "result") if call.nodes else None
    if not isinstance(raw, str) or '"goto"' not in raw:
        return None, False
    told = parse_json(raw)
    told = told.get("output", told) if isinstance(told, dict) else None
    if not isinstance(told, dict):
        return None, False
    to = told.get("goto")
    to = to[0] if isinstance(to, list) and len(to) == 1 else to
    return (to, told.get("graph") == "__parent__") if isinstance(to, str) else (None, False)


def _sent_above(call: ToolCall) -> bool:
    """Did a tool have the graph above its own go on with another node?"""
    raw = span_fact(call.nodes, "result") if call.nodes else None
    return isinstance(raw, str) and _ABOVE.match(raw) is not None


def _followed(call: ToolCall, scene: Scene) -> bool:
    """Was a model asked since?"""
    return any(mc.start >= call.end for mc in scene.model_calls[-NEWEST:])


_ABOVE = late(r'\{\s*(?:"output":\s*\{\s*)?"graph":\s*"__parent__"')
"""How a `Command` of LangGraph's begins, of which the rest may be cut."""


def _taken_up(name: str, call: ToolCall, scene: Scene) -> bool:
    """Did a graph's node of this name begin since, or somebody of no name ask a model next?"""
    since = (n for n in scene.nodes if n.start >= call.start and n.kind in (CHAIN, AGENT))
    if any(bare(entity(n.span.name)) == bare(name) for n in since):
        return True
    at = call.asked_by.turn + 1 if call.asked_by is not None else len(scene.model_calls)
    following = next((mc for mc in scene.model_calls[at : at + NEWEST] if mc.start >= call.end), None)
    return following is not None and following.agent is None


def _node_named(name: str, call: ToolCall, scene: Scene) -> str | None:
    """A transfer's target as a node of a graph that works after it: the agent that works first in it, if one has a
    name."""
    for n in scene.nodes:
        if call.nodes and n.start >= call.start and n.kind == "chain" and bare(entity(n.span.name)) == bare(name):
            first = min((x for x in n.below() if x.kind == LLM), key=by_time, default=None)
            if first is not None:
                who = scene.known.get(bare(first.agent or ""))
                return who if who is not None and who != call.agent else entity(n.span.name)
    return None


def _managed(call: ToolCall, scene: Scene) -> Found | None:
    """A call that bears an agent's name, alone or after `ask_`: that agent worked then; in the time of the call's span
    where it has one. Or one that brought an agent's report, as smolagents words it."""
    if call.name and call.answer is not None and _REPORT.match(str(call.answer.content)):
        return Found(call.name, "tool")
    asked, works = asks(call.name), _works_within if call.nodes else _works_after
    for name in (call.name or "", asked.group("to") if asked is not None else ""):
        target = scene.known.get(bare(name)) if bare(name) else None
        if target is not None and target != call.agent and works(target, call, scene):
            return Found(target, "tool")
    if call.nodes:
        return None
    if asked is None or scene.known or call.agent is not None:
        return None
    if child_thread(call, scene) or cut_thread(call, scene):
        return Found(asked.group("to"), "tool")
    return None


_REPORT = late(r"(?:Observation:\n)?Here is the final answer from your managed agent '")


def _works_after(agent: str, call: ToolCall, scene: Scene) -> bool:
    until = call.result_of.start if call.result_of is not None else None
    work = scene.works(agent, call.start, until)
    if len(work) > _FIRST or any(not _for_another(mc, call) for mc in work):
        return True
    # Whose span may be that of all that an agent does (ADK 2.13, written over), or hold its tools.
    asker = call.asked_by
    since = call.start if asker is None else min(asker.start, call.start)
    before = asker.end if until is None and asker is not None else until
    begun = scene.begun(since, before) if scene.lost and before is not None else []
    if any(n.own_agent == agent and any(x.orphan for x in (n, *n.ancestors())) for n in begun):
        return True  # whose steps' own frames have not come
    step = asker.node.parent if asker is not None else None
    if step is not None and any(n.own_agent == agent and n.parent is step for n in scene.begun(since, step.end)):
        return True  # in the step in which it was asked for, though no model of its has come
    below = scene.works(agent, asker.start, asker.end) if asker is not None else []
    return any(asker is not None and any(n is asker.node for n in mc.node.ancestors()) for mc in below[:_FIRST])


_FIRST = 8  # calls of an agent's, among which is one below who asked


def _for_another(mc: ModelCall, call: ToolCall) -> bool:
    """Was this model asked within the span of another call of the same tool, asked for since?"""
    tools = (n for n in mc.node.ancestors() if n.kind == TOOL and n.start >= call.start)
    return any(same_name(n.span.tool, call.name) for n in tools)


def _works_within(agent: str, call: ToolCall, scene: Scene) -> bool:
    return any(mc.end <= call.end for mc in scene.works(agent, call.start, call.end + 1))


def _given_to(call: ToolCall, scene: Scene) -> Found | None:
    """A tool of any name that was given an agent's by an argument that says so, where that agent worked before whoever
    asked was heard again."""
    said = agent_argument(given(call))
    target = scene.known.get(bare(said)) if said is not None else None
    if target is None or target == call.agent:
        return None
    until = _heard_again(call, scene)
    if not scene.works(target, call.start, until):
        return None
    comes_back = until is not None or call.answer is not None or _works_within(target, call, scene)
    return Found(target, "tool" if comes_back else "handoff")


def _given_its_task(call: ToolCall, scene: Scene) -> Found | None:
    """A tool of any name where in the time of its span - where it has none, before whoever asked was heard again -
    another agent's conversation began with what the tool was given, and with nothing that was said before."""
    if call.asked_by is None or call.agent is None:
        return None
    until = call.end if call.nodes else _heard_again(call, scene)
    texts = _texts(call)
    if until is None or not texts:
        return None
    for mc in scene.others(call.agent, call.start, until):
        words = _first_words(mc)
        if words is not None and words in texts and not _said_before(words, call):
            return Found(scene.known.get(bare(mc.agent or ""), mc.agent), "tool")
    return None


def _texts(call: ToolCall) -> set[str]:
    """The texts that a call was given."""
    return {v.strip() for v in (arguments_of(call.arguments)[0] or {}).values() if isinstance(v, str)} - {""}


def _first_words(mc: ModelCall) -> str | None:
    """What a conversation begins with, after the agent's instructions."""
    words = next((x for x in mc.inputs or () if x.role not in ("system", "developer")), None)
    return words.text.strip() if words is not None and words.role == "user" and words.text else None


def _said_before(words: str, call: ToolCall) -> bool:
    """Was this told to the asking model, or given to another call of the same answer?"""
    asker = call.asked_by
    if asker is None or asker.inputs is None:
        return True
    if any(x.text is not None and words in x.text for x in asker.inputs):
        return True
    alike = [r for r in asker.asked if words in (arguments_of(r.arguments)[0] or {}).values()]
    return len(alike) > 1


def _heard_again(call: ToolCall, scene: Scene) -> int | None:
    """When a model was asked by the same agent again, once this was done."""
    if call.result_of is not None:
        return call.result_of.start
    heard = scene.works(call.agent, call.end) if call.agent is not None else []
    return heard[0].start if heard else None


def _before_handoff(call: ToolCall, scene: Scene) -> Found | None:
    """A tool that gave its session another agent: that happens once the tools of its turn are done. Of several it is
    the one that bears that agent's name, else the one that by its name transfers."""
    if not call.nodes or not changes_agents(call.nodes[0].span.scope):
        return None
    over = [n for n in scene.nodes if n.kind == HANDOFF and n.span.from_agent == call.agent and n.start >= call.end]
    first = min(over, key=by_time, default=None)
    if first is None or any(call.end < mc.start < first.start for mc in scene.model_calls if mc.agent == call.agent):
        return None
    asked = [r.name for r in call.asked_by.asked] if call.asked_by is not None else []
    beside = [n for n in call.nodes[0].parent.children if n.kind == TOOL] if call.nodes[0].parent is not None else []
    asked = asked or [n.span.tool for n in beside]  # of a turn whose answer is hidden
    to = first.span.to_agent
    may_be = [name for name in asked if bears_name_of(name, to)]
    if not may_be and any(call.end < n.start < first.start for n in beside):
        return None  # of a later turn, whose model has not come
    may_be = may_be or [name for name in asked if transfers(name)]
    alone = len(asked) == 1 or may_be == [call.name]
    return Found(to, "handoff") if alone and to is not None else None


def _left_open(call: ToolCall, scene: Scene) -> Found | None:
    """A tool that by its name hands over, or asks somebody who is at work since, in a run of which not all has come:
    who asked was not told of an end, and is not seen again."""
    hands_over = transfers(call.name) is not None
    if call.nodes:
        back = call.agent is not None and scene.last.get(call.agent, 0) >= call.end
        return Found(None, "tool") if hands_over and scene.lost and not back else None
    if call.answer is not None or not (scene.loose or (scene.lost and _open(call))):
        return None
    if scene.loose:
        at_work = max(scene.last.values(), default=0) >= call.end
    else:
        at_work = any(_anothers(mc, call) for mc in scene.model_calls[-NEWEST:])
    return Found(None, "tool") if hands_over or (at_work and asks(call.name) is not None) else None


def _named_alone(call: ToolCall, scene: Scene) -> Found | None:
    """`delegate_to_x`, of which nothing but the name is on the wire."""
    if call.nodes or call.answer is not None or call.arguments is not None:
        return None
    match = transfers(call.name) if _DELEGATES.match(call.name or "") else None
    return None if match is None else Found(match.group("to"), "tool")


_DELEGATES = late(r"delegate|hand[_ -]?(?:off|over)", re.I)
"""How names begin that no tool of another kind bears; one may `transfer_to` an account."""


NEWEST = 32  # model calls, among which is that of whoever was called


def _open(call: ToolCall) -> bool:
    """Has the span of who asked not come, nor anything that it asked since?"""
    asker = call.asked_by
    return asker is not None and not asker.node.within(AGENT)


def may_delegate(call: ToolCall) -> bool:
    """Is this a call of which nothing came yet, of somebody who may be at work, and by its name one of an agent?"""
    return not call.nodes and call.answer is None and asks(call.name) is not None and _open(call)


def _anothers(mc: ModelCall, call: ToolCall) -> bool:
    """Is this somebody else's work since the call was asked for? Its conversation does not show that call."""
    if mc.start < call.end or mc is call.asked_by:
        return False
    if mc.agent is not None and call.agent is not None:
        return mc.agent != call.agent
    return (
        mc.inputs is not None
        and bool(call.call_id)
        and not any(r.id == call.call_id for x in mc.inputs for r in x.requests)
    )


def given(call: ToolCall) -> Any:
    """What a call's request or span says that it was given."""
    if call.arguments is None and call.nodes:
        told = span_fact(call.nodes, "arguments")
        return None if schema(arguments_of(told)[0]) else told
    return call.arguments


_RULES = (
    *(
        _work_seen,
        _named_in_arguments,
        by_instructions,
        _named_by_tool,
        _managed,
        _sent_on,
        _given_to,
        _given_its_task,
        _before_handoff,
    ),
    *(anonymous, nameless, in_what_is_lost, _left_open, _named_alone),
)
