"""Results as OpenTelemetry `gen_ai.evaluation.result` events, and the judge's own traces, over OTLP.

An event is a log record with the judged span's trace and span id (GenAI semantic conventions: the event "SHOULD be
parented to the GenAI operation span being evaluated"). The judge's own spans carry the service name `otelcov-judge`,
by which the judge leaves them out when it reads the same store again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from otelcov.ground.errors import StoreError
from otelcov.judge.judging import Result
from otelcov.judge.rules import Finding
from otelcov.judge.turns import JUDGE_SERVICE
from otelcov.runs.dialogue import EVALUATION

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

SCOPE = "otelcov.judge"
_BATCH = 500
_TIMEOUT_S = 10


class Event(NamedTuple):
    trace_id: str
    span_id: str
    attributes: dict[str, Any]

    @property
    def key(self) -> str:
        """Equal for equal events, so that none is emitted twice."""
        return sha256(repr((self.trace_id, self.span_id, sorted(self.attributes.items()))).encode()).hexdigest()


def events(results: Iterable[Result], findings: Iterable[Finding], model: str | None) -> list[Event]:
    """One event a result, and one a finding of a rule. What is missing is no result."""
    out = []
    for r in results:
        if r.missing is None:
            said: dict[str, Any] = {"gen_ai.evaluation.name": r.metric}
            if r.value is not None:
                said["gen_ai.evaluation.score.value"] = r.value
            if r.label is not None:
                said["gen_ai.evaluation.score.label"] = r.label
            if r.reason:
                said["gen_ai.evaluation.explanation"] = r.reason
            if model:
                said["otelcov.judge.model"] = model
            out.append(Event(r.trace_id, r.span_id, said | {"otelcov.judge.source": "judge"}))
    for f in findings:
        if f.source == "rule":
            said = {
                "gen_ai.evaluation.name": f.metric or f.rule or f.label,
                "gen_ai.evaluation.score.label": f.label,
                "gen_ai.evaluation.explanation": f.reason,
                "otelcov.judge.source": "rule",
                "otelcov.judge.rule": f.rule or "",
                "otelcov.judge.severity": f.severity,
            }
            out.append(Event(f.trace_id, f.span_id, said))
    return [e for e in out if len(e.trace_id) == 32 and len(e.span_id) == 16]


def emit(found: Sequence[Event], endpoint: str) -> None:
    """Send events to an OTLP endpoint; raises where it does not take them."""
    from opentelemetry import trace
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
    from opentelemetry.sdk._logs.export import LogRecordExportResult

    waiting: list[ReadableLogRecord] = []
    provider = LoggerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_log_record_processor(_keep(waiting))
    logger = provider.get_logger(SCOPE)
    for event in found:
        span = trace.SpanContext(int(event.trace_id, 16), int(event.span_id, 16), True, trace.TraceFlags(1))
        logger.emit(
            LogRecord(
                timestamp=time.time_ns(),
                context=trace.set_span_in_context(trace.NonRecordingSpan(span)),
                severity_number=SeverityNumber.INFO,
                event_name=EVALUATION,
                attributes=event.attributes,
            )
        )
    exporter = _log_exporter(endpoint)
    try:
        for k in range(0, len(waiting), _BATCH):
            if exporter.export(waiting[k : k + _BATCH]) is not LogRecordExportResult.SUCCESS:
                raise StoreError(f"Couldn't emit events to {endpoint}: it did not take them. The results are kept.")
    finally:
        exporter.shutdown()


def tracing(endpoint: str | None) -> TracerProvider | None:
    """Where the judge's own calls are traced; None without an endpoint."""
    if endpoint is None:
        return None
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_span_exporter(endpoint)))
    return provider


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource

    return Resource({"service.name": JUDGE_SERVICE})


def _keep(waiting: list[Any]) -> Any:
    from opentelemetry.sdk._logs import LogRecordProcessor

    class Keep(LogRecordProcessor):
        def on_emit(self, log_record: Any) -> None:
            waiting.append(log_record)

        def shutdown(self) -> None:
            pass

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return True

    return Keep()


def _log_exporter(endpoint: str) -> Any:
    if endpoint.startswith("grpc://"):
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as Grpc

        return Grpc(endpoint=endpoint.removeprefix("grpc://"), insecure=True, timeout=_TIMEOUT_S)
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as Http

    return Http(endpoint=f"{endpoint.rstrip('/')}/v1/logs", timeout=_TIMEOUT_S)


def _span_exporter(endpoint: str) -> Any:
    if endpoint.startswith("grpc://"):
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(endpoint=endpoint.removeprefix("grpc://"), insecure=True, timeout=_TIMEOUT_S)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return Http(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=_TIMEOUT_S)
