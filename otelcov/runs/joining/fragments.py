"""From traces to the pieces of runs: what of a trace is one request, and which pieces of several traces are.

A trace is usually one run. It is several where one script's span covers several requests to the same agent, and it is
a part of one where an instrumentation opens a trace for each model call, or a message queue carries the work on by a
span link. `joining` puts such parts together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from otelcov.dialects.base import AGENT, CHAIN, EVALUATION, HANDOFF, LLM, OTHER, SETUP, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.content.jsontext import parse_json
from otelcov.runs.joining.asked_at_once import asked_at_once
from otelcov.runs.joining.beside import beside, turns_among, turns_lost
from otelcov.runs.joining.left_current import begun_after, set_apart
from otelcov.runs.joining.left_open import requests_left_open
from otelcov.runs.joining.sessions import STEPS, no_handoffs, of_several_messages, requests_of
from otelcov.runs.joining.turns import anew, asked_apart, carried_on, first_said, in_turn, leader, one_conversation
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.llm.models import OVERWRITTEN, model_calls
from otelcov.runs.rules.habits import asks_a_model, lays_in_sessions, of_langfuse, runs_tools, tells_resumed_anew
from otelcov.runs.tools.executions import server_alone
from otelcov.runs.trace.above import nearest
from otelcov.runs.trace.tree import Node, Trace, by_time, failure


class Fragment:
    """What one trace holds of one run. `loose` fragments are model calls, or tools, without anything above them."""

    __slots__ = (
        *("again", "astray", "between", "calls", "end", "frame", "gateway", "hidden", "holds", "loose", "nodes"),
        *("root", "start", "tools", "trace_id"),
    )

    def __init__(self, trace: Trace, root: Node, nodes: list[Node]) -> None:
        self.trace_id, self.root, self.nodes = trace.trace_id, root, nodes
        self.calls: list[ModelCall] = model_calls(nodes)
        self.hidden = any(n.kind == OVERWRITTEN for n in nodes)  # model calls that share one span
        self.start = min((n.start for n in nodes if n.start), default=0)
        self.end = max((n.end for n in nodes), default=0)
        self.loose = False
        self.again = False  # is all of it told by another, too?
        self.astray = False  # several runs may have done this
        self.tools: list[Node] = []  # of a loose one that is no model call: what it ran
        self.holds = False  # is it a tool, and nothing above it, in which models were asked or an agent was at work?
        self.between = False  # is it what runs tools between two calls of a model, and nothing above it?
        self.frame: Node | None = None  # what is around a model call that counts as if it stood alone
        self.gateway = False  # is it a call that a gateway was asked for, of which who asked it may tell, too?

    def read(self) -> None:
        """What joining asks of the calls: what cannot be read shows here, where it costs no other part."""
        for call in self.calls:
            _ = call.outputs, call.inputs

    def alone(self) -> None:
        """Nothing goes on with it, nor did it go on with anything: then it is a run in its frame."""
        if self.frame is not None:
            self.root, self.loose = self.frame, False


def fragments(trace: Trace) -> list[Fragment]:
    """The runs, or parts of runs, in a trace. A trace without a step has none."""
    for judging in [n for n in trace.nodes if n.kind == EVALUATION]:
        _dismiss(judging)
    for siblings in (trace.roots, *(n.children for n in trace.nodes if n.kind in (None, CHAIN))):
        if len(siblings) > 1:
            _twins(siblings)
            _replays(siblings)
    set_apart(trace)
    no_handoffs(trace)
    called = _in_sessions(trace)
    every = [(root, [root, *root.below()]) for root in trace.roots]
    tops = [(root, nodes) for root, nodes in every if any(n.kind in STEPS for n in nodes) and not _echo(root)]
    if not tops:  # of an agent's step nothing else may have come, or it was answered before a model was asked
        tops = [(root, nodes) for root, nodes in every if root.orphan and root.own_agent is not None]
        tops = tops or [(root, nodes) for root, nodes in every if _answered_at_once(root) or _asked_unseen(nodes)]
        tops = tops or [(root, nodes) for root, nodes in every if runs_tools(root.span.scope, root.span.name)]
    if not tops and not called:
        return []
    raised = {n.span.parent_span_id for n in trace.roots if n.orphan and _step_of_a_run(n)}
    parts = [(n, [n, *n.below()]) for n in called]
    if opened := requests_left_open(trace.roots):
        parts = [*opened, *parts]
    elif tops:
        after = any(_next_run(n, raised) for n, _ in tops)
        parts = [*(_after_raising(tops, raised) if after else _split(tops)), *parts]
    if len(parts) == 1 and len(every) > len(tops):
        parts[0][1].extend(_preparing(parts[0][1], [root for root, _ in every]))
    out = []
    for root, nodes in parts:
        nodes.sort(key=by_time)
        _attempts(nodes)
        fragment = Fragment(trace, root, nodes)
        if (model := _wrapped(root, nodes)) is not None:
            fragment.frame, fragment.root = root, model
            fragment.gateway = any(_gateway(n) for n in model.ancestors())
            root = model
        fragment.loose = root.kind == LLM and all(n.kind == LLM or _unexplained(n) for n in nodes)
        fragment.gateway |= fragment.loose and root.parent is None and _serves(root)
        fragment.loose |= _with_its_tools(root, fragment)
        if not fragment.loose and root.kind == TOOL and not fragment.calls and not any(n.kind == AGENT for n in nodes):
            fragment.loose, fragment.tools = True, [root]
        elif not fragment.loose and (held := _held(root)):
            fragment.loose, fragment.tools = True, held
        elif root.parent is None and runs_tools(root.span.scope, root.span.name):
            fragment.loose = fragment.between = True
        fragment.holds = root.kind == TOOL and root.parent is None and not root.orphan and not fragment.loose
        out.append(fragment)
    return out


def _echo(root: Node) -> bool:
    """Is this a frame alone, of a run of OpenAI's kit that went on after it had waited in a tool of another's? What it
    was given does not end with words of the user, and what it did stands where that one goes on."""
    if root.kind != AGENT or root.children or root.orphan or not tells_resumed_anew(root.span.scope):
        return False
    given = parse_json(root.span.input or "")
    last = given[-1] if isinstance(given, list) and given else None
    return isinstance(last, dict) and (last.get("role") == "tool" or str(last.get("type")).startswith("function_call"))


def _answered_at_once(root: Node) -> bool:
    """Is this a graph that bears its agent's name, and was it asked something and put something out (a middleware of
    LangChain's agents answers in place of the model)?"""
    span = root.span
    named = root.own_agent is not None and span.name == root.own_agent and root.kind == CHAIN
    return named and bool(span.input) and bool(span.output)


