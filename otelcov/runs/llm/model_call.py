"""One request to a model and what came of it, as the spans that recorded it tell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from otelcov.dialects.base import LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message, Request
from otelcov.runs.content.jsontext import UNGIVEN, cut_short, parse_json
from otelcov.runs.llm.told_answer import AnswerOf
from otelcov.runs.llm.told_input import begins_with_words, read_input, unordered
from otelcov.runs.rules.answers import (
    adds_up,
    calls_functions,
    says_alike,
    says_stop,
    spans_loops,
    tells_last_call,
    tells_last_piece,
    tells_last_use,
)
from otelcov.runs.rules.boundaries import broke
from otelcov.runs.rules.habits import holds_others, of_adk
from otelcov.runs.trace.spans import Span
from otelcov.runs.trace.tree import Node, failure

ASKED = "(tool_calls)"
"""In place of the reason why an answer ended, where all that is told is that it asked for tools."""


class ModelCall:
    """One request to a model. `outputs` is None where the answer is not on the wire; `inputs` likewise."""

    __slots__ = (
        "_asked",
        "_blank",
        "_inputs",
        "_outputs",
        "agent",
        "context",
        "cut",
        "end",
        "endless",
        "error",
        "finish",
        "gappy",
        "input_tokens",
        "layers",
        "limit",
        "node",
        "output_tokens",
        "request_model",
        "response_model",
        "several",
        "start",
        "text_react",
        "turn",
    )

    def __init__(self, node: Node, layers: list[Node]) -> None:
        self.node, self.layers = node, layers
        spans = [n.span for n in layers]
        outermost = layers[-1]
        self.agent = outermost.agent or node.agent
        self.start, self.end = node.start, node.end
        self.request_model = _first(spans, "request_model")
        self.response_model = _first(spans, "response_model")
        self.input_tokens: int | None = _first(spans, "input_tokens")
        counted = spans if len(spans) == 1 else sorted(spans, key=lambda span: adds_up(span.scope))
        self.output_tokens: int | None = _first(counted, "output_tokens")
        if self.input_tokens == 0:  # no model reads nothing: a sum over answers without usage
            self.input_tokens, self.output_tokens = None, self.output_tokens or None
        self.error: tuple[str, str] | None = next(
            (told for n in layers if (told := _failed(n, node)) is not None), None
        )
        self.finish: str | None = None
        self.cut = False
        for span in spans:
            if self.finish is None:
                self.finish = _told_end(span, finish_reason(span.finish))
            self.cut = self.cut or bool(span.dropped) or tells_last_call(span.scope, span.response_id)
        if self.finish is None and any(span.tool_error == "asked" for span in spans):
            self.finish = ASKED
        self.error = self.error or next((told for n in layers if (told := _told_in_stream(n)) is not None), None)
        if self.error is None and broke(self.finish):
            self.error = ("", "")
        if self.error is None and (vain := _tried_in_vain(node)) is not None:
            self.error, self.finish, self.response_model = vain, None, None
        if any(span.dropped for span in spans) and None in (self.input_tokens, self.output_tokens):
            self.input_tokens = self.output_tokens = None  # one of the two was dropped: no sum has half of a call
        self.turn = -1
        self.limit: int | None = None  # the length at which values of its run were cut
        self.context: Any = None
        self.text_react = False
        self.several = False  # there were earlier answers, or may have been
        self.gappy = False  # messages of the input were lost to the attribute limit
        self.endless = False  # … perhaps its newest
        self._blank = False
        self._outputs: list[Message] | bool | None = False
        self._inputs: list[Message] | bool | None = False
        self._asked: list[Request] | None = None

    @property
    def outputs(self) -> list[Message] | None:
        if self._outputs is False:
            told = AnswerOf(
                self.layers, lambda: self.inputs, self.output_tokens, self.finish, self.response_model
            ).read()
            self._outputs, self.finish, self.several, self.text_react, self._blank = told
            if self.finish in (None, ASKED) and self._outputs:
                reason = next((o.finish_reason for o in self._outputs if o.finish_reason), None)
                if reason is not None and all(_told_end(n.span, reason) for n in self.layers):
                    self.finish = reason
        return self._outputs  # type: ignore[return-value]

    @property
    def unordered(self) -> bool:
        """Is the order of the input's messages not told?"""
        return unordered(self.layers)

    @property
    def inputs(self) -> list[Message] | None:
        if self._inputs is False:
            self._inputs, gappy, self.endless = read_input(self.layers)
            self.gappy = self.gappy or gappy
        return self._inputs  # type: ignore[return-value]

    @property
    def given_words(self) -> bool:
        """Is any of the words that it was given told?"""
        if self._inputs is False and begins_with_words(self.layers):
            return True
        return any(x.text is not None for x in self.inputs or ())

    @property
    def silent(self) -> bool:
        """Do its spans tell nothing of it?"""
        if self.error is not None or self.finish is not None or self.input_tokens is not None:
            return False
        spans = [n.span for n in self.layers]
        told = (self.request_model, self.response_model, self.output_tokens, _first(spans, "response_id"))
        return all(fact is None for fact in told) and self.outputs is None and self.inputs is None

    @property
    def unanswered(self) -> bool:
        """Is nothing told of an answer to it, whatever is told of what was asked, and nothing left out?"""
        spans = [n.span for n in self.layers]
        if (
            self.error is not None
            or self.finish is not None
            or self.outputs is not None
            or any(s.dropped for s in spans)
        ):
            return False
        told = (self.input_tokens, self.output_tokens, self.response_model, _first(spans, "response_id"))
        return all(fact is None for fact in told)

    @property
    def blank(self) -> bool:
        """Is an empty text all that is told of an answer, by what would tell more of one?"""
        return self.outputs is None and self._blank and self.error is None

    @property
    def google(self) -> bool:
        """Gemini says STOP for every answer, tool calls or not; asked by ADK, its tools would have spans of ADK's."""
        return not any(of_adk(n.span.scope) for n in self.layers) and any(
            re.search("google|gemini|vertex", f"{n.span.scope} {n.span.request_model} {n.span.response_model}", re.I)
            for n in self.layers
        )

    @property
    def loops(self) -> bool:
        """May it stand for several calls and the tools between them, and show none? Google's client calls functions
        itself: those of Python are offered by name alone, or with a schema of what they return, those of JavaScript as
        an object with no field that JSON shows. So does what tells of a loop as of a call, where tools were offered."""
        if spans_loops(self.node.span.scope) and (self.node.definitions or not self.node.input_messages):
            return True
        for n in self.layers:
            if not calls_functions(n.span.scope):
                continue
            if self.error is not None and _OF_FUNCTIONS.match(n.span.error_type or self.error[0]):
                return True  # there was an answer, which asked for one
            if self.error is not None and '"response_json_schema"' in (n.input_messages or ""):
                return True
            offered = parse_json(n.definitions)
            if isinstance(offered, list) and offered and (all(_name_alone(x) for x in offered) or {} in offered):
                return True
        return False

    @property
    def in_part(self) -> bool:
        """May it have asked for more than is told of its answer? Of a stream some tell the last call alone."""
        return self.cut or any(
            tells_last_piece(n.span.scope) or tells_last_use(n.span.scope, n.span.name) for n in self.layers
        )

    @property
    def overwrites(self) -> bool:
        """Does it stand in the span of who reads a stream, over what other calls wrote there? LangSmith's for
        JavaScript do, and none of its own model spans holds tools."""
        return any(holds_others(n.span.scope) and any(x.kind == TOOL for x in n.children) for n in self.layers)

    @property
    def text(self) -> str | None:
        """The answer's text, None where it is not known; '' for an answer of tool calls alone is None too."""
        for o in reversed(self.outputs or []):
            if o.text is not None and o.role == "assistant":
                return o.text
        return None

    @property
    def asked(self) -> list[Request]:
        """All tool calls of the answer."""
        if self._asked is None:
            self._asked = [r for o in self.outputs or [] if o.role == "assistant" for r in o.requests]
        return self._asked

    def answered(self, message: Message) -> None:
        """Take this for the answer, of which its own spans leave out what it asked for."""
        self._outputs, self._asked = [message], None

    @property
    def requests(self) -> list[Request]:
        """Those that were left to the agent: the provider did not run them itself."""
        return [r for r in self.asked if r.served is None]

    def was(self, answer: Message) -> None:
        """The whole answer, by a later input."""
        self._outputs, self._asked = [Message("assistant", answer.text, list(answer.requests))], None

    @property
    def truncated_input(self) -> bool:
        return any(self._cut_in(n, "flat_input", n.input_messages) for n in self.layers)

    @property
    def truncated_output(self) -> bool:
        return any(self._cut_in(n, "flat_output", n.span.output_messages) for n in self.layers)

    def _cut_in(self, node: Node, family: str, raw: str | None) -> bool:
        """Where each message has attributes of its own, a value that holds all of them may be cut, and they are not."""
        pairs = node.side.families[family].get(node.span.row)
        if not pairs or node.span.dropped:
            return self.cut_off(raw)
        return any(isinstance(told, str) and self.limit is not None and len(told) >= self.limit for _, told in pairs)

    def cut_off(self, raw: str | None) -> bool:
        """Was this value longer before it was cut?"""
        return cut_short(raw) or (raw is not None and self.limit is not None and len(raw) >= self.limit)


