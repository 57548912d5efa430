"""Our HTTP/2 against peers that are careless, slow or hostile (the duties are tested with real gRPC clients)."""

from __future__ import annotations

import gzip
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import zstandard
from grpc_health.v1 import health_pb2, health_pb2_grpc
from hpack import Decoder, Encoder

from collector.http2 import PREFACE
from tests.collector.requests import call, span_ids, traces
from tests.collector.running import EXPORT, Collector, launched, running

DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4
Frame = tuple[int, int, int, bytes]


class Peer:
    """A client that sends the frames it is told to."""

    def __init__(self, port: int, settings: bytes = b"") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.encoder, self.decoder = Encoder(), Decoder()
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        self.rest = b""

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def head(self, **more: str) -> bytes:
        fields = {":method": "POST", ":scheme": "http", ":path": EXPORT, ":authority": "x"}
        fields |= {"content-type": "application/grpc", "te": "trailers"} | more
        return self.encoder.encode(list(fields.items()))

    def call(self, number: int, body: bytes, **more: str) -> None:
        self.send(frame(HEADERS, END_HEADERS, number, self.head(**more)), *data(number, body))

    def frames(self) -> Iterator[Frame]:
        while True:
            while len(self.rest) >= 9:
                length = int.from_bytes(self.rest[:3], "big")
                if len(self.rest) < 9 + length:
                    break
                kind, flags, number = self.rest[3], self.rest[4], int.from_bytes(self.rest[5:9], "big")
                payload, self.rest = self.rest[9 : 9 + length], self.rest[9 + length :]
                yield kind, flags, number, payload
            try:
                piece = self.socket.recv(65536)
            except ConnectionResetError:
                return
            if not piece:
                return
            self.rest += piece

    def status(self, number: int) -> str:
        """The gRPC status that a stream ends with."""
        for kind, flags, stream, payload in self.frames():
            if kind == HEADERS:
                fields = dict(self.decoder.decode(payload))
                if stream == number and flags & END_STREAM:
                    return str(fields["grpc-status"])
        raise AssertionError("the connection ended")

    def end(self) -> int | None:
        """The error code of the GOAWAY that the connection ends with."""
        code = None
        for kind, _, _, payload in self.frames():
            if kind == GOAWAY:
                code = int.from_bytes(payload[4:8], "big")
        return code


def frame(kind: int, flags: int, number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, number) + payload


def data(number: int, body: bytes) -> list[bytes]:
    message = b"\0" + len(body).to_bytes(4, "big") + body
    pieces = [message[i : i + 16384] for i in range(0, len(message), 16384)]
    return [frame(DATA, END_STREAM if i == len(pieces) - 1 else 0, number, p) for i, p in enumerate(pieces)]


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(tmp_path_factory.mktemp("http2"), header_timeout_ns=2 * 10**9, body_timeout_ns=2 * 10**9) as started:
        yield started


BODY = traces(2, text="x" * 40_000).SerializeToString()


def test_frames_may_be_cut_anywhere(collector: Collector) -> None:
    with Peer(collector.grpc) as peer:
        whole = frame(HEADERS, END_HEADERS, 1, peer.head()) + b"".join(data(1, traces(1).SerializeToString()))
        for index in range(len(whole)):
            peer.send(whole[index : index + 1])
        assert peer.status(1) == "0"


def test_padding_priority_continuation_and_unknown_frames_are_understood(collector: Collector) -> None:
    with Peer(collector.grpc) as peer:
        head = peer.head()
        start = bytes([3]) + bytes(5) + head[:9] + bytes(3)
        message = b"\0" + len(BODY[:0]).to_bytes(4, "big")
        peer.send(
            frame(99, 7, 0, b"whatever"),
            frame(HEADERS, 0x8 | 0x20, 1, start),
            frame(CONTINUATION, 0, 1, head[9:15]),
            frame(CONTINUATION, 0, 1, head[15:]),
            frame(CONTINUATION, END_HEADERS, 1, b""),
            frame(DATA, 0x8 | END_STREAM, 1, bytes([2]) + message + bytes(2)),
        )
        assert peer.status(1) == "0"


