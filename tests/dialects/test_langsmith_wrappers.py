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
