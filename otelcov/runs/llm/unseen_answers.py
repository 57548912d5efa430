"""Steps that put out what a model must have said, of whose call no span has come."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import limits
from otelcov.runs.rules.habits import asks_a_model_in_each, is_a_turn
from otelcov.runs.trace.tree import Node, failure

_IN, _OUT = (rf'\\*"{side}_tokens\\*": ?(\d+)' for side in ("input", "output"))
_COUNTED = late(rf'usage_metadata\\*": ?\{{(?:{_IN}, ?{_OUT}|{_OUT}, ?{_IN})')
"""How LangChain writes what a model's message took, as JSON or as JSON in JSON; JavaScript, what it put out first."""


def asked_no_model(step: Node) -> bool:
    """Is this a loop, or a step of one, whose kit asks a model in each, with no model within it? Its span was lost."""
    if step.kind == LLM or step.orphan or not step.span.end:
        return False
    if not asks_a_model_in_each(step.span.scope, step.span.name) and not _later_cycle(step):
        return False
    hollow = _failed_in_a_turn(step) or step.span.name.startswith(_CYCLES)
    return not _holds_a_model(step) and (failure(step) is None or bool(step.children) or hollow)


def failed_unasked_model(step: Node) -> bool:
    """Did a step fail that asks a model, with nothing in it? That call failed, perhaps, and has not come."""
    if step.children or step.kind == LLM or failure(step) is None:
        return False
    if is_a_turn(step.span.scope, step.span.name):
        return _failed_in_a_turn(step)
    return asks_a_model_in_each(step.span.scope, step.span.name) or asked_no_model(step)


def failed_unheard(steps: Collection[Node]) -> bool:
    """Did a step fail in which a model must have been asked, or as one of its name asked one, with nothing in it?"""
    return any(map(failed_unasked_model, steps)) or _failed_where_others_asked(steps)


def _failed_where_others_asked(steps: Collection[Node]) -> bool:
    """Did a step fail with nothing in it but steps that are done, and have nothing in them, by no limit, as one of its
    name holds the call of a model? Its own failed, perhaps."""
    hollow = [(n, why) for n in steps if n.kind == CHAIN and (why := failure(n)) is not None and _hollow(n)]
    failed = {_which(n) for n, why in hollow if not limits(f"{why[0]}: {why[1]}")}
    if not failed:
        return False
    return any(n.kind == LLM and n.parent is not None and _which(n.parent) in failed for n in steps)


def _hollow(step: Node) -> bool:
    return all(n.kind == CHAIN and not n.children and failure(n) is None for n in step.children)


def _which(step: Node) -> tuple[str, str]:
    return step.span.scope, step.span.name


def _failed_in_a_turn(step: Node) -> bool:
    """Is this a turn of OpenAI's kit that failed with nothing in it, and did no guard beside it stop that?"""
    if step.parent is None or not is_a_turn(step.span.scope, step.span.name):
        return False
    return all(n.kind == AGENT or n.span.name == step.span.name for n in step.parent.children)


def _later_cycle(step: Node) -> bool:
    """Is this a cycle of an agent of Strands', and not the first? That one may run what was asked for before."""
    if not step.span.name.startswith(_CYCLES) or step.parent is None:
        return False
    return next(n for n in step.parent.children if n.span.name == step.span.name) is not step


_CYCLES = ("execute_event_loop_cycle", "execute_agent_loop_cycle")


def gave_answer_unseen(steps: Iterable[Node], calls: Collection[ModelCall]) -> bool:
    """Did a step of LangChain's put out a model's message that took as many tokens as no call that is seen, and was it
    not given that, nor asked a model?"""
    told = ((n, n.span.output) for n in steps if n.kind == CHAIN and n.span.output)
    unseen = ((n, found[-1]) for n, text in told if text and (found := _counts(text)))
    known: set[tuple[int | None, int | None]] | None = None
    for step, counted in unseen:
        if known is None:
            known = {(c.input_tokens, c.output_tokens) for c in calls if c.error is None}
            if any(None in x for x in known):
                return False
        if counted in known or _holds_a_model(step):
            continue
        if counted not in _counts(step.span.input or ""):
            return True
    return False


def _counts(text: str) -> list[tuple[int, int]]:
    """The tokens that each message in a text took: what went in, what came out."""
    return [(int(m[1] or m[4]), int(m[2] or m[3])) for m in _COUNTED.finditer(text)]


def _holds_a_model(step: Node) -> bool:
    """Is a model asked within a step, in no tool of it, nor in another step of that name?"""
    within = list(step.children)
    for n in within:
        if n.kind == LLM:
            return True
        if n.kind != TOOL and n.span.name != step.span.name:
            within.extend(n.children)
    return False