def _asked_unseen(nodes: list[Node]) -> bool:
    """Was a model asked whose own span did not come?"""
    return any(asks_a_model(n.span.scope, n.span.name) for n in nodes)


def _wrapped(root: Node, nodes: list[Node]) -> Node | None:
    """The one model call in a trace, below nothing but spans that nobody explains and of which none failed (functions
    of the application, coroutines), where it asks for tools or goes on after them: part of a run, as if it stood alone.
    A server's request, or a message that is consumed, is a request by itself, unless it is one to a gateway: then it is
    one call of a model, however it went."""
    model = next((n for n in nodes if n.kind == LLM), None)
    if model is None or root.kind not in (None, CHAIN) or root.orphan:
        return None
    if not all(n.kind == LLM or _unexplained(n) for n in nodes):
        return None
    above = list(model.ancestors())
    gateway = any(_gateway(n) for n in above)
    if any(n.span.span_kind in _REQUESTS and not _gateway(n) for n in above):
        return None
    if not gateway and any(failure(n) is not None for n in above):
        return None
    layers = [n for n in nodes if n.kind == LLM and n is not model]
    if len(layers) > _LAYERS or any(model not in n.ancestors() for n in layers):
        return None
    call = ModelCall(model, [model])
    framed = all(n.span.scope == model.span.scope for n in above)  # by its own instrumentation (Langtrace's)
    return model if framed or gateway or call.requests or any(x.results for x in (call.inputs or ())[-1:]) else None


