"""What a run was asked, as a text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL
from otelcov.dialects.coding_agents import NOTICE
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message
from otelcov.runs.content.exchanges import DETAILS, event_inputs
from otelcov.runs.content.jsontext import hidden, parse_json, to_json
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.prose import own_words
from otelcov.runs.content.semconv import semconv_messages
from otelcov.runs.content.wrapped import arguments_of, emptied
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.answers import guards, tells_words
from otelcov.runs.rules.habits import guards_first
from otelcov.runs.trace.tree import Node
from otelcov.runs.whole.speakers import calls_agent, front_of, of_a_call, on_a_task, own_calls, shared_out
from otelcov.runs.whole.told_texts import last_user, object_repr, of_user, user_text

_SMOL, _TASK = late(r"smolagents$"), "New task:\n"
"""What smolagents writes before the user's words."""
_SOLVES = "You are an expert assistant who can solve any task using "
"""How its instructions begin."""


def input_text(root: Node, calls: list[ModelCall], limit: int | None, incomplete: set[str]) -> str | None:
    """What the user said, and why nobody knows where that is not told."""
    text = _told(root, calls, limit, incomplete)
    if text is not None and text.startswith(_CONTEXT) and "strands" in root.span.scope:
        asked = _IN_A_SWARM.match(text)
        text = asked.group("task") if asked is not None else None
        incomplete.update(["input not reported"] if text is None else [])
    blank = text is not None and not text.strip()
    if hidden(text) or (blank and (_talk_without_words(root) or made_blank(root, calls) or _named(root, calls, limit))):
        incomplete.add("input not reported")
        return None
    return text


_CONTEXT = "Context:\n"
_IN_A_SWARM = late(
    r"Context:\n(?:Handoff Message: .*?\n\n)?User Request: (?!Multi-modal task\n)(?P<task>.*?)\n\n"
    r"(?:Previous agents who worked on this: |Shared knowledge from previous agents:\n"
    r"|Other agents available for collaboration:\n|You have access to swarm coordination tools\b)",
    re.S,
)
"""The words in which a swarm of Strands' tells an agent of its what the user said, which are no words of the user's."""


def called_by_what_is_lost(root: Node, calls: list[ModelCall]) -> bool:
    """Is the root an agent that has lost what called it, and was a model asked before, in a step of nobody's that lost
    its parent likewise? What the agent was asked may be no word of the user's."""
    if not root.orphan or root.kind != AGENT:
        return False
    earlier = min(calls, key=lambda c: c.start, default=None)
    if earlier is None or not _later(root, earlier):
        return False
    top = earlier.node.top()
    return top is not root and top.orphan and top.kind != AGENT


def _named(root: Node, calls: list[ModelCall], limit: int | None) -> bool:
    """Does only a step within say that nothing was asked? It may name what it goes on with, which is no word of the
    user's, where the end of the request is lost, or a model was shown one and what frames it all has not come."""
    if not root.orphan:
        return limit is not None and len(root.span.input or "") >= limit
    if root.kind != CHAIN or not calls:
        return False
    return any(of_user(x) and (x.text or "").strip() for x in calls[0].inputs or ())


def made_blank(root: Node, calls: list[ModelCall]) -> bool:
    """Is there not one word in all that was said and came back here, whatever tools were given? Then somebody emptied
    it, and an empty request is no word of the user's.

    Where models were shown the request, what they were told and said decides: spans around them may name what they go
    on with, which is no word of anybody. Nor is what came back, where a model's very instructions are empty. Where no
    words of models are told, the request and the answer in one place do, and what tools were given."""
    shown = [x for c in calls for x in c.inputs or ()]
    said = [*shown, *(x for c in calls for x in c.outputs or ())]
    if any(x.text for x in said if not x.results):
        return False
    asked = any(x.role == "user" and x.text is not None for x in shown)
    if asked and any(x.role == "system" and x.text == "" for x in shown):
        return True
    if any(_says(r.content) for x in said for r in x.results):
        return False
    nodes = [root, *root.below()]
    if asked or (not said and (_without_words(root) or any(emptied(n.span.arguments) for n in nodes))):
        return True
    if not calls or any(_says(n.span.input) for n in nodes if n.kind != TOOL):
        return False
    return not any(_says(told) for n in nodes for told in (n.span.output, n.span.output_messages, n.span.result))


