"""What single instrumentations are known to leave out or to tell otherwise of model calls, by their scopes."""

from __future__ import annotations

from functools import lru_cache

from otelcov.ground.patterns import late

_GOOGLES = late(r"instrumentation\.google_gen(?:ai|erativeai)$|instrumentation-google-generativeai$")
_OF_CHATS = late(r"microsoft\.opentelemetry\..*openai_agents")
_OF_SESSIONS = late(r"openclaw-(?:cozeloop|fornax)-trace$")


def waits_for_models(scope: str) -> bool:
    """Is this of OpenAI's kit, in which an agent ends after its models, unless it is stopped?"""
    return scope == "openinference.instrumentation.openai_agents"


def asks_once_more(scope: str) -> bool:
    """Is this a kit that at a limit asks the model once more, without tools? That answer looks like any other."""
    return scope in ("agent_framework", "agentscope", "livekit-agents", "opentelemetry.instrumentation.genai.dspy")


def adds_up(scope: str) -> bool:
    """Does this add up what the beginning of a stream and its end say was used, each of all?"""
    return scope == "opentelemetry.instrumentation.anthropic"


def input_as_text(scope: str) -> bool:
    """Does this tell the input of OpenAI's Responses, a list of items, as the text of one user message?"""
    return scope == "@traceloop/instrumentation-openai"


def tells_a_turn_in_one(scope: str) -> bool:
    """Does history tell in one message all that was asked for and came back since the user spoke (AgentScope 2)?"""
    return scope == "agentscope"


def drops_calls(scope: str) -> bool:
    """Does this tell of an answer its text, and what it asks for where there is none (Langtrace for JavaScript), or
    nowhere (agentgateway)?"""
    return scope in ("@langtrase/typescript-sdk", "agentgateway")


def drops_beside_text(scope: str) -> bool:
    """Does this leave out what an answer asks for beside a text (Langtrace)? Later inputs tell it, or what came of it
    at least."""
    return scope.startswith("langtrace_python_sdk.instrumentation.")


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


def tells_text_alone(scope: str, model: str | None) -> bool:
    """Does its history leave out all parts of messages but text (LangSmith's, of Gemini's client)?"""
    return scope == "langsmith" and "gemini" in (model or "")


def tells_last_use(scope: str, name: str) -> bool:
    """Does this tell of a stream's calls the last alone (MLflow's of Bedrock's client, traceAI's of Gemini's)?"""
    return scope == "traceai_google_genai" or (scope.startswith("mlflow") and name == "BedrockRuntime.converse_stream")


def results_as_words(scope: str) -> bool:
    """Does it tell what came back for Gemini's calls as texts of the user's message, an object each (traceAI)?"""
    return scope == "traceai_google_genai"


def results_by_user(scope: str) -> bool:
    """Does its history leave out what was asked for, and tell what came back as the user's?"""
    return scope == "@traceloop/instrumentation-llamaindex"


def tells_keys(scope: str) -> bool:
    """Does this tell of an answer that is an object the names of its fields, as if they were answers (Traceloop's of
    Haystack 2's generators)?"""
    return scope == "opentelemetry.instrumentation.haystack"


def tells_last_piece(scope: str) -> bool:
    """Does this tell of a stream its last piece, and not that it was one?"""
    return scope == "opentelemetry.instrumentation.google_generativeai"


def tells_last_call(scope: str, response_id: str | None) -> bool:
    """Does this tell only the last of the calls that an answer, one of OpenAI's Responses, asks for?"""
    openlit = scope in ("openlit.instrumentation.openai", "@openlit/instrumentation-openai")
    return openlit and (response_id or "").startswith("resp_")


_WITHOUT_FLAGS = late(
    r"^(?:opentelemetry|openlit)\.instrumentation\.(?:genai\.)?(?:bedrock|anthropic)$"
    r"|^@(?:traceloop|openlit)/instrumentation-(?:bedrock|anthropic)$|^mirascope\.llm$|^com\.anthropic\.sdk\."
    r"|^pydantic-ai$"  # in 2.68 what it sends back to a model reads like a result
    r"|^openinference\.instrumentation\.llama_index$"
)


@lru_cache(maxsize=1024)
def drops_flags(scope: str) -> bool:
    """Does this leave out the flag by which a provider's own protocol (toolResult.status, is_error) or the kit
    (Mirascope's `error`, Pydantic AI's `outcome`, LlamaIndex's `is_error`) tells a failed tool? There a text that reads
    like any other says nothing."""
    return _WITHOUT_FLAGS.match(scope) is not None


def keeps_flags(scope: str) -> bool:
    """Does this tell what Anthropic's client was given as it was given, flags and all?"""
    return scope.startswith("openinference.") and scope.endswith("anthropic")


