"""Model calls: one per request to a model, whatever number of layers recorded it.

A second instrumentation layer nests its span in the first one's: the innermost spans are the calls, and what an
enclosing span of a single call knows fills their gaps. Tokens are taken from model spans alone; an agent's sums only
where none of its calls carries any (DIALECTS traps 4 to 6).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL
from otelcov.runs.boundaries import limits
from otelcov.runs.chat import ROLES, Message, Request, Result
from otelcov.runs.flattened import first_index, flattened_messages
from otelcov.runs.jsontext import parse_json, parse_value, to_json
from otelcov.runs.messages import messages_of
from otelcov.runs.prose import react_request, transcript
from otelcov.runs.reprs import with_reprs
from otelcov.runs.semconv import semconv_messages
from otelcov.runs.spans import Span
from otelcov.runs.tree import Node, failure, same_step

_INPUT_ROLES = {"gen_ai.user.message", "gen_ai.system.message", "gen_ai.assistant.message", "gen_ai.tool.message"}
_DETAILS = "gen_ai.client.inference.operation.details"
_AT_ONCE = 64  # calls of one span whose streams may be open
_NOTHING = ("", "null", "[]", "{}", "None")


OVERWRITTEN = "overwritten"
"""Kind of a model span that stands for several calls, each written over the one before (ADK under OpenInference)."""


class ModelCall:
    """One request to a model. `outputs` is None where the answer is not on the wire; `inputs` likewise."""

    __slots__ = (
        "_asked",
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
        self.output_tokens: int | None = _first(spans, "output_tokens")
        if self.input_tokens == 0:  # no model reads nothing: a sum over answers without usage
            self.input_tokens, self.output_tokens = None, self.output_tokens or None
        self.error: tuple[str, str] | None = next((told for n in layers if (told := failure(n)) is not None), None)
        self.finish: str | None = None
        self.cut = False
        for span in spans:
            self.finish = self.finish if self.finish is not None else finish_reason(span.finish)
            self.cut = self.cut or bool(span.dropped)
        self.turn = -1
        self.context: Any = None
        self.text_react = False
        self.several = False  # its answer holds results of the tools it asks for: there were earlier answers
        self.gappy = False  # messages of the input were lost to the attribute limit
        self._outputs: list[Message] | bool | None = False
        self._inputs: list[Message] | bool | None = False
        self._asked: list[Request] | None = None

    @property
    def outputs(self) -> list[Message] | None:
        if self._outputs is False:
            self._outputs = self._read_outputs()
            if self.finish is None and self._outputs:
                self.finish = next((o.finish_reason for o in self._outputs if o.finish_reason), None)
        return self._outputs  # type: ignore[return-value]

    @property
    def inputs(self) -> list[Message] | None:
        if self._inputs is False:
            self._inputs = self._read_inputs()
        return self._inputs  # type: ignore[return-value]

    @property
    def google(self) -> bool:
        """Gemini says STOP for every answer, tool calls or not."""
        return any(
            re.search("google|gemini|vertex", f"{n.span.scope} {n.span.request_model} {n.span.response_model}", re.I)
            for n in self.layers
        )

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
                candidates.append(_event_outputs(events))
            if span.output_messages and span.output_messages not in _NOTHING:
                candidates.append(_answers(span.output_messages))
            if span.output and span.output != span.output_messages and span.output[:1] in "[{":
                candidates.append(_answers(span.output))
            if not candidates and (both := node.input_messages) and '"gen_ai.choice"' in both:
                candidates.append(_choices(parse_json(both)))
            for found in candidates:
                said = [o for o in found if o.role == "assistant"]
                if said and (best is None or _weight(said) > _weight(best)):
                    best = said
                    self.several = len(said) < len(found) and self._ran(found)
        if best is None or not any(o.requests for o in best):
            told = _requests_on_span(self.layers)
            if told:
                best = [Message("assistant", best[0].text if best else None, requests=told)]
        if best and (self._unsaid(best) or any(_run_together(r.arguments) for o in best for r in o.requests)):
            return None
        if best:
            best = self._without_history(best)
            for o in best:
                if not o.requests:
                    request = react_request(o.text)
                    if request is not None and self._is_react():
                        o.requests.append(request)
                        self.text_react = True
        return best

    def _unsaid(self, answer: list[Message]) -> bool:
        """An empty text, where the model did answer: calls, which this instrumentation does not tell."""
        said = any(o.text or o.requests or o.text is None for o in answer)
        return not said and bool(self.output_tokens) and self.finish not in _ENDED

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
        """The same where nobody gives ids (Gemini): results follow requests, and what the input shows is history."""
        asked = [(x, r) for x in answer for r in x.requests if not r.id]
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
        for node in self.layers:
            span = node.span
            pairs = node.side.families["flat_input"].get(span.row)
            if pairs:
                flat = flattened_messages(pairs, "user")
                numbers = first_index(pairs)
                if span.dropped == 0 and len(numbers) == max(numbers, default=-1) + 1:
                    return _with_results(flat, node.input_messages)
                whole = _parsed(node.input_messages)
                if whole is not None and len(whole) > len(flat):
                    return whole
                self.gappy = True
                return flat
            events = node.side.events.get(span.row)
            if events:
                found = _event_inputs(events)
                if found:
                    return found
            raw = node.input_messages
            if raw and raw not in _NOTHING:
                if '"gen_ai.choice"' in raw:
                    value = parse_json(raw)
                    if isinstance(value, list):
                        return messages_of(
                            [v for v in value if not (isinstance(v, dict) and v.get("event.name") == "gen_ai.choice")]
                        )
                found2 = _parsed(raw)
                if found2 is not None:
                    return _opened(found2) if _AS_TEXT.match(span.scope) and _may_be_response(span) else found2
        return None

    @property
    def truncated_input(self) -> bool:
        return any(
            raw is not None and raw[:1] in "[{" and parse_json(raw) is None
            for raw in (n.input_messages for n in self.layers)
        )

    @property
    def truncated_output(self) -> bool:
        return any(
            s.output_messages is not None and s.output_messages[:1] in "[{" and parse_json(s.output_messages) is None
            for s in (n.span for n in self.layers)
        )


def in_order(calls: Iterable[ModelCall]) -> list[ModelCall]:
    """Model calls by their times. Of those that began at once - JavaScript's spans begin at whole milliseconds - who
    was told more came later: a conversation grows."""
    out = sorted(calls, key=lambda c: (c.start, c.end, c.node.span.span_id))
    if any(a.start == b.start for a, b in pairwise(out)):
        out.sort(key=lambda c: (c.start, len(c.inputs or ())))
    return out


_AS_TEXT = re.compile(r"^@traceloop/instrumentation-openai$")
"""Instrumentations that tell the input of OpenAI's Responses, a list of items, as the text of one user message."""


