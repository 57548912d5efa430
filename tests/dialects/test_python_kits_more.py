"""Kits for Python and pairs of them that tell what another would tell otherwise, run against a model of ours."""

import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct, run_json
from otelcov.store.layout import from_requests
from tests.captures import LATER
from tests.runs.requests import agent, chat, request, runs, span, tool

pytestmark = pytest.mark.full

_ADK = "gcp.vertex.agent"


def _steps(*names, scope=_ADK):
    """ADK 2.13: a SequentialAgent's span holds those of its agents."""
    spans = [span(1, None, "invocation", took=40, scope=scope), agent(2, "team", 1, at=0, took=39, scope=scope)]
    for at, name in enumerate(names):
        spans.append(agent(3 + 2 * at, name, 2, at=1 + 5 * at, took=4, scope=scope))
        spans.append(chat(4 + 2 * at, 3 + 2 * at, f"{name} is done.", "go", at=2 + 5 * at, scope=scope))
    return spans


@pytest.mark.parametrize("scope", [_ADK, "openinference.instrumentation.google_adk"])
def test_an_agent_of_adks_that_asks_no_model_runs_others_and_delegates_nothing(scope):
    (run,) = runs(*_steps("planner", "worker", scope=scope))
    assert (run["agents"], run["delegations"]) == (["planner", "worker"], [])
    (run,) = runs(*_steps("planner", scope=scope))
    assert run["delegations"] == []


def test_an_agent_of_adks_that_asks_a_model_delegates_to_what_its_span_holds():
    (run,) = runs(*_steps("worker"), chat(20, 2, "worker, please", "go", at=0.5, scope=_ADK))
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("team", "worker")]


def test_an_agent_of_others_that_asks_no_model_delegates_to_what_its_span_holds():
    (run,) = runs(*_steps("planner", "worker", scope="kit"))
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("team", "planner"), ("team", "worker")]


def _asked_twice(*words, error="scripted failure"):
    """loongsuite-instrumentation-langchain 0.9: a graph of LangChain's whose step raised, and what came next in that
    task."""
    scope = "opentelemetry.util.genai.handler"
    spans, parent = [], None
    for at, said in enumerate(words):
        first = 1 + 3 * at
        last = {} if at else {"error": error}
        spans += [
            agent(first, "planner", parent, at=5 * at, took=3, scope=scope, **last),
            span(first + 1, first, "chain model", at=5 * at + 1, took=2, gen_ai__span__kind="CHAIN", **last),
            chat(first + 2, first + 1, asked=said, at=5 * at + 1.5, scope=scope, **last),
        ]
        parent = first + 1
    return runs(*spans)


def test_what_an_agent_is_asked_after_it_raised_is_a_run_of_its_own_where_no_words_are_told():
    assert [(r["status"], len(r["llm_calls"])) for r in _asked_twice(None, None)] == [("error", 1), ("ok", 1)]
    assert len(_asked_twice("go", "go")) == len(_asked_twice(None, "go")) == 1


_CORALOGIX = "llm_tracekit.openai_agents.instrumentor"


def _of_coralogix(*steps, said="Error in agent run", **more):
    """llm-tracekit-openai-agents 1.3: a span of each of the kit's, and no attributes of those of a chat."""
    told = {"type": "agent", "agent_name": "planner", "tools": ["look"]}
    (run,) = runs(
        span(1, None, "openai.agent", took=30, kind=3, scope=_CORALOGIX),
        span(2, 1, "Agent - planner", took=29, scope=_CORALOGIX, attributes=told, **({"error": said} if more else {})),
        span(3, 2, "TurnSpanData", at=1, took=9, scope=_CORALOGIX),
        *steps,
    )
    return run


