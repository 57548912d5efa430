"""Agent frameworks for Python with an OpenTelemetry of their own, run against a model of ours."""

import json

from tests.runs.requests import agent, chat, runs, span, tool

_KIT = "kit"


def _called(run):
    return [(c["name"], c["agent"], c["arguments"], c["result"], c["status"], c["call_id"]) for c in run["tool_calls"]]


def _asked(*words):
    """The history of a conversation: words of the user, and between them answers."""
    said = [
        {"role": role, "parts": [{"type": "text", "content": text}]}
        for role, text in zip(["user", "assistant"] * len(words), words, strict=False)
    ]
    return [{"role": "system", "parts": [{"type": "text", "content": "You help."}]}, *said]


def _of(id, parent, name, at, took, agent="support", **told):
    """A function of mcp-agent 0.2.6."""
    more = {key: told.pop(key) for key in ("kind", "error", "status", "events") if key in told}
    told = {"gen_ai.agent.name": agent} | {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, scope=_KIT, attributes=told, **more)


def _ran(id, parent, at, name, given, result, call, failed=False, kit="OpenAIAugmentedLLM"):
    """A tool of a server, by every layer of mcp-agent; for Anthropic's models nothing tells it above the second."""
    told = {"result.isError": "true" if failed else "false", "result.content.0.text": result}
    error = {"error": ""} if failed else {}
    top = {"gen_ai.tool.call.id": call, "gen_ai.tool.name": name, "tool_args": json.dumps(given)} | told
    second = {"gen_ai.tool.call.id": call, "request.params.name": name} | told
    first = _of(id, parent, f"{kit}.support.execute_tool_call", at, 1, **top, **error)
    spans = [first] if kit == "OpenAIAugmentedLLM" else []
    above = id if spans else parent
    client = {"mcp.method.name": "tools/call", "mcp.tool.name": name.removeprefix("kit_")} | told
    return [
        *spans,
        _of(id + 1, above, f"{kit}.support.call_tool", at + 0.1, 0.8, **second, **error),
        _of(id + 2, id + 1, "Agent.support.call_tool", at + 0.2, 0.6, **{"gen_ai.tool.name": name}, **told, **error),
        span(
            id + 3, id + 2, "MCPAgentClientSession.send_request", at=at + 0.3, took=0.4, kind=3, scope=_KIT,
            attributes=client,
        ),
    ]  # fmt: skip


def _wanted(*calls):
    return [(call, name, given) for call, name, given in calls]


def test_a_tool_of_mcp_agent_is_one_call_whatever_its_layers_call_it():
    asked = _wanted(("call_a1", "kit_lookup", {"id": "A1"}), ("call_b2", "kit_refund", {"id": "A1"}))
    for kit in ("OpenAIAugmentedLLM", "AnthropicAugmentedLLM"):
        (run,) = runs(
            _of(1, None, f"{kit}.support.generate_str", 0, 20, message__content="Where?", response="Shipped."),
            _of(2, 1, f"{kit}.support.generate", 0.1, 19, message__content="Where?"),
            chat(3, 2, asked, _asked("Where?"), at=1),
            *_ran(10, 2, 3, "kit_lookup", {"id": "A1"}, "shipped", "call_a1", kit=kit),
            *_ran(20, 2, 5, "kit_refund", {"id": "A1"}, "refunds are down", "call_b2", failed=True, kit=kit),
            chat(4, 2, "Shipped.", at=8),
        )
        assert [c[:3] + c[4:] for c in _called(run)] == [
            ("kit_lookup", "support", {"id": "A1"}, "ok", "call_a1"),
            ("kit_refund", "support", {"id": "A1"}, "error", "call_b2"),
        ]
        assert [c["result"] for c in run["tool_calls"]] == ["shipped", "refunds are down"]
        assert (run["agents"], run["input"], run["output"]) == (["support"], "Where?", "Shipped.")


