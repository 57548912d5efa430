"""`otelcov collect` as a process: what a sender and an operator see of it."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from otelcov.cli import loopback
from otelcov.cli.commands import app
from otelcov.store import scan
from otelcov.store.tables import open_
from tests.bench.generate import Traffic, requests

CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("OTELCOV_", "OTEL_"))}


@contextmanager
def collecting(store, *options, **environment):
    command = [*loopback.OTELCOV, "collect", "--store", str(store), "--grpc-port", "0", "--http-port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=CLEAN | environment)
    try:
        yield process, json.loads(process.stderr.readline())
    finally:
        process.kill()
        process.communicate()


def post(port, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/traces", body, {"Content-Type": "application/x-protobuf"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.status


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


def count(store):
    return scan.spans(store).select("span_id").collect().height


def in_tables(store):
    return int(open_(store).spans.files()["num_records"].sum())


def test_the_first_line_on_stderr_tells_ports_and_store_and_stdout_stays_empty(tmp_path):
    with collecting(tmp_path / "s") as (process, said):
        assert said.keys() == {"grpc", "http", "store"}
        assert said["store"] == str(tmp_path / "s")
        assert get(said["http"], "/readyz")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=10)
    assert out == b""
    assert process.returncode == 0


def test_what_was_acknowledged_is_visible_at_once_and_in_the_tables_soon(tmp_path):
    store = tmp_path / "s"
    sent = list(requests(Traffic(2_000, request_spans=200, since_ns=time.time_ns(), length_ns=10**9)))
    with collecting(store, OTELCOV_COMMIT_INTERVAL="1s") as (_, said):
        for request in sent:
            assert post(said["http"], request.body) == 200
        assert count(store) == 2_000
        until = time.monotonic() + 15
        while in_tables(store) < 2_000 and time.monotonic() < until:
            time.sleep(0.1)
        assert (in_tables(store), count(store)) == (2_000, 2_000)
        told = ""  # a moment after the commit itself
        while "otelcov_collector_lag_seconds 0.0" not in told and time.monotonic() < until:
            told = get(said["http"], "/metrics")
        assert "otelcov_collector_lag_seconds 0.0" in told
        assert "otelcov_collector_committed_items_total 2000.0" in told


def test_sigterm_ends_it_in_5_seconds_and_everything_is_in_the_next_report_and_in_the_tables_soon(tmp_path):
    store = tmp_path / "s"
    with collecting(store, OTELCOV_COMMIT_INTERVAL="1h") as (process, said):
        for request in requests(Traffic(1_000, since_ns=time.time_ns(), length_ns=10**9)):
            post(said["http"], request.body)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
        assert time.monotonic() - began < 5
    assert process.returncode == 0
    assert count(store) == 1_000
    assert in_tables(store) in (0, 1_000)  # a busy machine has no time for it, and the inbox keeps the batch whole
    with collecting(store, OTELCOV_COMMIT_INTERVAL="1s"):
        until = time.monotonic() + 15
        while in_tables(store) < 1_000 and time.monotonic() < until:
            time.sleep(0.1)
    assert (in_tables(store), count(store)) == (1_000, 1_000)


def test_what_a_killed_collector_acknowledged_is_committed_by_the_next_once(tmp_path):
    store = tmp_path / "s"
    with collecting(store, OTELCOV_COMMIT_INTERVAL="1h") as (process, said):
        for request in requests(Traffic(1_000, since_ns=time.time_ns(), length_ns=10**9)):
            post(said["http"], request.body)
        process.kill()
        process.wait()
    assert (in_tables(store), count(store)) == (0, 1_000)
    with collecting(store, OTELCOV_COMMIT_INTERVAL="1s"):
        until = time.monotonic() + 15
        while in_tables(store) < 1_000 and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(0.5)
        assert (in_tables(store), count(store)) == (1_000, 1_000)


def test_an_inbox_that_serves_another_store_is_refused_to_collectors_and_imports(tmp_path):
    inbox = ["--inbox", str(tmp_path / "inbox")]
    with collecting(tmp_path / "s", *inbox):
        pass
    (tmp_path / "some.pb").write_bytes(next(iter(requests(Traffic(10)))).body)
    for words in (["collect"], ["import", str(tmp_path / "some.pb")]):
        done = CliRunner().invoke(app, [*words, "--store", str(tmp_path / "other"), *inbox])
        assert done.exit_code == 2
        assert f"serves the store {tmp_path / 's'}" in " ".join(done.stderr.split())
    with collecting(tmp_path / "s", *inbox):
        pass


@pytest.mark.full
def test_two_collectors_and_an_orphaned_inbox_on_one_store(tmp_path):
    store = tmp_path / "s"
    bodies = [r.body for r in requests(Traffic(900, request_spans=300, since_ns=time.time_ns(), length_ns=10**9))]
    with (
        collecting(store, OTELCOV_COMMIT_INTERVAL="1h") as (first, one),
        collecting(store, OTELCOV_COMMIT_INTERVAL="1h") as (second, two),
    ):
        for port, body in zip((one["http"], two["http"], one["http"]), bodies[:3], strict=True):
            post(port, body)
        for body in bodies[3:]:
            post(two["http"], body)
        for process in (first, second):
            process.kill()
            process.wait()
    with collecting(store, OTELCOV_COMMIT_INTERVAL="1s"):
        until = time.monotonic() + 15
        while in_tables(store) < 900 and time.monotonic() < until:
            time.sleep(0.1)
    assert (in_tables(store), count(store)) == (900, 900)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--host", "0.0.0.0"], 2, "without authentication"),
        (["--grpc-port", "70000"], 2, "--grpc-port"),
        (["--config", "none.toml"], 2, "No such file"),
        (["--store", "s3://bucket/store"], 2, "--inbox"),
        (["--store", "/dev/null/store"], 4, "Couldn't create a store"),
    ],
)
def test_what_it_cannot_start_with_is_said(options, code, said, tmp_path):
    command = [sys.executable, "-m", "otelcov", "collect", "--store", str(tmp_path / "s"), *options]
    result = subprocess.run(command, capture_output=True, text=True, env=CLEAN, timeout=20, check=False)
    assert result.returncode == code, result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_taken_port_is_said_and_ends_with_4(tmp_path):
    with collecting(tmp_path / "a") as (_, said):
        for option, port in (("--grpc-port", said["grpc"]), ("--http-port", said["http"])):
            command = [*loopback.OTELCOV, "collect", "--store", str(tmp_path / "b"), option, str(port)]
            other = "--http-port" if option == "--grpc-port" else "--grpc-port"
            result = subprocess.run([*command, other, "0"], capture_output=True, text=True, env=CLEAN, timeout=20)
            assert result.returncode == 4, result.stderr
            assert str(port) in result.stderr
            assert "Traceback" not in result.stderr


def test_a_damaged_inbox_file_is_set_aside_and_said_after_the_first_line(tmp_path):
    store = tmp_path / "s"
    with collecting(store, OTELCOV_COMMIT_INTERVAL="1h") as (process, said):
        for request in requests(Traffic(300, request_spans=100, since_ns=time.time_ns(), length_ns=10**9)):
            post(said["http"], request.body)
        process.kill()
        process.wait()
    for file in (store / "inbox").glob("*/seg-*"):
        file.write_bytes(b"no database")
    with collecting(store) as (process, said):  # the first line is JSON
        assert get(said["http"], "/readyz")
        assert "set aside" in process.stderr.readline().decode()
        assert "otelcov_collector_inbox_damaged_files_total 1.0" in get(said["http"], "/metrics")
    assert list((store / "inbox" / ".damaged").iterdir())