def _without_words(node: Node) -> bool:
    """Do messages tell that something was asked and answered here, and in no words?"""
    sides = (node.input_messages or node.span.input, node.span.output_messages or node.span.output)
    told = [list(_words(parse_json(raw))) if raw and raw[0] in "[{" else [] for raw in sides]
    return all(told) and not any(word for words in told for word in words)


def _talk_without_words(node: Node) -> bool:
    """Do messages tell what several said here, and that in no words?"""
    raw = node.span.input
    words = list(_words(parse_json(raw))) if raw and raw[0] in "[{" else []
    return len(words) > 1 and not any(words)


def _says(told: Any) -> bool:
    """Is this more than the frame of what was said, if anything is in it?"""
    value = parse_json(told) if isinstance(told, str) and told[:1] in ("[", "{") else told
    words = list(_words(value))
    return any(words) if words else bool(value)


def _words(value: Any) -> Iterator[Any]:
    """What stands in the places of a message, or of a call, where words do."""
    held = [value]
    while held:
        one = held.pop()
        for key, inner in one.items() if isinstance(one, dict) else enumerate(one if isinstance(one, list) else ()):
            if isinstance(inner, (dict, list)):
                held.append(inner)
            elif key in _SAID and inner is not None:
                yield inner


_SAID = ("content", "text", "arguments", "args", "input", "output", "result", "response")


def _told(root: Node, calls: list[ModelCall], limit: int | None, incomplete: set[str]) -> str | None:
    empty = False
    if root.span.input is None and tells_words(root.span.scope, root.span.name):
        return None
    if root.span.input is None and guards(root.span.scope):
        incomplete.add("input not reported")
        return None
    spoken = own_calls(root, calls)
    first = min(spoken, key=lambda c: c.start) if spoken else None
    called = root.orphan and first is not None and _later(root, first)
    parted = bool(shared_out(root, spoken))
    if (before := _before_a_guard(root)) is not None:
        return before
    cut: list[Node] = []  # agents of whose request the end is lost
    for node in front_of(root):
        raw = node.span.input
        if raw and cut and node.kind == AGENT and any(n in cut for n in node.ancestors()):
            continue  # who works below was asked something else
        if raw and node.kind == AGENT and limit is not None and len(raw) >= limit:
            cut.append(node)
        if raw and parted and (node is not root or root.orphan):
            break
        if node.kind in (LLM, TOOL) or ((node is not root or called) and first is not None and _later(node, first)):
            continue
        empty = empty or (raw == "" and node.kind in (AGENT, CHAIN))
        if raw and _comes_in_pieces(node, first):
            continue
        if raw:
            quick = semconv_messages(raw)
            if quick is not None and (limit is None or len(raw) < limit):
                text = last_user(_not_handed_on(root, quick))
                if text is not None:
                    return _asked_at_first(text, quick, first)
                continue
            value = parse_json(raw) if raw[:1] in "[{" else None
            if _resumes(value):
                incomplete.add("input not reported")
                return None
            whole = messages_of(value) if isinstance(value, (list, dict)) else []
            told = _not_handed_on(root, whole)
            held = len(told) < len(whole) or any(x.role == "assistant" for x in whole)
            text = last_user(told) if held else user_text(raw, limit)
            text = _asked_at_first(text, whole, first) if held else text
            text = _given_by_place(_beside_history(text, value, first), value, first)
            text = _object_told(text, raw, value, first)
            if text is not None and not object_repr(text):
                return text
        if _history_alone(node, first):
            continue
        for name, attributes in reversed(node.side.events.get(node.span.row, ())):  # history first, then what is new
            if name == "gen_ai.user.message":
                content = attributes.get("content")
                if limit is not None and isinstance(content, str) and len(content) >= limit:
                    return None
                said = event_inputs([(name, {"content": content})])
                if said and said[0].text is not None:
                    return said[0].text
            text = last_user(event_inputs([(name, attributes)])) if name == DETAILS else None
            if text is not None:
                return text
    if own := _asked_by_the_user(spoken):
        asked = (c for c in own if c.agent is not None and c.agent == root.own_agent)
        first = own[0] if called else next(asked, own[0])  # an agent that it calls first was not asked by the user
        inputs = first.inputs
        if inputs is not None and first.endless:
            incomplete.add("attributes dropped")
        elif inputs is not None and not (limit is not None and first.truncated_input):
            text = last_user(inputs)
            if text is None and not any(x.results for x in inputs):
                for layer in first.layers:
                    text = text if text is not None else user_text(layer.input_messages, limit)
            if first.unordered and sum(x.role == "user" for x in inputs) > 1:
                incomplete.add("order of messages not reported")
            elif text is not None and (
                parted
                or (inputs[-1].role == "user" and inputs[-1].results and inputs[-1].text)  # said beside what came back
                or _of_others(first, own, text)
                or _after_another(first)
                or object_repr(text)
                or _goes_on(root, first)
                or on_a_task(first, spoken)
            ):
                incomplete.add("input not reported")
            elif text is not None and (limit is None or len(text) < limit):
                return _without_frame(first, text)
        if first.truncated_input:
            incomplete.add("truncated values")
        elif inputs is None and not empty:
            if (prompt := _prompt_recorded(root)) is not None:
                return prompt
            incomplete.add("input not reported")
    elif spoken and not empty:
        incomplete.add("input not reported")
    return "" if empty else None


