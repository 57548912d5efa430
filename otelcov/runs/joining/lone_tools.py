"""Tools that each stand in a trace of their own: which call asked for them, by their names, what they were given, and
what came of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Request
from otelcov.runs.content.jsontext import Value, to_json
from otelcov.runs.content.wrapped import arguments_of, result_of
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.rules.softerrors import which_nobody_has
from otelcov.runs.tools.executions import server_alone, span_call_id, span_fact, span_name
from otelcov.runs.trace.tree import Node, exceptions, failure, same_name, spelling, waiting

_JITTER_NS = 1_000_000
_SOON_NS = 5_000_000_000  # after an answer, how long what it asked for may take to begin
_NEXT_NS = 50_000_000  # … as a rule
_ATTEMPTS = 8  # of a tool that are looked at
_AT_ONCE = 64  # calls that may have asked for a tool

Fitting = tuple[Fragment, list[Fragment]]  # a tool, and the calls that may have asked for it
_Told = TypeVar("_Told", bound=tuple[Any, ...])  # the call that asked for tools comes first


def unite_by_requests(
    tools: list[Fragment],
    loose: list[Fragment],
    followers: dict[int, Fragment],
    ran_by_id: Iterable[tuple[Fragment, Fragment]],
    unite: Callable[[Fragment, Fragment], None],
) -> list[Fitting]:
    """A tool that tells no conversation and no id that anybody knows (MCP's clients tell none): it ran after the one
    call whose answer asked for a tool of its name - where it has none, of its arguments - and before the call that was
    told what came of it, if one was. Gives those for which several may have asked, and these."""
    tools = [p for p in tools if not (p.root.span.conversation or server_alone(p.root))]
    asked: dict[tuple[str | None, str], list[tuple[Fragment, int]]] = {}
    for q in loose if tools else ():
        after = followers.get(id(q))
        until = q.end + _SOON_NS if after is None else after.start
        for told in {key for r in q.calls[-1].requests for key in _known_as(r)} if q.calls else ():
            asked.setdefault((q.root.span.service, told), []).append((q, until))
    ran = Counter((id(q), spelling(span_name([p.root]) or "")) for q, p in ran_by_id)  # tools of a name, of each call
    alike: dict[tuple[str | None, str, str], list[Fitting]] = {}
    for p in tools if asked else ():
        given = to_json(arguments_of(span_fact([p.root], "arguments"))[0])
        told = spelling(span_name([p.root]) or "") or given
        some = _begun(asked.get((p.root.span.service, told), []), p)
        fitting = [q for q, until in some if p.start <= until + _JITTER_NS and ran_for(p, q)]
        if len(fitting) == 1:
            ran[id(fitting[0]), told] += 1
            unite(fitting[0], p)
        elif fitting:
            alike.setdefault((p.root.span.service, told, given), []).append((p, fitting))
    undecided: list[Fitting] = []
    for (_, told, _), every in alike.items():
        for several in _at_one_time(every):
            dealt = _dealt(several, told, ran)
            for q, p in dealt:
                unite(q, p)
            undecided += several if not dealt else []
    return undecided


def _at_one_time(every: list[Fitting]) -> Iterator[list[Fitting]]:
    """The tools, by start, in groups of those for which the same calls may have asked."""
    several: list[Fitting] = []
    askers: set[int] = set()
    for tool, fitting in every:
        ids = {id(q) for q in fitting}
        if several and ids.isdisjoint(askers):
            yield several
            several, askers = [], set()
        several.append((tool, fitting))
        askers |= ids
    if several:
        yield several


def _dealt(several: list[Fitting], told: str, ran: Counter[tuple[int, str]]) -> list[tuple[Fragment, Fragment]]:
    """Tools of one name that were given the same, and who asked for each: by their order, where as many ran as were
    asked for and the same came of them. Whose was whose makes no difference, then."""
    tool = several[0][0]
    asked: list[Fragment] = []
    for q in {id(q): q for _, fitting in several for q in fitting}.values():
        count = sum(_asks_for(r, tool) for r in q.calls[-1].requests)
        asked += [q] * (count - ran[id(q), told])
    came = {(failure(p.root), p.root.span.result) for p, _ in several}
    if len(asked) != len(several) or len(came) > 1:
        return []
    asked.sort(key=lambda q: (q.end, q.trace_id))
    dealt = [(q, p) for (p, fitting), q in zip(several, asked, strict=True) if any(q is one for one in fitting)]
    return dealt if len(dealt) == len(several) else []


def _known_as(request: Request) -> Iterator[str]:
    """By what the span of a tool that was asked for is found: its name, or what it was given."""
    if request.name:
        yield spelling(request.name)
    given = arguments_of(request.arguments)[0]
    if given:
        yield to_json(given)


def unite_by_results(
    tools: list[Fragment],
    loose: list[Fragment],
    followers: dict[int, Fragment],
    unite: Callable[[Fragment, Fragment], None],
) -> None:
    """A tool without a conversation, where answers do not show what they asked for (Traceloop for LangChain.js): it ran
    between the one call that asked for tools and the call that was told just its result. Some of the tools of a run
    would look like all of them, so it is all or none; of a tool that nobody has no span comes. Of a run that ended with
    its tools (a limit), it ran after the one call that asked for some, and of which no history tells. What waited for
    somebody, or failed and was tried again, ran again to its end."""
    told: dict[tuple[str | None, str], list[tuple[Fragment, Fragment]]] = {}
    words: dict[str | None, list[tuple[Fragment, Fragment, str]]] = {}
    heads: dict[int, int] = {}  # of each call, with which its run began
    missing: dict[int, int] = {}  # results of a run, for which no tool is found
    open_: dict[str | None, list[tuple[Fragment]]] = {}
    for q in loose if tools else ():
        after = followers.get(id(q))
        if not q.calls or (after is not None and not after.calls):
            continue
        head = heads.setdefault(id(q), id(q))
        mute = not q.calls[-1].requests and asks(q.calls[-1].finish)
        if after is None:
            if mute and q.calls[-1].inputs is not None and q.root.span.conversation is None:
                open_.setdefault(q.root.span.service, []).append((q,))
            continue
        heads[id(after)] = head
        if not mute:
            continue
        for text in brought(after.calls[0]):
            if which_nobody_has(text) is not None:
                continue
            missing[head] = missing.get(head, 0) + 1
            told.setdefault((q.root.span.service, text), []).append((q, after))
            words.setdefault(q.root.span.service, []).append((q, after, text))
    found: list[tuple[Fragment, Fragment]] = []
    held: list[tuple[Fragment, list[Fragment]]] = []  # tools that waited or failed, with who may have asked
    failed: dict[int, list[Fragment]] = {}  # tools that threw what the call after this one was told
    done: dict[int, int] = {}  # when the first tool ended that an open call asked for: the others had begun
    for p in tools if told or open_ else ():
        result = _text(result_of(span_fact([p.root], "result"))[0])
        if p.root.span.conversation is not None:
            continue
        if result is not None:
            some = _begun(told.get((p.root.span.service, result), []), p)
        else:
            some = [(q, x) for q, x, text in _begun(words.get(p.root.span.service, []), p) if _threw(p.root, text)]
        fitting = _around(p, some)
        went_on = _around(p, _begun(words.get(p.root.span.service, []), p)) if result is None else []
        if len(fitting) == 1:
            vain = failed.setdefault(id(fitting[0]), []) if result is None else []
            if not _tried_before(p, vain, sum(q is fitting[0] for q, _ in some)):
                missing[heads[id(fitting[0])]] -= 1
            vain.append(p)
            found.append((fitting[0], p))
        elif went_on and (waiting(p.root) or failure(p.root) is not None):
            held.append((p, went_on))
        elif not fitting and not went_on:
            ended = [q for (q,) in _begun(open_.get(p.root.span.service, []), p) if _just_before(q, p)]
            ended = _nearest([q for q in ended if done.get(id(q), p.start) + _JITTER_NS >= p.start], p)
            if len(ended) == 1:
                done.setdefault(id(ended[0]), p.end)
                found.append((ended[0], p))
    again = [(_ran_again(p, askers, found), p) for p, askers in held]
    found += [(askers[0], p) for askers, p in again if len(askers) == 1]
    for q, p in found:
        if missing.get(heads[id(q)], 0) == 0:
            unite(q, p)
        else:
            p.astray = True


def _around(tool: Fragment, some: list[Any]) -> list[Fragment]:
    """Those of these calls that had ended as a tool began, and went on once it had ended."""
    fits = ((q, x) for q, x, *_ in some if q.end <= tool.start + _JITTER_NS and tool.end <= x.start + _JITTER_NS)
    return list({id(q): q for q, _ in fits}.values())


def _ran_again(tool: Fragment, some: list[Fragment], found: list[tuple[Fragment, Fragment]]) -> list[Fragment]:
    """Those of these calls for which a tool ran later that was given the same."""
    given = _given_to(tool)
    again = {id(q) for q, p in found if p.start >= tool.end and _given_to(p) == given}
    return [q for q in some if id(q) in again]


def _tried_before(tool: Fragment, others: list[Fragment], told: int) -> bool:
    """Is this an attempt after one of these, which were given the same and of which as many results tell?"""
    if len(others) < told:
        return False
    return any(p.end <= tool.start + _JITTER_NS and _given_to(p) == _given_to(tool) for p in others[-_ATTEMPTS:])


def _nearest(ended: list[Fragment], tool: Fragment) -> list[Fragment]:
    """Of several calls the one that had ended just before a tool began, if all others had long before."""
    by_time = sorted(ended, key=lambda q: tool.start - q.end)[:2]
    gaps = [tool.start - q.end for q in by_time]
    return by_time[:1] if len(gaps) == 2 and gaps[0] <= _NEXT_NS and gaps[1] >= _NEXT_NS + 10 * gaps[0] else ended


def _given_to(tool: Fragment) -> str:
    return to_json(arguments_of(span_fact([tool.root], "arguments"))[0])


def _just_before(call: Fragment, tool: Fragment) -> bool:
    """May this tool be what that call asked for? One instrumentation tells of both."""
    alike = call.root.span.scope == tool.root.span.scope
    return alike and call.end - _JITTER_NS <= tool.start <= call.end + _SOON_NS


def _begun(some: list[_Told], tool: Fragment) -> list[_Told]:
    """The newest of these, by start, that began before a tool."""
    begun = bisect_right(some, tool.start, key=lambda told: told[0].start)
    return some[max(0, begun - _AT_ONCE) : begun]


def _threw(tool: Node, text: str) -> bool:
    """Does a result tell what a tool failed with, or that it failed each time (LangChain's retries)?"""
    thrown, over = exceptions(tool), _GAVE_UP.match(text)
    if over is not None:
        return any(type.endswith(over[1]) for type, _ in thrown)
    return any(message.strip() and message in text for _, message in thrown)


_GAVE_UP = late(r"Tool '[^']+' failed after \d+ attempts? with (\w+)")


def brought(call: ModelCall) -> list[str]:
    """The results that a call's input ends with."""
    out: list[str] = []
    for message in reversed(call.inputs or ()):
        if not message.results:
            break
        out += [_text(r.content) or "" for r in message.results]
    return out


def _text(content: Value) -> str | None:
    return content if isinstance(content, str) else None if content is None else to_json(content)


def ran_for(tool: Fragment, asker: Fragment) -> bool:
    """May this tool have run for what that model call asked?"""
    call = asker.calls[-1]
    if asker.end > tool.start + _JITTER_NS:
        return False
    if call.outputs is None:
        return True
    return any(_asks_for(r, tool) for r in call.requests)


def _asks_for(request: Request, tool: Fragment) -> bool:
    name, own = span_name([tool.root]), span_call_id([tool.root])
    ran, _ = arguments_of(span_fact([tool.root], "arguments"))
    if not (same_name(request.name, name) if name else ran) or (own and request.id and own != request.id):
        return False
    given = arguments_of(request.arguments)[0]
    return ran is None or given is None or given == ran or list(ran.values()) == [given]  # as a function's parameter
