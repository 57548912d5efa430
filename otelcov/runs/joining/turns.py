"""The turns of a conversation in one trace: what a user says first, what goes on with what was said before."""

from __future__ import annotations

from itertools import pairwise, takewhile

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.rules.habits import is_a_loop
from otelcov.runs.tools.handed_in import is_answer
from otelcov.runs.trace.above import nearest
from otelcov.runs.trace.clocks import tick_ns
from otelcov.runs.trace.tree import Node, by_time, failure


def one_conversation(roots: list[Node]) -> bool:
    """Are these the turns of a conversation with one agent, below a span that never came (mcp-agent's application,
    which ends after it has exported for the last time)?"""
    if len(roots) < 2 or not all(n.orphan and n.kind == AGENT and n.own_agent is not None for n in roots):
        return False
    return len({(n.own_agent, n.span.parent_span_id) for n in roots}) == 1 and in_turn(roots)


def asked_apart(roots: list[Node], leaders: list[str | None]) -> bool:
    """Are these requests to one agent, one after another, below a span that never came (a program's)? Each goes on with
    a conversation, or begins with words of its own, and holds nothing of what those before it brought, as the steps of
    a workflow would; where words are not told, each is a loop; they may be told of agents alone (mcp-agent, whose
    models' spans may be lost). Those that go on may each have lost a span of their own (left out by an
    exporter)."""
    if len(roots) < 2 or leaders[0] is None or len(set(leaders)) > 1 or not all(n.orphan for n in roots):
        return False
    if in_turn(roots):
        return True
    if len({n.span.parent_span_id for n in roots}) > 1 or not _alike(roots) or not _one_by_one(roots):
        return False
    said = [_asked(n) for n in roots]
    said = said if all(said) else [first_said(n) or own for n, own in zip(roots, said, strict=True)]
    return _in_own_words(roots, said) if all(said) else all(is_a_loop(n.span.name) for n in roots)


def anew(turns: list[Node]) -> bool:
    """Do these, alike, follow one another, each with words of its own, as the requests of a batch do?"""
    if not _alike(turns) or not _one_by_one(turns):
        return False
    said = [first_said(n) for n in turns]
    return all(said) and _in_own_words(turns, said)


def _in_own_words(turns: list[Node], said: list[list[Message]]) -> bool:
    """Does each begin alike, with words of its own, and hold nothing of what those before it brought, as the steps of a
    workflow would?"""
    if len({tuple(x.role for x in some) for some in said}) > 1:
        return False
    words = [some[-1].text or "" for some in said]
    if len(set(words)) < len(words) or any(x.role == "assistant" for x in said[0]):
        return False
    brought = [_brought(n) for n in turns]
    return not any(
        told in later for at, later in enumerate(words) for some in brought[max(at - _BEFORE, 0) : at] for told in some
    )


def _asked(turn: Node) -> list[Message]:
    """What an agent says itself that it was asked."""
    told = turn.span.input if turn.kind == AGENT else None
    return [Message("user", told)] if told and told.strip() else []


def _brought(turn: Node) -> set[str]:
    """What came of it, by its agents and by the model that was asked last."""
    nodes = [turn, *turn.below()]
    last = max((n for n in nodes if n.kind == LLM), key=lambda n: n.start, default=None)
    told = {n.span.output for n in nodes if n.kind in (AGENT, CHAIN)}
    told |= {ModelCall(last, [last]).text} if last is not None else set()
    return {text.strip() for text in told if text and text.strip()}


def _alike(turns: list[Node]) -> bool:
    """Are these spans of one sort, or frames of one agent, some of which have lost the one around that others have?"""
    if len({(n.kind, n.span.scope) for n in turns}) > 1:
        return False
    if len({_NUMBER.sub("", n.span.name) for n in turns}) == 1:
        return True
    ours = turns[0].kind == AGENT and turns[0].own_agent is not None and all(n.orphan for n in turns)
    return ours and len({n.own_agent for n in turns}) == 1 and len({n.span.parent_span_id for n in turns}) > 1


def _one_by_one(turns: list[Node]) -> bool:
    return all(_after(turn, later) for turn, later in pairwise(turns))


def _after(turn: Node, later: Node) -> bool:
    """Was one over when another began, as far as a clock tells?"""
    return turn.end < later.start + max(1, tick_ns(later.start))


