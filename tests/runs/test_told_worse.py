"""The same captures as other clocks, kits and applications would have told them: nothing of it may become wrong."""

from itertools import count

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from tests import captures
from tests.captures import LATER, as_json, scoring
from tests.runs.requests import agent, chat, frames, runs, span, tool

MS = 1_000_000


def spans_of(request):
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


def whole_milliseconds(request):
    """JavaScript's clock."""
    for one in spans_of(request):
        one.start_time_unix_nano -= one.start_time_unix_nano % MS
        one.end_time_unix_nano -= one.end_time_unix_nano % MS


def begun_before_what_is_around(request):
    """A clock that was set back, or two of them."""
    by_id = {(s.trace_id, s.span_id): s for s in spans_of(request)}
    for one in spans_of(request):
        above = by_id.get((one.trace_id, one.parent_span_id))
        if above is not None and one.start_time_unix_nano - above.start_time_unix_nano < MS:
            one.start_time_unix_nano = above.start_time_unix_nano - 1000


def newest_attributes(request):
    """An SDK that keeps the last 32 of a span (Python)."""
    for one in spans_of(request):
        more = max(len(one.attributes) - 32, 0)
        one.dropped_attributes_count += more
        del one.attributes[:more]


EMPTY = (
    *("gen_ai.agent.name", "gen_ai.tool.call.id", "gen_ai.conversation.id", "gen_ai.response.model", "error.type"),
    *("tool.name", "llm.model_name", "session.id", "gen_ai.operation.name", "openinference.span.kind"),
)


def empty_names(request):
    """A kit that sets what it does not know to nothing."""
    for one in spans_of(request):
        there = {a.key for a in one.attributes}
        one.attributes.extend(KeyValue(key=k, value=AnyValue(string_value="")) for k in EMPTY if k not in there)


def frames_of_the_application(request):
    """A function of the application around each span."""
    numbers = count(1)
    for resource in request.resource_spans:
        made = []
        for scope in resource.scope_spans:
            for one in scope.spans:
                id = b"\xee" + next(numbers).to_bytes(7, "big")
                made.append(type(one)(trace_id=one.trace_id, span_id=id, parent_span_id=one.parent_span_id, name="run"))
                made[-1].start_time_unix_nano = one.start_time_unix_nano
                made[-1].end_time_unix_nano = one.end_time_unix_nano
                one.parent_span_id = id
        scope = resource.scope_spans.add()
        scope.scope.name = "my.app"
        scope.spans.extend(made)


def few_attributes(request):
    """An SDK that keeps the first 24 of a span (Go, Java, JavaScript)."""
    for one in spans_of(request):
        one.dropped_attributes_count += max(len(one.attributes) - 24, 0)
        del one.attributes[24:]


def cut(length):
    """OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT."""

    def change(request):
        for one in spans_of(request):
            for pair in (*one.attributes, *(a for event in one.events for a in event.attributes)):
                if pair.value.WhichOneof("value") == "string_value":
                    pair.value.string_value = pair.value.string_value[:length]

    return change


def flat(request):
    """A tracer that hangs every span from the first of its trace."""
    tops = {}
    for one in sorted(spans_of(request), key=lambda one: one.start_time_unix_nano):
        top = tops.setdefault(one.trace_id, one)
        if top is not one and one.parent_span_id:
            one.parent_span_id = top.span_id


CHANGES = (
    *(whole_milliseconds, begun_before_what_is_around, empty_names, frames_of_the_application),
    *(few_attributes, newest_attributes),
)
FEW = (
    *("openai-agents--openinference--mcp-tools", "langgraph--openllmetry", "openai-loop--otel-openai-v2"),
    *("crewai--openllmetry--native", "otel-semconv--manual", "openai-loop--otel-openai-v2-latest"),
)
SOME = [pytest.param(name, marks=() if name in FEW else pytest.mark.full) for name in captures.dialects("corpus")]


def wrong(name, change):
    scenarios = captures.packed("corpus", name)
    traces, logs = ExportTraceServiceRequest(), ExportLogsServiceRequest()
    for scenario in scenarios:
        for kind, body in scenario.requests:
            (traces if kind == "traces" else logs).MergeFromString(body)
    change(traces)
    table = scoring.Table()
    told = [("traces", traces.SerializeToString()), ("logs", logs.SerializeToString())]
    scoring.score(table, scenarios, as_json(reconstruct(*frames(told), Config(), LATER)))
    return table.bad


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", SOME)
def test_nothing_becomes_wrong(name, change):
    assert wrong(name, change) == []


# Of CrewAI's own cache nothing is told but what came back, which is cut.
CUT = [name for name in captures.dialects("corpus") if name != "crewai--openllmetry--litellm"]
LENGTHS = (64, 128, 256, 512, 1024)
SHORT = (
    *(("langgraph--openllmetry", 128), ("langgraph--langsmith", 128), ("crewai--openinference", 128)),
    *(("langgraph--openinference", 64), ("openai-loop--otel-openai-v2-latest", 256)),
)


