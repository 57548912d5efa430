"""What model calls after a tool call say of it, whoever ran it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message, Request, Result
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.handovers import transfers
from otelcov.runs.tools.askers import JITTER_NS
from otelcov.runs.tools.by_name import cores
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.dealing import dealt, exchanges
from otelcov.runs.trace.tree import Node, spelling, waiting

_HEAD = 4096  # letters of what a step was given
_GIVEN = late(r'"id": ?"([^"]+)", ?"type": ?"tool_call"')


class Later:
    """Which model calls go on with the conversation in which a call was asked for; another one (a nameless agent's)
    says nothing of it."""

    def __init__(self, model_calls: list[ModelCall]) -> None:
        self._calls = model_calls
        self._shown: dict[tuple[str | None, str | None, str], int] = {}  # the last turn whose input shows a request
        self._begun: dict[tuple[str | None, int, int], int] = {}  # … whose input begins with these messages
        self._instead: dict[tuple[str | None, int, int], int] = {}  # … and goes on with what nothing in it asked for
        self._lost = set[tuple[str | None, str | None, str]]()  # of whose answer only a part of what came back is told
        self._lost_unnamed = set[tuple[str | None, str | None, str]]()  # the same where history tells no ids
        self._muted: dict[str | None, int] = {}  # the last turn whose input holds messages of which nothing is told
        self._newest: dict[str | None, int] = {}  # when a model was asked last, by agent
        self._hollow: dict[int, list[int]] = {}  # when steps began that run tools and ran none, by what they are in
        self._named: dict[int, dict[str, int]] = {}  # when what bears a name began last, by what it is in
        self._tools_ran: dict[int, int] = {}  # when a step of those that run tools began last, by what it is in
        self._step_ids: dict[int, set[str]] = {}  # which calls steps were given, by what they are in
        self._read = False

    @property
    def none(self) -> bool:
        """Is no model call told at all?"""
        return not self._calls

    def goes_on(self, call: ToolCall) -> bool:
        if call.turn is None:
            return False
        if not self._read:
            self._read_all()
        key = (call.agent, *_known_by(call.call_id, call.name))
        if key in self._lost or (call.agent, *_known_by(None, call.name)) in self._lost_unnamed:
            return False
        if self._shown.get(key, -1) > call.turn:
            return True
        return self._after_the_same(self._begun, call)

    def failed_in_its_place(self, call: ToolCall) -> bool:
        """Was this tool offered, and does history go on after what was asked with a failure alone? Of a step of which
        a tool failed smolagents tells nothing else: not what was called, nor what came of the rest."""
        if call.turn is None or not self._instead or call.asked_by is None:
            return False
        return any(_offers(n, call.name) for n in call.asked_by.layers) and self._after_the_same(self._instead, call)

    def _after_the_same(self, begun: dict[tuple[str | None, int, int], int], call: ToolCall) -> bool:
        """Does an input since begin with what was asked with for this?"""
        before = call.asked_by.inputs if call.asked_by is not None else None
        if call.turn is None or not any(x.text for x in before or ()):
            return False  # where words are hidden, others begin alike
        *_, whole = _beginnings(before or [])
        return begun.get((call.agent, *whole), -1) > call.turn

    def hides(self, call: ToolCall) -> bool:
        """May what came of it stand in a history of which that is left out (Copilot Chat, of OpenAI's Responses), or
        all, as of what failed (Pydantic AI), where others are told?"""
        if call.asked_by is None or call.asked_by.inputs is None:
            return False
        if not self._read:
            self._read_all()
        return call.turn is not None and self._muted.get(call.agent, -1) > call.turn

    def asked_after(self, call: ToolCall) -> bool:
        """Was a model asked by the same agent once this was done?"""
        if not self._newest:
            for mc in self._calls:
                self._newest[mc.agent] = max(mc.start, self._newest.get(mc.agent, mc.start))
        return self._newest.get(call.agent, call.end - 1) >= call.end

    def may_have_led_on(self, call: ToolCall) -> bool:
        """Is this by its name a way to another agent, which is often taken without a span, and went the run on?"""
        return transfers(call.name) is not None and bool(self._calls) and self._calls[-1].start >= call.end

    def named_after(self, call: ToolCall) -> bool:
        """Does a step of no known kind, right beside the model that asked, bear the name of this tool since?"""
        asker = call.asked_by
        holder = asker.node.parent if asker is not None else None
        if asker is None or holder is None or call.name is None:
            return False
        began = self._named.get(id(holder))
        if began is None:
            began = self._named[id(holder)] = {}
            for n in holder.children:
                for name in cores(n.span.name) if n.kind in (None, CHAIN, AGENT) else ():
                    began[name] = max(n.start, began.get(name, n.start))
        return began.get(spelling(call.name), -1) >= asker.end - JITTER_NS

    def stepped_over(self, call: ToolCall) -> bool:
        """Did a step of LangChain's agents (`create_agent`) that runs tools run none, though something came of it? A
        middleware put it in its place."""
        asker = call.asked_by
        near = _near_above(asker.node) if asker is not None else ()
        step = next((n for n in near if _step_of(n, "model") or _step_of(n, "model_request")), None)
        if asker is None or step is None or step.parent is None:
            return False
        began = self._hollow.get(id(step.parent))
        if began is None:
            beside = (n for n in step.parent.children if _step_of(n, "tools"))
            began = sorted(n.start for n in beside if not _runs_tools(n))
            self._hollow[id(step.parent)] = began
        place = bisect_left(began, asker.node.end)
        return place < len(began) and (call.result_of is None or began[place] <= call.result_of.start)

    def step_came(self, call: ToolCall) -> bool:
        """Did a step begin since the like of which runs tools (LangGraph's `tools`), or comes after them (a model of
        ADK's that was asked no more)? What ran may be lost."""
        asker = call.asked_by
        beside = asker.node.parent if asker is not None and asker.node.span.name == "call_llm" else None
        if beside is not None and any(n.kind == CHAIN and n.span.name == "call_llm" for n in beside.children[-1:]):
            return True
        above = [n.parent for n in _near_above(asker.node) if n.parent is not None] if asker is not None else []
        return asker is not None and any(self._newest_step(n) >= asker.end - JITTER_NS for n in above)

    def _newest_step(self, holder: Node) -> int:
        began = self._tools_ran.get(id(holder))
        if began is None:
            steps = [n for n in holder.children if n.kind == CHAIN]
            names = {n.span.name for n in steps if any(x.kind == TOOL for x in n.children)} | {"tools"}
            began = self._tools_ran[id(holder)] = max((n.start for n in steps if n.span.name in names), default=-1)
        return began

    def given_to_a_step(self, call: ToolCall) -> bool:
        """Did a step of LangGraph's begin that was given just this call? Histories may leave out what it brought."""
        asker = call.asked_by
        if asker is None or not call.call_id:
            return False
        above = (n.parent for n in _near_above(asker.node) if n.parent is not None)
        return any(call.call_id in self._given(holder) for holder in above)

    def _given(self, holder: Node) -> set[str]:
        """The ids of the calls that the steps in a span were given, before the state that some are given, too."""
        ids = self._step_ids.get(id(holder))
        if ids is None:
            heads = ((n.span.input or "")[:_HEAD].split('"state"')[0] for n in holder.children if n.kind == CHAIN)
            ids = self._step_ids[id(holder)] = {i for head in heads for i in _GIVEN.findall(head)}
        return ids

    def held_up(self, call: ToolCall) -> bool:
        """Did LangChain's middleware stop all that this answer asks for, to wait for leave?"""
        asker = call.asked_by
        step = next((n for n in _near_above(asker.node) if n.kind == CHAIN), None) if asker is not None else None
        if asker is None or step is None or step.parent is None or step.span.agent is None:
            return False
        after = (n for n in step.parent.children if n.start >= asker.node.end and n.span.name.endswith(".after_model"))
        found = next(after, None)
        return found is not None and waiting(found)

    def asked_again(self, call: ToolCall) -> bool:
        return asked_twice(call, self._calls)

    def _read_all(self) -> None:
        self._read = True
        for mc in self._calls:  # by turn
            if mc.inputs is None and (mc.error is not None or _untold(mc)):
                self._muted[mc.agent] = mc.turn
            if mc.inputs is None or mc.truncated_input or mc.cut:
                continue
            inputs = mc.inputs
            last = next((k for k in range(len(inputs), 0, -1) if inputs[k - 1].role != "assistant"), 0)
            if any(x.requests for x in inputs[last:]):
                # What ends with a request leaves out what came back (OpenLIT for JavaScript, of a tool that gave no
                # text).
                inputs = inputs[:last]
            went_on = False  # said more, though nothing is told to have come back
            for x, back in reversed(list(pairwise(inputs))):
                went_on = back.role == "assistant" and (went_on or not back.requests)
                answered_by_words = back.role == "user" and bool(back.text) and not back.results
                if went_on or answered_by_words or (back.partial and len(x.requests) > 1):
                    self._lose(mc, x.requests)
            for asked, came in exchanges(inputs):
                self._lose(mc, _unsure(asked, came))
            for request in (r for x in inputs for r in x.requests):
                self._shown[mc.agent, None, spelling(request.name) if request.name else ""] = mc.turn
                if request.id:
                    self._shown[mc.agent, request.id, ""] = mc.turn
            if sum(map(_mute, inputs)) > 1:
                self._muted[mc.agent] = mc.turn
                continue
            replaced = _replaced(inputs)
            for begun in _beginnings(inputs[:-1]):  # what shows no more than was asked before does not go on
                of = self._instead if begun[0] in replaced else self._begun
                of[(mc.agent, *begun)] = mc.turn

    def _lose(self, mc: ModelCall, requests: list[Request]) -> None:
        self._lost |= {(mc.agent, *_known_by(i, r.name)) for r in requests for i in (r.id, None)}
        self._lost_unnamed |= {(mc.agent, *_known_by(None, r.name)) for r in requests if not r.id}


def _untold(call: ModelCall) -> bool:
    """Is nothing told of it but that a model was asked (ADK for JavaScript, of what failed)?"""
    return call.outputs is None and call.input_tokens is None and call.request_model is None


def _mute(message: Message) -> bool:
    """Does this stand for what somebody said, or what came back, of which nothing is told?"""
    return not (message.text or message.requests or message.results or message.role in ("system", "assistant"))


def _offers(asker: Node, name: str | None) -> bool:
    flat = asker.side.families["flat_tools"].get(asker.span.row) or ()
    return any(f'"{name}"' in str(told) for told in (asker.definitions, *(value for _, value in flat)))


def _replaced(inputs: list[Message]) -> set[int]:
    """After how many messages something comes back that no request in here asked for."""
    found, pending = set[int](), 0
    for place, x in enumerate(inputs):
        if x.requests:
            pending = len(x.requests)
        elif x.results:
            pending -= len(x.results)
            if pending < 0:
                found.add(place)
        else:
            pending = 0
    return found


def asked_twice(call: ToolCall, model_calls: list[ModelCall]) -> bool:
    """Is this what CrewAI's agent, which says in its text what to call, asked for the time before, too? It is told to
    try something else."""
    asker = call.asked_by
    if asker is None or not asker.text_react:
        return False
    if not any("crewai" in n.span.scope for n in (asker.node, *asker.node.ancestors())):
        return False
    others = (mc for mc in reversed(model_calls) if mc.turn < asker.turn and mc.agent == asker.agent)
    before = next(others, None)
    return before is not None and before.text_react and _asked(before) == _asked(asker)


def _asked(mc: ModelCall) -> list[tuple[str | None, object]]:
    return [(r.name, r.arguments) for r in mc.asked]


def _unsure(asked: list[Request], came: list[Result]) -> list[Request]:
    """The requests of which some were answered by what bears no id of theirs, and nobody can tell which."""
    ids = {r.id for r in asked if r.id} & {r.id for r in came}
    waiting = [r for r in asked if r.id not in ids]
    _, unsure, _ = dealt(waiting, [r for r in came if r.id not in ids]) if waiting else ([], set[int](), [])
    return [waiting[i] for i in sorted(unsure)]


def _near_above(node: Node) -> Iterator[Node]:
    """The next few spans that this one is in."""
    above: Node | None = node
    for _ in range(3):
        above = above.parent if above is not None else None
        if above is not None:
            yield above


def _step_of(node: Node, name: str) -> bool:
    """Is this a step by that name, of a graph whose agent is known, or as OpenLLMetry tells it?"""
    if node.kind != CHAIN or not node.span.name.endswith(name):
        return False
    return (node.span.name == name and node.span.agent is not None) or node.span.name == f"execute_task {name}"


def _runs_tools(step: Node) -> bool:
    """Is a tool among the first of what a step holds?"""
    unread = list(step.children)
    for at, n in enumerate(unread):
        if n.kind == TOOL or at == _FIRST:
            return True
        unread.extend(n.children)
    return False


_FIRST = 64


def _known_by(id: str | None, name: str | None) -> tuple[str | None, str]:
    return (id, "") if id else (None, spelling(name) if name else "")


def _beginnings(inputs: list[Message]) -> Iterator[tuple[int, int]]:
    """How many messages, and a number that stands for them, of each beginning of an input."""
    told = 0
    yield 0, told
    for count, x in enumerate(inputs, 1):
        told = hash((told, x.role, x.text))
        yield count, told
