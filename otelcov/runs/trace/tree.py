"""A trace as a tree: parents found, cycles cut, clocks mended; how names are spelt in it, and what failed in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import takewhile

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, OTHER, SETUP, TOOL
from otelcov.ground.patterns import late
from otelcov.ground.schemas import LATEST_NS
from otelcov.runs.content.jsontext import UNGIVEN
from otelcov.runs.rules.boundaries import final
from otelcov.runs.rules.called_off import says_called_off, thrown_to_call_off
from otelcov.runs.rules.habits import stays_current
from otelcov.runs.trace.spans import Side, Span

# Names that instrumentations put where they know no agent (DIALECTS: otel-agents-v2, langgraph, CrewAI; Rig, OpenLIT).
PLACEHOLDERS = frozenset(
    {
        "openai agent",
        "agent",
        "unknown",
        "unknown agent",
        "unnamed",
        "unnamed agent",
        "untitled agent",
        "anonymous",
        "anonymous agent",
        "default agent",
        "session.llm",  # the function by which opencode asks for every agent
        "strands agent",
        "strands agents",
        "undefined",
        "none",
        "null",
        "",
        "langgraph",
        "agent workflow",
        "default",
        "runnablesequence",
    }
)

_OK = 1  # a span's status: it ended well
USUAL_LIMITS = (128, 256, 512, 1024, 2048, 4096)
"""Attribute value lengths that people set: several values of exactly such a length were cut."""

# Exceptions by which frameworks move control and nothing failed.
CONTROL_FLOW = late(
    r"(ParentCommand|GraphInterrupt|ToolInterrupt|GraphBubbleUp|NodeInterrupt|(^|\W)Interrupt\b|GraphDelegate|CallDeferred|ApprovalRequired|StopAsyncIteration|StopIteration|GeneratorExit|(^|\W)Command\(|InterruptException|HandoffException|SkipToolExecution|WaitingForEvent)"
)

# Those by which a tool waits for somebody: an approval, or a client that runs it.
WAITING = late(
    r"GraphInterrupt|ToolInterrupt|NodeInterrupt|(^|\W)Interrupt\b|CallDeferred|ApprovalRequired|WaitingForEvent"
)


class Node:
    """A span in its tree. `kind` and `agent` start as the dialects' answer and end as what the tree says."""

    __slots__ = (
        "afar",
        "agent",
        "children",
        "depth",
        "end",
        "failed",
        "inherited",
        "kind",
        "orphan",
        "own_agent",
        "parent",
        "side",
        "since",
        "span",
        "start",
    )

    def __init__(self, span: Span, side: Side) -> None:
        self.span = span
        self.side = side
        self.kind = span.kind
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.depth = 0  # how many spans of its trace are above it
        self.agent: str | None = None  # the agent this span's work belongs to
        self.own_agent: str | None = None  # set where the span *is* an agent's
        self.orphan = self.afar = False  # its parent has not come; afar: and what it is the first of is whole
        self.inherited = False  # its ERROR repeats that of an earlier span
        self.failed: tuple[object, tuple[str, str] | None] | None = None  # as what, and how `failure` judged it
        self.start = self.since = span.start or span.end  # since: no earlier than what it is in
        self.end = max(span.end, self.start)

    @property
    def input_messages(self) -> str | None:
        found: str | None = self.side.texts["input_messages"].item(self.span.row)
        return found

    @property
    def system(self) -> str | None:
        found: str | None = self.side.texts["system"].item(self.span.row)
        return found

    @property
    def definitions(self) -> str | None:
        place = self.span.definitions
        return None if place is None else self.side.definitions[place]

    def ancestors(self) -> Iterator[Node]:
        """What is above it, nearest first; who asks of many spans finds it once for all of them (above.py)."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def top(self) -> Node:
        """The span that its tree begins with."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def within(self, kind: str) -> bool:
        """Is it below a span of this kind?"""
        above = self.parent
        while above is not None:
            if above.kind == kind:
                return True
            above = above.parent
        return False

    def explained(self) -> list[Node]:
        """The children, and in place of those that nobody explains what is right below them."""
        out, unread = list[Node](), list(self.children)
        for node in unread:
            if node.kind is None and node.children:
                unread.extend(node.children)
            else:
                out.append(node)
        return out

    def below(self) -> list[Node]:
        """All descendants, parents before children."""
        out = list(self.children)
        for node in out:
            out.extend(node.children)
        return out


def by_time(node: Node) -> tuple[int, int, int, bytes]:
    """The order of a trace's nodes: by start, but a parent before what is below it, whatever their clocks say."""
    return node.since, node.depth, node.start, node.span.span_id


