"""What a dialect answers to one question, and how much of it can be true of a batch of spans.

To ask costs the same for three spans as for thousands: each expression is planned, each pattern made an automaton. Most
of what dialects ask for is not there - attributes that no span bears, scopes that no span is of - so an answer is cut
down to the branches that can hold before it is asked. What is left tells of these spans what the whole would.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any

import polars as pl
from polars.expr.whenthen import ChainedThen, Then

from otelcov.dialects.base import first
from otelcov.ground.errors import USAGE, OtelcovError
from otelcov.ground.patterns import late

CONTEXT = ("span.name", "scope.name", "scope.version", "span.kind")

_NULL = pl.lit(None)
_SCOPE = frozenset(["scope.name"])
_MOST_SCOPES, _MOST_CUTS = 64, 64
_CALLED, _COLUMN = late(r"\.([a-z_][\w.]*)\("), late(r'col\("[^"]*"\)')
_PLAIN = late(r"\.coalesce\((?:\[c(?:, c)*\])?\)|\.replace_strict\(\[\[[^]]*\], \[[^]]*\], null\]\)")
_OF_TEXT = "contains starts_with ends_with extract extract_all replace replace_all strip_chars strip_prefix split"
_OF_TEXT += " json_path_match to_lowercase to_uppercase"
_NULL_OF_NULL = frozenset([*(f"str.{does}" for does in _OF_TEXT.split()), "is_in", "cast"])
"""Functions that make null of what they are called on where that is null."""


@dataclass(frozen=True)
class Key:
    """What a batch of spans bears."""

    columns: frozenset[str]
    scopes: frozenset[str | None]  # none: nobody knows which

    def __le__(self, other: Key) -> bool:
        """Whether all that can be true of this can be true of that."""
        known = self.scopes and self.scopes <= other.scopes
        return self.columns <= other.columns and bool(known or not other.scopes)

    def __or__(self, other: Key) -> Key:
        scopes = self.scopes | other.scopes if self.scopes and other.scopes else frozenset[str | None]()
        return Key(self.columns | other.columns, scopes)


class Present:
    """What a batch of spans bears: which attributes, and which scopes."""

    def __init__(self, key: Key) -> None:
        """Of two batches with one key the same can be true."""
        self.key = key
        self._scopes = key.scopes if len(key.scopes) <= _MOST_SCOPES else frozenset()
        self._there = key.columns.union(CONTEXT)

    @classmethod
    def of(cls, attributes: pl.DataFrame) -> Present:
        scopes = frozenset[str | None](attributes["scope.name"].unique() if "scope.name" in attributes.columns else [])
        return cls(Key(frozenset(attributes.columns), scopes if len(scopes) <= _MOST_SCOPES else frozenset()))

    def may_hold(self, condition: Condition) -> bool:
        if condition.either:
            return any(map(self.may_all_hold, condition.either))
        if condition.of_scope and self._scopes:
            return condition.holds_of(self._scopes)
        return not condition.asks or self.some(condition.roots)

    def learn(self, answers: Iterable[Answer]) -> None:
        """Ask at once what of these depends on scopes: it takes as long as to ask for a single one."""
        some = {c for answer in answers if self.some(answer.roots) for c in answer.first_asked() if c.of_scope}
        new = [condition for condition in some if not condition.knows(self._scopes)]
        if new and self._scopes:
            names = pl.Series("scope.name", list(self._scopes), pl.String)
            told = names.to_frame().select(condition.expr.alias(str(at)) for at, condition in enumerate(new))
            for condition, held in zip(new, told.iter_columns(), strict=True):
                condition.told(names, held)

    def may_all_hold(self, conditions: Sequence[Condition]) -> bool:
        there = all(not c.asks or self.some(c.roots) for c in conditions)  # which is known at no cost
        return there and all(map(self.may_hold, conditions))

    def some(self, roots: Iterable[str]) -> bool:
        return not self._there.isdisjoint(roots)


class Condition:
    """What must be true, among others, for a branch to be taken."""

    def __init__(self, expr: pl.Expr, text: str) -> None:
        self.expr, self.roots = expr, frozenset(expr.meta.root_names())
        self.either = [conditions(*part) for part in _parted(expr, text, "|")]  # one of these must hold
        self.asks = bool(self.roots) and not self.either and _asks(text.removesuffix(".is_not_null()"))
        self.of_scope = self.roots == _SCOPE and not self.either  # and of nothing else
        self._told: dict[str | None, bool] = {}  # of which scopes

    def holds_of(self, scopes: frozenset[str | None]) -> bool:
        """Of a condition on the scope alone: whether it is true of one of these."""
        if not self.knows(scopes):
            names = pl.Series("scope.name", list(scopes), pl.String)
            self.told(names, names.to_frame().with_columns_seq(told=self.expr)["told"])
        return any(self._told[scope] for scope in scopes)

    def knows(self, scopes: frozenset[str | None]) -> bool:
        return self._told.keys() >= scopes

    def told(self, scopes: pl.Series, held: pl.Series) -> None:
        if len(self._told) + len(scopes) > _MOST_SCOPES:
            self._told = {}
        self._told.update(zip(scopes, held, strict=True))

    def parts(self) -> Iterator[Condition]:
        """This, and all of which it is made."""
        yield self
        for some in self.either:
            for condition in some:
                yield from condition.parts()


_CONDITIONS: dict[str, Condition] = {}  # by how they are written: many dialects ask the same


def conditions(expr: pl.Expr, text: str = "") -> list[Condition]:
    """What is joined by `and`, one by one; `text` is how it is written, where that is known."""
    text = text or str(expr)
    if parts := _parted(expr, text, "&"):
        return [condition for part in parts for condition in conditions(*part)]
    if "…" in text:  # a list that is not written to its end
        return [Condition(expr, text)]
    if text not in _CONDITIONS:
        _CONDITIONS[text] = Condition(expr, text)
    return [_CONDITIONS[text]]


def _parted(expr: pl.Expr, text: str, by: str) -> list[tuple[pl.Expr, str]]:
    """The two sides of an operator, and how they are written; nothing where it is another expression."""
    if not text.startswith("[(") or f") {by} (" not in text:
        return []
    parts = expr.meta.pop()
    if len(parts) != 2:
        return []
    right, left = parts
    written = str(left)  # to write an expression takes longer than to compare
    begin = f"[({written}) {by} ("
    if not text.startswith(begin):
        return []
    return [(left, written), (right, text[len(begin) : -2])]


def _asks(text: str) -> bool:
    """Whether an expression, as it is written, is null where all its columns are."""
    called = _CALLED.findall(_PLAIN.sub("", _COLUMN.sub("c", text)))
    return _NULL_OF_NULL.issuperset(called) and "=v " not in text  # as nulls are compared


@dataclass(frozen=True)
class _Branch:
    asked: pl.Expr
    told: pl.Expr

    @cached_property
    def conditions(self) -> list[Condition]:
        return conditions(self.asked)

    @cached_property
    def value(self) -> _Form:
        """Looked at where it can be told: most branches ask for what is not there."""
        return _form(self.told)

    def cut(self, present: Present) -> tuple[pl.Expr, pl.Expr | None] | None:
        """What it asks and tells, if it can be taken."""
        if not present.may_all_hold(self.conditions):
            return None
        left = [_of_either(condition, present) for condition in self.conditions]
        same = all(one is condition.expr for one, condition in zip(left, self.conditions, strict=True))
        return self.asked if same else reduce(and_, left), self.value.cut(present)


def _of_either(condition: Condition, present: Present) -> pl.Expr:
    can = [some for some in condition.either if present.may_all_hold(some)]
    if len(can) == len(condition.either):
        return condition.expr
    return reduce(or_, [reduce(and_, [_of_either(one, present) for one in some]) for some in can])


class _Form:
    """An expression, as far as it can be cut."""

    def cut(self, present: Present) -> pl.Expr | None:
        """What of it can tell anything of these spans."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Leaf(_Form):
    expr: pl.Expr
    roots: Collection[str]
    asks: bool

    def cut(self, present: Present) -> pl.Expr | None:
        return None if self.asks and not present.some(self.roots) else self.expr


