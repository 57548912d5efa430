"""Agents that work at once, teams, tools of servers, and instrumentations that fail by themselves, for Python."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_OI = {"scope": "openinference.instrumentation.llama_index"}


def _of_kind(kind, **more):
    return {"openinference.span.kind": kind} | {key.replace("__", "."): value for key, value in more.items()}


def _frame(id, parent, at, took):
    return span(id, parent, "Agent.run", at=at, took=took, attributes=_of_kind("CHAIN"), **_OI)


def _asks(id, parent, call, city, at, took=1.0):
    asked = "llm.output_messages.0.message.tool_calls.0.tool_call."
    said = {f"{asked}id": call, f"{asked}function.name": "look", f"{asked}function.arguments": json.dumps(city)}
    said |= {"llm.output_messages.0.message.role": "assistant", "llm.input_messages.0.message.role": "user"}
    said |= {"llm.input_messages.0.message.content": "where?", "llm.model_name": "m"}
    return span(id, parent, "achat", at=at, took=took, attributes=_of_kind("LLM") | said, **_OI)


def _looks(id, parent, city, at):
    told = {"tool.name": "look", "output.value": f"seen {city['city']}"}
    told["input.value"] = json.dumps({"kwargs": city})
    return span(id, parent, "FunctionTool.acall", at=at, took=0.5, attributes=_of_kind("TOOL") | told, **_OI)


@pytest.mark.parametrize("same", [False, True])
def test_of_agents_that_ask_for_one_tool_at_once_each_has_what_it_asked_for(same):
    """No call has an id: the arguments tell which is whose, and where the work was done if these are the same."""
    oslo, rome = {"city": "Oslo"}, {"city": "Oslo" if same else "Rome"}
    (run,) = runs(
        _frame(1, None, 0, 30),
        _frame(2, 1, 1, 20),
        _frame(3, 1, 2, 20),
        _asks(4, 2, "c1", oslo, 3, 3),
        _asks(5, 3, "c2", rome, 4, 2.5),
        _looks(6, 2, oslo, 8),
        _looks(7, 3, rome, 9),
    )
    told = [(c["call_id"], c["arguments"], c["result"], c["turn"]) for c in run["tool_calls"]]
    assert told == [("c1", oslo, "seen Oslo", 0), ("c2", rome, f"seen {rome['city']}", 1)]


def test_tools_after_an_answer_that_ended_to_have_some_called_were_asked_for_at_once():
    nothing = {"gen_ai.output.messages": [{"role": "assistant", "parts": [], "finish_reason": "tool_call"}]}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, asked="go", at=1, attributes=nothing),
        tool(3, 1, "look", "c1", "seen", at=3),
        tool(4, 1, "count", "c2", "7", at=4.5),
        chat(5, 1, "done", "go", at=6),
    )
    assert run["path"] == [["a/count", "a/look"]]
    assert [c["turn"] for c in run["tool_calls"]] == [0, 0]


def test_an_agent_of_a_team_whose_model_cannot_be_seen_is_one_although_it_sends_messages():
    (run,) = runs(
        span(1, None, "team", took=20),
        agent(2, "a", 1, at=1, took=3),
        span(3, 2, "autogen create topic", at=2, messaging__operation="create"),
        agent(4, "b", 1, at=5, took=5),
        tool(5, 4, "look", "c1", "seen", at=6),
    )
    assert run["agents"] == ["a", "b"] and run["delegations"] is None


def _function(id, parent, name, at, call=None):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    told |= {"gen_ai.tool.call.id": call} if call else {}
    scope = "semantic_kernel.functions.kernel_function"
    return span(id, parent, f"execute_tool {name}", at=at, took=5, attributes=told, scope=scope)


@pytest.mark.parametrize(
    ("name", "call", "told"), [("VeYMMfUPSoFwQssQ", None, []), ("Tools-look", "c1", ["Tools-look"])]
)
def test_a_prompt_that_a_program_runs_in_semantic_kernel_is_no_tool(name, call, told):
    (run,) = runs(_function(1, None, name, 0, call), chat(2, 1, "cold", "weather?", at=1))
    assert [c["name"] for c in run["tool_calls"]] == told


@pytest.mark.parametrize(("name", "told"), [("Tools-look", ["Tools-look"]), ("VeYMMfUPSoFwQssQ", [])])
def test_a_function_of_early_semantic_kernel_is_a_tool_by_its_spans_name(name, told):
    """1.30 for Python: the span of one that failed has an `error.type`, and no more."""
    scope = "semantic_kernel.functions.kernel_function"
    (run,) = runs(agent(1, "planner", took=9), span(2, 1, name, at=1, scope=scope), chat(3, 1, "cold", "go", at=3))
    assert [c["name"] for c in run["tool_calls"]] == told


def test_an_agent_in_a_function_of_early_semantic_kernel_was_delegated_to():
    scope = "semantic_kernel.functions.kernel_function"
    (run,) = runs(
        agent(1, "planner", took=9),
        span(2, 1, "worker-worker", at=1, took=4, scope=scope),
        agent(3, "worker", 2, at=2, took=2),
        chat(4, 3, "cold", "go", at=3, took=0.5),
        chat(5, 1, "cold, says worker", "go", at=6),
    )
    assert run["tool_calls"] == []
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "worker", "tool")]


@pytest.mark.parametrize(
    ("text", "ran", "told"),
    [
        ("Missing required argument(s): ['city'].", False, ("error", "soft")),
        ("There are `2` tool call arguments required and only `1` received.", False, ("error", "soft")),
        ("The tool call with name `look` is not part of the provided tools, please try", False, ("requested", None)),
        ("Error: tool 'look' not found in any workbench", True, ("requested", None)),
        ("Error: tool box not found", True, ("error", "soft")),
        ("Error: no box found", True, ("ok", "soft")),
    ],
)
def test_a_framework_says_that_it_could_not_call_a_tool(text, ran, told):
    brought = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": text}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]}
    question = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        *([tool(3, 1, "look", "c1", text, at=3)] if ran else []),
        chat(4, 1, "done", [question, asked, brought], at=5),
    )
    assert [(c["status"], c["error_kind"]) for c in run["tool_calls"]] == [told]


def test_what_openlit_wrote_in_place_of_an_answer_is_none():
    events = [
        ("gen_ai.content.prompt", {"gen_ai.prompt": "user: go"}),
        ("gen_ai.content.completion", {"gen_ai.completion": "Function called with tools"}),
    ]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1, events=events), tool(3, 1, "look", "c1", "seen", at=3))
    assert run["output"] is None
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("look", 0)]


_TRACE = """Traceback (most recent call last):
  File "/x/site-packages/openlit/instrumentation/haystack/haystack.py", line 53, in wrapper
    response = {line}
  File "{file}", line 386, in work
    {code}
