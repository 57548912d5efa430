"""A message of a chat: its text, the tool calls it asks for, the results it brings."""

from __future__ import annotations

from dataclasses import dataclass, field

from otelcov.ground.patterns import late
from otelcov.runs.content.jsontext import UNGIVEN, Value

ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "tool-response": "tool",
    "tool-call": "assistant",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "HumanMessageChunk": "user",
    "ToolMessageChunk": "tool",
    "chatbot": "assistant",
    "gen_ai.user.message": "user",
    "gen_ai.system.message": "system",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}


def role_of(told: str) -> str:
    """The role by its name in any language's casing, of an enumeration or not: `User`, `MessageRole.ASSISTANT`."""
    return ROLES.get(told) or ROLES.get(told.rpartition(".")[2].lower(), told)


@dataclass(slots=True)
class Result:
    """What came back to the model for a request. `error` is None where the message has no flag for it."""

    id: str | None
    name: str | None
    content: Value = None
    error: bool | None = None

    def told(self) -> bool:
        """Is anything known of it?"""
        return self.content is not None or self.error is not None


@dataclass(slots=True)
class Request:
    """A tool call that a model asked for. `arguments` is an object, or the text as it came. `served` is what came of it
    where the provider ran the tool itself, before it answered."""

    id: str | None
    name: str | None
    arguments: Value = None
    served: Result | None = None


@dataclass(slots=True)
class Message:
    role: str
    text: str | None = None
    requests: list[Request] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    finish_reason: str | None = None
    name: str | None = None
    unreadable: bool = False
    partial: bool = False  # it may have brought more results than the one that is told
    nameless: bool = False  # it asks for tools of which no name is told


def as_text(value: Value) -> str | None:
    """An id or a tool's name; None for words that stand where there is none, or where it lay too deep to be told."""
    if isinstance(value, str):
        return value if value and not (value[0] in "<[" and _NONE.match(value)) else None
    return str(value) if isinstance(value, int) else None


_NONE = late(rf"{UNGIVEN.pattern}|^\[[\w ]+\]$")  # `[MaxDepth]`, `[Circular]`
