"""`pytest --otelcov`: which parts of an agent's behaviour a test session exercised.

Spans come in two ways, and a span that comes both ways counts once: a processor on every tracer provider of this
process, and an OTLP/HTTP receiver on loopback for other processes, to which OTEL_EXPORTER_OTLP_ENDPOINT points for the
session unless it is set. Each test is a context: its id is the test case of the runs that began in it. With xdist each
worker records for itself, and the controller adds up.

This module is imported by every pytest that runs where otelcov is installed: it imports nothing heavy.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import polars as pl

    from otelcov.ground.config import Config

CASE = "test.case.name"
_LIMIT = 64 * 2**20
_PATHS = {"/v1/traces": "traces", "/v1/logs": "logs"}
_RECORDER = pytest.StashKey["Recorder"]()
_PAYLOAD = "otelcov"
_MINE = "OTELCOV_PYTEST_RECEIVER"  # whose address a worker of xdist inherits and must not take for the user's
_MISSING = 10  # names that are listed for each dimension


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("otelcov", "coverage of AI agents from their spans")
    group.addoption("--otelcov", action="store_true", help="Measure which agent behaviour the tests exercise.")
    group.addoption("--otelcov-config", metavar="FILE", help="Read this instead of ./otelcov.toml or ./pyproject.toml.")
    group.addoption(
        "--otelcov-report",
        action="append",
        default=[],
        metavar="FORMAT[:PATH]",
        help="Measure, and write a report: json:coverage.json, html:coverage.html, markdown, text, ... Repeatable.",
    )
    group.addoption(
        "--otelcov-fail-under",
        type=float,
        metavar="PCT",
        help="Measure, and fail the session if overall is below PCT percent.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "otelcov_case(name): the name of the test case in place of the test's id")
    if not _measures(config):
        return
    under = config.getoption("otelcov_fail_under")
    if under is not None and (0 < under < 1 or not 0 <= under <= 100):
        hint = f" Did you mean {under * 100:g}?" if 0 < under < 1 else ""
        raise pytest.UsageError(f"--otelcov-fail-under takes a percent from 0 to 100, got {under:g}.{hint}")
    _check(config)
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(_Worker(config), "otelcov-worker")
    else:
        config.pluginmanager.register(_Measured(config), "otelcov-session")


def _measures(config: pytest.Config) -> bool:
    """Who asks for a report or a threshold asks for what they need: neither may be passed over in silence."""
    under = config.getoption("otelcov_fail_under")
    return bool(config.getoption("otelcov") or config.getoption("otelcov_report") or under is not None)


def _check(config: pytest.Config) -> None:
    """What could only fail after the last test."""
    from otelcov.ground.errors import OtelcovError
    from otelcov.ground.settings import load
    from otelcov.report import renderer

    try:
        load(config.getoption("otelcov_config"))
        for asked in config.getoption("otelcov_report"):
            renderer(asked.partition(":")[0])
    except OtelcovError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture
def otelcov_runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    """The agent runs of this test so far: `otelcov_runs()` gives a list of run JSON, in order of time."""
    recorder = _recorder(request.config)
    alone = not _measures(request.config)  # nobody else tells the recorder which test this is
    recorder.attach(own=alone)
    if alone:
        recorder.enter(_name(request.node))
    try:
        yield Runs(recorder)
    finally:
        if alone:
            recorder.leave()


@dataclass(frozen=True)
class Runs:
    """What `otelcov_runs` is."""

    recorder: Recorder

    def __call__(self) -> list[dict[str, Any]]:
        from otelcov.runs import run_json

        self.recorder.attach(own=True)
        config = self.recorder.settings()
        frame = self.recorder.current(config)
        sides = {name: config.side(name) for name in frame["environment"].unique().to_list() if name}
        return [
            run_json(row, {name.lower(): side for name, side in sides.items()}) for row in frame.iter_rows(named=True)
        ]

    def frame(self) -> pl.DataFrame:
        """The same as a frame, for `otelcov.cases.judge`."""
        return self.recorder.current(self.recorder.settings())


@dataclass
class Context:
    """A test, and when it ran."""

    name: str
    start_ns: int
    end_ns: int | None = None


@dataclass
class Recorder:
    """Everything that one process of the session received."""

    config_file: str | None
    contexts: list[Context] = field(default_factory=list)
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    _mark: int = 0  # requests that came before the current test
    _lock: Any = field(default_factory=threading.Lock)
    _spans: list[Any] = field(default_factory=list)  # ended in this process and not encoded yet
    _attached: list[Any] = field(default_factory=list)
    _server: ThreadingHTTPServer | None = None
    _environ: dict[str, str] = field(default_factory=dict)
    _forget: Callable[[], None] = lambda: None

    def settings(self) -> Config:
        from otelcov.ground.settings import load

        return load(self.config_file)

    def open(self) -> None:
        """Listen, and point exporters that have no address here."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, name="otelcov-receiver", daemon=True).start()
        given = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
        if given is None or given == os.environ.get(_MINE):
            here = f"http://127.0.0.1:{self._server.server_address[1]}"
            self._environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": here, _MINE: here}
            if "OTEL_EXPORTER_OTLP_PROTOCOL" not in os.environ:
                self._environ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf"
        os.environ.update(self._environ)
        self._watch()

    def _watch(self) -> None:
        """From now on every tracer provider has our processor from its birth."""
        from opentelemetry.sdk.trace import TracerProvider

        born = TracerProvider.__init__

        @functools.wraps(born)
        def watched(provider: Any, *given: Any, **named: Any) -> None:
            born(provider, *given, **named)
            self._follow(provider)

        def forget() -> None:
            type.__setattr__(TracerProvider, "__init__", born)

        type.__setattr__(TracerProvider, "__init__", watched)
        self._forget = forget

    def _follow(self, provider: Any) -> None:
        if not any(provider is known for known in self._attached):
            self._attached.append(provider)
            provider.add_span_processor(_processor(self))

    def close(self) -> None:
        self._forget()
        for name, value in self._environ.items():
            if os.environ.get(name) == value:
                del os.environ[name]
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def attach(self, own: bool) -> None:
        """See the spans of a provider that was there before; with `own`, give the process one if it has none."""
        from opentelemetry import trace

        provider: Any = trace.get_tracer_provider()
        if not hasattr(provider, "add_span_processor"):
            if not own:
                return
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider

            provider = TracerProvider(resource=Resource.create({"deployment.environment.name": "test"}))
            trace.set_tracer_provider(provider)
        self._follow(provider)

    def enter(self, name: str) -> None:
        self.flush()
        self._mark = len(self.requests)
        self.contexts.append(Context(name, time.time_ns()))

    def leave(self) -> None:
        if self.contexts:
            self.contexts[-1].end_ns = time.time_ns()

    def name(self) -> str | None:
        """The test that is running."""
        return self.contexts[-1].name if self.contexts and self.contexts[-1].end_ns is None else None

    def ended(self, span: Any) -> None:
        with self._lock:
            self._spans.append(span)

    def received(self, signal: str, body: bytes) -> None:
        with self._lock:
            self.requests.append((signal, body))

    def flush(self) -> None:
        """The spans that ended in this process join those that were sent."""
        with self._lock:
            spans, self._spans = self._spans, []
        if spans:
            from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

            self.received("traces", encode_spans(spans).SerializeToString())

    def current(self, config: Config) -> pl.DataFrame:
        """The runs of the test that is running (RUNS)."""
        import polars as pl

        self.flush()
        frame = runs(self.requests[self._mark :], self.contexts[-1:], config)
        return frame.filter(pl.col("case") == self.contexts[-1].name)

    def payload(self) -> list[Any]:
        """In values that execnet can carry."""
        self.flush()
        contexts = [(c.name, c.start_ns, c.end_ns) for c in self.contexts]
        return [contexts, [list(request) for request in self.requests]]


