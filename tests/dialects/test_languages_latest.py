"""Kits of Java, .NET, Go, Rust and Elixir, by spans written as the newest of their published sources write them."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

pytestmark = pytest.mark.full


def _user(text):
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def _says(text):
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def _asks(*calls):
    parts = [{"type": "tool_call", "id": id, "name": name, "arguments": given} for id, name, given in calls]
    return {"role": "assistant", "parts": parts}


def _back(*came):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": told} for id, told in came]}


_MICROSOFT = "Experimental.Microsoft.Extensions.AI"


def _net_chat(id, parent, at, asked, answer, **more):
    """dotnet/extensions (Microsoft.Extensions.AI: ChatCompletion/OpenTelemetryChatClient.cs)."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "openai"}
    told |= {"gen_ai.response.model": "gpt-4o-2024-08-06", "gen_ai.response.id": f"chatcmpl-8Xk{id}"}
    told |= {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
    told |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps([answer])}
    return span(id, parent, "chat gpt-4o", at=at, kind=3, scope=_MICROSOFT, attributes=told, **more)


def _net_tool(id, parent, at, name, call, given, result, error=None, **more):
    """dotnet/extensions (Microsoft.Extensions.AI: Common/FunctionInvocationProcessor.cs)."""
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", "gen_ai.tool.call.id": call}
    told |= {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": json.dumps(given)}
    told |= {"gen_ai.tool.call.result": json.dumps(result)}
    told |= {"error.type": "System.InvalidOperationException"} if error else {}
    return span(id, parent, f"execute_tool {name}", at=at, scope=_MICROSOFT, attributes=told, error=error, **more)


def test_what_a_tool_gave_that_threw_is_what_the_model_was_told():
    """dotnet/extensions (Microsoft.Extensions.AI: ChatCompletion/FunctionInvokingChatClient.cs): null, by its span."""
    calls = [("call_1xK", "weather", {"city": "Oslo"}), ("call_2xK", "lookup", {"id": 1}), ("call_3xK", "nope", {})]
    nobody = 'Error: Requested function "nope" not found.'
    back = _back(("call_1xK", "12"), ("call_2xK", "Error: Function failed."), ("call_3xK", nobody))
    used = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 4}
    (run,) = agreed(
        span(1, None, "orchestrate_tools", took=20, scope=_MICROSOFT, attributes=used),
        _net_chat(2, 1, 1, [_user("go")], _asks(*calls)),
        _net_tool(3, 1, 3, "weather", "call_1xK", {"city": "Oslo"}, "12"),
        _net_tool(4, 1, 5, "lookup", "call_2xK", {"id": 1}, None, error="no such order"),
        _net_chat(5, 1, 7, [_user("go"), _asks(*calls), back], _says("It is 12.")),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("weather", "ok", "12"),
        ("lookup", "error", "Error: Function failed."),
        ("nope", "requested", nobody),
    ]
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("go", "It is 12.", 2)


def test_a_loop_of_nets_says_of_a_call_that_leave_is_asked_for_it():
    """microsoft/agent-framework (dotnet: Microsoft.Agents.AI/OpenTelemetryAgent.cs) about dotnet/extensions
    (FunctionInvokingChatClient.cs): a program names the scope as it likes."""
    content = {"toolCall": {"name": "weather", "arguments": {}, "callId": "call_1xK"}, "requestId": "call_1xK"}
    asks = {"type": "Microsoft.Extensions.AI.ToolApprovalRequestContent", "content": content}
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    told |= {"gen_ai.input.messages": json.dumps([_user("go")]), "gen_ai.response.finish_reasons": '["tool_calls"]'}
    told |= {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [asks]}])}
    (run,) = agreed(
        span(1, None, "invoke_agent planner(5a1f0c33e2b14b51a1f4b1b0a5cbe912)", took=9, kind=3, attributes=told),
        _net_chat(2, 1, 1, [_user("go")], _asks(("call_1xK", "weather", {}))),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("weather", "requested")]


@pytest.mark.parametrize(
    "words", ["Error: Tool call invocation was rejected by user.", "Tool call invocation rejected."]
)
def test_a_tool_for_which_a_loop_of_nets_was_refused_leave_did_not_fail(words):
    """dotnet/extensions (Microsoft.Extensions.AI: ChatCompletion/FunctionInvokingChatClient.cs), both turns in one
    trace."""
    asks = _asks(("call_1xK", "weather", {}))
    (run,) = agreed(
        span(1, None, "session", took=30, scope="app"),
        span(2, 1, "orchestrate_tools", took=4, scope=_MICROSOFT),
        _net_chat(3, 2, 1, [_user("go")], asks),
        span(4, 1, "orchestrate_tools", at=10, took=9, scope=_MICROSOFT),
        _net_chat(5, 4, 12, [_user("go"), asks, _back(("call_1xK", words))], _says("Then not.")),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("weather", "requested")]
    assert run["boundaries"] == []