def test_turns_of_a_conversation_are_runs_though_the_span_around_them_never_comes():
    def turn(id, at, said, answer, parent=99, agent="support"):
        return [
            _of(id, parent, f"OpenAIAugmentedLLM.{agent}.generate_str", at, 5, agent=agent, message__content=said[-1]),
            chat(id + 1, id, answer, _asked(*said), at=at + 1),
        ]

    first = turn(1, 0, ["Hello?"], "Yes?")
    told = runs(*first, *turn(3, 10, ["Hello?", "Yes?", "Where?"], "Shipped."))
    assert [(r["input"], r["output"], len(r["llm_calls"])) for r in told] == [
        ("Hello?", "Yes?", 1),
        ("Where?", "Shipped.", 1),
    ]
    assert len(runs(*first, *turn(3, 10, ["Another?"], "No."))) == 2
    assert len(runs(*first, *turn(3, 10, ["Hello?", "Yes?", "Where?"], "Shipped.", agent="clerk"))) == 1
    assert len(runs(*first, *turn(3, 3, ["Hello?", "Yes?", "Where?"], "Shipped."))) == 1


def test_a_workflow_of_mcp_agent_that_nobody_named_is_no_agent():
    name = "ParallelLLM-0f0e0d0c-1111-4222-8333-444455556666"
    (run,) = runs(
        _of(1, None, f"ParallelLLM.{name}.generate_str", 0, 20, agent=name, message__content="Do it", response="Done."),
        span(2, 1, "FanOut.generate", at=0.1, took=10, scope=_KIT),
        _of(3, 2, "OpenAIAugmentedLLM.finder.generate", 1, 3, agent="finder"),
        chat(4, 3, "Found.", _asked("Do it"), at=2),
        _of(5, 1, "OpenAIAugmentedLLM.merger.generate", 12, 3, agent="merger"),
        chat(6, 5, "Done.", _asked("Found."), at=13),
    )
    assert (run["agents"], run["output"]) == (["finder", "merger"], "Done.")


def test_an_agent_of_mcp_agent_that_lost_its_attributes_is_named_by_its_span():
    def agents(**lost):
        (run,) = runs(
            span(1, None, "app", at=0, took=20, scope=_KIT),
            span(2, 1, "OpenAIAugmentedLLM.support.generate", at=1, took=9, scope=_KIT, attributes=lost, dropped=6),
            chat(3, 2, "Shipped.", _asked("Where?"), at=2),
        )
        return run["agents"], [c["agent"] for c in run["llm_calls"]]

    assert agents() == (["support"], ["support"])
    assert agents(**{"gen_ai.usage.input_tokens": 100}) == (["support"], ["support"])


def test_an_agent_of_mcp_agent_whose_own_step_failed_gives_the_words_it_had():
    thrown = {"exception.type": "openai.InternalServerError", "exception.message": "server failed"}
    broke = {"error": "", "events": [("exception", thrown)]}

    def status(said, **failed):
        (run,) = runs(
            span(1, None, "app", at=0, took=20, scope=_KIT),
            _of(2, 1, "OpenAIAugmentedLLM.support.generate_str", 1, 9, message__content="Where?", response=said),
            _of(3, 2, "OpenAIAugmentedLLM.support.generate", 1.1, 8, message__content="Where?", **failed),
            _of(4, 1, "Agent.support.shutdown", 12, 1),
        )
        return run["status"]

    assert status("", **broke) == status("Let me see.", **broke) == "unknown"
    assert status("Shipped.") == "ok"


def test_an_agent_of_mcp_agent_says_why_the_last_of_its_answers_ended():
    """The span of its last model call has not come: no limit stopped it."""

    def boundaries(*reasons):
        told = {"gen_ai.response.finish_reasons": list(reasons)}
        (run,) = runs(
            _of(1, None, "OpenAIAugmentedLLM.support.generate", 0, 9, message__content="Where?", **told),
            chat(2, 1, _wanted(("call_a1", "lookup", {"id": "A1"})), _asked("Where?"), at=1, took=2),
            _of(3, 1, "OpenAIAugmentedLLM.support.execute_tool_call", 3, 1, **_tool("call_a1", "A1")),
            chat(4, 1, _wanted(("call_b2", "lookup", {"id": "B2"})), at=4, took=2),
            _of(5, 1, "OpenAIAugmentedLLM.support.execute_tool_call", 6, 1, **_tool("call_b2", "B2")),
        )
        return run["boundaries"]

    assert boundaries("tool_calls", "tool_calls", "stop") == []
    assert boundaries("tool_calls", "tool_calls") == ["max_steps"]


