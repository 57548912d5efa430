"""Would a tool call have shown itself in a run?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import takewhile

from otelcov.dialects.base import AGENT, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Result
from otelcov.runs.llm.left_out import asked_untold, last_only, served_left_out
from otelcov.runs.llm.model_call import ModelCall, finish_reason
from otelcov.runs.llm.numbered import number
from otelcov.runs.rules import boundaries as b
from otelcov.runs.rules.answers import drops_beside_text
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.rules.habits import asks_for_itself, leaves_open, stops_to_ask, tells_until_one_fails
from otelcov.runs.trace.tree import Node, failure
from otelcov.runs.whole.evidence import Evidence, worker


def tools_visible(
    nodes: list[Node],
    calls: list[ModelCall],
    executions: list[list[Node]],
    asking: Collection[int | None],
    incomplete: set[str],
) -> bool:
    """Would a tool call have shown itself in this run? `asking` are the turns that tool calls are of."""
    blind = [
        c
        for c in calls
        if (c.error is None or _answered(c))
        and not c.asked
        and (c.outputs is None or c.text is None or asks(c.finish) or asked_untold(c))
    ]
    for c in blind:
        if c.truncated_output:
            incomplete.add("truncated values")
        elif c.cut:
            incomplete.add("attributes dropped")
    more = _more_came(calls)
    lossy = [c for c in calls if served_left_out(c)] + _came_unasked(calls) + more
    mum = [c for c in blind if c.finish is None and c.outputs is None and c.error is None]
    if lossy or (mum and _broke_at_last(mum, calls)):
        incomplete.add("tool calls not visible")
    if executions:
        left = bool(more) or any(_without_end(c) for c in calls) or (not calls and any(_left_open(n) for n in nodes))
        if left or any((asks(c.finish) or asked_untold(c)) and c.turn not in asking for c in blind):
            incomplete.add("tool calls not visible")  # what it asked for was not run, or somewhere else
        if not calls and any(_fell_silent(n) for tools in executions for n in tools):
            incomplete.add("tool calls not visible")
        return not left
    if not calls:
        incomplete.add("no model call visible")
        return False
    doubtful = [c for c in blind if not b.final(c.finish) or (c.google and b.letters(c.finish) == "stop")]
    mute = [c for c in calls if c.outputs is None and c.error is None and c.inputs is None]
    doubtful += [c for c in blind if c.outputs is None and any(stops_to_ask(n.span.scope) for n in c.layers)]
    doubtful += [c for c in blind if c.outputs is None and _may_have_served(c)]
    doubtful += lossy + [c for c in mute if c.node.parent is None]  # the end of a longer run, perhaps
    doubtful += _went_on_unseen(calls, mute) + [c for c in calls if c.text is not None and _NEXT_TOOL.search(c.text)]
    doubtful += [c for c in calls if c.loops or c.several or asked_untold(c)]
    doubtful += calls if any(asks_for_itself(n.span.scope) for n in nodes) else []
    doubtful += [c for c in calls if last_only(c) and not c.node.within(AGENT)]
    if not doubtful:
        return True
    incomplete.add("tool calls not visible")
    return any(c.asked for c in calls)


def _broke_at_last(mum: list[ModelCall], calls: list[ModelCall]) -> bool:
    """Did an agent fail, by no limit, after one of these calls of which nothing is told, with no other since? What it
    asked for may not have run."""
    newest = {id(agent): c for c in calls if (agent := worker(c)) is not None}
    agents = ((worker(c), c) for c in mum)
    last = [a for a, c in agents if a is not None and newest.get(id(a)) is c]
    return any((why := failure(a)) is not None and not b.limits(f"{why[0]}: {why[1]}") for a in last)


def _answered(call: ModelCall) -> bool:
    """Did the model answer, as the tokens say, though the call failed? Its kit could not read that, perhaps."""
    return bool(call.output_tokens) and call.outputs is None


def _left_open(agent: Node) -> bool:
    """Did an agent end on a request for tools, which may wait for somebody?"""
    return agent.kind == AGENT and asks(finish_reason(agent.span.finish))


def _fell_silent(tool: Node) -> bool:
    """Did a tool fail after which nothing is told of its agent but that this ended well?"""
    agent = tool.parent
    if tool.span.status_code != 2 or agent is None or not tells_until_one_fails(tool.span.scope):
        return False
    well = agent.kind == AGENT and agent.span.status_code != 2
    return well and all(n.start < tool.end for n in reversed(agent.children))


def _without_end(call: ModelCall) -> bool:
    """Did a model's step never come to an end, as far as is told (Mastra, of an agent that waits)?"""
    if call.error is not None or call.asked or not leaves_open(call.node.span.scope):
        return False
    return call.outputs is None and call.finish is None and call.output_tokens is None


