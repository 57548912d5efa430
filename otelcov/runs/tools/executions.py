"""Executions of tools among the spans of a run, each as its spans, outermost first."""

from __future__ import annotations

import re
from bisect import bisect_right
from copy import copy
from itertools import zip_longest
from typing import Any

from otelcov.dialects.base import CHAIN, LLM, NAMED_BY_CLASS, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.content.jsontext import parse_json, to_json
from otelcov.runs.content.wrapped import arguments_of, result_call_id
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.habits import in_two_scopes, of_mcp, relays_tools
from otelcov.runs.trace.tree import Node, failure, same_name, same_step, spelling


def tool_spans(nodes: list[Node]) -> list[list[Node]]:
    """Executions among the nodes, each as its spans outermost first: a tool span inside one of the same tool, or inside
    one that a protocol layer wraps around it, tells of the same execution, unless a model within that asked for it."""
    found: list[list[Node]] = []
    of: dict[int, list[Node]] = {}
    _open_holders(nodes)
    _open_programs(nodes)
    _tried_again(nodes)
    _tried_by_name(nodes)
    outers = {id(n): same_step(n, TOOL) for n in nodes if n.kind == TOOL}
    answered = _first_answers(nodes) if any(outers.values()) else {}
    for node in nodes:
        if node.kind != TOOL:
            continue
        outer = outers[id(node)]
        group = of.get(id(outer))
        if group is None or outer is None or not _is_told_by(node, group) or _asked_within(node, outer, answered):
            group = []
            found.append(group)
        group.append(node)
        of[id(node)] = group
    return _with_servers(_with_inner(_with_notes([one for group in found for one in _of_each(group)])))


def _with_notes(found: list[list[Node]]) -> list[list[Node]]:
    """The executions, each with what a program noted of it once it was done, by a span of its own without duration,
    where an instrumentation had told of it already."""
    notes = [group for group in found if _notes(group)]
    if not notes or len({n.span.scope for group in found for n in group}) < 2:
        return found
    ran: dict[tuple[int, str], list[list[Node]]] = {}
    for group in sorted(found, key=_over):
        name = spelling(span_name(group) or "")
        if name and group[0].end - group[0].start > _NO_TIME_NS:
            ran.setdefault((id(group[0].parent), name), []).append(group)
    taken = set[int]()
    for note in notes:
        (node,) = note
        near = ran.get((id(node.parent), spelling(span_name(note) or "")), [])
        first, last = (bisect_right(near, time, key=_over) for time in (node.start - _SOON_NS, node.start))
        for group in near[first:last][-_NEAR:]:
            told = group[-1]
            if id(group) not in taken and told.span.scope != node.span.scope and _agree(told, node):
                taken.add(id(group))
                group.append(node)
                note.clear()
                break
    return [group for group in found if group]


def _with_inner(found: list[list[Node]]) -> list[list[Node]]:
    """The executions, each with an inner span of it, by another name, that has lost the one between (mcp-agent's, of
    which each layer has a span): of the same tool, within the time of the one that it can be of."""
    lost = [group for group in found if group[0].span.call_id is None and _adrift(group[0])]
    if not lost or len(lost) == len(found):
        return found
    theirs = {id(group) for group in lost}
    outers: dict[str, list[list[Node]]] = {}
    for group in sorted(found, key=_begins):
        if id(group) not in theirs and not any(n.kind == TOOL for n in group[-1].below()):
            outers.setdefault(group[-1].span.scope, []).append(group)
    for group in lost:
        inner = group[0]
        near = outers.get(inner.span.scope, [])
        near = near[: bisect_right(near, inner.start, key=_begins)][-_NEAR:]
        near = [g for g in near if group[-1].end <= g[-1].end and _may_hold(g, group)]
        if len(near) == 1 and all(_agree(near[0][-1], n) for n in group):
            near[0].extend(group)
            group.clear()
    return [group for group in found if group]


def _adrift(node: Node) -> bool:
    """Has this lost its parent, or what only frames it?"""
    return all(n.kind in (None, CHAIN) for n in node.ancestors()) and node.top().orphan