def _history_alone(node: Node, first: ModelCall | None) -> bool:
    """Do the messages that a step tells end with an answer, with what a tool brought, or with what a user had said
    before, when the model in it was asked something by a user? They were said before (Strands, of its cycles)."""
    events = node.side.events.get(node.span.row, ())
    if not events or first is None or node is first.node or not first.inputs or first.inputs[-1].role != "user":
        return False
    told = event_inputs(events)
    if not told:
        return False
    last, *before = first.inputs[::-1]
    again = told[-1].text is not None and told[-1].text != last.text and any(x.text == told[-1].text for x in before)
    return told[-1].role == "assistant" or bool(told[-1].results) or again


def _resumes(value: Any) -> bool:
    """Is this how LangGraph is told to go on where it had waited (`Command(resume=...)`)? What was asked, was asked of
    an earlier run."""
    inner = value.get("inputs") if isinstance(value, dict) else None  # OpenLLMetry's
    command = inner if isinstance(inner, dict) else value
    if not isinstance(command, dict) or command.get("resume") is None or command.get("update"):
        return False
    return "goto" in command or command.get("lg_name") == "Command"


def _goes_on(root: Node, first: ModelCall) -> bool:
    """Does an agent that tells what it answered, and not that anything was asked, go on after tools for which a model
    had asked before? It had waited, and what the user said before that was asked of an earlier run."""
    if root.kind != AGENT or root.orphan or root.span.input is not None:
        return False
    if root.span.output is None and root.span.output_messages is None:
        return False
    since = takewhile(lambda x: not of_user(x), reversed(first.inputs or []))
    return any(x.requests for x in since)


def _before_a_guard(root: Node) -> str | None:
    """What a user said before a guard of the agent's put other words in its place (VoltAgent)."""
    if root.kind != AGENT or not guards_first(root.span.scope):
        return None
    guards = (n for n in root.children if n.kind == OTHER and guards_first(n.span.scope))
    return next((n.span.input for n in guards if n.span.input), None)


def _asked_by_the_user(calls: list[ModelCall]) -> list[ModelCall]:
    """Without what an agent's tool asked before the agent did: a run that goes on where that one had waited."""
    return [c for c in calls if not _for_a_tool(c)] if calls and _for_a_tool(calls[0]) else calls


def _for_a_tool(call: ModelCall) -> bool:
    """Is another agent at work here, called by a tool of one?"""
    if of_a_call(call):
        return True
    above = list(call.node.ancestors())
    at = next((i for i, n in enumerate(above) if n.kind == TOOL), None)
    return at is not None and any(n.kind == AGENT for n in above[:at]) and any(n.kind == AGENT for n in above[at:])