def test_what_coralogix_tells_of_a_chat_of_openais_agents_are_steps_though_it_tells_of_no_model():
    made = {"type": "function", "name": "look", "input": '{"x": 1}', "output": "seen"}
    gone = {"type": "handoff", "from_agent": "planner", "to_agent": "worker"}
    more = {"type": "agent", "agent_name": "worker"}
    run = _of_coralogix(
        span(4, 3, "GenerationSpanData", at=1, scope=_CORALOGIX),
        span(5, 3, "Tool - look", at=3, scope=_CORALOGIX, attributes=made),
        span(6, 3, "Handoff", at=5, scope=_CORALOGIX, attributes=gone),
        span(7, 1, "Agent - worker", at=11, took=9, scope=_CORALOGIX, attributes=more),
        span(8, 7, "GenerationSpanData", at=12, scope=_CORALOGIX, error="Error getting response"),
    )
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("planner", "ok"), ("worker", "error")]
    assert [(c["agent"], c["name"], c["arguments"], c["result"], c["status"]) for c in run["tool_calls"]] == [
        ("planner", "look", {"x": 1}, "seen", "ok")
    ]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "worker", "handoff")]
    assert (run["status"], run["boundaries"]) == ("error", ["error"])
    assert "timeout" in run["boundaries_unknown"]


def test_the_one_call_of_an_agent_that_failed_after_it_may_have_failed():
    """Coralogix's sets no status on a response that it cannot read."""
    asked = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai"}
    response = span(4, 3, "Response", at=1, scope=_CORALOGIX, attributes=asked)
    assert [c["status"] for c in _of_coralogix(response, failed=True)["llm_calls"]] == ["unknown"]
    assert [c["status"] for c in _of_coralogix(response)["llm_calls"]] == ["ok"]
    answered = asked | {"gen_ai.request.model": "m-2026-01-15", "gen_ai.response.model": "m-2026-01-15"}
    answered |= {"gen_ai.agent.name": "unknown", "gen_ai.usage.input_tokens": 9, "gen_ai.response.id": "resp_1a"}
    (call,) = _of_coralogix(span(4, 3, "Response", at=1, scope=_CORALOGIX, attributes=answered))["llm_calls"]
    assert (call["agent"], call["request_model"], call["response_model"]) == ("planner", None, "m-2026-01-15")


_HANDLER = "opentelemetry.util.genai.handler"


@pytest.mark.parametrize(("scope", "status"), [("autogen-core", "unknown"), ("kit", "ok")])
def test_what_loongsuite_tells_of_a_tool_of_autogens_may_be_an_error(scope, status):
    """loongsuite-instrumentation-autogen 0.9 drops the flag of what the kit had caught."""
    said = "unknown airport XXX"
    user = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1a", "name": "look", "arguments": {}}]}
    came = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1a", "response": said}]}
    (run,) = runs(
        agent(1, "planner", took=9, scope=scope),
        chat(2, 1, [("call_1a", "look", {})], "go", at=1, scope=_HANDLER),
        tool(3, 1, "look", "call_1a", said, at=3, scope=_HANDLER),
        chat(4, 1, "done", [user, asked, came], at=5, scope=_HANDLER),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(status, said)]


def test_a_team_of_autogens_is_no_agent_though_loongsuite_calls_it_one():
    team = {"autogen.team.type": "Swarm", "autogen.team.participants": ["planner", "worker"]}
    (run,) = runs(
        agent(1, "Swarm", took=20, scope=_HANDLER, attributes=team),
        agent(2, "planner", 1, at=1, took=4, scope="autogen-core"),
        chat(3, 2, [("call_1a", "transfer_to_worker", {})], "go", at=2, scope=_HANDLER),
        agent(4, "worker", 1, at=7, took=4, scope="autogen-core"),
        chat(5, 4, "done", "go", at=8, scope=_HANDLER),
    )
    assert run["agents"] == ["planner", "worker"]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "worker", "handoff")]


@pytest.mark.parametrize("component", ["crew", "flow"])
def test_a_crew_without_inputs_is_asked_its_task(component):
    """loongsuite-instrumentation-crewai 0.9, whose entry has the inputs for the user's words."""

    def words(*texts):
        return [{"role": "user", "parts": [{"type": "text", "content": t} for t in texts]}]

    entry = {"gen_ai.operation.name": "enter", "gen_ai.span.kind": "ENTRY", "gen_ai.crewai.component": component}
    entry |= {"gen_ai.input.messages": words("{}")}
    task = {"gen_ai.crewai.component": "task", "gen_ai.crewai.task.description": "Fly."}
    task |= {"gen_ai.input.messages": words("Task: Fly.", "Expected output: a plan")}
    (run,) = runs(
        span(1, None, "enter_ai_application_system", took=9, scope=_HANDLER, attributes=entry),
        agent(2, "planner", 1, at=1, took=5, scope=_HANDLER, attributes=task),
    )
    assert (run["input"], run["agents"]) == ("Fly.", ["planner"])


