"""A run from its fragments: one row of the RUNS schema."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Any

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, OTHER, SETUP, TOOL
from otelcov.ground.config import Config
from otelcov.runs import boundaries as b
from otelcov.runs import messages as m
from otelcov.runs.calls import Outcome, ToolCall, bare_type, merge, outcome, tool_spans
from otelcov.runs.delegations import Delegation, coworker_agents, delegations
from otelcov.runs.fragments import Fragment
from otelcov.runs.models import ModelCall
from otelcov.runs.offered import offered
from otelcov.runs.tree import USUAL_LIMITS, Node, control_flow, exceptions, failure, placeholder

Row = dict[str, Any]

# By these a framework has the model hand in its answer; they call nothing (smolagents, BeeAI; pydantic-ai, OpenAI).
ANSWERS = ("final_answer", "final_result")


def assemble(group: list[Fragment], config: Config, now_ns: int) -> Row:
    """The row of one run. `group` holds its fragments, earliest first."""
    nodes = [n for f in group for n in f.nodes]
    root = _root(group)
    calls = sorted((c for f in group for c in f.calls), key=lambda c: (c.start, c.end, c.node.span.span_id))
    for turn, call in enumerate(calls):
        call.turn = turn
    coworker_agents(nodes)
    for call in calls:
        call.agent = call.layers[-1].agent or call.node.agent
    executions = tool_spans(nodes)
    tools = merge(calls, executions)
    handed = delegations(nodes, tools, calls)
    tools = [t for t in tools if t.delegates_to is None and t.name not in ANSWERS]
    limit = _value_limit(nodes)
    spans_shown = bool(executions)
    soft = tuple(config.runs.soft_errors)
    outcomes = [outcome(t, spans_shown, calls, soft) for t in tools]
    hidden = any(f.hidden for f in group)
    incomplete: set[str] = set()
    visible = _tools_visible(calls, executions, incomplete)
    reasons_in_spans(nodes, limit, incomplete)
    start = min((n.start for n in nodes if n.start), default=0)
    end = max((n.end for n in nodes), default=0)
    input_text = _input(root, calls, limit, incomplete)
    output_text = _output(root, calls, handed, limit, incomplete)
    seen, unknown = _boundaries(root, nodes, calls, tools, outcomes, input_text, output_text, visible)
    if _answered_in_one_span(calls, executions, root, output_text):
        hidden = True
        seen = [x for x in seen if x != "max_steps"]
    status = _status(nodes, root, calls, tools, outcomes)
    if "error" in seen and status == "ok":
        status = "error" if _ends_in_error(calls) else status
    if hidden:
        incomplete.add("model calls share a span")
    agents = sorted({a for a in [*(n.own_agent for n in nodes), *(c.agent for c in calls), *(t.agent for t in tools), *(d.target for d in handed)] if a} - _containers(nodes, calls, tools, handed))
    known, source = _known(nodes, handed, config)
    trace_ids = sorted({f.trace_id.hex() for f in group})
    if not agents and (calls or tools):
        incomplete.add("no agent name")
    if calls and all(c.input_tokens is None for c in calls if c.error is None) and any(c.error is None for c in calls):
        incomplete.add("tokens not reported")
    orphans = sum(n.orphan for n in nodes)
    if orphans and root.orphan:
        incomplete.add("missing parent")
    sampled, weight = _sampling(nodes)
    path, states = _path(tools, outcomes, handed), _states(tools, outcomes)
    return {
        "run_id": hashlib.sha256("".join(trace_ids).encode() + root.span.span_id).digest()[:16].hex(),
        "trace_ids": trace_ids,
        "conversation_id": _conversation(root, nodes),
        "case": root.span.case or root.side.resource_case.get(root.span.row) or next((n.span.case for n in nodes if n.span.case), None),
        "service": root.span.service,
        "environment": root.span.environment,
        "release": root.span.release,
        "start_unix_nano": start or None,
        "end_unix_nano": end or None,
        "settled": not root.orphan or now_ns - end >= config.runs.settle_ns,
        "status": status,
        "input": input_text,
        "output": output_text,
        "agents": agents,
        "known_tools": known,
        "known_tools_source": source,
        "tool_calls": [_tool_row(t, o) for t, o in zip(tools, outcomes, strict=True)] if visible or tools else None,
        "llm_calls": [_llm_row(c) for c in calls] if calls and not hidden else None,
        "delegations": [_delegation_row(d) for d in handed] if handed or agents else None,
        "boundaries": seen,
        "boundaries_unknown": unknown,
        "path": path,
        "states": states,
        "incomplete": sorted(incomplete),
        "spans": len(nodes),
        "orphans": orphans,
        "unexplained": _unexplained(nodes),
        "dropped_attributes": sum(n.span.dropped for n in nodes),
        "masked": sum(n.span.masked for n in nodes),
        "sampled": sampled,
        "weight": weight,
    }


def _answered_in_one_span(calls: list[ModelCall], executions: list[list[Node]], root: Node, output: str | None) -> bool:
    """The last model span holds the run's answer and asks for tools that ran inside it: it stands for several calls."""
    if not calls or not calls[-1].requests or output is None or calls[-1].text != output or calls[-1].node is root:
        return False
    return any(calls[-1].node in nodes[0].ancestors() for nodes in executions)


