"""Recordings with less in them than was sent: what is still said is true, or null.

Attributes and spans lost at random, roots that never came, values cut, content off, scopes nobody knows, spans in any
order. What a loss hides may be missing - a whole model call, an answer - but a call that is named, with its arguments,
tokens that are counted and a session that is told are the true ones.
"""

import random
from collections import Counter

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.runs.requests import agent, chat, frames, request, text, tool

SCENARIOS = ("S3", "S5", "S10", "S12")
WORDS = ("input", "output", "prompt", "completion", "content", "arguments", "result", "message")


def _text(attribute):
    return attribute.value.WhichOneof("value") == "string_value"


def _is_content(attribute):
    return _text(attribute) and (attribute.value.string_value[:1] in "[{" or any(w in attribute.key for w in WORDS))


def _keep(span, wanted):
    kept = [a for a in span.attributes if wanted(a)]
    del span.attributes[:]
    span.attributes.extend(kept)


def attributes_lost(span, random):
    _keep(span, lambda _: random.random() > 0.12)
    return True


def values_cut(span, random):
    for attribute in filter(_text, span.attributes):
        attribute.value.string_value = attribute.value.string_value[:120]
    return True


def content_off(span, random):
    _keep(span, lambda a: not _is_content(a))
    del span.events[:]
    return True


def spans_lost(span, random):
    return random.random() > 0.12


def roots_lost(span, random):
    return bool(span.parent_span_id)


DAMAGES = (attributes_lost, values_cut, content_off, spans_lost, roots_lost)


def damaged(bodies, damage, seed):
    chance, out = random.Random(seed), []
    for body in bodies:
        request = ExportTraceServiceRequest.FromString(body)
        for scope in (s for r in request.resource_spans for s in r.scope_spans):
            kept = [span for span in scope.spans if damage(span, chance)]
            chance.shuffle(kept)
            del scope.spans[:]
            scope.spans.extend(kept)
        out.append(request.SerializeToString())
    chance.shuffle(out)
    return out


def untrue(run, truth):
    """What a run says that is neither true nor null."""
    done = [c for c in run["tool_calls"] or [] if c["status"] in ("ok", "error")]
    asked = {c["id"]: c for c in truth["tool_calls"] if c.get("id")}
    for call in done:
        true = asked.get(call["call_id"])
        if true is not None and call["name"] not in (None, true["name"]):
            yield f"{call['name']} for {true['name']}"
        if true is not None and call["arguments"] not in (None, true["args"]):
            yield f"{call['arguments']} for {true['args']}"
    models, good = run["llm_calls"] or [], [c for c in truth["llm_calls"] if c["status"] == "ok"]
    if len(models) > len(truth["llm_calls"]):
        yield f"{len(models)} model calls for {len(truth['llm_calls'])}"
    for way in ("input_tokens", "output_tokens"):
        if sum(c[way] or 0 for c in models) > sum(c[way] for c in good):
            yield f"more {way} than there were"
    if truth["session_id"] and run["conversation_id"] not in (None, truth["session_id"]):
        yield f"session {run['conversation_id']}"
    equal = Counter(c["call_id"] for c in done if c["call_id"])
    if any(n > 1 for key, n in equal.items() if key in asked):
        yield "a call twice"


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_left_is_true_or_null(damage, every):
    bad, judged = [], 0
    for dialect in captures.dialects("corpus")[::every]:
        scenarios = [s for s in captures.packed("corpus", dialect) if s.name in SCENARIOS]
        traces = damaged([b for s in scenarios for b in s.bodies("traces")], damage, seed=11)
        logs = [b for s in scenarios for b in s.bodies("logs")]
        runs = captures.as_json(reconstruct(*from_requests(traces, logs, 1), Config(), captures.LATER))
        for scenario in scenarios:
            for truth, ids in zip(scenario.runs, scenario.traces, strict=True):
                for run in (r for r in runs if ids & set(r["trace_ids"])):
                    judged += 1
                    bad += [f"{dialect}/{scenario.name}#{truth['run']}: {what}" for what in untrue(run, truth)]
    assert judged > 200 // every
    assert bad == []


def _told_as(kind):
    """A run, its names as lists of one or its texts as bytes, as SDKs in typed languages may send them."""
    spans = [
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "look", {"city": "Zürich"})], "Wie ist es?", at=1, gen_ai__request__model="model-a"),
        tool(3, 1, "look", "c1", "schön\n", at=3),
        chat(4, 1, "Schön.", "Wie ist es?", at=5),
    ]
    whole = ExportTraceServiceRequest.FromString(request(spans))
    for made in whole.resource_spans[0].scope_spans[0].spans:
        for pair in made.attributes:
            said = pair.value.string_value
            if kind == "bytes" and said:
                pair.value.bytes_value = said.encode()
            elif kind == "list" and said and pair.key.endswith((".name", ".id", ".model")):
                pair.value.array_value.values.add(string_value=said)
    return text(*frames([("traces", whole.SerializeToString())]))


@pytest.mark.parametrize("kind", ["bytes", "list"])
def test_texts_are_read_whatever_their_type(kind):
    assert _told_as(kind) == _told_as("text")
