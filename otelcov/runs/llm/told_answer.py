"""What a model answered, out of all that the spans of one call tell of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from otelcov.dialects.base import OTHER
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message, Request, Result, as_text
from otelcov.runs.content.exchanges import answers, choices, event_outputs
from otelcov.runs.content.flattened import first_index, flattened_messages
from otelcov.runs.content.jsontext import NOTHING, hidden, parse_json
from otelcov.runs.content.prose import react_request
from otelcov.runs.rules.answers import (
    answers_in_pieces,
    drops_calls,
    input_as_text,
    marks_requests,
    tells_arguments,
    tells_keys,
    tells_last_piece,
    writes_parts,
)
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.trace.tree import Node

_KEYS = ("replies", "meta")
"""What a generator of Haystack's gives."""
_ENDED = ("length", "max_tokens", "MAX_TOKENS", "content_filter", "refusal", "SAFETY")
"""Reasons why a model may have said nothing."""
OF_ITEM = "fc_"
"""How the id of an item of OpenAI's Responses begins that holds a call, whose own id is another."""


class Answer(NamedTuple):
    """The messages, None where they are not on the wire, and what was seen of them."""

    messages: list[Message] | None
    finish: str | None  # why it ended, if that is to be believed
    ran: bool = False  # it holds results of the tools it asks for: there were earlier answers
    react: bool = False  # a text asks for a tool
    blank: bool = False  # an empty text is all that is told


