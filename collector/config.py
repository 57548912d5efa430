"""What the receiver is told: plain values, checked once before anything is opened."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

SECOND = 10**9
MIB = 2**20


class BadConfig(ValueError):
    """A setting with which the collector must not start; the message says what to change."""


@dataclass(frozen=True)
class CollectorConfig:
    store: str  # as the caller names it; shown in the first line, never opened here
    inbox: Path  # always on a local disk; usually <store>/inbox
    host: str = "127.0.0.1"
    grpc_port: int = 4317
    http_port: int = 4318
    allow_unauthenticated: bool = False  # a bind beyond loopback without token or client certificate
    max_request_bytes: int = 64 * MIB  # after inflation
    max_request_spans: int = 65_536
    max_request_elements: int = 2**20  # attributes, events and links: 2 bytes on the wire become 60 in memory
    max_queue_bytes: int = 256 * MIB  # received and not yet on disk
    max_inbox_bytes: int = 4096 * MIB  # on disk and not yet in the store, uncompressed
    header_timeout_ns: int = 10 * SECOND
    body_timeout_ns: int = 30 * SECOND
    idle_timeout_ns: int = 120 * SECOND
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None  # asks every client for a certificate of this authority
    token_file: Path | None = None  # one bearer token a line
    token_env: str | None = None  # name of the variable that holds the token
    content: Literal["keep", "drop", "hash"] = "keep"
    drop: tuple[str, ...] = ()  # attribute globs
    hash: tuple[str, ...] = ()
    hash_key_env: str = "OTELCOV_HASH_KEY"
    mask_secrets: bool = True
    drain_seconds: float = 3.0  # for open requests after SIGTERM
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


def check(config: CollectorConfig) -> None:
    """Raise BadConfig for what would be unsafe or could not work."""
    if (config.tls_cert is None) != (config.tls_key is None):
        raise BadConfig("TLS needs both tls_cert and tls_key; give the other one too")
    if config.tls_client_ca is not None and config.tls_cert is None:
        raise BadConfig("tls_client_ca asks clients for certificates, which needs tls_cert and tls_key")
    for path in (config.tls_cert, config.tls_key, config.tls_client_ca):
        if path is not None and not path.is_file():
            raise BadConfig(f"could not read {path}: no such file")
    guarded = bool(tokens(config)) or config.tls_client_ca is not None
    if not is_loopback(config.host) and not guarded and not config.allow_unauthenticated:
        raise BadConfig(
            f"refusing to listen on {config.host} without authentication: anyone who reaches it could write to the"
            " store. Give token_file, token_env or tls_client_ca, or say allow_unauthenticated"
        )
    if (config.hash or config.content == "hash") and not hash_key(config):
        raise BadConfig(f"hashing needs a key: set the environment variable {config.hash_key_env}")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def tokens(config: CollectorConfig) -> tuple[bytes, ...]:
    """The bearer tokens that are let in; none at all means that no token is asked for."""
    found: list[str] = []
    if config.token_file is not None:
        try:
            found += config.token_file.read_text().split()
        except OSError as error:
            raise BadConfig(f"could not read the token file {config.token_file}: {error.strerror}") from error
        if not found:
            raise BadConfig(f"the token file {config.token_file} holds no token")
    if config.token_env is not None:
        token = config.environ.get(config.token_env, "").strip()
        if not token:
            raise BadConfig(f"the environment variable {config.token_env} that token_env names holds no token")
        found.append(token)
    return tuple(token.encode() for token in found)


def hash_key(config: CollectorConfig) -> bytes:
    return config.environ.get(config.hash_key_env, "").encode()
