"""Model calls that another agent made within a tool call, where each stands in a trace of its own."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from otelcov.dialects.base import TOOL
from otelcov.runs.agents.delegation import delegates
from otelcov.runs.content.chat import Request
from otelcov.runs.content.wrapped import arguments_of, result_of
from otelcov.runs.joining.followers import Unite
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.lone_tools import brought
from otelcov.runs.rules.handovers import asks
from otelcov.runs.trace.tree import failure

_JITTER_NS = 1_000_000

_Fit = tuple[bool, bool, bool, bool]
"""Whether no conversation says otherwise, whether the result is what was said last, whether the words are the same,
whether the tool's name says that it delegates."""


class _Option(NamedTuple):
    """By which of its requests a call may have called an agent; calls are numbered by start."""

    fit: _Fit
    at: int
    request: int
    caller: Fragment
    child: Fragment


def unite_children(loose: list[Fragment], followers: dict[int, Fragment], unite: Unite) -> None:
    """Model calls made by a delegation: all that their agent said falls between a request and the call that brings its
    result, and their user's words are the request's arguments - or cannot be seen, and they are no more than tools
    whose names say that they delegate. Many may be at work at once, and speak of the same things: each was called by
    the one whom it fits best.
    """
    starts = [p.start for p in loose]
    continued = {id(p) for p in followers.values()}
    options: dict[int, list[_Option]] = {}
    silent: list[tuple[int, int, list[Request], list[Fragment]]] = []
    for at, p in enumerate(loose):
        after = followers.get(id(p))
        if after is None or not p.calls:
            continue
        requests = p.calls[-1].requests or _asked_before(after, len(p.calls[-1].inputs or ()))
        until = after.start + _JITTER_NS
        lo, hi = bisect_left(starts, p.end - _JITTER_NS), bisect_right(starts, after.start)
        inner = [
            q
            for q in loose[lo:hi]
            if q is not p and q is not after and id(q) not in continued and _within(q, until, followers)
            if q.calls and q.root.span.service == p.root.span.service
        ]
        results = {text for text in brought(after.calls[0]) if text}
        for child, request, words, by_name in _told(p, requests, inner):
            last = _last(child, followers).calls[-1].text
            fit = (_may_talk(p, child), last in results, words, by_name)
            options.setdefault(id(child), []).append(_Option(fit, at, request, p, child))
        untold = [q for q in inner if _may_talk(p, q) and not any(x.text for x in q.calls[0].inputs or [])]
        if untold:
            silent.append((after.start - p.end, at, requests, untold))
    called: set[int] = set()
    for _, at, requests, children in sorted(silent, key=lambda each: each[:2]):  # who waits longer may ask who asks
        left = [child for child in children if id(child) not in called]
        ways = [n for n, request in enumerate(requests) if _delegates(request)]
        for child, n in zip(left, ways, strict=False) if len(left) <= len(ways) else ():
            called.add(id(child))
            options.setdefault(id(child), []).append(_Option((True, False, False, False), at, n, loose[at], child))
    for option in _chosen(options):
        unite(option.caller, option.child)
    taken = {*options, *continued}
    taken |= _unite_with_tools(loose, followers, taken, unite)
    taken |= _unite_with_told(loose, followers, taken, unite)
    _unite_with_open(loose, followers, taken, unite)


def _chosen(options: dict[int, list[_Option]]) -> Iterator[_Option]:
    """Who called each, by order of time: of the requests that it fits best the first for which nobody was called yet,
    as two who ask the same at once each call one."""
    called: set[tuple[int, int]] = set()
    for some in sorted(options.values(), key=lambda some: some[0].child.start):
        best = max(option.fit for option in some)
        fitting = [option for option in some if option.fit == best]
        free = [option for option in fitting if (option.at, option.request) not in called]
        chosen = min(free, key=_at) if free else max(fitting, key=_at)
        called.add((chosen.at, chosen.request))
        yield chosen


def _may_talk(one: Fragment, two: Fragment) -> bool:
    """Are these of one conversation, as far as they tell?"""
    return len({one.root.span.conversation, two.root.span.conversation} - {None}) < 2


def _at(option: _Option) -> tuple[int, int]:
    return option.at, option.request


