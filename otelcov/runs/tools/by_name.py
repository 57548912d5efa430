"""Runs of tools in spans that nobody explains, by the names that those bear: what a program traces by hand, or by a
decorator, tells no more of a function than its name."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Container
from functools import lru_cache

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.dialects.genai import BEFORE
from otelcov.ground.patterns import late
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.executions import kit, span_name
from otelcov.runs.trace.above import Above
from otelcov.runs.trace.tree import Node, failure, spelling


def name_tools(nodes: list[Node], calls: list[ModelCall]) -> None:
    """A span that nobody explains ran the tool that it is named as, by itself or between words that say so
    (`tool: look`, `look.run`), where the model that was asked last in the same agent had asked for that: as many as it
    asked for, of a tool that no span is known to have run."""
    asked = {spelling(r.name): r.name for call in calls for r in call.asked if r.name}
    if not calls or any(call.outputs is None and call.error is None for call in calls):
        _told_by_hand(nodes, asked, calls)
    bare = [n for n in nodes if n.kind in (None, CHAIN) and (n.parent is not None or n.orphan)] if asked else []
    if not bare:
        return
    for n in nodes:
        if n.kind == TOOL:
            asked.pop(spelling(n.span.tool or span_name([n]) or ""), None)
    found = [(n, name) for n in bare if (name := next((x for x in _named(n) if x in asked), None))]
    kits = {kit(n.span.scope) for n in nodes if n.kind in (LLM, TOOL, AGENT)}
    found = [(n, x) for n, x in found if (n.kind is None or _leaf(n)) and not (_remote(n) and _librarys(n, x, kits))]
    if not found:
        return
    within: dict[int | bytes, list[ModelCall]] = {}
    asks, runs = _holder(AGENT, TOOL), _holder(AGENT, LLM, TOOL)
    for call in sorted(calls, key=_when):
        for holder in {*map(id, call.layers), asks(call.node)}:
            within.setdefault(holder, []).append(call)
    ran: dict[tuple[int, str], tuple[ModelCall, list[Node]]] = {}
    for node, name in found:
        some = within.get(runs(node), [])
        before = bisect_right(some, (node.start, node.start), key=_when)  # at once with it, only what was over
        newest = some[max(before - _BACK, 0) : before][::-1]
        if (asker := next((c for c in newest if not _given_other(node, name, c)), None)) is not None:
            ran.setdefault((id(asker), name), (asker, []))[1].append(node)
    for (_, name), (call, some_ran) in ran.items():
        outer = _outermost(some_ran) if len(some_ran) > 1 else some_ran
        if len(outer) <= sum(spelling(r.name or "") == name for r in call.asked):
            for node in outer:
                gave = node.span.output if node.span.result is None else node.span.result
                went = node.span.tool_error or (None if gave else "untold")
                node.kind = TOOL
                node.span = node.span._replace(tool=asked[name], result=gave, tool_error=went)
                if failure(node) is not None and _librarys(node, name, kits):
                    node.inherited, node.span = True, node.span._replace(tool_error="unknown")


def _outermost(nodes: list[Node]) -> list[Node]:
    """Those of them that are in no other."""
    known = {id(n) for n in nodes}
    held = Above(lambda above, within: within or id(above) in known, False)
    return [n for n in nodes if not held(n)]


def _when(call: ModelCall) -> tuple[int, int]:
    return call.start, call.end


def _told_by_hand(nodes: list[Node], asked: Container[str], calls: list[ModelCall]) -> None:
    """Where not all is told of what models asked for: a span that nobody explains ran the tool that an attribute names,
    if its own name says that one was called, and neither another span nor an answer tells of a tool by that name. In a
    trace of which no model and no agent is known a server did what nobody here asked for. A call within which one ran
    may stand for several."""
    hand = [n for n in nodes if n.kind is None and n.span.tool and n.parent is not None and _calls_tool(n)]
    hand = [n for n in hand if n.start < n.end]  # what begins, or is over, is no call of its own
    if not hand or not any(n.kind in (LLM, AGENT) for n in nodes):
        return
    told = {spelling(n.span.tool or span_name([n]) or "") for n in nodes if n.kind == TOOL}
    around = {id(call.node): call for call in calls}
    for node in hand:
        name = spelling(node.span.tool or "")
        if name in told or name in asked or not _leaf(node):
            continue
        if not node.within(TOOL):
            node.kind = TOOL
            for a in node.ancestors():
                if id(a) in around:
                    around[id(a)].several = True
            went = node.span.tool_error or (None if node.span.status_code else "untold")
            node.span = node.span._replace(tool_error=went)


def _calls_tool(node: Node) -> bool:
    """Does a span's name say that a tool was called, with or without the tool's own name at its end?"""
    said = node.span.name.removesuffix(node.span.tool or "")
    return _CALLS_TOOL.match(said) is not None and not re.search(BEFORE, said)


_CALLS_TOOL = late(
    r"(?:gen_ai\.)?(?:[a-z]{1,20}[. _/:-])?"
    r"(?:execut(?:e|ing)|call(?:ing)?|run(?:ning)?|invok(?:e|ing)|use)?[. _/:-]{0,2}tools?"
    r"[. _/:-]{0,2}(?:call|exec(?:ut(?:e|ion))?|run|invo(?:ke|cation)|use)?[. _/:-]{0,2}$",
    re.I,
)


def _leaf(node: Node) -> bool:
    """Is this a function of the program's, whatever a decorator calls it, in which nothing else is known to have been
    done?"""
    unread = list(node.children)
    for n in unread:
        if n.kind is not None:
            return False
        unread.extend(n.children)
    return True


def _named(node: Node) -> tuple[str, ...]:
    """What tool a span may have run: the one that an attribute names, unless it is about that, or by its own name."""
    told = node.span.tool
    named = (spelling(told),) if told and not re.search(BEFORE, node.span.name) else ()
    return named + cores(node.span.name)


def _librarys(node: Node, tool: str, kits: set[str]) -> bool:
    """May this be a library's own word for what it does, which is a tool's name, too (`search`)?"""
    return kit(node.span.scope) not in kits and spelling(node.span.name) == tool


def _remote(node: Node) -> bool:
    return node.span.span_kind > _INTERNAL


_INTERNAL = 1  # OTLP's kind of a span


def _given_other(node: Node, tool: str, call: ModelCall) -> bool:
    """Was what ran given other values than a model asked for, by the names of what it asked to be given?"""
    mine = arguments_of(node.span.arguments or node.span.input)[0]
    asked = [arguments_of(r.arguments)[0] for r in call.asked if spelling(r.name or "") == tool]
    return mine is not None and bool(asked) and all(a and a.keys() == mine.keys() and a != mine for a in asked)


_BACK = 8  # calls of models among which the one is looked for that asked with what a span was given


def _holder(*kinds: str) -> Callable[[Node], int | bytes]:
    """The innermost span of these kinds that one is in, or the outermost of all, or what that has lost."""
    inner = Above[Node | None](lambda above, found: above if found is None or above.kind in kinds else found, None)

    def holder(node: Node) -> int | bytes:
        found = inner(node) or node
        lost = found.span.parent_span_id if found.orphan and (found is node or found.kind not in kinds) else None
        return lost or id(found)

    return holder


@lru_cache(maxsize=4096)
def cores(name: str) -> tuple[str, ...]:
    """What a span's name may say that it ran, with and without words around it that say no more than that it did."""
    found, left = [], name
    if len(name) > _LONGEST:
        return ()
    for _ in range(_WORDS):
        found.append(spelling(left))
        end = _AFTER.search(left)
        found += [spelling(left[: end.start()])] if end is not None and end.start() else []
        begin = _AHEAD.match(left)
        if begin is None or begin.end() == len(left):
            break
        left = left[begin.end() :]
    return tuple(found)


_WORDS, _LONGEST = 4, 256  # before a name, and letters of all
_SAYING = r"agent|tools?|functions?|actions?|call(?:ing)?|execut(?:e|ing|ion)|run(?:ning)?|invok(?:e|ing)|use|task|step"
_AHEAD = late(rf"(?:{_SAYING}|toolcall)[\W_]+", re.I)
_AFTER = late(rf"(?:[\W_]+(?:{_SAYING}))?(?:\(.*\))?$", re.I)
