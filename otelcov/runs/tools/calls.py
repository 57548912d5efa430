"""Tool calls of a run, from all the evidence there is, each once.

Three witnesses: the model's answer asked for the call, a span (or a nest of them) ran it, a later input brought its
result. They are joined by call id, else by turn, name and arguments. A call that was asked for and neither ran nor
brought anything back was not executed - if this run would have shown it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Request, Result
from otelcov.runs.content.jsontext import Value, to_json
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.left_out import hides_requests
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.answers import holds_providers
from otelcov.runs.rules.habits import tells_repaired, tells_steps
from otelcov.runs.tools.askers import Askers, infer_turn
from otelcov.runs.tools.attempts import differ, gone_on, in_vain, without_vain
from otelcov.runs.tools.call import ToolCall, asks_leave, awaits_flag, awaits_result, short_id
from otelcov.runs.tools.executions import served_as, span_call_id, span_fact, span_name
from otelcov.runs.tools.inputs import read_flags, read_inputs, unseen_siblings
from otelcov.runs.tools.reused import execution
from otelcov.runs.tools.shown_order import as_shown
from otelcov.runs.tools.unnamed import by_number, mute
from otelcov.runs.tools.wanted import Wanted, settle
from otelcov.runs.trace.clocks import tick_ns
from otelcov.runs.trace.tree import Node, same_name, spelling

_UUID = late(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.I)


_PREFIX = late(r"[a-z]{3,}_")  # OpenAI's `call_`, Anthropic's `toolu_`


def _prefixes(ids: Iterable[str | None]) -> set[str]:
    return {found[0] for i in ids if i and (found := _PREFIX.match(i)) is not None}


def merge(model_calls: list[ModelCall], executions: list[list[Node]]) -> list[ToolCall]:
    """All tool calls of one run in canonical order. `model_calls` are sorted and know their turns."""
    calls = _asked(model_calls)
    by_id: dict[str, list[ToolCall]] = {}
    for c in calls:
        if c.call_id:
            for known in dict.fromkeys((c.call_id, short_id(c.call_id, c.name))):
                by_id.setdefault(known, []).append(c)
    blind = any(hides_requests(mc) for mc in model_calls)
    flagged = any(n.span.flagged for mc in model_calls for n in mc.layers)
    if blind:  # requests themselves must be found in later inputs
        read_inputs(model_calls, calls, by_id)
    free = {id(c) for c in calls}
    rest = []
    executions, ids = _of_one_call(executions, model_calls)
    shorter = (short_id(i, span_name(nodes)) for nodes, i in zip(executions, ids, strict=True) if i)
    # Are spans' ids another namespace than messages'?
    strangers = not any(i in by_id for i in (*ids, *shorter) if i) and _prefixes(by_id).isdisjoint(_prefixes(ids))
    made_up = not any(_UUID.match(i) for i in by_id)  # so is an id that only some spans have (OpenLIT, of failures)
    for nodes, call_id in zip(executions, ids, strict=True):
        hit = execution(by_id.get(call_id, ()), free, nodes) if call_id else None
        if hit is None and call_id and (short := short_id(call_id, span_name(nodes))) != call_id:
            hit = execution(by_id.get(short, ()), free, nodes)
        if hit is None:
            rest.append((nodes, call_id))
        else:
            free.discard(id(hit))
            _attach(hit, nodes)
    in_part = not blind and any(c.asked_by is not None and c.asked_by.in_part for c in calls)
    if in_part or (calls and rest and not blind and _outnumbered(rest, calls, free)):
        told = len(calls)
        unseen_siblings(model_calls, calls, by_id)
        free.update(id(c) for c in calls[told:])
        rest = _surest_first(rest, calls)
    elif rest and any(c.asked_by is not None and c.asked_by.in_part for c in calls):
        rest = _surest_first(rest, calls)
    models = Askers(model_calls if rest else [])
    if calls and any(mute(nodes, call_id) for nodes, call_id in rest):
        rest, found = by_number(rest, [c for c in calls if id(c) in free], models, model_calls)
        for c, nodes in found:
            _attach(c, nodes)
    thinking = {mc.agent for mc in model_calls} if rest else set[str | None]()
    asked = Wanted([c for c in calls if id(c) in free and not c.nodes], thinking) if rest else None
    for nodes, call_id in rest:
        strange = strangers or (made_up and call_id is not None and _UUID.match(call_id) is not None)
        hit = asked.take(nodes, None if strange else call_id) if asked is not None else None
        if hit is not None:
            _attach(hit, nodes)
            hit.call_id = hit.call_id or call_id
            own = span_name(nodes)
            if own and not same_name(hit.name, own) and not _on_a_server(own, hit.name or "", nodes[0]):
                hit.name = own  # Bedrock's agents: the model asks for it by its group's name, too
            continue
        call = ToolCall(span_name(nodes))
        call.call_id = call_id
        call.agent = nodes[0].agent
        _attach(call, nodes)
        infer_turn(call, models)
        calls.append(call)
    settle(calls)
    _ids_of_one_of_several(calls, model_calls)
    calls = without_vain(gone_on(calls))
    _given_before(calls, model_calls)
    _told_since(calls, model_calls)
    for c in calls if flagged else ():
        c.seeks_flag = bool(c.nodes) and c.answer is None
    if blind and flagged:
        read_flags(model_calls, calls, by_id)
    if not blind and any(awaits_result(c) or awaits_flag(c) for c in calls):
        read_inputs(model_calls, calls, by_id)
    _order(calls)
    as_shown(calls, model_calls)
    ran = [c for c in calls if c.nodes]
    for c in calls:
        c.from_memory = bool(ran) and _from_memory(c, ran, model_calls)
    return calls


def _ids_of_one_of_several(calls: list[ToolCall], model_calls: list[ModelCall]) -> None:
    """Of calls alike that ran after one answer, which is told in part, nobody can tell whose the id is that it tells of
    one."""
    told = [c for c in calls if c.nodes and c.call_id and c.asked_by is not None and c.asked_by.in_part]
    told = [c for c in told if span_call_id(c.nodes) is None]
    loose: dict[tuple[str, str], list[ToolCall]] = {}
    for c in calls if told else ():
        if c.asked_by is None:
            loose.setdefault(_alike(c.name, span_fact(c.nodes, "arguments")), []).append(c)
    starts = [mc.start for mc in model_calls] if loose else []
    for c in told if loose else ():
        begun = c.asked_by.end if c.asked_by is not None else 0
        after = bisect_left(starts, begun)
        until = starts[after] if after < len(starts) else None
        if any(
            begun <= o.start and (until is None or o.start < until)
            for o in loose.get(_alike(c.name, span_fact(c.nodes, "arguments")), ())
        ):
            c.call_id = None


def _given_before(calls: list[ToolCall], model_calls: list[ModelCall]) -> None:
    """What a tool was given that another run had asked for, and whose span tells the one argument without its name
    (LangGraph, resumed after an interrupt, under OpenInference): the next model is shown the request, too."""
    starts = [mc.start for mc in model_calls]
    shown: dict[int, dict[str, Request]] = {}
    for c in calls:
        raw = span_fact(c.nodes, "arguments") if c.asked_by is None and c.call_id else None
        if not isinstance(raw, str) or c.arguments is not None or arguments_of(raw)[0] is not None:
            continue
        after = bisect_left(starts, c.end)
        if after == len(starts):
            continue
        if after not in shown:
            inputs = model_calls[after].inputs or ()
            shown[after] = {r.id: r for x in inputs for r in x.requests if r.id}
        asked = shown[after].get(c.call_id or "")
        given = arguments_of(asked.arguments)[0] if asked is not None and same_name(asked.name, c.name) else None
        if given is not None and list(given.values()) == [raw]:
            c.arguments = given


def _told_since(calls: list[ToolCall], model_calls: list[ModelCall]) -> None:
    """What came of tools that ran before any model was asked, since another run had asked for them (ADK, once somebody
    gave leave or refused it), where their spans tell nothing of it: the first model is shown it, perhaps by other
    ids."""
    first = model_calls[0] if model_calls else None
    ran = [c for c in calls if first is not None and c.asked_by is None and c.nodes and c.end <= first.start]
    if first is None or not any(map(_tells_no_result, ran)):
        return
    inputs = first.inputs or []
    begun = next((at for at in range(len(inputs), 0, -1) if inputs[at - 1].requests), 0)
    if not begun or any(x.role != "tool" and not x.results for x in inputs[begun:]):
        return
    asked = {r.id: r for r in inputs[begun - 1].requests if r.id}
    for c in ran:
        mine = [r for r in asked.values() if same_name(r.name, c.name)]
        came = [r for x in inputs[begun:] for r in x.results if mine and r.id == mine[0].id]
        alone = len(mine) == len(came) == sum(same_name(o.name, c.name) for o in ran) == 1
        if alone and _tells_no_result(c):
            c.answer, c.result_of = came[0], first
            c.arguments = mine[0].arguments if c.arguments is None else c.arguments


def _tells_no_result(call: ToolCall) -> bool:
    told = span_fact(call.nodes, "result") is not None or any(n.side.events.get(n.span.row) for n in call.nodes)
    return not told and call.answer is None


def _on_a_server(own: str, asked: str, node: Node) -> bool:
    """Is this a tool's own name on its server, and the one by which it was asked for that with the server's?"""
    return asked.startswith("mcp__") or served_as(own, asked, node)


_Run = tuple[list[Node], str | None]  # an execution and its call id


def _outnumbered(rest: list[_Run], calls: list[ToolCall], free: Collection[int]) -> bool:
    """Did a tool run more often than answers tell that it was asked for?"""
    wanted = Counter(spelling(c.name) for c in calls if c.name and id(c) in free)
    ran = Counter(spelling(span_name(nodes) or "") for nodes, _ in rest)
    return any(wanted[name] < count for name, count in ran.items())


def _alike(name: str | None, given: Value) -> tuple[str, str]:
    return spelling(name or ""), to_json(arguments_of(given)[0])


def _surest_first(rest: list[_Run], calls: list[ToolCall]) -> list[_Run]:
    """Those before all others that were given exactly what some answer asked for: the others may not take its place."""
    wanted = {
        (spelling(c.name), to_json(given))
        for c in calls
        if c.name and not c.nodes and (given := arguments_of(c.arguments)[0]) is not None
    }

    def asked_for(nodes: list[Node]) -> bool:
        given = arguments_of(span_fact(nodes, "arguments"))[0]
        return given is not None and (spelling(span_name(nodes) or ""), to_json(given)) in wanted

    return sorted(rest, key=lambda run: not asked_for(run[0]))


def _of_one_call(
    executions: list[list[Node]], model_calls: list[ModelCall]
) -> tuple[list[list[Node]], list[str | None]]:
    """The executions and their call ids; spans side by side with one id - a call announced and run, or tried again -
    are one, unless a model was asked between them, their arguments differ or the id is the tool's name: then the id was
    used again."""
    found: list[list[Node]] = []
    ids: list[str | None] = []
    last: dict[tuple[str, str, str | None], list[Node]] = {}
    for nodes in sorted(executions, key=lambda some: some[0].start):
        call_id = span_call_id(nodes)
        key = (call_id or "", spelling(span_name(nodes) or ""), nodes[0].agent)
        before = last.get(key) if call_id and spelling(call_id) != key[1] else None
        if (
            before is not None
            and not any(before[0].start < mc.start < nodes[0].start for mc in model_calls)
            and not differ(before, nodes)
        ):
            if in_vain(before, nodes):
                before.clear()  # how it went is told by the last attempt
            before.extend(nodes)
            continue
        last[key] = nodes
        found.append(nodes)
        ids.append(call_id)
    return found, ids


def _from_memory(call: ToolCall, executed: list[ToolCall], model_calls: list[ModelCall]) -> bool:
    """An equal call ran before, with a span; this one has none, and between request and result was no time to run
    it: less than it ever took where a kit remembers what tools gave (CrewAI, BeeAI), and next to none elsewhere."""
    asker = call.asked_by
    if call.nodes or asker is None or call.result_of is None:
        return False
    if any(c.asked_by is not None and c.start < c.asked_by.end for c in executed):
        return False  # tools ran within the model's own span
    ran = [c.end - c.start for c in executed if same_name(c.name, call.name)]
    later = (model_calls[turn] for turn in range(asker.turn + 1, len(model_calls)))
    after = next((mc for mc in later if mc.agent == asker.agent), None)
    if not ran or after is None:
        return False
    between = max(after.start - asker.end, 0) + tick_ns(after.start)
    if between >= min(ran):
        return False
    if between * _SCATTER >= min(ran) and not any(_REMEMBERS.search(n.span.scope) for n in asker.node.ancestors()):
        return False
    wanted = arguments_of(call.arguments)[0]
    before = (c for c in executed if c.start < asker.end and same_name(c.name, call.name))
    return any(arguments_of(c.arguments)[0] == wanted for c in before)


_REMEMBERS = late("crewai|beeai")
_SCATTER = 32  # how many times as long one call of a tool may take as another


def _asked(model_calls: list[ModelCall]) -> list[ToolCall]:
    out: list[ToolCall] = []
    for mc in model_calls:
        seen: dict[str, list[Request]] = {}
        for position, request in enumerate(mc.asked):
            if request.id and _told_before(request, seen):
                continue
            if request.served is not None and asks_leave(request.id):
                waited = next((c for c in out if c.call_id == request.id and c.answer is None), None)
                if waited is not None:
                    waited.answer, waited.result_of = request.served, waited.asked_by
                    continue
            call = ToolCall(request.name)
            call.call_id = request.id
            call.arguments = request.arguments
            call.asked_by, call.turn, call.position = mc, mc.turn, position
            call.agent = mc.agent
            call.start = call.end = mc.end
            call.evidence.add("event" if mc.node.side.events.get(mc.node.span.row) else "message")
            if request.served is not None:
                call.answer, call.result_of = request.served, mc
            out.append(call)
    return out


def _told_before(request: Request, seen: dict[str, list[Request]]) -> bool:
    """Was this request of an answer told already? What bears one id and asks for something else is another (Strands
    gives Gemini's calls the names of their tools for ids)."""
    before = seen.setdefault(request.id or "", [])
    if before:
        given = arguments_of(request.arguments)[0]
        told = [arguments_of(r.arguments)[0] for r in before if same_name(r.name, request.name)]
        if given is None or given in told or None in told or len(told) < len(before):
            return True
    before.append(request)
    return False


def _attach(call: ToolCall, nodes: list[Node]) -> None:
    call.nodes = nodes
    _by_provider(call)
    _repaired(call)
    call.start, call.end = nodes[0].start, max(n.end for n in nodes)
    call.evidence.add("span")
    if call.agent is None or (nodes[0].agent is not None and nodes[0].agent != call.agent and call.asked_by is None):
        call.agent = nodes[0].agent
    if call.name is None:
        call.name = span_name(nodes)


def _by_provider(call: ToolCall) -> None:
    """Was this run by the provider, in the course of the answer that asked for it?"""
    asker = call.asked_by
    if asker is None or call.nodes[0].parent is not asker.node or not holds_providers(call.nodes[0].span.scope):
        return
    for request in asker.asked:
        if request.id == call.call_id and request.served is None:
            call.answer = request.served = Result(call.call_id, call.name)
            call.result_of = asker


def _repaired(call: ToolCall) -> None:
    """What ran, and with what, where a program put that in the place of what its model had asked for."""
    span = call.nodes[0].span
    if not tells_repaired(span.scope, span.name) or span.tool is None:
        return
    if span.call_id is None and not tells_steps(span.name):
        return
    call.name = span_name(call.nodes)
    given = arguments_of(span.arguments)[0]
    if given is not None:
        call.arguments = given


def _order(calls: list[ToolCall]) -> None:
    """Canonical order: by turn, inside a turn as the model asked (else by name); the rest by time between the turns."""

    def key(c: ToolCall) -> tuple[int, int, int, str, int, str]:
        if c.asked_by is not None:
            return (c.asked_by.turn, 0, c.position, "", c.start, c.call_id or "")
        if c.turn is not None:
            return (c.turn, 1, 0, c.name or "", c.start, c.call_id or "")
        span_id = c.nodes[0].span.span_id.hex() if c.nodes else ""
        return (c.position if c.nodes else -1, 2, c.start, c.name or "", 0, span_id)

    calls.sort(key=key)
