"""What otelcov.toml says, checked; every value knows where it came from.

Read from `--config FILE`, else `./otelcov.toml`, else `[tool.otelcov]` in `./pyproject.toml`. A key of `[coverage]`,
`[runs]` or `[collect]` that is no table and no list of lists may also come from the environment: `OTELCOV_<KEY>`. A
section that a later command needs is one more model here and one more field of `Config`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    model_validator,
)

from otelcov.ground import windows
from otelcov.ground.errors import ConfigError, UsageError, did_you_mean
from otelcov.ground.selection import Side

DIMENSIONS = ("tool", "path", "state", "boundary", "model")
Boundary = Literal[
    "max_steps",
    "timeout",
    "cost_limit",
    "empty_input",
    "error",
    "tool_failure",
    "tool_recovery",
    "length",
    "rate_limit",
    "repeated_call",
    "content_filter",
]
BOUNDARIES: tuple[str, ...] = get_args(Boundary)
SEED_BOUNDARIES = BOUNDARIES[:6]


def _nanoseconds(value: object) -> object:
    try:
        return windows.duration(value if isinstance(value, str) else "")
    except UsageError:
        raise ValueError('must be a duration in quotes, like "60s", "1h30m" or "7d"') from None


def _lower(value: object) -> object:
    return [v.lower() if isinstance(v, str) else v for v in value] if isinstance(value, list) else value


def _no_share(value: float) -> float:
    if 0 < value < 1:
        raise ValueError(f"is a percent, and {value:g} is below one. Did you mean {value * 100:g}?")
    return value


def _edge(value: str) -> str:
    if not all(value.rpartition("/")):
        raise ValueError("must be an edge, like agent/tool")
    return value


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is no regex: {error}") from None
    return value


Duration = Annotated[int, BeforeValidator(_nanoseconds), PlainSerializer(windows.span_text)]
Percent = Annotated[float, Field(ge=0, le=100)]
Threshold = Annotated[Percent, AfterValidator(_no_share)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Names = list[Annotated[str, Field(min_length=1)]]
LowerNames = Annotated[Names, BeforeValidator(_lower)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Port = Annotated[int, Field(ge=0, le=65535)]
Bytes = Annotated[int, Field(gt=0)]


class Section(BaseModel):
    """Unknown keys are errors; values cannot be changed after reading."""

    # Every command waits for these classes: only `Config` is built, and each section as a part of it.
    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_by_name=False, validate_by_alias=True, defer_build=True
    )


def _section() -> Any:
    """A section that is not written is one where nothing is."""
    return Field(default_factory=dict, validate_default=True)


class Sides(Section):
    """Which `deployment.environment.name` (in lower case) belongs to which side."""

    test: LowerNames = ["test", "testing", "ci", "dev", "development", "local", "qa"]
    staging: LowerNames = ["staging", "stage", "preprod", "uat"]
    production: LowerNames = ["production", "prod", "live"]

    @model_validator(mode="before")
    @classmethod
    def _one_side_a_name(cls, told: Any) -> Any:
        """A name that was written under one side is no longer another's by default; nobody is on two sides."""
        if not isinstance(told, dict):
            return told
        written = {side: _lower(told[side]) for side in cls.model_fields if side in told}
        sides: dict[str, str] = {}
        for side, names in written.items():
            for name in map(str, names) if isinstance(names, list) else ():
                if sides.setdefault(name, side) != side:
                    raise ValueError(f'"{name}" is under {sides[name]} and under {side}: an environment has one side')
        free = {s: [n for n in f.default if n not in sides] for s, f in cls.model_fields.items() if s not in told}
        return {**told, **free}


class Agent(Section):
    """What one agent may and must not do. None is "not declared"; an empty list declares that there is none."""

    tools: Names | None = None
    restricted: Names | None = None
    delegates_to: Names | None = None
    entry: bool = False


class Tool(Section):
    side_effects: Literal["none", "read", "write"] | None = None