def _tool(call, id):
    told = {"gen_ai.tool.call.id": call, "gen_ai.tool.name": "lookup", "result.content.0.text": "shipped"}
    return told | {"tool_args": json.dumps({"id": id}), "result.isError": "false"}


def _fast(id, parent, name, at, took, part="agents.llm_decorator", **told):
    """A function of fast-agent 0.10.48."""
    return span(id, parent, name, at=at, took=took, scope=f"fast_agent.{part}", attributes=told)


def test_fast_agent_names_its_agents_by_spans_and_numbers_their_copies():
    asked = _wanted(("call_a1", "agent__finder", {"message": "find"}), ("call_b2", "agent__clerk", {"message": "note"}))
    (run,) = runs(
        _fast(1, None, "shop", 0, 30, "core.run_lifecycle"),
        _fast(2, 1, "Agent: 'boss' generate", 1, 20),
        chat(3, 2, asked, _asked("Do it"), at=2),
        _fast(4, 2, "Agent: 'clerk[2]' generate", 4, 2),
        chat(5, 4, "Noted.", _asked("note"), at=4.5),
        _fast(6, 2, "Agent: 'finder[1]' generate", 4.1, 2),
        chat(7, 6, "Found.", _asked("find"), at=4.6),
        chat(8, 2, "Done.", at=10),
    )
    assert run["agents"] == ["boss", "clerk", "finder"]
    assert run["tool_calls"] == []
    assert sorted((d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]) == [
        ("boss", "clerk", "tool", "agent__clerk"),
        ("boss", "finder", "tool", "agent__finder"),
    ]


def test_an_agent_that_nobody_heard_of_since_its_tools_may_have_met_an_error():
    """The span of the model's call that failed is lost, and an agent of fast-agent ends well whatever that came to."""
    (run,) = runs(
        _fast(1, None, "Agent: 'support' generate", 0, 20),
        chat(2, 1, _wanted(("call_a1", "lookup", {"id": "A1"})), _asked("Where?"), at=1),
    )
    assert (run["status"], run["boundaries"]) == ("unknown", [])
    assert {"error", "timeout", "rate_limit"} <= set(run["boundaries_unknown"])


def test_an_agent_whose_delegate_spoke_while_a_tool_went_on_was_left_at_that_tool():
    """Who cancels a run of fast-agent leaves no error on its spans."""

    def told(*later):
        asks = _wanted(("call_a1", "agent__clerk", {"message": "note"}), ("call_b2", "lookup", {"id": "B2"}))
        tool = {"tool_name": "lookup", "server_name": "box", "namespaced_tool_name": "lookup"}
        sent = {"mcp.method.name": "tools/call"}
        (run,) = runs(
            _fast(1, None, "Agent: 'boss' generate", 0, 30),
            chat(2, 1, asks, _asked("Do it"), at=1),
            _fast(3, 1, "Agent: 'clerk[1]' generate", 3, 2),
            chat(4, 3, "Noted.", _asked("note"), at=3.5),
            _fast(5, 1, "MCP Tool: lookup", 6, 23.5, "mcp.mcp_aggregator", **tool),
            span(6, 5, "MCP send tools/call lookup", at=7, took=22, scope="mcp-python-sdk", attributes=sent),
            *later,
        )
        return run["status"], run["output"], "error" in run["boundaries_unknown"]

    assert told() == ("unknown", None, True)
    assert told(chat(7, 1, "Done.", at=29.6, took=0.2)) == ("ok", "Done.", False)