def _tried_in_vain(node: Node) -> tuple[str, str] | None:
    """With what the last attempt in a call failed of which no answer is told (LiveKit's for JavaScript names the model
    that was asked and says `stop` all the same)."""
    span = node.span
    if span.response_id is not None or span.output_tokens or span.output_messages is not None:
        return None
    tries = [n for n in node.children if n.kind is None and n.span.scope == span.scope]
    return failure(max(tries, key=lambda n: n.start)) if tries else None


def in_order(calls: Iterable[ModelCall]) -> list[ModelCall]:
    """Model calls by their times. Of those that began at once - JavaScript's spans begin at whole milliseconds - who
    was told more came later: a conversation grows."""
    out = sorted(calls, key=lambda c: (c.start, c.end, c.node.span.span_id))
    if any(a.start == b.start for a, b in pairwise(out)):
        out.sort(key=lambda c: (c.start, len(c.inputs or ())))
    return out


_UNDER_WAY = ("queued", "in_progress")  # statuses of an answer


@lru_cache(maxsize=1024)
def finish_reason(raw: str | None) -> str | None:
    """The first of the finish reasons that an attribute holds. Of a stream it may hold what each piece said (Sentry, of
    OpenAI's Responses), and an answer that is under way has not ended."""
    if not raw:
        return None
    value = parse_json(raw) if raw[:1] in '["' else raw
    if isinstance(value, list):
        value = next((v for v in value if isinstance(v, str) and v and v not in _UNDER_WAY), None)
    return value if isinstance(value, str) and value not in ("N/A", *_UNDER_WAY) and not UNGIVEN.match(value) else None


