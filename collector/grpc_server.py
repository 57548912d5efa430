"""OTLP/gRPC, and gRPC's health checks, over our own HTTP/2 (http2.py says why)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from collector import answers
from collector.answers import INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAUTHENTICATED, UNIMPLEMENTED, Answer, Path
from collector.http2 import Connection, Headers, Request, Verdict
from collector.inflate import BadEncoding, TooLarge, inflate
from collector.listener import INLINE, Limits, Listener

_SERVICES: dict[bytes, Path] = {
    b"/opentelemetry.proto.collector.trace.v1.TraceService/Export": "traces",
    b"/opentelemetry.proto.collector.logs.v1.LogsService/Export": "logs",
    b"/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": "metrics",
}
_HEALTH = (b"/grpc.health.v1.Health/Check", b"/grpc.health.v1.Health/Watch")
_SERVING, _NOT_SERVING = b"\x08\x01", b"\x08\x02"
_ENCODINGS = {name.encode(): name for name in ("gzip", "deflate", "zstd", "identity")}
_ACCEPTED = Verdict(answers.OK, b"")


@dataclass
class GrpcServer(Listener):
    """Listening; `serving` is what the health check says."""

    serving: bool = False

    async def start(self) -> None:
        def connection(limits: Limits) -> Connection:
            return Connection(self, limits, self._connections)

        await self._listen("gRPC", self.config.grpc_port, "h2", connection)

    def begin(self, headers: Headers) -> Verdict | None:
        path = headers.get(b":path", b"")
        if path in _HEALTH:
            if path == _HEALTH[0]:
                return None
            return Verdict(answers.OK, _SERVING if self.serving else _NOT_SERVING, stays_open=True)
        if path not in _SERVICES or not headers.get(b"content-type", b"").startswith(b"application/grpc"):
            return Verdict(UNIMPLEMENTED, b"unknown method " + path[:200])
        if self._forbidden(headers.get(b"authorization", b"")):
            return self.refuse("unauthenticated", UNAUTHENTICATED, "a bearer token is needed, and this is none of them")
        busy = self.export.busy(0)
        return _refusal(busy) if busy is not None else None

    def call(self, request: Request, answered: Callable[[Verdict], None]) -> None:
        if request.headers[b":path"] == _HEALTH[0]:
            answered(Verdict(answers.OK, _SERVING if self.serving else _NOT_SERVING))
        elif not request.compressed:
            self._take(request, request.message, answered)
        elif len(request.message) > INLINE:
            self.export.spawn(self._inflate_beside(request, answered))
        else:
            self._inflated(request, answered, self._inflate(request))

    async def _inflate_beside(self, request: Request, answered: Callable[[Verdict], None]) -> None:
        with self.holding(len(request.message)):
            outcome = await asyncio.to_thread(self._inflate, request)
        self._inflated(request, answered, outcome)

    def _inflate(self, request: Request) -> bytes | tuple[str, int, str]:
        """The message, or why it is refused."""
        encoding = _ENCODINGS.get(request.headers.get(b"grpc-encoding", b""))
        if encoding is None:
            return "content_encoding", UNIMPLEMENTED, "grpc-encoding must be gzip, deflate, zstd or identity"
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