def test_a_servers_tool_keeps_the_name_by_which_a_model_asked_for_it():
    asked = _wanted(("call_a1", "kit__lookup", {"id": "A1"}))
    named = {"tool_name": "lookup", "server_name": "kit", "namespaced_tool_name": "kit__lookup"}
    client = {"mcp.method.name": "tools/call"}

    def told(*ran):
        (run,) = runs(
            _fast(1, None, "Agent: 'support' generate", 0, 20),
            chat(2, 1, asked, _asked("Where?"), at=1),
            *ran,
            chat(5, 1, "Shipped.", at=8),
        )
        return [(c["name"], c["call_id"]) for c in run["tool_calls"]]

    wrapper = _fast(3, 1, "MCP Tool: kit__lookup", 3, 2, "mcp.mcp_aggregator", **named)
    sdk = {"kind": 3, "at": 3.5, "took": 1, "scope": "mcp-python-sdk", "attributes": client}
    assert told(wrapper, span(4, 3, "MCP send tools/call lookup", **sdk)) == [("kit__lookup", "call_a1")]
    assert told(span(4, 1, "MCP send tools/call lookup", **sdk)) == [("kit__lookup", "call_a1")]


def test_a_client_of_mcp_ends_well_whatever_the_tool_came_to():
    """mcp 2.3: only the server's span would tell."""
    named = {"tool_name": "lookup", "server_name": "kit", "namespaced_tool_name": "kit__lookup"}
    method = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup"}

    def status(*server):
        (run,) = runs(
            _fast(1, None, "Agent: 'support' generate", 0, 20),
            chat(2, 1, at=1),
            _fast(3, 1, "MCP Tool: kit__lookup", 3, 2, "mcp.mcp_aggregator", **named),
            span(
                4, 3, "MCP send tools/call lookup", at=3.1, took=1, kind=3, scope="mcp-python-sdk",
                attributes={"mcp.method.name": "tools/call"},
            ),
            *server,
            chat(6, 1, at=8),
        )  # fmt: skip
        return [(c["name"], c["status"]) for c in run["tool_calls"]]

    served = {"at": 3.2, "took": 0.5, "kind": 2, "scope": "mcp-python-sdk", "attributes": method}
    assert status() == [("kit__lookup", "unknown")]
    assert status(span(5, 4, "tools/call lookup", **served)) == [("kit__lookup", "ok")]
    assert status(span(5, 4, "tools/call lookup", error="no such order", **served)) == [("kit__lookup", "error")]


def test_calls_that_an_answer_lists_at_its_end_were_asked_for():
    """NVIDIA's NeMo Agent Toolkit 1.9, which loses spans."""
    calls = [{"name": "lookup", "args": {"id": "A1"}, "id": "call_a1", "type": "tool_call"}]
    model = {"openinference.span.kind": "LLM", "llm.model_name": "m", "output.value": f"\n\nTool calls: {calls}"}
    holder = {"openinference.span.kind": "CHAIN", "input.value": "Where?", "output.value": "Shipped."}
    (run,) = runs(
        span(1, None, "<workflow>", took=20, scope="nat", attributes=holder),
        span(2, 1, "m", at=1, scope="nat", attributes=model),
    )
    assert _called(run) == [("lookup", None, {"id": "A1"}, None, "unknown", "call_a1")]
    assert (run["input"], run["output"]) == ("Where?", "Shipped.")


def _lmnr(id, parent, name, kind, at, took, **told):
    """A span of OpenHands' SDK 1.58, which Laminar writes."""
    more = {key: told.pop(key) for key in ("error",) if key in told}
    told = {"lmnr.span.type": kind, **{key.replace("__", "."): value for key, value in told.items()}}
    return span(id, parent, name, at=at, took=took, scope="lmnr.tracer", attributes=told, **more)