AttributeError: no such name
"""


@pytest.mark.parametrize(
    ("file", "code", "told"),
    [
        ("/x/site-packages/openlit/instrumentation/haystack/utils.py", "return value.name", ("unknown", False)),
        ("/x/site-packages/openlit/instrumentation/haystack/utils.py", "return wrapped(*args)", ("error", True)),
        ("/x/site-packages/haystack/core/pipeline.py", "return value.name", ("error", True)),
    ],
)
def test_what_an_instrumentation_threw_by_itself_is_no_failure_of_the_run(file, code, told):
    thrown = {"exception.type": "AttributeError", "exception.message": "no such name"}
    thrown["exception.stacktrace"] = _TRACE.format(line="work(value)", file=file, code=code)
    frame = {"gen_ai.operation.name": "invoke_workflow", "error.type": "AttributeError"}
    (run,) = runs(
        span(1, None, "invoke_workflow pipeline", took=9, error="", attributes=frame, events=[("exception", thrown)]),
        chat(2, 1, "done", "go", at=1),
    )
    assert (run["status"], "error" in run["boundaries"]) == told
    assert ("error" in run["boundaries_unknown"]) is not told[1]


@pytest.mark.parametrize(("file", "status"), [("openlit/instrumentation/openai/utils.py", "ok"), ("x.py", "error")])
def test_what_is_not_there_is_missed_by_the_instrumentation_that_looked_for_it(file, status):
    """OpenLIT 1.45 looks into objects of OpenAI's Responses as if they were dictionaries."""
    file = f"/x/site-packages/{file}"
    deep = _TRACE.format(line="work(value)", file=file, code="item.get('type')").splitlines()
    deep[-1:-1] = [
        '  File "/x/site-packages/pydantic/main.py", line 7, in __getattr__',
        "    raise AttributeError(item)",
    ]
    thrown = {"exception.type": "AttributeError", "exception.message": "get", "exception.stacktrace": "\n".join(deep)}
    (run,) = runs(
        agent(1, "a", took=9), chat(2, 1, None, "go", at=1, error="AttributeError", events=[("exception", thrown)])
    )
    assert [c["status"] for c in run["llm_calls"]] == [status]


