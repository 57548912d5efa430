"""What came last in a run whose instrumentation loses some steps: those that failed, or that ended too late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import takewhile

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.ground.schemas import LATEST_NS
from otelcov.runs.agents.charge import ended
from otelcov.runs.agents.delegation import Delegation
from otelcov.runs.content.prose import browsing, final_answer
from otelcov.runs.content.wrapped import result_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.llm.unseen_answers import asked_no_model
from otelcov.runs.rules.boundaries import asks, final, limits
from otelcov.runs.rules.habits import ends_after_tools, holds_its_own_calls, loses_steps
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.tools.executions import span_fact
from otelcov.runs.trace.above import nearest
from otelcov.runs.trace.tree import Node, aborted, failure, spelling
from otelcov.runs.whole.evidence import Evidence, once, worker
from otelcov.runs.whole.speakers import within_an_agent
from otelcov.runs.whole.unmade import given


@once
def ended_in_what_is_lost(run: Evidence) -> bool:
    """Is there no answer, and did a step that has not come hold what came after all that has?"""
    last = run.last
    if run.output is not None:
        return False
    if last is None:
        return _ends_mute(run) or _asked_by_what_is_lost(run)
    if last.text and browsing(last.text) is not None and final_answer(last.text) is None:
        return True  # it said what to do next
    if _last_step(run, last) or asked_since(run, last):
        return True
    if any(_asks_unheard(n) and n.start >= last.end for n in run.nodes):
        return True
    return any(n.orphan and n is not run.root and n.kind not in _STEPS and n.start >= last.end for n in run.nodes)


def broke_unseen(run: Evidence, handed: Collection[Delegation], seen: Collection[str]) -> bool:
    """Did a run fail, or who worked in it and failed alike, once the tools that it had asked for last had done what
    they should, or failed otherwise, by no limit and no model call that can be seen? One that failed may have come
    after them (Traceloop 0.44 tells of none of Anthropic's, OpenInference for JavaScript of none of OpenAI's)."""
    if any(c.error is not None for c in run.calls) or _LIMITS & set(seen):
        return False
    broke = _who_broke(run.root)
    last = next((c for c in reversed(run.calls) if _asked_by(c, broke)), run.last if broke is run.root else None)
    if last is None:
        return broke.kind == AGENT and broke is not run.root and not broke.children
    told = failure(broke)
    why = told[1] if told is not None else None
    then = [(o.status, o.message) for t, o in run.done if t.turn == last.turn]
    then += [(d.status, "") for d in handed if d.call is not None and d.call.asked_by is last]
    other = broke.within(TOOL)  # whose failure those around it tell in its own words
    went = (how in ("ok", "unknown") or (other and how == "error" and text not in ("", why)) for how, text in then)
    return bool(then) and all(went)


@once
def delegate_broke_unseen(run: Evidence) -> bool:
    """Did an agent or a loop that a tool called fail, by no limit, once all tools had gone well that it had asked for
    last? The model that it asked then failed, perhaps, and has not come."""
    failed = [(n, why) for n in run.nodes if n.kind in (AGENT, CHAIN) and (why := failure(n)) is not None]
    inner = [n for n, why in failed if run.in_a_tool(n) and not limits(f"{why[0]}: {why[1]}")]
    innermost = dict[int, Node]()
    broke = {id(_who_broke(n, innermost)) for n in inner}
    newest: dict[int, ModelCall] = {}
    for call in reversed(run.calls) if broke else ():
        above = takewhile(lambda n: n.kind != TOOL, call.node.ancestors())
        for step in above:
            if id(step) in broke:
                newest.setdefault(id(step), call)
    asked = {call.turn for call in newest.values() if call.error is None}
    went: dict[int | None, list[str]] = {}
    for tool, found in run.done if asked else ():
        went.setdefault(tool.turn, []).append(found.status)
    return any(turn in went and set(went[turn]) == {"ok"} for turn in asked)


def _who_broke(root: Node, known: dict[int, Node] | None = None) -> Node:
    """The innermost step that failed as the run did. `known`: of whom it was found already, by id."""
    known = {} if known is None else known
    path, told = [root], failure(root)
    while (
        told is not None
        and id(path[-1]) not in known
        and (below := next((n for n in path[-1].children if failure(n) == told), None)) is not None
    ):
        path.append(below)
    found = known.get(id(path[-1]), path[-1])
    known.update((id(n), found) for n in path)
    return found


def _asked_by(call: ModelCall, step: Node) -> bool:
    """Was a model asked in this step, and in no tool within it?"""
    for n in call.node.ancestors():
        if n is step:
            return True
        if n.kind == TOOL:
            return False
    return False


_LIMITS = {"max_steps", "cost_limit", "timeout"}


def asker_lost(run: Evidence, handed: Collection[Delegation]) -> bool:
    """Did a tool run, or call an agent, for which no model is told to have asked, though each tells what it answered,
    and one that was asked later was shown that request? The span of who asked for it was lost."""
    called = [*run.tools, *(d.call for d in handed if d.call is not None)]
    lone = [t for t in called if t.nodes and t.asked_by is None]
    if not lone or any(c.outputs is None and c.error is None for c in run.calls):
        return False
    ids = {t.call_id for t in lone if t.call_id}
    names = {spelling(t.name) for t in lone if t.name and not t.call_id}
    shown = [r for c in run.calls for x in c.inputs or () for r in x.requests]
    return any(r.id in ids or (r.name and spelling(r.name) in names) for r in shown)


def ran_unasked(run: Evidence) -> bool:
    """Did a tool run, of those that models are offered or ask for where that is told, that no model asked for: before
    its agent asked any, or for one whose models each tell what they asked for? The span of who did was lost."""
    lone = [t for t in run.tools if t.asked_by is None and t.nodes and t.name]
    if not lone:
        return False
    known = {r.name for c in run.calls for r in c.requests}.union(run.offered or ())
    lone = [t for t in lone if t.name in known or not run.offered]
    agents: dict[int, _Asking] = {}
    for call in run.calls:
        agents.setdefault(id(worker(call)), _Asking()).add(call)
    done = {_does(t) for t in run.tools if t.asked_by is not None}
    return any(
        (asking := agents.get(id(_at_work(t)))) is not None and asking.cannot_have(t) and _does(t) not in done
        for t in lone
    )


class _Asking:
    """The model calls of an agent: when the first began, and the first that may ask for more than is told."""

    def __init__(self) -> None:
        self._first = self._secret = LATEST_NS
        self._told = False

    def add(self, call: ModelCall) -> None:
        self._first = min(self._first, call.start)
        self._told = self._told or bool(call.requests)
        if _may_ask_for_more(call):
            self._secret = min(self._secret, call.start)

    def cannot_have(self, tool: ToolCall) -> bool:
        """Can none of them have asked for this tool, which none is told to have?"""
        return tool.start < self._first or (self._told and tool.start < self._secret)


def _may_ask_for_more(call: ModelCall) -> bool:
    return (call.outputs is None and call.error is None) or (asks(call.finish) and not call.requests)


def _does(call: ToolCall) -> tuple[str, str]:
    return spelling(call.name or ""), given(call.arguments)


def _at_work(call: ToolCall) -> Node | None:
    return next((n for n in call.nodes[0].ancestors() if n.kind == AGENT), None)


@once
def noted_unseen(run: Evidence) -> bool:
    """Do log records tell of answers, by how long they were, or of none, of which no span came (Claude Code)?"""
    if not run.root.side.events:
        return False
    noted: Counter[str] = Counter()
    for n in run.nodes:
        for name, told in n.side.events.get(n.span.row, ()):
            if name.endswith(_NOTES) and _FOR_AGENTS.match(str(told.get("query_source"))):
                noted["" if name.endswith("error") else str(told.get("output_tokens"))] += 1
    if not noted:
        return False
    noted.subtract(str(c.output_tokens) if c.error is None else "" for c in run.calls)
    return any(n > 0 for n in noted.values())


_NOTES = ("api_request", "api_error")


_FOR_AGENTS = late(r"sdk|repl_main|agent[:.]")  # and for no titles nor summaries


def asked_since(run: Evidence, last: ModelCall) -> bool:
    """Did a loop begin after a model's call, or a step of one, whose kit asks a model in each, with no model within?"""
    return any(n.start >= last.end and asked_no_model(n) for n in run.nodes)