@pytest.mark.full
def test_a_message_may_come_in_the_smallest_frames(tmp_path: Path) -> None:
    body = traces(1).SerializeToString()
    message = b"\0" + len(body).to_bytes(4, "big") + body
    with launched(tmp_path) as collector, Peer(collector.grpc) as peer:
        before = collector.rss_mib()
        peer.send(frame(HEADERS, END_HEADERS, 1, peer.head()), frame(DATA, 0, 1, b"") * 2_000_000)
        peer.send(*(frame(DATA, 0, 1, message[i : i + 1]) for i in range(len(message))))
        peer.send(frame(PING, 0, 0, b"12345678"))
        assert any(kind == PING and flags & 1 for kind, flags, _, _ in peer.frames())
        assert collector.rss_mib() - before < 12  # a pointer for each would be 16
        peer.send(frame(DATA, END_STREAM, 1, b""))
        assert peer.status(1) == "0"


@pytest.mark.parametrize("flag", [2, 255])
def test_a_message_is_compressed_or_not(collector: Collector, flag: int) -> None:
    body = traces(1).SerializeToString()
    with Peer(collector.grpc) as peer:
        message = bytes([flag]) + len(body).to_bytes(4, "big") + body
        peer.send(frame(HEADERS, END_HEADERS, 1, peer.head()), frame(DATA, END_STREAM, 1, message))
        assert peer.status(1) == "3"


@pytest.mark.parametrize(
    ("encoding", "encode", "status"),
    [("gzip", gzip.compress, "0"), ("zstd", zstandard.compress, "0"), ("snappy", bytes, "12"), ("", bytes, "12")],
)
def test_every_answer_names_the_encodings_that_are_taken(
    collector: Collector, encoding: str, encode: Callable[[bytes], bytes], status: str
) -> None:
    body = encode(traces(1).SerializeToString())
    with Peer(collector.grpc) as peer:
        message = b"\1" + len(body).to_bytes(4, "big") + body
        head = peer.head(**({"grpc-encoding": encoding} if encoding else {}))
        peer.send(frame(HEADERS, END_HEADERS, 1, head), frame(DATA, END_STREAM, 1, message))
        fields: dict[str, str] = {}
        for kind, flags, _, payload in peer.frames():
            if kind == HEADERS:
                fields |= dict(peer.decoder.decode(payload))
                if flags & END_STREAM:
                    break
        assert fields["grpc-status"] == status
        assert fields["grpc-accept-encoding"] == "identity,deflate,gzip,zstd"


def test_many_calls_share_a_connection_and_each_gets_its_answer(collector: Collector) -> None:
    with Peer(collector.grpc) as peer:
        for number in range(1, 101, 2):
            peer.call(number, b"\xff" if number % 4 == 1 else traces(1).SerializeToString(), **{"x-call": str(number)})
        found: dict[int, str] = {}
        for kind, flags, number, payload in peer.frames():
            if kind == HEADERS:
                fields = dict(peer.decoder.decode(payload))
                if flags & END_STREAM:
                    found[number] = fields["grpc-status"]
            if len(found) == 50:
                break
        assert found == {n: "3" if n % 4 == 1 else "0" for n in range(1, 101, 2)}


def test_a_header_block_that_repeats_is_read_with_the_table_of_its_time(tmp_path: Path) -> None:
    """The same bytes name other headers once the table has changed."""
    (tmp_path / "tokens").write_text("right\n")
    with running(tmp_path, token_file=tmp_path / "tokens") as collector, Peer(collector.grpc) as peer:
        number = 1
        for token, expected in [("right", "0"), ("wrong", "16")] * 4 + [("right", "0")] * 3 + [("wrong", "16")] * 3:
            peer.call(number, traces(1).SerializeToString(), authorization=f"Bearer {token}")
            assert peer.status(number) == expected
            number += 2


def test_answers_wait_for_the_windows_of_the_peer(collector: Collector) -> None:
    with Peer(collector.grpc, settings=struct.pack(">HI", 4, 0)) as peer:
        request = traces(1)
        request.resource_spans[0].scope_spans[0].spans[0].trace_id = b"bad"
        peer.call(1, request.SerializeToString())
        peer.send(frame(PING, 0, 0, b"12345678"))
        seen = []
        for kind, flags, _, _ in peer.frames():
            seen.append(kind)
            if kind == PING and flags & 1:
                break
        time.sleep(0.3)
        peer.send(frame(WINDOW, 0, 1, struct.pack(">I", 5_000)))
        assert DATA not in seen and peer.status(1) == "0"


