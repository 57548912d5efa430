"""OTLP/HTTP with protobuf and JSON, and the pages an operator looks at: /healthz /readyz /metrics.

granian's Rust threads speak HTTP/1.1 and HTTP/2 and hand over whole bodies; what it does not bound is bounded here:
the size before it is read, the time until it has come. An error is a google.rpc.Status in the request's own encoding.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings, HTTP2Settings
from granian.server.embed import Server

from collector import answers
from collector.answers import HTTP_STATUS, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAUTHENTICATED, Answer, Path
from collector.auth import authorized
from collector.config import CollectorConfig, tokens
from collector.export import Export
from collector.inflate import ENCODINGS, BadEncoding, TooLarge, inflate
from collector.metrics import CONTENT_TYPE, Metrics

_PATHS: dict[str, Path] = {"/v1/traces": "traces", "/v1/logs": "logs", "/v1/metrics": "metrics"}
_PROTOBUF = [("content-type", "application/x-protobuf")]
_JSON = [("content-type", "application/json")]
_TEXT = [("content-type", "text/plain; charset=utf-8")]
_BACKLOG = 1024
_INLINE = 64 * 1024  # compressed bytes that are inflated in the event loop

App = Callable[[Any, Any], Awaitable[None]]


class _BoundServer(Server):
    """granian on a socket that is bound already, so that port 0 is known before the first request."""

    def __init__(self, listener: socket.socket, app: App, **options: Any) -> None:
        super().__init__(app, **options)
        self._listener = listener

    def _init_shared_socket(self) -> None:
        self._ssp: Any = None
        self._shd: Any = SocketHolder(self._listener.detach(), False, _BACKLOG)  # type: ignore[call-arg]


async def start(
    config: CollectorConfig, export: Export, metrics: Metrics, ready: Callable[[], str | None]
) -> tuple[Any, asyncio.Task[None], int]:
    """(server, its task, port). `ready` says why not, or None."""
    listener = _listen(config.host, config.http_port)
    logging.getLogger("_granian").setLevel(logging.CRITICAL)  # a refused TLS handshake is the client's news
    server = _BoundServer(
        listener,
        _app(config, export, metrics, ready),
        address=config.host,
        port=listener.getsockname()[1],
        interface=Interfaces.RSGI,
        http=HTTPModes.auto,
        websockets=False,
        backlog=_BACKLOG,
        backpressure=_BACKLOG,
        log_enabled=False,
        http1_settings=HTTP1Settings(
            header_read_timeout=config.header_timeout_ns // 10**6, max_buffer_size=256 * 1024, pipeline_flush=False
        ),
        http2_settings=HTTP2Settings(
            keep_alive_interval=max(1, config.idle_timeout_ns // 2 // 10**6), max_headers_size=64 * 1024
        ),
        ssl_cert=config.tls_cert,
        ssl_key=config.tls_key,
        ssl_ca=config.tls_client_ca,
        ssl_client_verify=config.tls_client_ca is not None,
        ssl_protocol_min=SSLProtocols.tls12,
    )
    task = asyncio.create_task(server.serve())
    return server, task, int(listener.getsockname()[1])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setblocking(False)
    try:
        listener.bind((host.strip("[]"), port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise OSError(f"could not listen on {host}:{port} for HTTP: {error.strerror}") from error
    return listener


def _app(config: CollectorConfig, export: Export, metrics: Metrics, ready: Callable[[], str | None]) -> App:
    allowed = tuple(tokens(config))
    loop = asyncio.get_running_loop()
    limit = config.max_request_bytes
    body_seconds = config.body_timeout_ns / 10**9

    async def app(scope: Any, protocol: Any) -> None:
        path = _PATHS.get(scope.path)
        if path is None:
            return _page(scope, protocol, metrics, ready)
        headers = scope.headers
        kind = headers.get("content-type") or ""
        if kind != "application/x-protobuf":  # the usual one, spelled as usual, needs no parsing
            kind = kind.partition(";")[0].strip().lower()
        json = kind == "application/json"

        def reply(answer: Answer, http_status: int | None = None) -> None:
            encoded = answers.as_json(path, answer) if json else answers.protobuf(path, answer)
            extra = _JSON if json else _PROTOBUF
            if answer.retry:
                extra = [*extra, ("retry-after", str(answers.RETRY_SECONDS))]
            protocol.response_bytes(http_status or HTTP_STATUS[answer.code], extra, encoded)

        def refuse(reason: str, message: str, http_status: int, code: int = INVALID_ARGUMENT) -> None:
            export.refused(reason)
            reply(Answer(code, message), http_status)

        if scope.method != "POST":
            return refuse("method", f"{scope.method} is not allowed here; POST an OTLP request", 405)
        if allowed and not authorized(headers.get("authorization") or "", allowed):
            return refuse("unauthenticated", "a bearer token is needed, and this is none of them", 401, UNAUTHENTICATED)
        if not json and kind != "application/x-protobuf":
            json = True  # something a person can read
            return refuse("content_type", "the Content-Type must be application/x-protobuf or application/json", 415)
        encoding = (headers.get("content-encoding") or "").strip().lower()
        if encoding not in ENCODINGS:
            message = f"Content-Encoding {encoding[:40]!r} is not known; gzip, deflate, zstd and identity are"
            return refuse("content_encoding", message, 415)
        length = headers.get("content-length")
        size = int(length) if length is not None and length.isdigit() else None
        if size is not None and size > limit:
            return refuse("too_large", f"the body has {size} bytes; at most {limit} are taken", 413, RESOURCE_EXHAUSTED)
        if (busy := export.busy(size or 0)) is not None:
            return reply(busy)
        try:
            async with asyncio.timeout(body_seconds):
                body = await protocol() if size is not None else await _bounded(protocol, limit)
            if encoding:
                if len(body) > _INLINE:
                    body = await asyncio.to_thread(inflate, encoding, body, limit)
                else:
                    body = inflate(encoding, body, limit)
        except TimeoutError:
            return refuse("slow_body", f"the body did not come within {body_seconds:g} s", 408)
        except TooLarge:
            return refuse("too_large", f"more than {limit} bytes after inflation", 413, RESOURCE_EXHAUSTED)
        except BadEncoding as error:
            return refuse("malformed", str(error), 400)
        answer: asyncio.Future[Answer] = loop.create_future()
        export.take(path, body, "http", partial(_settle, answer), json)
        reply(await answer)

    return app


def _settle(future: asyncio.Future[Answer], answer: Answer) -> None:
    if not future.cancelled():  # the sender hung up; what it sent may stay
        future.set_result(answer)


async def _bounded(protocol: Any, limit: int) -> bytes:
    """A body whose length nobody told."""
    pieces, size = [], 0
    async for piece in protocol:
        size += len(piece)
        if size > limit:
            raise TooLarge
        pieces.append(piece)
    return b"".join(pieces)


def _page(scope: Any, protocol: Any, metrics: Metrics, ready: Callable[[], str | None]) -> None:
    if scope.path not in ("/healthz", "/readyz", "/metrics"):
        message = Answer(answers.NOT_FOUND, "no such path; OTLP/HTTP is at /v1/traces and /v1/logs")
        protocol.response_bytes(404, _JSON, answers.as_json("traces", message))
    elif scope.method not in ("GET", "HEAD"):
        protocol.response_str(405, _TEXT, "GET only\n")
    elif scope.path == "/metrics":
        protocol.response_bytes(200, [("content-type", CONTENT_TYPE)], metrics.render())
    else:
        why_not = ready() if scope.path == "/readyz" else None
        protocol.response_str(503 if why_not else 200, _TEXT, (why_not or "ok") + "\n")


async def stop(server: Any, task: asyncio.Task[None], seconds: float) -> None:
    """No new connections; those open have been answered by then or are cut."""
    server.stop()
    with contextlib.suppress(TimeoutError, asyncio.CancelledError):
        await asyncio.wait_for(task, seconds)
