"""Recordings that lie in public: the forms in which older releases of kits told of their runs."""

import json

import pytest

from tests.runs.requests import agent, events, runs, span


def _koog(id, parent, name, at, took=1, **told):
    """Koog 0.3.0, the first to tell of itself: a call that the model asks for is a tool's message."""
    told = {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, scope="ai.koog", attributes=told)


def _asks(name, id):
    call = {"function": {"name": name, "arguments": {"name": "Ann"}}, "id": id, "type": "function"}
    return json.dumps([call])


def _koog_chat(id, parent, at, said, answers, why):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.system": "openai"}
    told |= {"gen_ai.response.finish_reasons": json.dumps([why])}
    for family, messages in (("prompt", said), ("completion", answers)):
        for n, (role, content) in enumerate(messages):
            told |= {f"gen_ai.{family}.{n}.role": role, f"gen_ai.{family}.{n}.content": content}
    return span(id, parent, "llm.chat", at=at, scope="ai.koog", attributes=told)


def _koog_tool(id, parent, name, call, gave):
    told = {"gen_ai__tool__name": name, "gen_ai__tool__call__id": call, "input__value": '{"name": "Ann"}'}
    return _koog(id, parent, f"tool.{name}", 4, output__value=gave, **told)


def test_a_call_that_is_written_as_a_message_of_a_tool_is_what_the_model_asked_for():
    asked = [("system", "Be nice."), ("user", "Greet Ann.")]
    greets, parts = _asks("Greet", "c1"), _asks("Part", "c2")
    then = [*asked, ("tool", greets), ("tool", "Hello Ann!"), ("tool", parts), ("tool", "Bye Ann!")]
    (run,) = runs(
        _koog(1, None, "agent.a7", 0, 9, gen_ai__operation__name="create_agent", gen_ai__agent__id="a7"),
        _koog(2, 1, "run.r7", 0.1, 8.8, gen_ai__operation__name="invoke_agent", gen_ai__agent__id="a7"),
        _koog(3, 2, "node.nodeCallLLM", 1, 1.2, koog__node__name="nodeCallLLM"),
        _koog_chat(4, 3, 1.1, asked, [("assistant", greets), ("assistant", parts)], "tool_calls"),
        _koog(5, 2, "node.nodeExecuteTool", 3.9, 1.2, koog__node__name="nodeExecuteTool"),
        _koog_tool(6, 5, "Part", "c2", "Bye Ann!"),
        _koog_tool(7, 5, "Greet", "c1", "Hello Ann!"),
        _koog(8, 2, "node.nodeSendToolResult", 6, 1.2, koog__node__name="nodeSendToolResult"),
        _koog_chat(9, 8, 6.1, then, [("assistant", "Hello, and bye, Ann!")], "stop"),
    )
    assert [(c["name"], c["arguments"], c["result"], c["status"]) for c in run["tool_calls"]] == [
        ("Greet", {"name": "Ann"}, "Hello Ann!", "ok"),
        ("Part", {"name": "Ann"}, "Bye Ann!", "ok"),
    ]
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["tool_calls", "stop"]
    assert (run["input"], run["output"]) == ("Greet Ann.", "Hello, and bye, Ann!")


