"""What single instrumentations are known to leave out or to tell otherwise, by their scopes."""

from __future__ import annotations

import re

_RAISES = re.compile(
    r"openai_agents|^pydantic-ai$|^gcp\.vertex\.agent$|(?:instrumentation|genai)\.langchain$|handler langchain$"
)
_GOOGLES = re.compile(r"instrumentation\.google_gen(?:ai|erativeai)$|instrumentation-google-generativeai$")
_STEP = re.compile(r"\w*(?:Agent|Workflow)\w*\.task")
_OF_CHATS = re.compile(r"microsoft\.opentelemetry\..*openai_agents")


def says_well(scope: str) -> bool:
    """Does this say of a run that raised that it went well, where a tool was asked for that nobody has?"""
    return scope == "opentelemetry.instrumentation.openai_agents"


def raises_at_limits(scope: str) -> bool:
    """Is this of a kit that raises an error at a limit? A clean end is none, then."""
    return _RAISES.search(scope) is not None


def ends_alike(scope: str) -> bool:
    """Does an agent's span of this scope end well, however its run went?"""
    return scope.endswith("handler openai_agents") or scope == "opentelemetry.instrumentation.agno"


def answers_with_errors(scope: str) -> bool:
    """Does an agent of this scope end well where it failed, and is what went wrong what it put out (Agno under
    OpenTelemetry's own)? Without content nothing says so."""
    return scope == _AGNOS


def puts_out_errors(scope: str) -> bool:
    """Does an agent of this scope end well where it failed, with the error's words as its answer, and is no model's
    call told that would say so (Agno 2 and later under Traceloop's)?"""
    return scope == "opentelemetry.instrumentation.agno"


def asks_a_model(scope: str, name: str) -> bool:
    """Is this by its name the node of a graph in which LangChain's agents ask a model? The model's own span does not
    come where they are run by `ainvoke` (OpenLIT 1.45)."""
    return scope == "openlit.instrumentation.langgraph" and name in ("invoke_agent model", "invoke_agent call_model")


def ends_as_members(scope: str) -> bool:
    """Is what a member of a team's said last in a stream told here as what the team did (Agno under OpenTelemetry's
    own)?"""
    return scope == _AGNOS


_AGNOS = "opentelemetry.instrumentation.genai.agno"


def stops_to_ask(scope: str) -> bool:
    """Does this say `stop` of answers that ask for tools, too? Where no answer is told, it may have asked for some."""
    return _STOPS_ALIKE.search(scope) is not None


_STOPS_ALIKE = re.compile(r"^genkit-tracer$|^@arizeai/openinference-instrumentation-openai-agents$")


def leaves_open(scope: str) -> bool:
    """Does a model's step last here until the tools are done that its answer asks for, and come to no end where its
    agent waits or was stopped (Mastra)? As it goes on, its answer is told once more."""
    return scope.startswith("@mastra/")


def throws_to_models(scope: str) -> bool:
    """Is whatever a tool throws here told to the model, so that it ends no run (Mastra)?"""
    return scope.startswith("@mastra/")


def returns(scope: str) -> bool:
    """Does a function that frames a run tell here what it returned, and how it ended, whatever it caught (Genkit)?"""
    return scope == "genkit-tracer"


def mute(scope: str) -> bool:
    """Does no span of this scope ever say that anything failed?"""
    return scope.startswith("codex")


def untold(scope: str, status: int) -> bool:
    """Does no span of a model's call whose status is left out, as here, tell that it failed, and its run's that it went
    well however it went (OpenInference of OpenAI's agents 0.1.5)?"""
    return not status and scope == "openinference.instrumentation.openai_agents"


def waits_for_models(scope: str) -> bool:
    """Is this of OpenAI's kit, in which an agent ends after its models, unless it is stopped?"""
    return scope == "openinference.instrumentation.openai_agents"


def runs_in_threads(scope: str) -> bool:
    """Is this of a kit that runs tools without a word of who began them (smolagents' in threads, AutoGen's 0.5)?"""
    return scope in ("openinference.instrumentation.smolagents", "base_tool")


