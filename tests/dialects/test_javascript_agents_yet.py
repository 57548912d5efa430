"""Agents of kits for JavaScript that were run against a model of ours: LlamaIndex, BeeAI and others."""

import json

import pytest

from tests.runs.requests import chat, runs, span

pytestmark = pytest.mark.full

_BEE = "@arizeai/openinference-instrumentation-beeai"


@pytest.mark.parametrize("key", ["toAgent", "to_agent"])
def test_a_hand_off_of_llama_index_for_javascript_names_the_agent_by_its_argument(key):
    """LlamaIndex's workflow 1.1.24, of which instrumentations of OpenAI's client alone tell."""
    call = ("call_WowHVEqtj", "handOff", {key: "worker", "reason": "weather"})
    user = {"role": "user", "parts": [{"type": "text", "content": "weather?"}]}
    asked = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": call[0], "name": call[1], "arguments": call[2]}],
    }
    told = [{"type": "tool_call_response", "id": call[0], "response": "Agent worker is now handling the request"}]
    there = {"role": "system", "parts": [{"type": "text", "content": "You work."}]}
    (run,) = runs(
        chat(1, None, [call], [user]),
        chat(1, None, "Sunny.", [there, user, asked, {"role": "tool", "parts": told}], trace=2, at=2),
    )
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [("worker", "handOff", "ok")]
    assert (run["tool_calls"], run["agents"], run["output"]) == ([], ["worker"], "Sunny.")


def _bee(id, parent, target, kind, at, **told):
    """An event of BeeAI for JavaScript 0.1.13 under OpenInference 1.5, whose content is hidden."""
    told = {"target": target, "name": target.rsplit(".", 1)[-1], "openinference.span.kind": kind} | told
    return span(id, parent, f"{target}-1", at=at, took=0.001, scope=_BEE, attributes=told, status=1)


def _bee_tool(id, at, name, given):
    hidden = {"tool.parameters": json.dumps(given), "output.value": "__REDACTED__"}
    return [
        _bee(id, 2, f"tool.dynamic.{name}.start", "TOOL", at, **{"tool.parameters": json.dumps(given)}),
        _bee(id + 1, 2, f"tool.dynamic.{name}.success", "TOOL", at + 0.1, **hidden),
        _bee(id + 2, 2, f"tool.dynamic.{name}.finish", "TOOL", at + 0.2),
    ]


def test_the_hidden_answer_that_an_agent_of_beeai_hands_in_is_no_tool_that_ran():
    main = {"openinference.span.kind": "AGENT", "beeai.version": "0.1.13", "output.value": "__REDACTED__"}
    usage = {"llm.token_count.prompt": 9, "llm.model_name": "m", "output.value": "__REDACTED__"}
    (run,) = runs(
        span(1, None, "beeai-framework-main", took=9, scope=_BEE, status=1, attributes=main),
        _bee(2, 1, "agent.toolCalling.start", "AGENT", 0.1),
        _bee(3, 2, "backend.openai.chat.success", "LLM", 1, **usage),
        *_bee_tool(4, 2, "getWeather", {"city": "Paris"}),
        _bee(7, 2, "backend.openai.chat.success", "LLM", 3, **usage),
        *_bee_tool(8, 4, "finalAnswer", {"response": "It is 21."}),
    )
    assert [(c["arguments"], c["status"]) for c in run["tool_calls"]] == [({"city": "Paris"}, "ok")]


_ADD, _MUL = ("call_wwh8d495", "add", {"a": 1}), ("call_b2XyPq7", "mul", {"b": 1})
_SUM = {"role": "user", "content": "sum?"}


