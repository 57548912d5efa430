"""Loops written by hand around the clients of model providers, and the spans that came of them."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def words(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _asked(*calls, text=None):
    said = [{"type": "text", "content": text}] if text else []
    told = [{"type": "tool_call", "id": i, "name": name, "arguments": given} for i, name, given in calls]
    return {"role": "assistant", "parts": said + told}


def _came(*results):
    return {"role": "user", "parts": [{"type": "tool_call_response", "id": i, "response": r} for i, r in results]}


def called_with(run):
    return [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]


def flat(messages):
    out = {"openinference.span.kind": "LLM"}
    for side, said in messages.items():
        for at, message in enumerate(said):
            out |= {f"llm.{side}_messages.{at}.message.{key}": value for key, value in message.items()}
    return out


def step_of(id, parent, name, kind, at, took=1, **told):
    return span(id, parent, name, at=at, took=took, attributes={"openinference.span.kind": kind} | told)


def request_of(call_id, name, given):
    at = "tool_calls.0.tool_call"
    return {"role": "assistant", f"{at}.id": call_id, f"{at}.function.name": name, f"{at}.function.arguments": given}


def test_items_of_one_answer_stand_together_also_where_the_first_is_text():
    user, words = {"role": "user", "content": "Oslo?"}, {"role": "assistant", "content": "Let me look."}
    asked = [request_of("c1", "weather", '{"city": "Oslo"}'), request_of("c2", "weather", '{"city": "Bergen"}')]
    came = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"{n} degrees"} for n in (1, 2)]
    (run,) = runs(
        span(1, None, "Response", attributes=flat({"input": [user], "output": [words, asked[0]]})),
        span(
            2,
            None,
            "Response",
            trace=2,
            at=3,
            attributes=flat(
                {"input": [user, words, *asked, *came], "output": [{"role": "assistant", "content": "Cold."}]}
            ),
        ),
    )
    assert called_with(run) == [
        ("weather", {"city": "Oslo"}, "ok", "1 degrees"),
        ("weather", {"city": "Bergen"}, "ok", "2 degrees"),
    ]
    assert run["output"] == "Cold."


def test_ids_of_items_are_not_those_of_calls_and_places_tell_what_came_of_which():
    question = words("user", "Oslo and Bergen?")
    asked = _asked(("fc_1", "weather", {"city": "Oslo"}), ("fc_2", "weather", {"city": "Bergen"}))
    (run,) = runs(
        chat(1, None, [("fc_1", "weather", {"city": "Oslo"}), ("fc_2", "weather", {"city": "Bergen"})], [question]),
        chat(2, None, "Cold.", [question, asked, _came(("call_1", "3"), ("call_2", "4"))], trace=2, at=3),
    )
    assert called_with(run) == [("weather", {"city": "Oslo"}, "ok", "3"), ("weather", {"city": "Bergen"}, "ok", "4")]


def test_ids_that_count_the_parts_of_a_message_are_no_ids_of_a_call():
    """For Gemini a client makes them up: the number of the part, in the answer and in what comes back."""
    question = words("user", "Oslo and Bergen?")
    calls = [("weather_1", "weather", {"city": "Oslo"}), ("weather_2", "weather", {"city": "Bergen"})]
    history = [question, _asked(*calls, text="Let me look."), _came(("weather_0", "3"), ("weather_1", "4"))]
    (run,) = runs(chat(1, None, calls, [question]), chat(2, None, "Cold.", history, trace=2, at=3))
    assert called_with(run) == [("weather", {"city": "Oslo"}, "ok", "3"), ("weather", {"city": "Bergen"}, "ok", "4")]


def test_conversations_at_one_time_whose_ids_are_alike_stay_apart():
    def turn(city, first, at):
        question, call = words("user", f"{city}?"), ("weather_0", "weather", {"city": city})
        history = [question, _asked(call), _came(("weather_0", f"{city} 3"))]
        return (
            chat(first, None, [call], [question], trace=first, at=at),
            chat(first + 1, None, f"{city} is cold.", history, trace=first + 1, at=at + 5),
        )

    found = runs(*turn("Oslo", 1, 0), *turn("Bergen", 3, 1))
    assert [(r["input"], r["output"], called_with(r)) for r in found] == [
        ("Oslo?", "Oslo is cold.", [("weather", {"city": "Oslo"}, "ok", "Oslo 3")]),
        ("Bergen?", "Bergen is cold.", [("weather", {"city": "Bergen"}, "ok", "Bergen 3")]),
    ]


def test_a_client_that_traces_itself_inside_an_instrumentation_that_opens_no_scope_tells_of_the_same_call():
    usage = {"llm.token_count.prompt": 10, "llm.token_count.completion": 2, "llm.model_name": "model-a"}
    said = flat({"input": [{"role": "user", "content": "hi"}], "output": [{"role": "assistant", "content": "hello"}]})
    (run,) = runs(
        span(1, None, "messages.stream", took=5, scope="openinference.instrumentation.x", attributes=said | usage),
        chat(2, None, trace=2, at=1, took=3, scope="sdk", attributes={"gen_ai.response.id": "msg_1"}),
    )
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(10, 2)]
    assert (run["input"], run["output"]) == ("hi", "hello")


def test_what_the_steps_of_a_failed_run_put_out_is_no_answer():
    prompt = json.dumps(
        [{"type": "system", "data": {"content": "Do it."}}, {"type": "human", "data": {"content": "go"}}]
    )
    asked = flat({"input": [{"role": "user", "content": "go"}], "output": [request_of("c1", "weather", "{}")]})
    (run,) = runs(
        span(1, None, "LangGraph", took=20, error="GraphRecursionError('no end')", openinference__span__kind="CHAIN"),
        step_of(2, 1, "agent", "CHAIN", 1, 5),
        step_of(3, 2, "Prompt", "CHAIN", 2, **{"output.value": prompt}),
        span(4, 2, "ChatModel", at=3, attributes=asked),
        step_of(5, 1, "weather", "TOOL", 8, **{"tool.name": "weather", "output.value": "3"}),
    )
    assert (run["status"], run["output"]) == ("error", None)


def test_a_call_told_without_an_id_is_the_one_that_history_tells_with_an_id():
    """LiteLLM tells of a streamed answer the function alone."""
    question = {"role": "user", "parts": [{"type": "text", "content": "Oslo?"}]}
    function = {"name": "weather", "arguments": '{"city": "Oslo"}'}
    asked = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    came = {"role": "tool", "tool_call_id": "c1", "content": "3"}
    flat = {f"gen_ai.completion.0.function_call.{key}": value for key, value in function.items()}
    (run,) = runs(
        chat(1, None, "", [question], scope="litellm", attributes=flat),
        chat(2, None, "Cold.", [question, asked, came], trace=2, at=3, scope="litellm"),
    )
    assert called_with(run) == [("weather", {"city": "Oslo"}, "ok", "3")]
    assert [c["call_id"] for c in run["tool_calls"]] == ["c1"]
    assert (run["output"], run["status"]) == ("Cold.", "ok")


@pytest.mark.parametrize("apart, traced", [(True, False), (False, False), (False, True)])
def test_what_logfire_tells_of_a_stream_when_it_was_read_is_the_answer_of_the_call(apart, traced):
    scope, question = "logfire.openai", words("user", "Oslo?")
    calls = [("c1", "weather", {"city": "Oslo"})]
    log = {"logfire.span_type": "log", "logfire.msg": "streaming response from 'model-a' took 0.03s"}

    def call(id, answer, history, at):
        asked = json.dumps(history)
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-a", "gen_ai.input.messages": asked}
        parent, trace = (None, id) if apart else (9, 1)
        first = span(id, parent, "Chat Completion", trace=trace, at=at, scope=scope, attributes=told)
        return first, chat(
            id + 1, parent, answer, history, trace=trace + apart, at=at + 2, took=0, scope=scope, attributes=log
        )

    history = [question, _asked(*calls), _came(("c1", "3"))]
    frame = [] if apart else [span(9, None, "handle", took=20)]
    frame += [chat(20 + at, at, at=at - 0.5, scope="sdk") for at in (1, 5)] if traced else []
    (run,) = runs(*frame, *call(1, calls, [question], 0), *call(5, "Cold.", history, 5))
    assert called_with(run) == [("weather", {"city": "Oslo"}, "ok", "3")]
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(10, 2), (10, 2)]
    assert (run["input"], run["output"], run["status"]) == ("Oslo?", "Cold.", "ok")


@pytest.mark.parametrize("author, agents", [("planner", ["planner"]), (None, []), ("somebody", [])])
def test_a_graph_that_bears_the_name_of_who_wrote_its_messages_is_an_agent(author, agents):
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}
    said = {"messages": [{"type": "ai", "data": {"content": "", "type": "ai", "name": author, "tool_calls": [call]}}]}
    asked = flat({"input": [{"role": "user", "content": "go"}], "output": [request_of("c1", "weather", "{}")]})
    done = flat({"input": [{"role": "user", "content": "go"}], "output": [{"role": "assistant", "content": "Cold."}]})
    (run,) = runs(
        step_of(1, None, "planner", "CHAIN", 0, 20),
        step_of(2, 1, "agent", "AGENT", 1, 3, **{"output.value": json.dumps(said)}),
        step_of(3, 2, "ChatModel", "LLM", 2, **asked),
        step_of(4, 1, "weather", "TOOL", 5, **{"tool.name": "weather", "output.value": "3"}),
        step_of(5, 1, "agent", "AGENT", 7, 3),
        step_of(6, 5, "ChatModel", "LLM", 8, **done),
    )
    assert run["agents"] == agents
    assert [c["agent"] for c in run["tool_calls"]] == (agents or [None])
    assert [c["agent"] for c in run["llm_calls"]] == (agents or [None]) * 2


def test_a_run_ends_where_the_step_that_asked_for_a_tool_nobody_has_fails():
    asked = flat({"input": [{"role": "user", "content": "go"}], "output": [request_of("c1", "ghost", "{}")]})
    turn = {"attributes": {"openinference.span.kind": "CHAIN"}, "error": "Tool not found: {'tool_name': 'ghost'}"}
    (run,) = runs(
        step_of(1, None, "Agent workflow", "AGENT", 0, 20),
        step_of(2, 1, "planner", "AGENT", 1, 15, **{"agent.name": "planner"}),
        span(3, 2, "turn", at=2, took=9, **turn),
        step_of(4, 3, "response", "LLM", 3, **asked),
    )
    assert (run["status"], run["boundaries"], run["output"]) == ("error", ["error"], None)
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("ghost", "unknown")]


def test_an_agent_that_holds_nothing_is_one_where_no_model_call_can_be_seen():
    (run,) = runs(
        span(1, None, "invoke_workflow", took=20, gen_ai__operation__name="invoke_workflow"),
        agent(2, "planner", 1, at=1, took=3),
        agent(3, "worker", 1, at=5, took=9),
        tool(4, 3, "search", at=6),
    )
    assert run["agents"] == ["planner", "worker"]
    assert run["llm_calls"] is None


def test_a_loop_in_one_span_was_asked_and_answered_all_the_same():
    (run,) = runs(chat(1, None, "Cold.", "Oslo?", took=9), tool(2, 1, "weather", result="3", at=3))
    assert called_with(run) == [("weather", None, "ok", "3")]
    assert (run["input"], run["output"], run["llm_calls"]) == ("Oslo?", "Cold.", None)


def test_what_logfire_writes_of_a_tool_without_a_result_is_none():
    told = {"logfire.msg_template": "Function: {name}", "name": "delete", "input": '{"id": 3}', "output": "null"}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("call_k3", "delete", {"id": 3})], "Delete 3", at=1),
        span(3, 1, "Function: {name}", at=3, attributes=told) | {"scope": "logfire.openai_agents"},
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("unknown", None)]


def test_a_stream_that_nobody_read_yet_is_no_text():
    (run,) = runs(
        step_of(1, None, "Completions", "LLM", 0, **{"output.value": "<groq.Stream object at 0x7f809c5de4d0>"}),
    )
    assert (run["output"], run["tool_calls"]) == (None, None)


def test_of_calls_without_ids_that_a_stream_told_in_part_the_next_input_tells_the_others():
    asked = [(None, "weather", {"city": "Oslo"}), (None, "pay", {"amount": 5})]
    history = [words("user", "Oslo?"), _asked(*asked), _came((None, "3 degrees"), (None, "paid"))]
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, asked[1:], [words("user", "Oslo?")], at=1),
        chat(3, 1, "Done.", history, at=5),
    )
    assert called_with(run) == [
        ("weather", {"city": "Oslo"}, "ok", "3 degrees"),
        ("pay", {"amount": 5}, "ok", "paid"),
    ]


def test_arguments_that_a_stream_told_as_none_stand_in_the_next_input():
    history = [words("user", "Oslo?"), _asked(("c1", "weather", {"city": "Oslo"})), _came(("c1", "3 degrees"))]
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "weather", {})], [words("user", "Oslo?")], at=1),
        chat(3, 1, "Done.", history, at=5),
    )
    assert called_with(run) == [("weather", {"city": "Oslo"}, "ok", "3 degrees")]


def test_a_server_of_tools_in_the_callers_own_process_tells_of_the_same_calls():
    def served(id, name, at, took=0.5):
        told = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        return span(
            id, 1, f"tools/call {name}", at=at, took=took, kind=2, attributes=told, scope="mcp-python-sdk", status=0
        )

    def ran(id, name, at, took=2):
        told = {"tool.name": name, "input.value": '{"city": "Oslo"}', "output.value": "3 degrees"}
        return step_of(id, 1, name, "TOOL", at, took, **told)

    def called(*spans):
        (run,) = runs(
            step_of(1, None, "query", "AGENT", 0, 20, **{"input.value": "Oslo?", "output.value": "Cold."}), *spans
        )
        return [c["name"] for c in run["tool_calls"]]

    long = "mcp__t__weather"
    assert called(ran(2, long, 1), served(3, "weather", 1.5)) == [long]
    assert (
        called(ran(2, long, 1), ran(3, long, 1.1), served(4, "weather", 1.5), served(5, "weather", 1.6)) == [long] * 2
    )
    assert called(ran(2, long, 1), served(3, "pay", 1.5)) == [long, "pay"]
    assert called(ran(2, long, 1), served(3, "weather", 5)) == [long, "weather"]


def test_an_error_in_json_in_a_part_of_a_result_is_one():
    def ended(text):
        told = {"tool.name": "look", "output.value": json.dumps([{"type": "text", "text": text}])}
        (run,) = runs(step_of(1, None, "query", "AGENT", 0, 20), step_of(2, 1, "look", "TOOL", 1, **told))
        return run["tool_calls"][0]["error_kind"]

    assert ended('{"error": "no such record"}') == "soft"
    assert ended('{"error": null, "record": 1}') is None
    assert ended('{"error"') is None


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('[{"type": "text", "text": "Cold."}]', "Cold."),
        ('[{"type": "thinking", "thinking": "Hm."}, {"thinking": null, "text": "Cold.", "type": "text"}]', "Cold."),
        ('[{"type": ["text"], "text": 3}]', '[{"type": ["text"], "text": 3}]'),
        ('[{"type": "city", "city": "Oslo"}]', '[{"type": "city", "city": "Oslo"}]'),
        ('[{"type": 3}, 4]', '[{"type": 3}, 4]'),
    ],
)
def test_parts_of_text_that_a_flattened_answer_was_written_as_are_its_text(written, read):
    told = {"llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Oslo?"}
    told |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": written}
    (run,) = runs(span(1, None, "handle", took=9), span(2, 1, "cohere.chat", at=1, attributes=told))
    assert run["output"] == read


def test_an_answer_that_litellm_tells_as_a_message_for_each_tool_is_gone_on_with():
    def asked(number, order):
        return {"id": f"call_{number}", "type": "function", "function": {"name": "look", "arguments": order}}

    question = {"role": "user", "parts": [{"type": "text", "content": "where?"}]}
    orders = ['{"order": 7}', '{"order": 8}']
    flat = {
        f"gen_ai.completion.{n}.function_call.{k}": v
        for n in (0, 1)
        for k, v in (("name", "look"), ("arguments", orders[n]))
    }
    flat["gen_ai.output.messages"] = [{"role": "assistant", "parts": [], "finish_reason": "tool_calls"}]
    both = {"role": "assistant", "parts": [], "tool_calls": [asked(n, orders[n]) for n in (0, 1)]}
    came = [
        {"role": "tool", "tool_call_id": f"call_{n}", "parts": [{"type": "text", "content": f"in {n}"}]} for n in (0, 1)
    ]
    (run,) = runs(
        chat(1, None, None, [question], took=2, scope="litellm", attributes=flat),
        chat(2, None, "There.", [question, both, *came], trace=2, at=1.9, scope="litellm"),
    )
    assert [(c["call_id"], c["arguments"], c["result"], c["turn"]) for c in run["tool_calls"]] == [
        ("call_0", {"order": 7}, "in 0", 0),
        ("call_1", {"order": 8}, "in 1", 0),
    ]


def _streamed_by_google(id, answer, asked, at=0.0, tokens=40, **more):
    scope = "opentelemetry.instrumentation.google_generativeai"
    counted = {"gen_ai.usage.output_tokens": tokens, "gen_ai.response.finish_reasons": ["stop"]}
    return chat(1, None, answer, asked, trace=id, at=at, scope=scope, attributes=counted, **more)


def test_the_last_piece_of_a_stream_is_no_answer():
    (run,) = runs(_streamed_by_google(1, "there.", "hi"))
    assert (run["output"], run["tool_calls"]) == (None, None)  # the pieces before may have asked for tools
    (run,) = runs(_streamed_by_google(1, "Hello you there.", "hi", tokens=4))
    assert (run["output"], run["tool_calls"]) == ("Hello you there.", [])


def test_what_a_stream_asked_for_before_its_last_piece_stands_in_history():
    asked = [{"type": "tool_call", "id": "", "name": n, "arguments": {"order": n}} for n in ("look", "send")]
    came = [{"type": "tool_call_response", "id": "", "response": f"done {n}"} for n in ("look", "send")]
    history = [words("user", "go"), {"role": "assistant", "parts": asked}, {"role": "user", "parts": came}]
    (run,) = runs(
        _streamed_by_google(1, [("", "send", {"order": "send"})], [words("user", "go")]),
        _streamed_by_google(2, "All is done now.", history, at=2, tokens=4),
    )
    assert [(c["name"], c["arguments"], c["result"], c["turn"]) for c in run["tool_calls"]] == [
        ("look", {"order": "look"}, "done look", 0),
        ("send", {"order": "send"}, "done send", 0),
    ]
    other = [words("user", "go"), {"role": "assistant", "parts": asked[::-1]}, {"role": "user", "parts": came}]
    found = runs(
        _streamed_by_google(1, [("", "send", {"order": "send"})], [words("user", "go")]),
        _streamed_by_google(2, "All is done now.", other, at=2, tokens=4),
    )
    assert len(found) == 2
