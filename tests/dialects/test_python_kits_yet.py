"""Kits and instrumentations for Python that the recorded corpus lacks: in the shape in which each sends its spans."""

import pytest

from tests.runs.requests import agent, chat, records, runs, span

pytestmark = pytest.mark.full

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


def _moved(of, given=(), said=()):
    """A record of AWS's distribution; roles are lost where messages had numbers."""
    held = {"input": given, "output": said}
    bodies = {way: {"messages": [{"role": r, "content": c} for r, c in told]} for way, told in held.items() if told}
    return records([(of, bodies)])


_GO = '{"messages": [[{"role": "user", "content": "Go"}]]}'
_ASKED = '{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function": {"name": "look"}}]}'


def _of_openinference(id, parent, kind, name, at=0.0, took=1.0, **told):
    scope = "openinference.instrumentation.langchain"
    return span(id, parent, name, 1, at, took, scope=scope, attributes={"openinference.span.kind": kind} | told)


def test_what_aws_moved_from_openinference_spans_is_told():
    call = {"tool_call.id": "c1", "tool_call.function.name": "look", "tool_call.function.arguments": '{"x": 1}'}
    asks = {f"message.tool_calls.0.{key}": value for key, value in call.items()}
    out = {"llm.output_messages.0.message.role": "assistant"}
    asking = {f"llm.output_messages.0.{k}": v for k, v in asks.items()}
    user = {"llm.input_messages.0.message.role": "user"}
    history = user | {"llm.input_messages.1.message.role": "assistant", "llm.input_messages.2.message.role": "tool"}
    history |= {f"llm.input_messages.1.{k}": v for k, v in asks.items()}
    history["llm.input_messages.2.message.tool_call_id"] = "c1"
    spans = [
        _of_openinference(1, None, "AGENT", "planner", took=9),
        _of_openinference(2, 1, "LLM", "ChatOpenAI", 1, **user, **out, **asking),
        _of_openinference(3, 1, "TOOL", "look", 3, **{"tool.name": "look"}),
        _of_openinference(4, 1, "LLM", "ChatOpenAI", 5, **history, **out),
    ]
    results = f'{{"messages": [[{{"role": "user", "content": "Go"}}, {_ASKED}]]}}'
    logs = [
        _moved(1, [("user", "Go")], [("assistant", "Done.")]),
        _moved(2, [("user", _GO), ("user", "Go")], [("assistant", _ASKED)]),
        _moved(3, [("user", '{"x": 1}')], [("assistant", "found")]),
        _moved(
            4, [("user", results), ("user", "Go"), ("user", "found")], [("assistant", "{}"), ("assistant", "Done.")]
        ),
    ]
    (run,) = runs(*spans, logs=logs)
    assert (run["input"], run["output"]) == ("Go", "Done.")
    assert [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("look", {"x": 1}, "ok", "found")
    ]


def test_what_aws_moved_from_spans_of_the_conventions_is_told():
    user = '[{"role": "user", "parts": [{"type": "text", "content": "Go"}]}]'
    said = '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}]'
    orders = '[{"type": "text", "content": "You plan."}]'
    told = [("system", orders), ("user", user)], [("assistant", said)]
    spans = [agent(1, "planner", took=9), chat(2, 1, at=1)]
    (run,) = runs(*spans, logs=[_moved(1, *told), _moved(2, *told)])
    assert (run["input"], run["output"], run["tool_calls"]) == ("Go", "Done.", [])


