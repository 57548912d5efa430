"""What a model asked for last in work that has not come to its end, as where a process was killed."""

from __future__ import annotations

from otelcov.dialects.base import AGENT, LLM, TOOL
from otelcov.runs.llm.model_call import ModelCall


def under_way(asker: ModelCall) -> bool:
    """Would who runs what this asks for be in what has not come? No span that holds it frames the work of an agent: an
    agent's or a tool's, or one in which more was done."""
    outer = asker.layers[-1]
    if any(n.kind in (TOOL, AGENT) for n in outer.ancestors()):
        return False
    top = outer.top()
    if not top.orphan or top is outer:
        return top.orphan
    within = {id(n) for own in asker.layers for n in (own, *own.below())}
    return not any(n.kind in (AGENT, LLM, TOOL) and id(n) not in within for n in top.below())
