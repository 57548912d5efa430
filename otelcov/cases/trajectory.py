"""Trajectory modes: are the calls of a run those that were expected?

    exact              the same calls in the same order
    same_calls         the same calls, in any order
    contains           at least the expected calls, in any order
    contains_in_order  at least the expected calls, in their order
    within             no call but expected ones, each at most as often as expected
    names              exact, arguments aside
    any_call           at least one of the expected calls

Calls that one model turn asked for are a set: their order is nobody's decision. Pairs are found by maximum matching,
so that no verdict depends on the order in which expectations are written. The aliases `langchain:…` and `agentest:…`
give the verdicts of LangChain agentevals 0.0.9 and Agentest 0.0.17, which pair greedily and know no turns.

A run may not tell all: a verdict is known if it is the same whether every doubtful pair is taken to fit or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from otelcov.cases.assignment import assign
from otelcov.cases.calls import Asked, Made, same, shown, why_not

Fits = Callable[[int, int], bool]


@dataclass(frozen=True)
class Row:
    """A line of the difference: `=` a pair, `!` a pair that differs, `-` missing, `+` beyond what was expected."""

    mark: str
    expected: str | None
    actual: str | None
    why: str | None = None


def matches(mode: str, asked: Sequence[Asked], made: Sequence[Made]) -> bool | None:
    """The verdict of a mode; None if the spans do not tell enough."""
    if mode == "names":
        mode, asked = "exact", [replace(call, arguments="ignore") for call in asked]
    elif ":" in mode:
        return PEERS[mode](asked, made)
    judge, groups = MODES[mode], _turns(made)
    if judge(len(asked), groups, lambda i, j: same(asked[i], made[j]) is True):
        return True
    if judge(len(asked), groups, lambda i, j: same(asked[i], made[j]) is not False):
        return None
    return False


def difference(mode: str, asked: Sequence[Asked], made: Sequence[Made]) -> list[Row]:
    """Expected and actual side by side."""
    if mode == "names":
        asked = [replace(call, arguments="ignore") for call in asked]
    if mode in ORDERED:
        made = _settled(asked, made)
        pairs = _aligned(asked, made)
    else:
        pairs = _paired(asked, made)
    extra_is_wrong = mode in ("exact", "names", "same_calls", "within") or mode.endswith(
        ("strict", "unordered", "subset")
    )
    rows = []
    for i, j in pairs:
        if i is None:
            assert j is not None
            rows.append(
                Row("+" if extra_is_wrong else " ", None, shown(made[j]), "not expected" if extra_is_wrong else None)
            )
        elif j is None:
            rows.append(Row("-", shown(asked[i]), None, "missing"))
        else:
            fit = same(asked[i], made[j])
            rows.append(
                Row("=" if fit else "!", shown(asked[i]), shown(made[j]), None if fit else why_not(asked[i], made[j]))
            )
    if mode in ("within", "agentest:within", "langchain:subset"):
        rows = [replace(r, mark=" ", why="not called") if r.mark == "-" else r for r in rows]
    return rows


def _turns(made: Sequence[Made]) -> list[list[int]]:
    """The indexes of the calls, those of one model turn together."""
    groups: list[list[int]] = []
    for j, call in enumerate(made):
        if groups and call.turn is not None and made[groups[-1][-1]].turn == call.turn:
            groups[-1].append(j)
        else:
            groups.append([j])
    return groups


def _exact(expected: int, groups: list[list[int]], fits: Fits) -> bool:
    if expected != sum(map(len, groups)):
        return False
    at = 0
    for group in groups:
        if len(group) == 1:
            if not fits(at, group[0]):
                return False
        elif len(_within_turn(at, len(group), group, fits)) < len(group):
            return False
        at += len(group)
    return True


def _within_turn(at: int, count: int, group: list[int], fits: Fits) -> dict[int, int]:
    return assign(count, len(group), lambda i, j: fits(at + i, group[j]))


def _same_calls(expected: int, groups: list[list[int]], fits: Fits) -> bool:
    made = sum(map(len, groups))
    return expected == made and len(assign(expected, made, fits)) == expected


def _contains(expected: int, groups: list[list[int]], fits: Fits) -> bool:
    made = sum(map(len, groups))
    return expected <= made and len(assign(expected, made, fits)) == expected


def _contains_in_order(expected: int, groups: list[list[int]], fits: Fits) -> bool:
    """Each turn takes as many of the next expected calls as it can: more taken early never hurts later."""
    at = 0
    for group in groups:
        if at == expected:
            break
        if len(group) == 1:
            at += fits(at, group[0])
            continue
        take = 0
        while take < min(len(group), expected - at) and len(_within_turn(at, take + 1, group, fits)) == take + 1:
            take += 1
        at += take
    return at == expected


def _within(expected: int, groups: list[list[int]], fits: Fits) -> bool:
    made = sum(map(len, groups))
    return made <= expected and len(assign(expected, made, fits)) == made


def _any_call(expected: int, groups: list[list[int]], fits: Fits) -> bool:
    return any(fits(i, j) for i in range(expected) for group in groups for j in group)


MODES: dict[str, Callable[[int, list[list[int]], Fits], bool]] = {
    "exact": _exact,
    "same_calls": _same_calls,
    "contains": _contains,
    "contains_in_order": _contains_in_order,
    "within": _within,
    "any_call": _any_call,
}
ORDERED = ("exact", "names", "contains_in_order", "langchain:strict", "agentest:strict")


def _strict(asked: Sequence[Asked], made: Sequence[Made]) -> bool:
    return len(asked) == len(made) and all(same(a, m) is True for a, m in zip(asked, made, strict=True))


def _greedy(asked: Sequence[Asked], made: Sequence[Made]) -> int:
    """How many expected calls find a call, each taking the first that is free."""
    taken: set[int] = set()
    for call in asked:
        found = next((j for j, m in enumerate(made) if j not in taken and same(call, m) is True), None)
        if found is not None:
            taken.add(found)
    return len(taken)


def _superset(asked: Sequence[Asked], made: Sequence[Made]) -> bool:
    return _greedy(asked, made) == len(asked)


def _subset(asked: Sequence[Asked], made: Sequence[Made]) -> bool:
    """The same with the sides exchanged, those of the arguments too: each call made looks for an expected one."""
    other = [call.flipped() for call in asked]
    taken: set[int] = set()
    for m in made:
        found = next((i for i, call in enumerate(other) if i not in taken and same(call, m) is True), None)
        if found is None:
            return False
        taken.add(found)
    return True


def _one_by_one(asked: Sequence[Asked], made: Sequence[Made]) -> bool:
    return _greedy(asked, made) == len(asked) == len(made)


def _allowed(asked: Sequence[Asked], made: Sequence[Made]) -> bool:
    return all(any(same(call, m) is True for call in asked) for m in made)


PEERS: dict[str, Callable[[Sequence[Asked], Sequence[Made]], bool]] = {
    "langchain:strict": _strict,
    "langchain:unordered": lambda asked, made: _superset(asked, made) and _subset(asked, made),
    "langchain:subset": _subset,
    "langchain:superset": _superset,
    "agentest:strict": _strict,
    "agentest:unordered": _one_by_one,
    "agentest:contains": _superset,
    "agentest:within": _allowed,
}


def _settled(asked: Sequence[Asked], made: Sequence[Made]) -> list[Made]:
    """The calls, those of one turn in the order in which they were expected."""
    order: list[Made] = []
    for group in _turns(made):
        if len(group) > 1:
            pairs = assign(len(asked), len(group), lambda i, j, group=group: same(asked[i], made[group[j]]) is True)  # type: ignore[misc]
            place = {j: i for i, j in pairs.items()}
            group = [group[j] for j in sorted(range(len(group)), key=lambda j: (place.get(j, len(asked)), j))]
        order += [made[j] for j in group]
    return order


def _aligned(asked: Sequence[Asked], made: Sequence[Made]) -> list[tuple[int | None, int | None]]:
    """The cheapest edit script: a pair costs nothing, the same tool called otherwise less than two strangers."""
    n, m = len(asked), len(made)
    cost = [[0.0] * (m + 1) for _ in range(n + 1)]

    def pair(i: int, j: int) -> float:
        return 0.0 if same(asked[i], made[j]) else 0.6 if asked[i].name == made[j].name else 1.5

    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            ways = []
            if i < n:
                ways.append(1 + cost[i + 1][j])
            if j < m:
                ways.append(1 + cost[i][j + 1])
            if i < n and j < m:
                ways.append(pair(i, j) + cost[i + 1][j + 1])
            cost[i][j] = min(ways, default=0.0)
    found: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < n or j < m:
        if i < n and j < m and cost[i][j] == pair(i, j) + cost[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif i < n and cost[i][j] == 1 + cost[i + 1][j]:
            found.append((i, None))
            i += 1
        else:
            found.append((None, j))
            j += 1
    return found


def _paired(asked: Sequence[Asked], made: Sequence[Made]) -> list[tuple[int | None, int | None]]:
    """Pairs that fit, then pairs of the same tool, then what is left of each side."""
    pairs = assign(len(asked), len(made), lambda i, j: same(asked[i], made[j]) is True)
    used = set(pairs.values())
    near = assign(
        len(asked),
        len(made),
        lambda i, j: i not in pairs and j not in used and asked[i].name == made[j].name,
    )
    both = pairs | near
    rows: list[tuple[int | None, int | None]] = [(i, both.get(i)) for i in range(len(asked))]
    taken = set(both.values())
    return rows + [(None, j) for j in range(len(made)) if j not in taken]
