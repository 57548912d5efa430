"""Tool calls of a run, from all the evidence there is, each once.

Three witnesses: the model's answer asked for the call, a span (or a nest of them) ran it, a later input brought its
result. They are joined by call id, else by turn, name and arguments. A call that was asked for and neither ran nor
brought anything back was not executed - if this run would have shown it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from otelcov.dialects.base import CHAIN, TOOL
from otelcov.runs import messages as m
from otelcov.runs.models import ModelCall
from otelcov.runs.softerrors import plain, refused, soft_error
from otelcov.runs.tree import Node, failure, same_step, spelling, waiting


class ToolCall:
    """One call. `asked_by` is the model call whose answer holds the request; `nodes` are its spans, outermost first."""

    __slots__ = (
        "agent",
        "answer",
        "arguments",
        "asked_by",
        "call_id",
        "delegates_to",
        "end",
        "evidence",
        "from_memory",
        "name",
        "nodes",
        "position",
        "result_of",
        "start",
        "turn",
    )

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.agent: str | None = None
        self.call_id: str | None = None
        self.arguments: Any = None  # as the request or the span gave them
        self.asked_by: ModelCall | None = None
        self.turn: int | None = None
        self.position = 0
        self.nodes: list[Node] = []
        self.answer: m.Result | None = None  # what a later input brought back
        self.result_of: ModelCall | None = None  # the call in whose input the answer stands
        self.evidence: set[str] = set()
        self.start = 0
        self.end = 0
        self.delegates_to: str | None = None
        self.from_memory = False  # the framework answered it with an earlier call's result


def same_name(a: str | None, b: str | None) -> bool:
    """Tool names as instrumentations and models spell them: case, blanks and punctuation do not tell tools apart."""
    return a == b or (a is not None and b is not None and spelling(a) == spelling(b))


def tool_spans(nodes: list[Node]) -> list[list[Node]]:
    """Executions among the nodes, each as its spans outermost first: a tool span inside one of the same tool, or inside
    one that a protocol layer wraps around it, tells of the same execution."""
    found: list[list[Node]] = []
    of: dict[int, list[Node]] = {}
    _open_holders(nodes)
    for node in nodes:
        if node.kind != TOOL:
            continue
        outer = same_step(node, TOOL)
        if outer is not None and id(outer) in of:
            group = of[id(outer)]
            names = {n.span.tool for n in group if n.span.tool}
            told = node.span.tool
            if not names or told is None or any(same_name(told, n) or _served_as(told, n, node) for n in names):
                group.append(node)
                of[id(node)] = group
                continue
        group = [node]
        found.append(group)
        of[id(node)] = group
    return found


def _open_holders(nodes: list[Node]) -> None:
    """A tool span that names no tool and has several tools in it, or one of another name, only holds them (Eino)."""
    inside: dict[int, list[Node]] = {}
    bare = [n for n in nodes if n.kind == TOOL and not n.span.tool and not n.span.call_id]
    if not bare:
        return
    for node in nodes:
        outer = same_step(node, TOOL) if node.kind == TOOL else None
        if outer is not None:
            inside.setdefault(id(outer), []).append(node)
    for holder in bare:
        held = inside.get(id(holder), ())
        names = {spelling(name) for n in held if (name := span_name([n])) is not None}
        own = span_name([holder])
        if names and (len(held) > 1 or (own is not None and spelling(own) not in names)):
            holder.kind = CHAIN


def _served_as(name: str, outer: str, node: Node) -> bool:
    """Is this a protocol's span of a tool that the agent knows by a longer name: its server's, then its own?"""
    short, long = spelling(name), spelling(outer)
    return bool(short) and long.endswith(short) and _PROTOCOL.search(f"{node.span.name} {node.span.scope}") is not None


_PROTOCOL = re.compile(r"tools/call|(?<![a-z])mcp(?![a-z])", re.I)


def span_fact(nodes: list[Node], fact: str) -> Any:
    for node in nodes:
        value = getattr(node.span, fact)
        if value is not None and value != "":
            return value
    return None


_AROUND = re.compile(
    r"^(?:execute_tool|tool_call|tool\.execute|tool|Tool:|Function:|running tool:?)\s+"
    r"|\.(?:__call__|acall|call|run|_run|arun|forward|invoke|ainvoke|tool|execute)$"
)


def span_name(nodes: list[Node]) -> str | None:
    name = span_fact(nodes, "tool")
    if not isinstance(name, str):
        name = _AROUND.sub("", nodes[0].span.name)  # nothing names the tool but its span
        if _ANY_TOOL.match(name):
            return None
    return name.strip(" '\"`") or None


_ANY_TOOL = re.compile(
    r"\s*(?:ai\.toolCall|\w*FunctionTool|tool(?:_|\.)?(?:call|execute|run)?|execute_tool|call_tool|tools/call"
    r"|running tools?|function|\{\w*\}|\[\w+\])\s*$",
    re.I,
)
"""Span names that every tool's span has."""