def _may_be_response(span: Span) -> bool:
    return span.response_id is None or span.response_id.startswith("resp_")


def _opened(found: list[Message]) -> list[Message]:
    """The messages that the only one holds as its text."""
    text = found[0].text if len(found) == 1 and found[0].role == "user" else None
    items = parse_json(text) if text and text.startswith('[{"') else None
    if not isinstance(items, list) or not all(isinstance(v, dict) and ("role" in v or "type" in v) for v in items):
        return found
    return messages_of(items) or found


def _with_results(flat: list[Message], raw: str | None) -> list[Message]:
    """Flattened messages hold one result each; of several in one message the raw request beside them has all."""
    asked = {r.id for x in flat for r in x.requests if r.id}
    brought = {r.id for x in flat for r in x.results}
    if raw and brought and not asked <= brought:
        whole = _parsed(raw) or []
        if brought < {r.id for x in whole for r in x.results}:
            return whole
    return _with_error_flags(flat, raw)


def _with_error_flags(flat: list[Message], raw: str | None) -> list[Message]:
    """Flattened messages lose `is_error`; the raw request beside them may have it."""
    if raw and ('"error"' in raw or ("rror" in raw and "is" in raw)) and any(x.results for x in flat):
        flags = {r.id: r.error for x in _parsed(raw) or [] for r in x.results if r.id and r.error is not None}
        for x in flat:
            for r in x.results:
                if r.error is None and r.id in flags:
                    r.error = flags[r.id]
    return flat


