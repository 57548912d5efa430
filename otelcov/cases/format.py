"""The case file: what a run of an agent must show.

Cases are YAML (or JSON), or the same lists and dicts from Python. The agent-TDD recipe's own are read as they are:

    - name: weather_query
      input: What is the weather in Miami?
      expected_tool_calls: [{tool_name: get_current_weather, tool_parameters: {location: Miami}}]
      expected_response_contains: Miami

A case that uses the recipe's keys alone is judged as the recipe judges, on what was asked: a call counts whatever its
outcome. Any key beyond them makes it a case of otelcov's own, where an expected call must have ended well unless its
`outcome` says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from otelcov.ground import windows
from otelcov.ground.documents import read_yaml
from otelcov.ground.errors import UsageError, did_you_mean
from otelcov.ground.selection import Side
from otelcov.verdicts import matchers

Mode = Literal[
    "exact",
    "same_calls",
    "contains",
    "contains_in_order",
    "within",
    "names",
    "any_call",
    "langchain:strict",
    "langchain:unordered",
    "langchain:subset",
    "langchain:superset",
    "agentest:strict",
    "agentest:unordered",
    "agentest:contains",
    "agentest:within",
]
Arguments = Literal["exact", "subset", "superset", "ignore"]
Outcome = Literal["ok", "error", "any"]

# What the recipe's cases are made of; `arguments: ignore` is its runner's rule, `select` only says which runs.
RECIPE_KEYS = frozenset(
    {
        "name",
        "input",
        "expected_tool_calls",
        "expected_tool_name",
        "expected_response_contains",
        "turns",
        "arguments",
        "select",
        "repetitions",
        "pass",
        "recorded",
        "description",
    }
)
# Which of a turn's keys a case with turns has no use for.
_OF_A_TURN = (
    "input",
    "input_matches",
    "expected_tool_calls",
    "expected_tool_name",
    "expected_response_contains",
    "response",
)
_RECIPE_CALL_KEYS = frozenset({"tool_name", "tool_parameters"})


def _texts(value: object) -> object:
    if not isinstance(value, (str, list, tuple)):
        raise ValueError(f"must be text or a list of texts, got {value!r}; text that looks like no text takes quotes")
    return [value] if isinstance(value, str) else value


def _milliseconds(value: object) -> object:
    if isinstance(value, str):
        try:
            return windows.duration(value) / 1e6
        except UsageError as error:
            raise ValueError(str(error)) from None
    return value


def _partial(value: object) -> object:
    return "superset" if value == "partial" else value  # Agentest's word


Texts = Annotated[list[str], BeforeValidator(_texts)]
Count = Annotated[int, Field(ge=1)]
ArgumentRule = Annotated[Arguments, BeforeValidator(_partial)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Call(_Strict):
    """One expected call. Without `tool_parameters`, `schema` and `match` its arguments do not matter."""

    tool_name: str
    tool_parameters: dict[str, Any] | None = None
    arguments: ArgumentRule | None = None  # None: as the case says
    schema_: dict[str, Any] | None = Field(None, alias="schema")  # JSON Schema of all arguments
    match: dict[str, dict[str, Any]] = {}  # parameter -> matcher: {date: {regex: "^2025-"}}
    tolerance: Annotated[float, Field(ge=0)] | None = None
    outcome: Outcome | None = None  # None: as the case says
    agent: str | None = None


class Input(_Strict):
    """How the text that a user sent is recognised."""

    exact: str | None = None
    contains: str | None = None
    regex: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Input:
        if sum(part is not None for part in (self.exact, self.contains, self.regex)) != 1:
            raise ValueError("give exactly one of exact, contains and regex")
        _compiles(self.regex)
        return self


def _input(value: object) -> object:
    return {"exact": value} if isinstance(value, str) else value


InputRule = Annotated[Input, BeforeValidator(_input)]


class Select(_Strict):
    """Which runs a case is about. Without case, input, conversation, trace or run: those that name the case, else
    those with its input."""

    case: Texts = []
    input: InputRule | None = None
    conversation: Texts = []
    trace: Texts = []
    run: Texts = []
    service: Texts = []
    environment: Texts = []
    release: Texts = []
    side: Annotated[list[Side], BeforeValidator(_texts)] = []
    model: Texts = []


class Response(_Strict):
    contains: Texts = []
    not_contains: Texts = []
    regex: Texts = []
    exact: str | None = None
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    ignore_case: bool = True  # for contains and not_contains

    @field_validator("regex")
    @classmethod
    def _regex(cls, value: list[str]) -> list[str]:
        for pattern in value:
            _compiles(pattern)
        return value


class Limits(_Strict):
    """The most that a run may take."""

    latency_ms: Annotated[float, Field(ge=0), BeforeValidator(_milliseconds)] | None = Field(None, alias="latency")
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens: int | None = None
    steps: int | None = None  # model and tool calls
    tool_calls: int | None = None
    llm_calls: int | None = None
    errors: int | None = None  # failed tool and model calls
    cost: float | None = None  # by the prices of [models] in the config


class Rule(_Strict):
    """How many of a case's runs must pass."""

    at_least: Count
    of: Count | None = None


