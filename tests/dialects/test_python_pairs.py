"""Kits for Python under instrumentations of others that nobody had met together, by what they told of runs against a
model of ours."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_LIT = {"scope": "openlit.instrumentation.dynamiq"}


def _dynamiq(id, name, parent=None, **more):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.endpoint": "dynamiq.agent_run", "gen_ai.agent.role": name}
    return span(id, parent, "dynamiq.agent_run", status=1, attributes=told, **_LIT, **more)


def _asked(text, *steps):
    """A conversation: what a user said, then calls with what came of each."""
    told = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
    for call, result in steps:
        parts = [{"type": "tool_call", "id": call[0], "name": call[1], "arguments": call[2]}]
        came = [{"type": "tool_call_response", "id": call[0], "response": result}]
        told += [{"role": "assistant", "parts": parts}, {"role": "tool", "parts": came}]
    return told


def test_an_agent_of_dynamiqs_hands_its_answer_in_and_one_that_works_for_another_was_called_by_a_tool():
    """dynamiq 0.69, calling functions, in a workflow under OpenLIT 1.45."""
    workflow = {"gen_ai.operation.name": "invoke_agent", "gen_ai.endpoint": "dynamiq.workflow_run"}
    remembers = {"gen_ai.operation.name": "invoke_agent", "gen_ai.endpoint": "dynamiq.memory_add"}
    hands = ("call_a", "worker", {"thought": "t", "input": "book"})
    books = ("call_b", "book", {"thought": "t", "hotel": "H-7"})
    (run,) = runs(
        span(1, None, "dynamiq.workflow_run", took=20, attributes=workflow, status=1, **_LIT),
        span(11, 1, "dynamiq.memory_add", took=0.1, attributes=remembers, status=1, **_LIT),
        _dynamiq(2, "planner", 1, at=0.2, took=19),
        chat(3, 2, [hands], "Plan.", at=1),
        _dynamiq(4, "worker", 2, at=3, took=7),
        chat(5, 4, [books], "book", at=4),
        chat(6, 4, [("call_c", "provide_final_answer", {"thought": "t", "answer": "Booked."})],
             _asked("book", (books, "booked H-7")), at=6),
        chat(7, 2, [("call_d", "provide_final_answer", {"thought": "t", "answer": "Done."})],
             _asked("Plan.", (hands, "Booked.")), at=12),
    )  # fmt: skip
    assert (run["input"], run["output"], run["status"], run["agents"]) == (
        "Plan.",
        "Done.",
        "ok",
        ["planner", "worker"],
    )
    assert [(t["name"], t["agent"], t["status"]) for t in run["tool_calls"]] == [("book", "worker", "ok")]
    assert [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]] == [
        ("planner", "worker", "tool", "worker")
    ]


def test_how_an_agent_of_dynamiqs_ended_that_asked_for_a_tool_at_last_is_unknown():
    """What it gives says whether it failed, and never raises; OpenLIT notes that it went well."""
    call = ("call_a", "look", {"thought": "t", "city": "Rome"})
    (run,) = runs(_dynamiq(1, "planner", took=9), chat(2, 1, [call], "Plan.", at=1))
    assert (run["status"], run["output"], run["tool_calls"][0]["status"]) == ("unknown", None, "unknown")


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("[tool_error] Unknown tool: look. Use only available tools.", "requested"),
        ("[tool_error] ToolExecutionException: Tool 'look' failed: {'type': 'RecoverableAgentException'}", "error"),
        ("sunny", "ok"),
    ],
)
def test_a_tool_of_dynamiqs_failed_where_its_words_for_that_are_the_result(said, status):
    call = ("call_a", "look", {"thought": "t", "city": "Rome"})
    end = [("call_b", "provide_final_answer", {"thought": "t", "answer": "Done."})]
    (run,) = runs(
        _dynamiq(1, "planner", took=9),
        chat(2, 1, [call], "Plan.", at=1),
        chat(3, 1, end, _asked("Plan.", (call, said)), at=4),
    )
    assert [t["status"] for t in run["tool_calls"]] == [status]


def _in_tags(name, given):
    step = f"<action>{name}</action><action_input>{json.dumps(given)}</action_input>"
    return f"<output><thought>So.</thought>{step}</output>"


def _in_an_object(name, given):
    return json.dumps({"thought": "So.", "action": name, "action_input": json.dumps(given), "output_files": ""})


def _as_langchain(name, given):
    return f"```json\n{json.dumps({'action': name, 'action_input': given})}\n```"


@pytest.mark.parametrize(
    ("step", "end"),
    [
        (_in_tags, "<output><thought>So.</thought><answer>Sunny.</answer></output>"),
        (
            _in_an_object,
            json.dumps({"thought": "So.", "action": "finish", "action_input": "Sunny.", "output_files": ""}),
        ),
        (_as_langchain, json.dumps({"action": "Final Answer", "action_input": "Sunny."})),
    ],
)
def test_a_tool_is_asked_for_in_tags_or_an_object(step, end):
    """dynamiq 0.69 in its modes `XML` and `STRUCTURED_OUTPUT`, and LangChain's structured chat."""
    asks = step("look", {"city": "Rome"})
    told = [("user", "Plan."), ("assistant", asks), ("user", "Observation: sunny in Rome")]
    told = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in told]
    (run,) = runs(_dynamiq(1, "planner", took=9), chat(2, 1, asks, "Plan.", at=1), chat(3, 1, end, told, at=4))
    assert (run["input"], run["output"], run["status"]) == ("Plan.", "Sunny.", "ok")
    assert [(t["name"], t["arguments"], t["status"], t["result"]) for t in run["tool_calls"]] == [
        ("look", {"city": "Rome"}, "ok", "sunny in Rome")
    ]
    (run,) = runs(_dynamiq(1, "planner", took=9), chat(2, 1, asks, "Plan.", at=1))
    assert (run["output"], run["status"]) == (None, "unknown")