def _root(group: list[Fragment]) -> Node:
    """The step the run begins with: the root of its earliest fragment, one with an agent before loose model calls."""
    first = min(group, key=lambda f: (f.loose, f.root.orphan, f.start, f.trace_id))
    return first.root


def _containers(nodes: list[Node], calls: list[ModelCall], tools: list[ToolCall], handed: list[Delegation]) -> set[str]:
    """Names of graphs and pipelines: they own no step and take part in no delegation."""
    working = {c.agent for c in calls} | {t.agent for t in tools} | {d.source for d in handed} | {d.target for d in handed}
    named = {n.own_agent for n in nodes if n.own_agent}
    return {a for a in named if a not in working} if named & {w for w in working if w} else set()


def _tools_visible(calls: list[ModelCall], executions: list[list[Node]], incomplete: set[str]) -> bool:
    """Would a tool call have shown itself here?"""
    blind = [c for c in calls if c.error is None and not c.requests and (c.outputs is None or c.text is None or _asks(c.finish))]
    for c in blind:
        if c.truncated_output:
            incomplete.add("truncated values")
        elif c.cut:
            incomplete.add("attributes dropped")
    if executions:
        if blind and any(c.finish in ("tool_calls", "tool_call", "tool-calls", "function_call", "tool_use") for c in blind):
            pass
        return True
    if not calls:
        incomplete.add("no model call visible")
        return False
    open_ended = [c for c in blind if c.finish is None or not _final(c.finish) or (c.google and c.finish.lower() == "stop")]
    if open_ended:
        incomplete.add("tool calls not visible")
        return len(open_ended) < len([c for c in calls if c.error is None]) and any(c.requests for c in calls)
    return True


def _final(finish: str) -> bool:
    return finish.lower() in ("stop", "end_turn", "length", "max_tokens", "content_filter", "stop_sequence", "completed", "final")


def _value_limit(nodes: list[Node]) -> int | None:
    """The SDK's attribute length limit, where it has cut values: several values end at the same length, none is longer."""
    longest = max((n.span.longest for n in nodes), default=0)
    if longest < 64:
        return None
    at_limit = sum(n.span.longest == longest for n in nodes)
    cut = max((n.span.cut for n in nodes), default=0)
    return longest if cut == longest or (at_limit > 1 and longest in USUAL_LIMITS) else None


def reasons_in_spans(nodes: list[Node], limit: int | None, incomplete: set[str]) -> None:
    if limit is not None:
        incomplete.add("truncated values")
    if any(n.span.dropped for n in nodes if n.kind is not None):
        incomplete.add("attributes dropped")
    if any(n.span.masked for n in nodes):
        incomplete.add("values masked")


