"""What otelcov.toml says: sections and their defaults. `settings` reads and checks it.

A section that a later command needs is one more class here and one more field of `Config`. In the file a key is called
as `written` says. Every command waits for this module, so the types of `kinds` are mere names here until something is
to be checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from otelcov.ground import windows
from otelcov.ground.selection import Side

if TYPE_CHECKING:
    from otelcov.ground.kinds import (
        Duration,
        Edge,
        Finite,
        Legible,
        LowerNames,
        Name,
        Names,
        NotNegative,
        Pattern,
        Percent,
        Points,
        Port,
        Positive,
        Threshold,
        Whole,
    )

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


@dataclass(frozen=True)
class Sides:
    """Which `deployment.environment.name` (in lower case) belongs to which side."""

    test: LowerNames = field(default_factory=lambda: ["test", "testing", "ci", "dev", "development", "local", "qa"])
    staging: LowerNames = field(default_factory=lambda: ["staging", "stage", "preprod", "uat"])
    production: LowerNames = field(default_factory=lambda: ["production", "prod", "live"])


@dataclass(frozen=True)
class Agent:
    """What one agent may and must not do. None is "not declared"; an empty list declares that there is none."""

    tools: Names | None = None
    restricted: Names | None = None
    delegates_to: Names | None = None
    entry: bool = False


@dataclass(frozen=True)
class Tool:
    side_effects: Literal["none", "read", "write"] | None = None


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, in whatever currency all prices are."""

    input: NotNegative
    output: NotNegative


@dataclass(frozen=True)
class Model:
    aliases: Names = field(default_factory=list)
    context: Positive | None = None
    price: Price | None = None


@dataclass(frozen=True)
class AgentAssay:
    """What the profile `agentassay` knows beyond tools and models: ranges of metadata, and where paths are cut."""

    boundaries: dict[str, tuple[float, float]] = field(default_factory=dict)
    max_path_depth: Positive = 10


@dataclass(frozen=True)
class Coverage:
    boundaries: list[Boundary] | None = None
    paths: list[Names] | None = None
    restricted: Literal["listed", "complement"] = "listed"
    profile: Literal["otelcov", "agentassay"] = "otelcov"
    min_runs: Positive = 20
    state_attributes: Names = field(default_factory=list)
    agentassay: AgentAssay = field(default_factory=AgentAssay)


@dataclass(frozen=True)
class Thresholds:
    """The least percentages that a report must show."""

    overall: Threshold | None = None
    tool: Threshold | None = None
    path: Threshold | None = None
    state: Threshold | None = None
    boundary: Threshold | None = None
    model: Threshold | None = None


@dataclass(frozen=True)
class AllThresholds(Thresholds):
    """Those of the whole selection, and `[thresholds.agents.NAME]` for one agent's part."""

    agents: dict[str, Thresholds] = field(default_factory=dict)


@dataclass(frozen=True)
class Runs:
    settle_ns: Duration = 60 * windows.SECOND
    max_run_ns: Duration = 6 * 3600 * windows.SECOND
    soft_errors: tuple[Pattern, ...] = ()  # further patterns by which a tool result tells of an error


@dataclass(frozen=True)
class Collect:
    """The receiver. Secrets are named by file or by environment variable, never written here."""

    host: str = "127.0.0.1"
    grpc_port: Port = 4317
    http_port: Port = 4318
    allow_unauthenticated: bool = False  # a bind beyond loopback without token or client certificate
    max_request_bytes: Positive = 64 * 2**20  # after inflation
    max_request_spans: Positive = 65_536
    max_request_elements: Positive = 2**20  # attributes, events and links
    max_queue_bytes: Positive = 256 * 2**20  # received and not yet on disk
    max_inbox_bytes: Positive = 4096 * 2**20  # on disk and not yet in the store
    header_timeout_ns: Duration = 10 * windows.SECOND
    body_timeout_ns: Duration = 30 * windows.SECOND
    idle_timeout_ns: Duration = 120 * windows.SECOND
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None  # asks every client for a certificate of this authority
    token_file: Path | None = None  # one bearer token a line
    token_env: str | None = None  # name of the variable that holds the token
    content: Literal["keep", "drop", "hash"] = "keep"
    drop: Names = field(default_factory=list)
    hash: Names = field(default_factory=list)
    hash_key_env: str = "OTELCOV_HASH_KEY"
    mask_secrets: bool = True
    drain_ns: Duration = 3 * windows.SECOND  # for open requests after SIGTERM
    commit_interval_ns: Duration = 2 * windows.SECOND
    commit_bytes: Positive = 64 * 2**20


