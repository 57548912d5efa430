"""Calls of a model that a gateway told, too, in traces of its own: of whoever asked it, in whatever service.

Where the context of the trace is not handed on, the gateway sees a request and the service that sent it a call, and
nothing but what both tell of it says that these are one: the provider's ids; or else the same words, at a time within
the call's, with the same tokens where both tell any. What came to nothing inside a call - an attempt that failed, an
answer for which nobody waited any more - is no call of its own.
"""

from __future__ import annotations

from otelcov.dialects.base import LLM, OTHER
from otelcov.runs.joining.doubles import (
    JITTER_NS,
    Times,
    answer_ids,
    asked_ids,
    enclosed,
    may_be_one,
    overlap,
    words_of,
)
from otelcov.runs.joining.followers import Unite
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.model_call import ModelCall

Found = tuple[Fragment, ModelCall]


def unite_gateways(parts: list[Fragment], unite: Unite) -> None:
    """Join the calls that gateways tell with those that were made through them; what both tell counts once."""
    gateways = [p for p in parts if p.gateway and len(p.calls) == 1]
    if not gateways:
        return
    made = _Made([p for p in parts if not p.gateway])
    for p in gateways:
        (call,) = p.calls
        found = made.through(call)
        if found is None:
            continue
        host, at = found
        if at is not None:
            made.by_both(host, at, call)
        else:
            for n in p.nodes:
                n.kind = OTHER if n.kind in (None, LLM) else n.kind
        p.calls = []
        unite(host, p)


class _Made:
    """The calls that others than gateways tell of."""

    def __init__(self, parts: list[Fragment]) -> None:
        every = [(p, call) for p in parts for call in p.calls]
        self._at = Times(every)
        self._by_id: dict[str, list[Found]] = {}
        self._taken = set[int]()
        for p, call in every:
            for i in answer_ids(call) | set(asked_ids(call)):
                self._by_id.setdefault(i, []).append((p, call))

    def through(self, call: ModelCall) -> tuple[Fragment, ModelCall | None] | None:
        """The fragment with the call that was made through this one, and that call; without it where the gateway tried
        in vain. None where nobody tells of it."""
        own = answer_ids(call) | set(asked_ids(call))
        near = [f for i in own for f in self._by_id.get(i, ()) if overlap(f[1], call) and self._fits(f[1], call)]
        around = [] if near else [f for f in self._at.at(call) if _around(f[1], call) and _may_be_asked(f[1], call)]
        if call.error is None:
            near = near or _sure([f for f in around if self._fits(f[1], call) and _counted_or_asked(f[1], call)], call)
            found = _nearest(near, call)
            return found if found is None or found[1].error is None else (found[0], None)
        failed = [f for f in around if f[1].error is not None and self._fits(f[1], call)]
        if failed:
            return _nearest(_sure(failed, call), call)
        known = [f for f in around if f[1].error is not None or None not in (words_of(f[1]), words_of(call))]
        tried = _nearest(_sure(known, call), call)
        return None if tried is None else (tried[0], None)

    def _fits(self, made: ModelCall, call: ModelCall) -> bool:
        return id(made) not in self._taken and may_be_one(made, call)

    def by_both(self, host: Fragment, made: ModelCall, call: ModelCall) -> None:
        """The call with what the gateway tells of it, too."""
        both = ModelCall(made.node, [*call.layers, *made.layers])
        host.calls = [both if c is made else c for c in host.calls]
        self._taken.add(id(made))


def _nearest(found: list[Found], call: ModelCall) -> Found | None:
    return min(found, key=lambda f: (abs(call.start - f[1].start), f[1].node.span.span_id), default=None)


def _around(made: ModelCall, call: ModelCall) -> bool:
    if made.error is not None and made.start <= call.start + JITTER_NS and call.start <= made.end:
        return True  # who asked may have given it up
    return made.end - made.start >= call.end - call.start and enclosed(made, call)


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


def _sure(found: list[Found], call: ModelCall) -> list[Found]:
    """Those of whose words it is known that they are the same; else the only one there is."""
    same = [f for f in found if None not in (words_of(f[1]), words_of(call))]
    return same or (found if len(found) == 1 else [])
