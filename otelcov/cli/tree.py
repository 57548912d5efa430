"""A run as a tree: whose turn it was, what the model was asked and cost, what it called, what came back.

Agents are nested as they delegated to each other; a call stands under the model call that asked for it, and where
nothing says which one that was, by its time. Texts are cut to the width: `--format json` has all of them.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from otelcov.cli.words import duration, number, one_line
from otelcov.ground import windows
from otelcov.report.words import plain

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text
    from rich.tree import Tree

Row = dict[str, Any]
_COLOURS = {"ok": "green", "error": "red", "unknown": "yellow", "requested": "yellow"}


def tree(run: Row, side: str, width: int) -> Group:
    """A RUNS row."""
    from rich.console import Group
    from rich.tree import Tree

    root = Tree("", hide_root=True, guide_style="dim")
    for item in nested(run):
        _grow(root, item, width - 4)
    return Group(*_head(run, side), root, *_foot(run))


@dataclass
class Step:
    """An agent's stretch of a run, a model call or a tool call."""

    kind: str  # agent | model | tool
    what: Row
    at: int
    steps: list[Step] = field(default_factory=list)


def nested(run: Row) -> list[Step]:
    """The steps of a run in order, under the agents that took them."""
    models = [Step("model", call, call["start_unix_nano"] or 0) for call in run["llm_calls"] or []]
    loose: list[Step] = []
    for call in run["tool_calls"] or []:
        step = Step("tool", call, call["start_unix_nano"] or 0)
        turn = call["turn"]
        asked = models[turn] if turn is not None and turn < len(models) else None
        (asked.steps if asked is not None else loose).append(step)
    in_order = sorted([*models, *loose], key=lambda step: step.at)
    handed = _handed(run)
    called = set(handed)
    top = Step("agent", {"name": None}, 0)
    above = [top]
    for step in in_order:
        agent = step.what["agent"]
        names = [one.what["name"] for one in above]
        if agent in names[1:]:
            del above[names.index(agent, 1) + 1 :]
        else:
            while len(above) > 1 and (above[-1].what["name"], agent) not in called:
                above.pop()
            edges = handed.get((above[-1].what["name"], agent))
            edge = edges.popleft() if edges else None
            above.append(Step("agent", {"name": agent, "edge": edge}, step.at))
            above[-2].steps.append(above[-1])
        above[-1].steps.append(step)
    for (source, target), edges in handed.items():  # nothing shows what the other agent did
        here = _agent(top, source) if edges else top
        here.steps += [Step("agent", {"name": target, "edge": edge}, 0) for edge in edges]
    return top.steps


def _handed(run: Row) -> dict[tuple[str | None, str | None], deque[Row]]:
    """The delegations by who handed over to whom, in order."""
    found: dict[tuple[str | None, str | None], deque[Row]] = defaultdict(deque)
    for edge in run["delegations"] or []:
        found[edge["from"], edge["to"]].append(edge)
    return dict(found)


def _agent(top: Step, name: str | None) -> Step:
    """Where this agent acts, else the top."""
    for step in top.steps:
        if step.kind == "agent":
            if step.what["name"] == name:
                return step
            deeper = _agent(step, name)
            if deeper is not step:
                return deeper
    return top


def _grow(above: Tree, step: Step, room: int) -> None:
    branch = above.add(_LABELS[step.kind](step.what, room))
    if step.kind == "tool":
        for name, text in _told(step.what):
            branch.add(_text([(f"{name} ", "dim"), (one_line(text), "")], room - 4))
    elif step.kind == "model" and step.what["status"] == "error":
        branch.add(_text([("failed", "red")], room - 4))
    for child in step.steps:
        _grow(branch, child, room - 4)


def _agent_label(agent: Row, room: int) -> Text:
    edge = agent.get("edge")
    how = f"from {edge['from'] or 'an unknown agent'}, {edge['form']}" if edge else ""
    by = f" by {edge['tool']}" if edge and edge["tool"] else ""
    failed = "  failed" if edge and edge["status"] == "error" else ""
    name = plain(agent["name"]) if agent["name"] else "(no agent name)"
    return _text([(name, "bold"), (plain(how + by) if edge else "", "dim"), (failed, "red")], room, " ")


