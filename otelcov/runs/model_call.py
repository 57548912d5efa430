"""One request to a model and what came of it, as the spans that recorded it tell."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from otelcov.dialects.base import CHAIN, LLM, TOOL
from otelcov.runs.boundaries import asks, broke
from otelcov.runs.chat import Message, Request, Result
from otelcov.runs.exchanges import answers, choices, event_inputs, event_outputs, opened, parsed, with_results
from otelcov.runs.flattened import first_index, flattened_messages
from otelcov.runs.habits import adds_up
from otelcov.runs.jsontext import UNGIVEN, parse_json
from otelcov.runs.messages import messages_of
from otelcov.runs.observed import with_observations
from otelcov.runs.prose import react_request
from otelcov.runs.reprs import mapping
from otelcov.runs.spans import Span
from otelcov.runs.tree import Node, failure

_NOTHING = ("", "null", "[]", "{}", "None")
_ENDED = ("length", "max_tokens", "MAX_TOKENS", "content_filter", "refusal", "SAFETY")
"""Reasons why a model may have said nothing."""
_AS_TEXT = re.compile(r"^@traceloop/instrumentation-openai$")
"""Instrumentations that tell the input of OpenAI's Responses, a list of items, as the text of one user message."""
_RESULTS_PRINTED = re.compile(r"^openlit\.instrumentation\.(?:google_ai_studio|vertexai)$")
"""Instrumentations that tell the object in which a result goes to Gemini as Python prints it."""
_LAST_PIECE = re.compile(r"^opentelemetry\.instrumentation\.google_generativeai$")
_LAST_ONLY = re.compile(r"^openlit\.instrumentation\.openai$|^@openlit/instrumentation-openai$")


