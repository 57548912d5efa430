"""Model calls and tools that each stand in a trace of their own: which goes on with which, by the ids and the words
that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message
from otelcov.runs.joining.doubles import random, words_of
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.handed_on import HandedOn, without_orders
from otelcov.runs.joining.leaves import acted, tail
from otelcov.runs.joining.lone_tools import ran_for
from otelcov.runs.joining.prints import History, print_of
from otelcov.runs.llm.left_out import pieces
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.tools.call import short_id
from otelcov.runs.tools.executions import span_call_id
from otelcov.runs.trace.tree import Node

_JITTER_NS = 1_000_000
_PATIENCE_NS = 60_000_000_000  # how long a client waits, at the most, before it tries again
_SOON_NS = 10_000_000_000
_AT_ONCE_NS = 1_000_000_000  # what a router waits before it asks another model
_AT_ONCE = 64  # conversations that are held against each other, where nothing else tells them apart

Unite = Callable[[Fragment, Fragment], None]


class _Asked(NamedTuple):
    """Who asked for a tool, and what had been said before."""

    fragment: Fragment
    call: ModelCall
    before: History | None


class _AskedFor:
    """Who asked for a tool by an id: the newest of each service."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, dict[str | None, list[_Asked]]] = {}

    def note(self, told: str, asked: _Asked) -> None:
        some = self._known.setdefault(told, {}).setdefault(asked.fragment.root.span.service, [])
        some.append(asked)
        del some[:-_AT_ONCE]

    def near(self, told: str, node: Node) -> list[_Asked]:
        """Those of the same service and the same conversation as a node, if any is; of others only by an id that nobody
        gives twice."""
        known = self._known.get(told)
        if known is None:
            return []
        near = known.get(node.span.service, [])
        if not near and random(told):
            near = [x for some in known.values() for x in some]
        if len(near) < 2:
            return near
        return [x for x in near if x.fragment.root.span.conversation == node.span.conversation] or near


class _Known:
    """What calls asked for tools, by what was said before: of one service, and of one conversation if any is told."""

    __slots__ = ("mute", "named", "openings", "others", "said", "streams")

    def __init__(self) -> None:
        self.openings: dict[bytes, Fragment] = {}
        self.named: dict[bytes, Fragment] = {}  # the same of answers that tell ids, for histories that tell none
        self.streams: dict[bytes, tuple[Fragment, ModelCall]] = {}  # of which the last piece is told
        self.mute: dict[bytes, list[tuple[Fragment, ModelCall]]] = {}  # where that shows no requests
        self.others: dict[bytes, list[tuple[Fragment, ModelCall]]] = {}  # by what any agent would be told of that
        self.said: dict[tuple[bytes, str], tuple[Fragment, ModelCall]] = {}  # answers of which a text is told

    def before(self, call: ModelCall, past: History, by_id: bool) -> Fragment | None:
        """Who asked for the tools with which this history ends; `by_id`: ids tell of these."""
        history = past.messages
        begun = self.streams.get(past.print(len(history) - 1))
        before = self.openings.get(past.print()) or _begun(begun, history[-1]) or _asked_beside(self.said, past)
        before = before or (None if by_id else self.named.get(past.print()))
        if before is None and not by_id:
            before = _left_out(self.mute, past)
        if before is None and _took_over(call):
            before = _left_out(self.others, History(without_orders(history)))
        if before is None and history[-1].text:  # a stream's text may not be told beside its calls
            alone = Message(history[-1].role, requests=history[-1].requests)
            before = self.openings.get(print_of([*history[:-1], alone]))
        return before

    def note(self, p: Fragment, call: ModelCall, own: History | None, handed: bool) -> None:
        """What a call asked for; `handed`: somebody who was handed the work may go on with it."""
        asks_untold = asks(call.finish) and not call.asked
        if own and (call.requests or asks_untold) and call.inputs and not any(x.requests for x in call.inputs):
            self.mute.setdefault(own.print(), []).append((p, call))
            if handed:
                self.others.setdefault(print_of(without_orders(call.inputs)), []).append((p, call))
        if call.text and own is not None and call.inputs and not call.requests:
            self.said[own.print(), call.text] = p, call
        if call.requests:
            unnamed = not any(r.id for r in call.requests)
            answer = [acted(call.text)] if call.text_react else call.outputs or []
            known = self.openings if unnamed else self.named
            known[print_of([*(call.inputs or []), *answer])] = p
            if len(answer) == 1 and answer[0].text:  # history may leave it out, or tell it in pieces
                alone = Message(answer[0].role, requests=answer[0].requests)
                known[print_of([*(call.inputs or []), alone])] = p
            if unnamed and own and call.inputs and pieces(call):
                self.streams[own.print()] = (p, call)


