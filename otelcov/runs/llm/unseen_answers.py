"""Steps that put out what a model must have said, of whose call no span has come."""

from __future__ import annotations

import re

from otelcov.dialects.base import CHAIN, LLM, TOOL
from otelcov.runs.rules.habits import asks_a_model_in_each
from otelcov.runs.trace.tree import Node, failure

_COUNTED = re.compile(r'"(?:usage_metadata|token_usage|tokenUsage)\\*": ?\{')
_MESSAGE = re.compile(r'"(?:AIMessage(?:Chunk)?|type\\*": ?\\*"ai)\\*"')
_ID = re.compile(r'"id\\*": ?\\*"([\w.:-]{8,})\\*"')
"""How LangChain writes a model's message, as JSON or as JSON in JSON."""


def asked_no_model(step: Node) -> bool:
    """Is this a loop, or a step of one, whose kit asks a model in each, or did it put out what one said, with no model
    within it? Its span was lost."""
    if step.kind == LLM or step.orphan or not step.span.end:
        return False
    if asks_a_model_in_each(step.span.scope, step.span.name) or _later_cycle(step):
        return not _holds_a_model(step) and (failure(step) is None or bool(step.children))
    return _gave_answer(step)


def _later_cycle(step: Node) -> bool:
    """Is this a cycle of an agent of Strands', and not the first? That one may run what was asked for before."""
    if not step.span.name.startswith(_CYCLES) or step.parent is None:
        return False
    return next(n for n in step.parent.children if n.span.name == step.span.name) is not step


_CYCLES = ("execute_event_loop_cycle", "execute_agent_loop_cycle")


def _gave_answer(step: Node) -> bool:
    """Does a step of LangChain's put out a model's message, with the tokens that it took, which it was not given, and
    is no model asked within it?"""
    told = step.span.output if step.kind == CHAIN else None
    if told is None or _COUNTED.search(told) is None or _holds_a_model(step):
        return False
    *_, last = (None, *_MESSAGE.finditer(told))
    known = _ID.search(told, last.end()) if last is not None else None
    return known is not None and known.group(1) not in (step.span.input or "")


def _holds_a_model(step: Node) -> bool:
    """Is a model asked within a step, in no tool of it, nor in another step of that name?"""
    within = list(step.children)
    for n in within:
        if n.kind == LLM:
            return True
        if n.kind != TOOL and n.span.name != step.span.name:
            within.extend(n.children)
    return False