@pytest.mark.parametrize(("name", "length"), SHORT)
def test_what_is_cut_is_not_told(name, length):
    assert wrong(name, cut(length)) == []


@pytest.mark.full
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", CUT)
def test_what_is_cut_is_not_told_by_any(name, length):
    assert wrong(name, cut(length)) == []


@pytest.mark.parametrize("name", ["otel-semconv--manual", "openai-loop--openinference"])
def test_an_agents_work_may_stand_beside_it(name):
    assert wrong(name, flat) == []


@pytest.mark.parametrize(
    ("told", "result"),
    [
        ('{"type": "tool", "data": {"content": "blue \\"1\\"", "additional_kwargs": {}, "na', 'blue "1"'),
        ('{"output":{"content":"blue","additional_kw', "blue"),
        ('{"output": {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMess', None),
        ('{"type": "text", "text": "bl', None),
        ('{"colour": "blue", "text": "and', '{"colour": "blue", "text": "and'),
    ],
)
def test_of_a_result_that_was_cut_only_what_is_whole_is_told(told, result):
    """OpenInference for LangChain 0.1.80, LangSmith 0.15, Traceloop's 0.62, MCP's parts; a tool's own text."""
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "look", {})]), tool(3, 1, "look", "c1", told, at=2))
    assert run["tool_calls"][0]["result"] == result


def test_whose_work_it_was_is_not_told_where_that_was_cut():
    """CrewAI 1.15 under OpenInference: who is called has no span, and stands in the arguments alone."""
    given = '{"task": "find flights", "cowor'
    called = tool(3, 1, "Delegate work to coworker", at=2, took=5, attributes={"gen_ai.tool.call.arguments": given})
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1),
        called,
        chat(4, 3, [("c1", "look", {})], at=3),
        tool(5, 3, "look", at=5),
    )
    assert [(call["name"], call["agent"]) for call in run["tool_calls"]] == [("look", None)]


@pytest.mark.parametrize(("took", "status"), [(3.5, "error"), (9, "unknown")])
def test_a_run_that_went_on_after_a_tool_that_threw_is_not_told_as_failed(took, status):
    """Spans get lost: a full queue, a process that ends."""
    threw = tool(3, 1, "look", "c1", at=2, error="no")
    (run,) = runs(agent(1, "a", took=took), chat(2, 1, [("c1", "look", {})]), threw)
    assert (run["status"], "error" in run["boundaries"]) == (status, status == "error")
    answered = [{"role": "assistant", "parts": [{"type": "text", "content": "No such place."}]}]
    above = agent(1, "a", took=took, attributes={"gen_ai.output.messages": answered})
    (run,) = runs(above, chat(2, 1, [("c1", "look", {})]), threw)
    assert (run["status"], run["output"], run["boundaries"]) == ("ok", "No such place.", ["tool_failure"])


def test_a_span_of_a_tool_that_began_with_the_one_inside_it_is_one_call():
    """MCP's own SDK for Python 2.3 inside the tool of an agent, by a clock of milliseconds."""
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "look", {})]),
        tool(9, 1, "look", call="c1", result="blue", at=2),
        span(3, 9, "tools/call look", at=2, mcp__method__name="tools/call", gen_ai__tool__name="look"),
        chat(5, 1, "It is blue.", at=4),
    )
    assert [call["name"] for call in run["tool_calls"]] == ["look"]


def framed(number, at, *model, **more):
    """A trace of a model call in a function of the application."""
    frame = {"trace": number, "at": at}
    return [span(10 * number, name="ask", **frame, **more), chat(10 * number + 1, 10 * number, *model, **frame)]


ASKED = [{"role": "user", "parts": [{"type": "text", "content": "What colour?"}]}]
LOOKED = [
    *ASKED,
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_x7Yq2LkW9", "name": "look", "arguments": {}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_x7Yq2LkW9", "response": "blue"}]},
]
LOOK = [("call_x7Yq2LkW9", "look", {})]


def test_a_loop_of_which_each_model_call_is_in_a_function_of_its_own_is_one_run():
    (run,) = runs(*framed(1, 0, LOOK, ASKED), *framed(2, 3, "It is blue.", LOOKED))
    assert (run["input"], run["output"], run["status"]) == ("What colour?", "It is blue.", "ok")
    assert [(call["name"], call["result"]) for call in run["tool_calls"]] == [("look", "blue")]


def test_each_request_to_a_server_is_a_run_by_itself():
    first, last = runs(*framed(1, 0, LOOK, ASKED, kind=2), *framed(2, 3, "It is blue.", LOOKED, kind=2))
    assert (first["status"], last["status"]) == ("unknown", "ok")