@pytest.mark.parametrize(
    ("result", "error", "status"),
    [
        ('"sunny"', None, "ok"),
        ('{"degrees":12}', None, "ok"),
        ("21.5", None, "ok"),
        ("404 Not Found", None, "unknown"),
        ("Error calling tool: [TextContent[text=no such order]]", None, "error"),
        ("Exception occurred in tool: weather (IllegalStateException)", None, "error"),
        (None, None, "unknown"),
        (None, "timeout", "error"),
    ],
)
def test_what_a_tool_of_spring_ais_threw_comes_back_as_a_text_on_a_span_that_ends_well(result, error, status):
    """spring-projects/spring-ai (DefaultToolCallingManager.java, DefaultToolExecutionExceptionProcessor.java,
    DefaultToolCallResultConverter.java): content is told on demand."""
    scope = "org.springframework.boot"
    told = {"gen_ai.operation.name": "framework", "gen_ai.system": "spring_ai", "spring.ai.kind": "tool_call"}
    told |= {"spring.ai.tool.definition.name": "weather"}
    told |= {"spring.ai.tool.call.arguments": "{}", "spring.ai.tool.call.result": result} if result else {}
    used = {"gen_ai.usage.input_tokens": "9", "gen_ai.usage.output_tokens": "2", "gen_ai.request.model": "m"}
    used |= {"gen_ai.operation.name": "chat", "gen_ai.response.model": "m-1", "gen_ai.system": "openai"}
    (run,) = agreed(
        span(1, None, "spring_ai chat_client", took=20, scope=scope, attributes={"spring.ai.kind": "chat_client"}),
        span(2, 1, "chat m", at=1, scope=scope, attributes=used | {"gen_ai.response.finish_reasons": '["TOOL_CALLS"]'}),
        span(3, 1, "tool_call weather", at=3, scope=scope, attributes=told, error=error),
        span(4, 1, "chat m", at=5, scope=scope, attributes=used | {"gen_ai.response.finish_reasons": '["STOP"]'}),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("weather", status)]


@pytest.mark.parametrize(
    ("result", "status"), [("no such order", "unknown"), ('{"degrees":12}', "ok"), ("Success", "ok"), (None, "unknown")]
)
def test_what_a_tool_of_langchain4js_threw_comes_back_as_a_text_on_a_span_that_ends_well(result, status):
    """Arize-ai/openinference (java: LangChain4jToolExecutedEventListener.java) of langchain4j (ToolService.java)."""

    def step(id, parent, name, kind, at=0, took=1, **told):
        told = {key.replace("__", "."): value for key, value in told.items() if value is not None}
        told |= {"openinference.span.kind": kind}
        scope = "com.arize.instrumentation.langchain4j"
        return span(id, parent, name, at=at, took=took, kind=3, scope=scope, status=1, attributes=told)

    def model(id, at, **told):
        used = {"llm__model_name": "m", "llm__token_count__prompt": 9, "llm__token_count__completion": 2}
        return step(id, 1, "LLM", "LLM", at, **used | told)

    (run,) = agreed(
        step(1, None, "AiService.start", "AGENT", took=20, input__value="Execution Started"),
        model(2, 1, llm__finish_reason="TOOL_EXECUTION"),
        step(3, 1, "AiService.tool", "TOOL", 3, 0, tool__name="look", tool_call__id="call_1xK", output__value=result),
        model(4, 5, llm__finish_reason="STOP"),
    )
    assert [(c["name"], c["status"], c["result"] is None) for c in run["tool_calls"]] == [
        ("look", status, result is None)
    ]


@pytest.mark.parametrize(
    ("thrown", "told", "status"), [(None, False, "unknown"), (None, True, "ok"), ("no", True, "error")]
)
def test_quarkus_tells_what_a_tool_threw_since_it_tells_of_tools_by_the_conventions(thrown, told, status):
    """quarkiverse/quarkus-langchain4j (ToolSpanWrapper.java, QuarkusToolExecutor.java): without a status."""
    scope, raised = "io.quarkus.opentelemetry", {"exception.type": "java.io.IOException", "exception.message": thrown}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_1xK"}
    model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": "chatcmpl-8xK"}
    (run,) = agreed(
        span(1, None, "langchain4j.aiservices.Assistant.chat", took=9, scope=scope),
        span(2, 1, "completion m", at=1, scope=scope, attributes=model),
        span(3, 1, "langchain4j.tools.look", at=3, scope=scope, attributes=tool if told else {})
        | {"events": [("exception", raised)] if thrown else []},
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]


