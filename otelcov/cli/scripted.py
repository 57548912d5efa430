"""Two agents that follow a script instead of a model, instrumented by hand after the OpenTelemetry GenAI conventions.

What they leave on the wire is what a real agent's instrumentation leaves: one `invoke_agent` span a run, `chat` spans
with their messages, `execute_tool` spans with arguments and results, a nested `invoke_agent` for a delegation.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count

from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

CONFIG = """\
# What the demo's agents may do.
[agents.planner]
entry = true
tools = ["search_hotels", "get_weather", "convert_currency"]
restricted = ["cancel_booking"]
delegates_to = ["worker"]

[agents.worker]
tools = ["book_hotel", "send_confirmation", "charge_card"]
restricted = ["refund_payment"]

[tools.book_hotel]
side_effects = "write"

[models."gpt-4o"]
[models."claude-sonnet-4-5"]
[models."gemini-2.5-pro"]
"""

TOOLS = {
    "planner": ("search_hotels", "get_weather", "convert_currency", "cancel_booking", "delegate_to_worker"),
    "worker": ("book_hotel", "send_confirmation", "charge_card", "refund_payment"),
}
MODELS = {"planner": ("gpt-4o", "gpt-4o-2024-08-06", "openai"), "worker": ("claude-sonnet-4-5",) * 2 + ("anthropic",)}
MAX_TURNS = 3


class MaxTurnsExceeded(Exception):
    """The agent asked for tools once more after its last allowed turn."""


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: dict[str, object] = field(default_factory=dict)
    result: str = "done"
    error: type[Exception] | None = None
    worker: Task | None = None  # this call hands the task over


@dataclass(frozen=True)
class Task:
    """A request, the calls of each turn, and the answer."""

    text: str
    turns: tuple[tuple[Call, ...], ...] = ()
    answer: str = "Done."
    model_error: type[Exception] | None = None


SEARCH = Call("search_hotels", {"city": "Rome"}, '["Hotel Forum", "Hotel Trevi"]')
SEARCH_FAILS = Call("search_hotels", {"city": "Rome"}, error=ConnectionError)
WEATHER = Call("get_weather", {"city": "Rome"}, "sunny, 21 C")
BOOK = Call("book_hotel", {"hotel": "Hotel Forum", "nights": 2}, "booked, ref H-77")
BOOK_FAILS = Call("book_hotel", {"hotel": "Hotel Forum", "nights": 2}, error=ConnectionError)
CONFIRM = Call("send_confirmation", {"reference": "H-77"}, "sent")
CHARGE = Call("charge_card", {"amount": 240}, "charged")
CANCEL = Call("cancel_booking", {"reference": "H-12"}, "cancelled")


def delegate(*turns: tuple[Call, ...]) -> Call:
    task = Task("book Hotel Forum for 2 nights", turns, "Booked, ref H-77.")
    return Call("delegate_to_worker", {"task": task.text}, task.answer, worker=task)


TESTS = (
    Task("A hotel in Rome, please", ((SEARCH,), (delegate((BOOK,)),)), "Booked, ref H-77."),
    Task("How is the weather in Rome?", ((WEATHER,),), "Sunny, 21 C."),
    Task("Hotels in Rome?", ((SEARCH_FAILS,), (SEARCH,)), "Forum or Trevi."),
    Task("Say hello", answer="Hello!"),
    Task("", answer="What can I do for you?"),
)

PRODUCTION = (
    *[Task("A hotel in Rome, please", ((SEARCH,), (delegate((BOOK,)),)), "Booked, ref H-77.")] * 8,
    *[Task("How is the weather in Rome?", ((WEATHER,),), "Sunny, 21 C.")] * 6,
    *[Task("Hotels and weather in Rome?", ((SEARCH, WEATHER),), "Sunny; Forum or Trevi.")] * 4,
    *[Task("Book and confirm by mail", ((SEARCH,), (delegate((BOOK,), (CONFIRM,)),)), "Booked and confirmed.")] * 4,
    *[Task("Book it, whatever it takes", ((SEARCH,), (delegate((BOOK_FAILS,), (BOOK,)),)), "Booked.")] * 2,
    *[Task("Hello", answer="Hello!")] * 2,
    Task("Cancel booking H-12", ((CANCEL,),), "Cancelled."),
    Task("Try until it works", ((SEARCH_FAILS,), (SEARCH_FAILS,), (SEARCH_FAILS,), (SEARCH_FAILS,))),
    Task("Are you there?", model_error=TimeoutError),
    Task("", answer="What can I do for you?"),
)


def run(tracer: Tracer, task: Task, conversation: str) -> None:
    """One request to the planner. Its exceptions end on the spans, as they would in a server."""
    ids = count()
    with suppress(MaxTurnsExceeded, TimeoutError):
        _agent(tracer, "planner", task, conversation, ids)


def _agent(tracer: Tracer, agent: str, task: Task, conversation: str, ids: Iterator[int]) -> str:
    model, _, provider = MODELS[agent]
    messages = [_message("user", *([{"type": "text", "content": task.text}] if task.text else []))]
    with _span(tracer, f"invoke_agent {agent}", SpanKind.INTERNAL) as span:
        span.set_attributes(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.provider.name": provider,
                "gen_ai.agent.name": agent,
                "gen_ai.conversation.id": conversation,
                "gen_ai.request.model": model,
                "gen_ai.input.messages": json.dumps(messages),
                "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": tool} for tool in TOOLS[agent]]),
            }
        )
        for number, calls in enumerate(task.turns):
            asked = [(f"call_{conversation}_{next(ids)}", call) for call in calls]
            _chat(tracer, agent, task, messages, asked)
            if number == MAX_TURNS:
                raise MaxTurnsExceeded(f"Max turns ({MAX_TURNS}) exceeded")
            for call_id, call in asked:
                response = _tool(tracer, agent, call_id, call, conversation, ids)
                part = {"type": "tool_call_response", "id": call_id, "response": response}
                messages.append(_message("tool", part))
        _chat(tracer, agent, task, messages, [])
        span.set_attribute("gen_ai.output.messages", json.dumps([{**messages[-1], "finish_reason": "stop"}]))
    return task.answer


def _chat(
    tracer: Tracer, agent: str, task: Task, messages: list[dict[str, object]], asked: list[tuple[str, Call]]
) -> None:
    model, response_model, provider = MODELS[agent]
    with _span(tracer, f"chat {model}", SpanKind.CLIENT) as span:
        read = json.dumps(messages)
        span.set_attributes(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider,
                "gen_ai.request.model": model,
                "gen_ai.input.messages": read,
            }
        )
        if task.model_error:
            raise task.model_error("the model did not answer in time")
        time.sleep(0.002)
        parts: list[dict[str, object]] = [
            {"type": "tool_call", "id": call_id, "name": call.tool, "arguments": call.arguments}
            for call_id, call in asked
        ]
        message = _message("assistant", *(parts or [{"type": "text", "content": task.answer}]))
        reason = "tool_call" if asked else "stop"
        written = json.dumps([{**message, "finish_reason": reason}])
        span.set_attributes(
            {
                "gen_ai.response.model": response_model,
                "gen_ai.response.finish_reasons": [reason],
                "gen_ai.usage.input_tokens": len(read) // 4,
                "gen_ai.usage.output_tokens": len(written) // 4,
                "gen_ai.output.messages": written,
            }
        )
        messages.append(message)


def _tool(tracer: Tracer, agent: str, call_id: str, call: Call, conversation: str, ids: Iterator[int]) -> str:
    """What the model is told: the result, or the error that the tool ended in."""
    try:
        with _span(tracer, f"execute_tool {call.tool}", SpanKind.INTERNAL) as span:
            span.set_attributes(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": call.tool,
                    "gen_ai.tool.type": "function",
                    "gen_ai.tool.call.id": call_id,
                    "gen_ai.tool.call.arguments": json.dumps(call.arguments),
                    "gen_ai.agent.name": agent,
                }
            )
            time.sleep(0.001)
            if call.error:
                raise call.error(f"{call.tool} is not reachable")
            result = _agent(tracer, "worker", call.worker, conversation, ids) if call.worker else call.result
            span.set_attribute("gen_ai.tool.call.result", result)
            return result
    except ConnectionError as error:
        return f"Error: {error}"


@contextmanager
def _span(tracer: Tracer, name: str, kind: SpanKind) -> Iterator[Span]:
    """A current span that carries its exception as the conventions say: status, `error.type` and an event."""
    with tracer.start_as_current_span(name, kind=kind, set_status_on_exception=False) as span:
        try:
            yield span
        except (ConnectionError, TimeoutError, MaxTurnsExceeded) as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR, str(error))
            raise


def _message(role: str, *parts: Mapping[str, object]) -> dict[str, object]:
    return {"role": role, "parts": list(parts)}