def span_call_id(nodes: list[Node]) -> str | None:
    found = span_fact(nodes, "call_id")
    if found:
        return str(found)
    for n in nodes:
        hidden = m.result_call_id(n.span.result) or m.result_call_id(n.span.arguments)
        if hidden:
            return hidden
        for name, attributes in n.side.events.get(n.span.row, ()):
            if name in ("gen_ai.tool.message", "gen_ai.choice") and isinstance(attributes.get("id"), str):
                return str(attributes["id"])
    return None


def merge(model_calls: list[ModelCall], executions: list[list[Node]]) -> list[ToolCall]:
    """All tool calls of one run in canonical order. `model_calls` are sorted and know their turns."""
    calls = _asked(model_calls)
    by_id: dict[str, list[ToolCall]] = {}
    for c in calls:
        if c.call_id:
            by_id.setdefault(c.call_id, []).append(c)
    blind = any(mc.outputs is None and mc.error is None for mc in model_calls)
    if blind:  # requests themselves must be found in later inputs
        _answers(model_calls, calls, by_id)
    free = {id(c) for c in calls}
    rest = []
    executions, ids = _of_one_call(executions, model_calls)
    strangers = not any(i in by_id for i in ids if i)  # the spans' ids are another namespace than the messages'
    for nodes, call_id in zip(executions, ids, strict=True):
        hit = next((c for c in by_id.get(call_id, ()) if id(c) in free), None) if call_id else None
        if hit is None:
            rest.append((nodes, call_id))
        else:
            free.discard(id(hit))
            _attach(hit, nodes)
    asked = _Asked([c for c in calls if id(c) in free]) if rest else None
    for nodes, call_id in rest:
        hit = asked.take(nodes, None if strangers else call_id) if asked is not None else None
        if hit is not None:
            _attach(hit, nodes)
            hit.call_id = hit.call_id or call_id
            continue
        call = ToolCall(span_name(nodes))
        call.call_id = call_id
        call.agent = nodes[0].agent
        _attach(call, nodes)
        _infer_turn(call, model_calls)
        calls.append(call)
    if not blind and any(_open(c) for c in calls):
        _answers(model_calls, calls, by_id)
    _order(calls)
    for c in calls:
        c.from_memory = _from_memory(c, calls, model_calls)
    return calls


def _of_one_call(
    executions: list[list[Node]], model_calls: list[ModelCall]
) -> tuple[list[list[Node]], list[str | None]]:
    """The executions and their call ids; spans side by side with one id - a call announced and run, or tried again -
    are one, unless a model was asked between them or their arguments differ: then the id was used again."""
    found: list[list[Node]] = []
    ids: list[str | None] = []
    last: dict[tuple[str, str, str | None], list[Node]] = {}
    for nodes in sorted(executions, key=lambda some: some[0].start):
        call_id = span_call_id(nodes)
        key = (call_id or "", spelling(span_name(nodes) or ""), nodes[0].agent)
        before = last.get(key) if call_id else None
        if (
            before is not None
            and not any(before[0].start < mc.start < nodes[0].start for mc in model_calls)
            and not _differ(before, nodes)
        ):
            before.extend(nodes)
            continue
        last[key] = nodes
        found.append(nodes)
        ids.append(call_id)
    return found, ids


