"""Asking a model: typed answers through pydantic-ai, with retries, a budget, and a memory of what was paid.

An answer that does not come, a refusal and an answer of the wrong form are missing data, told by a word; nothing that a
judge's endpoint does ends the judgement. Two kinds of errors would only be repeated by every further call (a wrong key,
a spent quota, a model that does not exist; an endpoint that cannot be reached): they stop the asking, not the report.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from otelcov.ground.config import Judge as Settings
from otelcov.ground.errors import ConfigError
from otelcov.judge.ledger import Answer, Ledger, question

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from pydantic_ai.models import Model

_MOST_WAIT_S = 60.0  # of one back-off, whatever the endpoint asks for
_AGAIN = (408, 409, 425)  # beside 429 and 5xx
_UNREACHABLE = 5  # calls in a row without a connection, then nobody is asked any more
_ANSWER_TOKENS = 200  # guessed for one answer


@dataclass
class Budget:
    """What may still be spent. A call reserves before it is sent, so that many at once do not overspend."""

    max_calls: int | None = None
    max_tokens: int | None = None
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    _reserved_calls: int = field(default=0, repr=False)
    _reserved_tokens: int = field(default=0, repr=False)

    def reserve(self, tokens: int, calls: int = 1) -> bool:
        wanted_calls = self.calls + self._reserved_calls + calls
        wanted_tokens = self.input_tokens + self.output_tokens + self._reserved_tokens + tokens * calls
        if (self.max_calls is not None and wanted_calls > self.max_calls) or (
            self.max_tokens is not None and wanted_tokens > self.max_tokens
        ):
            return False
        self._reserved_calls += calls
        self._reserved_tokens += tokens * calls
        return True

    def settle(self, tokens: int, reserved: int, calls: int, input_tokens: int, output_tokens: int) -> None:
        self._reserved_calls -= reserved
        self._reserved_tokens -= tokens * reserved
        self.calls += calls
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens


def guessed_tokens(*texts: str) -> int:
    """About four characters a token, in any tokenizer near enough for a plan."""
    return sum(len(text) for text in texts) // 4 + _ANSWER_TOKENS


def price(settings: Settings, input_tokens: int, output_tokens: int) -> float | None:
    """In the currency of the config's prices; None where no price is known."""
    if settings.price_input is None or settings.price_output is None:
        return None
    return (input_tokens * settings.price_input + output_tokens * settings.price_output) / 1e6


def key_of(settings: Settings, environ: Mapping[str, str] | None = None) -> tuple[str, str | None]:
    """The name of the variable that holds the key, and the key."""
    environ = os.environ if environ is None else environ
    name = settings.api_key_env or ("ANTHROPIC_API_KEY" if _split(settings)[0] == "anthropic" else "OPENAI_API_KEY")
    return name, environ.get(name) or None


def can_ask(settings: Settings, environ: Mapping[str, str] | None = None) -> str | None:
    """Why no model can be asked; None where one can. A local server needs no key."""
    if settings.model is None:
        return "no judge model is configured ([judge] model or --judge-model)"
    name, key = key_of(settings, environ)
    if key is None and (settings.base_url is None or settings.api_key_env is not None):
        return f"{name} is not set"
    return None


