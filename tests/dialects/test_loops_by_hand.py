"""Loops that programs write over models' clients, in part: spans lost, values cut, answers told by halves."""

import json

import pytest

from tests.dialects.test_by_hand import _either_way, _history
from tests.runs.requests import agent, chat, span, tool

pytestmark = pytest.mark.full

_CITY = {"at": "x"}
_TRACELOOPS = "opentelemetry.instrumentation.google_generativeai"
_OPENINFERENCES = "openinference.instrumentation.groq"


def _model(id, at, *told, out=None, n=0, **more):
    """A model's span of OpenInference's: its messages flattened, as (role, text, requests), from a number on."""
    said = {"openinference.span.kind": "LLM", "llm.model_name": "m", "output.value": out}
    for number, (role, text, *asked) in enumerate(told, n):
        head = f"llm.input_messages.{number}.message"
        said |= {f"{head}.role": role} | ({f"{head}.content": text} if text is not None else {})
        for k, (call, name, given) in enumerate(asked):
            here = f"{head}.tool_calls.{k}.tool_call"
            said |= {f"{here}.id": call} if call else {}
            said |= {f"{here}.function.name": name, f"{here}.function.arguments": json.dumps(given)}
    said = {key: value for key, value in said.items() if value is not None}
    return span(id, 1, "Completions", at=at, scope=_OPENINFERENCES, status=1, attributes=said | more)


def _ran(id, at, name, gave, given=None, **more):
    told = {"gen_ai.tool.call.arguments": given or _CITY}
    return tool(id, 1, name, None, gave, at=at, took=0.5, attributes=told, **more)


def test_a_stream_that_nobody_had_read_yet_is_no_answer():
    stream, go = "<groq.Stream object at 0x7fe4a56ac850>", ("user", "go")
    asked = ("assistant", None, ("c1", "look", _CITY), ("c2", "ghost", {}))
    (run,) = _either_way(
        agent(1, "a", took=9),
        _model(2, 1, go, out=stream),
        _ran(3, 3, "look", "cold"),
        _model(4, 5, go, asked, ("tool", "cold"), ("tool", "no such tool"), out=stream),
    )
    assert [(c["name"], c["call_id"], c["turn"]) for c in run["tool_calls"]] == [("look", "c1", 0), ("ghost", "c2", 0)]


@pytest.mark.parametrize(("put_out", "met"), [('{"temperature": 21}', False), ('{"messages": []}', True), (None, True)])
def test_a_program_that_put_out_an_object_of_its_own_was_not_stopped(put_out, met):
    """The model's span that came to it is lost."""
    told = {"openinference.span.kind": "AGENT"} | ({"output.value": put_out} if put_out else {})
    (run,) = _either_way(
        span(1, None, "helper", took=7, attributes=told),
        chat(2, 1, [("c1", "look", _CITY)], "go", at=1),
        _ran(3, 2.5, "look", "cold"),
        chat(4, 1, [("c2", "look", _CITY)], _history("go", ("c1", "look", _CITY), {"id": "c1", "response": "x"}), at=4),
        _ran(5, 6, "look", "warm"),
    )
    assert ("max_steps" in run["boundaries"]) == met


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("hold", [lambda x: x, lambda x: json.dumps({"result": x})])
def test_of_two_calls_alike_without_ids_each_has_what_history_tells_of_it_where_a_span_is_lost(lost, hold):
    asked, gave = [("", "look", _CITY)] * 2, ["cold", "warm"]
    ran = [_ran(3 + i, 3 + i, "look", gave[i]) for i in range(2) if i != lost]
    back = _history("go", *asked, *({"id": "", "response": hold(x)} for x in gave))
    (run,) = _either_way(agent(1, "a", took=9), chat(2, 1, asked, "go", at=1), *ran, chat(6, 1, "done", back, at=6))
    came = sorted(json.dumps(c["result"]) for c in run["tool_calls"])
    told = {"result": gave[lost]} if hold("") else gave[lost]
    assert came == sorted(map(json.dumps, [gave[1 - lost], told]))


def test_what_is_left_of_a_history_is_no_result_of_an_older_call_alike_where_answers_are_not_told():
    """Of the second answer nothing is told, and of the history after it the end alone."""
    asks = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": json.dumps(_CITY),
    }
    thrown = [("exception", {"exception.type": "OSError", "exception.message": "no"})]
    end = [("assistant", None, (None, "look", _CITY)), ("tool", "OSError: no")]
    (run,) = _either_way(
        agent(1, "a", took=9),
        _model(2, 1, ("user", "go"), **asks),
        _ran(3, 2.1, "look", None),
        _model(4, 3, ("tool", "None"), n=2, dropped=9),
        _ran(5, 4.1, "look", None, status=2, events=thrown),
        _model(6, 5, *end, n=3, dropped=9),
    )
    assert [c["status"] for c in run["tool_calls"] if c["status"] == "error"] == ["error"]