class Trace:
    """One trace's nodes `by_time`; `roots` have no parent here. `place` puts some below others than their spans say."""

    __slots__ = ("nodes", "roots", "trace_id")

    def __init__(self, spans: list[Span], side: Side, place: Callable[[list[Node]], None]) -> None:
        self.trace_id = spans[0].trace_id
        self.nodes = [Node(s, side) for s in spans]
        by_id = {n.span.span_id: n for n in self.nodes}
        falling = False  # a parent that does not begin before its child: only there can a circle close
        for node in self.nodes:
            parent_id = node.span.parent_span_id
            if parent_id is None or parent_id == node.span.span_id:
                continue
            node.parent = parent = by_id.get(parent_id)
            node.orphan = parent is None
            falling = falling or (parent is not None and parent.start >= node.start)
        if falling:
            self._cut_cycles()
        for node in self.nodes:
            if node.parent is not None:
                node.parent.children.append(node)
        for node in self.nodes:
            if node.parent is not None and node.start > node.parent.end:
                _after_its_parent(node, node.parent)
        place(self.nodes)
        self.roots = [n for n in self.nodes if n.parent is None]
        if len({s.service for s in spans}) > 1:
            for root in self.roots:
                _mend_clocks(root)
        for root in self.roots:
            root.since = root.start
            for node in (root, *root.below()):
                for child in node.children:
                    child.depth, child.since = node.depth + 1, max(child.start, node.since)
        self.nodes.sort(key=by_time)
        for node in self.nodes:
            if len(node.children) > 1:
                node.children.sort(key=by_time)

    def release(self) -> None:
        """Let go of parents and children, so that the tree goes without the garbage collector's help."""
        for node in self.nodes:
            node.parent = None
            node.children = []

    def _cut_cycles(self) -> None:
        """Parent pointers that run in a circle: the earliest span of the circle becomes a root."""
        state: dict[int, int] = {}
        for node in self.nodes:
            walk = []
            here: Node | None = node
            while here is not None and id(here) not in state:
                state[id(here)] = 1
                walk.append(here)
                here = here.parent
            if here is not None and state[id(here)] == 1:
                circle = walk[walk.index(here) :]
                first = min(circle, key=lambda n: (n.start, n.span.span_id))
                first.parent = None
            for done in walk:
                state[id(done)] = 2


def _after_its_parent(node: Node, left: Node) -> None:
    """Put right what a span was laid under that had ended with its answer, and was left the current one (OpenInference
    for Agno, of members that failed, and of teams in teams; Laminar, of a function that raised; Traceloop and OpenLIT,
    of what is awaited in one task): a step is of the agent above that is still at work, and another request to the
    agent whose run is over is a run of its own."""
    if left.span.service != node.span.service:
        return
    above = list(left.ancestors())
    if stays_current(node.span.scope, node.span.name) and node.start > (above[-1] if above else left).end:
        left.children.remove(node)
        node.parent = None
        return
    if any(n.kind in (TOOL, LLM) for n in (left, *above[:-1])) or node.kind not in (AGENT, CHAIN, LLM, TOOL):
        return
    top = above[-1] if above else left
    if node.kind in (AGENT, CHAIN) and node.start > top.end and _same_request(node, top):
        left.children.remove(node)
        node.parent = None
    elif node.kind != CHAIN and left.kind == AGENT and _answered(left):
        working = next((n for n in above if n.kind == AGENT and n.start <= node.start and node.end <= n.end), None)
        if working is not None:
            left.children.remove(node)
            working.children.append(node)
            node.parent = working


def _same_request(node: Node, top: Node) -> bool:
    """Is this the agent that the trace begins with, once that has answered, or a function like it, once that is over
    (Langfuse, of LangChain's graphs that are awaited in one task)? What raised may be tried again with the same."""
    named = (node.span.agent or node.span.name, node.span.scope) == (top.span.agent or top.span.name, top.span.scope)
    if not named or node.kind != top.kind:
        return False
    if top.kind == AGENT:
        return top.span.output is not None or _ended_well(top)
    if failure(top) is not None:
        return None is not node.span.input != top.span.input
    return top.span.input is not None or top.span.output is not None


def _answered(agent: Node) -> bool:
    """Did an agent put something out, or end well where that is left out, after a model that was asked while it was at
    work?"""
    asked = any(n.kind == LLM and n.start >= agent.start and n.end <= agent.end for n in agent.children)
    told = agent.span.output is not None or agent.span.status_code == _OK
    return asked and agent.span.agent is not None and told


