"""Who is in charge of a run, and whether they broke off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.runs.content.semconv import semconv_messages
from otelcov.runs.llm.model_call import ModelCall, finish_reason
from otelcov.runs.rules.boundaries import letters
from otelcov.runs.rules.habits import bears_all, returns
from otelcov.runs.trace.tree import Node, failure


def top_agents(root: Node) -> list[Node]:
    """The agents in charge: the topmost agent spans, and those that took over from them (their siblings)."""
    return _topmost(root, _own_name)


def _own_name(node: Node) -> str | None:
    return node.own_agent


def _any_name(node: Node) -> str | None:
    """One that stands for any agent, too."""
    return node.span.agent


def _topmost(root: Node, name: Callable[[Node], str | None]) -> list[Node]:
    """The topmost agent spans that have a name."""
    out, stack = [], [root]
    while stack:
        n = stack.pop()
        if n.kind == AGENT and name(n) is not None:
            out.append(n)
            if n is not root:
                continue
        if n.kind not in (TOOL, LLM):
            stack.extend(n.children)
    return out


def frames(root: Node) -> list[Node]:
    """The root and, where no dialect explains it, what lies between it and the run's work: spans that hold all of that
    work and that nobody explains either (a server's request, and in it the application's own handler)."""
    out = [root]
    first = next((n for n in root.below() if n.kind in _STEPS), None) if root.kind is None else None
    around = list(takewhile(lambda n: n is not root, first.ancestors())) if first is not None else []
    for inner in reversed(around):
        if inner.kind is not None or any(_holds_steps(n) for n in out[-1].children if n is not inner):
            break
        out.append(inner)
    return out


def alone_within(node: Node) -> Node | None:
    """The one child in which all steps of this lie, if one holds them all."""
    holding = [n for n in node.children if _holds_steps(n)]
    return holding[0] if len(holding) == 1 else None


def _holds_steps(node: Node) -> bool:
    return node.kind in _STEPS or any(n.kind in _STEPS for n in node.below())


def work_of(root: Node) -> Node:
    """What does a run's work: the root, or what alone lies in its frames; the innermost of these where several do."""
    around = frames(root)[-1]
    return (alone_within(around) or around) if around.kind is None else around


def unframed(root: Node) -> Node:
    """An agent or a workflow in frames that have come whole and tell nothing of it, but that it failed if it did; else
    the root."""
    work = work_of(root)
    if work is root or root.orphan or work.kind not in (AGENT, CHAIN):
        return root
    well = failure(work) is None
    return root if any(_tells(n, work) or (well and failure(n) is not None) for n in frames(root)) else work


def _tells(frame: Node, work: Node) -> bool:
    """Does a frame say something of the work in it, or is it of the kit that does that?"""
    span = frame.span
    said = (span.input, span.output, span.conversation, span.case, span.finish)
    return span.scope == work.span.scope or any(told is not None for told in said)


_STEPS = (AGENT, CHAIN, LLM, TOOL)


def ended(node: Node) -> str:
    """How an agent or a workflow says that it ended, where it is not done (Mastra): suspended, aborted, failed."""
    return letters(finish_reason(node.span.finish)) if node.kind in (AGENT, CHAIN) and node.span.finish else ""


def caught(root: Node) -> bool:
    """Did a function that frames a run return, whatever it caught, as its kit says?"""
    told = root.kind == CHAIN and returns(root.span.scope) and root.span.output is not None
    return told and not ended(root) and failure(root) is None


def borne(root: Node) -> bool:
    """Does a frame bear what failed below, though of its own agent's steps none did, and the last says so?"""
    if root.orphan or not bears_all(root.span.scope):
        return False
    own = [n for n in root.children if n.span.name.startswith("agent.")]
    return bool(own) and ".success" in own[-1].span.name and all(failure(n) is None for n in own)


def went_on(step: Node, last: ModelCall | None) -> bool:
    """Was a model asked after this, whose frame has not come, and which is no agent or stood beside who asked? Then it
    is one step of several, and neither what it put out nor its error is the run's."""
    if last is None or not step.orphan or last.start < step.end:
        return False
    return step.own_agent is None or _beside(step, last.node)


