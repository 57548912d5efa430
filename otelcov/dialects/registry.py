"""All dialects, in the order in which they are asked.

A third party adds a dialect by an entry point of group `otelcov.dialects` that names a `Dialect` object; such
dialects are asked first. To import all of these takes a while, and is seldom needed: see asked.py.
"""

from __future__ import annotations

from functools import cache

from otelcov.dialects.a2a import A2A
from otelcov.dialects.ag2 import AG2, OPENLIT_AG2
from otelcov.dialects.agenta import AGENTA
from otelcov.dialects.agentops import AGENTOPS
from otelcov.dialects.agents_exports import AGENTS_EXPORTS
from otelcov.dialects.agentscope import AGENTSCOPE
from otelcov.dialects.agentspec import AGENTSPEC
from otelcov.dialects.agentuniverse import AGENTUNIVERSE
from otelcov.dialects.agno import AGNO
from otelcov.dialects.anthropic import ANTHROPIC, ANTHROPIC_STREAMS
from otelcov.dialects.atomic import ATOMIC_AGENTS
from otelcov.dialects.autogen import AUTOGEN
from otelcov.dialects.ax import AX
from otelcov.dialects.axiom import AXIOM
from otelcov.dialects.azure import AGENT_FRAMEWORK, AZURE, MICROSOFT, MICROSOFT_JS
from otelcov.dialects.ballerina import BALLERINA
from otelcov.dialects.base import Dialect
from otelcov.dialects.beeai import BEEAI, BEEAI_JS
from otelcov.dialects.browser_use import BROWSER_USE
from otelcov.dialects.burr import BURR
from otelcov.dialects.by_hand import BY_HAND, LEMMA
from otelcov.dialects.claude_agent import CLAUDE_AGENT, CLAUDE_ENDED, CLAUDE_TEXTS, CLAUDE_UNANSWERED
from otelcov.dialects.cloudflare import CLOUDFLARE
from otelcov.dialects.coding_agents import CODEX, CODEX_SESSIONS, CODING_AGENTS, GEMINI_AGENTS, GEMINI_CLI, QWEN_CODE
from otelcov.dialects.common import COMMON
from otelcov.dialects.copilot import COPILOT, COPILOT_CHAT
from otelcov.dialects.cozeloop import COZELOOP
from otelcov.dialects.crewai import CREWAI
from otelcov.dialects.datadog import DATADOG
from otelcov.dialects.docker_agent import DOCKER_AGENT
from otelcov.dialects.effect import EFFECT
from otelcov.dialects.eino import EINO, EINO_NODES
from otelcov.dialects.elixir import LANGCHAIN_EX
from otelcov.dialects.eve import EVE
from otelcov.dialects.fiddler import FIDDLER
from otelcov.dialects.flue import FLUE
from otelcov.dialects.future_agi import FUTURE_AGI, FUTURE_AGI_PYDANTIC
from otelcov.dialects.gateways import AGENTGATEWAY, BIFROST, CLOUDFLARE_GATEWAY, VLLM
from otelcov.dialects.genai import (
    GENAI,
    GENAI_ECHOES,
    GENAI_KINDS,
    GENAI_NAMES,
    GENAI_WORDS,
    GENAI_WORKFLOWS,
)
from otelcov.dialects.genai_otel import GENAI_OTEL
from otelcov.dialects.genkit import GENKIT
from otelcov.dialects.gigaflow import GIGAFLOW
from otelcov.dialects.goai import GOAI
from otelcov.dialects.google_adk import GOOGLE_ADK, GOOGLE_ADK_THOUGHTS
from otelcov.dialects.grafana import GRAFANA
from otelcov.dialects.griptape import GRIPTAPE
from otelcov.dialects.guardrails import GUARDRAILS, NEMO_GUARDRAILS
from otelcov.dialects.haystack import HAYSTACK, HAYSTACK_PROMPTS
from otelcov.dialects.koog import KOOG
from otelcov.dialects.langfuse import LANGFUSE
from otelcov.dialects.langsmith import LANGSMITH, LANGSMITH_AGENTS
from otelcov.dialects.langtrace import LANGTRACE, LANGTRACE_JS
from otelcov.dialects.laravel import LARAVEL
from otelcov.dialects.lastmile import FAST_AGENT, MCP_AGENT
from otelcov.dialects.litellm import LITELLM
from otelcov.dialects.llama_index import LLAMA_INDEX
from otelcov.dialects.llama_index_otel import LLAMA_INDEX_OTEL
from otelcov.dialects.logfire import LOGFIRE
from otelcov.dialects.mastra import MASTRA, MASTRA_LAMINAR
from otelcov.dialects.mcp import MCP, MCP_USE
from otelcov.dialects.mistral import MISTRAL
from otelcov.dialects.mlflow import MLFLOW, MLFLOW_METHODS
from otelcov.dialects.monocle import MONOCLE
from otelcov.dialects.neatlogs import NEATLOGS
from otelcov.dialects.neurolink import NEUROLINK
from otelcov.dialects.observers import CONFIDENT, DATAROBOT, GALILEO, HONEYHIVE, JUDGEVAL, KIBANA, NETRA, UPSONIC, WEAVE
from otelcov.dialects.openai_php import OPENAI_PHP
from otelcov.dialects.openclaw import OPENCLAW
from otelcov.dialects.openinference import (
    OPENAI_AGENTS,
    OPENAI_AGENTS_TOOLS,
    OPENINFERENCE,
    OPENINFERENCE_MADE_UP,
    OPENINFERENCE_REQUESTS,
)
from otelcov.dialects.openlit import OPENLIT, OPENLIT_GUESSES, OPENLIT_NODES
from otelcov.dialects.openllmetry import (
    OPENLLMETRY,
    OPENLLMETRY_FLOWS,
    OPENLLMETRY_HOLDERS,
    OPENLLMETRY_LANGCHAIN_JS,
    OPENLLMETRY_LANGCHAIN_MUTE,
    OPENLLMETRY_MCP,
    OPENLLMETRY_NAMES,
    OPENLLMETRY_TASKS,
    OPENLLMETRY_TEAMS,
    RAINDROP,
)
from otelcov.dialects.platforms import (
    BRAINTRUST,
    LAMINAR,
    LANGWATCH,
    LIVEKIT,
    LIVEKIT_MODELS,
    PIPECAT,
    PIPECAT_MODELS,
    PROMPTFLOW,
    TRULENS,
    TRULENS_GRAPHS,
)
from otelcov.dialects.pydantic_ai import PYDANTIC_AI, PYDANTIC_AI_OUTPUTS
from otelcov.dialects.renamed import RENAMED
from otelcov.dialects.respan import RESPAN
from otelcov.dialects.rig import RIG
from otelcov.dialects.ruby import LLM_RB
from otelcov.dialects.semantic_kernel import SEMANTIC_KERNEL
from otelcov.dialects.smolagents import DSPY, SMOLAGENTS
from otelcov.dialects.spring_ai import EMBABEL, LANGCHAIN4J, SPRING_AI
from otelcov.dialects.strands import STRANDS
from otelcov.dialects.swarms import SWARMS
from otelcov.dialects.tanstack import TANSTACK
from otelcov.dialects.trpc import TRPC
from otelcov.dialects.vercel import VERCEL, VERCEL_LOOPS
from otelcov.dialects.voltagent import VOLTAGENT
from otelcov.ground.plugins import plugins