def stays_current(scope: str, name: str) -> bool:
    """Is this a graph or a workflow that is laid under whatever span was left current in the same task, though that had
    ended (Traceloop and OpenLIT, of what is awaited)?"""
    if scope == "openlit.otel.tracing":
        return name.startswith("workflow ")
    return name.endswith(".workflow") and scope in _STAY_CURRENT


_STAY_CURRENT = {f"opentelemetry.instrumentation.{of}" for of in ("langchain", "llamaindex")}


def lays_in_sessions(scope: str, name: str) -> bool:
    """Is this the session of a client of MCP, under which all that it calls is laid, whoever called it (Traceloop's
    for JavaScript)?"""
    return scope == _IN_SESSIONS and name == "mcp.client.session"


def knows_no_caller(scope: str) -> bool:
    """May this have begun apart from who called it, in a thread or a session?"""
    return runs_in_threads(scope) or scope == _IN_SESSIONS


_IN_SESSIONS = "@traceloop/instrumentation-mcp"


def asks_once_more(scope: str) -> bool:
    """Is this a kit that at a limit asks the model once more, without tools? That answer looks like any other."""
    return scope in ("agent_framework", "agentscope", "livekit-agents", "opentelemetry.instrumentation.genai.dspy")


def adds_up(scope: str) -> bool:
    """Does this add up what the beginning of a stream and its end say was used, each of all?"""
    return scope == "opentelemetry.instrumentation.anthropic"


def fails_unsaid(scope: str, name: str) -> bool:
    """Does a tool's span of this scope and name end well whatever the tool raised, of which the model alone is told
    (AutoGen under OpenInference, LangChain under OpenLIT)?"""
    if scope.startswith("openlit."):
        return name.startswith("tool ")
    return scope == "openinference.instrumentation.autogen_agentchat"


def flags_at_the_end(scope: str) -> bool:
    """Does a tool's span of this scope tell that the tool failed in the message that it put out, after its text
    (LangChain's under OpenLLMetry)?"""
    return scope == "opentelemetry.instrumentation.langchain"


def input_as_text(scope: str) -> bool:
    """Does this tell the input of OpenAI's Responses, a list of items, as the text of one user message?"""
    return scope == "@traceloop/instrumentation-openai"


def drops_calls(scope: str) -> bool:
    """Does this tell of an answer its text, and what it asks for where there is none (Langtrace for JavaScript)?"""
    return scope == "@langtrase/typescript-sdk"


def may_be_response(response_id: str | None) -> bool:
    """May this be the id of one of OpenAI's Responses?"""
    return response_id is None or response_id.startswith("resp_")


def prints_results(scope: str) -> bool:
    """Does this tell the object in which a result goes to Gemini as Python prints it?"""
    return scope in ("openlit.instrumentation.google_ai_studio", "openlit.instrumentation.vertexai")


def reads_late(scope: str) -> bool:
    """Does this read what a model was asked once it has answered, when the program may have put the answer beside it
    (LangSmith's for JavaScript)?"""
    return scope == "langsmith"


def results_by_user(scope: str) -> bool:
    """Does its history leave out what was asked for, and tell what came back as the user's?"""
    return scope == "@traceloop/instrumentation-llamaindex"


def loses_steps(scope: str, name: str) -> bool:
    """Is this a step of a workflow, of which those that failed never come (Traceloop, of LlamaIndex's agents)?"""
    return scope == "opentelemetry.instrumentation.llamaindex" and _STEP.fullmatch(name) is not None


def tells_last_piece(scope: str) -> bool:
    """Does this tell of a stream its last piece, and not that it was one?"""
    return scope == "opentelemetry.instrumentation.google_generativeai"


def tells_last_call(scope: str, response_id: str | None) -> bool:
    """Does this tell only the last of the calls that an answer, one of OpenAI's Responses, asks for?"""
    openlit = scope in ("openlit.instrumentation.openai", "@openlit/instrumentation-openai")
    return openlit and (response_id or "").startswith("resp_")


_WITHOUT_FLAGS = re.compile(
    r"^(?:opentelemetry|openlit)\.instrumentation\.(?:genai\.)?(?:bedrock|anthropic)$"
    r"|^@(?:traceloop|openlit)/instrumentation-(?:bedrock|anthropic)$|^mirascope\.llm$|^com\.anthropic\.sdk\."
)