_ITEMS = {
    "web_search": {"action": {"type": "search", "query": "Rome"}, "status": "failed", "type": "web_search"},
    "code_interpreter": {
        **{"code": "print(6*7)", "container_id": "cntr_1", "outputs": [{"logs": "42", "type": "logs"}]},
        **{"status": "completed", "type": "code_interpreter"},
    },
    "roll": {"arguments": '{"sides": 6}', "server_label": "deep", "output": "4", "status": "completed", "type": "mcp"},
    "mcp_list_tools": {"server_label": "deep", "tools": [{"name": "roll"}], "type": "mcp_list_tools"},
}


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("web_search", [("web_search", {"type": "search", "query": "Rome"}, "error", None)]),
        ("code_interpreter", [("code_interpreter", {"code": "print(6*7)"}, "ok", "42")]),
        ("roll", [("roll", {"sides": 6}, "ok", "4")]),
        ("mcp_list_tools", None),
    ],
)
def test_what_openai_ran_by_itself_says_what_it_was_given_and_what_came_of_it(name, called):
    """OpenAI's Responses by opentelemetry-instrumentation-genai-openai 1.3, which hands their items on."""
    part = {"name": name, "server_tool_call": _ITEMS[name], "id": "item_1", "type": "server_tool_call"}
    told = [[part], [{"type": "text", "content": "Done."}]]
    told = [{"role": "assistant", "parts": parts, "finish_reason": "stop", "name": None} for parts in told]
    (run,) = runs(
        span(1, took=9),
        chat(2, 1, None, "Go.", at=1, attributes={"gen_ai.output.messages": told}),
    )
    calls = run["tool_calls"]
    assert (calls and [(t["name"], t["arguments"], t["status"], t["result"]) for t in calls]) == called
    assert run["output"] == "Done."


_ANTHROPICS = {"scope": "opentelemetry.instrumentation.genai.anthropic"}


