"""What the run rows of regular traces tell of their steps: model calls, tool calls, delegations, paths."""

from __future__ import annotations

import numpy as np
import polars as pl

from otelcov.ground.columns import Groups, begins, lists
from otelcov.ground.schemas import TOOL_CALL
from otelcov.runs.shortcut.outcomes import Outcomes
from otelcov.runs.shortcut.requested import Calls
from otelcov.runs.shortcut.sketch import Bools, Ints, Models, Sketch
from otelcov.runs.shortcut.waiting import Asked


def llm_calls(sketch: Sketch, models: Models, which: Ints) -> pl.DataFrame:
    at = models.at[which]
    none = pl.lit(None, pl.String)
    unanswered = (pl.col("status") == "error") & (pl.col("response_model") == pl.col("request_model"))
    return pl.DataFrame(
        {
            "agent": sketch.owners(at),
            "request_model": sketch.taken("request_model", at),
            "response_model": sketch.taken("response_model", at),
            "input_tokens": sketch.taken("input_tokens", at),
            "output_tokens": sketch.taken("output_tokens", at),
            "status": pl.Series(["ok", "error"])[sketch.broken[at].astype(np.int64)],
            "finish_reason": pl.Series([models.said.finish[i] for i in which.tolist()], dtype=pl.String),
            "start_unix_nano": sketch.taken("start", at),
            "end_unix_nano": sketch.taken("end", at),
        }
    ).with_columns(
        pl.when(pl.col("request_model") != "").then("request_model").otherwise(none).alias("request_model"),
        pl.when((pl.col("response_model") != "") & ~unanswered.fill_null(False))
        .then("response_model")
        .otherwise(none)
        .alias("response_model"),
    )


def tool_calls(good: Ints, sketch: Sketch, models: Models, calls: Calls, outcomes: Outcomes, which: Ints) -> pl.Series:
    """The tool calls of each run as they were asked for, those among them that have not ended."""
    ran = _ran(sketch, models, calls, outcomes, which)
    some = np.flatnonzero(~sketch.bad[calls.open.trace] & ~calls.open.handed)
    if not len(some):
        return Groups(good, outcomes.trace[which]).lists(ran)
    place = np.concatenate([calls.place[outcomes.number[which]], calls.open.place[some]])
    trace = np.concatenate([outcomes.trace[which], calls.open.trace[some]])
    order = np.argsort(place)
    every = pl.concat([ran.cast(TOOL_CALL), _asked(sketch, models, calls.open, some)])
    return Groups(good, trace[order]).lists(every[order])


def _asked(sketch: Sketch, models: Models, asked: Asked, which: Ints) -> pl.Series:
    ended = sketch.taken("end", models.at[asked.model[which]])
    told = {
        "name": asked.name[which],
        "arguments": asked.arguments[which],
        "call_id": pl.Series([models.said.ids[i] for i in asked.place[which].tolist()], dtype=pl.String),
        "turn": models.turn[asked.model[which]],
        "start_unix_nano": ended,
        "end_unix_nano": ended,
    }
    constant = {"status": pl.lit("unknown"), "evidence": pl.lit(pl.Series([["message"]])).first()}
    rows = pl.DataFrame(told).with_columns(**constant)
    rows = rows.with_columns(pl.lit(None).alias(f.name) for f in TOOL_CALL.fields if f.name not in rows.columns)
    return rows.select(f.name for f in TOOL_CALL.fields).to_struct().cast(TOOL_CALL)


