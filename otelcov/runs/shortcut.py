"""The rows of regular traces, straight from columns: see regular.py for what regular means.

Model answers, tool calls and runs are tables side by side, each ordered by trace; only JSON is looked at value by
value. A trace that turns out not to be as regular as its columns looked is marked in `bad` and left out.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.schemas import DELEGATION, RUNS
from otelcov.runs import answers, columns
from otelcov.runs import messages as m
from otelcov.runs.columns import Groups
from otelcov.runs.delegations import BY_ARGUMENT, TO
from otelcov.runs.joining import Joints, called_by_name
from otelcov.runs.offered import names_of
from otelcov.runs.paths import shape
from otelcov.runs.softerrors import SIGNS, soft_error
from otelcov.runs.spans import Side, Span
from otelcov.runs.texts import ANSWERS
from otelcov.runs.tree import Node, failure, placeholder

NONE_, AGENT_, LLM_, TOOL_ = 0, 1, 2, 3
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Sketch:
    """A sorted span table and what its columns alone tell. Positions are rows of that table."""

    frame: pl.DataFrame
    side: Side
    trace: Ints  # of each span, the number of its trace
    kind: npt.NDArray[Any]
    above: Ints  # the nearest ancestor that is a step, -1 for none
    failed: Bools
    root: Ints  # of each trace
    first: Ints  # of each trace, its first span
    bad: Bools  # of each trace

    def spoil(self, mask: Bools, traces: Ints) -> None:
        self.bad[traces[mask]] = True

    def taken(self, column: str, at: Ints) -> pl.Series:
        return self.frame[column].gather(at)


@dataclass(slots=True)
class Models:
    """The model calls of the traces that are left, in order."""

    at: Ints
    trace: Ints
    turn: Ints  # its place in its run
    said: answers.Answers


@dataclass(slots=True)
class Calls:
    """What the model calls asked for, in order: each is one tool span, which may be the call of an agent."""

    at: Ints
    model: Ints  # its number in `Models`
    trace: Ints
    child: Ints  # the agent span that the tool span holds, -1 for none
    name: pl.Series
    agent: pl.Series
    target: pl.Series  # the agent called, null for none
    arguments: list[str | None]


def rows(sketch: Sketch, config: Config, where: Joints) -> pl.DataFrame:
    """RUNS rows of the traces that are not bad; `sketch.bad` marks more of them on the way."""
    _agents(sketch, where)
    models = _models(sketch)
    texts = _texts(sketch, models)
    calls = _calls(sketch, models)
    outcomes = _Outcomes(sketch, models, calls, config.runs.soft_errors)
    return _runs(sketch, models, calls, outcomes, texts, config)


def _agents(sketch: Sketch, where: Joints) -> None:
    agent = sketch.frame["agent"]
    dubious = [name for name in agent.unique().to_list() if name is not None and placeholder(name)]
    sketch.spoil((sketch.kind == AGENT_) & agent.is_in(dubious).fill_null(False).to_numpy(), sketch.trace)
    if where.hosted:
        names = sketch.taken("agent", sketch.root)
        hosted = [name for name in names.unique().to_list() if called_by_name(name, where)]
        sketch.bad |= names.is_in(hosted).fill_null(False).to_numpy()
    tools = np.flatnonzero(sketch.kind == TOOL_)
    wrapped = sketch.taken("result", tools).str.contains("tool_call_id", literal=True).fill_null(False)
    sketch.spoil(wrapped.to_numpy(), sketch.trace[tools])


def _models(sketch: Sketch) -> Models:
    at = np.flatnonzero((sketch.kind == LLM_) & ~sketch.bad[sketch.trace])
    said = answers.read(
        sketch.taken("output_messages", at).to_list(),
        sketch.taken("finish", at).to_list(),
    )
    trace = sketch.trace[at]
    asked = sketch.side.texts["input_messages"].gather(sketch.frame["row"].gather(at))
    sketch.spoil(~np.array(said.plain, dtype=bool), trace)
    sketch.spoil(~asked.str.starts_with('[{"').fill_null(False).to_numpy(), trace)
    start = sketch.taken("start", at).to_numpy()
    again = np.zeros(len(at), dtype=bool)
    again[1:] = (start[1:] == start[:-1]) & (trace[1:] == trace[:-1])  # their order is not in the times alone
    sketch.spoil(again, trace)
    return Models(at, trace, columns.places(trace), said)


def _texts(sketch: Sketch, models: Models) -> tuple[list[str], list[str]]:
    """What each trace was asked and what it answered; bad where that is not plain."""
    traces = len(sketch.bad)
    spoken, told = [""] * traces, [""] * traces
    last = np.zeros(traces, dtype=np.int64)
    last[models.trace] = np.arange(len(models.at))
    good = np.flatnonzero(~sketch.bad)
    inputs = sketch.taken("input", sketch.root[good]).to_list()
    outputs = sketch.taken("output", sketch.root[good]).to_list()
    for t, asked, answer, number in zip(good.tolist(), inputs, outputs, last[good].tolist(), strict=True):
        question, reply = _spoken(asked), _said(answer, models.said.text[number])
        if question is None or reply is None:
            sketch.bad[t] = True
        else:
            spoken[t], told[t] = question, reply
    return spoken, told


def _spoken(raw: str | None) -> str | None:
    """The newest user message, where the root's input is plainly a list of messages."""
    plain = _single(raw)
    if plain is not None and plain[0] == "user":
        return m.own_words(plain[1])
    for message in reversed((m.semconv_messages(raw) if raw else None) or ()):
        if message.role == "user" and not message.results and message.text is not None:
            return m.own_words(message.text)
    return None


