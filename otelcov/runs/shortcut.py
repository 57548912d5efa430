"""The rows of regular traces, straight from columns: see regular.py for what regular means.

Every step here answers None as soon as a trace turns out not to be as regular as its columns looked.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import polars as pl

from otelcov.ground.config import Config
from otelcov.runs import boundaries as b
from otelcov.runs import messages as m
from otelcov.runs.delegations import BY_ARGUMENT, TO
from otelcov.runs.endings import asks
from otelcov.runs.joining import Joints, called_by_name
from otelcov.runs.models import finish_reason
from otelcov.runs.offered import names_of
from otelcov.runs.paths import shape
from otelcov.runs.softerrors import soft_error
from otelcov.runs.spans import Side, Span
from otelcov.runs.texts import ANSWERS
from otelcov.runs.tree import Node, failure, placeholder

Row = dict[str, Any]
NONE_, AGENT_, LLM_, TOOL_ = 0, 1, 2, 3
_EVIDENCE = ["span", "message"]


@dataclass(slots=True)
class _Call:
    """A tool call: the position of its span, who asked, and the agent that it calls, if it calls one."""

    at: int
    name: str
    agent: str
    turn: int
    arguments: Any
    delegate: str | None


@dataclass(slots=True)
class _Ran:
    """What the tool calls of a run add up to."""

    rows: list[Row]
    steps: list[list[str]]
    states: list[str]
    handed: list[tuple[int, str, str, str]]  # start, from, to, tool
    seen: set[str]


class Batch:
    """The columns of a sorted span table that the shortcut reads, as lists. Positions are rows of that table."""

    def __init__(
        self, frame: pl.DataFrame, side: Side, config: Config, where: Joints, kinds: list[int], above: list[int]
    ) -> None:
        self.frame, self.side, self.where = frame, side, where
        self.kinds, self.above = kinds, above
        self.soft = config.runs.soft_errors
        self.declared = sorted({t for a in config.agents.values() for t in a.tools or ()} | set(config.tools))
        self.offered: dict[frozenset[int], set[str] | None] = {}
        column = {name: frame[name].to_list() for name in _READ}
        self.trace_id, self.span_id, self.row_of = column["trace_id"], column["span_id"], column["row"]
        self.start, self.end = column["start"], column["end"]
        self.agent, self.tool, self.call_id = column["agent"], column["tool"], column["call_id"]
        self.result, self.outputs, self.finish = column["result"], column["output_messages"], column["finish"]
        self.request_model, self.response_model = column["request_model"], column["response_model"]
        self.input_tokens, self.output_tokens = column["input_tokens"], column["output_tokens"]
        self.asked, self.answered = column["input"], column["output"]
        self.definitions, self.conversation = column["definitions"], column["conversation"]
        self.service, self.environment, self.release = column["service"], column["environment"], column["release"]
        self.scope, self.kind, self.status_code = column["scope"], column["kind"], column["status_code"]
        inputs = side.texts["input_messages"].gather(frame["row"])
        self.has_input = inputs.str.starts_with('[{"').fill_null(False).to_list()

    def row(self, lo: int, hi: int, root: int) -> Row | None:
        """The run of the trace at [lo, hi), whose root stands at `root`."""
        models = [i for i in range(lo, hi) if self.kinds[i] == LLM_]
        found = self._spans(lo, hi, root)
        if found is None:
            return None
        tools, delegates, named = found
        asked = self._model_calls(models, tools, delegates)
        if asked is None:
            return None
        calls, llm_calls, text = asked
        spoken, said = _spoken(self.asked[root]), _said(self.answered[root], text)
        if spoken is None or said is None:
            return None
        ran = self._tool_calls(calls, models)
        if ran is None:
            return None
        seen = ran.seen if spoken.strip() else ran.seen | {"empty_input"}
        working = {c["agent"] for c in llm_calls} | {c["agent"] for c in ran.rows}
        working |= {name for h in ran.handed for name in h[1:3]}
        known, source = self._known(lo, hi, {h[3] for h in ran.handed})
        trace_id = self.trace_id[root].hex()
        unseen = ["length", "content_filter"] if all(c["finish_reason"] is None for c in llm_calls) else []
        unexplained = Counter(self.scope[i] for i in range(lo, hi) if self.kind[i] is None)
        return {
            "run_id": hashlib.sha256(trace_id.encode() + self.span_id[root]).digest()[:16].hex(),
            "trace_ids": [trace_id],
            "conversation_id": self._conversation(lo, hi, root),
            "case": None,
            "service": self.service[root],
            "environment": self.environment[root],
            "release": self.release[root],
            "start_unix_nano": min(self.start[lo:hi]),
            "end_unix_nano": max(self.end[lo:hi]),
            "settled": True,
            "status": "ok",
            "input": spoken,
            "output": said,
            "agents": sorted(working if named & working else named | working),
            "known_tools": known,
            "known_tools_source": source,
            "tool_calls": ran.rows,
            "llm_calls": llm_calls,
            "delegations": [
                {"from": h[1], "to": h[2], "form": "tool", "tool": h[3], "status": "ok"} for h in sorted(ran.handed)
            ],
            "boundaries": sorted(seen, key=b.NAMES.index),
            "boundaries_unknown": unseen,
            "path": _path(ran.steps),
            "states": ran.states,
            "incomplete": ["tokens not reported"] if all(c["input_tokens"] is None for c in llm_calls) else [],
            "spans": hi - lo,
            "orphans": 0,
            "unexplained": [{"scope": s, "spans": n} for s, n in sorted(unexplained.items())],
            "dropped_attributes": 0,
            "masked": 0,
            "sampled": None,
            "weight": 1.0,
        }

    def _spans(self, lo: int, hi: int, root: int) -> tuple[dict[str, int], dict[int, int], set[str]] | None:
        """Tool spans by call id, the agent span below each that has one, and the agents' names."""
        tools: dict[str, int] = {}
        delegates: dict[int, int] = {}
        named: set[str] = set()
        for i in range(lo, hi):
            kind = self.kinds[i]
            if kind == TOOL_:
                key = self.call_id[i]
                if key in tools or "tool_call_id" in (self.result[i] or ""):
                    return None
                tools[key] = i
            elif kind == AGENT_:
                if placeholder(self.agent[i]):
                    return None
                named.add(self.agent[i])
                if i != root:
                    delegates[self.above[i]] = i
        if self.where.hosted and called_by_name(self.agent[root], self.where):
            return None
        return tools, delegates, named

    def _model_calls(
        self, models: list[int], tools: dict[str, int], delegates: dict[int, int]
    ) -> tuple[list[_Call], list[Row], str | None] | None:
        """Requests in order, rows of the model calls, and the last answer's text."""
        calls: list[_Call] = []
        rows: list[Row] = []
        text: str | None = None
        before = -1
        for turn, i in enumerate(models):
            answer = m.semconv_messages(self.outputs[i]) if self.outputs[i] else None
            if answer is None or len(answer) != 1 or answer[0].role != "assistant" or not self.has_input[i]:
                return None
            if self.start[i] == before:
                return None  # their order is not in the times alone
            before = self.start[i]
            message = answer[0]
            text = message.text
            finish = finish_reason(self.finish[i]) or message.finish_reason
            if finish and b.FINISH.get(finish.lower().rsplit(".", 1)[-1]):
                return None
            if not message.requests and (text is None or "Action" in text or asks(finish)):
                return None
            owner = self.agent[self.above[i]]
            for request in message.requests:
                call = self._call(request, owner, turn, tools, delegates)
                if call is None:
                    return None
                calls.append(call)
            rows.append(
                {
                    "agent": owner,
                    "request_model": self.request_model[i] or None,
                    "response_model": self.response_model[i] or None,
                    "input_tokens": self.input_tokens[i],
                    "output_tokens": self.output_tokens[i],
                    "status": "ok",
                    "finish_reason": finish,
                    "start_unix_nano": self.start[i],
                    "end_unix_nano": self.end[i],
                }
            )
        unmatched = len(calls) != len(tools) or len({c.at for c in calls}) != len(calls)
        return None if unmatched or (calls and calls[-1].turn == len(models) - 1) else (calls, rows, text)

    def _call(
        self, request: m.Request, owner: str, turn: int, tools: dict[str, int], delegates: dict[int, int]
    ) -> _Call | None:
        at = tools.get(request.id or "")
        if at is None or request.name != self.tool[at] or self.agent[self.above[at]] != owner:
            return None
        name = request.name or ""
        child = delegates.get(at)
        if child is None:
            if name in ANSWERS or TO.match(name) or name.lower().replace("_", "") in BY_ARGUMENT:
                return None
            return _Call(at, name, owner, turn, request.arguments, None)
        target = self.agent[child]
        return None if target == owner else _Call(at, name, owner, turn, request.arguments, target)

    def _tool_calls(self, calls: list[_Call], models: list[int]) -> _Ran | None:
        ran = _Ran([], [], [], [], set())
        steps: list[tuple[int, int, list[str]]] = []
        failures: Counter[str] = Counter()
        equal: Counter[str] = Counter()
        for call in calls:
            if call.delegate is not None:
                ran.handed.append((self.start[call.at], call.agent, call.delegate, call.name))
                label = f"{call.agent}->{call.delegate}"
            else:
                row = self._tool_call(call, models, ran, failures)
                if row is None:
                    return None
                ran.rows.append(row)
                equal[f"{call.name}\x00{row['arguments']}"] += 1
                label = f"{call.agent}/{call.name}{'!' if row['status'] == 'error' else ''}"
            if steps and steps[-1][1] == call.turn:
                steps[-1][2].append(label)
            else:
                steps.append((self.end[models[call.turn]], call.turn, [label]))
        if any(n >= 3 for n in equal.values()):
            ran.seen.add("repeated_call")
        ran.steps = [labels for _, _, labels in sorted(steps, key=lambda s: s[0])]
        return ran

    def _tool_call(self, call: _Call, models: list[int], ran: _Ran, failures: Counter[str]) -> Row | None:
        at = call.at
        arguments, rest = m.arguments(call.arguments)
        if arguments is None:
            raw = self.frame["arguments"][at]
            arguments = m.arguments(raw)[0] if rest is None and raw is not None else None
            if arguments is None:
                return None
        raw = self.result[at] if self.result[at] is not None else self._seen(call, models)
        if raw is None:
            return None
        value, flagged = m.result(raw)
        status, kind, error_type = "ok", None, None
        if self.status_code[at] == 2 or self.row_of[at] in self.side.exceptions:
            failed = failure(Node(Span._make(self.frame.row(at)), self.side))
            if failed is None or not failed[0] or failed[0].startswith("<class"):
                return None
            status, kind, error_type = "error", "hard", failed[0]
            ran.seen.add("tool_failure")
        elif value is None or soft_error(value, flagged, self.soft):
            return None  # rare, and weighed with more care by the general way
        elif failures[call.name]:
            ran.seen.add("tool_recovery")
        before = failures[call.name]
        ran.states.append(f"{call.agent}|{call.name}|{status}|{shape(value)}|{'2+' if before >= 2 else before}")
        failures[call.name] += status == "error"
        return {
            "name": call.name,
            "agent": call.agent,
            "status": status,
            "error_kind": kind,
            "error_type": error_type,
            "arguments": m.to_json(arguments),
            "arguments_text": None,
            "result": None if value is None else m.to_json(value),
            "call_id": self.call_id[at],
            "turn": call.turn,
            "evidence": _EVIDENCE,
            "start_unix_nano": self.start[at],
            "end_unix_nano": self.end[at],
        }

    def _seen(self, call: _Call, models: list[int]) -> Any:
        """What came back for a call that failed without a result, from the last input of the agent that asked."""
        last = next((i for i in reversed(models) if self.agent[self.above[i]] == call.agent), None)
        raw = None if last is None else self.side.texts["input_messages"][self.row_of[last]]
        for message in (m.semconv_messages(raw) if raw else None) or ():
            for told in message.results:
                if told.id == self.call_id[call.at]:
                    return told.content
        return None

    def _known(self, lo: int, hi: int, delegating: set[str]) -> tuple[list[str] | None, str | None]:
        if self.declared:
            return self.declared, "declared"
        texts = frozenset(place for place in self.definitions[lo:hi] if place is not None)
        if texts not in self.offered:
            self.offered[texts] = names_of([self.side.definitions[place] for place in sorted(texts)])
        names = self.offered[texts]
        return (None, None) if names is None else (sorted(names - delegating), "offered")

    def _conversation(self, lo: int, hi: int, root: int) -> str | None:
        if self.conversation[root]:
            return str(self.conversation[root])
        steps = (self.conversation[i] for i in range(lo, hi) if self.kinds[i] in (AGENT_, LLM_))
        return next((c for c in steps if c), None) or next((c for c in self.conversation[lo:hi] if c), None)


_READ = (
    *("trace_id", "span_id", "row", "start", "end", "agent", "tool", "call_id", "result", "output_messages", "finish"),
    *("request_model", "response_model", "input_tokens", "output_tokens", "input", "output", "definitions"),
    *("conversation", "service", "environment", "release", "scope", "kind", "status_code"),
)


def _spoken(raw: str | None) -> str | None:
    """The newest user message, where the root's input is plainly a list of messages."""
    for message in reversed((m.semconv_messages(raw) if raw else None) or ()):
        if message.role == "user" and not message.results and message.text is not None:
            return m.own_words(message.text)
    return None


def _said(raw: str | None, text: str | None) -> str | None:
    """The root's answer, else the last model's."""
    if not raw:
        return m.final_answer(text)
    found = m.semconv_messages(raw)
    if found is None or len(found) != 1 or found[0].role not in ("assistant", "user"):
        return None
    return None if found[0].text is None else m.final_answer(found[0].text)


def _path(steps: list[list[str]]) -> list[list[str]]:
    out: list[list[str]] = []
    for labels in steps:
        step = sorted(set(labels))
        if out and [x.removesuffix("+") for x in out[-1]] == step:
            out[-1] = [f"{x}+" for x in step]
        else:
            out.append(step)
    return out
