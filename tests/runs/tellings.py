"""One course of events, told in thousands of ways: with ids in answers, in histories, in results, or in none of them;
with or without spans of tools; in one trace, or in a trace a span.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.runs.requests import span


class Call(NamedTuple):
    name: str
    given: dict[str, int]
    result: str | None  # None: it was asked for and never ran


X, Y = Call("x", {"q": 1}, "r1"), Call("y", {"q": 2}, "r2")
COURSES: dict[str, list[list[Call]]] = {  # what each answer but the last asks for
    "one after the other": [[X], [Y]],
    "at once": [[X, Y]],
    "the same twice": [[X], [X._replace(result="r2")]],
    "one tool twice at once": [[X, X._replace(given={"q": 2}, result="r2")]],
    "only the first ran": [[X, Y._replace(result=None)]],
    "only the second ran": [[X._replace(result=None), Y]],
    "at once, and one more": [[X, Y], [X._replace(given={"q": 3}, result="r3")]],
    "without arguments": [[X._replace(given={})], [Y._replace(given={})]],
}
WAYS: dict[str, tuple[Any, ...]] = {
    "answers": (True, False),  # are they told?
    "ids of answers": (True, False),
    "ids of history": (True, False),
    "ids of results": (True, False),
    "names of results": (True, False),
    "arguments of history": (True, False),
    "history": ("whole", "newest", "results", "requests"),
    "tool spans": ("none", "id", "no id", "id, result", "no id, result", "name"),
}
Way = Mapping[str, Any]
IN_ONE_TRACE: Way = {"traces": "one", "layers": "one", "results": "of tools"}
APART: dict[str, tuple[Any, ...]] = {
    "traces": ("one", "a conversation", "apart"),
    "layers": ("one", "two", "the inner without texts", "the outer without texts"),
    "results": ("of tools", "of the user"),
}


def ways(axes: Mapping[str, tuple[Any, ...]]) -> Iterator[Way]:
    """Every way that can be told from others."""
    for told in itertools.product(*axes.values()):
        way = dict(zip(axes, told, strict=True))
        shown = way["ids of history"] or not way["arguments of history"]
        brought = way["ids of results"] or way["names of results"]
        if not (way["history"] == "results" and shown) and not (way["history"] == "requests" and brought):
            yield way


class Telling:
    """The spans of a course as told in a way; `number` tells it from others, and from one number to the next the same
    agent is asked something else later, in a conversation of its own or in that of the one `before`."""

    def __init__(self, number: int, course: str, way: Way, before: Telling | None = None) -> None:
        self.number, self.course, self.way = number, course, way
        self._talk: str = f"talk-{number}" if before is None else before._talk
        self._ids = itertools.count(1 + number * 1_000)
        self.spans: list[dict[str, Any]] = []
        self._top: int | None = None
        turns = COURSES[course]
        if way["traces"] == "one":
            self._top = self._span("invoke_agent a", None, 0, 3 * len(turns) + 5, {"gen_ai.agent.name": "a"})
        newest = [_message("user", {"type": "text", "content": f"What of {number}?"})]
        history = newest if before is None else [*before.history, *newest]
        for turn, calls in enumerate(turns):
            answer = _message("assistant", *(self._request(turn, at, "answers") for at in range(len(calls))))
            self._model(3 * turn + 1, newest if way["history"] in ("newest", "results") else history, answer)
            asked, brought = self._told_later(turn)
            history = [*history, asked, *brought]
            newest = [asked, *brought] if way["history"] == "newest" else brought
            self._tools(turn)
        newest = newest if way["history"] in ("newest", "results") else history
        done = _message("assistant", {"type": "text", "content": f"Done with {number}."})
        self._model(3 * len(turns) + 1, newest, done, last=True)
        self.history = [*history, done]

    def _span(self, name: str, parent: int | None, at: float, took: float, told: dict[str, str]) -> int:
        id = next(self._ids)
        trace = self.number + 1 if self.way["traces"] == "one" else 10**9 + (parent or id)
        told = {"gen_ai.operation.name": name.split()[0], **told}
        if self.way["traces"] == "a conversation":
            told["gen_ai.conversation.id"] = self._talk
        self.spans.append(span(id, parent, name, trace=trace, at=100 * self.number + at, took=took, attributes=told))
        return id

    def _model(self, at: float, told: list[Any], answer: Any, last: bool = False) -> None:
        about = {"gen_ai.request.model": "m"}
        texts = {"gen_ai.input.messages": json.dumps(told)}
        if last or self.way["answers"]:
            texts["gen_ai.output.messages"] = json.dumps([answer])
        layers = self.way["layers"]
        outer = self._span("chat m", self._top, at, 1, about | ({} if layers == "the outer without texts" else texts))
        if layers != "one":
            self._span("chat m", outer, at + 0.1, 0.8, about | ({} if layers == "the inner without texts" else texts))

    def _id(self, turn: int, at: int) -> str:
        return f"call_{self.number:06d}{turn}{at}"

    def _request(self, turn: int, at: int, where: str) -> dict[str, Any]:
        call = COURSES[self.course][turn][at]
        told: dict[str, Any] = {"type": "tool_call", "name": call.name}
        if self.way[f"ids of {where}"]:
            told["id"] = self._id(turn, at)
        if where == "answers" or self.way["arguments of history"]:
            told["arguments"] = call.given
        return told

    def _told_later(self, turn: int) -> tuple[Any, list[Any]]:
        """The answer, and what came back, as history tells them."""
        parts = []
        for at, call in enumerate(COURSES[self.course][turn]):
            told = {"type": "tool_call_response", "response": call.result}
            if self.way["ids of results"]:
                told["id"] = self._id(turn, at)
            if self.way["names of results"]:
                told["name"] = call.name
            parts += [told] if call.result is not None else []
        asked = _message(
            "assistant", *(self._request(turn, at, "history") for at in range(len(COURSES[self.course][turn])))
        )
        if self.way["history"] == "requests":
            return asked, []
        if self.way["results"] == "of the user":
            return asked, [_message("user", *parts)]
        return asked, [_message("tool", part) for part in parts]

    def _tools(self, turn: int) -> None:
        for at, call in enumerate(COURSES[self.course][turn]):
            shown = self.way["tool spans"]
            if shown == "none" or call.result is None:
                continue
            told = {"gen_ai.tool.name": call.name}
            if shown.startswith("id"):
                told["gen_ai.tool.call.id"] = self._id(turn, at)
            if shown.endswith("result"):
                told["gen_ai.tool.call.result"] = call.result
            if shown != "name":
                told["gen_ai.tool.call.arguments"] = json.dumps(call.given)
            self._span(f"execute_tool {call.name}", self._top, 3 * turn + 2.1 + 0.1 * at, 0.5, told)

    def wrong(self, runs: list[dict[str, Any]]) -> str | None:
        """What the runs of these spans tell that was not so."""
        turns = COURSES[self.course]
        if len(runs) != 1:
            return f"{len(runs)} runs"
        run = runs[0]
        if run["llm_calls"] is not None and len(run["llm_calls"]) != len(turns) + 1:
            return "model calls"
        if run["tool_calls"] is None:
            return None
        truth = [(call, self._id(turn, at)) for turn, calls in enumerate(turns) for at, call in enumerate(calls)]
        ran = Counter(call.name for call, _ in truth if call.result is not None)
        idle = Counter(call.name for call, _ in truth if call.result is None)
        told = run["tool_calls"]
        executed = Counter(c["name"] for c in told if c["status"] != "requested")
        if Counter(c["name"] for c in told if c["status"] == "requested") - idle:
            return "a call that ran is told not to have run"
        if Counter(c["name"] for c in told if c["status"] == "ok") - ran or executed - ran - idle:
            return "a call that did not run is told to have run"
        if ran - executed:
            return "a call is missing"
        for c in told:
            fits = [(call, id) for call, id in truth if call.name == c["name"] and c["arguments"] in (None, call.given)]
            if c["result"] is not None and c["result"] not in [call.result for call, _ in fits]:
                return "another's result"
            if c["call_id"] is not None and c["call_id"] not in [id for _, id in fits]:
                return "another's id"
            if c["status"] == "error":
                return "an error"
        return None


def _message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}
