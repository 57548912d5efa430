"""How a run ended: well, in an error, or so that nobody can say."""

from __future__ import annotations

from otelcov.dialects.base import AGENT, CHAIN, LLM, SETUP, TOOL
from otelcov.runs.agents.charge import borne, broke_off, caught, top_agents, went_on
from otelcov.runs.llm.left_out import items_left_out
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.llm.models import OVERWRITTEN
from otelcov.runs.llm.unheard import broken_off
from otelcov.runs.rules import boundaries as b
from otelcov.runs.rules.answers import asks_after_results, asks_after_tools
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.rules.habits import (
    answers_with_errors,
    ends_after_tools,
    ends_alike,
    fails_with_models,
    hides_limits,
    leaves_errors_to_steps,
    of_adk,
    of_strands_js,
    puts_out_errors,
    runs_in_threads,
    says_well,
    sets_no_status,
    stops_after_turns,
)
from otelcov.runs.tools.handed_in import is_answer
from otelcov.runs.trace.tree import Node, exceptions, failure, spelling, waiting
from otelcov.runs.whole.answer_text import awaits_another, may_lead_on
from otelcov.runs.whole.called_off import called_off
from otelcov.runs.whole.deaths import (
    answer_lost,
    died_at_first,
    died_in_a_later_trace,
    died_in_a_step,
    died_in_a_tool,
    may_have_died_in_a_step,
)
from otelcov.runs.whole.evidence import Evidence, worker
from otelcov.runs.whole.lost_steps import (
    asked_since,
    ended_in_what_is_lost,
    failed_in_what_is_lost,
    failed_unasked,
    noted_unseen,
    told_to_a_model,
    went_no_further,
)
from otelcov.runs.whole.speakers import at_work, own_calls
from otelcov.runs.whole.told_texts import answers, assistant_text


def status(run: Evidence) -> str:
    """error: the root, or the agent in charge, failed, or the last model call did. ok: an answer, or a clean end."""
    root, last = run.root, run.last
    if asked_unseen(run):
        return "unknown"
    if caught(root):
        return "ok"
    failed = (failure(root) is not None and root.kind != TOOL) or (broke_off(root) and not _of_a_lost_run(root))
    if failed and not _tried_again(run) and not went_on(root, last) and not borne(root):
        caught_on = _may_be_caught(root) or of_a_tool(root) or _gone_on_elsewhere(root, last) or _marked_by_a_call(root)
        caught_on = caught_on or (last is not None and failure(root) is None and went_no_further(last))
        caught_on = caught_on or (root.kind == LLM and _handed_in_since(run, root))
        return "unknown" if caught_on else "error"
    if last is not None and last.error is not None:
        heard = _answered_for(root, last) or told_to_a_model(run, last) or asked_since(run, last)
        heard = heard or _kept_in_a_tool(last) or _handed_in_since(run, last.node)
        asking = (n for n in (root, *last.node.ancestors()) if n is root or n.kind == AGENT)
        heard = heard or any(n.span.status_code == 1 and fails_with_models(n.span.scope) for n in asking)  # asked again
        return "unknown" if heard or _answered_around(root, last) else "error"
    over = _told_over(run)
    if (
        died_at_first(run)
        or died_in_a_tool(run)
        or died_in_a_step(run)
        or (over is not None and over.error is not None and not told_to_a_model(run, over))
    ):
        return "error"
    if run.output is None and died_in_a_later_trace(root, run.nodes, run.calls):
        return "error"
    if unwatched(run) or (root.span.tool_error == "borrowed" and not run.calls):  # who wrote on it tells of one call
        return "unknown"
    if (
        _says_nothing(run)
        or _swallowed(root)
        or _failed_far_off(run)
        or _left_to_one_unseen(run)
        or _broke_unread(run)
        or (last is not None and last in run.unheard and (run.output is None or broken_off(last)))
        or asked_for_nobodys(run)
        or failed_in_what_is_lost(run)
        or failed_unasked(run)
        or may_have_died_in_a_step(run)
        or (run.output is None and noted_unseen(run))
    ):
        return "unknown"
    if stopped_unheard(run) or _hides_failures(run) or ended_in_what_is_lost(run) or answer_lost(run):
        return "unknown"
    if stopped_at_a_tool(run) or _given_up(root) or called_off(run) or _left_after_tools(run) or left_at_tools(run):
        return "unknown"
    if _outlasted(run) or (root.kind == LLM and (awaits_another(run.calls) or _asked_for_more(run))):
        return "unknown"
    own = own_calls(root, run.calls[-1:])  # what came last, if it is no other agent's
    answered = run.output is not None and own and own[0].text and not own[0].requests and not asks(own[0].finish)
    answered = answered and b.finish(own[0].finish) != "length"  # which some kits take for an error
    if root.orphan and (not answered or may_lead_on(root, own[0])):
        return "unknown"
    if over is not None and over.requests and root.kind in (None, OVERWRITTEN) and not _streamed_over(over):
        return "unknown"
    if over is not None and root.kind == OVERWRITTEN and _may_ask(over):
        return "unknown"
    if (
        last is not None
        and root.kind is None
        and run.output is None
        and (
            any(r.name not in run.ways for r in last.requests)
            or (asks(last.finish) and last.outputs is None)
            or (_may_ask(last) and (last.cut or last.truncated_output))
            or any(o.status == "unknown" and not t.nodes and t.asked_by is not None for t, o in run.done)
        )
    ):
        return "unknown"  # what frames it does not know of agents, nor whether what was asked for was done
    if last is not None and root.kind == LLM and (any(r.name not in run.ways for r in last.requests) or _may_ask(last)):
        return "unknown"
    if root.kind == TOOL and len(run.nodes) == 1 and run.outcomes:
        return "error" if run.outcomes[0].status == "error" else "ok"
    return "unknown" if _told_nothing(run) or limits_hidden(run) else "ok"


