"""Whether the loop around a run was called off, or broke in a step of which nobody tells."""

from __future__ import annotations

from otelcov.dialects.base import TOOL
from otelcov.runs.agents.charge import ended, top_agents
from otelcov.runs.llm.left_out import finish_cut
from otelcov.runs.llm.model_call import ModelCall, finish_reason
from otelcov.runs.llm.reasons import reasons_told
from otelcov.runs.rules import boundaries as b
from otelcov.runs.rules.answers import says_why
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.trace.above import all_above
from otelcov.runs.trace.tree import Node, aborted, failure
from otelcov.runs.whole.deaths import goes_to_the_model
from otelcov.runs.whole.evidence import Evidence, once
from otelcov.runs.whole.lost_steps import aborted_at_last


@once
def called_off(run: Evidence) -> bool:
    """Did a loop that says why it ended, and what it used, say neither, or no word of the request for tools after which
    nothing came? Who called it off is not told, nor what was under way."""
    last, agents = run.last, (run.root, *top_agents(run.root))
    if any(_never_returned(n) for n in agents) or aborted_at_last(run):
        return True
    if any(ended(n) in ("aborted", "canceled") or any(map(b.called_off, reasons_told(n))) for n in agents):
        return True
    if any(aborted(n) and (last is None or n.end >= last.start) for n in run.nodes if n.kind != TOOL):
        return True
    if last is not None and last.error is not None:
        return False
    told = run.output or run.root.span.output is not None
    waits = last is not None and any("interrupt" in reasons_told(n) for n in last.node.ancestors())
    if last is not None and not (told or waits) and any(_threw_to_the_model(t, o, last) for t, o in run.done):
        return True  # or a limit came
    if broke_uncounted(run):
        return True
    if run.output is not None or (last is not None and not (asks(last.finish) or finish_cut(last))):
        return False
    newest = last.node if last is not None else next((t.nodes[0] for t in run.tools if t.nodes), None)
    loops = [n for n in newest.ancestors() if says_why(n.span.scope, n.span.name)] if newest is not None else []
    if not loops or loops[-1].orphan or failure(loops[-1]) is not None:
        return False
    loop = loops[-1].span
    why = finish_reason(loop.finish)
    if why is None or last is None:
        return why is None
    uncounted = loop.input_tokens is None and loop.output_tokens is None and last.input_tokens is not None
    return uncounted or b.letters(why) != b.letters(last.finish)


@once
def broke_uncounted(run: Evidence) -> bool:
    """Did a loop that says why it ended - tools were asked for - not say what it used, though what its models used is
    told? A step came then that broke off, and nobody tells of it (Langfuse, of streams of the AI SDK 7)."""
    loops = [n for n in (run.root, *top_agents(run.root)) if n.span.scope == _AI and says_why(_AI, n.span.name)]
    newest = max(loops, key=lambda n: n.end, default=None)
    return newest is not None and _uncounted(newest, run)


@once
def delegate_broke_unsaid(run: Evidence) -> bool:
    """The same, of a loop that a tool called: or one that does not say why it ended, and in which no model is seen to
    have failed. Its run may well go on."""
    loops = [n for n in run.nodes if n.span.scope == _AI and says_why(_AI, n.span.name) and n.within(TOOL)]
    broke = [n for n in loops if not n.span.dropped and (ended_unsaid(n) or _uncounted(n, run))]
    told = all_above(c.node for c in run.calls if c.error is not None) if broke else set()
    return any(id(n) not in told for n in broke)


def _uncounted(loop: Node, run: Evidence) -> bool:
    if loop.orphan or failure(loop) is not None or not asks(finish_reason(loop.span.finish)):
        return False
    counted = any(c.input_tokens is not None or c.node.span.dropped for c in run.calls)
    return loop.span.input_tokens is None and loop.span.output_tokens is None and counted


_AI = "gen_ai"  # as the AI SDK names itself from 7 on


def _never_returned(node: Node) -> bool:
    """Does MLflow tell of a function what it was given, and not what it gave?"""
    span = node.span
    return span.tool_error == "unknown" and span.status_code == 1 and span.scope.startswith("mlflow")


def _threw_to_the_model(tool: ToolCall, found: Outcome, last: ModelCall) -> bool:
    return found.error_kind == "hard" and tool.turn == last.turn and goes_to_the_model(tool)


def ended_unsaid(node: Node) -> bool:
    """Is this a loop that was called off, as it does not say why it ended?"""
    if not says_why(node.span.scope, node.span.name) or node.orphan:
        return False
    return finish_reason(node.span.finish) is None and failure(node) is None