def _said(raw: str | None, text: str | None) -> str | None:
    """The root's answer, else the last model's."""
    if not raw:
        return m.final_answer(text)
    plain = _single(raw)
    if plain is not None and plain[0] in ("assistant", "user") and "Call(" not in plain[1]:
        return m.final_answer(plain[1])
    found = m.semconv_messages(raw)
    if found is None or len(found) != 1 or found[0].role not in ("assistant", "user"):
        return None
    return None if found[0].text is None else m.final_answer(found[0].text)


def _single(raw: str | None) -> tuple[str, str] | None:
    """Role and text of the one message of one text part, the usual case; None for any other."""
    if not raw or not raw.startswith('[{"'):
        return None
    try:
        found = m.semconv(raw)
    except m.UNREADABLE:
        return None
    if len(found) != 1 or len(found[0].parts) != 1:
        return None
    part = found[0].parts[0]
    return (found[0].role, part.content) if part.type == "text" and part.content is not None else None


def _calls(sketch: Sketch, models: Models) -> Calls:
    """Each request with the one tool span that bears its id; bad where the two do not tell the same."""
    frame, said = sketch.frame, models.said
    spans = np.flatnonzero((sketch.kind == TOOL_) & ~sketch.bad[sketch.trace])
    tools = pl.DataFrame({"trace": sketch.trace[spans], "id": sketch.taken("call_id", spans), "at": spans})
    sketch.spoil(tools.select(pl.struct("trace", "id").is_duplicated()).to_series().to_numpy(), sketch.trace[spans])
    by = np.array(said.asked_by, dtype=np.int64)
    trace = models.trace[by]
    asked = pl.DataFrame({"trace": trace, "id": pl.Series(said.ids, dtype=pl.String), "name": said.names})
    found = asked.join(tools.unique(["trace", "id"]), on=["trace", "id"], how="left", maintain_order="left")["at"]
    sketch.spoil(found.is_null().to_numpy(), trace)
    at = found.fill_null(0).to_numpy()
    owner = frame["agent"].gather(sketch.above[models.at[by]])
    name = frame["tool"].gather(at)
    sketch.spoil(asked["name"].ne_missing(name).to_numpy(), trace)
    sketch.spoil(owner.ne_missing(frame["agent"].gather(sketch.above[at])).to_numpy(), trace)
    requests, executed = (np.bincount(some, minlength=len(sketch.bad)) for some in (trace, sketch.trace[spans]))
    sketch.bad |= requests != executed
    sketch.spoil(pl.Series(at).is_duplicated().to_numpy() & ~sketch.bad[trace], trace)
    ended = np.zeros(len(sketch.bad), dtype=np.int64)
    ended[models.trace] = models.turn
    sketch.spoil(models.turn[by] == ended[trace], trace)  # asked for, and no answer after it
    child = np.full(frame.height, -1, dtype=np.int64)
    inner = np.flatnonzero((sketch.kind == AGENT_) & (sketch.above >= 0))
    child[sketch.above[inner]] = inner
    child = child[at]
    target = frame["agent"].gather(np.maximum(child, 0)).set(pl.Series(child < 0), None)
    sketch.spoil((target == owner).fill_null(False).to_numpy(), trace)
    sketch.spoil((child >= 0) & sketch.failed[at], trace)
    special = [n for n in set(said.names) if n in ANSWERS or TO.match(n) or n.lower().replace("_", "") in BY_ARGUMENT]
    if special:
        sketch.spoil((child < 0) & name.is_in(special).fill_null(True).to_numpy(), trace)
    kept = np.flatnonzero(~sketch.bad[trace])
    return Calls(
        at[kept],
        by[kept],
        trace[kept],
        child[kept],
        name.gather(kept),
        owner.gather(kept),
        target.gather(kept),
        [said.arguments[i] for i in kept.tolist()],
    )