def _handed_in_since(run: Evidence, asked: Node) -> bool:
    """Did a tool take an answer in since a model was asked in vain? It was asked again (BeeAI), or another was."""
    return any(n.start >= asked.start and is_answer(n.span.tool) for n in run.nodes)


def _gone_on_elsewhere(root: Node, last: ModelCall | None) -> bool:
    """Was a model asked, and did it answer, after the agents that failed, in a step that has lost its parent? Who
    called them may be what is lost, and have been told of that."""
    if last is None or last.error is not None:
        return False
    top = last.node.top()
    if top is root or not top.orphan:
        return False
    if failure(root) is not None:
        return root.orphan and root.kind == AGENT and root.end <= last.start
    return all(n.end <= last.start for n in top_agents(root) if n is not root)


def _of_a_lost_run(root: Node) -> bool:
    """Is this a tool, whose run has not come? What it threw, a model may have been told."""
    return root.kind == TOOL and root.orphan


def _asked_for_more(run: Evidence) -> bool:
    """Did a run end on an answer that holds no word, and does not say that it was the end, or leaves out what it may
    have asked for (OpenLIT, of OpenAI's Responses), as it says (Traceloop, of LangChain for JavaScript)?"""
    last = run.last
    if last is None or last.outputs is None or last.requests:
        return False
    if last.text:
        return asks(last.finish)
    return items_left_out(last) or not b.final(last.finish)


def limits_hidden(run: Evidence) -> bool:
    """Is this a graph whose span ends well when a limit stops it, too, or time that was up (Strands)?"""
    held = (n for n in run.nodes if n.kind in (None, CHAIN) and hides_limits(n.span.name))
    return run.root.kind != AGENT and any(all(a.kind in (None, CHAIN) for a in n.ancestors()) for n in held)


