"""The shortcut for the most regular traces: same runs, without building a tree.

Most traces of a well-instrumented agent say everything once and in one place: agents, model calls below agents, tools
below agents, a delegated agent below the tool that called it; every request has an id that exactly one tool span
carries. For these the general way - trees, evidence, joining - can only find what the columns already say. Whatever
is not exactly of this form is left to the general way, and a test holds both to equal rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from otelcov.dialects.base import AGENT, LLM, OTHER, TOOL
from otelcov.ground.config import Config
from otelcov.runs import boundaries as b
from otelcov.runs import messages as m
from otelcov.runs.assemble import ANSWERS, shape
from otelcov.runs.delegations import BY_ARGUMENT, TO
from otelcov.runs.joining import Joints, called_by_name
from otelcov.runs.models import finish_reason
from otelcov.runs.offered import names_of
from otelcov.runs.softerrors import plain, soft_error
from otelcov.runs.spans import Side, Span
from otelcov.runs.tree import USUAL_LIMITS, Node, failure, placeholder

Row = dict[str, Any]
_NONE, _AGENT, _LLM, _TOOL = 0, 1, 2, 3
_CODES = {AGENT: _AGENT, LLM: _LLM, TOOL: _TOOL, OTHER: _NONE}
_EVIDENCE = ["span", "message"]
_HOPS = 24  # how deep unexplained spans may stack between two steps


def regular(frame: pl.DataFrame, side: Side, config: Config, where: Joints) -> tuple[list[Row], npt.NDArray[np.bool_]]:
    """Rows of the regular traces in a span table (spans.table, sorted), and which spans belong to the others."""
    height = frame.height
    if not height:
        return [], np.zeros(0, dtype=bool)
    trace = frame["trace_id"].rle_id().to_numpy()
    count = int(trace[-1]) + 1
    bad = np.zeros(count, dtype=bool)
    rows = frame["row"].to_numpy()

    def spoil(mask: npt.NDArray[np.bool_]) -> None:
        bad[trace[mask]] = True

    kind = frame.select(pl.col("kind").replace_strict(_CODES, default=-1, return_dtype=pl.Int8).fill_null(0)).to_series().to_numpy()
    kind = np.where(frame["kind"].is_null().to_numpy(), _NONE, kind)
    spoil(_odd(frame).to_numpy())
    spoil(kind < 0)
    thrown = _rows_in(side.exceptions, rows)
    failed = (frame["status_code"].to_numpy() == 2) | thrown
    spoil(failed & (kind != _TOOL) & ((kind != _NONE) | frame["parent_span_id"].is_null().to_numpy()))
    for table in (side.events, side.links, side.resource_case, *side.families.values()):
        if table:
            spoil(_rows_in(table, rows))
    parent = _parents(frame, trace)
    spoil(parent == -2)
    roots = parent == -1
    bad |= np.bincount(trace[roots], minlength=count) != 1
    if where.linked:
        bad |= np.isin(trace, trace[frame["trace_id"].is_in(pl.Series(sorted(where.linked)).implode()).to_numpy()])[np.searchsorted(trace, np.arange(count))]
    above = _nearest(parent, kind, spoil)
    first = np.searchsorted(trace, np.arange(count))
    root_at = np.full(count, -1)
    root_at[trace[roots]] = np.flatnonzero(roots)
    bad |= kind[root_at] != _AGENT
    agent = frame["agent"].to_list()
    agent_code = frame.select(pl.col("agent").cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1)).to_series().to_numpy()
    is_agent, is_llm, is_tool = kind == _AGENT, kind == _LLM, kind == _TOOL
    safe = np.maximum(above, 0)
    spoil(is_agent & frame["agent"].is_null().to_numpy())
    spoil((is_llm | is_tool) & ((above < 0) | (kind[safe] != _AGENT)))
    spoil(is_agent & ~roots & ((above < 0) | (kind[safe] != _TOOL)))
    stamped = (is_llm | is_tool) & (agent_code >= 0)
    spoil(stamped & (agent_code != agent_code[safe]))
    children = np.bincount(above[is_agent & (above >= 0)], minlength=height)
    spoil(children > 1)
    spoil(is_tool & frame.select(pl.col("call_id").is_null() | pl.col("tool").is_null()).to_series().to_numpy())
    spoil(is_tool & ~failed & frame["result"].is_null().to_numpy())
    scopes = frame.select(pl.col("scope").cast(pl.Categorical).to_physical()).to_series().to_numpy().astype(np.int64)
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(low, trace[is_llm], scopes[is_llm])
    np.maximum.at(high, trace[is_llm], scopes[is_llm])
    bad |= (high < 0) | (low != high)  # no model call, or two layers of them
    longest = frame["longest"].to_numpy()
    peak = np.zeros(count, dtype=np.int64)
    np.maximum.at(peak, trace, longest.astype(np.int64))
    at_peak = np.bincount(trace[longest == peak[trace]], minlength=count)
    bad |= (at_peak > 1) & np.isin(peak, USUAL_LIMITS)
    if bad.all():
        return [], np.ones(height, dtype=bool)
    out, spoiled = _rows(frame, side, config, where, trace, kind, above, first, root_at, agent, bad)
    for t in spoiled:
        bad[t] = True
    return out, bad[trace]


def _odd(frame: pl.DataFrame) -> pl.Series:
    """Spans that carry anything the shortcut does not weigh."""
    null = ("trace_state", "sampling", "tool_error", "from_agent", "to_agent", "error_text", "case")
    return frame.select(
        pl.any_horizontal(
            *(pl.col(c).is_not_null() for c in null),
            pl.col("dropped") > 0,
            pl.col("masked") > 0,
            pl.col("cut") > 0,
            "forced",
            pl.col("start") == 0,
            pl.col("end") < pl.col("start"),
            (pl.col("kind") == LLM) & (pl.col("tool").is_not_null() | pl.col("call_id").is_not_null()),
        )
    ).to_series()


def _rows_in(table: dict[int, Any], rows: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.isin(rows, np.fromiter(table, dtype=np.int64, count=len(table))) if table else np.zeros(len(rows), dtype=bool)


def _parents(frame: pl.DataFrame, trace: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Position of each span's parent; -1 for a root, -2 where the parent is missing (or the span itself)."""
    spans = frame.select("span_id", "parent_span_id").with_columns(trace=pl.Series(trace), at=pl.int_range(frame.height, dtype=pl.Int64))
    joined = spans.join(spans.select("trace", parent_span_id="span_id", parent="at"), on=["trace", "parent_span_id"], how="left", maintain_order="left")
    found = joined.select(pl.when(pl.col("parent_span_id").is_null()).then(-1).otherwise(pl.col("parent").fill_null(-2)).cast(pl.Int64)).to_series().to_numpy()
    return np.where(found == np.arange(len(found)), -2, found)


