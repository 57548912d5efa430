"""A tool call, as its witnesses tell of it."""

from __future__ import annotations

from typing import Any

from otelcov.runs.content.chat import Result
from otelcov.runs.content.shortened import shortened
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.habits import fails_unsaid
from otelcov.runs.tools.executions import span_fact
from otelcov.runs.trace.tree import Node


class ToolCall:
    """One call. `asked_by` is the model call whose answer holds the request; `nodes` are its spans, outermost first."""

    __slots__ = (
        "agent",
        "answer",
        "arguments",
        "asked_by",
        "call_id",
        "delegates_to",
        "doubles",
        "end",
        "evidence",
        "from_memory",
        "may_have_run",
        "name",
        "nodes",
        "position",
        "result_of",
        "seeks_flag",
        "start",
        "turn",
    )

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.agent: str | None = None
        self.call_id: str | None = None
        self.arguments: Any = None  # as the request or the span gave them
        self.asked_by: ModelCall | None = None
        self.turn: int | None = None
        self.position = 0
        self.nodes: list[Node] = []
        self.answer: Result | None = None  # what a later input brought back
        self.result_of: ModelCall | None = None  # the call in whose input the answer stands
        self.evidence: set[str] = set()
        self.start = 0
        self.end = 0
        self.delegates_to: str | None = None
        self.doubles: list[ToolCall] = []  # this and others of its turn, any of which its spans may have run
        self.seeks_flag = False  # some input of the run has the flag of a tool that failed, perhaps of this one
        self.from_memory = False  # the framework answered it with an earlier call's result
        self.may_have_run = False  # some tool of which nothing is told ran after it was asked for, perhaps this one


def awaits_result(call: ToolCall) -> bool:
    """Could an input still tell something about this call? A span that holds the result has told it all, if it is this
    call's for sure and that no frame that a model may not have seen, except whether it failed."""
    if call.answer is not None or call.turn is None:
        return False
    return (
        call.seeks_flag
        or not call.nodes
        or bool(call.doubles)
        or span_fact(call.nodes, "result") is None
        or framed(call) is not None
        or cut_by_hand(call)
    )


def cut_by_hand(call: ToolCall) -> bool:
    """Did a program cut the text that a span tells of what came of it?"""
    told = span_fact(call.nodes, "result") if call.nodes else None
    return isinstance(told, str) and shortened(told, bare=True)


def awaits_flag(call: ToolCall) -> bool:
    """Could an input still tell whether this call failed, of which its span tells the result alone? One without its
    words does not."""
    return (call.answer is None or call.answer.content is None) and any(
        n.span.tool_error == "untold" or fails_unsaid(n.span.scope, n.span.name) for n in call.nodes
    )


def framed(call: ToolCall) -> str | None:
    """What a span tells of a result in a frame, of which the model saw no more than a part: FastMCP makes one of each
    text, for clients alone; opencode's tools give a title and numbers beside what they put out; those of OpenHands have
    fields of their own, and no content."""
    told = span_fact(call.nodes, "result") if call.nodes else None
    if not isinstance(told, str) or told[:1] != "{":
        return None
    served = told.startswith('{"result":') and any("mcp" in n.span.scope for n in call.nodes)
    bare = told.startswith('{"content":[],')
    return told if served or bare or ('"output":' in told and '"title":' in told) else None


def short_id(id: str, tool: str | None) -> str:
    """The id by which a model knows a call: without the tool's name, which Gemini CLI puts before the model's own, or
    before one that begins with it already."""
    return id[len(tool) + 2 :] if tool and id.startswith(f"{tool}__") and len(id) > len(tool) + _SHORTEST else id


_SHORTEST = 8  # letters, with the two between: by fewer calls are counted in each answer alone


def broke_off(call: ToolCall) -> bool:
    """Did the call of the model fail, in a stream, before it had told what the tool is given? Nobody could run it."""
    asker = call.asked_by
    if asker is None or asker.error is None or call.arguments not in (None, ""):
        return False
    return any(x.text for x in asker.inputs or ())  # else what was said may be left out


def asks_leave(call_id: str | None) -> bool:
    """Is this what one of OpenAI's Responses asks leave for, to run it on a server once somebody gave that?"""
    return call_id is not None and call_id.startswith("mcpr_")