def answer_lost(run: Evidence, handed: Collection[Delegation]) -> bool:
    """Did an agent give what neither the model said that it asked last, nor a tool or an agent brought that it had then
    called? The model that answered has not come."""
    called = [d.call for d in handed if d.call is not None and d.status == "ok"]
    given: dict[int | None, str] = {id(n): text for call in called if (text := _given_by(call)) for n in call.nodes}
    if not called:
        return False
    if any(_answered_unasked(d, run) for d in handed if d.call in called and any(id(n) in given for n in d.call.nodes)):
        return True
    last: dict[int | None, ModelCall] = {}  # by the tool that called who asked it, None where nobody called that one
    giver = nearest(lambda n: id(n) in given)
    for call in run.calls:
        tool_of = giver(call.node)
        last[id(tool_of) if tool_of is not None else None] = call
    if run.output:
        given[None] = run.output
    agents: dict[int, list[str | None]] = {}  # what they gave, by who asked
    for tool in called:
        agents.setdefault(id(tool.asked_by), []).append(_given_by(tool))
    tools: dict[int, list[Outcome]] = {}
    for tool, found in run.done:
        if tool.asked_by is not tool.result_of:
            tools.setdefault(id(tool.asked_by), []).append(found)
    return any(
        _said_by_nobody(run, call, given[key], agents.get(id(call), []), tools.get(id(call), []))
        for key, call in last.items()
        if key in given
    )