def test_what_a_tool_gave_that_is_a_list_of_functions_with_more_is_its_result():
    gave = [{"id": "f1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "lines": 3}]
    asked = [("user", "which?")]
    then = [*asked, ("tool", _asks("find", "c1")), ("tool", json.dumps(gave))]
    (run,) = runs(
        _koog(1, None, "run.r7", 0, 9, gen_ai__operation__name="invoke_agent"),
        _koog_chat(2, 1, 1, asked, [("assistant", _asks("find", "c1"))], "tool_calls"),
        _koog_chat(3, 1, 5, then, [("assistant", "f.")], "stop"),
    )
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("find", gave)]


_BEE = "openinference.instrumentation.beeai"


def _bee(id, parent, target, kind, at, number=7, lost=False, **told):
    """BeeAI 0.1 for Python under its first instrumentation: an event each, that lasts until the run is over."""
    told = {key.replace("__", "."): value for key, value in told.items()} | {"openinference.span.kind": kind}
    own = {} if lost else {"target": target, "name": target.rsplit(".", 1)[-1], "traceId": "t"}
    return span(id, parent, f"{target}-{number}", at=at, took=20 - at, scope=_BEE, attributes=own | told)


def _model(id, parent, at, pieces, first=0):
    said = {f"llm.output_messages.{first + n}.message.role": "assistant" for n, _ in enumerate(pieces)}
    said |= {f"llm.output_messages.{first + n}.message.content": piece for n, piece in enumerate(pieces)}
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Message: go"}
    model = {"llm.model_name": "m", "llm.provider": "openai"}
    events = [
        _bee(id, parent, "backend.openai.chat.start", "LLM", at, **asked, **model),
        _bee(id + 1, parent, "backend.openai.chat.success", "LLM", at + 1, lost=first > 0, **said, **model),
        _bee(id + 2, parent, "backend.openai.chat.finish", "LLM", at + 1.1, **model),
    ]
    return events


def _tool(id, parent, kind, at, **told):
    given = json.dumps({"query": "towns", "full": False})
    return [
        _bee(id, parent, f"tool.{kind}.start", "TOOL", at, tool__parameters=given),
        _bee(id + 1, parent, f"tool.{kind}.success", "TOOL", at + 1, tool__parameters=given, **told),
        _bee(id + 2, parent, f"tool.{kind}.finish", "TOOL", at + 1.1),
    ]


def _react(*steps, answer="It's big.\\nGo."):
    printed = f"{{'role': 'assistant', 'text': \"{answer}\"}}"
    told = {"beeai.version": "0.1.33", "input.value": "go", "output.value": printed, "source": "ReActAgent"}
    root = {"openinference.span.kind": "AGENT", "traceId": "t"} | told
    return runs(
        span(1, None, "beeai-framework-main", took=20, scope=_BEE, attributes=root),
        _bee(2, 1, "agent.react.start", "AGENT", 0.1, iteration="1"),
        *steps,
    )


def test_each_event_of_the_first_beeai_for_python_is_told_by_a_span_and_its_success_alone_counts():
    asks = {"tool__name": "Wikipedia", "tool__parameters": '{"query": "towns"}', "thought": "look"}
    (run,) = _react(
        *_model(10, 2, 1, ["Thought", ": look"]),
        _bee(20, 1, "agent.react.update", "AGENT", 3, **asks),
        *_tool(30, 20, "search.wikipedia", 3.1, output__value='[{"title": "Rome"}]'),
        _bee(40, 1, "agent.react.update", "AGENT", 5, output__value='[{"title": "Rome"}]', **asks),
        *_model(50, 2, 6, [" big", "."], first=233),
    )
    assert [(c["name"], c["arguments"], c["result"], c["status"]) for c in run["tool_calls"]] == [
        ("Wikipedia", {"query": "towns", "full": False}, [{"title": "Rome"}], "ok")
    ]
    assert [(c["request_model"], c["status"]) for c in run["llm_calls"]] == [("m", "ok")] * 2
    assert (run["input"], run["output"], run["status"]) == ("go", "It's big.\nGo.", "ok")


def test_a_tool_that_no_step_around_it_names_has_the_name_of_its_events():
    (run,) = _react(*_model(10, 2, 1, ["Thought"]), *_tool(30, 2, "dynamic.look_up", 3.1, output__value="3"))
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("look_up", "3")]


def test_an_answer_that_is_printed_with_what_nobody_can_undo_is_not_told():
    (run,) = _react(*_model(10, 2, 1, [" big", "."], first=233), answer="caf\\xe9")
    assert run["output"] is None


def _observed(given, heard):
    """A function under Langfuse for Python 3, and what it asks a model."""
    told = {"langfuse.observation.type": "span", "langfuse.observation.input": given}
    told |= {"langfuse.observation.output": "Sunny."}
    asked = {"langfuse.observation.type": "generation", "langfuse.observation.model.name": "m"}
    asked |= {"langfuse.observation.input": json.dumps([{"role": "user", "content": heard}])}
    asked |= {"langfuse.observation.output": json.dumps({"role": "assistant", "content": "Sunny."})}
    (run,) = runs(
        span(1, None, "chat", took=3, scope="langfuse-sdk", attributes=told),
        span(2, 1, "OpenAI-generation", at=1, scope="langfuse-sdk", attributes=asked),
    )
    return run