def _may_be_caught(root: Node) -> bool:
    """Did agents of OpenAI's kit for JavaScript fail at their limit of turns alone, and nothing around them? Somebody
    may have answered in their place (`errorHandlers`), or read them as a stream."""
    if failure(root) is not None or any(failure(n) is not None for n in root.below() if n.kind == CHAIN):
        return False
    wrong = [n.span.status_message or "" for n in top_agents(root) if failure(n) is not None]
    return bool(wrong) and all(text.startswith(_AT_ITS_LIMIT) for text in wrong)


def _marked_by_a_call(root: Node) -> bool:
    """Is this a span of the program's own, which bears what went wrong in a model's call within it (LiteLLM), and not,
    as where it threw that itself, in the words of its status?"""
    return root.span.tool_error == "borrowed" and not root.span.status_message


def of_a_tool(root: Node) -> bool:
    """Does a loop say of itself no more than what went wrong in a tool below it, and threw nothing? Some lay the first
    error of a trace on its root, also where the model was told of it and the loop went on (OpenInference, of the AI
    SDK)."""
    said = root.span.status_message
    if not said or exceptions(root) or not ends_after_tools(root.span.scope, root.span.name):
        return False
    below = (n for n in root.below() if n.span.status_message == said and n.span.status_code == 2)
    return any(n.kind == TOOL or n.within(TOOL) for n in below)


_AT_ITS_LIMIT = 'Max turns exceeded: {"max_turns":'


def _answered_for(root: Node, last: ModelCall) -> bool:
    """Did nothing fail around the model's call that failed, in a kit that notes what fails on all that is around it
    (Google's ADK)? A plugin may have answered in its place."""
    above = list(last.node.ancestors())
    kits = [n for n in above if of_adk(n.span.scope)]
    return root in kits and root.span.name.startswith(_NOTING) and all(failure(n) is None for n in above)


_NOTING = ("invoke_workflow", "invocation")


def _kept_in_a_tool(last: ModelCall) -> bool:
    """Did a model fail that a tool asked, and nothing around that tool? A limit may have stopped who called it."""
    above = list(last.node.ancestors())
    at = next((at for at, n in enumerate(above) if n.kind == TOOL), len(above) - 1)
    return bool(above[at + 1 :]) and all(failure(n) is None for n in above[at + 1 :])


def _answered_around(root: Node, last: ModelCall) -> bool:
    """Did what is around the model's call that failed put out words of its own, and nothing there fail? A loop may have
    asked again, in a call that has not come, or who caught the failure have answered in the model's place."""
    told, above = root.span.output or "", list(last.node.ancestors())
    if root not in above or root.orphan or not answers(assistant_text(told, None)):
        return False
    return last.error is not None and last.error[1][:_WORDS] not in told and failure(root) is None


_WORDS = 64  # letters of an error by which an output is known to tell it


def asked_unseen(run: Evidence) -> bool:
    """Is a tool all that came, which a model of which nothing is told asked for, by its id or as its kit runs them?"""
    root = run.root
    if root.kind != TOOL or root.orphan or run.calls or len(run.nodes) > 1:
        return False
    return bool(root.span.call_id) or runs_in_threads(root.span.scope)


def _tried_again(run: Evidence) -> bool:
    """Is the root a model's call that failed, and was a model asked after it?"""
    return run.root.kind == LLM and run.last is not None and run.last.start >= run.root.end


def unwatched(run: Evidence) -> bool:
    """Did an instrumentation fail by itself? Whether its error stopped the run, too, or hid another, is not told."""
    return any(n.span.row in n.side.mishaps for n in run.nodes)


def _told_nothing(run: Evidence) -> bool:
    """Is there no step, no answer and no word of how it went? A guard may have stopped it before all else."""
    if run.calls or run.outcomes:
        return False
    steps = [n.span for n in run.nodes if n is run.root or n.kind is not None]  # no helper says how an agent went
    said = any(s.status_code == 2 or (s.status_code and not _of_all(s.scope)) for s in steps)
    return not run.root.span.end or not (run.output is not None or said)


