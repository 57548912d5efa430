"""Spans as the reconstruction sees them: facts from the dialects, beside what OpenTelemetry itself says.

Everything up to here is columns; from here on a trace is a small tree, and what a span means depends on its
neighbours, so it is walked in Python. Only what the walk needs becomes Python values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from otelcov.dialects import base
from otelcov.dialects.asked import keys
from otelcov.dialects.facts import facts
from otelcov.ground.masks import first_bytes, missing
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import ROLES
from otelcov.runs.content.jsontext import UNGIVEN, to_json
from otelcov.runs.trace.attributes import PLACED, any_value, columns, event_pairs, scope_of, struct_value
from otelcov.runs.trace.emptied import without_emptied
from otelcov.runs.trace.lone_records import of_the_only_call
from otelcov.runs.trace.long_texts import lengths, longest_member, signs
from otelcov.runs.trace.lost import answers_first, called_so_alone, kinds_lost
from otelcov.runs.trace.mapped import mapped_back, named_back
from otelcov.runs.trace.moved import put_back
from otelcov.runs.trace.packed import unpacked
from otelcov.runs.trace.recorded import record_pairs


class Span(NamedTuple):
    """One span: identity, times, status, facts. Texts are as they came; nothing is parsed yet."""

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None
    name: str
    span_kind: int
    start: int
    end: int
    status_code: int
    status_message: str | None
    service: str | None
    environment: str | None
    release: str | None
    scope: str
    dropped: int
    masked: int
    trace_state: str | None
    kind: str | None
    agent: str | None
    tool: str | None
    call_id: str | None
    arguments: str | None
    result: str | None
    request_model: str | None
    response_model: str | None
    input_tokens: int | None
    output_tokens: int | None
    response_id: str | None
    finish: str | None
    output_messages: str | None
    input: str | None
    output: str | None
    definitions: int | None  # place in `Side.definitions`
    conversation: str | None
    case: str | None
    error_type: str | None
    error_text: str | None
    tool_error: str | None
    from_agent: str | None
    to_agent: str | None
    sampling: str | None
    longest: int  # characters of the longest content value
    cut: int  # … of the longest one that begins as JSON and does not end as JSON
    forced: bool  # the input holds a framework's order to stop
    flagged: bool  # … the flag of a tool that failed
    row: int


Event = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class Side:
    """What only some spans have, by row of the batch."""

    exceptions: dict[int, list[tuple[str, str]]] = field(default_factory=dict)  # (type, message)
    mishaps: set[int] = field(default_factory=set)  # where the instrumentation failed, and perhaps nothing else
    events: dict[int, list[Event]] = field(default_factory=dict)  # GenAI events, from spans and from log records
    unordered: set[int] = field(default_factory=set)  # whose records of messages have one time and no numbers
    links: dict[int, list[tuple[bytes, bytes]]] = field(default_factory=dict)
    families: dict[str, dict[int, list[tuple[str, Any]]]] = field(default_factory=dict)
    answers_first: set[int] = field(default_factory=set)  # that lost attributes, and tell answers before the last input
    resource_case: dict[int, str] = field(default_factory=dict)
    named: dict[int, dict[str, str]] = field(default_factory=dict)  # attributes that the config makes part of states
    definitions: list[str] = field(default_factory=list)  # each distinct text once
    texts: dict[str, pl.Series] = field(default_factory=dict)  # long texts that few spans are asked for, by fact


_ABOUT = ("gen_ai.evaluation.result",)  # what others think of the span is no part of what happened in it
_EVENT_PREFIXES = ("gen_ai.", "ai.", "mlflow.chunk.")
_RATES = ("SampleRate", "sampling.rate")  # of so many one was kept
_PRIORITY = "sampling.priority"  # whether it is to be kept, and no rate


def rows(frame: pl.DataFrame) -> list[Span]:
    """The spans of a table as Python values."""
    make = Span._make
    return [make(row) for row in frame.rows()]


def read(spans: pl.DataFrame, logs: pl.DataFrame) -> tuple[list[Span], Side]:
    """`table` and `rows` at once."""
    frame, side = table(spans, logs)
    return rows(frame), side


def table(spans: pl.DataFrame, logs: pl.DataFrame, named: Collection[str] = ()) -> tuple[pl.DataFrame, Side]:
    """The spans of a batch of whole traces - a column per field of `Span`, sorted by (trace, start, span id) - and
    their side facts. `logs` are those traces' records, `named` attributes that are wanted as they are."""
    spans, height = named_back(mapped_back(spans)), spans.height
    wanted = {*keys(), *_RATES, _PRIORITY, _FRAMEWORK} | set(named)
    back, logs = put_back(logs, spans)
    more = [*event_pairs(spans["events"], wanted), *record_pairs(logs, spans, wanted), *back, *unpacked(spans)]
    wide, families = columns([spans["attributes"], spans["content"]], wanted, height, more)
    scopes = {b: scope_of(b) for b in spans["scope"].unique().to_list()}
    names, versions = ({b: told[place] for b, told in scopes.items()} for place in (0, 1))
    context = wide.with_columns(
        spans["name"].alias("span.name"),
        spans["kind"].alias("span.kind"),
        *spans.select(
            pl.col("scope").replace_strict(names, default="", return_dtype=pl.String).fill_null("").alias("scope.name"),
            pl.col("scope").replace_strict(versions, default="", return_dtype=pl.String).alias("scope.version"),
        ),
    )
    side = Side(families=families)
    found = facts(context).pipe(kinds_lost, spans, families)
    found = found.pipe(called_so_alone, spans, context, families).pipe(_kinds_of_failed, spans)
    found = _told_better(found, spans, context).pipe(without_emptied, spans)
    offered = found["definitions"]
    sampling = [pl.col(k) for k in _RATES if k in wide.columns]
    if _PRIORITY in wide.columns:
        sampling.append(pl.when(pl.col(_PRIORITY).is_not_null()).then(pl.lit("by priority")))
    said = found.select(f for f in base.FACTS if f not in KEPT).with_columns(
        *(_without(found[fact], *none) for fact, none in _NONE.items()),
        input=pl.when(pl.col("kind") != base.LLM).then("input"),
        output=pl.when(
            (pl.col("kind") != base.LLM)
            | found["output_messages"].is_null()
            | (pl.col("output") != found["output_messages"])
        ).then("output"),
        definitions=_codes(offered, side),
    )
    frame = pl.concat(
        [
            spans.select(
                "trace_id",
                "span_id",
                "parent_span_id",
                pl.col("name").fill_null(""),
                pl.col("kind").fill_null(0).alias("span_kind"),
                pl.col("start_time_unix_nano").fill_null(0).alias("start"),
                pl.col("end_time_unix_nano").fill_null(0).alias("end"),
                pl.col("status_code").fill_null(0),
                "status_message",
                "service",
                "environment",
                "release",
                _scopes(context),
                pl.col("dropped_attributes_count").fill_null(0).alias("dropped"),
                pl.col("masked").fill_null(0),
                "trace_state",
            ),
            said,
            context.with_columns(sampling=pl.coalesce(sampling) if sampling else pl.lit(None, pl.String)).select(
                "sampling"
            ),
            lengths([*(found[fact] for fact in _LONG), longest_member(found["definitions"]), said["output"]]),
            signs(found["input_messages"]),
            pl.DataFrame({"row": pl.int_range(height, eager=True)}),
        ],
        how="horizontal",
    )
    for fact in KEPT:
        side.texts[fact] = found[fact]
    order = frame.select(pl.arg_sort_by("trace_id", "start", "span_id")).to_series()
    _events(spans, side)
    side.answers_first = answers_first(spans, families)
    _links(spans, side)
    _logs(spans, of_the_only_call(logs, spans, found["kind"]), side)
    _cases(spans, side)
    _named(wide, named, side)
    return frame[order], side