def _nearest(parent: npt.NDArray[np.int64], kind: npt.NDArray[Any], spoil: Any) -> npt.NDArray[np.int64]:
    """The nearest ancestor that is a step."""
    above = parent.copy()
    for _ in range(_HOPS):
        hop = (above >= 0) & (kind[np.maximum(above, 0)] == _NONE)
        if not hop.any():
            return above
        above[hop] = parent[above[hop]]
    spoil((above >= 0) & (kind[np.maximum(above, 0)] == _NONE))
    return above


class _Call:
    """A tool call of a regular trace: the position of its span, and who asked."""

    __slots__ = ("agent", "arguments", "at", "delegate", "name", "turn")

    def __init__(self, at: int, name: str, agent: str, turn: int, arguments: Any, delegate: str | None) -> None:
        self.at, self.name, self.agent, self.turn, self.arguments, self.delegate = at, name, agent, turn, arguments, delegate


def _rows(
    frame: pl.DataFrame,
    side: Side,
    config: Config,
    where: Joints,
    trace: npt.NDArray[Any],
    kind: npt.NDArray[Any],
    above: npt.NDArray[np.int64],
    first: npt.NDArray[Any],
    root_at: npt.NDArray[Any],
    agent: list[str | None],
    bad: npt.NDArray[np.bool_],
) -> tuple[list[Row], list[int]]:
    columns = {c: frame[c].to_list() for c in ("trace_id", "span_id", "start", "end", "tool", "call_id", "result", "output_messages", "finish", "request_model", "response_model", "input_tokens", "output_tokens", "input", "output", "definitions", "conversation", "service", "environment", "release", "scope", "status_code", "row", "name", "kind")}
    start, end, tool, call_id, result = columns["start"], columns["end"], columns["tool"], columns["call_id"], columns["result"]
    outputs, finishes, codes = columns["output_messages"], columns["finish"], columns["definitions"]
    has_input = frame.select(pl.int_range(pl.len()).alias("i")).with_columns(ok=side.texts["input_messages"].gather(frame["row"]).str.starts_with('[{"').fill_null(False))["ok"].to_list()
    kinds, tops = kind.tolist(), above.tolist()
    bounds = [*first.tolist(), frame.height]
    soft = tuple(config.runs.soft_errors)
    declared = sorted({t for a in config.agents.values() for t in a.tools or ()} | set(config.tools))
    offered: dict[frozenset[int], set[str] | None] = {}
    out: list[Row] = []
    spoiled: list[int] = []
    for t in np.flatnonzero(~bad).tolist():
        lo, hi = bounds[t], bounds[t + 1]
        root = int(root_at[t])
        row = _row(
            t, lo, hi, root, kinds, tops, agent, columns, start, end, tool, call_id, result, outputs, finishes, codes, has_input, side, soft, declared, offered, frame, where
        )
        if row is None:
            spoiled.append(t)
        else:
            out.append(row)
    return out, spoiled