def _came_unasked(calls: list[ModelCall]) -> list[ModelCall]:
    """Those that were told what came of a tool since the first of them was asked, which no answer and no history asks
    for: it was asked for beside a text (Langtrace, of OpenAI's client)."""
    if not any(drops_beside_text(n.span.scope) for c in calls for n in c.layers):
        return []
    known = {r.id for c in calls for r in c.asked} | {r.id for m in calls[0].inputs or () for r in m.results}
    known |= {r.id for c in calls for m in c.inputs or () for r in m.requests}
    return [c for c in calls[1:] if any(r.id and r.id not in known for m in c.inputs or () for r in m.results)]


def _more_came(calls: list[ModelCall]) -> list[ModelCall]:
    """Those that were told what came of more tools than ran in the span of the call before, whose answer leaves out
    what it asks for (TanStack AI): one was nobody's, or has not come."""
    found = []
    before: dict[int, ModelCall] = {}
    for c in calls:
        if c.node.parent is None or number(c.node) is None:
            continue
        prior = before.get(id(c.node.parent))
        before[id(c.node.parent)] = c
        if prior is None or prior.asked or not asks(prior.finish) or any(x.requests for x in c.inputs or ()):
            continue
        if len(_newest(c)) > sum(n.kind == TOOL for n in prior.node.children):
            found.append(c)
    return found


def _newest(call: ModelCall) -> list[Result]:
    """What came back since the last answer that a history shows."""
    found = list[Result]()
    for x in reversed(call.inputs or ()):
        if x.role == "assistant":
            break
        found += x.results
    return found


def _may_have_served(call: ModelCall) -> bool:
    """Is this an answer, one of OpenAI's Responses or of Anthropic's, that may hold calls which the provider ran?"""
    return any((n.span.response_id or "").startswith(("resp_", "msg_")) for n in call.layers)


_NEXT_TOOL = late(r"\[\[ ## next_tool_name ## \]\]\s*(?!finish\b)\w")
"""How DSPy's ReAct has a model ask for a tool, by text alone."""


def _went_on_unseen(calls: list[ModelCall], mute: list[ModelCall]) -> list[ModelCall]:
    """Those of the calls that tell neither what they were asked nor what they answered after which the same agent asked
    again: for the sake of a tool's result, perhaps (Gemini ends to have tools called as it ends well)."""
    last = {c.agent: c for c in calls}
    return [c for c in mute if last[c.agent] is not c]


def answered_in_one_span(run: Evidence, executions: list[list[Node]]) -> bool:
    """A model span stands for several calls: the last one holds the run's answer and asks for tools that ran inside it,
    or one answers in words, while a tool ran inside it that this answer does not ask for: another did, unless it ended
    to have tools called, so that its words alone are told. So may one that is named as an agent's whole work, and in
    which several tools ran (OpenInference of an ADK that it does not know)."""
    if not executions:
        return False
    around = Counter[int]()
    for nodes in executions:
        for n in takewhile(lambda n: around[id(n)] < 2, nodes[0].ancestors()):  # several are several
            around[id(n)] += 1
    holding = [call for call in run.calls if around[id(call.node)] and call.node is not run.root]
    answer = run.output
    return any(c is run.last and c.requests and answer and c.text == answer for c in holding) or any(
        (c.text and not c.asked and not asks(c.finish))
        or (around[id(c.node)] > 1 and c.node.span.name.startswith("invoke_agent "))
        for c in holding
    )
