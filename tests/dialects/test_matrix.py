"""What pairs of a kit and an instrumentation sent that no recorded corpus holds, in small."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, span, tool

_AGNOS = "opentelemetry.instrumentation.agno"


def _agno(id, kind, parent=None, **told):
    return span(id, parent, f"planner.{kind}", scope=_AGNOS, status=1, traceloop__span__kind=kind, **told)


def _planner(said, tokens, took=9.0):
    told = {"traceloop__entity__input": "go", "traceloop__entity__output": said, "gen_ai__agent__name": "planner"}
    return _agno(1, "agent", took=took, gen_ai__usage__output_tokens=tokens, **told)


_LOOKED = {"gen_ai__tool__name": "look", "traceloop__entity__input": '{"at": "x"}', "traceloop__entity__output": "cold"}


@pytest.mark.parametrize(
    ("said", "tokens", "tools", "status"),
    [
        ("scripted failure", 0, [], "unknown"),
        ("scripted failure", 16, [_agno(2, "tool", 1, at=2, **_LOOKED)], "unknown"),
        ("It is cold.", 16, [], "ok"),
    ],
)
def test_an_error_may_be_what_an_agent_of_agnos_put_out(said, tokens, tools, status):
    (run,) = agreed(_planner(said, tokens), *tools)
    assert (run["status"], run["output"]) == (status, said)
    assert [c["name"] for c in run["tool_calls"] or []] == ["look"] * len(tools)


_PART = "media_resolution=None function_call=None inline_data=None text={} thought=None video_metadata=None"


@pytest.mark.parametrize(("text", "seen", "met"), [("''", "", ["empty_input"]), ('"it\'s"', "it's", [])])
def test_a_part_that_python_printed_is_the_text_that_it_holds(text, seen, met):
    part = {"type": "text", "content": _PART.format(text)}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"}
    told = {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [part]}])}
    told["gen_ai.output.messages"] = json.dumps([answer])
    (run,) = agreed(chat(1, None, scope="opentelemetry.instrumentation.google_generativeai", attributes=told))
    assert (run["input"], run["boundaries"]) == (seen, met)


def _ollama(number, history, said=None, trace=None):
    """Traceloop's of Ollama's client leaves out what an answer asks for, and calls have no ids."""
    told = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "look", "gen_ai.completion.0.role": "assistant"}
    for at, (asked, brought) in enumerate(history):
        told[f"gen_ai.prompt.{2 * at + 1}.role"] = "assistant"
        told[f"gen_ai.prompt.{2 * at + 1}.tool_calls.0.name"] = "look"
        told[f"gen_ai.prompt.{2 * at + 1}.tool_calls.0.arguments"] = json.dumps({"at": asked})
        told |= {f"gen_ai.prompt.{2 * at + 2}.role": "tool", f"gen_ai.prompt.{2 * at + 2}.content": brought}
    told |= {"gen_ai.completion.0.content": said} if said else {}
    more = {"llm__request__type": "chat", "gen_ai__request__model": "m", "gen_ai__usage__output_tokens": 9}
    more |= {"gen_ai__usage__input_tokens": 9, "gen_ai__response__model": "m"}
    scope = "opentelemetry.instrumentation.ollama"
    return span(
        number,
        None,
        "ollama.chat",
        trace=trace or number,
        at=3 * number,
        scope=scope,
        status=1,
        attributes=told,
        **more,
    )


def test_an_answer_of_which_only_its_role_is_told_is_what_history_goes_on_with():
    one, two = ("x", "cold"), ("y", "warm")
    turns = [
        _ollama(1, []),
        _ollama(2, [one]),
        _ollama(3, [one, two], "done"),
        _ollama(4, []),
        _ollama(5, [one], "cold again"),
    ]
    found = agreed(*turns)
    assert [run["output"] for run in found] == ["done", "cold again"]
    assert [[(c["name"], c["arguments"], c["result"], c["turn"]) for c in run["tool_calls"]] for run in found] == [
        [("look", {"at": "x"}, "cold", 0), ("look", {"at": "y"}, "warm", 1)],
        [("look", {"at": "x"}, "cold", 0)],
    ]


def test_a_step_of_an_agents_that_failed_and_was_followed_by_another_is_no_end():
    lit = {"scope": "openlit.instrumentation.smolagents"}
    (run,) = agreed(
        agent(1, "planner", took=20, **lit),
        agent(2, "planner", 1, at=1, took=4, error="AgentToolExecutionError: no x", **lit),
        chat(3, 2, [("c1", "look", {"at": "x"})], at=1),
        tool(4, 2, "look", "c1", at=3, error="AgentToolExecutionError: no x", **lit),
        agent(5, "planner", 1, at=6, took=4, **lit),
        chat(6, 5, "none is there", at=6),
    )
    assert (run["status"], run["boundaries"]) == ("ok", ["tool_failure"])


def _streamed(id, parent, at, took, scope, **told):
    counts = {"llm__token_count__prompt": 10, "llm__token_count__completion": 2, "llm__model_name": "m"}
    more = {"openinference__span__kind": "LLM", "input__value": "go"} | counts | told
    return span(id, parent, "stream", at=at, took=took, scope=f"openinference.instrumentation.{scope}", **more)


@pytest.mark.parametrize(("after", "calls"), [(3.002, 1), (3.9, 2)])
def test_a_clients_span_that_follows_the_kits_own_of_a_stream_is_one_call(after, calls):
    kits = "openinference.instrumentation.llama_index"
    (run,) = agreed(
        span(1, None, "FunctionAgent.run", took=9, scope=kits, openinference__span__kind="CHAIN"),
        span(2, 1, "run_agent_step", at=1, took=7, scope=kits, openinference__span__kind="CHAIN"),
        span(3, 2, "OpenAI.astream_chat", at=2, took=1, scope=kits, openinference__span__kind="LLM", input__value="go"),
        _streamed(4, 3, 2.1, 0.9, "llama_index", output__value="assistant: done"),
        _streamed(5, 2, after, 1, "openai", output__value="done"),
    )
    assert len(run["llm_calls"]) == calls


@pytest.mark.parametrize(
    ("told", "status"),
    [
        (
            {
                "gen_ai__operation__name": "invoke_agent",
                "gen_ai__agent__name": "app",
                "gen_ai__execution__mode": "async",
            },
            1,
        ),
        ({"error__type": "ServerError"}, 2),
    ],
)
def test_a_runner_of_adks_under_openlit_is_no_agent(told, status):
    lit, own = {"scope": "openlit.instrumentation.google_adk"}, {"scope": "gcp.vertex.agent"}
    failed = {"error": "ServerError: 500"} if status == 2 else {}
    asked = {} if failed else {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "planner"}
    (run,) = agreed(
        span(1, None, "invoke_agent app", took=9, **lit, **told, **failed),
        span(2, 1, "invoke_workflow planner", took=9, **own, **failed, gen_ai__operation__name="invoke_workflow"),
        span(3, 2, "invoke_agent planner", took=8, **lit, **asked, **failed),
        agent(4, "planner", 3, took=8, **own, **failed),
        chat(5, 4, None if failed else "done", **own, **failed),
    )
    assert (run["agents"], run["delegations"]) == (["planner"], [])
    assert run["status"] == ("error" if failed else "ok")
