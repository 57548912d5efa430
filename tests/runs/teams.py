"""What agents did for each other, told in hundreds of ways: with agents' spans or only their names, with spans of the
tools that asked them or without, with histories, ids and texts or none.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.runs.requests import span

Way = Mapping[str, Any]


class Call(NamedTuple):
    """An agent calls a tool, or another agent by a tool; `to` is that agent, None for a tool."""

    name: str
    given: dict[str, str]
    to: Agent | None = None
    hands_over: bool = False
    fails: bool = False


class Agent(NamedTuple):
    """What its model answers, one after the other: calls at once, or a text."""

    name: str
    answers: tuple[tuple[Call, ...] | str, ...]


LOOK = Call("look_up", {"of": "one"})
FAILURE = "(the model fails)"
FAILS = Call("look_up", {"of": "none"}, fails=True)


def _writer(*calls: Call, text: str = "A text.") -> Agent:
    return Agent("writer", (*((call,) for call in calls), text))


def _asks(to: Agent, name: str = "", **given: str) -> Call:
    return Call(name or f"ask_{to.name}", {"task": f"Be a {to.name}."} | given, to)


def _passes(to: Agent) -> Call:
    return Call(f"transfer_to_{to.name}", {}, to, hands_over=True)


def _looks_up(what: str) -> Call:
    return LOOK._replace(given={"of": what})


_CRITIC = Agent("critic", ((Call("rate", {"of": "it"}),), "Good."))
_FAILING = Agent("writer", (FAILURE,))
_OF_ANOTHER = Agent("writer", ((_asks(Agent("reader", ((LOOK,), "Read."))),), "A text."))
_PASSES_BACK = Agent("writer", ((LOOK,), (_passes(Agent("planner", ("Done.",))),)))


def _planner(*answers: tuple[Call, ...], says: str | None = "Done.") -> Agent:
    return Agent("planner", answers if says is None else (*answers, says))


COURSES: dict[str, Agent] = {
    "one asked": _planner((_asks(_writer()),)),
    "one asked, of a tool": _planner((_asks(_writer(LOOK)),)),
    "one asked, whose tool fails": _planner((_asks(_writer(FAILS)),)),
    "two one after the other": _planner((_asks(_writer(LOOK)),), (_asks(_CRITIC),)),
    "two at once": _planner((_asks(_writer(LOOK)), _asks(_CRITIC))),
    "one twice": _planner((_asks(_writer(LOOK)),), (_asks(_writer(_looks_up("two"))),)),
    "an agent and a tool at once": _planner((_asks(_writer()), LOOK)),
    "three deep": _planner((_asks(_OF_ANOTHER),)),
    "by a name given": _planner((_asks(_writer(LOOK), "delegate", agent="writer"),)),
    "handed over": _planner((_passes(_writer()),), says=None),
    "handed over, of a tool": _planner((_passes(_writer(LOOK)),), says=None),
    "a tool, then handed over": _planner((LOOK,), (_passes(_writer(_looks_up("two"))),), says=None),
    "handed over and on": _planner((_passes(Agent("writer", ((LOOK,), (_passes(_CRITIC),)))),), says=None),
    "handed over and back": _planner((_passes(_PASSES_BACK),), says=None),
    "asked by one who was handed to": _planner((_passes(Agent("writer", ((_asks(_CRITIC),), "Done."))),), says=None),
    "one fails": _planner((_asks(_FAILING),), says="Sorry."),
    "one fails, then does it": _planner((_asks(_FAILING),), (_asks(_writer(LOOK)),)),
    "a tool of another name": _planner((_asks(_writer(LOOK), "make_it_nice"),)),
    "an agent of two words": _planner((_asks(Agent("Text Writer", ((LOOK,), "A text.")), "text_writer"),)),
    "tools of both": _planner((LOOK,), (_asks(_writer(_looks_up("two"))),), (_looks_up("three"),)),
}
WORKFLOWS: dict[str, tuple[Agent, ...]] = {  # in which none asks another
    "in turn": (Agent("planner", ((LOOK,), "A plan.")), _writer(LOOK._replace(given={"of": "two"})), _CRITIC),
    "at once": (_writer(LOOK), _CRITIC),
}
WAYS: dict[str, tuple[Any, ...]] = {
    "texts": ("all", "answers", "histories", "none"),
    "ids": ("all", "of models", "of tools", "none"),
    "tools": ("spans", "spans of tools alone", "none"),  # alone: not of those that call an agent
    "agents": ("of the operation", "by name", "none"),
    "models name their agent": (True, False),
    "below": ("its tool", "its caller", "the root"),  # an agent's span
    "twice": ("nothing", "models", "tools", "agents", "all"),  # a layer in the other
    "root": ("a step", "the agent"),
    "handed": ("whole", "without how"),  # the history of who takes over: does it show the call by which it does?
}


def tellings() -> Iterator[tuple[str, Way]]:
    """Every course in every way that differs from the others and leaves it told."""
    for course, *told in itertools.product([*COURSES, *WORKFLOWS], *WAYS.values()):
        way = dict(zip(WAYS, told, strict=True))
        if not _like_another(course, way) and not _untold(course, way):
            yield course, way


def _like_another(course: str, way: Way) -> bool:
    return (
        (way["texts"] == "none" and way["ids"] in ("all", "of models"))
        or (way["below"] == "its tool" and way["tools"] != "spans")
        or (way["handed"] != "whole" and (way["texts"] not in ("all", "histories") or course in WORKFLOWS))
        or (course in WORKFLOWS and way["below"] != "the root")
        or (way["root"] == "the agent" and (course in WORKFLOWS or way["below"] == "the root"))
    )


def _untold(course: str, way: Way) -> bool:
    """Does nothing name an agent, or tell of a hand-over, or that a tool is one that calls an agent?"""
    silent = way["agents"] == "none" and way["texts"] == "histories" and way["handed"] != "whole"
    nameless = way["agents"] == "none" and (not way["models name their agent"] or way["root"] == "the agent")
    asked = way["below"] == "its tool" or way["texts"] in ("all", "histories")
    return silent or nameless or (course == "a tool of another name" and not asked)


class Telling:
    """The spans of a course as told in a way; `number` tells it from others."""

    def __init__(self, number: int, course: str, way: Way) -> None:
        self.number, self.course, self.way = number, course, way
        self._ids = itertools.count(1 + number * 1_000)
        self._calls = itertools.count()
        self.spans: list[dict[str, Any]] = []
        self.models = Counter[str]()
        self.tools = Counter[tuple[str, str, bool]]()  # (agent, tool, whether it failed)
        self.handed = Counter[tuple[str, str]]()
        self._root = self._span("serve", None, 0, 0, {}) if way["root"] == "a step" else None
        asked = _message("user", _text(f"What of {number}?"))
        if course in WORKFLOWS:
            end = self._workflow(course, asked)
        else:
            end = self._agent(COURSES[course], self._root, 1, [asked])
        if self._root is not None:
            self.spans[0]["took"] = end + 1
        self._layers()

    def _workflow(self, course: str, asked: Any) -> float:
        at, end = 1.0, 0.0
        for who in WORKFLOWS[course]:
            end = max(end, self._agent(who, self._root, at, [asked]))
            at = end + 0.5 if course == "in turn" else at + 0.1
            if course == "in turn" and isinstance(last := who.answers[-1], str):
                asked = _message("user", _text(f"What of {self.number}? {last}"))
        return end

    def _layers(self) -> None:
        """A span of the same in each that has two layers."""
        known = {"chat": "models", "execute_tool": "tools", "invoke_agent": "agents"}
        for one in list(self.spans):
            of = known.get(one["name"].split()[0])
            if of is None or self.way["twice"] not in (of, "all"):
                continue
            inner = next(self._ids)
            for below in self.spans:
                if below["parent"] == one["id"]:
                    below["parent"] = inner
            at, took = one["at"] + 0.01, one["took"] - 0.02
            self.spans.append(one | {"id": inner, "parent": one["id"], "at": at, "took": took, "scope": "inner"})

    def _span(self, name: str, parent: int | None, at: float, took: float, told: dict[str, Any], **more: Any) -> int:
        id, at = next(self._ids), 1_000 * self.number + at
        self.spans.append(span(id, parent, name, trace=self.number + 1, at=at, took=took, attributes=told, **more))
        return id

    def _agent(self, who: Agent, parent: int | None, at: float, history: list[Any]) -> float:
        """When it was done."""
        parent, mine = self._agent_span(who, parent, at)
        at += 1
        for answer in who.answers:
            parts = [_text(answer)] if isinstance(answer, str) else [self._request(call) for call in answer]
            said = _message("assistant", *parts)
            self._model(who, parent, at, history, said, fails=answer == FAILURE)
            at, back = at + 2, []
            if answer == FAILURE and mine is not None:
                mine["error"] = "overloaded"
            if isinstance(answer, str):
                continue
            for call, part in zip(answer, parts, strict=True):
                told = {"type": "tool_call_response", "response": self._result(call)}
                back.append(_message("tool", told | ({"id": part["id"]} if "id" in part else {})))
            asked, seen, history = at, history, [*history, said, *back]
            taken = history if self.way["handed"] == "whole" else seen
            ends = [
                self._call(who, call, part, parent, at + 0.1 * n, taken)
                for n, (call, part) in enumerate(zip(answer, parts, strict=True))
            ]
            at = max(ends) + 1
            within = self.way["below"] == "its caller" or self._root is None  # who takes over works in who hands over
            if answer[-1].hands_over and mine is not None and not within:
                mine["took"] = asked + 0.7 - self._since(mine)
        if mine is not None and not mine["took"]:
            mine["took"] = at - self._since(mine)
        return at

    def _since(self, one: dict[str, Any]) -> float:
        return one["at"] - 1_000 * self.number

    def _agent_span(self, who: Agent, parent: int | None, at: float) -> tuple[int | None, dict[str, Any] | None]:
        if self.way["agents"] == "none":
            return parent, None
        told = {"gen_ai.agent.name": who.name}
        if self.way["agents"] == "of the operation":
            told["gen_ai.operation.name"] = "invoke_agent"
        return self._span(f"invoke_agent {who.name}", parent, at, 0, told), self.spans[-1]

    def _model(self, who: Agent, parent: int | None, at: float, history: list[Any], said: Any, fails: bool) -> None:
        self.models[who.name] += 1
        told: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3}
        if self.way["models name their agent"]:
            told["gen_ai.agent.name"] = who.name
        if self.way["texts"] in ("all", "answers") and not fails:
            told["gen_ai.output.messages"] = json.dumps([said])
        if self.way["texts"] in ("all", "histories"):
            told["gen_ai.input.messages"] = json.dumps([_message("system", _text(f"You are {who.name}.")), *history])
        if fails:
            told["error.type"] = "overloaded"
        self._span("chat m", parent, at, 1, told, **({"error": "overloaded"} if fails else {}))

    def _request(self, call: Call) -> dict[str, Any]:
        told: dict[str, Any] = {"type": "tool_call", "name": call.name, "arguments": call.given}
        if self.way["ids"] in ("all", "of models"):
            told["id"] = f"call_{self.number:06d}{next(self._calls):03d}"
        return told

    def _result(self, call: Call) -> str:
        if call.fails or (call.to is not None and call.to.answers[-1] == FAILURE):
            return "Error: no such thing"
        return "Transferred." if call.hands_over else f"Result of {call.name}."

    def _call(
        self, who: Agent, call: Call, part: dict[str, Any], parent: int | None, at: float, history: list[Any]
    ) -> float:
        if call.to is None:
            self.tools[who.name, call.name, call.fails] += 1
        else:
            self.handed[who.name, call.to.name] += 1
        tool, mine = parent, None
        if self.way["tools"] == "spans" or (call.to is None and self.way["tools"] != "none"):
            told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name}
            if self.way["ids"] in ("all", "of tools"):
                told["gen_ai.tool.call.id"] = part.get("id") or f"call_{self.number:06d}{next(self._calls):03d}"
            if self.way["texts"] != "none":
                told |= {"gen_ai.tool.call.arguments": json.dumps(call.given)}
            more = {"error": "no such thing"} if call.fails else {}
            tool = self._span(f"execute_tool {call.name}", parent, at, 0.5, told, **more)
            mine = self.spans[-1]
        if call.to is None:
            return at + 0.6
        place = {"its tool": tool, "its caller": parent, "the root": self._root}[self.way["below"]]
        if call.hands_over:
            if place == tool and mine is not None:
                place = self._root if self._root is not None else parent
            return self._agent(call.to, place, at + 1, history)
        done = self._agent(call.to, place, at + 0.2, [_message("user", _text(call.given["task"]))])
        if mine is not None:
            mine["took"] = done - at
            if call.to.answers[-1] == FAILURE:
                mine["error"] = "overloaded"
        return done + 0.1

    def wrong(self, runs: list[dict[str, Any]]) -> str | None:
        """What the runs of these spans tell that was not so."""
        if len(runs) != 1:
            return f"{len(runs)} runs"
        run = runs[0]
        if run["llm_calls"] is not None:
            who = Counter(c["agent"] for c in run["llm_calls"])
            if who.total() != self.models.total():
                return "model calls"
            if any(who[name] > self.models[name] for name in who if name is not None):
                return "a model call is told to be another agent's"
        if run["delegations"] is not None:
            told = Counter((d["from"], d["to"]) for d in run["delegations"])
            if told.total() < self.handed.total() and "delegations not visible" not in run["incomplete"]:
                return "a delegation is missing"
            some = Counter({pair: count for pair, count in told.items() if None not in pair})
            if any(d["status"] == "error" for d in run["delegations"]) and "fails" not in self.course:
                return "a delegation is told to have failed"
            if self.course == "one fails" and any(d["status"] == "ok" for d in run["delegations"]):
                return "a delegation is told not to have failed"
            if told.total() > self.handed.total() or some - self.handed:
                return "a delegation that was none"
        if run["tool_calls"] is not None:
            told = Counter(c["name"] for c in run["tool_calls"])
            true = Counter(name for _, name, _ in self.tools.elements())
            if told - true:
                return "a tool call that was none"
            if true - told:
                return "a tool call is missing"
            if any(c["status"] == "requested" for c in run["tool_calls"]):
                return "a call that ran is told not to have run"
            of = Counter((c["agent"], c["name"]) for c in run["tool_calls"] if c["agent"] is not None)
            if of - Counter((agent, name) for agent, name, _ in self.tools.elements()):
                return "a tool call is told to be another agent's"
            if any(c["status"] == "error" for c in run["tool_calls"]) and not any(fails for *_, fails in self.tools):
                return "an error that was none"
        return None


def _message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}
