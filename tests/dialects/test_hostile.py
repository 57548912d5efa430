"""Recordings in which any value may be of any type: JSON inside JSON, keys that changed places, spans without an end.

Whoever may send spans to a collector shares it with others. What he sends may be read as nothing at all, but the runs
of the others are told.
"""

import json
import random

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otelcov.cli.tree import tree
from otelcov.coverage.observations import partial
from otelcov.ground.config import Config
from otelcov.runs import reconstruct, run_json
from otelcov.runs.dialogue import dialogues
from otelcov.runs.trace.attributes import any_value
from otelcov.store.layout import from_requests
from tests import captures

ODD = [
    *(None, "", [], {}, 1, -1, 1.5, True, 2**61, 1e300, "x", "0", '[{"', "null", "tool", "assistant", "user"),
    *(
        b"\xff",
        float("nan"),
        ["a"],
        [[]],
        [None],
        [{"type": 5}],
        [{"type": "text", "text": {}}],
        {"id": [1]},
        {"a": {"b": [{}]}},
    ),
    *({"type": "tool_use", "id": {}, "name": [], "input": 3}, {"role": "assistant", "tool_calls": {}}),
    *({"function": None}, {"function": {"name": {}, "arguments": []}}, {"type": ["text"]}, {"role": {"a": 1}}),
    *("a\ud83d", {"\ude00": 1}),  # JavaScript cuts within a pair of surrogates
]
PYTHON = [{1: 2}, {"a": {None: 1}}, {(1, 2): 3}, {1, 2}, b"x", 1j, ..., (1, [2]), "\ud83d", {"a": ["\ud83d", 1e999]}]
BITS = [
    "\\",
    "'",
    '"',
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\n",
    "\0",
    "\\x",
    "\\u",
    "\\ud83d",
    ",",
    ":",
    "None",
    "1e999",
    "Action:",
]


class Chance:
    """Changes one value in so many, wherever it stands."""

    def __init__(self, seed, share):
        self.random, self.share = random.Random(seed), share

    def hit(self, often=1.0):
        return self.random.random() < self.share * often

    def value(self, value):
        if self.hit():
            return self.random.choice(ODD)
        if isinstance(value, dict):
            told = {key: self.value(item) for key, item in value.items() if not self.hit(0.5)}
            keys = self.random.choices(list(told), k=2) if told and self.hit() else ["", ""]
            return {{keys[0]: keys[1], keys[1]: keys[0]}.get(key, key): item for key, item in told.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, str) and value[:1] in ("[", "{"):
            try:
                told = self.value(json.loads(value))
            except ValueError:
                return self.letters(value)
            return repr(self.python(told)) if self.hit() else self.letters(json.dumps(told, default=str))
        return self.letters(value) if isinstance(value, str) else value

    def python(self, value):
        """As a Python program has it, which prints what JSON cannot say."""
        if self.hit(3):
            return self.random.choice(PYTHON)
        if isinstance(value, dict):
            return {key: self.python(item) for key, item in value.items()}
        return [self.python(item) for item in value] if isinstance(value, list) else value

    def letters(self, text):
        """Cut, or with something between."""
        if not self.hit():
            return text
        at = self.random.randint(0, len(text))
        return text[:at] + self.random.choice(["", self.random.choice(BITS) + text[at:], text[at + 1 :], text[:at]])

    def pairs(self, pairs):
        for pair in pairs:
            write(pair.value, self.value(any_value(pair.value)))
        if len(pairs) > 1 and self.hit():
            one, other = self.random.sample(list(pairs), 2)
            one.key, other.key = other.key, one.key

    def span(self, span):
        self.pairs(span.attributes)
        for event in span.events:
            self.pairs(event.attributes)
        if self.hit(0.2):
            span.parent_span_id = self.random.choice([b"", span.span_id])
        if self.hit(0.1):
            span.end_time_unix_nano = 0
        if self.hit(0.1):
            span.name = self.random.choice(["", "chat", "execute_tool", "agent"])

    def traces(self, body):
        request = ExportTraceServiceRequest.FromString(body)
        for scope in (scope for each in request.resource_spans for scope in each.scope_spans):
            for span in scope.spans:
                self.span(span)
        return request.SerializeToString()

    def logs(self, body):
        request = ExportLogsServiceRequest.FromString(body)
        for scope in (scope for each in request.resource_logs for scope in each.scope_logs):
            for record in scope.log_records:
                self.pairs(record.attributes)
                write(record.body, self.value(any_value(record.body)))
        return request.SerializeToString()


def whole(text):
    """Protobuf has no half a pair."""
    return text.encode("utf-8", "replace").decode()


def write(into, value):
    """A JSON value as an AnyValue."""
    into.Clear()
    if isinstance(value, bool):
        into.bool_value = value
    elif isinstance(value, int):
        into.int_value = value
    elif isinstance(value, float):
        into.double_value = value
    elif isinstance(value, str):
        into.string_value = whole(value)
    elif isinstance(value, bytes):
        into.bytes_value = value
    elif isinstance(value, list):
        into.array_value.SetInParent()
        for item in value:
            write(into.array_value.values.add(), item)
    elif isinstance(value, dict):
        into.kvlist_value.SetInParent()
        for key, item in value.items():
            write(into.kvlist_value.values.add(key=whole(key)).value, item)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 5))])
@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("corpus", 0.03),
        *(pytest.param(*more, marks=pytest.mark.full) for more in (("corpus", 0.2), ("more", 0.03), ("more", 0.2))),
    ],
)
def test_no_value_breaks_what_is_read_with_it(name, share, seed):
    chance, told = Chance(f"{name} {share} {seed}", share), 0
    for dialect in captures.dialects(name)[seed % 4 :: 4]:
        scenarios = captures.packed(name, dialect)
        scenario = scenarios[(7 * seed) % len(scenarios)]
        traces = [chance.traces(body) for body in scenario.bodies("traces")]
        logs = [chance.logs(body) for body in scenario.bodies("logs")]
        spans, records = from_requests(traces, logs, 1)
        runs = reconstruct(spans, records, Config(), captures.LATER)
        partial(runs, Config())
        dialogues(spans, records)
        for row in runs.iter_rows(named=True):
            json.dumps(run_json(row, {}))
            tree(row, "test", 80)
        told += runs.height
    assert told