def _answered(*parts):
    return {"gen_ai.output.messages": [{"role": "assistant", "parts": list(parts), "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("came", "status"),
    [
        ({"error_code": "max_uses_exceeded", "type": "web_search_tool_result_error"}, "error"),
        ([{"type": "web_search_result", "title": "Rome", "url": "http://rome/"}], "ok"),
    ],
)
def test_what_anthropic_ran_by_itself_was_given_what_stands_as_its_input(came, status):
    """Anthropic's client by opentelemetry-instrumentation-genai-anthropic 1.3."""
    asks = {"type": "web_search", "input": {"query": "Rome"}}
    told = _answered(
        {"name": "web_search", "server_tool_call": asks, "id": "srvtoolu_1", "type": "server_tool_call"},
        {
            "server_tool_call_response": {"type": "web_search", "content": came},
            **{"id": "srvtoolu_1", "type": "server_tool_call_response"},
        },
        {"content": "Done.", "type": "text"},
    )
    (run,) = runs(span(1, took=9), chat(2, 1, None, "Go.", at=1, attributes=told, **_ANTHROPICS))
    assert [(t["name"], t["arguments"], t["status"], t["result"]) for t in run["tool_calls"]] == [
        ("web_search", {"query": "Rome"}, status, came)
    ]


@pytest.mark.parametrize(
    ("before", "called"), [([], []), ([{"type": "text", "content": None}], None), ([{"type": "reasoning"}], [])]
)
def test_a_text_without_words_beside_one_that_has_some_stands_for_what_nobody_told(before, called):
    """The same, of what a server of MCP's ran for Anthropic."""
    told = _answered(*before, {"type": "text", "content": "You rolled 4."})
    (run,) = runs(span(1, took=9), chat(2, 1, None, "Go.", at=1, attributes=told, **_ANTHROPICS))
    assert (run["output"], run["tool_calls"]) == ("You rolled 4.", called)


@pytest.mark.parametrize(
    "scope", ["opentelemetry.instrumentation.anthropic", "opentelemetry.instrumentation.openai.v1"]
)
@pytest.mark.parametrize("own", [True, False])
def test_what_anthropic_ran_by_itself_may_be_left_out_by_traceloops(scope, own):
    """opentelemetry-instrumentation-anthropic 0.62: an answer is its texts, and a tool of Anthropic's own is offered by
    its name alone."""
    offered = [{"name": "look", "description": "look", "input_schema": {"type": "object"}}, {"name": "web_search"}]
    told = {"gen_ai.tool.definitions": offered[: 2 if own else 1]}
    (run,) = runs(span(1, took=9), chat(2, 1, "Sunny.", "Go.", at=1, scope=scope, attributes=told))
    hidden = own and scope.endswith("anthropic")
    assert (run["tool_calls"], "tool calls not visible" in run["incomplete"]) == (None if hidden else [], hidden)


def test_a_task_of_crewais_is_of_the_agent_that_future_agi_tells_as_what_it_was_given():
    """crewai 1.15 by traceai-crewai 0.1.8 and traceai-openai."""
    given = {"args": [{"entity_type": "agent", "id": "5b71", "role": "planner", "goal": "help"}]}
    task = {"gen_ai.span.kind": "AGENT", "input.value": given, "output.value": "Done."}
    crew = {"gen_ai.span.kind": "CHAIN", "input.value": {"args": []}, "output.value": "Done."}
    (run,) = runs(
        span(1, None, "Crew.kickoff", took=9, attributes=crew, scope="traceai_crewai"),
        span(2, 1, "Task._execute_core", took=8, attributes=task, scope="traceai_crewai"),
        chat(3, 2, "Done.", "Plan.", at=1),
    )
    assert (run["agents"], [c["agent"] for c in run["llm_calls"]], run["output"]) == (["planner"], ["planner"], "Done.")


_CLAUDES = {"scope": "openlit.instrumentation.claude_agent_sdk"}


def _claudes(id, parent, at, answer, asked="Go.", tokens=1, **more):
    told = {
        "gen_ai.request.model": "claude-sonnet-4-5-20250101",
        "gen_ai.response.model": "claude-sonnet-4-5-20250101",
        "gen_ai.usage.output_tokens": tokens,
    }
    return chat(id, parent, answer, asked, at=at, attributes=told | more, **_CLAUDES)


@pytest.mark.parametrize(("name", "agents"), [("claude-sonnet-4-5", []), ("claude_agent_sdk", []), ("boss", ["boss"])])
@pytest.mark.parametrize(("tokens", "told"), [(1, None), (101, 101)])
def test_openlit_calls_an_agent_of_claudes_kit_by_its_model_and_counts_what_had_only_begun(name, agents, tokens, told):
    """claude-agent-sdk 0.2.189 by OpenLIT 1.45."""
    (run,) = runs(
        agent(1, name, took=9, attributes={"gen_ai.response.model": "claude-sonnet-4-5"}, **_CLAUDES),
        _claudes(2, 1, 1, "Done.", tokens=tokens),
    )
    assert (run["agents"], [c["output_tokens"] for c in run["llm_calls"]]) == (agents, [told])


def test_an_answer_of_which_each_block_has_a_span_is_one_call():
    """The same, where one tool was done before the other's block came."""
    look, book = ("toolu_a", "look", {"city": "Rome"}), ("toolu_b", "book", {"hotel": "H-1"})
    same = {"gen_ai.response.id": "msg_1"}
    (run,) = runs(
        agent(1, "boss", took=20, **_CLAUDES),
        _claudes(2, 1, 1, [look], **same),
        tool(3, 1, "look", "toolu_a", "sunny", at=3, **_CLAUDES),
        _claudes(4, 1, 5, [book], **same),
        tool(5, 1, "book", "toolu_b", "booked", at=7, **_CLAUDES),
        _claudes(6, 1, 9, "Done.", **{"gen_ai.response.id": "msg_2"}),
    )
    assert (len(run["llm_calls"]), [t["name"] for t in run["tool_calls"]]) == (2, ["look", "book"])


def test_what_claude_code_says_in_place_of_an_answer_is_a_call_that_failed():
    told = {"gen_ai.request.model": "<synthetic>", "gen_ai.response.model": "<synthetic>"}
    (run,) = runs(
        agent(1, "claude_agent_sdk", took=9, error="failed", attributes=told, **_CLAUDES),
        _claudes(2, 1, 1, "API Error: 400 bad request", tokens=0, **told),
    )
    assert (run["output"], run["status"]) == (None, "error")
    assert [(c["status"], c["request_model"], c["output_tokens"]) for c in run["llm_calls"]] == [("error", None, None)]


@pytest.mark.parametrize("ended", [True, False])
def test_what_a_server_of_a_kits_client_ran_is_of_whoever_called_it_though_it_lies_where_the_client_was_made(ended):
    """The same, of `ClaudeSDKClient`, whose server of tools works in a task made as it connects."""
    server = {"scope": "mcp-python-sdk", "kind": 2}

    def asks(number, at):
        call = (f"toolu_{number}", "mcp__t__look", {"city": "Rome"})
        first = 10 * number
        return [
            agent(first, "boss", trace=number, at=at, took=9, **_CLAUDES),
            _claudes(first + 1, first, at + 1, [call], trace=number) | {"trace": number},
            tool(first + 2, first, "mcp__t__look", call[0], "sunny", trace=number, at=at + 3, took=2, **_CLAUDES),
            _claudes(first + 3, first, at + 6, "Done.") | {"trace": number},
        ]

    made = {"gen_ai.operation.name": "create_agent"}
    took = 1 if ended else 90
    found = runs(
        span(1, None, "create_agent claude_agent_sdk", took=took, attributes=made, **_CLAUDES),
        *asks(2, 10),
        tool(2, 1, "look", at=13.5, **server),
        *asks(3, 40),
        tool(3, 1, "look", at=43.5, **server),
    )
    assert len(found) == (2 if ended else 3)
    assert [[t["name"] for t in run["tool_calls"]] for run in found][-2:] == [["mcp__t__look"]] * 2


@pytest.mark.parametrize("client", ["vertexai", "google_generativeai"])
def test_traceloop_writes_what_a_user_says_to_googles_models_as_a_list_of_parts(client):
    """google-cloud-aiplatform 2.7 by opentelemetry-instrumentation-vertexai 0.62."""
    told = {
        **{"gen_ai.system": "Google", "llm.request.type": "completion", "gen_ai.request.model": "gemini-2.0-flash"},
        **{"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": [{"type": "text", "text": "Go."}]},
        **{"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Done."},
        **{"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2},
    }
    scope = f"opentelemetry.instrumentation.{client}"
    (run,) = runs(span(1, None, f"{client}.generate_content", attributes=told, scope=scope))
    assert (run["input"], run["output"]) == ("Go.", "Done.")


def test_what_a_client_of_lettas_asks_for_is_no_call_of_a_model_that_openlit_guesses():
    """letta-client 0.1.324 by OpenLIT 1.45, of a stream."""
    told = {
        **{"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.agent.step_count": 2},
        "gen_ai.input.messages": "\"[MessageCreate(type=None, role='user', content='Go.', name=None, otid=None)]\"",
        "gen_ai.output.messages": "[AssistantMessage(id='m', date=datetime.datetime(2026, 1, 1), content='Done.')]",
        **{"gen_ai.usage.input_tokens": 1006, "gen_ai.usage.output_tokens": 106},
    }
    (run,) = runs(span(1, None, "chat gpt-4o", status=1, attributes=told, scope="openlit.instrumentation.letta"))
    assert (run["input"], run["output"], run["llm_calls"], run["tool_calls"]) == ("Go.", None, None, None)


_WEAVES = {"scope": "weave.conversation"}


def _said(role, **part):
    return {"role": role, "parts": [part]}


def _weaves(id, parent, at, said, *before, model="claude-sonnet-4-5"):
    told = {
        **{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": model},
        **{"gen_ai.input.messages": list(before), "gen_ai.output.messages": [said]},
    }
    return span(id, parent, f"chat {model}", at=at, attributes=told, **_WEAVES)


def test_the_blocks_of_an_answer_that_weave_tells_one_after_another_are_one_call():
    """claude-agent-sdk 0.2.189 by weave 0.54."""
    first = _said("assistant", type="text", content="I will look.")
    then = _said("assistant", type="tool_call", id="toolu_a", name="look", arguments={"city": "Rome"})
    came = _said("tool", type="tool_call_response", id="toolu_a", response="sunny")
    asked = {"gen_ai.input.messages": [_said("user", type="text", content="Go.")]}
    (run,) = runs(
        agent(1, "claude_agent_sdk", took=20, attributes=asked, **_WEAVES),
        _weaves(2, 1, 1, first),
        _weaves(3, 1, 3, then, first),
        tool(4, 1, "look", "toolu_a", "sunny", at=5, **_WEAVES),
        _weaves(5, 1, 7, _said("assistant", type="text", content="Sunny."), first, then, came),
    )
    assert (len(run["llm_calls"]), run["input"], run["output"], run["agents"]) == (2, "Go.", "Sunny.", [])
    assert [(t["name"], t["turn"], t["status"]) for t in run["tool_calls"]] == [("look", 0, "ok")]


@pytest.mark.parametrize("failed", [True, False])
def test_weave_says_of_any_run_of_claudes_that_failed_no_more_than_that(failed):
    """The same, at a limit of turns, and where the platform gave an error, in whose place Claude Code says so."""
    asks = _said("assistant", type="tool_call", id="toolu_a", name="look", arguments={"city": "Rome"})
    thrown = ("exception", {"exception.type": "RuntimeError", "exception.message": "agent run failed"})
    why = {"error.type": "RuntimeError"}
    wrong = _said("assistant", type="text", content="API Error: 400 bad request")
    (run,) = runs(
        agent(1, "boss", took=20, error="agent run failed", attributes=why, events=[thrown], **_WEAVES),
        _weaves(2, 1, 1, asks) if not failed else _weaves(2, 1, 1, wrong, model="<synthetic>"),
        *([] if failed else [tool(3, 1, "look", "toolu_a", "sunny", at=5, **_WEAVES)]),
    )
    assert (run["status"], run["output"], "error" in run["boundaries"]) == ("error", None, failed)
    assert [(c["status"], c["request_model"]) for c in run["llm_calls"]] == [
        ("error", None) if failed else ("ok", "claude-sonnet-4-5")
    ]
