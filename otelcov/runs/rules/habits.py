"""What single instrumentations are known to leave out or to tell otherwise of agents, tools and runs, by their scopes;
of models: `answers`."""

from __future__ import annotations

import re

from otelcov.ground.patterns import late

_RAISES = late(
    r"openai[_.]agents|^pydantic-ai$|^gcp\.vertex\.agent$|(?:instrumentation|genai)\.langchain$|handler langchain$"
)
_STEP = late(r"\w*(?:Agent|Workflow)\w*\.task")


def says_well(scope: str) -> bool:
    """Does this say of a run that raised that it went well, where a tool was asked for that nobody has?"""
    return scope == "opentelemetry.instrumentation.openai_agents"


def says_of_each(scope: str) -> bool:
    """Does this say of every step that went well that it did (OpenLIT for Python)?"""
    return scope.startswith("openlit.instrumentation.")


def keeps_who_worked(scope: str) -> bool:
    """Does an agent's span name whoever worked before, in another run perhaps (Monocle of LlamaIndex)?"""
    return scope.startswith("monocle")


def raises_at_limits(scope: str) -> bool:
    """Is this of a kit that raises an error at a limit? A clean end is none, then."""
    return _RAISES.search(scope) is not None


def needs_descriptions(scope: str) -> bool:
    """Is this of a kit whose tools bear a description each (LangChain, under OpenTelemetry's own)?"""
    return scope.endswith("genai.langchain")


def ends_alike(scope: str) -> bool:
    """Does an agent's span of this scope end well, however its run went (AgentOps's and Agent 365's of OpenAI's kit
    among them, which says of a turn that it failed)?"""
    return scope.endswith("handler openai_agents") or scope in _END_ALIKE


_END_ALIKE = (
    "opentelemetry.instrumentation.agno",
    "agentops.instrumentation.agno",
    "openai-agents",
    "openlit.instrumentation.dynamiq",
    "microsoft_agents_a365.observability.core.config",
    "copilot-chat",  # a request that its server refuses has no span, and an agent that is called off ends well
)


def answers_with_errors(scope: str) -> bool:
    """Does an agent of this scope end well where it failed, and is what went wrong what it put out (Agno under
    OpenTelemetry's own)? Without content nothing says so."""
    return scope == _AGNOS


def leaves_errors_to_steps(scope: str) -> bool:
    """Does an agent of this scope end well where what failed was a step of which no span is told: a model's call, or a
    tool that nobody has (OpenAI's kit under OpenTelemetry's own)?"""
    return scope == "opentelemetry.instrumentation.genai.openai_agents"


def puts_out_errors(scope: str) -> bool:
    """Does an agent of this scope end well where it failed, with the error's words as its answer, and is no model's
    call told that would say so (Agno 2 and later under Traceloop's and AgentOps's)?"""
    return scope in ("opentelemetry.instrumentation.agno", "agentops.instrumentation.agno")


def asks_a_model(scope: str, name: str) -> bool:
    """Is this by its name the node of a graph in which LangChain's agents ask a model? The model's own span does not
    come where they are run by `ainvoke` (OpenLIT 1.45)."""
    return scope == "openlit.instrumentation.langgraph" and name in ("invoke_agent model", "invoke_agent call_model")


def ends_as_members(scope: str) -> bool:
    """Is what a member of a team's said last in a stream told here as what the team did (Agno under OpenTelemetry's
    own, and under OpenInference)?"""
    return scope in (_AGNOS, AGNO)


_AGNOS = "opentelemetry.instrumentation.genai.agno"


def stops_to_ask(scope: str) -> bool:
    """Does this say `stop` of answers that ask for tools, too? Where no answer is told, it may have asked for some."""
    return _STOPS_ALIKE.search(scope) is not None


_STOPS_ALIKE = late(r"^genkit-tracer$|^@arizeai/openinference-instrumentation-openai-agents$")


def leaves_open(scope: str) -> bool:
    """Does a model's step last here until the tools are done that its answer asks for, and come to no end where its
    agent waits or was stopped (Mastra)? As it goes on, its answer is told once more."""
    return scope.startswith("@mastra/")


