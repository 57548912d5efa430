"""A trace as a tree: parents found, cycles cut, clocks mended, every span told which agent it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, OTHER, SETUP, TOOL
from otelcov.ground.schemas import LATEST_NS
from otelcov.runs.jsontext import UNGIVEN, parse_json
from otelcov.runs.messages import messages_of
from otelcov.runs.spans import Side, Span

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

USUAL_LIMITS = (128, 256, 512, 1024, 2048, 4096)
"""Attribute value lengths that people set: several values of exactly such a length were cut."""

# Exceptions by which frameworks move control and nothing failed.
CONTROL_FLOW = re.compile(
    r"(ParentCommand|GraphInterrupt|GraphBubbleUp|NodeInterrupt|(^|\W)Interrupt\b|GraphDelegate|CallDeferred|ApprovalRequired|StopAsyncIteration|StopIteration|GeneratorExit|(^|\W)Command\(|InterruptException|HandoffException|SkipToolExecution)"
)

# Those by which a tool waits for somebody: an approval, or a client that runs it.
WAITING = re.compile(r"GraphInterrupt|NodeInterrupt|(^|\W)Interrupt\b|CallDeferred|ApprovalRequired")


class Node:
    """A span in its tree. `kind` and `agent` start as the dialects' answer and end as what the tree says."""

    __slots__ = (
        "agent",
        "children",
        "depth",
        "end",
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
        self.orphan = False
        self.inherited = False  # its ERROR repeats that of an earlier span
        self.start = self.since = span.start or span.end  # since: no earlier than what it is in
        self.end = max(span.end, self.start)

    @property
    def input_messages(self) -> str | None:
        found: str | None = self.side.texts["input_messages"][self.span.row]
        return found

    @property
    def system(self) -> str | None:
        found: str | None = self.side.texts["system"][self.span.row]
        return found

    @property
    def definitions(self) -> str | None:
        place = self.span.definitions
        return None if place is None else self.side.definitions[place]

    def ancestors(self) -> list[Node]:
        out, node = [], self.parent
        while node is not None:
            out.append(node)
            node = node.parent
        return out

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
    """One trace's nodes `by_time`; `roots` have no parent here."""

    __slots__ = ("nodes", "roots", "trace_id")

    def __init__(self, spans: list[Span], side: Side) -> None:
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


_ID = re.compile(r"^(?=.*\d)(?:[0-9a-f]{12,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$", re.I)


@lru_cache(maxsize=4096)
def placeholder(name: str | None) -> bool:
    """No name of an agent: nothing, a word that stands for any, or an id."""
    if name is None or UNGIVEN.match(name):
        return True
    words = re.sub(r"[\s_-]+", " ", name).strip()
    return words.lower() in PLACEHOLDERS or _ID.match(name.strip()) is not None


_ENTITY = re.compile(r"^(?:execute_task|invoke_agent|agent_run|run|node)\s+|\.(?:task|agent|workflow|node|run)$")


@lru_cache(maxsize=4096)
def spelling(name: str) -> str:
    """What two layers of instrumentation agree on that spell a name each in its own way."""
    return re.sub(r"[\W_]", "", name.lower()) or name


def same_name(a: str | None, b: str | None) -> bool:
    """Tool names as instrumentations and models spell them: case, blanks and punctuation do not tell tools apart."""
    return a == b or (a is not None and b is not None and spelling(a) == spelling(b))


def name_agents(trace: Trace) -> None:
    """Give every node its agent: its own where it is an agent, else what is stamped on it, else the nearest above.

    A stamp is believed only where it can be true: not a placeholder, and - where the trace has agent spans with names
    of their own - one of these names, unless there is no named agent above at all. The first of several spellings
    counts.
    """
    known: dict[str, str] = {}
    for n in trace.nodes:
        if n.kind == AGENT and n.span.agent is not None and not placeholder(n.span.agent):
            known.setdefault(spelling(n.span.agent), n.span.agent)
    named = set(known.values())
    left = _left_behind(trace)
    for root in trace.roots:
        stack: list[tuple[Node, str | None, bool]] = [(root, None, False)]
        while stack:
            node, above, from_span = stack.pop()
            told = node.span.agent
            stamp = None if told is None or placeholder(told) else known.get(spelling(told), told)
            if stamp is not None and left.get(stamp, node.start) < node.start and above in left and node.kind != AGENT:
                stamp = None
            if node.kind == AGENT and stamp is not None:
                node.own_agent = stamp
                above, from_span = stamp, True
            elif node.kind == CHAIN and node.parent is not None and node.parent.kind == TOOL and _called_by_name(node):
                node.own_agent = above = node.span.name  # a graph that a tool named after it runs
                from_span = True
            elif (
                node.kind == CHAIN
                and named
                and (entity := _ENTITY.sub("", node.span.name)) in named
                and entity != above
            ):
                node.own_agent = above = entity  # a graph's node that bears the name of an agent of this trace
                from_span = True
            elif stamp is not None and node.kind not in (HANDOFF, SETUP) and (not from_span or stamp in named):
                if node.kind == CHAIN and stamp != above:
                    node.own_agent = stamp  # the first span that bears a stamp stands for its agent
                above = stamp
            node.agent = above
            for child in reversed(node.children):
                stack.append((child, above, from_span))
    _name_next_steps(trace)
    _name_graph_nodes(trace)
    _name_authors(trace)
    if any(n.span.status_code == 2 for n in trace.nodes):
        _inherited_errors(trace)
        _got_over(trace)


_LEAVES_NAMES = re.compile(r"^traceloop\.tracer$")
"""Decorators that stamp an agent's name on all that follows its span, too (Traceloop's SDK, 0.55)."""


def _left_behind(trace: Trace) -> dict[str, int]:
    """When an agent first ended whose name may be stamped on what others did after it, by its name."""
    ended: dict[str, int] = {}
    for n in trace.nodes:
        if n.kind == AGENT and n.span.agent is not None and _LEAVES_NAMES.match(n.span.scope):
            ended[n.span.agent] = min(n.end, ended.get(n.span.agent, n.end))
    return ended


_STEP_BY_STEP = re.compile(r"^opentelemetry\.instrumentation\.llamaindex$|^llamaindex\.opentelemetry\.tracer$")
"""Instrumentations of workflows in which a step puts out which agent works next, and not every step does."""


def _name_next_steps(trace: Trace) -> None:
    """A step that puts out no agent is of the one that the step before it put out."""
    for node in trace.nodes:
        if len(node.children) < 2 or not _STEP_BY_STEP.search(node.span.scope):
            continue
        current: str | None = None
        for step in node.children:
            current = step.own_agent or current
            for n in (step, *step.below()) if current is not None and step.agent == node.agent else ():
                n.agent = current if n.agent == node.agent else n.agent


_TRANSFER = re.compile(r"^(?:transfer|handoff|hand_off|delegate)_to_(\w+)$", re.I)


_CALLS = re.compile(
    r"^(?:ask|consult|call|invoke|run|query|use|delegate|(?:delegate|transfer|handoff|send|route)_to)_(?:the_)?(\w+)$",
    re.I,
)


def _called_by_name(node: Node) -> bool:
    hit = _CALLS.match((node.parent.span.tool if node.parent is not None else None) or "")
    return (
        hit is not None and hit.group(1).lower() == node.span.name.lower() and any(n.kind == LLM for n in node.below())
    )


def _name_graph_nodes(trace: Trace) -> None:
    """In a graph of agents, a node that transfers to a sibling is an agent itself, and so is that sibling: one that has
    an agent's name, or holds a model's call and is not told apart from the graph (its stamp is what the graph is)."""
    graphs: dict[int, tuple[Node, set[str]]] = {}
    for node in trace.nodes:
        if node.kind != TOOL or not (hit := _TRANSFER.match(node.span.tool or "")):
            continue
        to = hit.group(1)
        for below, above in pairwise(node.ancestors()):
            if below.kind != CHAIN or node.agent not in (None, above.agent):
                continue
            others = [c for c in above.children if c is not below]
            if node.agent is None and any(c.own_agent == to for c in others):
                names = {_node_name(below)}
            elif any(c.kind == CHAIN and c.agent == above.agent and _node_name(c) == to and _asks(c) for c in others):
                names = {_node_name(below), to}
            else:
                continue
            graphs.setdefault(id(above), (above, set()))[1].update(names)
            break
    for graph, names in graphs.values():
        _name_nodes(graph, names)


def _name_nodes(graph: Node, names: set[str]) -> None:
    """The nodes of a graph that bear these names are agents."""
    stamp = graph.agent
    for node in graph.children:
        if node.kind == CHAIN and (name := _node_name(node)) in names:
            node.own_agent = name
            for n in (node, *node.below()):
                n.agent = name if n.agent == stamp else n.agent or name


def _node_name(node: Node) -> str:
    return _without_kind(_ENTITY.sub("", node.span.name))


def _asks(node: Node) -> bool:
    return any(n.kind == LLM for n in node.below())


_NEAR = 32  # spans between a graph and a model in it, at the most


def _name_authors(trace: Trace) -> None:
    """A graph is an agent if its name is that of the author of what a model in it answered (LangGraph's prebuilt); one
    that runs within another is an agent of its own."""
    named = set[int]()
    for model in [n for n in trace.nodes if n.kind == LLM and n.agent is None]:
        said: list[str] = []
        graph: Node | None = None
        node = model
        for _ in range(_NEAR):
            if node.parent is None or id(node.parent) in named:
                break
            node = node.parent
            if node.kind == TOOL or (graph is not None and node.span.name != graph.span.name):
                break
            if node.kind in (AGENT, CHAIN):
                said.extend(text for text in (node.span.output, node.span.output_messages) if text)
                if graph is not None or any(_wrote(_without_kind(node.span.name), text) for text in said):
                    graph = node
        if graph is not None:
            named.add(id(graph))
            around, graph.own_agent = graph.agent, _without_kind(graph.span.name)
            for n in (graph, *graph.below()):
                n.agent = graph.own_agent if n.agent in (None, around) else n.agent


def _without_kind(name: str) -> str:
    """What a graph or a node of it is called, of a span that bears its kind, too."""
    return _KINDS.sub("", name)


_KINDS = re.compile(r"^(?:invoke_workflow|chain|step) ")


_NAME = r"""(?:\bname=|"name": ?)['"]{}['"]"""


def _wrote(name: str, told: str) -> bool:
    """Does an output hold a message of the model by this author?"""
    if name not in told or placeholder(name) or re.search(_NAME.format(re.escape(name)), told) is None:
        return False
    value = parse_json(told)
    found = messages_of(value) if isinstance(value, (list, dict)) else []
    return any(x.role == "assistant" and x.name == name for x in found)


def _inherited_errors(trace: Trace) -> None:
    """Some processors put a trace's first error on every later span: an ERROR with a result of its own, no exception,
    and the words of an earlier span's exception is not this span's."""
    failed = [n for n in trace.nodes if n.span.status_code == 2 and n.span.status_message]
    said = {n.span.status_message: n for n in reversed(failed) if n.span.row in n.side.exceptions}
    for node in failed:
        first = said.get(node.span.status_message)
        if (
            first is None
            or node.span.row in node.side.exceptions
            or not (node.span.result or node.span.output_messages or node.span.output)
        ):
            continue
        node.inherited = node.start >= first.start or first.kind == TOOL


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


def some_above(node: Node) -> Iterator[Node]:
    """What holds it, innermost first, as deep as kits go."""
    above = node.parent
    for _ in range(_DEEPEST):
        if above is None:
            return
        yield above
        above = above.parent


_DEEPEST = 64


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
    return bool(span.status_message and sign.search(span.status_message[:200]))


def failure(node: Node) -> tuple[str, str] | None:
    """(error type, message) if the span says that it failed."""
    span = node.span
    if span.row in node.side.mishaps and span.row not in node.side.exceptions:
        return None
    # By the conventions only what failed has an error type; not everybody sets the status, too.
    typed = node.kind in (LLM, TOOL) and span.status_code == 0 and bool(span.error_type)
    if span.status_code != 2 and not typed and span.row not in node.side.exceptions:
        return None
    if span.status_code == 1 and node.kind == TOOL and span.result:  # what was thrown was caught
        return None
    thrown = exceptions(node)
    if span.status_code == 1 and thrown and all(t.endswith("CancelledError") for t, _ in thrown):
        return None  # nobody read the stream of what went well to its end
    if (span.status_code == 2 or typed) and not node.inherited and not control_flow(node):
        if thrown:
            return (
                span.error_type or thrown[-1][0],
                "\n".join([span.status_message or "", *(f"{t}: {m}" for t, m in thrown)]),
            )
        return (span.error_type or "", "\n".join(t for t in (span.status_message, span.error_text) if t))
    if thrown and not control_flow(node):
        return thrown[-1][0], "\n".join(f"{t}: {m}" for t, m in thrown)
    return None


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
    "control_flow",
    "exceptions",
    "failure",
    "name_agents",
    "placeholder",
    "same_step",
    "spelling",
    "waiting",
]