def _completed(id, parent, at, said, asked=(), text=None):
    """A model call in two layers, the outer of which tells nothing."""
    calls = [
        {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(given)}} for i, n, given in asked
    ]
    told = {"gen_ai.input.messages": said, "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10}
    told["gen_ai.output.messages"] = [{"role": "assistant", "content": text, "tool_calls": calls}]
    return [
        _lmnr(id, parent, "llm.openai/m", "LLM", at, 1),
        _lmnr(id + 1, id, "litellm.completion", "LLM", at + 0.1, 0.8, **told),
    ]


def _action(id, parent, at, name, call, result=None, **more):
    given = {"lmnr.span.input": {"action": {"kind": name}}, "lmnr.association.properties.metadata.tool_call_id": call}
    told = {} if result is None else {"lmnr.span.output": json.dumps(result, separators=(",", ":"))}
    return _lmnr(id, parent, name, "TOOL", at, 0.5, **given, **told, **more)


def _history(*said):
    """Messages in OpenAI's form: words of the user, requests for tools as tuples, results as pairs."""
    out = [{"role": "system", "content": [{"type": "text", "text": "You help."}]}]
    for x in said:
        if isinstance(x, str):
            out.append({"role": "user", "content": [{"type": "text", "text": x}]})
        elif len(x) == 3:
            function = {"name": x[1], "arguments": json.dumps(x[2])}
            out.append({"role": "assistant", "content": None, "tool_calls": [{"id": x[0], "function": function}]})
        else:
            out.append({"role": "tool", "tool_call_id": x[0], "content": [{"type": "text", "text": x[1]}]})
    return out


def test_openhands_names_tools_by_what_they_are_given_and_its_conversation_is_a_trace():
    look, finish = ("call_a1", "look_up", {"id": "A1"}), ("call_b2", "finish", {"message": "Shipped."})
    again = ("call_c3", "look_up", {"id": "B2"})
    bare = {"content": [], "is_error": False, "res": "shipped", "kind": "LookUpObservation"}
    said = {"content": [{"type": "text", "text": "Shipped."}], "is_error": False, "kind": "FinishObservation"}
    first = ["Where?", look, ("call_a1", "shipped"), finish, ("call_b2", "Shipped.")]
    told = runs(
        _lmnr(1, None, "conversation", "DEFAULT", 0, 60),
        _lmnr(2, 1, "conversation.run", "DEFAULT", 1, 20),
        *_completed(3, 2, 2, _history("Where?"), [look]),
        _action(5, 2, 4, "LookUpAction", "call_a1", bare),
        *_completed(6, 2, 6, _history(*first[:3]), [finish]),
        _action(8, 2, 8, "FinishAction", "call_b2", said),
        _lmnr(9, 1, "conversation.run", "DEFAULT", 30, 20),
        *_completed(10, 9, 31, _history(*first, "And B2?"), [again]),
        _action(12, 9, 33, "LookUpAction", "call_c3", bare),
    )
    assert [r["input"] for r in told] == ["Where?", "And B2?"]
    assert [_called(r) for r in told] == [
        [
            ("look_up", None, {"id": "A1"}, "shipped", "ok", "call_a1"),
            ("finish", None, {"message": "Shipped."}, "Shipped.", "ok", "call_b2"),
        ],
        [("look_up", None, {"id": "B2"}, None, "ok", "call_c3")],
    ]
    assert [len(r["llm_calls"]) for r in told] == [2, 1]


def test_agentscope_2_frames_a_result_with_how_the_call_went():
    def ran(id, at, name, call, said, state):
        frame = {"content": [{"type": "text", "text": said}], "state": state, "metadata": {}, "id": call}
        return tool(id, 1, name, call, json.dumps(frame), at=at, status=1, scope="agentscope")

    asked = _wanted(("call_a1", "look_up", {"id": "A1"}), ("call_b2", "refund", {"id": "A1"}))
    (run,) = runs(
        agent(1, "support", took=20),
        chat(2, 1, asked, _asked("Where?"), at=1),
        ran(3, 3, "look_up", "call_a1", "shipped", "success"),
        ran(4, 3, "refund", "call_b2", "no refunds today", "error"),
        chat(5, 1, "Shipped.", at=8),
    )
    assert [(c["name"], c["result"], c["status"], c["call_id"]) for c in run["tool_calls"]] == [
        ("look_up", "shipped", "ok", "call_a1"),
        ("refund", "no refunds today", "error", "call_b2"),
    ]
