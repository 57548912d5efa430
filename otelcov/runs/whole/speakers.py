"""Who speaks for a run: the spans around its work and the model calls that its user hears."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise

from otelcov.dialects.base import AGENT, CHAIN, OTHER, TOOL
from otelcov.runs.agents.delegation import delegates, subagent
from otelcov.runs.content.chat import Request
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.handovers import asks, sets_a_task
from otelcov.runs.trace.tree import Node
from otelcov.runs.whole.told_texts import last_user


def own_calls(root: Node, calls: list[ModelCall]) -> list[ModelCall]:
    """The model calls that speak of the request itself: those of a guardrail or a judge speak about it. Where what
    frames the run is missing, those inside a tool are somebody else's: what an agent called as a tool was asked is not
    what the user asked."""
    calls = [c for c in calls if not c.node.within(OTHER)] or calls
    return [c for c in calls if not c.node.within(TOOL)] if root.orphan else calls


def calls_agent(tool: Node) -> bool:
    """Does a tool call an agent, or hand over to one, by its name or what it was given?"""
    return asks(tool.span.tool or "") is not None or _delegates(tool)


def of_a_call(call: ModelCall) -> bool:
    """Was a model asked within a tool by which an agent called another? Neither did the user say what it was asked, nor
    does the user hear what it says."""
    return any(n.kind == TOOL and n.parent is not None and _delegates(n) for n in call.node.ancestors())


def within_an_agent(call: ModelCall) -> bool:
    """Was a model asked by an agent that works below a tool? Who called that tool is told what it says."""
    above = list(call.node.ancestors())
    at = next((at for at, n in enumerate(above) if n.kind == TOOL), 0)
    return any(_is_an_agent(n, above[at]) for n in above[:at])


def _is_an_agent(step: Node, tool: Node) -> bool:
    """Is this an agent, or a graph of another agent than the one whose tool it is below?"""
    if step.own_agent is None:
        return False
    return step.kind == AGENT or (step.kind == CHAIN and tool.agent is not None and step.own_agent != tool.agent)


def _says(text: str | None, words: str) -> bool:
    """Are these the words of a text, or a line of it?"""
    return text is not None and (text.strip() == words or f"\n{words}\n" in f"\n{text.strip()}\n")


def on_a_task(call: ModelCall, calls: list[ModelCall]) -> bool:
    """Does a conversation begin with what another gave to a tool, as an answer before it tells, or the last history of
    somebody? Then an agent is asked it that the tool called, and who called it hears the answer. Calls by start."""
    words = next((x.text for x in call.inputs or () if x.role == "user"), None)
    if not words or not words.strip():
        return False
    newest = _newest_told(calls)
    for other in calls:
        told = list(other.asked) if other.start < call.start else []
        if id(other) in newest:
            told += [r for x in other.inputs or () for r in x.requests]
        gave = any(sets_a_task(r.name) and _given(r, words.strip()) for r in told) if other is not call else False
        if gave and not any(x.role == "user" and _says(x.text, words.strip()) for x in other.inputs or ()):
            return True
    return False


def _newest_told(calls: list[ModelCall]) -> set[int]:
    """The newest of each agent's calls that tell a history, and of the newest that are nobody's those of each
    conversation, by its first words. Histories are long: no more of them are read."""
    found, known, unnamed = set[int](), set[tuple[str | None, str | None]](), 0
    for call in reversed(calls):
        nobodys = call.agent is None
        if (unnamed == _UNNAMED if nobodys else (call.agent, None) in known) or not call.inputs:
            continue
        words = next((x.text for x in call.inputs if x.role == "user"), None) if nobodys else None
        unnamed += nobodys
        if (call.agent, words) not in known:
            known.add((call.agent, words))
            found.add(id(call))
    return found


_UNNAMED = 8


def _given(request: Request, words: str) -> bool:
    given = arguments_of(request.arguments)[0] or {}
    return any(isinstance(v, str) and v.strip() == words for v in given.values())


def _delegates(tool: Node) -> bool:
    return delegates(tool.span.tool or "") or subagent(tool.span.arguments)


def of_a_delegate(root: Node, calls: list[ModelCall]) -> tuple[set[str], set[str]]:
    """What those that a tool called were asked and answered, where who called them tells no content, and they do: a
    frame may have taken it for its own (OpenInference of OpenAI's Agents SDK for JavaScript)."""
    given, said = set[str](), set[str]()
    within = [c for c in calls if c.node.within(TOOL)]
    if not within or any(c.inputs is not None or c.outputs is not None for c in calls if c not in within):
        return given, said
    if root.kind != AGENT or len(within) == len(calls):
        return given, said
    for call in within:
        given.update(x.text for x in call.inputs or () if x.role == "user" and x.text)
        said.update([call.text] if call.text else [])
    return given, said


def front_of(root: Node) -> list[Node]:
    """The root and the containers right below it, down to the first agent with input: where a request is written. What
    a tool called whose own frame has not come was not asked by the user."""
    out, level = [root], [root] if root.kind != TOOL or not root.orphan else []
    for _ in range(5):
        level = [c for n in level for c in n.children if c.kind in (AGENT, CHAIN) or c.kind is None]
        out.extend(level if len(level) <= 16 else level[:8] + level[-8:])
    return out


def at_work(root: Node, call: ModelCall) -> bool:
    """Has the agent that made this call not ended yet?"""
    return root.orphan and not call.node.within(AGENT)


def abreast(root: Node, own: list[ModelCall], last: ModelCall) -> bool:
    """Did agents side by side answer at the same time? The last is one of several, and what was made of them all is not
    told by any of them."""
    top = in_charge(root, last)
    if top is None:
        return False
    mine: list[ModelCall] = []
    theirs: dict[int, list[ModelCall]] = {}
    for call in own:
        agent = in_charge(root, call)
        if agent is top:
            mine.append(call)
        elif agent is not None:
            theirs.setdefault(id(agent), []).append(call)
    mine.sort(key=lambda c: c.start)
    begins, until = [c.start for c in mine], list(accumulate((c.end for c in mine), max))
    for calls in theirs.values():
        if calls[-1].text and any((n := bisect_left(begins, c.end)) and until[n - 1] > c.start for c in calls):
            return True
    return False


def in_charge(root: Node, call: ModelCall) -> Node | None:
    """The topmost agent that a model call works for, if that is not the whole run, nor somebody's tool."""
    above = list(call.node.ancestors())
    if (root.own_agent is not None and not root.orphan) or any(n.kind == TOOL for n in above):
        return None
    return next((n for n in reversed(above) if n.own_agent is not None), None)


def shared_out(root: Node, own: list[ModelCall]) -> list[Node]:
    """Agents side by side that were asked different things at the same time: each was given a part of the work, which
    none of them was asked for as a whole (LangGraph's `Send`)."""
    asked: dict[int, tuple[Node, ModelCall]] = {}
    for call in own:
        above = list(call.node.ancestors())
        agent = next((n for n in reversed(above) if n.own_agent is not None and (n is not root or root.orphan)), None)
        if agent is None or any(n.kind == TOOL for n in above):
            return []  # the run's own model speaks for it
        asked.setdefault(id(agent), (agent, call))
    found: list[Node] = []
    for (agent, call), (other, later) in pairwise(sorted(asked.values(), key=lambda pair: pair[1].start)):
        words = [last_user(c.inputs or []) for c in (call, later)] if later.start < call.end else [None]
        if None not in words and words[0] != words[1]:
            found += [agent, other]
    return found