def in_a_models_step(scope: str, name: str) -> bool:
    """Is this a part of what a kit tells as one step that asks a model (Mastra)?"""
    return scope.startswith("@mastra/") and _PART.match(name) is not None


_PART = late(r"(?:model_)?(?:inference|chunk)\b")


def throws_to_models(scope: str) -> bool:
    """Is whatever a tool throws here told to the model, so that it ends no run (Mastra, Strands, Claude's kit)?"""
    claudes = "claude_agent_sdk" in scope or "claude-agent-sdk" in scope
    return claudes or scope.startswith("@mastra/") or scope == "strands.telemetry.tracer"


def fails_with_models(scope: str) -> bool:
    """Does a run here say that it failed where its last model did, and else that it went well (Strands,
    LangSmith)?"""
    return scope in ("strands.telemetry.tracer", "langsmith")


def bears_all(scope: str) -> bool:
    """Does its frame bear whatever failed in it, be it in an agent that a tool called (OpenInference's, of BeeAI for
    JavaScript)?"""
    return scope == "@arizeai/openinference-instrumentation-beeai"


def returns(scope: str) -> bool:
    """Does a function that frames a run tell here what it returned, and how it ended, whatever it caught (Genkit)?"""
    return scope == "genkit-tracer"


def mute(scope: str) -> bool:
    """Does no span of this scope ever say that anything failed?"""
    return scope.startswith(("codex", "gigaflow"))


def untold(scope: str, status: int) -> bool:
    """Does no span of a model's call whose status is left out, as here, tell that it failed, and its run's that it went
    well however it went (OpenInference of OpenAI's agents 0.1.5, GigaFlow)?"""
    return not status and scope in ("openinference.instrumentation.openai_agents", "gigaflow")


def tells_until_one_fails(scope: str) -> bool:
    """Does this tell nothing more of what an agent does once a function that it watches raised (MLflow, of kits whose
    methods it replaces)?"""
    return scope == "mlflow.tracing.provider"


def runs_in_threads(scope: str) -> bool:
    """Is this of a kit that runs tools without a word of who began them (smolagents' in threads, AutoGen's 0.5)?"""
    return scope in ("openinference.instrumentation.smolagents", "base_tool")


def traces_apart(scope: str) -> bool:
    """Does this kit run tools in threads without a word of who began them, so that agents in them have traces of their
    own, and no span at all tells of a tool (Swarms)?"""
    return scope == "swarms"


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


def loses_steps(scope: str, name: str) -> bool:
    """Is this a step of a workflow, of which those that failed never come (Traceloop, of LlamaIndex's agents)?"""
    return scope == "opentelemetry.instrumentation.llamaindex" and _STEP.fullmatch(name) is not None


def leaves_out_what_threw(scope: str) -> bool:
    """Is a function that threw never told here, so that what ran in it has lost what was around it (Traceloop for
    JavaScript)?"""
    return scope.startswith("@traceloop/")


def noted_late(scope: str) -> bool:
    """Does this tell what a call was once it was answered, and no error (Google's ADK for JavaScript, Splunk's of
    OpenAI's agents)?"""
    return scope in (
        "gcp.vertex.agent",
        "opentelemetry.util.genai.handler",
        "opentelemetry.util.genai.handler openai_agents",
    )


def runs_by_spans(scope: str) -> bool:
    """Is a span opened here for each tool that a kit runs (Strands, Microsoft's Agent Framework, Semantic Kernel,
    AgentScope; Agno under OpenInference)?"""
    own = scope.startswith(("strands", "semantic_kernel.")) or scope == "agent_framework"
    return own or scope in ("agentscope", "openinference.instrumentation.agno")


def leaves_current(scope: str) -> bool:
    """Does what ended stay the span that all of a task is laid under (Agno under OpenInference)?"""
    return scope == AGNO


