"""Chats of AG2's, each reply in them told as if it were an agent at work: one that runs the tools that another asked
for is none, nor is one that says nothing or lets others speak. Whoever replies asks a model or runs tools, never both.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.runs.rules.habits import in_chats
from otelcov.runs.trace.tree import Node, Trace, failure


def leave_out_replies(trace: Trace) -> set[int]:
    """Replies that are no work of who gives them are steps of the chat: the ids of these nodes."""
    no_work: dict[int, Node] = {}
    running = set[int]()
    for node in reversed(trace.nodes):
        if node.kind != AGENT or not in_chats(node.span.scope):
            continue
        whole = _told_whole(node)  # a group's members are not told so, but whoever runs tools is seen to
        seen = whole or any(n.kind == TOOL or id(n) in running for n in node.children)
        if seen and _runs_tools(node, no_work):
            running.add(id(node))
            no_work[id(node)] = node
        elif whole and (_says_nothing(node) or _lets_speak(node, no_work)):
            no_work[id(node)] = node
    for node in no_work.values():
        node.kind = CHAIN
    return set(no_work)


def _told_whole(node: Node) -> bool:
    """Is this a reply, which tells what was said before it?"""
    return node.span.input is not None and not node.span.dropped


def _runs_tools(node: Node, no_work: Container[int]) -> bool:
    below = [n for n in node.children if n.kind == TOOL or id(n) in no_work]
    return bool(below) and not any(n.kind == LLM for n in node.children)


def _says_nothing(node: Node) -> bool:
    return not node.children and not _said(node) and failure(node) is None


def _said(node: Node) -> str | None:
    return node.span.output_messages or node.span.output


def _lets_speak(node: Node, no_work: Container[int]) -> bool:
    """Does a group's manager let its members speak in turn? To choose them, it has a chat of its own."""
    others = [n for n in node.children if id(n) not in no_work]
    return bool(others) and all(n.kind == AGENT and n.span.agent != node.span.agent for n in others)


def name_askers(trace: Trace) -> None:
    """What a step of a chat runs is the work of who asked for it right before, and not of who holds the chat."""
    for node in trace.nodes:
        for asker, step in pairwise((None, *node.children)):
            if step is None or step.kind != CHAIN or not in_chats(step.span.scope):
                continue
            name, said = (asker.own_agent, _said(asker) or "") if asker is not None else (None, "")
            for tool in _tools(step):
                asked = bool(tool.span.call_id) and f'"{tool.span.call_id}"' in said
                for n in (tool, *tool.below()):
                    n.agent = (name if asked else None) if n.agent == step.agent else n.agent


def _tools(step: Node) -> list[Node]:
    """What a step runs, or the same as another instrumentation tells it."""
    others = (n for n in step.children if n.kind == CHAIN and n.span.scope != step.span.scope)
    told_again = [n for n in others if in_chats(n.span.scope)]
    return [n for one in (step, *told_again) for n in one.children if n.kind == TOOL]
