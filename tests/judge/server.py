"""A scripted OpenAI-compatible server on loopback: what a judge is sent is kept, what it answers is the test's."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Request:
    """One question as the server saw it."""

    metric: str
    data: Any
    system: str
    user: str
    body: dict[str, Any]
    number: int  # how many came before with the same text


@dataclass
class Reply:
    content: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    refusal: str | None = None
    body: bytes | None = None  # sent as it is
    wait_s: float = 0.0


def says(**answer: Any) -> Reply:
    return Reply(json.dumps(answer))


Script = Callable[[Request], Reply]


@dataclass
class Scripted:
    url: str
    requests: list[Request]
    busiest: int = 0  # most requests under way at once


def fine(request: Request) -> Reply:
    """The answer of a judge that finds nothing wrong."""
    if request.metric in ("agent_behavior_failure", "tool_call_behavior_failure"):
        return says(reason="clean", label="no failure")
    if request.metric == "goal_completion":
        return says(reason="done", score=1)
    return says(reason="good", score=4)


@contextmanager
def serving(script: Script = fine) -> Iterator[Scripted]:
    lock, seen, under_way = threading.Lock(), {}, [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            request = _read(body)
            with lock:
                text = request.system + request.user
                request.number = seen[text] = seen.get(text, -1) + 1
                scripted.requests.append(request)
                under_way[0] += 1
                scripted.busiest = max(scripted.busiest, under_way[0])
            try:
                reply = script(request)
                if reply.wait_s:
                    time.sleep(reply.wait_s)
                self._send(reply, body.get("model", ""))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client has given up
            finally:
                with lock:
                    under_way[0] -= 1

        def _send(self, reply: Reply, model: str) -> None:
            if reply.body is not None:
                data = reply.body
            elif reply.status >= 400:
                data = json.dumps({"error": {"message": "scripted", "type": "scripted", "code": None}}).encode()
            else:
                data = json.dumps(_completion(reply, model)).encode()
            self.send_response(reply.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    scripted = Scripted(f"http://127.0.0.1:{server.server_address[1]}/v1", [])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _read(body: dict[str, Any]) -> Request:
    system = "\n".join(_text(m) for m in body["messages"] if m["role"] in ("system", "developer"))
    user = "\n".join(_text(m) for m in body["messages"] if m["role"] == "user")
    named = re.search(r"by one metric: (\w+)", system)
    block = re.search(r"(=====DATA \w+=====)\n(.*?)\n\1", user, re.S)
    metric = named[1] if named else "error_deduplication" if "root cause" in system else ""
    return Request(metric, json.loads(block[2]) if block else None, system, user, body, 0)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _completion(reply: Reply, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