def _readable(text: str | None, limit: int | None) -> str | None:
    return None if text is None or (limit is not None and len(text) >= limit) else text


_WRAPPED = ("request", "task", "query", "question", "prompt", "input", "message", "user_input", "user_prompt", "new_message", "text", "content", "topic")


def _user_text(raw: str | None, limit: int | None) -> str | None:
    """What the user said, from an input attribute in any form."""
    if raw is None or (limit is not None and len(raw) >= limit):
        return None
    if raw[:1] not in "[{\"":
        return raw
    value = m.parse_json(raw)
    if value is None:
        return raw if raw[:1] == "[" and not raw.startswith(("[{", '["', "[[")) else None
    return _said(value)


def _said(value: Any, depth: int = 0) -> str | None:
    if isinstance(value, str):
        return value
    if depth > 6:
        return None
    if isinstance(value, dict) and set(value) >= {"args", "kwargs"}:
        if isinstance(value["kwargs"], dict) and value["kwargs"]:
            return _said(value["kwargs"], depth + 1)
        if isinstance(value["args"], list) and value["args"]:
            return _said(value["args"][0], depth + 1)
    if isinstance(value, dict) and not any(k in value for k in ("messages", "role", "parts", "lc")):
        for key in _WRAPPED:
            if key in value and isinstance(value[key], (str, dict, list)):
                if isinstance(value[key], str):
                    return value[key] if value[key][:1] not in "[{" or m.parse_json(value[key]) is None else _said(m.parse_json(value[key]), depth + 1)
                found = _said(value[key], depth + 1)
                if found is not None:
                    return found
        if "inputs" in value:
            return _said(value["inputs"], depth + 1)
        strings = [v for v in value.values() if isinstance(v, str)]
        if len(value) == 1 and strings:
            return strings[0]
    if isinstance(value, list) and not value:
        return None
    found_messages = m.messages(value)
    return _last_user(found_messages)


def _last_user(found: list[m.Message]) -> str | None:
    """The newest user message before the agent's first own answer of this run."""
    for x in reversed(found):
        if x.role == "user" and not x.results and x.text is not None:
            return m.own_words(x.text)
    return None


def _input(root: Node, calls: list[ModelCall], limit: int | None, incomplete: set[str]) -> str | None:
    empty = False
    for node in _front(root):
        raw = node.span.input
        if node.kind == LLM:
            continue
        empty = empty or (raw == "" and node.kind in (AGENT, CHAIN))
        if raw:
            quick = m.semconv_messages(raw)
            if quick is not None and (limit is None or len(raw) < limit):
                text = _last_user(quick)
                if text is not None:
                    return text
                continue
            value = m.parse_json(raw) if raw[:1] in "[{" else None
            whole = m.messages(value) if isinstance(value, (list, dict)) else []
            text = _last_user(whole) if any(x.role == "assistant" for x in whole) else _user_text(raw, limit)
            if text is not None and not _object_repr(text):
                return text
        for name, attributes in node.side.events.get(node.span.row, ()):
            if name == "gen_ai.user.message":
                said = m.messages([{"role": "user", "content": _opened(attributes.get("content"))}])
                if said and said[0].text is not None:
                    return said[0].text
    if calls:
        first = calls[0]
        inputs = first.inputs
        if inputs is not None and not (limit is not None and first.truncated_input):
            text = _last_user(inputs)
            if text is None:
                for layer in first.layers:
                    text = text if text is not None else _user_text(layer.input_messages, limit)
            if text is not None and (limit is None or len(text) < limit):
                return text
        if first.truncated_input:
            incomplete.add("truncated values")
        elif inputs is None and not empty:
            incomplete.add("input not reported")
    return "" if empty else None


def _opened(value: Any) -> Any:
    parsed = m.parse_json(value) if isinstance(value, str) and value[:1] in "[{" else None
    return value if parsed is None else parsed