def drops_flags(scope: str) -> bool:
    """Does this leave out the flag by which a provider's own protocol or the kit (Mirascope's `error`) tells a failed
    tool (toolResult.status, is_error)? There a text that reads like any other says nothing."""
    return _WITHOUT_FLAGS.match(scope) is not None


def keeps_flags(scope: str) -> bool:
    """Does this tell what Anthropic's client was given as it was given, flags and all?"""
    return scope.startswith("openinference.") and scope.endswith("anthropic")


def noted_late(scope: str) -> bool:
    """Does this tell what a call was once it was answered, and no error (Google's ADK for JavaScript, Splunk's of
    OpenAI's agents)?"""
    return scope in (
        "gcp.vertex.agent",
        "opentelemetry.util.genai.handler",
        "opentelemetry.util.genai.handler openai_agents",
    )


def ends_well_unanswered(scope: str) -> bool:
    """Does this, as long as it writes flat messages, tell no answer of chat completions that failed, or of a stream
    that was given up, and that all of them went well, whatever OpenAI's kit knew (Traceloop's, 0.47, and
    OpenInference's)?"""
    return scope in (
        "opentelemetry.instrumentation.openai_agents",
        "openinference.instrumentation.openai_agents",
        "@arizeai/openinference-instrumentation-openai-agents",
    )


def calls_functions(scope: str) -> bool:
    """Does this, of Google's client, open no spans for the functions that it calls?"""
    return _GOOGLES.search(scope) is not None


def spans_loops(scope: str) -> bool:
    """Is what looks like a model's call here a loop of them, with the tools between (OpenLIT for JavaScript, of the
    AI SDK 3 and 4)?"""
    return scope == "@openlit/instrumentation-vercel-ai"


def ends_stream(scope: str) -> bool:
    """Is a model's call the last span of its stream here, so that what it asked for began before it, in the same frame
    (Codex)?"""
    return scope.startswith("codex")


def says_stop(scope: str) -> bool:
    """Does this instrumentation say `stop` of every answer, whatever its provider said?"""
    return scope in ("agentscope", "livekit-agents") or _OF_CHATS.match(scope) is not None


def says_alike(scope: str, response_id: str | None) -> str | None:
    """What is said here of an answer of OpenAI's Responses, whether it is whole or met its limit: OpenLIT for
    JavaScript says so of a stream whose end, with the id, never came; OpenTelemetry's of all that ask for nothing."""
    if scope == "@openlit/instrumentation-openai":
        return None if response_id else "completed"
    ours = scope == "@opentelemetry/instrumentation-openai" and (response_id or "").startswith("resp_")
    return "stop" if ours else None


def tells_arguments(scope: str) -> bool:
    """Does this instrumentation tell of a stream that may ask for tools their arguments alone, as a text?"""
    return scope == "langtrace_python_sdk.instrumentation.openai.instrumentation"


def runs_by_spans(scope: str) -> bool:
    """Is a span opened here for each tool that a kit runs (Strands, Microsoft's Agent Framework, Semantic Kernel; Agno
    under OpenInference)?"""
    own = scope.startswith(("strands", "semantic_kernel.")) or scope == "agent_framework"
    return own or scope == "openinference.instrumentation.agno"


def sets_no_status(scope: str) -> bool:
    """Is OK no word of this kit's own, but of a processor that says it of all that is no error (the AI SDK and
    Microsoft's Agent Framework under OpenInference)?"""
    return scope in ("ai", "gen_ai", "agent_framework")


def stops_at_tools(scope: str) -> bool:
    """Is this of a kit in which a program may name a tool that ends the loop (the AI SDK)?"""
    return scope in ("ai", "gen_ai", "langsmith") or scope.startswith("@mastra/")


def says_why(scope: str, name: str) -> bool:
    """Is this a loop that says why it ended, unless it was called off (the AI SDK, Microsoft's Agent Framework,
    Claude's Agent SDK)?"""
    if scope == "openinference.instrumentation.claude_agent_sdk":
        return name.startswith(("ClaudeAgentSDK.query", "ClaudeAgentSDK.ClaudeSDKClient."))
    return (scope in ("gen_ai", "agent_framework") and name.startswith("invoke_agent")) or (
        scope == "ai" and name.split(" ")[0] in ("ai.generateText", "ai.streamText")
    )