def _unexplained(node: Node) -> bool:
    return node.kind in (None, OTHER) or (node.kind == CHAIN and _gateway(node))  # Bifrost, in OpenInference's words


def _with_its_tools(root: Node, part: Fragment) -> bool:
    """Is this a model call that holds the tools it asked for, and nothing else (xsai's)? What goes on with these may
    have a trace of its own."""
    if root.kind != LLM or root.parent is not None or [c.node for c in part.calls] != [root]:
        return False
    steps = [n for n in part.nodes if n.kind not in (None, OTHER) and n is not root]
    asked = {r.id for r in part.calls[0].requests if r.id}
    return bool(steps) and all(n.kind == TOOL and n.parent is root and n.span.call_id in asked for n in steps)


def _gateway(node: Node) -> bool:
    return _GATEWAY.search(node.span.name) is not None


def _serves(model: Node) -> bool:
    """Is a call told by who was asked, or by a library that says it is a service itself (LiteLLM, in any program)?"""
    span = model.span
    return span.span_kind == _SERVER or (span.span_kind == _CLIENT and span.service == span.scope)


def _attempts(nodes: list[Node]) -> None:
    """What a gateway tried in vain before it asked the model that answered, or failed last, is no call of its own."""
    models = [n for n in nodes if n.kind == LLM]
    if len(models) < 2:
        return
    asked: dict[int, list[Node]] = {}
    door_of = nearest(lambda n: n.kind == LLM or (_unexplained(n) and _gateway(n)))
    for n in models:
        door = door_of(n)
        if door is not None and door.kind != LLM:
            asked.setdefault(id(door), []).append(n)
    for tried in asked.values():
        *before, last = tried
        if all(failure(n) is not None and n.end <= last.start + _TRIED_NS for n in before):
            for n in (x for first in before for x in (first, *first.below())):
                n.kind = OTHER if n.kind == LLM else n.kind


_TRIED_NS = 1_000_000
_LAYERS = 4  # of instrumentation, below the first
_GATEWAY = late(
    r"/chat/completions$|/v\d\w*/(?:completions|responses|messages)$|:(?:stream)?generatecontent$|/converse(?:-stream)?$"
    r"|^received proxy server request$|^kong$",  # LiteLLM's, Kong's
    re.I,
)
"""Names of requests to the interface of a model."""
_SERVER, _CLIENT, _CONSUMER = 2, 3, 5  # OTLP's kinds of spans
_REQUESTS = (_SERVER, _CONSUMER)


def _preparing(nodes: list[Node], roots: list[Node]) -> list[Node]:
    """What prepares a step of this run that has not come: a step that failed never does, with some instrumentations."""
    there, scopes = {id(n) for n in nodes}, {n.span.scope for n in nodes if n.kind in STEPS}
    found = [root for root in roots if root.orphan and id(root) not in there and root.span.scope in scopes]
    return [n for root in found for n in (root, *root.below())]


def _held(root: Node) -> list[Node]:
    """The tools of one answer of a model, where a conversation's trace holds nothing else (Gemini CLI): by their ids
    the call that asked for them is known, whatever they called in their turn."""
    if root.span.conversation is None or root.kind not in (None, CHAIN, TOOL) or root.orphan:
        return []
    held = [root] if root.kind == TOOL else root.children
    return held if all(n.kind == TOOL and n.span.call_id for n in held) else []