class Price(Section):
    """What a million tokens cost, in whatever currency all prices are."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]


class Model(Section):
    aliases: Names = []
    context: Annotated[int, Field(gt=0)] | None = None
    price: Price | None = None


class AgentAssay(Section):
    """What the profile `agentassay` knows beyond tools and models: ranges of metadata, and where paths are cut."""

    boundaries: dict[str, tuple[float, float]] = {}
    max_path_depth: Annotated[int, Field(gt=0)] = 10


class Coverage(Section):
    boundaries: list[Boundary] | None = None
    paths: list[Names] | None = None
    restricted: Literal["listed", "complement"] = "listed"
    profile: Literal["otelcov", "agentassay"] = "otelcov"
    min_runs: Annotated[int, Field(ge=1)] = 20
    state_attributes: Names = []
    agentassay: AgentAssay = _section()


class Thresholds(Section):
    """The least percentages that a report must show."""

    overall: Threshold | None = None
    tool: Threshold | None = None
    path: Threshold | None = None
    state: Threshold | None = None
    boundary: Threshold | None = None
    model: Threshold | None = None


class AllThresholds(Thresholds):
    """Those of the whole selection, and `[thresholds.agents.NAME]` for one agent's part."""

    agents: dict[str, Thresholds] = {}


class Runs(Section):
    settle_ns: Duration = Field(60 * windows.SECOND, alias="settle")
    max_run_ns: Duration = Field(6 * 3600 * windows.SECOND, alias="max_run")
    soft_errors: tuple[Pattern, ...] = ()  # further patterns by which a tool result tells of an error


class Collect(Section):
    """The receiver. Secrets are named by file or by environment variable, never written here."""

    host: str = "127.0.0.1"
    grpc_port: Port = 4317
    http_port: Port = 4318
    allow_unauthenticated: bool = False  # a bind beyond loopback without token or client certificate
    max_request_bytes: Bytes = 64 * 2**20  # after inflation
    max_request_spans: Annotated[int, Field(gt=0)] = 65_536
    max_request_elements: Annotated[int, Field(gt=0)] = 2**20  # attributes, events and links
    max_queue_bytes: Bytes = 256 * 2**20  # received and not yet on disk
    max_inbox_bytes: Bytes = 4096 * 2**20  # on disk and not yet in the store
    header_timeout_ns: Duration = Field(10 * windows.SECOND, alias="header_timeout")
    body_timeout_ns: Duration = Field(30 * windows.SECOND, alias="body_timeout")
    idle_timeout_ns: Duration = Field(120 * windows.SECOND, alias="idle_timeout")
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None  # asks every client for a certificate of this authority
    token_file: Path | None = None  # one bearer token a line
    token_env: str | None = None  # name of the variable that holds the token
    content: Literal["keep", "drop", "hash"] = "keep"
    drop: Names = []
    hash: Names = []
    hash_key_env: str = "OTELCOV_HASH_KEY"
    mask_secrets: bool = True
    drain_ns: Duration = Field(3 * windows.SECOND, alias="drain")  # for open requests after SIGTERM
    commit_interval_ns: Duration = Field(2 * windows.SECOND, alias="commit_interval")
    commit_bytes: Bytes = 64 * 2**20


class Judge(Section):
    """Who judges, what that may cost, and what must hold. Without a model only the rules judge."""

    model: str | None = (
        None  # "openai:gpt-4o-mini", "anthropic:…"; without a prefix it is an OpenAI-compatible server's
    )
    base_url: str | None = None
    api_key_env: str | None = None  # name of the variable that holds the key
    output: Literal["prompted", "tool", "native"] = "prompted"  # how a typed answer is asked for
    temperature: Annotated[float, Field(ge=0)] | None = 0.0
    metrics: Names | None = None  # None: all
    custom: Names = []  # module:name or path/to/file.py[:name]
    concurrency: Annotated[int, Field(ge=1)] = 8
    timeout_ns: Duration = Field(60 * windows.SECOND, alias="timeout")  # of one call
    attempts: Annotated[int, Field(ge=1)] = 4
    backoff_ns: Duration = Field(windows.SECOND, alias="backoff")  # before the second attempt; doubles
    repeats: Annotated[int, Field(ge=1)] = 1
    max_calls: Annotated[int, Field(ge=0)] | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    price_input: Annotated[float, Field(ge=0)] | None = None  # of a million tokens, in any currency
    price_output: Annotated[float, Field(ge=0)] | None = None
    max_text: Annotated[int, Field(ge=100)] = 8000  # characters of one text that a judge is shown
    min_turns: Annotated[int, Field(ge=1)] = 1  # fewer scores are not enough data
    min_judged_pct: Percent = 50  # of the turns that a metric applies to
    fail_on_error_severity: Literal["low", "medium", "high", "critical"] = "critical"
    group: bool = False  # let the judge group errors by cause, too
    otlp_endpoint: str | None = None  # gets results as events, and the judge's own traces
    goals: dict[str, str] = {}  # by test case or conversation id
    knowledge: list[str] = []  # facts that answers must not contradict
    knowledge_files: list[Path] = []
    thresholds: dict[str, Finite] = {}  # by metric, on the metric's own scale


