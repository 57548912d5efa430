"""Kits and instrumentations for Python that the recorded corpus lacks: in the shape in which each sends its spans."""

import pytest

from tests.runs.requests import runs, span

_MS = 0.001


def _haystack(id, trace, kind, at, took=5 * _MS, parent=None, **told):
    told = {"openinference.span.kind": kind, "input.value": "__REDACTED__", "output.value": "__REDACTED__"} | told
    name = "ToolInvoker.run" if kind == "CHAIN" else "OpenAIChatGenerator.run"
    scope = "openinference.instrumentation.haystack"
    return span(id, parent, name, trace, at, took, scope=scope, attributes=told)


def _asked(id, trace, at, tokens, parent=None):
    told = {"llm.model_name": "m", "llm.token_count.prompt": tokens, "llm.token_count.completion": 1}
    return _haystack(id, trace, "LLM", at, parent=parent, **told)


def _counted(spans):
    return [[c["input_tokens"] for c in run["llm_calls"]] for run in runs(*spans)]


def test_haystack_calls_around_what_runs_tools_are_one_run():
    loop = [_asked(1, 1, 0, 10), _haystack(2, 2, "CHAIN", 6 * _MS), _asked(3, 3, 12 * _MS, 11)]
    later = [_asked(4, 4, 1, 20), _haystack(5, 5, "CHAIN", 1 + 6 * _MS), _asked(6, 6, 3, 30)]
    assert _counted([*loop, *later]) == [[10, 11], [20], [30]]
    (run,) = runs(*loop)
    assert (run["tool_calls"], run["status"]) == (None, "unknown")


def test_haystack_agent_that_a_tool_asks_is_of_the_run():
    inner = [_asked(3, 2, 7 * _MS, 11, parent=2)]
    loop = [_asked(1, 1, 0, 10), _haystack(2, 2, "CHAIN", 6 * _MS, 8 * _MS), *inner, _asked(4, 4, 16 * _MS, 12)]
    assert _counted(loop) == [[10, 11, 12]]


@pytest.mark.parametrize("at", [2 * _MS, 8 * _MS, 14 * _MS])
def test_haystack_calls_at_once_with_others_stay_apart(at):
    loop = [_asked(1, 1, 0, 10), _haystack(2, 2, "CHAIN", 6 * _MS), _asked(3, 3, 12 * _MS, 11)]
    found = _counted([*loop, _asked(4, 4, at, 20)])
    assert [20] in found and [10, 11] not in found


def test_haystack_alone_what_runs_tools_is_no_run():
    assert runs(_haystack(2, 2, "CHAIN", 0)) == []