def ends_well_unanswered(scope: str) -> bool:
    """Does this, as long as it writes flat messages, tell no answer of chat completions that failed, or of a stream
    that was given up, and that all of them went well, whatever OpenAI's kit knew (Traceloop's, 0.47, and
    OpenInference's)?"""
    return scope in (
        "opentelemetry.instrumentation.openai_agents",
        "openinference.instrumentation.openai_agents",
        "@arizeai/openinference-instrumentation-openai-agents",
    )


@lru_cache(maxsize=1024)
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
    return scope in _STOPPED or any(r.match(scope) for r in (_OF_CHATS, _OF_SESSIONS))


_STOPPED = ("agentscope", "livekit-agents", "copilot-chat")


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


def says_why(scope: str, name: str) -> bool:
    """Is this a loop that says why it ended, unless it was called off (the AI SDK, Microsoft's Agent Framework,
    Claude's Agent SDK)?"""
    if scope == "openinference.instrumentation.claude_agent_sdk":
        return name.startswith(("ClaudeAgentSDK.query", "ClaudeAgentSDK.ClaudeSDKClient."))
    return (scope in ("gen_ai", "agent_framework") and name.startswith("invoke_agent")) or (
        scope in ("ai", "lmnr.tracer") and name.split(" ")[0] in ("ai.generateText", "ai.streamText")
    )


def tells_words(scope: str, name: str) -> bool:
    """Is this a turn that bears the words of the user that it answers? Without them the program began it (LiveKit)."""
    return scope == "livekit-agents" and name == "agent_turn"


def guards(scope: str) -> bool:
    """Does a kit of guards frame here what was asked and answered? What a model hears or says in it may be about that,
    or not reach the user (NeMo Guardrails)."""
    return scope in ("nemo-guardrails", "nemo_guardrails")


def asks_after_results(scope: str) -> bool:
    """Does this kit run whatever was asked for, and ask a model again after a tool that brought something, unless its
    loop met a limit or was called off (LiveKit)?"""
    return scope == "livekit-agents"


def asks_after_tools(scope: str) -> bool:
    """Does this kit ask a model again after whatever tools ran, unless they hand in the answer (Pydantic AI)?"""
    return scope == "pydantic-ai"


def holds_providers(scope: str) -> bool:
    """Do the spans of models hold those of tools that the provider ran, and of no others (the AI SDK 7)?"""
    return scope == "gen_ai"


def marks_requests(scope: str) -> bool:
    """Is what an answer asks for told by marks below its model's span, each with a tool's name (AgentOps)?"""
    return scope.startswith("agentops.instrumentation.providers.")


def given_by_events(scope: str) -> bool:
    """Is a tool's message in its own span here what the tool was given, and its choice what it gave (Strands)?"""
    return scope.startswith("strands")


def hides_served(scope: str) -> bool:
    """Does this leave out of an answer the tools that its provider ran (OpenLIT for JavaScript and Traceloop's for
    Python, of Anthropic's)?"""
    return scope in ("@openlit/instrumentation-anthropic", "opentelemetry.instrumentation.anthropic")


def tells_blocks(scope: str) -> bool:
    """May each block of an answer have a span of its own, as it reaches Claude's Agent SDK (OpenLIT)?"""
    return scope == "openlit.instrumentation.claude_agent_sdk"


def tells_blocks_apart(scope: str) -> bool:
    """The same, without the answer's id, each after those before it (Weave)?"""
    return scope == "weave.conversation"


def running_sums(scope: str) -> bool:
    """May this instrumentation add up the tokens of several calls?"""
    return "springframework" in scope


def tells_totals(scope: str) -> bool:
    """May this instrumentation tell of an agent's last call what all of them used (Weave, of Claude's Agent SDK)?"""
    return scope == "weave.conversation"


def guesses_tokens(scope: str) -> bool:
    """Does this instrumentation count the words of an answer that streamed by itself, whatever its provider counted?"""
    return scope == "@traceloop/instrumentation-openai"


def writes_parts(scope: str) -> bool:
    """Is what a user says written here as the list of its parts, in JSON (Traceloop, of Google's clients and of
    Bedrock's)?"""
    return scope in _WRITES_PARTS


_WRITES_PARTS = {f"opentelemetry.instrumentation.{of}" for of in ("google_generativeai", "vertexai", "bedrock")}


def counts_at_the_end(scope: str) -> bool:
    """Is what was used told here once an answer is whole, so that one without was broken off, perhaps (Pipecat,
    Mistral's client)?"""
    return scope in ("pipecat", "mistralai_sdk_tracer")


def breaks_unsaid(scope: str) -> bool:
    """Is it told here why each answer ended, or what it used, but of a stream that broke, which is no error (Pydantic
    AI)?"""
    return scope == "pydantic-ai"


def answers_in_pieces(scope: str) -> bool:
    """Is each piece of a streamed answer a message here (BeeAI for Python)?"""
    return scope == "openinference.instrumentation.beeai"