def _row(
    t: int, lo: int, hi: int, root: int, kinds: list[int], tops: list[int], agent: list[str | None], columns: dict[str, list[Any]], start: list[int], end: list[int],
    tool: list[str | None], call_id: list[str | None], result: list[str | None], outputs: list[str | None], finishes: list[str | None], codes: list[int | None],
    has_input: list[bool], side: Side, soft: tuple[str, ...], declared: list[str], offered: dict[frozenset[int], set[str] | None], frame: pl.DataFrame, where: Joints,
) -> Row | None:
    """The run of one trace, or None: it is not as regular as it looked."""
    models: list[int] = []
    by_id: dict[str, int] = {}
    below: dict[int, int] = {}
    named: set[str] = set()
    for i in range(lo, hi):
        k = kinds[i]
        if k == _LLM:
            models.append(i)
        elif k == _TOOL:
            key = call_id[i]
            if key in by_id or "tool_call_id" in (result[i] or ""):
                return None
            by_id[key] = i  # type: ignore[index]
        elif k == _AGENT:
            name = agent[i]
            if placeholder(name):
                return None
            named.add(name)  # type: ignore[arg-type]
            if i != root:
                below[tops[i]] = i
    if where.hosted and called_by_name(agent[root], where):
        return None
    calls: list[_Call] = []
    llm_rows = []
    before = -1
    text: str | None = None
    ids = 0
    for turn, i in enumerate(models):
        if start[i] == before:
            return None
        before = start[i]
        raw = outputs[i]
        answer = m.semconv_messages(raw) if raw else None
        if answer is None or len(answer) != 1 or answer[0].role != "assistant" or not has_input[i]:
            return None
        message = answer[0]
        finish = finish_reason(finishes[i]) or message.finish_reason
        if finish and b.FINISH.get(finish.lower().rsplit(".", 1)[-1]):
            return None
        owner = agent[tops[i]]
        text = message.text
        if not message.requests and (text is None or "Action" in text or (finish is not None and finish.lower().startswith(("tool", "function")))):
            return None
        for request in message.requests:
            at = by_id.get(request.id or "")
            if at is None or request.name != tool[at] or agent[tops[at]] != owner or (end[i] > start[at] and False):
                return None
            ids += 1
            child = below.get(at)
            name = request.name or ""
            if child is None:
                if name in ANSWERS or TO.match(name) or name.lower().replace("_", "") in BY_ARGUMENT:
                    return None
            elif agent[child] == owner:
                return None
            calls.append(_Call(at, name, owner or "", turn, request.arguments, None if child is None else agent[child]))
        llm_rows.append(
            {
                "agent": owner,
                "request_model": columns["request_model"][i] or None,
                "response_model": columns["response_model"][i] or None,
                "input_tokens": columns["input_tokens"][i],
                "output_tokens": columns["output_tokens"][i],
                "status": "ok",
                "finish_reason": finish,
                "start_unix_nano": start[i],
                "end_unix_nano": end[i],
            }
        )
    if ids != len(by_id) or len({c.at for c in calls}) != ids or (calls and calls[-1].turn == len(models) - 1):
        return None
    spoken, said = _input(columns["input"][root]), _output(columns["output"][root], text)
    if spoken is None or said is None:
        return None
    tool_rows: list[Row] = []
    handed: list[tuple[int, str, str, str]] = []
    steps: list[tuple[int, int, list[str]]] = []  # (time of asking, turn, labels)
    states: list[str] = []
    failures: Counter[str] = Counter()
    recovered = False
    seen: set[str] = set()
    repeats: Counter[str] = Counter()
    blind = False
    for c in calls:
        at = c.at
        if c.delegate is not None:
            handed.append((start[at], c.agent, c.delegate, c.name))
            label = f"{c.agent}->{c.delegate}"
        else:
            found, rest = m.arguments(c.arguments)
            if found is None:
                if rest is not None or columns["row"][at] is None:
                    return None
                found = _span_arguments(frame, at)
                if found is None:
                    return None
            raw = result[at]
            if raw is None:  # the tool failed, and what the model saw stands in a later input
                raw = _seen(c, models, tops, agent, frame, side)
                if raw is None:
                    return None
            value, flagged = m.result(raw)
            status, error_kind, error_type = "ok", None, None
            if columns["status_code"][at] == 2 or columns["row"][at] in side.exceptions:
                node = Node(Span._make(frame.row(at)), side)
                failed = failure(node)
                if failed is None:
                    return None
                if node.span.error_type is None and not failed[0]:
                    return None
                status, error_kind, error_type = "error", "hard", failed[0]
                if error_type.startswith("<class"):
                    return None
            elif soft_error(value, flagged, soft):
                if flagged is None and plain(value):
                    status, error_kind = "ok", "soft"
                else:
                    status, error_kind = "error", "soft"
                return None  # rare, and its type is read from the text: the general way
            told = m.to_json(found)
            if status == "error":
                seen.add("tool_failure")
            elif failures[c.name]:
                recovered = True
            states.append(f"{c.agent}|{c.name}|{status}|{shape(value)}|{'2+' if failures[c.name] >= 2 else failures[c.name]}")
            failures[c.name] += status == "error"
            blind = blind or (status == "ok" and value is None)
            repeats[f"{c.name}\x00{told}"] += 1
            label = f"{c.agent}/{c.name}{'!' if status == 'error' else ''}"
            tool_rows.append(
                {
                    "name": c.name,
                    "agent": c.agent,
                    "status": status,
                    "error_kind": error_kind,
                    "error_type": error_type,
                    "arguments": told,
                    "arguments_text": None,
                    "result": None if value is None else m.to_json(value),
                    "call_id": call_id[at],
                    "turn": c.turn,
                    "evidence": _EVIDENCE,
                    "start_unix_nano": start[at],
                    "end_unix_nano": max(end[at], start[at]),
                }
            )
        if steps and steps[-1][1] == c.turn:
            steps[-1][2].append(label)
        else:
            steps.append((end[models[c.turn]], c.turn, [label]))
    if blind:
        return None
    if recovered:
        seen.add("tool_recovery")
    if any(n >= 3 for n in repeats.values()):
        seen.add("repeated_call")
    if not spoken.strip():
        seen.add("empty_input")
    working = {r["agent"] for r in llm_rows} | {r["agent"] for r in tool_rows} | {h[1] for h in handed} | {h[2] for h in handed}
    agents = sorted((named | working) - ({a for a in named if a not in working} if named & working else set()))
    handed.sort(key=lambda h: (h[0], h[1], h[2]))
    known: list[str] | None
    if declared:
        known, source = declared, "declared"
    else:
        group = frozenset(c for c in codes[lo:hi] if c is not None)
        if group not in offered:
            offered[group] = names_of([side.definitions[c] for c in sorted(group)])
        names = offered[group]
        known, source = (None, None) if names is None else (sorted(names - {h[3] for h in handed}), "offered")  # type: ignore[assignment]
    incomplete = ["tokens not reported"] if all(r["input_tokens"] is None for r in llm_rows) else []
    unexplained = Counter(columns["scope"][i] for i in range(lo, hi) if kinds[i] == _NONE and columns["kind"][i] is None)
    trace_id = columns["trace_id"][root].hex()
    blanks = None if any(f is not None for f in (r["finish_reason"] for r in llm_rows)) else ["length", "content_filter"]
    return {
        "run_id": hashlib.sha256(trace_id.encode() + columns["span_id"][root]).digest()[:16].hex(),
        "trace_ids": [trace_id],
        "conversation_id": _conversation(columns["conversation"], root, lo, hi, kinds),
        "case": None,
        "service": columns["service"][root],
        "environment": columns["environment"][root],
        "release": columns["release"][root],
        "start_unix_nano": min(start[lo:hi]),
        "end_unix_nano": max(end[lo:hi]),
        "settled": True,
        "status": "ok",
        "input": spoken,
        "output": said,
        "agents": agents,
        "known_tools": known,
        "known_tools_source": source,
        "tool_calls": tool_rows,
        "llm_calls": llm_rows,
        "delegations": [{"from": h[1], "to": h[2], "form": "tool", "tool": h[3], "status": "ok"} for h in handed],
        "boundaries": sorted(seen, key=b.NAMES.index),
        "boundaries_unknown": blanks or [],
        "path": _path(steps),
        "states": states,
        "incomplete": incomplete,
        "spans": hi - lo,
        "orphans": 0,
        "unexplained": [{"scope": s, "spans": n} for s, n in sorted(unexplained.items())],
        "dropped_attributes": 0,
        "masked": 0,
        "sampled": None,
        "weight": 1.0,
    }