def runs(requests: list[tuple[str, bytes]], contexts: list[Context], config: Config) -> pl.DataFrame:
    """The runs of these requests (RUNS); one that names no test case belongs to the test in which it began."""
    import polars as pl

    from otelcov.runs import reconstruct
    from otelcov.store.layout import from_requests

    bodies = {signal: [body for s, body in requests if s == signal] for signal in ("traces", "logs")}
    spans, logs = from_requests(bodies["traces"], bodies["logs"], time.time_ns())
    frame = reconstruct(spans, logs, config, 2**62)
    tests = pl.DataFrame(
        [(c.start_ns, c.name, c.end_ns) for c in contexts],
        schema={"began": pl.UInt64, "test": pl.String, "ended": pl.UInt64},
        orient="row",
    ).sort("began")
    joined = frame.sort("start_unix_nano").join_asof(tests, left_on="start_unix_nano", right_on="began")
    inside = pl.col("ended").is_null() | (pl.col("start_unix_nano") <= pl.col("ended"))
    return joined.with_columns(
        case=pl.coalesce("case", pl.when(inside).then(pl.col("test"))),
        environment=pl.col("environment").fill_null("test"),
    ).select(frame.columns)


class _Recording:
    """Tells the recorder which test is running."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.recorder = _recorder(config)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.recorder.attach(own=False)
        self.recorder.enter(_name(item))
        try:
            return (yield)
        finally:
            self.recorder.flush()
            self.recorder.leave()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        self.recorder.attach(own=True)  # fixtures had their turn to set up a provider
        return (yield)


class _Worker(_Recording):
    """One worker of xdist."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        output: dict[str, Any] = self.config.workeroutput  # type: ignore[attr-defined]
        output[_PAYLOAD] = self.recorder.payload()