def test_what_is_put_in_place_of_a_result_may_say_by_its_type_that_nobody_has_the_tool():
    """llmrb/llm.rb (lib/llm/function.rb): no span, and an object for the model."""
    calls = [("call_1xK", "look", {}), ("call_2xK", "nope", {})]
    nobody = {"error": True, "type": "LLM::NoSuchToolError", "message": "tool not found"}
    said = [_user("go"), _asks(*calls), _back(("call_1xK", "12"), ("call_2xK", json.dumps(nobody)))]
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_1xK"}

    def model(id, at, asked, answer):
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
        told |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps([answer])}
        return span(id, 1, "chat m", at=at, kind=3, scope="llm.rb", attributes=told)

    (run,) = agreed(
        span(1, None, "app", took=9, scope="app"),
        model(2, 1, said[:1], said[1]),
        span(
            3, 1, "execute_tool look", at=3, kind=3, scope="llm.rb", attributes=tool | {"gen_ai.tool.call.result": "12"}
        ),
        model(4, 5, said, _says("It is 12.")),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok"), ("nope", "requested")]
    assert run["boundaries"] == []


_EINO = {
    "tls": "github.com/cloudwego/eino-ext/callbacks/tls",
    "apmplus": "github.com/cloudwego/eino-ext/callbacks/apmplus",
}


def _eino_step(by, id, parent, component, name, at, took=1, **told):
    """cloudwego/eino-ext (callbacks/tls/tls_handler.go, callbacks/apmplus/apmplus.go)."""
    told |= {"runinfo.component": component, "runinfo.name": name, "gen_ai.system": "eino"}
    if by == "tls":
        operation = {"ChatModel": "chat", "Tool": "execute_tool"}.get(component, "invoke" if parent else "invoke_agent")
        kind = {"ChatModel": "LLM", "Tool": "TOOL"}.get(component, "TASK" if parent else "CHAIN")
        told |= {"gen_ai.operation.name": operation, "gen_ai.span.kind": kind, "agent.name": name}
        told |= {"gen_ai.tool.name": name, "gen_ai.tool_call.id": f"call_{name}8K"} if component == "Tool" else {}
        name = {"ChatModel": "llm.request", "Tool": "tool.call"}.get(component, name if parent else "agent.turn")
    else:
        told |= {"gen_ai.span.kind": component.lower() if parent else "workflow"}
    return span(id, parent, name, at=at, took=took, kind=3, scope=_EINO[by], attributes=told)


@pytest.mark.parametrize("by", _EINO)
def test_an_agent_of_einos_kit_may_stand_below_another_and_none_of_its_parts_is_one(by):
    model = {"gen_ai.request.model": "gpt-4o", "gen_ai.response.model": "gpt-4o"}
    model |= {"gen_ai.usage.prompt_tokens": 20, "gen_ai.usage.completion_tokens": 5}
    (run,) = agreed(
        _eino_step(by, 1, None, "Agent", "planner", 0, 30),
        _eino_step(by, 2, 1, "ChatModel", "ChatModel", 1, **model),
        _eino_step(by, 3, 1, "Tool", "worker", 3, 9),
        _eino_step(by, 4, 3, "Agent", "worker", 4, 7),
        _eino_step(by, 5, 4, "ChatModel", "ChatModel", 5, **model),
        _eino_step(by, 6, 1, "ChatModel", "ChatModel", 15, **model),
    )
    assert (run["agents"], run["tool_calls"]) == (["planner", "worker"], [])
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "worker", "worker")]
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker", "planner"]
    assert {(c["request_model"], c["response_model"]) for c in run["llm_calls"]} == {("gpt-4o", None)}


def _kernel_chat(id, at, *events):
    """microsoft/semantic-kernel (dotnet/src/InternalUtilities/src/Diagnostics/ModelDiagnostics.cs)."""
    told = {"gen_ai.operation.name": "chat.completions", "gen_ai.system": "openai", "gen_ai.request.model": "gpt-4o"}
    scope = "Microsoft.SemanticKernel.Diagnostics"
    events = [(name, {"gen_ai.event.content": json.dumps(said), "gen_ai.system": "openai"}) for name, said in events]
    return span(id, 1, "chat.completions gpt-4o", at=at, kind=3, scope=scope, attributes=told, events=events)