def _unite_with_tools(loose: list[Fragment], followers: dict[int, Fragment], taken: set[int], unite: Unite) -> set[int]:
    """The same where no model tells what it asked for (LangChain for JavaScript under Traceloop): all calls of whom the
    tool asked are in its time, and what it was given or brought says that it did (`_asked_by`). Gives the first calls
    of those."""
    found: set[int] = set()
    open_: list[Fragment] = []
    for part in loose:
        open_ = [tool for tool in open_ if tool.end >= part.start][-_AT_ONCE:]
        if not part.calls:
            open_ += [part] if part.root.kind == TOOL and part.root.span.arguments else []
            continue
        if not open_ or id(part) in taken:
            continue
        around = [
            tool
            for tool in open_
            if tool.root.span.service == part.root.span.service and _within(part, tool.end + _JITTER_NS, followers)
        ]
        fitting = _asked_by(around, part, _last(part, followers)) if around else []
        if len(fitting) != 1:
            continue
        found.add(id(part))
        child: Fragment | None = part
        while child is not None:
            unite(fitting[0], child)
            if child.root.parent is None:
                child.root.parent = fitting[0].root
                fitting[0].root.children.append(child.root)
            child = followers.get(id(child))
    return found


def _asked_by(tools: list[Fragment], first: Fragment, last: Fragment) -> list[Fragment]:
    """Those of these tools that may have asked an agent, by its first call and its last: who were given just the words
    that it was told; else, who brought just what it said last; else, who failed, where it gave no answer, and was told
    more than what the tool was given."""
    words, said = _words(first), last.calls[-1].text
    if words is None:
        return []
    given = {id(tool): _said(Request(None, None, tool.root.span.arguments)) for tool in tools}
    if fitting := [tool for tool in tools if words in given[id(tool)]]:
        return fitting
    if said:
        return [tool for tool in tools if _brings(tool, said)]
    wholes = ((tool, given[id(tool)][0]) for tool in tools if given[id(tool)] and failure(tool.root) is not None)
    return [tool for tool, whole in wholes if len(whole) > _WORD and whole in words]


_WORD = 3  # letters that many texts have in common


def _brings(tool: Fragment, said: str) -> bool:
    result, _ = result_of(tool.root.span.result)
    return isinstance(result, str) and result.strip() == said.strip()


_AT_ONCE = 64  # tools that run at one time


def _unite_with_told(loose: list[Fragment], followers: dict[int, Fragment], taken: set[int], unite: Unite) -> set[int]:
    """The same where the call that asked has not come, and the next shows what that asked for, and what came of it:
    just those words were said to the one, and just that was said by it last. Gives the first calls of those."""
    free: dict[tuple[str | None, str, str], list[Fragment]] = {}
    for child in loose:
        if child.calls and id(child) not in taken and (words := _newest(child)):
            said = (_last(child, followers).calls or child.calls)[-1].text
            if said and said.strip():
                free.setdefault((child.root.span.service, words, said.strip()), []).append(child)
    found = set[int]()
    before = {id(after): p for p in loose if (after := followers.get(id(p))) is not None} if len(free) > 1 else {}
    for p in loose if len(free) > 1 else ():
        for request, text in _exchanged(p, before.get(id(p))):
            keys = [(p.root.span.service, words, text) for words in _said(request)]
            some = [q for key in keys for q in free.get(key, ()) if q is not p and id(q) not in found]
            ended = [q for q in some if _within(q, p.start + _JITTER_NS, followers) and _may_talk(p, q)]
            if ended:
                found.add(id(ended[-1]))
                unite(p, ended[-1])
    return found


def _exchanged(p: Fragment, before: Fragment | None) -> list[tuple[Request, str]]:
    """What a call is shown to have been asked for, with the text that came of it, since its user's words, or since the
    one before it was asked."""
    inputs = (p.calls[0].inputs or []) if p.calls else []
    begun = len(before.calls[-1].inputs or []) if before is not None and before.calls else 0
    begun = begun or next((at for at in range(len(inputs), 0, -1) if inputs[at - 1].role == "user"), 0)
    asked = {r.id: r for x in inputs[begun:] for r in x.requests if r.id}
    came = ((r, asked.get(r.id or "")) for x in inputs[begun:] for r in x.results if isinstance(r.content, str))
    return [(request, str(r.content).strip()) for r, request in came if request is not None and str(r.content).strip()]


def _unite_with_open(loose: list[Fragment], followers: dict[int, Fragment], taken: set[int], unite: Unite) -> None:
    """The same where the call that brings the result has not come yet: who is told, soon after, just the words of a
    request by which somebody is called, and is instructed otherwise than who asked."""
    free: dict[tuple[str | None, str], list[Fragment]] = {}
    for child in reversed(loose):
        if child.calls and id(child) not in taken and (words := _words(child)) is not None:
            free.setdefault((child.root.span.service, words), []).append(child)
    for p in loose:
        requests = p.calls[-1].requests if p.calls and id(p) not in followers else ()
        for words in (words for r in requests if _delegates(r) for words in _said(r)):
            some = free.get((p.root.span.service, words), [])  # the earliest is the last of them
            while some and some[-1].start < p.end - _JITTER_NS:
                some.pop()
            if some and some[-1].start <= p.end + _SOON_NS and _instructions(some[-1]) != _instructions(p):
                unite(p, some.pop())
                break


_SOON_NS = 60_000_000_000


def _within(p: Fragment, until: int, followers: dict[int, Fragment]) -> bool:
    """Had this call, and all that went on with it, ended by then?"""
    last: Fragment | None = p
    while last is not None:
        if last.end > until:
            return False
        last = followers.get(id(last))
    return True


def _last(p: Fragment, followers: dict[int, Fragment]) -> Fragment:
    while (after := followers.get(id(p))) is not None:
        p = after
    return p


def _asked_before(after: Fragment, known: int) -> list[Request]:
    """What the answer before asked for, by the input that brings the results, of which so many messages had been told
    before: what was asked for at once may stand in several (OpenAI's Responses)."""
    inputs = after.calls[0].inputs or []
    new = [r for x in inputs[known:] if x.role == "assistant" for r in x.requests] if known else []
    said = [x.requests for x in inputs if x.role == "assistant"]
    return new or (said[-1] if said else [])


def _told(p: Fragment, requests: list[Request], inner: list[Fragment]) -> Iterator[tuple[Fragment, int, bool, bool]]:
    """Those whose words say that they were called for one of these requests, and for which. Who was told the same as
    who asked is the same agent, at work for somebody else who may speak of the same things: then the words must be
    equal. Who is called by a tool that hands over may be told what the user said in place of a task (PraisonAI)."""
    said = [(_said(r), _delegates(r)) for r in requests]
    heard = _newest(p) or ""
    for child in inner:
        words = _words(child)
        if words is None:
            continue
        same = _instructions(p) == _instructions(child)
        for at, (parts, by_name) in enumerate(said):
            if (
                words in parts
                or (parts and not same and (parts[0] in words or words in parts[0]))
                or (not parts and by_name)
                or (by_name and not same and len(heard) > _WORD and heard in words)
            ):
                yield child, at, words in parts, by_name


def _words(p: Fragment) -> str | None:
    """What the user said first."""
    found = (x.text.strip() for x in p.calls[0].inputs or [] if x.role == "user" and x.text)
    return next((text for text in found if text), None)


def _newest(p: Fragment) -> str | None:
    """What the user said last: who is called again may be shown what was said before, too."""
    found = (x.text.strip() for x in reversed(p.calls[0].inputs or []) if x.role == "user" and x.text)
    return next((text for text in found if text), None)


def _instructions(p: Fragment) -> list[str]:
    return [x.text for x in p.calls[0].inputs or [] if x.role == "system" and x.text]


def _said(request: Request) -> list[str]:
    """The words of a request's arguments: all of them, and those of each."""
    arguments, text = arguments_of(request.arguments)
    parts = [value for value in (arguments or {}).values() if isinstance(value, str)]
    said = (part.strip() for part in (" ".join(parts), *parts, text or ""))
    return [part for part in dict.fromkeys(said) if part]


def _delegates(request: Request) -> bool:
    name = (request.name or "").replace("-", "_").replace(" ", "_")
    return delegates(name) or asks(name) is not None