class _Outcomes:
    """What came of the calls that ran a tool, in order, and what is to be told of their runs."""

    def __init__(self, sketch: Sketch, models: Models, calls: Calls, soft: tuple[str, ...]) -> None:
        self.number = np.flatnonzero(calls.child < 0)  # in `Calls`
        self.trace = calls.trace[self.number]
        self.recovered: set[int] = set()
        number = self.number.tolist()
        at = calls.at[self.number]
        self.arguments = [calls.arguments[i] for i in number]
        self.types: list[str | None] = [None] * len(number)  # of the failed ones, their error type
        told = pl.Series([text is not None for text in self.arguments], dtype=pl.Boolean)
        raws = sketch.taken("result", at)
        plain = (told & (raws != "") & ~_begins(raws)).fill_null(False)
        texts = raws.filter(plain)
        places = np.flatnonzero(plain.to_numpy())
        self.results: list[str | None] = [None] * len(number)
        for i, text in zip(places.tolist(), answers.json_texts(texts.to_list()), strict=True):
            self.results[i] = text
        forms = ["text" if found else "" for found in plain.to_list()]
        doubtful = np.arange(len(texts)) if soft else np.flatnonzero(texts.str.contains_any(SIGNS).to_numpy())
        some = zip(places[doubtful].tolist(), texts.gather(doubtful).to_list(), strict=True)
        spoilt = [
            i for i, text in some if soft_error(text, None, soft)
        ]  # rare; the general way weighs it with more care
        failed = sketch.failed[at]
        hard = np.flatnonzero(failed)
        spoilt = sorted(set(spoilt).difference(hard.tolist()))
        spoilt += self._others(sketch, models, calls, [i for i, form in enumerate(forms) if not form], forms, soft)
        for i, row in zip(hard.tolist(), sketch.frame[at[hard]].rows(), strict=True):
            wrong = failure(Node(Span._make(row), sketch.side))
            self.types[i] = wrong[0] if wrong is not None else None
            if wrong is None or not wrong[0] or wrong[0].startswith("<class"):
                spoilt.append(i)
        sketch.bad[self.trace[spoilt]] = True
        self.states = self._states(sketch, calls, forms, failed)

    def _others(
        self, sketch: Sketch, models: Models, calls: Calls, which: list[int], forms: list[str], soft: tuple[str, ...]
    ) -> list[int]:
        """Take down the calls whose result is no plain text or whose arguments stand in the span alone; which are not
        regular."""
        number = self.number[which]
        at = calls.at[number]
        spoilt = []
        seen = _Seen(sketch, models)
        for i, trace, agent, id, raw, own, failed in zip(
            which,
            self.trace[which].tolist(),
            calls.agent.gather(number).to_list(),
            sketch.taken("call_id", at).to_list(),
            sketch.taken("result", at).to_list(),
            sketch.taken("arguments", at).to_list(),
            sketch.failed[at].tolist(),
            strict=True,
        ):
            if self.arguments[i] is None:
                found = m.arguments(own)[0]
                self.arguments[i] = None if found is None else m.to_json(found)
            told: Any = raw if raw is not None else seen.result(trace, agent, id)
            value, flagged = m.result(told)
            if not told or self.arguments[i] is None or (not failed and _soft(value, flagged, soft)):
                spoilt.append(i)
            self.results[i] = None if value is None else m.to_json(value)
            forms[i] = shape(value)
        return spoilt

    def _states(self, sketch: Sketch, calls: Calls, forms: list[str], failed: Bools) -> pl.Series:
        """`agent|tool|ok or error|shape|earlier failures` after each call; runs that recovered are taken down."""
        before = np.zeros(len(forms), dtype=np.int64)
        name = calls.name.gather(self.number)
        some = np.zeros(len(sketch.bad), dtype=bool)
        some[self.trace[failed]] = True
        broken = np.flatnonzero(some[self.trace])
        failures: dict[tuple[int, str], int] = {}
        for i, trace, tool in zip(
            broken.tolist(), self.trace[broken].tolist(), name.gather(broken).to_list(), strict=True
        ):
            before[i] = failures.get((trace, tool), 0)
            if failed[i]:
                failures[trace, tool] = before[i] + 1
            elif before[i]:
                self.recovered.add(trace)
        counts = pl.Series(["0", "1", "2+"]).gather(np.minimum(before, 2))
        status = pl.Series(["ok", "error"]).gather(failed.astype(np.int64))
        parts = [calls.agent.gather(self.number), name, status, pl.Series(forms, dtype=pl.String), counts]
        return pl.select(pl.concat_str([pl.lit(part) for part in parts], separator="|")).to_series()