@pytest.mark.parametrize(
    "words",
    [
        "Error: Function call request for a function that wasn't defined.",
        "Error: Function call request for a function that wasn't defined. Correct yourself.",
        "Error: Requested function could not be found.",
    ],
)
def test_semantic_kernel_for_net_tells_its_model_alone_that_nobody_has_a_function(words):
    """connectors' FunctionCallsProcessor.cs: what threw has a span, and what nobody has none."""
    calls = [
        {"id": f"c{n}", "function": {"arguments": {}, "name": name}, "type": "function"}
        for n, name in enumerate(["look", "nope", "time"])
    ]
    asked = "gen_ai.user.message", {"role": "user", "content": "go"}
    asks = {"role": "assistant", "content": "", "tool_calls": calls}
    first = "gen_ai.choice", {"index": 0, "message": asks, "tool_calls": calls, "finish_reason": "ToolCalls"}
    last = "gen_ai.choice", {"index": 0, "message": {"role": "assistant", "content": "done"}, "tool_calls": []}
    back = [("gen_ai.tool.message", {"role": "tool", "content": text}) for text in ("3", words, "Error: Exception x")]
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "w"}
    ran = {"gen_ai.operation.name": "execute_tool"}
    look, time = (ran | {"gen_ai.tool.name": name} for name in ("look", "time"))
    (run,) = agreed(
        span(1, None, "invoke_agent w", took=20, scope="Microsoft.SemanticKernel.Diagnostics", attributes=named),
        _kernel_chat(2, 1, asked, first),
        span(3, 1, "execute_tool look", at=3, scope="Microsoft.SemanticKernel", attributes=look),
        span(4, 1, "execute_tool time", at=4, scope="Microsoft.SemanticKernel", attributes=time, error="no clock"),
        _kernel_chat(5, 6, asked, ("gen_ai.assistant.message", asks), *back, last),
    )
    told = [(c["name"], c["status"]) for c in run["tool_calls"]]
    assert told == [("look", "ok"), ("nope", "requested"), ("time", "error")]


_TRPC = "trpc.agent.go"