def unite_followers(loose: list[Fragment], unite: Unite) -> tuple[dict[int, Fragment], dict[int, Fragment]]:
    """Join by results brought for tools asked. Returns the follower of each fragment, and of each tool that is joined
    with whom."""
    asked = _AskedFor()
    every: dict[tuple[str | None, str | None], _Known] = {}
    followers: dict[int, Fragment] = {}
    joined: dict[int, Fragment] = {}
    texts: dict[str | None, list[tuple[str, Fragment]]] = {}  # prompts that are plain text
    tries = _Failed()
    handed = any(_took_over(call) for p in loose for call in p.calls)
    handed_on = HandedOn()
    for p in loose:
        if p.tools:
            asker = _asker_of(p, asked)
            if asker is not None:
                unite(asker, p)
                joined[id(p)] = asker
            continue
        known = every.setdefault((p.root.span.service, p.root.span.conversation), _Known())
        failed = tries.again(p)
        if failed is not None:
            unite(failed, p)
        _continued_text(p, texts, followers, unite)
        for call in p.calls:
            ending = tail(call)
            if ending is None:
                before = handed_on.before(call, None) or _beside_words(call, known.mute)
                if before is not None and before is not p:
                    followers[id(before)] = p
                    unite(before, p)
            else:
                ids, history = ending
                past = History(history)
                askers = _askers(ids, asked, p.root, past)
                if call.unordered:  # of what came before somebody else went on
                    askers = (q for q in askers if id(q) not in followers)
                before = next(askers, None)
                if before is None and history:
                    before = known.before(call, past, bool(ids)) or handed_on.before(call, history)
                if before is not None and before is not p and before.root.span.service == p.root.span.service:
                    followers[id(before)] = p
                    unite(before, p)
                elif before is None:
                    first = _asked_since(call, asked) or _lent(call, known.mute)
                    if first is not None and first is not p:
                        unite(first, p)
        for call in p.calls:
            own = None if call.inputs is None else History(call.inputs)
            for r in call.requests:
                for told in dict.fromkeys((r.id, short_id(r.id, r.name))) if r.id else ():
                    asked.note(told, _Asked(p, call, own))
            handed_on.note(p, call)
            known.note(p, call, own, handed)
    _unite_by_history([p for p in loose if p.tools and id(p) not in joined], loose, joined, unite)
    return followers, joined


def _asker_of(p: Fragment, asked: _AskedFor) -> Fragment | None:
    """Who asked for these tools, by their ids; where several asked for something by that id, by what this was, too."""
    ids = [told for n in p.tools if (told := span_call_id([n])) is not None]
    some = next((found for told in ids if (found := asked.near(told, p.root))), [])
    if len({id(x.fragment) for x in some}) < 2 or len(p.tools) > 1:
        return some[-1].fragment if some else None
    fitting = {id(x.fragment): x.fragment for x in some if ran_for(p, x.fragment)}
    return next(iter(fitting.values())) if len(fitting) == 1 else None


def _unite_by_history(tools: list[Fragment], loose: list[Fragment], joined: dict[int, Fragment], unite: Unite) -> None:
    """Tools whose ids no answer tells: each is of the run whose history is the first to show its id once it ran. An id
    that several tools bear, or that was shown before, counts in each answer alone and tells nothing."""
    told = [(i, p) for p in tools for i in {i for n in p.tools for i in _known_by(n)}]
    bearers = Counter(i for i, _ in told)
    ran = {i: p for i, p in told if bearers[i] == 1}
    for q in loose:
        if not ran:
            break
        messages = [x for call in q.calls for x in call.inputs or ()]
        ids = {r.id for x in messages for r in x.requests} | {r.id for x in messages for r in x.results}
        for known in sorted(i for i in ids if i in ran):
            p = ran[known]
            if q.start < p.start:
                del ran[known]
            elif p.end <= q.start + _JITTER_NS and p.root.span.service == q.root.span.service:
                del ran[known]
                if id(p) not in joined:
                    joined[id(p)] = q
                    unite(q, p)


