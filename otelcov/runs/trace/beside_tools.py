"""Loops that a tool ran, whose kit does not hand on in which span they are begun (TanStack AI): they lie beside that
whose tool it was. Each step of such a loop bears the loop's name and a number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from otelcov.dialects.base import CHAIN, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.content.jsontext import parse_json, to_json
from otelcov.runs.trace.tree import Node

_STEP = late(r" #\d+$")
_JITTER_NS = 2_000_000  # one of the two clocks tells whole milliseconds
_MOST = 16  # tools that had begun before: what runs in one is not long in coming


def put_in_tools(nodes: list[Node]) -> None:
    """Puts each loop, or a step of one that has not come, into the tool of another in whose time it ran, unless what
    both tell is not the same."""
    steps = [n for n in nodes if n.kind == LLM and " #" in n.span.name and _numbered(n)]
    if not steps:
        return
    tools = [t for n in steps for t in n.children if t.kind == TOOL]
    tools += [n for n in nodes if n.kind == TOOL and n.orphan]  # of a step that has not come
    tools.sort(key=lambda t: t.start)
    starts = [t.start for t in tools]
    loops = {id(loop): loop for n in steps if (loop := n if n.parent is None else n.parent)}
    names = {_STEP.sub("", n.span.name) for n in steps}
    loops |= {id(n): n for n in nodes if n.kind == CHAIN and n.span.name in names}  # whose steps have not come
    for loop in loops.values():
        last = bisect_right(starts, loop.start + _JITTER_NS)
        around = (t for t in reversed(tools[max(last - _MOST, 0) : last]) if loop.end <= t.end + _JITTER_NS)
        tool = next((t for t in around if loop not in t.ancestors() and _may_run(t, loop)), None)
        if tool is None or tool is loop.parent or _of_one_loop(tool, loop):
            continue
        if loop.parent is not None:
            loop.parent.children.remove(loop)
        loop.parent, loop.orphan = tool, False
        tool.children.append(loop)


def _numbered(step: Node) -> bool:
    name = step.parent.span.name if step.parent is not None else _STEP.sub("", step.span.name)
    return step.span.name.startswith(f"{name} #") and _STEP.match(step.span.name, len(name)) is not None


def _of_one_loop(tool: Node, step: Node) -> bool:
    """Are both below a loop that has not come?"""
    asker = tool.parent
    return step.orphan and asker is not None and asker.span.parent_span_id == step.span.parent_span_id


def _may_run(tool: Node, loop: Node) -> bool:
    """Was the loop asked what the tool was given, or did the tool give what it answered? Where neither is told whole,
    it may be."""
    given, came = tool.span.arguments or "", tool.span.result or ""
    asked, said = _said(loop.span.input, "user"), _said(loop.span.output, "assistant")
    told = [bool(asked) and to_json(asked)[1:-1] in given] if asked and given else []
    told += [bool(said) and (said in came or to_json(said)[1:-1] in came)] if said and came else []
    return not told or any(told)


def _said(messages: str | None, role: str) -> str | None:
    """The last words of somebody in what a loop tells of its messages; None where that was cut."""
    told = parse_json(messages) if messages else None
    return next(_texts(told, role), None) if isinstance(told, list) else None


def _texts(messages: list[object], role: str) -> Iterator[str]:
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == role and isinstance(message.get("content"), str):
            yield message["content"]