def _of_all(scope: str) -> bool:
    """Is it said here of all that it went well?"""
    return says_well(scope) or sets_no_status(scope)


def stopped_unheard(run: Evidence) -> bool:
    """Did a run that neither put anything out nor says that it went well end on an answer of which only this is told,
    that it asked for tools? A limit, a user or a hook stopped it then, or the way to answer was a tool."""
    last, root = run.last, run.root
    if last is None or run.output is not None:
        return False
    if last.node.parent is not root and (last.node.within(TOOL) or last.node.orphan):  # of an agent that it called
        own = next((c for c in reversed(run.calls) if c.node.parent is root), last)
        last = own if own.outputs is None else last
    well = any(says_well(n.span.scope) for n in last.layers)
    if _ends_no_failure(last):
        own = next((c for c in reversed(run.calls) if not c.node.within(TOOL)), last)
        return any(n.kind == TOOL for n in own.node.children) or any(map(_refused, run.nodes))
    if well and last.outputs is not None:
        left = run.left(last)
        return bool(left) and not any(o.status in ("error", "requested") for o in left)
    ran = any(n.kind == TOOL and n.start >= last.start for n in run.nodes)
    dropped = last.finish is None and last.outputs is None and bool(last.node.span.dropped) and ran
    if not (asks(last.finish) or dropped) or (last.outputs is not None and (last.asked or last.text)):
        return False
    if well:
        return not ran
    if last.outputs is not None:
        return not ran and not root.span.status_code
    if last.node.parent is not root:
        return False
    return not ran if root.kind == CHAIN else root.kind == AGENT and not root.span.status_code


def stopped_at_a_tool(run: Evidence) -> bool:
    """Did a run that put nothing out, and does not say how it went, end on a tool that failed, or may have? Where no
    content is told, nor is it which answer asked for it."""
    last = run.last
    if last is None or run.output is not None or run.root.span.status_code:
        return False
    stops = any(of_adk(n.span.scope) for n in last.layers)  # says `stop` of all answers
    if not asks(last.finish) and not (stops and last.requests):
        return False
    bad = ("unknown",) if last.outputs is not None else ("unknown", "error")
    return any(o.status in bad and t.nodes and t.turn == last.turn for t, o in run.done)


def _given_up(root: Node) -> bool:
    """Is this an agent of Strands' for JavaScript that tells of no answer, nor why there is none? Its stream was given
    up."""
    if root.kind != AGENT or not of_strands_js(root.span.scope) or not root.span.end:
        return False
    told = root.side.events.get(root.span.row, ())  # by the newest conventions where they are asked for
    return not any(name == "gen_ai.choice" or "gen_ai.output.messages" in attributes for name, attributes in told)


def _left_after_tools(run: Evidence) -> bool:
    """Did a run end on tools of a kit that always asks a model after them, and put nothing out since? Whoever drove it
    step by step left it, or it was called off."""
    last = run.last
    if last is not None and any(asks_after_results(n.span.scope) for n in last.layers):
        return any(o.status == "requested" or (o.status == "ok" and bool(o.result)) for o in run.left(last))
    root = run.root.span
    if last is not None and run.output is None and stops_after_turns(last.node.span.scope, root.name):
        left = run.left(last)
        return bool(left) and all(o.status in ("ok", "error") for o in left)
    if last is None or run.output is not None or run.root.kind != AGENT or not asks_after_tools(run.root.span.scope):
        return False
    if last.outputs is None or any(r.name in run.ways for r in last.requests):
        return False
    then = [(t, o) for t, o in run.done if t.turn == last.turn]
    return bool(then) and all(t.nodes and o.status in ("ok", "error") for t, o in then)


