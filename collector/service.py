"""The collector as a whole: start, ready, drain.

    run(config, on_ready, store=commit_loop)        or, in a loop of one's own, await serve(...)

`on_ready` gets {"grpc": port, "http": port, "store": name}. `store`, if given, is how whoever runs the collector moves
the inbox to its store beside it: a callable that runs in a thread of its own until the event it is given is set, and
once more to drain what is left. The collector knows nothing of the store; without one, the inbox just fills.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from collector import admit
from collector import config as configuration
from collector.config import CollectorConfig
from collector.export import Export
from collector.group_commit import GroupCommit
from collector.grpc_server import GrpcServer
from collector.http_server import HttpServer
from collector.inbox import Inbox
from collector.metrics import Metrics

Ready = dict[str, object]
_SLOW_FROM = 8  # from this part of max_inbox_bytes on answers take longer, so that the store keeps up


@dataclass(frozen=True)
class StoreLoop:
    """What the store's thread is given."""

    inbox: Inbox
    metrics: Metrics
    stop: threading.Event


async def serve(
    config: CollectorConfig,
    on_ready: Callable[[Ready], None] = lambda _: None,
    store: Callable[[StoreLoop], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Receive until SIGTERM, SIGINT or `stop`; then answer what is open, and return."""
    configuration.check(config)
    stop = stop or asyncio.Event()
    rules = admit.rules(config)
    metrics = Metrics()
    inbox = Inbox.open(config.inbox)
    metrics.replayed.inc(inbox.replayed)
    metrics.set_aside.inc(inbox.set_aside)
    commit = GroupCommit(inbox, metrics, config.max_inbox_bytes // _SLOW_FROM if store else None)
    export = Export(config, commit, rules, metrics)
    metrics.watch("queue_bytes", "Bytes received and not yet answered", lambda: export.queue_bytes)
    metrics.watch("inbox_backlog_bytes", "Bytes acknowledged and not yet in the store", lambda: inbox.backlog_bytes)

    loop = asyncio.get_running_loop()
    ready = False
    loop_state = _Beside(store, StoreLoop(inbox, metrics, threading.Event()), loop, stop)

    def why_not_ready() -> str | None:
        if export.draining:
            return "stopping"
        return None if ready else "starting"

    with _signals(loop, stop):
        grpc_serves, http_serves = GrpcServer(config, export), HttpServer(config, export, metrics, why_not_ready)
        try:
            await grpc_serves.start()
            await http_serves.start()
            loop_state.start()
            ready = grpc_serves.serving = True
            on_ready({"grpc": grpc_serves.port, "http": http_serves.port, "store": config.store})
            if inbox.set_aside:  # after the first line, which is for programs
                aside = config.inbox / ".damaged"
                print(f"set aside {inbox.set_aside} damaged inbox files under {aside}", file=sys.stderr, flush=True)
            await stop.wait()
        finally:
            export.draining = True
            grpc_serves.serving = False
            await asyncio.gather(grpc_serves.stop(config.drain_seconds), http_serves.stop(config.drain_seconds))
            await commit.close()
            await loop_state.finish()
            inbox.close()
    if loop_state.error is not None:
        raise loop_state.error


def run(
    config: CollectorConfig,
    on_ready: Callable[[Ready], None] = lambda _: None,
    store: Callable[[StoreLoop], None] | None = None,
) -> None:
    """`serve` in an event loop made for it, as the one thing this process does."""
    import uvloop

    # The store's thread and ours pass the interpreter lock to and fro; at the usual 5 ms each pass would cost more than
    # an fsync.
    sys.setswitchinterval(0.0002)

    def ready(said: Ready) -> None:
        gc.collect()
        gc.freeze()  # what is loaded by now stays: no collection of garbage looks at it again
        gc.set_threshold(100_000, 50, 100)  # so a pass costs little; a command that ends soon makes fewer
        on_ready(said)

    uvloop.run(serve(config, ready, store))


class _Beside:
    """The store's thread. If it fails, the collector stops rather than fill the disk unseen."""

    def __init__(
        self,
        run: Callable[[StoreLoop], None] | None,
        given: StoreLoop,
        loop: asyncio.AbstractEventLoop,
        stop: asyncio.Event,
    ) -> None:
        self.error: BaseException | None = None
        self._run, self._given, self._loop, self._stop = run, given, loop, stop
        self._thread = threading.Thread(target=self._target, name="otelcov-store", daemon=True) if run else None

    def start(self) -> None:
        if self._thread is not None:
            self._thread.start()

    async def finish(self) -> None:
        self._given.stop.set()
        if self._thread is not None and self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join)

    def _target(self) -> None:
        assert self._run is not None
        try:
            self._run(self._given)
        except BaseException as error:  # also a Rust panic: it must not be lost with the thread
            self.error = error
            self._loop.call_soon_threadsafe(self._stop.set)


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event):  # type: ignore[no-untyped-def]
    """SIGTERM and SIGINT drain; only the main thread can listen to them."""
    listened = (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ()
    for each in listened:
        loop.add_signal_handler(each, stop.set)
    try:
        yield
    finally:
        for each in listened:
            loop.remove_signal_handler(each)
