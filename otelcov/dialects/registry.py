"""All dialects, in the order in which they are asked, and the one pass that turns attributes into facts.

A third party adds a dialect by an entry point of group `otelcov.dialects` that names a `Dialect` object; such
dialects are asked first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import groupby, takewhile
from typing import Any

import numpy as np
import polars as pl

from otelcov.dialects.a2a import A2A
from otelcov.dialects.ag2 import AG2, OPENLIT_AG2
from otelcov.dialects.agenta import AGENTA
from otelcov.dialects.agentops import AGENTOPS
from otelcov.dialects.agents_exports import AGENTS_EXPORTS
from otelcov.dialects.agentscope import AGENTSCOPE
from otelcov.dialects.agentspec import AGENTSPEC
from otelcov.dialects.agentuniverse import AGENTUNIVERSE
from otelcov.dialects.agno import AGNO
from otelcov.dialects.answers import CONTEXT, Answer, Present
from otelcov.dialects.anthropic import ANTHROPIC, ANTHROPIC_STREAMS
from otelcov.dialects.atomic import ATOMIC_AGENTS
from otelcov.dialects.autogen import AUTOGEN
from otelcov.dialects.ax import AX
from otelcov.dialects.axiom import AXIOM
from otelcov.dialects.azure import AGENT_FRAMEWORK, AZURE, MICROSOFT, MICROSOFT_JS
from otelcov.dialects.ballerina import BALLERINA
from otelcov.dialects.base import FACTS, FAMILIES, NUMBERS, Dialect
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

_MOST = 2**40  # no model counts more tokens, and sums of them stay exact; what is beyond is no count
_HEADS, _FEW, _FEWER = (512, 4096), 256, 64  # a column is taken to have few values if so many spans have so many


@cache
def dialects() -> tuple[Dialect, ...]:
    """Built-in dialects, after those of installed third parties."""
    return (*(point.load() for point in plugins("otelcov.dialects")), *DIALECTS)


@cache
def _answers(table: tuple[Dialect, ...]) -> dict[str, list[Answer]]:
    return {
        fact: [Answer.of(e, f"Dialect {d.name!r}, {fact}") for d in table if (e := getattr(d, fact)) is not None]
        for fact in FACTS
    }


@cache
def keys(table: tuple[Dialect, ...]) -> frozenset[str]:
    """Every attribute key that some dialect reads."""
    names = {root for answers in _answers(table).values() for answer in answers for root in answer.roots}
    return frozenset(names - set(CONTEXT))


def facts(attributes: pl.DataFrame, table: tuple[Dialect, ...] | None = None) -> pl.DataFrame:
    """One column per fact, one row per span. `attributes` has a text column per key that occurs, and `CONTEXT`.

    Most answers are attributes as they are, and cost nothing. Of the others most ask for names and kinds, of which
    there are few, so they are worked out once for each distinct row of these; the rest only where those leave gaps.
    """
    table = table or dialects()
    present = set(attributes.columns)
    asked = _asked(table, Present(attributes))
    few = _few(attributes, [a for some in asked.values() for a in some if not a.plain]) or [CONTEXT[0]]
    begins = _begins(attributes, few)
    rows = attributes.select(few)[begins.unique().sort()]
    idle = _idle(rows, present, {answer for some in asked.values() for answer in some})
    asked = {fact: [a for a in some if a not in idle] for fact, some in asked.items()}
    steps = {fact: _steps(fact, some, present, few) for fact, some in asked.items()}
    frame = _with_once(attributes, rows, begins, [step for some in steps.values() for step in some])
    columns = set(frame.columns)
    steps = {fact: [step for step in some if step.once.keys() <= columns] for fact, some in steps.items()}
    cheap = {fact: list(takewhile(lambda step: step.cheap, some)) for fact, some in steps.items()}
    height = CONTEXT[0]  # as many, also where every answer is null
    found = frame.select(height, **{fact: _first(fact, some) for fact, some in cheap.items()}).drop(height)
    gaps = [fact for fact, some in steps.items() if len(some) > len(cheap[fact]) and found[fact].null_count()]
    if gaps:
        every = _with_absent(frame, present, [a for fact in gaps for a in asked[fact]])
        found = found.with_columns(every.select(**{fact: _first(fact, steps[fact]) for fact in gaps}))
    return found


def _asked(table: tuple[Dialect, ...], there: Present) -> dict[str, list[Answer]]:
    """What can tell anything of these spans. One batch bears much the same as another, so what was found is kept."""
    known = table, there.key
    if known not in _ASKED:
        if len(_ASKED) >= _MOST_KNOWN:
            _ASKED.clear()
        there.learn(answer for some in _answers(table).values() for answer in some)
        _ASKED[known] = {fact: [cut for a in some if (cut := a.cut(there))] for fact, some in _answers(table).items()}
    return _ASKED[known]


_ASKED: dict[tuple[Any, ...], dict[str, list[Answer]]] = {}
_MOST_KNOWN = 64


@dataclass(frozen=True)
class _Step:
    """Some answers in a row."""

    expr: pl.Expr  # over the frame
    once: dict[str, list[Answer]]  # over distinct rows, by the name of the frame's column
    cheap: bool


def _steps(fact: str, answers: list[Answer], present: set[str], few: Collection[str]) -> list[_Step]:
    def cost(answer: Answer) -> int:
        return 0 if answer.plain else 1 if all(r in few for r in answer.roots if r in present) else 2

    steps, asked = [], set[str]()  # an attribute that was not there before is not there later
    for at, (height, some) in enumerate(groupby(answers, cost)):
        group = list(some)
        if height == 0:
            roots = dict.fromkeys(root for answer in group for root in answer.roots if root in present)
            named = [pl.col(root) for root in roots if root not in asked]
            asked.update(roots)
            if not named:
                continue
            steps.append(_Step(named[0] if len(named) == 1 else pl.coalesce(named), {}, True))
        elif height == 1:
            steps.append(_Step(pl.col(f"{fact} {at}"), {f"{fact} {at}": group}, True))
        else:
            steps.append(_Step(pl.coalesce([answer.expr for answer in group]), {}, False))
    return steps


def _first(fact: str, steps: list[_Step]) -> pl.Expr:
    exprs = [step.expr for step in steps] or [pl.lit(None, dtype=pl.String)]
    column = exprs[0] if len(exprs) == 1 else pl.coalesce(exprs)
    if fact not in NUMBERS:
        return column
    number = column.cast(pl.Float64, strict=False)
    return pl.when(number.is_between(0, _MOST)).then(number).cast(pl.Int64, strict=False)


def _few(attributes: pl.DataFrame, answers: list[Answer]) -> list[str]:
    """Those of the columns that they ask for that seem to have few values: a column on which nothing depends but what
    is told must have fewer, for seldom is it told."""
    names = sorted({root for answer in answers for root in answer.roots}.intersection(attributes.columns))
    for height in _HEADS:
        head = attributes.head(height)
        counts = {name: count for name in names if (count := head[name].n_unique()) <= _FEW}
        names = list(counts)
    doubtful = {name for name, count in counts.items() if count > _FEWER}
    doubtful -= {root for answer in answers if not doubtful.isdisjoint(answer.roots) for root in answer.deciding}
    return [name for name in names if name not in doubtful]


def _begins(attributes: pl.DataFrame, few: list[str]) -> pl.Series:
    """Of each row, the first that is like it in these columns."""
    numbered = attributes.select(few).with_row_index("_row")
    return numbered.select(pl.col("_row").first().over(few)).to_series()


def _idle(rows: pl.DataFrame, present: Collection[str], answers: Iterable[Answer]) -> set[Answer]:
    """Those that tell nothing, as the distinct rows of columns of few values show: what they ask for never holds."""
    known = {name for answer in answers for name in answer.roots if name not in present} | set(rows.columns)
    asked: dict[Answer, list[pl.Expr]] = {}
    for answer in answers:
        if answer.plain or known.issuperset(answer.roots) or answer.conditions is None:
            continue
        told = [[c for c in some if known.issuperset(c.meta.root_names())] for some in answer.conditions]
        if all(told):
            asked[answer] = [pl.all_horizontal(some) for some in told]
    if not asked:
        return set()
    frame = _with_absent(rows, set(rows.columns), asked)
    held = frame.select(pl.any_horizontal(some).any().alias(str(i)) for i, some in enumerate(asked.values())).row(0)
    return {answer for answer, holds in zip(asked, held, strict=True) if not holds}


def _with_once(attributes: pl.DataFrame, rows: pl.DataFrame, begins: pl.Series, steps: list[_Step]) -> pl.DataFrame:
    """The columns that steps look for, worked out on the distinct `rows`; those that are null are left out."""
    once = {name: answers for step in steps for name, answers in step.once.items()}
    if not once:
        return attributes
    told = _told(rows, once)
    told = told.select(name for name in told.columns if told[name].null_count() < told.height)
    if not told.width:
        return attributes
    place = np.zeros(attributes.height, dtype=np.uint32)
    place[begins.unique().sort().to_numpy()] = np.arange(told.height, dtype=np.uint32)
    return attributes.hstack(told[pl.Series(place[begins.to_numpy()])])


def _told(rows: pl.DataFrame, once: dict[str, list[Answer]]) -> pl.DataFrame:
    """What these answers tell of each row. One batch holds much the same rows as another, so what was told is kept."""
    asked = (*rows.columns, *((name, *answers) for name, answers in once.items()))
    known = _TOLD.get(asked)
    new = rows if known is None else rows.join(known, on=rows.columns, how="anti", nulls_equal=True)
    if known is None or new.height:
        every = _with_absent(new, set(new.columns), [a for some in once.values() for a in some])
        told = new.hstack(every.select(**{name: pl.coalesce([a.expr for a in some]) for name, some in once.items()}))
        known = told if known is None else pl.concat([known, told])
        _keep(asked, told)
    return rows.join(known, on=rows.columns, how="left", nulls_equal=True, maintain_order="left").select(*once)


def _keep(asked: tuple[Any, ...], told: pl.DataFrame) -> None:
    """Add these rows to what is kept for others, where they are few."""
    if told.height > _MOST_ROWS:
        return
    own = pl.DataFrame(told.to_dict(as_series=False), schema=told.schema)  # its texts alone, not all of a batch
    if sum(frame.estimated_size() for frame in [own, *_TOLD.values()]) > _MOST_BYTES:
        _TOLD.clear()
    if own.estimated_size() <= _MOST_BYTES:
        _TOLD[asked] = pl.concat([_TOLD.get(asked, own.clear()), own])


_TOLD: dict[tuple[Any, ...], pl.DataFrame] = {}
_MOST_ROWS, _MOST_BYTES = 2_000, 8 << 20


def _with_absent(frame: pl.DataFrame, present: set[str], answers: Iterable[Answer]) -> pl.DataFrame:
    # Not lazy: to improve a plan of so many expressions takes longer than to carry it out.
    absent = {root for answer in answers for root in answer.roots if root not in present}
    return frame.with_columns([pl.lit(None, dtype=pl.String).alias(name) for name in sorted(absent)])


__all__ = ["CONTEXT", "DIALECTS", "FAMILIES", "dialects", "facts", "keys"]
