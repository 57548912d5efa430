"""How a run ended, told in thousands of ways: with texts, reasons, errors of spans, statuses, or none of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.runs.requests import span

Way = Mapping[str, Any]


class Step(NamedTuple):
    """What a model answers: a text, or calls of tools by (name, argument); `fails`: the error of its span. Of tools,
    whether they ran and whether they failed."""

    text: str | None = None
    calls: tuple[tuple[str, int], ...] = ()
    finish: str = "stop"
    fails: tuple[str, str] | None = None
    runs: bool = True
    breaks: bool = False


class Course(NamedTuple):
    """`raises`: what the agent's span ends in, too."""

    steps: tuple[Step, ...]
    boundaries: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset({"ok"})
    raises: tuple[str, str] | None = None


DONE = Step("The answer is 42.")
BUSY, SLOW, BROKEN = (
    ("RateLimitError", "Rate limit reached: 429"),
    ("APITimeoutError", "Request timed out."),
    ("APIError", "server error 500"),
)


def _calls(argument: int, **more: bool) -> Step:
    return Step(None, (("look_up", argument),), "tool_calls", None, **more)


def _failed(*steps: Step, **by: str) -> Course:
    """The last model call failed, and its agent with it."""
    return Course(steps, frozenset({"error", *by.values()}), frozenset({"error"}), steps[-1].fails)


_STOPPED = frozenset({"max_steps"})
COURSES: dict[str, Course] = {
    "well": Course((DONE,)),
    "a tool, then well": Course((_calls(1), DONE)),
    "the model fails": _failed(Step(fails=BROKEN)),
    "the model fails after a tool": _failed(_calls(1), Step(fails=BROKEN)),
    "the model fails, and is asked again": Course((Step(fails=BROKEN), DONE), frozenset({"error"})),
    "too many requests": _failed(Step(fails=BUSY), by="rate_limit"),
    "no answer in time": _failed(Step(fails=SLOW), by="timeout"),
    "a limit of steps that raises": Course(
        (_calls(1), _calls(2)), _STOPPED, frozenset({"error"}), ("MaxTurnsExceeded", "Max turns (2) exceeded")
    ),
    "a limit of steps that does not": Course((_calls(1), _calls(2)), _STOPPED, frozenset({"ok", "error"})),
    "asked for at last": Course((_calls(1), _calls(2, runs=False)), _STOPPED, frozenset({"ok", "error"})),
    "cut off": Course((Step("The answer is 4", finish="length"),), frozenset({"length"})),
    "filtered": Course((Step("", finish="content_filter"),), frozenset({"content_filter"})),
    "a tool fails": Course((_calls(1, breaks=True), DONE), frozenset({"tool_failure"})),
    "a tool fails, then goes well": Course(
        (_calls(1, breaks=True), _calls(2), DONE), frozenset({"tool_failure", "tool_recovery"})
    ),
    "three calls alike": Course((_calls(1), _calls(1), _calls(1), DONE), frozenset({"repeated_call"})),
    "the agent breaks": Course((_calls(1), DONE), frozenset({"error"}), frozenset({"error"}), ("KeyError", "'answer'")),
}  # fmt: skip
WAYS: dict[str, tuple[Any, ...]] = {
    "texts": ("all", "answers", "histories", "none"),
    "reasons": (True, False),  # are they attributes, too?
    "around": ("an agent", "an agent that fails with its model", "a step", "nothing"),
    "tool spans": (True, False),
    "ids": (True, False),
    "statuses": (True, False),  # does what went well say so?
    "exceptions": (True, False),  # are errors told by events?
}


def tellings() -> Iterator[tuple[str, Way]]:
    for course, *told in itertools.product(COURSES, *WAYS.values()):
        way = dict(zip(WAYS, told, strict=True))
        by_agent = COURSES[course].raises is not None and COURSES[course].steps[-1].fails is None
        if not (by_agent and way["around"] == "nothing"):
            yield course, way