_OTEL_ADK = "otel_instrumentation_google_adk"


def _written_over(id, parent, name, at, took, operation="generate_content", answer="done", ran=None, **more):
    """otel-instrumentation-google-adk 0.2.2 of ADK 2.13: the kit writes of models and tools over the agent's span."""
    words = answer if isinstance(answer, list) else [{"type": "text", "content": answer}]
    told = {"gen_ai.operation.name": operation, "gen_ai.agent.name": name, "gen_ai.request.model": "m"}
    told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    told |= {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]}
    told |= {"gen_ai.output.messages": [{"role": "assistant", "parts": words, "finish_reason": "stop"}]}
    told |= {"gen_ai.response.finish_reasons": ["stop"]} | ({"gen_ai.tool.name": ran} if ran else {})
    told |= {"error.type": more["error"]} if "error" in more else {}
    frame = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    return [
        span(id, parent, f"agent_run [{name}]", at=at, took=took, scope=_OTEL_ADK, attributes=frame, status=1),
        span(id + 1, id, f"invoke_agent {name}", at=at, took=took, scope=_ADK, attributes=told, **more),
    ]


def test_a_tool_of_adks_that_failed_is_not_its_agents_model_though_that_span_tells_of_it():
    (run,) = runs(*_written_over(1, None, "planner", 0, 9, ran="look", error="TOOL_ERROR"))
    assert (run["status"], run["boundaries"], run["output"]) == ("ok", [], "done")
    assert [(c["status"], c["output_tokens"]) for c in run["llm_calls"]] == [("ok", 2)]
    (run,) = runs(*_written_over(1, None, "planner", 0, 9, error="ServerError"))
    assert [c["status"] for c in run["llm_calls"]] == ["error"]


def test_an_agent_of_adks_whose_span_tells_of_the_tool_by_which_it_hands_over_asked_a_model():
    asked = [{"type": "tool_call", "id": "t1", "name": "transfer_to_agent", "arguments": {"agent_name": "worker"}}]
    (run,) = runs(
        span(9, None, "invocation", took=20, scope=_ADK),
        *_written_over(1, 9, "planner", 0, 4, "execute_tool", asked, "transfer_to_agent"),
        *_written_over(3, 9, "worker", 5, 4),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker"]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "worker", "handoff")]
    assert run["tool_calls"] == []


def test_a_tool_that_bears_the_name_of_an_agent_below_who_asked_is_that_one():
    asked = [{"type": "tool_call", "id": "t1", "name": "worker", "arguments": {"request": "look"}}]
    (run,) = runs(
        span(9, None, "invocation", took=20, scope=_ADK),
        *_written_over(1, 9, "planner", 0, 12, answer=asked),
        *_written_over(3, 2, "worker", 5, 4),
    )
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "worker", "worker")]
    assert run["tool_calls"] == []


def _behind_a_server(words, answer, frame=False, **more):
    """Pydantic AI 2.68 behind a server of its own, which is handed no context on, called by LangChain's agent."""
    given = {"gen_ai.tool.call.arguments": '{"task": "and Oslo?"}'}
    talk = {"gen_ai.conversation.id": "talk-1"}
    framed = [span(10, None, "workflow", trace=2, at=3.5, took=8, gen_ai__span__kind="CHAIN")] if frame else []
    here = request(
        [
            span(1, None, "graph", took=30, gen_ai__span__kind="CHAIN"),
            agent(2, "planner", 1, took=30),
            chat(3, 2, [("call_1a", "ask_worker", {"task": "and Oslo?"})], "go", at=1),
            tool(4, 2, "ask_worker", "call_1a", "It is sunny.", at=3, took=9, attributes=given, **more),
            chat(5, 2, "done", at=20),
        ],
        "planner-svc",
    )
    there = request(
        [
            *framed,
            agent(11, "worker", 10 if frame else None, trace=2, at=4, took=6, attributes=talk, **more),
            chat(12, 11, answer, words, trace=2, at=5, attributes=talk),
        ],
        "worker-svc",
    )
    frame_ = reconstruct(*from_requests([here, there], [], 1), Config(), LATER)
    return [run_json(row, {}) for row in frame_.iter_rows(named=True)]