def _differ(some: list[Node], others: list[Node]) -> bool:
    """Did these spans run a tool with other arguments than those?"""
    given = [m.arguments(span_fact(nodes, "arguments"))[0] for nodes in (some, others)]
    return None not in given and given[0] != given[1]


def _from_memory(call: ToolCall, calls: list[ToolCall], model_calls: list[ModelCall]) -> bool:
    """An equal call ran with a span; this one has none, and between request and result was no time to run it."""
    asker = call.asked_by
    if call.nodes or asker is None or call.result_of is None:
        return False
    ran = [c.end - c.start for c in calls if c.nodes and same_name(c.name, call.name)]
    after = next((mc for mc in model_calls if mc.turn > asker.turn and mc.agent == asker.agent), None)
    if not ran or after is None or after.start - asker.end >= min(ran):
        return False
    wanted = m.arguments(call.arguments)[0]
    return any(c.nodes and same_name(c.name, call.name) and m.arguments(c.arguments)[0] == wanted for c in calls)


def _open(call: ToolCall) -> bool:
    """Could an input still tell something about this call? A span that holds the result has told it all."""
    return call.answer is None and call.turn is not None and (not call.nodes or span_fact(call.nodes, "result") is None)


def _asked(model_calls: list[ModelCall]) -> list[ToolCall]:
    out: list[ToolCall] = []
    seen: set[tuple[str | None, int]] = set()
    for mc in model_calls:
        for position, request in enumerate(mc.asked):
            if request.id and (request.id, mc.turn) in seen:
                continue
            seen.add((request.id, mc.turn))
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


