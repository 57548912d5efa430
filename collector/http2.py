"""As much of HTTP/2 (RFC 9113) as unary gRPC needs, from the server's side, in one asyncio protocol.

grpc.aio spends 350 us of a core on the way of a small request before any of our code runs; this spends a tenth. It also
cannot do what a receiver on the open network must: time out a body that never comes, bound what is inflated and what is
buffered, and count resets. What is here is small because requests are few kinds of frames and answers are one write:
the header blocks of answers are constants, and those of requests repeat (HPACK makes them a handful of bytes that name
earlier ones), so that most are looked up rather than decoded.
"""

from __future__ import annotations

import asyncio
import struct
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from hpack import Decoder
from hpack.exceptions import HPACKError

from collector.listener import Limits, Open

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _PRIORITY, _RST, _SETTINGS, _PUSH, _PING, _GOAWAY, _WINDOW, _CONTINUATION = range(10)
_END_STREAM, _END_HEADERS, _ACK, _PADDED, _HAS_PRIORITY = 0x1, 0x4, 0x1, 0x8, 0x20
_NO_ERROR, _PROTOCOL_ERROR, _FLOW_CONTROL_ERROR, _FRAME_SIZE_ERROR = 0, 1, 3, 6
_REFUSED_STREAM, _COMPRESSION_ERROR, _CALM = 7, 9, 11
_FRAME_SIZE = 16_384
_HEADER_BYTES = 32 * 1024
_STREAMS = 256
_CONNECTION_WINDOW = 64 * 2**20
_WRITE_BUFFER = 2**20  # answers that the peer does not read
_CACHED_BLOCKS = 256

Headers = dict[bytes, bytes]
Trailers = Sequence[tuple[str, bytes]]


class Request(NamedTuple):
    headers: Headers
    compressed: bool
    message: bytes


class Verdict(NamedTuple):
    """What a call is answered: a message, or a status other than 0."""

    status: int
    message: bytes  # the response, or the text of the status
    trailers: Trailers = ()
    stays_open: bool = False  # a stream that has said its first word


class Handler(Protocol):
    """What the protocol asks of the application."""

    def begin(self, headers: Headers) -> Verdict | None:
        """A verdict before the body has come, or None to go on."""

    def call(self, request: Request, answered: Callable[[Verdict], None]) -> None:
        """`answered` is called once, at once or later."""

    def refuse(self, reason: str, status: int, text: str) -> Verdict:
        """Count a refusal and say it as a verdict."""

    def room(self, more: int) -> bool:
        """Take note of buffered bytes (negative: given back); False if they are too many."""


class _Stream:
    __slots__ = ("began", "body", "called", "headers", "size", "watches", "window")

    def __init__(self, headers: Headers, window: int) -> None:
        self.headers = headers
        self.body = BytesIO()
        self.size = 0
        self.window = window  # how much we may send on it
        self.began = time.monotonic()
        self.called = False  # the message has come whole
        self.watches = False  # it has its first word; what still comes on it means nothing


