"""What failed by what: errors that instrumentations note on all that is around, or without a word, or not at all."""

from __future__ import annotations

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.rules.boundaries import asks, final, finish
from otelcov.runs.rules.habits import fails_incomplete
from otelcov.runs.trace.above import some_above
from otelcov.runs.trace.tree import Node, Trace, exceptions


def inherit_errors(trace: Trace) -> None:
    """Mark the spans whose ERROR repeats what another told: no failure of their own."""
    if any(n.span.status_code == 2 for n in trace.nodes):
        _inherited_errors(trace)
        _incomplete(trace)
        _spread_without_words(trace)
        _got_over(trace)
    _of_its_tool(trace)
    _refused(trace)
    _handed_up(trace)


def _inherited_errors(trace: Trace) -> None:
    """Some processors put a trace's first error on every later span: an ERROR with a result of its own, no exception,
    and the words of an earlier span's exception is not this span's. Where the span that threw is lost, a model that
    answered, and says no more of an error than words, shows that these are another's."""
    failed = [n for n in trace.nodes if n.span.status_code == 2 and n.span.status_message]
    said: dict[str, list[Node]] = {}
    for n in failed:
        if n.span.row in n.side.exceptions:
            said.setdefault(str(n.span.status_message), []).append(n)
    lost = {n.span.status_message for n in failed if _answered_well(n)} - said.keys()
    for node in failed:
        told = said.get(str(node.span.status_message), [])
        own = node.span.result or node.span.output_messages or node.span.output
        if node.span.status_message in lost and not _says_why(node):
            node.inherited = bool(own) or node.kind == CHAIN or _told_its_end(node)
            if node.kind == TOOL and not own and not any(n.span.result for n in trace.nodes if n.kind == TOOL):
                node.span, node.inherited = node.span._replace(tool_error="unknown"), True
        if not told or node.span.row in node.side.exceptions or not own:
            continue
        around = {id(n) for n in node.ancestors()}  # these raised after it
        first = next((n for n in told if id(n) not in around), None)
        node.inherited = first is not None and (
            node.start >= first.start or first.kind == TOOL or _asked_again(first, trace)
        )


def _answered_well(node: Node) -> bool:
    if node.kind != LLM or not _told_its_end(node) or _says_why(node) or finish(node.span.finish) is not None:
        return False
    return final(node.span.finish) or asks(node.span.finish)


def _incomplete(trace: Trace) -> None:
    """A stream that ended before its answer was whole did not fail, for all that is known."""
    for node in trace.nodes:
        if node.span.status_code == 2 and fails_incomplete(node.span.scope, node.span.name):
            node.inherited |= not (node.span.status_message or _says_why(node) or node.span.output_messages)


def _asked_again(failed: Node, trace: Trace) -> bool:
    """Was a model asked once more, beside the call that failed, and did it answer?"""
    if failed.kind != LLM:
        return False
    beside = failed.parent.children if failed.parent is not None else trace.nodes
    return any(n.kind == LLM and n.start >= failed.end and _told_its_end(n) for n in beside)


def _spread_without_words(trace: Trace) -> None:
    """The same where content is kept out, and the words with it, perhaps: a model that answered was not the failure of
    which nothing is said, if all that ended after the first of those says it, too; what came of a tool then is
    unknown."""
    plain = [n for n in trace.nodes if n.span.status_code == 2 and not _says_why(n)]
    failed = (n for n in trace.nodes if n.kind == TOOL and n.span.status_code == 2)
    first = min(failed, key=lambda n: n.end, default=None)
    words = {n.span.status_message for n in trace.nodes if n.span.row in n.side.exceptions}
    later = [n for n in plain if first is not None and n is not first and n.end >= first.end]
    later = [n for n in later if not n.span.status_message or n.span.status_message in words]
    if first is None or not any(n.kind == LLM and _told_its_end(n) for n in later):
        return
    scope = first.span.scope
    if any(n.span.status_code != 2 for n in trace.nodes if n.span.scope == scope and n.start >= first.end):
        return
    for node in later:
        if node.kind == TOOL and not node.inherited:  # one that tells what it gave did not fail
            node.span = node.span._replace(tool_error="unknown")
        node.inherited |= node.kind in (TOOL, CHAIN) or _told_its_end(node)