def _answers(model_calls: list[ModelCall], calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """Results and requests that later inputs show. History is cumulative: the last input of a thread holds it all, so
    earlier inputs are read only while something is still open (a history cut short, summarised, or started anew)."""
    threads: dict[str | None, list[ModelCall]] = {}
    for mc in model_calls:
        threads.setdefault(mc.agent, []).append(mc)
    for agent, thread in threads.items():
        blind = [mc for mc in thread if mc.outputs is None and mc.error is None]
        own = [c for c in calls if c.agent == agent]
        still = [c for c in own if _open(c)]
        for i in range(len(thread) - 1, -1, -1):
            mc = thread[i]
            waiting = any(c.turn is not None and c.turn < mc.turn for c in still)
            if not waiting and not blind and i != len(thread) - 1:
                break
            if not waiting and not blind and not own:
                break
            inputs = mc.inputs
            if inputs is None:
                continue
            _read_history(mc, inputs, thread, i, calls, by_id, bool(blind))
            still = [c for c in calls if c.agent == agent and _open(c)]
            if blind and i > 0 and not mc.truncated_input:
                blind = []
    # A worker that took over sees what its predecessor asked for.
    if len(threads) > 1 and any(_open(c) for c in calls):
        for thread in threads.values():
            inputs = thread[0].inputs
            if inputs:
                _match_results(
                    thread[0],
                    inputs,
                    [c for c in calls if _open(c) and c.turn is not None and c.turn < thread[0].turn],
                    by_id,
                )


def _read_history(
    mc: ModelCall,
    inputs: list[m.Message],
    thread: list[ModelCall],
    i: int,
    calls: list[ToolCall],
    by_id: dict[str, list[ToolCall]],
    blind: bool,
) -> None:
    """What one input tells: requests whose answer could not be seen, then results."""
    if not mc.gappy:
        if blind:
            _unseen_requests(inputs, thread, i, calls, by_id)
        else:
            _unseen_siblings(inputs, calls, by_id)
    waiting = [c for c in calls if _open(c) and c.agent == mc.agent and c.turn is not None and c.turn < mc.turn]
    _match_results(mc, inputs, waiting, by_id)


def _unseen_requests(
    inputs: list[m.Message], thread: list[ModelCall], i: int, calls: list[ToolCall], by_id: dict[str, list[ToolCall]]
) -> None:
    """The n-th answer that history shows beyond the thread's first input is the n-th call's."""
    before = len(thread[0].inputs or []) if i > 0 else len(inputs)
    answered = 0
    for message in inputs[before:]:
        if message.role != "assistant":
            continue
        asker = thread[min(answered, i)]
        answered += 1
        for position, request in enumerate(message.requests):
            if request.id and request.id in by_id:
                continue
            told = next((c for c in calls if c.asked_by is asker and c.position == position), None)
            if told is not None and not request.id:
                continue
            if told is not None and told.call_id is None and same_name(told.name, request.name):
                told.call_id = request.id  # the answer itself did not tell it
                by_id.setdefault(request.id or "", []).append(told)
                continue
            _add_request(request, asker, position, calls, by_id)


def _unseen_siblings(inputs: list[m.Message], calls: list[ToolCall], by_id: dict[str, list[ToolCall]]) -> None:
    """Requests that stand in one answer with a known one: some instrumentations keep only one of an answer's."""
    for requests in _answers_of(inputs):
        if len(requests) < 2:
            continue
        known = next((c for r in requests if r.id for c in by_id.get(r.id, ())), None)
        if known is None or known.asked_by is None or all(r.id in by_id for r in requests):
            continue
        for position, request in enumerate(requests):
            if request.id in by_id:
                for c in by_id[request.id]:
                    c.position = position if c.asked_by is known.asked_by else c.position
            elif request.id:
                _add_request(request, known.asked_by, position, calls, by_id)


def _answers_of(inputs: list[m.Message]) -> list[list[m.Request]]:
    """The requests of each answer that history shows. OpenAI's Responses tell each item as a message of its own."""
    out: list[list[m.Request]] = []
    same = False
    for message in inputs:
        if message.role == "assistant" and message.requests:
            if same:
                out[-1].extend(message.requests)
            else:
                out.append(list(message.requests))
        same = message.role == "assistant"
    return out


def _add_request(
    request: m.Request, asker: ModelCall, position: int, calls: list[ToolCall], by_id: dict[str, list[ToolCall]]
) -> None:
    call = ToolCall(request.name)
    call.call_id, call.arguments, call.agent = request.id, request.arguments, asker.agent
    call.asked_by, call.turn, call.position = asker, asker.turn, position
    call.start = call.end = asker.end
    call.evidence.add("message")
    calls.append(call)
    if request.id:
        by_id.setdefault(request.id, []).append(call)


def _match_results(
    mc: ModelCall, inputs: list[m.Message], waiting: list[ToolCall], by_id: dict[str, list[ToolCall]]
) -> None:
    """Results to the calls that wait for them: by id; else in the order of the requests that this input shows; else,
    where it shows none, the newest to the newest."""
    if not waiting:
        return
    waits = {id(c): c for c in waiting}
    witness = "event" if mc.node.side.events.get(mc.node.span.row) else "message"

    def settle(call: ToolCall, result: m.Result) -> None:
        del waits[id(call)]
        call.answer, call.result_of = result, mc
        call.evidence.add(witness)

    shown: list[m.Request] = []
    pairs: list[tuple[m.Request, m.Result]] = []
    single: list[m.Result] = []
    for message in inputs:
        shown.extend(r for r in message.requests if message.role == "assistant")
        for result in message.results:
            if result.id:
                _by_call_id(result, mc, waits, by_id, settle)
                continue
            at = next((k for k, r in enumerate(shown) if result.name is None or same_name(result.name, r.name)), None)
            if at is None:
                single.append(result)
            else:
                pairs.append((shown.pop(at), result))
    for request, result in pairs:
        wanted, _ = m.arguments(request.arguments)
        same = [c for c in waits.values() if same_name(c.name, request.name)]
        hit = next((c for c in same if m.arguments(c.arguments)[0] == wanted), None)
        if hit is not None:
            settle(hit, result)
    if not pairs:
        for call in [c for c in reversed(list(waits.values())) if single]:
            k = next((k for k in range(len(single) - 1, -1, -1) if single[k].name in (None, call.name)), None)
            if k is not None:
                settle(call, single.pop(k))
    for call in list(waits.values()):  # text ReAct: the observation follows the action in the prompt
        if call.asked_by is not None and call.asked_by.text_react:
            same = [c for c in waiting if c.asked_by is not None and c.asked_by.text == call.asked_by.text]
            observation = _observation(call, inputs, same.index(call))
            if observation is not None:
                settle(call, m.Result(None, call.name, observation))


def _by_call_id(
    result: m.Result,
    mc: ModelCall,
    waits: dict[int, ToolCall],
    by_id: dict[str, list[ToolCall]],
    settle: Callable[[ToolCall, m.Result], None],
) -> None:
    asked = by_id.get(result.id or "", ())
    hit = next((c for c in asked if id(c) in waits), None)
    if hit is not None:
        settle(hit, result)
    elif result.error is not None:  # the same answer told again, with its flag
        told = next((c for c in asked if c.answer is not None and c.result_of is mc and c.answer.error is None), None)
        if told is not None and told.answer is not None:
            told.answer.error = result.error


def _observation(call: ToolCall, inputs: list[m.Message], skip: int) -> str | None:
    """The text after the `skip`-th repetition of the call's own words."""
    asked = call.asked_by.text if call.asked_by is not None else None
    if not asked:
        return None
    core = asked.strip()
    for k, message in enumerate(inputs):
        text = message.text or ""
        at = text.find(core)
        while at >= 0 and skip:
            skip -= 1
            at = text.find(core, at + len(core))
        if at < 0:
            continue
        tail = text[at + len(core) :]
        if not tail.strip() and k + 1 < len(inputs):
            tail = inputs[k + 1].text or ""
        hit = re.search(r"Observation\s*:\s*(.*?)(?=\n\s*(?:Thought|Action)\s*:|\Z)", tail, re.S)
        if hit is not None:
            return hit.group(1).strip()
    return None


def _attach(call: ToolCall, nodes: list[Node]) -> None:
    call.nodes = nodes
    call.start, call.end = nodes[0].start, max(n.end for n in nodes)
    call.evidence.add("span")
    if call.agent is None or (nodes[0].agent is not None and nodes[0].agent != call.agent and call.asked_by is None):
        call.agent = nodes[0].agent
    if call.name is None:
        call.name = span_name(nodes)


class _Asked:
    """Requests that no span has been found for yet, by name, in the order of their turns."""

    def __init__(self, calls: list[ToolCall]) -> None:
        self._by_name: dict[str, list[ToolCall]] = {}
        for c in calls:
            if c.asked_by is not None and c.name is not None:
                self._by_name.setdefault(spelling(c.name), []).append(c)
        for some in self._by_name.values():
            some.sort(key=lambda c: (c.turn or 0, c.position))

    def take(self, nodes: list[Node], call_id: str | None) -> ToolCall | None:
        """The request that these spans most likely ran: same tool, newest turn before them, equal arguments first."""
        name, agent = span_name(nodes), nodes[0].agent
        some = self._by_name.get(spelling(name)) if name else None
        if not some:
            return None
        above = {id(a) for a in nodes[0].ancestors()}

        def fits(c: ToolCall, start: int) -> bool:
            before = c.asked_by is not None and (c.asked_by.end <= start or id(c.asked_by.node) in above)
            known = agent is None or c.agent is None or c.agent == agent
            return before and known and not (call_id and c.call_id and call_id != c.call_id)

        for start in (nodes[0].start, nodes[0].start + _JITTER_NS):
            at = next((i for i in range(len(some) - 1, -1, -1) if fits(some[i], start)), None)
            if at is not None:
                break
        else:
            return None
        turn = some[at].turn
        first = at
        while first and some[first - 1].turn == turn:
            first -= 1
        equals = [i for i in range(first, at + 1) if fits(some[i], start)]
        ran, _ = m.arguments(span_fact(nodes, "arguments"))
        if ran is not None and len(equals) > 1:
            equals = [i for i in equals if m.arguments(some[i].arguments)[0] == ran] or equals
        return some.pop(equals[0])


_JITTER_NS = 1_000_000  # clocks of one process may differ that much between its threads


def _infer_turn(call: ToolCall, model_calls: list[ModelCall]) -> None:
    """A span whose request is not on the wire: asked by the newest call of its agent before it, if that call's answer
    cannot be seen. An answer that can be seen and does not ask means that the framework ran the tool on its own."""
    above = {id(a) for a in call.nodes[0].ancestors()}

    def before() -> Iterator[ModelCall]:
        for start in (call.start, call.start + _JITTER_NS):
            yield from (mc for mc in reversed(model_calls) if mc.end <= start or id(mc.node) in above)

    latest = next(before(), None)
    call.position = latest.turn if latest is not None else -1  # its place in time, whoever called the model
    newest = next((mc for mc in before() if mc.agent == call.agent or mc.agent is None or call.agent is None), None)
    if newest is not None and (newest.outputs is None or newest.cut or newest.truncated_output):
        call.turn = newest.turn


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


class Outcome:
    """What became of a call: the contract's status, error kind and type, arguments and result."""

    __slots__ = ("arguments", "arguments_text", "error_kind", "error_type", "message", "result", "status")

    def __init__(self) -> None:
        self.status = "ok"
        self.error_kind: str | None = None
        self.error_type: str | None = None
        self.message = ""
        self.arguments: dict[str, Any] | None = None
        self.arguments_text: str | None = None
        self.result: Any = None


def outcome(call: ToolCall, spans_shown: bool, model_calls: list[ModelCall], soft: tuple[str, ...]) -> Outcome:
    """Status by the contract: executed calls are ok or error; asked for and not run is `requested`; and where nothing
    could have shown whether it ran, `unknown`."""
    out = Outcome()
    _arguments(call, out)
    flagged: bool | None = None
    value: Any = None
    if call.nodes:
        raw = span_fact(call.nodes, "result")
        if raw is None:
            raw = _event_result(call.nodes)
        if raw is not None:
            value, flagged = m.result(raw)
        if (
            flagged is None
            and span_fact(call.nodes, "tool_error") is not None
            and str(span_fact(call.nodes, "tool_error")).lower() in ("true", "1")
        ):
            flagged = True
        failed = next((f for n in call.nodes if (f := failure(n)) is not None and not _again(n, call.nodes)), None)
        if failed is not None:
            out.status, out.error_kind, out.error_type, out.message = (
                "error",
                "hard",
                _error_type(failed, call.nodes),
                failed[1],
            )
    flagged_by = flagged
    if call.answer is not None:
        seen, seen_flag = m.result(call.answer.content)
        if value is None or (
            isinstance(value, str) and len(value) < len(str(seen)) and str(seen).startswith(value[:-3])
        ):
            value = seen
        if call.answer.error is not None:
            seen_flag = call.answer.error
        if seen_flag:
            flagged = flagged_by = True
        elif flagged is None and soft_error(seen, None, soft):
            flagged = True
    if out.status == "ok" and (call.nodes or call.answer is not None) and soft_error(value, flagged, soft):
        told = bool(call.nodes) and flagged_by is None and plain(value)
        out.status, out.error_kind = ("ok" if told else "error"), "soft"
        out.error_type = _text_type(value)
        out.message = value if isinstance(value, str) else ""
    out.result = value
    if any(x.span.tool_error == "denied" for n in call.nodes for x in n.children) or (
        value is None and any(waiting(n) for n in call.nodes)
    ):
        out.status, out.error_kind, out.error_type = "requested", None, None  # the span waited for leave, in vain
    if not call.nodes:
        if call.answer is None:
            out.status = _not_seen(call, spans_shown, model_calls)
        elif call.from_memory or refused(value):
            out.status, out.error_kind, out.error_type = "requested", None, None
        elif flagged is None and (value is None or (out.status == "ok" and _flag_lost(call))):
            out.status = "unknown"  # it came back; how it went is not on the wire
    return out


def _again(failed: Node, nodes: list[Node]) -> bool:
    """Was this attempt followed by one that went well?"""
    return any(n.parent is failed.parent and n.start >= failed.end and failure(n) is None for n in nodes)


_WITHOUT_FLAGS = re.compile(r"^opentelemetry\.instrumentation\.bedrock$")
"""Instrumentations that leave out the flag by which a provider's own protocol tells a failed tool (toolResult.status):
there a text that reads like any other says nothing."""


def _flag_lost(call: ToolCall) -> bool:
    told = call.result_of
    if told is None:
        return False
    flat = any(n.span.row in n.side.families["flat_input"] for n in told.layers)
    return (flat and told.truncated_input) or any(_WITHOUT_FLAGS.match(n.span.scope) for n in told.layers)


def _not_seen(call: ToolCall, spans_shown: bool, model_calls: list[ModelCall]) -> str:
    if spans_shown:
        return "requested"
    later = [mc for mc in model_calls if call.turn is not None and mc.turn > call.turn and mc.agent == call.agent]
    if any(not mc.truncated_input and not mc.cut and _goes_on(call, mc) for mc in later):
        return "requested"
    return "unknown"


def _goes_on(call: ToolCall, later: ModelCall) -> bool:
    """Is this the conversation in which the call was asked for? Another one (a nameless agent's) says nothing of it."""
    inputs = later.inputs
    if inputs is None:
        return False
    if any(r.id == call.call_id if call.call_id else same_name(r.name, call.name) for x in inputs for r in x.requests):
        return True
    before = call.asked_by.inputs if call.asked_by is not None else None
    return before is not None and [(x.role, x.text) for x in inputs[: len(before)]] == [
        (x.role, x.text) for x in before
    ]


_WRAPPING = re.compile(r"^langsmith$|\.beeai$")
"""Instrumentations that tell a tool's arguments as the one input of a function."""


def _arguments(call: ToolCall, out: Outcome) -> None:
    found, text = m.arguments(call.arguments)
    if found is None and call.nodes:
        for node in call.nodes:
            raw = node.span.arguments
            if raw is None:
                continue
            parsed, raw_text = m.arguments(raw)
            if parsed is not None and not _schema(parsed):
                inner = parsed.get("input") if len(parsed) == 1 and _WRAPPING.search(node.span.scope) else None
                found, text = inner if isinstance(inner, dict) else parsed, None
                break
            text = text or raw_text
    out.arguments = found
    out.arguments_text = text if found is None else None


_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null", "any", "image", "audio")
_DESCRIBING = {"type", "description", "title", "default", "nullable", "enum", "items", "properties", "required"}


def _schema(value: dict[str, Any]) -> bool:
    """Is this what a tool takes, and not what it was given?"""
    if isinstance(value.get("properties"), dict):
        return value.get("type") in ("object", None)
    return bool(value) and all(
        isinstance(v, dict) and v.get("type") in _TYPES and v.keys() <= _DESCRIBING for v in value.values()
    )


def _event_result(nodes: list[Node]) -> Any:
    for node in nodes:
        for name, attributes in node.side.events.get(node.span.row, ()):
            if name == "gen_ai.choice":
                raw = attributes.get("message", attributes.get("content"))
                if raw is not None:
                    return raw
            if name == "gen_ai.tool.result":
                return attributes.get("content", attributes.get("result"))
    return None


def _error_type(failed: tuple[str, str], nodes: list[Node]) -> str | None:
    if failed[0]:
        return bare_type(failed[0])
    return _text_type(failed[1])


def bare_type(name: str) -> str:
    """`<class 'openai.APITimeoutError'>` as `openai.APITimeoutError`."""
    hit = re.match(r"<class '([^']+)'>", name)
    return hit.group(1) if hit else name


def _text_type(value: Any) -> str | None:
    hit = re.search(r"\b([A-Z]\w*(?:Error|Exception|Timeout))\b", value) if isinstance(value, str) else None
    return hit.group(1) if hit else None
