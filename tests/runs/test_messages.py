"""One conversation in every provider's spelling: a question, a call of `f(a=1)`, its result, all read alike."""

import json

import pytest

from otelcov.ground.config import Config
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.wrapped import arguments_of, result_of
from otelcov.runs.llm.told_input import begins_with_words
from otelcov.runs.reconstruct import groups
from tests import captures
from tests.runs.requests import agent, chat, frames, runs, span, tool

_CONSTRUCTOR = ["langchain", "schema", "messages"]
TOLD = {
    "OpenAI chat": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ],
    "OpenAI Responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ],
    "OpenAI functions": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "ok"},
    ],
    "Anthropic": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
    ],
    "Gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": "ok"}}]},
        ]
    },
    "Bedrock": [
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": 1}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "ok"}]}}]},
    ],
    "LangChain constructors": {
        "messages": [
            [
                {"lc": 1, "type": "constructor", "id": [*_CONSTRUCTOR, name], "kwargs": kwargs}
                for name, kwargs in (
                    ("HumanMessage", {"content": "hi", "type": "human"}),
                    ("AIMessage", {"content": "", "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c1"}]}),
                    ("ToolMessage", {"content": "ok", "tool_call_id": "c1", "type": "tool"}),
                )
            ]
        ]
    },
    "GenAI conventions": [
        {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "ok"}]},
    ],
    "AI SDK": [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "f", "input": {"a": 1}}],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "c1", "toolName": "f", "output": {"type": "text", "value": "ok"}}
            ],
        },
    ],
    "Python repr in a text part": [
        {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "text",
                    "content": "ResponseFunctionToolCall(arguments='{\"a\": 1}', call_id='c1', name='f', "
                    "type='function_call', id=None, status='completed')",
                }
            ],
        },
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ],
    "Ollama": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
        {"role": "tool", "tool_name": "f", "content": "ok"},
    ],
}


@pytest.mark.parametrize("provider", TOLD)
def test_every_provider_says_the_same(provider):
    asked, called, answered = messages_of(TOLD[provider])
    assert (asked.role, asked.text, called.role) == ("user", "hi", "assistant")
    ((request,), (result,)) = (called.requests, answered.results)
    assert (request.name, arguments_of(request.arguments)) == ("f", ({"a": 1}, None))
    assert result_of(result.content)[0] == "ok"
    assert request.id == result.id or None in (request.id, result.id)
    assert result.error in (None, False)


@pytest.mark.parametrize(
    "flag",
    [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "no"}], "status": "error"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "no", "status": "error"},
    ],
)
def test_a_flagged_error_is_read(flag):
    (message,) = messages_of([flag])
    assert message.results[0].error is True


@pytest.mark.parametrize("text", ["", "[", '{"role": "assis', "nul", "[1, 2", "{'a'"])
def test_what_was_cut_is_no_value(text):
    assert parse_json(text) is None


@pytest.mark.parametrize("cut", ['{"origin": "OSL", "dest', "[1,", "{'a': "])
def test_arguments_that_cannot_be_read_stay_text(cut):
    assert arguments_of(cut) == (None, cut)


@pytest.mark.parametrize(
    "raw",
    [{"a": 1}, '{"a": 1}', "{'a': 1}", {"args": [], "kwargs": {"a": 1}}, {"input_str": "{'a': 1}", "inputs": {"a": 1}}],
)
def test_arguments_in_any_wrapping_are_the_object(raw):
    assert arguments_of(raw)[0] == {"a": 1}


SERVED = {
    "OpenAI": [
        {"type": "mcp_call", "id": "c1", "name": "f", "arguments": '{"a": 1}', "output": "ok", "status": "completed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ],
    "Anthropic": {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
            {"type": "web_search_tool_result", "tool_use_id": "c1", "content": "ok"},
            {"type": "text", "text": "done"},
        ],
    },
    "pydantic-ai": [
        {
            "role": "assistant",
            "parts": [
                {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}, "builtin": True},
                {"type": "tool_call_response", "id": "c1", "name": "f", "result": "ok", "builtin": True},
                {"type": "text", "content": "done"},
            ],
        }
    ],
    "GenAI conventions": [
        {
            "role": "assistant",
            "parts": [
                {"type": "server_tool_call", "id": "c1", "name": "f", "server_tool_call": {"a": 1}},
                {"type": "server_tool_call_response", "id": "c1", "server_tool_call_response": "ok"},
                {"type": "text", "content": "done"},
            ],
        }
    ],
}