def _begins(texts: pl.Series) -> pl.Series:
    """Is this JSON, from its first character?"""
    return texts.str.starts_with("[") | texts.str.starts_with("{") | texts.str.starts_with('"')


def _soft(value: Any, flagged: bool | None, patterns: tuple[str, ...]) -> bool:
    return value is None or soft_error(value, flagged, patterns)


class _Seen:
    """What came back for calls whose span has no result: from the last input of the agent that asked."""

    def __init__(self, sketch: Sketch, models: Models) -> None:
        self._sketch, self._models = sketch, models
        self._agents = sketch.frame["agent"].gather(sketch.above[models.at])
        self._told: dict[int, dict[str | None, Any]] = {}

    def result(self, trace: int, agent: str, id: str) -> Any:
        last = int(np.searchsorted(self._models.trace, trace, side="right")) - 1
        while self._agents[last] != agent:
            last -= 1
        if last not in self._told:
            row = self._sketch.frame["row"][int(self._models.at[last])]
            raw = self._sketch.side.texts["input_messages"][row]
            told: dict[str | None, Any] = {}
            for message in (m.semconv_messages(raw) if raw else None) or ():
                for result in message.results:
                    told.setdefault(result.id, result.content)
            self._told[last] = told
        return self._told[last].get(id)