def _may_hold(outer: list[Node], inner: list[Node]) -> bool:
    name, own = span_name(outer), span_name(inner)
    if not name or not own or outer[-1].span.name == inner[0].span.name:
        return False
    return spelling(name) == spelling(own) or served_as(own, name, inner[0])


def _over(group: list[Node]) -> int:
    return group[0].end


def _notes(group: list[Node]) -> bool:
    node = group[0]
    short = len(group) == 1 and node.end - node.start <= _NO_TIME_NS
    return short and not node.children and node.parent is not None and span_call_id(group) is None


def _agree(one: Node, two: Node) -> bool:
    """Do these tell the same of what was given and came back, if both tell it?"""
    given = [arguments_of(n.span.arguments)[0] for n in (one, two)]
    gave = [n.span.result for n in (one, two)]
    return all(None in told or told[0] == told[1] for told in (given, gave))


_NO_TIME_NS = 1_000_000
_SOON_NS = 50_000_000


def _is_told_by(node: Node, group: list[Node]) -> bool:
    """May this be of the execution that these tell of, by its name?"""
    names, own = {n.span.tool for n in group if n.span.tool}, node.span.tool
    return not names or own is None or any(same_name(own, n) or served_as(own, n, node) for n in names)


def _first_answers(nodes: list[Node]) -> dict[int, int]:
    """By what has model calls below it, when the first of these ended."""
    first: dict[int, int] = {}
    for call in sorted((n for n in nodes if n.kind == LLM), key=lambda n: n.end):
        above = call.parent
        while above is not None and id(above) not in first:
            first[id(above)] = call.end
            above = above.parent
    return first


def _asked_within(node: Node, outer: Node, answered: dict[int, int]) -> bool:
    """Did an agent in that tool call it again, once a model had answered, or while it did, as one tells of both by ids
    of their own? Layers of one call are given the same."""
    first = answered.get(id(outer))
    ids = {outer.span.call_id, node.span.call_id} - {None}
    if first is not None and len(ids) > 1 and outer.span.scope == node.span.scope:
        return True
    if first is None or first > node.start:
        return False
    given = {to_json(told) for n in (outer, node) if (told := arguments_of(n.span.arguments)[0])}
    return len(ids) > 1 or len(given) > 1 or len({outer.agent, node.agent} - {None}) > 1


def kit(scope: str) -> str:
    """What tells of a failed function and of the model that asked for it has one name here."""
    return scope.partition(".")[0] if in_two_scopes(scope) else scope


def own_up(nodes: list[Node], calls: list[ModelCall]) -> None:
    """A span that failed before it could tell anything of itself (Braintrust, of LangChain4j's tools) ran the tool that
    it is named as, if that was asked for before and the instrumentation is the one that tells of models or tools."""
    bare = [n for n in nodes if n.kind is None and failure(n) is not None]
    if not bare:
        return
    scopes = {kit(n.span.scope) for n in nodes if n.kind in (LLM, TOOL)}
    asked: dict[str, int] = {}
    for call in calls:
        for request in call.asked:
            name = spelling(request.name or "")
            asked[name] = min(asked.get(name, call.end), call.end)
    for node in bare:
        name = spelling(node.span.name)
        if name and kit(node.span.scope) in scopes and asked.get(name, node.end) < node.end:
            node.kind = TOOL


def _of_each(group: list[Node]) -> list[list[Node]]:
    """One span of several calls, which joins their names (AgentScope for Java), as a span of each. What became of them
    it tells of all, so of none."""
    names = (group[0].span.tool or "").split(", ") if len(group) == 1 else []
    if len(names) < 2 or not all(_NAME.fullmatch(name) for name in names):
        return [group]
    span, ids = group[0].span, (group[0].span.call_id or "").split(", ")
    ids = ids if len(ids) == len(names) else []
    found = []
    for name, call_id in zip_longest(names, ids):
        node = copy(group[0])
        node.span = span._replace(tool=name, call_id=call_id, arguments=None, result=None, tool_error=OF_ALL)
        found.append([node])
    return found


_NAME = late(r"[\w.-]+")
OF_ALL = "of all"
"""A flag of what failed, that says nothing of this call by itself."""