class Telling:
    """The spans of a course as told in a way; `number` tells it from others."""

    def __init__(self, number: int, name: str, way: Way) -> None:
        self.number, self.course, self.way = number, COURSES[name], way
        self.name = name
        self._ids = itertools.count(1 + number * 1_000)
        self._calls = itertools.count()
        self._at = 1.0
        self.spans: list[dict[str, Any]] = []
        around = {"nothing": None, "a step": "serve"}.get(way["around"], "invoke_agent a")
        told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"} if around != "serve" else {}
        self._root = self._span(around, told, 0, None) if around is not None else None
        self._history: list[Any] = [_message("user", {"type": "text", "content": f"Question {number}?"})]
        for step in self.course.steps:
            self._step(step)
        if self._root is not None:
            self._end(self.spans[0])

    def _span(self, name: str, told: dict[str, Any], took: float, fails: tuple[str, str] | None) -> int:
        made = span(next(self._ids), self._root if self.spans else None, name, trace=self.number + 1)
        made |= {"at": 300 * self.number + self._at, "took": took, "attributes": told}
        self.spans.append(made)
        self._outcome(made, fails)
        return int(made["id"])

    def _outcome(self, one: dict[str, Any], fails: tuple[str, str] | None) -> None:
        if fails is None:
            one["status"] = 1 if self.way["statuses"] else None
            return
        one["status"], one["error"] = None, fails[1]
        one["attributes"]["error.type"] = fails[0]
        if self.way["exceptions"]:
            one["events"] = [("exception", {"exception.type": fails[0], "exception.message": fails[1]})]

    def _end(self, root: dict[str, Any]) -> None:
        root["took"] = self._at + 1
        own = self.course.raises is not None and self.course.steps[-1].fails is None
        self._outcome(root, self.course.raises if own or self.way["around"] != "an agent" else None)
        if self.course.raises is not None and not own and self.way["around"] == "an agent":
            root["status"] = None  # it says nothing of it

    def _step(self, step: Step) -> None:
        told: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        if self.way["texts"] in ("all", "histories"):
            told["gen_ai.input.messages"] = json.dumps(self._history)
        parts = [self._request(*call) for call in step.calls] or [{"type": "text", "content": step.text}]
        said = _message("assistant", *parts) | {"finish_reason": step.finish}
        if step.fails is None:
            told |= {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4}
            if self.way["reasons"]:
                told["gen_ai.response.finish_reasons"] = [step.finish]
            if self.way["texts"] in ("all", "answers"):
                told["gen_ai.output.messages"] = json.dumps([said])
        self._span("chat m", told, 1, step.fails)
        self._at += 2
        if step.calls and step.runs:
            self._history = [*self._history, said, *(self._tool(part, step.breaks) for part in parts)]

    def _request(self, name: str, argument: int) -> dict[str, Any]:
        told = {"type": "tool_call", "name": name, "arguments": {"q": argument}}
        return told | ({"id": f"call_{self.number:06d}{next(self._calls):03d}"} if self.way["ids"] else {})

    def _tool(self, part: dict[str, Any], breaks: bool) -> Any:
        result = "Error: ValueError('no such row')" if breaks else "42"
        id = {"id": part["id"]} if self.way["ids"] else {}
        if self.way["tool spans"]:
            told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": part["name"]}
            told |= {"gen_ai.tool.call.id": part["id"]} if id else {}
            if self.way["texts"] != "none":
                told["gen_ai.tool.call.arguments"] = json.dumps(part["arguments"])
                told |= {} if breaks else {"gen_ai.tool.call.result": result}
            fails = ("ValueError", "ValueError: no such row") if breaks else None
            self._span(f"execute_tool {part['name']}", told, 0.5, fails)
        self._at += 1
        return _message("tool", {"type": "tool_call_response", "response": result} | id)

    def wrong(self, runs: list[dict[str, Any]]) -> str | None:
        """What the runs of these spans tell that was not so; model calls that nothing holds together may be several."""
        if len(runs) != 1:
            return None if self.way["around"] == "nothing" else f"{len(runs)} runs"
        run, course = runs[0], self.course
        if run["status"] not in {"unknown", *course.statuses}:
            return f"the status {run['status']}"
        if extra := set(run["boundaries"]) - course.boundaries:
            return f"{', '.join(sorted(extra))} that was not"
        if lost := course.boundaries - set(run["boundaries"]) - set(run["boundaries_unknown"]):
            return f"{', '.join(sorted(lost))} is missing"
        if run["output"] not in (None, course.steps[-1].text):
            return "the output"
        if run["input"] not in (None, f"Question {self.number}?"):
            return "the input"
        models = run["llm_calls"] or []
        if any((c["input_tokens"], c["output_tokens"]) not in ((3, 4), (None, None)) for c in models):
            return "tokens"
        failed = sum(step.fails is not None for step in course.steps)
        told = [c["status"] for c in models]
        if told.count("error") > failed or told.count("ok") > len(course.steps) - failed:
            return "how a model call ended"
        return None


def _message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}