@pytest.mark.parametrize(
    ("turns", "name", "told"), [(1, "look", False), (2, "look", True), (2, "transfer_to_user", False)]
)
def test_a_run_that_ends_on_its_tools_after_one_answer_may_have_been_to_do_so(turns, name, told):
    work = [
        step
        for n in range(turns)
        for step in (
            chat(2 + n, 1, [(f"c{n}", name, {})], "go", at=1 + 4 * n),
            tool(9 + n, 1, name, f"c{n}", "seen", at=3 + 4 * n),
        )
    ]
    (run,) = runs(agent(1, "a", took=4 * turns + 0.5), *work)
    assert ("max_steps" in run["boundaries"]) is told
    assert ("max_steps" in run["boundaries_unknown"]) is not told


@pytest.mark.parametrize("caught", [False, True])
def test_what_a_tool_threw_and_what_ran_it_caught_did_not_end_the_run(caught):
    thrown = {"exception.type": "ValueError", "exception.message": "no"}
    inner = tool(4, 3 if caught else 1, "look", "c1", at=3.2, took=0.5, error="no", events=[("exception", thrown)])
    outer = span(3, 1, "a.look", at=3, status=1, attributes=_of_kind("TOOL", tool__name="look", output__value="no"))
    (run,) = runs(
        agent(1, "a", took=4), chat(2, 1, [("c1", "look", {})], "go", at=1), *([outer] if caught else []), inner
    )
    assert [(c["status"], c["error_kind"]) for c in run["tool_calls"]] == [("error", "hard")]
    assert (run["status"], "error" in run["boundaries"]) == (("ok", False) if caught else ("error", True))


def test_a_team_of_autogen_that_took_all_its_turns_may_have_been_stopped():
    done = {"messages": [{"source": "b", "content": "fine"}], "stop_reason": "Maximum number of turns 2 reached."}
    team = _of_kind("CHAIN", output__value=json.dumps(done))
    (run,) = runs(
        span(1, None, "RoundRobinGroupChat.run_stream", took=9, attributes=team),
        agent(2, "a", 1, at=1, took=2),
        chat(3, 2, "a poem", "write", at=1.5),
        agent(4, "b", 1, at=4, took=2),
        chat(5, 4, "fine", "write", at=4.5),
    )
    assert "max_steps" in run["boundaries_unknown"]


@pytest.mark.parametrize(
    ("begins", "joined", "told"),
    [(1.2, False, ("write", None)), (4, False, ("write", "fine")), (1.2, True, ("write", "all"))],
)
def test_of_agents_that_answered_at_once_none_gave_the_runs_answer(begins, joined, told):
    (run,) = runs(
        span(1, None, "workflow.run", took=20),
        agent(2, "a", 1, at=1, took=2),
        chat(3, 2, "a poem", "write", at=1.5),
        agent(4, "b", 1, at=begins, took=4),
        chat(5, 4, "fine", "write", at=begins + 0.4, took=2),
        *([agent(6, "c", 1, at=10, took=2), chat(7, 6, "all", "write", at=10.5)] if joined else []),
    )
    assert (run["input"], run["output"]) == told


@pytest.mark.parametrize(("words", "told"), [("write", "write"), ("draw", None)])
def test_what_only_some_of_the_agents_were_asked_at_first_is_not_the_users_request(words, told):
    (run,) = runs(
        span(1, None, "crew", took=20),
        agent(2, "a", 1, at=1, took=4),
        chat(3, 2, "a poem", "write", at=1.5, took=2),
        agent(4, "b", 1, at=1, took=4),
        chat(5, 4, "a picture", words, at=1.6, took=2),
        agent(6, "c", 1, at=10, took=2),
        chat(7, 6, "all", "put together", at=10.5),
    )
    assert (run["input"], run["output"]) == (told, "all")