def _model_label(call: Row, room: int) -> Text:
    name = call["response_model"] or call["request_model"] or "(no model name)"
    tokens = f"{number(call['input_tokens'])} in, {number(call['output_tokens'])} out"
    took = duration(call["start_unix_nano"], call["end_unix_nano"])
    end = f"  {call['finish_reason']}" if call["finish_reason"] else ""
    status = call["status"] or "unknown"
    return _text(
        [
            ("llm ", "dim"),
            (plain(name), "cyan"),
            (f" {status}", _COLOURS.get(status, "")),
            (f"  {took}  {tokens}{end}", "dim"),
        ],
        room,
    )


def _tool_label(call: Row, room: int) -> Text:
    seen = call["evidence"] or []
    took = "" if "span" not in seen else f"{duration(call['start_unix_nano'], call['end_unix_nano'])}  "
    kind = f" ({call['error_kind']})" if call["error_kind"] else ""
    return _text(
        [
            ("tool ", "dim"),
            (plain(call["name"]), "magenta"),
            (f" {call['status']}{kind}", _COLOURS.get(call["status"], "")),
            (f"  {took}{'+'.join(seen)}", "dim"),
        ],
        room,
    )


_LABELS = {"agent": _agent_label, "model": _model_label, "tool": _tool_label}


def _told(call: Row) -> Iterator[tuple[str, str]]:
    if call["error_type"]:
        yield "error", call["error_type"]
    if call["arguments"] is not None or call["arguments_text"] is not None:
        yield "arguments", call["arguments"] if call["arguments"] is not None else call["arguments_text"]
    if call["result"] is not None:
        result = json.loads(call["result"])
        yield "result", result if isinstance(result, str) else call["result"]


def _head(run: Row, side: str) -> Iterator[Text]:
    took = duration(run["start_unix_nano"], run["end_unix_nano"])
    start = windows.iso(run["start_unix_nano"]) if run["start_unix_nano"] else "an unknown time"
    status = run["status"] + ("" if run["settled"] else ", not settled")
    yield _text(
        [("run ", "dim"), (run["run_id"], "bold"), (f"  {status}", _COLOURS.get(run["status"], "")), (f"  {took}", "")],
        None,
    )
    facts = [
        ("start", start),
        ("trace" if len(run["trace_ids"]) == 1 else "traces", ", ".join(run["trace_ids"])),
        ("conversation", run["conversation_id"]),
        ("case", run["case"]),
        ("service", " ".join(filter(None, (run["service"], run["release"])))),
        ("environment", f"{run['environment'] or 'not named'} ({side})"),
        ("agents", ", ".join(run["agents"] or [])),
        ("boundaries", ", ".join(run["boundaries"] or [])),
        ("cannot show", ", ".join(run["boundaries_unknown"] or [])),
        ("incomplete", ", ".join(run["incomplete"] or [])),
        ("input", run["input"]),
    ]
    yield from (_fact(name, text) for name, text in facts if text)


def _foot(run: Row) -> Iterator[Text]:
    if run["output"] is not None:
        yield _fact("output", run["output"])
    llm = run["llm_calls"]
    if llm is not None:
        told = [(call["input_tokens"], call["output_tokens"]) for call in llm if call["input_tokens"] is not None]
        sums = [sum(some[way] or 0 for some in told) for way in (0, 1)] if told else [None, None]
        calls = f"{number(len(llm))} model call{'' if len(llm) == 1 else 's'}"
        yield _fact("total", f"{calls}, {number(sums[0])} tokens in, {number(sums[1])} out")
    for name, column in (("model calls", "llm_calls"), ("tool calls", "tool_calls"), ("delegations", "delegations")):
        if run[column] is None:
            yield _fact(name, "unknown: nothing in these spans would show them")
    if run["known_tools"] is not None:
        source = run["known_tools_source"]
        yield _fact("known tools", f"{', '.join(run['known_tools'])} ({source})")


def _fact(name: str, text: str) -> Text:
    from rich.text import Text

    return Text.assemble((f"{name:<13}", "dim"), one_line(text))


def _text(parts: list[tuple[str, str]], room: int | None, between: str = "") -> Text:
    from rich.text import Text

    line = Text(between).join([Text(text, style) for text, style in parts if text])
    line.no_wrap = True
    if room is not None:
        line.truncate(max(20, room), overflow="ellipsis")
    return line