@pytest.mark.parametrize(
    ("given", "heard", "input"),
    [
        (["u-17", "Weather in Rome?"], "Weather in Rome?", "Weather in Rome?"),
        (["u-17", ["x"], "Weather in Rome?"], "Today is Monday. Weather in Rome?", "Weather in Rome?"),
        (["thread_f", "run_r"], "Weather in Rome?", "Weather in Rome?"),
        (["Rome", "en"], "Tell of Rome in en.", "Rome"),
        (["Weather in Rome?", "u-17"], "Weather in Rome?", "Weather in Rome?"),
    ],
)
def test_of_several_things_that_a_function_is_given_the_model_is_told_what_the_user_said(given, heard, input):
    assert _observed(json.dumps({"args": given, "kwargs": {}}), heard)["input"] == input


def test_what_bears_names_alone_has_no_places():
    said = json.dumps({"input": "Weather in Rome?", "kwargs": {}})
    assert _observed(said, "Weather in Rome?")["input"] == "Weather in Rome?"


def test_what_comes_to_a_chain_in_pieces_is_no_empty_request():
    run = _observed('{"input": ""}', "Weather in Rome?")
    assert (run["input"], run["boundaries"]) == ("Weather in Rome?", [])


def test_a_request_without_words_of_which_the_model_heard_none_is_empty():
    run = _observed('{"input": ""}', "")
    assert run["input"] in ("", None) and "empty_input" in run["boundaries"] + run["boundaries_unknown"]


_TEXT, _IMAGE = (
    {"type": "text", "text": "What is this?"},
    {"type": "image_url", "image_url": {"url": "https://i/i.png"}},
)