def _history(*more):
    return [{"role": "user", "parts": [{"type": "text", "content": "go"}]}, *more]


def _asked_for(call, name):
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": call, "name": name, "arguments": {}}]}


def _told(call, text):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": text}]}


def _server(id, name, trace, at):
    told = {"mcp.method.name": "tools/call", "gen_ai.tool.name": name}
    return span(id, None, f"tools/call {name}", trace=trace, at=at, took=0.5, kind=3, attributes=told, scope="fastmcp")


@pytest.mark.parametrize("ended", [True, False])
def test_a_tool_in_a_trace_of_its_own_ran_for_the_answer_that_asked_for_it(ended):
    """MCP's clients tell neither ids nor what came of a call; before the next call of the model, or after the last."""
    history = _history(_asked_for("call_a1b2c3d4", "look"), _told("call_a1b2c3d4", "seen"))
    second = [] if not ended else [chat(4, None, "done", history, trace=3, at=5)]
    found = runs(
        chat(2, None, [("call_a1b2c3d4", "look", {})], _history(), trace=1, at=1), _server(3, "look", 2, 3), *second
    )
    assert len(found) == 1
    assert [(c["name"], c["status"], c["evidence"]) for c in found[0]["tool_calls"]] == [
        ("look", "ok", ["span", "message"])
    ]


def test_a_tool_that_two_calls_at_once_asked_for_is_nobodys():
    found = runs(
        chat(2, None, [("call_a1b2c3d4", "look", {})], _history(), trace=1, at=1),
        chat(3, None, [("call_a1b2c3d5", "look", {})], _history(), trace=2, at=1),
        _server(4, "look", 3, 3),
    )
    assert len(found) == 3


@pytest.mark.parametrize(("words", "count"), [("again?", 2), (None, 1)])
def test_requests_over_one_connection_to_a_server_are_as_many_runs(words, count):
    """Unless what comes under the second span goes on with the work of the first."""
    asked, brought = _asked_for("c1", "look"), _told("c1", "seen")
    said = {"role": "user", "parts": [{"type": "text", "content": words}]}
    found = runs(
        span(1, None, "mcp.client.session", took=30, traceloop__span__kind="session"),
        span(2, 1, "handle request", at=1, took=8),
        chat(3, 2, [("c1", "look", {})], _history(), at=1.5),
        tool(4, 2, "look", "c1", "seen", at=3),
        span(5, 1, "handle request", at=10, took=8),
        chat(6, 5, "done", _history(asked, brought, *([said] if words else [])), at=10.5),
    )
    assert len(found) == count
    assert found[-1]["output"] == "done"


def test_an_observation_is_no_word_of_the_user():
    """The kit tells what the model wrote in words of its own."""

    def wrote(city):
        return f'Thought: I look.\nAction: look\nAction Input: {{"city": "{city}"}}'

    def history(*cities):
        for city in cities:
            told = wrote(city).replace('"', "'")
            yield {"role": "assistant", "parts": [{"type": "text", "content": told}]}
            yield {"role": "user", "parts": [{"type": "text", "content": f"Observation: seen {city}"}]}

    (run,) = runs(
        chat(2, None, wrote("Oslo"), _history(), trace=1, at=1),
        chat(3, None, wrote("Rome"), _history(*history("Oslo")), trace=2, at=5),
        chat(4, None, "Thought: I can answer.\nAnswer: cold", _history(*history("Oslo", "Rome")), trace=3, at=9),
    )
    assert (run["input"], run["output"]) == ("go", "cold")
    told = [(c["name"], c["arguments"]["city"], c["status"], c["result"]) for c in run["tool_calls"]]
    assert told == [("look", "Oslo", "ok", "seen Oslo"), ("look", "Rome", "ok", "seen Rome")]