def _kinds_of_failed(found: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """What failed and tells of no kind was a model call if spans of its name and scope in its trace are: some
    instrumentations say what a span is with the answer, which then never came."""
    failed = found["kind"].is_null() & (spans["status_code"] == 2).fill_null(False)
    if not failed.any():
        return found
    like = ("trace_id", "scope", "name")
    models = spans.filter(found["kind"] == base.LLM)
    around = models.select("trace_id", span_id="parent_span_id").unique()
    alike = spans.select(*like, "span_id").with_row_index("row").filter(failed)
    alike = alike.join(models.select(like).unique(), on=like, how="semi", nulls_equal=True)
    alike = alike.join(around, on=("trace_id", "span_id"), how="anti")
    if not alike.height:
        return found
    return found.with_columns(kind=found["kind"].scatter(alike["row"], base.LLM))


def _told_better(found: pl.DataFrame, spans: pl.DataFrame, context: pl.DataFrame) -> pl.DataFrame:
    """What the messages of a runtime tell of model calls and of whose turn it is is nothing more where the models' own
    spans have come, of the same trace or team: a message may begin a trace of its own."""
    runtimes = context["scope.name"].str.contains(base.BY_MESSAGES)
    by_messages = runtimes & found["kind"].is_not_null()
    if not by_messages.any():
        return found
    models = spans["trace_id"].filter((found["kind"] == base.LLM) & ~by_messages).unique()
    better = spans["trace_id"].is_in(models.implode())
    teams = spans.select(pl.when(runtimes).then(pl.col("name").str.extract(_TEAM))).to_series()
    worse = by_messages & (better | teams.is_in(teams.filter(better).drop_nulls().unique().implode()).fill_null(False))
    return found.with_columns(pl.when(~worse).then(pl.all()))


_TEAM = r"_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
KEPT = ("input_messages", "system")
"""Facts that stand beside the table (Side.texts)."""
_LONG = ("input_messages", "output_messages", "input", "arguments", "result")
_NO_ID = ("", "<not specified>", "unknown", "none", "null", "undefined", "n/a")
"""What instrumentations write where a tool call or an answer has no id."""
_NO_MODEL = ("unknown_model", "unknown")
"""What Splunk's instrumentations write where nobody told which; LangChain4j's own and RubyLLM's."""
_NO_CONVERSATION = r"^(?:resp_|trace_[0-9a-f]{32}$|(?:agento11y|sigil):framework:)"
"""The id of the answer before (Responses API) or of a trace (OpenAI's agents): each turn has another; or of a step
(Grafana's)."""
_TEXT = pl.col("text")
_ID, _MODEL = (b"\0uUnN", _TEXT.str.to_lowercase().is_in(_NO_ID)), (b"u", _TEXT.is_in(_NO_MODEL))
_NONE = {
    "call_id": _ID,
    "response_id": _ID,
    "request_model": _MODEL,
    "response_model": _MODEL,
    "conversation": (b"rtas", _TEXT.str.contains(_NO_CONVERSATION)),
}
"""By fact, how texts begin that stand where there is none, and which these are; so do words in angle brackets."""


def _without(texts: pl.Series, begins: bytes, none: pl.Expr) -> pl.Series:
    """The texts without those that are none; only what begins so is looked at to its end."""
    may_be = np.zeros(256, dtype=bool)
    may_be[[*begins, ord("<")]] = True
    first = first_bytes(texts)
    rows = np.flatnonzero(may_be[first] & ~missing(texts))
    if len(rows):
        none = none | _TEXT.str.contains(UNGIVEN.pattern) if (first[rows] == ord("<")).any() else none
        told = texts[rows].to_frame("text").select(none).to_series()
        kept = np.ones(len(texts), dtype=bool)
        kept[rows] = ~told.to_numpy()
        texts = texts if kept.all() else texts.to_frame().select(pl.when(pl.Series(kept)).then(pl.all())).to_series()
    return texts


def _codes(texts: pl.Series, side: Side) -> pl.Series:
    """Texts that many spans repeat as their place in a list of distinct ones."""
    some = texts.is_not_null().arg_true()
    told = texts[some].to_frame("text").with_row_index("row")
    first = told.select(pl.col("row").first().over("text")).to_series().to_numpy()
    begins = np.unique(first)
    side.definitions = told["text"][begins].to_list()
    nowhere = pl.Series("definitions", [None], dtype=pl.Int64).new_from_index(0, len(texts))
    return nowhere.scatter(some, np.searchsorted(begins, first)) if len(some) else nowhere


_FRAMEWORK = "gen_ai.framework"


def _scopes(context: pl.DataFrame) -> pl.Series:
    """The scope of each span; of the one that all of OpenTelemetry's helpers share, with the framework it tells of."""
    if _FRAMEWORK not in context.columns:
        return context["scope.name"].alias("scope")
    shared = pl.col("scope.name").str.ends_with("util.genai.handler") & pl.col(_FRAMEWORK).is_not_null()
    both = pl.concat_str("scope.name", _FRAMEWORK, separator=" ", ignore_nulls=True)
    return context.select(scope=pl.when(shared).then(both).otherwise("scope.name")).to_series()


def _cases(spans: pl.DataFrame, side: Side) -> None:
    """A test case named on the resource belongs to every span of it."""
    cases = {}
    for data in spans["resource"].unique().to_list():
        if data and b"case" in data:
            attributes = {kv.key: any_value(kv.value) for kv in Resource.FromString(data).attributes}
            name = next(
                (attributes[k] for k in ("test.case.name", "test.case.id", "otelcov.case") if k in attributes), None
            )
            if name is not None:
                cases[data] = str(name)
    if cases:
        for row, data in enumerate(spans["resource"].to_list()):
            if data in cases:
                side.resource_case[row] = cases[data]


def _named(wide: pl.DataFrame, named: Collection[str], side: Side) -> None:
    for name in named:
        if name in wide.columns:
            for row, value in wide.select("_row", name).drop_nulls().iter_rows():
                side.named.setdefault(row, {})[name] = value


def _events(spans: pl.DataFrame, side: Side) -> None:
    some = np.flatnonzero(spans["events"].list.len().to_numpy() > 0)
    if not len(some):
        return
    rows = pl.DataFrame({"row": some, "events": spans["events"][some]})
    opened = rows.explode("events").with_columns(name=pl.col("events").struct.field("name"))
    telling = opened.filter(
        pl.col("name").str.contains(_EXCEPTION.pattern)
        | pl.any_horizontal([pl.col("name").str.starts_with(p) for p in _EVENT_PREFIXES])
    )
    for row, event, name in telling.iter_rows():
        attributes = {kv["key"]: struct_value(kv) for kv in event["attributes"] or []}
        if name in _ABOUT:
            continue
        if _EXCEPTION.match(name):
            _raised(row, attributes, side)
        else:
            side.events.setdefault(row, []).append((name, attributes))


_EXCEPTION = late(r"^(?:exception|gen_ai\.client\.operation\.exception)$")
"""Names of events, of a span or among log records, that tell of an exception (semantic conventions 1.40)."""


def _raised(row: int, attributes: dict[str, Any], side: Side) -> None:
    """Take down an exception of a span; one that is told as an event and as a log record is one."""
    if _raised_while_watching(attributes.get("exception.stacktrace")):
        side.mishaps.add(row)
    elif (thrown := _thrown(attributes)) not in (known := side.exceptions.setdefault(row, [])):
        known.append(thrown)


def _thrown(attributes: dict[str, Any]) -> tuple[str, str]:
    """The type and the message of an exception; with what is told beside it of an error of OpenAI's kit (AgentOps), or
    where the places in the program would stand (MLflow)."""
    kind, message = (str(attributes.get(f"exception.{of}") or "") for of in ("type", "message"))
    details = attributes.get("error.data") or ("" if kind else attributes.get("exception.stacktrace"))
    if isinstance(details, str) and details.startswith('{"'):
        message = f"{message}: {details}"
    return kind, message


_FRAME = late(r'^ *File "([^"]+)", line \d+, in (.*)\n(.*)', re.M)
_LOOKED_FOR = ("__getattr__", "__getattribute__", "__getitem__")
_WATCHING = late(r"[/\\](?:openlit|openinference|opentelemetry|traceloop)[/\\]instrumentation[/\\]")
_WATCHED = late(r"\b(?:wrapped|func|fn|method|function|original\w*)\(|\bnext\(|\b__a?next__\(|^\s*yield\b")


def _raised_while_watching(trace: Any) -> bool:
    """Was this thrown by an instrumentation's own code, and not by what it watches? What is not there to be looked at
    is missed by who looked."""
    if not isinstance(trace, str) or "instrumentation" not in trace:
        return False
    frames = [(file, line) for file, within, line in _FRAME.findall(trace) if within not in _LOOKED_FOR]
    return bool(frames) and _WATCHING.search(frames[-1][0]) is not None and not _WATCHED.search(frames[-1][1])


def _links(spans: pl.DataFrame, side: Side) -> None:
    some = np.flatnonzero(spans["links"].list.len().to_numpy() > 0)
    for row, links in zip(some.tolist(), spans["links"][some].to_list(), strict=True):
        side.links[row] = [(link["trace_id"] or b"", link["span_id"] or b"") for link in links]


_NAMED = r"^(?:gen_ai\.|(?:otel\.)?event\.name$)"
_MAY_TELL = pl.col("trace_id").is_not_null() & (
    (pl.col("event_name") != "")
    | pl.any_horizontal(
        pl.col(told).list.eval(pl.element().struct.field("key").str.contains(_NAMED)).list.any()
        for told in ("attributes", "content")
    )
    | pl.col("body").struct.field("kvlist_value").is_not_null()
)
"""Log records that may be events, by a name, a key or a body of fields, and are no lines of an application's log."""


def _logs(spans: pl.DataFrame, logs: pl.DataFrame, side: Side) -> None:
    """GenAI log records join the events of their span, in time order (ties: as they were numbered, else by bytes)."""
    if not logs.height:
        return
    ids = spans.select(pl.int_range(pl.len()).alias("row"), "trace_id", "span_id")
    joined = logs.filter(_MAY_TELL).join(ids, on=["trace_id", "span_id"], how="inner")
    records: list[tuple[tuple[Any, ...], int, str, dict[str, Any]]] = []
    raised: list[tuple[int, int, dict[str, Any]]] = []
    for r in joined.iter_rows(named=True):
        attributes = {kv["key"]: struct_value(kv) for kv in [*(r["attributes"] or []), *(r["content"] or [])]}
        name = r["event_name"] or ""
        if not name or re.match(PLACED, name):
            name = attributes.get("event.name") or attributes.get("otel.event.name") or ""
        if not isinstance(name, str) or name in _ABOUT:
            continue
        if _EXCEPTION.match(name):
            raised.append((r["row"], r["time_unix_nano"] or r["observed_time_unix_nano"] or 0, attributes))
            continue
        body = struct_value(r["body"])
        merged = attributes | (body if isinstance(body, dict) else {"body": body} if body is not None else {})
        number = attributes.get("gen_ai.message.index")
        time = r["time_unix_nano"] or r["observed_time_unix_nano"] or 0
        rank = 1 if name == "gen_ai.choice" else 0
        records.append(
            (
                (
                    r["row"],
                    rank,
                    number if isinstance(number, int) else -1,
                    time,
                    repr(sorted(merged.items(), key=str)),
                ),
                r["row"],
                name,
                merged,
            )
        )
    for row, _, attributes in sorted(raised, key=lambda x: (x[:2], repr(sorted(x[2].items(), key=str)))):
        _raised(row, attributes, side)
    records.sort(key=lambda x: x[0])
    for (row, rank, *_), group in groupby(records, key=lambda x: x[0][:-1]):
        told = [(name, merged) for _, _, name, merged in group]
        if len(told) > 1 and rank == 0 and all(name in ROLES for name, _ in told):
            told, known = in_turn(told)
            if not known:
                side.unordered.add(row)
        side.events.setdefault(row, []).extend(told)


def in_turn(told: list[Event]) -> tuple[list[Event], bool]:
    """Messages of one time (JavaScript's clock counts milliseconds) in the order that they can only have: what a tool
    brought after what asked for it. False where more than that is needed to know it: words of several turns."""
    order = {"gen_ai.system.message": 0, "gen_ai.user.message": 1}
    first = sorted((e for e in told if e[0] in order), key=lambda e: order[e[0]])
    brought: dict[str, list[Event]] = {}
    for event in told:
        if event[0] == "gen_ai.tool.message":
            brought.setdefault(to_json(event[1].get("id")), []).append(event)
    out, asked = list(first), []
    for event in told:
        if event[0] in order or event[0] == "gen_ai.tool.message":
            continue
        calls = event[1].get("tool_calls")
        ids = [to_json(c.get("id")) for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
        out += [event, *(e for id in ids for e in brought.pop(id, ()))]
        asked.append(bool(ids))
    users = sum(e[0] == "gen_ai.user.message" for e in first)
    return [*out, *(e for some in brought.values() for e in some)], users < 2 and all(asked)


def traces(spans: list[Span]) -> Iterator[list[Span]]:
    """The spans, trace by trace."""
    start = 0
    for i in range(1, len(spans) + 1):
        if i == len(spans) or spans[i].trace_id != spans[start].trace_id:
            yield spans[start:i]
            start = i