def _answered_unasked(d: Delegation, run: Evidence) -> bool:
    """Is no step seen of an agent that gave an answer, nor a model asked in its time, in a kit that tells which models
    its agents ask?"""
    agent = d.node
    if agent is None or agent.kind != AGENT or any(n.kind in _STEPS for n in agent.below()):
        return False
    if any(agent.start <= c.start <= agent.end and not _of_a_caller(agent, c) for c in run.calls):
        return False
    return any(c.node.span.scope == agent.span.scope for c in run.calls)


def _of_a_caller(agent: Node, call: ModelCall) -> bool:
    """Was a model asked around an agent, and no more than its beginning in the agent's time, by whole milliseconds?"""
    around = worker(call)
    return call.end > agent.end and any(n is around for n in agent.ancestors())


def _given_by(call: ToolCall) -> str | None:
    """The text that a tool gave which called an agent, alone or as the one value of an object."""
    told = result_of(span_fact(call.nodes, "result"))[0]
    told = next(iter(told.values())) if isinstance(told, dict) and len(told) == 1 else told
    return told if isinstance(told, str) else None


def _said_by_nobody(run: Evidence, last: ModelCall, text: str, agents: list[str | None], tools: list[Outcome]) -> bool:
    if not last.requests or any(r.name in run.ways for r in last.requests):
        return False
    said = [last.text, *agents, *(found.result for found in tools)]
    if None in agents or any(x and (str(x).strip() in text or text in str(x)) for x in said):
        return False
    return bool(agents) or any(found.status in ("ok", "error") for found in tools)


def ended_on_words(run: Evidence) -> bool:
    """Does an agent say that it ended as a model does that asks for no tool, where the newest call of its own that came
    asked for some? The one that answered has not come."""
    root = run.root
    if root.orphan or not final(ended(root)):
        return False
    newest = next((c for c in reversed(run.calls) if not c.node.within(TOOL)), None)
    if newest is None or newest.error is not None:
        return False
    return asks(newest.finish) and not any(r.name in run.ways for r in newest.requests)


def aborted_at_last(run: Evidence) -> bool:
    """Was a tool that the newest answer asked for called off, and did nobody say a word since?"""
    last = run.last
    if last is None or last.error is not None or run.output:
        return False
    return any(t.turn == last.turn and any(map(aborted, t.nodes)) for t in run.tools)