class _Broken(Exception):
    """The peer broke the protocol; the connection ends with this error code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Connection(asyncio.Protocol):
    """One client. Frames come in, calls go to the handler, answers leave as one write each."""

    def __init__(self, handler: Handler, limits: Limits, connections: set[Open]) -> None:
        self._handler, self._limits, self._connections = handler, limits, connections
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._rest = b""
        self._greeted = False
        self._decoder = Decoder(max_header_list_size=_HEADER_BYTES)
        self._blocks: dict[bytes, Headers] = {}
        self._block: tuple[int, int, bytearray] | None = None  # stream, flags, an unfinished header block
        self._streams: dict[int, _Stream] = {}
        self._last = 0
        self._window, self._stream_window = 65_535, 65_535  # what we may send
        self._held: dict[int, tuple[bytes, bytes]] = {}  # rest of the message, end: answers that wait for a window
        self._received = 0  # since the last window update
        self._resets = self._calls = 0
        self._closing = False
        self._active = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._connections.add(self)
        settings = struct.pack(">HIHIHI", 3, _STREAMS, 4, min(self._limits.bytes + 2**16, 2**31 - 1), 6, _HEADER_BYTES)
        grow = struct.pack(">I", _CONNECTION_WINDOW - 65_535)
        transport.write(_frame(_SETTINGS, 0, 0, settings) + _frame(_WINDOW, 0, 0, grow))
        self._timer = self._loop.call_later(min(1.0, self._limits.header_seconds), self._watch)

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        for stream in self._streams.values():
            self._forget(stream)
        self._streams.clear()

    def eof_received(self) -> bool:
        """Who only ends its own half still gets the answers to what has come whole."""
        self._closing = True
        for number, stream in list(self._streams.items()):
            if not stream.called:
                self._drop(number)
        return bool(self._streams) and self._transport.get_extra_info("ssl_object") is None

    def data_received(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        at, end = 0, len(data)
        self._active = time.monotonic()
        try:
            if not self._greeted:
                if not PREFACE.startswith(data[:24]):
                    raise _Broken(_PROTOCOL_ERROR, "not HTTP/2")
                if end < 24:
                    self._rest = data
                    return
                self._greeted, at = True, 24
            while end - at >= 9:
                length = data[at] << 16 | data[at + 1] << 8 | data[at + 2]
                if length > _FRAME_SIZE:
                    raise _Broken(_FRAME_SIZE_ERROR, "frame too large")
                after = at + 9 + length
                if after > end:
                    break
                stream = int.from_bytes(data[at + 5 : at + 9], "big") & 0x7FFF_FFFF
                self._frame(data[at + 3], data[at + 4], stream, data[at + 9 : after])
                at = after
            self._rest = data[at:]
        except _Broken as broken:
            self._rest = b""
            self._go_away(broken.code, str(broken).encode())
            self._transport.close()

    def drain(self) -> None:
        """No new calls; close when those open are answered."""
        if not self._closing:
            self._go_away(_NO_ERROR, b"")
        for number, stream in list(self._streams.items()):
            if not stream.called:  # a body that has not come, or a watch
                self._drop(number)
        self._close_if_done()

    def cut(self) -> None:
        self._transport.abort()

    def _frame(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if self._block is not None and (kind != _CONTINUATION or number != self._block[0]):
            raise _Broken(_PROTOCOL_ERROR, "a header block is interrupted")
        if kind == _DATA:
            self._data(flags, number, payload)
        elif kind == _HEADERS:
            self._headers(flags, number, _without_priority(flags, _without_padding(flags, payload)))
        elif kind == _CONTINUATION:
            self._continuation(flags, payload)
        elif kind == _SETTINGS:
            self._settings(flags, number, payload)
        elif kind == _PING:
            if number or len(payload) != 8:
                raise _Broken(_PROTOCOL_ERROR, "bad ping")
            if not flags & _ACK:
                self._write(_frame(_PING, _ACK, 0, payload))
        elif kind == _WINDOW:
            self._window_update(number, payload)
        elif kind == _RST:
            self._reset(number, payload)
        elif kind == _PUSH:
            raise _Broken(_PROTOCOL_ERROR, "clients do not push")
        # PRIORITY and unknown frames mean nothing here; GOAWAY is followed by a close

    def _headers(self, flags: int, number: int, block: bytes) -> None:
        if number % 2 == 0:
            raise _Broken(_PROTOCOL_ERROR, "bad stream number")
        if flags & _END_HEADERS:
            self._begin(flags, number, block)
        else:
            self._block = number, flags, bytearray(block)

    def _continuation(self, flags: int, payload: bytes) -> None:
        if self._block is None:
            raise _Broken(_PROTOCOL_ERROR, "nothing to continue")
        number, first, block = self._block
        block += payload
        if len(block) > _HEADER_BYTES or not (payload or flags & _END_HEADERS):
            raise _Broken(_CALM, "header block too large")
        if flags & _END_HEADERS:
            self._block = None
            self._begin(first, number, bytes(block))

    def _begin(self, flags: int, number: int, block: bytes) -> None:
        headers = self._decode(block)
        if number <= self._last:  # trailers of a client: gRPC has none, but they may end a stream
            stream = self._streams.get(number)
            if stream is not None and flags & _END_STREAM and not (stream.called or stream.watches):
                self._complete(number)
            return
        self._last = number
        if self._closing or len(self._streams) >= _STREAMS:
            self._write(_frame(_RST, 0, number, struct.pack(">I", _REFUSED_STREAM)))
            return
        self._calls += 1
        self._streams[number] = _Stream(headers, self._stream_window)
        verdict = self._handler.begin(headers)
        if verdict is not None:
            self._answer(number, verdict, early=not flags & _END_STREAM)
        elif flags & _END_STREAM:
            self._complete(number)

    def _decode(self, block: bytes) -> Headers:
        """The headers of a block; one that leaves the table as it is means the same the next time."""
        known = self._blocks.get(block)
        if known is not None:
            return known
        before = self._table()
        try:
            headers = {bytes(name): bytes(value) for name, value in self._decoder.decode(block, raw=True)}
        except (HPACKError, UnicodeDecodeError) as error:
            raise _Broken(_COMPRESSION_ERROR, "bad header block") from error
        after = self._table()
        if len(before) != len(after) or any(was is not now for was, now in zip(before, after, strict=True)):
            self._blocks.clear()
        elif len(self._blocks) < _CACHED_BLOCKS:
            self._blocks[block] = headers
        return headers

    def _table(self) -> list[object]:
        """The very entries of the table, and its size: equal ones may stand for another order."""
        table = self._decoder.header_table
        return [len(table.dynamic_entries), *list(table.dynamic_entries)[:1], table.maxsize]

    def _data(self, flags: int, number: int, payload: bytes) -> None:
        self._received += len(payload)
        if self._received >= _CONNECTION_WINDOW // 4:
            self._write(_frame(_WINDOW, 0, 0, struct.pack(">I", self._received)))
            self._received = 0
        stream = self._streams.get(number)
        if stream is None or stream.called or stream.watches:
            if number == 0 or number > self._last:
                raise _Broken(_PROTOCOL_ERROR, "data on an idle stream")
            return  # answered before its end
        if flags & _PADDED:
            payload = _without_padding(flags, payload)
        stream.body.write(payload)
        stream.size += len(payload)
        if not self._handler.room(len(payload)):
            self._answer(number, self._handler.refuse("queue_full", 14, "too many bytes wait for the disk"), early=True)
        elif stream.size > self._limits.bytes + 5:
            text = f"the message is larger than {self._limits.bytes} bytes"
            self._answer(number, self._handler.refuse("too_large", 8, text), early=not flags & _END_STREAM)
        elif flags & _END_STREAM:
            self._complete(number)

    def _complete(self, number: int) -> None:
        stream = self._streams[number]
        body = stream.body.getvalue()
        if len(body) < 5 or body[0] > 1 or int.from_bytes(body[1:5], "big") != len(body) - 5:
            verdict = self._handler.refuse("malformed", 3, "one gRPC message of the length it says is expected")
            self._answer(number, verdict, early=False)
            return
        self._forget(stream)  # from here on the call counts its own bytes
        request = Request(stream.headers, body[0] == 1, body[5:])
        stream.called = True
        self._handler.call(request, partial(self._answered, number))

    def _answered(self, number: int, verdict: Verdict) -> None:
        if number in self._streams:
            self._answer(number, verdict, early=False)

    def _answer(self, number: int, verdict: Verdict, early: bool) -> None:
        """One write. `early`: the client is still sending, and is told to stop."""
        if verdict.status:
            frames = _frame(_HEADERS, _END_STREAM | _END_HEADERS, number, _trailers_only(verdict))
            self._end(number, frames, early)
            return
        message = b"\0" + len(verdict.message).to_bytes(4, "big") + verdict.message
        stream = self._streams[number]
        stream.watches = verdict.stays_open
        head = _frame(_HEADERS, _END_HEADERS, number, _RESPONSE_HEADERS)
        tail = b"" if verdict.stays_open else _frame(_HEADERS, _END_STREAM | _END_HEADERS, number, _STATUS_OK)
        if self._window < len(message) or stream.window < len(message):
            self._held[number] = message, tail
            self._write(head)
            self._release()
            return
        self._window -= len(message)
        stream.window -= len(message)
        frames = head + _frame(_DATA, 0, number, message)
        if verdict.stays_open:
            self._write(frames)
        else:
            self._end(number, frames + tail, early)

    def _end(self, number: int, frames: bytes, early: bool) -> None:
        if early:
            frames += _frame(_RST, 0, number, struct.pack(">I", _NO_ERROR))
        self._write(frames)
        self._drop(number)
        if self._closing:
            self._close_if_done()

    def _drop(self, number: int) -> None:
        stream = self._streams.pop(number, None)
        self._held.pop(number, None)
        if stream is not None:
            self._forget(stream)

    def _forget(self, stream: _Stream) -> None:
        self._handler.room(-stream.size)
        stream.body, stream.size = BytesIO(), 0

    def _settings(self, flags: int, number: int, payload: bytes) -> None:
        if number or len(payload) % 6:
            raise _Broken(_PROTOCOL_ERROR, "bad settings")
        if flags & _ACK:
            return
        for identifier, value in struct.iter_unpack(">HI", payload):
            if identifier == 4:
                if value > 2**31 - 1:
                    raise _Broken(_FLOW_CONTROL_ERROR, "window too large")
                for stream in self._streams.values():
                    stream.window += value - self._stream_window
                self._stream_window = value
        self._write(_frame(_SETTINGS, _ACK, 0, b""))
        self._release()

    def _window_update(self, number: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise _Broken(_FRAME_SIZE_ERROR, "bad window update")
        grow = int.from_bytes(payload, "big") & 0x7FFF_FFFF
        if number == 0:
            self._window += grow
            if self._window > 2**31 - 1:
                raise _Broken(_FLOW_CONTROL_ERROR, "window too large")
        elif number in self._streams:
            self._streams[number].window += grow
        if self._held:
            self._release()

    def _release(self) -> None:
        """Send what waited for a window, as far as it goes: a peer may open its own only once it has read some."""
        for number, (rest, tail) in list(self._held.items()):
            stream = self._streams[number]
            size = min(len(rest), self._window, stream.window)
            if size <= 0:
                continue
            self._window -= size
            stream.window -= size
            frames = _frame(_DATA, 0, number, rest[:size])
            if size < len(rest):
                self._held[number] = rest[size:], tail
                self._write(frames)
                continue
            del self._held[number]
            if tail:
                self._end(number, frames + tail, early=False)
            else:
                self._write(frames)

    def _reset(self, number: int, payload: bytes) -> None:
        if number == 0 or number > self._last or len(payload) != 4:
            raise _Broken(_PROTOCOL_ERROR, "bad reset")
        self._resets += 1
        if self._resets > 100 + self._calls // 2:
            raise _Broken(_CALM, "too many resets")
        self._drop(number)  # a call that runs goes on: its rows may stay

    def _watch(self) -> None:
        """Once a second: what has not come in time."""
        now, limits = time.monotonic(), self._limits
        self._timer = self._loop.call_later(1.0, self._watch)
        quiet = now - self._active
        if not self._greeted or self._block is not None:
            if quiet >= limits.header_seconds:
                self._transport.abort()
            return
        for number, stream in list(self._streams.items()):
            if not (stream.called or stream.watches) and now - stream.began > limits.body_seconds:
                verdict = self._handler.refuse("slow_body", 4, "the message did not come in time")
                self._answer(number, verdict, early=True)
        if quiet > limits.idle_seconds:
            if self._held:
                self._transport.abort()  # it asks and does not listen
            elif not self._streams:
                self.drain()

    def _go_away(self, code: int, text: bytes) -> None:
        self._closing = True
        self._write(_frame(_GOAWAY, 0, 0, struct.pack(">II", self._last, code) + text))

    def _close_if_done(self) -> None:
        if not self._streams:
            self._transport.close()

    def _write(self, data: bytes) -> None:
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > _WRITE_BUFFER:
            self._transport.abort()  # it asks and does not listen


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    length = len(payload)
    return struct.pack(">BHBBI", length >> 16, length & 0xFFFF, kind, flags, stream) + payload


def _without_padding(flags: int, payload: bytes) -> bytes:
    if not flags & _PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise _Broken(_PROTOCOL_ERROR, "bad padding")
    return payload[1 : len(payload) - payload[0]]


def _without_priority(flags: int, payload: bytes) -> bytes:
    return payload[5:] if flags & _HAS_PRIORITY else payload


def _literal(name: bytes, value: bytes) -> bytes:
    """A header field that no table remembers (RFC 7541, 6.2.2)."""
    return b"\0" + _string(name) + _string(value)


def _string(text: bytes) -> bytes:
    length = len(text)
    if length < 127:
        return bytes([length]) + text
    out, length = bytearray([127]), length - 127
    while length > 127:
        out.append(length & 127 | 128)
        length >>= 7
    return bytes([*out, length]) + text


_RESPONSE_HEADERS = (
    b"\x88"  # :status 200
    + _literal(b"content-type", b"application/grpc")
    + _literal(b"grpc-accept-encoding", b"identity,deflate,gzip,zstd")
)
_STATUS_OK = _literal(b"grpc-status", b"0")


def _trailers_only(verdict: Verdict) -> bytes:
    text = quote(verdict.message[:1024], safe=" !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~")
    fields = [_literal(b"grpc-status", str(verdict.status).encode()), _literal(b"grpc-message", text.encode())]
    fields += [_literal(name.encode(), b64encode(value).rstrip(b"=")) for name, value in verdict.trailers]
    return _RESPONSE_HEADERS + b"".join(fields)
