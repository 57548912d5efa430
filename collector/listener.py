"""A port that is listened on and the connections that came by it: what OTLP/HTTP and OTLP/gRPC have in common."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from collector import tls
from collector.auth import authorized
from collector.config import CollectorConfig, tokens
from collector.export import Export

_BACKLOG = 1024
INLINE = 64 * 1024  # compressed bytes that are inflated in the event loop


class Limits(NamedTuple):
    """Of one request: bytes of its body or message, seconds until its head and its body are there, and of silence."""

    bytes: int
    header_seconds: float
    body_seconds: float
    idle_seconds: float


class Open(Protocol):
    def drain(self) -> None: ...

    def cut(self) -> None: ...


@dataclass
class Listener:
    config: CollectorConfig
    export: Export
    port: int = field(default=0, init=False)  # once it listens
    _allowed: tuple[bytes, ...] = field(default=(), init=False)
    _connections: set[Open] = field(default_factory=set, init=False)
    _server: asyncio.Server | None = field(default=None, init=False)

    async def _listen(self, name: str, port: int, alpn: str, connection: Callable[[Limits], asyncio.Protocol]) -> None:
        """Listen for `connection`s, which put themselves into `_connections`. Raises OSError."""
        config = self.config
        self._allowed = tokens(config)
        times = (config.header_timeout_ns, config.body_timeout_ns, config.idle_timeout_ns)
        limits = Limits(config.max_request_bytes, *(ns / 1e9 for ns in times))
        secured = tls.context(config, alpn)
        try:
            self._server = await asyncio.get_running_loop().create_server(
                lambda: connection(limits),
                config.host.strip("[]"),
                port,
                ssl=secured,
                backlog=_BACKLOG,
                ssl_handshake_timeout=limits.header_seconds if secured else None,
            )
        except OSError as error:
            code = error.errno or 0
            why = os.strerror(code) if code > 0 else error.strerror or str(error)  # below: a name that nobody knows
            raise OSError(code, why, f"{config.host}:{port} for {name}") from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self, seconds: float) -> None:
        """No new requests; those open are answered by then or are cut."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.drain()
        try:
            async with asyncio.timeout(seconds):
                while self._connections:
                    await asyncio.sleep(0.01)
        except TimeoutError:
            for connection in list(self._connections):
                connection.cut()

    def room(self, more: int) -> bool:
        """Whether so many bytes more may wait; they are counted in any case."""
        self.export.queue_bytes += more
        return more <= 0 or self.export.queue_bytes <= self.config.max_queue_bytes

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """A message whose call has not begun, as it waits to be inflated, takes room too."""
        self.room(size)
        try:
            yield
        finally:
            self.room(-size)

    def _forbidden(self, authorization: bytes) -> bool:
        return bool(self._allowed) and not authorized(authorization, self._allowed)
