"""As much of HTTP/1.1 (RFC 9112) as OTLP needs, from the server's side, in one asyncio protocol.

A server that hands each request from its threads to a coroutine of ours spends twice on the way what all of admission
costs, and leaves us to bound what it does not. Here a request is read, judged and answered in the event loop: heads
repeat, so that most are looked up rather than parsed; requests of a connection are taken one by one; what a peer may
make us hold or wait for is bounded. What is ambiguous (two lengths, a length beside chunks, a bare line feed) is
refused, since a proxy in front may have read it otherwise.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from io import BytesIO
from typing import Any, NamedTuple, Protocol

from collector.listener import Limits, Open

_HEAD_BYTES = 32 * 1024
_LINE_BYTES = 1024  # the size of a chunk with its extensions
_TRAILER_BYTES = 8 * 1024
_AHEAD_BYTES = 256 * 1024  # of the requests that follow one being answered
_WRITE_BUFFER = 2**20  # answers that the peer does not read
_LINGER_SECONDS = 1.0  # after an early answer, so that a sender who is still sending reads it
_CACHED_HEADS, _CACHED_BYTES = 256, 2048

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([!-~]{1,8192}) HTTP/1\.([01])")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_ORIGIN = re.compile(rb"https?://[^/?]*", re.IGNORECASE)
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?")


class Head(NamedTuple):
    """A request without its body."""

    method: str
    path: str
    headers: dict[bytes, bytes]  # by names in lower case
    length: int | None  # None: chunked
    keep_alive: bool
    expects: bool  # to be told to go on


class Response(NamedTuple):
    status: int
    headers: bytes  # lines, each with its end
    body: bytes


class Handler(Protocol):
    """What the protocol asks of the application."""

    def begin(self, head: Head) -> Response | None:
        """An answer before the body has come, or None to go on."""

    def call(self, head: Head, body: bytes, answered: Callable[[Response], None]) -> None:
        """`answered` is called once, at once or later."""

    def refuse(self, head: Head | None, reason: str, status: int, text: str) -> Response:
        """Count a refusal and say it."""

    def room(self, more: int) -> bool:
        """Take note of buffered bytes (negative: given back); False if they are too many."""


class _Bad(Exception):
    """Not HTTP as we take it: answered with this status, then the connection ends."""

    def __init__(self, status: int, text: str, reason: str = "malformed") -> None:
        super().__init__(text)
        self.status, self.reason = status, reason


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, handler: Handler, limits: Limits, connections: set[Open], heads: dict[bytes, Head]) -> None:
        self._handler, self._limits, self._connections, self._heads = handler, limits, connections, heads
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._rest = b""  # what has come and is not taken yet
        self._head: Head | None = None  # of the request whose body is awaited, or that is being answered
        self._body = BytesIO()
        self._size = 0  # of what is there of the body
        self._left = 0  # bytes of the body, or of the chunk, that are still to come
        self._chunk = "size"  # what comes next of a chunked body
        self._trailer = 0
        self._busy = self._reading = self._paused = False
        self._closing = False  # after the next answer
        self._all_there = False  # the peer sends no more
        self._ending = False  # nothing more is read
        self._began = self._active = time.monotonic()
        self._first = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._connections.add(self)
        self._timer = self._loop.call_later(min(1.0, self._limits.header_seconds), self._watch)

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.discard(self)
        self._ending = True
        if self._timer is not None:
            self._timer.cancel()
        self._forget()

    def eof_received(self) -> bool:
        self._all_there = True  # who only ends its own half still gets the answers
        return self._busy and self._transport.get_extra_info("ssl_object") is None

    def data_received(self, data: bytes) -> None:
        if self._ending:
            return
        self._active = time.monotonic()
        if self._rest:
            data = self._rest + data
        elif self._head is None and not self._first:
            self._began = self._active  # of the next head
        if self._busy:
            self._rest = data
            if len(data) > _AHEAD_BYTES and not self._paused:
                self._paused = True
                self._transport.pause_reading()
            return
        self._read(data)

    def drain(self) -> None:
        """No new requests; close when the one that runs is answered."""
        self._closing = True
        if self._ending or self._busy:
            return
        if self._head is None:
            self._end(0.0)
        else:
            self._answer(self._handler.begin(self._head) or self._late("the collector is stopping"))

    def cut(self) -> None:
        self._transport.abort()

    def _read(self, data: bytes) -> None:
        self._rest, self._reading = b"", True
        try:
            while data and not self._busy and not self._ending:
                before = data
                data = self._read_head(data) if self._head is None else self._read_body(self._head, data)
                if data is before:  # more of it must come
                    break
        except _Bad as bad:
            data = b""
            self._answer(self._handler.refuse(self._head, bad.reason, bad.status, str(bad)))
        finally:
            self._reading = False
        self._rest = b"" if self._ending else data

    def _read_head(self, data: bytes) -> bytes:
        """What follows the head; the very data if the head is not whole."""
        if data.startswith(b"\r\n"):
            return data[2:]  # RFC 9112, 2.2
        at = data.find(b"\r\n\r\n", 0, _HEAD_BYTES)
        if at < 0:
            if len(data) >= _HEAD_BYTES:
                raise _Bad(431, f"the head of the request is larger than {_HEAD_BYTES} bytes", "too_large")
            if _BARE_LINE_FEED.search(data):  # its end might never come
                raise _Bad(400, "a line of the head does not end with CR LF")
            return data
        raw = data[:at]
        head = self._heads.get(raw)
        if head is None:
            head = parse(raw)
            if len(raw) <= _CACHED_BYTES:
                if len(self._heads) >= _CACHED_HEADS:
                    self._heads.clear()
                self._heads[raw] = head
        return self._begin(head, data[at + 4 :])

    def _begin(self, head: Head, data: bytes) -> bytes:
        self._head, self._first, self._began = head, False, self._active
        response = self._handler.begin(head)
        if response is not None:
            if head.length is None or head.length > len(data):
                self._answer(response)  # the body is still coming
                return b""
            self._busy = True
            self._answer(response)
            return data[head.length :]
        if head.length is None:
            self._chunk, self._left = "size", 0
        else:
            self._left = head.length
            if not head.length:
                self._complete(head)
                return data
        if head.expects and not data:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return data

    def _read_body(self, head: Head, data: bytes) -> bytes:
        if head.length is None:
            return self._read_chunks(head, data)
        at = self._take(data, 0)
        if not self._left:
            self._complete(head)
        return data[at:]

    def _take(self, data: bytes, at: int) -> int:
        """As much of it as belongs to the body, or the chunk; where the rest begins."""
        size = min(self._left, len(data) - at)
        self._body.write(data[at : at + size])
        self._left -= size
        self._size += size
        if not self._handler.room(size):
            raise _Bad(503, "too many bytes wait for the disk", "queue_full")
        return at + size

    def _read_chunks(self, head: Head, data: bytes) -> bytes:
        """As far through a chunked body as they lead; what is left of them, and nothing is copied for each chunk."""
        at = 0
        while True:
            if self._chunk == "data":
                at = self._take(data, at)
                if self._left:
                    return b""
                self._chunk = "end"
            stop = data.find(b"\r\n", at)
            if stop < 0:
                if len(data) - at > (_TRAILER_BYTES if self._chunk == "trailer" else _LINE_BYTES):
                    raise _Bad(400, "a line of the chunked body is too long")
                return data[at:]
            line, at = data[at:stop], stop + 2
            if self._chunk == "trailer" and not line:
                self._complete(head)
                return data[at:]
            self._chunk_line(line)

    def _chunk_line(self, line: bytes) -> None:
        if self._chunk == "end":
            if line:
                raise _Bad(400, "a chunk is longer than it says")
            self._chunk = "size"
        elif self._chunk == "size":
            size = _CHUNK.fullmatch(line) if len(line) <= _LINE_BYTES else None
            if size is None:
                raise _Bad(400, "the size of a chunk is expected")
            self._left = int(size[1], 16)
            if self._size + self._left > self._limits.bytes:
                raise _Bad(413, f"the body has more than {self._limits.bytes} bytes", "too_large")
            self._chunk, self._trailer = ("data", 0) if self._left else ("trailer", 0)
        else:
            self._trailer += len(line)
            if self._trailer > _TRAILER_BYTES:
                raise _Bad(400, "the trailers are too long")

    def _complete(self, head: Head) -> None:
        body = self._body.getvalue()
        self._forget()  # from here on the call counts its own bytes
        self._busy = True
        self._handler.call(head, body, self._answered)

    def _answered(self, response: Response) -> None:
        if not self._transport.is_closing():
            self._answer(response)

    def _answer(self, response: Response) -> None:
        """One write. If the request has not come whole, the connection ends with it."""
        head, whole = self._head, self._busy
        stays = whole and not self._closing and head is not None and head.keep_alive
        status, headers, body = response
        pieces = [_status_line(status), headers, b"content-length: %d\r\n" % len(body)]
        if not stays:
            pieces.append(b"connection: close\r\n")
        pieces.append(b"\r\n")
        if head is None or head.method != "HEAD":
            pieces.append(body)
        self._transport.write(b"".join(pieces))
        if self._transport.get_write_buffer_size() > _WRITE_BUFFER:
            self._transport.abort()  # it asks and does not listen
            return
        self._forget()
        self._head, self._busy = None, False
        if not stays:
            self._end(0.0 if whole else _LINGER_SECONDS)
            return
        self._began = self._active = time.monotonic()
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        if self._rest and not self._reading:
            self._read(self._rest)
        if self._all_there and not self._busy and not self._reading:
            self._end(0.0)

    def _end(self, linger: float) -> None:
        self._ending, self._rest = True, b""
        self._forget()
        if linger:
            if self._transport.can_write_eof():
                self._transport.write_eof()  # the answer is all there is; who is still sending may go on for a while
            self._loop.call_later(linger, self._transport.close)
        else:
            self._transport.close()

    def _forget(self) -> None:
        if self._size:
            self._handler.room(-self._size)
        self._body, self._size, self._left = BytesIO(), 0, 0

    def _late(self, text: str) -> Response:
        return self._handler.refuse(self._head, "slow_body", 408, text)

    def _watch(self) -> None:
        """Once a second: what has not come in time."""
        now, limits = time.monotonic(), self._limits
        self._timer = self._loop.call_later(1.0, self._watch)
        if self._ending and now - self._active > limits.header_seconds:
            self._transport.abort()  # it does not read its last answer
        if self._busy or self._ending:
            return
        if self._head is not None:
            if now - self._began > limits.body_seconds:
                self._answer(self._late(f"the body did not come within {limits.body_seconds:g} s"))
        elif self._first or self._rest:
            if now - self._began >= limits.header_seconds:
                self._transport.abort()
        elif now - self._active > limits.idle_seconds:
            self._end(0.0)


def parse(raw: bytes) -> Head:
    """A head without the empty line that ends it."""
    first, *lines = raw.split(b"\r\n")
    request = _REQUEST_LINE.fullmatch(first)
    if request is None:
        version = first.rpartition(b" ")[2]
        if re.fullmatch(rb"HTTP/\d(\.\d)?", version) and not version.startswith(b"HTTP/1."):
            raise _Bad(505, "HTTP/1.1 is spoken here")
        raise _Bad(400, "not an HTTP request")
    headers: dict[bytes, bytes] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise _Bad(400, "not a header field")
        name, value = field[1].lower(), field[2].rstrip(b" \t")
        if name in headers:
            if name in (b"content-length", b"transfer-encoding", b"host"):
                raise _Bad(400, f"{name.decode()} is said twice")
            value = headers[name] + b", " + value
        headers[name] = value
    newest = request[3] == b"1"
    length: int | None = 0
    if (encoding := headers.get(b"transfer-encoding")) is not None:
        if encoding.lower() != b"chunked" or b"content-length" in headers or not newest:
            raise _Bad(400, "the only Transfer-Encoding is chunked, without a Content-Length")
        length = None
    elif (said := headers.get(b"content-length")) is not None:
        if not _LENGTH.fullmatch(said):
            raise _Bad(400, "the Content-Length is not a number")
        length = int(said)
    options = {option.strip().lower() for option in headers.get(b"connection", b"").split(b",")}
    keep_alive = b"close" not in options and (newest or b"keep-alive" in options)
    target = request[2]
    if origin := _ORIGIN.match(target):  # as it is sent to proxies; RFC 9112, 3.2.2
        target = target[origin.end() :]
    path = target.partition(b"?")[0].decode("ascii")
    expects = newest and headers.get(b"expect", b"").lower() == b"100-continue"
    return Head(request[1].decode("ascii"), path, headers, length, keep_alive, expects)


_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_date: tuple[int, bytes] = (0, b"")


def _status_line(status: int) -> bytes:
    """With the date, which changes once a second."""
    global _date
    now = int(time.time())
    if _date[0] != now:
        _date = now, f"date: {formatdate(now, usegmt=True)}\r\n".encode()
    return _LINES[status] + _date[1]