def _told_end(span: Span, finish: str | None) -> str | None:
    made_up = finish == "stop" and says_stop(span.scope)
    return None if made_up or finish == says_alike(span.scope, span.response_id) else finish


def _failed(layer: Node, node: Node) -> tuple[str, str] | None:
    """How this layer of a model's call failed, unless that went well itself and what was done with its answer failed
    (DSPy's adapters, which MLflow tells within what it takes for a model)."""
    told = failure(layer)
    if told is None or layer is node or failure(node) is not None:
        return told
    since = (n for n in layer.children if n.kind not in (LLM, TOOL) and n.start >= node.end)
    return None if any(failure(n) is not None for n in since) else told


def _told_in_stream(node: Node) -> tuple[str, str] | None:
    """The error that came as a piece of a stream (Mastra), on a span of its own below one that ended well."""
    piece = next((n.span for n in node.children if n.span.name == "chunk: 'error'"), None)
    if piece is None:
        return None
    value = parse_json(piece.output)
    told = value.get("error") if isinstance(value, dict) else None
    name, message = (told.get("name"), told.get("message")) if isinstance(told, dict) else (None, told)
    return (name if isinstance(name, str) else "", message if isinstance(message, str) else "")


def _first(spans: list[Span], fact: str) -> Any:
    for span in spans:
        value = getattr(span, fact)
        if value is not None and value != "":
            return value
    return None


_OF_FUNCTIONS = late(r"(?:KeyError|\w*Function\w*Error)$")
"""What Google's client raises over a function that an answer asks for, and that it has not or cannot call."""


def _name_alone(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.keys() == {"name"}