@pytest.mark.parametrize("frame", [False, True])
def test_an_agent_of_another_service_was_called_by_who_sent_its_words_and_heard_its_answer(frame):
    (run,) = _behind_a_server("and Oslo?", "It is sunny.", frame)
    told = [(d["from"], d["to"], d["tool"], d["status"]) for d in run["delegations"]]
    assert told == [("planner", "worker", "ask_worker", "ok")]
    assert (run["input"], run["output"], run["tool_calls"], run["conversation_id"]) == ("go", "done", [], None)
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker", "planner"]


@pytest.mark.parametrize(("words", "answer"), [("and Rome?", "It is sunny."), ("and Oslo?", "It rains.")])
def test_an_agent_of_another_service_that_was_told_or_told_something_else_ran_by_itself(words, answer):
    assert [r["input"] for r in _behind_a_server(words, answer)] == ["go", words]


def test_an_agent_of_another_service_that_failed_is_what_the_tool_failed_of():
    assert [r["agents"] for r in _behind_a_server("and Oslo?", None, error="500")] == [["planner", "worker"]]


def _decorated(vendor, told, at=0, first=1, **more):
    """Functions under decorators of AGNTCY's (ioa-observe-sdk 1.1), or of Progress' (1.5), which name nothing."""
    trace = {"trace": max(1, first // 10)}

    def function(id, parent, name, kind, at, took, **entity):
        entity = {f"{vendor}.entity.{key}": value for key, value in ({"name": name} | entity).items()} if told else {}
        kind_ = {f"{vendor}.span.kind": kind} | entity
        name = f"{name}.{kind}" if told else name
        return span(id, parent, name, at=at, took=took, scope="ioa.observe.tracer", attributes=kind_, **trace)

    return [
        function(first, None, "planner", "agent", at, 20) | more,
        chat(first + 1, first, [(f"call_{first}", "look", {"x": 1})], "go", at=at + 1, **trace),
        function(
            first + 2, first, "look", "tool", at + 3, 1, input='{"args": [], "kwargs": {"x": 1}}', output='"seen"'
        ),
        chat(first + 3, first, "done", at=at + 5, **trace),
    ]


@pytest.mark.parametrize(("vendor", "told"), [("ioa_observe", True), ("observability", False), ("some-sdk", True)])
def test_a_decorator_of_a_vendor_that_nobody_knows_tells_agents_and_tools(vendor, told):
    (run,) = runs(*_decorated(vendor, told))
    assert (run["agents"], run["status"], run["output"]) == (["planner"], "ok", "done")
    assert [(c["agent"], c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]] == [
        ("planner", "look", {"x": 1}, "ok")
    ]
    assert [c["result"] for c in run["tool_calls"]] == ["seen" if told else None]


def test_a_kind_that_no_step_has_says_nothing():
    (run,) = runs(
        span(1, None, "GET /", took=9, attributes={"acme.span.kind": "server"}),
        chat(2, 1, "done", "go", at=1),
    )
    assert (run["agents"], run["tool_calls"]) == ([], [])


def test_a_link_to_the_agent_before_in_a_session_goes_on_with_nothing():
    before = [(1, 1)]
    found = runs(*_decorated("ioa_observe", True), *_decorated("ioa_observe", True, at=21, first=20, links=before))
    assert [len(run["llm_calls"]) for run in found] == [2, 2]


@pytest.mark.parametrize(
    ("result", "status"), [('[{"content":"nights must be >= 1","type":"text"}]', "unknown"), ("nights: 2", "ok")]
)
def test_blocks_in_which_loongsuite_tells_what_a_tool_of_agentscopes_came_to_may_be_an_error(result, status):
    """loongsuite-instrumentation-agentscope 0.9 of AgentScope 2.0: the state of a result is left out."""
    kind = {"gen_ai.span.kind": "TOOL"}
    (run,) = runs(
        agent(1, "planner", took=20, scope=_HANDLER, attributes={"gen_ai.span.kind": "AGENT"}),
        chat(2, 1, [("call_1a", "book", {"nights": 0})], "go", at=1, scope=_HANDLER),
        tool(3, 1, "book", "call_1a", result, at=3, scope=_HANDLER, attributes=kind),
        chat(4, 1, "done", at=5, scope=_HANDLER),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]
