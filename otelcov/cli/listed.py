"""The commands, before any of them is imported."""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A command before it is imported: enough for `otelcov --help`."""

    name: str
    help: str
    module: str | None = None  # where it is not called like the command
    asks: bool = False  # about a window (measuring.asking)


# In the order in which a newcomer meets them.
COMMANDS = (
    Command("demo", "Show the whole loop: a collector, scripted agents, a report."),
    Command("collect", "Receive spans over OTLP and keep them."),
    Command("import", "Take OTLP files into a store.", module="import_"),
    Command("report", "Say what the agents exercised, and what not.", asks=True),
    Command("runs", "List the runs of a window.", asks=True),
    Command("show", "Show one run: agents, model calls, tool calls."),
    Command("export", "Write runs, or the spans of whole traces, to a file.", asks=True),
    Command("gate", "Judge a window by a gate file.", asks=True),
    Command("gaps", "Show what production does and tests never exercised.", asks=True),
    Command("test", "Judge test cases on the runs of a window, without running the agent.", asks=True),
    Command("trend", "Show how pass rate, latency, tokens, errors and coverage went.", asks=True),
    Command("alerts", "Hold the numbers of now against the alert rules of the config."),
    Command("compare", "Compare models, releases or prompts on the same cases.", asks=True),
    Command("diff", "Show behaviour that is new, lost or shifted.", asks=True),
    Command("undeclared", "List what was seen and never declared.", asks=True),
    Command("why", "Explain a number: its parts, its rule, its traces.", asks=True),
    Command("learn", "Write a declaration as the agents behaved.", asks=True),
    Command("declare", "Write a declaration from code or an MCP server."),
    Command("snapshot", "Write a window's sums to a file.", asks=True),
    Command("combine", "Add up the snapshots of regions, shards or CI jobs."),
    Command("judge", "Judge conversations by rules and by LLM judges."),
    Command("prune", "Remove old spans, a trace or a conversation."),
    Command("doctor", "Check ports, TLS, disk and the way of a span; say what spans lack."),
    Command("config", "Show the configuration in force and where it comes from."),
)

BY_NAME = {command.name: command for command in COMMANDS}