def _runs(
    sketch: Sketch,
    models: Models,
    calls: Calls,
    outcomes: _Outcomes,
    texts: tuple[list[str], list[str]],
    config: Config,
) -> pl.DataFrame:
    frame = sketch.frame
    good = np.flatnonzero(~sketch.bad)
    root = sketch.root[good]
    model = np.flatnonzero(~sketch.bad[models.trace])
    tool = np.flatnonzero(~sketch.bad[outcomes.trace])
    handed = np.flatnonzero((calls.child >= 0) & ~sketch.bad[calls.trace])
    handed = handed[np.lexsort((calls.at[handed], calls.trace[handed]))]
    of_models, of_tools = Groups(good, models.trace[model]), Groups(good, outcomes.trace[tool])
    of_handed = Groups(good, calls.trace[handed])
    llm = _llm_calls(sketch, models, model)
    failed = np.zeros(len(sketch.bad), dtype=bool)
    failed[sketch.trace[sketch.failed & (sketch.kind == TOOL_)]] = True
    identities = [trace.hex() for trace in frame["trace_id"].gather(root).to_list()]
    spoken = [texts[0][t] for t in good.tolist()]
    seen = [
        np.array([not text.strip() for text in spoken], dtype=bool),
        failed[good],
        np.isin(good, sorted(outcomes.recovered)),
        _repeated(calls, outcomes, tool, len(sketch.bad))[good],
    ]
    known, source = _known(sketch, good, of_handed, calls.name.gather(handed), config)
    ended = np.append(sketch.first[1:], frame.height)[good]
    no_tokens = of_models.every(llm["input_tokens"].is_null().to_numpy())
    some_tokens_missing = of_models.any(
        llm.select(pl.any_horizontal(pl.col("input_tokens", "output_tokens").is_null())).to_series().to_numpy()
    )
    no_model = of_models.any(
        llm.select(pl.all_horizontal(pl.col("request_model", "response_model").is_null())).to_series().to_numpy()
    )
    no_finish = of_models.every(llm["finish_reason"].is_null().to_numpy())
    out: dict[str, pl.Series] = {
        "run_id": pl.Series(
            [
                hashlib.sha256(trace.encode() + span).digest()[:16].hex()
                for trace, span in zip(identities, frame["span_id"].gather(root).to_list(), strict=True)
            ],
            dtype=pl.String,
        ),
        "trace_ids": Groups(good, good).lists(pl.Series(identities, dtype=pl.String)),
        "conversation_id": _conversations(sketch, good),
        **{name: frame[name].gather(root) for name in ("service", "environment", "release")},
        "start_unix_nano": pl.Series(np.minimum.reduceat(frame["start"].to_numpy(), sketch.first)[good]),
        "end_unix_nano": pl.Series(np.maximum.reduceat(frame["end"].to_numpy(), sketch.first)[good]),
        "input": pl.Series(spoken, dtype=pl.String),
        "output": pl.Series([texts[1][t] for t in good.tolist()], dtype=pl.String),
        "agents": _working(
            (of_models.of, llm["agent"]),
            (of_handed.of, calls.agent.gather(handed)),
            (of_handed.of, calls.target.gather(handed)),
            runs=len(good),
        ),
        "known_tools": known,
        "known_tools_source": source,
        "tool_calls": of_tools.lists(_tool_calls(sketch, models, calls, outcomes, tool)),
        "llm_calls": of_models.lists(llm.to_struct()),
        "delegations": of_handed.lists(_delegations(calls, handed)),
        "boundaries": columns.subsets(("empty_input", "tool_failure", "tool_recovery", "repeated_call"), seen),
        "boundaries_unknown": columns.subsets(("length", "content_filter"), [no_finish, no_finish]),
        "path": _paths(sketch, models, calls, good),
        "states": of_tools.lists(outcomes.states.gather(tool)),
        "incomplete": columns.subsets(
            ("model not reported", "tokens not reported"), [no_model, no_tokens | some_tokens_missing]
        ),
        "spans": pl.Series(ended - sketch.first[good]),
        "unexplained": _unexplained(sketch, good),
    }
    constant = {"settled": True, "status": "ok", "orphans": 0, "dropped_attributes": 0, "masked": 0, "weight": 1.0}
    return (
        pl.DataFrame(out)
        .with_columns(**{name: pl.lit(value) for name, value in constant.items()})
        .with_columns(pl.lit(None).alias(name) for name in RUNS if name not in out and name not in constant)
        .select(RUNS.names())
        .cast(RUNS)
    )


def _llm_calls(sketch: Sketch, models: Models, which: Ints) -> pl.DataFrame:
    at = models.at[which]
    none = pl.lit(None, pl.String)
    return pl.DataFrame(
        {
            "agent": sketch.frame["agent"].gather(sketch.above[at]),
            "request_model": sketch.taken("request_model", at),
            "response_model": sketch.taken("response_model", at),
            "input_tokens": sketch.taken("input_tokens", at),
            "output_tokens": sketch.taken("output_tokens", at),
            "status": pl.repeat("ok", len(at), dtype=pl.String, eager=True),
            "finish_reason": pl.Series([models.said.finish[i] for i in which.tolist()], dtype=pl.String),
            "start_unix_nano": sketch.taken("start", at),
            "end_unix_nano": sketch.taken("end", at),
        }
    ).with_columns(
        pl.when(pl.col(c) != "").then(c).otherwise(none).alias(c) for c in ("request_model", "response_model")
    )