@dataclass(frozen=True)
class Judge:
    """Who judges, what that may cost, and what must hold. Without a model only the rules judge."""

    model: str | None = (
        None  # "openai:gpt-4o-mini", "anthropic:…"; without a prefix it is an OpenAI-compatible server's
    )
    base_url: str | None = None
    api_key_env: str | None = None  # name of the variable that holds the key
    output: Literal["prompted", "tool", "native"] = "prompted"  # how a typed answer is asked for
    temperature: NotNegative | None = 0.0
    metrics: Names | None = None  # None: all
    custom: Names = field(default_factory=list)  # module:name or path/to/file.py[:name]
    concurrency: Positive = 8
    timeout_ns: Duration = 60 * windows.SECOND  # of one call
    attempts: Positive = 4
    backoff_ns: Duration = windows.SECOND  # before the second attempt; doubles
    repeats: Positive = 1
    max_calls: Whole | None = None
    max_tokens: Whole | None = None
    price_input: NotNegative | None = None  # of a million tokens, in any currency
    price_output: NotNegative | None = None
    max_text: Legible = 8000  # characters of one text that a judge is shown
    min_turns: Positive = 1  # fewer scores are not enough data
    min_judged_pct: Percent = 50  # of the turns that a metric applies to
    fail_on_error_severity: Literal["low", "medium", "high", "critical"] = "critical"
    group: bool = False  # let the judge group errors by cause, too
    otlp_endpoint: str | None = None  # gets results as events, and the judge's own traces
    goals: dict[str, str] = field(default_factory=dict)  # by test case or conversation id
    knowledge: list[str] = field(default_factory=list)  # facts that answers must not contradict
    knowledge_files: list[Path] = field(default_factory=list)
    thresholds: dict[str, Finite] = field(default_factory=dict)  # by metric, on the metric's own scale


@dataclass(frozen=True)
class Cases:
    """Test cases that are written from traces."""

    redact: list[Pattern] = field(default_factory=list)  # what no written case may hold, beside the known forms


@dataclass(frozen=True)
class Alert:
    """One rule: a number of the latest `window`, and from where on it is wrong. Shares and coverage are in percent."""

    name: Name
    metric: Name | None = None
    below: Finite | None = None
    above: Finite | None = None
    drop: Points | None = None  # points lost against the window before
    clear: Finite | None = None  # where it is well again; default: where it is not wrong
    for_: Positive = 1  # checks in a row before it fires, and before it ends
    window_ns: Duration = 24 * 3600 * windows.SECOND
    min_runs: Positive = 1
    edge: Edge | None = None  # agent/tool that must be exercised
    unused_for_ns: Duration | None = None
    service: Names = field(default_factory=list)
    environment: Names = field(default_factory=list)
    side: Names = field(default_factory=list)
    release: Names = field(default_factory=list)
    model: Names = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.edge is not None:
            if self.unused_for_ns is None or self.metric is not None:
                raise ValueError('a rule on an edge has unused_for, like "7d", and no metric')
        elif self.metric is None:
            raise ValueError("a rule has a metric or an edge")
        elif sum(x is not None for x in (self.below, self.above, self.drop)) != 1:
            raise ValueError("a rule on a metric has exactly one of below, above and drop")
        most = self.above if self.drop is None else self.drop
        if self.clear is not None and (
            (self.below is not None and self.clear < self.below) or (most is not None and self.clear > most)
        ):
            raise ValueError(f"clear = {self.clear:g} is on the wrong side: the number would be wrong and well at once")


@dataclass(frozen=True)
class Alerts:
    """Rules that `otelcov alerts check` looks at, and where it tells of changes."""

    rules: list[Alert] = field(default_factory=list)
    webhook: str | None = None
    webhook_env: str | None = None  # name of the variable that holds the address, where that is a secret
    timeout_ns: Duration = 5 * windows.SECOND


@dataclass(frozen=True)
class Config:
    sides: Sides = field(default_factory=Sides)
    agents: dict[str, Agent] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    coverage: Coverage = field(default_factory=Coverage)
    thresholds: AllThresholds = field(default_factory=AllThresholds)
    runs: Runs = field(default_factory=Runs)
    collect: Collect = field(default_factory=Collect)
    judge: Judge = field(default_factory=Judge)
    cases: Cases = field(default_factory=Cases)
    alerts: Alerts = field(default_factory=Alerts)

    def side(self, environment: str | None) -> Side:
        """The side of a `deployment.environment.name`."""
        name = (environment or "").strip().lower()
        sides: tuple[tuple[Side, list[str]], ...] = (
            ("test", self.sides.test),
            ("staging", self.sides.staging),
            ("production", self.sides.production),
        )
        return next((side for side, names in sides if name in names), "unspecified")


def written(name: str) -> str:
    """How the file calls the key of this field: a time is written with its unit, and Python keeps some words."""
    return name.removesuffix("_ns").removesuffix("_")
