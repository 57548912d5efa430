"""Content-Encoding undone, with the limit on what comes out, whatever went in."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import zstandard

_SLICE = 64 * 1024  # input at a time: what follows the end of a gzip member is copied
_MEMBERS = 4096  # of one body; more are no exporter's
_WINDOW = 8 * 2**20  # what RFC 8878 asks a decoder to take; a sender may ask for more memory than that


class BadEncoding(ValueError):
    """The body is not what its Content-Encoding says."""


class TooLarge(ValueError):
    """More bytes come out than are allowed."""


def inflate(encoding: str, body: bytes, limit: int) -> bytes:
    """The body without its encoding, at most `limit` bytes; KeyError for an encoding that is not known."""
    return ENCODINGS[encoding](body, limit)


def _gzip(body: bytes, limit: int) -> bytes:
    return _join(_members(body, limit), limit)


def _members(body: bytes, limit: int) -> Iterator[bytes]:
    """All members: RFC 1952 lets them be concatenated."""
    member, members, fresh = zlib.decompressobj(31), 1, True
    for offset in range(0, len(body), _SLICE):
        piece = body[offset : offset + _SLICE]
        while piece:
            if member.eof:
                members += 1
                if members > _MEMBERS:
                    raise BadEncoding(f"the gzip body has more than {_MEMBERS} members")
                member = zlib.decompressobj(31)
            fresh = False
            yield from _bounded(member, piece, limit)
            piece = member.unused_data if member.eof else b""
    if fresh or not member.eof:
        raise BadEncoding("the gzip body is cut short")


def _deflate(body: bytes, limit: int) -> bytes:
    """zlib by the RFC, raw by the habit of some senders."""
    raw = len(body) < 2 or body[0] & 15 != 8 or (body[0] << 8 | body[1]) % 31
    stream = zlib.decompressobj(-15 if raw else 15)
    out = _join(_bounded(stream, body, limit), limit)
    if not stream.eof:
        raise BadEncoding("the deflate body is cut short")
    return out


def _bounded(stream: zlib._Decompress, data: bytes, limit: int) -> Iterator[bytes]:
    try:
        while data:
            yield stream.decompress(data, min(limit + 1, 2**20))
            data = stream.unconsumed_tail
    except zlib.error as error:
        raise BadEncoding(f"the body is not what its Content-Encoding says: {error}") from error


def _zstd(body: bytes, limit: int) -> bytes:
    return _join(_frames(body), limit)


def _frames(body: bytes) -> Iterator[bytes]:
    """All frames. A decompressobj is not bounded itself, so it gets little at a time: 4 bytes can mean 128 KiB."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    frame = decompressor.decompressobj()
    fresh = True
    try:
        for offset in range(0, len(body), 1024):
            piece = body[offset : offset + 1024]
            while piece:
                if frame.eof:
                    frame = decompressor.decompressobj()
                fresh = False
                yield frame.decompress(piece)
                piece = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError as error:
        raise BadEncoding(f"the body is not zstd: {error}") from error
    if fresh or not frame.eof:
        raise BadEncoding("the zstd body is cut short")


def _join(pieces: Iterator[bytes], limit: int) -> bytes:
    out, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise TooLarge
        out.append(piece)
    return out[0] if len(out) == 1 else b"".join(out)


def _identity(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise TooLarge
    return body


ENCODINGS: dict[str, Callable[[bytes, int], bytes]] = {
    "": _identity,
    "identity": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
}