def _with_servers(found: list[list[Node]]) -> list[list[Node]]:
    """The executions, each with its server's span: one that knows nothing of the caller's (a server in the caller's own
    process) stands beside it, or beside the agent that called it, within its time, and has the end of its name. Nothing
    else is known of one whose client's span has not come (some leave all clients' spans out), nor of the protocol's own
    spans of a call that have lost what was around them. Each is of one call."""
    servers = [g for g in found if (len(g) == 1 and server_alone(g[0])) or _protocol_alone(g)]
    if not servers or len(servers) == len(found):
        return found
    theirs = {id(group) for group in servers}
    callers: dict[int, list[list[Node]]] = {}  # by what holds them
    for group in found:
        if id(group) not in theirs:
            callers.setdefault(id(group[0].parent), []).append(group)
    for some in callers.values():
        some.sort(key=_begins)
    taken = set[int]()
    for group in servers:
        _serve(group, callers.get(id(group[0].parent), []), taken)
    left = [group for group in servers if group and (group[0].parent is not None or group[0].orphan)]
    if left:
        every = sorted((group for some in callers.values() for group in some), key=_begins)
        for group in left:
            _serve(group, every, taken)
    return [group for group in found if group]


def _serve(group: list[Node], near: list[list[Node]], taken: set[int]) -> None:
    """Lay a server's span to the call of these, by their begin, that it was made for, if there is one."""
    node = group[0]
    began = bisect_right(near, node.start, key=_begins)
    for other in reversed(near[max(0, began - _NEAR) : began]):
        caller = other[0]
        if id(other) in taken or node.end > caller.end or not _serves(node, caller):
            continue
        beside = caller.parent is node.parent or any(n is node.parent for n in caller.ancestors())
        free = not _is_served(other) and (server_alone(node) or not any(of_mcp(n.span.scope) for n in other))
        if beside or (_cut_off(node, caller) and caller.span.trace_id == node.span.trace_id and free):
            taken.add(id(other))
            other.extend(group)
            group.clear()
            return


def _protocol_alone(group: list[Node]) -> bool:
    """Is this what MCP's own kit tells of a call, without its id, whose frame has not come?"""
    return _adrift(group[0]) and all(of_mcp(n.span.scope) and n.span.call_id is None for n in group)


def _cut_off(node: Node, caller: Node) -> bool:
    """Is what is known of a server's span begun in a step that has not come, and the caller no part of that?"""
    top = node.top()
    return top.orphan and all(n is not top for n in (caller, *caller.ancestors()))


def _begins(group: list[Node]) -> int:
    return group[0].start


def _serves(node: Node, caller: Node) -> bool:
    name, outer = node.span.tool, caller.span.tool
    if not name or not outer or (spelling(outer) == spelling(name) and not (node.orphan or _cut_off(node, caller))):
        return False
    return served_as(name, outer, node)


def _is_served(group: list[Node]) -> bool:
    return any(n.span.span_kind == _SERVER and not relays_tools(n.span.scope) for n in group)


_NEAR = 64  # calls that began last before it
_SERVER = 2  # OTLP's kind of a span


def _open_holders(nodes: list[Node]) -> None:
    """A tool span that names no tool and has several tools in it, or one of another name, only holds them (Eino)."""
    inside: dict[int, list[Node]] = {}
    bare = [n for n in nodes if n.kind == TOOL and not n.span.tool and not n.span.call_id]
    if not bare:
        return
    for node in nodes:
        outer = same_step(node, TOOL) if node.kind == TOOL else None
        if outer is not None:
            inside.setdefault(id(outer), []).append(node)
    for holder in bare:
        held = inside.get(id(holder), ())
        names = {spelling(name) for n in held if (name := span_name([n])) is not None}
        own = span_name([holder])
        if names and (len(held) > 1 or (own is not None and spelling(own) not in names)):
            holder.kind = CHAIN