def _tool_calls(sketch: Sketch, models: Models, calls: Calls, outcomes: _Outcomes, which: Ints) -> pl.Series:
    number = outcomes.number[which]
    at = calls.at[number]
    failed = pl.Series(sketch.failed[at])
    some = which.tolist()
    return (
        pl.DataFrame(
            {
                "name": calls.name.gather(number),
                "agent": calls.agent.gather(number),
                "failed": failed,
                "error_type": pl.Series([outcomes.types[i] for i in some], dtype=pl.String),
                "arguments": pl.Series([outcomes.arguments[i] for i in some], dtype=pl.String),
                "result": pl.Series([outcomes.results[i] for i in some], dtype=pl.String),
                "call_id": sketch.taken("call_id", at),
                "turn": models.turn[calls.model[number]],
                "start_unix_nano": sketch.taken("start", at),
                "end_unix_nano": sketch.taken("end", at),
            }
        )
        .select(
            "name",
            "agent",
            pl.when("failed").then(pl.lit("error")).otherwise(pl.lit("ok")).alias("status"),
            pl.when("failed").then(pl.lit("hard")).alias("error_kind"),
            "error_type",
            "arguments",
            pl.lit(None, pl.String).alias("arguments_text"),
            "result",
            "call_id",
            "turn",
            pl.lit(pl.Series([["span", "message"]])).first().alias("evidence"),
            "start_unix_nano",
            "end_unix_nano",
        )
        .to_struct()
    )


def _delegations(calls: Calls, which: Ints) -> pl.Series:
    return (
        pl.DataFrame(
            {
                "from": calls.agent.gather(which),
                "to": calls.target.gather(which),
                "form": pl.repeat("tool", len(which), dtype=pl.String, eager=True),
                "tool": calls.name.gather(which),
                "status": pl.repeat("ok", len(which), dtype=pl.String, eager=True),
            }
        )
        .cast({f.name: f.dtype for f in DELEGATION.fields})
        .to_struct()
    )


def _repeated(calls: Calls, outcomes: _Outcomes, which: Ints, traces: int) -> Bools:
    """The traces that called a tool three times with the same arguments."""
    equal = pl.DataFrame(
        {
            "trace": outcomes.trace[which],
            "name": calls.name.gather(outcomes.number[which]),
            "arguments": pl.Series([outcomes.arguments[i] for i in which.tolist()], dtype=pl.String),
        }
    )
    often = equal.group_by("trace", "name", "arguments").len().filter(pl.col("len") >= 3)["trace"]
    found = np.zeros(traces, dtype=bool)
    found[often.to_numpy()] = True
    return found


def _known(sketch: Sketch, good: Ints, handed: Groups, by: pl.Series, config: Config) -> tuple[pl.Series, pl.Series]:
    """Known tools of each run and where they are known from: declared, else offered and no way to delegate."""
    declared = sorted({t for a in config.agents.values() for t in a.tools or ()} | set(config.tools))
    if declared:
        lists: list[list[str] | None] = [declared]
        at = np.zeros(len(good), dtype=np.int64)
    else:
        offered = pl.DataFrame({"trace": sketch.trace, "place": sketch.frame["definitions"]}).drop_nulls()
        offered = offered.filter(pl.Series(~sketch.bad[offered["trace"].to_numpy()])).unique().sort("trace", "place")
        texts = Groups(good, offered["trace"].to_numpy()).offsets.tolist()
        places, tools, numbers = offered["place"].to_list(), by.to_list(), handed.offsets.tolist()
        found: dict[tuple[tuple[int, ...], frozenset[str]], int] = {}
        lists, chosen = [], []
        for i in range(len(good)):
            key = tuple(places[texts[i] : texts[i + 1]]), frozenset(tools[numbers[i] : numbers[i + 1]])
            if key not in found:
                found[key] = len(lists)
                names = names_of([sketch.side.definitions[place] for place in key[0]])
                lists.append(None if names is None else sorted(names - key[1]))
            chosen.append(found[key])
        at = np.array(chosen, dtype=np.int64)
    known = pl.Series(lists, dtype=pl.List(pl.String)).gather(at)
    source = pl.select(pl.when(known.is_not_null()).then(pl.lit("declared" if declared else "offered"))).to_series()
    return known, source