def told_to_a_model(run: Evidence, last: ModelCall) -> bool:
    """Did a model's call fail in an agent below a tool that another model had asked for, and nothing around it? What
    that one was told of it, and said then, is not told. Nor is it where the run says that it went well, or another
    agent does whose tool had called the one that failed, which stands beside that."""
    root, tool = run.root, next((n for n in last.node.ancestors() if n.kind == TOOL), None)
    of_a_tool = ends_after_tools(root.span.scope, root.span.name) or holds_its_own_calls(root.span.scope)
    if of_a_tool and below_what_is_lost(root, last):
        return True
    if _called_by_one_that_went_well(last) or went_no_further(last):
        return True
    if tool is None or not within_an_agent(last):
        return False
    if made_a_result(root, last):
        return True
    below = {id(n) for n in tool.below()}
    others = [c for c in run.calls if id(c.node) not in below]
    if not others and ends_after_tools(root.span.scope, root.span.name):
        return True  # whose model was lost
    before = (c for c in others if c.start <= tool.start)
    return any(c.requests or asks(c.finish) or c.outputs is None for c in before)


def below_what_is_lost(root: Node, call: ModelCall) -> bool:
    """Was a model asked below a parent that has not come, of a run whose root has?"""
    above = list(call.node.ancestors())
    top = above[-1] if above else call.node
    return top.orphan and top is not root and not root.orphan


def _called_by_one_that_went_well(call: ModelCall) -> bool:
    """Does an agent say that it went well, whose tool lasted as long as the one does that asked this: below the agent,
    or beside it?"""
    agent = next((n for n in call.node.ancestors() if n.kind == AGENT and n.own_agent is not None), None)
    beside = (agent.parent, *agent.parent.children) if agent is not None and agent.parent is not None else ()
    return agent is not None and any(
        n.kind == AGENT
        and n.own_agent not in (None, agent.own_agent)
        and n.span.status_code == _WELL
        and n.start <= agent.start
        and agent.end < n.end
        and any(x.kind == TOOL and x.start <= agent.start and agent.end <= x.end for x in n.children)
        for n in beside
    )


def went_no_further(call: ModelCall) -> bool:
    """Did the agent fail that asked this, and none of those around it, of whom the same instrumentation tells, which
    would have marked what an error went through (fast-agent)? Whoever called it was told, and went on."""
    agents = [n for n in call.node.ancestors() if n.kind == AGENT and n.own_agent is not None]
    if len(agents) < 2 or failure(agents[0]) is None:
        return False
    return all(
        n.span.scope == agents[0].span.scope and failure(n) is None and n.end > agents[0].end > 0 for n in agents[1:]
    )


def failed_in_what_is_lost(run: Evidence) -> bool:
    """Did an agent that has lost its parent fail last, in a run that put nothing out? Whether that went any further,
    who called it would tell."""
    if run.output is not None:
        return False
    failed = [n for n in run.nodes if n.orphan and n is not run.root and n.kind == AGENT and failure(n) is not None]
    last = max(failed, key=lambda n: n.end, default=None)
    return last is not None and not any(n.start >= last.end for n in run.nodes)


def failed_unasked(run: Evidence) -> bool:
    """Did a tool that no model is seen to have asked for, though models are told, fail last, in a run that put nothing
    out and does not say that it went well? Who asked may have ended there, too."""
    last, root = run.last, run.root
    if run.output is not None or root.span.status_code == _WELL or not run.tools:
        return False
    if last is None and not any(map(asked_no_model, run.nodes)):
        return False
    newest, found = max(run.done, key=lambda pair: pair[0].start)
    after = last is None or newest.start >= last.end
    return after and newest.turn is None and bool(newest.nodes) and found.error_kind == "hard"


def _lost_within(root: Node, nodes: list[Node]) -> list[Node]:
    """The steps of a run that have lost their parents."""
    return [n for n in nodes if n.orphan and n is not root]


