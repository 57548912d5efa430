"""Model calls and tools that each stand in a trace of their own, and share no id: joined by their conversation.

A conversation tells its turns apart: an answer that asks for tools is no end, and an input that ends with results is no
beginning. So what comes next in a conversation goes on with the call that waits for its tools, and a tool ran for the
call that asked for it, and until another call was made. Where texts can be seen they must agree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from otelcov.dialects.base import TOOL
from otelcov.runs.content.chat import Message, Request
from otelcov.runs.content.jsontext import Value, to_json
from otelcov.runs.content.prose import react_request
from otelcov.runs.content.wrapped import arguments_of, result_of
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.handed_on import goes_on_for, gone
from otelcov.runs.joining.prints import print_of
from otelcov.runs.llm.left_out import items_left_out
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import asks, final
from otelcov.runs.tools.executions import server_alone, span_call_id, span_fact, span_name
from otelcov.runs.tools.items import by_items, results_alone
from otelcov.runs.trace.tree import Node, exceptions, failure, same_name, spelling, waiting

_JITTER_NS = 1_000_000
_SOON_NS = 5_000_000_000  # after an answer, how long what it asked for may take to begin
_PATIENCE_NS = 600_000_000_000  # how long tools may take whose call is known by nothing else
_AT_ONCE = 64  # calls of a service that may wait for tools

_Told = TypeVar("_Told", bound=tuple[Any, ...])  # the call that asked for tools comes first


def unite_leaves(
    loose: list[Fragment],
    followers: dict[int, Fragment],
    joined: dict[int, Fragment],
    unite: Callable[[Fragment, Fragment], None],
    one_run: Callable[[list[Fragment]], bool],
) -> list[_Fitting]:
    """`loose` by start; `followers` of each call are known where ids told, and so are the tools that are `joined`.
    Gives the tools for which several calls may have asked, and these."""
    waiting: dict[str | None, list[_Open]] = {}
    before = {id(p): q for q in loose if (p := followers.get(id(q))) is not None}
    ran: set[int] = set()  # calls for which tools ran
    undecided: list[_Fitting] = []
    for p in loose:
        conversation = p.root.span.conversation
        told = conversation is not None
        open_ = waiting.setdefault(conversation, [])
        if p.root.kind == TOOL and not p.calls:
            some = [x.asker for x in open_] if told and id(p) not in joined else []
            fitting = [q for q in some if ran_for(p, q)]
            if len(fitting) == 1:
                unite(fitting[0], p)
                ran.add(id(fitting[0]))
            elif fitting:
                undecided.append((p, fitting))
            continue
        if not p.calls:
            continue
        q = before.get(id(p))
        if q is None:
            shown, bare = p.calls[0].inputs is not None, items_left_out(p.calls[0])
            wordless, kept = told and _wordless(p.calls[0]), bool(results_alone(p.calls[0].inputs or ()))
            some = [
                x.asker
                for x in open_
                if (x.hidden or wordless if shown else told) or (bare and x.bare) or (kept and x.items)
            ]
            fitting = [q for q in some if id(q) not in followers and _goes_on(q, p, id(q) in ran)]
            fitting = [q for q in fitting if _one_agent(q, p)] or fitting
            if len(fitting) == 1:
                unite(fitting[0], p)
                asked = fitting[0].calls[-1]
                if _one_agent(fitting[0], p) or gone(asked) or goes_on_for(p.calls[0], asked) is not None:
                    q = fitting[0]  # else one agent called another, and waits
                    followers[id(q)] = p
                    _tell_answer(q.calls[-1], p.calls[0])
            elif fitting and told and one_run(fitting):
                unite(fitting[-1], p)
        open_ = [x for x in open_ if x.asker is not q and not (told and x.hidden and _over(x.asker, p))][-_AT_ONCE:]
        waiting[conversation] = open_
        last = p.calls[-1]
        bare = items_left_out(last)
        done = (not _untold(last) and (last.text or not bare)) or final(last.finish)
        if last.error is None and (last.requests or asks(last.finish) or not done):
            open_.append(_Open(p, _untold(last), bare, by_items(last.requests)))
    alone = [p for p in loose if p.root.kind == TOOL and id(p) not in joined]
    ran_by_id = ((q, p) for p in loose if p.tools and (q := joined.get(id(p))) is not None)
    undecided += _unite_by_requests(alone, loose, followers, ran_by_id, unite)
    _unite_by_results(alone, loose, followers, unite)
    return undecided


class _Open(NamedTuple):
    """A call that may go on, and what of it is not told: its answer, what its input holds beside the user's words, the
    ids of the calls that it asked for."""

    asker: Fragment
    hidden: bool
    bare: bool
    items: bool


def _unite_by_requests(
    tools: list[Fragment],
    loose: list[Fragment],
    followers: dict[int, Fragment],
    ran_by_id: Iterable[tuple[Fragment, Fragment]],
    unite: Callable[[Fragment, Fragment], None],
) -> list[_Fitting]:
    """A tool that tells no conversation and no id that anybody knows (MCP's clients tell none): it ran after the one
    call whose answer asked for a tool of its name - where it has none, of its arguments - and before the call that was
    told what came of it, if one was. Gives those for which several may have asked, and these."""
    tools = [p for p in tools if not (p.root.span.conversation or server_alone(p.root))]
    asked: dict[tuple[str | None, str], list[tuple[Fragment, int]]] = {}
    for q in loose if tools else ():
        after = followers.get(id(q))
        until = q.end + _SOON_NS if after is None else after.start
        for told in {key for r in q.calls[-1].requests for key in _known_as(r)} if q.calls else ():
            asked.setdefault((q.root.span.service, told), []).append((q, until))
    ran = Counter((id(q), spelling(span_name([p.root]) or "")) for q, p in ran_by_id)  # tools of a name, of each call
    alike: dict[tuple[str | None, str, str], list[_Fitting]] = {}
    for p in tools if asked else ():
        given = to_json(arguments_of(span_fact([p.root], "arguments"))[0])
        told = spelling(span_name([p.root]) or "") or given
        some = _begun(asked.get((p.root.span.service, told), []), p)
        fitting = [q for q, until in some if p.start <= until + _JITTER_NS and ran_for(p, q)]
        if len(fitting) == 1:
            ran[id(fitting[0]), told] += 1
            unite(fitting[0], p)
        elif fitting:
            alike.setdefault((p.root.span.service, told, given), []).append((p, fitting))
    undecided: list[_Fitting] = []
    for (_, told, _), every in alike.items():
        for several in _at_one_time(every):
            dealt = _dealt(several, told, ran)
            for q, p in dealt:
                unite(q, p)
            undecided += several if not dealt else []
    return undecided


_Fitting = tuple[Fragment, list[Fragment]]  # a tool, and the calls that may have asked for it


def _at_one_time(every: list[_Fitting]) -> Iterator[list[_Fitting]]:
    """The tools, by start, in groups of those for which the same calls may have asked."""
    several: list[_Fitting] = []
    askers: set[int] = set()
    for tool, fitting in every:
        ids = {id(q) for q in fitting}
        if several and ids.isdisjoint(askers):
            yield several
            several, askers = [], set()
        several.append((tool, fitting))
        askers |= ids
    if several:
        yield several


def _dealt(several: list[_Fitting], told: str, ran: Counter[tuple[int, str]]) -> list[tuple[Fragment, Fragment]]:
    """Tools of one name that were given the same, and who asked for each: by their order, where as many ran as were
    asked for and the same came of them. Whose was whose makes no difference, then."""
    tool = several[0][0]
    asked: list[Fragment] = []
    for q in {id(q): q for _, fitting in several for q in fitting}.values():
        count = sum(_asks_for(r, tool) for r in q.calls[-1].requests)
        asked += [q] * (count - ran[id(q), told])
    came = {(failure(p.root), p.root.span.result) for p, _ in several}
    if len(asked) != len(several) or len(came) > 1:
        return []
    asked.sort(key=lambda q: (q.end, q.trace_id))
    dealt = [(q, p) for (p, fitting), q in zip(several, asked, strict=True) if any(q is one for one in fitting)]
    return dealt if len(dealt) == len(several) else []


def _known_as(request: Request) -> Iterator[str]:
    """By what the span of a tool that was asked for is found: its name, or what it was given."""
    if request.name:
        yield spelling(request.name)
    given = arguments_of(request.arguments)[0]
    if given:
        yield to_json(given)


def _unite_by_results(
    tools: list[Fragment],
    loose: list[Fragment],
    followers: dict[int, Fragment],
    unite: Callable[[Fragment, Fragment], None],
) -> None:
    """A tool without a conversation, where answers do not show what they asked for (Traceloop for LangChain.js): it ran
    between the one call that asked for tools and the call that was told just its result. Some of the tools of a run
    would look like all of them, so it is all or none. Of a run that ended with its tools (a limit), it ran after the
    one call that asked for some, and of which no history tells. What waited for somebody ran again to its end."""
    told: dict[tuple[str | None, str], list[tuple[Fragment, Fragment]]] = {}
    words: dict[str | None, list[tuple[Fragment, Fragment, str]]] = {}
    heads: dict[int, int] = {}  # of each call, with which its run began
    missing: dict[int, int] = {}  # results of a run, for which no tool is found
    open_: dict[str | None, list[tuple[Fragment]]] = {}
    for q in loose if tools else ():
        after = followers.get(id(q))
        if not q.calls or (after is not None and not after.calls):
            continue
        head = heads.setdefault(id(q), id(q))
        mute = not q.calls[-1].requests and asks(q.calls[-1].finish)
        if after is None:
            if mute and q.calls[-1].inputs is not None and q.root.span.conversation is None:
                open_.setdefault(q.root.span.service, []).append((q,))
            continue
        heads[id(after)] = head
        if not mute:
            continue
        for text in brought(after.calls[0]):
            missing[head] = missing.get(head, 0) + 1
            told.setdefault((q.root.span.service, text), []).append((q, after))
            words.setdefault(q.root.span.service, []).append((q, after, text))
    found: list[tuple[Fragment, Fragment]] = []
    held: list[tuple[Fragment, list[Fragment]]] = []  # tools that waited for somebody, with who may have asked
    done: dict[int, int] = {}  # when the first tool ended that an open call asked for: the others had begun
    for p in tools if told or open_ else ():
        result = _text(result_of(span_fact([p.root], "result"))[0])
        if p.root.span.conversation is not None:
            continue
        if result:
            some = _begun(told.get((p.root.span.service, result), []), p)
        else:
            some = [(q, x) for q, x, text in _begun(words.get(p.root.span.service, []), p) if _threw(p.root, text)]
        fitting = _around(p, some)
        went_on = _around(p, _begun(words.get(p.root.span.service, []), p)) if not result else []
        if len(fitting) == 1:
            missing[heads[id(fitting[0])]] -= 1
            found.append((fitting[0], p))
        elif went_on and waiting(p.root):
            held.append((p, went_on))
        elif not fitting and not went_on:
            ended = [q for (q,) in _begun(open_.get(p.root.span.service, []), p) if _just_before(q, p)]
            ended = [q for q in ended if done.get(id(q), p.start) + _JITTER_NS >= p.start]
            if len(ended) == 1:
                done.setdefault(id(ended[0]), p.end)
                found.append((ended[0], p))
    again = [(_ran_again(p, askers, found), p) for p, askers in held]
    found += [(askers[0], p) for askers, p in again if len(askers) == 1]
    for q, p in found:
        if missing.get(heads[id(q)], 0) == 0:
            unite(q, p)
        else:
            p.astray = True


def _around(tool: Fragment, some: list[Any]) -> list[Fragment]:
    """Those of these calls that had ended as a tool began, and went on once it had ended."""
    fits = ((q, x) for q, x, *_ in some if q.end <= tool.start + _JITTER_NS and tool.end <= x.start + _JITTER_NS)
    return list({id(q): q for q, _ in fits}.values())


def _ran_again(tool: Fragment, some: list[Fragment], found: list[tuple[Fragment, Fragment]]) -> list[Fragment]:
    """Those of these calls for which a tool ran later that was given the same."""
    given = _given_to(tool)
    again = {id(q) for q, p in found if p.start >= tool.end and _given_to(p) == given}
    return [q for q in some if id(q) in again]


def _given_to(tool: Fragment) -> str:
    return to_json(arguments_of(span_fact([tool.root], "arguments"))[0])


def _just_before(call: Fragment, tool: Fragment) -> bool:
    """May this tool be what that call asked for? One instrumentation tells of both."""
    alike = call.root.span.scope == tool.root.span.scope
    return alike and call.end - _JITTER_NS <= tool.start <= call.end + _SOON_NS


def _begun(some: list[_Told], tool: Fragment) -> list[_Told]:
    """The newest of these, by start, that began before a tool."""
    begun = bisect_right(some, tool.start, key=lambda told: told[0].start)
    return some[max(0, begun - _AT_ONCE) : begun]


def _threw(tool: Node, text: str) -> bool:
    """Does a result tell what a tool failed with?"""
    return any(message.strip() and message in text for _, message in exceptions(tool))


def brought(call: ModelCall) -> list[str]:
    """The results that a call's input ends with."""
    out: list[str] = []
    for message in reversed(call.inputs or ()):
        if not message.results:
            break
        out += [_text(r.content) or "" for r in message.results]
    return out


def _text(content: Value) -> str | None:
    return content if isinstance(content, str) else None if content is None else to_json(content)


def tail(call: ModelCall) -> tuple[list[str], list[Message]] | None:
    """Ids of the results that this call's input ends with, then those of the requests they are for, or None where it
    ends with a new user message."""
    inputs = call.inputs
    if not inputs:
        return None
    if _observed(inputs):
        return [], [*inputs[:-2], acted(inputs[-2].text)]
    if _observed_within(inputs[-1]):
        return [], [*inputs[:-1], acted(inputs[-1].text)]
    if call.unordered:
        brought = [r.id for x in inputs for r in x.results if r.id]
        return (brought, []) if brought else None
    last = next(
        (i for i in range(len(inputs) - 1, -1, -1) if inputs[i].role == "assistant" and inputs[i].requests), None
    )
    asked = [] if last is None else [r.id for r in inputs[last].requests if r.id]
    if last is None:  # what was asked for is left out of history (OpenLIT): the results at the end still say
        last = next((i for i in range(len(inputs) - 1, -1, -1) if not inputs[i].results), -1)
    after = inputs[last + 1 :]
    if not after and inputs[-1].requests:
        return asked, inputs  # what came back is left out
    if not after or any(x.role in ("user", "assistant") and not x.results for x in after):
        return None
    return [r.id for x in after for r in x.results if r.id] + asked, inputs[: last + 1]


def _observed(inputs: list[Message]) -> bool:
    """Does this end with what came of a tool, told as words of the user (ReAct)?"""
    if len(inputs) < 2 or inputs[-1].role != "user" or inputs[-2].role != "assistant":
        return False
    return (inputs[-1].text or "").lstrip().startswith("Observation:") and react_request(inputs[-2].text) is not None


def _observed_within(last: Message) -> bool:
    """Does an answer tell what came of the tool that it asked for, since its own loop wrote that after it (CrewAI)?"""
    told = (last.text or "").rpartition("\nAction Input:")[2] if last.role == "assistant" else ""
    return "\nObservation:" in told and react_request(last.text) is not None


def acted(text: str | None) -> Message:
    """An answer that asks for a tool by its text, by that alone: history tells it in words of its own (LlamaIndex)."""
    asked = react_request(text)
    return Message("assistant", requests=[] if asked is None else [Request(None, asked.name)])


def _goes_on(before: Fragment, p: Fragment, ran: bool) -> bool:
    """Is this the next call of a conversation whose call before cannot be told by ids? `ran`: tools did in between."""
    asked, call = before.calls[-1], p.calls[0]
    if before.root.span.service != p.root.span.service or before.end > p.start + _JITTER_NS:
        return False
    if items_left_out(asked) and items_left_out(call):
        open_ = asked.requests or not asked.text
        return bool(open_ and call.inputs) and print_of(asked.inputs or []) == print_of(call.inputs or [])
    if by_items(asked.requests):
        return _kept(asked, call) and p.start <= before.end + _PATIENCE_NS
    if call.inputs is None:
        return p.root.span.conversation is not None and (ran or asks(asked.finish) or bool(asked.requests))
    if p.root.span.conversation is not None and _wordless(call):
        return _untold(asked) or _answers(call, asked)
    return _untold(asked) and tail(call) is not None and (_repeats(call, asked) or goes_on_for(call, asked) is not None)


def _wordless(call: ModelCall) -> bool:
    """Does a call's input hold what came of tools, and no word of a user's? So no run begins."""
    inputs = call.inputs or ()
    return any(x.results for x in inputs) and not any(x.role == "user" and x.text for x in inputs)


def _answers(call: ModelCall, asked: ModelCall) -> bool:
    """May what came of tools be of those that this answer asked for?"""
    came = [r for x in call.inputs or () for r in x.results]
    ids = {r.id for r in asked.requests}
    if None not in ids and ids.isdisjoint(r.id for r in came) and all(r.id for r in came):
        return False
    names = [r.name for r in came if r.name is not None]
    return bool(ids) and all(any(same_name(name, x.name) for x in asked.requests) for name in names[-1:])


def _kept(asked: ModelCall, call: ModelCall) -> bool:
    """Does this bring as much as that asked for, in a conversation that the provider keeps? Ids do not tell."""
    orders = [[x.text for x in one.inputs or () if x.role == "system"] for one in (asked, call)]
    same = orders[0] == orders[1] and asked.request_model == call.request_model
    return same and len(results_alone(call.inputs or ())) == len(asked.requests)


def _over(before: Fragment, p: Fragment) -> bool:
    """Is the conversation beyond what that call asked for, if it asked for anything, once this one is made?"""
    asked, call = before.calls[-1], p.calls[0]
    if asked.outputs is not None or before.end > p.start + _JITTER_NS:
        return False
    same = (
        before.root.span.service == p.root.span.service
        and _one_agent(before, p)
        and p.root.span.conversation is not None
    )
    return same and (call.inputs is None or _repeats(call, asked))


def _untold(call: ModelCall) -> bool:
    """Is nothing told of what a model answered? Who answered may be told of an answer that was calls alone (Traceloop,
    of Ollama)."""
    return not any(o.text or o.requests or o.unreadable for o in call.outputs or ())


def _tell_answer(asked: ModelCall, call: ModelCall) -> None:
    """What a model answered is what the next call's history goes on with."""
    known, told = asked.inputs or [], call.inputs or []
    if _untold(asked) and (handed := goes_on_for(call, asked)) is not None:
        asked.was(handed)
        return
    answer = told[len(known)] if known and len(told) > len(known) and _untold(asked) else None
    if answer is not None and answer.role == "assistant" and answer.requests and _repeats(call, asked):
        asked.was(answer)


def _one_agent(one: Fragment, two: Fragment) -> bool:
    return one.root.agent is None or two.root.agent is None or one.root.agent == two.root.agent


def _repeats(call: ModelCall, before: ModelCall) -> bool:
    """Does the input of a call begin with that of one before, and say more?"""
    known, told = before.inputs, call.inputs
    if not known or told is None or len(told) <= len(known) or not any(x.text for x in known):
        return False
    return all(
        x.role == y.role and (x.text or "") == (y.text or "") and print_of([x]) == print_of([y])
        for x, y in zip(known, told, strict=False)
    )


def ran_for(tool: Fragment, asker: Fragment) -> bool:
    """May this tool have run for what that model call asked?"""
    call = asker.calls[-1]
    if asker.end > tool.start + _JITTER_NS:
        return False
    if call.outputs is None:
        return True
    return any(_asks_for(r, tool) for r in call.requests)


def _asks_for(request: Request, tool: Fragment) -> bool:
    name, own = span_name([tool.root]), span_call_id([tool.root])
    ran, _ = arguments_of(span_fact([tool.root], "arguments"))
    if not (same_name(request.name, name) if name else ran) or (own and request.id and own != request.id):
        return False
    return ran is None or (given := arguments_of(request.arguments)[0]) is None or given == ran