def changes_agents(scope: str) -> bool:
    """Does a tool that hands over give its session another agent here, of which a span of its own tells (LiveKit)?"""
    return scope == "livekit-agents"


def tells_words(scope: str, name: str) -> bool:
    """Is this a turn that bears the words of the user that it answers? Without them the program began it (LiveKit)."""
    return scope == "livekit-agents" and name == "agent_turn"


def asks_after_results(scope: str) -> bool:
    """Does this kit run whatever was asked for, and ask a model again after a tool that brought something, unless its
    loop met a limit or was called off (LiveKit)?"""
    return scope == "livekit-agents"


def stops_after_turns(scope: str, name: str) -> bool:
    """Does an agent whose stream was called off after its turn end here like one whose tools gave the answer (OpenAI's
    kit)?"""
    return scope in ("openinference.instrumentation.openai_agents", "logfire.openai_agents") or name == _STREAMED


_STREAMED = "AgentRunner.run_streamed"  # under MLflow, which tells what other runs put out


def asks_after_tools(scope: str) -> bool:
    """Does this kit ask a model again after whatever tools ran, unless they hand in the answer (Pydantic AI)?"""
    return scope == "pydantic-ai"


def tells_time(scope: str) -> bool:
    """Is it told here how long a tool took, once it is done (the AI SDK 7)?"""
    return scope == "gen_ai"


def holds_providers(scope: str) -> bool:
    """Do the spans of models hold those of tools that the provider ran, and of no others (the AI SDK 7)?"""
    return scope == "gen_ai"


def tells_repaired(scope: str, name: str) -> bool:
    """Does a program, or somebody who is asked, change what a model asked for here before it runs, and does the tool's
    span alone tell what ran (the AI SDK, Haystack)?"""
    return scope in ("ai", "langsmith") or tells_steps(name)


def tells_steps(name: str) -> bool:
    """Is this what Haystack calls the span of a tool of its agents', which bears no id, and without a result tells
    nothing of how it went?"""
    return name == "haystack.agent.step.tool"


def runs_tools(scope: str, name: str) -> bool:
    """Is this what runs the tools that an answer asked for, with no agent's span around both where a program runs the
    agent by itself (Haystack 2 under OpenInference)?"""
    return scope == "openinference.instrumentation.haystack" and name == "ToolInvoker.run"


def drops_tools(scope: str) -> bool:
    """Does this tell of a tool that threw, or waits, no more than the step around it (Traceloop's of LlamaIndex)?"""
    return scope == "opentelemetry.instrumentation.llamaindex"


def marks_requests(scope: str) -> bool:
    """Is what an answer asks for told by marks below its model's span, each with a tool's name (AgentOps)?"""
    return scope.startswith("agentops.instrumentation.providers.")


def given_by_events(scope: str) -> bool:
    """Is a tool's message in its own span here what the tool was given, and its choice what it gave (Strands)?"""
    return scope.startswith("strands")


def stops_alike(scope: str, name: str) -> bool:
    """Is this the span of a swarm that ends well when a limit stops it, too (Strands)?"""
    return scope.startswith("strands") and name == "invoke_swarm"


def of_adk(scope: str) -> bool:
    """Is this Google's ADK? It has a span for each tool, asks a model after each that is done, says `stop` of every
    answer, and notes what fails on all that is around it."""
    return scope == "gcp.vertex.agent"


def of_langfuse(scope: str) -> bool:
    """Is this Langfuse's kit for Python? A chain of its is a function of the program's, and of a provider's own tools
    it tells nothing."""
    return scope == "langfuse-sdk"


def of_mcp(scope: str) -> bool:
    """Is this MCP's own kit for Python?"""
    return scope == "mcp-python-sdk"


def lists_tools(scope: str, name: str) -> bool:
    """Does this span list the tools of a server in the program's own process, each of which has spans of its own?"""
    return of_mcp(scope) and name == "tools/list"