def left_at_tools(run: Evidence) -> bool:
    """Did a run of which nothing says how it went, nor what it put out, end on tools of which nothing came back, and
    none of which waits? Whoever cancels a program's own spans leaves them so."""
    last, root = _at_a_tool_yet(run) or run.last, run.root
    if run.output is not None or (last is not None and (last.error or not last.requests or at_work(root, last))):
        return False
    if any(n.span.status_code or n.span.output is not None for n in (root, *top_agents(root))):
        return False
    if any(waiting(n) for n in run.nodes):
        return False
    then = [(t, o) for t, o in run.done if last is None or t.turn == last.turn]
    then = then if last is not None else sorted(then, key=lambda both: both[0].start)[-1:]
    return bool(then) and all(t.answer is None and o.result is None and o.status == "unknown" for t, o in then)


def _at_a_tool_yet(run: Evidence) -> ModelCall | None:
    """Who asked for a tool that went on after the last words of an agent at work beside it, and was not heard of since
    itself."""
    last = run.last
    then = (t.asked_by for t in run.tools if last is not None and any(n.end > last.end for n in t.nodes))
    asker = max((c for c in then if c is not None), key=lambda c: c.start, default=None)
    spoke = asker is not None and any(c.agent == asker.agent and c.start > asker.start for c in run.calls)
    return None if spoke else asker


def _outlasted(run: Evidence) -> bool:
    """Did a frame that puts nothing out end before the model in it began that asked for tools last? It set work going,
    and its clean end says nothing of how that went."""
    last, root = run.last, run.root
    if last is None or run.output is not None or not asks(last.finish):
        return False
    return 0 < root.end < last.start and any(above is root for above in last.node.ancestors())


def _ends_no_failure(call: ModelCall) -> bool:
    """Is this of Google's ADK for JavaScript, which never ends the span of a model's call that failed, so that it does
    not come? Its spans begin at whole milliseconds."""
    return of_adk(call.node.span.scope) and not call.start % 1_000_000


def _refused(node: Node) -> bool:
    """Is this where such a kit was to ask a model of a run's own agent, and did not?"""
    return node.kind == CHAIN and node.span.name == "call_llm" and not node.within(TOOL)


def _hides_failures(run: Evidence) -> bool:
    """Is this without an answer, by an instrumentation that ends every span alike (Splunk's of OpenAI's kit, Codex)?"""
    agents = [n.span.scope for n in top_agents(run.root)]
    alike = any(map(ends_alike, agents)) or run.muted or (run.last is None and any(map(answers_with_errors, agents)))
    open_end = run.last is None or asks(run.last.finish)
    alike = alike or (open_end and any(map(leaves_errors_to_steps, agents)))
    return alike if run.output is None else run.last is None and _may_be_an_error(run)


def _may_be_an_error(run: Evidence) -> bool:
    """May what was put out be what went wrong? Not where a model answered, as what was counted says, and no tool ran
    after which it was asked again."""
    agents = [n.span for n in top_agents(run.root) if puts_out_errors(n.span.scope)]
    return any(not span.output_tokens or run.tools for span in agents)


def _says_nothing(run: Evidence) -> bool:
    """Is this an agent that put nothing out, nor says how it went, where its instrumentation says it of all that is in
    it? It was called off, or whoever read its answer left."""
    root = run.root
    if root.kind != AGENT or root.span.status_code or run.output is not None or not run.calls:
        return False
    within = [n for n in root.below() if n.span.scope == root.span.scope]
    return bool(within) and all(n.span.status_code for n in within)


def _swallowed(root: Node) -> bool:
    """The root says not what it answered nor, as an agent, that it went well, and the last thing in it failed; or what
    an agent asked of itself, which then gives what words there were before (mcp-agent)."""
    if root.span.status_code and not (root.kind == CHAIN and root.span.status_code == 1):
        return False
    final = _own(root)
    if final is None and root.span.output is None:
        step = max((n for n in root.children if n.kind != SETUP), key=lambda n: (n.end, n.start), default=None)
        final = None if step is None else _own(step) or step
    if final is None or final.kind not in (AGENT, CHAIN):
        return False
    return bool(exceptions(final)) and failure(final) is not None