def _asks(*calls):
    told = [{"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in calls]
    return {"role": "assistant", "content": None, "tool_calls": told}


def _xsai(said, answer, why=None, trace=1, **more):
    """A step of xsai's under its own telemetry (0.5, by its source), which ends once its tools have run."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m"}
    told |= {"gen_ai.response.id": f"e1476dd3-b5b9-43fc-b49c-12111250ab{trace}", "gen_ai.input.messages": said}
    told |= {"gen_ai.output.messages": [answer]}
    if why is not None:
        told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
        told |= {"gen_ai.response.finish_reasons": [why]}
    return span(1, None, "chat m", trace=trace, attributes=told, **more)


def _xsai_tool(id, call, result=None, thrown=None):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": call[0], "gen_ai.tool.call.name": call[1]}
    told |= {"gen_ai.tool.call.arguments": call[2]}
    told |= {"error.type": "Error"} if thrown is not None else {"gen_ai.tool.call.result": json.dumps(result)}
    return span(id, 1, f"execute_tool {call[1]}", at=1, attributes=told, error=thrown)


def test_a_model_that_holds_the_tools_it_asked_for_goes_on_in_another_trace():
    answer, back = _asks(_ADD), {"role": "tool", "content": "3", "tool_call_id": _ADD[0]}
    (run,) = runs(
        _xsai([_SUM], answer, "tool_calls", took=3),
        _xsai_tool(2, _ADD, 3),
        _xsai([_SUM, answer, back], {"role": "assistant", "content": "It is 3."}, "stop", trace=2, at=4),
    )
    assert (run["input"], run["output"], run["status"], len(run["llm_calls"])) == ("sum?", "It is 3.", "ok", 2)
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("add", "ok", 0)]


def test_a_model_that_answered_did_not_fail_with_the_tool_that_it_holds():
    (run,) = runs(
        _xsai([_SUM], _asks(_ADD, _MUL), took=3, error="kaput"),
        _xsai_tool(2, _ADD, 3),
        _xsai_tool(3, _MUL, thrown="kaput"),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["ok"]
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("add", "ok", 0), ("mul", "error", 0)]
    assert run["status"] == "error"


_KAPUT = json.dumps({"content": [{"type": "text", "text": "kaput 2"}], "isError": True}, separators=(",", ":"))


@pytest.mark.parametrize("spans", [True, False])
@pytest.mark.parametrize("failed", [True, False])
def test_a_result_of_mcp_that_says_it_failed_did_so_whatever_langchain_says_of_it(failed, spans):
    """mcp-use 1.34 gives LangChain for JavaScript the whole of what a server answered, as a text."""
    said = _KAPUT if failed else _KAPUT.replace(',"isError":true', "")
    kwargs = {"status": "success", "content": said, "tool_call_id": "call_Qp2WSZ6y", "name": "broken"}
    put = {"output": {"lc": 1, "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": kwargs}}
    told = {"openinference.span.kind": "TOOL", "tool.name": "broken", "input.value": {"x": 2}, "output.value": put}
    call = ("call_Qp2WSZ6y", "broken", {"x": 2})
    asks = {"role": "assistant", "content": "", "tool_calls": [{"id": call[0], "name": call[1], "args": call[2]}]}
    history = [{"role": "user", "content": "raise"}, asks, kwargs | {"role": "tool"}]
    ran = [span(3, 1, "broken", at=3, status=1, attributes=told)] if spans else []
    (run,) = runs(
        span(1, None, "mcp-use-agent", took=9, attributes={"openinference.span.kind": "CHAIN"}),
        chat(2, 1, [call], "raise", at=1),
        *ran,
        chat(4, 1, "It failed.", history, at=5),
    )
    ended = "error" if failed else "ok"
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("broken", ended, "kaput 2")]
    assert ("tool_failure" in run["boundaries"]) is failed


@pytest.mark.parametrize("failed", [True, False])
def test_what_mcp_use_tells_its_model_of_what_was_thrown_is_an_error_whatever_langchain_says_of_it(failed):
    """mcp-use 1.7 for Python, under OpenInference 0.1.80."""
    stack = (
        'Traceback (most recent call last):\n  File "langchain_adapter.py", line 192, in _arun\nRuntimeError: kaput 2'
    )
    said = {"error": "RuntimeError", "details": "kaput 2", "code": "UNKNOWN", "tool": "broken"}
    text = json.dumps(said | {"stack": stack if failed else "numpy, scipy"})
    message = {"content": text, "name": "broken", "tool_call_id": "call_uQD5jxnD", "status": "success", "type": "tool"}
    told = {"openinference.span.kind": "TOOL", "tool.name": "broken", "input.value": {"x": 2}}
    told["output.value"] = {"type": "tool", "data": message}
    (run,) = runs(
        span(1, None, "mcp-use-agent", took=9, attributes={"openinference.span.kind": "CHAIN"}),
        chat(2, 1, [("call_uQD5jxnD", "broken", {"x": 2})], "raise", at=1),
        span(3, 1, "broken", at=3, status=1, attributes=told),
        chat(4, 1, "It failed.", at=5),
    )
    (call,) = run["tool_calls"]
    assert (call["status"], call["result"]) == ("error" if failed else "ok", text)
