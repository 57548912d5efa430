"""What pairs of kit and instrumentation that are recorded nowhere sent, in small."""

import json

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

_OI = "openinference.instrumentation.langchain"


def _graph(**told):
    told = {"openinference.span.kind": "CHAIN", "input.value": '{"messages": [["user", "go"]]}'} | told
    return span(1, None, "planner", took=9, scope=_OI, status=1, attributes=told)


def _streamed(id, at, put_out, said):
    """A stream of Anthropic's in LangChain under OpenInference 0.1.80: what was put in is not counted, as the stream's
    end tells what was put out alone, and the answer has an id of LangChain's."""
    told = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "go",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.type": "text",
        "llm.output_messages.0.message.contents.0.message_content.text": said,
        "llm.token_count.prompt": 0,
        "llm.token_count.completion": put_out,
        "llm.token_count.total": put_out,
    }
    return span(id, 1, "ChatAnthropic", at=at, took=2, scope=_OI, status=1, attributes=told)


def _of_client(id, at, put_out):
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": f"msg_01HdVg7mZcTqYw{id}",
        "gen_ai.usage.input_tokens": 1321,
        "gen_ai.usage.output_tokens": put_out,
    }
    scope = "com.anthropic.sdk.python"
    return span(id, None, "anthropic.messages.create", trace=id, at=at, took=1.5, kind=3, scope=scope, attributes=told)


def test_a_call_of_which_a_graph_counts_only_what_was_put_out_is_the_one_its_client_tells_in_a_trace_of_its_own():
    found = agreed(
        _graph(**{"output.value": json.dumps({"messages": [{"type": "ai", "data": {"content": "Done."}}]})}),
        _streamed(2, 1, 3, "Not yet."),
        _of_client(12, 1.2, 3),
        _streamed(3, 4, 4, "Done."),
        _of_client(13, 4.2, 4),
    )
    assert [[c["input_tokens"] for c in run["llm_calls"]] for run in found] == [[1321, 1321]]


def test_a_call_that_puts_out_otherwise_than_the_one_at_its_time_is_another():
    found = agreed(_graph(), _streamed(2, 1, 3, "Done."), _of_client(12, 1.2, 5))
    assert [len(run["llm_calls"]) for run in found] == [1, 1]
