"""Which answers can tell anything of spans that bear the same, out of those of all dialects.

To find that out, ninety modules are imported and a thousand expressions looked through: that takes as long as to read
ten thousand spans. What comes of it depends on the code alone, so it is kept from one process to the next (kept.py).
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

from otelcov.dialects import kept
from otelcov.dialects.answers import CONTEXT, Answer, Present
from otelcov.dialects.base import FACTS, Dialect
from otelcov.ground.plugins import plugins

Table: TypeAlias = tuple[Dialect, ...]
Asked: TypeAlias = dict[str, list[Answer]]  # by fact

_MOST_KNOWN = 64


def keys(table: Table | None = None) -> frozenset[str]:
    """Every attribute key that some dialect reads; `table`: one of these, not of all that are installed."""
    if table is None:
        there = _kept()
        return _keys(_installed()) if there is None else there.keys
    return _keys(table)


def asked(there: Present, table: Table | None = None) -> Asked:
    """What can tell anything of these spans. One batch bears much the same as another, so what was found is kept."""
    known = table, there.key
    if known not in _ASKED:
        if len(_ASKED) >= _MOST_KNOWN:
            _ASKED.clear()
        _ASKED[known] = _of_installed(there) if table is None else _of(there, table)
    return _ASKED[known]


_ASKED: dict[tuple[Table | None, object], Asked] = {}


def _of_installed(there: Present) -> Asked:
    before = _kept()
    if before is not None and (found := before.of(there.key)) is not None:
        return found
    table = _installed()
    wider = there if before is None else Present(before.wider(there.key))
    found = _of(wider, table)
    if not plugins("otelcov.dialects"):
        kept.keep(before, _keys(table), wider.key, found)
    return found


def _of(there: Present, table: Table) -> Asked:
    answers = _answers(table)
    there.learn(answer for some in answers.values() for answer in some)
    return {fact: [cut for answer in some if (cut := answer.cut(there))] for fact, some in answers.items()}


@cache
def _kept() -> kept.Kept | None:
    """None where nothing is, or where it is not known what third parties' dialects are like."""
    return None if plugins("otelcov.dialects") else kept.load()


def _installed() -> Table:
    from otelcov.dialects.registry import dialects

    return dialects()


@cache
def _keys(table: Table) -> frozenset[str]:
    names = {root for answers in _answers(table).values() for answer in answers for root in answer.roots}
    return frozenset(names - set(CONTEXT))


@cache
def _answers(table: Table) -> Asked:
    return {
        fact: [Answer.of(e, f"Dialect {d.name!r}, {fact}") for d in table if (e := getattr(d, fact)) is not None]
        for fact in FACTS
    }