def _known_by(tool: Node) -> tuple[str, ...]:
    """The ids by which histories may tell of a tool."""
    told = span_call_id([tool])
    return () if told is None else tuple(dict.fromkeys((told, short_id(told, tool.span.tool))))


def _asked_since(call: ModelCall, asked: _AskedFor) -> Fragment | None:
    """The fragment that asked for a tool since the user spoke last, where history goes on from that by calls that no
    model asked for (a supervisor's `transfer_back_to_planner`)."""
    past = History(call.inputs or [])
    for x in reversed(past.messages) if not call.unordered else ():
        if x.role == "user" and not x.results:
            return None
        for r in x.requests:
            if r.id and (found := next(_askers([r.id], asked, call.node, past), None)) is not None:
                return found if found.root.span.service == call.node.span.service else None
    return None


def _begun(stream: tuple[Fragment, ModelCall] | None, answer: Message) -> Fragment | None:
    """The fragment whose stream ended with the last of these requests: it had asked for all of them."""
    if stream is None or not answer.requests:
        return None
    p, call = stream
    told = [Message("assistant", requests=some) for some in (call.requests[-1:], answer.requests[-1:])]
    if print_of(told[:1]) != print_of(told[1:]):
        return None
    call.was(answer)
    return p


def _asked_beside(said: dict[tuple[bytes, str], tuple[Fragment, ModelCall]], past: History) -> Fragment | None:
    """The fragment whose answer, of which its text alone was told (Langfuse, of OpenAI's Responses), asked for the
    tools at the end of this history, too."""
    history = past.messages
    at = next((i for i in range(len(history) - 1, -1, -1) if history[i].text), None)
    if at is None or any(x.role != "assistant" for x in history[at:]):
        return None
    found = said.get((past.print(at), history[at].text or ""))
    if found is None:
        return None
    found[1].was(Message("assistant", history[at].text, [r for x in history[at:] for r in x.requests]))
    return found[0]


def _left_out(mute: dict[bytes, list[tuple[Fragment, ModelCall]]], past: History) -> Fragment | None:
    """The newest fragment whose answer asked for tools, where the history that ends with it leaves out what that was
    and ids (OpenLIT 1.33 writes `assistant: None`)."""
    answer = past.messages[-1]
    if answer.role != "assistant" or answer.requests:
        return None
    asked = mute.get(past.print(len(past.messages) - 1), [])
    if not asked or (answer.text or "None") not in ("None", asked[-1][1].text):
        return None
    return asked.pop()[0]


def _beside_words(call: ModelCall, mute: dict[bytes, list[tuple[Fragment, ModelCall]]]) -> Fragment | None:
    """The newest fragment whose answer said something beside what it asked for, where history leaves that out and tells
    what came of it in the user's name (Traceloop, of LlamaIndex for JavaScript)."""
    said = call.inputs or []
    at = next((i for i in range(len(said) - 1, -1, -1) if said[i].role != "user" or said[i].results), 0)
    if not said or said[at].role != "assistant" or said[at].requests or not said[at].text or at == len(said) - 1:
        return None
    asked = mute.get(History(said).print(at), [])
    return asked.pop()[0] if asked and asked[-1][1].text == said[at].text else None


def _took_over(call: ModelCall) -> bool:
    """Was this asked of an agent that had been handed the work, as what came back says (LlamaIndex, LangGraph)?"""
    last = (call.inputs or [Message("")])[-1]
    return any(isinstance(r.content, str) and _HANDED.match(r.content) for r in last.results)


_HANDED = late(r"Agent .+ is now handling the request due to the following reason\b|Successfully transferred to \S")