_NOTED_LATE = re.compile(r"^(?:gcp\.vertex\.agent|opentelemetry\.util\.genai\.handler)$")
"""Instrumentations that tell what a call was once it was answered, and no error (Google's ADK for JavaScript, Splunk's
of OpenAI's agents)."""
_ENDS_WELL = re.compile(r"^opentelemetry\.instrumentation\.openai_agents$")
"""Instrumentations that, as long as they wrote flat messages, told no answer of chat completions and that all of them
went well, whatever OpenAI's kit knew (Traceloop's, 0.47)."""
_BROUGHT_BY_USER = re.compile(r"^@traceloop/instrumentation-llamaindex$")
"""Instrumentations whose history leaves out what was asked for, and tells what came back as the user's."""
_CALLS_FUNCTIONS = re.compile(r"instrumentation\.google_gen(?:ai|erativeai)$")
"""Instrumentations of Google's client that open no spans for the functions that it calls."""


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
        "error",
        "finish",
        "gappy",
        "input_tokens",
        "layers",
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
        self.error: tuple[str, str] | None = next((told for n in layers if (told := failure(n)) is not None), None)
        self.finish: str | None = None
        self.cut = False
        for span in spans:
            if self.finish is None:
                self.finish = _told_end(span.scope, finish_reason(span.finish))
            self.cut = self.cut or bool(span.dropped) or _last_only(span)
        self.error = self.error or next((told for n in layers if (told := _told_in_stream(n)) is not None), None)
        if self.error is None and broke(self.finish):
            self.error = ("", "")
        self.turn = -1
        self.context: Any = None
        self.text_react = False
        self.several = False  # its answer holds results of the tools it asks for: there were earlier answers
        self.gappy = False  # messages of the input were lost to the attribute limit
        self._blank = False
        self._outputs: list[Message] | bool | None = False
        self._inputs: list[Message] | bool | None = False
        self._asked: list[Request] | None = None

    @property
    def outputs(self) -> list[Message] | None:
        if self._outputs is False:
            self._outputs = self._read_outputs()
            if self.finish is None and self._outputs:
                told = next((o.finish_reason for o in self._outputs if o.finish_reason), None)
                self.finish = told if all(_told_end(n.span.scope, told) for n in self.layers) else None
        return self._outputs  # type: ignore[return-value]

    @property
    def unordered(self) -> bool:
        """Is the order of the input's messages not told?"""
        return any(n.span.row in n.side.unordered for n in self.layers)

    @property
    def inputs(self) -> list[Message] | None:
        if self._inputs is False:
            self._inputs = self._read_inputs()
        return self._inputs  # type: ignore[return-value]

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
        return not any(n.span.scope == "gcp.vertex.agent" for n in self.layers) and any(
            re.search("google|gemini|vertex", f"{n.span.scope} {n.span.request_model} {n.span.response_model}", re.I)
            for n in self.layers
        )

    @property
    def loops(self) -> bool:
        """May it stand for several calls and the tools between them, and show none? Google's client calls functions
        of Python itself: they are offered by name alone, or with a schema of what they return."""
        for n in self.layers:
            if not _CALLS_FUNCTIONS.search(n.span.scope):
                continue
            if self.error is not None and '"response_json_schema"' in (n.input_messages or ""):
                return True
            offered = parse_json(n.definitions)
            if isinstance(offered, list) and offered and all(_name_alone(tool) for tool in offered):
                return True
        return False

    @property
    def overwrites(self) -> bool:
        """Does it stand in the span of who reads a stream, over what other calls wrote there? LangSmith's for
        JavaScript do, and none of its own model spans holds tools."""
        return any(n.span.scope == "langsmith" and any(x.kind == TOOL for x in n.children) for n in self.layers)

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

    @property
    def requests(self) -> list[Request]:
        """Those that were left to the agent: the provider did not run them itself."""
        return [r for r in self.asked if r.served is None]

    def _read_outputs(self) -> list[Message] | None:
        best: list[Message] | None = None
        for node in self.layers:
            span = node.span
            candidates = []
            pairs = node.side.families["flat_output"].get(span.row)
            if pairs:
                candidates.append(flattened_messages(pairs, "assistant"))
            events = node.side.events.get(span.row)
            if events:
                candidates.append(event_outputs(events))
            if span.output_messages and span.output_messages not in _NOTHING:
                candidates.append(answers(span.output_messages))
            if span.output and span.output != span.output_messages and span.output[:1] in "[{":
                candidates.append(answers(span.output))
            if not candidates and (both := node.input_messages) and '"gen_ai.choice"' in both:
                candidates.append(choices(parse_json(both)))
            texts = [
                found[0].text for found in candidates if len(found) == 1 and found[0].text and not found[0].requests
            ]
            for found in candidates:
                said = [o for o in found if o.role == "assistant"]
                if len(said) == 1 and said[0].text is None and texts:
                    said[0].text = texts[0]  # told apart from the calls (LiteLLM)
                ran = len(said) < len(found) and self._ran(found)
                if said and (best is None or (_weight(said), ran) > (_weight(best), self.several)):
                    best, self.several = said, ran
        if best is None or not any(o.requests for o in best):
            told = _requests_on_span(self.layers)
            if told:
                best = [Message("assistant", best[0].text if best else None, requests=told)]
        if best and self._piece(best):
            return None
        if best and self._unsaid(best):
            if any(_AS_TEXT.match(n.span.scope) for n in self.layers):
                self.finish = None  # it says `stop` of whatever a Response was
            return None
        if best and self._arguments_alone(best):
            return None
        if best and any(_run_together(r.arguments) for o in best for r in o.requests):
            return None
        if best:
            best = self._without_history(best)
            for o in best:
                for r in o.requests if o.finish_reason == "" else ():  # told before the stream had come to its end
                    r.arguments = r.arguments or None
                if not o.requests:
                    request = react_request(o.text)
                    if request is not None and self._is_react():
                        o.requests.append(request)
                        self.text_react = True
        return best

    def was(self, answer: Message) -> None:
        """The whole answer, by a later input."""
        self._outputs, self._asked = [Message("assistant", answer.text, list(answer.requests))], None

    def _piece(self, answer: list[Message]) -> bool:
        """A text of fewer letters than the answer has tokens: what a stream ended with."""
        if not pieces(self) or any(o.requests for o in answer):
            return False
        return sum(len(o.text or "") for o in answer) < (self.output_tokens or 0)

    def _unsaid(self, answer: list[Message]) -> bool:
        """An empty text, where the model did answer - by calls, which this instrumentation does not tell - or where
        nothing says that it did (Mastra for Arize, of a call that failed)."""
        if any(o.text or o.requests or o.text is None for o in answer):
            return False
        if self.output_tokens or asks(self.finish):
            return self.finish not in _ENDED
        self._blank = self.output_tokens is None and self.finish is None and self.response_model is None
        return self._blank

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
        known = {r.id for x in self.inputs or [] for r in x.results if r.id}
        told = {id(o) for o in before if all(r.id in known for r in o.requests)}
        return [o for o in answer if id(o) not in told]

    def _ran(self, answer: list[Message]) -> bool:
        """Were tools that this answer asks for run before it was complete? History repeated in it tells of others."""
        results: dict[str | None, Result] = {
            r.id: r for x in answer if x.role != "assistant" for r in x.results if r.id
        }
        asked = [r for x in answer for r in x.requests if r.id in results]
        before = {r.id for x in self.inputs or [] for r in x.requests} if asked else set()
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
        known = sum(len(x.requests) for x in self.inputs or [])
        for message, request in asked[:known]:
            message.requests.remove(request)
        for (_, request), result in zip(asked[known:], came[known:], strict=False):  # the last may be left to do
            request.served = result
        return len(came) > known

    def _is_react(self) -> bool:
        """Text actions count only where no structured tools were offered."""
        return all(n.definitions is None or n.definitions in _NOTHING for n in self.layers) and not any(
            n.span.row in n.side.families["flat_tools"] for n in self.layers
        )

    def _read_inputs(self) -> list[Message] | None:
        """The first layer's, unless that leaves out all calls, and results or what they are for, which another tells
        (Traceloop's of OpenAI's client below its agents, and of LangChain for JavaScript around that; Langtrace's below
        LangChain's models)."""
        found, gappy = self._inputs_of(self.layers)
        for at, node in enumerate(self.layers[1:] if found is not None else (), 1):
            if any(x.requests for x in found or ()):
                break
            if node.span.scope != self.layers[0].span.scope:
                told, cut = self._inputs_of(self.layers[at : at + 1])
                came, brought = ([r.id for x in inputs or () for r in x.results] for inputs in (found, told))
                joined = any(x.requests for x in told or ()) or not came
                if joined and brought and (any(brought) or not any(came)):
                    found, gappy = told, cut
        self.gappy = self.gappy or gappy
        if any(_RESULTS_PRINTED.match(n.span.scope) for n in self.layers):
            for result in (r for x in found or () for r in x.results if isinstance(r.content, str)):
                result.content = mapping(str(result.content)) or result.content
        if any(_BROUGHT_BY_USER.match(n.span.scope) for n in self.layers):
            _bring(found or [])
        with_observations(found or [])
        return found

    def _inputs_of(self, layers: list[Node]) -> tuple[list[Message] | None, bool]:
        """What the first of these layers that tells anything says of the input, and whether messages of it are missing
        or may be out of order."""
        for node in layers:
            span = node.span
            pairs = node.side.families["flat_input"].get(span.row)
            if pairs:
                flat = flattened_messages(pairs, "user")
                numbers = first_index(pairs)
                if span.dropped == 0 and len(numbers) == max(numbers, default=-1) + 1:
                    return with_results(flat, node.input_messages), False
                whole = parsed(node.input_messages)
                if whole is not None and len(whole) > len(flat):
                    return whole, False
                return flat, True
            events = node.side.events.get(span.row)
            if events:
                found = event_inputs(events)
                if found:
                    return found, self.unordered
            raw = node.input_messages
            if raw and raw not in _NOTHING:
                if '"gen_ai.choice"' in raw:
                    value = parse_json(raw)
                    if isinstance(value, list):
                        kept = [
                            v for v in value if not (isinstance(v, dict) and v.get("event.name") == "gen_ai.choice")
                        ]
                        return messages_of(kept), False
                read = parsed(raw)
                if read is not None:
                    return (opened(read) if _AS_TEXT.match(span.scope) and _may_be_response(span) else read), False
        return None, False

    @property
    def truncated_input(self) -> bool:
        return any(cut_short(n.input_messages) for n in self.layers)

    @property
    def truncated_output(self) -> bool:
        return any(cut_short(n.span.output_messages) for n in self.layers)