@pytest.mark.parametrize("spelling", SERVED)
def test_what_the_provider_ran_itself_has_its_result_beside_it(spelling):
    (request,) = [r for x in messages_of(SERVED[spelling], "assistant") for r in x.requests]
    assert (request.id, request.name, arguments_of(request.arguments)[0]) == ("c1", "f", {"a": 1})
    assert request.served is not None
    assert request.served.content == "ok"


def test_openais_own_tools_say_by_their_type_what_they_are():
    item = {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "x"}}
    (request,) = [r for x in messages_of([item], "assistant") for r in x.requests]
    assert (request.name, request.arguments, request.served and request.served.error) == (
        "web_search",
        {"query": "x"},
        False,
    )


def test_arguments_by_place_have_no_names():
    assert arguments_of('{"args": ["x"], "kwargs": {}}') == (None, '{"args": ["x"], "kwargs": {}}')
    assert arguments_of('{"args": [], "kwargs": {"a": 1}}') == ({"a": 1}, None)


@pytest.mark.parametrize("result", ["seen", "Thought: of the day\nBe kind.", "mood:\nThought: none\nend"])
@pytest.mark.parametrize("own", [True, False])
def test_a_result_of_react_may_hold_the_word_by_which_a_model_begins_to_think(result, own):
    asked = 'Thought: look\nAction: look\nAction Input: {"city": "Oslo"}'

    def said(role, text):
        return {"role": role, "parts": [{"type": "text", "content": text}]}

    scratchpad = [said("user", f"Go\n{asked}\nObservation: {result}\nThought: ")]
    history = [said("user", "Go"), said("assistant", asked), said("user", f"Observation: {result}")]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, asked, "Go", at=1),
        chat(3, 1, "Final Answer: done", history if own else scratchpad, at=3),
    )
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("look", result)]


def test_a_call_without_an_id_that_stands_in_the_content_too_is_one():
    """OpenInference for Anthropic 1.0 tells each call twice."""
    call = {"function": {"name": "f", "arguments": '{"a": 1}'}}
    contents = [{"message_content": {"type": "tool_use"}, "tool_call": call}]
    (answer,) = messages_of([{"role": "assistant", "contents": contents, "tool_calls": [call]}])
    assert [r.name for r in answer.requests] == ["f"]
    (answer,) = messages_of([{"role": "assistant", "tool_calls": [call, call]}])
    assert [r.name for r in answer.requests] == ["f", "f"]


@pytest.mark.parametrize(
    ("printed", "given"),
    [
        ("{'a': {1: 2, None: 'x', False: 3}}", {"a": {"1": 2, "null": "x", "false": 3}}),
        ("{'a': (1, [2])}", {"a": [1, [2]]}),
        (r"{'a': 'C:\dir'}", {"a": r"C:\dir"}),
        (r"{'a': '\ud83d\ude00, \ud83d'}", {"a": "\U0001f600, \ufffd"}),
        ("{'a': {1, 2}}", None),  # in an order of its own each time
        ("{'a': {(1, 2): 3}}", None),
        ("{'a': b'x'}", None),
        ("{'a': 1j}", None),
        ("{'a': ...}", None),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_python_prints_is_what_json_can_say_of_it_or_a_text(printed, given):
    assert arguments_of(printed) == (given, None if given else printed)
    told = {"gen_ai.tool.call.arguments": printed}
    (run,) = runs(agent(1, "a", took=9), tool(2, 1, "f", "c1", attributes=told), chat(3, 1, "done", at=3))
    assert [c["arguments"] for c in run["tool_calls"]] == [given]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r'["a\ud83d"]', ["a\ufffd"]),
        (r'["\ude00 \ud83d\ude00"]', ["\ufffd \U0001f600"]),
        (r'["\\ud83d", "\n", "\ud83d"]', [r"\ud83d", "\n", "\ufffd"]),
        (r'["\ud83d"', None),
        ('{"a": NaN, "b": [-Infinity, 1.5]}', {"a": None, "b": [None, 1.5]}),
        ("NaN of them", None),
    ],
)
def test_what_python_and_javascript_write_and_json_has_not_is_read(written, read):
    """JavaScript cuts within a pair of surrogates; what is no number is null, as JavaScript has it."""
    assert parse_json(written) == read