def _twins(siblings: list[Node]) -> None:
    """Two instrumentations that each keep a tree of their own (callbacks, trace processors) tell the same work twice:
    model calls at the same times, the same tools. The tree that tells less counts for nothing."""
    tops = [n for n in siblings if n.kind in (AGENT, CHAIN)]  # by start
    if len({n.span.scope for n in tops}) < 2:
        return
    for one, two in [(one, two) for at, one in enumerate(tops) for two in tops[at + 1 : at + 4]]:
        if one.span.scope == two.span.scope or OTHER in (one.kind, two.kind) or not _same_time(one, two):
            continue
        if not _same_work(one, two):
            continue
        _dismiss(min(two, one, key=lambda top: told(top.below())))


def _dismiss(top: Node) -> None:
    for n in (top, *top.below()):
        n.kind, n.agent, n.own_agent = OTHER, None, None


def _in_sessions(trace: Trace) -> list[Node]:
    """The tools that were laid under a session of which nothing tells who opened it, or whose frame was over, or that a
    server ran in a task that was made in a frame that was over: another run called them, perhaps. Each stands by
    itself, then."""
    found = list[Node]()
    idle = not any(n.kind in (LLM, AGENT) for n in trace.nodes)
    for session in trace.nodes:
        for n in _called_apart(session, idle):
            session.children.remove(n)
            n.parent = None
            for x in (n, *n.below()):
                x.agent = x.own_agent
            found.append(n)
    return found


def _called_apart(session: Node, idle: bool) -> list[Node]:
    if lays_in_sessions(session.span.scope, session.span.name):
        above = list(session.ancestors())
        if session.orphan or any(n.orphan for n in above):
            return []
        until = above[-1].end if above else 0
        return [n for n in session.children if n.kind == TOOL and n.start > until]
    if not idle or session.kind not in (None, SETUP) or session.orphan:
        return []
    return [n for n in session.children if n.kind == TOOL and server_alone(n) and n.start > session.end > 0]


def _replays(siblings: list[Node]) -> None:
    """A workflow that goes on after a replay of its history (Temporal) begins with the spans it had sent before: the
    same answers, by the ids of their provider. What comes last tells all."""
    tops = [n for n in siblings if n.kind == AGENT]  # by start
    if len(tops) < 2 or len({(n.own_agent, n.span.scope) for n in tops}) == len(tops):
        return
    told = [_exchanges(n) for n in tops]
    for at, top in enumerate(tops):
        mine = told[at]
        if mine and any(
            (n.own_agent, n.span.scope) == (top.own_agent, top.span.scope) and told[later][: len(mine)] == mine
            for later, n in enumerate(tops[at + 1 :], at + 1)
        ):
            _dismiss(top)


def _exchanges(top: Node) -> list[tuple[object, ...]]:
    """What models were asked below a node, and the ids of their answers; nothing where one has none."""
    models = sorted((n for n in top.below() if n.kind == LLM), key=_start)
    if any(n.span.response_id is None for n in models):
        return []
    return [(n.span.response_id, n.span.input_tokens, n.span.output_tokens, n.input_messages) for n in models]


def _same_work(one: Node, two: Node) -> bool:
    models, others = ([n for n in x.below() if n.kind == LLM and not n.within(LLM)] for x in (one, two))
    if not models or len(models) != len(others):
        return False
    for a, b in zip(sorted(models, key=_start), sorted(others, key=_start), strict=True):
        if not _same_time(a, b) or len({n.span.input_tokens for n in (a, b)} - {None}) > 1:
            return False
    agents, names = ({n.own_agent for n in (x, *x.below()) if n.own_agent} for x in (one, two))
    if agents and names and agents.isdisjoint(names):
        return False
    tools, rest = (sorted(n.span.tool or "" for n in x.below() if n.kind == TOOL) for x in (one, two))
    return not tools or not rest or tools == rest


def _same_time(one: Node, two: Node) -> bool:
    length = max(one.end - one.start, two.end - two.start)
    return 10 * abs(one.start - two.start) <= length and 4 * abs(one.end - two.end) <= length


def _start(node: Node) -> int:
    return node.start