def cut_short(raw: str | None) -> bool:
    """Does this begin as JSON and not end as JSON?"""
    return bool(raw) and str(raw)[:1] in "[{" and parse_json(str(raw)) is None


def _bring(inputs: list[Message]) -> None:
    """What came back for the tools that an answer without words asked for, told as words of the user."""
    asked = False
    for x in inputs:
        if x.role == "user" and asked and not x.results:
            x.role, x.text, x.results = "tool", None, [Result(None, None, x.text)]
        elif x.role != "tool":
            asked = x.role == "assistant" and not x.text and not x.requests


def unheard(calls: list[ModelCall]) -> list[ModelCall]:
    """Those of which nothing is told, or no answer, where others are told of in the same way, or always are once they
    were answered: they may have failed."""
    silent = {id(c) for c in calls if c.silent}
    if not any(c.error is None and id(c) not in silent for c in calls):
        return [c for c in calls if id(c) in silent and any(_NOTED_LATE.match(n.span.scope) for n in c.layers)]
    heard = {n.span.scope for c in calls if c.error is None and not c.unanswered for n in c.layers}
    return [
        c
        for c in calls
        if id(c) in silent
        or c.blank
        or (c.unanswered and (all(_heard(n, heard) for n in c.layers) or _in_a_broken_step(c)))
        or (len(calls) == 1 and c.unanswered and _only_asked(c))
    ]