_ENDED = ("length", "max_tokens", "MAX_TOKENS", "content_filter", "refusal", "SAFETY")
"""Reasons why a model may have said nothing."""


def _run_together(arguments: Any) -> bool:
    """Are these the arguments of several calls, one after another? Some instrumentations add up a stream's pieces
    without a look at whose they are; the names they tell are as wrong."""
    if not isinstance(arguments, str) or "}{" not in arguments:
        return False
    return parse_json(arguments) is None and parse_json(f"[{arguments.replace('}{', '},{')}]") is not None


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


def _weight(found: list[Message]) -> tuple[int, int, int]:
    return (
        sum(len(o.requests) for o in found),
        sum(1 for o in found for r in o.requests if r.arguments is not None)
        + sum(1 for o in found for r in o.requests if r.id),
        sum(o.text is not None for o in found),
    )


def _first(spans: list[Span], fact: str) -> Any:
    for span in spans:
        value = getattr(span, fact)
        if value is not None and value != "":
            return value
    return None


@lru_cache(maxsize=1024)
def finish_reason(raw: str | None) -> str | None:
    """The first of the finish reasons that an attribute holds."""
    if not raw:
        return None
    value = parse_json(raw) if raw[:1] in '["' else raw
    if isinstance(value, list):
        value = next((v for v in value if isinstance(v, str) and v), None)
    return value if isinstance(value, str) and value != "N/A" else None


def _parsed(raw: str | None) -> list[Message] | None:
    """Messages of an input attribute: JSON, or a plain prompt. None where it is cut short."""
    if not raw:
        return None
    quick = semconv_messages(raw)
    if quick is not None:
        return quick or None
    if raw[:1] in '[{"':
        value = parse_value(raw)
        if value is None and raw[:1] != '"':
            return None if not raw.startswith("[[agent") else [Message("user", raw)]
        if value is not None:
            found = messages_of(value)
            return found or None
    return transcript(raw) or [Message("user", raw)]


def _answers(raw: str) -> list[Message]:
    quick = semconv_messages(raw)
    if quick is not None and all(x.role == "assistant" for x in quick):
        return quick
    if raw[:1] in '[{"':
        value = parse_value(raw)
        if value is None:
            return []
        found = messages_of(value, "assistant")
        if found:
            for message in found:
                if message.role == "user" and not message.results:
                    message.role = "assistant"  # an output that names no role, or the wrong one
            return found
        if isinstance(value, (dict, list)):
            return []
    return [with_reprs(Message("assistant", raw))]


def _choices(value: Any) -> list[Message]:
    if not isinstance(value, list):
        return []
    return messages_of(
        [v for v in value if isinstance(v, dict) and v.get("event.name") == "gen_ai.choice"], "assistant"
    )


