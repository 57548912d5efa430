"""Calls that two instrumentations told at once, each in traces of its own.

One sees the agent and keeps its trace by itself (a framework's trace processor); the other sees the provider's client,
finds no span to stand under, and opens a trace for every call. What they share are the ids that the provider gave: of
an answer, of the tool calls in it. An id counts where nobody makes it up by counting, and only for calls at the same
time: history, replays and retries bring ids back. What a trace with more tells is then one run with these calls. A call
that failed has neither ids nor tokens: it is told elsewhere if one call failed there at its time over the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import polars as pl

from otelcov.dialects.base import TOOL
from otelcov.ground.patterns import late
from otelcov.ground.schemas import LATEST_NS, signed
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.overlaps import JITTER_NS, Times, enclosed, overlap, overlapping
from otelcov.runs.llm.left_out import hides_requests
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.habits import knows_no_caller
from otelcov.runs.tools.executions import server_alone, span_call_id, span_name, told_apart
from otelcov.runs.trace.tree import Node, spelling

_ASKED_NS = 5_000_000_000  # how long a thread's tool may have waited since it was asked for

_LONG_ENOUGH = 256  # of an id
_LETTERS = late(r"[a-z]+[-_]([A-Za-z]{20,})$")
_RANDOM = late(r"(?=[^\W_]*[0-9])(?=[^\W_]*[A-Za-z])[^\W_]{9,}")


class Loner(NamedTuple):
    """A model call or a tool in a trace of its own, by what another trace may tell of it."""

    start: int
    end: int
    service: str | None
    tokens: tuple[int, int] | None
    ids: tuple[str, ...]
    failed: bool = False
    serves: str | None = None  # the name of the tool, of a server's span or a thread's
    gateway: bool = False  # who asked may be of another service, and know neither ids nor tokens
    answered: bool = False  # its provider gave an id, which who asked it from another service may tell, too
    bare: bool = False  # neither tokens nor ids of calls are told of it, nor that it failed
    scope: str = ""


def random(id: str | None) -> bool:
    """Is this an id that nobody gives twice? Those that count (`call_0`) and names of functions are not."""
    if id is None or _RANDOM.search(id[:_LONG_ENOUGH]) is not None:
        return id is not None
    made = _LETTERS.match(id[:_LONG_ENOUGH])  # of a hundred ids one has no digit
    return made is not None and 1 <= 4 * sum(map(str.isupper, made[1])) / len(made[1]) <= 3


def loner(part: Fragment) -> Loner | None:
    """What another trace may tell of this fragment by, if there is anything."""
    if not (_alone(part) or part.holds):
        return None
    span = part.root.span
    ids = tuple(sorted({id for call in part.calls for id in asked_ids(call)} | _of_tool(part.root)))
    known = None not in (span.input_tokens, span.output_tokens)
    tokens = (span.input_tokens or 0, span.output_tokens or 0) if known and part.calls else None
    failed = any(call.error is not None for call in part.calls)
    times = min(part.start, LATEST_NS), min(part.end, LATEST_NS)
    threads = knows_no_caller(span.scope)
    serving = part.tools == [part.root] and (threads or server_alone(part.root) or told_apart(part.root))
    serves = span_name(part.tools) if serving else None
    if threads:
        times = max(times[0] - _ASKED_NS, 0), times[1]
    if part.gateway or not ids:  # what asked for the results may have told no ids (LiteLLM, of streams)
        ids = tuple(sorted({*ids, *(id for call in part.calls for id in brought(call))}))
    answered = any(answer_ids(call) for call in part.calls)
    bare = bool(part.calls) and not (tokens or ids or failed)
    return Loner(*times, span.service, tokens, ids, failed, serves, part.gateway, answered, bare, span.scope)


def _alone(part: Fragment) -> bool:
    """Does this stand under nothing? What has a parent that did not come, or not yet, is told in its own trace, but for
    what another trace may tell, too, by ids of answers or calls: who finds a span of LangSmith's to stand under is laid
    under one that never comes (Anthropic's client, OpenInference's tools)."""
    known = any(answer_ids(c) or c.error is not None for c in part.calls) or bool(part.tools and _of_tool(part.root))
    return part.loose and (not part.root.orphan or known)


def told_elsewhere(runs: pl.DataFrame, found: Iterable[Loner]) -> pl.Series:
    """Whether a run (some columns of RUNS) may tell of one of these: a tool call has its id, or a model call at its
    time counts its tokens or failed, too. One that shows no work at that time may have done it."""
    told = pl.DataFrame([_row(x) for x in found], schema=_LONERS, orient="row")
    numbered = runs.with_row_index("run").with_columns(signed("start_unix_nano"), signed("end_unix_nano"))
    if not told.height:
        return numbered["run"].is_in([])
    calls = numbered.select("run", "service", "tool_calls").explode("tool_calls").drop_nulls("tool_calls")
    calls = calls.unnest("tool_calls").with_columns(signed("start_unix_nano"), signed("end_unix_nano"))
    models = numbered.select("run", "service", "scope", "llm_calls").explode("llm_calls").drop_nulls("llm_calls")
    models = models.unnest("llm_calls").with_columns(
        signed("start_unix_nano"), signed("end_unix_nano"), pl.col(*_TOKENS).cast(pl.Int64)
    )
    counted, gateways = told.drop_nulls(_TOKENS), told.filter("gateway")
    idle = pl.col("tool_calls").is_null() & pl.col("llm_calls").is_null()
    of_runs = numbered.select(
        "run",
        "start_unix_nano",
        "end_unix_nano",
        ids=pl.col("tool_calls").list.eval(pl.element().struct.field("call_id")),
    )
    which = pl.concat(
        [
            _beside(of_runs.explode("ids"), told.explode("ids"), "ids"),
            _beside(models, counted, "service", *_TOKENS),
            _beside(models, counted.filter("anywhere"), *_TOKENS),
            _beside(models.filter(pl.col("status") == "error"), told.filter("failed"), "service"),
            _beside(models.filter(pl.col("input_tokens").is_null()), gateways),
            _beside(models.filter(pl.col("input_tokens").is_null()), told.drop_nulls(_TOKENS), "service"),
            _by_others(models.filter(pl.col("input_tokens").is_null()), told.filter(~pl.col("failed"))),
            _beside(models, gateways.filter("failed")),
            _by_others(models, told.filter("bare")),
            _beside(numbered.filter(idle), told, "service"),
            _beside(_called(calls, told), told.drop_nulls("serves")),
        ]
    )
    return numbered["run"].is_in(which.unique().implode())


_TOKENS = ("input_tokens", "output_tokens")
_LONERS = pl.Schema(
    {
        "low": pl.Int64(),
        "high": pl.Int64(),
        "service": pl.String(),
        "input_tokens": pl.Int64(),
        "output_tokens": pl.Int64(),
        "ids": pl.List(pl.String()),
        "failed": pl.Boolean(),
        "serves": pl.String(),
        "gateway": pl.Boolean(),
        "anywhere": pl.Boolean(),
        "bare": pl.Boolean(),
        "scope": pl.String(),
    }
)


def _row(x: Loner) -> tuple[object, ...]:
    tokens, anywhere = x.tokens or (None, None), x.gateway or x.answered
    return x.start, x.end, x.service, *tokens, x.ids, x.failed, x.serves, x.gateway, anywhere, x.bare, x.scope


def _called(calls: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """The calls of tools that one of these may have run, by their names."""
    ends = {spelling(name) for name in told["serves"].drop_nulls().unique()}
    names = calls["name"].drop_nulls().unique() if ends else ()
    return calls.filter(pl.col("name").is_in([n for n in names if any(spelling(n).endswith(end) for end in ends)]))


def _beside(rows: pl.DataFrame, found: pl.DataFrame, *keys: str) -> pl.Series:
    """The runs of those of these rows that overlap with one of these times that has the same keys, of which each is
    known but for the service."""
    known = [key for key in keys if key != "service"]
    rows = rows.drop_nulls(known)
    return rows["run"].filter(overlapping(rows, found.drop_nulls(known), keys, JITTER_NS))


def _by_others(rows: pl.DataFrame, found: pl.DataFrame) -> pl.Series:
    """The same by times alone, of one service, where another instrumentation tells of the run."""
    scopes = found["scope"].unique().to_list()
    some = [
        _beside(rows.filter(pl.col("scope").ne_missing(scope)), found.filter(pl.col("scope") == scope), "service")
        for scope in scopes
    ]
    return pl.concat(some) if some else rows["run"].clear()


def unite_doubles(parts: list[Fragment], unite: Callable[[Fragment, Fragment], None]) -> None:
    """Join what stands alone with the trace that tells of it, too; what both tell counts once."""
    alone = [p for p in parts if _alone(p) and (p.calls or p.root.kind == TOOL)]
    whole = [p for p in parts if not p.loose]
    if not alone or not whole:
        return
    told = _Told(whole)
    for p in alone:
        for call in list(p.calls) if told.known(p) else ():
            host, twin = told.of_call(p, call)
            if host is not None:
                unite(host, p)
                if twin is not None:
                    told.by_both(twin, call)
                    p.calls = [c for c in p.calls if c is not call]
        if p.root.kind == TOOL:
            host, node = told.of_tool(p)
            if host is not None:
                unite(host, p)
                if node is not None:
                    p.root.parent, p.root.agent = node, p.root.agent or node.agent
                    node.children.append(p.root)
    for p in whole:
        p.calls = [told.now(c) for c in p.calls]


Found = tuple[Fragment, ModelCall]


class _Told:
    """What traces with more in them tell of calls that stand alone elsewhere."""

    def __init__(self, whole: list[Fragment]) -> None:
        by_id: dict[str, list[tuple[Fragment, ModelCall | None, Node | None]]] = {}
        self._tools: dict[tuple[int, str], list[Node]] = {}  # that tell no id, of a fragment, by name
        self._both: dict[int, ModelCall] = {}  # what stands for a call that was told twice
        tokens: dict[tuple[str | None, int | None, int | None], list[Found]] = {}
        for p in whole:
            for call in p.calls:
                for i in answer_ids(call) | set(asked_ids(call)):
                    by_id.setdefault(i, []).append((p, call, call.node.parent))
                tokens.setdefault((p.root.span.service, call.input_tokens, call.output_tokens), []).append((p, call))
            for n in p.nodes:
                if n.kind != TOOL:
                    continue
                for i in _of_tool(n):
                    by_id.setdefault(i, []).append((p, None, n))
                if span_call_id([n]) is None:
                    self._tools.setdefault((id(p), spelling(span_name([n]) or "")), []).append(n)
        self._by_id = {i: Times(some, _host) for i, some in by_id.items()}
        self._by_tokens = {key: Times(some, _call) for key, some in tokens.items() if key[1:] != (None, None)}
        words: dict[tuple[str | None, Hashable], list[Found]] = {}
        for (service, *told), some in tokens.items():
            for p, call in some if told == [None, None] else ():
                if call.outputs is None and call.error is None:
                    for key in {_new(call), tuple(_thread(call))}:
                        words.setdefault((service, key), []).append((p, call))
        self._by_words = {key: Times(some, _call) for key, some in words.items()}
        asked: dict[tuple[str | None, str], list[Found]] = {}
        for p in whole:
            for call in p.calls:
                if (said := words_of(call)) is not None:
                    asked.setdefault((p.root.span.service, said), []).append((p, call))
        self._by_last_words = {key: Times(some, _call) for key, some in asked.items()}
        self._of_host = {id(p): Times([(p, call) for call in p.calls], _call) for p in whole}
        failed = [(p, call) for p in whole for call in p.calls if call.error is not None]
        self._failed = {
            service: Times(list(some), _call) for service, some in groupby(sorted(failed, key=_service), key=_service)
        }

    def known(self, p: Fragment) -> bool:
        """Is this known to be told here, too, where something else may be above it?"""
        ids = {i for call in p.calls for i in answer_ids(call)}
        if not p.root.orphan or not ids or self._only(p, ids) is not None:
            return True
        asked = {i for call in p.calls for i in asked_ids(call)}
        if self._only(p, asked) is not None:
            return any(call is not None for _, call, _ in self._having(asked, p))
        hosts = [self._of_count(p, call)[0] for call in p.calls]
        return bool(hosts) and hosts[0] is not None and all(host is hosts[0] for host in hosts)

    def of_call(self, p: Fragment, call: ModelCall) -> tuple[Fragment | None, ModelCall | None]:
        """The fragment in which this call was made, and that one's telling of it."""
        own = answer_ids(call) | set(asked_ids(call))
        host = self._only(p, own)
        if host is None and call.error is None:
            counted = self._of_count(p, call)
            if counted[0] is not None:  # what it brought back may be of a run that ended just then
                return counted
        host = host or self._only(p, brought(call))
        if host is not None:
            sure = [c for h, c, _ in self._having(own, p) if h is host and c is not None]
            twins = [c for c in sure if may_be_one(self.now(c), call)]
            twins = twins or [c for _, c in self._of_host[id(host)].at(call) if may_be_one(self.now(c), call)]
            return host, min(twins, key=lambda c: (abs(c.start - call.start), c.node.span.span_id), default=None)
        if call.error is not None:
            return self._of_failure(p, call)
        found = self._of_words(p, call)
        if found[0] is None and _counts_nothing(call):  # a stream of OpenAI's (Traceloop for JavaScript)
            some = self._by_last_words.get((p.root.span.service, words_of(call) or ""))
            return self._nested(some, call, lambda c: None in (c.outputs, call.outputs))
        return found

    def _of_count(self, p: Fragment, call: ModelCall) -> Found | tuple[None, None]:
        """The call that counts the same tokens, or of these only what was put in or out (LangChain, of a stream of
        Anthropic's)."""
        put_in, put_out = call.input_tokens, call.output_tokens
        for told in ((put_in, put_out), (None, put_out), (put_in, None)) if None not in (put_in, put_out) else ():
            found = self._nested(self._by_tokens.get((p.root.span.service, *told)), call, lambda c: True)
            if found[0] is not None:
                return found
        return None, None

    def _of_words(self, p: Fragment, call: ModelCall) -> Found | tuple[None, None]:
        """The call that was asked the same, of which no more is told (AgentOps, of what OpenAI's kit asks)."""
        thread = _thread(call)
        key: Hashable = _new(call) or tuple(thread)
        some = self._by_words.get((p.root.span.service, key)) if thread else None
        return self._nested(some, call, lambda c: True)

    def _of_failure(self, p: Fragment, call: ModelCall) -> tuple[Fragment | None, ModelCall | None]:
        words = words_of(call)
        some = self._failed.get(p.root.span.service or "")
        return self._nested(some, call, lambda c: None in (words, words_of(c)) or words == words_of(c))

    def _nested(
        self, some: Times[Found] | None, call: ModelCall, like: Callable[[ModelCall], bool]
    ) -> Found | tuple[None, None]:
        """The one of these, which nobody else tells of, that this call lies in, or that lies in it."""
        beside = ((h, c) for h, c in (some.at(call) if some is not None else ()) if id(c) not in self._both)
        nested = ((h, c) for h, c in beside if enclosed(c, call) and may_be_one(c, call) and like(c))
        first = next(nested, None)
        return (None, None) if first is None or next(nested, None) is not None else first

    def of_tool(self, p: Fragment) -> tuple[Fragment | None, Node | None]:
        """The fragment in which this tool was called, and under which of its nodes."""
        ids = _of_tool(p.root)
        host = self._only(p, ids)
        if host is None:
            return None, None
        told = [(c, n) for h, c, n in self._having(ids, p) if h is host]
        named = self._tools.get((id(host), spelling(span_name([p.root]) or "")), ())
        ran = [n for c, n in told if c is None] or [n for n in named if _around(n, p)]
        return host, ran[0] if ran else told[0][1]

    def by_both(self, twin: ModelCall, call: ModelCall) -> None:
        """Two tell of one call."""
        before = self.now(twin)
        self._both[id(twin)] = ModelCall(before.node, [*call.layers, *before.layers])

    def now(self, call: ModelCall) -> ModelCall:
        return self._both.get(id(call), call)

    def _only(self, p: Fragment, ids: Iterable[str]) -> Fragment | None:
        """The one fragment that tells of these ids at the same time."""
        met = None
        for host, _, _ in self._having(ids, p):
            if met is not None and host is not met:
                return None
            met = host
        return met

    def _having(self, ids: Iterable[str], p: Fragment) -> Iterator[tuple[Fragment, ModelCall | None, Node | None]]:
        """Who tells of one of these ids at the time of this fragment."""
        some = (self._by_id[i] for i in ids if i in self._by_id)
        return (found for times in some for found in times.at(p) if overlap(found[0], p))


