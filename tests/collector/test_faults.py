"""Killed, stopped, a full disk, a failing fsync: what was acknowledged is kept, nothing else is promised."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests.collector.requests import PROTOBUF, span_ids, traces
from tests.collector.running import EXPORT, Collector, end, launch


class Load:
    """Clients on both transports, each request with ids of its own; remembers what was acknowledged."""

    def __init__(self, collector: Collector, clients: int = 2) -> None:
        self.acknowledged: set[bytes] = set()
        self.refused: list[object] = []
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=target, args=(collector,))
            for target in (self._http, self._grpc)
            for _ in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _http(self, collector: Collector) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", collector.http, timeout=10)
        while not self._stop.is_set():
            body = traces(5, text="x" * 200).SerializeToString()
            try:
                connection.request("POST", "/v1/traces", body, PROTOBUF)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                time.sleep(0.02)
                continue
            if answer.status == 200:
                self.acknowledged.update(span_ids(body))
            else:
                self.refused.append(answer.status)
                time.sleep(0.02)
        connection.close()

    def _grpc(self, collector: Collector) -> None:
        with grpc.insecure_channel(f"127.0.0.1:{collector.grpc}") as channel:
            send = channel.unary_unary(EXPORT, request_serializer=None, response_deserializer=None)
            while not self._stop.is_set():
                body = traces(5, text="x" * 200).SerializeToString()
                try:
                    send(body, timeout=10)
                except grpc.RpcError as error:
                    self.refused.append(error.code())
                    time.sleep(0.02)
                    continue
                self.acknowledged.update(span_ids(body))


def kept(collector: Collector) -> list[bytes]:
    return [i for row in collector.rows() for i in span_ids(row.body)]


def kill_loop(folder: Path, kills: int) -> None:
    acknowledged: set[bytes] = set()
    collector = None
    for _ in range(kills):
        collector = launch(folder)
        load = Load(collector)
        time.sleep(random.uniform(0.2, 1.0))
        end(collector, kill=True)
        load.stop()
        acknowledged |= load.acknowledged
    assert collector is not None and acknowledged
    seen = kept(collector)
    assert acknowledged <= set(seen)
    assert len(seen) == len(set(seen))
    again = launch(folder)  # and it starts again, with all of it
    assert again.metrics()["otelcov_collector_replayed_items_total"] >= len(acknowledged)
    end(again)
    assert acknowledged <= set(kept(again))


def test_killed_under_load_three_times_it_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    kill_loop(tmp_path, 3)


@pytest.mark.full
def test_killed_under_load_twenty_times_it_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    kill_loop(tmp_path, 20)


def test_sigterm_under_load_stops_within_five_seconds_and_keeps_its_word(tmp_path: Path) -> None:
    collector = launch(tmp_path)
    load = Load(collector)
    time.sleep(1)
    began = time.monotonic()
    code = end(collector)
    took = time.monotonic() - began
    load.stop()
    assert code == 0 and took < 5
    assert load.acknowledged and load.acknowledged <= set(kept(collector))


@contextlib.contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[Path]:
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root and mount for a small file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"could not mount a small file system: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_retryable_and_service_recovers(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 24) as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(16 * 2**20))
        collector = launch(disk / "store")
        try:
            acknowledged: set[bytes] = set()
            statuses: list[int] = []
            for _ in range(120):
                body = traces(1, text=os.urandom(100_000).hex()).SerializeToString()
                statuses.append(_send(collector, body))
                if statuses[-1] == 200:
                    acknowledged.update(span_ids(body))
            assert set(statuses) == {200, 503}
            assert acknowledged == set(kept(collector))
            ballast.unlink()
            body = traces(5).SerializeToString()
            assert _send(collector, body) == 200
            acknowledged.update(span_ids(body))
            assert acknowledged == set(kept(collector))
            assert collector.metrics()["otelcov_collector_inbox_errors_total"] > 0
        finally:
            end(collector, kill=True)
        again = launch(disk / "store")
        try:
            assert acknowledged <= set(kept(again))
            assert _send(again, traces(1).SerializeToString()) == 200
        finally:
            end(again)


def test_a_failing_fsync_is_retryable_and_service_recovers(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace to make fsync fail")
    inject = "inject=fsync,fdatasync:error=EIO:when=40..60"
    traced = (strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", inject)
    probe = subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"strace may not trace here: {probe.stderr.decode().strip()[:100]}")
    collector = launch(tmp_path, prefix=traced)
    try:
        acknowledged: set[bytes] = set()
        statuses = []
        for _ in range(150):
            body = traces(2).SerializeToString()
            statuses.append(_send(collector, body))
            if statuses[-1] == 200:
                acknowledged.update(span_ids(body))
        assert 503 in statuses and statuses[-1] == 200
        assert acknowledged <= set(kept(collector))
    finally:
        assert collector.process is not None and collector.process.stderr is not None
        children = subprocess.run(["pgrep", "-P", str(collector.process.pid)], capture_output=True, text=True)
        for child in children.stdout.split():
            os.kill(int(child), signal.SIGKILL)
        collector.process.wait(30)
        collector.process.stderr.close()
    again = launch(tmp_path)
    try:
        assert acknowledged <= set(kept(again))
    finally:
        end(again)


def _send(collector: Collector, body: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", collector.http, timeout=30)
    try:
        connection.request("POST", "/v1/traces", body, PROTOBUF)
        return connection.getresponse().status
    finally:
        connection.close()