class Turn(_Strict):
    """What one run must show: a single-turn case, or one turn of a conversation."""

    input: str | None = None
    input_matches: InputRule | None = None  # for a turn whose words are only partly known
    expected_tool_calls: list[Call] | None = None
    expected_tool_name: str | None = None
    trajectory: Mode | None = None
    arguments: ArgumentRule | None = None
    outcome: Outcome | None = None
    tolerance: Annotated[float, Field(ge=0)] | None = None
    agent: Texts | None = None  # whose calls are looked at; default everyone's
    forbidden_tools: list[Call] | None = None
    expected_response_contains: Texts = []
    response: Response | None = None
    limits: Limits | None = None

    @field_validator("expected_tool_calls", "forbidden_tools", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        """A tool's bare name stands for any call of it."""
        return [{"tool_name": v} if isinstance(v, str) else v for v in value] if isinstance(value, list) else value

    @model_validator(mode="after")
    def _checked(self) -> Turn:
        for call in (*(self.expected_tool_calls or ()), *(self.forbidden_tools or ())):
            for matcher in (*call.match.values(), *_schema(call)):
                _usable(matcher)
        for matcher in _schema(self.response):
            _usable(matcher)
        if self.expected_tool_calls is not None and self.expected_tool_name is not None:
            raise ValueError("give expected_tool_calls or expected_tool_name, not both")
        return self

    def asks(self) -> bool:
        """Whether anything is expected of the run at all."""
        return bool(
            self.expected_tool_calls is not None
            or self.expected_tool_name
            or self.forbidden_tools
            or self.expected_response_contains
            or _says(self.response, "ignore_case")
            or _says(self.limits)
        )


class Case(Turn):
    """A test case: one turn, or the turns of a conversation."""

    name: Annotated[str, Field(min_length=1)]
    description: str | None = None
    select: Select = Select()
    turns: list[Turn] | None = Field(None, min_length=1)
    repetitions: Count | None = None  # that many runs are needed to judge
    pass_: Literal["all", "any"] | Rule = Field("all", alias="pass")
    # What someone else said of these runs: a verdict or a reward, for all or by run, trace or conversation id.
    recorded: bool | float | str | dict[str, bool | float | str] | None = None
    source: dict[str, Any] | None = None  # where a generated case came from
    recipe: bool = Field(False, exclude=True)  # uses the recipe's keys alone

    @field_validator("pass_", mode="before")
    @classmethod
    def _of(cls, value: Any) -> Any:
        """`3 of 5`"""
        if isinstance(value, str) and (found := re.fullmatch(r"\s*(\d+)\s+of\s+(\d+)\s*", value)):
            return {"at_least": int(found[1]), "of": int(found[2])}
        if isinstance(value, str) and value not in ("all", "any"):
            raise ValueError(f'must be all, any, "2 of 3" or {{at_least: 2, of: 3}}, got "{value}"')
        return value

    @model_validator(mode="after")
    def _whole(self) -> Case:
        rule = self.pass_
        if isinstance(rule, Rule) and rule.of is not None and rule.at_least > rule.of:
            raise ValueError(f"at least {rule.at_least} of {rule.of} can never be")
        lost = [key for key in _OF_A_TURN if key in self.model_fields_set and getattr(self, key) is not None]
        if self.turns is not None and lost:
            raise ValueError(f"a case with turns says in each turn what it expects: {', '.join(lost)}")
        if not any(part.asks() for part in self.parts()):
            raise ValueError("it expects nothing of its runs")
        return self

    def parts(self) -> list[Turn]:
        """What each run of the case must show; what the case says for all of them comes down to its turns."""
        if self.turns is None:
            return [self]
        shared = {
            key: value
            for key in ("trajectory", "arguments", "outcome", "tolerance", "agent", "forbidden_tools", "limits")
            if (value := getattr(self, key)) is not None
        }
        return [
            turn.model_copy(update={k: v for k, v in shared.items() if getattr(turn, k) is None}) for turn in self.turns
        ]

    def needed(self) -> int:
        """The least number of runs on which the case can be judged."""
        of = self.pass_.of or self.pass_.at_least if isinstance(self.pass_, Rule) else 1
        return max(self.repetitions or 1, of)

    def to_pass(self, runs: int) -> int:
        """Of that many runs, how many must pass. More runs than were asked for must pass in the same share."""
        if self.pass_ == "all":
            return runs
        if self.pass_ == "any":
            return 1
        assert isinstance(self.pass_, Rule)
        of = self.pass_.of or self.repetitions
        return self.pass_.at_least if of is None else -(-self.pass_.at_least * runs // of)


def read(path: Path) -> list[Case]:
    """The cases of a file."""
    return parse(read_yaml(path), str(path))


def read_all(paths: Sequence[Path]) -> tuple[list[Case], dict[str, str]]:
    """The cases of all these files, and the suite of each by its name: its file, with the folder where names are alike.

    A file that is given twice counts once; two files may not hold a case of the same name.
    """
    paths = list({path.resolve(): path for path in paths}.values())
    titles = [path.name for path in paths]
    cases: list[Case] = []
    suites: dict[str, str] = {}
    for path in paths:
        title = path.name if titles.count(path.name) == 1 else path.as_posix()
        for case in read(path):
            if case.name in suites:
                raise UsageError(f'There are two cases called "{case.name}": in {suites[case.name]} and in {title}.')
            cases.append(case)
            suites[case.name] = title
    return cases, suites


def parse(document: Any, source: str = "the cases") -> list[Case]:
    """Cases from a list of dicts, or from a mapping whose values are such lists (`cases:`, or the recipe's two)."""
    entries = [*_entries(document, source)]
    cases, wrong, seen = [], [], set()
    for place, entry in entries:
        try:
            case = Case.model_validate(entry | {"recipe": _is_recipe(entry)})
        except ValidationError as error:
            name = entry.get("name") or place
            wrong += [f"  {name}: {_place(p['loc'])}{_message(p)}" for p in error.errors(include_url=False)]
            continue
        if case.name in seen:
            wrong.append(f"  {case.name}: there are two cases of this name")
        seen.add(case.name)
        cases.append(case)
    if wrong:
        raise UsageError(f"Couldn't use {source}:\n" + "\n".join(wrong))
    if not cases:
        raise UsageError(
            f"Couldn't use {source}: it holds no case. A case file is a list of cases, or has one under `cases:`."
        )
    return cases


def _entries(document: Any, source: str) -> Iterable[tuple[str, dict[str, Any]]]:
    if isinstance(document, Mapping) and "name" in document:
        document = [document]
    groups = document.items() if isinstance(document, Mapping) else [("", document)]
    for title, group in groups:
        if title == "format":
            continue
        if not isinstance(group, (list, tuple)):
            raise UsageError(f"Couldn't use {source}: {title or 'it'} is no list of cases.")
        for number, entry in enumerate(group, 1):
            if isinstance(entry, Case):
                entry = entry.model_dump(by_alias=True, exclude_unset=True)
            if not isinstance(entry, Mapping):
                raise UsageError(f"Couldn't use {source}: case {number} is no mapping.")
            yield f"case {number}", dict(entry)


def _is_recipe(entry: Mapping[str, Any]) -> bool:
    parts = [entry, *_mappings(entry.get("turns"))]
    calls = [call for part in parts for call in _mappings(part.get("expected_tool_calls"))]
    return all(set(p) <= RECIPE_KEYS for p in parts) and all(set(c) <= _RECIPE_CALL_KEYS for c in calls)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, (list, tuple)) else []


def _says(part: BaseModel | None, *aside: str) -> bool:
    """Whether any field but these is given."""
    return part is not None and any(v not in (None, []) for k, v in part if k not in aside)


def _schema(part: Call | Response | None) -> list[dict[str, Any]]:
    return [] if part is None or part.schema_ is None else [{"schema": part.schema_}]


def _usable(matcher: dict[str, Any]) -> None:
    try:
        matchers.check(matcher)
    except UsageError as error:
        raise ValueError(str(error)) from None


def _compiles(pattern: str | None) -> None:
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ValueError(f'"{pattern}" is no regex: {error}') from None


def _place(where: tuple[Any, ...]) -> str:
    return "".join(f"{part}: " for part in where if part not in ("function-before", "literal['all','any']", "Rule"))


def _message(problem: Any) -> str:
    if problem["type"] == "extra_forbidden":
        known = sorted(
            {f.alias or n for m in (Case, Call, Select, Response, Limits) for n, f in m.model_fields.items()}
        )
        return f"unknown key.{did_you_mean(str(problem['loc'][-1]), known)}"
    return str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")


__all__ = ["Call", "Case", "Input", "Limits", "Response", "Rule", "Select", "Turn", "parse", "read", "read_all"]
