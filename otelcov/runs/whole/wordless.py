"""Failures of which no word is told."""

from __future__ import annotations

from otelcov.dialects.base import LLM, OTHER, SETUP, TOOL
from otelcov.runs.rules import boundaries as b
from otelcov.runs.trace.tree import Node, exceptions, failure
from otelcov.runs.whole.evidence import Evidence


def untold_failure(run: Evidence, node: Node) -> bool:
    """Did an agent fail without a word of the reason, once all that was asked for had run well? OpenAI's agents do at
    their limit of steps, too, and so may whoever says no more than that it failed."""
    if node.kind in (LLM, TOOL, OTHER, SETUP) or failure(node) is None or _as_what_it_holds(node):
        return False
    said = node.span.status_message or ""
    of_all = said in _KIT_FAILED
    if not of_all and not b.wordless(said):
        return False
    told = exceptions(node)
    again = of_all and bool(told) and all(text == said for _, text in told)
    if not (again or all(b.unsaid(one) for one in told)):
        return False
    if not (again or all(b.wordless(x or "") for x in (node.span.error_text, node.span.error_type))):
        return False
    if run.last is None:
        return bool(run.outcomes) and all(o.status == "ok" for o in run.outcomes)
    if run.last.error is not None:
        return False
    asked = run.left(run.last)
    return (bool(asked) or not of_all) and all(o.status == "ok" for o in asked)


def _as_what_it_holds(node: Node) -> bool:
    """Is this no span of an agent's, and holds no step, or one that failed? Then it tells nothing of its own."""
    if node.kind is not None:
        return False
    steps = [n for n in node.children if n.kind is not None or any(x.kind is not None for x in n.below())]
    return not steps or any(failure(n) is not None for n in steps)


_KIT_FAILED = ("Error in agent run", "agent run failed")
"""What OpenAI's Agents SDK says of any failure, and Weave of any of Claude's."""