def _object_repr(text: str) -> bool:
    return re.match(r"^<[\w.]+ (?:object|generator)[^>]* at 0x|^[A-Z]\w*\(\w+=.*\)$", text, re.S) is not None


def _front(root: Node) -> list[Node]:
    """The root and the containers right below it, down to the first agent with input: where a request is written."""
    out, level = [root], [root]
    for _ in range(5):
        level = [c for n in level for c in n.children if c.kind in (AGENT, CHAIN) or c.kind is None]
        out.extend(level[:8])
    return out


def _assistant_text(raw: str | None, limit: int | None) -> str | None:
    if raw is None or (limit is not None and len(raw) >= limit):
        return None
    if raw[:1] not in "[{\"":
        return m.final_answer(raw)
    value = m.parse_json(raw)
    if value is None:
        return raw if raw[:1] == "[" and not raw.startswith(("[{", '["', "[[")) else None
    if isinstance(value, str):
        return m.final_answer(value)
    if isinstance(value, dict):
        for key in ("raw", "final_output", "final_result", "answer", "output_text", "result", "output", "response", "content", "text", "message"):
            if isinstance(value.get(key), str):
                return m.final_answer(str(value[key]))
    found = m.messages(value, "assistant")
    for x in reversed(found):
        if x.text is not None and x.role in ("assistant", "user") and not x.results:
            return m.final_answer(x.text)
        if x.requests:
            return None
    return None


def _output(root: Node, calls: list[ModelCall], handed: list[Delegation], limit: int | None, incomplete: set[str]) -> str | None:
    last = calls[-1] if calls else None
    if last is not None and last.error is not None:
        return None
    pending = last is not None and any(r.name not in ANSWERS for r in last.requests)
    front = [n for n in _front(root) if n.kind != LLM and n.span.output is not None and n.definitions != n.span.output]
    for node in front:
        if node is root:
            text = _assistant_text(node.span.output, limit)
            if text is not None and not _object_repr(text):
                return text
    if last is not None and not pending and last.text is not None:
        text = last.text
        if limit is None or (len(text) < limit and not last.truncated_output):
            return m.final_answer(text)
    for node in front:
        text = _assistant_text(node.span.output, limit)
        if text is not None and not _object_repr(text):
            return text
    return None


def _ends_in_error(calls: list[ModelCall]) -> bool:
    return bool(calls) and calls[-1].error is not None


def _status(nodes: list[Node], root: Node, calls: list[ModelCall], tools: list[ToolCall], outcomes: list[Outcome]) -> str:
    """error: the root, or the agent in charge, failed, or the last model call did; ok: an answer, or a clean end."""
    if failure(root) is not None and root.kind != TOOL:
        return "error"
    tops = [n for n in _top_agents(root) if n is not root] or [root]
    if any(failure(n) is not None for n in tops):
        last_end = max(n.end for n in tops)
        for n in tops:
            if failure(n) is not None and n.end >= last_end:
                return "error"
    if _ends_in_error(calls) or _died_in_a_tool(calls, tools, outcomes):
        return "error"
    if root.orphan and not (calls and calls[-1].text and not calls[-1].requests and not _asks(calls[-1].finish)):
        return "unknown"
    if calls and root.kind == LLM and any(r.name not in ANSWERS for r in calls[-1].requests):
        return "unknown"
    if calls and calls[-1].outputs is None and root.kind == LLM and not (calls[-1].finish and _final(calls[-1].finish)):
        return "unknown"
    if root.kind == TOOL and len(nodes) == 1 and outcomes:
        return "error" if outcomes[0].status == "error" else "ok"
    if not root.span.end and not calls:
        return "unknown"
    return "ok"


def _asks(finish: str | None) -> bool:
    return finish is not None and finish.lower().replace("-", "_") in ("tool_call", "tool_calls", "tool_use", "function_call")


