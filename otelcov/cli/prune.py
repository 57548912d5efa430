"""`otelcov prune`: retention and erasure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from otelcov.cli.import_ import counted
from otelcov.cli.options import STORE, ConfigFile, Now, Store
from otelcov.ground.errors import UsageError

if TYPE_CHECKING:
    from otelcov.store.upkeep import Removed


def prune(
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            envvar="OTELCOV_OLDER_THAN",
            metavar="TIME",
            help="Remove what started before: 30d, 12w, or an ISO time. Whole hours.",
        ),
    ] = None,
    trace: Annotated[
        list[str] | None,
        typer.Option("--trace", envvar="OTELCOV_TRACE", metavar="ID", help="Erase this trace. Repeatable."),
    ] = None,
    conversation: Annotated[
        list[str] | None,
        typer.Option(
            "--conversation",
            envvar="OTELCOV_CONVERSATION",
            metavar="ID",
            help="Erase all traces of this conversation. Repeatable.",
        ),
    ] = None,
    store: Store = STORE,
    inbox: Annotated[
        Path | None,
        typer.Option("--inbox", envvar="OTELCOV_INBOX", metavar="DIR", help="Where the inboxes of a remote store lie."),
    ] = None,
    config: ConfigFile = None,
    now: Now = None,
) -> None:
    """Remove old spans, a trace or a conversation.

    Retention goes by the start of the span. Erasure reaches the inbox, the tables, the files they no longer list, kept
    results and judgements, and what was counted; it waits for a running collector to commit what its inbox still holds.
    """
    from otelcov.cli.measuring import also_missing

    with also_missing(store):
        if older_than is None and not trace and not conversation:
            raise UsageError("Say what to remove: --older-than 30d, --trace ID or --conversation ID.")
        traces = {_trace_id(text) for text in trace or []}

        from otelcov.ground import windows
        from otelcov.store import tables, upkeep
        from otelcov.sums.erase import forget

        if conversation:
            traces |= _of_conversations(store, inbox, conversation, config, windows.clock(now))
        if traces:
            runs = _runs_of(store, inbox, traces, config, windows.clock(now))
            removed = upkeep.erase(
                store, traces, inbox, also=[lambda gone: _forget(store, gone, runs), lambda _: forget(store)]
            )
            _tell(f"Erased {counted(len(traces), 'trace')}: {_rows(removed)}.")
        elif conversation:
            tables.seen(store)
            _tell("No trace names this conversation.")
        if older_than is not None:
            cutoff = windows.moment(older_than, windows.clock(now))
            removed = upkeep.drop_before(store, cutoff)
            forget(store)
            hour = windows.iso(cutoff // windows.duration("1h") * windows.duration("1h"))
            _tell(f"Removed {_rows(removed)} from before {hour}.")


def _of_conversations(store: str, inbox: Path | None, ids: list[str], config: Path | None, now_ns: int) -> set[bytes]:
    """The traces of the runs of these conversations, and those whose attributes name them."""
    import polars as pl

    from otelcov.ground.settings import load
    from otelcov.runs import reconstruct
    from otelcov.store import conversations, scan

    rows = scan.read(store, inbox=inbox)
    runs = reconstruct(rows.spans, rows.logs, load(config), now_ns)
    of_runs = runs.filter(pl.col("conversation_id").is_in(ids))["trace_ids"].explode().drop_nulls()
    return {bytes.fromhex(trace) for trace in of_runs} | conversations.traces_naming((rows.spans, rows.logs), ids)


def _runs_of(store: str, inbox: Path | None, traces: set[bytes], config: Path | None, now_ns: int) -> set[str]:
    """The ids of the runs that these traces hold: what kept results know them by."""
    import polars as pl

    from otelcov.ground.settings import load
    from otelcov.runs import reconstruct
    from otelcov.store import scan

    rows = scan.read(store, inbox=inbox)
    inside = pl.col("trace_id").is_in(pl.Series(sorted(traces)).implode())
    runs = reconstruct(rows.spans.filter(inside), rows.logs.filter(inside), load(config), now_ns)
    return set(runs["run_id"])


def _forget(store: str, traces: set[bytes], runs: set[str]) -> None:
    """Erase what was kept of these traces: results of test cases, and judgements, whose reasons quote what was said."""
    from otelcov.history import results
    from otelcov.judge import kept
    from otelcov.store import remote

    results.forget(store, runs)
    if not remote.is_remote(store):
        kept.forget(Path(store) / "judge", (trace.hex() for trace in traces))


def _trace_id(text: str) -> bytes:
    try:
        trace = bytes.fromhex(text)
    except ValueError:
        trace = b""
    if len(trace) != 16:
        raise UsageError(f'Couldn\'t read "{text}" as a trace id. Give its 32 hex digits.')
    return trace


def _rows(removed: Removed) -> str:
    return f"{counted(removed.spans, 'span')}, {counted(removed.logs, 'log record')}"


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