def test_an_answer_goes_as_far_as_the_window_and_holds_up_no_other(collector: Collector) -> None:
    with Peer(collector.grpc, struct.pack(">HI", 4, 3)) as peer:  # SETTINGS_INITIAL_WINDOW_SIZE
        for number in (1, 3, 5):
            peer.call(number, BODY)
        frames = peer.frames()
        sent = [payload for kind, _, _, payload in (next(frames) for _ in range(9)) if kind == DATA]
        assert sent == [bytes(3)] * 3
        peer.send(frame(RST, 0, 1, struct.pack(">I", 8)))
        peer.send(frame(WINDOW, 0, 5, struct.pack(">I", 2)))
        assert peer.status(5) == "0"
        peer.send(frame(WINDOW, 0, 3, struct.pack(">I", 2)))
        assert peer.status(3) == "0"


def test_who_never_opens_its_window_is_cut(tmp_path: Path) -> None:
    with running(tmp_path, idle_timeout_ns=10**9) as collector, Peer(collector.grpc, struct.pack(">HI", 4, 0)) as peer:
        peer.call(1, BODY)
        assert peer.end() is None


def test_window_updates_keep_a_long_connection_going(collector: Collector) -> None:
    body = traces(1, text="y" * 5_000_000).SerializeToString()
    with grpc.insecure_channel(
        f"127.0.0.1:{collector.grpc}", options=[("grpc.max_send_message_length", -1)]
    ) as channel:
        send = channel.unary_unary(EXPORT, request_serializer=None, response_deserializer=None)
        for _ in range(20):  # 100 MB through a window of 64 MiB
            assert send(body, timeout=30) == b""


def test_who_has_ended_its_own_half_still_gets_the_answers(tmp_path: Path) -> None:
    with launched(tmp_path) as collector:
        large = traces(3, text="x" * 2**20).SerializeToString()  # takes a while
        for sent, status in ((BODY, "0"), (large, "0"), (b"\xff", "3")):
            with Peer(collector.grpc) as peer:
                peer.call(1, sent)
                peer.send(frame(HEADERS, END_HEADERS, 3, peer.head()))
                peer.socket.shutdown(socket.SHUT_WR)
                assert peer.status(1) == status
                assert peer.end() is None


def test_a_message_that_never_comes_is_timed_out(collector: Collector) -> None:
    with Peer(collector.grpc) as peer:
        peer.send(frame(HEADERS, END_HEADERS, 1, peer.head()), frame(DATA, 0, 1, b"\0\0\0"))
        began = time.monotonic()
        assert peer.status(1) == "4"
        assert time.monotonic() - began < 6


def test_a_watch_goes_on_after_its_request_and_holds_nothing(collector: Collector) -> None:
    with Peer(collector.grpc) as peer:
        peer.send(frame(HEADERS, END_HEADERS, 1, peer.head(**{":path": "/grpc.health.v1.Health/Watch"})))
        peer.send(frame(DATA, 0, 1, bytes(10_000)), frame(DATA, END_STREAM, 1, b""))
        peer.call(3, BODY)
        assert peer.status(3) == "0"
        assert collector.metrics()["otelcov_collector_queue_bytes"] == 0
    with grpc.insecure_channel(f"127.0.0.1:{collector.grpc}") as channel:
        health = health_pb2_grpc.HealthStub(channel)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        time.sleep(0.2)  # the end of the request comes behind it
        assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
        assert watch.is_active()
        watch.cancel()