def _event_value(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """An event's attributes as a message: values that hold JSON are opened."""
    out: dict[str, Any] = {"event.name": name}
    for key, value in attributes.items():
        short = key.removeprefix("gen_ai.event.")
        if isinstance(value, str) and value[:1] in "[{":
            parsed = parse_json(value)
            value = value if parsed is None else parsed
        out[short] = value
    held = out.get("content")
    if isinstance(held, dict) and ("role" in held or "message" in held):  # the whole message (Semantic Kernel)
        del out["content"]
        out |= held
    if isinstance(out.get("message"), (str, list)):
        out["content"] = out.pop("message")
    out.pop("role", None) if name in ROLES else None
    return out


def _last_input(events: list[tuple[str, dict[str, Any]]]) -> int:
    """How many events there are up to the last message of the input: a choice before that is history."""
    return max((at for at, (name, _) in enumerate(events, 1) if name in _INPUT_ROLES), default=0)


def _event_inputs(events: list[tuple[str, dict[str, Any]]]) -> list[Message]:
    out: list[Message] = []
    history = _last_input(events)
    for at, (name, attributes) in enumerate(events):
        if name in _INPUT_ROLES or (name == "gen_ai.choice" and at < history):
            out.extend(messages_of([_event_value(name, attributes)]))
        elif name == "gen_ai.content.prompt":
            out.extend(_parsed(_as_text(attributes.get("gen_ai.prompt"))) or [])
        elif name == _DETAILS or "gen_ai.input.messages" in attributes:
            raw = attributes.get("gen_ai.input.messages")
            out.extend((_parsed(raw) or []) if isinstance(raw, str) else messages_of(raw))
        elif "input" in attributes:
            out.extend(messages_of(_of_body(attributes["input"])))
    return out


def _event_outputs(events: list[tuple[str, dict[str, Any]]]) -> list[Message]:
    out: list[Message] = []
    history = _last_input(events)
    for at, (name, attributes) in enumerate(events):
        if name == "gen_ai.choice" and at >= history:
            out.extend(messages_of([_event_value(name, attributes)], "assistant"))
        elif name == "gen_ai.content.completion":
            out.extend(_answers(_as_text(attributes.get("gen_ai.completion")) or "[]"))
        elif name == _DETAILS or "gen_ai.output.messages" in attributes:
            raw = attributes.get("gen_ai.output.messages")
            out.extend(_answers(raw) if isinstance(raw, str) else messages_of(raw, "assistant"))
        elif "output" in attributes:
            out.extend(messages_of(_of_body(attributes["output"]), "assistant"))
    return out


def _of_body(held: Any) -> list[dict[str, Any]]:
    """Messages that AWS's distribution moved from a span into the body of a log record, the content as JSON in it."""
    told = held.get("messages") if isinstance(held, dict) else None
    out = []
    for message in told if isinstance(told, list) else ():
        if not isinstance(message, dict):
            continue
        content, more = message.get("content"), {}
        if isinstance(content, dict):
            more = {k: v for k, v in content.items() if k in ("finish_reason", "tool_calls")}
            content = content.get("message", content.get("content"))
        if isinstance(content, str) and content[:1] in "[{":
            parsed = parse_json(content)
            content = content if parsed is None else parsed
        out.append({"role": message.get("role"), "content": content} | more)
    return out


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else to_json(value)


def model_calls(nodes: list[Node]) -> list[ModelCall]:
    """The model calls among the nodes of one trace, by start."""
    spans = [n for n in nodes if n.kind == LLM and not _never_sent(n)]
    if not spans:
        return []
    outer: dict[int, Node] = {}
    inner: dict[int, list[Node]] = {}
    for n in spans:
        above = same_step(n, LLM)
        if above is not None:
            outer[id(n)] = above
            inner.setdefault(id(above), []).append(n)
    again = {id(n): within for n in spans if (within := inner.get(id(n))) is not None and _asks_again(n, within)}
    if again:
        outer = {id(n): above for n in spans if (above := outer.get(id(n))) is not None and id(above) not in again}
        inner = {key: within for key, within in inner.items() if key not in again}
    for within in inner.values():
        _retries(within)
    spans = [n for n in spans if n.kind == LLM]
    calls = []
    beside = _beside([n for n in spans if id(n) not in inner]) | _echoes(spans)
    twins: dict[int, list[Node]] = {}
    for twin, first in beside.values():
        twins.setdefault(id(first), []).append(twin)
    for n in spans:
        if id(n) in inner or id(n) in beside:
            continue
        layers = [n]
        above = outer.get(id(n))
        while above is not None and len(inner[id(above)]) == 1:
            if _failed_later(above, layers[-1]):
                above.kind = OVERWRITTEN
                break
            layers.append(above)
            above = outer.get(id(above))
        if len(layers) == 1 and id(n) not in again and _overwritten(n):
            n.kind = OVERWRITTEN
            continue
        layers.extend([twin for layer in layers for twin in twins.get(id(layer), ())])
        call = ModelCall(n, layers)
        if id(n) in again:
            _only_asked(call, again[id(n)])
        calls.append(call)
    for n in spans:  # an enclosing span of several calls is no call: what was asked within it is
        if len(inner.get(id(n), ())) > 1:
            n.kind = "chain"
    _aggregates(calls, nodes)
    if any("springframework" in c.node.span.scope for c in calls):
        _running_sums(calls)
    return calls


def _asks_again(node: Node, within: list[Node]) -> bool:
    """Does the span go on while the tools it asked for run, and while the model is asked again, by a span of its own
    (Spring AI, where it streams)? Then it holds calls, and is one itself: none of them came before the tools."""
    first = min(within, key=lambda n: n.start)
    answered = node.span.response_id is not None or node.span.input_tokens is not None
    if (node.span.scope, node.span.name) != (first.span.scope, first.span.name) or not answered:
        return False
    return any(x.kind == TOOL and x.end <= first.start for x in node.children)


def _only_asked(call: ModelCall, within: list[Node]) -> None:
    """What such a span tells of its answer is that of the last call in it, if it is no other answer."""
    told = {n.span.response_id for n in (within[0], *within[0].below()) if n.kind == LLM}
    if call.node.span.response_id in told or None in told:
        call.input_tokens = call.output_tokens = call.finish = call.error = call._outputs = None


def _retries(within: list[Node]) -> None:
    """Attempts that failed inside one call, before the one that went well, are no calls of their own (a gateway's)."""
    well = [n for n in within if failure(n) is None]
    if len(well) != 1 or len(within) == 1 or any(n.start > well[0].start for n in within):
        return
    for n in within:
        if n is not well[0]:
            n.kind = OTHER
    within[:] = well


def _overwritten(node: Node) -> bool:
    """More tools ran inside the span than its (last) answer asks for: there were earlier answers. Or the tools that its
    answer asks for ran inside it and it failed: a later call did. Of an answer that cannot be seen the time tells: a
    span that goes on after its tools as long as models take holds another call."""
    ran = [x for x in node.children if x.kind == TOOL]
    if not ran:
        return False
    call = ModelCall(node, [node])
    if call.outputs is None:
        asked, answered = min(x.start for x in ran) - node.start, node.end - max(x.end for x in ran)
        after = node.parent.children if node.parent is not None else ()
        followed = any(x.kind == LLM and x.start >= node.end for x in after)  # then less likely by this very span
        return call.error is None and answered * (1 if followed else 4) > asked
    return len(call.asked) < len(ran) or (bool(call.requests) and call.error is not None)


def _failed_later(outer: Node, inner: Node) -> bool:
    """Tools were asked for inside a span that then failed: it holds more calls than the one that can be seen."""
    return failure(outer) is not None and failure(inner) is None and bool(ModelCall(inner, [inner]).requests)


def _beside(leaves: list[Node]) -> dict[int, tuple[Node, Node]]:
    """Spans that tell of a call another span beside them tells of: the answer has the same id, or one lies inside the
    other's time under the same parent and comes from another instrumentation. {id(span): (span, the one that stays)}"""
    out: dict[int, tuple[Node, Node]] = {}
    answers: dict[str, Node] = {}
    for n in leaves:
        answer = n.span.response_id
        if answer:
            first = answers.setdefault(answer, n)
            if first is not n and first.span.scope != n.span.scope:
                out[id(n)] = (n, first)
    families: dict[int, list[Node]] = {}
    for n in leaves:
        if id(n) not in out:
            families.setdefault(id(n.parent), []).append(n)
    for family in families.values():
        if len({n.span.scope for n in family}) < 2:
            continue
        taken: set[int] = {id(first) for _, first in out.values()}
        for n in family:
            for other in family:
                if (
                    other is not n
                    and id(other) not in out
                    and id(n) not in out
                    and id(other) not in taken
                    and id(n) not in taken
                    and other.span.scope != n.span.scope
                    and not (other.span.response_id and n.span.response_id)
                    and other.start <= n.start
                    and n.end <= other.end
                    and n.end > n.start
                ):
                    out[id(n)] = (n, other)
                    taken.add(id(other))
                    break
    return out


def _echoes(spans: list[Node]) -> dict[int, tuple[Node, Node]]:
    """Spans without duration that tell what came of the stream of a call that had ended before it was read."""
    out: dict[int, tuple[Node, Node]] = {}
    if not any(n.start == n.end for n in spans):
        return out
    waiting: dict[int, list[Node]] = {}
    for n in sorted(spans, key=lambda n: n.start):
        family = waiting.setdefault(id(n.parent), [])
        first = next((m for m in reversed(family) if echo(n, m)), None)
        if first is not None:
            out[id(n)] = (n, first)
            family.remove(first)
        elif n.span.output_messages is None:
            family.append(n)
            del family[:-_AT_ONCE]
    return out


def echo(late: Node, call: Node) -> bool:
    """Does a span without duration tell the answer of this call, which the call itself could not tell?"""
    return (
        late.start == late.end
        and late.span.scope == call.span.scope
        and late.span.request_model == call.span.request_model
        and call.end <= late.start
        and call.span.output_messages is None
        and late.span.output_messages is not None
        and late.input_messages == call.input_messages is not None
    )


def _never_sent(node: Node) -> bool:
    """A span of a call that the framework's own limit stopped before it was made."""
    span = node.span
    if span.input_tokens is not None or span.response_model is not None or span.output_messages:
        return False
    failed = failure(node)
    if failed is None or span.request_model is not None or not limits(f"{failed[0]}: {failed[1]}"):
        return False
    node.kind = "chain"
    return True


def _running_sums(calls: list[ModelCall]) -> None:
    """Spring AI may add what was used before a tool to what is used after it; only where less is told, it did not."""
    before: dict[int, tuple[int, int]] = {}
    for c in sorted(calls, key=lambda c: c.start):
        parent = c.node.parent
        if parent is None:
            continue
        told = c.input_tokens or 0, c.output_tokens or 0
        earlier = before.get(id(parent), (0, 0))
        before[id(parent)] = told
        more = told[0] >= earlier[0] and told[1] >= earlier[1]
        if more and any(n.kind == TOOL and n.end <= c.start for n in parent.children):
            c.input_tokens = c.output_tokens = None


def _aggregates(calls: list[ModelCall], nodes: list[Node]) -> None:
    """The token sum of an agent, or of a chain inside it, stands in for its only call, where that call carries none."""
    if any(c.input_tokens is not None for c in calls):
        return
    by_owner: dict[int, list[ModelCall]] = {}
    for c in calls:
        owner = next((a for a in c.node.ancestors() if a.kind in (AGENT, CHAIN) and a.span.input_tokens), None)
        if owner is not None:
            by_owner.setdefault(id(owner), []).append(c)
            c.context = owner
    for owned in by_owner.values():
        if len(owned) == 1:
            (call,), told = owned, owned[0].context.span
            call.input_tokens, call.output_tokens = told.input_tokens, told.output_tokens
            if call.request_model is None and call.response_model is None and call.context.kind == CHAIN:
                call.request_model, call.response_model = told.request_model, told.response_model


TIMEOUT = re.compile(r"time[d ]?[- _]?out|deadline.?exceeded|DEADLINE", re.I)
RATE_LIMIT = re.compile(r"rate.?limit|\b429\b|too many requests|quota|throttl", re.I)