def _gemini(id, at, inputs, *outputs, took=1, **more):
    told = {"gen_ai.input.messages": inputs if isinstance(inputs, str) else json.dumps(inputs)}
    told["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": list(outputs)}])
    told["gen_ai.response.finish_reasons"] = ["stop"]
    return chat(id, 1, at=at, took=took, scope=_TRACELOOPS, attributes=told, **more)


def _call(id, name="look", given=None):
    return {"type": "tool_call", "id": id, "name": name, "arguments": given or _CITY}


def test_of_calls_alike_of_an_answer_told_in_part_nobody_knows_whose_the_one_id_is():
    cut = '[{"role": "user", "parts": [{"type": "text", "content": "go'
    (run,) = _either_way(
        agent(1, "a", took=9),
        _gemini(2, 1, _history("go"), _call("c2")),
        _ran(3, 3, "look", "cold"),
        _ran(4, 4, "look", "warm"),
        _gemini(5, 6, cut, {"type": "text", "content": "done"}),
    )
    assert [(c["call_id"], c["result"]) for c in run["tool_calls"]] == [(None, "cold"), (None, "warm")]


def test_what_a_span_tells_was_not_given_to_what_asked_for_other_arguments_where_an_answer_is_told_in_part():
    cut = '[{"role": "user", "parts": [{"type": "text", "content": "go'
    (run,) = _either_way(
        agent(1, "a", took=9),
        _gemini(2, 1, _history("go"), _call("", given={"at": "y"})),
        _ran(3, 3, "look", "cold", {"at": "z"}),
        _ran(4, 4, "look", "warm", {"at": "y"}),
        _gemini(5, 6, cut, {"type": "text", "content": "done"}),
    )
    called = sorted((c["arguments"]["at"], c["result"]) for c in run["tool_calls"])
    assert called == [("y", "warm"), ("z", "cold")]


def test_an_answer_whose_span_is_lost_is_none_of_those_that_are_told():
    """Of the last answer nothing is told, so that what they asked for is read from history."""
    first, second, third = (_call(f"c{n}", name) for n, name in enumerate(("look", "sum", "book")))
    known = [_history("go")[0]]
    for part in (first, second, third):
        known += [{"role": "assistant", "parts": [part]}]
        known += _history({"id": part["id"], "response": "fine"})
    (run,) = _either_way(
        agent(1, "a", took=20),
        _gemini(2, 1, known[:1], first),
        _ran(3, 3, "look", "fine"),
        _ran(4, 6, "sum", "fine"),
        _gemini(5, 8, known[:5], third),
        _ran(6, 10, "book", "fine"),
        _gemini(7, 12, known, {"type": "text", "content": ""}),
    )
    called = [(c["name"], c["turn"]) for c in run["tool_calls"] if c["turn"] is not None]
    assert called == [("look", 0), ("book", 1)]
    assert len(run["tool_calls"]) == 3


def test_what_langsmith_leaves_out_of_gemini_s_history_is_neither_an_empty_question_nor_an_empty_result():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}}
    go, asked = {"role": "user", "content": "go"}, {"role": "model", "content": "Let me see."}

    def model(id, at, *given, **said):
        told = {"langsmith.span.kind": "llm", "gen_ai.operation.name": "chat", "gen_ai.request.model": "gemini-2.5-pro"}
        told |= {"gen_ai.prompt": json.dumps({"messages": given}), "gen_ai.usage.input_tokens": 5}
        told["gen_ai.completion"] = json.dumps({"role": "assistant", "finish_reason": "STOP"} | said)
        return span(id, None, "Chat", trace=id, at=at, status=1, scope="langsmith", attributes=told)

    runs = _either_way(
        model(1, 0, go, content=None, tool_calls=[call]),
        model(2, 2, go, asked, {"role": "tool", "content": ""}, content="done"),
    )
    assert [c["status"] for run in runs for c in run["tool_calls"] or ()] == ["unknown"]
    runs = _either_way(
        model(1, 0, go, content=""), model(2, 2, go, asked, {"role": "user", "content": ""}, content="x")
    )
    assert {(run["input"], "empty_input" in run["boundaries"]) for run in runs} == {("go", False)}


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("role", ["user", "tool"])
def test_what_came_back_to_gemini_under_trace_ai_is_no_question_and_the_model_that_answered_not_the_one_asked(
    role, told
):
    head, results = "gen_ai.input.messages", ('{"result": "cold"}', '{"result": "warm"}')
    asked = {"gen_ai.input.messages.0.message.role": "user", "gen_ai.input.messages.0.message.content": "go"}

    def calls(where):
        here = f"{where}.message.tool_calls"
        names = {f"{here}.{k}.tool_call.function.name": "look" for k in range(2)}
        return names | {f"{here}.{k}.tool_call.function.arguments": json.dumps({"at": k}) for k in range(2)}

    def model(id, at, said):
        about = {"gen_ai.span.kind": "LLM", "gen_ai.request.model": "gemini-1-001", "gen_ai.usage.input_tokens": 5}
        about |= (
            {"gen_ai.request.parameters": "{}", "input.value": '{"model": "gemini-1", "contents": []}'} if told else {}
        )
        return span(id, 1, "GenerateContent", at=at, scope="traceai_google_genai", attributes=about | said)

    answer = {"gen_ai.output.messages.0.message.role": "model"} | calls("gen_ai.output.messages.0")
    later = asked | {f"{head}.1.message.role": "model", f"{head}.2.message.role": role} | calls(f"{head}.1")
    for k, result in enumerate(results):
        here = f"{head}.2.message.contents.{k}.message_content"
        later |= {f"{here}.type": "text", f"{here}.text": result}
    done = {"gen_ai.output.messages.0.message.role": "model", "gen_ai.output.messages.0.message.content": "done"}
    (run,) = _either_way(agent(1, "a", took=9), model(2, 1, asked | answer), model(3, 4, later | done))
    assert [c["result"] for c in run["tool_calls"]] == [{"result": "cold"}, {"result": "warm"}]
    models = {(c["request_model"], c["response_model"]) for c in run["llm_calls"]}
    assert models == {("gemini-1" if told else None, "gemini-1-001")}
    assert run["input"] == "go"