def _lent(call: ModelCall, mute: dict[bytes, list[tuple[Fragment, ModelCall]]]) -> Fragment | None:
    """The newest fragment whose answer handed on the work that comes back to this call (LangGraph's supervisors), where
    history leaves out what was asked for."""
    said = call.inputs or [Message("")]
    if not any(isinstance(r.content, str) and _BACK.match(r.content) for r in said[-1].results):
        return None
    past = History(said)
    since = max((at for at, x in enumerate(said) if x.role == "user"), default=-1) + 1
    for at in range(since, len(said)):
        asked = mute.get(past.print(at), []) if said[at].role == "assistant" else []
        if asked and asked[-1][0].root.span.service == call.node.span.service:
            return asked[-1][0]
    return None


_BACK = late(r"Successfully transferred back to \S")


def _askers(ids: list[str], known: _AskedFor, node: Node, past: History) -> Iterator[Fragment]:
    """Who asked for a tool by any of these ids, the likeliest first. Ids that count in each answer alone (Gemini has
    none: its clients make them up, and give a result another than its request bears) come back in other conversations:
    then the newest whose question this history begins with, and nobody who was told what this history does not hold."""
    asked = [known.near(i, node) for i in ids]
    if len({id(one.fragment) for some in asked for one in some}) > 1:
        yield from (one for some in asked if (one := _begins(some, past)) is not None)
    for told, some in zip(ids, asked, strict=True):
        meant = {id(one.fragment): one.fragment for one in some}
        if not random(told) and len(meant) <= _AT_ONCE:
            meant = {id(one.fragment): one.fragment for one in some if _heard(one, past)}
        if len(meant) == 1:
            yield from meant.values()


def _heard(asked: _Asked, past: History) -> bool:
    """Does this history hold what the user had said before this was asked for, or no word of a user at all?"""
    said = words_of(asked.call)
    if said is None or not any(x.role == "user" and x.text for x in past.messages):
        return True
    return any(said in (x.text or "") for x in past.messages)


def _begins(asked: list[_Asked], past: History) -> Fragment | None:
    for fragment, _, before in reversed(asked):
        if before is not None and before.print() == past.print(len(before.messages)):
            return fragment
    return None


class _Failed:
    """Calls that failed, and what each conversation asked last."""

    __slots__ = ("_by_words", "_latest")

    def __init__(self) -> None:
        self._by_words: dict[tuple[str | None, str | None, bytes], Fragment] = {}
        self._latest: dict[tuple[str | None, str | None], Fragment] = {}

    def again(self, p: Fragment) -> Fragment | None:
        """What a conversation asks here a model again, word for word, soon after that had failed: sooner where others
        were asked between. Where no conversation is told, it is another model that is asked at once: a user who tries
        again takes longer, and has the same one answer."""
        call, service, conversation = p.calls[0], p.root.span.service, p.root.span.conversation
        last = self._latest.get((service, conversation))
        self._latest[service, conversation] = p
        if not call.inputs:
            return None
        key = (service, conversation, print_of(call.inputs))
        before = self._by_words.pop(key, None)
        if call.error is not None:
            self._by_words[key] = p
        if before is None or (conversation is None and not _of_another(call, before.calls[0])):
            return None
        patience = _AT_ONCE_NS if conversation is None else _PATIENCE_NS if before is last else _SOON_NS
        return before if before.end - _JITTER_NS <= p.start <= before.end + patience else None


def _of_another(call: ModelCall, before: ModelCall) -> bool:
    """Was another model asked, in words that can be read? What hides them makes all alike."""
    return call.request_model != before.request_model and words_of(call) is not None


def _continued_text(
    p: Fragment, texts: dict[str | None, list[tuple[str, Fragment]]], followers: dict[int, Fragment], unite: Unite
) -> None:
    """Prompts kept as plain text: one continues another if it begins with it and goes on with an id asked for there."""
    raw = p.calls[0].node.input_messages if p.calls else None
    if raw is None or raw[:1] in "[{":
        return
    open_ = texts.setdefault(p.root.span.service, [])
    for before, q in reversed(open_):
        if (
            len(raw) > len(before)
            and raw.startswith(before)
            and any(r.id and r.id in raw[len(before) :] for r in q.calls[-1].requests)
        ):
            followers[id(q)] = p
            unite(q, p)
            open_.remove((before, q))
            break
    if p.calls[-1].requests:
        open_.append((raw, p))
        del open_[:-_AT_ONCE]