def _asked_at_first(text: str | None, told: list[Message], first: ModelCall | None) -> str | None:
    """What an agent tells that it was asked, where it tells of all that was said: what comes after an answer in the
    user's name, and its first model was not told, sent an answer back (Pydantic AI)."""
    if text is None or first is None or first.truncated_input or not any(x.role == "assistant" for x in told):
        return text
    known = [own_words(x.text) for x in first.inputs or () if x.role in ("user", "tool") and x.text]
    said = [own_words(x.text) for x in told if of_user(x)]
    return known[-1] if known and text not in known and known[-1] in said else text


def _beside_history(text: str | None, given: Any, first: ModelCall | None) -> str | None:
    """What a user says now, where a function is given it beside all that was said before, in which it looked newest:
    the first model was told so, after an answer to that."""
    if text is None or first is None or first.truncated_input or not isinstance(given, (list, dict)):
        return text
    known = [own_words(x.text) for x in first.inputs or () if of_user(x)]
    if not known or known[-1] == text or text not in known or known[-1] not in _texts(given):
        return text
    return known[-1]


def _given_by_place(text: str | None, given: Any, first: ModelCall | None) -> str | None:
    """Which of several things that a function was given by their places a user said: the first model was told it, in
    so many words or among others. None where it was told of no one of them, but of something: these may be ids."""
    given = given.get("args") if isinstance(given, dict) and given.get("kwargs") == {} else None
    if text is None or not isinstance(given, list) or len(given) < 2 or given[0] != text:
        return text
    if first is None or first.truncated_input or not any(of_user(x) for x in first.inputs or ()):
        return text
    known = [x.text for x in first.inputs or () if x.text]
    texts = [one for one in given if isinstance(one, str) and one.strip()]
    found = [one for one in texts if one in known] or [one for one in texts if any(one in told for told in known)]
    return text if text in found else max(found, key=len, default=None)


def _object_told(text: str | None, raw: str, value: Any, first: ModelCall | None) -> str | None:
    """What a user said, where it is an object by itself, that looked like a frame around `text`: the first model was
    told the whole of it."""
    if text is None or first is None or not isinstance(value, dict):
        return text
    known = [own_words(x.text) for x in first.inputs or () if of_user(x)]
    if text in known:
        return text
    for one in reversed(known):
        if one and one[:1] == "{" and (one == raw or one in _texts(value)):
            return one
    cut = (layer.input_messages or "" for layer in first.layers) if first.truncated_input else ()
    return raw if any(to_json(raw)[1:-1] in told for told in cut) else text


def _comes_in_pieces(node: Node, first: ModelCall | None) -> bool:
    """Is this what LangChain puts in the place of what a chain is given piece by piece, where the first model in it
    heard words of a user?"""
    if "langchain" not in node.span.scope and node.span.scope != "langfuse-sdk":
        return False
    placed = _IN_PLACE.fullmatch(node.span.input or "") is not None
    return placed and first is not None and any(of_user(x) and (x.text or "").strip() for x in first.inputs or ())


_IN_PLACE = late(r'\{"input": ?""\}|\{"inputs": ?\{"input": ?""\}, ?"tags": .*', re.S)


def _texts(given: Any, deepest: int = 3) -> set[str]:
    """The texts that stand in what a function was given, but in no message."""
    if isinstance(given, str):
        return {given}
    inside = list(given.values()) if isinstance(given, dict) and "role" not in given else given
    if not isinstance(inside, list) or not deepest:
        return set()
    return {text for value in inside for text in _texts(value, deepest - 1)}


def _prompt_recorded(root: Node) -> str | None:
    """The one prompt that log records of coding agents tell, wherever in the run."""
    if not root.side.events:
        return None
    events = (event for n in (root, *root.below()) for event in root.side.events.get(n.span.row, ()))
    prompts = {told.get("prompt") for name, told in events if name.endswith("user_prompt")}
    prompt = prompts.pop() if len(prompts) == 1 else None
    told = isinstance(prompt, str) and not hidden(prompt) and not prompt.startswith(NOTICE)
    return prompt if told else None