def _only_asked(call: ModelCall) -> bool:
    """Are the words it was asked told, and neither here nor above that it went well, or what came of it? It may have
    been broken off as it streamed (the AI SDK 7)."""
    spans = [n.span for n in (*call.layers, *call.node.ancestors())]
    return call.inputs is not None and all(s.status_code != 1 and s.output is None for s in spans)


def _in_a_broken_step(call: ModelCall) -> bool:
    """Did the step fail that asked, after this and nothing else? A stream that was refused once it was read says that
    it went well (LlamaIndex's own)."""
    step = call.layers[-1].parent
    while step is not None and step.kind == CHAIN and failure(step) is None:
        step = step.parent
    if step is None or step.kind != CHAIN:
        return False
    return all(n.start <= call.start for n in step.below() if n.kind in (LLM, TOOL) and n not in call.layers)


def _heard(node: Node, scopes: Collection[str]) -> bool:
    """Would an answer be told here, or would nothing be told that failed?"""
    flat = node.span.row in node.side.families["flat_input"]
    return node.span.scope in scopes or (flat and _ENDS_WELL.match(node.span.scope) is not None)


def in_order(calls: Iterable[ModelCall]) -> list[ModelCall]:
    """Model calls by their times. Of those that began at once - JavaScript's spans begin at whole milliseconds - who
    was told more came later: a conversation grows."""
    out = sorted(calls, key=lambda c: (c.start, c.end, c.node.span.span_id))
    if any(a.start == b.start for a, b in pairwise(out)):
        out.sort(key=lambda c: (c.start, len(c.inputs or ())))
    return out