def sets_no_status(scope: str) -> bool:
    """Is OK no word of this kit's own, but of a processor that says it of all that is no error (the AI SDK and
    Microsoft's Agent Framework under OpenInference)?"""
    return scope in ("ai", "gen_ai", "agent_framework")


def stops_at_tools(scope: str) -> bool:
    """Is this of a kit in which a program may name a tool that ends the loop (the AI SDK)?"""
    return scope in ("ai", "gen_ai", "langsmith") or scope.startswith("@mastra/")


def ends_after_tools(scope: str, name: str) -> bool:
    """Is this a loop of such a kit, which ends once all is done that was asked for, at a limit, too?"""
    return stops_at_tools(scope) or is_a_loop(name) or name == "ai.chat"  # TanStack AI's, under OpenInference


def holds_its_own_calls(scope: str) -> bool:
    """Does a turn of this kit hold the model's calls of its own agent right in its span, so that one within another
    span is of an agent that a tool called (Claude Code)?"""
    return scope.startswith("com.anthropic.claude_code")


def is_a_loop(name: str) -> bool:
    """Is this a whole loop, which its kit lays in nothing of its own but a tool (the AI SDK)?"""
    return name.startswith(("ai.generateText", "ai.streamText"))


def asks_a_model_in_each(scope: str, name: str) -> bool:
    """Is this a loop, or a step of one, in each of which its kit asks a model (the AI SDK; LlamaIndex; Genkit;
    fast-agent; OpenAI's kit for JavaScript; Semantic Kernel; LiveKit)?"""
    if scope == LIVEKIT:
        return name == LIVEKITS_MODEL
    if scope in LLAMA_INDEX:
        return name.endswith(".run_agent_step")
    if scope in (FAST_AGENT, "genkit-tracer"):
        return scope == FAST_AGENT or name == "generate"
    if is_a_loop(name) or name == "AutoFunctionInvocationLoop":
        return True
    return (scope == "gen_ai" and name.startswith("step ")) or is_a_turn(scope, name)


def asks_a_model_in_each_agent(scope: str) -> bool:
    """Does each agent of this kit ask a model that has a span (Agno under OpenInference)?"""
    return scope == AGNO


def is_a_turn(scope: str, name: str) -> bool:
    """Is this a turn of an agent's (OpenAI's kit for JavaScript)?"""
    return TURNS.get(scope) == name


TURNS = {"lmnr.tracer": "agents.turn", "@arizeai/openinference-instrumentation-openai-agents": "turn"}
LIVEKIT, LIVEKITS_MODEL = "livekit-agents", "llm_node"
FAST_AGENT, AGNO = "fast_agent.agents.llm_decorator", "openinference.instrumentation.agno"
LLAMA_INDEX = ("openinference.instrumentation.llama_index", "llamaindex.opentelemetry.tracer")


def changes_agents(scope: str) -> bool:
    """Does a tool that hands over give its session another agent here, of which a span of its own tells (LiveKit)?"""
    return scope == LIVEKIT


def stops_after_turns(scope: str, name: str) -> bool:
    """Does an agent whose stream was called off after its turn end here like one whose tools gave the answer (OpenAI's
    kit)?"""
    return scope in ("openinference.instrumentation.openai_agents", "logfire.openai_agents") or name == _STREAMED


_STREAMED = "AgentRunner.run_streamed"  # under MLflow, which tells what other runs put out


def tells_time(scope: str) -> bool:
    """Is it told here how long a tool took, once it is done (the AI SDK 7)?"""
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


def stops_alike(scope: str, name: str) -> bool:
    """Is this the span of a swarm that ends well when a limit stops it, too (Strands, perhaps without its scope)?"""
    return name == "invoke_swarm" and (not scope or scope.startswith("strands"))


def of_adk(scope: str) -> bool:
    """Is this Google's ADK? It has a span for each tool, asks a model after each that is done, says `stop` of every
    answer, and notes what fails on all that is around it."""
    return scope == "gcp.vertex.agent"