class Cases(Section):
    """Test cases that are written from traces."""

    redact: list[Pattern] = []  # what no written case may hold, beside the known forms


class Alert(Section):
    """One rule: a number of the latest `window`, and from where on it is wrong. Shares and coverage are in percent."""

    name: Annotated[str, Field(min_length=1)]
    metric: Annotated[str, Field(min_length=1)] | None = None
    below: Finite | None = None
    above: Finite | None = None
    drop: Annotated[Finite, Field(gt=0)] | None = None  # points lost against the window before
    clear: Finite | None = None  # where it is well again; default: where it is not wrong
    for_: Annotated[int, Field(ge=1)] = Field(1, alias="for")  # checks in a row before it fires, and before it ends
    window_ns: Duration = Field(24 * 3600 * windows.SECOND, alias="window")
    min_runs: Annotated[int, Field(ge=1)] = 1
    edge: Annotated[str, AfterValidator(_edge)] | None = None  # agent/tool that must be exercised
    unused_for_ns: Duration | None = Field(None, alias="unused_for")
    service: Names = []
    environment: Names = []
    side: Names = []
    release: Names = []
    model: Names = []

    @model_validator(mode="after")
    def _whole(self) -> Alert:
        if self.edge is not None:
            if self.unused_for_ns is None or self.metric is not None:
                raise ValueError('a rule on an edge has unused_for, like "7d", and no metric')
        elif self.metric is None:
            raise ValueError("a rule has a metric or an edge")
        elif sum(x is not None for x in (self.below, self.above, self.drop)) != 1:
            raise ValueError("a rule on a metric has exactly one of below, above and drop")
        return self

    @model_validator(mode="after")
    def _clears(self) -> Alert:
        """A number that is wrong cannot be well again."""
        most = self.above if self.drop is None else self.drop
        if self.clear is not None and (
            (self.below is not None and self.clear < self.below) or (most is not None and self.clear > most)
        ):
            raise ValueError(f"clear = {self.clear:g} is on the wrong side: the number would be wrong and well at once")
        return self


class Alerts(Section):
    """Rules that `otelcov alerts check` looks at, and where it tells of changes."""

    rules: list[Alert] = []
    webhook: str | None = None
    webhook_env: str | None = None  # name of the variable that holds the address, where that is a secret
    timeout_ns: Duration = Field(5 * windows.SECOND, alias="timeout")


class Config(Section):
    sides: Sides = _section()
    agents: dict[str, Agent] = {}
    tools: dict[str, Tool] = {}
    models: dict[str, Model] = {}
    coverage: Coverage = _section()
    thresholds: AllThresholds = _section()
    runs: Runs = _section()
    collect: Collect = _section()
    judge: Judge = _section()
    cases: Cases = _section()
    alerts: Alerts = _section()

    def side(self, environment: str | None) -> Side:
        """The side of a `deployment.environment.name`."""
        name = (environment or "").strip().lower()
        sides: tuple[tuple[Side, list[str]], ...] = (
            ("test", self.sides.test),
            ("staging", self.sides.staging),
            ("production", self.sides.production),
        )
        return next((side for side, names in sides if name in names), "unspecified")


# The sections whose keys are options too, and so may come from the environment.
_FROM_ENVIRONMENT = ("coverage", "runs", "collect")


@dataclass(frozen=True)
class Setting:
    """One leaf of the config as a person would write it, and its source."""

    key: str
    value: Any
    origin: str


