"""Model calls of which no answer is told, and which may have failed."""

from __future__ import annotations

from collections.abc import Collection

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.llm.reasons import cut_off
from otelcov.runs.rules.answers import breaks_unsaid, counts_at_the_end, ends_well_unanswered
from otelcov.runs.rules.habits import fails_incomplete, leaves_open, noted_late, sets_no_status, untold
from otelcov.runs.trace.tree import Node, aborted, failure


def unheard(calls: list[ModelCall]) -> list[ModelCall]:
    """Those of which nothing is told, or no answer, where others are told of in the same way, or always are once they
    were answered: they may have failed."""
    silent = {id(c) for c in calls if c.silent}
    if not any(c.error is None and id(c) not in silent for c in calls) and not any(aborted(c.node) for c in calls):
        late = {id(c) for c in calls if any(noted_late(n.span.scope) for n in c.layers)}
        return [c for c in calls if id(c) in silent and (id(c) in late or (c.error is None and _broke(c, calls)))]
    heard = {n.span.scope for c in calls if c.error is None and not c.unanswered for n in c.layers}
    return [
        c
        for c in calls
        if id(c) in silent
        or c.blank
        or (c.unanswered and (all(_heard(n, heard) for n in c.layers) or _in_a_broken_step(c)))
        or (len(calls) == 1 and c.unanswered and _only_asked(c))
        or (c.unanswered and _left_open(c))
        or (c.unanswered and c is calls[-1] and _broke_its_agent(c))
        or cut_off(c)
        or any(map(aborted, c.layers))
        or broken_off(c)
        or (c is calls[-1] and _broke_as_it_streamed(c))
    ]


def broken_off(call: ModelCall) -> bool:
    """Is it not told what an answer used, where that comes with the end of each, or that none came whole?"""
    unused = call.error is None and call.input_tokens is None and call.output_tokens is None
    return unused and any(counts_at_the_end(n.span.scope) or _incomplete(n) for n in call.layers)


def _incomplete(node: Node) -> bool:
    return node.span.status_code == 2 and fails_incomplete(node.span.scope, node.span.name)


def _broke(call: ModelCall, calls: list[ModelCall]) -> bool:
    return _in_a_broken_step(call) or (call is calls[-1] and _broke_its_agent(call))


def _broke_its_agent(call: ModelCall) -> bool:
    """Did the agent fail after this and nothing else?"""
    agent = next((n for n in call.layers[-1].ancestors() if n.kind == AGENT), None)
    if agent is None or failure(agent) is None:
        return False
    return all(n.start < call.end for n in agent.below() if n.kind in (LLM, TOOL))


def _broke_as_it_streamed(call: ModelCall) -> bool:
    """Is neither told why an answer ended nor what it used, where either is, and failed its agent next?"""
    if call.error is not None or (call.finish, call.input_tokens, call.output_tokens) != (None, None, None):
        return False
    return any(breaks_unsaid(n.span.scope) for n in call.layers) and _broke_its_agent(call)


def _left_open(call: ModelCall) -> bool:
    """Is this of a kit that tells why each answer ended, in an agent that does not say that it waits (Mastra)? It was
    stopped, or what it waits for is kept out."""
    if not any(leaves_open(n.span.scope) for n in call.layers):
        return False
    agent = next((n for n in call.node.ancestors() if n.kind == AGENT), None)
    return agent is not None and agent.span.finish != "suspended"


def _only_asked(call: ModelCall) -> bool:
    """Is it told, neither here nor above, that it went well, or what came of it? It may have been broken off as it
    streamed (the AI SDK 7), or have failed with no status set (ellmer)."""
    spans = [n.span for n in (*call.layers, *call.node.ancestors())]
    return all(s.output is None and (s.status_code != 1 or sets_no_status(s.scope)) for s in spans)


def _in_a_broken_step(call: ModelCall) -> bool:
    """Did the step fail that asked, after this and nothing else? A stream that was refused once it was read says that
    it went well (LlamaIndex's own)."""
    step = call.layers[-1].parent
    while step is not None and step.kind == CHAIN and failure(step) is None:
        step = step.parent
    if step is None or step.kind != CHAIN:
        return False
    return all(n.start <= call.start for n in step.below() if n.kind in (LLM, TOOL) and n not in call.layers)


def _heard(node: Node, scopes: Collection[str]) -> bool:
    """Would an answer be told here, or would nothing be told that failed?"""
    if untold(node.span.scope, node.span.status_code):
        return True
    flat = node.span.row in node.side.families["flat_input"]
    return node.span.scope in scopes or (flat and ends_well_unanswered(node.span.scope))