def _open_programs(nodes: list[Node]) -> None:
    """A tool span that holds the first model call and the tools it asks for was called by the program itself."""
    first = min((n for n in nodes if n.kind == LLM), key=lambda n: n.start, default=None)
    holders = [n for n in first.ancestors() if n.kind == TOOL] if first is not None else []
    for node in holders[-_PROGRAMS:]:
        if node.span.call_id or node.orphan:
            continue
        below, above = node.below(), list(node.ancestors())
        kinds = {n.kind for n in below if n.span.tool is None or not same_name(n.span.tool, node.span.tool)}
        if kinds >= {LLM, TOOL} and not any(n.own_agent or n.orphan for n in (*above, *below)):
            node.kind = CHAIN


_PROGRAMS = 8  # in each other, at the most


def _tried_again(nodes: list[Node]) -> None:
    """Where an event of a tool says that it is tried again (BeeAI for JavaScript), it did not end with the error that
    came before."""
    for node in nodes:
        again = _AGAIN.match(node.span.name) if node.kind == CHAIN else None
        if again is None:
            continue
        failed = [
            n
            for n in (node.parent.children if node.parent is not None else nodes)
            if n.kind == TOOL
            and n.parent is node.parent
            and n.start <= node.start
            and n.span.name.startswith(f"{again[1]}.error-")
            and n.span.arguments == node.span.arguments
        ]
        if failed:
            max(failed, key=lambda n: n.start).kind = CHAIN


def _tried_by_name(nodes: list[Node]) -> None:
    """A tool that was given its argument by place and failed, and then the same by name, was asked for once: LlamaIndex
    tries a tool of one argument so."""
    waiting: dict[tuple[int, str], list[tuple[Node, list[Any]]]] = {}
    for node in sorted((n for n in nodes if n.kind == TOOL), key=lambda n: n.start):
        raw, key = node.span.arguments or "", (id(node.parent), spelling(node.span.tool or ""))
        if waiting.get(key):
            given = list((arguments_of(raw)[0] or {}).values())
            for failed, placed in waiting[key]:
                if placed == given and node.start >= failed.end:
                    failed.kind = CHAIN
            waiting[key] = [pair for pair in waiting[key] if pair[0].kind == TOOL]
        told = parse_json(raw) if '"args"' in raw and not node.span.call_id and failure(node) is not None else None
        if isinstance(told, dict) and told.keys() == {"args"} and isinstance(told["args"], list):
            waiting.setdefault(key, []).append((node, told["args"]))
            del waiting[key][:-_TRIES]


_TRIES = 8  # of a tool that are remembered while it is tried again

_AGAIN = late(r"(tool\..+)\.retry-\d+$")


def server_alone(node: Node) -> bool:
    """Is this a server's span of a tool, without the id of the call?"""
    return node.span.span_kind == _SERVER and node.span.call_id is None


def told_apart(node: Node) -> bool:
    """Is this a tool's span with arguments and no id, of which another may tell, too?"""
    named = node.kind == TOOL and span_call_id([node]) is None and span_name([node]) is not None
    return named and bool(span_fact([node], "arguments"))


def served_as(name: str, outer: str, node: Node) -> bool:
    """Is this a protocol's span of a tool that the agent knows by a longer name: its server's, then its own?"""
    short, long = spelling(name), spelling(outer)
    return bool(short) and long.endswith(short) and _PROTOCOL.search(f"{node.span.name} {node.span.scope}") is not None


def client_alone(nodes: list[Node]) -> bool:
    """Do none but the client of MCP's own kit, and what is the protocol's around it, or none but a gateway of the
    protocol's tell of this? They end well, whatever a server answered that a tool came to."""
    if all(relays_tools(n.span.scope) for n in nodes):
        return True
    theirs = all(_PROTOCOL.search(f"{n.span.name} {n.span.scope}") for n in nodes)
    return theirs and not any(n.span.span_kind == _SERVER for n in nodes) and of_mcp(nodes[-1].span.scope)


_PROTOCOL = late(r"(?i:tools/call|(?<![a-z])mcp(?![a-z]))|(?<![A-Za-z])MCP(?=[A-Z][a-z])")


def span_fact(nodes: list[Node], fact: str) -> Any:
    for node in nodes:
        value = getattr(node.span, fact)
        if value is not None and value != "":
            return value
    return _said(nodes, _AS_MESSAGES[fact]) if fact in _AS_MESSAGES else None