def load(
    path: Path | str | None = None, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> Config:
    """The config of this folder, or of the file that is named."""
    return load_with_origins(path, environ, folder)[0]


def load_with_origins(
    path: Path | str | None = None, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> tuple[Config, list[Setting]]:
    """The config and the origin of each of its settings."""
    environ = os.environ if environ is None else environ
    source, tables = _read(Path(path) if path else None, folder or Path())
    origins = dict.fromkeys(_leaves(tables), source)
    for section, key, variable, text in _environment(environ):
        table = tables.setdefault(section, {})
        if isinstance(table, dict):
            table[key] = _from_text(Config.model_fields[section].annotation, key, text)
            origins[f"{section}.{key}"] = variable
    try:
        config = Config.model_validate(tables)
    except ValidationError as error:
        raise ConfigError(_explain(error, source, origins)) from None
    written = config.model_dump(mode="json", by_alias=True)
    return config, [Setting(k, v, origins.get(k, "default")) for k, v in _leaves(written).items()]


def _read(path: Path | None, folder: Path) -> tuple[str, dict[str, Any]]:
    if path is not None:
        tables = _toml(path)
        return str(path), (_of_project(tables, path) or {}) if path.name == "pyproject.toml" else tables
    own, project = folder / "otelcov.toml", folder / "pyproject.toml"
    if own.is_file():
        return "otelcov.toml", _toml(own)
    table = _of_project(_toml(project), project) if project.is_file() else None
    if table is not None:
        return "pyproject.toml [tool.otelcov]", table
    return "default", {}


def _of_project(tables: dict[str, Any], path: Path) -> dict[str, Any] | None:
    """`[tool.otelcov]`, if it is there."""
    tool = tables.get("tool")
    table = tool.get("otelcov") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"Couldn't use {path}: tool.otelcov must be a table.")
    return table


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"Couldn't read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"Couldn't use {path}: it is not TOML: {error}.") from None


def _leaves(table: object, prefix: str = "") -> dict[str, Any]:
    """Dotted keys; a name that holds a dot is quoted, as TOML does it."""
    if not isinstance(table, dict):
        return {prefix: table}
    found: dict[str, Any] = {}
    for name, value in table.items():
        key = f'"{name}"' if not name.replace("-", "_").isidentifier() else name
        found |= _leaves(value, f"{prefix}.{key}" if prefix else key)
    return found


def _environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    for section in _FROM_ENVIRONMENT:
        for key, kind in _keys(Config.model_fields[section].annotation).items():
            variable = f"OTELCOV_{key.upper()}"
            if variable in environ and not _is_nested(kind):
                yield section, key, variable, environ[variable]


def _is_nested(kind: object) -> bool:
    """Whether no variable could hold it. `OTELCOV_PATHS` is `--paths` of `otelcov learn`, and no list of paths."""
    return (isinstance(kind, type) and issubclass(kind, BaseModel)) or "list[list[" in str(kind)


def _keys(model: object) -> dict[str, Any]:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return {}
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _from_text(model: object, key: str, text: str) -> object:
    """Lists are written with commas in the environment; pydantic reads numbers and booleans from text itself."""
    is_list = any(kind in str(_keys(model).get(key)) for kind in ("list[", "tuple["))
    return [part.strip() for part in text.split(",") if part.strip()] if is_list else text


# What a value of the wrong type should have been, in the words of TOML.
_TYPES = {
    "model_type": "a table",
    "model_attributes_type": "a table",
    "dataclass_type": "a table",
    "dict_type": "a table",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "text in quotes",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
}


def _explain(error: ValidationError, source: str, origins: Mapping[str, str]) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        *parents, last = where = [str(part) for part in problem["loc"]]
        key = ".".join(where)
        origin = origins.get(key, source)
        if problem["type"] == "missing":
            text = "is missing"
        elif problem["type"] == "extra_forbidden":
            known = _known_keys(parents)
            text = f"unknown key.{did_you_mean(last, known) or ' Known here: ' + ', '.join(known) + '.'}"
        else:
            got = problem["input"]
            shown = "" if isinstance(got, dict) else f", got {got!r}"
            message = _TYPES.get(problem["type"]) or problem["msg"]
            message = message.removeprefix("Value error, ").removeprefix("Input should be ")
            text = f"{message}{shown}" if problem["type"] == "value_error" else f"must be {message}{shown}"
        lines.append(f"  {key}: {text}" + (f" (from {origin})" if origin != source else ""))
    return f"Couldn't use {source if source != 'default' else 'the environment'}:\n" + "\n".join(sorted(lines))


def _known_keys(parents: list[str]) -> list[str]:
    """The keys that a table may hold; names of agents, tools and models are free."""
    model: Any = Config
    for part in parents:
        if isinstance(model, type) and issubclass(model, BaseModel):
            annotation: Any = _keys(model).get(part)
            if isinstance(annotation, UnionType):  # a table that may be absent
                annotation = next(kind for kind in annotation.__args__ if kind is not type(None))
            model = annotation
        else:  # dict[str, Model] or list[Model]: any name or number, then the model
            model = model.__args__[-1]
    return sorted(_keys(model))
