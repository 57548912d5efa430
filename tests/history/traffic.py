"""Agent traffic with times of our choosing, as OTLP files in a store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, set_span_in_context

DAY = 86_400_000_000_000
NOW = 1_754_000_000_000_000_000  # 2025-07-31T22:13:20Z
AT = "2025-07-31T22:13:20Z"


def request(
    text: str = "hello",
    *tools: str,
    at: int = NOW - 3_600_000_000_000,
    took_ms: int = 100,
    model: str = "model-a",
    release: str = "1.0",
    environment: str = "test",
    tokens: tuple[int, int] | None = (100, 10),
    answer: str = "done",
    attributes: dict[str, Any] | None = None,
    conversation: str | None = None,
    failed: bool = False,
) -> list[ReadableSpan]:
    """The spans of one run that calls these tools; `name!` fails."""
    exporter = InMemorySpanExporter()
    names = {"service.name": "shop", "deployment.environment.name": environment, "service.version": release}
    provider = TracerProvider(resource=Resource(names))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("traffic")
    root = tracer.start_span("invoke_agent", start_time=at)
    root.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner", **(attributes or {})})
    root.set_attribute("gen_ai.input.messages", message("user", text))
    root.set_attribute("gen_ai.output.messages", message("assistant", answer))
    if conversation is not None:
        root.set_attribute("gen_ai.conversation.id", conversation)
    inside = set_span_in_context(root)
    chat = tracer.start_span("chat", inside, start_time=at + 1)
    chat.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.request.model": model})
    if tokens is not None:
        chat.set_attributes({"gen_ai.usage.input_tokens": tokens[0], "gen_ai.usage.output_tokens": tokens[1]})
    offered = [{"type": "function", "name": name} for name in ("search", "book", "cancel")]
    chat.set_attribute("gen_ai.tool.definitions", json.dumps(offered))
    chat.end(at + 2)
    for number, name in enumerate(tools):
        tool = tracer.start_span("execute_tool", inside, start_time=at + 10 * (number + 1))
        tool.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name.rstrip("!")})
        tool.set_attribute("gen_ai.tool.call.arguments", json.dumps({"q": text}))
        if name.endswith("!"):
            tool.set_status(StatusCode.ERROR, "it broke")
            tool.set_attribute("error.type", "Broken")
        tool.end(at + 10 * (number + 1) + 5)
    if failed:
        root.set_status(StatusCode.ERROR, "it broke")
    root.end(at + took_ms * 1_000_000)
    return list(exporter.get_finished_spans())


def message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def store(folder: Path, runs: Iterable[list[ReadableSpan]], name: str = "s") -> str:
    """A store that holds these runs; a second call adds to it."""
    from otelcov.cli import main

    inbox = folder / f"otlp-{len(list(folder.iterdir()))}"
    inbox.mkdir()
    spans = [span for run in runs for span in run]
    (inbox / "spans.binpb").write_bytes(encode_spans(spans).SerializeToString())
    try:
        main(["import", str(inbox), "--store", str(folder / name)])
    except SystemExit as done:
        assert not done.code
    return str(folder / name)


def otelcov(*arguments: str, **more: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, in this process."""
    from typer.testing import CliRunner

    from otelcov.cli.commands import app

    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "160", **more}, catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr
