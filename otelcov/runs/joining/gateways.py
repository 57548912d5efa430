"""Calls of a model that a gateway told, too, in traces of its own: of whoever asked it, in whatever service.

Where the context of the trace is not handed on, the gateway sees a request and the service that sent it a call, and
nothing but what both tell of it says that these are one: the provider's ids; or else the same words, at a time within
the call's, with the same tokens where both tell any. What came to nothing inside a call - an attempt that failed, an
answer for which nobody waited any more - is no call of its own. One gateway may stand behind another.
"""

from __future__ import annotations

from collections.abc import Iterator

from otelcov.dialects.base import LLM, OTHER
from otelcov.runs.joining.doubles import answer_ids, asked_ids, may_be_one, words_of
from otelcov.runs.joining.followers import Unite
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.overlaps import JITTER_NS, Times, enclosed, overlap
from otelcov.runs.llm.model_call import ModelCall

Found = tuple[Fragment, ModelCall]


def unite_gateways(parts: list[Fragment], unite: Unite) -> None:
    """Join the calls that gateways tell with those that were made through them; what both tell counts once."""
    gateways = [p for p in parts if p.gateway and len(p.calls) == 1]
    if not gateways:
        return
    rest = _unite(gateways, _Made([p for p in parts if not p.gateway]), unite)
    if len({p.root.span.service for p in rest}) > 1:
        _unite(rest, _Made(rest), unite)  # one behind the other


def _unite(gateways: list[Fragment], made: _Made, unite: Unite) -> list[Fragment]:
    """Those of these gateways' calls that nobody made."""
    rest = []
    for p in gateways:
        (call,) = p.calls
        found = made.through(call)
        if found is None:
            rest.append(p)
            continue
        host, at = found
        if at is not None:
            made.by_both(host, at, call)
        else:
            for n in p.nodes:
                n.kind = OTHER if n.kind in (None, LLM) else n.kind
        p.calls = []
        unite(host, p)
    return rest


class _Made:
    """The calls that others than gateways tell of."""

    def __init__(self, parts: list[Fragment]) -> None:
        every = [(p, call) for p in parts for call in p.calls]
        by_id: dict[str, list[Found]] = {}
        for p, call in every:
            for i in _ids(call):
                by_id.setdefault(i, []).append((p, call))
        self._at = Times(every, _call)
        self._by_id = {i: Times(some, _call) for i, some in by_id.items()}
        self._both: dict[int, ModelCall] = {}  # what stands for a call that gateways tell, too
        self._taken = set[tuple[int, str | None]]()  # which of a service's calls has been found

    def through(self, call: ModelCall) -> tuple[Fragment, ModelCall | None] | None:
        """The fragment with the call that was made through this one, and that call; without it where the gateway tried
        in vain. None where nobody tells of it."""
        alike = _nearest_first([f for i in _ids(call) if i in self._by_id for f in self._by_id[i].at(call)], call)
        near = next((f for f in alike if overlap(f[1], call) and self._fits(f, call)), None)
        beside = _nearest_first(self._at.at(call), call) if near is None else []
        if call.error is None:
            around = (f for f in beside if self._fits(f, call) and _counted_or_asked(f[1], call))
            found = near or _sure((f for f in around if _around(f[1], call)), call)
            return found if found is None or found[1].error is None else (found[0], None)
        failed = [f for f in beside if f[1].error is not None and _around(f[1], call) and self._fits(f, call)]
        if failed:
            return _sure(iter(failed), call)
        known = (f for f in beside if f[1].error is not None or None not in (words_of(f[1]), words_of(call)))
        tried = _sure((f for f in known if _around(f[1], call)), call)
        return None if tried is None else (tried[0], None)

    def _fits(self, found: Found, call: ModelCall) -> bool:
        """May this call have been made through that gateway, of which no other call is known to be it?"""
        host, made = found
        service = call.node.span.service
        if (id(made), service) in self._taken or not may_be_one(made, call):
            return False
        return not host.gateway or (host.root.span.service != service and _length(made) > _length(call))

    def by_both(self, host: Fragment, made: ModelCall, call: ModelCall) -> None:
        """The call with what the gateway tells of it, too."""
        before = self._both.get(id(made), made)
        both = self._both[id(made)] = ModelCall(made.node, [*call.layers, *before.layers])
        host.calls = [both if c is before else c for c in host.calls]
        self._taken.add((id(made), call.node.span.service))


def _length(call: ModelCall) -> tuple[int, bytes]:
    return call.end - call.start, call.node.span.span_id


def _call(found: Found) -> ModelCall:
    return found[1]


def _nearest_first(found: list[Found], call: ModelCall) -> list[Found]:
    return sorted(found, key=lambda f: (abs(call.start - f[1].start), f[1].node.span.span_id))


def _around(made: ModelCall, call: ModelCall) -> bool:
    """May this call have been made at the time of that one, and been asked the same?"""
    if made.error is not None and made.start <= call.start + JITTER_NS and call.start <= made.end:
        return _may_be_asked(made, call)  # who asked may have given it up
    return made.end - made.start >= call.end - call.start and enclosed(made, call) and _may_be_asked(made, call)


def _may_be_asked(made: ModelCall, call: ModelCall) -> bool:
    """May both have been asked the same?"""
    words = words_of(made), words_of(call)
    return None in words or (words[0] == words[1] and _answered(made) == _answered(call))


def _answered(call: ModelCall) -> int:
    """How often a model has spoken before."""
    return sum(x.role == "assistant" for x in call.inputs or ())


def _counted_or_asked(made: ModelCall, call: ModelCall) -> bool:
    """Do both tell the tokens, or what was asked? `may_be_one` has compared them."""
    return None not in (made.input_tokens, call.input_tokens) or None not in (words_of(made), words_of(call))


def _sure(found: Iterator[Found], call: ModelCall) -> Found | None:
    """The first of whose words it is known that they are the same; else the only one, by whomever it is told."""
    told = words_of(call) is not None
    only, several = None, False
    for f in found:
        if told and words_of(f[1]) is not None:
            return f
        if only is not None and _ids(only[1]).isdisjoint(_ids(f[1])):
            several = True
            if not told:
                break
        elif only is None or _length(f[1]) > _length(only[1]):
            only = f
    return None if several else only


def _ids(call: ModelCall) -> set[str]:
    return answer_ids(call) | set(asked_ids(call))