@dataclass(slots=True)
class AnswerOf:
    """One call to a model, as its answer is read: the spans that tell of it, and what else is known by then."""

    layers: list[Node]
    inputs: Callable[[], list[Message] | None]
    tokens: int | None
    finish: str | None
    model: str | None

    def read(self) -> Answer:
        best, ran = self._fullest()
        if best is None or not any(o.requests for o in best):
            told = _requests_on_span(self.layers) or _requests_in_events(self.layers)
            told = told or _requests_in_pieces(self.layers)
            if told:
                best = [Message("assistant", best[0].text if best else None, requests=told)]
        if not best:
            return Answer(best, self.finish, ran)
        if self._piece(best):
            return Answer(None, self.finish, ran)
        blank = self._blank(best)
        if blank or self._untold(best):
            as_text = any(input_as_text(n.span.scope) for n in self.layers)
            why = self.finish or next((o.finish_reason for o in best if asks(o.finish_reason)), None)
            return Answer(None, None if as_text else why, ran, blank=blank)  # it says `stop` of all Responses
        if self._arguments_alone(best) or any(_run_together(r.arguments) for o in best for r in o.requests):
            return Answer(None, self.finish, ran)
        best, react = self._without_history(best), False
        for o in best:
            for r in o.requests if o.finish_reason == "" else ():  # told before the stream had come to its end
                r.arguments = r.arguments or None
            if not o.requests:
                request = react_request(o.text)
                if request is not None and self._offered_none():
                    o.requests.append(request)
                    react = True
        return Answer(best, self.finish, ran, react)

    def _fullest(self) -> tuple[list[Message] | None, bool]:
        """The telling of the answer that holds most, and whether tools ran within it."""
        best: list[Message] | None = None
        several = False
        for node in self.layers:
            candidates = _tellings(node)
            texts = [
                found[0].text for found in candidates if len(found) == 1 and found[0].text and not found[0].requests
            ]
            for found in candidates:
                said = [o for o in found if o.role == "assistant"]
                if len(said) == 1 and said[0].text is None and texts:
                    said[0].text = texts[0]  # told apart from the calls (LiteLLM)
                ran = len(said) < len(found) and self._ran(found)
                if said and (best is None or (_weight(said), ran) > (_weight(best), several)):
                    best, several = said, ran
        return best, several

    def _piece(self, answer: list[Message]) -> bool:
        """A text of fewer letters than the answer has tokens: what a stream ended with."""
        if not any(tells_last_piece(n.span.scope) for n in self.layers) or any(o.requests for o in answer):
            return False
        return sum(len(o.text or "") for o in answer) < (self.tokens or 0)

    def _untold(self, answer: list[Message]) -> bool:
        """A text without a word, where the model did answer: by calls, which this instrumentation does not tell
        (OpenInference's for Bedrock up to 0.1.31, of several calls some line breaks), or in words that somebody left
        out, of which nothing says why they ended there."""
        if any(o.requests or o.text is None or (o.text.strip() and not hidden(o.text)) for o in answer):
            return False
        if self.finish is None and (self.tokens is None or any(o.text for o in answer)):
            return True
        answered = self.tokens or asks(self.finish) or any(drops_calls(n.span.scope) for n in self.layers)
        return bool(answered) and self.finish not in _ENDED

    def _blank(self, answer: list[Message]) -> bool:
        """An empty text, where nothing says that the model did answer (Mastra for Arize, of a call that failed)."""
        if any(o.text or o.requests or o.text is None for o in answer):
            return False
        return self.tokens is None and self.finish is None and self.model is None

    def _arguments_alone(self, answer: list[Message]) -> bool:
        """What reads like the arguments of calls that are not told, where tools were offered."""
        if not any(tells_arguments(n.span.scope) and n.definitions for n in self.layers):
            return False
        return all((o.text or "{").startswith("{") and not o.requests for o in answer)

    def _without_history(self, answer: list[Message]) -> list[Message]:
        """The answer without what the model had said before: calls whose results stand in the very input."""
        before = [o for o in answer[:-1] if o.requests]
        if not before:
            return answer
        known = {r.id for x in self.inputs() or [] for r in x.results if r.id}
        told = {id(o) for o in before if all(r.id in known for r in o.requests)}
        return [o for o in answer if id(o) not in told]

    def _ran(self, answer: list[Message]) -> bool:
        """Were tools that this answer asks for run before it was complete? History repeated in it tells of others."""
        results: dict[str | None, Result] = {
            r.id: r for x in answer if x.role != "assistant" for r in x.results if r.id
        }
        asked = [r for x in answer for r in x.requests if r.id in results]
        before = {r.id for x in self.inputs() or [] for r in x.requests} if asked else set()
        for request in asked:
            if request.id not in before:
                request.served = results[request.id]
        return any(request.id not in before for request in asked) or self._ran_in_order(answer)

    def _ran_in_order(self, answer: list[Message]) -> bool:
        """The same where results have no ids (Gemini): they follow requests, and what the input shows is history."""
        bare = not any(r.id for x in answer for r in x.results)
        asked = [(x, r) for x in answer for r in x.requests if bare or not r.id]
        came = [r for x in answer for r in x.results if not r.id]
        if not came or [r.name for _, r in asked[: len(came)]] != [r.name for r in came]:
            return False
        known = sum(len(x.requests) for x in self.inputs() or [])
        for message, request in asked[:known]:
            message.requests.remove(request)
        for (_, request), result in zip(asked[known:], came[known:], strict=False):  # the last may be left to do
            request.served = result
        return len(came) > known

    def _offered_none(self) -> bool:
        """Text actions count only where no structured tools were offered."""
        return all(_offers_none(n.definitions) for n in self.layers) and not any(
            n.span.row in n.side.families["flat_tools"] for n in self.layers
        )


_BESIDE = ("messages", "num_output")


def _offers_none(definitions: str | None) -> bool:
    """Is there none, also where a model's parameters stand for them, which may leave tools out (LiteLLM), or those of
    the model alone (LlamaIndex)?"""
    if definitions is None or definitions in NOTHING:
        return True
    told = parse_json(definitions) if any(f'"{key}"' in definitions for key in _BESIDE) else None
    return isinstance(told, dict) and not told.keys().isdisjoint(_BESIDE) and not any(_TOOLS.search(k) for k in told)


_TOOLS = late("^(?!is_).*(?:tool|function)", re.I | re.S)