class Client:
    """A judge that can be asked many questions at once. Close it by leaving `async with`."""

    def __init__(self, settings: Settings, ledger: Ledger, tracing: TracerProvider | None = None) -> None:
        self.settings = settings
        self.ledger = ledger
        self.budget = Budget(settings.max_calls, settings.max_tokens)
        self.stopped: str | None = None  # why nobody is asked any more
        self.retry_missing = False
        self._model: Model = _model(settings)
        self._room = asyncio.Semaphore(settings.concurrency)
        self._under_way: dict[str, asyncio.Future[Answer]] = {}
        self._unreachable = 0
        self._agents: dict[tuple[str, type[BaseModel], bool], Any] = {}
        self._tracer = _tracing(tracing).get_tracer("otelcov.judge")
        self._capabilities = [_instrumentation(tracing)] if tracing is not None else []

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        close = getattr(getattr(self._model, "client", None), "close", None)
        if close is not None:
            await close()

    async def ask(
        self, name: str, instructions: str, data: str, shape: type[BaseModel], judged: str, repeat: int = 0
    ) -> Answer:
        """The answer to one question: from the ledger, from the same question under way, or paid for now."""
        key = question(str(self.settings.model), instructions, data, _shape(shape, self.settings), repeat)
        known = self.ledger.get(key)
        if known is not None and not (known.missing and self.retry_missing):
            return known
        if key in self._under_way:
            return replace(await asyncio.shield(self._under_way[key]), paid_before=True)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._under_way[key] = future
        answer = Answer(None, "failed")
        try:
            async with self._room:
                answer = await self._paid(name, instructions, data, shape)
                if answer.value is not None or answer.missing in ("refused", "malformed"):
                    self.ledger.put(key, name, str(self.settings.model), judged, answer)
        finally:
            future.set_result(answer)
            del self._under_way[key]
        return answer

    async def _paid(self, name: str, instructions: str, data: str, shape: type[BaseModel]) -> Answer:
        tokens = guessed_tokens(instructions, data)
        answer = Answer(None, "failed")
        for attempt in range(self.settings.attempts):
            if self.stopped is not None:
                return Answer(None, self.stopped)
            reserved = 2 if self.budget.reserve(tokens, 2) else 1 if self.budget.reserve(tokens) else 0
            if not reserved:
                return Answer(None, "budget")
            answer, wait = await self._once(name, instructions, data, shape, again=reserved == 2)
            calls = max(1, answer.requests)
            self.budget.settle(tokens, reserved, calls, answer.input_tokens, answer.output_tokens)
            if wait is None:
                return answer
            if attempt + 1 < self.settings.attempts:
                backoff = self.settings.backoff_ns / 1e9 * 2**attempt
                await asyncio.sleep(min(_MOST_WAIT_S, max(wait, backoff)))
        return answer

    async def _once(
        self, name: str, instructions: str, data: str, shape: type[BaseModel], again: bool
    ) -> tuple[Answer, float | None]:
        """One call: the answer, and how long to wait before the next attempt (None: no further attempt)."""
        import openai
        from pydantic_ai import exceptions
        from pydantic_ai.usage import RunUsage

        usage = RunUsage()
        missing, wait = "failed", None
        value: dict[str, Any] | None = None
        with self._tracer.start_as_current_span(f"judge {name}") as span:
            span.set_attribute("otelcov.judge.metric", name)
            context = span.get_span_context()
            try:
                async with asyncio.timeout(self.settings.timeout_ns / 1e9):
                    agent = self._agent(instructions, shape, again)
                    result = await agent.run(data, model_settings=_options(self.settings), usage=usage)
                value = result.output.model_dump(mode="json")
            except (TimeoutError, exceptions.ModelTimeoutError):
                missing, wait = "timeout", 0.0
            except exceptions.ModelQuotaExceededError as error:
                missing = self._stop("quota", error)
            except exceptions.ModelRateLimitError as error:
                missing, wait = "rate_limited", error.retry_after or 0.0
            except (exceptions.ModelServerError, exceptions.ModelUnavailableError) as error:
                missing, wait = "server_error", error.retry_after or 0.0
            except exceptions.ModelConnectionError as error:
                self._unreachable += 1
                missing, wait = "connection", 0.0
                if self._unreachable >= _UNREACHABLE:
                    missing, wait = self._stop("connection", error), None
            except (exceptions.ModelAuthenticationError, exceptions.ModelNotFoundError) as error:
                missing = self._stop("unauthorized", error)
            except exceptions.ModelRequestRejectedError:
                missing = "rejected"
            except exceptions.ModelHTTPError as error:  # no answer came, so none is kept
                missing, wait = "rejected", None
                if error.status_code in _AGAIN:
                    missing, wait = "server_error", 0.0
            except exceptions.ContentFilterError:
                missing = "refused"
            except (exceptions.AgentRunError, openai.OpenAIError, ValueError, LookupError, TypeError, AttributeError):
                # What is left: an answer of the wrong form, or a body that is no answer at all, over which the
                # provider's client may stumble.
                missing = "malformed"
            else:
                self._unreachable = 0
            if value is None:
                span.set_attribute("error.type", missing)
        traced = context.is_valid
        return (
            Answer(
                value,
                None if value is not None else missing,
                usage.requests,
                usage.input_tokens,
                usage.output_tokens,
                f"{context.trace_id:032x}" if traced else None,
                f"{context.span_id:016x}" if traced else None,
            ),
            wait if value is None else None,
        )

    def _agent(self, instructions: str, shape: type[BaseModel], again: bool) -> Any:
        """An agent a metric, made once. `again`: it may ask a second time where an answer does not fit."""
        from pydantic_ai import Agent

        key = (instructions, shape, again)
        if key not in self._agents:
            self._agents[key] = Agent(
                self._model,
                name="otelcov-judge",
                output_type=_typed(shape, self.settings),
                instructions=instructions,
                retries={"output": 1 if again else 0},
                capabilities=self._capabilities,
            )
        return self._agents[key]

    def _stop(self, word: str, error: Exception) -> str:
        self.stopped = word
        self.why = str(error)
        return word

    why: str = ""


