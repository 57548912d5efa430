"""The run rows of regular traces, straight from columns: see regular.py for what regular means."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from otelcov.ground import columns
from otelcov.ground.columns import Groups
from otelcov.ground.config import BOUNDARIES, Config
from otelcov.ground.masks import missing, true
from otelcov.ground.schemas import DELEGATION, RUNS, signed
from otelcov.runs.agents.delegation import bare, ways
from otelcov.runs.joining.join import Joints
from otelcov.runs.shortcut.broken import check_broken
from otelcov.runs.shortcut.contentless import ask_by_time
from otelcov.runs.shortcut.outcomes import Outcomes
from otelcov.runs.shortcut.requested import Calls, calls_of
from otelcov.runs.shortcut.shown import check_shown
from otelcov.runs.shortcut.sketch import (
    AGENT_,
    LLM_,
    TOOL_,
    Bools,
    Ints,
    Models,
    Sketch,
    check_agents,
    models_of,
    texts_of,
)
from otelcov.runs.shortcut.step_rows import handed_over, llm_calls, paths, repeated, tool_calls
from otelcov.runs.shortcut.waiting import Asked
from otelcov.runs.whole.offered import names_of
from otelcov.runs.whole.unknowns import NO_ROOT, told


def rows(sketch: Sketch, config: Config, now_ns: int, where: Joints) -> pl.DataFrame:
    """RUNS rows of the traces that are not bad; `sketch.bad` marks more of them on the way."""
    check_agents(sketch, where)
    models = models_of(sketch)
    ask_by_time(sketch, models)
    failures = check_broken(sketch, models)
    texts = texts_of(sketch, models)
    calls = calls_of(sketch, models)
    check_shown(sketch, models)
    outcomes = Outcomes(sketch, models, calls, config)
    found = _runs(sketch, models, calls, outcomes, texts, failures, config, now_ns)
    cut, hushed = (flags[~sketch.bad] for flags in (sketch.headless, sketch.contentless))
    parts = [found.filter(pl.Series(~cut & ~hushed))] if cut.any() or hushed.any() else [found]
    if cut.any():
        parts.append(_open(found, cut, sketch, models, calls.open, config, now_ns))
    if hushed.any():
        parts.append(told(found.filter(pl.Series(hushed))))
    return pl.concat(parts)


def _open(
    found: pl.DataFrame, cut: Bools, sketch: Sketch, models: Models, asked: Asked, config: Config, now_ns: int
) -> pl.DataFrame:
    """Of these rows those whose root has not come, and what that leaves unknown."""
    good = np.flatnonzero(~sketch.bad)
    agents = np.bincount(sketch.trace[sketch.kind == AGENT_], minlength=len(sketch.bad))[good] > 0
    last = np.zeros(len(sketch.bad), dtype=np.int64)
    last[models.trace] = np.arange(len(models.at))
    asking = np.zeros(len(models.at), dtype=bool)
    asking[models.said.asked_by] = True
    others = sketch.above[models.at] >= 0
    silent = (np.array([not text for text in models.said.text], dtype=bool) | others)[last[good]]
    pending = asking[last[good]]
    orphans = np.bincount(sketch.trace[sketch.above == -1], minlength=len(sketch.bad))[good]
    calling = np.zeros(len(sketch.bad), dtype=bool)
    calling[asked.trace[asked.calling]] = True
    whole = (sketch.gaps[good] < 2) & ~calling[good]  # else one may be an agent that another called (see assemble)
    marks = pl.DataFrame(
        {"_whole": whole, "_agents": agents, "_pending": pending, "_silent": silent, "_orphans": orphans}
    )
    ended = pl.when(pl.col("_pending") | pl.col("_silent")).then(pl.lit("unknown")).otherwise(pl.lit("ok"))
    nobody = pl.col("agents").list.len() == 0
    shown = (pl.col("agents").list.len() == 1) | (~nobody & pl.col("_agents"))  # assemble: where delegations are seen
    blind = {
        "max_steps": ~pl.col("_agents") | pl.col("_pending"),
        "cost_limit": ~pl.col("_agents") | pl.col("_pending"),
        "error": ~pl.col("_agents"),
        **{name: pl.col("boundaries_unknown").list.contains(name) | to_come for name, to_come in _ANYWAY.items()},
    }
    reasons = {
        NO_ROOT: pl.lit(True),
        "what came last is not visible": pl.col("_pending"),
        "no agent name": nobody,
    }
    open_ = pl.concat([found, marks], how="horizontal").filter(pl.Series(cut))
    open_ = open_.with_columns(
        settled=now_ns - signed("end_unix_nano") >= config.runs.settle_ns,
        status=ended,
        orphans=pl.col("_orphans").cast(RUNS["orphans"]),
        delegations=pl.when((pl.col("delegations").list.len() > 0) | (shown & pl.col("_whole"))).then("delegations"),
        boundaries_unknown=_named(blind),
        incomplete=pl.concat_list("incomplete", _named(reasons)),
    )
    return told(open_.select(RUNS.names()).cast(RUNS))


_NEVER = pl.lit(value=False)
_ANYWAY = {
    **dict.fromkeys(("tool_failure", "tool_recovery"), _NEVER),
    "length": pl.col("_pending"),
    "repeated_call": _NEVER,
    "content_filter": pl.col("_pending"),
}
"""What would not be told either if the root had come, and of what it is that an answer to come may tell."""


def _named(flags: dict[str, pl.Expr]) -> pl.Expr:
    """The names whose flag is set, in order."""
    return pl.concat_list([pl.when(flag).then(pl.lit(name)) for name, flag in flags.items()]).list.drop_nulls()


@dataclass(slots=True)
class _Work:
    """What was done in the traces that are not bad, and which of these, by its place, each item is of."""

    good: Ints  # numbers of traces
    model: Ints  # numbers of their model calls
    llm: pl.DataFrame  # which are these
    of_models: Groups
    tool: Ints  # numbers of their tool calls
    of_tools: Groups
    handed: pl.DataFrame  # delegations
    of_handed: Groups

    @classmethod
    def of(cls, sketch: Sketch, models: Models, calls: Calls, outcomes: Outcomes) -> _Work:
        good = np.flatnonzero(~sketch.bad)
        model = np.flatnonzero(~sketch.bad[models.trace])
        tool = np.flatnonzero(~sketch.bad[outcomes.trace])
        handed = handed_over(sketch, models, calls)
        of_models, of_tools = Groups(good, models.trace[model]), Groups(good, outcomes.trace[tool])
        of_handed = Groups(good, handed["trace"].to_numpy())
        return cls(good, model, llm_calls(sketch, models, model), of_models, tool, of_tools, handed, of_handed)


def _runs(
    sketch: Sketch,
    models: Models,
    calls: Calls,
    outcomes: Outcomes,
    texts: tuple[list[str | None], list[str | None]],
    failures: dict[str, Bools],
    config: Config,
    now_ns: int,
) -> pl.DataFrame:
    frame, work = sketch.frame, _Work.of(sketch, models, calls, outcomes)
    good, tool, llm, handed = work.good, work.tool, work.llm, work.handed
    root, torn, hushed = sketch.root[good], sketch.torn[good], sketch.contentless[good]
    identities = [trace.hex() for trace in frame["trace_id"][root].to_list()]
    spoken = [texts[0][t] for t in good.tolist()]
    seen = _seen(sketch, calls, outcomes, work, failures, spoken)
    unknown = _unknown(sketch, calls, outcomes, work, seen)
    names = [name for name in BOUNDARIES if name in seen]
    blind = [name for name in BOUNDARIES if name in unknown]
    working = _working(
        (work.of_models.of, llm["agent"]),
        (work.of_tools.of, calls.agent[outcomes.number[tool]]),
        (work.of_handed.of, handed["to"]),
        runs=len(good),
    )
    known, source = _known(sketch, good, work.of_handed, (handed["tool"], handed["to"]), working, config)
    ended = np.append(sketch.first[1:], frame.height)[good]
    no_tokens, no_model = _not_reported(work)
    broken = sketch.broken[sketch.top[good]]
    unended = sketch.cut[good] & hushed  # neither an answer nor the end of all that framed it is told
    last = pl.Series(np.maximum.reduceat(frame["end"].to_numpy(), sketch.first)[good])
    out: dict[str, pl.Series] = {
        "run_id": pl.Series(
            [
                hashlib.sha256(trace.encode() + span).digest()[:16].hex()
                for trace, span in zip(identities, frame["span_id"][root].to_list(), strict=True)
            ],
            dtype=pl.String,
        ),
        "trace_ids": Groups(good, good).lists(pl.Series(identities, dtype=pl.String)),
        "conversation_id": _conversations(sketch, good),
        **{name: _told_by(frame[name], sketch.work[good], root) for name in ("service", "environment", "release")},
        "scope": frame["scope"][models.at[work.model[work.of_models.offsets[:-1]]]],
        "start_unix_nano": pl.Series(np.minimum.reduceat(frame["start"].to_numpy(), sketch.first)[good]),
        "end_unix_nano": last,
        "settled": pl.Series(~torn) | (now_ns - last.cast(pl.Int64) >= config.runs.settle_ns),
        "input": pl.Series(spoken, dtype=pl.String),
        "output": pl.Series([texts[1][t] for t in good.tolist()], dtype=pl.String),
        "agents": working,
        "known_tools": known,
        "known_tools_source": source,
        "tool_calls": tool_calls(good, sketch, models, calls, outcomes, tool),
        "llm_calls": work.of_models.lists(llm.to_struct()),
        "delegations": work.of_handed.lists(handed.select(f.name for f in DELEGATION.fields).to_struct()),
        "boundaries": columns.subsets(names, [seen[name] for name in names]),
        "boundaries_unknown": columns.subsets(blind, [unknown[name] for name in blind]),
        "path": paths(sketch, models, calls, good),
        "states": work.of_tools.lists(outcomes.states[tool]),
        "incomplete": columns.subsets(
            (NO_ROOT, "model not reported", "tokens not reported"), [torn, no_model, no_tokens]
        ),
        "status": pl.Series(["ok", "error", "unknown"])[np.where(broken, 1, 2 * unended)],
        "spans": pl.Series(ended - sketch.first[good]),
        "orphans": pl.Series(torn).cast(pl.Int64),
        "unexplained": _unexplained(sketch, good),
    }
    constant = {"dropped_attributes": 0, "masked": 0, "weight": 1.0}
    return pl.DataFrame(out).select(
        pl.col(name).cast(kind) if name in out else pl.lit(constant.get(name), kind).alias(name)
        for name, kind in RUNS.items()
    )


def _seen(
    sketch: Sketch,
    calls: Calls,
    outcomes: Outcomes,
    work: _Work,
    failures: dict[str, Bools],
    spoken: list[str | None],
) -> dict[str, Bools]:
    """Which runs show each boundary; `spoken` is what they were asked."""
    good, hushed = work.good, sketch.contentless[work.good]
    failed = np.zeros(len(sketch.bad), dtype=bool)
    failed[sketch.trace[sketch.failed & (sketch.kind == TOOL_)]] = True
    return {
        "empty_input": np.array([text is not None and not text.strip() for text in spoken], dtype=bool),
        "tool_failure": failed[good],
        "tool_recovery": np.isin(good, sorted(outcomes.recovered)),
        "repeated_call": repeated(calls, outcomes, work.tool, len(sketch.bad))[good] & ~hushed,
        **{name: traces[good] for name, traces in failures.items()},
    }


def _unknown(sketch: Sketch, calls: Calls, outcomes: Outcomes, work: _Work, seen: dict[str, Bools]) -> dict[str, Bools]:
    """Which runs do not tell whether they met each boundary, of those that not all of them tell."""
    cut, hushed = sketch.cut[work.good], sketch.contentless[work.good]
    unsaid, well = work.llm["finish_reason"].is_null().to_numpy(), (work.llm["status"] == "ok").to_numpy()
    no_finish = work.of_models.every(unsaid) | (unsaid & well)[work.of_models.offsets[1:] - 1]
    failed = sketch.failed[calls.at[outcomes.number[work.tool]]]
    well_done = hushed & work.of_tools.any(~failed) & ~seen["tool_failure"]
    open_, often = calls.open, np.zeros(len(work.good), dtype=bool)
    asked = np.flatnonzero(~open_.handed & ~sketch.bad[open_.trace])
    if len(asked):
        well_done |= np.isin(work.good, open_.trace[asked]) & ~seen["tool_failure"]
        often = repeated(calls, outcomes, work.tool, len(sketch.bad), asked)[work.good] & ~seen["repeated_call"]
    return {
        "max_steps": cut | hushed,
        "timeout": cut & ~seen["timeout"],
        "cost_limit": cut | hushed,
        "error": cut & ~seen["error"],
        "length": no_finish,
        "content_filter": no_finish & ~seen["content_filter"],
        "empty_input": hushed,
        "tool_failure": well_done,
        "tool_recovery": well_done,
        "repeated_call": (often & ~hushed) | (hushed & (np.diff(work.of_tools.offsets) > 0)),
    }


def _not_reported(work: _Work) -> tuple[Bools, Bools]:
    """The runs with a model call that went well without tokens, and with one without a model."""
    lacking = work.llm.select(
        tokens=pl.any_horizontal(pl.col("input_tokens", "output_tokens").is_null()) & (pl.col("status") == "ok"),
        model=pl.all_horizontal(pl.col("request_model", "response_model").is_null()),
    )
    return work.of_models.any(lacking["tokens"].to_numpy()), work.of_models.any(lacking["model"].to_numpy())


def _known(
    sketch: Sketch, good: Ints, handed: Groups, by: tuple[pl.Series, pl.Series], agents: pl.Series, config: Config
) -> tuple[pl.Series, pl.Series]:
    """Known tools of each run and where they are known from: declared, else offered and no way to delegate."""
    declared = sorted({t for a in config.agents.values() for t in a.tools or ()} | set(config.tools))
    if declared:
        lists: list[list[str] | None] = [declared]
        at = np.zeros(len(good), dtype=np.int64)
    else:
        telling = np.flatnonzero(~missing(sketch.frame["definitions"]) & ~sketch.bad[sketch.trace])
        offered = pl.DataFrame({"trace": sketch.trace[telling], "place": sketch.frame["definitions"][telling]})
        offered = offered.unique().sort("trace", "place")
        texts = Groups(good, offered["trace"].to_numpy()).offsets.tolist()
        places, numbers = offered["place"].to_list(), handed.offsets.tolist()
        tools, targets = by[0].to_list(), by[1].to_list()
        working = agents.to_list()
        found: dict[tuple[tuple[Any, ...], ...], int] = {}
        lists, chosen = [], []
        for i in range(len(good)):
            some = slice(numbers[i], numbers[i + 1])
            key = tuple(places[texts[i] : texts[i + 1]]), tuple(tools[some]), tuple(targets[some]), tuple(working[i])
            if key not in found:
                found[key] = len(lists)
                names = names_of([sketch.side.definitions[place] for place in key[0]])
                if names is not None:
                    to = {bare(name) for name in key[2] if name}
                    names = {n for n in names.difference(key[1]) - ways(names, key[3]) if bare(n) not in to}
                lists.append(None if names is None else sorted(names))
            chosen.append(found[key])
        at = np.array(chosen, dtype=np.int64)
    known = pl.Series(lists, dtype=pl.List(pl.String))[at]
    source = pl.select(pl.when(known.is_not_null()).then(pl.lit("declared" if declared else "offered"))).to_series()
    return known, source


def _told_by(texts: pl.Series, who: Ints, otherwise: Ints) -> pl.Series:
    found = texts[who]
    return pl.select(pl.coalesce(found, texts[otherwise])).to_series() if found.null_count() else found


def _conversations(sketch: Sketch, good: Ints) -> pl.Series:
    """The root's, else that of the first agent or model call that has one, else of the first span that has one."""
    conversation = sketch.frame["conversation"]
    told = np.flatnonzero(true(conversation != ""))
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
    every = every.drop_nulls().unique().sort("run", "agent")
    return Groups(np.arange(runs), every["run"].to_numpy()).lists(every["agent"])


def _unexplained(sketch: Sketch, good: Ints) -> pl.Series:
    """Spans that no dialect explains, by scope."""
    some = np.flatnonzero(missing(sketch.frame["kind"]) & ~sketch.bad[sketch.trace])
    odd = pl.DataFrame({"trace": sketch.trace[some], "scope": sketch.frame["scope"][some]})
    counted = odd.group_by("trace", "scope").len("spans").sort("trace", "scope")
    return Groups(good, counted["trace"].to_numpy()).lists(counted.select("scope", "spans").to_struct())


__all__ = ["rows"]
