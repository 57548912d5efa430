import json
from collections import Counter, defaultdict

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.bench.generate import ENVIRONMENTS, RELEASES, SERVICES, Traffic, requests

SPANS = 6_000


def spans_of(traffic):
    for request in requests(traffic):
        for resource_spans in ExportTraceServiceRequest.FromString(request.body).resource_spans:
            for scope_spans in resource_spans.scope_spans:
                for span in scope_spans.spans:
                    yield span, {a.key: a.value.string_value for a in span.attributes}


@pytest.fixture(scope="module")
def generated():
    return list(spans_of(Traffic(SPANS, request_spans=100)))


@pytest.mark.full
def test_equal_parameters_give_equal_bytes_and_another_seed_others():
    first, again, other = (list(requests(Traffic(2_000, seed=seed))) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.full
def test_there_are_as_many_spans_as_asked_for_in_requests_of_the_asked_size(generated):
    assert len(generated) == SPANS
    sizes = Counter(r.spans for r in requests(Traffic(SPANS, request_spans=100)))
    streams = len(SERVICES) * len(ENVIRONMENTS) * len(RELEASES)
    assert sum(n * count for n, count in sizes.items()) == SPANS
    assert sum(count for n, count in sizes.items() if n != 100) <= streams  # each stream's last


def test_the_text_length_sets_the_size():
    def mean(text):
        return sum(len(r.body) for r in requests(Traffic(2_000, text=text))) / 2_000

    assert 700 < mean(30) < 1_100
    assert mean(300) > 2 * mean(30)


def test_ids_are_unique_and_parents_belong_to_the_same_trace(generated):
    spans = {(s.trace_id, s.span_id) for s, _ in generated}
    assert len(spans) == len(generated)
    cut = {s.trace_id for s, _ in generated if s.parent_span_id and (s.trace_id, s.parent_span_id) not in spans}
    assert len(cut) <= 1 + SPANS // 1_000  # only the last runs are cut


def test_children_come_before_their_parents_and_inside_their_time(generated):
    seen = {}
    for span, _ in generated:
        seen[span.trace_id, span.span_id] = span
        assert span.start_time_unix_nano < span.end_time_unix_nano
    late = [s for s, _ in generated if s.parent_span_id and (s.trace_id, s.parent_span_id) in seen]
    assert late
    for span in late:
        parent = seen[span.trace_id, span.parent_span_id]
        assert parent.start_time_unix_nano < span.start_time_unix_nano
        assert span.end_time_unix_nano <= parent.end_time_unix_nano


def test_every_message_is_json_and_every_tool_span_was_asked_for(generated):
    asked, called = set(), set()
    for span, values in generated:
        for key in ("gen_ai.input.messages", "gen_ai.output.messages"):
            for message in json.loads(values.get(key) or "[]"):
                for part in message["parts"]:
                    if part["type"] == "tool_call":
                        asked.add((span.trace_id, part["id"], part["name"]))
        if "gen_ai.tool.call.id" in values:
            called.add((span.trace_id, values["gen_ai.tool.call.id"], values["gen_ai.tool.name"]))
            json.loads(values["gen_ai.tool.call.arguments"])
    assert called
    assert called <= asked


def test_there_are_errors_delegations_two_models_and_all_sides(generated):
    assert any(s.status.code == 2 and "gen_ai.tool.name" in v for s, v in generated)
    assert {v.get("gen_ai.agent.name") for _, v in generated} >= {"planner", "worker"}
    assert len({v["gen_ai.request.model"] for _, v in generated if "gen_ai.request.model" in v}) == 2
    assert any(v.get("gen_ai.tool.name") == "delete_order" for _, v in generated)


def test_the_share_of_unique_paths_is_as_asked():
    def unique_share(asked):
        paths = defaultdict(list)
        for span, values in spans_of(Traffic(SPANS, unique=asked)):
            if "gen_ai.tool.name" in values:
                paths[span.trace_id].append((span.start_time_unix_nano, values["gen_ai.tool.name"]))
        counts = Counter(tuple(name for _, name in sorted(path)) for path in paths.values())
        return sum(1 for n in counts.values() if n == 1) / len(paths)

    assert unique_share(0.0) < 0.15
    assert unique_share(0.9) > 0.6


def test_the_runs_spread_over_the_asked_time():
    traffic = Traffic(SPANS)
    starts = [s.start_time_unix_nano for s, _ in spans_of(traffic) if not s.parent_span_id]
    assert min(starts) >= traffic.since_ns
    assert 0.8 * traffic.length_ns < max(starts) - traffic.since_ns < 1.2 * traffic.length_ns