def _tellings(node: Node) -> list[list[Message]]:
    """The messages of the answer in each form in which this span tells it."""
    span, found = node.span, []
    pairs = node.side.families["flat_output"].get(span.row)
    if pairs:
        told = flattened_messages(pairs, "assistant", writes_parts(span.scope))
        if tells_keys(span.scope):
            told = [x for x in told if x.text not in _KEYS]
        found.append(_in_one(told, 0 in first_index(pairs)) if answers_in_pieces(span.scope) else told)
    events = node.side.events.get(span.row)
    if events:
        found.append(event_outputs(events))
    if span.output_messages and span.output_messages not in NOTHING:
        found.append(answers(span.output_messages))
    if span.output and span.output != span.output_messages and span.output[:1] in "[{":
        found.append(answers(span.output))
    if not found and (both := node.input_messages) and '"gen_ai.choice"' in both:
        found.append(choices(parse_json(both)))
    return found


def _in_one(pieces: list[Message], whole: bool) -> list[Message]:
    """The one answer that pieces are, which is not told where the first of them were lost."""
    if len(pieces) < 2 or any(x.role != "assistant" or x.requests or x.text is None for x in pieces):
        return pieces
    text = "".join(x.text or "" for x in pieces) if whole else None
    return [Message("assistant", text, finish_reason=pieces[-1].finish_reason, unreadable=not whole)]


def _weight(found: list[Message]) -> tuple[int, int, int, int]:
    return (
        sum(len(o.requests) for o in found),
        sum(1 for o in found for r in o.requests if r.arguments is not None)
        + sum(1 for o in found for r in o.requests if r.id and not r.id.startswith(OF_ITEM)),
        sum(o.text is not None for o in found),
        sum(r.served is not None and r.served.told() for o in found for r in o.requests),
    )


def _requests_on_span(layers: list[Node]) -> list[Request]:
    """Calls that a model span names by the tool keys (OpenLIT): several are joined by a comma and a blank."""
    for node in layers:
        span = node.span
        if not span.tool or not span.call_id or span.tool == span.call_id:
            continue
        names, ids = span.tool.split(", "), span.call_id.split(", ")
        if len(names) != len(ids):
            continue
        raw = span.arguments
        arguments = parse_json(f"[{raw}]") if raw else None
        if not isinstance(arguments, list) or len(arguments) != len(names):
            arguments = [raw if len(names) == 1 else None for _ in names]
        return [Request(i, n, a) for n, i, a in zip(names, ids, arguments, strict=True)]
    return []


def _requests_in_events(layers: list[Node]) -> list[Request]:
    """Calls that events of a model's span tell, one each (TraceKit)."""
    for node in layers:
        told = [a for name, a in node.side.events.get(node.span.row, ()) if name == "gen_ai.tool.call"]
        found = [(a.get("gen_ai.tool.call.id"), a.get("gen_ai.tool.name"), a) for a in told]
        if found and all(isinstance(name, str) and name for _, name, _ in found):
            return [Request(as_text(i), name, a.get("gen_ai.tool.call.arguments")) for i, name, a in found]
    return []


def _requests_in_pieces(layers: list[Node]) -> list[Request]:
    """Calls that pieces of a stream ask for, each by a span of its own, where the whole answer is not told (Mastra, of
    an agent that waits for leave), or marks in the place of any answer (AgentOps)."""
    found = []
    for node in layers:
        held = [x for n in node.children if n.span.name.startswith("model_inference") for x in n.children]
        for piece in sorted((*node.children, *held), key=lambda n: n.start):
            if marks_requests(piece.span.scope) and piece.kind == OTHER and piece.span.tool:
                found.append(Request(piece.span.call_id, piece.span.tool, piece.span.arguments))
            told = piece.span.output if piece.span.scope == node.span.scope and piece.kind == OTHER else None
            value = parse_json(told) if told is not None and told.startswith('{"toolName":') else None
            if isinstance(value, dict) and isinstance(value.get("toolCallId"), str) and "toolInput" in value:
                found.append(Request(value["toolCallId"], value["toolName"], value["toolInput"]))
    return found


def _run_together(arguments: Any) -> bool:
    """Are these the arguments of several calls, one after another? Some instrumentations add up a stream's pieces
    without a look at whose they are; the names they tell are as wrong."""
    if not isinstance(arguments, str) or "}{" not in arguments:
        return False
    return parse_json(arguments) is None and parse_json(f"[{arguments.replace('}{', '},{')}]") is not None
