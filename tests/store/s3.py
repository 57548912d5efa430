"""An S3-compatible server of our own: moto's, as a real process on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

BUCKET = "otelcov"


@contextmanager
def server() -> Iterator[dict[str, str]]:
    """The variables by which it is reached."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "tests.store.s3", str(port)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            with suppress(OSError):
                request = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10)
                break
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "otelcov",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "NO_PROXY": "127.0.0.1",
        }
    finally:
        process.kill()
        process.wait()


def main(port: int) -> None:
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    app: Any = DomainDispatcherApplication(create_backend_app)
    one = threading.Lock()

    def atomic(environ: dict[str, Any], start: Any) -> Any:
        # S3 decides a conditional put at once; moto looks first and writes then.
        if environ["REQUEST_METHOD"] == "GET":
            return app(environ, start)
        with one:
            return app(environ, start)

    run_simple("127.0.0.1", port, atomic, threaded=True)


if __name__ == "__main__":
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    main(int(sys.argv[1]))