def _says_why(node: Node) -> bool:
    return node.span.row in node.side.exceptions or bool(node.span.error_type or node.span.error_text)


def _told_its_end(node: Node) -> bool:
    """Are the tokens of an answer told, and why it ended?"""
    return node.kind in (LLM, AGENT) and node.span.output_tokens is not None and node.span.finish is not None


def _got_over(trace: Trace) -> None:
    """Some put the error of any step on the frame around all of them, too (AWS's distribution, of OpenAI's agents): it
    is not the frame's where the agent that ran the failed tool did not fail, and a model answered after that."""
    failed = [n for n in trace.nodes if n.kind == TOOL and n.span.status_code == 2 and n.span.status_message]
    if not failed:
        return
    asked = [n for n in trace.nodes if n.kind == LLM]
    last = max(asked, key=lambda n: n.start, default=None)
    if last is None or last.span.status_code == 2:
        return
    around = {id(a) for a in last.ancestors()}
    for tool in failed:
        above = next((a for a in some_above(tool) if a.span.status_code == 2), None)
        if (
            above is not None
            and above.kind == CHAIN
            and above.span.status_message == tool.span.status_message
            and above.span.row not in above.side.exceptions
            and tool.end <= last.start
            and id(above) in around
            and above is not tool.parent
        ):
            above.inherited = True


def _of_its_tool(trace: Trace) -> None:
    """A model's span that holds the tools it asked for (Effect's AI, xsai), or what a program does with its answer,
    fails with them, though the model answered."""
    for tool in trace.nodes:
        above = tool.parent
        if tool.kind not in (TOOL, AGENT, None) or above is None or above.kind != LLM:
            continue
        answered = above.span.output_tokens is not None or bool(above.span.output_messages)
        if not answered or (tool.kind is None and not _told_its_end(above)):
            continue
        both = (tool.span.status_code, above.span.status_code) == (2, 2)
        above.inherited |= both and above.span.status_message == tool.span.status_message
        if above.span.status_code != 2 and (thrown := exceptions(above)):
            above.inherited |= set(exceptions(tool)).issuperset(thrown)


def _refused(trace: Trace) -> None:
    """What a model answered and its kit did not take, as it fits no schema (Atomic Agents), is no failure of the
    model's, where the agent around says how that went."""
    for node in trace.nodes:
        above = node.parent
        if node.kind != LLM or above is None or above.kind not in (AGENT, CHAIN):
            continue
        answered = bool(node.span.output_tokens) and bool(node.span.response_model or node.span.response_id)
        if answered and above.span.status_code and above.span.scope == node.span.scope:
            node.inherited |= _UNFIT.search(node.span.error_type or "") is not None


_UNFIT = late(r"(?:Validation|Parsing|Parser|Decode)(?:Error|Exception)$")


def _handed_up(trace: Trace) -> None:
    """What a tool threw is noted on the frame around it, too (Ax): not the frame's, which did not end in an ERROR, if a
    model was asked after that."""
    for frame in trace.nodes:
        if frame.kind != CHAIN or frame.span.status_code == 2 or frame.span.row not in frame.side.exceptions:
            continue
        tools = [n for n in frame.children if n.kind == TOOL and n.span.row in n.side.exceptions]
        thrown = {told for n in tools for told in exceptions(n)}
        until = max((n.end for n in tools), default=frame.end)
        frame.inherited |= thrown.issuperset(exceptions(frame)) and any(
            n.kind == LLM and n.start >= until for n in frame.children
        )