def _not_handed_on(root: Node, found: list[Message]) -> list[Message]:
    """Without what the run's own agents were given by a tool, where an agent tells it among what it was asked itself
    (Claude's Agent SDK): after its last answer several speak then."""
    if not several_speak(found):
        return found
    handed = [n.span for n in root.below() if n.kind == TOOL and calls_agent(n)]
    given = [v for span in handed for v in (arguments_of(span.arguments)[0] or {}).values()]
    return [x for x in found if not (x.role == "user" and x.text and x.text in given)] if given else found


def several_speak(found: list[Message]) -> bool:
    """Did a user say more than one thing since the last answer?"""
    since = takewhile(lambda x: x.role != "assistant", reversed(found))
    return sum(x.role == "user" and not x.results and x.text is not None for x in since) > 1


def solves(call: ModelCall) -> bool:
    """Was a model asked by smolagents what to do next, as its instructions say?"""
    return ((call.inputs or [Message("")])[0].text or "").startswith(_SOLVES)


def of_a_manager(root: Node, text: str | None) -> bool:
    """Is this what an agent of smolagents' whose own manager has not come was told by that? Neither did the user ask
    it, nor does the user hear the answer."""
    return root.orphan and text is not None and _MANAGED.match(text) is not None


_MANAGED = late(r"You're a helpful agent named '.*'\.\nYou have been submitted this task by your manager\.\n")


def _without_frame(call: ModelCall, text: str) -> str:
    """The user's words out of those that smolagents, whoever tells of it, and BeeAI put around them."""
    if solves(call) or any(_SMOL.search(n.span.scope) for n in call.layers):
        return text.removeprefix(_TASK)
    if any("beeai" in n.span.scope for n in call.layers) and (found := _BEE.match(text)) is not None:
        return html.unescape(found.group("task"))
    return text


_BEE = late(
    r"(?:(?:This is the context relevant to the task:|\nThis is the expected criteria for your output:)\n.*\n)?"
    r"Your task: (?P<task>.*)$",
    re.S,
)


def _after_another(first: ModelCall) -> bool:
    """Had another agent, of whose work no step is seen, ended before the one that asked first, and was told one thing
    alone? The other may have been told what the user said, and have handed that on."""
    if sum(x.role != "system" for x in first.inputs or ()) != 1:
        return False
    agent = next((n for n in first.node.ancestors() if n.kind == AGENT), None)
    if agent is None or agent.own_agent is None or agent.parent is None or agent.parent.kind == TOOL:
        return False
    before = (n for n in agent.parent.children if n.kind == AGENT and 0 < n.end <= agent.start and not n.children)
    return any(n.own_agent not in (None, agent.own_agent) for n in before)


def _of_others(first: ModelCall, own: list[ModelCall], text: str) -> bool:
    """Was this asked of one among others, or of who sums up what they had answered?"""
    return _asked_otherwise(first, own, text) or _sums_up(first, own)


def _asked_otherwise(first: ModelCall, own: list[ModelCall], text: str) -> bool:
    """Were others asked something else at the same time? Then each was given a part of the work (CrewAI's tasks)."""
    for call in own:
        if call.agent in (None, first.agent) or first.agent is None or not call.start < first.end:
            continue
        told = [own_words(x.text) for x in call.inputs or () if x.role == "user" and not x.results and x.text]
        if told and text not in told and first.start < call.end and not _within(call, first):
            return True
    return False


def _within(call: ModelCall, outer: ModelCall) -> bool:
    """Was this made for a tool of the other, whose span lasts as long as what it asked for (ADK for JavaScript)?"""
    return any(n is outer.node for n in call.node.ancestors())


def _sums_up(first: ModelCall, own: list[ModelCall]) -> bool:
    """Was this told what other agents had answered before it? Then the words that follow are not the user's (AutoGen's
    society of mind)."""
    said = {c.text for c in own if c.end <= first.start and c.agent not in (None, first.agent)} - {None}
    return bool(said) and any(x.text in said for x in (first.inputs or ())[:-1])


def _later(node: Node, first: ModelCall) -> bool:
    """Did this begin too late to hold what the user said? An agent, after a model was asked; any other step, after that
    had answered."""
    return node.start > (first.start if node.kind == AGENT else first.end)