def told(nodes: Iterable[Node]) -> int:
    """How many facts of steps these tell."""
    steps = [n for n in nodes if n.kind in (LLM, TOOL)]
    facts = ("tool", "call_id", "arguments", "result", "output_messages", "input_tokens", "response_id")
    return sum(getattr(n.span, fact) is not None for n in steps for fact in facts) + sum(
        (n.input_messages is not None) + len(n.side.events.get(n.span.row, ())) for n in steps
    )


def _split(tops: list[tuple[Node, list[Node]]]) -> list[tuple[Node, list[Node]]]:
    roots = [root for root, _ in tops]
    if turns := requests_of(roots):
        return turns
    if one_conversation(roots):
        return tops
    if len(tops) > 1:
        openings = [_entries(root) for root in roots]
        if asked_apart(roots, [leader(e[0]) if len(e) == 1 else None for e in openings]):
            return tops
        if len(turns := turns_among(tops)) > 1:
            return beside(turns, [top for top in tops if not any(top is turn for turn in turns)])
        whole = [root for root, _ in tops if not root.orphan]
        if len(whole) == len(tops) and sum(_laid_elsewhere(root) for root in whole) == len(whole) - 1:
            return tops
        if (
            len(whole) == len(tops)
            and all(len(e) == 1 and e[0].kind == AGENT for e in openings)
            and len({e[0].own_agent for e in openings}) == 1
        ):
            return tops
        if one_and_later := begun_after(tops):
            return [part for some in one_and_later for part in _split(some)]
        if len(whole) == 1 and len(parts := _split([top for top in tops if top[0] is whole[0]])) > 1:
            return beside(parts, [top for top in tops if top[0] is not whole[0]])
        if len(whole) == 1 and (lost := turns_lost(whole[0], [top for top in tops if top[0] is not whole[0]])):
            return [top for top in tops if top[0] is whole[0]] + lost
        first = min(tops, key=lambda t: (t[0].orphan and t[0].kind != AGENT, t[0].start, t[0].span.span_id))[0]
        return [(first, [n for _, nodes in tops for n in nodes])]
    root, nodes = tops[0]
    if requests := asked_at_once(root) or _requests(root, nodes) or _one_after_another(root, nodes):
        return requests
    entries = _entries(root) if root.kind != SETUP else [e for child in root.children for e in _entries(child)]
    if root.kind == SETUP and len(entries) > 1 and all(e.kind == AGENT for e in entries):
        return _apart(nodes, [[e] for e in entries])  # an agent was made, and then invoked several times (Koog)
    if (
        entries == [root]
        or len(entries) < 2
        or (root.span.span_kind in _REQUESTS and not of_several_messages(root) and not _outlasted(root, entries))
        or root.span.conversation
        or root.span.case
    ):
        return tops
    led = [leader(e) for e in entries]
    cases = {e.span.case for e in entries}
    same = len(set(led)) == 1 and None not in led and len({e.kind for e in entries}) == 1
    same = same and (entries[0].kind == AGENT or len({_IDS.sub("", e.span.name) for e in entries}) == 1)
    if not same and not (len(cases) == len(entries) and None not in cases):
        return tops
    groups = carried_on(entries)
    return _apart(nodes, groups) if len(groups) > 1 else tops


def _outlasted(root: Node, entries: list[Node]) -> bool:
    """Was this request answered when one of these was done, and another not yet? What is laid below a request may be
    asked by one at that time, too (LangChain for JavaScript, whose callbacks wait in one queue)."""
    return any(e.end <= root.end for e in entries) and any(e.end > root.end + _LATE_NS for e in entries)


_LATE_NS = 1_000_000


def _laid_elsewhere(root: Node) -> bool:
    """Was this function laid under a run that was over, and is a run of its own (tree.py)?"""
    return root.kind in (AGENT, CHAIN) and root.span.parent_span_id is not None