@lru_cache(maxsize=1024)
def finish_reason(raw: str | None) -> str | None:
    """The first of the finish reasons that an attribute holds."""
    if not raw:
        return None
    value = parse_json(raw) if raw[:1] in '["' else raw
    if isinstance(value, list):
        value = next((v for v in value if isinstance(v, str) and v), None)
    return value if isinstance(value, str) and value != "N/A" and not UNGIVEN.match(value) else None


def ends_stream(scope: str) -> bool:
    """Is a model's call the last span of its stream here, so that what it asked for began before it, in the same frame
    (Codex)?"""
    return scope.startswith("codex")


def says_stop(scope: str) -> bool:
    """Does this instrumentation say `stop` of every answer, whatever its provider said?"""
    return scope == "agentscope" or _OF_CHATS.match(scope) is not None


def tells_arguments(scope: str) -> bool:
    """Does this instrumentation tell of a stream that may ask for tools their arguments alone, as a text?"""
    return scope == "langtrace_python_sdk.instrumentation.openai.instrumentation"


_OF_CHATS = re.compile(r"microsoft\.opentelemetry\..*openai_agents")


def _told_end(scope: str, finish: str | None) -> str | None:
    return None if finish == "stop" and says_stop(scope) else finish


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


def _name_alone(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.keys() == {"name"}


OF_ITEM = "fc_"
"""How the id of an item of OpenAI's Responses begins that holds a call, whose own id is another."""


def _weight(found: list[Message]) -> tuple[int, int, int]:
    return (
        sum(len(o.requests) for o in found),
        sum(1 for o in found for r in o.requests if r.arguments is not None)
        + sum(1 for o in found for r in o.requests if r.id and not r.id.startswith(OF_ITEM)),
        sum(o.text is not None for o in found),
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


def _run_together(arguments: Any) -> bool:
    """Are these the arguments of several calls, one after another? Some instrumentations add up a stream's pieces
    without a look at whose they are; the names they tell are as wrong."""
    if not isinstance(arguments, str) or "}{" not in arguments:
        return False
    return parse_json(arguments) is None and parse_json(f"[{arguments.replace('}{', '},{')}]") is not None


def _last_only(span: Span) -> bool:
    """Does this instrumentation tell only the last of the calls that an answer, one of OpenAI's Responses, asks for?"""
    return _LAST_ONLY.match(span.scope) is not None and (span.response_id or "").startswith("resp_")


def last_only(call: ModelCall) -> bool:
    """Does this instrumentation tell only the last of the calls that this answer asks for, or none beside a text?"""
    return any(_last_only(n.span) or _text_only(n.span) for n in call.layers)


def _text_only(span: Span) -> bool:
    return (span.scope, span.name) == ("langfuse-sdk", "OpenAI.responses")


def hides_requests(call: ModelCall) -> bool:
    """May it have asked for tools that only a later input tells? Of some answers nothing is told, or no more than that
    they asked (AgentOps), and Traceloop and Langfuse for JavaScript leave out what stands beside a text in one of
    OpenAI's Responses."""
    if call.error is not None or call.outputs is None:
        return call.error is None
    if call.asked:
        return False
    return (asks(call.finish) and not call.text) or any(
        (_AS_TEXT.match(n.span.scope) and (n.span.response_id or "").startswith("resp_")) or _text_only(n.span)
        for n in call.layers
    )


def pieces(call: ModelCall) -> bool:
    """Does this instrumentation tell of a stream its last piece, and not that it was one?"""
    return any(_LAST_PIECE.search(n.span.scope) for n in call.layers)


def items_left_out(call: ModelCall) -> bool:
    """Does it tell of its input nothing but what the user said, each time alike, whatever was asked for and came back
    (OpenLIT, of OpenAI's Responses)?"""
    return _last_only(call.node.span) and not any(x.requests or x.results for x in call.inputs or ())


def _may_be_response(span: Span) -> bool:
    return span.response_id is None or span.response_id.startswith("resp_")