# The most telling first: a framework's own mark, then the conventions, then names alone.
DIALECTS: tuple[Dialect, ...] = (
    ANTHROPIC,
    ANTHROPIC_STREAMS,
    AG2,
    OPENLIT_AG2,
    AGENTA,
    *AGENTS_EXPORTS,
    AGENTSPEC,
    AGENTUNIVERSE,
    OPENAI_AGENTS,
    OPENAI_AGENTS_TOOLS,
    MICROSOFT_JS,
    CREWAI,
    BEEAI,
    BEEAI_JS,
    LLAMA_INDEX,
    LLAMA_INDEX_OTEL,
    HAYSTACK_PROMPTS,
    LITELLM,
    BIFROST,
    CLOUDFLARE_GATEWAY,
    AGENTGATEWAY,
    VLLM,
    OPENCLAW,
    COZELOOP,
    AX,
    AXIOM,
    BROWSER_USE,
    BURR,
    EFFECT,
    EVE,
    FLUE,
    ATOMIC_AGENTS,
    AGENTSCOPE,
    DATADOG,
    COPILOT,
    COPILOT_CHAT,
    DOCKER_AGENT,
    BALLERINA,
    EINO,
    GOAI,
    LANGCHAIN_EX,
    LLM_RB,
    RIG,
    TRPC,
    KOOG,
    LARAVEL,
    GRAFANA,
    FUTURE_AGI,
    FUTURE_AGI_PYDANTIC,
    MCP_AGENT,
    FAST_AGENT,
    MISTRAL,
    NEUROLINK,
    TANSTACK,
    CLAUDE_AGENT,
    CLAUDE_ENDED,
    CLAUDE_UNANSWERED,
    CLAUDE_TEXTS,
    CLOUDFLARE,
    CODING_AGENTS,
    QWEN_CODE,
    CODEX,
    CODEX_SESSIONS,
    GEMINI_AGENTS,
    LOGFIRE,
    PYDANTIC_AI_OUTPUTS,
    MASTRA,
    MASTRA_LAMINAR,
    NEATLOGS,
    SPRING_AI,
    LANGCHAIN4J,
    EMBABEL,
    SEMANTIC_KERNEL,
    AGENTOPS,
    LANGWATCH,
    BRAINTRUST,
    NETRA,
    JUDGEVAL,
    KIBANA,
    HONEYHIVE,
    CONFIDENT,
    DATAROBOT,
    UPSONIC,
    WEAVE,
    RESPAN,
    GOOGLE_ADK_THOUGHTS,
    FIDDLER,
    GENAI_OTEL,
    AZURE,
    MICROSOFT,
    AGENT_FRAMEWORK,
    AGNO,
    AUTOGEN,
    GUARDRAILS,
    NEMO_GUARDRAILS,
    GRIPTAPE,
    GALILEO,
    GIGAFLOW,
    LANGTRACE,
    LANGTRACE_JS,
    SMOLAGENTS,
    DSPY,
    STRANDS,
    SWARMS,
    VOLTAGENT,
    VERCEL_LOOPS,
    OPENLIT_NODES,
    OPENLIT_GUESSES,
    MLFLOW_METHODS,
    OPENLLMETRY_FLOWS,
    OPENLLMETRY_TASKS,
    OPENINFERENCE_MADE_UP,
    OPENINFERENCE_REQUESTS,
    GENAI_WORKFLOWS,
    OPENINFERENCE,
    VERCEL,
    LANGSMITH_AGENTS,
    LANGSMITH,
    OPENLLMETRY_MCP,
    OPENLLMETRY_TEAMS,
    OPENLLMETRY_HOLDERS,
    GENAI_ECHOES,
    OPENLLMETRY_LANGCHAIN_JS,
    OPENLLMETRY_LANGCHAIN_MUTE,
    MCP_USE,
    RAINDROP,
    GOOGLE_ADK,
    EINO_NODES,
    TRULENS_GRAPHS,
    LIVEKIT_MODELS,
    PIPECAT_MODELS,
    GENAI,
    OPENLLMETRY,
    PYDANTIC_AI,
    LANGFUSE,
    MLFLOW,
    HAYSTACK,
    GENKIT,
    LAMINAR,
    TRULENS,
    PROMPTFLOW,
    LIVEKIT,
    PIPECAT,
    OPENAI_PHP,
    MONOCLE,
    MCP,
    A2A,
    OPENLIT,
    GENAI_KINDS,
    GENAI_NAMES,
    OPENLLMETRY_NAMES,
    GEMINI_CLI,
    GENAI_WORDS,
    RENAMED,
    LEMMA,
    COMMON,
    BY_HAND,
)


@cache
def dialects() -> tuple[Dialect, ...]:
    """Built-in dialects, after those of installed third parties."""
    return (*(point.load() for point in plugins("otelcov.dialects")), *DIALECTS)
