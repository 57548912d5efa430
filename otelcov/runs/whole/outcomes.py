"""How tools went, as far as only the whole run shows: what was left open, answered for nobody or ended a loop."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable
from itertools import takewhile

from otelcov.dialects.agno import TO_BE_RUN
from otelcov.dialects.base import AGENT, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.agents.charge import ended, top_agents
from otelcov.runs.llm.model_call import ModelCall, finish_reason
from otelcov.runs.rules.boundaries import asks, limits, limits_requests
from otelcov.runs.rules.habits import ends_after_tools, leaves_open, says_of_each, tells_time
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.tools.later import Later, asked_twice
from otelcov.runs.trace.above import Above, nearest
from otelcov.runs.trace.tree import Node, failure, spelling
from otelcov.runs.whole.called_off import broke_uncounted, ended_unsaid
from otelcov.runs.whole.evidence import Evidence, worker


def answered_for_nobody(tools: list[ToolCall], outcomes: list[Outcome], names: set[str] | None) -> list[Outcome]:
    """What came back, as messages alone tell, for calls of tools that the run was not offered: a loop says in words of
    its own, or of an error that names the tool, that nobody has it."""
    if not names:
        return []
    known = {spelling(name) for name in names}
    return [
        o
        for t, o in zip(tools, outcomes, strict=True)
        if (o.status == "ok" or (o.error_kind == "soft" and t.name and t.name in o.message))
        and not t.nodes
        and t.result_of is not t.asked_by
        and spelling(t.name or "") not in known
    ]


def may_have_ended(root: Node, calls: list[ModelCall], tools: list[ToolCall], outcomes: list[Outcome]) -> list[Outcome]:
    """What came of the tools that a run ran last, where it failed after them by no limit, and their spans say neither
    what they gave nor that they went well: one of them may have failed, and taken the run with it."""
    last = _broke_at(root, calls, tools, outcomes)
    return [
        o
        for t, o in last
        if t.nodes and o.status == "ok" and o.result is None and not any(_says_well(n) for n in t.nodes)
    ]


def may_have_thrown(
    root: Node, calls: list[ModelCall], tools: list[ToolCall], outcomes: list[Outcome], offered: Collection[str] | None
) -> list[Outcome]:
    """What came of the tools that a run had and asked for last, where it failed after that by no limit, and no span nor
    message tells of them: one may have run and failed, its span lost, and taken the run with it."""
    if not offered or not any(o.status == "requested" for o in outcomes):
        return []
    last = _broke_at(root, calls, tools, outcomes)
    return [o for t, o in last if o.status == "requested" and not t.nodes and t.answer is None and t.name in offered]


def _broke_at(
    root: Node, calls: list[ModelCall], tools: list[ToolCall], outcomes: list[Outcome]
) -> list[tuple[ToolCall, Outcome]]:
    """The tools that were asked for last in a run that failed since, by no limit and by none of these that is told."""
    failed = any(n.kind != TOOL and failure(n) is not None for n in (root, *top_agents(root)))
    if not calls or calls[-1].error is not None or not failed or _met_a_limit(root, calls[-1]):
        return []
    last = [(t, o) for t, o in zip(tools, outcomes, strict=True) if t.turn == calls[-1].turn]
    return [] if any(o.status == "error" and t.nodes for t, o in last) else last


def _met_a_limit(root: Node, last: ModelCall) -> bool:
    """Does a run, or what in it holds its last answer, say that it failed by a limit? What frames them (a server's
    request) tells no reason."""
    around = (root, *top_agents(root), *last.node.ancestors())
    return any(limits(f"{f[0]}: {f[1]}") for n in around if n.kind != TOOL and (f := failure(n)) is not None)


def may_be_stopped(root: Node, tools: list[ToolCall], outcomes: list[Outcome], later: Later) -> list[Outcome]:
    """What came of tools that a run ended with that says neither how it went nor what it put out, and whose spans say
    neither how they went nor what they gave, though they, or others like them, tell what tools are given and give, or
    say of each that went well that it did.
    OpenTelemetry's own spans for Python say nothing of what is cancelled, those of other languages nothing by
    themselves."""
    ends = [(n.span.status_code, n.span.output, n.span.finish, failure(n)) for n in (root, *top_agents(root))]
    if any(status or (output, finish, failed) != (None, None, None) for status, output, finish, failed in ends):
        return []
    telling = {n.span.scope for t in tools for n in t.nodes if n.span.result}
    newest = max((t.start for t in tools), default=0)  # where no model call is told
    return [
        o
        for t, o in zip(tools, outcomes, strict=True)
        if (o.status, o.result, t.answer) == ("ok", None, None)
        and t.nodes
        and (not later.asked_after(t) if t.turn is not None else later.none and t.start == newest)
        and all(not n.span.status_code and n.span.tool_error is None and not n.span.result for n in t.nodes)
        and any(n.span.scope in telling or n.span.arguments or says_of_each(n.span.scope) for n in t.nodes)
        and not any(tells_time(n.span.scope) for n in t.nodes)
    ]


def lost_with_others(run: Evidence) -> list[Outcome]:
    """What came of tools that were asked for, of which no span nor message tells, where not all spans have come: theirs
    may be among those. Of a run whose root came others miss their parents; or nothing failed with it, in which it did,
    of what was offered; or it met a limit that comes after them; or the answer did not that must have come after tools
    of the same turn; or the step that came after them is told in part, or not at all; or a loop puts out what they
    brought."""
    asked = [
        (t, o)
        for t, o in zip(run.tools, run.outcomes, strict=True)
        if o.status == "requested" and not t.nodes and t.answer is None and t.asked_by is not None
    ]
    if not asked:
        return []
    if broke_uncounted(run) or (not run.root.orphan and any(n.orphan and _holds_a_step(n) for n in run.nodes)):
        return [o for _, o in asked]
    if broke_unseen(run):
        offered = {spelling(name) for name in run.offered or ()}
        return [o for t, o in asked if t.asked_by is run.last and spelling(t.name or "") in offered]
    if answered_unseen(run) or _stopped_after_tools(run):
        return [o for t, o in asked if t.asked_by is run.last]
    ran = {spelling(t.name) for t, o in run.done if t.nodes and t.name and o.status in ("ok", "error")}
    had = ran | {spelling(name) for name in run.offered or ()}
    begun = [c.start for c in run.calls]
    newest = {id(worker(c)): c for c in run.calls}
    done = (
        _came_back(t)
        or (_done_with(t, run, begun, ran, had) and not asked_twice(t, run.calls))
        or _ended_after(t, ran)
        or _stopped_below(t, newest)
        for t, _ in asked
    )
    return [o for (_, o), over in zip(asked, done, strict=True) if over]


def _came_back(tool: ToolCall) -> bool:
    """Does the loop around who asked for it put out that something came back for this call (the AI SDK 7)?"""
    outputs = (n.span.output or "" for n in tool.asked_by.node.ancestors()) if tool.asked_by is not None else ()
    told = [text for text in outputs if tool.call_id and f'"{tool.call_id}"' in text and _RESPONSE in text]
    return bool(told) and any(re.search(rf'{_RESPONSE}[^{{}}]*"{re.escape(tool.call_id or "")}"', x) for x in told)


_RESPONSE = '"tool_call_response"'


def _holds_a_step(node: Node) -> bool:
    return any(n.kind in (LLM, TOOL, AGENT) for n in (node, *node.below()))


def _done_with(tool: ToolCall, run: Evidence, begun: list[int], ran: set[str], had: set[str]) -> bool:
    """Did the loop that asked for a tool that it had go on to ask a model whose history is not told to its end; or end
    as one does whose tools are done, at a limit, too, of which this one `ran` before (the AI SDK)? What nobody there
    runs, as far as is told what it has, another is left to."""
    asker, name = tool.asked_by, spelling(tool.name or "")
    loop = asker.node.parent if asker is not None else None
    if asker is None or loop is None or (name not in had and run.offered is not None):
        return False
    after = (run.calls[at] for at in range(bisect_left(begun, asker.end), len(begun)))
    then = next((c for c in after if c.node.parent is loop), None)
    if then is not None:
        return then.truncated_input or then.cut
    ended = failure(loop) is None and asks(finish_reason(loop.span.finish))
    return ended and name in ran and ends_after_tools(loop.span.scope, loop.span.name)


def _ended_after(tool: ToolCall, ran: set[str]) -> bool:
    """Did who asked for a tool that `ran` before come to an end, in a kit that says where one waits or was called off
    (Mastra), and did not fail?"""
    asker = tool.asked_by
    if asker is None or not leaves_open(asker.node.span.scope) or spelling(tool.name or "") not in ran:
        return False
    agent = next((n for n in asker.node.ancestors() if n.kind == AGENT), None)
    return agent is not None and agent.span.output is not None and failure(agent) is None and not ended(agent)


def _stopped_after_tools(run: Evidence) -> bool:
    """Did what asked a model last fail by a limit that it met once the tools were done?"""
    around = run.last.node.ancestors() if run.last is not None and run.last.error is None else ()
    return _limited(around)


def _stopped_below(tool: ToolCall, newest: dict[int, ModelCall]) -> bool:
    """Did an agent below a tool, which asked for this at last, fail by such a limit?"""
    asker = tool.asked_by
    if asker is None or asker.error is not None or newest.get(id(worker(asker))) is not asker:
        return False
    return _limited(takewhile(lambda n: n.kind != TOOL, asker.node.ancestors()))


def _limited(around: Iterable[Node]) -> bool:
    """Did one of these fail by a limit of requests?"""
    return any(limits_requests(f"{f[0]}: {f[1]}") for n in around if (f := failure(n)) is not None)


def broke_unseen(run: Evidence) -> bool:
    """Did a run fail, by no limit, after its last answer, and no step that came since?"""
    last, told = run.last, failure(run.root)
    if last is None or last.error is not None or told is None or run.root.orphan or _met_a_limit(run.root, last):
        return False
    around = {id(n) for n in (last.node, *last.node.ancestors())}
    return not any(n.start >= last.start and id(n) not in around and failure(n) is not None for n in run.nodes)


def answered_unseen(run: Evidence) -> bool:
    """Did a run put out what neither the model that was asked last said, nor a tool brought, though tools ran which it
    had asked for?"""
    last, output = run.last, run.output
    if last is None or not output or not last.requests:
        return False
    said = [last.text, *(str(o.result) for o in run.outcomes if o.result is not None)]
    if any(x and (_holds(output, x.strip()) or output in x) for x in said):
        return False
    return any(o.status in ("ok", "error") for o in run.left(last))


def _holds(output: str, said: str) -> bool:
    """Is this in what was put out, and no number or word that may stand there by chance?"""
    return said in output and (len(said) >= _TELLING or said == output.strip())


_TELLING = 4  # letters


def _says_well(node: Node) -> bool:
    return node.span.status_code == 1


def left_open(tools: list[ToolCall], outcomes: list[Outcome]) -> None:
    """What an agent waits for did not run, or not to its end; what gave nothing in one that was called off, or waits,
    may not have, either (Mastra: spans of tools end well then). Where it is kept out, a model's call without an end
    tells that."""
    worker_of, leaves = nearest(lambda n: n.kind == AGENT), Above[Texts](_leaves_asked, ())
    for tool, found in zip(tools, outcomes, strict=True):
        if found.status not in ("ok", "unknown") or found.result is not None or tool.answer is not None:
            continue
        node = tool.nodes[0] if tool.nodes else tool.asked_by.node if tool.asked_by is not None else None
        agent = worker_of(node) if node is not None else None
        how = ended(agent) if agent is not None else ""
        told = agent.span.output or "" if agent is not None else ""
        waits = bool(tool.call_id) and f'"{tool.call_id}"' in told
        if how == "suspended" and (waits or (not tool.nodes and TO_BE_RUN in told[:_FRONT])):
            found.status, found.error_kind = "requested", None
        elif tool.nodes and (how in ("suspended", "aborted") or _of_an_open_step(tool.nodes[0])):
            found.status, found.error_kind = "unknown", None
        elif (
            not tool.nodes and tool.call_id and node is not None and any(f'"{tool.call_id}"' in x for x in leaves(node))
        ):
            found.status = "requested"


Texts = tuple[str, ...]


def _leaves_asked(above: Node, found: Texts) -> Texts:
    """What is around a model's call that put out that somebody is to give leave for some (the AI SDK; a loop of
    Microsoft.Extensions.AI)."""
    told = above.span.output
    return (*found, told) if told and _ASKS_LEAVE.search(told) else found


_ASKS_LEAVE = late(r'"(?:tool-approval-request|Microsoft\.Extensions\.AI\.(?:Tool|Function)ApprovalRequestContent)"')


_FRONT = 128  # letters, in which an output begins to say something, as a message of the conventions or alone


def _of_an_open_step(node: Node) -> bool:
    """Did the model whose step this is in never come to an end, as far as is told (Mastra)?"""
    if not leaves_open(node.span.scope) or node.parent is None:
        return False
    asked = [n for n in node.parent.children if n.kind == LLM and n.span.scope == node.span.scope]
    return bool(asked) and all(n.span.finish is None and n.span.output_tokens is None for n in asked)


def ended_a_loop(calls: list[ModelCall], tools: list[ToolCall], outcomes: list[Outcome]) -> list[Outcome]:
    """What came of the tools after which a loop asked no model, where they tell no result and the loop's span does not
    say what they threw, or was called off."""
    out = list[Outcome]()
    for tool, found in zip(tools, outcomes, strict=True):
        loop = tool.nodes[0].parent if tool.nodes and found.status == "ok" and found.result is None else None
        timed = any(tells_time(n.span.scope) for n in tool.nodes)
        if loop is not None and not timed and any(ended_unsaid(n) for n in tool.nodes[0].ancestors()):
            out.append(found)
            continue
        if loop is None or loop.kind == TOOL or loop.span.tool_error != "unknown":
            continue
        if not any(c.node.parent is loop and c.start >= tool.nodes[0].end for c in calls):
            out.append(found)
    return out
