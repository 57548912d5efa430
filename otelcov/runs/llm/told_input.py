"""What a model was given, out of all that the spans of one call tell of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message, Result
from otelcov.runs.content.exchanges import event_inputs, opened, parsed, with_results
from otelcov.runs.content.flattened import first_index, flattened_messages
from otelcov.runs.content.jsontext import NOTHING, Value, hidden, parse_json
from otelcov.runs.content.late_results import with_late_results
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.observed import with_observations
from otelcov.runs.content.reprs import mapping
from otelcov.runs.rules.answers import (
    drops_flags,
    input_as_text,
    keeps_flags,
    may_be_response,
    prints_results,
    reads_late,
    results_as_words,
    results_by_user,
    tells_a_turn_in_one,
    tells_text_alone,
    writes_parts,
)
from otelcov.runs.trace.tree import Node


class Input(NamedTuple):
    """The messages, None where they are not on the wire."""

    messages: list[Message] | None
    gappy: bool = False  # messages of it are missing or may be out of order
    endless: bool = False  # … and the newest are among those that may be missing


def read_input(layers: list[Node]) -> Input:
    """The first layer's, unless that leaves out all calls, and results or what they are for, which another tells
    (Traceloop's of OpenAI's client below its agents, and of LangChain for JavaScript around that; Langtrace's below
    LangChain's models)."""
    found, gappy, endless = _first_told(layers)
    for at, node in enumerate(layers[1:] if found is not None else (), 1):
        if any(x.requests for x in found or ()):
            break
        if node.span.scope != layers[0].span.scope:
            told, cut, short = _first_told(layers[at : at + 1])
            came, brought = ([r.id for x in inputs or () for r in x.results] for inputs in (found, told))
            joined = any(x.requests for x in told or ()) or not came
            if joined and brought and (any(brought) or not any(came)):
                found, gappy, endless = told, cut, short
    found = _as_it_was(found, layers)
    with_observations(found or [])
    with_late_results(found or [])
    return Input(found, gappy, endless)


def _as_it_was(found: list[Message] | None, layers: list[Node]) -> list[Message] | None:
    """With what instrumentations of these are known to leave out of an input, or to tell otherwise."""
    if found and drops_flags(layers[0].span.scope):
        _flag(found, [n for n in layers if keeps_flags(n.span.scope)])
    if any(prints_results(n.span.scope) for n in layers):
        for result in (r for x in found or () for r in x.results if isinstance(r.content, str)):
            result.content = mapping(str(result.content)) or result.content
    if any(results_by_user(n.span.scope) for n in layers):
        _bring(found or [])
    if found and results_as_words(layers[0].span.scope):
        _bring_each(found)
    if found and reads_late(layers[0].span.scope):
        found = _without_answer(found, layers[0])
    if found and tells_a_turn_in_one(layers[0].span.scope):
        found = [x for message in found for x in _one_by_one(message)]
    if found and tells_text_alone(layers[0].span.scope, layers[0].span.request_model):
        _without_blanks(found)
    return found


def _without_blanks(messages: list[Message]) -> None:
    """Of parts that have no text nothing is told, neither what the user said nor what a tool gave."""
    for x in messages:
        x.text = x.text or None
        for result in (r for r in x.results if r.content == ""):
            result.content = None


def _one_by_one(message: Message) -> Iterator[Message]:
    """Each request, and what came back for it, as messages of their own, with the words before the first."""
    if message.role != "assistant" or not message.requests or any(r.served is None for r in message.requests):
        yield message
        return
    text = message.text
    for request in message.requests:
        back, request.served = request.served, None
        yield Message("assistant", text, requests=[request])
        yield Message("tool", results=[back] if back is not None else [])
        text = None


def _without_answer(found: list[Message], node: Node) -> list[Message]:
    """Without what the model answered, and all that came since: a program puts both into the list of messages that it
    had asked with."""
    said = next((x for x in parsed(node.span.output_messages) or () if x.role == "assistant"), None)
    own = None if said is None else _words_and_ids(said)
    places = [i for i, x in enumerate(found) if x.role == "assistant" and _words_and_ids(x) == own]
    return found[: places[-1]] if places else found


def _words_and_ids(answer: Message) -> tuple[str | None, list[str | None]]:
    return answer.text or None, [r.id for r in answer.requests]


def _flag(messages: list[Message], layers: list[Node]) -> None:
    """Mark the results that were flagged as errors by what another layer tells of them."""
    told = [x for n in layers for x in messages_of(n.input_messages) or ()]
    failed = {r.id for x in told for r in x.results if r.error and r.id}
    for result in (r for x in messages for r in x.results if r.error is None and r.id in failed):
        result.error = True


def _first_told(layers: list[Node]) -> Input:
    """What the first of these layers that tells anything says of the input."""
    for node in layers:
        span = node.span
        pairs = node.side.families["flat_input"].get(span.row)
        if pairs and (numbered := _by_number(node, pairs)) is not None:
            return numbered
        events = node.side.events.get(span.row)
        if events:
            found = event_inputs(events)
            before = _told_before(found, node)
            if before is not None:
                return Input(before)
            if found:
                return Input(found, unordered(layers))
        raw = node.input_messages
        if raw and raw not in NOTHING:
            if '"gen_ai.choice"' in raw:
                value = parse_json(raw)
                if isinstance(value, list):
                    kept = [v for v in value if not (isinstance(v, dict) and v.get("event.name") == "gen_ai.choice")]
                    return Input(messages_of(kept))
            read = parsed(raw)
            if read is not None:
                as_text = input_as_text(span.scope) and may_be_response(span.response_id)
                return Input(opened(read) if as_text else read)
    return Input(None)


def _told_before(found: list[Message], node: Node) -> list[Message] | None:
    """An input's attribute, where events go on with what was answered and what came back for that (TanStack AI)."""
    raw, last = node.input_messages, found[-1] if found else None
    if not raw or last is None or last.role != "tool" or all(x.role != "assistant" for x in found):
        return None
    told = parsed(raw) or []
    at = len(told)
    alike = [(x.role, x.text) for x in told] == [(x.role, x.text) for x in found[:at]]
    return told if alike and 0 < at < len(found) and found[at].role == "assistant" else None


def _by_number(node: Node, pairs: list[tuple[str, Value]]) -> Input | None:
    """What numbered attributes say of the input. None where they name nothing that can be read, and the whole of it is
    told beside them (Microsoft's Agent 365 of OpenAI's kit)."""
    span = node.span
    flat = flattened_messages(pairs, "user", writes_parts(span.scope))
    numbers = first_index(pairs)
    if node.input_messages and not any(map(_read, flat)) and not any(_ROLE.search(key) for key, _ in pairs):
        return None
    if span.dropped == 0 and len(numbers) == max(numbers, default=-1) + 1:
        return Input(with_results(flat, node.input_messages))
    whole = parsed(node.input_messages)
    if whole is not None and (len(whole) > len(flat) or (span.dropped and _said(whole) >= _said(flat))):
        return Input(whole)
    # SDKs drop the oldest attributes or the newest: what comes after the input was then dropped before it.
    answered = span.row in node.side.families["flat_output"] and span.row not in node.side.answers_first
    ends = 0 not in numbers or answered
    return Input(flat, gappy=True, endless=not ends)


def _read(message: Message) -> bool:
    return bool(message.text or message.requests or message.results or message.unreadable)


_ROLE = late(r"(?:^|\.)role$")


def _said(messages: list[Message]) -> int:
    """How many messages beside instructions, which one telling may hold and another not."""
    return sum(x.role != "system" for x in messages)


def begins_with_words(layers: list[Node]) -> bool:
    """Does what one layer tells of an input by numbered attributes plainly begin with words of the system's or the
    user's? Histories are long, and this is seen without reading them."""
    node = layers[0]
    pairs = node.side.families["flat_input"].get(node.span.row)
    if not pairs or len(layers) > 1 or node.span.dropped:
        return False
    first = {key.rpartition(".")[2]: value for key, value in pairs if key in _FIRST}
    said = first.get("content")
    plain = isinstance(said, str) and said and not said.startswith("[{") and not hidden(said)
    return bool(plain) and first.get("role") in ("system", "user")


_FIRST = frozenset(f"0.{around}{key}" for around in ("", "message.") for key in ("role", "content"))


def unordered(layers: list[Node]) -> bool:
    """Is the order of the input's messages not told?"""
    return any(n.span.row in n.side.unordered for n in layers)


def _bring(inputs: list[Message]) -> None:
    """What came back for the tools that an answer without words asked for, told as words of the user."""
    asked = False
    for x in inputs:
        if x.role == "user" and asked and not x.results:
            x.role, x.text, x.results = "tool", None, [Result(None, None, x.text)]
        elif x.role != "tool":
            asked = x.role == "assistant" and not x.text and not x.requests


def _bring_each(inputs: list[Message]) -> None:
    """What came back for the calls of an answer, told as lines of the user's or of one result, an object each."""
    for before, x in pairwise(inputs):
        told = x.results[0].content if len(x.results) == 1 and not x.results[0].id else x.text
        if not before.requests or x.role == "assistant" or not isinstance(told, str):
            continue
        given = [parse_json(line) if line[:1] == "{" else None for line in told.split("\n")]
        if len(given) == len(before.requests) and all(isinstance(v, dict) for v in given):
            x.role, x.text = "tool", None
            x.results = [Result(r.id, r.name, v) for r, v in zip(before.requests, given, strict=True)]