def _seen(call: _Call, models: list[int], tops: list[int], agent: list[str | None], frame: pl.DataFrame, side: Side) -> Any:
    """What came back for a call, from the last input of the agent that asked."""
    last = next((i for i in reversed(models) if agent[tops[i]] == call.agent), None)
    raw = None if last is None else side.texts["input_messages"][frame["row"][last]]
    key = frame["call_id"][call.at]
    for message in m.semconv_messages(raw) or () if raw else ():
        for told in message.results:
            if told.id == key:
                return told.content
    return None


def _span_arguments(frame: pl.DataFrame, at: int) -> dict[str, Any] | None:
    raw = frame["arguments"][at]
    return m.arguments(raw)[0] if raw is not None else None


def _input(raw: str | None) -> str | None:
    """The newest user message, where the root's input is plainly a list of messages."""
    found = m.semconv_messages(raw) if raw else None
    if found is None:
        return None
    for x in reversed(found):
        if x.role == "user" and not x.results and x.text is not None:
            return m.own_words(x.text)
    return None


def _output(raw: str | None, text: str | None) -> str | None:
    """The root's answer, else the last model's."""
    if raw:
        found = m.semconv_messages(raw)
        if found is None or len(found) != 1 or found[0].text is None or found[0].role not in ("assistant", "user"):
            return None
        return m.final_answer(found[0].text)
    return m.final_answer(text)


def _conversation(conversations: list[str | None], root: int, lo: int, hi: int, kinds: list[int]) -> str | None:
    if conversations[root]:
        return conversations[root]
    top = next((c for i in range(lo, hi) if kinds[i] in (_AGENT, _LLM) and (c := conversations[i])), None)
    return top or next((c for c in conversations[lo:hi] if c), None)


def _path(steps: list[tuple[int, int, list[str]]]) -> list[list[str]]:
    out: list[list[str]] = []
    for _, _, labels in sorted(steps, key=lambda s: s[0]):
        step = sorted(set(labels))
        if out and [x.removesuffix("+") for x in out[-1]] == step:
            out[-1] = [f"{x}+" for x in step]
        else:
            out.append(step)
    return out