def _split(settings: Settings) -> tuple[str, str]:
    """Provider and name. Only known providers are prefixes: `llama3:8b` is a name."""
    provider, colon, name = (settings.model or "").partition(":")
    return (provider, name) if colon and provider in ("openai", "anthropic") else ("openai", settings.model or "")


def _model(settings: Settings) -> Model:
    provider, name = _split(settings)
    _, key = key_of(settings)
    timeout = settings.timeout_ns / 1e9
    try:
        if provider == "anthropic":
            from anthropic import AsyncAnthropic
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            speaker = AsyncAnthropic(api_key=key, base_url=settings.base_url, max_retries=0, timeout=timeout)
            return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=speaker))
        from openai import AsyncOpenAI
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        # Retries are ours: an attempt that the SDK makes on its own would be in no budget.
        client = AsyncOpenAI(api_key=key or "none", base_url=settings.base_url, max_retries=0, timeout=timeout)
        return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))
    except ImportError as error:
        raise ConfigError(
            f"Couldn't ask {settings.model}: {error.name} is not installed. Try: pip install 'otelcov[judge]'"
        ) from None


def _typed(shape: type[BaseModel], settings: Settings) -> Any:
    from pydantic_ai import NativeOutput, PromptedOutput, ToolOutput

    return {"prompted": PromptedOutput, "tool": ToolOutput, "native": NativeOutput}[settings.output](shape)


def _options(settings: Settings) -> Any:
    return {} if settings.temperature is None else {"temperature": settings.temperature}


def _shape(shape: type[BaseModel], settings: Settings) -> str:
    import json

    return f"{settings.output} {settings.temperature} {json.dumps(shape.model_json_schema(), sort_keys=True)}"


def _tracing(provider: TracerProvider | None) -> Any:
    from opentelemetry.trace import NoOpTracerProvider

    return provider if provider is not None else NoOpTracerProvider()


def _instrumentation(provider: TracerProvider) -> Any:
    """Spans of the judge's model calls, without content: it is in the judged spans already."""
    from opentelemetry.metrics import NoOpMeterProvider
    from pydantic_ai import InstrumentationSettings
    from pydantic_ai.capabilities import Instrumentation

    return Instrumentation(
        InstrumentationSettings(
            tracer_provider=provider,
            meter_provider=NoOpMeterProvider(),
            include_content=False,
            include_model_request_parameters=False,
        )
    )