def test_what_the_application_raised_around_its_agent_is_an_error():
    handler = span(2, 1, "handle", took=9, error="ValueError: no")
    (run,) = runs(span(1, name="POST /chat", kind=2, took=9), handler, agent(3, "planner", parent=2), chat(4, 3, "Hm."))
    assert (run["status"], run["boundaries"]) == ("error", ["error"])


@pytest.mark.parametrize("name", ["crew", "worker", "planner"])
def test_a_workflow_is_no_agent_also_if_it_is_named_like_one(name):
    """invoke_workflow and invoke_agent of the conventions, as CrewAI's and LangGraph's instrumentations use them."""
    (run,) = runs(
        span(1, name=name, took=9, traceloop__span__kind="workflow", traceloop__entity__name=name),
        agent(2, name, parent=1, took=9),
        agent(3, "planner", parent=2, took=8),
        chat(4, 3, [("c1", "ask_worker", {})]),
        tool(5, 3, "ask_worker", call="c1", at=2, took=4),
        agent(6, "worker", parent=5, at=2, took=3),
        chat(7, 6, "Found.", at=3),
        chat(8, 3, "Done.", at=7),
    )
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "worker")]


LOST = 99  # an agent's span that has not come


@pytest.mark.parametrize(
    ("name", "after", "delegated"),
    [
        ("delegate_to_worker", [], True),
        ("ask_worker", [chat(5, 98, asked=ASKED, at=5)], True),
        ("ask_worker", [], False),
        ("look_up", [chat(5, 98, asked=ASKED, at=5)], False),
    ],
)
def test_a_call_that_is_open_in_a_run_under_way_is_a_delegation_where_somebody_is_called(name, after, delegated):
    """pydantic-ai 2.68, OpenAI's agents 0.24 and others: the tool's span has not come, nor have those of the agents."""
    looked = tool(3, LOST, "look", "c1", "blue", at=2)
    (run,) = runs(chat(2, LOST, [("c1", "look", {})]), looked, chat(4, LOST, [("c2", name, {})], at=4), *after)
    assert [call["name"] for call in run["tool_calls"]] == ["look", *([] if delegated else [name])]
    assert [(d["to"], d["tool"]) for d in run["delegations"] or []] == ([(None, name)] if delegated else [])


@pytest.mark.parametrize(("name", "delegations"), [("ask_worker", None), ("book", [])])
def test_who_was_asked_last_in_a_run_under_way_may_be_an_agent(name, delegations):
    told = {"gen_ai.agent.name": "planner"}
    (run,) = runs(
        chat(2, LOST, [("c1", "look", {})], "Go.", attributes=told),
        tool(3, LOST, "look", "c1", "blue", at=2, attributes=told),
        chat(4, LOST, [("c2", name, {})], at=4, attributes=told),
    )
    assert (run["delegations"], run["tool_calls"][-1]["status"]) == (delegations, "unknown")


def test_a_node_that_has_come_is_no_agent_that_ended():
    """LangGraph 1.2's prebuilt loop under OpenInference: `agent` is a node of it, and its tools have another."""
    node = span(2, LOST, "agent", took=2, openinference__span__kind="AGENT")
    threw = tool(5, LOST, "look", "c1", at=3, error="no")
    (run,) = runs(node, chat(3, 2, [("c1", "look", {})]), threw)
    assert (run["status"], run["boundaries"]) == ("unknown", ["tool_failure"])


def test_who_was_called_is_no_run_of_its_own_before_its_answer_was_heard():
    """openai-v2 2.4b0 without a root: a trace for each model call, of an agent and of one that it calls as a tool."""

    def told(number, at, answer, system, asked):
        said = [{"role": "system", "parts": [{"type": "text", "content": system}]}]
        return chat(number, None, answer, said + (ASKED if asked is None else asked), trace=number, at=at)

    task = [{"role": "user", "parts": [{"type": "text", "content": "find a colour"}]}]
    called = [("call_q8Zr3VbN1", "delegate_to_worker", {"task": "find a colour"})]
    (run,) = runs(told(1, 0, called, "You plan.", None), told(2, 2, "Blue.", "You work.", task))
    assert (run["input"], run["output"], run["status"]) == ("What colour?", None, "unknown")
    assert run["tool_calls"] == []
    assert len(runs(told(1, 0, called, "You plan.", None), told(2, 99, "Blue.", "You work.", task))) == 2


@pytest.mark.parametrize(("dropped", "status"), [(0, "requested"), (20, "unknown")])
def test_what_came_of_a_delegation_may_be_in_what_was_not_kept_of_what_was_asked_next(dropped, status):
    """CrewAI 1.15 under OpenInference: a coworker that nobody is, and no span of a tool's."""
    way = {"task": "Look.", "context": "", "coworker": "clerk"}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "delegate_work_to_coworker", way)], "Go.", at=1),
        chat(3, 1, "Done.", None, at=4) | {"dropped": dropped},
    )
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("clerk", status)]