@dataclass(frozen=True)
class _Chain(_Form):
    branches: list[_Branch]
    default: _Form | None

    def cut(self, present: Present) -> pl.Expr | None:
        taken = [branch.cut(present) for branch in self.branches]
        told = None if self.default is None else self.default.cut(present)
        for part in reversed(taken):
            if part is None or (part[1] is None and told is None):
                continue
            asked, value = part
            told = pl.when(asked).then(_NULL if value is None else value).otherwise(_NULL if told is None else told)
        return told


@dataclass(frozen=True)
class _First(_Form):
    parts: list[_Form]

    def cut(self, present: Present) -> pl.Expr | None:
        left = [some for part in self.parts if (some := part.cut(present)) is not None]
        return pl.coalesce(left) if len(left) > 1 else left[0] if left else None


def _form(expr: pl.Expr, text: str = "") -> _Form:
    text = text or str(expr)
    branches: list[_Branch] = []
    rest, left = expr, text  # each text is long: it is written once
    while (parts := _choice(rest, left)) is not None:
        asked, value, rest, left = parts
        branches.append(_Branch(asked, value))
    if branches:
        return _Chain(branches, None if left == "null" else _form(rest, left))
    if ".coalesce([" in text and text.endswith("])"):
        some = expr.meta.pop()[::-1]
        if pl.coalesce(some).meta.eq(expr):
            return _First([_form(part) for part in some])
    roots = expr.meta.root_names()
    return _Leaf(expr, roots, bool(roots) and _asks(text))