def _beside(step: Node, other: Node) -> bool:
    """Do these lie in the same frame that has not come, each in a span of its own?"""
    top = other.top()
    return top is not step and top.orphan and top.span.parent_span_id == step.span.parent_span_id


def broke_off(root: Node) -> bool:
    """Did who was in charge at the end fail, or what framed their work?"""
    last = _at_the_end(root)
    if any(failure(n) is not None for n in (*frames(root), *last)) or any(map(_broke, last)):
        return True
    return _whole_run_failed(root)


def _whole_run_failed(root: Node) -> bool:
    """Did a run of OpenAI's kit fail as a whole, right below its trace? It did between two agents where one had handed
    over, and the limit came before the other began: neither says so."""
    within = [n for n in root.children if n.kind == CHAIN] if root.kind in (AGENT, CHAIN) else []
    newest = max(within, key=lambda n: n.end, default=None)
    told = failure(newest) if newest is not None and newest.span.scope == root.span.scope else None
    return told is not None and (told[1] or "").startswith(_IN_A_RUN)


_IN_A_RUN = "Error in agent run"


def broken_step(root: Node) -> bool:
    """Did the last step of who was in charge at the end fail, after which it put nothing out? Some kits tell an error
    of the step in which it came (a turn of OpenAI's agents that a guardrail stopped), and some instrumentations call
    well whatever tells no error of its own. Or did it put an error out in place of an answer (Agno)?"""
    return any(map(_broke, _at_the_end(root)))


def _broke(agent: Node) -> bool:
    return _broken(agent) or put_out_an_error(agent) or _tripped(agent)


def tripped(root: Node, nodes: Sequence[Node]) -> bool:
    """Did a guardrail of OpenAI's Agents SDK stop who was in charge at the end? It raises, whatever was answered."""
    told = [n for n in nodes if n.span.status_message is not None]
    return any(_stopped(n) for n in told) and any(_tripped(n) for n in _at_the_end(root))


def _tripped(agent: Node) -> bool:
    return any(_stopped(n) and failure(n) is not None for n in (agent, *agent.children))


def _stopped(node: Node) -> bool:
    message = node.span.status_message
    return message is not None and message.startswith(_TRIPPED)


_TRIPPED = (
    "Guardrail tripwire triggered",
    *(f'Error in agent run: {{"error":"{side}GuardrailTripwireTriggered: ' for side in ("Input", "Output")),
)
"""What the kit says for Python, and for JavaScript."""


def put_out_an_error(agent: Node) -> bool:
    """Is what an agent put out an error's text, by its finish reason, or by its status (Agno)?"""
    if agent.kind == AGENT and agent.span.status_message == "run status: error":
        return True
    out = agent.span.output or ""
    if agent.kind != AGENT or '"error"' not in out:
        return False
    said = semconv_messages(out)
    return said is not None and len(said) > 0 and said[-1].finish_reason == "error"


def _at_the_end(root: Node) -> list[Node]:
    named = [n for n in top_agents(root) if n is not root]
    tops = named or [n for n in _topmost(root, _any_name) if n is not root] or [root]
    ended = max(n.end for n in tops)
    if root.kind == AGENT and any(n.kind == LLM and n.start >= ended for n in root.children):
        return [root]  # who was called is done, and it went on by itself
    if root.own_agent is not None and root.kind == AGENT and root.span.output is not None and named:
        return [root]  # it says itself what it answered
    last = [n for n in tops if n.end >= ended]
    return last + [again for n in last for again in n.children if _told_again(again, n)]


def _told_again(node: Node, agent: Node) -> bool:
    """Does another instrumentation tell of this agent, right within its span?"""
    return node.kind == AGENT and node.own_agent == agent.own_agent and node.span.scope != agent.span.scope


def _broken(agent: Node) -> bool:
    if agent.kind not in (AGENT, CHAIN) or agent.span.output or not agent.children:
        return False
    last = max(agent.children, key=lambda n: (n.end, n.start))
    step = last.kind == CHAIN or (last.kind == AGENT and last.own_agent is None)
    if agent.kind == CHAIN and not any(n.span.output is not None for n in agent.children):
        return False  # what it put out may be left out as well
    return step and failure(last) is not None
