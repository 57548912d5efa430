"""Forms that programs in public repositories write: agents of platforms themselves, and steps traced by hand."""

import json

import pytest

from otelcov.ground.config import Config
from otelcov.runs import run_json
from tests.captures import LATER
from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

pytestmark = pytest.mark.full


def _oi(id, parent, kind, name, at, took=1, **told):
    """OpenInference by hand: Phoenix' own assistant."""
    told = {key.replace("__", "."): value for key, value in told.items()} | {"openinference.span.kind": kind}
    return span(id, parent, name, at=at, took=took, attributes=told)


def _messages(side, *said):
    told = {}
    for n, (role, content, *calls) in enumerate(said):
        start = f"llm.{side}_messages.{n}.message"
        told |= {f"{start}.role": role, **({f"{start}.content": content} if content else {})}
        for k, (id, name, arguments) in enumerate(calls):
            call = f"{start}.tool_calls.{k}.tool_call"
            told |= {f"{call}.id": id, f"{call}.function.name": name}
            told |= {f"{call}.function.arguments": json.dumps(arguments)}
    return told


def _llm(id, parent, at, asked, *answer):
    told = _messages("input", *asked) | _messages("output", answer)
    return _oi(id, parent, "LLM", "m", at, llm__model_name="m", llm__provider="p", **told)


def _tool(id, parent, name, call, at, took=1, gave="fine", /, **given):
    told = {"input.value": json.dumps(given), "output.value": gave, "tool.name": name, "tool_call.id": call}
    return _oi(id, parent, "TOOL", name, at, took, **told)


@pytest.mark.parametrize("way", ["call_subagent", "run_agent", "delegate_to_agent", "ask_agent"])
@pytest.mark.parametrize("lost", ["the agent", "the tool"])
def test_a_tool_that_by_its_name_calls_some_agent_names_whom_it_calls_by_an_argument(way, lost):
    asked, said = [("user", "go")], ("assistant", None, ("c1", way, {"name": "scout", "task": "look"}))
    (run,) = runs(
        _oi(1, None, "AGENT", "turn", 0, 20, input__value="go", output__value="Done."),
        _llm(2, 1, 1, asked, *said),
        *([] if lost == "the tool" else [_tool(3, 1, way, "c1", 3, 9, name="scout", task="look")]),
        *([] if lost == "the agent" else [_oi(4, 3, "AGENT", "Worker.iter", 3.1, 8.8, input__value="look")]),
        _llm(5, 4, 4, [("user", "look")], "assistant", None, ("d1", "read", {"page": 1})),
        _tool(6, 4, "read", "d1", 6, page=1),
        _llm(7, 1, 13, [*asked, said, ("tool", "fine")], "assistant", "Done."),
    )
    assert set(run["agents"]) <= {"scout"}
    assert [c["name"] for c in run["tool_calls"]] == ["read"]


def _either_way(*spans):
    """The runs, which the shortcut must tell alike."""
    told = frames([("traces", request(spans))])
    some, others = (way(*told, Config(), LATER) for way in (lambda *a: with_shortcut(*a)[0], without))
    assert some.equals(others)
    return [run_json(row, {}) for row in some.iter_rows(named=True)]


def _hand(*tools, answers=(None, None)):
    """Tools that a program traces by hand, beside models whose words may be left out."""
    return _either_way(
        agent(1, "a", took=20),
        chat(2, 1, answers[0], at=1),
        *(span(9 + n, 1, at=3 + n, attributes=told, **more) for n, (told, more) in enumerate(tools)),
        chat(3, 1, answers[1], at=15),
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tool.look", {"tool.name": "look", "tool.args": '{"city": "Oslo"}', "tool.call_id": "c1"}),
        ("tool_call", {"tool_name": "look", "tool_args": '{"city": "Oslo"}', "tool_call_id": "c1"}),
        ("agent.tool.call", {"agent.tool.name": "look", "agent.tool.input": '{"city": "Oslo"}', "tool.id": "c1"}),
        ("tool.execute.look", {"tool.name": "look", "tool.arguments": '{"city": "Oslo"}', "tool.call.id": "c1"}),
        ("tool: look", {"tool.input": '{"city": "Oslo"}', "tool.call_id": "c1"}),
        ("Execute Tool look", {"tool.name": "look", "tool.input": '{"city": "Oslo"}', "tool.call_id": "c1"}),
    ],
)
def test_a_tool_that_a_program_traces_by_hand_ran_where_no_words_of_models_are_told(name, told):
    (run,) = _hand((told, {"name": name}))
    seen = [(c["name"], c["arguments"], c["call_id"], c["status"], c["turn"]) for c in run["tool_calls"]]
    assert seen == [("look", {"city": "Oslo"}, "c1", "unknown", 0)]
    assert "tool calls not visible" not in run["incomplete"]


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"tool.success": True}, "ok"),
        ({"tool.success": False}, "error"),
        ({"agent.tool.status": "ok"}, "ok"),
        ({"agent.tool.status": "validation_error"}, "error"),
        ({"agent.tool.outcome": "timed_out"}, "error"),
        ({"tool.ok": False}, "error"),
        ({"tool.result.status": "error"}, "error"),
        ({"tool.status": "no_error"}, "unknown"),
    ],
)
def test_how_a_tool_went_stands_in_an_attribute_of_the_programs(told, status):
    (run,) = _hand(({"tool.name": "look"} | told, {"name": "tool.look"}))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]


@pytest.mark.parametrize(
    "name", ["tool.validate look", "tool.result", "tools.list", "select tool", "look", "tool.retry"]
)
def test_what_is_done_about_a_tool_is_no_call_of_it(name):
    (run,) = _hand(({"tool.name": "look"}, {"name": name}))
    assert (run["tool_calls"], "tool calls not visible" in run["incomplete"]) == (None, True)


