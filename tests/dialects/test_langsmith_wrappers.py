"""OpenAI's client in LangSmith's wrapper for JavaScript (0.12), which reads what it tells once all is over."""

import json

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

_CALL = {"id": "call_1x", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}}
_ASKS = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
_CAME = {"role": "tool", "tool_call_id": "call_1x", "content": "cold"}


def _model(id, parent, name, at, took, given, said=None, trace=1, **told):
    told = {"langsmith.span.kind": "llm", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"} | told
    told["gen_ai.prompt"] = json.dumps({"model": "m", "messages": given})
    if said is not None:
        told |= {"gen_ai.completion": json.dumps({"choices": [{"index": 0, "message": said}]})}
        told |= {
            "gen_ai.response.id": f"chatcmpl-{id}",
            "gen_ai.usage.input_tokens": 5,
            "gen_ai.usage.output_tokens": 2,
        }
        told["gen_ai.response.finish_reasons"] = "tool_calls" if "tool_calls" in said else "stop"
    return span(id, parent, name, trace=trace, at=at, took=took, status=1, scope="langsmith", attributes=told)


def _tool(id, parent, at, trace=1):
    told = {"langsmith.span.kind": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    told |= {"gen_ai.prompt": '{"at":"x"}', "gen_ai.completion": '{"outputs":"cold"}'}
    return span(id, parent, "look", trace=trace, at=at, took=1, status=1, scope="langsmith", attributes=told)


def test_the_answer_that_a_program_put_beside_what_it_had_asked_was_not_asked():
    user, done = {"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}
    (run,) = agreed(
        _model(1, None, "ChatOpenAI", 0, 1, [user], _ASKS),
        _tool(2, None, 2, trace=2),
        _model(3, None, "ChatOpenAI", 4, 1, [user, _ASKS, _CAME, done], done, trace=3),
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("go", "done", 2)
    assert [(c["name"], c["status"], c["evidence"]) for c in run["tool_calls"]] == [("look", "ok", ["span", "message"])]


def test_what_was_written_over_the_span_of_who_read_a_stream_is_another_call_than_the_one_in_it():
    user = {"role": "user", "content": "go"}
    (run,) = agreed(
        _model(1, None, "planner", 0, 2, [user, _ASKS, _CAME], _ASKS),
        _tool(2, 1, 2),
        _model(3, 1, "ChatOpenAI", 4, 1, [user, _ASKS, _CAME]),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok")]


def test_what_a_function_of_no_kind_gave_stands_in_the_same_frame_as_what_a_tool_gave():
    user, done = {"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}
    told = {"langsmith.span.kind": "chain", "gen_ai.prompt": '{"at":"x"}', "gen_ai.completion": '{"outputs":"cold"}'}
    (run,) = agreed(
        span(1, None, "app", at=0, took=9, status=1, scope="langsmith", attributes={"langsmith.span.kind": "chain"}),
        _model(2, 1, "ChatOpenAI", 1, 1, [user], _ASKS),
        span(3, 1, "look", at=3, took=1, status=1, scope="langsmith", attributes=told),
        _model(4, 1, "ChatOpenAI", 5, 1, [user, _ASKS, _CAME], done),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", "ok", "cold")]


def test_what_began_with_a_call_of_a_model_was_not_asked_for_by_that():
    user, answers = {"role": "user", "content": "go"}, []
    for i in range(3):
        made = {"name": "look", "arguments": json.dumps({"at": i})}
        answers.append(_ASKS | {"tool_calls": [{"id": f"call_{i}x", "type": "function", "function": made}]})
    chain = {"langsmith.span.kind": "chain"}
    gave = [chain | {"gen_ai.completion": f'{{"outputs":"cold {i}"}}'} for i in range(3)]
    runs = agreed(
        span(1, None, "app", at=0, took=19, status=1, scope="langsmith", attributes=chain),
        _model(2, 1, "ChatOpenAI", 1, 1, [user], answers[0]),
        span(3, 1, "look", at=2, took=0, status=1, scope="langsmith", attributes=gave[0]),
        span(4, 1, "look", at=5, took=0, status=1, scope="langsmith", attributes=gave[1]),  # by what was lost
        _model(5, 1, "ChatOpenAI", 5, 2, [user], answers[2]),
        span(6, 1, "look", at=8, took=0, status=1, scope="langsmith", attributes=gave[2]),
        _model(7, 1, "ChatOpenAI", 8, 2, [user], {"role": "assistant", "content": "done"}),
    )
    told = {(c["arguments"]["at"], c["result"]) for run in runs for c in run["tool_calls"] or () if c["arguments"]}
    assert told <= {(0, "cold 0"), (0, None), (2, "cold 2"), (2, None)}


def test_a_function_that_ended_well_heard_of_the_model_that_failed_in_one_below():
    user = {"role": "user", "content": "go"}
    chain = {"langsmith.span.kind": "chain"}
    failed = {"exception.type": "Error", "exception.message": "500 server failed"}
    wrong = {"status": 2, "scope": "langsmith", "events": [("exception", failed)]}
    model = {"langsmith.span.kind": "llm", "gen_ai.prompt": json.dumps({"model": "m", "messages": [user]})}
    (run,) = agreed(
        span(1, None, "app", at=0, took=19, status=1, scope="langsmith", attributes=chain),
        span(2, 1, "writer", at=1, took=4, attributes=chain, **wrong),
        span(3, 2, "ChatOpenAI", at=2, took=2, attributes=model, **wrong),
    )
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("unknown", ["error"])
