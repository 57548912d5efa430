"""OTLP/gRPC: the bytes of a request as they came, so that bad ones are answered by us and not by the transport.

gRPC's own decompression knows no limit on what comes out, so it is turned off for what comes in: a compressed message
reaches us as it was sent, and is known by its first byte (a request begins with 0x0a, and neither gzip's 0x1f nor
zlib's 0x78 begins one).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer

from collector import answers
from collector.answers import INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAUTHENTICATED, Answer, Path
from collector.auth import authorized
from collector.config import CollectorConfig, tokens
from collector.export import Export
from collector.inflate import BadEncoding, TooLarge, inflate

_SERVICES: dict[str, Path] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
    "opentelemetry.proto.collector.metrics.v1.MetricsService": "metrics",
}
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_Handler = Callable[[bytes, Any], Awaitable[bytes]]


async def start(config: CollectorConfig, export: Export) -> tuple[Any, int, HealthServicer]:
    """(server, port, health); the health says NOT_SERVING until it is told otherwise."""
    idle_ms = config.idle_timeout_ns // 10**6
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", config.max_request_bytes),
            ("grpc.max_send_message_length", 2**20),
            ("grpc.max_metadata_size", 16 * 2**10),
            ("grpc.absolute_max_metadata_size", 32 * 2**10),
            ("grpc.internal.per_message_decompression", 0),
            ("grpc.max_connection_idle_ms", idle_ms),
            ("grpc.server_handshake_timeout_ms", config.header_timeout_ns // 10**6),
            ("grpc.keepalive_time_ms", max(idle_ms // 2, 10_000)),
            ("grpc.keepalive_timeout_ms", 20_000),
            ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.max_concurrent_streams", 1024),
            ("grpc.so_reuseport", 0),
        ],
    )
    let_in = _guard(tokens(config))
    for service, path in _SERVICES.items():
        handler = grpc.unary_unary_rpc_method_handler(_handler(config, export, path, let_in))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
    health = HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    await health.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    address = f"[{config.host}]:{config.grpc_port}" if ":" in config.host else f"{config.host}:{config.grpc_port}"
    try:
        if config.tls_cert is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, _credentials(config))
    except RuntimeError as error:
        raise OSError(f"could not listen on {address} for gRPC: {error}") from error
    await server.start()
    return server, port, health


def _handler(config: CollectorConfig, export: Export, path: Path, let_in: Callable[[Any], bool] | None) -> _Handler:
    limit = config.max_request_bytes

    async def handle(body: bytes, context: Any) -> bytes:
        if let_in is not None and not let_in(context.invocation_metadata()):
            export.refused("unauthenticated")
            return await _abort(context, Answer(UNAUTHENTICATED, "a bearer token is needed, and this is none of them"))
        if body[:1] in (b"\x1f", b"\x78"):
            try:
                encoding = "gzip" if body[:1] == b"\x1f" else "deflate"
                if len(body) > 64 * 1024:
                    body = await asyncio.to_thread(inflate, encoding, body, limit)
                else:
                    body = inflate(encoding, body, limit)
            except BadEncoding as error:
                export.refused("malformed")
                return await _abort(context, Answer(INVALID_ARGUMENT, str(error)))
            except TooLarge:
                export.refused("too_large")
                return await _abort(context, Answer(RESOURCE_EXHAUSTED, f"more than {limit} bytes after inflation"))
        answer = await export.export(path, body, "grpc")
        if answer.code == answers.OK:
            return answers.protobuf(path, answer)
        return await _abort(context, answer)

    return handle


async def _abort(context: Any, answer: Answer) -> bytes:
    trailers: tuple[tuple[str, bytes], ...] = (("grpc-status-details-bin", answers.status(answer)),)
    if answer.retry:
        trailers += (("google.rpc.retryinfo-bin", answers.retry_info()),)
    await context.abort(_CODES[answer.code], answer.message, trailers)
    raise AssertionError("abort does not return")


def _guard(allowed: tuple[bytes, ...]) -> Callable[[Any], bool] | None:
    if not allowed:
        return None

    def let_in(metadata: Any) -> bool:
        given = next((value for key, value in metadata if key == "authorization"), "")
        return authorized(given, allowed)

    return let_in


def _credentials(config: CollectorConfig) -> Any:
    assert config.tls_cert is not None and config.tls_key is not None
    ca = config.tls_client_ca.read_bytes() if config.tls_client_ca else None
    pair = (config.tls_key.read_bytes(), config.tls_cert.read_bytes())
    return grpc.ssl_server_credentials([pair], root_certificates=ca, require_client_auth=ca is not None)