def test_what_aws_moved_from_numbered_prompts_joins_their_calls():
    def call(id, trace, at, *roles, why):
        told = {f"gen_ai.prompt.{n}.role": role for n, role in enumerate(roles)}
        told |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": why}
        told |= {"llm.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10 * id}
        scope = "opentelemetry.instrumentation.mistralai"
        return span(id, None, "mistralai.chat", trace, at, scope=scope, kind=3, attributes=told)

    def moved(of, given, said=()):
        held = {"input": given, "output": said}
        bodies = {
            k: {"messages": [{"role": "unknown", "content": c} for c in told]} for k, told in held.items() if told
        }
        return records([(of, bodies)], trace=of)

    spans = [call(1, 1, 0, "user", why="tool_calls"), call(2, 2, 2, "user", "assistant", "tool", why="stop")]
    (run,) = runs(*spans, logs=[moved(1, ["Go"]), moved(2, ["Go", "found"], ["Done."])])
    assert (run["input"], run["output"], [c["input_tokens"] for c in run["llm_calls"]]) == ("Go", "Done.", [10, 20])


def _langchain_run(trace, city="Oslo", at=0.0):
    """An agent whose instrumentation follows callbacks: of a tool's one argument it tells the value."""
    scope = "openinference.instrumentation.langchain"

    def of(id, parent, kind, name, begins, took, **told):
        attributes = {"openinference.span.kind": kind} | told
        return span(trace * 10 + id, parent, name, trace, at + begins, took, scope=scope, attributes=attributes)

    asked = {"llm.output_messages.0.message.role": "assistant"}
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    asked |= {f"{call}.id": f"call_x{trace}yz8w", f"{call}.function.name": "weather"}
    asked[f"{call}.function.arguments"] = f'{{"city": "{city}"}}'
    top = trace * 10 + 1
    told = {"tool.name": "weather", "input.value": city, "output.value": "sunny"}
    return [
        of(1, None, "AGENT", "planner", 0, 9, **{"input.value": "Go"}),
        of(2, top, "LLM", "ChatOpenAI", 1, 1, **asked),
        of(3, top, "TOOL", "weather", 3, 2, **told),
    ]


def _by_client(id, trace, at, city="Oslo", took=1.0):
    told = {"traceloop.span.kind": "tool", "traceloop.entity.name": "weather"}
    told["traceloop.entity.input"] = f'{{"tool_name": "weather", "arguments": {{"city": "{city}"}}}}'
    told["traceloop.entity.output"] = '{"result": "sunny"}'
    scope = "opentelemetry.instrumentation.mcp.instrumentation"
    return span(id, None, "weather.tool", trace, at, took, scope=scope, attributes=told)


def _tools_of(found):
    return [[(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]] for run in found]


def test_a_tool_that_a_client_of_mcp_tells_in_a_trace_of_its_own_is_one_call():
    found = runs(
        *_langchain_run(1), *_langchain_run(2, "Rome", 0.1), _by_client(5, 3, 3.5), _by_client(6, 4, 3.6, "Rome")
    )
    assert _tools_of(found) == [[("weather", {"city": city}, "ok")] for city in ("Oslo", "Rome")]


@pytest.mark.parametrize("told", [{"city": "Rome"}, {"at": 6.0}, {"took": 3.0}])
def test_a_tool_with_other_arguments_or_at_another_time_is_another(told):
    found = runs(*_langchain_run(1), _by_client(5, 3, **{"at": 3.5} | told))
    assert [len(tools) for tools in _tools_of(found)] == [1, 1]


def test_a_tool_that_calls_of_two_runs_may_be_is_of_neither():
    found = runs(*_langchain_run(1), *_langchain_run(2), _by_client(5, 3, 3.5))
    assert [len(tools) for tools in _tools_of(found)] == [1, 1, 1]


def test_a_function_that_honeyhive_calls_after_its_module_is_the_tool_that_was_asked_for():
    told = {"honeyhive_event_type": "tool", "honeyhive_inputs.city": "Oslo", "honeyhive_outputs.result": "sunny"}
    asked = chat(2, 1, [("call_x1yz8w", "weather", {"city": "Oslo"})], "Go", at=1)
    tool = span(3, 1, "my_app.tools.weather", at=3, attributes=told, scope="honeyhive.140131020269920")
    (run,) = runs(span(1, None, "plan", took=9, attributes={"honeyhive_event_type": "chain"}), asked, tool)
    assert _tools_of([run]) == [[("weather", {"city": "Oslo"}, "ok")]]


def test_history_that_aws_moved_beside_answers_is_none():
    use = '[{"toolUse": {"toolUseId": "tooluse_x1yz8w", "name": "look", "input": {"x": 1}}}]'
    back = '[{"toolResult": {"toolUseId": "tooluse_x1yz8w", "status": "success", "content": [{"text": "found"}]}}]'
    go = ("user", {"content": '[{"text": "Go"}]'})
    asked = _moved(2, [go], [("assistant", {"message": use, "finish_reason": "tool_use"})])
    failed = _moved(4, [go, ("tool", {"content": back})], [("assistant", {"content": use})])
    spans = [agent(1, "planner", took=9), chat(2, 1, at=1), chat(4, 1, at=5, error="boom")]
    (run,) = runs(*spans, logs=[asked, failed])
    assert _tools_of([run]) == [[("look", {"x": 1}, "ok")]]


def test_what_aws_moved_of_a_user_without_words_is_not_the_orders():
    roles = {"llm.input_messages.0.message.role": "system", "llm.input_messages.1.message.role": "user"}
    spans = [
        _of_openinference(1, None, "AGENT", "planner", took=9, **{"input.mime_type": "application/json"}),
        _of_openinference(2, 1, "LLM", "ChatOpenAI", 1, **roles, **{"input.mime_type": "application/json"}),
    ]
    (run,) = runs(*spans, logs=[_moved(2, [("user", '{"messages": []}'), ("user", "You plan.")])])
    assert run["input"] is None


def test_what_aws_moved_from_spans_that_are_told_twice_is_told():
    said = '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]'
    user = '[{"role": "user", "parts": [{"type": "text", "content": "Go"}]}]'
    orders = '[{"type": "text", "content": "You plan."}]'
    roles = {"llm.input_messages.0.message.role": "user", "llm.input_messages.1.message.role": "system"}
    kind = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
    record = _moved(
        2,
        [("user", user), ("system", orders), ("user", "Go"), ("user", "You plan.")],
        [("assistant", said), ("assistant", "Done.")],
    )
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, at=1, attributes=kind | roles), logs=[record])
    assert (run["input"], run["output"]) == ("Go", "Done.")


def test_what_aws_moved_of_a_prompt_and_an_answer_in_one_attribute_each_is_told():
    def of(id, parent, kind, name, at=0.0, took=1.0):
        told = {"langsmith.span.kind": kind, "langsmith.trace.name": name, "gen_ai.operation.name": "chat"}
        return span(id, parent, name, 1, at, took, scope="langsmith", attributes=told)

    spans = [of(1, None, "chain", "planner", took=9), of(2, 1, "llm", "ChatOpenAI", 1)]
    asked = '{"messages":[{"role":"user","content":"Go"}]}'
    said = '{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}]}'
    logs = [
        _moved(1, [("user", '{"text":"Go"}')], [("assistant", '{"output":"Done."}')]),
        _moved(2, [("user", asked)], [("assistant", said)]),
    ]
    (run,) = runs(*spans, logs=logs)
    assert (run["input"], run["output"]) == ("Go", "Done.")