def _conversations(sketch: Sketch, good: Ints) -> pl.Series:
    """The root's, else that of the first agent or model call that has one, else of the first span that has one."""
    conversation = sketch.frame["conversation"]
    told = np.flatnonzero((conversation.fill_null("") != "").to_numpy())
    nowhere = sketch.frame.height
    place = np.full(len(sketch.bad), nowhere, dtype=np.int64)
    np.minimum.at(place, sketch.trace[told], told)
    steps = told[np.isin(sketch.kind[told], (AGENT_, LLM_))]
    first = np.full(len(sketch.bad), nowhere, dtype=np.int64)
    np.minimum.at(first, sketch.trace[steps], steps)
    place = np.where(first < nowhere, first, place)
    roots = told[sketch.root[sketch.trace[told]] == told]
    place[sketch.trace[roots]] = roots
    at = pl.Series(place[good])
    return conversation.gather(at.set(at == nowhere, None))


def _working(*parts: tuple[Ints, pl.Series], runs: int) -> pl.Series:
    """The agents that do something in each run."""
    every = pl.concat([pl.DataFrame({"run": run, "agent": names}) for run, names in parts])
    every = every.unique().sort("run", "agent")
    return Groups(np.arange(runs), every["run"].to_numpy()).lists(every["agent"])


def _paths(sketch: Sketch, models: Models, calls: Calls, good: Ints) -> pl.Series:
    """Steps in time, each of the calls that one answer asked for; equal ones in a row are one."""
    kept = np.flatnonzero(~sketch.bad[calls.trace])
    model = calls.model[kept]
    labels = pl.DataFrame(
        {
            "run": np.searchsorted(good, calls.trace[kept]),
            "end": sketch.taken("end", models.at[model]),
            "model": model,
            "label": _labels(sketch, calls).gather(kept),
        }
    )
    labels = labels.unique().sort("run", "end", "model", "label")
    labels = labels.with_columns(step=pl.struct("run", "model").rle_id())
    steps = labels.group_by("step", maintain_order=True).agg(pl.first("run"), text=pl.col("label").str.join("\n"))
    streaks = steps.with_columns(streak=pl.struct("run", "text").rle_id()).with_columns(
        again=pl.len().over("streak") > 1, first=pl.col("streak").is_first_distinct()
    )
    labels = labels.with_columns(streaks.select("again", "first", "streak").select(pl.all().gather(labels["step"])))
    labels = labels.filter("first").with_columns(
        pl.when("again").then(pl.format("{}+", "label")).otherwise("label").alias("label")
    )
    first = streaks.filter("first")
    inner = Groups(first["streak"].to_numpy(), labels["streak"].to_numpy()).lists(labels["label"])
    return Groups(np.arange(len(good)), first["run"].to_numpy()).lists(inner)


def _labels(sketch: Sketch, calls: Calls) -> pl.Series:
    frame = pl.DataFrame(
        {"agent": calls.agent, "name": calls.name, "to": calls.target, "failed": sketch.failed[calls.at]}
    )
    ran = pl.format("{}/{}", "agent", "name") + pl.when("failed").then(pl.lit("!")).otherwise(pl.lit(""))
    return frame.select(
        pl.when(pl.col("to").is_null()).then(ran).otherwise(pl.format("{}->{}", "agent", "to"))
    ).to_series()


def _unexplained(sketch: Sketch, good: Ints) -> pl.Series:
    """Spans that no dialect explains, by scope."""
    odd = pl.DataFrame({"trace": sketch.trace, "scope": sketch.frame["scope"]}).filter(sketch.frame["kind"].is_null())
    odd = odd.filter(pl.Series(~sketch.bad[odd["trace"].to_numpy()]))
    counted = odd.group_by("trace", "scope").len("spans").sort("trace", "scope")
    return Groups(good, counted["trace"].to_numpy()).lists(counted.select("scope", "spans").to_struct())


__all__ = ["AGENT_", "LLM_", "NONE_", "TOOL_", "Sketch", "rows"]