class _Measured(_Recording):
    """The session itself, or the controller of xdist: adds up, judges and tells."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__(config)
        self.snapshot: dict[str, Any] | None = None
        self.verdict: str | None = None
        self._reports: list[tuple[str, bool]] = []
        self._parts: list[list[Any]] = []
        self._tests = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if payload := getattr(node, "workeroutput", {}).get(_PAYLOAD):
            self._parts.append(payload)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.config.getoption("collectonly"):
            return
        from otelcov.verdicts.thresholds import verdict

        self.snapshot = self._measure()
        self._reports = [self._report(asked) for asked in self.config.getoption("otelcov_report")]
        failed = any(wrong for _, wrong in self._reports)
        under = self.config.getoption("otelcov_fail_under")
        if under is not None:
            overall = self.snapshot["coverage"]["overall"]
            total = "not known" if overall is None else f"{100 * overall:.2f}%"
            if verdict("overall", overall, under).result == "pass":
                self.verdict = f"Required agent coverage of {under:g}% reached. Total agent coverage: {total}"
            else:
                self.verdict = f"FAIL Required agent coverage of {under:g}% not reached. Total agent coverage: {total}"
                failed = True
        if failed and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.snapshot is None:
            return
        terminalreporter.write_sep("=", "otelcov: what the agents exercised")
        for line in _lines(self.snapshot, self._tests):
            terminalreporter.write_line(line)
        for told, wrong in self._reports:
            terminalreporter.write_line(told, red=wrong)
        if self.verdict is not None:
            failed = self.verdict.startswith("FAIL")
            terminalreporter.write_line(self.verdict, red=failed, bold=failed, green=not failed)

    def _measure(self) -> dict[str, Any]:
        import polars as pl

        from otelcov.coverage.observations import partial
        from otelcov.coverage.snapshot import snapshot

        config = self.recorder.settings()
        frames = []
        for contexts, requests in [self.recorder.payload(), *self._parts]:
            if requests:
                frames.append(runs([(s, b) for s, b in requests], [Context(*c) for c in contexts], config))
        from otelcov.ground.schemas import RUNS

        frame = pl.concat(frames) if frames else pl.DataFrame(schema=RUNS)
        self._tests = frame["case"].drop_nulls().n_unique()
        return snapshot(partial(frame, config), config)

    def _report(self, asked: str) -> tuple[str, bool]:
        """What is to be said in the summary, and whether it is that something went wrong."""
        from otelcov.report import Report, render

        assert self.snapshot is not None
        format, _, path = asked.partition(":")
        text = render(Report(self.snapshot), format)
        if not path:
            return text, False
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            return f"otelcov couldn't write the {format} report to {path}: {error.strerror}", True
        return f"otelcov {format} report written to {path}", False


def _recorder(config: pytest.Config) -> Recorder:
    if _RECORDER not in config.stash:
        recorder = Recorder(config.getoption("otelcov_config"))
        recorder.open()
        config.stash[_RECORDER] = recorder
        config.add_cleanup(recorder.close)
    return config.stash[_RECORDER]


def _name(item: Any) -> str:
    marker = item.get_closest_marker("otelcov_case")
    names = [*marker.args, *marker.kwargs.values()] if marker is not None else []
    return str(names[0]) if names else str(item.nodeid)


def _processor(recorder: Recorder) -> Any:
    from opentelemetry.sdk.trace import SpanProcessor

    class Processor(SpanProcessor):
        """Names the test case on every root span, and hands on each span as it ends."""

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            name = recorder.name()
            if name is not None and span.parent is None and CASE not in (span.attributes or {}):
                span.set_attribute(CASE, name)

        def on_end(self, span: Any) -> None:
            recorder.ended(span)

    return Processor()


def _handler(recorder: Recorder) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_POST(self) -> None:
            from collector import otlp_json
            from collector.inflate import BadEncoding, TooLarge, inflate

            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            signal: Any = _PATHS.get(self.path)
            if signal is None:
                return self._answer(404)
            try:
                body = inflate((self.headers.get("Content-Encoding") or "identity").lower(), body, _LIMIT)
                is_json = (self.headers.get("Content-Type") or "").startswith("application/json")
                recorder.received(signal, otlp_json.to_protobuf(signal, body) if is_json else body)
            except (BadEncoding, TooLarge, KeyError, ValueError):
                return self._answer(400)
            return self._answer(
                200, "application/json" if is_json else "application/x-protobuf", b"{}" if is_json else b""
            )

        def _answer(self, status: int, kind: str = "text/plain", body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Handler


def _lines(snapshot: dict[str, Any], tests: int) -> Iterator[str]:
    """A table as pytest-cov prints it: what, covered, known, share, missing."""
    from otelcov.report import words

    total = snapshot["runs"]["total"]
    yield f"{total} run{'' if total == 1 else 's'} of agents in {tests} test{'' if tests == 1 else 's'}"
    if not total:
        yield "No span of an agent arrived. Is the agent instrumented, and does it run in the tests?"
        return
    yield f"{'Dimension':<10} {'Covered':>8} {'Known':>6} {'Cover':>7}   Missing"
    for d in snapshot["coverage"]["dimensions"]:
        known = "-" if d["known"] is None else str(d["known"])
        missing = ", ".join(words.item(name) for name in d["missing"][:_MISSING])
        if len(d["missing"]) > _MISSING:
            missing += f", and {len(d['missing']) - _MISSING} more"
        share = words.score(d) if d["score"] is not None else "-"
        told = missing or ("" if d["score"] is not None else words.plain(d["reason"]))
        yield f"{d['dimension']:<10} {d['covered']:>8} {known:>6} {share:>7}   {told}".rstrip()
    yield f"{'overall':<10} {'':>8} {'':>6} {words.percent(snapshot['coverage']['overall'], '-'):>7}"
    for edge in snapshot["edges"]["restricted"]:
        if edge["calls"]:
            yield f"restricted and called: {words.edge(edge)}, {edge['calls']} times"