_AS_MESSAGES = {"arguments": "flat_input", "result": "flat_output"}


def _said(nodes: list[Node], family: str) -> Any:
    """What a tool span tells as if it were a model's: the text of its first message (Eino)."""
    for node in nodes:
        for path, value in node.side.families[family].get(node.span.row, ()):
            if path == "0.content":
                return value
    return None


_AROUND = late(
    r"^(?:execute_tool|tool_call|tool\.execute|tool|Tool:|Function:|running tool:?)\s+"
    r"|^(?:mcp\.|gen_ai\.)?(?:execute_tool|tool_call|tool)[.:](?=[\w-]+$)(?!(?:execute|call|run|invoke|use)$)"
    r"|\.(?:__call__|acall|call|run|_run|arun|forward|invoke|ainvoke|tool|execute)$"
)


def span_name(nodes: list[Node]) -> str | None:
    name = span_fact(nodes, "tool")
    if not isinstance(name, str):
        name = _told_around(nodes[0]) or _AROUND.sub("", nodes[0].span.name)  # nothing names the tool but its span
        if _OF_A_CLASS.match(f"{nodes[0].span.scope} {nodes[0].span.name}"):
            return None
        if _ANY_TOOL.match(name) or re.match(NAMED_BY_CLASS, nodes[0].span.scope):
            return None
    return bare_name(name)


_OF_A_CLASS = late(r"mlflow\..*\.__call__$|openinference\.instrumentation\.smolagents [A-Z]\w*$")
"""Scopes and names of spans that bear their tool's class (smolagents)."""


def _told_around(event: Node) -> str | None:
    """The tool of which an event tells how it went, as the step around it names it, or its own name (BeeAI)."""
    named = _EVENT_OF_TOOL.fullmatch(event.span.name)
    if named is None:
        return None
    around = event.parent.span.tool if event.parent is not None and event.parent.kind != TOOL else None
    return around or named[1]


_EVENT_OF_TOOL = late(r"tool\.(?:\w+\.)*(\w+)\.(?:success|error|toolStart)-\d+")


def bare_name(name: str) -> str | None:
    """A tool's name without what surrounds it where a model wrote it; a digest hides one (GitHub's Copilot)."""
    bare = name.strip(" '\"`")
    return None if _DIGEST.fullmatch(bare) else bare or None


_DIGEST = late("[0-9a-f]{64}")


_ANY_TOOL = late(
    r"\s*(?:ai\.toolCall(?: .*)?|\w*FunctionTool(?:\.task)?|tool(?:_|\.)?(?:call|execute|run)?|execute_tool|call_tool"
    r"|tools/call|claude_code(?:\.tool)?(?:\.execution)?|running tools?|function|\{\w*\}|\[\w+\]|\w+\.try_run\(\))\s*$",
    re.I,
)
"""Span names that every tool's span has, or every tool's of a class."""


def span_call_id(nodes: list[Node]) -> str | None:
    found = span_fact(nodes, "call_id")
    if found:
        return str(found)
    for n in nodes:
        hidden = result_call_id(n.span.result) or result_call_id(n.span.arguments)
        if hidden:
            return hidden
        for name, attributes in n.side.events.get(n.span.row, ()):
            if name in ("gen_ai.tool.message", "gen_ai.choice") and isinstance(attributes.get("id"), str):
                return str(attributes["id"])
        if n.span.tool_error == "unknown" and (back := message_around(n)) is not None:
            return str(back["tool_call_id"])
    return None


def message_around(node: Node) -> dict[str, Any] | None:
    """The message that the step around a tool made of what came of it, where it ran no other tool: LangGraph's node of
    tools tells whose request it was and how it went, when the tool's own span keeps the text alone (LangWatch)."""
    step = node.parent
    if step is None or step.kind != CHAIN or sum(n.kind == TOOL for n in step.children) != 1:
        return None
    told = parse_json(step.span.output or "")
    messages = told.get("messages") if isinstance(told, dict) else None
    only = messages[0] if isinstance(messages, list) and len(messages) == 1 else None
    return only if isinstance(only, dict) and isinstance(only.get("tool_call_id"), str) else None
