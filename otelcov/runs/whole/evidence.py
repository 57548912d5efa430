"""What is known of a run when its end is judged."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar

from otelcov.dialects.base import AGENT, TOOL
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.llm.unheard import unheard
from otelcov.runs.rules.habits import mute, untold
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.trace.above import Above
from otelcov.runs.trace.tree import Node

R = TypeVar("R")


@dataclass
class Evidence:
    root: Node
    nodes: list[Node]
    calls: list[ModelCall]  # by turn
    tools: list[ToolCall]  # in canonical order, delegations left out
    outcomes: list[Outcome]  # of the tools
    visible: bool  # a tool call would have shown itself
    input: str | None
    output: str | None
    ways: frozenset[str] = frozenset()  # tools by their look, by which answers are handed in
    offered: Collection[str] | None = None
    judged: dict[object, Any] = field(default_factory=dict)  # see `once`

    @cached_property
    def unheard(self) -> list[ModelCall]:
        """The model calls that may have failed."""
        return unheard(self.calls)

    @cached_property
    def last(self) -> ModelCall | None:
        return self.calls[-1] if self.calls else None

    @cached_property
    def done(self) -> list[tuple[ToolCall, Outcome]]:
        """The tools, each with what came of it."""
        return list(zip(self.tools, self.outcomes, strict=True))

    @cached_property
    def in_a_tool(self) -> Above[bool]:
        """Is a span below a tool's?"""
        return Above(lambda above, within: within or above.kind == TOOL, False)

    def left(self, last: ModelCall) -> list[Outcome]:
        """The calls that the last answer left to the agent."""
        mine = ((t, o) for t, o in self.done if t.asked_by is last and t.result_of is not last)
        return [o for t, o in mine if t.name not in self.ways]

    def handed_in(self, last: ModelCall) -> bool:
        """Did the last answer hand in the run's?"""
        return self.output is not None and any(r.name in self.ways for r in last.requests)

    @cached_property
    def muted(self) -> bool:
        """Does whoever told of this run never say that anything failed?"""
        spans = [n.span for c in self.calls for n in c.layers]
        return mute(self.root.span.scope) or any(mute(s.scope) or untold(s.scope, s.status_code) for s in spans)


def once(judge: Callable[[Evidence], R]) -> Callable[[Evidence], R]:
    """A question that several rules ask of a run, answered the first time: what it looks at is settled by then."""

    @wraps(judge)
    def answer(run: Evidence) -> R:
        known: R | None = run.judged.get(judge)
        if known is None:
            known = run.judged[judge] = judge(run)
        return known

    return answer


def worker(call: ModelCall) -> Node | None:
    """The agent at work, each time that it is called."""
    return next((n for n in call.node.ancestors() if n.kind == AGENT), None)