@pytest.mark.parametrize("start", [b"", PREFACE[:10]])
def test_a_greeting_that_never_comes_is_timed_out(collector: Collector, start: bytes) -> None:
    with socket.create_connection(("127.0.0.1", collector.grpc), timeout=10) as connection:
        connection.sendall(start)
        began = time.monotonic()
        with pytest.raises(ConnectionResetError):
            while connection.recv(1000):
                pass
            raise ConnectionResetError
        assert time.monotonic() - began < 6


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([frame(DATA, 0, 1, b"x")], 1),
        ([frame(HEADERS, END_HEADERS, 2, b"")], 1),
        ([frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff\xff\xff")], 9),
        ([frame(CONTINUATION, 0, 1, b"x")], 1),
        ([frame(HEADERS, 0, 1, b"x"), frame(PING, 0, 0, bytes(8))], 1),
        ([frame(HEADERS, 0, 1, b"x"), *[frame(CONTINUATION, 0, 1, bytes(16_000))] * 4], 11),
        ([frame(SETTINGS, 0, 0, b"odd")], 1),
        ([frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 2**31))], 3),
        ([frame(WINDOW, 0, 0, struct.pack(">I", 2**31 - 1))], 3),
        ([frame(PING, 0, 0, b"short")], 1),
        ([b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"], 6),
        ([b"GET / HTTP/1.1\r\n\r\n"], 6),
    ],
)
def test_a_peer_that_breaks_the_protocol_is_told_and_cut(collector: Collector, frames: list[bytes], code: int) -> None:
    with Peer(collector.grpc) as peer:
        peer.send(*frames)
        assert peer.end() == code
    assert call(collector.grpc, traces(1).SerializeToString())[0] is grpc.StatusCode.OK


def test_rapid_resets_end_the_connection(collector: Collector) -> None:
    with Peer(collector.grpc) as peer:
        try:
            for number in range(1, 2001, 2):
                head = frame(HEADERS, END_HEADERS, number, peer.head())
                peer.send(head, frame(RST, 0, number, struct.pack(">I", 8)))
        except (BrokenPipeError, ConnectionResetError):
            return
        assert peer.end() in (11, None)


def test_more_streams_than_agreed_are_refused(collector: Collector) -> None:
    with Peer(collector.grpc) as peer:
        for number in range(1, 2 * 256 + 3, 2):
            peer.send(frame(HEADERS, END_HEADERS, number, peer.head()))
        for kind, _, number, payload in peer.frames():
            if kind == RST:
                assert (number, int.from_bytes(payload, "big")) == (2 * 256 + 1, 7)
                return


def test_a_reset_gives_back_what_was_buffered(tmp_path: Path) -> None:
    with running(tmp_path, max_queue_bytes=100_000) as collector:
        for _ in range(5):
            with Peer(collector.grpc) as peer:
                peer.send(frame(HEADERS, END_HEADERS, 1, peer.head()), *data(1, bytes(60_000))[:-1])
                peer.send(frame(RST, 0, 1, struct.pack(">I", 8)), frame(PING, 0, 0, bytes(8)))
                assert any(kind == PING for kind, _, _, _ in peer.frames())
        with Peer(collector.grpc) as peer:  # and one that hangs up in the middle
            peer.send(frame(HEADERS, END_HEADERS, 1, peer.head()), *data(1, bytes(60_000))[:-1])
        assert call(collector.grpc, BODY)[0] is grpc.StatusCode.OK
        assert collector.metrics()["otelcov_collector_queue_bytes"] == 0
        code, _, trailers = call(collector.grpc, traces(1, text="z" * 200_000).SerializeToString())
        assert code is grpc.StatusCode.UNAVAILABLE and "google.rpc.retryinfo-bin" in trailers


def test_random_frames_never_hurt_the_next_client(collector: Collector) -> None:
    import random

    rng = random.Random(5)
    for _ in range(60):
        with Peer(collector.grpc) as peer:
            good = [frame(HEADERS, END_HEADERS, 1, peer.head()), *data(1, traces(1).SerializeToString())]
            noise = bytearray(b"".join(good))
            for _ in range(rng.randrange(1, 6)):
                noise[rng.randrange(len(noise))] = rng.randrange(256)
            try:
                peer.send(bytes(noise))
                peer.socket.shutdown(socket.SHUT_WR)
                list(peer.frames())
            except OSError:
                pass
    body = traces(1).SerializeToString()
    assert call(collector.grpc, body)[0] is grpc.StatusCode.OK
    assert span_ids(body)[0] in {i for row in collector.rows() for i in span_ids(row.body)}