def _died_in_a_tool(calls: list[ModelCall], tools: list[ToolCall], outcomes: list[Outcome]) -> bool:
    """The newest answer asked for tools, one of them failed with an exception, and no model was asked again."""
    if not calls or not calls[-1].requests:
        return False
    return any(o.error_kind == "hard" and t.asked_by is calls[-1] for t, o in zip(tools, outcomes, strict=True))


def _top_agents(root: Node) -> list[Node]:
    """The agents in charge: the topmost agent spans, and those that took over from them (their siblings)."""
    out, stack = [], [root]
    while stack:
        n = stack.pop()
        if n.kind == AGENT and n.own_agent is not None:
            out.append(n)
            if n is not root:
                continue
        if n.kind in (TOOL, LLM):
            continue
        stack.extend(n.children)
    return out


def _boundaries(
    root: Node, nodes: list[Node], calls: list[ModelCall], tools: list[ToolCall], outcomes: list[Outcome], input_text: str | None, output_text: str | None, visible: bool
) -> tuple[list[str], list[str]]:
    seen: set[str] = set()
    unknown: set[str] = set()
    texts = []
    for n in nodes:
        if n.kind in (TOOL, OTHER, SETUP) or n.kind is None and n.parent is not None:
            continue
        told = failure(n)
        if told is not None:
            texts.append((n, f"{told[0]}: {told[1]}"))
    stopped = set()
    for n, text in texts:
        if n.kind != LLM:
            stopped |= b.limits(text)
    for c in calls:
        if c.error is not None:
            text = f"{c.error[0]}: {c.error[1]}"
            limit = b.limits(text) - {"cost_limit"} if c.error[0].endswith("UsageLimitExceeded") else set()
            stopped |= limit
            seen.add("error")
            if b.TIMEOUT.search(text):
                seen.add("timeout")
            if b.RATE.search(text):
                seen.add("rate_limit")
            if b.FILTER.search(text):
                seen.add("content_filter")
        kind = b.FINISH.get((c.finish or "").lower().rsplit(".", 1)[-1])
        if kind:
            seen.add(kind)
    seen |= stopped
    if not stopped:
        for n, text in texts:
            if n.kind == LLM or control_flow(n):
                continue
            if n.parent is None or n.kind == AGENT or any(t for t, _ in exceptions(n)):
                handled = n.parent is not None and n.kind != AGENT and not _escapes(n)
                if not handled and not _is_tools_failure(n, outcomes, text):
                    seen.add("error")
                    if b.TIMEOUT.search(text) and _ends_in_error(calls):
                        seen.add("timeout")
                elif not handled:
                    seen.add("error")
    if not stopped and _died_in_a_tool(calls, tools, outcomes):
        seen.add("error")
    last = calls[-1] if calls else None
    if last is not None and _forced(last):
        seen.add("max_steps")
    if any(t is not None and b.GAVE_UP.search(t) for t in (output_text, last.text if last is not None and last.outputs else None)):
        seen.add("max_steps")
    if _pending(root, calls, tools, outcomes, seen):
        seen.add("max_steps")
    if input_text is not None and not input_text.strip():
        seen.add("empty_input")
    elif input_text is None:
        unknown.add("empty_input")
    failed = [i for i, o in enumerate(outcomes) if o.status == "error" or o.error_kind]
    if failed:
        seen.add("tool_failure")
        for i in failed:
            if any(o.status == "ok" and o.error_kind is None and tools[j].name == tools[i].name for j, o in enumerate(outcomes) if j > i):
                seen.add("tool_recovery")
    else:
        blind = [o for t, o in zip(tools, outcomes, strict=True) if o.status == "unknown" or (o.status == "ok" and o.result is None)]
        if not visible or blind:
            unknown |= {"tool_failure", "tool_recovery"}
    repeated = Counter(m.to_json([t.name, o.arguments]) for t, o in zip(tools, outcomes, strict=True) if o.arguments is not None and o.status != "requested")
    if any(n >= 3 for n in repeated.values()):
        seen.add("repeated_call")
    elif not visible or any(o.arguments is None for o in outcomes):
        unknown.add("repeated_call")
    if calls and all(c.finish is None for c in calls):
        unknown |= {"length", "content_filter"} - seen
    if not calls:
        unknown |= {"error", "timeout", "rate_limit", "length", "content_filter"} - seen
    if root.orphan and root.kind != LLM:
        unknown |= {"max_steps", "cost_limit", "error", "timeout"}
    if "max_steps" not in seen and "cost_limit" not in seen:
        framed = any(n.kind in (AGENT, CHAIN) for n in nodes)
        if not framed or not calls or (calls[-1].outputs is None and calls[-1].error is None) or calls[-1].inputs is None:
            unknown |= {"max_steps", "cost_limit"}
        if not framed and "error" not in seen:
            unknown.add("error")
    return sorted(seen, key=b.NAMES.index), sorted(unknown - seen, key=b.NAMES.index)