def _choice(expr: pl.Expr, text: str) -> tuple[pl.Expr, pl.Expr, pl.Expr, str] | None:
    """What it asks, what it tells where that is true, and what else, which is also written out."""
    parts = expr.meta.pop() if text.startswith(".when(") else []
    if len(parts) != 3:
        return None
    asked, rest, value = parts
    left = str(rest)
    return (asked, value, rest, left) if text.endswith(f".otherwise({left})") else None


@dataclass(frozen=True, eq=False)
class Answer:
    """What one dialect says of one fact."""

    expr: pl.Expr
    roots: tuple[str, ...]
    plain: bool  # it is the first of these attributes that is set, and nothing else
    _cuts: list[Answer] = field(default_factory=list)  # what was left of it, the same for equal expressions

    @classmethod
    def of(cls, expr: pl.Expr, asked: str = "") -> Answer:
        chosen = False
        if isinstance(expr, Then | ChainedThen):  # which is made an expression anew whenever it is looked at
            expr, chosen = expr.otherwise(_NULL), True
        if expr.meta.has_multiple_outputs():
            raise OtelcovError(f"{asked}: an answer is one column; ask for several attributes by first(...).", USAGE)
        roots = tuple(dict.fromkeys(expr.meta.root_names()))
        if chosen or not roots:
            return cls(expr, roots, False)
        same = expr.meta.eq(first(*roots)) or (len(roots) == 1 and expr.meta.eq(pl.col(roots[0])))
        return cls(expr, roots, same)

    @cached_property
    def conditions(self) -> list[list[pl.Expr]] | None:
        """For this to tell anything, one of these lists must be true in all; None: nobody knows."""
        if not isinstance(self._form, _Chain) or self._form.default is not None:
            return None
        return [[condition.expr for condition in branch.conditions] for branch in self._form.branches]

    @cached_property
    def deciding(self) -> frozenset[str]:
        """The columns that decide whether this tells anything, as far as it is known."""
        asked = None if self.conditions is None else [c for some in self.conditions for c in some]
        return frozenset(self.roots if asked is None else (root for c in asked for root in c.meta.root_names()))

    @cached_property
    def _form(self) -> _Form:
        return _form(self.expr)

    def __getstate__(self) -> dict[str, Any]:
        told = {"conditions": self.conditions, "deciding": self.deciding}
        return {"expr": self.expr, "roots": self.roots, "plain": self.plain, "_cuts": [], **told}

    def first_asked(self) -> Iterator[Condition]:
        """What decides whether it tells anything, as far as it is known."""
        if not self.plain and isinstance(self._form, _Chain):
            for branch in self._form.branches:
                for condition in branch.conditions:
                    yield from condition.parts()

    def cut(self, present: Present) -> Answer | None:
        """This, without what can tell nothing of these spans."""
        if not self.roots or self.plain:
            return self if not self.roots or present.some(self.roots) else None
        if not present.some(self.roots):
            return None
        left = self._form.cut(present)
        if left is None:
            return None
        found = next((cut for cut in self._cuts if cut.expr.meta.eq(left)), None)
        if found is None:
            found = self if left.meta.eq(self.expr) else Answer.of(left)
            self._cuts.append(found)
            del self._cuts[:-_MOST_CUTS]
        return found