def test_what_was_asked_for_once_and_tried_twice_by_hand_is_one_call_where_that_is_told():
    attempt = ({"tool.name": "look"}, {"name": "tool.look", "error": "busy"})
    (run,) = _hand(attempt, ({"tool.name": "look"}, {"name": "tool.look"}), answers=([("c1", "look", {})], "done"))
    assert [c["name"] for c in run["tool_calls"]] == ["look"]


def test_what_another_span_tells_of_a_tool_is_told_once():
    held = [tool(7, 1, "look", "c1", "cold", at=4), span(8, 7, "tool.look", at=4, tool__name="look", took=0.5)]
    (run,) = _either_way(agent(1, "a", took=20), chat(2, 1, at=1), *held, chat(3, 1, at=15))
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("look", "cold")]


def test_a_server_that_ran_a_tool_is_no_run_of_an_agent():
    assert runs(span(1, None, "POST /mcp", took=4), span(2, 1, "tool.call", at=1, tool__name="look")) == []


def _respan(id, parent, kind, name, at, took=1, **told):
    """Respan's instrumentations, which take what a kit tells of itself."""
    told = {key.replace("__", "."): value for key, value in told.items()}
    told |= {"respan.entity.log_type": kind, "traceloop.entity.name": name}
    return span(id, parent, name, at=at, took=took, scope="@respan/instrumentation", attributes=told)


def _called(*calls):
    return [{"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in calls]


def _codex(*tools, at=3, calls=(("c1", "command_execution", {"command": "ls"}), ("c2", "mcp__docs__search", {"q": 1}))):
    """A turn of Codex' SDK: one call stands for all of it."""
    said = {"traceloop.entity.input": '[{"role":"user","content":"go"}]', "traceloop.entity.output": "Done."}
    answer = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Done."}
    answer |= {"gen_ai.completion.0.tool_calls": _called(*calls)}
    asked = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "go", "gen_ai.request.model": "m"}
    given = {"c1": ("codex.command", {"command": "ls"}), "c3": ("codex.web_search", {"query": "x"})}
    given |= {"c2": ("mcp__docs__search", {"server": "docs", "tool": "search", "arguments": {"q": 1}})}
    return _either_way(
        _respan(1, None, "agent", "codex", 0, 20, **said),
        _respan(2, 1, "chat", "codex.response", 0, 19, **said, **answer, **asked),
        *(
            _respan(
                9 + n,
                1,
                "tool",
                given[call][0],
                at + n / 4,
                0.2,
                traceloop__entity__input=given[call][1],
                traceloop__entity__output='{"exit_code": 0}',
            )
            for n, call in enumerate(tools)
        ),
    )


def test_a_call_whose_tools_were_done_in_its_time_is_a_turn_of_an_agent():
    (run,) = _codex("c1", "c2")
    seen = [(c["name"], c["arguments"], c["call_id"], c["status"]) for c in run["tool_calls"]]
    assert seen == [
        ("command_execution", {"command": "ls"}, "c1", "ok"),
        ("mcp__docs__search", {"q": 1}, "c2", "ok"),
    ]
    assert (run["llm_calls"], run["output"], run["status"]) == (None, "Done.", "ok")
    assert "model calls share a span" in run["incomplete"]


def test_what_such_a_turn_asked_for_and_no_span_ran_may_have_run():
    (run,) = _codex("c2")
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [
        ("command_execution", "unknown"),
        ("mcp__docs__search", "ok"),
    ]


def test_a_call_after_which_its_tools_ran_is_one():
    (run,) = _codex("c1", "c2", at=19)
    assert len(run["llm_calls"]) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"name": "search", "arguments": {"query": "news"}},
        {"name": "search", "arguments": '{"query":"news"}'},
        {"name": "search", "id": "c1", "arguments": {"query": "news"}},
    ],
)
def test_what_respan_tells_with_a_tools_name_is_what_that_was_given(given):
    written = json.dumps(given, separators=(",", ":"))
    (run,) = runs(
        _respan(1, None, "agent", "a", 0, 9),
        _respan(2, 1, "tool", "search", 2, traceloop__entity__input=written, respan__metadata__tool_call_id="c1"),
        _respan(3, 1, "chat", "m", 4, gen_ai__request__model="m", respan__metadata__stop_reason="stop"),
    )
    assert [(c["arguments"], c["call_id"]) for c in run["tool_calls"]] == [({"query": "news"}, "c1")]
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["stop"]


@pytest.mark.parametrize(
    ("came", "calls", "output"),
    [
        ([("assistant", ""), ("tool", "72"), ("assistant", 'Sunny, "72".')], 1, 'Sunny, "72".'),
        ([("assistant", "Hi.")], 0, "Hi."),
        ([("assistant", "Let me look."), ("tool", "72")], 1, None),
        ([("assistant", "Let me look.")], 1, None),
        ([("assistant", "")], 0, None),
    ],
)
def test_a_graph_that_sentry_tells_as_an_agent_answered_what_came_of_it_last(came, calls, output):
    told = {"gen_ai.response.text": json.dumps([{"role": r, "content": c} for r, c in came], separators=(",", ":"))}
    told |= {"gen_ai.input.messages": '[{"role":"user","content":"go"}]'}
    called = [{"name": "look", "args": {}, "id": "c1", "type": "tool_call"}] * calls
    told |= {"gen_ai.response.tool_calls": json.dumps(called, separators=(",", ":"))} if calls else {}
    (run,) = _either_way(span(1, None, "main", took=9), agent(2, "a", 1, at=1, attributes=told, scope="@sentry/node"))
    assert (run["input"], run["output"]) == ("go", output)
    assert run["status"] == ("unknown" if output is None else "ok")