def test_a_result_that_holds_no_number_hides_nothing_else():
    result = {"type": "tool_call_response", "id": "c1", "response": {"price": float("nan")}}
    call = {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}
    history = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    history += [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [result]}]
    (run,) = runs(
        agent(1, "a", took=9), chat(2, 1, [("c1", "f", {"a": 1})], "go", at=1), chat(3, 1, "done", history, at=3)
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("f", "ok", {"price": None})]


def test_instructions_that_are_no_text_are_none():
    told = messages_of({"instructions": [{"type": 5}], "messages": [{"role": "user", "content": "hi"}]})
    assert [(m.role, m.text) for m in told] == [("system", None), ("user", "hi")]


@pytest.mark.parametrize("levels", [450, 980, 5_000])
def test_what_is_nested_beyond_what_programs_read_is_a_text(levels):
    nested = '{"a":' * levels + "1" + "}" * levels
    told = {"gen_ai.tool.call.arguments": nested, "gen_ai.tool.call.result": nested}
    (run,) = runs(agent(1, "a", took=9), tool(3, 1, "f", "c1", at=2, attributes=told), chat(4, 1, "done", at=5))
    assert [(c["arguments"], c["arguments_text"], c["result"]) for c in run["tool_calls"]] == [(None, nested, nested)]


def test_many_brackets_beside_each_other_are_not_deep():
    told = [{}] * 5_000
    assert arguments_of(json.dumps({"a": told})) == ({"a": told}, None)
    assert result_of(json.dumps(told)) == (told, None)


@pytest.mark.parametrize("key", ["0." * 2_000 + "content", "1" * 5_000 + ".message.content"])
def test_keys_of_any_length_are_read(key):
    told = {"openinference.span.kind": "LLM", f"llm.input_messages.{key}": "x", "output.value": "done"}
    (run,) = runs(agent(1, "a", took=9), span(2, 1, "m", at=1, attributes=told))
    assert run["output"] == "done"


@pytest.mark.parametrize("dialect", ["langgraph--openinference", "openai-loop--traceloop-sdk-0.40"])
def test_words_that_are_seen_at_the_beginning_are_among_those_that_are_read(dialect):
    sent = [request for scenario in captures.packed("corpus", dialect) for request in scenario.requests]
    calls = [call for parts in groups(*frames(sent), Config()) for part in parts for call in part.calls]
    seen = [call for call in calls if begins_with_words(call.layers)]
    assert len(seen) > len(calls) / 2
    assert all(any(message.text for message in call.inputs) for call in seen)


def test_what_a_workflow_ended_in_is_no_answer_of_a_models():
    answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Cold."}]}
    (found,) = messages_of({"state": "Completed", "result": answer}, "user")
    assert (found.role, found.text) == ("assistant", "Cold.")
    assert not any(x.role == "assistant" for x in messages_of({"state": "done", "result": {"text": "x"}}, "user"))


@pytest.mark.parametrize("told", ['["Rome"]', '["Rome", "Oslo"]', '{"answer": "Rome"}', "[1]"])
def test_an_answer_that_is_json_is_what_its_agent_put_out(told):
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner", "output.value": told}
    (run,) = runs(span(1, None, "planner", took=9, attributes=about), chat(2, 1, told, at=1))
    assert run["output"] == told
