"""Where a run died that put nothing out: before a model was asked, in a step, in a tool, or in a later trace."""

from __future__ import annotations

from collections.abc import Collection

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.runs.agents.charge import broke_off, top_agents
from otelcov.runs.llm.model_call import ModelCall, finish_reason
from otelcov.runs.llm.models import OVERWRITTEN
from otelcov.runs.llm.reasons import reasons_told
from otelcov.runs.llm.unseen_answers import asked_no_model
from otelcov.runs.rules.answers import says_why
from otelcov.runs.rules.habits import throws_to_models
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.tree import Node, failure
from otelcov.runs.whole.evidence import Evidence, worker
from otelcov.runs.whole.lost_steps import asked_since, ended_on_words
from otelcov.runs.whole.speakers import at_work


def died_at_first(run: Evidence) -> bool:
    """Did the last step of an agent fail before a model was asked, and was nothing put out? A guard stopped it, though
    its own span ends well (AgentOps, of OpenAI's kit)."""
    if run.calls or run.outcomes or run.output is not None:
        return False
    for agent in (run.root, *top_agents(run.root)):
        steps = [n for n in agent.children if n.span.scope == agent.span.scope and n.kind in (None, CHAIN)]
        if agent.kind == AGENT and steps and failure(max(steps, key=lambda n: n.start)) is not None:
            return True
    return False


def died_in_a_step(run: Evidence) -> bool:
    """The step that holds the newest answer failed, what that asked for was not run, and the run put nothing out: a
    framework refused it (OpenAI's for Python, a tool that nobody has)."""
    last, told = run.last, _failed_step(run)
    if last is None or told is None or asked_since(run, last):  # who had called that agent went on
        return False
    return bool(last.requests) or told[1].startswith(_NOBODYS)


def may_have_died_in_a_step(run: Evidence) -> bool:
    """The same, where what the newest answer asked for is cut off, or is not told."""
    last = run.last
    return last is not None and (last.outputs is None or last.truncated_output) and _failed_step(run) is not None


def _failed_step(run: Evidence) -> tuple[str, str] | None:
    """With what the step failed that holds the newest answer, of which nothing ran and after which nothing was put
    out."""
    last = run.last
    if last is None or run.output is not None or any(o.status in ("ok", "error") for o in run.left(last)):
        return None
    step = last.node.parent
    return failure(step) if step is not None and step.kind in (AGENT, CHAIN) else None


def died_in_a_later_trace(root: Node, nodes: Collection[Node], calls: Collection[ModelCall]) -> list[Node]:
    """The agents that went on with a run in traces of their own once all others had answered, and failed."""
    done = max((c.end for c in calls), default=None)
    if done is None:
        return []
    late = (n for n in nodes if n.kind == AGENT and n.start >= done and n.span.trace_id != root.span.trace_id)
    return [n for n in late if failure(n) is not None and not any(a.kind in (TOOL, LLM) for a in n.ancestors())]


def died_in_a_tool(run: Evidence) -> bool:
    """The newest answer asked for tools, one of them failed with an exception, and no model was asked again: nor will
    one be, if the agent has ended."""
    return bool(threw := _threw(run)) and not _went_on(run, threw)


def answer_lost(run: Evidence) -> bool:
    """Did a model answer after a tool that threw, or after which the agent ended as on words, and is nothing of that
    told?"""
    if run.output is not None:
        return False
    return ended_on_words(run) or (bool(threw := _threw(run)) and _went_on(run, threw))


def _threw(run: Evidence) -> list[ToolCall]:
    """The tools of the newest answer that failed with an exception, where no model was asked after them."""
    if run.last is None or not run.last.requests or at_work(run.root, run.last):
        return []
    if any("interrupt" in reasons_told(n) for n in run.last.node.ancestors()):
        return []  # what else was asked for waits
    if any(map(_says_that_it_ended, run.last.node.ancestors())):
        return []
    if run.last.overwrites or any(n.kind == OVERWRITTEN and n.end > run.last.end for n in run.nodes):
        return []
    threw = [t for t, o in run.done if o.error_kind == "hard" and t.asked_by is run.last and not _caught(t)]
    threw = [t for t in threw if not goes_to_the_model(t)]
    agent = worker(run.last)  # of a graph whose root is lost, perhaps a node beside that of its tools
    lost = run.root.orphan
    return [t for t in threw if not (lost and t.nodes) or any(n is agent for n in t.nodes[0].ancestors())]


def _says_that_it_ended(node: Node) -> bool:
    """Is this a loop that says why it ended, and did not fail? What its tools throw, its models are told, but for the
    AI SDK 4, whose stream broke there and gives the reason of its last step."""
    scope = node.span.scope
    why = finish_reason(node.span.finish) if scope != "ai" and says_why(scope, node.span.name) else None
    return why is not None and failure(node) is None


def _went_on(run: Evidence, threw: list[ToolCall]) -> bool:
    """Did a run of which these tools threw, and that does not say that it failed, answer all the same, run another tool
    since, or a step that asks a model, or last as long as a model takes after that? Then a model was asked, and its
    span has not come."""
    if failure(run.root) is not None or broke_off(run.root):
        return False
    over = max(t.end for t in threw)
    if ended_on_words(run) or any(t.start >= over for t in run.tools if t.nodes):
        return True
    if any(n.start >= over and asked_no_model(n) for n in run.nodes):
        return True
    shortest = min(c.end - c.start for c in run.calls)
    returned = run.root.span.status_code == 1 and run.root.span.output not in (None, *_NOTHING)
    return run.output is not None or returned or 0 < shortest <= run.root.end - over


_NOTHING = ("", "null", "None")


def goes_to_the_model(tool: ToolCall) -> bool:
    """Does what this tool throws go to the model, as a result?"""
    return any(throws_to_models(n.span.scope) for n in tool.nodes)


def _caught(tool: ToolCall) -> bool:
    """Was what a tool threw caught by what ran it? Its span ended well around the one that failed (AutoGen), or says
    so."""
    outer = tool.nodes[0] if tool.nodes else None
    if outer is not None and any(told is not None and _NON_FATAL in told[1] for told in map(failure, tool.nodes)):
        return True
    return outer is not None and failure(outer) is None and (outer.span.status_code == 1 or bool(outer.span.result))


_NON_FATAL = "Error running tool (non-fatal)"
"""What OpenAI's kit says of a tool that raised, where the model was told of it."""

_NOBODYS = "Tool not found: "
"""What it says of a step whose model asked for a tool that nobody has."""
