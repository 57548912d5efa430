"""What a model's call asked for, out of the step around it, where its own span leaves that out.

LangChain for JavaScript under Traceloop: no answer tells the calls in it, and a step lies beside the call that it made,
not around it. What the step puts out is the answer, whole, and nothing else.
"""

from __future__ import annotations

from bisect import bisect_right

from otelcov.dialects.base import CHAIN
from otelcov.runs.content.chat import Message
from otelcov.runs.content.exchanges import answers
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.trace.tree import Node

_NEAR = 16  # steps that began last before a call


def tell_requests(calls: list[ModelCall]) -> None:
    """Give the calls that say that they asked for tools, and not for which, what the steps around them put out."""
    beside: dict[int, list[Node]] = {}
    read: dict[int, Message | None] = {}  # what each step put out
    for call in calls:
        frame = call.node.parent
        if frame is None or call.error is not None or call.asked or not asks(call.finish):
            continue
        steps = beside.get(id(frame))
        if steps is None:
            steps = beside[id(frame)] = sorted(filter(_puts_out, frame.children), key=_start)
        last = bisect_right(steps, call.start, key=_start)
        some = [n for n in steps[max(last - _NEAR, 0) : last] if n.end >= call.end and _of_one(n, call)]
        for n in some:
            if id(n) not in read:
                read[id(n)] = _answer(n)
        told = [(n, said) for n in some if (said := read[id(n)]) is not None and (said.text or "") == (call.text or "")]
        if len(told) > 1:  # of calls at one time
            told = [(n, said) for n, said in told if _counts(n, call)]
        if len(told) == 1:
            call.answered(told[0][1])


def _puts_out(node: Node) -> bool:
    return node.kind == CHAIN and bool(node.span.output)


def _start(node: Node) -> int:
    return node.start


def _of_one(step: Node, call: ModelCall) -> bool:
    return step.span.scope == call.node.span.scope


def _answer(step: Node) -> Message | None:
    """The one answer that a step put out, if it asks for tools."""
    found = answers(step.span.output or "")
    return found[0] if len(found) == 1 and found[0].requests else None


def _counts(step: Node, call: ModelCall) -> bool:
    """Does what a step put out count as many tokens?"""
    told = step.span.output or ""
    return all(n is not None and f":{n}" in told for n in (call.input_tokens, call.output_tokens))
