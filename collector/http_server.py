"""OTLP/HTTP with protobuf and JSON, and the pages an operator looks at: /healthz /readyz /metrics.

An error is a google.rpc.Status in the request's own encoding (in JSON where that is not known).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from collector import answers
from collector.answers import HTTP_STATUS, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAUTHENTICATED, Answer, Path
from collector.http1 import Connection, Head, Response
from collector.inflate import ENCODINGS, BadEncoding, TooLarge, inflate
from collector.listener import INLINE, Limits, Listener
from collector.metrics import CONTENT_TYPE, Metrics

_PATHS: dict[str, Path] = {"/v1/traces": "traces", "/v1/logs": "logs", "/v1/metrics": "metrics"}
_PROTOBUF, _JSON = b"application/x-protobuf", b"application/json"
_TEXT = b"text/plain; charset=utf-8"
# Of refusals; what is not here is a bad request.
_CODES = {401: UNAUTHENTICATED, 413: RESOURCE_EXHAUSTED, 431: RESOURCE_EXHAUSTED, 503: answers.UNAVAILABLE}
# Of refusals: what RFC 9110 wants to be said with them.
_HINTS = {
    401: b"www-authenticate: Bearer\r\n",
    405: b"allow: POST\r\n",
    415: b"accept-encoding: gzip, deflate, zstd\r\n",
}

Answered = Callable[[Response], None]
_Refusal = tuple[str, int, str]  # reason, status, text


@dataclass
class HttpServer(Listener):
    """Listening. `ready` says why not, or None."""

    metrics: Metrics
    ready: Callable[[], str | None]

    async def start(self) -> None:
        heads: dict[bytes, Head] = {}

        def connection(limits: Limits) -> Connection:
            return Connection(self, limits, self._connections, heads)

        await self._listen("HTTP", self.config.http_port, "http/1.1", connection)

    def begin(self, head: Head) -> Response | None:
        if head.path not in _PATHS:
            return self._page(head)
        if head.method != "POST":
            return self.refuse(head, "method", 405, f"{head.method} is not allowed here; POST an OTLP request")
        if self._forbidden(head.headers.get(b"authorization", b"")):
            text = "a bearer token is needed, and this is none of them"
            return self.refuse(head, "unauthenticated", 401, text)
        if _kind(head) not in (_PROTOBUF, _JSON):
            text = "the Content-Type must be application/x-protobuf or application/json"
            return self.refuse(None, "content_type", 415, text)
        encoding = _encoding(head)
        if encoding not in ENCODINGS:
            text = f"Content-Encoding {encoding[:40]!r} is not known; gzip, deflate, zstd and identity are"
            return self.refuse(head, "content_encoding", 415, text)
        limit = self.config.max_request_bytes
        if head.length is not None and head.length > limit:
            text = f"the body has {head.length} bytes; at most {limit} are taken"
            return self.refuse(head, "too_large", 413, text)
        busy = self.export.busy(head.length or 0)
        return _response(_PATHS[head.path], busy, _kind(head) == _JSON) if busy is not None else None

    def call(self, head: Head, body: bytes, answered: Answered) -> None:
        encoding = _encoding(head)
        if not encoding:
            self._take(head, body, answered)
        elif len(body) > INLINE:
            self.export.spawn(self._inflate_beside(head, encoding, body, answered))
        else:
            self._inflated(head, self._inflate(encoding, body), answered)

    def refuse(self, head: Head | None, reason: str, status: int, text: str) -> Response:
        self.export.refused(reason)
        code = _CODES.get(status, INVALID_ARGUMENT)
        json = head is None or _kind(head) != _PROTOBUF  # something a person can read
        response = _response("traces", Answer(code, text), json, status)
        return response._replace(headers=response.headers + _HINTS.get(status, b""))

    async def _inflate_beside(self, head: Head, encoding: str, body: bytes, answered: Answered) -> None:
        with self.holding(len(body)):
            outcome = await asyncio.to_thread(self._inflate, encoding, body)
        self._inflated(head, outcome, answered)

    def _inflate(self, encoding: str, body: bytes) -> bytes | _Refusal:
        limit = self.config.max_request_bytes
        try:
            return inflate(encoding, body, limit)
        except TooLarge:
            return "too_large", 413, f"more than {limit} bytes after inflation"
        except BadEncoding as error:
            return "malformed", 400, str(error)

    def _inflated(self, head: Head, outcome: bytes | _Refusal, answered: Answered) -> None:
        if isinstance(outcome, bytes):
            self._take(head, outcome, answered)
        else:
            answered(self.refuse(head, *outcome))

    def _take(self, head: Head, body: bytes, answered: Answered) -> None:
        path, json = _PATHS[head.path], _kind(head) == _JSON
        self.export.take(path, body, "http", partial(_answer, answered, path, json), json)

    def _page(self, head: Head) -> Response:
        if head.path not in ("/healthz", "/readyz", "/metrics"):
            missing = Answer(answers.NOT_FOUND, "no such path; OTLP/HTTP is at /v1/traces and /v1/logs")
            return _response("traces", missing, True, 404)
        if head.method not in ("GET", "HEAD"):
            return Response(405, _type(_TEXT) + b"allow: GET, HEAD\r\n", b"GET only\n")
        if head.path == "/metrics":
            return Response(200, _type(CONTENT_TYPE.encode()), self.metrics.render())
        why_not = self.ready() if head.path == "/readyz" else None
        return Response(503 if why_not else 200, _type(_TEXT), (why_not or "ok").encode() + b"\n")


def _kind(head: Head) -> bytes:
    kind = head.headers.get(b"content-type", b"")
    if kind == _PROTOBUF:  # the usual one, spelled as usual, needs no parsing
        return kind
    return kind.partition(b";")[0].strip().lower()


def _encoding(head: Head) -> str:
    return head.headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()


def _type(kind: bytes) -> bytes:
    return b"content-type: " + kind + b"\r\n"


_ACCEPTED = Response(200, _type(_PROTOBUF), b"")


def _answer(answered: Answered, path: Path, json: bool, answer: Answer) -> None:
    answered(_ACCEPTED if answer is answers.ACCEPTED and not json else _response(path, answer, json))


def _response(path: Path, answer: Answer, json: bool, status: int | None = None) -> Response:
    headers = _type(_JSON if json else _PROTOBUF)
    if answer.retry:
        headers += b"retry-after: %d\r\n" % answers.RETRY_SECONDS
    body = answers.as_json(path, answer) if json else answers.protobuf(path, answer)
    return Response(status or HTTP_STATUS[answer.code], headers, body)