def of_strands_js(scope: str) -> bool:
    """Is this Strands for JavaScript? Its tool that waits ends well with nothing, and so does a stream given up."""
    return scope == "strands-agents"


def hides_served(scope: str) -> bool:
    """Does this leave out of an answer the tools that its provider ran (OpenLIT for JavaScript, of Anthropic's)?"""
    return scope == "@openlit/instrumentation-anthropic"


def holds_others(scope: str) -> bool:
    """Does the span of a model's call here hold what its reader does next, tools and further calls (LangSmith's for
    JavaScript)?"""
    return scope == "langsmith"


def tells_resumed_anew(scope: str) -> bool:
    """Does a run that goes on after it had waited have a trace of its own here, beside what it does there (OpenAI's kit
    for JavaScript)?"""
    return scope == "@arizeai/openinference-instrumentation-openai-agents"


def works_over(scope: str) -> bool:
    """May a step that is no agent's change here what agents said (workflows of Microsoft's Agent Framework)?"""
    return scope == "agent_framework"


def guards_first(scope: str) -> bool:
    """Does a guard put its own words here in place of the user's, before an agent is told of them (VoltAgent)?"""
    return scope == "@voltagent/core"


def tells_refusals(scope: str) -> bool:
    """Does this put somebody's refusal of a tool where its result would be (AG2's)?"""
    return scope == "opentelemetry.instrumentation.ag2"


def opens_before_leave(scope: str) -> bool:
    """Does this, of a kit or of any, open a tool's span before anyone gave leave, and end it like any other? One that
    shows what was given and nothing that came back may wait for leave, or have failed."""
    return _BEFORE_LEAVE.search(scope) is not None


_BEFORE_LEAVE = re.compile(r"openai_agents|util\.genai\.handler$|instrumentation\.(?:ag2|google_adk)$")


def running_sums(scope: str) -> bool:
    """May this instrumentation add up the tokens of several calls?"""
    return "springframework" in scope


def tells_totals(scope: str) -> bool:
    """May this instrumentation tell of an agent's last call what all of them used (Weave, of Claude's Agent SDK)?"""
    return scope == "weave.conversation"


def guesses_tokens(scope: str) -> bool:
    """Does this instrumentation count the words of an answer that streamed by itself, whatever its provider counted?"""
    return scope == "@traceloop/instrumentation-openai"


def in_two_scopes(scope: str) -> bool:
    """Does its instrumentation tell of models under one scope and of functions under another (Mirascope)?"""
    return scope.startswith("mirascope.")


def tells_in_results(scope: str) -> bool:
    """Does this instrumentation tell that a tool failed in the words of its result alone?"""
    return _IN_RESULTS.match(scope) is not None


def tells_raised(scope: str) -> bool:
    """Does this framework make a result of what a tool raised, in words that a tool may use, too (`Error: …`), and end
    the span well?"""
    return scope in ("agentscope", "io.agentscope")


_IN_RESULTS = re.compile(r"^opentelemetry\.instrumentation\.(?:agno|llamaindex)$")


def writes_parts(scope: str) -> bool:
    """Is what a user says written here as the list of its parts, in JSON (Traceloop, of Google's client and of
    Bedrock's)?"""
    return scope in _WRITES_PARTS


_WRITES_PARTS = {f"opentelemetry.instrumentation.{of}" for of in ("google_generativeai", "bedrock")}


def counts_at_the_end(scope: str) -> bool:
    """Is what was used told here once an answer is whole, so that one without was broken off, perhaps (Pipecat)?"""
    return scope == "pipecat"


def fails_incomplete(scope: str, name: str) -> bool:
    """Is a stream an error here, without a word, of which no whole answer came: it met a limit, or was broken off
    (OpenInference for JavaScript, of OpenAI's Responses)?"""
    return scope == "@arizeai/openinference-instrumentation-openai" and name == "OpenAI Responses"


def waits_by_events(scope: str) -> bool:
    """Does an event of its agent's span tell here that a tool waits, whose own span ends well (Strands)?"""
    return scope == "strands.telemetry.tracer"


def hides_limits(name: str) -> bool:
    """Is this the span of a graph of Strands', which of no limit that stopped it tells?"""
    return name == "invoke_graph"