@pytest.mark.parametrize(
    ("content", "input"),
    [
        ([_TEXT], "What is this?"),
        ([_TEXT, _IMAGE], "What is this?"),
        (
            [_TEXT | {"type": "input_text"}, {"type": "input_image", "image_url": "https://i", "detail": "auto"}],
            "What is this?",
        ),
        ([{"type": "text", "text": "a", "mine": 1}], json.dumps([{"type": "text", "text": "a", "mine": 1}])),
        ([{"type": "row", "text": "a"}], json.dumps([{"type": "row", "text": "a"}])),
    ],
)
def test_the_parts_of_what_a_user_says_are_words_and_another_list_is_a_text(content, input):
    """Traceloop of OpenAI's client, and Latitude."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.prompt.0.role": "user"}
    told |= {"gen_ai.prompt.0.content": json.dumps(content), "gen_ai.completion.0.role": "assistant"}
    told |= {"gen_ai.completion.0.content": "A cat.", "gen_ai.completion.0.finish_reason": "stop"}
    (run,) = runs(span(1, None, "openai.chat", scope="opentelemetry.instrumentation.openai.v1", attributes=told))
    assert (run["input"], run["output"]) == (input, "A cat.")


def test_a_model_in_a_cycle_of_the_first_strands_answers_though_no_system_is_told():
    told = {"event_loop.cycle_id": "c1", "gen_ai.request.model": "m", "gen_ai.agent.name": "Strands Agent"}
    told |= {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content.0.text": "go", "agent.name": "Strands Agent"}
    told |= {
        "gen_ai.completion.0.text": "Done.",
        "gen_ai.usage.prompt_tokens": 24,
        "gen_ai.usage.completion_tokens": 10,
    }
    (run,) = runs(span(1, None, "Model invoke", scope="opentelemetry.instrumentation.strands", attributes=told))
    assert [(c["request_model"], c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [("m", 24, 10)]
    assert (run["input"], run["output"]) == ("go", "Done.")


@pytest.mark.parametrize(("asked", "answered"), [("Hello?", "I am here."), (None, None)])
def test_what_a_record_says_was_elided_is_no_word_of_anybody(asked, answered):
    request = json.dumps({"contents": [{"parts": [{"text": asked}], "role": "user"}]}) if asked else "{}"
    response = json.dumps({"content": {"parts": [{"text": answered}], "role": "model"}}) if answered else "{}"
    whole = {"gcp.vertex.agent.llm_request": request, "gcp.vertex.agent.llm_response": response}
    model = {"gen_ai.operation.name": "generate_content", "gen_ai.system": "gemini", "gen_ai.request.model": "g"}
    model |= {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}
    told = [("gen_ai.system.message", {}), ("gen_ai.user.message", {}), ("gen_ai.choice", {"finish_reason": "STOP"})]
    (run,) = runs(
        span(1, None, "invocation", took=9, scope="gcp.vertex.agent"),
        agent(2, "helper", 1, at=1, took=7, scope="gcp.vertex.agent"),
        span(3, 2, "call_llm", at=2, took=5, scope="gcp.vertex.agent", attributes=whole),
        span(4, 3, "generate_content g", at=3, took=2, scope="gcp.vertex.agent", attributes=model),
        logs=[events(*((4, name, 3.5, {"content": "<elided>"} | more) for name, more in told), named=True)],
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == (asked, answered, 1)
    assert run["incomplete"] == ([] if asked else ["input not reported", "output not reported"])


@pytest.mark.parametrize(
    ("calls", "at", "told"),
    [(1, 2, ("Hello?", "I am here.")), (1, 8, (None, None)), (2, 2, (None, None))],
    ids=["while the only call ran", "after it", "of two calls"],
)
def test_messages_of_records_that_name_no_span_are_of_the_only_model_call(calls, at, told):
    model = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "m"}
    answer = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "I am here."}}
    (run,) = runs(
        span(1, None, "agent_run", took=9),
        *(span(2 + n, 1, "chat m", at=1 + 3 * n, took=2, attributes=model) for n in range(calls)),
        logs=[
            events(
                (0, "gen_ai.user.message", at, {"content": "Hello?"}),
                (0, "gen_ai.choice", at + 0.5, answer),
                named=True,
                deep=True,
            )
        ],
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == (*told, calls)


def test_what_a_collector_adds_to_claude_codes_spans_in_the_words_of_the_conventions_is_what_they_tell():
    used = {"input_tokens": 10, "cache_read_tokens": 0, "cache_creation_tokens": 23030, "output_tokens": 212}
    model = {"span.type": "llm_request", "model": "m", "gen_ai.request.model": "m", "stop_reason": "end_turn", **used}
    model |= {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 23040, "gen_ai.usage.output_tokens": 212}
    tool = {"span.type": "tool", "tool_name": "mcp__shop__order", "gen_ai.tool.name": "order", "tool_use_id": "t1"}
    tool |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "t1"}
    work = {"span.type": "tool.execution", "success": "true"}
    (run,) = runs(
        agent(1, "helper", took=9, scope="harness"),
        *(
            span(id, parent, f"claude_code.{name}", scope="com.anthropic.claude_code.tracing", attributes=told, **when)
            for id, parent, name, told, when in (
                (2, 1, "interaction", {"user_prompt": "<REDACTED>"}, {"at": 1, "took": 7}),
                (3, 2, "tool", tool, {"at": 2}),
                (5, 3, "tool.execution", work, {"at": 2}),
                (4, 2, "llm_request", model, {"at": 4}),
            )
        ),
    )
    assert [(call["input_tokens"], call["output_tokens"]) for call in run["llm_calls"]] == [(23040, 212)]
    assert [(call["name"], call["call_id"], call["status"]) for call in run["tool_calls"]] == [("order", "t1", "ok")]


@pytest.mark.parametrize("key", ["event.name", "otel.event.name"])
@pytest.mark.parametrize("of", [0, 2], ids=["of no span", "of the call's span"])
def test_a_record_is_named_by_its_attribute_too(key, of):
    model = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "m"}
    answer = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "I am here."}}
    told = (("gen_ai.user.message", {"content": "Hello?"}), ("gen_ai.choice", answer))
    (run,) = runs(
        span(1, None, "agent_run", took=9),
        span(2, 1, "chat m", at=1, took=2, attributes=model),
        logs=[events(*((of, "", 1.5, {key: name} | more) for name, more in told), named=True, deep=True)],
    )
    assert (run["input"], run["output"]) == ("Hello?", "I am here.")


def test_the_details_of_a_call_whose_record_names_no_span_are_of_the_only_call():
    said = {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Hello?"}]}]}
    said["gen_ai.output.messages"] = [{"role": "assistant", "parts": [{"type": "text", "content": "I am here."}]}]
    (run,) = runs(
        agent(1, "helper", took=9),
        span(2, 1, "chat m", at=1, took=2, gen_ai__operation__name="chat", gen_ai__request__model="m"),
        logs=[events((0, "gen_ai.client.inference.operation.details", 2, said), named=True, deep=True)],
    )
    assert (run["input"], run["output"]) == ("Hello?", "I am here.")