def without_others(root: Node, nodes: list[Node], calls: list[ModelCall]) -> list[ModelCall]:
    """The model calls of a run of which steps were lost, without those of an agent that another called: it, or the tool
    that called it, has lost its parent, and it worked in the time of the other, or of its tool; or it failed last, and
    a tool made a result of that."""
    calls = _without_caught(root, calls)
    lost = [] if root.orphan else _lost_within(root, nodes)
    around = [n for n in lost if n.kind == AGENT] + [n for n in nodes if n.kind == TOOL] if lost else []
    if not around:
        return calls
    ids = {id(n) for n in lost}
    return [c for c in calls if not _called(c, ids, around)]


def _without_caught(root: Node, calls: list[ModelCall]) -> list[ModelCall]:
    """Without what failed last and a tool made a result of: who called that tool answered, though none of it came."""
    end = len(calls)
    while end and calls[end - 1].error is not None and made_a_result(root, calls[end - 1]):
        end -= 1
    return calls[:end]


def made_a_result(root: Node, call: ModelCall) -> bool:
    """Was a model asked in an agent below a tool, of a run that says that it went well?"""
    return root.kind == AGENT and not root.orphan and root.span.status_code == _WELL and within_an_agent(call)


_WELL = 1  # the status of a span of which somebody says so


def _called(call: ModelCall, lost: set[int], around: list[Node]) -> bool:
    above = [call.node, *call.node.ancestors()]
    top, agent = above[-1], next((n for n in reversed(above) if n.kind == AGENT), None)
    if id(top) not in lost:
        return False
    if top.kind == TOOL:
        return True
    return any(
        n.start <= top.start
        and top.end <= n.end
        and not any(n is a for a in above)
        and (n.kind == TOOL or (agent is not None and agent.own_agent != n.own_agent))
        for n in around
    )


def worked_on(root: Node, nodes: list[Node], calls: list[ModelCall]) -> bool:
    """Does a run whose root tells nothing of what it gave go on, after the last model's call that came, with a step
    that has lost its parent, or an agent of which nothing is told? A model may have answered there."""
    span = root.span
    if root.orphan or not calls or span.output is not None or span.output_messages is not None:
        return False
    until = max(c.end for c in calls)
    if any(n.kind in (CHAIN, AGENT) and n.start >= until for n in _lost_within(root, nodes)):
        return True
    return any(n.kind == AGENT and n is not root and n.start >= until and _mute(n) for n in nodes)


def _mute(agent: Node) -> bool:
    return not agent.children and agent.span.output is None and agent.span.output_messages is None


def _last_step(run: Evidence, last: ModelCall) -> bool:
    """Was a model asked in the last step that came, of a workflow in which another follows each, and none that failed
    comes?"""
    step = next((n for n in last.node.ancestors() if loses_steps(n.span.scope, n.span.name)), None)
    return step is not None and not any(n.parent is step.parent and n.start >= last.end for n in run.nodes)


def _ends_mute(run: Evidence) -> bool:
    """Did the newest step that came of such a workflow put nothing out, where others did? The last one puts out what
    the run gave."""
    steps = [n for n in run.nodes if loses_steps(n.span.scope, n.span.name)]
    told = any(n.span.output is not None for n in steps)
    return told and max(steps, key=lambda n: n.start).span.output is None


def _asked_by_what_is_lost(run: Evidence) -> bool:
    """Did tools run in a step that has not come, of a run whose root has? What came after them may have failed, as that
    step did (Google's ADK for JavaScript never ends the span of a model where a tool that it asked for is nobody's)."""
    return not run.root.orphan and any(n.orphan and n.kind == TOOL for n in run.nodes)


def _asks_unheard(step: Node) -> bool:
    """Does a step of such a workflow that came hold no more than what made a request ready? It was called off."""
    if not loses_steps(step.span.scope, step.span.name) or step.kind in _STEPS:
        return False
    return not any(n.kind in _STEPS for n in step.below()) and any(n.span.name != step.span.name for n in step.children)


_STEPS = (AGENT, LLM, TOOL)