def in_turn(turns: list[Node]) -> bool:
    """Do these, alike, follow one another, each with new words after what was said and answered in the one before?"""
    if not _alike(turns) or not _one_by_one(turns):
        return False
    said = [(n, first_said(n)) for n in turns]
    return all(goes_on(x, y, failed=failure(turn) is not None) for (turn, x), (_, y) in pairwise(said))


def goes_on(before: list[Message], said: list[Message], failed: bool = False) -> bool:
    """Do these words go on with what was said before, once that was answered, or had failed?"""
    if not before or not said:
        return False
    asked = next((i for i, x in enumerate(said[:-1]) if x.role == "user" and x.text == before[-1].text), None)
    if asked is None:
        return False
    since = said[asked + 1 : -1]
    return (
        failed
        or any(x.role == "assistant" and x.text for x in since)
        or any(r.name in _FINISHES or is_answer(r.name) for x in since for r in x.requests)
    )


_FINISHES = ("finish",)  # a tool by which an agent says that it is done, and what it has to say (OpenHands)


def leader(entry: Node) -> str | None:
    """The name of the agent that an entry is, or that the first agent or chain below it bears; of an agent's own frame
    any step below it may name who that is."""
    if entry.kind not in (AGENT, CHAIN):
        return None
    if entry.own_agent:
        return entry.own_agent
    below = (n for n in entry.below() if n.own_agent and (entry.kind == AGENT or n.kind in (AGENT, CHAIN)))
    first = min(below, key=by_time, default=None)
    return None if first is None else first.own_agent


def first_said(turn: Node) -> list[Message]:
    """What the first model below a span was asked, where that ends with words of the user."""
    return said_first([turn, *turn.below()])


def said_first(nodes: list[Node]) -> list[Message]:
    """What the first model among these was asked, where that ends with words of the user."""
    first = min((x for x in nodes if x.kind == LLM), key=lambda x: x.start, default=None)
    if first is None:
        return []
    layers = [first, *(x for x in first.below() if x.kind == LLM)][:_LAYERS]
    said = ModelCall(first, layers).inputs or []
    return said if said and said[-1].role == "user" and said[-1].text and not said[-1].results else []


def carried_on(turns: list[Node]) -> list[list[Node]]:
    """These agents, each with those that go on with its work: whose first model is given, last of all, what came of
    tools that its last one asked for (an agent of Inngest's AgentKit is asked anew after its tools). Of an input that
    is cut, it is enough that it begins with what the first of them was given, if the one before asked for tools."""
    found = list[list[Node]]()
    asked_in: dict[str, list[Node]] = {}
    opening: Node | None = None  # the first model of those, and whether the last ended on a request for tools
    open_ = False
    tool_of = nearest(lambda n: n.kind == TOOL)
    for turn in turns:
        models = [x for x in turn.below() if x.kind == LLM and not tool_of(x)] if turn.kind == AGENT else []
        first, last = (choose(models, key=lambda x: x.start, default=None) for choose in (min, max))
        group = next((asked_in[id] for id in _brought_back(first) if id in asked_in), None)
        group = found[-1] if group is None and open_ and _goes_on_cut(opening, first) else group
        if group is None or not _after(group[-1], turn) or group[-1].own_agent != turn.own_agent:
            group, opening = [], first
            found.append(group)
        group.append(turn)
        answer = ModelCall(last, [last]) if last is not None else None
        requests = answer.requests if answer is not None else []
        asked_in.update((r.id, group) for r in requests if r.id)
        open_ = group is found[-1] and (bool(requests) or (answer is not None and asks(answer.finish)))
    return found


def _goes_on_cut(before: Node | None, after: Node | None) -> bool:
    """Is what a model is given cut, and does it begin with all that another was?"""
    told = (before.input_messages, after.input_messages) if before is not None and after is not None else (None, None)
    if told[0] is None or told[1] is None or told[0][-2:] != "}]":
        return False
    return told[1].startswith(told[0][:-1] + ",") and parse_json(told[1]) is None


def _brought_back(first: Node | None) -> list[str]:
    """The ids of the results that a model's input ends with."""
    said = (ModelCall(first, [first]).inputs or []) if first is not None else []
    newest = takewhile(lambda x: x.results and not x.text, reversed(said))
    return [r.id for x in newest for r in x.results if r.id]


_NUMBER = late(r"\d+")
_BEFORE = 8  # requests, what came of which is looked for in the next
_LAYERS = 4  # of instrumentation around one call
