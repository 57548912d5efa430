"""Turns and conversations: what a judge is shown comes out of spans whole and in order."""

from __future__ import annotations

import json

import pytest

from otelcov.ground.config import Config
from otelcov.judge.turns import conversations, sample
from otelcov.runs import reconstruct
from otelcov.runs.dialogue import dialogues
from otelcov.store import files
from otelcov.store.layout import from_requests
from tests.coverage.shared import shared
from tests.judge.traffic import SECOND, START, Said, Tool, _put, _span, request

AIRLINE = shared("datasets") / "tau2-airline"


def _read(bodies, config=None):
    config = config or Config()
    spans, logs = from_requests(bodies, [], 0)
    runs = reconstruct(spans.lazy(), logs.lazy(), config, 2**62)
    return conversations(runs, dialogues(spans, logs, config), config)


def test_runs_of_one_conversation_are_its_turns_with_the_history_before_each():
    turns = [Said("one", "first answer"), Said("other", "elsewhere", conversation="c2"), Said("two", "second answer")]
    first, second = sorted(_read([request(turns).SerializeToString()]), key=lambda c: c.id)
    assert [(t.turn_index, t.user_message, t.agent_message) for t in first.turns] == [
        (0, "one", "first answer"),
        (1, "two", "second answer"),
    ]
    assert [t.history for t in first.turns] == [(), (("one", "first answer"),)]
    assert [t.user_message for t in second.turns] == ["other"]


def _chat_in_one_trace(cumulative):
    """One run that holds three user turns; the second calls a tool."""
    turn = Said("", "")
    out = request([turn])
    spans = out.resource_spans[0].scope_spans[0]
    root = spans.spans[0]
    trace = root.trace_id
    del spans.spans[:]
    spans.spans.append(root)
    history: list = []

    def say(role, *parts):
        return {"role": role, "parts": list(parts)}

    def text(content):
        return {"type": "text", "content": content}

    asked = {"type": "tool_call", "id": "call-1", "name": "get_weather", "arguments": {"city": "Oslo"}}
    steps = [
        ([say("user", text("hello"))], say("assistant", text("hello, how can I help?"))),
        ([say("user", text("weather?"))], say("assistant", asked)),
        (
            [say("tool", {"type": "tool_call_response", "id": "call-1", "response": "sunny"})],
            say("assistant", text("it is sunny")),
        ),
        ([say("user", text("thanks"))], say("assistant", text("you are welcome"))),
    ]
    for k, (new, answer) in enumerate(steps):
        history += new
        span = _span(spans, trace, root.span_id, "chat model-a", START + k * SECOND, 0.5)
        facts = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "model-a",
            "gen_ai.input.messages": json.dumps(history if cumulative else new),
            "gen_ai.output.messages": json.dumps([answer]),
        }
        _put(span, facts)
        history.append(answer)
    ran = _span(spans, trace, root.span_id, "execute_tool get_weather", START + 1.6 * SECOND, 0.1)
    facts = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.tool.call.arguments": '{"city": "Oslo"}',
        "gen_ai.tool.call.result": "sunny",
    }
    _put(ran, facts)
    return out


@pytest.mark.parametrize("cumulative", [True, False], ids=["history repeated", "new messages alone"])
def test_a_run_that_holds_several_user_turns_is_told_apart(cumulative):
    out = _chat_in_one_trace(cumulative)
    (talk,) = _read([out.SerializeToString()])
    assert [(t.user_message, t.agent_message, [c.name for c in t.tool_calls or ()]) for t in talk.turns] == [
        ("hello", "hello, how can I help?", []),
        ("weather?", "it is sunny", ["get_weather"]),
        ("thanks", "you are welcome", []),
    ]
    chats = [s.span_id.hex() for s in out.resource_spans[0].scope_spans[0].spans if s.name.startswith("chat")]
    assert [t.span_id for t in talk.turns] == [chats[0], chats[2], chats[3]]  # the call that gave the answer


def test_a_sample_has_its_size_and_is_the_same_every_time():
    turns = [Said(f"q{k}", "an answer", [Tool("a", {"k": k})] * (k % 3), f"c{k}") for k in range(20)]
    talks = _read([request(turns).SerializeToString()])
    assert sample(talks, None) == sample(talks, 20) == talks
    for size in (1, 3, 7, 19):
        assert len(sample(talks, size)) == size
        assert sample(talks, size) == [t for t in talks if t in sample(list(reversed(talks)), size)]


DIALECTS = ["semconv", "openinference", "openllmetry", "llm_only", "semconv-json", "semconv-turns"]


def _said(dialect):
    folder = AIRLINE / dialect
    if not folder.is_dir():
        pytest.skip("../shared/datasets is absent: no turn was compared with real agent runs")
    found = [r for path in files.find([folder]) for r in files.requests(path) if isinstance(r, files.Request)]
    talks = _read([r.body for r in found])
    return {t.id: [(x.user_message, x.agent_message, len(x.tool_calls or ())) for x in t.turns] for t in talks}


@pytest.mark.parametrize(
    "dialect", [pytest.param(d, marks=() if d == "semconv-turns" else pytest.mark.full) for d in DIALECTS[1:]]
)
def test_the_same_chats_have_the_same_turns_in_every_dialect(dialect):
    expected = _said("semconv")
    assert sum(len(turns) for turns in expected.values()) == 230
    assert _said(dialect) == expected


@pytest.mark.parametrize("capture", ["openai-loop--otel-openai-v2/S10", "openai-loop--otel-openai-v2/S5"])
def test_dialogues_and_runs_agree_on_what_a_run_is(capture):
    folder = shared("corpus") / capture
    if not folder.is_dir():
        pytest.skip("../shared/corpus is absent: runs of several traces were not compared")
    found = [r for path in files.find([folder]) for r in files.requests(path) if isinstance(r, files.Request)]
    bodies = {signal: [r.body for r in found if r.signal == signal] for signal in ("traces", "logs")}
    spans, logs = from_requests(bodies["traces"], bodies["logs"], 0)
    runs = reconstruct(spans.lazy(), logs.lazy(), Config(), 2**62)
    assert runs["trace_ids"].list.len().max() > 1
    assert set(dialogues(spans, logs, Config())) == set(runs["run_id"])
