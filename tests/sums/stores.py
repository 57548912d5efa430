"""Stores whose commits a test decides, and the law that what is kept of them tells what counting everything tells."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from functools import cache

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.segment import Row
from otelcov.cli.measuring import Question
from otelcov.coverage.brief import Brief
from otelcov.coverage.observations import partial
from otelcov.coverage.snapshot import snapshot
from otelcov.engine.here import Here
from otelcov.engine.second import Second
from otelcov.store import commit, tables
from otelcov.sums import answer, build, kept
from tests.bench.generate import HOUR, Traffic, requests

BEGIN = 1_767_225_600_000_000_000  # 2026-01-01


NOW = "2026-01-01T03:00:00Z"


QUESTIONS = (
    {"since": "2026-01-01T00:20:10.5Z", "until": "2026-01-01T01:40:00Z"},
    {"since": "all"},
    {"since": "2026-01-01T00:00:00Z", "until": "2026-01-01T02:00:00Z", "service": ["back-office"]},
    {"since": "all", "agent": ["worker"]},
    {"since": "all", "model": ["gpt-4o"], "side": ["test"]},
    {"since": "all", "environment": ["production"], "release": ["2.3.0"]},
    {"since": "all", "environment": ["production"]},
    {"since": "2026-01-01T00:20:10.5Z", "side": ["production"]},
)


FIRST = QUESTIONS[:1]


WHOLE = {"service": (), "release": (), "model": (), "agent": ()}  # what a brief answer does not tell apart


@cache
def made(traffic: Traffic) -> tuple[bytes, ...]:
    return tuple(request.body for request in requests(traffic))


def bodies(spans: int = 1_500) -> list[bytes]:
    return list(made(Traffic(spans, request_spans=64, length_ns=int(1.9 * HOUR))))


class Store:
    """A store whose commits a test decides."""

    def __init__(self, path) -> None:
        self.path = str(path)
        self.tables = tables.create(path)
        self.app = uuid.uuid4().hex
        self.number = 0

    def commit(self, sent: list[bytes], logs: list[bytes] | None = None, received: int | None = None) -> None:
        """What was imported, in whatever hour it lies; `received`: by a collector."""
        self.number += 1
        rows = [Row("traces", received or BEGIN, 0, 0, body) for body in sent]
        rows += [Row("logs", received or BEGIN, 0, 0, body) for body in logs or []]
        commit.commit(self.tables, self.app, self.number, rows, any_hour=received is None)

    def count(self, now: str = NOW) -> kept.Kept:
        asked = self.ask(since="all", now=now)
        assert build.build(self.path, asked.config, asked.now_ns, Here().map)
        return kept.load(build.folder(self.path, asked.config))

    def ask(self, now: str = NOW, **options) -> Question:
        return Question.of(self.path, now=now, **options)


def equal(store: Store, now: str = NOW, questions=QUESTIONS[:2], second: Second | None = None) -> None:
    for options in questions:
        asked = replace(store.ask(now=now, **options), second=second)
        runs, quality = asked.runs()
        live = snapshot(
            partial(runs, asked.config, asked.selection.agent), asked.config, asked.window, asked.selection, quality
        )
        about = (asked.window, asked.selection, asked.config, asked.now_ns)
        found = answer.observed(store.path, *about, second=second)
        assert found is not None
        summed = snapshot(found[0], asked.config, asked.window, asked.selection, found[1])
        assert json.dumps(summed) == json.dumps(live), options
        if asked.selection == replace(asked.selection, **WHOLE):
            short, told = asked.briefly()
            assert isinstance(short, Brief)
            assert json.dumps(snapshot(short, asked.config, asked.window, asked.selection, told)) == json.dumps(live)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


def guest_of(sent: list[bytes]) -> tuple[bytes, str]:
    """An agent in a trace of its own that a tool call in these requests has called: its request, and the trace of the
    call."""
    for body in sent:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for span in resource.scope_spans[0].spans:
                if span.name == "execute_tool query_ledger" and span.status.code != 2:
                    request = ExportTraceServiceRequest()
                    group = request.resource_spans.add(resource=resource.resource)
                    begin = span.start_time_unix_nano
                    spans = group.scope_spans.add(scope=resource.scope_spans[0].scope).spans
                    for id, (name, told) in enumerate(GUEST):
                        new = spans.add(trace_id=b"g" * 16, span_id=bytes([9] * 7 + [id]), name=name)
                        new.parent_span_id = bytes([9] * 7 + [0]) if id else b""
                        new.start_time_unix_nano, new.end_time_unix_nano = begin + 2_000 + id, begin + 9_000 - id
                        for key, value in told.items():
                            new.attributes.add(key=key).value.string_value = value
                    return request.SerializeToString(), span.trace_id.hex()
    raise AssertionError("nobody asks the ledger")


GUEST = (
    ("invoke_agent ledger", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "ledger"}),
    ("chat gpt-4o", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}),
)