def _apart(nodes: list[Node], groups: list[list[Node]]) -> list[tuple[Node, list[Node]]]:
    """Each of these with what is below it; what is none's goes with the first."""
    parts = [(group[0], [n for e in group for n in (e, *e.below())]) for group in groups]
    shared = {id(n) for n in nodes} - {id(n) for _, some in parts for n in some}
    parts[0][1].extend(n for n in nodes if id(n) in shared)
    return parts


def _requests(root: Node, nodes: list[Node]) -> list[tuple[Node, list[Node]]]:
    """The requests that one connection to a server served (Traceloop's MCP): each under a span of the application's,
    and each beginning with words of the user."""
    if root.span.name != "mcp.client.session":
        return []
    held = [n for n in root.children if any(x.kind in STEPS for x in (n, *n.below()))]
    if len(held) < 2 or any(n.kind is not None for n in held) or not all(first_said(n) for n in held):
        return []
    return _apart(nodes, [[n] for n in held])


def _one_after_another(root: Node, nodes: list[Node]) -> list[tuple[Node, list[Node]]]:
    """The turns of a conversation below a span that was neither asked nor answered anything: alike, one after another,
    and each begins with new words of the user, after those that the turn before it began with and their answer. Or the
    requests of a batch, each in the same function of the program's, as nobody explains what holds them either and it is
    no request itself."""
    turns = [n for n in root.children if any(x.kind in STEPS for x in (n, *n.below()))]
    batch = all(n.kind is None for n in (root, *turns)) and root.span.span_kind not in _REQUESTS
    if len(turns) < 2 or root.kind not in (None, AGENT, CHAIN):
        return []
    if not batch and any(n.kind not in (AGENT, CHAIN) for n in turns):
        return []
    if any(told is not None for told in (root.span.input, root.span.output, root.input_messages)):
        return []
    if root.kind == AGENT and root.side.events.get(root.span.row):  # which tell what it was asked, and answered
        return []
    return _apart(nodes, [[n] for n in turns]) if in_turn(turns) or (batch and anew(turns)) else []


def _after_raising(tops: list[tuple[Node, list[Node]]], raised: set[bytes | None]) -> list[tuple[Node, list[Node]]]:
    """The runs in a trace with parents that never came because they raised: their spans were left open, and what came
    later was laid under them (OpenInference for smolagents, and Respan, for which a step is a task). Steps call other
    agents, a run calls none: the agents that stand beside steps are runs of their own, of which nothing is missing."""
    later = [(root, nodes) for root, nodes in tops if _next_run(root, raised)]
    rest = [(root, nodes) for root, nodes in tops if not _next_run(root, raised)]
    for root, _ in later:
        root.orphan = False
    parts: dict[bytes | None, list[tuple[Node, list[Node]]]] = {}
    for root, nodes in rest:
        parent = root.span.parent_span_id
        parts.setdefault(parent if parent in raised else None, []).append((root, nodes))
    return [*(part for some in parts.values() for part in _split(some)), *later]


def _step_of_a_run(node: Node) -> bool:
    return _STEP.fullmatch(node.span.name) is not None and _SMOLAGENTS.search(node.span.scope) is not None


def _next_run(node: Node, raised: set[bytes | None]) -> bool:
    return node.orphan and node.kind == AGENT and node.span.parent_span_id in raised


_IDS = late(r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}")  # which CrewAI puts into names
_STEP, _SMOLAGENTS = late(r"Step \d+|task"), late(r"smolagents$")


def _entries(root: Node) -> list[Node]:
    """The topmost nodes that a dialect explains."""
    out, stack = [], [root]
    while stack:
        node = stack.pop()
        if node.kind in (AGENT, CHAIN, LLM, TOOL, HANDOFF):
            if node.kind == CHAIN and of_langfuse(node.span.scope):
                stack.extend(node.children)
                continue
            out.append(node)
        elif node.kind != SETUP:
            stack.extend(node.children)
    out.sort(key=by_time)
    return out