def _host(found: tuple[Fragment, ModelCall | None, Node | None]) -> Fragment:
    return found[0]


def _call(found: Found) -> ModelCall:
    return found[1]


def _service(found: Found) -> str:
    return found[0].root.span.service or ""


def _counts_nothing(call: ModelCall) -> bool:
    """Is no more told of a call than words?"""
    return call.error is None and {call.input_tokens, call.output_tokens} == {None}


def words_of(call: ModelCall) -> str | None:
    """What a model was told last that was no result."""
    return next((x.text for x in reversed(call.inputs or ()) if x.role == "user" and x.text), None)


def _new(call: ModelCall) -> tuple[str, ...]:
    return tuple(sorted(brought(call)))


def _thread(call: ModelCall) -> list[tuple[str, str]]:
    """What a model was told, and by whom."""
    return [(x.role, x.text or "") for x in call.inputs or ()]


def may_be_one(one: ModelCall, two: ModelCall) -> bool:
    """May these be one call, by two instrumentations?"""
    if {n.span.scope for n in one.layers} & {n.span.scope for n in two.layers} or not overlap(one, two):
        return False
    answers = [{n.span.response_id for n in c.layers if n.span.response_id} for c in (one, two)]
    if all(answers) and answers[0].isdisjoint(answers[1]):
        return False
    tokens = [(c.input_tokens, c.output_tokens) for c in (one, two)]
    if all(None not in t for t in tokens) and tokens[0] != tokens[1]:
        return False
    asked = [c.asked for c in (one, two) if c.outputs is not None and (c.asked or not hides_requests(c))]
    if len(asked) < 2:
        return True
    known = all(r.id for some in asked for r in some)  # LiteLLM tells none of a stream
    told = [sorted((r.name or "", r.id or "" if known else "") for r in some) for some in asked]
    return told[0] == told[1]


def _around(node: Node, tool: Fragment) -> bool:
    return node.start <= tool.start + JITTER_NS and tool.end <= node.end + JITTER_NS


def answer_ids(call: ModelCall) -> set[str]:
    return {i for n in call.layers if (i := n.span.response_id) is not None and random(i)}


def asked_ids(call: ModelCall) -> list[str]:
    return [r.id for r in call.asked if r.id is not None and random(r.id)]


def brought(call: ModelCall) -> list[str]:
    """The ids of the results that are new in this call's input."""
    out: list[str] = []
    for message in reversed(call.inputs or ()):
        if not message.results:
            break
        out += [r.id for r in message.results if r.id is not None and random(r.id)]
    return out


def _of_tool(node: Node) -> set[str]:
    found = span_call_id([node]) if node.kind == TOOL else None
    return {found} if found is not None and random(found) else set()