def _own(agent: Node) -> Node | None:
    """The last step of an agent that does not say how it went which is the same agent once more."""
    if agent.kind != AGENT or agent.span.status_code:
        return None
    own = (n for n in agent.children if n.kind == AGENT and n.span.agent == agent.span.agent)
    return max(own, key=lambda n: (n.end, n.start), default=None)


def _failed_far_off(run: Evidence) -> bool:
    """The run put nothing out, nor says how it went, and the last of it is an agent that failed below one that asked no
    model itself: it hands on what another did (an agent in a server, called by one that stands for it)."""
    root = run.root
    if root.span.status_code or run.output is not None or run.last is None:
        return False
    failed = (n for n in root.below() if n.kind == AGENT and exceptions(n) and failure(n) is not None)
    final = max(failed, key=lambda n: n.end, default=None)
    if final is None or max(c.start for c in run.calls) >= final.end or any(t.start >= final.end for t in run.tools):
        return False
    above = next((n for n in final.ancestors() if n.kind == AGENT), None)
    return above is not None and failure(above) is None and not any(worker(c) is above for c in run.calls)


def _left_to_one_unseen(run: Evidence) -> bool:
    """The run put nothing out, nor says how it went, and after its last step began an agent of whose steps nothing is
    told: one elsewhere, which may have failed there."""
    if run.root.span.status_code or run.output is not None or run.last is None:
        return False
    since = [n for n in run.root.below() if n.kind == AGENT and n.start >= run.last.end]
    late = max(since, key=lambda n: n.start, default=None)
    if late is None or late.span.status_code or late.within(TOOL):
        return False
    return all(n.kind is None for n in late.below())


def _broke_unread(run: Evidence) -> bool:
    """There is no answer and no word of how it went, and since the last model was asked something threw of which only
    the instrumentation is known: a tool's span, perhaps, that nobody here can read."""
    root, last = run.root, run.last
    if last is None or run.output is not None or root.span.status_code:
        return False
    since = (n for n in run.nodes if n.kind is None and n is not root and n.start >= last.start)
    return any(n.span.scope == last.node.span.scope and exceptions(n) and failure(n) is not None for n in since)


def _told_over(run: Evidence) -> ModelCall | None:
    """The newest call, where its span stands for several, each written over the one before, and nothing was put out
    (Google's client, which calls functions itself)."""
    spans = [n for n in run.nodes if n.kind == OVERWRITTEN]
    if not spans or run.output is not None:
        return None
    newest = max(spans, key=lambda n: n.end)
    return ModelCall(newest, [newest]) if run.last is None or run.last.start < newest.end else None


def _may_ask(call: ModelCall) -> bool:
    """May an answer that is not told ask for tools? All of Gemini's say `stop`."""
    return call.outputs is None and (not b.final(call.finish) or (call.google and b.letters(call.finish) == "stop"))


def _streamed_over(call: ModelCall) -> bool:
    """Does a span tell of a stream all that its answers said: what they asked for, each of which ran, then words?"""
    ran = [n for n in call.node.children if n.kind == TOOL]
    return bool(call.text) and len(ran) == len(call.asked)


def asked_for_nobodys(run: Evidence) -> bool:
    """Did a run that put nothing out end on a request for a tool that nobody had, or, where it is not known who had
    what, of which no span came, as those of others did? Some frameworks raise an error then, and not every
    instrumentation sees it."""
    last, offered = run.last, {spelling(name) for name in run.offered or ()}
    if last is not None and any(n.definitions for n in last.layers):  # cut short, unless they are known
        offered = offered or {spelling(t.name) for t in run.tools if t.nodes and t.name}
    if last is None or last.error is not None or not offered or run.output is not None:
        return False
    asked = [t for t in run.tools if t.asked_by is last and not t.nodes and t.answer is None and t.name not in run.ways]
    return any(spelling(t.name) not in offered for t in asked if t.name is not None)