def _trpc_chat(id, at, said, answer):
    """trpc-group/trpc-agent-go (internal/telemetry/trace.go); Go writes bytes, such as arguments, in base64."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.system": "trpc.go.agent", "gen_ai.request.model": "gpt-4o"}
    told |= {"gen_ai.input.messages": json.dumps([{"role": "user", "content": "go"}, *said])}
    told |= {"gen_ai.output.messages": json.dumps([{"index": 0, "message": answer}])}
    return span(id, 1, "chat gpt-4o", at=at, scope=_TRPC, attributes=told)


def _trpc_tool(id, at, name, call, text, **more):
    choice = {"index": 0, "message": {"role": "tool", "content": text, "tool_id": call, "tool_name": name}}
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call}
    told |= {"gen_ai.tool.call.arguments": "{}"}
    told |= {"gen_ai.tool.call.result": json.dumps({"object": "tool.response", "choices": [choice]})}
    return span(id, 1, f"execute_tool {name}", at=at, scope=_TRPC, attributes=told, **more)


def _trpc(texts, *tools):
    """A run in which a tool came back with each text, by the call's id and the tool's name."""
    calls = [{"type": "function", "function": {"name": name, "arguments": "e30="}, "id": call} for call, name in texts]
    asks = {"role": "assistant", "content": "", "tool_calls": calls}
    back = [{"role": "tool", "content": t, "tool_id": call, "tool_name": name} for (call, name), t in texts.items()]
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "w"}
    (run,) = agreed(
        span(1, None, "invoke_agent w", took=20, scope=_TRPC, attributes=named),
        _trpc_chat(2, 1, [], asks),
        *tools,
        _trpc_chat(9, 9, [asks, *back], {"role": "assistant", "content": "done"}),
    )
    return [(c["name"], c["status"], c["call_id"]) for c in run["tool_calls"]]


def test_a_tool_of_trpcs_that_failed_beside_others_has_a_span_with_a_name_alone():
    """internal/flow/processor/functioncall.go, `runParallelToolCall`: its span is told more where nothing failed."""
    error = "tool execution error: "
    texts = {
        ("c1", "look"): "3",
        ("c2", "look"): error + "Error: callable tool execution failed: no disk",
        ("c3", "nope"): error + 'executeToolCall: Error: tool not found: nope; did you mean "look"?',
    }
    tools = [
        _trpc_tool(3, 3, "look", "c1", "3"),
        span(4, 1, "execute_tool look", at=3.1, scope=_TRPC),
        span(5, 1, "execute_tool nope", at=3.2, scope=_TRPC),
    ]
    assert _trpc(texts, *tools) == [("look", "ok", "c1"), ("look", "error", "c2"), ("nope", "requested", "c3")]


def test_a_tool_of_trpcs_that_nobody_has_or_that_was_given_no_leave_did_not_run():
    """internal/flow/processor/functioncall.go, `executeToolCall`; tool/permission.go, `PermissionResult`."""
    none = "executeToolCall: Error: tool not found: nope"
    no = '{"status":"denied","tool":"rm","reason":"no"}'
    asks = '{"status":"approval_required","tool":"mv"}'
    texts = {("c1", "nope"): none, ("c2", "rm"): no, ("c3", "mv"): asks, ("c4", "look"): '{"status":"denied"}'}
    tools = [
        _trpc_tool(n, n, name, call, text, error=none if n == 3 else None)
        for n, ((call, name), text) in enumerate(texts.items(), 3)
    ]
    for shown in (tools, tools[3:]):  # its spans, or those of no other than the last
        statuses = {name: status for name, status, _ in _trpc(texts, *shown)}
        assert statuses == {"nope": "requested", "rm": "requested", "mv": "requested", "look": "ok"}


@pytest.mark.parametrize(
    "words",
    [
        '{error: "Model tried to call unavailable tool `nope`. Available tools: [\\"look\\"]."}',  # RubyLLM, chat.rb
        "unsupported call: nope",  # Codex, codex-rs/core/src/tools/registry.rs
        "nope is not a valid tool, try another one",  # langchaingo, agents/executor.go
        "no tool named `nope` is registered",  # Rig, crates/rig-core/src/tool/mod.rs
        "`nope` was not advertised to the model on this turn",  # the same, agent/drive
        '{"error": "[Operation Cancelled] Reason: User did not allow tool call"}',  # Gemini CLI, state-manager.ts
        "The user rejected permission to use this specific tool call.",  # opencode, permission/index.ts
        "The user has specified a rule which prevents you from using this specific tool call. The rules: []",
        "user denied permission",  # Crush, internal/permission/permission.go
        "Tool not found: nope",
        "There is no tool named 'nope'",
    ],
)
def test_what_nobody_has_or_may_use_is_told_in_the_words_of_many_kits(words):
    asked = [_user("go"), _asks(("c1", "nope", {})), _back(("c1", words))]
    (run,) = agreed(
        span(1, None, "invoke_agent w", took=20, attributes={"gen_ai.operation.name": "invoke_agent"}),
        _net_chat(2, 1, 1, asked[:1], asked[1]),
        _net_chat(3, 1, 5, asked, _says("no")),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("nope", "requested")]


@pytest.mark.parametrize(
    ("how", "status", "delegated"),
    [
        ("COMPLETED", "ok", "ok"),
        ("FAILED", "error", "error"),
        ("KILLED", "unknown", "unknown"),
        ("TERMINATED", "unknown", "unknown"),
        ("STUCK", "ok", "ok"),
    ],
)
def test_how_an_agent_of_embabels_ended_is_a_word_on_a_span_that_ends_well(how, status, delegated):
    """embabel/embabel-agent (embabel-agent-observability: observation/EmbabelAgentObservationConvention.java: "Status
    is a tag, not a span error"); STUCK is how an agent rests that waits for the next message."""

    def step(id, parent, name, operation, at, took, **told):
        told |= {"gen_ai.operation.name": operation}
        return span(id, parent, name, at=at, took=took, attributes=told, scope="org.springframework.boot")

    def ran(id, parent, name, at, took):
        named = {"embabel.agent.name": name}
        own = named | {"embabel.agent.status": how, "embabel.agent.planner_type": "GOAP", "input.value": "go"}
        part = named | {"gen_ai.request.model": "gpt-4o", "embabel.interaction.id": f"i{id}"}
        return [
            step(id, parent, f"agent {name}", "agent", at, took, **own),
            step(id + 1, id, "action act", "execute_action", at + 1, took - 2, **named),
            step(id + 2, id + 1, "chat gpt-4o", "chat", at + 1, took - 3, **part),
            step(id + 3, id + 2, "tool-loop", "tool_loop", at + 1, took - 4, **part),
            step(id + 4, id + 3, "chat gpt-4o", "chat", at + 1, 1, **{"gen_ai.request.model": "gpt-4o"}),
        ]

    (run,) = agreed(*ran(1, None, "boss", 0, 30), *ran(10, 4, "worker", 5, 10))
    assert (run["status"], run["agents"], run["input"]) == (status, ["boss", "worker"], "go")
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [("boss", "worker", delegated)]