@pytest.mark.parametrize(("several", "told"), [(True, "b edits"), (False, "a poem")])
def test_of_a_pipelines_parts_the_one_that_ended_last_gave_the_answer(several, told):
    def said(text):
        return {"messages": [{"role": "user", "content": "write"}, {"role": "assistant", "content": text}]}

    parts = {"a": said("a poem"), "b": said("b edits")} if several else {"a": said("a poem"), "count": {"steps": 1}}
    ran = [("a poem", 1), ("b edits", 4)] if several else [("a poem", 1)]
    (run,) = runs(
        span(1, None, "Pipeline.run", took=9, attributes=_of_kind("CHAIN", output__value=json.dumps(parts))),
        *(
            span(2 + n, 1, "Agent.run", at=at, attributes=_of_kind("CHAIN", output__value=json.dumps(said(text))))
            for n, (text, at) in enumerate(ran)
        ),
        span(9, 1, "store", at=8, attributes=_of_kind("TOOL", tool__name="store", output__value="kept")),
    )
    assert run["output"] == told


def test_what_an_agent_is_told_to_do_with_what_its_team_said_is_not_the_users_request():
    def said(*words):
        return [{"role": "user", "parts": [{"type": "text", "content": w}]} for w in words]

    def society(*words):
        (run,) = runs(
            agent(1, "society", took=20),
            agent(2, "writer", parent=1, at=1, took=5),
            chat(3, 2, "draft", said("write of Oslo"), at=2),
            chat(4, 1, "final", said(*words), at=10),
        )
        return run

    assert society("write of Oslo")["input"] == "write of Oslo"
    run = society("your team said:", "draft", "put it in one answer")
    assert (run["input"], run["output"]) == (None, "final")
    assert "input not reported" in run["incomplete"]


def test_a_tool_of_agno_without_its_result_may_have_failed():
    """Traceloop 0.62 of Agno 2: the words of the result alone say so, and the span ends well."""
    told = {"traceloop.span.kind": "tool", "gen_ai.system": "agno", "gen_ai.tool.name": "look"}
    scope = "opentelemetry.instrumentation.agno"
    (run,) = runs(
        agent(1, "planner", took=9, scope=scope),
        span(2, 1, "look.tool", at=1, scope=scope, status=1, attributes=told),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["unknown"]
    assert "tool_failure" in run["boundaries_unknown"]


def test_what_autogen_is_asked_after_a_stream_that_was_left_is_a_run_of_its_own():
    """autogen-agentchat 0.7 by `on_messages` under OpenInference 0.1: each request lies under the one before it."""
    scope = "openinference.instrumentation.autogen_agentchat"

    def turn(id, parent, at, *words):
        roles = ["user", "assistant"] * len(words)
        said = {
            f"llm.input_messages.{i}.message.{key}": told
            for i, (role, text) in enumerate(zip(roles, words, strict=False))
            for key, told in (("role", role), ("content", text))
        }
        told = _of_kind("AGENT", graph__node__id="planner", graph__node__parent_id="start", input__value=f"#{id}")
        said |= {"output.value": json.dumps({"finish_reason": "stop", "content": f"answer {id}"})}
        return (
            span(id, parent, "planner.on_messages_stream", at=at, took=8, status=1, scope=scope, attributes=told),
            span(id + 1, id, "create", at=at + 1, status=1, scope=scope, attributes=_of_kind("LLM") | said),
        )

    first = ("one", "answer 1")
    found = runs(
        *turn(1, None, 0, "one"),
        *turn(3, 1, 5, *first, "two"),
        *turn(5, 3, 9, *first, "two", "answer 3", "three"),
    )
    assert [(r["input"], len(r["llm_calls"]), r["status"]) for r in found] == [
        ("#1", 1, "ok"),
        ("#3", 1, "ok"),
        ("#5", 1, "ok"),
    ]


@pytest.mark.parametrize("error", [None, "no room"])
def test_how_a_run_went_of_which_a_tool_is_all_that_came_is_not_known(error):
    """autogen-core 0.7 alone, by `on_messages`: of an agent nothing but its tools has a span."""
    (run,) = runs(tool(1, None, "book", "c1", scope="autogen-core", error=error))
    assert (run["status"], run["tool_calls"][0]["status"]) == ("unknown", "error" if error else "ok")
    assert "whose work this was is not visible" in run["incomplete"]
