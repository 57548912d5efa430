"""OTLP/gRPC, and gRPC's health checks, over our own HTTP/2 (http2.py says why)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from collector import answers, tls
from collector.answers import INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAUTHENTICATED, UNIMPLEMENTED, Answer, Path
from collector.auth import authorized
from collector.config import CollectorConfig, tokens
from collector.export import Export
from collector.http2 import Connection, Headers, Limits, Request, Verdict
from collector.inflate import BadEncoding, TooLarge, inflate

_SERVICES: dict[bytes, Path] = {
    b"/opentelemetry.proto.collector.trace.v1.TraceService/Export": "traces",
    b"/opentelemetry.proto.collector.logs.v1.LogsService/Export": "logs",
    b"/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": "metrics",
}
_HEALTH = (b"/grpc.health.v1.Health/Check", b"/grpc.health.v1.Health/Watch")
_SERVING, _NOT_SERVING = b"\x08\x01", b"\x08\x02"
_ENCODINGS = {b"gzip": "gzip", b"deflate": "deflate", b"identity": "identity"}
_INLINE = 64 * 1024  # compressed bytes that are inflated in the event loop
_BACKLOG = 1024
_ACCEPTED = Verdict(answers.OK, b"")


@dataclass
class GrpcServer:
    """Listening; `serving` is what the health check says."""

    config: CollectorConfig
    export: Export
    serving: bool = False
    port: int = 0
    _allowed: tuple[bytes, ...] = ()
    _connections: set[Connection] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def start(self) -> None:
        config = self.config
        self._allowed = tokens(config)
        limits = Limits(
            config.max_request_bytes,
            config.header_timeout_ns / 1e9,
            config.body_timeout_ns / 1e9,
            config.idle_timeout_ns / 1e9,
        )
        secured = tls.context(config, "h2")
        try:
            self._server = await asyncio.get_running_loop().create_server(
                lambda: Connection(self, limits, self._connections),
                config.host.strip("[]"),
                config.grpc_port,
                ssl=secured,
                backlog=_BACKLOG,
                ssl_handshake_timeout=limits.header_seconds if secured else None,
            )
        except OSError as error:
            where = f"{config.host}:{config.grpc_port}"
            raise OSError(f"could not listen on {where} for gRPC: {error.strerror or error}") from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self, seconds: float) -> None:
        """No new calls; those open are answered by then or are cut."""
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

    def begin(self, headers: Headers) -> Verdict | None:
        path = headers.get(b":path", b"")
        if path in _HEALTH:
            if path == _HEALTH[0]:
                return None
            return Verdict(answers.OK, _SERVING if self.serving else _NOT_SERVING, stays_open=True)
        if path not in _SERVICES or not headers.get(b"content-type", b"").startswith(b"application/grpc"):
            return Verdict(UNIMPLEMENTED, b"unknown method " + path[:200])
        if self._allowed and not authorized(headers.get(b"authorization", b""), self._allowed):
            return self.refuse("unauthenticated", UNAUTHENTICATED, "a bearer token is needed, and this is none of them")
        busy = self.export.busy(0)
        return _refusal(busy) if busy is not None else None

    def room(self, more: int) -> bool:
        self.export.queue_bytes += more
        return more <= 0 or self.export.queue_bytes <= self.config.max_queue_bytes

    def call(self, request: Request, answered: Callable[[Verdict], None]) -> None:
        if request.headers[b":path"] == _HEALTH[0]:
            answered(Verdict(answers.OK, _SERVING if self.serving else _NOT_SERVING))
        elif not request.compressed:
            self._take(request, request.message, answered)
        elif len(request.message) > _INLINE:
            self.export.spawn(self._inflate_beside(request, answered))
        else:
            self._inflated(request, answered, self._inflate(request))

    async def _inflate_beside(self, request: Request, answered: Callable[[Verdict], None]) -> None:
        self._inflated(request, answered, await asyncio.to_thread(self._inflate, request))

    def _inflate(self, request: Request) -> bytes | tuple[str, int, str]:
        """The message, or why it is refused."""
        encoding = _ENCODINGS.get(request.headers.get(b"grpc-encoding", b""))
        if encoding is None:
            return "content_encoding", UNIMPLEMENTED, "grpc-encoding must be gzip, deflate or identity"
        limit = self.config.max_request_bytes
        try:
            return inflate(encoding, request.message, limit)
        except BadEncoding as error:
            return "malformed", INVALID_ARGUMENT, str(error)
        except TooLarge:
            return "too_large", RESOURCE_EXHAUSTED, f"more than {limit} bytes after inflation"

    def _inflated(
        self, request: Request, answered: Callable[[Verdict], None], outcome: bytes | tuple[str, int, str]
    ) -> None:
        if isinstance(outcome, bytes):
            self._take(request, outcome, answered)
        else:
            answered(self.refuse(*outcome))

    def _take(self, request: Request, body: bytes, answered: Callable[[Verdict], None]) -> None:
        path = _SERVICES[request.headers[b":path"]]
        self.export.take(path, body, "grpc", lambda answer: answered(_verdict(path, answer)))

    def refuse(self, reason: str, status: int, text: str) -> Verdict:
        self.export.refused(reason)
        return _refusal(Answer(status, text))


def _verdict(path: Path, answer: Answer) -> Verdict:
    if answer is answers.ACCEPTED:
        return _ACCEPTED
    return _refusal(answer) if answer.code != answers.OK else Verdict(answers.OK, answers.protobuf(path, answer))


def _refusal(answer: Answer) -> Verdict:
    trailers = [("grpc-status-details-bin", answers.status(answer))]
    if answer.retry:
        trailers.append(("google.rpc.retryinfo-bin", answers.retry_info()))
    return Verdict(answer.code, answer.message.encode(), trailers)
