"""Our HTTP/1.1 against peers that are careless, slow or hostile (the duties are tested with real HTTP clients)."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from collector import http1
from collector.listener import Limits
from tests.collector.requests import span_ids, traces
from tests.collector.running import Collector, running

BODY = traces(1).SerializeToString()
POST = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with running(tmp_path_factory.mktemp("http1"), max_request_bytes=2**20) as collector:
        yield collector


def talk(collector: Collector, *sent: bytes, half_close: bool = False) -> bytes:
    """All that is answered until the collector ends the connection (or is silent for a second)."""
    with socket.create_connection(("127.0.0.1", collector.http), timeout=1) as peer:
        for piece in sent:
            peer.sendall(piece)
        if half_close:
            peer.shutdown(socket.SHUT_WR)
        answered = b""
        try:
            while piece := peer.recv(65536):
                answered += piece
        except TimeoutError:
            answered += b"(open)"
        return answered


def sized(body: bytes, *lines: bytes) -> bytes:
    return POST + b"".join(line + b"\r\n" for line in lines) + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*chunks: bytes, lines: bytes = b"", trailers: bytes = b"") -> bytes:
    pieces = b"".join(b"%x;some=extension\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return POST + lines + b"Transfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n" + trailers + b"\r\n"


def kept(collector: Collector, body: bytes) -> bool:
    return span_ids(body)[0] in [each for row in collector.rows() for each in span_ids(row.body)]


def test_requests_sent_ahead_are_answered_in_turn(collector: Collector) -> None:
    answers = talk(collector, sized(BODY) + b"GET /healthz HTTP/1.1\r\n\r\n" + sized(b"\xff\xff") + sized(BODY))
    assert re.findall(rb"HTTP/1.1 (\d+) ", answers) == [b"200", b"200", b"400", b"200"]
    assert answers.endswith(b"(open)")


def test_a_request_may_come_byte_by_byte(collector: Collector) -> None:
    body = traces(1).SerializeToString()
    for request in (sized(body, b"Connection: close"), chunked(body[:9], body[9:], lines=b"Connection: close\r\n")):
        answer = talk(collector, *(request[i : i + 1] for i in range(len(request))))
        assert answer.startswith(b"HTTP/1.1 200 OK") and not answer.endswith(b"(open)")
    assert kept(collector, body)


def test_chunks_with_extensions_and_trailers_are_joined(collector: Collector) -> None:
    body = traces(3).SerializeToString()
    answer = talk(collector, chunked(body[:1], body[1:50], body[50:], trailers=b"Checksum: 1\r\n") + sized(BODY))
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert kept(collector, body)


def test_what_a_chunk_costs_does_not_grow_with_what_follows_it() -> None:
    """All at once, each as small as can be: what follows was copied for each, minutes for this megabyte."""
    body, taken = b"x" * 150_000, []
    handler: Any = SimpleNamespace(
        begin=lambda head: None, room=lambda more: True, call=lambda head, body, answered: taken.append(body)
    )

    async def receive() -> None:
        peer = http1.Connection(handler, Limits(2**20, 10, 10, 10), set(), {})
        peer.connection_made(SimpleNamespace())
        peer.data_received(POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * len(body) + b"0\r\n\r\n")
        peer.connection_lost(None)

    began = time.monotonic()
    asyncio.run(receive())
    assert taken == [body] and time.monotonic() - began < 8


def test_who_expects_to_be_told_is_told_to_go_on(collector: Collector) -> None:
    with socket.create_connection(("127.0.0.1", collector.http), timeout=10) as peer:
        peer.sendall(POST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        assert peer.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.sendall(BODY)
        assert peer.recv(1000).startswith(b"HTTP/1.1 200 OK")
    refused = talk(collector, POST + b"Expect: 100-continue\r\nContent-Length: 2000000\r\n\r\n")
    assert refused.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
        (POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
        (POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (POST + b"Content-Length: -3\r\n\r\n", 400),
        (POST + b"Content-Length: +3\r\n\r\nabc", 400),
        (POST + b"Content-Length : 3\r\n\r\nabc", 400),
        (POST + b"X: a\r\n folded\r\n\r\n", 400),
        (POST + b"X: a\nY: b\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\nHost: x\n\n", 400),
        (POST + b"X: \x00\r\n\r\n", 400),
        (POST + b"Host: y\r\n\r\n", 400),
        (b"POST  /v1/traces HTTP/1.1\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", 400),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 2000, 400),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nfffff0\r\n", 413),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"T: t\r\n" * 3000, 400),
        (POST + b"X: " + b"x" * 40_000, 431),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused_and_ends_the_connection(
    collector: Collector, request_: bytes, status: int
) -> None:
    answer = talk(collector, request_)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    assert b"connection: close\r\n" in answer
    assert answer.count(b"date: ") == 1 and not answer.endswith(b"(open)")


def test_a_connection_is_kept_as_the_client_wants(collector: Collector) -> None:
    assert talk(collector, sized(BODY)).endswith(b"(open)")
    assert not talk(collector, sized(BODY, b"Connection: close")).endswith(b"(open)")
    old = sized(BODY).replace(b"HTTP/1.1", b"HTTP/1.0")
    assert not talk(collector, old).endswith(b"(open)")
    assert talk(collector, old.replace(b"Host: x", b"Connection: keep-alive")).endswith(b"(open)")


def test_who_has_ended_its_own_half_still_gets_the_answer(collector: Collector) -> None:
    body = traces(1).SerializeToString()
    answer = talk(collector, sized(body), half_close=True)
    assert answer.startswith(b"HTTP/1.1 200 OK") and kept(collector, body)
    ahead = sized(BODY) + b"GET /healthz HTTP/1.1\r\n\r\n" + sized(BODY) + sized(BODY) + POST
    answer = talk(collector, ahead, half_close=True)
    assert answer.count(b"HTTP/1.1 200 OK") == 4 and not answer.endswith(b"(open)")


def test_head_has_the_length_and_no_body(collector: Collector) -> None:
    answer = talk(collector, b"HEAD /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert b"content-length: 3\r\n" in answer and answer.endswith(b"\r\n\r\n")


def test_an_early_refusal_is_read_by_who_is_still_sending(collector: Collector) -> None:
    answer = talk(collector, POST + b"Content-Length: 3000000\r\n\r\n", bytes(1_000_000))
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_refusal_of_what_has_come_whole_keeps_the_connection(collector: Collector) -> None:
    answer = talk(collector, sized(BODY).replace(b"x-protobuf", b"octet-stream") + sized(BODY))
    assert answer.startswith(b"HTTP/1.1 415 ") and answer.endswith(b"(open)")
    assert b"HTTP/1.1 200 OK" in answer


@pytest.mark.timeout(60)
def test_bytes_of_a_body_that_breaks_off_are_given_back(tmp_path: Path) -> None:
    with running(tmp_path) as collector:
        with socket.create_connection(("127.0.0.1", collector.http), timeout=10) as peer:
            peer.sendall(POST + b"Content-Length: 1000000\r\n\r\n" + bytes(200_000))
            while collector.metrics()["otelcov_collector_queue_bytes"] < 200_000:
                pass
        while collector.metrics()["otelcov_collector_queue_bytes"]:
            pass


@pytest.mark.parametrize("origin", [b"http://x:4318", b"HTTPS://x"])
def test_a_target_may_name_its_origin(collector: Collector, origin: bytes) -> None:
    body = traces(1).SerializeToString()
    answer = talk(collector, sized(body, b"Connection: close").replace(b"/v1/traces ", origin + b"/v1/traces?a=b "))
    assert answer.startswith(b"HTTP/1.1 200 OK") and kept(collector, body)
    assert talk(collector, b"GET %s HTTP/1.0\r\n\r\n" % origin).startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize(
    ("request_", "status", "hint"),
    [
        (b"GET /v1/traces HTTP/1.0\r\n\r\n", 405, b"allow: POST"),
        (b"POST /healthz HTTP/1.0\r\n\r\n", 405, b"allow: GET, HEAD"),
        (sized(BODY, b"Content-Encoding: br", b"Connection: close"), 415, b"accept-encoding: gzip, deflate, zstd"),
    ],
)
def test_a_refusal_says_what_would_be_taken(collector: Collector, request_: bytes, status: int, hint: bytes) -> None:
    answer = talk(collector, request_)
    assert answer.startswith(b"HTTP/1.1 %d " % status) and b"\r\n%s\r\n" % hint in answer


def test_a_head_means_the_same_however_its_names_are_spelled() -> None:
    head = http1.parse(b"POST /v1/traces?x=y HTTP/1.1\r\nCONTENT-length:  7 \r\nAccept: a\r\naccept: b")
    assert head == ("POST", "/v1/traces", {b"content-length": b"7", b"accept": b"a, b"}, 7, True, False)