def _ran(sketch: Sketch, models: Models, calls: Calls, outcomes: Outcomes, which: Ints) -> pl.Series:
    number = outcomes.number[which]
    at = calls.at[number]
    failed = pl.Series(sketch.failed[at])
    some = which.tolist()
    evidence: pl.Expr = pl.lit(pl.Series([["span", "message"]])).first()
    if sketch.contentless.any():
        alone = sketch.contentless[outcomes.trace[which]].astype(np.int64)
        evidence = pl.lit(pl.Series([["span", "message"], ["span"]])[alone])
    return (
        pl.DataFrame(
            {
                "name": calls.name[number],
                "agent": calls.agent[number],
                "failed": failed,
                "error_type": pl.Series([outcomes.types[i] for i in some], dtype=pl.String),
                "arguments": outcomes.arguments[which],
                "result": outcomes.results[which],
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
            evidence.alias("evidence"),
            "start_unix_nano",
            "end_unix_nano",
        )
        .to_struct()
    )


def handed_over(sketch: Sketch, models: Models, calls: Calls) -> pl.DataFrame:
    """The delegations of each trace in time; of those that have not ended, not always to whom."""
    ran = np.flatnonzero((calls.child >= 0) & ~sketch.bad[calls.trace])
    at, asked = calls.at[ran], calls.open
    some = np.flatnonzero(asked.handed & ~sketch.bad[asked.trace])
    parts = [
        pl.DataFrame(
            {
                "trace": calls.trace[ran],
                "at": at,
                "start": sketch.taken("start", at),
                "from": calls.agent[ran],
                "to": calls.target[ran],
                "tool": calls.name[ran],
                "status": pl.Series(["ok", "error"])[sketch.failed[calls.child[ran]].astype(np.int64)],
            }
        ).with_columns(form=pl.lit("tool"))
    ]
    if len(some):
        asking = models.at[asked.model[some]]
        waiting = pl.DataFrame(
            {
                "trace": asked.trace[some],
                "at": asking,
                "start": sketch.taken("end", asking),
                "to": pl.Series([asked.target[i] for i in some.tolist()], dtype=pl.String),
                "tool": asked.name[some],
            }
        )
        known = pl.col("to").is_not_null()
        parts.append(
            waiting.with_columns(
                status=pl.when(known).then(pl.lit("ok")).otherwise(pl.lit("unknown")),
                form=pl.when(known).then(pl.lit("handoff")).otherwise(pl.lit("tool")),
            )
        )
    found = pl.concat(parts, how="diagonal").sort(
        "trace", "start", pl.col("from", "to").fill_null(""), "at", maintain_order=True
    )
    return found.with_columns(pl.col("from", "to").cast(pl.String))


def repeated(calls: Calls, outcomes: Outcomes, which: Ints, traces: int, asked: Ints | None = None) -> Bools:
    """The traces that called a tool three times with the same arguments, or may have: with what was asked for."""
    open_, some = calls.open, np.zeros(0, dtype=np.int64) if asked is None else asked
    equal = pl.DataFrame(
        {
            "trace": np.concatenate([outcomes.trace[which], open_.trace[some]]),
            "name": pl.concat([calls.name[outcomes.number[which]], open_.name[some]]),
            "arguments": pl.concat([outcomes.arguments[which], open_.arguments[some]]),
        }
    )
    often = equal.group_by("trace", "name", "arguments").len().filter(pl.col("len") >= 3)["trace"]
    found = np.zeros(traces, dtype=bool)
    found[often.to_numpy()] = True
    return found


def paths(sketch: Sketch, models: Models, calls: Calls, good: Ints) -> pl.Series:
    """Steps in time, each of the calls that one answer asked for; equal ones in a row are one."""
    kept = np.flatnonzero(~sketch.bad[calls.trace])
    asked = calls.open
    waiting = np.flatnonzero(~sketch.bad[asked.trace])
    over = [f"?->{asked.target[i] or '?'}" if asked.handed[i] else f"?/{asked.name[i]}" for i in waiting.tolist()]
    model = np.concatenate([calls.model[kept], asked.model[waiting]])
    labels = pl.DataFrame(
        {
            "run": np.searchsorted(good, models.trace[model]),
            "end": sketch.taken("end", models.at[model]),
            "model": model,
            "label": pl.concat([_labels(sketch, calls)[kept], pl.Series(over, dtype=pl.String)]),
        }
    )
    labels = labels.unique().sort("run", "end", "model", "label")
    run, text = labels["run"].to_numpy(), labels["label"]
    begin = begins(run, labels["model"].to_numpy())
    step, at = np.cumsum(begin) - 1, np.flatnonzero(begin)  # of each label, its step; of each step, its first label
    steps = lists(np.append(at, len(run)), text).list.join("\n")
    new = begins(run[at], steps.rle_id().to_numpy())  # a step that is not the one before it again
    streak = np.cumsum(new) - 1
    again = np.bincount(streak)[streak] > 1
    shown = np.flatnonzero(new[step])
    text = pl.select(pl.concat_str(text[shown], pl.Series(["", "+"])[again[step[shown]].astype(np.int64)])).to_series()
    inner = Groups(np.arange(new.sum()), streak[step[shown]]).lists(text)
    return Groups(np.arange(len(good)), run[at[new]]).lists(inner)


def _labels(sketch: Sketch, calls: Calls) -> pl.Series:
    frame = pl.DataFrame(
        {"agent": calls.agent, "name": calls.name, "to": calls.target, "failed": sketch.failed[calls.at]}
    )
    agent = pl.col("agent").fill_null("?")
    ran = pl.format("{}/{}", agent, "name") + pl.when("failed").then(pl.lit("!")).otherwise(pl.lit(""))
    return frame.select(
        pl.when(pl.col("to").is_null()).then(ran).otherwise(pl.format("{}->{}", agent, "to"))
    ).to_series()


__all__ = ["handed_over", "llm_calls", "paths", "repeated", "tool_calls"]