def _forced(last: ModelCall) -> bool:
    """The framework told the model to stop: its order stands at the end of the last input."""
    flat = any(n.span.row in n.side.families["flat_input"] for n in last.layers)
    if not flat and not any(n.span.forced for n in last.layers):
        return False
    return any(x.text and b.FORCED.search(x.text) for x in (last.inputs or [])[-3:])


def _escapes(node: Node) -> bool:
    """Did a failure reach the top of its tree?"""
    parent = node.parent
    while parent is not None:
        if parent.kind in (AGENT, CHAIN) and failure(parent) is not None:
            parent = parent.parent
            continue
        return parent.kind not in (AGENT, CHAIN)
    return True


def _is_tools_failure(node: Node, outcomes: list[Outcome], text: str) -> bool:
    return False


def _pending(root: Node, calls: list[ModelCall], tools: list[ToolCall], outcomes: list[Outcome], seen: set[str]) -> bool:
    """The run ended on a request for tools: nothing failed, and no answer came after."""
    if not calls or "error" in seen or "cost_limit" in seen or "max_steps" in seen:
        return False
    last = calls[-1]
    if last.error is not None or not [r for r in last.requests if r.name not in ANSWERS] or root.orphan or root.kind == LLM:
        return False
    asked = [o for t, o in zip(tools, outcomes, strict=True) if t.asked_by is last]
    return bool(asked) and all(o.status != "error" for o in asked)


def _conversation(root: Node, nodes: list[Node]) -> str | None:
    if root.span.conversation:
        return root.span.conversation
    top = next((n for n in nodes if n.kind in (AGENT, CHAIN, LLM) and n.span.conversation), None)
    if top is not None:
        return top.span.conversation
    return next((n.span.conversation for n in nodes if n.span.conversation), None)


def _known(nodes: list[Node], handed: list[Delegation], config: Config) -> tuple[list[str] | None, str | None]:
    declared = sorted({t for a in config.agents.values() for t in a.tools or ()} | set(config.tools))
    if declared:
        return declared, "declared"
    found = offered(nodes)
    if found is None:
        return None, None
    return sorted(found - {d.tool for d in handed if d.tool}), "offered"


def _tool_row(t: ToolCall, o: Outcome) -> Row:
    return {
        "name": t.name,
        "agent": t.agent,
        "status": o.status,
        "error_kind": o.error_kind,
        "error_type": o.error_type,
        "arguments": None if o.arguments is None else m.to_json(o.arguments),
        "arguments_text": o.arguments_text,
        "result": None if o.result is None else m.to_json(o.result),
        "call_id": t.call_id,
        "turn": t.turn,
        "evidence": sorted(t.evidence, key=("span", "message", "event").index),
        "start_unix_nano": t.start or None,
        "end_unix_nano": t.end or None,
    }


def _llm_row(c: ModelCall) -> Row:
    return {
        "agent": c.agent,
        "request_model": c.request_model,
        "response_model": c.response_model,
        "input_tokens": c.input_tokens,
        "output_tokens": c.output_tokens,
        "status": "error" if c.error is not None else "ok",
        "finish_reason": c.finish,
        "start_unix_nano": c.start or None,
        "end_unix_nano": c.end or None,
    }


