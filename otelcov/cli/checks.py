"""What `otelcov doctor` looks at: one function a check, each gives findings and touches nothing of the user's store."""

from __future__ import annotations

import os
import socket
import ssl
import statistics
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from otelcov.ground.errors import StoreError

if TYPE_CHECKING:
    from otelcov.ground.config import Collect

LOW_DISK_BYTES = 2 * 2**30
SLOW_FSYNC_S = 0.02
SOON_S = 14 * 86_400


@dataclass(frozen=True)
class Finding:
    check: str
    status: Literal["ok", "note", "warning", "failed"]
    text: str
    advice: str = ""


def ports(collect: Collect) -> Iterator[Finding]:
    """Both ports are free, or a collector answers on them."""
    for name, port in (("gRPC", collect.grpc_port), ("HTTP", collect.http_port)):
        where = f"{name} {collect.host}:{port}"
        if port == 0:
            yield Finding("ports", "ok", f"{where}: a free port is chosen at the start")
            continue
        try:
            with socket.socket(socket.AF_INET6 if ":" in collect.host else socket.AF_INET) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind((collect.host.strip("[]").replace("localhost", "127.0.0.1"), port))
            yield Finding("ports", "ok", f"{where} is free")
        except OSError as error:
            if _is_ready(collect):
                yield Finding("ports", "ok", f"{where}: a collector is listening and ready")
            else:
                advice = "Stop what listens there, or choose another with --grpc-port and --http-port."
                yield Finding("ports", "failed", f"{where} cannot be used: {error.strerror}", advice)


