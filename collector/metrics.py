"""What the collector says of itself at /metrics."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """One registry a collector, so that two in one process (tests) do not meet."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the page and nobody asks when a counter was born
        self.registry = registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"otelcov_collector_{name}", text, labels, registry=registry)

        self.requests = counter("requests", "Requests acknowledged", "transport", "signal")
        self.accepted = counter("accepted_items", "Spans or log records acknowledged", "signal")
        self.refused = counter("refused_requests", "Requests refused, by reason", "reason")
        self.rejected = counter(
            "rejected_items", "Spans or log records rejected in partial successes", "signal", "rule"
        )
        self.partial = counter("partial_successes", "Requests answered with a partial success", "signal")
        self.received_bytes = counter("received_bytes", "Bytes of acknowledged requests after inflation", "signal")
        self.masked = counter("masked_values", "Values that redaction masked, dropped or hashed")
        self.replayed = counter("replayed_items", "Items found in the inbox at the start")
        self.set_aside = counter("inbox_damaged_files", "Inbox files that could not be read and were set aside")
        self.inbox_errors = counter("inbox_errors", "Group commits that failed (full disk, I/O error)")
        self.duplicates = counter("duplicate_spans", "Spans the store had already")
        self.committed = counter("committed_items", "Items moved from the inbox to the store")
        self.commit_errors = counter("store_commit_errors", "Commits to the store that failed and are tried again")
        self.fsync_seconds = Histogram(
            "otelcov_collector_fsync_seconds",
            "Time of one group commit to the inbox, fsync included",
            buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
            registry=registry,
        )

    def watch(self, name: str, text: str, value: Callable[[], float]) -> None:
        """A gauge that is read when asked."""
        Gauge(f"otelcov_collector_{name}", text, registry=self.registry).set_function(value)

    def render(self) -> bytes:
        return generate_latest(self.registry)