def _ended_well(agent: Node) -> bool:
    """Did an agent end well, with all that was begun by then, after a model that it asked? Where it says neither, the
    model that it asked last says that it asked for no tool."""
    if agent.span.status_code not in (0, _OK) or failure(agent) is not None:
        return False
    steps = [n for n in agent.below() if n.start <= agent.end and n.kind in _STEPS]
    asked = [n for n in steps if n.kind == LLM and _right_below(agent, n)]
    if not asked or any(n.end > agent.end for n in steps):
        return False
    last = max(asked, key=lambda n: n.start)
    return agent.span.status_code == _OK or (failure(last) is None and final(last.span.finish))


def _right_below(agent: Node, node: Node) -> bool:
    """Is nothing between these but frames?"""
    return all(n.kind == CHAIN for n in takewhile(lambda n: n is not agent, node.ancestors()))


_STEPS = (AGENT, CHAIN, LLM, TOOL)


def _mend_clocks(root: Node) -> None:
    """Shift a child of another service into its parent's time where it lies outside (Jaeger's clock-skew rule)."""
    stack = [(root, 0)]
    while stack:
        node, shift = stack.pop()
        if shift:
            node.start = _moved(node.start, shift)
            node.end = max(_moved(node.end, shift), node.start)
        for child in node.children:
            move = shift
            if child.span.service != node.span.service and child.start and node.start:
                start, end = child.start + shift, child.end + shift
                if start < node.start or end > node.end:
                    length, room = child.end - child.start, node.end - node.start
                    move = node.start - child.start + ((room - length) // 2 if length <= room else 0)
            stack.append((child, move))


def _moved(at: int, shift: int) -> int:
    """A time by another clock; 0, as where none was told, for what no calendar has."""
    return at + shift if at and 0 < at + shift <= LATEST_NS else 0


_ID = late(r"^(?=.*\d)(?:[0-9a-f]{12,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$", re.I)


@lru_cache(maxsize=4096)
def placeholder(name: str | None) -> bool:
    """No name of an agent: nothing, a word that stands for any, or an id."""
    if name is None or UNGIVEN.match(name):
        return True
    words = re.sub(r"[\s_-]+", " ", name).strip()
    return words.lower() in PLACEHOLDERS or _ID.match(name.strip()) is not None


@lru_cache(maxsize=4096)
def spelling(name: str) -> str:
    """What two layers of instrumentation agree on that spell a name each in its own way."""
    return re.sub(r"[\W_]", "", name.lower()) or name


def same_name(a: str | None, b: str | None) -> bool:
    """Tool names as instrumentations and models spell them: case, blanks and punctuation do not tell tools apart."""
    return a == b or (a is not None and b is not None and spelling(a) == spelling(b))


def exceptions(node: Node) -> list[tuple[str, str]]:
    """Real exceptions of a span: control flow left out."""
    found = node.side.exceptions.get(node.span.row)
    if not found:
        return []
    return [(t, m) for t, m in found if not CONTROL_FLOW.search(t) and not CONTROL_FLOW.match(m)]


def control_flow(node: Node) -> bool:
    """Is the span's ERROR status only a framework's way to move on?"""
    return _thrown(node, CONTROL_FLOW)


def waiting(node: Node) -> bool:
    """Did the span end before its work was done, for somebody else to go on?"""
    return _thrown(node, WAITING)


def _thrown(node: Node, sign: re.Pattern[str]) -> bool:
    span = node.span
    if span.error_type and sign.search(span.error_type):
        return True
    if any(sign.search(t) or sign.match(m) for t, m in node.side.exceptions.get(span.row, ())):
        return True
    return any(text and _says(text, sign) for text in (span.status_message, span.error_text))


def _says(text: str, sign: re.Pattern[str]) -> bool:
    """Is this sign where an error's text begins, or where its stack does, which OpenInference for JavaScript writes
    after a blank line?"""
    if sign.search(text[:_BEGINNING]):
        return True
    at = text.find("\n\n", 0, _BEFORE_STACK)
    return at >= 0 and sign.search(text[at : at + _BEGINNING]) is not None


_BEGINNING, _BEFORE_STACK = 200, 65_536  # characters


def aborted(node: Node) -> bool:
    """Does a span say that somebody called its work off, or left its stream (JavaScript's `AbortController`, a task of
    asyncio's, a context of Go's)? That is no failure of it."""
    span = node.span
    if span.status_code != 2 and not (span.status_message or span.error_text or span.row in node.side.exceptions):
        return False
    thrown = exceptions(node)
    told = [text for text in (span.status_message, span.error_text, *(m for _, m in thrown)) if text]
    if any(_ABORTED.match(text) for text in told):
        return True
    if span.status_code != 2:
        return False
    types = (span.error_type, *(t for t, _ in thrown))
    if any(t is not None and _CANCELLED.match(t) for t in types) or any(map(says_called_off, told)):
        return True
    return any(thrown_to_call_off(t, "\n".join(told)) for t in types)


_ABORTED = late(
    r"(?:Error in agent run: \{\"error\":\")?(?:\w*Error: )*(?:Abort(?:Error)?"
    r"|(?:Th(?:is|e) operation|Model invocation|Request) was aborted"
    r"|(?:asyncio\.(?:exceptions\.)?)?CancelledError:?)\.?(?:\"\}|\s*(?:\n|$))"
)
_CANCELLED = late(r"(?:asyncio\.(?:exceptions\.)?)?CancelledError$")


def failure(node: Node) -> tuple[str, str] | None:
    """(error type, message) if the span says that it failed."""
    span = node.span
    if span.status_code != 2 and not span.error_type and span.row not in node.side.exceptions:
        return None
    judged = node.failed
    as_what = (span, node.kind, node.inherited)
    if judged is None or judged[0] != as_what:
        judged = node.failed = (as_what, _failure(node))
    return judged[1]


def _failure(node: Node) -> tuple[str, str] | None:
    span = node.span
    if span.row in node.side.mishaps and span.row not in node.side.exceptions:
        return None
    # By the conventions only what failed has an error type; not everybody sets the status, too.
    typed = span.status_code == 0 and bool(span.error_type) and (node.kind in (LLM, TOOL) or bool(span.error_text))
    # Nor does all that sets it to OK look at what it tells of: no answer, but what was thrown (BeeAI for JavaScript,
    # Future AGI's of Claude's Agent SDK).
    unanswered = (node.kind == LLM and span.output_tokens is None) or (node.kind == AGENT and not span.output)
    typed |= unanswered and bool(span.error_type and span.error_text)
    if span.status_code != 2 and not typed and span.row not in node.side.exceptions:
        return None
    if span.status_code == 1 and node.kind == TOOL and span.result:  # what was thrown was caught
        return None
    answered = node.kind == LLM and span.finish and span.output_tokens is not None
    if span.status_code == 1 and answered and not span.error_type:  # or made again
        return None
    if node.kind != TOOL and aborted(node):  # what came of a tool goes to the model
        return None
    thrown = exceptions(node)
    if answered and any(t.endswith(_OF_OTHERS) for t in (span.error_type or "", *(t for t, _ in thrown))):
        return None
    if span.status_code == 1 and thrown and all(t.endswith("CancelledError") for t, _ in thrown):
        return None  # nobody read the stream of what went well to its end
    if (span.status_code == 2 or typed) and not node.inherited and not control_flow(node):
        if thrown:
            return (
                span.error_type or thrown[-1][0],
                "\n".join([span.status_message or "", *(f"{t}: {m}" for t, m in thrown)]),
            )
        return (span.error_type or "", "\n".join(t for t in (span.status_message, span.error_text) if t))
    if thrown and not node.inherited and not control_flow(node):
        return thrown[-1][0], "\n".join(f"{t}: {m}" for t, m in thrown)
    return None


_OF_OTHERS = ("TOOL_ERROR", "LlmCallsLimitExceededError")
"""What ADK says of a tool that failed, and of an agent that met its limit, wherever it is written: both come once a
model has answered."""


def ended_by(limit: int, facts: Iterable[str | None]) -> bool:
    """Did this limit cut these facts of one span? Several of them end there, or one does in the midst of a sentence."""
    texts = {text for text in facts if text and len(text) == limit}
    return len(texts) > 1 or any(text[-1].isalnum() for text in texts)


def same_step(node: Node, kind: str) -> Node | None:
    """The nearest ancestor of the same kind that is not shut off by another kind of step."""
    shut = {LLM: (TOOL, AGENT), TOOL: (LLM, AGENT)}[kind]
    parent = node.parent
    while parent is not None:
        if parent.kind == kind:
            return parent
        if parent.kind in shut and (parent.kind != AGENT or parent.own_agent is not None):
            return None
        parent = parent.parent
    return None


__all__ = [
    "AGENT",
    "CHAIN",
    "HANDOFF",
    "LLM",
    "OTHER",
    "SETUP",
    "TOOL",
    "Node",
    "Trace",
    "aborted",
    "control_flow",
    "ended_by",
    "exceptions",
    "failure",
    "placeholder",
    "same_step",
    "spelling",
    "waiting",
]