def _is_ready(collect: Collect) -> bool:
    scheme = "https" if collect.tls_cert else "http"
    host = "127.0.0.1" if collect.host in ("0.0.0.0", "::", "localhost") else collect.host
    context = ssl.create_default_context() if collect.tls_cert else None
    if context is not None:  # whose certificate it is does not matter for the question whether it is up
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), *([urllib.request.HTTPSHandler(context=context)] if context else [])
    )
    try:
        with opener.open(f"{scheme}://{host}:{collect.http_port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False


def tls(collect: Collect) -> Iterator[Finding]:
    """Certificate and key are a pair, and the certificate is valid for a while yet."""
    if collect.tls_cert is None:
        yield Finding(
            "TLS", "note", "off: spans travel in clear text", "Fine on loopback; else set tls_cert and tls_key."
        )
        return
    if collect.tls_key is None:
        yield Finding("TLS", "failed", "tls_cert without tls_key", "Set both.")
        return
    try:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(collect.tls_cert, collect.tls_key)
        if collect.tls_client_ca is not None:
            server.load_verify_locations(collect.tls_client_ca)
        left = _seconds_left(server, collect.tls_cert)
    except (OSError, ssl.SSLError) as error:
        text = f"{collect.tls_cert} and {collect.tls_key} cannot be used: {error}"
        yield Finding("TLS", "failed", text, "Both must be PEM files; the key must belong to the certificate.")
        return
    days = int(left // 86_400)
    if left < SOON_S:
        yield Finding("TLS", "warning", f"the certificate ends in {days} days", "Renew it and restart the collector.")
    else:
        clients = "; clients must show a certificate" if collect.tls_client_ca else ""
        yield Finding("TLS", "ok", f"certificate and key are a pair, valid for {days} days{clients}")


def _seconds_left(server: ssl.SSLContext, certificate: Path) -> float:
    """A handshake in memory, in which the certificate itself is the authority: Python tells dates of no other."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if server.verify_mode != ssl.CERT_NONE else server
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(certificate)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours, theirs = client.wrap_bio(back, there), server.wrap_bio(there, back, server_side=True)
    for _ in range(8):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    shown = ours.getpeercert() or {}
    return ssl.cert_time_to_seconds(str(shown["notAfter"])) - time.time()


def access(collect: Collect) -> Iterator[Finding]:
    """Whoever can reach the collector can write to it, unless a token or certificate is asked for."""
    guarded = collect.token_file or collect.token_env or collect.tls_client_ca
    loopback = collect.host in ("127.0.0.1", "::1", "localhost") or collect.host.startswith("127.")
    if collect.token_env and not os.environ.get(collect.token_env):
        yield Finding("access", "failed", f"token_env names {collect.token_env}, which is not set", "Set it.")
    elif collect.token_file and not collect.token_file.is_file():
        yield Finding(
            "access", "failed", f"token_file {collect.token_file} is not there", "Create it, one token a line."
        )
    elif guarded:
        yield Finding("access", "ok", "senders must show a token or a certificate")
    elif loopback:
        yield Finding("access", "ok", f"only this machine reaches {collect.host}")
    elif collect.allow_unauthenticated:
        text = f"anyone who reaches {collect.host} can write to the store"
        yield Finding("access", "warning", text, "Set token_file, token_env or tls_client_ca.")
    else:
        text = f"{collect.host} is reachable from outside and nothing is asked for; the collector will not start"
        yield Finding("access", "failed", text, "Set token_file, token_env or tls_client_ca.")


def disk(folder: Path) -> Iterator[Finding]:
    """Room, and how long it takes until a request is safe."""
    place = folder.resolve()
    while not place.exists():
        place = place.parent
    free = os.statvfs(place)
    room = free.f_bavail * free.f_frsize
    text = f"{room / 2**30:.1f} GiB free in {place}"
    if room < LOW_DISK_BYTES:
        yield Finding(
            "disk", "warning", text, "A full disk stops the collector from acknowledging; make room or prune."
        )
    else:
        yield Finding("disk", "ok", text)
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            took = []
            for _ in range(20):
                file.write(b"x" * 4096)
                file.flush()
                began = time.perf_counter()
                os.fsync(file.fileno())
                took.append(time.perf_counter() - began)
    except OSError as error:
        yield Finding("disk", "failed", f"{place} cannot be written: {error.strerror}", "Choose another --store.")
        return
    middle, worst = statistics.median(took), max(took)
    text = f"fsync takes {middle * 1000:.1f} ms (worst of 20: {worst * 1000:.1f} ms)"
    if middle > SLOW_FSYNC_S:
        yield Finding("disk", "warning", text, "Senders wait that long for each answer; a local SSD is faster.")
    else:
        yield Finding("disk", "ok", text)


def admission() -> Iterator[Finding]:
    """Whether the part of admission in C was built."""
    from collector import scan

    if scan.native is not None:
        yield Finding("admission", "ok", "requests are checked by the part in C")
    else:
        advice = "A C compiler and Python's headers where otelcov is installed make admission faster."
        yield Finding("admission", "note", "requests are checked in Python alone", advice)


def round_trip() -> Iterator[Finding]:
    """A sample span over gRPC and one over HTTP, by a collector of our own with a store of its own, and back."""
    from otelcov.cli import loopback

    with tempfile.TemporaryDirectory(prefix="otelcov-doctor-") as temporary:
        store = Path(temporary) / "store"
        try:
            began = time.perf_counter()
            with loopback.collector(store) as ports:
                for exporter in (loopback.grpc_exporter(ports["grpc"]), loopback.http_exporter(ports["http"])):
                    loopback.send_sample(exporter)
                took = time.perf_counter() - began
                found = _names(store)
        except StoreError as error:
            yield Finding("sample span", "failed", str(error))
            return
    for way, name in (("grpc", "gRPC"), ("http", "HTTP")):
        if way in found:
            yield Finding("sample span", "ok", f"sent over {name}, read back")
        else:
            yield Finding("sample span", "failed", f"sent over {name} and not found in the store")
    yield Finding("sample span", "note", f"a collector's start, two spans and their answers took {took:.1f} s")


def _names(store: Path) -> set[str]:
    from otelcov.store import scan

    return set(scan.spans(store).select("name").collect()["name"])