@pytest.mark.parametrize("whole", [True, False])
def test_the_first_message_alone_is_no_question_of_the_user_s_nor_the_model_that_answered_the_one_asked(whole):
    """traceAI's of OpenAI's chats, whose other messages, parameters and tokens may be dropped."""
    told = {"gen_ai.span.kind": "LLM", "input.mime_type": "application/json", "input.value": "Be kind."}
    told |= {"output.value": "done", "gen_ai.request.model": "m-2024-07-18"}
    more = {"gen_ai.request.parameters": '{"model": "m"}', "gen_ai.usage.input_tokens": 5}
    for k, (role, text) in enumerate((("system", "Be kind."), ("user", "go"))):
        here = f"gen_ai.input.messages.{k}.message"
        more |= {f"{here}.role": role, f"{here}.content": text}
    about = {"attributes": told | more} if whole else {"attributes": told, "dropped": 9}
    (run,) = _either_way(span(1, None, "ChatCompletion", scope="traceai_openai", status=1, **about))
    asked = [c["request_model"] for c in run["llm_calls"]]
    assert (run["input"], asked) == (("go", ["m"]) if whole else (None, [None]))


def test_what_a_stream_told_by_its_last_call_asked_for_beside_that_is_in_the_next_history():
    """MLflow's of Bedrock's client, of whose tools one span is lost."""
    use = [{"toolUse": {"toolUseId": f"c{k}", "name": "look", "input": {"at": str(k)}}} for k in range(2)]
    came = [{"toolResult": {"toolUseId": f"c{k}", "content": [{"text": f"t{k}"}]}} for k in range(2)]
    go = {"role": "user", "content": [{"text": "go"}]}

    def model(id, at, messages, *said):
        out = {"output": {"message": {"role": "assistant", "content": list(said)}}, "stopReason": "end_turn"}
        told = {"mlflow.spanType": '"LLM"', "mlflow.spanInputs": json.dumps({"modelId": "m", "messages": messages})}
        told["mlflow.spanOutputs"] = json.dumps(out)
        name = "BedrockRuntime.converse_stream"
        return span(id, 1, name, at=at, status=1, scope="mlflow.tracing.provider", attributes=told)

    ran = {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"at": "1"}', "mlflow.spanOutputs": '"t1"'}
    history = [go, {"role": "assistant", "content": use}, {"role": "user", "content": came}]
    (run,) = _either_way(
        span(
            1,
            None,
            "helper",
            took=9,
            status=1,
            scope="mlflow.tracing.provider",
            attributes={"mlflow.spanType": '"AGENT"'},
        ),
        model(2, 1, [go], use[1]),
        span(3, 1, "look", at=3, status=1, scope="mlflow.tracing.provider", attributes=ran),
        model(4, 5, history, {"text": "done"}),
    )
    assert [(c["call_id"], c["result"]) for c in run["tool_calls"]] == [("c0", "t0"), ("c1", "t1")]


@pytest.mark.parametrize("asked", ["m", None])
def test_the_model_that_answered_is_not_the_one_asked_for_where_the_kind_of_a_span_is_dropped(asked):
    """traceAI tells a span's kind last."""
    told = {
        "output.value": "done",
        "gen_ai.request.model": "m-2024-07-18",
        "gen_ai.input.messages.0.message.role": "user",
    }
    told |= {"gen_ai.request.parameters": json.dumps({"model": asked})} if asked else {}
    (run,) = _either_way(span(1, None, "Response", scope="traceai_openai", status=1, attributes=told, dropped=9))
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [(asked, "m-2024-07-18")]