def _delegation_row(d: Delegation) -> Row:
    return {"from": d.source, "to": d.target, "form": d.form, "tool": d.tool, "status": d.status}


def _unexplained(nodes: list[Node]) -> list[Row]:
    scopes = Counter(n.span.scope for n in nodes if n.span.kind is None)
    return [{"scope": s, "spans": n} for s, n in sorted(scopes.items())]


def _label(t: ToolCall, o: Outcome) -> str:
    return f"{t.agent or '?'}/{t.name}{'!' if o.status == 'error' else ''}"


def _path(tools: list[ToolCall], outcomes: list[Outcome], handed: list[Delegation]) -> list[list[str]]:
    """Steps of executed calls and delegations; what one model turn asked for is one step."""
    items: list[tuple[tuple[int, int], object, str]] = []
    order: dict[int, int] = {}
    for rank, (t, o) in enumerate(zip(tools, outcomes, strict=True)):
        order[id(t)] = rank
        if o.status != "requested":
            items.append(((t.start if t.turn is None and t.nodes else (t.asked_by.end if t.asked_by is not None else t.start), rank), t.turn if t.turn is not None else t, _label(t, o)))
    for d in handed:
        group: object = d
        start = d.start
        if d.call is not None and d.call.turn is not None:
            group = d.call.turn
            start = d.call.asked_by.end if d.call.asked_by is not None else d.start
        items.append(((start, -1), group, f"{d.source or '?'}->{d.target or '?'}"))
    items.sort(key=lambda x: (x[0], x[2]))
    steps: list[tuple[object, set[str]]] = []
    place: dict[object, int] = {}
    for _, group, label in items:
        key = ("turn", group) if isinstance(group, int) else id(group)
        if key in place:
            steps[place[key]][1].add(label)
        else:
            place[key] = len(steps)
            steps.append((key, {label}))
    out: list[list[str]] = []
    for _, labels in steps:
        step = sorted(labels)
        if out and [x.removesuffix("+") for x in out[-1]] == step:
            out[-1] = [f"{x}+" for x in step]
        else:
            out.append(step)
    return out


def _states(tools: list[ToolCall], outcomes: list[Outcome]) -> list[str]:
    """`agent|tool|ok or error|shape|earlier failures` after each executed call; no content."""
    failures: Counter[str | None] = Counter()
    out = []
    for t, o in zip(tools, outcomes, strict=True):
        if o.status not in ("ok", "error"):
            continue
        before = failures[t.name]
        out.append(f"{t.agent or '?'}|{t.name}|{o.status}|{shape(o.result)}|{'2+' if before >= 2 else before}")
        failures[t.name] += o.status == "error"
    return out


def shape(value: Any) -> str:
    """The form of a result, without its content."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return f"list-{len(value) if len(value) < 2 else 'many'}"
    keys = sorted(map(str, value))[:8]
    return "object-" + hashlib.sha256("\x00".join(keys).encode()).hexdigest()[:12]


def _sampling(nodes: list[Node]) -> tuple[str | None, float]:
    """(sign of sampling, adjusted count). Threshold by OpenTelemetry's consistent probability sampling (`ot=th:`)."""
    for n in nodes:
        state = n.span.trace_state
        hit = re.search(r"(?:^|,)\s*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})", state) if state else None
        if hit is not None:
            threshold = int(hit.group(1).ljust(14, "0"), 16)
            return ("known", 2**56 / (2**56 - threshold)) if threshold else (None, 1.0)
    for n in nodes:
        if n.span.sampling is not None:
            try:
                rate = float(n.span.sampling)
            except ValueError:
                continue
            if rate > 1:
                return "known", rate
            if rate < 1:
                return "unknown", 1.0
    return None, 1.0


__all__ = ["HANDOFF", "assemble", "bare_type", "placeholder", "shape"]