def leaves_flags_out(scope: str) -> bool:
    """Does LoongSuite tell of the tools right below an agent of this scope (AutoGen's)? What came of them it tells, and
    not whether that was an error."""
    return scope == "autogen-core"


def decides_by_models(scope: str) -> bool:
    """Does this tell of Google's ADK, or of AG2, whose agents choose by a model whom they hand over to? Those that ask
    none only run others, one after the other, at once or again and again."""
    return (
        scope == "gcp.vertex.agent"
        or re.search(r"google[_-]adk\b|openinference\.instrumentation\.ag2$", scope) is not None
    )


def in_chats(scope: str) -> bool:
    """Does this tell of AG2's chats, in which who is spoken to may run the tools that the speaker asked for?"""
    return scope in {"opentelemetry.instrumentation.ag2", "openinference.instrumentation.ag2"}


def of_langfuse(scope: str) -> bool:
    """Is this Langfuse's kit for Python? A chain of its is a function of the program's, and of a provider's own tools
    it tells nothing."""
    return scope == "langfuse-sdk"


def of_mcp(scope: str) -> bool:
    """Is this MCP's own kit for Python?"""
    return scope == "mcp-python-sdk"


def relays_tools(scope: str) -> bool:
    """Is this a gateway to servers of MCP, whose spans end well once a server has answered (Envoy's, agentgateway,
    ToolHive, Docker's)?"""
    known = ("envoyproxy/ai-gateway", "agentgateway", "github.com/docker/mcp-gateway")
    return scope in known or scope.startswith("github.com/stacklok/toolhive")


def lists_tools(scope: str, name: str) -> bool:
    """Does this span list the tools of a server in the program's own process, each of which has spans of its own?"""
    return of_mcp(scope) and name == "tools/list"


def of_strands_js(scope: str) -> bool:
    """Is this Strands for JavaScript? Its tool that waits ends well with nothing, and so does a stream given up."""
    return scope == "strands-agents"


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


def asks_for_itself(scope: str) -> bool:
    """Does what frames a run here ask models in words of its own and of its own form, tools among them (Parlant)? What
    the user said and heard, and which tools it ran, no span tells then."""
    return scope.startswith("parlant.")


def guards_first(scope: str) -> bool:
    """Does a guard put its own words here in place of the user's, before an agent is told of them (VoltAgent)?"""
    return scope == "@voltagent/core"


def tells_refusals(scope: str) -> bool:
    """Does this put somebody's refusal of a tool, or that nobody has it, where its result would be (AG2's; CrewAI's
    under Respan, by itself, and where OpenInference listens to its events)?"""
    return scope in _TELL_REFUSALS


_TELL_REFUSALS = (
    "opentelemetry.instrumentation.ag2",
    "crewai",
    "openinference.instrumentation.crewai._event_listener",
)


def opens_before_leave(scope: str) -> bool:
    """Does this, of a kit or of any, open a tool's span before anyone gave leave, and end it like any other? One that
    shows what was given and nothing that came back may wait for leave, or have failed."""
    return _BEFORE_LEAVE.search(scope) is not None


_BEFORE_LEAVE = late(r"openai[_.]agents|^openai-agents$|util\.genai\.handler$|instrumentation\.(?:ag2|google_adk)$")


def in_two_scopes(scope: str) -> bool:
    """Does its instrumentation tell of models under one scope and of functions under another (Mirascope)?"""
    return scope.startswith("mirascope.")


def tells_in_results(scope: str) -> bool:
    """Does this instrumentation tell that a tool failed in the words of its result alone, or in a result of which it
    tells nothing (llm-sdk's agents)?"""
    return _IN_RESULTS.match(scope) is not None


def tells_raised(scope: str) -> bool:
    """Does this framework make a result of what a tool raised, in words that a tool may use, too (`Error: …`), and end
    the span well?"""
    return scope in ("agentscope", "io.agentscope")


_IN_RESULTS = late(
    r"^opentelemetry\.instrumentation\.(?:agno|llamaindex)$|^(?:@hoangvvo/llm-agent|github\.com/hoangvvo/llm-agent)$"
)


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
